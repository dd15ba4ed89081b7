"""Samples of images with a YCbCr conversion become samples of their planes and arithmetic.

Needs: nothing; before lower_tex, which lowers what is made here. Guarantees: no texture instruction samples by a sampler with a conversion as a
whole: sources ``plane`` name further planes, and results are converted. Queries stay, and are of the first plane.

Chroma that has half as many texels as brightness is sampled at the coordinates, moved by half a texel of brightness where its texels lie on
those of brightness, or, reconstructed explicitly, at the texel of brightness that a sample takes, or at the four among which it
interpolates. The numbers of a conversion come from ``pyaco.descriptors.ycbcr``, in its order.

Source: the Vulkan specification, "Chroma Reconstruction" (its formulas for whole texels are those of a linear filter at their middles).
"""
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map

from nir_opcodes cimport (
    alu_f2f16, alu_f2f32, alu_fadd, alu_fdiv, alu_ffloor, alu_ffma, alu_fmul, alu_frcp, alu_fsub, alu_i2f32, alu_ior, alu_mov,
    tex_lod, tex_query_levels, tex_source_bias, tex_source_comparator, tex_source_coord, tex_source_ddx, tex_source_ddy, tex_source_lod,
    tex_source_min_lod, tex_source_offset, tex_source_plane, tex_source_projector, tex_source_sampler_deref, tex_source_texture_deref,
    tex_tex, tex_texture_samples, tex_txb, tex_txd, tex_txl, tex_txs,
)
from pyaco._core.ir.compilation cimport Compilation, left_to_python
from pyaco._core.ir.emitter cimport alu1, alu2, alu3, component, constant, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, deref_array, deref_var, image_2d, image_is_shadow, nir_deref, nir_tex, source_value, texture_is_sparse,
    type_float, type_int,
)
from pyaco._core.nir.lowering cimport Lowering, constant_float, lower_keep, lower_textures, lowering_run
from pyaco._core.nir.texture_edit cimport (
    TextureEdit, texture_emit, texture_read, texture_remove_source, texture_set_source, texture_source,
)

from pyaco.errors import UnsupportedError

cdef enum:
    at_coordinates, at_nearest_texel, between_texels     # where chroma is sampled

cdef struct Conversion:
    int32_t plane[4]           # of r, g, b and a; -1: a constant
    int32_t channel[4]
    double constant[4]
    double rows[4][5]          # of each component of the result: factors and summand
    uint32_t planes
    bint reduced               # planes after the first have fewer texels
    double shift[2]            # added to coordinates there, in texels of the first plane
    uint32_t reconstruction    # at_coordinates ...

cdef struct Context:
    unordered_map[uint64_t, Conversion] conversions     # by set << 32 | binding
    bint has_other
    Conversion other           # of all other bindings


cdef inline ValueId _number(Lowering *b, double value) except? 0xffffffffU nogil:
    return constant_float(b, value, 32)


# --------------------------------------------------------------------------------------------------------- which conversion
cdef const Conversion *_conversion_of(Context *c, const ShaderData *s, ValueId deref) noexcept nogil:
    """That of the sampler that a deref names; NULL: it has none."""
    cdef uint64_t key
    while s.instructions.kind[deref] == nir_deref and s.instructions.opcode[deref] == deref_array:
        deref = source_value(s, deref, 0)
    if s.instructions.kind[deref] != nir_deref or s.instructions.opcode[deref] != deref_var:
        return NULL
    key = <uint64_t>s.variables.set[s.instructions.data[deref]] << 32 | s.variables.binding[s.instructions.data[deref]]
    if c.conversions.count(key):
        return &c.conversions[key]
    return &c.other if c.has_other else NULL


