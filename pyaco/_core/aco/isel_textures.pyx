"""Instruction selection of texture instructions: samples, gathers, fetches.

What a sample does is in its opcode's name: ``image_sample_c_d_cl_o_g16`` compares, has gradients, clamps the level, adds offsets, and its
gradients have 16 bits. A table by these properties, filled from the names, gives the opcode; the same properties give the address: offsets,
bias, reference, gradients, coordinates with sample and level, in that order. Projection, offsets of fetches, coordinates of cubes, layers
that must be rounded, and all that queries descriptors are lowered in NIR.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4): "Image Sample", order of addresses, packing of 16 bits; ACO's ``visit_tex``
for workarounds: GFX9 has no 1D surfaces and samples the middle of a 2D one; its gathers of 16 bits are checked as if they wrote a
register per texel (LLVM: FeatureImageGather4D16Bug).
"""
import re

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from features cimport has_fmask, has_surfaces_1d
from isa_opcodes cimport *
from modifiers cimport (
    modifier_set_a16, modifier_set_d16, modifier_set_dim, modifier_set_dmask, modifier_set_image_tfe, modifier_set_unrm,
)
from nir_opcodes cimport *

from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.isel_images cimport *
from pyaco._core.ir.program cimport Operand, TempId, class_v4, gfx10, gfx9, operand_undefined
from pyaco._core.ir.shader cimport (
    ValueId, constant_bits, image_1d, image_buffer, image_cube, image_is_array, image_is_shadow, image_ms, image_rect, image_subpass_ms,
    source_value, texture_implicit_lod, texture_is_sparse, type_float, type_int, type_uint, value_is_constant,
)
from pyaco.isa import opcodes as _opcodes

cdef enum:                        # properties of a sample, which number its opcode in the table
    level_implicit = 0
    level_gradients = 1
    level_given = 2
    level_biased = 3
    level_zero = 4
    level_mask = 7
    compares = 8
    clamps_level = 0x10
    has_offset = 0x20
    half_gradients = 0x40
    gathers = 0x80

cdef uint16_t[256] _samples
memset(_samples, 0, sizeof(_samples))
_LEVELS = {None: level_implicit, "_d": level_gradients, "_l": level_given, "_b": level_biased, "_lz": level_zero}
for _name, _number in _opcodes.numbers().items():
    _match = re.fullmatch("image_(sample|gather4)(_c)?(_d|_l|_b|_lz)?(_cl)?(_o)?(_g16)?", _name)
    if _match:
        _key = _LEVELS[_match[3]] | (gathers if _match[1] == "gather4" else 0)
        for _group, _property in enumerate((compares, None, clamps_level, has_offset, half_gradients), 2):
            _key |= _property if _property and _match[_group] else 0
        _samples[_key] = _number

cdef enum:                        # sources that are lowered before
    lowered_sources = (1 << <int>tex_source_projector | 1 << <int>tex_source_texture_deref | 1 << <int>tex_source_sampler_deref
                       | 1 << <int>tex_source_texture_offset | 1 << <int>tex_source_sampler_offset | 1 << <int>tex_source_plane
                       | 1 << <int>tex_source_backend1 | 1 << <int>tex_source_backend2)
    middle_of_texel32 = 0x3f000000
    middle_of_texel16 = 0x3800
    minus_half = 0xbf000000

cdef uint8_t[3] _after_coordinates
_after_coordinates = [tex_source_ms_index, tex_source_lod, tex_source_min_lod]

# A texture instruction of NIR, taken apart.
cdef struct Texture:
    ValueId instruction
    uint32_t opcode               # tex_*
    uint32_t dim                  # image_*
    uint32_t properties           # of a sample
    uint32_t bits                 # of coordinates, samples, levels
    bint is_array
    bint is_sparse
    bint widened                  # 1D, as 2D
    TempId resource
    ValueId[32] source            # by tex_source_*; 0: none


