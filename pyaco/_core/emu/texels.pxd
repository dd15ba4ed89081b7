"""Texels: from the bytes of an element to four components as registers hold them, and back.

A format is a table of channels: where each lies, how many bits it has, and what they mean. Components that a format lacks are 0, 0, 0, 1.
Elements of formats of blocks are many texels; the decoders of ``_core.texels`` read them.
Nothing here knows of the engine.

FMASK has 1, 2 or 4 bits in memory for each sample: the number of its fragment, or, where there are fewer fragments than samples, the number of
fragments, which says that none has the sample's colour. What a shader gets has four bits for each sample, and 8 for one that no fragment has.

Sources: the Khronos Data Format Specification (normalised numbers, sRGB, shared exponents); AMD's ISA documents, tables of image formats;
VK_AMD_shader_fragment_mask, Mesa's ``nir_lower_image.c`` and LLPC's ``ImageBuilder.cpp`` (FMASK as shaders get it); PAL's ``gfx9MaskRam.cpp``
and ``rpmUtil.cpp`` (FMASK in memory).
"""
from libc.math cimport exp2, floor, frexp, pow
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from pyaco._core.common.floats cimport bits_float, float_bits, half_to_double
from pyaco._core.emu.formats cimport load_component, store_component
from pyaco._core.texels.block cimport BlockFormat, most_texels, texel_half, texel_single

cdef enum:                            # kinds of channels: those of `formats`, and
    texel_unorm = 0
    texel_snorm = 1
    texel_uint = 4
    texel_sint = 5
    texel_float = 7
    texel_srgb = 9
    texel_shared_exponent = 10        # of the whole format: 9, 9, 9 and 5 bits

cdef struct TexelFormat:
    uint8_t bytes                     # of an element
    uint8_t position[4]               # bit of x, y, z and w
    uint8_t bits[4]                   # 0: there is none
    uint8_t kind[4]
    uint8_t integer                   # components are integers: not filtered, borders are integers
    uint8_t shared_exponent
    uint8_t clamped                   # depth that is stored as floats and compared between 0 and 1
    uint8_t in_blocks                 # an element is a block of texels: `block` decodes it, there are no channels
    uint8_t srgb_blocks               # whose colours are encoded
    uint8_t mask_samples              # FMASK: samples of a pixel, its fragments, and bits for each in memory; there are no channels
    uint8_t mask_fragments
    uint8_t mask_bits
    BlockFormat block

cdef inline double srgb_to_linear(double value) noexcept nogil:
    return value / 12.92 if value <= 0.04045 else pow((value + 0.055) / 1.055, 2.4)

cdef inline void load_shared_exponent(const uint8_t *host, uint32_t *texel) noexcept nogil:
    cdef uint32_t word, index
    memcpy(&word, host, 4)
    for index in range(3):
        texel[index] = float_bits(<float>((word >> (9 * index) & 511) * exp2(<double><int>(word >> 27) - 24)))
    texel[3] = 0x3f800000

cdef inline void store_shared_exponent(uint8_t *host, const uint32_t *texel) noexcept nogil:
    """The smallest exponent that holds the largest component, which rounding may raise by one."""
    cdef double value[3]
    cdef double largest = 0
    cdef double scale
    cdef uint32_t index
    cdef uint32_t word = 0
    cdef int exponent = 0
    for index in range(3):
        value[index] = bits_float(texel[index])
        value[index] = min(value[index], 65408.0) if value[index] > 0 else 0.0
        largest = max(largest, value[index])
    if largest > 0:
        frexp(largest, &exponent)
        exponent = max(exponent + 15, 0)
        if floor(largest * exp2(24.0 - exponent) + 0.5) >= 512:
            exponent += 1
    scale = exp2(24.0 - exponent)
    for index in range(3):
        word |= <uint32_t>floor(value[index] * scale + 0.5) << (9 * index)
    word |= <uint32_t>exponent << 27
    memcpy(host, &word, 4)

