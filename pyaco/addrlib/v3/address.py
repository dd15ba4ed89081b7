"""Addresses of texels on GFX12, the way back, pipe-bank and slice xor, offsets, possible modes, non-block-compressed views.

Source of the rules: AMD's addrlib (``addrlib3.cpp``, ``gfx12addrlib.cpp``), read for facts. The way back is ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.arithmetic import log2
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import Status, SurfaceFlags3, SwizzleMode3
from pyaco.addrlib.formats import EXPAND_X, EXPAND_Y, PACKING, Packing
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.mips import clear_layout, deinterleave
from pyaco.addrlib.placement import PLACE, address_of, coordinates_of, equation_offset
from pyaco.addrlib.records import MAX_MIPS, Record, Table, columns, record, zeroed
from pyaco.addrlib.v2.address import COORDINATES, Coordinates, only_address, only_texel
from pyaco.addrlib.v2.settings import VIEW, VIEW_QUERY, view_extent, view_query
from pyaco.addrlib.v3.queries import INFO3, QUERY3, layout3, normalize3, tables3

__all__ = [
    "ADDRESS_QUERY3", "address3", "addresses3", "coordinates3", "non_bc_views3", "pipe_bank_xors3", "place_in_volume_tail3", "place_level3",
    "possible_modes3", "slice_pipe_bank_xors3", "subresource_offsets3", "texel_coordinates3",
]

OK, INVALID, NOT_SUPPORTED = int(Status.OK), int(Status.INVALID_PARAMETERS), int(Status.NOT_SUPPORTED)
BLOCK = int(Packing.BLOCK)

_SURFACE = "flags swizzle_mode resource_type bpp width height num_slices num_mip_levels num_samples pitch_in_element"
ADDRESS_QUERY3 = record(f"{_SURFACE} x y slice sample mip_id")
"""A texel of a surface; width, height, x and y in elements."""
INVERSE_QUERY3 = record(f"{_SURFACE} address")
XOR_QUERY3 = record("surf_index swizzle_mode")
SLICE_XOR_QUERY3 = record("swizzle_mode resource_type bpe base_pipe_bank_xor slice num_samples")
OFFSET_QUERY3 = record("slice slice_size macro_block_offset")
MODES_QUERY3 = record("flags resource_type bpp num_samples max_align")


@kernel
def lay_out3(modes: Table, extent: Table, a: Record, q: Record, r: Table, mips: Table) -> int:
    """Lay out the surface of an address query; return the status. `r` (of two) and `mips` are zeroed here."""
    q.flags = a.flags
    q.swizzle_mode = a.swizzle_mode
    q.resource_type = a.resource_type
    q.format = 0
    q.bpp = a.bpp
    q.width = a.width
    q.height = a.height
    q.num_slices = a.num_slices
    q.num_mip_levels = a.num_mip_levels
    q.num_samples = a.num_samples
    q.pitch_in_element = a.pitch_in_element if a.num_mip_levels <= 1 and a.swizzle_mode == 0 else 0
    q.slice_align = 0
    if normalize3(q) != OK or q.bpp % 8 or (modes[q.swizzle_mode].linear and q.num_samples > 1):
        return INVALID
    clear_layout(r, mips, q.num_mip_levels)
    return layout3(modes, extent, q, r[0], mips)


@kernel
def place_level3(modes: Table, lookup: Table, q: Record, r: Record, mips: Table, mip_id: int, p: Record) -> int:
    """Fill in the placement of one level of a surface that is laid out; return the status."""
    mode, mip = modes[q.swizzle_mode], mips[mip_id]
    p.element_bytes = q.bpp >> 3
    p.width = max(q.width >> mip_id, 1)
    p.height = max(q.height >> mip_id, 1)
    p.depth = max(q.num_slices >> mip_id, 1) if q.resource_type == 2 else q.num_slices
    p.samples = q.num_samples
    p.flip = 0
    p.x_offset = mip.mip_tail_coord_x
    p.y_offset = mip.mip_tail_coord_y
    p.depth_log2 = log2(r.block_depth)
    p.base = mip.offset if mode.linear else mip.macro_block_offset
    p.slice_bytes = r.slice_size * r.block_depth
    if mode.linear:
        p.equation = -1
        p.pitch = mip.pitch
        return OK
    p.equation = lookup[0, q.swizzle_mode, log2(q.bpp >> 3), log2(q.num_samples)]
    if p.equation < 0:
        return INVALID
    p.block_log2 = mode.block_log2
    p.width_log2, p.height_log2 = log2(r.block_width), log2(r.block_height)
    p.pitch = mip.pitch >> p.width_log2
    return OK


@kernel
def place_in_volume_tail3(modes: Table, q: Record, mips: Table, mip_id: int, p: Record) -> None:
    """Move a level in the mip tail of a 3D mode to where newer addrlib places it: in steps of the mode's 256-byte blocks.

    Queries answer as the older addrlib does (`pyaco.addrlib.v3.queries.tail3`), which steps by 4 KiB blocks: its levels wrap around in the
    block and share addresses, so contents cannot be kept there. Source: ``gfx12addrlib.cpp`` (``HwlGetMicroBlockSize``) of Mesa 24.3, PAL.
    """
    if modes[q.swizzle_mode].thick_3d:
        bits = 8 - log2(q.bpp >> 3)
        offset = mips[mip_id].mip_tail_offset
        p.x_offset = deinterleave(offset >> 9) << ((bits + 1) // 3)
        p.y_offset = deinterleave(offset >> 8) << (bits // 3)


@kernel
def addresses3_kernel(
    modes: Table, extent: Table, lookup: Table, basis: Table, queries: Table, q: Table, r: Table, mips: Table, p: Table, status: Table,
    result: Table,
) -> None:
    """Answer address queries one by one."""
    for i in range(len(queries)):
        a, s = queries[i], q[0]
        status[i] = lay_out3(modes, extent, a, s, r, mips)
        if status[i] != OK:
            continue
        status[i] = INVALID
        if (not 0 <= a.sample < s.num_samples or not 0 <= a.slice < s.num_slices or not 0 <= a.mip_id < s.num_mip_levels or a.x < 0 or a.y < 0
                or (s.resource_type == 2 and a.slice >= max(s.num_slices >> a.mip_id, 1)) or (s.resource_type == 0 and s.swizzle_mode == 0 and a.y)):
            continue
        status[i] = place_level3(modes, lookup, s, r[0], mips, a.mip_id, p[0])
        if status[i] == OK:
            result[i] = address_of(basis, p[0], a.x, a.y, a.slice, a.sample)


@kernel
def coordinates3_kernel(
    modes: Table, extent: Table, lookup: Table, basis: Table, inverse: Table, queries: Table, q: Table, r: Table, mips: Table, p: Table,
    found: Table,
) -> None:
    """Answer the inverse queries one by one."""
    for i in range(len(queries)):
        a, c, s = queries[i], found[i], q[0]
        c.status = lay_out3(modes, extent, a, s, r, mips)
        if c.status != OK:
            continue
        c.status = INVALID
        for level in range(s.num_mip_levels):
            if place_level3(modes, lookup, s, r[0], mips, level, p[0]) != OK:
                break
            hit, x, y, z, sample = coordinates_of(basis, inverse, p[0], a.address)
            if hit:
                c.status, c.x, c.y, c.slice, c.sample, c.mip_id = OK, x, y, z, sample, level
                break


@kernel
def slice_xor3(
    modes: Table, lookup: Table, basis: Table, swizzle_mode: int, bpe: int, base: int, index: int, num_samples: int, interleave_log2: int,
) -> tuple[int, int]:
    """Return (status, pipe-bank xor of a slice)."""
    if modes[swizzle_mode].block_log2 == 8:
        return OK, 0
    if bpe == 0:
        return INVALID, 0
    equation = lookup[0, swizzle_mode, log2(bpe >> 3), log2(max(num_samples, 1))]
    if equation < 0:
        return NOT_SUPPORTED, 0
    return OK, base ^ (equation_offset(basis, equation, 0, 0, index, 0) >> interleave_log2)


@kernel
def slice_xors3_kernel(modes: Table, lookup: Table, basis: Table, interleave_log2: int, queries: Table, status: Table, result: Table) -> None:
    """Answer slice xor queries."""
    for i in range(len(queries)):
        q = queries[i]
        status[i] = INVALID
        if 0 <= q.swizzle_mode <= 7 and q.bpe in (0, 8, 16, 32, 64, 128) and q.num_samples <= 8:
            status[i], result[i] = slice_xor3(
                modes, lookup, basis, q.swizzle_mode, q.bpe, q.base_pipe_bank_xor, q.slice, q.num_samples, interleave_log2)


@kernel
def views3_kernel(
    modes: Table, extent: Table, lookup: Table, basis: Table, interleave_log2: int, queries: Table, q: Table, r: Table, mips: Table,
    results: Table,
) -> None:
    """Answer non-BC view queries."""
    for i in range(len(queries)):
        v, out, s = queries[i], results[i], q[0]
        out.status = INVALID
        if not 0 <= v.swizzle_mode <= 7 or not 0 <= v.mip_id < v.num_mip_levels <= MAX_MIPS:
            continue
        fmt = v.format & 255
        out.status = NOT_SUPPORTED
        if modes[v.swizzle_mode].thick_3d or PACKING[1, fmt] != BLOCK:
            continue
        view_query(v, fmt, s)
        clear_layout(r, mips, s.num_mip_levels)
        out.status = layout3(modes, extent, s, r[0], mips)
        if out.status != OK:
            continue
        out.offset = v.slice * r[0].slice_size + mips[v.mip_id].macro_block_offset
        _, out.pipe_bank_xor = slice_xor3(modes, lookup, basis, v.swizzle_mode, s.bpp, v.pipe_bank_xor, v.slice, 1, interleave_log2)
        view_extent(v, s.width, s.height, EXPAND_X[1, fmt], EXPAND_Y[1, fmt], r[0].block_width, r[0].block_height,
                    r[0].first_mip_id_in_tail, v.swizzle_mode != 0, out)


def addresses3(config: GpuConfig, length: int, **fields: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (status, byte address) of texels, each with its own surface (addrlib: ``Addr3ComputeSurfaceAddrFromCoord``).

    `fields` are columns of `ADDRESS_QUERY3`. GFX12 applies the pipe-bank xor to the base address, outside of these addresses.
    """
    table, extent, lookup, _, basis, _ = tables3(config)
    status, result = np.zeros(length, np.int64), np.zeros(length, np.int64)
    queries = columns(ADDRESS_QUERY3, length, fields)
    addresses3_kernel(table, extent, lookup, basis, queries, *zeroed(QUERY3, INFO3), np.zeros(1, PLACE), status, result)
    return status, result


