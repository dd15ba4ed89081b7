"""Addresses of CMASK and HTILE elements on GFX6, 7 and 8 over arrays, and the pixels that an element stands for."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.v1.chip import TileInfo, chip_of
from pyaco.addrlib.v1.metadata import CmaskLayout, HtileLayout, cmask_layout, htile_layout
from pyaco.addrlib.v1.modes import PIPES
from pyaco.addrlib.v1.queries import array_chip, check_coordinate
from pyaco.errors import InputError

__all__ = ["MaskAddresses"]


class MaskAddresses:
    """CMASK or HTILE of a surface: a mask element per micro tile of 8 by 8 pixels.

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX6, 7 or 8.
    info : TileInfo
        Geometry of the surface's macro tiles.
    pitch, height, num_slices : int
        Pixels and slices of the surface, padded.
    is_cmask : bool
        CMASK (4 bits per tile), otherwise HTILE (32 bits).
    linear : bool
        Whether the mask is laid out row by row instead of by cache lines.

    Raises
    ------
    InputError
        If no such mask can exist.
    """

    def __init__(
        self, config: GpuConfig, info: TileInfo, *, pitch: int, height: int, num_slices: int = 1, is_cmask: bool, linear: bool = False,
    ) -> None:
        if not (0 < pitch <= 1 << 16 and 0 < height <= 1 << 16 and 0 < num_slices <= 1 << 14):
            raise InputError(f"a mask of {pitch} x {height} pixels, {num_slices} slices")
        if not 0 <= info.pipe_config < len(PIPES) or not PIPES[info.pipe_config]:
            raise InputError(f"pipe configuration {info.pipe_config}")
        chip = chip_of(config)
        self.layout: CmaskLayout | HtileLayout = (
            cmask_layout(chip, info, pitch, height, num_slices, False, linear) if is_cmask
            else htile_layout(chip, info, pitch, height, num_slices, False, False, linear))
        if isinstance(self.layout, CmaskLayout) and self.layout.status:
            raise InputError(f"a CMASK of {self.layout.pitch} x {self.layout.height} pixels: more blocks than the hardware counts")
        self.element_bits = 4 if is_cmask else 32
        self._shape = (num_slices, self.layout.height // 8, self.layout.pitch // 8)
        self._arguments = (array_chip(config), info, pitch, height, num_slices, is_cmask, linear)

    @cached_property
    def by_tile(self) -> NDArray[np.int64]:
        """Address, in bits, of the element of every micro tile, by slice, row and column of tiles."""
        # Imported here because single queries need no numba.
        from pyaco.addrlib.v1.arrays import fill_mask

        out = np.empty(self._shape, np.int64)
        fill_mask(*self._arguments, out)
        return out

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        order = np.argsort(self.by_tile, axis=None)
        return self.by_tile.reshape(-1)[order], order

    def addresses(self, x: ArrayLike, y: ArrayLike, slice: ArrayLike = 0) -> NDArray[np.int64]:
        """Return the addresses, in bits, of the elements of pixels; the coordinates broadcast."""
        columns = [np.asarray(slice), np.asarray(y), np.asarray(x)]
        ends = (self._shape[0], self._shape[1] * 8, self._shape[2] * 8)
        for column, end, name in zip(columns, ends, ("slice", "y", "x"), strict=True):
            check_coordinate(column, end, name, "mask")
        return self.by_tile[columns[0], columns[1] >> 3, columns[2] >> 3]

    def coordinates(self, addresses: ArrayLike) -> NDArray[np.int64]:
        """Return x and y of the first pixel, and the slice, of the elements that hold the bits at `addresses`: shape (3, ...).

        Raises
        ------
        InputError
            If a bit is outside of the mask, or padding between its elements.
        """
        wanted = np.asarray(addresses, np.int64)
        starts, order = self._sorted
        index = np.searchsorted(starts, wanted, side="right") - 1
        if wanted.size and (int(index.min()) < 0 or (wanted - starts[index] >= self.element_bits).any()):
            raise InputError("an address that no element of the mask has")
        z, y, x = np.unravel_index(order[index], self._shape)
        return np.stack([8 * x, 8 * y, z]).astype(np.int64)
