"""The opcode table: names, numbers and signatures hang together."""

from __future__ import annotations

import pytest

from pyaco.isa import opcodes


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
            assert known or (token[0] in "sv" and token[1:].isdigit()), (row.name, token)


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
    ],
)
def test_known_numbers(name: str, generation: str, number: int) -> None:
    assert opcodes.row(name).numbers[generation] == number


def test_spelling_by_generation() -> None:
    assert opcodes.row("s_andn2_b64").spelling("10") == "s_andn2_b64"
    assert opcodes.row("s_andn2_b64").spelling("11.5") == "s_and_not1_b64"
    assert opcodes.row("v_min_f32").spelling("12") == "v_min_num_f32"
    assert opcodes.numbers()["p_parallelcopy"] == 0
