"""Images and samplers (the SPIR-V specification, sections 3.42.10 "Image Instructions" and 3.14 "Image Operands").

What samples or fetches becomes a texture instruction, what reads and writes storage images an intrinsic ``image_deref_*``, both on derefs of
variables. Coordinates of intrinsics have four components, of which those that the image does not have repeat the first.

Source for what NIR takes: Mesa's ``docs/nir/tex.rst`` and ``nir_intrinsics.py``.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.common.bits cimport lowest_bit
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.alu cimport set_checked
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *

cdef enum:
    explicit_lod = 1              # bits of the number of a sampling instruction among its eight neighbours
    with_reference = 2
    projective = 4
    comparisons = 2               # image_dim_flags: can be compared with a reference
    level_operands = ImageOperands_Bias | ImageOperands_Lod | ImageOperands_Grad
    offset_operands = ImageOperands_ConstOffset | ImageOperands_Offset | ImageOperands_ConstOffsets | ImageOperands_Offsets
    known_operands = 0x17fff
    no_id_operands = (ImageOperands_NonPrivateTexel | ImageOperands_VolatileTexel | ImageOperands_SignExtend | ImageOperands_ZeroExtend
                      | ImageOperands_Nontemporal)

cdef uint8_t[32] may_be_narrow     # by tex_source_*: floats of 16 bits
memset(may_be_narrow, 0, sizeof(may_be_narrow))
for _kind in (tex_source_bias, tex_source_lod, tex_source_ddx, tex_source_ddy, tex_source_min_lod, tex_source_comparator, tex_source_projector):
    may_be_narrow[_kind] = 1

cdef struct Operands:             # image operands of an instruction; 0: not given
    uint32_t mask
    ValueId bias
    ValueId lod
    ValueId ddx
    ValueId ddy
    ValueId offset
    ValueId sample
    ValueId min_lod
    SpirvId offsets               # an array of four
    uint32_t access               # access_*

cdef struct TextureSources:         # of a texture instruction being made
    ValueId value[16]
    uint8_t kind[16]
    uint32_t count


# -------------------------------------------------------------------------------------------------------------- handles
cdef ValueId _required_deref(Reader r, ValueId value) except 0 nogil:
    """A deref that leads to a variable, as handles do; what was chosen among several or cast does not."""
    if r.s.instructions.kind[value] != nir_deref or r.s.instructions.opcode[value] not in (deref_var, deref_array):
        unsupported(r, r.word, "images and samplers that do not come from a variable alone")
    return value


cdef int load_handle(Reader r, uint32_t word, TypeId type, SpirvId pointer) except -1 nogil:
    cdef ValueId deref = _required_deref(r, pointer_of(r, pointer))
    cdef SpirvId id = r.words[word + 2]
    if r.s.instructions.type[deref] != type:
        fail(r, word, "the result has a different type from what the pointer points to")
    if r.s.types.image_dim[type] == image_subpass or r.s.types.image_dim[type] == image_subpass_ms:
        fail(r, word, "an input attachment in a compute shader")
    _note_non_uniform(r, id, deref)
    if r.s.types.base[type] == type_sampled_image:
        return _set_sampled(r, id, deref, deref)
    r.kind[id] = kind_ssa
    r.payload[id] = deref
    return 0


cdef int _note_non_uniform(Reader r, SpirvId id, ValueId deref) noexcept nogil:
    if decoration_of(r, id, no_member, Decoration_NonUniform):
        r.deref_access[deref] |= access_non_uniform
    return 0


cdef int _set_sampled(Reader r, SpirvId id, ValueId texture, ValueId sampler) except -1 nogil:
    cdef TreeId tree = tree_new(r, 2)
    r.trees[tree] = texture
    r.trees[tree + 1] = sampler
    r.kind[id] = kind_tree
    r.payload[id] = tree
    return 0


cdef ValueId _handle(Reader r, SpirvId id, int base, int other) except 0 nogil:
    """The deref that an id of one of two base types is."""
    cdef TypeId type = value_type(r, id)
    if r.s.types.base[type] != base and r.s.types.base[type] != other:
        fail(r, r.word, "id %u is of the wrong type", id)
    if r.s.types.base[type] == type_sampled_image:
        return r.trees[value_of(r, id)]
    return _required_deref(r, value_of(r, id))


cdef int _sampled(Reader r, SpirvId id, ValueId *texture, ValueId *sampler) except -1 nogil:
    """Texture and sampler of a sampled image that an instruction samples."""
    cdef TypeId type = value_type(r, id)
    cdef TreeId tree
    if r.s.types.base[type] != type_sampled_image:
        fail(r, r.word, "id %u is no sampled image", id)
    tree = value_of(r, id)
    texture[0] = r.trees[tree]
    sampler[0] = r.trees[tree + 1]
    _note_non_uniform(r, id, texture[0])
    _note_non_uniform(r, id, sampler[0])
    type = r.s.instructions.type[texture[0]]
    if r.s.types.image_dim[type] > image_rect:
        fail(r, r.word, "sampling of a texel buffer or a multisampled image")
    return 0


cdef int _join(Reader r, uint32_t word) except -1 nogil:
    """OpSampledImage."""
    cdef TypeId result = type_of_id(r, r.words[word + 1])
    cdef ValueId texture = _handle(r, r.words[word + 3], type_texture, type_texture)
    cdef ValueId sampler = _handle(r, r.words[word + 4], type_sampler, type_sampler)
    if r.s.types.base[result] != type_sampled_image:
        fail(r, word, "the result is no sampled image")
    _note_non_uniform(r, r.words[word + 2], texture)
    _note_non_uniform(r, r.words[word + 2], sampler)
    return _set_sampled(r, r.words[word + 2], texture, sampler)


cdef int _texture_of(Reader r, uint32_t word) except -1 nogil:
    """OpImage."""
    cdef TypeId type = value_type(r, r.words[word + 3])
    cdef TypeId result = type_of_id(r, r.words[word + 1])
    cdef bint of_buffer = r.s.types.base[type] == type_texture and r.s.types.image_dim[type] == image_buffer
    if not (of_buffer or r.s.types.base[type] == type_sampled_image) or r.s.types.base[result] != type_texture:
        fail(r, word, "the image of what is no sampled image")
    r.payload[r.words[word + 2]] = _handle(r, r.words[word + 3], type_texture, type_sampled_image)
    r.kind[r.words[word + 2]] = kind_ssa
    return 0


# ------------------------------------------------------------------------------------------------------- image operands
cdef SpirvId _next_id(Reader r, uint32_t *cursor, uint32_t end) except 0 nogil:
    cdef SpirvId id
    if cursor[0] >= end:
        fail(r, r.word, "fewer image operands than their mask asks for")
    id = r.words[cursor[0]]
    if id == 0 or id >= r.bound:
        fail(r, r.word, "operand id %u is outside the id bound", id)
    cursor[0] += 1
    return id


cdef int _one_operand(Reader r, Operands *o, uint32_t bit, uint32_t *cursor, uint32_t end) except -1 nogil:
    cdef SpirvId id = _next_id(r, cursor, end)
    if bit == ImageOperands_Bias:
        o.bias = ssa(r, id)
    elif bit == ImageOperands_Lod:
        o.lod = ssa(r, id)
    elif bit == ImageOperands_Grad:
        o.ddx = ssa(r, id)
        o.ddy = ssa(r, _next_id(r, cursor, end))
    elif bit == ImageOperands_ConstOffset or bit == ImageOperands_Offset:
        o.offset = ssa(r, id)
    elif bit == ImageOperands_ConstOffsets or bit == ImageOperands_Offsets:
        o.offsets = id
    elif bit == ImageOperands_Sample:
        o.sample = ssa(r, id)
    elif bit == ImageOperands_MinLod:
        o.min_lod = ssa(r, id)
    else:                             # MakeTexelAvailable, MakeTexelVisible: a scope
        o.access |= access_coherent
    return 0


cdef int _operands(Reader r, uint32_t cursor, uint32_t end, Operands *o) except -1 nogil:
    """Read the image operands at `cursor`, if there are any. Coherent access gives all availability and visibility that may be asked for."""
    cdef uint32_t mask, bit
    memset(o, 0, sizeof(Operands))
    if cursor >= end:
        return 0
    mask = r.words[cursor]
    o.mask = mask
    cursor += 1
    if mask & ~<uint32_t>known_operands:
        unsupported_enumerant(r, r.word, "the image operand ", spirv_kind_ImageOperands,
                              <uint32_t>lowest_bit(mask & ~<uint32_t>known_operands))
    if mask & ImageOperands_VolatileTexel:
        o.access |= access_volatile
    if mask & ImageOperands_NonPrivateTexel:
        o.access |= access_coherent
    if mask & ImageOperands_Nontemporal:
        o.access |= access_non_temporal
    mask &= ~<uint32_t>no_id_operands
    while mask:
        bit = <uint32_t>lowest_bit(mask)
        _one_operand(r, o, bit, &cursor, end)
        mask ^= bit
    if cursor != end:
        fail(r, r.word, "more operands than the mask of image operands asks for")
    return 0


cdef int _allow(Reader r, const Operands *o, uint32_t allowed) except -1 nogil:
    """Raise an error for operands that an instruction does not take."""
    cdef uint32_t others = o.mask & ~(allowed | no_id_operands | ImageOperands_MakeTexelAvailable | ImageOperands_MakeTexelVisible)
    if others:
        fail(r, r.word, "image operands that the instruction does not take: %u", others)
    return 0


cdef int _widen_integers(Reader r, Operands *o) except -1 nogil:
    """Level and sample of a fetch, a read or a write: there are no negative ones."""
    if o.lod:
        o.lod = resize_integer(r, o.lod, 32, False)
    if o.sample:
        o.sample = resize_integer(r, o.sample, 32, False)
    return 0


cdef ValueId _coordinates(Reader r, SpirvId id, uint32_t count, bint texels) except 0 nogil:
    """The first components of a coordinate; integers of 16 bits become wider."""
    cdef bint is_integer = r.s.types.base[value_type(r, id)] != type_float
    cdef ValueId value = ssa(r, id)
    if components_of(r, value) < count or (bits_of(r, value) != 32 and bits_of(r, value) != 16) or is_integer != texels:
        fail(r, r.word, "a coordinate of fewer than %u components, or not of 32 or 16 bits, or integers where floats are due or the reverse", count)
    if is_integer:
        value = resize_integer(r, value, 32, r.s.types.base[value_type(r, id)] == type_int)
    if components_of(r, value) == count:
        return value
    if count == 1:
        return component(&r.nir, value, 0)
    return swizzled(&r.nir, value, identity_swizzle, count)


cdef inline bint _is_array(Reader r, ValueId deref) noexcept nogil:
    return (r.s.types.image_flags[r.s.instructions.type[deref]] & image_is_array) != 0


cdef inline int _dim(Reader r, ValueId deref) noexcept nogil:
    return r.s.types.image_dim[r.s.instructions.type[deref]]


# -------------------------------------------------------------------------------------------------- texture instructions
cdef int _add(Reader r, TextureSources *sources, int kind, ValueId value, uint32_t components) except -1 nogil:
    """Add a source, of a number of components (0: any), where there is one."""
    if value == 0:
        return 0
    if components and components_of(r, value) != components:
        fail(r, r.word, "an image operand that does not have %u components", components)
    if components and bits_of(r, value) != 32 and (bits_of(r, value) != 16 or not may_be_narrow[kind]):
        fail(r, r.word, "an image operand that has neither 32 bits nor, being a float, 16")
    sources.value[sources.count] = value
    sources.kind[sources.count] = <uint8_t>kind
    sources.count += 1
    return 0


cdef int _begin(Reader r, TextureSources *sources, ValueId texture, ValueId sampler) except -1 nogil:
    sources.count = 0
    _add(r, sources, tex_source_texture_deref, texture, 0)
    return _add(r, sources, tex_source_sampler_deref, sampler, 0)


cdef int _add_operands(Reader r, TextureSources *sources, const Operands *o, ValueId texture) except -1 nogil:
    """Everything that the image operands give."""
    cdef uint32_t dimensions = image_coordinates[_dim(r, texture)]
    _add(r, sources, tex_source_bias, o.bias, 1)
    _add(r, sources, tex_source_lod, o.lod, 1)
    _add(r, sources, tex_source_ddx, o.ddx, dimensions)
    _add(r, sources, tex_source_ddy, o.ddy, dimensions)
    _add(r, sources, tex_source_offset, o.offset, dimensions)
    _add(r, sources, tex_source_ms_index, o.sample, 1)
    return _add(r, sources, tex_source_min_lod, o.min_lod, 1)


cdef ValueId _texture(Reader r, int opcode, const TextureSources *sources, int components, int bits, uint32_t base, bint sparse) except 0 nogil:
    """Make a texture instruction; the first source is the texture."""
    cdef ValueId texture = sources.value[0]
    cdef TypeId type = r.s.instructions.type[texture]
    cdef ValueId row
    cdef uint32_t at
    row = nir_tex_new(r.s, opcode, components + sparse, bits, sources.value, sources.kind, sources.count)
    at = r.s.instructions.data[row]
    r.s.textures.base[at] = <uint8_t>base
    r.s.textures.dim[at] = r.s.types.image_dim[type]
    r.s.textures.image_flags[at] = r.s.types.image_flags[type] & image_is_array
    r.s.textures.flags[at] = texture_is_sparse if sparse else 0
    if r.deref_access[texture] & access_non_uniform:
        r.s.textures.flags[at] |= texture_non_uniform
    if sources.count > 1 and sources.kind[1] == tex_source_sampler_deref and r.deref_access[sources.value[1]] & access_non_uniform:
        r.s.textures.flags[at] |= texture_sampler_non_uniform
    return emit(&r.nir, row)


cdef int _compare(Reader r, ValueId row, ValueId texture, bint scalar) except -1 nogil:
    """Make a texture instruction one that compares with a reference."""
    cdef uint32_t at = r.s.instructions.data[row]
    if not image_dim_flags[_dim(r, texture)] & comparisons:
        fail(r, r.word, "a comparison with an image of dimensions that have none")
    r.s.textures.image_flags[at] |= image_is_shadow
    if scalar:
        r.s.textures.flags[at] |= texture_shadow_scalar
    return 0


cdef int _check_texel_bits(Reader r, uint32_t word, TypeId type) except -1 nogil:
    """32 bits; 16 for floats (SPV_AMD_gpu_shader_half_float_fetch), 64 for integers (SPV_EXT_shader_image_int64)."""
    cdef uint32_t bits = r.s.types.bit_size[type]
    if bits != 32 and bits != (16 if r.s.types.base[type] == type_float else 64):
        fail(r, word, "a texel of %u bits that is no 16-bit float and no 64-bit integer", bits)
    return 0


cdef TypeId _texel_type(Reader r, uint32_t word, bint sparse) except 0xffffffffU nogil:
    """The type of the texel that an instruction gives; sparse ones give a struct of residency code and texel."""
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    if sparse:
        if r.s.types.base[type] != type_struct or r.s.types.member_count[type] != 2:
            fail(r, word, "the result is not a struct of two members")
        type = element_type(r, type, 1)
    if not type_int <= r.s.types.base[type] <= type_float or r.s.types.components[type] > 4:
        fail(r, word, "a texel that is not a number or a vector of up to four")
    _check_texel_bits(r, word, type)
    return type


cdef int _moved_bits(Reader r, TypeId type, bint sparse) noexcept nogil:
    """Bits of the components that an instruction moves: a residency code has 32, so texels beside it have them too."""
    return 32 if sparse and r.s.types.bit_size[type] == 16 else r.s.types.bit_size[type]


cdef uint32_t _texel_base(Reader r, TypeId type, const Operands *o) noexcept nogil:
    if o.mask & ImageOperands_SignExtend:
        return type_int
    if o.mask & ImageOperands_ZeroExtend:
        return type_uint
    return r.s.types.base[type]


cdef int _set_texel(Reader r, uint32_t word, TypeId type, ValueId value, bint sparse) except -1 nogil:
    """Make a texel, and the residency code behind it, the result."""
    cdef uint32_t count = components_of(r, value) - sparse
    cdef uint32_t wanted = r.s.types.components[type]
    cdef TreeId tree
    cdef ValueId texel = value
    cdef TypeId code
    if wanted > count:
        fail(r, word, "the result has more components than the texel")
    if wanted == 1:
        texel = component(&r.nir, value, 0)
    elif wanted < components_of(r, value):
        texel = swizzled(&r.nir, value, identity_swizzle, wanted)
    if bits_of(r, texel) == 32 and r.s.types.bit_size[type] == 16:
        texel = alu1(&r.nir, alu_f2f16, texel)
    if not sparse:
        return set_checked(r, word, texel)
    code = element_type(r, type_of_id(r, r.words[word + 1]), 0)
    if r.s.types.base[code] > type_uint or r.s.types.bit_size[code] != 32 or r.s.types.components[code] != 1:
        fail(r, word, "a residency code that is not a 32-bit integer")
    tree = tree_new(r, 2)
    r.trees[tree] = resize_integer(r, component(&r.nir, value, count), 32, False)
    r.trees[tree + 1] = texel
    return set_value(r, r.words[word + 2], type_of_id(r, r.words[word + 1]), tree)


cdef int _finish_level(Reader r, Operands *o) except -1 nogil:
    """Bias and MinLod beside Lod, which the specification has not, but glslang writes for texture() with a bias in compute shaders."""
    if o.bias:
        _require_scalars(r, o.lod, o.bias)
        o.lod = alu2(&r.nir, alu_fadd, o.lod, o.bias)
    if o.min_lod:
        _require_scalars(r, o.lod, o.min_lod)
        o.lod = alu2(&r.nir, alu_fmax, o.lod, o.min_lod)
    o.bias = o.min_lod = 0
    return 0


cdef int _require_scalars(Reader r, ValueId a, ValueId b) except -1 nogil:
    if components_of(r, a) != 1 or components_of(r, b) != 1 or bits_of(r, a) != bits_of(r, b) or bits_of(r, a) < 16:
        fail(r, r.word, "levels, biases and least levels that are not floats of one size")
    return 0


cdef int _sample(Reader r, uint32_t word, uint32_t end, uint32_t form, bint sparse) except -1 nogil:
    """OpImage*Sample*: `form` has the bits explicit_lod, with_reference and projective."""
    cdef uint32_t cursor = word + 5 + ((form & with_reference) != 0)
    cdef TypeId type = _texel_type(r, word, sparse)
    cdef ValueId texture, sampler, coordinate, row
    cdef TextureSources sources
    cdef Operands o
    cdef uint32_t count
    cdef int opcode = tex_tex
    _sampled(r, r.words[word + 3], &texture, &sampler)
    _operands(r, cursor, end, &o)
    _allow(r, &o, level_operands | ImageOperands_ConstOffset | ImageOperands_Offset | ImageOperands_MinLod)
    if form & explicit_lod:
        if (o.lod != 0) == (o.ddx != 0) or (o.bias and o.ddx):
            fail(r, word, "an explicit level of detail is given by either Lod or Grad")
        opcode = tex_txl if o.lod else tex_txd
        if o.lod:
            _finish_level(r, &o)
    else:
        if o.lod or o.ddx:
            fail(r, word, "Lod or Grad where the level of detail is implicit")
        if o.bias:
            opcode = tex_txb
    _begin(r, &sources, texture, sampler)
    count = image_coordinates[_dim(r, texture)] + _is_array(r, texture)
    coordinate = ssa(r, r.words[word + 4])
    _add(r, &sources, tex_source_coord, _coordinates(r, r.words[word + 4], count, False), 0)
    if form & projective:
        if components_of(r, coordinate) <= count:
            fail(r, word, "a projective coordinate without a divisor")
        _add(r, &sources, tex_source_projector, component(&r.nir, coordinate, count), 1)
    if form & with_reference:
        _add(r, &sources, tex_source_comparator, ssa(r, r.words[word + 5]), 1)
    _add_operands(r, &sources, &o, texture)
    if r.s.types.bit_size[type] == 64:
        fail(r, word, "sampling of texels of 64 bits")
    row = _texture(r, opcode, &sources, 1 if form & with_reference else 4, _moved_bits(r, type, sparse), _texel_base(r, type, &o), sparse)
    if form & with_reference:
        _compare(r, row, texture, True)
    return _set_texel(r, word, type, row, sparse)


cdef int _fetch(Reader r, uint32_t word, uint32_t end, bint sparse) except -1 nogil:
    cdef TypeId type = _texel_type(r, word, sparse)
    cdef ValueId texture = _handle(r, r.words[word + 3], type_texture, type_texture)
    cdef bint samples = _dim(r, texture) == image_ms
    cdef TextureSources sources
    cdef Operands o
    _operands(r, word + 5, end, &o)
    _allow(r, &o, ImageOperands_Lod | ImageOperands_ConstOffset | ImageOperands_Offset | ImageOperands_Sample)
    if samples != (o.sample != 0) or (o.lod and (samples or _dim(r, texture) == image_buffer)):
        fail(r, word, "a fetch names a sample of multisampled images alone, and a level of others")
    if _dim(r, texture) == image_cube:
        fail(r, word, "a fetch from a cube")
    _widen_integers(r, &o)
    _begin(r, &sources, texture, 0)
    _add(r, &sources, tex_source_coord,
         _coordinates(r, r.words[word + 4], image_coordinates[_dim(r, texture)] + _is_array(r, texture), True), 0)
    _add_operands(r, &sources, &o, texture)
    return _set_texel(r, word, type, _texture(r, tex_txf_ms if samples else tex_txf, &sources, 4, _moved_bits(r, type, sparse),
                                              _texel_base(r, type, &o), sparse), sparse)


cdef int _fetch_fragment(Reader r, uint32_t word, bint mask) except -1 nogil:
    """OpFragmentMaskFetchAMD and OpFragmentFetchAMD."""
    cdef ValueId texture = _handle(r, r.words[word + 3], type_texture, type_texture)
    cdef TextureSources sources
    cdef TypeId type = _texel_type(r, word, False)
    if _dim(r, texture) != image_ms:
        fail(r, word, "a fragment of an image that is not multisampled")
    _begin(r, &sources, texture, 0)
    _add(r, &sources, tex_source_coord, _coordinates(r, r.words[word + 4], 2 + _is_array(r, texture), True), 0)
    if mask:
        return set_checked(r, word, _texture(r, tex_fragment_mask_fetch_amd, &sources, 1, 32, type_uint, False))
    _add(r, &sources, tex_source_ms_index, resize_integer(r, ssa(r, r.words[word + 5]), 32, False), 1)
    return _set_texel(r, word, type, _texture(r, tex_fragment_fetch_amd, &sources, 4, r.s.types.bit_size[type], r.s.types.base[type], False), False)


cdef int _check_offsets(Reader r, SpirvId id) except -1 nogil:
    cdef TypeId type = value_type(r, id)
    if r.s.types.base[type] != type_array or r.s.types.length[type] != 4:
        fail(r, r.word, "offsets that are not an array of four")
    return 0


cdef uint64_t _packed_offsets(Reader r, SpirvId id) except? 0xfffffffffffffffeULL nogil:
    """The four constant offsets of a gather, as ``Textures.offsets`` has them."""
    cdef AnyValue tree = value_of(r, id)
    cdef uint64_t packed = 0
    cdef uint32_t i, k, offset
    for i in range(4):
        if not value_is_constant(r.s, r.trees[tree + i]):
            unsupported(r, r.word, "constant offsets of a gather of which some are undefined")
        if components_of(r, r.trees[tree + i]) != 2 or bits_of(r, r.trees[tree + i]) != 32:
            fail(r, r.word, "an offset that is not two 32-bit integers")
        for k in range(2):
            offset = <uint32_t>constant_bits(r.s, r.trees[tree + i], k)
            if offset + 128 > 255:
                fail(r, r.word, "an offset outside -128 to 127")
            packed |= <uint64_t>(offset & 255) << (16 * i + 8 * k)
    return packed


cdef struct Gather:                # what the gathers of one instruction have in common
    int bits
    uint32_t base
    uint8_t channel
    bint compared
    bint sparse
    bint implicit_level            # SPV_AMD_texture_gather_bias_lod: where no level is given


cdef ValueId _one_gather(Reader r, const Gather *g, const TextureSources *sources) except 0 nogil:
    cdef ValueId row = _texture(r, tex_tg4, sources, 4, g.bits, g.base, g.sparse)
    r.s.textures.component[r.s.instructions.data[row]] = g.channel
    if g.implicit_level:
        r.s.textures.flags[r.s.instructions.data[row]] |= texture_implicit_lod
    if g.compared:
        _compare(r, row, sources.value[0], False)
    return row


cdef ValueId _four_gathers(Reader r, const Gather *g, const TextureSources *given, SpirvId offsets) except 0 nogil:
    """A gather whose texels have offsets that are no constants: the texel of the lowest coordinates of four gathers, their last component."""
    cdef AnyValue tree = value_of(r, offsets)
    cdef TextureSources sources
    cdef ValueId[5] parts
    cdef ValueId row
    cdef uint32_t i
    if r.kind[offsets] != kind_tree:
        fail(r, r.word, "offsets that are not values")
    for i in range(4):
        sources = given[0]
        _add(r, &sources, tex_source_offset, r.trees[tree + i], 2)
        row = _one_gather(r, g, &sources)
        parts[i] = component(&r.nir, row, 3)
        if g.sparse:                   # all are resident where no code has a bit set
            parts[4] = alu2(&r.nir, alu_ior, parts[4], component(&r.nir, row, 4)) if i else component(&r.nir, row, 4)
    return vector_of(&r.nir, parts, 4 + g.sparse)


cdef int _gather(Reader r, uint32_t word, uint32_t end, bint compared, bint sparse) except -1 nogil:
    cdef TypeId type = _texel_type(r, word, sparse)
    cdef ValueId texture, sampler, row
    cdef TextureSources sources
    cdef Operands o
    cdef Gather g
    cdef uint64_t channel = 0
    _sampled(r, r.words[word + 3], &texture, &sampler)
    if _dim(r, texture) not in (image_2d, image_cube, image_rect):
        fail(r, word, "a gather from an image that is neither two-dimensional nor a cube")
    _operands(r, word + 6, end, &o)
    _allow(r, &o, offset_operands | (ImageOperands_Bias | ImageOperands_Lod if r.gathers_have_levels and not compared else 0))
    if o.bias and o.lod:
        fail(r, word, "a gather with both a bias and a level of detail")
    _begin(r, &sources, texture, sampler)
    _add(r, &sources, tex_source_coord,
         _coordinates(r, r.words[word + 4], image_coordinates[_dim(r, texture)] + _is_array(r, texture), False), 0)
    if compared:
        _add(r, &sources, tex_source_comparator, ssa(r, r.words[word + 5]), 1)
    else:
        channel = integer_constant(r, r.words[word + 5])
    _add_operands(r, &sources, &o, texture)
    if channel > 3 or r.s.types.bit_size[type] == 64:
        fail(r, word, "a gather of a component that texels do not have, or of 64 bits")
    g.bits, g.base, g.channel, g.compared, g.sparse = _moved_bits(r, type, sparse), _texel_base(r, type, &o), <uint8_t>channel, compared, sparse
    g.implicit_level = r.gathers_have_levels and not compared and not o.lod
    if o.offsets:
        _check_offsets(r, o.offsets)
    if o.offsets and r.kind[o.offsets] != kind_constant:
        return _set_texel(r, word, type, _four_gathers(r, &g, &sources, o.offsets), sparse)
    row = _one_gather(r, &g, &sources)
    if o.offsets:
        r.s.textures.offsets[r.s.instructions.data[row]] = _packed_offsets(r, o.offsets)
    return _set_texel(r, word, type, row, sparse)


# --------------------------------------------------------------------------------------------------------------- queries
cdef int _query(Reader r, uint32_t word, int opcode, ValueId lod) except -1 nogil:
    """A query of a texture: txs, query_levels, texture_samples."""
    cdef ValueId texture = _handle(r, r.words[word + 3], type_texture, type_sampled_image)
    cdef TextureSources sources
    cdef int components = 1
    _begin(r, &sources, texture, 0)
    _add(r, &sources, tex_source_lod, lod, 1)
    if opcode == tex_txs:
        components = image_sizes[_dim(r, texture)] + _is_array(r, texture)
    return set_checked(r, word, _texture(r, opcode, &sources, components, 32, type_int, False))


cdef int _query_lod(Reader r, uint32_t word) except -1 nogil:
    cdef ValueId texture, sampler
    cdef TextureSources sources
    _sampled(r, r.words[word + 3], &texture, &sampler)
    _begin(r, &sources, texture, sampler)
    _add(r, &sources, tex_source_coord, _coordinates(r, r.words[word + 4], image_coordinates[_dim(r, texture)], False), 0)
    return set_checked(r, word, _texture(r, tex_lod, &sources, 2, 32, type_float, False))


cdef int _query_size(Reader r, uint32_t word) except -1 nogil:
    """OpImageQuerySize: storage images, and textures that have one level."""
    cdef ValueId[2] values
    cdef ValueId image
    if r.s.types.base[value_type(r, r.words[word + 3])] != type_image:
        return _query(r, word, tex_txs, 0)
    image = _handle(r, r.words[word + 3], type_image, type_image)
    values[0] = image
    values[1] = integer(r, 0, 32)
    return set_checked(r, word, _image_intrinsic(r, intrinsic_image_deref_size, image_sizes[_dim(r, image)] + _is_array(r, image), 32, values, 0))


cdef int _query_samples(Reader r, uint32_t word) except -1 nogil:
    cdef ValueId image
    if r.s.types.base[value_type(r, r.words[word + 3])] != type_image:
        return _query(r, word, tex_texture_samples, 0)
    image = _handle(r, r.words[word + 3], type_image, type_image)
    return set_checked(r, word, _image_intrinsic(r, intrinsic_image_deref_samples, 1, 32, &image, 0))


# -------------------------------------------------------------------------------------------------------- storage images
cdef ValueId _image_intrinsic(Reader r, int opcode, int components, int bits, const ValueId *values, uint32_t access) except 0 nogil:
    """An intrinsic on a storage image, which is the first of its sources."""
    cdef ValueId image = values[0]
    cdef TypeId type = r.s.instructions.type[image]
    cdef ValueId row = intrinsic_n(&r.nir, opcode, components, bits, values)
    intrinsic_set_index(r.s, row, index_image_dim, r.s.types.image_dim[type])
    intrinsic_set_index(r.s, row, index_image_array, _is_array(r, image))
    intrinsic_set_index(r.s, row, index_format, r.types[type].image_format)
    intrinsic_set_index(r.s, row, index_access, <int>(access | r.deref_access[image]))
    return row


cdef ValueId _image_coordinate(Reader r, ValueId image, SpirvId id) except 0 nogil:
    """Four components, of which those that the image has not repeat the first; cubes have a layer instead of a direction."""
    cdef uint32_t count = 3 if _dim(r, image) == image_cube else image_coordinates[_dim(r, image)] + _is_array(r, image)
    cdef uint64_t swizzle = 0x210 & ((<uint64_t>1 << 4 * count) - 1)
    cdef ValueId value = _coordinates(r, id, count, True)
    if count == 1:
        return vector_of(&r.nir, [value, value, value, value], 4)
    return swizzled(&r.nir, value, swizzle, 4)


cdef int _image_operands(Reader r, ValueId image, uint32_t cursor, uint32_t end, Operands *o) except -1 nogil:
    """The operands of a read or write; sample and level are given their defaults."""
    _operands(r, cursor, end, o)
    _allow(r, o, ImageOperands_Lod | ImageOperands_Sample)
    if (_dim(r, image) == image_ms) != (o.sample != 0):
        fail(r, r.word, "an access names a sample of multisampled images alone")
    if o.lod and _dim(r, image) in (image_ms, image_buffer):
        fail(r, r.word, "the level of an image that has only one")
    if (o.sample and components_of(r, o.sample) != 1) or (o.lod and components_of(r, o.lod) != 1):
        fail(r, r.word, "a sample or level that is not a scalar")
    _widen_integers(r, o)
    if o.sample == 0:
        o.sample = undefined(&r.nir, 1, 32)
    if o.lod == 0:
        o.lod = integer(r, 0, 32)
    return 0


cdef int _read(Reader r, uint32_t word, uint32_t end, bint sparse) except -1 nogil:
    cdef TypeId type = _texel_type(r, word, sparse)
    cdef ValueId image = _handle(r, r.words[word + 3], type_image, type_image)
    cdef ValueId[4] values
    cdef ValueId row
    cdef Operands o
    _note_non_uniform(r, r.words[word + 3], image)
    _image_operands(r, image, word + 5, end, &o)
    values[0] = image
    values[1] = _image_coordinate(r, image, r.words[word + 4])
    values[2] = o.sample
    values[3] = o.lod
    row = _image_intrinsic(r, intrinsic_image_deref_sparse_load if sparse else intrinsic_image_deref_load, 4 + sparse,
                           _moved_bits(r, type, sparse), values, o.access)
    intrinsic_set_index(r.s, row, index_dest_type, <int>(_texel_base(r, type, &o) << 8 | <uint32_t>_moved_bits(r, type, sparse)))
    return _set_texel(r, word, type, row, sparse)


cdef ValueId _four(Reader r, ValueId value) except 0 nogil:
    """A texel to be written, filled up with undefined components."""
    cdef ValueId[4] values
    cdef uint32_t count = components_of(r, value)
    cdef uint32_t i
    if count == 4:
        return value
    for i in range(4):
        values[i] = component(&r.nir, value, i) if i < count else undefined(&r.nir, 1, bits_of(r, value))
    return vector_of(&r.nir, values, 4)


cdef int _write(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef ValueId image = _handle(r, r.words[word + 1], type_image, type_image)
    cdef TypeId type = value_type(r, r.words[word + 3])
    cdef ValueId[5] values
    cdef ValueId row
    cdef Operands o
    _note_non_uniform(r, r.words[word + 1], image)
    if not type_int <= r.s.types.base[type] <= type_float or r.s.types.components[type] > 4:
        fail(r, word, "a texel that is not a number or a vector of up to four")
    _check_texel_bits(r, word, type)
    _image_operands(r, image, word + 4, end, &o)
    values[0] = image
    values[1] = _image_coordinate(r, image, r.words[word + 2])
    values[2] = o.sample
    values[3] = _four(r, ssa(r, r.words[word + 3]))
    values[4] = o.lod
    row = _image_intrinsic(r, intrinsic_image_deref_store, 0, 0, values, o.access)
    intrinsic_set_index(r.s, row, index_src_type, <int>(_texel_base(r, type, &o) << 8 | r.s.types.bit_size[type]))
    return 0


# --------------------------------------------------------------------------------------------------------------- atomics
cdef int _texel_pointer(Reader r, uint32_t word) except -1 nogil:
    cdef SpirvId id = r.words[word + 2]
    cdef TypeId pointer = type_of_id(r, r.words[word + 1])
    cdef ValueId image = _required_deref(r, pointer_of(r, r.words[word + 3]))
    cdef Texel texel
    if r.s.types.base[r.s.instructions.type[image]] != type_image:
        fail(r, word, "a pointer to a texel of what is no storage image")
    if r.s.types.base[pointer] != type_pointer or r.types[pointer].storage_class != StorageClass_Image:
        fail(r, word, "a pointer to a texel that is not of storage class Image")
    texel.image = image
    texel.type = r.s.types.element[pointer]
    if not type_int <= r.s.types.base[texel.type] <= type_float or r.s.types.components[texel.type] != 1 or \
            r.s.types.bit_size[texel.type] < 32:
        unsupported(r, word, "pointers to texels that are not one number of 32 or 64 bits")
    texel.coordinate = _image_coordinate(r, image, r.words[word + 4])
    texel.sample = ssa(r, r.words[word + 5])
    if components_of(r, texel.sample) != 1 or bits_of(r, texel.sample) != 32:
        fail(r, word, "a sample that is not a 32-bit integer")
    if _dim(r, image) != image_ms:
        texel.sample = undefined(&r.nir, 1, 32)
    _note_non_uniform(r, id, image)
    r.texels.push_back(texel)
    r.kind[id] = kind_texel
    r.payload[id] = <uint32_t>(r.texels.size() - 1)
    return 0


cdef int _type_code(Reader r, TypeId type) noexcept nogil:
    return r.s.types.base[type] << 8 | r.s.types.bit_size[type]


cdef ValueId texel_load(Reader r, const Texel *texel, uint32_t access) except 0 nogil:
    cdef ValueId row = _image_intrinsic(r, intrinsic_image_deref_load, 4, r.s.types.bit_size[texel.type],
                                        [texel.image, texel.coordinate, texel.sample, integer(r, 0, 32)], access)
    intrinsic_set_index(r.s, row, index_dest_type, _type_code(r, texel.type))
    return component(&r.nir, row, 0)


cdef int texel_store(Reader r, const Texel *texel, ValueId value, uint32_t access) except -1 nogil:
    cdef ValueId row = _image_intrinsic(r, intrinsic_image_deref_store, 0, 0,
                                        [texel.image, texel.coordinate, texel.sample, _four(r, value), integer(r, 0, 32)], access)
    intrinsic_set_index(r.s, row, index_src_type, _type_code(r, texel.type))
    return 0


cdef ValueId texel_atomic(Reader r, const Texel *texel, int op, ValueId compare, ValueId data) except 0 nogil:
    cdef ValueId row
    cdef int bits = bits_of(r, data)
    if compare:
        row = _image_intrinsic(r, intrinsic_image_deref_atomic_swap, 1, bits,
                               [texel.image, texel.coordinate, texel.sample, compare, data], access_coherent)
    else:
        row = _image_intrinsic(r, intrinsic_image_deref_atomic, 1, bits, [texel.image, texel.coordinate, texel.sample, data], access_coherent)
    intrinsic_set_index(r.s, row, index_atomic_op, op)
    return row


# ---------------------------------------------------------------------------------------------------------- instructions
cdef int _resident(Reader r, uint32_t word) except -1 nogil:
    cdef ValueId code = ssa(r, r.words[word + 3])
    if components_of(r, code) != 1 or bits_of(r, code) != 32:
        fail(r, word, "a residency code that is not a 32-bit integer")
    return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_is_sparse_texels_resident, 1, 1, &code))


cdef int _read_or_write(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    if opcode == OpImageFetch or opcode == OpImageSparseFetch:
        _fetch(r, word, end, opcode == OpImageSparseFetch)
    elif opcode == OpImageGather or opcode == OpImageSparseGather:
        _gather(r, word, end, False, opcode == OpImageSparseGather)
    elif opcode == OpImageDrefGather or opcode == OpImageSparseDrefGather:
        _gather(r, word, end, True, opcode == OpImageSparseDrefGather)
    elif opcode == OpImageRead or opcode == OpImageSparseRead:
        _read(r, word, end, opcode == OpImageSparseRead)
    elif opcode == OpImageWrite:
        _write(r, word, end)
    elif opcode == OpFragmentMaskFetchAMD or opcode == OpFragmentFetchAMD:
        _fetch_fragment(r, word, opcode == OpFragmentMaskFetchAMD)
    else:
        return 0
    return 1


cdef int image_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    if OpImageSampleImplicitLod <= opcode <= OpImageSampleProjDrefExplicitLod:
        _sample(r, word, end, opcode - OpImageSampleImplicitLod, False)
    elif OpImageSparseSampleImplicitLod <= opcode <= OpImageSparseSampleDrefExplicitLod:
        _sample(r, word, end, opcode - OpImageSparseSampleImplicitLod, True)
    elif opcode == OpSampledImage:
        _join(r, word)
    elif opcode == OpImage:
        _texture_of(r, word)
    elif opcode == OpImageQuerySize:
        _query_size(r, word)
    elif opcode == OpImageQuerySizeLod:
        _query(r, word, tex_txs, resize_integer(r, ssa(r, r.words[word + 4]), 32, False))
    elif opcode == OpImageQueryLod:
        _query_lod(r, word)
    elif opcode == OpImageQueryLevels:
        _query(r, word, tex_query_levels, 0)
    elif opcode == OpImageQuerySamples:
        _query_samples(r, word)
    elif opcode == OpImageTexelPointer:
        _texel_pointer(r, word)
    elif opcode == OpImageSparseTexelsResident:
        _resident(r, word)
    else:
        return _read_or_write(r, word, end, opcode)
    return 1
