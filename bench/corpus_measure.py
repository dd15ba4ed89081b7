"""One entry point of a module through pyaco and through RADV: least times, statistics, and what the code consists of."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from corpus_counts import code_counts, nir_counts, printed_counts
from peer_statistics import DEBIAN, STATISTICS, debian_counts_of_shader, least_milliseconds
from shader_inputs import RUNTIME_DESCRIPTORS, descriptor
from spirv_reflection import reflect
from vulkan_peer import PeerError, Radv

import pyaco
from pyaco import spirv

PUSH_BYTES = 256

#: Values for specialization constants by name, where the default is 0 or 1 because the host always sets them.
REAL_SIZES: Mapping[str, int] = {
    "M": 1024, "N": 1024, "K": 1024, "strideA": 1024, "strideB": 1024, "strideC": 1024, "stride": 1024, "totalCount": 1 << 20,
    "IH": 58, "IW": 58, "IC": 64, "FH": 3, "FW": 3, "SH": 1, "SW": 1, "OH": 56, "OW": 56, "OC": 64,
    "kElementsPerThread": 16, "kLoopSize": 64, "WIDTH": 1920, "HEIGHT": 1080, "LEN_LHS": 1024, "LEN_RHS": 1024, "LEN_OUT": 1024,
}  # fmt: skip
#: For those without a name: GLSL's ``local_size_x_id`` and its like make such.
LOCAL_SIZE = 8


@dataclass(frozen=True)
class Measuring:
    """How entry points are measured.

    Attributes
    ----------
    targets : tuple of str
    wave : int or None
        Wave size; as RADV chooses without one.
    repetitions, seconds : int, float
        Compilations of which the least processor time counts; no more of them after so many seconds.
    sizes : bool
        With `REAL_SIZES` instead of defaults.
    icds : dict
        Further drivers by label: manifests.
    """

    targets: tuple[str, ...] = ("gfx1030", "gfx1100")
    wave: int | None = None
    repetitions: int = 3
    seconds: float = 2.0
    sizes: bool = False
    icds: Mapping[str, Path] = field(default_factory=dict)


@cache
def peer(target: str, icd: Path | None) -> Radv:
    """A RADV for a target, kept."""
    return Radv(target, icd)


def measure_module(path: Path, how: Measuring) -> list[dict[str, Any]]:
    """A row for each entry point for compute and each target."""
    module = path.read_bytes()
    try:
        entries = [name for name, stage in spirv.entry_points(module) if stage == "compute"]
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return [{"path": str(path), "entry": "", "target": target, "pyaco_error": _first_line(error)} for target in how.targets]
    return [{"path": str(path), "entry": entry, "target": target, **measure_entry(module, entry, target, how)}
            for entry in entries for target in how.targets]  # fmt: skip


def measure_entry(module: bytes, entry: str, target: str, how: Measuring) -> dict[str, Any]:
    """Both compilers' figures for one entry point; ``pyaco_error`` or ``radv_error`` where one refuses."""
    row: dict[str, Any] = {}
    try:
        facts = spirv.reflect(module, entry)
        spec = real_sizes(facts) if how.sizes else {}
        if spec:
            row["spec"] = spec
            facts = spirv.reflect(module, entry, spec)
        shader = pyaco.compile(module, target=target, entry=entry, wave=how.wave, spec=spec)
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return {**row, "pyaco_error": _first_line(error)}
    except Exception as error:
        return {**row, "pyaco_error": f"bug: {type(error).__name__}: {_first_line(error)}"}
    row["wave"], row["spirv"] = shader.wave, reflect(module).instruction_count
    row["pyaco"] = _ours(module, entry, target, shader, spec, math.prod(facts["workgroup_size"]), how)
    for label, icd in {"radv": None, **how.icds}.items():
        try:
            row[label] = _theirs(module, entry, peer(target, icd), shader.wave, spec, facts, how)
        except PeerError as error:
            row[f"{label}_error"] = str(error)[:200]
    return row


def _ours(module: bytes, entry: str, target: str, shader: Any, spec: Mapping[int, Any], invocations: int, how: Measuring) -> dict[str, Any]:
    def compile_once() -> Any:
        return pyaco.compile(module, target=target, entry=entry, wave=shader.wave, spec=spec)

    last = [record.name for record in shader.passes if record.room == "nir"][-1]
    shown = pyaco.compile(module, target=target, entry=entry, wave=shader.wave, spec=spec, dump_after=f"nir.{last}")
    return {
        "ms": least_milliseconds(compile_once, how.repetitions, how.seconds),
        "rooms": {room: round(shader.times_ms[room], 4) for room in ("spirv", "nir", "aco")},
        **{each.name: shader.stats[each.ours] for each in STATISTICS if each.ours in shader.stats},
        DEBIAN: debian_counts_of_shader(shader, compile_once, invocations),
        "nir": nir_counts(list(shown.dumps.values())[-1]), "code": code_counts(shader.code, target),
    }  # fmt: skip


def _theirs(module: bytes, entry: str, radv: Radv, wave: int, spec: Mapping[int, Any], facts: Mapping[str, Any], how: Measuring) -> dict[str, Any]:
    layouts, push = pipeline_layout(facts), min(-(-facts["push_constant_bytes"] // 4) * 4, PUSH_BYTES)
    found = radv.compile(module, wave, spec, entry, layouts=layouts, push_bytes=push)
    times = radv.time(module, wave, spec, entry, how.repetitions, how.seconds, layouts=layouts, push_bytes=push)
    code = code_counts(found.code, radv.target) if found.code else printed_counts(found.assembly)
    return {
        "ms": min(times), **{each.name: found.statistics[each.theirs] for each in STATISTICS if each.theirs in found.statistics},
        "nir": nir_counts(found.nir), "code": code,
    }  # fmt: skip


def pipeline_layout(facts: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Set layouts with the bindings that an entry point uses."""
    sets = facts["descriptor_sets"]
    return [[descriptor(binding, each["type"], each["count"] or RUNTIME_DESCRIPTORS) for binding, each in sorted(sets.get(number, {}).items())]
            for number in range(max(sets, default=-1) + 1)]  # fmt: skip


def real_sizes(facts: Mapping[str, Any]) -> dict[int, int]:
    """Values for the specialization constants whose defaults, 0 or 1, are stand-ins."""
    found = {}
    for number, constant in facts["spec_constants"].items():
        if constant["default"] not in (0, 1) or isinstance(constant["default"], (bool, float)):
            continue
        name = constant["name"]
        if name in REAL_SIZES:
            found[number] = REAL_SIZES[name]
        elif not name and constant["default"] == 1:
            found[number] = LOCAL_SIZE
    return found


def _first_line(error: Exception) -> str:
    text = (str(error).splitlines() or [""])[0]
    return re.sub(r"^SPIR-V word \d+: ", "", text)[:200]
