"""The reference engine: decodes machine code once per address and interprets it, wave after wave.

Workgroups run one after the other in ascending order, the waves of a workgroup in turn: each until it ends, reaches a
barrier, or has used its slice of instructions. So a dispatch gives the same result every time. A workgroup whose waves wait for
those of others (``wave_sync``) is set aside with its registers and LDS until one of its waves can run; the lowest such comes next.

Thread safety: an engine belongs to one device and runs one dispatch at a time; other threads wait for it (``AddressSpace.enter``). The
interpreter lock is released meanwhile.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from isa_opcodes cimport *
from isa_tables cimport latency_branch, opcode_latency
from modifiers cimport modifier_opsel, modifier_opsel_hi, modifier_vopd_opcode_y
from pyaco._core.emu.access cimport MemoryOperation, access_load, access_none, access_nothing, access_to_lds, access_transpose, half_none
from pyaco._core.emu.control cimport execute_indexed, fill_control
from pyaco._core.emu.global_memory cimport execute_buffer, execute_flat, execute_smem, memory_operation
from pyaco._core.emu.lanes_compare cimport fill_compare
from pyaco._core.emu.lanes_float cimport fill_float
from pyaco._core.emu.lanes_integer cimport fill_integer
from pyaco._core.emu.lanes_scalar cimport fill_scalar
from pyaco._core.emu.lds cimport execute_lds, fill_lds
from pyaco._core.emu.matrix cimport fill_matrix
from pyaco._core.emu.matrix_blocks cimport fill_matrix_blocks
from pyaco._core.emu.memory cimport Allocation, AddressSpace, memory_at, memory_find, canonical_address
from pyaco._core.emu.numbers cimport double_bits, double_to_half, float_bits, popcount64
from pyaco._core.emu.scaled cimport fill_scaled
from pyaco._core.emu.vector cimport execute_dual, execute_scalar, execute_vector
from pyaco._core.emu.wave cimport *
from pyaco._core.emu.wave_sync cimport fill_wave_sync, forget_waiting, waits_for_dispatch
from pyaco._core.common.machine cimport *
from pyaco._core.isa.decode cimport Decoded, decode

from pyaco.errors import InputError

cdef extern from "<stdlib.h>" nogil:
    void *aligned_alloc(size_t alignment, size_t size)

cdef extern from *:
    """
    #include <chrono>
    static uint64_t steady_nanoseconds() {
        return (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    """
    uint64_t steady_nanoseconds() nogil

cdef LaneOperation lane_operations[<int>op_count]
cdef Handler handlers[<int>op_count]

cdef enum:
    signal_interval = 1000000         # instructions between looks at the user's interrupts


cdef void fill_tables() noexcept nogil:
    """Every opcode's handler. What no table names stays NULL: unsupported."""
    memset(lane_operations, 0, sizeof(lane_operations))
    memset(handlers, 0, sizeof(handlers))
    fill_scalar(lane_operations)
    fill_integer(lane_operations)
    fill_float(lane_operations)
    fill_compare(lane_operations)
    fill_control(handlers)
    fill_matrix(handlers)
    fill_matrix_blocks(handlers)
    fill_lds(handlers)
    fill_scaled(handlers)
    fill_wave_sync(handlers)

fill_tables()


cdef Handler handler_of(unsigned int opcode) noexcept nogil:
    return handlers[opcode]


# ------------------------------------------------------------------------------------------------------------- operands
cdef uint64_t float_constant(uint32_t code, uint32_t bytes) noexcept nogil:
    """The inline constants 240 to 248: +-0.5, 1, 2, 4 and 1 / (2 pi), in the size of the operand."""
    cdef double value
    if code == 248:
        return 0x3118 if bytes == 2 else (0x3e22f983 if bytes == 4 else 0x3fc45f306dc9c882ULL)
    value = 0.5 * (1 << ((code - 240) >> 1))
    if code & 1:
        value = -value
    if bytes == 2:
        return double_to_half(value, 0)
    return float_bits(<float>value) if bytes == 4 else double_bits(value)


cdef uint64_t constant_value(uint32_t code, uint32_t literal, uint8_t kind, bint packed) noexcept nogil:
    """The value of a constant source for an operand of a type."""
    cdef uint32_t bytes = 4
    cdef int64_t integer
    if packed and kind != type_f16:                         # packed integers see the 32-bit pattern of a float
        bytes = 4
    elif type_u16 <= kind <= type_r16 or kind == type_packed or kind == type_packed_f:
        bytes = 2
    elif type_u64 <= kind <= type_r64 or kind == type_mask or kind == type_exec64:
        bytes = 8
    if code == 255:
        if kind == type_f64 or kind == type_r64:
            return <uint64_t>literal << 32
        if kind == type_i64:
            return <uint64_t><int64_t><int32_t>literal
        return literal
    if 240 <= code <= 248:
        return float_constant(code, bytes)
    integer = <int64_t>code - 128 if code <= 192 else 192 - <int64_t>code
    if bytes == 8:
        return <uint64_t>integer
    return <uint32_t>integer


cdef void fill_source(Instruction *instruction, uint32_t slot, uint8_t kind, bint packed) noexcept nogil:
    """What a source is, from its register address."""
    cdef uint16_t address = instruction.decoded.source[slot]
    cdef uint32_t code = address >> 2
    cdef Source *source = &instruction.source[slot]
    source.half = (address >> 1) & 1
    source.value = 0
    if address >= 1024:
        source.kind = operand_vgpr
        source.index = <uint16_t>(code - 256)
    elif 128 <= code <= 208 or 240 <= code <= 248 or code == 255:
        source.kind = operand_value
        source.index = <uint16_t>code
        source.value = constant_value(code, instruction.decoded.literal, kind, packed)
    else:
        source.kind = operand_sgpr if code < 128 else operand_special
        source.index = <uint16_t>code


cdef uint8_t mixed_kind(const Instruction *instruction, uint32_t slot, uint8_t kind) noexcept nogil:
    """A constant of V_FMA_MIX is a half where its opsel_hi says so."""
    if kind != type_mix:
        return kind
    return type_f16 if (modifier_opsel_hi(instruction.decoded.modifiers) >> slot) & 1 else type_f32


cdef bint keeps_high_half_on_gfx9(uint32_t opcode) noexcept nogil:
    """The 16-bit operations of GFX9 that leave the other half of their destination alone (Mesa, aco_ir.cpp)."""
    return (opcode == <uint32_t>op_v_mad_f16 or opcode == <uint32_t>op_v_mad_u16 or opcode == <uint32_t>op_v_mad_i16
            or opcode == <uint32_t>op_v_fma_f16 or opcode == <uint32_t>op_v_div_fixup_f16
            or opcode == <uint32_t>op_v_fma_mixlo_f16 or opcode == <uint32_t>op_v_mac_f16
            or opcode == <uint32_t>op_v_madak_f16 or opcode == <uint32_t>op_v_madmk_f16
            or opcode == <uint32_t>op_v_ashr_pk_i8_i32 or opcode == <uint32_t>op_v_ashr_pk_u8_i32
            or opcode == <uint32_t>op_v_cvt_pk_fp8_f32 or opcode == <uint32_t>op_v_cvt_pk_bf8_f32)


cdef void prepare_sources(Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t slot, place
    cdef uint8_t kind
    cdef bint scalar
    if operation == NULL:
        for slot in range(min(<uint32_t>instruction.decoded.source_count, <uint32_t>8)):
            fill_source(instruction, slot, type_u32, False)
        return
    if instruction.decoded.format & 0xff == format_vopd:
        for slot in range(min(<uint32_t>instruction.decoded.source_count, <uint32_t>4)):
            kind = operation.source_type[slot] if slot < 2 else instruction.operation_y.source_type[slot - 2]
            fill_source(instruction, slot, kind & ~type_old, False)
        return
    scalar = format_is_salu(instruction.decoded.format)
    place = 0
    for slot in range(operation.source_count):
        kind = operation.source_type[slot] & ~type_old
        if scalar and type_scc <= kind <= type_imm:
            continue
        if place >= instruction.decoded.source_count:
            # VCC, or a destination that is read too, where the encoding does not name them
            instruction.decoded.source[place] = register_vcc if kind == type_mask else instruction.decoded.destination[0]
        fill_source(instruction, place, mixed_kind(instruction, slot, kind), operation.packed)
        if operation.source_type[slot] & type_old and not scalar:           # op_sel names its half only once, as the destination's
            instruction.source[place].half |= (modifier_opsel(instruction.decoded.modifiers) >> 3) & 1
        place += 1


cdef uint32_t unit_of(const Decoded *decoded) noexcept nogil:
    cdef uint16_t base = decoded.format & 0x7f
    if format_is_valu(decoded.format):
        return unit_valu
    if base == format_smem:
        return unit_smem
    if base == format_mubuf or base == format_mtbuf or base == format_mimg:
        return unit_vmem
    if format_flat <= base <= format_scratch:
        return unit_flat
    if base == format_ds:
        return unit_lds
    if base == format_sopp:
        return unit_branch if opcode_latency[decoded.opcode] == latency_branch else unit_wait
    return unit_salu


cdef bint bypasses_registers(const Decoded *decoded) noexcept nogil:
    """GFX9, GFX10: a flat access with the lds bit names no data register; what LLVM knows are global and scratch loads of a dword or less."""
    cdef const MemoryOperation *operation = memory_operation(decoded.opcode)
    cdef uint8_t access = operation.access
    if access == access_load and operation.dwords == 1 and operation.half == half_none and decoded.format & 0x7f != format_flat:
        return False                                        # it may write LDS
    if access == access_load or access == access_transpose:
        return decoded.destination_count == 0
    return access != access_nothing and access != access_to_lds and decoded.source_count < 3


cdef void prepare(Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """Choose the handler and work out the operands. A handler that stays NULL is unsupported."""
    cdef Decoded *decoded = &instruction.decoded
    cdef uint32_t opcode = decoded.opcode
    cdef uint16_t base = decoded.format & 0x7f
    cdef uint8_t kind
    instruction.operation = NULL
    instruction.handler = handlers[opcode]
    instruction.writes_high_zero = 0
    if instruction.handler == NULL:
        if lane_operations[opcode].function != NULL:
            instruction.operation = &lane_operations[opcode]
            instruction.handler = execute_scalar if format_is_salu(decoded.format) else execute_vector
            if not format_is_valu(decoded.format) and not format_is_salu(decoded.format):
                instruction.handler = NULL
            if base == format_vopd:
                instruction.operation_y = &lane_operations[modifier_vopd_opcode_y(decoded.modifiers)]
                instruction.handler = execute_dual
                if instruction.operation_y.function == NULL:
                    instruction.handler = NULL
            kind = instruction.operation.result_type[0]
            if opcode == <uint32_t>op_v_fma_mixhi_f16:
                instruction.writes_high_zero = 2
            elif gfx_level < 100 and type_u16 <= kind <= type_r16 and not keeps_high_half_on_gfx9(opcode):
                instruction.writes_high_zero = 1
            elif gfx_level < 110 and opcode == <uint32_t>op_v_sat_pk_u8_i16:  # its result has 32 bits there
                instruction.writes_high_zero = 1
        elif memory_operation(opcode).access != access_none:
            if base == format_smem:
                instruction.handler = execute_smem
            elif base == format_mubuf or base == format_mtbuf:
                instruction.handler = execute_buffer
            elif base == format_ds:
                instruction.handler = execute_lds
            elif format_flat <= base <= format_scratch and not bypasses_registers(decoded):
                instruction.handler = execute_flat
    instruction.unit = unit_of(decoded)
    if instruction.handler != NULL:
        prepare_sources(instruction)


cdef uint32_t touched_rows(const Instruction *instruction) noexcept nogil:
    """One past the highest VGPR that an instruction may write."""
    cdef const Decoded *decoded = &instruction.decoded
    cdef uint32_t opcode = decoded.opcode
    cdef uint32_t rows = 0
    cdef uint32_t i, row
    if (opcode == <uint32_t>op_v_movreld_b32 or opcode == <uint32_t>op_v_movrelsd_b32
            or opcode == <uint32_t>op_v_movrelsd_2_b32 or opcode == <uint32_t>op_v_swaprel_b32
            or opcode == <uint32_t>op_s_set_gpr_idx_on):
        return vgpr_rows
    for i in range(decoded.destination_count):
        row = decoded.destination[i] >> 2
        if row >= 256 and decoded.destination[i] != register_none:
            rows = max(rows, row - 256 + max(<uint32_t>1, <uint32_t>decoded.destination_bytes[i] + 3) // 4 + 1)
    if (opcode == <uint32_t>op_v_swap_b32 or opcode == <uint32_t>op_v_swap_b16) and instruction.source[0].kind == operand_vgpr:
        rows = max(rows, <uint32_t>instruction.source[0].index + 1)
    return min(rows, <uint32_t>vgpr_rows)


# ------------------------------------------------------------------------------------------------------------------ code
cdef bint add_region(Code *code, uint64_t first, uint64_t bytes, const void *words) noexcept nogil:
    """The words as they are now: instruction caches do not see stores, so what runs does not depend on how early it is decoded."""
    cdef Region *region = &code.regions[code.count]
    region.first = first
    region.bytes = bytes & ~(<uint64_t>3)
    region.searched = False
    region.jumps = False
    region.words = <uint32_t *>malloc(region.bytes + 1)
    region.instructions = <Instruction *>calloc(region.bytes // 4 + 1, sizeof(Instruction))
    if region.words == NULL or region.instructions == NULL:
        free(region.words)
        free(region.instructions)
        return False
    memcpy(region.words, words, region.bytes)
    code.last = code.count
    code.count += 1
    return True


cdef Region *region_of(Code *code, Machine *machine, uint64_t pc) noexcept nogil:
    """The cache of decoded instructions around a pc; a new one spans the allocation that holds it."""
    cdef uint32_t i
    cdef const Allocation *allocation
    cdef uint64_t address = canonical_address(pc)
    for i in range(code.count):
        if address - code.regions[i].first < code.regions[i].bytes:
            code.last = i
            return &code.regions[i]
    if code.count == region_limit or machine.memory.identity:
        return NULL
    allocation = memory_find(machine.memory, address, 4)
    if allocation == NULL or not add_region(code, allocation.address, allocation.size, allocation.host):
        return NULL
    return &code.regions[code.last]


cdef void drop_disabled_offset(Instruction *instruction, const uint32_t *words, uint32_t gfx_level) noexcept nogil:
    """tinygrad writes a scalar load of CDNA without an offset as IMM 0, SOFFSET_EN 0, SOFFSET 124, where hardware would add s0.

    Nobody else fills a SOFFSET that is not enabled, so programs that come through its door are taken as they are meant.
    """
    if (instruction.decoded.format & 0x7f == format_smem and 90 < gfx_level < 100 and not words[0] & 0x24000
            and words[1] >> 25 == 124):
        instruction.decoded.source[1] = register_none


cdef Instruction *fetch(Code *code, Machine *machine, uint64_t pc) noexcept nogil:
    """The decoded instruction at `pc`, NULL when that is not in memory."""
    cdef Region *region = &code.regions[code.last]
    cdef Instruction *instruction
    cdef uint64_t offset = canonical_address(pc) - region.first
    if code.count == 0 or offset >= region.bytes:
        region = region_of(code, machine, pc)
        if region == NULL:
            return NULL
        offset = canonical_address(pc) - region.first
    if offset & 3 or offset + 4 > region.bytes:
        return NULL
    instruction = &region.instructions[offset >> 2]
    if not instruction.valid:
        decode(region.words + (offset >> 2), <uint32_t>((region.bytes - offset) >> 2), machine.gfx_level, &instruction.decoded)
        instruction.pc = pc
        if machine.memory.identity:
            drop_disabled_offset(instruction, region.words + (offset >> 2), machine.gfx_level)
        if instruction.decoded.opcode != <int>op_invalid:
            prepare(instruction, machine.gfx_level)
            machine.touched_vgprs = max(machine.touched_vgprs, touched_rows(instruction))
        instruction.valid = 1
    return instruction


cdef bint cache_host_code(Code *code, const Launch *launch) noexcept nogil:
    """With host addresses there are no allocations to span: the caller says how long the code is."""
    return add_region(code, canonical_address(launch.entry), launch.entry_bytes, <const void *>launch.entry)


cdef bint is_unchanged(const Code *code, Memory *memory, const Launch *launch) noexcept nogil:
    cdef const Region *region
    cdef const Allocation *allocation
    cdef const void *words
    cdef uint32_t i
    for i in range(code.count):
        region = &code.regions[i]
        if memory.identity:
            if region.first != canonical_address(launch.entry) or region.bytes != launch.entry_bytes & ~(<uint64_t>3):
                return False
            words = <const void *>launch.entry
        else:
            allocation = memory_find(memory, region.first, region.bytes)
            if allocation == NULL or allocation.address != region.first or allocation.size & ~(<uint64_t>3) != region.bytes:
                return False
            words = allocation.host
        if memcmp(region.words, words, region.bytes):
            return False
    return True


cdef bint copy_code(Code *code, const Code *other) noexcept nogil:
    cdef uint32_t i
    for i in range(other.count):
        if not add_region(code, other.regions[i].first, other.regions[i].bytes, other.regions[i].words):
            return False
    return True


cdef bint meets_other_workgroups(Code *code, uint32_t gfx_level) noexcept nogil:
    cdef Region *region
    cdef Decoded decoded
    cdef uint32_t number
    cdef uint64_t word
    for number in range(code.count):
        region = &code.regions[number]
        if region.searched:
            continue
        for word in range(region.bytes // 4):
            # DS and SOP1, on every generation that has such instructions
            if region.words[word] >> 26 != 0x36 and region.words[word] >> 23 != 0x17d:
                continue
            decode(region.words + word, <uint32_t>(region.bytes // 4 - word), gfx_level, &decoded)
            if decoded.opcode != <int>op_invalid and waits_for_dispatch(decoded.opcode):
                return True
            region.jumps = region.jumps or decoded.opcode == <int>op_s_setpc_b64 or decoded.opcode == <int>op_s_swappc_b64
        region.searched = True
    return False


cdef bint is_all_known(const Code *code) noexcept nogil:
    return code.count == 1 and code.regions[0].searched and not code.regions[0].jumps


cdef void forget(Code *code) noexcept nogil:
    cdef uint32_t i
    for i in range(code.count):
        free(code.regions[i].words)
        free(code.regions[i].instructions)
    code.count = 0
    code.last = 0
    code.forgotten += 1


cdef void forget_code(Workspace *space) noexcept nogil:
    cdef uint32_t i
    forget(&space.code)
    for i in range(space.wave_capacity):
        fill_words(space.registers + <uint64_t>i * vgpr_rows * max_lanes, rows_to_fill(&space.machine) * max_lanes, space.fill)
    space.machine.touched_vgprs = 0


# ------------------------------------------------------------------------------------------------------------------ waves
cdef void share_halves(const Machine *machine, Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    """What was written to a shared VGPR is seen by both halves of the wave; the high half executes last."""
    cdef uint32_t i, lane, row
    cdef uint32_t *values
    for i in range(instruction.decoded.destination_count):
        row = instruction.decoded.destination[i] >> 2
        if row < 256 + machine.shared_vgpr or instruction.decoded.destination[i] == register_none:
            continue
        values = wave_vgpr(wave, row - 256)
        for lane in range(32):
            if (active >> (lane + 32)) & 1:
                values[lane] = values[lane + 32]
            elif (active >> lane) & 1:
                values[lane + 32] = values[lane]


cdef int run_in_mode(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """GFX8, GFX9: an instruction while vector instructions are skipped or have relative register numbers."""
    if wave.mode & mode_skip_vector and unit_valu <= instruction.unit <= unit_lds and instruction.unit != unit_smem:
        return stop_running
    if wave.mode & mode_index_registers and instruction.unit == unit_valu:
        return execute_indexed(machine, wave, instruction)
    return instruction.handler(machine, wave, instruction)


cdef int run_wave(Code *code, Machine *machine, Wave *wave, uint32_t turns) noexcept nogil:
    """Run a wave until it stops or its turns are over; returns why (stop_running: the turns)."""
    cdef Instruction *instruction
    cdef uint64_t active
    cdef int stop
    for _ in range(turns):
        instruction = fetch(code, machine, wave.pc)
        machine.fault_pc = wave.pc
        if instruction == NULL:
            machine.fault_opcode = op_invalid
            return stop_fetch_fault
        machine.fault_opcode = instruction.decoded.opcode
        if instruction.decoded.opcode == <int>op_invalid:
            return stop_illegal
        if instruction.handler == NULL:
            return stop_unsupported
        if machine.executed >= machine.budget:
            return stop_budget
        machine.executed += 1
        machine.counter[instruction.unit] += 1
        machine.opcode_counter[instruction.decoded.opcode] += 1
        active = wave_exec(wave)
        machine.lane_counter[instruction.unit] += popcount64(active)
        wave.pc += 4 * <uint64_t>instruction.decoded.dwords
        if wave.mode & (mode_index_registers | mode_skip_vector) and machine.gfx_level < 100:
            stop = run_in_mode(machine, wave, instruction)
        else:
            stop = instruction.handler(machine, wave, instruction)
        if machine.shared_vgpr:
            share_halves(machine, wave, instruction, active)
        if stop != stop_running:
            return stop
    return stop_running


cdef bint out_of_time(Machine *machine) noexcept nogil:
    if machine.deadline == 0 or machine.executed < machine.clock_due:
        return False
    machine.clock_due = machine.executed + slice_instructions
    return steady_nanoseconds() >= machine.deadline


cdef int stop_before(Code *code, Machine *machine, const Wave *wave, int why) noexcept nogil:
    cdef const Instruction *instruction = fetch(code, machine, wave.pc)
    machine.fault_pc = wave.pc
    machine.fault_opcode = op_invalid if instruction == NULL else instruction.decoded.opcode
    return why


cdef uint32_t put_group(const Launch *launch, uint32_t *sgpr, const uint32_t *group) noexcept nogil:
    """The workgroup's ids to where a wave finds them; returns the SGPR that follows."""
    cdef uint32_t i
    cdef uint32_t next_sgpr = launch.user_count
    if launch.ids_in_ttmp:
        sgpr[sgpr_ttmp0 + 9] = group[0]
        sgpr[sgpr_ttmp0 + 7] = group[1] | (group[2] << 16)
        return next_sgpr
    for i in range(3):
        if (launch.id_mask >> i) & 1:
            sgpr[next_sgpr] = group[i]
            next_sgpr += 1
    return next_sgpr


cdef void fill_words(uint32_t *words, uint64_t count, uint32_t value) noexcept nogil:
    """Copies what is filled already, twice as much each time."""
    cdef uint64_t filled = min(count, <uint64_t>max_lanes)
    cdef uint64_t i, more
    for i in range(filled):
        words[i] = value
    while filled < count:
        more = min(filled, count - filled)
        memcpy(words + filled, words, more * sizeof(uint32_t))
        filled += more


cdef uint32_t rows_to_fill(const Machine *machine) noexcept nogil:
    """Rows that the last workgroup may have written."""
    return max(machine.touched_vgprs, <uint32_t>start_rows)


cdef bint size_of(const Launch *launch, const uint32_t *group, uint32_t *size) noexcept nogil:
    cdef uint32_t i
    cdef bint whole = True
    for i in range(3):
        size[i] = launch.last[i] if group[i] - launch.start[i] == launch.groups[i] - 1 else launch.size[i]
        whole = whole and size[i] == launch.size[i]
    return whole


cdef uint32_t waves_of(const uint32_t *size, uint32_t wave_size) noexcept nogil:
    return (size[0] * size[1] * size[2] + wave_size - 1) // wave_size


cdef void start_wave(const Machine *machine, const Launch *launch, Wave *wave, uint32_t index, const uint32_t *size,
                     const uint32_t *group) noexcept nogil:
    """Registers of a wave as the packet processor and the dispatcher set them.

    The invocations of a partial workgroup are numbered within its own size, and fill as few waves as they can: so do the work-item
    functions of OpenCL that AMD's device libraries make of the lane's number and the wave's.
    """
    cdef uint32_t i, lane, local, x, y, z, total, active
    cdef uint32_t *vgpr = wave.vgpr
    cdef uint32_t next_sgpr
    for i in range(sgpr_words):
        wave.sgpr[i] = launch.fill
    fill_words(vgpr, start_rows * max_lanes, launch.fill)
    wave.sgpr[sgpr_null] = 0
    if machine.gfx_level < 100:
        wave_put64(wave, sgpr_flat_scratch, 0)
    for i in range(launch.user_count):
        wave.sgpr[i] = launch.user[i]
    next_sgpr = put_group(launch, wave.sgpr, group)
    if launch.ids_in_ttmp:
        wave.sgpr[sgpr_ttmp0 + 8] = index << 25
    if launch.workgroup_info:
        wave.sgpr[next_sgpr] = waves_of(size, launch.wave_size) | (index << 6) | ((<uint32_t>1 << 31) if index == 0 else 0)
        next_sgpr += 1
    if launch.scratch_offset:
        wave.sgpr[next_sgpr] = (machine.scratch_slot * launch.waves + index) * launch.wave_size * machine.scratch_bytes
    total = size[0] * size[1] * size[2]
    wave.lanes = launch.wave_size
    wave.first_lane = index * launch.wave_size
    active = min(total - wave.first_lane, launch.wave_size)
    wave_put64(wave, sgpr_exec, ~(<uint64_t>0) if active == 64 else (<uint64_t>1 << active) - 1)
    for lane in range(launch.wave_size):
        local = wave.first_lane + lane
        if local >= total:
            break
        x = local % size[0]
        y = local // size[0] % size[1]
        z = local // (size[0] * size[1])
        if launch.packed_ids:
            vgpr[lane] = x | (y << 10) | (z << 20)
        else:
            vgpr[lane] = x
            if launch.local_components > 1:
                vgpr[max_lanes + lane] = y
            if launch.local_components > 2:
                vgpr[2 * max_lanes + lane] = z
    wave.scc = 0
    wave.mode = mode_of(machine.gfx_level, launch.mode)
    wave.pc = launch.entry
    wave.flat_scratch = 0
    wave.index = index
    wave.stop = stop_running
    wave.barrier_signalled = 0
    wave.barrier_complete = 0
    wave.joined = 0
    wave.named_complete = 0
    wave.waits_named = 0


cdef int run_workgroup(Workspace *space, uint64_t *checked) except -1 nogil:
    """All waves in turn until they have ended; returns a reason other than stop_end when one went wrong.

    It is stop_sync where nobody can run before other workgroups do.
    """
    cdef uint32_t i
    cdef int stop
    cdef Wave *waves = space.waves
    while True:
        for i in range(space.count):
            if waves[i].stop == stop_running:
                if out_of_time(&space.machine):
                    waves[i].stop = stop_before(&space.code, &space.machine, &waves[i], stop_time)
                else:
                    waves[i].stop = run_wave(&space.code, &space.machine, &waves[i], slice_instructions)
            if waves[i].stop != stop_running and waves[i].stop != stop_end and not waits(&waves[i]):
                space.faulty = i
                return waves[i].stop
        stop = end_round(space)
        if stop != stop_running:
            return stop
        if space.machine.executed - checked[0] > signal_interval:
            checked[0] = space.machine.executed
            with gil:
                PyErr_CheckSignals()


cdef int end_round(Workspace *space) noexcept nogil:
    cdef uint32_t ended = 0
    cdef uint32_t waiting = 0
    cdef uint32_t i
    for i in range(space.count):                            # afterwards: a later wave may have let an earlier one go on
        if space.waves[i].stop == stop_running:
            return stop_running
        ended += space.waves[i].stop == stop_end
        waiting += space.waves[i].stop == stop_barrier
    if ended == space.count:
        return stop_end
    if ended + waiting < space.count:                       # waves that have ended do not hold a barrier, those that wait elsewhere do
        return stop_sync
    return release_barrier(space)


cdef int release_barrier(Workspace *space) noexcept nogil:
    """Waves that wait at a barrier go on; from GFX12 on one that waits has not signalled."""
    cdef uint32_t i
    for i in range(space.count):
        if space.waves[i].stop == stop_barrier:
            if space.machine.gfx_level >= 120:
                return blame(space, i)
            space.waves[i].stop = stop_running
    return stop_running


cdef int blame(Workspace *space, uint32_t wave) noexcept nogil:
    """A wave that waits for ever."""
    cdef const Instruction *instruction = fetch(&space.code, &space.machine, space.waves[wave].waits_at)
    space.faulty = wave
    space.machine.fault_pc = space.waves[wave].waits_at
    space.machine.fault_opcode = op_invalid if instruction == NULL else instruction.decoded.opcode
    return stop_deadlock


# ------------------------------------------------------------------------------------- workgroups that wait for others
cdef bint runnable(const Room *room) noexcept nogil:
    cdef uint32_t i
    for i in range(room.count):
        if room.waves[i].stop == stop_running:
            return True
    return False


cdef void leave_room(Workspace *space, Room **place) noexcept nogil:
    """A workgroup that was set aside is the one that runs."""
    cdef Room *room = place[0]
    cdef uint32_t i
    place[0] = room.next
    space.resident_waves -= room.count
    close_waves(space)
    space.number = room.number
    space.count = room.count
    for i in range(3):
        space.group[i] = room.group[i]
    space.waves = room.waves
    space.registers = room.registers
    space.scratch = room.scratch
    space.machine.lds = room.lds
    space.machine.waves = room.waves
    space.machine.wave_count = room.count
    space.machine.scratch_slot = room.scratch_slot
    free(room)


cdef int deadlock(Workspace *space) noexcept nogil:
    """Every workgroup waits: the first wave of the first one that does is to blame."""
    cdef uint32_t i = 0
    leave_room(space, &space.residents)
    while not waits(&space.waves[i]):
        i += 1
    return blame(space, i)


cdef int next_workgroup(Workspace *space, const Launch *launch) noexcept nogil:
    cdef Room **place = &space.residents
    while place[0] != NULL and not runnable(place[0]):
        place = &place[0].next
    if place[0] != NULL:
        leave_room(space, place)
        return next_goes_on
    if space.begun < <uint64_t>launch.groups[0] * launch.groups[1] * launch.groups[2]:
        space.number = space.begun
        space.begun += 1
        group_of(launch, space.number, space.group)
        return next_begins
    return next_none if space.residents == NULL else next_deadlock


cdef void insert_room(Workspace *space, Room *room) noexcept nogil:
    cdef Room **place = &space.residents
    while place[0] != NULL and place[0].number < room.number:
        place = &place[0].next
    room.next = place[0]
    place[0] = room
    space.resident_waves += room.count


cdef uint32_t free_slot(const Workspace *space) noexcept nogil:
    """The lowest part of scratch that no workgroup has."""
    cdef uint8_t taken[resident_wave_limit + 1]
    cdef uint32_t slot = 0
    cdef const Room *room = space.residents
    memset(taken, 0, sizeof(taken))
    while room != NULL:
        taken[room.scratch_slot] = 1
        room = room.next
    while taken[slot]:
        slot += 1
    return slot


cdef int set_aside(Workspace *space, const Launch *launch) noexcept nogil:
    cdef Room *room
    cdef uint32_t i
    cdef bint more = space.begun < <uint64_t>launch.groups[0] * launch.groups[1] * launch.groups[2]
    if more and space.resident_waves + space.count + launch.waves > resident_wave_limit:
        return stop_residents
    room = <Room *>calloc(1, sizeof(Room))
    if room == NULL:
        return stop_residents
    room.number = space.number
    room.count = space.count
    room.scratch_slot = space.machine.scratch_slot
    for i in range(3):
        room.group[i] = space.group[i]
    room.waves = space.waves
    room.registers = space.registers
    room.scratch = space.scratch
    room.lds = space.machine.lds
    insert_room(space, room)
    lose_waves(space)
    space.machine.scratch_slot = free_slot(space)
    if more and ((launch.scratch_offset and space.machine.scratch_slot >= launch.scratch_slots) or not open_workspace(space, launch)):
        return stop_residents
    return stop_running


cdef void start_workgroup(Workspace *space, const Launch *launch) noexcept nogil:
    """LDS, scratch and registers as a workgroup finds them: a pattern where the hardware defines nothing."""
    cdef uint32_t size[3]
    cdef uint32_t i
    size_of(launch, space.group, size)
    space.count = waves_of(size, launch.wave_size)
    space.machine.wave_count = space.count
    memset(space.machine.lds, 0xcd, space.machine.lds_bytes)
    memset(space.machine.named, 0, sizeof(space.machine.named))
    memset(space.scratch, 0xcd, <uint64_t>space.count * space.machine.wave_size * space.machine.scratch_bytes)
    for i in range(space.count):
        fill_words(space.waves[i].vgpr, rows_to_fill(&space.machine) * max_lanes, launch.fill)
        start_wave(&space.machine, launch, &space.waves[i], i, size, space.group)


# ------------------------------------------------------------------------------------------------------------- workspace
cdef void *aligned_bytes(uint64_t bytes) noexcept nogil:
    return aligned_alloc(line_pair, (bytes + line_pair) & ~<uint64_t>(line_pair - 1))  # C11 wants a multiple of the alignment


cdef void *aligned_zeros(uint64_t bytes) noexcept nogil:
    cdef void *memory = aligned_bytes(bytes)
    if memory != NULL:
        memset(memory, 0, bytes)
    return memory


cdef bint open_workspace(Workspace *space, const Launch *launch) noexcept nogil:
    cdef uint32_t i
    cdef uint64_t scratch = <uint64_t>launch.wave_size * space.machine.scratch_bytes
    if (launch.waves > space.wave_capacity or launch.waves * scratch > space.scratch_capacity
            or space.machine.lds_bytes > space.lds_capacity or launch.fill != space.fill):
        close_waves(space)
        if not allocate_waves(space, launch, launch.waves * scratch):
            return False
    space.count = launch.waves
    for i in range(launch.waves):
        space.waves[i].vgpr = space.registers + <uint64_t>i * vgpr_rows * max_lanes
        space.waves[i].scratch = space.scratch + i * scratch
    space.machine.waves = space.waves
    return True


cdef bint allocate_waves(Workspace *space, const Launch *launch, uint64_t scratch) noexcept nogil:
    cdef uint64_t registers = <uint64_t>launch.waves * vgpr_rows * max_lanes
    space.waves = <Wave *>aligned_zeros(launch.waves * sizeof(Wave))
    space.registers = <uint32_t *>aligned_bytes(registers * 4)
    space.scratch = <uint8_t *>malloc(scratch + 1)
    space.machine.lds = <uint8_t *>aligned_bytes(space.machine.lds_bytes)
    if space.waves == NULL or space.registers == NULL or space.scratch == NULL or space.machine.lds == NULL:
        return False
    fill_words(space.registers, registers, launch.fill)
    space.fill = launch.fill
    space.wave_capacity = launch.waves
    space.scratch_capacity = scratch
    space.lds_capacity = space.machine.lds_bytes
    return True


cdef uint64_t workspace_bytes(const Workspace *space) noexcept nogil:
    cdef uint64_t bytes = <uint64_t>space.wave_capacity * vgpr_rows * max_lanes * 4 + space.scratch_capacity + space.lds_capacity
    cdef uint32_t i
    for i in range(space.code.count):
        bytes += space.code.regions[i].bytes // 4 * sizeof(Instruction)
    return bytes


cdef void empty_workspace(Workspace *space) noexcept nogil:
    while space.residents != NULL:
        leave_room(space, &space.residents)
    space.begun = 0


cdef void close_workspace(Workspace *space) noexcept nogil:
    empty_workspace(space)
    close_waves(space)
    forget_code(space)


cdef void close_waves(Workspace *space) noexcept nogil:
    free(space.waves)
    free(space.registers)
    free(space.scratch)
    free(space.machine.lds)
    lose_waves(space)


cdef void lose_waves(Workspace *space) noexcept nogil:
    space.waves = NULL
    space.registers = NULL
    space.scratch = NULL
    space.machine.lds = NULL
    space.wave_capacity = 0
    space.scratch_capacity = 0
    space.lds_capacity = 0


STOP_NAMES = {
    stop_memory_fault: "memory fault", stop_unsupported: "unsupported", stop_illegal: "illegal instruction",
    stop_fetch_fault: "fetch fault", stop_budget: "budget", stop_trap: "trap", stop_deadlock: "deadlock",
    stop_time: "time", stop_residents: "residents",
}


cdef class Engine:
    """Runs dispatches of one device.

    Parameters
    ----------
    space : AddressSpace
        The device's memory.
    gfx_level : int
        Hardware level times ten, such as 110.
    """

    def __cinit__(self, AddressSpace space not None, uint32_t gfx_level, *arguments):
        memset(&self.work, 0, sizeof(Workspace))
        self.space = space
        self.work.machine.memory = &space.memory
        self.work.machine.gfx_level = gfx_level
        self.work.machine.opcode_counter = <uint64_t *>calloc(<int>op_count, sizeof(uint64_t))
        self.work.machine.gds_bytes = 65536 if gfx_level < 110 else 4096
        self.work.machine.gds = <uint8_t *>calloc(self.work.machine.gds_bytes, 1)
        self.work.machine.sync = <WaveSync *>calloc(1, sizeof(WaveSync))
        if self.work.machine.opcode_counter == NULL or self.work.machine.gds == NULL or self.work.machine.sync == NULL:
            raise MemoryError("counters")

    def __dealloc__(self):
        close_workspace(&self.work)
        free(self.work.machine.sync)
        free(self.work.machine.opcode_counter)
        free(self.work.machine.gds)

    def run(self, entry, groups, size, **launch):
        """Run every workgroup of a dispatch; see `open` for the arguments.

        Returns
        -------
        dict
            ``stop`` (None when all waves ended, else the name of what went wrong) with its place, and the counters.
        """
        self.space.enter()
        try:
            self.open(entry, groups, size, **launch)
            try:
                return self.outcome(self.execute(&self.launch))
            finally:
                self.close()
        finally:
            self.space.leave()

    def open(self, uint64_t entry, groups, size, *, uint32_t wave_size, user_sgprs, uint32_t workgroup_id_mask=0,
             bint ids_in_ttmp=False, bint packed_ids=False, uint32_t local_id_components=1, bint workgroup_info=False,
             bint scratch_offset=False, uint32_t mode=0x1c0, uint32_t lds_bytes=0, uint32_t scratch_bytes=0,
             uint64_t budget=1ULL << 36, uint32_t fill=0xdeadbeefU, uint64_t code_bytes=0,
             uint32_t shared_vgpr=0, last_size=None, first_group=(0, 0, 0), double time_budget=0, uint32_t scratch_slots=0xffffffffU):
        """Make ready for a dispatch: its launch and memory for the waves of one workgroup. `close` frees that.

        `groups` workgroups from `first_group` on, of `size`, the last of each dimension of `last_size`; `time_budget` in seconds;
        scratch in memory has room for `scratch_slots` workgroups at once.
        """
        cdef Launch launch
        cdef uint32_t i
        memset(&launch, 0, sizeof(Launch))
        launch.entry = entry
        for i in range(3):
            launch.groups[i] = groups[i]
            launch.start[i] = first_group[i]
            launch.size[i] = size[i]
            launch.last[i] = (last_size or size)[i]
        launch.wave_size = wave_size
        launch.user_count = len(user_sgprs)
        if launch.user_count > 32:
            raise ValueError(f"{launch.user_count} user SGPRs; a wave has at most 32")
        for i in range(launch.user_count):
            launch.user[i] = user_sgprs[i]
        launch.id_mask = workgroup_id_mask
        launch.ids_in_ttmp = ids_in_ttmp
        launch.packed_ids = packed_ids
        launch.local_components = local_id_components
        launch.workgroup_info = workgroup_info
        launch.scratch_offset = scratch_offset
        launch.scratch_slots = scratch_slots
        launch.mode = mode
        launch.fill = fill
        launch.waves = waves_of(launch.size, wave_size)
        launch.entry_bytes = code_bytes
        self._reset(wave_size, lds_bytes, scratch_bytes, launch.waves, budget)
        if time_budget > 0:
            self.work.machine.deadline = steady_nanoseconds() + <uint64_t>(1e9 * min(time_budget, 1e9))
        self.work.machine.shared_vgpr = shared_vgpr
        self.launch = launch
        self.close()
        self.prepare_code(&launch)
        if not open_workspace(&self.work, &launch):
            close_workspace(&self.work)
            raise MemoryError(f"a workgroup of {launch.waves} waves")

    cdef int prepare_code(self, const Launch *launch) except -1:
        """With host addresses the caller says where code lies; else it is found where it is reached."""
        if not self.space.memory.identity:
            return 0
        if memory_at(&self.space.memory, launch.entry, launch.entry_bytes) == NULL:
            raise InputError(f"{launch.entry_bytes} bytes of code at {launch.entry:#x}: no process has such addresses")
        if not cache_host_code(&self.work.code, launch):
            raise MemoryError(f"{launch.entry_bytes} bytes of code")
        return 0

    def close(self):
        """Free the memory of the waves."""
        close_workspace(&self.work)

    def meets_other_workgroups(self, uint64_t entry):
        """Whether code in the allocation around `entry` has instructions that wait for waves of other workgroups."""
        cdef Code code
        memset(&code, 0, sizeof(Code))
        self.space.enter()
        try:
            fetch(&code, &self.work.machine, entry)
            return meets_other_workgroups(&code, self.work.machine.gfx_level)
        finally:
            forget(&code)
            self.space.leave()

    cdef dict outcome(self, int stop):
        result = self._counters()
        result["stop"] = None
        if stop != stop_end:
            result.update(self._fault(stop))
        return result

    cdef int execute(self, const Launch *launch) except -1:
        """Every workgroup, x fastest; returns stop_end or why the dispatch stopped, `self.work` says where."""
        cdef int stop
        with nogil:
            stop = run_groups(&self.work, launch)
        return stop

    cdef int _reset(self, uint32_t wave_size, uint32_t lds_bytes, uint32_t scratch_bytes, uint32_t waves,
                    uint64_t budget) except -1:
        cdef uint32_t i
        memset(self.work.machine.gds, 0, self.work.machine.gds_bytes)
        forget_waiting(self.work.machine.sync)
        self.work.machine.scratch_slot = 0
        self.work.machine.wave_size = wave_size
        self.work.machine.lds_bytes = lds_bytes
        self.work.machine.scratch_bytes = scratch_bytes
        self.work.machine.wave_count = waves
        self.work.machine.executed = 0
        self.work.machine.budget = budget
        self.work.machine.deadline = 0
        self.work.machine.clock_due = 0
        memset(self.work.machine.opcode_counter, 0, <int>op_count * sizeof(uint64_t))
        self.work.machine.lds_out_of_bounds = 0
        for i in range(unit_count):
            self.work.machine.counter[i] = 0
            self.work.machine.lane_counter[i] = 0
        return 0

    cdef dict _counters(self):
        cdef uint32_t i
        opcodes = {}
        for i in range(<uint32_t>op_count):
            if self.work.machine.opcode_counter[i]:
                opcodes[i] = self.work.machine.opcode_counter[i]
        return {
            "instructions": self.work.machine.executed,
            "units": [self.work.machine.counter[i] for i in range(unit_count)],
            "lanes": [self.work.machine.lane_counter[i] for i in range(unit_count)],
            "opcodes": opcodes,
            "lds_out_of_bounds": self.work.machine.lds_out_of_bounds,
            "lds_out_of_bounds_pc": self.work.machine.lds_out_of_bounds_pc if self.work.machine.lds_out_of_bounds else None,
        }

    cdef dict _fault(self, int stop):
        cdef uint32_t i
        cdef const uint32_t *group = self.work.group
        cdef const Region *region = region_of(&self.work.code, &self.work.machine, self.work.machine.fault_pc)
        cdef uint64_t offset
        words = []
        if region != NULL:
            offset = canonical_address(self.work.machine.fault_pc) - region.first
            words = [region.words[offset // 4 + i] for i in range(min(4, (region.bytes - offset) // 4))]
        return {
            "stop": STOP_NAMES.get(stop, str(stop)), "workgroup": (group[0], group[1], group[2]), "wave": self.work.faulty,
            "pc": self.work.machine.fault_pc, "opcode": self.work.machine.fault_opcode, "words": words,
            "lane": self.work.machine.fault_lane, "address": self.work.machine.fault_address, "bytes": self.work.machine.fault_bytes,
            "store": bool(self.work.machine.fault_store), "waiting": self._waiting() if stop == stop_deadlock else [],
        }

    cdef list _waiting(self):
        """Workgroup, wave and pc of every wave that waits for others."""
        cdef const Room *room = self.work.residents
        cdef uint32_t i
        group = self.work.group
        found = [((group[0], group[1], group[2]), i, self.work.waves[i].waits_at) for i in range(self.work.count) if waits(&self.work.waves[i])]
        while room != NULL:
            found += [((room.group[0], room.group[1], room.group[2]), i, room.waves[i].waits_at) for i in range(room.count)
                      if waits(&room.waves[i])]
            room = room.next
        return found


cdef void group_of(const Launch *launch, uint64_t number, uint32_t *group) noexcept nogil:
    """The ids of the workgroup that comes at place `number`."""
    group[0] = launch.start[0] + <uint32_t>(number % launch.groups[0])
    group[1] = launch.start[1] + <uint32_t>(number // launch.groups[0] % launch.groups[1])
    group[2] = launch.start[2] + <uint32_t>(number // launch.groups[0] // launch.groups[1])


cdef int run_groups(Workspace *space, const Launch *launch) except -1 nogil:
    """Every workgroup; `space.group` is left at the one that stopped."""
    cdef int stop, following
    cdef uint64_t checked = 0
    while True:
        following = next_workgroup(space, launch)
        if following == next_none:
            return stop_end
        if following == next_deadlock:
            return deadlock(space)
        if following == next_begins:
            start_workgroup(space, launch)
        stop = run_workgroup(space, &checked)
        if stop == stop_sync:
            stop = set_aside(space, launch)
            if stop != stop_running:
                return stop
        elif stop != stop_end:
            return stop
        if space.machine.executed - checked > signal_interval:
            checked = space.machine.executed
            with gil:
                PyErr_CheckSignals()


def supported_opcodes():
    """Numbers of the opcodes that the engine executes."""
    return [number for number in range(<int>op_count) if handlers[<int>number] != NULL
            or lane_operations[<int>number].function != NULL or memory_operation(number).access != access_none]
