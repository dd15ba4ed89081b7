"""Surface layout of GFX10 to GFX11.5: every level has its own pitch, and the smallest comes first.

Source of the rules: AMD's addrlib (``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``), read for facts.
"""

from __future__ import annotations

from pyaco.addrlib.arithmetic import align, log2, shift_ceil
from pyaco.addrlib.enums import Status, SwizzleMode
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.mips import deinterleave, mips_in_tail, set_mip
from pyaco.addrlib.records import Record, Table
from pyaco.addrlib.v2.chip import GFX11
from pyaco.addrlib.v2.extents import MICRO_2D, MICRO_3D, customize, tail_extent

__all__ = ["linear_gfx10", "macro_gfx10", "micro_gfx10"]

OK, INVALID = int(Status.OK), int(Status.INVALID_PARAMETERS)
LINEAR_GENERAL = int(SwizzleMode.LINEAR_GENERAL)


@kernel
def linear_gfx10(q: Record, r: Record, mips: Table) -> int:
    """GFX10 and later: every level has its own pitch; the smallest level comes first."""
    if q.resource_type == 0 and q.height > 1:
        return INVALID
    element_bytes = q.bpp >> 3
    general = q.swizzle_mode == LINEAR_GENERAL
    pitch_align = 1 if general else 256 // element_bytes
    depth = q.num_slices if q.resource_type == 2 else 1
    pitch, height = align(q.width, pitch_align), q.height
    size = 0
    if q.num_mip_levels > 1:
        for i in range(q.num_mip_levels - 1, -1, -1):
            mip_pitch = align(shift_ceil(q.width, i), pitch_align)
            mip_height = shift_ceil(q.height, i)
            set_mip(mips[i], mip_pitch, mip_height, depth, size, size)
            size += mip_pitch * mip_height * element_bytes
    else:
        status, pitch, height = customize(q, element_bytes, pitch_align, pitch, height)
        if status:
            return status
        size = pitch * height * element_bytes
        set_mip(mips[0], pitch, height, depth, 0, 0)
    r.pitch = pitch
    r.height = height
    r.slice_size = size
    r.base_align = element_bytes if general else 256
    r.block_width = pitch_align
    return OK


@kernel
def micro_gfx10(mode: Record, q: Record, r: Record, mips: Table) -> None:
    """GFX10 and later, 256-byte blocks: no tail, the smallest level first."""
    element_bytes = q.bpp >> 3
    r.pitch = align(q.width, r.block_width)
    r.height = align(q.height, r.block_height)
    r.num_slices = q.num_slices
    r.base_align = 256
    if q.num_mip_levels <= 1:
        set_mip(mips[0], r.pitch, r.height, 1, 0, 0)
        r.slice_size = r.pitch * r.height * element_bytes
        return
    size = 0
    for i in range(q.num_mip_levels - 1, -1, -1):
        pitch = align(shift_ceil(q.width, i), r.block_width)
        height = align(shift_ceil(q.height, i), r.block_height)
        set_mip(mips[i], pitch, height, 1, size, size)
        size += pitch * height * element_bytes
    r.slice_size = size


@kernel
def depth_gfx10(thick: bool, q: Record, r: Record, level: int) -> int:
    """Return the slices of a level, padded to blocks."""
    return align(shift_ceil(q.num_slices if thick else 1, level), r.block_slices)


