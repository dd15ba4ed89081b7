"""Kernels of a code object called from Python with arguments of every kind."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hsa_launch import compile_kernels

from pyaco.emu import Device, LocalMemory
from pyaco.emu.kernels import LoadedCode
from pyaco.errors import InputError

pytestmark = pytest.mark.oracle
SOURCE = Path(__file__).with_name("callable_kernels.cl")
TARGETS = {"gfx900": 64, "gfx942": 64, "gfx1100": 32, "gfx1201": 32}
THREE = struct.pack("<if3b1x", 3, 0.5, 1, 2, 7)
NUMBERS = (-5, 40000, -70000, 1 << 33, 0.25, 1e3, np.array([2, 3], np.float32), THREE)
TOTAL = -5 + 40000 - 70000 + (1 << 33) + 0.25 + 1e3 + 6 + 3 + 0.5 + 7


@pytest.fixture(scope="module", params=TARGETS)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedCode:
    target = str(request.param)
    return Device(target).load(compile_kernels(SOURCE, target, TARGETS[target], "-O2", tmp_path_factory.mktemp("callable"), "-cl-kernel-arg-info"))


def test_three_lines(loaded: LoadedCode) -> None:
    """Arrays of NumPy are the kernel's memory; numbers and structures reach it."""
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    report = loaded["mixed"]((2,), (64,), x, out, *NUMBERS)
    assert report.workgroups == 2
    assert np.allclose(out, np.float32(TOTAL) + x, rtol=1e-6)
    # a read-only array serves where the kernel only reads
    x.flags.writeable = False
    again = np.zeros_like(out)
    loaded["mixed"]((2,), (64,), x, again, *NUMBERS)
    assert np.array_equal(again, out)


def test_memory_is_given_back(loaded: LoadedCode) -> None:
    """Arrays are mapped while a kernel runs, and only then."""
    space = loaded.device.space
    kernel = loaded["mixed"]
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    kernel((1,), (64,), x, out, *NUMBERS)
    free = space.addresses.free_bytes("general")
    for _ in range(3):
        kernel((1,), (64,), x, out, *NUMBERS)
        with pytest.raises(InputError):
            kernel((1,), (64,), x, out, *NUMBERS[:-1], b"")
    assert space.addresses.free_bytes("general") == free


def test_ints_for_floats(loaded: LoadedCode) -> None:
    out = np.zeros(64, np.float32)
    loaded["mixed"]((1,), (64,), np.zeros(64, np.float32), out, 0, 0, 0, 0, 2, 3, bytes(8), bytes(12))
    assert (out == 5).all()


@pytest.mark.parametrize(("position", "value", "words"), [
    (2, 256, r"argument 2 \(c\): 256 does not fit 1 bytes"),
    (3, -40000, r"argument 3 \(s\): -40000 does not fit 2 bytes"),
    (4, 1.5, r"argument 4 \(i\): a float for by_value of 4 bytes \(int\)"),
    (6, 1e300, r"argument 6 \(f\): 1e\+300 does not fit a float of 4 bytes"),
    (6, np.float64(1), r"argument 6 \(f\): 8 bytes for by_value of 4 bytes \(float\)"),
    (9, b"123", r"argument 9 \(three\): 3 bytes for by_value of 12 bytes"),
    (0, 1.5, r"argument 0 \(x\): a float for global_buffer of 8 bytes"),
    (0, "text", r"argument 0 \(x\): str for global_buffer"),
    (1, np.zeros((64, 2), np.float32)[:, 0], r"argument 1 \(out\): an array that the kernel may write is shared with it, and its bytes do not"),
    (4, LocalMemory(4), r"argument 4 \(i\): LDS for an argument that does not point to it"),
])  # fmt: skip
def test_errors_name_kernel_and_argument(loaded: LoadedCode, position: int, value: object, words: str) -> None:
    values: list[object] = [np.zeros(64, np.float32), np.zeros(64, np.float32), *NUMBERS]
    values[position] = value
    with pytest.raises(InputError, match="kernel mixed, " + words):
        loaded["mixed"]((1,), (64,), *values)  # type: ignore[arg-type]


def test_local_memory(loaded: LoadedCode) -> None:
    """Pointers to LDS lie one after the other, aligned as the kernel asks."""
    out = np.zeros(2 * 48, np.uint32)
    report = loaded["locals"]((2,), (48,), out, LocalMemory(4 * 48), LocalMemory(8 * 48), 48)
    other = (np.arange(48) + 1) % 48
    assert np.array_equal(out, np.tile(other + other * 300, 2)) and report.lds_out_of_bounds == 0
    out[:] = 0
    assert loaded["locals"]((2,), (48,), out, 0, 256, 48, dynamic_lds=256 + 8 * 48).lds_out_of_bounds == 0
    assert np.array_equal(out, np.tile(other + other * 300, 2))


def test_unknown_kernel(loaded: LoadedCode) -> None:
    with pytest.raises(InputError, match="no kernel 'other': there are mixed, locals"):
        loaded["other"]
    with pytest.raises(InputError, match="kernel mixed takes 10 arguments, not 0"):
        loaded["mixed"]((1,), (64,))
    with pytest.raises(InputError, match="expected up to three sizes"):
        loaded["mixed"]((0,), (64,))
