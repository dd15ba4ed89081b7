"""Addresses of texels on GFX9 to GFX11.5, the way back, and what is xored to them: pipe-bank xor, slice xor, sub-resource offsets.

Source of the rules: AMD's addrlib (``addrlib2.cpp``, ``gfx9addrlib.cpp``, ``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``), read for facts.
The way back from tiled addresses is ours: the real library has it for linear surfaces only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.arithmetic import fmask_bpp, log2, reverse_bits
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import Status, SurfaceFlags, raise_status
from pyaco.addrlib.formats import ELEMENT_BITS
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.mips import clear_layout
from pyaco.addrlib.placement import PLACE, address_of, coordinates_of, equation_offset
from pyaco.addrlib.records import MAX_MIPS, Record, Table, columns, record, zeroed
from pyaco.addrlib.v2.chip import GFX9, GFX10, GFX11, INFO, QUERY, chip_tables, kernel_tables
from pyaco.addrlib.v2.layout import layout
from pyaco.errors import InputError

__all__ = [
    "ADDRESS_QUERY", "COORDINATES", "Coordinates", "address", "addresses", "coordinates", "linear_coordinates", "only_address", "only_texel",
    "pipe_bank_xor", "pipe_bank_xors", "place_level", "slice_pipe_bank_xor", "slice_pipe_bank_xors", "subresource_offset", "subresource_offsets",
    "texel_coordinates",
]

OK, INVALID, NOT_SUPPORTED = int(Status.OK), int(Status.INVALID_PARAMETERS), int(Status.NOT_SUPPORTED)
FMASK = int(SurfaceFlags.FMASK)

_SURFACE = "flags swizzle_mode resource_type bpp width height num_slices num_mip_levels num_samples num_frags pitch_in_element pipe_bank_xor"
ADDRESS_QUERY = record(f"{_SURFACE} x y slice sample mip_id")
"""A texel of a surface; width, height, x and y in elements."""
INVERSE_QUERY = record(f"{_SURFACE} address")
COORDINATES = record("status x y slice sample mip_id")
XOR_QUERY = record("surf_index flags swizzle_mode resource_type format num_samples num_frags")
SLICE_XOR_QUERY = record("swizzle_mode resource_type bpe base_pipe_bank_xor slice num_samples")
OFFSET_QUERY = record("swizzle_mode resource_type pipe_bank_xor slice slice_size macro_block_offset mip_tail_offset")

# Order in which 16 banks are assigned to surfaces of small and of large elements on GFX9.
BANKS_SMALL = np.array([0, 7, 4, 3, 8, 15, 12, 11, 1, 6, 5, 2, 9, 14, 13, 10])
BANKS_LARGE = np.array([0, 7, 8, 15, 4, 3, 12, 11, 1, 6, 9, 14, 5, 2, 13, 10])
# Order in which banks are assigned on GFX10, by number of bank bits.
BANKS_GFX10 = np.array([[0] * 8, [0, 1] * 4, [0, 2, 1, 3, 2, 0, 3, 1], [0, 4, 2, 6, 1, 5, 3, 7], [0, 8, 4, 12, 2, 10, 6, 14]])
COLUMN_BITS = 2


@kernel
def copy_surface(a: Record, q: Record) -> None:
    """Take the surface of an address query over into a layout query, with its defaults."""
    q.flags = a.flags
    q.swizzle_mode = a.swizzle_mode
    q.resource_type = a.resource_type
    q.format = 0
    q.bpp = a.bpp
    q.width = max(a.width, 1)
    q.height = max(a.height, 1)
    q.num_slices = max(a.num_slices, 1)
    q.num_mip_levels = max(a.num_mip_levels, 1)
    q.num_samples = max(a.num_samples, 1)
    q.num_frags = max(a.num_frags, 1)
    q.pitch_in_element = a.pitch_in_element if a.num_mip_levels <= 1 else 0
    q.slice_align = 0


@kernel
def xor_bits(chip: Record, mode: Record) -> tuple[int, int]:
    """Return (pipe bits, bank bits) that a block of this mode xors."""
    above = mode.block_log2 - chip.pipe_interleave_log2
    pipes = min(above, chip.all_pipes_log2)
    if chip.generation == GFX9:
        return pipes, min(above - pipes, chip.banks_log2)
    return pipes, min(max(above - chip.pipes_log2 - COLUMN_BITS, 0), 4)


@kernel
def check_surface(modes: Table, q: Record) -> bool:
    """Whether layout may be computed: the mode exists, elements are whole bytes, levels fit."""
    return (0 <= q.swizzle_mode < len(modes) and modes[q.swizzle_mode].valid and 8 <= q.bpp <= 128 and q.bpp % 8 == 0
            and q.num_mip_levels <= MAX_MIPS and 0 <= q.resource_type <= 2 and q.num_frags <= 8 and q.num_samples <= 16)


@kernel
def lay_out(chip: Record, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, q: Record, r: Record, mips: Table) -> int:
    """Lay out the surface of an address query; return the status. `r` and `mips` are zeroed here."""
    if not check_surface(modes, q):
        return INVALID
    mode = modes[q.swizzle_mode]
    if not chip.has_fmask:
        q.num_frags = q.num_samples
    if mode.linear:
        if q.num_samples > 1 or q.num_frags > 1:
            return INVALID
    else:
        if chip.generation >= GFX10:
            q.pitch_in_element = 0
        if q.num_frags > 1 and (mode.block_log2 == 8 or q.resource_type == 2):
            return INVALID
    return layout(chip, modes, extent, lookup, basis, q, r, mips)


@kernel
def place_level(
    chip: Record, modes: Table, extent: Table, lookup: Table, number: Table, q: Record, r: Record, mips: Table, mip_id: int, pipe_bank_xor: int,
    p: Record,
) -> int:
    """Fill in the placement of one level of a surface that is laid out; return the status."""
    mode = modes[q.swizzle_mode]
    mip = mips[mip_id]
    p.element_bytes = q.bpp >> 3
    p.width = max(q.width >> mip_id, 1)
    p.height = max(q.height >> mip_id, 1)
    p.depth = max(q.num_slices >> mip_id, 1) if q.resource_type == 2 else q.num_slices
    p.samples = q.num_samples
    p.x_offset = 0
    p.y_offset = 0
    p.flip = 0
    p.depth_log2 = 0
    if mode.linear:
        p.equation = -1
        p.base = mip.offset
        p.pitch = mip.pitch
        p.slice_bytes = r.slice_size
        return OK if pipe_bank_xor == 0 else INVALID
    element = log2(q.bpp >> 3)
    volume = 1 if q.resource_type == 2 else 0
    samples = log2(q.num_samples if chip.generation == GFX9 else q.num_frags)
    p.equation = lookup[volume, q.swizzle_mode, element, samples]
    if p.equation < 0 or (chip.generation >= GFX10 and samples == 0 and number[volume, q.swizzle_mode, element, 0] < 0):
        return INVALID
    p.block_log2 = mode.block_log2
    p.width_log2, p.height_log2, p.depth_log2 = log2(r.block_width), log2(r.block_height), log2(r.block_slices)
    p.base = mip.macro_block_offset
    pipes, banks = xor_bits(chip, mode)
    if chip.generation == GFX9:
        if pipe_bank_xor and (not mode.xor or pipe_bank_xor >> (pipes + banks)):
            return INVALID
        p.flip = (pipe_bank_xor << chip.pipe_interleave_log2) ^ mip.mip_tail_offset
        p.pitch = r.mip_chain_pitch >> p.width_log2
        p.slice_bytes = (p.pitch * (r.mip_chain_height >> p.height_log2)) << p.block_log2
    else:
        if mode.xor:
            mask = ((1 << chip.pipes_log2) - 1) | (((1 << banks) - 1) << (chip.pipes_log2 + COLUMN_BITS))
            p.flip = ((pipe_bank_xor & mask) << chip.pipe_interleave_log2) & ((1 << p.block_log2) - 1)
        p.x_offset = mip.mip_tail_coord_x
        p.y_offset = mip.mip_tail_coord_y
        p.pitch = mip.pitch >> p.width_log2
        p.slice_bytes = r.slice_size * r.block_slices
    return OK


@kernel
def addresses_kernel(
    chips: Table, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, queries: Table, q: Table, r: Table, mips: Table,
    p: Table, status: Table, result: Table,
) -> None:
    """Answer address queries one by one, each with its own surface; `q`, `r`, `mips`, `p` are scratch records."""
    chip = chips[0]
    for i in range(len(queries)):
        a = queries[i]
        copy_surface(a, q[0])
        status[i] = INVALID
        last = a.num_mip_levels if a.num_mip_levels > 0 else 1
        if (not 0 <= a.sample < q[0].num_samples or not 0 <= a.slice < q[0].num_slices or not 0 <= a.mip_id < last or a.x < 0 or a.y < 0
                or (q[0].resource_type == 2 and a.slice >= max(q[0].num_slices >> a.mip_id, 1)) or last > MAX_MIPS):
            continue
        clear_layout(r, mips, last)
        status[i] = lay_out(chip, modes, extent, lookup, number, basis, q[0], r[0], mips)
        if status[i] == OK and modes[q[0].swizzle_mode].linear and q[0].resource_type == 0 and a.y:
            status[i] = INVALID
        if status[i] == OK:
            status[i] = place_level(chip, modes, extent, lookup, number, q[0], r[0], mips, a.mip_id, a.pipe_bank_xor, p[0])
        if status[i] == OK:
            result[i] = address_of(basis, p[0], a.x, a.y, a.slice, a.sample)


@kernel
def coordinates_kernel(
    chips: Table, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, inverse: Table, queries: Table, q: Table, r: Table,
    mips: Table, p: Table, found: Table,
) -> None:
    """Answer the inverse queries one by one."""
    chip = chips[0]
    for i in range(len(queries)):
        a = queries[i]
        c = found[i]
        copy_surface(a, q[0])
        c.status = INVALID
        levels = q[0].num_mip_levels
        if levels > MAX_MIPS:
            continue
        clear_layout(r, mips, levels)
        c.status = lay_out(chip, modes, extent, lookup, number, basis, q[0], r[0], mips)
        if c.status == OK and q[0].num_samples != q[0].num_frags:
            # With fewer fragments than samples, samples share addresses.
            c.status = NOT_SUPPORTED
        if c.status != OK:
            continue
        hit = False
        for level in range(levels):
            c.status = place_level(chip, modes, extent, lookup, number, q[0], r[0], mips, level, a.pipe_bank_xor, p[0])
            if c.status != OK:
                break
            hit, x, y, z, s = coordinates_of(basis, inverse, p[0], a.address)
            if hit:
                c.x, c.y, c.slice, c.sample, c.mip_id = x, y, z, s, level
                break
        if c.status == OK and not hit:
            c.status = INVALID


@kernel
def linear_coordinates_kernel(
    chips: Table, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, queries: Table, q: Table, r: Table, mips: Table,
    found: Table,
) -> None:
    """Answer as addrlib does, which takes every chain of levels for one of GFX9."""
    chip = chips[0]
    for i in range(len(queries)):
        a = queries[i]
        c = found[i]
        copy_surface(a, q[0])
        clear_layout(r, mips, MAX_MIPS)
        c.status = INVALID
        flat = q[0].resource_type == 0
        if (flat and a.height != 1) or not check_surface(modes, q[0]) or not modes[q[0].swizzle_mode].linear:
            continue
        if lay_out(chip, modes, extent, lookup, number, basis, q[0], r[0], mips) != OK:
            continue
        element_bytes = q[0].bpp >> 3
        c.slice = a.address // r[0].slice_size
        rest = a.address % r[0].slice_size
        first = 0
        for level in range(a.num_mip_levels):
            rows = 1 if flat else (q[0].height + (1 << level) - 1) >> level
            size = rows * r[0].pitch * element_bytes
            if first + size > rest:
                c.mip_id = level
                c.x = (rest - first) // element_bytes % r[0].pitch
                c.y = (rest - first) // element_bytes // r[0].pitch
                inside = c.slice < (max(a.num_slices >> level, 1) if q[0].resource_type == 2 else a.num_slices)
                if inside and c.x < max(a.width >> level, 1) and c.y < max(a.height >> level, 1):
                    c.status = OK
                break
            first += size


@kernel
def pipe_bank_xor_kernel(chips: Table, modes: Table, queries: Table, result: Table) -> None:
    """Assign pipe-bank xors to surfaces."""
    chip = chips[0]
    for i in range(len(queries)):
        q = queries[i]
        result[i] = 0
        if not 0 <= q.swizzle_mode < len(modes):
            continue
        mode = modes[q.swizzle_mode]
        if chip.generation >= GFX11 or not mode.xor:
            continue
        pipes, banks = xor_bits(chip, mode)
        if chip.generation >= GFX10:
            if not mode.prt:
                result[i] = BANKS_GFX10[banks, q.surf_index & 7] << (chip.pipes_log2 + COLUMN_BITS)
            continue
        mask = (1 << banks) - 1
        index = q.surf_index & mask
        bank = index
        if banks == 4:
            bpp = fmask_bpp(q.num_samples, q.num_frags) if q.flags & FMASK else ELEMENT_BITS[0, q.format & 255]
            bank = BANKS_SMALL[index] if bpp <= 32 else BANKS_LARGE[index]
        elif banks:
            bank = (index * max((1 << (banks - 1)) - 1, 1)) & mask
        result[i] = bank << pipes


@kernel
def slice_xor(
    chip: Record, modes: Table, lookup: Table, basis: Table, swizzle_mode: int, resource_type: int, bpe: int, base: int, index: int,
) -> tuple[int, int]:
    """Return (status, pipe-bank xor of a slice); thin xor modes only."""
    mode = modes[swizzle_mode]
    if not mode.xor or mode.prt:
        return OK, 0
    pipes, banks = xor_bits(chip, mode)
    if chip.generation == GFX9:
        return OK, base ^ (reverse_bits(index, pipes) | (reverse_bits(index >> pipes, banks) << pipes))
    if bpe == 0:
        return (INVALID, 0) if chip.generation >= GFX11 else (OK, base ^ reverse_bits(index, pipes))
    equation = lookup[1 if resource_type == 2 else 0, swizzle_mode, log2(bpe >> 3), 0]
    if equation < 0 or (chip.generation < GFX11 and swizzle_mode >= 28 and chip.var_block_log2 == 0):
        return (NOT_SUPPORTED, 0) if chip.generation >= GFX11 else (OK, base ^ reverse_bits(index, pipes))
    return OK, base ^ (equation_offset(basis, equation, 0, 0, index, 0) >> chip.pipe_interleave_log2)


@kernel
def slice_xor_kernel(chips: Table, modes: Table, lookup: Table, basis: Table, queries: Table, status: Table, result: Table) -> None:
    """Answer slice xor queries."""
    for i in range(len(queries)):
        q = queries[i]
        result[i] = 0
        status[i] = NOT_SUPPORTED
        if not 0 <= q.swizzle_mode < len(modes):
            status[i] = INVALID
            continue
        mode = modes[q.swizzle_mode]
        thin = q.resource_type == 1 or (q.resource_type == 0 and chips[0].generation >= GFX10) or (q.resource_type == 2 and not mode.thick_3d)
        if not thin or not mode.xor or mode.prt or q.num_samples > 1:
            continue
        status[i] = INVALID
        if q.bpe in (0, 8, 16, 32, 64, 128):
            status[i], result[i] = slice_xor(
                chips[0], modes, lookup, basis, q.swizzle_mode, q.resource_type, q.bpe, q.base_pipe_bank_xor, q.slice)


@kernel
def subresource_kernel(chips: Table, modes: Table, queries: Table, result: Table) -> None:
    """Answer sub-resource offset queries."""
    chip = chips[0]
    for i in range(len(queries)):
        q = queries[i]
        result[i] = q.slice * q.slice_size + q.macro_block_offset
        if chip.generation == GFX9:
            pipes, banks = xor_bits(chip, modes[q.swizzle_mode])
            flip = reverse_bits(q.slice, pipes) | (reverse_bits(q.slice >> pipes, banks) << pipes)
            flip = (flip ^ q.pipe_bank_xor) << chip.pipe_interleave_log2
            result[i] += (q.mip_tail_offset ^ flip) - flip


def addresses(config: GpuConfig, length: int, **fields: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (status, byte address) of texels, each with its own surface (addrlib: ``Addr2ComputeSurfaceAddrFromCoord``).

    `fields` are columns of `ADDRESS_QUERY`. For many texels of one surface use `pyaco.addrlib.tiling.TiledSurface`.
    """
    queries = columns(ADDRESS_QUERY, length, fields)
    status, result = np.zeros(length, np.int64), np.zeros(length, np.int64)
    addresses_kernel(*kernel_tables(config), queries, *zeroed(QUERY, INFO), np.zeros(1, PLACE), status, result)
    return status, result


