"""Floats for the models of instructions: exact rationals, and one rounding to a format by any rounding mode."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

#: precision in bits, least normal exponent, largest exponent
FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
SIZES = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
NEAREST, UP, DOWN, ZERO = range(4)
Number = float | Fraction


def decode(kind: str, bits: int, flush: bool = False) -> float:
    """The value of a float's bits; with `flush` a denormal is a zero of its sign."""
    precision, least, _ = FORMATS[kind]
    size = SIZES[kind]
    fraction = bits & (1 << precision - 1) - 1
    exponent = bits >> precision - 1 & (1 << size - precision) - 1
    sign = -1.0 if bits >> size - 1 & 1 else 1.0
    if exponent == (1 << size - precision) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * (0.0 if flush else math.ldexp(fraction, least - precision + 1))
    return sign * math.ldexp(fraction + (1 << precision - 1), exponent - 1 + least - precision + 1)


def magnitude(kind: str, value: Fraction, rounding: int, negative: bool) -> int:
    """Bits of a positive value after one rounding."""
    precision, least, largest = FORMATS[kind]
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    unit = max(exponent, least) - precision + 1
    scaled = value / Fraction(2) ** unit
    whole, rest = scaled.numerator // scaled.denominator, scaled - scaled.numerator // scaled.denominator
    if rounding == NEAREST:
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)
    else:
        up = rest != 0 and rounding == (DOWN if negative else UP)
    whole += bool(up)
    bits = whole + ((unit + precision - 1 - least) << precision - 1) if whole >= 1 << precision - 1 else whole
    infinity = (largest - least + 2) << precision - 1
    if bits >= infinity:
        towards = rounding == NEAREST or rounding == (DOWN if negative else UP)
        return infinity if towards else infinity - 1
    return bits


def encode(kind: str, value: Number, rounding: int = NEAREST, flush: bool = False) -> int:
    """Bits of a value in a format; a NaN is the default NaN."""
    precision, _, _ = FORMATS[kind]
    size = SIZES[kind]
    ones = (1 << size - precision) - 1 << precision - 1
    if isinstance(value, float):
        if math.isnan(value):
            return ones | 1 << precision - 2
        if math.isinf(value) or value == 0:
            return (math.copysign(1, value) < 0) << size - 1 | (ones if value else 0)
        value = Fraction(value)
    if value == 0:
        return 0
    bits = magnitude(kind, abs(value), rounding, value < 0)
    if flush and bits < 1 << precision - 1:
        bits = 0
    return (value < 0) << size - 1 | bits


def is_nan(kind: str, bits: int) -> bool:
    return math.isnan(decode(kind, bits))


def total(terms: list[tuple[float, float]], rounding: int = NEAREST) -> Number:
    """The exact sum of products, with IEEE's infinities, NaNs and signs of zero."""
    products: list[Number] = []
    for x, y in terms:
        if math.isnan(x) or math.isnan(y) or (math.isinf(x) and y == 0) or (x == 0 and math.isinf(y)):
            return math.nan
        sign = math.copysign(1, x) * math.copysign(1, y)
        if math.isinf(x) or math.isinf(y):
            products.append(sign * math.inf)
        elif x == 0 or y == 0:
            products.append(sign * 0.0)
        else:
            products.append(Fraction(x) * Fraction(y))
    infinities = {product for product in products if isinstance(product, float) and product}
    if infinities:
        return math.nan if len(infinities) > 1 else infinities.pop()
    exact = sum((Fraction(product) for product in products), Fraction(0))
    if exact:
        return exact
    signs = {math.copysign(1, product) for product in products if isinstance(product, float)}
    signs |= {1.0 if product > 0 else -1.0 for product in products if isinstance(product, Fraction)}
    if len(signs) == 1 and all(isinstance(product, float) for product in products):
        return signs.pop() * 0.0
    return -0.0 if rounding == DOWN else 0.0


def single(value: Number, rounding: int = NEAREST) -> float:
    """Rounded to single."""
    return decode("f32", encode("f32", value, rounding))


def of_double(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]
