"""What queries for metadata surfaces take and give: requests, layouts, mip levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import ResourceType, SwizzleMode
from pyaco.addrlib.integers import log2
from pyaco.addrlib.metadata.equation import MetadataEquation, MetadataLayout
from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["CmaskRequest", "DccRequest", "HtileRequest", "MetadataInfo", "MetadataLevel", "fmask_bits"]


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
class MetadataInfo(ABC):
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
        return self._reported_equation()

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
        return self._layout(samples, element_bits)

    def address(self, x: ArrayLike, y: ArrayLike, z: ArrayLike = 0, sample: ArrayLike = 0, pipe_xor: int = 0) -> NDArray[np.uint64]:
        """Return byte addresses of the metadata of single-sampled texels; for others see `layout`."""
        return self.layout().address(x, y, z, sample, pipe_xor)

    @abstractmethod
    def _reported_equation(self) -> MetadataEquation | None:
        """What `equation` says, by the rules of the generation."""

    @abstractmethod
    def _layout(self, samples: int, element_bits: int | None) -> MetadataLayout:
        """What `layout` says, by the rules of the generation."""


def check_extent(width: int, height: int, slices: int, levels: int) -> None:
    """Raise InputError unless the numbers can be those of a surface."""
    check_integers("metadata", width=width, height=height, slices=slices, levels=levels)
    if not (1 <= width <= 1 << 16 and 1 <= height <= 1 << 16 and 1 <= slices <= 1 << 14 and 1 <= levels <= 17):
        raise InputError(f"no surface has {width} x {height} elements, {slices} slices and {levels} levels")


def fmask_bits(samples: int, fragments: int) -> int:
    """Return bits per pixel of FMASK: for each sample the number of its fragment, or that it has none."""
    samples = samples or 1
    fragments = fragments or samples
    per_sample = log2(fragments) + (samples > fragments)
    return max(8, (4 if per_sample == 3 else per_sample) * samples)
