"""See ``optimize_parts.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId, Operand, ProgramData

# Read halves of registers where they are, where the encoding can name them.
cdef bint propagate_halves(Context *c, InstructionId i) except -1 nogil
# Whether an operand is a half of a register: of which, and its first byte.
cdef bint half_of(Context *c, Operand o, Operand *whole, uint32_t *offset) noexcept nogil
# SDWA: read bytes and halves where they are, write a result where a byte or half of it goes; when all else is done.
cdef bint use_selections(Context *c, InstructionId i) except -1 nogil
# Whether an instruction takes out a byte or a half that SDWA could read where it is.
cdef bint is_part(const ProgramData *p, InstructionId i) noexcept nogil
# How many sources of an instruction SDWA alone could read as bytes and halves of registers where they are.
cdef uint32_t parts_read(Context *c, InstructionId i) noexcept nogil
