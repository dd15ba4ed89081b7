"""See ``optimize_conditions.pyx``."""
from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

# Read conditions from where they came; before the instruction is optimised otherwise.
cdef void use_conditions(Context *c, InstructionId i) noexcept nogil
# Remember what the instruction says of conditions.
cdef void note_conditions(Context *c, InstructionId i) noexcept nogil
