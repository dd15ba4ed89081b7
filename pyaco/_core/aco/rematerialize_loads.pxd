"""Constants in memory are loaded again: see ``rematerialize_loads.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.program cimport ProgramData

# Whether anything changed: then live variables are not current any more.
cdef bint rematerialize_loads_run(ProgramData *p, uint32_t limit) except -1 nogil
