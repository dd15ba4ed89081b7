"""Address of an element in a surface of GFX6, 7 or 8, and the element at an address, as rules on plain integers.

In a macro tiled surface the offset inside a bank counts elements, micro tiles and macro tiles in order. Pipe and bank are xors of
bits of x and y (bits 3 to 6 of the coordinates; for the bank, of the coordinates in units of banks), rotated from slice to slice and,
where a micro tile is split, from part to part. They are inserted into the offset: pipe interleave, then pipe, then bank, then the rest.
Source of the facts: AMD's address library (egbaddrlib, siaddrlib, addrlib1).

Every function here runs as Python and, in the kernels of `pyaco.addrlib.v1.arrays`, as machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyaco.addrlib.v1.chip import TileInfo
from pyaco.addrlib.v1.modes import (
    IS_MACRO,
    PRT_2D_TILED_THIN1,
    PRT_3D_TILED_THIN1,
    THICKNESS,
    TILED_2D_THIN1,
    TILED_3D_THIN1,
    is_3d,
    is_linear,
    is_prt,
    is_prt_without_rotation,
    log2,
)

__all__ = ["Addressing", "byte_address", "channel", "coordinates", "hidden_coordinates", "micro_order"]

_PARITY = 0x6996
"""Bit n is the parity of n, for four bits."""

# Bits of x and y (bit 0 here is bit 3 of the coordinate) that are xored to each bit of the pipe, by pipe configuration.
_X3, _X4, _X5, _X6 = 1, 2, 4, 8
_Y3, _Y4, _Y5, _Y6 = 1, 2, 4, 8
_NONE = ((0, 0), (0, 0), (0, 0), (0, 0))
PIPE_BITS = (
    _NONE,
    ((_X3, _Y3), (0, 0), (0, 0), (0, 0)),
    _NONE, _NONE, _NONE,
    ((_X4, _Y3), (_X3, _Y4), (0, 0), (0, 0)),
    ((_X3 | _X4, _Y3), (_X4, _Y4), (0, 0), (0, 0)),
    ((_X3 | _X4, _Y3), (_X4, _Y5), (0, 0), (0, 0)),
    ((_X3 | _X5, _Y3), (_X5, _Y5), (0, 0), (0, 0)),
    ((_X4 | _X5, _Y3), (_X3, _Y5), (0, 0), (0, 0)),
    ((_X4 | _X5, _Y3), (_X3, _Y4), (_X4, _Y5), (0, 0)),
    ((_X4 | _X5, _Y3), (_X3, _Y4), (_X5, _Y5), (0, 0)),
    ((_X3 | _X4, _Y3), (_X5, _Y4), (_X4, _Y5), (0, 0)),
    ((_X3 | _X4, _Y3), (_X4, _Y4), (_X5, _Y5), (0, 0)),
    ((_X3 | _X4, _Y3), (_X4, _Y6), (_X5, _Y5), (0, 0)),
    ((_X3 | _X5, _Y3), (_X6, _Y5), (_X5, _Y6), (0, 0)),
    _NONE,
    ((_X4, _Y3), (_X3, _Y4), (_X5, _Y6), (_X6, _Y5)),
    ((_X3 | _X4, _Y3), (_X4, _Y4), (_X5, _Y6), (_X6, _Y5)),
)

# The same for the bank, by log2 of the number of banks; bit 3 is here the lowest bit above pipes and bank width or height.
BANK_BITS = (
    _NONE,
    ((_X3, _Y3), (0, 0), (0, 0), (0, 0)),
    ((_X3, _Y4), (_X4, _Y3), (0, 0), (0, 0)),
    ((_X3, _Y5), (_X4, _Y4 | _Y5), (_X5, _Y3), (0, 0)),
    ((_X3, _Y6), (_X4, _Y5 | _Y6), (_X5, _Y4), (_X6, _Y3)),
)

# Order of the elements of a micro tile: for each bit of the element's index, the coordinate bit that it is
# (0 to 2: x, 3 to 5: y, 6 to 8: z), by tile type and log2 of the bytes of an element.
_Z_ORDER = (0, 3, 1, 4, 2, 5, 6, 7, 8)
_NO_ORDER = (-1, -1, -1, -1, -1, -1, -1, -1, -1)
MICRO_ORDERS = (
    ((0, 1, 2, 4, 3, 5, 6, 7, 8), (0, 1, 2, 3, 4, 5, 6, 7, 8), (0, 1, 3, 2, 4, 5, 6, 7, 8), (0, 3, 1, 2, 4, 5, 6, 7, 8), (3, 0, 1, 2, 4, 5, 6, 7, 8)),
    (_Z_ORDER, _Z_ORDER, _Z_ORDER, _Z_ORDER, _Z_ORDER),
    (_Z_ORDER, _Z_ORDER, _Z_ORDER, _Z_ORDER, _Z_ORDER),
    ((3, 4, 5, 1, 0, 2, 6, 7, 8), (3, 4, 5, 0, 1, 2, 6, 7, 8), (3, 4, 0, 5, 1, 2, 6, 7, 8), (3, 0, 4, 1, 2, 5, 6, 7, 8), _NO_ORDER),
    ((0, 3, 1, 4, 6, 7, 2, 5, 8), (0, 3, 1, 4, 6, 7, 2, 5, 8), (0, 3, 1, 6, 4, 7, 2, 5, 8), (0, 3, 6, 1, 4, 7, 2, 5, 8), (0, 3, 6, 1, 4, 7, 2, 5, 8)),
)


class Addressing(NamedTuple):
    """What the address of an element depends on, besides its coordinates.

    Pitch and height are in elements, padded; `samples` counts stored fragments; `bits` is per element.
    """

    mode: int
    bits: int
    pitch: int
    height: int
    slices: int
    samples: int
    by_sample: bool
    """Whether the samples of an element lie together (depth), or the elements of a sample."""
    order: tuple[int, int, int, int, int, int, int, int, int]
    info: TileInfo
    pipes: int
    rotate_pipes: bool
    """Whether a 4-bit pipe number is rotated right by one bit (Vega M)."""
    interleave_bytes: int
    bank_swizzle: int
    pipe_swizzle: int


def micro_order(tile_type: int, bits: int) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Order of the elements of a micro tile; negative if there is none."""
    return MICRO_ORDERS[tile_type][log2(bits // 8)]


def element_index(a: Addressing, x: int, y: int, z: int) -> int:
    """Index of an element in its micro tile."""
    packed = x & 7 | (y & 7) << 3 | (z & 7) << 6
    order, index = a.order, 0
    for bit in range(6 + log2(THICKNESS[a.mode])):
        index |= (packed >> order[bit] & 1) << bit
    return index


def pipe_of(a: Addressing, x: int, y: int) -> int:
    """Pipe of slice 0, without swizzle."""
    x, y, pipe = x >> 3, y >> 3, 0
    bits = PIPE_BITS[a.info.pipe_config]
    for bit in range(log2(a.pipes)):
        pipe |= (_PARITY >> ((x & bits[bit][0]) ^ (y & bits[bit][1])) & 1) << bit
    return pipe >> 1 | (pipe & 1) << 3 if a.rotate_pipes and a.pipes == 16 else pipe


def bank_of(a: Addressing, x: int, y: int) -> int:
    """Bank of slice 0, without swizzle."""
    x, y, bank = x // (8 * a.info.bank_width * a.pipes), y // (8 * a.info.bank_height), 0
    count = log2(a.info.banks)
    bits = BANK_BITS[count]
    for bit in range(count):
        bank |= (_PARITY >> ((x & bits[bit][0]) ^ (y & bits[bit][1])) & 1) << bit
    return bank


def pipe_rotation(a: Addressing, layer: int) -> int:
    """What is added to the pipe in a layer of micro tiles."""
    return max(1, a.pipes // 2 - 1) * layer if is_3d(a.mode) else 0


def bank_rotation(a: Addressing, layer: int) -> int:
    """What is added to the bank in a layer of micro tiles."""
    if is_3d(a.mode):
        return max(1, a.pipes // 2 - 1) * layer // a.pipes
    return 0 if is_prt(a.mode) else (a.info.banks // 2 - 1) * layer


def split_rotation(a: Addressing, split: int) -> int:
    """What is xored to the bank in a part of a split micro tile."""
    mode = a.mode
    rotates = mode in (TILED_2D_THIN1, TILED_3D_THIN1, PRT_2D_TILED_THIN1, PRT_3D_TILED_THIN1)
    return (a.info.banks // 2 + 1) * split if rotates else 0


def tile_splits(a: Addressing) -> int:
    """Parts that a micro tile is split into."""
    tile_bytes = 8 * a.bits * a.samples * THICKNESS[a.mode]
    return tile_bytes // a.info.tile_split_bytes if THICKNESS[a.mode] == 1 and tile_bytes > a.info.tile_split_bytes else 1


def _offset_in_tile(a: Addressing, x: int, y: int, z: int, sample: int) -> int:
    element_bytes = a.bits // 8
    index = element_index(a, x, y, z)
    if a.by_sample:
        return (index * a.samples + sample) * element_bytes
    return (sample * 64 * THICKNESS[a.mode] + index) * element_bytes


def _macro_address(a: Addressing, x: int, y: int, z: int, sample: int) -> int:
    info, pipes = a.info, a.pipes
    splits = tile_splits(a)
    tile_bytes = 8 * a.bits * a.samples * THICKNESS[a.mode] // splits
    offset = _offset_in_tile(a, x, y, z, sample)
    split = offset // tile_bytes
    width, height = 8 * info.bank_width * pipes * info.macro_aspect_ratio, 8 * info.bank_height * info.banks // info.macro_aspect_ratio
    blocks_per_row, layer = a.pitch // width, z // THICKNESS[a.mode]
    block = ((layer * splits + split) * (a.height // height) + y // height) * blocks_per_row + x // width
    tile = block * info.bank_height + (y >> 3) % info.bank_height
    tile = tile * info.bank_width + (x >> 3) // pipes % info.bank_width
    offset = tile * tile_bytes + offset % tile_bytes
    if is_prt_without_rotation(a.mode):
        x, y = x % width, y % height
    pipe = (pipe_of(a, x, y) ^ (a.pipe_swizzle + pipe_rotation(a, layer))) & (pipes - 1)
    bank = (bank_of(a, x, y) ^ (a.bank_swizzle + bank_rotation(a, layer)) ^ split_rotation(a, split)) & (info.banks - 1)
    interleave = a.interleave_bytes
    return ((offset // interleave * info.banks + bank) * pipes + pipe) * interleave + offset % interleave


def byte_address(a: Addressing, x: int, y: int, z: int, sample: int) -> int:
    """Return the byte address of an element relative to the surface; z counts slices."""
    if IS_MACRO[a.mode]:
        return _macro_address(a, x, y, z, sample)
    if is_linear(a.mode):
        return (((sample * a.slices + z) * a.height + y) * a.pitch + x) * (a.bits // 8)
    thickness = THICKNESS[a.mode]
    tile = (z // thickness * (a.height >> 3) + (y >> 3)) * (a.pitch >> 3) + (x >> 3)
    return tile * (8 * a.bits * a.samples * thickness) + _offset_in_tile(a, x, y, z, sample)


# From addresses to coordinates.


def _in_tile(a: Addressing, offset: int) -> tuple[int, int, int, int]:
    """Return x, y, z inside the micro tile and the sample, at a byte offset in it."""
    element = offset // (a.bits // 8)
    elements = 64 * THICKNESS[a.mode]
    index, sample = (element // a.samples, element % a.samples) if a.by_sample else (element % elements, element // elements)
    order, packed = a.order, 0
    for bit in range(6 + log2(THICKNESS[a.mode])):
        packed |= (index >> bit & 1) << order[bit]
    return packed & 7, packed >> 3 & 7, packed >> 6, sample


def hidden_coordinates(a: Addressing, hidden: int) -> tuple[int, int]:
    """Return x and y of the `hidden`-th combination of the coordinate bits that only pipe and bank depend on."""
    info = a.info
    x = hidden % a.pipes * 8
    hidden //= a.pipes
    x += hidden % info.macro_aspect_ratio * (8 * a.pipes * info.bank_width)
    return x, hidden // info.macro_aspect_ratio * (8 * info.bank_height)


def channel(a: Addressing, x: int, y: int) -> int:
    """Pipe and bank of slice 0 in one number, pipe lowest."""
    return bank_of(a, x, y) * a.pipes + pipe_of(a, x, y)


def _macro_coordinates(a: Addressing, hidden_of_channel: Sequence[int], address: int) -> tuple[int, int, int, int]:
    info, pipes, interleave = a.info, a.pipes, a.interleave_bytes
    unit = address // interleave
    pipe, unit = unit % pipes, unit // pipes
    bank, unit = unit % info.banks, unit // info.banks
    offset = unit * interleave + address % interleave
    splits = tile_splits(a)
    tile_bytes = 8 * a.bits * a.samples * THICKNESS[a.mode] // splits
    tile, offset = offset // tile_bytes, offset % tile_bytes
    column, tile = tile % info.bank_width, tile // info.bank_width
    row, block = tile % info.bank_height, tile // info.bank_height
    width, height = 8 * info.bank_width * pipes * info.macro_aspect_ratio, 8 * info.bank_height * info.banks // info.macro_aspect_ratio
    blocks_per_row, block_rows = a.pitch // width, a.height // height
    block_x, block = block % blocks_per_row, block // blocks_per_row
    block_y, block = block % block_rows, block // block_rows
    split, layer = block % splits, block // splits
    inner_x, inner_y, inner_z, sample = _in_tile(a, split * tile_bytes + offset)
    pipe = (pipe ^ (a.pipe_swizzle + pipe_rotation(a, layer))) & (pipes - 1)
    bank = (bank ^ (a.bank_swizzle + bank_rotation(a, layer)) ^ split_rotation(a, split)) & (info.banks - 1)
    x, y = block_x * width + column * 8 * pipes, block_y * height + row * 8
    known = channel(a, column * 8 * pipes, row * 8) if is_prt_without_rotation(a.mode) else channel(a, x, y)
    hidden_x, hidden_y = hidden_coordinates(a, hidden_of_channel[known ^ (bank * pipes + pipe)])
    return x + hidden_x + inner_x, y + hidden_y + inner_y, layer * THICKNESS[a.mode] + inner_z, sample


def coordinates(a: Addressing, hidden_of_channel: Sequence[int], address: int) -> tuple[int, int, int, int]:
    """Return x, y, slice and sample of the element that holds a byte.

    `hidden_of_channel` has for each pipe and bank (see `channel`) the argument `hidden` of `hidden_coordinates` that leads there; it is
    read for macro tiled surfaces only.
    """
    if IS_MACRO[a.mode]:
        return _macro_coordinates(a, hidden_of_channel, address)
    if is_linear(a.mode):
        row, x = address // (a.bits // 8) // a.pitch, address // (a.bits // 8) % a.pitch
        layer, y = row // a.height, row % a.height
        return x, y, layer % a.slices, layer // a.slices
    thickness = THICKNESS[a.mode]
    tile_bytes = 8 * a.bits * a.samples * thickness
    tile, offset = address // tile_bytes, address % tile_bytes
    row, column = tile // (a.pitch >> 3), tile % (a.pitch >> 3)
    layer, row = row // (a.height >> 3), row % (a.height >> 3)
    x, y, z, sample = _in_tile(a, offset)
    return column * 8 + x, row * 8 + y, layer * thickness + z, sample
