"""Loads, stores and copies, atomics, barriers, clocks."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader, SpirvId
from pyaco._core.spirv.values cimport MemoryOperands

# Reads one instruction and returns 1, or returns 0 when the file does not have it.
cdef int memory_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
# Reads the memory operands at `word`, if there are any, of an access through `pointer`; returns the word after them.
cdef uint32_t memory_operands(Reader r, SpirvId pointer, uint32_t word, uint32_t end, MemoryOperands *operands) except 0 nogil
# The NIR scope (nir_scope_*) of a scope id.
cdef int scope_of(Reader r, SpirvId id) except -1 nogil
