"""Code objects from text: LLVM's bytes of every section, read and linked by LLVM."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import pyaco
from pyaco.binary import assemble_code_object, elf, link_code_object, read_code_object
from pyaco.binary.metadata_text import read_metadata
from pyaco.cli import main

KNOWN_TO_LLVM_22 = (
    "gfx700", "gfx803", "gfx900", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1250",
)  # fmt: skip
TARGETS = (*KNOWN_TO_LLVM_22, "gfx1170", "gfx1310")
SOURCE = """
  .amdgcn_target "amdgcn-amd-amdhsa--{target}"
  .text
  .globl first
  .p2align 8
  .type first,@function
first:
  s_cbranch_scc0 .Lskip
  v_mov_b32 v17, s9
.Lskip:
  s_endpgm
.Lend0:
  .size first, .Lend0-first
  .p2align 8
  .globl second
  .protected second
  .type second,@function
second:
  v_mov_b32 v3, v5
  s_endpgm
.Lend1:
  .size second, .Lend1-second
helper:
  s_nop 0
  .rodata
  .p2align 6
  .amdhsa_kernel first
    .amdhsa_group_segment_fixed_size 4 * 64
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
    .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
    {more}
  .end_amdhsa_kernel
  .p2align 6
  .amdhsa_kernel second
    .amdhsa_next_free_vgpr 24
    .amdhsa_next_free_sgpr 6
    {more}
  .end_amdhsa_kernel
  .long 7, 8
  .amdgpu_metadata
---
amdhsa.version:
  - 1
  - 2
amdhsa.kernels:
  - .name:            first
    .symbol:          first.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 256
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 12
    .vgpr_count: 18
    .max_flat_workgroup_size: 256
    .language: 'OpenCL C'
    .language_version: [ 2, 0 ]
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
        .is_const: true
      - {{ }}
...
  .end_amdgpu_metadata
