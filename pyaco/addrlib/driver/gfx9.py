"""Surfaces as drivers lay them out on GFX9 to GFX11.5.

Source of the facts: Mesa's ``ac_surface.c`` (gfx9_compute_surface, gfx9_compute_miptree and what they call).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.driver import modifiers
from pyaco.addrlib.driver.modifiers import INVALID, CompressedBlock
from pyaco.addrlib.driver.records import (
    DEPTH_OR_STENCIL,
    MicroTileMode,
    NonBlockCompressedView,
    Plane,
    Surface,
    SurfaceMode,
    SurfaceRequest,
    SurfaceUse,
    imported_flags,
    is_display_surface,
)
from pyaco.addrlib.enums import BlockSet, ResourceLocation, ResourceType, SurfaceFlags, SwizzleMode, SwizzleType
from pyaco.addrlib.formats import ASTC_FORMATS, Format
from pyaco.addrlib.generations import Generation
from pyaco.addrlib.integers import align, log2
from pyaco.addrlib.metadata import CmaskRequest, DccRequest, HtileRequest, MetadataInfo, cmask_info, dcc_info, htile_info
from pyaco.addrlib.metadata.fmask import fmask_info
from pyaco.addrlib.records import MipInfo
from pyaco.addrlib.tiling import TiledSurface
from pyaco.addrlib.v2.address import addresses, pipe_bank_xor
from pyaco.addrlib.v2.queries import SurfaceInfo, surface_info
from pyaco.addrlib.v2.settings import displayable, non_bc_view, preferred_setting
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import (
    has_blocks_256kb,
    has_cmask_of_single_samples,
    has_custom_linear_pitch,
    has_dcc_blocks_256b,
    has_dcc_image_stores,
    has_dcc_image_stores_64b,
    has_dcc_of_first_tail_level,
    has_display_dcc_128b,
    has_fmask,
    has_forced_swizzle_mode,
    has_independent_dcc_128b,
    has_planar_mip_chains,
    has_separate_shading_rates,
    has_surface_epitch,
    has_surfaces_1d,
    has_tile_swizzle_from_bit_10,
)

__all__ = [
    "DccSettings", "Gfx9Surface", "bo_metadata", "compute_surface", "dcc_retile_map", "element_format", "import_surface", "move",
    "non_block_compressed_view", "override_pitch", "planes", "set_pitch", "stencil_offset", "supports_dcc_image_stores", "surface_addresses",
    "texel_plane", "tile_levels", "tiled_surface",
]

LINEAR_PITCH_ALIGNMENT = 256
"""Bytes: a pitch that every GPU can read, as linear surfaces are shared between GPUs."""

_MICRO_TILE_MODE = {0: MicroTileMode.DEPTH, 1: MicroTileMode.STANDARD, 2: MicroTileMode.DISPLAY, 3: MicroTileMode.RENDER}
_PREFERRED_TYPE = {
    MicroTileMode.DISPLAY: SwizzleType.D, MicroTileMode.STANDARD: SwizzleType.S, MicroTileMode.DEPTH: SwizzleType.Z,
    MicroTileMode.RENDER: SwizzleType.R,
}


@dataclass
class DccSettings:
    """How DCC is compressed, and for which hardware blocks it is laid out.

    Attributes
    ----------
    rb_aligned, pipe_aligned : bool
        Laid out for the render backends; for the texture caches. The display engine needs neither.
    independent_64B_blocks, independent_128B_blocks : bool
        Whether blocks of that size can be decompressed independently.
    max_compressed_block_size : int
        `pyaco.addrlib.driver.modifiers.CompressedBlock`.
    display_equation_valid : bool
        Whether the surface has displayable DCC in addition.
    """

    rb_aligned: bool = False
    pipe_aligned: bool = False
    independent_64B_blocks: bool = False
    independent_128B_blocks: bool = False
    max_compressed_block_size: int = 0
    display_equation_valid: bool = False

    def set_blocks(self, independent_64b: bool, independent_128b: bool, largest: CompressedBlock) -> None:
        """Set which blocks are independent and how large compressed blocks are."""
        self.independent_64B_blocks, self.independent_128B_blocks = independent_64b, independent_128b
        self.max_compressed_block_size = int(largest)


@dataclass
class Gfx9Surface(Surface):
    """Layout of a surface on GFX9 and later. Level lists have one entry per level of the request.

    Attributes
    ----------
    swizzle_mode, stencil_swizzle_mode, fmask_swizzle_mode : int
    epitch, fmask_epitch, stencil_epitch : int
        Pitch (or height) of the mip chain less 1, as in GFX9's descriptors.
    resource_type : int
        `pyaco.addrlib.ResourceType`.
    surf_pitch, surf_height : int
        Elements of the padded level 0.
    surf_offset, surf_slice_size : int
        Bytes; of a slice with all its levels.
    offset, pitch : list of int
        Of the levels of linear surfaces.
    base_mip_width, base_mip_height : int
        Padded level 0, elements.
    prt_level_offset, prt_level_pitch : list of int
        Of the levels of sparse surfaces.
    meta_level_offset, meta_level_size : list of int
        DCC or HTILE of the levels, bytes of one layer (GFX9: position of the level in the plane, which is what addrlib reports).
    dcc_pitch_max, display_dcc_pitch_max : int
        Pitch of DCC less 1, in elements.
    htile, dcc_metadata, display_dcc, cmask : MetadataInfo or None
        Layouts of the metadata.
    """

    swizzle_mode: int = 0
    epitch: int = 0
    uses_custom_pitch: bool = False
    resource_type: int = 0
    surf_pitch: int = 0
    surf_height: int = 0
    surf_offset: int = 0
    surf_slice_size: int = 0
    base_mip_width: int = 0
    base_mip_height: int = 0
    offset: list[int] = field(default_factory=list)
    pitch: list[int] = field(default_factory=list)
    prt_level_offset: list[int] = field(default_factory=list)
    prt_level_pitch: list[int] = field(default_factory=list)
    meta_level_offset: list[int] = field(default_factory=list)
    meta_level_size: list[int] = field(default_factory=list)
    dcc: DccSettings = field(default_factory=DccSettings)
    fmask_swizzle_mode: int = 0
    fmask_epitch: int = 0
    dcc_pitch_max: int = 0
    dcc_height: int = 0
    dcc_block_width: int = 0
    dcc_block_height: int = 0
    dcc_block_depth: int = 0
    dcc_number_type: int = 0
    dcc_data_format: int = 0
    display_dcc_alignment_log2: int = 0
    display_dcc_size: int = 0
    display_dcc_pitch_max: int = 0
    display_dcc_height: int = 0
    cmask_level0_offset: int = 0
    cmask_level0_size: int = 0
    stencil_offset: int = 0
    stencil_epitch: int = 0
    stencil_swizzle_mode: int = 0
    htile: MetadataInfo | None = None
    dcc_metadata: MetadataInfo | None = None
    display_dcc: MetadataInfo | None = None
    cmask: MetadataInfo | None = None

    @property
    def texel_swizzle_mode(self) -> int:
        """The swizzle mode of the texels: that of stencil in stencil-only surfaces."""
        return self.stencil_swizzle_mode if self.request.is_only_stencil else self.swizzle_mode

    def place_display_dcc(self) -> None:
        """Put displayable DCC directly after the texels, where the display engine expects it."""
        if not self.flags & DEPTH_OR_STENCIL and self.dcc.display_equation_valid:
            self.place("display_dcc_offset", self.display_dcc_size, self.display_dcc_alignment_log2)


@dataclass(frozen=True)
class Query:
    """The surface that addrlib is to lay out. Width and height in pixels."""

    format: int
    bpp: int
    flags: SurfaceFlags
    resource: ResourceType
    width: int
    height: int
    slices: int
    levels: int
    samples: int
    fragments: int
    mode: int = 0

    def info(self, config: GpuConfig) -> tuple[SurfaceInfo, list[MipInfo]]:
        """Return addrlib's layout."""
        return surface_info(
            config, width=self.width, height=self.height, swizzle_mode=self.mode, bpp=self.bpp, format=self.format, resource_type=self.resource,
            num_slices=self.slices, num_mip_levels=self.levels, num_samples=self.samples, num_frags=self.fragments, flags=int(self.flags))


