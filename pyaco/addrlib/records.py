"""Records of queries: structured arrays that kernels read and write, and what queries of GFX9 and later have in common.

All fields are int64, so that a kernel never mixes signed and unsigned numbers.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.checks import check_integers
from pyaco.errors import InputError

__all__ = ["MAX_MIPS", "MIP", "MODE", "MipInfo", "Record", "Scratch", "Table", "columns", "integers_of", "record", "zeroed"]

Record = Any
"""One record of a structured array, as kernels take it: its fields are attributes."""

Table = NDArray[Any]
"""Many records, or a table of numbers."""

MAX_MIPS = 17
"""Mip levels that a result record holds."""


def record(names: str) -> np.dtype[Any]:
    """Return a structured type of int64 fields."""
    return np.dtype([(name, np.int64) for name in names.split()])


MIP = record(
    "pitch height depth pixel_pitch pixel_height equation_index offset macro_block_offset mip_tail_offset "
    "mip_tail_coord_x mip_tail_coord_y mip_tail_coord_z")
"""Layout of one level: extent in elements, offsets in bytes, place in the mip tail in elements."""

MODE = record("valid linear block_log2 kind_z kind_s kind_d kind_r xor prt var thick_3d")


class MipInfo(NamedTuple):
    """One level: pitch, height, depth in elements (and in pixels), offsets in bytes, place in the mip tail in elements."""

    pitch: int
    height: int
    depth: int
    pixel_pitch: int
    pixel_height: int
    equation_index: int
    offset: int
    macro_block_offset: int
    mip_tail_offset: int
    mip_tail_coord_x: int
    mip_tail_coord_y: int
    mip_tail_coord_z: int


def zeroed(query: np.dtype[Any], info: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the records that a kernel lays a surface out in; the last of the result and of the mips stays zero, to clear the others."""
    return np.zeros(1, query), np.zeros(2, info), np.zeros(MAX_MIPS + 1, MIP)


class Scratch(threading.local):
    """Records of one query, made once per thread: making them costs more than answering."""

    def __init__(self, query: np.dtype[Any], info: np.dtype[Any]) -> None:
        self.query, self.info, self.mips = np.zeros(1, query), np.zeros(1, info), np.zeros((1, MAX_MIPS), MIP)
        self.query_row = self.query.view(np.int64)
        self.info_row = self.info.view(np.int64)
        self.mip_rows = self.mips.view(np.int64).reshape(MAX_MIPS, -1)


def columns(dtype: np.dtype[Any], length: int, values: dict[str, Any]) -> NDArray[Any]:
    """Return a structured array of `length` records with the given columns (they broadcast); other fields are 0."""
    check_integers("records", length=length)
    table = np.zeros(length, dtype)
    for name, column in values.items():
        array = np.asarray(column)
        if name not in (dtype.names or ()):
            raise InputError(f"there is no column {name!r}; there are {', '.join(dtype.names or ())}")
        if array.dtype.kind not in "iub" and array.size and dtype[name].kind != "f":
            raise InputError(f"column {name}: integers, not {array.dtype}")
        try:
            table[name] = array
        except ValueError:
            raise InputError(f"column {name}: {array.shape} values for {length} records") from None
    return table


def integers_of(addresses: ArrayLike) -> NDArray[np.int64]:
    """Return addresses as an array, or raise InputError if they are no integers."""
    given = np.asarray(addresses)
    if given.dtype.kind not in "iu" and given.size:
        raise InputError(f"addresses are integers, not {given.dtype}")
    return np.ascontiguousarray(given, np.int64)
