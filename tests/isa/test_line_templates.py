"""Lines that the disassembler prints by a template are those of the slow path, which decodes, prints and encodes each instruction."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
import word_forms

from pyaco import isa
from pyaco._core.isa.disassemble import disassemble_words
from pyaco.isa import opcodes
from pyaco.isa.processors import processor
from pyaco.isa.text_tables import text_tables

TARGETS = (
    "gfx600", "gfx700", "gfx803", "gfx810", "gfx900", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200",
    "gfx1250", "gfx1310",
)  # fmt: skip
#: One in so many opcodes, and how often some words of each form of one come again with other values or bits.
STEP, CHANGES = (1, 200) if os.environ.get("PYACO_EXHAUSTIVE") else (16, 24)
#: First bit and width of what is changed; most are fields of operands.
FIELDS = ((0, 8), (0, 9), (8, 8), (9, 8), (9, 9), (16, 7), (17, 8), (18, 9), (24, 8), *((bit, 1) for bit in range(0, 32, 4)))


def changed(words: list[int], generator: random.Random) -> list[int]:
    """The words with some neighbouring bits of one of them chosen at random."""
    result = list(words)
    position, (first, width) = generator.randrange(len(words)), generator.choice(FIELDS)
    mask = (1 << width) - 1 << first & 0xFFFFFFFF
    result[position] = words[position] & ~mask | generator.getrandbits(32) & mask
    return result


def program(target: str) -> bytes:
    """Every field of some opcodes with every value that matters, each form often enough that it gets templates, then with other bits."""
    generator = random.Random(target)
    rows = opcodes.rows()[generator.randrange(STEP) :: STEP]
    groups: dict[tuple[str, str], list[list[int]]] = {}
    for form, row, words in word_forms.all_words(processor(target)[1], combinations=12, rows=rows):
        groups.setdefault((form, row.name), []).append(words)
    made: list[int] = []
    for group in groups.values():
        plain, rest = group[0], generator.sample(group, min(3, len(group)))
        generator.shuffle(group)
        for words in (*group, *(changed(base, generator) for base in (plain, plain, *rest) for _ in range(CHANGES))):
            made += words
    return np.array(made, np.uint32).tobytes()


@pytest.mark.parametrize("target", TARGETS)
def test_plans_print_the_same_lines(target: str) -> None:
    code, tables = program(target), text_tables(target)
    for wave_size in (32, 64) if tables.level >= 100 else (64,):
        expected = disassemble_words(code, wave_size, tables, learn_after=0)
        assert expected.from_templates == 0
        assert disassemble_words(code, wave_size, tables).entries() == expected.entries()
        for learn_after in (1, 7):
            listing = disassemble_words(code, wave_size, tables, learn_after=learn_after)
            lines = expected.text().count("\n")
            assert listing.from_templates > lines // 8, f"{listing.from_templates} of {lines} lines"
            assert listing.entries() == expected.entries()


@pytest.mark.parametrize(
    ("target", "scales", "operation"),
    [
        ("gfx1250", "v_wmma_ld_scale_paired_b32 v4, 1", "v_wmma_scale_f32_16x16x128_f8f6f4 v[20:27], v[4:19], v[4:19], v[4:11], v4, 1"),
        ("gfx950", "v_mfma_ld_scale_b32 v4, v5", "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[4:11], v[0:3], v4, v5"),
    ],
)  # fmt: skip
def test_scales_alone_and_in_front_of_an_operation(target: str, scales: str, operation: str) -> None:
    """The same two words begin both: no template may take them without what follows."""
    code, tables = isa.assemble(f"{scales}\ns_nop 0\n" * 1000 + f"{operation}\n" * 3, target), text_tables(target)
    wave_size = 32 if target == "gfx1250" else 64
    expected = disassemble_words(code, wave_size, tables, learn_after=0)
    assert expected.text().count(operation) == 3
    assert disassemble_words(code, wave_size, tables, learn_after=1).entries() == expected.entries()


@pytest.mark.parametrize("target", ["gfx803", "gfx1100"])
def test_random_words_have_the_same_text(target: str) -> None:
    code = np.random.default_rng(3).integers(0, 2**32, 200_000, dtype=np.uint32).tobytes()
    tables = text_tables(target)
    expected = disassemble_words(code, 64, tables, learn_after=0)
    assert disassemble_words(code, 64, tables, learn_after=1).text() == expected.text() == isa.disassemble(code, target, wave_size=64)


def test_code_that_repeats_its_lines_is_printed_by_templates() -> None:
    """Whatever stands before it: lines that are all different use up the credit that templates start with, and earn little."""
    different = "".join(f"v_add_f32 v{n % 256}, {operand}, v{n // 5 % 256}\nv_fma_f32 v1, {operand}, v{n % 256}, v2 mul:{2 + n % 2 * 2}\n"
                        for n in range(5000) for operand in (f"s{n % 100}", f"v{n % 256}"))  # fmt: skip
    same = "v_add_f32 v1, v2, v3\nv_fma_f32 v1, s4, v2, v3\ns_mov_b64 s[2:3], s[4:5]\nglobal_load_dword v0, v[2:3], off\n" * 5000
    tables = text_tables("gfx900")
    code = isa.assemble(same, "gfx900")
    assert disassemble_words(code, 64, tables).from_templates > 19_000
    code = isa.assemble(different + same, "gfx900")
    listing = disassemble_words(code, 64, tables)
    assert listing.from_templates > 19_000
    assert listing.text() == disassemble_words(code, 64, tables, learn_after=0).text()


def test_a_template_leaves_what_it_has_not_seen_to_the_slow_path() -> None:
    """Sources that no assembler takes, literals, scalar reads beyond the limit and bits without a meaning among many plain lines."""
    plain = "v_add_f32 v1, v2, v3\nv_fma_f32 v1, s4, v2, v3\ns_mov_b64 s[2:3], s[4:5]\n"
    odd = "v_add_f32 v1, 0x12345678, v3\nv_add_f32 v1, src_shared_base, v3\nv_fma_f32 v1, s4, s4, v3\ns_mov_b64 exec, vcc\ns_mov_b64 s[2:3], lit(1)\n"
    words = [0x02020600 | 0x100, 0xD1CB0001, 0x040C0804, 0xD1CB8001, 0x1C0C0804, 0xBE820103, 0xD1CB0081, 0x040C0804]
    code = isa.assemble(plain * 40 + odd, "gfx900") + np.array(words, np.uint32).tobytes() + isa.assemble((odd + plain) * 40, "gfx900")
    tables = text_tables("gfx900")
    listing = disassemble_words(code, 64, tables, learn_after=1)
    assert listing.text() == disassemble_words(code, 64, tables, learn_after=0).text()
    assert listing.from_templates > 100
    text = listing.text().split("\n")
    assert text[120:125] == [
        "\tv_add_f32_e32 v1, 0x12345678, v3", "\tv_add_f32_e32 v1, src_shared_base, v3", "\tv_fma_f32 v1, s4, s4, v3",
        "\ts_mov_b64 exec, vcc", "\ts_mov_b64 s[2:3], lit(0x1)",
    ]  # fmt: skip
    assert isa.assemble(listing.text(), "gfx900") == code


#: First and last word of encodings of the ALU without modifiers, and the fields of their operands: word, first bit, width.
ALU = {
    "vop2": (0x00000000, 0x7A000000, 1 << 25, ((0, 0, 9), (0, 9, 8), (0, 17, 8))),
    "vopc": (0x7C000000, 0x7DFE0000, 1 << 17, ((0, 0, 9), (0, 9, 8))),
    "vop1": (0x7E000000, 0x7E01FE00, 1 << 9, ((0, 0, 9), (0, 17, 8))),
    "sop2": (0x80000000, 0xBE000000, 1 << 23, ((0, 0, 8), (0, 8, 8), (0, 16, 7))),
    "sopc": (0xBF000000, 0xBF7F0000, 1 << 16, ((0, 0, 8), (0, 8, 8))),
    "sop1": (0xBE800000, 0xBE80FF00, 1 << 8, ((0, 0, 8), (0, 16, 7))),
    "vop3": (0xD0000000, 0xD7FF0000, 1 << 16, ((0, 0, 8), (1, 0, 9), (1, 9, 9), (1, 18, 9))),
}


def alu_program(generator: random.Random, lines: int) -> bytes:
    """Every opcode number with few registers first, then with any operand, two in every tenth line, and sometimes with another bit."""
    made: list[int] = []
    for encoding, (first, last, step, fields) in ALU.items():
        for base in range(first, last + 1, step):
            for line in range(lines):
                words = [base, 0] if encoding == "vop3" else [base]
                for word, bit, width in fields:
                    words[word] |= (generator.randrange(8) | (256 if width == 9 and line < 4 else 0)) << bit
                for word, bit, width in generator.sample(fields, 1 + (line % 10 == 0)) if line >= 4 else ():
                    words[word] = words[word] & ~((1 << width) - 1 << bit) | generator.getrandbits(width) << bit
                if line % 16 == 15:
                    words[-1] ^= 1 << generator.randrange(32)
                made += words
    return np.array(made, np.uint32).tobytes()


@pytest.mark.parametrize("target", TARGETS)
def test_plain_forms_take_every_operand(target: str) -> None:
    lines = 300 if os.environ.get("PYACO_EXHAUSTIVE") else 24
    code, tables = alu_program(random.Random(target), lines), text_tables(target)
    for wave_size in (32, 64) if tables.level >= 100 else (64,):
        expected = disassemble_words(code, wave_size, tables, learn_after=0)
        listing = disassemble_words(code, wave_size, tables)
        assert listing.entries() == expected.entries()
        assert listing.from_templates > (0 if tables.level < 80 else expected.text().count("\n") // 12)


#: Codes of a first source that mean another dword: SDWA, DPP16, DPP8 without and with inactive lanes.
LANE_CONTROL = {"sdwa": 249, "dpp16": 250, "dpp8": 233, "dpp8 fi": 234}


def lane_control_program(generator: random.Random, lines: int) -> bytes:
    """Every opcode number of the short encodings with few lane controls, any registers, and sometimes other bits of the control."""
    controls = {
        "sdwa": [0x06060600, 0x0505160E & ~0x808, 0x06050000, 0x00068600, 0x06861000, 0x06068A00],
        "dpp16": [0xFF00E400, 0xFF083100, 0x11010100, 0xFF0C4000, 0xFF015000, 0x00130000, 0xFF014300],
        "dpp8": [0xFAC68800, 0x00000000, 0x77392100], "dpp8 fi": [0xFAC68800, 0x05397700],
    }  # fmt: skip
    made: list[int] = []
    for encoding in ("vop1", "vop2", "vopc"):
        first, last, step, _ = ALU[encoding]
        for base in range(first, last + 1, step):
            for line in range(lines):
                kind = generator.choice(list(LANE_CONTROL))
                control = generator.choice(controls[kind])
                if line % 4 == 3:
                    control ^= 1 << generator.randrange(8, 32)
                registers = generator.getrandbits(8) << 9 if encoding != "vop1" else 0
                registers |= generator.getrandbits(8) << 17 if encoding != "vopc" else 0
                made += [base | registers | LANE_CONTROL[kind], control | generator.getrandbits(8)]
    return np.array(made, np.uint32).tobytes()


@pytest.mark.parametrize("target", [target for target in TARGETS if target >= "gfx8" or target.startswith("gfx1")])
def test_forms_with_lane_control_take_that_of_other_opcodes(target: str) -> None:
    lines = 200 if os.environ.get("PYACO_EXHAUSTIVE") else 40
    code, tables = lane_control_program(random.Random(target), lines), text_tables(target)
    for wave_size in (32, 64) if tables.level >= 100 else (64,):
        expected = disassemble_words(code, wave_size, tables, learn_after=0)
        listing = disassemble_words(code, wave_size, tables)
        assert listing.entries() == expected.entries()
        controlled = sum(text.split()[0].endswith(("_dpp", "_sdwa")) for text, _, _ in expected.entries())
        if target not in ("gfx90a", "gfx942", "gfx950"):  # some operations of these take some lane controls alone
            assert listing.from_templates > controlled // 3, f"{listing.from_templates} of {controlled} lines"
