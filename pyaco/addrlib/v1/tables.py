"""Queries on the tile tables of a chip of GFX6, 7 or 8: what a tile index means, which index a tiling has, largest alignments.

Source of the facts: AMD's address library (AddrConvertTileIndex, AddrGetTileIndex, AddrGetMaxAlignments; siaddrlib, ciaddrlib).
"""

from __future__ import annotations

from typing import NamedTuple

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.chip import ROW_MODE, ROW_TYPE, TileInfo, chip_of
from pyaco.addrlib.v1.tiling import macro_mode, matching_tile_index, pipes_of, tile_row
from pyaco.errors import InputError

__all__ = ["TileConfig", "max_base_align", "max_metadata_align", "tile_config", "tile_index_of"]

_BLOCK_64K = 0x10000


class TileConfig(NamedTuple):
    """Meaning of a tile index; `macro_mode_index` is -3 where there is none (GFX6, linear and 1D modes)."""

    tile_mode: modes.TileMode
    tile_type: modes.TileType
    macro_mode_index: int
    info: TileInfo


def tile_config(config: GpuConfig, tile_index: int, bpp: int, num_samples: int = 1) -> TileConfig:
    """Return mode, type and geometry of a tile index for elements of `bpp` bits and `num_samples` stored samples.

    Raises
    ------
    InputError
        If the chip has no such index.
    """
    chip = chip_of(config)
    if not 0 <= tile_index < len(chip.tile_modes) or not modes.IS_VALID[chip.tile_modes[tile_index][ROW_MODE]]:
        raise InputError(f"no tile mode at index {tile_index} of {config.name}")
    if bpp not in (8, 16, 32, 64, 128) or num_samples not in (1, 2, 4, 8, 16):
        raise InputError(f"elements of {bpp} bits, {num_samples} samples")
    row = chip.tile_modes[tile_index]
    return TileConfig(modes.TileMode(row[ROW_MODE]), modes.TileType(row[ROW_TYPE]), *macro_mode(chip, tile_index, 0, bpp, num_samples))


def tile_index_of(config: GpuConfig, tile_mode: int, tile_type: int, info: TileInfo) -> int:
    """Return the first tile index with that mode, type and geometry, or -1 (-2: linear general, which needs none)."""
    return matching_tile_index(chip_of(config), info, int(tile_mode), int(tile_type), modes.INDEX_INVALID)


def max_base_align(config: GpuConfig) -> int:
    """Return the largest alignment in bytes that the base of any surface needs."""
    chip = chip_of(config)
    pipes = pipes_of(chip, tile_row(chip, 0))
    if chip.is_gfx6:
        found = [
            min(row[4], 64 * 8 * 16) * row[0] * row[1] * row[2] for row in chip.tile_modes
            if modes.IS_MACRO[row[ROW_MODE]] and not modes.is_prt(row[ROW_MODE])]
    else:
        found = [row[0] * row[1] * row[2] * row[4] for row in chip.macro_modes]
    return max(_BLOCK_64K, *(bank_bytes * pipes for bank_bytes in found))


def max_metadata_align(config: GpuConfig) -> int:
    """Return the largest alignment in bytes that the base of any CMASK, HTILE or DCC needs."""
    chip = chip_of(config)
    pipes = max(pipes_of(chip, tile_row(chip, index)) for index in range(len(chip.tile_modes)))
    # Here the library pairs each macro tile mode with the tile mode at the same index.
    banks = [macro[0] for macro, row in zip(chip.macro_modes, chip.tile_modes, strict=False) if chip.has_dcc and modes.IS_MACRO[row[ROW_MODE]]]
    return chip.interleave_bytes * pipes * max(banks, default=1)
