"""Scalar loads, and the vector memory instructions that reach device memory: flat, global, scratch and buffers.

A stray access stops the dispatch. What the hardware defines for accesses outside a descriptor's range (loads give zero,
stores are dropped) is done, not reported.

Sources: AMD "RDNA 2" ISA document 7 "Scalar Memory Operations", 8 "Vector Memory Operations", 9 "Flat Memory Instructions";
"RDNA3" and "RDNA4" for OOB_SELECT, swizzle and format fields; "Vega" for GFX9's descriptors.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from features cimport (has_addressable_scratch, has_oob_select, has_records_in_bytes, has_signed_vector_offsets,
                       has_stride_above_thread_id, has_strict_structures, has_unaligned_scratch,
                       has_wide_lds_loads, has_wrapping_buffer_offsets)
from isa_opcodes cimport (op_buffer_load_lds_format_x, op_cluster_load_async_to_lds_b8, op_cluster_load_async_to_lds_b128, op_count,
                          op_global_load_tr4_b64, op_global_load_tr6_b96)
from modifiers cimport *
from pyaco._core.emu.access cimport *
from pyaco._core.emu.formats cimport format_of_descriptor, kind_sint, load_format, store_format, format_bytes
from pyaco._core.emu.memory cimport canonical_address, memory_at
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *
from pyaco._core.emu.wave_sync cimport cluster_size_of, is_for_others
from pyaco._core.common.machine cimport format_flat, format_mtbuf, format_scratch, gfx12, register_none

include "emulator_memory.pxi"

cdef MemoryOperation operations[<int>op_count]
memset(operations, 0, sizeof(operations))
fill_memory(operations)


cdef const MemoryOperation *memory_operation(unsigned int opcode) noexcept nogil:
    return &operations[opcode]


cdef inline uint32_t *_data_row(const Wave *wave, uint16_t register_, uint32_t dword) noexcept nogil:
    return wave_vgpr(wave, (register_ >> 2) - 256 + dword)


cdef inline uint64_t _scalar_pair(const Wave *wave, uint16_t register_) noexcept nogil:
    if register_ >> 2 == sgpr_null:
        return 0
    return read_scalar(wave, register_ >> 2) | (<uint64_t>read_scalar(wave, (register_ >> 2) + 1) << 32)


cdef inline uint32_t _scalar_offset(const Wave *wave, const Instruction *instruction, uint32_t slot) noexcept nogil:
    """A scalar source that may be absent or a constant."""
    if slot >= instruction.decoded.source_count or instruction.decoded.source[slot] == register_none:
        return 0
    if instruction.source[slot].kind == operand_value:
        return <uint32_t>instruction.source[slot].value
    return read_scalar(wave, instruction.source[slot].index)


# -------------------------------------------------------------------------------------------------------------- scalar
cdef int execute_smem(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const MemoryOperation *operation = &operations[instruction.decoded.opcode]
    cdef uint16_t base_register
    cdef uint64_t base, address, limit, offset
    cdef uint32_t dword, count, stride, value
    cdef uint32_t words[16]
    cdef uint8_t *host
    if operation.access == access_nothing:
        return stop_running
    base_register = instruction.decoded.source[0]
    base = _scalar_pair(wave, base_register)
    offset = _scalar_offset(wave, instruction, 1)
    if operation.scaled:
        offset *= 64
    if modifier_cache_scale_offset(instruction.decoded.modifiers) and has_signed_vector_offsets(machine.gfx_level):
        offset *= operation.bytes * operation.dwords        # GFX12.5
    offset += <uint64_t><int64_t><int32_t>instruction.decoded.immediate
    limit = ~(<uint64_t>0)
    if operation.buffered:
        stride = <uint32_t>(base >> 48) & 0x3fff
        base &= 0xffffffffffffULL
        limit = read_scalar(wave, (base_register >> 2) + 2)
        if stride:
            limit *= stride
    address = base + offset
    if operation.bytes >= 4:
        address &= ~(<uint64_t>3)
        offset &= ~(<uint64_t>3)
    count = operation.dwords
    if operation.access == access_atomic:
        return _atomic_scalar(machine, wave, instruction, operation, address, offset + operation.bytes <= limit)
    if operation.access == access_store:
        for dword in range(count):
            if offset + 4 * dword + 4 > limit:
                continue
            host = memory_at(machine.memory, address + 4 * dword, 4)
            if host == NULL:
                return stray(machine, 0, address + 4 * dword, 4, True)
            note(machine.log, space_global, access_kind_store, 0, address + 4 * dword, 4)
            value = read_scalar(wave, (instruction.decoded.source[2] >> 2) + dword)
            memcpy(host, &value, 4)
        return stop_running
    for dword in range(count):
        words[dword] = 0
        if operation.buffered and (offset > limit or offset + 4 * dword + operation.bytes > limit):
            continue
        host = memory_at(machine.memory, address + 4 * dword, operation.bytes)
        if host == NULL:
            return stray(machine, 0, address + 4 * dword, operation.bytes, False)
        note(machine.log, space_global, access_kind_load, 0, address + 4 * dword, operation.bytes)
        words[dword] = load_element(host, operation)
    for dword in range(count):
        wave_put(wave, (instruction.decoded.destination[0] >> 2) + dword, words[dword])
    return stop_running


cdef int _atomic_scalar(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                        uint64_t address, bint inside) noexcept nogil:
    """An atomic on behalf of the wave. Its data registers take the old value where the instruction asks for it (glc)."""
    cdef uint32_t data = instruction.decoded.source[2] >> 2
    cdef uint32_t dwords = operation.bytes // 4
    cdef uint64_t old = 0
    cdef uint64_t fresh
    cdef uint64_t value[2]
    cdef uint32_t i
    cdef uint8_t *host
    for i in range(2):                                      # the datum, and what a compare compares with
        value[i] = read_scalar(wave, data + i * dwords)
        if dwords == 2:
            value[i] |= <uint64_t>read_scalar(wave, data + i * dwords + 1) << 32
    if inside:
        host = memory_at(machine.memory, address, operation.bytes)
        if host == NULL:
            return stray(machine, 0, address, operation.bytes, True)
        note(machine.log, space_global, access_kind_atomic, 0, address, operation.bytes)
        memcpy(&old, host, operation.bytes)
        if dwords == 2:
            fresh = atomic64(operation.atomic, old, value[0], value[1])
        else:
            fresh = atomic32(operation.atomic, <uint32_t>old, <uint32_t>value[0], <uint32_t>value[1])
        memcpy(host, &fresh, operation.bytes)
    if returned(instruction) != register_none:
        for i in range(dwords):
            wave_put(wave, data + i, <uint32_t>(old >> (32 * i)))
    return stop_running


# ------------------------------------------------------------------------------------------------ flat, global, scratch
cdef uint8_t *_lane_scratch(Machine *machine, Wave *wave, uint32_t lane, int64_t offset, uint32_t bytes) noexcept nogil:
    """Scratch of a lane: the emulator's own, or, where FLAT_SCRATCH points into device memory, there. Both are interleaved by dwords of lanes;
    NULL also for bytes of two dwords, which are not neighbours."""
    cdef uint64_t base = flat_scratch(machine, wave)
    cdef uint64_t place = (<uint64_t>offset >> 2) * 4 * wave.lanes + 4 * lane + (offset & 3)
    if (offset & 3) + bytes > 4:
        return NULL
    if base >> 32 and offset >= 0:
        return memory_at(machine.memory, base + place, bytes)
    if offset < 0 or offset + bytes > machine.scratch_bytes:
        return NULL
    return wave.scratch + place


cdef uint8_t *_flat_host(Machine *machine, Wave *wave, uint16_t family, uint32_t lane, uint64_t address,
                         uint32_t bytes) noexcept nogil:
    """Where one access of a lane lies on the host; NULL: outside memory."""
    cdef uint8_t space = _space_of(machine, family, address)
    if space == space_global:
        return memory_at(machine.memory, address, bytes)
    if family == format_flat and space == space_scratch and has_addressable_scratch(machine.gfx_level):
        return _scratch_of_any(machine, address, bytes)
    if family == format_flat:
        address &= 0xffffffffU
    if space == space_scratch:
        return _lane_scratch(machine, wave, lane, <int64_t>address, bytes)
    return machine.lds + address if address + bytes <= machine.lds_bytes else NULL


cdef uint8_t *_scratch_of_any(Machine *machine, uint64_t address, uint32_t bytes) noexcept nogil:
    """Scratch of any lane of the workgroup, by its flat address."""
    cdef uint32_t number = wave_of_scratch(address)
    cdef uint32_t lane = lane_of_scratch(address)
    if number >= machine.wave_count or lane >= machine.wave_size:
        return NULL
    return _lane_scratch(machine, &machine.waves[number], lane, <int64_t>(address & 0xffffffffU), bytes)


cdef bint _move_bytes(Machine *machine, Wave *wave, uint16_t family, uint32_t lane, uint64_t address, uint32_t bytes, uint8_t *data,
                      bint store) noexcept nogil:
    """An access across two dwords of scratch, which are not neighbours: from GFX10 on scratch need not be aligned (LLVM,
    FeatureUnalignedScratchAccess), and the emulator's own never. False: it is outside memory."""
    cdef uint8_t *hosts[8]
    cdef uint32_t i
    if bytes > 8 or _space_of(machine, family, address) != space_scratch:
        return False
    if flat_scratch(machine, wave) >> 32 and not has_unaligned_scratch(machine.gfx_level):
        return False
    for i in range(bytes):
        hosts[i] = _flat_host(machine, wave, family, lane, address + i, 1)
        if hosts[i] == NULL:
            return False
    for i in range(bytes):
        if store:
            hosts[i][0] = data[i]
        else:
            data[i] = hosts[i][0]
    return True


