"""See ``optimize_scalar.pyx``."""
from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

# A scalar instruction and the producer of one of its operands become one. Whether they have.
cdef bint combine_scalar(Context *c, InstructionId i) except -1 nogil
