"""Reductions, scans and shuffles across lanes: see ``lower_lane_operations.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.program cimport Rewrite

cdef int lower_reduction(Rewrite *out, uint32_t i) except -1 nogil
cdef int lower_bpermute(Rewrite *out, uint32_t i) except -1 nogil
