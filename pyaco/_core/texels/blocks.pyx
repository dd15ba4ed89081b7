"""The table of codecs, and images of compressed blocks decoded to arrays.

Who decodes single blocks asks `block_format` once and then calls `format.decode(&format, block, texels)`.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from pyaco._core.texels.block cimport (
    BlockDecoder, BlockFormat, codec_astc_half, codec_astc_srgb, codec_astc_unorm8, codec_bc1_rgb, codec_bc1_rgba, codec_bc2, codec_bc3,
    codec_bc4_snorm, codec_bc4_unorm, codec_bc5_snorm, codec_bc5_unorm, codec_bc6h_signed, codec_bc6h_unsigned, codec_bc7, codec_count,
    codec_eac_r11_snorm, codec_eac_r11_unorm, codec_eac_rg11_snorm, codec_eac_rg11_unorm, codec_etc2_rgb, codec_etc2_rgba1, codec_etc2_rgba8,
    interpolation_amd, interpolation_exact, most_texels, texel_half, texel_single, texel_unorm8,
)
from pyaco._core.texels.astc cimport decode_astc
from pyaco._core.texels.bptc cimport decode_bc6h, decode_bc7
from pyaco._core.texels.etc cimport decode_eac, decode_etc2_rgb, decode_etc2_rgba8
from pyaco._core.texels.rgtc cimport decode_rgtc
from pyaco._core.texels.s3tc cimport decode_bc1, decode_bc2, decode_bc3

CODECS = {
    "bc1_rgb": codec_bc1_rgb, "bc1_rgba": codec_bc1_rgba, "bc2": codec_bc2, "bc3": codec_bc3, "bc4_unorm": codec_bc4_unorm,
    "bc4_snorm": codec_bc4_snorm, "bc5_unorm": codec_bc5_unorm, "bc5_snorm": codec_bc5_snorm, "bc6h_unsigned": codec_bc6h_unsigned,
    "bc6h_signed": codec_bc6h_signed, "bc7": codec_bc7, "etc2_rgb": codec_etc2_rgb, "etc2_rgba1": codec_etc2_rgba1,
    "etc2_rgba8": codec_etc2_rgba8, "eac_r11_unorm": codec_eac_r11_unorm, "eac_r11_snorm": codec_eac_r11_snorm,
    "eac_rg11_unorm": codec_eac_rg11_unorm, "eac_rg11_snorm": codec_eac_rg11_snorm, "astc_unorm8": codec_astc_unorm8,
    "astc_srgb": codec_astc_srgb, "astc_half": codec_astc_half,
}
INTERPOLATIONS = {"exact": interpolation_exact, "amd": interpolation_amd}

cdef BlockFormat[codec_count] _formats
# ASTC's blocks: width, height and depth, a digit (in base 16) each
cdef uint16_t[24] _astc_blocks = [
    0x441, 0x541, 0x551, 0x651, 0x661, 0x851, 0x861, 0x881, 0xa51, 0xa61, 0xa81, 0xaa1, 0xca1, 0xcc1,
    0x333, 0x433, 0x443, 0x444, 0x544, 0x554, 0x555, 0x655, 0x665, 0x666,
]


cdef void _register(uint32_t codec, BlockDecoder decode, uint32_t texel, uint32_t size) noexcept:
    cdef BlockFormat *format = &_formats[codec]
    format.decode = decode
    format.codec = <uint8_t>codec
    format.texel = <uint8_t>texel
    format.texel_bytes = <uint8_t>(4 << texel)
    format.bytes = <uint8_t>size
    format.width = format.height = 4
    format.depth = 1


cdef bint block_format(BlockFormat *format, uint32_t codec, uint32_t width, uint32_t height, uint32_t depth, uint32_t interpolation) noexcept nogil:
    """Describe a codec with blocks of this size; say whether it has such blocks. Only ASTC has others than 4 by 4."""
    cdef uint32_t i
    if codec >= codec_count or width > 15 or height > 15 or depth > 15:
        return False
    format[0] = _formats[codec]
    format.interpolation = <uint8_t>interpolation
    if codec in (codec_astc_unorm8, codec_astc_srgb, codec_astc_half):
        format.width = <uint8_t>width
        format.height = <uint8_t>height
        format.depth = <uint8_t>depth
        for i in range(24):
            if _astc_blocks[i] == (width << 8 | height << 4 | depth):
                return True
        return False
    return width == 4 and height == 4 and depth == 1


cdef void _decode_image(const BlockFormat *format, const uint8_t *data, uint8_t *out, const int64_t *size, const int64_t *blocks) noexcept nogil:
    """Decode block by block; what lies outside of the image is left out."""
    cdef uint8_t[most_texels * 16] texels
    cdef int64_t texel = format.texel_bytes
    cdef int64_t i, j, k, x, y, z, columns
    for k in range(blocks[2]):
        for j in range(blocks[1]):
            for i in range(blocks[0]):
                format.decode(format, data, texels)
                data += format.bytes
                x = i * format.width
                columns = min(<int64_t>format.width, size[0] - x)
                for z in range(k * format.depth, min((k + 1) * format.depth, size[2])):
                    for y in range(j * format.height, min((j + 1) * format.height, size[1])):
                        memcpy(out + ((z * size[1] + y) * size[0] + x) * texel,
                               texels + ((z - k * format.depth) * format.height + y - j * format.height) * format.width * texel, columns * texel)


def describe(codec: int, block: tuple[int, int, int]) -> tuple[int, int]:
    """Kind of a decoded texel's numbers (unorm8, half, single) and bytes of a block; ValueError: no such blocks."""
    cdef BlockFormat format
    if not block_format(&format, codec, block[0], block[1], block[2], 0):
        raise ValueError(block)
    return format.texel, format.bytes


