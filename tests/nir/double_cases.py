"""Doubles to test arithmetic with: near the edges of formats, near ties, near each other; and what IEEE arithmetic makes of them."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from dataclasses import dataclass
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


# ------------------------------------------------------------------------------------------------------------- operations
@dataclass(frozen=True)
class Operation:
    """An opcode on doubles.

    Its operands are ``d`` doubles, ``f`` singles, ``h`` halves, ``p`` powers of two, ``b`` booleans, or integers of so many bits; its result has so
    many bits; `expected` is what IEEE arithmetic makes of the operands' bits.
    """

    name: str
    operands: tuple[str, ...]
    result: int
    expected: Callable[..., Any]

    def inputs(self, count: int, random: np.random.Generator) -> list[NDArray[Any]]:
        """Random operands."""
        made: list[NDArray[Any]] = list(pairs(count, random)) if self.operands[:2] == ("d", "d") else []
        made += [_operand(kind, count, random) for kind in self.operands[len(made) :]]
        if self.name == "ffma":
            # A third of the addends nearly cancel the product, or are tiny beside it.
            with np.errstate(all="ignore"):
                product = -made[0].view(np.float64) * made[1].view(np.float64)
            near = product.view(np.uint64) ^ (np.uint64(1) << random.integers(0, 60, count).astype(np.uint64))
            made[2] = np.where(random.random(count) < 0.33, near, made[2])
        return made

    def sizes(self) -> list[int]:
        """Bits of the operands."""
        return [{"d": 64, "f": 32, "h": 16, "p": 32, "b": 32}.get(kind) or int(kind) for kind in self.operands]


def _operand(kind: str, count: int, random: np.random.Generator) -> NDArray[Any]:
    if kind == "d":
        return doubles(count, random)
    if kind == "p":
        return random.integers(-2300, 2300, count).astype(np.int32).view(np.uint32)
    if kind == "b":
        return random.integers(0, 2, count).astype(np.uint32)
    bits = {"f": 32, "h": 16}.get(kind) or int(kind)
    words = random.integers(0, 1 << 64, count, np.uint64, endpoint=False) >> np.uint64(64 - bits)
    if kind not in "fh":
        # Integers of any length, with runs of ones, which round up to the next power of two.
        words >>= (random.integers(0, bits, count) * random.integers(0, 2, count)).astype(np.uint64)
        ones = np.uint64((1 << bits) - 1)
        words = np.where(random.random(count) < 0.2, ones ^ (ones & words), words)
    return words.astype({8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])


def _compared(function: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    def run(x: Bits, y: Bits) -> Any:
        with np.errstate(all="ignore"):
            return function(x.view(np.float64), y.view(np.float64), is_nan(x) | is_nan(y)).astype(np.uint32)

    return run


def _sign(x: Bits) -> Bits:
    one = np.uint64(0x3FF0000000000000)
    return np.where(is_nan(x), np.uint64(0), np.where(x & ~SIGN == 0, x, (x & SIGN) | one))


def _saturated(x: Bits) -> Bits:
    one = np.uint64(0x3FF0000000000000)
    return np.where((x & SIGN != 0) | is_nan(x), np.uint64(0), np.minimum(x, one))


def _median(x: Bits, y: Bits, z: Bits) -> Bits:
    low, high = number_of(x, y, True), number_of(x, y, False)
    return number_of(low, number_of(high, z, True), False)


def _to_integer(bits: int, is_signed: bool) -> Callable[[Bits], Any]:
    def run(x: Bits) -> Any:
        a = np.trunc(np.where(is_nan(x), 0, x.view(np.float64)))
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
        inside = (a >= float(low)) & (a < float(high + 1))
        kind = np.int64 if is_signed else np.uint64
        whole = np.where(inside, a, 0).astype(kind)
        whole = np.where(inside, whole, np.where(a < 0, kind(low), kind(high)))
        return whole.view(np.uint64).astype({8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])

    return run


def _to_half(x: Bits) -> Any:
    with np.errstate(all="ignore"):
        half = x.view(np.float64).astype(np.float16).view(np.uint16)
    payload = (x >> np.uint64(48)) & np.uint64(0x8000) | np.uint64(0x7E00) | (x >> np.uint64(42)) & np.uint64(0x3FF)
    return np.where(is_nan(x), payload.astype(np.uint16), half)


def _to_half_toward_zero(x: Bits) -> Any:
    half = _to_half(x)
    with np.errstate(all="ignore"):
        farther = np.abs(half.view(np.float16).astype(np.float64)) > np.abs(x.view(np.float64))
    return np.where(farther, half - np.uint16(1), half)


def _to_single(x: Bits) -> Any:
    with np.errstate(all="ignore"):
        single = x.view(np.float64).astype(np.float32).view(np.uint32)
    return np.where(is_nan(x), single | np.uint32(1 << 22), single)


def _from_narrow(kind: type, quiet: bool = True) -> Callable[[NDArray[Any]], Any]:
    def run(x: NDArray[Any]) -> Any:
        with np.errstate(all="ignore"):
            wide = x.view(kind).astype(np.float64).view(np.uint64)
        return np.where(is_nan(wide), wide | QUIET, wide) if quiet else wide

    return run


def _fused(x: Bits, y: Bits, z: Bits) -> Bits:
    from numba import njit

    global _fma_of_arrays
    if _fma_of_arrays is None:
        library = ctypes.CDLL(ctypes.util.find_library("m"))
        fma = library.fma
        fma.restype, fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3

        @njit
        def run(a: Any, b: Any, c: Any, out: Any) -> None:
            for i in range(len(a)):
                out[i] = fma(a[i], b[i], c[i])

        _fma_of_arrays = run
    out = np.empty(len(x))
    _fma_of_arrays(x.view(np.float64), y.view(np.float64), z.view(np.float64), out)
    return with_nans(out.view(np.uint64), x, y, z)


_fma_of_arrays: Any = None


def _frexp(part: int) -> Callable[[Bits], Any]:
    def run(x: Bits) -> Any:
        a = x.view(np.float64)
        own = ~np.isfinite(a)
        fraction, exponent = np.frexp(np.where(own, 0, a))
        if part:
            return np.where(own, 0, exponent).astype(np.int32).view(np.uint32)
        return with_nans(np.where(own, x, np.ascontiguousarray(fraction).view(np.uint64)), x)

    return run


def _remainder(rounding: Callable[..., Any]) -> Callable[..., Bits]:
    """x - y * round(x / y), each operation rounded; which NaN it is follows from each operation in turn."""
    divide, multiply = ieee(lambda a, b: a / b), ieee(lambda a, b: a * b)
    return lambda x, y: _difference(x, multiply(y, ieee(rounding)(divide(x, y))))


def _difference(x: Bits, y: Bits) -> Bits:
    """A sum of the negated operand: where that is a NaN, its sign is negated too."""
    return ieee(lambda a, b: a + b)(x, y ^ SIGN)


def operations() -> list[Operation]:
    """Every operation on doubles that the compiler takes."""
    one, two, three = ("d",), ("d", "d"), ("d", "d", "d")
    reciprocal = ieee(lambda a: 1 / a)
    found = [
        Operation("fadd", two, 64, ieee(lambda a, b: a + b)), Operation("fsub", two, 64, _difference),
        Operation("fmul", two, 64, ieee(lambda a, b: a * b)), Operation("fdiv", two, 64, ieee(lambda a, b: a / b)),
        Operation("ffma", three, 64, _fused), Operation("fsqrt", one, 64, ieee(np.sqrt)), Operation("frcp", one, 64, reciprocal),
        Operation("frsq", one, 64, lambda x: with_nans(reciprocal(ieee(np.sqrt)(x)), x)),
        Operation("fmin", two, 64, lambda x, y: number_of(x, y, True)), Operation("fmax", two, 64, lambda x, y: number_of(x, y, False)),
        Operation("fmin3", three, 64, lambda x, y, z: number_of(x, number_of(y, z, True), True)),
        Operation("fmax3", three, 64, lambda x, y, z: number_of(x, number_of(y, z, False), False)),
        Operation("fmed3", three, 64, _median), Operation("fneg", one, 64, lambda x: x ^ SIGN), Operation("fabs", one, 64, lambda x: x & ~SIGN),
        Operation("fsign", one, 64, _sign), Operation("fsat", one, 64, _saturated), Operation("ftrunc", one, 64, ieee(np.trunc)),
        Operation("ffloor", one, 64, ieee(np.floor)), Operation("fceil", one, 64, ieee(np.ceil)),
        Operation("fround_even", one, 64, ieee(np.rint)), Operation("ffract", one, 64, ieee(lambda a: a - np.floor(a))),
        Operation("fmod", two, 64, _remainder(np.floor)), Operation("frem", two, 64, _remainder(np.trunc)),
        Operation("ldexp", ("d", "p"), 64, lambda x, n: with_nans(ieee(lambda a: np.ldexp(a, n.view(np.int32)))(x), x)),
        Operation("frexp_sig", one, 64, _frexp(0)), Operation("frexp_exp", one, 32, _frexp(1)),
        Operation("flt", two, 32, _compared(lambda a, b, u: a < b)), Operation("fge", two, 32, _compared(lambda a, b, u: a >= b)),
        Operation("feq", two, 32, _compared(lambda a, b, u: a == b)), Operation("fneu", two, 32, _compared(lambda a, b, u: a != b)),
        Operation("fltu", two, 32, _compared(lambda a, b, u: u | (a < b))), Operation("fgeu", two, 32, _compared(lambda a, b, u: u | (a >= b))),
        Operation("fequ", two, 32, _compared(lambda a, b, u: u | (a == b))), Operation("fneo", two, 32, _compared(lambda a, b, u: ~u & (a != b))),
        Operation("ford", two, 32, _compared(lambda a, b, u: ~u)), Operation("funord", two, 32, _compared(lambda a, b, u: u)),
        Operation("f2f32", one, 32, _to_single), Operation("f2f16", one, 16, _to_half), Operation("f2f16_rtne", one, 16, _to_half),
        Operation("f2f16_rtz", one, 16, _to_half_toward_zero), Operation("f2f64", ("f",), 64, _from_narrow(np.float32)),
        Operation("f2f64", ("h",), 64, _from_narrow(np.float16)),
        Operation("b2f64", ("b",), 64, lambda x: (x != 0).astype(np.float64).view(np.uint64)),
    ]  # fmt: skip
    for bits in (8, 16, 32, 64):
        signed, unsigned = getattr(np, f"int{bits}"), getattr(np, f"uint{bits}")
        found += [Operation(f"f2i{bits}", one, bits, _to_integer(bits, True)), Operation(f"f2u{bits}", one, bits, _to_integer(bits, False)),
                  Operation("i2f64", (str(bits),), 64, _from_narrow(signed, False)),
                  Operation("u2f64", (str(bits),), 64, _from_narrow(unsigned, False))]  # fmt: skip
    return found
