"""Dominators of structured NIR, from the control-flow tree alone.

Blocks are numbered in program order (their *position*); the immediate dominator of a block has a lower position.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport ShaderData

cdef enum:
    falls_through = 0             # how a block ends
    ends_with_break = 1
    ends_with_continue = 2
    ends_with_return = 3

cdef class Dominance:
    cdef vector[uint32_t] blocks      # position -> node
    cdef vector[uint32_t] position    # node -> position
    cdef vector[int32_t] idom         # position -> position, -1 the first block, -2 unreachable
    cdef vector[uint32_t] enter       # preorder number and subtree size in the dominator tree
    cdef vector[uint32_t] size
    cdef vector[uint8_t] ending       # by node, set by the caller

# Needs Dominance.ending of every block node; fills the rest.
cdef int dominance_compute(Dominance d, const ShaderData *s) except -1 nogil
# Whether block node `a` dominates block node `b`; an unreachable `b` is dominated by everything.
cdef bint dominates(Dominance d, uint32_t a, uint32_t b) noexcept nogil