cdef int _check(const TextureEdit *t) except -1 nogil:
    """Refuse what Vulkan does not let such samplers do."""
    cdef const char *what = NULL
    if t.opcode not in (tex_tex, tex_txb, tex_txl, tex_txd):
        what = b"fetches and gathers of"
    elif texture_source(t, tex_source_offset):
        what = b"samples with an offset of"
    elif texture_source(t, tex_source_comparator) or t.image_flags & image_is_shadow:
        what = b"comparisons with"
    elif texture_source(t, tex_source_texture_deref) != texture_source(t, tex_source_sampler_deref):
        what = b"a sampler that is not combined with its image, of"
    elif t.dim != image_2d:
        what = b"dimensions other than 2D of"
    elif t.base != type_float:
        what = b"integers of"
    if what != NULL:
        with gil:
            raise UnsupportedError(f"{what.decode()} an image with a YCbCr conversion")
    return 0


# ------------------------------------------------------------------------------------------------------------- coordinates
cdef int _divide(Lowering *b, TextureEdit *t) except -1 nogil:
    """Coordinates in 32 bits, without a projector."""
    cdef ValueId divisor = texture_source(t, tex_source_projector)
    cdef ValueId coordinate = texture_source(t, tex_source_coord)
    cdef ValueId[3] parts
    cdef uint32_t count = b.s.instructions.components[coordinate]
    cdef uint32_t i
    for i in range(count):
        parts[i] = component(b, coordinate, i)
        if b.s.instructions.bit_size[parts[i]] == 16:
            parts[i] = alu1(b, alu_f2f32, parts[i])
    if divisor:
        if b.s.instructions.bit_size[divisor] == 16:
            divisor = alu1(b, alu_f2f32, divisor)
        for i in range(2):                     # a layer stays
            parts[i] = alu2(b, alu_fdiv, parts[i], divisor)
        texture_remove_source(t, tex_source_projector)
    texture_set_source(t, tex_source_coord, vector_of(b, parts, count))
    return 0


cdef ValueId _size(Lowering *b, const TextureEdit *t) except? 0xffffffffU nogil:
    """Texels of the first plane, as floats."""
    cdef TextureEdit query = t[0]
    cdef uint32_t layered = b.s.instructions.components[texture_source(t, tex_source_coord)] - 2
    query.count = 0
    texture_set_source(&query, tex_source_texture_deref, texture_source(t, tex_source_texture_deref))
    texture_set_source(&query, tex_source_lod, constant(b, 0, 32))
    query.opcode = tex_txs
    query.components = <int>(2 + layered)
    query.bit_size = 32
    query.base = type_int
    query.texture_flags &= ~<int>texture_is_sparse
    return alu1(b, alu_i2f32, texture_emit(b, &query))


cdef ValueId _moved(Lowering *b, ValueId texel, ValueId inverse, double shift) except? 0xffffffffU nogil:
    """A coordinate from one in texels."""
    if shift != 0:
        texel = alu2(b, alu_fadd, texel, _number(b, shift))
    return alu2(b, alu_fmul, texel, inverse)


# ------------------------------------------------------------------------------------------------------------------ planes
cdef ValueId _sample(Lowering *b, const TextureEdit *t, uint32_t plane) except? 0xffffffffU nogil:
    cdef TextureEdit one = t[0]
    one.bit_size = 32
    if plane:
        texture_set_source(&one, tex_source_plane, constant(b, plane, 32))
    return texture_emit(b, &one)


cdef ValueId _sample_at(Lowering *b, const TextureEdit *t, uint32_t plane, ValueId x, ValueId y) except? 0xffffffffU nogil:
    cdef TextureEdit one = t[0]
    cdef ValueId coordinate = texture_source(t, tex_source_coord)
    cdef ValueId[3] parts
    parts[0] = x
    parts[1] = y
    if b.s.instructions.components[coordinate] == 3:
        parts[2] = component(b, coordinate, 2)
    texture_set_source(&one, tex_source_coord, vector_of(b, parts, b.s.instructions.components[coordinate]))
    return _sample(b, &one, plane)


