"""Kernels that clang 23 compiles for GFX13 give on both engines what the same C gives on the host, and pass all checks.

Clang 23 makes waves of 32 lanes alone, and writes instructions that its assembler does not take for GFX13: waits of counters, here left out, and,
with less optimisation than -O2, V_MOVRELS.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hsa_launch import BARE, Program, compile_kernels
from test_emu_gfx1250 import NAMES, SOURCE, host, wrong

from pyaco.emu import Device

__all__ = ["host"]
pytestmark = pytest.mark.oracle
UNKNOWN = "s_wait_bvhcnt|s_wait_xcnt"


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_kernels(level: str, engine: str, host: ctypes.CDLL, tmp_path: Path) -> None:
    device = Device("gfx1310", engine=engine)
    program = Program(device, compile_kernels(SOURCE, "gfx1310", 32, level, tmp_path, BARE, unknown=UNKNOWN))
    differing = {name: found for name in NAMES if (found := wrong(program, device, host, name))}
    assert not differing, differing


@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_checks_are_silent(level: str, host: ctypes.CDLL, tmp_path: Path) -> None:
    device = Device("gfx1310", check="waits,races,memory,barriers,uninitialized", profile=True)
    program = Program(device, compile_kernels(SOURCE, "gfx1310", 32, level, tmp_path, BARE, unknown=UNKNOWN))
    differing = {name: found for name in NAMES if (found := wrong(program, device, host, name))}
    assert not differing, differing
