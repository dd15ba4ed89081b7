"""The fast engine beside lavapipe on shaders that others wrote: CPU time of each, one thread, the slowest of ours first.

``python bench/bench_public_shaders.py FOLDER [--sample N] [--seed N] [--target gfx1100] [--worst N]`` draws modules at random, drives each with
generated inputs as ``tests/oracle/run_shaders.py`` does, of 256 workgroups, and takes the least of several warm
dispatches. Both have what a dispatch costs besides the shader; dispatches of which lavapipe takes less than `SHORT` are left out, as their times say
little of the code. Those with images are left out too: ``bench_images.py`` is about them.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracle"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "shaders"))

from judge import arrange
from shader_inputs import CannotDrive, generate
from shader_runs import peer_lacks
from vulkan_peer import Lavapipe, PeerError

import pyaco
from pyaco import spirv
from pyaco.emu import Device, Report

GROUPS, TURNS, SHORT = (16, 16, 1), 5, 100e-6


class Row(NamedTuple):
    """What a dispatch took, in seconds, and the instructions that waves executed most."""

    ours: float
    lavapipe: float
    path: Path
    instructions: int
    active: float
    opcodes: str


def measure(path: Path, target: str) -> Row | str:
    """Return the times of a module's first entry point, or why there are none."""
    module = path.read_bytes()
    entries = [name for name, stage in spirv.entry_points(module) if stage == "compute"]
    if not entries or peer_lacks(module):
        return "not for this peer"
    facts = spirv.reflect(module, entries[0])
    inputs = generate(module, facts["descriptor_sets"], int(np.prod(facts["workgroup_size"]) * np.prod(GROUPS)), 1, "small")
    if inputs.images or inputs.references or not inputs.buffers:
        return "images, addresses or no buffers"
    shader = pyaco.compile(module, target=target, entry=entries[0])
    device = Device(target, "fast", 1)
    buffers = arrange({key: device.buffer(data) for key, data in inputs.buffers.items()})

    def run() -> Report:
        return device.dispatch(shader, groups=GROUPS, buffers=buffers, push=bytes(inputs.push), budget=1 << 24, time_budget=5)

    report, ours = run(), []
    run()
    for _ in range(TURNS):
        start = time.process_time()
        run()
        ours.append(time.process_time() - start)
    theirs = Lavapipe().time(module, GROUPS, inputs.buffers, TURNS, push=inputs.push, entry=entries[0])
    lanes, waves = sum(report.lane_units.values()), report.instructions * shader.wave
    most = Counter(report.opcodes).most_common(5)
    return Row(min(ours), min(theirs), path, report.instructions, lanes / max(waves, 1), ", ".join(name for name, _ in most))


def rows_of(paths: list[Path], target: str, why: Counter[str]) -> Iterator[Row]:
    """Yield what could be measured, and count why others could not."""
    for path in paths:
        try:
            found = measure(path, target)
        except (pyaco.InputError, pyaco.UnsupportedError, pyaco.emu.EmulationError, CannotDrive, PeerError) as error:
            found = type(error).__name__
        if isinstance(found, str):
            why[found] += 1
        elif found.lavapipe < SHORT:
            why["short"] += 1
        else:
            yield found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="gfx1100")
    parser.add_argument("--worst", type=int, default=10)
    options = parser.parse_args()
    paths = sorted(options.folder.rglob("*.spv"))
    drawn = random.Random(options.seed).sample(paths, min(options.sample, len(paths)))
    why: Counter[str] = Counter()
    rows = sorted(rows_of(drawn, options.target, why), key=lambda row: row.lavapipe / row.ours)
    print(f"{'ratio':>7}{'ms':>9}{'lavapipe':>10}{'instr':>10}{'lanes':>7}   {options.target}")
    for row in rows[: options.worst]:
        name = row.path.relative_to(options.folder)
        times = f"{row.ours / row.lavapipe:7.2f}{row.ours * 1e3:9.3f}{row.lavapipe * 1e3:10.3f}"
        print(f"{times}{row.instructions:10}{row.active:7.0%}   {name}: {row.opcodes}")
    ratios = [row.ours / row.lavapipe for row in rows]
    with contextlib.suppress(ZeroDivisionError):
        mean = math.prod(ratio ** (1 / len(ratios)) for ratio in ratios)
        print(f"{len(rows)} of {len(drawn)}: geometric mean {mean:.2f}, {sum(ratio > 1.5 for ratio in ratios)} more than 1.5; left out: {dict(why)}")


if __name__ == "__main__":
    main()
