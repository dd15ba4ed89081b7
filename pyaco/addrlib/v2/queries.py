"""Queries for the layout of surfaces of GFX9 to GFX11.5: one, or many at once.

One kernel answers one query; the batched and the scalar functions call it. Source of the rules: AMD's addrlib (``addrlib2.cpp``), read
for facts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.arithmetic import log2
from pyaco.addrlib.checks import check_integers, not_a_chip
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.elements import to_pixels
from pyaco.addrlib.enums import Status, SurfaceFlags, SwizzleMode, in_words, raise_status
from pyaco.addrlib.formats import EXPAND_X, PACKING, Packing
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import MAX_MIPS, MIP, MipInfo, Record, Scratch, Table, columns
from pyaco.addrlib.v2.chip import INFO, QUERY, kernel_tables
from pyaco.addrlib.v2.layout import layout, normalize
from pyaco.addrlib.v2.validity import valid_mode, valid_without_mode
from pyaco.arguments import checked

__all__ = ["SurfaceInfo", "surface_info", "surface_infos", "surface_kernel"]

OK, INVALID = int(Status.OK), int(Status.INVALID_PARAMETERS)
NEED_EQUATION, STEREO = int(SurfaceFlags.NEED_EQUATION), int(SurfaceFlags.QB_STEREO)
LINEAR_GENERAL = int(SwizzleMode.LINEAR_GENERAL)
EXPANDED, BITS = int(Packing.EXPANDED), int(Packing.BITS)
NO_EQUATION = 0xFFFFFFFF


@kernel
def surface_kernel(chip: Record, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, q: Record, r: Record, mips: Table) -> None:
    """Answer one query; `q` is normalized in place."""
    r.status = normalize(chip.format_table, q)
    if r.status == OK and not (valid_without_mode(chip, q) and valid_mode(chip, modes, q)):
        r.status = INVALID
    if r.status == OK:
        r.status = layout(chip, modes, extent, lookup, basis, q, r, mips)
    if r.status != OK:
        return
    r.bpp = q.bpp
    r.pixel_bits = q.bpp
    r.pixel_pitch = r.pitch
    r.pixel_height = r.height
    r.pixel_mip_chain_pitch = r.mip_chain_pitch
    r.pixel_mip_chain_height = r.mip_chain_height
    if q.format:
        table = chip.format_table
        expand = EXPAND_X[table, q.format]
        if PACKING[table, q.format] == EXPANDED:
            r.pixel_bits = q.bpp * expand
        elif PACKING[table, q.format] == BITS:
            r.pixel_bits = q.bpp // expand
        r.pixel_pitch = to_pixels(table, q, r.pitch, True)
        r.pixel_height = to_pixels(table, q, r.height, False)
        r.pixel_mip_chain_pitch = to_pixels(table, q, r.mip_chain_pitch, True)
        r.pixel_mip_chain_height = to_pixels(table, q, r.mip_chain_height, False)
        if q.num_mip_levels > 1:
            for i in range(q.num_mip_levels):
                mips[i].pixel_pitch = to_pixels(table, q, mips[i].pitch, True)
                mips[i].pixel_height = to_pixels(table, q, mips[i].height, False)
    if q.flags & NEED_EQUATION and q.num_frags == 1:
        index = -1
        if q.resource_type and q.swizzle_mode < LINEAR_GENERAL:
            index = number[q.resource_type - 1, q.swizzle_mode, log2(q.bpp >> 3), 0]
        r.equation_index = index if index >= 0 else NO_EQUATION
        for i in range(q.num_mip_levels):
            mips[i].equation_index = r.equation_index
    if q.flags & STEREO:
        r.eye_height = r.height
        r.right_offset = r.surf_size
        r.height *= 2
        r.pixel_height *= 2
        r.surf_size *= 2
        r.slice_size *= 2


@kernel
def surfaces_kernel(
    chips: Table, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, queries: Table, infos: Table, mips: Table,
) -> None:
    """Answer many queries of one chip; the results are zero on entry."""
    chip = chips[0]
    for i in range(len(queries)):
        surface_kernel(chip, modes, extent, lookup, number, basis, queries[i], infos[i], mips[i])


class SurfaceInfo(NamedTuple):
    """Layout of a surface: see `INFO` for units."""

    status: int
    pitch: int
    height: int
    num_slices: int
    mip_chain_pitch: int
    mip_chain_height: int
    mip_chain_slice: int
    slice_size: int
    surf_size: int
    base_align: int
    bpp: int
    pixel_mip_chain_pitch: int
    pixel_mip_chain_height: int
    pixel_pitch: int
    pixel_height: int
    pixel_bits: int
    block_width: int
    block_height: int
    block_slices: int
    epitch_is_height: int
    equation_index: int
    mip_chain_in_tail: int
    first_mip_id_in_tail: int
    eye_height: int
    right_offset: int
    right_swizzle: int

_scratch = Scratch(QUERY, INFO)


@checked
def surface_infos(config: GpuConfig, length: int, **fields: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lay out many surfaces of one chip (addrlib: ``Addr2ComputeSurfaceInfo``).

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX9 to GFX11.5.
    length : int
        How many surfaces.
    **fields : array_like
        Columns of `QUERY`, each of that length or a scalar; missing ones are 0.

    Returns
    -------
    infos : numpy.ndarray
        Records `INFO`; a record's `status` is a `Status`, and its other fields count only when that is OK.
    mips : numpy.ndarray
        Records `MIP`, shape (length, most levels of any surface).
    """
    queries = columns(QUERY, length, fields)
    # A level count beyond the limit is an error of that record, found by the kernel before it writes a level.
    levels = min(max(int(queries["num_mip_levels"].max(initial=1)), 1), MAX_MIPS)
    infos, mips = np.zeros(length, INFO), np.zeros((length, levels), MIP)
    surfaces_kernel(*kernel_tables(config), queries, infos, mips)
    return infos, mips


