"""Which tile index, tile type and macro tile geometry a surface of GFX6, 7 or 8 gets.

Source of the facts: AMD's address library (siaddrlib, ciaddrlib). The tile indices are positions in the chip's tile tables,
whose order is a convention between the kernel driver (which writes the registers) and the address library.

Every function here runs as Python and, in the kernels of `pyaco.addrlib.v1.arrays`, as machine code.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pyaco.addrlib.v1.chip import KEPT_RESULTS, Chip, TileInfo
from pyaco.addrlib.v1.modes import (
    COMPRESS_Z,
    DEPTH,
    DEPTH_SAMPLE_ORDER,
    DISPLAYABLE,
    FMASK,
    INDEX_INVALID,
    INDEX_LINEAR_GENERAL,
    INDEX_NO_MACRO,
    IS_MACRO,
    LINEAR_ALIGNED,
    LINEAR_GENERAL,
    NEED_EQUATION,
    NON_DISPLAYABLE,
    NON_SPLIT,
    PIPES,
    PRT,
    PRT_2D_TILED_THIN1,
    PRT_3D_TILED_THIN1,
    PRT_TILED_THICK,
    PRT_TILED_THIN1,
    ROTATED,
    STENCIL,
    TC_COMPATIBLE,
    THICK,
    THICKNESS,
    TILED_1D_THICK,
    TILED_1D_THIN1,
    TILED_2D_THICK,
    TILED_2D_THIN1,
    TILED_2D_XTHICK,
    TILED_3D_THICK,
    TILED_3D_THIN1,
    TILED_3D_XTHICK,
    is_linear,
    is_prt,
    log2,
)

__all__ = ["Tiling", "choose_tiling", "macro_mode", "matching_tile_index"]

LINEAR_INDEX = 8
_DEPTH_2D, _DEPTH_1D, _DEPTH_PRT = 0, 5, 6
_PRT_BLOCK_BYTES = 0x10000

# GFX6 tile indices by log2 of the bytes of an element (8, 16, 32, 64, 128 bits); -1: no such mode.
_GFX6_PRT_COLOR = (21, 22, 23, 24, 25)
_GFX6_PRT_COLOR_MSAA = (23, 24, 25, 30, -1)
_GFX6_PRT_DEPTH = (-1, 3, 6, -1, -1)
_GFX6_PRT_DEPTH_MSAA = (-1, 5, 7, -1, -1)
_GFX6_DISPLAYABLE = (10, 11, 12, 12, -1)
_GFX6_NON_DISPLAYABLE = (14, 15, 16, 17, 17)
_GFX6_FMASK = (14, 15, 16, 17, -1)


class Tiling(NamedTuple):
    """How a surface is tiled."""

    info: TileInfo
    tile_type: int
    tile_index: int
    macro_mode_index: int
    tc_compatible: bool
    dcc_unsupported: bool


def is_zero(info: TileInfo) -> bool:
    return (info.banks | info.bank_width | info.bank_height | info.macro_aspect_ratio | info.tile_split_bytes | info.pipe_config) == 0


def no_info() -> TileInfo:
    return TileInfo(0, 0, 0, 0, 0, 0)


def tile_row(chip: Chip, index: int) -> TileInfo:
    """Return the geometry that the tile mode register alone gives."""
    row = chip.tile_modes[index]
    return TileInfo(row[0], row[1], row[2], row[3], row[4], row[5])


def pipes_of(chip: Chip, info: TileInfo) -> int:
    pipes = PIPES[info.pipe_config]
    return pipes if pipes else chip.pipes


def macro_mode(chip: Chip, tile_index: int, flags: int, bits: int, samples: int) -> tuple[int, TileInfo]:
    """Return the macro tile mode index and the geometry that a tile index stands for (GFX6 and modes that are not macro tiled: only the geometry).

    `bits` is per element; of `flags`, FMASK and PRT count.
    """
    info = tile_row(chip, tile_index)
    mode = chip.tile_modes[tile_index][6]
    if chip.is_gfx6 or not IS_MACRO[mode]:
        return INDEX_NO_MACRO, info
    sample_bytes = bits * 64 * THICKNESS[mode] // 8
    split = info.tile_split_bytes
    if chip.tile_modes[tile_index][7] != DEPTH_SAMPLE_ORDER:
        split = max(256, split * sample_bytes)
    split = min(chip.row_bytes, split)
    index = log2(max(64, min(split, sample_bytes if flags & FMASK else samples * sample_bytes)) // 64)
    if flags & PRT or is_prt(mode):
        index += 8
    row = chip.macro_modes[index]
    return index, TileInfo(row[0], row[1], row[2], row[3], split, info.pipe_config)


def _bytes_log2(bits: int) -> int:
    """Return the index into the tables by element size; 5 where no table has an entry."""
    return log2(bits // 8) if bits == 8 or bits == 16 or bits == 32 or bits == 64 or bits == 128 else 5


def _gfx6_macro_index(mode: int, flags: int, bits: int, samples: int, tile_type: int) -> int:
    size = _bytes_log2(bits)
    thickness = THICKNESS[mode]
    if flags & PRT:
        if size == 5:
            return INDEX_INVALID
        if samples == 1:
            return _GFX6_PRT_DEPTH[size] if flags & DEPTH else _GFX6_PRT_COLOR[size] + (5 if thickness > 1 else 0)
        return _GFX6_PRT_DEPTH_MSAA[size] if flags & DEPTH else _GFX6_PRT_COLOR_MSAA[size]
    if flags & (DEPTH | STENCIL):
        if not flags & COMPRESS_Z:
            return 3
        if flags & STENCIL or samples == 1:
            return 0
        if samples == 8:
            return 2
        return 1 if samples == 2 or samples == 4 else INDEX_INVALID
    if tile_type == DISPLAYABLE:
        return _GFX6_DISPLAYABLE[size] if size < 5 else INDEX_INVALID
    if thickness > 1:
        return 20 if thickness == 4 else 19
    if flags & FMASK:
        size = _bytes_log2(bits * samples)
        return _GFX6_FMASK[size] if size < 5 else INDEX_INVALID
    return _GFX6_NON_DISPLAYABLE[size] if size < 5 else INDEX_INVALID


def _gfx6_index(mode: int, flags: int, bits: int, samples: int, tile_type: int) -> int:
    if IS_MACRO[mode]:
        return _gfx6_macro_index(mode, flags, bits, samples, tile_type)
    if mode == LINEAR_ALIGNED:
        return LINEAR_INDEX
    if mode == LINEAR_GENERAL:
        return INDEX_LINEAR_GENERAL
    if flags & (DEPTH | STENCIL):
        return 4
    if tile_type == DISPLAYABLE:
        return 9
    return 13 if THICKNESS[mode] == 1 else 18


def _choose_gfx6(chip: Chip, mode: int, tile_type: int, flags: int, bits: int, samples: int, given: TileInfo) -> Tiling:
    if not is_linear(mode):
        if bits == 128 or THICKNESS[mode] > 1 or flags & (FMASK | PRT):
            tile_type = NON_DISPLAYABLE
        if flags & (DEPTH | STENCIL):
            tile_type = DEPTH_SAMPLE_ORDER
    if not is_zero(given):
        info = tile_row(chip, 0) if flags & STENCIL and given.tile_split_bytes == 0 else given
        return Tiling(info, tile_type, INDEX_INVALID, 0, False, False)
    index = _gfx6_index(mode, flags, bits, samples, tile_type)
    if index == INDEX_INVALID:
        return Tiling(no_info(), DISPLAYABLE, index, 0, False, False)
    row = LINEAR_INDEX if index == INDEX_LINEAR_GENERAL else index
    return Tiling(tile_row(chip, row), chip.tile_modes[row][7], index, 0, False, False)


def _gfx7_type(chip: Chip, mode: int, flags: int, bits: int, tile_type: int) -> int:
    """Return the tile type, which some modes and uses determine."""
    if is_linear(mode):
        return tile_type
    if flags & (DEPTH | STENCIL):
        return DEPTH_SAMPLE_ORDER
    if THICKNESS[mode] > 1:
        if chip.is_bonaire:
            return NON_DISPLAYABLE
        allowed = chip.allow_non_displayable_thick and tile_type == NON_DISPLAYABLE and not is_prt(mode)
        return tile_type if allowed else THICK
    thin_3d = mode in (TILED_3D_THIN1, PRT_3D_TILED_THIN1)
    return NON_DISPLAYABLE if bits == 128 or flags & FMASK or thin_3d else tile_type


def _gfx7_depth_index(flags: int, sample_bytes: int, samples: int) -> int:
    """Return the index of the 2D depth mode: by the bytes of a micro tile if it must not be split, otherwise by samples."""
    if flags & (NON_SPLIT | TC_COMPATIBLE | NEED_EQUATION):
        if sample_bytes == 64 or sample_bytes == 128 or sample_bytes == 256 or sample_bytes == 512:
            return log2(sample_bytes) - 6
        return 4
    if samples == 1:
        return 0
    if samples == 8:
        return 2
    return 1 if samples == 2 or samples == 4 else INDEX_INVALID


def _gfx7_thin_index(mode: int, tile_type: int) -> int:
    if tile_type == DISPLAYABLE:
        return 9 if mode == TILED_1D_THIN1 else 10 if mode == TILED_2D_THIN1 else 11 if mode == PRT_TILED_THIN1 else INDEX_INVALID
    if tile_type == NON_DISPLAYABLE:
        if mode == TILED_3D_THIN1:
            return 15
        return 13 if mode == TILED_1D_THIN1 else 14 if mode == TILED_2D_THIN1 else 16 if mode == PRT_TILED_THIN1 else INDEX_INVALID
    if tile_type == ROTATED:
        if mode == PRT_2D_TILED_THIN1:
            return 30
        return 27 if mode == TILED_1D_THIN1 else 28 if mode == TILED_2D_THIN1 else 29 if mode == PRT_TILED_THIN1 else INDEX_INVALID
    return INDEX_INVALID


def _gfx7_thick_index(chip: Chip, mode: int, tile_type: int) -> int:
    thick_order = tile_type == THICK or chip.is_bonaire
    if mode == TILED_1D_THICK:
        return 19 if thick_order else 18
    if mode == TILED_2D_THICK:
        return 20 if thick_order else 24
    if mode == TILED_3D_THICK:
        return 21
    if mode == PRT_TILED_THICK:
        return 22
    return 25 if mode == TILED_2D_XTHICK else 26 if mode == TILED_3D_XTHICK else INDEX_INVALID


def _gfx7_index(chip: Chip, mode: int, tile_type: int, flags: int, bits: int, samples: int) -> int:
    index = INDEX_INVALID
    if flags & (DEPTH | STENCIL):
        index = _gfx7_depth_index(flags, THICKNESS[mode] * bits * samples * 8, samples)
    if tile_type == DEPTH_SAMPLE_ORDER:
        if mode == TILED_1D_THIN1:
            index = _DEPTH_1D
        elif mode == PRT_TILED_THIN1:
            index = _DEPTH_PRT
    by_type = _gfx7_thick_index(chip, mode, tile_type) if THICKNESS[mode] > 1 else _gfx7_thin_index(mode, tile_type)
    return index if by_type == INDEX_INVALID else by_type


def _prt_overflows(chip: Chip, index: int, mode: int, flags: int, bits: int, samples: int) -> bool:
    """Whether a PRT macro tile would not be 64 KB with the pipes of tile index `index`, and the next index has fewer."""
    if chip.pipes < 8 or mode not in (PRT_TILED_THIN1, PRT_TILED_THICK) or chip.tile_modes[index + 1][6] != mode:
        return False
    _, info = macro_mode(chip, index, flags, bits, samples)
    banks = info.banks * info.bank_width * info.bank_height
    return (bits >> 3) * 64 * samples * THICKNESS[mode] * pipes_of(chip, info) * banks != _PRT_BLOCK_BYTES


def tc_compatible(chip: Chip, info: TileInfo, bits: int, mode: int, tile_type: int, tile_index: int) -> bool:
    """Whether the texture unit can read the surface's compressed metadata (GFX8)."""
    if not IS_MACRO[mode]:
        return False
    if tile_type == DEPTH_SAMPLE_ORDER:
        return True
    if tile_index == INDEX_INVALID and not is_zero(info):
        tile_index = matching_tile_index(chip, info, mode, tile_type, tile_index)
    if tile_index < 0:
        return True
    sample_bytes = bits * 64 * THICKNESS[mode] // 8
    return chip.row_bytes >= max(256, chip.tile_modes[tile_index][4] * sample_bytes)


