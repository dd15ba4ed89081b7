"""Texels to tiled memory and back: whole levels, slices, sub-rectangles, samples (GFX9 to GFX12).

An address is a sum of block numbers above the block size and a xor of coordinates below it, so every coordinate has a table of its own,
and a texel costs one look-up: `address = high(x) + high(y) + high(z) + low(x) ^ low(y) ^ low(z) ^ low(s)`. The tables span the level,
because the xor of R_X, Z_X ... reaches beyond a block. Lines of 64 bytes that are the same all over the level are moved whole
(`_core/addrlib/line_copy.h`); elsewhere texels that lie side by side in both places are moved together, up to 16 bytes. Bounds are checked once
per call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco._core.addrlib import lines
from pyaco._core.addrlib.lines import move_lines
from pyaco.addrlib.address_tables import look_up
from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import in_words, raise_status
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.line_order import LINE, LineOrder, line_order
from pyaco.addrlib.placement import PLACE, coordinates_of, equation_offset
from pyaco.addrlib.records import MAX_MIPS, MIP, Table, integers_of
from pyaco.addrlib.threads import call_all
from pyaco.addrlib.v2.address import ADDRESS_QUERY, COORDINATES, copy_surface, lay_out, place_level
from pyaco.addrlib.v2.chip import INFO, QUERY, chip_tables
from pyaco.addrlib.v3.address import ADDRESS_QUERY3, lay_out3, place_in_volume_tail3, place_level3
from pyaco.addrlib.v3.queries import INFO3, QUERY3, tables3
from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["LevelTables", "TiledSurface", "extent_of_block"]

_UNIT_TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
_SURFACE_FIELDS = ("flags", "swizzle_mode", "resource_type", "bpp", "width", "height", "num_slices", "num_mip_levels", "num_samples",
                   "num_frags", "pitch_in_element", "pipe_bank_xor")
VECTOR_BITS = lines.VECTOR_BITS
"""In vectors of how many bits lines move, 512 or 256; 0: piece by piece."""
STREAMED_BYTES = 1 << 23
"""Fewer texels stay in the caches, where they may be wanted next."""
RUN_BYTES = tuple(1 << bits for bits in range(12, 19))
"""Sizes of runs: bytes of memory that are a rectangle of texels, to be written past the caches in one go, where memory begins inside of a cache
line. Two should fit into a cache."""
RUN_WIDTH = 128
"""Bytes of the rows of a run, at least."""
PLANS, PLAN_PARTS = 64, 256
"""How many plans a surface keeps, and of how many parts at most: what moves thousands of slices takes longer than to make its plan."""

Bounds = tuple[tuple[int, int], ...]
"""First and last slice, row and column of a region."""
Part = tuple[int, tuple[Any, ...]]
"""A call that moves a part of a region: bytes of a unit, 0 for lines, and what the kernel takes besides memory and texels."""


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
    target: Table, source: Table, xs: Table, ys: Table, low: int, base: int, place: int, row: int, step: int, left: int, right: int, top: int,
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
    line: tuple[int, int]
    """Width and height of a line of memory in elements; 0, 0 where lines are not of x and y alone, or not the same all over the level."""

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
            self._levels[mip] = LevelTables(xs, ys, zs, ss, low, self._unit(xs, ys, zs, ss), self._line(xs, ys, zs, ss))
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

    def _line(self, xs: NDArray[np.int64], ys: NDArray[np.int64], *others: NDArray[np.int64]) -> tuple[int, int]:
        """Return the extent of a line of a tiled level, or (0, 0)."""
        width, height = extent_of_block(self.element_bytes, LINE, xs, ys, *others) if self.element_bytes in _UNIT_TYPES else (0, 0)
        return (width, height) if height > 1 else (0, 0)

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

    def _region(self, mip: int, region: tuple[slice, slice, slice] | None) -> tuple[Bounds, tuple[int, ...]]:
        """Return the bounds of a region of a level (None: all of it) and the shape of its texels."""
        self._check_level(mip)
        if region is None:
            if mip not in self._whole:
                level = self.level_shape(mip)
                self._whole[mip] = tuple((0, size) for size in level[:3]), level
            return self._whole[mip]
        level = self.level_shape(mip)
        if not isinstance(region, tuple) or len(region) != 3:
            raise InputError("a region has three slices: of slices, rows, columns")
        bounds = []
        for part, size in zip(region, level, strict=False):
            if not isinstance(part, slice):
                raise InputError(f"region: a slice of an extent of {size}, not {part!r}")
            first, last = 0 if part.start is None else part.start, size if part.stop is None else part.stop
            check_integers("region", start=first, stop=last)
            if part.step not in (None, 1) or not 0 <= first < last <= size:
                raise InputError(f"region {part} of an extent of {size}")
            bounds.append((first, last))
        return tuple(bounds), tuple(last - first for first, last in bounds) + level[3:]

    @cached_property
    def _whole(self) -> dict[int, tuple[Bounds, tuple[int, ...]]]:
        return {}

    def _check_array(self, array: NDArray[Any], shape: tuple[int, ...], what: str) -> None:
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous or array.dtype.hasobject:
            raise InputError(f"{what}: not a C-contiguous array of numbers")
        if array.shape[: len(shape)] != shape or array.nbytes != prod(shape) * self.element_bytes:
            raise InputError(f"{what}: {array.shape} of {array.dtype} is not {shape} of {self.element_bytes} bytes each")

    def _bytes(self, memory: NDArray[Any]) -> NDArray[np.uint8]:
        if not isinstance(memory, np.ndarray) or not memory.flags.c_contiguous or memory.dtype.hasobject:
            raise InputError("the memory: not a C-contiguous array of numbers")
        if memory.nbytes < self.size:
            raise InputError(f"the memory: {memory.nbytes} bytes, the surface has {self.size}")
        return memory.reshape(-1).view(np.uint8)[: self.size]

    def _move(
        self, memory: NDArray[np.uint8], texels: NDArray[Any], mip: int, bounds: Bounds, shape: tuple[int, ...], threads: int, to_memory: bool,
    ) -> None:
        check_integers("tiling", threads=threads)
        flat = texels.reshape(-1).view(np.uint8)
        key = mip, bounds, threads, to_memory, len(flat) >= STREAMED_BYTES
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(mip, bounds, shape, threads, to_memory, key[-1])
            if len(self._plans) == PLANS:
                self._plans.clear()
            if len(plan) <= PLAN_PARTS:
                self._plans[key] = plan
        by_units = tile_units if to_memory else detile_units
        call_all([
            (by_units, _view(memory, unit), _view(flat, unit), *arguments) if unit else (move_lines, memory, flat, *arguments, VECTOR_BITS)
            for unit, arguments in plan], threads)

    @cached_property
    def _plans(self) -> dict[tuple[Any, ...], list[Part]]:
        """Plans of calls, which are much the same again and again: for a small level, to make one takes longer than to move the texels."""
        return {}

    def _plan(self, mip: int, bounds: Bounds, shape: tuple[int, ...], threads: int, to_memory: bool, past_caches: bool) -> list[Part]:
        """Return the calls that move a region."""
        plan: list[Part] = []
        has_lines = len(shape) == 3
        run = self._run(mip) if to_memory and past_caches and has_lines else (0, 0, 0)
        for left, right, top, bottom, is_runs in _split(bounds, run[1:]):
            if is_runs:
                plan += self._line_parts(mip, bounds, shape, (left, right, top, bottom), threads, to_memory, past_caches, run)
                continue
            for part in _split((bounds[0], (top, bottom), (left, right)), self.tables(mip).line if has_lines else (0, 0)):
                if part[-1]:
                    plan += self._line_parts(mip, bounds, shape, part[:4], threads, to_memory, past_caches)
                else:
                    plan += self._unit_parts(mip, bounds, shape, part[:4], threads)
        return plan

    def _run(self, mip: int) -> tuple[int, int, int]:
        """Return bytes of a run of a level, and its width and height in elements; (0, 0, 0) where there are none.

        Runs are the same all over the level, but for bits that are xored to all of one, and consist of whole cells of lines.
        """
        if mip not in self._runs:
            t, element = self.tables(mip), self.element_bytes
            extents = ((size, _extent(t.x, size, t.low), _extent(t.y, size, t.low)) for size in RUN_BYTES if t.line[0])
            begin = _bits_of(t.x[:1], t.y[:1], t.slice) & ~t.low                                # slices and levels may begin inside of a run
            are_runs = (
                run for run in extents if run[1] * run[2] * element == run[0] and run[1] * element >= RUN_WIDTH and not begin & run[0] - 1)
            self._runs[mip] = next(are_runs, (0, 0, 0))
        return self._runs[mip]

    @cached_property
    def _runs(self) -> dict[int, tuple[int, int, int]]:
        return {}

    def _line_parts(
        self, mip: int, bounds: Bounds, shape: tuple[int, ...], part: tuple[int, int, int, int], threads: int, to_memory: bool,
        past_caches: bool, run: tuple[int, int, int] = (0, 0, 0),
    ) -> list[Part]:
        """Return calls that move a part of whole lines of one sample; with `run`, of whole runs."""
        t, element = self.tables(mip), self.element_bytes
        (first_z, last_z), (first_y, _), (first_x, _) = bounds
        left, right, top, bottom = part
        width, height = t.line
        pitch = shape[2] * element
        columns, rows = (table[first:last:extent] & -LINE for table, first, last, extent in ((t.x, left, right, width), (t.y, top, bottom, height)))
        of_lines = run[0], run[1] // width, run[2] // height
        parts: list[Part] = []
        for z, (first, last) in product(range(first_z, last_z), _share(top, bottom, threads, run[2] or height)):
            place = ((z - first_z) * shape[1] + first - first_y) * pitch + (left - first_x) * element
            parts.append((0, (columns, rows[(first - top) // height : (last - top) // height], t.low, t.base(z, 0), place, pitch, self._order(mip),
                              to_memory, past_caches, of_lines)))
        return parts

    def _unit_parts(
        self, mip: int, bounds: Bounds, shape: tuple[int, ...], part: tuple[int, int, int, int], threads: int,
    ) -> list[Part]:
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
        xs, ys = self._in_units(mip, unit)
        parts: list[Part] = []
        for z, s, (first, last) in product(range(first_z, last_z), range(samples), _share(top, bottom, threads, 1)):
            place = (((z - first_z) * shape[1] + first - first_y) * shape[2] + left - first_x) * samples + s
            parts.append((unit, (
                xs, ys, t.low // unit, t.base(z, s) // unit, place * element // unit, shape[2] * samples * element // unit, samples,
                left * element // unit, right * element // unit, first, last)))
        return parts

    @cached_property
    def _scaled(self) -> dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        return {}

    def _in_units(self, mip: int, unit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tables of x (an entry for every unit of a row) and y in units of the copy."""
        key = mip, unit
        if key not in self._scaled:
            t, element = self.tables(mip), self.element_bytes
            parts = t.x[:, None] // unit + np.arange(element // unit) if unit < element else t.x[:: unit // element] // unit
            self._scaled[key] = np.ascontiguousarray(parts.reshape(-1)), t.y // unit
        return self._scaled[key]

    def _order(self, mip: int) -> LineOrder:
        t, element = self.tables(mip), self.element_bytes
        width, height = t.line
        x = np.arange(width * element)
        places = (t.x[x // element] + x % element ^ t.y[:height, None]) & LINE - 1
        return line_order(places.astype(np.uint8).tobytes(), height.bit_length() - 1)


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


def extent_of_block(element_bytes: int, size: int, xs: NDArray[np.int64], ys: NDArray[np.int64], *others: NDArray[np.int64]) -> tuple[int, int]:
    """Return the extent of aligned blocks of `size` bytes that are of x and y alone, and the same all over the level; else (0, 0)."""
    if _bits_of(*others) & size - 1:
        return 0, 0
    width, height = period(xs, size), period(ys, size)
    return (width, height) if width * height * element_bytes == size else (0, 0)


def _extent(table: NDArray[np.int64], size: int, low: int) -> int:
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


def _split(bounds: Bounds, block: tuple[int, ...]) -> list[tuple[int, int, int, int, bool]]:
    """Split a region into whole blocks and the edges around: (left, right, top, bottom, whether of whole blocks)."""
    _, (top, bottom), (left, right) = bounds
    if not block[0]:
        return [(left, right, top, bottom, False)]
    x0, x1 = -(-left // block[0]) * block[0], right // block[0] * block[0]
    y0, y1 = -(-top // block[1]) * block[1], bottom // block[1] * block[1]
    if x0 >= x1 or y0 >= y1:
        return [(left, right, top, bottom, False)]
    parts = [(left, right, top, y0, False), (left, x0, y0, y1, False), (x0, x1, y0, y1, True), (x1, right, y0, y1, False),
             (left, right, y1, bottom, False)]
    return [p for p in parts if p[0] < p[1] and p[2] < p[3]]
