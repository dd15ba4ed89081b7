"""Surfaces as drivers lay them out on GFX12: without DCC, HTILE, CMASK and FMASK; HiZ and HiS are separate surfaces.

Source of the facts: Mesa's ``ac_surface.c`` (gfx12_compute_surface, gfx12_select_swizzle_mode, gfx12_compute_miptree and what they call).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.driver import modifiers
from pyaco.addrlib.driver.gfx9 import (
    LINEAR_PITCH_ALIGNMENT,
    DccSettings,
    Gfx9Surface,
    element_format,
    forced_mode,
    move,
    set_pitch,
    stencil_offset,
    texel_plane,
    tile_levels,
)
from pyaco.addrlib.driver.modifiers import INVALID, CompressedBlock
from pyaco.addrlib.driver.records import DEPTH_OR_STENCIL, NonBlockCompressedView, Plane, SurfaceMode, SurfaceRequest, SurfaceUse, imported_flags
from pyaco.addrlib.enums import ResourceType, SurfaceFlags3, SwizzleMode3, raise_status
from pyaco.addrlib.formats import Format
from pyaco.addrlib.integers import align, log2
from pyaco.addrlib.records import MipInfo
from pyaco.addrlib.swizzle import block_extent_log2, modes
from pyaco.addrlib.tiling import TiledSurface
from pyaco.addrlib.v3.address import addresses3, non_bc_views3, possible_modes3
from pyaco.addrlib.v3.queries import SurfaceInfo3, surface3_info
from pyaco.errors import InputError

__all__ = [
    "Gfx12Surface", "HierarchicalDepth", "bo_metadata", "compute_surface", "import_surface", "move", "non_block_compressed_view",
    "override_pitch", "planes", "stencil_offset", "supports_dcc_image_stores", "surface_addresses", "tiled_surface",
]

_LINEAR_ALIGNMENT = 128


@dataclass
class HierarchicalDepth:
    """HiZ or HiS: one element for each 8 x 8 pixels of depth or stencil. Offset and size in bytes; a size of 0 means none."""

    offset: int = 0
    size: int = 0
    width_in_tiles: int = 0
    height_in_tiles: int = 0
    swizzle_mode: int = 0
    alignment_log2: int = 0


@dataclass
class Gfx12Surface(Gfx9Surface):
    """Layout of a surface on GFX12.

    Attributes
    ----------
    gfx12_enable_dcc : bool
        Whether the hardware compresses the memory.
    hiz, his : HierarchicalDepth
    """

    gfx12_enable_dcc: bool = False
    hiz: HierarchicalDepth = field(default_factory=HierarchicalDepth)
    his: HierarchicalDepth = field(default_factory=HierarchicalDepth)

    def place_hierarchical_depth(self) -> None:
        """Lay out HiZ and HiS after depth and stencil."""
        for part in (self.hiz, self.his):
            if part.size:
                part.offset = align(self.total_size, 1 << part.alignment_log2)
                self.surf_alignment_log2 = max(self.surf_alignment_log2, part.alignment_log2)
                self.total_size = part.offset + part.size


@dataclass(frozen=True)
class Query:
    """The surface that addrlib is to lay out. Width and height in pixels; `blk_w`, `blk_h` (pixels) and `bpe` (bytes) are those of elements."""

    format: int
    bpp: int
    flags: SurfaceFlags3
    resource: ResourceType
    width: int
    height: int
    slices: int
    levels: int
    samples: int
    blk_w: int
    blk_h: int
    bpe: int
    mode: int = 0
    pitch: int = 0

    def info(self, config: GpuConfig) -> tuple[SurfaceInfo3, list[MipInfo]]:
        """Return addrlib's layout."""
        return surface3_info(
            config, width=self.width, height=self.height, swizzle_mode=self.mode, bpp=self.bpp, format=self.format, resource_type=self.resource,
            num_slices=self.slices, num_mip_levels=self.levels, num_samples=self.samples, flags=int(self.flags), pitch_in_element=self.pitch)


