"""Descriptors and push constants become loads from memory.

Needs: the pass declare_arguments, explicit I/O, divergence analysis (for push constants read at a varying offset).
Guarantees: no vulkan_* intrinsic, load_push_constant or get_ssbo_size is left; buffer intrinsics take four dwords of a
descriptor. A pointer to a buffer is three words: address of the descriptor set (low half), byte offset of the
descriptor in it, and the byte offset in the buffer (while a resource index is being made: the stride of its array).
A descriptor that may differ between lanes is used inside a loop that serves the lanes of one descriptor at a time.
Texture instructions name texture and sampler by handles, which are descriptors of eight and four dwords (texel buffers four), and
``image_deref_*`` become ``bindless_image_*``, whose first source is the descriptor. Samplers that the layout has fixed are constants. Of
images with several planes each has a descriptor of its own; the set holds one half of the third, whose other half is the second's.

Sources: AMD RDNA2 ISA, "Buffer resource descriptor" (word 2 is the number of records, bytes for raw buffers);
Vulkan specification, "Descriptor indexing" (NonUniform).
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from cython.operator cimport dereference
from libcpp.unordered_map cimport unordered_map

from nir_opcodes cimport (
    alu_iadd, alu_iand, alu_ieq, alu_imul, alu_pack_64_2x32_split, alu_u2u16, alu_u2u8, alu_ushr, alu_vec2, alu_vec3, alu_vec4, index_access,
    index_align_mul, index_align_offset, index_base, index_binding, index_desc_set, index_image_dim, intrinsic_bindless_image_load,
    intrinsic_get_ssbo_size, intrinsic_image_deref_fragment_mask_load_amd, intrinsic_image_deref_load, intrinsic_index_count,
    intrinsic_load_buffer_amd, intrinsic_load_global_amd, intrinsic_load_push_constant, intrinsic_load_scalar_arg_amd, intrinsic_load_smem_amd,
    intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_vulkan_descriptor, intrinsic_read_first_invocation, intrinsic_ssbo_atomic,
    intrinsic_load_typed_buffer_amd, intrinsic_ssbo_atomic_swap, intrinsic_store_buffer_amd, intrinsic_store_ssbo,
    intrinsic_vulkan_resource_index, intrinsic_vulkan_resource_reindex,
    alu_ior, tex_fragment_mask_fetch_amd, tex_source_plane,
    tex_source_sampler_deref, tex_source_sampler_handle, tex_source_texture_deref, tex_source_texture_handle,
)
from pyaco._core.ir.emitter cimport (
    alu1, alu2, alu2_constant, component, constant, constant_vector, emit, intrinsic0, intrinsic1, intrinsic2, jump, vector_of,
)
from pyaco._core.ir.compilation cimport Compilation, left_to_python
from pyaco._core.ir.metadata cimport Metadata
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, access_can_reorder, access_non_uniform, argument_descriptor_set, argument_inline_push_constant,
    VariableId, argument_push_constants, constant_bits, deref_array, deref_var, image_buffer, intrinsic_index, intrinsic_set_index,
    jump_break, nir_alu, nir_deref, nir_divergent, nir_intrinsic, nir_intrinsic_new, nir_tex, source_set, source_swizzle,
    source_value, texture_non_uniform, texture_sampler_non_uniform, value_is_constant,
)
from pyaco._core.nir.declare_arguments cimport Declared
from pyaco._core.nir.lowering cimport (
    Lowering, lower_if_begin, lower_if_else, lower_if_end, lower_intrinsics, lower_keep, lower_loop_begin, lower_loop_end, lower_remove,
    lower_textures, lowering_run,
)
from pyaco._core.nir.texture_edit cimport (
    TextureEdit, texture_emit, texture_read, texture_remove_source, texture_set_source, texture_source,
)

import _thread
import os

from pyaco.errors import InputError

cdef enum:
    in_set, after_push_constants, inline_block     # where a binding's descriptors are
    table_of_sets = 0x7fffffff                     # detail of the argument that points to a table of sets
    plane_bytes = 32                               # from the descriptor of a plane to that of the next; FMASK's is where a second one would be

cdef struct Binding:
    uint32_t offset
    uint32_t stride
    uint32_t location              # in_set ...
    uint32_t sampler_offset        # of the sampler in an element
    bint known_sampler             # the layout has the sampler, not the set:
    uint64_t sampler[4]            # its dwords
    uint64_t chroma_clear[4]       # bits of the sampler's dwords that are other ones for planes with less chroma,
    uint64_t chroma_set[4]         # and what they are

ctypedef unordered_map[uint64_t, Binding] Bindings    # by set << 32 | binding

cdef struct DescriptorTable:                      # what the ABI says of descriptors
    Bindings bindings
    uint32_t[4] block_words

cdef struct Context:
    const Bindings *bindings
    const uint32_t *block_words                   # descriptor of an inline uniform block at the start of the 32-bit region
    unordered_map[ValueId, uint32_t] blocks       # by pointer into an inline uniform block: bytes of the block


cdef int64_t _argument_row(const ShaderData *s, uint32_t kind, uint32_t detail) noexcept nogil:
    """Row of an argument, -1 where it was not declared."""
    cdef uint32_t row
    for row in range(s.arguments.table.count):
        if s.arguments.kind[row] == kind and s.arguments.detail[row] == detail:
            return row
    return -1


cdef ValueId _argument(Lowering *b, uint32_t kind, uint32_t detail) except? 0xffffffffU nogil:
    """Load a one-dword argument."""
    cdef int64_t row = _argument_row(b.s, kind, detail)
    cdef ValueId value
    if row < 0:
        with gil:
            raise InputError(f"the shader has no argument of kind {kind} and detail {detail}: declare_arguments did not run on it as it is now")
    value = intrinsic0(b, intrinsic_load_scalar_arg_amd, 1, 32)
    intrinsic_set_index(b.s, value, index_base, <int>row)
    return value


cdef ValueId _word(Lowering *b, ValueId value, int index) except? 0xffffffffU nogil:
    """A component; looks through the vector that this pass just made."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[value]
    cdef ValueId source
    if s.instructions.kind[value] == nir_alu and opcode in (alu_vec2, alu_vec3, alu_vec4):
        source = source_value(s, value, index)
        if s.instructions.components[source] == 1:
            return source
    return component(b, value, index)


