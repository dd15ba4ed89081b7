"""Texels to tiled memory and back: whole levels, slices, sub-rectangles, samples (GFX9 to GFX12).

An address is a sum of block numbers above the block size and a xor of coordinates below it, so every coordinate has a table of its own,
and a texel costs one look-up: `address = high(x) + high(y) + high(z) + low(x) ^ low(y) ^ low(z) ^ low(s)`. The tables span the level,
because the xor of R_X, Z_X ... reaches beyond a block. Small blocks (64 to 256 bytes) that are the same all over the level are moved whole
(`block_copy`); elsewhere texels that lie side by side in both places are moved together, up to 16 bytes. Bounds are checked once per call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.address_tables import look_up
from pyaco.addrlib.block_copy import MORTON_EDGE, detile_blocks, detile_morton, morton, tile_blocks, tile_morton
from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import in_words, raise_status
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.placement import PLACE, coordinates_of, equation_offset
from pyaco.addrlib.records import MAX_MIPS, MIP, Table, integers_of
from pyaco.addrlib.stream_copy import LINE, VECTOR, detile_tiles, tile_tiles
from pyaco.addrlib.threads import call_all
from pyaco.addrlib.v2.address import ADDRESS_QUERY, COORDINATES, copy_surface, lay_out, place_level
from pyaco.addrlib.v2.chip import INFO, QUERY, chip_tables
from pyaco.addrlib.v3.address import ADDRESS_QUERY3, lay_out3, place_in_volume_tail3, place_level3
from pyaco.addrlib.v3.queries import INFO3, QUERY3, tables3
from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["LevelTables", "TiledSurface"]

_UNIT_TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
_SURFACE_FIELDS = ("flags", "swizzle_mode", "resource_type", "bpp", "width", "height", "num_slices", "num_mip_levels", "num_samples",
                   "num_frags", "pitch_in_element", "pipe_bank_xor")
_MOVING = {(False, False): detile_blocks, (False, True): tile_blocks, (True, False): detile_morton, (True, True): tile_morton}
"""Kernels by whether blocks are in Morton order, and whether texels go to memory."""
MICRO_BYTES = (256, 128, 64)
"""Sizes of the smallest block: in it an address has no xor, it is the same everywhere."""
TILE_BYTES = (1 << 16, 1 << 17, 1 << 18)
"""Sizes of the tiles that are moved past the caches: some of them fit into a second cache."""
STREAMED_BYTES = 1 << 23
"""Fewer texels stay in the caches, where they may be wanted next."""
STREAMED_ROWS, STREAMED_PIECE = 128, 8
"""Rows of tiles that are written past the caches, at most, and bytes that lie side by side in them and in the texels, at least."""


@kernel
def fill_tables(basis: Table, places: Table, xs: Table, ys: Table, zs: Table, ss: Table) -> None:
    """Fill in the tables of one level: byte offsets by x, y, slice, sample; the base is in the slices."""
    p = places[0]
    for x in range(len(xs)):
        if p.equation < 0:
            xs[x] = x * p.element_bytes
        else:
            xs[x] = ((x >> p.width_log2) << p.block_log2) | equation_offset(basis, p.equation, x + p.x_offset, 0, 0, 0)
    # What y, slice and sample flip is taken relative to x's table, which holds the place in the tail.
    for y in range(len(ys)):
        if p.equation < 0:
            ys[y] = y * p.pitch * p.element_bytes
        else:
            ys[y] = (((y >> p.height_log2) * p.pitch) << p.block_log2) | equation_offset(basis, p.equation, 0, y + p.y_offset, 0, 0)
    for z in range(len(zs)):
        zs[z] = p.base + (z >> p.depth_log2) * p.slice_bytes
        if p.equation >= 0:
            zs[z] += equation_offset(basis, p.equation, 0, 0, z, 0) ^ p.flip
    for s in range(len(ss)):
        ss[s] = 0 if p.equation < 0 else equation_offset(basis, p.equation, 0, 0, 0, s)


@kernel
def lie_side_by_side(xs: Table, element_bytes: int, count: int) -> bool:
    """Tell whether every run of `count` elements is one aligned piece of memory; there must be such a run."""
    size = element_bytes * count
    for first in range(0, len(xs) // count * count, count):
        if xs[first] & (size - 1):
            return False
        for i in range(1, count):
            if xs[first + i] != xs[first] + i * element_bytes:
                return False
    return len(xs) >= count


@kernel
def period(table: Table, size: int) -> int:
    """Return after how many entries the places in blocks of `size` bytes repeat, if they do all over and each block is one; else 0."""
    inside = size - 1
    length = 1
    while length < len(table) and (table[length] ^ table[0]) & inside:
        length += 1
    if length >= len(table):
        return 0
    for i in range(len(table)):
        first = i - i % length
        if (table[i] ^ table[i - first]) & inside or (table[i] ^ table[first]) & ~inside:
            return 0
    return length


@kernel
def detile_units(
    source: Table, target: Table, xs: Table, ys: Table, low: int, base: int, place: int, row: int, step: int, left: int, right: int, top: int,
    bottom: int,
) -> None:
    """Copy tiled units [left, right) of rows [top, bottom) to rows of `target` that are `row` units apart, `step` units side by side."""
    # Unsigned indices: numba would test signed ones for being negative.
    for y in range(top, bottom):
        flip = np.uint64((base ^ ys[y]) & low)
        start = np.uint64((base & ~low) + (ys[y] & ~low))
        to = np.uint64(place + (y - top) * row)
        for x in range(np.uint64(left), np.uint64(right)):
            target[to + (x - np.uint64(left)) * np.uint64(step)] = source[start + (np.uint64(xs[x]) ^ flip)]


@kernel
def tile_units(
    source: Table, target: Table, xs: Table, ys: Table, low: int, base: int, place: int, row: int, step: int, left: int, right: int, top: int,
    bottom: int,
) -> None:
    """The same in the other direction: rows of `source` to the tiled `target`."""
    for y in range(top, bottom):
        flip = np.uint64((base ^ ys[y]) & low)
        start = np.uint64((base & ~low) + (ys[y] & ~low))
        to = np.uint64(place + (y - top) * row)
        for x in range(np.uint64(left), np.uint64(right)):
            target[start + (np.uint64(xs[x]) ^ flip)] = source[to + (x - np.uint64(left)) * np.uint64(step)]


@kernel
def coordinates_of_levels(basis: Table, inverse: Table, places: Table, addresses: Table, found: Table) -> None:
    """Find the texels at addresses."""
    for i in range(len(addresses)):
        found[i].status = 3
        for level in range(len(places)):
            hit, x, y, z, s = coordinates_of(basis, inverse, places[level], addresses[i])
            if hit:
                c = found[i]
                c.status, c.x, c.y, c.slice, c.sample, c.mip_id = 0, x, y, z, s, level
                break


class LevelTables(NamedTuple):
    """Tables of one level, in bytes: by x, y, slice and sample; `low` masks the bits that are xored, the others are added."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    slice: NDArray[np.int64]
    sample: NDArray[np.int64]
    low: int
    unit: int
    micro: tuple[int, int]
    """Width and height of the smallest block in elements; 0, 0 where it is not one of x and y alone."""

    def base(self, slice: int, sample: int) -> int:
        """Return what a slice and sample contribute to an address."""
        z, s = int(self.slice[slice]), int(self.sample[sample])
        return (z & ~self.low) + (s & ~self.low) | (z ^ s) & self.low