def _query(request: SurfaceRequest) -> Query:
    use = request.flags
    stencil_only = bool(use & SurfaceUse.SBUFFER and not use & SurfaceUse.ZBUFFER)
    flags = SurfaceFlags3(0)
    for is_set, flag in (
            (not use & DEPTH_OR_STENCIL and not use & SurfaceUse.NO_RENDER_TARGET, SurfaceFlags3.COLOR),
            (use & SurfaceUse.ZBUFFER, SurfaceFlags3.DEPTH), (stencil_only, SurfaceFlags3.STENCIL),
            (not use & SurfaceUse.NO_TEXTURE, SurfaceFlags3.TEXTURE | SurfaceFlags3.UNORDERED),
            (request.is_compressed, SurfaceFlags3.BLOCK_COMPRESSED), (use & SurfaceUse.VRS_RATE, SurfaceFlags3.VRS_IMAGE)):
        if is_set:
            flags |= flag
    resource = ResourceType.TEX_3D if request.is_3d else ResourceType.TEX_1D if request.is_1d else ResourceType.TEX_2D
    bpp = 8 if stencil_only else 0 if request.is_compressed else request.bpe * 8
    return Query(
        Format.FMT_8 if stencil_only else element_format(request), bpp, flags, resource, request.width, request.height,
        request.layers, request.levels, request.samples,
        request.blk_w, request.blk_h, bpp // 8 or request.bpe)


def compute_surface(config: GpuConfig, request: SurfaceRequest, dcc: DccSettings | None = None) -> Gfx12Surface:
    """See `pyaco.addrlib.driver.queries.compute_surface`; `dcc` are the settings of an imported surface."""
    surface = Gfx12Surface(request, request.blk_w, request.blk_h, request.bpe, request.flags, request.modifier, dcc=dcc or DccSettings())
    depth, stencil = bool(request.flags & SurfaceUse.ZBUFFER), bool(request.flags & SurfaceUse.SBUFFER)
    query = _query(request)
    query = replace(query, mode=_swizzle_mode(config, request, query))
    if _has_custom_pitch(request, query):
        # Other GPUs read only pitches that are multiples of 256 bytes.
        query = replace(query, pitch=align(request.width, LINEAR_PITCH_ALIGNMENT // request.bpe))
        surface.uses_custom_pitch = True
    surface.swizzle_mode, surface.resource_type, surface.has_stencil = query.mode, query.resource, stencil
    # The request's value, without effect: tiles of GFX12 have one order of elements.
    surface.micro_tile_mode = request.micro_tile_mode or 0
    _compression(config, surface)
    surface.is_linear = query.mode == SwizzleMode3.LINEAR
    surface.is_displayable = (
        not depth and not stencil and query.resource != ResourceType.TEX_3D and (config.drm_minor >= 58 or not surface.gfx12_enable_dcc))
    surface.thick_tiling = query.mode >= SwizzleMode3.SW_4KB_3D
    if depth or not stencil:
        _miptree(config, surface, query)
    if stencil:
        flags = query.flags & ~SurfaceFlags3.DEPTH | SurfaceFlags3.STENCIL
        _stencil(config, surface, replace(query, flags=flags, bpp=8, bpe=1, format=Format.FMT_8))
    surface.total_size, surface.alignment_log2 = surface.surf_size, surface.surf_alignment_log2
    surface.place_hierarchical_depth()
    return surface


def _swizzle_mode(config: GpuConfig, request: SurfaceRequest, query: Query) -> int:
    color = not request.flags & DEPTH_OR_STENCIL
    if request.modifier != INVALID:
        return modifiers.modifier_swizzle_mode(config, request.modifier)
    if request.flags & SurfaceUse.IMPORTED:
        return forced_mode(request)
    if request.flags & SurfaceUse.FORCE_SWIZZLE_MODE:
        return _demanded_mode(config, request, query)
    if request.flags & SurfaceUse.PRT:
        return SwizzleMode3.SW_64KB_3D if request.is_3d else SwizzleMode3.SW_64KB_2D
    if request.mode == SurfaceMode.LINEAR_ALIGNED or not config.has_image_opcodes or (request.is_1d and color):
        return SwizzleMode3.LINEAR
    return _select_mode(config, query, compressed=request.blk_w == 4)


def _has_custom_pitch(request: SurfaceRequest, query: Query) -> bool:
    plain_2d = not (request.is_1d or request.is_3d or request.is_cube or request.is_array) and request.levels == request.samples == 1
    plain_color = request.blk_w == request.blk_h == 1 and not request.flags & DEPTH_OR_STENCIL and request.bpe.bit_count() == 1
    return plain_2d and plain_color and query.mode == SwizzleMode3.LINEAR


def _compression(config: GpuConfig, surface: Gfx12Surface) -> None:
    """Choose whether the hardware compresses the memory, and in which blocks."""
    request, dcc = surface.request, surface.dcc
    depth_stencil = bool(request.flags & DEPTH_OR_STENCIL)
    if request.modifier != INVALID:
        surface.gfx12_enable_dcc = modifiers.has_dcc(request.modifier)
    else:
        # The driver means to compress single-sampled colour of 4 KB and more too, but decides before it knows the size.
        surface.gfx12_enable_dcc = not request.flags & SurfaceUse.DISABLE_DCC and (depth_stencil or request.samples > 1)
    if not surface.gfx12_enable_dcc:
        return
    if request.modifier != INVALID:
        dcc.max_compressed_block_size = modifiers.decode_modifier(request.modifier).dcc_max_compressed_block
    elif not depth_stencil and not request.flags & SurfaceUse.IMPORTED:
        dcc.max_compressed_block_size = int(CompressedBlock.BLOCK_128B)


def _estimate(query: Query, block: tuple[int, int, int]) -> int:
    """Return the approximate bytes of the surface in blocks of this width, height and depth."""
    width, height = align(query.width, block[0] * query.blk_w), align(query.height, block[1] * query.blk_h)
    depth = align(query.slices, block[2])
    element = query.samples * query.bpe
    block_size = block[0] * block[1] * block[2] * element
    if query.levels > 1 and block[1] > 1:
        width, height = 1 << (width - 1).bit_length(), 1 << (height - 1).bit_length()
    size = 0
    for _ in range(query.levels):
        level_size = -(-width // query.blk_w) * -(-height // query.blk_h) * depth * element
        size += level_size
        if block_size >= 4096 and level_size <= block_size // 2:
            break  # most likely in the mip tail
        width, height = max(width >> 1, 1), max(height >> 1, 1)
        if query.resource == ResourceType.TEX_3D:
            depth = max(depth >> 1, 1)
    return size


_LARGEST_BLOCK = 256 * 1024
# How many times the ideal size a surface may take for the sake of larger blocks: single-precision numbers in the driver.
_OVERALLOCATION = {
    SwizzleMode3.SW_256KB_3D: 1.10000002384185791015625, SwizzleMode3.SW_64KB_3D: 1.2000000476837158203125, SwizzleMode3.SW_4KB_3D: 2.0,
    SwizzleMode3.SW_256KB_2D: 1.10000002384185791015625, SwizzleMode3.SW_64KB_2D: 1.2999999523162841796875, SwizzleMode3.SW_4KB_2D: 2.0,
    SwizzleMode3.SW_256B_2D: 3.0,
}


def _demanded_mode(config: GpuConfig, request: SurfaceRequest, query: Query) -> int:
    """Return the mode that is asked for, if a surface of this kind can have it. The driver knows no such demand on GFX12."""
    mode = forced_mode(request)
    valid = int(possible_modes3(config, 1, flags=int(query.flags), resource_type=query.resource, bpp=query.bpp or 8 * query.bpe,
                                num_samples=query.samples, max_align=_LARGEST_BLOCK)[0])
    if not 0 <= mode < len(SwizzleMode3) or not valid >> mode & 1:
        possible = ", ".join(f"{int(each)} ({each.name})" for each in SwizzleMode3 if valid >> each & 1)
        raise InputError(f"swizzle mode {mode}: a surface of this kind on {config.name} has one of {possible}")
    return mode


def _select_mode(config: GpuConfig, query: Query, compressed: bool = False) -> int:
    """Return the mode with the largest blocks that does not waste too much memory."""
    valid = int(possible_modes3(
        config, 1, flags=int(query.flags), resource_type=query.resource, bpp=query.bpp, num_samples=query.samples,
        max_align=(256 if config.has_dedicated_vram else 64) * 1024)[0])
    if compressed:
        valid &= ~1
    element, samples = log2(query.bpe), log2(query.samples)
    ideal = _estimate(query, (1, 1, 1))

    def allowed(mode: SwizzleMode3) -> bool:
        return bool(valid >> mode & 1)

    def size(mode: SwizzleMode3) -> int:
        width, height, depth = block_extent_log2(config, modes(config)[mode], mode >= SwizzleMode3.SW_4KB_3D, element, samples)
        return _estimate(query, (1 << width, 1 << height, 1 << depth))

    def fits(mode: SwizzleMode3) -> bool:
        return size(mode) / ideal <= _OVERALLOCATION[mode]

    if query.resource == ResourceType.TEX_3D:
        for mode, smaller in ((SwizzleMode3.SW_256KB_3D, SwizzleMode3.SW_64KB_3D), (SwizzleMode3.SW_64KB_3D, SwizzleMode3.SW_4KB_3D)):
            if allowed(mode) and (fits(mode) or not allowed(smaller)):
                return mode
        depth = 1 << block_extent_log2(config, modes(config)[SwizzleMode3.SW_4KB_3D], True, element, 0)[2]
        if allowed(SwizzleMode3.SW_4KB_3D) and (fits(SwizzleMode3.SW_4KB_3D) or query.slices >= 3 * depth):
            return SwizzleMode3.SW_4KB_3D
    micro, linear = allowed(SwizzleMode3.SW_256B_2D), allowed(SwizzleMode3.LINEAR)
    for mode, smaller_allowed in (
            (SwizzleMode3.SW_256KB_2D, allowed(SwizzleMode3.SW_64KB_2D)), (SwizzleMode3.SW_64KB_2D, allowed(SwizzleMode3.SW_4KB_2D)),
            (SwizzleMode3.SW_4KB_2D, micro or linear)):
        if allowed(mode) and (fits(mode) or not smaller_allowed):
            return mode
    if not (micro and linear):
        return SwizzleMode3.SW_256B_2D if micro else SwizzleMode3.LINEAR
    # The pitch of linear surfaces is a multiple of 128 bytes, but slices are sized as if of 256.
    linear_size = _estimate(query, (256 >> element, 1, 1))
    fits_micro = size(SwizzleMode3.SW_256B_2D) / linear_size <= _OVERALLOCATION[SwizzleMode3.SW_256B_2D]
    return SwizzleMode3.SW_256B_2D if fits_micro else SwizzleMode3.LINEAR


def _hierarchical(config: GpuConfig, surface: Gfx12Surface, query: Query) -> HierarchicalDepth:
    """Return HiZ of a depth query, HiS of a stencil query."""
    if surface.flags & SurfaceUse.NO_HTILE:
        return HierarchicalDepth()
    bits, fmt = (32, Format.FMT_32) if query.flags & SurfaceFlags3.DEPTH else (16, Format.FMT_16)
    flags = query.flags & ~(SurfaceFlags3.DEPTH | SurfaceFlags3.STENCIL) | SurfaceFlags3.HIZ_HIS
    tiles = replace(
        query, format=fmt, bpp=bits, bpe=bits // 8, flags=flags, blk_w=1, blk_h=1,
        width=align(-(-query.width // 8), 2), height=align(-(-query.height // 8), 2))
    tiles = replace(tiles, mode=_select_mode(config, tiles))
    info, _ = tiles.info(config)
    # Where log2 of the alignment belongs, the driver stores the low 8 bits of the alignment itself: 0 for every alignment that occurs.
    return HierarchicalDepth(0, info.surf_size & 0xFFFFFFFF, tiles.width, tiles.height, tiles.mode, info.base_align & 0xFF)


def _sparse(surface: Gfx12Surface, info: SurfaceInfo3, mips: list[MipInfo]) -> None:
    surface.prt_tile_width, surface.prt_tile_height, surface.prt_tile_depth = info.block_width, info.block_height, info.block_depth
    surface.first_mip_tail_level = info.first_mip_id_in_tail
    surface.prt_level_offset = [mip.macro_block_offset + mip.mip_tail_offset for mip in mips]
    surface.prt_level_pitch = [mip.pitch for mip in mips]


def _stencil(config: GpuConfig, surface: Gfx12Surface, query: Query) -> None:
    info, _ = query.info(config)
    surface.stencil_swizzle_mode = query.mode
    surface.stencil_offset = align(surface.surf_size, info.base_align)
    surface.surf_alignment_log2 = max(surface.surf_alignment_log2, log2(info.base_align))
    surface.surf_size = surface.stencil_offset + info.surf_size
    surface.his = _hierarchical(config, surface, query)


def _miptree(config: GpuConfig, surface: Gfx12Surface, query: Query) -> None:
    info, mips = query.info(config)
    surface.surf_slice_size, surface.surf_pitch, surface.surf_height = info.slice_size, info.pitch, info.height
    surface.surf_size, surface.surf_alignment_log2 = info.surf_size, log2(info.base_align)
    if surface.flags & SurfaceUse.PRT:
        _sparse(surface, info, mips)
    linear = query.mode == SwizzleMode3.LINEAR
    if linear:
        surface.offset, surface.pitch = [mip.offset for mip in mips], [mip.pitch for mip in mips]
    if linear and surface.blk_w == 2 and info.pitch == info.pixel_pitch:
        # addrlib counts pixels; descriptors hold the pitch in elements.
        alignment = _LINEAR_ALIGNMENT // surface.bpe
        surface.surf_pitch = align(info.pitch // surface.blk_w, alignment)
        surface.surf_slice_size = max(info.slice_size, surface.surf_pitch * info.height * surface.bpe * surface.blk_w)
        surface.surf_size = surface.surf_slice_size * query.slices
        surface.pitch = [align(mip.pitch // surface.blk_w, alignment) for mip in mips]
    surface.base_mip_width = surface.surf_pitch if linear else mips[0].pitch
    surface.base_mip_height = mips[0].height
    if query.flags & SurfaceFlags3.DEPTH:
        surface.hiz = _hierarchical(config, surface, query)


def supports_dcc_image_stores(_config: GpuConfig, surface: Gfx12Surface) -> bool:
    """See `pyaco.addrlib.driver.queries.supports_dcc_image_stores`."""
    return not surface.flags & DEPTH_OR_STENCIL


def bo_metadata(_config: GpuConfig, surface: Gfx12Surface) -> int:
    """See `pyaco.addrlib.driver.queries.bo_metadata`."""
    return (
        surface.swizzle_mode & 7 | surface.dcc.max_compressed_block_size << 3 | (surface.dcc_number_type & 7) << 5
        | (surface.dcc_data_format & 0x3F) << 8 | bool(surface.flags & SurfaceUse.SCANOUT) << 63)


def import_surface(config: GpuConfig, request: SurfaceRequest, tiling_flags: int) -> Gfx12Surface:
    """See `pyaco.addrlib.driver.queries.import_surface`."""
    dcc = DccSettings(max_compressed_block_size=tiling_flags >> 3 & 3)
    imported = replace(request, swizzle_mode=tiling_flags & 7, flags=imported_flags(request, bool(tiling_flags >> 63)))
    surface = compute_surface(config, imported, dcc)
    surface.dcc_number_type, surface.dcc_data_format = tiling_flags >> 5 & 7, tiling_flags >> 8 & 0x3F
    return surface


def planes(surface: Gfx12Surface) -> tuple[Plane, ...]:
    """See `pyaco.addrlib.driver.queries.planes`."""
    return (texel_plane(surface),)


def override_pitch(config: GpuConfig, surface: Gfx12Surface, pitch: int) -> None:
    """Give an imported surface the pitch (elements) of its exporter."""
    tiled = 1 << (modes(config)[surface.swizzle_mode].block_log2 // 2 - log2(surface.bpe) // 2)
    set_pitch(surface, pitch, _LINEAR_ALIGNMENT // surface.bpe if surface.is_linear else tiled, fixed=False)


def surface_addresses(
    config: GpuConfig, surface: Gfx12Surface, length: int, **texels: ArrayLike,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return status and address of texels; see `pyaco.addrlib.driver.queries.surface_addresses`."""
    request = surface.request
    return addresses3(
        config, length, **texels, swizzle_mode=surface.texel_swizzle_mode, resource_type=surface.resource_type, bpp=surface.bpe * 8,
        width=request.level_extent(0)[0], height=request.level_extent(0)[1], num_slices=request.layers, num_mip_levels=request.levels,
        num_samples=request.samples,
        pitch_in_element=surface.surf_pitch if surface.uses_custom_pitch else 0)


def tiled_surface(config: GpuConfig, surface: Gfx12Surface, stencil: bool) -> TiledSurface:
    """See `pyaco.addrlib.driver.queries.tiled_surface`."""
    return tile_levels(config, surface, stencil, surface.request.samples)


def non_block_compressed_view(config: GpuConfig, surface: Gfx12Surface, level: int, layer: int) -> NonBlockCompressedView:
    """See `pyaco.addrlib.driver.queries.non_block_compressed_view`."""
    request = surface.request
    found = non_bc_views3(
        config, 1, swizzle_mode=surface.swizzle_mode, resource_type=surface.resource_type, format=element_format(request), width=request.width,
        height=request.height, num_mip_levels=request.levels, pipe_bank_xor=surface.tile_swizzle, slice=layer, mip_id=level)[0]
    if found["status"]:
        raise_status(int(found["status"]), f"non-block-compressed view, {config.name}")
    return NonBlockCompressedView(*(int(found[name]) for name in (
        "unaligned_width", "unaligned_height", "mip_id", "num_mip_levels", "pipe_bank_xor", "offset")))
