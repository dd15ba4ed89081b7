"""Cooperative matrices (SPV_KHR_cooperative_matrix)."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads one instruction and returns 1, or returns 0 when the file does not have it.
cdef int matrix_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
