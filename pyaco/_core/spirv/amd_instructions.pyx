"""Extended instruction sets of AMD: SPV_AMD_shader_trinary_minmax, SPV_AMD_gcn_shader and SPV_AMD_shader_ballot.

Sources: the extensions' specifications of the Khronos registry, which number the instructions, and GL_AMD_gcn_shader: the coordinates on a
cube's face lie between zero and one, and the time is that of the shader's clock. GL_AMD_shader_ballot: an invocation that is not active gives zero.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_bcsel, alu_cube_amd, alu_fabs, alu_fadd, alu_fmax, alu_fmin, alu_fmul, alu_frcp, alu_iand, alu_ieq, alu_imax, alu_imin, alu_ior,
    alu_ishl, alu_ixor, alu_umax, alu_umin, alu_ushr, index_memory_scope, intrinsic_ballot, intrinsic_ballot_bit_count_exclusive,
    intrinsic_ballot_bitfield_extract, intrinsic_load_subgroup_invocation, intrinsic_shader_clock, intrinsic_shuffle,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu3, component, constant, intrinsic0, intrinsic_n, vector_of
from pyaco._core.ir.shader cimport ValueId, constant_bits, intrinsic_set_index, nir_scope_subgroup, type_float, value_is_constant
from pyaco._core.nir.lowering cimport constant_float
from pyaco._core.spirv.alu cimport bitcast, checked_alu, replicate, require_vector_type, set_checked
from pyaco._core.spirv.emission cimport bits_of, components_of, integer
from pyaco._core.spirv.module cimport Reader, SpirvId, fail
from pyaco._core.spirv.subgroups cimport each_component, number_operand
from pyaco._core.spirv.values cimport ssa

cdef enum:                        # of SPV_AMD_shader_trinary_minmax, less one: three of each, of floats, unsigned and signed integers
    least_of_three
    greatest_of_three
    middle_of_three

cdef enum:                        # of SPV_AMD_gcn_shader
    cube_face_index = 1
    cube_face_coordinate = 2
    time = 3

cdef enum:                        # of SPV_AMD_shader_ballot
    swizzle_invocations = 1
    swizzle_invocations_masked = 2
    write_invocation = 3
    mbcnt = 4

cdef enum:                        # components of cube_amd
    tc, sc, ma, face

cdef int[3] least
cdef int[3] greatest
least[:] = [alu_fmin, alu_umin, alu_imin]
greatest[:] = [alu_fmax, alu_umax, alu_imax]


cdef ValueId _two(Reader r, int opcode, ValueId a, ValueId b) except 0 nogil:
    cdef ValueId[2] values
    values[0], values[1] = a, b
    return checked_alu(r, opcode, values, 2)


cdef int trinary_instruction(Reader r, uint32_t word, uint32_t end, uint32_t number) except -1 nogil:
    cdef uint32_t kind = (number - 1) % 3
    cdef uint32_t which = (number - 1) // 3
    cdef ValueId a, b, c, result
    if not 1 <= number <= 9 or end - word != 8:
        fail(r, word, "SPV_AMD_shader_trinary_minmax has no instruction %u with so many operands", number)
    if (r.s.types.base[require_vector_type(r, r.words[word + 1])] == type_float) != (kind == 0):
        fail(r, word, "a floating-point operation on integers, or an integer operation on floats")
    a, b, c = ssa(r, r.words[word + 5]), ssa(r, r.words[word + 6]), ssa(r, r.words[word + 7])
    if components_of(r, a) != components_of(r, b) or components_of(r, a) != components_of(r, c):
        fail(r, word, "operands with different numbers of components")
    if which == least_of_three:
        result = _two(r, least[kind], _two(r, least[kind], a, b), c)
    elif which == greatest_of_three:
        result = _two(r, greatest[kind], _two(r, greatest[kind], a, b), c)
    else:
        result = _two(r, greatest[kind], _two(r, least[kind], a, b), _two(r, least[kind], _two(r, greatest[kind], a, b), c))
    return set_checked(r, word, result)


cdef int gcn_instruction(Reader r, uint32_t word, uint32_t end, uint32_t number) except -1 nogil:
    cdef ValueId value, cube, inverse
    cdef ValueId[2] parts
    if not 1 <= number <= 3 or end - word != (5 if number == <uint32_t>time else 6):
        fail(r, word, "SPV_AMD_gcn_shader has no instruction %u with so many operands", number)
    if number == <uint32_t>time:
        value = intrinsic0(&r.nir, intrinsic_shader_clock, 2, 32)
        intrinsic_set_index(r.s, value, index_memory_scope, nir_scope_subgroup)
        return set_checked(r, word, bitcast(r, value, 1, 64))
    value = ssa(r, r.words[word + 5])
    if components_of(r, value) != 3 or bits_of(r, value) != 32:
        fail(r, word, "a direction that is not three 32-bit floats")
    cube = alu1(&r.nir, alu_cube_amd, value)
    if number == <uint32_t>cube_face_index:
        return set_checked(r, word, component(&r.nir, cube, face))
    inverse = alu1(&r.nir, alu_frcp, alu1(&r.nir, alu_fabs, component(&r.nir, cube, ma)))
    parts[0] = alu2(&r.nir, alu_fmul, component(&r.nir, cube, sc), inverse)
    parts[1] = alu2(&r.nir, alu_fmul, component(&r.nir, cube, tc), inverse)
    parts[0] = alu2(&r.nir, alu_fadd, parts[0], constant_float(&r.nir, 0.5, 32))
    parts[1] = alu2(&r.nir, alu_fadd, parts[1], constant_float(&r.nir, 0.5, 32))
    return set_checked(r, word, vector_of(&r.nir, parts, 2))


# ------------------------------------------------------------------------------------------------------ SPV_AMD_shader_ballot
cdef ValueId _lane(Reader r) except 0 nogil:
    return intrinsic0(&r.nir, intrinsic_load_subgroup_invocation, 1, 32)


cdef ValueId _constants(Reader r, SpirvId id, uint32_t count, uint32_t limit) except 0 nogil:
    """A constant vector of numbers below `limit`."""
    cdef ValueId value = number_operand(r, id)
    cdef uint32_t i
    if not value_is_constant(r.s, value) or components_of(r, value) != count or bits_of(r, value) != 32:
        fail(r, r.word, "a pattern that is not a constant vector of %u 32-bit integers", count)
    for i in range(count):
        if constant_bits(r.s, value, i) >= limit:
            fail(r, r.word, "a pattern with a number that is not below %u", limit)
    return value


cdef ValueId _lane_within_quad(Reader r, SpirvId pattern) except 0 nogil:
    """The lane that a pattern of four names, one for each lane of a quad."""
    cdef ValueId offsets = _constants(r, pattern, 4, 4)
    cdef ValueId lane = _lane(r)
    cdef ValueId place
    cdef uint64_t packed = 0
    cdef uint32_t i
    for i in range(4):
        packed |= constant_bits(r.s, offsets, i) << 2 * i
    place = alu2(&r.nir, alu_ishl, alu2(&r.nir, alu_iand, lane, integer(r, 3, 32)), integer(r, 1, 32))
    place = alu2(&r.nir, alu_iand, alu2(&r.nir, alu_ushr, integer(r, packed, 32), place), integer(r, 3, 32))
    return alu2(&r.nir, alu_ior, alu2(&r.nir, alu_iand, lane, integer(r, 0xfffffffc, 32)), place)


cdef ValueId _lane_by_masks(Reader r, SpirvId pattern) except 0 nogil:
    """The lane whose five low bits are the own lane's, and, or and xor a mask each."""
    cdef ValueId masks = _constants(r, pattern, 3, 32)
    cdef ValueId lane = alu2(&r.nir, alu_iand, _lane(r), integer(r, 0xffffffe0U | constant_bits(r.s, masks, 0), 32))
    lane = alu2(&r.nir, alu_ior, lane, integer(r, constant_bits(r.s, masks, 1), 32))
    return alu2(&r.nir, alu_ixor, lane, integer(r, constant_bits(r.s, masks, 2), 32))


