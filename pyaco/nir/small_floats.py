"""Elements of cooperative matrices as numbers and back, for the NIR interpreter (types: ``_core/ir/cooperative_matrix.pxd``)."""

from __future__ import annotations

from typing import Any

import numpy as np

F16, BF16, E4M3, E5M2, F32, I8, I32 = range(7)
_BYTES = np.arange(256, dtype=np.int64)


def _float8(mantissa: int, bias: int) -> Any:
    """All numbers of an 8-bit float, by their bits."""
    exponent, fraction = _BYTES >> mantissa & (0x7F >> mantissa), _BYTES & ((1 << mantissa) - 1)
    value = np.where(
        exponent == 0,
        np.ldexp(fraction.astype(float), 1 - bias - mantissa),
        np.ldexp(1 + np.ldexp(fraction.astype(float), -mantissa), exponent - bias),
    )
    return np.where(_BYTES & 0x80, -value, value)


_E4M3, _E5M2 = _float8(3, 7), _float8(2, 15)
_E4M3[[0x7F, 0xFF]] = np.nan
_E5M2[[0x7C, 0xFC]] = np.inf, -np.inf
_E5M2[[0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]] = np.nan


def matrix_elements(words: Any, kind: int) -> Any:
    """Return the elements in 32-bit words, those of the lowest bits first."""
    bits = {F32: 32, I32: 32, F16: 16, BF16: 16}.get(kind, 8)
    parts = [words >> shift & ((1 << bits) - 1) for shift in range(0, 32, bits)]
    return np.stack(parts, axis=1).reshape(-1, words.shape[1]).astype(f"u{bits // 8}")


def matrix_numbers(bits: Any, kind: int, signed: bool) -> Any:
    """Return elements as doubles, or integers as Python's numbers of 64 bits."""
    if kind == F16:
        return bits.view(np.float16).astype(np.float64)
    if kind == BF16:
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind in (E4M3, E5M2):
        return (_E4M3 if kind == E4M3 else _E5M2)[bits.astype(np.int64)]
    if kind == F32:
        return bits.view(np.float32).astype(np.float64)
    return bits.view(bits.dtype.str.replace("u", "i")).astype(np.int64) if signed else bits.astype(np.int64)


def matrix_bits(numbers: Any, kind: int, signed: bool, saturating: bool) -> Any:
    """Return the bits of a result's elements."""
    if kind == F16:
        return numbers.astype(np.float16).view(np.uint16)
    if kind == BF16:
        word = numbers.astype(np.float32).view(np.uint32)
        return np.where(np.isnan(numbers), word >> 16 | 0x40, (word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16)
    if kind == F32:
        return numbers.astype(np.float32).view(np.uint32)
    if saturating:
        low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
        numbers = np.clip(numbers, low, high)
    return (numbers & 0xFFFFFFFF).astype(np.uint32)
