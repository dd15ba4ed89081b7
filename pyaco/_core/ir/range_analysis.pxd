"""Upper bounds of unsigned integers; see ``range_analysis.pyx``."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.shader cimport ShaderData, ValueId

cdef struct Ranges:
    const ShaderData *s
    Zeroed[uint64_t] known        # by value: bound + 1 of a scalar; 0 not known yet

cdef int ranges_begin(Ranges *ranges, const ShaderData *s) except -1 nogil
# The largest number that a component of a value can be, of 1 to 32 bits.
cdef uint32_t unsigned_upper_bound(Ranges *ranges, ValueId value, uint32_t component) noexcept nogil
# Whether value + constant stays below 2**32.
cdef bint sum_does_not_wrap(Ranges *ranges, ValueId value, uint32_t component, uint32_t constant) noexcept nogil
