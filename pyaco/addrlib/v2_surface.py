"""Surface layout of GFX9 to GFX11.5: pitch, size, alignment, blocks, mip chains and mip tails.

One kernel computes one surface; the batched and the scalar functions call it. Source of the rules: AMD's addrlib
(``addrlib2.cpp``, ``gfx9addrlib.cpp``, ``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``), read for facts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.arithmetic import align, ceil_div, kernel, log2, shift_ceil
from pyaco.addrlib.checks import check_integers, not_a_chip
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import Status, SurfaceFlags, SwizzleMode, in_words, raise_status
from pyaco.addrlib.formats import ELEMENT_BITS, EXPAND_X, EXPAND_Y, PACKING, Packing
from pyaco.addrlib.v2_records import INFO, MAX_MIPS, MIP, QUERY, Scratch, columns, kernel_tables
from pyaco.arguments import checked

__all__ = ["MipInfo", "SurfaceInfo", "display_set", "layout", "normalize", "surface_info", "surface_infos", "surface_kernel"]

OK = int(Status.OK)
INVALID = int(Status.INVALID_PARAMETERS)
COLOR, DEPTH, STENCIL, FMASK = (int(f) for f in (SurfaceFlags.COLOR, SurfaceFlags.DEPTH, SurfaceFlags.STENCIL, SurfaceFlags.FMASK))
DISPLAY, ROTATED, PRT = int(SurfaceFlags.DISPLAY), int(SurfaceFlags.ROTATED), int(SurfaceFlags.PRT)
STEREO, TEXTURE = int(SurfaceFlags.QB_STEREO), int(SurfaceFlags.TEXTURE)
NEED_EQUATION, VIEW_3D_AS_2D = int(SurfaceFlags.NEED_EQUATION), int(SurfaceFlags.VIEW_3D_AS_2D_ARRAY)
NO_METADATA, META_UNALIGNED = int(SurfaceFlags.NO_METADATA), int(SurfaceFlags.META_PIPE_UNALIGNED)
LINEAR_GENERAL = int(SwizzleMode.LINEAR_GENERAL)
EXPANDED, BITS, SUBSAMPLED, BLOCK = int(Packing.EXPANDED), int(Packing.BITS), int(Packing.SUBSAMPLED), int(Packing.BLOCK)
NO_EQUATION = 0xFFFFFFFF
WORD = 0xFFFFFFFF
PRT_ALIGN = 65536

# log2 of width, height of the 256-byte block, and of width, height, depth of the thick one, by log2 of element bytes.
MICRO_2D = np.array([(4, 4), (4, 3), (3, 3), (3, 2), (2, 2)])
MICRO_3D = np.array([(3, 2, 3), (2, 2, 3), (2, 2, 2), (2, 1, 2), (1, 1, 2)])


@kernel
def normalize(level, q):
    """Fill in defaults and turn pixels into elements, in place; return the status."""
    q.width = max(q.width, 1)
    q.height = max(q.height, 1)
    q.num_slices = max(q.num_slices, 1)
    q.num_mip_levels = max(q.num_mip_levels, 1)
    q.num_samples = max(q.num_samples, 1)
    if q.num_frags == 0:
        q.num_frags = q.num_samples
    to_elements(level, q)
    return INVALID if q.bpp == 0 or q.num_mip_levels > MAX_MIPS else OK


@kernel
def to_elements(level, q):
    """Turn width, height and bits per pixel of the query's format into those of its elements, in place."""
    if q.format == 0:
        return
    generation = 1 if level >= 100 else 0
    fmt = q.format if 0 <= q.format < 256 else 0
    q.bpp = ELEMENT_BITS[generation, fmt]
    x, y = EXPAND_X[generation, fmt], EXPAND_Y[generation, fmt]
    if PACKING[generation, fmt] == EXPANDED:
        q.width *= x
    else:
        q.width = max(ceil_div(q.width, x), 1)
        q.height = max(ceil_div(q.height, y), 1)


