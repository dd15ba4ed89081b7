"""Control-flow graph and dominator tree of a shader, as read from its structured nodes."""
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport BlockNumber, NodeId, ShaderData

# Blocks are numbered in program order (also in Nodes.index), which visits every block after its dominators.
cdef struct Cfg:
    vector[NodeId] blocks                 # by block number
    vector[BlockNumber] successors        # two per block; 0xffffffff none
    vector[uint32_t] predecessor_first    # of each block in predecessors; one more at the end
    vector[BlockNumber] predecessors
    vector[int32_t] immediate_dominator   # by block number; -1: entry or unreachable
    vector[uint32_t] frontier_first       # of each block in frontier; one more at the end
    vector[BlockNumber] frontier          # dominance frontiers

cdef int cfg_build(Cfg *cfg, ShaderData *s) except -1 nogil
# Needs cfg_build. Fills immediate dominators (also Nodes.immediate_dominator, as nodes).
cdef int cfg_dominance(Cfg *cfg, ShaderData *s) except -1 nogil
# Needs cfg_dominance.
cdef int cfg_frontiers(Cfg *cfg) except -1 nogil
cdef bint cfg_dominates(const Cfg *cfg, BlockNumber above, BlockNumber below) noexcept nogil

# The innermost loop around a node, 0 if none.
cdef NodeId node_loop_around(const ShaderData *s, NodeId node) noexcept nogil
