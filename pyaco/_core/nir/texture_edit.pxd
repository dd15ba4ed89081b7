"""A texture instruction taken out of the tables, to be changed and written as a new one.

Instructions may share a row of ``Textures`` (copies that loop unrolling makes), so a row is never changed.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from pyaco._core.ir.emitter cimport Emitter
from pyaco._core.ir.shader cimport ShaderData, ValueId

cdef enum:
    maximum_texture_sources = 16

cdef struct TextureEdit:
    ValueId value[maximum_texture_sources]
    uint8_t kind[maximum_texture_sources]     # tex_source_*
    uint32_t count
    int opcode                                # tex_*
    int components
    int bit_size
    uint32_t flags                            # of the instruction
    uint8_t base
    uint8_t dim
    uint8_t image_flags
    uint8_t texture_flags
    uint8_t component
    uint32_t texture_index
    uint32_t sampler_index
    uint64_t offsets

cdef void texture_read(const ShaderData *s, ValueId instruction, TextureEdit *t) noexcept nogil
# The source of a kind; 0 without one.
cdef ValueId texture_source(const TextureEdit *t, uint32_t kind) noexcept nogil
# Changes the source of a kind, or adds it.
cdef void texture_set_source(TextureEdit *t, uint32_t kind, ValueId value) noexcept nogil
cdef void texture_remove_source(TextureEdit *t, uint32_t kind) noexcept nogil
# Emits it as a new instruction.
cdef ValueId texture_emit(Emitter *e, const TextureEdit *t) except? 0xffffffffU nogil
