"""Colour target state: what CB_COLOR0_* and its relatives hold for a surface that is drawn to.

Sources: AMD's register headers (the register database); Mesa's ``ac_descriptors.c`` for what drivers set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyaco.addrlib import GpuConfig
from pyaco.addrlib.driver.queries import check_generation
from pyaco.addrlib.driver.records import Surface, SurfaceMode
from pyaco.arguments import checked
from pyaco.descriptors.hardware_format import color_formats, color_swap
from pyaco.formats import ONE, PixelFormat, pixel_format
from pyaco.registers import registers
from pyaco.targets.features import (
    has_bank_height_without_fmask,
    has_cmask,
    has_cmask_address_type,
    has_color_dcc_enable,
    has_custom_linear_pitch,
    has_dcc,
    has_fdcc_control,
    has_fdcc_fragment_limit,
    has_fmask,
    has_fmask_pitch,
    has_metadata_surfaces,
    has_resource_level_bit,
    has_whole_mip_chain_targets,
)

__all__ = ["ColorSurface", "ColorView", "color_surface"]


@dataclass(frozen=True)
class ColorView:
    """The part of a surface that is drawn to, and which metadata is used.

    Attributes
    ----------
    address : int
        Of the buffer that holds the surface.
    format_name : str
    width, height : int
    first_layer, last_layer, layers : int
        Layers that are seen; the last layer of the surface.
    samples, storage_samples : int
    level, levels : int
    fmask, cmask, fast_clear, readable_cmask, dcc : bool
        Metadata that is used; whether textures read FMASK through CMASK.
    """

    address: int
    format_name: str
    width: int
    height: int
    first_layer: int = 0
    last_layer: int = 0
    layers: int = 0
    samples: int = 1
    storage_samples: int = 1
    level: int = 0
    levels: int = 1
    fmask: bool = False
    cmask: bool = False
    fast_clear: bool = False
    readable_cmask: bool = False
    dcc: bool = False


@dataclass
class ColorSurface:
    """The registers of a colour target; those that a generation does not have are 0. Addresses are in units of 256 bytes."""

    info: int = 0
    view: int = 0
    view2: int = 0
    attrib: int = 0
    attrib2: int = 0
    attrib3: int = 0
    dcc_control: int = 0
    base: int = 0
    cmask: int = 0
    fmask: int = 0
    dcc_base: int = 0
    slice: int = 0
    cmask_slice: int = 0
    fmask_slice: int = 0
    pitch_or_epitch: int = 0


_NAMES = {"info": "INFO", "view": "VIEW", "view2": "VIEW2", "attrib": "ATTRIB", "attrib2": "ATTRIB2", "attrib3": "ATTRIB3",
          "dcc_control": "DCC_CONTROL"}
Fields = dict[str, dict[str, int]]


@checked
def color_surface(config: GpuConfig, surface: Surface, view: ColorView) -> ColorSurface:
    """Return the registers of a colour target.

    Parameters
    ----------
    config : GpuConfig
    surface : Surface
        What ``pyaco.addrlib.driver.queries.compute_surface`` returned for `config`.
    view : ColorView

    Raises
    ------
    InputError
        A number that does not fit its field, or a format that no target has.
    """
    check_generation(config, surface)
    format_ = pixel_format(view.format_name)
    found = ColorSurface()
    fields: Fields = {name: {} for name in _NAMES}
    _blending(config, format_, fields)
    build = _gfx12 if config.level >= 120 else _gfx10 if config.level >= 100 else _gfx6
    build(config, surface, view, format_, fields)
    _place(config, surface, view, found)
    if has_metadata_surfaces(config.level):
        _metadata(config, surface, view, found, fields)
    known = registers(config.level)
    for name, register in _NAMES.items():
        if fields[name]:
            full = f"CB_COLOR0_{'F' if register == 'DCC_CONTROL' and has_fdcc_control(config.level) else ''}{register}"
            setattr(found, name, known[full].encode(**fields[name]))
    return found


def _log2(value: int) -> int:
    return value.bit_length() - 1


def _blending(config: GpuConfig, format_: PixelFormat, fields: Fields) -> None:
    number, kind = color_formats(format_, config.level)
    names = registers(60)["CB_COLOR0_INFO"]
    number_name, format_name = (names.field(f).values.get(v, "") for f, v in (("NUMBER_TYPE", kind), ("FORMAT", number)))
    is_integer = number_name in ("NUMBER_UINT", "NUMBER_SINT")
    is_fraction = number_name in ("NUMBER_UNORM", "NUMBER_SNORM", "NUMBER_SRGB")
    is_depth = format_name in ("COLOR_8_24", "COLOR_24_8", "COLOR_X24_8_32_FLOAT")
    bypass = is_integer or is_depth
    fields["info"] |= {
        "FORMAT": number, "COMP_SWAP": color_swap(format_, config.level), "BLEND_CLAMP": int(is_fraction and not bypass),
        "BLEND_BYPASS": int(bypass), "SIMPLE_FLOAT": 1, "NUMBER_TYPE": kind,
        "ROUND_MODE": int(not is_fraction and format_name not in ("COLOR_8_24", "COLOR_24_8")),
    }


def _opaque(format_: PixelFormat) -> int:
    """Whether alpha reads as one; intensity is drawn as red."""
    return int(format_.swizzle[3] == ONE or any(channel.letter == "I" for channel in format_.channels))


def _smallest_block(config: GpuConfig) -> int:
    """MIN_COMPRESSED_BLOCK_SIZE: 32 bytes where memory moves so little, 64 otherwise."""
    return 0 if config.has_dedicated_vram or config.chip == "gfx1151" else 1


# ---------------------------------------------------------------------------------------------------------- GFX6 to GFX9
def _gfx6(config: GpuConfig, surface: Any, view: ColorView, format_: PixelFormat, fields: Fields) -> None:
    fields["info"]["COMPRESSION"] = int(bool(surface.fmask_offset))
    fields["view"] |= {"SLICE_START": view.first_layer, "SLICE_MAX": view.last_layer}
    fields["attrib"] |= {
        "NUM_SAMPLES": _log2(view.samples), "NUM_FRAGMENTS": _log2(view.storage_samples), "FORCE_DST_ALPHA_1": _opaque(format_)}
    if has_whole_mip_chain_targets(config.level):
        fields["view"]["MIP_LEVEL"] = view.level
        fields["attrib"] |= {"MIP0_DEPTH": view.layers, "RESOURCE_TYPE": surface.resource_type}
        fields["attrib2"] |= {"MIP0_WIDTH": view.width - 1, "MIP0_HEIGHT": view.height - 1, "MAX_MIP": view.levels - 1}
    if has_dcc(config.level):
        largest = {1: 0, 2: 1}.get(surface.bpe, 2) if view.storage_samples > 1 else 2
        fields["dcc_control"] |= {
            "MAX_UNCOMPRESSED_BLOCK_SIZE": largest, "MIN_COMPRESSED_BLOCK_SIZE": _smallest_block(config), "INDEPENDENT_64B_BLOCKS": 1}
    if has_bank_height_without_fmask(config.level):
        height = surface.fmask_bank_height if surface.fmask_offset else surface.tile_info.bank_height
        fields["attrib"]["FMASK_BANK_HEIGHT"] = _log2(height) if height else 0


# -------------------------------------------------------------------------------------------------------- GFX10 and later
def _drawn_width(config: GpuConfig, surface: Any, view: ColorView) -> int:
    """Width of level 0, or the pitch of a linear surface that has one of its own."""
    if has_custom_linear_pitch(config.level) and surface.uses_custom_pitch:
        return int(surface.surf_pitch * (2 if surface.blk_w == 2 else 1))
    return view.width


def _gfx10(config: GpuConfig, surface: Any, view: ColorView, format_: PixelFormat, fields: Fields) -> None:
    width = _drawn_width(config, surface, view)
    fields["view"] |= {"SLICE_START": view.first_layer, "SLICE_MAX": view.last_layer, "MIP_LEVEL": view.level}
    fields["attrib2"] |= {"MIP0_WIDTH": width - 1, "MIP0_HEIGHT": view.height - 1, "MAX_MIP": view.levels - 1}
    fields["attrib3"] |= {"MIP0_DEPTH": view.layers, "RESOURCE_TYPE": surface.resource_type}
    fields["attrib"] |= {"NUM_FRAGMENTS": _log2(view.storage_samples), "FORCE_DST_ALPHA_1": _opaque(format_)}
    fields["dcc_control"] |= {
        "MAX_UNCOMPRESSED_BLOCK_SIZE": 2, "MAX_COMPRESSED_BLOCK_SIZE": int(surface.dcc.max_compressed_block_size),
        "MIN_COMPRESSED_BLOCK_SIZE": _smallest_block(config), "INDEPENDENT_64B_BLOCKS": int(surface.dcc.independent_64B_blocks),
        "INDEPENDENT_128B_BLOCKS": int(surface.dcc.independent_128B_blocks),
    }
    if has_resource_level_bit(config.level):
        fields["attrib3"]["RESOURCE_LEVEL"] = 1
    if has_fmask(config.level):
        fields["attrib"]["NUM_SAMPLES"] = _log2(view.samples)
        fields["info"]["COMPRESSION"] = int(bool(surface.fmask_offset))


def _gfx12(config: GpuConfig, surface: Any, view: ColorView, format_: PixelFormat, fields: Fields) -> None:
    fields["view"] |= {"SLICE_START": view.first_layer, "SLICE_MAX": view.last_layer}
    fields["view2"]["MIP_LEVEL"] = view.level
    fields["attrib"] |= {"NUM_FRAGMENTS": _log2(view.storage_samples), "FORCE_DST_ALPHA_1": _opaque(format_)}
    fields["attrib2"] |= {"MIP0_HEIGHT": view.height - 1, "MIP0_WIDTH": _drawn_width(config, surface, view) - 1}
    fields["attrib3"] |= {
        "MIP0_DEPTH": view.layers, "MAX_MIP": view.levels - 1, "RESOURCE_TYPE": surface.resource_type,
        "COLOR_SW_MODE": surface.swizzle_mode,
    }
    fields["dcc_control"] |= {
        "MAX_UNCOMPRESSED_BLOCK_SIZE": 1, "MAX_COMPRESSED_BLOCK_SIZE": int(surface.dcc.max_compressed_block_size),
        "ENABLE_MAX_COMP_FRAG_OVERRIDE": 1, "MAX_COMP_FRAGS": 3 if view.samples >= 8 else 2 if view.samples >= 4 else 0,
    }


# -------------------------------------------------------------------------------------------------- addresses, metadata
def _place(config: GpuConfig, surface: Any, view: ColorView, found: ColorSurface) -> None:
    base = view.address >> 8
    if has_whole_mip_chain_targets(config.level):
        found.base = (base + (surface.surf_offset >> 8) | surface.tile_swizzle) & 0xFFFFFFFFFF
    else:
        level = surface.levels[view.level]
        found.base = base + (level.offset >> 8) | (surface.tile_swizzle if level.mode == SurfaceMode.TILED_2D else 0)


def _metadata(config: GpuConfig, surface: Any, view: ColorView, found: ColorSurface, fields: Fields) -> None:
    level = config.level
    if view.dcc:
        offset = 0 if has_whole_mip_chain_targets(level) else surface.levels[view.level].dcc_offset >> 8
        swizzle = surface.tile_swizzle & (1 << surface.meta_alignment_log2) - 1 >> 8
        found.dcc_base = (view.address + surface.meta_offset >> 8) + offset | swizzle
    layout = _layout_gfx11 if level >= 110 else _layout_gfx10 if level >= 100 else _layout_gfx9 if level >= 90 else _layout_gfx6
    layout(config, surface, view, found, fields)
    found.cmask = view.address + surface.cmask_offset >> 8 if view.cmask else found.base
    found.fmask = (view.address + surface.fmask_offset >> 8) | surface.fmask_tile_swizzle if view.fmask else found.base
    if view.cmask and has_cmask(level):
        fields["info"]["FAST_CLEAR"] = int(view.fast_clear)
    if view.fmask and view.readable_cmask:
        fields["info"]["FMASK_COMPRESS_1FRAG_ONLY"] = 1
        if has_cmask_address_type(level):
            fields["info"]["CMASK_ADDR_TYPE"] = 2
    if has_color_dcc_enable(level):
        fields["info"]["DCC_ENABLE"] = int(view.dcc)


def _layout_gfx11(config: GpuConfig, surface: Any, view: ColorView, found: ColorSurface, fields: Fields) -> None:
    fields["attrib3"] |= {"COLOR_SW_MODE": surface.swizzle_mode, "DCC_PIPE_ALIGNED": int(surface.dcc.pipe_aligned)}
    if view.dcc:
        fields["dcc_control"] |= {"DISABLE_CONSTANT_ENCODE_REG": 1, "FDCC_ENABLE": 1}
        if has_fdcc_fragment_limit(config.level) or config.chip == "gfx1103_r2":
            fields["dcc_control"] |= {"ENABLE_MAX_COMP_FRAG_OVERRIDE": 1, "MAX_COMP_FRAGS": int(view.samples >= 4)}


def _layout_gfx10(config: GpuConfig, surface: Any, view: ColorView, found: ColorSurface, fields: Fields) -> None:
    fields["attrib3"] |= {
        "COLOR_SW_MODE": surface.swizzle_mode, "FMASK_SW_MODE": surface.fmask_swizzle_mode, "CMASK_PIPE_ALIGNED": 1,
        "DCC_PIPE_ALIGNED": int(surface.dcc.pipe_aligned),
    }


def _layout_gfx9(config: GpuConfig, surface: Any, view: ColorView, found: ColorSurface, fields: Fields) -> None:
    dcc = surface.dcc
    fields["attrib"] |= {
        "COLOR_SW_MODE": surface.swizzle_mode, "FMASK_SW_MODE": surface.fmask_swizzle_mode,
        "RB_ALIGNED": int(dcc.rb_aligned) if surface.meta_offset else 1,
        "PIPE_ALIGNED": int(dcc.pipe_aligned) if surface.meta_offset else 1,
    }
    found.pitch_or_epitch = surface.epitch


def _layout_gfx6(config: GpuConfig, surface: Any, view: ColorView, found: ColorSurface, fields: Fields) -> None:
    level = surface.levels[view.level]
    pitch, found.slice = level.pitch // 8 - 1, level.pitch * level.height // 64 - 1
    found.cmask_slice = surface.cmask_slice_tile_max
    fmask_pitch = surface.fmask_pitch // 8 - 1 if view.fmask else pitch
    found.fmask_slice = surface.fmask_slice_tile_max if view.fmask else found.slice
    found.pitch_or_epitch = pitch | (fmask_pitch << 20 if has_fmask_pitch(config.level) else 0)
    fields["attrib"] |= {
        "TILE_MODE_INDEX": level.tile_index, "FMASK_TILE_MODE_INDEX": surface.fmask_tile_index if view.fmask else level.tile_index}
