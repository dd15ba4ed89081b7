"""Doubles in integer arithmetic: every operation that NIR has on 64-bit floats, exactly rounded.

What holds of all results:

- Rounding is to nearest, ties to even, once. Denormals are operands and results like other numbers. (``f2f16`` may round toward zero, as its
  opcode or the shader's float controls say.)
- A NaN result is the first operand that is a NaN, with the quiet bit set; where no operand is one, 0x7ff8000000000000. This is how AMD's
  instructions choose (``docs/emulator.md``), and IEEE 754 leaves it open. Signs of NaNs change in ``fneg``, ``fabs`` and in the second operand of
  ``fsub``, which is a sum with it negated.
- Minimum and maximum take the number where one operand is a NaN, and -0 is less than +0.
- Conversions to integers truncate and saturate; a NaN becomes 0.
- ``frsq`` and ``ffract`` are two operations, each of which rounds: 1 / sqrt(x) and x - floor(x).

How: a finite result is built as sign, exponent and a significand of 64 bits whose lowest bit is sticky: set if anything was lost below.
`_round` normalises, shifts denormals down (sticky again) and rounds by the bits below the format's last place; a carry runs from the significand
into the exponent by itself, up to infinity. With ten bits and more below the last place, one sticky bit decides every case as infinitely many
bits would, as long as normalising shifts left by one place at most where something was lost: sums lose only if the exponents differ by more than
ten, and then no more than one leading bit can cancel. Products are exact in 128 bits, and so is the sum of ``ffma`` until the smaller term is
shifted out. Quotients and roots are found bit by bit, in a loop of as many iterations as the result has bits, with the remainder as sticky
bit. Special operands are selected at the end. All is branch-free but for these loops.

Only integer operations of 32 and 64 bits are made, which ``lower_int64`` takes further.

Sources: IEEE 754-2019, 4.3 (rounding), 5.3 to 5.11 (operations), 6 (infinity, NaNs, signs of zeros); Muller et al., "Handbook of Floating-Point
Arithmetic", chapters 7 and 8 (guard and sticky bits; digit recurrences for quotient and root).
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_b2f64, alu_b2i64, alu_bcsel, alu_f2f16, alu_f2f16_rtne, alu_f2f16_rtz, alu_f2f32, alu_f2f64, alu_f2i1, alu_f2i16, alu_f2i32,
    alu_f2i64, alu_f2i8, alu_f2u1, alu_f2u16, alu_f2u32, alu_f2u64, alu_f2u8, alu_fabs, alu_fadd, alu_fcanonicalize, alu_fceil, alu_fdiv,
    alu_feq, alu_fequ, alu_ffloor, alu_ffma, alu_ffract, alu_fge, alu_fgeu, alu_flt, alu_fltu, alu_fmax, alu_fmax3, alu_fmed3, alu_fmin,
    alu_fmin3, alu_fmod, alu_fmul, alu_fneg, alu_fneo, alu_fneu, alu_ford, alu_frcp, alu_frem, alu_frexp_exp, alu_frexp_sig, alu_fround_even,
    alu_frsq, alu_fsat, alu_fsign, alu_fsqrt, alu_fsub, alu_ftrunc, alu_funord, alu_i2f64, alu_i2i32, alu_iadd, alu_iand,
    alu_ieq, alu_ige, alu_ilt, alu_imax, alu_imin, alu_imul, alu_ine, alu_ineg, alu_inot, alu_input_count, alu_input_types_flat, alu_ior,
    alu_ishl, alu_ishr, alu_isub, alu_ixor, alu_ldexp, alu_max_inputs, alu_names, alu_output_type, alu_pack_64_2x32_split, alu_u2f64, alu_u2u16,
    alu_u2u32, alu_u2u64, alu_u2u8, alu_ufind_msb, alu_uge, alu_ult, alu_umin, alu_umul_high, alu_unpack_64_2x32_split_x,
    alu_unpack_64_2x32_split_y, alu_ushr,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_source, constant, jump
from pyaco._core.ir.shader cimport NodeId, ShaderData, ValueId, jump_break, nir_alu, phi_set, round_zero16, source_value
from pyaco._core.nir.lowering cimport (
    Lowering, lower_exit_phi, lower_if_begin, lower_if_else, lower_if_end, lower_loop_begin, lower_loop_end, lower_loop_phi,
)

from pyaco.errors import UnsupportedError

cdef enum:
    base_float = 3                # in the tables of opcodes
    bias = 1023
    special_exponent = 0x7ff
    fraction_bits = 52

cdef uint64_t sign_bit = 0x8000000000000000ULL
cdef uint64_t infinity = 0x7ff0000000000000ULL
cdef uint64_t quiet_bit = 0x0008000000000000ULL
cdef uint64_t default_nan = 0x7ff8000000000000ULL
cdef uint64_t one = 0x3ff0000000000000ULL

# A finite operand: significand * 2 ** (exponent - bias - 52).
cdef struct Parts:
    ValueId sign                  # 64 bits, only the highest may be set
    ValueId exponent              # biased, 32 bits
    ValueId significand           # 64 bits

# A format to round to: bits of the significand with its leading one, and the exponent of infinity.
cdef struct Format:
    int precision
    int special

cdef Format double_format = Format(53, 0x7ff)
cdef Format single_format = Format(24, 0xff)
cdef Format half_format = Format(11, 0x1f)


# ------------------------------------------------------------------------------------------------------------------ pieces
cdef ValueId _number(Lowering *b, uint64_t bits) except? 0xffffffffU nogil:
    return constant(b, bits, 64)


cdef ValueId _low(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu1(b, alu_unpack_64_2x32_split_x, x)


cdef ValueId _high(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu1(b, alu_unpack_64_2x32_split_y, x)


cdef ValueId _pack(Lowering *b, ValueId low, ValueId high) except? 0xffffffffU nogil:
    return alu2(b, alu_pack_64_2x32_split, low, high)


cdef ValueId _top(Lowering *b, ValueId high) except? 0xffffffffU nogil:
    """A word as the high half of 64 bits."""
    return _pack(b, constant(b, 0, 32), high)


cdef ValueId _select(Lowering *b, ValueId condition, ValueId x, ValueId y) except? 0xffffffffU nogil:
    return alu3(b, alu_bcsel, condition, x, y)


cdef ValueId _sign_of(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2_constant(b, alu_iand, x, sign_bit)


cdef ValueId _magnitude(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2_constant(b, alu_iand, x, sign_bit - 1)


cdef ValueId _exponent(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2_constant(b, alu_iand, alu2_constant(b, alu_ushr, _high(b, x), 20), special_exponent)


cdef ValueId _is_nan(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2(b, alu_ult, _number(b, infinity), _magnitude(b, x))


cdef ValueId _is_infinite(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2_constant(b, alu_ieq, _magnitude(b, x), infinity)


cdef ValueId _is_zero(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu2_constant(b, alu_ieq, _magnitude(b, x), 0)


cdef ValueId _is_special(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """Infinite or NaN."""
    return alu2_constant(b, alu_ieq, _exponent(b, x), special_exponent)


cdef ValueId _or_nan(Lowering *b, ValueId result, ValueId x) except? 0xffffffffU nogil:
    """The result, or x made quiet where x is a NaN."""
    return _select(b, _is_nan(b, x), alu2_constant(b, alu_ior, x, quiet_bit), result)


cdef ValueId _or_nans(Lowering *b, ValueId result, ValueId x, ValueId y) except? 0xffffffffU nogil:
    return _or_nan(b, _or_nan(b, result, y), x)


cdef int _unpack(Lowering *b, ValueId x, Parts *parts) except -1 nogil:
    """Sign, exponent and significand as they stand; denormals have no leading one, and the exponent of the least normal."""
    cdef ValueId exponent = _exponent(b, x)
    cdef ValueId leading = alu1(b, alu_b2i64, alu2_constant(b, alu_ine, exponent, 0))
    parts.sign = _sign_of(b, x)
    parts.exponent = alu2_constant(b, alu_imax, exponent, 1)
    parts.significand = alu2(b, alu_ior, alu2_constant(b, alu_iand, x, ((<uint64_t>1) << fraction_bits) - 1),
                             alu2_constant(b, alu_ishl, leading, fraction_bits))
    return 0


cdef int _unpack_normalised(Lowering *b, ValueId x, Parts *parts) except -1 nogil:
    """The same with a leading one in bit 52, but for zeros."""
    cdef ValueId shift
    _unpack(b, x, parts)
    shift = alu2(b, alu_isub, constant(b, fraction_bits, 32), alu1(b, alu_ufind_msb, parts.significand))
    parts.significand = alu2(b, alu_ishl, parts.significand, shift)
    parts.exponent = alu2(b, alu_isub, parts.exponent, shift)
    return 0


cdef ValueId _with_sticky(Lowering *b, ValueId x, ValueId lost) except? 0xffffffffU nogil:
    """x with its lowest bit set where something was lost."""
    return alu2(b, alu_ior, x, alu1(b, alu_b2i64, lost))


cdef ValueId _shift_down(Lowering *b, ValueId x, ValueId count) except? 0xffffffffU nogil:
    """Shift right by any count that is not negative; what is shifted out stays in the lowest bit."""
    cdef ValueId near = alu2_constant(b, alu_umin, count, 63)
    cdef ValueId shifted = alu2(b, alu_ushr, x, near)
    return _with_sticky(b, shifted, alu2(b, alu_ine, alu2(b, alu_ishl, shifted, near), x))


cdef ValueId _round_to(Lowering *b, const Format *format, ValueId sign, ValueId exponent, ValueId significand,
                       bint toward_zero) except? 0xffffffffU nogil:
    """The number significand * 2 ** (exponent - bias - 63) in a format, of whose bias the exponent is; 64 bits, of which the format's lowest are it.

    Zero stays zero. `sign` is already where the format has it.
    """
    cdef int drop = 64 - format.precision
    cdef uint64_t half = <uint64_t>1 << (drop - 1)
    cdef ValueId shift = alu2(b, alu_isub, constant(b, 63, 32), alu1(b, alu_ufind_msb, significand))
    cdef ValueId normal = alu2(b, alu_ishl, significand, shift)
    cdef ValueId kept, rest, up, result, limit
    exponent = alu2(b, alu_isub, exponent, shift)
    normal = _shift_down(b, normal, alu2_constant(b, alu_imax, alu2(b, alu_isub, constant(b, 1, 32), exponent), 0))
    kept = alu2_constant(b, alu_ushr, normal, drop)
    # The leading one adds one to the exponent, and so does a significand that rounds up to the next power of two.
    result = alu2_constant(b, alu_iadd, alu2_constant(b, alu_imax, exponent, 1), 0xffffffffU)
    result = alu2(b, alu_iadd, alu2_constant(b, alu_ishl, alu1(b, alu_u2u64, result), format.precision - 1), kept)
    limit = _number(b, <uint64_t>format.special << (format.precision - 1))
    if not toward_zero:
        rest = alu2_constant(b, alu_iand, normal, 2 * half - 1)
        up = alu2(b, alu_ult, _number(b, half), alu2(b, alu_iadd, rest, alu2_constant(b, alu_iand, kept, 1)))
        result = alu2(b, alu_iadd, result, alu1(b, alu_b2i64, up))
    else:
        limit = alu2_constant(b, alu_iadd, limit, 0xffffffffffffffffULL)
    result = _select(b, alu2_constant(b, alu_ige, exponent, format.special), limit, result)
    result = _select(b, alu2_constant(b, alu_ieq, significand, 0), _number(b, 0), result)
    return alu2(b, alu_ior, result, sign)


cdef ValueId _round(Lowering *b, ValueId sign, ValueId exponent, ValueId significand) except? 0xffffffffU nogil:
    return _round_to(b, &double_format, sign, exponent, significand, False)


# ----------------------------------------------------------------------------------------------------------- sums, products
cdef ValueId _add(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    """Without NaN operands. The larger operand stays, the smaller is shifted to its exponent."""
    cdef ValueId swap = alu2(b, alu_ult, _magnitude(b, x), _magnitude(b, y))
    cdef ValueId large = _select(b, swap, y, x)
    cdef ValueId small = _select(b, swap, x, y)
    cdef Parts p, q
    cdef ValueId differ, moved, sum, result
    _unpack(b, large, &p)
    _unpack(b, small, &q)
    differ = alu2(b, alu_ine, p.sign, q.sign)
    sum = alu2_constant(b, alu_ishl, p.significand, 10)
    moved = _shift_down(b, alu2_constant(b, alu_ishl, q.significand, 10), alu2(b, alu_isub, p.exponent, q.exponent))
    sum = _select(b, differ, alu2(b, alu_isub, sum, moved), alu2(b, alu_iadd, sum, moved))
    result = _round(b, p.sign, alu2_constant(b, alu_iadd, p.exponent, 1), sum)
    # Opposite numbers give +0, and infinities no number; else an infinity is the larger operand.
    result = _select(b, alu2(b, alu_iand, differ, alu2_constant(b, alu_ieq, sum, 0)), _number(b, 0), result)
    moved = _select(b, alu2(b, alu_iand, differ, _is_infinite(b, small)), _number(b, default_nan), large)
    return _select(b, _is_infinite(b, large), moved, result)


cdef int _multiply_significands(Lowering *b, const Parts *p, const Parts *q, ValueId *high, ValueId *low) except -1 nogil:
    """Exact product of two normalised significands, from bit 125 or 126 of 128 on."""
    cdef ValueId x = alu2_constant(b, alu_ishl, p.significand, 10)
    cdef ValueId y = alu2_constant(b, alu_ishl, q.significand, 11)
    high[0] = alu2(b, alu_umul_high, x, y)
    low[0] = alu2(b, alu_imul, x, y)
    return 0


cdef ValueId _special_product(Lowering *b, ValueId x, ValueId y, ValueId result) except? 0xffffffffU nogil:
    """The result, infinity where an operand is infinite, and no number for infinity times zero."""
    cdef ValueId sign = _sign_of(b, alu2(b, alu_ixor, x, y))
    cdef ValueId infinite = alu2(b, alu_ior, _is_infinite(b, x), _is_infinite(b, y))
    cdef ValueId zero = alu2(b, alu_ior, _is_zero(b, x), _is_zero(b, y))
    cdef ValueId special = _select(b, zero, _number(b, default_nan), alu2_constant(b, alu_ior, sign, infinity))
    return _select(b, infinite, special, result)


cdef ValueId _multiply(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    cdef Parts p, q
    cdef ValueId exponent, result
    cdef ValueId high = 0
    cdef ValueId low = 0
    _unpack_normalised(b, x, &p)
    _unpack_normalised(b, y, &q)
    _multiply_significands(b, &p, &q, &high, &low)
    exponent = alu2_constant(b, alu_iadd, alu2(b, alu_iadd, p.exponent, q.exponent), <uint32_t>(2 - bias))
    result = _round(b, alu2(b, alu_ixor, p.sign, q.sign), exponent, _with_sticky(b, high, alu2_constant(b, alu_ine, low, 0)))
    return _or_nans(b, _special_product(b, x, y, result), x, y)


# 128 bits in two halves: a term of ``ffma`` with a leading one in bit 126.
cdef struct Wide:
    ValueId sign
    ValueId exponent              # of bit 126
    ValueId high
    ValueId low


cdef int _wide_shift_down(Lowering *b, Wide *x, ValueId count) except -1 nogil:
    """Shift right by any count that is not negative; what is shifted out stays in the lowest bit."""
    cdef ValueId zero = _number(b, 0)
    cdef ValueId far = alu2_constant(b, alu_uge, count, 64)
    cdef ValueId low = _select(b, far, x.high, x.low)
    cdef ValueId high = _select(b, far, zero, x.high)
    cdef ValueId lost = alu2(b, alu_iand, far, alu2_constant(b, alu_ine, x.low, 0))
    cdef ValueId near = alu2_constant(b, alu_umin, _select(b, far, alu2_constant(b, alu_iadd, count, 0xffffffffU - 63), count), 63)
    cdef ValueId moved = alu2(b, alu_ior, alu2(b, alu_ushr, low, near),
                              alu2(b, alu_ishl, alu2_constant(b, alu_ishl, high, 1), alu1(b, alu_inot, near)))
    lost = alu2(b, alu_ior, lost, alu2(b, alu_ine, alu2(b, alu_ishl, alu2(b, alu_ushr, low, near), near), low))
    x.high = alu2(b, alu_ushr, high, near)
    x.low = _with_sticky(b, moved, lost)
    return 0


cdef int _choose(Lowering *b, ValueId condition, const Wide *x, const Wide *y, Wide *result) except -1 nogil:
    result.sign = _select(b, condition, x.sign, y.sign)
    result.exponent = _select(b, condition, x.exponent, y.exponent)
    result.high = _select(b, condition, x.high, y.high)
    result.low = _select(b, condition, x.low, y.low)
    return 0


cdef int _wide_product(Lowering *b, ValueId x, ValueId y, Wide *product) except -1 nogil:
    """The product of two finite numbers; a zero has the exponent that no other term has."""
    cdef Parts p, q
    cdef ValueId shift
    _unpack_normalised(b, x, &p)
    _unpack_normalised(b, y, &q)
    product.sign = alu2(b, alu_ixor, p.sign, q.sign)
    product.high = product.low = 0
    _multiply_significands(b, &p, &q, &product.high, &product.low)
    shift = alu2_constant(b, alu_iand, alu2_constant(b, alu_ushr, _high(b, product.high), 30), 1)
    shift = alu2_constant(b, alu_ixor, shift, 1)
    product.exponent = alu2(b, alu_isub, alu2_constant(b, alu_iadd, alu2(b, alu_iadd, p.exponent, q.exponent), <uint32_t>(1 - bias)), shift)
    product.high = alu2(b, alu_ior, alu2(b, alu_ishl, product.high, shift),
                        alu2(b, alu_iand, alu2_constant(b, alu_ushr, product.low, 63), alu1(b, alu_u2u64, shift)))
    product.low = alu2(b, alu_ishl, product.low, shift)
    product.exponent = _select(b, alu2_constant(b, alu_ieq, product.high, 0), constant(b, <uint32_t>(-0x4000), 32), product.exponent)
    return 0


cdef int _wide_sum(Lowering *b, const Wide *x, const Wide *y, Wide *sum) except -1 nogil:
    """The sum, as much of it as decides its rounding; of opposite terms +0, where the sign of the larger is else that of the sum."""
    cdef ValueId same = alu2(b, alu_ieq, x.exponent, y.exponent)
    cdef ValueId lower = alu2(b, alu_iand, alu2(b, alu_ieq, x.high, y.high), alu2(b, alu_ult, x.low, y.low))
    cdef ValueId less = alu2(b, alu_ior, alu2(b, alu_ult, x.high, y.high), lower)
    cdef ValueId swap = alu2(b, alu_ior, alu2(b, alu_ilt, x.exponent, y.exponent), alu2(b, alu_iand, same, less))
    cdef Wide large, small
    cdef ValueId differ, carry, borrow, high
    _choose(b, swap, y, x, &large)
    _choose(b, swap, x, y, &small)
    differ = alu2(b, alu_ine, large.sign, small.sign)
    _wide_shift_down(b, &small, alu2(b, alu_isub, large.exponent, small.exponent))
    sum.low = alu2(b, alu_iadd, large.low, small.low)
    carry = alu1(b, alu_b2i64, alu2(b, alu_ult, sum.low, large.low))
    borrow = alu1(b, alu_b2i64, alu2(b, alu_ult, large.low, small.low))
    sum.low = _select(b, differ, alu2(b, alu_isub, large.low, small.low), sum.low)
    high = alu2(b, alu_isub, alu2(b, alu_isub, large.high, small.high), borrow)
    sum.high = _select(b, differ, high, alu2(b, alu_iadd, alu2(b, alu_iadd, large.high, small.high), carry))
    sum.exponent = large.exponent
    carry = alu2(b, alu_iand, differ, alu2_constant(b, alu_ieq, alu2(b, alu_ior, sum.high, sum.low), 0))
    sum.sign = _select(b, carry, _number(b, 0), large.sign)
    return 0


cdef ValueId _round_wide(Lowering *b, const Wide *x) except? 0xffffffffU nogil:
    """128 bits to a double: the highest 64 from the leading one on, and the rest as sticky bit."""
    cdef ValueId empty = alu2_constant(b, alu_ieq, x.high, 0)
    cdef ValueId high = _select(b, empty, x.low, x.high)
    cdef ValueId low = _select(b, empty, _number(b, 0), x.low)
    cdef ValueId skipped = _select(b, empty, constant(b, 63, 32), constant(b, 0xffffffffU, 32))
    cdef ValueId shift = alu2(b, alu_isub, constant(b, 63, 32), alu1(b, alu_ufind_msb, high))
    cdef ValueId exponent = alu2(b, alu_isub, alu2(b, alu_isub, x.exponent, skipped), shift)
    # Zero alone has no leading one; its shift is one of 0 bits.
    high = alu2(b, alu_ior, alu2(b, alu_ishl, high, shift),
                alu2(b, alu_ushr, alu2_constant(b, alu_ushr, low, 1), alu1(b, alu_inot, shift)))
    low = alu2(b, alu_ishl, low, shift)
    return _round(b, x.sign, exponent, _with_sticky(b, high, alu2_constant(b, alu_ine, low, 0)))


cdef ValueId _fused(Lowering *b, ValueId x, ValueId y, ValueId z) except? 0xffffffffU nogil:
    cdef Wide product, addend, sum
    cdef Parts r
    cdef ValueId result, special, opposite
    _wide_product(b, x, y, &product)
    _unpack_normalised(b, z, &r)
    addend.sign = r.sign
    addend.high = alu2_constant(b, alu_ishl, r.significand, 10)
    addend.low = _number(b, 0)
    addend.exponent = _select(b, _is_zero(b, z), constant(b, <uint32_t>(-0x4000), 32), r.exponent)
    _wide_sum(b, &product, &addend, &sum)
    result = _round_wide(b, &sum)
    # An infinite product is no number with the opposite infinity, else it is the result; then an infinite addend is.
    result = _select(b, _is_infinite(b, z), z, result)
    opposite = alu2(b, alu_iand, _is_infinite(b, z), alu2(b, alu_ine, product.sign, r.sign))
    special = _select(b, opposite, _number(b, default_nan), alu2_constant(b, alu_ior, product.sign, infinity))
    result = _select(b, alu2(b, alu_ior, _is_infinite(b, x), _is_infinite(b, y)), special, result)
    special = alu2(b, alu_ior, alu2(b, alu_iand, _is_infinite(b, x), _is_zero(b, y)), alu2(b, alu_iand, _is_zero(b, x), _is_infinite(b, y)))
    result = _select(b, special, _number(b, default_nan), result)
    return _or_nans(b, _or_nan(b, result, z), x, y)


# --------------------------------------------------------------------------------------------------------- quotients, roots
cdef struct Digits:
    NodeId before
    NodeId loop
    NodeId exit_block
    ValueId index
    ValueId rest                  # remainder
    ValueId found                 # bits of the result so far


cdef int _digits_begin(Lowering *b, Digits *d, uint32_t count, ValueId rest) except -1 nogil:
    """A loop that finds a bit of the result in each iteration."""
    cdef ValueId first = constant(b, count, 32)
    cdef ValueId none = _number(b, 0)
    d.before = b.block
    d.loop = lower_loop_begin(b)
    d.index = lower_loop_phi(b, first, d.before)
    d.rest = lower_loop_phi(b, rest, d.before)
    d.found = lower_loop_phi(b, none, d.before)
    return 0


cdef int _digits_break(Lowering *b, Digits *d) except -1 nogil:
    cdef NodeId branch = lower_if_begin(b, alu2_constant(b, alu_ieq, d.index, 0))
    d.exit_block = b.block
    jump(b, jump_break)
    lower_if_else(b, branch)
    return lower_if_end(b, branch)


cdef ValueId _digits_end(Lowering *b, Digits *d, ValueId rest, ValueId bit) except? 0xffffffffU nogil:
    """End an iteration, which leaves this remainder and has found this bit; the result with the remainder as sticky bit below."""
    cdef ValueId found, last
    phi_set(b.s, d.index, 1, alu2_constant(b, alu_iadd, d.index, 0xffffffffU), b.block)
    phi_set(b.s, d.rest, 1, rest, b.block)
    phi_set(b.s, d.found, 1, alu2(b, alu_ior, alu2_constant(b, alu_ishl, d.found, 1), alu1(b, alu_b2i64, bit)), b.block)
    lower_loop_end(b, d.loop)
    found = lower_exit_phi(b, d.found, d.exit_block)
    last = lower_exit_phi(b, d.rest, d.exit_block)
    return _with_sticky(b, alu2_constant(b, alu_ishl, found, 1), alu2_constant(b, alu_ine, last, 0))


cdef ValueId _divide(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    """56 bits of the quotient of two significands, the first of which counts one; it may be zero."""
    cdef Parts p, q
    cdef Digits d
    cdef ValueId enough, rest, quotient, result, sign, exponent, invalid
    _unpack_normalised(b, x, &p)
    _unpack_normalised(b, y, &q)
    sign = alu2(b, alu_ixor, p.sign, q.sign)
    exponent = alu2_constant(b, alu_iadd, alu2(b, alu_isub, p.exponent, q.exponent), bias + 7)
    _digits_begin(b, &d, 56, p.significand)
    _digits_break(b, &d)
    enough = alu2(b, alu_uge, d.rest, q.significand)
    rest = _select(b, enough, alu2(b, alu_isub, d.rest, q.significand), d.rest)
    quotient = _digits_end(b, &d, alu2_constant(b, alu_ishl, rest, 1), enough)
    result = _round(b, sign, exponent, quotient)
    result = _select(b, alu2(b, alu_ior, _is_infinite(b, y), _is_zero(b, x)), sign, result)
    result = _select(b, alu2(b, alu_ior, _is_infinite(b, x), _is_zero(b, y)), alu2_constant(b, alu_ior, sign, infinity), result)
    invalid = alu2(b, alu_ior, alu2(b, alu_iand, _is_zero(b, x), _is_zero(b, y)), alu2(b, alu_iand, _is_infinite(b, x), _is_infinite(b, y)))
    return _or_nans(b, _select(b, invalid, _number(b, default_nan), result), x, y)


cdef ValueId _root(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """55 bits of the root of a number from 1 to 4, whose exponent is even: two bits more of the number give one bit more of the root."""
    cdef Parts p
    cdef Digits d
    cdef ValueId odd, number, rest, trial, enough, root, exponent, result, special
    cdef ValueId radicand
    _unpack_normalised(b, x, &p)
    # The bias is odd: where the biased exponent is even, that of the number is odd.
    odd = alu2_constant(b, alu_iand, alu1(b, alu_inot, p.exponent), 1)
    number = alu2(b, alu_ishl, alu2_constant(b, alu_ishl, p.significand, 10), odd)
    exponent = alu2_constant(b, alu_ishr, alu2(b, alu_isub, alu2_constant(b, alu_iadd, p.exponent, bias), odd), 1)
    _digits_begin(b, &d, 55, _number(b, 0))
    radicand = lower_loop_phi(b, number, d.before)
    _digits_break(b, &d)
    rest = alu2(b, alu_ior, alu2_constant(b, alu_ishl, d.rest, 2), alu2_constant(b, alu_ushr, radicand, 62))
    trial = alu2_constant(b, alu_ior, alu2_constant(b, alu_ishl, d.found, 2), 1)
    enough = alu2(b, alu_uge, rest, trial)
    rest = _select(b, enough, alu2(b, alu_isub, rest, trial), rest)
    phi_set(b.s, radicand, 1, alu2_constant(b, alu_ishl, radicand, 2), b.block)
    root = _digits_end(b, &d, rest, enough)
    result = _round(b, p.sign, alu2_constant(b, alu_iadd, exponent, 8), root)
    special = alu2(b, alu_ior, _is_zero(b, x), alu2_constant(b, alu_ieq, x, infinity))
    result = _select(b, alu2_constant(b, alu_ine, p.sign, 0), _number(b, default_nan), result)
    return _or_nan(b, _select(b, special, x, result), x)


# ------------------------------------------------------------------------------------------------------------ comparison
cdef ValueId _key(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """A signed integer in the order of the numbers; -0 is -1 and +0 is 0."""
    return alu2(b, alu_ixor, x, alu2_constant(b, alu_ushr, alu2_constant(b, alu_ishr, x, 63), 1))


cdef ValueId _compare(Lowering *b, int opcode, ValueId x, ValueId y) except? 0xffffffffU nogil:
    cdef ValueId unordered = alu2(b, alu_ior, _is_nan(b, x), _is_nan(b, y))
    cdef ValueId zeros, holds
    if opcode == alu_funord:
        return unordered
    if opcode == alu_ford:
        return alu1(b, alu_inot, unordered)
    zeros = alu2_constant(b, alu_ieq, _magnitude(b, alu2(b, alu_ior, x, y)), 0)
    if opcode in (alu_flt, alu_fltu, alu_fge, alu_fgeu):
        holds = alu2(b, alu_iand, alu2(b, alu_ilt, _key(b, x), _key(b, y)), alu1(b, alu_inot, zeros))
    else:
        holds = alu2(b, alu_ior, alu2(b, alu_ieq, x, y), zeros)
    if opcode in (alu_fge, alu_fgeu, alu_fneu, alu_fneo):
        holds = alu1(b, alu_inot, holds)
    if opcode in (alu_fltu, alu_fgeu, alu_fequ, alu_fneu):
        return alu2(b, alu_ior, holds, unordered)
    return alu2(b, alu_iand, holds, alu1(b, alu_inot, unordered))


cdef ValueId _number_of(Lowering *b, ValueId result, ValueId x, ValueId y) except? 0xffffffffU nogil:
    """The result, or the operand that is a number where the other is none; of two NaNs the first, made quiet."""
    cdef ValueId y_nan = _is_nan(b, y)
    cdef ValueId other = _select(b, y_nan, alu2_constant(b, alu_ior, x, quiet_bit), y)
    return _select(b, _is_nan(b, x), other, _select(b, y_nan, x, result))


cdef ValueId double_minimum(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    return _number_of(b, _select(b, alu2(b, alu_ilt, _key(b, x), _key(b, y)), x, y), x, y)


cdef ValueId double_maximum(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    return _number_of(b, _select(b, alu2(b, alu_ilt, _key(b, x), _key(b, y)), y, x), x, y)


cdef ValueId _of_three(Lowering *b, int opcode, ValueId x, ValueId y, ValueId z) except? 0xffffffffU nogil:
    if opcode == alu_fmin3:
        return double_minimum(b, x, double_minimum(b, y, z))
    if opcode == alu_fmax3:
        return double_maximum(b, x, double_maximum(b, y, z))
    return double_maximum(b, double_minimum(b, x, y), double_minimum(b, double_maximum(b, x, y), z))


cdef ValueId double_sign(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """-1, 1 or the zero that it is; 0 for NaN."""
    cdef ValueId result = _select(b, _is_zero(b, x), x, alu2_constant(b, alu_ior, _sign_of(b, x), one))
    return _select(b, _is_nan(b, x), _number(b, 0), result)


cdef ValueId double_saturated(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """Of the numbers that have no sign, the bits are in order; NaN and what has a sign become +0."""
    cdef ValueId result = alu2_constant(b, alu_umin, x, one)
    cdef ValueId none = alu2(b, alu_ior, alu2_constant(b, alu_ilt, x, 0), _is_nan(b, x))
    return _select(b, none, _number(b, 0), result)


# ------------------------------------------------------------------------------------------------------- integral numbers
cdef ValueId double_integral(Lowering *b, int opcode, ValueId x) except? 0xffffffffU nogil:
    """Clear the bits below the point, after adding to them what carries into those above where the result is farther from zero.

    A carry out of the fraction makes the next power of two. Below 1 the result is a zero or a one of the same sign.
    """
    cdef ValueId exponent = alu2_constant(b, alu_iadd, _exponent(b, x), <uint32_t>-bias)
    cdef ValueId below = alu2(b, alu_ushr, _number(b, ((<uint64_t>1) << fraction_bits) - 1), alu2_constant(b, alu_imax, exponent, 0))
    cdef ValueId sign = _sign_of(b, x)
    cdef ValueId away = 0
    cdef ValueId added, result, tiny
    if opcode == alu_fround_even:
        # One less than half, and the bit above the point: a tie carries only if that is set.
        added = alu2(b, alu_ushr, x, alu2(b, alu_isub, constant(b, fraction_bits, 32), exponent))
        added = alu2_constant(b, alu_iand, added, 1)
        added = alu2(b, alu_iadd, alu2_constant(b, alu_ushr, below, 1), added)
        # From 1 on the leading one, which is not stored, is that bit: the exponent's lowest bit stands in its place, and is set for 1.
        away = alu2(b, alu_ult, _number(b, 0x3fe0000000000000ULL), _magnitude(b, x))
    else:
        added = _number(b, 0)
        if opcode != alu_ftrunc:
            away = alu2_constant(b, alu_ine if opcode == alu_ffloor else alu_ieq, sign, 0)
            added = _select(b, away, below, added)
            away = alu2(b, alu_iand, away, alu2_constant(b, alu_ine, _magnitude(b, x), 0))
    result = alu2(b, alu_iand, alu2(b, alu_iadd, x, added), alu1(b, alu_inot, below))
    tiny = sign if not away else alu2(b, alu_ior, sign, _select(b, away, _number(b, one), _number(b, 0)))
    result = _select(b, alu2_constant(b, alu_ilt, exponent, 0), tiny, result)
    return _or_nan(b, _select(b, alu2_constant(b, alu_ige, exponent, fraction_bits), x, result), x)


# ------------------------------------------------------------------------------------------------------------- conversions
cdef ValueId _to_narrower(Lowering *b, ValueId x, const Format *format, bint toward_zero) except? 0xffffffffU nogil:
    """To a single or a half, as a word."""
    cdef int bits = 32 if format.precision == 24 else 16
    cdef int fraction = format.precision - 1
    cdef Parts p
    cdef ValueId sign, special, result
    _unpack_normalised(b, x, &p)
    sign = alu2_constant(b, alu_ushr, p.sign, 64 - bits)
    result = alu2_constant(b, alu_iadd, p.exponent, <uint32_t>((format.special >> 1) - bias))
    result = _round_to(b, format, sign, result, alu2_constant(b, alu_ishl, p.significand, 11), toward_zero)
    special = alu2_constant(b, alu_ushr, alu2_constant(b, alu_iand, x, quiet_bit - 1), fraction_bits - fraction)
    special = alu2_constant(b, alu_ior, special, <uint64_t>1 << (fraction - 1))
    special = _select(b, _is_nan(b, x), special, _number(b, 0))
    special = alu2(b, alu_ior, alu2_constant(b, alu_ior, special, <uint64_t>format.special << fraction), sign)
    return _low(b, _select(b, _is_special(b, x), special, result))


cdef ValueId _from_narrower(Lowering *b, ValueId x, int bits) except? 0xffffffffU nogil:
    """A single or a half: every one of them is a double. Fractions are made 23 bits wide."""
    cdef int fraction = 23 if bits == 32 else 10
    cdef uint32_t special = 0xff if bits == 32 else 0x1f
    cdef ValueId word = x if bits == 32 else alu1(b, alu_u2u32, x)
    cdef ValueId sign = alu2_constant(b, alu_iand, alu2_constant(b, alu_ishl, word, 32 - bits), 0x80000000U)
    cdef ValueId exponent = alu2_constant(b, alu_iand, alu2_constant(b, alu_ushr, word, fraction), special)
    cdef ValueId bits23 = alu2_constant(b, alu_iand, alu2_constant(b, alu_ishl, word, 23 - fraction), 0x7fffff)
    cdef ValueId shift = alu2(b, alu_isub, constant(b, 23, 32), alu1(b, alu_ufind_msb, bits23))
    cdef ValueId denormal = alu2_constant(b, alu_ieq, exponent, 0)
    cdef ValueId field, high, nan
    nan = alu2(b, alu_iand, alu2_constant(b, alu_ieq, exponent, special), alu2_constant(b, alu_ine, bits23, 0))
    field = _select(b, denormal, alu2(b, alu_isub, constant(b, 1, 32), shift), exponent)
    field = alu2_constant(b, alu_iadd, field, bias - (special >> 1))
    field = _select(b, alu2_constant(b, alu_ieq, exponent, special), constant(b, special_exponent, 32), field)
    field = _select(b, alu2(b, alu_iand, denormal, alu2_constant(b, alu_ieq, bits23, 0)), constant(b, 0, 32), field)
    bits23 = alu2_constant(b, alu_iand, _select(b, denormal, alu2(b, alu_ishl, bits23, shift), bits23), 0x7fffff)
    high = alu2(b, alu_ior, alu2(b, alu_ior, sign, alu2_constant(b, alu_ishl, field, 20)), alu2_constant(b, alu_ushr, bits23, 3))
    high = _select(b, nan, alu2_constant(b, alu_ior, high, quiet_bit >> 32), high)
    return _pack(b, alu2_constant(b, alu_ishl, bits23, 29), high)


cdef ValueId _from_integer(Lowering *b, ValueId x, bint is_signed) except? 0xffffffffU nogil:
    cdef uint32_t bits = b.s.instructions.bit_size[x]
    cdef ValueId sign = 0
    cdef ValueId word, top, exponent
    if bits < 32:
        x = alu1(b, alu_i2i32 if is_signed else alu_u2u32, x)
        bits = 32
    if is_signed:
        sign = alu2_constant(b, alu_ishr, x, bits - 1)
        x = alu2(b, alu_isub, alu2(b, alu_ixor, x, sign), sign)
        sign = alu2_constant(b, alu_iand, sign if bits == 32 else _high(b, sign), 0x80000000U)
    else:
        sign = constant(b, 0, 32)
    if bits == 64:
        return _round(b, _top(b, sign), constant(b, bias + 63, 32), x)
    # 32 bits fit: the leading one goes to bit 20 of the high word, where it adds to the exponent.
    top = alu1(b, alu_ufind_msb, x)
    word = alu2(b, alu_ishl, x, alu2(b, alu_isub, constant(b, 31, 32), top))
    exponent = alu2_constant(b, alu_ishl, alu2_constant(b, alu_iadd, top, bias - 1), 20)
    exponent = alu2(b, alu_iadd, alu2(b, alu_ior, exponent, sign), alu2_constant(b, alu_ushr, word, 11))
    exponent = _select(b, alu2_constant(b, alu_ieq, x, 0), constant(b, 0, 32), exponent)
    return _pack(b, alu2_constant(b, alu_ishl, word, 21), exponent)


cdef ValueId _to_integer(Lowering *b, ValueId x, int bits, bint is_signed) except? 0xffffffffU nogil:
    """Truncated and saturated."""
    cdef ValueId negative = alu2_constant(b, alu_ilt, x, 0)
    cdef uint64_t largest = 0xffffffffffffffffULL >> (64 - bits)
    cdef Parts p
    cdef ValueId shift, value, limit
    _unpack(b, x, &p)
    shift = alu2_constant(b, alu_iadd, p.exponent, <uint32_t>(-bias - fraction_bits))
    value = alu2(b, alu_ushr, p.significand, alu2_constant(b, alu_umin, alu1(b, alu_ineg, shift), 63))
    value = _select(b, alu2_constant(b, alu_ige, shift, 0), alu2(b, alu_ishl, p.significand, shift), value)
    limit = _number(b, largest)
    if is_signed:
        value = _select(b, negative, alu1(b, alu_ineg, value), value)
        limit = _select(b, negative, _number(b, ~(largest >> 1)), _number(b, largest >> 1))
    value = _select(b, alu2_constant(b, alu_ige, p.exponent, bias + (bits - 1 if is_signed else bits)), limit, value)
    if not is_signed:
        value = _select(b, negative, _number(b, 0), value)
    value = _select(b, _is_nan(b, x), _number(b, 0), value)
    if bits == 64:
        return value
    value = _low(b, value)
    return value if bits == 32 else alu1(b, alu_u2u16 if bits == 16 else alu_u2u8, value)


# ------------------------------------------------------------------------------------------------------ exponents, the rest
cdef ValueId _scaled(Lowering *b, ValueId x, ValueId power) except? 0xffffffffU nogil:
    """ldexp."""
    cdef Parts p
    cdef ValueId exponent, result
    _unpack_normalised(b, x, &p)
    # Beyond these powers every number is infinite or zero.
    power = alu2_constant(b, alu_imin, alu2_constant(b, alu_imax, power, <uint32_t>-0x2000), 0x2000)
    exponent = alu2(b, alu_iadd, p.exponent, power)
    result = _round(b, p.sign, exponent, alu2_constant(b, alu_ishl, p.significand, 11))
    return _or_nan(b, _select(b, _is_special(b, x), x, result), x)


cdef ValueId _fraction_and_exponent(Lowering *b, int opcode, ValueId x) except? 0xffffffffU nogil:
    """frexp: x = fraction * 2 ** exponent with a fraction from 0.5 to 1; zeros, infinities and NaNs are their own fraction, with 0."""
    cdef ValueId own = alu2(b, alu_ior, _is_special(b, x), _is_zero(b, x))
    cdef Parts p
    cdef ValueId result
    _unpack_normalised(b, x, &p)
    if opcode == alu_frexp_exp:
        return _select(b, own, constant(b, 0, 32), alu2_constant(b, alu_iadd, p.exponent, <uint32_t>(1 - bias)))
    # The leading one of the significand adds to the exponent.
    result = alu2_constant(b, alu_iadd, p.significand, <uint64_t>(bias - 2) << fraction_bits)
    return _or_nan(b, _select(b, own, x, alu2(b, alu_ior, result, p.sign)), x)


cdef ValueId _sum(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    return _or_nans(b, _add(b, x, y), x, y)


cdef ValueId _subtract(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    return _sum(b, x, alu2_constant(b, alu_ixor, y, sign_bit))


cdef ValueId _remainder(Lowering *b, ValueId x, ValueId y, int rounding) except? 0xffffffffU nogil:
    """fmod and frem, as lower_alu.txt has them: x - y * floor(x / y), each operation rounded."""
    return _subtract(b, x, _multiply(b, y, double_integral(b, rounding, _divide(b, x, y))))


cdef ValueId _unary(Lowering *b, int opcode, ValueId x) except? 0xffffffffU nogil:
    if opcode == alu_fneg:
        return alu2_constant(b, alu_ixor, x, sign_bit)
    if opcode == alu_fabs:
        return _magnitude(b, x)
    if opcode == alu_fsqrt:
        return _root(b, x)
    if opcode == alu_frcp:
        return _divide(b, _number(b, one), x)
    if opcode == alu_frsq:
        return _divide(b, _number(b, one), _root(b, x))
    if opcode in (alu_ftrunc, alu_ffloor, alu_fceil, alu_fround_even):
        return double_integral(b, opcode, x)
    if opcode == alu_ffract:
        return _subtract(b, x, double_integral(b, alu_ffloor, x))
    if opcode == alu_fsign:
        return double_sign(b, x)
    if opcode == alu_fsat:
        return double_saturated(b, x)
    if opcode == alu_fcanonicalize:
        return _or_nan(b, x, x)
    if opcode == alu_frexp_exp or opcode == alu_frexp_sig:
        return _fraction_and_exponent(b, opcode, x)
    return _no_software(b, opcode)


cdef ValueId _binary(Lowering *b, int opcode, ValueId x, ValueId y) except? 0xffffffffU nogil:
    if opcode == alu_fadd:
        return _sum(b, x, y)
    if opcode == alu_fsub:
        return _subtract(b, x, y)
    if opcode == alu_fmul:
        return _multiply(b, x, y)
    if opcode == alu_fdiv:
        return _divide(b, x, y)
    if opcode == alu_fmin:
        return double_minimum(b, x, y)
    if opcode == alu_fmax:
        return double_maximum(b, x, y)
    if opcode == alu_fmod or opcode == alu_frem:
        return _remainder(b, x, y, alu_ffloor if opcode == alu_fmod else alu_ftrunc)
    if opcode == alu_ldexp:
        return _scaled(b, x, y)
    if opcode in (alu_flt, alu_fge, alu_feq, alu_fneu, alu_fltu, alu_fgeu, alu_fequ, alu_fneo, alu_ford, alu_funord):
        return _compare(b, opcode, x, y)
    return _no_software(b, opcode)


cdef ValueId _conversion(Lowering *b, int opcode, ValueId x) except? 0xffffffffU nogil:
    """Conversions from and to doubles; 0 for another opcode."""
    cdef uint32_t bits = b.s.instructions.bit_size[x]
    if opcode == alu_f2f64:
        return x if bits == 64 else _from_narrower(b, x, bits)
    if opcode == alu_f2f32:
        return _to_narrower(b, x, &single_format, False)
    if opcode == alu_f2f16 or opcode == alu_f2f16_rtne or opcode == alu_f2f16_rtz:
        x = _to_narrower(b, x, &half_format, opcode == alu_f2f16_rtz
                         or (opcode == alu_f2f16 and b.s.info.float_controls & round_zero16 != 0))
        return alu1(b, alu_u2u16, x)
    if opcode == alu_i2f64 or opcode == alu_u2f64:
        return _from_integer(b, x, opcode == alu_i2f64)
    if opcode == alu_b2f64:
        return _select(b, x, _number(b, one), _number(b, 0))
    if opcode == alu_f2i1 or opcode == alu_f2u1:
        return _compare(b, alu_fneu, x, _number(b, 0))
    if opcode in (alu_f2i8, alu_f2i16, alu_f2i32, alu_f2i64, alu_f2u8, alu_f2u16, alu_f2u32, alu_f2u64):
        return _to_integer(b, x, alu_output_type[opcode] & 0xff, opcode in (alu_f2i8, alu_f2i16, alu_f2i32, alu_f2i64))
    return 0


cdef ValueId _no_software(Lowering *b, int opcode) except? 0xffffffffU nogil:
    with gil:
        raise UnsupportedError(f"software fp64: {(<const char *>alu_names[opcode]).decode()} of 64 bits")


cdef bint is_double_operation(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int i
    if s.instructions.kind[instruction] != nir_alu:
        return False
    if alu_output_type[opcode] >> 8 == base_float and s.instructions.bit_size[instruction] == 64:
        return True
    for i in range(alu_input_count[opcode]):
        if alu_input_types_flat[opcode * alu_max_inputs + i] >> 8 == base_float and \
                s.instructions.bit_size[source_value(s, instruction, i)] == 64:
            return True
    return False


cdef ValueId software_double(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef int count = alu_input_count[opcode]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId result
    if count == 1:
        result = _conversion(b, opcode, x)
        return result if result else _unary(b, opcode, x)
    if count == 2:
        return _binary(b, opcode, x, alu_source(b, instruction, 1, 0))
    if opcode == alu_ffma:
        return _fused(b, x, alu_source(b, instruction, 1, 0), alu_source(b, instruction, 2, 0))
    if opcode in (alu_fmin3, alu_fmax3, alu_fmed3):
        return _of_three(b, opcode, x, alu_source(b, instruction, 1, 0), alu_source(b, instruction, 2, 0))
    return _no_software(b, opcode)
