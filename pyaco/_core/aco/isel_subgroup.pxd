"""Instruction selection of subgroup operations; see ``isel_subgroup.pyx``."""
from pyaco._core.aco.isel_context cimport IntrinsicSelection

cdef void fill_subgroup(IntrinsicSelection *table) noexcept nogil
