"""The opcode table against AMD's own description of RDNA 3.5, RDNA 4 and CDNA 4: a second truth beside LLVM."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from pyaco.isa import opcodes

TABLE = Path(__file__).with_name("amd_isa.txt")
#: The columns of the table: a generation and a chip of it.
GENERATIONS = {"11.5": "gfx1150", "12": "gfx1200", "cdna4": "gfx950"}
#: What the table lacks: it has other names, or LLVM none on gfx950.
LACKING: dict[str, set[str]] = {
    "11.5": set(),
    "12": set(),
    "cdna4": {"v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16", "v_mfma_f32_16x16x8_xf32",
              "v_mfma_f32_32x32x4_xf32", "v_accvgpr_read", "v_accvgpr_write"},
}  # fmt: skip
#: What the table has beyond AMD's: names of LLVM's or ACO's for what AMD has under another name or number, and what only its manual has.
BEYOND = {
    "11.5": {"v_illegal", "v_mul_lo_i32"},
    "12": {"v_illegal", "v_mul_lo_i32"},
    "cdna4": {"v_mul_lo_i32", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "ds_gws_init",
              "ds_gws_sema_br", "ds_gws_barrier"},
}  # fmt: skip
#: GFX12 has one bit for typed buffer accesses, which AMD counts into the number.
TYPED_BUFFER = 0x80


class Fact(NamedTuple):
    encoding: str
    name: str
    numbers: tuple[int | None, ...]
    result: str
    sources: str


def facts() -> Iterator[Fact]:
    encoding = ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            encoding = line.strip("[]")
        elif not line.startswith("#"):
            name, *rest = line.split()
            numbers = tuple(None if word == "-" else int(word, 16) for word in rest[:3])
            yield Fact(encoding, name, numbers, *(rest[3:] or ["", ""]))


@cache
def ours(generation: str, chip: str) -> dict[str, list[opcodes.Row]]:
    """Rows of a generation by every name that assemblers take."""
    found: dict[str, list[opcodes.Row]] = {}
    for row in opcodes.rows():
        if row.in_generation(generation):
            for name in {row.name, row.spelling(generation, chip), row.spelling(generation), *row.aliases.get(generation, ())}:
                found.setdefault(name, []).append(row)
    return found


def dwords(token: str) -> int | None:
    """Dwords of a token of a signature; None where it depends on the wave or is no register."""
    digits = token.lstrip("vsa")
    if digits.endswith("b") and digits[:-1].isdigit():
        return -(-int(digits[:-1]) // 4)
    return int(digits) if digits.isdigit() else None


@pytest.mark.parametrize(("generation", "chip"), GENERATIONS.items())
def test_names_and_numbers_are_amds(generation: str, chip: str) -> None:
    column, lacking = list(GENERATIONS).index(generation), set()
    for fact in facts():
        number = fact.numbers[column]
        if number is None:
            continue
        rows = ours(generation, chip).get(fact.name)
        if rows is None:
            lacking.add(fact.name)
            continue
        numbers = {row.numbers.get(generation) for row in rows} | {row.second[generation][1] for row in rows if generation in row.second}
        if generation == "12" and fact.name.startswith("tbuffer_"):
            number -= TYPED_BUFFER
        assert number in numbers, (fact, numbers)
    assert lacking == LACKING[generation]


@pytest.mark.parametrize(("generation", "chip"), GENERATIONS.items())
def test_nothing_is_invented(generation: str, chip: str) -> None:
    column = list(GENERATIONS).index(generation)
    known = {fact.name for fact in facts() if fact.numbers[column] is not None}
    beyond = set()
    for row in opcodes.rows():
        names = {row.name, row.spelling(generation, chip), row.spelling(generation), *row.aliases.get(generation, ())}
        if generation in row.numbers and chip in row.chips.get(generation, (chip,)) and not row.format.startswith("vopd") and not names & known:
            beyond.add(row.spelling(generation, chip))
    assert beyond == BEYOND[generation]


@pytest.mark.parametrize(("generation", "chip"), GENERATIONS.items())
def test_operands_are_as_wide_as_amds(generation: str, chip: str) -> None:
    """Results and sources of arithmetic, in dwords."""
    column, compared = list(GENERATIONS).index(generation), 0
    for fact in facts():
        if fact.numbers[column] is None or not fact.sources or fact.name in LACKING[generation]:
            continue
        row = ours(generation, chip)[fact.name][0]
        sources = [int(width) for width in fact.sources.split(",") if width != "-"]
        pairs = list(zip([dwords(token) for token in row.operands], sources, strict=False))
        if fact.result.isdigit() and row.definitions:
            pairs.append((dwords(row.definitions[0]), int(fact.result)))
        for have, wide in pairs:
            assert have is None or have == wide, (fact, row.definitions, row.operands)
            compared += have is not None
    assert compared > 500