cdef inline uint8_t _space_of(const Machine *machine, uint16_t family, uint64_t address) noexcept nogil:
    """The memory that an address refers to: flat addresses have apertures for LDS and scratch."""
    if family == format_scratch:
        return space_scratch
    if family == format_flat:
        if address >> 32 == 0x00010000:
            return space_lds
        if has_addressable_scratch(machine.gfx_level):
            return space_scratch if is_flat_scratch(address) else space_global
        if address >> 32 == 0x00020000:
            return space_scratch
    return space_global


cdef inline void _note_flat(Machine *machine, uint16_t family, uint8_t access_kind, uint32_t lane, uint64_t address,
                            uint32_t bytes) noexcept nogil:
    cdef uint8_t space
    if machine.log != NULL:
        space = _space_of(machine, family, address)
        if space == space_global:
            address = canonical_address(address)
        elif space == space_lds or not has_addressable_scratch(machine.gfx_level):
            address &= 0xffffffffU                          # else it names the lane
        add_access(machine.log, space, access_kind, lane, address, bytes)


cdef uint64_t _flat_address(const Machine *machine, const Wave *wave, const Instruction *instruction, uint16_t family, uint32_t scale,
                            uint32_t lane) noexcept nogil:
    """`scale` is what an offset in a VGPR counts, in bytes."""
    cdef uint16_t vaddr = instruction.decoded.source[0]
    cdef uint16_t saddr = instruction.decoded.source[1] if instruction.decoded.source_count > 1 else <uint16_t>register_none
    cdef int64_t immediate = <int32_t>instruction.decoded.immediate
    cdef uint64_t address = 0
    cdef uint32_t index
    if family == format_scratch:
        if vaddr != register_none:
            address = scale * <uint64_t><int64_t><int32_t>_data_row(wave, vaddr, 0)[lane]
        if saddr != register_none:
            address += <uint64_t><int64_t><int32_t>read_scalar(wave, saddr >> 2)
        return address + <uint64_t>immediate
    if saddr != register_none and saddr >> 2 != sgpr_null and (family != format_flat or has_signed_vector_offsets(machine.gfx_level)):
        address = _scalar_pair(wave, saddr)
        if vaddr != register_none and has_signed_vector_offsets(machine.gfx_level):
            address += scale * <uint64_t><int64_t><int32_t>_data_row(wave, vaddr, 0)[lane]
        elif vaddr != register_none:
            address += _data_row(wave, vaddr, 0)[lane]
    elif vaddr != register_none:
        index = (vaddr >> 2) - 256
        address = wave_vgpr(wave, index)[lane] | (<uint64_t>wave_vgpr(wave, index + 1)[lane] << 32)
    return address + <uint64_t>immediate


