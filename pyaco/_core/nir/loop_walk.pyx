"""Loops in the order of the table of nodes. The contract is in ``loop_walk.pxd``.

What decides about a loop (its ends, the ifs beside them, what their conditions are computed from) is a chain of rows, each named by the one before,
in a dozen columns. In large shaders none of them is in the cache, and whoever looks at one loop after another waits for memory at each. So rows are
fetched for some loops side by side: the first of all, then the second of all, and so on.
"""
from pyaco._core.common.prefetch cimport fetch
from pyaco._core.ir.shader cimport OrderRow, SourceRow, ValueId, nir_alu, nir_load_const, nir_phi, node_loop

cdef enum:
    fewest_nodes = 1 << 14        # of a shader that the caches do not hold: 200,000 instructions of SPIR-V
    most_levels = 2               # of an expression; most are decided by then
    most_operands = 2             # of an operation
    most_values = 14 * loops_at_once      # two conditions, and two levels of operands


cdef void _fetch_loops(const LoopWalk *walk) noexcept nogil:
    cdef const ShaderData *s = walk.shader
    cdef uint32_t k
    for k in range(walk.count):
        fetch(&s.nodes.first0[walk.loops[k]])
        fetch(&s.nodes.last0[walk.loops[k]])
        fetch(&s.nodes.previous[walk.loops[k]])
        fetch(&s.nodes.control[walk.loops[k]])


cdef void _fetch_ends(const LoopWalk *walk) noexcept nogil:
    """The first and the last block of each loop."""
    cdef const ShaderData *s = walk.shader
    cdef NodeId first, last
    cdef uint32_t k
    for k in range(walk.count):
        first, last = s.nodes.first0[walk.loops[k]], s.nodes.last0[walk.loops[k]]
        fetch(&s.nodes.next[first])
        fetch(&s.nodes.order_first[first])
        fetch(&s.nodes.order_count[first])
        fetch(&s.nodes.previous[last])
        fetch(&s.nodes.order_first[last])
        fetch(&s.nodes.order_count[last])


cdef inline const ValueId *_last(const ShaderData *s, NodeId block) noexcept nogil:
    """Where the last instruction of a block is named."""
    cdef OrderRow end = s.nodes.order_first[block] + s.nodes.order_count[block]
    return s.order.instruction + end - (end != 0)


cdef uint32_t _fetch_branches(const LoopWalk *walk, NodeId *branches) noexcept nogil:
    """List and fetch what stands behind the first and before the last block, where that is two ifs, or one."""
    cdef const ShaderData *s = walk.shader
    cdef NodeId behind_first, before_last
    cdef uint32_t count = 0
    cdef uint32_t k
    for k in range(walk.count):
        fetch(&s.order.instruction[s.nodes.order_first[s.nodes.first0[walk.loops[k]]]])
        fetch(_last(s, s.nodes.last0[walk.loops[k]]))
        behind_first, before_last = s.nodes.next[s.nodes.first0[walk.loops[k]]], s.nodes.previous[s.nodes.last0[walk.loops[k]]]
        branches[count] = behind_first
        count += behind_first != 0
        branches[count] = before_last
        count += before_last != behind_first
    for k in range(count):
        fetch(&s.nodes.condition[branches[k]])
        fetch(&s.nodes.next[branches[k]])
        fetch(&s.nodes.first0[branches[k]])
        fetch(&s.nodes.last0[branches[k]])
        fetch(&s.nodes.first1[branches[k]])
        fetch(&s.nodes.last1[branches[k]])
    return count


cdef uint32_t _fetch_lists(const ShaderData *s, const NodeId *branches, uint32_t count, ValueId *conditions) noexcept nogil:
    """List the conditions of ifs, and fetch the blocks that their lists end with."""
    cdef uint32_t found = 0
    cdef uint32_t k
    for k in range(count):
        fetch(&s.nodes.order_first[s.nodes.last0[branches[k]]])
        fetch(&s.nodes.order_count[s.nodes.last0[branches[k]]])
        fetch(&s.nodes.order_first[s.nodes.last1[branches[k]]])
        fetch(&s.nodes.order_count[s.nodes.last1[branches[k]]])
        conditions[found] = s.nodes.condition[branches[k]]
        found += conditions[found] != 0
    return found