"""
LLVM_MC = shutil.which("llvm-mc-22")


def source(target: str) -> str:
    return SOURCE.replace("      - {{ }}\n", "").format(
        target=target, more=".amdhsa_accum_offset 4" if target in ("gfx90a", "gfx942", "gfx950") else "")  # fmt: skip


def comparable(data: bytes) -> tuple[object, ...]:
    """What two files have to have in common."""
    file = elf.read_elf(data)
    named = {i: section.name for i, section in enumerate(file.sections)}
    symbols = {(s.name, s.value, s.size, s.kind, s.binding, s.visibility, named.get(s.section)) for s in file.symbols if s.name}
    relocations = {(named[r.section], r.offset, r.kind, r.symbol.name, r.addend) for r in file.relocations}
    contents = {s.name: s.data for s in file.sections if s.name in (".text", ".rodata")}
    flags = {s.name: (s.kind, s.flags, s.alignment) for s in file.sections if s.name in (".text", ".rodata", ".rela.rodata")}
    return file.flags, file.os_abi, file.abi_version, symbols, relocations, contents, flags, list(file.notes("AMDGPU"))


@pytest.mark.oracle
@pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc-22 is not installed")
@pytest.mark.parametrize("target", KNOWN_TO_LLVM_22)
def test_llvm_makes_the_same(target: str) -> None:
    text = source(target).replace('.amdgcn_target "amdgcn-amd-amdhsa--' + target + '"', "")
    command = [str(LLVM_MC), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj"]
    theirs = subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout
    assert comparable(assemble_code_object(text, target, version=6)) == comparable(theirs)


@pytest.mark.oracle
@pytest.mark.skipif(not all(map(shutil.which, ("ld.lld-22", "llvm-readelf-22", "llvm-objdump-22"))), reason="LLVM 22 is not installed")
@pytest.mark.parametrize("target", ["gfx803", "gfx90a", "gfx1100", "gfx1200"])
def test_llvm_reads_and_links(target: str, tmp_path: Path) -> None:
    relocatable, ours, theirs = tmp_path / "k.o", tmp_path / "k.hsaco", tmp_path / "lld.hsaco"
    relocatable.write_bytes(assemble_code_object(source(target), target))
    ours.write_bytes(link_code_object(relocatable.read_bytes()))
    subprocess.run(["ld.lld-22", "-shared", relocatable, "-o", theirs], check=True)
    header = subprocess.run(["llvm-readelf-22", "-aW", ours], capture_output=True, text=True, check=True)
    assert not header.stderr and target in header.stdout and "first.kd" in header.stdout
    listed = [subprocess.run(["llvm-objdump-22", "-D", "-j", ".rodata", "-j", ".text", path], capture_output=True, text=True, check=True).stdout
              for path in (ours, theirs)]  # fmt: skip
    # without addresses, and bytes that hold them
    plain = [[line.split("//")[0].split(">:")[0].split("<")[-1].rstrip() for line in text.splitlines()[3:] if ".byte" not in line]
             for text in listed]  # fmt: skip
    assert plain[0] == plain[1] and "second.kd" in plain[0]
    mine, other = read_code_object(ours.read_bytes()), read_code_object(theirs.read_bytes())
    for name, kernel in other.kernels.items():
        assert mine.code(name) == other.code(name) and mine.kernels[name].metadata == kernel.metadata
        assert mine.kernels[name].address % 256 == 0 and mine.kernels[name].descriptor_address % 64 == 0
        assert {**vars(mine.kernels[name].descriptor), "entry_offset": 0} == {**vars(kernel.descriptor), "entry_offset": 0}


@pytest.mark.parametrize("target", TARGETS)
def test_the_commands(target: str, tmp_path: Path) -> None:
    text, first, listing, second = (tmp_path / name for name in ("k.s", "k.hsaco", "again.s", "again.o"))
    text.write_text(source(target))
    assert main(["asm", str(text), "--target", target, "-o", str(first)]) == 0
    assert main(["disasm", str(first), "-o", str(listing)]) == 0
    assert main(["asm", str(listing), "--target", target, "-o", str(second)]) == 0
    one, other = read_code_object(first.read_bytes()), read_code_object(second.read_bytes())
    assert list(one.kernels) == ["first", "second"] == list(other.kernels)
    assert one.version == 5 and one.metadata["amdhsa.kernels"][0][".args"][0][".is_const"] is True
    for name, kernel in one.kernels.items():
        assert {**vars(kernel.descriptor), "entry_offset": 0} == {**vars(other.kernels[name].descriptor), "entry_offset": 0}
        assert other.code(name).startswith(one.code(name))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("first\n    .amdhsa_group", "other\n    .amdhsa_group"), "undefined symbols: other"),
        ((".amdhsa_group_segment_fixed_size 4 * 64", ".amdhsa_group_segment_fixed_size -1"), "kernel first: .amdhsa_group_segment_fixed_size: -1"),
        (("--gfx1100", "--gfx1200"), "amdgcn-amd-amdhsa--gfx1100 is expected"),
        ((".end_amdgpu_metadata", ""), "the metadata has no end"),
        (("amdhsa.version:", "amdhsa.version"), "metadata line"),
        (("[ 2, 0 ]", "{ a: b }"), "more YAML than metadata has"),
        (("    .amdhsa_next_free_vgpr 24\n", ""), "kernel second: .amdhsa_next_free_vgpr is required"),
        (("    .amdhsa_next_free_vgpr 24\n", "    .amdhsa_next_free_vgpr 24\n    .amdhsa_next_free_vgpr 24\n"), "is given twice"),
    ],
)
def test_errors(change: tuple[str, str], reason: str) -> None:
    text = source("gfx1100")
    assert change[0] in text
    with pytest.raises(pyaco.InputError, match=reason.replace("[", r"\[")):
        link_code_object(assemble_code_object(text.replace(*change), "gfx1100"))


def test_metadata_text() -> None:
    text = "---\na:   1\n'b': [ x, 'y, z', 0x10, [1, 2] ]\nc:\n- 1.5\n-\n  - true\n  - ~\nd: \"q\\\"\"\ne:\n  f: g h # comment\n  i:\n..."
    assert read_metadata(text) == {"a": 1, "b": ["x", "y, z", 16, [1, 2]], "c": [1.5, [True, None]], "d": 'q"', "e": {"f": "g h", "i": None}}
    for wrong in ("", "- 1", "a: 1\na: 2", "a: 'x", "a: [1, 2", "a: |\n  text", "  a: 1\nb: 2", "a: 1\n   b: 2"):
        with pytest.raises(pyaco.InputError, match="metadata"):
            read_metadata(wrong)
