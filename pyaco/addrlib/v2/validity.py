"""Which resources a chip of GFX9 to GFX11.5 has, and in which swizzle modes.

Source of the rules: AMD's addrlib (``gfx9addrlib.cpp``, ``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``), read for facts.
"""

from __future__ import annotations

from pyaco.addrlib.enums import SurfaceFlags, SwizzleMode
from pyaco.addrlib.formats import PACKING, Packing
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import Record, Table
from pyaco.addrlib.v2.chip import GFX9

__all__ = ["display_set", "valid_mode", "valid_without_mode"]

COLOR, DEPTH, STENCIL, FMASK = (int(f) for f in (SurfaceFlags.COLOR, SurfaceFlags.DEPTH, SurfaceFlags.STENCIL, SurfaceFlags.FMASK))
DISPLAY, ROTATED, PRT = int(SurfaceFlags.DISPLAY), int(SurfaceFlags.ROTATED), int(SurfaceFlags.PRT)
STEREO, TEXTURE, VIEW_3D_AS_2D = int(SurfaceFlags.QB_STEREO), int(SurfaceFlags.TEXTURE), int(SurfaceFlags.VIEW_3D_AS_2D_ARRAY)
LINEAR_GENERAL = int(SwizzleMode.LINEAR_GENERAL)
SUBSAMPLED, BLOCK = int(Packing.SUBSAMPLED), int(Packing.BLOCK)


@kernel
def display_set(chip: Record, bpp: int) -> int:
    """Return the modes that may be scanned out with elements of `bpp` bits."""
    if bpp == 32:
        return chip.set_display_32
    return chip.set_display_64 if bpp == 64 else chip.set_display_other


@kernel
def valid_without_mode(chip: Record, q: Record) -> bool:
    """Whether the query, apart from its swizzle mode, describes a resource the chip has."""
    if q.bpp == 0 or q.bpp > 128 or q.width == 0 or q.num_frags > 8 or not 0 <= q.resource_type <= 2:
        return False
    flags = q.flags
    display, stereo = flags & DISPLAY != 0, flags & STEREO != 0
    msaa, mips = q.num_frags > 1, q.num_mip_levels > 1
    if not chip.has_fmask:
        # Then there are no more samples than fragments either.
        if flags & FMASK or q.num_samples > 8 or q.num_samples != q.num_frags:
            return False
    elif q.num_samples > 16:
        return False
    if q.resource_type == 1:
        return not ((msaa and mips) or (stereo and (msaa or mips)))
    if chip.generation == GFX9:
        if flags & (DEPTH | STENCIL | ROTATED | FMASK):
            return False
        if q.resource_type == 0 and PACKING[0, q.format & 255] == BLOCK:
            return False
    return not (msaa or display or stereo)


@kernel
def valid_mode(chip: Record, modes: Table, q: Record) -> bool:
    """Whether the chip allows this swizzle mode for this resource."""
    if not 0 <= q.swizzle_mode <= LINEAR_GENERAL or not modes[q.swizzle_mode].valid:
        return False
    mode = modes[q.swizzle_mode]
    if chip.generation == GFX9:
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
def valid_mode_gfx9(chip: Record, mode: Record, q: Record) -> bool:
    """The same for GFX9, whose rules depend on the order of texels."""
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
