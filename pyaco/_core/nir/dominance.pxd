"""Control-flow graph and dominator tree of a shader, as read from its structured nodes."""
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport ShaderData

# Blocks are numbered in program order (also in Nodes.index), which visits every block after its dominators.
cdef struct Cfg:
    vector[uint32_t] blocks               # node of block i
    vector[uint32_t] successors           # two per block, as numbers; 0xffffffff none
    vector[uint32_t] predecessor_first    # of block i in predecessors; one more at the end
    vector[uint32_t] predecessors
    vector[int32_t] immediate_dominator   # by block number; -1: entry or unreachable
    vector[uint32_t] frontier_first       # dominance frontiers, as CSR
    vector[uint32_t] frontier

cdef int cfg_build(Cfg *cfg, ShaderData *s) except -1 nogil
# Needs cfg_build. Fills immediate dominators (also Nodes.immediate_dominator, as nodes).
cdef int cfg_dominance(Cfg *cfg, ShaderData *s) except -1 nogil
# Needs cfg_dominance.
cdef int cfg_frontiers(Cfg *cfg) except -1 nogil
cdef bint cfg_dominates(const Cfg *cfg, uint32_t above, uint32_t below) noexcept nogil

# The loop node around a node, 0 if none; the block that control reaches after a node's list ends.
cdef uint32_t node_loop_around(const ShaderData *s, uint32_t node) noexcept nogil
cdef bint block_ends_in_jump(const ShaderData *s, uint32_t block) noexcept nogil
