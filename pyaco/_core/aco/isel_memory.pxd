"""Instruction selection of memory operations; see ``isel_memory.pyx``."""
from pyaco._core.aco.isel_context cimport IntrinsicSelection

cdef void fill_memory(IntrinsicSelection *table) noexcept nogil