cdef int _atomic_lane(Machine *machine, Wave *wave, const MemoryOperation *operation, uint8_t *host, uint32_t lane,
                      uint16_t data, uint16_t destination) noexcept nogil:
    """Read, modify, write; returns the old value in the destination, if there is one."""
    cdef uint32_t old, fresh
    cdef uint64_t old64, fresh64, value, other
    cdef bint two = operation.atomic == atomic_cmpswap or operation.atomic == atomic_fcmpswap
    if operation.bytes == 4:
        memcpy(&old, host, 4)
        fresh = atomic32(operation.atomic, old, _data_row(wave, data, 0)[lane],
                         _data_row(wave, data, 1)[lane] if two else 0)
        memcpy(host, &fresh, 4)
        if destination != register_none:
            _data_row(wave, destination, 0)[lane] = old
        return stop_running
    memcpy(&old64, host, 8)
    value = _data_row(wave, data, 0)[lane] | (<uint64_t>_data_row(wave, data, 1)[lane] << 32)
    other = _data_row(wave, data, 2)[lane] | (<uint64_t>_data_row(wave, data, 3)[lane] << 32) if two else 0
    fresh64 = atomic64(operation.atomic, old64, value, other)
    memcpy(host, &fresh64, 8)
    if destination != register_none:
        _data_row(wave, destination, 0)[lane] = <uint32_t>old64
        _data_row(wave, destination, 1)[lane] = <uint32_t>(old64 >> 32)
    return stop_running


cdef inline uint16_t returned(const Instruction *instruction) noexcept nogil:
    """The destination of an atomic that returns the old value, or register_none."""
    return instruction.decoded.destination[0] if instruction.decoded.destination_count else <uint16_t>register_none


