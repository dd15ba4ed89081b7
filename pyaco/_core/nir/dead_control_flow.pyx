"""Dead control flow: what can never run, and ifs and loops that decide nothing.

- an if with a constant condition becomes the list that it takes;
- what follows a jump in its list is cut; of an if whose lists both end with jumps, the else list moves behind it;
- an if whose lists are empty, before a block without phis, goes away;
- a loop that never runs again (its body ends with a break and holds no other jump of its own) becomes its body.

Needs: nothing. Guarantees: valid NIR; phis lose the sources of blocks that are gone.
"""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport (
    Shader, ShaderData, jump_break, nir_load_const, nir_phi, node_block, node_if, node_insert_after, node_loop,
)
from pyaco._core.nir.control_flow_edit cimport (
    ControlFlowEdit, edit_begin, edit_cut_after, edit_end, edit_jump_of, edit_node_new, edit_resolve_phis, edit_splice,
)


cdef bint _list_is_empty(const ControlFlowEdit *edit, uint32_t first) noexcept nogil:
    return edit.shader.nodes.next[first] == 0 and edit.contents[first].empty()


cdef bint _has_phis(const ControlFlowEdit *edit, uint32_t block) noexcept nogil:
    return (not edit.contents[block].empty()
            and edit.shader.instructions.kind[edit.contents[block][0]] == nir_phi)


cdef bint _ends_with_jump(const ControlFlowEdit *edit, uint32_t last) noexcept nogil:
    return edit_jump_of(edit, last) != 0


cdef bint _jumps_within(const ControlFlowEdit *edit, uint32_t node, uint32_t allowed) noexcept nogil:
    """Whether a list, from `node` on, holds a jump of the loop around it other than `allowed`."""
    cdef ShaderData *s = edit.shader
    cdef uint32_t jump
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


cdef bint _one_trip(ControlFlowEdit *edit, uint32_t loop) except -1 nogil:
    """Replace a loop that runs once by its body."""
    cdef ShaderData *s = edit.shader
    cdef uint32_t last = s.nodes.last0[loop]
    cdef uint32_t jump = edit_jump_of(edit, last)
    cdef uint32_t before = s.nodes.previous[loop]
    if not jump or s.instructions.opcode[jump] != jump_break or _jumps_within(edit, s.nodes.first0[loop], jump):
        return False
    edit_resolve_phis(edit, s.nodes.first0[loop], before)
    edit.contents[last].pop_back()
    edit_splice(edit, loop, s.nodes.first0[loop])
    return True


cdef bint _if(ControlFlowEdit *edit, uint32_t node) except -1 nogil:
    """Simplify one if; True when it went away or the rest of its list was cut."""
    cdef ShaderData *s = edit.shader
    cdef uint32_t condition = s.nodes.condition[node]
    cdef uint32_t after = s.nodes.next[node]
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
        _else_behind(edit, node)
        return True
    return False


cdef int _else_behind(ControlFlowEdit *edit, uint32_t node) except -1 nogil:
    """Both lists of an if end with jumps: put the else list behind the if, in place of what is never reached."""
    cdef ShaderData *s = edit.shader
    cdef uint32_t member = s.nodes.first1[node]
    cdef uint32_t after = node
    cdef uint32_t following
    cdef uint32_t empty
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


cdef bint _list(ControlFlowEdit *edit, uint32_t node) except -1 nogil:
    """Simplify the siblings from `node` on, inner lists first."""
    cdef ShaderData *s = edit.shader
    cdef bint progress = False
    cdef uint32_t following
    while node:
        following = s.nodes.next[node]
        if s.nodes.kind[node] == node_if:
            progress |= _list(edit, s.nodes.first0[node])
            progress |= _list(edit, s.nodes.first1[node])
            if _if(edit, node):
                progress = True
        elif s.nodes.kind[node] == node_loop:
            progress |= _list(edit, s.nodes.first0[node])
            if _one_trip(edit, node):
                progress = True
        elif edit_jump_of(edit, node) and s.nodes.next[node]:
            edit_cut_after(edit, node)
            progress = True
        # A splice keeps the block behind it, unless the spliced list ended with a jump and cut it off.
        node = following if following and s.nodes.parent[following] else 0
    return progress


cdef bint dead_control_flow_run(ShaderData *s) except -1 nogil:
    cdef ControlFlowEdit edit
    cdef bint progress
    edit_begin(&edit, s)
    progress = _list(&edit, s.nodes.first0[1])
    if progress:
        edit_end(&edit)
    return progress


def run(Shader shader not None, options=None):
    """Remove dead control flow until none is found; True when something changed."""
    cdef bint progress = False
    with nogil:
        while dead_control_flow_run(&shader.data):
            progress = True
    return progress
