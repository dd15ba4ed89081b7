"""Arithmetic that the instructions share: half floats, conversions that saturate, bit counts, IEEE corner cases.

All functions are pure and inline. Half floats travel as doubles: sums and products of two halves are exact there, so one
rounding at the end is the correctly rounded result; ``fma_odd`` rounds to odd so that the same holds for three.
"""
from libc.math cimport INFINITY, NAN, ceil, copysign, fabs, floor, fma, frexp, isinf, ldexp, rint, sqrt, trunc
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.common.bits cimport (leading_zeros32, leading_zeros64, popcount, sign_extended, trailing_zeros32,
                                      trailing_zeros64)
from pyaco._core.common.floats cimport *

cdef extern from "<math.h>" nogil:
    float fmaf(float, float, float)
    float scalbnf(float, int)
    double scalbn(double, int)
    bint signbit(double)

cdef enum:                            # variants of 8-bit floats
    small_fnuz = 1                    # as CDNA 3 has them
    small_saturates = 2               # FP16_OVFL

# ------------------------------------------------------------------------------------------------------- small floats
cdef inline float round_bfloat(float value) noexcept nogil:
    return bits_bfloat(to_bfloat(value))

# FP8 has 4 bits of exponent (bias 7), no infinity and one NaN, 0x7f; BF8 is the top byte of a half. On CDNA 3 both biases are
# one more, 0x80 is the only NaN, and there is neither infinity nor -0 (the "fnuz" forms).
cdef inline double small_magnitude(uint32_t magnitude, uint32_t mantissa, int smallest) noexcept nogil:
    """A number with `mantissa` bits after the point, whose least normal exponent is `smallest`."""
    cdef uint32_t one = <uint32_t>1 << mantissa
    if magnitude < one:
        return ldexp(magnitude, smallest - <int>mantissa)
    return ldexp(one + (magnitude & (one - 1)), <int>(magnitude >> mantissa) - 1 + smallest - <int>mantissa)

cdef inline float signed_small(uint32_t bits, uint32_t mantissa, int smallest) noexcept nogil:
    cdef double value = small_magnitude(bits & 0x7f, mantissa, smallest)
    return <float>(-value if bits & 0x80 else value)

cdef inline float fp8_to_float(uint32_t bits, uint32_t small) noexcept nogil:
    bits &= 0xff
    if small & small_fnuz:
        return bits_float(0x7fc00000) if bits == 0x80 else signed_small(bits, 3, -7)
    if bits & 0x7f == 0x7f:
        return bits_float(0x7fc00000 | ((bits & 0x80) << 24))
    return signed_small(bits, 3, -6)

cdef inline float bf8_to_float(uint32_t bits, uint32_t small) noexcept nogil:
    bits &= 0xff
    if small & small_fnuz:
        return bits_float(0x7fc00000) if bits == 0x80 else signed_small(bits, 2, -15)
    return <float>half_to_double(bits << 8)

cdef inline uint32_t float_to_small(float value, uint32_t mantissa, int smallest, uint32_t largest,
                                    uint32_t overflow) noexcept nogil:
    """The 7 bits of the nearest magnitude, ties to even, of a format whose least exponent is `smallest`."""
    cdef uint32_t bits = float_bits(value) & 0x7fffffff
    cdef int exponent = <int>(bits >> 23) - 127
    cdef uint64_t fraction = (bits & 0x7fffff) | (0x800000 if bits >> 23 else 0)
    cdef uint32_t shift = 23 - mantissa
    cdef uint64_t rest
    cdef uint32_t result
    if exponent < smallest:
        shift += min(<uint32_t>(smallest - exponent), <uint32_t>30)
        exponent = smallest - 1
    rest = fraction & ((<uint64_t>1 << shift) - 1)
    result = <uint32_t>(fraction >> shift)
    if rest > (<uint64_t>1 << (shift - 1)) or (rest == (<uint64_t>1 << (shift - 1)) and result & 1):
        result += 1
    if exponent >= smallest:
        result += <uint32_t>(exponent - smallest) << mantissa
    return overflow if result > largest else result

cdef inline uint32_t float_to_fnuz(float value, uint32_t mantissa, int smallest, uint32_t small) noexcept nogil:
    """Larger numbers become NaN, or the largest number where FP16_OVFL says so."""
    cdef uint32_t magnitude
    if value != value:
        return 0x80
    magnitude = float_to_small(value, mantissa, smallest, 0x7f, 0x7f if small & small_saturates else 0x80)
    return magnitude if magnitude == 0 or magnitude == 0x80 else magnitude | ((float_bits(value) >> 24) & 0x80)

cdef inline uint32_t float_to_fp8(float value, uint32_t small) noexcept nogil:
    """Larger numbers become NaN, or the largest number where FP16_OVFL says so."""
    cdef uint32_t sign = (float_bits(value) >> 24) & 0x80
    if small & small_fnuz:
        return float_to_fnuz(value, 3, -7, small)
    if value != value:
        return sign | 0x7f
    return sign | float_to_small(value, 3, -6, 0x7e, 0x7e if small & small_saturates and not isinf(value) else 0x7f)

