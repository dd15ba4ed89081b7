"""What hipcc writes: bundles of several targets, compressed or not, objects and programs of the host; kernels of them against NumPy."""

from __future__ import annotations

import importlib.util
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

from pyaco import isa
from pyaco.binary import offload_entries, read_code_object
from pyaco.binary.demangle import demangled
from pyaco.cli import main
from pyaco.emu import Device
from pyaco.emu.kernel_arguments import APERTURES
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.target_id import generic_members

SOURCE = Path(__file__).with_name("kernels.hip")
CLANG, BUNDLER, LINKER = (shutil.which(name) for name in ("clang-22", "clang-offload-bundler-22", "ld.lld-22"))
FILTER = shutil.which("llvm-cxxfilt-22")
TARGETS = ("gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1200")
WITH_GFX8 = ("gfx803", *TARGETS)
GENERIC = ("gfx9-generic", "gfx9-4-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic")
MEMBERS = ("gfx900", "gfx906", "gfx942", "gfx950", "gfx1010", "gfx1012", "gfx1030", "gfx1032", "gfx1100", "gfx1103", "gfx1150", "gfx1200", "gfx1201")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(None in (CLANG, BUNDLER, LINKER), reason="clang, lld or clang-offload-bundler is not installed"),
]


class Build(Protocol):
    """The fixture `build`: a file of clang's for several targets, with more of its options."""

    def __call__(self, targets: tuple[str, ...], *options: str) -> bytes: ...


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("hip")
    made: dict[tuple[tuple[str, ...], tuple[str, ...]], bytes] = {}

    def compile_hip(targets: tuple[str, ...], *options: str) -> bytes:
        if (targets, options) not in made:
            command = [str(CLANG), "-x", "hip", "-nogpuinc", "-nogpulib", "-w", *(f"--offload-arch={target}" for target in targets), *options]
            subprocess.run([*command, str(SOURCE), "-o", str(folder / "out")], check=True)
            made[targets, options] = (folder / "out").read_bytes()
        return made[targets, options]

    return compile_hip


DEVICE = ("-O2", "--offload-device-only")


def check_kernels(device: Device, data: bytes) -> None:
    """Run every kernel and compare with NumPy."""
    loaded = device.load(data)
    random = np.random.default_rng(3)

    x = random.standard_normal(100).astype(np.float32)
    by_hand = x * np.float32(1.5) + np.tile(np.array([1, 2, 3, 4], np.float32), 25)
    loaded["scale<float>"]((2,), (64,), x, 1.5, 100)
    assert np.allclose(x, by_hand, rtol=1e-6)
    loaded.global_("settings::coefficients", np.float32)[:] = [10, 20, 30, 40]
    whole = random.integers(-50, 50, 64).astype(np.int32)
    expected = whole * -3 + np.tile([10, 20, 30, 40], 16)
    loaded["scale<int>"]((1,), (64,), whole, -3, 64)
    assert np.array_equal(whole, expected)

    pairs = random.integers(-9, 9, (64, 2))
    products = pairs[:, 0] * pairs[:, 1]
    doubles, out = pairs.astype(np.float64), np.zeros(64)
    loaded["work::sums<double, 64, true>"]((1,), (64,), doubles, out)
    assert np.array_equal(out, products + (products * np.arange(1, 65)).sum())
    numbers, sums = pairs.astype(np.int32), np.zeros(64, np.int32)
    loaded["work::sums<int,64u,false>"]((1,), (64,), numbers, sums)
    assert np.array_equal(sums, products + (products[::-1] * np.arange(1, 65)).sum())

    words = random.integers(0, 1000, 128).astype(np.int32)
    backwards = words[::-1].copy()
    counter, record = loaded.global_("counter", np.int32), loaded.global_("record")
    assert counter[0] == 5 and struct.unpack("<h6xd", record.tobytes()) == (7, 0.5)
    assert loaded.global_("where", np.uint64)[0] == loaded.address + loaded.code.variables["counter"][0]
    loaded["turn"]((1,), (128,), words, dynamic_lds=512)
    assert np.array_equal(words, backwards)
    assert counter[0] == 133 and struct.unpack("<h6xd", record.tobytes()) == (7, 7.5)

    for which in range(8):
        before = np.arange(64, dtype=np.int32)
        after, own = before.copy(), np.where(which & 1, 100, before)
        shared = np.full(64, 7 if which & 2 else 0)
        if not which & 2:
            own, after = (own + 7, after) if which & 4 else (own, after + 7)
        memory = before.copy()
        loaded["flat"]((1,), (64,), memory, which)
        assert np.array_equal(memory, own + 3 * shared + 5 * after), which
    loaded.release()


