"""Barriers in LDS, at which waves, copies and tensors arrive (GFX12.5)."""
from libc.stdint cimport uint32_t, uint64_t


cdef inline uint64_t after_arrival(uint64_t barrier, uint32_t arrived) noexcept nogil:
    """A barrier in LDS. Bits 0 to 28 are how many arrivals are missing less one, bits 29 to 31 the phase, bits 32 to 60 what the first begin a
    phase with (Triton's lowering of barriers for gfx1250)."""
    cdef uint32_t pending = <uint32_t>barrier & 0x1fffffff
    cdef uint32_t phase = <uint32_t>barrier >> 29
    if arrived > pending:
        phase = (phase + 1) & 7
        pending = <uint32_t>(barrier >> 32) & 0x1fffffff
    else:
        pending -= arrived
    return (barrier & 0xffffffff00000000ULL) | (phase << 29) | pending
