"""Subgroup operations on values that are the same for all lanes give just that value.

- reads of other lanes (`read_invocation`, `shuffle`, quads, rotations, swizzles), whose results are undefined where the other lane does not run;
- votes on a boolean;
- reductions and inclusive scans by operations that give back a value from any number of copies of it: minimum, maximum, and, or.

Needs: divergence. Guarantees: valid NIR; the operation becomes a `mov` (``copy_propagation``) that counts as uniform, so that a chain of them goes
in one walk. Mesa does this in ``nir_opt_uniform_subgroup`` and its divergence analysis.
"""
from nir_opcodes cimport (
    alu_fmax, alu_fmin, alu_iand, alu_imax, alu_imin, alu_ior, alu_mov, alu_umax, alu_umin, index_reduction_op, intrinsic_inclusive_scan,
    intrinsic_masked_swizzle_amd, intrinsic_quad_broadcast, intrinsic_quad_swap_diagonal, intrinsic_quad_swap_horizontal,
    intrinsic_quad_swap_vertical, intrinsic_quad_swizzle_amd, intrinsic_quad_vote_all, intrinsic_quad_vote_any,
    intrinsic_read_first_invocation, intrinsic_read_invocation, intrinsic_reduce,
    intrinsic_rotate, intrinsic_shuffle, intrinsic_shuffle_down, intrinsic_shuffle_up, intrinsic_shuffle_xor, intrinsic_vote_all,
    intrinsic_vote_any,
)

from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ValueId, block_walk_next, intrinsic_index, nir_alu, nir_divergent, nir_intrinsic, node_first_block,
    source_value,
)


cdef bint _gives_its_value(const ShaderData *s, ValueId i) noexcept nogil:
    """Whether an intrinsic on the same value in all lanes is that value."""
    cdef int opcode = s.instructions.opcode[i]
    if opcode in (intrinsic_read_invocation, intrinsic_read_first_invocation, intrinsic_shuffle, intrinsic_shuffle_xor, intrinsic_shuffle_up,
                  intrinsic_shuffle_down, intrinsic_rotate, intrinsic_quad_broadcast, intrinsic_quad_swap_horizontal,
                  intrinsic_quad_swap_vertical, intrinsic_quad_swap_diagonal, intrinsic_quad_swizzle_amd, intrinsic_masked_swizzle_amd,
                  intrinsic_vote_any, intrinsic_vote_all, intrinsic_quad_vote_any, intrinsic_quad_vote_all):
        return True
    if opcode in (intrinsic_reduce, intrinsic_inclusive_scan):
        return intrinsic_index(s, i, index_reduction_op) in (alu_iand, alu_ior, alu_imin, alu_imax, alu_umin, alu_umax, alu_fmin, alu_fmax)
    return False


cdef bint opt_uniform_subgroup_run(ShaderData *s) noexcept nogil:
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    cdef bint progress = False
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if s.instructions.kind[i] != nir_intrinsic or not _gives_its_value(s, i) \
                    or s.instructions.flags[source_value(s, i, 0)] & nir_divergent:
                continue
            s.instructions.kind[i] = nir_alu
            s.instructions.opcode[i] = alu_mov
            s.instructions.source_count[i] = 1
            s.instructions.flags[i] = 0
            progress = True
        block = block_walk_next(s, block)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_uniform_subgroup_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Replace subgroup operations on uniform values by the values; True when one was replaced."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
