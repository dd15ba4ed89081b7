"""See ``optimize_combine.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.optimize_edit cimport Context

cdef bint combine(Context *c, uint32_t i) except -1 nogil
