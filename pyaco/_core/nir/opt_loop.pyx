"""Loops that are tested where they begin are tested where they end.

    loop {                          a0
        a                           loop {
        if c { break }                  b
        b                     ->        a
    }                                   if c { break }
                                    }

That is done where `c` is known to be false in the first trip (``for (i = 0; i < 8; i++)``), so that no test is needed before the loop. It saves a
jump in each trip, leaves one trip less to unroll, and what is in `b` comes by in every trip (``opt_licm``). What `a` computes and `b` uses is
carried into the next trip by phis.

Needs: nothing. Guarantees: valid NIR; new phis are scalar. Mesa does this in ``nir_opt_loop`` (peeling of the initial break), under the same
condition.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport intrinsic_load_vulkan_descriptor, intrinsic_vulkan_resource_index, intrinsic_vulkan_resource_reindex

from pyaco._core.common.table cimport table_append_many
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport kernel_changed, kernel_steady_with_copies, native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, SourceRow, ValueId, jump_break, jump_continue, nir_component, nir_deref, nir_intrinsic, nir_load_const,
    nir_phi, nir_phi_new, nir_undef, nir_vector, node_block, node_if, node_insert_after, node_remove, phi_set,
)
from pyaco._core.ir.source_lines cimport lines_inherit
from pyaco._core.nir.control_flow_edit cimport (
    ControlFlowEdit, edit_become_mov, edit_begin, edit_copy_instruction, edit_end, edit_jump_of, edit_merge_forward, edit_node_new,
    edit_resolve_phis,
)
from pyaco._core.nir.loop_analyze cimport LoopAnalysis, analysis_begin, jump_of, known_at_first, phi_value_from
from pyaco._core.nir.loop_closing cimport Uses, close_value, is_in_loop, uses_find
from pyaco._core.nir.loop_walk cimport LoopWalk, loop_next, loop_walk_begin

cdef enum:
    most_copied = 64              # instructions that are there twice afterwards

cdef struct Rotation:
    ControlFlowEdit edit
    Uses uses
    Zeroed[uint32_t] place        # by value: its place in `header`, from 1; 0: not of the header
    vector[ValueId] header        # what is in the loop's first block, but for what needs no copy
    vector[ValueId] before        # by place: the same before the loop
    vector[ValueId] at_end        # and at the end of a trip


# ------------------------------------------------------------------------------------------------------- which loops they are
cdef bint _only_breaks(const ShaderData *s, NodeId block) noexcept nogil:
    cdef ValueId jump = jump_of(s, block)
    return jump != 0 and s.instructions.opcode[jump] == jump_break and s.nodes.order_count[block] == 1 and s.nodes.next[block] == 0


cdef bint _is_tested_at_end(const ShaderData *s, NodeId loop) noexcept nogil:
    cdef NodeId last = s.nodes.last0[loop]
    cdef NodeId branch = s.nodes.previous[last]
    return s.nodes.order_count[last] == 0 and branch != 0 and s.nodes.kind[branch] == node_if \
        and (_only_breaks(s, s.nodes.first0[branch]) or _only_breaks(s, s.nodes.first1[branch]))


cdef bint _can_copy(const ShaderData *s, NodeId header) noexcept nogil:
    """Whether a block is small, and what it computes can go through phis or be computed again."""
    cdef OrderRow row
    cdef ValueId i
    cdef uint32_t count = 0
    for row in range(s.nodes.order_first[header], s.nodes.order_first[header] + s.nodes.order_count[header]):
        i = s.order.instruction[row]
        count += s.instructions.kind[i] not in (nir_phi, nir_load_const, nir_undef)
        if s.instructions.components[i] > 4:
            return False
        if s.instructions.kind[i] == nir_phi and s.instructions.components[i] != 1:
            return False
        if s.instructions.kind[i] == nir_intrinsic and s.instructions.opcode[i] in (
                intrinsic_vulkan_resource_index, intrinsic_vulkan_resource_reindex, intrinsic_load_vulkan_descriptor):
            return False
    return count <= most_copied


cdef bint _continues(const ShaderData *s, NodeId node) noexcept nogil:
    """Whether the list from `node` on leads back to the begin of the loop around it by a jump."""
    cdef ValueId jump
    while node:
        if s.nodes.kind[node] == node_if:
            if _continues(s, s.nodes.first0[node]) or _continues(s, s.nodes.first1[node]):
                return True
        elif s.nodes.kind[node] == node_block:
            jump = jump_of(s, node)
            if jump and s.instructions.opcode[jump] == jump_continue:
                return True
        node = s.nodes.next[node]
    return False


cdef bint _should_rotate(LoopAnalysis *analysis, const ShaderData *s, NodeId loop) except -1 nogil:
    cdef NodeId header = s.nodes.first0[loop]
    cdef NodeId branch = s.nodes.next[header]
    cdef bint leaves_in_then
    cdef uint64_t known = 0
    if branch == 0 or s.nodes.kind[branch] != node_if or jump_of(s, s.nodes.last0[loop]) or _is_tested_at_end(s, loop):
        return False
    leaves_in_then = _only_breaks(s, s.nodes.first0[branch])
    if not leaves_in_then and not _only_breaks(s, s.nodes.first1[branch]):
        analysis.hinges = analysis.hinges or jump_of(s, s.nodes.last0[branch]) or jump_of(s, s.nodes.last1[branch])
        return False
    if jump_of(s, s.nodes.last1[branch] if leaves_in_then else s.nodes.last0[branch]):
        return False
    if not known_at_first(analysis, loop, s.nodes.condition[branch], &known) or <bint>known == leaves_in_then:
        return False
    if _continues(s, branch):
        return False
    analysis.hinges = True
    return _can_copy(s, header)


cdef bint _any_to_rotate(LoopAnalysis *analysis, const ShaderData *s) except -1 nogil:
    """Whether it is worth looking for them: mostly there is none, and a walk through the table of nodes takes less than through the tree."""
    cdef LoopWalk walk
    cdef NodeId loop
    loop_walk_begin(&walk, s)
    loop = loop_next(&walk)
    while loop and not _should_rotate(analysis, s, loop):
        loop = loop_next(&walk)
    return loop != 0


cdef bint _find(LoopAnalysis *analysis, const ShaderData *s, NodeId node, vector[NodeId] &found) except -1 nogil:
    """Find the loops to rotate in the list from `node` on: none that holds another."""
    cdef bint any_inside = False
    cdef bint inside
    while node:
        if s.nodes.kind[node] != node_block:
            inside = _find(analysis, s, s.nodes.first0[node], found)
            if s.nodes.kind[node] == node_if:
                inside = _find(analysis, s, s.nodes.first1[node], found) or inside
            elif not inside and _should_rotate(analysis, s, node):
                found.push_back(node)
                inside = True
            any_inside = any_inside or inside
        node = s.nodes.next[node]
    return any_inside


# ------------------------------------------------------------------------------------------------------------------ rotating
cdef int _find_breaks(const ControlFlowEdit *edit, NodeId node, vector[NodeId] &breaks) except -1 nogil:
    """The blocks of the list from `node` on whose breaks leave the loop around it."""
    cdef const ShaderData *s = edit.shader
    cdef ValueId jump
    while node:
        if s.nodes.kind[node] == node_if:
            _find_breaks(edit, s.nodes.first0[node], breaks)
            _find_breaks(edit, s.nodes.first1[node], breaks)
        elif s.nodes.kind[node] == node_block:
            jump = edit_jump_of(edit, node)
            if jump and s.instructions.opcode[jump] == jump_break:
                breaks.push_back(node)
        node = s.nodes.next[node]
    return 0


cdef bint _derefs_leave(Rotation *r, NodeId loop) noexcept nogil:
    """Whether a deref of the header is used after the loop: it cannot go through a phi."""
    cdef const ShaderData *s = r.edit.shader
    cdef NodeId header = s.nodes.first0[loop]
    cdef ValueId i
    cdef uint32_t k, use
    for k in range(r.edit.contents[header].size()):
        i = r.edit.contents[header][k]
        if s.instructions.kind[i] != nir_deref:
            continue
        use = r.uses.first[i]
        while use:
            if not is_in_loop(s, r.uses.list[use].place, loop):
                return True
            use = r.uses.list[use].next
    return False


cdef int _move_list_after(ControlFlowEdit *edit, NodeId branch, bint of_then) except -1 nogil:
    """Move a list of an if to after it, which only that list reaches."""
    cdef ShaderData *s = edit.shader
    cdef NodeId following = s.nodes.next[branch]
    cdef NodeId member = s.nodes.first0[branch] if of_then else s.nodes.first1[branch]
    cdef NodeId last = s.nodes.last0[branch] if of_then else s.nodes.last1[branch]
    cdef NodeId after = branch
    cdef NodeId empty, successor
    edit_resolve_phis(edit, following, last)
    empty = edit_node_new(edit, node_block)
    s.nodes.parent[empty] = branch
    if of_then:
        s.nodes.first0[branch] = s.nodes.last0[branch] = empty
    else:
        s.nodes.first1[branch] = s.nodes.last1[branch] = empty
    while member:
        successor = s.nodes.next[member]
        s.nodes.previous[member] = s.nodes.next[member] = 0
        node_insert_after(s, member, after)
        after = member
        member = successor
    return edit_merge_forward(edit, last, following)


cdef ValueId _renamed(const Rotation *r, const vector[ValueId] &values, ValueId value) noexcept nogil:
    if value < r.place.size() and r.place[value]:
        return values[r.place[value] - 1]
    return value


cdef int _take_header(Rotation *r, NodeId loop) except -1 nogil:
    """List what the header has; constants go before the loop."""
    cdef ShaderData *s = r.edit.shader
    cdef NodeId header = s.nodes.first0[loop]
    cdef ValueId i
    cdef uint32_t k
    r.header.clear()
    for k in range(r.edit.contents[header].size()):
        i = r.edit.contents[header][k]
        if s.instructions.kind[i] == nir_load_const or s.instructions.kind[i] == nir_undef:
            r.edit.contents[s.nodes.previous[loop]].push_back(i)
            continue
        r.header.push_back(i)
        r.place[i] = <uint32_t>r.header.size()
    r.edit.contents[header].clear()
    return 0


cdef int _copy_header(Rotation *r, vector[ValueId] &values, NodeId predecessor, NodeId target) except -1 nogil:
    """Append the header as it is by way of a predecessor to the block `target`, and note the values."""
    cdef ShaderData *s = r.edit.shader
    cdef SourceRow row
    cdef ValueId i, copy
    values.clear()
    for i in r.header:
        if s.instructions.kind[i] == nir_phi:
            values.push_back(phi_value_from(s, i, predecessor))
            continue
        copy = edit_copy_instruction(s, i)
        for row in range(s.instructions.source_first[copy], s.instructions.source_first[copy] + s.instructions.source_count[copy]):
            s.sources.value[row] = _renamed(r, values, s.sources.value[row])
        r.edit.contents[target].push_back(copy)
        values.push_back(copy)
    return 0


cdef ValueId _component(Rotation *r, ValueId value, int component, NodeId block) except 0 nogil:
    cdef ValueId part
    if r.edit.shader.instructions.components[value] == 1:
        return value
    part = nir_component(r.edit.shader, value, component)
    r.edit.contents[block].push_back(part)
    return part


cdef int _carry(Rotation *r, uint32_t number, NodeId entry, NodeId end, NodeId target, vector[ValueId] &vectors) except -1 nogil:
    """Let what the header computed be carried into each trip: by a phi for each component."""
    cdef ShaderData *s = r.edit.shader
    cdef ValueId value = r.header[number]
    cdef ValueId[4] parts
    cdef int components = s.instructions.components[value]
    cdef ValueId phi
    cdef int k
    for k in range(components):
        phi = nir_phi_new(s, 1, s.instructions.bit_size[value], 2)
        phi_set(s, phi, 0, _component(r, r.before[number], k, entry), entry)
        phi_set(s, phi, 1, _component(r, r.at_end[number], k, end), end)
        lines_inherit(&s.lines, phi, phi + 1, value)
        r.edit.contents[target].push_back(phi)
        parts[k] = phi
    phi = nir_vector(s, parts, components)
    if components > 1:
        vectors.push_back(phi)
    s.instructions.source_first[value] = table_append_many(&s.sources.table, 1)
    s.instructions.flags[value] = 0
    edit_become_mov(s, value, phi)
    vectors.push_back(value)
    return 0


cdef int _new_header(Rotation *r, NodeId loop, NodeId end) except -1 nogil:
    """Fill the loop's first block: what was computed there comes from before the loop, or from the end of the trip before."""
    cdef ShaderData *s = r.edit.shader
    cdef NodeId header = s.nodes.first0[loop]
    cdef NodeId entry = s.nodes.previous[loop]
    cdef vector[ValueId] others
    cdef uint32_t number
    cdef ValueId i
    for number in range(<uint32_t>r.header.size()):
        i = r.header[number]
        if s.instructions.kind[i] == nir_phi:
            r.edit.contents[header].push_back(i)
        elif s.instructions.kind[i] == nir_deref:
            others.push_back(i)
        elif s.instructions.components[i]:
            _carry(r, number, entry, end, header, others)
    r.edit.contents[header].append(others.data(), others.size())
    return 0


