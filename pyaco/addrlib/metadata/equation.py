"""Addresses in metadata surfaces (DCC, HTILE, CMASK): the equation as data, and batched evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.equation import parity
from pyaco.errors import InputError

__all__ = ["AXES", "MetadataEquation", "MetadataLayout"]

_Column = NDArray[np.uint64]

AXES = ("x", "y", "z", "s", "m")
"""The coordinates, in the order of the columns of `MetadataEquation.masks`: x, y, slice (z), sample (s), index of the meta block (m)."""


@dataclass(frozen=True, eq=False)
class MetadataEquation:
    """The xor equation of a metadata surface. It gives addresses in nibbles (4 bits), because an element of CMASK is a nibble.

    Attributes
    ----------
    masks : numpy.ndarray
        uint32, shape (bits, 5): row i holds the masks of x, y, z, s, m whose bits are xored to give bit i of the nibble address.
    block_bit : int
        Bits ``m >> block_bit`` of the block index continue the address above the rows.
    """

    masks: NDArray[np.uint32]
    block_bit: int

    def __post_init__(self) -> None:
        if self.masks.ndim != 2 or self.masks.shape[1] != len(AXES):
            raise InputError(f"a metadata equation's masks have the shape (bits, {len(AXES)}), not {self.masks.shape}")
        self.masks.setflags(write=False)

    @property
    def bits(self) -> int:
        """Number of address bits that are not simply a bit of the block index."""
        return len(self.masks)

    def nibble(self, x: ArrayLike, y: ArrayLike, z: ArrayLike, s: ArrayLike, m: ArrayLike) -> NDArray[np.uint64]:
        """Return nibble addresses for arrays of coordinates (they broadcast)."""
        coordinates = np.broadcast_arrays(*(np.asarray(c, np.uint32) for c in (x, y, z, s, m)))
        result = (coordinates[4] >> np.uint32(self.block_bit)).astype(np.uint64) << np.uint64(self.bits)
        for i, row in enumerate(self.masks):
            flipped = np.zeros(coordinates[0].shape, np.uint32)
            for mask, coordinate in zip(row, coordinates, strict=True):
                if mask:
                    flipped ^= parity(coordinate & mask)
            result |= flipped.astype(np.uint64) << np.uint64(i)
        return result

    def terms(self, i: int) -> tuple[str, ...]:
        """Return the coordinate bits of one address bit, such as ``('x3', 'y4')``."""
        return tuple(f"{axis}{j}" for axis, mask in zip(AXES, self.masks[i], strict=True) for j in range(32) if int(mask) >> j & 1)

    def text(self) -> str:
        """Return the equation in words, one line per bit of the nibble address."""
        lines = [f"bit {i:2}: {' ^ '.join(self.terms(i)) or '0'}" for i in range(self.bits)]
        return "\n".join([*lines, f"bit {self.bits:2} and above: m{self.block_bit} and above"])


@dataclass(frozen=True, eq=False)
class MetadataLayout:
    """All that the address of a metadata element depends on.

    Attributes
    ----------
    equation : MetadataEquation
    block_log2 : tuple of int
        log2 of width, height and depth of a meta block, in elements of the data surface.
    pitch_blocks, slice_blocks : int
        Meta blocks per row, and per layer of meta blocks.
    interleave_log2 : int
        log2 of the bytes that go to one memory channel in a row.
    pipe_xor_mask : int
        Bits of the pipe xor that the surface uses.
    """

    equation: MetadataEquation
    block_log2: tuple[int, int, int]
    pitch_blocks: int
    slice_blocks: int
    interleave_log2: int
    pipe_xor_mask: int

    def address(self, x: ArrayLike, y: ArrayLike, z: ArrayLike = 0, sample: ArrayLike = 0, pipe_xor: int = 0) -> NDArray[np.uint64]:
        """Return byte addresses from the start of the surface. Coordinates are in elements of the data surface and broadcast."""
        return self.nibbles(x, y, z, sample, pipe_xor) >> np.uint64(1)

    @cached_property
    def _inverse(self) -> _Inverse:
        return _solve(self.equation, self.block_log2)

    def coordinates(self, nibbles: ArrayLike, pipe_xor: int = 0) -> tuple[NDArray[np.uint32], ...]:
        """Return x, y, slice and sample of a texel whose metadata lies at nibble addresses: the inverse of `nibbles`.

        It is the first texel of what the metadata element describes. Where the real library's equation gives more than one such block the
        same address (Vega 12), or the block is no rectangle (DCC of elements of 8 and 16 bits on GFX10.1), it is one of them.

        Raises
        ------
        InputError
            An address at which no metadata starts.
        """
        given = np.asarray(nibbles, np.uint64)
        address = given ^ np.uint64((pipe_xor & self.pipe_xor_mask) << (self.interleave_log2 + 1))
        m = (address >> np.uint64(self.equation.bits)).astype(np.uint32) << np.uint32(self.equation.block_bit)
        for i, j in self._inverse.block:
            m |= ((address >> np.uint64(i)).astype(np.uint32) & np.uint32(1)) << np.uint32(j)
        z, rest = np.divmod(m, np.uint32(max(self.slice_blocks, 1)))
        y, x = np.divmod(rest, np.uint32(max(self.pitch_blocks, 1)))
        found = [x << np.uint32(self.block_log2[0]), y << np.uint32(self.block_log2[1]), z << np.uint32(self.block_log2[2]), np.zeros_like(m)]
        local = address ^ self.equation.nibble(found[0], found[1], found[2], found[3], m)
        for axis, j, bits in self._inverse.local:
            found[axis] |= (np.bitwise_count(local & np.uint64(bits)).astype(np.uint32) & np.uint32(1)) << np.uint32(j)
        wrong = self.equation.nibble(found[0], found[1], found[2], found[3], m) != address
        if wrong.any():
            raise InputError(f"no metadata starts at nibble {given[wrong].ravel()[0]}")
        return tuple(found)

    def nibbles(self, x: ArrayLike, y: ArrayLike, z: ArrayLike = 0, sample: ArrayLike = 0, pipe_xor: int = 0) -> NDArray[np.uint64]:
        """Return addresses in nibbles: twice the byte address, plus 1 for the upper half of a byte.

        Raises
        ------
        InputError
            Coordinates outside of the surface (as padded to whole meta blocks).
        """
        columns = np.broadcast_arrays(x, y, z, sample)
        for name, values, extent in zip(AXES, columns, self._extents, strict=False):
            if values.size and (values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= extent):
                raise InputError(f"metadata coordinate {name}: integers from 0 to {extent - 1}")
        xs, ys, zs, samples = (np.ascontiguousarray(c.ravel(), np.uint32) for c in columns)
        flip = np.uint64((pipe_xor & self.pipe_xor_mask) << (self.interleave_log2 + 1))
        shape = np.array([*self.block_log2, self.pitch_blocks, self.slice_blocks], np.uint32)
        if xs.size < _SMALL:
            m = (zs >> shape[2]) * shape[4] + (ys >> shape[1]) * shape[3] + (xs >> shape[0])
            return (self.equation.nibble(xs, ys, zs, samples, m) ^ flip).reshape(columns[0].shape)
        out = np.empty(xs.size, np.uint64)
        # Few addresses do without numba.
        from pyaco.addrlib.metadata.arrays import nibble_addresses

        nibble_addresses(xs, ys, zs, samples, *self._tables, shape, flip, out)
        return out.reshape(columns[0].shape)

    @property
    def _extents(self) -> tuple[int, int, int, int]:
        rows = self.slice_blocks // max(self.pitch_blocks, 1)
        return self.pitch_blocks << self.block_log2[0], rows << self.block_log2[1], 1 << 14, 16

    @cached_property
    def _tables(self) -> tuple[_Column, _Column, _Column, _Column, _Column, _Column]:
        """The equation is linear: an address is the xor of what each coordinate gives alone (of m, what each half of its bits gives)."""
        zero = np.zeros(1, np.uint32)
        nibble = self.equation.nibble
        x, y, z, s = (np.arange(extent, dtype=np.uint32) for extent in self._extents)
        half = np.arange(1 << 16, dtype=np.uint32)
        return (
            nibble(x, zero, zero, zero, zero), nibble(zero, y, zero, zero, zero), nibble(zero, zero, z, zero, zero),
            nibble(zero, zero, zero, s, zero), nibble(zero, zero, zero, zero, half), nibble(zero, zero, zero, zero, half << np.uint32(16)))


@dataclass(frozen=True, eq=False)
class _Inverse:
    """The equation solved: `block` are (address bit, bit of the block index), `local` (axis, bit of the coordinate, address bits to xor)."""

    block: tuple[tuple[int, int], ...]
    local: tuple[tuple[int, int, int], ...]


def _solve(equation: MetadataEquation, block_log2: tuple[int, int, int]) -> _Inverse:
    """Solve for the block index, and for the coordinate bits inside a meta block (Gauss-Jordan over GF(2))."""
    masks = equation.masks.astype(object)
    alone = [not row[:4].any() and int(row[4]).bit_count() == 1 for row in masks]
    block = tuple((i, int(row[4]).bit_length() - 1) for i, row in enumerate(masks) if alone[i])
    # One line per unknown: the address bits it flips, and which unknowns' sum that is.
    unknowns = [(axis, j) for axis, bits in enumerate((*block_log2, 8)) for j in range(bits)]
    lines: list[list[int]] = []
    for axis, j in unknowns:
        flips = sum(1 << i for i in range(equation.bits) if int(masks[i][axis]) >> j & 1)
        if flips:
            lines.append([flips, 1 << len(lines), axis, j])
    pivots: list[int] = []
    for i, line in enumerate(lines):
        # A row without address bits has no pivot: it follows from the others, and its unknown may be 0.
        pivot = line[0] & -line[0]
        pivots.append(pivot)
        for k, other in enumerate(lines):
            if k != i and other[0] & pivot:
                other[0] ^= line[0]
                other[1] ^= line[1]
    # Address bits of pivots name reduced lines; unknown n is the xor of those lines whose sum holds it.
    local = [
        (axis, j, sum(pivot for pivot, line in zip(pivots, lines, strict=True) if line[1] >> n & 1))
        for n, (_, _, axis, j) in enumerate(lines)
    ]
    return _Inverse(block, tuple(local))


# Below this many addresses NumPy is faster than the tables and the first call of a compiled kernel.
_SMALL = 4096
