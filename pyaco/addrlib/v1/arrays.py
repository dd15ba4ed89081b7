"""Kernels that run the rules of this room over arrays."""

from __future__ import annotations

from typing import Any

from pyaco.addrlib.kernels import callable_from_kernels, kernel
from pyaco.addrlib.v1 import address, chip, layout, metadata, modes, tiling
from pyaco.addrlib.v1.address import Addressing, byte_address, coordinates
from pyaco.addrlib.v1.chip import Chip, TileInfo
from pyaco.addrlib.v1.layout import Query
from pyaco.addrlib.v1.layout import layout as lay_out
from pyaco.addrlib.v1.metadata import mask_address
from pyaco.addrlib.v1.tiling import no_info

__all__ = ["fill_axis", "fill_mask", "lay_out_many", "locate"]

callable_from_kernels(address, chip, layout, metadata, modes, tiling)


@kernel
def lay_out_many(chip: Chip, columns: Any, formats: Any, out: Any) -> None:
    """Lay out a surface per row of `columns`; `formats` has a row per format."""
    for i in range(len(columns)):
        c = columns[i]
        f = formats[c[2]]
        query = Query(
            c[0], c[1], c[3], f[0], f[1], f[2], f[3] != 0, f[4] != 0, f[5] != 0, c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[12],
            c[13], c[14], c[15], c[16])
        result = lay_out(chip, query, no_info())
        out[i, 0] = result.status
        for j in range(33):
            out[i, j + 1] = result[j + 1]


@kernel
def fill_axis(a: Addressing, axis: int, table: Any) -> None:
    """Fill the table of the addresses of the elements on an axis (x, y, slice, sample)."""
    for i in range(len(table)):
        table[i] = byte_address(a, i if axis == 0 else 0, i if axis == 1 else 0, i if axis == 2 else 0, i if axis == 3 else 0)


@kernel
def locate(a: Addressing, hidden_of_channel: Any, addresses: Any, out: Any) -> None:
    """Fill in x, y, slice and sample of the elements at addresses."""
    for i in range(len(addresses)):
        x, y, z, s = coordinates(a, hidden_of_channel, addresses[i])
        out[0, i] = x
        out[1, i] = y
        out[2, i] = z
        out[3, i] = s


@kernel
def fill_mask(chip: Chip, info: TileInfo, pitch: int, height: int, slices: int, is_cmask: bool, linear: bool, out: Any) -> None:
    """Fill in the address, in bits, of the element of every micro tile; `out` is by slice, row, column."""
    for z in range(out.shape[0]):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                out[z, y, x] = mask_address(chip, info, pitch, height, slices, 8 * x, 8 * y, z, is_cmask, linear)
