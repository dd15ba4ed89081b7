"""The extended instruction set GLSL.std.450 (SPIR-V Extended Instructions for GLSL).

Functions that are one NIR instruction come from the table ``pyaco/spirv/data/glsl450.txt``. Inverse trigonometric functions are the
single-precision minimax polynomials of the Cephes library (S. Moshier, asinf.c and atanf.c) after branch-free range reductions; their error
is far below the 4096 ULP that Vulkan allows (Vulkan specification, "Precision and operation of SPIR-V instructions"). For 16-bit operands
they are computed in 32 bits.
"""
from libc.stdint cimport int16_t, uint32_t, uint64_t
from libc.math cimport M_LN2, M_LOG2E, M_PI, M_PI_2, M_PI_4

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.nir.lowering cimport constant_float
from pyaco._core.spirv.alu cimport checked_alu, dot, has_shape, replicate, set_checked, set_pair
from pyaco._core.spirv.amd_instructions cimport ballot_instruction, gcn_instruction, trinary_instruction
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.lines cimport debug_line
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *


cdef ValueId _add(Reader r, ValueId a, ValueId b) except 0 nogil:
    return alu2(&r.nir, alu_fadd, a, b)


cdef ValueId _sub(Reader r, ValueId a, ValueId b) except 0 nogil:
    return alu2(&r.nir, alu_fsub, a, b)


cdef ValueId _mul(Reader r, ValueId a, ValueId b) except 0 nogil:
    return alu2(&r.nir, alu_fmul, a, b)


cdef ValueId _div(Reader r, ValueId a, ValueId b) except 0 nogil:
    return alu2(&r.nir, alu_fdiv, a, b)


cdef ValueId _scale(Reader r, ValueId a, double factor) except 0 nogil:
    return alu2(&r.nir, alu_fmul, a, constant_float(&r.nir, factor, bits_of(r, a)))


cdef ValueId _add_constant(Reader r, ValueId a, double term) except 0 nogil:
    return alu2(&r.nir, alu_fadd, a, constant_float(&r.nir, term, bits_of(r, a)))


cdef ValueId _choose(Reader r, ValueId condition, ValueId a, ValueId b) except 0 nogil:
    return alu3(&r.nir, alu_bcsel, condition, a, b)


cdef ValueId _constant_like(Reader r, ValueId like, double value) except 0 nogil:
    """A constant of the shape of `like`."""
    return replicate(r, constant_float(&r.nir, value, bits_of(r, like)), components_of(r, like))


cdef ValueId _integer_like(Reader r, ValueId like, uint64_t value) except 0 nogil:
    return replicate(r, integer(r, value, bits_of(r, like)), components_of(r, like))


cdef ValueId _exp(Reader r, ValueId x) except 0 nogil:
    return alu1(&r.nir, alu_fexp2, _scale(r, x, M_LOG2E))


cdef ValueId _log(Reader r, ValueId x) except 0 nogil:
    return _scale(r, alu1(&r.nir, alu_flog2, x), M_LN2)


cdef ValueId _sign_bit(Reader r, ValueId x) except 0 nogil:
    cdef uint32_t bits = bits_of(r, x)
    return alu2(&r.nir, alu_iand, x, integer(r, <uint64_t>1 << (bits - 1), bits))


cdef ValueId _with_sign(Reader r, ValueId magnitude, ValueId x) except 0 nogil:
    """`magnitude`, which is not negative, with the sign of `x`."""
    return alu2(&r.nir, alu_ior, magnitude, _sign_bit(r, x))


cdef ValueId _polynomial(Reader r, ValueId x, const double *coefficients, int count) except 0 nogil:
    """Horner's scheme, highest coefficient first."""
    cdef ValueId value = _add_constant(r, _scale(r, x, coefficients[0]), coefficients[1])
    cdef int i
    for i in range(2, count):
        value = _add_constant(r, _mul(r, value, x), coefficients[i])
    return value


