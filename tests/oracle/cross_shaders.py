"""Cross the compute shaders of a folder with targets, wave sizes and compile options: what each drawn combination compiles to must be right.

``python tests/oracle/cross_shaders.py FOLDER --sample 200 --seed 1`` draws modules, and for each entry point ``--draws`` combinations of a target
(one of every chip that the compiler has code for), a wave size, and options: passes left out, switches of ``PYACO_DEBUG``, 64-bit operations
lowered, fewer registers than the chip has, so that values spill. Each is

- compiled with the validators after every pass;
- decoded by LLVM (``judge.undecoded``), and disassembled by us: our assembler must make the same words of that text;
- executed with the check ``waits`` beside lavapipe (``run_shaders`` says how results are judged, and what counts as undecidable), or beside the NIR
  interpreter where lavapipe does not run the module, and, if its result is right, with the check ``races``: what that finds must be found in the
  shader compiled without options too.

``--every`` takes each target in each wave size instead, without options, with small and wide values in turn; another parity of ``--seed`` turns
them round.

``--values exact`` runs all with floats of which sums of products are the same bits in any order, fused or not: what then is equal differed by
rounding. ``--constant NAME=VALUE`` gives specialization constants of that name another value, and buffers and images room for what is computed then:
with sizes of 1, as many modules declare, invocations write to the places of others.

Outcomes are those of ``run_shaders``, and ``undecoded``, ``reassembled otherwise``, ``missing wait``, ``race``, ``cut`` (``--seconds`` of the
module, or the instructions of ``--budget``, were over), ``not compute``. ``--json`` keeps each with its combination; ``--replay`` runs the
combinations of such a file again whose outcome is ``cut`` or among ``BAD``. Exit status 1: some of these remain.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import random
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE), str(HERE.parent / "shaders")]

import numpy as np  # noqa: E402
import shader_evidence  # noqa: E402
import shader_runs  # noqa: E402
from equivalent_modules import with_constants, with_own_bindings  # noqa: E402
from judge import undecoded  # noqa: E402
from restarted_worker import RestartedWorker, WorkerFailed  # noqa: E402
from shader_differences import Tolerance, differences  # noqa: E402
from shader_evidence import EVIDENCE_SECONDS, Judgement, asks_for_order, limited  # noqa: E402
from shader_inputs import CannotDrive, GeneratedInputs, generate  # noqa: E402
from shader_runs import Groups, Written, access_fault, peer_lacks, run_interpreted, run_ours, run_peer  # noqa: E402
from vulkan_peer import PeerError  # noqa: E402

import pyaco  # noqa: E402
from pyaco import compiler, isa, spirv, targets  # noqa: E402
from pyaco.pipelines import compute  # noqa: E402
from pyaco.targets import features  # noqa: E402

#: Outcomes that are faults of ours.
BAD = ("bug", "differs", "stops", "undecoded", "reassembled otherwise", "missing wait", "race")
DEBUG = ("force-waitcnt", "force-waitdeps", "novn", "noopt", "nosched", "nosched-ilp", "nosched-vopd")
OPTIONAL = tuple(sorted({f"{step.entry.ir}.{step.entry.name}" for pipeline in (compute.NIR, compute.ACO) for step in pipeline.steps()
                         if not step.entry.required}))  # fmt: skip
#: Limits of registers under which usual shaders spill and image instructions still find what they need.
VGPRS, SGPRS = (24, 32, 48), (36, 48, 64)
#: Seconds that a combination may take before the process is ended: more than the emulator's and lavapipe's own limits.
LONGEST = 60.0
#: Seconds of the processor for the NIR interpreter, which judges what lavapipe does not run.
INTERPRETER_SECONDS = 10.0
#: Bytes of runtime arrays where constants are given.
RUNTIME_BYTES = 1 << 22


@dataclass(frozen=True)
class Combination:
    """How a module is compiled, and the kind of values that it runs with: ``small``, ``wide`` or ``exact``."""

    target: str
    wave: int
    disable: tuple[str, ...] = ()
    debug: tuple[str, ...] = ()
    int64: str = "hardware"
    fp64: str = "hardware"
    vgpr_limit: int = 0
    sgpr_limit: int = 0
    values: str = "small"

    def plain(self) -> Combination:
        """The same without options."""
        return Combination(self.target, self.wave, values=self.values)

    def compile(self, module: bytes, entry: str, **more: Any) -> Any:
        """Compile an entry point."""
        limits = limited_registers(self.vgpr_limit, self.sgpr_limit) if self.vgpr_limit or self.sgpr_limit else nullcontext()
        with limits:
            return pyaco.compile(module, target=self.target, wave=self.wave, entry=entry, disable=self.disable, debug=self.debug,
                                 int64=self.int64, fp64=self.fp64, **more)  # fmt: skip


@contextmanager
def limited_registers(vgprs: int, sgprs: int) -> Iterator[None]:
    """While it lasts, chips have no more registers; 0: as many as they have."""
    plain = compiler._limits

    def limits(target: str, wave: int) -> dict[str, int]:
        known = plain(target, wave)
        return {**known, "vgpr_limit": vgprs or known["vgpr_limit"], "sgpr_limit": sgprs or known["sgpr_limit"]}

    compiler._limits = limits
    compiler._prepared.cache_clear()
    try:
        yield
    finally:
        compiler._limits = plain
        compiler._prepared.cache_clear()


@functools.cache
def all_targets() -> tuple[str, ...]:
    """Every gfx name that there is a compiler for."""
    return tuple(dict.fromkeys(chip.target for chip in targets.chips() if features.has_compiler(chip.level)))


def draw(chance: random.Random, names: tuple[str, ...]) -> Combination:
    """A combination; one in six has no options."""
    target = chance.choice(names)
    wave = chance.choice((32, 64)) if features.has_wave32(targets.chip(target).level) else 64
    if chance.random() < 1 / 6:
        return Combination(target, wave)
    some = chance.choice((0, 0, 1, 1, 2, 4, len(OPTIONAL)))
    return Combination(
        target, wave, tuple(sorted(chance.sample(OPTIONAL, some))), tuple(sorted(chance.sample(DEBUG, chance.choice((0, 0, 1, 1, 2))))),
        chance.choice(("hardware", "hardware", "all")), chance.choice(("hardware", "hardware", "lowered", "software")),
        *chance.choice(((0, 0), (chance.choice(VGPRS), 0), (0, chance.choice(SGPRS)), (chance.choice(VGPRS), chance.choice(SGPRS)))),
    )  # fmt: skip


def every(names: tuple[str, ...], first: int) -> list[Combination]:
    """Each target in each wave size, without options; kinds of values take turns, the other way round where `first` is odd; small ones come first."""
    sizes = [(name, wave) for name in names for wave in ((32, 64) if features.has_wave32(targets.chip(name).level) else (64,))]
    found = [Combination(name, wave, values=("small", "wide")[(first + number) % 2]) for number, (name, wave) in enumerate(sizes)]
    return sorted(found, key=lambda how: how.values)


class Crossing:
    """One entry point, its inputs of one kind of values for so many workgroups, and what lavapipe makes of them."""

    def __init__(self, module: bytes, entry: str, runtime_bytes: int, values: str, groups: Groups) -> None:
        self.module, self.entry, self.groups = module, entry, groups
        facts = spirv.reflect(module, entry)
        threads = int(np.prod((*facts["workgroup_size"], *groups)))
        self.inputs: GeneratedInputs = generate(module, facts["descriptor_sets"], threads, 1, values, runtime_bytes)
        self.expected: Written = {}
        self.refused = peer_lacks(module)
        if not self.refused:
            try:
                self.expected = run_peer(module, entry, self.inputs, self.groups)
            except PeerError as error:
                self.refused = str(error)[:100]
        self.tolerance = Tolerance.of(module, self.inputs)
        self.interpreted: dict[Any, Any] = {}
        self._races: dict[Combination, bool] = {}
        self._reasons: dict[bytes, str] = {}

    def judge(self, how: Combination) -> tuple[str, str]:
        """Outcome and reason of one combination."""
        try:
            shader = how.compile(self.module, self.entry, validate=True)
            if bad := undecoded(shader):
                return "undecoded", "; ".join(bad[:3])
            if reason := self._reassembled(shader):
                return "reassembled otherwise", reason
            return self._judge_result(shader, how)
        except (pyaco.InputError, pyaco.UnsupportedError) as error:
            return "refused", str(error).splitlines()[0][:200]
        except pyaco.emu.MissingWaitError as error:
            return self._unordered(how, error)
        except pyaco.emu.EmulationError as error:
            return self._stopped(how, error)
        except Exception as error:
            return "bug", f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:300]

    def _stopped(self, how: Combination, error: Exception) -> tuple[str, str]:
        """A fault is the shader's own where it stops without options, too, or without end where loops without effect are not taken away.

        Without options it is where the NIR interpreter says so, before any pass.
        """
        reason = str(error).splitlines()[0][:200]
        if how == how.plain():
            if isinstance(error, pyaco.emu.BudgetError):
                return "cut", reason
            return ("stops anyway" if self._stops_interpreted(how.wave) else "stops"), reason
        for other in (how.plain(), replace(how.plain(), disable=("nir.dead_control_flow",))):
            try:
                run_ours(other.compile(self.module, self.entry), self.inputs, self.groups)
            except pyaco.PyacoError:
                return "stops anyway", reason
        return "stops", reason

    def _stops_interpreted(self, wave: int) -> bool:
        """Whether the NIR interpreter finds an access that there is nothing for."""
        try:
            run_interpreted(self.module, self.entry, self.inputs, self.groups, wave)
        except (LookupError, pyaco.InputError):
            return True
        return bool(access_fault(self.module, self.entry, self.inputs, self.groups, wave))

    def _unordered(self, how: Combination, error: Exception) -> tuple[str, str]:
        """A wait that memory needs behind an atomic is missing only where the module asks for that order, and no race says otherwise."""
        reason = str(error).splitlines()[0][:200]
        if "a barrier or an atomic lies between" in str(error) and not asks_for_order(self.module):
            return "undecidable", f"all atomics are relaxed; {reason}"
        plain = how.plain().compile(self.module, self.entry)
        with suppress(pyaco.emu.MissingWaitError):          # the check for races may stop at the same wait
            if "a barrier or an atomic lies between" in str(error) and self._has_races(plain, same_values=True):
                return "undecidable", f"races; {reason}"
        return "missing wait", reason

    def _reassembled(self, shader: Any) -> str:
        code = isa.assemble(shader.disassembly, shader.target, wave_size=shader.wave)
        return "" if code[: len(shader.code)] == shader.code else f"{len(code)} bytes of {len(shader.code)}"

    def _judge_result(self, shader: Any, how: Combination) -> tuple[str, str]:
        ours = run_ours(shader, self.inputs, self.groups, check="waits")
        expected = self._interpreted(how.wave) if self.refused else self.expected
        if self.refused and not expected:
            if how == how.plain():
                return "peer refuses", self.refused
            expected = run_ours(how.plain().compile(self.module, self.entry), self.inputs, self.groups)
        outcome, reason = differences(expected, ours, self.inputs, self.tolerance)
        if outcome == "differs":
            evidence = self._evidence(shader, ours, expected)
            return ("undecidable", evidence) if evidence else (outcome, reason)
        if self._has_races(shader) and not self._has_races_anyway(how.plain()):
            return "race", "none without options"
        return outcome, ""

    def _interpreted(self, wave: int) -> Written:
        """What the NIR interpreter makes of the dispatch, or nothing where it takes long, or lacks something."""
        if (wave,) not in self.interpreted:
            try:
                with limited(INTERPRETER_SECONDS):
                    self.interpreted[wave,] = run_interpreted(self.module, self.entry, self.inputs, self.groups, wave)
            except (LookupError, TimeoutError, pyaco.InputError, pyaco.UnsupportedError):
                self.interpreted[wave,] = {}
        return self.interpreted[wave,]

    def _evidence(self, shader: Any, ours: Written, expected: Written) -> str:
        """What shows that a result is not defined; other targets' results that are the same need no search of their own."""
        if not shader_evidence.EVIDENCE_SECONDS:
            return ""
        result = b"".join(found.tobytes() for found in ours.values())
        if result not in self._reasons:
            judgement = Judgement(self.module, self.entry, self.inputs, self.groups, shader, ours, expected, self.interpreted)
            self._reasons[result] = judgement.reason()
        return self._reasons[result]

    def _has_races(self, shader: Any, same_values: bool = False) -> bool:
        try:
            run_ours(shader, self.inputs, self.groups, check="races", same_values=same_values)
        except pyaco.emu.RaceError:
            return True
        return False

    def _has_races_anyway(self, how: Combination) -> bool:
        if how not in self._races:
            self._races[how] = self._has_races(how.compile(self.module, self.entry))
        return self._races[how]


