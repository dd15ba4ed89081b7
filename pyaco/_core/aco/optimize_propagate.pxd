"""See ``optimize_propagate.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.optimize_edit cimport Context

# Replace the operands of an instruction by their sources.
cdef int propagate(Context *c, uint32_t i) except -1 nogil
