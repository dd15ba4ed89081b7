"""Texture instructions being changed. The contract is in ``texture_edit.pxd``."""
from libc.stdint cimport uint8_t, uint32_t

from pyaco._core.ir.emitter cimport Emitter, emit
from pyaco._core.ir.shader cimport ShaderData, ValueId, nir_tex_new, source_swizzle, source_value


cdef void texture_read(const ShaderData *s, ValueId instruction, TextureEdit *t) noexcept nogil:
    cdef uint32_t row = s.instructions.data[instruction]
    cdef uint32_t i
    t.count = s.instructions.source_count[instruction]
    for i in range(t.count):
        t.value[i] = source_value(s, instruction, i)
        t.kind[i] = <uint8_t>source_swizzle(s, instruction, i)
    t.opcode = s.instructions.opcode[instruction]
    t.components = s.instructions.components[instruction]
    t.bit_size = s.instructions.bit_size[instruction]
    t.flags = s.instructions.flags[instruction]
    t.base = s.textures.base[row]
    t.dim = s.textures.dim[row]
    t.image_flags = s.textures.image_flags[row]
    t.texture_flags = s.textures.flags[row]
    t.component = s.textures.component[row]
    t.texture_index = s.textures.texture_index[row]
    t.sampler_index = s.textures.sampler_index[row]
    t.offsets = s.textures.offsets[row]


cdef ValueId texture_source(const TextureEdit *t, uint32_t kind) noexcept nogil:
    cdef uint32_t i
    for i in range(t.count):
        if t.kind[i] == kind:
            return t.value[i]
    return 0


cdef void texture_set_source(TextureEdit *t, uint32_t kind, ValueId value) noexcept nogil:
    cdef uint32_t i
    for i in range(t.count):
        if t.kind[i] == kind:
            t.value[i] = value
            return
    t.value[t.count] = value
    t.kind[t.count] = <uint8_t>kind
    t.count += 1


cdef void texture_remove_source(TextureEdit *t, uint32_t kind) noexcept nogil:
    cdef uint32_t i
    cdef uint32_t kept = 0
    for i in range(t.count):
        if t.kind[i] != kind:
            t.value[kept] = t.value[i]
            t.kind[kept] = t.kind[i]
            kept += 1
    t.count = kept


cdef ValueId texture_emit(Emitter *e, const TextureEdit *t) except? 0xffffffffU nogil:
    cdef ShaderData *s = e.s
    cdef ValueId row = nir_tex_new(s, t.opcode, t.components, t.bit_size, t.value, t.kind, t.count)
    cdef uint32_t at = s.instructions.data[row]
    s.instructions.flags[row] = <unsigned short>t.flags
    s.textures.base[at] = t.base
    s.textures.dim[at] = t.dim
    s.textures.image_flags[at] = t.image_flags
    s.textures.flags[at] = t.texture_flags
    s.textures.component[at] = t.component
    s.textures.texture_index[at] = t.texture_index
    s.textures.sampler_index[at] = t.sampler_index
    s.textures.offsets[at] = t.offsets
    return emit(e, row)