# -------------------------------------------------------------------------------------------------- inverse trigonometry
cdef ValueId _arcsine_core(Reader r, ValueId x, ValueId *small) except 0 nogil:
    """arcsin(|x|) for |x| <= 1/2; above, arcsin(sqrt((1 - |x|) / 2))."""
    cdef double[5] c
    cdef ValueId a = alu1(&r.nir, alu_fabs, x)
    cdef ValueId square
    cdef ValueId t
    c[0] = 4.2163199048e-2
    c[1] = 2.4181311049e-2
    c[2] = 4.5470025998e-2
    c[3] = 7.4953002686e-2
    c[4] = 1.6666752422e-1
    small[0] = alu2(&r.nir, alu_fge, constant_float(&r.nir, 0.5, 32), a)
    square = _choose(r, small[0], _mul(r, a, a), _add_constant(r, _scale(r, a, -0.5), 0.5))
    t = _choose(r, small[0], a, alu1(&r.nir, alu_fsqrt, square))
    return _add(r, _mul(r, _mul(r, _polynomial(r, square, c, 5), square), t), t)


cdef ValueId _asin(Reader r, ValueId x) except 0 nogil:
    cdef ValueId small
    cdef ValueId core = _arcsine_core(r, x, &small)
    return _with_sign(r, _choose(r, small, core, _add_constant(r, _scale(r, core, -2.0), M_PI_2)), x)


cdef ValueId _acos(Reader r, ValueId x) except 0 nogil:
    cdef ValueId small
    cdef ValueId core = _arcsine_core(r, x, &small)
    cdef ValueId twice = _scale(r, core, 2.0)
    cdef ValueId negative = alu2(&r.nir, alu_flt, x, constant_float(&r.nir, 0.0, 32))
    cdef ValueId large = _choose(r, negative, _add_constant(r, alu1(&r.nir, alu_fneg, twice), M_PI), twice)
    return _choose(r, small, _add_constant(r, alu1(&r.nir, alu_fneg, _with_sign(r, core, x)), M_PI_2), large)


cdef ValueId _arctangent_core(Reader r, ValueId t) except 0 nogil:
    """arctan(t) for |t| <= tan(pi / 8)."""
    cdef double[4] c
    cdef ValueId square = _mul(r, t, t)
    c[0] = 8.05374449538e-2
    c[1] = -1.38776856032e-1
    c[2] = 1.99777106478e-1
    c[3] = -3.33329491539e-1
    return _add(r, _mul(r, _mul(r, _polynomial(r, square, c, 4), square), t), t)


cdef ValueId _atan(Reader r, ValueId x) except 0 nogil:
    cdef ValueId a = alu1(&r.nir, alu_fabs, x)
    cdef ValueId large = alu2(&r.nir, alu_flt, constant_float(&r.nir, 2.414213562373095, 32), a)
    cdef ValueId middle = alu2(&r.nir, alu_flt, constant_float(&r.nir, 0.414213562373095, 32), a)
    cdef ValueId one = _constant_like(r, x, 1.0)
    cdef ValueId top = _choose(r, large, _constant_like(r, x, -1.0), _choose(r, middle, _add_constant(r, a, -1.0), a))
    cdef ValueId bottom = _choose(r, large, a, _choose(r, middle, _add_constant(r, a, 1.0), one))
    cdef ValueId base = _choose(r, large, _constant_like(r, x, M_PI_2),
                                _choose(r, middle, _constant_like(r, x, M_PI_4), _constant_like(r, x, 0.0)))
    return _with_sign(r, _add(r, base, _arctangent_core(r, _div(r, top, bottom))), x)


