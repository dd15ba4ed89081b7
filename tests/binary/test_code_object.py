"""Code objects of clang and lld, read and loaded."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

import pyaco
from pyaco.binary import KernelDescriptor, assemble_code_object, read_code_object
from pyaco.binary.listing import code_object_text
from pyaco.errors import UnsupportedError

CLANG = next((path for path in map(shutil.which, ("clang-22", "clang")) if path), None)
LINKER = next((path for path in map(shutil.which, ("ld.lld-22", "ld.lld")) if path), None)
SOURCE = """
__constant int table[4] = {3, 1, 4, 1};
__attribute__((noinline)) int twice(int x) { return 2 * x + table[x & 3]; }
kernel void first(global int *out, int n) { out[get_global_id(0)] = twice(n); }
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void second(global int *out) {
  local int shared[64];
  shared[get_local_id(0)] = out[get_local_id(0)];
  barrier(1);
  out[get_local_id(0)] = shared[63 - get_local_id(0)];
}
"""
pytestmark = [pytest.mark.oracle, pytest.mark.skipif(CLANG is None or LINKER is None, reason="clang and lld are not installed")]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, bytes]]:
    assert CLANG is not None and LINKER is not None
    folder = tmp_path_factory.mktemp("code_objects")
    (folder / "k.cl").write_text(SOURCE)
    made = {}
    for target in ("gfx803", "gfx906", "gfx90a", "gfx1030", "gfx1100", "gfx1200"):
        command = [CLANG, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-O1",
                   "-Dget_global_id(x)=__builtin_amdgcn_workgroup_id_x()", "-Dget_local_id(x)=__builtin_amdgcn_workitem_id_x()",
                   "-Dbarrier(x)=__builtin_amdgcn_s_barrier()", "-c", str(folder / "k.cl"), "-o", str(folder / "k.o")]  # fmt: skip
        subprocess.run(command, check=True)
        subprocess.run([LINKER, "-shared", str(folder / "k.o"), "-o", str(folder / "k.so")], check=True)
        made[target] = ((folder / "k.o").read_bytes(), (folder / "k.so").read_bytes())
    return made


def test_kernels_and_metadata(objects: dict[str, tuple[bytes, bytes]]) -> None:
    for target, files in objects.items():
        for data in files:
            code_object = read_code_object(data)
            assert code_object.target == target and code_object.abi == "hsa" and code_object.version >= 5
            assert list(code_object.kernels) == ["first", "second"]
            assert code_object.xnack == ("any" if target in ("gfx906", "gfx90a") else "unsupported")
            second = code_object.kernels["second"]
            assert second.descriptor.group_segment_fixed_size == 256
            assert second.metadata[".reqd_workgroup_size"] == [64, 1, 1]
            assert second.descriptor.wave_size == (64 if target in ("gfx803", "gfx906", "gfx90a") else 32)
            assert ("kernarg_segment_ptr", 2) in second.descriptor.user_sgprs()
            for kernel in code_object.kernels.values():
                assert kernel.address % 256 == 0 and kernel.size > 0
                assert code_object.symbols[kernel.name] == kernel.address
                text = pyaco.isa.disassemble(code_object.code(kernel.name), target)
                assert "s_endpgm" in text and ".long" not in text


def test_a_relocatable_object_loads_as_the_linker_links_it(objects: dict[str, tuple[bytes, bytes]]) -> None:
    """A kernel that calls a function which reads a table: code of both files addresses the same things."""
    for relocatable, linked in objects.values():
        one, other = read_code_object(relocatable), read_code_object(linked)
        for name in ("first", "second"):
            for code_object in (one, other):
                address = code_object.kernels[name].descriptor_address
                found = KernelDescriptor.from_bytes(code_object.load(0x7F00000000)[address : address + 64])
                assert address + found.entry_offset == code_object.symbols[name]
        # distances within .text are the linker's
        assert one.code("second") == other.code("second")
        start = one.text()[0][0]
        assert one.symbols["twice"] - start == other.symbols["twice"] - other.text()[0][0]


def test_broken_files_are_refused(objects: dict[str, tuple[bytes, bytes]]) -> None:
    generator = random.Random(5)
    outcomes = {"read": 0, "refused": 0}
    for data in objects["gfx1100"]:
        for _ in range(400):
            broken = bytearray(data)
            for _ in range(generator.choice((1, 4, 30))):
                where = generator.randrange(len(data) if generator.random() < 0.4 else 64)
                where = where if generator.random() < 0.6 else max(0, len(data) - 1 - generator.randrange(1200))
                broken[where] = generator.choice((0, 0xFF, generator.randrange(256)))
            try:
                found = read_code_object(bytes(broken[: generator.randrange(len(data))] if generator.random() < 0.2 else broken))
                found.load(0x1000)
                outcomes["read"] += 1
            except pyaco.PyacoError as error:
                assert not isinstance(error, RecursionError)
                outcomes["refused"] += 1
    assert outcomes["read"] > 50 and outcomes["refused"] > 50


def test_what_is_no_code_object() -> None:
    with pytest.raises(pyaco.InputError, match="no ELF file"):
        read_code_object(b"\xbf\x81\0\0" * 20)
    with pytest.raises(pyaco.InputError, match="an offload bundle without code for AMD GPUs"):
        read_code_object(b"__CLANG_OFFLOAD_BUNDLE__" + bytes(64))
    with pytest.raises(pyaco.InputError, match="machine 62 without code for AMD GPUs"):
        read_code_object(b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\x3e\0" + bytes(60))


HIP = """
target triple = "amdgcn-amd-amdhsa"
@__hip_cuid_1234 = addrspace(1) global i8 0
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.parametrize("target", ["gfx906", "gfx1100", "gfx1201"])
def test_objects_with_a_byte_of_data_and_absolute_symbols_have_text(target: str, tmp_path: Path) -> None:
    """hipcc gives every object such a byte; the counts of registers that clang names are no addresses of code."""
    (tmp_path / "k.ll").write_text(HIP)
    command = [str(CLANG), "-x", "ir", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-O2", "-c"]
    subprocess.run([*command, str(tmp_path / "k.ll"), "-o", str(tmp_path / "k.o")], check=True)
    subprocess.run([str(LINKER), "-shared", str(tmp_path / "k.o"), "-o", str(tmp_path / "k.so")], check=True)
    for name in ("k.o", "k.so"):
        code_object = read_code_object((tmp_path / name).read_bytes())
        assert code_object.code_symbols() == {"k": code_object.kernels["k"].address} != code_object.symbols
        text = code_object_text(code_object, target)
        assert read_code_object(assemble_code_object(text, target)).code("k").startswith(code_object.code("k")[: code_object.kernels["k"].size])


def test_version_2_is_named(objects: dict[str, tuple[bytes, bytes]]) -> None:
    data = bytearray(objects["gfx803"][0])
    data[8] = 0  # the ABI version in the file's identification
    with pytest.raises(UnsupportedError, match="code objects of version 2"):
        read_code_object(bytes(data))
