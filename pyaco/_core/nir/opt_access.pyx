"""Finds memory accesses that may be reordered.

Guarantees: a load of a buffer or of global memory has ``access_can_reorder`` when no instruction of the shader can write
what it reads: nothing is written through pointers of its kind, or its memory is declared both read-only and restrict.
Such loads may be merged, moved, and made by the scalar unit. As Mesa's nir_opt_access.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport (
    index_access, intrinsic_global_atomic, intrinsic_global_atomic_amd, intrinsic_global_atomic_swap,
    intrinsic_global_atomic_swap_amd, intrinsic_load_global, intrinsic_load_global_amd, intrinsic_load_ssbo,
    intrinsic_load_ubo, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap, intrinsic_store_global,
    intrinsic_store_global_amd, intrinsic_store_ssbo,
)
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, access_can_reorder, access_non_writeable, access_restrict, access_volatile, intrinsic_index,
    intrinsic_set_index, nir_intrinsic,
)


cdef bint _writes(int opcode) noexcept nogil:
    return opcode in (intrinsic_store_ssbo, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap, intrinsic_store_global,
                      intrinsic_store_global_amd, intrinsic_global_atomic, intrinsic_global_atomic_swap,
                      intrinsic_global_atomic_amd, intrinsic_global_atomic_swap_amd)


cdef bint opt_access_run(ShaderData *s) noexcept nogil:
    cdef uint32_t i, access
    cdef ValueId instruction
    cdef int opcode
    cdef bint written = False
    cdef bint progress = False
    # Buffers and global pointers may lead to the same memory.
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        if s.instructions.kind[instruction] == nir_intrinsic and _writes(s.instructions.opcode[instruction]):
            written = True
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        opcode = s.instructions.opcode[instruction]
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        if opcode not in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_global, intrinsic_load_global_amd):
            continue
        access = intrinsic_index(s, instruction, index_access)
        if access & (access_volatile | access_can_reorder):
            continue
        if opcode == intrinsic_load_ubo or not written or (access & access_restrict and access & access_non_writeable):
            intrinsic_set_index(s, instruction, index_access, access | access_can_reorder)
            progress = True
    return progress


def run(Shader shader not None, options=None):
    """Mark loads that may be reordered."""
    cdef bint progress
    with nogil:
        progress = opt_access_run(&shader.data)
    return progress
