"""Surface layout of GFX12: pitch, size, blocks, mip chains and mip tails.

Source of the rules: AMD's addrlib (``addrlib3.cpp``, ``gfx12addrlib.cpp``), read for facts.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.arithmetic import align, log2, shift_ceil
from pyaco.addrlib.checks import check_integers, not_a_chip
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.elements import to_elements, to_pixels
from pyaco.addrlib.enums import Status, in_words, raise_status
from pyaco.addrlib.formats import EXPAND_X, PACKING, Packing, format_table
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.mips import deinterleave, mips_in_tail, set_mip
from pyaco.addrlib.records import MAX_MIPS, MIP, MODE, MipInfo, Record, Scratch, Table, columns, record
from pyaco.addrlib.swizzle import MODES, modes, swizzle_tables
from pyaco.errors import UnsupportedError

__all__ = ["INFO3", "QUERY3", "SurfaceInfo3", "layout3", "surface3_info", "surface3_infos", "tables3"]

OK, INVALID = int(Status.OK), int(Status.INVALID_PARAMETERS)
BLOCK, EXPANDED, SUBSAMPLED = int(Packing.BLOCK), int(Packing.EXPANDED), int(Packing.SUBSAMPLED)
NO_EQUATION = 0xFFFFFFFF
FORMAT_TABLE = format_table(120)
MODE_256B, MODE_4KB_3D = 1, 5

QUERY3 = record("flags swizzle_mode resource_type format bpp width height num_slices num_mip_levels num_samples pitch_in_element slice_align")
"""A surface; units as in `pyaco.addrlib.v2.chip.QUERY`."""

INFO3 = record(
    "status pitch pixel_pitch pixel_height pixel_bits bpp num_slices height slice_size surf_size base_align block_width block_height "
    "block_depth pixel_mip_chain_pitch pixel_mip_chain_height mip_chain_in_tail first_mip_id_in_tail")
"""Layout of a surface. Pitch, height and block in elements; sizes and alignment in bytes."""


@kernel
def normalize3(q: Record) -> int:
    """Fill in defaults and turn pixels into elements, in place; return the status."""
    q.width = max(q.width, 1)
    q.height = max(q.height, 1)
    q.num_slices = max(q.num_slices, 1)
    q.num_mip_levels = max(q.num_mip_levels, 1)
    q.num_samples = max(q.num_samples, 1)
    to_elements(FORMAT_TABLE, q)
    good = (8 <= q.bpp <= 128 and q.num_mip_levels <= MAX_MIPS and q.num_samples <= 8 and 0 <= q.swizzle_mode <= 7
            and 0 <= q.resource_type <= 2)
    return OK if good else INVALID


@kernel
def pitch_and_height(q: Record, linear: bool, trim: bool, r: Record) -> int:
    """Fill in pitch and height, the caller's where it may choose; return the status."""
    element_bytes = q.bpp >> 3
    single = q.num_mip_levels == 1
    r.pitch = align(q.width, 128 // element_bytes if single and trim else r.block_width)
    r.height = align(q.height, r.block_height)
    if linear and single and q.pitch_in_element > 0:
        if q.pitch_in_element % (128 // element_bytes) or q.pitch_in_element < r.pitch:
            return INVALID
        r.pitch = q.pitch_in_element
    if linear and single and q.slice_align > 0:
        custom = q.slice_align // element_bytes // r.pitch
        if custom * element_bytes * r.pitch != q.slice_align or (q.num_slices > 1 and r.height != custom):
            return INVALID
        r.height = custom
    return OK


@kernel
def tail_extent3(mode: Record, r: Record) -> tuple[int, int]:
    """Return (width, height) of the largest level that fits in a mip tail: half of a block."""
    if mode.thick_3d:
        third = mode.block_log2 % 3
        return r.block_width >> (third == 1), r.block_height >> (third == 0)
    return r.block_width >> 1, r.block_height


@kernel
def tail3(mode: Record, extent: Table, q: Record, r: Record, mips: Table, depth: int) -> None:
    """Place the levels of the tail."""
    element, samples = log2(q.bpp >> 3), log2(q.num_samples)
    # The real library's steps: the smallest pitch of 3D levels is that of 256-byte blocks, of 2D levels that of 4 KiB 3D ones.
    micro, volume = extent[0, MODE_256B, element, samples], extent[0, MODE_4KB_3D, element, 0]
    pitch, height = tail_extent3(mode, r)
    depth = align(depth, 1 << volume[2]) if mode.thick_3d else 1
    layers = depth >> volume[2] if mode.thick_3d else 1
    least, place = (micro, volume) if mode.thick_3d else (volume, micro)
    capacity = mips_in_tail(mode.block_log2, mode.thick_3d)
    for i in range(r.first_mip_id_in_tail, q.num_mip_levels):
        step = capacity - 1 - (i - r.first_mip_id_in_tail) if q.num_mip_levels > 1 else 0
        offset = 16 << step if step > 6 else step << 8
        mip = mips[i]
        set_mip(mip, pitch, height, depth, offset * layers, 0)
        mip.mip_tail_offset = offset
        mip.mip_tail_coord_x = deinterleave(offset >> 9) << place[0]
        mip.mip_tail_coord_y = deinterleave(offset >> 8) << place[1]
        pitch, height = max(pitch >> 1, 1 << least[0]), max(height >> 1, 1 << least[1])
        depth = 1 if mode.thick_3d else align(max(depth >> 1, 1), 1 << volume[2])


@kernel
def level_extent3(mode: Record, q: Record, r: Record, trim: bool, level: int) -> tuple[int, int, int]:
    """Return (pitch, rows, bytes of a slice) of a level outside the tail."""
    element_bytes = q.bpp >> 3
    single = mode.linear == 1 and q.num_mip_levels == 1
    own_pitch, own_height = single and q.pitch_in_element > 0, single and q.slice_align > 0
    trimmed = level == 0 and trim
    pitch = r.pitch if own_pitch else align(shift_ceil(q.width, level), 128 // element_bytes if trimmed else r.block_width)
    rows = r.height if own_height else align(shift_ceil(q.height, level), r.block_height)
    size = pitch * rows * q.num_samples * element_bytes
    if not own_pitch and trimmed and size % 256:
        # What follows a slice starts on 256 bytes.
        size = align(size, 256)
    if mode.linear == 1 and not own_pitch:
        pitch = align(shift_ceil(q.width, level), 128 // element_bytes)
    return pitch, rows, size


@kernel
def levels3(mode: Record, extent: Table, q: Record, r: Record, mips: Table, trim: bool) -> None:
    """Fill in the levels, and the sizes that follow from them."""
    volume = q.resource_type == 2
    linear = mode.linear == 1
    tail_width, tail_height = tail_extent3(mode, r)
    capacity = mips_in_tail(mode.block_log2, mode.thick_3d) if mode.block_log2 > 8 else 1
    first = q.num_mip_levels
    chain = 0
    for i in range(q.num_mip_levels):
        width, height = shift_ceil(q.width, i), shift_ceil(q.height, i)
        depth = shift_ceil(q.num_slices if volume else 1, i)
        if mode.block_log2 > 8 and width <= tail_width and height <= tail_height and q.num_mip_levels - i <= capacity:
            first = i
            chain += (1 << mode.block_log2) // r.block_depth
            break
        mip = mips[i]
        mip.pitch, mip.height, size = level_extent3(mode, q, r, trim, i)
        mip.depth = align(depth, r.block_depth)
        chain += size
    r.slice_size = chain
    r.surf_size = chain * r.num_slices
    r.mip_chain_in_tail = first == 0
    r.first_mip_id_in_tail = first
    offset = macro_block_offset = 0
    if first != q.num_mip_levels:
        depth = shift_ceil(q.num_slices if volume else 1, first)
        offset = (1 << mode.block_log2) * (align(depth, r.block_depth) // r.block_depth)
        macro_block_offset = 1 << mode.block_log2
        tail3(mode, extent, q, r, mips, depth)
    for i in range(first - 1, -1, -1):
        mip = mips[i]
        _, _, size = level_extent3(mode, q, r, trim, i)
        mip.offset = macro_block_offset if linear else offset
        mip.macro_block_offset = macro_block_offset
        offset += size * mip.depth
        macro_block_offset += size * r.block_depth


@kernel
def layout3(modes: Table, extent: Table, q: Record, r: Record, mips: Table) -> int:
    """Lay out a normalized query; return the status."""
    mode = modes[q.swizzle_mode]
    samples = 0 if mode.thick_3d or mode.linear else log2(q.num_samples)
    e = extent[0, q.swizzle_mode, log2(q.bpp >> 3), samples]
    r.block_width, r.block_height, r.block_depth = 1 << e[0], 1 << e[1], 1 << e[2]
    # A linear image of one slice needs a pitch of 128 bytes only.
    trim = q.resource_type != 2 and q.num_slices <= 1 and mode.linear == 1
    status = pitch_and_height(q, mode.linear == 1, trim, r)
    if status != OK:
        return status
    r.num_slices = align(q.num_slices, r.block_depth)
    r.base_align = 1 << mode.block_log2
    levels3(mode, extent, q, r, mips, trim)
    return OK


@kernel
def surfaces3_kernel(modes: Table, extent: Table, number: Table, queries: Table, infos: Table, mips: Table) -> None:
    """Answer many queries; the results are zero on entry."""
    for i in range(len(queries)):
        q, r = queries[i], infos[i]
        r.status = normalize3(q)
        if r.status == OK:
            r.status = layout3(modes, extent, q, r, mips[i])
        if r.status != OK:
            continue
        r.bpp = q.bpp
        r.pixel_pitch = r.pitch
        r.pixel_height = r.height
        if q.format:
            r.pixel_pitch = to_pixels(FORMAT_TABLE, q, r.pitch, True)
            r.pixel_height = to_pixels(FORMAT_TABLE, q, r.height, False)
            # The real library fills these in for compressed formats only.
            r.pixel_bits = q.bpp if PACKING[1, q.format] == BLOCK else 0
            r.pixel_mip_chain_pitch = 1 if EXPAND_X[1, q.format] >= 1 else 0
            r.pixel_mip_chain_height = 1
            if q.num_mip_levels > 1:
                for level in range(q.num_mip_levels):
                    mips[i, level].pixel_pitch = to_pixels(FORMAT_TABLE, q, mips[i, level].pitch, True)
                    mips[i, level].pixel_height = to_pixels(FORMAT_TABLE, q, mips[i, level].height, False)
        equation = number[0, q.swizzle_mode, log2(q.bpp >> 3), log2(q.num_samples)] if q.resource_type else -1
        for level in range(q.num_mip_levels):
            mips[i, level].equation_index = equation if equation >= 0 else NO_EQUATION


@cache
def tables3(config: GpuConfig) -> tuple[Table, Table, Table, Table, Table, Table]:
    """Return what the kernels of GFX12 read of a chip: modes, extents, equations by key, numbers, basis, inverse."""
    if config.rules.library != 3:
        raise UnsupportedError(f"{config.name}: these queries are for GFX12")
    table = np.zeros(MODES, MODE)
    for mode in modes(config).values():
        table[mode.number]["valid"] = 1
        table[mode.number]["linear"] = mode.kind == "L"
        table[mode.number]["block_log2"] = mode.block_log2
        table[mode.number]["xor"] = mode.xor
        table[mode.number]["thick_3d"] = mode.kind == "3"
    swizzle = swizzle_tables(config)
    return table, swizzle.extent, swizzle.lookup, swizzle.number, swizzle.basis, swizzle.inverse


def surface3_infos(config: GpuConfig, length: int, **fields: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lay out many surfaces of a GFX12 chip (addrlib: ``Addr3ComputeSurfaceInfo``).

    `fields` are columns of `QUERY3`. Returns records `INFO3`, and `MIP` of shape (length, most levels of any surface).
    """
    queries = columns(QUERY3, length, fields)
    levels = min(max(int(queries["num_mip_levels"].max(initial=1)), 1), MAX_MIPS)
    infos, mips = np.zeros(length, INFO3), np.zeros((length, levels), MIP)
    table, extent, _, number, *_ = tables3(config)
    surfaces3_kernel(table, extent, number, queries, infos, mips)
    return infos, mips


class SurfaceInfo3(NamedTuple):
    """Layout of a surface of GFX12: see `INFO3` for units."""

    status: int
    pitch: int
    pixel_pitch: int
    pixel_height: int
    pixel_bits: int
    bpp: int
    num_slices: int
    height: int
    slice_size: int
    surf_size: int
    base_align: int
    block_width: int
    block_height: int
    block_depth: int
    pixel_mip_chain_pitch: int
    pixel_mip_chain_height: int
    mip_chain_in_tail: int
    first_mip_id_in_tail: int


_scratch = Scratch(QUERY3, INFO3)


def surface3_info(
    config: GpuConfig, *, width: int, height: int = 1, swizzle_mode: int = 0, bpp: int = 0, format: int = 0, resource_type: int = 1,
    num_slices: int = 1, num_mip_levels: int = 1, num_samples: int = 1, flags: int = 0, pitch_in_element: int = 0, slice_align: int = 0,
) -> tuple[SurfaceInfo3, list[MipInfo]]:
    """Lay out one surface of a GFX12 chip; parameters as in `pyaco.addrlib.surface_info`, with `SwizzleMode3` and `SurfaceFlags3`.

    Raises
    ------
    InputError
        If the chip has no such surface.
    """
    check_integers(
        "surface info", width=width, height=height, swizzle_mode=swizzle_mode, resource_type=resource_type, flags=flags, bpp=bpp, format=format,
        num_slices=num_slices, num_mip_levels=num_mip_levels, num_samples=num_samples, pitch_in_element=pitch_in_element,
        slice_align=slice_align)
    scratch = _scratch
    levels = max(num_mip_levels, 1)
    scratch.query_row[:] = (
        flags, swizzle_mode, resource_type, format, bpp, width, height, num_slices, num_mip_levels, num_samples, pitch_in_element, slice_align)
    scratch.info_row.fill(0)
    scratch.mip_rows[:levels] = 0
    try:
        table, extent, _, number, *_ = tables3(config)
    except (AttributeError, TypeError):
        raise not_a_chip(config) from None
    surfaces3_kernel(table, extent, number, scratch.query, scratch.info, scratch.mips)
    result = SurfaceInfo3(*scratch.info_row.tolist())
    if result.status != OK:
        raise_status(result.status, in_words(
            "surface info", config.name, width=width, height=height, format=format, bpp=bpp, swizzle_mode=swizzle_mode,
            resource_type=resource_type, num_slices=num_slices, num_mip_levels=num_mip_levels, num_samples=num_samples, flags=flags))
    return result, [MipInfo(*row) for row in scratch.mip_rows[:levels].tolist()]
