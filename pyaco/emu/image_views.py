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

from pyaco.errors import InputError, UnsupportedError
from pyaco.registers import registers
from pyaco.targets.features import (
    has_custom_linear_pitch,
    has_split_min_lod,
    has_split_perf_mip,
    has_swizzle_modes,
    has_unified_buffer_formats,
    has_wide_image_depth,
)

if TYPE_CHECKING:
    from pyaco.addrlib import GpuConfig
    from pyaco.addrlib.tiling import LevelTables, TiledSurface

__all__ = ["DescriptorReader", "ImageDescription", "SamplerDescription", "TexelLayout", "texel_layout"]

_1D, _2D, _3D, _CUBE, _1D_ARRAY, _2D_ARRAY, _2D_MSAA, _2D_MSAA_ARRAY = range(8, 16)
_LAYERED = (_CUBE, _1D_ARRAY, _2D_ARRAY, _2D_MSAA_ARRAY)
_KINDS = {"UNORM": 0, "SNORM": 1, "USCALED": 2, "SSCALED": 3, "UINT": 4, "SINT": 5, "FLOAT": 7, "SRGB": 9}
_UINT, _SINT = _KINDS["UINT"], _KINDS["SINT"]
_NO_CHANNEL = (0, 0, 0)
_TABLE_LIMIT = 1 << 30


@dataclass(frozen=True)
class TexelLayout:
    """How the bytes of an element become components.

    Attributes
    ----------
    bytes : int
    channels : tuple of (int, int, int)
        For x, y, z and w: first bit, bits (0: the format has none), and kind as the engine numbers them.
    integer, shared_exponent, clamped : bool
    """

    bytes: int
    channels: tuple[tuple[int, int, int], ...]
    integer: bool = False
    shared_exponent: bool = False
    clamped: bool = False


