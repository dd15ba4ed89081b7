"""Dominators of the logical and the linear CFG.

Needs: finished edges; every edge but those back to loop headers goes from a lower to a higher block. Guarantees: immediate
dominators, and numbers of both trees by which dominance is decided in constant time. A block without linear predecessors is
its own dominator; a block outside the logical CFG has -1 and counts as dominated by all.

Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), with block indices as the postorder.
"""
from libc.stdint cimport int32_t, uint32_t

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport BlockId, Program, ProgramData


cdef struct Graph:
    const uint32_t *first             # predecessors
    const uint32_t *count
    const uint32_t *block
    int32_t *idom


cdef inline int32_t _intersect(const int32_t *idom, int32_t a, int32_t b) noexcept nogil:
    while a != b:
        while a > b:
            if idom[a] == a:          # an unreachable root: it constrains nothing
                return b
            a = idom[a]
        while b > a:
            if idom[b] == b:
                return a
            b = idom[b]
    return a


cdef void _immediate_dominators(ProgramData *p, Graph *g) noexcept nogil:
    cdef uint32_t n = p.blocks.table.count
    cdef BlockId b
    cdef uint32_t k
    cdef int32_t other
    cdef int32_t found
    cdef bint changed = True
    for b in range(n):
        g.idom[b] = <int32_t>b if p.blocks.linear_pred_count[b] == 0 else -1
    # One sweep settles forward edges; reducible loops need no second one, text from a user may.
    while changed:
        changed = False
        for b in range(n):
            if p.blocks.linear_pred_count[b] == 0:
                continue
            found = -1
            for k in range(g.count[b]):
                other = <int32_t>g.block[g.first[b] + k]
                if g.idom[other] == -1:
                    continue
                # A predecessor that is not yet placed below its own dominator is a back edge.
                found = other if found == -1 else _intersect(g.idom, found, other)
            if found != g.idom[b]:
                g.idom[b] = found
                changed = True


cdef int _number(ProgramData *p, const int32_t *idom, uint32_t *pre, uint32_t *post, SmallVector[uint32_t] &scratch) except -1 nogil:
    """Number the tree depth first, children in ascending order."""
    cdef uint32_t n = p.blocks.table.count
    cdef uint32_t *next_child         # children as linked lists
    cdef uint32_t *first_child
    cdef uint32_t *stack
    cdef uint32_t depth
    cdef uint32_t b
    cdef uint32_t child
    cdef uint32_t before = 0
    cdef uint32_t after = 0
    cdef uint32_t none = 0xffffffffU
    scratch.assign(3 * <size_t>n, none)
    next_child = scratch.data()
    first_child = next_child + n
    stack = first_child + n
    for b in range(n - 1, -1, -1):
        pre[b] = none
        post[b] = 0
        if idom[b] >= 0 and <uint32_t>idom[b] != b:
            next_child[b] = first_child[idom[b]]
            first_child[idom[b]] = b
    for b in range(n):
        if idom[b] != <int32_t>b:
            continue
        stack[0] = b
        depth = 1
        pre[b] = before
        before += 1
        while depth:
            child = first_child[stack[depth - 1]]
            if child == none:
                after += 1
                depth -= 1
                post[stack[depth]] = after
                continue
            first_child[stack[depth - 1]] = next_child[child]
            pre[child] = before
            before += 1
            stack[depth] = child
            depth += 1
    return 0


cdef int dominance_run(ProgramData *p) except -1 nogil:
    cdef Graph g
    cdef SmallVector[uint32_t] scratch
    if p.blocks.table.count == 0:
        return 0
    g.block = p.edge_lists.block
    g.first = p.blocks.logical_pred_first
    g.count = p.blocks.logical_pred_count
    g.idom = p.blocks.logical_idom
    _immediate_dominators(p, &g)
    _number(p, g.idom, p.blocks.logical_pre, p.blocks.logical_post, scratch)
    g.first = p.blocks.linear_pred_first
    g.count = p.blocks.linear_pred_count
    g.idom = p.blocks.linear_idom
    _immediate_dominators(p, &g)
    return _number(p, g.idom, p.blocks.linear_pre, p.blocks.linear_post, scratch)


cdef int _kernel(void *ir, int option) except -1 nogil:
    dominance_run(<ProgramData *>ir)
    return 0


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Compute the dominator trees of both CFGs."""
    with nogil:
        _kernel(&program.data, 0)
    return False