def decode_image(const uint8_t[::1] data, uint8_t[::1] out, codec: int, block: tuple[int, int, int], size: tuple[int, int, int],
                 interpolation: int) -> None:
    """Decode an image of `size` texels: `data` has its blocks, `out` room for its texels."""
    cdef BlockFormat format
    cdef int64_t[3] texels
    cdef int64_t[3] blocks
    cdef uint32_t axis
    if not block_format(&format, codec, block[0], block[1], block[2], interpolation):
        raise ValueError(block)
    for axis in range(3):
        texels[axis] = size[axis]
        blocks[axis] = (texels[axis] + <int64_t>block[axis] - 1) // <int64_t>block[axis]
    assert data.shape[0] == blocks[0] * blocks[1] * blocks[2] * format.bytes
    assert out.shape[0] == texels[0] * texels[1] * texels[2] * format.texel_bytes
    if data.shape[0]:
        with nogil:
            _decode_image(&format, &data[0], &out[0], texels, blocks)


_register(codec_bc1_rgb, decode_bc1, texel_unorm8, 8)
_register(codec_bc1_rgba, decode_bc1, texel_unorm8, 8)
_register(codec_bc2, decode_bc2, texel_unorm8, 16)
_register(codec_bc3, decode_bc3, texel_unorm8, 16)
_register(codec_bc4_unorm, decode_rgtc, texel_single, 8)
_register(codec_bc4_snorm, decode_rgtc, texel_single, 8)
_register(codec_bc5_unorm, decode_rgtc, texel_single, 16)
_register(codec_bc5_snorm, decode_rgtc, texel_single, 16)
_register(codec_bc6h_unsigned, decode_bc6h, texel_half, 16)
_register(codec_bc6h_signed, decode_bc6h, texel_half, 16)
_register(codec_bc7, decode_bc7, texel_unorm8, 16)
_register(codec_etc2_rgb, decode_etc2_rgb, texel_unorm8, 8)
_register(codec_etc2_rgba1, decode_etc2_rgb, texel_unorm8, 8)
_register(codec_etc2_rgba8, decode_etc2_rgba8, texel_unorm8, 16)
_register(codec_eac_r11_unorm, decode_eac, texel_single, 8)
_register(codec_eac_r11_snorm, decode_eac, texel_single, 8)
_register(codec_eac_rg11_unorm, decode_eac, texel_single, 16)
_register(codec_eac_rg11_snorm, decode_eac, texel_single, 16)
_register(codec_astc_unorm8, decode_astc, texel_unorm8, 16)
_register(codec_astc_srgb, decode_astc, texel_unorm8, 16)
_register(codec_astc_half, decode_astc, texel_half, 16)
