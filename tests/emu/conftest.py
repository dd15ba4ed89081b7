"""Machine code for the tests, assembled by LLVM."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import pytest

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


@pytest.fixture
def assemble():
    """``assemble(text, target, wave=32) -> bytes``; labels allowed."""
    return assemble_object
