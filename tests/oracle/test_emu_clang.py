"""A kernel that clang compiles for every generation gives on the emulator what the same C gives on the host."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pyaco.emu import Device

pytestmark = pytest.mark.oracle
SOURCE = Path(__file__).with_name("clang_kernel.c")
CLANG = next((path for path in map(shutil.which, ("clang-22", "clang")) if path), None)
LINKER = next((path for path in map(shutil.which, ("ld.lld-22", "ld.lld")) if path), None)
ITEMS, WORDS = 256, 96
# user SGPRs by bit of the kernel's code properties
PROPERTY_SGPRS = (4, 2, 2, 2, 2, 2, 1)


def loaded(elf: bytes) -> tuple[bytes, int, bytes]:
    """The image of a linked code object behind 256 bytes of room for a branch, the kernel's offset, and its descriptor."""
    programs, sections = struct.unpack_from("<QQ", elf, 0x20)
    program_size, program_count, section_size, section_count, names_index = struct.unpack_from("<HHHHH", elf, 0x36)
    image = bytearray()
    for index in range(program_count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", elf, programs + index * program_size)
        if kind == 1:
            image = image.ljust(address, b"\0")
            image[address : address + length] = elf[offset : offset + length]
    headers = [struct.unpack_from("<IIQQQQ", elf, sections + index * section_size) for index in range(section_count)]
    names = elf[headers[names_index][4] :]
    where = next(header[3] for header in headers if names[header[0] :].startswith(b".rodata\0"))
    descriptor = bytes(image[where : where + 64])
    entry = where + struct.unpack_from("<q", descriptor, 16)[0]
    return bytes(256) + bytes(image), 256 + entry, descriptor


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
def expected(inputs, tmp_path_factory) -> np.ndarray:
    if CLANG is None or LINKER is None:
        pytest.skip("clang and lld are not installed")
    library = tmp_path_factory.mktemp("host") / "item.so"
    flags = ["-shared", "-fPIC", "-O1", "-ffp-contract=off", "-w"]
    subprocess.run([CLANG, *flags, str(SOURCE), "-lm", "-o", str(library)], check=True)
    results = np.zeros((ITEMS, WORDS), np.uint32)
    ctypes.CDLL(str(library)).run(
        ITEMS, inputs.ctypes.data_as(ctypes.c_void_p), results.ctypes.data_as(ctypes.c_void_p)
    )
    return results


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("target", "wave"), [("gfx900", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64)]
)
def test_kernel(target, wave, level, inputs, expected, tmp_path):
    if level == "-O0" and target in ("gfx900", "gfx1030"):
        pytest.skip("unoptimised code reaches one stack through buffers and through flat addresses; they are apart here")
    path = tmp_path / "kernel.o"
    command = [CLANG, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", level, "-w",
               "-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt", "-c", str(SOURCE), "-o", str(path)]  # fmt: skip
    if target != "gfx900":
        command.insert(1, "-mwavefrontsize64" if wave == 64 else "-mno-wavefrontsize64")
    subprocess.run(command, check=True)
    subprocess.run([LINKER, "-shared", str(path), "-o", str(tmp_path / "kernel.so")], check=True)
    code, entry, descriptor = loaded((tmp_path / "kernel.so").read_bytes())
    # s_branch, whose opcode number changed with GFX11
    branch = (0xBFA00000 if target >= "gfx11" and target != "gfx900" else 0xBF820000) | (entry // 4 - 1)
    code = np.uint32(branch).tobytes() + code[4:]
    lds, scratch = struct.unpack_from("<II", descriptor, 0)
    rsrc1, rsrc2 = struct.unpack_from("<II", descriptor, 48)
    (properties,) = struct.unpack_from("<H", descriptor, 56)
    device = Device(target)
    source, results = device.buffer(inputs), device.buffer(np.zeros((ITEMS, WORDS), np.uint32))
    arguments = device.buffer(np.array([source.address, results.address] + [0] * 62, np.uint64))
    scratch = max(scratch, 16384 if level == "-O0" else 0)
    # scratch through a buffer: swizzled by lane in dwords, 64 lanes apart
    stack = device.zeros(64 * scratch)
    word3 = 0xFAC | ((3 if wave == 64 else 2) << 21 | 1 << 23 | (1 << 19 if target == "gfx900" else 3 << 28 | 20 << 12))
    private = [stack.address & 0xFFFFFFFF, stack.address >> 32 | 1 << 31, stack.size, word3]
    user: list[int] = []
    for bit, count in enumerate(PROPERTY_SGPRS):
        if properties >> bit & 1:
            pointer = [arguments.address & 0xFFFFFFFF, arguments.address >> 32]
            user += pointer if bit == 3 else private if bit == 0 else [0] * count
    user += [0] * ((rsrc2 >> 1 & 31) - len(user))
    device.run(
        code, (ITEMS // 64, 1, 1), (64, 1, 1), user_sgprs=user, wave_size=wave,
        workgroup_ids=[bool(rsrc2 >> bit & 1) for bit in (7, 8, 9)], scratch_offset=bool(rsrc2 & 1) and device.gfx_level < 110,
        local_id_components=(rsrc2 >> 11 & 3) + 1, float_mode=rsrc1 >> 12 & 0xFF, lds_bytes=lds,
        scratch_bytes_per_lane=scratch, budget=1 << 24,
    )  # fmt: skip
    wrong = np.argwhere(results.numpy() != expected)
    shown = [(int(i), int(w), hex(results.numpy()[i, w]), hex(expected[i, w]), [hex(v) for v in inputs[i]]) for i, w in wrong[:6]]
    assert not len(wrong), f"{len(wrong)} words differ: {sorted(set(wrong[:, 1].tolist()))} {shown}"