cdef int _transpose_load(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                         const uint64_t *addresses) noexcept nogil:
    """GLOBAL_LOAD_TR: each lane addresses 8 elements of 1 or 2 bytes, or 16 of 4 or 6 bits; lane i of as many gets the i-th element of each of them.

    Only waves of 32 lanes: how 64 lanes do it is not documented. The order within the group is as measured on GFX12.5; that of 4 and 6 bits is what
    ROCm's translator of code for gfx1250 has.
    """
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t narrow = 4 if opcode == <uint32_t>op_global_load_tr4_b64 else 6 if opcode == <uint32_t>op_global_load_tr6_b96 else 0
    cdef uint32_t width = narrow if narrow else 8 * <uint32_t>operation.bytes
    cdef uint32_t group = 16 if width < 8 else 8
    cdef uint32_t bytes = group * width // 8
    cdef uint32_t loaded[32][4]
    cdef uint32_t result[4]
    cdef uint32_t lane, position
    cdef uint8_t *host
    if wave.lanes != 32 or wave_exec(wave) != 0xffffffffU:
        return stop_unsupported
    for lane in range(32):
        host = memory_at(machine.memory, addresses[lane], bytes)
        if host == NULL:
            return stray(machine, lane, addresses[lane], bytes, False)
        note(machine.log, space_global, access_kind_load, lane, canonical_address(addresses[lane]), bytes)
        memcpy(loaded[lane], host, bytes)
    for lane in range(32):
        memset(result, 0, sizeof(result))
        for position in range(group):
            put_bits(result, width * position, width, bits_at(loaded[(lane & ~(group - 1)) + position], width * (lane & (group - 1)), width))
        for position in range(operation.dwords):
            _data_row(wave, instruction.decoded.destination[0], position)[lane] = result[position]
    return stop_running