_FORMATS = {1: Format.FMT_8, 2: Format.FMT_16, 4: Format.FMT_32, 8: Format.FMT_32_32, 12: Format.FMT_32_32_32, 16: Format.FMT_32_32_32_32}


def element_format(request: SurfaceRequest) -> int:
    """Return the addrlib format that has elements like the request's (0 for subsampled: addrlib sees plain elements)."""
    if request.is_compressed:
        return Format.BC1 if request.bpe == 8 else Format.BC3
    if (request.blk_w, request.blk_h) in ASTC_FORMATS:
        return ASTC_FORMATS[request.blk_w, request.blk_h]
    return _FORMATS[request.bpe] if request.blk_w == 1 else Format.INVALID


def _query(config: GpuConfig, request: SurfaceRequest) -> Query:
    use, color = request.flags, not request.flags & DEPTH_OR_STENCIL
    flags = SurfaceFlags.OPTIMIZE_FOR_SPACE
    for is_set, flag in (
            (color and not use & SurfaceUse.NO_RENDER_TARGET, SurfaceFlags.COLOR),
            (use & SurfaceUse.ZBUFFER, SurfaceFlags.DEPTH),
            (is_display_surface(request), SurfaceFlags.DISPLAY),
            # TEXTURE of a depth surface means HTILE that texture units can read.
            ((color and not use & SurfaceUse.NO_TEXTURE) or use & SurfaceUse.TC_COMPATIBLE_HTILE, SurfaceFlags.TEXTURE),
            (use & SurfaceUse.PRT, SurfaceFlags.PRT)):
        if is_set:
            flags |= flag
    # GFX9 has no 1D depth surfaces. All 1D surfaces are 2D there, so that shaders need no variants.
    flat = ResourceType.TEX_1D if request.is_1d and has_surfaces_1d(config.level) else ResourceType.TEX_2D
    resource = ResourceType.TEX_3D if request.is_3d else flat
    return Query(
        element_format(request), 0 if request.is_compressed else request.bpe * 8, flags, resource, request.width, request.height,
        request.layers, request.levels, request.samples, request.fragments)


