"""Register allocation at the edges between blocks: see ``allocate_blocks.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.allocator cimport Allocator
from pyaco._core.ir.program cimport BlockId

# Find out which values loops want back in the registers of their phis.
cdef void find_goals(Allocator *a) noexcept nogil
# Forget the previous block; place the live-in values and the `phis` phis.
cdef int enter_block(Allocator *a, BlockId block, uint32_t phis) except -1 nogil
# Note where the values are at the end of the block.
cdef int leave_block(Allocator *a, BlockId block) except -1 nogil
# Tell the phis of the successors where this block leaves their operands.
cdef int fill_phi_operands(Allocator *a, BlockId block, bint logical, bint scalars_only) except -1 nogil
# When all blocks are done: the new order, with phis for values that moved between blocks.
cdef int write_out(Allocator *a) except -1 nogil
# Scratch definitions of unconditional branches, and whether copies at block ends must preserve SCC.
cdef void finish_branches(Allocator *a) noexcept nogil
