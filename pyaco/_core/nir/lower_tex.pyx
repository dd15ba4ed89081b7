"""Texture instructions in terms of those that the hardware has.

Needs: nothing. Guarantees: no projector is left; coordinates, levels, biases and, before GFX10, gradients have 16 or 32 bits together,
references 32; no implicit level of detail where there are no derivatives (compute shaders without derivative groups read level 0, and
``lod`` is zero); fetches have no offset, gathers no four offsets; layers are whole numbers; coordinates of cubes are s, t and the face,
plus eight times the layer, derivatives those of s and t, and no cube is called an array. A residency code is compared with zero, which
says that all texels were resident. Without fragment masks the mask is the one of images whose samples stand in order, and no samples are known to be
identical; with them (``fragment_masks`` of the pipeline layout, where chips have FMASK) ``txf_ms`` becomes a fetch of the mask and of the
fragment that it names, four bits for each sample.

Sources: AMD RDNA2 ISA, section 8.2.4 "Image addressing: cube maps" (s and t from 1 to 2, V_CUBE*); Vulkan specification, sections
16.5.2 "Projection operation", 16.5.4 "Cube map face selection", 16.7 "Array layer"; Mesa's ``nir_lower_tex`` for what
is asked of NIR; SPV_AMD_shader_fragment_mask (the bits of a mask). Derivatives across a face follow by the quotient rule.
"""
from libc.stdint cimport uint32_t, uint64_t

from features cimport has_fmask, has_half_coordinates

from nir_opcodes cimport (
    alu_bcsel, alu_cube_amd, alu_f2f32, alu_fabs, alu_fdiv, alu_ffma, alu_fge, alu_flt, alu_fmul, alu_fneg, alu_frcp,
    alu_fround_even, alu_iadd, alu_ieq, alu_ior, alu_ishl, alu_u2u16, alu_u2u32, alu_ubfe, image_coordinates,
    intrinsic_is_sparse_texels_resident, tex_fragment_fetch_amd, tex_fragment_mask_fetch_amd, tex_lod, tex_needed_sources,
    tex_samples_identical, tex_source_bias, tex_source_comparator, tex_source_coord, tex_source_ddx, tex_source_ddy,
    tex_source_lod, tex_source_min_lod, tex_source_ms_index, tex_source_offset, tex_source_projector, tex_tex, tex_tg4, tex_txb,
    tex_txf, tex_txf_ms, tex_txl,
)
from pyaco._core.ir.compilation cimport Compilation
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, component, constant, constant_vector, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx10
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, derivatives_none, image_buffer, image_cube, image_is_array, nir_intrinsic, nir_tex, source_value,
    stage_fragment, texture_cube_face, texture_implicit_lod, texture_is_sparse, type_uint,
)
from pyaco._core.nir.lowering cimport Lowering, constant_float, lower_intrinsics, lower_keep, lower_textures, lowering_run
from pyaco._core.nir.texture_edit cimport (
    TextureEdit, texture_emit, texture_read, texture_remove_source, texture_set_source, texture_source,
)


cdef enum:
    tc, sc, ma, face              # components of cube_amd; ma is twice the coordinate along the major axis

cdef enum:
    samples_in_order = 0x76543210     # a fragment mask: four bits for each sample


cdef inline bint _reads_texels(int opcode) noexcept nogil:
    """Whether coordinates are whole texels."""
    return opcode in (tex_txf, tex_txf_ms, tex_fragment_fetch_amd, tex_fragment_mask_fetch_amd, tex_samples_identical)


cdef inline bint _has_derivatives(const ShaderData *s) noexcept nogil:
    return s.info.stage == stage_fragment or s.info.derivative_group != derivatives_none


cdef inline ValueId _number(Lowering *b, double value) except? 0xffffffffU nogil:
    return constant_float(b, value, 32)


cdef ValueId _with_component(Lowering *b, ValueId value, uint32_t position, ValueId scalar) except? 0xffffffffU nogil:
    """A vector with another value at a position, which may be its end."""
    cdef ValueId[5] parts
    cdef uint32_t count = b.s.instructions.components[value]
    cdef uint32_t i
    for i in range(count):
        parts[i] = component(b, value, i)
    parts[position] = scalar
    return vector_of(b, parts, count + 1 if position == count else count)


# ----------------------------------------------------------------------------------------------------------------- sizes
cdef ValueId _widened(Lowering *b, ValueId value) except? 0xffffffffU nogil:
    return alu1(b, alu_f2f32, value)


cdef bint _stands_in_address(const Lowering *b, int kind) noexcept nogil:
    """Whether a source has the size of the coordinates."""
    if kind == tex_source_ddx or kind == tex_source_ddy:
        return b.s.info.gfx_level < gfx10
    return kind in (tex_source_coord, tex_source_lod, tex_source_bias, tex_source_min_lod)


