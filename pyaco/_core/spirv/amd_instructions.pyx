"""Extended instruction sets of AMD: SPV_AMD_shader_trinary_minmax and SPV_AMD_gcn_shader.

Sources: the extensions' specifications of the Khronos registry, which number the instructions, and GL_AMD_gcn_shader: the coordinates on a
cube's face lie between zero and one, and the time is that of the shader's clock.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport (
    alu_cube_amd, alu_fabs, alu_fadd, alu_fmax, alu_fmin, alu_fmul, alu_frcp, alu_imax, alu_imin, alu_umax, alu_umin, index_memory_scope,
    intrinsic_shader_clock,
)
from pyaco._core.ir.emitter cimport alu1, alu2, component, intrinsic0, vector_of
from pyaco._core.ir.shader cimport ValueId, intrinsic_set_index, nir_scope_subgroup, type_float
from pyaco._core.nir.lowering cimport constant_float
from pyaco._core.spirv.alu cimport bitcast, checked_alu, require_vector_type, set_checked
from pyaco._core.spirv.module cimport Reader, fail
from pyaco._core.spirv.emission cimport bits_of, components_of
from pyaco._core.spirv.values cimport ssa

cdef enum:                        # of SPV_AMD_shader_trinary_minmax, less one: three of each, of floats, unsigned and signed integers
    least_of_three
    greatest_of_three
    middle_of_three

cdef enum:                        # of SPV_AMD_gcn_shader
    cube_face_index = 1
    cube_face_coordinate = 2
    time = 3

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
