"""Address equations: each bit of the offset in a block is the xor of some bits of the coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.errors import InputError

__all__ = ["CHANNELS", "Equation", "parity"]

CHANNELS = "xyzs"
"""The coordinates, in the order of the columns of `Equation.masks`: x, y, slice (z), sample (s)."""


def parity(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the xor of the bits of each value."""
    return (np.bitwise_count(values) & 1).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Equation:
    """The xor equation of one (chip, swizzle mode, element size, samples).

    Attributes
    ----------
    masks : numpy.ndarray
        uint32, shape (bits, 4): row i holds the masks of x, y, z, s whose bits are xored to give bit i of the byte offset.
        x is in elements; the lowest rows (bytes of an element) are zero.
    """

    masks: NDArray[np.uint32]

    def __post_init__(self) -> None:
        if self.masks.ndim != 2 or self.masks.shape[1] != len(CHANNELS):
            raise InputError(f"an equation's masks have the shape (bits, {len(CHANNELS)}), not {self.masks.shape}")
        self.masks.setflags(write=False)

    @property
    def bits(self) -> int:
        """log2 of the block size in bytes."""
        return len(self.masks)

    @cached_property
    def basis(self) -> NDArray[np.uint32]:
        """uint32, shape (4, 32): the offset bits that bit j of coordinate c flips. The same equation by columns."""
        weights = (np.uint32(1) << np.arange(self.bits, dtype=np.uint32))[:, None]
        planes = [((self.masks >> np.uint32(j)) & 1) * weights for j in range(32)]
        return np.ascontiguousarray(np.stack([p.sum(axis=0, dtype=np.uint32) for p in planes], axis=1))

    def offset(self, x: ArrayLike, y: ArrayLike, z: ArrayLike = 0, s: ArrayLike = 0) -> NDArray[np.uint32]:
        """Return byte offsets in the block for arrays of coordinates (they broadcast)."""
        coordinates = np.broadcast_arrays(*(np.asarray(c, np.uint32) for c in (x, y, z, s)))
        result = np.zeros(coordinates[0].shape, np.uint32)
        for bit, row in enumerate(self.masks):
            flipped = np.zeros_like(result)
            for mask, coordinate in zip(row, coordinates, strict=True):
                if mask:
                    flipped ^= parity(coordinate & mask)
            result |= flipped << np.uint32(bit)
        return result

    def terms(self, bit: int) -> tuple[str, ...]:
        """Return the coordinate bits of one offset bit, such as ``('x3', 'y4')``."""
        return tuple(f"{channel}{j}" for channel, mask in zip(CHANNELS, self.masks[bit], strict=True) for j in range(32) if int(mask) >> j & 1)

    def text(self) -> str:
        """Return the equation in words, one line per offset bit."""
        return "\n".join(f"bit {bit:2}: {' ^ '.join(self.terms(bit)) or '0'}" for bit in range(self.bits))
