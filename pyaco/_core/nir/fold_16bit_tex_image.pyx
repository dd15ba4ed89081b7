"""Folds conversions from and to 16 bits into texture and image instructions, whose results and addresses may have 16 bits (D16, A16, G16).

Needs: scalar ALU. Guarantees: nothing; what is folded needs no conversion any more, and ``dce`` removes those that nobody else reads.

- A result has 16 bits where all its users narrow it: ``f2f16`` of floats; ``i2i16`` and ``u2u16`` of integers of a declared format whose
  channels have no more (wider ones would be clamped instead of cut off). Nothing is folded where the module asks for a rounding of halves:
  how the texture unit rounds is its own affair. Residency codes keep their 32 bits.
- Coordinates, level, bias, lowest level and sample have 16 bits together, before GFX10 with the gradients; from then on gradients have them by
  themselves. Each component must be widened from 16 bits, undefined, or a constant that 16 bits hold. Coordinates of cubes are computed,
  indices into buffers have 32 bits, and so have offsets and references. Whether whole coordinates are extended by sign or by zeros makes
  no difference: what lies beyond 32767 is outside of every image.
- Data of a store likewise, extended as their type says.

As RADV, constants are folded only in shaders that have 16-bit values at all. Sources: AMD RDNA 2 ISA document, "Image Sample" (A16 and G16),
"D16"; LLVM's list of features by generation; Mesa's ``nir_fold_16bit_tex_image`` and what ``radv_postprocess_nir`` asks of it. Of the rounding
today's rule is followed, which folds ``f2f16`` alone.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_f2f16, alu_f2f32, alu_i2i16, alu_i2i32, alu_mov, alu_u2u16, alu_u2u32, index_dest_type, index_format, index_image_dim,
    index_src_type, intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap, intrinsic_bindless_image_load,
    intrinsic_bindless_image_sparse_load, intrinsic_bindless_image_store, tex_fragment_fetch_amd, tex_fragment_mask_fetch_amd,
    tex_source_bias, tex_source_coord, tex_source_ddx, tex_source_ddy, tex_source_lod, tex_source_min_lod, tex_source_ms_index, tex_tex,
    tex_tg4, tex_txb, tex_txd, tex_txf, tex_txf_ms, tex_txl,
)
from pyaco._core.common.floats cimport bits_float, double_to_half, half_to_double
from pyaco._core.ir.emitter cimport alu_source, constant, undefined, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx10
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, alu_is_vector, constant_bits, image_buffer, image_cube, image_format_r8i, image_format_r8ui,
    image_format_r16i, image_format_r16ui, image_format_rg8i, image_format_rg8ui, image_format_rg16i, image_format_rg16ui,
    image_format_rgb10_a2ui, image_format_rgba8i, image_format_rgba8ui, image_format_rgba16i, image_format_rgba16ui, image_ms,
    image_subpass_ms, intrinsic_has_index, intrinsic_index, intrinsic_set_index, nir_alu, nir_intrinsic, nir_load_const, nir_tex,
    nir_undef, round_even16, round_zero16, source_set, source_swizzle, source_value, swizzle_component, texture_is_sparse,
    type_float, type_int, type_uint,
)
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lower_textures, lowering_run

cdef enum:                        # what the users of a value do with it
    narrowed_float = 1
    narrowed_integer = 2
    read_whole = 4

cdef enum:
    type_size = 0xff              # of a type in an index
    most_components = 5

cdef uint8_t[64] _small_integers  # by declared format: its channels are integers of no more than 16 bits
memset(_small_integers, 0, sizeof(_small_integers))
for _format in (image_format_rgba16i, image_format_rgba8i, image_format_rg16i, image_format_rg8i, image_format_r16i, image_format_r8i,
                image_format_rgba16ui, image_format_rgba8ui, image_format_rgb10_a2ui, image_format_rg16ui, image_format_rg8ui,
                image_format_r16ui, image_format_r8ui):
    _small_integers[_format] = 1

cdef struct Facts:
    vector[uint8_t] users         # by value
    bint has_halves               # some value has 16 bits
    bint has_images               # there is something to fold into


# --------------------------------------------------------------------------------------------------------------- results
cdef void _find_facts(const ShaderData *s, Facts *facts) noexcept nogil:
    cdef uint32_t row, k
    cdef uint32_t use
    cdef ValueId i
    facts.has_halves = False
    facts.has_images = False
    facts.users.assign(s.instructions.table.count, 0)
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        facts.has_halves = facts.has_halves or s.instructions.bit_size[i] == 16
        facts.has_images = facts.has_images or s.instructions.kind[i] == nir_tex or (
            s.instructions.kind[i] == nir_intrinsic and intrinsic_has_index(s, i, index_image_dim))
        use = read_whole
        if s.instructions.kind[i] == nir_alu and s.instructions.components[i] == 1:
            if s.instructions.opcode[i] == alu_f2f16:
                use = narrowed_float
            elif s.instructions.opcode[i] in (alu_i2i16, alu_u2u16):
                use = narrowed_integer
        for k in range(s.instructions.source_count[i]):
            facts.users[source_value(s, i, k)] |= <uint8_t>use


cdef bint _samples(int opcode) noexcept nogil:
    return opcode in (tex_tex, tex_txb, tex_txl, tex_txd, tex_txf, tex_txf_ms, tex_tg4, tex_fragment_fetch_amd)


cdef uint32_t _wanted_users(const ShaderData *s, ValueId i) noexcept nogil:
    """What all users of a result must do with it; 0 where it keeps 32 bits whatever they do."""
    cdef uint32_t texture = s.instructions.data[i]
    cdef int base
    if s.instructions.bit_size[i] != 32:
        return 0
    if s.instructions.kind[i] == nir_tex:
        if not _samples(s.instructions.opcode[i]) or s.textures.flags[texture] & texture_is_sparse:
            return 0
        return narrowed_float if s.textures.base[texture] == type_float else 0
    if s.instructions.kind[i] != nir_intrinsic or s.instructions.opcode[i] != intrinsic_bindless_image_load:
        return 0
    base = intrinsic_index(s, i, index_dest_type) >> 8
    if base == type_float:
        return narrowed_float
    return narrowed_integer if base in (type_int, type_uint) and _small_integers[intrinsic_index(s, i, index_format) & 63] else 0


cdef bint _fold_results(ShaderData *s, const Facts *facts) noexcept nogil:
    """The results first: their conversions, which come later in the program, become moves."""
    cdef uint32_t row
    cdef ValueId i, source
    cdef uint32_t wanted
    cdef bint progress = False
    cdef bint any_rounding = not s.info.float_controls & (round_even16 | round_zero16)
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        wanted = _wanted_users(s, i)
        if wanted and facts.users[i] == wanted and (any_rounding or wanted == narrowed_integer):
            s.instructions.bit_size[i] = 16
            if s.instructions.kind[i] == nir_intrinsic:
                intrinsic_set_index(s, i, index_dest_type, (intrinsic_index(s, i, index_dest_type) & ~type_size) | 16)
            progress = True
    if not progress:
        return False
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        if s.instructions.kind[i] == nir_alu and s.instructions.opcode[i] in (alu_f2f16, alu_i2i16, alu_u2u16):
            source = source_value(s, i, 0)
            if s.instructions.bit_size[source] == 16:
                s.instructions.opcode[i] = alu_mov
    return True


# --------------------------------------------------------------------------------------------------------------- sources
cdef void _resolve(const ShaderData *s, ValueId *value, uint32_t *place) noexcept nogil:
    """Follow a component through moves and vectors to what computes it."""
    cdef uint32_t source, at
    while s.instructions.kind[value[0]] == nir_alu:
        if s.instructions.opcode[value[0]] == alu_mov:
            source, at = 0, place[0]
        elif alu_is_vector(s.instructions.opcode[value[0]]):
            source, at = place[0], 0
        else:
            return
        place[0] = swizzle_component(source_swizzle(s, value[0], source), at)
        value[0] = source_value(s, value[0], source)


cdef bint _fits(uint64_t bits, int base, bint any_extension) noexcept nogil:
    """Whether 16 bits hold a constant of 32."""
    cdef double number
    cdef bint is_small = bits <= 0xffff
    cdef bint is_small_signed = bits <= 0x7fff or 0xffff8000U <= bits <= 0xffffffffU
    if base == type_float:
        number = bits_float(<uint32_t>bits)
        return half_to_double(double_to_half(number, 0)) == number
    if any_extension:
        return is_small or is_small_signed
    return is_small if base == type_uint else is_small_signed


cdef bint _is_widened(const ShaderData *s, ValueId value, int base, bint any_extension) noexcept nogil:
    """Whether all components of a value are what 16 bits hold."""
    cdef uint32_t k, place
    cdef ValueId part
    cdef int opcode
    if s.instructions.bit_size[value] != 32 or s.instructions.components[value] > most_components:
        return False
    for k in range(s.instructions.components[value]):
        part, place = value, k
        _resolve(s, &part, &place)
        if s.instructions.kind[part] == nir_undef:
            continue
        if s.instructions.kind[part] == nir_load_const:
            if not _fits(constant_bits(s, part, place), base, any_extension):
                return False
            continue
        if s.instructions.kind[part] != nir_alu or s.instructions.components[part] != 1 or \
                s.instructions.bit_size[source_value(s, part, 0)] != 16:
            return False
        opcode = s.instructions.opcode[part]
        if base == type_float and opcode != alu_f2f32:
            return False
        if base != type_float and not (opcode == alu_u2u32 and (base == type_uint or any_extension)) and \
                not (opcode == alu_i2i32 and (base == type_int or any_extension)):
            return False
    return True


cdef ValueId _narrow(Lowering *b, ValueId value, int base) except 0 nogil:
    """The value in 16 bits."""
    cdef ShaderData *s = b.s
    cdef ValueId[most_components] parts
    cdef uint32_t count = s.instructions.components[value]
    cdef uint32_t k, place
    cdef ValueId part
    cdef uint64_t bits
    for k in range(count):
        part, place = value, k
        _resolve(s, &part, &place)
        if s.instructions.kind[part] == nir_undef:
            parts[k] = undefined(b, 1, 16)
        elif s.instructions.kind[part] == nir_load_const:
            bits = constant_bits(s, part, place)
            parts[k] = constant(b, double_to_half(bits_float(<uint32_t>bits), 0) if base == type_float else bits & 0xffff, 16)
        else:
            parts[k] = alu_source(b, part, 0, 0)
    b.progress = True
    return vector_of(b, parts, count)


cdef bint _stands_with_coordinates(uint32_t kind) noexcept nogil:
    return kind in (tex_source_coord, tex_source_lod, tex_source_bias, tex_source_min_lod, tex_source_ms_index)


cdef bint _is_gradient(uint32_t kind) noexcept nogil:
    return kind == tex_source_ddx or kind == tex_source_ddy


cdef bint _belongs(uint32_t kind, bint coordinates, bint gradients) noexcept nogil:
    return (coordinates and _stands_with_coordinates(kind)) or (gradients and _is_gradient(kind))


cdef int _fold_together(Lowering *b, ValueId i, bint coordinates, bint gradients) except -1 nogil:
    """Sources of a texture instruction that have 16 bits together or not at all."""
    cdef ShaderData *s = b.s
    cdef int base = type_int if s.instructions.opcode[i] in (tex_txf, tex_txf_ms, tex_fragment_fetch_amd, tex_fragment_mask_fetch_amd) \
        else type_float
    cdef uint32_t k
    for k in range(s.instructions.source_count[i]):
        if _belongs(<uint32_t>source_swizzle(s, i, k), coordinates, gradients) and not _is_widened(s, source_value(s, i, k), base, True):
            return 0
    for k in range(s.instructions.source_count[i]):
        if _belongs(<uint32_t>source_swizzle(s, i, k), coordinates, gradients):
            source_set(s, i, k, _narrow(b, source_value(s, i, k), base))
    return 0


cdef int _fold_texture(Lowering *b, ValueId i) except -1 nogil:
    cdef int opcode = b.s.instructions.opcode[i]
    cdef uint32_t dim = b.s.textures.dim[b.s.instructions.data[i]]
    cdef bint separate = b.s.info.gfx_level >= gfx10
    if dim == image_cube or dim == image_buffer or (not _samples(opcode) and opcode != tex_fragment_mask_fetch_amd):
        return 0
    _fold_together(b, i, True, not separate)
    if separate:
        _fold_together(b, i, False, True)
    return 0


cdef int _fold_image_address(Lowering *b, ValueId i, int level) except -1 nogil:
    """Coordinates, sample and level of an image intrinsic; `level`: the source with it, 0 none."""
    cdef ShaderData *s = b.s
    cdef uint32_t dim = intrinsic_index(s, i, index_image_dim)
    cdef int[3] sources
    cdef int count = 1
    cdef int k
    sources[0] = 1
    if dim == image_buffer:
        return 0
    if dim == image_ms or dim == image_subpass_ms:
        sources[count] = 2
        count += 1
    if level:
        sources[count] = level
        count += 1
    for k in range(count):
        if not _is_widened(s, source_value(s, i, sources[k]), type_int, True):
            return 0
    for k in range(count):
        source_set(s, i, sources[k], _narrow(b, source_value(s, i, sources[k]), type_int))
    return 0


cdef int _fold_stored(Lowering *b, ValueId i) except -1 nogil:
    cdef int type = intrinsic_index(b.s, i, index_src_type)
    cdef ValueId data = source_value(b.s, i, 3)
    if type & type_size == 32 and _is_widened(b.s, data, type >> 8, False):
        source_set(b.s, i, 3, _narrow(b, data, type >> 8))
        intrinsic_set_index(b.s, i, index_src_type, (type & ~type_size) | 16)
    return 0


cdef ValueId _fold_sources(Lowering *b, ValueId i) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[i]
    if b.s.instructions.kind[i] == nir_tex:
        _fold_texture(b, i)
    if b.s.instructions.kind[i] != nir_intrinsic:
        return lower_keep
    if opcode == intrinsic_bindless_image_store:
        _fold_stored(b, i)
        _fold_image_address(b, i, 4)
    elif opcode in (intrinsic_bindless_image_load, intrinsic_bindless_image_sparse_load):
        _fold_image_address(b, i, 3)
    elif opcode in (intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap):
        _fold_image_address(b, i, 0)
    return lower_keep


cdef bint fold_16bit_tex_image_run(ShaderData *s) except -1 nogil:
    cdef Facts facts
    cdef bint progress
    _find_facts(s, &facts)
    if not facts.has_halves or not facts.has_images:
        return False
    progress = _fold_results(s, &facts)
    return lowering_run(s, lower_textures | lower_intrinsics, _fold_sources, NULL) or progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return fold_16bit_tex_image_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Fold conversions into texture and image instructions."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
