"""Address equations of the tile modes of GFX6, 7 and 8.

Inside a block (a micro tile, or a macro tile) every bit of the offset is the xor of some coordinate bits; pipe and bank of a macro tile
also depend on coordinate bits beyond the tile. The equations are derived from the address rule, one coordinate bit at a time.

The address library numbers the equations of modes without rotation from slice to slice and with unsplit micro tiles (siaddrlib).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.equation import Equation
from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.address import Addressing, bank_rotation, byte_address, micro_order, pipe_rotation, tile_splits
from pyaco.addrlib.v1.chip import ROW_MODE, ROW_TYPE, Chip, TileInfo, chip_of
from pyaco.addrlib.v1.modes import log2
from pyaco.addrlib.v1.queries import SurfaceAddresses
from pyaco.addrlib.v1.tiling import macro_mode, pipes_of
from pyaco.errors import UnsupportedError

__all__ = ["EquationTable", "SurfaceBlock", "TileEquation", "equation_table", "surface_block"]

_COORDINATE_BITS = 16
_PRT_BLOCK_BYTES = 0x10000

# GFX6: tile indices of PRT modes, whose blocks are enlarged to 64 KB; tile index of the uncompressed depth mode, which has its own numbers.
_GFX6_PRT = frozenset((3, 5, 6, 7, 21, 22, 23, 24, 25, 30))
_GFX6_DEPTH = 3
# GFX6: element sizes (log2 of bytes) for which a macro tiled index is used.
_GFX6_SIZES = {
    0: {0, 1, 2}, 3: {1}, 6: {2}, 10: {0}, 11: {1}, 12: {2, 3}, 14: {0}, 15: {1}, 16: {2}, 17: {3, 4}, 21: {0}, 22: {1}, 23: {2}, 24: {3}, 25: {4},
}


@dataclass(frozen=True)
class TileEquation:
    """An equation with the block that it describes, in elements."""

    equation: Equation
    block_width: int
    block_height: int
    block_slices: int


@dataclass(frozen=True)
class EquationTable:
    """The equations of a chip, numbered as the address library does.

    Attributes
    ----------
    equations : tuple of TileEquation
    index : dict
        From tile index and log2 of the bytes of an element to a position in `equations`.
    """

    equations: tuple[TileEquation, ...]
    index: dict[tuple[int, int], int]


def _block_bits(a: Addressing) -> int:
    """log2 of the bytes of a block."""
    tile_bytes = 8 * a.bits * a.samples * modes.THICKNESS[a.mode]
    if not modes.IS_MACRO[a.mode]:
        return log2(tile_bytes)
    return log2(tile_bytes // tile_splits(a) * a.info.bank_width * a.info.bank_height * a.pipes * a.info.banks)


def _equation(a: Addressing) -> Equation:
    """Derive the equation from the address rule, for the slices of one micro tile."""
    bits = _block_bits(a)
    # In a tile table a bank may be smaller than the pipe interleave. Surfaces enlarge such banks; equations as the library numbers them
    # leave the address bits in between out.
    bank_bytes = 1 << bits - log2(a.pipes * a.info.banks) if modes.IS_MACRO[a.mode] else a.interleave_bytes
    left_out = max(0, a.interleave_bytes - bank_bytes)
    masks = np.zeros((bits, 4), np.uint32)
    counts = (_COORDINATE_BITS, _COORDINATE_BITS, log2(modes.THICKNESS[a.mode]), log2(a.samples))
    for coordinate, count in enumerate(counts):
        for bit in range(count):
            element = [0, 0, 0, 0]
            element[coordinate] = 1 << bit
            if element[coordinate] >= 8 and coordinate < 2 and not modes.IS_MACRO[a.mode]:
                continue
            address = byte_address(a, *element) & ~left_out
            for i in range(bits):
                masks[i, coordinate] |= (address >> i & 1) << bit
    return Equation(masks)


def _block_size(a: Addressing) -> tuple[int, int]:
    if not modes.IS_MACRO[a.mode]:
        return 8, 8
    info = a.info
    return 8 * a.pipes * info.bank_width * info.macro_aspect_ratio, 8 * info.bank_height * info.banks // info.macro_aspect_ratio


# Blocks of a surface.


@dataclass(frozen=True)
class SurfaceBlock:
    """How a slice of a level lies in memory, for kernels that tile and detile it.

    The address of the element x, y of the slice is ``base + (y // height * pitch + x // width) * size + (offset ^ flip)``, where `offset` is
    the equation's at x, y, the slice in its micro tile, and the sample.

    Attributes
    ----------
    equation : Equation
    width, height : int
        Block in elements.
    pitch : int
        Blocks in a row.
    base, flip : int
        Bytes: where the slice starts; the bits of pipe and bank that are xored to offsets.
    """

    equation: Equation
    width: int
    height: int
    pitch: int
    base: int
    flip: int


def surface_block(addresses: SurfaceAddresses, slice: int = 0) -> SurfaceBlock:
    """Return the block of a tiled surface and where slice `slice` begins.

    Raises
    ------
    UnsupportedError
        A linear surface, or one whose micro tiles are split, so that a block is not contiguous.
    """
    a = addresses.parameters
    if modes.is_linear(a.mode):
        raise UnsupportedError("the block of a linear surface")
    if modes.IS_MACRO[a.mode] and tile_splits(a) > 1:
        raise UnsupportedError(f"one block for micro tiles split at {a.info.tile_split_bytes} bytes")
    thickness = modes.THICKNESS[a.mode]
    layer = slice // thickness
    width, height = _block_size(a)
    base, flip = a.pitch * a.height * thickness * a.samples * (a.bits // 8) * layer, 0
    if modes.IS_MACRO[a.mode]:
        pipe = (a.pipe_swizzle + pipe_rotation(a, layer)) & (a.pipes - 1)
        bank = (a.bank_swizzle + bank_rotation(a, layer)) & (a.info.banks - 1)
        flip = (bank * a.pipes + pipe) * a.interleave_bytes
    block = a._replace(pitch=width, height=height, slices=1, bank_swizzle=0, pipe_swizzle=0)
    return SurfaceBlock(_equation_of(block), width, height, a.pitch // width, base, flip)


@cache
def _equation_of(a: Addressing) -> Equation:
    return _equation(a)


# The table of a chip.


def _tile(chip: Chip, index: int, size: int, samples: int = 1) -> Addressing:
    """Addressing of a surface of one block, in the tile mode `index` and elements of ``1 << size`` bytes."""
    mode, tile_type = chip.tile_modes[index][ROW_MODE], chip.tile_modes[index][ROW_TYPE]
    info = macro_mode(chip, index, 0, 8 << size, samples)[1]
    a = Addressing(
        mode, 8 << size, 0, 0, 1, samples, tile_type == modes.DEPTH_SAMPLE_ORDER, micro_order(tile_type, 8 << size), info, pipes_of(chip, info),
        chip.is_vegam, chip.interleave_bytes, 0, 0)
    width, height = _block_size(a)
    return a._replace(pitch=width, height=height)


def _is_numbered(chip: Chip, index: int, a: Addressing, size: int) -> bool:
    mode, tile_type = chip.tile_modes[index][ROW_MODE], chip.tile_modes[index][ROW_TYPE]
    rotates = mode in (
        modes.TILED_2D_THICK, modes.TILED_2D_XTHICK, modes.TILED_3D_THIN1, modes.TILED_3D_THICK, modes.TILED_3D_XTHICK)
    if not modes.IS_VALID[mode] or modes.is_linear(mode) or rotates or a.order[0] < 0 or (tile_type == modes.DEPTH_SAMPLE_ORDER and size > 2):
        return False
    if not modes.IS_MACRO[mode]:
        return True
    if (64 << size) * modes.THICKNESS[mode] > a.info.tile_split_bytes or (a.info.bank_width == 1 and a.info.pipe_config in (8, 15)):
        return False
    return not chip.is_gfx6 or size in _GFX6_SIZES.get(index, ())


def _tile_equation(a: Addressing, enlarge_prt: bool) -> TileEquation:
    # Equations ignore tile splits, which among the numbered modes only GFX6's uncompressed depth has.
    unsplit = a._replace(info=a.info._replace(tile_split_bytes=8 * a.bits * modes.THICKNESS[a.mode]))
    equation, (width, height) = _equation(unsplit), _block_size(a)
    repeats = _PRT_BLOCK_BYTES // (width * height * a.bits // 8) if enlarge_prt else 1
    rows = [[1 << (log2(width) + i), 0, 0, 0] for i in range(log2(repeats))]
    if rows:
        equation = Equation(np.concatenate([equation.masks, np.array(rows, np.uint32)]))
    return TileEquation(equation, width << len(rows), height, modes.THICKNESS[a.mode])


def _key(a: Addressing, tile_type: int, prt: bool) -> tuple[object, ...]:
    order = modes.NON_DISPLAYABLE if tile_type == modes.DEPTH_SAMPLE_ORDER else tile_type
    info: TileInfo = a.info._replace(tile_split_bytes=0)
    return a.bits, a.mode, order, info, prt


@cache
def equation_table(config: GpuConfig) -> EquationTable:
    """Return the equations of a chip of GFX6, 7 or 8."""
    chip = chip_of(config)
    equations: list[TileEquation] = []
    index: dict[tuple[int, int], int] = {}
    known: dict[tuple[object, ...], int] = {}
    for size in range(5):
        for tile in range(32):
            a = _tile(chip, tile, size)
            if not _is_numbered(chip, tile, a, size):
                continue
            prt = chip.is_gfx6 and tile in _GFX6_PRT
            number = known.setdefault(_key(a, chip.tile_modes[tile][ROW_TYPE], prt), len(equations))
            if number == len(equations):
                equations.append(_tile_equation(a, prt and bool(modes.IS_MACRO[a.mode])))
            index[tile, size] = number
        if chip.is_gfx6:
            # Uncompressed depth that is not PRT has blocks of the usual size; for each element size the library numbers those of all sizes again.
            equations += [_tile_equation(_tile(chip, _GFX6_DEPTH, s), False) for s in range(5)]
    return EquationTable(tuple(equations), index)
