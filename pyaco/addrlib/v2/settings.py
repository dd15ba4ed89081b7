"""Which swizzle mode to use on GFX9 to GFX11.5: the preferred setting, the possible modes, what displays scan out, non-BC views.

Source of the rules: AMD's addrlib (``gfx9addrlib.cpp``, ``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``, ``addrinterface.cpp``), read for facts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.arithmetic import align, ceil_div, fmask_bpp, log2, shift_ceil
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.elements import to_elements
from pyaco.addrlib.enums import Status, SurfaceFlags, raise_status
from pyaco.addrlib.formats import ELEMENT_BITS, EXPAND_X, EXPAND_Y, PACKING, Format, Packing
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.mips import clear_layout
from pyaco.addrlib.records import MAX_MIPS, Record, Table, columns, record, zeroed
from pyaco.addrlib.v2.address import slice_xor
from pyaco.addrlib.v2.chip import GFX9, GFX10, GFX11, INFO, LINEAR, MICRO, QUERY, THICK_64KB, THIN_64KB, THIN_LARGE, chip_tables, kernel_tables
from pyaco.addrlib.v2.layout import layout
from pyaco.addrlib.v2.validity import display_set, valid_without_mode

__all__ = [
    "SETTING", "SETTING_QUERY", "VIEW", "VIEW_QUERY", "NonBcView", "SurfaceSetting", "displayable", "non_bc_view", "non_bc_views",
    "possible_modes", "preferred_setting", "preferred_settings", "view_extent", "view_query",
]

OK, INVALID, NOT_SUPPORTED = int(Status.OK), int(Status.INVALID_PARAMETERS), int(Status.NOT_SUPPORTED)
COLOR, DEPTH, STENCIL, FMASK = (int(f) for f in (SurfaceFlags.COLOR, SurfaceFlags.DEPTH, SurfaceFlags.STENCIL, SurfaceFlags.FMASK))
DISPLAY, ROTATED, PRT, TEXTURE = (int(f) for f in (SurfaceFlags.DISPLAY, SurfaceFlags.ROTATED, SurfaceFlags.PRT, SurfaceFlags.TEXTURE))
UNORDERED, NEED_EQUATION = int(SurfaceFlags.UNORDERED), int(SurfaceFlags.NEED_EQUATION)
FOR_SPACE, MINIMIZE_ALIGN = int(SurfaceFlags.OPTIMIZE_FOR_SPACE), int(SurfaceFlags.MINIMIZE_ALIGN)
NO_METADATA, VIEW_3D_AS_2D = int(SurfaceFlags.NO_METADATA), int(SurfaceFlags.VIEW_3D_AS_2D_ARRAY)
META_UNALIGNED = int(SurfaceFlags.META_RB_UNALIGNED | SurfaceFlags.META_PIPE_UNALIGNED)
SUBSAMPLED, BLOCK = int(Packing.SUBSAMPLED), int(Packing.BLOCK)
FMT_32_32_32 = int(Format.FMT_32_32_32)
Z_ONLY, ALL_TYPES = 1, 15
SW_64KB_Z_X, SW_VAR_Z_X = 24, 28

SETTING_QUERY = record(
    "flags resource_type format resource_location forbidden_block preferred_sw_set no_xor bpp width height num_slices num_mip_levels "
    "num_samples num_frags max_align min_size_align memory_budget_x1000")
"""What a surface is for. `forbidden_block` is a `BlockSet`; `preferred_sw_set` has a bit per `SwizzleType` (0: any); `memory_budget_x1000`
is how many times the smallest size may be spent, in thousandths (0: by ratio)."""

SETTING = record(
    "status swizzle_mode resource_type valid_block_set can_xor valid_sw_type_set client_preferred_sw_set valid_sw_mode_set")
"""The mode chosen, and the sets (bit masks of blocks, types, modes) it was chosen from."""

VIEW_QUERY = record("flags swizzle_mode resource_type format width height num_slices num_mip_levels pipe_bank_xor slice mip_id")
VIEW = record("status offset pipe_bank_xor unaligned_width unaligned_height num_mip_levels mip_id")


@kernel
def fits(smallest: int, size: int, low: int, high: int, budget: float, bigger: bool) -> bool:
    """Whether a block type whose surface takes `size` bytes may replace one that takes `smallest`."""
    if budget >= 1.0:
        return size / smallest <= budget if bigger else smallest / size > budget
    return size * high <= smallest * low if bigger else size * low < smallest * high


@kernel
def block_set(chip: Record, volume: int, allowed: int) -> int:
    """Return the block types of a set of modes, as a `BlockSet`."""
    result = 0
    for block in range(1, 8):
        if allowed & chip.blocks[volume, block]:
            result |= 1 << (block - 1)
    return result | (128 if allowed & chip.blocks[volume, LINEAR] else 0)


@kernel
def type_set(chip: Record, allowed: int) -> int:
    """Return the swizzle types of a set of modes."""
    return ((allowed & chip.set_z != 0) | (allowed & chip.set_s != 0) << 1 | (allowed & chip.set_d != 0) << 2
            | (allowed & chip.set_r != 0) << 3)


@kernel
def client_modes(chip: Record, s: Record, volume: int) -> int:
    """Return the modes that the caller does not rule out."""
    allowed = 0
    for block in range(8):
        if not s.forbidden_block >> ((block - 1) & 7) & 1:
            allowed |= chip.blocks[volume, block]
    if s.preferred_sw_set:
        if not s.preferred_sw_set & 1:
            allowed &= ~chip.set_z
        if not s.preferred_sw_set & 2:
            allowed &= ~chip.set_s
        if not s.preferred_sw_set & 4:
            allowed &= ~chip.set_d
        if not s.preferred_sw_set & 8:
            allowed &= ~chip.set_r
    if s.no_xor:
        allowed &= ~chip.set_xor
    return allowed


@kernel
def drop_aligned(modes: Table, allowed: int, max_align: int) -> int:
    """Remove the modes whose blocks are larger than the alignment the caller can give."""
    if max_align > 0:
        for mode in range(1, 32):
            if allowed >> mode & 1 and (1 << modes[mode].block_log2) > max_align:
                allowed &= ~(1 << mode)
    return allowed


@kernel
def hardware_modes(chip: Record, q: Record, allowed: int) -> int:
    """Remove the modes that the chip cannot use for this resource."""
    flags, volume = q.flags, q.resource_type == 2
    packing = PACKING[chip.format_table, q.format & 255]
    msaa = q.num_frags > 1 or q.num_samples > 1
    if q.resource_type == 0:
        allowed &= chip.set_rsrc_1d
    elif not volume:
        allowed &= chip.set_prt_2d if flags & PRT else chip.set_rsrc_2d
        if chip.generation == GFX9 and q.bpp > 64:
            allowed &= ~(chip.set_r | chip.set_z)
    else:
        allowed &= chip.set_prt_3d if flags & PRT else chip.set_rsrc_3d
        if chip.generation == GFX9:
            if q.num_mip_levels > 1 and q.num_slices >= q.width and q.num_slices >= q.height:
                allowed &= ~chip.set_d
            if q.bpp == 128 and flags & COLOR:
                allowed &= ~chip.set_s
        if flags & VIEW_3D_AS_2D:
            allowed &= chip.set_view_3d_as_2d
    if q.format == FMT_32_32_32:
        allowed &= chip.set_linear
    if chip.generation == GFX9 and packing == BLOCK:
        allowed &= chip.set_s | chip.set_d | (0 if flags & TEXTURE else chip.set_linear)
    large_elements = packing == BLOCK or q.bpp > 64
    if packing == SUBSAMPLED or (msaa and (q.bpp > 32 or flags & (COLOR | UNORDERED))) or (chip.generation >= GFX10 and large_elements):
        allowed &= ~chip.set_z
    if flags & (DEPTH | STENCIL) or (chip.generation == GFX9 and flags & FMASK):
        allowed &= chip.set_z
        if chip.generation == GFX9 and not flags & NO_METADATA:
            if flags & DEPTH and flags & TEXTURE and ((q.bpp == 16 and q.num_frags >= 4) or (q.bpp == 32 and q.num_frags >= 2)):
                # The texture unit would read the compressed depth of xor modes from wrong addresses.
                allowed &= ~chip.set_xor
            if chip.htile_cache_conflict and flags & (DEPTH | STENCIL) and q.num_slices > 1 and not flags & META_UNALIGNED:
                allowed &= ~chip.set_x
    if msaa:
        allowed &= chip.set_msaa
    if chip.generation == GFX9:
        if q.num_frags > 1 and (1 << chip.pipe_interleave_log2) * q.num_frags > 4096:
            allowed &= chip.blocks[0, THIN_64KB]
        if q.num_mip_levels > 1:
            allowed &= ~chip.blocks[0, MICRO]
    if flags & DISPLAY or (chip.generation == GFX9 and flags & ROTATED):
        allowed &= 0 if chip.generation >= GFX10 and q.bpp > chip.display_max_bpp else display_set(chip, q.bpp)
    return allowed


@kernel
def drop_without_equation(number: Table, resource_type: int, bpp: int, allowed: int) -> int:
    """Remove the modes without a numbered equation, unless none would be left."""
    kept = allowed
    if resource_type:
        for mode in range(32):
            if allowed >> mode & 1 and number[resource_type - 1, mode, log2(bpp >> 3), 0] < 0:
                kept &= ~(1 << mode)
    return kept if kept else allowed


@kernel
def probe_sizes(
    chip: Record, modes: Table, extent: Table, lookup: Table, basis: Table, q: Record, r: Table, mips: Table, volume: int, blocks: int, low: int,
    high: int, sizes: Table,
) -> int:
    """Fill in the size of the surface with each block type; return the type that is large yet wastes little, or -1: no such surface."""
    best, smallest = MICRO, 0
    for block in range(8):
        sizes[block] = 0
        if not blocks >> ((block - 1) & 7) & 1:
            continue
        q.swizzle_mode = chip.probe[volume, block]
        clear_layout(r, mips, q.num_mip_levels)
        if layout(chip, modes, extent, lookup, basis, q, r[0], mips) != OK:
            return -1
        sizes[block] = r[0].surf_size
        if smallest == 0 or fits(smallest, sizes[block], low, high, 0.0, bigger_block(chip, modes, volume, block, best)):
            smallest = sizes[block]
            best = block
    return best


@kernel
def bigger_block(chip: Record, modes: Table, volume: int, block: int, than: int) -> bool:
    """Whether a block type counts as bigger: only GFX10 looks, the others go upwards anyway."""
    if chip.generation != GFX10:
        return True
    return modes[max(chip.probe[volume, block], 0)].block_log2 >= modes[max(chip.probe[volume, than], 0)].block_log2


@kernel
def within_budget(chip: Record, modes: Table, volume: int, blocks: int, best: int, budget: int, sizes: Table) -> int:
    """Return the largest block type whose waste the memory budget allows."""
    # Types below the one with the smallest size are out; VAR blocks of GFX10 do not rule out thick ones.
    below = THIN_64KB if best == THIN_LARGE and chip.generation < GFX11 else best
    for block in range(below):
        blocks &= ~(1 << ((block - 1) & 7))
    for block in range(MICRO, 8):
        if block != best and blocks >> (block - 1) & 1 and not fits(
                sizes[best], sizes[block], 0, 0, budget, bigger_block(chip, modes, volume, block, best)):
            blocks &= ~(1 << (block - 1))
    if chip.generation == GFX10 and chip.var_block_log2 < 16 and blocks & (1 << (THIN_64KB - 1) | 1 << (THICK_64KB - 1)):
        blocks &= ~(1 << (THIN_LARGE - 1))
    if blocks & (blocks - 1):
        blocks &= ~128
    chosen = log2(blocks) + 1
    return LINEAR if chosen == 8 else chosen


@kernel
def choose_type(chip: Record, q: Record, volume: int, allowed: int) -> int:
    """Return the modes of the swizzle type to use, when there are several."""
    types = type_set(chip, allowed)
    if types & (types - 1) == 0:
        return allowed
    packing = PACKING[chip.format_table, q.format & 255]
    z, s, d, r = chip.set_z, chip.set_s, chip.set_d, chip.set_r
    color = q.flags & COLOR != 0
    if packing == BLOCK:
        order = (d, s, s, s) if chip.generation == GFX9 else (d, s, r, r)
    elif packing == SUBSAMPLED:
        order = (s, d, r, r)
    elif volume:
        if chip.generation == GFX9:
            order = (d, z, s, s) if color else (z, s, s, s)
        elif chip.generation < GFX11:
            thick = allowed & chip.blocks[1, THICK_64KB] != 0
            order = (d, s, r, z) if color and thick else (s, r, z, z)
        else:
            order = (r, s, d, z) if color else (s, d, z, z)
    elif chip.generation == GFX9:
        order = (r, d, s, z) if q.flags & ROTATED else (d, s, z, z)
    elif chip.generation < GFX11:
        order = (r, d, s, z)
    else:
        order = (r, d, z, z)
    for kind in order:
        if allowed & kind:
            return allowed & kind
    return allowed if chip.generation >= GFX11 and not volume else allowed & order[3]


@kernel
def fmask_setting(chip: Record, modes: Table, extent: Table, s: Record, out: Record) -> int:
    """GFX10: FMASK has only Z modes, 64KB or VAR."""
    no_64kb = s.forbidden_block >> (THIN_64KB - 1) & 1
    no_var = chip.var_block_log2 == 0 or s.forbidden_block >> (THIN_LARGE - 1) & 1
    if no_64kb and no_var:
        return INVALID
    out.resource_type = 1
    out.valid_block_set = (0 if no_64kb else 1 << (THIN_64KB - 1)) | (0 if no_var else 1 << (THIN_LARGE - 1))
    out.valid_sw_mode_set = (0 if no_64kb else 1 << SW_64KB_Z_X) | (0 if no_var else 1 << SW_VAR_Z_X)
    out.can_xor = 1
    out.valid_sw_type_set = Z_ONLY
    out.client_preferred_sw_set = Z_ONLY
    out.swizzle_mode = SW_VAR_Z_X if no_64kb else SW_64KB_Z_X
    if not no_64kb and not no_var:
        minimize = s.flags & MINIMIZE_ALIGN
        low = 1 if minimize else (3 if s.flags & FOR_SPACE else 2)
        high = 1 if minimize else (2 if s.flags & FOR_SPACE else 1)
        bpp = fmask_bpp(s.num_samples, s.num_frags)
        small = fmask_size(extent, s, SW_64KB_Z_X, bpp)
        large = fmask_size(extent, s, SW_VAR_Z_X, bpp)
        if fits(small, large, low, high, s.memory_budget_x1000 / 1000, modes[SW_VAR_Z_X].block_log2 >= modes[SW_64KB_Z_X].block_log2):
            out.swizzle_mode = SW_VAR_Z_X
    return OK


@kernel
def fmask_size(extent: Table, s: Record, mode: Record, bpp: int) -> int:
    """Return the elements of an FMASK, aligned to what the caller demands."""
    e = extent[0, mode, log2(bpp >> 3), 0]
    size = align(max(s.width, 1), 1 << e[0]) * align(max(s.height, 1), 1 << e[1]) * max(s.num_slices, 1)
    demanded = 1
    while demanded < s.min_size_align:
        demanded <<= 1
    return align(size, max(demanded // (bpp >> 3), 1))


@kernel
def setting_query(chip: Record, s: Record, q: Record) -> None:
    """Turn a setting query into the layout query of its surface."""
    q.flags = s.flags
    q.swizzle_mode = 0
    q.resource_type = s.resource_type
    q.format = s.format
    q.bpp = s.bpp
    q.width = max(s.width, 1)
    q.height = max(s.height, 1)
    q.num_slices = max(s.num_slices, 1)
    q.num_mip_levels = max(s.num_mip_levels, 1)
    q.num_samples = max(s.num_samples, 1)
    q.num_frags = s.num_frags if s.num_frags and chip.has_fmask else q.num_samples
    q.pitch_in_element = 0
    q.slice_align = 0
    if s.flags & FMASK:
        # Only GFX9 comes here: an FMASK is a 2D surface of one sample.
        q.bpp = fmask_bpp(q.num_samples, q.num_frags)
        q.num_frags = 1
        q.num_samples = 1
        q.resource_type = 1
    else:
        to_elements(chip.format_table, q)


@kernel
def setting(
    chip: Record, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, s: Record, q: Record, r: Record, mips: Table,
    sizes: Table, out: Record,
) -> int:
    """Answer one preferred-setting query; return the status."""
    if not 0 <= s.resource_type <= 2 or s.num_samples > 16 or s.num_frags > 8:
        return INVALID
    if s.flags & FMASK and chip.generation >= GFX10:
        return INVALID if not chip.has_fmask else fmask_setting(chip, modes, extent, s, out)
    setting_query(chip, s, q)
    if q.num_mip_levels > MAX_MIPS or not valid_without_mode(chip, q):
        return INVALID
    volume = 1 if q.resource_type == 2 else 0
    allowed = hardware_modes(chip, q, drop_aligned(modes, client_modes(chip, s, volume), s.max_align))
    if allowed == 0:
        return INVALID
    out.resource_type = q.resource_type
    out.valid_sw_mode_set = allowed
    out.can_xor = allowed & chip.set_xor != 0
    out.valid_block_set = block_set(chip, volume, allowed)
    out.valid_sw_type_set = type_set(chip, allowed)
    out.client_preferred_sw_set = s.preferred_sw_set if s.preferred_sw_set else ALL_TYPES
    if q.flags & NEED_EQUATION:
        allowed = drop_without_equation(number, s.resource_type, q.bpp, allowed)
    if allowed == chip.set_linear:
        return OK
    budget = s.memory_budget_x1000 / 1000
    smallest = q.flags & MINIMIZE_ALIGN != 0 or budget >= 1.0
    if q.height > 1 and not smallest:
        allowed &= ~1
    blocks = block_set(chip, volume, allowed)
    if blocks & (blocks - 1):
        low = 1 if smallest else (3 if q.flags & FOR_SPACE else 2)
        high = 1 if smallest else (2 if q.flags & FOR_SPACE else 1)
        best = probe_sizes(chip, modes, extent, lookup, basis, q, r, mips, volume, blocks, low, high, sizes)
        if best < 0:
            return INVALID
        if budget > 1.0:
            best = within_budget(chip, modes, volume, blocks, best, budget, sizes)
        allowed &= chip.blocks[volume, best]
    out.swizzle_mode = log2(choose_type(chip, q, volume, allowed))
    return OK


@kernel
def settings_kernel(
    chips: Table, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, queries: Table, q: Table, r: Record, mips: Table,
    sizes: Table, results: Table,
) -> None:
    """Answer preferred-setting queries."""
    for i in range(len(queries)):
        results[i].status = setting(chips[0], modes, extent, lookup, number, basis, queries[i], q[0], r, mips, sizes, results[i])


@kernel
def possible_kernel(chips: Table, number: Table, queries: Table, q: Table, results: Table) -> None:
    """Answer possible-modes queries."""
    chip = chips[0]
    for i in range(len(queries)):
        s, out = queries[i], results[i]
        out.status = NOT_SUPPORTED
        if chip.generation < GFX11:
            continue
        out.status = INVALID
        if s.flags & FMASK:
            continue
        setting_query(chip, s, q[0])
        if not valid_without_mode(chip, q[0]):
            continue
        volume = 1 if q[0].resource_type == 2 else 0
        allowed = 0
        for block in range(8):
            allowed |= chip.blocks[volume, block]
        allowed = hardware_modes(chip, q[0], allowed)
        if allowed == 0:
            continue
        out.status = OK
        out.resource_type = s.resource_type
        out.client_preferred_sw_set = s.preferred_sw_set if s.preferred_sw_set else ALL_TYPES
        if s.flags & NEED_EQUATION:
            allowed = drop_without_equation(number, s.resource_type, q[0].bpp, allowed)
        out.valid_sw_mode_set = allowed
        out.can_xor = allowed & chip.set_xor != 0


@kernel
def view_query(v: Record, fmt: int, s: Record) -> None:
    """Fill in the layout query of a block-compressed surface, in elements."""
    s.flags = v.flags
    s.swizzle_mode = v.swizzle_mode
    s.resource_type = v.resource_type
    s.format = 0
    s.bpp = ELEMENT_BITS[1, fmt]
    s.width = ceil_div(v.width, EXPAND_X[1, fmt])
    s.height = ceil_div(v.height, EXPAND_Y[1, fmt])
    s.num_slices = v.num_slices
    s.num_mip_levels = v.num_mip_levels
    s.num_samples = 1
    s.pitch_in_element = 0
    s.slice_align = 0


@kernel
def view_extent(
    v: Record, width: int, height: int, columns: int, rows: int, block_width: int, block_height: int, first_in_tail: int, tiled: bool,
    out: Record,
) -> None:
    """Fill in the level and extent (in elements) of an uncompressed view of one level of a block-compressed surface.

    `width` and `height` are level 0 in elements, `columns` and `rows` the pixels of an element.
    """
    level_width = ceil_div(max(v.width >> v.mip_id, 1), columns)
    level_height = ceil_div(max(v.height >> v.mip_id, 1), rows)
    if tiled and v.mip_id >= first_in_tail:
        # The tail becomes a chain of its own, of at least two levels.
        out.mip_id = v.mip_id - first_in_tail
        out.num_mip_levels = max(v.num_mip_levels - first_in_tail, 2)
        out.unaligned_width = min(level_width << out.mip_id, block_width // 2)
        out.unaligned_height = min(level_height << out.mip_id, block_height)
    elif level_width << v.mip_id == width:
        out.mip_id = 0
        out.num_mip_levels = 1
        out.unaligned_width = level_width
        out.unaligned_height = level_height
    else:
        # A view of two levels, whose upper one is such that the lower one has the pitch and height that the hardware gave it.
        out.mip_id = 1
        out.num_mip_levels = 2
        upper_width = ceil_div(max(v.width >> (v.mip_id - 1), 1), columns)
        upper_height = ceil_div(max(v.height >> (v.mip_id - 1), 1), rows)
        near_tail = tiled and level_width <= block_width // 2 and level_height <= block_height
        wide = align(shift_ceil(width, v.mip_id), block_width) > align(level_width, block_width)
        high = align(shift_ceil(height, v.mip_id), block_height) > align(level_height, block_height)
        out.unaligned_width = upper_width + (
            upper_width < level_width * 2 or (upper_width == level_width * 2 and (near_tail or wide)))
        out.unaligned_height = upper_height + (
            upper_height < level_height * 2 or (upper_height == level_height * 2 and (near_tail or high)))


@kernel
def views_kernel(
    chips: Table, modes: Table, extent: Table, lookup: Table, number: Table, basis: Table, queries: Table, q: Table, r: Table, mips: Table,
    results: Table,
) -> None:
    """Answer non-BC view queries."""
    chip = chips[0]
    for i in range(len(queries)):
        v, out, s = queries[i], results[i], q[0]
        out.status = NOT_SUPPORTED
        if chip.generation < GFX10:
            continue
        out.status = INVALID
        if not 0 <= v.swizzle_mode < len(modes) or not modes[v.swizzle_mode].valid or not 0 <= v.mip_id < v.num_mip_levels <= MAX_MIPS:
            continue
        mode = modes[v.swizzle_mode]
        if v.resource_type == 2 and mode.thick_3d:
            continue
        fmt = v.format & 255
        if PACKING[1, fmt] != BLOCK:
            out.status = NOT_SUPPORTED
            continue
        view_query(v, fmt, s)
        s.num_frags = 1
        clear_layout(r, mips, s.num_mip_levels)
        out.status = layout(chip, modes, extent, lookup, basis, s, r[0], mips)
        if out.status != OK:
            continue
        out.offset = v.slice * r[0].slice_size + mips[v.mip_id].macro_block_offset
        _, out.pipe_bank_xor = slice_xor(chip, modes, lookup, basis, v.swizzle_mode, v.resource_type, s.bpp, v.pipe_bank_xor, v.slice)
        view_extent(v, s.width, s.height, EXPAND_X[1, fmt], EXPAND_Y[1, fmt], r[0].block_width, r[0].block_height,
                    r[0].first_mip_id_in_tail, v.swizzle_mode != 0, out)


def preferred_settings(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[Any]:
    """Choose swizzle modes (addrlib: ``Addr2GetPreferredSurfaceSetting``).

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX9 to GFX11.5.
    length : int
        How many surfaces.
    **fields : array_like
        Columns of `SETTING_QUERY`; missing ones are 0.

    Returns
    -------
    numpy.ndarray
        Records `SETTING`.
    """
    results = np.zeros(length, SETTING)
    settings_kernel(*kernel_tables(config), columns(SETTING_QUERY, length, fields), *zeroed(QUERY, INFO), np.zeros(8, np.int64), results)
    return results


def possible_modes(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[Any]:
    """Return what modes a surface may have (addrlib: ``Addr2GetPossibleSwizzleModes``; GFX11 only), as records `SETTING`."""
    results = np.zeros(length, SETTING)
    tables = kernel_tables(config)
    possible_kernel(tables[0], tables[4], columns(SETTING_QUERY, length, fields), np.zeros(1, QUERY), results)
    return results


def displayable(config: GpuConfig, swizzle_mode: ArrayLike, bpp: ArrayLike) -> NDArray[np.bool_]:
    """Return whether displays scan out (mode, bits per element) (addrlib: ``Addr2IsValidDisplaySwizzleMode``)."""
    chip = chip_tables(config).chip
    mode, bits = np.broadcast_arrays(np.asarray(swizzle_mode, np.int64), np.asarray(bpp, np.int64))
    found = np.where(bits == 32, chip["set_display_32"], np.where(bits == 64, chip["set_display_64"], chip["set_display_other"]))
    return (found >> (mode & 31) & 1).astype(bool) & (bits <= chip["display_max_bpp"])


def non_bc_views(config: GpuConfig, length: int, **fields: ArrayLike) -> NDArray[Any]:
    """View levels of block-compressed surfaces uncompressed (addrlib: ``Addr2ComputeNonBlockCompressedView``).

    `fields` are columns of `VIEW_QUERY`; returns records `VIEW`: byte offset, xor, extent in elements, and level of the view.
    """
    results = np.zeros(length, VIEW)
    views_kernel(*kernel_tables(config), columns(VIEW_QUERY, length, fields), *zeroed(QUERY, INFO), results)
    return results


class SurfaceSetting(NamedTuple):
    """The mode chosen for a surface; see `SETTING`."""

    status: int
    swizzle_mode: int
    resource_type: int
    valid_block_set: int
    can_xor: int
    valid_sw_type_set: int
    client_preferred_sw_set: int
    valid_sw_mode_set: int


class NonBcView(NamedTuple):
    """An uncompressed view; see `VIEW`."""

    status: int
    offset: int
    pipe_bank_xor: int
    unaligned_width: int
    unaligned_height: int
    num_mip_levels: int
    mip_id: int


def preferred_setting(config: GpuConfig, **fields: int) -> SurfaceSetting:
    """Choose the swizzle mode of one surface; the fields of `SETTING_QUERY` by name.

    Raises
    ------
    InputError
        If no mode is left.
    """
    result = SurfaceSetting(*preferred_settings(config, 1, **fields)[0].item())
    if result.status != OK:
        raise_status(result.status, f"preferred surface setting, {config.name}")
    return result


def non_bc_view(config: GpuConfig, **fields: int) -> NonBcView:
    """View one level of a block-compressed surface uncompressed; the fields of `VIEW_QUERY` by name."""
    result = NonBcView(*non_bc_views(config, 1, **fields)[0].item())
    if result.status != OK:
        raise_status(result.status, f"non-BC view, {config.name}")
    return result