@kernel
def display_set(chip, bpp):
    """Return the modes that may be scanned out with elements of `bpp` bits."""
    if bpp == 32:
        return chip.set_display_32
    return chip.set_display_64 if bpp == 64 else chip.set_display_other


@kernel
def valid_without_mode(chip, q):
    """Whether the query, apart from its swizzle mode, describes a resource the chip has."""
    if q.bpp == 0 or q.bpp > 128 or q.width == 0 or q.num_frags > 8 or not 0 <= q.resource_type <= 2:
        return False
    flags = q.flags
    display, stereo = flags & DISPLAY != 0, flags & STEREO != 0
    msaa, mips = q.num_frags > 1, q.num_mip_levels > 1
    if chip.level >= 110:
        # Neither FMASK nor more samples than fragments.
        if flags & FMASK or q.num_samples > 8 or q.num_samples != q.num_frags:
            return False
    elif q.num_samples > 16:
        return False
    if q.resource_type == 1:
        return not ((msaa and mips) or (stereo and (msaa or mips)))
    if chip.level == 90:
        if flags & (DEPTH | STENCIL | ROTATED | FMASK):
            return False
        if q.resource_type == 0 and PACKING[0, q.format & 255] == BLOCK:
            return False
    return not (msaa or display or stereo)


@kernel
def valid_mode(chip, modes, q):
    """Whether the chip allows this swizzle mode for this resource."""
    if not 0 <= q.swizzle_mode <= LINEAR_GENERAL or not modes[q.swizzle_mode].valid:
        return False
    mode = modes[q.swizzle_mode]
    if chip.level == 90:
        return valid_mode_gfx9(chip, mode, q)
    bit = 1 << (q.swizzle_mode & 31)
    flags = q.flags
    msaa = q.num_frags > 1
    zbuffer = flags & (DEPTH | STENCIL) != 0
    if msaa and (1 << mode.block_log2) < (1 << chip.pipe_interleave_log2) * q.num_frags:
        return False
    if flags & DISPLAY and (q.bpp > chip.display_max_bpp or not display_set(chip, q.bpp) & bit):
        return False
    if q.bpp == 96 and not mode.linear:
        return False
    if q.resource_type == 0:
        if not bit & chip.set_rsrc_1d:
            return False
    elif q.resource_type == 1:
        if not bit & chip.set_rsrc_2d or (flags & PRT and not bit & chip.set_prt_2d):
            return False
        if flags & FMASK and not bit & chip.set_z:
            return False
    elif (not bit & chip.set_rsrc_3d or (flags & PRT and not bit & chip.set_prt_3d)
          or (flags & VIEW_3D_AS_2D and not bit & chip.set_view_3d_as_2d)):
        return False
    if mode.linear:
        return not (zbuffer or msaa or q.bpp % 8)
    if mode.kind_z:
        packing = PACKING[1, q.format & 255]
        if q.bpp > 64 or (msaa and (flags & COLOR or q.bpp > 32)) or packing in (BLOCK, SUBSAMPLED):
            return False
    elif mode.kind_s or mode.kind_d:
        if zbuffer or msaa:
            return False
    elif zbuffer:
        return False
    if mode.block_log2 == 8:
        return not (zbuffer or q.resource_type == 2 or msaa)
    return mode.block_log2 != 0


