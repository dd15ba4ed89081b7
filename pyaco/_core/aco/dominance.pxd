"""Dominator trees of both CFGs: see ``dominance.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.program cimport BlockId, ProgramData

cdef int dominance_run(ProgramData *p) except -1 nogil

cdef inline bint dominates_logical(const ProgramData *p, BlockId a, BlockId b) noexcept nogil:
    return p.blocks.logical_pre[a] <= p.blocks.logical_pre[b] and p.blocks.logical_post[b] <= p.blocks.logical_post[a]

cdef inline bint dominates_linear(const ProgramData *p, BlockId a, BlockId b) noexcept nogil:
    return p.blocks.linear_pre[a] <= p.blocks.linear_pre[b] and p.blocks.linear_post[b] <= p.blocks.linear_post[a]
