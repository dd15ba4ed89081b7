"""Removes control flow that can never run or has no effect.

- an if with a constant condition becomes the list that it takes;
- what follows a jump in its list is cut; of an if whose lists both end with jumps, the else list moves to after the if;
- an if whose lists are empty, before a block without phis, is removed;
- an if whose first list alone is empty takes the other one by the contrary of its condition, where a comparison for it alone or an `inot` says that;
- a loop that never runs again (its body ends with a break and holds no other jump of its own) becomes its body;
- a loop that has no effect, and of which nothing is used outside, is removed (``dead_loops``).

Needs: nothing. Guarantees: valid NIR; phis have no sources from removed blocks.
"""
from libc.stdint cimport uint16_t, uint32_t, uint8_t
from libcpp.vector cimport vector

from nir_opcodes cimport alu_feq, alu_fneu, alu_ieq, alu_ige, alu_ilt, alu_ine, alu_inot, alu_uge, alu_ult

from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, RowRange, Shader, ShaderData, ValueId, jump_break, nir_alu, nir_jump, nir_load_const, nir_phi, node_block, node_function, node_if,
    node_insert_after, node_loop, node_remove, node_walk_next, source_value, sources_of,
)
from pyaco._core.nir.control_flow_edit cimport (
    ControlFlowEdit, edit_begin, edit_cut_after, edit_end, edit_jump_of, edit_merge_forward, edit_node_new, edit_resolve_phis, edit_splice,
)
from pyaco._core.nir.dead_loops cimport dead_loops_find


cdef bint _list_is_empty(const ControlFlowEdit *edit, NodeId first) noexcept nogil:
    return edit.shader.nodes.next[first] == 0 and edit.contents[first].empty()


cdef bint _has_phis(const ControlFlowEdit *edit, NodeId block) noexcept nogil:
    return (not edit.contents[block].empty()
            and edit.shader.instructions.kind[edit.contents[block][0]] == nir_phi)


cdef bint _ends_with_jump(const ControlFlowEdit *edit, NodeId last) noexcept nogil:
    return edit_jump_of(edit, last) != 0


cdef bint _jumps_within(const ControlFlowEdit *edit, NodeId node, ValueId allowed) noexcept nogil:
    """Whether a list, from `node` on, holds a jump of the loop around it other than `allowed`."""
    cdef ShaderData *s = edit.shader
    cdef ValueId jump
    while node:
        if s.nodes.kind[node] == node_block:
            jump = edit_jump_of(edit, node)
            if jump and jump != allowed:
                return True
        elif s.nodes.kind[node] == node_if:
            if (_jumps_within(edit, s.nodes.first0[node], allowed)
                    or _jumps_within(edit, s.nodes.first1[node], allowed)):
                return True
        node = s.nodes.next[node]
    return False


cdef bint _simplify_loop(ControlFlowEdit *edit, NodeId loop) except -1 nogil:
    """Replace a loop that runs once by its body."""
    cdef ShaderData *s = edit.shader
    cdef NodeId last = s.nodes.last0[loop]
    cdef ValueId jump = edit_jump_of(edit, last)
    cdef NodeId before = s.nodes.previous[loop]
    if not jump or s.instructions.opcode[jump] != jump_break or _jumps_within(edit, s.nodes.first0[loop], jump):
        return False
    edit_resolve_phis(edit, s.nodes.first0[loop], before)
    edit.contents[last].pop_back()
    edit_splice(edit, loop, s.nodes.first0[loop])
    return True


cdef bint _simplify_if(ControlFlowEdit *edit, NodeId node) except -1 nogil:
    """Simplify one if; True when it was removed or the rest of its list was cut."""
    cdef ShaderData *s = edit.shader
    cdef ValueId condition = s.nodes.condition[node]
    cdef NodeId after = s.nodes.next[node]
    if s.instructions.kind[condition] == nir_load_const:
        if s.constants.value[s.instructions.data[condition]]:
            edit_splice(edit, node, s.nodes.first0[node])
        else:
            edit_splice(edit, node, s.nodes.first1[node])
        return True
    if _list_is_empty(edit, s.nodes.first0[node]) and _list_is_empty(edit, s.nodes.first1[node]):
        if not _has_phis(edit, after):
            edit_splice(edit, node, s.nodes.first0[node])
            return True
    if _ends_with_jump(edit, s.nodes.last0[node]) and _ends_with_jump(edit, s.nodes.last1[node]):
        _move_else_after(edit, node)
        return True
    return False


