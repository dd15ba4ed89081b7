"""Address equations of GFX9 blocks, from their rules: a small block, Morton order above it, pipe and bank bits folded onto it.

Source of the rules: AMD's addrlib (``gfx9addrlib.cpp``, ``addrlib2.cpp``), read for facts.
"""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib.equation import CHANNELS

__all__ = ["offset_bits", "pack"]

Terms = frozenset[str]

# Order of coordinate bits inside the smallest block, by log2 of the element's bytes.
_MICRO_2D = {
    "S": ("x0 x1 x2 x3 y0 y1 y2 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 y1 y2 x2", "x0 y0 y1 x1 x2", "y0 y1 x0 x1"),
    "D": ("x0 x1 x2 y1 y0 y2 x3 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 x2 y1 y2", "x0 y0 x1 x2 y1", "x0 y0 x1 y1"),
    "R": ("y0 y1 y2 x1 x0 x2 x3 y3", "y0 y1 y2 x0 x1 x2 x3", "y0 y1 x0 y2 x1 x2", "y0 x0 y1 x1 x2", None),
}
_MICRO_3D = {
    "S": (
        "x0 x1 x2 x3 y0 y1 z0 z1 z2 y2", "x0 x1 x2 y0 y1 z0 z1 z2 y2", "x0 x1 y0 y1 z0 z1 y2 x2", "x0 y0 y1 z0 z1 x1 x2", "y0 y1 z0 z1 x0 x1"),
    "Z": (
        "x0 y0 x1 y1 z0 z1 x2 z2 y2 x3", "x0 y0 x1 y1 z0 z1 z2 y2 x2", "x0 y0 x1 z0 y1 z1 y2 x2", "x0 y0 z0 x1 z1 y1 x2", "x0 y0 z0 z1 y1 x1"),
}


def _morton(bits: list[str], order: str, length: int) -> list[str]:
    """Append the next unused bits of the channels in `order`, in turn, up to `length` bits."""
    following = {c: count(sum(b[0] == c for b in bits)) for c in order}
    for i in range(length - len(bits)):
        channel = order[i % len(order)]
        bits.append(f"{channel}{next(following[channel])}")
    return bits


def _z_order(element_log2: int, length: int) -> list[str]:
    # Above 64 bytes elements of 1 and 4 bytes go on with y; the others just alternate.
    low = _morton([], "xy", 6 - element_log2) if element_log2 in (0, 2) else []
    return _morton(low, "yx" if low else "xy", length)


def _fold(bits: list[Terms], start: int, number: int, thick: bool) -> None:
    """Xor the `number` bits at `start` with the mirrored bits that follow them (two for each bit in a thick block)."""
    original = list(bits)
    for i in range(number):
        mirrored = number - 1 - i
        if thick:
            bits[start + i] ^= original[start + number + 2 * mirrored] ^ original[start + number + 2 * mirrored + 1]
        else:
            bits[start + i] ^= original[start + number + mirrored]


def offset_bits(
    kind: str, thick: bool, block_log2: int, element_log2: int, samples_log2: int, pipe_bits: int, bank_bits: int, prt: bool,
) -> list[Terms] | None:
    """Return the terms of each offset bit of a block, or None where the hardware has no such block.

    Parameters
    ----------
    kind : str
        ``Z``, ``S``, ``D`` or ``R``.
    thick : bool
        Whether the block has depth.
    block_log2, element_log2, samples_log2 : int
        log2 of bytes of the block, bytes of the element, samples.
    pipe_bits, bank_bits : int
        Bits that are folded; both 0 for modes without xor.
    prt : bool
        Whether the mode is a T mode: nothing from outside the block reaches the offset.
    """
    length = 40
    size = block_log2 - element_log2
    if thick:
        low = _MICRO_3D[kind][element_log2].split()
        words = _morton(low, "zyx", length)
    elif kind == "Z":
        if element_log2 == 4:
            return None
        words = [f"s{i}" for i in range(samples_log2)] + _z_order(element_log2, length)
    else:
        micro = _MICRO_2D[kind][element_log2]
        if micro is None:
            return None
        words = _morton(micro.split(), "yx", length)
    bits: list[Terms] = [frozenset()] * element_log2 + [frozenset((w,)) for w in words]
    folded = pipe_bits + bank_bits > 0
    if kind != "Z" and samples_log2:
        first = block_log2 - samples_log2
        for i in range(samples_log2):
            bits[first + i] = (bits[first + i] if folded and not prt else frozenset()) ^ {f"s{i}"}
        if not folded or prt:
            bits[block_log2:] = [frozenset()] * (len(bits) - block_log2)
    if prt:
        bits[block_log2:] = [frozenset()] * (len(bits) - block_log2)
    if folded:
        _fold(bits, 8, pipe_bits, thick)
        _fold(bits, 8 + pipe_bits, bank_bits, thick)
        if not prt and not thick and samples_log2 == 0:
            for i in range(pipe_bits):
                bits[8 + i] ^= {f"z{pipe_bits - 1 - i}"}
            for i in range(bank_bits):
                bits[8 + pipe_bits + i] ^= {f"z{pipe_bits + bank_bits - 1 - i}"}
    return bits[: element_log2 + size]


def pack(bits: list[Terms]) -> NDArray[np.uint32]:
    """Return the masks of `Equation` for a list of terms per bit."""
    masks = np.zeros((len(bits), len(CHANNELS)), np.uint32)
    for row, terms in zip(masks, bits, strict=True):
        for term in terms:
            row[CHANNELS.index(term[0])] ^= np.uint32(1 << int(term[1:]))
    return masks