cdef inline const char *_texture_name(const Texture *t) noexcept nogil:
    return tex_names[t.opcode]


# ----------------------------------------------------------------------------------------------------- what is asked for
cdef int _read(Isel *c, ValueId i, Texture *t) except -1 nogil:
    cdef uint32_t row = c.s.instructions.data[i]
    cdef uint32_t k
    cdef uint32_t kind
    memset(t, 0, sizeof(Texture))
    t.instruction = i
    t.opcode = c.s.instructions.opcode[i]
    t.dim = c.s.textures.dim[row]
    t.is_array = (c.s.textures.image_flags[row] & image_is_array) != 0
    t.is_sparse = (c.s.textures.flags[row] & texture_is_sparse) != 0
    t.widened = t.dim == image_1d and not has_surfaces_1d(c.gfx)
    for k in range(c.s.instructions.source_count[i]):
        kind = <uint32_t>c.s.sources.swizzle[c.s.instructions.source_first[i] + k]
        if lowered_sources >> kind & 1:
            unsupported(c, b"before it is lowered, a texture instruction's source", tex_source_names[kind])
        t.source[kind] = source_value(c.s, i, k)
        if kind == tex_source_texture_handle:
            t.resource = image_handle(c, i, k)
    if t.resource == 0 or t.source[<int>tex_source_coord] == 0:
        unsupported(c, b"a texture instruction that is not lowered,", _texture_name(t))
    if c.s.textures.offsets[row]:
        unsupported(c, b"an offset for each texel in", _texture_name(t))
    t.bits = c.s.instructions.bit_size[t.source[<int>tex_source_coord]]
    if t.bits != 16 and t.bits != 32:
        unsupported(c, b"coordinates that have neither 16 nor 32 bits in", _texture_name(t))
    return 0


cdef bint _is_zero_level(Isel *c, const Texture *t) noexcept nogil:
    cdef ValueId lod = t.source[<int>tex_source_lod]
    return lod != 0 and value_is_constant(c.s, lod) and constant_bits(c.s, lod, 0) == 0


cdef void _find_properties(Isel *c, Texture *t) noexcept nogil:
    """Which sample or gather it is."""
    cdef uint32_t row = c.s.instructions.data[t.instruction]
    cdef uint32_t level = level_implicit
    if t.source[<int>tex_source_ddx]:
        level = level_gradients
    elif t.source[<int>tex_source_lod]:
        level = level_zero if _is_zero_level(c, t) else level_given
    elif t.source[<int>tex_source_bias]:
        level = level_biased
    elif t.opcode == tex_tg4 and not c.s.textures.flags[row] & texture_implicit_lod:
        level = level_zero
    t.properties = level
    if t.opcode == tex_tg4:
        t.properties |= gathers
    if t.source[<int>tex_source_comparator] and c.s.textures.image_flags[row] & image_is_shadow:
        t.properties |= compares
    if t.source[<int>tex_source_min_lod]:
        t.properties |= clamps_level
    if t.source[<int>tex_source_offset]:
        t.properties |= has_offset
    if level == level_gradients and c.gfx >= gfx10 and c.s.instructions.bit_size[t.source[<int>tex_source_ddx]] == 16:
        t.properties |= half_gradients