def compute_surface(config: GpuConfig, request: SurfaceRequest, dcc: DccSettings | None = None) -> Gfx9Surface:
    """See `pyaco.addrlib.driver.queries.compute_surface`; `dcc` are the settings of an imported surface."""
    surface = Gfx9Surface(request, request.blk_w, request.blk_h, request.bpe, request.flags, request.modifier, dcc=dcc or DccSettings())
    query = _query(config, request)
    depth, stencil = bool(request.flags & SurfaceUse.ZBUFFER), bool(request.flags & SurfaceUse.SBUFFER)
    query = replace(query, flags=query.flags | _dcc_settings(config, surface, query))
    query = replace(query, mode=_swizzle_mode(config, surface, query))
    surface.resource_type = query.resource
    surface.has_stencil = stencil
    if depth or not stencil:
        _miptree(config, surface, query)
    if stencil:
        # Stencil beside depth has its swizzle mode, so that one HTILE serves both.
        query = replace(query, flags=query.flags & ~SurfaceFlags.DEPTH | SurfaceFlags.STENCIL, bpp=8, format=Format.FMT_8)
        _stencil(config, surface, query if depth else replace(query, mode=_preferred_mode(config, surface, query)))
    surface.is_linear = (surface.swizzle_mode if depth or not stencil else surface.stencil_swizzle_mode) == SwizzleMode.LINEAR
    surface.is_displayable = _is_displayable(config, surface)
    if not surface.meta_size:
        surface.flags &= ~SurfaceUse.TC_COMPATIBLE_HTILE
    linear = surface.swizzle_mode == SwizzleMode.LINEAR
    surface.micro_tile_mode = MicroTileMode.DISPLAY if linear else _MICRO_TILE_MODE[surface.swizzle_mode & 3]
    surface.place_parts(config.level)
    return surface


def _dcc_settings(config: GpuConfig, surface: Gfx9Surface, query: Query) -> SurfaceFlags:
    """Choose how DCC is compressed; return the flags that say for which hardware blocks it is laid out."""
    dcc, request = surface.dcc, surface.request
    if modifiers.has_dcc(request.modifier):
        return _dcc_of_modifier(dcc, modifiers.decode_modifier(request.modifier))
    flags = SurfaceFlags(0)
    if request.flags & DEPTH_OR_STENCIL:
        return flags
    imported = request.flags & SurfaceUse.IMPORTED
    # What suits the L2 cache best.
    if not has_independent_dcc_128b(config.level):
        best = True, False, CompressedBlock.BLOCK_64B
    else:
        best = False, True, CompressedBlock.BLOCK_256B if has_dcc_blocks_256b(config.level) else CompressedBlock.BLOCK_128B
    if not imported:
        dcc.set_blocks(*best)
    if not query.flags & SurfaceFlags.DISPLAY:
        return flags
    if config.use_display_dcc_unaligned:
        flags |= SurfaceFlags.META_PIPE_UNALIGNED | SurfaceFlags.META_RB_UNALIGNED
    if not imported and (config.use_display_dcc_unaligned or config.use_display_dcc_with_retile_blit):
        if config.chip in ("navi12", "navi14"):
            dcc.set_blocks(True, False, CompressedBlock.BLOCK_64B)
        # On chips up to Rembrandt always, so that all versions of the driver agree; on later ones only where the display engine needs it.
        always = config.supports_rbplus and config.chip != "raphael_mendocino"
        if always or (has_display_dcc_128b(config.level) and _display_needs_64b(config, request)):
            dcc.set_blocks(True, True, CompressedBlock.BLOCK_64B)
    return flags


def _dcc_of_modifier(dcc: DccSettings, modifier: modifiers.Modifier) -> SurfaceFlags:
    flags = SurfaceFlags(0)
    if not modifier.dcc_retile and not modifier.dcc_pipe_align:
        flags |= SurfaceFlags.META_PIPE_UNALIGNED
        if modifier.tile_version == modifiers.TileVersion.GFX9 and modifier.rb == 0:
            flags |= SurfaceFlags.META_RB_UNALIGNED
    dcc.set_blocks(
        bool(modifier.dcc_independent_64b), bool(modifier.dcc_independent_128b), CompressedBlock(modifier.dcc_max_compressed_block))
    return flags


def _display_needs_64b(config: GpuConfig, request: SurfaceRequest) -> bool:
    """Whether the display engine needs independent 64-byte blocks: with old kernels, and beyond 2560 pixels."""
    return config.drm_minor <= 43 or request.width > 2560 or request.height > 2560


