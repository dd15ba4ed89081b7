"""Instruction selection of memory operations.

An access is cut into pieces that one instruction moves, by size and by what the alignment allows; a load puts its pieces together
as the vector that NIR sees, a store cuts the vector. Uniform read-only loads go through the scalar cache.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4): sizes and offset ranges of MUBUF, GLOBAL, SCRATCH, DS and SMEM; ACO's
``aco_instruction_selection.cpp`` for operand order and cache bits. The buffers of a store are cut as ACO does.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport isa_opcode_number, opcode_format
from modifiers cimport (
    modifier_set_cache_dlc, modifier_set_cache_glc, modifier_set_cache_scope, modifier_set_cache_slc,
    modifier_set_cache_temporal_hint, modifier_set_offen, modifier_set_semantics, modifier_set_storage,
)
from nir_opcodes cimport *
from libcpp.vector cimport vector

from pyaco._core.aco.build cimport make
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.program cimport (
    Definition, Operand, class_bytes, class_s1, class_s2, class_v1, class_v2, class_v4, definition_of, definition_of_fixed,
    gfx10, gfx10_3, gfx11, gfx12, operand_undefined, register_scc, semantic_atomicrmw, semantic_can_reorder,
    semantic_private, semantic_volatile, storage_buffer, storage_none, storage_scratch, storage_shared,
)
from pyaco._core.ir.program cimport operand_register, register_null
from pyaco._core.ir.shader cimport (
    access_can_reorder, access_coherent, access_non_readable, access_non_temporal, access_volatile, constant_bits,
    intrinsic_has_index, intrinsic_index, source_value, value_is_constant,
)
from pyaco._core.ir.shader cimport (
    atomic_cmpxchg, atomic_fadd, atomic_fmax, atomic_fmin, atomic_iadd, atomic_iand, atomic_imax, atomic_imin, atomic_ior,
    atomic_ixor, atomic_umax, atomic_umin, atomic_xchg,
)

cdef enum:                        # how memory is reached
    by_buffer = 0
    by_global = 1
    by_shared = 2
    by_scratch = 3
    by_scalar_buffer = 4
    by_scalar = 5

cdef enum:
    compare_and_swap = 0x100      # beside the way of an atomic

cdef struct Access:
    uint8_t way
    uint32_t resource             # descriptor (s4), or 64-bit address
    uint32_t offset               # temp of 32 bits, 0: none
    uint32_t constant             # bytes, added to the offset
    uint32_t align_mul
    uint32_t align_offset
    uint64_t modifiers            # cache policy and ordering


# ------------------------------------------------------------------------------------------------------------- modifiers
cdef uint64_t _ordering(uint32_t storage, uint32_t semantics) noexcept nogil:
    return modifier_set_semantics(modifier_set_storage(0, storage), semantics)


cdef uint32_t _access_semantics(uint32_t access) noexcept nogil:
    cdef uint32_t semantics = 0
    if access & access_volatile:
        semantics |= semantic_volatile
    if access & access_can_reorder:
        semantics |= semantic_can_reorder | semantic_private
    return semantics


cdef uint64_t _load_cache(Isel *c, uint64_t word, uint32_t access) noexcept nogil:
    """Coherent loads miss the caches of the compute unit (glc; on GFX10 dlc for the shader array's too)."""
    cdef bint coherent = (access & (access_coherent | access_volatile)) != 0
    if c.gfx >= gfx12:
        return modifier_set_cache_scope(word, 2 if coherent else 0)
    word = modifier_set_cache_glc(word, coherent)
    if coherent and gfx10 <= c.gfx < gfx11:
        word = modifier_set_cache_dlc(word, 1)
    return modifier_set_cache_slc(word, (access & access_non_temporal) != 0)


cdef uint64_t _store_cache(Isel *c, uint64_t word, uint32_t access) noexcept nogil:
    cdef bint coherent = (access & (access_coherent | access_volatile)) != 0
    if c.gfx >= gfx12:
        return modifier_set_cache_scope(word, 2 if coherent else 0)
    if c.gfx < gfx11:
        word = modifier_set_cache_glc(word, coherent or (access & access_non_readable) != 0)
    return modifier_set_cache_slc(word, (access & access_non_temporal) != 0)


cdef uint64_t _atomic_cache(Isel *c, uint64_t word, bint returns) noexcept nogil:
    """The bit that asks for the old value."""
    if c.gfx >= gfx12:
        return modifier_set_cache_temporal_hint(modifier_set_cache_scope(word, 2), 1 if returns else 0)
    return modifier_set_cache_glc(word, returns)


# ------------------------------------------------------------------------------------------------------------- addresses
cdef uint32_t _alignment(Access *a, uint32_t position) noexcept nogil:
    """What the address of byte `position` is surely a multiple of."""
    cdef uint32_t at = (a.align_offset + position) & (a.align_mul - 1)
    return at & (~at + 1) if at else a.align_mul


cdef int _read_alignment(Isel *c, uint32_t i, Access *a, uint32_t element) except -1 nogil:
    a.align_mul = element
    a.align_offset = 0
    if intrinsic_has_index(c.s, i, index_align_mul) and intrinsic_index(c.s, i, index_align_mul) > 0:
        a.align_mul = intrinsic_index(c.s, i, index_align_mul)
        a.align_offset = intrinsic_index(c.s, i, index_align_offset)
    return 0


cdef int _read_offset(Isel *c, uint32_t i, Access *a, uint32_t index) except -1 nogil:
    """A byte offset from a source of the instruction: a constant or a temp."""
    cdef uint32_t value = source_value(c.s, i, index)
    if value_is_constant(c.s, value):
        a.constant += <uint32_t>constant_bits(c.s, value, 0)
    else:
        a.offset = value_temp(c, value)
    return 0


cdef uint32_t _add_to_offset(Isel *c, uint32_t offset, uint32_t constant) except 0 nogil:
    if offset == 0:
        return copy(c, 0, class_s1, K(constant))
    if is_vgpr(c, offset):
        return vadd32(c, 0, K(constant), T(c, offset), False, 0)
    return emit2(c, op_s_add_u32, 0, T(c, offset), K(constant))


cdef uint32_t _add_64(Isel *c, uint32_t base, uint32_t offset, uint64_t constant) except 0 nogil:
    """A 64-bit address plus a 32-bit unsigned offset (0: none) plus a constant."""
    cdef uint32_t low
    cdef uint32_t high
    cdef Operand addend = K(<uint32_t>constant)
    if offset and constant:
        base = _add_64(c, base, offset, 0)
        offset = 0
    if offset == 0 and constant == 0:
        return base
    if offset:
        addend = T(c, offset)
    if is_vgpr(c, base) or (offset and is_vgpr(c, offset)):
        low = vadd32(c, 0, addend, T(c, as_vgpr(c, part(c, base, 0, 4))), True, 0)
        high = vadd32(c, 0, K(0), T(c, as_vgpr(c, part(c, base, 1, 4))), False, c.second)
        return pair(c, 0, class_v2, T(c, low), T(c, high))
    low = emit2(c, op_s_add_u32, 0, T(c, part(c, base, 0, 4)), addend)
    high = emit3(c, op_s_addc_u32, 0, T(c, part(c, base, 1, 4)), K(0), scc_operand(c, c.scc))
    return pair(c, 0, class_s2, T(c, low), T(c, high))


cdef struct DwordStart:           # where an access starts within the dword that its address was moved down to
    uint32_t least                # bytes, at least
    uint32_t most                 # and at most
    uint32_t low                  # temp whose two lowest bits tell, 0: `least` and `most` are the same
    uint32_t address              # the 64-bit address itself, where there is one and it is not known how it starts


cdef int _start_at_dword(Isel *c, Access *a, DwordStart *start) except -1 nogil:
    """Move the address of an access down to a multiple of four bytes."""
    cdef bint scalar = a.way == by_scalar or a.way == by_scalar_buffer
    cdef bint has_address = a.way == by_scalar or a.way == by_global
    cdef uint32_t odd = a.constant & 3
    cdef uint32_t address = 0
    start.low = start.address = 0
    start.least = a.align_offset & 3 if a.align_mul >= 4 else a.align_offset & (a.align_mul - 1)
    start.most = start.least if a.align_mul >= 4 else 4 - a.align_mul + start.least
    if not has_address and a.offset == 0:
        start.least = start.most = odd             # a buffer starts at a dword
    elif a.align_mul < 4 or odd != start.least:
        if scalar and a.offset:
            odd = a.constant                       # SMEM takes one of the two
        if has_address:
            address = _add_64(c, a.resource, a.offset, odd) if a.offset or odd else a.resource
            a.resource = _dword_aligned(c, address)
            a.offset = 0
        else:
            address = _add_to_offset(c, a.offset, odd) if odd else a.offset
            a.offset = _without_low_bits(c, address)
        if a.align_mul < 4:
            start.low = part(c, address, 0, 4) if has_address else address
            start.address = address if has_address else 0
    a.constant -= odd
    a.align_offset = a.align_offset & ~3U if a.align_mul >= 4 else 0
    a.align_mul = max(a.align_mul, 4U)
    return 0


cdef uint32_t _without_low_bits(Isel *c, uint32_t address) except 0 nogil:
    return emit2(c, op_v_and_b32 if is_vgpr(c, address) else op_s_and_b32, 0, K(0xfffffffcU), T(c, address))


cdef uint32_t _dword_aligned(Isel *c, uint32_t address) except 0 nogil:
    """A 64-bit address with its two lowest bits cleared."""
    cdef uint32_t low = _without_low_bits(c, part(c, address, 0, 4))
    return pair(c, 0, class_v2 if is_vgpr(c, address) else class_s2, T(c, low), T(c, part(c, address, 1, 4)))


cdef uint32_t _sure_dwords(const DwordStart *start, uint32_t bytes) noexcept nogil:
    """How many dwords hold a part of `bytes` bytes wherever they start: one that may not must not be read, its page may be missing.

    A buffer has bounds, within which what lies behind is read as zero.
    """
    return ((start.least if start.address else start.most) + bytes + 3) // 4


cdef int _last_dword(Isel *c, const Access *a, const DwordStart *start, uint32_t bytes, Access *last) except -1 nogil:
    """The access to the dword in which the last of `bytes` bytes lies, where that differs with the start."""
    last[0] = a[0]
    last.resource = _dword_aligned(c, _add_64(c, start.address, 0, bytes - 1))
    last.align_offset = 0
    last.align_mul = 4
    return 0


cdef int32_t _offset_limit(Isel *c, uint8_t way) noexcept nogil:
    """Largest immediate offset."""
    if way == by_buffer:
        return 0x7fffff if c.gfx >= gfx12 else 4095
    if way == by_shared:
        return 0xffff
    if c.gfx >= gfx12:
        return 0x7fffff
    return 2047 if gfx10 <= c.gfx < gfx11 else 4095


cdef int _legal_address(Isel *c, Access *a, uint32_t bytes) except -1 nogil:
    """Bring the access into a form that its instructions can address, for all of its `bytes` bytes."""
    cdef uint32_t limit = _offset_limit(c, a.way)
    cdef uint32_t excess = 0
    if a.way == by_buffer or a.way == by_scalar_buffer:
        if is_vgpr(c, a.resource):
            a.resource = as_uniform(c, 0, a.resource)
    if a.way == by_scalar or a.way == by_scalar_buffer:
        return 0
    if a.constant + bytes > limit:
        # Keep what the immediate of the last piece can hold.
        excess = a.constant & ~(limit >> 1) if a.constant < 0x80000000U else a.constant
        a.constant -= excess
    if a.way == by_global:
        if excess:
            a.resource = _add_64(c, a.resource, 0, excess)
        if a.offset and (is_vgpr(c, a.resource) or not is_vgpr(c, a.offset)):
            a.resource = _add_64(c, a.resource, a.offset, 0)
            a.offset = 0
        if not is_vgpr(c, a.resource) and a.offset == 0:
            a.offset = copy(c, 0, class_v1, K(0))
        return 0
    if excess:
        a.offset = _add_to_offset(c, a.offset, excess)
    if a.way == by_shared:
        a.offset = as_vgpr(c, a.offset) if a.offset else copy(c, 0, class_v1, K(0))
    elif a.way == by_scratch and a.offset == 0 and c.gfx < gfx10_3:
        a.offset = copy(c, 0, class_s1, K(0))
    return 0


cdef uint32_t _vector_operands(Isel *c, Access *a, Operand *o) except 0 nogil:
    """The address operands; returns how many."""
    cdef uint32_t resource = a.resource
    if a.way == by_buffer:
        o[0] = T(c, a.resource)
        o[1] = operand_undefined(class_v1)
        o[2] = operand_register(register_null, class_s1) if c.gfx >= gfx12 else K(0)
        if a.offset:
            if is_vgpr(c, a.offset):
                o[1] = T(c, a.offset)
            else:
                o[2] = T(c, a.offset)
        return 3
    if a.way == by_global:
        if is_vgpr(c, resource):
            o[0] = T(c, resource)
            o[1] = operand_undefined(class_s1)
        else:
            o[0] = T(c, a.offset)
            o[1] = T(c, resource)
        return 2
    if a.way == by_scratch:
        o[0] = operand_undefined(class_v1)
        o[1] = operand_undefined(class_s1)
        if a.offset and is_vgpr(c, a.offset):
            o[0] = T(c, a.offset)
        elif a.offset:
            o[1] = T(c, a.offset)
        return 2
    o[0] = T(c, a.offset)
    return 1


cdef int _memory_instruction(Isel *c, Access *a, uint32_t opcode, uint32_t dst, const Operand *data, uint32_t data_count,
                             uint32_t immediate) except -1 nogil:
    cdef Operand[6] o
    cdef uint32_t count = _vector_operands(c, a, o)
    cdef uint32_t i
    cdef uint64_t word = a.modifiers
    for i in range(data_count):
        o[count + i] = data[i]
    emit_raw(c, opcode, dst, o, count + data_count)
    if a.way == by_buffer and a.offset and is_vgpr(c, a.offset):
        word = modifier_set_offen(word, 1)
    modifiers_of_last(c)[0] = word
    c.p.instructions.immediate[c.last] = immediate
    return 0


# ------------------------------------------------------------------------------------------------------ sizes and opcodes
# By way and size: 1, 2, 4, 8, 12, 16 bytes.
cdef uint16_t[4][6] _loads
cdef uint16_t[4][6] _stores
for _way, _names in enumerate([
    (op_buffer_load_ubyte, op_buffer_load_ushort, op_buffer_load_dword, op_buffer_load_dwordx2, op_buffer_load_dwordx3,
     op_buffer_load_dwordx4),
    (op_global_load_ubyte, op_global_load_ushort, op_global_load_dword, op_global_load_dwordx2, op_global_load_dwordx3,
     op_global_load_dwordx4),
    (op_ds_read_u8, op_ds_read_u16, op_ds_read_b32, op_ds_read_b64, op_ds_read_b96, op_ds_read_b128),
    (op_scratch_load_ubyte, op_scratch_load_ushort, op_scratch_load_dword, op_scratch_load_dwordx2, op_scratch_load_dwordx3,
     op_scratch_load_dwordx4),
]):
    for _size in range(6):
        _loads[_way][_size] = _names[_size]
for _way, _names in enumerate([
    (op_buffer_store_byte, op_buffer_store_short, op_buffer_store_dword, op_buffer_store_dwordx2, op_buffer_store_dwordx3,
     op_buffer_store_dwordx4),
    (op_global_store_byte, op_global_store_short, op_global_store_dword, op_global_store_dwordx2, op_global_store_dwordx3,
     op_global_store_dwordx4),
    (op_ds_write_b8, op_ds_write_b16, op_ds_write_b32, op_ds_write_b64, op_ds_write_b96, op_ds_write_b128),
    (op_scratch_store_byte, op_scratch_store_short, op_scratch_store_dword, op_scratch_store_dwordx2, op_scratch_store_dwordx3,
     op_scratch_store_dwordx4),
]):
    for _size in range(6):
        _stores[_way][_size] = _names[_size]


cdef inline uint32_t _size_index(uint32_t bytes) noexcept nogil:
    if bytes >= 4:
        return 1 + (bytes >> 2) if bytes < 16 else 5
    return bytes - 1


cdef uint32_t _piece_bytes(Access *a, uint32_t position, uint32_t left, bint *two) noexcept nogil:
    """The size of the next piece; `two`: by an LDS instruction with two addresses."""
    cdef uint32_t alignment = _alignment(a, position)
    two[0] = False
    if alignment == 1 or left == 1:
        return 1
    if alignment == 2 or left < 4:
        return 2
    if a.way == by_shared:
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
    return 16 if left >= 16 else left & ~3


cdef uint32_t _immediate(Access *a, uint32_t position, uint32_t bytes, bint two) noexcept nogil:
    cdef uint32_t unit = bytes >> 1
    if not two:
        return a.constant + position
    return (a.constant + position) // unit | ((a.constant + position) // unit + 1) << 16


# ----------------------------------------------------------------------------------------------------------------- loads
cdef int _deliver(Isel *c, uint32_t dst, vector[uint32_t] &pieces, uint32_t bytes, uint32_t element) except -1 nogil:
    """Pieces in VGPRs as the value `dst` of elements of `element` bytes."""
    cdef vector[Operand] o
    cdef uint32_t i
    cdef uint32_t vector_temp = dst
    if pieces.size() == 1 and pieces[0] == dst:
        split(c, dst, element)
        return 0
    for i in range(pieces.size()):
        o.push_back(T(c, pieces[i]))
    if not is_vgpr(c, dst):
        if bytes & 3:
            o.push_back(operand_undefined(vgpr_class(4 - (bytes & 3))))
        if o.size() == 1:
            as_uniform(c, dst, pieces[0])
            split(c, dst, element)
            return 0
        vector_temp = new_temp(c, vgpr_class((bytes + 3) & ~3))
    if pieces.size() * element == bytes:
        create_vector(c, vector_temp, 0, o.data(), o.size())
    else:
        emit_raw(c, op_p_create_vector, vector_temp, o.data(), o.size())
        split(c, vector_temp, element)
    if vector_temp != dst:
        as_uniform(c, dst, vector_temp)
        split(c, dst, element)
    return 0


cdef int _load_pieces(Isel *c, Access *a, vector[uint32_t] &pieces, uint32_t bytes, uint32_t dst) except -1 nogil:
    """`bytes` bytes by vector memory instructions; with `dst` the whole, where one instruction loads it."""
    cdef uint32_t position = 0
    cdef uint32_t size
    cdef uint32_t temp
    cdef uint32_t opcode
    cdef bint two
    _legal_address(c, a, bytes)
    while position < bytes:
        size = _piece_bytes(a, position, bytes - position, &two)
        opcode = _loads[a.way][_size_index(size)]
        if two:
            opcode = op_ds_read2_b64 if size == 16 else op_ds_read2_b32
        temp = dst if dst and size == bytes else new_temp(c, vgpr_class(size))
        _memory_instruction(c, a, opcode, temp, NULL, 0, _immediate(a, position, size, two))
        pieces.push_back(temp)
        position += size
    return 0


cdef int _load_vector(Isel *c, Access *a, uint32_t dst, uint32_t bytes, uint32_t element) except -1 nogil:
    cdef vector[uint32_t] pieces
    cdef uint32_t alignment = _alignment(a, 0)
    # What bytes and shorts load at once needs no dwords around it.
    if (a.way == by_buffer or a.way == by_global) and alignment < 4 and (bytes > 2 or bytes > alignment):
        _load_shifted(c, a, pieces, bytes)
    else:
        _load_pieces(c, a, pieces, bytes, dst if is_vgpr(c, dst) else 0)
    return _deliver(c, dst, pieces, bytes, element)


cdef int _load_shifted(Isel *c, Access *a, vector[uint32_t] &pieces, uint32_t bytes) except -1 nogil:
    """A load that starts within a dword: all dwords around it, shifted down (`byte_align_loads` of ACO's emit_load)."""
    cdef vector[uint32_t] loaded
    cdef vector[uint32_t] dwords
    cdef DwordStart start
    cdef Access last
    cdef uint32_t count
    cdef uint32_t i
    cdef uint32_t k
    cdef Operand shift
    _start_at_dword(c, a, &start)
    count = (start.most + bytes + 3) // 4
    shift = T(c, start.low) if start.low else K(start.least)
    i = _sure_dwords(&start, bytes)
    if i < count:
        _last_dword(c, a, &start, bytes, &last)
    _load_pieces(c, a, loaded, 4 * i, 0)
    if i < count:
        _load_pieces(c, &last, loaded, 4, 0)
    for i in range(<uint32_t>loaded.size()):
        split(c, loaded[i], 4)
        for k in range(class_bytes(class_of(c, loaded[i])) // 4):
            dwords.push_back(part(c, loaded[i], k, 4))
    for i in range((bytes + 3) // 4):
        if start.most:
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


cdef int _scalar_offset(Isel *c, Access *a, uint32_t position, Operand *o) except -1 nogil:
    """Offset operand of SMEM: an immediate or an SGPR."""
    cdef uint32_t constant = a.constant + position
    cdef uint32_t limit = 0x7fffff if c.gfx >= gfx12 else 0xfffff
    if a.offset == 0:
        o[0] = K(constant) if constant <= limit else T(c, copy(c, 0, class_s1, K(constant)))
    elif constant == 0:
        o[0] = T(c, a.offset)
    else:
        o[0] = T(c, emit2(c, op_s_add_u32, 0, T(c, a.offset), K(constant)))
    return 0


# By address (buffer or not) and logarithm of the dwords.
cdef uint16_t[2][5] _scalar_loads
for _way, _names in enumerate([
    (op_s_buffer_load_dword, op_s_buffer_load_dwordx2, op_s_buffer_load_dwordx4, op_s_buffer_load_dwordx8, op_s_buffer_load_dwordx16),
    (op_s_load_dword, op_s_load_dwordx2, op_s_load_dwordx4, op_s_load_dwordx8, op_s_load_dwordx16),
]):
    for _size in range(5):
        _scalar_loads[_way][_size] = _names[_size]


cdef int _scalar_load(Isel *c, Access *a, uint32_t dst, uint32_t opcode, uint32_t position) except -1 nogil:
    cdef Operand[2] o
    o[0] = T(c, a.resource)
    _scalar_offset(c, a, position, &o[1])
    emit_raw(c, opcode, dst, o, 2)
    modifiers_of_last(c)[0] = a.modifiers
    return 0


cdef int _load_dwords(Isel *c, Access *a, vector[uint32_t] &dwords, uint32_t count, uint32_t dst) except -1 nogil:
    """`count` dwords at a dword-aligned address, one temp each; with `dst` the whole, where one instruction loads it."""
    cdef uint32_t done = 0
    cdef uint32_t size
    cdef uint32_t temp
    cdef uint32_t i
    cdef uint32_t logarithm
    while done < count:
        logarithm = 0
        while 1 << logarithm < count - done and logarithm < 4:
            logarithm += 1
        # Reading on must not leave the page: a buffer has bounds, an address its alignment.
        if 1 << logarithm > count - done and a.way == by_scalar and _alignment(a, 4 * done) < 4 << logarithm:
            logarithm -= 1
        size = 1 << logarithm
        temp = dst if size == count and dst else new_temp(c, sgpr_class(4 * size))
        _scalar_load(c, a, temp, _scalar_loads[a.way == by_scalar][logarithm], 4 * done)
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
    cdef Operand shift = K(8 * start.least)
    cdef uint32_t both
    cdef uint32_t i
    if start.most == 0:
        return 0
    if start.low:
        shift = T(c, emit2(c, op_s_lshl_b32, 0, T(c, emit2(c, op_s_and_b32, 0, T(c, start.low), K(3))), K(3)))
    for i in range(count):
        if i + 1 < dwords.size():
            both = pair(c, 0, class_s2, T(c, dwords[i]), T(c, dwords[i + 1]))
            dwords[i] = part(c, emit2(c, op_s_lshr_b64, 0, T(c, both), shift), 0, 4)
        else:
            dwords[i] = emit2(c, op_s_lshr_b32, 0, T(c, dwords[i]), shift)
    return 0


cdef int _load_scalar(Isel *c, Access *a, uint32_t dst, uint32_t bytes, uint32_t element, bint parts_wanted) except -1 nogil:
    """A uniform load by SMEM, which reads dwords: what starts between them is shifted down."""
    cdef vector[uint32_t] dwords
    cdef vector[Operand] o
    cdef Access last
    cdef DwordStart start
    cdef uint32_t i
    if is_vgpr(c, a.resource):
        a.resource = as_uniform(c, 0, a.resource)
    if a.offset:
        a.offset = as_uniform(c, 0, a.offset)
    if _alignment(a, 0) >= 4:
        _load_dwords(c, a, dwords, (bytes + 3) // 4, dst)
        if dwords.size() == 0:
            # A descriptor is used as a whole.
            if parts_wanted:
                split(c, dst, max(element, 4))
            return 0
    else:
        _start_at_dword(c, a, &start)
        i = _sure_dwords(&start, bytes)
        _load_dwords(c, a, dwords, i, 0)
        if i < (start.most + bytes + 3) // 4:
            _last_dword(c, a, &start, bytes, &last)
            _load_dwords(c, &last, dwords, 1, 0)
        _shift_scalars(c, dwords, &start, (bytes + 3) // 4)
    for i in range((bytes + 3) // 4):
        o.push_back(T(c, dwords[i]))
    if o.size() == 1:
        copy(c, dst, 0, o[0])
    else:
        create_vector(c, dst, 0, o.data(), o.size())
    return 0


cdef int _load(Isel *c, uint32_t i, Access *a) except -1 nogil:
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    cdef uint32_t bytes = element * c.s.instructions.components[i]
    cdef uint32_t dst = value_temp(c, i)
    if c.s.instructions.bit_size[i] == 1:
        return unsupported(c, b"load of booleans by", intrinsic_names[c.s.instructions.opcode[i]])
    if a.way == by_scalar or a.way == by_scalar_buffer:
        return _load_scalar(c, a, dst, bytes, element, (c.value_used[i] & 2) != 0)
    return _load_vector(c, a, dst, bytes, element)


# ---------------------------------------------------------------------------------------------------------------- stores
cdef uint32_t _slice(Isel *c, uint32_t vector_temp, uint32_t position, uint32_t bytes, uint32_t element) except 0 nogil:
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


cdef int _store(Isel *c, Access *a, uint32_t value, uint32_t mask) except -1 nogil:
    cdef uint32_t components = c.s.instructions.components[value]
    cdef uint32_t element = c.s.instructions.bit_size[value] // 8
    cdef uint32_t data = value_temp(c, value)
    cdef uint32_t first
    cdef uint32_t last
    cdef uint32_t position
    cdef uint32_t size
    cdef bint two
    if c.s.instructions.bit_size[value] == 1:
        return unsupported(c, b"store of", b"booleans")
    if not is_vgpr(c, data):
        data = as_vgpr(c, data)
        if class_bytes(class_of(c, data)) != element * components:
            data = part(c, data, 0, element * components)
    _legal_address(c, a, element * components)
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
            size = _piece_bytes(a, position, (last + 1) * element - position, &two)
            _store_piece(c, a, data, position, size, element, two)
            position += size
        first = last + 1
    return 0


cdef int _store_piece(Isel *c, Access *a, uint32_t data, uint32_t position, uint32_t size, uint32_t element, bint two) except -1 nogil:
    cdef Operand[2] o
    if two:
        o[0] = T(c, _slice(c, data, position, size >> 1, element))
        o[1] = T(c, _slice(c, data, position + (size >> 1), size >> 1, element))
        return _memory_instruction(c, a, op_ds_write2_b64 if size == 16 else op_ds_write2_b32, 0, o, 2,
                                   _immediate(a, position, size, True))
    o[0] = T(c, _slice(c, data, position, size, element))
    return _memory_instruction(c, a, _stores[a.way][_size_index(size)], 0, o, 1, _immediate(a, position, size, False))


# --------------------------------------------------------------------------------------------------------------- atomics
# By operation: buffer 32, 64; global 32, 64; LDS 32, 64 without and with result.
cdef uint16_t[13][8] _atomics
_NONE = op_invalid
_ATOMICS = {
    atomic_iadd: (op_buffer_atomic_add, op_buffer_atomic_add_x2, op_global_atomic_add, op_global_atomic_add_x2, op_ds_add_u32,
                  op_ds_add_u64, op_ds_add_rtn_u32, op_ds_add_rtn_u64),
    atomic_imin: (op_buffer_atomic_smin, op_buffer_atomic_smin_x2, op_global_atomic_smin, op_global_atomic_smin_x2,
                  op_ds_min_i32, op_ds_min_i64, op_ds_min_rtn_i32, op_ds_min_rtn_i64),
    atomic_umin: (op_buffer_atomic_umin, op_buffer_atomic_umin_x2, op_global_atomic_umin, op_global_atomic_umin_x2,
                  op_ds_min_u32, op_ds_min_u64, op_ds_min_rtn_u32, op_ds_min_rtn_u64),
    atomic_imax: (op_buffer_atomic_smax, op_buffer_atomic_smax_x2, op_global_atomic_smax, op_global_atomic_smax_x2,
                  op_ds_max_i32, op_ds_max_i64, op_ds_max_rtn_i32, op_ds_max_rtn_i64),
    atomic_umax: (op_buffer_atomic_umax, op_buffer_atomic_umax_x2, op_global_atomic_umax, op_global_atomic_umax_x2,
                  op_ds_max_u32, op_ds_max_u64, op_ds_max_rtn_u32, op_ds_max_rtn_u64),
    atomic_iand: (op_buffer_atomic_and, op_buffer_atomic_and_x2, op_global_atomic_and, op_global_atomic_and_x2, op_ds_and_b32,
                  op_ds_and_b64, op_ds_and_rtn_b32, op_ds_and_rtn_b64),
    atomic_ior: (op_buffer_atomic_or, op_buffer_atomic_or_x2, op_global_atomic_or, op_global_atomic_or_x2, op_ds_or_b32,
                 op_ds_or_b64, op_ds_or_rtn_b32, op_ds_or_rtn_b64),
    atomic_ixor: (op_buffer_atomic_xor, op_buffer_atomic_xor_x2, op_global_atomic_xor, op_global_atomic_xor_x2, op_ds_xor_b32,
                  op_ds_xor_b64, op_ds_xor_rtn_b32, op_ds_xor_rtn_b64),
    atomic_xchg: (op_buffer_atomic_swap, op_buffer_atomic_swap_x2, op_global_atomic_swap, op_global_atomic_swap_x2,
                  op_ds_write_b32, op_ds_write_b64, op_ds_wrxchg_rtn_b32, op_ds_wrxchg_rtn_b64),
    atomic_fadd: (op_buffer_atomic_add_f32, _NONE, op_global_atomic_add_f32, _NONE, op_ds_add_f32, _NONE, op_ds_add_rtn_f32, _NONE),
    atomic_fmin: (op_buffer_atomic_fmin, op_buffer_atomic_fmin_x2, op_global_atomic_fmin, op_global_atomic_fmin_x2,
                  op_ds_min_f32, op_ds_min_f64, op_ds_min_rtn_f32, op_ds_min_rtn_f64),
    atomic_fmax: (op_buffer_atomic_fmax, op_buffer_atomic_fmax_x2, op_global_atomic_fmax, op_global_atomic_fmax_x2,
                  op_ds_max_f32, op_ds_max_f64, op_ds_max_rtn_f32, op_ds_max_rtn_f64),
    atomic_cmpxchg: (op_buffer_atomic_cmpswap, op_buffer_atomic_cmpswap_x2, op_global_atomic_cmpswap,
                     op_global_atomic_cmpswap_x2, op_ds_cmpst_b32, op_ds_cmpst_b64, op_ds_cmpst_rtn_b32, op_ds_cmpst_rtn_b64),
}
for _way, _names in _ATOMICS.items():
    for _size in range(8):
        _atomics[_way][_size] = _names[_size]


cdef int _atomic(Isel *c, uint32_t i, Access *a, uint32_t first_data, bint swap) except -1 nogil:
    cdef uint32_t operation = atomic_cmpxchg if swap else <uint32_t>intrinsic_index(c.s, i, index_atomic_op)
    cdef uint32_t bits = c.s.instructions.bit_size[source_value(c.s, i, first_data)]
    cdef bint wide = bits == 64
    cdef bint returns = c.value_used[i] != 0
    cdef uint32_t dst = value_temp(c, i) if returns else 0
    cdef uint32_t data = as_vgpr(c, source_whole(c, i, first_data))
    cdef uint32_t new_value = 0
    cdef uint32_t opcode
    cdef uint32_t old = dst
    cdef uint32_t count = 1
    cdef Operand[2] o
    if bits < 32 or operation > atomic_cmpxchg or (not swap and operation == atomic_cmpxchg):
        return unsupported(c, b"this size or operation of", intrinsic_names[c.s.instructions.opcode[i]])
    opcode = _atomics[operation][(4 + 2 * returns if a.way == by_shared else 2 * a.way) + wide]
    if opcode == op_invalid or not _available(c, opcode):
        return unsupported(c, b"on this gfx level, the float operation of", intrinsic_names[c.s.instructions.opcode[i]])
    if swap:
        new_value = as_vgpr(c, source_whole(c, i, first_data + 1))
    _legal_address(c, a, bits // 8)
    o[0] = T(c, data)
    if swap and a.way == by_shared:
        # GFX11 turned the order of the two.
        count = 2
        o[1] = T(c, new_value)
        if c.gfx >= gfx11:
            o[0] = T(c, new_value)
            o[1] = T(c, data)
    elif swap:
        o[0] = T(c, pair(c, 0, class_v4 if wide else class_v2, T(c, new_value), T(c, data)))
        if a.way == by_buffer and returns:
            old = new_temp(c, class_v4 if wide else class_v2)
    if a.way != by_shared:
        a.modifiers = _atomic_cache(c, a.modifiers, returns)
    _memory_instruction(c, a, opcode, old, o, count, a.constant)
    if old != dst:
        o[0] = T(c, old)
        o[1] = K(0)
        emit_raw(c, op_p_extract_vector, dst, o, 2)
    return 0


cdef bint _available(Isel *c, uint32_t opcode) noexcept nogil:
    return isa_opcode_number(c.gfx, opcode, opcode_format[opcode]) >= 0


# ------------------------------------------------------------------------------------------------------------ intrinsics
cdef int _buffer_load(Isel *c, uint32_t i, uint64_t constant_memory) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    a.resource = source_whole(c, i, 0)
    a.offset = 0
    a.constant = 0
    _read_offset(c, i, &a, 1)
    _read_alignment(c, i, &a, element)
    a.way = by_buffer
    a.modifiers = _ordering(storage_buffer, _access_semantics(access))
    if constant_memory:
        a.modifiers = _ordering(storage_none, 0)
    a.modifiers = _load_cache(c, a.modifiers, access)
    if not is_vgpr(c, value_temp(c, i)) and (constant_memory or access & access_can_reorder) and (
            a.offset == 0 or not is_vgpr(c, a.offset)) and not is_vgpr(c, a.resource):
        a.way = by_scalar_buffer
    return _load(c, i, &a)


cdef int _global_access(Isel *c, uint32_t i, Access *a, uint32_t address, uint32_t offset) except -1 nogil:
    a.way = by_global
    a.resource = source_whole(c, i, address)
    a.offset = 0
    a.constant = 0
    if intrinsic_has_index(c.s, i, index_base):
        a.constant = intrinsic_index(c.s, i, index_base)
    if offset:
        _read_offset(c, i, a, offset)
    return 0


cdef int _global_load(Isel *c, uint32_t i, uint64_t has_offset) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    _global_access(c, i, &a, 0, 1 if has_offset else 0)
    _read_alignment(c, i, &a, element)
    a.modifiers = _load_cache(c, _ordering(storage_buffer, _access_semantics(access)), access)
    if (access & access_can_reorder and not is_vgpr(c, value_temp(c, i)) and not is_vgpr(c, a.resource)
            and (a.offset == 0 or not is_vgpr(c, a.offset)) and a.constant < 0x80000000U):
        a.way = by_scalar
    return _load(c, i, &a)


cdef int _global_store(Isel *c, uint32_t i, uint64_t has_offset) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t value = source_value(c.s, i, 0)
    _global_access(c, i, &a, 1, 2 if has_offset else 0)
    _read_alignment(c, i, &a, c.s.instructions.bit_size[value] // 8)
    a.modifiers = _store_cache(c, _ordering(storage_buffer, _access_semantics(access)), access)
    return _store(c, &a, value, intrinsic_index(c.s, i, index_write_mask))


cdef int _smem_load(Isel *c, uint32_t i, uint64_t unused) except -1 nogil:
    cdef Access a
    a.way = by_scalar
    a.resource = source_whole(c, i, 0)
    a.offset = 0
    a.constant = 0
    _read_offset(c, i, &a, 1)
    _read_alignment(c, i, &a, 4)
    a.modifiers = 0
    return _load(c, i, &a)


cdef int _buffer_store(Isel *c, uint32_t i, uint64_t unused) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t value = source_value(c.s, i, 0)
    a.way = by_buffer
    a.resource = source_whole(c, i, 1)
    a.offset = 0
    a.constant = 0
    _read_offset(c, i, &a, 2)
    _read_alignment(c, i, &a, c.s.instructions.bit_size[value] // 8)
    a.modifiers = _store_cache(c, _ordering(storage_buffer, _access_semantics(access)), access)
    return _store(c, &a, value, intrinsic_index(c.s, i, index_write_mask))


cdef int _local_access(Isel *c, uint32_t i, Access *a, uint8_t way, uint32_t offset, uint32_t element) except -1 nogil:
    a.way = way
    a.resource = 0
    a.offset = 0
    a.constant = 0
    if intrinsic_has_index(c.s, i, index_base):
        a.constant = intrinsic_index(c.s, i, index_base)
    _read_offset(c, i, a, offset)
    _read_alignment(c, i, a, element)
    a.modifiers = _ordering(storage_shared, 0) if way == by_shared else _ordering(storage_scratch, semantic_private)
    return 0


cdef int _local_load(Isel *c, uint32_t i, uint64_t way) except -1 nogil:
    cdef Access a
    _local_access(c, i, &a, <uint8_t>way, 0, c.s.instructions.bit_size[i] // 8)
    return _load(c, i, &a)


cdef int _local_store(Isel *c, uint32_t i, uint64_t way) except -1 nogil:
    cdef Access a
    cdef uint32_t value = source_value(c.s, i, 0)
    _local_access(c, i, &a, <uint8_t>way, 1, c.s.instructions.bit_size[value] // 8)
    return _store(c, &a, value, intrinsic_index(c.s, i, index_write_mask))


cdef int _shared_two(Isel *c, uint32_t i, uint64_t is_store) except -1 nogil:
    """load_shared2_amd, store_shared2_amd: two elements at offsets in elements (times 64)."""
    cdef Access a
    cdef bint stride = intrinsic_index(c.s, i, index_st64) != 0
    cdef uint32_t value = source_value(c.s, i, 0) if is_store else i
    cdef bint wide = c.s.instructions.bit_size[value] == 64
    cdef uint32_t immediate = intrinsic_index(c.s, i, index_offset0) | intrinsic_index(c.s, i, index_offset1) << 16
    cdef uint32_t data
    cdef uint32_t dst
    cdef Operand[2] o
    a.way = by_shared
    a.resource = 0
    a.constant = 0
    a.offset = as_vgpr(c, source_whole(c, i, 1 if is_store else 0))
    a.modifiers = _ordering(storage_shared, 0)
    if is_store:
        data = as_vgpr(c, value_temp(c, value))
        o[0] = T(c, part(c, data, 0, 8 if wide else 4))
        o[1] = T(c, part(c, data, 1, 8 if wide else 4))
        if wide:
            data = op_ds_write2st64_b64 if stride else op_ds_write2_b64
        else:
            data = op_ds_write2st64_b32 if stride else op_ds_write2_b32
        return _memory_instruction(c, &a, data, 0, o, 2, immediate)
    dst = value_temp(c, i)
    data = dst if is_vgpr(c, dst) else new_temp(c, class_v4 if wide else class_v2)
    if wide:
        _memory_instruction(c, &a, op_ds_read2st64_b64 if stride else op_ds_read2_b64, data, NULL, 0, immediate)
    else:
        _memory_instruction(c, &a, op_ds_read2st64_b32 if stride else op_ds_read2_b32, data, NULL, 0, immediate)
    if data != dst:
        as_uniform(c, dst, data)
    return split(c, dst, 8 if wide else 4)


cdef int _constant_load(Isel *c, uint32_t i, uint64_t unused) except -1 nogil:
    """load_constant: from the data behind the code, whose address is known relative to the program counter."""
    cdef Access a
    cdef uint32_t element = c.s.instructions.bit_size[i] // 8
    cdef uint32_t base = intrinsic_index(c.s, i, index_base)
    a.resource = new_temp(c, class_s2)
    a.offset = 0
    a.constant = base
    _read_offset(c, i, &a, 0)
    _read_alignment(c, i, &a, element)
    a.modifiers = _ordering(storage_none, semantic_can_reorder)
    emit_constant_address(c, a.resource)
    if not is_vgpr(c, value_temp(c, i)) and a.align_mul >= 4 and (a.offset == 0 or not is_vgpr(c, a.offset)):
        a.way = by_scalar
    else:
        a.way = by_global
    return _load(c, i, &a)


cdef int emit_constant_address(Isel *c, uint32_t dst) except -1 nogil:
    cdef Definition[2] d
    cdef Operand o = K(0)
    c.scc = new_temp(c, class_s1)
    d[0] = definition_of(c.p, dst)
    d[1] = definition_of_fixed(c.p, c.scc, register_scc)
    place(c, make(c.p, op_p_constaddr, d, 2, &o, 1))
    return split(c, dst, 4)


cdef int _memory_atomic(Isel *c, uint32_t i, uint64_t kind) except -1 nogil:
    cdef Access a
    cdef uint8_t way = kind & 0xff
    cdef bint swap = (kind & compare_and_swap) != 0
    cdef uint32_t data = 2
    a.modifiers = 0
    if way == by_global:
        _global_access(c, i, &a, 0, 0)
        if c.s.instructions.opcode[i] == intrinsic_global_atomic_amd or c.s.instructions.opcode[i] == intrinsic_global_atomic_swap_amd:
            _read_offset(c, i, &a, 3 if swap else 2)
        data = 1
    elif way == by_shared:
        _local_access(c, i, &a, way, 0, 4)
        data = 1
    else:
        a.way = by_buffer
        a.resource = source_whole(c, i, 0)
        a.offset = 0
        a.constant = 0
        _read_offset(c, i, &a, 1)
    a.align_mul = 4
    a.align_offset = 0
    a.modifiers = _ordering(storage_shared if way == by_shared else storage_buffer, semantic_atomicrmw)
    return _atomic(c, i, &a, data, swap)


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
    table[<int>intrinsic_ssbo_atomic] = IntrinsicSelection(_memory_atomic, by_buffer)
    table[<int>intrinsic_ssbo_atomic_swap] = IntrinsicSelection(_memory_atomic, by_buffer | compare_and_swap)
    table[<int>intrinsic_shared_atomic] = IntrinsicSelection(_memory_atomic, by_shared)
    table[<int>intrinsic_shared_atomic_swap] = IntrinsicSelection(_memory_atomic, by_shared | compare_and_swap)
    table[<int>intrinsic_global_atomic] = IntrinsicSelection(_memory_atomic, by_global)
    table[<int>intrinsic_global_atomic_amd] = IntrinsicSelection(_memory_atomic, by_global)
    table[<int>intrinsic_global_atomic_swap] = IntrinsicSelection(_memory_atomic, by_global | compare_and_swap)
    table[<int>intrinsic_global_atomic_swap_amd] = IntrinsicSelection(_memory_atomic, by_global | compare_and_swap)
