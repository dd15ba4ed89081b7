"""Addresses in metadata surfaces (DCC, HTILE, CMASK): the equation as data, and batched evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.equation import parity
from pyaco.errors import InputError

__all__ = ["AXES", "MetadataEquation", "MetadataLayout"]

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

    def bit_position(self, x: ArrayLike, y: ArrayLike, z: ArrayLike = 0, sample: ArrayLike = 0) -> NDArray[np.uint64]:
        """Return the first bit of the element in its byte: 0 or 4 (only CMASK has elements smaller than a byte)."""
        return (self.nibbles(x, y, z, sample) & np.uint64(1)) << np.uint64(2)

    def nibbles(self, x: ArrayLike, y: ArrayLike, z: ArrayLike = 0, sample: ArrayLike = 0, pipe_xor: int = 0) -> NDArray[np.uint64]:
        """Return addresses in nibbles: twice the byte address, plus 1 for the upper half of a byte."""
        flip = (pipe_xor & self.pipe_xor_mask) << (self.interleave_log2 + 1)
        coordinates = [np.asarray(c) for c in (x, y, z, sample)]
        for name, values in zip(AXES, coordinates, strict=False):
            if values.size and (values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= 1 << 32):
                raise InputError(f"coordinates are integers of 32 bits; {name} has others")
        columns = np.broadcast_arrays(*coordinates)
        flat = [np.ascontiguousarray(c.ravel(), np.uint32) for c in columns]
        shape = np.array([*self.block_log2, self.pitch_blocks, self.slice_blocks], np.uint32)
        out = np.empty(flat[0].size, np.uint64)
        if out.size < _SMALL:
            xs, ys, zs, samples = flat
            m = (zs >> shape[2]) * shape[4] + (ys >> shape[1]) * shape[3] + (xs >> shape[0])
            out[:] = self.equation.nibble(xs, ys, zs, samples, m) ^ np.uint64(flip)
        else:
            _kernel()(*flat, self.equation.masks, self.equation.block_bit, shape, flip, out)
        return out.reshape(columns[0].shape)


# Below this many addresses NumPy is faster than the first call of a compiled kernel.
_SMALL = 4096


@cache
def _kernel() -> Any:
    from numba import njit, uint32, uint64

    @njit(cache=True, nogil=True)
    def addresses(xs, ys, zs, samples, masks, block_bit, shape, flip, out):
        bits = masks.shape[0]
        for i in range(out.size):
            x, y, z, s = xs[i], ys[i], zs[i], samples[i]
            m = uint32((z >> shape[2]) * shape[4] + (y >> shape[1]) * shape[3] + (x >> shape[0]))
            nibble = uint64(m >> block_bit) << bits
            for b in range(bits):
                v = (x & masks[b, 0]) ^ (y & masks[b, 1]) ^ (z & masks[b, 2]) ^ (s & masks[b, 3]) ^ (m & masks[b, 4])
                v ^= v >> 16
                v ^= v >> 8
                v ^= v >> 4
                nibble |= uint64((uint32(0x6996) >> (v & 15)) & 1) << uint64(b)
            out[i] = nibble ^ uint64(flip)

    return addresses