cdef inline uint32_t float_to_bf8(float value, uint32_t small) noexcept nogil:
    """Larger numbers become infinity, or the largest number where FP16_OVFL says so."""
    cdef uint32_t sign = (float_bits(value) >> 24) & 0x80
    if small & small_fnuz:
        return float_to_fnuz(value, 2, -15, small)
    if value != value:
        return sign | 0x7f
    return sign | float_to_small(value, 2, -14, 0x7b, 0x7b if small & small_saturates and not isinf(value) else 0x7c)

cdef inline float add_to_mantissa(float value, uint32_t addend) noexcept nogil:
    """Stochastic rounding: the mantissa grows and wraps around, sign and exponent stay."""
    cdef uint32_t bits = float_bits(value)
    return bits_float((bits & 0xff800000U) | ((bits + addend) & 0x7fffff))

cdef inline uint64_t narrow_magnitude(float value, uint32_t mantissa, int smallest, bint stochastic, uint32_t random) noexcept nogil:
    """The magnitude of a finite single in a narrower format as if its exponents went on: the nearest, ties to even, or by a random number.

    `mantissa` is in bits, `smallest` the least normal exponent. The random number is added below the last bit, all its 32 bits from the top.
    """
    cdef uint32_t bits = float_bits(value) & 0x7fffffff
    cdef int exponent = max(<int>(bits >> 23), 1) - 127
    cdef uint64_t fraction = <uint64_t>((bits & 0x7fffff) | (0x800000 if bits >> 23 else 0)) << 32
    cdef uint32_t shift = 23 - mantissa
    cdef uint64_t scaled, result
    if exponent < smallest:
        shift = min(shift + <uint32_t>(smallest - exponent), <uint32_t>62)
        exponent = smallest
    if stochastic:
        result = ((fraction >> shift) + random) >> 32
    else:
        scaled = (fraction >> shift) | ((fraction & ((<uint64_t>1 << shift) - 1)) != 0)     # 32 bits after the point; a lost bit breaks ties
        result = (scaled + 0x7fffffff + ((scaled >> 32) & 1)) >> 32
    return result + (<uint64_t>(exponent - smallest) << mantissa)

cdef inline uint32_t stochastic_short(float value, uint32_t mantissa, int smallest, uint32_t infinity, uint32_t random,
                                      uint32_t small) noexcept nogil:
    """A format of 16 bits. Larger numbers become infinity, or the largest number where FP16_OVFL says so."""
    cdef uint32_t sign = (float_bits(value) >> 16) & 0x8000
    if value != value:
        return sign | infinity | <uint32_t>1 << (mantissa - 1)
    if isinf(value):
        return sign | infinity
    return sign | <uint32_t>min(narrow_magnitude(value, mantissa, smallest, True, random), <uint64_t>(infinity - (small & small_saturates != 0)))

cdef inline uint32_t stochastic_half(float value, uint32_t random, uint32_t small) noexcept nogil:
    return stochastic_short(value, 10, -14, 0x7c00, random, small)

cdef inline uint32_t stochastic_bfloat(float value, uint32_t random, uint32_t small) noexcept nogil:
    return stochastic_short(value, 7, -126, 0x7f80, random, small)

cdef inline uint32_t next_random(uint32_t value) noexcept nogil:
    return (value << 1) ^ (197 if value >> 31 else 0)       # V_PRNG_B32

cdef inline uint32_t put_byte(uint32_t word, uint32_t index, uint32_t value) noexcept nogil:
    index = 8 * (index & 3)
    return (word & ~(<uint32_t>0xff << index)) | (value << index)

# The byte of a source that V_CVT_F32_FP8 converts: op_sel has its number with the two bits exchanged.
cdef inline uint32_t chosen_byte(uint32_t word, uint32_t opsel) noexcept nogil:
    return (word >> (16 * (opsel & 1) + 8 * ((opsel >> 1) & 1))) & 0xff

cdef inline float product_fp8(uint32_t a, uint32_t b, bint a_bf8, bint b_bf8) noexcept nogil:
    return (bf8_to_float(a, 0) if a_bf8 else fp8_to_float(a, 0)) * (bf8_to_float(b, 0) if b_bf8 else fp8_to_float(b, 0))

cdef inline float dot4_fp8(uint32_t a, uint32_t b, float c, bint a_bf8, bint b_bf8) noexcept nogil:
    cdef uint32_t i
    for i in range(4):
        c = c + product_fp8(a >> (8 * i), b >> (8 * i), a_bf8, b_bf8)
    return c

cdef inline double half_sum(double a, double b, uint32_t rounding) noexcept nogil:
    """The sum of two halves: exact in double, but for the sign of a zero, which depends on the rounding mode."""
    cdef double total = a + b
    if total == 0 and rounding & 3 == round_down and not (a == 0 and b == 0 and signbit(a) == signbit(b)):
        return -0.0
    return total

