"""Dead code elimination: an instruction is live if it has an effect (stores, barriers, jumps) or a live instruction or a branch reads it.

Needs: nothing. Guarantees: every instruction that remains is live. Phis in dead cycles are removed, since liveness starts at the
instructions with an effect (Cytron et al. 1991, section 7.1).
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from nir_opcodes cimport intrinsic_flag_can_eliminate, intrinsic_flag_convergent, intrinsic_flag_uniform, intrinsic_flags

from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ShaderRewrite, ValueId, access_volatile, intrinsic_index, nir_intrinsic, nir_jump, node_block, node_if,
    node_walk_next, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end,
)
from nir_opcodes cimport index_access

cdef enum:                        # intrinsics whose only effect is their result; a convergent one matters only to its readers
    no_effect = intrinsic_flag_can_eliminate | intrinsic_flag_uniform | intrinsic_flag_convergent


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


cdef void _mark(vector[uint8_t] &live, vector[ValueId] &work, ValueId value) noexcept nogil:
    if not live[value]:
        live[value] = 1
        work.push_back(value)


cdef bint dce_run(ShaderData *s) except -1 nogil:
    cdef vector[uint8_t] live
    cdef vector[ValueId] work
    cdef ShaderRewrite rewrite
    cdef NodeId node = 1
    cdef uint32_t row
    cdef ValueId instruction
    cdef uint32_t kept = 0
    cdef uint32_t total = 0
    live.resize(s.instructions.table.count)
    while node:
        if s.nodes.kind[node] == node_if:
            _mark(live, work, s.nodes.condition[node])
        for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
            total += 1
            if has_effect(s, s.order.instruction[row]):
                _mark(live, work, s.order.instruction[row])
        node = node_walk_next(s, node)
    while work.size():
        instruction = work.back()
        work.pop_back()
        kept += 1
        for row in range(s.instructions.source_first[instruction],
                         s.instructions.source_first[instruction] + s.instructions.source_count[instruction]):
            _mark(live, work, s.sources.value[row])
    if kept == total:
        return False
    shader_rewrite_begin(&rewrite, s)
    node = 1
    while node:
        if s.nodes.kind[node] == node_block:
            shader_rewrite_block(&rewrite, node)
            for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
                if live[s.order.instruction[row]]:
                    shader_rewrite_emit(&rewrite, s.order.instruction[row])
        node = node_walk_next(s, node)
    shader_rewrite_end(&rewrite)
    return True


def run(Shader shader not None, options=None):
    """Remove dead instructions; True when one was removed."""
    cdef bint progress
    with nogil:
        progress = dce_run(&shader.data)
    return progress
