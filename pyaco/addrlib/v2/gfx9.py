"""Surface layout of GFX9: a mip chain is one rectangle of blocks, addressed at one pitch.

Source of the rules: AMD's addrlib (``gfx9addrlib.cpp``), read for facts.
"""

from __future__ import annotations

from pyaco.addrlib.arithmetic import align, log2
from pyaco.addrlib.enums import Status, SurfaceFlags, SwizzleMode
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.mips import set_mip
from pyaco.addrlib.records import Record, Table
from pyaco.addrlib.v2.extents import MICRO_2D, MICRO_3D, customize, tail_extent

__all__ = ["linear_gfx9", "tiled_gfx9"]

OK, INVALID = int(Status.OK), int(Status.INVALID_PARAMETERS)
COLOR, DEPTH, STENCIL, FMASK = (int(f) for f in (SurfaceFlags.COLOR, SurfaceFlags.DEPTH, SurfaceFlags.STENCIL, SurfaceFlags.FMASK))
DISPLAY, ROTATED, PRT, TEXTURE = (int(f) for f in (SurfaceFlags.DISPLAY, SurfaceFlags.ROTATED, SurfaceFlags.PRT, SurfaceFlags.TEXTURE))
NO_METADATA, META_UNALIGNED = int(SurfaceFlags.NO_METADATA), int(SurfaceFlags.META_PIPE_UNALIGNED)
LINEAR_GENERAL = int(SwizzleMode.LINEAR_GENERAL)
WORD = 0xFFFFFFFF
PRT_ALIGN = 65536


@kernel
def linear_gfx9(q: Record, r: Record, mips: Table) -> int:
    """GFX9: the levels of a slice stand below each other at the pitch of level 0."""
    element_bytes = q.bpp >> 3
    alignment = PRT_ALIGN if q.flags & PRT else 256
    general = q.swizzle_mode == LINEAR_GENERAL
    if q.resource_type == 0:
        if q.height > 1:
            return INVALID
        pitch_align = alignment // element_bytes
        pitch, height = align(q.width, pitch_align), q.num_mip_levels
        if not q.flags & PRT:
            status, pitch, height = customize(q, element_bytes, pitch_align, pitch, height)
            if status:
                return status
        for i in range(q.num_mip_levels):
            set_mip(mips[i], pitch, 1, 1, (pitch * element_bytes * i) & WORD, 0)
    else:
        pitch_align = 1 if general else 256 // element_bytes
        status, pitch, height = customize(q, element_bytes, pitch_align, align(q.width, pitch_align), q.height)
        if status:
            return status
        rows, mip_height = 0, q.height
        for i in range(q.num_mip_levels):
            set_mip(mips[i], pitch, mip_height, q.num_slices if q.resource_type == 2 else 1, (pitch * rows * element_bytes) & WORD, 0)
            rows += mip_height
            mip_height = max((mip_height + 1) >> 1, 1)
        if q.num_mip_levels > 1:
            height = rows
    if pitch == 0 or height == 0:
        return INVALID
    r.pitch = pitch
    r.height = q.height
    r.mip_chain_pitch = pitch
    r.mip_chain_height = height
    r.mip_chain_slice = q.num_slices
    r.epitch_is_height = q.num_mip_levels > 1
    r.slice_size = pitch * height * element_bytes
    r.base_align = q.bpp // 8 if general else alignment
    r.block_width = 1 if general else 256 // element_bytes
    return OK


@kernel
def major_gfx9(thick: bool, width: int, height: int, depth: int) -> int:
    """Return along which axis the levels of a chain go on: 0 x, 1 y, 2 z."""
    if width < height:
        return 1 if not thick or height >= depth else 2
    return 0 if not thick or width >= depth else 2


@kernel
def mip_start_gfx9(mode: Record, thick: bool, r: Record, mip: Record) -> tuple[int, int, int, int]:
    """Return (x, y, z of a level's first block, offset in the tail's block); the level is in the tail if the offset is not -1."""
    width, height, depth = r.pitch // r.block_width, r.height // r.block_height, r.num_slices // r.block_slices
    tail_width, tail_height, tail_depth = tail_extent(mode, thick, r)
    x = y = z = 0
    in_tail = r.pitch <= tail_width and r.height <= tail_height and (not thick or r.num_slices <= tail_depth)
    index = mip
    if not in_tail:
        major = major_gfx9(thick, width, height, depth)
        for i in range(1, mip + 1):
            if i == 1 or i == 3:
                if major == 1:
                    x += width
                else:
                    y += height
            elif major == 0:
                x += width
            elif major == 1:
                y += height
            else:
                z += depth
            if thick:
                third = mode.block_log2 % 3
                last = width <= 2 - (third == 1) and height <= 2 - (third == 0) and depth <= 2 - (third == 2)
            else:
                last = width == 1 and height <= 2
            if last:
                in_tail = True
                index = mip - i
                break
            width, height, depth = (width + 1) >> 1, (height + 1) >> 1, (depth + 1) >> 1
    if not in_tail:
        return x, y, z, -1
    # Levels in the tail: the upper half, quarter ... of the block down to 2 KiB, then one 256-byte block each.
    step = index + 20 - mode.block_log2
    return x, y, z, ((2048 >> step) if step < 9 else max(15 - step, 0)) << 8


