"""Integer operations that need more than one instruction; see ``isel_alu_integer.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.isel_context cimport Isel

# Selects the instruction and returns 1, or returns 0 when its opcode is not one of these.
cdef int select_integer(Isel *c, uint32_t instruction, uint32_t dst) except -1 nogil
