"""``pyaco run``: compile a shader, or take a code object, and dispatch it on the emulator."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy

from pyaco.abi import Abi
from pyaco.cli.arrays import array_of, write_array
from pyaco.cli.command_line import CommandLine, Options, is_code_object, read_bytes, write_text
from pyaco.cli.images import Resources, add_image_arguments, split_binding
from pyaco.cli.shared import add_cache_argument, add_compile_arguments, compile_cached, specializations
from pyaco.compiler import compile
from pyaco.emu.errors import EmulationError
from pyaco.errors import InputError
from pyaco.targets.target_id import generic_members

if TYPE_CHECKING:
    from pyaco.emu import Device, Report

__all__ = ["add_arguments", "run"]

# What only one kind of input takes.
_OF_CODE_OBJECTS = ("kernel", "grid", "workgroup", "cluster", "arg", "lds")
_OF_SHADERS = ("groups", "buffer", "image", "sampler", "texel_buffer", "push", "entry", "wave", "wgp_mode", "spec")


#: Wave instructions that a timeline shows.
TIMELINE = 1 << 16


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    add_compile_arguments(parser, target=None)
    add_cache_argument(parser)
    parser.add_argument("--groups", metavar="X,Y,Z", help="workgroups in each dimension (1,1,1)")
    parser.add_argument("--buffer", action="append", default=[], metavar="SET.BINDING=FILE|zeros:BYTES",
                        help="a buffer's contents: .npy, raw bytes, or zeros; repeat for descriptor arrays")
    add_image_arguments(parser)
    parser.add_argument("--push", metavar="FILE", help="push constants: .npy or raw bytes")
    parser.add_argument("--save", action="append", default=[], metavar="SET.BINDING=FILE",
                        help="where to write a buffer afterwards (.npy keeps the type of its input), or an image (.png, .npy, .dds, .ktx2); of a "
                        "code object: NUMBER=FILE")
    parser.add_argument("--kernel", help="code object: which kernel; the only one may be left out")
    parser.add_argument("--grid", metavar="X,Y,Z", help="code object: work-items in each dimension")
    parser.add_argument("--workgroup", metavar="X,Y,Z", help="code object: work-items of a workgroup (64,1,1)")
    parser.add_argument("--cluster", metavar="X,Y,Z", help="code object: workgroups of a cluster (GFX12.5), if the kernel leaves that open")
    parser.add_argument("--arg", action="append", default=[], metavar="FILE|zeros:BYTES|NUMBER",
                        help="code object: the next argument, a buffer's contents or a number; repeat in the kernel's order")
    parser.add_argument("--lds", type=int, metavar="BYTES", help="code object: LDS of a workgroup besides the kernel's own (dynamic LDS)")
    parser.add_argument("--engine", choices=("reference", "fast"), default="fast", help="emulator engine; the results are the same")
    parser.add_argument("--stats", action="store_true", help="print what was executed: opcodes, exactness, lanes, memory, banks")
    parser.add_argument("--profile", action="store_true",
                        help="print where the cycles go: classes, hot lines, memory, banks, occupancy (docs/profile.md)")
    parser.add_argument("--profile-json", metavar="FILE", help="write the profile of every instruction and line of source as JSON")
    parser.add_argument("--chrome-trace", metavar="FILE", help="write the timeline of the first waves for chrome://tracing or Perfetto")
    parser.add_argument("--timeline", type=int, metavar="N", help=f"with --chrome-trace: how many wave instructions it shows ({TIMELINE})")
    parser.add_argument("--check-waits", action="store_true",
                        help="stop where data is used that a real machine could not have yet: counters, wait states, hazards")
    parser.add_argument("--check-races", action="store_true", help="stop where two waves reach the same bytes and nothing orders them")
    parser.add_argument("--check", default="", metavar="NAME,...",
                        help="stop at defects: memory, waits, races, barriers, uninitialized (docs/emulator.md)")
    parser.add_argument("--report-same-value", action="store_true", help="with --check races: report stores of the same value too")
    parser.add_argument("--seed", type=int, help="draw the order of workgroups and the turns of waves from this number")
    parser.add_argument("--budget", type=int, metavar="N", help="stop after so many wave instructions (default 2**36)")
    parser.add_argument("--time-budget", type=float, metavar="SECONDS", help="stop after so many seconds (default: never)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: Options) -> None:
    """Compile, dispatch, and save buffers."""
    if options.timeline is not None and not options.chrome_trace:
        raise InputError("--timeline says how much --chrome-trace shows, which is not given")
    try:
        if options.input != "-" and is_code_object(read_bytes(options.input)):
            _run_code_object(options)
        else:
            _run_shader(options)
    except EmulationError as error:
        if options.json:
            write_text(None, json.dumps({"error": error.to_dict()}, indent=2))
        raise


def _refuse(options: Options, names: tuple[str, ...], kind: str) -> None:
    """Raise InputError if an option is given that the input has no use for."""
    for name in names:
        value = getattr(options, name)
        if value not in (None, []) and value is not False:
            raise InputError(f"--{name.replace('_', '-')}: {options.input} is {kind}")


def _device(options: Options, target: str) -> Device:
    from pyaco import emu

    return emu.Device(
        target, engine=options.engine, check_waits=options.check_waits, check_races=options.check_races,
        profile=options.stats or _is_profiled(options), seed=options.seed, check=options.check, report_same_value=options.report_same_value,
        timeline=TIMELINE if options.chrome_trace and options.timeline is None else options.timeline or 0,
    )  # fmt: skip


def _budgets(options: Options) -> dict[str, Any]:
    given = {} if options.budget is None else {"budget": options.budget}
    return given | {"time_budget": options.time_budget}


def _run_shader(options: Options) -> None:
    _refuse(options, _OF_CODE_OBJECTS, "no code object")
    groups = _triple("1,1,1" if options.groups is None else options.groups)
    target = "gfx1100" if options.target is None else options.target
    saves = [split_binding(word, "--save") for word in options.save]
    contents: dict[tuple[int, int], list[numpy.ndarray[Any, Any]]] = {}
    for word in options.buffer:
        key, value = split_binding(word, "--buffer")
        contents.setdefault(key, []).append(array_of(value))
    more = {"--image": options.image, "--texel-buffer": options.texel_buffer}
    named = {split_binding(word, option)[0] for option, words in more.items() for word in words}
    for key, path in saves:
        if key not in contents and key not in named:
            raise InputError(f"--save {key[0]}.{key[1]}={path}: no --buffer, --image or --texel-buffer has that binding")
    if options.cache and not options.validate:
        shader = compile_cached(options, target)
    else:
        shader = compile(
            options.input, target, stage=options.stage, entry=options.entry, wave=options.wave,
            spec=specializations(options.spec), int64=options.int64, fp64=options.fp64, validate=options.validate,
            wgp_mode=options.wgp_mode,
        )
    device = _device(options, target)
    buffers = {key: [device.buffer(array) for array in arrays] for key, arrays in contents.items()}
    abi = Abi.of(shader.abi)
    resources = Resources.of(options, device, abi)
    bound = {key: value if len(value) > 1 else value[0] for key, value in buffers.items()} | resources.bound(abi)
    push = array_of(options.push).tobytes() if options.push else b""
    report = device.dispatch(shader, groups=groups, buffers=bound, push=push, **_budgets(options))
    for key, path in saves:
        if key in resources.images:
            resources.images[key][0].save(path)
            continue
        buffer, like = resources.buffer_of(key) or (buffers[key][0], contents[key][0])
        _save(path, buffer.numpy(), like)
    _warn(report)
    _print(options, target, report)


def _run_code_object(options: Options) -> None:
    from pyaco.binary import read_code_object

    _refuse(options, _OF_SHADERS, "a code object, whose arguments are given by --arg")
    if options.grid is None:
        raise InputError(f"{options.input} is a code object: --grid says how many work-items run")
    code = read_code_object(read_bytes(options.input), options.target, options.kernel)
    own = replace(code.target_id, processor=generic_members(code.target)[0])
    device = _device(options, str(own) if options.target is None else options.target)
    if not code.target_id.runs_on(device.target_id):
        raise InputError(f"--target {options.target}: {options.input} is for {code.target_id}")
    values: list[Any] = [_argument(word) for word in options.arg]
    arguments = [device.buffer(value) if isinstance(value, numpy.ndarray) else value for value in values]
    saves = [_numbered(word, values) for word in options.save]
    grid = _triple(options.grid, "--grid")
    workgroup = _triple("64,1,1" if options.workgroup is None else options.workgroup, "--workgroup")
    report = device.load(code).dispatch(
        options.kernel, grid, workgroup, arguments, group_segment_size=options.lds or 0,
        cluster=None if options.cluster is None else _triple(options.cluster, "--cluster"), **_budgets(options)
    )
    for number, path in saves:
        _save(path, arguments[number].numpy(), values[number])
    _warn(report, "; --lds gives the kernel more")
    _print(options, device.target, report)


def _argument(word: str) -> numpy.ndarray[Any, Any] | int | float:
    for number in (lambda text: int(text, 0), float):
        try:
            return number(word)
        except ValueError:
            continue
    return array_of(word)


def _numbered(word: str, values: list[Any]) -> tuple[int, str]:
    number, _, path = word.partition("=")
    if not number.isdigit() or not path or int(number) >= len(values) or not isinstance(values[int(number)], numpy.ndarray):
        raise InputError(f"--save {word}: expected NUMBER=FILE with the number of an --arg that is a buffer, counted from 0")
    return int(number), path


def _triple(text: str, option: str = "--groups") -> tuple[int, int, int]:
    try:
        values = [int(word, 0) for word in text.split(",")]
    except ValueError:
        values = []
    values += [1] * (3 - len(values)) if values else []
    if len(values) != 3 or min(values) < 0:
        raise InputError(f"{option} {text}: expected X,Y,Z, for example 64,1,1")
    return values[0], values[1], values[2]


def _save(path: str, data: numpy.ndarray[Any, Any], like: numpy.ndarray[Any, Any]) -> None:
    raw = numpy.ascontiguousarray(data).view(numpy.uint8).reshape(-1)
    write_array(path, raw.view(like.dtype).reshape(like.shape))


def _warn(report: Report, remedy: str = "") -> None:
    """Say on standard error what the dispatch ignored and is probably a mistake."""
    for number, binding in report.unused_bindings:
        print(f"pyaco: note: the shader does not have binding {binding} of set {number}: what is bound there is not used", file=sys.stderr)
    if report.lds_out_of_bounds:
        where = f", the first instruction at pc {report.lds_out_of_bounds_pc:#x}" if report.lds_out_of_bounds_pc is not None else ""
        print(f"pyaco: warning: {report.lds_out_of_bounds} accesses of lanes to LDS beyond its size{where}: loads gave zero, stores were "
              f"dropped{remedy}", file=sys.stderr)


def _is_profiled(options: Options) -> bool:
    return bool(options.profile or options.profile_json or options.chrome_trace)


def _print(options: Options, target: str, report: Report) -> None:
    profile = report.profile if _is_profiled(options) else None
    if profile is not None:
        if options.profile_json:
            write_text(options.profile_json, profile.to_json())
        if options.chrome_trace:
            write_text(options.chrome_trace, profile.to_chrome_trace())
    if options.json:
        shape = {"groups": options.groups} if options.grid is None else {"grid": options.grid, "workgroup": options.workgroup}
        found = {"target": target, "wave": report.wave_size, **shape, "stats": report.to_dict()}
        if profile is not None and options.profile:
            found["profile"] = profile.to_dict()
        write_text(None, json.dumps(found, indent=2))
        return
    if options.stats:
        write_text(None, report.text())
    if profile is not None and options.profile:
        write_text(None, str(profile))
