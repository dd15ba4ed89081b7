"""Finds memory accesses that may be reordered.

Guarantees: a load of a buffer, of global memory or of an image has ``access_can_reorder`` when no instruction of the shader
can write what it reads: nothing is written through pointers of its kind, or its memory is declared both read-only and restrict.
Texel buffers may be the same memory as buffers, other images are not. Such loads may be merged, moved, and made by the scalar unit.
As Mesa's nir_opt_access.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport (
    index_access, index_image_dim, intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap, intrinsic_bindless_image_load,
    intrinsic_bindless_image_sparse_load, intrinsic_bindless_image_store, intrinsic_global_atomic, intrinsic_global_atomic_amd,
    intrinsic_global_atomic_swap, intrinsic_global_atomic_swap_amd, intrinsic_image_deref_atomic, intrinsic_image_deref_atomic_swap,
    intrinsic_image_deref_load, intrinsic_image_deref_sparse_load, intrinsic_image_deref_store, intrinsic_load_global,
    intrinsic_load_global_amd, intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap,
    intrinsic_store_global, intrinsic_store_global_amd, intrinsic_store_ssbo,
)
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, access_can_reorder, access_non_writeable, access_restrict, access_volatile, image_buffer, intrinsic_index,
    intrinsic_set_index, nir_intrinsic,
)


cdef bint _writes(int opcode) noexcept nogil:
    return opcode in (intrinsic_store_ssbo, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap, intrinsic_store_global,
                      intrinsic_store_global_amd, intrinsic_global_atomic, intrinsic_global_atomic_swap,
                      intrinsic_global_atomic_amd, intrinsic_global_atomic_swap_amd)


cdef bint _writes_image(int opcode) noexcept nogil:
    return opcode in (intrinsic_image_deref_store, intrinsic_image_deref_atomic, intrinsic_image_deref_atomic_swap,
                      intrinsic_bindless_image_store, intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap)


cdef bint _loads_image(int opcode) noexcept nogil:
    return opcode in (intrinsic_image_deref_load, intrinsic_image_deref_sparse_load, intrinsic_bindless_image_load,
                      intrinsic_bindless_image_sparse_load)


cdef bint opt_access_run(ShaderData *s) noexcept nogil:
    cdef uint32_t i, access
    cdef ValueId instruction
    cdef int opcode
    cdef bint written = False
    cdef bint image_written = False
    cdef bint changes
    cdef bint progress = False
    # Buffers and global pointers may lead to the same memory.
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        opcode = s.instructions.opcode[instruction]
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        if _writes(opcode):
            written = True
        elif _writes_image(opcode) and intrinsic_index(s, instruction, index_image_dim) == image_buffer:
            written = True
        elif _writes_image(opcode):
            image_written = True
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        opcode = s.instructions.opcode[instruction]
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        if opcode not in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_global, intrinsic_load_global_amd) and \
                not _loads_image(opcode):
            continue
        access = intrinsic_index(s, instruction, index_access)
        if access & (access_volatile | access_can_reorder):
            continue
        changes = written
        if _loads_image(opcode) and intrinsic_index(s, instruction, index_image_dim) != image_buffer:
            changes = image_written
        if opcode == intrinsic_load_ubo or not changes or (access & access_restrict and access & access_non_writeable):
            intrinsic_set_index(s, instruction, index_access, access | access_can_reorder)
            progress = True
    return progress


def run(Shader shader not None, options=None):
    """Mark loads that may be reordered."""
    cdef bint progress
    with nogil:
        progress = opt_access_run(&shader.data)
    return progress