@kernel
def mip_chain_gfx9(mode: Record, thick: bool, q: Record, r: Record, mips: Table) -> int:
    """Fill in the extents and offsets of the levels; return the first level in the tail."""
    tail_width, tail_height, tail_depth = tail_extent(mode, thick, r)
    element = log2(q.bpp >> 3)
    element_bytes = q.bpp >> 3
    volume = q.resource_type == 2
    pitch, height = q.width, q.height
    depth = q.num_slices if volume else 1
    offset = 0
    first = q.num_mip_levels
    in_tail = final = False
    for i in range(q.num_mip_levels):
        if in_tail:
            if not final and pitch * height * (depth if thick else 1) * element_bytes <= 256:
                final = True
                if thick:
                    pitch, height, depth = 1 << MICRO_3D[element, 0], 1 << MICRO_3D[element, 1], 1 << MICRO_3D[element, 2]
                else:
                    pitch, height = 1 << MICRO_2D[element, 0], 1 << MICRO_2D[element, 1]
        elif pitch <= tail_width and height <= tail_height and (not thick or depth <= tail_depth):
            in_tail = True
            first = i
            pitch, height = tail_width, tail_height
            if thick:
                depth = tail_depth
        else:
            pitch, height = align(pitch, r.block_width), align(height, r.block_height)
            if thick:
                depth = align(depth, r.block_slices)
        set_mip(mips[i], pitch, height, depth, offset, 0)
        # The real library adds up in 32 bits.
        offset = (offset + pitch * height * depth * element_bytes) & WORD
        if not final:
            pitch, height = max(pitch >> 1, 1), max(height >> 1, 1)
        if volume and not (final and thick):
            depth = max(depth >> 1, 1)
    return first


@kernel
def tiled_gfx9(chip: Record, mode: Record, thick: bool, q: Record, r: Record, mips: Table, height_align: int) -> int:
    """GFX9: a whole mip chain is one rectangle of blocks, addressed at one pitch."""
    pitch_align = r.block_width
    if q.resource_type == 1 and q.flags & (DISPLAY | ROTATED) and q.num_mip_levels <= 1 and q.num_samples <= 1 and q.num_frags <= 1:
        pitch_align = align(pitch_align, 32)
    pitch = align(q.width, pitch_align)
    if q.num_mip_levels <= 1 and q.pitch_in_element > 0:
        if q.pitch_in_element % pitch_align or q.pitch_in_element < pitch:
            return INVALID
        pitch = q.pitch_in_element
    r.pitch = pitch
    r.height = align(q.height, height_align)
    r.num_slices = align(q.num_slices, r.block_slices)
    r.first_mip_id_in_tail = q.num_mip_levels
    r.mip_chain_pitch = r.pitch
    r.mip_chain_height = r.height
    r.mip_chain_slice = r.num_slices
    if q.num_mip_levels > 1:
        place_chain_gfx9(mode, thick, q, r, mips)
    else:
        set_mip(mips[0], r.pitch, r.height, r.num_slices if q.resource_type == 2 else 1, 0, 0)
    r.slice_size = r.mip_chain_pitch * r.mip_chain_height * (q.bpp >> 3) * q.num_frags
    r.base_align = 1 << mode.block_log2 if mode.xor else 256
    if (mode.block_log2 > 8 and q.flags & (COLOR | DEPTH | STENCIL | FMASK) and q.flags & TEXTURE
            and not q.flags & (NO_METADATA | META_UNALIGNED)):
        # Metadata that the texture unit reads too must lie in the pipe of its data.
        r.base_align = max(r.base_align, 1 << (chip.pipe_interleave_log2 + chip.all_pipes_log2))
    if q.flags & PRT:
        r.base_align = max(r.base_align, PRT_ALIGN)
    return OK


@kernel
def place_chain_gfx9(mode: Record, thick: bool, q: Record, r: Record, mips: Table) -> None:
    """Extend the rectangle by the levels below 0 and place every level in it."""
    r.first_mip_id_in_tail = mip_chain_gfx9(mode, thick, q, r, mips)
    last = min(r.first_mip_id_in_tail, q.num_mip_levels - 1)
    if last == 0:
        tail_width, tail_height, tail_depth = tail_extent(mode, thick, r)
        r.epitch_is_height = 1
        r.pitch = tail_width
        r.height = tail_height
        r.num_slices = tail_depth if thick else q.num_slices
        r.mip_chain_in_tail = 1
    else:
        width, height = r.pitch // r.block_width, r.height // r.block_height
        if major_gfx9(thick, width, height, r.num_slices // r.block_slices) == 1:
            next_width = (width + 1) >> 1
            r.mip_chain_pitch += (next_width + (next_width == 1 and last > 2)) * r.block_width
        else:
            next_height = (height + 1) >> 1
            r.mip_chain_height += (next_height + (next_height == 1 and last > 2)) * r.block_height
            r.epitch_is_height = 1
    row = r.mip_chain_pitch // r.block_width
    area = (r.mip_chain_height // r.block_height) * row
    for i in range(q.num_mip_levels):
        x, y, z, tail = mip_start_gfx9(mode, thick, r, i)
        mips[i].macro_block_offset = (z * area + y * row + x) << mode.block_log2
        mips[i].mip_tail_offset = max(tail, 0)
