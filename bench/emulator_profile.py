"""Where the time of the fast engine goes on the kernels of ``bench_emulator.py``: shares of samples by function, with Linux's perf.

``python bench/emulator_profile.py [kernel ...]``. Functions have names only in a build that is not stripped, as ``make`` leaves it in place.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_emulator import KERNELS, MIXES, Prepared

SECONDS = 4
SHOWN = 12


def keep_running(name: str) -> None:
    """Run a kernel again and again until the profiler that waits for a line has what it wants."""
    prepared = Prepared(name)
    prepared.run()
    print("warm", flush=True)
    end = time.monotonic() + 2 * SECONDS
    while time.monotonic() < end:
        prepared.run()


def plain(symbol: str) -> str:
    """Return a function's name without the modules that Cython puts before it, each after its length."""
    rest = symbol.removeprefix("__pyx_f_")
    if rest == symbol:
        return symbol
    while length := re.match(r"\d+", rest):
        rest = rest[length.end() + int(length[0]) + 1 :]
    return rest


def profile(name: str) -> list[tuple[float, str]]:
    """Return the functions that take most of a kernel's time, with their share in percent."""
    return profile_of([sys.executable, __file__, "--run", name])


def profile_of(run: list[str]) -> list[tuple[float, str]]:
    """The same of a command that runs again and again after it has printed a line."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        with subprocess.Popen(run, stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            worker.stdout.readline()
            command = ["perf", "record", "--quiet", "-e", "cpu-clock", "-F", "5000", "-o", data, "-p", str(worker.pid), "--", "sleep", str(SECONDS)]
            subprocess.run(command, check=True)
            worker.terminate()
        report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--sort", "symbol"], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^\s+([\d.]+)%\s+\[.\] (\S+)", report, re.M)
    return [(float(share), plain(symbol)) for share, symbol in lines[:SHOWN]]


def main(names: list[str]) -> None:
    """Print the profiles."""
    if shutil.which("perf") is None:
        sys.exit("perf is not there (Debian: linux-perf)")
    known = [*KERNELS, *MIXES]
    if not set(names) <= set(known):
        sys.exit(f"the kernels are {', '.join(known)}")
    for name in names or known:
        print(name)
        rows = profile(name)
        if not any("step_" in function for _, function in rows):
            sys.exit("the kernels have no symbols: build them in place, where they are not stripped")
        for share, function in rows:
            print(f"  {share:5.1f} %  {function}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        keep_running(sys.argv[2])
    else:
        main(sys.argv[1:])