# ------------------------------------------------------------------------------------------------------------- addresses
cdef TempId _offsets(Isel *c, ValueId value) except 0 nogil:
    """The offsets of a texel in one dword: six bits in each byte."""
    cdef uint32_t constant = 0
    cdef TempId packed = 0
    cdef TempId piece
    cdef ValueId source
    cdef uint32_t component
    cdef uint32_t k
    cdef TempId whole = value_temp(c, value)
    cdef bint vector_alu = is_vgpr(c, whole)
    for k in range(c.s.instructions.components[value]):
        source, component = value, k
        resolve_component(c, &source, &component)
        if value_is_constant(c.s, source):
            constant |= (<uint32_t>constant_bits(c.s, source, component) & 0x3f) << (8 * k)
            continue
        piece = emit2(c, op_v_and_b32 if vector_alu else op_s_and_b32, 0, K(0x3f), T(c, part(c, whole, k, 4)))
        if k and vector_alu:
            piece = emit2(c, op_v_lshlrev_b32, 0, K(8 * k), T(c, piece))
        elif k:
            piece = emit2(c, op_s_lshl_b32, 0, T(c, piece), K(8 * k))
        packed = piece if packed == 0 else emit2(c, op_v_or_b32 if vector_alu else op_s_or_b32, 0, T(c, packed), T(c, piece))
    if packed == 0:
        return copy(c, 0, vgpr_class(4), K(constant))
    if constant:
        return emit2(c, op_v_or_b32 if vector_alu else op_s_or_b32, 0, K(constant), T(c, packed))
    return packed


cdef int _append(Isel *c, const Texture *t, ValueId value, uint32_t bits, vector[Operand] &address) except -1 nogil:
    """A source that begins with a dword of its own."""
    cdef AddressPart whole
    if value == 0:
        return 0
    if c.s.instructions.bit_size[value] != bits:
        unsupported(c, b"sources of other sizes than the coordinates in", _texture_name(t))
    whole = value_part(value, 0, c.s.instructions.components[value])
    return pack_address(c, &whole, 1, bits, address)


cdef int _gradient(Isel *c, const Texture *t, ValueId value, vector[Operand] &address) except -1 nogil:
    cdef AddressPart[2] parts
    cdef uint32_t bits = c.s.instructions.bit_size[value]
    if bits != t.bits and c.gfx < gfx10:
        unsupported(c, b"on this gfx level, gradients and coordinates of different sizes in", _texture_name(t))
    if bits != 16 and bits != 32:
        unsupported(c, b"gradients that have neither 16 nor 32 bits in", _texture_name(t))
    if t.dim == image_cube and c.s.instructions.components[value] != 2:
        unsupported(c, b"gradients that are not those of a cube's face in", _texture_name(t))
    parts[0] = value_part(value, 0, c.s.instructions.components[value])
    parts[1] = constant_part(0)
    return pack_address(c, parts, 2 if t.widened else 1, bits, address)


cdef int _coordinates(Isel *c, const Texture *t, bint with_level, vector[Operand] &address) except -1 nogil:
    """Coordinates, then sample, level and lowest level: 16 bits are packed throughout."""
    cdef AddressPart[6] parts
    cdef ValueId coordinates = t.source[<int>tex_source_coord]
    cdef ValueId value
    cdef uint32_t components = c.s.instructions.components[coordinates]
    cdef bint fetches = not tex_flags[t.opcode] & 1
    cdef uint32_t count = 1
    cdef uint32_t k
    parts[0] = value_part(coordinates, 0, components)
    if t.widened:
        parts[0].count = 1
        parts[1] = constant_part(0 if fetches else middle_of_texel32 if t.bits == 32 else middle_of_texel16)
        count = 2
        if components > 1:
            parts[2] = value_part(coordinates, 1, components - 1)
            count = 3
    for k in range(3):
        value = t.source[_after_coordinates[k]]
        if value == 0 or (_after_coordinates[k] == tex_source_lod and not with_level):
            continue
        if c.s.instructions.bit_size[value] != t.bits:
            unsupported(c, b"samples and levels of other sizes than the coordinates in", _texture_name(t))
        parts[count] = value_part(value, 0, 1)
        count += 1
    return pack_address(c, parts, count, t.bits, address)


