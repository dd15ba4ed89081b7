"""Compile every compute shader of a folder for several targets, and rank what stands in the way.

``python tools/sweep_shaders.py FOLDER`` compiles each entry point for compute of each ``.spv`` file below the folder and
prints, for each subfolder, how many compile for every target, and then the causes of refusals by how many entry points they
stop. Errors that are neither an ``InputError`` nor an ``UnsupportedError``, processes that die and compilations that take
longer than ``--seconds`` are bugs: they come first, with their files, and make the exit status 1. ``--list CAUSE`` names the
files of the causes that contain the text, ``--json`` keeps each outcome as soon as it is known.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/oracle")]

from restarted_worker import RestartedWorker, WorkerFailed  # noqa: E402

TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
COMPUTE = "compute"


@dataclass(frozen=True)
class Outcome:
    """What became of one entry point."""

    path: Path
    entry: str
    kind: str                      # "compiled", "UnsupportedError", "InputError", or "bug"
    cause: str                     # without places and numbers


def cause_of(message: str) -> str:
    """Return a message without what differs from module to module: the place, numbers and ids."""
    message = message.splitlines()[0] if message else ""
    message = re.sub(r"^.*?(word \d+[^:]*|SPIR-V|line \d+[^:]*): ", "", message)
    return re.sub(r"\d{2,}|(?<=id )\d+", "N", message)


def compile_entry(path: Path, entry: str, targets: list[str]) -> Outcome:
    """Compile one entry point for all targets; the first that refuses decides."""
    import pyaco

    for target in targets:
        try:
            pyaco.compile(path, target=target, entry=entry)
        except (pyaco.InputError, pyaco.UnsupportedError) as error:
            return Outcome(path, entry, type(error).__name__, cause_of(str(error)))
        except Exception as error:
            return Outcome(path, entry, "bug", f"{type(error).__name__} on {target}: {cause_of(str(error))}")
    return Outcome(path, entry, "compiled", "")


def compile_file(path: Path, targets: list[str]) -> list[Outcome]:
    """Compile the entry points for compute of a module; none if it has only others."""
    import pyaco
    from pyaco import spirv

    try:
        entries = spirv.entry_points(path.read_bytes())
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return [Outcome(path, "", type(error).__name__, cause_of(str(error)))]
    except Exception as error:
        return [Outcome(path, "", "bug", f"{type(error).__name__}: {cause_of(str(error))}")]
    return [compile_entry(path, name, targets) for name, stage in entries if stage == COMPUTE]


def sweep(folder: Path, targets: list[str], seconds: float, keep: Path | None) -> Iterator[Outcome]:
    """Yield what becomes of each entry point below a folder."""
    worker = RestartedWorker(functools.partial(compile_file, targets=targets), seconds)
    for path in sorted(folder.rglob("*.spv")):
        try:
            found = worker.apply(path)
        except WorkerFailed as error:
            found = [Outcome(path, "", "bug", str(error))]
        if keep:
            with keep.open("a") as file:
                file.writelines(json.dumps(asdict(each), default=str) + "\n" for each in found)
        yield from found
    worker.close()


def print_table(folder: Path, outcomes: list[Outcome]) -> None:
    """Print how many compile, by subfolder, and the causes of what does not, by count."""
    groups: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        parts = outcome.path.relative_to(folder).parts
        groups[parts[0] if len(parts) > 1 else "."][outcome.kind] += 1
    total = sum(groups.values(), collections.Counter[str]())
    print(f"{'folder':44} {'entries':>8} {'compiled':>9} {'refused':>8} {'invalid':>8} {'bugs':>5}")
    for name, row in [*sorted(groups.items()), ("all", total)]:
        share = f"{100 * row['compiled'] / row.total():.1f} %" if row else "-"
        print(f"{name:44} {row.total():8} {row['compiled']:9} {row['UnsupportedError']:8} {row['InputError']:8} {row['bug']:5}  {share}")
    causes = collections.Counter((o.kind, o.cause) for o in outcomes if o.kind != "compiled")
    for (kind, cause), count in sorted(causes.items(), key=lambda item: (item[0][0] != "bug", -item[1], item[0])):
        print(f"{count:6}  {kind}: {cause}")


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", action="append", help="instead of " + ", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=300.0, help="for all entry points and targets of a module")
    parser.add_argument("--list", metavar="CAUSE", action="append", default=[], help="name the files of causes with this text")
    parser.add_argument("--json", type=Path, help="a file to which outcomes are added, one a line")
    arguments = parser.parse_args()
    outcomes = list(sweep(arguments.folder, arguments.target or list(TARGETS), arguments.seconds, arguments.json))
    print_table(arguments.folder, outcomes)
    bugs = [outcome for outcome in outcomes if outcome.kind == "bug"]
    for outcome in outcomes:
        if outcome.kind == "bug" or any(text in outcome.cause for text in arguments.list):
            print(f"{outcome.path} {outcome.entry}: {outcome.cause}")
    return 1 if bugs else 0


if __name__ == "__main__":
    sys.exit(main())
