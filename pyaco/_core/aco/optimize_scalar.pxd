"""See ``optimize_scalar.pyx``."""
from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

# A scalar sum with a product becomes one instruction; whether it did.
cdef bint combine_scalar_multiply_add(Context *c, InstructionId i) except -1 nogil
