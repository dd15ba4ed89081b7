"""Depth target state: what DB_* holds for a depth or stencil surface that is drawn to.

Sources: AMD's register headers (the register database); Mesa's ``ac_descriptors.c`` for what drivers set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyaco.addrlib import GpuConfig
from pyaco.addrlib.driver.gfx6 import SurfaceLevel
from pyaco.addrlib.driver.queries import check_generation
from pyaco.addrlib.driver.records import Surface
from pyaco.arguments import checked
from pyaco.descriptors.hardware_format import depth_format
from pyaco.formats import pixel_format
from pyaco.registers import registers
from pyaco.targets.features import (
    has_always_iterate_256,
    has_depth_epitch,
    has_depth_size_xy,
    has_htile_rb_aligned,
    has_iterate_256,
    has_macro_tile_table,
    has_stencil_flush_always,
    has_stencil_zplanes_hang,
    has_whole_mip_chain_targets,
    has_wide_depth_slices,
)

__all__ = ["DepthSurface", "DepthView", "depth_surface"]


@dataclass(frozen=True)
class DepthView:
    """The part of a surface that is drawn to, and how HTILE is used.

    Attributes
    ----------
    address : int
        Of the buffer that holds the surface.
    format_name : str
    width, height : int
    level, levels, samples, first_layer, last_layer : int
    allow_expclear, stencil_only, depth_read_only, stencil_read_only : bool
    htile, htile_without_stencil, readable_htile, shading_rates : bool
        Whether HTILE is used; not for stencil; in the form that textures read; with variable shading rates in it.
    z_range_precision : int
    no_compression_of_16_bits : bool
    """

    address: int
    format_name: str
    width: int
    height: int
    level: int = 0
    levels: int = 1
    samples: int = 1
    first_layer: int = 0
    last_layer: int = 0
    allow_expclear: bool = False
    stencil_only: bool = False
    depth_read_only: bool = False
    stencil_read_only: bool = False
    htile: bool = False
    htile_without_stencil: bool = False
    readable_htile: bool = False
    shading_rates: bool = False
    z_range_precision: int = 0
    no_compression_of_16_bits: bool = False


@dataclass
class DepthSurface:
    """The registers of a depth target; those that a generation does not have are 0. Addresses are in units of 256 bytes."""

    depth_base: int = 0
    stencil_base: int = 0
    depth_view: int = 0
    depth_view1: int = 0
    depth_size: int = 0
    z_info: int = 0
    stencil_info: int = 0
    htile_base: int = 0
    htile_surface: int = 0
    depth_info: int = 0
    depth_slice: int = 0
    z_info2: int = 0
    stencil_info2: int = 0
    hiz_base: int = 0
    hiz_info: int = 0
    hiz_size: int = 0
    his_base: int = 0
    his_info: int = 0
    his_size: int = 0


_NAMES = {
    "depth_view": "DB_DEPTH_VIEW", "depth_view1": "DB_DEPTH_VIEW1", "depth_size": "DB_DEPTH_SIZE", "z_info": "DB_Z_INFO",
    "stencil_info": "DB_STENCIL_INFO", "htile_surface": "DB_HTILE_SURFACE", "depth_info": "DB_DEPTH_INFO",
}
Fields = dict[str, dict[str, int]]


@checked
def depth_surface(config: GpuConfig, surface: Surface, view: DepthView) -> DepthSurface:
    """Return the registers of a depth target.

    Parameters
    ----------
    config : GpuConfig
    surface : Surface
        What ``pyaco.addrlib.driver.queries.compute_surface`` returned for `config`.
    view : DepthView

    Raises
    ------
    InputError
        A number that does not fit its field.
    """
    check_generation(config, surface)
    found = DepthSurface()
    fields: Fields = {name: {} for name in _NAMES}
    samples = view.samples.bit_length() - 1
    fields["z_info"] |= {"FORMAT": depth_format(pixel_format(view.format_name)), "NUM_SAMPLES": samples}
    fields["stencil_info"]["FORMAT"] = int(surface.has_stencil)
    build = _gfx12 if config.level >= 120 else _gfx9 if config.level >= 90 else _gfx6
    build(config, surface, view, found, fields)
    known = registers(config.level)
    for name, register in _NAMES.items():
        if fields[name]:
            full = "DB_DEPTH_SIZE_XY" if name == "depth_size" and has_depth_size_xy(config.level) else register
            setattr(found, name, getattr(found, name) | known[full].encode(**fields[name]))
    return found


def _decompress_planes(config: GpuConfig, view: DepthView, samples: int, stencil_off: bool) -> int:
    """DECOMPRESS_ON_N_ZPLANES: 0 compresses fully, N up to N - 1 planes."""
    is_16_bits = view.format_name == "Z16_UNORM"
    if has_whole_mip_chain_targets(config.level):
        if has_stencil_zplanes_hang(config.level) and samples == 2 and not stencil_off:
            return 2
        return 3 if is_16_bits and samples > 0 else 5
    if is_16_bits and view.no_compression_of_16_bits:
        return 1
    return 5 if samples == 0 else 3 if samples <= 2 else 2


def _view(view: DepthView) -> dict[str, int]:
    return {"SLICE_START": view.first_layer & 0x7FF, "SLICE_MAX": view.last_layer & 0x7FF, "Z_READ_ONLY": int(view.depth_read_only),
            "STENCIL_READ_ONLY": int(view.stencil_read_only)}


# ---------------------------------------------------------------------------------------------------------- GFX6 to GFX8
def _levels(surface: Any, view: DepthView) -> tuple[SurfaceLevel, SurfaceLevel]:
    """The level of depth and that of stencil, all zero where the surface has none."""
    stencil = surface.stencil_levels[view.level] if surface.stencil_levels else SurfaceLevel()
    return surface.levels[view.level], stencil


def _gfx6(config: GpuConfig, surface: Any, view: DepthView, found: DepthSurface, fields: Fields) -> None:
    depth, stencil = _levels(surface, view)
    sizes = stencil if view.stencil_only else depth
    found.depth_base = (view.address + depth.offset) >> 8
    found.stencil_base = (view.address + stencil.offset) >> 8
    fields["depth_view"] |= _view(view)
    # A surface of stencil alone has no rows of depth: 0 - 1 wraps to all ones.
    fields["depth_size"] |= {"PITCH_TILE_MAX": sizes.pitch // 8 - 1 & 0x7FF, "HEIGHT_TILE_MAX": sizes.height // 8 - 1 & 0x7FF}
    found.depth_slice = sizes.pitch * sizes.height // 64 - 1 & 0x3FFFFF
    (_tiling_gfx7 if has_macro_tile_table(config.level) else _tiling_gfx6)(config, surface, view, fields)
    if view.htile:
        fields["z_info"] |= {"TILE_SURFACE_ENABLE": 1, "ALLOW_EXPCLEAR": int(view.allow_expclear)}
        fields["stencil_info"]["TILE_STENCIL_DISABLE"] = int(view.htile_without_stencil)
        # Fast stencil clears of several samples go wrong with it.
        if surface.has_stencil and view.samples <= 1:
            fields["stencil_info"]["ALLOW_EXPCLEAR"] = int(view.allow_expclear)
        found.htile_base = (view.address + surface.meta_offset) >> 8
        fields["htile_surface"]["FULL_CACHE"] = 1
    if view.readable_htile:
        fields["htile_surface"]["TC_COMPATIBLE"] = 1
        fields["z_info"]["DECOMPRESS_ON_N_ZPLANES"] = _decompress_planes(config, view, view.samples.bit_length() - 1, False)
    else:
        fields["depth_info"]["ADDR5_SWIZZLE_MASK"] = 1
    fields["z_info"]["ZRANGE_PRECISION"] = view.z_range_precision


def _tiling_gfx6(config: GpuConfig, surface: Any, view: DepthView, fields: Fields) -> None:
    depth, stencil = _levels(surface, view)
    fields["z_info"]["TILE_MODE_INDEX"] = depth.tile_index | (stencil.tile_index if view.stencil_only else 0)
    fields["stencil_info"]["TILE_MODE_INDEX"] = stencil.tile_index


def _tiling_gfx7(config: GpuConfig, surface: Any, view: DepthView, fields: Fields) -> None:
    """The tile modes themselves, read from the tables that the kernel set up."""
    known = registers(config.level)
    mode, macro = known["GB_TILE_MODE0"], known["GB_MACROTILE_MODE0"]
    depth, stencil = _levels(surface, view)
    stencil_word = config.tile_modes[stencil.tile_index]
    word = stencil_word if view.stencil_only else config.tile_modes[depth.tile_index]
    macro_word = config.macro_tile_modes[surface.macro_tile_index]
    fields["depth_info"] |= {name: mode.field(name).get(word) for name in ("ARRAY_MODE", "PIPE_CONFIG")}
    fields["depth_info"] |= {name: macro.field(name).get(macro_word)
                             for name in ("BANK_WIDTH", "BANK_HEIGHT", "MACRO_TILE_ASPECT", "NUM_BANKS")}
    fields["z_info"]["TILE_SPLIT"] = mode.field("TILE_SPLIT").get(word)
    fields["stencil_info"]["TILE_SPLIT"] = mode.field("TILE_SPLIT").get(stencil_word)


# -------------------------------------------------------------------------------------------------------- GFX9 to GFX11.5
def _gfx9(config: GpuConfig, surface: Any, view: DepthView, found: DepthSurface, fields: Fields) -> None:
    level, samples = config.level, view.samples.bit_length() - 1
    found.depth_base = view.address >> 8
    found.stencil_base = (view.address + surface.stencil_offset) >> 8
    fields["depth_view"] |= {**_view(view), "MIPID": view.level}
    if has_wide_depth_slices(level):
        fields["depth_view"] |= {"SLICE_START_HI": view.first_layer >> 11, "SLICE_MAX_HI": view.last_layer >> 11}
    fields["z_info"] |= {"SW_MODE": surface.swizzle_mode, "MAXMIP": view.levels - 1, "ZRANGE_PRECISION": view.z_range_precision}
    fields["stencil_info"]["SW_MODE"] = surface.stencil_swizzle_mode
    fields["depth_size"] |= {"X_MAX": view.width - 1, "Y_MAX": view.height - 1}
    if has_always_iterate_256(level):
        fields["z_info"]["ITERATE_256"] = fields["stencil_info"]["ITERATE_256"] = 1
    if has_depth_epitch(level):
        found.z_info2, found.stencil_info2 = surface.epitch, surface.stencil_epitch
    if view.htile:
        _htile_gfx9(config, surface, view, found, fields)
    if view.readable_htile:
        stencil_off = view.htile and view.htile_without_stencil
        fields["z_info"] |= {"DECOMPRESS_ON_N_ZPLANES": _decompress_planes(config, view, samples, stencil_off), "ITERATE_FLUSH": 1}
        fields["stencil_info"]["ITERATE_FLUSH"] = int(has_stencil_flush_always(level) or not stencil_off)
        if has_iterate_256(level):
            iterate = int(samples >= 1 or has_always_iterate_256(level))
            fields["z_info"]["ITERATE_256"] = fields["stencil_info"]["ITERATE_256"] = iterate


def _htile_gfx9(config: GpuConfig, surface: Any, view: DepthView, found: DepthSurface, fields: Fields) -> None:
    fields["z_info"] |= {"TILE_SURFACE_ENABLE": 1, "ALLOW_EXPCLEAR": int(view.allow_expclear)}
    fields["stencil_info"]["TILE_STENCIL_DISABLE"] = int(view.htile_without_stencil)
    if surface.has_stencil and not view.htile_without_stencil and view.samples <= 1:
        fields["stencil_info"]["ALLOW_EXPCLEAR"] = int(view.allow_expclear)
    found.htile_base = (view.address + surface.meta_offset) >> 8
    fields["htile_surface"] |= {"FULL_CACHE": 1, "PIPE_ALIGNED": 1}
    if view.shading_rates:
        encoding = registers(103)["DB_HTILE_SURFACE"].field("VRS_HTILE_ENCODING")
        fields["htile_surface"]["VRS_HTILE_ENCODING"] = encoding.number("VRS_HTILE_4BIT_ENCODING")
    elif has_htile_rb_aligned(config.level):
        fields["htile_surface"]["RB_ALIGNED"] = 1


# ----------------------------------------------------------------------------------------------------------------- GFX12
def _gfx12(config: GpuConfig, surface: Any, view: DepthView, found: DepthSurface, fields: Fields) -> None:
    found.depth_base = view.address >> 8
    found.stencil_base = (view.address + surface.stencil_offset) >> 8
    fields["depth_view"] |= {"SLICE_START": view.first_layer, "SLICE_MAX": view.last_layer}
    fields["depth_view1"]["MIPID"] = view.level
    fields["depth_size"] |= {"X_MAX": view.width - 1, "Y_MAX": view.height - 1}
    fields["z_info"] |= {"SW_MODE": surface.swizzle_mode, "MAXMIP": view.levels - 1}
    fields["stencil_info"] |= {"SW_MODE": surface.stencil_swizzle_mode, "TILE_STENCIL_DISABLE": 1}
    known = registers(120)
    for name, part, register in (("hiz", surface.hiz, "PA_SC_HIZ_INFO"), ("his", surface.his, "PA_SC_HIS_INFO")):
        if part.offset:
            setattr(found, f"{name}_base", (view.address + part.offset) >> 8)
            setattr(found, f"{name}_info", known[register].encode(SURFACE_ENABLE=1, SW_MODE=part.swizzle_mode))
            setattr(found, f"{name}_size", part.width_in_tiles - 1 | part.height_in_tiles - 1 << 16)
