"""Surfaces as drivers lay them out, for every generation: the public queries.

Like the layer over addrlib that Mesa's drivers share, these choose a swizzle or tile mode, lay out texels, stencil and metadata
(DCC, HTILE, CMASK, FMASK; HiZ and HiS on GFX12), and place all of them in one buffer.

Source of the facts: Mesa's ``ac_surface.c`` and ``ac_surface.h`` (24.3). Names of results are those of its ``radeon_surf``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.driver.modifiers import INVALID, is_modifier_supported
from pyaco.addrlib.driver.records import NonBlockCompressedView, Plane, Surface, SurfaceRequest
from pyaco.addrlib.enums import raise_status
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import has_non_block_compressed_views, has_swizzle_modes

if TYPE_CHECKING:
    from pyaco.addrlib.tiling import TiledSurface

__all__ = [
    "bo_metadata", "check_generation", "compute_surface", "import_surface", "non_block_compressed_view", "override_offset_and_pitch", "planes",
    "stencil_offset", "supports_dcc_image_stores", "surface_address", "surface_addresses", "tiled_surface",
]


def _generation(config: GpuConfig) -> ModuleType:
    """Return the module of the chip's generation: it has the functions below under the same names."""
    return import_module(f"pyaco.addrlib.driver.{config.rules.driver}")


def check_generation(config: GpuConfig, surface: Surface) -> None:
    """Raise InputError unless a surface was laid out for the generation of the chip."""
    if not isinstance(surface, Surface) or type(surface).__module__ != _generation(config).__name__:
        raise InputError(f"{config.name}: not a surface that was laid out for this generation, but {type(surface).__name__}")


def _generation_of(config: GpuConfig, surface: Surface) -> ModuleType:
    check_generation(config, surface)
    return _generation(config)


@checked
def compute_surface(config: GpuConfig, request: SurfaceRequest) -> Surface:
    """Lay out a surface.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    request : SurfaceRequest
        Extent in pixels, levels, samples, use.

    Returns
    -------
    Surface
        Sizes, offsets and strides in bytes, pitches in elements.

    Raises
    ------
    InputError
        No chip has such a surface.
    UnsupportedError
        This chip has no such surface.
    """
    if request.modifier != INVALID and not is_modifier_supported(config, request.modifier, request.bpe * 8):
        raise UnsupportedError(f"DRM modifier {request.modifier:#x} for elements of {request.bpe} bytes on {config.name}")
    return _generation(config).compute_surface(config, request)


@checked
def import_surface(config: GpuConfig, request: SurfaceRequest, tiling_flags: int) -> Surface:
    """Lay out a surface as its exporter did, from the tiling flags of the amdgpu kernel driver that describe it (see `bo_metadata`).

    The flags replace the request's mode, swizzle mode and SCANOUT. See also `override_offset_and_pitch`.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    request : SurfaceRequest
        The exporter's surface.
    tiling_flags : int
        AMDGPU_TILING_*, as `bo_metadata` gives them.

    Returns
    -------
    Surface

    Raises
    ------
    InputError
        Flags that describe no valid layout of such a surface.
    """
    check_integers("tiling flags", low_bits=tiling_flags & (1 << 63) - 1 if isinstance(tiling_flags, int) else tiling_flags)
    if not 0 <= tiling_flags < 1 << 64:
        raise InputError(f"tiling flags have 64 bits, not {tiling_flags}")
    return _generation(config).import_surface(config, request, tiling_flags)


@checked
def bo_metadata(config: GpuConfig, surface: Surface) -> int:
    """Return the tiling flags of the amdgpu kernel driver (AMDGPU_TILING_*) that describe a surface.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    surface : Surface
        What ``compute_surface`` returned for `config`.

    Returns
    -------
    int

    Raises
    ------
    InputError
        DCC farther from the start of the buffer than the flags can express.
    """
    return _generation_of(config, surface).bo_metadata(config, surface)