cdef void _fetch_jumps(const LoopWalk *walk, const NodeId *branches, uint32_t count) noexcept nogil:
    """The last instructions of loops and of the lists of ifs."""
    cdef const ShaderData *s = walk.shader
    cdef uint32_t k
    for k in range(count):
        fetch(_last(s, s.nodes.last0[branches[k]]))
        fetch(_last(s, s.nodes.last1[branches[k]]))
    for k in range(walk.count):
        fetch(&s.instructions.kind[_last(s, s.nodes.last0[walk.loops[k]])[0]])
    for k in range(count):
        fetch(&s.instructions.kind[_last(s, s.nodes.last0[branches[k]])[0]])
        fetch(&s.instructions.kind[_last(s, s.nodes.last1[branches[k]])[0]])


cdef void _fetch_values(const ShaderData *s, const ValueId *values, uint32_t begin, uint32_t end) noexcept nogil:
    cdef uint32_t k
    for k in range(begin, end):
        fetch(&s.instructions.kind[values[k]])
        fetch(&s.instructions.opcode[values[k]])
        fetch(&s.instructions.components[values[k]])
        fetch(&s.instructions.block[values[k]])
        fetch(&s.instructions.source_first[values[k]])
        fetch(&s.instructions.source_count[values[k]])


cdef uint32_t _fetch_operands(const ShaderData *s, ValueId *values, uint32_t begin, uint32_t end, NodeId first) noexcept nogil:
    """Fetch what values are computed from, and list it behind `end`; what stands before the loop `first` is not taken apart."""
    cdef uint32_t taken = begin
    cdef ValueId value
    cdef SourceRow row
    cdef uint32_t k
    for k in range(begin, end):
        value = values[k]
        if s.instructions.kind[value] == nir_load_const:
            continue
        fetch(&s.nodes.order_first[s.instructions.block[value]])
        if s.instructions.block[value] < first or s.instructions.kind[value] != nir_alu and s.instructions.kind[value] != nir_phi:
            continue
        fetch(&s.sources.value[s.instructions.source_first[value]])
        if s.instructions.kind[value] == nir_phi:
            fetch(&s.sources.swizzle[s.instructions.source_first[value]])
        values[taken] = value
        taken += 1
    for k in range(begin, taken):
        row = s.instructions.source_first[values[k]]
        for row in range(row, row + min(<uint32_t>s.instructions.source_count[values[k]], <uint32_t>most_operands)):
            values[end] = s.sources.value[row]
            end += 1
    return end


cdef void _fetch(const LoopWalk *walk) noexcept nogil:
    cdef const ShaderData *s = walk.shader
    cdef NodeId[2 * loops_at_once] branches
    cdef ValueId[most_values] values
    cdef uint32_t begin = 0
    cdef uint32_t count, end, _level
    _fetch_loops(walk)
    _fetch_ends(walk)
    count = _fetch_branches(walk, branches)
    end = _fetch_lists(s, branches, count, values)
    _fetch_jumps(walk, branches, count)
    for _level in range(<uint32_t>most_levels):
        _fetch_values(s, values, begin, end)
        count = _fetch_operands(s, values, begin, end, walk.loops[0])
        begin, end = end, count


cdef void loop_walk_begin(LoopWalk *walk, const ShaderData *s) noexcept nogil:
    walk.shader = s
    walk.node = 2
    walk.count = walk.at = 0


cdef NodeId loop_next(LoopWalk *walk) noexcept nogil:
    cdef const ShaderData *s = walk.shader
    if walk.at == walk.count:
        walk.at = walk.count = 0
        while walk.node < s.nodes.table.count and walk.count < loops_at_once:
            if s.nodes.kind[walk.node] == node_loop and s.nodes.parent[walk.node]:
                walk.loops[walk.count] = walk.node
                walk.count += 1
            walk.node += 1
        if walk.count == 0:
            return 0
        if s.nodes.table.count >= fewest_nodes:
            _fetch(walk)
    walk.at += 1
    return walk.loops[walk.at - 1]
