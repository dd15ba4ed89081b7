"""BC4, BC5 (RGTC): one or two channels of eight levels between two 8-bit endpoints; singles, nearest to the fraction.

Source: the Khronos Data Format Specification 1.4, "RGTC Compressed Texture Image Formats". It leaves open which of the two orders of endpoints
-127 and -128 are; they are compared as stored, before -128 is taken for -127, as in Direct3D's reference.
"""
from libc.stdint cimport int8_t, uint8_t, uint32_t, uint64_t

from pyaco._core.texels.block cimport BlockFormat, codec_bc4_snorm, codec_bc5_snorm, codec_bc5_unorm, little_endian


cdef void _channel(const uint8_t *block, float *texels, bint is_signed) noexcept nogil:
    """Write one channel of sixteen texels, which are four singles apart."""
    cdef uint64_t word = little_endian(block)
    cdef int first = <int><int8_t>block[0] if is_signed else block[0]
    cdef int second = <int><int8_t>block[1] if is_signed else block[1]
    cdef int most = 127 if is_signed else 255
    cdef int parts = 7 if first > second else 5
    cdef float[8] palette
    cdef int code
    cdef uint32_t index
    first = max(first, -most)
    second = max(second, -most)
    palette[0] = <float>first / <float>most
    palette[1] = <float>second / <float>most
    palette[6] = -1.0 if is_signed else 0.0
    palette[7] = 1.0
    for code in range(2, parts + 1):
        palette[code] = <float>((parts + 1 - code) * first + (code - 1) * second) / <float>(parts * most)
    for index in range(16):
        texels[4 * index] = palette[word >> (16 + 3 * index) & 7]


cdef void decode_rgtc(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef float *out = <float *>texels
    cdef bint is_signed = format.codec in (codec_bc4_snorm, codec_bc5_snorm)
    cdef bint has_green = format.codec in (codec_bc5_unorm, codec_bc5_snorm)
    cdef uint32_t index
    for index in range(16):
        out[4 * index + 1] = 0.0
        out[4 * index + 2] = 0.0
        out[4 * index + 3] = 1.0
    _channel(block, out, is_signed)
    if has_green:
        _channel(block + 8, out + 1, is_signed)
