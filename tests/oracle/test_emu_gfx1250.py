"""Kernels that clang compiles for gfx1250 give on both engines what the same C gives on the host."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hsa_launch import CLANG, Program, compile_kernels

from pyaco.emu import Device
from pyaco.errors import InputError

pytestmark = pytest.mark.oracle
SOURCE = Path(__file__).with_name("gfx1250_kernels.c")
NAMES = re.findall(r"^ITEM\((\w+)\)", SOURCE.read_text(), re.MULTILINE)
ITEMS, WORDS = 192, 8


def inputs() -> np.ndarray:
    random = np.random.default_rng(1250)
    values = random.integers(0, 1 << 32, (ITEMS, WORDS), dtype=np.uint32)
    values[1::5] &= 0xFFFFF
    values[2::5] = random.standard_normal((len(values[2::5]), WORDS)).astype(np.float32).view(np.uint32)
    special = np.array([0, 0x80000000, 0x3F800000, 0x7F800000, 0x7FC00000, 1, 0x007FFFFF, 0x3C00BC00, 0xFFFFFFFF, 0x7FEFFFFF], np.uint32)
    values[3::10] = special[random.integers(0, len(special), (len(values[3::10]), WORDS))]
    return values


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if CLANG is None:
        pytest.skip("clang is not installed")
    library = tmp_path_factory.mktemp("host") / "kernels.so"
    subprocess.run([CLANG, "-shared", "-fPIC", "-O1", "-ffp-contract=off", "-w", str(SOURCE), "-lm", "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gfx1250")


def wrong(program: Program, device: Device, host: ctypes.CDLL, name: str) -> str:
    """Run a kernel on both; returns what differs."""
    data = inputs()
    expected = np.zeros_like(data)
    getattr(host, name)(ITEMS, data.ctypes.data_as(ctypes.c_void_p), expected.ctypes.data_as(ctypes.c_void_p))
    source, results = device.buffer(data), device.buffer(np.zeros_like(data))
    program.run(name, (ITEMS // 64, 1), (64, 1), [source, results])
    found = np.argwhere(results.numpy() != expected)
    return "".join(f" item {i} word {w}: {results.numpy()[i, w]:#x}, not {expected[i, w]:#x}, of {[hex(v) for v in data[i]]};" for i, w in found[:3])


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("target", ["gfx1250", pytest.param("gfx1251", marks=pytest.mark.slow)])
def test_kernels(target: str, level: str, engine: str, host: ctypes.CDLL, folder: Path) -> None:
    assert len(NAMES) >= 30
    device = Device(target, engine=engine)
    program = Program(device, compile_kernels(SOURCE, target, 32, level, folder))
    differing = {name: found for name in NAMES if (found := wrong(program, device, host, name))}
    assert not differing, differing


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_checks_are_silent(level: str, host: ctypes.CDLL, folder: Path) -> None:
    device = Device("gfx1250", check="waits,races,memory,barriers,uninitialized", profile=True)
    program = Program(device, compile_kernels(SOURCE, "gfx1250", 32, level, folder))
    differing = {name: found for name in NAMES if (found := wrong(program, device, host, name))}
    assert not differing, differing


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_device(engine: str, folder: Path) -> None:
    """Matrices by clang's builtins, copies to LDS with a barrier between two waves, and what a workgroup without a cluster is told."""
    device = Device("gfx1250", engine=engine)
    program = Program(device, compile_kernels(SOURCE.with_name("gfx1250_device.cl"), "gfx1250", 32, "-O2", folder))
    random = np.random.default_rng(9)
    for name, kind, total, depth in (("halves", np.float16, np.float32, 32), ("bytes", np.int8, np.int32, 64)):
        a, b = random.integers(-9, 9, (16, depth)), random.integers(-9, 9, (depth, 16))
        c = random.integers(-99, 99, (16, 16))
        # lane l has a half of row or column l % 16, and eight rows of a column of C
        spread = [np.concatenate([m[:, : depth // 2], m[:, depth // 2 :]]).astype(kind) for m in (a, b.T)]
        sums = np.concatenate([c[:8].T, c[8:].T]).astype(total)
        buffers = [device.buffer(np.ascontiguousarray(part)) for part in (*spread, sums)]
        program.run(name, (1, 1), (32, 1), buffers)
        expected = a @ b + c
        assert (buffers[2].numpy() == np.concatenate([expected[:8].T, expected[8:].T])).all(), name
    data = random.integers(0, 1 << 30, (3, 64)).astype(np.int32)
    source, results = device.buffer(data), device.buffer(np.zeros_like(data))
    program.run("copies", (3, 1), (64, 1), [source, results])
    assert (results.numpy() == data[:, ::-1]).all()


@pytest.mark.parametrize("engine", ["reference", "fast", "checked"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_clusters(engine: str, level: str, folder: Path) -> None:
    """What LLVM's intrinsics say of a cluster, of the number that a kernel is compiled for or of any, and its barrier and cluster loads."""
    if CLANG is None:
        pytest.skip("clang is not installed")
    code = folder / f"clusters{level}.co"
    source = str(SOURCE.with_name("gfx1250_clusters.ll"))
    subprocess.run([CLANG, "-x", "ir", source, "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-nogpulib", level, "-o", str(code)], check=True)
    device = Device("gfx1250", check="waits,races,memory") if engine == "checked" else Device("gfx1250", engine=engine)
    loaded = device.load(code.read_bytes())
    grid = np.indices((4, 4)).reshape(2, 16)                # y and x of each workgroup
    for name, chosen, width, height in (("two_by_two", None, 2, 2), ("any_number", (4, 2), 4, 2), ("any_number", (1, 4), 1, 4),
                                        ("any_number", None, 1, 1)):  # fmt: skip
        out = np.full((16, 4), 99, np.int32)
        loaded[name]((4, 4), (32,), out, cluster=chosen)
        y, x = grid
        members = width * height
        expected = [x % width + width * (y % height), 0 * x + members - 1, x // width, y % height]
        assert (out == np.stack(expected, 1)).all(), (name, chosen, out)
    values = np.random.default_rng(3).integers(0, 1 << 30, (8, 64)).astype(np.int32)
    held, out = np.zeros_like(values), np.zeros_like(values)
    loaded["meet"]((8,), (64,), values, held, out)
    assert (out == values[np.arange(8) | 3]).all()
    with pytest.raises(InputError, match="compiled for"):
        loaded["meet"]((8,), (64,), values, held, out, cluster=(2,))