cdef inline double fma_odd(double a, double b, double c, uint32_t rounding) noexcept nogil:
    """a * b + c of halves, rounded to odd in double (Boldo, Melquiond 2008), for one correct rounding to half after it."""
    cdef double product = a * b                             # exact: 22 bits
    cdef double total = half_sum(product, c, rounding)
    cdef double back = total - product
    cdef double error = (product - (total - back)) + (c - back)
    cdef uint64_t bits = double_bits(total)
    if error == 0 or error != error or (bits & 1):
        return total
    if (error > 0) == (total > 0):
        return bits_double(bits + 1)
    return bits_double(bits - 1)

cdef inline double sum_odd(double a, double b) noexcept nogil:
    """a + b of singles, rounded to odd in double."""
    return fma_odd(a, 1.0, b, round_nearest)

cdef inline bint is_bfloat_nan(uint32_t bits) noexcept nogil:
    return bits & 0x7fff > 0x7f80

# Bfloats without a single on their way: a host that flushes singles would lose their denormals.
cdef inline double bfloat_value(uint32_t bits) noexcept nogil:
    cdef uint32_t exponent = (bits >> 7) & 0xff
    cdef uint64_t fraction = bits & 0x7f
    cdef uint64_t sign = <uint64_t>(bits & 0x8000) << 48
    if exponent == 0:
        return copysign(<double><int64_t>fraction * 9.183549615799121e-41, bits_double(sign | 1))     # 2 ** -133
    return bits_double(sign | ((<uint64_t>exponent + 896 if exponent != 255 else <uint64_t>2047) << 52) | (fraction << 45))

cdef inline uint32_t bfloat_of(double value, uint32_t clamp, uint32_t a, uint32_t b, uint32_t c) noexcept nogil:
    """The nearest bfloat, ties to even; a NaN is the first of the sources."""
    cdef uint64_t bits = double_bits(value)
    cdef uint32_t sign = <uint32_t>(bits >> 48) & 0x8000
    cdef int64_t exponent = <int64_t>((bits >> 52) & 0x7ff) - 896
    cdef uint64_t fraction = (bits & 0xfffffffffffffULL) | (<uint64_t>1 << 52)
    cdef uint64_t shift = 45
    cdef uint64_t rounded
    if value != value:
        a = a if is_bfloat_nan(a) else (b if is_bfloat_nan(b) else (c if is_bfloat_nan(c) else 0x7fc0))
        return 0 if clamp else a | 0x40
    if exponent < 1:                                        # a denormal, or nothing: doubles' own are below all of them
        shift = <uint64_t>min(<int64_t>46 - exponent, <int64_t>60)
        exponent = 1
    rounded = (fraction + (((<uint64_t>1) << (shift - 1)) - 1) + ((fraction >> shift) & 1)) >> shift
    rounded += <uint64_t>(exponent - 1) << 7
    if rounded > 0x7f80 or value == INFINITY or value == -INFINITY:
        rounded = 0x7f80
    if clamp:
        return 0 if sign else min(<uint32_t>rounded, <uint32_t>0x3f80)
    return sign | <uint32_t>rounded

cdef inline uint32_t saturate_nibbles(uint32_t word, uint32_t is_signed) noexcept nogil:
    """Four bytes as numbers of four bits each."""
    cdef uint32_t result = 0
    cdef uint32_t i
    cdef int32_t value
    for i in range(4):
        value = (word >> (8 * i)) & 0xff
        if is_signed:
            value = max(-8, min(<int32_t><int8_t>value, 7)) & 15
        else:
            value = min(value, 15)
        result |= <uint32_t>value << (4 * i)
    return result

cdef inline uint32_t bits_by_table(uint32_t table, uint32_t a, uint32_t b) noexcept nogil:
    """For every bit the bit 4 a + 2 b of a truth table: that of V_BITOP3 without its third source."""
    cdef uint32_t result = 0
    cdef uint32_t entry
    for entry in range(4):
        if (table >> (2 * entry)) & 1:
            result |= (a if entry & 2 else ~a) & (b if entry & 1 else ~b)
    return result

cdef inline float fma_toward_zero(float a, float b, float c) noexcept nogil:
    """a * b + c, rounded towards zero: to odd in double (the product is exact there), then truncated."""
    cdef double product = <double>a * b
    cdef double total = product + c
    cdef double back = total - product
    cdef double error = (product - (total - back)) + (c - back)
    cdef float nearest
    if error != 0 and error == error and not double_bits(total) & 1:
        total = bits_double(double_bits(total) + (1 if (error > 0) == (total > 0) else -1))
    nearest = <float>total
    if not isinf(total) and (nearest > total if total > 0 else nearest < total):
        nearest = bits_float(float_bits(nearest) - 1)
    return nearest

