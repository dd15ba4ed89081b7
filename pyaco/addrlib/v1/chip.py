"""What addressing on GFX6, 7 and 8 needs of a chip: its tile tables, decoded from registers, and a few facts.

GFX6 keeps the whole bank geometry in its 32 GB_TILE_MODE registers. GFX7 and 8 keep array mode, pipe configuration and sample
split there, and the bank geometry in 16 GB_MACROTILE_MODE registers, selected by the bytes of a micro tile (8 to 15: PRT).
Register fields: AMD's register database (GB_TILE_MODE0, GB_MACROTILE_MODE0, GB_ADDR_CONFIG); family numbers and revision
ranges: the amdgpu kernel interface (amdgpu_asic_addr.h).
"""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any, NamedTuple

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.generations import Generation
from pyaco.addrlib.v1 import modes
from pyaco.errors import InputError, UnsupportedError

__all__ = ["KEPT_RESULTS", "Chip", "TileInfo", "chip_of"]

KEPT_RESULTS = 1 << 14
"""Results that single queries cache of a rule with few different arguments; kernels compute them anew."""


class TileInfo(NamedTuple):
    """Geometry of a macro tile. `tile_split_bytes` is in bytes, the sizes of banks in micro tiles."""

    banks: int
    bank_width: int
    bank_height: int
    macro_aspect_ratio: int
    tile_split_bytes: int
    pipe_config: int


class Chip(NamedTuple):
    """Facts of one chip, as the rules read them.

    `tile_modes` has a row per tile index: banks, bank width, bank height, macro aspect ratio, tile split, pipe configuration,
    tile mode, tile type; on GFX7 and 8 the tile split of a colour mode is the number of samples per split.
    `macro_modes` has the first five of these per macro tile mode index; it is all zero on GFX6.
    The rules index both as ``table[i][j]``, so that they may be tuples or arrays.
    """

    tile_modes: Any
    macro_modes: Any
    is_gfx6: bool
    has_dcc: bool
    is_bonaire: bool
    is_fiji: bool
    is_vegam: bool
    allow_non_displayable_thick: bool
    pipes: int
    row_bytes: int
    interleave_bytes: int
    max_samples: int
    number: int
    """A number that no other chip has: what a chip is hashed by."""

    def __hash__(self) -> int:
        return self.number


ROW_MODE, ROW_TYPE = 6, 7

_FAMILY_CI, _FAMILY_VI, _FAMILY_CZ = 120, 130, 135

_NUMBERS = count()

# Array mode fields that are not the tile mode itself.
_GFX6_ARRAY_MODES = {8: modes.TILED_2D_XTHICK, 14: modes.TILED_3D_XTHICK, 15: 18}
_GFX7_ARRAY_MODES = {
    5: modes.PRT_TILED_THIN1, 6: modes.PRT_2D_TILED_THIN1, 8: modes.TILED_2D_XTHICK, 9: modes.PRT_TILED_THICK,
    10: modes.PRT_2D_TILED_THICK, 11: modes.PRT_3D_TILED_THIN1, 14: modes.TILED_3D_XTHICK, 15: modes.PRT_3D_TILED_THICK,
}


def _bits(value: int, low: int, width: int) -> int:
    return (value >> low) & ((1 << width) - 1)


def _gfx6_tile_mode(value: int) -> tuple[int, ...]:
    array_mode = _bits(value, 2, 4)
    return (
        2 << _bits(value, 20, 2), 1 << _bits(value, 14, 2), 1 << _bits(value, 16, 2), 1 << _bits(value, 18, 2),
        64 << _bits(value, 11, 3), _bits(value, 6, 5) + 1, _GFX6_ARRAY_MODES.get(array_mode, array_mode), _bits(value, 0, 2),
    )


def _gfx7_tile_mode(value: int) -> tuple[int, ...]:
    array_mode = _bits(value, 2, 4)
    mode = _GFX7_ARRAY_MODES.get(array_mode, array_mode)
    tile_type = _bits(value, 22, 3)
    pipe_config = _bits(value, 6, 5) + 1
    if not modes.IS_MACRO[mode]:
        return 2, 1, 1, 1, 64, pipe_config, mode, tile_type
    split = 64 << _bits(value, 11, 3) if tile_type == modes.DEPTH_SAMPLE_ORDER else 1 << _bits(value, 25, 2)
    return 0, 0, 0, 0, split, pipe_config, mode, tile_type


def _gfx7_macro_mode(index: int, value: int) -> tuple[int, ...]:
    return 2 << _bits(value, 6, 2), 1 << _bits(value, 0, 2), 1 << _bits(value, 2, 2), 1 << _bits(value, 4, 2), 64 << index % 8


def _gfx6_pipes(revision: int) -> int:
    return 8 if revision < 41 else 4 if revision < 70 else 2


@cache
def chip_of(config: GpuConfig) -> Chip:
    """Decode the registers of `config`.

    Raises
    ------
    UnsupportedError
        If the chip is not of GFX6, 7 or 8.
    InputError
        If a register holds a value that no such chip has.
    """
    if config.rules.library != 1:
        raise UnsupportedError(f"tile modes of {config.name}: GFX9 and later have swizzle modes")
    is_gfx6 = config.generation == Generation.GFX6
    interleave, row = _bits(config.gb_addr_config, 4, 3), _bits(config.gb_addr_config, 28, 2)
    if interleave > 1 or row > 2 or config.mc_arb_ramcfg & 3 == 3:
        raise InputError(f"{config.name}: GB_ADDR_CONFIG {config.gb_addr_config:#x}, MC_ARB_RAMCFG {config.mc_arb_ramcfg:#x}")
    decode = _gfx6_tile_mode if is_gfx6 else _gfx7_tile_mode
    tile_modes = tuple(decode(value) for value in config.tile_modes)
    macro_modes = tuple(_gfx7_macro_mode(i, v) if not is_gfx6 else (0,) * 5 for i, v in enumerate(config.macro_tile_modes or (0,) * 16))
    if len(tile_modes) != 32 or len(macro_modes) != 16:
        raise InputError(f"{config.name}: {len(tile_modes)} tile modes and {len(macro_modes)} macro tile modes; there are 32 and 16")
    revision = config.chip_external_rev
    is_bonaire = config.family_id == _FAMILY_CI and 20 <= revision < 40
    pipes = _gfx6_pipes(revision) if is_gfx6 else modes.PIPES[tile_modes[0][5]]
    if not pipes:
        raise InputError(f"{config.name}: pipe configuration {tile_modes[0][5]} of tile mode 0 does not exist")
    return Chip(
        tile_modes=tile_modes,
        macro_modes=macro_modes,
        is_gfx6=is_gfx6,
        has_dcc=config.family_id in (_FAMILY_VI, _FAMILY_CZ),
        is_bonaire=is_bonaire,
        is_fiji=config.family_id == _FAMILY_VI and 60 <= revision < 80,
        is_vegam=config.family_id == _FAMILY_VI and revision >= 110,
        allow_non_displayable_thick=is_bonaire or tile_modes[18][6:] == (modes.TILED_1D_THICK, modes.NON_DISPLAYABLE),
        pipes=pipes,
        row_bytes=1024 << row,
        interleave_bytes=256 << interleave,
        max_samples=16 if is_gfx6 else 8,
        number=next(_NUMBERS),
    )
