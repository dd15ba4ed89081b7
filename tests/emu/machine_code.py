"""Machine code for the tests of the emulator, assembled by LLVM."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from typing import Protocol

import pytest


class Assemble(Protocol):
    """The fixture `assemble`: machine code of a text with labels."""

    def __call__(self, text: str, target: str, wave: int = 32) -> bytes: ...


MC = next((path for path in map(shutil.which, ("llvm-mc-22", "llvm-mc")) if path), None)


@cache
def assemble_text(text: str, target: str, wave: int = 32) -> bytes:
    """Return the machine code of `text`; skips the test when LLVM's assembler is missing."""
    if MC is None:
        pytest.skip("llvm-mc is not installed")
    command = [MC, "--arch=amdgcn", f"--mcpu={target}", "--show-encoding"]
    if not target.startswith("gfx9"):
        command.append("--mattr=+wavefrontsize64,-wavefrontsize32" if wave == 64 else "--mattr=+wavefrontsize32")
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    if result.returncode:
        raise AssertionError(f"{target}: {result.stderr}\n{text}")
    words = re.findall(r"encoding: \[([0-9a-fx,]+)\]", result.stdout)
    return bytes(int(byte, 16) for word in words for byte in word.split(","))


@cache
def assemble_object(text: str, target: str, wave: int = 32) -> bytes:
    """Assemble text with labels: the bytes of .text of an object file."""
    if MC is None:
        pytest.skip("llvm-mc is not installed")
    import struct

    command = [MC, "--arch=amdgcn", f"--mcpu={target}", "--filetype=obj", "-o", "-"]
    if not target.startswith("gfx9"):
        command.append("--mattr=+wavefrontsize64,-wavefrontsize32" if wave == 64 else "--mattr=+wavefrontsize32")
    result = subprocess.run(command, input=text.encode(), capture_output=True)
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
        for line in [f"L{number}:", *text.split("\n")]:
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