@kernel
def valid_mode_gfx9(chip, mode, q):
    """The same for GFX9, whose rules hang on the order of texels."""
    flags = q.flags
    msaa, mips = q.num_frags > 1, q.num_mip_levels > 1
    zbuffer, prt, fmask = flags & (DEPTH | STENCIL) != 0, flags & PRT != 0, flags & FMASK != 0
    volume = q.resource_type == 2
    packing = PACKING[0, q.format & 255]
    if msaa and (1 << mode.block_log2) < (1 << chip.pipe_interleave_log2) * q.num_frags:
        return False
    if flags & (DISPLAY | ROTATED):
        allowed = display_set(chip, q.bpp)
        if q.bpp > chip.display_max_bpp or not allowed & (1 << (q.swizzle_mode & 31)):
            return False
    if (q.bpp == 96 and not mode.linear) or (prt and mode.xor and not mode.prt) or (q.resource_type == 0 and not mode.linear):
        return False
    if mode.linear:
        return not ((q.resource_type != 0 and prt) or zbuffer or msaa or q.bpp % 8 or (packing == BLOCK and flags & TEXTURE) or fmask)
    if mode.kind_z:
        if ((flags & COLOR and msaa) or (volume and flags & VIEW_3D_AS_2D) or packing in (BLOCK, SUBSAMPLED)
                or (q.resource_type == 1 and q.bpp > 64) or (msaa and q.bpp > 32)):
            return False
    elif mode.kind_s:
        if zbuffer or (volume and flags & VIEW_3D_AS_2D) or (volume and q.bpp == 128 and flags & COLOR) or fmask:
            return False
    elif mode.kind_d:
        if zbuffer or (prt and volume) or fmask or (volume and mips and q.num_slices >= q.width and q.num_slices >= q.height):
            return False
    elif zbuffer or q.bpp > 64 or volume or packing == BLOCK or fmask:
        return False
    return not (mode.block_log2 == 8 and (prt or zbuffer or volume or mips or msaa))


@kernel
def customize(q, element_bytes, pitch_align, pitch, height):
    """Apply the caller's pitch and slice size to a surface without mips; return (status, pitch, height)."""
    if q.num_mip_levels > 1:
        return OK, pitch, height
    if q.pitch_in_element > 0:
        if q.pitch_in_element % pitch_align or q.pitch_in_element < pitch:
            return INVALID, pitch, height
        pitch = q.pitch_in_element
    if q.slice_align > 0:
        custom = q.slice_align // element_bytes // pitch
        if custom * element_bytes * pitch != q.slice_align or (q.num_slices > 1 and height != custom):
            return INVALID, pitch, height
        height = custom
    return OK, pitch, height


@kernel
def set_mip(mip, pitch, height, depth, offset, macro_block_offset):
    """Fill in one level outside the tail."""
    mip.pitch = pitch
    mip.height = height
    mip.depth = depth
    mip.offset = offset
    mip.macro_block_offset = macro_block_offset


@kernel
def linear_gfx9(q, r, mips):
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
def linear_gfx10(q, r, mips):
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
def stereo_height(chip, mode, q, r, basis, equation):
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
def tail_extent(mode, thick, r):
    """Return (width, height, depth) of the largest level that fits in a mip tail: half of a block."""
    if not thick:
        return r.block_width >> 1, r.block_height, r.block_slices
    third = mode.block_log2 % 3
    return (r.block_width >> (third == 1), r.block_height >> (third == 0), r.block_slices >> (third == 2))


@kernel
def major_gfx9(thick, width, height, depth):
    """Return along which axis the levels of a chain go on: 0 x, 1 y, 2 z."""
    if width < height:
        return 1 if not thick or height >= depth else 2
    return 0 if not thick or width >= depth else 2


@kernel
def mip_start_gfx9(mode, thick, r, mip):
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
def mip_chain_gfx9(mode, thick, q, r, mips):
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
def tiled_gfx9(chip, mode, thick, q, r, mips, height_align):
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
def place_chain_gfx9(mode, thick, q, r, mips):
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


