"""Memory for the decoder: pieces at addresses."""

from __future__ import annotations

import bisect
import itertools
import struct
from collections.abc import Callable, Mapping, Sequence

from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["Memory", "canonical", "mapped_dwords", "pieces"]

Memory = Callable[[int, int], Sequence[int] | None]
"""Gives `count` dwords at an address, or None where nothing is mapped."""


def canonical(address: int) -> int:
    """Return the 64-bit form of a 48-bit address: bit 47 is repeated above."""
    address &= (1 << 48) - 1
    return address | 0xFFFF << 48 if address >> 47 else address


@checked
def pieces(contents: Mapping[int, bytes]) -> Memory:
    """Return a memory that consists of pieces.

    Parameters
    ----------
    contents : mapping of int to bytes
        What lies at an address; pieces do not overlap.

    Raises
    ------
    InputError
        Pieces overlap.
    """
    held = {canonical(address): data for address, data in contents.items()}
    starts = sorted(held)
    for first, second in itertools.pairwise(starts):
        if first + len(held[first]) > second:
            raise InputError(f"the memory at 0x{first:x} has {len(held[first])} bytes and reaches into that at 0x{second:x}")

    def read(address: int, count: int) -> Sequence[int] | None:
        address = canonical(address)
        place = bisect.bisect_right(starts, address) - 1
        if place < 0:
            return None
        data, offset = held[starts[place]], address - starts[place]
        if offset + 4 * count > len(data):
            return None
        return struct.unpack_from(f"<{count}I", data, offset)

    return read


def mapped_dwords(memory: Memory, address: int, most: int) -> Sequence[int]:
    """Return what lies at `address`: as many dwords as are mapped, `most` at most."""
    whole = memory(address, most)
    if whole is not None:
        return whole
    low, high = 0, most                       # `low` dwords are mapped, `high` are not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if memory(address, middle) is not None else (low, middle)
    return memory(address, low) or () if low else ()
