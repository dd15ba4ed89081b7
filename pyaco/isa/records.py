"""Instructions as columns: machine code to structured NumPy arrays, and back."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.isa.processors import assembly_target
from pyaco.isa.text_tables import check_length

__all__ = ["decode", "encode"]

#: Dwords of the longest instruction.
ENCODE_LIMIT = 6


@checked
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

        - ``offset``: in bytes from the start of `code`; ``dwords``: length in words of 32 bits; ``opcode``: an index of
          ``pyaco.isa.opcodes.names()``, or 0xffff for a word that is not an instruction, which is then ``literal``;
          ``format``: the bits of ``pyaco.isa.opcodes.FORMATS`` that the words have;
        - ``source_count``, ``sources`` (18), ``source_bytes`` (18), ``destination_count``, ``destinations`` (3),
          ``destination_bytes`` (3): registers as byte addresses (SGPR n at 4n, VGPR n at 4(256 + n), AGPR n at
          4(512 + n), + 2 for the high half, constants as their source code * 4, 255 * 4 the literal, 0xffff unused), with
          their sizes (0: a lane mask, as wide as the wave); the order is that of ``_core/isa/decode.pxd``;
        - ``has_literal``, ``literal``, ``immediate`` (offsets in bytes, SOPK's and SOPP's 16 bits), ``modifiers`` (packed as
          ``isa/data/modifiers.txt`` says).

    Raises
    ------
    InputError
        The length is not a multiple of four, or the target is unknown.
    """
    from pyaco._core.isa.records import decode_records

    _, level = assembly_target(target)
    check_length(code)
    words = np.frombuffer(bytes(code), np.uint32)
    record, offsets = record_layout()
    records = np.zeros(len(words), record)
    count = decode_records(words, level, records.view(np.uint8), offsets, record.itemsize)
    return records[:count]


@cache
def record_layout() -> tuple[np.dtype[np.void], list[int]]:
    """The type of records, and the offsets of the fields that the kernels access."""
    from pyaco._core.isa.records import RECORD

    record = np.dtype(RECORD, align=True)  # type: ignore[call-overload]
    assert record.fields is not None
    return record, [record.fields[name][1] for name in RECORD["names"]]


@checked
def encode(records: npt.NDArray[np.void], target: str) -> bytes:
    """Encode records: the inverse of ``decode``.

    Parameters
    ----------
    records
        A structured array as ``decode`` gives it, with any of them changed, left out or added. ``offset``, ``dwords`` and
        ``destination_bytes`` are not read. A branch's distance is its ``immediate``, to be changed when instructions are moved.
    target
        A gfx name, chip name or product name.

    Returns
    -------
    bytes
        Machine code. Unused bits are zero, even if they were set in the code that the records came from.

    Raises
    ------
    InputError
        The array has other fields, or a record has no encoding; the message has its index, the opcode and the reason.
    """
    from pyaco._core.isa.records import encode_records, error_text
    from pyaco.isa.opcodes import names

    _, level = assembly_target(target)
    record, offsets = record_layout()
    if getattr(records, "dtype", None) != record or records.ndim != 1:
        raise InputError("records as decode gives them are expected: one dimension, the same fields")
    given = np.ascontiguousarray(records)
    words = np.zeros(ENCODE_LIMIT * len(given), np.uint32)
    length, fault, error = encode_records(given.view(np.uint8), level, offsets, record.itemsize, words)
    if fault >= 0:
        opcode = int(given[fault]["opcode"])
        name = names()[opcode] if opcode < len(names()) else f"opcode {opcode}"
        raise InputError(f"record {fault} ({name}): {error_text(error)}")
    return words[:length].astype("<u4").tobytes()
