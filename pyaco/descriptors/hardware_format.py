"""What the hardware calls a pixel format: data and number formats of buffers, images, colour and depth targets.

Numbers come from the register database by the names of their values. Sources: the ISA documents' tables of formats; Mesa's
``ac_formats.c`` and ``gfx10_format_table.py`` for which format a driver uses where several or none fit exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from pyaco.arguments import checked
from pyaco.formats import NONE, ONE, ZERO, PixelFormat
from pyaco.registers import registers
from pyaco.targets.features import has_alpha_on_msb, has_shared_e5_targets, has_stencil_image_formats

__all__ = ["UNSUPPORTED", "HardwareFormat", "alpha_is_on_msb", "border_color_swizzle", "buffer_formats", "color_formats", "color_swap",
           "depth_format", "image_formats", "memory_swizzle", "unified_format"]

_WIDE = 64
UNSUPPORTED = 0xFFFFFFFF
"""Result for an image format that the hardware does not have."""


@dataclass(frozen=True)
class HardwareFormat:
    """A unified format of GFX10 and later.

    Attributes
    ----------
    number : int
        0 where the hardware has none.
    buffers_only : bool
        Whether only buffers may have it: shaders convert.
    """

    number: int
    buffers_only: bool


@cache
def _value(register: str, field: str, name: str, level: int = 60) -> int:
    return registers(level)[register].field(field).number(name)


def _image_data(name: str, level: int = 90) -> int:
    return _value("SQ_IMG_RSRC_WORD1", "DATA_FORMAT", f"IMG_DATA_FORMAT_{name}", level)


def _sizes(format_: PixelFormat) -> tuple[int, ...]:
    return tuple(channel.size for channel in format_.channels)


# -------------------------------------------------------------------------------------------------------------- buffers
_BUFFER_DATA = {
    (8,): "8", (8, 8): "8_8", (8, 8, 8): "8", (8, 8, 8, 8): "8_8_8_8", (16,): "16", (16, 16): "16_16", (16, 16, 16): "16",
    (16, 16, 16, 16): "16_16_16_16", (32,): "32", (32, 32): "32_32", (32, 32, 32): "32_32_32", (32, 32, 32, 32): "32_32_32_32",
    (64,): "32_32", (64, 64): "32_32_32_32", (64, 64, 64): "32_32", (64, 64, 64, 64): "32_32_32_32",
    (10, 10, 10, 2): "2_10_10_10",
}
"""By channel sizes. Three channels of 8 or 16 bits are three loads, 64-bit channels one or two."""


@checked
def memory_swizzle(format_: PixelFormat) -> tuple[int, int, int, int]:
    """Return where the components of an element come from: its channels, 4 for zero and 5 for one.

    A channel of 64 bits is two of 32 to the hardware; the others are the words of a 64-bit one, which shaders take for alpha (Mesa's
    ``radv_compose_swizzle``).
    """
    if format_.has_depth or format_.has_stencil:
        return 0, ZERO, ZERO, ONE
    if len(format_.channels) == 1 and format_.bits == _WIDE:
        return 0, 1, ONE, ZERO
    a, b, c, d = (ZERO if entry == NONE else entry for entry in format_.swizzle)
    return a, b, c, d


@checked
def buffer_formats(format_: PixelFormat) -> tuple[int, int]:
    """Return data format and number format of a buffer descriptor, GFX6 to GFX9; data format 0 where there is none."""
    if format_.name == "R11G11B10_FLOAT":
        name, kind = "10_11_11", "FLOAT"
    else:
        name, kind = _BUFFER_DATA.get(_sizes(format_), "INVALID"), _buffer_number(format_)
    return (_value("SQ_BUF_RSRC_WORD3", "DATA_FORMAT", f"BUF_DATA_FORMAT_{name}"),
            _value("SQ_BUF_RSRC_WORD3", "NUM_FORMAT", f"BUF_NUM_FORMAT_{kind}"))


def _buffer_number(format_: PixelFormat) -> str:
    channel = format_.first_channel
    if channel is None or channel.type == "float":
        return "FLOAT"
    sign = "U" if channel.type == "unsigned" else "S"
    # Shaders convert 32-bit channels that are no integers.
    if channel.size >= 32 or channel.integer:
        return f"{sign}INT"
    return f"{sign}NORM" if channel.normalized else f"{sign}SCALED"


# --------------------------------------------------------------------------------------------------------------- images
_IMAGE_NAMES = {
    "Z16_UNORM": "16", "Z24X8_UNORM": "8_24", "Z24_UNORM_S8_UINT": "8_24", "X8Z24_UNORM": "24_8", "S8_UINT_Z24_UNORM": "24_8",
    "S8_UINT": "8", "Z32_FLOAT": "32", "X32_S8X24_UINT": "X24_8_32", "Z32_FLOAT_S8X24_UINT": "X24_8_32",
    "RGTC1_SNORM": "BC4", "RGTC1_UNORM": "BC4", "LATC1_SNORM": "BC4", "LATC1_UNORM": "BC4",
    "RGTC2_SNORM": "BC5", "RGTC2_UNORM": "BC5", "LATC2_SNORM": "BC5", "LATC2_UNORM": "BC5",
    "ETC1_RGB8": "ETC2_RGB", "ETC2_RGB8": "ETC2_RGB", "ETC2_SRGB8": "ETC2_RGB", "ETC2_RGB8A1": "ETC2_RGBA1",
    "ETC2_SRGB8A1": "ETC2_RGBA1", "ETC2_RGBA8": "ETC2_RGBA", "ETC2_SRGBA8": "ETC2_RGBA", "ETC2_R11_UNORM": "ETC2_R",
    "ETC2_R11_SNORM": "ETC2_R", "ETC2_RG11_UNORM": "ETC2_RG", "ETC2_RG11_SNORM": "ETC2_RG",
    "BPTC_RGBA_UNORM": "BC7", "BPTC_SRGBA": "BC7", "BPTC_RGB_FLOAT": "BC6", "BPTC_RGB_UFLOAT": "BC6",
    "R8G8_B8G8_UNORM": "GB_GR", "G8R8_B8R8_UNORM": "GB_GR", "B8G8_R8G8_UNORM": "GB_GR",
    "G8R8_G8B8_UNORM": "BG_RG", "R8G8_R8B8_UNORM": "BG_RG", "G8B8_G8R8_UNORM": "BG_RG",
    "DXT1_RGB": "BC1", "DXT1_RGBA": "BC1", "DXT1_SRGB": "BC1", "DXT1_SRGBA": "BC1", "DXT3_RGBA": "BC2", "DXT3_SRGBA": "BC2",
    "DXT5_RGBA": "BC3", "DXT5_SRGBA": "BC3", "R9G9B9E5_FLOAT": "5_9_9_9", "R11G11B10_FLOAT": "10_11_11",
}
_IMAGE_SIZES = {
    (5, 6, 5): "5_6_5", (5, 5, 5, 1): "1_5_5_5", (1, 5, 5, 5): "5_5_5_1", (10, 10, 10, 2): "2_10_10_10", (4, 4, 4, 4): "4_4_4_4",
    (8,): "8", (8, 8): "8_8", (8, 8, 8, 8): "8_8_8_8", (16,): "16", (16, 16): "16_16", (16, 16, 16, 16): "16_16_16_16", (32,): "32",
    (32, 32): "32_32", (32, 32, 32): "32_32_32", (32, 32, 32, 32): "32_32_32_32", (64,): "32_32",
}
_SNORM_BLOCKS = {"RGTC1_SNORM", "LATC1_SNORM", "RGTC2_SNORM", "LATC2_SNORM", "ETC2_R11_SNORM", "ETC2_RG11_SNORM", "BPTC_RGB_FLOAT"}


@checked
def image_formats(format_: PixelFormat, level: int, chip: str = "") -> tuple[int, int]:
    """Return data format and number format of an image descriptor, GFX6 to GFX9.

    Parameters
    ----------
    format_ : PixelFormat
    level : int
        Hardware level times ten.
    chip : str
        Carrizo lacks integer formats of 4 and 5 bits.
    """
    return _image_data_format(format_, level, chip), _value("SQ_IMG_RSRC_WORD1", "NUM_FORMAT", f"IMG_NUM_FORMAT_{_image_number(format_)}")


def _image_data_format(format_: PixelFormat, level: int, chip: str) -> int:
    # Stencil beside depth: as bytes, so that gathering works on GFX6 to GFX8.
    stencil = {"X24S8_UINT": "8_24", "S8X24_UINT": "24_8"}.get(format_.name)
    if stencil is not None:
        return _image_data(stencil if has_stencil_image_formats(level) else "8_8_8_8")
    if format_.name in _IMAGE_NAMES:
        return _image_data(_IMAGE_NAMES[format_.name])
    channel = format_.first_channel
    if format_.layout == "subsampled" or format_.color_space in ("zs", "yuv") or format_.is_mixed or channel is None:
        return UNSUPPORTED
    sizes = _sizes(format_)
    small = sizes in ((4, 4, 4, 4), (5, 5, 5, 1), (1, 5, 5, 5))
    if (chip == "carrizo" and small and channel.integer) or (sizes == (64,) and channel.type == "float"):
        return UNSUPPORTED
    name = _IMAGE_SIZES.get(sizes)
    return UNSUPPORTED if name is None else _image_data(name)


def _image_number(format_: PixelFormat) -> str:
    channel = format_.first_channel
    if format_.name == "S8_UINT_Z24_UNORM":
        return "UNORM"
    if channel is None:
        if format_.is_compressed:
            is_srgb = format_.color_space == "srgb" and format_.layout in ("s3tc", "bptc", "etc")
            return "SRGB" if is_srgb else "SNORM" if format_.name in _SNORM_BLOCKS else "UNORM"
        return "UNORM" if format_.layout == "subsampled" else "FLOAT"
    if format_.color_space == "srgb":
        return "SRGB"
    if channel.type in ("float", "fixed"):
        return "FLOAT" if channel.type == "float" else "UNORM"
    sign = "S" if channel.type == "signed" else "U"
    return f"{sign}NORM" if channel.normalized else f"{sign}INT" if channel.integer else f"{sign}SCALED"


# --------------------------------------------------------------------------------------------- unified formats (GFX10+)
_UNIFIED_NAMES = {
    "Z16_UNORM": "16_UNORM", "S8_UINT": "8_UINT", "X24S8_UINT": "8_24_UINT", "S8X24_UINT": "24_8_UINT",
    "Z24X8_UNORM": "8_24_UNORM", "Z24_UNORM_S8_UINT": "8_24_UNORM", "X8Z24_UNORM": "24_8_UNORM", "S8_UINT_Z24_UNORM": "24_8_UNORM",
    "Z32_FLOAT": "32_FLOAT", "Z32_FLOAT_S8X24_UINT": "X24_8_32_FLOAT", "X32_S8X24_UINT": "X24_8_32_UINT",
    "R9G9B9E5_FLOAT": "5_9_9_9_FLOAT", "R11G11B10_FLOAT": "10_11_11_FLOAT", "R64_UINT": "32_32_UINT", "R64_SINT": "32_32_SINT",
    "R8G8_B8G8_UNORM": "GB_GR_UNORM", "G8R8_B8R8_UNORM": "GB_GR_UNORM", "R8G8_R8B8_UNORM": "BG_RG_UNORM",
    "G8R8_G8B8_UNORM": "BG_RG_UNORM", "DXT1_RGB": "BC1_UNORM", "DXT1_RGBA": "BC1_UNORM", "DXT1_SRGB": "BC1_SRGB",
    "DXT1_SRGBA": "BC1_SRGB", "DXT3_RGBA": "BC2_UNORM", "DXT3_SRGBA": "BC2_SRGB", "DXT5_RGBA": "BC3_UNORM", "DXT5_SRGBA": "BC3_SRGB",
    "RGTC1_UNORM": "BC4_UNORM", "RGTC1_SNORM": "BC4_SNORM", "RGTC2_UNORM": "BC5_UNORM", "RGTC2_SNORM": "BC5_SNORM",
    "LATC1_UNORM": "BC4_UNORM", "LATC1_SNORM": "BC4_SNORM", "LATC2_UNORM": "BC5_UNORM", "LATC2_SNORM": "BC5_SNORM",
    "BPTC_RGB_UFLOAT": "BC6_UFLOAT", "BPTC_RGB_FLOAT": "BC6_SFLOAT", "BPTC_RGBA_UNORM": "BC7_UNORM", "BPTC_SRGBA": "BC7_SRGB",
    # a driver has no use for these
    "L8A8_SRGB": "",
}


@cache
def _unified(level: int) -> dict[str, int]:
    values = registers(level)["SQ_BUF_RSRC_WORD3"].field("FORMAT").values
    return {re.sub(r"^GFX1\d_FORMAT_", "", name): number for number, name in values.items()}


@checked
def unified_format(format_: PixelFormat, level: int) -> HardwareFormat:
    """Return the format that buffer and image descriptors share from GFX10 on.

    Parameters
    ----------
    format_ : PixelFormat
    level : int
        Hardware level times ten, 100 or later.
    """
    known = _unified(level)
    special = _UNIFIED_NAMES.get(format_.name)
    if special is not None:
        return HardwareFormat(known.get(special, 0), False)
    if format_.layout != "plain" or format_.is_mixed or format_.color_space == "zs" or format_.first_channel is None:
        return HardwareFormat(0, False)
    sizes, kind, only_buffers = _unified_parts(format_)
    if (only_buffers and format_.color_space == "srgb") or (len(sizes) == 2 and sizes[0] == 4):
        return HardwareFormat(0, False)
    number = known.get("_".join(str(size) for size in reversed(sizes)) + f"_{kind}", 0)
    return HardwareFormat(number, only_buffers and number != 0)


def _unified_parts(format_: PixelFormat) -> tuple[list[int], str, bool]:
    """Channel sizes, number format, and whether only buffers may have it."""
    channel = format_.first_channel
    assert channel is not None
    sizes = list(_sizes(format_))
    only_buffers = False
    if format_.color_space == "srgb":
        kind = "SRGB"
    elif channel.type == "float":
        kind = "FLOAT"
        if sizes[0] == 64:
            sizes, only_buffers = ([32, 32] if len(sizes) % 2 else [32, 32, 32, 32]), True
    else:
        sign = "U" if channel.type == "unsigned" else "S"
        converted = not channel.integer and (sizes[0] == 32 or not channel.normalized)
        kind = f"{sign}INT" if channel.integer or sizes[0] == 32 else f"{sign}NORM" if channel.normalized else f"{sign}SCALED"
        only_buffers = converted
    if len(sizes) == 3 and sizes[0] in (8, 16, 32) and sizes[0] == sizes[1]:
        only_buffers = True
        if sizes[0] != 32:
            sizes = sizes[:1]
    return sizes, kind, only_buffers


# --------------------------------------------------------------------------------------------------- colour and depth
_COLOR_SIZES = {
    (8,): "8", (16,): "16", (32,): "32", (64,): "32_32", (8, 8): "8_8", (16, 16): "16_16", (32, 32): "32_32", (8, 24): "24_8",
    (24, 8): "8_24", (5, 6, 5): "5_6_5", (32, 8, 24): "X24_8_32_FLOAT", (4, 4, 4, 4): "4_4_4_4", (8, 8, 8, 8): "8_8_8_8",
    (16, 16, 16, 16): "16_16_16_16", (32, 32, 32, 32): "32_32_32_32", (5, 5, 5, 1): "1_5_5_5", (1, 5, 5, 5): "5_5_5_1",
    (10, 10, 10, 2): "2_10_10_10", (2, 10, 10, 10): "10_10_10_2",
}


@checked
def color_formats(format_: PixelFormat, level: int) -> tuple[int, int]:
    """Return format and number type of a colour target; format 0 where the hardware has none."""
    name = _color_name(format_, level)
    number = _value("CB_COLOR0_INFO", "FORMAT", f"COLOR_{name}", 103 if name == "5_9_9_9" else 60)
    return number, _value("CB_COLOR0_INFO", "NUMBER_TYPE", f"NUMBER_{_color_number(format_)}")


def _color_name(format_: PixelFormat, level: int) -> str:
    if format_.name == "R11G11B10_FLOAT":
        return "10_11_11"
    if format_.name == "R9G9B9E5_FLOAT" and has_shared_e5_targets(level):
        return "5_9_9_9"
    channel = format_.first_channel
    if format_.layout != "plain" or (format_.is_mixed and format_.color_space != "zs"):
        return "INVALID"
    scaled = channel is not None and channel.type in ("unsigned", "signed") and not channel.normalized and not channel.integer
    return "INVALID" if scaled else _COLOR_SIZES.get(_sizes(format_), "INVALID")


def _color_number(format_: PixelFormat) -> str:
    channel = format_.first_channel
    if channel is None or channel.type == "float":
        return "FLOAT"
    if format_.color_space == "srgb":
        return "SRGB"
    if channel.type == "fixed":
        return "UNORM"
    sign = "S" if channel.type == "signed" else "U"
    return f"{sign}INT" if channel.integer else f"{sign}NORM"


_STD, _ALT, _STD_REV, _ALT_REV = range(4)


@checked
def color_swap(format_: PixelFormat, level: int) -> int:
    """Return how a colour target's channels are ordered: 0 as they come, 1 alternate, 2 and 3 reversed; ``UNSUPPORTED`` where in none."""
    if format_.name == "R11G11B10_FLOAT" or (format_.name == "R9G9B9E5_FLOAT" and has_shared_e5_targets(level)):
        return _STD
    if format_.layout != "plain":
        return UNSUPPORTED
    x, y, z, w = format_.swizzle
    count = len(format_.channels)
    if count == 1:
        return _STD if x == 0 else _ALT_REV if w == 0 else UNSUPPORTED
    if count == 2:
        return _swap_of_two(x, y, w)
    if count == 3:
        return _STD if x == 0 else _STD_REV if x == 2 else UNSUPPORTED
    # The first and the last channel may be nothing.
    return {(1, 2): _STD, (2, 1): _STD_REV, (1, 0): _ALT, (2, 3): _ALT_REV}.get((y, z), UNSUPPORTED) if count == 4 else UNSUPPORTED