cdef int _rename_predecessor(Rotation *r, NodeId block, NodeId old, NodeId new) noexcept nogil:
    cdef ShaderData *s = r.edit.shader
    cdef SourceRow row
    cdef ValueId i
    cdef uint32_t k
    for k in range(r.edit.contents[block].size()):
        i = r.edit.contents[block][k]
        if s.instructions.kind[i] == nir_phi:
            for row in range(s.instructions.source_first[i], s.instructions.source_first[i] + s.instructions.source_count[i]):
                if s.sources.swizzle[row] == old:
                    s.sources.swizzle[row] = new
    return 0


cdef int _rename_at_exit(Rotation *r, NodeId after, NodeId leaving) noexcept nogil:
    """What the phis after the loop are by way of the break that has moved."""
    cdef ShaderData *s = r.edit.shader
    cdef SourceRow row
    cdef ValueId i
    cdef uint32_t k
    for k in range(r.edit.contents[after].size()):
        i = r.edit.contents[after][k]
        if s.instructions.kind[i] == nir_phi:
            for row in range(s.instructions.source_first[i], s.instructions.source_first[i] + s.instructions.source_count[i]):
                if s.sources.swizzle[row] == leaving:
                    s.sources.value[row] = _renamed(r, r.at_end, s.sources.value[row])
    return 0