@checked
class TiledSurface:
    """One surface, laid out once: addresses of its texels, and its texels to and from tiled memory.

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX9 to GFX12.
    width, height : int
        Elements of level 0 (compressed blocks count as one element).
    bpp : int
        Bits per element: 8, 16, 32, 64, 128, or 96 for a linear surface.
    swizzle_mode, resource_type, flags : int
        `SwizzleMode` (GFX12: `SwizzleMode3`), `ResourceType`, `SurfaceFlags`.
    num_slices, num_mip_levels, num_samples : int
        Slices (depth of 3D), levels, samples (each with its own fragment).
    pitch_in_element : int
        Pitch that the caller demands, or 0.
    pipe_bank_xor : int
        What is xored to every address (not on GFX12, which puts it into the base).
    level_extents : sequence of (int, int), optional
        Elements that the levels have in width and height, where they are not level 0's halved and rounded down: those of compressed formats.

    Raises
    ------
    InputError
        If the chip has no such surface.
    """

    _parts = 1
    """Elements of the layout that an element takes."""

    def __init__(
        self, config: GpuConfig, *, width: int, height: int = 1, bpp: int, swizzle_mode: int, resource_type: int = 1, flags: int = 0,
        num_slices: int = 1, num_mip_levels: int = 1, num_samples: int = 1, pitch_in_element: int = 0, pipe_bank_xor: int = 0,
        level_extents: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        check_integers(
            "surface", width=width, height=height, bpp=bpp, swizzle_mode=swizzle_mode, resource_type=resource_type, flags=flags,
            num_slices=num_slices, num_mip_levels=num_mip_levels, num_samples=num_samples, pitch_in_element=pitch_in_element,
            pipe_bank_xor=pipe_bank_xor)
        if num_mip_levels > MAX_MIPS:
            raise InputError(f"{num_mip_levels} levels; a surface has at most {MAX_MIPS}")
        if bpp not in (8, 16, 32, 64, 96, 128):
            raise InputError(f"elements have 8, 16, 32, 64, 96 or 128 bits, not {bpp}")
        if bpp == 96 and swizzle_mode != 0:
            raise InputError("elements of 96 bits are linear")
        if min(width, height, num_slices, num_mip_levels, num_samples) < 1:
            raise InputError("width, height, slices, levels and samples are at least 1")
        if num_samples & (num_samples - 1):
            raise InputError(f"{num_samples} samples; their number is a power of two")
        self.config, self.element_bytes = config, bpp // 8
        extents = level_extents or [(max(width >> level, 1), max(height >> level, 1)) for level in range(num_mip_levels)]
        if bpp == 96:
            # The hardware sees rows of three times as many elements of 32 bits.
            self._parts, bpp, width, pitch_in_element = 3, 32, 3 * width, 3 * pitch_in_element
        values = (flags, swizzle_mode, resource_type, bpp, width, height, num_slices, num_mip_levels, num_samples, num_samples,
                  pitch_in_element, pipe_bank_xor)
        self._surface = dict(zip(_SURFACE_FIELDS, values, strict=True))
        self._levels: dict[int, LevelTables] = {}
        self._place(extents)

    def _place(self, extents: Sequence[tuple[int, int]]) -> None:
        levels = self._surface["num_mip_levels"]
        places = np.zeros(levels, PLACE)
        mips = np.zeros(MAX_MIPS + 1, MIP)
        gfx12 = self.config.rules.library == 3
        query = np.zeros(1, ADDRESS_QUERY3 if gfx12 else ADDRESS_QUERY)
        for name, value in self._surface.items():
            if name in (query.dtype.names or ()):
                query[name] = value
        if gfx12:
            self._basis, self._inverse = tables3(self.config)[4:]
            info = np.zeros(2, INFO3)
            status = place_levels3(*tables3(self.config)[:3], query, np.zeros(1, QUERY3), info, mips, places)
        else:
            tables = chip_tables(self.config)
            swizzle = tables.swizzle
            self._basis, self._inverse = swizzle.basis, swizzle.inverse
            info = np.zeros(2, INFO)
            status = place_levels(tables.chip, tables.modes, swizzle.extent, swizzle.lookup, swizzle.number, swizzle.basis, query,
                                  np.zeros(1, QUERY), info, mips, places)
        if status:
            raise_status(status, in_words("surface", self.config.name, **{k: v for k, v in self._surface.items() if k != "num_frags"}))
        places["width"], places["height"] = np.transpose(extents)
        places["width"] *= self._parts
        self._places = places
        self.size = int(info[0]["surf_size"])
        """Bytes of the surface."""
        self.base_align = int(info[0]["base_align"])
        """Alignment of its base, in bytes."""
        self.pitch, self.height, self.slice_size = (int(info[0][name]) for name in ("pitch", "height", "slice_size"))
        """Elements of the padded level 0; bytes of a slice with all its levels."""

    def level_shape(self, mip: int = 0) -> tuple[int, ...]:
        """Return (slices, height, width) of a level in elements, and samples if there are several."""
        self._check_level(mip)
        p = self._places[mip]
        shape = (int(p["depth"]), int(p["height"]), int(p["width"]) // self._parts)
        return (*shape, int(p["samples"])) if p["samples"] > 1 else shape

    def place_in_tail(self, mip: int) -> tuple[int, int]:
        """Return where in the block of the mip tail a level starts, x and y in elements: 0, 0 for levels that are not in it."""
        self._check_level(mip)
        return int(self._places[mip]["x_offset"]), int(self._places[mip]["y_offset"])

    def tables(self, mip: int = 0) -> LevelTables:
        """Return the tables of one level, which are cached."""
        self._check_level(mip)
        if mip not in self._levels:
            place = self._places[mip : mip + 1]
            p = place[0]
            xs, ys, zs, ss = (np.zeros(int(p[n]), np.int64) for n in ("width", "height", "depth", "samples"))
            fill_tables(self._basis, place, xs, ys, zs, ss)
            xs = xs[:: self._parts].copy()
            low = 0 if p["equation"] < 0 else (1 << int(p["block_log2"])) - 1
            self._levels[mip] = LevelTables(xs, ys, zs, ss, low, self._unit(xs, ys, zs, ss), self._micro(low, xs, ys, zs, ss))
        return self._levels[mip]

    def _unit(self, xs: NDArray[np.int64], *others: NDArray[np.int64]) -> int:
        """Return how many bytes lie side by side wherever x is a multiple of as many: at most 16."""
        if self.element_bytes == 12:
            return 4
        unit, taken = self.element_bytes, _bits_of(*others)
        while unit < 16:
            wider = unit * 2
            if taken & (wider - 1) or not lie_side_by_side(xs, self.element_bytes, wider // self.element_bytes):
                break
            unit = wider
        return unit

    def _micro(self, low: int, xs: NDArray[np.int64], ys: NDArray[np.int64], *others: NDArray[np.int64]) -> tuple[int, int]:
        """Return the extent of the largest of the small blocks that repeats all over the level, or (0, 0)."""
        sizes = MICRO_BYTES if low and self.element_bytes in _UNIT_TYPES else ()
        taken = _bits_of(*others)
        for size in sizes:
            if taken & (size - 1):
                continue
            width, height = period(xs, size), period(ys, size)
            if width * height * self.element_bytes == size:
                return width, height
        return 0, 0

    def _check_level(self, mip: int) -> None:
        check_integers("surface", level=mip)
        if not 0 <= mip < len(self._places):
            raise InputError(f"level {mip} of a surface of {len(self._places)}")

    def addresses(
        self, x: ArrayLike, y: ArrayLike, slice: ArrayLike = 0, sample: ArrayLike = 0, mip: int = 0, out: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return byte addresses of texels of one level, relative to the surface; the coordinates broadcast.

        Raises
        ------
        InputError
            If any texel is outside of the level.
        """
        t = self.tables(mip)
        return look_up((t.x, t.y, t.slice, t.sample), t.low, (x, y, slice, sample), out)

    def coordinates(self, addresses: ArrayLike) -> NDArray[Any]:
        """Return the texels at byte addresses, as records `COORDINATES`; a byte of padding has a status other than 0."""
        flat = integers_of(addresses).reshape(-1)
        found = np.zeros(len(flat), COORDINATES)
        coordinates_of_levels(self._basis, self._inverse, self._places, flat, found)
        found["x"] //= self._parts
        return found.reshape(np.shape(addresses))

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Type of an element: an unsigned integer, two of 64 bits, or three of 32 bits."""
        several = {16: (np.uint64, 2), 12: (np.uint32, 3)}
        return np.dtype(several.get(self.element_bytes, f"u{self.element_bytes}"))

    def detile(
        self, memory: NDArray[Any], *, mip: int = 0, region: tuple[slice, slice, slice] | None = None, out: NDArray[Any] | None = None,
        threads: int = 1,
    ) -> NDArray[Any]:
        """Return the texels of a level (or of a region of it) from tiled memory.

        Parameters
        ----------
        memory : numpy.ndarray
            The surface's bytes: C-contiguous, at least `size` bytes, of any type.
        mip : int
            Level.
        region : tuple of slice, optional
            Slices of (slice, y, x), steps of 1; all of the level by default.
        out : numpy.ndarray, optional
            Where to put them: C-contiguous, as many bytes as the texels.
        threads : int
            How many threads share the rows.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array of `dtype`, shape (slices, height, width) (and samples).

        Raises
        ------
        InputError
            If memory is too small, the region is outside of the level, or `out` does not fit. Nothing is written then.
        """
        bounds, shape = self._region(mip, region)
        if out is None:
            out = np.empty((*shape, *self.dtype.shape), self.dtype.base)
        self._check_array(out, shape, "the result")
        if not out.flags.writeable:
            raise InputError("the result is read-only")
        self._move(self._bytes(memory), out, mip, bounds, shape, threads, to_memory=False)
        return out

    def tile(
        self, texels: NDArray[Any], memory: NDArray[Any], *, mip: int = 0, region: tuple[slice, slice, slice] | None = None, threads: int = 1,
    ) -> None:
        """Write the texels of a level (or of a region of it) to tiled memory; parameters and errors as in `detile`."""
        bounds, shape = self._region(mip, region)
        self._check_array(texels, shape, "the texels")
        tiled = self._bytes(memory)
        if not tiled.flags.writeable:
            raise InputError("the memory is read-only")
        self._move(tiled, texels, mip, bounds, shape, threads, to_memory=True)

    def _region(self, mip: int, region: tuple[slice, slice, slice] | None) -> tuple[list[tuple[int, int]], tuple[int, ...]]:
        level = self.level_shape(mip)
        chosen = region if region is not None else (slice(None),) * 3
        if not isinstance(chosen, tuple) or len(chosen) != 3:
            raise InputError("a region has three slices: of slices, rows, columns")
        bounds = []
        for part, size in zip(chosen, level, strict=False):
            if not isinstance(part, slice):
                raise InputError(f"region: a slice of an extent of {size}, not {part!r}")
            first, last = 0 if part.start is None else part.start, size if part.stop is None else part.stop
            check_integers("region", start=first, stop=last)
            if part.step not in (None, 1) or not 0 <= first < last <= size:
                raise InputError(f"region {part} of an extent of {size}")
            bounds.append((first, last))
        return bounds, tuple(last - first for first, last in bounds) + level[3:]

    def _check_array(self, array: NDArray[Any], shape: tuple[int, ...], what: str) -> None:
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous or array.dtype.hasobject:
            raise InputError(f"{what}: not a C-contiguous array of numbers")
        lengths = [array.shape[:n] for n in range(array.ndim + 1)]
        if shape not in lengths or array.nbytes != int(np.prod(shape)) * self.element_bytes:
            raise InputError(f"{what}: {array.shape} of {array.dtype} is not {shape} of {self.element_bytes} bytes each")

    def _bytes(self, memory: NDArray[Any]) -> NDArray[np.uint8]:
        if not isinstance(memory, np.ndarray) or not memory.flags.c_contiguous or memory.dtype.hasobject:
            raise InputError("the memory: not a C-contiguous array of numbers")
        if memory.nbytes < self.size:
            raise InputError(f"the memory: {memory.nbytes} bytes, the surface has {self.size}")
        return memory.reshape(-1).view(np.uint8)[: self.size]

    def _move(
        self, memory: NDArray[np.uint8], texels: NDArray[Any], mip: int, bounds: list[tuple[int, int]], shape: tuple[int, ...],
        threads: int, to_memory: bool,
    ) -> None:
        check_integers("tiling", threads=threads)
        flat = texels.reshape(-1).view(np.uint8)
        jobs: list[tuple[Any, ...]] = []
        tile = self._streamed_tile(memory, flat, mip, bounds, shape, to_memory)
        for left, right, top, bottom, is_tiles in _split(bounds, tile):
            if is_tiles:
                jobs += self._block_jobs(memory, flat, mip, bounds, shape, (left, right, top, bottom), threads, to_memory, tile)
                continue
            for part in _split([bounds[0], (top, bottom), (left, right)], self.tables(mip).micro if len(shape) == 3 else (0, 0)):
                jobs += (self._block_jobs if part[-1] else self._unit_jobs)(memory, flat, mip, bounds, shape, part[:4], threads, to_memory)
        call_all(jobs, threads)

    def _streamed_tile(
        self, memory: NDArray[np.uint8], texels: NDArray[np.uint8], mip: int, bounds: list[tuple[int, int]], shape: tuple[int, ...], to_memory: bool,
    ) -> tuple[int, int]:
        """Return the extent of the tiles that are moved past the caches, or (0, 0) where none are."""
        if len(shape) > 3 or len(texels) < STREAMED_BYTES or self._tile(mip) == (0, 0):
            return 0, 0
        t, element, (width, height) = self.tables(mip), self.element_bytes, self._tile(mip)
        # lines of too many rows push each other out of the caches; small pieces take as long as memory does
        if to_memory and (height > STREAMED_ROWS or t.unit < STREAMED_PIECE):
            return 0, 0
        places = memory.ctypes.data, texels.ctypes.data, shape[2] * element, -bounds[2][0] % width * element
        slices = (t.base(z, 0) & ~t.low for z in range(*bounds[0]))
        aligned = not any(place % VECTOR for place in places) and not any(place % (width * height * element) for place in slices)
        return (width, height) if aligned else (0, 0)

    def _tile(self, mip: int) -> tuple[int, int]:
        """Return the extent of the tiles of a level, (0, 0) where their rows are no lines or their blocks no vectors.

        In memory one tile lies after another, and the small blocks of each are in the order of the first one's, but for bits that are xored to all.
        """
        if mip not in self._tiles:
            t, element = self.tables(mip), self.element_bytes
            has_vectors = t.micro[0] and t.micro[0] * element % VECTOR == 0 and not self._is_morton(mip)
            extents = ((_run(t.x, size, t.low), _run(t.y, size, t.low), size) for size in TILE_BYTES if has_vectors)
            self._tiles[mip] = next(((x, y) for x, y, size in extents if x * y * element == size and x * element % LINE == 0), (0, 0))
        return self._tiles[mip]

    @cached_property
    def _tiles(self) -> dict[int, tuple[int, int]]:
        return {}

    def _block_jobs(
        self, memory: NDArray[np.uint8], texels: NDArray[np.uint8], mip: int, bounds: list[tuple[int, int]], shape: tuple[int, ...],
        part: tuple[int, int, int, int], threads: int, to_memory: bool, tile: tuple[int, int] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Return calls that move a part of whole blocks of one sample; with `tile`, of whole tiles past the caches."""
        t, element = self.tables(mip), self.element_bytes
        (first_z, last_z), (first_y, _), (first_x, _) = bounds
        left, right, top, bottom = part
        is_morton = self._is_morton(mip)
        width, height = (MORTON_EDGE, MORTON_EDGE) if is_morton else t.micro
        size = width * height * element
        pitch = shape[2] * element
        vector = VECTOR if to_memory else min(VECTOR, width * element)
        piece = min(t.unit, vector)
        blocks_x, blocks_y = (table[::extent] & -size for table, extent in zip((t.x, t.y), (width, height), strict=True))
        moving = _MOVING[is_morton, to_memory]
        rest: tuple[Any, ...] = ()
        if tile is not None:
            vectors = (size if to_memory else width * element) // VECTOR
            moving = tile_tiles if to_memory else detile_tiles
            rest = (self._order(mip, piece, pitch, to_memory), height, width * element, _UNIT_TYPES[piece], _UNIT_TYPES[vector],
                    vectors.bit_length() - 1, tile[0] * tile[1] * element, tile[0] // width, tile[1] // height,
                    (memory if to_memory else texels).ctypes.data % LINE)
        elif not is_morton:
            rest = self._order(mip, piece, pitch, to_memory), height, width * element, size, _UNIT_TYPES[piece], _UNIT_TYPES[vector], vector
        jobs: list[tuple[Any, ...]] = []
        for z, (first, last) in product(range(first_z, last_z), _share(top, bottom, threads, tile[1] if tile else height)):
            place = ((z - first_z) * shape[1] + first - first_y) * pitch + (left - first_x) * element
            jobs.append((moving, memory, texels, blocks_x[left // width : right // width], blocks_y[first // height : last // height], t.low,
                         t.base(z, 0), place, pitch, *rest))
        return jobs

    def _unit_jobs(
        self, memory: NDArray[np.uint8], texels: NDArray[np.uint8], mip: int, bounds: list[tuple[int, int]], shape: tuple[int, ...],
        part: tuple[int, int, int, int], threads: int, to_memory: bool,
    ) -> list[tuple[Any, ...]]:
        """Return calls that move any part, unit by unit."""
        t, element = self.tables(mip), self.element_bytes
        (first_z, last_z), (first_y, _), (first_x, _) = bounds
        left, right, top, bottom = part
        samples = shape[3] if len(shape) > 3 else 1
        unit = t.unit if samples == 1 else min(t.unit, element)
        # Rows of texels, and the tiled memory, must consist of whole units; all that is copied must start and end on one.
        edges = (shape[2] * element, self.size, left * element, right * element, (left - first_x) * element)
        while unit > element and any(edge % unit for edge in edges):
            unit //= 2
        tiled, linear = _view(memory, unit), _view(texels, unit)
        source, target = (linear, tiled) if to_memory else (tiled, linear)
        xs, ys = self._in_units(mip, unit)
        jobs: list[tuple[Any, ...]] = []
        for z, s, (first, last) in product(range(first_z, last_z), range(samples), _share(top, bottom, threads, 1)):
            place = (((z - first_z) * shape[1] + first - first_y) * shape[2] + left - first_x) * samples + s
            jobs.append((
                tile_units if to_memory else detile_units, source, target, xs, ys, t.low // unit, t.base(z, s) // unit, place * element // unit,
                shape[2] * samples * element // unit, samples, left * element // unit, right * element // unit, first, last))
        return jobs

    def _is_morton(self, mip: int) -> bool:
        """Whether a level of whole small blocks consists of blocks of 8 x 8 bytes in Morton order."""
        if mip not in self._mortons:
            t, edge = self.tables(mip), MORTON_EDGE
            size = edge * edge
            found = self.element_bytes == 1 and period(t.x, size) == edge and period(t.y, size) == edge
            self._mortons[mip] = found and all(
                t.x[i] & (size - 1) == morton(i, 0) and t.y[i] & (size - 1) == morton(0, i) for i in range(edge))
        return self._mortons[mip]

    @cached_property
    def _mortons(self) -> dict[int, bool]:
        return {}

    @cached_property
    def _scaled(self) -> dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        return {}

    @cached_property
    def _orders(self) -> dict[tuple[int, bool], tuple[tuple[int, int], NDArray[np.uint64]]]:
        return {}

    def _in_units(self, mip: int, unit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tables of x (an entry for every unit of a row) and y in units of the copy."""
        key = mip, unit
        if key not in self._scaled:
            t, element = self.tables(mip), self.element_bytes
            parts = t.x[:, None] // unit + np.arange(element // unit) if unit < element else t.x[:: unit // element] // unit
            self._scaled[key] = np.ascontiguousarray(parts.reshape(-1)), t.y // unit
        return self._scaled[key]

    def _order(self, mip: int, piece: int, pitch: int, to_memory: bool) -> NDArray[np.uint64]:
        """Return where the pieces are, in bytes: in the block, row by row, or in the texels, in the order of the block's bytes.

        Rows of texels are `pitch` bytes apart. The last one of a level is kept.
        """
        known = self._orders.get((mip, to_memory))
        if known is not None and known[0] == (piece, pitch):
            return known[1]
        t, element = self.tables(mip), self.element_bytes
        size = t.micro[0] * t.micro[1] * element
        x, y = np.meshgrid(np.arange(0, t.micro[0] * element, piece), np.arange(t.micro[1]))
        inside = (((t.x[x // element] + x % element) ^ t.y[y]) & (size - 1)).astype(np.uint64)
        if to_memory:
            order = np.zeros(inside.size, np.uint64)
            order[inside // np.uint64(piece)] = y * pitch + x
        else:
            order = inside.reshape(-1)
        self._orders[mip, to_memory] = (piece, pitch), order
        return order


@kernel
def place_levels(
    chips: Table, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, surfaces: Table, q: Table, r: Table, mips: Table,
    places: Table,
) -> int:
    """Lay out a surface and place all of its levels; return the status."""
    a = surfaces[0]
    copy_surface(a, q[0])
    status = lay_out(chips[0], modes, extent, lookup, number, basis, q[0], r[0], mips)
    for level in range(len(places)):
        if status == 0:
            status = place_level(chips[0], modes, extent, lookup, number, q[0], r[0], mips, level, a.pipe_bank_xor, places[level])
    return status


@kernel
def place_levels3(modes: Table, extent: Table, lookup: Table, surfaces: Table, q: Table, r: Table, mips: Table, places: Table) -> int:
    """The same for GFX12, but for levels in the tail of 3D modes: those lie where they do not overlap."""
    status = lay_out3(modes, extent, surfaces[0], q[0], r, mips)
    for level in range(len(places)):
        if status == 0:
            status = place_level3(modes, lookup, q[0], r[0], mips, level, places[level])
            place_in_volume_tail3(modes, q[0], mips, level, places[level])
    return status


def _run(table: NDArray[np.int64], size: int, low: int) -> int:
    """Return after how many entries blocks of `size` bytes end, if all have the entries of the first one, but for xored bits; else 0."""
    inside = size - 1
    ends = np.nonzero((table ^ table[0]) & ~inside)[0]
    length = int(ends[0]) if len(ends) else len(table)
    firsts = np.repeat(table[::length], length)[: len(table)]
    entries = np.resize(table[:length], len(table))
    same = ((table ^ firsts ^ entries ^ table[0]) & inside) | ((table ^ firsts) & ~inside) | ((firsts ^ table[0]) & inside & ~low)
    return 0 if same.any() else length


def _bits_of(*tables: NDArray[np.int64]) -> int:
    """Return the address bits that any entry sets."""
    return int(np.bitwise_or.reduce([np.bitwise_or.reduce(table) for table in tables]))


def _view(array: NDArray[np.uint8], unit: int) -> NDArray[Any]:
    return array[: len(array) // unit * unit].view(_UNIT_TYPES[unit])


def _share(first: int, last: int, threads: int, multiple: int) -> list[tuple[int, int]]:
    """Split rows evenly among threads, into multiples of a block's rows."""
    rows = max(-(-(last - first) // max(threads, 1)), 1)
    rows = -(-rows // max(multiple, 1)) * max(multiple, 1)
    return [(top, min(top + rows, last)) for top in range(first, last, rows)]


def _split(bounds: list[tuple[int, int]], micro: tuple[int, int]) -> list[tuple[int, int, int, int, bool]]:
    """Split a region into whole small blocks and the edges around: (left, right, top, bottom, whether of whole blocks)."""
    _, (top, bottom), (left, right) = bounds
    if not micro[0]:
        return [(left, right, top, bottom, False)]
    x0, x1 = -(-left // micro[0]) * micro[0], right // micro[0] * micro[0]
    y0, y1 = -(-top // micro[1]) * micro[1], bottom // micro[1] * micro[1]
    if x0 >= x1 or y0 >= y1:
        return [(left, right, top, bottom, False)]
    parts = [(left, right, top, y0, False), (left, x0, y0, y1, False), (x0, x1, y0, y1, True), (x1, right, y0, y1, False),
             (left, right, y1, bottom, False)]
    return [p for p in parts if p[0] < p[1] and p[2] < p[3]]