def _swizzle_mode(config: GpuConfig, surface: Gfx9Surface, query: Query) -> int:
    request = surface.request
    if request.modifier != INVALID:
        return modifiers.modifier_swizzle_mode(config, request.modifier)
    if request.mode == SurfaceMode.LINEAR_ALIGNED or not config.has_image_opcodes:
        return SwizzleMode.LINEAR
    if request.flags & SurfaceUse.IMPORTED or (has_forced_swizzle_mode(config.level) and request.flags & SurfaceUse.FORCE_SWIZZLE_MODE):
        return forced_mode(request)
    if has_separate_shading_rates(config.level) and request.flags & SurfaceUse.VRS_RATE:
        return SwizzleMode.SW_64KB_R_X
    return _preferred_mode(config, surface, query)


def forced_mode(request: SurfaceRequest) -> int:
    """Return the swizzle mode that the request prescribes."""
    if request.swizzle_mode is None:
        raise InputError("`swizzle_mode` is missing: imported surfaces and FORCE_SWIZZLE_MODE need it")
    return request.swizzle_mode


def _preferred_mode(config: GpuConfig, surface: Gfx9Surface, query: Query, fmask: bool = False) -> int:
    """Return the tiled mode that addrlib prefers among those that drivers allow."""
    use, forbidden, preferred = surface.flags, BlockSet.MICRO, 0
    large = BlockSet.THIN_256KB | BlockSet.THICK_256KB
    if not has_blocks_256kb(config.level):
        forbidden |= BlockSet.VAR
    elif not config.has_dedicated_vram:
        forbidden |= large
    flags = query.flags
    if fmask:
        flags = flags & ~(SurfaceFlags.DISPLAY | SurfaceFlags.COLOR) | SurfaceFlags.FMASK
    if flags & SurfaceFlags.PRT:
        # Sparse blocks are 64 KB for every image, because they are a property of the format.
        forbidden |= BlockSet.THIN_4KB | BlockSet.THICK_4KB | BlockSet.LINEAR | (large if has_blocks_256kb(config.level) else BlockSet(0))
    elif use & SurfaceUse.PREFER_4K_ALIGNMENT:
        forbidden |= BlockSet.THIN_64KB | BlockSet.THICK_64KB
    if use & (SurfaceUse.PREFER_64K_ALIGNMENT | SurfaceUse.PREFER_4K_ALIGNMENT) and has_blocks_256kb(config.level):
        forbidden |= large
    if use & SurfaceUse.FORCE_MICRO_TILE_MODE:
        forbidden |= BlockSet.LINEAR
        requested = surface.request.micro_tile_mode
        preferred |= 1 << _PREFERRED_TYPE[MicroTileMode.DISPLAY if requested is None else requested]
    if config.generation >= Generation.GFX10 and query.resource == ResourceType.TEX_3D and query.slices > 1:
        # 3D textures are read fastest in S order.
        preferred |= 1 << SwizzleType.S
    return preferred_setting(
        config, flags=int(flags), resource_type=query.resource, format=query.format, resource_location=ResourceLocation.INVISIBLE,
        forbidden_block=int(forbidden), preferred_sw_set=preferred, bpp=query.bpp, width=query.width, height=query.height,
        num_slices=query.slices, num_mip_levels=query.levels, num_samples=query.samples, num_frags=query.fragments).swizzle_mode


def _sparse(config: GpuConfig, surface: Gfx9Surface, info: SurfaceInfo, mips: list[MipInfo]) -> None:
    surface.prt_tile_width, surface.prt_tile_height, surface.prt_tile_depth = info.block_width, info.block_height, info.block_slices
    surface.first_mip_tail_level = info.first_mip_id_in_tail
    surface.prt_level_offset = [mip.macro_block_offset + mip.mip_tail_offset for mip in mips]
    surface.prt_level_pitch = [info.mip_chain_pitch if has_planar_mip_chains(config.level) else mip.pitch for mip in mips]


def _epitch(info: SurfaceInfo) -> int:
    return (info.mip_chain_height if info.epitch_is_height else info.mip_chain_pitch) - 1


def _lay_out(config: GpuConfig, surface: Gfx9Surface, query: Query) -> tuple[SurfaceInfo, list[MipInfo]]:
    """Return addrlib's layout, and record what stencil and other texels have in common."""
    info, mips = query.info(config)
    if query.flags & SurfaceFlags.PRT:
        _sparse(config, surface, info, mips)
    surface.thick_tiling = info.block_slices > 1
    return info, mips


def _stencil(config: GpuConfig, surface: Gfx9Surface, query: Query) -> None:
    """Lay out stencil after depth."""
    info, _ = _lay_out(config, surface, query)
    surface.stencil_swizzle_mode = query.mode
    surface.stencil_epitch = _epitch(info) & 0xFFFF
    surface.surf_alignment_log2 = max(surface.surf_alignment_log2, log2(info.base_align))
    surface.stencil_offset = align(surface.surf_size, info.base_align)
    surface.surf_size = surface.stencil_offset + info.surf_size


