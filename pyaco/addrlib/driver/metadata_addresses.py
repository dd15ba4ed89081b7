"""Where the metadata of a driver's surface lies: the element of every texel, level by level; FMASK, HiZ and HiS as tiled memory.

Addresses count nibbles, because an element of CMASK is one, and start at the surface. CMASK of a single-sampled surface is a buffer of
its own; its addresses start at that.

Sources: AMD addrlib (``CiLib::HwlComputeMetadataNibbleAddress`` for DCC and HTILE of GFX8, and the equations of later chips); Mesa's
``ac_surface.c`` for offsets. The library has no addresses in levels. On GFX9 all levels lie in one plane, and PAL of 2019 (``CpuProcessEq`` in
``gfx9Image.cpp``) adds a level's start to the coordinates. From GFX10 on each level but those in the tail is laid out as a surface of its own,
at the offset that the library gives; the first level in the tail lies where its texels lie in the tail's block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.driver.queries import check_generation, tiled_surface
from pyaco.addrlib.driver.records import DEPTH_OR_STENCIL, Surface, SurfaceUse
from pyaco.addrlib.metadata.records import fmask_bits
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import has_metadata_surfaces, has_planar_mip_chains, has_swizzle_modes, has_tile_swizzle_from_bit_10

if TYPE_CHECKING:
    from pyaco.addrlib.driver.gfx6 import SurfaceGfx6
    from pyaco.addrlib.driver.gfx9 import Gfx9Surface
    from pyaco.addrlib.metadata.records import MetadataInfo
    from pyaco.addrlib.tiling import TiledSurface

__all__ = ["HIERARCHICAL", "KINDS", "fmask_surface", "hierarchical_surface", "metadata_addresses", "metadata_levels", "metadata_part"]

Addresses = NDArray[np.int64]
_Nibbles = Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], NDArray[Any]]

KINDS = {"dcc": 8, "display_dcc": 8, "htile": 32, "cmask": 4}
"""Bits of an element, by kind of metadata; FMASK is a surface (`fmask_surface`), and so are HiZ and HiS."""

HIERARCHICAL = {"hiz": 32, "his": 16}
"""Bits of an element of HiZ and HiS, which GFX12 has in place of HTILE."""


def metadata_part(config: GpuConfig, surface: Surface, kind: str) -> tuple[int, int]:
    """Return where metadata of a kind starts in the memory of a surface, and its size, in bytes.

    Parameters
    ----------
    config : GpuConfig
        The chip that the surface is laid out for.
    surface : Surface
        What `compute_surface` returned.
    kind : str
        ``dcc``, ``display_dcc``, ``htile``, ``cmask`` or ``fmask``; of GFX12 ``hiz`` or ``his``.

    Returns
    -------
    offset, size : int
        Bytes. CMASK of a single-sampled surface has an offset of 0: it is a buffer of its own.

    Raises
    ------
    InputError
        A surface without such metadata.
    UnsupportedError
        A chip without such metadata.
    """
    check_generation(config, surface)
    if kind in HIERARCHICAL:
        return _hierarchical_part(config, surface, kind)
    if not has_metadata_surfaces(config.level):
        raise UnsupportedError(f"{kind.upper()} on {config.name}: GFX12 compresses memory without surfaces of metadata")
    is_depth = bool(surface.flags & DEPTH_OR_STENCIL)
    size = {
        "dcc": 0 if is_depth else surface.meta_size, "htile": surface.meta_size if is_depth else 0, "cmask": surface.cmask_size,
        "fmask": surface.fmask_size, "display_dcc": getattr(surface, "display_dcc_size", 0) if surface.display_dcc_offset else 0}.get(kind)
    if size is None:
        raise InputError(f"no kind of metadata is called {kind!r}")
    offset = surface.meta_offset if kind in ("dcc", "htile") else int(getattr(surface, f"{kind}_offset"))
    if not size or (not offset and kind != "cmask"):
        raise InputError(f"a surface without {kind.upper().replace('_', ' ')}")
    return offset, size


def metadata_levels(surface: Surface, kind: str) -> int:
    """Return how many levels, from level 0 on, have metadata of a kind (`metadata_part` says whether there is any)."""
    return surface.num_meta_levels if kind in ("dcc", "display_dcc", "htile") else 1


def metadata_addresses(
    config: GpuConfig, surface: Surface, kind: str, x: ArrayLike, y: ArrayLike, layer: ArrayLike = 0, sample: ArrayLike = 0, mip: int = 0,
) -> Addresses:
    """Return the addresses, in nibbles from the start of the surface, of the metadata of texels; the coordinates broadcast.

    Parameters
    ----------
    config : GpuConfig
        The chip that the surface is laid out for.
    surface : Surface
        What `compute_surface` returned.
    kind : str
        ``dcc``, ``display_dcc``, ``htile`` or ``cmask``.
    x, y, layer, sample : array_like of int
        Texels of the level; `sample` counts fragments, and is of DCC alone.
    mip : int
        Level.

    Raises
    ------
    InputError
        A surface or level without such metadata.
    UnsupportedError
        Metadata whose addresses no public source gives: of DCC of multisampled surfaces from GFX10 on, of HTILE of multisampled surfaces
        that texture units read on GFX8.
    """
    offset, _ = metadata_part(config, surface, kind)
    if not 0 <= mip < metadata_levels(surface, kind):
        raise InputError(f"level {mip} has no {kind.upper()}")
    nibbles = (_later if has_swizzle_modes(config.level) else _early)(config, surface, kind, mip)
    return nibbles(x, y, layer, sample).astype(np.int64) + 2 * offset


def fmask_surface(config: GpuConfig, surface: Surface) -> TiledSurface:
    """Return FMASK as tiled memory of words of 8 to 64 bits, one for each pixel; it starts where `metadata_part` says.

    Raises
    ------
    InputError
        A surface without FMASK.
    """
    metadata_part(config, surface, "fmask")
    return _fmask_later(config, surface) if has_swizzle_modes(config.level) else _fmask_early(config, surface)  # type: ignore[arg-type]


# GFX12.


def _hierarchical_part(config: GpuConfig, surface: Any, kind: str) -> tuple[int, int]:
    title = {"hiz": "HiZ", "his": "HiS"}[kind]
    if has_metadata_surfaces(config.level):
        raise UnsupportedError(f"{title} on {config.name}: it is a surface of its own from GFX12 on, and part of HTILE before")
    part = getattr(surface, kind)
    if not part.size:
        raise InputError(f"a surface without {title}")
    if surface.request.is_3d:
        raise UnsupportedError(f"{title} of a 3D surface on {config.name}: nothing renders depth into volumes")
    return part.offset, part.size


def hierarchical_surface(config: GpuConfig, surface: Surface, kind: str) -> TiledSurface:
    """Return HiZ or HiS as tiled memory, whose texels are tiles of 8 x 8 pixels; it starts where `metadata_part` says.

    It has as many samples as the surface: a tile of one pixel in eight samples has eight elements.

    Parameters
    ----------
    config : GpuConfig
        The chip that the surface is laid out for.
    surface : Surface
        What `compute_surface` returned.
    kind : str
        ``hiz`` or ``his``.

    Raises
    ------
    InputError
        A surface without it.
    UnsupportedError
        A chip before GFX12.
    """
    from pyaco.addrlib.enums import ResourceType, SurfaceFlags3
    from pyaco.addrlib.tiling import TiledSurface

    if kind not in HIERARCHICAL:
        raise InputError(f"no kind of hierarchical depth is called {kind!r}")
    metadata_part(config, surface, kind)
    part, request = getattr(surface, kind), surface.request
    return TiledSurface(
        config, width=part.width_in_tiles, height=part.height_in_tiles, bpp=HIERARCHICAL[kind], swizzle_mode=part.swizzle_mode,
        resource_type=ResourceType.TEX_2D, flags=int(SurfaceFlags3.HIZ_HIS), num_slices=request.layers, num_mip_levels=request.levels,
        num_samples=request.samples)


# GFX9 to GFX11.5.


def _later(config: GpuConfig, surface: Any, kind: str, mip: int) -> _Nibbles:
    info, samples, bits = _info(surface, kind)
    level, shift = _level(config, surface, info, mip)
    layout = replace(level.layout(samples=samples, element_bits=bits), slice_blocks=info.blocks_per_slice)
    swizzle = surface.fmask_tile_swizzle if kind == "cmask" and surface.fmask_size else surface.tile_swizzle
    if has_tile_swizzle_from_bit_10(config.level):
        swizzle >>= 2
    start = 2 * info.levels[mip].offset
    return lambda x, y, z, s: start + layout.nibbles(np.asarray(x) + shift[0], np.asarray(y) + shift[1], z, s, swizzle).astype(np.int64)


def _info(surface: Gfx9Surface, kind: str) -> tuple[MetadataInfo, int, int | None]:
    """Return the layout of metadata, and samples and element bits as `MetadataInfo.layout` wants them."""
    request = surface.request
    if kind == "htile":
        return _known(surface.htile), request.samples, 8 * surface.bpe
    if kind == "cmask":
        return _known(surface.cmask), 1, fmask_bits(request.samples, request.storage_samples)
    return _known(surface.dcc_metadata if kind == "dcc" else surface.display_dcc), 1, None


def _known(info: MetadataInfo | None) -> MetadataInfo:
    assert info is not None
    return info


def _level(config: GpuConfig, surface: Gfx9Surface, info: MetadataInfo, mip: int) -> tuple[MetadataInfo, tuple[int, int]]:
    """Return a level's metadata as that of a surface of one level, and where in it the level's texels start."""
    request = info.request
    if request.levels == 1:
        return info, (0, 0)
    one = replace(request, levels=1, first_tail_level=None)
    if has_planar_mip_chains(config.level):
        level = info.levels[mip]
        return replace(info, request=one), (level.x, level.y)
    shift, blocks = (0, 0), (1, 1)
    if info.levels[mip].in_tail:
        shift = tiled_surface(config, surface).place_in_tail(mip)
    else:
        blocks = _blocks(request.width, mip, info.block[0]), _blocks(request.height, mip, info.block[1])
    return replace(info, request=one, pitch=blocks[0] * info.block[0], height=blocks[1] * info.block[1]), shift


def _blocks(extent: int, mip: int, side: int) -> int:
    """Return how many meta blocks of `side` elements a level takes, whose extent is rounded up."""
    return -(-extent // (side << mip))


def _fmask_later(config: GpuConfig, surface: Gfx9Surface) -> TiledSurface:
    from pyaco.addrlib.enums import ResourceType, SurfaceFlags
    from pyaco.addrlib.tiling import TiledSurface

    request = surface.request
    return TiledSurface(
        config, width=request.width, height=request.height, bpp=fmask_bits(request.samples, request.storage_samples),
        swizzle_mode=surface.fmask_swizzle_mode, resource_type=ResourceType.TEX_2D, flags=int(SurfaceFlags.FMASK), num_slices=request.layers,
        pipe_bank_xor=surface.fmask_tile_swizzle)


# GFX6 to GFX8.


def _early(config: GpuConfig, surface: Any, kind: str, mip: int) -> _Nibbles:
    if kind == "cmask" or (kind == "htile" and not surface.flags & SurfaceUse.TC_COMPATIBLE_HTILE):
        return _masks(config, surface, kind)
    from pyaco.addrlib.v1.chip import chip_of
    from pyaco.addrlib.v1.metadata import metadata_address

    request, chip, info = surface.request, chip_of(config), surface.tile_info
    tiled, tile_bytes = tiled_surface(config, surface), 64 * surface.bpe
    if kind == "htile":
        if request.samples > 1:
            raise UnsupportedError(f"addresses in HTILE of {request.samples} samples that texture units read, on {config.name}")
        block, blocks, bits = tile_bytes, 1, 32
    else:
        together = min(max(info.tile_split_bytes // tile_bytes, 1), request.fragments)
        block, blocks, bits = 256, tile_bytes * together // 256, 8

    def nibbles(x: ArrayLike, y: ArrayLike, z: ArrayLike, s: ArrayLike) -> NDArray[Any]:
        data: Any = tiled.addresses(x, y, z, s, mip)
        return np.asarray(metadata_address(chip, info, data, bits, block, blocks)) // 4

    return nibbles


def _masks(config: GpuConfig, surface: SurfaceGfx6, kind: str) -> _Nibbles:
    from pyaco.addrlib.v1.masks import MaskAddresses

    level, layers = surface.levels[0], surface.request.layers
    info = surface.tile_info
    if not info.banks:
        raise UnsupportedError(f"addresses in {kind.upper()} of a surface without macro tiles on {config.name}")
    masks = MaskAddresses(config, info, pitch=level.pitch, height=level.height, num_slices=layers, is_cmask=kind == "cmask")
    _, size = metadata_part(config, surface, kind)
    if masks.layout.bytes > size:
        raise UnsupportedError(f"addresses in {kind.upper()} of {size} bytes, which need {masks.layout.bytes} on {config.name}")
    return lambda x, y, z, s: masks.addresses(*(c for c in np.broadcast_arrays(x, y, z))) // 4


def _fmask_early(config: GpuConfig, surface: SurfaceGfx6) -> TiledSurface:
    from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6
    from pyaco.addrlib.v1.fmask import fmask_texture

    request, level = surface.request, surface.levels[0]
    assert level.layout is not None
    layout = fmask_texture(
        config, tile_mode=level.layout.tile_mode, pitch=level.pitch, height=request.height, num_slices=request.layers,
        num_samples=request.samples, num_frags=request.storage_samples)
    shape = (request.width, request.height, request.layers, 1)
    return TiledSurfaceGfx6.of_levels(config, layout.bits // 8, [(0, shape, layout)], surface.fmask_tile_swizzle)
