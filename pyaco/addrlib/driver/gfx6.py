"""Surfaces of GFX6, 7 and 8 as drivers lay them out: every mip level, stencil beside depth, FMASK, CMASK, HTILE and DCC.

Source of the facts: Mesa's ``ac_surface.c`` (24.3), ``gfx6_compute_surface`` and what surrounds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.driver.modifiers import INVALID
from pyaco.addrlib.driver.records import DEPTH_OR_STENCIL, Plane, Surface, SurfaceMode, SurfaceRequest, SurfaceUse, imported_flags, is_display_surface
from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.chip import ROW_TYPE, Chip, TileInfo, chip_of
from pyaco.addrlib.v1.layout import Layout, Query, layout
from pyaco.addrlib.v1.metadata import DccLayout, dcc_layout, fmask_layout, htile_layout
from pyaco.addrlib.v1.modes import align_up, log2
from pyaco.addrlib.v1.swizzle import base_swizzle
from pyaco.addrlib.v1.tiling import no_info, pipes_of
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import has_dcc, has_macro_tile_table, has_tile_swizzle_of_mip_chains, has_xthick_3d_tiling

if TYPE_CHECKING:
    from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6

__all__ = [
    "SurfaceGfx6", "SurfaceLevel", "bo_metadata", "compute_surface", "import_surface", "move", "override_pitch", "planes", "stencil_offset",
    "tiled_surface", "tiling_of_bo_metadata",
]


@dataclass
class SurfaceLevel:
    """A mip level: offset and slice size in bytes, pitch and height in elements."""

    offset: int = 0
    slice_size: int = 0
    pitch: int = 0
    height: int = 0
    mode: int = 0
    tile_index: int = 0
    dcc_offset: int = 0
    dcc_fast_clear_size: int = 0
    dcc_slice_fast_clear_size: int = 0
    layout: Layout | None = field(default=None, repr=False, compare=False)
    """The layout of the level, as addrlib computes it."""


@dataclass
class SurfaceGfx6(Surface):
    """Layout of a surface on GFX6, 7 or 8.

    `tile_info` is the geometry of its macro tiles, all zero where it has none; `macro_tile_index` is the index into the macro tile table.
    `fmask_pitch` is in pixels; the `slice_tile_max` fields count tiles less one, as the registers do.
    """

    levels: list[SurfaceLevel] = field(default_factory=list)
    stencil_levels: list[SurfaceLevel] = field(default_factory=list)
    tile_info: TileInfo = field(default_factory=no_info)
    macro_tile_index: int = 0
    pipe_config: int = 0
    stencil_tile_split: int = 0
    stencil_adjusted: bool = False
    fmask_slice_tile_max: int = 0
    fmask_tile_index: int = 0
    fmask_bank_height: int = 0
    fmask_pitch: int = 0
    cmask_slice_tile_max: int = 0

    @property
    def texel_levels(self) -> list[SurfaceLevel]:
        """The levels of the texels: those of stencil in stencil-only surfaces, where drivers record only the pitch in `levels`."""
        return self.stencil_levels if self.request.is_only_stencil else self.levels


def _is_zs(request: SurfaceRequest) -> bool:
    return bool(request.flags & DEPTH_OR_STENCIL)


def _check(request: SurfaceRequest) -> None:
    if request.modifier != INVALID:
        raise UnsupportedError("DRM format modifiers before GFX9")
    if (request.blk_w, request.blk_h) not in ((1, 1), (2, 1), (4, 4)):
        raise UnsupportedError(f"elements of {request.blk_w} x {request.blk_h} pixels before GFX9")
    if request.bpe == 12 and (request.levels > 1 or request.mode != SurfaceMode.LINEAR_ALIGNED):
        raise InputError("elements of 12 bytes are linear and have one level")
    if _is_zs(request) and not request.is_only_stencil and request.bpe == 1:
        raise InputError("depth has 2 or 4 bytes")


def _tile_mode(config: GpuConfig, request: SurfaceRequest) -> int:
    mode = request.mode
    if not config.has_image_opcodes:
        mode = SurfaceMode.LINEAR_ALIGNED
    if request.samples > 1:
        mode = SurfaceMode.TILED_2D
    if _is_zs(request) and mode < SurfaceMode.TILED_1D:
        mode = SurfaceMode.TILED_1D
    if mode == SurfaceMode.LINEAR_ALIGNED:
        return modes.LINEAR_ALIGNED
    if request.flags & SurfaceUse.PRT:
        if mode == SurfaceMode.TILED_1D:
            return modes.PRT_TILED_THIN1
        return modes.PRT_2D_TILED_THICK if request.is_3d and request.bpe < 8 else modes.PRT_2D_TILED_THIN1
    if mode == SurfaceMode.TILED_1D:
        return modes.TILED_1D_THICK if request.is_3d else modes.TILED_1D_THIN1
    if not request.is_3d:
        return modes.TILED_2D_THIN1
    return modes.TILED_3D_XTHICK if has_xthick_3d_tiling(config.level) else modes.TILED_2D_XTHICK


def _width_align(request: SurfaceRequest, mode: int) -> int:
    """Return the multiple, in pixels, that drivers round the width of a linear surface of one level up to."""
    padded = request.levels == 1 and mode == modes.LINEAR_ALIGNED and not request.is_compressed and request.bpe != 12
    return 256 // request.bpe if padded else 1


def _use_flags(config: GpuConfig, request: SurfaceRequest, imported: bool) -> int:
    """Return the flags of the query for level 0."""
    use = request.flags
    single = (request.array_size == 1 and request.depth == 1) or request.levels == 1
    enabled = {
        modes.COLOR: not _is_zs(request),
        modes.DEPTH: bool(use & SurfaceUse.ZBUFFER),
        modes.CUBE: request.is_cube,
        modes.DISPLAY: is_display_surface(request),
        modes.POW2_PAD: request.levels > 1,
        modes.TC_COMPATIBLE: bool(use & SurfaceUse.TC_COMPATIBLE_HTILE),
        modes.PRT: bool(use & SurfaceUse.PRT),
        # A forced tile mode must not be changed to save space.
        modes.OPT_4_SPACE: not use & (SurfaceUse.TC_COMPATIBLE_HTILE | SurfaceUse.FORCE_SWIZZLE_MODE) and not request.is_3d
        and request.samples <= 1 and not imported,
        modes.DCC_COMPATIBLE: has_dcc(config.level) and config.has_graphics and not _is_zs(request) and not use & SurfaceUse.DISABLE_DCC
        and not request.is_compressed and single,
        modes.NO_STENCIL: not use & SurfaceUse.SBUFFER or bool(use & SurfaceUse.NO_RENDER_TARGET),
        modes.COMPRESS_Z: _is_zs(request),
    }
    flags = sum(flag for flag, on in enabled.items() if on)
    if flags & modes.DEPTH and not flags & modes.NO_STENCIL and (request.levels > 1 or config.chip == "stoney"):
        flags |= modes.MATCH_STENCIL_TILE_CFG
        if request.levels > 1 and not use & SurfaceUse.NO_STENCIL_ADJUST:
            flags |= modes.NO_STENCIL
    return flags


def _tile_type(request: SurfaceRequest) -> int:
    if request.flags & SurfaceUse.SCANOUT:
        return modes.DISPLAYABLE
    return modes.DEPTH_SAMPLE_ORDER if _is_zs(request) else modes.NON_DISPLAYABLE


def _imported_index(config: GpuConfig, request: SurfaceRequest) -> int:
    """Return the tile index of an imported 2D surface."""
    displayable = _tile_type(request) == modes.DISPLAYABLE
    if has_macro_tile_table(config.level):
        return 10 if displayable else 14
    if displayable:
        return 11 if request.bpe == 2 else 12
    return {1: 14, 2: 15, 4: 16}.get(request.bpe, 17)


@dataclass
class _Builder:
    """Lays out the levels of a surface one after the other."""

    config: GpuConfig
    chip: Chip
    request: SurfaceRequest
    surface: SurfaceGfx6
    tile_mode: int
    flags: int
    imported_info: TileInfo | None
    tile_index: int = modes.INDEX_INVALID
    dcc: DccLayout | None = None
    last_layout: Layout | None = None

    def query(self, level: int, stencil: bool) -> Query:
        """Return the query of a level, its width padded as drivers do."""
        request, mode = self.request, self.tile_mode
        width, height = max(1, request.width >> level), max(1, request.height >> level)
        bits = 8 if stencil else request.bpe * 8
        width = align_up(width, _width_align(request, mode))
        if bits == 96:
            width = align_up(width, 16)
        base = self.surface.stencil_levels if stencil else self.surface.levels
        base_pitch = base[0].pitch * (request.blk_w if request.is_compressed else 1) if level else 0
        blocks = (4, 4) if request.is_compressed and not stencil else (1, 1)
        return Query(
            mode, _tile_type(request), 0 if request.is_compressed and not stencil else bits, 0 if bits == 96 else bits, *blocks, False,
            blocks == (4, 4), blocks == (4, 4), request.samples, 0 if _is_zs(request) else request.storage_samples, width, height,
            max(1, request.depth >> level) if request.is_3d else request.layers, 0, level, self.flags, self.tile_index, base_pitch, 0, 0, 0)

    def add(self, level: int, stencil: bool) -> Layout:
        """Lay out the next level."""
        surface = self.surface
        result = layout(self.chip, self.query(level, stencil), self.imported_info or no_info())
        if result.status:
            raise InputError(f"level {level} of a surface of tile mode {self.tile_mode} has no layout on {self.config.name}")
        offset = align_up(surface.surf_size, result.base_align)
        surface.surf_size = offset + result.surface_bytes
        mode = SurfaceMode.TILED_2D
        if result.tile_mode == modes.LINEAR_ALIGNED:
            mode = SurfaceMode.LINEAR_ALIGNED
        elif result.tile_mode in (modes.TILED_1D_THIN1, modes.TILED_1D_THICK, modes.PRT_TILED_THIN1):
            mode = SurfaceMode.TILED_1D
        added = SurfaceLevel(offset, result.slice_bytes // 4 * 4, result.pitch, result.height, mode, result.tile_index, layout=result)
        (surface.stencil_levels if stencil else surface.levels).append(added)
        self._add_prt(level, added, result)
        self._add_dcc(level, added, result)
        if level == 0 and not stencil and self.flags & modes.DEPTH and mode == SurfaceMode.TILED_2D and not surface.flags & SurfaceUse.NO_HTILE:
            self._add_htile(result)
        self.last_layout = result
        return result

    def _add_prt(self, level: int, added: SurfaceLevel, result: Layout) -> None:
        if not self.flags & modes.PRT:
            return
        surface = self.surface
        if level == 0:
            surface.prt_tile_width, surface.prt_tile_height, surface.prt_tile_depth = result.pitch_align, result.height_align, result.depth_align
        if added.pitch >= surface.prt_tile_width and added.height >= surface.prt_tile_height:
            surface.first_mip_tail_level = level + 1

    def _dcc_of(self, color_bytes: int, result: Layout) -> DccLayout:
        return dcc_layout(self.chip, _geometry(result), color_bytes, self.request.bpe * 8, self.request.storage_samples)

    def _add_dcc(self, level: int, added: SurfaceLevel, result: Layout) -> None:
        previous, surface, request = self.dcc, self.surface, self.request
        if not self.flags & modes.DCC_COMPATIBLE or not modes.IS_MACRO[result.tile_mode]:
            return
        if level and not (previous and previous.next_level_compressible):
            return
        dcc = self.dcc = self._dcc_of(result.surface_bytes, result)
        added.dcc_offset = surface.meta_size
        surface.num_meta_levels = level + 1
        surface.meta_size += dcc.bytes
        surface.meta_alignment_log2 = max(surface.meta_alignment_log2, log2(dcc.base_align))
        clearable = level == 0 or (previous is not None and previous.size_aligned)
        if dcc.size_aligned or (clearable and level == request.levels - 1):
            added.dcc_fast_clear_size = dcc.fast_clear_bytes
        surface.meta_slice_size = dcc.bytes // request.array_size
        if request.array_size == 1:
            added.dcc_slice_fast_clear_size = added.dcc_fast_clear_size
            return
        dcc = self.dcc = self._dcc_of(result.slice_bytes, result)
        added.dcc_slice_fast_clear_size = dcc.fast_clear_bytes if dcc.size_aligned else 0
        if surface.flags & SurfaceUse.CONTIGUOUS_DCC_LAYERS and surface.meta_slice_size != added.dcc_slice_fast_clear_size:
            surface.meta_size, surface.num_meta_levels = 0, 0
            self.dcc = dcc._replace(next_level_compressible=False)

    def _add_htile(self, result: Layout) -> None:
        surface = self.surface
        htile = htile_layout(
            self.chip, _geometry(result), result.pitch, result.height, result.depth, bool(result.tc_compatible), False, False)
        surface.meta_size, surface.meta_slice_size = htile.bytes, htile.slice_bytes
        surface.meta_alignment_log2, surface.meta_pitch, surface.num_meta_levels = log2(htile.base_align), htile.pitch, 1

    def set_surface_tiling(self, result: Layout) -> None:
        """Set alignment, tiling and swizzle of the surface, which are those of its base level."""
        surface, request, config = self.surface, self.request, self.config
        info = _geometry(result)
        surface.surf_alignment_log2 = log2(result.base_align)
        surface.pipe_config = info.pipe_config - 1
        index = surface.levels[0].tile_index if surface.levels else 0
        surface.micro_tile_mode = self.chip.tile_modes[index][ROW_TYPE]
        if result.tile_mode >= modes.TILED_2D_THIN1:
            surface.tile_info, surface.macro_tile_index = info, result.macro_mode_index
        base_mode = surface.levels[0].mode if surface.levels else 0
        has_index = request.surf_index is not None and (has_tile_swizzle_of_mip_chains(config.level) or request.levels == 1)
        private = not _is_zs(request) and not request.flags & SurfaceUse.SHAREABLE and not is_display_surface(request)
        if has_index and base_mode == SurfaceMode.TILED_2D and private:
            surface.tile_swizzle = self._swizzle(info, result.tile_mode, request.surf_index or 0)

    def _swizzle(self, info: TileInfo, mode: int, index: int) -> int:
        return base_swizzle(info, pipes_of(self.chip, info), self.chip.interleave_bytes, mode, index, False, False)

    def add_fmask(self) -> None:
        """Lay out the FMASK of a multisampled colour surface."""
        request, surface, last = self.request, self.surface, self.last_layout
        if request.samples < 2 or _is_zs(request) or not self.config.has_graphics or surface.flags & SurfaceUse.NO_FMASK or last is None:
            return
        fmask = fmask_layout(
            self.chip, last.tile_mode, last.pitch, request.height, request.layers, request.samples, request.storage_samples, False)
        if fmask.status:
            raise InputError(f"no FMASK for {request.samples} samples, {request.storage_samples} stored")
        surface.fmask_size, surface.fmask_slice_size, surface.fmask_alignment_log2 = fmask.bytes, fmask.slice_bytes, log2(fmask.base_align)
        surface.fmask_slice_tile_max = max(0, fmask.pitch * fmask.height // 64 - 1)
        surface.fmask_tile_index, surface.fmask_bank_height, surface.fmask_pitch = fmask.tile_index, fmask.info.bank_height, fmask.pitch
        if request.fmask_surf_index is not None and not request.flags & SurfaceUse.SHAREABLE:
            surface.fmask_tile_swizzle = self._swizzle(fmask.info, last.tile_mode, request.fmask_surf_index + 1)

    def add_cmask(self) -> None:
        """Lay out CMASK as the colour block clears it: over all pipes of the chip, not only those of the surface."""
        request, surface = self.request, self.surface
        if _is_zs(request) or surface.is_linear or (request.samples >= 2 and not surface.fmask_size):
            return
        pipes = self.config.num_tile_pipes
        block = {2: (32, 16), 4: (32, 32), 8: (64, 32), 16: (64, 64)}[pipes]
        width, height = align_up(surface.levels[0].pitch, block[0] * 8), align_up(surface.levels[0].height, block[1] * 8)
        stripe = pipes * self.config.pipe_interleave_bytes
        surface.cmask_slice_tile_max = max(0, width * height // (128 * 128) - 1)
        surface.cmask_alignment_log2 = log2(max(256, stripe))
        surface.cmask_slice_size = align_up(width * height // 64 // 2, stripe)
        surface.cmask_size = surface.cmask_slice_size * request.layers


def _geometry(result: Layout) -> TileInfo:
    return TileInfo(
        result.banks, result.bank_width, result.bank_height, result.macro_aspect_ratio, result.tile_split_bytes, result.pipe_config)


def _add_depth_or_color(build: _Builder) -> int:
    """Lay out the levels of colour or depth; return the tile index that stencil must have, or -1 for any."""
    stencil_index = modes.INDEX_INVALID
    for level in range(build.request.levels):
        result = build.add(level, False)
        if level:
            continue
        if not result.tc_compatible:
            build.flags &= ~modes.TC_COMPATIBLE
            build.surface.flags &= ~SurfaceUse.TC_COMPATIBLE_HTILE
        if build.flags & modes.MATCH_STENCIL_TILE_CFG:
            build.flags &= ~modes.MATCH_STENCIL_TILE_CFG
            build.tile_index, stencil_index = result.tile_index, result.stencil_tile_index
        build.set_surface_tiling(result)
    return stencil_index


def _add_stencil(build: _Builder, tile_index: int) -> None:
    surface, request = build.surface, build.request
    build.tile_index = tile_index
    build.flags = build.flags & ~(modes.DEPTH | modes.TC_COMPATIBLE) | modes.STENCIL
    for level in range(request.levels):
        result = build.add(level, True)
        if not request.is_only_stencil and surface.stencil_levels[level].pitch != surface.levels[level].pitch:
            surface.stencil_adjusted = True
        if level == 0:
            if request.is_only_stencil:
                build.set_surface_tiling(result)
            if result.tile_mode >= modes.TILED_2D_THIN1:
                surface.stencil_tile_split = result.tile_split_bytes
    if request.is_only_stencil:
        surface.levels = [SurfaceLevel(pitch=level.pitch) for level in surface.stencil_levels]


def _set_metadata_size(surface: SurfaceGfx6) -> None:
    """Set the size of the metadata of a whole mip chain."""
    request = surface.request
    if not surface.meta_size:
        if _is_zs(request):
            surface.flags &= ~SurfaceUse.TC_COMPATIBLE_HTILE
        return
    if request.levels == 1:
        return
    if _is_zs(request) or surface.flags & SurfaceUse.TC_COMPATIBLE_HTILE:
        surface.meta_size = align_up(surface.surf_size // request.bpe // 64 * 4, 1 << surface.meta_alignment_log2)
    else:
        surface.meta_size = align_up(surface.surf_size >> 8, 4 << surface.meta_alignment_log2)


def compute_surface(config: GpuConfig, request: SurfaceRequest, tile_info: TileInfo | None = None) -> SurfaceGfx6:
    """Lay out a surface on a GPU of GFX6, 7 or 8.

    `tile_info` is the geometry of the macro tiles of an imported surface (see `tiling_of_bo_metadata`).

    Raises
    ------
    InputError
        If no such surface can exist.
    UnsupportedError
        If the GPU is of another generation, or has no such surfaces.
    """
    _check(request)
    chip, mode = chip_of(config), _tile_mode(config, request)
    if mode < modes.TILED_2D_THIN1 or _is_zs(request):
        tile_info = None
    if tile_info and mode != modes.TILED_2D_THIN1:
        raise UnsupportedError("imported macro tile geometry of a surface that is not plain 2D")
    result = SurfaceGfx6(request, request.blk_w, request.blk_h, request.bpe, request.flags, request.modifier)
    result.has_stencil = bool(request.flags & SurfaceUse.SBUFFER)
    build = _Builder(config, chip, request, result, mode, _use_flags(config, request, tile_info is not None), tile_info)
    if tile_info:
        build.tile_index = _imported_index(config, request)
    stencil_index = modes.INDEX_INVALID
    if not request.is_only_stencil:
        stencil_index = _add_depth_or_color(build)
    if result.has_stencil:
        _add_stencil(build, stencil_index)
    build.add_fmask()
    _set_metadata_size(result)
    _set_properties(result, build.last_layout.tile_mode if build.last_layout else modes.LINEAR_ALIGNED)
    build.add_cmask()
    result.place_parts(config.level)
    return result


def _set_properties(surface: SurfaceGfx6, last_mode: int) -> None:
    surface.is_linear = surface.texel_levels[0].mode == SurfaceMode.LINEAR_ALIGNED
    surface.is_displayable = surface.is_linear or surface.micro_tile_mode in (modes.DISPLAYABLE, modes.ROTATED)
    surface.thick_tiling = modes.THICKNESS[last_mode] > 1 or last_mode in (modes.TILED_3D_THIN1, modes.PRT_3D_TILED_THIN1)


# Sharing.

_ARRAY_MODES = {SurfaceMode.LINEAR_ALIGNED: 1, SurfaceMode.TILED_1D: 2, SurfaceMode.TILED_2D: 4}


def bo_metadata(config: GpuConfig, surface: SurfaceGfx6) -> int:
    """Return the tiling flags (AMDGPU_TILING_*) that tell an importer how a surface is tiled."""
    info = surface.tile_info
    array_mode = _ARRAY_MODES.get(SurfaceMode(surface.levels[0].mode or SurfaceMode.LINEAR_ALIGNED), 1)
    return (
        array_mode | (surface.pipe_config & 31) << 4 | log2(info.tile_split_bytes // 64) << 9
        | (0 if surface.flags & SurfaceUse.SCANOUT else 1) << 12 | log2(info.bank_width) << 15 | log2(info.bank_height) << 17
        | log2(info.macro_aspect_ratio) << 19 | ((log2(info.banks) - 1) & 3) << 21
    )


def tiling_of_bo_metadata(flags: int) -> tuple[SurfaceMode, bool, TileInfo]:
    """Return what tiling flags (see `bo_metadata`) say: mode, whether the surface is for scan-out, and geometry of the macro tiles."""
    mode = {4: SurfaceMode.TILED_2D, 2: SurfaceMode.TILED_1D}.get(flags & 15, SurfaceMode.LINEAR_ALIGNED)
    split = flags >> 9 & 7
    info = TileInfo(
        2 << (flags >> 21 & 3), 1 << (flags >> 15 & 3), 1 << (flags >> 17 & 3), 1 << (flags >> 19 & 3), 64 << split if split < 7 else 1024,
        (flags >> 4 & 31) + 1)
    return mode, flags >> 12 & 7 == 0, info


def import_surface(config: GpuConfig, request: SurfaceRequest, tiling_flags: int) -> SurfaceGfx6:
    """See `pyaco.addrlib.driver.queries.import_surface`."""
    mode, scanout, info = tiling_of_bo_metadata(tiling_flags)
    imported = replace(request, mode=mode, flags=imported_flags(request, scanout))
    return compute_surface(config, imported, info if mode == SurfaceMode.TILED_2D else None)


def planes(surface: SurfaceGfx6) -> tuple[Plane, ...]:
    """Return the one plane of a surface."""
    return (Plane(surface.texel_levels[0].offset, surface.levels[0].pitch * surface.bpe, surface.surf_size),)


def tiled_surface(config: GpuConfig, surface: SurfaceGfx6, stencil: bool) -> TiledSurfaceGfx6:
    """See `pyaco.addrlib.driver.queries.tiled_surface`."""
    from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6  # tiling is kernels: numba is loaded for it, and not for layouts

    request, levels = surface.request, []
    for number, level in enumerate(surface.stencil_levels if stencil else surface.levels):
        assert level.layout is not None
        shape = (*request.level_extent(number), max(1, request.depth >> number) if request.is_3d else request.layers, request.fragments)
        # An imported surface may have been given another pitch and offset.
        layout = level.layout._replace(pitch=level.pitch, height=level.height)
        levels.append((level.offset - _start(surface, stencil), shape, layout))
    return TiledSurfaceGfx6.of_levels(config, 1 if stencil else surface.bpe, levels, surface.tile_swizzle)


def _start(surface: SurfaceGfx6, stencil: bool) -> int:
    return (surface.stencil_levels if stencil else surface.levels)[0].offset


def stencil_offset(surface: SurfaceGfx6) -> int:
    """See `pyaco.addrlib.driver.queries.stencil_offset`."""
    return _start(surface, True) - _start(surface, surface.request.is_only_stencil)


def _pitch_align(config: GpuConfig, surface: SurfaceGfx6) -> int:
    if surface.is_linear:
        return max(8, 64 // surface.bpe)
    if surface.texel_levels[0].mode == SurfaceMode.TILED_1D:
        return 8
    info = surface.tile_info
    return 8 * info.bank_width * info.macro_aspect_ratio * pipes_of(chip_of(config), info)


def override_pitch(config: GpuConfig, surface: SurfaceGfx6, pitch: int) -> None:
    """Give an imported surface the pitch (elements; 0: as computed) of its exporter.

    Raises
    ------
    InputError
        A pitch that the hardware does not support for this layout.
    """
    alignment, first = _pitch_align(config, surface), surface.levels[0]
    if pitch < 0 or pitch % alignment:
        raise InputError(f"a pitch of {pitch} elements; it must be a multiple of {alignment}")
    if pitch in (0, first.pitch):
        return
    if surface.surf_size != surface.total_size or surface.request.layers != 1 or surface.request.levels != 1:
        raise InputError(f"a pitch of {pitch} elements; layers, levels and metadata are laid out for {first.pitch}")
    first.pitch, first.slice_size = pitch, pitch * first.height * surface.bpe // 4 * 4


def move(surface: SurfaceGfx6, offset: int) -> None:
    """Move the levels of a surface by an offset in bytes."""
    for level in (*surface.levels, *surface.stencil_levels):
        level.offset += offset
