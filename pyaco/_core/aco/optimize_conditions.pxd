"""See ``optimize_conditions.pyx``."""
from libc.stdint cimport uint8_t
from libcpp.vector cimport vector

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

# Read conditions from where they came; before the instruction is optimised otherwise.
cdef void use_conditions(Context *c, InstructionId i) noexcept nogil
# Remember what the instruction says of conditions.
cdef void note_conditions(Context *c, InstructionId i) noexcept nogil
# Mark as dead, by instruction, the comparisons with zero whose answer scc has anyway; behind the removal of dead code.
cdef void drop_comparisons(Context *c, vector[uint8_t] &dead) noexcept nogil