@kernel
def macro_gfx10(chip: Record, mode: Record, thick: bool, q: Record, r: Record, mips: Table, height_align: int) -> None:
    """GFX10 and later, larger blocks."""
    r.pitch = align(q.width, r.block_width)
    r.height = align(q.height, height_align)
    r.num_slices = align(q.num_slices, r.block_slices)
    r.base_align = 1 << mode.block_log2
    volume = q.resource_type == 2
    element_bytes = q.bpp >> 3
    if q.num_mip_levels <= 1:
        r.slice_size = r.pitch * r.height * element_bytes * q.num_frags
        set_mip(mips[0], r.pitch, r.height, r.num_slices if volume else 1, 0, 0)
        return
    tail_width, tail_height, _ = tail_extent(mode, thick, r)
    element = log2(element_bytes)
    if chip.tail_fix and mode.kind_z and element <= 1:
        # 8 and 16-bit depth and stencil enter the tail when 32-bit depth does: they share one HTILE.
        tail_width >>= MICRO_2D[element, 0] - MICRO_2D[2, 0]
        tail_height >>= MICRO_2D[element, 1] - MICRO_2D[2, 1]
    capacity = mips_in_tail(mode.block_log2, thick)
    first = q.num_mip_levels
    size = 0
    for i in range(q.num_mip_levels):
        width, height = shift_ceil(q.width, i), shift_ceil(q.height, i)
        if width <= tail_width and height <= tail_height and q.num_mip_levels - i <= capacity:
            first = i
            size += (1 << mode.block_log2) // r.block_slices
            break
        mip = mips[i]
        mip.pitch = align(width, r.block_width)
        mip.height = align(height, r.block_height)
        # GFX11 reports each level's own depth.
        mip.depth = depth_gfx10(thick, q, r, i) if chip.generation >= GFX11 else (r.num_slices if volume else 1)
        size += mip.pitch * mip.height * element_bytes
    r.slice_size = size
    r.mip_chain_in_tail = first == 0
    r.first_mip_id_in_tail = first
    offset = macro_block_offset = 0
    if first != q.num_mip_levels:
        tail_depth = shift_ceil(q.num_slices if thick else 1, first)
        offset = (1 << mode.block_log2) * align(tail_depth, r.block_slices) // r.block_slices
        macro_block_offset = 1 << mode.block_log2
        tail_gfx10(chip, mode, thick, q, r, mips, tail_depth, capacity)
    for i in range(first - 1, -1, -1):
        mip = mips[i]
        mip.offset = offset
        mip.macro_block_offset = macro_block_offset
        slice_size = mip.pitch * mip.height * element_bytes
        offset += slice_size * depth_gfx10(thick, q, r, i)
        macro_block_offset += slice_size * r.block_slices


@kernel
def tail_gfx10(chip: Record, mode: Record, thick: bool, q: Record, r: Record, mips: Table, tail_depth: int, capacity: int) -> None:
    """Place the levels of the tail: halves of the block down to 2 KiB, then 256-byte blocks."""
    element = log2(q.bpp >> 3)
    pitch, height, _ = tail_extent(mode, thick, r)
    micro_width = 1 << (MICRO_3D[element, 0] if thick else MICRO_2D[element, 0])
    micro_height = 1 << (MICRO_3D[element, 1] if thick else MICRO_2D[element, 1])
    micro_depth = 1 << MICRO_3D[element, 2] if thick else 1
    depth = align(tail_depth, micro_depth)
    layers = depth // micro_depth
    for i in range(r.first_mip_id_in_tail, q.num_mip_levels):
        step = capacity - 1 - (i - r.first_mip_id_in_tail)
        offset = 16 << step if step > 6 else step << 8
        mip = mips[i]
        mip.offset = offset * layers
        mip.mip_tail_offset = offset
        mip.pitch = pitch
        mip.height = height
        mip.depth = depth if chip.generation >= GFX11 else (r.num_slices if q.resource_type == 2 else 1)
        x, y = deinterleave(offset >> 9), deinterleave(offset >> 8)
        if mode.block_log2 & 1:
            x, y = y, x
            if element & 1:
                x, y = x >> 1, (y << 1) | (x & 1)
        mip.mip_tail_coord_x = x * micro_width
        mip.mip_tail_coord_y = y * micro_height
        pitch, height = max(pitch >> 1, micro_width), max(height >> 1, micro_height)
        depth = align(max(depth >> 1, 1), micro_depth) if thick else 1
