"""Bank and pipe swizzle of GFX6, 7 and 8: where a macro tiled surface, or a slice of it, starts among banks and pipes.

A tile swizzle is bank and pipe xored to the address, in units of 256 bytes, so that it can be ored to a base address register.
Source of the facts: AMD's address library (egbaddrlib). The functions run as Python and as machine code.
"""

from __future__ import annotations

from pyaco.addrlib.v1.chip import TileInfo
from pyaco.addrlib.v1.modes import (
    IS_MACRO,
    PRT_2D_TILED_THICK,
    PRT_2D_TILED_THIN1,
    PRT_3D_TILED_THICK,
    PRT_3D_TILED_THIN1,
    THICKNESS,
    TILED_2D_THICK,
    TILED_2D_THIN1,
    TILED_2D_XTHICK,
    is_3d,
)

__all__ = ["base_swizzle", "combine_swizzle", "extract_swizzle", "slice_swizzle"]


def combine_swizzle(pipes: int, interleave_bytes: int, bank: int, pipe: int, base: int) -> int:
    """Return the tile swizzle of a bank and pipe, with the bits of the base address `base` (bytes) xored in."""
    return (base ^ (bank * pipes + pipe) * interleave_bytes) >> 8


def extract_swizzle(pipes: int, banks: int, interleave_bytes: int, swizzle: int) -> tuple[int, int]:
    """Return bank and pipe of a tile swizzle."""
    unit = swizzle // (interleave_bytes >> 8)
    return unit // pipes & (banks - 1), unit & (pipes - 1)


def _has_3d_rotation(mode: int) -> bool:
    return is_3d(mode) or mode in (PRT_3D_TILED_THIN1, PRT_3D_TILED_THICK)


def base_swizzle(info: TileInfo, pipes: int, interleave_bytes: int, mode: int, index: int, linear: bool, reduce_bank_bit: bool) -> int:
    """Return the tile swizzle of the `index`-th surface, so that surfaces used together start in different banks.

    Successive surfaces are half the number of banks less one apart, or (`linear`) one bank.
    """
    if not IS_MACRO[mode]:
        return 0
    banks = info.banks >> 1 if reduce_bank_bit and info.banks > 2 else info.banks
    surface = index & (banks - 1)
    bank = surface if linear else surface * (banks // 2 - 1) & (banks - 1)
    pipe = index & (pipes - 1) if _has_3d_rotation(mode) else 0
    return combine_swizzle(pipes, interleave_bytes, bank, pipe, 0)


def slice_swizzle(info: TileInfo, pipes: int, interleave_bytes: int, mode: int, swizzle: int, z: int, base: int) -> int:
    """Return the tile swizzle with which slice `z` of a surface of tile swizzle `swizzle` can be bound as a surface of its own."""
    if not IS_MACRO[mode]:
        return 0
    layer = z // THICKNESS[mode]
    bank, pipe = extract_swizzle(pipes, info.banks, interleave_bytes, swizzle)
    if _has_3d_rotation(mode):
        rotation = 1 if pipes < 4 else pipes // 2 - 1
        pipe += layer * rotation
        bank += layer * rotation // pipes
    elif mode in (TILED_2D_THIN1, TILED_2D_THICK, TILED_2D_XTHICK, PRT_2D_TILED_THIN1, PRT_2D_TILED_THICK):
        bank += layer * (info.banks // 2 - 1)
    return combine_swizzle(pipes, interleave_bytes, bank & (info.banks - 1), pipe & (pipes - 1), base)
