"""LDS instructions: loads, stores and atomics within the workgroup's allocation, and the lane permutations of the DS unit.

Out of range, loads give zero and stores drop the bytes that lie outside.

Sources: AMD "RDNA 2" and "RDNA3" ISA documents, "Local Data Share Operations" and "DS instructions"; Mesa's README-ISA (m0
does not clamp on GFX9+).
"""
from libc.stdint cimport int8_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from isa_opcodes cimport *
from modifiers cimport modifier_gds
from pyaco._core.emu.access cimport *
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.numbers cimport popcount64
from pyaco._core.emu.wave cimport *
from pyaco._core.ir.program cimport register_none


cdef inline uint32_t *row_of(const Wave *wave, uint16_t register_, uint32_t dword) noexcept nogil:
    return wave_vgpr(wave, (register_ >> 2) - 256 + dword)


cdef void load_lds(const Machine *machine, uint64_t address, uint32_t bytes, uint8_t *into) noexcept nogil:
    """Bytes out of range read as zero, the whole element when it straddles the end."""
    cdef uint32_t i
    if address + bytes <= machine.lds_bytes:
        memcpy(into, machine.lds + address, bytes)
        return
    for i in range(bytes):
        into[i] = 0


cdef void store_lds(Machine *machine, uint64_t address, uint32_t bytes, const uint8_t *source) noexcept nogil:
    cdef uint32_t i
    if address + bytes <= machine.lds_bytes:
        memcpy(machine.lds + address, source, bytes)
        return
    for i in range(bytes):
        if address + i < machine.lds_bytes:
            machine.lds[address + i] = source[i]


cdef void transfer(Machine *machine, Wave *wave, const MemoryOperation *operation, uint32_t lane, uint64_t address,
                   uint16_t register_, uint32_t first) noexcept nogil:
    """Loads or stores the dwords of one lane, from dword `first` of the registers on."""
    cdef uint32_t dword, value
    cdef uint8_t buffer[8]
    cdef uint32_t count = operation.dwords
    for dword in range(count):
        if operation.access == access_load:
            load_lds(machine, address + 4 * dword, operation.bytes, buffer)
            place_element(&row_of(wave, register_, first + dword)[lane], load_element(buffer, operation), operation.half)
        else:
            value = row_of(wave, register_, first + dword)[lane]
            if operation.half == half_high:
                value >>= 16
            store_lds(machine, address + 4 * dword, operation.bytes, <uint8_t *>&value)


cdef void atomic_lds(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                     uint32_t lane, uint64_t address, uint16_t data, uint32_t first) noexcept nogil:
    """One atomic of one lane. Compare-and-store has its data registers the other way round from GFX11 on."""
    cdef uint64_t old = 0
    cdef uint64_t fresh
    cdef uint64_t values[2]
    cdef uint32_t dword
    cdef uint32_t dwords = operation.bytes // 4
    cdef uint16_t second = instruction.decoded.source[2] if instruction.decoded.source_count > 2 else data
    cdef bint compares = operation.atomic == atomic_cmpswap or operation.atomic == atomic_fcmpswap
    values[0] = row_of(wave, data, 0)[lane]
    values[1] = row_of(wave, second, 0)[lane]
    if dwords == 2:
        values[0] |= <uint64_t>row_of(wave, data, 1)[lane] << 32
        values[1] |= <uint64_t>row_of(wave, second, 1)[lane] << 32
    if compares and machine.gfx_level < 110:
        values[0], values[1] = values[1], values[0]
    load_lds(machine, address, operation.bytes, <uint8_t *>&old)
    if dwords == 2:
        fresh = atomic64(operation.atomic, old, values[0], values[1])
    else:
        fresh = atomic32(operation.atomic, <uint32_t>old, <uint32_t>values[0], <uint32_t>values[1])
    if address + operation.bytes <= machine.lds_bytes:
        store_lds(machine, address, operation.bytes, <const uint8_t *>&fresh)
    if operation.returns:
        for dword in range(dwords):
            row_of(wave, instruction.decoded.destination[0], first + dword)[lane] = <uint32_t>(old >> (32 * dword))