# Rounding to integers keeps the sign, zeros' too; the host's functions give +0 - 0 by the rounding mode.
cdef inline double floor_of(double value) noexcept nogil:
    return copysign(floor(value), value)

cdef inline double ceil_of(double value) noexcept nogil:
    return copysign(ceil(value), value)

cdef inline double trunc_of(double value) noexcept nogil:
    return copysign(trunc(value), value)

cdef inline float flush32(float value) noexcept nogil:
    """A denormal becomes zero of its sign."""
    cdef uint32_t bits = float_bits(value)
    return bits_float(bits & 0x80000000U) if (bits & 0x7f800000U) == 0 else value

# -------------------------------------------------------------------------------------------------------- conversions
cdef inline int32_t to_i32(double value) noexcept nogil:
    if value != value:
        return 0
    if value >= 2147483647.0:
        return 2147483647
    if value <= -2147483648.0:
        return <int32_t>0x80000000U
    return <int32_t>value

cdef inline uint32_t to_u32(double value) noexcept nogil:
    if not value > 0:
        return 0
    if value >= 4294967295.0:
        return 0xffffffffU
    return <uint32_t>value

cdef inline int64_t to_i64(double value) noexcept nogil:
    """Truncation for later saturation to a narrow type; NaN is 0."""
    if value != value:
        return 0
    if value >= 1e15:
        return 1000000000000000
    if value <= -1e15:
        return -1000000000000000
    return <int64_t>value

cdef inline int64_t saturate_i32(int64_t value) noexcept nogil:
    return 2147483647 if value > 2147483647 else (-2147483648LL if value < -2147483648LL else value)

cdef inline int32_t saturate_i16(int64_t value) noexcept nogil:
    return 32767 if value > 32767 else (-32768 if value < -32768 else <int32_t>value)

cdef inline uint32_t saturate_u16(int64_t value) noexcept nogil:
    return 65535 if value > 65535 else (0 if value < 0 else <uint32_t>value)

cdef inline uint32_t saturate_u8(int64_t value) noexcept nogil:
    return 255 if value > 255 else (0 if value < 0 else <uint32_t>value)

cdef inline double nearest_even(double value) noexcept nogil:
    """Round to an integer, ties to even, whatever the host's rounding mode is; the sign of zero is kept."""
    cdef double down = floor(value)
    cdef double rest = value - down
    cdef double result
    if fabs(value) >= 4503599627370496.0 or value != value:
        return value
    if rest > 0.5 or (rest == 0.5 and floor(down / 2) * 2 != down):
        result = down + 1
    else:
        result = down
    # down may be -0 of a positive value where the host rounds down
    return copysign(result, value)

cdef inline uint32_t to_snorm16(double value) noexcept nogil:
    """Signed normalised 16 bits, symmetric: -1 is -32767; NaN is 0."""
    if value != value:
        return 0
    return <uint32_t><int32_t>nearest_even((1.0 if value > 1 else (-1.0 if value < -1 else value)) * 32767) & 0xffff

cdef inline uint32_t to_unorm16(double value) noexcept nogil:
    if not value > 0:
        return 0
    return <uint32_t>nearest_even((1.0 if value > 1 else value) * 65535)

# ------------------------------------------------------------------------------------------------------ floating point
cdef inline double min_number(double a, double b) noexcept nogil:
    """The smaller; a NaN loses against a number, and -0 < +0."""
    if a != a:
        return b
    if b != b:
        return a
    if a == 0 and b == 0:
        return a if signbit(a) else b
    return a if a < b else b

cdef inline double max_number(double a, double b) noexcept nogil:
    if a != a:
        return b
    if b != b:
        return a
    if a == 0 and b == 0:
        return b if signbit(a) else a
    return a if a > b else b

cdef inline double minimum(double a, double b) noexcept nogil:
    """IEEE 754-2019 minimum: a NaN wins."""
    if a != a or b != b:
        return NAN
    return min_number(a, b)

cdef inline double maximum(double a, double b) noexcept nogil:
    if a != a or b != b:
        return NAN
    return max_number(a, b)

cdef inline double median_number(double a, double b, double c) noexcept nogil:
    cdef double largest
    if a != a or b != b or c != c:
        return min_number(min_number(a, b), c)
    largest = max_number(max_number(a, b), c)
    if largest == a:
        return max_number(b, c)
    if largest == b:
        return max_number(a, c)
    return max_number(a, b)

cdef inline float finite32(float value) noexcept nogil:
    """The largest number of its sign for an infinity."""
    return copysign(bits_float(0x7f7fffff), value) if isinf(value) else value

cdef inline double finite64(double value) noexcept nogil:
    return copysign(bits_double(0x7fefffffffffffffULL), value) if isinf(value) else value

cdef inline float zero_of_infinity(float value) noexcept nogil:
    """Zero of its sign for an infinity."""
    return copysign(0.0, value) if isinf(value) else value