cdef bint _rotate(Rotation *r, NodeId loop) except -1 nogil:
    cdef ShaderData *s = r.edit.shader
    cdef NodeId header = s.nodes.first0[loop]
    cdef NodeId branch = s.nodes.next[header]
    cdef NodeId entry = s.nodes.previous[loop]
    cdef bint leaves_in_then = edit_jump_of(&r.edit, s.nodes.last0[branch]) != 0
    cdef NodeId leaving = s.nodes.first0[branch] if leaves_in_then else s.nodes.first1[branch]
    cdef NodeId last, empty
    cdef vector[NodeId] breaks
    cdef uint32_t i
    if _derefs_leave(r, loop):
        return False
    _find_breaks(&r.edit, header, breaks)
    for i in range(r.edit.contents[header].size()):
        close_value(&r.edit, &r.uses, loop, breaks, r.edit.contents[header][i])
    _move_list_after(&r.edit, branch, not leaves_in_then)
    last = s.nodes.last0[loop]
    _take_header(r, loop)
    _copy_header(r, r.before, entry, entry)
    _copy_header(r, r.at_end, last, last)
    s.nodes.condition[branch] = _renamed(r, r.at_end, s.nodes.condition[branch])
    _rename_at_exit(r, s.nodes.next[loop], leaving)
    empty = edit_node_new(&r.edit, node_block)
    _move_test(r, loop, branch, last, empty)
    for i in range(<uint32_t>r.header.size()):
        r.place[r.header[i]] = 0
    return True