def _swap_of_two(x: int, y: int, w: int) -> int:
    if (x, y) in ((0, 1), (0, NONE), (NONE, 1)):
        return _STD
    if (x, y) in ((1, 0), (1, NONE), (NONE, 0)):
        return _STD_REV
    return _ALT if (x, w) == (0, 1) else _ALT_REV if (x, w) == (1, 0) else UNSUPPORTED


@checked
def depth_format(format_: PixelFormat) -> int:
    """Return the depth target's format: 1 for 16 bits, 2 for 24, 3 for 32-bit floats, 0 for none."""
    sizes = {(channel.size, channel.type) for channel in format_.channels if channel.letter == "Z"}
    return {(16, "unsigned"): 1, (24, "unsigned"): 2, (32, "float"): 3}.get(next(iter(sizes), (0, "")), 0)


_BORDER = {"xyzw": 0, "xwyz": 1, "wzyx": 2, "wxyz": 3, "zyxw": 4, "yxwz": 5}


@checked
def border_color_swizzle(format_: PixelFormat) -> int:
    """Return the order in which the hardware reads a border colour."""
    x, y, z, w = format_.swizzle
    if format_.name == "S8_UINT":
        return _BORDER["xyzw"]
    if w == 0:
        return _BORDER["wzyx" if z == 1 else "wxyz"]
    if x == 0:
        return _BORDER["xyzw" if y == 1 else "xwyz"]
    return _BORDER["yxwz" if y == 0 else "zyxw" if z == 0 else "xyzw"]


@checked
def alpha_is_on_msb(format_: PixelFormat, level: int, chip: str = "") -> bool:
    """Return whether compression treats the highest channel as alpha, as the hardware decides up to GFX10.3."""
    if not has_alpha_on_msb(level):
        return False
    swap = color_swap(_simplified(format_), level)
    if len(_simplified(format_).channels) == 1:
        return (swap == _ALT_REV) != (chip in ("raven2", "renoir"))
    return swap not in (_STD_REV, _ALT_REV)


def _simplified(format_: PixelFormat) -> PixelFormat:
    """Luminance and intensity count as red."""
    letters = {channel.letter for channel in format_.channels}
    if not letters & {"L", "I"} or format_.layout != "plain":
        return format_
    from dataclasses import replace

    places = {("R" if c.letter in "LI" else c.letter): n for n, c in enumerate(format_.channels)}
    return replace(format_, swizzle=(places["R"], 4, 4, places.get("A", 5)))
