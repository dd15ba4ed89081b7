"""See ``optimize_scc.pyx``."""
from libc.stdint cimport uint8_t
from libcpp.vector cimport vector

from pyaco._core.aco.optimize_edit cimport Context

# Let scc keep conditions where little stands between; what is no longer needed is marked as dead, by instruction.
cdef int keep_conditions(Context *c, vector[uint8_t] &dead) except -1 nogil