cdef bint _stay_narrow(const Lowering *b, const TextureEdit *t) noexcept nogil:
    """Whether the address may have 16 bits: what is computed here has 32, and what stands together has one size."""
    cdef uint32_t i
    if not has_half_coordinates(b.s.info.gfx_level):
        return False
    if t.dim == image_cube or t.dim == image_buffer or texture_source(t, tex_source_projector):
        return False
    for i in range(t.count):
        if b.s.instructions.bit_size[t.value[i]] != 16 and _stands_in_address(b, t.kind[i]):
            return False
    return True


cdef int _one_size(Lowering *b, TextureEdit *t) except -1 nogil:
    """Widen the floats of an address that are smaller than others; those of fetches are integers, which the reader has made wide."""
    cdef bint narrow
    cdef bint gradient
    cdef int changed = 0
    cdef uint32_t i
    if _reads_texels(t.opcode):
        return 0
    narrow = _stay_narrow(b, t)
    for i in range(t.count):
        if b.s.instructions.bit_size[t.value[i]] != 16:
            continue
        gradient = t.kind[i] == tex_source_ddx or t.kind[i] == tex_source_ddy
        if narrow and t.kind[i] != tex_source_comparator:
            continue
        if gradient and t.dim != image_cube and b.s.info.gfx_level >= gfx10:
            continue
        t.value[i] = _widened(b, t.value[i])
        changed = 1
    return changed


# ----------------------------------------------------------------------------------------------------------------- rules
cdef int _project(Lowering *b, TextureEdit *t) except -1 nogil:
    """Divide coordinates and reference by the projector."""
    cdef ValueId divisor = texture_source(t, tex_source_projector)
    cdef ValueId coordinate = texture_source(t, tex_source_coord)
    cdef ValueId reference = texture_source(t, tex_source_comparator)
    cdef ValueId[5] parts
    cdef uint32_t i
    if divisor == 0:
        return 0
    for i in range(b.s.instructions.components[coordinate]):
        parts[i] = component(b, coordinate, i)
        if i < image_coordinates[t.dim]:       # a layer stays
            parts[i] = alu2(b, alu_fdiv, parts[i], divisor)
    texture_set_source(t, tex_source_coord, vector_of(b, parts, b.s.instructions.components[coordinate]))
    if reference:
        texture_set_source(t, tex_source_comparator, alu2(b, alu_fdiv, reference, divisor))
    texture_remove_source(t, tex_source_projector)
    return 1


cdef int _explicit_level(Lowering *b, TextureEdit *t) except -1 nogil:
    """Without derivatives the level of detail is 0, or the least that is asked for."""
    cdef ValueId least = texture_source(t, tex_source_min_lod)
    if t.opcode == tex_tg4 and t.texture_flags & texture_implicit_lod and not _has_derivatives(b.s):
        texture_remove_source(t, tex_source_bias)
        t.texture_flags ^= texture_implicit_lod
        return 1
    if t.opcode not in (tex_tex, tex_txb) or _has_derivatives(b.s):
        return 0
    texture_remove_source(t, tex_source_bias)
    texture_remove_source(t, tex_source_min_lod)
    texture_set_source(t, tex_source_lod,
                       least if least else constant_float(b, 0, b.s.instructions.bit_size[texture_source(t, tex_source_coord)]))
    t.opcode = tex_txl
    return 1


cdef int _fetch_offset(Lowering *b, TextureEdit *t) except -1 nogil:
    cdef ValueId offset = texture_source(t, tex_source_offset)
    cdef ValueId coordinate = texture_source(t, tex_source_coord)
    cdef ValueId[5] parts
    cdef uint32_t i
    if offset == 0 or not _reads_texels(t.opcode):
        return 0
    for i in range(b.s.instructions.components[coordinate]):
        parts[i] = component(b, coordinate, i)
        if i < image_coordinates[t.dim]:
            parts[i] = alu2(b, alu_iadd, parts[i], component(b, offset, i))
    texture_set_source(t, tex_source_coord, vector_of(b, parts, b.s.instructions.components[coordinate]))
    texture_remove_source(t, tex_source_offset)
    return 1


cdef int _round_layer(Lowering *b, TextureEdit *t) except -1 nogil:
    cdef ValueId coordinate = texture_source(t, tex_source_coord)
    cdef uint32_t last
    if not t.image_flags & image_is_array or t.dim == image_cube or _reads_texels(t.opcode):
        return 0
    last = b.s.instructions.components[coordinate] - 1
    texture_set_source(t, tex_source_coord,
                       _with_component(b, coordinate, last, alu1(b, alu_fround_even, component(b, coordinate, last))))
    return 1


