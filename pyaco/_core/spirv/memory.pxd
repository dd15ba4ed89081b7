"""Loads, stores and copies, atomics, barriers, clocks."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads one instruction; returns 0 when it is none of this file's.
cdef int memory_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
# The NIR scope of a scope id.
cdef int scope_of(Reader r, uint32_t id) except -1 nogil
