"""Editing the tree of control flow. The contract is in ``control_flow_edit.pxd``."""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from nir_opcodes cimport alu_mov, intrinsic_index_count

from pyaco._core.common.table cimport table_append, table_append_many
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, ShaderData, ShaderRewrite, SourceRow, ValueId, block_walk_next, identity_swizzle, nir_alu, nir_intrinsic, nir_jump,
    nir_phi, nir_undef, node_first_block, node_new, node_remove, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit,
    shader_rewrite_end,
)
from pyaco._core.ir.source_lines cimport lines_inherit


cdef int edit_begin(ControlFlowEdit *edit, ShaderData *shader) except -1 nogil:
    cdef NodeId node
    edit.shader = shader
    edit.contents.resize(shader.nodes.table.count)
    for node in range(shader.nodes.table.count):
        edit.contents[node].stand_for(shader.order.instruction + shader.nodes.order_first[node], shader.nodes.order_count[node])
    return 0


cdef NodeId edit_node_new(ControlFlowEdit *edit, int kind) except 0 nogil:
    cdef NodeId node = node_new(edit.shader, kind)
    edit.contents.resize(edit.shader.nodes.table.count)
    return node


cdef ValueId edit_jump_of(const ControlFlowEdit *edit, NodeId block) noexcept nogil:
    cdef ValueId last
    if edit.contents[block].empty():
        return 0
    last = edit.contents[block].back()
    return last if edit.shader.instructions.kind[last] == nir_jump else 0


cdef int edit_merge_forward(ControlFlowEdit *edit, NodeId block, NodeId following) except -1 nogil:
    # The earlier block is the one that grows where ifs behind each other go: its instructions stay where they are.
    edit.contents[block].append(edit.contents[following])
    edit.contents[block].swap(edit.contents[following])
    edit.contents[block].clear()
    node_remove(edit.shader, block)
    return 0


cdef void edit_cut_after(ControlFlowEdit *edit, NodeId node) noexcept nogil:
    while edit.shader.nodes.next[node]:
        node_remove(edit.shader, edit.shader.nodes.next[node])


cdef int edit_resolve_phis(ControlFlowEdit *edit, NodeId block, NodeId predecessor) except -1 nogil:
    cdef ShaderData *s = edit.shader
    cdef SourceRow first
    cdef uint32_t i
    cdef uint32_t source
    cdef ValueId phi
    for i in range(edit.contents[block].size()):
        phi = edit.contents[block][i]
        if s.instructions.kind[phi] != nir_phi:
            break
        first = s.instructions.source_first[phi]
        for source in range(s.instructions.source_count[phi]):
            if s.sources.swizzle[first + source] == predecessor:
                edit_become_mov(s, phi, s.sources.value[first + source])
                break
        else:
            _become_undefined(s, phi)
    return 0


cdef void edit_become_mov(ShaderData *s, ValueId phi, ValueId value) noexcept nogil:
    cdef SourceRow first = s.instructions.source_first[phi]
    s.instructions.kind[phi] = nir_alu
    s.instructions.opcode[phi] = alu_mov
    s.instructions.source_count[phi] = 1
    s.sources.value[first] = value
    s.sources.swizzle[first] = identity_swizzle


cdef void _become_undefined(ShaderData *s, ValueId phi) noexcept nogil:
    s.instructions.kind[phi] = nir_undef
    s.instructions.opcode[phi] = 0
    s.instructions.source_count[phi] = 0


cdef int edit_splice(ControlFlowEdit *edit, NodeId node, NodeId list_first) except -1 nogil:
    cdef ShaderData *s = edit.shader
    cdef NodeId before = s.nodes.previous[node]
    cdef NodeId after = s.nodes.next[node]
    cdef NodeId last = list_first
    cdef NodeId member
    cdef NodeId following
    while s.nodes.next[last]:
        last = s.nodes.next[last]
    if edit_jump_of(edit, last):
        # Nothing after the jump is reached: its block ends the parent's list.
        edit_cut_after(edit, node)
        after = 0
    else:
        edit_resolve_phis(edit, after, last)
    # Move the members out, one by one, to before the node.
    member = list_first
    while member:
        following = s.nodes.next[member]
        _unlink_siblings(s, member)
        _insert_before(s, member, node)
        member = following
    node_remove(s, node)
    if after:
        edit_merge_forward(edit, last, after)
        if last == list_first:
            list_first = after
    edit_merge_forward(edit, before, list_first)
    return 0


cdef void _unlink_siblings(ShaderData *s, NodeId node) noexcept nogil:
    s.nodes.previous[node] = s.nodes.next[node] = 0


cdef void _insert_before(ShaderData *s, NodeId node, NodeId before) noexcept nogil:
    cdef NodeId previous = s.nodes.previous[before]
    s.nodes.parent[node] = s.nodes.parent[before]
    s.nodes.previous[node] = previous
    s.nodes.next[node] = before
    s.nodes.previous[before] = node
    # A list begins with a block, so an if or loop always has something before it.
    s.nodes.next[previous] = node


