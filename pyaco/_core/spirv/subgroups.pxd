"""Group operations."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads one instruction and returns 1, or returns 0 when the file does not have it.
cdef int subgroup_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