cdef ValueId _from_active_lane(Reader r, ValueId value, ValueId lane) except 0 nogil:
    """A value from another lane, zero where that is not active."""
    cdef ValueId is_active = constant(&r.nir, 1, 1)
    cdef ValueId[2] sources
    cdef ValueId zero = replicate(r, constant(&r.nir, 0, bits_of(r, value)), components_of(r, value))
    sources[0] = intrinsic_n(&r.nir, intrinsic_ballot, 4, 32, &is_active)
    sources[1] = lane
    is_active = intrinsic_n(&r.nir, intrinsic_ballot_bitfield_extract, 1, 1, sources)
    return alu3(&r.nir, alu_bcsel, replicate(r, is_active, components_of(r, value)), each_component(r, intrinsic_shuffle, value, lane), zero)


cdef int ballot_instruction(Reader r, uint32_t word, uint32_t end, uint32_t number) except -1 nogil:
    cdef ValueId value, other, index
    cdef ValueId[4] words
    if not 1 <= number <= 4 or end - word != (8 if number == <uint32_t>write_invocation else 6 if number == <uint32_t>mbcnt else 7):
        fail(r, word, "SPV_AMD_shader_ballot has no instruction %u with so many operands", number)
    value = number_operand(r, r.words[word + 5])
    if number == <uint32_t>swizzle_invocations:
        return set_checked(r, word, _from_active_lane(r, value, _lane_within_quad(r, r.words[word + 6])))
    if number == <uint32_t>swizzle_invocations_masked:
        return set_checked(r, word, _from_active_lane(r, value, _lane_by_masks(r, r.words[word + 6])))
    if number == <uint32_t>mbcnt:
        if components_of(r, value) != 1 or bits_of(r, value) != 64:
            fail(r, word, "a mask of lanes that is not a 64-bit integer")
        value = bitcast(r, value, 2, 32)
        words[:] = [component(&r.nir, value, 0), component(&r.nir, value, 1), integer(r, 0, 32), integer(r, 0, 32)]
        value = vector_of(&r.nir, words, 4)
        return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_ballot_bit_count_exclusive, 1, 32, &value))
    other = number_operand(r, r.words[word + 6])
    index = number_operand(r, r.words[word + 7])
    if components_of(r, other) != components_of(r, value) or bits_of(r, other) != bits_of(r, value):
        fail(r, word, "two values of different types")
    if components_of(r, index) != 1 or bits_of(r, index) != 32:
        fail(r, word, "an invocation that is not a 32-bit integer")
    index = replicate(r, alu2(&r.nir, alu_ieq, _lane(r), index), components_of(r, value))
    return set_checked(r, word, alu3(&r.nir, alu_bcsel, index, other, value))
