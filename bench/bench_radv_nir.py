"""RADV's last NIR through this package's backend, beside the whole way and RADV itself: which losses are of NIR passes, which of the backend.

``python bench/bench_radv_nir.py FOLDER --icd FILE`` takes every entry point for compute of each ``.spv`` below the folder, lets a RADV on its
null winsys compile it (25.2 is the version whose text is read; build it, and give its manifest), and

- parses the NIR that RADV's backend reads, selects instructions of it without passes of ours in between, and runs the code on the emulator
  beside that of the whole way, with the same inputs (``tests/oracle/shader_inputs``);
- counts both last NIRs by kind and by opcode, and the machine code of all three ways.

Outcomes: ``equal`` bit for bit, ``close`` within Vulkan's precision rules, ``differs``,
``undecidable`` (differs, and the dispatch's result is not defined, by evidence), ``not driven`` (no inputs are generated for what it
declares, or the whole way stops with them), ``compiled`` (not run: ``--compile-only``), ``stops`` (on the emulator), ``refused`` (RADV's NIR
has what is not supported; the reason names it), ``too long`` (for ``--seconds``), ``bug``; ``radv`` and ``whole way`` are refusals of these.
``--json FILE`` keeps rows as they come and goes on where it ended; ``--report`` only prints what it has.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import json
import math
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/oracle"), str(ROOT / "tests/shaders"), str(ROOT / "bench")]

import numpy as np  # noqa: E402
import radv_nir  # noqa: E402
from corpus_counts import by_kind, excess, nir_counts  # noqa: E402
from corpus_measure import PUSH_BYTES, peer, pipeline_layout  # noqa: E402
from corpus_reasons import REASONS, excesses, read_reasons  # noqa: E402
from restarted_worker import RestartedWorker, WorkerFailed  # noqa: E402
from shader_differences import Tolerance, differences  # noqa: E402
from shader_evidence import Judgement  # noqa: E402
from shader_inputs import CannotDrive, generate  # noqa: E402
from shader_runs import run_ours  # noqa: E402
from vulkan_peer import PeerError  # noqa: E402

import pyaco  # noqa: E402
from pyaco import emu, spirv, targets  # noqa: E402
from pyaco.passes import Run  # noqa: E402

Row = dict[str, Any]
GROUPS = (2, 2, 1)
#: Statistics by our name and RADV's.
FIGURES = {"instructions": "Instructions", "code_size": "Code size", "latency": "Latency", "inverse_throughput": "Inverse Throughput"}
#: What is counted of NIR: names, phis and what is put together are free.
KINDS = ("alu", "memory", "texture", "intrinsic", "control")


@contextlib.contextmanager
def workgroup_info(wanted: bool) -> Iterator[None]:
    """While it lasts, dispatches set TG_SIZE_EN, which RADV's shaders of several subgroups read, and ours do not."""
    plain = emu.Device._launch_of

    def launch_of(self: emu.Device, placed: Any) -> Any:
        return plain(self, placed)._replace(workgroup_info=wanted)

    emu.Device._launch_of = launch_of  # type: ignore[method-assign]
    try:
        yield
    finally:
        emu.Device._launch_of = plain  # type: ignore[method-assign]


def measure_module(path: Path, target: str, icd: Path, keep: Path | None, images: bool = True, run: bool = True) -> list[Row]:
    """A row for each entry point."""
    module = path.read_bytes()
    try:
        entries = [name for name, stage in spirv.entry_points(module) if stage == "compute"]
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return [{"path": str(path), "entry": "", "outcome": "whole way", "reason": _first_line(error)}]
    rows = []
    for entry in entries:
        row = measure(module, entry, target, icd, images, keep / f"{path.stem}.{entry}.nir" if keep else None, run)
        rows.append({"path": str(path), "entry": entry, **row})
    return rows