cdef ValueId _atan2(Reader r, ValueId y, ValueId x) except 0 nogil:
    cdef ValueId ax = alu1(&r.nir, alu_fabs, x)
    cdef ValueId ay = alu1(&r.nir, alu_fabs, y)
    cdef ValueId low = alu2(&r.nir, alu_fmin, ax, ay)
    cdef ValueId high = alu2(&r.nir, alu_fmax, ax, ay)
    cdef ValueId one = _constant_like(r, x, 1.0)
    cdef ValueId zero = _constant_like(r, x, 0.0)
    # The reciprocal of a huge divisor would be subnormal and might be flushed: scale both.
    cdef ValueId factor = _choose(r, alu2(&r.nir, alu_fge, high, constant_float(&r.nir, 1.8446744073709552e19, 32)),
                                  _constant_like(r, x, 2.3283064365386963e-10), one)
    cdef ValueId equal = alu2(&r.nir, alu_feq, ax, ay)
    cdef ValueId middle
    cdef ValueId top
    cdef ValueId bottom
    cdef ValueId quotient
    cdef ValueId angle
    low = _mul(r, low, factor)
    high = _mul(r, high, factor)
    middle = alu2(&r.nir, alu_flt, _scale(r, high, 0.414213562373095), low)
    top = _choose(r, middle, _sub(r, low, high), low)
    bottom = _choose(r, middle, _add(r, low, high), high)
    quotient = _div(r, top, bottom)
    # Equal magnitudes are the diagonal, infinities included; at the origin any angle is right.
    quotient = _choose(r, equal, zero, quotient)
    middle = alu2(&r.nir, alu_ior, middle, equal)
    angle = _add(r, _choose(r, middle, _constant_like(r, x, M_PI_4), zero), _arctangent_core(r, quotient))
    angle = _choose(r, alu2(&r.nir, alu_flt, ax, ay), _add_constant(r, alu1(&r.nir, alu_fneg, angle), M_PI_2), angle)
    angle = _choose(r, alu2(&r.nir, alu_flt, x, constant_float(&r.nir, 0.0, 32)), _add_constant(r, alu1(&r.nir, alu_fneg, angle), M_PI), angle)
    return _with_sign(r, angle, y)


# ------------------------------------------------------------------------------------------------ exponential, hyperbolic
cdef ValueId _tanh(Reader r, ValueId x) except 0 nogil:
    """(1 - t) / (1 + t) with t = exp(-2 |x|), which cannot overflow."""
    cdef ValueId t = alu1(&r.nir, alu_fexp2, _scale(r, alu1(&r.nir, alu_fabs, x), -2.0 * M_LOG2E))
    return _with_sign(r, _div(r, _sub(r, _constant_like(r, x, 1.0), t), _add_constant(r, t, 1.0)), x)


cdef ValueId _unary_in_32_bits(Reader r, uint32_t opcode, ValueId x) except 0 nogil:
    """Functions of one operand that are computed in 32 bits."""
    cdef ValueId t
    if opcode == Glsl_Tan:
        return _div(r, alu1(&r.nir, alu_fsin, x), alu1(&r.nir, alu_fcos, x))
    if opcode == Glsl_Asin:
        return _asin(r, x)
    if opcode == Glsl_Acos:
        return _acos(r, x)
    if opcode == Glsl_Atan:
        return _atan(r, x)
    if opcode == Glsl_Sinh:
        return _scale(r, _sub(r, _exp(r, x), _exp(r, alu1(&r.nir, alu_fneg, x))), 0.5)
    if opcode == Glsl_Cosh:
        return _scale(r, _add(r, _exp(r, x), _exp(r, alu1(&r.nir, alu_fneg, x))), 0.5)
    if opcode == Glsl_Tanh:
        return _tanh(r, x)
    if opcode == Glsl_Asinh:
        t = alu1(&r.nir, alu_fabs, x)
        t = _add(r, t, alu1(&r.nir, alu_fsqrt, _add_constant(r, _mul(r, t, t), 1.0)))
        return _with_sign(r, alu1(&r.nir, alu_fabs, _log(r, t)), x)
    if opcode == Glsl_Acosh:
        return _log(r, _add(r, x, alu1(&r.nir, alu_fsqrt, _add_constant(r, _mul(r, x, x), -1.0))))
    if opcode == Glsl_Atanh:
        t = _div(r, _add_constant(r, x, 1.0), _add_constant(r, alu1(&r.nir, alu_fneg, x), 1.0))
        return _scale(r, _log(r, t), 0.5)
    if opcode == Glsl_Exp:
        return _exp(r, x)
    return _log(r, x)


