# Single-precision or branch-free forms of functions that the table of semantics uses, so that the compiler vectorises their loops.
cdef extern from "<math.h>" nogil:
    float floorf(float)
    float ceilf(float)
    float truncf(float)
    float rintf(float)
    float sqrtf(float)


# Masks, because the compiler makes branches of two choices by the same operands, and no vectors of those.
cdef inline float min_single(float a, float b) noexcept nogil:
    """The smaller; a NaN loses against a number, and -0 < +0."""
    cdef float smaller = a if a < b else b                  # an instruction of the host; b where one is a NaN
    cdef uint32_t nan = -<uint32_t>(b != b)
    cdef uint32_t same = -<uint32_t>(a == b)
    return bits_float((float_bits(smaller) & ~nan) | (float_bits(a) & (nan | same)))


cdef inline float max_single(float a, float b) noexcept nogil:
    cdef float larger = a if a > b else b
    cdef uint32_t nan = -<uint32_t>(b != b)
    cdef uint32_t differs = -<uint32_t>(a != b)
    return bits_float(((float_bits(larger) & ~nan) | (float_bits(a) & nan)) & (float_bits(a) | differs))


cdef inline float ldexp_single(float value, int32_t exponent) noexcept nogil:
    """value * 2 ** exponent: exact in double precision, whose exponents reach beyond a single's, and rounded once."""
    cdef int32_t above = exponent if exponent > -400 else -400
    cdef int32_t limited = above if above < 400 else 400
    return <float>(<double>value * bits_double(<uint64_t>(limited + 1023) << 52))


# Exponents and fractions as frexp has them: the fraction in [0.5, 1), and an exponent of 0 for zeros, infinities and NaNs.
cdef inline float normal_single(float value) noexcept nogil:
    """Times 2 ** 24 where it is a denormal; the host must keep those."""
    return value * (<float>16777216.0 if float_bits(value) & 0x7f800000 == 0 else <float>1.0)


cdef inline uint32_t has_no_exponent(uint32_t bits) noexcept nogil:
    """All ones for a zero, an infinity and a NaN."""
    return -<uint32_t>((bits & 0x7fffffff) - 1 >= 0x7f7fffff)


cdef inline int32_t exponent_single(float value) noexcept nogil:
    cdef uint32_t bits = float_bits(value)
    cdef uint32_t bias = 126 + (24 if bits & 0x7f800000 == 0 else 0)
    return <int32_t>((((float_bits(normal_single(value)) >> 23) & 0xff) - bias) & ~has_no_exponent(bits))


cdef inline float mantissa_single(float value) noexcept nogil:
    cdef uint32_t bits = float_bits(value)
    cdef uint32_t fraction = (float_bits(normal_single(value)) & 0x807fffffU) | 0x3f000000
    return bits_float(bits if has_no_exponent(bits) else fraction)


cdef inline double normal_double(double value) noexcept nogil:
    """Times 2 ** 54 where it is a denormal."""
    return value * (18014398509481984.0 if double_bits(value) & 0x7ff0000000000000ULL == 0 else 1.0)


cdef inline uint64_t has_no_wide_exponent(uint64_t bits) noexcept nogil:
    return -<uint64_t>((bits & 0x7fffffffffffffffULL) - 1 >= 0x7fefffffffffffffULL)


cdef inline int64_t exponent_double(double value) noexcept nogil:
    cdef uint64_t bits = double_bits(value)
    cdef uint64_t bias = 1022 + (54 if bits & 0x7ff0000000000000ULL == 0 else 0)
    return <int64_t>((((double_bits(normal_double(value)) >> 52) & 0x7ff) - bias) & ~has_no_wide_exponent(bits))


cdef inline double mantissa_double(double value) noexcept nogil:
    cdef uint64_t bits = double_bits(value)
    cdef uint64_t fraction = (double_bits(normal_double(value)) & 0x800fffffffffffffULL) | 0x3fe0000000000000ULL
    return bits_double(bits if has_no_wide_exponent(bits) else fraction)


cdef inline double power_of_two(int64_t exponent) noexcept nogil:
    """Of a normal double's exponent."""
    return bits_double(<uint64_t>(exponent + 1023) << 52)


cdef inline double ldexp_double(double value, int32_t exponent) noexcept nogil:
    """value * 2 ** exponent, rounded once: only the last product is not exact."""
    cdef int64_t above = exponent if exponent > -3000 else -3000
    cdef int64_t total = exponent_double(value) + (above if above < 3000 else 3000)
    cdef int64_t low = total if total > -1000 else -1000
    cdef int64_t first = low if low < 1000 else 1000
    cdef int64_t least = total - first if total - first > -1000 else -1000
    cdef int64_t second = least if least < 1000 else 1000
    cdef double product = mantissa_double(value) * power_of_two(first) * power_of_two(second)
    return value if has_no_wide_exponent(double_bits(value)) else product


