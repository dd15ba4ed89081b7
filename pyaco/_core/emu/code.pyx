"""Machine code, decoded once for each address: its words, the handler of each instruction, and its operands. The contract is in ``code.pxd``."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from features cimport has_cleared_high_half, has_image_descriptors
from isa_opcodes cimport *
from isa_tables cimport latency_branch, opcode_latency
from modifiers cimport modifier_lwe, modifier_opsel, modifier_opsel_hi, modifier_vopd_opcode_y
from pyaco._core.emu.access cimport (MemoryOperation, access_async_to_lds, access_load, access_none, access_nothing, access_to_lds,
                                     access_transpose, half_none)
from pyaco._core.emu.control cimport fill_control
from pyaco._core.emu.global_memory cimport execute_buffer, execute_flat, execute_smem, memory_operation
from pyaco._core.emu.image cimport execute_image
from pyaco._core.emu.lanes_compare cimport fill_compare
from pyaco._core.emu.lanes_earlier cimport earlier_operation
from pyaco._core.emu.lanes_float cimport fill_float
from pyaco._core.emu.lanes_integer cimport fill_integer
from pyaco._core.emu.lanes_scalar cimport fill_scalar
from pyaco._core.emu.lds cimport execute_lds, fill_lds
from pyaco._core.emu.matrix cimport fill_matrix
from pyaco._core.emu.matrix_blocks cimport fill_matrix_blocks
from pyaco._core.emu.memory cimport Allocation, Memory, canonical_address, memory_find
from pyaco._core.common.floats cimport double_bits, double_to_half, float_bits
from pyaco._core.emu.scaled cimport fill_scaled
from pyaco._core.emu.tensor cimport fill_tensor
from pyaco._core.emu.vector cimport execute_dual, execute_scalar, execute_vector
from pyaco._core.emu.wave cimport *
from pyaco._core.emu.wave_sync cimport fill_wave_sync, waits_for_dispatch
from pyaco._core.common.machine cimport *
from pyaco._core.isa.decode cimport Decoded, decode, wide_literal_code

cdef LaneOperation lane_operations[<int>op_count]
cdef Handler handlers[<int>op_count]


cdef void _fill_tables() noexcept nogil:
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
    fill_tensor(handlers)
    fill_wave_sync(handlers)

_fill_tables()


cdef Handler handler_of(unsigned int opcode) noexcept nogil:
    return handlers[opcode]


# ------------------------------------------------------------------------------------------------------------- operands
cdef uint64_t _float_constant(uint32_t code, uint32_t bytes) noexcept nogil:
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


cdef uint64_t _constant_value(uint32_t code, uint32_t literal, uint8_t kind, bint packed) noexcept nogil:
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
        return _float_constant(code, bytes)
    integer = <int64_t>code - 128 if code <= 192 else 192 - <int64_t>code
    if bytes == 8:
        return <uint64_t>integer
    return <uint32_t>integer


cdef void _fill_source(Instruction *instruction, uint32_t slot, uint8_t kind, bint packed) noexcept nogil:
    """What a source is, from its register address."""
    cdef uint16_t address = instruction.decoded.source[slot]
    cdef uint32_t code = address >> 2
    cdef Source *source = &instruction.source[slot]
    source.half = (address >> 1) & 1
    source.value = 0
    if address >= 1024:
        source.kind = operand_vgpr
        source.index = <uint16_t>(code - 256)
    elif code == wide_literal_code and instruction.decoded.has_literal:
        source.kind = operand_value
        source.index = <uint16_t>code
        source.value = instruction.decoded.literal | (<uint64_t>instruction.decoded.immediate << 32)
    elif 128 <= code <= 208 or 240 <= code <= 248 or code == 255:
        source.kind = operand_value
        source.index = <uint16_t>code
        source.value = _constant_value(code, instruction.decoded.literal, kind, packed)
    else:
        source.kind = operand_sgpr if code < 128 else operand_special
        source.index = <uint16_t>code


cdef uint8_t _mixed_kind(const Instruction *instruction, uint32_t slot, uint8_t kind) noexcept nogil:
    """A constant of V_FMA_MIX is a half where its opsel_hi says so."""
    if kind == type_mix_bf:
        return type_f32
    if kind != type_mix:
        return kind
    return type_f16 if (modifier_opsel_hi(instruction.decoded.modifiers) >> slot) & 1 else type_f32


cdef bint _keeps_high_half_on_gfx9(uint32_t opcode) noexcept nogil:
    """The 16-bit operations of GFX9 that leave the other half of their destination alone (Mesa, aco_ir.cpp)."""
    return (opcode == <uint32_t>op_v_mad_f16 or opcode == <uint32_t>op_v_mad_u16 or opcode == <uint32_t>op_v_mad_i16
            or opcode == <uint32_t>op_v_fma_f16 or opcode == <uint32_t>op_v_div_fixup_f16
            or opcode == <uint32_t>op_v_fma_mixlo_f16 or opcode == <uint32_t>op_v_mac_f16
            or opcode == <uint32_t>op_v_madak_f16 or opcode == <uint32_t>op_v_madmk_f16
            or opcode == <uint32_t>op_v_ashr_pk_i8_i32 or opcode == <uint32_t>op_v_ashr_pk_u8_i32
            or opcode == <uint32_t>op_v_cvt_pk_fp8_f32 or opcode == <uint32_t>op_v_cvt_pk_bf8_f32)


cdef void _prepare_sources(Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t slot, position
    cdef uint8_t kind
    cdef bint scalar
    if operation == NULL:
        for slot in range(min(<uint32_t>instruction.decoded.source_count, <uint32_t>8)):
            _fill_source(instruction, slot, type_u32, False)
        return
    if instruction.decoded.format & 0x7f == format_vopd:
        position = 3 if instruction.decoded.format & format_vop3 else 2
        for slot in range(min(<uint32_t>instruction.decoded.source_count, 2 * position)):
            kind = (operation if slot < position else instruction.operation_y).source_type[slot % position]
            _fill_source(instruction, slot, kind & ~type_old, False)
        return
    scalar = format_is_salu(instruction.decoded.format)
    position = 0
    for slot in range(operation.source_count):
        kind = operation.source_type[slot] & ~type_old
        if scalar and type_scc <= kind <= type_imm:
            continue
        if position >= instruction.decoded.source_count:
            # VCC, or a destination that is read too, where the encoding does not name them
            instruction.decoded.source[position] = register_vcc if kind == type_mask else instruction.decoded.destination[0]
        _fill_source(instruction, position, _mixed_kind(instruction, slot, kind), operation.packed not in (0, packed_pairs))
        if (kind == type_mix_bf and instruction.source[position].kind == operand_value and 240 <= instruction.source[position].index <= 248
                and (modifier_opsel_hi(instruction.decoded.modifiers) >> slot) & 1):
            instruction.source[position].value >>= 16       # a bfloat is the upper half of a single
        if operation.source_type[slot] & type_old and not scalar:           # op_sel names its half only once, as the destination's
            instruction.source[position].half |= (modifier_opsel(instruction.decoded.modifiers) >> 3) & 1
        position += 1


cdef void _double_constants(Instruction *instruction) noexcept nogil:
    """Inline constants of V_PK_FMAC_F16 stand in both halves since GFX11 (Mesa, aco_register_allocation.cpp)."""
    cdef uint32_t slot
    cdef Source *source
    for slot in range(2):
        source = &instruction.source[slot]
        if source.kind == operand_value and source.index != 255:
            source.value = (source.value & 0xffff) * 0x10001


cdef uint32_t _unit_of(const Decoded *decoded) noexcept nogil:
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


cdef bint _bypasses_registers(const Decoded *decoded) noexcept nogil:
    """GFX9, GFX10: a flat access with the lds bit names no data register; LLVM has such global and scratch loads of up to a dword."""
    cdef const MemoryOperation *operation = memory_operation(decoded.opcode)
    cdef uint8_t access = operation.access
    if access == access_load and operation.dwords == 1 and operation.half == half_none and decoded.format & 0x7f != format_flat:
        return False                                        # it may write LDS
    if access == access_load or access == access_transpose:
        return decoded.destination_count == 0
    return access not in (access_nothing, access_to_lds, access_async_to_lds) and decoded.source_count < 3


cdef void _prepare(Instruction *instruction, uint32_t gfx_level) noexcept nogil:
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
            instruction.operation = earlier_operation(opcode, gfx_level)
            if instruction.operation == NULL:
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
            if opcode == <uint32_t>op_v_fma_mixhi_f16 or opcode == <uint32_t>op_v_fma_mixhi_bf16:
                instruction.writes_high_zero = 2
            elif has_cleared_high_half(gfx_level) and type_u16 <= kind <= type_r16 and not _keeps_high_half_on_gfx9(opcode):
                instruction.writes_high_zero = 1
            elif gfx_level < 110 and opcode == <uint32_t>op_v_sat_pk_u8_i16:  # its result has 32 bits there
                instruction.writes_high_zero = 1
        elif memory_operation(opcode).access != access_none:
            if base == format_smem:
                instruction.handler = execute_smem
            elif base == format_mubuf or base == format_mtbuf:
                instruction.handler = execute_buffer
            elif base == format_mimg and has_image_descriptors(gfx_level) and not modifier_lwe(decoded.modifiers):    # a status that nothing computes
                instruction.handler = execute_image
            elif base == format_ds:
                instruction.handler = execute_lds
            elif format_flat <= base <= format_scratch and not _bypasses_registers(decoded):
                instruction.handler = execute_flat
    instruction.unit = _unit_of(decoded)
    if instruction.handler != NULL:
        _prepare_sources(instruction)
        if opcode == <uint32_t>op_v_pk_fmac_f16 and gfx_level >= 110:
            _double_constants(instruction)


cdef uint32_t _touched_rows(const Instruction *instruction) noexcept nogil:
    """One past the highest VGPR that an instruction may write."""
    cdef const Decoded *decoded = &instruction.decoded
    cdef uint32_t opcode = decoded.opcode
    cdef uint32_t rows = 0
    cdef uint32_t i, number
    if (opcode == <uint32_t>op_v_movreld_b32 or opcode == <uint32_t>op_v_movrelsd_b32
            or opcode == <uint32_t>op_v_movrelsd_2_b32 or opcode == <uint32_t>op_v_swaprel_b32
            or opcode == <uint32_t>op_s_set_gpr_idx_on):
        return vgpr_rows
    for i in range(decoded.destination_count):
        number = decoded.destination[i] >> 2
        if number >= 256 and decoded.destination[i] != register_none:
            rows = max(rows, number - 256 + max(<uint32_t>1, <uint32_t>decoded.destination_bytes[i] + 3) // 4 + 1)
    if (opcode == <uint32_t>op_v_swap_b32 or opcode == <uint32_t>op_v_swap_b16) and instruction.source[0].kind == operand_vgpr:
        rows = max(rows, <uint32_t>instruction.source[0].index + 1)
    return rows


# ------------------------------------------------------------------------------------------------------------------ code
cdef bint _add_region(Code *code, uint64_t first, uint64_t bytes, const void *words) noexcept nogil:
    """The words as they are now: instruction caches do not see stores, so what runs does not depend on how early it is decoded."""
    cdef Region *region = &code.regions[code.count]
    region.first = first
    region.owned = NULL
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
    if allocation == NULL or not _add_region(code, allocation.address, allocation.size, allocation.host):
        return NULL
    return &code.regions[code.last]


cdef void _drop_disabled_offset(Instruction *instruction, const uint32_t *words, uint32_t gfx_level) noexcept nogil:
    """tinygrad writes a scalar load of CDNA without an offset as IMM 0, SOFFSET_EN 0, SOFFSET 124, where hardware would add s0.

    No other program writes a SOFFSET that is not enabled, so what comes in by host addresses is taken as it is meant.
    """
    if (instruction.decoded.format & 0x7f == format_smem and 90 < gfx_level < 100 and not words[0] & 0x24000
            and words[1] >> 25 == 124):
        instruction.decoded.source[1] = register_none


cdef inline void _move_bank(uint16_t *register_, uint32_t bank) noexcept nogil:
    if register_[0] >= 1024 and register_[0] != register_none:
        register_[0] = <uint16_t>(register_[0] + (bank << 10))


cdef uint32_t _bank_of_source(const Decoded *decoded, uint32_t slot) noexcept nogil:
    """Which field of MODE has the upper bits of a source: 0 the result's, 1 to 3 those of the first to third source, 4 none (LLVM,
    getVGPRLoweringOperandTables)."""
    cdef uint16_t base = decoded.format & 0x7f
    cdef uint32_t opcode = decoded.opcode
    if format_flat <= base <= format_scratch:
        return 1 if slot == 0 else 2                        # address and data
    if base == format_mubuf or base == format_mtbuf:
        return 1 if slot == 1 else 0
    if base == format_ds:
        return slot + 2 if memory_operation(opcode).add_lane else slot + 1
    if base == format_vopd:
        slot = slot % 3 if decoded.format & format_vop3 else slot & 1
        return slot + 1
    if opcode == <uint32_t>op_v_wmma_ld_scale_paired_b32 or opcode == <uint32_t>op_v_wmma_ld_scale16_paired_b64 or slot > 2:
        return 4                                            # scales of matrices are among the first 256
    if slot < lane_operations[opcode].source_count and lane_operations[opcode].source_type[slot] & type_old:
        return 0
    if slot == 1 and (opcode == <uint32_t>op_v_fmamk_f32 or opcode == <uint32_t>op_v_fmamk_f16 or opcode == <uint32_t>op_v_fmamk_f64):
        return 3                                            # a literal has the place of the second
    return slot + 1


cdef void _apply_banks(Decoded *decoded, uint32_t banks) noexcept nogil:
    """Add the upper bits to the numbers of VGPRs."""
    cdef uint32_t i, field
    for i in range(decoded.source_count):
        field = _bank_of_source(decoded, i)
        if decoded.format & 0x7f == format_vopd and not decoded.format & format_vop3 and i & 1:
            if (modifier_vopd_opcode_y(decoded.modifiers) if i > 1 else decoded.opcode) == <uint32_t>op_v_dual_fmamk_f32:
                field = 3
        if field < 4:
            _move_bank(&decoded.source[i], (banks >> (2 * field)) & 3)
    for i in range(decoded.destination_count):
        # the second result of an exchange of lanes is its source
        field = 1 if i == 1 and decoded.format & 0x7f != format_vopd else 0
        _move_bank(&decoded.destination[i], (banks >> (2 * field)) & 3)


cdef Instruction *_slot_for(Region *region, Instruction *instruction, uint32_t banks) noexcept nogil:
    """Where the instruction is, or is to be, decoded for these banks; NULL without memory."""
    cdef Instruction *fresh
    if not instruction.valid or instruction.banks == banks:
        return instruction
    while instruction.other != NULL:
        instruction = instruction.other
        if instruction.banks == banks:
            return instruction
    fresh = <Instruction *>calloc(1, sizeof(Instruction))
    if fresh != NULL:
        instruction.other = fresh
        fresh.next_owned = region.owned
        region.owned = fresh
    return fresh


cdef Instruction *decode_at(Code *code, Machine *machine, Region *region, uint64_t pc, uint32_t banks) noexcept nogil:
    cdef uint64_t offset = canonical_address(pc) - region.first
    cdef Instruction *instruction = _slot_for(region, &region.instructions[offset >> 2], banks)
    if instruction == NULL or instruction.valid:
        return instruction
    instruction.banks = <uint8_t>banks
    decode(region.words + (offset >> 2), <uint32_t>((region.bytes - offset) >> 2), machine.gfx_level, &instruction.decoded)
    instruction.pc = pc
    if machine.memory.identity:
        _drop_disabled_offset(instruction, region.words + (offset >> 2), machine.gfx_level)
    if instruction.decoded.opcode != <int>op_invalid:
        if banks:
            _apply_banks(&instruction.decoded, banks)
        _prepare(instruction, machine.gfx_level)
        machine.touched_vgprs = max(machine.touched_vgprs, min(_touched_rows(instruction), rows_of(machine.gfx_level)))
    instruction.valid = 1
    return instruction


cdef bint cache_host_code(Code *code, uint64_t entry, uint64_t entry_bytes) noexcept nogil:
    """With host addresses there are no allocations to span: the caller says how long the code is."""
    return _add_region(code, canonical_address(entry), entry_bytes, <const void *>entry)


cdef bint is_unchanged(const Code *code, Memory *memory, uint64_t entry, uint64_t entry_bytes) noexcept nogil:
    cdef const Region *region
    cdef const Allocation *allocation
    cdef const void *words
    cdef uint32_t i
    for i in range(code.count):
        region = &code.regions[i]
        if memory.identity:
            if region.first != canonical_address(entry) or region.bytes != entry_bytes & ~(<uint64_t>3):
                return False
            words = <const void *>entry
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
        if not _add_region(code, other.regions[i].first, other.regions[i].bytes, other.regions[i].words):
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
            if decoded.opcode != <int>op_invalid and waits_for_dispatch(&decoded):
                return True
            region.jumps = (region.jumps or decoded.opcode == <int>op_s_setpc_b64 or decoded.opcode == <int>op_s_swappc_b64
                            or decoded.opcode == <int>op_s_add_pc_i64)
        region.searched = True
    return False


cdef bint is_all_known(const Code *code) noexcept nogil:
    return code.count == 1 and code.regions[0].searched and not code.regions[0].jumps


cdef void forget(Code *code) noexcept nogil:
    cdef uint32_t i
    cdef Instruction *instruction
    for i in range(code.count):
        while code.regions[i].owned != NULL:
            instruction = code.regions[i].owned
            code.regions[i].owned = instruction.next_owned
            free(instruction)
        free(code.regions[i].words)
        free(code.regions[i].instructions)
    code.count = 0
    code.last = 0
    code.generation += 1


def supported_opcodes():
    """Numbers of the opcodes that the engine executes."""
    return [number for number in range(<int>op_count) if handlers[<int>number] != NULL
            or lane_operations[<int>number].function != NULL or memory_operation(number).access != access_none]