@checked
def planes(config: GpuConfig, surface: Surface) -> tuple[Plane, ...]:
    """Return the planes of a surface: texels; with a DRM modifier also displayable DCC and DCC.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    surface : Surface
        What ``compute_surface`` returned for `config`.

    Returns
    -------
    tuple of Plane
        Offsets and pitches in bytes.
    """
    return _generation_of(config, surface).planes(surface)


@checked
def supports_dcc_image_stores(config: GpuConfig, surface: Surface) -> bool:
    """Whether shaders can store to the surface (of colour) while it is compressed."""
    return has_swizzle_modes(config.level) and _generation_of(config, surface).supports_dcc_image_stores(config, surface)


@checked
def surface_addresses(
    config: GpuConfig, surface: Surface, level: ArrayLike, x: ArrayLike, y: ArrayLike, layer: ArrayLike = 0, sample: ArrayLike = 0,
) -> NDArray[np.int64]:
    """Return byte addresses of elements, relative to where level 0 of layer 0 would start without tile swizzle.

    Parameters
    ----------
    config : GpuConfig
    surface : Surface
    level, x, y, layer, sample : array_like of int
        Integers that broadcast: mip level; element of the level; slice or depth; sample (of those that are stored).

    Raises
    ------
    InputError
        An element outside of the surface.
    """
    columns = np.broadcast_arrays(level, x, y, layer, sample)
    texels = dict(zip(("mip_id", "x", "y", "slice", "sample"), (c.ravel() for c in columns), strict=True))
    _check_texels(surface.request, **texels)
    if not has_swizzle_modes(config.level) or surface.bpe == 12:
        # The queries of GFX9 and later do not treat 12 bytes as three elements of 4 bytes.
        return _addresses_by_level(tiled_surface(config, surface), **texels).reshape(columns[0].shape)
    status, found = _generation_of(config, surface).surface_addresses(config, surface, columns[0].size, **texels)
    if status.any():
        bad = int(np.flatnonzero(status)[0])
        where = ", ".join(f"{name} {values[bad]}" for name, values in texels.items())
        raise_status(int(status[bad]), f"address of {where}")
    return found.reshape(columns[0].shape)


def _addresses_by_level(
    tiled: TiledSurface, mip_id: NDArray[Any], x: NDArray[Any], y: NDArray[Any], slice: NDArray[Any], sample: NDArray[Any],
) -> NDArray[np.int64]:
    found = np.zeros(mip_id.size, np.int64)
    for level in np.unique(mip_id).tolist():
        at_level = mip_id == level
        found[at_level] = tiled.addresses(x[at_level], y[at_level], slice[at_level], sample[at_level], level)
    return found