cdef inline uint32_t load_channel(const TexelFormat *format_, uint32_t index, const uint8_t *host) noexcept nogil:
    """A channel that the format has. None crosses a dword."""
    cdef uint32_t first = format_.position[index] // 32 * 4
    cdef uint32_t bits = format_.bits[index]
    cdef uint32_t window = 0
    cdef uint32_t raw
    memcpy(&window, host + first, min(<uint32_t>4, format_.bytes - first))
    raw = window >> (format_.position[index] & 31)
    if bits < 32:
        raw &= (<uint32_t>1 << bits) - 1
    if format_.kind[index] == texel_srgb:
        return float_bits(<float>srgb_to_linear(<double>raw / <double>((<uint64_t>1 << bits) - 1)))
    return load_component(raw, bits, format_.kind[index])

cdef inline void load_decoded_texel(const TexelFormat *format_, const uint8_t *found, uint32_t *texel) noexcept nogil:
    """A texel as decoders of blocks write it."""
    cdef uint32_t index
    if format_.block.texel == texel_single:
        memcpy(texel, found, 16)
        return
    for index in range(4):
        if format_.block.texel == texel_half:
            texel[index] = float_bits(<float>half_to_double(found[2 * index] | <uint32_t>found[2 * index + 1] << 8))
        elif format_.srgb_blocks and index < 3:
            texel[index] = float_bits(<float>srgb_to_linear(found[index] / 255.0))
        else:
            texel[index] = float_bits(<float>(found[index] / 255.0))

cdef inline void load_block_texel(const TexelFormat *format_, const uint8_t *host, uint32_t x, uint32_t y, uint32_t *texel) noexcept nogil:
    """A texel of a block: column and row within it."""
    cdef uint8_t[most_texels * 16] texels
    format_.block.decode(&format_.block, host, texels)
    load_decoded_texel(format_, texels + (y * format_.block.width + x) * format_.block.texel_bytes, texel)

cdef enum:
    mask_unknown = 8                  # what shaders get for a sample whose colour no fragment has

cdef inline void load_fragment_mask(const TexelFormat *format_, const uint8_t *host, uint32_t *texel) noexcept nogil:
    """Eight samples are in each component."""
    cdef uint64_t word = 0
    cdef uint32_t sample, fragment
    memcpy(&word, host, format_.bytes)
    texel[0] = texel[1] = texel[2] = 0
    texel[3] = 1
    for sample in range(format_.mask_samples):
        fragment = <uint32_t>(word >> (sample * format_.mask_bits)) & ((<uint32_t>1 << format_.mask_bits) - 1)
        texel[sample >> 3] |= (<uint32_t>mask_unknown if fragment == format_.mask_fragments else fragment) << (4 * (sample & 7))

cdef inline void load_texel(const TexelFormat *format_, const uint8_t *host, uint32_t *texel) noexcept nogil:
    cdef uint32_t index
    if format_.shared_exponent:
        load_shared_exponent(host, texel)
        return
    if format_.mask_samples:
        load_fragment_mask(format_, host, texel)
        return
    for index in range(4):
        if format_.bits[index]:
            texel[index] = load_channel(format_, index, host)
        else:
            texel[index] = 0 if index < 3 else (1 if format_.integer else 0x3f800000)

cdef inline void store_texel(const TexelFormat *format_, uint8_t *host, const uint32_t *texel) noexcept nogil:
    """Bits of no channel become 0. Formats of sRGB and FMASK are not stored to."""
    cdef uint32_t words[4]
    cdef uint32_t index, position
    if format_.shared_exponent:
        store_shared_exponent(host, texel)
        return
    words[0] = words[1] = words[2] = words[3] = 0
    for index in range(4):
        if format_.bits[index]:
            position = format_.position[index]
            words[position >> 5] |= store_component(texel[index], format_.bits[index], format_.kind[index]) << (position & 31)
    memcpy(host, words, format_.bytes)