cdef int _load_to_lds(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation, uint16_t family,
                      const uint64_t *addresses) noexcept nogil:
    """GLOBAL_LOAD_LDS, or a load of GFX9 and GFX10 with the lds flag: whole dwords of LDS for each lane, from m0 plus the instruction's offset,
    which is added to the address as well (AMD "CDNA 3" ISA document 9.4)."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint64_t position = lds_base(machine, wave) + <uint64_t><int64_t><int32_t>instruction.decoded.immediate
    cdef uint32_t lane, dword, value
    cdef uint8_t *host
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        for dword in range(operation.dwords):
            host = _flat_host(machine, wave, family, lane, addresses[lane] + 4 * dword, operation.bytes)
            if host == NULL:
                host = <uint8_t *>&value
                if not _move_bytes(machine, wave, family, lane, addresses[lane] + 4 * dword, operation.bytes, host, False):
                    return stray(machine, lane, addresses[lane] + 4 * dword, operation.bytes, False)
            _note_flat(machine, family, access_kind_load, lane, addresses[lane] + 4 * dword, operation.bytes)
            note(machine.log, space_lds, access_kind_store, lane, position + 4 * (lane * operation.dwords + dword), 4)
            value = load_element(host, operation)
            note_lds_bounds(machine, instruction, position + 4 * (lane * operation.dwords + dword) + 4)
            store_lds(machine.lds, machine.lds_bytes, position + 4 * (lane * operation.dwords + dword), 4, <uint8_t *>&value)
    return stop_running


cdef int _move_async(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                     const uint64_t *addresses) noexcept nogil:
    """GLOBAL_LOAD_ASYNC_TO_LDS, CLUSTER_LOAD_ASYNC_TO_LDS, GLOBAL_STORE_ASYNC_FROM_LDS: a VGPR has each lane's address in LDS, to which the
    instruction's offset is added as to the other one (LLVM, IntrinsicsAMDGPU.td). Here they are done at once. Out of range, LDS gives zeros and
    drops what is stored."""
    cdef bint loads = operation.access == access_async_to_lds
    cdef const uint32_t *places = _data_row(wave, instruction.decoded.destination[0] if loads else instruction.decoded.source[2], 0)
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t bytes = operation.bytes * operation.dwords
    cdef uint32_t lane, place, part
    cdef uint8_t *host
    if op_cluster_load_async_to_lds_b8 <= instruction.decoded.opcode <= op_cluster_load_async_to_lds_b128 and cluster_size_of(wave) > 1 \
            and is_for_others(wave, wave.sgpr[sgpr_m0]):
        return stop_unsupported
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        host = memory_at(machine.memory, addresses[lane], bytes)
        if host == NULL:
            return stray(machine, lane, addresses[lane], bytes, not loads)
        place = places[lane] + instruction.decoded.immediate
        note_lds_bounds(machine, instruction, <uint64_t>place + bytes)
        note(machine.log, space_global, access_kind_load if loads else access_kind_store, lane, canonical_address(addresses[lane]), bytes)
        note(machine.log, space_lds, access_kind_store if loads else access_kind_load, lane, place, bytes)
        for part in range(operation.dwords):
            if loads:
                store_lds(machine.lds, machine.lds_bytes, <uint64_t>place + 4 * part, operation.bytes, host + 4 * part)
            else:
                load_lds(machine.lds, machine.lds_bytes, <uint64_t>place + 4 * part, operation.bytes, host + 4 * part)
    return stop_running


cdef int execute_flat(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const MemoryOperation *operation = &operations[instruction.decoded.opcode]
    cdef uint16_t family = instruction.decoded.format & 0x7f
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint64_t address, element
    cdef uint64_t addresses[max_lanes]
    cdef uint32_t lane, dword, value
    cdef uint16_t data = instruction.decoded.source[2]
    cdef uint8_t *host
    cdef uint8_t apart[8]
    cdef uint32_t scale = 1
    if operation.access == access_nothing:
        return stop_running
    if modifier_cache_scale_offset(instruction.decoded.modifiers) and has_signed_vector_offsets(machine.gfx_level):
        scale = operation.bytes * operation.dwords
    for lane in range(wave.lanes):                          # a load may overwrite its own address
        if (exec_mask >> lane) & 1:
            addresses[lane] = _flat_address(machine, wave, instruction, family, scale, lane)
            if operation.add_lane:
                addresses[lane] += 4 * lane
    if operation.access == access_to_lds or (operation.access == access_load and instruction.decoded.destination_count == 0):
        return _load_to_lds(machine, wave, instruction, operation, family, addresses)
    if operation.access == access_async_to_lds or operation.access == access_async_from_lds:
        return _move_async(machine, wave, instruction, operation, addresses)
    if operation.access == access_transpose:
        return _transpose_load(machine, wave, instruction, operation, addresses)
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        address = addresses[lane]
        if operation.access == access_atomic:
            host = _flat_host(machine, wave, family, lane, address, operation.bytes)
            if host == NULL and not _move_bytes(machine, wave, family, lane, address, operation.bytes, apart, False):
                return stray(machine, lane, address, operation.bytes, True)
            _note_flat(machine, family, access_kind_atomic, lane, address, operation.bytes)
            _atomic_lane(machine, wave, operation, host if host != NULL else apart, lane, data, returned(instruction))
            if host == NULL:
                _move_bytes(machine, wave, family, lane, address, operation.bytes, apart, True)
            continue
        for dword in range(operation.dwords):
            if operation.masked and not (wave.sgpr[sgpr_m0] >> dword) & 1:
                continue
            element = address + 4 * dword
            host = _flat_host(machine, wave, family, lane, element, operation.bytes)
            if operation.access == access_store:
                value = _data_row(wave, data, dword)[lane]
                if operation.half == half_high:
                    value >>= 16
            if host == NULL:
                if not _move_bytes(machine, wave, family, lane, element, operation.bytes, <uint8_t *>&value, operation.access == access_store):
                    return stray(machine, lane, element, operation.bytes, operation.access == access_store)
                host = <uint8_t *>&value                    # its bytes have been moved
            _note_flat(machine, family, access_kind_load if operation.access == access_load else access_kind_store, lane, element,
                       operation.bytes)
            if operation.access == access_load:
                value = load_element(host, operation)
                place_element(&_data_row(wave, instruction.decoded.destination[0], dword)[lane], value, operation.half)
            else:
                store_element(host, value, operation.bytes)
    return stop_running


# -------------------------------------------------------------------------------------------------------------- buffers
cdef struct Resource:
    uint64_t base
    uint32_t stride
    uint32_t records
    uint32_t swizzle                  # 0, or the bytes of a swizzle element
    uint32_t index_stride
    uint32_t add_lane
    uint32_t oob_select               # GFX10+
    uint32_t word3

cdef struct BufferAccess:             # of the lanes of an instruction, through a descriptor
    Resource resource
    bint structured                   # the lanes give indices
    bint far                          # the lanes give 64 bits, which nothing bounds (GFX6, GFX7)
    uint32_t soffset
    uint32_t format                   # of the elements; 0: untyped
    uint64_t index[max_lanes]
    uint64_t offset[max_lanes]        # within the structure, or all of it for raw buffers


cdef Resource _read_resource(const Wave *wave, uint16_t register_, uint32_t gfx_level) noexcept nogil:
    cdef Resource r
    cdef uint32_t word[4]
    cdef uint32_t i
    for i in range(4):
        word[i] = read_scalar(wave, (register_ >> 2) + i)
    r.base = canonical_address(word[0] | (<uint64_t>(word[1] & 0xffff) << 32))
    r.stride = (word[1] >> 16) & 0x3fff
    r.records = word[2]
    r.word3 = word[3]
    r.index_stride = 8 << ((word[3] >> 21) & 3)
    r.add_lane = (word[3] >> 23) & 1
    r.oob_select = (word[3] >> 28) & 3
    r.swizzle = 0
    if gfx_level >= 110:
        if word[1] >> 30:
            r.swizzle = 2 << (word[1] >> 30)                # 4, 8, 16 bytes
    elif word[1] >> 31:
        r.swizzle = 4 if gfx_level >= 100 else 2 << ((word[3] >> 19) & 3)
    if r.add_lane and has_stride_above_thread_id(gfx_level):
        r.stride |= ((word[3] >> 15) & 0xf) << 14
    return r


cdef bint _out_of_range_early(const Resource *r, bint structured, uint64_t index, uint64_t offset, uint32_t bytes) noexcept nogil:
    """The range check of GFX6 and GFX7 (Mesa: ac_descriptors.c for the units, aco_select_vs_prolog.cpp and visit_load_ssbo for the rest)."""
    if r.stride != 0 and structured:
        return index >= r.records or offset >= r.stride
    return offset + bytes > r.records


cdef bint _out_of_range(const Resource *r, uint32_t gfx_level, bint structured, uint64_t index, uint64_t offset,
                        uint32_t soffset, uint32_t bytes) noexcept nogil:
    """The range check of one element."""
    if has_strict_structures(gfx_level):
        return _out_of_range_early(r, structured, index, offset, bytes)
    if not has_oob_select(gfx_level):
        if r.stride != 0 and not r.swizzle and has_records_in_bytes(gfx_level):
            return index * r.stride + offset + soffset + bytes > r.records
        if r.stride != 0 and structured:
            return index >= r.records or (r.swizzle != 0 and offset >= r.stride)
        return offset + soffset + bytes > r.records
    if r.oob_select == 0:
        return index >= r.records or offset + bytes > r.stride
    if r.oob_select == 1:
        return index >= r.records
    if r.oob_select == 2:
        return r.records == 0
    if r.swizzle and r.stride:
        return index >= r.records // r.stride or offset >= r.stride
    return index * r.stride + offset + soffset + bytes > r.records


cdef inline uint64_t _buffer_address(const Resource *r, uint64_t index, uint64_t offset, uint32_t soffset) noexcept nogil:
    cdef uint64_t block
    if not r.swizzle:
        return r.base + soffset + index * r.stride + offset
    block = (index // r.index_stride) * r.stride * r.index_stride + (offset // r.swizzle) * r.index_stride * r.swizzle
    return r.base + soffset + block + (index % r.index_stride) * r.swizzle + offset % r.swizzle


cdef int _reach(Machine *machine, const BufferAccess *b, uint32_t lane, uint32_t skip, uint32_t bytes, uint8_t access_kind,
                uint8_t **host) noexcept nogil:
    """The host address of the element `skip` bytes after a lane's first; NULL: outside the buffer. stop_memory_fault: no memory is mapped there."""
    cdef uint64_t offset = b.offset[lane] + skip
    cdef uint64_t address
    host[0] = NULL
    if not b.far and _out_of_range(&b.resource, machine.gfx_level, b.structured, b.index[lane], offset, b.soffset, bytes):
        return stop_running
    address = _buffer_address(&b.resource, b.index[lane], offset, b.soffset)
    host[0] = memory_at(machine.memory, address, bytes)
    if host[0] == NULL:
        return stray(machine, lane, address, bytes, access_kind != access_kind_load)
    note(machine.log, space_global, access_kind, lane, address, bytes)
    return stop_running


