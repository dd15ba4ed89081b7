"""clang's assembly of whole programs (``clang -S``): our object file has the sections, symbols and relocations of LLVM's."""

from __future__ import annotations

import collections
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from pyaco import isa
from pyaco.binary import assemble_code_object, elf

HERE = Path(__file__).parent
TARGETS = ("gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200")
#: What clang's line numbers, unwinding and lists for linkers become, which our assembler reads past.
NOT_MADE = {".debug_line", ".debug_line_str", ".debug_frame", ".llvm_addrsig"}

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not (shutil.which("clang-22") and shutil.which("llvm-mc-22")), reason="clang-22 or llvm-mc-22 is not installed"),
]


class Contents(NamedTuple):
    """What an object file says, but for its order."""

    sections: dict[str, bytes]
    symbols: set[tuple[str | int, ...]]
    relocations: collections.Counter[tuple[str | int | None, ...]]


def contents(data: bytes) -> Contents:
    file = elf.read_elf(data)
    names = {index: section.name for index, section in enumerate(file.sections)}
    tables = (elf.SHT_RELA, elf.SHT_SYMTAB, elf.SHT_STRTAB)
    sections = {s.name: s.data for s in file.sections if s.name and s.size and s.kind not in tables and s.name not in NOT_MADE}
    symbols: set[tuple[str | int, ...]] = {
        (s.name, s.value, s.size, s.kind, s.binding, s.visibility, names.get(s.section, s.section)) for s in file.symbols if s.name
    }
    relocations: collections.Counter[tuple[str | int | None, ...]] = collections.Counter(
        (names[r.section], r.offset, r.kind, r.symbol.name or names[r.symbol.section], r.addend) for r in file.relocations
        if names[r.section] not in NOT_MADE
    )  # fmt: skip
    return Contents(sections, symbols, relocations)


def check(source: str, target: str, options: list[str], folder: Path) -> Contents:
    text, unit = folder / "program.s", folder / "program.o"
    level = int(target[3:-2])
    wave = 64 if level < 10 or "-mwavefrontsize64" in options else 32
    common = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-cl-std=CL2.0", "-w", "-x", "cl"]
    subprocess.run(["clang-22", *common, *options, "-S", "-o", str(text), str(HERE / source)], check=True)
    waves = [f"-mattr=+wavefrontsize{wave}"] if level >= 10 else []
    command = ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", *waves, "-filetype=obj", "-o", str(unit), str(text)]
    subprocess.run(command, check=True)
    theirs = contents(unit.read_bytes())
    ours = contents(assemble_code_object(text.read_text(), target, wave_size=wave))
    assert ours.sections.keys() == theirs.sections.keys()
    for name, data in theirs.sections.items():
        assert ours.sections[name] == data, name
    assert ours.symbols == theirs.symbols
    assert ours.relocations == theirs.relocations
    # without a linker the code is the same where it asks for none
    if not theirs.relocations.keys() - {key for key in theirs.relocations if key[0] != ".text"}:
        assert isa.assemble(text.read_text(), target, wave_size=wave) == theirs.sections[".text"]
    return theirs


@pytest.mark.parametrize("target", TARGETS)
def test_programs(target: str, tmp_path: Path) -> None:
    found = check("clang_programs.cl", target, ["-O2"], tmp_path)
    assert len(found.sections[".text"]) > 5000
    assert len(found.relocations) > 20


@pytest.mark.parametrize("options", [["-O2", "-g"], ["-O0"]], ids=" ".join)
def test_programs_as_debuggers_want_them(options: list[str], tmp_path: Path) -> None:
    check("clang_programs.cl", "gfx1100", options, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["kernels.cl", "clang_kernels.cl", "clang_kernel.c"])
def test_kernels(source: str, target: str, tmp_path: Path) -> None:
    check(source, target, ["-O2"], tmp_path)