def _choose_gfx7(
    chip: Chip, mode: int, tile_type: int, flags: int, bits: int, samples: int, given: TileInfo, given_index: int, given_macro: int,
) -> Tiling:
    tile_type = _gfx7_type(chip, mode, flags, bits, tile_type)
    if not chip.has_dcc or (flags & (DEPTH | STENCIL) and chip.row_bytes < THICKNESS[mode] * bits * samples * 8):
        flags &= ~TC_COMPATIBLE
    index, macro_index, info = given_index, given_macro, given
    out_type, dcc_unsupported = tile_type, False
    if is_zero(given):
        out_type, macro_index = DISPLAYABLE, INDEX_INVALID
        index = _gfx7_index(chip, mode, tile_type, flags, bits, samples)
        if _prt_overflows(chip, index, mode, flags, bits, samples):
            index += 1
            flags &= ~TC_COMPATIBLE
            dcc_unsupported = True
    else:
        dcc_unsupported = chip.pipes != pipes_of(chip, given)
    if index != INDEX_INVALID and macro_index == INDEX_INVALID:
        macro_index, info = macro_mode(chip, index, flags, bits, samples)
        out_type = chip.tile_modes[index][7]
    elif is_linear(mode):
        index = INDEX_LINEAR_GENERAL if mode == LINEAR_GENERAL else LINEAR_INDEX
        info = tile_row(chip, LINEAR_INDEX)
    else:
        index = given_index
    compatible = bool(flags & TC_COMPATIBLE) and tc_compatible(chip, info, bits, mode, tile_type, index)
    return Tiling(info, out_type, index, macro_index, compatible, dcc_unsupported)


