"""Peephole select: a small if that only computes becomes selections.

An if whose two lists are single blocks of at most `limit` cheap, effect-free instructions is flattened: the instructions
move before it and the phis after it become `bcsel`. Arguments and system values are in registers from the start, and cost nothing.
Needs: nothing. Guarantees: valid NIR.
Source: the transformation of Mesa's ``nir_opt_peephole_select``; the limit of 8 is RADV's.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport (
    alu_bcsel, intrinsic_flag_can_eliminate, intrinsic_flag_can_reorder, intrinsic_flag_convergent, intrinsic_flags, intrinsic_source_count,
)

from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, SourceRow, ValueId, identity_swizzle, nir_alu, nir_intrinsic, nir_load_const, nir_phi, nir_undef,
    node_block, node_if, node_walk_next,
)
from pyaco._core.nir.control_flow_edit cimport (
    ControlFlowEdit, edit_begin, edit_end, edit_splice,
)


cdef bint _is_given(int intrinsic) noexcept nogil:
    """Whether it has its value from the start of the shader: an argument, a system value."""
    cdef int pure = intrinsic_flag_can_eliminate | intrinsic_flag_can_reorder
    return intrinsic_source_count[intrinsic] == 0 and intrinsic_flags[intrinsic] & (pure | intrinsic_flag_convergent) == pure


cdef bint _is_movable(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef int kind = s.instructions.kind[instruction]
    if kind == nir_intrinsic:
        return _is_given(s.instructions.opcode[instruction])
    return kind == nir_alu or kind == nir_load_const or kind == nir_undef


cdef bint _can_flatten(const ControlFlowEdit *edit, NodeId block, uint32_t limit) noexcept nogil:
    cdef uint32_t cost = 0
    cdef uint32_t i
    cdef ValueId instruction
    if edit.shader.nodes.next[block]:
        return False
    for i in range(edit.contents[block].size()):
        instruction = edit.contents[block][i]
        if not _is_movable(edit.shader, instruction):
            return False
        if edit.shader.instructions.kind[instruction] == nir_alu:
            cost += 1
    return cost <= limit


cdef bint _is_small(const ShaderData *s, NodeId block, uint32_t limit) noexcept nogil:
    """What `_can_flatten` says, of the shader before any edit."""
    cdef uint32_t cost = 0
    cdef OrderRow row
    if s.nodes.next[block]:
        return False
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        if not _is_movable(s, s.order.instruction[row]):
            return False
        cost += s.instructions.kind[s.order.instruction[row]] == nir_alu
        if cost > limit:
            return False
    return True


cdef bint _finds_work(const ShaderData *s, uint32_t limit) noexcept nogil:
    """Whether an if can be flattened; an outer one only can once those inside it are."""
    cdef NodeId node = 1
    while node:
        if s.nodes.kind[node] == node_if and _is_small(s, s.nodes.first0[node], limit) and _is_small(s, s.nodes.first1[node], limit):
            return True
        node = node_walk_next(s, node)
    return False


cdef int _phis_to_selections(ControlFlowEdit *edit, NodeId node) except -1 nogil:
    """Turn the phis after the if into selections, in place."""
    cdef ShaderData *s = edit.shader
    cdef NodeId after = s.nodes.next[node]
    cdef NodeId then_block = s.nodes.first0[node]
    cdef SourceRow first
    cdef uint32_t i
    cdef ValueId phi
    cdef SourceRow old
    cdef uint32_t which
    for i in range(edit.contents[after].size()):
        phi = edit.contents[after][i]
        if s.instructions.kind[phi] != nir_phi:
            break
        first = table_append_many(&s.sources.table, 3)
        old = s.instructions.source_first[phi]
        which = 0 if s.sources.swizzle[old] == then_block else 1
        s.sources.value[first] = s.nodes.condition[node]
        s.sources.swizzle[first] = 0
        s.sources.value[first + 1] = s.sources.value[old + which]
        s.sources.value[first + 2] = s.sources.value[old + 1 - which]
        s.sources.swizzle[first + 1] = s.sources.swizzle[first + 2] = identity_swizzle
        s.instructions.kind[phi] = nir_alu
        s.instructions.opcode[phi] = alu_bcsel
        s.instructions.source_first[phi] = first
        s.instructions.source_count[phi] = 3
    return 0


cdef bint _try_flatten(ControlFlowEdit *edit, NodeId node, uint32_t limit) except -1 nogil:
    cdef ShaderData *s = edit.shader
    cdef NodeId then_block = s.nodes.first0[node]
    cdef NodeId else_block = s.nodes.first1[node]
    if not _can_flatten(edit, then_block, limit) or not _can_flatten(edit, else_block, limit):
        return False
    _phis_to_selections(edit, node)
    edit.contents[then_block].append(edit.contents[else_block])
    edit.contents[else_block].clear()
    edit_splice(edit, node, then_block)
    return True


cdef bint _flatten_in_list(ControlFlowEdit *edit, NodeId node, uint32_t limit) except -1 nogil:
    cdef ShaderData *s = edit.shader
    cdef bint progress = False
    cdef NodeId following
    while node:
        following = s.nodes.next[node]
        if s.nodes.kind[node] != node_block:
            if s.nodes.kind[node] == node_if:
                progress |= _flatten_in_list(edit, s.nodes.first1[node], limit)
            progress |= _flatten_in_list(edit, s.nodes.first0[node], limit)
            # A splice keeps the block after the if, so `following` stays linked.
            if s.nodes.kind[node] == node_if:
                progress |= _try_flatten(edit, node, limit)
        node = following
    return progress


cdef bint peephole_select_run(ShaderData *s, uint32_t limit) except -1 nogil:
    cdef ControlFlowEdit edit
    cdef bint progress
    if not _finds_work(s, limit):
        return False
    edit_begin(&edit, s)
    progress = _flatten_in_list(&edit, s.nodes.first0[1], limit)
    if progress:
        edit_end(&edit)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return peephole_select_run(<ShaderData *>ir, option)


kernel = native_kernel(_kernel, lambda options, level: options["limit"])


def run(Shader shader not None, options=None):
    """Flatten small ifs of at most ``limit`` (option, 8) ALU instructions a side; True when one was flattened."""
    cdef unsigned int limit = (options or {}).get("limit", 8)
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, limit)
    return progress
