"""tinygrad's own tests of tensors on this emulator and on tinygrad's: CPU time of the emulation and of the whole run, one after the other.

``TINYGRAD`` names a checkout of tinygrad and ``TINYGRAD_PYTHON`` an interpreter with its test dependencies::

    python bench/bench_tinygrad.py [test/test_tiny.py] [--chip gfx1201]
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracle"))

from tinygrad_ops import environment


class Times(NamedTuple):
    """CPU seconds of a run of tests."""

    dispatches: int
    emulation: float
    whole: float


def measure(tests: str, chip: str, own: bool, folder: Path) -> Times:
    """Run the tests in a process of their own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [os.environ.get("TINYGRAD_PYTHON", sys.executable), "-m", "pytest", "-q", "-p", "no:cacheprovider",
               "-p", "tests.oracle.pyaco_as_tinygrad_emulator", tests]  # fmt: skip
    result = subprocess.run(command, cwd=os.environ["TINYGRAD"], env=environment(chip, 100000, own, folder), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(r"(\d+) dispatches in ([\d.]+) s of CPU", result.stdout)
    if found is None or result.returncode:
        raise SystemExit(result.stdout[-3000:] + result.stderr[-3000:])
    print(f"{'tinygrad' if own else 'pyaco'}: {result.stdout.splitlines()[-1]}; {found[0]}", flush=True)
    return Times(int(found[1]), float(found[2]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Print both and their ratio; the first run of each fills the caches of compiled kernels and is not counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="?", default="test/test_tiny.py")
    parser.add_argument("--chip", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        times = {}
        for own in (False, True):
            measure(arguments.tests, arguments.chip, own, Path(name))
            times[own] = measure(arguments.tests, arguments.chip, own, Path(name))
    for own, taken in times.items():
        name = "tinygrad" if own else "pyaco"
        print(f"{name:10}{taken.dispatches:6} dispatches: {taken.emulation:8.2f} s of emulation, {taken.whole:8.2f} s in all")
    emulation, whole = (theirs / ours for theirs, ours in zip(times[True][1:], times[False][1:], strict=True))
    print(f"emulation {emulation:.0f} times, the whole run {whole:.1f} times as fast")


if __name__ == "__main__":
    main()
