"""Counting, masking and extending bits of integers."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from * nogil:
    int __builtin_popcountll(unsigned long long)
    int __builtin_clz(unsigned int)
    int __builtin_clzll(unsigned long long)
    int __builtin_ctz(unsigned int)
    int __builtin_ctzll(unsigned long long)

cdef inline uint32_t popcount(uint64_t value) noexcept nogil:
    """How many bits are one."""
    return <uint32_t>__builtin_popcountll(value)

# Zeros above the highest and below the lowest one; the value must not be 0.
cdef inline uint32_t leading_zeros32(uint32_t value) noexcept nogil:
    return <uint32_t>__builtin_clz(value)

cdef inline uint32_t leading_zeros64(uint64_t value) noexcept nogil:
    return <uint32_t>__builtin_clzll(value)

cdef inline uint32_t trailing_zeros32(uint32_t value) noexcept nogil:
    return <uint32_t>__builtin_ctz(value)

cdef inline uint32_t trailing_zeros64(uint64_t value) noexcept nogil:
    return <uint32_t>__builtin_ctzll(value)

cdef inline uint64_t lowest_bit(uint64_t value) noexcept nogil:
    """The lowest one alone; 0 of 0."""
    return value & (0 - value)

cdef inline uint64_t low_mask(uint32_t width) noexcept nogil:
    """The `width` lowest bits are one; all from 64 on."""
    return 0xffffffffffffffffULL if width >= 64 else (<uint64_t>1 << width) - 1

cdef inline uint64_t low_bits(uint64_t value, uint32_t width) noexcept nogil:
    return value & low_mask(width)

cdef inline int64_t sign_extended(uint64_t value, uint32_t width) noexcept nogil:
    """The number that the `width` lowest bits are in two's complement; 1 to 64 of them."""
    return <int64_t>(value << (64 - width)) >> (64 - width)

cdef inline uint64_t align_up(uint64_t value, uint64_t alignment) noexcept nogil:
    """The next multiple of a power of two."""
    return (value + alignment - 1) & ~(alignment - 1)
