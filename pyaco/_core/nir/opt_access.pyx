"""Finds memory accesses that may be reordered.

Guarantees: a load of a buffer, of global memory or of an image has ``access_can_reorder`` when no instruction of the shader
can write what it reads:

- nothing is written through buffers, images or pointers, or
- its memory is restrict (SPIR-V's storage buffers and images are, unless ``Aliased``) and read-only, declared so or found to be so: no store
  and no atomic names its binding, and none goes to a binding that nobody knows (chosen at run time). A physical address leads to no memory
  that is restrict.

Such loads may be merged, moved, and made by the scalar unit, whose cache knows nothing of stores. Volatile and atomic accesses stay in order:
somebody else may write what they read while the shader runs. Coherent memory may be written by other invocations of this shader, and these
have no store for it either; other dispatches are ordered by the API.
Memory is told apart by descriptor set and binding: variables of the same binding are the same memory, as in Vulkan, and so are all
elements of an array of descriptors. Texel buffers may be the same memory as buffers; images as well, where nothing says restrict.

Needs: addresses instead of derefs of buffers (``lower_explicit_io``), descriptors not lowered.
The rules are those of Mesa's ``nir_opt_access``, which also takes what is declared read-only although it may be aliased.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.set cimport set as ordered_set

from nir_opcodes cimport (
    alu_mov, alu_vec2, alu_vec3, alu_vec4, index_access, index_binding, index_desc_set, intrinsic_bindless_image_atomic,
    intrinsic_bindless_image_atomic_swap, intrinsic_bindless_image_load, intrinsic_bindless_image_sparse_load,
    intrinsic_bindless_image_store, intrinsic_global_atomic, intrinsic_global_atomic_amd, intrinsic_global_atomic_swap,
    intrinsic_global_atomic_swap_amd, intrinsic_image_deref_atomic, intrinsic_image_deref_atomic_swap, intrinsic_image_deref_load,
    intrinsic_image_deref_sparse_load, intrinsic_image_deref_store, intrinsic_load_global, intrinsic_load_global_amd, intrinsic_load_ssbo,
    intrinsic_load_ubo, intrinsic_load_vulkan_descriptor, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap, intrinsic_store_global,
    intrinsic_store_buffer_amd, intrinsic_store_global_amd, intrinsic_store_ssbo, intrinsic_vulkan_resource_index,
)
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, access_atomic, access_can_reorder, access_non_writeable, access_restrict, access_volatile, deref_var,
    intrinsic_index, intrinsic_set_index, nir_alu, nir_deref, nir_intrinsic, source_value,
)

cdef struct Written:
    ordered_set[uint64_t] bindings
    bint anywhere                 # something is written, whose binding may be known
    bint unknown                  # something is written whose binding is not known


# ------------------------------------------------------------------------------------------------------- what is accessed
cdef inline bint _is_buffer_write(int opcode) noexcept nogil:
    return opcode in (intrinsic_store_ssbo, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap)


cdef inline bint _is_physical_write(int opcode) noexcept nogil:
    return opcode in (intrinsic_store_global, intrinsic_store_global_amd, intrinsic_global_atomic, intrinsic_global_atomic_swap,
                      intrinsic_global_atomic_amd, intrinsic_global_atomic_swap_amd)


cdef inline bint _is_bindless_write(int opcode) noexcept nogil:
    return opcode in (intrinsic_bindless_image_store, intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap)


cdef inline bint _is_image_write(int opcode) noexcept nogil:
    return opcode in (intrinsic_image_deref_store, intrinsic_image_deref_atomic, intrinsic_image_deref_atomic_swap)


cdef inline bint _is_load(int opcode) noexcept nogil:
    return opcode in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_global, intrinsic_load_global_amd,
                      intrinsic_image_deref_load, intrinsic_image_deref_sparse_load, intrinsic_bindless_image_load,
                      intrinsic_bindless_image_sparse_load)


cdef inline uint64_t _binding(uint32_t descriptor_set, uint32_t number) noexcept nogil:
    return <uint64_t>descriptor_set << 32 | number


cdef ValueId resource_index_of_buffer(const ShaderData *s, ValueId value) noexcept nogil:
    cdef int opcode
    while True:
        opcode = s.instructions.opcode[value]
        if s.instructions.kind[value] == nir_intrinsic and opcode == intrinsic_vulkan_resource_index:
            return value
        if not (s.instructions.kind[value] == nir_intrinsic and opcode == intrinsic_load_vulkan_descriptor
                or s.instructions.kind[value] == nir_alu and opcode in (alu_mov, alu_vec2, alu_vec3, alu_vec4)):
            return 0
        value = source_value(s, value, 0)


cdef uint64_t binding_of_buffer(const ShaderData *s, ValueId value) noexcept nogil:
    value = resource_index_of_buffer(s, value)
    if not value:
        return binding_unknown
    return _binding(<uint32_t>intrinsic_index(s, value, index_desc_set), <uint32_t>intrinsic_index(s, value, index_binding))


cdef uint64_t _binding_of_image(const ShaderData *s, ValueId deref) noexcept nogil:
    while s.instructions.kind[deref] == nir_deref and s.instructions.opcode[deref] != deref_var:
        deref = source_value(s, deref, 0)
    if s.instructions.kind[deref] != nir_deref:
        return binding_unknown
    return _binding(s.variables.set[s.instructions.data[deref]], s.variables.binding[s.instructions.data[deref]])


# ------------------------------------------------------------------------------------------------------------------ the pass
cdef int _add_write(Written *written, uint64_t binding) except -1 nogil:
    written.anywhere = True
    if binding == binding_unknown:
        written.unknown = True
    else:
        written.bindings.insert(binding)
    return 0


cdef int _gather_writes(const ShaderData *s, Written *written) except -1 nogil:
    cdef uint32_t i
    cdef ValueId instruction
    cdef int opcode
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        opcode = s.instructions.opcode[instruction]
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        if opcode == intrinsic_store_ssbo:
            _add_write(written, binding_of_buffer(s, source_value(s, instruction, 1)))
        elif _is_buffer_write(opcode):
            _add_write(written, binding_of_buffer(s, source_value(s, instruction, 0)))
        elif _is_image_write(opcode):
            _add_write(written, _binding_of_image(s, source_value(s, instruction, 0)))
        elif _is_bindless_write(opcode) or opcode == intrinsic_store_buffer_amd:
            _add_write(written, binding_unknown)
        elif _is_physical_write(opcode):
            written.anywhere = True
    return 0


cdef bint _is_never_written(const ShaderData *s, const Written *written, ValueId load, uint32_t access) noexcept nogil:
    cdef int opcode = s.instructions.opcode[load]
    cdef uint64_t binding = binding_unknown
    if opcode == intrinsic_load_ubo or not written.anywhere:
        return True
    if not access & access_restrict:
        return False
    if access & access_non_writeable:
        return True
    if opcode == intrinsic_load_ssbo:
        binding = binding_of_buffer(s, source_value(s, load, 0))
    elif opcode == intrinsic_image_deref_load or opcode == intrinsic_image_deref_sparse_load:
        binding = _binding_of_image(s, source_value(s, load, 0))
    return binding != binding_unknown and not written.unknown and written.bindings.count(binding) == 0


cdef bint opt_access_run(ShaderData *s) except -1 nogil:
    cdef uint32_t i, access
    cdef ValueId instruction
    cdef Written written
    cdef bint progress = False
    written.anywhere = written.unknown = False
    _gather_writes(s, &written)
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        if s.instructions.kind[instruction] != nir_intrinsic or not _is_load(s.instructions.opcode[instruction]):
            continue
        access = intrinsic_index(s, instruction, index_access)
        if access & (access_volatile | access_atomic | access_can_reorder):
            continue
        if _is_never_written(s, &written, instruction, access):
            intrinsic_set_index(s, instruction, index_access, access | access_can_reorder)
            progress = True
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_access_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Mark loads that may be reordered."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