class Entry:
    """An entry point with all of its crossings, each made when it is asked for."""

    def __init__(self, module: bytes, name: str, runtime_bytes: int = 0) -> None:
        several = np.prod(spirv.reflect(module, name)["workgroup_size"]) > 1
        self.sizes: list[Groups] = [(2, 2, 1), (1, 1, 1)] if several else [(1, 1, 1)]
        self._crossing = functools.cache(functools.partial(Crossing, module, name, runtime_bytes))

    def judge(self, how: Combination) -> tuple[str, str]:
        """Outcome and reason; what is undecidable with several workgroups is tried with one."""
        outcome, reason = "", ""
        for groups in self.sizes:
            try:
                outcome, reason = self._crossing(how.values, groups).judge(how)
            except (CannotDrive, pyaco.InputError, pyaco.UnsupportedError) as error:
                return "not driven", str(error).splitlines()[0][:200]
            if outcome != "undecidable":
                break
        return outcome, reason


@dataclass(frozen=True)
class Work:
    """A module, and how it is judged: by combinations that are drawn, by every one, or by those given, until its time is over."""

    path: Path
    names: tuple[str, ...]
    seed: int
    draws: int
    every: bool
    given: tuple[tuple[str, Combination], ...]
    seconds: float
    values: str = ""
    constants: tuple[tuple[str, int], ...] = ()

    def chosen(self, entry: str) -> list[Combination]:
        """Combinations for an entry point, with one kind of values where that is asked for."""
        found = self._chosen(entry)
        return [replace(how, values=self.values) for how in found] if self.values else found

    def _chosen(self, entry: str) -> list[Combination]:
        number = zlib.crc32(self.path.name.encode()) ^ self.seed
        if self.given:
            return [how for name, how in self.given if name == entry]
        if self.every:
            return every(self.names, number)
        chance = random.Random(f"{number} {entry}")
        return [draw(chance, self.names) for _ in range(self.draws)]