cdef int execute_lds(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, scale, half
    cdef uint32_t offset0 = instruction.decoded.immediate & 0xffff
    cdef uint32_t offset1 = (instruction.decoded.immediate >> 16) & 0xff
    cdef uint32_t bases[max_lanes]
    cdef uint16_t data, address_register
    cdef uint32_t data_dwords
    if modifier_gds(instruction.decoded.modifiers):
        return stop_unsupported
    address_register = instruction.decoded.source[0]
    data = instruction.decoded.source[0 if operation.add_lane else 1]
    for lane in range(wave.lanes):                          # a load may overwrite its own address
        if operation.add_lane:
            bases[lane] = (wave.sgpr[sgpr_m0] & 0xffff) + 4 * lane
        else:
            bases[lane] = row_of(wave, address_register, 0)[lane]
    scale = operation.bytes * operation.dwords if operation.access != access_atomic else operation.bytes
    if operation.pair == 2:
        scale *= 64
    data_dwords = operation.dwords if operation.access != access_atomic else operation.bytes // 4
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        if operation.pair:
            for half in range(2):
                if operation.access == access_atomic:
                    atomic_lds(machine, wave, instruction, operation, lane,
                               <uint32_t>(bases[lane] + (offset1 if half else offset0) * scale),
                               instruction.decoded.source[1 + half], half * data_dwords)
                else:
                    transfer(machine, wave, operation, lane,
                             <uint32_t>(bases[lane] + (offset1 if half else offset0) * scale),
                             instruction.decoded.destination[0] if operation.access == access_load
                             else instruction.decoded.source[1 + half],
                             half * data_dwords if operation.access == access_load else 0)
        elif operation.access == access_atomic:
            atomic_lds(machine, wave, instruction, operation, lane, <uint64_t>bases[lane] + offset0, data, 0)
        else:
            transfer(machine, wave, operation, lane, <uint64_t>bases[lane] + offset0,
                     instruction.decoded.destination[0] if operation.access == access_load else data, 0)
    return stop_running


# ---------------------------------------------------------------------------------------------------------- permutations
cdef int swizzle_lane(uint32_t offset, int lane) noexcept nogil:
    """The lane that DS_SWIZZLE reads, within groups of 32."""
    cdef int group = lane & 32
    cdef int place = lane & 31
    cdef int mask, count
    if offset >= 0xe000:                                    # FFT: the bits of the low part, reversed
        mask = offset & 0x1f
        if mask == 0x1f:
            return lane
        if mask == 0x10:
            count = place & 15
            return group | (place & 0x10) | ((count & 1) << 3) | ((count & 2) << 1) | ((count & 4) >> 1) | (count >> 3)
        if mask == 0:
            return group | ((place & 1) << 4) | ((place & 2) << 2) | (place & 4) | ((place & 8) >> 2) | (place >> 4)
        return -2
    if offset >= 0xc000:                                    # rotate within lanes that agree in the masked bits
        mask = offset & 0x1f
        count = (offset >> 5) & 0x1f
        if (offset >> 10) & 1:
            count = -count
        return group | (place & mask) | ((place + count) & ~mask & 0x1f)
    if offset & 0x8000:
        return (lane & ~3) | ((offset >> (2 * (lane & 3))) & 3)
    return group | (((place & (offset & 0x1f)) | ((offset >> 5) & 0x1f)) ^ ((offset >> 10) & 0x1f))


cdef int execute_swizzle(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t result[max_lanes]
    cdef int lane, other
    cdef const uint32_t *source = row_of(wave, instruction.decoded.source[0], 0)
    for lane in range(<int>wave.lanes):
        other = swizzle_lane(instruction.decoded.immediate & 0xffff, lane)
        if other == -2:
            return stop_unsupported
        result[lane] = source[other] if (exec_mask >> other) & 1 else 0
    for lane in range(<int>wave.lanes):
        if (exec_mask >> lane) & 1:
            row_of(wave, instruction.decoded.destination[0], 0)[lane] = result[lane]
    return stop_running


cdef int execute_permute(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_BPERMUTE pulls from a lane, DS_PERMUTE pushes to one; the highest lane that pushes to a lane wins."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t result[max_lanes]
    cdef uint32_t lane, other
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef const uint32_t *address = row_of(wave, instruction.decoded.source[0], 0)
    cdef const uint32_t *data = row_of(wave, instruction.decoded.source[1], 0)
    cdef uint32_t offset = instruction.decoded.immediate & 0xffff
    # on GFX10 and later the unit works on 32 lanes at a time
    cdef uint32_t group = 64 if machine.gfx_level < 100 else 32
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
            row_of(wave, instruction.decoded.destination[0], 0)[lane] = result[lane]
    return stop_running


cdef int execute_append(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_APPEND and DS_CONSUME: one counter for the wave, moved by the number of active lanes."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t old = 0
    cdef uint32_t fresh, lane
    cdef uint64_t address = (wave.sgpr[sgpr_m0] & 0xffff) + (instruction.decoded.immediate & 0xffff)
    if modifier_gds(instruction.decoded.modifiers):
        return stop_unsupported
    load_lds(machine, address, 4, <uint8_t *>&old)
    if instruction.decoded.opcode == <int>op_ds_append:
        fresh = old + popcount64(exec_mask)
    else:
        fresh = old - popcount64(exec_mask)
    store_lds(machine, address, 4, <const uint8_t *>&fresh)
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            row_of(wave, instruction.decoded.destination[0], 0)[lane] = old
    return stop_running