cdef int _repair_phi(ShaderData *s, ValueId phi, const vector[uint8_t] &reachable) except -1 nogil:
    cdef SourceRow first = s.instructions.source_first[phi]
    cdef uint32_t kept = 0
    cdef uint32_t source
    for source in range(s.instructions.source_count[phi]):
        if reachable[<uint32_t>s.sources.swizzle[first + source]]:
            s.sources.value[first + kept] = s.sources.value[first + source]
            s.sources.swizzle[first + kept] = s.sources.swizzle[first + source]
            kept += 1
    s.instructions.source_count[phi] = <unsigned short>kept
    if kept == 0:
        _become_undefined(s, phi)
    elif kept == 1:
        edit_become_mov(s, phi, s.sources.value[first])
    return 0


cdef bint _keep_block(ControlFlowEdit *edit, NodeId block, const vector[uint8_t] &reachable) except -1 nogil:
    """Write a block as it is, as most are; False if it is another one by the edit, or by what that did to its phis."""
    cdef ShaderData *s = edit.shader
    cdef const ValueId *rows = s.order.instruction + s.nodes.order_first[block]
    cdef uint32_t count = s.nodes.order_count[block]
    cdef uint32_t i = 0
    cdef OrderRow first
    if not edit.contents[block].stand_unchanged_for(rows, count):
        return False
    while i < count and s.instructions.kind[rows[i]] == nir_phi:
        _repair_phi(s, rows[i], reachable)
        if s.instructions.kind[rows[i]] != nir_phi:
            return False
        i += 1
    if count:
        first = table_append_many(&s.next_order.table, count)
        memcpy(s.next_order.instruction + first, rows, count * sizeof(ValueId))
    return True


cdef int _emit_block(ControlFlowEdit *edit, ShaderRewrite *rewrite, NodeId block, const vector[uint8_t] &reachable,
                     vector[ValueId] &others) except -1 nogil:
    """Write a block, its phis first. `others` is scratch."""
    cdef ShaderData *s = edit.shader
    cdef ValueId instruction
    cdef uint32_t count = 0
    cdef uint32_t i
    if others.size() < edit.contents[block].size():
        others.resize(edit.contents[block].size())
    for i in range(edit.contents[block].size()):
        instruction = edit.contents[block][i]
        if s.instructions.kind[instruction] == nir_phi:
            _repair_phi(s, instruction, reachable)
            if s.instructions.kind[instruction] == nir_phi:
                shader_rewrite_emit(rewrite, instruction)
                continue
        others[count] = instruction
        count += 1
    for i in range(count):
        shader_rewrite_emit(rewrite, others[i])
    return 0


cdef int edit_end(ControlFlowEdit *edit) except -1 nogil:
    cdef ShaderData *s = edit.shader
    cdef vector[uint8_t] reachable
    cdef vector[ValueId] others
    cdef ShaderRewrite rewrite
    cdef NodeId block = node_first_block(s)
    reachable.resize(s.nodes.table.count)
    while block:
        reachable[block] = 1
        block = block_walk_next(s, block)
    shader_rewrite_begin(&rewrite, s)
    block = node_first_block(s)
    while block:
        shader_rewrite_block(&rewrite, block)
        if not _keep_block(edit, block, reachable):
            _emit_block(edit, &rewrite, block, reachable, others)
        block = block_walk_next(s, block)
    shader_rewrite_end(&rewrite)
    edit.contents.clear()
    return 0


cdef ValueId edit_copy_instruction(ShaderData *s, ValueId instruction) except 0 nogil:
    cdef uint32_t count = s.instructions.source_count[instruction]
    cdef ValueId row = table_append(&s.instructions.table)
    cdef SourceRow sources = table_append_many(&s.sources.table, count)
    cdef uint32_t indices
    cdef uint32_t i
    s.instructions.kind[row] = s.instructions.kind[instruction]
    s.instructions.components[row] = s.instructions.components[instruction]
    s.instructions.bit_size[row] = s.instructions.bit_size[instruction]
    s.instructions.opcode[row] = s.instructions.opcode[instruction]
    s.instructions.flags[row] = s.instructions.flags[instruction]
    s.instructions.data[row] = s.instructions.data[instruction]
    s.instructions.type[row] = s.instructions.type[instruction]
    s.instructions.mode[row] = s.instructions.mode[instruction]
    s.instructions.source_first[row] = sources
    s.instructions.source_count[row] = <unsigned short>count
    for i in range(count):
        s.sources.value[sources + i] = s.sources.value[s.instructions.source_first[instruction] + i]
        s.sources.swizzle[sources + i] = s.sources.swizzle[s.instructions.source_first[instruction] + i]
    if s.instructions.kind[instruction] == nir_intrinsic:
        # Indices may be edited in place later: each copy owns its own.
        i = intrinsic_index_count[s.instructions.opcode[instruction]]
        indices = table_append_many(&s.indices.table, i)
        s.instructions.data[row] = indices
        while i:
            i -= 1
            s.indices.value[indices + i] = s.indices.value[s.instructions.data[instruction] + i]
    lines_inherit(&s.lines, row, row + 1, instruction)
    return row
