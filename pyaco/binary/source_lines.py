"""Lines of source by code address: of a compiled shader, or from the DWARF of a linked code object with ``pyelftools`` (the extra ``debug``).

Source: DWARF 5, section 6.2 "Line Number Information".
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

__all__ = ["SourceLines"]


#: First address, end, file and line.
Row = tuple[int, int, str, int]


class SourceLines:
    """A line table.

    Parameters
    ----------
    rows : sequence of tuple
        First address, end, file and line of runs of instructions that come from one line.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = sorted(rows)
        self._starts = [start for start, _, _, _ in self._rows]

    @classmethod
    def of_elf(cls, data: bytes) -> SourceLines:
        """The line table of a code object; empty where it has none, where it is broken, or where ``pyelftools`` is missing.

        Parameters
        ----------
        data : bytes
            The whole file, linked: in a relocatable one the addresses are not yet known.
        """
        return cls(_rows(data))

    def __bool__(self) -> bool:
        return bool(self._rows)

    def find(self, address: int) -> tuple[str, int] | None:
        """Return file and line of the instruction at an address of the image or offset in the code, or None where nothing is known of it."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        _, end, file, line = self._rows[index]
        return (file, line) if address < end and line else None


def _rows(data: bytes) -> list[Row]:
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        return []
    rows: list[Row] = []
    try:
        dwarf = ELFFile(io.BytesIO(data)).get_dwarf_info(relocate_dwarf_sections=False)
        for unit in dwarf.iter_CUs() if dwarf.has_debug_info else ():
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                rows += _rows_of(program)
    # debug information is never more than a help: that of a broken file is none
    except (ELFError, AssertionError, KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, UnicodeDecodeError):
        return []
    return rows


def _rows_of(program: Any) -> list[Row]:
    names = program["file_entry"]
    first = 0 if program["version"] >= 5 else 1
    rows = []
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and before.address < state.address and 0 <= before.file - first < len(names):
            rows.append((before.address, state.address, names[before.file - first].name.decode(), before.line))
        before = None if state.end_sequence else state
    return rows
