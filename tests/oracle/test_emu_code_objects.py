"""clang's code objects, dispatched as the HSA packet processor does it, right against NumPy, and right under every check."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

from pyaco import emu
from pyaco.cli import main
from pyaco.emu import Device
from pyaco.emu.hsa import DispatchPacket
from pyaco.errors import InputError

pytestmark = pytest.mark.oracle
SOURCE = Path(__file__).with_name("kernels.cl")
CLANG = next((path for path in map(shutil.which, ("clang-22", "clang")) if path), None)
LINKER = next((path for path in map(shutil.which, ("ld.lld-22", "ld.lld")) if path), None)
TARGETS = ("gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1200")
WATCHED: dict[str, Any] = {"check_waits": True, "check_races": True}


class Build(Protocol):
    """The fixture `build`: a linked code object of the kernels, with more of clang's options."""

    def __call__(self, target: str, level: str = "-O2", *more: str) -> bytes: ...


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """``build(target, level="-O2", wave=None) -> bytes`` of a linked code object."""
    if CLANG is None or LINKER is None:
        pytest.skip("clang and lld are not installed")
    folder = tmp_path_factory.mktemp("code")
    built: dict[tuple[str, ...], bytes] = {}

    def compile_and_link(target: str, level: str = "-O2", *more: str) -> bytes:
        key = (target, level, *more)
        if key not in built:
            command = [CLANG, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", level, "-w",
                       "-ffp-contract=off"]  # fmt: skip
            subprocess.run([*command, *more, "-c", str(SOURCE), "-o", str(folder / "k.o")], check=True)
            subprocess.run([LINKER, "-shared", str(folder / "k.o"), "-o", str(folder / "k.hsaco")], check=True)
            built[key] = (folder / "k.hsaco").read_bytes()
        return built[key]

    return compile_and_link


