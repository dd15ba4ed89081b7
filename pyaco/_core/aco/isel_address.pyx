"""Instruction selection of memory operations: addresses.

An ``Access`` says how memory is reached and what is known of its alignment; from it come the operands by which an instruction of each kind
addresses memory.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4): offset ranges of MUBUF, GLOBAL, SCRATCH, DS and SMEM; ACO's
``aco_instruction_selection.cpp`` for operand order.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from features cimport has_wrapping_buffer_offsets
from isa_opcodes cimport *
from modifiers cimport modifier_set_addr64, modifier_set_idxen, modifier_set_offen, modifier_set_semantics, modifier_set_storage
from nir_opcodes cimport *

from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.older_memory cimport older_form
from pyaco._core.ir.program cimport (
    Operand, TempId, class_s1, class_s2, class_s4, class_v1, class_v2, gfx10, gfx10_3, gfx11, gfx12, gfx7, gfx8,
    gfx9, operand_register, operand_undefined,
    register_null, semantic_private, storage_scratch, storage_shared,
)
from pyaco._core.ir.shader cimport (
    ValueId, constant_bits, intrinsic_has_index, intrinsic_index, nir_alu, nir_no_unsigned_wrap, source_swizzle, source_value,
    swizzle_component, value_is_constant,
)
from pyaco._core.ir.range_analysis cimport sum_does_not_wrap


# ------------------------------------------------------------------------------------------ what an instruction accesses
cdef uint64_t memory_ordering(uint32_t storage, uint32_t semantics) noexcept nogil:
    return modifier_set_semantics(modifier_set_storage(0, storage), semantics)


cdef uint32_t known_alignment(Access *a, uint32_t position) noexcept nogil:
    """The largest power of two that the address of byte `position` is known to be a multiple of."""
    cdef uint32_t at = (a.align_offset + position) & (a.align_mul - 1)
    return at & (~at + 1) if at else a.align_mul


cdef int read_alignment(Isel *c, ValueId i, Access *a, uint32_t element) except -1 nogil:
    a.align_mul = element
    a.align_offset = 0
    if intrinsic_has_index(c.s, i, index_align_mul) and intrinsic_index(c.s, i, index_align_mul) > 0:
        a.align_mul = intrinsic_index(c.s, i, index_align_mul)
        a.align_offset = intrinsic_index(c.s, i, index_align_offset)
    return 0


cdef bint _may_split(Isel *c, Access *a, ValueId sum, uint32_t side, uint32_t constant) noexcept nogil:
    """Whether the hardware may add the constant of a sum. Addresses of LDS wrap as sums do, and so do offsets from a buffer where a VGPR and the
    instruction have both parts; other addresses have more bits, or a bound that is looked at before they wrap."""
    if (a.access_kind == by_shared and c.gfx >= gfx7) or c.s.instructions.flags[sum] & nir_no_unsigned_wrap:
        return True
    if a.access_kind == by_buffer and has_wrapping_buffer_offsets(c.gfx) and is_vgpr(c, value_temp(c, source_value(c.s, sum, side))):
        return True
    return sum_does_not_wrap(&c.ranges, source_value(c.s, sum, side), swizzle_component(source_swizzle(c.s, sum, side), 0), constant)


cdef bint _split_sum(Isel *c, Access *a, ValueId value, uint32_t *side) noexcept nogil:
    """Add the constant of a sum x + constant to the access; `side` is the operand that is x."""
    cdef uint32_t k
    cdef ValueId other
    cdef uint32_t constant
    if c.s.instructions.kind[value] != nir_alu or c.s.instructions.opcode[value] != alu_iadd or c.s.instructions.bit_size[value] != 32:
        return False
    for k in range(2):
        other = source_value(c.s, value, k)
        if not value_is_constant(c.s, other):
            continue
        constant = <uint32_t>constant_bits(c.s, other, swizzle_component(source_swizzle(c.s, value, k), 0))
        if not _may_split(c, a, value, 1 - k, constant) or a.constant + constant < constant:
            return False
        a.constant += constant
        side[0] = 1 - k
        return True
    return False


cdef int read_offset(Isel *c, ValueId i, Access *a, uint32_t index) except -1 nogil:
    """A byte offset from a source of the instruction: a constant, a temp, or the sum of both."""
    cdef ValueId value = source_value(c.s, i, index)
    cdef uint32_t side = 0
    if value_is_constant(c.s, value):
        a.constant += <uint32_t>constant_bits(c.s, value, 0)
    elif _split_sum(c, a, value, &side):
        a.offset = source(c, value, side)
    else:
        a.offset = value_temp(c, value)
    return 0


cdef int global_access(Isel *c, ValueId i, Access *a, uint32_t address, uint32_t offset) except -1 nogil:
    begin_access(a, by_global, source_whole(c, i, address))
    if intrinsic_has_index(c.s, i, index_base):
        a.constant = intrinsic_index(c.s, i, index_base)
    if offset:
        read_offset(c, i, a, offset)
    return 0


cdef int local_access(Isel *c, ValueId i, Access *a, uint8_t access_kind, uint32_t offset, uint32_t element) except -1 nogil:
    begin_access(a, access_kind, 0)
    if intrinsic_has_index(c.s, i, index_base):
        a.constant = intrinsic_index(c.s, i, index_base)
    read_offset(c, i, a, offset)
    read_alignment(c, i, a, element)
    a.modifiers = memory_ordering(storage_shared, 0) if access_kind == by_shared else memory_ordering(storage_scratch, semantic_private)
    return 0


# ----------------------------------------------------------------------------------------------- arithmetic of addresses
cdef uint32_t _add_to_offset(Isel *c, TempId offset, uint32_t constant) except 0 nogil:
    if offset == 0:
        return copy(c, 0, class_s1, K(constant))
    if is_vgpr(c, offset):
        return vadd32(c, 0, K(constant), T(c, offset), False, 0)
    return emit2(c, op_s_add_u32, 0, T(c, offset), K(constant))


cdef TempId _add_64(Isel *c, TempId base, TempId offset, uint64_t constant) except 0 nogil:
    """A 64-bit address plus a 32-bit unsigned offset (0: none) plus a constant."""
    cdef TempId low
    cdef TempId high
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


# ------------------------------------------------------------------------------------ accesses that start within a dword
cdef int start_at_dword(Isel *c, Access *a, DwordStart *start) except -1 nogil:
    """Move the address of an access down to a multiple of four bytes."""
    cdef bint scalar = a.access_kind == by_scalar or a.access_kind == by_scalar_buffer
    cdef bint has_address = a.access_kind == by_scalar or a.access_kind == by_global
    cdef uint32_t folded = a.constant & 3             # what the address takes over of the constant
    cdef TempId address = 0
    start.low = start.address = 0
    start.minimum = a.align_offset & 3 if a.align_mul >= 4 else a.align_offset & (a.align_mul - 1)
    start.maximum = start.minimum if a.align_mul >= 4 else 4 - a.align_mul + start.minimum
    if not has_address and a.offset == 0:
        start.minimum = start.maximum = folded          # a buffer starts at a dword
    elif a.align_mul < 4 or folded != start.minimum:
        if scalar and a.offset:
            folded = a.constant                    # SMEM takes one of the two
        if has_address:
            address = _add_64(c, a.resource, a.offset, folded) if a.offset or folded else a.resource
            a.resource = _dword_aligned(c, address)
            a.offset = 0
        else:
            address = _add_to_offset(c, a.offset, folded) if folded else a.offset
            # SMEM ignores the two lowest bits of what it adds (RDNA2 ISA, "Scalar Memory Operations").
            a.offset = address if scalar else _without_low_bits(c, address)
        if a.align_mul < 4:
            start.low = part(c, address, 0, 4) if has_address else address
            start.address = address if has_address else 0
    a.constant -= folded
    a.align_offset = a.align_offset & ~3U if a.align_mul >= 4 else 0
    a.align_mul = max(a.align_mul, 4U)
    return 0


cdef TempId _without_low_bits(Isel *c, TempId address) except 0 nogil:
    return emit2(c, op_v_and_b32 if is_vgpr(c, address) else op_s_and_b32, 0, K(0xfffffffcU), T(c, address))


cdef TempId _dword_aligned(Isel *c, TempId address) except 0 nogil:
    """A 64-bit address with its two lowest bits cleared."""
    cdef TempId low = _without_low_bits(c, part(c, address, 0, 4))
    return pair(c, 0, class_v2 if is_vgpr(c, address) else class_s2, T(c, low), T(c, part(c, address, 1, 4)))


cdef uint32_t minimum_dwords(const DwordStart *start, uint32_t bytes) noexcept nogil:
    """How many dwords an access to `bytes` bytes touches wherever it starts.

    More must not be read, as the next page may not be mapped; a buffer has bounds, beyond which reads return zero.
    """
    return ((start.minimum if start.address else start.maximum) + bytes + 3) // 4


cdef int last_dword(Isel *c, const Access *a, const DwordStart *start, uint32_t bytes, Access *last) except -1 nogil:
    """The access to the dword that holds the last of `bytes` bytes, for a start that is only known when the program runs."""
    last[0] = a[0]
    last.resource = _dword_aligned(c, _add_64(c, start.address, 0, bytes - 1))
    last.align_offset = 0
    last.align_mul = 4
    return 0


# -------------------------------------------------------------------------------------------------------------- operands
cdef enum:
    global_word3 = 0x27000            # of a descriptor on GFX6: elements of one float


cdef bint is_buffer(Isel *c, const Access *a) noexcept nogil:
    """Whether buffer instructions reach it, with a descriptor."""
    return a.access_kind == by_buffer or (a.access_kind == by_scratch and c.gfx < gfx9) or (a.access_kind == by_global and c.gfx < gfx7)


cdef int32_t _offset_limit(Isel *c, uint8_t access_kind) noexcept nogil:
    """Largest immediate offset."""
    if access_kind == by_buffer:
        return 0x7fffff if c.gfx >= gfx12 else 4095
    if access_kind == by_shared:
        return 0xffff
    if c.gfx >= gfx12:
        return 0x7fffff
    return 2047 if gfx10 <= c.gfx < gfx11 else 4095


cdef int legalize_address(Isel *c, Access *a, uint32_t bytes) except -1 nogil:
    """Bring the access into a form that its instructions can address, for all of its `bytes` bytes."""
    cdef uint32_t limit = _offset_limit(c, a.access_kind)
    cdef uint32_t excess = 0
    if a.access_kind == by_buffer or a.access_kind == by_scalar_buffer:
        if is_vgpr(c, a.resource):
            a.resource = as_uniform(c, 0, a.resource)
    if a.access_kind == by_scalar or a.access_kind == by_scalar_buffer:
        return 0
    if <uint64_t>a.constant + bytes > limit:         # constants are modulo 2**32: -4 is far beyond the limit
        # Keep what the immediate of the last piece can hold.
        excess = a.constant & ~(limit >> 1) if a.constant < 0x80000000U else a.constant
        a.constant -= excess
    if a.access_kind == by_global and c.gfx < gfx7:
        return _global_buffer(c, a, excess)
    if a.access_kind == by_global and c.gfx < gfx9:
        # FLAT has an address and nothing else; what the pieces add is added to it.
        a.resource = as_vgpr(c, _add_64(c, a.resource, a.offset, 0))
        a.offset = 0
        a.constant += excess
        return 0
    if a.access_kind == by_global:
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
    if a.access_kind == by_shared:
        a.offset = as_vgpr(c, a.offset) if a.offset else copy(c, 0, class_v1, K(0))
    elif a.access_kind == by_buffer and (c.gfx < gfx8 or a.structured) and a.offset:
        a.offset = as_vgpr(c, a.offset)              # what an SGPR adds is in no range check, nor swizzled
    elif a.access_kind == by_scratch and c.gfx < gfx9:
        a.resource = c.scratch
        if a.offset:
            a.offset = as_vgpr(c, a.offset)          # an SGPR would count bytes of memory, not of the lane
    elif a.access_kind == by_scratch and a.offset == 0 and c.gfx < gfx10_3:
        a.offset = copy(c, 0, class_s1, K(0))
    if a.index and a.offset:
        a.index = pair(c, 0, class_v2, T(c, a.index), T(c, a.offset))
    return 0


cdef int _global_buffer(Isel *c, Access *a, uint32_t excess) except -1 nogil:
    """GFX6: memory at an address is a buffer without bounds; the offset has 64 bits (ADDR64), the base that of an address in SGPRs."""
    cdef TempId base = a.resource
    cdef Operand[4] o
    if excess:
        base = _add_64(c, base, 0, excess)
    o[0] = o[1] = K(0)
    if is_vgpr(c, base):
        a.offset = _add_64(c, base, a.offset, 0)
    else:
        o[0] = T(c, part(c, base, 0, 4))
        # The base has 48 bits, and above them are fields of the descriptor.
        o[1] = T(c, emit2(c, op_s_and_b32, 0, T(c, part(c, base, 1, 4)), K(0xffff)))
        a.offset = pair(c, 0, class_v2, T(c, as_vgpr(c, a.offset)), T(c, copy(c, 0, class_v1, K(0)))) if a.offset else 0
    o[2] = K(0xffffffffU)
    o[3] = K(global_word3)
    a.resource = create_vector(c, 0, class_s4, o, 4)
    return 0


cdef uint32_t _vector_operands(Isel *c, Access *a, Operand *o) except 0 nogil:
    """The address operands; returns how many."""
    cdef TempId resource = a.resource
    if is_buffer(c, a):
        o[0] = T(c, a.resource)
        o[1] = operand_undefined(class_v1)
        o[2] = operand_register(register_null, class_s1) if c.gfx >= gfx12 else K(0)
        if a.offset:
            if is_vgpr(c, a.offset):
                o[1] = T(c, a.offset)
            else:
                o[2] = T(c, a.offset)
        if a.index:
            o[1] = T(c, a.index)
        if a.scalar_offset:
            o[2] = T(c, a.scalar_offset)
        return 3
    if a.access_kind == by_global:
        if is_vgpr(c, resource):
            o[0] = T(c, resource)
            o[1] = operand_undefined(class_s1)
        else:
            o[0] = T(c, a.offset)
            o[1] = T(c, resource)
        return 2
    if a.access_kind == by_scratch:
        o[0] = operand_undefined(class_v1)
        o[1] = operand_undefined(class_s1)
        if a.offset and is_vgpr(c, a.offset):
            o[0] = T(c, a.offset)
        elif a.offset:
            o[1] = T(c, a.offset)
        return 2
    o[0] = T(c, a.offset)
    return 1


cdef int memory_instruction(Isel *c, Access *a, uint32_t opcode, TempId dst, const Operand *data, uint32_t data_count,
                            uint32_t immediate) except -1 nogil:
    cdef Operand[6] o
    cdef uint32_t count
    cdef uint32_t i
    cdef TempId address = a.resource
    if a.access_kind == by_global and c.gfx < gfx9 and c.gfx >= gfx7:
        a.resource = _add_64(c, address, 0, immediate)
        immediate = 0
    count = _vector_operands(c, a, o)
    a.resource = address
    opcode = older_form(c.gfx, opcode)
    cdef uint64_t word = a.modifiers
    for i in range(data_count):
        o[count + i] = data[i]
    emit_raw(c, opcode, dst, o, count + data_count)
    if is_buffer(c, a) and a.offset and is_vgpr(c, a.offset):
        word = modifier_set_addr64(word, 1) if a.access_kind == by_global else modifier_set_offen(word, 1)
    if a.index:
        word = modifier_set_idxen(word, 1)
    modifiers_of_last(c)[0] = word
    c.p.instructions.immediate[c.last] = immediate
    return 0
