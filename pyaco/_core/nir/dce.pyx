"""Dead code elimination: an instruction is live if it has an effect (stores, barriers, jumps) or a live instruction or a branch reads it.

Needs: nothing. Guarantees: every instruction that remains is live. Phis in dead cycles are removed, since liveness starts at the
instructions with an effect (Cytron et al. 1991, section 7.1).
"""
from libc.stdint cimport uint8_t, uint32_t

from nir_opcodes cimport intrinsic_flag_can_eliminate, intrinsic_flag_convergent, intrinsic_flag_uniform, intrinsic_flags

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ShaderRewrite, ValueId, access_volatile, intrinsic_index, nir_intrinsic, nir_jump, node_block, node_if,
    node_walk_next, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end,
)
from nir_opcodes cimport index_access

cdef enum:                        # intrinsics whose only effect is their result; a convergent one matters only to its readers
    no_effect = intrinsic_flag_can_eliminate | intrinsic_flag_uniform | intrinsic_flag_convergent


cdef enum:                        # of an instruction
    live = 1
    passed = 2                    # by the walk, not live then


cdef bint has_effect(const ShaderData *s, ValueId instruction) noexcept nogil:
    if s.instructions.kind[instruction] == nir_jump:
        return True
    if s.instructions.kind[instruction] != nir_intrinsic:
        return False
    if s.instructions.components[instruction] == 0:
        return True
    # A volatile load has an effect.
    if intrinsic_flags[s.instructions.opcode[instruction]] & no_effect:
        return (intrinsic_index(s, instruction, index_access) & access_volatile) != 0
    return True


cdef inline uint32_t _mark_sources(const ShaderData *s, uint8_t *state, SmallVector[ValueId] &late, ValueId instruction) except? 0xffffffffU nogil:
    """Mark what a live instruction reads; `late` takes what the walk from the end has passed already, such as phis of loops read. Returns how
    many of those there were."""
    cdef const ValueId *value = s.sources.value + s.instructions.source_first[instruction]
    cdef const ValueId *end = value + s.instructions.source_count[instruction]
    cdef uint32_t found = 0
    while value < end:
        if state[value[0]] == passed:
            late.push_back(value[0])
            found += 1
        state[value[0]] = live
        value += 1
    return found


cdef int _remove(ShaderData *s, const uint8_t *state, const SmallVector[NodeId] &blocks) except -1 nogil:
    cdef ShaderRewrite rewrite
    cdef size_t b
    cdef uint32_t row
    shader_rewrite_begin(&rewrite, s)
    for b in range(blocks.size()):
        shader_rewrite_block(&rewrite, blocks[b])
        for row in range(s.nodes.order_first[blocks[b]], s.nodes.order_first[blocks[b]] + s.nodes.order_count[blocks[b]]):
            if state[s.order.instruction[row]] == live:
                shader_rewrite_emit(&rewrite, s.order.instruction[row])
    return shader_rewrite_end(&rewrite)


cdef bint dce_run(ShaderData *s) except -1 nogil:
    cdef SmallVector[uint8_t] marks
    cdef uint8_t *state
    cdef SmallVector[ValueId] late
    cdef SmallVector[NodeId] blocks
    cdef NodeId node = 1
    cdef size_t b
    cdef uint32_t row
    cdef uint32_t dead = 0            # instructions that are passed and not live
    cdef ValueId instruction
    marks.resize(s.instructions.table.count)
    state = marks.data()
    blocks.reserve(s.nodes.table.count)
    while node:
        if s.nodes.kind[node] == node_if:
            state[s.nodes.condition[node]] = live
        elif s.nodes.kind[node] == node_block:
            blocks.push_back(node)
        node = node_walk_next(s, node)
    for b in range(blocks.size(), 0, -1):
        node = blocks[b - 1]
        for row in range(s.nodes.order_first[node] + s.nodes.order_count[node], s.nodes.order_first[node], -1):
            instruction = s.order.instruction[row - 1]
            if state[instruction] == live or has_effect(s, instruction):
                state[instruction] = live
                dead -= _mark_sources(s, state, late, instruction)
            else:
                state[instruction] = passed
                dead += 1
    while late.size():
        instruction = late.back()
        late.pop_back()
        dead -= _mark_sources(s, state, late, instruction)
    if dead:
        _remove(s, state, blocks)
    return dead != 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    return dce_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Remove dead instructions; True when one was removed."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
