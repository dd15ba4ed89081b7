"""See ``optimize_combine.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

cdef bint combine(Context *c, InstructionId i) except -1 nogil
# Signs of a product that no reader says itself become signs of its factors.
cdef bint combine_sign_of_product(Context *c, InstructionId i) except -1 nogil
# A sum with a product and a literal becomes one instruction that cannot be clamped. Whether it has.
cdef bint combine_with_literal(Context *c, InstructionId i) except -1 nogil
