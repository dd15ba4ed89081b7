"""Counters in the immediates of ``s_waitcnt`` and ``s_waitcnt_depctr``, from ``data/waits.txt``; kernels read the same table."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data" / "waits.txt"


class Row(NamedTuple):
    """A row of the table: bits are pairs of first bit and width, those of the count's lowest bits first."""

    instruction: str
    counter: str
    first_level: int
    last_level: int | None
    bits: tuple[tuple[int, int], ...]


class Counter(NamedTuple):
    """Where an immediate holds a counter: pairs of first bit and width, those of the count's lowest bits first."""

    bits: tuple[tuple[int, int], ...]

    @property
    def limit(self) -> int:
        """The largest count, which waits for nothing."""
        return int((1 << sum(width for _, width in self.bits)) - 1)

    def get(self, immediate: int) -> int:
        """Return the count that an immediate holds."""
        count = below = 0
        for first, width in self.bits:
            count |= (immediate >> first & (1 << width) - 1) << below
            below += width
        return count

    def put(self, immediate: int, count: int) -> int:
        """Return the immediate with another count."""
        for first, width in self.bits:
            mask = (1 << width) - 1
            immediate = immediate & ~(mask << first) | (count & mask) << first
            count >>= width
        return immediate


def read_rows(path: Path) -> list[Row]:
    """Read the table."""
    rows = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            instruction, counter, levels, bits = (column.strip() for column in line.split("|"))
            first, dash, last = levels.partition("-")
            rows.append(Row(instruction, counter, int(first), int(last) if last else None if dash else int(first), _bits(bits)))
    return rows


def _bits(text: str) -> tuple[tuple[int, int], ...]:
    ranges = [(int(first), int(last or first)) for first, _, last in (word.partition("-") for word in text.split())]
    return tuple((first, last - first + 1) for first, last in ranges)


@cache
def counters(instruction: str, level: int) -> dict[str, Counter]:
    """Return the counters of ``waitcnt`` or ``depctr`` at a level, in the order of the table."""
    return {
        row.counter: Counter(row.bits)
        for row in read_rows(DATA)
        if row.instruction == instruction and row.first_level <= level and (row.last_level is None or level <= row.last_level)
    }
