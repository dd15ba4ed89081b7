"""Surface layout of GFX9 to GFX11.5: pitch, size, alignment, blocks, mip chains and mip tails.

Source of the rules: AMD's addrlib (``addrlib2.cpp``), read for facts.
"""

from __future__ import annotations

from pyaco.addrlib.arithmetic import align, log2
from pyaco.addrlib.elements import to_elements
from pyaco.addrlib.enums import Status, SurfaceFlags
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import MAX_MIPS, Record, Table
from pyaco.addrlib.v2.chip import GFX9
from pyaco.addrlib.v2.gfx9 import linear_gfx9, tiled_gfx9
from pyaco.addrlib.v2.gfx10 import linear_gfx10, macro_gfx10, micro_gfx10

__all__ = ["layout", "normalize"]

OK, INVALID = int(Status.OK), int(Status.INVALID_PARAMETERS)
STEREO = int(SurfaceFlags.QB_STEREO)


@kernel
def normalize(format_table: int, q: Record) -> int:
    """Fill in defaults and turn pixels into elements, in place; return the status."""
    q.width = max(q.width, 1)
    q.height = max(q.height, 1)
    q.num_slices = max(q.num_slices, 1)
    q.num_mip_levels = max(q.num_mip_levels, 1)
    q.num_samples = max(q.num_samples, 1)
    if q.num_frags == 0:
        q.num_frags = q.num_samples
    to_elements(format_table, q)
    return INVALID if q.bpp == 0 or q.num_mip_levels > MAX_MIPS else OK


@kernel
def stereo_height(chip: Record, mode: Record, q: Record, r: Record, basis: Table, equation: int) -> tuple[int, int]:
    """Return (status, alignment of the height) such that the right eye starts on a whole period of the xor."""
    if not mode.xor:
        return OK, r.block_height
    if equation < 0:
        return INVALID, r.block_height
    highest = 31
    while highest > 0 and basis[equation, 1, highest] >> chip.pipe_interleave_log2 == 0:
        highest -= 1
    if (1 << highest) < r.block_height:
        return OK, r.block_height
    if (align(q.height, 1 << highest) >> highest) & 1:
        r.right_swizzle = basis[equation, 1, highest] >> chip.pipe_interleave_log2
    return OK, 1 << highest


@kernel
def layout(chip: Record, modes: Table, extent: Table, lookup: Table, basis: Table, q: Record, r: Record, mips: Table) -> int:
    """Lay out a normalized query that need not be valid; return the status."""
    mode = modes[q.swizzle_mode]
    r.num_slices = q.num_slices
    r.block_height = 1
    r.block_slices = 1
    if mode.linear:
        status = linear_gfx9(q, r, mips) if chip.generation == GFX9 else linear_gfx10(q, r, mips)
        if status:
            return status
        r.surf_size = r.slice_size * q.num_slices
        return OK
    element = log2(q.bpp >> 3)
    volume = 1 if q.resource_type == 2 else 0
    if mode.block_log2 == 0 or (chip.generation == GFX9 and q.resource_type == 0):
        return INVALID
    thick = volume == 1 and mode.thick_3d == 1
    samples = log2(q.num_frags)
    r.block_width = 1 << extent[volume, q.swizzle_mode, element, samples, 0]
    r.block_height = 1 << extent[volume, q.swizzle_mode, element, samples, 1]
    r.block_slices = 1 << extent[volume, q.swizzle_mode, element, samples, 2]
    r.first_mip_id_in_tail = q.num_mip_levels
    height_align = r.block_height
    if q.flags & STEREO:
        status, height_align = stereo_height(chip, mode, q, r, basis, lookup[volume, q.swizzle_mode, element, 0])
        if status:
            return status
    if chip.generation == GFX9:
        status = tiled_gfx9(chip, mode, thick, q, r, mips, height_align)
        if status:
            return status
        r.surf_size = r.slice_size * r.mip_chain_slice
    else:
        if mode.block_log2 == 8:
            micro_gfx10(mode, q, r, mips)
        else:
            macro_gfx10(chip, mode, thick, q, r, mips, height_align)
        r.surf_size = r.slice_size * r.num_slices
    return OK
