"""Divergence analysis: which values may differ between the lanes of a wave.

Needs: loops in LCSSA form, so that a value that leaves a loop does so through a phi.
Guarantees: flag ``nir_divergent`` on every such value; ``Nodes.divergent`` of an if whose condition is divergent and of
a loop that some lanes may leave earlier than others; ``info.divergence_valid``.

Flags only ever go from uniform to divergent, and the walk over the node tree is repeated until nothing changes; once is
enough where there are no loops, as operands come before what reads them. A phi after an if is divergent when the
condition is and its operands differ; one after a loop when lanes leave in different iterations; one at a loop's head
when lanes may come from different continues. After a continue that only some lanes take, the rest of the loop's body
runs for some of them only, so a later break is divergent too. The rules are those of Mesa's nir_divergence_analysis;
see also Karrenberg and Hack, "Whole-Function Vectorization", 2011.
"""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

from nir_opcodes cimport (
    alu_fmax, alu_fmin, alu_iand, alu_imax, alu_imin, alu_ior, alu_umax, alu_umin,
    index_cluster_size, index_reduction_op, intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap, intrinsic_deref_atomic,
    intrinsic_deref_atomic_swap, intrinsic_flag_divergent, intrinsic_flag_uniform,
    intrinsic_flags, intrinsic_global_atomic, intrinsic_global_atomic_amd, intrinsic_global_atomic_swap,
    intrinsic_global_atomic_swap_amd, intrinsic_image_deref_atomic,
    intrinsic_image_deref_atomic_swap, intrinsic_load_deref,
    intrinsic_inclusive_scan, intrinsic_load_scratch, intrinsic_reduce, intrinsic_shared_atomic, intrinsic_shared_atomic_swap, intrinsic_shuffle,
    intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap,
)
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, intrinsic_index, jump_break, jump_continue, mode_function_temp, mode_shader_temp, nir_divergent,
    nir_intrinsic, nir_jump, nir_phi, nir_undef, node_block, node_if, node_loop, source_swizzle, source_value,
)

cdef struct State:
    bint some_lanes                # only some of the lanes that began this iteration of the loop run here
    bint divergent_break
    bint divergent_continue

cdef struct Context:
    ShaderData *s
    bint changed
    bint has_loops
    SmallVector[uint8_t] loop_break     # by loop node
    SmallVector[uint8_t] loop_continue


cdef bint _is_divergent(const ShaderData *s, ValueId value) noexcept nogil:
    return (s.instructions.flags[value] & nir_divergent) != 0


