"""See ``optimize_combine.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

cdef bint combine(Context *c, InstructionId i) except -1 nogil
