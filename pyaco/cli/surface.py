"""``pyaco surface``."""

from __future__ import annotations

import json
import re
from typing import Any

from pyaco.cli.command_line import CommandLine, Options, write_text
from pyaco.errors import InputError
from pyaco.targets import features

__all__ = ["add_arguments", "add_surface_arguments", "add_tiling_arguments", "extent_of", "run", "surface_options", "swizzle_mode"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("chip", help="a chip, gfx name or product, such as navi31, gfx1030 or \"RX 9070\"; 'list' names the configurations")
    parser.add_argument("extent", nargs="?", metavar="WxH[xD]", help="size in pixels; with a depth the surface is 3D")
    add_surface_arguments(parser)
    parser.add_argument("--modifiers", action="store_true", help="list the DRM format modifiers of the chip and format, best first")
    parser.add_argument("--explain", action="store_true", help="also print the address equations in words")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_surface_arguments(parser: CommandLine) -> None:
    """Describe a surface of a known chip and extent."""
    parser.add_argument("--format", default="rgba8", help="pixel format, such as R8G8B8A8_UNORM, rgba8, bc7, d32s8, yuyv, NV12")
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


def add_tiling_arguments(parser: CommandLine, source: str, result: str) -> None:
    """Describe a surface, and the files on both sides of it."""
    parser.add_argument("chip", help="a chip, gfx name or product, such as navi31, gfx1030 or \"RX 9070\"")
    parser.add_argument("extent", metavar="WxH[xD]", help="size in pixels; with a depth the surface is 3D")
    parser.add_argument("input", metavar="IN", help=source)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help=result)
    parser.add_argument("--level", type=int, default=0, help="which mip level the texels are")
    parser.add_argument("--plane", type=int, default=0, help="which plane of a format like NV12 the texels are")
    parser.add_argument("--stencil", action="store_true", help="the texels are stencil beside depth")
    parser.add_argument("--threads", type=int, default=1, help="threads that share the work")
    add_surface_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object that says what was done")


def extent_of(text: str) -> tuple[int, int, int]:
    """Return width, height and depth (0: none) that a word such as ``64x32`` says."""
    found = re.fullmatch(r"(\d+)x(\d+)(?:x(\d+))?", text)
    if not found:
        raise InputError(f"size {text!r}: expected WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH")
    return int(found[1]), int(found[2]), int(found[3] or 0)


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(f"{text!r} is not a number") from None


def swizzle_mode(text: str, level: int) -> int:
    """Return the number of a swizzle mode that is given by number or name."""
    from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3

    modes: dict[str, Any] = dict((SwizzleMode3 if features.has_gfx12_swizzle_modes(level) else SwizzleMode).__members__)
    name = text.upper()
    found = modes.get(name, modes.get(f"SW_{name}"))
    if found is not None:
        return int(found)
    if not re.fullmatch(r"\d+|0x[0-9A-F]+", name, re.IGNORECASE):
        raise InputError(f"no swizzle mode {text!r}; of this generation are {', '.join(each.removeprefix('SW_') for each in modes)}")
    return int(text, 0)


def surface_options(options: Options, level: int) -> dict[str, Any]:
    """Return what the command line says of a surface, as `pyaco.addrlib.Surface` takes it, for a chip of a hardware level."""
    from pyaco.addrlib.driver.modifiers import INVALID
    from pyaco.addrlib.driver.records import SurfaceUse

    if not options.extent:
        raise InputError("no size: say WIDTHxHEIGHT, such as 1920x1080")
    if options.swizzle_mode is not None and not features.has_swizzle_mode_choice(level):
        raise InputError("swizzle modes can be demanded from GFX10 on")
    layouts = [name for name in ("linear", "swizzle_mode", "modifier") if getattr(options, name) not in (None, False)]
    if len(layouts) > 1:
        raise InputError(f"{' and '.join(f'--{name}' for name in layouts).replace('_', '-')}: one of them decides the layout")
    if options.cube and options.layers not in (1, 6):
        raise InputError(f"a cube has six faces, not {options.layers} layers")
    width, height, depth = extent_of(options.extent)
    use = SurfaceUse(0)
    for wanted, flag in ((options.scanout, SurfaceUse.SCANOUT), (options.sparse, SurfaceUse.PRT), (options.no_dcc, SurfaceUse.DISABLE_DCC)):
        if wanted:
            use |= flag
    return {
        "format": options.format, "width": width, "height": height, "depth": depth, "layers": options.layers, "mips": options.levels,
        "samples": options.samples, "cube": options.cube, "linear": options.linear, "use": use,
        "modifier": INVALID if options.modifier is None else _number(options.modifier),
        "swizzle_mode": None if options.swizzle_mode is None else swizzle_mode(options.swizzle_mode, level)}


def _modifiers(config: Any, name: str) -> list[dict[str, Any]]:
    from pyaco.addrlib.driver.modifiers import decode_modifier, is_amd, supported_modifiers
    from pyaco.addrlib.multi_plane import plane_count
    from pyaco.formats import pixel_format

    form = pixel_format(name)
    if form.color_space == "zs" or form.block != (1, 1, 1):
        return []
    found = supported_modifiers(config, form.bits, planes=plane_count(form))
    return [{"modifier": f"{m:#018x}", "means": decode_modifier(m).text() if is_amd(m) else "LINEAR"} for m in found]


def run(options: Options) -> None:
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
    from pyaco.addrlib import plane_surfaces

    picture = plane_surfaces(config, **surface_options(options, config.level))
    found = [plane.surface.facts | ({"equations": plane.surface.equations} if options.explain else {}) for plane in picture.planes]
    if len(found) > 1:
        found = [{"plane": number, "starts_at": plane.offset} | facts
                 for number, (plane, facts) in enumerate(zip(picture.planes, found, strict=True))]
    if options.json:
        write_text(None, json.dumps(found[0] if len(found) == 1 else found, indent=2) + "\n")
        return
    write_text(None, "\n".join(map(_text, found)))


def _text(facts: dict[str, Any]) -> str:
    from pyaco.addrlib.describe import text_of_facts

    equations = facts.pop("equations", {})
    return text_of_facts(facts) + "".join(f"\n{title}:\n{text}\n" for title, text in equations.items())
