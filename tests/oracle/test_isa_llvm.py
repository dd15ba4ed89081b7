"""Every opcode in many forms against LLVM 22: encodings, and text that LLVM reads."""

from __future__ import annotations

import collections
import re
import shutil
import struct
import subprocess

import forms
import numpy as np
import pytest

from pyaco import isa
from pyaco._core.isa.records import encode_fields
from pyaco.errors import InputError

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed"),
]
TARGETS = {90: "gfx900", 103: "gfx1030", 110: "gfx1100", 120: "gfx1200", 125: "gfx1250", 126: "gfx1251"}
# Opcodes of GFX9.06, of which the table has one column with GFX9.
LATER_GFX9 = frozenset(
    (
        "v_fmac_f32", "v_xnor_b32", "v_dot2_f32_f16", "v_dot2_i32_i16", "v_dot2_u32_u16", "v_dot4_i32_i8",
        "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4",
    )
)  # fmt: skip
# What LLVM 23 has on gfx1251 and LLVM 22 does not know, and cache policies of prefetches on GFX12.5.
LATER_LINES = {126: r"v_pk_\w+_[fu]64 |v_wmma_f64_16x16x4_f64 |s_\w*prefetch_.* (th|scope):", 125: r"s_\w*prefetch_.* (th|scope):"}


def is_later(level: int, text: str) -> bool:
    """Whether LLVM 22 does not know a line."""
    return level in LATER_LINES and re.match(LATER_LINES[level], text) is not None


def assemble(target: str, lines: list[str]) -> tuple[dict[int, bytes], dict[int, str]]:
    """LLVM's bytes of each line and its complaints."""
    source = "\n".join(f"L{number}:\n{line}" for number, line in enumerate(lines)) + "\n"
    # names of halves are LLVM's default on GFX11 alone
    halves = ["-mattr=+real-true16"] if re.search(r"\bv\d+\.[lh]\b", source) else []
    command = ["llvm-mc-22", "-arch=amdgcn", f"-mcpu={target}", *halves, "-show-encoding"]
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    pattern = re.compile(r"^<stdin>:(\d+):\d+: error:(.*)", re.M)
    errors = {(int(line) - 2) // 2: message for line, message in pattern.findall(result.stderr)}
    encoded: dict[int, bytes] = {}
    current = -1
    for line in result.stdout.splitlines():
        if match := re.match(r"L(\d+):", line):
            current = int(match[1])
        elif (match := re.search(r"encoding: \[([0-9a-fx,]+)\]", line)) and current not in errors:
            encoded[current] = bytes(int(byte, 16) for byte in match[1].split(","))
    return encoded, errors


def printed_forms(level: int, seed: int) -> list[tuple[str, str, str, bytes]]:
    """Label, opcode, text and code of every form that has text; branches, which need labels, are left out."""
    cases = []
    for label, row, form in forms.all_forms(level, seed):
        words = encode_fields(form, level)
        if isinstance(words, list):
            cases.append((label, row.name, struct.pack(f"<{len(words)}I", *words)))
    cases_by_offset, position = {}, 0
    for label, name, code in cases:
        cases_by_offset[position] = (label, name, code)
        position += len(code)
    printed = []
    for line in isa.disassemble_lines(b"".join(code for _, _, code in cases), TARGETS[level]):
        if line.size and not re.search(r" L\d+$", line.text) and "cbranch" not in line.text and "call" not in line.text:
            label, name, code = cases_by_offset[line.offset]
            printed.append((label, name, line.text, code))
    return printed


@pytest.mark.parametrize("level", TARGETS)
def test_text_of_every_form_assembles_to_the_same_bytes(level: int) -> None:
    target = TARGETS[level]
    cases = [case for case in printed_forms(level, 1) if not case[2].startswith(".long")]
    without_text = [case for case in printed_forms(level, 1) if case[2].startswith(".long")]
    encoded, errors = assemble(target, [text for _, _, text, _ in cases])
    refused: collections.Counter[str] = collections.Counter()
    agreed: collections.Counter[str] = collections.Counter()
    complaints = []
    wrong = []
    for number, (label, name, text, code) in enumerate(cases):
        if number in errors:
            refused[label] += 1
            if label == "plain" and not (level == 90 and name in LATER_GFX9) and not is_later(level, text):
                complaints.append((text, errors[number]))
        elif encoded[number] != code:
            wrong.append((text, encoded[number].hex(), code.hex()))
        else:
            agreed[label] += 1
    print(f"{target}: agreed {dict(agreed)}, refused {dict(refused)}, without text {len(without_text)}")
    assert not wrong, "\n".join(map(str, wrong[:40]))
    assert not complaints, "\n".join(map(str, complaints[:60]))
    silent = [case[1] for case in without_text if case[0] == "plain" and case[1] not in LATER_GFX9]
    assert not silent, silent
    assert agreed["plain"] > 3000


@pytest.mark.parametrize("level", TARGETS)
def test_our_assembler_reads_what_the_disassembler_writes(level: int) -> None:
    target = TARGETS[level]
    cases = [case for case in printed_forms(level, 3) if not case[2].startswith(".long")]
    wrong: list[tuple[str, ...]] = []
    for _, _, text, code in cases:
        try:
            ours = isa.assemble(text, target)
        except InputError as error:
            wrong.append((text, str(error)))
            continue
        if ours != code:
            wrong.append((text, ours.hex(), code.hex()))
    print(f"{target}: {len(cases)} lines")
    assert not wrong, "\n".join(map(str, wrong[:40]))


@pytest.mark.parametrize("level", TARGETS)
def test_random_words_print_and_assemble(level: int) -> None:
    target = TARGETS[level]
    generator = np.random.default_rng(level)
    words = generator.integers(0, 2**32, 6000, dtype=np.uint32)
    lines = isa.disassemble_lines(words.tobytes(), target, exact=True)
    kept = [line for line in lines if line.size and " L" not in line.text]
    texts = [line.text for line in kept]
    encoded, errors = assemble(target, texts)
    refused = [(texts[number], message) for number, message in errors.items() if not is_later(level, texts[number])]
    assert not refused, "\n".join(map(str, refused[:60]))
    raw = words.tobytes()
    wrong = [
        (line.text, encoded[number].hex(), raw[line.offset : line.offset + line.size].hex())
        for number, line in enumerate(kept)
        if number in encoded and encoded[number] != raw[line.offset : line.offset + line.size]
    ]
    assert not wrong, "\n".join(map(str, wrong[:40]))
    assert sum(not text.startswith(".long") for text in texts) > 100
    code = "\n".join(line.text for line in lines)
    assert isa.assemble(code, target) == words.tobytes()