# ----------------------------------------------------------------------------------------------------------------- cubes
cdef ValueId _pick(Lowering *b, ValueId is_y, ValueId is_z, ValueId x, ValueId y, ValueId z) except? 0xffffffffU nogil:
    """By the axis of a face."""
    return alu3(b, alu_bcsel, is_z, z, alu3(b, alu_bcsel, is_y, y, x))


cdef ValueId _cube_derivative(Lowering *b, ValueId derivative, ValueId direction, ValueId cube, ValueId inverse) except? 0xffffffffU nogil:
    """The derivatives of s = sc / |ma| and t = tc / |ma| from that of the direction."""
    cdef ValueId is_z = alu2(b, alu_fge, component(b, cube, face), _number(b, 4))
    cdef ValueId is_y = alu2(b, alu_fge, component(b, cube, face), _number(b, 2))     # where it is not z
    cdef ValueId x = component(b, derivative, 0)
    cdef ValueId y = component(b, derivative, 1)
    cdef ValueId z = component(b, derivative, 2)
    cdef ValueId major = _pick(b, is_y, is_z, component(b, direction, 0), component(b, direction, 1), component(b, direction, 2))
    cdef ValueId sign = alu3(b, alu_bcsel, alu2(b, alu_flt, major, _number(b, 0)), _number(b, -1), _number(b, 1))
    cdef ValueId opposite = alu1(b, alu_fneg, sign)
    cdef ValueId d_sc = _pick(b, is_y, is_z, alu2(b, alu_fmul, opposite, z), x, alu2(b, alu_fmul, sign, x))
    cdef ValueId minus_y = alu1(b, alu_fneg, y)
    cdef ValueId d_tc = _pick(b, is_y, is_z, minus_y, alu2(b, alu_fmul, sign, z), minus_y)
    cdef ValueId d_ma = alu2(b, alu_fmul, alu2(b, alu_fmul, _pick(b, is_y, is_z, x, y, z), sign), _number(b, -2))
    cdef ValueId[2] parts
    parts[0] = alu2(b, alu_fmul, component(b, cube, sc), inverse)
    parts[1] = alu2(b, alu_fmul, component(b, cube, tc), inverse)
    parts[0] = alu2(b, alu_fmul, alu3(b, alu_ffma, parts[0], d_ma, d_sc), inverse)
    parts[1] = alu2(b, alu_fmul, alu3(b, alu_ffma, parts[1], d_ma, d_tc), inverse)
    return vector_of(b, parts, 2)


cdef int _face_of_cube(Lowering *b, TextureEdit *t) except -1 nogil:
    cdef ValueId coordinate = texture_source(t, tex_source_coord)
    cdef ValueId[3] parts
    cdef ValueId direction, cube, inverse, layer, value
    cdef uint32_t i, kind
    if t.dim != image_cube or coordinate == 0 or _reads_texels(t.opcode) or t.texture_flags & texture_cube_face:
        return 0
    for i in range(3):
        parts[i] = component(b, coordinate, i)
    direction = vector_of(b, parts, 3)
    cube = alu1(b, alu_cube_amd, direction)
    inverse = alu1(b, alu_frcp, alu1(b, alu_fabs, component(b, cube, ma)))
    for i in range(2):
        kind = tex_source_ddx if i == 0 else tex_source_ddy
        value = texture_source(t, kind)
        if value:
            texture_set_source(t, kind, _cube_derivative(b, value, direction, cube, inverse))
    parts[0] = alu3(b, alu_ffma, component(b, cube, sc), inverse, _number(b, 1.5))
    parts[1] = alu3(b, alu_ffma, component(b, cube, tc), inverse, _number(b, 1.5))
    parts[2] = component(b, cube, face)
    if t.image_flags & image_is_array:
        layer = alu1(b, alu_fround_even, component(b, coordinate, 3))
        parts[2] = alu3(b, alu_ffma, layer, _number(b, 8), parts[2])
        t.image_flags &= ~<int>image_is_array
    t.texture_flags |= texture_cube_face
    texture_set_source(t, tex_source_coord, vector_of(b, parts, 3))
    return 1