@lru_cache(maxsize=KEPT_RESULTS)
def choose_tiling(
    chip: Chip, mode: int, tile_type: int, flags: int, bits: int, samples: int, given: TileInfo, given_index: int, given_macro: int,
) -> Tiling:
    """Return the tiling of a surface: `given`, or if that is all zero the one that suits its use.

    `bits` is per element; `given_index` and `given_macro` are the tile and macro tile mode indices that `given` belongs to.
    """
    if chip.is_gfx6:
        return _choose_gfx6(chip, mode, tile_type, flags, bits, samples, given)
    return _choose_gfx7(chip, mode, tile_type, flags, bits, samples, given, given_index, given_macro)


def _same_geometry(chip: Chip, row: tuple[int, ...], info: TileInfo) -> bool:
    if row[5] != info.pipe_config:
        return False
    if not chip.is_gfx6:
        return row[7] != DEPTH_SAMPLE_ORDER or min(row[4], chip.row_bytes) == info.tile_split_bytes
    return (
        row[0] == info.banks and row[1] == info.bank_width and row[2] == info.bank_height
        and row[3] == info.macro_aspect_ratio and row[4] == info.tile_split_bytes
    )


@lru_cache(maxsize=KEPT_RESULTS)
def matching_tile_index(chip: Chip, info: TileInfo, mode: int, tile_type: int, index: int) -> int:
    """Return `index` if that entry of the tile table has the mode and geometry, otherwise the first entry that has, or -1."""
    if mode == LINEAR_GENERAL:
        return INDEX_LINEAR_GENERAL
    macro = IS_MACRO[mode]
    if index >= 0:
        row = chip.tile_modes[index]
        if row[6] == mode and (not macro or (row[5] == info.pipe_config and (not chip.is_gfx6 or _same_geometry(chip, row, info)))):
            return index
    for candidate in range(32):
        row = chip.tile_modes[candidate]
        if row[6] == mode and (mode == LINEAR_ALIGNED or (row[7] == tile_type and (not macro or _same_geometry(chip, row, info)))):
            return candidate
    return INDEX_INVALID
