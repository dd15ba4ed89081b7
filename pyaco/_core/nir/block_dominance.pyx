"""Dominators of structured NIR, from the control-flow tree alone. The data sheet is ``block_dominance.pxd``.

One walk in program order keeps the block that dominates what comes next (`flow`): an if joins the flows of its two
lists at their nearest common dominator, the block after a loop joins its breaks. With structured control flow this needs
no iteration (compare Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", whose intersection is used).
"""
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport BlockNumber, NodeId, ShaderData, node_if, node_loop

cdef enum:
    unreachable = -2


cdef int32_t _join(Dominance d, int32_t a, int32_t b) noexcept nogil:
    if a == unreachable:
        return b
    if b == unreachable:
        return a
    while a != b:
        if a > b:
            a = d.idom[a]
        else:
            b = d.idom[b]
    return a


cdef int _number(Dominance d) except -1 nogil:
    """Number the dominator tree in preorder; a subtree is an interval of numbers."""
    cdef int32_t count = <int32_t>d.blocks.size()
    cdef vector[uint32_t] next_number
    cdef int32_t i
    cdef uint32_t next_root = 0
    next_number.resize(count)
    d.enter.assign(count, 0)
    d.size.assign(count, 1)
    for i in range(count - 1, 0, -1):
        if d.idom[i] >= 0:
            d.size[d.idom[i]] += d.size[i]
    for i in range(count):
        if d.idom[i] >= 0:
            d.enter[i] = next_number[d.idom[i]]
            next_number[d.idom[i]] += d.size[i]
        else:
            d.enter[i] = next_root
            next_root += d.size[i]
        next_number[i] = d.enter[i] + 1
    return 0


cdef int dominance_compute(Dominance d, const ShaderData *s) except -1 nogil:
    cdef vector[int32_t] saved         # by node: flow before an if; joined breaks of a loop
    cdef vector[int32_t] then_flow
    cdef vector[NodeId] loops
    cdef NodeId node = s.nodes.first0[1]
    cdef NodeId parent
    cdef int32_t flow = -1
    cdef int32_t position
    saved.assign(s.nodes.table.count, unreachable)
    then_flow.assign(s.nodes.table.count, unreachable)
    d.position.assign(s.nodes.table.count, 0)
    d.blocks.clear()
    d.idom.clear()
    while node:
        if s.nodes.kind[node] == node_if:
            saved[node] = flow
            node = s.nodes.first0[node]
            continue
        if s.nodes.kind[node] == node_loop:
            loops.push_back(node)
            node = s.nodes.first0[node]
            continue
        position = <int32_t>d.blocks.size()
        d.position[node] = position
        d.blocks.push_back(node)
        d.idom.push_back(flow)
        if flow != unreachable:
            flow = position
        if d.ending[node] != falls_through:
            if d.ending[node] == ends_with_break and loops.size():
                saved[loops.back()] = _join(d, saved[loops.back()], flow)
            flow = unreachable
        # Leave all lists whose last node this is.
        while s.nodes.next[node] == 0:
            parent = s.nodes.parent[node]
            if s.nodes.kind[parent] == node_if and s.nodes.last0[parent] == node:
                then_flow[parent] = flow
                flow = saved[parent]
                node = s.nodes.first1[parent]
                break
            if s.nodes.kind[parent] == node_if:
                flow = _join(d, then_flow[parent], flow)
            elif s.nodes.kind[parent] == node_loop:
                flow = saved[parent]
                loops.pop_back()
            else:
                _number(d)
                return 0
            node = parent
        else:
            node = s.nodes.next[node]
    _number(d)
    return 0


cdef bint dominates(Dominance d, NodeId a, NodeId b) noexcept nogil:
    cdef BlockNumber x = d.position[a]
    cdef BlockNumber y = d.position[b]
    if d.idom[y] == unreachable:
        return True
    if d.idom[x] == unreachable:
        return False
    return d.enter[x] <= d.enter[y] < d.enter[x] + d.size[x]


cdef class Dominance:
    pass
