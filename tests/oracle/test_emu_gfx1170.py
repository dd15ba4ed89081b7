"""Kernels that clang 23 compiles for GFX11.7 give on both engines what the same C gives on the host; its matrix operations are GFX12's."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hsa_launch import BARE, Program, compile_kernels
from test_emu_gfx1250 import NAMES, SOURCE, host, wrong

from pyaco.emu import Device

__all__ = ["host"]
pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("target", ["gfx1170", pytest.param("gfx1171", marks=pytest.mark.slow), pytest.param("gfx1172", marks=pytest.mark.slow)])
def test_kernels(target: str, level: str, engine: str, host: ctypes.CDLL, tmp_path: Path) -> None:
    device = Device(target, engine=engine)
    program = Program(device, compile_kernels(SOURCE, target, 32, level, tmp_path, BARE))
    differing = {name: found for name in NAMES if (found := wrong(program, device, host, name))}
    assert not differing, differing


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("wave", [32, 64])
def test_matrices(wave: int, engine: str, tmp_path: Path) -> None:
    """A and B lie spread over the lanes, each element once: a lane of each sixteen has a part of a row of A, and as many rows of C."""
    device = Device("gfx1170", engine=engine)
    program = Program(device, compile_kernels(SOURCE.with_name("gfx1170_device.cl"), "gfx1170", wave, "-O2", tmp_path, BARE, f"-DLANES={wave}"))
    random = np.random.default_rng(7)
    groups = wave // 16
    for name, kind, total in (("halves", np.float16, np.float32), ("bytes", np.int8, np.int32)):
        a, b, c = (random.integers(-9, 10, (16, 16)) for _ in range(3))
        spread = [np.concatenate(np.hsplit(matrix, groups)).astype(kind) for matrix in (a, b.T)]
        rows = [np.arange(256 // wave) + 8 * (group % 2) + 4 * (group // 2) for group in range(groups)]
        sums = np.concatenate([c[chosen].T for chosen in rows]).astype(total)
        buffers = [device.buffer(np.ascontiguousarray(part)) for part in (*spread, sums)]
        program.run(name, (1, 1), (wave, 1), buffers)
        expected = a @ b + c
        assert (buffers[2].numpy() == np.concatenate([expected[chosen].T for chosen in rows])).all(), name
