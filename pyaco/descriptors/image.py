"""Image descriptors (T#): eight dwords that say where an image lies, how it is laid out, and which part of it is seen.

One table of fields for each group of generations; numbers come from the register database's ``SQ_IMG_RSRC_WORD*``.

Sources: the ISA documents' "Image Resource Definition"; Mesa's ``ac_descriptors.c`` for what drivers set of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyaco.addrlib import GpuConfig
from pyaco.addrlib.driver.queries import check_generation
from pyaco.addrlib.driver.records import DEPTH_OR_STENCIL, Surface, SurfaceMode
from pyaco.arguments import checked
from pyaco.descriptors.buffer import selected_channels
from pyaco.descriptors.hardware_format import UNSUPPORTED, alpha_is_on_msb, border_color_swizzle, image_formats, unified_format
from pyaco.descriptors.sampler import fixed_point
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat, pixel_format
from pyaco.registers import registers
from pyaco.targets.features import (
    has_base_level_in_word1,
    has_clamped_depth_format_11,
    has_custom_linear_pitch,
    has_dcc,
    has_fmask,
    has_max_mip_in_word1,
    has_resource_level_bit,
    has_sampler_mask_in_descriptor,
    has_split_min_lod,
    has_whole_mip_chain_targets,
    has_wide_image_depth,
)

__all__ = ["IMAGE_3D", "ImageView", "fmask_descriptor", "image_descriptor"]

IMAGE_3D = 10
"""SQ_RSRC_IMG_3D."""
_MEASURED_DEPTH = 4
"""PERF_MOD, as drivers set it."""


@dataclass(frozen=True)
class ImageView:
    """The part of a surface that a descriptor shows.

    Attributes
    ----------
    address : int
        Of the buffer that holds the surface.
    format_name : str
        Pixel format of the view.
    surface_format : str
        Pixel format of the surface, where the view has another.
    width, height, depth : int
        Texels of the level that the hardware counts from; up to GFX8 `depth` is layers or slices, from GFX10 on the last one.
    type : int
        SQ_RSRC_IMG_*.
    swizzle : tuple of int
        For x, y, z and w: the channel, or 4 for zero and 5 for one.
    samples, storage_samples : int
    first_level, last_level, levels : int
        Levels that are seen; of the surface.
    first_layer, last_layer : int
    min_lod : float
    unordered_3d : bool
        3D images that are written: layers count as slices (GFX10 and later).
    upgraded_depth : bool
        Depth of 24 bits or less that is stored as floats.
    compressed : bool
        Whether DCC is read; `compressed_depth` HTILE.
    anisotropy_of_one_level : bool
    compressed_writes, iterate_256 : bool
    stencil : bool
        Whether the surface's stencil is seen.
    base_level, block_width : int
        GFX6 to GFX8: the level that width and height are of; texels of a block.
    """

    address: int
    format_name: str
    width: int
    height: int
    depth: int
    type: int
    swizzle: tuple[int, int, int, int] = (0, 1, 2, 3)
    surface_format: str = ""
    samples: int = 1
    storage_samples: int = 1
    first_level: int = 0
    last_level: int = 0
    levels: int = 1
    first_layer: int = 0
    last_layer: int = 0
    min_lod: float = 0.0
    unordered_3d: bool = False
    upgraded_depth: bool = False
    compressed: bool = False
    compressed_depth: bool = False
    anisotropy_of_one_level: bool = False
    compressed_writes: bool = False
    iterate_256: bool = False
    stencil: bool = False
    base_level: int = 0
    block_width: int = 1


Words = dict[int, dict[str, int]]


@checked
def image_descriptor(config: GpuConfig, surface: Surface, view: ImageView) -> tuple[int, ...]:
    """Return the eight dwords of an image descriptor.

    Parameters
    ----------
    config : GpuConfig
    surface : Surface
        What ``pyaco.addrlib.driver.queries.compute_surface`` returned for `config`.
    view : ImageView

    Raises
    ------
    InputError
        A number that does not fit its field.
    """
    check_generation(config, surface)
    format_ = pixel_format(view.format_name)
    words: Words = {k: {} for k in range(8)}
    generation = _gfx12 if config.level >= 120 else _gfx10 if config.level >= 100 else _gfx9 if config.level >= 90 else _gfx6
    base, plain = generation(config, surface, view, format_, words)
    known = registers(config.level)
    words[1]["BASE_ADDRESS_HI"] = base >> 40 & 0xFF
    values = [known[f"SQ_IMG_RSRC_WORD{k}"].encode(**words[k]) if words[k] else 0 for k in range(8)]
    values[0] |= base >> 8 & 0xFFFFFFFF
    return tuple(value | plain.get(k, 0) for k, value in enumerate(values))


def _log2(value: int) -> int:
    return value.bit_length() - 1


def _levels(view: ImageView, samples: int) -> tuple[int, int, int]:
    """First level, last level, and levels of the surface less one; with several samples their logarithm."""
    if samples > 1:
        return 0, _log2(samples), _log2(samples)
    return view.first_level, view.last_level, view.levels - 1


def _lod(view: ImageView) -> int:
    return fixed_point(view.min_lod, 0, 15)


def _metadata(config: GpuConfig, surface: Any, view: ImageView) -> int:
    """Address of DCC or HTILE, 0 where none is read."""
    if view.compressed:
        swizzle = surface.tile_swizzle << 8 & (1 << surface.meta_alignment_log2) - 1
        level = surface.levels[view.base_level].dcc_offset if not has_whole_mip_chain_targets(config.level) else 0
        return int((view.address + surface.meta_offset + level) | swizzle)
    return int(view.address + surface.meta_offset) if view.compressed_depth else 0


def _alignment(surface: Any) -> tuple[int, int]:
    """Whether metadata is aligned to pipes and to render backends: DCC by its settings, HTILE always."""
    if surface.flags & DEPTH_OR_STENCIL or not surface.meta_offset:
        return 1, 1
    return int(surface.dcc.pipe_aligned), int(surface.dcc.rb_aligned)


# ---------------------------------------------------------------------------------------------------------- GFX6 to GFX8
def _gfx6_common(config: GpuConfig, view: ImageView, format_: PixelFormat, words: Words) -> int:
    """Fill in what GFX6 to GFX9 share; return the number of samples that the descriptor encodes."""
    samples = max(1, view.samples if format_.color_space == "zs" else view.storage_samples)
    data, number = image_formats(format_, config.level, config.name)
    words[1] |= {"MIN_LOD": _lod(view), "DATA_FORMAT": 0 if data == UNSUPPORTED else data, "NUM_FORMAT": number}
    words[2] |= {"WIDTH": view.width - 1, "HEIGHT": view.height - 1, "PERF_MOD": _MEASURED_DEPTH}
    first, last, _ = _levels(view, samples)
    words[3] |= {**selected_channels(view.swizzle), "BASE_LEVEL": first, "LAST_LEVEL": last, "TYPE": view.type}
    words[5]["BASE_ARRAY"] = view.first_layer
    if view.compressed:
        words[6]["ALPHA_IS_ON_MSB"] = int(alpha_is_on_msb(format_, config.level, config.name))
    return samples


def _gfx6(config: GpuConfig, surface: Any, view: ImageView, format_: PixelFormat, words: Words) -> tuple[int, dict[int, int]]:
    _gfx6_common(config, view, format_, words)
    plain: dict[int, int] = {}
    if not view.compressed and not view.anisotropy_of_one_level and has_sampler_mask_in_descriptor(config.level) and view.samples <= 1:
        # Unused by the hardware: shaders clear bits of the sampler with it.
        plain[7] = 0xFFFFF1FF if view.first_level == view.last_level else 0xFFFFFFFF
    level = (surface.stencil_levels if view.stencil else surface.levels)[view.base_level]
    if level.tile_index < 0:
        raise UnsupportedError(f"descriptors of {level.mode.name} images on {config.name} whose tile mode its table lacks, as of depth in 3D")
    words[3] |= {"POW2_PAD": int(view.levels > 1), "TILING_INDEX": level.tile_index}
    words[4] |= {"DEPTH": view.depth - 1, "PITCH": level.pitch * view.block_width - 1}
    words[5]["LAST_ARRAY"] = view.last_layer
    if level.mode == SurfaceMode.TILED_2D:
        plain[0] = surface.tile_swizzle
    metadata = _metadata(config, surface, view) if has_dcc(config.level) else 0
    if metadata:
        words[6]["COMPRESSION_EN"] = 1
        plain[7] = metadata >> 8 & 0xFFFFFFFF
    return view.address + level.offset, plain


# ------------------------------------------------------------------------------------------------------------------ GFX9
_S8_BESIDE_DEPTH = {"Z32_FLOAT_S8X24_UINT": "S8_32", "Z24_UNORM_S8_UINT": "S8_32", "S8_UINT_Z24_UNORM": "S8_32", "Z16_UNORM_S8_UINT": "S8_16"}


def _gfx9(config: GpuConfig, surface: Any, view: ImageView, format_: PixelFormat, words: Words) -> tuple[int, dict[int, int]]:
    samples = _gfx6_common(config, view, format_, words)
    beside = _S8_BESIDE_DEPTH.get(view.surface_format)
    if view.format_name == "S8_UINT" and view.compressed_depth and beside is not None:
        field = registers(config.level)["SQ_IMG_RSRC_WORD1"].field("DATA_FORMAT_STENCIL")
        words[1]["DATA_FORMAT"] = field.number(f"IMG_DATA_FORMAT_{beside}")
    depth = view.depth - 1 if view.type == IMAGE_3D else view.last_layer
    pitch = surface.stencil_epitch if view.stencil else surface.epitch
    words[3]["SW_MODE"] = surface.stencil_swizzle_mode if view.stencil else surface.swizzle_mode
    words[4] |= {"DEPTH": depth, "PITCH": pitch, "BC_SWIZZLE": border_color_swizzle(format_)}
    words[5]["MAX_MIP"] = _levels(view, samples)[2]
    plain = {0: surface.tile_swizzle}
    metadata = _metadata(config, surface, view)
    if metadata:
        pipes, backends = _alignment(surface)
        words[5] |= {"META_DATA_ADDRESS": metadata >> 40 & 0xFF, "META_PIPE_ALIGNED": pipes, "META_RB_ALIGNED": backends}
        words[6]["COMPRESSION_EN"] = 1
        plain[7] = metadata >> 8 & 0xFFFFFFFF
    return _texels(surface, view), plain


def _texels(surface: Any, view: ImageView) -> int:
    return int(view.address + (surface.stencil_offset if view.stencil else surface.surf_offset))


# -------------------------------------------------------------------------------------------------------- GFX10 and later
def _unified(config: GpuConfig, view: ImageView, format_: PixelFormat) -> int:
    if format_.color_space == "zs" and view.upgraded_depth and not format_.has_stencil:
        generation = 11 if has_clamped_depth_format_11(config.level) else 10
        return registers(config.level)["SQ_BUF_RSRC_WORD3"].field("FORMAT").number(f"GFX{generation}_FORMAT_32_FLOAT_CLAMP")
    return unified_format(format_, config.level).number


def _gfx10_common(config: GpuConfig, surface: Any, view: ImageView, format_: PixelFormat, words: Words) -> None:
    width, (first, last, mips) = view.width - 1, _levels(view, view.samples)
    words[1] |= {"FORMAT": _unified(config, view, format_), "WIDTH_LO": width & 3}
    words[2] |= {"WIDTH_HI": width >> 2, "HEIGHT": view.height - 1}
    words[3] |= {
        **selected_channels(view.swizzle), "LAST_LEVEL": last, "BC_SWIZZLE": border_color_swizzle(format_), "TYPE": view.type,
        "SW_MODE": surface.stencil_swizzle_mode if view.stencil else surface.swizzle_mode,
    }
    words[1 if has_base_level_in_word1(config.level) else 3]["BASE_LEVEL"] = first
    words[1 if has_max_mip_in_word1(config.level) else 5]["MAX_MIP"] = mips
    words[4] |= {"DEPTH": view.depth, "BASE_ARRAY": view.first_layer}
    words[5]["PERF_MOD"] = _MEASURED_DEPTH
    if has_custom_linear_pitch(config.level) and surface.uses_custom_pitch:
        # Linear images of one layer: the pitch takes the place of the depth.
        pitch = surface.surf_pitch * (2 if surface.blk_w == 2 else 1) - 1
        bits = 14 if has_wide_image_depth(config.level) else 13
        words[4] |= {"DEPTH": words[4]["DEPTH"] | pitch & (1 << bits) - 1, "PITCH_MSB": pitch >> bits}


def _gfx10(config: GpuConfig, surface: Any, view: ImageView, format_: PixelFormat, words: Words) -> tuple[int, dict[int, int]]:
    _gfx10_common(config, surface, view, format_, words)
    plain = {0: surface.tile_swizzle}
    words[5]["ARRAY_PITCH"] = int(view.unordered_3d)
    lod = _lod(view)
    if has_split_min_lod(config.level):
        words[5]["MIN_LOD_LO"] = lod & 0x1F
        words[6]["MIN_LOD_HI"] = lod >> 5
    else:
        words[1]["MIN_LOD"] = lod
    if has_resource_level_bit(config.level):
        words[2]["RESOURCE_LEVEL"] = 1
    if view.compressed:
        words[6] |= {
            "MAX_UNCOMPRESSED_BLOCK_SIZE": 2, "MAX_COMPRESSED_BLOCK_SIZE": int(surface.dcc.max_compressed_block_size),
            "ALPHA_IS_ON_MSB": int(alpha_is_on_msb(format_, config.level, config.name)),
        }
    metadata = _metadata(config, surface, view)
    if metadata:
        words[6] |= {
            "COMPRESSION_EN": 1, "META_PIPE_ALIGNED": _alignment(surface)[0], "META_DATA_ADDRESS_LO": metadata >> 8 & 0xFF,
            "WRITE_COMPRESS_ENABLE": int(view.compressed_writes), "ITERATE_256": int(view.iterate_256),
        }
        plain[7] = metadata >> 16 & 0xFFFFFFFF
    return _texels(surface, view), plain


def _gfx12(config: GpuConfig, surface: Any, view: ImageView, format_: PixelFormat, words: Words) -> tuple[int, dict[int, int]]:
    _gfx10_common(config, surface, view, format_, words)
    lod = _lod(view)
    seen_as_elements = view.levels > 1 and pixel_format(view.surface_format or view.format_name).is_compressed and not format_.is_compressed
    words[3]["NO_EDGE_CLAMP"] = int(seen_as_elements)
    words[5] |= {"UAV3D": int(view.unordered_3d), "MIN_LOD_LO": lod & 0x3F}
    words[6] |= {
        "MAX_UNCOMPRESSED_BLOCK_SIZE": 1, "MAX_COMPRESSED_BLOCK_SIZE": int(surface.dcc.max_compressed_block_size), "MIN_LOD_HI": lod >> 6,
    }
    if view.compressed:
        words[6] |= {"COMPRESSION_EN": 1, "WRITE_COMPRESS_ENABLE": int(view.compressed_writes)}
    return _texels(surface, view), {0: surface.tile_swizzle}


# ----------------------------------------------------------------------------------------------------------------- FMASK
_FMASK_BITS = {(2, 1): 8, (2, 2): 8, (4, 1): 8, (4, 2): 8, (4, 4): 8, (8, 1): 8, (8, 2): 16, (8, 4): 32, (8, 8): 32, (16, 1): 16,
               (16, 2): 32, (16, 4): 64, (16, 8): 64}
"""Bits of FMASK for a texel, by samples and stored samples."""


@checked
def fmask_descriptor(config: GpuConfig, surface: Surface, view: ImageView) -> tuple[int, ...]:
    """Return the eight dwords through which shaders read FMASK, up to GFX10.3.

    Parameters
    ----------
    config : GpuConfig
    surface : Surface
    view : ImageView
        Its `compressed` says whether CMASK is read too; format and swizzle do not matter.

    Raises
    ------
    UnsupportedError
        GFX11 and later, which have no FMASK.
    InputError
        Samples that no FMASK has.
    """
    check_generation(config, surface)
    if not has_fmask(config.level):
        raise UnsupportedError(f"FMASK on {config.name}: it exists up to GFX10.3")
    counts = max(1, view.samples), max(1, view.storage_samples)
    if counts not in _FMASK_BITS:
        raise InputError(f"no FMASK has {counts[0]} samples of which {counts[1]} are stored")
    words: Words = {k: {} for k in range(8)}
    words[3] |= selected_channels((0, 0, 0, 0)) | {"TYPE": view.type}
    plain = {0: surface.fmask_tile_swizzle}
    cmask = view.address + surface.cmask_offset if view.compressed else 0
    if view.compressed:
        words[6]["COMPRESSION_EN"] = 1
    build = _fmask_gfx10 if config.level >= 100 else _fmask_gfx9 if config.level >= 90 else _fmask_gfx6
    build(config, surface, view, words, plain, cmask)
    address = view.address + surface.fmask_offset
    known = registers(config.level)
    words[1]["BASE_ADDRESS_HI"] = address >> 40 & 0xFF
    values = [known[f"SQ_IMG_RSRC_WORD{k}"].encode(**words[k]) if words[k] else 0 for k in range(8)]
    values[0] = address >> 8 & 0xFFFFFFFF
    return tuple(value | plain.get(k, 0) for k, value in enumerate(values))


def _fmask_name(view: ImageView, form: str) -> str:
    samples, stored = max(1, view.samples), max(1, view.storage_samples)
    return form.format(bits=_FMASK_BITS[samples, stored], samples=samples, stored=stored)


def _fmask_gfx6(config: GpuConfig, surface: Any, view: ImageView, words: Words, plain: dict[int, int], cmask: int) -> None:
    known = registers(config.level)["SQ_IMG_RSRC_WORD1"]
    data, number = known.field("DATA_FORMAT"), known.field("NUM_FORMAT")
    words[1] |= {
        "DATA_FORMAT": data.number(_fmask_name(view, "IMG_DATA_FORMAT_FMASK{bits}_S{samples}_F{stored}")),
        "NUM_FORMAT": number.number("IMG_NUM_FORMAT_UINT"),
    }
    words[2] |= {"WIDTH": view.width - 1, "HEIGHT": view.height - 1}
    words[3]["TILING_INDEX"] = surface.fmask_tile_index
    words[4] |= {"DEPTH": view.depth - 1, "PITCH": surface.fmask_pitch - 1}
    words[5] |= {"BASE_ARRAY": view.first_layer, "LAST_ARRAY": view.last_layer}
    plain[7] = cmask >> 8 & 0xFFFFFFFF


def _fmask_gfx9(config: GpuConfig, surface: Any, view: ImageView, words: Words, plain: dict[int, int], cmask: int) -> None:
    known = registers(config.level)["SQ_IMG_RSRC_WORD1"]
    data, number = known.field("DATA_FORMAT"), known.field("NUM_FORMAT_FMASK")
    words[1] |= {
        "DATA_FORMAT": data.number("IMG_DATA_FORMAT_FMASK"),
        "NUM_FORMAT": number.number(_fmask_name(view, "IMG_NUM_FORMAT_FMASK_{bits}_{samples}_{stored}")),
    }
    words[2] |= {"WIDTH": view.width - 1, "HEIGHT": view.height - 1}
    words[3]["SW_MODE"] = surface.fmask_swizzle_mode
    words[4] |= {"DEPTH": view.last_layer, "PITCH": surface.fmask_epitch}
    words[5] |= {"BASE_ARRAY": view.first_layer, "META_PIPE_ALIGNED": 1, "META_RB_ALIGNED": 1, "META_DATA_ADDRESS": cmask >> 40 & 0xFF}
    plain[7] = cmask >> 8 & 0xFFFFFFFF


def _fmask_gfx10(config: GpuConfig, surface: Any, view: ImageView, words: Words, plain: dict[int, int], cmask: int) -> None:
    known = registers(config.level)["SQ_IMG_RSRC_WORD1"].field("FORMAT")
    width = view.width - 1
    words[1] |= {"FORMAT": known.number(_fmask_name(view, "GFX10_FORMAT_FMASK{bits}_S{samples}_F{stored}")),
                 "WIDTH_LO": width & 3}
    words[2] |= {"WIDTH_HI": width >> 2, "HEIGHT": view.height - 1, "RESOURCE_LEVEL": 1}
    words[3]["SW_MODE"] = surface.fmask_swizzle_mode
    words[4] |= {"DEPTH": view.last_layer, "BASE_ARRAY": view.first_layer}
    words[6] |= {"META_PIPE_ALIGNED": 1, "META_DATA_ADDRESS_LO": cmask >> 8 & 0xFF}
    plain[7] = cmask >> 16 & 0xFFFFFFFF
