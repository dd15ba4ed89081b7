"""Doubles to test arithmetic with: near the edges of formats, near ties, near each other; and what IEEE arithmetic makes of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]

#: Zeros, denormals, the least and largest normals, numbers near one, near two to the powers of integer formats, infinities, NaNs.
EDGES = np.array([
    0, 1, 2, 3, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x0010000000000001, 0x0008000000000000, 0x001FFFFFFFFFFFFF, 0x0020000000000000,
    0x3FF0000000000000, 0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF, 0x4000000000000000, 0x3FE0000000000000, 0x3FE0000000000001,
    0x3FDFFFFFFFFFFFFF, 0x3FF8000000000000, 0x4004000000000000, 0x400C000000000000, 0x4008000000000000, 0x3FD5555555555555,
    0x41DFFFFFFFC00000, 0x41E0000000000000, 0x41EFFFFFFFE00000, 0x41F0000000000000, 0x43DFFFFFFFFFFFFF, 0x43E0000000000000,
    0x43EFFFFFFFFFFFFF, 0x43F0000000000000, 0x4330000000000000, 0x432FFFFFFFFFFFFF, 0x4320000000000001, 0x4340000000000000,
    0x3F10000000000000, 0x3F0FFFFFFFFFFFFF, 0x40EFFC0000000000, 0x40EFFE0000000000, 0x3810000000000000, 0x380FFFFFFFFFFFFF,
    0x36A0000000000000, 0x3690000000000000, 0x3690000000000001, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x3E70000000000000,
    0x7FEFFFFFFFFFFFFF, 0x7FE0000000000000, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x7FF8123456789ABC,
], np.uint64)  # fmt: skip

SIGN = np.uint64(1 << 63)
QUIET = np.uint64(1 << 51)
NAN = np.uint64(0x7FF8000000000000)


def doubles(count: int, random: np.random.Generator) -> Bits:
    """Bits of doubles: any bits, few bits, near powers of two, edges, and exponents near that of one, mixed."""
    kinds = random.integers(0, 6, count)
    any_bits = random.integers(0, 1 << 64, count, np.uint64, endpoint=False)
    fraction = any_bits & np.uint64((1 << 52) - 1)
    shift = random.integers(0, 53, count).astype(np.uint64)
    near_one = random.integers(1023 - 60, 1023 + 60, count).astype(np.uint64) << np.uint64(52)
    long_runs = np.where(any_bits & QUIET, fraction >> shift, ~(fraction >> shift)) & np.uint64((1 << 52) - 1)
    few_bits = (fraction >> shift) << shift
    signs = any_bits & SIGN
    result = np.select(
        [kinds == 0, kinds == 1, kinds == 2, kinds == 3, kinds == 4],
        [any_bits, near_one | fraction | signs, near_one | long_runs | signs, (any_bits & ~np.uint64((1 << 52) - 1)) | few_bits,
         EDGES[random.integers(0, len(EDGES), count)] | signs],
        near_one | few_bits | signs,
    )  # fmt: skip
    return np.ascontiguousarray(result, np.uint64)


def pairs(count: int, random: np.random.Generator) -> tuple[Bits, Bits]:
    """Two operands; a quarter of the second ones differ from the first in few places, so that differences cancel."""
    x, y = doubles(count, random), doubles(count, random)
    near = x ^ (np.uint64(1) << random.integers(0, 60, count).astype(np.uint64)) ^ (SIGN * random.integers(0, 2, count).astype(np.uint64))
    return x, np.where(random.random(count) < 0.25, near, y)


def is_nan(x: Bits) -> NDArray[np.bool_]:
    """Which bits are a NaN."""
    return (x & ~SIGN) > np.uint64(0x7FF0000000000000)


def with_nans(result: Bits, *operands: Bits) -> Bits:
    """Where the result is a NaN: the first operand that is one, made quiet, else the default; IEEE arithmetic leaves that open."""
    nan = np.full(result.shape, NAN)
    for operand in reversed(operands):
        nan = np.where(is_nan(operand), operand | QUIET, nan)
    return np.where(is_nan(result), nan, result)


def ieee(function: Callable[..., Any]) -> Callable[..., Bits]:
    """An operation of the host's floating point on bits."""

    def run(*operands: Bits) -> Bits:
        with np.errstate(all="ignore"):
            result = np.asarray(function(*(operand.view(np.float64) for operand in operands)), np.float64)
        return with_nans(np.ascontiguousarray(result).view(np.uint64), *operands)

    return run


def number_of(x: Bits, y: Bits, smaller: bool) -> Bits:
    """Minimum or maximum: a number before a NaN, -0 below +0."""
    a, b = x.view(np.float64), y.view(np.float64)
    zeros = (a == 0) & (b == 0)
    sign = (x | y) & SIGN if smaller else x & y & SIGN
    least = np.where(zeros, sign, np.where((a < b) == smaller, x, y))
    least = np.where(a == b, np.where(zeros, sign, x), least)
    return np.where(is_nan(x), np.where(is_nan(y), x | QUIET, y), np.where(is_nan(y), x, least))


def round_fraction(value: Fraction) -> int:
    """Bits of the double nearest to a fraction, by integer arithmetic: ties to even, denormals and infinity as they come."""
    sign = SIGN.item() if value < 0 else 0
    value = abs(value)
    if value == 0:
        return sign
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    unit = max(exponent, -1022) - 52
    scaled = value / Fraction(2) ** unit
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    whole += 2 * rest > scaled.denominator or (2 * rest == scaled.denominator and whole & 1)
    return sign | min((max(unit + 52, -1022) + 1022 << 52) + whole, 0x7FF0000000000000)


def exact_fma(x: Bits, y: Bits, z: Bits) -> Bits:
    """x * y + z with one rounding, in exact rational arithmetic."""
    out = np.empty(x.shape, np.uint64)
    with np.errstate(all="ignore"):
        special = ieee(lambda a, b, c: a * b + c)(x, y, z)
        product = np.ascontiguousarray(x.view(np.float64) * y.view(np.float64))
    finite = np.isfinite(x.view(np.float64)) & np.isfinite(y.view(np.float64)) & np.isfinite(z.view(np.float64))
    for i in range(len(x)):
        if not finite[i]:
            product_infinite = not (np.isfinite(x[i : i + 1].view(np.float64))[0] and np.isfinite(y[i : i + 1].view(np.float64))[0])
            # A finite product may overflow in two roundings, where the infinite addend is the result.
            out[i] = special[i] if product_infinite or is_nan(z[i : i + 1])[0] else z[i]
            continue
        a, b, c = (Fraction(float(v[i : i + 1].view(np.float64)[0])) for v in (x, y, z))
        total = a * b + c
        if total:
            out[i] = round_fraction(total)
        elif a * b:
            out[i] = 0
        else:
            out[i] = np.float64(product[i] + z[i : i + 1].view(np.float64)[0]).view(np.uint64)
    return with_nans(out, x, y, z)