def _check_texels(
    request: SurfaceRequest, mip_id: NDArray[Any], x: NDArray[Any], y: NDArray[Any], slice: NDArray[Any], sample: NDArray[Any],
) -> None:
    """Raise InputError for elements outside of the surface."""
    if any(c.dtype.kind not in "iu" for c in (mip_id, x, y, slice, sample)):
        raise InputError("coordinates of elements are integers")

    def level_extent(pixels: int, block: int) -> NDArray[Any]:
        return -(-np.maximum(pixels >> np.clip(mip_id, 0, 31), 1) // block)

    layers = level_extent(request.depth, 1) if request.is_3d else request.layers
    extents = (
        ("level", mip_id, request.levels), ("x", x, level_extent(request.width, request.blk_w)),
        ("y", y, level_extent(request.height, request.blk_h)), ("layer", slice, layers), ("sample", sample, request.fragments))
    for name, values, extent in extents:
        outside = np.flatnonzero((values < 0) | (values >= extent))
        if outside.size:
            first = outside[0]
            raise InputError(f"{name} {values[first]} of {np.broadcast_to(extent, values.shape)[first]}: outside of the surface")


@checked
def surface_address(config: GpuConfig, surface: Surface, level: int, x: int, y: int, layer: int = 0, sample: int = 0) -> int:
    """Return the byte address of one element; see `surface_addresses`.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    surface : Surface
        What ``compute_surface`` returned for `config`.
    level, x, y, layer, sample : int
        Mip level; element of the level; slice or depth; sample.

    Returns
    -------
    int
        Bytes from the start of the surface.

    Raises
    ------
    InputError
        An element outside of the surface.
    """
    return int(surface_addresses(config, surface, level, x, y, layer, sample))


@checked
def tiled_surface(config: GpuConfig, surface: Surface, *, stencil: bool = False) -> TiledSurface:
    """Return the tiled memory of the texels of a surface (of depth, where there is stencil too), from the start of the surface.

    With `stencil`, that of stencil, from the start of stencil (see `stencil_offset`).

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    surface : Surface
        What ``compute_surface`` returned for `config`.
    stencil : bool
        Whether stencil is wanted.

    Returns
    -------
    TiledSurface

    Raises
    ------
    InputError
        Stencil of a surface that has none.
    UnsupportedError
        Levels that the driver does not place as addrlib does.
    """
    if stencil and not surface.has_stencil:
        raise InputError("the surface has no stencil")
    tiled = _generation_of(config, surface).tiled_surface(config, surface, stencil or surface.request.is_only_stencil)
    if has_swizzle_modes(config.level) and tiled.size > surface.surf_size:
        raise UnsupportedError(f"tiling of a surface of {surface.surf_size} bytes, whose levels alone would take {tiled.size}")
    return tiled


@checked
def stencil_offset(config: GpuConfig, surface: Surface) -> int:
    """Return where stencil starts, in bytes from the start of the surface.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    surface : Surface
        What ``compute_surface`` returned for `config`.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    InputError
        A surface without stencil.
    """
    if not surface.has_stencil:
        raise InputError("the surface has no stencil")
    return _generation_of(config, surface).stencil_offset(surface)


@checked
def non_block_compressed_view(config: GpuConfig, surface: Surface, level: int, layer: int = 0) -> NonBlockCompressedView:
    """Return the view that shows one level and layer of a block-compressed surface as a surface of elements.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    surface : Surface
        What ``compute_surface`` returned for `config`.
    level, layer : int
        The level and layer of the view.

    Returns
    -------
    NonBlockCompressedView

    Raises
    ------
    InputError
        No such level or layer, or a surface that is not block-compressed.
    UnsupportedError
        A chip before GFX10.
    """
    check_integers("view", level=level, layer=layer)
    if not has_non_block_compressed_views(config.level):
        raise UnsupportedError(f"non-block-compressed views on {config.name}: they exist from GFX10 on")
    if not surface.request.is_compressed:
        raise InputError("the surface is not block-compressed")
    return _generation_of(config, surface).non_block_compressed_view(config, surface, level, layer)


@checked
def override_offset_and_pitch(config: GpuConfig, surface: Surface, offset: int, pitch: int = 0) -> None:
    """Give an imported surface the offset (bytes) and pitch (elements; 0: as computed) of its exporter. The surface itself is changed.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    surface : Surface
        What ``compute_surface`` returned for `config`.
    offset : int
        Bytes from the start of the buffer.
    pitch : int
        Elements, or 0.

    Raises
    ------
    InputError
        An offset or pitch that the hardware does not support for this layout; nothing is changed then.
    """
    check_integers("imported surface", offset=offset, pitch=pitch)
    if offset >> 48 or offset & ((1 << surface.alignment_log2) - 1):
        raise InputError(f"a surface cannot start at {offset}: it is aligned to {1 << surface.alignment_log2} bytes")
    if pitch >> 31:
        raise InputError(f"no surface has a pitch of {pitch} elements")
    _generation_of(config, surface).override_pitch(config, surface, pitch)
    _generation(config).move(surface, offset)
    for name in ("meta_offset", "fmask_offset", "cmask_offset", "display_dcc_offset"):
        if getattr(surface, name):
            setattr(surface, name, getattr(surface, name) + offset)
