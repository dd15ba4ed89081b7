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
