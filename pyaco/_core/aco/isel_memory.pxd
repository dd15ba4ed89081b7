"""Instruction selection of memory operations; see ``isel_memory.pyx``."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.aco.isel_address cimport Access
from pyaco._core.aco.isel_context cimport IntrinsicSelection, Isel
from pyaco._core.ir.program cimport TempId
from pyaco._core.ir.shader cimport ValueId

# The value of load `i` from what `a` reaches.
cdef int load_value(Isel *c, ValueId i, Access *a) except -1 nogil
# Store the components of `value` that `mask` names.
cdef int store_value(Isel *c, Access *a, ValueId value, uint32_t mask) except -1 nogil
# Put `dst` together, of `bytes` bytes in elements of `element` bytes, from pieces in VGPRs.
cdef int assemble_value(Isel *c, TempId dst, vector[uint32_t] &pieces, uint32_t bytes, uint32_t element) except -1 nogil
cdef void fill_memory(IntrinsicSelection *table) noexcept nogil