cdef ValueId _mixed(Lowering *b, ValueId first, ValueId second, ValueId part) except? 0xffffffffU nogil:
    return alu3(b, alu_ffma, alu2(b, alu_fsub, second, first), part, first)


cdef ValueId _sample_between(Lowering *b, const TextureEdit *t, uint32_t plane, const ValueId *texel, const ValueId *inverse,
                             const double *shift) except? 0xffffffffU nogil:
    """Chroma at the middles of four texels of brightness, mixed as a linear filter mixes those."""
    cdef bint sparse = (t.texture_flags & texture_is_sparse) != 0
    cdef ValueId[2][2] place
    cdef ValueId[4] found
    cdef ValueId[2] part
    cdef ValueId[5] mixed
    cdef ValueId first
    cdef uint32_t i, k
    for i in range(2):
        first = alu1(b, alu_ffloor, alu2(b, alu_fsub, texel[i], _number(b, 0.5)))
        part[i] = alu2(b, alu_fsub, alu2(b, alu_fsub, texel[i], _number(b, 0.5)), first)
        for k in range(2):
            place[i][k] = _moved(b, first, inverse[i], 0.5 + k + shift[i])
    for k in range(4):
        found[k] = _sample_at(b, t, plane, place[0][k & 1], place[1][k >> 1])
    for i in range(4):
        mixed[i] = _mixed(b, _mixed(b, component(b, found[0], i), component(b, found[1], i), part[0]),
                          _mixed(b, component(b, found[2], i), component(b, found[3], i), part[0]), part[1])
    if sparse:                                 # all are resident where no code has a bit set
        mixed[4] = component(b, found[0], 4)
        for k in range(1, 4):
            mixed[4] = alu2(b, alu_ior, mixed[4], component(b, found[k], 4))
    return vector_of(b, mixed, 4 + sparse)


cdef ValueId _chroma(Lowering *b, const Conversion *c, const TextureEdit *given, uint32_t plane) except? 0xffffffffU nogil:
    """A sample of a plane with fewer texels."""
    cdef TextureEdit t = given[0]
    cdef ValueId[2] texel, inverse, place
    cdef ValueId size, coordinate, value
    cdef uint32_t i
    if c.reconstruction == at_coordinates and c.shift[0] == 0 and c.shift[1] == 0:
        return _sample(b, &t, plane)
    _divide(b, &t)
    coordinate = texture_source(&t, tex_source_coord)
    size = _size(b, &t)
    for i in range(2):
        value = component(b, coordinate, i)
        inverse[i] = alu1(b, alu_frcp, component(b, size, i))
        if c.reconstruction == at_coordinates:
            place[i] = alu3(b, alu_ffma, inverse[i], _number(b, c.shift[i]), value) if c.shift[i] != 0 else value
            continue
        texel[i] = alu2(b, alu_fmul, value, component(b, size, i))
        if c.reconstruction == at_nearest_texel:
            place[i] = _moved(b, alu1(b, alu_ffloor, texel[i]), inverse[i], 0.5 + c.shift[i])
    if c.reconstruction == at_coordinates:
        return _sample_at(b, &t, plane, place[0], place[1])
    # Images of several planes have one level, and these coordinates no derivatives.
    texture_remove_source(&t, tex_source_bias)
    texture_remove_source(&t, tex_source_ddx)
    texture_remove_source(&t, tex_source_ddy)
    texture_remove_source(&t, tex_source_min_lod)
    texture_set_source(&t, tex_source_lod, _number(b, 0))
    t.opcode = tex_txl
    if c.reconstruction == at_nearest_texel:
        return _sample_at(b, &t, plane, place[0], place[1])
    return _sample_between(b, &t, plane, texel, inverse, c.shift)