@pytest.mark.parametrize("level", ["-O2", "-O0"])
@pytest.mark.parametrize("target", WITH_GFX8)
def test_kernels_of_a_bundle(target: str, level: str, build: Build) -> None:
    data = build(WITH_GFX8, level, *DEVICE[1:], "-mcode-object-version=6")
    assert data.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
    check_kernels(Device(target), data)
    if level == "-O2":
        check_kernels(Device(target, check="memory,waits"), data)


#: Hidden arguments of version 5 and later: offset, format, value for 10 x 5 x 3 work-items in workgroups of 4 x 2 x 3 with 48 bytes of LDS.
HIDDEN: dict[str, tuple[int, str, int]] = {
    "hidden_block_count_x": (0, "I", 2), "hidden_block_count_y": (4, "I", 2), "hidden_block_count_z": (8, "I", 1),
    "hidden_group_size_x": (12, "H", 4), "hidden_group_size_y": (14, "H", 2), "hidden_group_size_z": (16, "H", 3),
    "hidden_remainder_x": (18, "H", 2), "hidden_remainder_y": (20, "H", 1), "hidden_remainder_z": (22, "H", 0),
    "hidden_global_offset_x": (40, "Q", 0), "hidden_global_offset_y": (48, "Q", 0), "hidden_global_offset_z": (56, "Q", 0),
    "hidden_grid_dims": (64, "H", 3), "hidden_multigrid_sync_arg": (88, "Q", 0),
    "hidden_heap_v1": (96, "Q", 0), "hidden_default_queue": (104, "Q", 0), "hidden_completion_action": (112, "Q", 0),
    "hidden_dynamic_lds_size": (120, "I", 48), "hidden_private_base": (192, "I", APERTURES[1]), "hidden_shared_base": (196, "I", APERTURES[0]),
}  # fmt: skip
#: Those of chips whose apertures are in no register, and what no kernel here asks for: the metadata leaves them out elsewhere.
RARE = {"hidden_private_base", "hidden_shared_base"}


@pytest.mark.parametrize("version", ["5", "6"])
@pytest.mark.parametrize("target", WITH_GFX8)
def test_hidden_arguments(target: str, version: str, build: Build) -> None:
    """All 256 bytes of them, at the offsets that LLVM documents."""
    device = Device(target)
    loaded = device.load(build(WITH_GFX8, *DEVICE, f"-mcode-object-version={version}"))
    assert loaded.code.version == int(version)
    found = device.zeros(256)
    loaded.dispatch("hidden", (10, 5, 3), (4, 2, 3), [found], group_segment_size=48)
    raw = found.numpy().tobytes()
    described = {entry[".value_kind"]: entry[".offset"] - 8 for entry in loaded.kernel("hidden").metadata[".args"][1:]}
    assert described.keys() | RARE | {"hidden_queue_ptr"} == HIDDEN.keys() | {"hidden_hostcall_buffer", "hidden_queue_ptr"}
    (hostcall,) = struct.unpack_from("<Q", raw, 80)
    assert described["hidden_hostcall_buffer"] == 80 and hostcall and device.space.view(hostcall, 1) is not None
    for name, (offset, form, value) in HIDDEN.items():
        assert described.get(name, offset) == offset, name
        assert struct.unpack_from(f"<{form}", raw, offset) == (value if name in described else 0,), name
    if target == "gfx803":
        assert RARE | {"hidden_queue_ptr"} <= described.keys()
        (queue,) = struct.unpack_from("<Q", raw, 200)
        view = device.space.view(queue, 256)
        assert view is not None and struct.unpack_from("<2I", bytes(view), 0x40) == APERTURES
        loaded.release()
        assert device.space.view(queue, 256) is None


@pytest.mark.parametrize("target", TARGETS)
def test_objects_of_the_host(target: str, build: Build) -> None:
    check_kernels(Device(target), build(TARGETS, "-O2", "-c"))


