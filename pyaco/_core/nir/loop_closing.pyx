"""Uses of a loop's values after it. The contract is in ``loop_closing.pxd``."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, ShaderData, SourceRow, ValueId, block_walk_next, nir_phi, nir_phi_new, node_block, node_first_block, node_if, node_loop,
    phi_set,
)
from pyaco._core.ir.source_lines cimport lines_inherit
from pyaco._core.nir.control_flow_edit cimport ControlFlowEdit


cdef int _note_definitions(Uses *uses, const ShaderData *s, NodeId node, NodeId loop) noexcept nogil:
    """Note for each value of the list from `node` on the innermost loop that it is in."""
    cdef OrderRow row
    while node:
        if s.nodes.kind[node] == node_block:
            for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
                uses.loop[s.order.instruction[row]] = loop
        else:
            _note_definitions(uses, s, s.nodes.first0[node], node if s.nodes.kind[node] == node_loop else loop)
            if s.nodes.kind[node] == node_if:
                _note_definitions(uses, s, s.nodes.first1[node], loop)
        node = s.nodes.next[node]
    return 0


cdef bint is_in_loop(const ShaderData *s, NodeId node, NodeId loop) noexcept nogil:
    while node and node != loop:
        node = s.nodes.parent[node]
    return node == loop


cdef int _note_use(Uses *uses, const ShaderData *s, ValueId value, NodeId user, NodeId place, SourceRow row) except -1 nogil:
    """Note a use of a value in `place`, if that is outside of its loop: a source of an instruction, or the condition of the node `user`."""
    if uses.loop[value] and not is_in_loop(s, place, uses.loop[value]):
        uses.list.push_back(Use(place=place, user=user, row=row, next=uses.first[value]))
        uses.first[value] = <uint32_t>uses.list.size() - 1
    return 0


cdef int uses_find(Uses *uses, const ShaderData *s) except -1 nogil:
    cdef NodeId block = node_first_block(s)
    cdef OrderRow order
    cdef SourceRow row
    cdef ValueId i
    uses.loop.assign(s.instructions.table.count)
    uses.first.assign(s.instructions.table.count)
    uses.list.resize(1)
    _note_definitions(uses, s, s.nodes.first0[1], 0)
    while block:
        for order in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[order]
            for row in range(s.instructions.source_first[i], s.instructions.source_first[i] + s.instructions.source_count[i]):
                _note_use(uses, s, s.sources.value[row], 0,
                          <NodeId>s.sources.swizzle[row] if s.instructions.kind[i] == nir_phi else block, row)
        if s.nodes.next[block] and s.nodes.kind[s.nodes.next[block]] == node_if:
            _note_use(uses, s, s.nodes.condition[s.nodes.next[block]], s.nodes.next[block], block, 0)
        block = block_walk_next(s, block)
    return 0


cdef ValueId _closed(ControlFlowEdit *edit, NodeId loop, const vector[NodeId] &leaving, ValueId value) except 0 nogil:
    """A phi after the loop for a value of the loop, the same for all exits."""
    cdef ShaderData *s = edit.shader
    cdef NodeId after = s.nodes.next[loop]
    cdef uint32_t i
    cdef ValueId phi = nir_phi_new(s, s.instructions.components[value], s.instructions.bit_size[value], <uint32_t>leaving.size())
    for i in range(<uint32_t>leaving.size()):
        phi_set(s, phi, i, value, leaving[i])
    lines_inherit(&s.lines, phi, phi + 1, value)
    edit.contents[after].insert(0, phi)
    return phi


cdef int close_value(ControlFlowEdit *edit, const Uses *uses, NodeId loop, const vector[NodeId] &leaving, ValueId value) except -1 nogil:
    cdef ShaderData *s = edit.shader
    cdef ValueId closed = 0
    cdef uint32_t i = uses.first[value]
    cdef Use use
    while i:
        use = uses.list[i]
        i = use.next
        if is_in_loop(s, use.place, loop):             # after a loop in this one
            continue
        if not closed:
            closed = _closed(edit, loop, leaving, value)
        if use.user:
            s.nodes.condition[use.user] = closed
        else:
            s.sources.value[use.row] = closed
    return 0
