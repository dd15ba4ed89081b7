"""Elements to tiled memory and back on GFX6, 7 and 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.records import integers_of
from pyaco.addrlib.tiling import LevelTables, TiledSurface
from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.chip import chip_of
from pyaco.addrlib.v1.layout import Layout
from pyaco.addrlib.v1.modes import align_up
from pyaco.addrlib.v1.queries import SurfaceAddresses, surface_info
from pyaco.addrlib.v1.swizzle import extract_swizzle
from pyaco.addrlib.v2.address import COORDINATES
from pyaco.errors import InputError

__all__ = ["TiledSurfaceGfx6"]


class TiledSurfaceGfx6(TiledSurface):
    """One surface with its mip levels, laid out once: addresses of its elements, and its elements to and from tiled memory.

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX6, 7 or 8.
    width, height : int
        Elements of level 0 (compressed blocks count as one element).
    bpp : int
        Bits per element: 8, 16, 32, 64 or 128.
    tile_mode, tile_type, flags : int
        `TileMode`, `TileType`, `SurfaceFlag` of level 0; upper levels are tiled as they fit. `SurfaceFlag.VOLUME`: slices halve too.
    num_slices, num_mip_levels, num_samples : int
        Slices (depth of 3D), levels, samples (each with its own fragment).
    bank_swizzle, pipe_swizzle : int
        Turn among banks and pipes.

    Raises
    ------
    InputError
        If the chip has no such surface.
    UnsupportedError
        If `config` is of another generation.
    """

    def __init__(
        self, config: GpuConfig, *, width: int, height: int = 1, bpp: int, tile_mode: int, tile_type: int = modes.NON_DISPLAYABLE,
        flags: int = modes.COLOR, num_slices: int = 1, num_mip_levels: int = 1, num_samples: int = 1, bank_swizzle: int = 0,
        pipe_swizzle: int = 0,
    ) -> None:
        if bpp not in (8, 16, 32, 64, 128):
            raise InputError(f"elements have 8, 16, 32, 64 or 128 bits, not {bpp}")
        if min(width, height, num_slices, num_mip_levels, num_samples) < 1 or num_mip_levels > 17:
            raise InputError("width, height, slices, levels and samples are at least 1, levels at most 17")
        if num_mip_levels > 1:
            flags |= modes.POW2_PAD
        places: list[tuple[int, tuple[int, int, int, int], Layout]] = []
        size = base_pitch = 0
        for level in range(num_mip_levels):
            slices = max(1, num_slices >> level) if flags & modes.VOLUME else num_slices
            shape = (max(1, width >> level), max(1, height >> level), slices, num_samples)
            info = surface_info(
                config, tile_mode=tile_mode, tile_type=tile_type, flags=flags, bpp=bpp, num_samples=num_samples, width=shape[0],
                height=shape[1], num_slices=slices, mip_level=level, base_pitch=base_pitch)
            base_pitch = base_pitch or info.pitch
            places.append((align_up(size, info.base_align), shape, info))
            size = places[-1][0] + info.surface_bytes
        self._set_levels(config, bpp // 8, places, bank_swizzle, pipe_swizzle)

    @classmethod
    def of_levels(
        cls, config: GpuConfig, element_bytes: int, places: Sequence[tuple[int, tuple[int, int, int, int], Layout]], tile_swizzle: int = 0,
    ) -> TiledSurfaceGfx6:
        """Return a surface whose levels are laid out: offset in bytes, (width, height, slices, samples) in elements, layout of each.

        `tile_swizzle` is bank and pipe as base addresses have them (see `pyaco.addrlib.v1.swizzle`).
        """
        surface, chip, first = cls.__new__(cls), chip_of(config), places[0][2]
        bank, pipe = 0, 0
        if tile_swizzle:
            pipes = modes.PIPES[first.pipe_config] or chip.pipes
            bank, pipe = extract_swizzle(pipes, first.banks, chip.interleave_bytes, tile_swizzle)
        surface._set_levels(config, element_bytes, places, bank, pipe)
        return surface

    def _set_levels(
        self, config: GpuConfig, element_bytes: int, places: Sequence[tuple[int, tuple[int, int, int, int], Layout]], bank_swizzle: int,
        pipe_swizzle: int,
    ) -> None:
        self.config, self.element_bytes = config, element_bytes
        self._levels: dict[int, LevelTables] = {}
        self._offsets = [offset for offset, _, _ in places]
        self._shapes = [shape for _, shape, _ in places]
        self._addresses = [SurfaceAddresses(config, info, bank_swizzle=bank_swizzle, pipe_swizzle=pipe_swizzle) for _, _, info in places]
        self.size = max(offset + addresses.size for offset, addresses in zip(self._offsets, self._addresses, strict=True))
        self.base_align = max(info.base_align for _, _, info in places)

    def level_shape(self, mip: int = 0) -> tuple[int, ...]:
        """Return (slices, height, width) of a level in elements, and samples if there are several."""
        self._check_level(mip)
        width, height, slices, samples = self._shapes[mip]
        return (slices, height, width, samples) if samples > 1 else (slices, height, width)

    def _check_level(self, mip: int) -> None:
        check_integers("surface", level=mip)
        if not 0 <= mip < len(self._shapes):
            raise InputError(f"level {mip} of a surface of {len(self._shapes)}")

    def tables(self, mip: int = 0) -> LevelTables:
        """Return the tables of one level, which are cached."""
        self._check_level(mip)
        if mip not in self._levels:
            addresses = self._addresses[mip]
            xs, ys, zs, ss = (table[:size].copy() for table, size in zip(addresses.tables, self._shapes[mip], strict=True))
            # Levels begin on whole macro tiles of the banks and pipes, so that their offset leaves the xored bits alone.
            zs += self._offsets[mip]
            self._levels[mip] = LevelTables(
                xs, ys, zs, ss, addresses.mask, self._unit(xs, ys, zs, ss), self._line(xs, ys, zs, ss))
        return self._levels[mip]

    def coordinates(self, addresses: ArrayLike) -> NDArray[Any]:
        """Return the elements at byte addresses, as records `COORDINATES`; a byte of padding has a status other than 0."""
        flat = integers_of(addresses).reshape(-1)
        found = np.zeros(len(flat), COORDINATES)
        found["status"] = 3
        for level, (offset, places) in enumerate(zip(self._offsets, self._addresses, strict=True)):
            inside = np.nonzero((flat >= offset) & (flat < offset + places.size))[0]
            where = places.coordinates_of(flat[inside] - offset)
            shown = (where < np.array(self._shapes[level])[:, None]).all(axis=0)
            rows = inside[shown]
            for name, values in zip(("x", "y", "slice", "sample"), where[:, shown], strict=True):
                found[name][rows] = values
            found["status"][rows], found["mip_id"][rows] = 0, level
        return found.reshape(np.shape(addresses))