cdef inline float fract32(float value) noexcept nogil:
    """value - floor(value), kept below one; an integer gives +0 in every rounding mode."""
    cdef float result = value - <float>floor_of(value)
    return bits_float(0x3f7fffff) if result >= 1 else (0.0 if result == 0 else result)

cdef inline double fract64(double value) noexcept nogil:
    cdef double result = value - floor_of(value)
    return bits_double(0x3fefffffffffffffULL) if result >= 1 else (0.0 if result == 0 else result)

cdef inline double fract16(double value) noexcept nogil:
    cdef double result = value - floor_of(value)
    return 0.99951171875 if round_half(result) >= 1 else (0.0 if result == 0 else result)

cdef inline int32_t exponent_of(double value) noexcept nogil:
    """The exponent with the mantissa in [0.5, 1); 0 for zero, infinity and NaN."""
    cdef int exponent = 0
    if value == 0 or isinf(value) or value != value:
        return 0
    frexp(value, &exponent)
    return exponent

cdef inline double mantissa_of(double value) noexcept nogil:
    cdef int exponent
    if value == 0 or isinf(value) or value != value:
        return value
    return frexp(value, &exponent)

cdef inline uint32_t quiet_single(uint32_t bits) noexcept nogil:
    """A NaN with the highest bit of its fraction set; other numbers as they are."""
    return bits | 0x400000 if bits & 0x7fffffff > 0x7f800000U else bits

cdef inline uint64_t quiet_double(uint64_t bits) noexcept nogil:
    return bits | 0x8000000000000ULL if bits & 0x7fffffffffffffffULL > 0x7ff0000000000000ULL else bits

cdef inline double division_fixup(double quotient, double denominator, double numerator, int precision,
                                  int smallest, int largest) noexcept nogil:
    """V_DIV_FIXUP: a quotient corrected for the special cases of numerator / denominator."""
    cdef bint negative = signbit(denominator) != signbit(numerator)
    cdef double magnitude
    cdef int distance
    if numerator != numerator:
        return numerator
    if denominator != denominator:
        return denominator
    if (denominator == 0 and numerator == 0) or (isinf(denominator) and isinf(numerator)):
        return bits_double(0xfff8000000000000ULL)
    if denominator == 0 or isinf(numerator):
        magnitude = INFINITY
    elif isinf(denominator) or numerator == 0:
        magnitude = 0.0
    else:
        distance = exponent_of(numerator) - exponent_of(denominator)
        if distance < smallest - 1:
            magnitude = 0.0
        elif quotient != quotient:
            magnitude = INFINITY
        else:
            magnitude = fabs(quotient)
    return -magnitude if negative else magnitude

cdef inline int exponent_field32(float value) noexcept nogil:
    return <int>((float_bits(value) >> 23) & 0xff)

cdef inline uint32_t division_scale32(uint32_t s0, uint32_t s1, uint32_t s2, uint64_t *flag) noexcept nogil:
    """V_DIV_SCALE_F32: scales numerator or denominator so that the refinement of the quotient stays in range.

    s0 is whichever of s1 (denominator) and s2 (numerator) is to be scaled; the flag tells V_DIV_FMAS to undo it. The
    pseudocode of the documents leaves out the result without scaling, and the flag for zeros.
    """
    cdef float value = bits_float(s0)
    cdef float denominator = bits_float(s1)
    cdef float numerator = bits_float(s2)
    cdef bint wants_denominator = s0 == s1
    cdef bint reciprocal_tiny, quotient_tiny
    cdef int distance
    flag[0] = 0
    if denominator != denominator or numerator != numerator or isinf(denominator) or isinf(numerator):
        return s0
    if denominator == 0 or numerator == 0:
        flag[0] = 1
        return 0x7fc00000
    distance = exponent_of(numerator) - exponent_of(denominator)
    reciprocal_tiny = fabs(1.0 / <double>denominator) < 1.1754943508222875e-38
    quotient_tiny = distance <= -126
    if distance >= 96:
        flag[0] = 1
        return float_bits(scalbnf(value, 64)) if wants_denominator else s0
    if exponent_field32(denominator) == 0:
        return float_bits(scalbnf(value, 64))
    if reciprocal_tiny and quotient_tiny:
        flag[0] = 1
        return float_bits(scalbnf(value, 64)) if wants_denominator else s0
    if reciprocal_tiny:
        return float_bits(scalbnf(value, -64))
    if quotient_tiny:
        flag[0] = 1
        return float_bits(scalbnf(value, 64)) if s0 == s2 else s0
    if exponent_field32(numerator) <= 23:
        return float_bits(scalbnf(value, 64))
    return s0