def _miptree(config: GpuConfig, surface: Gfx9Surface, query: Query) -> None:
    """Lay out texels of depth or colour, and their metadata."""
    info, mips = _lay_out(config, surface, query)
    surface.swizzle_mode = query.mode
    surface.epitch = _epitch(info) & 0xFFFF
    if not query.flags & SurfaceFlags.DEPTH:
        # Fast clears of CMASK read these even without FMASK. The mode is a Z mode, because FMASK has no other.
        surface.fmask_swizzle_mode = query.mode & ~3
        surface.fmask_epitch = surface.epitch
    surface.surf_slice_size, surface.surf_pitch, surface.surf_height = info.slice_size, info.pitch, info.height
    surface.surf_size, surface.surf_alignment_log2 = info.surf_size, log2(info.base_align)
    _linear_levels(surface, query, info, mips)
    surface.base_mip_height = mips[0].height
    if query.flags & SurfaceFlags.DEPTH:
        if not surface.flags & SurfaceUse.NO_HTILE:
            _htile(config, surface, query, info)
        return
    _tile_swizzle(config, surface, query, info)
    if _wants_dcc(config, surface, query):
        _dcc(config, surface, query, info)
    if has_fmask(config.level) and config.has_graphics:
        if query.samples > 1 and not surface.flags & SurfaceUse.NO_FMASK:
            _fmask(config, surface, query)
        if _wants_cmask(config, surface, query):
            _cmask(config, surface, query, info)