def judge_file(work: Work) -> list[dict[str, Any]]:
    """Rows of a module."""
    module, rows, end = with_own_bindings(with_constants(work.path.read_bytes(), dict(work.constants))), [], time.process_time() + work.seconds

    def note(entry: str, how: Combination | None, outcome: str, reason: str) -> None:
        rows.append({"path": str(work.path), "entry": entry, "how": asdict(how) if how else None, "outcome": outcome, "reason": reason})

    try:
        entries = [name for name, stage in spirv.entry_points(module) if stage == "compute"]
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        note("", None, "refused", str(error)[:200])
        return rows
    if not entries:
        note("", None, "not compute", "")
    for name in entries:
        try:
            entry = Entry(module, name, RUNTIME_BYTES if work.constants else 0)
        except (pyaco.InputError, pyaco.UnsupportedError) as error:
            note(name, None, "not driven", str(error).splitlines()[0][:200])
            continue
        for how in work.chosen(name):
            note(name, how, *(entry.judge(how) if time.process_time() < end else ("cut", "")))
    return rows


# ---------------------------------------------------------------------------------------------------------------------- the sweep
def replayed(path: Path) -> dict[Path, tuple[Any, ...]]:
    """Combinations of a file whose outcome is bad, or that were cut, by module."""
    found: dict[Path, list[Any]] = {}
    for row in map(json.loads, path.read_text().splitlines()):
        if row["outcome"] in (*BAD, "cut") and row["how"]:
            how: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row["how"].items()}
            found.setdefault(Path(row["path"]), []).append((row["entry"], Combination(**how)))
    return {module: tuple(combinations) for module, combinations in found.items()}


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print outcomes by level, then reasons for what is bad, or refused, by count."""
    groups: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        level = targets.chip(row["how"]["target"]).level_name + f" wave{row['how']['wave']}" if row["how"] else "-"
        groups[level][row["outcome"]] += 1
    for name, counts in sorted(groups.items()):
        print(f"{name:20} " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    total = sum(groups.values(), collections.Counter[str]())
    print(f"{'all':20} " + ", ".join(f"{count} {outcome}" for outcome, count in total.most_common()))
    reasons = collections.Counter((row["outcome"], row["reason"]) for row in rows if row["outcome"] in (*BAD, "refused"))
    for (outcome, reason), count in sorted(reasons.items(), key=lambda each: (each[0][0] not in BAD, -each[1])):
        print(f"{count:6} {outcome}: {reason}")


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", action="append", help="instead of all that there is a compiler for")
    parser.add_argument("--draws", type=int, default=6, help="combinations for each entry point")
    parser.add_argument("--every", action="store_true", help="instead of drawing: each target in each wave size, without options")
    parser.add_argument("--values", choices=("small", "wide", "exact"), default="", help="for every combination")
    parser.add_argument("--constant", action="append", default=[], metavar="NAME=VALUE", help="of specialization constants that have that name")
    parser.add_argument("--seconds", type=float, default=120.0, help="of the processor: after them no combination of a module begins")
    parser.add_argument("--budget", type=int, default=shader_runs.BUDGET, help="instructions of a dispatch, after which it is cut")
    parser.add_argument("--evidence", type=float, default=EVIDENCE_SECONDS, metavar="SECONDS",
                        help="of the processor for one kind of evidence; 0: none is looked for")
    parser.add_argument("--sample", type=int, help="only so many modules, drawn with --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where all rows are written, after each module; modules that it has are not run")
    parser.add_argument("--replay", type=Path, metavar="JSON", help="run what is bad or was cut in such a file again")
    arguments = parser.parse_args()
    shader_evidence.EVIDENCE_SECONDS, shader_runs.BUDGET = arguments.evidence, arguments.budget
    names = tuple(arguments.target or all_targets())
    constants = tuple((name, int(value)) for name, value in (each.split("=") for each in arguments.constant))
    again = replayed(arguments.replay) if arguments.replay else {}
    chosen = again if arguments.replay else arguments.folder.rglob("*.spv")
    paths = sorted(chosen, key=lambda path: (path.stat().st_size, path))
    if arguments.sample and not again:
        paths = random.Random(arguments.seed).sample(paths, min(arguments.sample, len(paths)))
    rows: list[dict[str, Any]] = []
    if arguments.json and arguments.json.exists():
        rows = [json.loads(line) for line in arguments.json.read_text().splitlines()]
    known = {row["path"] for row in rows}
    worker = RestartedWorker(judge_file, 4 * arguments.seconds + LONGEST)
    for path in [path for path in paths if str(path) not in known]:
        try:
            found = worker.apply(Work(path, names, arguments.seed, arguments.draws, arguments.every, again.get(path, ()), arguments.seconds,
                                      arguments.values, constants))  # fmt: skip
        except WorkerFailed as error:
            outcome = "too long" if "takes longer" in str(error) else "bug"
            found = [{"path": str(path), "entry": "", "how": None, "outcome": outcome, "reason": str(error)}]
        rows += found
        if arguments.json:
            with arguments.json.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in found)
    worker.close()
    print_table(rows)
    for row in rows:
        if row["outcome"] in BAD:
            print(f"{row['outcome']}: {row['path']} {row['entry']} {row['how']}: {row['reason']}")
    return 1 if any(row["outcome"] in BAD for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
