"""Mip levels and mip tails, as GFX9 and later have them in common."""

from __future__ import annotations

from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import MAX_MIPS, Record, Table

__all__ = ["clear_layout", "deinterleave", "mips_in_tail", "set_mip"]


@kernel
def clear_layout(r: Table, mips: Table, levels: int) -> None:
    """Clear the result and the levels for the next surface: see `pyaco.addrlib.records.zeroed`."""
    r[0] = r[1]
    for level in range(levels):
        mips[level] = mips[MAX_MIPS]


@kernel
def set_mip(mip: Record, pitch: int, height: int, depth: int, offset: int, macro_block_offset: int) -> None:
    """Fill in one level outside the tail."""
    mip.pitch = pitch
    mip.height = height
    mip.depth = depth
    mip.offset = offset
    mip.macro_block_offset = macro_block_offset


@kernel
def mips_in_tail(block_log2: int, thick: bool) -> int:
    """Return how many levels a tail holds."""
    bits = block_log2 - ((block_log2 - 8) // 3 if thick else 0)
    return 1 + (1 << (bits - 9)) if bits <= 11 else bits - 4


@kernel
def deinterleave(value: int) -> int:
    """Return every second bit, from bit 0 up (6 bits)."""
    result = 0
    for i in range(6):
        result |= ((value >> (2 * i)) & 1) << i
    return result
