"""Instruction selection of matrix operations; see ``isel_matrix.pyx``."""
from pyaco._core.aco.isel_context cimport IntrinsicSelection

cdef void fill_matrix(IntrinsicSelection *table) noexcept nogil
