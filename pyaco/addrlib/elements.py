"""Pixels and elements in kernels: what a format makes of a width, a height, and bits of a pixel."""

from __future__ import annotations

from pyaco.addrlib.arithmetic import ceil_div
from pyaco.addrlib.formats import ELEMENT_BITS, EXPAND_X, EXPAND_Y, PACKING, Packing
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import Record

__all__ = ["to_elements", "to_pixels"]

EXPANDED = int(Packing.EXPANDED)


@kernel
def to_elements(table: int, q: Record) -> None:
    """Turn width, height and bits per pixel of the query's format into those of its elements, in place; `table` is a `format_table`."""
    if q.format == 0:
        return
    fmt = q.format if 0 <= q.format < 256 else 0
    q.bpp = ELEMENT_BITS[table, fmt]
    x, y = EXPAND_X[table, fmt], EXPAND_Y[table, fmt]
    if PACKING[table, fmt] == EXPANDED:
        q.width *= x
    else:
        q.width = max(ceil_div(q.width, x), 1)
        q.height = max(ceil_div(q.height, y), 1)


@kernel
def to_pixels(table: int, q: Record, elements: int, horizontal: bool) -> int:
    """Return how many pixels a number of elements in a row (or column) is."""
    expand = EXPAND_X[table, q.format] if horizontal else EXPAND_Y[table, q.format]
    if PACKING[table, q.format] == EXPANDED:
        return max(elements // expand, 1)
    return max(elements * expand, 1)
