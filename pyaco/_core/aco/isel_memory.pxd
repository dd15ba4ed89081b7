"""Instruction selection of memory operations; see ``isel_memory.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.isel_context cimport Isel

# Selects the instruction and returns 1, or returns 0 when its opcode is not one of these.
cdef int select_memory(Isel *c, uint32_t instruction) except -1 nogil
