"""The graph of a function's blocks: successors, and blocks where paths meet that no merge instruction declares."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.spirv.module cimport BlockId, FunctionId, Reader, SpirvId

# Appends the ids that the terminator of a block names as targets: all of a switch, the default first.
cdef int successors_of(Reader r, BlockId block, vector[SpirvId] &found) except -1 nogil
# Fills Block.first_join of the blocks of a function, once.
cdef int find_joins(Reader r, FunctionId function) except -1 nogil
