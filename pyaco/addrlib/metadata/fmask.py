"""FMASK of GFX9 and GFX10: for each sample of a pixel, which fragment holds its colour. It lies like a depth surface.

Source of the facts: AMD addrlib, ``addrlib2.cpp`` (ComputeFmaskInfo).
"""

from __future__ import annotations

from dataclasses import dataclass

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import ResourceType, SurfaceFlags
from pyaco.addrlib.formats import Format
from pyaco.addrlib.metadata.records import fmask_bits
from pyaco.addrlib.v2.queries import surface_info
from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["FmaskInfo", "fmask_info"]

_FORMATS = {8: Format.FMT_8, 16: Format.FMT_16, 32: Format.FMT_32}


@dataclass(frozen=True)
class FmaskInfo:
    """Layout of FMASK: pitch and height in pixels, sizes and alignment in bytes, `bits` per pixel."""

    pitch: int
    height: int
    num_slices: int
    base_align: int
    size: int
    slice_size: int
    bits: int


@checked
def fmask_info(
    config: GpuConfig, *, swizzle_mode: int, width: int, height: int, num_slices: int = 1, num_samples: int, num_frags: int = 0,
) -> FmaskInfo:
    """Return the layout of FMASK (addrlib: ``Addr2ComputeFmaskInfo``).

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX9 to GFX10.3.
    swizzle_mode : int
        A Z mode.
    width, height, num_slices : int
        Pixels and slices of the colour surface.
    num_samples, num_frags : int
        Samples, and how many of them colour is stored for (0: all).

    Raises
    ------
    InputError
        A mode or number of samples that FMASK cannot have on this chip.
    """
    z_mode = swizzle_mode & 3 == 0 and (4 <= swizzle_mode <= 8 or 16 <= swizzle_mode <= 28)
    if not z_mode or max(num_samples, num_frags) < 1:
        raise InputError(f"FMASK on {config.name}: it needs a Z mode and a number of samples, not mode {swizzle_mode}, {num_samples} samples")
    bits = fmask_bits(num_samples, num_frags)
    info, _ = surface_info(
        config, width=width, height=height, swizzle_mode=swizzle_mode, bpp=bits, format=_FORMATS.get(bits, Format.FMT_32_32),
        resource_type=ResourceType.TEX_2D, num_slices=num_slices, num_samples=1, num_frags=1, flags=int(SurfaceFlags.FMASK))
    return FmaskInfo(info.pitch, info.height, info.num_slices, info.base_align, info.surf_size & 0xFFFFFFFF, info.slice_size & 0xFFFFFFFF, bits)
