# What the table of semantics says in doubles, said in singles without branches, so that the compiler makes vectors of it.
cdef extern from "<math.h>" nogil:
    float floorf(float)
    float ceilf(float)
    float truncf(float)
    float rintf(float)
    float sqrtf(float)


cdef inline float min_single(float a, float b) noexcept nogil:
    """The smaller; a NaN loses against a number, and -0 < +0."""
    cdef float smaller = a if a < b or b != b else b
    return bits_float(float_bits(a) | float_bits(b)) if a == b else smaller


cdef inline float max_single(float a, float b) noexcept nogil:
    cdef float larger = a if a > b or b != b else b
    return bits_float(float_bits(a) & float_bits(b)) if a == b else larger


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
