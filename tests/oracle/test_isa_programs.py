"""Whole compiled programs: their listing assembles to the same code, by LLVM 22 and by the own assembler."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pyaco
from pyaco import isa

SHADERS = Path(__file__).parent.parent / "shaders"
TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed"),
]


def without_mixed_literals(text: str, target: str, wave: int) -> str:
    """The text with v_fma_mix of a literal of 32 bits as words: the hardware and LLVM's disassembler have it, LLVM's assembler refuses it."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if re.match(r"\s*v_fma_mix\w*_f(16|32) .*\b0x[0-9a-f]{5,8}\b", line):
            words = np.frombuffer(isa.assemble(line, target, wave_size=wave), "<u4")
            lines[number] = ".long " + ", ".join(map(str, words))
    return "\n".join(lines)


def llvm_code(text: str, target: str, wave: int, folder: Path) -> bytes:
    """The bytes of the text section that LLVM makes."""
    unit = folder / "code.o"
    # names of halves are LLVM's default on GFX11 alone
    halves = ",+real-true16" if re.search(r"\bv\d+\.[lh]\b", text) else ""
    command = ["llvm-mc-22", "-arch=amdgcn", f"-mcpu={target}", f"-mattr=+wavefrontsize{wave}{halves}", "-filetype=obj"]
    subprocess.run([*command, "-o", str(unit)], input=text, text=True, check=True)
    plain = folder / "code.bin"
    subprocess.run(["llvm-objcopy-22", "-O", "binary", "-j", ".text", str(unit), str(plain)], check=True)
    return plain.read_bytes()


def check(shader: str, target: str, wave: int, folder: Path) -> None:
    try:
        code = pyaco.compile(SHADERS / f"{shader}.spv", target=target, wave=wave).code
    except pyaco.UnsupportedError as error:
        pytest.skip(str(error))
    text = isa.disassemble(code, target, wave_size=wave)
    assert isa.assemble(text, target, wave_size=wave) == code
    assert llvm_code(without_mixed_literals(text, target, wave), target, wave, folder) == code
    silent = [line for line in text.splitlines() if ".long" in line and ";" not in line]
    assert not silent


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shader", ["saxpy", "reduction", "matmul_f32"])
def test_listing_is_the_code(shader: str, target: str, tmp_path: Path) -> None:
    check(shader, target, 64, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shader", sorted(path.stem for path in SHADERS.glob("*.spv")))
def test_listing_of_every_shader_is_the_code(shader: str, target: str, tmp_path: Path) -> None:
    for wave in (64,) if target == "gfx900" else (32, 64):
        check(shader, target, wave, tmp_path)
