"""Machine code to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyaco.errors import InputError
from pyaco.isa.processors import processor

if TYPE_CHECKING:
    from pyaco._core.isa.disassemble import Listing

__all__ = ["Line", "decode", "disassemble", "disassemble_lines"]


@dataclass(frozen=True)
class Line:
    """One line of a listing.

    Attributes
    ----------
    text
        An instruction, ``.long`` with a word that is none, or a label with its colon.
    offset
        Byte offset in the code.
    size
        Bytes; 0 for a label.
    """

    text: str
    offset: int
    size: int


def default_wave_size(level: int, wave_size: int | None) -> int:
    """The wave size whose lane masks the text names."""
    if wave_size is None:
        return 64 if level < 100 else 32
    if wave_size not in (32, 64) or (wave_size == 32 and level < 100):
        raise InputError(f"wave size {wave_size} does not exist on this target")
    return wave_size


def disassemble_lines(code: bytes, target: str, *, wave_size: int | None = None) -> list[Line]:
    """Disassemble `code` to lines with their places.

    Parameters
    ----------
    code
        Machine code, a multiple of four bytes.
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64, which decides how lane masks are written (vcc or vcc_lo); by default 64 up to GFX9 and 32 later.

    Raises
    ------
    InputError
        The length is no multiple of four, or the target is unknown.
    """
    return [Line(*row) for row in listing(code, target, wave_size).rows()]


def disassemble(code: bytes, target: str, *, wave_size: int | None = None) -> str:
    """Disassemble `code` to text that LLVM's assembler and ``assemble`` turn into the same bytes.

    Words that are no instruction of the target become ``.long``; so do, with a comment, instructions with stray bits and
    those that LLVM's default syntax cannot say (halves of registers on GFX12). Parameters and errors as for ``disassemble_lines``.
    """
    return str(listing(code, target, wave_size).text(), "ascii")


def decode(code: bytes, target: str) -> npt.NDArray[np.void]:
    """Decode `code` to records, one an instruction.

    Parameters
    ----------
    code
        Machine code, a multiple of four bytes.
    target
        A gfx name, chip name or product name.

    Returns
    -------
    numpy.ndarray
        A structured array in the order of the code; each field is a column:

        - ``offset``: byte offset; ``dwords``: length; ``opcode``: an index of ``pyaco.isa.opcodes.names()``, or 0xffff for
          a word that is no instruction; ``format``: the bits of ``pyaco.isa.table.FORMATS`` that the words have;
        - ``source_count``, ``sources`` (18), ``source_bytes`` (18), ``destination_count``, ``destinations`` (3),
          ``destination_bytes`` (3): registers as byte addresses (SGPR n at 4n, VGPR n at 4(256 + n), AGPR n at
          4(512 + n), + 2 for the high half, constants as their source code * 4, 255 * 4 the literal, 0xffff unused), with
          their sizes (0: a lane mask, as wide as the wave); the order is that of ``_core/isa/decode.pxd``;
        - ``has_literal``, ``literal``, ``immediate`` (offsets in bytes, SOPK's and SOPP's 16 bits), ``modifiers`` (packed as
          ``isa/data/modifiers.txt`` says).

    Raises
    ------
    InputError
        The length is no multiple of four, or the target is unknown.
    """
    from pyaco._core.isa.decode import RECORD, decode_records

    _, level = processor(target)
    words = words_of(code)
    record = np.dtype(RECORD, align=True)  # type: ignore[call-overload]
    records = np.zeros(len(words), record)
    assert record.fields is not None
    offsets = [record.fields[name][1] for name in RECORD["names"]]
    count = decode_records(words, level, records.view(np.uint8), offsets, record.itemsize)
    return records[:count]


def words_of(code: bytes) -> npt.NDArray[np.uint32]:
    """The words of machine code."""
    if len(code) % 4:
        raise InputError(f"machine code of {len(code)} bytes: not a multiple of 4")
    return np.frombuffer(code, dtype="<u4")


def listing(code: bytes, target: str, wave_size: int | None) -> Listing:
    """The listing of `code`, as the kernel makes it."""
    from pyaco._core.isa.disassemble import disassemble_words
    from pyaco.isa.text_tables import text_tables

    name, level = processor(target)
    words = words_of(code)
    tables = text_tables(level, name)
    return disassemble_words(words, level, default_wave_size(level, wave_size), tables.names, tables.facts)
