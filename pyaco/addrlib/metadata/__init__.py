"""Metadata surfaces of GFX9 to GFX11.5: DCC (colour compression), HTILE (depth), CMASK and FMASK (multisampling).

Each query says where the metadata of a surface lies: its size and alignment, its meta blocks, its mip levels, and the equation from
which the address of the metadata of a texel follows. GFX12 keeps compression state in hardware and has none of these surfaces.

Source of the facts: AMD addrlib (``addrlib2.cpp``, ``gfx9addrlib.cpp``, ``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``).
"""

from __future__ import annotations

from types import ModuleType

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.metadata import gfx9, gfx10
from pyaco.addrlib.metadata.records import CmaskRequest, DccRequest, HtileRequest, MetadataInfo, MetadataLevel, fmask_bits
from pyaco.addrlib.swizzle import modes
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError

__all__ = ["CmaskRequest", "DccRequest", "HtileRequest", "MetadataInfo", "MetadataLevel", "cmask_info", "dcc_info", "fmask_bits", "htile_info"]


_MODULES = {"gfx9": gfx9, "gfx10": gfx10}


def _generation(config: GpuConfig, mode: int) -> ModuleType:
    """Return the module of the chip's generation, which has the functions below under the same names; `mode` is checked."""
    name = config.rules.metadata
    if name is None:
        raise UnsupportedError(f"metadata surfaces as GFX9 to GFX11.5 have them, on {config.name}")
    if mode not in modes(config):
        raise InputError(f"{config.name} has no swizzle mode {mode}")
    return _MODULES[name]


@checked
def htile_info(config: GpuConfig, request: HtileRequest) -> MetadataInfo:
    """Return the layout of HTILE: four bytes for each 8 by 8 pixels of depth.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    request : HtileRequest
        The surface, in pixels.

    Returns
    -------
    MetadataInfo
        Sizes and alignments in bytes, extents of meta blocks in pixels.

    Raises
    ------
    InputError
        A swizzle mode that cannot have HTILE.
    """
    return _generation(config, request.mode).htile_info(config, request)


@checked
def cmask_info(config: GpuConfig, request: CmaskRequest) -> MetadataInfo:
    """Return the layout of CMASK: four bits for each 8 by 8 pixels of colour (FMASK).

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    request : CmaskRequest
        The surface, in pixels.

    Returns
    -------
    MetadataInfo
        Sizes and alignments in bytes, extents of meta blocks in pixels.

    Raises
    ------
    InputError
        A swizzle mode that cannot have CMASK.
    UnsupportedError
        A chip without CMASK (GFX11 and later).
    """
    return _generation(config, request.mode).cmask_info(config, request)


@checked
def dcc_info(config: GpuConfig, request: DccRequest) -> MetadataInfo:
    """Return the layout of DCC: one byte for each 256 bytes of colour.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    request : DccRequest
        The surface, in pixels.

    Returns
    -------
    MetadataInfo
        Sizes and alignments in bytes, extents of meta blocks in pixels.

    Raises
    ------
    InputError
        A swizzle mode that cannot have DCC.
    UnsupportedError
        Linear surfaces on GFX9.
    """
    return _generation(config, request.mode).dcc_info(config, request)
