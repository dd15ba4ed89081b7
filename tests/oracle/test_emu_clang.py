"""A kernel that clang compiles for every generation gives on the emulator what the same C gives on the host."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hsa_launch import CLANG, Program, compile_kernels

from pyaco.emu import Device

pytestmark = pytest.mark.oracle
SOURCE = Path(__file__).with_name("clang_kernel.c")
ITEMS, WORDS = 256, 96
FLOORS = slice(52, 54)


@pytest.fixture(scope="module")
def inputs() -> np.ndarray:
    random = np.random.default_rng(17)
    values = random.integers(0, 1 << 32, (ITEMS, 4), dtype=np.uint32)
    values[::3] = random.standard_normal((len(values[::3]), 4)).astype(np.float32).view(np.uint32)
    doubles = random.standard_normal((len(values[1::6]), 2)) * 1e3
    values[1::6] = doubles.view(np.uint32)
    special = [0, 0x80000000, 0x3F800000, 0x7F800000, 0x7FC00000, 1, 0x007FFFFF, 0x3C00BC00, 0xFFFFFFFF, 0x7FEFFFFF]
    for row in range(40):
        values[6 * row + 2] = [special[(row * (column + 1) + column) % len(special)] for column in range(4)]
    return values


@pytest.fixture(scope="module")
def expected(inputs: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    if CLANG is None:
        pytest.skip("clang is not installed")
    library = tmp_path_factory.mktemp("host") / "item.so"
    flags = ["-shared", "-fPIC", "-O1", "-ffp-contract=off", "-w"]
    subprocess.run([CLANG, *flags, str(SOURCE), "-lm", "-o", str(library)], check=True)
    results = np.zeros((ITEMS, WORDS), np.uint32)
    ctypes.CDLL(str(library)).run(
        ITEMS, inputs.ctypes.data_as(ctypes.c_void_p), results.ctypes.data_as(ctypes.c_void_p)
    )
    return results


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("target", "wave"),
    [("gfx600", 64), ("gfx700", 64), ("gfx803", 64),
     ("gfx900", 64), ("gfx942", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64), ("gfx1250", 32)],
)
def test_kernel(target: str, wave: int, level: str, engine: str, inputs: np.ndarray, expected: np.ndarray, tmp_path: Path) -> None:
    device = Device(target, engine=engine)
    program = Program(device, compile_kernels(SOURCE, target, wave, level, tmp_path))
    source, results = device.buffer(inputs), device.buffer(np.zeros((ITEMS, WORDS), np.uint32))
    program.run("run", (ITEMS // 64, 1), (64, 1), [source, results])
    differs = results.numpy() != expected
    if target == "gfx600":                                  # clang's floor of doubles, made of a fraction, misses -1 of the least ones
        least = np.ascontiguousarray(inputs[:, :2]).view(np.float64)[:, 0]
        differs[(least < 0) & (least > -(2.0**-53)), FLOORS] = False
    wrong = np.argwhere(differs)
    shown = [(int(i), int(w), hex(results.numpy()[i, w]), hex(expected[i, w]), [hex(v) for v in inputs[i]]) for i, w in wrong[:6]]
    assert not len(wrong), f"{len(wrong)} words differ: {sorted(set(wrong[:, 1].tolist()))} {shown}"