def _linear_levels(surface: Gfx9Surface, query: Query, info: SurfaceInfo, mips: list[MipInfo]) -> None:
    linear = query.mode == SwizzleMode.LINEAR
    surface.base_mip_width = surface.surf_pitch if linear else mips[0].pitch
    if not linear:
        return
    surface.offset, surface.pitch = [mip.offset for mip in mips], [mip.pitch for mip in mips]
    subsampled = surface.blk_w == 2 and info.pitch == info.pixel_pitch and query.levels == 1
    if subsampled:
        # addrlib counts pixels; descriptors hold the pitch in elements.
        alignment = 1 << (LINEAR_PITCH_ALIGNMENT // surface.bpe - 1).bit_length()
        surface.surf_pitch = align(info.pitch // surface.blk_w, alignment)
        surface.epitch = surface.surf_pitch - 1
        surface.surf_slice_size = surface.surf_pitch * info.height * surface.bpe
        surface.surf_size = surface.surf_slice_size * query.slices
        surface.pitch = [align(mip.pitch // surface.blk_w, alignment) for mip in mips]
        surface.base_mip_width = surface.surf_pitch


def _htile(config: GpuConfig, surface: Gfx9Surface, query: Query, info: SurfaceInfo) -> None:
    htile = htile_info(config, HtileRequest(
        SwizzleMode(query.mode), query.width, query.height, query.slices, query.levels, info.first_mip_id_in_tail))
    surface.htile = htile
    surface.meta_size, surface.meta_slice_size, surface.meta_pitch = htile.size, htile.slice_size, htile.pitch
    surface.meta_alignment_log2 = log2(htile.base_align)
    _meta_levels(config, surface, htile, query.levels, tail_level=1)


def _meta_levels(config: GpuConfig, surface: Gfx9Surface, meta: MetadataInfo, levels: int, tail_level: int) -> None:
    """Record where the levels' metadata lies, up to the first level in the tail; `tail_level` is 1 if that one has metadata, else 0."""
    surface.num_meta_levels = levels
    planar = has_planar_mip_chains(config.level)
    for i, level in enumerate(meta.levels[:levels]):
        surface.meta_level_offset.append(level.x if planar else level.offset)
        surface.meta_level_size.append(level.y if planar else level.size)
        if level.in_tail:
            surface.num_meta_levels = i + tail_level
            break
    if not surface.num_meta_levels:
        surface.meta_size = 0


def _xor_bits(config: GpuConfig, index: int, query: Query, mode: int) -> int:
    return pipe_bank_xor(
        config, surf_index=index, flags=int(query.flags), swizzle_mode=mode, resource_type=query.resource, format=query.format,
        num_samples=query.samples, num_frags=query.fragments)


def _tile_swizzle(config: GpuConfig, surface: Gfx9Surface, query: Query, info: SurfaceInfo) -> None:
    index = surface.request.surf_index
    if (index is None or query.mode < SwizzleMode.SW_64KB_Z_T or info.mip_chain_in_tail or surface.flags & SurfaceUse.SHAREABLE
            or query.flags & SurfaceFlags.DISPLAY):
        return
    surface.tile_swizzle = _xor_bits(config, index, query, query.mode) << (2 if has_tile_swizzle_from_bit_10(config.level) else 0)


def _cb_compresses(config: GpuConfig, mode: int) -> bool:
    """Whether the colour block can compress a surface of this swizzle mode."""
    if config.generation == Generation.GFX9:
        return mode != SwizzleMode.LINEAR
    return mode in (SwizzleMode.SW_64KB_Z_X, SwizzleMode.SW_64KB_R_X) or (
        has_blocks_256kb(config.level) and mode in (SwizzleMode.SW_256KB_Z_X, SwizzleMode.SW_256KB_R_X))


def _display_decompresses(config: GpuConfig, surface: Gfx9Surface, rb_aligned: bool, pipe_aligned: bool) -> bool:
    """Whether the display engine can read the surface while it is compressed."""
    if not config.use_display_dcc_unaligned and not config.use_display_dcc_with_retile_blit:
        return False
    if surface.bpe != 4 or (config.use_display_dcc_unaligned and (rb_aligned or pipe_aligned)):
        return False
    dcc = surface.dcc
    if config.generation == Generation.GFX9:
        return True
    if dcc.independent_128B_blocks and not has_display_dcc_128b(config.level):
        return False
    return not _display_needs_64b(config, surface.request) or (
        dcc.independent_64B_blocks and dcc.max_compressed_block_size == CompressedBlock.BLOCK_64B)


def _wants_dcc(config: GpuConfig, surface: Gfx9Surface, query: Query) -> bool:
    request = surface.request
    if request.modifier != INVALID:
        return modifiers.has_dcc(request.modifier)
    return (
        config.has_graphics and not surface.flags & SurfaceUse.DISABLE_DCC and not request.is_compressed and not request.is_3d
        and _cb_compresses(config, query.mode)
        and (not query.flags & SurfaceFlags.DISPLAY or _display_decompresses(
            config, surface, not query.flags & SurfaceFlags.META_RB_UNALIGNED, not query.flags & SurfaceFlags.META_PIPE_UNALIGNED)))


def _dcc(config: GpuConfig, surface: Gfx9Surface, query: Query, info: SurfaceInfo) -> None:
    request = DccRequest(
        SwizzleMode(query.mode), query.width, query.height, query.slices, query.levels, info.first_mip_id_in_tail,
        not query.flags & SurfaceFlags.META_PIPE_UNALIGNED, not query.flags & SurfaceFlags.META_RB_UNALIGNED, query.bpp,
        query.resource, query.fragments)
    meta = dcc_info(config, request)
    surface.dcc_metadata = meta
    surface.dcc.rb_aligned, surface.dcc.pipe_aligned = request.rb_aligned, request.pipe_aligned
    surface.dcc_block_width, surface.dcc_block_height, surface.dcc_block_depth = meta.compressed_block
    surface.dcc_pitch_max, surface.dcc_height = meta.pitch - 1, meta.height
    surface.meta_size, surface.meta_slice_size, surface.meta_alignment_log2 = meta.size, meta.slice_size, log2(meta.base_align)
    # Levels in the mip tail share cache lines and are not coherent; from GFX10 on the first of them is safe.
    _meta_levels(config, surface, meta, query.levels, tail_level=int(has_dcc_of_first_tail_level(config.level)))
    surface.display_dcc_size, surface.display_dcc_alignment_log2 = surface.meta_size, surface.meta_alignment_log2
    surface.display_dcc_pitch_max, surface.display_dcc_height = surface.dcc_pitch_max, surface.dcc_height
    retile = (query.flags & SurfaceFlags.DISPLAY and config.use_display_dcc_with_retile_blit) or modifiers.has_dcc_retile(surface.modifier)
    if retile and surface.num_meta_levels:
        display = dcc_info(config, replace(request, pipe_aligned=False, rb_aligned=False))
        surface.display_dcc = display
        surface.display_dcc_size, surface.display_dcc_alignment_log2 = display.size, log2(display.base_align)
        surface.display_dcc_pitch_max, surface.display_dcc_height = display.pitch - 1, display.height
        surface.dcc.display_equation_valid = True


def _fmask(config: GpuConfig, surface: Gfx9Surface, query: Query) -> None:
    mode = _preferred_mode(config, surface, query, fmask=True)
    info = fmask_info(
        config, swizzle_mode=mode, width=query.width, height=query.height, num_slices=query.slices, num_samples=query.samples,
        num_frags=query.fragments)
    surface.fmask_swizzle_mode, surface.fmask_epitch = mode, info.pitch - 1
    surface.fmask_size, surface.fmask_slice_size, surface.fmask_alignment_log2 = info.size, info.slice_size, log2(info.base_align)
    index = surface.request.fmask_surf_index
    if index is not None and mode >= SwizzleMode.SW_64KB_Z_T and not surface.flags & SurfaceUse.SHAREABLE:
        # The driver's counter for FMASK starts at 1.
        surface.fmask_tile_swizzle = _xor_bits(config, index + 1, query, mode)


def dcc_retile_map(surface: Gfx9Surface) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return what a retile blit copies: offsets of DCC bytes and of displayable DCC bytes, a pair for each compressed block of the surface.

    Returns
    -------
    source, target : numpy.ndarray
        uint64, shape (rows, columns) of compressed blocks; bytes from the start of DCC and of displayable DCC.

    Raises
    ------
    InputError
        A surface without displayable DCC.
    """
    if not (surface.dcc_metadata and surface.display_dcc):
        raise InputError("the surface has no displayable DCC")
    y, x = np.mgrid[0:surface.request.height:surface.dcc_block_height, 0:surface.request.width:surface.dcc_block_width]
    return surface.dcc_metadata.address(x, y), surface.display_dcc.address(x, y)


def _wants_cmask(config: GpuConfig, surface: Gfx9Surface, query: Query) -> bool:
    if query.mode == SwizzleMode.LINEAR or query.resource != ResourceType.TEX_2D:
        return False
    if query.samples > 1:
        return surface.fmask_size > 0
    return has_cmask_of_single_samples(config.level) and not query.flags & (SurfaceFlags.META_PIPE_UNALIGNED | SurfaceFlags.META_RB_UNALIGNED)


def _cmask(config: GpuConfig, surface: Gfx9Surface, query: Query, info: SurfaceInfo) -> None:
    mode = surface.fmask_swizzle_mode if query.samples > 1 else query.mode
    cmask = cmask_info(config, CmaskRequest(
        SwizzleMode(mode), query.width, query.height, query.slices, query.levels, info.first_mip_id_in_tail))
    surface.cmask = cmask
    surface.cmask_size, surface.cmask_slice_size, surface.cmask_alignment_log2 = cmask.size, cmask.slice_size, log2(cmask.base_align)
    surface.cmask_pitch, surface.cmask_height = cmask.pitch, cmask.height
    surface.cmask_level0_offset, surface.cmask_level0_size = cmask.levels[0].offset, cmask.levels[0].size


def _is_displayable(config: GpuConfig, surface: Gfx9Surface) -> bool:
    request = surface.request
    if request.is_3d or request.is_cube or not displayable(config, surface.swizzle_mode, surface.bpe * 8):
        return False
    if surface.flags & DEPTH_OR_STENCIL or not surface.num_meta_levels:
        return True
    return _display_decompresses(config, surface, surface.dcc.rb_aligned, surface.dcc.pipe_aligned) and (
        not config.use_display_dcc_with_retile_blit or surface.dcc.display_equation_valid)


def supports_dcc_image_stores(config: GpuConfig, surface: Gfx9Surface) -> bool:
    """See `pyaco.addrlib.driver.queries.supports_dcc_image_stores`."""
    dcc = surface.dcc
    settings = dcc.independent_64B_blocks, dcc.independent_128B_blocks, dcc.max_compressed_block_size
    return has_dcc_image_stores(config.level) and (
        settings == (False, True, CompressedBlock.BLOCK_128B)
        or (has_dcc_image_stores_64b(config.level) and settings == (True, True, CompressedBlock.BLOCK_64B))
        or (has_dcc_blocks_256b(config.level) and settings == (False, True, CompressedBlock.BLOCK_256B)))


def bo_metadata(config: GpuConfig, surface: Gfx9Surface) -> int:
    """See `pyaco.addrlib.driver.queries.bo_metadata`."""
    offset = (surface.display_dcc_offset or surface.meta_offset) if surface.meta_offset else 0
    if surface.meta_offset and not 0 < offset >> 8 < 1 << 24:
        raise InputError(f"metadata {offset} bytes after the start of the surface: tiling flags hold multiples of 256 below 4 GB")
    dcc = surface.dcc
    return (
        surface.swizzle_mode & 0x1F | offset >> 8 << 5 | (surface.display_dcc_pitch_max & 0x3FFF) << 29 | dcc.independent_64B_blocks << 43
        | dcc.independent_128B_blocks << 44 | dcc.max_compressed_block_size << 45 | bool(surface.flags & SurfaceUse.SCANOUT) << 63)


def import_surface(config: GpuConfig, request: SurfaceRequest, tiling_flags: int) -> Gfx9Surface:
    """See `pyaco.addrlib.driver.queries.import_surface`."""
    mode = tiling_flags & 0x1F
    dcc = DccSettings()
    dcc.set_blocks(bool(tiling_flags >> 43 & 1), bool(tiling_flags >> 44 & 1), CompressedBlock(min(tiling_flags >> 45 & 3, 2)))
    tiled = SurfaceMode.TILED_2D if mode else SurfaceMode.LINEAR_ALIGNED
    surface = compute_surface(
        config, replace(request, mode=tiled, swizzle_mode=mode, flags=imported_flags(request, bool(tiling_flags >> 63))), dcc)
    if surface.dcc_metadata is None:
        surface.display_dcc_pitch_max = tiling_flags >> 29 & 0x3FFF
    return surface


def texel_plane(surface: Gfx9Surface) -> Plane:
    """Return the plane of the texels."""
    pitch = surface.pitch[0] if surface.is_linear and surface.pitch else surface.surf_pitch
    return Plane(surface.surf_offset, pitch * surface.bpe, surface.surf_size)


def planes(surface: Gfx9Surface) -> tuple[Plane, ...]:
    """See `pyaco.addrlib.driver.queries.planes`."""
    texels = texel_plane(surface)
    if surface.modifier == INVALID or not surface.meta_offset:
        return (texels,)
    dcc = Plane(surface.meta_offset, surface.dcc_pitch_max + 1, surface.meta_size)
    if not surface.display_dcc_offset:
        return texels, dcc
    return texels, Plane(surface.display_dcc_offset, surface.display_dcc_pitch_max + 1, surface.display_dcc_size), dcc


def _pitch_alignment(config: GpuConfig, surface: Gfx9Surface) -> int:
    """Return the alignment of a pitch, in elements."""
    if surface.is_linear:
        return LINEAR_PITCH_ALIGNMENT // surface.bpe
    size = {0: 8, 1: 12, 2: 16, 4: 16, 5: 12, 6: 16, 7: 18}[surface.swizzle_mode >> 2]
    bytes_log2 = log2(surface.bpe)
    if config.generation >= Generation.GFX10:
        return 1 << ((size - bytes_log2 + 1) // 2)
    return (16, 16, 8, 8, 4)[bytes_log2] << ((size - 8) // 2)


def override_pitch(config: GpuConfig, surface: Gfx9Surface, pitch: int) -> None:
    """Give an imported surface the pitch (elements) of its exporter."""
    fixed = not (has_surface_epitch(config.level) or has_custom_linear_pitch(config.level))
    set_pitch(surface, pitch, _pitch_alignment(config, surface), fixed=fixed)


def set_pitch(surface: Gfx9Surface, pitch: int, alignment: int, *, fixed: bool) -> None:
    """Give a surface of one level and one layer, without metadata, another pitch, unless its pitch is `fixed`."""
    if pitch in (0, surface.surf_pitch):
        return
    if surface.resource_type == ResourceType.TEX_3D:
        raise InputError("3D surfaces cannot be given a pitch")
    if surface.bpe == 12:
        raise UnsupportedError("elements of 12 bytes with another pitch")
    if pitch % alignment:
        raise InputError(f"a pitch of {pitch} elements; it must be a multiple of {alignment}")
    if fixed or surface.surf_size != surface.total_size or surface.request.levels > 1 or surface.request.layers > 1 or not surface.is_linear:
        raise InputError(f"the pitch of this surface is {surface.surf_pitch} elements and cannot be changed")
    slices = surface.surf_size // surface.surf_slice_size
    surface.uses_custom_pitch = True
    surface.surf_pitch, surface.epitch, surface.pitch[0] = pitch, pitch - 1, pitch
    surface.surf_slice_size = pitch * surface.surf_height * surface.bpe
    surface.total_size = surface.surf_size = surface.surf_slice_size * slices


def move(surface: Gfx9Surface, offset: int) -> None:
    """Move the surface to `offset`, in bytes, in its buffer."""
    surface.surf_offset = offset
    if surface.has_stencil:
        surface.stencil_offset += offset


def surface_addresses(
    config: GpuConfig, surface: Gfx9Surface, length: int, **texels: ArrayLike,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return status and address of texels; see `pyaco.addrlib.driver.queries.surface_addresses`."""
    request = surface.request
    return addresses(
        config, length, **texels, swizzle_mode=surface.texel_swizzle_mode, resource_type=surface.resource_type, bpp=surface.bpe * 8,
        width=request.level_extent(0)[0], height=request.level_extent(0)[1], num_slices=request.layers, num_mip_levels=request.levels,
        num_samples=request.fragments,
        num_frags=request.fragments, pitch_in_element=surface.surf_pitch if surface.uses_custom_pitch else 0, pipe_bank_xor=surface.tile_swizzle)


def tiled_surface(config: GpuConfig, surface: Gfx9Surface, stencil: bool) -> TiledSurface:
    """See `pyaco.addrlib.driver.queries.tiled_surface`."""
    return tile_levels(config, surface, stencil, surface.request.fragments)


def tile_levels(config: GpuConfig, surface: Gfx9Surface, stencil: bool, samples: int) -> TiledSurface:
    """Return the tiled memory of the levels of texels, or of stencil, with `samples` stored samples."""
    request = surface.request
    extents = [request.level_extent(level) for level in range(request.levels)]
    return TiledSurface(
        config, width=extents[0][0], height=extents[0][1], bpp=8 if stencil else surface.bpe * 8, resource_type=surface.resource_type,
        swizzle_mode=surface.stencil_swizzle_mode if stencil else surface.swizzle_mode, num_slices=request.layers, num_mip_levels=request.levels,
        num_samples=samples, pitch_in_element=surface.surf_pitch if surface.uses_custom_pitch else 0, pipe_bank_xor=surface.tile_swizzle,
        level_extents=extents)


def stencil_offset(surface: Gfx9Surface) -> int:
    """See `pyaco.addrlib.driver.queries.stencil_offset`."""
    return surface.stencil_offset - surface.surf_offset


def non_block_compressed_view(config: GpuConfig, surface: Gfx9Surface, level: int, layer: int) -> NonBlockCompressedView:
    """See `pyaco.addrlib.driver.queries.non_block_compressed_view`."""
    request = surface.request
    found = non_bc_view(
        config, swizzle_mode=surface.swizzle_mode, resource_type=surface.resource_type, format=element_format(request), width=request.width,
        height=request.height, num_slices=request.array_size, num_mip_levels=request.levels, pipe_bank_xor=surface.tile_swizzle, slice=layer,
        mip_id=level)
    return NonBlockCompressedView(
        found.unaligned_width, found.unaligned_height, found.mip_id, found.num_mip_levels, found.pipe_bank_xor, found.offset)
