"""What single opcodes of AMD, Apple, NVIDIA and Broadcom compute of integers: for ``evaluate.pyx``.

Sources: RDNA2 ISA document (V_PERM_B32, V_MSAD_U8); NVIDIA's PTX ISA (prmt); Mesa's comments on its opcodes for the others.
"""
from libc.stdint cimport int64_t, uint64_t

cdef inline uint64_t byte_permute(uint64_t high, uint64_t low, uint64_t selector) noexcept nogil:
    cdef uint64_t both = (high << 32) | low
    cdef uint64_t r = 0
    cdef uint64_t choice
    cdef int i
    for i in range(4):
        choice = (selector >> (8 * i)) & 0xff
        if choice < 8:
            r |= ((both >> (8 * choice)) & 0xff) << (8 * i)
        elif choice < 12:
            r |= <uint64_t>(0xff if (both >> (16 * (choice - 8) + 15)) & 1 else 0) << (8 * i)
        elif choice >= 13:
            r |= <uint64_t>0xff << (8 * i)
    return r

cdef inline uint64_t permute_nv(uint64_t selector, uint64_t low, uint64_t high) noexcept nogil:
    """NVIDIA's PRMT: four bits choose a byte of eight, and whether its sign fills the byte."""
    cdef uint64_t both = (high << 32) | low
    cdef uint64_t r = 0
    cdef uint64_t choice, byte
    cdef int i
    for i in range(4):
        choice = selector >> (4 * i)
        byte = (both >> (8 * (choice & 7))) & 0xff
        if choice & 8:
            byte = 0xff if byte & 0x80 else 0
        r |= byte << (8 * i)
    return r

cdef inline uint64_t interleaved(uint64_t a, uint64_t b) noexcept nogil:
    """Bits of two 16-bit integers in turn."""
    cdef uint64_t r = 0
    cdef int i
    for i in range(16):
        r |= ((a >> i) & 1) << (2 * i) | ((b >> i) & 1) << (2 * i + 1)
    return r

cdef inline uint64_t unsigned_float(uint64_t half, int dropped) noexcept nogil:
    """A half as a float of 11 or 10 bits, without a sign: negative numbers are 0, what is too large is the largest."""
    cdef uint64_t infinity = 0x7c00 >> dropped
    cdef uint64_t rounded
    if half & 0x7fff > 0x7c00:
        return infinity | 1
    if half & 0x8000:
        return 0
    if half == 0x7c00:
        return infinity
    rounded = (half + (<uint64_t>1 << (dropped - 1)) - 1 + ((half >> dropped) & 1)) >> dropped
    return min(rounded, infinity - 1)

cdef inline uint64_t masked_difference(uint64_t reference, uint64_t source) noexcept nogil:
    """The sum of absolute differences of four bytes, without those that are zero in the reference."""
    cdef int64_t total = 0
    cdef int64_t x, y
    cdef int i
    for i in range(4):
        x = (reference >> (8 * i)) & 0xff
        y = (source >> (8 * i)) & 0xff
        if x:
            total += x - y if x > y else y - x
    return <uint64_t>total
