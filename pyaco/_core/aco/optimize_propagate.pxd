"""See ``optimize_propagate.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

# Replace the operands of an instruction by their sources.
cdef int propagate(Context *c, InstructionId i) except -1 nogil
