"""Subgroup operations (placeholder split)."""
from libc.stdint cimport uint32_t
from pyaco._core.aco.isel_context cimport *

cdef int select_subgroup(Isel *c, uint32_t i) except -1 nogil:
    return 0
