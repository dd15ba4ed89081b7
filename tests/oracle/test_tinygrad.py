"""tinygrad's own tests pass on this emulator: its instruction tests, and its tests of tensors with this emulator as the AMD device.

``TINYGRAD`` is the path of a checkout of https://github.com/tinygrad/tinygrad; without it the tests are skipped. ``TINYGRAD_PYTHON`` may
name an interpreter that has tinygrad's test dependencies (torch for ``test_ops.py``).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TINYGRAD = os.environ.get("TINYGRAD", "")
LLVM = next((str(path) for path in sorted(Path("/usr/lib/x86_64-linux-gnu").glob("libLLVM*22*"))), "")
ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.skipif(not TINYGRAD, reason="TINYGRAD names no checkout of tinygrad")]


def run(tests: str, folder: Path, device: str = "", own: bool = False) -> dict[str, int]:
    """Run tests of tinygrad; returns how many passed, failed and so on."""
    clang = folder / "clang"
    if not clang.exists() and (found := shutil.which("clang-22") or shutil.which("clang")):
        clang.symlink_to(found)
    environment = dict(os.environ, PYTHONPATH=f"{ROOT}:{TINYGRAD}", PATH=f"{folder}:{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1",
                       TINYGRAD_EMULATOR="own" if own else "", XDG_CACHE_HOME=str(folder))  # fmt: skip
    if LLVM:
        environment["LLVM_PATH"] = LLVM
    if device:
        environment["DEV"] = device
    command = [os.environ.get("TINYGRAD_PYTHON", sys.executable), "-m", "pytest", "-q", "-p", "no:cacheprovider",
               "-p", "tests.oracle.pyaco_as_tinygrad_emulator", *tests.split()]  # fmt: skip
    result = subprocess.run(command, cwd=TINYGRAD, env=environment, capture_output=True, text=True)
    last = result.stdout.splitlines()[-1] if result.stdout else result.stderr
    timing = re.findall(r"^(?:pyaco|tinygrad): \d+ dispatches.*", result.stdout, re.M)
    print(f"{tests} {device}: {last.strip()}; {' '.join(timing)}")
    counts = {what: int(number) for number, what in re.findall(r"(\d+) (passed|failed|skipped|errors?)", last)}
    assert counts.get("passed"), result.stdout[-3000:] + result.stderr[-3000:]
    assert not counts.get("failed") and not counts.get("error") and not counts.get("errors"), result.stdout[-6000:]
    return counts


def test_instructions(tmp_path: Path) -> None:
    assert run("test/amd/hw", tmp_path)["passed"] >= 783


@pytest.mark.parametrize("tests", ["test/test_tiny.py", "test/backend/test_dtype_alu.py"])
@pytest.mark.parametrize("chip", ["", ":gfx1201"])
def test_tensors(tests: str, chip: str, tmp_path: Path) -> None:
    run(tests, tmp_path, f"MOCKKFD+AMD:LLVM{chip}")