cdef ValueId _to_32_bits(Reader r, ValueId value) except 0 nogil:
    if bits_of(r, value) == 64 or bits_of(r, value) < 16:
        unsupported(r, r.word, "this GLSL.std.450 function of 64-bit floats")
    return alu1(&r.nir, alu_f2f32, value) if bits_of(r, value) == 16 else value


# ---------------------------------------------------------------------------------------------------------- geometry
cdef ValueId _length(Reader r, ValueId x) except 0 nogil:
    if components_of(r, x) == 1:
        return alu1(&r.nir, alu_fabs, x)
    return alu1(&r.nir, alu_fsqrt, dot(r, x, x))


cdef ValueId _normalize(Reader r, ValueId x) except 0 nogil:
    if components_of(r, x) == 1:
        return alu1(&r.nir, alu_fsign, x)
    return _mul(r, x, alu1(&r.nir, alu_frsq, dot(r, x, x)))


cdef ValueId _rotated(Reader r, ValueId x, uint64_t swizzle) except 0 nogil:
    return swizzled(&r.nir, x, swizzle, 3)


cdef ValueId _cross(Reader r, ValueId a, ValueId b) except 0 nogil:
    if components_of(r, a) != 3 or components_of(r, b) != 3:
        fail(r, r.word, "a cross product of vectors that do not have three components")
    return _sub(r, _mul(r, _rotated(r, a, 0x021), _rotated(r, b, 0x102)),
                _mul(r, _rotated(r, a, 0x102), _rotated(r, b, 0x021)))


cdef ValueId _refract(Reader r, ValueId incident, ValueId normal, ValueId eta) except 0 nogil:
    cdef uint32_t bits = bits_of(r, incident)
    cdef ValueId cosine = dot(r, normal, incident)
    cdef ValueId k
    cdef ValueId result
    if components_of(r, eta) != 1 or bits_of(r, eta) < 16:
        fail(r, r.word, "an index of refraction that is not a scalar float")
    if bits_of(r, eta) != bits:
        eta = alu1(&r.nir, alu_f2f64 if bits == 64 else (alu_f2f32 if bits == 32 else alu_f2f16), eta)
    k = _add_constant(r, alu1(&r.nir, alu_fneg, _mul(r, cosine, cosine)), 1.0)
    k = _add_constant(r, alu1(&r.nir, alu_fneg, _mul(r, _mul(r, eta, eta), k)), 1.0)
    result = _add(r, _mul(r, eta, cosine), alu1(&r.nir, alu_fsqrt, k))
    result = _sub(r, _mul(r, eta, incident), _mul(r, result, normal))
    return _choose(r, alu2(&r.nir, alu_flt, k, constant_float(&r.nir, 0.0, bits)), _constant_like(r, incident, 0.0), result)


cdef ValueId _smooth_step(Reader r, ValueId low, ValueId high, ValueId x) except 0 nogil:
    cdef ValueId t = alu1(&r.nir, alu_fsat, _div(r, _sub(r, x, low), _sub(r, high, low)))
    return _mul(r, _mul(r, t, t), _add_constant(r, _scale(r, t, -2.0), 3.0))


cdef int _require_same_floats(Reader r, const ValueId *values, uint32_t count) except -1 nogil:
    cdef uint32_t i
    for i in range(count):
        if components_of(r, values[i]) != components_of(r, values[0]) or bits_of(r, values[i]) != bits_of(r, values[0]) \
                or bits_of(r, values[i]) < 16:
            fail(r, r.word, "operands that are not floats of one shape")
    return 0