# ----------------------------------------------------------------------------------------------------------- instructions
cdef int _start_result(Isel *c, const Texture *t, ImageResult *result) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[t.instruction]
    if bits != 32 and (bits != 16 or t.is_sparse or t.opcode == tex_lod):
        unsupported(c, b"a result of this size from", _texture_name(t))
    result.value = t.instruction
    result.temp = 0
    result.components = c.s.instructions.components[t.instruction] - t.is_sparse
    result.mask = components_read(c, t.instruction, result.components)
    result.bytes = bits // 8
    result.is_float = c.s.textures.base[c.s.instructions.data[t.instruction]] == type_float
    result.sparse = t.is_sparse
    return 0


cdef uint64_t _modifiers(Isel *c, const Texture *t, const ImageResult *result, uint32_t dmask) except? 0xffffffffffffffffULL nogil:
    cdef uint64_t word = image_shape(c, 0, t.resource, <uint8_t>t.dim, t.is_array, False)
    word = modifier_set_image_tfe(modifier_set_dmask(word, dmask), t.is_sparse)
    return modifier_set_d16(modifier_set_a16(word, t.bits == 16), narrow_data(c, 8 * result.bytes))


cdef TempId _scalar_field(Isel *c, TempId word, uint32_t first, uint32_t bits) except 0 nogil:
    return emit2(c, op_s_bfe_u32, 0, T(c, word), K(first | bits << 16))


cdef int _shift_gather(Isel *c, const Texture *t, TempId sampler, vector[Operand] &address, uint32_t first) except -1 nogil:
    """Up to GFX8 the hardware does not filter integers, so that a gather begins half a texel further than filters do: subtract that from the
    two coordinates at `first`, in texels or in parts of the size."""
    cdef TempId size_word = part(c, t.resource, 2, 4)
    cdef TempId level = _scalar_field(c, part(c, t.resource, 3, 4), 12, 4)
    cdef TempId in_texels = 0
    cdef TempId half
    cdef TempId size
    cdef uint32_t k
    if t.dim != image_rect:
        in_texels = scc_to_mask(c, 0, emit2(c, op_s_bitcmp1_b32, 0, T(c, part(c, sampler, 0, 4)), K(15)))
    for k in range(2):
        half = 0
        if t.dim != image_rect:
            size = emit2(c, op_s_add_u32, 0, T(c, _scalar_field(c, size_word, 14 * k, 14)), K(1))
            size = emit2(c, op_s_max_u32, 0, T(c, emit2(c, op_s_lshr_b32, 0, T(c, size), T(c, level))), K(1))
            half = emit1(c, op_v_rcp_iflag_f32, 0, T(c, emit1(c, op_v_cvt_f32_u32, 0, T(c, size))))
            half = emit2(c, op_v_mul_f32, 0, K(minus_half), T(c, half))
            half = emit3(c, op_v_cndmask_b32, 0, T(c, half), K(minus_half), T(c, in_texels))
        address[first + k] = T(c, emit2(c, op_v_add_f32, 0, T(c, half) if half else K(minus_half), address[first + k]))
    return 0


cdef int _sample(Isel *c, Texture *t, ImageResult *result) except -1 nogil:
    cdef vector[Operand] address
    cdef Operand data
    cdef uint32_t k
    cdef TempId sampler = 0
    cdef TempId dst
    cdef uint32_t opcode
    cdef uint32_t dmask = result.mask
    _find_properties(c, t)
    for k in range(c.s.instructions.source_count[t.instruction]):
        if c.s.sources.swizzle[c.s.instructions.source_first[t.instruction] + k] == tex_source_sampler_handle:
            sampler = image_handle(c, t.instruction, k)
    opcode = op_image_get_lod if t.opcode == tex_lod else _samples[t.properties]
    if sampler == 0 or opcode == op_invalid:
        unsupported(c, b"a sample that has no opcode or no sampler,", _texture_name(t))
    if t.properties & has_offset:
        address.push_back(T(c, _offsets(c, t.source[<int>tex_source_offset])))
    _append(c, t, t.source[<int>tex_source_bias], t.bits, address)
    if t.properties & compares:
        _append(c, t, t.source[<int>tex_source_comparator], 32, address)
    if t.properties & level_mask == level_gradients:
        _gradient(c, t, t.source[<int>tex_source_ddx], address)
        _gradient(c, t, t.source[<int>tex_source_ddy], address)
    k = address.size()
    _coordinates(c, t, t.properties & level_mask == level_given, address)
    if t.opcode == tex_tg4 and c.gfx < gfx9 and c.s.textures.base[c.s.instructions.data[t.instruction]] in (type_int, type_uint):
        _shift_gather(c, t, sampler, address, k)
    if t.opcode == tex_tg4:
        result.mask = 15
        dmask = 1 if t.properties & compares else 1U << c.s.textures.component[c.s.instructions.data[t.instruction]]
        if result.bytes == 2 and c.gfx < gfx10:
            result.temp = new_temp(c, class_v4)
    dst = begin_result(c, result, &data)
    image_instruction(c, opcode, dst, t.resource, sampler, data, address, modifier_set_unrm(_modifiers(c, t, result, dmask), t.dim == image_rect))
    return finish_result(c, result)