cdef ValueId _address(Lowering *b, ValueId low) except? 0xffffffffU nogil:
    return alu2(b, alu_pack_64_2x32_split, low, constant(b, b.s.info.address32_hi, 32))


# ------------------------------------------------------------------------------------------------------------- resources
cdef ValueId _set_address(Lowering *b, uint32_t number) except? 0xffffffffU nogil:
    """Low half of a set's address: an argument, or an entry of the table of sets."""
    cdef ValueId value
    if _argument_row(b.s, argument_descriptor_set, table_of_sets) < 0:
        return _argument(b, argument_descriptor_set, number)
    value = intrinsic2(b, intrinsic_load_smem_amd, 1, 32, _address(b, _argument(b, argument_descriptor_set, table_of_sets)),
                       constant(b, number * 4, 32))
    intrinsic_set_index(b.s, value, index_align_mul, 4)
    return value


cdef const Binding *_binding(const Context *c, uint32_t set_number, uint32_t number) except NULL nogil:
    cdef unordered_map[uint64_t, Binding].const_iterator found = c.bindings.const_find(<uint64_t>set_number << 32 | number)
    if found == c.bindings.const_end():
        with gil:
            raise InputError(f"descriptor set {set_number} has no binding {number}")
    return &dereference(found).second


cdef ValueId _resource_index(Lowering *b, Context *c, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t set_number = intrinsic_index(s, instruction, index_desc_set)
    cdef uint32_t number = intrinsic_index(s, instruction, index_binding)
    cdef ValueId index = source_value(s, instruction, 0)
    cdef const Binding *binding = _binding(c, set_number, number)
    cdef ValueId result
    cdef ValueId[3] words
    if binding.location == after_push_constants:
        words[0] = _argument(b, argument_push_constants, 0)
    else:
        words[0] = _set_address(b, set_number)
    if value_is_constant(s, index):
        words[1] = constant(b, binding.offset + constant_bits(s, index, 0) * binding.stride, 32)
    else:
        words[1] = alu2_constant(b, alu_iadd, alu2_constant(b, alu_imul, index, binding.stride), binding.offset)
    words[2] = constant(b, binding.stride, 32)
    result = vector_of(b, words, 3)
    if binding.location == inline_block:
        c.blocks[result] = binding.stride
    return result


cdef ValueId _reindex(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId base = source_value(b.s, instruction, 0)
    cdef ValueId[3] words
    words[0] = _word(b, base, 0)
    words[2] = _word(b, base, 2)
    words[1] = alu2(b, alu_iadd, _word(b, base, 1), alu2(b, alu_imul, source_value(b.s, instruction, 1), words[2]))
    return vector_of(b, words, 3)


cdef ValueId _pointer(Lowering *b, Context *c, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId base = source_value(b.s, instruction, 0)
    cdef ValueId result
    cdef ValueId[3] words
    words[0] = _word(b, base, 0)
    words[1] = _word(b, base, 1)
    words[2] = constant(b, 0, 32)
    result = vector_of(b, words, 3)
    if c.blocks.count(base):
        c.blocks[result] = c.blocks[base]
    return result


cdef bint _is_set_argument(const ShaderData *s, ValueId value) noexcept nogil:
    """An argument, or an entry of the table of sets."""
    return s.instructions.kind[value] == nir_intrinsic and \
        s.instructions.opcode[value] in (intrinsic_load_scalar_arg_amd, intrinsic_load_smem_amd)


cdef ValueId _uniform(Lowering *b, ValueId value) except? 0xffffffffU nogil:
    """A value that Vulkan guarantees to be uniform: read from the first lane, unless it is known to be uniform."""
    if value_is_constant(b.s, value) or _is_set_argument(b.s, value):
        return value
    return intrinsic1(b, intrinsic_read_first_invocation, 1, 32, value)


cdef ValueId _descriptor(Lowering *b, ValueId set_address, ValueId offset) except? 0xffffffffU nogil:
    cdef ValueId value = intrinsic2(b, intrinsic_load_smem_amd, 4, 32, _address(b, set_address), offset)
    intrinsic_set_index(b.s, value, index_align_mul, 16)
    return value


cdef ValueId _block_descriptor(Lowering *b, Context *c, ValueId base) except? 0xffffffffU nogil:
    """The descriptor of an inline uniform block, which lies in the set itself."""
    cdef ValueId[4] words
    words[0] = alu2(b, alu_iadd, _uniform(b, _word(b, base, 0)), _word(b, base, 1))
    words[1] = constant(b, c.block_words[1], 32)
    words[2] = constant(b, c.blocks[base], 32)
    words[3] = constant(b, c.block_words[3], 32)
    return vector_of(b, words, 4)


cdef int _resource_source(const ShaderData *s, ValueId instruction) noexcept nogil:
    """Which source of an intrinsic names a buffer, -1 none."""
    cdef int opcode = s.instructions.opcode[instruction]
    if opcode in (intrinsic_load_ubo, intrinsic_load_ssbo, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap,
                  intrinsic_get_ssbo_size, intrinsic_load_buffer_amd, intrinsic_load_typed_buffer_amd):
        return 0
    return 1 if opcode == intrinsic_store_ssbo or opcode == intrinsic_store_buffer_amd else -1


cdef ValueId _access(Lowering *b, ValueId instruction, int source, ValueId descriptor) except? 0xffffffffU nogil:
    """Emit the access with its descriptor; returns the value (lower_keep: the instruction itself)."""
    cdef ShaderData *s = b.s
    if s.instructions.opcode[instruction] == intrinsic_get_ssbo_size:
        return component(b, descriptor, 2)
    source_set(s, instruction, source, descriptor)
    emit(b, instruction)
    return instruction


cdef ValueId _waterfall(Lowering *b, ValueId instruction, int source, ValueId set_address,
                        ValueId offset) except? 0xffffffffU nogil:
    """Serve one descriptor at a time: loop { first = offset of the first lane; if (offset == first) { access; break } }."""
    cdef NodeId loop = lower_loop_begin(b)
    cdef ValueId first = intrinsic1(b, intrinsic_read_first_invocation, 1, 32, offset)
    cdef NodeId branch = lower_if_begin(b, alu2(b, alu_ieq, first, offset))
    cdef ValueId result = _access(b, instruction, source, _descriptor(b, _uniform(b, set_address), first))
    jump(b, jump_break)
    lower_if_else(b, branch)
    lower_if_end(b, branch)
    lower_loop_end(b, loop)
    return result


cdef ValueId _buffer_access(Lowering *b, Context *c, ValueId instruction, int source) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId base = source_value(s, instruction, source)
    cdef ValueId set_address = _word(b, base, 0)
    cdef ValueId offset = _word(b, base, 1)
    cdef uint32_t access = intrinsic_index(s, instruction, index_access)
    cdef ValueId result
    b.progress = True
    if c.blocks.count(base):
        result = _access(b, instruction, source, _block_descriptor(b, c, base))
    elif access & access_non_uniform and not value_is_constant(s, offset):
        result = _waterfall(b, instruction, source, set_address, offset)
    else:
        result = _access(b, instruction, source, _descriptor(b, _uniform(b, set_address), _uniform(b, offset)))
    # The instruction itself has been emitted.
    return <uint32_t>lower_remove if result == instruction else result


# ---------------------------------------------------------------------------------------------------- images and samplers
cdef struct Handle:                # a descriptor that an instruction names by a deref
    ValueId set_address            # 0: the sampler is known
    ValueId offset                 # bytes in the set
    uint32_t words
    bint differs                   # between lanes
    uint64_t plane                 # of an image
    uint64_t sampler[4]            # dwords of the known one
    uint64_t clear[4]              # bits of other samplers that are taken away
    uint64_t set[4]                # and put in their place


cdef ValueId _element(Lowering *b, ValueId deref, VariableId *variable) except? 0xffffffffU nogil:
    """Number of the descriptor in its binding, and the variable; 0 without an index."""
    cdef ShaderData *s = b.s
    cdef ValueId index = 0
    cdef ValueId term
    cdef uint64_t stride = 1
    while s.instructions.kind[deref] == nir_deref and s.instructions.opcode[deref] == deref_array:
        term = source_value(s, deref, 1)
        if value_is_constant(s, term):
            term = constant(b, <uint32_t>(constant_bits(s, term, 0) * stride), 32)
        elif stride != 1:
            term = alu2_constant(b, alu_imul, term, stride)
        index = alu2(b, alu_iadd, index, term) if index else term
        deref = source_value(s, deref, 0)
        stride *= s.types.length[s.instructions.type[deref]]
    if s.instructions.kind[deref] != nir_deref or s.instructions.opcode[deref] != deref_var:
        with gil:
            raise InputError("an image or sampler that does not come from a variable")
    variable[0] = s.instructions.data[deref]
    return index


cdef int _sampler_bits(const Binding *binding, uint64_t plane, Handle *handle) noexcept nogil:
    """What is other in the sampler of a plane; the dwords of a known one."""
    cdef uint32_t i
    for i in range(4):
        handle.clear[i] = binding.chroma_clear[i] if plane else 0
        handle.set[i] = binding.chroma_set[i] if plane else 0
        handle.sampler[i] = (binding.sampler[i] & ~handle.clear[i]) | handle.set[i]
    return 0


cdef int _handle(Lowering *b, Context *c, ValueId deref, bint sampler, bint non_uniform, uint32_t words, uint64_t plane,
                 Handle *handle) except -1 nogil:
    """Find the descriptor that a deref names."""
    cdef ShaderData *s = b.s
    cdef VariableId variable = 0
    cdef ValueId index = _element(b, deref, &variable)
    cdef uint32_t set_number = s.variables.set[variable]
    cdef uint32_t number = s.variables.binding[variable]
    cdef const Binding *binding = _binding(c, set_number, number)
    cdef uint32_t first
    handle.words = words
    handle.differs = False
    handle.set_address = 0
    _sampler_bits(binding, plane if sampler else 0, handle)
    if sampler and binding.known_sampler:
        return 0
    handle.plane = 0 if sampler else plane
    first = binding.offset + <uint32_t>(binding.sampler_offset if sampler else plane_bytes * plane)
    handle.set_address = _set_address(b, set_number)
    if index == 0 or value_is_constant(s, index):
        handle.offset = constant(b, first + (constant_bits(s, index, 0) if index else 0) * binding.stride, 32)
        return 0
    handle.offset = alu2_constant(b, alu_iadd, alu2_constant(b, alu_imul, index, binding.stride), first)
    handle.differs = non_uniform
    return 0


cdef ValueId _set_words(Lowering *b, const Handle *handle, ValueId offset, uint32_t words) except? 0xffffffffU nogil:
    """Dwords of the set at an offset."""
    cdef ValueId value = intrinsic2(b, intrinsic_load_smem_amd, <int>words, 32, _address(b, _uniform(b, handle.set_address)), offset)
    intrinsic_set_index(b.s, value, index_align_mul, <int>(4 * words))
    return value


cdef ValueId _handle_words(Lowering *b, const Handle *handle, ValueId offset) except? 0xffffffffU nogil:
    """The dwords of a descriptor; `offset` is the same for all lanes."""
    cdef ValueId[8] parts
    cdef ValueId value, second
    cdef uint32_t i
    if handle.set_address == 0:
        return constant_vector(b, handle.sampler, 4, 32)
    if handle.plane == 2:                      # the second half is that of the plane before
        value = _set_words(b, handle, offset, 4)
        second = _set_words(b, handle, alu2_constant(b, alu_iadd, offset, <uint32_t>-16), 4)
        for i in range(8):
            parts[i] = component(b, value, i) if i < 4 else component(b, second, i - 4)
        return vector_of(b, parts, 8)
    value = _set_words(b, handle, offset, handle.words)
    if handle.words == 8 or not (handle.clear[0] | handle.clear[2]):
        return value
    for i in range(4):
        parts[i] = component(b, value, i)
        if handle.clear[i]:
            parts[i] = alu2_constant(b, alu_ior, alu2_constant(b, alu_iand, parts[i], ~handle.clear[i] & 0xffffffffU), handle.set[i])
    return vector_of(b, parts, 4)


cdef ValueId _one_offset(Lowering *b, const Handle *handle, ValueId *served) except? 0xffffffffU nogil:
    """The offset of the first lane, where lanes differ; `served` also gets whether a lane has the same (0: all lanes)."""
    cdef ValueId first, same
    if handle.set_address == 0:
        return 0
    if not handle.differs:
        return _uniform(b, handle.offset)
    first = intrinsic1(b, intrinsic_read_first_invocation, 1, 32, handle.offset)
    same = alu2(b, alu_ieq, first, handle.offset)
    served[0] = alu2(b, alu_iand, served[0], same) if served[0] else same
    return first


cdef ValueId _with_handles(Lowering *b, ValueId instruction, const Handle *texture, const ValueId *offsets,
                           const Handle *sampler) except? 0xffffffffU nogil:
    """A copy of a texture instruction or image intrinsic with descriptors in place of derefs, emitted."""
    cdef ShaderData *s = b.s
    cdef ValueId[5] values
    cdef TextureEdit edit
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint32_t i
    cdef ValueId row
    if s.instructions.kind[instruction] == nir_tex:
        texture_read(s, instruction, &edit)
        texture_set_source(&edit, tex_source_texture_handle, _handle_words(b, texture, offsets[0]))
        texture_remove_source(&edit, tex_source_texture_deref)
        if texture_source(&edit, tex_source_sampler_deref):
            texture_set_source(&edit, tex_source_sampler_handle, _handle_words(b, sampler, offsets[1]))
            texture_remove_source(&edit, tex_source_sampler_deref)
        texture_remove_source(&edit, tex_source_plane)
        edit.texture_flags &= ~<int>(texture_non_uniform | texture_sampler_non_uniform)
        return texture_emit(b, &edit)
    for i in range(s.instructions.source_count[instruction]):
        values[i] = source_value(s, instruction, i)
    values[0] = _handle_words(b, texture, offsets[0])
    opcode += intrinsic_bindless_image_load - intrinsic_image_deref_load
    row = nir_intrinsic_new(s, opcode, s.instructions.components[instruction], s.instructions.bit_size[instruction], values)
    for i in range(intrinsic_index_count[opcode]):
        s.indices.value[s.instructions.data[row] + i] = s.indices.value[s.instructions.data[instruction] + i]
    intrinsic_set_index(s, row, index_access, intrinsic_index(s, row, index_access) & ~access_non_uniform)
    return emit(b, row)


cdef ValueId _served(Lowering *b, ValueId instruction, const Handle *texture, const Handle *sampler) except? 0xffffffffU nogil:
    """The instruction with its descriptors, in a loop over different ones where lanes have different ones."""
    cdef ValueId[2] offsets
    cdef ValueId condition = 0
    cdef ValueId result
    cdef NodeId loop = 0
    cdef NodeId branch = 0
    if texture.differs or sampler.differs:
        loop = lower_loop_begin(b)
    offsets[0] = _one_offset(b, texture, &condition)
    offsets[1] = _one_offset(b, sampler, &condition)
    if loop:
        branch = lower_if_begin(b, condition)
    result = _with_handles(b, instruction, texture, offsets, sampler)
    if loop:
        jump(b, jump_break)
        lower_if_else(b, branch)
        lower_if_end(b, branch)
        lower_loop_end(b, loop)
    return result


cdef uint64_t _plane(const ShaderData *s, ValueId value) except? 0xff nogil:
    if not value_is_constant(s, value) or constant_bits(s, value, 0) > 2:
        with gil:
            raise InputError("a plane of an image that is no constant of 0 to 2")
    return constant_bits(s, value, 0)


cdef ValueId _image_access(Lowering *b, Context *c, ValueId instruction) except? 0xffffffffU nogil:
    """A texture instruction or image intrinsic; those without derefs stay."""
    cdef ShaderData *s = b.s
    cdef Handle texture, sampler
    cdef uint32_t i, kind, words
    cdef bint found = False
    cdef ValueId value, result
    cdef uint64_t plane = 0
    cdef uint32_t row = s.instructions.data[instruction]
    sampler.set_address = 0
    sampler.differs = False
    if s.instructions.kind[instruction] == nir_intrinsic:
        words = 4 if intrinsic_index(s, instruction, index_image_dim) == image_buffer else 8
        _handle(b, c, source_value(s, instruction, 0), False,
                (intrinsic_index(s, instruction, index_access) & access_non_uniform) != 0, words, 0, &texture)
        result = _served(b, instruction, &texture, &sampler)
        return result if s.instructions.components[instruction] else <uint32_t>lower_remove
    for i in range(s.instructions.source_count[instruction]):
        if source_swizzle(s, instruction, i) == tex_source_plane:
            plane = _plane(s, source_value(s, instruction, i))
    if s.instructions.opcode[instruction] == tex_fragment_mask_fetch_amd:
        plane = 1
    for i in range(s.instructions.source_count[instruction]):
        kind = <uint32_t>source_swizzle(s, instruction, i)
        value = source_value(s, instruction, i)
        if kind == tex_source_texture_deref:
            words = 4 if s.textures.dim[row] == image_buffer else 8
            _handle(b, c, value, False, (s.textures.flags[row] & texture_non_uniform) != 0, words, plane, &texture)
            found = True
        elif kind == tex_source_sampler_deref:
            _handle(b, c, value, True, (s.textures.flags[row] & texture_sampler_non_uniform) != 0, 4, plane, &sampler)
    if not found:
        return lower_keep
    return _served(b, instruction, &texture, &sampler)


# -------------------------------------------------------------------------------------------------------- push constants
cdef ValueId _narrow_push_constants(Lowering *b, ValueId words, ValueId instruction,
                                    uint32_t byte) except? 0xffffffffU nogil:
    """Extract 8- or 16-bit components from dwords, starting at `byte` of the first."""
    cdef ShaderData *s = b.s
    cdef int bits = s.instructions.bit_size[instruction]
    cdef ValueId[4] parts
    cdef uint32_t at
    cdef ValueId word
    cdef int i
    for i in range(s.instructions.components[instruction]):
        at = byte + i * bits // 8
        word = component(b, words, at // 4)
        if at % 4:
            word = alu2_constant(b, alu_ushr, word, 8 * (at % 4))
        parts[i] = alu1(b, alu_u2u8 if bits == 8 else alu_u2u16, word)
    return vector_of(b, parts, s.instructions.components[instruction])


cdef ValueId _inline_push_constants(Lowering *b, ValueId instruction, uint32_t start) except? 0xffffffffU nogil:
    """Push constants that are in registers, from byte `start` on; `lower_keep` where one of them is not."""
    cdef ShaderData *s = b.s
    cdef uint32_t dwords_each = s.instructions.bit_size[instruction] // 32
    cdef ValueId[16] words
    cdef uint32_t i, first
    for i in range(s.instructions.components[instruction] * dwords_each):
        if _argument_row(s, argument_inline_push_constant, start // 4 + i) < 0:
            return lower_keep
    for i in range(s.instructions.components[instruction]):
        first = start // 4 + i * dwords_each
        words[i] = _argument(b, argument_inline_push_constant, first)
        if dwords_each == 2:
            words[i] = alu2(b, alu_pack_64_2x32_split, words[i], _argument(b, argument_inline_push_constant, first + 1))
    return vector_of(b, words, s.instructions.components[instruction])


cdef ValueId _push_constant(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId offset = source_value(s, instruction, 0)
    cdef uint32_t base = intrinsic_index(s, instruction, index_base)
    cdef int bits = s.instructions.bit_size[instruction]
    cdef int components = s.instructions.components[instruction]
    cdef ValueId address, value
    cdef uint32_t start, words
    if value_is_constant(s, offset) and bits >= 32 and (base + <uint32_t>constant_bits(s, offset, 0)) % 4 == 0:
        value = _inline_push_constants(b, instruction, base + <uint32_t>constant_bits(s, offset, 0))
        if value != <uint32_t>lower_keep:
            return value
    address = _address(b, _argument(b, argument_push_constants, 0))
    if value_is_constant(s, offset):
        start = base + <uint32_t>constant_bits(s, offset, 0)
        words = (start % 4 + components * bits // 8 + 3) // 4
        if bits >= 32 and start % 4 == 0:
            value = intrinsic2(b, intrinsic_load_smem_amd, components, bits, address, constant(b, start, 32))
            intrinsic_set_index(s, value, index_align_mul, 4)
            return value
        if bits < 32:
            value = intrinsic2(b, intrinsic_load_smem_amd, words, 32, address, constant(b, start & ~<uint32_t>3, 32))
            intrinsic_set_index(s, value, index_align_mul, 4)
            return _narrow_push_constants(b, value, instruction, start % 4)
    if not value_is_constant(s, offset) and not s.instructions.flags[offset] & nir_divergent and bits >= 32:
        if base:
            offset = alu2_constant(b, alu_iadd, offset, base)
        value = intrinsic2(b, intrinsic_load_smem_amd, components, bits, address, offset)
    else:
        value = intrinsic2(b, intrinsic_load_global_amd, components, bits, address, offset)
        intrinsic_set_index(s, value, index_base, <int>base)
        intrinsic_set_index(s, value, index_access, access_can_reorder)
    intrinsic_set_index(s, value, index_align_mul, intrinsic_index(s, instruction, index_align_mul))
    intrinsic_set_index(s, value, index_align_offset, intrinsic_index(s, instruction, index_align_offset))
    return value


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int source
    if s.instructions.kind[instruction] == nir_tex:
        return _image_access(b, c, instruction)
    if s.instructions.kind[instruction] != nir_intrinsic:
        return lower_keep
    if intrinsic_image_deref_load <= opcode <= intrinsic_image_deref_fragment_mask_load_amd:
        return _image_access(b, c, instruction)
    if opcode == intrinsic_vulkan_resource_index:
        return _resource_index(b, c, instruction)
    if opcode == intrinsic_vulkan_resource_reindex:
        return _reindex(b, instruction)
    if opcode == intrinsic_load_vulkan_descriptor:
        return _pointer(b, c, instruction)
    if opcode == intrinsic_load_push_constant:
        return _push_constant(b, instruction)
    source = _resource_source(s, instruction)
    if source < 0 or s.instructions.components[source_value(s, instruction, source)] == 4:
        return lower_keep
    return _buffer_access(b, c, instruction, source)


cdef class _Descriptors:
    """Owner of a table. Shaders that are alike share it."""
    cdef DescriptorTable table


cdef _Descriptors _described(dict metadata):
    cdef _Descriptors made = _Descriptors()
    cdef Binding binding
    cdef int i
    if "abi" not in metadata:
        raise InputError("lower_descriptors needs the ABI that declare_arguments makes")
    made.table.block_words = metadata["inline_block_descriptor"]
    samplers, chroma_bits = metadata.get("known_samplers"), metadata.get("chroma_sampler_bits")
    for set_number, layout in metadata["abi"]["descriptor_sets"].items():
        for number, facts in layout["bindings"].items():
            binding.offset = facts["offset"]
            binding.stride = facts["stride"]
            binding.location = in_set
            binding.sampler_offset = facts["stride"] - 16 if facts["type"] == "combined_image_sampler" else 0
            known = samplers.get((set_number, number)) if samplers else None
            chroma = chroma_bits.get((set_number, number)) if chroma_bits else None
            binding.known_sampler = known is not None
            for i in range(4):
                binding.sampler[i] = known[i] if known else 0
                binding.chroma_clear[i] = chroma[0][i] if chroma else 0
                binding.chroma_set[i] = chroma[1][i] if chroma else 0
            if facts["type"] == "inline_uniform_block":
                binding.location = inline_block
            elif facts["type"].endswith("_dynamic"):
                binding.location = after_push_constants
            made.table.bindings[<uint64_t><uint32_t>set_number << 32 | <uint32_t>number] = binding
    return made


_making = _thread.allocate_lock()     # interpreters may have no lock of their own
# No thread holds it while the process forks: in the child, nobody would give it back.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)


cdef _Descriptors _descriptors(Metadata facts):
    cdef Declared declared = facts.declared
    cdef _Descriptors made
    if declared is None:              # metadata may have been changed since
        return _described(facts.known)
    if declared.descriptors is None:
        made = _described(declared.kept)
        with _making:
            if declared.descriptors is None:  # still: compilations may read what another thread has made
                declared.descriptors = made
                declared.data.descriptors.store(&made.table)
    return declared.descriptors


cdef int _run(ShaderData *s, const DescriptorTable *table) except -1 nogil:
    cdef Context c
    c.bindings = &table.bindings
    c.block_words = &table.block_words[0]
    return lowering_run(s, lower_textures | lower_intrinsics, _lower, &c)


cdef int _run_in_compilation(void *ir, int option) except -1 nogil:
    cdef Compilation *compilation = <Compilation *>ir
    cdef const DescriptorTable *table = NULL
    if compilation.arguments != NULL:
        table = <const DescriptorTable *>compilation.arguments.descriptors.load()
    if table == NULL:
        return left_to_python
    return _run(compilation.shader, table)


compilation_kernel = native_kernel(_run_in_compilation)


def run(Shader shader not None, options=None):
    """Lower descriptors and push constants."""
    cdef _Descriptors descriptors = _descriptors(shader.facts)
    cdef bint progress
    with nogil:
        progress = _run(&shader.data, &descriptors.table)
    return progress
