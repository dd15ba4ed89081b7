"""Code quality and compile time of public compute shaders beside RADV, in the form of fossil-db's reports.

``python tools/fetch_corpus.py``, then ``python bench/bench_corpus.py`` compiles every entry point for compute below ``build/corpus/spv`` (or
``FOLDER``) for gfx1030 and gfx1100 with pyaco and with RADV on its null winsys, each for the wave size that RADV chooses, and prints for each
target: totals and geometric means, how many are better and worse by each statistic, compile times by size of the code, the worst with the passes
that make the difference, what is more than a tenth worse with its reason (``corpus_reasons.txt``), and causes by total effect. Statistics mean
what RADV's mean, beside the RADV 22.3.6 of Debian also inverse throughput. Both compile a module right after another, all caches off; times are the
least processor time of a few compilations.

``--json FILE`` keeps each row as soon as it is known; a second run with the same file goes on where the first ended, and ``--report`` only prints
what it has. ``--sizes`` gives real values to specialization constants whose defaults are stand-ins (matrices of 1 x 1). ``--icd LABEL=PATH`` adds
another build of RADV, ``--peer LABEL`` reports beside it. ``--growth`` measures generated shaders of 3,000 to 1,000,000 SPIR-V instructions
instead: time and exponent of each pass, ``--plot FILE`` draws them (``pyaco[plot]``); ``--shapes`` large shaders made of one kind of thing each.
"""

from __future__ import annotations

import argparse
import functools
import json
import queue
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/oracle"), str(ROOT / "tests/shaders"), str(ROOT / "bench")]

import corpus_growth  # noqa: E402
import corpus_report  # noqa: E402
from corpus_measure import Measuring, measure_module  # noqa: E402
from restarted_worker import RestartedWorker, WorkerFailed  # noqa: E402

Row = dict[str, Any]


def measure(paths: list[Path], how: Measuring, jobs: int, seconds: float) -> Iterator[list[Row]]:
    """Yield the rows of each module as they come."""
    todo: queue.Queue[Path | None] = queue.Queue()
    done: queue.Queue[list[Row]] = queue.Queue()
    for path in [*paths, *[None] * jobs]:
        todo.put(path)

    def serve() -> None:
        worker = RestartedWorker(functools.partial(measure_module, how=how), seconds)
        while (path := todo.get()) is not None:
            try:
                done.put(worker.apply(path))
            except WorkerFailed as error:
                done.put([{"path": str(path), "entry": "", "target": target, "error": str(error)} for target in how.targets])
        worker.close()

    threads = [threading.Thread(target=serve) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for _ in paths:
        yield done.get()
    for thread in threads:
        thread.join()


def chosen(options: argparse.Namespace) -> list[Path]:
    """The modules that are asked for."""
    paths = sorted(options.folder.rglob("*.spv"))
    if options.project:
        paths = [path for path in paths if path.relative_to(options.folder).parts[0] in options.project]
    if options.only:
        paths = [path for path in paths if options.only in str(path)]
    if options.per_project:
        groups: dict[str, list[Path]] = {}
        for path in paths:
            groups.setdefault(path.relative_to(options.folder).parts[0], []).append(path)
        paths = [path for group in groups.values()
                 for path in sorted(random.Random(options.seed).sample(group, min(options.per_project, len(group))))]  # fmt: skip
    if options.limit and options.limit < len(paths):
        paths = sorted(random.Random(options.seed).sample(paths, options.limit))
    return paths


def collect(options: argparse.Namespace) -> list[Row]:
    """Rows of the file, and those that are missing there."""
    rows: list[Row] = []
    if options.json and options.json.exists():
        rows = [json.loads(line) for line in options.json.read_text().splitlines()]
    paths = chosen(options)
    known = {row["path"] for row in rows}
    if not options.report:
        icds = {label: Path(path) for label, path in (text.split("=", 1) for text in options.icd)}
        how = Measuring(tuple(options.target or Measuring.targets), options.wave, options.repetitions, options.seconds, options.sizes, icds)
        left = [path for path in paths if str(path) not in known]
        for found in measure(left, how, options.jobs, options.most_seconds):
            rows += found
            if options.json:
                with options.json.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in found)
    wanted = {str(path) for path in paths}
    return [row for row in rows if row["path"] in wanted]


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build/corpus/spv", help="modules, by project")
    parser.add_argument("--project", action="append", help="only these subfolders")
    parser.add_argument("--only", metavar="TEXT", help="only modules whose path has this in it")
    parser.add_argument("--limit", type=int, help="only so many modules, drawn with --seed")
    parser.add_argument("--per-project", type=int, help="only so many modules of each project, drawn with --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", help="instead of gfx1030 and gfx1100")
    parser.add_argument("--wave", type=int, help="instead of what RADV chooses")
    parser.add_argument("--repetitions", type=int, default=Measuring.repetitions, help="compilations for the least time")
    parser.add_argument("--seconds", type=float, default=Measuring.seconds, help="no further repetition after so long")
    parser.add_argument("--most-seconds", type=float, default=300.0, help="for a module with both compilers, then it is given up")
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time; more disturb the times")
    parser.add_argument("--sizes", action="store_true", help="real values for specialization constants that stand for sizes")
    parser.add_argument("--icd", action="append", default=[], metavar="LABEL=PATH", help="another RADV's manifest")
    parser.add_argument("--peer", default="radv", help="whose figures the report compares with: radv, or a label")
    parser.add_argument("--worst-by", default="Instrs", help="the statistic by which the worst are chosen, or ms")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--json", type=Path, help="rows, one a line")
    parser.add_argument("--report", action="store_true", help="measure nothing, print what the file has")
    parser.add_argument("--shapes", nargs="*", help="the same of large shaders of many shapes (bench/large_shapes.py), or of those named")
    parser.add_argument("--growth", action="store_true", help="time per pass of generated shaders of growing size")
    parser.add_argument("--largest", type=int, default=100_000, help="SPIR-V instructions of the largest of them")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="with --growth: a picture of time an instruction by size, one curve a pass")
    options = parser.parse_args()
    if (options.growth or options.shapes is not None) and options.largest < corpus_growth.SIZES[1]:
        parser.error(f"growth takes two sizes: --largest {corpus_growth.SIZES[1]} or more")
    if options.shapes is not None:
        corpus_growth.report_shapes((options.target or ["gfx1100"])[0], options.largest, options.repetitions, options.shapes)
        return 0
    if options.growth:
        corpus_growth.report((options.target or ["gfx1100"])[0], options.largest, options.repetitions, options.plot)
        return 0
    rows = collect(options)
    if not rows:
        print(f"no modules in {options.folder}: run tools/fetch_corpus.py", file=sys.stderr)
        return 2
    corpus_report.report(rows, options.folder, options.peer, options.worst_by, options.worst)
    return 1 if any(row.get("pyaco_error", "").startswith("bug") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
