"""The immediates of ``s_waitcnt`` and ``s_waitcnt_depctr``: counts into and out of them.

Where the counters are is in ``isa/data/waits.txt``; ``wait_tables.pxd`` is generated from it. A count at its limit waits for nothing.
"""
from libc.stdint cimport uint32_t

from wait_tables cimport waitcnt_bits, waitcnt_counters

cdef inline uint32_t waitcnt_limit(uint32_t level, uint32_t counter) noexcept nogil:
    """The largest count of a counter."""
    cdef uint32_t bits = waitcnt_bits(level, counter)
    return (1U << ((bits >> 8 & 0xff) + (bits >> 24))) - 1

cdef inline uint32_t waitcnt_get(uint32_t immediate, uint32_t level, uint32_t counter) noexcept nogil:
    cdef uint32_t bits = waitcnt_bits(level, counter)
    cdef uint32_t low_width = bits >> 8 & 0xff
    return (immediate >> (bits & 0xff) & ((1U << low_width) - 1)) | (immediate >> (bits >> 16 & 0xff) & ((1U << (bits >> 24)) - 1)) << low_width

cdef inline uint32_t waitcnt_set(uint32_t immediate, uint32_t level, uint32_t counter, uint32_t count) noexcept nogil:
    """The immediate with another count, of which what does not fit is dropped."""
    cdef uint32_t bits = waitcnt_bits(level, counter)
    cdef uint32_t low_width = bits >> 8 & 0xff
    cdef uint32_t low = (1U << low_width) - 1
    cdef uint32_t high = (1U << (bits >> 24)) - 1
    immediate = immediate & ~(low << (bits & 0xff)) | (count & low) << (bits & 0xff)
    return immediate & ~(high << (bits >> 16 & 0xff)) | (count >> low_width & high) << (bits >> 16 & 0xff)

cdef inline uint32_t waitcnt_none(uint32_t level) noexcept nogil:
    """All counters at their limits."""
    cdef uint32_t immediate = 0
    cdef uint32_t counter
    for counter in range(<uint32_t>waitcnt_counters):
        immediate = waitcnt_set(immediate, level, counter, 0xffffffffU)
    return immediate

# Counters of s_waitcnt_depctr are ``depctr_<name>``: first bit | width << 8.
cdef inline uint32_t depctr_mask(uint32_t counter) noexcept nogil:
    return ((1U << (counter >> 8)) - 1) << (counter & 0xff)

cdef inline uint32_t depctr_get(uint32_t immediate, uint32_t counter) noexcept nogil:
    return (immediate & depctr_mask(counter)) >> (counter & 0xff)

cdef inline uint32_t depctr_set(uint32_t immediate, uint32_t counter, uint32_t count) noexcept nogil:
    return immediate & ~depctr_mask(counter) | count << (counter & 0xff) & depctr_mask(counter)