cdef int _move_else_after(ControlFlowEdit *edit, NodeId node) except -1 nogil:
    """Both lists of an if end with jumps: replace what follows the if, which is never reached, by its else list."""
    cdef ShaderData *s = edit.shader
    cdef NodeId member = s.nodes.first1[node]
    cdef NodeId after = node
    cdef NodeId following
    cdef NodeId empty
    edit_cut_after(edit, node)
    empty = edit_node_new(edit, node_block)
    s.nodes.parent[empty] = node
    s.nodes.first1[node] = s.nodes.last1[node] = empty
    while member:
        following = s.nodes.next[member]
        s.nodes.previous[member] = s.nodes.next[member] = 0
        node_insert_after(s, member, after)
        after = member
        member = following
    return 0


cdef bint _simplify_list(ControlFlowEdit *edit, NodeId node) except -1 nogil:
    """Simplify the siblings from `node` on, inner lists first."""
    cdef ShaderData *s = edit.shader
    cdef bint progress = False
    cdef NodeId following
    while node:
        following = s.nodes.next[node]
        if s.nodes.kind[node] == node_if:
            progress |= _simplify_list(edit, s.nodes.first0[node])
            progress |= _simplify_list(edit, s.nodes.first1[node])
            if _simplify_if(edit, node):
                progress = True
        elif s.nodes.kind[node] == node_loop:
            progress |= _simplify_list(edit, s.nodes.first0[node])
            if _simplify_loop(edit, node):
                progress = True
        elif edit_jump_of(edit, node) and s.nodes.next[node]:
            edit_cut_after(edit, node)
            progress = True
        # A splice keeps the block that follows, unless the spliced list ended with a jump.
        node = following if following and s.nodes.parent[following] else 0
    return progress


cdef inline ValueId _last_jump(const ShaderData *s, NodeId block) noexcept nogil:
    """The jump that ends a block of the shader before any edit; 0 when it falls through."""
    cdef uint32_t count = s.nodes.order_count[block]
    cdef ValueId last = s.order.instruction[s.nodes.order_first[block] + count - 1] if count else 0
    return last if s.instructions.kind[last] == nir_jump else 0


cdef bint _if_may_simplify(const ShaderData *s, NodeId node) noexcept nogil:
    cdef NodeId then_block = s.nodes.first0[node]
    cdef NodeId else_block = s.nodes.first1[node]
    if s.instructions.kind[s.nodes.condition[node]] == nir_load_const:
        return True
    if not (s.nodes.next[then_block] or s.nodes.next[else_block] or s.nodes.order_count[then_block] or s.nodes.order_count[else_block]):
        return True
    return _last_jump(s, s.nodes.last0[node]) != 0 and _last_jump(s, s.nodes.last1[node]) != 0


cdef bint _may_simplify(const ShaderData *s) noexcept nogil:
    """Whether there may be work: a look at the shader as it is spares most runs a copy of it."""
    cdef NodeId node = 1
    cdef ValueId jump
    while node:
        if s.nodes.kind[node] == node_if:
            if _if_may_simplify(s, node):
                return True
        elif s.nodes.kind[node] == node_loop:
            jump = _last_jump(s, s.nodes.last0[node])
            if jump and s.instructions.opcode[jump] == jump_break:
                return True
        elif s.nodes.kind[node] == node_block and s.nodes.next[node] and _last_jump(s, node):
            return True
        node = node_walk_next(s, node)
    return False