cdef int _fetch(Isel *c, const Texture *t, ImageResult *result) except -1 nogil:
    cdef vector[Operand] address
    cdef Operand data
    cdef TempId dst
    cdef bint with_level = t.source[<int>tex_source_lod] != 0 and not _is_zero_level(c, t) and t.dim != image_ms \
        and t.dim != image_subpass_ms
    if t.source[<int>tex_source_offset]:
        unsupported(c, b"before they are added to the coordinates, offsets of", _texture_name(t))
    _coordinates(c, t, with_level, address)
    dst = begin_result(c, result, &data)
    image_instruction(c, op_image_load_mip if with_level else op_image_load, dst, t.resource, 0, data, address,
                      modifier_set_unrm(_modifiers(c, t, result, result.mask), 1))
    return finish_result(c, result)


cdef int _fetch_from_buffer(Isel *c, const Texture *t, ImageResult *result) except -1 nogil:
    if t.bits != 32:
        unsupported(c, b"indices that do not have 32 bits in", _texture_name(t))
    return texel_load(c, result, t.resource, part(c, value_temp(c, t.source[<int>tex_source_coord]), 0, 4), 0)


cdef int _fetch_fragment_mask(Isel *c, const Texture *t, ImageResult *result) except -1 nogil:
    cdef vector[Operand] address
    cdef TempId loaded = new_temp(c, vgpr_class(4))
    cdef uint64_t word
    if not has_fmask(c.gfx) or t.is_sparse or result.bytes != 4:
        unsupported(c, b"on this gfx level or of this size,", _texture_name(t))
    _coordinates(c, t, False, address)
    # The fragment mask is an image of one sample.
    word = modifier_set_dim(_modifiers(c, t, result, 1), 5 if t.is_array else 1)
    image_instruction(c, op_image_load, loaded, t.resource, 0, operand_undefined(vgpr_class(4)), address, modifier_set_unrm(word, 1))
    return finish_fragment_mask(c, t.instruction, t.resource, loaded)


cdef int select_texture(Isel *c, ValueId i) except -1 nogil:
    cdef Texture t
    cdef ImageResult result
    _read(c, i, &t)
    _start_result(c, &t, &result)
    if t.opcode == tex_fragment_mask_fetch_amd:
        return _fetch_fragment_mask(c, &t, &result)
    if t.dim == image_buffer and t.opcode == tex_txf:
        return _fetch_from_buffer(c, &t, &result)
    if t.opcode in (tex_txf, tex_txf_ms, tex_fragment_fetch_amd):
        return _fetch(c, &t, &result)
    if t.opcode in (tex_tex, tex_txb, tex_txl, tex_txd, tex_tg4, tex_lod):
        return _sample(c, &t, &result)
    return unsupported(c, b"a texture instruction that is not lowered,", _texture_name(&t))
