"""What takes the place of opcodes that GFX6 to GFX8 do not have yet; see ``isel_older.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.isel_context cimport Isel
from pyaco._core.ir.program cimport Operand, TempId

cdef TempId emit_older(Isel *c, uint32_t opcode, TempId dst, const Operand *given, uint32_t count) except 0 nogil
