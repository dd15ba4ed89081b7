"""Dead code elimination: an instruction lives when it acts (stores, barriers, jumps) or a living one or a branch reads it.

Needs: nothing. Guarantees: every instruction that remains lives. Phis in dead cycles die, since liveness starts at the
actions (Cytron et al. 1991, section 7.1).
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from nir_opcodes cimport intrinsic_flag_can_eliminate, intrinsic_flag_convergent, intrinsic_flag_uniform, intrinsic_flags

from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ShaderRewrite, access_volatile, intrinsic_index, nir_intrinsic, nir_jump, node_block, node_if,
    node_walk_next, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end,
)
from nir_opcodes cimport index_access

cdef enum:                        # what has no effect but its result; a convergent operation acts through its readers alone
    without_effect = intrinsic_flag_can_eliminate | intrinsic_flag_uniform | intrinsic_flag_convergent


cdef inline bint _acts(const ShaderData *s, uint32_t instruction) noexcept nogil:
    if s.instructions.kind[instruction] == nir_jump:
        return True
    if s.instructions.kind[instruction] != nir_intrinsic:
        return False
    if s.instructions.components[instruction] == 0:
        return True
    # A convergent operation without a reader has no effect; a volatile load does.
    if intrinsic_flags[s.instructions.opcode[instruction]] & without_effect:
        return (intrinsic_index(s, instruction, index_access) & access_volatile) != 0
    return True


cdef void _mark(vector[uint8_t] &alive, vector[uint32_t] &work, uint32_t value) noexcept nogil:
    if not alive[value]:
        alive[value] = 1
        work.push_back(value)


cdef bint dce_run(ShaderData *s) except -1 nogil:
    cdef vector[uint8_t] alive
    cdef vector[uint32_t] work
    cdef ShaderRewrite rewrite
    cdef uint32_t node = 1
    cdef uint32_t row
    cdef uint32_t instruction
    cdef uint32_t kept = 0
    cdef uint32_t total = 0
    alive.resize(s.instructions.table.count)
    while node:
        if s.nodes.kind[node] == node_if:
            _mark(alive, work, s.nodes.condition[node])
        for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
            total += 1
            if _acts(s, s.order.instruction[row]):
                _mark(alive, work, s.order.instruction[row])
        node = node_walk_next(s, node)
    while work.size():
        instruction = work.back()
        work.pop_back()
        kept += 1
        for row in range(s.instructions.source_first[instruction],
                         s.instructions.source_first[instruction] + s.instructions.source_count[instruction]):
            _mark(alive, work, s.sources.value[row])
    if kept == total:
        return False
    shader_rewrite_begin(&rewrite, s)
    node = 1
    while node:
        if s.nodes.kind[node] == node_block:
            shader_rewrite_block(&rewrite, node)
            for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
                if alive[s.order.instruction[row]]:
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
