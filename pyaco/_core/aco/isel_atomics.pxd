"""Instruction selection of atomic operations on memory; see ``isel_atomics.pyx``."""
from pyaco._core.aco.isel_context cimport IntrinsicSelection

cdef void fill_atomics(IntrinsicSelection *table) noexcept nogil
