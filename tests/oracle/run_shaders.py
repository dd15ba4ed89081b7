"""Run every compute shader of a folder on our engines with generated inputs, and compare what it writes with lavapipe.

``python tests/oracle/run_shaders.py FOLDER`` drives each entry point for compute of each ``.spv`` file below the folder twice: with small values and
with wide ones (``shader_inputs``). Integers must be equal, floats within what Vulkan's precision rules leave open. A dispatch that differs counts as
undecidable only by evidence: other waves of ours, memory behind the buffers, or a check of the emulator show that its result is not defined; it is
then tried again with a single workgroup. The table has the outcomes by subfolder; ``--json`` keeps all, and a second run with the same file goes on
where the first ended. Exit status 1: something differs, or is a bug.

Outcomes: ``equal`` bit for bit, ``close`` within the tolerance, ``unchanged`` (equal, and what was bound holds what it held before), ``no output``
(nothing that can be written is bound), ``differs``, ``undecidable``, ``not driven`` (no inputs are generated for what it declares), ``peer refuses``,
``peer dies`` (or does not answer in time), ``refused`` (by our compiler or emulator, with a reason), ``stops`` (a fault, or a budget, on the
emulator), ``bug`` (anything else of ours).
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE), str(HERE.parent / "shaders")]

import numpy as np  # noqa: E402
from restarted_worker import RestartedWorker, WorkerFailed  # noqa: E402
from shader_differences import Tolerance, differences, is_unchanged  # noqa: E402
from shader_evidence import Judgement  # noqa: E402
from shader_inputs import CannotDrive, GeneratedInputs, generate  # noqa: E402
from shader_runs import Groups, Written, peer_lacks, run_ours, run_peer  # noqa: E402
from vulkan_peer import PeerError  # noqa: E402

import pyaco  # noqa: E402
from pyaco import spirv  # noqa: E402

TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
KINDS = ("small", "wide")
OUTCOMES = ("equal", "close", "unchanged", "no output", "differs", "undecidable", "not driven", "peer refuses", "peer dies", "refused", "stops",
            "bug")

@dataclass(frozen=True)
class Outcome:
    """What became of one entry point with one kind of values on one target."""

    path: str
    entry: str
    values: str
    target: str
    outcome: str
    reason: str = ""


def judge(module: bytes, entry: str, values: str, targets: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield target, outcome and reason for one kind of values."""
    facts = spirv.reflect(module, entry)
    if lacks := peer_lacks(module):
        yield from ((target, "peer refuses", lacks) for target in targets)
        return
    sizes = [(2, 2, 1), (1, 1, 1)] if np.prod(facts["workgroup_size"]) > 1 else [(1, 1, 1)]
    left = list(targets)
    for groups in sizes:
        inputs = generate(module, facts["descriptor_sets"], int(np.prod(facts["workgroup_size"]) * np.prod(groups)), 1, values)
        if not inputs.buffers and not any(asked["storage"] for asked in inputs.images.values()):
            yield from ((target, "no output", "") for target in left)
            return
        expected = run_peer(module, entry, inputs, groups)
        tolerance = Tolerance.of(module, inputs)
        interpreted: dict[Any, Any] = {}
        for target in list(left):
            outcome, reason = judge_on(module, entry, target, inputs, groups, expected, tolerance, interpreted)
            if outcome != "undecidable" or groups == sizes[-1]:
                left.remove(target)
                yield target, outcome, reason


def judge_on(module: bytes, entry: str, target: str, inputs: GeneratedInputs, groups: Groups, expected: Written,
             tolerance: Tolerance, interpreted: dict[Any, Any]) -> tuple[str, str]:  # fmt: skip
    """Outcome and reason on one target."""
    try:
        shader = pyaco.compile(module, target=target, entry=entry)
        ours = run_ours(shader, inputs, groups)
        outcome, reason = differences(expected, ours, inputs, tolerance)
        if outcome == "equal" and is_unchanged(inputs, expected):
            return "unchanged", ""
        if outcome == "differs":
            judgement = Judgement(module, entry, inputs, groups, shader, ours, expected, interpreted)
            evidence = judgement.reason()
            return ("undecidable", evidence) if evidence else (outcome, f"{groups} {judgement.interpreter_sides_with()}: {reason}")
        return outcome, reason
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return "refused", str(error).splitlines()[0][:200]
    except pyaco.emu.EmulationError as error:
        return "stops", str(error).splitlines()[0][:200]
    except Exception as error:
        return "bug", f"{type(error).__name__}: {error}"[:300]