def surface_info(
    config: GpuConfig, *, width: int, height: int = 1, swizzle_mode: int = 0, bpp: int = 0, format: int = 0, resource_type: int = 1,
    num_slices: int = 1, num_mip_levels: int = 1, num_samples: int = 1, num_frags: int = 0, flags: int = 0, pitch_in_element: int = 0,
    slice_align: int = 0,
) -> tuple[SurfaceInfo, list[MipInfo]]:
    """Lay out one surface (addrlib: ``Addr2ComputeSurfaceInfo``).

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX9 to GFX11.5.
    width, height : int
        Pixels of level 0.
    swizzle_mode, resource_type, flags : int
        `SwizzleMode`, `ResourceType`, `SurfaceFlags`.
    bpp, format : int
        Bits per element, or a `Format` (which wins).
    num_slices, num_mip_levels, num_samples, num_frags : int
        Slices (depth of 3D), levels, samples, and fragments (0: as many as samples).
    pitch_in_element, slice_align : int
        Pitch in elements and slice size in bytes that the caller demands, or 0.

    Returns
    -------
    info : SurfaceInfo
    mips : list of MipInfo
        One per level.

    Raises
    ------
    InputError
        If the chip has no such surface.
    """
    check_integers(
        "surface info", width=width, height=height, swizzle_mode=swizzle_mode, resource_type=resource_type, flags=flags, bpp=bpp, format=format,
        num_slices=num_slices, num_mip_levels=num_mip_levels, num_samples=num_samples, num_frags=num_frags, pitch_in_element=pitch_in_element,
        slice_align=slice_align)
    levels = max(num_mip_levels, 1)
    scratch = _scratch
    scratch.query_row[:] = (
        flags, swizzle_mode, resource_type, format, bpp, width, height, num_slices, num_mip_levels, num_samples, num_frags,
        pitch_in_element, slice_align)
    scratch.info_row.fill(0)
    scratch.mip_rows[:levels] = 0
    try:
        tables = kernel_tables(config)
    except (AttributeError, TypeError):
        raise not_a_chip(config) from None
    surfaces_kernel(*tables, scratch.query, scratch.info, scratch.mips)
    result = SurfaceInfo(*scratch.info_row.tolist())
    if result.status != OK:
        raise_status(result.status, in_words(
            "surface info", config.name, width=width, height=height, format=format, bpp=bpp, swizzle_mode=swizzle_mode,
            resource_type=resource_type, num_slices=num_slices, num_mip_levels=num_mip_levels, num_samples=num_samples, num_frags=num_frags,
            flags=flags))
    return result, [MipInfo(*row) for row in scratch.mip_rows[:levels].tolist()]
