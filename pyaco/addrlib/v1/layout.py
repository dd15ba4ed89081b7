"""Surface layout of GFX6, 7 and 8 as rules on plain integers: padding, sizes, alignments, tile mode per mip level.

Source of the facts: AMD's address library (addrlib1, egbaddrlib, siaddrlib, ciaddrlib). Sizes are in elements and bytes;
bit counts are per element. Every function here runs as Python and, in the kernels of `pyaco.addrlib.v1.arrays`, as machine code.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pyaco.addrlib.v1.chip import KEPT_RESULTS, Chip, TileInfo
from pyaco.addrlib.v1.modes import (
    COLOR,
    CUBE,
    CZ_DISP_COMPATIBLE,
    DCC_COMPATIBLE,
    DCC_PIPE_WORKAROUND,
    DEPTH,
    DEPTH_SAMPLE_ORDER,
    DISABLE_LINEAR_OPT,
    DISALLOW_LARGE_THICK_DEGRADE,
    DISPLAY,
    DISPLAYABLE,
    INDEX_INVALID,
    INDEX_LINEAR_GENERAL,
    INDEX_NO_MACRO,
    INTERLEAVED,
    IS_MACRO,
    IS_VALID,
    LINEAR_ALIGNED,
    LINEAR_GENERAL,
    MATCH_STENCIL_TILE_CFG,
    MINIMIZE_ALIGNMENT,
    NEED_EQUATION,
    NO_STENCIL,
    NON_DISPLAYABLE,
    OPT_4_SPACE,
    OVERLAY,
    POW2_PAD,
    PRT,
    PRT_2D_TILED_THICK,
    PRT_2D_TILED_THIN1,
    PRT_3D_TILED_THICK,
    PRT_3D_TILED_THIN1,
    PRT_TILED_THICK,
    PRT_TILED_THIN1,
    ROTATE_DISPLAY,
    ROTATED,
    SKIP_INDICES_OUTPUT,
    STENCIL,
    TC_COMPATIBLE,
    THICK,
    THICKNESS,
    THIN_FORM,
    TILED_1D_THICK,
    TILED_1D_THIN1,
    TILED_2D_THICK,
    TILED_2D_THIN1,
    TILED_2D_XTHICK,
    TILED_3D_THICK,
    TILED_3D_XTHICK,
    UNKNOWN,
    VOLUME,
    align_up,
    is_linear,
    is_prt,
    next_pow2,
)
from pyaco.addrlib.v1.tiling import Tiling, choose_tiling, macro_mode, matching_tile_index, no_info, pipes_of, tc_compatible

__all__ = ["Layout", "Level", "Query", "lay_out_level", "layout"]

_BLOCK_64K = 0x10000
_UINT32 = 0xFFFFFFFF
# Beyond the hardware, and such that products of sizes stay inside 64 bits.
_MAX_SIZE, _MAX_SLICES = 1 << 17, 1 << 14
_PRT_THICK_INDEX = 22


class Query(NamedTuple):
    """A surface, or one mip level of it, to be laid out."""

    tile_mode: int
    tile_type: int
    bits: int
    """Per element; 0: taken from the format."""
    format_bits: int
    expand_x: int
    expand_y: int
    is_expanded: bool
    is_block_compressed: bool
    is_thin_only: bool
    samples: int
    fragments: int
    width: int
    height: int
    slices: int
    slice: int
    mip_level: int
    flags: int
    tile_index: int
    base_pitch: int
    max_base_align: int
    pitch_align: int
    height_align: int


class Layout(NamedTuple):
    """Layout of a level. Pitch, height, depth, block and their alignments in elements; `base_align`, `surface_bytes` and `slice_bytes` in bytes.

    The names that begin with `pixel` are the same in pixels; the `tile_max` fields count tiles less one, as the registers do.
    """

    status: int
    pitch: int
    height: int
    depth: int
    surface_bytes: int
    tile_mode: int
    base_align: int
    pitch_align: int
    height_align: int
    depth_align: int
    bits: int
    pixel_pitch: int
    pixel_height: int
    pixel_bits: int
    slice_bytes: int
    pitch_tile_max: int
    height_tile_max: int
    slice_tile_max: int
    samples: int
    tile_type: int
    tile_index: int
    macro_mode_index: int
    tc_compatible: int
    dcc_unsupported: int
    prt_tile_index: int
    block_width: int
    block_height: int
    stencil_tile_index: int
    banks: int
    bank_width: int
    bank_height: int
    macro_aspect_ratio: int
    tile_split_bytes: int
    pipe_config: int


class Level(NamedTuple):
    """A mip level in elements, with the tile mode that it is laid out in."""

    mode: int
    tile_type: int
    bits: int
    width: int
    height: int
    slices: int
    samples: int
    fragments: int
    mip_level: int
    flags: int
    max_base_align: int
    pitch_align: int
    height_align: int
    is_block_compressed: bool
    is_thin_only: bool


class _Extent(NamedTuple):
    """A level padded and aligned."""

    ok: bool
    mode: int
    pitch: int
    height: int
    depth: int
    surface_bytes: int
    base_align: int
    pitch_align: int
    height_align: int
    depth_align: int


class _Blocks(NamedTuple):
    """Alignment of a macro tiled level, and the geometry made to fit."""

    ok: bool
    info: TileInfo
    pitch_align: int
    height_align: int
    base_align: int
    block_width: int
    block_height: int
    dcc_unsupported: bool


class _Result(NamedTuple):
    extent: _Extent
    tiling: Tiling
    block_width: int
    block_height: int


def _pad_pitch_for_display(flags: int, pitch_align: int) -> int:
    return align_up(pitch_align, 32) if flags & (DISPLAY | OVERLAY) else pitch_align


def _pad_slices(level: Level, mode: int, slices: int, pad_height_only: bool) -> int:
    if level.mip_level > 0 and level.flags & CUBE:
        pad_height_only = slices <= 1
    thickness = THICKNESS[mode]
    if pad_height_only and thickness == 1:
        return slices
    if level.flags & CUBE:
        slices = next_pow2(slices)
    return align_up(slices, thickness)


# Linear.


def _linear(chip: Chip, level: Level, samples: int, pad_height_only: bool) -> _Extent:
    bits, height = level.bits, level.height
    element_bytes = bits // 8
    if level.mode == LINEAR_GENERAL:
        base_align, pitch_align, height_align = max(1, element_bytes), 1, 1
    else:
        interleaved = max(64, chip.interleave_bytes // element_bytes) if level.flags & INTERLEAVED else max(8, 64 // element_bytes)
        base_align, pitch_align, height_align = chip.interleave_bytes, interleaved, 1
    pitch_align = _pad_pitch_for_display(level.flags, pitch_align)
    pitch = align_up(level.width, pitch_align)
    depth = _pad_slices(level, LINEAR_ALIGNED, level.slices, pad_height_only)
    if level.mode == LINEAR_ALIGNED:
        slice_align = max(64, chip.interleave_bytes // element_bytes)
        while pitch * height * samples % slice_align:
            pitch += pitch_align
        while pitch * height_align % slice_align:
            height_align += 1
    slice_bytes = pitch * height * samples * bits // 8
    if level.pitch_align or level.height_align:
        pitch_align = level.pitch_align or pitch_align
        height_align = level.height_align or height_align
        if level.pitch_align:
            pitch = align_up(pitch, pitch_align)
        if level.height_align:
            height = align_up(height, height_align)
        slice_bytes = pitch * height * bits // 8
    return _Extent(True, level.mode, pitch, height, depth, slice_bytes * depth, base_align, pitch_align, height_align, 1)


# 1D.


def _micro(chip: Chip, level: Level, mode: int, samples: int, pad_height_only: bool) -> _Extent:
    bits = level.bits
    if chip.is_gfx6 and level.mip_level > 0 and mode == TILED_1D_THICK and level.slices < 4:
        mode = TILED_1D_THIN1
    thickness = THICKNESS[mode]
    base_align, pitch_align = chip.interleave_bytes, _pad_pitch_for_display(level.flags, 8)
    if level.flags & CZ_DISP_COMPATIBLE and level.mip_level == 0:
        base_align = align_up(base_align, 4096)
        pitch_align = align_up(pitch_align, 512 // (bits // 8))
    pitch, height = align_up(level.width, pitch_align), align_up(level.height, 8)
    depth = _pad_slices(level, mode, level.slices, pad_height_only)
    while pitch * height * bits * samples // 8 * thickness % base_align:
        pitch += pitch_align
    slice_bytes = pitch * height * bits * samples // 8
    if level.flags & DEPTH and not level.flags & NO_STENCIL:
        # The stencil plane has the same pitch, in elements of one byte.
        depth_pitch = pitch
        while pitch * height % base_align:
            pitch += pitch_align
        if pitch != depth_pitch:
            slice_bytes = pitch * height * (bits // 8)
    return _Extent(True, mode, pitch, height, depth, slice_bytes * depth, base_align, pitch_align, 8, thickness)


# 2D and 3D.


def _is_valid_geometry(info: TileInfo) -> bool:
    """Whether banks, bank width and height, and macro aspect ratio are powers of two that the hardware has."""
    banks, width, height, aspect = info.banks, info.bank_width, info.bank_height, info.macro_aspect_ratio
    powers = banks & (banks - 1) | width & (width - 1) | height & (height - 1) | aspect & (aspect - 1)
    return powers == 0 and 2 <= banks <= 16 and 1 <= width <= 8 and 1 <= height <= 8 and 1 <= aspect <= min(8, banks) and info.tile_split_bytes >= 64


def _fit_banks(chip: Chip, info: TileInfo, tile_bytes: int, samples: int) -> TileInfo:
    """Raise bank height and macro aspect ratio until a bank, and a row of the macro tile, cover the pipe interleave."""
    bank_bytes = tile_bytes * info.bank_width
    if bank_bytes >= chip.interleave_bytes:
        return info
    height = align_up(info.bank_height, max(1, chip.interleave_bytes // bank_bytes))
    aspect = info.macro_aspect_ratio
    if samples == 1:
        aspect = align_up(aspect, max(1, chip.interleave_bytes // (bank_bytes * pipes_of(chip, info))))
    return TileInfo(info.banks, info.bank_width, height, aspect, info.tile_split_bytes, info.pipe_config)


@lru_cache(maxsize=KEPT_RESULTS)
def _macro_blocks(chip: Chip, mode: int, bits: int, flags: int, mip_level: int, samples: int, info: TileInfo, dcc_unsupported: bool) -> _Blocks:
    if not _is_valid_geometry(info):
        return _Blocks(False, info, 0, 0, 0, 0, 0, dcc_unsupported)
    pipes = pipes_of(chip, info)
    tile_bytes = min(info.tile_split_bytes, 64 * THICKNESS[mode] * bits * samples // 8)
    info = _fit_banks(chip, info, tile_bytes, samples)
    width = 8 * info.bank_width * pipes * info.macro_aspect_ratio
    height = 8 * info.bank_height * info.banks // info.macro_aspect_ratio
    pitch_align = _pad_pitch_for_display(flags, width)
    base_align = pipes * info.bank_width * info.banks * info.bank_height * tile_bytes
    if chip.is_gfx6 and mip_level == 0 and flags & PRT:
        block_bytes = width * height * samples * bits // 8
        if block_bytes < _BLOCK_64K:
            pitch_align *= _BLOCK_64K // block_bytes
            base_align *= _BLOCK_64K // block_bytes
    if chip.is_fiji and flags & DCC_PIPE_WORKAROUND and not flags & PRT and mip_level == 0 and mode == PRT_TILED_THIN1 and dcc_unsupported:
        pitch_align = align_up(pitch_align, 256)
        dcc_unsupported = False
    return _Blocks(True, info, pitch_align, height, base_align, width, height, dcc_unsupported)


def _degrade_thick(mode: int, slices: int) -> int:
    """GFX6: the mode for a mip level with fewer slices than its micro tile is thick."""
    if slices >= 4 and mode == TILED_2D_XTHICK:
        return TILED_2D_THICK
    if slices >= 4 and mode == TILED_3D_XTHICK:
        return TILED_3D_THICK
    return mode if is_prt(mode) else THIN_FORM[mode]


def _mip_mode(chip: Chip, mode: int, bits: int, width: int, height: int, slices: int, samples: int, blocks: _Blocks, info: TileInfo) -> int:
    """Return the tile mode of a mip level: 1D where it is smaller than a macro tile."""
    tile_bytes = 64 * THICKNESS[mode] * next_pow2(bits) * samples // 8
    if chip.is_gfx6 and slices < THICKNESS[mode]:
        thin = _degrade_thick(mode, slices)
        tile_bytes = tile_bytes * THICKNESS[thin] // THICKNESS[mode]
        mode = thin
    tile_bytes = min(tile_bytes, info.tile_split_bytes)
    small = width < blocks.block_width or height < blocks.block_height
    if THICKNESS[mode] > 1:
        return TILED_1D_THICK if small else mode
    small = small or chip.interleave_bytes > tile_bytes * info.bank_width * min(
        pipes_of(chip, info) * info.macro_aspect_ratio, info.bank_height)
    return TILED_1D_THIN1 if small else mode


def _pad_for_dcc(chip: Chip, level: Level, mode: int, samples: int, info: TileInfo, pitch: int, pitch_align: int, height: int, height_align: int,
                 ) -> tuple[int, int]:
    """GFX8: pad the pitch until each tile split of a multisampled surface has whole, fast clearable DCC."""
    if not (chip.has_dcc and level.flags & DCC_COMPATIBLE and samples > 1 and level.mip_level == 0 and IS_MACRO[mode]):
        return pitch, pitch_align
    split_samples = info.tile_split_bytes // (level.bits * 64 // 8)
    if split_samples >= samples:
        return pitch, pitch_align
    byte_align = pipes_of(chip, info) * chip.interleave_bytes * 256
    if pitch * height * level.bits * split_samples // 8 % byte_align == 0:
        return pitch, pitch_align
    pixel_align = byte_align // (level.bits // 8) // split_samples
    block_pixels = pitch_align * height_align
    if pixel_align < block_pixels or pixel_align % block_pixels:
        return pitch, pitch_align
    blocks, rows = pixel_align // block_pixels, height // height_align
    while rows > 1 and rows % 2 == 0 and blocks > 1 and blocks % 2 == 0:
        rows >>= 1
        blocks >>= 1
    pitch_align *= blocks
    return align_up(pitch, pitch_align), pitch_align


def _macro(chip: Chip, level: Level, mode: int, samples: int, tiling: Tiling, pad_height_only: bool) -> _Result:
    width, height, slices = level.width, level.height, level.slices
    while True:
        blocks = _macro_blocks(chip, mode, level.bits, level.flags, level.mip_level, samples, tiling.info, tiling.dcc_unsupported)
        tiling = _with_blocks(tiling, blocks)
        if level.mip_level == 0 or not blocks.ok:
            break
        fitting = _mip_mode(chip, mode, level.bits, width, height, slices, samples, blocks, blocks.info)
        if fitting == mode:
            break
        mode = fitting
        if not IS_MACRO[mode]:
            return _Result(_micro(chip, level, mode, samples, pad_height_only), tiling, blocks.block_width, blocks.block_height)
    if not blocks.ok:
        return _Result(_Extent(False, mode, 0, 0, 0, 0, 0, 0, 0, 0), tiling, 0, 0)
    pitch, padded_height = align_up(width, blocks.pitch_align), align_up(height, blocks.height_align)
    depth = _pad_slices(level, mode, slices, pad_height_only)
    pitch, pitch_align = _pad_for_dcc(
        chip, level, mode, samples, blocks.info, pitch, blocks.pitch_align, padded_height, blocks.height_align)
    slice_bytes = pitch * padded_height * next_pow2(level.bits) * samples // 8
    extent = _Extent(
        True, mode, pitch, padded_height, depth, slice_bytes * depth, blocks.base_align, pitch_align, blocks.height_align, THICKNESS[mode])
    return _Result(extent, tiling, blocks.block_width, blocks.block_height)


def _with_blocks(tiling: Tiling, blocks: _Blocks) -> Tiling:
    if blocks.info == tiling.info and blocks.dcc_unsupported == tiling.dcc_unsupported:
        return tiling
    return Tiling(
        blocks.info, tiling.tile_type, tiling.tile_index, tiling.macro_mode_index, tiling.tc_compatible, blocks.dcc_unsupported)


# Choice of the tile mode.


def _degrade_large_thick(chip: Chip, mode: int, bits: int) -> int:
    """Return a thinner mode if a thick micro tile does not fit in a row of DRAM."""
    tile_bytes = 64 * THICKNESS[mode] * (bits >> 3)
    if THICKNESS[mode] == 1 or mode == TILED_1D_THICK or tile_bytes <= chip.row_bytes:
        return mode
    if tile_bytes >> 1 <= chip.row_bytes:
        if mode == TILED_2D_XTHICK:
            return TILED_2D_THICK
        if mode == TILED_3D_XTHICK:
            return TILED_3D_THICK
    return THIN_FORM[mode]


def _alignment(chip: Chip, level: Level, mode: int, tile_index: int, info: TileInfo) -> _Blocks:
    samples = level.fragments or level.samples
    tiling = choose_tiling(chip, mode, level.tile_type, level.flags, level.bits, samples, info, tile_index, INDEX_INVALID)
    return _macro_blocks(chip, mode, level.bits, level.flags, level.mip_level, samples, tiling.info, tiling.dcc_unsupported)


def _wastes_space(width: int, height: int, blocks: _Blocks) -> bool:
    """Whether macro tiles would take more than one and a half times the memory that the level needs."""
    if width < blocks.pitch_align or height < blocks.height_align:
        return True
    return 2 * align_up(width, blocks.pitch_align) * align_up(height, blocks.height_align) > 3 * width * height


def _as_1d(mode: int) -> int:
    return TILED_1D_THIN1 if THICKNESS[mode] == 1 else TILED_1D_THICK


def _space_saving_mode(chip: Chip, level: Level, mode: int, blocks: _Blocks) -> int:
    """Return a mode that wastes less memory than `mode`, whose macro tiles are `blocks` (linear, 1D or thinner), or `mode` itself."""
    flags = level.flags
    if level.height == 1 and not is_linear(mode) and not level.is_block_compressed and not flags & (DEPTH | STENCIL | DISABLE_LINEAR_OPT):
        return LINEAR_ALIGNED
    if not IS_MACRO[mode] or flags & TC_COMPATIBLE:
        return mode
    if _wastes_space(level.width, level.height, blocks):
        return TILED_1D_THIN1 if THICKNESS[level.mode] == 1 else TILED_1D_THICK
    if THICKNESS[mode] == 1 or mode != level.mode or flags & DISALLOW_LARGE_THICK_DEGRADE:
        return mode
    return _degrade_large_thick(chip, mode, level.bits)


def _with_mode(level: Level, mode: int, tile_type: int, flags: int) -> Level:
    return Level(
        mode, tile_type, level.bits, level.width, level.height, level.slices, level.samples, level.fragments, level.mip_level, flags,
        level.max_base_align, level.pitch_align, level.height_align, level.is_block_compressed, level.is_thin_only)


def _as_prt(chip: Chip, level: Level) -> Level:
    """Return the level in a PRT mode, whose base alignment is 64 KB."""
    tile_type = level.tile_type
    if chip.is_gfx6:
        tile_type = DEPTH_SAMPLE_ORDER if tile_type == DEPTH_SAMPLE_ORDER else NON_DISPLAYABLE
        return _with_mode(level, TILED_2D_THIN1, tile_type, level.flags | PRT)
    if THICKNESS[level.mode] > 1:
        return _with_mode(level, PRT_TILED_THICK, NON_DISPLAYABLE if chip.is_bonaire else THICK, level.flags)
    return _with_mode(level, PRT_TILED_THIN1, NON_DISPLAYABLE if tile_type == THICK else tile_type, level.flags)


def _optimize_base(chip: Chip, level: Level, tile_index: int, info: TileInfo) -> Level:
    """Trade macro tiles for space or alignment, as the caller allows, on the base level."""
    mode, flags = level.mode, level.flags
    saves_space = flags & OPT_4_SPACE != 0 and not flags & DISPLAY and level.samples <= 1
    blocks = _Blocks(True, info, 0, 0, 0, 0, 0, False)
    while True:
        if IS_MACRO[mode]:
            blocks = _alignment(chip, level, mode, tile_index, info)
        if not blocks.ok:
            return _with_mode(level, mode, level.tile_type, flags)
        smaller = _space_saving_mode(chip, level, mode, blocks) if saves_space else mode
        if smaller == mode or not IS_MACRO[smaller]:
            mode = smaller
            break
        mode = smaller
    if flags & MINIMIZE_ALIGNMENT and level.samples <= 1 and IS_MACRO[mode]:
        macro_size = align_up(level.width, blocks.pitch_align) * align_up(level.height, blocks.height_align)
        if macro_size > align_up(level.width, 8) * align_up(level.height, 8):
            mode = _as_1d(mode)
    if level.max_base_align and IS_MACRO[mode] and blocks.base_align > level.max_base_align:
        if level.samples <= 1 and level.max_base_align < _BLOCK_64K:
            mode = _as_1d(mode)
        elif flags & MATCH_STENCIL_TILE_CFG and level.samples <= 1:
            return _with_mode(level, TILED_1D_THIN1, level.tile_type, flags)
        else:
            return _as_prt(chip, level)
    return _with_mode(level, mode, level.tile_type, flags)


def _optimize_for_equation(chip: Chip, level: Level) -> Level:
    """Choose a mode that has an address equation, if the caller needs one."""
    mode, flags = level.mode, level.flags
    if not IS_MACRO[mode] or not (flags & NEED_EQUATION or level.max_base_align):
        return level
    needs_equation = flags & NEED_EQUATION and level.samples <= 1
    thickness = THICKNESS[mode]
    if chip.is_gfx6:
        if needs_equation:
            mode = TILED_1D_THICK if thickness > 1 else TILED_1D_THIN1 if level.slices > 1 else TILED_2D_THIN1
        return _with_mode(level, mode, level.tile_type, flags)
    small_base = level.max_base_align != 0 and level.max_base_align < _BLOCK_64K
    if needs_equation and not is_prt(mode) and level.slices > 1 and not small_base:
        mode = PRT_TILED_THIN1
        if thickness > 1:
            _, info = macro_mode(chip, _PRT_THICK_INDEX, flags, level.bits, level.samples)
            banks = info.banks * info.bank_width * info.bank_height
            if (level.bits >> 3) * 64 * level.samples * thickness * pipes_of(chip, info) * banks <= _BLOCK_64K:
                mode = PRT_TILED_THICK
    if level.max_base_align:
        flags &= ~DCC_PIPE_WORKAROUND
    if mode == level.mode and flags == level.flags:
        return level
    return _with_mode(level, mode, level.tile_type, flags)


def _optimize(chip: Chip, level: Level, tile_index: int, info: TileInfo) -> Level:
    requested = level.flags & (OPT_4_SPACE | MINIMIZE_ALIGNMENT) or level.max_base_align
    if requested and level.mip_level == 0 and not is_prt(level.mode) and not level.flags & PRT:
        level = _optimize_base(chip, level, tile_index, info)
    return _optimize_for_equation(chip, level)


def _replace_unsupported(chip: Chip, level: Level) -> Level:
    """Replace modes and combinations that the chip does not have."""
    mode = level.mode
    if chip.is_gfx6:
        if mode == PRT_TILED_THIN1:
            mode = TILED_2D_THIN1
        elif mode in (PRT_TILED_THICK, PRT_2D_TILED_THICK):
            mode = TILED_2D_THICK
        elif mode == PRT_3D_TILED_THICK:
            mode = TILED_3D_THICK
        return level if mode == level.mode else _with_mode(level, mode, level.tile_type, level.flags | PRT)
    if mode in (PRT_2D_TILED_THICK, PRT_3D_TILED_THICK):
        mode = PRT_TILED_THICK
    elif mode in (PRT_2D_TILED_THIN1, PRT_3D_TILED_THIN1):
        mode = PRT_TILED_THIN1
    tile_type = level.tile_type
    if level.is_thin_only and not chip.is_bonaire and THICKNESS[mode] > 1:
        mode = THIN_FORM[mode]
        tile_type = NON_DISPLAYABLE
    if mode == level.mode and tile_type == level.tile_type:
        return level
    return _with_mode(level, mode, tile_type, level.flags)


def _select_mode(chip: Chip, level: Level) -> Level:
    """Choose the tile mode where the caller leaves it open."""
    flags, slices = level.flags, level.slices
    mode, tile_type = TILED_2D_THIN1, NON_DISPLAYABLE
    thick_type = NON_DISPLAYABLE
    if not chip.is_gfx6 and not (chip.is_bonaire or (chip.allow_non_displayable_thick and flags & COLOR)):
        thick_type = THICK
    if flags & ROTATE_DISPLAY and not chip.is_gfx6:
        tile_type = ROTATED
    elif flags & VOLUME:
        if slices >= 4:
            mode, tile_type = TILED_2D_XTHICK if slices >= 8 else TILED_2D_THICK, thick_type
    elif flags & (DEPTH | STENCIL):
        tile_type = DEPTH_SAMPLE_ORDER
    elif level.bits <= 32 or flags & (DISPLAY | OVERLAY):
        tile_type = DISPLAYABLE
    if flags & PRT:
        if chip.is_gfx6:
            mode, tile_type = TILED_2D_THIN1, NON_DISPLAYABLE if tile_type == DISPLAYABLE else tile_type
        elif THICKNESS[mode] > 1:
            mode, tile_type = PRT_TILED_THICK, NON_DISPLAYABLE if chip.is_bonaire else THICK
        else:
            mode = PRT_TILED_THIN1
    max_base_align = level.max_base_align
    if chip.is_gfx6:
        flags |= OPT_4_SPACE
    elif not flags & (DCC_COMPATIBLE | TC_COMPATIBLE):
        flags |= OPT_4_SPACE
        max_base_align = _BLOCK_64K
    return Level(
        mode, tile_type, level.bits, level.width, level.height, level.slices, level.samples, level.fragments, level.mip_level, flags,
        max_base_align, level.pitch_align, level.height_align, level.is_block_compressed, level.is_thin_only)


# Layout of one level.


def lay_out_level(chip: Chip, level: Level, info: TileInfo, tile_index: int, macro_index: int) -> _Result:
    """Choose the tiling of a level and pad it, in the mode that it requests or the nearest that it can have."""
    mode, flags = level.mode, level.flags
    if not flags & DISALLOW_LARGE_THICK_DEGRADE:
        mode = _degrade_large_thick(chip, mode, level.bits)
    samples = level.fragments or level.samples
    tiling = choose_tiling(chip, mode, level.tile_type, flags, level.bits, samples, info, tile_index, macro_index)
    pad_height_only = flags & CUBE != 0 and level.mip_level == 0
    if IS_MACRO[mode]:
        result = _macro(chip, level, mode, samples, tiling, pad_height_only)
    else:
        extent = _linear(chip, level, samples, pad_height_only) if is_linear(mode) else _micro(chip, level, mode, samples, pad_height_only)
        result = _Result(extent, tiling, 0, 0)
    return _update_indices(chip, level, result)


def _update_indices(chip: Chip, level: Level, result: _Result) -> _Result:
    """Make tile index, macro tile mode index and texture compatibility agree with the mode that was finally chosen."""
    extent, tiling = result.extent, result.tiling
    info, index, macro_index, compatible = tiling.info, tiling.tile_index, tiling.macro_mode_index, tiling.tc_compatible
    if not level.flags & SKIP_INDICES_OUTPUT:
        index = matching_tile_index(chip, info, extent.mode, tiling.tile_type, index)
        if not chip.is_gfx6 and IS_MACRO[extent.mode] and macro_index == INDEX_INVALID and index >= 0:
            macro_index, info = macro_mode(chip, index, level.flags, level.bits, level.samples)
    if level.mip_level > 0 and compatible and extent.mode != level.mode and chip.has_dcc:
        compatible = tc_compatible(chip, info, level.bits, extent.mode, tiling.tile_type, index)
    if not chip.is_gfx6 and macro_index == INDEX_NO_MACRO:
        macro_index = INDEX_INVALID
    if index == tiling.tile_index and macro_index == tiling.macro_mode_index and compatible == tiling.tc_compatible and info == tiling.info:
        return result
    updated = Tiling(info, tiling.tile_type, index, macro_index, compatible, tiling.dcc_unsupported)
    return _Result(extent, updated, result.block_width, result.block_height)


def _matching_stencil(chip: Chip, level: Level, result: _Result) -> int:
    """Return the 2D depth tile index with which a stencil plane has the same macro tiles as this depth plane, or -1."""
    tiling = result.tiling
    depth = chip.macro_modes[tiling.macro_mode_index]
    for index in range(5):
        other, info = macro_mode(chip, index, level.flags, 8, level.samples)
        if other == INDEX_NO_MACRO:
            continue
        stencil = chip.macro_modes[other]
        same = stencil[0] == depth[0] and stencil[1] == depth[1] and stencil[2] == depth[2] and stencil[3] == depth[3]
        if same and (not tiling.tc_compatible or info.tile_split_bytes >= 64 * level.samples):
            return index
    return INDEX_INVALID


def _lay_out_with_stencil(chip: Chip, level: Level, info: TileInfo, tile_index: int, macro_index: int) -> tuple[_Result, int]:
    """Return the layout of a level and, with MATCH_STENCIL_TILE_CFG, the tile index of its stencil plane.

    Until the stencil plane can have the same macro tiles, depth loses first its texture compatibility, then its macro tiles.
    """
    matches = not chip.is_gfx6 and level.flags & MATCH_STENCIL_TILE_CFG != 0 and level.flags & DEPTH != 0
    flags = level.flags
    while True:
        result = lay_out_level(chip, level, info, tile_index, macro_index)
        if not matches:
            return result, 0
        if result.tiling.tile_index == 5:
            return result, 5
        stencil = _matching_stencil(chip, level, result) if 0 <= result.tiling.tile_index <= 4 else INDEX_INVALID
        if stencil != INDEX_INVALID or level.mode == TILED_1D_THIN1 or not 0 <= result.tiling.tile_index <= 4:
            return result, stencil
        if result.tiling.tc_compatible:
            level = _with_mode(level, level.mode, level.tile_type, flags & ~TC_COMPATIBLE)
        elif level.samples <= 1:
            level = _with_mode(level, TILED_1D_THIN1, level.tile_type, flags)
        else:
            return result, stencil
        info, tile_index, macro_index = no_info(), INDEX_INVALID, INDEX_INVALID


def _in_elements(query: Query, samples: int, bits: int) -> Level:
    """Return the level in elements, padded to powers of two where a mip chain needs that."""
    width, height, slices = query.width, query.height, query.slices
    if query.is_block_compressed and query.mip_level == 0:
        width, height = align_up(width, 4), align_up(height, 4)
    if query.mip_level > 0 and query.base_pitch:
        width = max(1, query.base_pitch >> query.mip_level)
    if query.is_expanded:
        width, height = width * query.expand_x, height * query.expand_y
    elif query.expand_x > 1 or query.expand_y > 1:
        width, height = (width + query.expand_x - 1) // query.expand_x, (height + query.expand_y - 1) // query.expand_y
    width, height = width or 1, height or 1
    if query.flags & POW2_PAD or query.mip_level > 0:
        width, height = next_pow2(width), next_pow2(height)
        if query.flags & POW2_PAD or not query.flags & CUBE:
            slices = next_pow2(slices)
    flags = query.flags & ~DCC_PIPE_WORKAROUND
    if flags & DCC_COMPATIBLE:
        flags |= DCC_PIPE_WORKAROUND
    return Level(
        query.tile_mode, query.tile_type, bits, width, height, slices, samples, query.fragments, query.mip_level, flags, query.max_base_align,
        query.pitch_align, query.height_align, query.is_block_compressed, query.is_thin_only)


def _is_valid(query: Query, samples: int, bits: int) -> bool:
    mode = query.tile_mode
    return (
        0 <= mode <= UNKNOWN and IS_VALID[mode] == 1 and 0 <= query.tile_type <= THICK
        and 8 <= bits <= 128 and bits % 8 == 0 and query.bits <= 128
        and 0 <= query.width <= _MAX_SIZE and 0 <= query.height <= _MAX_SIZE and 0 < query.slices <= _MAX_SLICES
        and 0 <= query.base_pitch <= _MAX_SIZE and 0 <= query.pitch_align <= _MAX_SIZE and 0 <= query.height_align <= _MAX_SIZE
        and 0 <= query.mip_level < 32 and 0 <= samples <= 16 and query.fragments >= 0
        and not (mode == UNKNOWN and query.mip_level > 0)
        and not (THICKNESS[mode] > 1 and samples > 1)
        and samples >= query.fragments
    )


def _invalid(macro_index: int) -> Layout:
    return Layout(
        3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INDEX_INVALID, macro_index, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def layout(chip: Chip, query: Query, info: TileInfo) -> Layout:
    """Return the layout of one level; an `info` of zeros leaves the geometry to the tables of the chip."""
    samples = max(1, query.samples)
    bits = query.format_bits or query.bits
    if not _is_valid(query, samples, bits):
        return _invalid(INDEX_INVALID)
    level = _in_elements(query, samples, bits)
    index = query.tile_index
    macro_index = 0 if chip.is_gfx6 else INDEX_INVALID
    if index != INDEX_INVALID:
        row = 0 if index == INDEX_LINEAR_GENERAL else index
        if row < 0 or row > 31:
            return _invalid(macro_index)
        if index == INDEX_LINEAR_GENERAL:
            macro_index, info = INDEX_NO_MACRO, TileInfo(2, 1, 1, 1, 64, 1)
            level = _with_mode(level, LINEAR_GENERAL, DISPLAYABLE if chip.is_gfx6 else level.tile_type, level.flags)
        else:
            macro_index, info = macro_mode(chip, index, level.flags, bits, level.fragments or samples)
            level = _with_mode(level, chip.tile_modes[index][6], chip.tile_modes[index][7], level.flags)
    unknown = level.mode == UNKNOWN
    level = _select_mode(chip, level) if unknown else _replace_unsupported(chip, level)
    level = _optimize(chip, level, index, info)
    if unknown:
        level = _replace_unsupported(chip, level)
    if IS_VALID[level.mode] == 0:
        return _invalid(macro_index)
    result, stencil = _lay_out_with_stencil(chip, level, info, index, macro_index)
    if not result.extent.ok:
        return _invalid(macro_index)
    return _report(chip, query, level, result, stencil)


def _report(chip: Chip, query: Query, level: Level, result: _Result, stencil: int) -> Layout:
    _, mode, pitch, height, depth, surface_bytes, base_align, pitch_align, height_align, depth_align = result.extent
    info, tile_type, tile_index, macro_index, compatible, dcc_unsupported = result.tiling
    banks, bank_width, bank_height, aspect, split, pipe_config = info
    pixel_pitch, pixel_height = pitch, height
    if query.is_expanded:
        pixel_pitch, pixel_height = max(1, pitch // query.expand_x), max(1, height // query.expand_y)
    elif query.expand_x > 1 or query.expand_y > 1:
        pixel_pitch, pixel_height = pitch * query.expand_x, height * query.expand_y
    slice_bytes, flags = surface_bytes, level.flags
    if not flags & VOLUME:
        slice_bytes //= depth
        if query.slices > 1 and query.slice == query.slices - 1:
            slice_bytes += slice_bytes * (depth - query.slices)
    samples = level.fragments or level.samples
    # A variable, because Numba does not compile a conditional expression among so many arguments.
    is_prt_flag = 1 if chip.is_gfx6 and flags & PRT else 0
    return Layout(
        0, pitch, height, depth, surface_bytes, mode, base_align, pitch_align, height_align, depth_align, level.bits, pixel_pitch,
        pixel_height, query.bits, slice_bytes, (pitch // 8 - 1) & _UINT32, (height // 8 - 1) & _UINT32, (pitch * height // 64 - 1) & _UINT32,
        samples, tile_type, tile_index, macro_index, int(compatible), int(dcc_unsupported),
        is_prt_flag, result.block_width, result.block_height, stencil, banks, bank_width, bank_height, aspect,
        split, pipe_config)
