"""A pytest plugin that puts pyaco in the place of tinygrad's own emulator, and says how much time emulation took.

From a checkout of tinygrad, with pyaco on the path::

    python -m pytest -p tests.oracle.pyaco_as_tinygrad_emulator test/amd/hw

``TINYGRAD_EMULATOR=own`` leaves tinygrad's emulator where it is, to compare. Its instruction tests compare with values seen on hardware.
tinygrad: https://github.com/tinygrad/tinygrad (MIT licence).
"""

from __future__ import annotations

import importlib
import os
import resource
from typing import Any

from pyaco import emu

tinygrad_emulator: Any = importlib.import_module("test.mockgpu.amd.emu")
OWN = os.environ.get("TINYGRAD_EMULATOR") == "own"
emulate = tinygrad_emulator.run_asm if OWN else emu.run_asm
calls, seconds = 0, 0.0


def cpu_seconds() -> float:
    """CPU time of this process and of the compilers that it has started."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def run_asm(*arguments: Any, **named: Any) -> int:
    global calls, seconds
    start = cpu_seconds()
    try:
        return emulate(*arguments, **named)
    finally:
        calls += 1
        seconds += cpu_seconds() - start


tinygrad_emulator.run_asm = run_asm


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"{'tinygrad' if OWN else 'pyaco'}: {calls} dispatches in {seconds:.2f} s of CPU")
