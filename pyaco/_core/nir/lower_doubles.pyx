"""Division, reciprocal and square roots of doubles.

Needs: scalar ALU, ``lower_alu``. Guarantees: no fdiv, frcp, fsqrt or frsq of 64 bits is left.

Operands are scaled to [0.25, 1) with frexp and the result back with ldexp, so nothing in between overflows or is
denormal. A 32-bit hardware estimate is improved twice (Newton for reciprocals; Goldschmidt's coupled iteration for
roots), and a last fused step with the exact residual rounds to nearest in all but rare cases. Zero, infinity and NaN are
handled separately. Sources: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990;
Goldschmidt's iteration as in Muller et al., "Handbook of Floating-Point Arithmetic", chapter 4.
"""
from libc.stdint cimport uint64_t

from nir_opcodes cimport (
    alu_bcsel, alu_f2f32, alu_f2f64, alu_fabs, alu_fadd, alu_fdiv, alu_feq, alu_ffma, alu_flt, alu_fmul, alu_fneg, alu_frcp,
    alu_frexp_exp, alu_frexp_sig, alu_frsq, alu_fsqrt, alu_iadd, alu_iand, alu_ineg, alu_inot, alu_ior, alu_ishr, alu_isub, alu_ldexp,
    alu_pack_64_2x32_split, alu_unpack_64_2x32_split_y,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_source, constant
from pyaco._core.ir.shader cimport Shader, ShaderData, ValueId, nir_alu
from pyaco._core.nir.lowering cimport Lowering, constant_float, lower_keep, lowering_run

cdef uint64_t infinity = 0x7ff0000000000000ULL


cdef ValueId _fma(Lowering *b, ValueId x, ValueId y, ValueId z) except? 0xffffffffU nogil:
    return alu3(b, alu_ffma, x, y, z)


cdef ValueId _negated(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu1(b, alu_fneg, x)


cdef ValueId _with_sign_of(Lowering *b, uint64_t magnitude, ValueId x) except? 0xffffffffU nogil:
    """A constant with the sign of x."""
    cdef ValueId sign = alu2_constant(b, alu_iand, alu1(b, alu_unpack_64_2x32_split_y, x), 0x80000000U)
    cdef ValueId high = alu2_constant(b, alu_ior, sign, magnitude >> 32) if magnitude >> 32 else sign
    return alu2(b, alu_pack_64_2x32_split, constant(b, magnitude & 0xffffffffU, 32), high)


cdef ValueId _is_zero(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2(b, alu_feq, x, constant_float(b, 0.0, 64))


cdef ValueId _is_infinite(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2(b, alu_feq, alu1(b, alu_fabs, x), constant(b, infinity, 64))


cdef ValueId _scaled_reciprocal(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """1 / x for 0.5 <= |x| < 1."""
    cdef ValueId one = constant_float(b, 1.0, 64)
    cdef ValueId minus = _negated(b, x)
    cdef ValueId r = alu1(b, alu_f2f64, alu1(b, alu_frcp, alu1(b, alu_f2f32, x)))
    for _ in range(3):
        r = _fma(b, _fma(b, minus, r, one), r, r)
    return r


cdef ValueId _reciprocal(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    cdef ValueId r = _scaled_reciprocal(b, alu1(b, alu_frexp_sig, x))
    r = alu2(b, alu_ldexp, r, alu1(b, alu_ineg, alu1(b, alu_frexp_exp, x)))
    r = alu3(b, alu_bcsel, _is_infinite(b, x), _with_sign_of(b, 0, x), r)
    return alu3(b, alu_bcsel, _is_zero(b, x), _with_sign_of(b, infinity, x), r)


cdef ValueId _divide(Lowering *b, ValueId n, ValueId d) except? 0xffffffffU nogil:
    cdef ValueId n_part = alu1(b, alu_frexp_sig, n)
    cdef ValueId d_part = alu1(b, alu_frexp_sig, d)
    cdef ValueId r = _scaled_reciprocal(b, d_part)
    cdef ValueId q = alu2(b, alu_fmul, n_part, r)
    cdef ValueId exponent = alu2(b, alu_isub, alu1(b, alu_frexp_exp, n), alu1(b, alu_frexp_exp, d))
    cdef ValueId limit = constant(b, infinity, 64)
    cdef ValueId ordinary, special
    q = _fma(b, _fma(b, _negated(b, d_part), q, n_part), r, q)
    q = alu2(b, alu_ldexp, q, exponent)
    # For special operands: multiply by a reciprocal that is right for d = 0 and infinity, and has the right sign otherwise.
    special = _with_sign_of(b, 0x3ff0000000000000ULL, d)
    special = alu3(b, alu_bcsel, _is_infinite(b, d), _with_sign_of(b, 0, d), special)
    special = alu3(b, alu_bcsel, _is_zero(b, d), _with_sign_of(b, infinity, d), special)
    ordinary = alu2(b, alu_iand, alu2(b, alu_flt, alu1(b, alu_fabs, n), limit), alu2(b, alu_flt, alu1(b, alu_fabs, d), limit))
    ordinary = alu2(b, alu_iand, ordinary, alu1(b, alu_inot, alu2(b, alu_ior, _is_zero(b, n), _is_zero(b, d))))
    n_part = alu2(b, alu_fmul, n, special)
    # `special` does not handle NaN divisors: they are the result.
    n_part = alu3(b, alu_bcsel, alu2(b, alu_feq, d, d), n_part, d)
    return alu3(b, alu_bcsel, ordinary, q, n_part)


cdef ValueId _root(Lowering *b, ValueId x, bint inverse) except? 0xffffffffU nogil:
    """Square root (or its inverse): x = m * 4**k with 0.25 <= m < 1."""
    cdef ValueId exponent = alu1(b, alu_frexp_exp, x)
    cdef ValueId odd = alu2_constant(b, alu_iand, exponent, 1)
    cdef ValueId m = alu2(b, alu_ldexp, alu1(b, alu_frexp_sig, x), alu1(b, alu_ineg, odd))
    cdef ValueId k = alu2_constant(b, alu_ishr, alu2(b, alu_iadd, exponent, odd), 1)
    cdef ValueId half = constant_float(b, 0.5, 64)
    cdef ValueId r = alu1(b, alu_f2f64, alu1(b, alu_frsq, alu1(b, alu_f2f32, m)))
    cdef ValueId g = alu2(b, alu_fmul, m, r)
    cdef ValueId h = alu2(b, alu_fmul, half, r)
    cdef ValueId error, result, special
    for _ in range(2):
        error = _fma(b, _negated(b, h), g, half)
        g = _fma(b, g, error, g)
        h = _fma(b, h, error, h)
    if not inverse:
        g = _fma(b, _fma(b, _negated(b, g), g, m), h, g)
        result = alu2(b, alu_ldexp, g, k)
        special = alu2(b, alu_ior, _is_zero(b, x), alu2(b, alu_feq, x, constant(b, infinity, 64)))
        return alu3(b, alu_bcsel, special, x, result)
    r = alu2(b, alu_fadd, h, h)
    error = _fma(b, _negated(b, alu2(b, alu_fmul, m, r)), r, constant_float(b, 1.0, 64))
    r = _fma(b, alu2(b, alu_fmul, r, half), error, r)
    result = alu2(b, alu_ldexp, r, alu1(b, alu_ineg, k))
    result = alu3(b, alu_bcsel, alu2(b, alu_feq, x, constant(b, infinity, 64)), constant(b, 0, 64), result)
    return alu3(b, alu_bcsel, _is_zero(b, x), _with_sign_of(b, infinity, x), result)


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    if s.instructions.kind[instruction] != nir_alu or s.instructions.bit_size[instruction] != 64:
        return lower_keep
    if opcode == alu_fdiv:
        return _divide(b, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0))
    if opcode == alu_frcp:
        return _reciprocal(b, alu_source(b, instruction, 0, 0))
    if opcode == alu_fsqrt or opcode == alu_frsq:
        return _root(b, alu_source(b, instruction, 0, 0), opcode == alu_frsq)
    return lower_keep


def run(Shader shader not None, options=None):
    """Lower division and roots of doubles."""
    cdef bint progress
    with nogil:
        progress = lowering_run(&shader.data, _lower, NULL)
    return progress