@pytest.fixture(scope="session")
def program(build: Build, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A library of the host with device code of two source files."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "one.o").write_bytes(build(("gfx1100", "gfx942"), "-O2", "-c"))
    (folder / "other.o").write_bytes(build(("gfx1100", "gfx942"), "-O2", "-c", "-DOTHER_FILE"))
    subprocess.run([str(LINKER), "-shared", str(folder / "one.o"), str(folder / "other.o"), "-o", str(folder / "program.so")], check=True)
    return (folder / "program.so").read_bytes()


def test_programs_of_several_files(program: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [str(entry.target_id) for entry in offload_entries(program)] == ["gfx1100", "gfx942"] * 2
    with pytest.raises(InputError, match=r"2 code objects for gfx942, 2 of which fit; their kernels: .*scale<float>.*; other"):
        Device("gfx942").load(program)
    assert list(read_code_object(program, "gfx942", "other").kernels) == ["other"]
    check_kernels(Device("gfx942"), offload_entries(program)[1].data)
    path, data = tmp_path / "program.so", tmp_path / "x.npy"
    path.write_bytes(program)
    np.save(data, np.arange(32, dtype=np.int32))
    command = ["run", str(path), "--kernel", "other", "--grid", "32", "--workgroup", "32", "--arg", str(data), "--save", f"0={data}"]
    assert main(command) == 2
    assert "which target: the offload bundle has gfx1100, gfx942" in capsys.readouterr().err
    assert main([*command, "--target", "MI300X"]) == 0
    assert np.array_equal(np.load(data), np.arange(32) + 1000)


@pytest.mark.skipif(importlib.util.find_spec("zstandard") is None, reason="zstandard is not installed")
@pytest.mark.parametrize("where", ["--offload-device-only", "-c"])
def test_compressed_bundles(where: str, build: Build) -> None:
    plain, packed = build(TARGETS, "-O2", where), build(TARGETS, "-O2", where, "--offload-compress")
    assert len(packed) < len(plain) / 2
    assert [entry.name for entry in offload_entries(packed)] == [entry.name for entry in offload_entries(plain)]
    check_kernels(Device("gfx1030"), packed)


def test_device_code_before_linking_is_named(build: Build) -> None:
    for data in (build(("gfx942",), "-O2", "-fgpu-rdc", "-c"), build(("gfx942", "gfx1100"), "-O2", "-fgpu-rdc", "-c", "--offload-new-driver"),
                 build(("gfx942", "gfx1100"), "-O2", "-fgpu-rdc", "-c", "--offload-device-only", "--gpu-bundle-output")):  # fmt: skip
        with pytest.raises(UnsupportedError, match="not linked yet"):
            Device("gfx942").load(data)


def test_settings_and_generic_targets_choose_the_entry(build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """HSA's rules: settings of code and device may not differ; the processor's own code comes before generic code."""
    data = build(("gfx942:xnack+", "gfx942:xnack-", "gfx9-4-generic:xnack+", "gfx9-4-generic:xnack-", "gfx90a:sramecc+"), *DEVICE)

    def chosen(target: str) -> str:
        return str(Device(target).load(data).code.target_id)

    assert chosen("gfx942") == chosen("gfx942:xnack-") == chosen("gfx942:sramecc+:xnack-") == "gfx942:xnack-"
    assert chosen("gfx942:xnack+") == "gfx942:xnack+"
    assert chosen("gfx950") == "gfx9-4-generic:xnack-" and chosen("gfx950:xnack+") == "gfx9-4-generic:xnack+"
    assert chosen("gfx90a") == chosen("gfx90a:xnack+") == "gfx90a:sramecc+"
    for target in ("gfx90a:sramecc-", "gfx1100"):
        with pytest.raises(InputError, match=rf"no code for {target}: the offload bundle has .*, gfx90a:sramecc[+], gfx942:xnack[+], gfx942:xnack-"):
            Device(target).load(data)
    single = next(entry.data for entry in offload_entries(data) if str(entry.target_id) == "gfx942:xnack+")
    with pytest.raises(InputError, match=r"a code object for gfx942:xnack[+] on a device that is gfx942:xnack-"):
        Device("gfx942:xnack-").load(single)
    for wrong in ("gfx1100:xnack+", "gfx942:xnack", "gfx942:tgsplit+", "gfx942:xnack+:xnack-", "gfx942:", ":xnack+"):
        with pytest.raises(InputError):
            Device(wrong)
    (tmp_path / "bundle").write_bytes(data)
    assert main(["disasm", str(tmp_path / "bundle")]) == 2
    assert "which target" in capsys.readouterr().err
    assert main(["disasm", str(tmp_path / "bundle"), "--target", "gfx942:xnack+"]) == 0
    text = capsys.readouterr().out
    assert text.startswith('\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942:xnack+"') and ".amdhsa_kernel turn" in text


@pytest.mark.parametrize("target", MEMBERS)
def test_generic_code_runs_on_its_members(target: str, build: Build) -> None:
    data = build(GENERIC, *DEVICE)
    code = read_code_object(data, target)
    assert code.target in GENERIC and repr(code).startswith(f"CodeObject({code.target}")
    check_kernels(Device(target), data)


def test_generic_code_has_text(build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for entry in offload_entries(build(GENERIC, *DEVICE)):
        path, saved = tmp_path / "code", tmp_path / "x.npy"
        path.write_bytes(entry.data)
        assert main(["disasm", str(path)]) == 0
        text = capsys.readouterr().out
        code = read_code_object(entry.data)
        assert code.target in GENERIC and generic_members(code.target)[0] in text.splitlines()[0]
        assert all(f".amdhsa_kernel {name}\n" in text for name in code.kernels)
        assert not any(".long" in isa.disassemble(code.code(name), generic_members(code.target)[0]) for name in code.kernels)
        np.save(saved, np.arange(64, dtype=np.int32))
        words = ["--kernel", "turn", "--grid", "64", "--lds", "256", "--arg", str(saved), "--save", f"0={saved}"]
        assert main(["run", str(path), *words]) == 0
        assert np.array_equal(np.load(saved), np.arange(64)[::-1])


def test_names(build: Build) -> None:
    device = Device("gfx1100")
    loaded = device.load(build(TARGETS, *DEVICE))
    assert loaded["scale<float>"] is loaded["_Z5scaleIfEvPT_S0_i"]
    with pytest.raises(InputError, match="2 kernels are called fill; their symbols tell them apart: _Z4fillPi, _Z4fillPf"):
        loaded["fill"]
    words = np.zeros(64, np.int32)
    loaded["_Z4fillPi"]((1,), (64,), words)
    assert (words == 1).all()
    with pytest.raises(InputError, match=r"no kernel 'scale<double>': there are .*work::sums<int, 64u, false>"):
        loaded["scale<double>"]
    with pytest.raises(InputError, match=r"no variable 'nothing': there are .*settings::coefficients, .*counter"):
        loaded.global_("nothing")
    with pytest.raises(InputError, match="variable counter has 4 bytes, which are no float64"):
        loaded.global_("counter", np.float64)


@pytest.mark.skipif(FILTER is None, reason="llvm-cxxfilt is not installed")
def test_names_are_those_of_the_demangler(build: Build) -> None:
    symbols: list[Any] = [symbol for symbol in read_code_object(build(TARGETS, *DEVICE), "gfx942").symbols if symbol.startswith("_Z")]
    symbols += ["_Z1kIPKcRVKiOdEvv", "_ZN12_GLOBAL__N_11kIN1a1bIPKcS2_EEEEvv", "_Z1kIDv4_fDF16_DhDnEvv", "_Z1kIJifdEEvv", "_Z1kILln5ELy7ELc65EEvv",
                "_Z1kISt4pairISaIcES1_ESsEvv", "_ZN1a1b1cIiE1dIS1_NS0_1eEEEvv", "_ZSt3maxIdEvv", "_ZL6hiddenv", "_Z1kB5cxx11v",
                "_Z1kIL1e3EEvv"]  # fmt: skip
    whole = subprocess.run([str(FILTER), *symbols], capture_output=True, text=True, check=True).stdout.splitlines()
    for symbol, text in zip(symbols, whole, strict=True):
        name = demangled(symbol)
        assert name is not None and (text == name or text.removeprefix("void ").startswith(f"{name}(")), (symbol, name, text)
    for symbol in ("_Z1kIXadL_Z1fvEEEvv", "_ZplRK1aS1_", "_ZZ1fvE1k", "_Z", "_Z9", "_Z1kIS_", "_Z1kI" + 5000 * "P", "_ZN1aIiES5_E", "k"):
        assert demangled(symbol) is None, symbol
