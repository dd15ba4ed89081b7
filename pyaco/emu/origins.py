"""Who made an allocation, and where an address lies beside it, in words: what reports of stray accesses and unwritten memory say."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["Origin", "describe", "maker", "place_of"]

_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class Origin:
    """Who made an allocation.

    Attributes
    ----------
    what : str
        Such as ``buffer`` or ``argument 2 (out)``.
    name : str
        As its maker called it.
    file, line
        Where the Python code stands that made it; an empty file where it is not known.
    size : int
        Bytes that it was asked for, where the allocation has more; else 0.
    """

    what: str
    name: str = ""
    file: str = ""
    line: int = 0
    size: int = 0

    def __str__(self) -> str:
        name = f" `{self.name}`" if self.name else ""
        return self.what + name + (f" made at {Path(self.file).name}:{self.line}" if self.file else "")


def maker(what: str, name: str = "", size: int = 0) -> Origin:
    """Return the origin of what the innermost caller outside this package makes."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Origin(what, name, frame.f_code.co_filename, frame.f_lineno, size)


def place_of(space: AddressSpace, address: int) -> dict[str, Any] | None:
    """Return the allocation closest to `address` as plain data: ``address``, ``size``, and what is known of ``name``, ``made_at``."""
    near = space.nearest(address)
    if near is None:
        return None
    found: dict[str, Any] = {"address": near[0], "size": near[1]}
    origin = space.origin(near[0])
    if isinstance(origin, Origin):
        found |= {"what": origin.what, "size": origin.size or near[1]}
        found |= {"name": origin.name} if origin.name else {}
        found |= {"made_at": [origin.file, origin.line]} if origin.file else {}
    return found


def describe(space: AddressSpace, address: int, count: int) -> str:
    """Say where `count` bytes at `address` lie: in an allocation, or how far from the nearest; an empty string where there is none."""
    found = place_of(space, address)
    if found is None:
        return ""
    origin = space.origin(found["address"])
    what = f"the {found['size']}-byte {origin or 'allocation'} ({found['address']:#x})"
    first, end = found["address"], found["address"] + found["size"]
    if address < first:
        return f"{first - address} bytes before {what}"
    if address >= end:
        return f"{address - end} bytes behind the end of {what}" if address > end else f"right behind the end of {what}"
    if address + count > end:
        return f"{address + count - end} bytes beyond {what}"
    return f"byte {address - first} of {what}"
