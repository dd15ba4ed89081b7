"""LDS instructions: loads, stores and atomics within the workgroup's allocation, and the lane permutations of the DS unit.

Out of range, loads give zero and stores drop the bytes that lie outside. GDS is a memory of the same kind for the whole dispatch.

Sources: AMD "RDNA 2" and "RDNA3" ISA documents, "Local Data Share Operations" and "DS instructions"; Mesa's README-ISA (m0
does not clamp on GFX9+); LLVM's GCNSubtarget.h, hasUsableDSOffset (GFX6 does not wrap).
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from features cimport has_ds_cmpstore, has_half_wave_permutes, has_lds_offsets_wrap
from isa_opcodes cimport *
from modifiers cimport modifier_gds
from pyaco._core.emu.access cimport *
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.common.bits cimport popcount
from pyaco._core.emu.lds_barrier cimport after_arrival
from pyaco._core.emu.wave cimport *


cdef inline uint32_t *_row_of(const Wave *wave, uint16_t register_, uint32_t dword) noexcept nogil:
    return wave_vgpr(wave, (register_ >> 2) - 256 + dword)


cdef struct Window:                   # the memory that the addresses of an instruction refer to
    uint8_t *host
    uint64_t bytes
    AccessLog *log
    uint8_t space
    uint64_t first                    # of GDS


cdef Window _window_of(const Machine *machine, const Wave *wave, const Instruction *instruction) noexcept nogil:
    """LDS, or the part of GDS that m0 names: size in bits 0-15, base in bits 16-31."""
    cdef Window window
    cdef uint32_t base = wave.sgpr[sgpr_m0] >> 16
    if not modifier_gds(instruction.decoded.modifiers):
        return Window(machine.lds, lds_reach(machine, wave), machine.log, space_lds, 0)
    window.log = machine.log
    window.space = space_gds
    window.first = min(base, machine.gds_bytes)
    window.host = machine.gds + min(base, machine.gds_bytes)
    window.bytes = min(<uint64_t>(wave.sgpr[sgpr_m0] & 0xffff), <uint64_t>(machine.gds_bytes - min(base, machine.gds_bytes)))
    return window


cdef inline void _note_lds(const Window *window, uint8_t access_kind, uint32_t lane, uint64_t address, uint32_t bytes) noexcept nogil:
    """Of GDS what lies in the window; of LDS also what lies beyond its end, which the engine that reads the log judges."""
    if window.log == NULL:
        return
    if window.space == space_lds:
        add_access(window.log, space_lds, access_kind, lane, address, bytes)
    elif address < window.bytes:
        add_access(window.log, window.space, access_kind, lane, window.first + address, min(<uint64_t>bytes, window.bytes - address))


cdef void _note_lanes(const Window *window, const MemoryOperation *operation, uint64_t exec_mask, const uint32_t *addresses,
                      const uint32_t *offsets, uint32_t scale) noexcept nogil:
    """Record everything that a load, store or atomic accesses."""
    cdef uint32_t lane, half, dword, address
    for lane in range(<uint32_t>max_lanes):
        if not (exec_mask >> lane) & 1:
            continue
        for half in range(2 if operation.pair else 1):
            address = addresses[lane] + offsets[half] * scale
            if operation.access == access_atomic:
                _note_lds(window, access_kind_atomic, lane, address, operation.bytes)
                continue
            for dword in range(operation.dwords):
                _note_lds(window, access_kind_load if operation.access == access_load else access_kind_store, lane, <uint64_t>address + 4 * dword,
                          operation.bytes)


cdef void _transfer(const Window *window, Wave *wave, const MemoryOperation *operation, uint32_t lane, uint64_t address,
                    uint16_t register_, uint32_t first) noexcept nogil:
    """Loads or stores the dwords of one lane, from dword `first` of the registers on."""
    cdef uint32_t dword, value
    cdef uint8_t buffer[8]
    cdef uint32_t count = operation.dwords
    for dword in range(count):
        if operation.access == access_load:
            load_lds(window.host, window.bytes, address + 4 * dword, operation.bytes, buffer)
            place_element(&_row_of(wave, register_, first + dword)[lane], load_element(buffer, operation), operation.half)
        else:
            value = _row_of(wave, register_, first + dword)[lane]
            if operation.half == half_high:
                value >>= 16
            store_lds(window.host, window.bytes, address + 4 * dword, operation.bytes, <uint8_t *>&value)


cdef uint64_t _modify(const Window *window, const MemoryOperation *operation, uint64_t address, uint64_t first,
                      uint64_t second) noexcept nogil:
    """Read, modify, write; returns the old value."""
    cdef uint64_t old = 0
    cdef uint64_t fresh
    load_lds(window.host, window.bytes, address, operation.bytes, <uint8_t *>&old)
    if operation.bytes == 8:
        fresh = atomic64(operation.atomic, old, first, second)
    else:
        fresh = atomic32(operation.atomic, <uint32_t>old, <uint32_t>first, <uint32_t>second)
    if address + operation.bytes <= window.bytes:
        memcpy(window.host + address, &fresh, operation.bytes)
    return old


cdef uint64_t _data_of(const Wave *wave, const MemoryOperation *operation, uint16_t register_, uint32_t lane) noexcept nogil:
    cdef uint64_t value = _row_of(wave, register_, 0)[lane]
    return value | (<uint64_t>_row_of(wave, register_, 1)[lane] << 32) if operation.bytes == 8 else value


cdef void _atomic_lds(const Window *window, const Machine *machine, Wave *wave, const Instruction *instruction,
                      const MemoryOperation *operation, uint32_t lane, uint64_t address, uint16_t data,
                      uint32_t first) noexcept nogil:
    """One atomic of one lane. From GFX11 on compare-and-store has its data registers in the opposite order."""
    cdef uint16_t second = instruction.decoded.source[2] if instruction.decoded.source_count > 2 else data
    cdef bint compares = operation.atomic == atomic_cmpswap or operation.atomic == atomic_fcmpswap
    cdef uint64_t one = _data_of(wave, operation, data, lane)
    cdef uint64_t other = _data_of(wave, operation, second, lane)
    cdef uint64_t old
    cdef uint32_t dword
    if compares and not has_ds_cmpstore(machine.gfx_level):
        one, other = other, one
    old = _modify(window, operation, address, one, other)
    if operation.returns:
        for dword in range(operation.bytes // 4):
            _row_of(wave, instruction.decoded.destination[0], first + dword)[lane] = <uint32_t>(old >> (32 * dword))


cdef int32_t _distance_of_second(uint32_t immediate, uint32_t address) noexcept nogil:
    """Where the operand of DS_*_SRC2 lies, in dwords from the address: 15 bits of the offset, or the address's own top bits."""
    if immediate & 0x8000:
        return <int32_t>address >> 17
    return <int32_t>(immediate << 17) >> 17


