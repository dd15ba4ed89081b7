"""The loops of a shader, one after another, for passes that look at each of them and find nothing to do in most."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport NodeId, ShaderData

cdef enum:
    loops_at_once = 40

cdef struct LoopWalk:
    const ShaderData *shader
    NodeId node                   # where the search for more goes on
    uint32_t count                # of `loops`
    uint32_t at                   # the next of them
    NodeId[loops_at_once] loops

cdef void loop_walk_begin(LoopWalk *walk, const ShaderData *s) noexcept nogil
# The next loop in the order of the table of nodes, 0: none. There may be loops in what nothing reaches any more.
cdef NodeId loop_next(LoopWalk *walk) noexcept nogil
