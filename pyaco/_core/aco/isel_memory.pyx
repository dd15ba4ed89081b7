"""Instruction selection of loads and stores.

An access is cut into pieces that one instruction moves, by size and by what the alignment allows; a load puts its pieces together
as the vector that NIR sees, a store cuts the vector. Uniform read-only loads go through the scalar cache.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4): sizes of MUBUF, GLOBAL, SCRATCH, DS and SMEM; ACO's
``aco_instruction_selection.cpp`` for operand order and cache bits. Stores to buffers are cut as ACO does.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from libcpp.vector cimport vector
from nir_opcodes cimport *

from pyaco._core.aco.build cimport make
from pyaco._core.aco.isel_address cimport *
from pyaco._core.aco.isel_cache cimport access_semantics, load_cache, store_cache
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.program cimport (
    Definition, Operand, TempId, class_bytes, class_s1, class_s2, class_v1, class_v2, class_v4, definition_of, definition_of_fixed, gfx12,
    gfx7, gfx8, gfx9, operand_undefined, register_scc, semantic_can_reorder, storage_buffer, storage_none, storage_shared,
)
from pyaco._core.ir.shader cimport (
    ValueId, access_can_reorder, constant_bits, intrinsic_index, source_value, value_is_constant,
)


# ------------------------------------------------------------------------------------------------------ sizes and opcodes
# By access kind and size: 1, 2, 4, 8, 12, 16 bytes.
cdef uint16_t[4][6] _loads
cdef uint16_t[4][6] _stores
for _access_kind, _names in enumerate([
    (op_buffer_load_ubyte, op_buffer_load_ushort, op_buffer_load_dword, op_buffer_load_dwordx2, op_buffer_load_dwordx3,
     op_buffer_load_dwordx4),
    (op_global_load_ubyte, op_global_load_ushort, op_global_load_dword, op_global_load_dwordx2, op_global_load_dwordx3,
     op_global_load_dwordx4),
    (op_ds_read_u8, op_ds_read_u16, op_ds_read_b32, op_ds_read_b64, op_ds_read_b96, op_ds_read_b128),
    (op_scratch_load_ubyte, op_scratch_load_ushort, op_scratch_load_dword, op_scratch_load_dwordx2, op_scratch_load_dwordx3,
     op_scratch_load_dwordx4),
]):
    for _size in range(6):
        _loads[_access_kind][_size] = _names[_size]
for _access_kind, _names in enumerate([
    (op_buffer_store_byte, op_buffer_store_short, op_buffer_store_dword, op_buffer_store_dwordx2, op_buffer_store_dwordx3,
     op_buffer_store_dwordx4),
    (op_global_store_byte, op_global_store_short, op_global_store_dword, op_global_store_dwordx2, op_global_store_dwordx3,
     op_global_store_dwordx4),
    (op_ds_write_b8, op_ds_write_b16, op_ds_write_b32, op_ds_write_b64, op_ds_write_b96, op_ds_write_b128),
    (op_scratch_store_byte, op_scratch_store_short, op_scratch_store_dword, op_scratch_store_dwordx2, op_scratch_store_dwordx3,
     op_scratch_store_dwordx4),
]):
    for _size in range(6):
        _stores[_access_kind][_size] = _names[_size]


cdef inline uint32_t _size_index(uint32_t bytes) noexcept nogil:
    if bytes >= 4:
        return 1 + (bytes >> 2) if bytes < 16 else 5
    return bytes - 1


cdef uint32_t _piece_bytes(Isel *c, Access *a, uint32_t position, uint32_t left, bint *two) noexcept nogil:
    """The size of the next piece, with `left` bytes to go; `two`: it takes an LDS instruction with two addresses."""
    cdef uint32_t alignment = known_alignment(a, position)
    two[0] = False
    if alignment == 1 or left == 1:
        return 1
    if alignment == 2 or left < 4:
        return 2
    if a.access_kind == by_scratch and c.gfx < gfx9:
        return 4                      # swizzled by dwords
    if a.access_kind == by_shared and c.gfx < gfx7:
        # No more than 64 bits, and two addresses are out of range where the register is negative.
        return 8 if left >= 8 and alignment >= 8 else 4
    if a.access_kind == by_shared:
        if left >= 16 and alignment >= 16:
            return 16
        if left >= 16 and alignment == 8 and (a.constant + position) % 8 == 0 and a.constant + position < 255 * 8:
            two[0] = True
            return 16
        if left >= 12 and alignment >= 16:
            return 12
        if left >= 8 and alignment >= 8:
            return 8
        if left >= 8 and (a.constant + position) % 4 == 0 and a.constant + position < 255 * 4:
            two[0] = True
            return 8
        return 4
    if c.gfx < gfx7 and 12 <= left < 16:
        left = 8                      # no three dwords
    return min(left & ~3, a.largest_piece)


cdef uint32_t _immediate(Access *a, uint32_t position, uint32_t bytes, bint two) noexcept nogil:
    cdef uint32_t unit = bytes >> 1
    if not two:
        return a.constant + position
    return (a.constant + position) // unit | ((a.constant + position) // unit + 1) << 16


# ----------------------------------------------------------------------------------------------------------------- loads
cdef int assemble_value(Isel *c, TempId dst, vector[uint32_t] &pieces, uint32_t bytes, uint32_t element) except -1 nogil:
    """Assemble `dst`, of elements of `element` bytes, from pieces in VGPRs."""
    cdef vector[Operand] o
    cdef uint32_t i
    cdef TempId vector_temp = dst
    if pieces.size() == 1 and pieces[0] == dst:
        split(c, dst, element)
        return 0
    for i in range(pieces.size()):
        o.push_back(T(c, pieces[i]))
    if not is_vgpr(c, dst):
        if bytes & 3:
            o.push_back(operand_undefined(vgpr_class(4 - (bytes & 3))))
        if o.size() == 1:
            _make_uniform(c, dst, pieces[0], element)
            return 0
        vector_temp = new_temp(c, vgpr_class((bytes + 3) & ~3))
    if pieces.size() * element == bytes:
        create_vector(c, vector_temp, 0, o.data(), o.size())
    else:
        emit_raw(c, op_p_create_vector, vector_temp, o.data(), o.size())
        split(c, vector_temp, element)
    if vector_temp != dst:
        _make_uniform(c, dst, vector_temp, element)
    return 0


cdef int _make_uniform(Isel *c, TempId dst, TempId loaded, uint32_t element) except -1 nogil:
    if element == 4 or class_bytes(class_of(c, dst)) == 8:
        uniform_dwords(c, dst, loaded)
        return 0
    as_uniform(c, dst, loaded)
    return split(c, dst, element)


cdef int _load_pieces(Isel *c, Access *a, vector[uint32_t] &pieces, uint32_t bytes, TempId dst) except -1 nogil:
    """`bytes` bytes by vector memory instructions; with `dst` the whole, where one instruction loads it."""
    cdef uint32_t position = 0
    cdef uint32_t size
    cdef TempId temp
    cdef uint32_t opcode
    cdef bint two
    legalize_address(c, a, bytes)
    while position < bytes:
        size = _piece_bytes(c, a, position, bytes - position, &two)
        opcode = _loads[a.access_kind][_size_index(size)]
        if two:
            opcode = op_ds_read2_b64 if size == 16 else op_ds_read2_b32
        temp = dst if dst and size == bytes else new_temp(c, vgpr_class(size))
        memory_instruction(c, a, opcode, temp, NULL, 0, _immediate(a, position, size, two))
        pieces.push_back(temp)
        position += size
    return 0


cdef int _load_vector(Isel *c, Access *a, TempId dst, uint32_t bytes, uint32_t element) except -1 nogil:
    cdef vector[uint32_t] pieces
    cdef uint32_t alignment = known_alignment(a, 0)
    # A single aligned byte or 16-bit value has an instruction of its own.
    if (a.access_kind == by_buffer and not a.structured or a.access_kind == by_global) and alignment < 4 and (bytes > 2 or bytes > alignment):
        _load_shifted(c, a, pieces, bytes)
    else:
        _load_pieces(c, a, pieces, bytes, dst if is_vgpr(c, dst) else 0)
    return assemble_value(c, dst, pieces, bytes, element)


cdef int _load_shifted(Isel *c, Access *a, vector[uint32_t] &pieces, uint32_t bytes) except -1 nogil:
    """A load that starts within a dword: the dwords that contain it, shifted down (`byte_align_loads` of ACO's emit_load)."""
    cdef vector[uint32_t] loaded
    cdef vector[uint32_t] dwords
    cdef DwordStart start
    cdef Access last
    cdef uint32_t count
    cdef uint32_t i
    cdef uint32_t k
    cdef Operand shift
    start_at_dword(c, a, &start)
    count = (start.maximum + bytes + 3) // 4
    shift = T(c, start.low) if start.low else K(start.minimum)
    i = minimum_dwords(&start, bytes)
    if i < count:
        last_dword(c, a, &start, bytes, &last)
    _load_pieces(c, a, loaded, 4 * i, 0)
    if i < count:
        _load_pieces(c, &last, loaded, 4, 0)
    for i in range(<uint32_t>loaded.size()):
        split(c, loaded[i], 4)
        for k in range(class_bytes(class_of(c, loaded[i])) // 4):
            dwords.push_back(part(c, loaded[i], k, 4))
    for i in range((bytes + 3) // 4):
        if start.maximum:
            # The shift counts bytes, by its two lowest bits.
            dwords[i] = emit3(c, op_v_alignbyte_b32, 0, T(c, dwords[i + 1]) if i + 1 < count else K(0), T(c, dwords[i]), shift)
        if 4 * i + 4 <= bytes:
            pieces.push_back(dwords[i])
            continue
        if bytes & 2:
            pieces.push_back(part(c, dwords[i], 0, 2))
        if bytes & 1:
            pieces.push_back(part(c, dwords[i], bytes & 2, 1))
    return 0


cdef uint32_t _scalar_offset(Isel *c, Access *a, uint32_t position, Operand *o) except 0 nogil:
    """Offset operands of SMEM, an immediate or an SGPR, or an SGPR that is added to an immediate; returns how many."""
    cdef uint32_t constant = a.constant + position
    cdef uint32_t limit = 0x7fffff if c.gfx >= gfx12 else 0xfffff if c.gfx >= gfx8 else 0xffffffffU if c.gfx >= gfx7 else 255 * 4
    if a.offset == 0:
        o[0] = K(constant) if constant <= limit else T(c, copy(c, 0, class_s1, K(constant)))
        return 1
    if constant and constant <= limit and c.gfx >= gfx9:
        o[0] = K(constant)
        o[1] = T(c, a.offset)
        return 2
    o[0] = T(c, emit2(c, op_s_add_u32, 0, T(c, a.offset), K(constant)) if constant else a.offset)
    return 1


# By kind of address (0 a buffer, 1 an address) and base-2 logarithm of the number of dwords.
cdef uint16_t[2][5] _scalar_loads
for _access_kind, _names in enumerate([
    (op_s_buffer_load_dword, op_s_buffer_load_dwordx2, op_s_buffer_load_dwordx4, op_s_buffer_load_dwordx8, op_s_buffer_load_dwordx16),
    (op_s_load_dword, op_s_load_dwordx2, op_s_load_dwordx4, op_s_load_dwordx8, op_s_load_dwordx16),
]):
    for _size in range(5):
        _scalar_loads[_access_kind][_size] = _names[_size]
# The same for a byte and two (GFX12).
cdef uint16_t[2][2] _short_scalar_loads
for _access_kind, _names in enumerate([(op_s_buffer_load_u8, op_s_buffer_load_u16), (op_s_load_u8, op_s_load_u16)]):
    for _size in range(2):
        _short_scalar_loads[_access_kind][_size] = _names[_size]


cdef int _scalar_load(Isel *c, Access *a, TempId dst, uint32_t opcode, uint32_t position) except -1 nogil:
    cdef Operand[3] o
    cdef uint32_t count
    o[0] = T(c, a.resource)
    count = 1 + _scalar_offset(c, a, position, &o[1])
    emit_raw(c, opcode, dst, o, count)
    modifiers_of_last(c)[0] = a.modifiers
    return 0


cdef int _load_dwords(Isel *c, Access *a, vector[uint32_t] &dwords, uint32_t count, TempId dst) except -1 nogil:
    """`count` dwords at a dword-aligned address, one temp each; with `dst` the whole, where one instruction loads it."""
    cdef uint32_t done = 0
    cdef uint32_t size
    cdef TempId temp
    cdef uint32_t i
    cdef uint32_t logarithm
    while done < count:
        logarithm = 0
        while 1U << logarithm < count - done and logarithm < 4:
            logarithm += 1
        # Reading more than is asked for must not reach another page: a buffer has bounds, an aligned address stays within its page.
        if 1U << logarithm > count - done and a.access_kind == by_scalar and known_alignment(a, 4 * done) < 4U << logarithm:
            logarithm -= 1
        size = 1 << logarithm
        temp = dst if size == count and dst else new_temp(c, sgpr_class(4 * size))
        _scalar_load(c, a, temp, _scalar_loads[a.access_kind == by_scalar][logarithm], 4 * done)
        if temp == dst:
            return 0
        if size > 1:
            split(c, temp, 4)
        for i in range(min(size, count - done)):
            dwords.push_back(part(c, temp, i, 4))
        done += size
    return 0


cdef int _shift_scalars(Isel *c, vector[uint32_t] &dwords, const DwordStart *start, uint32_t count) except -1 nogil:
    """Shift down what starts within the first dword, so that `count` dwords hold it."""
    cdef Operand shift = K(8 * start.minimum)
    cdef Operand low
    cdef TempId both
    cdef uint32_t i
    if start.maximum == 0:
        return 0
    if start.low:
        low = T(c, start.low)
        if dwords.size() > 1:                     # a shift of 32 bits counts by the five lowest, one of 64 bits by six
            low = T(c, emit2(c, op_s_and_b32, 0, low, K(3)))
        shift = T(c, emit2(c, op_s_lshl_b32, 0, low, K(3)))
    for i in range(count):
        if i + 1 < dwords.size():
            both = pair(c, 0, class_s2, T(c, dwords[i]), T(c, dwords[i + 1]))
            dwords[i] = part(c, emit2(c, op_s_lshr_b64, 0, T(c, both), shift), 0, 4)
        else:
            dwords[i] = emit2(c, op_s_lshr_b32, 0, T(c, dwords[i]), shift)
    return 0


cdef int _load_scalar(Isel *c, Access *a, TempId dst, uint32_t bytes, uint32_t element, bint parts_wanted) except -1 nogil:
    """A uniform load by SMEM, which reads dwords: what starts within one is shifted down. GFX12 reads bytes and halves too."""
    cdef vector[uint32_t] dwords
    cdef vector[Operand] o
    cdef Access last
    cdef DwordStart start
    cdef uint32_t i
    if is_vgpr(c, a.resource):
        a.resource = as_uniform(c, 0, a.resource)
    if a.offset:
        a.offset = as_uniform(c, 0, a.offset)
    if c.gfx >= gfx12 and bytes <= 2 and known_alignment(a, 0) >= bytes:
        return _scalar_load(c, a, dst, _short_scalar_loads[a.access_kind == by_scalar][bytes - 1], 0)
    if known_alignment(a, 0) >= 4:
        _load_dwords(c, a, dwords, (bytes + 3) // 4, dst)
        if dwords.size() == 0:
            # A descriptor is used as a whole.
            if parts_wanted:
                split(c, dst, max(element, 4))
            return 0
    else:
        start_at_dword(c, a, &start)
        i = minimum_dwords(&start, bytes)
        _load_dwords(c, a, dwords, i, 0)
        if i < (start.maximum + bytes + 3) // 4:
            last_dword(c, a, &start, bytes, &last)
            _load_dwords(c, &last, dwords, 1, 0)
        _shift_scalars(c, dwords, &start, (bytes + 3) // 4)
    for i in range((bytes + 3) // 4):
        o.push_back(T(c, dwords[i]))
    if o.size() == 1:
        copy(c, dst, 0, o[0])
    else:
        create_vector(c, dst, 0, o.data(), o.size())
    return 0


cdef int load_value(Isel *c, ValueId i, Access *a) except -1 nogil:
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    cdef uint32_t bytes = element * c.s.instructions.components[i]
    cdef TempId dst = value_temp(c, i)
    if c.s.instructions.bit_size[i] == 1:
        return unsupported(c, b"load of booleans by", intrinsic_names[c.s.instructions.opcode[i]])
    if a.access_kind == by_scalar or a.access_kind == by_scalar_buffer:
        return _load_scalar(c, a, dst, bytes, element, (c.value_used[i] & used_alu) != 0)
    return _load_vector(c, a, dst, bytes, element)


# ---------------------------------------------------------------------------------------------------------------- stores
cdef TempId _slice(Isel *c, TempId vector_temp, uint32_t position, uint32_t bytes, uint32_t element) except 0 nogil:
    """Some consecutive bytes of a vector in VGPRs."""
    cdef Operand[32] o
    cdef uint32_t unit
    cdef uint32_t i
    if class_bytes(class_of(c, vector_temp)) == bytes:
        return vector_temp
    if bytes == element and position % element == 0:
        return part(c, vector_temp, position // element, element)
    if position % element == 0 and bytes % element == 0:
        for i in range(bytes // element):
            o[i] = T(c, part(c, vector_temp, position // element + i, element))
        return create_vector(c, 0, vgpr_class(bytes), o, bytes // element)
    if position % bytes == 0:
        return part(c, vector_temp, position // bytes, bytes)
    unit = position & (~position + 1)
    while bytes % unit:
        unit >>= 1
    for i in range(bytes // unit):
        o[i] = T(c, part(c, vector_temp, position // unit + i, unit))
    return create_vector(c, 0, vgpr_class(bytes), o, bytes // unit)


cdef TempId _scalar_slice(Isel *c, TempId scalars, uint32_t position, uint32_t bytes) except 0 nogil:
    """Whole dwords, or a part of one, of what SGPRs hold, in VGPRs."""
    cdef Operand[4] o
    cdef uint32_t i
    if bytes % 4:
        return part(c, as_vgpr(c, part(c, scalars, position // 4, 4)), position % 4 // bytes, bytes)
    for i in range(bytes // 4):
        o[i] = T(c, as_vgpr(c, part(c, scalars, position // 4 + i, 4)))
    return create_vector(c, 0, vgpr_class(bytes), o, bytes // 4) if bytes > 4 else <TempId>o[0].data


cdef TempId _stored(Isel *c, TempId data, uint32_t position, uint32_t bytes, uint32_t element) except 0 nogil:
    """Some consecutive bytes of what is stored, in VGPRs."""
    if is_vgpr(c, data):
        return _slice(c, data, position, bytes, element)
    if element < 4 and position % min(bytes, <uint32_t>4) == 0:
        return _scalar_slice(c, data, position, bytes)
    return _slice(c, as_vgpr(c, data), position, bytes, element)


cdef TempId _constant_slice(Isel *c, ValueId value, uint32_t position, uint32_t bytes) except 0 nogil:
    """Whole dwords of a vector of constants."""
    cdef uint32_t element = c.s.instructions.bit_size[value] // 8
    cdef Operand[16] o
    cdef uint32_t word
    cdef uint32_t i
    cdef uint32_t k
    for i in range(bytes // 4):
        word = 0
        for k in range(position + 4 * i, position + 4 * i + 4):
            word |= <uint32_t>(constant_bits(c.s, value, k // element) >> 8 * (k % element) & 0xff) << 8 * (k - position & 3)
        o[i] = K(word)
    return create_vector(c, 0, vgpr_class(bytes), o, bytes // 4) if bytes > 4 else copy(c, 0, class_v1, o[0])


cdef int store_value(Isel *c, Access *a, ValueId value, uint32_t mask) except -1 nogil:
    cdef uint32_t components = c.s.instructions.components[value]
    cdef uint32_t element = c.s.instructions.bit_size[value] // 8
    cdef TempId data = value_temp(c, value)
    cdef uint32_t first
    cdef uint32_t last
    cdef uint32_t position
    cdef uint32_t size
    cdef bint two
    if c.s.instructions.bit_size[value] == 1:
        return unsupported(c, b"store of", b"booleans")
    if element >= 4 and not is_vgpr(c, data):
        data = as_vgpr(c, data)
    legalize_address(c, a, element * components)
    first = 0
    while first < components:
        if not (mask >> first) & 1:
            first += 1
            continue
        last = first
        while last + 1 < components and (mask >> (last + 1)) & 1:
            last += 1
        position = first * element
        while position < (last + 1) * element:
            size = _piece_bytes(c, a, position, (last + 1) * element - position, &two)
            _store_piece(c, a, value, data, position, size, two)
            position += size
        first = last + 1
    return 0


cdef int _store_piece(Isel *c, Access *a, ValueId value, TempId data, uint32_t position, uint32_t size, bint two) except -1 nogil:
    cdef uint32_t element = c.s.instructions.bit_size[value] // 8
    cdef Operand[2] o
    if not two and element < 4 and size % 4 == 0 and value_is_constant(c.s, value):
        o[0] = T(c, _constant_slice(c, value, position, size))
        return memory_instruction(c, a, _stores[a.access_kind][_size_index(size)], 0, o, 1, _immediate(a, position, size, False))
    if two:
        o[0] = T(c, _stored(c, data, position, size >> 1, element))
        o[1] = T(c, _stored(c, data, position + (size >> 1), size >> 1, element))
        return memory_instruction(c, a, op_ds_write2_b64 if size == 16 else op_ds_write2_b32, 0, o, 2,
                                  _immediate(a, position, size, True))
    o[0] = T(c, _stored(c, data, position, size, element))
    return memory_instruction(c, a, _stores[a.access_kind][_size_index(size)], 0, o, 1, _immediate(a, position, size, False))


# ------------------------------------------------------------------------------------------------------------ intrinsics
cdef int _buffer_load(Isel *c, ValueId i, uint64_t constant_memory) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    begin_access(&a, by_buffer, source_whole(c, i, 0))
    read_offset(c, i, &a, 1)
    read_alignment(c, i, &a, element)
    a.modifiers = memory_ordering(storage_buffer, access_semantics(access))
    if constant_memory:
        a.modifiers = memory_ordering(storage_none, 0)
    a.modifiers = load_cache(c, a.modifiers, access)
    if not is_vgpr(c, value_temp(c, i)) and (constant_memory or access & access_can_reorder) and not is_vgpr(c, a.resource):
        a.access_kind = by_scalar_buffer
        if a.offset:
            a.offset = as_uniform(c, 0, a.offset)
    return load_value(c, i, &a)


cdef int _global_load(Isel *c, ValueId i, uint64_t has_offset) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    global_access(c, i, &a, 0, 1 if has_offset else 0)
    read_alignment(c, i, &a, element)
    a.modifiers = load_cache(c, memory_ordering(storage_buffer, access_semantics(access)), access)
    if (access & access_can_reorder and not is_vgpr(c, value_temp(c, i)) and not is_vgpr(c, a.resource)
            and (a.offset == 0 or not is_vgpr(c, a.offset)) and a.constant < 0x80000000U):
        a.access_kind = by_scalar
    return load_value(c, i, &a)


cdef int _global_store(Isel *c, ValueId i, uint64_t has_offset) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef ValueId value = source_value(c.s, i, 0)
    global_access(c, i, &a, 1, 2 if has_offset else 0)
    read_alignment(c, i, &a, c.s.instructions.bit_size[value] // 8)
    a.modifiers = store_cache(c, memory_ordering(storage_buffer, access_semantics(access)), access)
    return store_value(c, &a, value, intrinsic_index(c.s, i, index_write_mask))


cdef int _smem_load(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef Access a
    begin_access(&a, by_scalar, source_whole(c, i, 0))
    read_offset(c, i, &a, 1)
    read_alignment(c, i, &a, 4)
    a.modifiers = 0
    return load_value(c, i, &a)


cdef int _buffer_store(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef ValueId value = source_value(c.s, i, 0)
    begin_access(&a, by_buffer, source_whole(c, i, 1))
    read_offset(c, i, &a, 2)
    read_alignment(c, i, &a, c.s.instructions.bit_size[value] // 8)
    a.modifiers = store_cache(c, memory_ordering(storage_buffer, access_semantics(access)), access)
    return store_value(c, &a, value, intrinsic_index(c.s, i, index_write_mask))


cdef int _local_load(Isel *c, ValueId i, uint64_t access_kind) except -1 nogil:
    cdef Access a
    local_access(c, i, &a, <uint8_t>access_kind, 0, c.s.instructions.bit_size[i] // 8)
    return load_value(c, i, &a)


cdef int _local_store(Isel *c, ValueId i, uint64_t access_kind) except -1 nogil:
    cdef Access a
    cdef ValueId value = source_value(c.s, i, 0)
    local_access(c, i, &a, <uint8_t>access_kind, 1, c.s.instructions.bit_size[value] // 8)
    return store_value(c, &a, value, intrinsic_index(c.s, i, index_write_mask))


cdef int _shared_two(Isel *c, ValueId i, uint64_t is_store) except -1 nogil:
    """load_shared2_amd, store_shared2_amd: two elements, at offsets that count elements or, with `st64`, 64 of them."""
    cdef Access a
    cdef bint stride = intrinsic_index(c.s, i, index_st64) != 0
    cdef ValueId value = source_value(c.s, i, 0) if is_store else i
    cdef bint wide = c.s.instructions.bit_size[value] == 64
    cdef uint32_t immediate = intrinsic_index(c.s, i, index_offset0) | intrinsic_index(c.s, i, index_offset1) << 16
    cdef uint32_t opcode
    cdef TempId data
    cdef TempId dst
    cdef Operand[2] o
    begin_access(&a, by_shared, 0)
    a.offset = as_vgpr(c, source_whole(c, i, 1 if is_store else 0))
    a.modifiers = memory_ordering(storage_shared, 0)
    if is_store:
        data = as_vgpr(c, value_temp(c, value))
        o[0] = T(c, part(c, data, 0, 8 if wide else 4))
        o[1] = T(c, part(c, data, 1, 8 if wide else 4))
        if wide:
            opcode = op_ds_write2st64_b64 if stride else op_ds_write2_b64
        else:
            opcode = op_ds_write2st64_b32 if stride else op_ds_write2_b32
        return memory_instruction(c, &a, opcode, 0, o, 2, immediate)
    dst = value_temp(c, i)
    data = dst if is_vgpr(c, dst) else new_temp(c, class_v4 if wide else class_v2)
    if wide:
        opcode = op_ds_read2st64_b64 if stride else op_ds_read2_b64
    else:
        opcode = op_ds_read2st64_b32 if stride else op_ds_read2_b32
    memory_instruction(c, &a, opcode, data, NULL, 0, immediate)
    if data != dst:
        return _make_uniform(c, dst, data, 8 if wide else 4)
    return split(c, dst, 8 if wide else 4)


cdef int _constant_load(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """load_constant: from the data after the code, whose address is known relative to the program counter."""
    cdef Access a
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    cdef uint32_t base = intrinsic_index(c.s, i, index_base)
    begin_access(&a, by_global, new_temp(c, class_s2))
    a.constant = base
    read_offset(c, i, &a, 0)
    read_alignment(c, i, &a, element)
    a.modifiers = memory_ordering(storage_none, semantic_can_reorder)
    emit_constant_address(c, a.resource)
    if not is_vgpr(c, value_temp(c, i)) and a.align_mul >= 4 and (a.offset == 0 or not is_vgpr(c, a.offset)):
        a.access_kind = by_scalar
    return load_value(c, i, &a)


cdef int emit_constant_address(Isel *c, TempId dst) except -1 nogil:
    cdef Definition[2] d
    cdef Operand o = K(0)
    c.scc = new_temp(c, class_s1)
    d[0] = definition_of(c.p, dst)
    d[1] = definition_of_fixed(c.p, c.scc, register_scc)
    append_instruction(c, make(c.p, op_p_constaddr, d, 2, &o, 1))
    return split(c, dst, 4)


cdef void fill_memory(IntrinsicSelection *table) noexcept nogil:
    table[<int>intrinsic_load_ubo] = IntrinsicSelection(_buffer_load, True)
    table[<int>intrinsic_load_ssbo] = IntrinsicSelection(_buffer_load, False)
    table[<int>intrinsic_store_ssbo] = IntrinsicSelection(_buffer_store, 0)
    table[<int>intrinsic_load_smem_amd] = IntrinsicSelection(_smem_load, 0)
    table[<int>intrinsic_load_global_amd] = IntrinsicSelection(_global_load, True)
    table[<int>intrinsic_load_global] = IntrinsicSelection(_global_load, False)
    table[<int>intrinsic_load_global_constant] = IntrinsicSelection(_global_load, False)
    table[<int>intrinsic_store_global_amd] = IntrinsicSelection(_global_store, True)
    table[<int>intrinsic_store_global] = IntrinsicSelection(_global_store, False)
    table[<int>intrinsic_load_shared] = IntrinsicSelection(_local_load, by_shared)
    table[<int>intrinsic_store_shared] = IntrinsicSelection(_local_store, by_shared)
    table[<int>intrinsic_load_shared2_amd] = IntrinsicSelection(_shared_two, False)
    table[<int>intrinsic_store_shared2_amd] = IntrinsicSelection(_shared_two, True)
    table[<int>intrinsic_load_scratch] = IntrinsicSelection(_local_load, by_scratch)
    table[<int>intrinsic_store_scratch] = IntrinsicSelection(_local_store, by_scratch)
    table[<int>intrinsic_load_constant] = IntrinsicSelection(_constant_load, 0)
