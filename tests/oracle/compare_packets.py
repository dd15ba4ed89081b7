"""Compare the bits of packets' fields with PAL's packet headers: ``python tests/oracle/compare_packets.py PAL/src/core/hw/gfxip``.

Names differ (ours are those of Mesa's decoder), so places are compared, in the same dword of any form of the packet that any engine has: a
field of ours is PAL's, or a part of one (PAL leaves cache operations to the register that they are named after), or holds whole fields of
PAL's; all others are named with what PAL has there. Dwords that are registers are left to ``compare_registers.py``.

Known others: forms that an older generation has and that are read by length on later ones too (SET_PREDICATION, DRAW_INDEX_MULTI_AUTO),
COND_EXEC without the dword that PAL's has before its count, INV_L2 of EVENT_WRITE and VALID of a constant engine's buffer.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyaco.pm4.layouts import Address, Bits, Choice, Number, PacketDword, Word, layouts
from pyaco.pm4.opcodes import OPCODES
from pyaco.registers import registers

Spans = dict[tuple[str, int], dict[tuple[int, int], str]]


def theirs(folder: Path) -> Spans:
    """By packet and dword behind the header: first bit and width of every field, with its name."""
    found: Spans = defaultdict(dict)
    for path in sorted(folder.glob("*_pm4_packets.h")):
        packet, bit = "", 0
        spans: dict[tuple[int, int], str] = {}
        for line in path.read_text().splitlines():
            opened = re.match(r"typedef struct PM4_(?:MEC|ME|PFP|CE)_(\w+)", line)
            closed = re.match(r"\s*} ordinal(\d+);", line)
            field = re.match(r"\s*\w+\s+(\w+)\s*(?::\s*(\d+))?;", line)
            if opened:
                packet, spans, bit = re.sub(r"__.*$", "", opened[1]), {}, 0
            elif closed:
                found[packet, int(closed[1]) - 2].update(spans)
                spans, bit = {}, 0
            elif re.match(r"\s*struct\s*$", line):
                bit = 0
            elif field and field[1] != "u32All":
                width = int(field[2]) if field[2] else 32
                if not field[1].startswith("reserved"):
                    spans[bit, width] = field[1]
                bit += width if field[2] else 0
    return found


def ours(name: str, level: int) -> Iterator[tuple[int, str, int, int]]:
    """Dword, name, first bit and width of every field that the packet's forms have."""
    for form in layouts(name, level):
        place = 0
        for word in form.words:
            yield from ((place, *field) for field in _fields(word, level))
            place += 2 if isinstance(word, Address) else 1


def _fields(word: Word, level: int) -> Iterator[tuple[str, int, int]]:
    if isinstance(word, tuple):
        for part in word:
            if isinstance(part, (Bits, Choice)):
                yield part.name, part.low, part.width
    elif isinstance(word, Number):
        yield word.name, 0, word.width
    elif isinstance(word, PacketDword):
        register = registers(level).dword(word.number)
        for field in register.fields if register is not None else ():
            yield field.name, field.low, field.high - field.low + 1


def relation(low: int, width: int, there: dict[tuple[int, int], str]) -> str:
    """How a field of ours lies to the fields of PAL's in that dword."""
    if (low, width) in there:
        return "the same bits"
    if any(first <= low and low + width <= first + size for first, size in there):
        return "part of one"
    touched = [(first, size) for first, size in there if first < low + width and low < first + size]
    return "whole fields" if touched and all(low <= first and first + size <= low + width for first, size in touched) else "otherwise"


def compare(folder: Path, levels: tuple[int, ...]) -> dict[str, Any]:
    known = theirs(folder)
    packets = {name for name, _ in known}
    tried: set[tuple[str, int, str, int, int]] = set()
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(packets & set(OPCODES)):
        for level in levels:
            tried |= {(name, *field) for field in ours(name, level)}
    for name, place, field, low, width in sorted(tried):
        there = known.get((name, place), {})
        described = ", ".join(f"{each}[{first}:{first + size - 1}]" for (first, size), each in sorted(there.items()))
        found[relation(low, width, there)].append(f"{name} dword {place} {field}[{low}:{low + width - 1}]; PAL: {described or 'nothing'}")
    counts = {kind: len(rows) for kind, rows in sorted(found.items())}
    return {"packets": len(packets & set(OPCODES)), "fields": len(tried), **counts, "others": found["otherwise"]}


def main() -> None:
    """Compare with both folders of headers."""
    root = Path(sys.argv[1])
    print(json.dumps({"gfx9 and later": compare(root / "gfx9" / "chip", (100, 103, 110, 115)),
                      "gfx12": compare(root / "gfx12" / "chip", (120,))}, indent=1))


if __name__ == "__main__":
    main()