cdef ValueId _exponent_in_32_bits(Reader r, ValueId value) except 0 nogil:
    """An exponent as a 32-bit integer, which is enough for every float."""
    if bits_of(r, value) == 64:
        value = alu2(&r.nir, alu_imax, value, _integer_like(r, value, <uint64_t>-0x10000))
        value = alu2(&r.nir, alu_imin, value, _integer_like(r, value, 0x10000))
    return resize_integer(r, value, 32, True)


# -------------------------------------------------------------------------------------------------------------- matrices
cdef ValueId _element(Reader r, TreeId tree, uint32_t row, uint32_t column) except 0 nogil:
    return component(&r.nir, r.trees[tree + column], row)


cdef ValueId _minor(Reader r, TreeId tree, uint32_t rows, uint32_t columns) except 0 nogil:
    """Determinant of the submatrix of the rows and columns whose bits are set (the same number of each).

    It is expanded along its first column, and the terms are added in pairs, first - second + (third - fourth): the order of Mesa's
    ``vtn_glsl450.c``, on which the error of 16-bit results depends.
    """
    cdef uint32_t column = 0
    cdef uint32_t count = 0
    cdef uint32_t row
    cdef ValueId[4] terms
    while not columns >> column & 1:
        column += 1
    columns &= ~(<uint32_t>1 << column)
    for row in range(4):
        if not rows >> row & 1:
            continue
        terms[count] = _element(r, tree, row, column)
        if columns:
            terms[count] = _mul(r, terms[count], _minor(r, tree, rows & ~(<uint32_t>1 << row), columns))
        count += 1
    if count == 1:
        return terms[0]
    terms[0] = _sub(r, terms[0], terms[1])
    if count == 2:
        return terms[0]
    return _add(r, terms[0], terms[2] if count == 3 else _sub(r, terms[2], terms[3]))