cdef int _move_test(Rotation *r, NodeId loop, NodeId branch, NodeId last, NodeId empty) except -1 nogil:
    """Move the test to the end of the loop, behind `last`, and join the blocks that it stood between."""
    cdef ShaderData *s = r.edit.shader
    cdef NodeId header = s.nodes.first0[loop]
    cdef NodeId following = s.nodes.next[branch]
    node_remove(s, branch)
    node_insert_after(s, branch, last)
    node_insert_after(s, empty, branch)
    _new_header(r, loop, last)
    _rename_predecessor(r, header, last, empty)
    return edit_merge_forward(&r.edit, header, following)


cdef int opt_loop_run(ShaderData *s) except -1 nogil:
    """Returns as kernels do."""
    cdef LoopAnalysis analysis
    cdef Rotation r
    cdef vector[NodeId] found
    cdef NodeId loop
    cdef bint progress = False
    analysis_begin(&analysis, s)
    if not _any_to_rotate(&analysis, s):
        return 0 if analysis.hinges else kernel_steady_with_copies
    _find(&analysis, s, s.nodes.first0[1], found)
    if found.empty():
        return 0
    edit_begin(&r.edit, s)
    uses_find(&r.uses, s)
    r.place.assign(s.instructions.table.count)
    for loop in found:
        progress = _rotate(&r, loop) or progress
    edit_end(&r.edit)
    return kernel_changed if progress else 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef int said = opt_loop_run(<ShaderData *>ir)
    if not said & kernel_changed:
        return said
    while opt_loop_run(<ShaderData *>ir) & kernel_changed:
        pass
    return kernel_changed


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Rotate loops until none is left that gains by it; True when something changed."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0) & kernel_changed
    return progress
