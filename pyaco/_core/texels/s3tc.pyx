"""BC1, BC2, BC3 (S3TC, DXT): two colours of 5, 6 and 5 bits, and two bits for each texel that choose one of four on the line between them.

Source: the Khronos Data Format Specification 1.4, "S3TC Compressed Texture Image Formats", which gives colours as fractions and leaves their
rounding to the implementation, as Direct3D does. `interpolation_exact` is the nearest 8-bit number to the fraction. `interpolation_amd` is what
was read back from a Radeon RX 580 (R. Geldreich, "AMD GPU BC1 decoding lookup tables", 2020; the formula is that of his rgbcx): endpoints
widened to 8 bits by replication, then (43 a + 21 b + 32) / 64 for thirds and (a + b + 1) / 2 for halves. Alpha of BC3 is exact either way; no
source says how AMD's hardware rounds it.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from pyaco._core.texels.block cimport BlockFormat, codec_bc1_rgb, interpolation_amd, little_endian, replicated

cdef uint8_t[4] _channel_shifts = [11, 5, 0, 0]
cdef uint8_t[4] _channel_bits = [5, 6, 5, 0]
cdef uint8_t[4] _amd_weights = [0, 64, 21, 43]                # of the second endpoint, in sixty-fourths


cdef uint8_t[2][2][190] _nearest      # nearest to number / (parts * most): by bits - 5 of a channel (most is 31 or 63), parts - 2, and number


cdef inline uint32_t _between(uint32_t first, uint32_t second, uint32_t bits, uint32_t code, bint thirds, uint32_t interpolation) noexcept nogil:
    """One channel of the colour that a code stands for, from its endpoints as they are stored."""
    cdef uint32_t parts = 3 if thirds else 2                  # of the line, and how many of them lie before the colour
    cdef uint32_t place = code - 1 if code > 1 else parts * code
    cdef uint32_t weight
    if interpolation == interpolation_amd:
        first = replicated(first, bits)
        second = replicated(second, bits)
        weight = _amd_weights[code] if thirds else 32 * place
        return ((64 - weight) * first + weight * second + 32) >> 6
    return _nearest[bits - 5][parts - 2][(parts - place) * first + place * second]


cdef void _colors(const uint8_t *block, uint8_t *texels, uint32_t interpolation, bint always_thirds, uint32_t alpha_of_black) noexcept nogil:
    """Write colours, and alpha where it is not 255."""
    cdef uint64_t word = little_endian(block)
    cdef uint32_t first = <uint32_t>word & 0xffff
    cdef uint32_t second = <uint32_t>(word >> 16) & 0xffff
    cdef bint thirds = always_thirds or first > second
    cdef uint8_t[4][4] palette
    cdef uint32_t code, channel, bits, shift, index
    for code in range(4 if thirds else 3):
        for channel in range(3):
            bits = _channel_bits[channel]
            shift = _channel_shifts[channel]
            palette[code][channel] = <uint8_t>_between(
                first >> shift & ((1 << bits) - 1), second >> shift & ((1 << bits) - 1), bits, code, thirds, interpolation)
        palette[code][3] = 255
    if not thirds:
        palette[3][0] = palette[3][1] = palette[3][2] = 0
        palette[3][3] = <uint8_t>alpha_of_black
    for index in range(16):
        code = <uint32_t>(word >> (32 + 2 * index)) & 3
        memcpy(texels + 4 * index, palette[code], 4)


cdef void decode_bc1(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    _colors(block, <uint8_t *>texels, format.interpolation, False, 255 if format.codec == codec_bc1_rgb else 0)


cdef void decode_bc2(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef uint8_t *out = <uint8_t *>texels
    cdef uint64_t alphas = little_endian(block)
    cdef uint32_t index
    _colors(block + 8, out, format.interpolation, True, 255)
    for index in range(16):
        out[4 * index + 3] = <uint8_t>(17 * (alphas >> (4 * index) & 15))


cdef void decode_bc3(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef uint8_t *out = <uint8_t *>texels
    cdef uint64_t word = little_endian(block)
    cdef uint32_t first = block[0]
    cdef uint32_t second = block[1]
    cdef uint32_t parts = 7 if first > second else 5
    cdef uint8_t[8] palette
    cdef uint32_t code, index
    palette[0] = <uint8_t>first
    palette[1] = <uint8_t>second
    palette[6] = 0
    palette[7] = 255
    for code in range(2, parts + 1):
        palette[code] = <uint8_t>((2 * ((parts + 1 - code) * first + (code - 1) * second) + parts) // (2 * parts))
    _colors(block + 8, out, format.interpolation, True, 255)
    for index in range(16):
        out[4 * index + 3] = palette[word >> (16 + 3 * index) & 7]


def _read_nearest() -> None:
    cdef uint32_t bits, parts, number, most
    for bits in range(5, 7):
        for parts in range(2, 4):
            most = ((<uint32_t>1 << bits) - 1) * parts
            for number in range(most + 1):
                _nearest[bits - 5][parts - 2][number] = <uint8_t>((2 * 255 * number + most) // (2 * most))


_read_nearest()