# Steps of divisions, of which the later choice counts. A reciprocal is a denormal beyond 2 ** 126 (2 ** 1022 of a double).
cdef inline uint32_t division_scale_single(float wanted, float denominator, float numerator) noexcept nogil:
    """`division_scale32`."""
    cdef uint32_t s0 = float_bits(wanted)
    cdef uint32_t s1 = float_bits(denominator)
    cdef uint32_t s2 = float_bits(numerator)
    cdef uint32_t up = float_bits(wanted * bits_float(0x5f800000))          # 2 ** 64
    cdef uint32_t down = float_bits(wanted * bits_float(0x1f800000))
    cdef uint32_t up_denominator = up if s0 == s1 else s0
    cdef uint32_t up_numerator = up if s0 == s2 else s0
    cdef int32_t distance = exponent_single(numerator) - exponent_single(denominator)
    cdef bint reciprocal_tiny = (s1 & 0x7fffffff) > 0x7e800000
    cdef uint32_t result = up if (s2 >> 23 & 0xff) <= 23 else s0
    result = up_numerator if distance <= -126 else result
    result = (up_denominator if distance <= -126 else down) if reciprocal_tiny else result
    result = up if s1 & 0x7f800000 == 0 else result
    result = up_denominator if distance >= 96 else result
    result = 0x7fc00000 if ((s1 << 1 == 0) | (s2 << 1 == 0)) else result
    return s0 if (((s1 & 0x7f800000) == 0x7f800000) | ((s2 & 0x7f800000) == 0x7f800000)) else result


cdef inline uint32_t division_flag_single(float denominator, float numerator) noexcept nogil:
    """Whether V_DIV_FMAS is to undo the scale."""
    cdef uint32_t s1 = float_bits(denominator)
    cdef uint32_t s2 = float_bits(numerator)
    cdef int32_t distance = exponent_single(numerator) - exponent_single(denominator)
    cdef uint32_t flag = 1 if distance <= -126 else 0
    flag = 0 if s1 & 0x7f800000 == 0 else flag
    flag = 1 if ((distance >= 96) | (s1 << 1 == 0) | (s2 << 1 == 0)) else flag
    return 0 if (((s1 & 0x7f800000) == 0x7f800000) | ((s2 & 0x7f800000) == 0x7f800000)) else flag


cdef inline uint64_t division_scale_double(double wanted, double denominator, double numerator) noexcept nogil:
    """`division_scale64`."""
    cdef uint64_t s0 = double_bits(wanted)
    cdef uint64_t s1 = double_bits(denominator)
    cdef uint64_t s2 = double_bits(numerator)
    cdef uint64_t ones = 0x7ff0000000000000ULL
    cdef uint64_t up = double_bits(wanted * power_of_two(128))
    cdef uint64_t down = double_bits(wanted * power_of_two(-128))
    cdef uint64_t up_denominator = up if s0 == s1 else s0
    cdef uint64_t up_numerator = up if s0 == s2 else s0
    cdef int64_t distance = exponent_double(numerator) - exponent_double(denominator)
    cdef bint reciprocal_tiny = (s1 & 0x7fffffffffffffffULL) > 0x7fd0000000000000ULL
    cdef uint64_t result = up if (s2 >> 52 & 0x7ff) <= 53 else s0
    result = up_numerator if distance <= -1022 else result
    result = (up_denominator if distance <= -1022 else down) if reciprocal_tiny else result
    result = up if s1 & ones == 0 else result
    result = up_denominator if distance >= 768 else result
    result = 0x7ff8000000000000ULL if ((s1 << 1 == 0) | (s2 << 1 == 0)) else result
    return s0 if (((s1 & ones) == ones) | ((s2 & ones) == ones)) else result


cdef inline uint64_t division_flag_double(double denominator, double numerator) noexcept nogil:
    cdef uint64_t s1 = double_bits(denominator)
    cdef uint64_t s2 = double_bits(numerator)
    cdef uint64_t ones = 0x7ff0000000000000ULL
    cdef int64_t distance = exponent_double(numerator) - exponent_double(denominator)
    cdef uint64_t flag = 1 if distance <= -1022 else 0
    flag = 0 if s1 & ones == 0 else flag
    flag = 1 if ((distance >= 768) | (s1 << 1 == 0) | (s2 << 1 == 0)) else flag
    return 0 if (((s1 & ones) == ones) | ((s2 & ones) == ones)) else flag


