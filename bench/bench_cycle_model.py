"""Our cycle model run over RADV's own machine code, beside the latency and inverse throughput that RADV states of it.

``python bench/bench_cycle_model.py FOLDER [--icd FILE] --target gfx1100 [--per-project N] [--seed N]`` draws modules, lets RADV compile them, and
estimates its last ACO IR with ``pyaco``'s model: ``tests/oracle/radv_cycles.py``. Of each statistic it prints the error's median, 90th percentile and
worst, of each unit how long it is busy in both models, where that differs, and the entry points that differ most. Our model is that of Mesa 25.2;
beside Debian's RADV 22.3.6 latency and inverse throughput are ``peer_statistics.debian_counts``.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/oracle"), str(ROOT / "tests/shaders"), str(ROOT / "bench")]

import numpy as np  # noqa: E402
from bench_radv_nir import chosen_paths  # noqa: E402
from corpus_measure import PUSH_BYTES, peer, pipeline_layout  # noqa: E402
from peer_statistics import debian_counts  # noqa: E402
from radv_cycles import UNITS, Printed, lowered_body, read_program  # noqa: E402
from vulkan_peer import PeerError  # noqa: E402

import pyaco  # noqa: E402
from pyaco import spirv  # noqa: E402
from pyaco._core.aco import statistics as kernel  # noqa: E402

#: Statistics that are compared, by our name and RADV's.
NAMES = {"instructions": "Instructions", "latency": "Latency", "inverse_throughput": "Inverse Throughput"}


class Row(NamedTuple):
    """An entry point: both sides' statistics by our names, and how long units are busy."""

    name: str
    ours: dict[str, int]
    theirs: dict[str, int]
    busy: dict[str, float]
    theirs_busy: dict[str, float]

    def error(self, statistic: str) -> float:
        """How far ours is from theirs, as a part of theirs."""
        return abs(self.ours[statistic] - self.theirs[statistic]) / max(self.theirs[statistic], 1)


def measure(path: Path, target: str, icd: Path | None) -> Iterator[Row | str]:
    """Yield a row for each entry point for compute, or why there is none."""
    module = path.read_bytes()
    try:
        entries = [name for name, stage in spirv.entry_points(module) if stage == "compute"]
    except (pyaco.InputError, pyaco.UnsupportedError):
        entries = []
    for entry in entries:
        try:
            facts = spirv.reflect(module, entry)
            size = int(np.prod(facts["workgroup_size"]))
            wave = pyaco.compile(module, target=target, entry=entry).wave
            push = min(-(-facts["push_constant_bytes"] // 4) * 4, PUSH_BYTES)
            radv = peer(target, icd)
            theirs = radv.compile(module, wave, {}, entry, layouts=pipeline_layout(facts), push_bytes=push)
        except (pyaco.InputError, pyaco.UnsupportedError, PeerError) as error:
            yield type(error).__name__
            continue
        printed = Printed(radv.worker.printed(), wave)
        try:
            program = read_program(theirs.ir, lowered_body(theirs.assembly) or printed.body, target, wave, size, theirs.statistics)
        except pyaco.InputError as error:
            yield f"not read: {error}"
            continue
        ours = kernel.collect(program)
        if icd is None:
            counted = debian_counts(program, ours["max_waves"], size)
            ours |= {"latency": counted["Latency"], "inverse_throughput": counted["InvThroughput"]}
        yield Row(f"{path.parent.name}/{path.stem} {entry}", {name: ours[name] for name in NAMES},
                  {name: int(theirs.statistics[other]) for name, other in NAMES.items()},
                  kernel.timeline(program, whole_waves=icd is not None)[1]["busy"], printed.busy)  # fmt: skip


def report(rows: list[Row], worst: int) -> Iterator[str]:
    """Errors of all rows, and the rows that differ most."""
    for name in NAMES:
        errors = sorted(row.error(name) for row in rows)
        equal = sum(error == 0 for error in errors)
        yield (f"  {name:20} equal {equal:4} of {len(rows)}; error: median {statistics.median(errors):.2%}, "
               f"90th percentile {errors[len(errors) * 9 // 10]:.2%}, worst {errors[-1]:.2%}")  # fmt: skip
    for unit in UNITS:
        mine, other = sum(row.busy[unit] for row in rows), sum(row.theirs_busy[unit] for row in rows)
        if not math.isclose(mine, other, rel_tol=1e-4):
            yield f"  {unit:20} busy for {mine:.0f} cycles, in RADV's model for {other:.0f} ({other / max(mine, 1):.2f} times)"
    differing = [row for row in rows if any(row.error(name) for name in NAMES)]
    for row in sorted(differing, key=lambda row: -max(row.error("latency"), row.error("inverse_throughput")))[:worst]:
        yield f"    {row.name}: " + ", ".join(f"{name} {row.ours[name]} of {row.theirs[name]}" for name in NAMES if row.error(name))


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="modules, by project")
    parser.add_argument("--icd", type=Path, help="manifest of another RADV than the installed one")
    parser.add_argument("--target", action="append", default=[], help="instead of gfx900, gfx1030, gfx1100 and gfx1200")
    parser.add_argument("--per-project", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=5, help="entry points to name")
    options = parser.parse_args()
    os.environ["ACO_DEBUG"] = "perfinfo"
    for target in options.target or ["gfx900", "gfx1030", "gfx1100", "gfx1200"]:
        found = [row for path in chosen_paths(options.folder, options.per_project, options.seed) for row in measure(path, target, options.icd)]
        rows = [row for row in found if isinstance(row, Row)]
        print(f"{target}: {len(rows)} entry points; left out: {dict(Counter(row for row in found if isinstance(row, str)))}")
        print("\n".join(report(rows, options.worst)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
