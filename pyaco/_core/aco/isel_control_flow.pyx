"""The control-flow graph during instruction selection: see ``isel.pyx`` for its shapes.

A block begins where its label is bound; an edge is made to a label, which may be bound later. The sides of an if are selected between
``*_then``, ``*_else`` and ``*_end``, which keep what they need in an ``IfState``.
"""
from libc.stdint cimport uint32_t
from libc.string cimport memset

from isa_opcodes cimport op_p_branch, op_p_cbranch_z, op_p_logical_end, op_p_logical_start
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.program cimport (
    BlockId, Operand, TempId, block_branch, block_break, block_continue, block_continue_or_break, block_invert, block_merge,
    block_new, block_uniform, class_s2, edge_linear, edge_logical,
)

from pyaco.errors import InputError


# ----------------------------------------------------------------------------------------------------- blocks and edges
cdef uint32_t label_new(Isel *c) except? 0 nogil:
    c.label_block.push_back(no_block)
    return c.label_block.size() - 1


cdef int bind_label(Isel *c, uint32_t label, uint32_t kind) except -1 nogil:
    """The block of a label comes next in program order and becomes the current one."""
    cdef BlockId block = block_new(c.p, kind)
    c.p.blocks.fp_mode[block] = c.fp_mode
    c.p.blocks.loop_depth[block] = c.flow.loop_depth
    c.p.blocks.uniform_if_depth[block] = c.flow.uniform_if_depth
    c.p.blocks.divergent_if_depth[block] = c.flow.divergent_if_depth
    c.label_block[label] = block
    c.block = block
    return 0


cdef int _edge_to(Isel *c, int kind, uint32_t predecessor, uint32_t label) except -1 nogil:
    cdef LabelEdge edge
    edge.kind = <uint8_t>kind
    edge.predecessor = predecessor
    edge.label = label
    c.edges.push_back(edge)
    return 0


cdef int edges_to(Isel *c, uint32_t predecessor, uint32_t label) except -1 nogil:
    _edge_to(c, edge_logical, predecessor, label)
    return _edge_to(c, edge_linear, predecessor, label)


cdef int marker(Isel *c, uint32_t opcode) except -1 nogil:
    emit_raw(c, opcode, 0, NULL, 0)
    return 0


cdef int branch(Isel *c, uint32_t opcode, Operand *condition) except -1 nogil:
    """A branch; its result is a pair of SGPRs for the address of a far target."""
    emit_raw(c, opcode, new_temp(c, class_s2), condition, 1 if condition != NULL else 0)
    return 0


# ------------------------------------------------------------------------------------------------------------------- if
cdef int _side_begin(Isel *c, uint32_t logical, uint32_t linear) except -1 nogil:
    """The first block of a side, with its predecessors."""
    cdef uint32_t label = label_new(c)
    _edge_to(c, edge_logical, logical, label)
    _edge_to(c, edge_linear, linear, label)
    bind_label(c, label, 0)
    return marker(c, op_p_logical_start)


cdef int uniform_then(Isel *c, IfState *state, TempId condition) except -1 nogil:
    cdef Operand operand = scc_operand(c, condition)
    marker(c, op_p_logical_end)
    mark(c, block_uniform)
    branch(c, op_p_cbranch_z, &operand)
    memset(state, 0, sizeof(IfState))
    state.head = c.block
    state.end_label = label_new(c)
    state.end_kind = top_level(c, c.block)
    c.flow.has_branch = False
    c.flow.loop_divergent_branch = False
    c.flow.uniform_if_depth += 1
    return _side_begin(c, state.head, state.head)


cdef int _side_end(Isel *c, uint32_t linear_label, uint32_t logical_label) except -1 nogil:
    marker(c, op_p_logical_end)
    branch(c, op_p_branch, NULL)
    _edge_to(c, edge_linear, c.block, linear_label)
    if not c.flow.loop_divergent_branch:
        _edge_to(c, edge_logical, c.block, logical_label)
    mark(c, block_uniform)
    return 0


cdef int _uniform_side_end(Isel *c, IfState *state) except -1 nogil:
    """Leave a side of a uniform if that did not jump away."""
    if c.flow.has_branch:
        return 0
    return _side_end(c, state.end_label, state.end_label)


cdef int uniform_else(Isel *c, IfState *state) except -1 nogil:
    state.then_branch = c.flow.has_branch
    state.then_divergent_branch = c.flow.loop_divergent_branch
    _uniform_side_end(c, state)
    c.flow.has_branch = False
    c.flow.loop_divergent_branch = False
    return _side_begin(c, state.head, state.head)


cdef int uniform_end(Isel *c, IfState *state) except -1 nogil:
    _uniform_side_end(c, state)
    c.flow.has_branch = c.flow.has_branch and state.then_branch
    c.flow.loop_divergent_branch = c.flow.loop_divergent_branch and state.then_divergent_branch
    c.flow.uniform_if_depth -= 1
    if c.flow.has_branch:
        return 0
    bind_label(c, state.end_label, state.end_kind)
    return marker(c, op_p_logical_start)