cdef inline float division_fmas_single(float a, float b, float c, uint32_t scaled) noexcept nogil:
    """a * b + c, with the scale undone."""
    cdef uint32_t bits = float_bits(c) & 0x7fffffff
    cdef uint32_t scale = 0x5f800000 if ((bits >= 0x40000000) & (bits < 0x7f800000)) else 0x1f800000
    return fmaf(a, b, c) * bits_float(scale if scaled else 0x3f800000)


cdef inline double division_fmas_double(double a, double b, double c, uint64_t scaled) noexcept nogil:
    cdef uint64_t bits = double_bits(c) & 0x7fffffffffffffffULL
    cdef int64_t scale = 128 if ((bits >= 0x4000000000000000ULL) & (bits < 0x7ff0000000000000ULL)) else -128
    return fma(a, b, c) * power_of_two(scale if scaled else 0)


cdef inline uint32_t division_fixup_single(float quotient, float denominator, float numerator) noexcept nogil:
    """`division_fixup` of singles."""
    cdef uint32_t s1 = float_bits(denominator)
    cdef uint32_t s2 = float_bits(numerator)
    cdef uint32_t least = s1 & 0x7fffffff
    cdef uint32_t most = s2 & 0x7fffffff
    cdef uint32_t result = float_bits(quotient) & 0x7fffffff
    cdef int32_t distance = exponent_single(numerator) - exponent_single(denominator)
    result = 0x7f800000 if result > 0x7f800000 else result
    result = 0 if ((distance < -150) | (least == 0x7f800000) | (most == 0)) else result
    result = 0x7f800000 if ((least == 0) | (most == 0x7f800000)) else result
    result |= (s1 ^ s2) & 0x80000000U
    result = 0xffc00000U if (((least == 0) & (most == 0)) | ((least == 0x7f800000) & (most == 0x7f800000))) else result
    result = s1 | 0x400000 if least > 0x7f800000 else result
    return s2 | 0x400000 if most > 0x7f800000 else result


cdef inline uint64_t division_fixup_double(double quotient, double denominator, double numerator) noexcept nogil:
    cdef uint64_t s1 = double_bits(denominator)
    cdef uint64_t s2 = double_bits(numerator)
    cdef uint64_t least = s1 & 0x7fffffffffffffffULL
    cdef uint64_t most = s2 & 0x7fffffffffffffffULL
    cdef uint64_t infinite = 0x7ff0000000000000ULL
    cdef uint64_t result = double_bits(quotient) & 0x7fffffffffffffffULL
    cdef int64_t distance = exponent_double(numerator) - exponent_double(denominator)
    result = infinite if result > infinite else result
    result = 0 if ((distance < -1075) | (least == infinite) | (most == 0)) else result
    result = infinite if ((least == 0) | (most == infinite)) else result
    result |= (s1 ^ s2) & 0x8000000000000000ULL
    result = 0xfff8000000000000ULL if (((least == 0) & (most == 0)) | ((least == infinite) & (most == infinite))) else result
    result = s1 | 0x8000000000000ULL if least > infinite else result
    return s2 | 0x8000000000000ULL if most > infinite else result


cdef inline float odd_single(double value) noexcept nogil:
    """Rounded to odd, for one correct rounding to a half after it; the host must keep denormals."""
    cdef float nearest = <float>value
    cdef double back = nearest
    cdef uint32_t bits = float_bits(nearest)
    cdef uint32_t away = 1 if (back > value if value > 0 else back < value) else 0
    return bits_float((bits - away) | (1 if back != value else 0))


cdef inline float rsq_single(float value) noexcept nogil:
    """1 / sqrt(value) as a double has it, rounded: the same bits for every single that is no denormal.

    All were tried; test_transcendental.py has some.

    A single that is 22 bits right, by Newton's steps from what the bits of a float say of its logarithm, then a step of third order in doubles.
    """
    cdef float guess = bits_float(0x5f375a86U - (float_bits(value) >> 1))
    cdef double exact, error, root
    guess = guess * (<float>1.5 - (<float>0.5 * guess) * (guess * value))      # no factor is a denormal
    guess = guess * (<float>1.5 - (<float>0.5 * guess) * (guess * value))
    guess = guess * (<float>1.5 - (<float>0.5 * guess) * (guess * value))
    exact = guess
    error = 1 - exact * exact * value
    root = exact + exact * (error * (0.5 + 0.375 * error))
    cdef uint32_t bits = float_bits(value)
    cdef uint32_t sign = bits & 0x80000000U
    cdef uint32_t positive = float_bits(<float>root) if bits < 0x7f800000 else 0
    cdef uint32_t signed = 0xffc00000U if sign else positive
    cdef uint32_t number = sign | 0x7f800000 if bits << 1 == 0 else signed
    return bits_float(number if bits << 1 <= 0xff000000U else bits | 0x400000)


