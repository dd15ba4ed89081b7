"""Loops that do nothing. The contract is in ``dead_loops.pxd``.

A loop is dead if nothing in it has an effect, it is left by breaks alone, and nothing outside uses what it computes, nor by which break it was
left. That it ends is taken for granted, as Mesa's ``nir_opt_dead_cf`` takes it; a loop without any break stays. A load of what other invocations
may write is an effect here, as there: the loop may wait for them.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    index_access, intrinsic_flag_can_reorder, intrinsic_flag_convergent, intrinsic_flags, intrinsic_load_deref, intrinsic_load_scratch,
)
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, ShaderData, SourceRow, ValueId, access_can_reorder, intrinsic_index, jump_break, jump_continue, mode_function_temp,
    mode_shader_temp, nir_intrinsic, nir_jump, nir_phi, node_block, node_if, source_value,
)
from pyaco._core.nir.dce cimport has_effect

cdef struct Body:                 # what is in a list
    bint has_effect
    bint breaks                   # of the loop around it

cdef struct Search:
    const ShaderData *s
    vector[NodeId] candidates
    vector[NodeId] around         # by node: the innermost candidate that it is in, or is; 0 none
    vector[uint32_t] begin        # by node: its place in a walk over all, and that of the last node in it
    vector[uint32_t] end
    vector[bint] used             # by node: a candidate of which something is used outside
    vector[uint64_t] computed     # a bit for each value: it is of a candidate. Most are not, and nothing else is looked at then
    uint32_t place


# -------------------------------------------------------------------------------------------------------------- candidates
cdef bint _may_wait(const ShaderData *s, ValueId i) noexcept nogil:
    """Whether others may decide what an instruction gives: memory that they write, or the clock."""
    cdef int opcode = s.instructions.opcode[i]
    if s.instructions.kind[i] != nir_intrinsic or intrinsic_flags[opcode] & (intrinsic_flag_can_reorder | intrinsic_flag_convergent):
        return False
    if opcode == intrinsic_load_deref and not s.instructions.mode[source_value(s, i, 0)] & ~<uint32_t>(mode_function_temp | mode_shader_temp):
        return False
    return opcode != intrinsic_load_scratch and not intrinsic_index(s, i, index_access) & access_can_reorder


cdef int _look_at_block(const ShaderData *s, NodeId block, Body *body) noexcept nogil:
    cdef OrderRow row
    cdef ValueId i
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[row]
        if s.instructions.kind[i] == nir_jump and s.instructions.opcode[i] in (jump_break, jump_continue):
            body.breaks = body.breaks or s.instructions.opcode[i] == jump_break
        elif has_effect(s, i) or _may_wait(s, i):
            body.has_effect = True
            return 0
    return 0


cdef bint _has_phis(const ShaderData *s, NodeId block) noexcept nogil:
    return s.nodes.order_count[block] != 0 and s.instructions.kind[s.order.instruction[s.nodes.order_first[block]]] == nir_phi


cdef int _look_at_list(Search *search, NodeId node, bint in_loop, Body *body) except -1 nogil:
    """Note the candidates from `node` on, and whether the list has effects; outside of loops blocks are not looked at."""
    cdef const ShaderData *s = search.s
    cdef Body inner
    while node:
        if s.nodes.kind[node] == node_block:
            if in_loop and not body.has_effect:
                _look_at_block(s, node, body)
        elif s.nodes.kind[node] == node_if:
            _look_at_list(search, s.nodes.first0[node], in_loop, body)
            _look_at_list(search, s.nodes.first1[node], in_loop, body)
        else:
            inner.has_effect = inner.breaks = False
            _look_at_list(search, s.nodes.first0[node], True, &inner)
            body.has_effect = body.has_effect or inner.has_effect
            if not inner.has_effect and inner.breaks and not _has_phis(s, s.nodes.next[node]):
                search.candidates.push_back(node)
        node = s.nodes.next[node]
    return 0


# -------------------------------------------------------------------------------------------------------------------- uses
cdef void _note_values(Search *search, NodeId block) noexcept nogil:
    cdef const ShaderData *s = search.s
    cdef OrderRow row
    cdef ValueId value
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        value = s.order.instruction[row]
        search.computed[value // 64] |= <uint64_t>1 << value % 64


cdef int _number(Search *search, NodeId node, NodeId candidate) noexcept nogil:
    """Number the nodes from `node` on, and note the candidates around them and what these compute."""
    cdef const ShaderData *s = search.s
    cdef NodeId here
    while node:
        here = node if search.used[node] else candidate        # until uses are looked at, every candidate is marked
        search.around[node] = here
        search.begin[node] = search.place
        search.place += 1
        if s.nodes.kind[node] == node_block:
            if here:
                _note_values(search, node)
        else:
            _number(search, s.nodes.first0[node], here)
            if s.nodes.kind[node] == node_if:
                _number(search, s.nodes.first1[node], here)
        search.end[node] = search.place
        node = s.nodes.next[node]
    return 0


cdef inline int _use(Search *search, ValueId value, NodeId user) noexcept nogil:
    """Mark the candidates that a value leaves on its way to a node that uses it."""
    cdef const ShaderData *s = search.s
    cdef NodeId loop
    if not search.computed[value // 64] >> value % 64 & 1:
        return 0
    loop = search.around[s.instructions.block[value]]
    while loop and not (search.begin[loop] <= search.begin[user] and search.begin[user] < search.end[loop]):
        search.used[loop] = True
        loop = search.around[s.nodes.parent[loop]]
    return 0


cdef int _look_at_uses(Search *search, NodeId node) noexcept nogil:
    cdef const ShaderData *s = search.s
    cdef OrderRow row
    cdef SourceRow source
    cdef ValueId i
    while node:
        for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
            i = s.order.instruction[row]
            for source in range(s.instructions.source_first[i], s.instructions.source_first[i] + s.instructions.source_count[i]):
                _use(search, s.sources.value[source], node)
        if s.nodes.kind[node] == node_if:
            _use(search, s.nodes.condition[node], node)
            _look_at_uses(search, s.nodes.first1[node])
        if s.nodes.kind[node] != node_block:
            _look_at_uses(search, s.nodes.first0[node])
        node = s.nodes.next[node]
    return 0


cdef int dead_loops_find(const ShaderData *s, vector[NodeId] &dead) except -1 nogil:
    cdef Search search
    cdef Body body
    cdef uint32_t i
    dead.clear()
    search.s = s
    body.has_effect = body.breaks = False
    _look_at_list(&search, s.nodes.first0[1], False, &body)
    if search.candidates.empty():
        return 0
    search.place = 0
    search.around.assign(s.nodes.table.count, 0)
    search.begin.assign(s.nodes.table.count, 0)
    search.end.assign(s.nodes.table.count, 0)
    search.used.assign(s.nodes.table.count, False)
    search.computed.assign(s.instructions.table.count // 64 + 1, 0)
    for i in range(<uint32_t>search.candidates.size()):
        search.used[search.candidates[i]] = True
    _number(&search, s.nodes.first0[1], 0)
    search.used.assign(s.nodes.table.count, False)
    _look_at_uses(&search, s.nodes.first0[1])
    for i in range(<uint32_t>search.candidates.size()):
        if not search.used[search.candidates[i]]:
            dead.push_back(search.candidates[i])
    return 0
