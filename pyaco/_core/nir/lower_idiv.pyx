"""Integer division and remainder of 32 bits, and division by constants of 32 and 64 bits.

Needs: scalar ALU; 8- and 16-bit divisions widened (``lower_bit_size``). Guarantees: no udiv, idiv, umod, irem or imod of
32 bits is left; those of 64 bits are left unless the divisor is a constant (``lower_int64`` does the rest).

Division by a constant multiplies by a rounded-up reciprocal (Granlund and Montgomery, "Division by Invariant Integers
using Multiplication", 1994; Warren, "Hacker's Delight", chapter 10). Otherwise the reciprocal of the divisor is estimated
in floating point, improved once by Newton's method in 32-bit fixed point, and the quotient corrected twice: the scheme of
LLVM's AMDGPU code generator (AMDGPUCodeGenPrepare, expandDivRem32). Dividing by zero gives what these steps
give, where constant folding has 0: SPIR-V leaves it undefined.

Where both operands are known to be less than 2**21 in magnitude, as those of 8 and 16 bits are, one product of floats is the quotient. The
reciprocal is next to the nearest float at worst, and two steps are added, so it is never too small: the product is at least the exact quotient. It
stays below the next integer, from which the quotient keeps a distance of 1 / d: it is too large by 4 * 2**-23 of itself at most, and n * 2**-21 < 1.
Mesa's ``nir_lower_idiv`` takes the next float in the same way for operands of 8 and 16 bits.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_bcsel, alu_extract_i16, alu_extract_i8, alu_f2i32, alu_f2u32, alu_fmul, alu_frcp, alu_i2f32, alu_i2i32, alu_iabs, alu_iadd, alu_iand,
    alu_idiv, alu_imod, alu_imul, alu_imul24, alu_imul_high, alu_ineg, alu_irem, alu_ishr, alu_isub, alu_ixor, alu_u2f32, alu_udiv, alu_uge,
    alu_umod, alu_umul24, alu_umul_high, alu_ushr,
)
from pyaco._core.common.bits cimport sign_extended
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_source, constant
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.range_analysis cimport Ranges, ranges_begin, unsigned_upper_bound
from pyaco._core.ir.shader cimport Shader, ShaderData, ValueId, nir_alu, source_swizzle, source_value, swizzle_component
from pyaco._core.nir.lowering cimport Lowering, constant_source, lower_alu, lower_keep, lowering_run, modulo_of_remainder

cdef extern from *:
    """
    typedef unsigned __int128 uint128_t;
    typedef __int128 int128_t;
    """
    ctypedef unsigned long long uint128_t
    ctypedef long long int128_t

cdef enum:
    largest_exact = 0x1fffff      # whose quotients one product of floats gives


# --------------------------------------------------------------------------------------------------- constant divisors
cdef int _ceil_log2(uint64_t d) noexcept nogil:
    cdef int n = 0
    while n < 64 and (<uint64_t>1 << n) < d:
        n += 1
    return n


cdef ValueId _divide_by_power(Lowering *b, ValueId n, uint64_t d) except? 0xffffffffU nogil:
    return alu2_constant(b, alu_ushr, n, _ceil_log2(d)) if d != 1 else n


cdef ValueId _udiv_constant(Lowering *b, ValueId n, uint64_t d, int bits) except? 0xffffffffU nogil:
    """n / d for unsigned n: high half of n * multiplier, shifted; with one more addition where the multiplier has N+1 bits."""
    cdef int before = 0
    cdef int after
    cdef int length
    cdef uint128_t power, multiplier
    cdef ValueId high, rest
    if d & (d - 1) == 0:
        return _divide_by_power(b, n, d)
    while not (d >> before) & 1:
        before += 1
    length = _ceil_log2(d >> before)
    if before:
        n = alu2_constant(b, alu_ushr, n, before)
        d >>= before
    for after in range(length):
        power = <uint128_t>1 << (bits + after)
        multiplier = power // d + 1
        # Exact while the multiplier's excess, times any dividend of bits - before bits, stays below one step.
        if multiplier >> bits == 0 and multiplier * d - power <= (<uint128_t>1 << (after + before)):
            high = alu2_constant(b, alu_umul_high, n, <uint64_t>multiplier)
            return alu2_constant(b, alu_ushr, high, after) if after else high
    multiplier = (((<uint128_t>1 << length) - d) << bits) // d + 1
    high = alu2_constant(b, alu_umul_high, n, <uint64_t>multiplier)
    rest = alu2_constant(b, alu_ushr, alu2(b, alu_isub, n, high), 1)
    high = alu2(b, alu_iadd, high, rest)
    return alu2_constant(b, alu_ushr, high, length - 1) if length > 1 else high


cdef ValueId _idiv_power(Lowering *b, ValueId n, int shift, int bits) except? 0xffffffffU nogil:
    """n / 2**shift, rounded to zero: add 2**shift - 1 to negative dividends."""
    cdef ValueId bias
    if shift == 0:
        return n
    bias = alu2_constant(b, alu_ushr, alu2_constant(b, alu_ishr, n, bits - 1), bits - shift)
    return alu2_constant(b, alu_ishr, alu2(b, alu_iadd, n, bias), shift)


cdef ValueId _idiv_constant(Lowering *b, ValueId n, int64_t d, int bits) except? 0xffffffffU nogil:
    """n / d for signed n, rounded to zero; negative divisors negate."""
    cdef uint64_t magnitude = <uint64_t>d if d > 0 else (<uint64_t>0 - <uint64_t>d)
    cdef uint128_t power, multiplier
    cdef ValueId quotient
    cdef int shift = _ceil_log2(magnitude)
    cdef int after
    if bits < 64:
        magnitude &= (<uint64_t>1 << bits) - 1
    if magnitude & (magnitude - 1) == 0:
        quotient = _idiv_power(b, n, shift, bits)
    else:
        # The multiplier for the magnitude, 2**(N-1) <= m < 2**N: read as signed it is m - 2**N, which adding n undoes.
        after = shift - 1
        power = <uint128_t>1 << (bits + after)
        multiplier = power // magnitude + 1
        quotient = alu2_constant(b, alu_imul_high, n, <uint64_t>multiplier)
        if (multiplier >> (bits - 1)) & 1:
            quotient = alu2(b, alu_iadd, quotient, n)
        if after:
            quotient = alu2_constant(b, alu_ishr, quotient, after)
        quotient = alu2(b, alu_isub, quotient, alu2_constant(b, alu_ishr, n, bits - 1))
    return alu1(b, alu_ineg, quotient) if d < 0 else quotient


cdef ValueId _by_constant(Lowering *b, int opcode, ValueId n, uint64_t d, int bits) except? 0xffffffffU nogil:
    cdef ValueId quotient, remainder, divisor
    cdef int64_t number = sign_extended(d, bits)
    if d == 0:
        return constant(b, 0, bits)               # undefined in SPIR-V; Mesa's constant folding has zero, too
    if opcode == alu_umod and d & (d - 1) == 0:
        return alu2_constant(b, alu_iand, n, d - 1)
    if opcode == alu_imod and number > 0 and d & (d - 1) == 0:
        return alu2_constant(b, alu_iand, n, d - 1)
    if opcode == alu_udiv or opcode == alu_umod:
        quotient = _udiv_constant(b, n, d, bits)
    else:
        quotient = _idiv_constant(b, n, number, bits)
    if opcode == alu_udiv or opcode == alu_idiv:
        return quotient
    divisor = constant(b, d, bits)
    remainder = alu2(b, alu_isub, n, alu2(b, alu_imul, quotient, divisor))
    return modulo_of_remainder(b, remainder, divisor) if opcode == alu_imod else remainder


# ---------------------------------------------------------------------------------------------------- general divisors
cdef ValueId _unsigned(Lowering *b, ValueId n, ValueId d, bint want_remainder) except? 0xffffffffU nogil:
    """Quotient or remainder of 32-bit unsigned division."""
    cdef ValueId scale, reciprocal, error, quotient, remainder, enough
    cdef int step
    # 2**32 / d, a little too small: the scale is the largest float below 2**32 less one step.
    scale = constant(b, 0x4f7ffffe, 32)
    reciprocal = alu1(b, alu_frcp, alu1(b, alu_u2f32, d))
    reciprocal = alu1(b, alu_f2u32, alu2(b, alu_fmul, reciprocal, scale))
    error = alu2(b, alu_imul, reciprocal, alu1(b, alu_ineg, d))
    reciprocal = alu2(b, alu_iadd, reciprocal, alu2(b, alu_umul_high, reciprocal, error))
    quotient = alu2(b, alu_umul_high, n, reciprocal)
    remainder = alu2(b, alu_isub, n, alu2(b, alu_imul, quotient, d))
    for step in range(2):
        enough = alu2(b, alu_uge, remainder, d)
        if not want_remainder:
            quotient = alu3(b, alu_bcsel, enough, alu2_constant(b, alu_iadd, quotient, 1), quotient)
        if want_remainder or step == 0:
            remainder = alu3(b, alu_bcsel, enough, alu2(b, alu_isub, remainder, d), remainder)
    return remainder if want_remainder else quotient


cdef ValueId _small(Lowering *b, int opcode, ValueId n, ValueId d) except? 0xffffffffU nogil:
    """Quotient or remainder of numbers that are at most `largest_exact`."""
    cdef bint is_signed = opcode != alu_udiv and opcode != alu_umod
    cdef int to_float = alu_i2f32 if is_signed else alu_u2f32
    cdef ValueId reciprocal = alu2_constant(b, alu_iadd, alu1(b, alu_frcp, alu1(b, to_float, d)), 2)    # two floats further from zero
    cdef ValueId quotient = alu1(b, alu_f2i32 if is_signed else alu_f2u32, alu2(b, alu_fmul, alu1(b, to_float, n), reciprocal))
    cdef ValueId remainder
    if opcode == alu_udiv or opcode == alu_idiv:
        return quotient
    remainder = alu2(b, alu_isub, n, alu2(b, alu_imul24 if is_signed else alu_umul24, quotient, d))
    return modulo_of_remainder(b, remainder, d) if opcode == alu_imod else remainder


cdef ValueId _general(Lowering *b, int opcode, ValueId n, ValueId d) except? 0xffffffffU nogil:
    cdef ValueId sign, result
    if opcode == alu_udiv or opcode == alu_umod:
        return _unsigned(b, n, d, opcode == alu_umod)
    result = _unsigned(b, alu1(b, alu_iabs, n), alu1(b, alu_iabs, d), opcode != alu_idiv)
    sign = alu2_constant(b, alu_ishr, alu2(b, alu_ixor, n, d) if opcode == alu_idiv else n, 31)
    result = alu2(b, alu_isub, alu2(b, alu_ixor, result, sign), sign)
    return modulo_of_remainder(b, result, d) if opcode == alu_imod else result


# ------------------------------------------------------------------------------------------------------------ the pass
cdef inline bint _is_division(const ShaderData *s, ValueId i) noexcept nogil:
    return (s.instructions.kind[i] == nir_alu and s.instructions.components[i] == 1 and s.instructions.bit_size[i] >= 32
            and s.instructions.opcode[i] in (alu_udiv, alu_idiv, alu_umod, alu_irem, alu_imod))


cdef bint _is_small(Ranges *ranges, ValueId division, uint32_t k) noexcept nogil:
    """Whether an operand of a division of 32 bits is at most `largest_exact` in magnitude."""
    cdef const ShaderData *s = ranges.s
    cdef ValueId value = source_value(s, division, k)
    cdef int opcode = s.instructions.opcode[value]
    if s.instructions.opcode[division] not in (alu_udiv, alu_umod) and s.instructions.kind[value] == nir_alu:
        if opcode in (alu_extract_i8, alu_extract_i16) or opcode == alu_i2i32 and s.instructions.bit_size[source_value(s, value, 0)] <= 16:
            return True
    return unsigned_upper_bound(ranges, value, swizzle_component(source_swizzle(s, division, k), 0)) <= largest_exact


cdef int _find_small(const ShaderData *s, vector[uint8_t] &small) except -1 nogil:
    """Which divisions have small operands; known before anything is lowered."""
    cdef Ranges ranges
    cdef uint32_t row
    cdef ValueId i
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        if _is_division(s, i) and s.instructions.bit_size[i] == 32:
            if small.empty():
                ranges_begin(&ranges, s)
                small.assign(s.instructions.table.count, 0)
            small[i] = _is_small(&ranges, i, 0) and _is_small(&ranges, i, 1)
    return 0


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef const vector[uint8_t] *small = <const vector[uint8_t] *>b.context
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int bits = s.instructions.bit_size[instruction]
    cdef uint64_t divisor = 0
    if not _is_division(s, instruction):
        return lower_keep
    if constant_source(s, instruction, 1, &divisor):
        return _by_constant(b, opcode, alu_source(b, instruction, 0, 0), divisor, bits)
    if bits == 64:
        return lower_keep
    if small[0][instruction]:
        return _small(b, opcode, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0))
    return _general(b, opcode, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0))


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef vector[uint8_t] small
    _find_small(<ShaderData *>ir, small)
    return lowering_run(<ShaderData *>ir, lower_alu, _lower, &small)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Lower integer division."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
