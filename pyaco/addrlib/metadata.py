"""Metadata surfaces of GFX9 to GFX11.5: DCC (colour compression), HTILE (depth), CMASK and FMASK (multisampling).

Each query says where the metadata of a surface lies: its size and alignment, its meta blocks, its mip levels, and the equation from
which the address of the metadata of a texel follows. GFX12 keeps compression state in hardware and has none of these surfaces.

Source of the facts: AMD addrlib (``addrlib2.cpp``, ``gfx9addrlib.cpp``, ``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import ResourceType, SwizzleMode
from pyaco.addrlib.metadata_equation import MetadataEquation, MetadataLayout
from pyaco.addrlib.swizzle import modes
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError

__all__ = ["CmaskRequest", "DccRequest", "HtileRequest", "MetadataInfo", "MetadataLevel", "cmask_info", "dcc_info", "fmask_bits", "htile_info"]


@dataclass(frozen=True)
class MetadataLevel:
    """Where one mip level lies in a metadata surface.

    GFX9 lays levels out in the plane: `x`, `y`, `z`, `width`, `height`, `depth` in elements of the data surface. Later chips lay them out
    one after the other: `offset` and `size` in bytes of one layer.
    """

    in_tail: bool
    x: int = 0
    y: int = 0
    z: int = 0
    width: int = 0
    height: int = 0
    depth: int = 0
    offset: int = 0
    size: int = 0


@dataclass(frozen=True)
class HtileRequest:
    """Depth or stencil surface whose HTILE is asked for.

    Attributes
    ----------
    width, height : int
        Pixels of level 0.
    first_tail_level : int or None
        First level in the mip tail of the data surface (GFX10 and later); None if no level is.
    pipe_aligned, rb_aligned : bool
        Whether metadata lies in the memory channel, and belongs to the render backend, of its texels.
    """

    mode: SwizzleMode
    width: int
    height: int
    slices: int = 1
    levels: int = 1
    first_tail_level: int | None = None
    pipe_aligned: bool = True
    rb_aligned: bool = True

    def __post_init__(self) -> None:
        check_extent(self.width, self.height, self.slices, self.levels)

    @property
    def tail(self) -> int:
        """First level in the mip tail, or the number of levels."""
        return self.levels if self.first_tail_level is None else self.first_tail_level


@dataclass(frozen=True)
class CmaskRequest(HtileRequest):
    """Colour surface (or its FMASK) whose CMASK is asked for. `mode` is that of the FMASK where there is one."""


@dataclass(frozen=True)
class DccRequest(HtileRequest):
    """Colour surface whose DCC is asked for; `width`, `height` in elements of `bits` bits."""

    bits: int = 32
    resource: ResourceType = ResourceType.TEX_2D
    fragments: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits not in (8, 16, 32, 64, 128):
            raise InputError(f"elements of a compressible surface have 8, 16, 32, 64 or 128 bits, not {self.bits}")
        if self.fragments not in (1, 2, 4, 8):
            raise InputError(f"a surface has 1, 2, 4 or 8 fragments, not {self.fragments}")


@checked
@dataclass(frozen=True)
class MetadataInfo:
    """Layout of a metadata surface.

    Attributes
    ----------
    pitch, height, depth : int
        Padded size of the data surface that the metadata covers, in elements (slices for depth).
    base_align, size : int
        Bytes; alignment of the start, size of all slices and levels.
    slice_size : int
        Bytes of one slice with all its levels. DCC on GFX9: what a fast clear of one slice writes.
    block : tuple of int
        Width, height and depth of a meta block, in elements.
    block_size : int
        Bytes of a meta block.
    blocks_per_slice : int
        Meta blocks in a slice.
    compressed_block : tuple of int
        Width, height and depth of what one metadata element describes, in elements.
    levels : tuple of MetadataLevel
    pipe_bits : int
        Channel bits of the address.
    """

    config: GpuConfig
    request: HtileRequest
    pitch: int
    height: int
    depth: int
    base_align: int
    size: int
    slice_size: int
    block: tuple[int, int, int]
    block_size: int
    blocks_per_slice: int
    compressed_block: tuple[int, int, int]
    levels: tuple[MetadataLevel, ...]
    pipe_bits: int

    @property
    def equation(self) -> MetadataEquation | None:
        """What the real library reports as the equation: that of single-sampled texels, nothing for HTILE on GFX9 (see `layout`)."""
        return _generation(self.config).reported_equation(self)

    def layout(self, *, samples: int = 1, element_bits: int | None = None) -> MetadataLayout:
        """Return what addresses follow from.

        Parameters
        ----------
        samples : int
            Samples of a depth surface (HTILE). DCC takes the fragments of the request.
        element_bits : int, optional
            Bits of an element of the data surface: of depth (HTILE, default 32) or of FMASK (CMASK, default 8; `fmask_bits`).

        Raises
        ------
        UnsupportedError
            Where the real library has no such addresses: mip levels; DCC of multisampled surfaces from GFX10 on.
        """
        return _generation(self.config).layout(self, samples, element_bits)

    def address(self, x: ArrayLike, y: ArrayLike, z: ArrayLike = 0, sample: ArrayLike = 0, pipe_xor: int = 0) -> NDArray[np.uint64]:
        """Return byte addresses of the metadata of single-sampled texels; for others see `layout`."""
        return self.layout().address(x, y, z, sample, pipe_xor)


def check_extent(width: int, height: int, slices: int, levels: int) -> None:
    """Raise InputError unless the numbers can be those of a surface."""
    check_integers("metadata", width=width, height=height, slices=slices, levels=levels)
    if not (1 <= width <= 1 << 16 and 1 <= height <= 1 << 16 and 1 <= slices <= 1 << 14 and 1 <= levels <= 17):
        raise InputError(f"no surface has {width} x {height} elements, {slices} slices and {levels} levels")


def align(value: int, to: int) -> int:
    """Round `value` up to a multiple of `to`, a power of two."""
    return (value + to - 1) & -to


def log2(value: int) -> int:
    """Return log2 of a power of two."""
    return value.bit_length() - 1


def fmask_bits(samples: int, fragments: int) -> int:
    """Return bits per pixel of FMASK: for each sample the number of its fragment, or that it has none."""
    samples = samples or 1
    fragments = fragments or samples
    per_sample = log2(fragments) + (samples > fragments)
    return max(8, (4 if per_sample == 3 else per_sample) * samples)


def _generation(config: GpuConfig, mode: int | None = None) -> ModuleType:
    """Return the module of the chip's generation, which has the functions below under the same names; `mode` is checked."""
    if not 90 <= config.level < 120:
        raise UnsupportedError(f"metadata surfaces as GFX9 to GFX11.5 have them, on {config.name}")
    if mode is not None and mode not in modes(config):
        raise InputError(f"{config.name} has no swizzle mode {mode}")
    return import_module(f"pyaco.addrlib.metadata_{'gfx9' if config.level == 90 else 'gfx10'}")


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
