"""``pyaco run``: compile a shader and dispatch it on the emulator."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy

from pyaco.cli.shared import add_compile_arguments, read_bytes, specializations, write_bytes
from pyaco.compiler import compile
from pyaco.errors import InputError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    add_compile_arguments(parser)
    parser.add_argument("--groups", default="1,1,1", metavar="X,Y,Z", help="workgroups in each dimension")
    parser.add_argument("--buffer", action="append", default=[], metavar="SET.BINDING=FILE|zeros:BYTES",
                        help="a buffer's contents: .npy, raw bytes, or zeros; repeat for descriptor arrays")
    parser.add_argument("--push", metavar="FILE", help="push constants: .npy or raw bytes")
    parser.add_argument("--save", action="append", default=[], metavar="SET.BINDING=FILE",
                        help="where to write a buffer afterwards (.npy keeps the type of its input)")
    parser.add_argument("--engine", choices=("reference", "fast"), default="reference", help="emulator engine")
    parser.add_argument("--stats", action="store_true", help="print what was executed: opcodes, exactness, lanes, memory, banks")
    parser.add_argument("--check-waits", action="store_true", help="stop where data is used that a real machine could not have yet")
    parser.add_argument("--check-races", action="store_true", help="stop where two waves reach the same bytes and nothing orders them")
    parser.add_argument("--seed", type=int, help="draw the order of workgroups and the turns of waves from this number")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> None:
    """Compile, dispatch, and save buffers."""
    from pyaco import emu

    groups = _triple(options.groups)
    saves = [_binding(word, "--save") for word in options.save]
    contents: dict[tuple[int, int], list[numpy.ndarray[Any, Any]]] = {}
    for word in options.buffer:
        key, value = _binding(word, "--buffer")
        contents.setdefault(key, []).append(_contents(value))
    for key, path in saves:
        if key not in contents:
            raise InputError(f"--save {key[0]}.{key[1]}={path}: no --buffer has that binding")
    shader = compile(
        options.input, options.target, stage=options.stage, entry=options.entry, wave=options.wave,
        spec=specializations(options.spec), validate=options.validate,
    )
    device = emu.Device(
        options.target, engine=options.engine, check_waits=options.check_waits, check_races=options.check_races,
        profile=options.stats, seed=options.seed,
    )
    buffers = {key: [device.buffer(array) for array in arrays] for key, arrays in contents.items()}
    bound = {key: value if len(value) > 1 else value[0] for key, value in buffers.items()}
    push = _contents(options.push).tobytes() if options.push else b""
    report = device.dispatch(shader, groups=groups, buffers=bound, push=push)
    for key, path in saves:
        _save(path, buffers[key][0].numpy(), contents[key][0])
    _print(options, report, bound)


def _triple(text: str) -> tuple[int, int, int]:
    try:
        values = [int(word, 0) for word in text.split(",")]
    except ValueError:
        values = []
    values += [1] * (3 - len(values)) if values else []
    if len(values) != 3 or min(values) < 0:
        raise InputError(f"--groups {text}: expected X,Y,Z, for example 64,1,1")
    return values[0], values[1], values[2]


def _binding(word: str, option: str) -> tuple[tuple[int, int], str]:
    match = re.fullmatch(r"(\d+)\.(\d+)=(.+)", word)
    if match is None:
        raise InputError(f"{option} {word}: expected SET.BINDING=FILE, for example 0.1=x.npy")
    return (int(match[1]), int(match[2])), match[3]


def _contents(value: str) -> numpy.ndarray[Any, Any]:
    if value.startswith("zeros:"):
        try:
            return numpy.zeros(int(value.removeprefix("zeros:"), 0), numpy.uint8)
        except (ValueError, MemoryError) as error:
            raise InputError(f"{value}: {error}") from None
    if value.endswith(".npy"):
        try:
            return numpy.ascontiguousarray(numpy.load(value, allow_pickle=False))
        except (OSError, ValueError) as error:
            raise InputError(f"{value}: {error}") from None
    return numpy.frombuffer(read_bytes(value), numpy.uint8)


def _save(path: str, data: numpy.ndarray[Any, Any], like: numpy.ndarray[Any, Any]) -> None:
    raw = numpy.ascontiguousarray(data).view(numpy.uint8).reshape(-1)
    if not path.endswith(".npy"):
        write_bytes(path, raw.tobytes())
        return
    try:
        numpy.save(Path(path), raw.view(like.dtype).reshape(like.shape))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _print(options: argparse.Namespace, report: Any, buffers: dict[tuple[int, int], Any]) -> None:
    facts = report.to_dict() if hasattr(report, "to_dict") else dict(report)
    if options.json:
        print(json.dumps({"target": options.target, "groups": options.groups, "stats": facts}, indent=2))
    elif options.stats:
        for name, value in facts.items():
            print(f"{name}: {value}")
