"""The optimizer: instructions on pairs of halves: see ``optimize_packed.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId, Operand

# Read a constant that a register holds, whose halves an inline constant, or a literal (GFX10 and later), has in some order and with some signs.
cdef bint propagate_packed_constant(Context *c, InstructionId i, uint32_t k, Operand source) except -1 nogil
# A packed sum of a packed product.
cdef bint combine_packed_multiply_add(Context *c, InstructionId i) except -1 nogil
# A packed product with 1.0 that only clamps goes into its producer. Whether it has.
cdef bint combine_packed_clamp(Context *c, InstructionId i) except -1 nogil
