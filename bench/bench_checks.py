"""What each check of the emulator costs: time of dispatches under it, over that of the reference engine.

    python bench/bench_checks.py [DIR ...] [--target gfx1100] [--shortest 0.0005] [--longest 0.1]

The dispatches are the shaders of the tests, compiled for one target, and those in folders of recordings (``tools/launches.py record``), a column
each. Times are CPU time of one thread, the least of three runs, of what takes the reference engine so long and no longer: where it is done at once,
the host's work for a launch counts more than the kernel. Every run is the first one of a device, so the fast engine's has its blocks to make.

Each cell has the time of all dispatches together over the reference engine's, in which the long ones count most, and behind it the geometric mean and
the largest ratio of single dispatches.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/shaders"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/oracle"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cases import CASES
from launches import Launch, Placed, recordings

import pyaco
from pyaco.emu import Device
from pyaco.emu.checks import CHECKS

#: What `Device` is given, by row of the table. A trace of one instruction asks for the inspecting engine and next to nothing of it.
ENGINES: dict[str, dict[str, Any]] = {
    "reference": {"engine": "reference"},
    "fast": {"engine": "fast"},
    "inspecting, no check": {"trace": 1},
    **{name: {"check": [name]} for name in CHECKS},
    "all": {"check": CHECKS},
}
_RUNS = 3

#: Makes a dispatch ready on a device that is given these options, and returns what runs it.
Prepare = Callable[[dict[str, Any]], Callable[[], object]]


def shaders(target: str) -> Iterator[tuple[str, Prepare]]:
    """The shaders of the tests."""
    from judge import arrange

    for name, case in sorted(CASES.items()):
        try:
            shader = pyaco.compile(case.spirv, target, spec=dict(case.spec), entry=case.entry)
        except pyaco.UnsupportedError:
            continue
        inputs = case.inputs()
        if inputs.references:                               # buffers that hold addresses of others are the tests' business
            continue

        def prepare(options: dict[str, Any], shader: Any = shader, case: Any = case, inputs: Any = inputs) -> Callable[[], object]:
            device = Device(target, threads=1, **options)
            buffers = arrange({key: device.buffer(buffer.data.copy()) for key, buffer in inputs.buffers.items()})
            return lambda: device.dispatch(shader, case.groups, buffers, bytes(inputs.push))

        yield name, prepare


def recorded(folder: Path) -> Iterator[tuple[str, Prepare]]:
    """The launches of a folder."""
    for path in recordings([folder]):
        launch = Launch.read(path)

        def prepare(options: dict[str, Any], launch: Launch = launch) -> Callable[[], object]:
            return Placed(launch, Device(launch.code.target, threads=1, **options)).run

        yield path.stem, prepare


def seconds(prepare: Prepare, options: dict[str, Any]) -> float:
    """CPU time of a dispatch, each time in memory as it was at first."""
    times = []
    for _ in range(_RUNS):
        run = prepare(options)
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def slowdowns(dispatches: Iterator[tuple[str, Prepare]], shortest: float, longest: float) -> dict[str, list[float]]:
    """Seconds, by row, of each dispatch that takes the reference engine long enough and not too long."""
    found: dict[str, list[float]] = {row: [] for row in ENGINES}
    for name, prepare in dispatches:
        reference = seconds(prepare, ENGINES["reference"])
        if not shortest <= reference <= longest:
            continue
        for row, options in ENGINES.items():
            found[row].append(reference if row == "reference" else seconds(prepare, options))
        print(f"{name}, ms: " + ", ".join(f"{row} {times[-1] * 1e3:.2f}" for row, times in found.items()), file=sys.stderr)
    return found


def cell(times: list[float], reference: list[float]) -> str:
    """Ratio of the sums, geometric mean and largest of the ratios; nothing where no dispatch was measured."""
    if not times:
        return ""
    ratios = [one / other for one, other in zip(times, reference, strict=True)]
    return f"{sum(times) / sum(reference):.2f} ({math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, {max(ratios):.1f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", metavar="DIR", help="recordings")
    parser.add_argument("--target", default="gfx1100", help="of the shaders")
    parser.add_argument("--shortest", type=float, default=0.0005, metavar="SECONDS", help="leave out what takes the reference engine less")
    parser.add_argument("--longest", type=float, default=0.1, metavar="SECONDS", help="leave out what takes the reference engine longer")
    options = parser.parse_args()
    columns = {f"shaders, {options.target}": slowdowns(shaders(options.target), options.shortest, options.longest)}
    columns.update({folder.name: slowdowns(recorded(folder), options.shortest, options.longest) for folder in options.folders})
    print("| | " + " | ".join(f"{name} ({len(found['reference'])})" for name, found in columns.items()) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for row in ENGINES:
        print(f"| {row} | " + " | ".join(cell(found[row], found["reference"]) for found in columns.values()) + " |")


if __name__ == "__main__":
    main()
