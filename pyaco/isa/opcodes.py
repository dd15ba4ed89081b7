"""Opcodes by name, for text: the kernels' numbers and what the table says about each.

The table is read on first use.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pyaco._core.common.vocabulary import Format
from pyaco.isa.table import GENERATIONS, HAZARDS, IMPLICIT, LEVELS, Row, chip_kinds, read_hazards, read_table

__all__ = ["FORMATS", "GENERATIONS", "HAZARDS", "IMPLICIT", "INVALID", "Row", "chip_kind", "generation_of", "hazard_bits", "hazards",
           "is_encode_only", "names", "numbers", "row", "rows", "spellings"]  # fmt: skip

#: Where the table is.
DATA = Path(__file__).parent / "data"
#: The opcode that stands for "not an instruction".
INVALID = 0xFFFF
#: The bits of each format of an encoding, by name.
FORMATS = Format.numbers()
_GENERATION = {level: generation for generation, level in LEVELS.items()}


@cache
def rows() -> tuple[Row, ...]:
    """Every opcode in the order of the kernels' numbers."""
    return tuple(read_table(DATA))


@cache
def names() -> tuple[str, ...]:
    """Name by number."""
    return tuple(entry.name for entry in rows())


@cache
def numbers() -> dict[str, int]:
    """Number by name (``op_<name>`` of the kernels)."""
    return {name: number for number, name in enumerate(names())}


def row(name: str) -> Row:
    """The table's row of opcode `name`.

    Raises
    ------
    KeyError
        No such opcode.
    """
    return rows()[numbers()[name]]


@cache
def _decoded(generation: str) -> frozenset[tuple[str, int]]:
    return frozenset((row.format, row.numbers[generation]) for row in rows() if generation in row.numbers and "encode_only" not in row.flags)


def is_encode_only(row: Row, generation: str) -> bool:
    """Whether another opcode has the same number in `generation` and is the one decoded."""
    return "encode_only" in row.flags and (row.format, row.numbers.get(generation)) in _decoded(generation)


@cache
def _hazards() -> tuple[dict[str, tuple[str, ...]], ...]:
    return tuple(read_hazards(DATA, list(rows())))


def hazards(name: str, generation: str) -> tuple[str, ...]:
    """Classes of hazards (``HAZARDS`` says what each means) of opcode `name` in a generation: those that the hardware does not resolve itself.

    Raises
    ------
    KeyError
        No such opcode.
    """
    return _hazards()[numbers()[name]].get(generation, ())


@cache
def hazard_bits(generation: str) -> tuple[int, ...]:
    """Hazards in a generation, by number: a bit set, bit n being the n-th class of ``HAZARDS`` (``isa_hazards`` of the kernels).

    A column for records: ``numpy.array(hazard_bits("9"))[records["opcode"]]``.
    """
    bits = {name: 1 << number for number, name in enumerate(HAZARDS)}
    return tuple(sum(bits[name] for name in classes.get(generation, ())) for classes in _hazards())


@cache
def spellings(generation: str, chip: str = "") -> list[str]:
    """LLVM's names in a generation (on a chip, a gfx name), by number."""
    return [entry.spelling(generation, chip) for entry in rows()]


@cache
def chip_kind(generation: str, chip: str) -> int:
    """Bit of a chip in the kernels' ``opcode_chips``; all bits where its generation's chips have the same opcodes."""
    kinds = chip_kinds(list(rows()))
    for name in (chip, ""):
        if (generation, name) in kinds:
            return 1 << kinds.index((generation, name))
    return 0xFF


def generation_of(level: int) -> str:
    """The table's generation of a gfx level (103 is "10.3", 94 "cdna3")."""
    return _GENERATION[level]
