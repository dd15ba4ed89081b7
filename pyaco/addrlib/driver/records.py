"""Requests for surfaces and their layouts: what all generations have in common.

Source of the facts: Mesa's ``ac_surface.c`` and ``ac_surface.h`` (24.3). Names of results are those of its ``radeon_surf``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.driver.modifiers import INVALID
from pyaco.addrlib.formats import ASTC_FORMATS
from pyaco.addrlib.integers import align
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import has_display_dcc

__all__ = [
    "DEPTH_OR_STENCIL", "MicroTileMode", "NonBlockCompressedView", "Plane", "Surface", "SurfaceMode", "SurfaceRequest", "SurfaceUse",
    "imported_flags", "is_display_surface",
]


class SurfaceMode(IntEnum):
    """How texels are arranged, as far as the caller decides."""

    LINEAR_ALIGNED = 1
    TILED_1D = 2
    TILED_2D = 3


class MicroTileMode(IntEnum):
    """Order of texels in the smallest tile."""

    DISPLAY = 0
    STANDARD = 1
    DEPTH = 2
    RENDER = 3


class SurfaceUse(IntFlag):
    """What a surface is used for, and options of its layout; the bits of Mesa's RADEON_SURF_*."""

    SCANOUT = 1 << 16
    ZBUFFER = 1 << 17
    SBUFFER = 1 << 18
    FMASK = 1 << 21
    DISABLE_DCC = 1 << 22
    TC_COMPATIBLE_HTILE = 1 << 23
    IMPORTED = 1 << 24
    CONTIGUOUS_DCC_LAYERS = 1 << 25
    SHAREABLE = 1 << 26
    NO_RENDER_TARGET = 1 << 27
    FORCE_SWIZZLE_MODE = 1 << 28
    NO_FMASK = 1 << 29
    NO_HTILE = 1 << 30
    FORCE_MICRO_TILE_MODE = 1 << 31
    PRT = 1 << 32
    VRS_RATE = 1 << 33
    NO_TEXTURE = 1 << 34
    NO_STENCIL_ADJUST = 1 << 35
    PREFER_4K_ALIGNMENT = 1 << 36
    PREFER_64K_ALIGNMENT = 1 << 37

DEPTH_OR_STENCIL = SurfaceUse.ZBUFFER | SurfaceUse.SBUFFER

_NO_FLAGS = SurfaceUse(0)


