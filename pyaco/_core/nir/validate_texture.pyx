"""Rules of texture instructions, for the validator. What each opcode and source takes is in ``nir/data/texture.txt``.

Checked: that dimensions can be arrays or compare with a reference; that every source is one that the opcode takes, occurs once and
has the components that the dimensions ask for; that no needed source is missing; that texture and sampler are named in one way; what only
gathers have; components and bit size of the result. Source: ``nir_validate.c`` and the comments of ``nir_tex_src_type`` in Mesa.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport *
from pyaco._core.ir.shader cimport *

cdef enum:
    needs_sampler = 1             # tex_flags
    no_layer = 2
    may_compare = 4
    arrays = 1                    # image_dim_flags
    comparisons = 2


cdef inline bint _has(uint32_t given, int kind) noexcept nogil:
    return (given >> kind) & 1


cdef uint32_t _source_components(uint32_t kind, uint32_t opcode, uint32_t dim, bint layered) noexcept nogil:
    """Components that a source must have; 0 for any number."""
    cdef uint32_t shape = tex_source_shape[kind]
    if shape == tex_shape_dimensions or (shape == tex_shape_coordinate and tex_flags[opcode] & no_layer):
        return image_coordinates[dim]
    if shape == tex_shape_coordinate:
        return image_coordinates[dim] + layered
    return 0 if shape == tex_shape_deref else shape


cdef const char *_sources_fault(const ShaderData *s, ValueId row, uint32_t opcode, uint32_t texture, uint32_t *given) noexcept nogil:
    """Each source by itself; `given` gets their bits."""
    cdef RowRange sources = sources_of(s, row)
    cdef bint layered = (s.textures.image_flags[texture] & image_is_array) != 0
    cdef uint32_t i, kind, wanted
    cdef ValueId value
    given[0] = 0
    for i in range(sources.first, sources.first + sources.count):
        value = s.sources.value[i]
        if s.sources.swizzle[i] >= tex_source_count:
            return b"has a source of unknown kind"
        kind = <uint32_t>s.sources.swizzle[i]
        if _has(given[0], kind):
            return b"has two sources of one kind"
        given[0] |= <uint32_t>1 << kind
        if not _has(tex_needed_sources[opcode] | tex_optional_sources[opcode], kind):
            return b"has a source that its opcode does not take"
        if tex_source_shape[kind] == tex_shape_deref:
            if s.instructions.kind[value] != nir_deref:
                return b"names a texture or sampler by something that is no deref"
            continue
        wanted = _source_components(kind, opcode, s.textures.dim[texture], layered)
        if s.textures.dim[texture] == image_cube and (kind == tex_source_ddx or kind == tex_source_ddy) and s.instructions.components[value] == 2:
            wanted = 2                             # in a face, once cubes are lowered
        if wanted and s.instructions.components[value] != wanted:
            return b"has a source of another number of components than its dimensions ask for"
        if s.instructions.bit_size[value] == 1:
            return b"has a boolean source"
    return NULL


cdef const char *_together_fault(const ShaderData *s, uint32_t opcode, uint32_t texture, uint32_t given) noexcept nogil:
    """The sources together."""
    cdef bint shadow = (s.textures.image_flags[texture] & image_is_shadow) != 0
    if tex_needed_sources[opcode] & ~given and not _has(given, tex_source_backend1):
        return b"lacks a source that its opcode needs"
    if _has(given, tex_source_comparator) and not shadow:
        return b"compares, but its texture is no shadow"
    if shadow and tex_flags[opcode] & may_compare and not _has(given, tex_source_comparator) and not _has(given, tex_source_backend1):
        return b"samples a shadow without a reference"
    if _has(given, tex_source_texture_deref) + _has(given, tex_source_texture_handle) + _has(given, tex_source_texture_offset) > 1:
        return b"names its texture in two ways"
    if _has(given, tex_source_sampler_deref) + _has(given, tex_source_sampler_handle) + _has(given, tex_source_sampler_offset) > 1:
        return b"names its sampler in two ways"
    return NULL


cdef uint32_t _result_components(const ShaderData *s, uint32_t opcode, uint32_t texture) noexcept nogil:
    cdef uint32_t dim = s.textures.dim[texture]
    cdef uint32_t flags = s.textures.flags[texture]
    cdef uint32_t components = tex_result[opcode]
    if components == tex_shape_texel:
        components = 1 if flags & texture_shadow_scalar else 4
    elif components == tex_shape_size:
        components = image_sizes[dim] + ((s.textures.image_flags[texture] & image_is_array) != 0)
    elif components == tex_shape_descriptor:
        components = 4 if dim == image_buffer else 8
    return components + ((flags & texture_is_sparse) != 0)


cdef const char *_result_fault(const ShaderData *s, ValueId row, uint32_t opcode, uint32_t texture) noexcept nogil:
    cdef uint32_t base = s.textures.base[texture]
    cdef uint32_t bits = s.instructions.bit_size[row]
    if s.instructions.components[row] != _result_components(s, opcode, texture):
        return b"has a result of another number of components than its opcode"
    if not type_int <= base <= type_bool or (base == type_bool) != (bits == 1):
        return b"has a result of another type than its bit size"
    if (base == type_bool) != (opcode == tex_samples_identical) or bits == 8 or (base == type_float and bits == 64):
        return b"has a result of a type that its opcode cannot have"
    return NULL


cdef const char *_flags_fault(const ShaderData *s, uint32_t opcode, uint32_t texture) noexcept nogil:
    """Dimensions, and what only some opcodes have."""
    cdef uint32_t dim = s.textures.dim[texture]
    cdef uint32_t image_flags = s.textures.image_flags[texture]
    cdef uint32_t flags = s.textures.flags[texture]
    if dim >= image_dim_count:
        return b"has unknown dimensions"
    if image_flags & image_is_array and not image_dim_flags[dim] & arrays:
        return b"reads an array of dimensions that have none"
    if image_flags & image_is_shadow and not image_dim_flags[dim] & comparisons:
        return b"compares in dimensions that have no comparison"
    if flags & texture_shadow_scalar and not image_flags & image_is_shadow:
        return b"gives the one component of a comparison without comparing"
    if flags & texture_cube_face and (dim != image_cube or image_flags & image_is_array):
        return "only coordinates of cubes are those of a face, which has no layer beside it"
    if flags & texture_is_sparse and tex_result[opcode] != tex_shape_texel and opcode != tex_tg4:
        return b"asks for residency of what reads no texels"
    if opcode != tex_tg4 and (s.textures.component[texture] or s.textures.offsets[texture] or flags & texture_implicit_lod):
        return b"has what only gathers have"
    if s.textures.component[texture] > 3:
        return b"gathers a component that texels do not have"
    if not tex_flags[opcode] & needs_sampler and (s.textures.sampler_index[texture] or flags & texture_sampler_non_uniform):
        return b"names a sampler that its opcode does not use"
    return NULL


cdef const char *texture_fault(const ShaderData *s, ValueId row) noexcept nogil:
    cdef uint32_t opcode = s.instructions.opcode[row]
    cdef uint32_t texture = s.instructions.data[row]
    cdef uint32_t given
    cdef const char *fault
    if opcode >= tex_count:
        return b"is of unknown opcode"
    if texture >= s.textures.table.count:
        return b"has its texture outside the table"
    fault = _flags_fault(s, opcode, texture)
    if fault == NULL:
        fault = _sources_fault(s, row, opcode, texture, &given)
    if fault == NULL:
        fault = _together_fault(s, opcode, texture, given)
    if fault == NULL:
        fault = _result_fault(s, row, opcode, texture)
    return fault
