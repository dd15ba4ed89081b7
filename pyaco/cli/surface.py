"""``pyaco surface``."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import asdict
from typing import Any

from pyaco.cli.shared import write_text
from pyaco.errors import InputError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("chip", help="a GPU configuration such as navi31, vega10 or gfx1201; 'list' names them all")
    parser.add_argument("extent", nargs="?", metavar="WxH[xD]", help="size in pixels; with a depth the surface is 3D")
    parser.add_argument("--format", default="rgba8", help="pixel format, such as rgba8, r32, bc7, d32s8, yuyv")
    parser.add_argument("--levels", type=int, default=1, help="mip levels")
    parser.add_argument("--layers", type=int, default=1, help="array layers")
    parser.add_argument("--samples", type=int, default=1, help="samples per pixel")
    parser.add_argument("--cube", action="store_true", help="a cube: six faces")
    parser.add_argument("--linear", action="store_true", help="rows of pixels, no tiles")
    parser.add_argument("--scanout", action="store_true", help="to be displayed")
    parser.add_argument("--sparse", action="store_true", help="partially resident")
    parser.add_argument("--no-dcc", action="store_true", help="without colour compression")
    parser.add_argument("--swizzle-mode", help="demand a swizzle mode: its number, or its name such as 64KB_S_X")
    parser.add_argument("--modifier", help="demand the layout of a DRM format modifier (a number)")
    parser.add_argument("--modifiers", action="store_true", help="list the DRM format modifiers of the chip and format, best first")
    parser.add_argument("--explain", action="store_true", help="also print the address equations in words")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _extent(text: str) -> tuple[int, int, int]:
    found = re.fullmatch(r"(\d+)x(\d+)(?:x(\d+))?", text)
    if not found:
        raise InputError(f"size {text!r}: expected WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH")
    return int(found[1]), int(found[2]), int(found[3] or 0)


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(f"{text!r} is not a number") from None


def _swizzle_mode(text: str, level: int) -> int:
    from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3

    modes: dict[str, Any] = dict((SwizzleMode3 if level >= 120 else SwizzleMode).__members__)
    name = text.upper()
    found = modes.get(name, modes.get(f"SW_{name}"))
    return int(found) if found is not None else _number(text)


def _request(options: argparse.Namespace, level: int) -> Any:
    from pyaco.addrlib.modifiers import INVALID
    from pyaco.addrlib.pixel_formats import pixel_format
    from pyaco.addrlib.surface import SurfaceMode, SurfaceRequest, SurfaceUse

    if not options.extent:
        raise InputError("no size: say WIDTHxHEIGHT, such as 1920x1080")
    width, height, depth = _extent(options.extent)
    form = pixel_format(options.format)
    flags = form.flags
    for wanted, flag in (
            (options.scanout, SurfaceUse.SCANOUT), (options.sparse, SurfaceUse.PRT), (options.no_dcc, SurfaceUse.DISABLE_DCC),
            (options.swizzle_mode, SurfaceUse.FORCE_SWIZZLE_MODE)):
        if wanted:
            flags |= flag
    if options.swizzle_mode and level < 100:
        raise InputError("swizzle modes can be demanded from GFX10 on")
    return SurfaceRequest(
        width, height, form.bpe, depth or 1, form.blk_w, form.blk_h, options.samples, options.samples, options.layers, options.levels,
        form.num_channels, is_3d=depth > 0, is_cube=options.cube, is_array=options.layers > 1,
        mode=SurfaceMode.LINEAR_ALIGNED if options.linear else SurfaceMode.TILED_2D, flags=flags,
        modifier=_number(options.modifier) if options.modifier else INVALID,
        swizzle_mode=_swizzle_mode(options.swizzle_mode, level) if options.swizzle_mode else None)


def _mode_name(config: Any, mode: int) -> str:
    from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3

    name = (SwizzleMode3 if config.level >= 120 else SwizzleMode)(mode).name.removeprefix("SW_")
    return name.replace("256KB", "VAR") if 100 <= config.level < 110 else name


_PARTS = (
    # title, offset, size, alignment
    ("FMASK", "fmask_offset", "fmask_size", "fmask_alignment_log2"), ("CMASK", "cmask_offset", "cmask_size", "cmask_alignment_log2"),
    ("displayable DCC", "display_dcc_offset", "display_dcc_size", "display_dcc_alignment_log2"),
)


def _facts(config: Any, surface: Any) -> dict[str, Any]:
    """Return what there is to say of a layout."""
    from pyaco.addrlib.surface import DEPTH_OR_STENCIL, planes

    facts: dict[str, Any] = {
        "chip": config.name, "total_size": surface.total_size, "alignment": 1 << surface.alignment_log2, "surface_size": surface.surf_size,
        "displayable": bool(surface.is_displayable), "linear": bool(surface.is_linear),
    }
    if config.level >= 90:
        facts |= {"swizzle_mode": _mode_name(config, surface.swizzle_mode), "pitch": surface.surf_pitch, "height": surface.surf_height,
                  "slice_size": surface.surf_slice_size}
    if surface.has_stencil and config.level >= 90:
        facts["stencil"] = {"offset": surface.stencil_offset, "swizzle_mode": _mode_name(config, surface.stencil_swizzle_mode)}
    for title, offset, size, alignment in _PARTS:
        if getattr(surface, offset):
            facts[title] = {"offset": getattr(surface, offset), "size": getattr(surface, size), "alignment": 1 << getattr(surface, alignment)}
    if surface.meta_offset:
        title = "HTILE" if surface.flags & DEPTH_OR_STENCIL else "DCC"
        facts[title] = {"offset": surface.meta_offset, "size": surface.meta_size, "alignment": 1 << surface.meta_alignment_log2,
                        "levels": surface.num_meta_levels}
    for name in ("hiz", "his"):
        part = getattr(surface, name, None)
        if part is not None and part.size:
            facts[{"hiz": "HiZ", "his": "HiS"}[name]] = {
                "offset": part.offset, "size": part.size, "tiles": [part.width_in_tiles, part.height_in_tiles],
                "swizzle_mode": _mode_name(config, part.swizzle_mode)}
    if surface.prt_tile_width:
        facts["sparse_block"] = [surface.prt_tile_width, surface.prt_tile_height, surface.prt_tile_depth]
        facts["first_level_in_mip_tail"] = surface.first_mip_tail_level
    facts["levels"] = _levels(config, surface)
    facts["planes"] = [asdict(plane) for plane in planes(config, surface)]
    return facts


def _levels(config: Any, surface: Any) -> list[dict[str, int]]:
    if config.level < 90:
        rows = surface.levels or surface.stencil_levels
        return [{"offset": r.offset, "pitch": r.pitch, "height": r.height, "slice_size": r.slice_size, "tile_index": r.tile_index} for r in rows]
    if surface.is_linear:
        return [{"offset": offset, "pitch": pitch} for offset, pitch in zip(surface.offset, surface.pitch, strict=True)]
    return []


def _equations(config: Any, surface: Any) -> dict[str, str]:
    """Return the equations of a surface in words."""
    size = surface.bpe.bit_length() - 1
    if config.level < 90:
        from pyaco.addrlib.v1.equation import equation_table

        table = equation_table(config)
        number = table.index.get((surface.levels[0].tile_index, size)) if surface.levels else None
        return {} if number is None else {"byte offset in a block": table.equations[number].equation.text()}
    from pyaco.addrlib.swizzle import swizzle_tables

    found: dict[str, str] = {}
    tables, samples = swizzle_tables(config), surface.request.storage_samples.bit_length() - 1
    number = int(tables.lookup[int(surface.resource_type == 2), surface.swizzle_mode, size, samples])
    if number >= 0:
        found["byte offset in a block"] = tables.equations[number].text()
    for title, meta in (("DCC", surface.dcc_metadata), ("displayable DCC", surface.display_dcc), ("CMASK", surface.cmask), ("HTILE", surface.htile)):
        if meta is not None and meta.equation is not None:
            found[f"nibble address of {title} (m: index of the meta block of {' x '.join(map(str, meta.block))})"] = meta.equation.text()
    return found


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " x ".join(map(str, value)) if isinstance(value, list) else str(value)


def _fields(row: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in row.items())


def _text(facts: dict[str, Any]) -> str:
    lines = []
    for name, value in facts.items():
        title = name.replace("_", " ")
        if isinstance(value, dict):
            lines.append(f"{title}: {_fields(value)}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{title}:", *(f"  {i}: {_fields(row)}" for i, row in enumerate(value))]
        elif value != []:
            lines.append(f"{title}: {_value(value)}")
    return "\n".join(lines) + "\n"


def _modifiers(config: Any, name: str) -> list[dict[str, Any]]:
    from pyaco.addrlib.modifiers import decode_modifier, is_amd, supported_modifiers
    from pyaco.addrlib.pixel_formats import pixel_format

    form = pixel_format(name)
    if form.flags or form.blk_w > 1:
        return []
    found = supported_modifiers(config, form.bpe * 8)
    return [{"modifier": f"{m:#018x}", "means": decode_modifier(m).text() if is_amd(m) else "LINEAR"} for m in found]


def run(options: argparse.Namespace) -> None:
    """Print the layout of a surface."""
    from pyaco.addrlib import gpu_config, gpu_configs

    if options.chip == "list":
        rows = [{"name": c.name, "level": f"GFX{c.level / 10:g}", "source": c.source} for c in gpu_configs()]
        write_text(None, json.dumps(rows, indent=2) + "\n" if options.json else "".join(f"{r['name']:18} {r['level']}\n" for r in rows))
        return
    config = gpu_config(options.chip)
    if options.modifiers:
        found = _modifiers(config, options.format)
        write_text(None, json.dumps(found, indent=2) + "\n" if options.json else "".join(f"{m['modifier']}  {m['means']}\n" for m in found))
        return
    from pyaco.addrlib.surface import compute_surface

    surface = compute_surface(config, _request(options, config.level))
    facts = _facts(config, surface)
    equations = _equations(config, surface) if options.explain else {}
    if options.json:
        write_text(None, json.dumps(facts | ({"equations": equations} if equations else {}), indent=2) + "\n")
        return
    explained = "".join(f"\n{title}:\n{text}\n" for title, text in equations.items())
    write_text(None, _text(facts) + explained)