cdef inline uint64_t division_scale64(uint64_t s0, uint64_t s1, uint64_t s2, uint64_t *flag) noexcept nogil:
    cdef double value = bits_double(s0)
    cdef double denominator = bits_double(s1)
    cdef double numerator = bits_double(s2)
    cdef bint wants_denominator = s0 == s1
    cdef int distance
    cdef bint reciprocal_tiny, quotient_tiny
    flag[0] = 0
    if denominator != denominator or numerator != numerator or isinf(denominator) or isinf(numerator):
        return s0
    if denominator == 0 or numerator == 0:
        flag[0] = 1
        return 0x7ff8000000000000ULL
    distance = exponent_of(numerator) - exponent_of(denominator)
    reciprocal_tiny = fabs(1.0 / denominator) < 2.2250738585072014e-308
    quotient_tiny = distance <= -1022
    if distance >= 768:
        flag[0] = 1
        return double_bits(scalbn(value, 128)) if wants_denominator else s0
    if ((s1 >> 52) & 0x7ff) == 0:
        return double_bits(scalbn(value, 128))
    if reciprocal_tiny and quotient_tiny:
        flag[0] = 1
        return double_bits(scalbn(value, 128)) if wants_denominator else s0
    if reciprocal_tiny:
        return double_bits(scalbn(value, -128))
    if quotient_tiny:
        flag[0] = 1
        return double_bits(scalbn(value, 128)) if s0 == s2 else s0
    if ((s2 >> 52) & 0x7ff) <= 53:
        return double_bits(scalbn(value, 128))
    return s0

cdef inline uint64_t class_bit(bint negative, bint exponent_zero, bint exponent_ones, bint fraction,
                               bint quiet) noexcept nogil:
    """The bit of V_CMP_CLASS's mask that a value belongs to."""
    if exponent_ones and fraction:
        return 2 if quiet else 1
    if exponent_ones:
        return 4 if negative else 0x200
    if exponent_zero and not fraction:
        return 0x20 if negative else 0x40
    if exponent_zero:
        return 0x10 if negative else 0x80
    return 8 if negative else 0x100

cdef inline uint64_t class_of32(uint32_t v, uint32_t mask) noexcept nogil:
    return (class_bit(v >> 31, ((v >> 23) & 0xff) == 0, ((v >> 23) & 0xff) == 0xff, (v & 0x7fffff) != 0,
                      (v >> 22) & 1) & mask) != 0

cdef inline uint64_t class_of16(uint32_t v, uint32_t mask) noexcept nogil:
    return (class_bit((v >> 15) & 1, ((v >> 10) & 0x1f) == 0, ((v >> 10) & 0x1f) == 0x1f, (v & 0x3ff) != 0,
                      (v >> 9) & 1) & mask) != 0

cdef inline uint64_t class_of64(uint64_t v, uint32_t mask) noexcept nogil:
    return (class_bit(v >> 63, ((v >> 52) & 0x7ff) == 0, ((v >> 52) & 0x7ff) == 0x7ff,
                      (v & 0xfffffffffffffULL) != 0, (v >> 51) & 1) & mask) != 0

cdef inline float absolute(float value) noexcept nogil:
    return bits_float(float_bits(value) & 0x7fffffff)

cdef inline float cube_id(float x, float y, float z) noexcept nogil:
    """Face of a cube map: 0 to 5 for +x -x +y -y +z -z; ties prefer z, then y."""
    if absolute(z) >= absolute(x) and absolute(z) >= absolute(y):
        return 5.0 if z < 0 else 4.0
    if absolute(y) >= absolute(x):
        return 3.0 if y < 0 else 2.0
    return 1.0 if x < 0 else 0.0

cdef inline float cube_s(float x, float y, float z) noexcept nogil:
    if absolute(z) >= absolute(x) and absolute(z) >= absolute(y):
        return -x if z < 0 else x
    if absolute(y) >= absolute(x):
        return x
    return z if x < 0 else -z

cdef inline float cube_t(float x, float y, float z) noexcept nogil:
    if absolute(z) >= absolute(x) and absolute(z) >= absolute(y):
        return -y
    if absolute(y) >= absolute(x):
        return -z if y < 0 else z
    return -y

cdef inline float cube_major(float x, float y, float z) noexcept nogil:
    if absolute(z) >= absolute(x) and absolute(z) >= absolute(y):
        return z
    if absolute(y) >= absolute(x):
        return y
    return x

# -------------------------------------------------------------------------------------------------------------- integers
# Where an instruction counts zeros, a source without ones gives -1.
cdef inline uint32_t leading32(uint32_t value) noexcept nogil:
    return leading_zeros32(value) if value else 0xffffffffU

cdef inline uint32_t leading64(uint64_t value) noexcept nogil:
    return leading_zeros64(value) if value else 0xffffffffU

cdef inline uint32_t first_one32(uint32_t value) noexcept nogil:
    return trailing_zeros32(value) if value else 0xffffffffU

cdef inline uint32_t first_one64(uint64_t value) noexcept nogil:
    return trailing_zeros64(value) if value else 0xffffffffU

