"""What LLVM makes of instructions in bulk: thousands of lines or words through one process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

ENCODING = re.compile(r"(?:;|//) encoding: \[([0-9a-fx,]+)\]")
ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)", re.M)


def run(chip: str, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """One llvm-mc process."""
    command = ["llvm-mc-22", "-arch=amdgcn", f"-mcpu={chip}", "-show-encoding", *options]
    quiet = os.environ | {"LLVM_DISABLE_SYMBOLIZATION": "1", "LLVM_DISABLE_CRASH_REPORT": "1"}
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False, env=quiet)


def encodings(output: str) -> Iterator[tuple[str, bytes]]:
    """Text and bytes of the instructions of an output."""
    for line in output.splitlines():
        if match := ENCODING.search(line):
            text = line[: match.start()].strip()
            yield text, bytes(int(byte, 16) for byte in match[1].split(","))


def assemble(chip: str, lines: Sequence[str], *options: str) -> list[bytes | str]:
    """LLVM's bytes of each line, or its complaint."""
    result = run(chip, "\n".join(lines) + "\n", *options)
    found: list[bytes | str] = [b""] * len(lines)
    for number, message in ERROR.findall(result.stderr):
        found[int(number) - 1] = message
    good = iter(encodings(result.stdout))
    for number, entry in enumerate(found):
        if entry == b"":
            found[number] = next(good)[1]
    return found


def disassemble(chip: str, codes: Sequence[bytes], *options: str) -> list[str | None]:
    """LLVM's text of each instruction; None where the bytes are not exactly one."""
    step = 2000
    return [text for start in range(0, len(codes), step) for text in _disassemble(chip, codes[start : start + step], options)]


def _disassemble(chip: str, codes: Sequence[bytes], options: Sequence[str]) -> list[str | None]:
    """One process; LLVM 22 crashes on some words (``v_readfirstlane_b32`` to no register on GFX8), which halving finds."""
    mark = bytes.fromhex("5b7a80bf")  # s_nop 0x7a5b between them, because a line may print any number of instructions
    lines = ("[" + ",".join(f"0x{byte:02x}" for byte in code) + "]" for pair in ((code, mark) for code in codes) for code in pair)
    result = run(chip, "\n".join(lines) + "\n", "-disassemble", *options)
    if result.returncode < 0:
        if len(codes) == 1:
            return [None]
        middle = len(codes) // 2
        return _disassemble(chip, codes[:middle], options) + _disassemble(chip, codes[middle:], options)
    found: list[str | None] = []
    here: list[tuple[str, bytes]] = []
    for entry in encodings(result.stdout):
        if entry[1] == mark:
            code = codes[len(found)]
            found.append(here[0][0] if len(here) == 1 and len(here[0][1]) == len(code) else None)
            here = []
        else:
            here.append(entry)
    return found


def mnemonics() -> list[str]:
    """Every mnemonic of the AMD GPU assembler, from its matcher's table in the library: strings with their length in front."""
    loader = subprocess.run(["ldd", shutil.which("llvm-mc-22") or ""], capture_output=True, text=True, check=True).stdout
    path = re.search(r"(/\S*libLLVM\S*)", loader)
    data = Path(path[1] if path else shutil.which("llvm-mc-22") or "").read_bytes()
    word = re.compile(rb"[a-z0-9_]+")
    first = data.index(b"\x09s_abs_i32")
    while before := [n for n in range(1, 64) if data[first - n - 1] == n and word.fullmatch(data, first - n, first)]:
        first -= before[0] + 1
    found = []
    while word.fullmatch(data, first + 1, first + 1 + data[first]):
        found.append(data[first + 1 : first + 1 + data[first]].decode())
        first += 1 + data[first]
    return found
