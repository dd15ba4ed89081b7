"""Instruction selection of buffers by descriptor; see ``isel_buffer.pyx``."""
from pyaco._core.aco.isel_context cimport IntrinsicSelection

cdef void fill_buffer(IntrinsicSelection *table) noexcept nogil
