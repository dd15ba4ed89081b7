"""Sizes, levels and samples of images, from the words of their descriptors.

Needs: images are named by descriptors (``lower_descriptors``). Guarantees: no query of a size, of the number of levels or of samples is
left. The descriptor of an image has its width, height and depth less one, the first and last level of the view, and for arrays the first
and last layer; with several samples the last level is the logarithm of their number. That of a texel buffer has its elements in dword 2.
A null descriptor is all zeros, and so are the answers; dword 3 of any other has a type that is not zero.

Sources: the register database's ``SQ_IMG_RSRC_WORD1`` to ``WORD5`` (the table below, which a test compares with it); Vulkan
specification, section "Image Queries". Layers divided by six: T. Granlund, P. Montgomery, "Division by Invariant Integers using
Multiplication", 1994.
"""
from libc.stdint cimport uint32_t

from features cimport has_records_in_bytes

from nir_opcodes cimport (
    alu_bcsel, alu_iadd, alu_iand, alu_imul, alu_ine, alu_ishl, alu_isub, alu_udiv, alu_umax, alu_ushr, image_sizes,
    intrinsic_bindless_image_levels, intrinsic_bindless_image_samples, intrinsic_bindless_image_size, index_image_array,
    index_image_dim, tex_query_levels, tex_source_lod, tex_source_texture_handle, tex_texture_samples, tex_txs,
)
from pyaco._core.ir.emitter cimport alu2, alu2_constant, alu3, component, constant, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx10, gfx12, gfx9
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, image_buffer, image_cube, image_external, image_is_array, image_ms, image_rect, image_subpass,
    image_subpass_ms, intrinsic_index, nir_intrinsic, nir_load_const, nir_tex, source_value,
)
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lower_textures, lowering_run
from pyaco._core.nir.texture_edit cimport TextureEdit, texture_read, texture_source

cdef enum:
    field_width, field_width_high, field_height, field_depth, field_first_layer, field_first_level, field_last_level
    field_last_layer
    buffer_stride_dword = 1
    buffer_elements_dword = 2
    type_dword = 3

cdef struct Image:
    ValueId descriptor
    uint32_t dim                      # image_1d ...
    bint layered
    ValueId level                     # 0: it has one level, or the first is meant

# Where fields stand: dword, first bit, bits (0: there is no such field), in the order of the enum, for GFX6 to GFX8, GFX9, GFX10 to
# GFX11.5, GFX12.
# What `field_width_high` has stands above the bits of `field_width`.
# Depth is that of the surface up to GFX8, where the view's last layer stands beside the first; later it is that last layer.
FIELDS = (
    ((2, 0, 14), (0, 0, 0), (2, 14, 14), (4, 0, 13), (5, 0, 13), (3, 12, 4), (3, 16, 4), (5, 13, 13)),
    ((2, 0, 14), (0, 0, 0), (2, 14, 14), (4, 0, 13), (5, 0, 13), (3, 12, 4), (3, 16, 4), (4, 0, 13)),
    ((1, 30, 2), (2, 0, 12), (2, 14, 14), (4, 0, 13), (4, 16, 13), (3, 12, 4), (3, 16, 4), (4, 0, 13)),
    ((1, 30, 2), (2, 0, 14), (2, 14, 16), (4, 0, 14), (4, 16, 14), (1, 25, 5), (3, 15, 5), (4, 0, 14)),
)
cdef uint32_t[4][8][3] places
for _generation in range(4):
    for _field in range(8):
        for _part in range(3):
            places[_generation][_field][_part] = FIELDS[_generation][_field][_part]


cdef ValueId _field_of(Lowering *b, ValueId descriptor, uint32_t field) except? 0xffffffffU nogil:
    cdef uint32_t generation = (b.s.info.gfx_level >= gfx9) + (b.s.info.gfx_level >= gfx10) + (b.s.info.gfx_level >= gfx12)
    cdef uint32_t first = places[generation][field][1]
    cdef uint32_t bits = places[generation][field][2]
    cdef ValueId value = component(b, descriptor, places[generation][field][0])
    if first:
        value = alu2_constant(b, alu_ushr, value, first)
    if first + bits < 32:
        value = alu2_constant(b, alu_iand, value, (1 << bits) - 1)
    return value


cdef ValueId _width(Lowering *b, ValueId descriptor) except? 0xffffffffU nogil:
    """Less one."""
    cdef ValueId low = _field_of(b, descriptor, field_width)
    if b.s.info.gfx_level < gfx10:
        return low
    return alu2(b, alu_iadd, alu2_constant(b, alu_ishl, _field_of(b, descriptor, field_width_high), 2), low)


cdef inline bint _has_levels(uint32_t dim) noexcept nogil:
    return dim not in (image_rect, image_ms, image_subpass, image_subpass_ms, image_external)


cdef ValueId _size_of_level(Lowering *b, const Image *image, ValueId less_one) except? 0xffffffffU nogil:
    cdef ValueId size = alu2_constant(b, alu_iadd, less_one, 1)
    cdef ValueId level
    if not _has_levels(image.dim):
        return size
    level = _field_of(b, image.descriptor, field_first_level)
    if image.level:
        level = alu2(b, alu_iadd, level, image.level)
    return alu2_constant(b, alu_umax, alu2(b, alu_ushr, size, level), 1)


cdef ValueId _layers(Lowering *b, const Image *image) except? 0xffffffffU nogil:
    cdef ValueId first = _field_of(b, image.descriptor, field_first_layer)
    cdef ValueId count = alu2_constant(b, alu_iadd, alu2(b, alu_isub, _field_of(b, image.descriptor, field_last_layer), first), 1)
    if image.dim != image_cube:
        return count
    # Division by six; exact for the 15 bits that there are.
    return alu2_constant(b, alu_ushr, alu2_constant(b, alu_imul, count, 43691), 18)


