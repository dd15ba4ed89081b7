"""The forms of a chain, with their costs; see ``chain_forms.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.nir.associative_chains cimport Context, Operand
from pyaco._core.nir.lowering cimport Lowering

# The cost of the chain as it is.
cdef uint32_t present_cost(Context *c) except? 0xffffffffU nogil
# The least cost of a form, and which it is: with what is uniform put together, with what loops leave as it is put together.
cdef uint32_t best_form(Context *c, bint *gather, bint *hoist) except? 0xffffffffU nogil
# The cost of a form; where there is a `b`, its operations are placed.
cdef uint32_t build_form(Context *c, Lowering *b, bint gather, bint hoist, Operand *result) except? 0xffffffffU nogil
# An operation on two values, placed; the same as part of the chain, with the signs that they have there.
cdef int emit_operation(Lowering *b, int opcode, const Operand *x, const Operand *y, Operand *result) except -1 nogil
cdef int emit_in_chain(Context *c, Lowering *b, const Operand *x, const Operand *y, Operand *result) except -1 nogil