def judge_file(path: Path, targets: list[str]) -> list[Outcome]:
    """All outcomes of a module."""
    module, found = path.read_bytes(), []
    try:
        entries = [name for name, stage in spirv.entry_points(module) if stage == "compute"]
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return [Outcome(str(path), "", values, target, "refused", str(error)[:200]) for values in KINDS for target in targets]
    for entry in entries:
        for values in KINDS:
            done: dict[str, tuple[str, str]] = {}
            try:
                for target, *told in judge(module, entry, values, targets):
                    done[target] = (told[0], told[1])
                rest = ("bug", "no outcome")
            except CannotDrive as error:
                rest = ("not driven", str(error))
            except PeerError as error:
                said = str(error)
                rest = ("peer dies" if "ended" in said or "no answer" in said else "peer refuses", said[:200])
            except (pyaco.InputError, pyaco.UnsupportedError) as error:
                rest = ("refused", str(error).splitlines()[0][:200])
            except Exception as error:
                rest = ("bug", f"{type(error).__name__}: {error}"[:300])
            found += [Outcome(str(path), entry, values, target, *done.get(target, rest)) for target in targets]
    return found


# ------------------------------------------------------------------------------------------------------------------ the sweep
def judge_with(worker: RestartedWorker, path: Path, targets: list[str]) -> list[Outcome]:
    """All outcomes of a module, judged in another process."""
    try:
        outcomes: list[Outcome] = worker.apply(path)
    except WorkerFailed as error:
        return [Outcome(str(path), "", values, target, "bug", str(error)) for values in KINDS for target in targets]
    return outcomes


def print_table(folder: Path, outcomes: list[Outcome]) -> None:
    """Print outcomes by subfolder, then the reasons for all but the good ones."""
    groups: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for each in outcomes:
        parts = Path(each.path).relative_to(folder).parts
        groups[parts[0] if len(parts) > 1 else "."][each.outcome] += 1
    total = sum(groups.values(), collections.Counter[str]())
    print(f"{'dispatches of':40}" + "".join(f"{name:>13}" for name in OUTCOMES))
    for name, row in [*sorted(groups.items()), ("all", total)]:
        print(f"{name:40}" + "".join(f"{row[outcome]:13}" for outcome in OUTCOMES))
    for each in outcomes:
        if each.outcome in ("differs", "stops", "bug"):
            print(f"{each.outcome}: {each.path} {each.entry} {each.values} {each.target}: {each.reason}")


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="or one module")
    parser.add_argument("--only", metavar="TEXT", help="only modules whose path has this in it")
    parser.add_argument("--target", action="append", help="instead of " + ", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=300.0, help="for all entry points, values and targets of a module")
    parser.add_argument("--sample", type=int, help="only so many modules, drawn with --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where all outcomes are written, after each module; modules that it has are not run")
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.rglob("*.spv")) if arguments.folder.is_dir() else [arguments.folder]
    paths = [path for path in paths if (arguments.only or "") in str(path)]
    if arguments.sample:
        paths = sorted(random.Random(arguments.seed).sample(paths, min(arguments.sample, len(paths))))
    targets = arguments.target or list(TARGETS)
    worker = RestartedWorker(functools.partial(judge_file, targets=targets), arguments.seconds)
    outcomes: list[Outcome] = []
    if arguments.json and arguments.json.exists():
        outcomes = [Outcome(**json.loads(line)) for line in arguments.json.read_text().splitlines()]
    known = {each.path for each in outcomes}
    for path in [path for path in paths if str(path) not in known]:
        found = judge_with(worker, path, targets)
        outcomes += found
        if arguments.json:
            with arguments.json.open("a") as file:
                file.writelines(json.dumps(asdict(each)) + "\n" for each in found)
    worker.close()
    print_table(arguments.folder if arguments.folder.is_dir() else arguments.folder.parent, outcomes)
    return 1 if any(each.outcome in ("differs", "bug") for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
