"""Machine code for the tests of the emulator, assembled by LLVM where it knows the processor."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from typing import Protocol

import pytest

from pyaco import isa


class Assemble(Protocol):
    """The fixture `assemble`: machine code of a text with labels."""

    def __call__(self, text: str, target: str, wave: int = 32) -> bytes: ...


MC = next((path for path in map(shutil.which, ("llvm-mc-22", "llvm-mc")) if path), None)

#: Processors that LLVM 22 does not know: their code is assembled here, as tests/oracle compares it with LLVM 23's.
NEWER = ("gfx117", "gfx131")

#: Processors that reach memory by addresses of 64 bits in buffer instructions, which `early` makes of those that GFX9 has.
EARLY = ("gfx600", "gfx700")
_RENAMED = {"v_add_co_u32": "v_add_i32", "v_sub_co_u32": "v_sub_i32", "v_addc_co_u32": "v_addc_u32"}


def early(text: str, target: str) -> str:
    """Return what tests write around their instructions, in GFX9's terms, in those of GFX6 and GFX7; v[62:63] and s[59:63] are overwritten.

    Global loads and stores become buffer instructions, scalar offsets count dwords, additions have a carry, and M0 does not bound LDS.
    """
    if target not in EARLY:
        return text
    lines = [re.fullmatch(r"((?:[A-Z]: *)?)(.*)", line) for line in text.split("\n")]
    return "\n".join(line[1] + _early_line(line[2]) for line in lines if line)


def _early_line(line: str) -> str:
    if match := re.fullmatch(r"(global_(load|store)_\w+) (\S+), (\S+), s\[(\d+:\d+)\](.*)", line):
        name, kind, first, second, base, rest = match.groups()
        data, place = (first, second) if kind == "load" else (second, first)
        return (f"s_mov_b64 s[60:61], s[{base}]\ns_mov_b32 s62, 0\ns_mov_b32 s63, 0xf000\nv_mov_b32 v62, {place}\nv_mov_b32 v63, 0\n"
                f"{name.replace('global', 'buffer')} {data}, v[62:63], s[60:63], 0 addr64{rest}")
    if re.match(r"ds_(read|write)2?(st64)?_[biu]\d+ ", line) and "gds" not in line:
        return f"s_mov_b32 s59, m0\ns_mov_b32 m0, -1\n{line}\ns_mov_b32 m0, s59"
    if match := re.fullmatch(r"(s_(?:buffer_)?load_\w+ .*, )(0x[0-9a-f]+|\d+)", line):
        return f"{match[1]}{int(match[2], 0) // 4:#x}"
    if match := re.fullmatch(r"v_add_u32 (v\d+), (.*)", line):
        return f"v_add_i32 {match[1]}, vcc, {match[2]}"
    return re.sub(r"^v_(?:add|sub|addc)_co_u32\b", lambda found: _RENAMED[found[0]], line)


@cache
def assemble_text(text: str, target: str, wave: int = 32) -> bytes:
    """Return the machine code of `text`; skips the test when LLVM's assembler is missing."""
    if target.startswith(NEWER):
        return isa.assemble(text, target, wave_size=wave)
    if MC is None:
        pytest.skip("llvm-mc is not installed")
    command = [MC, "--arch=amdgcn", f"--mcpu={target}", "--show-encoding"]
    if not target.startswith("gfx9"):
        command.append("--mattr=+wavefrontsize64,-wavefrontsize32" if wave == 64 else "--mattr=+wavefrontsize32")
    result = subprocess.run(command, input=early(text, target), capture_output=True, text=True)
    if result.returncode:
        raise AssertionError(f"{target}: {result.stderr}\n{text}")
    words = re.findall(r"encoding: \[([0-9a-fx,]+)\]", result.stdout)
    return bytes(int(byte, 16) for word in words for byte in word.split(","))


@cache
def assemble_object(text: str, target: str, wave: int = 32) -> bytes:
    """Assemble text with labels: the bytes of .text of an object file."""
    if target.startswith(NEWER):
        return isa.assemble(text, target, wave_size=wave)
    if MC is None:
        pytest.skip("llvm-mc is not installed")
    import struct

    command = [MC, "--arch=amdgcn", f"--mcpu={target}", "--filetype=obj", "-o", "-"]
    if not target.startswith("gfx9"):
        command.append("--mattr=+wavefrontsize64,-wavefrontsize32" if wave == 64 else "--mattr=+wavefrontsize32")
    result = subprocess.run(command, input=early(text, target).encode(), capture_output=True)
    if result.returncode:
        raise AssertionError(f"{target}: {result.stderr.decode()}\n{text}")
    elf = result.stdout
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", elf, table + index * size) for index in range(count)]
    names = elf[sections[names_index][4] :]
    for name, _, _, _, offset, length in sections:
        if names[name:].startswith(b".text\0"):
            return elf[offset : offset + length]
    raise AssertionError("no .text")


def assemble_each(texts: list[str], target: str, wave: int = 32, features: str = "") -> tuple[list[bytes], dict[int, str]]:
    """Assemble texts (of one or more lines) in one run, with more of LLVM's features: the code of each, and the complaints by number."""
    if MC is None:
        pytest.skip("llvm-mc is not installed")
    command = [MC, "--arch=amdgcn", f"--mcpu={target}", "--show-encoding"]
    if not target.startswith("gfx9"):
        command.append(f"--mattr={'+wavefrontsize64,-wavefrontsize32' if wave == 64 else '+wavefrontsize32'}{features}")
    owners: list[int] = []
    lines: list[str] = []
    for number, text in enumerate(texts):
        for line in [f"L{number}:", *early(text, target).split("\n")]:
            lines.append(line)
            owners.append(number)
    result = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True)
    errors = {owners[int(line) - 1]: text for line, text in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)", result.stderr, re.M)}
    codes = [b""] * len(texts)
    current = -1
    for line in result.stdout.splitlines():
        if match := re.match(r"L(\d+):", line):
            current = int(match[1])
        elif match := re.search(r"encoding: \[([0-9a-fx,]+)\]", line):
            codes[current] += bytes(int(byte, 16) for byte in match[1].split(","))
    return codes, errors