cdef bint _any_source_diverges(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef uint32_t k
    for k in range(s.instructions.source_count[instruction]):
        if _is_divergent(s, source_value(s, instruction, k)):
            return True
    return False


cdef bint _intrinsic_diverges(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint32_t cluster
    cdef ValueId deref
    if opcode == intrinsic_shuffle:
        # One lane for all, or the same in all lanes.
        return _is_divergent(s, source_value(s, instruction, 0)) and _is_divergent(s, source_value(s, instruction, 1))
    if opcode == intrinsic_inclusive_scan and intrinsic_index(s, instruction, index_reduction_op) in (
            alu_fmin, alu_fmax, alu_imin, alu_imax, alu_umin, alu_umax, alu_iand, alu_ior):
        return _is_divergent(s, source_value(s, instruction, 0))
    if intrinsic_flags[opcode] & intrinsic_flag_divergent:
        return True
    if intrinsic_flags[opcode] & intrinsic_flag_uniform:
        return False
    if opcode in (intrinsic_load_scratch, intrinsic_deref_atomic, intrinsic_deref_atomic_swap, intrinsic_ssbo_atomic,
                  intrinsic_ssbo_atomic_swap, intrinsic_shared_atomic, intrinsic_shared_atomic_swap,
                  intrinsic_global_atomic, intrinsic_global_atomic_swap, intrinsic_global_atomic_amd,
                  intrinsic_global_atomic_swap_amd, intrinsic_image_deref_atomic, intrinsic_image_deref_atomic_swap,
                  intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap):
        return True
    if opcode == intrinsic_reduce:
        cluster = intrinsic_index(s, instruction, index_cluster_size)
        return cluster != 0 and cluster < s.info.wave_size
    if opcode == intrinsic_load_deref:
        deref = source_value(s, instruction, 0)
        if s.instructions.mode[deref] & (mode_function_temp | mode_shader_temp):
            return True
    return _any_source_diverges(s, instruction)


cdef bint _operands_differ(const ShaderData *s, ValueId phi) noexcept nogil:
    """Whether a phi has two different operands that are defined."""
    cdef uint32_t k
    cdef ValueId value
    cdef ValueId first = 0
    for k in range(s.instructions.source_count[phi]):
        value = source_value(s, phi, k)
        if s.instructions.kind[value] == nir_undef:
            continue
        if first and value != first:
            return True
        first = value
    return False


cdef bint _inside(const ShaderData *s, NodeId node, NodeId loop) noexcept nogil:
    while node and node != loop:
        node = s.nodes.parent[node]
    return node == loop


cdef bint _exit_phi_diverges(const Context *c, ValueId phi, NodeId loop) noexcept nogil:
    cdef const ShaderData *s = c.s
    cdef uint32_t k
    cdef ValueId value
    if _any_source_diverges(s, phi):
        return True
    if not c.loop_break[loop]:
        return False
    if _operands_differ(s, phi):
        return True
    for k in range(s.instructions.source_count[phi]):
        value = source_value(s, phi, k)
        # An undefined operand counts here: the lanes leave one after another, and a scalar register would hold the value
        # of the last to leave.
        if s.instructions.kind[value] == nir_undef or _inside(s, s.instructions.block[value], loop):
            return True
    return False


cdef bint _header_phi_diverges(const Context *c, ValueId phi, NodeId loop) noexcept nogil:
    cdef const ShaderData *s = c.s
    cdef uint32_t k
    cdef ValueId value
    cdef ValueId first = 0
    if _any_source_diverges(s, phi):
        return True
    if not c.loop_continue[loop]:
        return False
    for k in range(s.instructions.source_count[phi]):
        if not _inside(s, <uint32_t>source_swizzle(s, phi, k), loop):
            continue
        value = source_value(s, phi, k)
        if first and value != first:
            return True
        first = value
    return False


cdef bint _phi_diverges(const Context *c, ValueId phi, NodeId block) noexcept nogil:
    cdef const ShaderData *s = c.s
    cdef NodeId before = s.nodes.previous[block]
    cdef NodeId parent = s.nodes.parent[block]
    if before and s.nodes.kind[before] == node_if:
        if _any_source_diverges(s, phi):
            return True
        return _is_divergent(s, s.nodes.condition[before]) and _operands_differ(s, phi)
    if before and s.nodes.kind[before] == node_loop:
        return _exit_phi_diverges(c, phi, before)
    if not before and s.nodes.kind[parent] == node_loop:
        return _header_phi_diverges(c, phi, parent)
    return _any_source_diverges(s, phi)


cdef void _visit_block(Context *c, NodeId block, State *state) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef uint32_t i
    cdef ValueId instruction
    cdef int kind
    cdef bint result
    for i in range(s.nodes.order_count[block]):
        instruction = s.order.instruction[s.nodes.order_first[block] + i]
        kind = s.instructions.kind[instruction]
        if kind == nir_jump:
            if s.instructions.opcode[instruction] == jump_break:
                state.divergent_break |= state.some_lanes
            elif s.instructions.opcode[instruction] == jump_continue:
                state.divergent_continue |= state.some_lanes
            continue
        if s.instructions.flags[instruction] & nir_divergent:
            continue
        if kind == nir_phi:
            result = _phi_diverges(c, instruction, block)
        elif kind == nir_intrinsic:
            result = s.instructions.components[instruction] != 0 and _intrinsic_diverges(s, instruction)
        else:
            result = _any_source_diverges(s, instruction)
        if result:
            s.instructions.flags[instruction] |= nir_divergent
            c.changed = True


cdef void _visit_if(Context *c, NodeId node, State *state) noexcept nogil:
    cdef State branch = state[0]
    cdef bint divergent = _is_divergent(c.s, c.s.nodes.condition[node])
    c.s.nodes.divergent[node] = divergent
    branch.some_lanes |= divergent
    _visit_list(c, c.s.nodes.first0[node], &branch)
    branch.some_lanes = state.some_lanes or divergent
    _visit_list(c, c.s.nodes.first1[node], &branch)
    state.divergent_break = branch.divergent_break
    state.divergent_continue = branch.divergent_continue
    if branch.divergent_continue:
        state.some_lanes = True


cdef void _visit_loop(Context *c, NodeId node) noexcept nogil:
    cdef State state
    c.has_loops = True
    state.some_lanes = False
    state.divergent_break = state.divergent_continue = False
    _visit_list(c, c.s.nodes.first0[node], &state)
    if state.divergent_break > c.loop_break[node] or state.divergent_continue > c.loop_continue[node]:
        c.loop_break[node] |= state.divergent_break
        c.loop_continue[node] |= state.divergent_continue
        c.changed = True
    c.s.nodes.divergent[node] = c.loop_break[node]


cdef void _visit_list(Context *c, NodeId node, State *state) noexcept nogil:
    while node:
        if c.s.nodes.kind[node] == node_block:
            _visit_block(c, node, state)
        elif c.s.nodes.kind[node] == node_if:
            _visit_if(c, node, state)
        else:
            _visit_loop(c, node)
        node = c.s.nodes.next[node]


cdef int divergence_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef State state
    cdef uint32_t i
    c.s = s
    c.loop_break.assign(s.nodes.table.count, 0)
    c.loop_continue.assign(s.nodes.table.count, 0)
    for i in range(s.instructions.table.count):
        s.instructions.flags[i] &= <uint16_t>~nir_divergent
    c.changed = c.has_loops = True
    while c.changed and c.has_loops:
        c.changed = c.has_loops = False
        state.some_lanes = state.divergent_break = state.divergent_continue = False
        _visit_list(&c, s.nodes.first0[1], &state)
    s.info.divergence_valid = 1
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    divergence_run(<ShaderData *>ir)
    return 0


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Compute divergence."""
    with nogil:
        _kernel(&shader.data, 0)
    return False
