"""What the words of image and sampler descriptors say: layout in memory, format of texels, filters.

The engine asks once for each descriptor that it meets (`Descriptors`); words come from programs, so that nothing about them is certain.

Sources: the register database's ``SQ_IMG_RSRC_WORD*`` and ``SQ_IMG_SAMP_WORD*``; AMD's ISA documents, "Image Resource Definition".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from pyaco.emu.image_layouts import MULTISAMPLED, Elements, SurfaceLayouts
from pyaco.errors import InputError, PyacoError, UnsupportedError
from pyaco.registers import registers
from pyaco.targets.features import (
    has_split_min_lod,
    has_split_perf_mip,
    has_unified_buffer_formats,
)

if TYPE_CHECKING:
    from pyaco.addrlib.tiling import LevelTables

__all__ = ["DescriptorReader", "ImageDescription", "SamplerDescription", "TexelLayout", "texel_layout"]

_FIRST_TYPE = 8
_KINDS = {"UNORM": 0, "SNORM": 1, "USCALED": 2, "SSCALED": 3, "UINT": 4, "SINT": 5, "FLOAT": 7, "SRGB": 9}
_UINT, _SINT = _KINDS["UINT"], _KINDS["SINT"]
_COLOR_BLOCKS = {"BC1": "bc1_rgba", "BC2": "bc2", "BC3": "bc3", "BC7": "bc7", "ETC2_RGB": "etc2_rgb", "ETC2_RGBA1": "etc2_rgba1",
                 "ETC2_RGBA": "etc2_rgba8"}
_OTHER_BLOCKS = {
    "BC4_UNORM": "bc4_unorm", "BC4_SNORM": "bc4_snorm", "BC5_UNORM": "bc5_unorm", "BC5_SNORM": "bc5_snorm", "BC6_UFLOAT": "bc6h_unsigned",
    "BC6_SFLOAT": "bc6h_signed", "BC6_UNORM": "bc6h_unsigned", "BC6_SNORM": "bc6h_signed", "ETC2_R_UNORM": "eac_r11_unorm",
    "ETC2_R_SNORM": "eac_r11_snorm", "ETC2_RG_UNORM": "eac_rg11_unorm", "ETC2_RG_SNORM": "eac_rg11_snorm",
}
# For each channel of the memory, the component of a border colour: xyzw, xwyz, wzyx, wxyz, zyxw, yxwz (BC_SWIZZLE).
_BORDER_ORDERS = ((0, 1, 2, 3), (0, 3, 1, 2), (3, 2, 1, 0), (3, 0, 1, 2), (2, 1, 0, 3), (1, 0, 3, 2), (0, 1, 2, 3), (0, 1, 2, 3))
_SMALL_BLOCKS = ("bc1_rgba", "bc4_unorm", "bc4_snorm", "etc2_rgb", "etc2_rgba1", "eac_r11_unorm", "eac_r11_snorm")
# Stoney, Vega 10, Raven, Raven 2, as Mesa's ac_gpu_info.c says
_ETC2_TARGETS = ("gfx810", "gfx900", "gfx902", "gfx909")
_NO_CHANNEL = (0, 0, 0)


@dataclass(frozen=True)
class TexelLayout:
    """How the bytes of an element become components.

    Attributes
    ----------
    bytes : int
    channels : tuple of (int, int, int)
        For x, y, z and w: first bit, bits (0: the format has none), and kind as the engine numbers them.
    integer, shared_exponent, clamped : bool
    codec : str
        Of formats of blocks: what decodes them, a name in ``_core.texels``; `block` is their width and height, `srgb` says whether colours are
        encoded.
    fmask : (int, int, int), optional
        Of FMASK, whose words say which fragment each sample has: samples and fragments of a pixel, and bits of memory for each sample.
        Shaders read four bits for each.
    """

    bytes: int
    channels: tuple[tuple[int, int, int], ...]
    integer: bool = False
    shared_exponent: bool = False
    clamped: bool = False
    codec: str = ""
    block: tuple[int, int] = (1, 1)
    srgb: bool = False
    fmask: tuple[int, int, int] | None = None


@cache
def texel_layout(name: str) -> TexelLayout:
    """Return the layout of a format by the hardware's name for it, such as ``2_10_10_10_UNORM``: sizes from the highest bit down.

    Raises
    ------
    UnsupportedError
        Formats of video, of parts of a byte, and ASTC, which no chip here has.
    """
    if fmask := re.fullmatch(r"FMASK(8|16|32|64)_S(\d+)_F(\d+)", name):
        samples, fragments = int(fmask[2]), int(fmask[3])
        bits = (fragments if fragments < samples else fragments - 1).bit_length()
        return TexelLayout(int(fmask[1]) // 8, (_NO_CHANNEL,) * 4, True, fmask=(samples, fragments, 4 if bits == 3 else bits))
    base, _, meaning = name.rpartition("_")
    codec = _OTHER_BLOCKS.get(name) or (_COLOR_BLOCKS.get(base, "") if meaning in ("UNORM", "SRGB") else "")
    if codec:
        return TexelLayout(8 if codec in _SMALL_BLOCKS else 16, (_NO_CHANNEL,) * 4, codec=codec, block=(4, 4), srgb=meaning == "SRGB")
    if name == "5_9_9_9_FLOAT":
        return TexelLayout(4, (*((9 * k, 9, _KINDS["FLOAT"]) for k in range(3)), _NO_CHANNEL), shared_exponent=True)
    match = re.fullmatch(r"(X24_)?((?:\d+_)+)(UNORM|SNORM|USCALED|SSCALED|UINT|SINT|FLOAT|SRGB)(_CLAMP)?", name)
    sizes = [int(size) for size in match[2].rstrip("_").split("_")][::-1] if match else []
    if match is None or sum(sizes) + (24 if match[1] else 0) not in (8, 16, 32, 64, 96, 128) or len(sizes) > 4:
        raise UnsupportedError(f"texels of the format {name} in the emulator")
    channels, position = [], 0
    for number, size in enumerate(sizes):
        kind = _KINDS[match[3]]
        if kind == _KINDS["SRGB"] and number == 3:
            kind = _KINDS["UNORM"]
        if kind == _KINDS["FLOAT"] and size == 8:
            kind = _UINT                                    # stencil beside depth
        channels.append((position, size, kind))
        position += size
    channels += [_NO_CHANNEL] * (4 - len(channels))
    return TexelLayout((position + (24 if match[1] else 0)) // 8, tuple(channels), _KINDS[match[3]] in (_UINT, _SINT), clamped=bool(match[4]))


@dataclass(frozen=True)
class ImageDescription:
    """What the engine takes over of an image descriptor; its ``ImageView`` says what each attribute means."""

    empty: bool
    type: int = 0
    select: tuple[int, int, int, int] = (4, 5, 6, 7)
    border: tuple[int, int, int, int] = (0, 1, 2, 3)
    samples: int = 1
    first_level: int = 0
    last_level: int = 0
    levels: int = 1
    min_lod: int = 0
    first_layer: int = 0
    layers: int = 1
    base: int = 0
    format: TexelLayout = TexelLayout(4, (_NO_CHANNEL,) * 4)
    width: int = 1
    height: int = 1
    tables: dict[int, LevelTables] | None = None


@dataclass(frozen=True)
class SamplerDescription:
    """What the engine takes over of a sampler; its ``Sampler`` says what each attribute means."""

    clamp: tuple[int, int, int]
    mag_filter: int
    min_filter: int
    z_filter: int
    mip_filter: int
    anisotropy: int
    compare: int
    unnormalized: int
    truncate: int
    cube_wrap: int
    reduction: int
    border: int
    border_number: int
    perf_mip: int
    min_lod: int
    max_lod: int
    bias: int


class DescriptorReader:
    """Reads the descriptors of one chip.

    Parameters
    ----------
    target : str
        A gfx name; its chip says how memory is interleaved.
    level : int
        Hardware level times ten.
    """

    def __init__(self, target: str, level: int) -> None:
        self.target, self.level = target, level
        self._layouts = SurfaceLayouts(target, level)

    @property
    def table_bytes(self) -> int:
        """Bytes of the tables that are kept."""
        return self._layouts.table_bytes

    def forget(self) -> None:
        """Drop the layouts that are kept."""
        self._layouts.forget()

    @cached_property
    def _places(self) -> dict[str, tuple[tuple[str, int, int, int], ...]]:
        """Name, word, first bit and mask of each field of images and samplers."""
        known = registers(self.level)
        return {
            prefix: tuple((field.name, k, field.low, (1 << (field.high - field.low + 1)) - 1)
                          for k in range(count) for field in known[f"{prefix}{k}"].fields)
            for prefix, count in (("SQ_IMG_RSRC_WORD", 8), ("SQ_IMG_SAMP_WORD", 4))
        }

    def _fields(self, prefix: str, words: Sequence[int]) -> dict[str, int]:
        return {name: words[k] >> low & mask for name, k, low, mask in self._places[prefix]}

    # ------------------------------------------------------------------------------------------------------------ images
    def image(self, words: Sequence[int]) -> ImageDescription:
        """Return what eight words say.

        Raises
        ------
        InputError
            No image has such words.
        UnsupportedError
            Formats and layouts that the emulator does not read.
        """
        f = self._fields("SQ_IMG_RSRC_WORD", words)
        if not any(words[1:]) or f["TYPE"] == 0:
            return ImageDescription(True)
        if f["TYPE"] < _FIRST_TYPE:
            raise InputError(f"type {f['TYPE']} of an image descriptor ({_in_words(words)})")
        if f.get("COMPRESSION_EN"):
            raise UnsupportedError(f"compressed images in the emulator ({_in_words(words)})")
        return self._described(words, f)

    def _described(self, words: Sequence[int], f: dict[str, int]) -> ImageDescription:
        form = texel_layout(self._format_name(f))
        if form.codec.startswith(("etc2", "eac")) and self.target not in _ETC2_TARGETS:
            raise UnsupportedError(f"ETC2 on {self.target}: {', '.join(_ETC2_TARGETS)} have it ({_in_words(words)})")
        multisampled = f["TYPE"] in MULTISAMPLED
        samples = 1 << f["LAST_LEVEL"] if multisampled else 1
        if samples > 16:
            raise InputError(f"{samples} samples of an image ({_in_words(words)})")
        first, last = (0, 0) if multisampled else (f["BASE_LEVEL"], f["LAST_LEVEL"])
        levels = 1 if multisampled else f["MAX_MIP"] + 1 if "MAX_MIP" in f else last + 1
        if not first <= last < levels:
            raise InputError(f"levels {first} to {last} of an image of {levels} ({_in_words(words)})")
        first_layer, layers, slices = self._layouts.layers(f)
        if layers < 1:
            raise InputError(f"layers from {first_layer} to {slices - 1} of an image ({_in_words(words)})")
        try:
            tiled, base = self._layouts.find(f, (words[0] | (f["BASE_ADDRESS_HI"] << 32)) << 8,
                                             Elements(form.bytes, form.block, levels, slices, samples, form.fmask is not None))
        except PyacoError as error:
            raise type(error)(f"{error} ({_in_words(words)})") from error
        width, height = self._layouts.size(f)
        return ImageDescription(
            False, f["TYPE"], (f["DST_SEL_X"], f["DST_SEL_Y"], f["DST_SEL_Z"], f["DST_SEL_W"]), _BORDER_ORDERS[f.get("BC_SWIZZLE", 0)], samples,
            first, last, levels, self._min_lod(f), first_layer, layers, base, form, width, height,
            {number: self._layouts.tables(tiled, number) for number in range(first, last + 1)})

    def _format_name(self, f: dict[str, int]) -> str:
        """The format as GFX10 and later name it."""
        word = registers(self.level)["SQ_IMG_RSRC_WORD1"]
        if has_unified_buffer_formats(self.level):
            return re.sub(r"^GFX1\d_FORMAT_", "", word.field("FORMAT").values.get(f["FORMAT"], f"{f['FORMAT']}"))
        data = self._data_format(f["DATA_FORMAT"])
        if data == "FMASK":
            number = word.field("NUM_FORMAT_FMASK").values.get(f["NUM_FORMAT"], "?")
            return re.sub(r"^IMG_NUM_FORMAT_FMASK_(\d+)_(\d+)_(\d+)$", r"FMASK\1_S\2_F\3", number)
        number = word.field("NUM_FORMAT").values.get(f["NUM_FORMAT"], "?").removeprefix("IMG_NUM_FORMAT_")
        return data if data.startswith("FMASK") else f"{data}_{number}"

    def _data_format(self, number: int) -> str:
        # Stoney, of level 8.0 else, has ETC2's numbers and those of FMASK, which GFX9 numbers otherwise
        level = 81 if self.target == "gfx810" else self.level
        return registers(level)["SQ_IMG_RSRC_WORD1"].field("DATA_FORMAT").values.get(number, "?").removeprefix("IMG_DATA_FORMAT_")

    def _min_lod(self, f: dict[str, int]) -> int:
        if not has_split_min_lod(self.level):
            return f["MIN_LOD"]
        low = next(mask.bit_length() for name, _, _, mask in self._places["SQ_IMG_RSRC_WORD"] if name == "MIN_LOD_LO")
        return f["MIN_LOD_LO"] | f["MIN_LOD_HI"] << low

    # ---------------------------------------------------------------------------------------------------------- samplers
    def sampler(self, words: Sequence[int]) -> SamplerDescription:
        """Return what four words say."""
        f = self._fields("SQ_IMG_SAMP_WORD", words)
        bias = f["LOD_BIAS"] - (1 << 14 if f["LOD_BIAS"] >> 13 else 0)
        perf_mip = f["PERF_MIP_LO"] | f["PERF_MIP_HI"] << 2 if has_split_perf_mip(self.level) else f["PERF_MIP"]
        return SamplerDescription(
            (f["CLAMP_X"], f["CLAMP_Y"], f["CLAMP_Z"]), f["XY_MAG_FILTER"], f["XY_MIN_FILTER"], f["Z_FILTER"], f["MIP_FILTER"],
            f["MAX_ANISO_RATIO"], f["DEPTH_COMPARE_FUNC"], f["FORCE_UNNORMALIZED"], f["TRUNC_COORD"], 1 - f["DISABLE_CUBE_WRAP"],
            f["FILTER_MODE"], f["BORDER_COLOR_TYPE"], f["BORDER_COLOR_PTR"],
            perf_mip, f["MIN_LOD"], f["MAX_LOD"], bias)


def _in_words(words: Sequence[int]) -> str:
    return " ".join(f"{word:08x}" for word in words)