# --------------------------------------------------------------------------------------------------------------- gathers
cdef ValueId _four_gathers(Lowering *b, TextureEdit *t) except? 0xffffffffU nogil:
    """A gather with an offset for each texel: the texel of the lowest coordinates of four gathers, which is the last component."""
    cdef uint64_t packed = t.offsets
    cdef ValueId[5] parts
    cdef uint64_t[2] offset
    cdef ValueId gathered
    cdef bint sparse = (t.texture_flags & texture_is_sparse) != 0
    cdef uint32_t i, k
    t.offsets = 0
    for i in range(4):
        for k in range(2):
            offset[k] = <uint32_t><int><signed char>(packed >> (16 * i + 8 * k))
        texture_set_source(t, tex_source_offset, constant_vector(b, offset, 2, 32))
        gathered = texture_emit(b, t)
        parts[i] = component(b, gathered, 3)
        if sparse:                     # all are resident where no code has a bit set
            parts[4] = alu2(b, alu_ior, parts[4], component(b, gathered, 4)) if i else component(b, gathered, 4)
    return vector_of(b, parts, 4 + sparse)


# ------------------------------------------------------------------------------------------------------- fragment masks
cdef ValueId _fragment_mask(Lowering *b, const TextureEdit *t) except? 0xffffffffU nogil:
    cdef TextureEdit fetch = t[0]
    texture_remove_source(&fetch, tex_source_ms_index)
    fetch.opcode = tex_fragment_mask_fetch_amd
    fetch.components = 1
    fetch.bit_size = 32
    fetch.base = type_uint
    fetch.texture_flags &= ~<int>texture_is_sparse
    return texture_emit(b, &fetch)


cdef int _fetch_fragment(Lowering *b, TextureEdit *t) except -1 nogil:
    """The fragment that has a sample's colour. A mask's fourth bit says that none has it; what is read then is undefined."""
    cdef ValueId sample = texture_source(t, tex_source_ms_index)
    cdef int bits = b.s.instructions.bit_size[sample]
    cdef ValueId first = alu2_constant(b, alu_ishl, alu1(b, alu_u2u32, sample) if bits == 16 else sample, 2)
    cdef ValueId fragment = alu3(b, alu_ubfe, _fragment_mask(b, t), first, constant(b, 3, 32))
    texture_set_source(t, tex_source_ms_index, alu1(b, alu_u2u16, fragment) if bits == 16 else fragment)
    t.opcode = tex_fragment_fetch_amd
    return 1


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef bint has_masks = (<bint *>b.context)[0]
    cdef TextureEdit t
    cdef int changed
    cdef uint64_t[2] zeros
    if s.instructions.kind[instruction] == nir_intrinsic and s.instructions.opcode[instruction] == intrinsic_is_sparse_texels_resident:
        return alu2_constant(b, alu_ieq, source_value(s, instruction, 0), 0)
    if s.instructions.kind[instruction] != nir_tex:
        return lower_keep
    texture_read(s, instruction, &t)
    if not (tex_needed_sources[t.opcode] >> <uint32_t>tex_source_coord) & 1:
        return lower_keep
    if t.opcode == tex_lod and not _has_derivatives(s):
        zeros[0] = zeros[1] = 0
        return constant_vector(b, zeros, 2, 32)
    if t.opcode == tex_fragment_mask_fetch_amd and not has_masks:
        return constant(b, samples_in_order, 32)
    if t.opcode == tex_samples_identical:
        return alu2_constant(b, alu_ieq, _fragment_mask(b, &t), 0) if has_masks else constant(b, 0, 1)
    changed = _one_size(b, &t)
    if t.opcode == tex_lod and t.image_flags & image_is_array:
        t.image_flags &= ~<int>image_is_array              # its coordinates have no layer
        changed = 1
    changed |= _project(b, &t)
    changed |= _explicit_level(b, &t)
    changed |= _fetch_offset(b, &t)
    if t.opcode == tex_txf_ms and has_masks:
        changed |= _fetch_fragment(b, &t)
    changed |= _round_layer(b, &t)
    changed |= _face_of_cube(b, &t)
    if t.opcode == tex_tg4 and t.offsets:
        return _four_gathers(b, &t)
    return texture_emit(b, &t) if changed else lower_keep


cdef int _run(ShaderData *s, bint fragment_masks) except -1 nogil:
    cdef bint has_masks = fragment_masks and has_fmask(s.info.gfx_level)
    return lowering_run(s, lower_textures | lower_intrinsics, _lower, &has_masks)


cdef int _run_in_compilation(void *ir, int option) except -1 nogil:
    cdef Compilation *compilation = <Compilation *>ir
    return _run(compilation.shader, compilation.fragment_masks)


compilation_kernel = native_kernel(_run_in_compilation)


def run(Shader shader not None, options=None):
    """Lower texture instructions."""
    layout = shader.facts.known.get("pipeline_layout")
    cdef bint fragment_masks = layout is not None and layout.fragment_masks
    cdef bint progress
    with nogil:
        progress = _run(&shader.data, fragment_masks)
    return progress