def measure(module: bytes, entry: str, target: str, icd: Path, images: bool = True, keep: Path | None = None, run: bool = True) -> Row:
    """What is found of one entry point."""
    row: Row = {}
    try:
        facts = spirv.reflect(module, entry)
        whole = pyaco.compile(module, target=target, entry=entry)
        last = [record.name for record in whole.passes if record.room == "nir"][-1]
        shown = pyaco.compile(module, target=target, entry=entry, wave=whole.wave, dump_after=f"nir.{last}")
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return {"outcome": "whole way", "reason": _first_line(error)}
    assert whole.abi is not None
    row["whole"] = {name: whole.stats[name] for name in FIGURES}
    row["our_nir"] = nir_counts(list(shown.dumps.values())[-1])
    push = min(-(-facts["push_constant_bytes"] // 4) * 4, PUSH_BYTES)
    try:
        theirs = peer(target, icd).compile(module, whole.wave, {}, entry, layouts=pipeline_layout(facts), push_bytes=push)
    except PeerError as error:
        return {**row, "outcome": "radv", "reason": str(error)[:200]}
    row["radv"] = {ours: theirs.statistics[name] for ours, name in FIGURES.items() if name in theirs.statistics}
    row["radv_nir"] = nir_counts(theirs.nir)
    if keep:
        keep.parent.mkdir(parents=True, exist_ok=True)
        keep.write_text(theirs.nir)
        keep.with_suffix(".start").write_text("\n".join(line for line in theirs.ir.splitlines() if "p_startpgm" in line) + "\n")
    try:
        found = radv_nir.arguments(whole.abi, targets.chip(target).level, theirs.ir)
        constants = b""
        if size := radv_nir.constant_bytes(theirs.nir):
            constants = peer(target, icd).constant_data(size, module, whole.wave, entry, pipeline_layout(facts), push)
        text = radv_nir.adapted(theirs.nir, targets.chip(target).level, whole.wave, found, radv_nir.texture_shapes(module), constants)
        shader = radv_nir.compile_text(text, target, found, Run(validate=True))
    except pyaco.UnsupportedError as error:
        return {**row, "outcome": "refused", "reason": _first_line(error)}
    except Exception as error:
        return {**row, "outcome": "bug", "reason": f"{type(error).__name__}: {_first_line(error)}"}
    row["backend"] = {name: shader.stats[name] for name in FIGURES}
    row["outcome"], row["reason"] = compare(module, entry, whole, shader, found.workgroup_info, images) if run else ("compiled", "")
    return row


def compare(module: bytes, entry: str, whole: Any, shader: Any, info: bool, images: bool) -> tuple[str, str]:
    """Run both programs with small and with wide values; outcome and reason."""
    facts = spirv.reflect(module, entry)
    outcomes: list[tuple[str, str]] = []
    try:
        for values in ("small", "wide"):
            inputs = generate(module, facts["descriptor_sets"], int(np.prod(facts["workgroup_size"]) * np.prod(GROUPS)), 1, values)
            if inputs.images and not images:
                return "compiled", "with images"
            try:
                expected = run_ours(whole, inputs, GROUPS)
            except emu.EmulationError as error:
                if outcomes:
                    break
                return "not driven", f"the whole way stops: {_first_line(error)}"
            with workgroup_info(info):
                found = run_ours(shader, inputs, GROUPS)
            outcomes.append(differences(expected, found, inputs, Tolerance.of(module, inputs)))
            if outcomes[-1][0] == "differs":
                evidence = Judgement(module, entry, inputs, GROUPS, whole, expected, found, {}).reason()
                return ("undecidable", evidence) if evidence else outcomes[-1]
    except CannotDrive as error:
        return "not driven", str(error)
    except emu.EmulationError as error:
        return "stops", _first_line(error)
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return "not driven", _first_line(error)
    return max(outcomes, key=lambda each: each[0] == "close")


def _first_line(error: Exception) -> str:
    return re.sub(r"^radv\.nir:\d+: ", "", (str(error).splitlines() or [""])[0])[:200]


# -------------------------------------------------------------------------------------------------------------------- report
def report(rows: list[Row], folder: Path) -> Iterator[str]:
    """Outcomes by project, reasons, code of the three ways, counts of both NIRs."""
    groups: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        groups[Path(row["path"]).relative_to(folder).parts[0]][row["outcome"]] += 1
    total = sum(groups.values(), collections.Counter[str]())
    for name, counts in [*sorted(groups.items()), ("all", total)]:
        yield f"{name:24} " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    for outcome in ("refused", "bug", "differs", "stops"):
        reasons = collections.Counter(row["reason"] if outcome != "differs" else row["path"] for row in rows if row["outcome"] == outcome)
        yield from (f"{outcome}: {count} x {reason}" for reason, count in reasons.most_common(25))
    compiled = [row for row in rows if "backend" in row and "radv" in row]
    yield from code_report(compiled)
    yield from reason_report(compiled, folder)
    yield from nir_report([row for row in rows if "radv_nir" in row])


def code_report(rows: list[Row]) -> Iterator[str]:
    """Machine code: the whole way and RADV's NIR with our backend, over RADV."""
    yield f"\ncode of {len(rows)} entry points, over RADV (total; geometric mean; median):"
    for figure in FIGURES:
        for way, label in (("whole", "whole way"), ("backend", "RADV's NIR, our backend")):
            pairs = [(row[way][figure], row["radv"][figure]) for row in rows if row["radv"].get(figure)]
            if pairs:
                yield f"  {figure:20} {label:24} {_ratios(pairs)}"


def reason_report(rows: list[Row], folder: Path) -> Iterator[str]:
    """What our backend makes more than a tenth worse of the same NIR, with the reason, if there is one."""
    names = {"Instrs": "instructions", "Latency": "latency", "InvThroughput": "inverse_throughput"}
    shown = [{**row, "pyaco": {each: row["backend"][name] for each, name in names.items()},
              "radv": {each: row["radv"].get(name, 0) or math.inf for each, name in names.items()}} for row in rows]  # fmt: skip
    reasons = read_reasons(Path(__file__).with_name("radv_nir_reasons.txt")) + read_reasons(REASONS)
    yield "\nRADV's NIR through our backend, more than a tenth worse:"
    for each in excesses(shown, folder, "radv", reasons):
        yield f"  {each.quotient:.2f} {each.statistic:14} {each.name} {each.entry}: {each.reason.text if each.reason else 'NO REASON'}"


def nir_report(rows: list[Row]) -> Iterator[str]:
    """Instructions of the last NIR, ours over RADV's."""
    for label, chosen in (("all", rows), ("as many loops in both", [row for row in rows if _loops(row, "our_nir") == _loops(row, "radv_nir")])):
        yield f"\nlast NIR of {len(chosen)} entry points ({label}), ours over RADV's (total; geometric mean; median):"
        kinds = {"alu + memory": ("alu", "memory"), "all": KINDS, **{kind: (kind,) for kind in KINDS}}
        for kind, parts in kinds.items():
            pairs = [tuple(sum(by_kind(row[way])[part] for part in parts) for way in ("our_nir", "radv_nir")) for row in chosen]
            if sum(theirs for _, theirs in pairs):
                yield f"  {kind:14} {_ratios(pairs)}"
        pairs = [(_plain(row["our_nir"]), _plain(row["radv_nir"])) for row in chosen]
        yield f"  {'plain':14} {_ratios(pairs)}"
        yield from opcode_report(chosen)


def opcode_report(rows: list[Row]) -> Iterator[str]:
    """The opcodes of which ours has most too many, and too few."""
    sums: dict[str, collections.Counter[str]] = {way: collections.Counter() for way in ("our_nir", "radv_nir")}
    for row in rows:
        for way, counts in sums.items():
            counts.update(row[way])
    more = sorted(excess(sums["our_nir"], sums["radv_nir"]).items(), key=lambda pair: -pair[1])
    more = [pair for pair in more if pair[0].split(":")[0] in KINDS]
    for name, count in more[:20] + [pair for pair in more[-12:] if pair[1] < 0]:
        where = sum(row["our_nir"].get(name, 0) > row["radv_nir"].get(name, 0) for row in rows)
        yield f"    {name:36} {sums['our_nir'][name]:8} {sums['radv_nir'][name]:8} {count:+8} in {where}"


def _plain(counts: dict[str, int]) -> int:
    """ALU and memory operations, but a ffma is a product and a sum (RADV's backend fuses them, here NIR does), and signs are free modifiers."""
    kinds = by_kind(counts)
    return kinds["alu"] + kinds["memory"] + counts.get("alu:ffma", 0) - counts.get("alu:fneg", 0) - counts.get("alu:fabs", 0)


def _loops(row: Row, way: str) -> int:
    return int(row[way].get("control:loop", 0))


def _ratios(pairs: list[Any]) -> str:
    ours, theirs = (sum(column) for column in zip(*pairs, strict=True))
    each = [mine / other for mine, other in pairs if mine and other]
    mean = math.exp(statistics.fmean(map(math.log, each)))
    return f"{ours:9.0f} / {theirs:9.0f} = {ours / theirs:.3f}; {mean:.3f}; {statistics.median(each):.3f}"


# ---------------------------------------------------------------------------------------------------------------------- main
def chosen_paths(folder: Path, per_project: int, seed: int) -> list[Path]:
    """Modules below a folder, so many of each of its subfolders."""
    groups: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.spv")):
        groups.setdefault(path.relative_to(folder).parts[0], []).append(path)
    pick: Callable[[list[Path]], list[Path]] = lambda group: random.Random(seed).sample(group, min(per_project or len(group), len(group)))  # noqa: E731
    return [path for group in groups.values() for path in sorted(pick(group))]


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--icd", type=Path, help="manifest of RADV")
    parser.add_argument("--target", default="gfx1030")
    parser.add_argument("--per-project", type=int, default=20, help="modules of each subfolder; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="for a module")
    parser.add_argument("--minutes", type=float, default=60.0, help="of all; what is left is left out")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where RADV's texts go")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--without-images", action="store_true", help="shaders with images are compiled, not run (their layout takes long)")
    parser.add_argument("--compile-only", action="store_true", help="nothing is run")
    parser.add_argument("--report", action="store_true", help="only print what --json has")
    options = parser.parse_args()
    rows: list[Row] = []
    if options.json and options.json.exists():
        rows = [json.loads(line) for line in options.json.read_text().splitlines()]
    if not options.report:
        if options.icd is None:
            parser.error("--icd says which RADV")
        known = {row["path"] for row in rows}
        end = time.monotonic() + 60 * options.minutes
        how = functools.partial(measure_module, target=options.target, icd=options.icd, keep=options.keep, images=not options.without_images,
                                run=not options.compile_only)  # fmt: skip
        worker = RestartedWorker(how, options.seconds)
        for path in chosen_paths(options.folder, options.per_project, options.seed):
            if str(path) in known or time.monotonic() > end:
                continue
            try:
                found = worker.apply(path)
            except WorkerFailed as error:
                outcome = "too long" if "takes longer" in str(error) else "bug"
                found = [{"path": str(path), "entry": "", "outcome": outcome, "reason": str(error)[:200]}]
            rows += found
            if options.json:
                with options.json.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in found)
        worker.close()
    print("\n".join(report(rows, options.folder)))
    return 1 if any(row["outcome"] in ("bug", "differs") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
