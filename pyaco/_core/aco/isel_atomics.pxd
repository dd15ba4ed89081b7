"""Instruction selection of atomic operations on memory; see ``isel_atomics.pyx``."""
from libc.stdint cimport uint16_t, uint32_t

from pyaco._core.aco.isel_context cimport IntrinsicSelection

# The buffer instruction of an operation (atomic_*) on 32 or 64 bits; op_invalid: none.
cdef uint16_t buffer_atomic_opcode(uint32_t operation, bint wide) noexcept nogil

cdef void fill_atomics(IntrinsicSelection *table) noexcept nogil