cdef int _matrix_function(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef SpirvId id = r.words[word + 5]
    cdef TypeId type = value_type(r, id)
    cdef uint32_t size = r.s.types.length[type]
    cdef uint32_t full = (<uint32_t>1 << size) - 1 if size < 5 else 0
    cdef TreeId tree
    cdef TreeId result
    cdef ValueId inverse
    cdef ValueId[4] values
    cdef ValueId product
    cdef uint32_t i
    cdef uint32_t j
    if r.s.types.base[type] != type_matrix or r.s.types.components[r.s.types.element[type]] != size:
        fail(r, word, "an operand that is not a square matrix")
    tree = value_of(r, id)
    if opcode == Glsl_Determinant:
        return set_checked(r, word, _minor(r, tree, full, full))
    if not same_shape(r, type, type_of_id(r, r.words[word + 1])):
        fail(r, word, "the result has a different type from the operand")
    inverse = alu1(&r.nir, alu_frcp, _minor(r, tree, full, full))
    result = tree_new(r, size)
    for j in range(size):                      # column j, row i: the cofactor of element (j, i)
        for i in range(size):
            values[i] = _minor(r, tree, full & ~(<uint32_t>1 << j), full & ~(<uint32_t>1 << i))
            if (i + j) & 1:
                values[i] = alu1(&r.nir, alu_fneg, values[i])
        product = _mul(r, vector_of(&r.nir, values, size), inverse)
        r.trees[result + j] = product
    return set_value(r, r.words[word + 2], type, result)


# --------------------------------------------------------------------------------------------- functions of two results
cdef int _two_results(Reader r, uint32_t word, uint32_t opcode, ValueId x) except -1 nogil:
    """Modf and Frexp, through a pointer or as a struct."""
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef bint is_struct = opcode == Glsl_ModfStruct or opcode == Glsl_FrexpStruct
    cdef bint is_modf = opcode == Glsl_Modf or opcode == Glsl_ModfStruct
    cdef TypeId second_type
    cdef ValueId first
    cdef ValueId second
    if bits_of(r, x) < 16:
        fail(r, word, "an operand that is not a float")
    if is_struct:
        if r.s.types.base[type] != type_struct or r.s.types.member_count[type] != 2:
            fail(r, word, "the result is not a struct of two members")
        second_type = element_type(r, type, 1)
    else:
        second_type = pointee_type(r, r.words[word + 6])
    if is_modf:
        second = alu1(&r.nir, alu_ftrunc, x)
        first = _choose(r, alu2(&r.nir, alu_feq, x, second), _constant_like(r, x, 0.0), _sub(r, x, second))
        first = _with_sign(r, first, x)
    else:
        first = alu1(&r.nir, alu_frexp_sig, x)
        second = alu1(&r.nir, alu_frexp_exp, x)
        if r.s.types.base[second_type] == type_int or r.s.types.base[second_type] == type_uint:
            second = resize_integer(r, second, r.s.types.bit_size[second_type], True)
    if is_struct:
        return set_pair(r, word, first, second)
    if not has_shape(r, second, second_type):
        fail(r, word, "the type of the second result is wrong")
    store_value(r, pointer_of(r, r.words[word + 6]), second_type, second, 0)
    return set_checked(r, word, first)


# --------------------------------------------------------------------------------------------------------------- dispatch
cdef uint32_t _operand_count(uint32_t opcode) noexcept nogil:
    if opcode == Glsl_Atan2 or opcode == Glsl_Step or opcode == Glsl_Distance or opcode == Glsl_Cross or \
            opcode == Glsl_Reflect:
        return 2
    if (Glsl_FClamp <= opcode <= Glsl_SClamp or opcode == Glsl_SmoothStep or opcode == Glsl_NClamp
            or opcode == Glsl_FaceForward or opcode == Glsl_Refract):
        return 3
    return 1


cdef ValueId _multi_instruction_function(Reader r, uint32_t opcode, const ValueId *v) except 0 nogil:
    """Functions that take several instructions; the operands `v` are floats of the same shape, except Refract's last."""
    cdef ValueId t
    if opcode == Glsl_Radians:
        return _scale(r, v[0], M_PI / 180.0)
    if opcode == Glsl_Degrees:
        return _scale(r, v[0], 180.0 / M_PI)
    if opcode == Glsl_FClamp or opcode == Glsl_NClamp:
        return alu2(&r.nir, alu_fmin, alu2(&r.nir, alu_fmax, v[0], v[1]), v[2])
    if opcode == Glsl_Step:
        return _choose(r, alu2(&r.nir, alu_flt, v[1], v[0]), _constant_like(r, v[0], 0.0), _constant_like(r, v[0], 1.0))
    if opcode == Glsl_SmoothStep:
        return _smooth_step(r, v[0], v[1], v[2])
    if opcode == Glsl_Length:
        return _length(r, v[0])
    if opcode == Glsl_Distance:
        return _length(r, _sub(r, v[0], v[1]))
    if opcode == Glsl_Cross:
        return _cross(r, v[0], v[1])
    if opcode == Glsl_Normalize:
        return _normalize(r, v[0])
    if opcode == Glsl_FaceForward:
        t = alu2(&r.nir, alu_flt, dot(r, v[2], v[1]), constant_float(&r.nir, 0.0, bits_of(r, v[0])))
        return _choose(r, t, v[0], alu1(&r.nir, alu_fneg, v[0]))
    if opcode == Glsl_Reflect:
        return _sub(r, v[0], _mul(r, _scale(r, dot(r, v[1], v[0]), 2.0), v[1]))
    if opcode == Glsl_Refract:
        return _refract(r, v[0], v[1], v[2])
    unsupported(r, r.word, "GLSL.std.450 ", glsl_names[opcode])
    return 0


cdef int _integer_clamp(Reader r, uint32_t word, uint32_t opcode, const ValueId *v) except -1 nogil:
    cdef ValueId[2] values
    values[0] = v[0]
    values[1] = v[1]
    values[0] = checked_alu(r, alu_umax if opcode == Glsl_UClamp else alu_imax, values, 2)
    values[1] = v[2]
    return set_checked(r, word, checked_alu(r, alu_umin if opcode == Glsl_UClamp else alu_imin, values, 2))


cdef int _function(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    cdef ValueId[4] values
    cdef int16_t table = glsl_alu[opcode]
    cdef uint32_t count = alu_input_count[table] if table >= 0 else _operand_count(opcode)
    cdef uint32_t bits
    cdef ValueId result
    cdef uint32_t i
    if opcode == Glsl_Modf or opcode == Glsl_Frexp:
        count = 2
    if end - word - 5 != count:
        fail(r, word, "%u operands do not match the function", end - word - 5)
    if opcode == Glsl_Determinant or opcode == Glsl_MatrixInverse:
        return _matrix_function(r, word, opcode)
    values[0] = ssa(r, r.words[word + 5])
    if opcode == Glsl_Modf or opcode == Glsl_ModfStruct or opcode == Glsl_Frexp or opcode == Glsl_FrexpStruct:
        return _two_results(r, word, opcode, values[0])
    for i in range(1, count):
        values[i] = ssa(r, r.words[word + 5 + i])
    bits = bits_of(r, values[0])
    if table >= 0:
        if opcode == Glsl_Ldexp and bits_of(r, values[1]) >= 8:
            values[1] = _exponent_in_32_bits(r, values[1])
        if opcode == Glsl_NMin or opcode == Glsl_NMax:
            r.nir.exact = True
        result = checked_alu(r, table, values, count)
        if alu_output_size[table] == 0 and components_of(r, values[0]) != components_of(r, result):
            fail(r, word, "operands with different numbers of components")
        return set_checked(r, word, result)
    if opcode == Glsl_UClamp or opcode == Glsl_SClamp:
        return _integer_clamp(r, word, opcode, values)
    _require_same_floats(r, values, 2 if opcode == Glsl_Refract else count)
    if opcode == Glsl_Atan2:
        result = _atan2(r, _to_32_bits(r, values[0]), _to_32_bits(r, values[1]))
    elif Glsl_Tan <= opcode <= Glsl_Atanh or opcode == Glsl_Exp or opcode == Glsl_Log:
        result = _unary_in_32_bits(r, opcode, _to_32_bits(r, values[0]))
    else:
        if opcode == Glsl_NClamp:
            r.nir.exact = True
        return set_checked(r, word, _multi_instruction_function(r, opcode, values))
    return set_checked(r, word, alu1(&r.nir, alu_f2f16, result) if bits == 16 else result)


cdef int glsl_instruction(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef SpirvId set_id = r.words[word + 3]
    cdef uint32_t opcode = r.words[word + 4]
    if r.kind[set_id] != kind_instruction_set:
        fail(r, word, "id %u is not an instruction set", set_id)
    if is_non_semantic(r, word):
        r.kind[r.words[word + 2]] = kind_void
        return debug_line(r, word, end) if r.payload[set_id] == instruction_set_debug else 0
    if r.payload[set_id] == instruction_set_trinary:
        return trinary_instruction(r, word, end, opcode)
    if r.payload[set_id] == instruction_set_gcn:
        return gcn_instruction(r, word, end, opcode)
    if r.payload[set_id] == instruction_set_ballot:
        return ballot_instruction(r, word, end, opcode)
    if r.payload[set_id] != instruction_set_glsl:
        unsupported(r, word, "the extended instruction set ", <const char *>&r.words[r.offset[set_id] + 2])
    if opcode >= glsl_opcode_count or glsl_names[opcode] == NULL:
        fail(r, word, "GLSL.std.450 has no instruction %u", opcode)
    if end - word < 6:
        fail(r, word, "too few operands")
    r.nir.exact = decoration_of(r, r.words[word + 2], no_member, Decoration_NoContraction) != 0
    _function(r, word, end, opcode)
    r.nir.exact = False
    return 0