@cache
def texel_layout(name: str) -> TexelLayout:
    """Return the layout of a format by the hardware's name for it, such as ``2_10_10_10_UNORM``: sizes from the highest bit down.

    Raises
    ------
    UnsupportedError
        Formats of blocks, of video, and of parts of a byte.
    """
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
    samples: int = 1
    first_level: int = 0
    last_level: int = 0
    levels: int = 1
    min_lod: int = 0
    first_layer: int = 0
    layers: int = 1
    base: int = 0
    format: TexelLayout = TexelLayout(4, (_NO_CHANNEL,) * 4)
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
        self._layouts: dict[tuple[int, ...], TiledSurface] = {}
        self._tables: dict[tuple[TiledSurface, int], LevelTables] = {}
        #: Bytes of the tables that are kept.
        self.table_bytes = 0

    def forget(self) -> None:
        """Drop the layouts that are kept."""
        self._layouts, self._tables, self.table_bytes = {}, {}, 0

    @cached_property
    def _config(self) -> GpuConfig:
        from pyaco.addrlib import gpu_config

        return gpu_config(self.target)

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
        if f["TYPE"] < _1D:
            raise InputError(f"type {f['TYPE']} of an image descriptor ({_in_words(words)})")
        if not has_swizzle_modes(self.level):
            raise UnsupportedError(f"images on {self.target} in the emulator, which has those of GFX9 and later")
        if f.get("COMPRESSION_EN"):
            raise UnsupportedError(f"compressed images in the emulator ({_in_words(words)})")
        return self._described(words, f)

    def _described(self, words: Sequence[int], f: dict[str, int]) -> ImageDescription:
        form = texel_layout(self._format_name(f))
        multisampled = f["TYPE"] in (_2D_MSAA, _2D_MSAA_ARRAY)
        samples = 1 << f["LAST_LEVEL"] if multisampled else 1
        if samples > 16:
            raise InputError(f"{samples} samples of an image ({_in_words(words)})")
        first, last, levels = (0, 0, 1) if multisampled else (f["BASE_LEVEL"], f["LAST_LEVEL"], f["MAX_MIP"] + 1)
        if not first <= last < levels:
            raise InputError(f"levels {first} to {last} of an image of {levels} ({_in_words(words)})")
        first_layer, layers, slices = self._layers(f)
        if layers < 1:
            raise InputError(f"layers from {first_layer} to {slices - 1} of an image ({_in_words(words)})")
        tiled = self._tiled(words, f, form.bytes, slices, levels, samples)
        return ImageDescription(
            False, f["TYPE"], (f["DST_SEL_X"], f["DST_SEL_Y"], f["DST_SEL_Z"], f["DST_SEL_W"]), samples, first, last, levels, self._min_lod(f),
            first_layer, layers, (words[0] | (f["BASE_ADDRESS_HI"] << 32)) << 8, form,
            {number: self._tables_of(tiled, number) for number in range(first, last + 1)})

    def _tables_of(self, tiled: TiledSurface, number: int) -> LevelTables:
        """Tables of a level; those of layouts that are alike are shared."""
        if (tiled, number) not in self._tables:
            found = tiled.tables(number)
            self.table_bytes += sum(table.nbytes for table in (found.x, found.y, found.slice, found.sample))
            if self.table_bytes > _TABLE_LIMIT:
                raise InputError(f"layouts of images that take more than {_TABLE_LIMIT >> 20} MiB in one dispatch")
            self._tables[tiled, number] = found
        return self._tables[tiled, number]

    def _format_name(self, f: dict[str, int]) -> str:
        known = registers(self.level)
        if has_unified_buffer_formats(self.level):
            name = known["SQ_IMG_RSRC_WORD1"].field("FORMAT").values.get(f["FORMAT"], f"{f['FORMAT']}")
            return re.sub(r"^GFX1\d_FORMAT_", "", name)
        word = known["SQ_IMG_RSRC_WORD1"]
        data = word.field("DATA_FORMAT").values.get(f["DATA_FORMAT"], "?").removeprefix("IMG_DATA_FORMAT_")
        return f"{data}_" + word.field("NUM_FORMAT").values.get(f["NUM_FORMAT"], "?").removeprefix("IMG_NUM_FORMAT_")

    def _layers(self, f: dict[str, int]) -> tuple[int, int, int]:
        """First layer, layers of the view, and slices of the surface that are known of."""
        if f["TYPE"] in _LAYERED:
            return f["BASE_ARRAY"], f["DEPTH"] - f["BASE_ARRAY"] + 1, f["DEPTH"] + 1
        if f["TYPE"] == _3D:
            # slices are chosen only where the image is written to
            first = f["BASE_ARRAY"] if f.get("UAV3D") or (f.get("ARRAY_PITCH") and self.level >= 100) else 0
            return first, f["DEPTH"] - first + 1, f["DEPTH"] + 1
        return f["BASE_ARRAY"], 1, f["BASE_ARRAY"] + 1

    def _min_lod(self, f: dict[str, int]) -> int:
        if not has_split_min_lod(self.level):
            return f["MIN_LOD"]
        low = next(mask.bit_length() for name, _, _, mask in self._places["SQ_IMG_RSRC_WORD"] if name == "MIN_LOD_LO")
        return f["MIN_LOD_LO"] | f["MIN_LOD_HI"] << low

    def _pitch(self, f: dict[str, int], levels: int) -> int:
        """The pitch that the descriptor gives for linear images of one level, 0 where it follows from the width."""
        if f["SW_MODE"] or levels > 1:
            return 0
        if "PITCH" in f:
            return f["PITCH"] + 1
        if has_custom_linear_pitch(self.level) and f["TYPE"] in (_1D, _2D):
            pitch = f["DEPTH"] | f["PITCH_MSB"] << (14 if has_wide_image_depth(self.level) else 13)
            return pitch + 1 if pitch else 0
        return 0

    def _tiled(
        self, words: Sequence[int], f: dict[str, int], element: int, slices: int, levels: int, samples: int,
    ) -> TiledSurface:
        """Return the tiled surface, without pipe and bank xor, which the base has."""
        from pyaco.addrlib.enums import ResourceType
        from pyaco.addrlib.tiling import TiledSurface

        width = (f["WIDTH_LO"] | f["WIDTH_HI"] << 2 if "WIDTH_LO" in f else f["WIDTH"]) + 1
        one_dimension = f["TYPE"] in (_1D, _1D_ARRAY)
        height = 1 if one_dimension else f["HEIGHT"] + 1
        resource = ResourceType.TEX_3D if f["TYPE"] == _3D else ResourceType.TEX_1D if one_dimension and self.level >= 100 else ResourceType.TEX_2D
        key = width, height, element, f["SW_MODE"], resource, slices, levels, samples, self._pitch(f, levels)
        if key not in self._layouts:
            try:
                self._layouts[key] = TiledSurface(
                    self._config, width=width, height=height, bpp=8 * element, swizzle_mode=f["SW_MODE"], resource_type=resource,
                    num_slices=slices, num_mip_levels=levels, num_samples=samples, pitch_in_element=key[-1])
            except InputError as error:
                raise InputError(f"{error} ({_in_words(words)})") from error
        return self._layouts[key]

    # ---------------------------------------------------------------------------------------------------------- samplers
    def sampler(self, words: Sequence[int]) -> SamplerDescription:
        """Return what four words say.

        Raises
        ------
        UnsupportedError
            Border colours in a table in memory.
        """
        f = self._fields("SQ_IMG_SAMP_WORD", words)
        if f["BORDER_COLOR_TYPE"] == 3:
            raise UnsupportedError(f"a border colour in a table ({_in_words(words)})")
        bias = f["LOD_BIAS"] - (1 << 14 if f["LOD_BIAS"] >> 13 else 0)
        perf_mip = f["PERF_MIP_LO"] | f["PERF_MIP_HI"] << 2 if has_split_perf_mip(self.level) else f["PERF_MIP"]
        return SamplerDescription(
            (f["CLAMP_X"], f["CLAMP_Y"], f["CLAMP_Z"]), f["XY_MAG_FILTER"], f["XY_MIN_FILTER"], f["Z_FILTER"], f["MIP_FILTER"],
            f["MAX_ANISO_RATIO"], f["DEPTH_COMPARE_FUNC"], f["FORCE_UNNORMALIZED"], f["TRUNC_COORD"], 1 - f["DISABLE_CUBE_WRAP"],
            f["FILTER_MODE"], f["BORDER_COLOR_TYPE"], perf_mip, f["MIN_LOD"], f["MAX_LOD"], bias)


def _in_words(words: Sequence[int]) -> str:
    return " ".join(f"{word:08x}" for word in words)