@pytest.mark.parametrize("level", ["-O2", "-O0"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("watch", [{}, WATCHED, {"engine": "fast"}], ids=["reference", "watched", "fast"])
def test_kernels(target: str, level: str, watch: dict[str, Any], build: Build) -> None:
    device = Device(target, **watch)
    code = device.load(build(target, level))
    random = np.random.default_rng(5)

    data = random.standard_normal(256).astype(np.float32)
    buffer = device.buffer(data)
    code.dispatch("scale", (256,), (64,), [buffer, 1.5, -7])
    assert np.array_equal(buffer.numpy(), data * np.float32(1.5) + (np.arange(256) % 64 - 7).astype(np.float32))

    matrix = random.integers(0, 1 << 32, (64, 64), dtype=np.uint32)
    out = device.zeros(matrix.nbytes)
    code.dispatch("transpose", (64, 64), (16, 16), [device.buffer(matrix), out, 64])
    assert np.array_equal(out.numpy().view(np.uint32).reshape(64, 64), matrix.T)

    sizes = device.zeros(16 * 8 * 4 * 6)
    report = code.dispatch("sizes", (8, 4, 6), (4, 2, 3), [sizes])
    assert report.workgroups == 8
    found = sizes.numpy().view(np.uint32).reshape(6, 4, 8, 4)
    z, y, _ = np.indices((6, 4, 8))
    assert (found[..., 0] == 0x60408).all() and (found[..., 1] == 0x30204).all() and (found[..., 2] == 0x20202).all()
    assert np.array_equal(found[..., 3], 3 | z % 3 << 8 | y // 2 << 16)

    rows = random.integers(0, 16, 128).astype(np.uint32)
    out = device.zeros(512)
    code.dispatch("stack", (128,), (32,), [device.buffer(rows), out, 1 << 40 | 9])
    table = np.zeros((128, 16), np.uint32)
    for k in range(16):
        table[np.arange(128), (k * 5 + rows) % 16] = k + 9
    lanes = np.arange(128)
    assert np.array_equal(out.numpy().view(np.uint32), table[lanes, rows % 16] * 100 + table[lanes, (rows + lanes) % 16])

    letters = random.integers(0, 256, 3000).astype(np.uint8)
    bins = device.zeros(1024)
    code.dispatch("histogram", (256,), (128,), [device.buffer(letters), bins, len(letters)])
    assert np.array_equal(bins.numpy().view(np.uint32), np.bincount(letters, minlength=256))

    for which in (0, 1):
        words = device.buffer(np.arange(100, 228, dtype=np.uint32))
        code.dispatch("through_flat", (128,), (64,), [words, 0, which], group_segment_size=256)
        assert np.array_equal(words.numpy(), (np.arange(100, 228) if which else 3 * (np.arange(128) % 64)) + 1)
    code.release()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("watch", [{}, WATCHED, {"engine": "fast"}], ids=["reference", "watched", "fast"])
def test_partial_workgroups(target: str, watch: dict[str, Any], build: Build) -> None:
    """A grid of 41 x 10 work-items in workgroups of 16 x 4: what clang makes of hidden arguments, and where lanes are."""
    device = Device(target, **watch)
    code = device.load(build(target))
    found = device.buffer(np.zeros((10, 41), np.uint32))
    report = code.dispatch("parts", (41, 10), (16, 4), [found])
    y, x = np.indices((10, 41))
    width, height = np.where(x < 32, 16, 9), np.where(y < 8, 4, 2)
    lane = (y % 4 * width + x % 16) % report.wave_size
    assert np.array_equal(found.numpy(), width | height << 8 | lane << 16)
    assert report.workgroups == 9 and report.waves == (9 if report.wave_size == 64 else 4 * 2 + 2 * 2 + 2 + 1)


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100"])
def test_wave64(target: str, build: Build) -> None:
    device = Device(target, **WATCHED)
    code = device.load(build(target, "-O2", "-mwavefrontsize64"))
    letters = np.random.default_rng(1).integers(0, 256, 1000).astype(np.uint8)
    bins = device.zeros(1024)
    report = code.dispatch("histogram", (128,), (128,), [device.buffer(letters), bins, len(letters)])
    assert np.array_equal(bins.numpy().view(np.uint32), np.bincount(letters, minlength=256))
    assert report.wave_size == 64 and report.waves == 2


def test_packet(build: Build) -> None:
    device = Device("gfx1100")
    code = device.load(build("gfx1100"))
    kernel = code.kernel("scale")
    data = device.buffer(np.ones(64, np.float32))
    packet = DispatchPacket((32, 1, 1), (64, 1, 1), code.address + kernel.descriptor_address, dimensions=1)
    arguments = device.buffer(code.arguments(kernel, [data, 2.0, 1], packet))
    packet = DispatchPacket((32, 1, 1), (64, 1, 1), code.address + kernel.descriptor_address, arguments.address, dimensions=1)
    raw = packet.to_bytes()
    assert len(raw) == 64 and DispatchPacket.from_bytes(raw) == packet
    report = device.dispatch_packet(raw)
    assert report.workgroups == 2
    assert np.array_equal(data.numpy(), 3.0 + np.arange(64, dtype=np.float32) % 32)


def test_bad_requests(build: Build) -> None:
    device = Device("gfx1100")
    with pytest.raises(InputError, match="gfx1030"):
        device.load(build("gfx1030"))
    with pytest.raises(InputError):
        device.load(b"not an ELF file")
    code = device.load(build("gfx1100"))
    data = device.zeros(4096)
    with pytest.raises(InputError, match="which kernel"):
        code.dispatch(None, (64,), (64,))
    with pytest.raises(InputError, match="takes 3 arguments, not 1"):
        code.dispatch("scale", (64,), (64,), [data])
    with pytest.raises(InputError, match="does not fit 4 bytes"):
        code.dispatch("scale", (64,), (64,), [data, 1.0, 1 << 32])
    with pytest.raises(InputError, match="invocations"):
        code.dispatch("scale", (2048,), (2048,), [data, 1.0, 0])
    with pytest.raises(InputError, match="type 0"):
        device.dispatch_packet(bytes(64))
    with pytest.raises(InputError, match="64"):
        device.dispatch_packet(b"")
    with pytest.raises(InputError, match="outside memory"):
        device.dispatch_packet(DispatchPacket((1, 1, 1), (1, 1, 1), 0x1234))
    with pytest.raises(emu.MemoryFault) as caught:
        code.dispatch("scale", (4096,), (64,), [data, 1.0, 0])
    assert caught.value.place["workgroup"] == (16, 0, 0) and "global_" in str(caught.value)


def test_command(build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, data, saved = tmp_path / "kernels.hsaco", tmp_path / "x.npy", tmp_path / "y.npy"
    path.write_bytes(build("gfx1100"))
    np.save(data, np.arange(256, dtype=np.float32))
    command = ["run", str(path), "--kernel", "scale", "--grid", "256", "--workgroup", "64", "--arg", str(data), "--arg", "2.0", "--arg", "3"]
    assert main([*command, "--save", f"0={saved}", "--check-waits", "--check-races", "--stats", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["target"] == "gfx1100" and facts["stats"]["workgroups"] == 4 and facts["stats"]["memory"]["memory"]["store"]["bytes"] == 1024
    assert np.array_equal(np.load(saved), np.arange(256) * 2 + 3 + np.arange(256) % 64)
    assert main([*command, "--save", "2=nowhere"]) == 2
    assert main([*command, "--budget", "100000", "--time-budget", "60"]) == 0
    assert main([*command, "--time-budget", "0"]) == 2 and main([*command, "--budget", "10"]) != 0
    assert main(["run", str(path), "--kernel", "scale"]) == 2
    assert "--grid" in capsys.readouterr().err