cdef int _typed_lane(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                     const BufferAccess *b, uint32_t lane) noexcept nogil:
    """A load or store that converts between the buffer's format and registers."""
    cdef bint loads = operation.access == access_format_load
    cdef uint8_t *host
    cdef int stop = _reach(machine, b, lane, 0, format_bytes(b.format), access_kind_load if loads else access_kind_store, &host)
    if stop != stop_running:
        return stop
    if loads:
        _load_typed(wave, instruction, operation, b, lane, host)
    elif host != NULL:
        _store_typed(machine, wave, instruction, operation, b, lane, host)
    return stop_running


cdef void _load_typed(Wave *wave, const Instruction *instruction, const MemoryOperation *operation, const BufferAccess *b, uint32_t lane,
                      const uint8_t *host) noexcept nogil:
    cdef uint32_t texel[4]
    cdef uint32_t component, value
    cdef uint16_t data = instruction.decoded.destination[0]
    memset(texel, 0, sizeof(texel))
    if host != NULL:
        load_format(b.format, host, texel)
    for component in range(operation.dwords):
        value = _selected(&b.resource, b.format, texel, component) if host != NULL else 0
        if operation.half:
            value = _narrow_component(b.format, value)
            place_element(&_data_row(wave, data, component // 2)[lane], value,
                          half_high if (component & 1) or operation.half == half_high else half_low)
        else:
            _data_row(wave, data, component)[lane] = value


cdef void _store_typed(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation, const BufferAccess *b,
                       uint32_t lane, uint8_t *host) noexcept nogil:
    """Components that the instruction does not have become zero, from GFX12 on equal to the first."""
    cdef uint32_t texel[4]
    cdef uint32_t component, value
    cdef uint16_t data = instruction.decoded.source[3]
    memset(texel, 0, sizeof(texel))
    for component in range(operation.dwords):
        if operation.half:
            value = _data_row(wave, data, component // 2)[lane]
            value = value >> 16 if (component & 1) or operation.half == half_high else value & 0xffff
            texel[component] = _widen_component(b.format, value)
        else:
            texel[component] = _data_row(wave, data, component)[lane]
    if machine.gfx_level >= gfx12:
        for component in range(operation.dwords, 4):
            texel[component] = texel[0]
    store_format(b.format, host, texel)


cdef inline uint32_t _selected(const Resource *r, uint32_t format_, const uint32_t *texel, uint32_t component) noexcept nogil:
    """A component as the descriptor's selector chooses it."""
    cdef uint32_t selector = (r.word3 >> (3 * component)) & 7
    if selector >= 4:
        return texel[selector - 4]
    return _one_of_format(format_) if selector == 1 else 0


cdef inline uint32_t _first_component(const Resource *r, uint32_t format_, const uint8_t *host) noexcept nogil:
    cdef uint32_t texel[4]
    memset(texel, 0, sizeof(texel))
    load_format(format_, host, texel)
    return _selected(r, format_, texel, 0)


cdef inline uint32_t _one_of_format(uint32_t format_) noexcept nogil:
    return 1 if _format_is_integer(format_) else 0x3f800000


cdef inline bint _format_is_integer(uint32_t format_) noexcept nogil:
    cdef uint32_t kind = (format_ >> 4) & 15
    return kind == 4 or kind == 5


cdef inline uint32_t _narrow_component(uint32_t format_, uint32_t value) noexcept nogil:
    """A loaded component in 16 bits."""
    return value & 0xffff if _format_is_integer(format_) else double_to_half(bits_float(value), 0)


cdef inline uint32_t _widen_component(uint32_t format_, uint32_t value) noexcept nogil:
    """A component of 16 bits that is stored."""
    if (format_ >> 4) & 15 == kind_sint:
        return <uint32_t><int16_t>value
    return value if _format_is_integer(format_) else float_bits(<float>half_to_double(value))


cdef int _buffer_and_lds(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                         const BufferAccess *b) noexcept nogil:
    """A buffer load with the lds flag, BUFFER_LOAD_LDS, or BUFFER_STORE_LDS_DWORD: dwords of LDS for each lane, from m0 + offset on."""
    cdef bint loads = operation.access != access_from_lds
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint64_t position
    cdef uint32_t bytes = format_bytes(b.format) if b.format else operation.bytes
    cdef uint32_t lane, dword, value
    cdef uint8_t *host
    cdef int stop
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        for dword in range(operation.dwords):
            position = lds_base(machine, wave) + instruction.decoded.immediate + 4 * (operation.dwords * lane + dword)
            stop = _reach(machine, b, lane, 4 * dword, bytes, access_kind_load if loads else access_kind_store, &host)
            if stop != stop_running:
                return stop
            note_lds_bounds(machine, instruction, position + 4)
            note(machine.log, space_lds, access_kind_store if loads else access_kind_load, lane, position, 4)
            if loads:
                value = 0
                if host != NULL:
                    value = _first_component(&b.resource, b.format, host) if b.format else load_element(host, operation)
                store_lds(machine.lds, machine.lds_bytes, position, 4, <uint8_t *>&value)
            elif host != NULL:
                load_lds(machine.lds, machine.lds_bytes, position, 4, host)
    return stop_running


cdef bint _moves_lds(const MemoryOperation *operation, uint64_t modifiers) noexcept nogil:
    return operation.access == access_from_lds or operation.access == access_to_lds or modifier_lds(modifiers)


cdef bint _may_move_lds(const Machine *machine, const MemoryOperation *operation, const BufferAccess *b) noexcept nogil:
    """Loads may; untyped ones of more than a dword on CDNA 4 only."""
    if operation.access == access_store or operation.access == access_format_store or operation.access == access_atomic:
        return False
    if b.format:
        return not operation.half and operation.dwords == 1
    return operation.dwords == 1 or has_wide_lds_loads(machine.gfx_level)


cdef bint _open_buffer(const Machine *machine, const Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                       BufferAccess *b) noexcept nogil:
    """Where each lane's access begins; False where the format is not supported."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint16_t vaddr = instruction.decoded.source[1]
    cdef bint index_enabled = modifier_idxen(modifiers)
    cdef uint32_t lane
    b.resource = _read_resource(wave, instruction.decoded.source[0], machine.gfx_level)
    b.far = modifier_addr64(modifiers)
    b.structured = (index_enabled or b.resource.add_lane) and not b.far
    b.soffset = _scalar_offset(wave, instruction, 2)
    b.format = 0
    if not b.structured:
        # RADV's descriptors of constant data have the sign of a 48-bit pc in stride and swizzle (Mesa, visit_load_constant and
        # p_constaddr), and its shaders lie where that is set: without an index there is nothing to swizzle
        b.resource.swizzle = 0
    if (operation.access == access_format_load or operation.access == access_format_store
            or instruction.decoded.opcode == <uint32_t>op_buffer_load_lds_format_x):
        b.format = format_of_descriptor(machine.gfx_level, b.resource.word3,
                                        modifier_format(modifiers) if instruction.decoded.format == format_mtbuf else -1)
        if b.format == 0:
            return False
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            b.index[lane] = _data_row(wave, vaddr, 0)[lane] if index_enabled and b.structured else 0
            if b.resource.add_lane and b.structured:
                b.index[lane] += <uint32_t>lane & machine.lane_number_mask
            b.offset[lane] = <uint64_t>instruction.decoded.immediate
            if b.far:
                b.offset[lane] += _data_row(wave, vaddr, 0)[lane] | (<uint64_t>_data_row(wave, vaddr, 1)[lane] << 32)
            elif modifier_offen(modifiers):
                b.offset[lane] += _data_row(wave, vaddr, 1 if index_enabled else 0)[lane]
                if has_wrapping_buffer_offsets(machine.gfx_level):
                    b.offset[lane] &= <uint64_t>0xffffffffU
    return True


cdef void _clear_missing_pages(Wave *wave, const Instruction *instruction) noexcept nogil:
    """The register after the data says which pages were missing: none."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t last = instruction.decoded.destination_bytes[0] // 4 - 1
    cdef uint32_t lane
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            _data_row(wave, instruction.decoded.destination[0], last)[lane] = 0


cdef int _buffer_atomic_lane(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                             const BufferAccess *b, uint32_t lane) noexcept nogil:
    cdef uint16_t destination = returned(instruction)
    cdef uint32_t dword
    cdef uint8_t *host
    cdef int stop = _reach(machine, b, lane, 0, operation.bytes, access_kind_atomic, &host)
    if stop != stop_running:
        return stop
    if host != NULL:
        _atomic_lane(machine, wave, operation, host, lane, instruction.decoded.source[3], destination)
    elif destination != register_none:
        for dword in range(operation.bytes // 4):
            _data_row(wave, destination, dword)[lane] = 0
    return stop_running


cdef int _untyped_lane(Machine *machine, Wave *wave, const Instruction *instruction, const MemoryOperation *operation,
                       const BufferAccess *b, uint32_t lane) noexcept nogil:
    cdef bint loads = operation.access == access_load
    cdef uint32_t dword, value
    cdef uint8_t *host
    cdef int stop
    for dword in range(operation.dwords):
        stop = _reach(machine, b, lane, 4 * dword, operation.bytes, access_kind_load if loads else access_kind_store, &host)
        if stop != stop_running:
            return stop
        if loads:
            value = load_element(host, operation) if host != NULL else 0
            place_element(&_data_row(wave, instruction.decoded.destination[0], dword)[lane], value, operation.half)
        elif host != NULL:
            value = _data_row(wave, instruction.decoded.source[3], dword)[lane]
            store_element(host, value >> 16 if operation.half == half_high else value, operation.bytes)
    return stop_running


cdef int execute_buffer(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const MemoryOperation *operation = &operations[instruction.decoded.opcode]
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef BufferAccess b
    cdef uint32_t lane
    cdef int stop = stop_running
    if operation.access == access_nothing:
        return stop_running
    if not _open_buffer(machine, wave, instruction, operation, &b):
        return stop_unsupported
    if _moves_lds(operation, modifiers):
        return _buffer_and_lds(machine, wave, instruction, operation, &b) if _may_move_lds(machine, operation, &b) else stop_unsupported
    if modifier_tfe(modifiers) and returned(instruction) != register_none:
        _clear_missing_pages(wave, instruction)
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        if b.format:
            stop = _typed_lane(machine, wave, instruction, operation, &b, lane)
        elif operation.access == access_atomic:
            stop = _buffer_atomic_lane(machine, wave, instruction, operation, &b, lane)
        else:
            stop = _untyped_lane(machine, wave, instruction, operation, &b, lane)
        if stop != stop_running:
            return stop
    return stop_running