cdef inline uint32_t reverse32(uint32_t v) noexcept nogil:
    v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1)
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2)
    v = ((v >> 4) & 0x0f0f0f0f) | ((v & 0x0f0f0f0f) << 4)
    v = ((v >> 8) & 0x00ff00ff) | ((v & 0x00ff00ff) << 8)
    return (v >> 16) | (v << 16)

cdef inline uint64_t replicate_bits(uint32_t value) noexcept nogil:
    """Every bit twice."""
    cdef uint64_t result = 0
    cdef uint32_t i
    for i in range(32):
        if (value >> i) & 1:
            result |= <uint64_t>3 << (2 * i)
    return result

cdef inline uint64_t whole_quad(uint64_t mask) noexcept nogil:
    cdef uint64_t any_lane = (mask | (mask >> 1) | (mask >> 2) | (mask >> 3)) & 0x1111111111111111ULL
    return any_lane * 15

cdef inline uint64_t quad_mask(uint64_t mask) noexcept nogil:
    cdef uint64_t result = 0
    cdef uint32_t i
    for i in range(16):
        if (mask >> (4 * i)) & 15:
            result |= <uint64_t>1 << i
    return result

cdef inline uint64_t extract_unsigned(uint64_t value, uint32_t offset, uint32_t width, uint32_t size) noexcept nogil:
    if width == 0:
        return 0
    value >>= offset
    return value if width >= size else value & ((<uint64_t>1 << width) - 1)

cdef inline int64_t extract_signed(int64_t value, uint32_t offset, uint32_t width, uint32_t size) noexcept nogil:
    if width == 0:
        return 0
    value >>= offset
    if width >= size:
        return value
    return sign_extended(<uint64_t>value, width)

# Fields of less than 32 bits, without branches.
cdef inline uint32_t short_field(uint32_t value, uint32_t offset, uint32_t width) noexcept nogil:
    return (value >> offset) & ((<uint32_t>1 << width) - 1)

cdef inline uint32_t short_signed_field(int32_t value, uint32_t offset, uint32_t width) noexcept nogil:
    cdef uint32_t sign = (<uint32_t>1 << width) >> 1
    return (short_field(<uint32_t>(value >> offset), 0, width) ^ sign) - sign

cdef inline int64_t signed24(uint32_t value) noexcept nogil:
    return <int32_t>(value << 8) >> 8

cdef inline uint32_t difference(uint32_t a, uint32_t b) noexcept nogil:
    return a - b if a > b else b - a

cdef inline uint32_t sad_bytes(uint32_t a, uint32_t b) noexcept nogil:
    return (difference(a & 0xff, b & 0xff) + difference((a >> 8) & 0xff, (b >> 8) & 0xff)
            + difference((a >> 16) & 0xff, (b >> 16) & 0xff) + difference(a >> 24, b >> 24))

cdef inline uint32_t masked_sad_bytes(uint32_t a, uint32_t b) noexcept nogil:
    """Bytes of b that are zero do not count."""
    cdef uint32_t total = 0
    cdef uint32_t i
    for i in range(4):
        if (b >> (8 * i)) & 0xff:
            total += difference((a >> (8 * i)) & 0xff, (b >> (8 * i)) & 0xff)
    return total

cdef inline uint64_t quad_sad(uint64_t a, uint32_t b, uint64_t c, bint masked) noexcept nogil:
    cdef uint64_t result = 0
    cdef uint32_t i, part
    for i in range(4):
        part = <uint32_t>(a >> (8 * i))
        part = masked_sad_bytes(part, b) if masked else sad_bytes(part, b)
        part += <uint32_t>(c >> (16 * i)) & 0xffff
        result |= <uint64_t>(0xffff if part > 0xffff else part) << (16 * i)
    return result

cdef inline uint32_t lerp_bytes(uint32_t a, uint32_t b, uint32_t c) noexcept nogil:
    cdef uint32_t result = 0
    cdef uint32_t i
    for i in range(4):
        result |= ((((a >> (8 * i)) & 0xff) + ((b >> (8 * i)) & 0xff) + ((c >> (8 * i)) & 1)) >> 1) << (8 * i)
    return result

cdef inline uint32_t permute_byte(uint64_t bytes, uint32_t selector) noexcept nogil:
    """A byte of eight; from 8 on the sign of byte 1, 3, 5 or 7 in every bit, 12 is zeros, what is above is ones."""
    cdef uint32_t byte = <uint32_t>(bytes >> (8 * (selector & 7))) & 0xff
    cdef uint32_t sign = <uint32_t>(bytes >> (16 * (selector & 3) + 15)) & 1
    cdef uint32_t extended = 0xff * sign if selector < 12 else 0
    cdef uint32_t found = byte if selector < 8 else extended
    return found if selector < 13 else 0xff

cdef inline uint32_t permute_bytes(uint32_t high, uint32_t low, uint32_t selectors) noexcept nogil:
    cdef uint64_t bytes = (<uint64_t>high << 32) | low
    return (permute_byte(bytes, selectors & 0xff) | (permute_byte(bytes, (selectors >> 8) & 0xff) << 8)
            | (permute_byte(bytes, (selectors >> 16) & 0xff) << 16) | (permute_byte(bytes, selectors >> 24) << 24))