# -------------------------------------------------------------------------------------------------------------- conversion
cdef ValueId _row(Lowering *b, const double *row, const ValueId *components) except? 0xffffffffU nogil:
    """The sum of weighted components and a constant."""
    cdef ValueId total = 0
    cdef uint32_t i
    if row[4] != 0:
        total = _number(b, row[4])
    for i in range(4):
        if row[i] == 0:
            continue
        if row[i] == 1:
            total = alu2(b, alu_fadd, total, components[i]) if total else alu1(b, alu_mov, components[i])
        elif total:
            total = alu3(b, alu_ffma, components[i], _number(b, row[i]), total)
        else:
            total = alu2(b, alu_fmul, components[i], _number(b, row[i]))
    return total if total else _number(b, 0)


cdef ValueId _converted(Lowering *b, const Conversion *c, const TextureEdit *t) except? 0xffffffffU nogil:
    cdef bint sparse = (t.texture_flags & texture_is_sparse) != 0
    cdef ValueId[3] sampled
    cdef ValueId[4] components
    cdef ValueId[5] result
    cdef uint32_t i
    for i in range(c.planes):
        sampled[i] = _chroma(b, c, t, i) if i and c.reduced else _sample(b, t, i)
    for i in range(4):
        if c.plane[i] < 0:
            components[i] = _number(b, c.constant[i])
        else:
            components[i] = component(b, sampled[c.plane[i]], <uint32_t>c.channel[i])
    for i in range(4):
        result[i] = _row(b, c.rows[i], components)
        if t.bit_size == 16:
            result[i] = alu1(b, alu_f2f16, result[i])
    if sparse:
        result[4] = component(b, sampled[0], 4)
        for i in range(1, c.planes):
            result[4] = alu2(b, alu_ior, result[4], component(b, sampled[i], 4))
    return vector_of(b, result, 4 + sparse)


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef Context *context = <Context *>b.context
    cdef const Conversion *c
    cdef ValueId sampler
    cdef TextureEdit t
    if b.s.instructions.kind[instruction] != nir_tex:
        return lower_keep
    texture_read(b.s, instruction, &t)
    sampler = texture_source(&t, tex_source_sampler_deref)
    if sampler == 0:                           # a fetch from such an image has the image alone
        sampler = texture_source(&t, tex_source_texture_deref)
    if sampler == 0 or t.opcode in (tex_txs, tex_query_levels, tex_texture_samples, tex_lod):
        return lower_keep
    c = _conversion_of(context, b.s, sampler)
    if c == NULL or texture_source(&t, tex_source_plane):
        return lower_keep
    _check(&t)
    return _converted(b, c, &t)


cdef int _read_conversion(object given, Conversion *c) except -1:
    """Take over a conversion: components as (plane, channel, constant), rows, planes, whether planes are reduced, shift, reconstruction."""
    components, rows, planes, reduced, shift, reconstruction = given
    for i in range(4):
        c.plane[i], c.channel[i], c.constant[i] = components[i]
        for k in range(5):
            c.rows[i][k] = rows[i][k]
    for i in range(2):
        c.shift[i] = shift[i]
    c.planes, c.reduced, c.reconstruction = planes, reduced, reconstruction
    return 0


def run(Shader shader not None, conversions, other=None):
    """Lower samples with the conversions of bindings, by set and binding; `other` is that of all others."""
    cdef Context c
    cdef Conversion one
    cdef bint progress
    for (set_number, binding), given in conversions.items():
        _read_conversion(given, &one)
        c.conversions[<uint64_t><uint32_t>set_number << 32 | <uint32_t>binding] = one
    c.has_other = other is not None
    if other is not None:
        _read_conversion(other, &c.other)
    with nogil:
        progress = lowering_run(&shader.data, lower_textures, _lower, &c)
    return progress


cdef int _run_in_compilation(void *ir, int has_option) except -1 nogil:
    return left_to_python if has_option or (<Compilation *>ir).has_layout else 0


compilation_kernel = native_kernel(_run_in_compilation, lambda options, level: bool(options["conversion"]))