cdef int _remove_loops(ControlFlowEdit *edit, vector[NodeId] &dead) except -1 nogil:
    """Remove dead loops, outer ones first: what is in them goes with them."""
    cdef ShaderData *s = edit.shader
    cdef NodeId loop, before, after, around
    while not dead.empty():
        loop = around = dead.back()
        dead.pop_back()
        while s.nodes.parent[around]:
            around = s.nodes.parent[around]
        if s.nodes.kind[around] != node_function:
            continue
        before = s.nodes.previous[loop]
        after = s.nodes.next[loop]
        node_remove(s, loop)
        edit_merge_forward(edit, before, after)
    return 0


cdef int _contrary(int opcode) noexcept nogil:
    """The comparison that is true where another is false; -1: none."""
    if opcode == alu_ieq:
        return alu_ine
    if opcode == alu_ine:
        return alu_ieq
    if opcode == alu_ilt:
        return alu_ige
    if opcode == alu_ige:
        return alu_ilt
    if opcode == alu_ult:
        return alu_uge
    if opcode == alu_uge:
        return alu_ult
    if opcode == alu_feq:
        return alu_fneu
    return alu_feq if opcode == alu_fneu else -1


cdef bint _is_empty_block(const ShaderData *s, NodeId first) noexcept nogil:
    return s.nodes.next[first] == 0 and s.nodes.order_count[first] == 0


cdef int _count_readers(const ShaderData *s, Zeroed[uint8_t] &readers) except -1 nogil:
    """How many read each value: two are many."""
    cdef RowRange sources
    cdef uint32_t row, k
    cdef ValueId value
    readers.assign(s.instructions.table.count)
    for row in range(s.order.table.count):
        sources = sources_of(s, s.order.instruction[row])
        for k in range(sources.first, sources.first + sources.count):
            value = s.sources.value[k]
            readers[value] = min(readers[value] + 1, 2)
    for row in range(1, s.nodes.table.count):
        readers[s.nodes.condition[row]] = min(readers[s.nodes.condition[row]] + 1, 2)
    return 0


cdef bint _swap_lists(ShaderData *s) except -1 nogil:
    """Ifs with nothing but an else list: lanes are narrowed once, not first to those that have nothing to do. Whether there were some."""
    cdef Zeroed[uint8_t] readers
    cdef NodeId node
    cdef ValueId condition
    cdef bint is_not
    cdef bint progress = False
    for node in range(1, s.nodes.table.count):
        if s.nodes.kind[node] != node_if or not s.nodes.parent[node] or not _is_empty_block(s, s.nodes.first0[node]) \
                or _is_empty_block(s, s.nodes.first1[node]):
            continue
        condition = s.nodes.condition[node]
        if s.instructions.kind[condition] != nir_alu or s.instructions.components[condition] != 1:
            continue
        is_not = s.instructions.opcode[condition] == alu_inot and s.instructions.components[source_value(s, condition, 0)] == 1
        if not is_not and _contrary(s.instructions.opcode[condition]) < 0:
            continue
        if readers.empty():
            _count_readers(s, readers)
        if is_not:
            s.nodes.condition[node] = source_value(s, condition, 0)
        elif readers[condition] == 1:
            s.instructions.opcode[condition] = <uint16_t>_contrary(s.instructions.opcode[condition])
        else:
            continue
        s.nodes.first0[node], s.nodes.first1[node] = s.nodes.first1[node], s.nodes.first0[node]
        s.nodes.last0[node], s.nodes.last1[node] = s.nodes.last1[node], s.nodes.last0[node]
        progress = True
    return progress


cdef bint dead_control_flow_run(ShaderData *s) except -1 nogil:
    cdef ControlFlowEdit edit
    cdef vector[NodeId] dead
    cdef bint progress
    dead_loops_find(s, dead)
    progress = not dead.empty()
    if not progress and not _may_simplify(s):
        return False
    edit_begin(&edit, s)
    _remove_loops(&edit, dead)
    progress |= _simplify_list(&edit, s.nodes.first0[1])
    if progress:
        edit_end(&edit)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef bint progress = _swap_lists(<ShaderData *>ir)
    while dead_control_flow_run(<ShaderData *>ir):
        progress = True
    return progress


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Remove dead control flow until none is found; True when something changed."""
    cdef bint progress = False
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
