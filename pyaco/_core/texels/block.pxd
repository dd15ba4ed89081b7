"""What block-compressed formats share: what a decoder is told of its format, what it writes, and fields of a block's bits.

A decoder turns one block into all its texels, row by row, red, green, blue and alpha of each: 8-bit unorm (4 bytes a texel), halves (8 bytes)
or singles (16 bytes), as `BlockFormat.texel` says. Colours of sRGB formats stay encoded. Every block decodes, to what its specification says
of invalid ones; a decoder reads `BlockFormat.bytes` bytes, of any alignment.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum Texel:                      # numbers of a decoded texel, four each
    texel_unorm8
    texel_half
    texel_single

cdef enum Interpolation:              # how colours between the endpoints of BC1 to BC3 are rounded
    interpolation_exact               # the nearest 8-bit number to the fraction that the specification names, ties upwards
    interpolation_amd                 # in sixty-fourths, as on AMD's hardware

cdef enum BlockCodec:
    codec_bc1_rgb
    codec_bc1_rgba
    codec_bc2
    codec_bc3
    codec_bc4_unorm
    codec_bc4_snorm
    codec_bc5_unorm
    codec_bc5_snorm
    codec_bc6h_unsigned
    codec_bc6h_signed
    codec_bc7
    codec_etc2_rgb
    codec_etc2_rgba1
    codec_etc2_rgba8
    codec_eac_r11_unorm
    codec_eac_r11_snorm
    codec_eac_rg11_unorm
    codec_eac_rg11_snorm
    codec_astc_unorm8                 # decode mode unorm8
    codec_astc_srgb
    codec_astc_half                   # decode mode float16
    codec_count

cdef struct BlockFormat               # below; decoders take it

ctypedef void (*BlockDecoder)(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil

cdef struct BlockFormat:
    BlockDecoder decode
    uint8_t codec                     # BlockCodec
    uint8_t texel                     # Texel
    uint8_t texel_bytes
    uint8_t bytes                     # of a block
    uint8_t width                     # texels of a block
    uint8_t height
    uint8_t depth
    uint8_t interpolation             # Interpolation

cdef enum:
    most_texels = 216                 # of a block: ASTC's 6x6x6

cdef struct BlockBits:                # what is left of a block of 128 bits, the next bit lowest
    uint64_t low
    uint64_t high

cdef inline uint64_t little_endian(const uint8_t *bytes) noexcept nogil:
    return (<uint64_t>bytes[0] | <uint64_t>bytes[1] << 8 | <uint64_t>bytes[2] << 16 | <uint64_t>bytes[3] << 24
            | <uint64_t>bytes[4] << 32 | <uint64_t>bytes[5] << 40 | <uint64_t>bytes[6] << 48 | <uint64_t>bytes[7] << 56)

cdef inline BlockBits block_bits(const uint8_t *block) noexcept nogil:
    cdef BlockBits bits
    bits.low = little_endian(block)
    bits.high = little_endian(block + 8)
    return bits

cdef inline uint32_t take(BlockBits *bits, uint32_t count) noexcept nogil:
    """Take the next `count` bits, 32 at most."""
    cdef uint32_t value = <uint32_t>(bits.low & ((<uint64_t>1 << count) - 1))
    bits.low = bits.low >> count | (bits.high << 1) << (63 - count)
    bits.high >>= count
    return value

cdef inline uint32_t peek(const BlockBits *bits, uint32_t first, uint32_t count) noexcept nogil:
    """Read `count` bits, 32 at most, from bit `first` on."""
    cdef uint64_t word
    if first >= 64:
        word = bits.high >> (first - 64)
    else:
        word = bits.low >> first | (bits.high << 1) << (63 - first)
    return <uint32_t>(word & ((<uint64_t>1 << count) - 1))

cdef inline uint32_t replicated(uint32_t value, uint32_t bits) noexcept nogil:
    """Widen a value of four to eight bits to eight: its top bits follow its lowest."""
    return value << (8 - bits) | value >> (2 * bits - 8)

cdef inline uint8_t clamped(int value) noexcept nogil:
    return <uint8_t>(0 if value < 0 else 255 if value > 255 else value)

cdef inline void put_unorm8(uint8_t *texel, uint32_t red, uint32_t green, uint32_t blue, uint32_t alpha) noexcept nogil:
    texel[0] = <uint8_t>red
    texel[1] = <uint8_t>green
    texel[2] = <uint8_t>blue
    texel[3] = <uint8_t>alpha