cdef int _execute_second(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_*_SRC2: the operand of an atomic is in LDS too."""
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef Window window = _window_of(machine, wave, instruction)
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, address, other
    cdef uint64_t value
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        address = _row_of(wave, instruction.decoded.source[0], 0)[lane]
        value = 0
        other = <uint32_t>(<int32_t>address + 4 * _distance_of_second(instruction.decoded.immediate, address))
        if window.space == space_lds:
            note_beyond(machine, instruction, <uint64_t>address + operation.bytes, window.bytes)
            note_beyond(machine, instruction, <uint64_t>other + operation.bytes, window.bytes)
        load_lds(window.host, window.bytes, other, operation.bytes, <uint8_t *>&value)
        _note_lds(&window, access_kind_atomic, lane, address, operation.bytes)
        _modify(&window, operation, address, value, 0)
    return stop_running


cdef int _execute_exchange(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_CONDXCHG32_RTN_B64: two dwords, each replaced by 31 bits of the operand where the operand's bit 31 is set."""
    cdef Window window = _window_of(machine, wave, instruction)
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, dword, value, old
    cdef uint64_t address
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        address = (_row_of(wave, instruction.decoded.source[0], 0)[lane] + (instruction.decoded.immediate & 0xffff)) & 0xfff8
        for dword in range(2):
            value = _row_of(wave, instruction.decoded.source[1], dword)[lane]
            _note_lds(&window, access_kind_atomic, lane, address + 4 * dword, 4)
            if window.space == space_lds:
                note_beyond(machine, instruction, address + 4 * dword + 4, window.bytes)
            load_lds(window.host, window.bytes, address + 4 * dword, 4, <uint8_t *>&old)
            if value >> 31:
                value &= 0x7fffffff
                store_lds(window.host, window.bytes, address + 4 * dword, 4, <uint8_t *>&value)
            _row_of(wave, instruction.decoded.destination[0], dword)[lane] = old
    return stop_running


cdef int execute_lds(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef Window window = _window_of(machine, wave, instruction)
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, scale, half, reached
    cdef uint32_t offsets[2]
    cdef uint32_t addresses[max_lanes]
    cdef uint64_t address
    cdef uint64_t wrap = 0xffffffffU if has_lds_offsets_wrap(machine.gfx_level) else ~(<uint64_t>0)
    cdef uint16_t data, address_register
    cdef uint32_t data_dwords = operation.dwords if operation.access != access_atomic else operation.bytes // 4
    if operation.second:
        return _execute_second(machine, wave, instruction)
    offsets[0] = instruction.decoded.immediate & 0xffff
    offsets[1] = (instruction.decoded.immediate >> 16) & 0xff
    address_register = instruction.decoded.source[0]
    data = instruction.decoded.source[0 if operation.add_lane else 1]
    for lane in range(wave.lanes):                          # a load may overwrite its own address
        if operation.add_lane:
            addresses[lane] = (wave.sgpr[sgpr_m0] & 0xffff) + 4 * lane
        else:
            addresses[lane] = _row_of(wave, address_register, 0)[lane]
    scale = operation.bytes * operation.dwords if operation.access != access_atomic else operation.bytes
    if operation.pair == 0:
        scale = 1
    elif operation.pair == 2:
        scale *= 64
    reached = operation.bytes if operation.access == access_atomic else operation.bytes + 4 * (operation.dwords - 1)
    if window.log != NULL:
        _note_lanes(&window, operation, exec_mask, addresses, offsets, scale)
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        for half in range(2 if operation.pair else 1):
            address = (<uint64_t>addresses[lane] + offsets[half] * scale) & wrap
            if window.space == space_lds:
                note_beyond(machine, instruction, address + reached, window.bytes)
            if operation.pair:
                data = instruction.decoded.source[1 + half]
            if operation.access == access_atomic:
                _atomic_lds(&window, machine, wave, instruction, operation, lane, address, data, half * data_dwords)
            elif operation.access == access_load:
                _transfer(&window, wave, operation, lane, address, instruction.decoded.destination[0], half * data_dwords)
            else:
                _transfer(&window, wave, operation, lane, address, data, 0)
    return stop_running


cdef int _load_direct(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_DIRECT_LOAD: one element for all lanes; m0 has its address and, from bit 16 on, its type."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t kind = (wave.sgpr[sgpr_m0] >> 16) & 7
    cdef MemoryOperation operation
    cdef uint8_t buffer[4]
    cdef uint32_t lane
    if kind == 3 or kind > 5:
        return stop_unsupported
    operation.bytes = 1 << (kind & 3)
    operation.is_signed = kind >> 2
    note(machine.log, space_lds, access_kind_load, 0, wave.sgpr[sgpr_m0] & 0xffff, operation.bytes)
    note_lds_bounds(machine, instruction, <uint64_t>(wave.sgpr[sgpr_m0] & 0xffff) + operation.bytes)
    load_lds(machine.lds, machine.lds_bytes, wave.sgpr[sgpr_m0] & 0xffff, operation.bytes, buffer)
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            _row_of(wave, instruction.decoded.destination[0], 0)[lane] = load_element(buffer, &operation)
    return stop_running


# ---------------------------------------------------------------------------------------------------------- permutations
cdef int swizzle_lane(uint32_t offset, int lane) noexcept nogil:
    """The lane that DS_SWIZZLE reads, within groups of 32."""
    cdef int group = lane & 32
    cdef int position = lane & 31
    cdef int mask, count
    if offset >= 0xe000:                                    # FFT: the bits of the low part, reversed
        mask = offset & 0x1f
        if mask == 0x1f:
            return lane
        if mask == 0x10:
            count = position & 15
            return group | (position & 0x10) | ((count & 1) << 3) | ((count & 2) << 1) | ((count & 4) >> 1) | (count >> 3)
        if mask == 0:
            return group | ((position & 1) << 4) | ((position & 2) << 2) | (position & 4) | ((position & 8) >> 2) | (position >> 4)
        return -2
    if offset >= 0xc000:                                    # rotate within lanes that agree in the masked bits
        mask = offset & 0x1f
        count = (offset >> 5) & 0x1f
        if (offset >> 10) & 1:
            count = -count
        return group | (position & mask) | ((position + count) & ~mask & 0x1f)
    if offset & 0x8000:
        return (lane & ~3) | ((offset >> (2 * (lane & 3))) & 3)
    return group | (((position & (offset & 0x1f)) | ((offset >> 5) & 0x1f)) ^ ((offset >> 10) & 0x1f))


cdef int _execute_swizzle(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t result[max_lanes]
    cdef int lane, other
    cdef const uint32_t *source = _row_of(wave, instruction.decoded.source[0], 0)
    for lane in range(<int>wave.lanes):
        other = swizzle_lane(instruction.decoded.immediate & 0xffff, lane)
        if other == -2:
            return stop_unsupported
        result[lane] = source[other] if (exec_mask >> other) & 1 else 0
    for lane in range(<int>wave.lanes):
        if (exec_mask >> lane) & 1:
            _row_of(wave, instruction.decoded.destination[0], 0)[lane] = result[lane]
    return stop_running


cdef int _execute_permute(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_BPERMUTE pulls from a lane, DS_PERMUTE pushes to one; the highest lane that pushes to a lane wins."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t result[max_lanes]
    cdef uint32_t lane, other
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef const uint32_t *address = _row_of(wave, instruction.decoded.source[0], 0)
    cdef const uint32_t *data = _row_of(wave, instruction.decoded.source[1], 0)
    cdef uint32_t offset = instruction.decoded.immediate & 0xffff
    # on GFX10 and later the unit works on 32 lanes at a time
    cdef uint32_t group = 32 if has_half_wave_permutes(machine.gfx_level) else 64
    if group > wave.lanes:
        group = wave.lanes
    for lane in range(wave.lanes):
        result[lane] = 0
    for lane in range(wave.lanes):
        other = (lane & ~(group - 1)) | (((address[lane] + offset) >> 2) & (group - 1))
        if opcode == <uint32_t>op_ds_permute_b32:
            if (exec_mask >> lane) & 1:
                result[other] = data[lane]
        elif (exec_mask >> other) & 1 or opcode == <uint32_t>op_ds_bpermute_fi_b32:
            result[lane] = data[other]
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            _row_of(wave, instruction.decoded.destination[0], 0)[lane] = result[lane]
    return stop_running


cdef int _execute_append(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_APPEND and DS_CONSUME: one counter for the wave, moved by the number of active lanes. In LDS, M0 has its address and bounds nothing."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t old = 0
    cdef uint32_t fresh, lane
    cdef uint64_t address = instruction.decoded.immediate & 0xffff
    cdef Window window = _window_of(machine, wave, instruction)
    if not modifier_gds(instruction.decoded.modifiers):
        address += wave.sgpr[sgpr_m0] & 0xffff
        window.bytes = machine.lds_bytes
    _note_lds(&window, access_kind_atomic, 0, address, 4)
    load_lds(window.host, window.bytes, address, 4, <uint8_t *>&old)
    if instruction.decoded.opcode == <int>op_ds_append:
        fresh = old + popcount(exec_mask)
    else:
        fresh = old - popcount(exec_mask)
    store_lds(window.host, window.bytes, address, 4, <const uint8_t *>&fresh)
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            _row_of(wave, instruction.decoded.destination[0], 0)[lane] = old
    return stop_running


cdef int _load_transposed(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_READ_B64_TR_*, DS_READ_B96_TR_B6, DS_LOAD_TR4_B64, DS_LOAD_TR6_B96: 16 lanes load rows of 16 elements, and each gets a column.

    With E elements of a lane, a row is those of 16 / E lanes one after the other, and there are E rows. Inactive lanes make the
    result undefined. As measured on hardware for B16 (ROCm, rocm-systems, pull request 10175); the others are assumed to be alike. Those of GFX12.5
    are the same (MLIR's documentation of transposing loads; ROCm's translator of code for gfx1250), in waves of 32 lanes.
    """
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t width = (16 if opcode == <uint32_t>op_ds_read_b64_tr_b16 else 8 if opcode == <uint32_t>op_ds_read_b64_tr_b8
                           else 6 if opcode == <uint32_t>op_ds_read_b96_tr_b6 or opcode == <uint32_t>op_ds_load_tr6_b96 else 4)
    cdef uint32_t dwords = 3 if width == 6 else 2
    cdef uint32_t elements = 32 * dwords // width
    cdef Window window = _window_of(machine, wave, instruction)
    cdef uint32_t loaded[max_lanes][3]
    cdef uint32_t result[3]
    cdef uint32_t lane, other, row, dword, position
    if (wave.lanes != 32 if opcode == <uint32_t>op_ds_load_tr4_b64 or opcode == <uint32_t>op_ds_load_tr6_b96 else wave.lanes != 64):
        return stop_unsupported
    if wave_exec(wave) != ~(<uint64_t>0) >> (64 - wave.lanes):
        return stop_unsupported
    for lane in range(wave.lanes):
        position = _row_of(wave, instruction.decoded.source[0], 0)[lane] + (instruction.decoded.immediate & 0xffff)
        _note_lds(&window, access_kind_load, lane, position, 4 * dwords)
        note_lds_bounds(machine, instruction, <uint64_t>position + 4 * dwords)
        for dword in range(dwords):
            load_lds(window.host, window.bytes, <uint64_t>position + 4 * dword, 4, <uint8_t *>&loaded[lane][dword])
    for lane in range(wave.lanes):
        memset(result, 0, sizeof(result))
        for row in range(elements):
            other = (lane & ~<uint32_t>15) + row * (16 // elements) + (lane & 15) // elements
            put_bits(result, width * row, width, bits_at(loaded[other], width * ((lane & 15) % elements), width))
        for dword in range(dwords):
            _row_of(wave, instruction.decoded.destination[0], dword)[lane] = result[dword]
    return stop_running


cdef int _load_transposed_12(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_LOAD_TR16_B128, DS_LOAD_TR8_B64: each lane names eight elements, and gets one element of each of eight lanes. Halves: lanes that follow
    each other. Bytes: element e of lane l is the (l % 8)-th of lane 8 (e / 4) + e % 4 + 4 (l / 8) of the same sixteen (examples for hipcc whose
    authors say that they saw it so on gfx1250). All lanes take part; what those that are not active do is not known."""
    cdef bint halves = instruction.decoded.opcode == <int>op_ds_load_tr16_b128
    cdef uint32_t bytes = 2 if halves else 1
    cdef Window window = _window_of(machine, wave, instruction)
    cdef uint8_t loaded[32][16]
    cdef uint32_t result[4]
    cdef uint32_t lane, other, element, dword, value
    cdef uint64_t position
    if wave.lanes != 32 or wave_exec(wave) != 0xffffffffU:
        return stop_unsupported
    for lane in range(32):
        position = (<uint64_t>_row_of(wave, instruction.decoded.source[0], 0)[lane] + (instruction.decoded.immediate & 0xffff)) & 0xffffffffU
        _note_lds(&window, access_kind_load, lane, position, 8 * bytes)
        note_lds_bounds(machine, instruction, position + 8 * bytes)
        for dword in range(2 * bytes):
            load_lds(window.host, window.bytes, position + 4 * dword, 4, &loaded[lane][4 * dword])
    for lane in range(32):
        memset(result, 0, sizeof(result))
        for element in range(8):
            other = (lane & ~<uint32_t>7) + element if halves else (lane & 16) + ((lane >> 3) & 1) * 4 + (element >> 2) * 8 + (element & 3)
            value = loaded[other][bytes * (lane & 7)]
            if halves:
                value |= <uint32_t>loaded[other][2 * (lane & 7) + 1] << 8
            result[(8 * bytes * element) >> 5] |= value << ((8 * bytes * element) & 31)
        for dword in range(2 * bytes):
            _row_of(wave, instruction.decoded.destination[0], dword)[lane] = result[dword]
    return stop_running


cdef int _arrive(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_ATOMIC_BARRIER_ARRIVE_RTN_B64, DS_ATOMIC_ASYNC_BARRIER_ARRIVE_B64."""
    cdef bint returns = instruction.decoded.opcode == <int>op_ds_atomic_barrier_arrive_rtn_b64
    cdef Window window = _window_of(machine, wave, instruction)
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint64_t old, fresh, address
    cdef uint32_t lane
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        address = (<uint64_t>_row_of(wave, instruction.decoded.source[0], 0)[lane] + (instruction.decoded.immediate & 0xffff)) & 0xffffffffU
        _note_lds(&window, access_kind_atomic, lane, address, 8)
        note_lds_bounds(machine, instruction, address + 8)
        load_lds(window.host, window.bytes, address, 8, <uint8_t *>&old)
        fresh = after_arrival(old, _row_of(wave, instruction.decoded.source[1], 0)[lane] if returns else 1)
        if address + 8 <= window.bytes:
            memcpy(window.host + address, &fresh, 8)
        if returns:
            _row_of(wave, instruction.decoded.destination[0], 0)[lane] = <uint32_t>old
            _row_of(wave, instruction.decoded.destination[0], 1)[lane] = <uint32_t>(old >> 32)
    return stop_running


cdef void fill_lds(Handler *table) noexcept nogil:
    """Instructions that are not plain loads, stores or atomics."""
    table[<int>op_ds_swizzle_b32] = _execute_swizzle
    table[<int>op_ds_permute_b32] = _execute_permute
    table[<int>op_ds_bpermute_b32] = _execute_permute
    table[<int>op_ds_bpermute_fi_b32] = _execute_permute
    table[<int>op_ds_append] = _execute_append
    table[<int>op_ds_consume] = _execute_append
    table[<int>op_ds_condxchg32_rtn_b64] = _execute_exchange
    table[<int>op_lds_direct_load] = _load_direct
    table[<int>op_ds_read_b64_tr_b4] = _load_transposed
    table[<int>op_ds_read_b96_tr_b6] = _load_transposed
    table[<int>op_ds_read_b64_tr_b8] = _load_transposed
    table[<int>op_ds_read_b64_tr_b16] = _load_transposed
    table[<int>op_ds_load_tr4_b64] = _load_transposed
    table[<int>op_ds_load_tr6_b96] = _load_transposed
    table[<int>op_ds_load_tr16_b128] = _load_transposed_12
    table[<int>op_ds_load_tr8_b64] = _load_transposed_12
    table[<int>op_ds_atomic_barrier_arrive_rtn_b64] = _arrive
    table[<int>op_ds_atomic_async_barrier_arrive_b64] = _arrive