@kernel
def micro_gfx10(mode, q, r, mips):
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
def mips_in_tail(block_log2, thick):
    """Return how many levels a tail holds."""
    bits = block_log2 - ((block_log2 - 8) // 3 if thick else 0)
    return 1 + (1 << (bits - 9)) if bits <= 11 else bits - 4


@kernel
def deinterleave(value):
    """Return every second bit, from bit 0 up (6 bits)."""
    result = 0
    for i in range(6):
        result |= ((value >> (2 * i)) & 1) << i
    return result


@kernel
def macro_gfx10(chip, mode, thick, q, r, mips, height_align):
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
        depth = align(shift_ceil(q.num_slices if thick else 1, i), r.block_slices)
        # GFX11 reports each level's own depth.
        mip.depth = depth if chip.level >= 110 else (r.num_slices if volume else 1)
        mip.mip_tail_coord_z = depth  # kept here until the offsets below are known
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
        offset += slice_size * mip.mip_tail_coord_z
        macro_block_offset += slice_size * r.block_slices
        mip.mip_tail_coord_z = 0


@kernel
def tail_gfx10(chip, mode, thick, q, r, mips, tail_depth, capacity):
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
        mip.depth = depth if chip.level >= 110 else (r.num_slices if q.resource_type == 2 else 1)
        x, y = deinterleave(offset >> 9), deinterleave(offset >> 8)
        if mode.block_log2 & 1:
            x, y = y, x
            if element & 1:
                x, y = x >> 1, (y << 1) | (x & 1)
        mip.mip_tail_coord_x = x * micro_width
        mip.mip_tail_coord_y = y * micro_height
        pitch, height = max(pitch >> 1, micro_width), max(height >> 1, micro_height)
        depth = align(max(depth >> 1, 1), micro_depth) if thick else 1


@kernel
def layout(chip, modes, extent, lookup, basis, q, r, mips):
    """Lay out a normalized query that need not be valid; return the status."""
    mode = modes[q.swizzle_mode]
    r.num_slices = q.num_slices
    r.block_height = 1
    r.block_slices = 1
    if mode.linear:
        status = linear_gfx9(q, r, mips) if chip.level == 90 else linear_gfx10(q, r, mips)
        if status:
            return status
        r.surf_size = r.slice_size * q.num_slices
        return OK
    element = log2(q.bpp >> 3)
    volume = 1 if q.resource_type == 2 else 0
    if mode.block_log2 == 0 or (chip.level == 90 and q.resource_type == 0):
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
    if chip.level == 90:
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


@kernel
def to_pixels(level, q, elements, horizontal):
    """Return how many pixels a number of elements in a row (or column) is."""
    generation = 1 if level >= 100 else 0
    expand = EXPAND_X[generation, q.format] if horizontal else EXPAND_Y[generation, q.format]
    if PACKING[generation, q.format] == EXPANDED:
        return max(elements // expand, 1)
    return max(elements * expand, 1)


@kernel
def surface_kernel(chip, modes, extent, lookup, number, basis, q, r, mips):
    """Answer one query; `q` is normalized in place."""
    r.status = normalize(chip.level, q)
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
        generation = 1 if chip.level >= 100 else 0
        expand = EXPAND_X[generation, q.format]
        if PACKING[generation, q.format] == EXPANDED:
            r.pixel_bits = q.bpp * expand
        elif PACKING[generation, q.format] == BITS:
            r.pixel_bits = q.bpp // expand
        r.pixel_pitch = to_pixels(chip.level, q, r.pitch, True)
        r.pixel_height = to_pixels(chip.level, q, r.height, False)
        r.pixel_mip_chain_pitch = to_pixels(chip.level, q, r.mip_chain_pitch, True)
        r.pixel_mip_chain_height = to_pixels(chip.level, q, r.mip_chain_height, False)
        if q.num_mip_levels > 1:
            for i in range(q.num_mip_levels):
                mips[i].pixel_pitch = to_pixels(chip.level, q, mips[i].pitch, True)
                mips[i].pixel_height = to_pixels(chip.level, q, mips[i].height, False)
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
def surfaces_kernel(chips, modes, extent, lookup, number, basis, queries, infos, mips):
    """Answer many queries of one chip; the results are zero on entry."""
    chip = chips[0]
    for i in range(len(queries)):
        surface_kernel(chip, modes, extent, lookup, number, basis, queries[i], infos[i], mips[i])


class MipInfo(NamedTuple):
    """One level: pitch, height, depth in elements (and in pixels), offsets in bytes, place in the mip tail in elements."""

    pitch: int
    height: int
    depth: int
    pixel_pitch: int
    pixel_height: int
    equation_index: int
    offset: int
    macro_block_offset: int
    mip_tail_offset: int
    mip_tail_coord_x: int
    mip_tail_coord_y: int
    mip_tail_coord_z: int


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
