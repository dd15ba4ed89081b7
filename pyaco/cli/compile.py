"""``pyaco compile``."""

from __future__ import annotations

import json
import sys

from pyaco.cli.command_line import CommandLine, Options, write_bytes, write_text
from pyaco.cli.shared import add_cache_argument, add_compile_arguments, compile_cached, specializations
from pyaco.compiler import CompiledShader, compile
from pyaco.debug_switches import SWITCHES, VARIABLE, switches
from pyaco.errors import InputError

__all__ = ["add_arguments", "run"]

EMIT = ("asm", "bin", "elf", "radv", "nir", "aco", "json")
_CODE = ("bin", "elf", "radv", "json")


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    add_compile_arguments(parser)
    add_cache_argument(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (standard output)")
    parser.add_argument("--emit", choices=EMIT, default="asm", help="what to write")
    parser.add_argument("--json", action="store_true", help="the same as --emit json")
    parser.add_argument("--dump-after", action="append", default=[], metavar="PASS", help="print the IR after a pass")
    parser.add_argument("--stop-after", metavar="PASS", help="stop after a pass and print its IR")
    parser.add_argument("--disable", action="append", default=[], metavar="PASS", help="leave an optimisation out, such as nir.loop_unroll")
    parser.add_argument("--print-passes", action="store_true", help="list the passes in the order in which they ran")
    parser.add_argument("--time-passes", action="store_true", help="print how long each pass took")
    parser.add_argument("--debug", default="", metavar="WORDS", help=f"switches as those of ACO_DEBUG, besides those of {VARIABLE}: "
                        f"{', '.join(SWITCHES)}")
    parser.add_argument("--explain-pressure", action="store_true", help="say where most registers are needed and what holds them, instead of code")


def run(options: Options) -> None:
    """Compile and write what was asked for."""
    emit = "json" if options.json else options.emit
    for name in ("print_passes", "stop_after", "explain_pressure"):
        if getattr(options, name) and emit in _CODE:
            raise InputError(f"--{name.replace('_', '-')} and --emit {emit}: text takes the place of code")
    dumps = list(options.dump_after)
    if emit in ("nir", "aco"):
        dumps.append("all")
    # a shader of the cache has been through its passes already: who wants to see them compiles
    watched = dumps or options.stop_after or options.validate or options.print_passes or options.time_passes or options.explain_pressure
    if options.cache and not watched:
        shader = compile_cached(options, options.target, disable=options.disable, debug=options.debug)
    else:
        shader = compile(
            options.input, options.target, stage=options.stage, entry=options.entry, wave=options.wave,
            spec=specializations(options.spec), validate=options.validate, dump_after=dumps, stop_after=options.stop_after,
            disable=options.disable, int64=options.int64, fp64=options.fp64, debug=options.debug, explain_pressure=options.explain_pressure,
            wgp_mode=options.wgp_mode,
        )
    if options.print_passes:
        write_text(options.output, "\n".join(f"{record.room}.{record.name}" for record in shader.passes))
        return
    kept = switches(options.debug).keeps
    for name, text in shader.dumps.items():
        if name in kept:
            print(f"; {name}\n{text}", file=sys.stderr)
        elif name in options.dump_after or name.split(".")[-1] in options.dump_after or "all" in options.dump_after:
            print(f"; after {name}\n{text}", file=sys.stderr)
    if options.time_passes:
        _print_times(shader)
    if options.explain_pressure:
        write_text(options.output, "\n".join(map(str, shader.pressure)))
    elif options.stop_after:
        write_text(options.output, list(shader.dumps.values())[-1])
    else:
        _emit(shader, emit, options.output)


def _print_times(shader: CompiledShader) -> None:
    times = shader.times_ms
    for name, milliseconds in times["passes"].items():
        print(f"{milliseconds:9.3f} ms  {name}", file=sys.stderr)
    print(f"{times['total']:9.3f} ms  total", file=sys.stderr)


def _emit(shader: CompiledShader, emit: str, output: str | None) -> None:
    if emit == "json":
        write_text(output, json.dumps(shader.to_json(), indent=2))
    elif emit == "bin":
        write_bytes(output, shader.code)
    elif emit == "elf":
        write_bytes(output, shader.to_elf())
    elif emit == "radv":
        from pyaco.binary import write_radv_shader

        write_bytes(output, write_radv_shader(shader))
    elif emit in ("nir", "aco"):
        write_text(output, [text for name, text in shader.dumps.items() if name.startswith(emit)][-1])
    else:
        statistics = "\n".join(f"; {name}: {value}" for name, value in {"wave": shader.wave, **shader.stats}.items())
        write_text(output, f"{_listing(shader)}\n{statistics}")


def _listing(shader: CompiledShader) -> str:
    """The disassembly, with file and line in a comment wherever they change, if the shader knows them."""
    if not shader.line_rows:
        return shader.disassembly.rstrip()
    from pyaco import isa

    lines, last = [], None
    for line in isa.disassemble_lines(shader.code, shader.target, wave_size=shader.wave):
        place = shader.source_lines.find(line.offset) if line.size else last
        if place != last and place is not None:
            lines.append(f"; {place[0]}:{place[1]}")
        last = place
        lines.append(line.text.rstrip())
    return "\n".join(lines)
