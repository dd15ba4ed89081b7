"""Machine code to lines of text with their offsets."""

from __future__ import annotations

from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.isa.text_tables import listing

__all__ = ["Line", "disassemble_lines"]


@dataclass(frozen=True)
class Line:
    """One line of a listing.

    Attributes
    ----------
    text
        An instruction, ``.long`` with a word that is not part of one, or a label with its colon.
    offset
        Byte offset in the code.
    size
        Bytes; 0 for a label.
    """

    text: str
    offset: int
    size: int


@checked
def disassemble_lines(code: bytes, target: str, *, wave_size: int | None = None, exact: bool = False) -> list[Line]:
    """Disassemble `code` to lines with their offsets.

    Parameters
    ----------
    code, target, wave_size, exact
        As for ``disassemble``, whose text is these lines.

    Returns
    -------
    list of Line
        In the order of the code, labels before what they name; every byte is in one line.

    Raises
    ------
    InputError
        As ``disassemble``.
    """
    return [Line(*row) for row in listing(code, target, wave_size, exact).entries()]