@dataclass(frozen=True)
class SurfaceRequest:
    """A surface to lay out.

    Attributes
    ----------
    width, height, depth : int
        Pixels of level 0; depth of 3D surfaces.
    bpe : int
        Bytes per element (block).
    blk_w, blk_h : int
        Pixels per element: 1 x 1, 4 x 4 (block-compressed), 2 x 1 (subsampled).
    samples, storage_samples : int
        Coverage samples; samples that colour is stored for.
    array_size, levels : int
    num_channels : int
        Components of the format; with `bpe` they determine whether it can be displayed.
    mode : SurfaceMode
    flags : SurfaceUse
    modifier : int
        DRM format modifier that the layout must have; `pyaco.addrlib.driver.modifiers.INVALID`: the driver chooses a layout.
    surf_index, fmask_surf_index : int or None
        Counters that tile swizzles follow from, so that surfaces start in different channels; None: no tile swizzle.
    swizzle_mode : int or None
        Mode of an imported surface, or with FORCE_SWIZZLE_MODE.
    micro_tile_mode : MicroTileMode or None
        With FORCE_MICRO_TILE_MODE.
    """

    width: int
    height: int
    bpe: int
    depth: int = 1
    blk_w: int = 1
    blk_h: int = 1
    samples: int = 1
    storage_samples: int = 1
    array_size: int = 1
    levels: int = 1
    num_channels: int = 4
    is_1d: bool = False
    is_3d: bool = False
    is_cube: bool = False
    is_array: bool = False
    mode: SurfaceMode = SurfaceMode.TILED_2D
    flags: SurfaceUse = _NO_FLAGS
    modifier: int = INVALID
    surf_index: int | None = None
    fmask_surf_index: int | None = None
    swizzle_mode: int | None = None
    micro_tile_mode: MicroTileMode | None = None

    def __post_init__(self) -> None:
        optional = {name: getattr(self, name) or 0 for name in ("surf_index", "fmask_surf_index", "swizzle_mode")}
        names = (
            "width", "height", "depth", "array_size", "levels", "samples", "storage_samples", "bpe", "blk_w", "blk_h", "num_channels", "modifier")
        check_integers("surface", **{name: getattr(self, name) for name in names}, **optional)
        for name, most in (("width", 65536), ("height", 65536), ("depth", 16384), ("array_size", 16384), ("levels", 17)):
            if not 1 <= getattr(self, name) <= most:
                raise InputError(f"{name} of a surface is 1 to {most}, not {getattr(self, name)}")
        if self.flags & SurfaceUse.FMASK:
            raise InputError("FMASK is laid out with its colour surface, not alone")
        depth_stencil = bool(self.flags & DEPTH_OR_STENCIL)
        if self.samples not in ((1, 2, 4, 8) if depth_stencil else (1, 2, 4, 8, 16)):
            raise InputError(f"a {'depth' if depth_stencil else 'colour'} surface cannot have {self.samples} samples")
        if not depth_stencil and self.storage_samples not in (1, 2, 4, 8):
            raise InputError(f"a colour surface cannot store {self.storage_samples} samples")
        if self.is_3d and self.array_size > 1:
            raise InputError("a 3D surface cannot be an array")
        if self.is_cube and self.depth > 1:
            raise InputError("a cube has no depth")
        if self.mode == SurfaceMode.LINEAR_ALIGNED and (self.samples > 1 or depth_stencil) and self.modifier == INVALID:
            raise InputError("multisampled, depth and stencil surfaces cannot be linear")
        self._check_element()
        if self.modifier != INVALID and (depth_stencil or self.is_compressed or self.samples > 1 or self.levels > 1 or self.is_3d):
            raise InputError("a DRM modifier describes plain 2D colour surfaces of one level and one sample")

    def _check_element(self) -> None:
        block = (self.blk_w, self.blk_h)
        if block == (4, 4):
            allowed: tuple[int, ...] = (8, 16)
        elif block == (2, 1):
            allowed = (2, 4, 8)
        elif block == (1, 1):
            allowed = (1, 2, 4) if self.flags & DEPTH_OR_STENCIL else (1, 2, 4, 8, 12, 16)
        elif block in ASTC_FORMATS:
            allowed = (16,)
        else:
            raise UnsupportedError(f"elements of {self.blk_w} x {self.blk_h} pixels")
        if self.bpe not in allowed:
            raise InputError(f"an element of {self.blk_w} x {self.blk_h} pixels cannot have {self.bpe} bytes here")

    @property
    def is_compressed(self) -> bool:
        """Whether elements are blocks of 4 x 4 pixels."""
        return self.blk_w == 4 and self.blk_h == 4

    @property
    def layers(self) -> int:
        """Slices of level 0: of an array, of a cube, or in depth."""
        return self.depth if self.is_3d else 6 if self.is_cube else self.array_size

    @property
    def fragments(self) -> int:
        """Samples that are stored."""
        return self.samples if self.flags & DEPTH_OR_STENCIL else self.storage_samples

    @property
    def is_only_stencil(self) -> bool:
        """Whether there is stencil without depth."""
        return self.flags & DEPTH_OR_STENCIL == SurfaceUse.SBUFFER

    def level_extent(self, level: int) -> tuple[int, int]:
        """Return width and height of a level, in elements; for compressed formats these are not halves of level 0's."""
        return -(-max(self.width >> level, 1) // self.blk_w), -(-max(self.height >> level, 1) // self.blk_h)


@dataclass
class Surface:
    """Layout of a surface; what all generations share.

    Sizes, offsets and strides are in bytes, pitches in elements; an offset of 0 means that there is no such part. `meta` is DCC for
    colour, HTILE for depth. `flags` are those of the request, as changed by the layout.
    """

    request: SurfaceRequest
    blk_w: int
    blk_h: int
    bpe: int
    flags: SurfaceUse
    modifier: int
    micro_tile_mode: int = 0
    num_meta_levels: int = 0
    is_linear: bool = False
    has_stencil: bool = False
    is_displayable: bool = False
    thick_tiling: bool = False
    first_mip_tail_level: int = 0
    prt_tile_width: int = 0
    prt_tile_height: int = 0
    prt_tile_depth: int = 0
    tile_swizzle: int = 0
    fmask_tile_swizzle: int = 0
    surf_alignment_log2: int = 0
    fmask_alignment_log2: int = 0
    meta_alignment_log2: int = 0
    cmask_alignment_log2: int = 0
    alignment_log2: int = 0
    surf_size: int = 0
    fmask_size: int = 0
    fmask_slice_size: int = 0
    meta_size: int = 0
    meta_slice_size: int = 0
    meta_pitch: int = 0
    cmask_size: int = 0
    cmask_slice_size: int = 0
    cmask_pitch: int = 0
    cmask_height: int = 0
    meta_offset: int = 0
    fmask_offset: int = 0
    cmask_offset: int = 0
    display_dcc_offset: int = 0
    total_size: int = 0

    def place(self, name: str, size: int, alignment_log2: int) -> None:
        """Append a part: set its offset, the attribute `name`, and the total size."""
        offset = align(self.total_size, 1 << alignment_log2)
        setattr(self, name, offset)
        self.total_size = offset + size

    def place_parts(self, level: int) -> None:
        """Lay out surface, FMASK, CMASK and metadata in one buffer (up to GFX11.5)."""
        self.total_size, self.alignment_log2 = self.surf_size, self.surf_alignment_log2
        if self.fmask_size:
            self.place("fmask_offset", self.fmask_size, self.fmask_alignment_log2)
            self.alignment_log2 = max(self.alignment_log2, self.fmask_alignment_log2)
        if self.cmask_size and self.request.samples >= 2:  # single-sample CMASK has a separate buffer
            self.place("cmask_offset", self.cmask_size, self.cmask_alignment_log2)
            self.alignment_log2 = max(self.alignment_log2, self.cmask_alignment_log2)
        if self.is_displayable:
            self.flags |= SurfaceUse.SCANOUT
        if self.meta_size and (has_display_dcc(level) or not is_display_surface(self.request, self.flags)):
            self.place_display_dcc()
            self.place("meta_offset", self.meta_size, self.meta_alignment_log2)
            self.alignment_log2 = max(self.alignment_log2, self.meta_alignment_log2)

    def place_display_dcc(self) -> None:
        """Lay out displayable DCC, which comes before DCC; only some generations have it."""


@dataclass(frozen=True)
class Plane:
    """One plane of a shared surface (texels; displayable DCC; DCC)."""

    offset: int
    stride: int
    size: int


@dataclass(frozen=True)
class NonBlockCompressedView:
    """A view of one level of a block-compressed surface as a surface of elements.

    Attributes
    ----------
    width, height : int
        Elements of the view's level 0.
    level, num_levels : int
        Which level of the view shows it, and how many levels the view has.
    tile_swizzle, base_address_offset : int
        Xor bits; bytes from the start of the surface.
    """

    width: int
    height: int
    level: int
    num_levels: int
    tile_swizzle: int
    base_address_offset: int


def is_display_surface(request: SurfaceRequest, flags: SurfaceUse | None = None) -> bool:
    """Whether the display engine must be able to read the layout. With modifiers the kernel decides that."""
    use = request.flags if flags is None else flags
    if (request.modifier != INVALID or request.is_1d or request.is_3d or request.is_cube or use & DEPTH_OR_STENCIL
            or not use & SurfaceUse.SCANOUT or request.samples > 1 or request.blk_w > 2 or request.blk_h != 1):
        return False
    channels, bpe = request.num_channels, request.bpe
    return request.blk_w == 2 or (4 <= bpe <= 8 and channels == 4) or (bpe == 2 and channels >= 3) or (bpe == 1 and channels == 1)


def imported_flags(request: SurfaceRequest, scanout: bool) -> SurfaceUse:
    """Return the flags of an imported surface; `scanout`: whether the exporter says that it is for scan-out."""
    flags = request.flags | SurfaceUse.IMPORTED
    return flags | SurfaceUse.SCANOUT if scanout else flags & ~SurfaceUse.SCANOUT
