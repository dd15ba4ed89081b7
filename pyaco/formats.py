"""Pixel formats by name: blocks, channels, how channels become colour components.

Names are those of Mesa's ``pipe_format`` without the prefix; where a format has channels they are named from the lowest bit up:
``B8G8R8A8_UNORM`` has blue in its first byte. Plain formats are read off their names; the table below holds the others.

Sources: the Khronos Data Format Specification (block sizes of compressed formats); Mesa's ``u_format.yaml`` (names, swizzles).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["NONE", "ONE", "SHORT_NAMES", "ZERO", "Channel", "PixelFormat", "pixel_format"]

ZERO, ONE, NONE = 4, 5, 6
"""Swizzle entries besides the numbers of channels."""

_KINDS = {
    "UNORM": ("unsigned", True, False), "SNORM": ("signed", True, False), "USCALED": ("unsigned", False, False),
    "SSCALED": ("signed", False, False), "UINT": ("unsigned", False, True), "SINT": ("signed", False, True),
    "FLOAT": ("float", False, False), "SRGB": ("unsigned", True, False), "FIXED": ("fixed", False, False),
}

# name | block width x height x depth | bits of a block | layout | colour space | swizzle | channels: bits, s for signed
_OTHERS = """
UYVY VYUY YUYV YVYU                                                            | 2x1x1 | 32  | subsampled | yuv | xyz1 | 8 8 8 8
R8G8_B8G8_UNORM G8R8_G8B8_UNORM G8B8_G8R8_UNORM B8G8_R8G8_UNORM                | 2x1x1 | 32  | subsampled | rgb | xyz1 | 8 8 8 8
R8G8_R8B8_UNORM G8R8_B8R8_UNORM                                                | 2x1x1 | 32  | subsampled | rgb | zyx1 | 8 8 8 8
R8B8_R8G8_UNORM B8R8_G8R8_UNORM                                                | 2x1x1 | 32  | subsampled | rgb | yxz1 | 8 8 8 8
DXT1_RGB                                                                       | 4x4x1 | 64  | s3tc | rgb  | xyz1 | -
DXT1_RGBA                                                                      | 4x4x1 | 64  | s3tc | rgb  | xyzw | -
DXT3_RGBA DXT5_RGBA                                                            | 4x4x1 | 128 | s3tc | rgb  | xyzw | -
DXT1_SRGB                                                                      | 4x4x1 | 64  | s3tc | srgb | xyz1 | -
DXT1_SRGBA                                                                     | 4x4x1 | 64  | s3tc | srgb | xyzw | -
DXT3_SRGBA DXT5_SRGBA                                                          | 4x4x1 | 128 | s3tc | srgb | xyzw | -
RGTC1_UNORM RGTC1_SNORM                                                        | 4x4x1 | 64  | rgtc | rgb  | x001 | -
RGTC2_UNORM RGTC2_SNORM                                                        | 4x4x1 | 128 | rgtc | rgb  | xy01 | -
LATC1_UNORM LATC1_SNORM                                                        | 4x4x1 | 64  | rgtc | rgb  | xxx1 | -
LATC2_UNORM LATC2_SNORM                                                        | 4x4x1 | 128 | rgtc | rgb  | xxxy | -
BPTC_RGBA_UNORM                                                                | 4x4x1 | 128 | bptc | rgb  | xyzw | -
BPTC_SRGBA                                                                     | 4x4x1 | 128 | bptc | srgb | xyzw | -
BPTC_RGB_FLOAT BPTC_RGB_UFLOAT                                                 | 4x4x1 | 128 | bptc | rgb  | xyz1 | -
ETC1_RGB8 ETC2_RGB8                                                            | 4x4x1 | 64  | etc  | rgb  | xyz1 | -
ETC2_SRGB8                                                                     | 4x4x1 | 64  | etc  | srgb | xyz1 | -
ETC2_RGB8A1                                                                    | 4x4x1 | 64  | etc  | rgb  | xyzw | -
ETC2_SRGB8A1                                                                   | 4x4x1 | 64  | etc  | srgb | xyzw | -
ETC2_RGBA8                                                                     | 4x4x1 | 128 | etc  | rgb  | xyzw | -
ETC2_SRGBA8                                                                    | 4x4x1 | 128 | etc  | srgb | xyzw | -
ETC2_R11_UNORM ETC2_R11_SNORM                                                  | 4x4x1 | 64  | etc  | rgb  | x001 | -
ETC2_RG11_UNORM ETC2_RG11_SNORM                                                | 4x4x1 | 128 | etc  | rgb  | xy01 | -
FXT1_RGB                                                                       | 8x4x1 | 128 | fxt1 | rgb  | xyz1 | -
FXT1_RGBA                                                                      | 8x4x1 | 128 | fxt1 | rgb  | xyzw | -
ATC_RGB                                                                        | 4x4x1 | 64  | atc  | rgb  | xyz1 | -
ATC_RGBA_EXPLICIT ATC_RGBA_INTERPOLATED                                        | 4x4x1 | 128 | atc  | rgb  | xyzw | -
R9G9B9E5_FLOAT                                                                 | 1x1x1 | 32  | other | rgb | xyz1 | -
R11G11B10_FLOAT                                                                | 1x1x1 | 32  | other | rgb | xyz1 | -
Y210 Y212 Y216                                                                 | 2x1x1 | 64  | subsampled | yuv | xyz1 | -
Y410                                                                           | 1x1x1 | 32  | other | yuv | yzxw | 10 10 10 2
Y412 Y416                                                                      | 1x1x1 | 64  | other | yuv | yzxw | 16 16 16 16
Y8_UNORM Y8_400_UNORM                                                          | 1x1x1 | 8   | other | yuv | x001 | 8
AYUV                                                                           | 4x4x1 | 8   | other | yuv | xyzw | 8
XYUV                                                                           | 4x4x1 | 8   | other | yuv | xyz1 | 8
R1_UNORM                                                                       | 8x1x1 | 8   | other | rgb | x001 | -
R8G8Bx_SNORM                                                                   | 1x1x1 | 16  | other | rgb | xyz1 | 8s 8s
NV12 NV21 P010 P012 P016 P030 Y8_U8V8_422_UNORM Y16_U16V16_422_UNORM           | 1x1x1 | 0   | planar2 | yuv | xyzw | -
YV12 YV16 IYUV Y8_U8_V8_422_UNORM Y8_U8_V8_444_UNORM Y8_U8_V8_440_UNORM        | 1x1x1 | 0   | planar3 | yuv | xyzw | -
Y16_U16_V16_420_UNORM Y16_U16_V16_422_UNORM Y16_U16_V16_444_UNORM              | 1x1x1 | 0   | planar3 | yuv | xyzw | -
R8_G8B8_420_UNORM R8_B8G8_420_UNORM G8_B8R8_420_UNORM                          | 1x1x1 | 8   | planar2 | rgb | xyzw | 8
R8_G8_B8_420_UNORM R8_B8_G8_420_UNORM G8_B8_R8_420_UNORM R8_G8_B8_UNORM        | 1x1x1 | 8   | planar3 | rgb | xyzw | 8
"""
# Short names of what is asked for most, for people who type.
_SHORT_NAMES = """
r8 R8_UNORM | a8 A8_UNORM | l8 L8_UNORM | rg8 R8G8_UNORM | rgba8 R8G8B8A8_UNORM | bgra8 B8G8R8A8_UNORM
r16 R16_UNORM | rg16 R16G16_UNORM | rgba16 R16G16B16A16_FLOAT | r5g6b5 R5G6B5_UNORM | rgb5a1 R5G5B5A1_UNORM | rgba4 R4G4B4A4_UNORM
r32 R32_FLOAT | rg32 R32G32_FLOAT | rgb32 R32G32B32_FLOAT | rgba32 R32G32B32A32_FLOAT
rgb10a2 R10G10B10A2_UNORM | r11g11b10 R11G11B10_FLOAT | rgb9e5 R9G9B9E5_FLOAT | yuyv YUYV | uyvy UYVY
bc1 DXT1_RGBA | bc2 DXT3_RGBA | bc3 DXT5_RGBA | bc4 RGTC1_UNORM | bc5 RGTC2_UNORM | bc6h BPTC_RGB_UFLOAT | bc7 BPTC_RGBA_UNORM
etc2-rgb8 ETC2_RGB8 | etc2-rgba8 ETC2_RGBA8 | eac-r11 ETC2_R11_UNORM | eac-rg11 ETC2_RG11_UNORM | astc-4x4 ASTC_4x4
d16 Z16_UNORM | d32 Z32_FLOAT | x8d24 X8Z24_UNORM | s8 S8_UINT | d16s8 Z16_UNORM_S8_UINT | d24s8 Z24_UNORM_S8_UINT
d32s8 Z32_FLOAT_S8X24_UINT
"""
SHORT_NAMES = dict(entry.split() for entry in _SHORT_NAMES.strip().replace("\n", "|").split("|"))
"""Full name by short name; `pixel_format` takes both."""
_LETTERS = {"x": 0, "y": 1, "z": 2, "w": 3, "0": ZERO, "1": ONE, "_": NONE}
_PLAIN = re.compile(r"((?:[RGBAXLI]\d+)+)_(UNORM|SNORM|USCALED|SSCALED|UINT|SINT|FLOAT|SRGB|FIXED)")
_DEPTH = re.compile(r"((?:[ZSX]\d+(?:_UNORM|_FLOAT|_UINT)?_?)+)")
_ASTC = re.compile(r"ASTC_(\d+)x(\d+)(?:x(\d+))?(_SRGB)?")


@dataclass(frozen=True)
class Channel:
    """Bits of a texel.

    Attributes
    ----------
    letter : str
        R, G, B, A, L (luminance), I (intensity), Z, S, or X for bits without meaning.
    size : int
        Bits.
    type : str
        unsigned, signed, float, fixed, or void.
    normalized, integer : bool
        Whether the number means a fraction, or an integer that is not converted.
    """

    letter: str
    size: int
    type: str
    normalized: bool
    integer: bool


@dataclass(frozen=True)
class PixelFormat:
    """A pixel format.

    Attributes
    ----------
    name : str
    block : tuple of int
        Texels of a block in x, y and z.
    bits : int
        Bits of a block.
    layout : str
        plain, subsampled, s3tc, rgtc, bptc, etc, astc, fxt1, atc, planar2, planar3 (planes of their own) or other.
    color_space : str
        rgb, srgb, yuv or zs (depth and stencil).
    channels : tuple of Channel
        From the lowest bit up; empty where a block has no channels of its own.
        Letters of formats that are not plain say nothing.
    swizzle : tuple of int
        For red, green, blue and alpha (depth and stencil for zs): the channel, or ZERO, ONE, NONE.
    """

    name: str
    block: tuple[int, int, int]
    bits: int
    layout: str
    color_space: str
    channels: tuple[Channel, ...]
    swizzle: tuple[int, int, int, int]

    @property
    def first_channel(self) -> Channel | None:
        """The first channel that means something."""
        return next((channel for channel in self.channels if channel.type != "void"), None)

    @property
    def is_compressed(self) -> bool:
        """Whether texels share blocks of compressed data."""
        return self.layout in ("s3tc", "rgtc", "bptc", "etc", "astc", "fxt1", "atc")

    @property
    def has_depth(self) -> bool:
        """Whether it has depth."""
        return any(channel.letter == "Z" for channel in self.channels)

    @property
    def has_stencil(self) -> bool:
        """Whether it has stencil."""
        return any(channel.letter == "S" for channel in self.channels)

    @property
    def is_mixed(self) -> bool:
        """Whether its channels are of different kinds."""
        return len({(c.type, c.normalized, c.integer) for c in self.channels if c.type != "void"}) > 1


def _plain(name: str, text: str, kind: str) -> PixelFormat:
    type_, normalized, integer = _KINDS[kind]
    channels = []
    for letter, size in re.findall(r"([A-Z])(\d+)", text):
        # Alpha of an sRGB format is linear, and unsigned normalized like the others.
        void = letter == "X"
        channels.append(Channel(letter, int(size), "void" if void else type_, not void and normalized, not void and integer))
    places = {channel.letter: number for number, channel in enumerate(channels)}
    color = "srgb" if kind == "SRGB" else "rgb"
    return PixelFormat(name, (1, 1, 1), sum(c.size for c in channels), "plain", color, tuple(channels), _swizzle(places))


def _swizzle(places: dict[str, int]) -> tuple[int, int, int, int]:
    if "I" in places:
        return (0, 0, 0, 0)
    if "L" in places:
        light = places["L"]
        return (light, light, light, places.get("A", ONE))
    return (places.get("R", ZERO), places.get("G", ZERO), places.get("B", ZERO), places.get("A", ONE))


def _depth(name: str) -> PixelFormat:
    channels = []
    for part in re.findall(r"([A-Z]\d+(?:[A-Z]\d+)*)(?:_(UNORM|FLOAT|UINT))?", name):
        for letter, size in re.findall(r"([A-Z])(\d+)", part[0]):
            kind = {"Z": part[1] or "UNORM", "S": "UINT"}.get(letter)
            type_, normalized, integer = _KINDS[kind] if kind else ("void", False, False)
            channels.append(Channel(letter, int(size), type_, normalized, integer))
    places = {channel.letter: number for number, channel in enumerate(channels) if channel.letter in "ZS"}
    swizzle = (places.get("Z", NONE), places.get("S", NONE), NONE, NONE)
    return PixelFormat(name, (1, 1, 1), sum(c.size for c in channels), "plain", "zs", tuple(channels), swizzle)


# Signed and unsigned channels in one format: letter, bits, S or U.
_MIXED = {"R8SG8SB8UX8U_NORM": "R8S G8S B8U X8U", "R5SG5SB6U_NORM": "R5S G5S B6U", "R10SG10SB10SA2U_NORM": "R10S G10S B10S A2U"}


def _mixed(name: str) -> PixelFormat:
    channels = []
    for word in _MIXED[name].split():
        type_ = "void" if word[0] == "X" else "signed" if word[-1] == "S" else "unsigned"
        channels.append(Channel(word[0], int(word[1:-1]), type_, type_ != "void", False))
    places = {channel.letter: number for number, channel in enumerate(channels)}
    return PixelFormat(name, (1, 1, 1), sum(c.size for c in channels), "plain", "rgb", tuple(channels), _swizzle(places))


@cache
def _others() -> dict[str, PixelFormat]:
    found = {}
    for line in _OTHERS.strip().splitlines():
        names, block, bits, layout, color, swizzle, channels = (cell.strip() for cell in line.split("|"))
        width, height, depth = (int(word) for word in block.split("x"))
        x, y, z, w = (_LETTERS[letter] for letter in swizzle)
        for name in names.split():
            found[name] = PixelFormat(name, (width, height, depth), int(bits), layout, color, _channels(channels), (x, y, z, w))
    return found


def _channels(text: str) -> tuple[Channel, ...]:
    words = [] if text == "-" else text.split()
    return tuple(Channel("X", int(word.rstrip("s")), "signed" if word.endswith("s") else "unsigned", True, False) for word in words)


@checked
@cache
def pixel_format(name: str) -> PixelFormat:
    """Return the pixel format called `name`, such as ``R8G8B8A8_UNORM``, ``DXT1_RGBA``, ``Z24_UNORM_S8_UINT`` or ``ASTC_8x8_SRGB``.

    The short names of `SHORT_NAMES`, such as ``rgba8``, ``bc7`` or ``d32s8``, do as well.

    Raises
    ------
    InputError
        No such format.
    """
    if not isinstance(name, str):
        raise InputError(f"a pixel format is called by a name, not {name!r}")
    name = SHORT_NAMES.get(name.lower(), name)
    found = _others().get(name)
    if found is not None:
        return found
    if name in _MIXED:
        return _mixed(name)
    if name == "Z24_UNORM_S8_UINT_AS_R8G8B8A8":
        return _plain(name, "R8G8B8A8", "UNORM")
    if match := _PLAIN.fullmatch(name):
        return _plain(name, match[1], match[2])
    if match := _ASTC.fullmatch(name):
        block = (int(match[1]), int(match[2]), int(match[3] or 1))
        return PixelFormat(name, block, 128, "astc", "srgb" if match[4] else "rgb", (), (0, 1, 2, 3))
    if _DEPTH.fullmatch(name) and name[0] in "ZSX":
        return _depth(name)
    raise InputError(f"no pixel format is called {name!r}; there are full names such as R8G8B8A8_UNORM, and: {' '.join(SHORT_NAMES)}")
