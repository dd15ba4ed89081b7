"""Tile modes, micro tile types, pipe configurations and surface flags of GFX6, 7 and 8.

A micro tile is 8 by 8 elements (by 4 or 8 slices in the thick modes). The 1D modes store micro tiles in rows; the 2D and
3D modes group them in macro tiles that are spread over memory pipes and banks; the PRT modes are macro tiled with blocks of
64 KB for partially resident textures. The numbers are those of AMD's register fields and address library (addrtypes.h).

The rules of this package run as Python and, compiled by numba, over arrays. They use the plain integers below, which numba treats as
constants; the enumerations are for callers.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

__all__ = ["PipeConfig", "SurfaceFlag", "TileMode", "TileType"]


class TileMode(IntEnum):
    """Array mode of a surface."""

    LINEAR_GENERAL = 0
    LINEAR_ALIGNED = 1
    TILED_1D_THIN1 = 2
    TILED_1D_THICK = 3
    TILED_2D_THIN1 = 4
    TILED_2D_THICK = 7
    TILED_3D_THIN1 = 12
    TILED_3D_THICK = 13
    TILED_2D_XTHICK = 16
    TILED_3D_XTHICK = 17
    PRT_TILED_THIN1 = 19
    PRT_2D_TILED_THIN1 = 20
    PRT_3D_TILED_THIN1 = 21
    PRT_TILED_THICK = 22
    PRT_2D_TILED_THICK = 23
    PRT_3D_TILED_THICK = 24
    UNKNOWN = 25


class TileType(IntEnum):
    """Order of the elements inside a micro tile."""

    DISPLAYABLE = 0
    NON_DISPLAYABLE = 1
    DEPTH_SAMPLE_ORDER = 2
    ROTATED = 3
    THICK = 4


class PipeConfig(IntEnum):
    """How micro tiles are spread over memory pipes: number of pipes, then the sizes of the two levels of interleave.

    The value is one more than the field PIPE_CONFIG of the tile mode registers holds.
    """

    INVALID = 0
    P2 = 1
    P4_8X16 = 5
    P4_16X16 = 6
    P4_16X32 = 7
    P4_32X32 = 8
    P8_16X16_8X16 = 9
    P8_16X32_8X16 = 10
    P8_32X32_8X16 = 11
    P8_16X32_16X16 = 12
    P8_32X32_16X16 = 13
    P8_32X32_16X32 = 14
    P8_32X64_32X32 = 15
    P16_32X32_8X16 = 17
    P16_32X32_16X16 = 18


class SurfaceFlag(IntFlag):
    """What a surface is used for, as callers of the address library state it."""

    COLOR = 1 << 0
    DEPTH = 1 << 1
    STENCIL = 1 << 2
    TEXTURE = 1 << 3
    CUBE = 1 << 4
    VOLUME = 1 << 5
    FMASK = 1 << 6
    CUBE_AS_ARRAY = 1 << 7
    COMPRESS_Z = 1 << 8
    OVERLAY = 1 << 9
    NO_STENCIL = 1 << 10
    DISPLAY = 1 << 11
    OPT_4_SPACE = 1 << 12
    PRT = 1 << 13
    QB_STEREO = 1 << 14
    POW2_PAD = 1 << 15
    INTERLEAVED = 1 << 16
    TC_COMPATIBLE = 1 << 17
    DISP_TILE_TYPE = 1 << 18
    DCC_COMPATIBLE = 1 << 19
    DCC_PIPE_WORKAROUND = 1 << 20
    CZ_DISP_COMPATIBLE = 1 << 21
    NON_SPLIT = 1 << 22
    DISABLE_LINEAR_OPT = 1 << 23
    NEED_EQUATION = 1 << 24
    SKIP_INDICES_OUTPUT = 1 << 25
    ROTATE_DISPLAY = 1 << 26
    MINIMIZE_ALIGNMENT = 1 << 27
    PREFER_EQUATION = 1 << 28
    MATCH_STENCIL_TILE_CFG = 1 << 29
    DISALLOW_LARGE_THICK_DEGRADE = 1 << 30


LINEAR_GENERAL, LINEAR_ALIGNED = 0, 1
TILED_1D_THIN1, TILED_1D_THICK = 2, 3
TILED_2D_THIN1, TILED_2D_THICK, TILED_2D_XTHICK = 4, 7, 16
TILED_3D_THIN1, TILED_3D_THICK, TILED_3D_XTHICK = 12, 13, 17
PRT_TILED_THIN1, PRT_2D_TILED_THIN1, PRT_3D_TILED_THIN1 = 19, 20, 21
PRT_TILED_THICK, PRT_2D_TILED_THICK, PRT_3D_TILED_THICK = 22, 23, 24
UNKNOWN = 25

DISPLAYABLE, NON_DISPLAYABLE, DEPTH_SAMPLE_ORDER, ROTATED, THICK = 0, 1, 2, 3, 4

COLOR, DEPTH, STENCIL, CUBE, VOLUME, FMASK = 1 << 0, 1 << 1, 1 << 2, 1 << 4, 1 << 5, 1 << 6
CUBE_AS_ARRAY, COMPRESS_Z, OVERLAY, NO_STENCIL, DISPLAY, OPT_4_SPACE = 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12
PRT, QB_STEREO, POW2_PAD, INTERLEAVED, TC_COMPATIBLE = 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17
DCC_COMPATIBLE, DCC_PIPE_WORKAROUND, CZ_DISP_COMPATIBLE, NON_SPLIT = 1 << 19, 1 << 20, 1 << 21, 1 << 22
DISABLE_LINEAR_OPT, NEED_EQUATION, SKIP_INDICES_OUTPUT, ROTATE_DISPLAY = 1 << 23, 1 << 24, 1 << 25, 1 << 26
MINIMIZE_ALIGNMENT, PREFER_EQUATION, MATCH_STENCIL_TILE_CFG = 1 << 27, 1 << 28, 1 << 29
DISALLOW_LARGE_THICK_DEGRADE = 1 << 30

INDEX_INVALID, INDEX_LINEAR_GENERAL, INDEX_NO_MACRO = -1, -2, -3
"""Tile indices that are no entry of the tile table; the last is the macro tile mode index of modes that have none."""

#                        linear 1D    2D                        3D           2D 3D XTHICK  PRT
#                        0  1  2  3   4  5  6  7  8  9 10 11    12 13 14 15  16 17 18      19 20 21 22 23 24 25
THICKNESS = (1, 1, 1, 4, 1, 1, 1, 4, 1, 1, 1, 4, 1, 4, 1, 4, 8, 8, 1, 1, 1, 1, 4, 4, 4, 0)
IS_MACRO = (0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0)
IS_VALID = (1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1)
THIN_FORM = (0, 1, 2, 2, 4, 5, 6, 4, 8, 9, 10, 8, 12, 12, 14, 14, 4, 12, 18, 19, 20, 21, 19, 20, 21, 25)
"""The same mode with micro tiles of one slice."""

PIPES = (0, 2, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 0, 16, 16, 0)
"""Number of pipes of a pipe configuration; 0: no such configuration."""


def is_linear(mode: int) -> bool:
    return mode <= LINEAR_ALIGNED


def is_prt(mode: int) -> bool:
    return PRT_TILED_THIN1 <= mode <= PRT_3D_TILED_THICK


def is_prt_without_rotation(mode: int) -> bool:
    """Whether pipes and banks depend only on the coordinates inside the macro tile."""
    return mode in (PRT_TILED_THIN1, PRT_TILED_THICK)


def is_3d(mode: int) -> bool:
    """Whether the slices rotate pipes as well as banks."""
    return mode in (TILED_3D_THIN1, TILED_3D_THICK, TILED_3D_XTHICK)


def log2(value: int) -> int:
    """Position of the highest bit set; 0 for 0."""
    result = 0
    while value > 1:
        value >>= 1
        result += 1
    return result


def next_pow2(value: int) -> int:
    """Smallest power of two that is not less than the value, which is below 2**32."""
    if value <= 1:
        return 1
    value -= 1
    value |= value >> 1
    value |= value >> 2
    value |= value >> 4
    value |= value >> 8
    value |= value >> 16
    return value + 1


def align_up(value: int, alignment: int) -> int:
    """Smallest multiple of the alignment that is not less than the value."""
    return (value + alignment - 1) // alignment * alignment
