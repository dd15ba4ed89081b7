"""The fast engine: the reference engine's interpreter with lanes as host vectors.

Three things differ, and none changes a result. The lane loops are compiled for AVX2 and FMA (``lanes_*_avx2``), and plain
32-bit instructions, those without modifiers, DPP or SDWA, go through ``execute_plain``: registers are read where they lie, and
NaNs and denormals are looked for eight lanes at a time. Dword loads and stores through raw buffer descriptors look the buffer up once for all lanes
(``execute_raw_buffer``). Everything else takes the reference engine's way. The tests hold
both engines together bit for bit.
"""
from libc.stdint cimport int16_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from pyaco._core.emu.lanes_compare_avx2 cimport fill_compare
from pyaco._core.emu.lanes_float_avx2 cimport fill_float
from pyaco._core.emu.lanes_integer_avx2 cimport fill_integer
from pyaco._core.emu.access cimport MemoryOperation, access_load, access_store, half_none
from pyaco._core.emu.global_memory cimport execute_buffer, memory_operation
from pyaco._core.emu.memory cimport memory_at
from pyaco._core.emu.vector cimport execute_vector, finish, read_scalar
from pyaco._core.emu.wave cimport *
from modifiers cimport (modifier_addr64, modifier_idxen, modifier_lds, modifier_offen, modifier_tfe)
from pyaco._core.ir.program cimport format_dpp8, format_dpp16, format_is_valu, format_mubuf, format_sdwa, format_vop3p, format_vopd, register_none

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    static int host_has_vectors(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
    #pragma GCC target("avx2,fma")
    #pragma GCC optimize("O3")
    #else
    static int host_has_vectors(void) { return 0; }
    #endif
    """
    int host_has_vectors() nogil

cdef enum:
    flush_in32 = 0x10                 # MODE bits, set where denormals are kept
    flush_out32 = 0x20


cdef bint host_is_fast() noexcept nogil:
    return host_has_vectors() != 0


cdef void fill_fast(LaneOperation *table) noexcept nogil:
    fill_integer(table)
    fill_float(table)
    fill_compare(table)


cdef inline void broadcast(uint32_t *place, uint32_t value, uint32_t count) noexcept nogil:
    cdef uint32_t lane
    for lane in range(count):
        place[lane] = value


cdef inline void flushed(uint32_t *place, const uint32_t *values, uint32_t count) noexcept nogil:
    """Denormals to zeros of their sign."""
    cdef uint32_t lane, value
    for lane in range(count):
        value = values[lane]
        place[lane] = value & 0x80000000U if (value & 0x7f800000) == 0 else value


cdef inline bint any_nan(const uint32_t *values, uint32_t count) noexcept nogil:
    cdef uint32_t lane
    cdef uint32_t found = 0
    for lane in range(count):
        found |= (values[lane] & 0x7fffffff) > 0x7f800000
    return found != 0


cdef inline void put_active(uint32_t *row, const uint32_t *values, uint64_t active, uint32_t count) noexcept nogil:
    cdef uint32_t lane, mask
    cdef uint64_t every = 0xffffffffU if count == 32 else ~(<uint64_t>0)
    if active == every:
        memcpy(row, values, count * 4)
        return
    for lane in range(count):
        mask = -(<uint32_t>(active >> lane) & 1)
        row[lane] = (values[lane] & mask) | (row[lane] & ~mask)


cdef int execute_plain(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t places[4][max_lanes]
    cdef uint32_t results[max_lanes]
    cdef Lanes lanes
    cdef const Source *source
    cdef uint32_t slot, lane
    cdef uint32_t count = wave.lanes
    cdef uint64_t mask
    cdef uint64_t active = wave_exec(wave)
    cdef bint flush = (wave.mode & flush_in32) == 0
    if wave.mode & 3:                                       # another rounding mode
        return execute_vector(machine, wave, instruction)
    lanes.count = count
    lanes.clamp = 0
    lanes.neg = 0
    lanes.rounding16 = 0
    for slot in range(operation.source_count):
        source = &instruction.source[slot]
        lanes.narrow[slot] = places[slot]
        if operation.source_type[slot] == type_mask:
            mask = wave_mask(wave, source.index)
            for lane in range(count):
                places[slot][lane] = <uint32_t>(mask >> lane) & 1
            continue
        if source.kind == operand_vgpr:
            lanes.narrow[slot] = wave_vgpr(wave, source.index)
        elif source.kind == operand_value:
            broadcast(places[slot], <uint32_t>source.value, count)
        else:
            broadcast(places[slot], read_scalar(wave, source.index), count)
        if flush and operation.source_type[slot] & ~type_old == type_f32:
            flushed(places[slot], lanes.narrow[slot], count)
            lanes.narrow[slot] = places[slot]
    lanes.result[0] = results
    operation.function(&lanes)
    if operation.result_type[0] == type_mask:
        mask = 0
        for lane in range(count):
            mask |= <uint64_t>(results[lane] & 1) << lane
        wave_put_mask(wave, instruction.decoded.destination[0] >> 2, mask & active)
        return stop_running
    if operation.result_type[0] == type_f32:
        if any_nan(results, count):
            finish(wave, operation, &lanes, 0)
        elif (wave.mode & flush_out32) == 0:
            flushed(results, results, count)
    put_active(wave_vgpr(wave, (instruction.decoded.destination[0] >> 2) - 256), results, active, count)
    return stop_running


cdef bint is_raw(const Machine *machine, const uint32_t *words) noexcept nogil:
    """A descriptor without stride, swizzle and lane numbers, whose range is checked by bytes."""
    if words[1] >> 16 or (words[3] >> 23) & 1:
        return False
    return machine.gfx_level < 100 or (words[3] >> 28) & 3 == 3


cdef int execute_raw_buffer(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """BUFFER_LOAD and BUFFER_STORE of dwords where every active lane is within the descriptor's range."""
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint64_t active = wave_exec(wave)
    cdef uint32_t words[4]
    cdef uint64_t offsets[max_lanes]
    cdef uint32_t lane, dword, soffset
    cdef uint32_t bytes = 4 * operation.dwords
    cdef uint64_t largest = 0
    cdef uint64_t base
    cdef const uint32_t *address = NULL
    cdef uint32_t *data
    cdef uint8_t *host
    for lane in range(4):
        words[lane] = read_scalar(wave, (instruction.decoded.source[0] >> 2) + lane)
    if active == 0 or not is_raw(machine, words):
        return execute_buffer(machine, wave, instruction)
    soffset = 0
    if instruction.decoded.source[2] != register_none:
        soffset = (<uint32_t>instruction.source[2].value if instruction.source[2].kind == operand_value
                   else read_scalar(wave, instruction.source[2].index))
    if modifier_offen(modifiers):
        address = wave_vgpr(wave, (instruction.decoded.source[1] >> 2) - 256)
    for lane in range(wave.lanes):
        if (active >> lane) & 1:
            offsets[lane] = <uint64_t>instruction.decoded.immediate + soffset
            if address != NULL:
                offsets[lane] += address[lane]
            if offsets[lane] > largest:
                largest = offsets[lane]
    if largest + bytes > words[2]:
        return execute_buffer(machine, wave, instruction)
    base = words[0] | (<uint64_t>(words[1] & 0xffff) << 32)
    host = memory_at(machine.memory, base, largest + bytes)
    if host == NULL:
        return execute_buffer(machine, wave, instruction)
    if operation.access == access_load:
        for dword in range(operation.dwords):
            data = wave_vgpr(wave, (instruction.decoded.destination[0] >> 2) - 256 + dword)
            for lane in range(wave.lanes):
                if (active >> lane) & 1:
                    memcpy(&data[lane], host + offsets[lane] + 4 * dword, 4)
        return stop_running
    for lane in range(wave.lanes):                          # lane after lane: the last one wins where they meet
        if (active >> lane) & 1:
            for dword in range(operation.dwords):
                data = wave_vgpr(wave, (instruction.decoded.source[3] >> 2) - 256 + dword)
                memcpy(host + offsets[lane] + 4 * dword, &data[lane], 4)
    return stop_running


cdef bint is_plain_buffer(const Instruction *instruction) noexcept nogil:
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef uint64_t modifiers = instruction.decoded.modifiers
    return (instruction.decoded.format & 0x7f == format_mubuf and operation.bytes == 4 and operation.half == half_none
            and (operation.access == access_load or operation.access == access_store)
            and not modifier_idxen(modifiers) and not modifier_tfe(modifiers) and not modifier_lds(modifiers)
            and not modifier_addr64(modifiers))


cdef inline bint is_single(uint8_t kind) noexcept nogil:
    kind &= ~type_old
    return type_u32 <= kind <= type_r32


cdef Handler plain_handler(const Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint16_t format = instruction.decoded.format
    cdef uint32_t slot
    if instruction.handler == execute_buffer and is_plain_buffer(instruction):
        return execute_raw_buffer
    if (operation == NULL or operation.packed or operation.writes_exec or operation.result_count != 1
            or instruction.decoded.modifiers != 0 or not format_is_valu(format)
            or format & (format_dpp8 | format_dpp16 | format_sdwa | format_vop3p) or format & 0x7f == format_vopd):
        return NULL
    if not is_single(operation.result_type[0]) and operation.result_type[0] != type_mask:
        return NULL
    if operation.result_type[0] != type_mask and instruction.decoded.destination[0] < 1024:
        return NULL
    for slot in range(operation.source_count):
        if operation.source_type[slot] == type_mask:
            if instruction.source[slot].kind != operand_sgpr:
                return NULL
        elif not is_single(operation.source_type[slot]) or instruction.source[slot].kind == operand_special:
            return NULL
    return execute_plain