cdef int divergent_then(Isel *c, IfState *state, TempId condition) except -1 nogil:
    cdef Operand operand = T(c, condition)
    marker(c, op_p_logical_end)
    mark(c, block_branch)
    branch(c, op_p_cbranch_z, &operand)
    memset(state, 0, sizeof(IfState))
    state.head = c.block
    state.invert_label = label_new(c)
    state.end_label = label_new(c)
    state.end_kind = block_merge | top_level(c, c.block)
    state.divergent_before = c.flow.divergent_if
    state.empty_before = c.flow.exec_may_be_empty
    state.empty_depth_before = c.flow.exec_empty_depth
    c.flow.divergent_if = True
    # The branch is not taken without active lanes.
    c.flow.exec_may_be_empty = False
    c.flow.exec_empty_depth = 0xffff
    c.flow.divergent_if_depth += 1
    return _side_begin(c, state.head, state.head)


cdef int _linear_side(Isel *c, uint32_t head, uint32_t target) except -1 nogil:
    """The empty block through which the linear CFG bypasses a side."""
    cdef uint32_t label = label_new(c)
    _edge_to(c, edge_linear, head, label)
    bind_label(c, label, block_uniform)
    branch(c, op_p_branch, NULL)
    return _edge_to(c, edge_linear, c.block, target)


cdef void _merge_emptiness(Isel *c, IfState *state) noexcept nogil:
    state.empty_before = state.empty_before or c.flow.exec_may_be_empty
    state.empty_depth_before = min(state.empty_depth_before, c.flow.exec_empty_depth)


cdef int divergent_else(Isel *c, IfState *state) except -1 nogil:
    _side_end(c, state.invert_label, state.end_label)
    state.then_divergent_branch = c.flow.loop_divergent_branch
    c.flow.loop_divergent_branch = False
    c.flow.divergent_if_depth -= 1
    _linear_side(c, state.head, state.invert_label)
    bind_label(c, state.invert_label, block_invert)
    branch(c, op_p_branch, NULL)
    _merge_emptiness(c, state)
    c.flow.exec_may_be_empty = False
    c.flow.exec_empty_depth = 0xffff
    c.flow.divergent_if_depth += 1
    return _side_begin(c, state.head, c.block)


cdef int divergent_end(Isel *c, IfState *state) except -1 nogil:
    _side_end(c, state.end_label, state.end_label)
    c.flow.loop_divergent_branch = c.flow.loop_divergent_branch and state.then_divergent_branch
    c.flow.divergent_if_depth -= 1
    _linear_side(c, c.label_block[state.invert_label], state.end_label)
    bind_label(c, state.end_label, state.end_kind)
    marker(c, op_p_logical_start)
    c.flow.divergent_if = state.divergent_before
    _merge_emptiness(c, state)
    c.flow.exec_may_be_empty = state.empty_before
    c.flow.exec_empty_depth = state.empty_depth_before
    # Lanes that left the loop at this depth are out of its mask again; without loop and if around, all lanes are back.
    if not c.flow.divergent_if and (c.flow.loop_depth == c.flow.exec_empty_depth or c.flow.loop_depth == 0):
        c.flow.exec_may_be_empty = False
        c.flow.exec_empty_depth = 0xffff
    return 0


# ----------------------------------------------------------------------------------------------------------------- loops
cdef int jump(Isel *c, bint is_break) except -1 nogil:
    cdef uint32_t target = c.flow.loop_exit_label if is_break else c.flow.loop_header_label
    cdef uint32_t block = c.block
    cdef uint32_t label
    if c.flow.loop_header_label == 0:
        with gil:
            raise InputError("a break or continue outside of a loop")
    marker(c, op_p_logical_end)
    _edge_to(c, edge_logical, block, target)
    mark(c, block_break if is_break else block_continue)
    if not c.flow.divergent_if and not (is_break and c.flow.loop_divergent_continue):
        mark(c, block_uniform)
        c.flow.has_branch = True
        branch(c, op_p_branch, NULL)
        return _edge_to(c, edge_linear, block, target)
    c.flow.loop_divergent_branch = True
    if not is_break:
        c.flow.loop_divergent_continue = True
    if c.flow.divergent_if and not c.flow.exec_may_be_empty:
        c.flow.exec_may_be_empty = True
        c.flow.exec_empty_depth = c.flow.loop_depth
    branch(c, op_p_branch, NULL)
    _linear_side(c, block, target)
    label = label_new(c)
    _edge_to(c, edge_linear, block, label)
    bind_label(c, label, 0)
    return marker(c, op_p_logical_start)


cdef int loop_end(Isel *c) except -1 nogil:
    """Loop back; where no lane may be active, leave instead."""
    cdef uint32_t block = c.block
    cdef uint32_t header = c.flow.loop_header_label
    cdef uint32_t exit_label = c.flow.loop_exit_label
    if c.flow.has_branch:
        return 0
    marker(c, op_p_logical_end)
    branch(c, op_p_branch, NULL)
    if not c.flow.loop_divergent_branch:
        _edge_to(c, edge_logical, block, header)
    if not c.flow.exec_may_be_empty:
        mark(c, block_continue | block_uniform)
        return _edge_to(c, edge_linear, block, header)
    mark(c, block_continue_or_break | block_uniform)
    _linear_side(c, block, exit_label)
    return _linear_side(c, block, header)


cdef bint has_edge_to(Isel *c, uint32_t label, uint32_t first_edge) noexcept nogil:
    cdef uint32_t i
    for i in range(first_edge, c.edges.size()):
        if c.edges[i].label == label and c.edges[i].kind == edge_logical:
            return True
    return False
