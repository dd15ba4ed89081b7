"""Every opcode in many forms against LLVM 22: encodings, and text that LLVM reads."""

from __future__ import annotations

import collections
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "isa"))
import forms

from pyaco import isa
from pyaco._core.isa.encode import encode_fields
from pyaco.errors import InputError

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed"),
]
TARGETS = {90: "gfx900", 103: "gfx1030", 110: "gfx1100", 120: "gfx1200"}
# Opcodes of GFX9.06, of which the table has one column with GFX9.
LATER_GFX9 = frozenset(
    ["v_fmac_f32", "v_xnor_b32", "v_dot2_f32_f16", "v_dot2_i32_i16", "v_dot2_u32_u16", "v_dot4_i32_i8", "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"]
)


def assemble(target: str, lines: list[str]) -> tuple[dict[int, bytes], dict[int, str]]:
    """LLVM's bytes of each line and its complaints."""
    source = "\n".join(f"L{number}:\n{line}" for number, line in enumerate(lines)) + "\n"
    command = ["llvm-mc-22", "-arch=amdgcn", f"-mcpu={target}", "-show-encoding"]
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


@pytest.mark.parametrize("level", TARGETS)
def test_text_of_every_form_assembles_to_the_same_bytes(level: int) -> None:
    target = TARGETS[level]
    cases = []
    unprinted = collections.Counter()
    for label, row, form in forms.all_forms(level):
        words = encode_fields(form, level)
        if isinstance(words, int):
            continue
        code = struct.pack(f"<{len(words)}I", *words)
        text = isa.disassemble(code, target)
        # branches of a lone instruction go nowhere: their labels lie outside
        lines = [line.strip() for line in text.splitlines() if not line.endswith(":")]
        if lines[0].startswith(".long"):
            unprinted[label] += 1
            assert label != "plain", (row.name, form)
            continue
        if re.search(r"\bL\d+$", lines[0]):
            continue
        cases.append((label, row.name, lines[0], code))
    encoded, errors = assemble(target, [text for _, _, text, _ in cases])
    refused = collections.Counter()
    agreed = collections.Counter()
    complaints = []
    for number, (label, name, text, code) in enumerate(cases):
        if number in errors:
            refused[label] += 1
            if label == "plain" and not (level == 90 and name in LATER_GFX9):
                complaints.append((text, errors[number]))
            continue
        assert encoded[number] == code, (text, encoded[number].hex(), code.hex())
        agreed[label] += 1
    print(f"{target}: agreed {dict(agreed)}, refused {dict(refused)}, without text {dict(unprinted)}")
    assert not complaints, complaints[:20]
    assert agreed["plain"] > 3000


@pytest.mark.parametrize("level", TARGETS)
def test_our_assembler_reads_what_the_disassembler_writes(level: int) -> None:
    target = TARGETS[level]
    texts, codes = [], []
    for _, _, form in forms.all_forms(level, seed=3):
        words = encode_fields(form, level)
        if isinstance(words, int):
            continue
        code = struct.pack(f"<{len(words)}I", *words)
        text = isa.disassemble(code, target).strip()
        if not text.startswith(".long") and ":\n" not in text and not re.search(r"\bL\d+$", text):
            texts.append(text)
            codes.append(code)
    for text, code in zip(texts, codes, strict=True):
        try:
            ours = isa.assemble(text, target)
        except InputError as error:
            raise AssertionError((text, str(error))) from None
        assert ours == code, (text, ours.hex(), code.hex())
    print(f"{target}: {len(texts)} lines")


def test_random_words_print_and_assemble(level: int = 110) -> None:
    generator = np.random.default_rng(5)
    words = generator.integers(0, 2**32, 3000, dtype=np.uint32)
    text = isa.disassemble(words.tobytes(), TARGETS[level])
    lines = [line.strip() for line in text.splitlines()]
    encoded, errors = assemble(TARGETS[level], [line for line in lines if not line.endswith(":") and " L" not in line])
    assert not errors, list(errors.items())[:10]
    assert encoded
