"""What there is to say of a surface's layout, in addrlib's terms: facts, and equations in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.driver.queries import planes, tiled_surface
from pyaco.addrlib.driver.records import DEPTH_OR_STENCIL
from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3
from pyaco.targets.features import has_gfx12_swizzle_modes, has_swizzle_modes, has_variable_blocks

__all__ = ["equations", "facts", "level0", "swizzle_mode_name", "text_of", "text_of_facts"]


def swizzle_mode_name(config: GpuConfig, mode: int) -> str:
    """Return a swizzle mode's name, such as 64KB_R_X; GFX10 calls variable blocks what GFX11 calls blocks of 256 KB."""
    name = (SwizzleMode3 if has_gfx12_swizzle_modes(config.level) else SwizzleMode)(mode).name.removeprefix("SW_")
    return name.replace("256KB", "VAR") if has_variable_blocks(config.level) else name


_PARTS = (
    # title, offset, size, alignment
    ("FMASK", "fmask_offset", "fmask_size", "fmask_alignment_log2"), ("CMASK", "cmask_offset", "cmask_size", "cmask_alignment_log2"),
    ("displayable DCC", "display_dcc_offset", "display_dcc_size", "display_dcc_alignment_log2"),
)


def level0(config: GpuConfig, surface: Any) -> dict[str, int]:
    """Return pitch and height (elements) of the padded level 0, and the bytes of a slice (GFX9 and later: of all its levels)."""
    if not has_swizzle_modes(config.level):
        level = surface.texel_levels[0]
        return {"pitch": level.pitch, "height": level.height, "slice_size": level.slice_size}
    if surface.request.is_only_stencil:  # of which drivers record no size
        tiled = tiled_surface(config, surface)
        return {"pitch": tiled.pitch, "height": tiled.height, "slice_size": tiled.slice_size}
    return {"pitch": surface.surf_pitch, "height": surface.surf_height, "slice_size": surface.surf_slice_size}


def facts(config: GpuConfig, surface: Any) -> dict[str, Any]:
    """Return sizes, offsets and alignments (bytes), pitches (elements), modes, and the same of each part, level and plane."""
    found: dict[str, Any] = {
        "chip": config.name, "total_size": surface.total_size, "alignment": 1 << surface.alignment_log2, "surface_size": surface.surf_size,
        "displayable": bool(surface.is_displayable), "linear": bool(surface.is_linear),
    }
    if has_swizzle_modes(config.level):
        found |= {"swizzle_mode": swizzle_mode_name(config, surface.texel_swizzle_mode)} | level0(config, surface)
    if surface.has_stencil and has_swizzle_modes(config.level) and not surface.request.is_only_stencil:
        found["stencil"] = {"offset": surface.stencil_offset, "swizzle_mode": swizzle_mode_name(config, surface.stencil_swizzle_mode)}
    for title, offset, size, alignment in _PARTS:
        if getattr(surface, offset):
            found[title] = {"offset": getattr(surface, offset), "size": getattr(surface, size), "alignment": 1 << getattr(surface, alignment)}
    if surface.meta_offset:
        title = "HTILE" if surface.flags & DEPTH_OR_STENCIL else "DCC"
        found[title] = {"offset": surface.meta_offset, "size": surface.meta_size, "alignment": 1 << surface.meta_alignment_log2,
                        "levels": surface.num_meta_levels}
    for name in ("hiz", "his"):
        part = getattr(surface, name, None)
        if part is not None and part.size:
            found[{"hiz": "HiZ", "his": "HiS"}[name]] = {
                "offset": part.offset, "size": part.size, "tiles": [part.width_in_tiles, part.height_in_tiles],
                "swizzle_mode": swizzle_mode_name(config, part.swizzle_mode)}
    if surface.prt_tile_width:
        found["sparse_block"] = [surface.prt_tile_width, surface.prt_tile_height, surface.prt_tile_depth]
        found["first_level_in_mip_tail"] = surface.first_mip_tail_level
    found["levels"] = _levels(config, surface)
    found["planes"] = [asdict(plane) for plane in planes(config, surface)]
    return found


def _levels(config: GpuConfig, surface: Any) -> list[dict[str, int]]:
    if not has_swizzle_modes(config.level):
        rows = surface.texel_levels
        return [{"offset": r.offset, "pitch": r.pitch, "height": r.height, "slice_size": r.slice_size, "tile_index": r.tile_index} for r in rows]
    if surface.is_linear:
        return [{"offset": offset, "pitch": pitch} for offset, pitch in zip(surface.offset, surface.pitch, strict=True)]
    return []


def equations(config: GpuConfig, surface: Any) -> dict[str, str]:
    """Return the equations of a surface in words."""
    size = surface.bpe.bit_length() - 1
    if not has_swizzle_modes(config.level):
        from pyaco.addrlib.v1.equation import equation_table

        table = equation_table(config)
        number = table.index.get((surface.texel_levels[0].tile_index, size))
        return {} if number is None else {"byte offset in a block": table.equations[number].equation.text()}
    from pyaco.addrlib.swizzle import swizzle_tables

    found: dict[str, str] = {}
    tables, samples = swizzle_tables(config), surface.request.fragments.bit_length() - 1
    number = int(tables.lookup[int(surface.resource_type == 2), surface.texel_swizzle_mode, size, samples])
    if number >= 0:
        found["byte offset in a block"] = tables.equations[number].text()
    for title, meta in (("DCC", surface.dcc_metadata), ("displayable DCC", surface.display_dcc), ("CMASK", surface.cmask), ("HTILE", surface.htile)):
        if meta is not None and meta.equation is not None:
            found[f"nibble address of {title} (m: index of the meta block of {' x '.join(map(str, meta.block))})"] = meta.equation.text()
    return found


def text_of(value: Any) -> str:
    """Return a fact in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return _fields(value)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "; ".join(map(_fields, value))
    return " x ".join(map(str, value)) if isinstance(value, list) else str(value)


def _fields(row: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {text_of(value)}" for name, value in row.items())


def text_of_facts(facts: dict[str, Any]) -> str:
    """Return facts in lines."""
    lines = []
    for name, value in facts.items():
        title = name.replace("_", " ")
        if isinstance(value, dict):
            lines.append(f"{title}: {_fields(value)}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{title}:", *(f"  {i}: {_fields(row)}" for i, row in enumerate(value))]
        elif value != []:
            lines.append(f"{title}: {text_of(value)}")
    return "\n".join(lines) + "\n"