def coordinates3(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[Any]:
    """Return the texels at addresses, as records `COORDINATES`; a byte of padding has the status ``INVALID_PARAMETERS``."""
    table, extent, lookup, _, basis, inverse = tables3(config)
    found = np.zeros(length, COORDINATES)
    queries = columns(INVERSE_QUERY3, length, fields)
    coordinates3_kernel(table, extent, lookup, basis, inverse, queries, *zeroed(QUERY3, INFO3), np.zeros(1, PLACE), found)
    return found


def pipe_bank_xors3(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[np.int64]:
    """Return pipe-bank xors for surfaces (addrlib: ``Addr3ComputePipeBankXor``); `fields` are columns of `XOR_QUERY3`."""
    tables3(config)
    queries = columns(XOR_QUERY3, length, fields)
    swizzles = 1 << max(config.pipes_log2 - 2, 0)
    plain = queries["swizzle_mode"] <= SwizzleMode3.SW_256B_2D
    return np.where(plain, 0, queries["surf_index"] % swizzles)


def slice_pipe_bank_xors3(config: GpuConfig, length: int, **fields: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (status, pipe-bank xor) of slices (addrlib: ``Addr3ComputeSlicePipeBankXor``); `fields`: `SLICE_XOR_QUERY3`."""
    table, _, lookup, _, basis, _ = tables3(config)
    status, result = np.zeros(length, np.int64), np.zeros(length, np.int64)
    queries = columns(SLICE_XOR_QUERY3, length, fields)
    slice_xors3_kernel(table, lookup, basis, config.pipe_interleave_log2, queries, status, result)
    return status, result


def subresource_offsets3(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[np.int64]:
    """Return byte offsets of (slice, level) (addrlib: ``Addr3ComputeSubResourceOffsetForSwizzlePattern``); `fields`: `OFFSET_QUERY3`."""
    q = columns(OFFSET_QUERY3, length, fields)
    return np.asarray(q["slice"] * q["slice_size"] + q["macro_block_offset"])


def non_bc_views3(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[Any]:
    """View levels of block-compressed surfaces uncompressed (addrlib: ``Addr3ComputeNonBlockCompressedView``)."""
    table, extent, lookup, _, basis, _ = tables3(config)
    results = np.zeros(length, VIEW)
    queries = columns(VIEW_QUERY, length, fields)
    views3_kernel(table, extent, lookup, basis, config.pipe_interleave_log2, queries, *zeroed(QUERY3, INFO3), results)
    return results


def _mask(*names: str) -> int:
    return sum(1 << SwizzleMode3["LINEAR" if name == "LINEAR" else f"SW_{name}"] for name in names)


_FLAT = _mask("4KB_2D", "64KB_2D", "256KB_2D")
_SMALL = _mask("256B_2D")


def possible_modes3(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[np.int64]:
    """Return sets of `SwizzleMode3` that surfaces may have (addrlib: ``Addr3GetPossibleSwizzleModes``).

    `fields` are columns of `MODES_QUERY3`: flags, resource type, bits per element, samples, largest alignment (bytes, 0: any).
    """
    tables3(config)
    q = columns(MODES_QUERY3, length, fields)

    def flag(name: str) -> NDArray[np.bool_]:
        return np.asarray(q["flags"] & SurfaceFlags3[name] != 0)

    volume, flat = q["resource_type"] == 2, q["resource_type"] == 1
    as_array = flag("VIEW_3D_AS_2D_ARRAY")
    # The first rule that holds decides.
    found = np.select(
        [q["bpp"] == 96, flag("DEPTH") | flag("STENCIL"), flag("HIZ_HIS"), q["num_samples"] > 1, flag("BLOCK_COMPRESSED"),
         q["resource_type"] == 0, flag("NV12") | flag("P010") | flat | as_array, volume],
        [1, _mask("64KB_2D", "256KB_2D"), _FLAT | _SMALL, _FLAT | _SMALL, np.where(volume, 0, _SMALL) | _FLAT | 1, _FLAT | _SMALL | 1,
         np.where(flag("VRS_IMAGE"), 0, 1) | np.where(as_array, 0, _SMALL) | _FLAT, _mask("LINEAR", "4KB_3D", "64KB_3D", "256KB_3D")])
    for size, names in ((1 << 18, ("256KB_2D", "256KB_3D")), (1 << 16, ("64KB_2D", "64KB_3D")), (1 << 12, ("4KB_2D", "4KB_3D")), (256, ("256B_2D",))):
        found &= np.where((q["max_align"] != 0) & (q["max_align"] < size), ~_mask(*names), -1)
    return found


def address3(config: GpuConfig, **fields: int) -> int:
    """Return the byte address of one texel; the fields of `ADDRESS_QUERY3` by name.

    Raises
    ------
    InputError
        If there is no such surface or texel.
    """
    return only_address(config, addresses3(config, 1, **fields))


def texel_coordinates3(config: GpuConfig, **fields: int) -> Coordinates:
    """Return the texel at one byte address; `address` and the surface's fields of `ADDRESS_QUERY3` by name."""
    return only_texel(config, coordinates3(config, 1, **fields))
