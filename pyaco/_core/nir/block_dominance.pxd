"""Dominators of structured NIR, from the control-flow tree alone.

Blocks are numbered in program order; the immediate dominator of a block has a lower number.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport BlockNumber, NodeId, ShaderData

cdef enum:
    falls_through = 0             # how a block ends
    ends_with_break = 1
    ends_with_continue = 2

cdef class Dominance:
    cdef vector[NodeId] blocks         # by block number
    cdef vector[BlockNumber] position  # by node
    cdef vector[int32_t] idom          # by block number: the dominator's; -1 the first block, -2 unreachable
    cdef vector[uint32_t] enter        # by block number: preorder number and subtree size in the dominator tree
    cdef vector[uint32_t] size
    cdef vector[uint8_t] ending        # by node: falls_through ..., set by the caller

# Needs Dominance.ending of every block node; fills the rest.
cdef int dominance_compute(Dominance d, const ShaderData *s) except -1 nogil
# Whether block node `a` dominates block node `b`; an unreachable `b` is dominated by everything.
cdef bint dominates(Dominance d, NodeId a, NodeId b) noexcept nogil
