"""Arguments that several verbs share."""

import os
import sys

from pyaco.cli.command_line import CommandLine, Options
from pyaco.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco.compiler import CompiledShader

__all__ = ["add_cache_argument", "add_compile_arguments", "compile_cached", "specializations"]


def add_compile_arguments(parser: CommandLine, target: str | None = "gfx1100") -> None:
    """Add what every verb that compiles a shader takes."""
    parser.add_argument("input", metavar="IN", help="SPIR-V (.spv), NIR text (.nir) or GLSL (.comp)")
    parser.add_argument("--target", default=target, help="gfx name, chip name or product name")
    parser.add_argument("--stage", default="compute", help="pipeline stage")
    parser.add_argument("--entry", help="entry point; needed when the module has several")
    parser.add_argument("--wave", type=int, choices=(32, 64), help="lanes per wave (32 for workgroups of up to 32 invocations where there are "
                        "such waves, else 64)")
    parser.add_argument("--wgp-mode", action="store_true", help="a workgroup may run on both compute units of a pair (GFX10 and later), as RADV's")
    parser.add_argument("--spec", nargs="+", action="extend", default=[], metavar="ID=VALUE", help="specialization constants; may be repeated")
    parser.add_argument("--int64", default="hardware", metavar="OPTIONS",
                        help="64-bit integers in 32-bit halves: hardware (what chips lack), all, or options such as iadd64+shift64")
    parser.add_argument("--fp64", default="hardware", metavar="OPTIONS",
                        help="doubles: hardware (what chips lack is lowered), lowered (all but sums, products, comparison), software (integer "
                        "arithmetic), or options such as dfloor+dmod")
    parser.add_argument("--validate", action="store_true", help="run the validators after every pass")


def add_cache_argument(parser: CommandLine) -> None:
    """Add the folder of compiled shaders."""
    parser.add_argument("--cache", metavar="DIR", default=os.environ.get("PYACO_CACHE") or None,
                        help="keep compiled shaders in this folder (PYACO_CACHE; without either nothing is kept)")


def compile_cached(options: Options, target: str, **choices: "Any") -> "CompiledShader":
    """Compile what the options name, through the cache that they name."""
    import warnings

    from pyaco.compute_pipeline import Pipeline, PipelineCache

    with warnings.catch_warnings(record=True) as noted:       # of a folder that takes no entries
        made = Pipeline(
            options.input, target, stage=options.stage, entry=options.entry, wave=options.wave, specialization=specializations(options.spec),
            int64=options.int64, fp64=options.fp64, wgp_mode=options.wgp_mode, cache=PipelineCache(options.cache), **choices,
        )  # fmt: skip
    for warning in noted:
        print(f"pyaco: warning: {warning.message}", file=sys.stderr)
    return made.shader


def specializations(words: list[str]) -> dict[int, int | float | bool]:
    """Parse ``ID=VALUE`` words: integers in any base, floats, true and false."""
    result: dict[int, int | float | bool] = {}
    for word in words:
        name, separator, value = word.partition("=")
        try:
            result[int(name, 0)] = _number(value)
        except ValueError:
            separator = ""
        if not separator:
            raise InputError(f"--spec {word}: expected ID=VALUE, for example 0=64 or 3=1.5")
    return result


def _number(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text, 0)
    except ValueError:
        return float(text)