# Sums of products of bytes fit 32 bits; the addend may not: additions find that without wider numbers, for the compiler's vectors.
cdef inline uint32_t byte_number(uint32_t word, uint32_t position, uint32_t sign) noexcept nogil:
    """A byte, extended by its sign where `sign` is that bit, and not where it is 0."""
    return (((word >> (8 * position)) & 0xff) ^ sign) - sign

cdef inline uint32_t dot4(uint32_t a, uint32_t b, int32_t c, bint a_signed, bint b_signed, bint clamp) noexcept nogil:
    cdef uint32_t first = 0x80 if a_signed else 0
    cdef uint32_t second = 0x80 if b_signed else 0
    cdef uint32_t products = (byte_number(a, 0, first) * byte_number(b, 0, second) + byte_number(a, 1, first) * byte_number(b, 1, second)
                              + byte_number(a, 2, first) * byte_number(b, 2, second) + byte_number(a, 3, first) * byte_number(b, 3, second))
    cdef uint32_t total = products + <uint32_t>c
    cdef uint32_t overflow = (total ^ products) & (total ^ <uint32_t>c) & (0xffffffffU if clamp else 0)
    cdef uint32_t limit = 0x7fffffff + (<uint32_t>c >> 31)
    return limit if overflow >> 31 else total

cdef inline uint32_t dot4_unsigned(uint32_t a, uint32_t b, uint32_t c, bint clamp) noexcept nogil:
    cdef uint32_t products = (byte_number(a, 0, 0) * byte_number(b, 0, 0) + byte_number(a, 1, 0) * byte_number(b, 1, 0)
                              + byte_number(a, 2, 0) * byte_number(b, 2, 0) + byte_number(a, 3, 0) * byte_number(b, 3, 0))
    cdef uint32_t total = products + c
    cdef uint32_t limit = 0xffffffffU if clamp else total
    return limit if total < c else total

cdef inline uint32_t dot8(uint32_t a, uint32_t b, int32_t c, bint a_signed, bint b_signed, bint clamp) noexcept nogil:
    cdef int64_t total = c
    cdef uint32_t i
    cdef int32_t x, y
    for i in range(8):
        x = (a >> (4 * i)) & 15
        y = (b >> (4 * i)) & 15
        total += ((x ^ 8) - 8 if a_signed else x) * ((y ^ 8) - 8 if b_signed else y)
    return <uint32_t>(saturate_i32(total) if clamp else total)

cdef inline uint32_t dot8_unsigned(uint32_t a, uint32_t b, uint32_t c, bint clamp) noexcept nogil:
    cdef uint64_t total = c
    cdef uint32_t i
    for i in range(8):
        total += ((a >> (4 * i)) & 15) * ((b >> (4 * i)) & 15)
    return 0xffffffffU if clamp and total >> 32 else <uint32_t>total

cdef inline uint64_t two_over_pi_word(uint32_t index) noexcept nogil:
    """64 of the 1201 bits of 2 / pi after the point, the highest first; zero beyond them."""
    cdef uint64_t words[19]
    words[:] = [
         0xa2f9836e4e441529ULL, 0xfc2757d1f534ddc0ULL, 0xdb6295993c439041ULL, 0xfe5163abdebbc561ULL,
         0xb7246e3a424dd2e0ULL, 0x06492eea09d1921cULL, 0xfe1deb1cb129a73eULL, 0xe88235f52ebb4484ULL,
         0xe99c7026b45f7e41ULL, 0x3991d639835339f4ULL, 0x9c845f8bbdf9283bULL, 0x1ff897ffde05980fULL,
         0xef2f118b5a0a6d1fULL, 0x6d367ecf27cb09b7ULL, 0x4f463f669e5fea2dULL, 0x7527bac7ebe5f17bULL,
         0x3d0739f78a5292eaULL, 0x6bfb5fb11f8d5d08ULL, 0x56033046fc7b0000ULL]
    return words[index] if index < 19 else 0

cdef inline double trigonometric_preparation(double value, uint32_t segment) noexcept nogil:
    """V_TRIG_PREOP_F64: 53 bits of 2 / pi for a product with `value` in segments."""
    cdef uint32_t exponent = (double_bits(value) >> 52) & 0x7ff
    cdef uint32_t shift = (segment & 31) * 53
    cdef uint32_t word
    cdef uint64_t high, low, bits
    if exponent > 1077:
        shift += exponent - 1077
    word = shift >> 6
    high = two_over_pi_word(word)
    low = two_over_pi_word(word + 1)
    bits = high << (shift & 63)
    if shift & 63:
        bits |= low >> (64 - (shift & 63))
    return ldexp(<double>(bits >> 11), -53 - <int>shift + (128 if exponent >= 1968 else 0))
