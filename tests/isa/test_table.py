"""The opcode table: names, numbers and signatures hang together."""

from __future__ import annotations

import pytest

from pyaco.isa import opcodes
from pyaco.isa.table import CDNA


def test_numbers_are_unique_within_an_encoding() -> None:
    for generation in opcodes.GENERATIONS:
        seen: dict[tuple[str, int], str] = {}
        for row in opcodes.rows():
            if generation in row.numbers and "encode_only" not in row.flags:
                key = (row.format, row.numbers[generation])
                assert seen.setdefault(key, row.name) == row.name, (generation, key)


def test_signatures_use_known_tokens() -> None:
    for row in opcodes.rows():
        for token in row.definitions + row.operands:
            known = token in opcodes.IMPLICIT or token in ("mask", "imm", "lit", "v2b")
            assert known or (token[0] in "sva" and token[1:].isdigit()), (row.name, token)


@pytest.mark.parametrize(
    ("name", "generation", "number"),
    [
        ("s_add_u32", "9", 0),
        ("s_and_b32", "9", 0x0C),
        ("s_and_b32", "10.3", 0x0E),
        ("s_and_b32", "11", 0x16),
        ("v_add_f32", "9", 1),
        ("v_add_f32", "12", 3),
        ("v_fma_f32", "12", 0x213),
        ("global_load_dwordx4", "10.3", 0x0E),
        ("s_wait_loadcnt", "12", 0x40),
        ("v_add_f32", "cdna4", 1),
        ("v_fmac_f64", "cdna2", 4),
        ("v_mfma_f32_32x32x1f32", "cdna1", 0x40),
        ("global_atomic_add_f32", "cdna3", 0x4D),
    ],
)
def test_known_numbers(name: str, generation: str, number: int) -> None:
    assert opcodes.row(name).numbers[generation] == number


def test_cdna_descends_from_gfx9() -> None:
    for row in opcodes.rows():
        if "9" in row.numbers and all(generation in row.numbers for generation in CDNA):
            assert {row.numbers[generation] for generation in CDNA} == {row.numbers["9"]}, row.name
    assert "cdna1" in opcodes.row("v_mad_f32").numbers and "cdna3" not in opcodes.row("v_mad_f32").numbers


def test_matrix_operations_say_what_they_multiply() -> None:
    for row in opcodes.rows():
        if row.matrix is None:
            assert "matrix" not in row.flags
            continue
        rows, columns, _ = row.matrix.shape
        lane_dwords = 2 if row.matrix.types[2] == "f64" else 1
        # C and D are spread over the 64 lanes
        assert rows * columns * row.matrix.blocks * lane_dwords == int(row.definitions[0][1:]) * 64, row.name
        assert set(row.matrix.passes) == set(row.numbers)
        for position, kind in enumerate(row.matrix.types[:2]):
            bits = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "f8f6f4": 8}[kind]
            side = rows if position == 0 else columns
            depth = row.matrix.shape[2] // (2 if "smfmac" in row.name and position == 0 else 1)
            # A and B likewise, four elements of a depth in turn
            assert side * depth * row.matrix.blocks * bits == int(row.operands[position][1:]) * 64 * 32, row.name


def test_spelling_by_generation() -> None:
    assert opcodes.row("v_mfma_f32_4x4x1f32").spelling("cdna2") == "v_mfma_f32_4x4x1f32"
    assert opcodes.row("v_mfma_f32_4x4x1f32").spelling("cdna3") == "v_mfma_f32_4x4x1_16b_f32"
    assert opcodes.row("v_fma_mix_f32").spelling("cdna1") == "v_fma_mix_f32"
    assert opcodes.row("s_andn2_b64").spelling("10") == "s_andn2_b64"
    assert opcodes.row("s_andn2_b64").spelling("11.5") == "s_and_not1_b64"
    assert opcodes.row("v_min_f32").spelling("12") == "v_min_num_f32"
    assert opcodes.numbers()["p_parallelcopy"] == 0
