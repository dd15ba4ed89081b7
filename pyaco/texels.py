"""Texels of block-compressed images: BC1 to BC7, ETC2, EAC and ASTC decoded as their specifications say, bit for bit.

The kernels of ``pyaco/_core/texels`` decode a block each, and other Cython modules can call them (``block.pxd``, ``blocks.pxd``). Sources: the
Khronos Data Format Specification 1.4; each kernel names what the specification leaves open and which way it goes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy
from numpy.typing import NDArray

from pyaco._core.texels.blocks import CODECS, INTERPOLATIONS, decode_image, describe
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat, pixel_format

__all__ = ["decode"]

_FORMATS = """
bc1_rgb        | DXT1_RGB
bc1_rgba       | DXT1_RGBA
bc2            | DXT3_RGBA
bc3            | DXT5_RGBA
bc4_unorm      | RGTC1_UNORM LATC1_UNORM
bc4_snorm      | RGTC1_SNORM LATC1_SNORM
bc5_unorm      | RGTC2_UNORM LATC2_UNORM
bc5_snorm      | RGTC2_SNORM LATC2_SNORM
bc6h_unsigned  | BPTC_RGB_UFLOAT
bc6h_signed    | BPTC_RGB_FLOAT
bc7            | BPTC_RGBA_UNORM BPTC_RGBA
etc2_rgb       | ETC1_RGB8 ETC2_RGB8
etc2_rgba1     | ETC2_RGB8A1
etc2_rgba8     | ETC2_RGBA8
eac_r11_unorm  | ETC2_R11_UNORM
eac_r11_snorm  | ETC2_R11_SNORM
eac_rg11_unorm | ETC2_RG11_UNORM
eac_rg11_snorm | ETC2_RG11_SNORM
"""
_CODECS = {
    name: CODECS[codec.strip()] for codec, _, names in (line.partition("|") for line in _FORMATS.strip().splitlines()) for name in names.split()
}
_TEXELS = (numpy.uint8, numpy.float16, numpy.float32)
# Luminance in all colours, and alpha from the second channel or one; the kernels give (red, green, 0, 1).
_LUMINANCE = {"LATC1": [0, 0, 0, 3], "LATC2": [0, 0, 0, 1]}
_ASTC_MODES = {"unorm8": CODECS["astc_unorm8"], "float16": CODECS["astc_half"]}


@checked
def decode(
    data: bytes | NDArray[Any], format: str, width: int, height: int, depth: int = 1, *, interpolation: str = "exact", astc_mode: str = "unorm8"
) -> NDArray[Any]:
    """Decode an image of compressed blocks.

    Parameters
    ----------
    data : bytes or array
        The blocks, row by row and slice by slice, nothing between them; blocks at the edges are whole.
    format : str
        Such as ``bc7``, ``DXT1_RGBA``, ``ETC2_R11_SNORM`` or ``ASTC_6x5_SRGB`` (`pyaco.formats.pixel_format`).
    width, height, depth : int
        Size of the image in texels.
    interpolation : str
        How BC1, BC2 and BC3 round colours between endpoints: ``exact`` is the nearest 8-bit number to the fraction in the specification, ``amd``
        what AMD's hardware gives.
    astc_mode : str
        ASTC's decode mode, of formats that are not sRGB: ``unorm8`` or ``float16``.

    Returns
    -------
    numpy.ndarray
        Red, green, blue and alpha of each texel: ``height x width x 4``, or ``depth x height x width x 4`` where `depth` is not 1.
        8-bit unorm (uint8); float16 for BC6H and ASTC's mode of that name; float32 for channels of BC4, BC5 and EAC, which are more precise than
        8 bits. Colours of sRGB formats stay encoded.

    Raises
    ------
    InputError
        No such format; data of another size.
    UnsupportedError
        A format that is not compressed, or one that is not decoded (FXT1, ATC).
    """
    pixels = pixel_format(format)
    codec = _codec_of(pixels, _choice("astc_mode", astc_mode, _ASTC_MODES))
    kind = _choice("interpolation", interpolation, INTERPOLATIONS)
    if min(width, height, depth) < 1:
        raise InputError(f"an image of {width} x {height} x {depth} texels has none")
    try:
        texel, size = describe(codec, pixels.block)
    except ValueError:
        raise InputError(f"{pixels.name}: ASTC has no blocks of {' x '.join(map(str, pixels.block))} texels") from None
    blocks = numpy.ascontiguousarray(data).reshape(-1).view(numpy.uint8) if isinstance(data, numpy.ndarray) else numpy.frombuffer(data, numpy.uint8)
    columns, rows, slices = (-(-texels // of) for texels, of in zip((width, height, depth), pixels.block, strict=True))
    if blocks.size != columns * rows * slices * size:
        raise InputError(f"{width} x {height} x {depth} texels of {pixels.name} are {columns * rows * slices * size} bytes, not {blocks.size}")
    out = numpy.empty((depth, height, width, 4), _TEXELS[texel])
    decode_image(blocks, out.reshape(-1).view(numpy.uint8), codec, pixels.block, (width, height, depth), kind)
    if (name := pixels.name.partition("_")[0]) in _LUMINANCE:
        out = out[..., _LUMINANCE[name]]
    return out[0] if depth == 1 else out


def _choice(name: str, value: str, choices: dict[str, int]) -> int:
    if value not in choices:
        raise InputError(f"{name} is {' or '.join(choices)}, not {value!r}")
    return choices[value]


@cache
def _codec_of(pixels: PixelFormat, astc: int) -> int:
    if pixels.layout == "astc":
        return CODECS["astc_srgb"] if pixels.color_space == "srgb" else astc
    codec = _CODECS.get(pixels.name.replace("SRGB", "RGB"))
    if codec is None:
        reason = "is not decoded" if pixels.is_compressed else "has no compressed blocks"
        raise UnsupportedError(f"{pixels.name} {reason}; BC1 to BC7, ETC2, EAC and ASTC have them and are")
    return codec
