"""Runs all of tinygrad's ``test_ops.py`` with this emulator as its AMD device; a line of a log for each test, so being cut loses nothing.

``TINYGRAD`` names a checkout of tinygrad and ``TINYGRAD_PYTHON`` an interpreter that has its test dependencies (torch)::

    python tests/oracle/tinygrad_ops.py LOG [--chip gfx1201] [--seconds 3000] [--limit 300] [--reverse] [--own]

Tests that the log has are not run again. A test that takes longer than ``--limit`` is noted as ``time`` and the rest goes on in a new
process. At the end, and with ``--seconds 0`` without running anything, the counts: passed, failed, skipped, time, not run.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TESTS = "test/backend/test_ops.py"


class Journal:
    """The pytest plugin: leaves out what the log has, and writes how each test ended and how long it took."""

    def __init__(self, path: Path, reverse: bool, seconds: float) -> None:
        self.path, self.reverse, self.end = path, reverse, time.monotonic() + seconds
        self.start = (0.0, 0.0)

    def write(self, **entry: Any) -> None:
        with self.path.open("a") as log:
            log.write(json.dumps(entry) + "\n")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        known = read(self.path)
        self.write(all=len(items))
        items[:] = [item for item in items if item.nodeid.split("::", 1)[1] not in known]
        if self.reverse:
            items.reverse()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if time.monotonic() > self.end:
            os._exit(0)
        self.write(test=nodeid.split("::", 1)[1], outcome="time")
        self.start = times()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            cpu, emulated = (round(now - start, 3) for now, start in zip(times(), self.start, strict=True))
            self.write(test=report.nodeid.split("::", 1)[1], outcome=report.outcome, seconds=round(report.duration, 2), cpu=cpu,
                       emulated=emulated, why="" if report.passed else str(report.longrepr)[-2000:])  # fmt: skip


def times() -> tuple[float, float]:
    """CPU time of this process, and how much of it was emulation."""
    import pyaco_as_tinygrad_emulator as emulator

    return emulator.cpu_seconds(), emulator.seconds


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last entry of every test; the number of all of them under an empty name."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        found[entry.get("test", "")] = entry
    return found


def environment(chip: str, limit: float, own: bool, folder: Path) -> dict[str, str]:
    """What tinygrad wants: a clang, LLVM, its device, a cache of its own."""
    if (clang := shutil.which("clang-22") or shutil.which("clang")) and not (folder / "clang").exists():
        (folder / "clang").symlink_to(clang)
    result = dict(os.environ, PYTHONPATH=f"{ROOT}:{os.environ['TINYGRAD']}", PATH=f"{folder}:{os.environ['PATH']}",
                  XDG_CACHE_HOME=str(folder), PYTHONPYCACHEPREFIX=str(folder / "bytecode"), TEST_TIMEOUT=str(int(limit)),
                  DEV=f"MOCKKFD+AMD:LLVM{chip and ':' + chip}", TINYGRAD_EMULATOR="own" if own else "")  # fmt: skip
    if libraries := sorted(Path("/usr/lib/x86_64-linux-gnu").glob("libLLVM*22*")):
        result["LLVM_PATH"] = str(libraries[0])
    return result


def run_worker(arguments: argparse.Namespace) -> int:
    """Run pytest in this process, which is tinygrad's."""
    import pytest

    plugins = ["-p", "pyaco_as_tinygrad_emulator", "-p", "no:cacheprovider"]
    return pytest.main(["-q", *plugins, TESTS], plugins=[Journal(arguments.log, arguments.reverse, arguments.seconds)])


def run_all(arguments: argparse.Namespace, folder: Path) -> None:
    """Start a process, and another one after each test that had to be stopped."""
    end = time.monotonic() + arguments.seconds
    while (left := end - time.monotonic()) > 0:
        worker = [os.environ.get("TINYGRAD_PYTHON", sys.executable), __file__, str(arguments.log), "--worker", "--seconds", str(left)]
        result = subprocess.run([*worker, *(["--reverse"] if arguments.reverse else [])], cwd=os.environ["TINYGRAD"],
                                env=environment(arguments.chip, arguments.limit, arguments.own, folder))  # fmt: skip
        if result.returncode >= 0:                          # it was not stopped by a signal
            break


def main() -> None:
    """Run what the log does not have, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=lambda text: Path(text).absolute())
    parser.add_argument("--chip", default="")
    parser.add_argument("--seconds", type=float, default=3000)
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--reverse", action="store_true", help="the last test first")
    parser.add_argument("--own", action="store_true", help="on tinygrad's own emulator")
    parser.add_argument("--cache", type=Path, help="folder that keeps what tinygrad has compiled from run to run")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        sys.exit(run_worker(arguments))
    with tempfile.TemporaryDirectory() as folder:
        cache = arguments.cache or Path(folder)
        cache.mkdir(parents=True, exist_ok=True)
        run_all(arguments, cache.absolute())
    found = read(arguments.log)
    total = found.pop("", {}).get("all", 0)
    counts = collections.Counter(entry["outcome"] for entry in found.values())
    print(f"{TESTS} {arguments.chip or 'gfx1100'}: {dict(counts)}, {total - len(found)} not run of {total}")
    cpu, emulated = (sum(entry.get(what, 0) for entry in found.values()) for what in ("cpu", "emulated"))
    print(f"{cpu:.0f} s of CPU, {emulated:.1f} s of it emulation")
    for name, entry in found.items():
        if entry["outcome"] not in ("passed", "skipped"):
            print(f"{name}: {entry['outcome']} {entry.get('why', '')[-400:]}")


if __name__ == "__main__":
    main()
