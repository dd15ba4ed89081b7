"""See ``optimize_scc.pyx``."""
from libc.stdint cimport uint8_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.common.small_vector cimport SmallVector

# Let scc keep conditions where little stands between; what is no longer needed is marked as dead, by instruction.
cdef int keep_conditions(Context *c, SmallVector[uint8_t] &dead) except -1 nogil