cdef ValueId _buffer_elements(Lowering *b, ValueId descriptor) except? 0xffffffffU nogil:
    """GFX8 counts bytes where the others count elements; of a null descriptor both are zero."""
    cdef ValueId records = component(b, descriptor, buffer_elements_dword)
    cdef ValueId stride
    if not has_records_in_bytes(b.s.info.gfx_level):
        return records
    stride = alu2_constant(b, alu_ushr, component(b, descriptor, buffer_stride_dword), 16)
    return alu2(b, alu_udiv, records, alu2_constant(b, alu_umax, alu2_constant(b, alu_iand, stride, 0x3fff), 1))


cdef ValueId _size(Lowering *b, const Image *image) except? 0xffffffffU nogil:
    cdef ValueId[4] parts
    cdef uint32_t count = image_sizes[image.dim]
    if image.dim == image_buffer:
        return _buffer_elements(b, image.descriptor)
    parts[0] = _size_of_level(b, image, _width(b, image.descriptor))
    if count > 1:
        parts[1] = _size_of_level(b, image, _field_of(b, image.descriptor, field_height))
    if count > 2:
        parts[2] = _size_of_level(b, image, _field_of(b, image.descriptor, field_depth))
    if image.layered:
        parts[count] = _layers(b, image)
        count += 1
    return vector_of(b, parts, count)


cdef ValueId _levels(Lowering *b, const Image *image) except? 0xffffffffU nogil:
    cdef ValueId last
    if image.dim == image_buffer or not _has_levels(image.dim):
        return constant(b, 1, 32)
    last = alu2_constant(b, alu_iadd, _field_of(b, image.descriptor, field_last_level), 1)
    return alu2(b, alu_isub, last, _field_of(b, image.descriptor, field_first_level))


cdef ValueId _samples(Lowering *b, const Image *image) except? 0xffffffffU nogil:
    if image.dim != image_ms and image.dim != image_subpass_ms:
        return constant(b, 1, 32)
    return alu2(b, alu_ishl, constant(b, 1, 32), _field_of(b, image.descriptor, field_last_level))


cdef ValueId _or_null(Lowering *b, const Image *image, ValueId answer) except? 0xffffffffU nogil:
    """An answer of zeros for null descriptors."""
    cdef ValueId[4] parts
    cdef ValueId present
    cdef uint32_t i
    if image.dim == image_buffer and b.s.instructions.kind[answer] != nir_load_const:
        return answer                  # it has no elements already
    present = alu2_constant(b, alu_ine, component(b, image.descriptor, type_dword), 0)
    for i in range(b.s.instructions.components[answer]):
        parts[i] = alu3(b, alu_bcsel, present, component(b, answer, i), constant(b, 0, 32))
    return vector_of(b, parts, b.s.instructions.components[answer])


cdef ValueId _texture_query(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef TextureEdit t
    cdef Image image
    texture_read(b.s, instruction, &t)
    if t.opcode not in (tex_txs, tex_query_levels, tex_texture_samples):
        return lower_keep
    image.descriptor = texture_source(&t, tex_source_texture_handle)
    if image.descriptor == 0 or t.bit_size != 32:
        return lower_keep
    image.dim, image.layered = t.dim, (t.image_flags & image_is_array) != 0
    image.level = texture_source(&t, tex_source_lod)
    if t.opcode == tex_txs:
        return _or_null(b, &image, _size(b, &image))
    return _or_null(b, &image, _levels(b, &image) if t.opcode == tex_query_levels else _samples(b, &image))


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef uint32_t opcode = b.s.instructions.opcode[instruction]
    cdef Image image
    if b.s.instructions.kind[instruction] == nir_tex:
        return _texture_query(b, instruction)
    if b.s.instructions.kind[instruction] != nir_intrinsic or opcode not in (
            intrinsic_bindless_image_size, intrinsic_bindless_image_levels, intrinsic_bindless_image_samples):
        return lower_keep
    image.descriptor = source_value(b.s, instruction, 0)
    image.dim = <uint32_t>intrinsic_index(b.s, instruction, index_image_dim)
    image.layered = intrinsic_index(b.s, instruction, index_image_array) != 0
    image.level = source_value(b.s, instruction, 1) if opcode == intrinsic_bindless_image_size else 0
    if b.s.instructions.bit_size[instruction] != 32:
        return lower_keep
    if opcode == intrinsic_bindless_image_size:
        return _or_null(b, &image, _size(b, &image))
    return _or_null(b, &image, _levels(b, &image) if opcode == intrinsic_bindless_image_levels else _samples(b, &image))


cdef bint _may_have_queries(const ShaderData *s) noexcept nogil:
    """Most shaders have no image: a look at their opcodes saves the walk."""
    cdef uint32_t i
    for i in range(s.instructions.table.count):
        if s.instructions.kind[i] == nir_tex:
            return True
        if s.instructions.kind[i] == nir_intrinsic and s.instructions.opcode[i] in (
                intrinsic_bindless_image_size, intrinsic_bindless_image_levels, intrinsic_bindless_image_samples):
            return True
    return False


cdef int _kernel(void *ir, int option) except -1 nogil:
    return _may_have_queries(<ShaderData *>ir) and lowering_run(<ShaderData *>ir, lower_textures | lower_intrinsics, _lower, NULL)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Replace queries."""
    cdef bint progress = False
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
