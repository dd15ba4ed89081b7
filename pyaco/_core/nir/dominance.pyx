"""Dominance over the structured control flow.

Successors follow from the node tree and the jumps. Program order visits a block after all its forward predecessors and
the only back edges lead to loop headers, so the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
Algorithm", 2001) needs one sweep; frontiers are computed as in the same paper.
"""
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport (
    BlockNumber, NodeId, Shader, ShaderData, ValueId, block_walk_next, jump_break, jump_continue, nir_jump, node_first_block,
    node_function, node_if, node_loop, nodes_index,
)


cdef NodeId node_loop_around(const ShaderData *s, NodeId node) noexcept nogil:
    node = s.nodes.parent[node]
    while node and s.nodes.kind[node] != node_loop:
        node = s.nodes.parent[node]
    return node


cdef ValueId _last_instruction(const ShaderData *s, NodeId block) noexcept nogil:
    if s.nodes.order_count[block] == 0:
        return 0
    return s.order.instruction[s.nodes.order_first[block] + s.nodes.order_count[block] - 1]


cdef int _successors(const ShaderData *s, NodeId block, NodeId *out) noexcept nogil:
    """Fill the successor block nodes; returns their count."""
    cdef ValueId last = _last_instruction(s, block)
    cdef NodeId following = s.nodes.next[block]
    cdef NodeId parent = s.nodes.parent[block]
    cdef NodeId loop
    if s.instructions.kind[last] == nir_jump:
        if s.instructions.opcode[last] == jump_break or s.instructions.opcode[last] == jump_continue:
            loop = node_loop_around(s, block)
            if loop == 0:
                return 0
            out[0] = s.nodes.next[loop] if s.instructions.opcode[last] == jump_break else s.nodes.first0[loop]
            return 1
        return 0
    if following:
        out[0] = s.nodes.first0[following]
        if s.nodes.kind[following] == node_if:
            out[1] = s.nodes.first1[following]
            return 2
        return 1
    if s.nodes.kind[parent] == node_function:
        return 0
    out[0] = s.nodes.first0[parent] if s.nodes.kind[parent] == node_loop else s.nodes.next[parent]
    return 1


cdef int cfg_build(Cfg *cfg, ShaderData *s) except -1 nogil:
    cdef uint32_t count = nodes_index(s)
    cdef NodeId block = node_first_block(s)
    cdef NodeId[2] out
    cdef BlockNumber i, target
    cdef int found, k
    cdef vector[uint32_t] fill
    cfg.blocks.assign(count, 0)
    cfg.successors.assign(2 * count, 0xffffffffU)
    cfg.predecessor_first.assign(count + 1, 0)
    while block:
        i = s.nodes.index[block]
        cfg.blocks[i] = block
        found = _successors(s, block, out)
        for k in range(found):
            target = s.nodes.index[out[k]]
            cfg.successors[2 * i + k] = target
            cfg.predecessor_first[target + 1] += 1
        block = block_walk_next(s, block)
    for i in range(count):
        cfg.predecessor_first[i + 1] += cfg.predecessor_first[i]
    cfg.predecessors.assign(cfg.predecessor_first[count], 0)
    fill = cfg.predecessor_first
    for i in range(count):
        for k in range(2):
            target = cfg.successors[2 * i + k]
            if target != 0xffffffffU:
                cfg.predecessors[fill[target]] = i
                fill[target] += 1
    return 0


cdef int cfg_dominance(Cfg *cfg, ShaderData *s) except -1 nogil:
    cdef uint32_t count = <uint32_t>cfg.blocks.size()
    cdef BlockNumber i
    cdef uint32_t row
    cdef int32_t best, other, a, c
    cdef vector[bint] reached
    reached.assign(count, False)
    cfg.immediate_dominator.assign(count, -1)
    reached[0] = True
    for i in range(count):
        best = -1
        for row in range(cfg.predecessor_first[i], cfg.predecessor_first[i + 1]):
            other = <int32_t>cfg.predecessors[row]
            if other >= <int32_t>i or not reached[other]:
                continue
            reached[i] = True
            if best < 0:
                best = other
                continue
            a = best
            c = other
            while a != c:
                if a > c:
                    a = cfg.immediate_dominator[a]
                else:
                    c = cfg.immediate_dominator[c]
            best = a
        cfg.immediate_dominator[i] = best
        s.nodes.immediate_dominator[cfg.blocks[i]] = <int32_t>cfg.blocks[best] if best >= 0 else -1
    return 0


cdef int cfg_frontiers(Cfg *cfg) except -1 nogil:
    cdef uint32_t count = <uint32_t>cfg.blocks.size()
    cdef vector[vector[BlockNumber]] sets
    cdef BlockNumber i
    cdef uint32_t row
    cdef int32_t runner
    sets.resize(count)
    for i in range(count):
        if cfg.predecessor_first[i + 1] - cfg.predecessor_first[i] < 2:
            continue
        for row in range(cfg.predecessor_first[i], cfg.predecessor_first[i + 1]):
            runner = <int32_t>cfg.predecessors[row]
            if runner != 0 and cfg.immediate_dominator[runner] < 0:
                continue                  # an unreachable predecessor
            while runner >= 0 and runner != cfg.immediate_dominator[i]:
                if sets[runner].empty() or sets[runner].back() != i:
                    sets[runner].push_back(i)
                runner = cfg.immediate_dominator[runner]
    cfg.frontier_first.assign(count + 1, 0)
    cfg.frontier.clear()
    for i in range(count):
        cfg.frontier.insert(cfg.frontier.end(), sets[i].begin(), sets[i].end())
        cfg.frontier_first[i + 1] = <uint32_t>cfg.frontier.size()
    return 0


cdef bint cfg_dominates(const Cfg *cfg, BlockNumber above, BlockNumber below) noexcept nogil:
    cdef int32_t runner = <int32_t>below
    while runner > <int32_t>above:
        runner = cfg.immediate_dominator[runner]
    return runner == <int32_t>above


def run(Shader shader not None, options=None):
    """Compute immediate dominators; they are left in ``shader.nodes.immediate_dominator``."""
    cdef Cfg cfg
    with nogil:
        cfg_build(&cfg, &shader.data)
        cfg_dominance(&cfg, &shader.data)
    return False