cdef inline double min_double(double a, double b) noexcept nogil:
    cdef double smaller = a if a < b or b != b else b
    return bits_double(double_bits(a) | double_bits(b)) if a == b else smaller


cdef inline double max_double(double a, double b) noexcept nogil:
    cdef double larger = a if a > b or b != b else b
    return bits_double(double_bits(a) & double_bits(b)) if a == b else larger


cdef inline float minimum_single(float a, float b) noexcept nogil:
    """A NaN wins."""
    cdef float smaller = min_single(a, b)
    cdef float first = a if a != a else smaller
    return b if b != b else first


cdef inline float maximum_single(float a, float b) noexcept nogil:
    cdef float larger = max_single(a, b)
    cdef float first = a if a != a else larger
    return b if b != b else first


cdef inline float median_single(float a, float b, float c) noexcept nogil:
    """As `median_number`."""
    cdef float larger = max_single(a, b)
    cdef float largest = max_single(larger, c)
    cdef float least = min_single(min_single(a, b), c)
    cdef float without_a = max_single(b, c)
    cdef float without_b = max_single(a, c)
    cdef float rest = without_a if largest == a else (without_b if largest == b else larger)
    cdef float without_nan = rest if a == a else least
    without_nan = without_nan if b == b else least
    return without_nan if c == c else least


cdef inline float fma_odd_single(float a, float b, float c) noexcept nogil:
    """a * b + c of halves, rounded to odd in single precision, for one correct rounding to half after it (Boldo, Melquiond 2008)."""
    cdef float product = a * b                              # exact: 22 bits
    cdef float total = product + c
    cdef float back = total - product
    cdef float error = (product - (total - back)) + (c - back)
    cdef uint32_t bits = float_bits(total)
    cdef uint32_t moved = bits + 1 if (error > 0) == (total > 0) else bits - 1
    # infinities and NaNs have no error that compares
    return bits_float(moved if (error > 0 or error < 0) and not bits & 1 else bits)


cdef inline void read_halves(const Core *core, const uint32_t *row, uint32_t shift, float *singles) noexcept nogil:
    """Halves as singles, flushed as MODE says: the smallest normal half is 2 ** -14."""
    cdef uint32_t lane, bits
    halves_to_singles(row, shift, singles)
    if not core.keep_in64:
        for lane in range(<uint32_t>row_lanes):
            bits = float_bits(singles[lane])
            singles[lane] = bits_float(bits if (bits & 0x7fffffff) >= 0x38800000 else bits & 0x80000000U)


cdef inline int32_t single_to_i32(float value) noexcept nogil:
    """Truncates and saturates; a NaN is 0. No single lies between the largest integer and 2^31."""
    if value != value:
        return 0
    if value >= <float>2147483648.0:
        return 0x7fffffff
    return <int32_t>0x80000000U if value <= <float>-2147483648.0 else <int32_t>value


cdef inline uint32_t single_to_u32(float value) noexcept nogil:
    if not value > 0:
        return 0
    return 0xffffffffU if value >= <float>4294967296.0 else <uint32_t>value


# Faces of a cube map: where z counts most, else y, else x. Both sides of every choice are there, so that the compiler blends.
cdef inline float choose_by_axis(float x, float y, float z, float by_x, float by_y, float by_z) noexcept nogil:
    cdef uint32_t z_bits = float_bits(z) & 0x7fffffff
    cdef uint32_t y_bits = float_bits(y) & 0x7fffffff
    cdef uint32_t x_bits = float_bits(x) & 0x7fffffff
    cdef float rest = by_y if bits_float(y_bits) >= bits_float(x_bits) else by_x
    cdef float without_x = by_z if bits_float(z_bits) >= bits_float(y_bits) else rest
    return without_x if bits_float(z_bits) >= bits_float(x_bits) else rest


cdef inline float cube_id_single(float x, float y, float z) noexcept nogil:
    cdef float by_x = <float>1.0 if x < 0 else <float>0.0
    cdef float by_y = <float>3.0 if y < 0 else <float>2.0
    cdef float by_z = <float>5.0 if z < 0 else <float>4.0
    return choose_by_axis(x, y, z, by_x, by_y, by_z)


cdef inline float cube_s_single(float x, float y, float z) noexcept nogil:
    cdef float by_x = z if x < 0 else -z
    cdef float by_z = -x if z < 0 else x
    return choose_by_axis(x, y, z, by_x, x, by_z)


cdef inline float cube_t_single(float x, float y, float z) noexcept nogil:
    cdef float by_y = -z if y < 0 else z
    return choose_by_axis(x, y, z, -y, by_y, -y)


cdef inline float cube_major_single(float x, float y, float z) noexcept nogil:
    return choose_by_axis(x, y, z, x, y, z)