def coordinates(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[Any]:
    """Return the texels at addresses, as records `COORDINATES`; `fields` are those of `ADDRESS_QUERY` without the texel, and `address`.

    A byte of padding has the status ``INVALID_PARAMETERS``.
    """
    queries = columns(INVERSE_QUERY, length, fields)
    found = np.zeros(length, COORDINATES)
    coordinates_kernel(*kernel_tables(config), chip_tables(config).swizzle.inverse, queries, *zeroed(QUERY, INFO), np.zeros(1, PLACE), found)
    return found


def linear_coordinates(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[Any]:
    """Return what the real library says of linear addresses (``Addr2ComputeSurfaceCoordFromAddr``).

    It takes mip chains of GFX10 and later for chains of GFX9, and so finds other texels than those that `addresses` put there;
    `coordinates` does not.
    """
    queries = columns(INVERSE_QUERY, length, fields)
    found = np.zeros(length, COORDINATES)
    linear_coordinates_kernel(*kernel_tables(config), queries, *zeroed(QUERY, INFO), found)
    return found


def pipe_bank_xors(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[np.int64]:
    """Return pipe-bank xors for surfaces (addrlib: ``Addr2ComputePipeBankXor``); `fields` are columns of `XOR_QUERY`."""
    result = np.zeros(length, np.int64)
    tables = kernel_tables(config)
    pipe_bank_xor_kernel(tables[0], tables[1], columns(XOR_QUERY, length, fields), result)
    return result


def slice_pipe_bank_xors(config: GpuConfig, length: int, **fields: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (status, pipe-bank xor) of slices (addrlib: ``Addr2ComputeSlicePipeBankXor``); `fields` are columns of `SLICE_XOR_QUERY`."""
    status, result = np.zeros(length, np.int64), np.zeros(length, np.int64)
    chip, modes, _, lookup, _, basis = kernel_tables(config)
    slice_xor_kernel(chip, modes, lookup, basis, columns(SLICE_XOR_QUERY, length, fields), status, result)
    return status, result


def subresource_offsets(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[np.int64]:
    """Return byte offsets of (slice, level) (addrlib: ``Addr2ComputeSubResourceOffsetForSwizzlePattern``); `fields`: `OFFSET_QUERY`."""
    result = np.zeros(length, np.int64)
    tables = kernel_tables(config)
    queries = columns(OFFSET_QUERY, length, fields)
    if ((queries["swizzle_mode"] < 0) | (queries["swizzle_mode"] >= len(tables[1]))).any():
        raise InputError("a swizzle mode that is none")
    subresource_kernel(tables[0], tables[1], queries, result)
    return result


class Coordinates(NamedTuple):
    """A texel: x and y in elements."""

    x: int
    y: int
    slice: int
    sample: int
    mip_id: int


def address(config: GpuConfig, **fields: int) -> int:
    """Return the byte address of one texel; the fields of `ADDRESS_QUERY` by name.

    Raises
    ------
    InputError
        If there is no such surface or texel.
    """
    return only_address(config, addresses(config, 1, **fields))


def only_address(config: GpuConfig, found: tuple[NDArray[np.int64], NDArray[np.int64]]) -> int:
    """Return the address of a batch of one, or raise for its status."""
    status, result = found
    if status[0] != OK:
        raise_status(int(status[0]), f"address, {config.name}")
    return int(result[0])


def texel_coordinates(config: GpuConfig, **fields: int) -> Coordinates:
    """Return the texel at one byte address; `address` and the surface's fields of `ADDRESS_QUERY` by name.

    Raises
    ------
    InputError
        If there is no such surface, or no texel at the address.
    """
    return only_texel(config, coordinates(config, 1, **fields))


def only_texel(config: GpuConfig, found: NDArray[Any]) -> Coordinates:
    """Return the texel of a batch of one, or raise for its status."""
    status, *rest = found[0].item()
    if status != OK:
        raise_status(status, f"coordinates, {config.name}")
    return Coordinates(*rest)


def pipe_bank_xor(config: GpuConfig, **fields: int) -> int:
    """Return the pipe-bank xor of one surface; the fields of `XOR_QUERY` by name."""
    return int(pipe_bank_xors(config, 1, **fields)[0])


def slice_pipe_bank_xor(config: GpuConfig, **fields: int) -> int:
    """Return the pipe-bank xor of one slice; the fields of `SLICE_XOR_QUERY` by name."""
    status, result = slice_pipe_bank_xors(config, 1, **fields)
    if status[0] != OK:
        raise_status(int(status[0]), f"slice pipe-bank xor, {config.name}")
    return int(result[0])


def subresource_offset(config: GpuConfig, **fields: int) -> int:
    """Return the byte offset of one (slice, level); the fields of `OFFSET_QUERY` by name."""
    return int(subresource_offsets(config, 1, **fields)[0])
