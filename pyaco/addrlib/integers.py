"""Small integer functions of what is written in plain Python; kernels have theirs in `arithmetic`."""

from __future__ import annotations

__all__ = ["align", "log2"]


def align(value: int, to: int) -> int:
    """Round `value` up to a multiple of `to`, a power of two."""
    return (value + to - 1) & -to


def log2(value: int) -> int:
    """Return log2 of a power of two."""
    return value.bit_length() - 1
