"""Endpoints of ASTC's colours."""
from libc.stdint cimport uint8_t, uint32_t

cdef struct Endpoints:                # of a partition
    bint is_valid                     # or all its texels have the error colour
    int[2][4] colors                  # 0 to 255

cdef void read_endpoints(Endpoints *endpoints, uint32_t mode, const uint8_t *values) noexcept nogil
