"""Constant evaluation of NIR ALU opcodes, against Python integers and NumPy floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyaco
from pyaco._core.nir import evaluate

TABLE = Path(pyaco.__file__).parent / "nir" / "data" / "alu.txt"
ROWS = [line.split("#")[0].split() for line in TABLE.read_text().splitlines()]
NUMBERS = {row[0]: number for number, row in enumerate(row for row in ROWS if row)}
SIZES = (8, 16, 32, 64)
FLOATS = {16: numpy.float16, 32: numpy.float32, 64: numpy.float64}
INTEGERS = {16: numpy.uint16, 32: numpy.uint32, 64: numpy.uint64}


def value(name: str, bits: int, *operands: int, result_bits: int | None = None) -> int:
    """Evaluate a scalar instruction."""
    result = evaluate.alu(NUMBERS[name], bits, result_bits or bits, 1, [[operand] for operand in operands])
    assert result is not None, name
    return result[0]


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def clamped(x: int, low: int, high: int) -> int:
    return max(low, min(high, x))


BINARY: dict[str, Callable[[int, int, int], int]] = {
    "iadd": lambda a, b, n: a + b,
    "isub": lambda a, b, n: a - b,
    "imul": lambda a, b, n: a * b,
    "iand": lambda a, b, n: a & b,
    "ior": lambda a, b, n: a | b,
    "ixor": lambda a, b, n: a ^ b,
    "imin": lambda a, b, n: min(signed(a, n), signed(b, n)),
    "imax": lambda a, b, n: max(signed(a, n), signed(b, n)),
    "umin": lambda a, b, n: min(a, b),
    "umax": lambda a, b, n: max(a, b),
    "udiv": lambda a, b, n: a // b if b else 0,
    "umod": lambda a, b, n: a % b if b else 0,
    "idiv": lambda a, b, n: truncated(signed(a, n), signed(b, n)) if b else 0,
    "irem": lambda a, b, n: signed(a, n) - signed(b, n) * truncated(signed(a, n), signed(b, n)) if b else 0,
    "imod": lambda a, b, n: signed(a, n) % signed(b, n) if b else 0,
    "umul_high": lambda a, b, n: a * b >> n,
    "imul_high": lambda a, b, n: signed(a, n) * signed(b, n) >> n,
    "uadd_sat": lambda a, b, n: min(a + b, (1 << n) - 1),
    "usub_sat": lambda a, b, n: max(a - b, 0),
    "iadd_sat": lambda a, b, n: clamped(signed(a, n) + signed(b, n), -(1 << (n - 1)), (1 << (n - 1)) - 1),
    "isub_sat": lambda a, b, n: clamped(signed(a, n) - signed(b, n), -(1 << (n - 1)), (1 << (n - 1)) - 1),
    "uadd_carry": lambda a, b, n: (a + b) >> n,
    "usub_borrow": lambda a, b, n: int(a < b),
    "uhadd": lambda a, b, n: (a + b) >> 1,
    "urhadd": lambda a, b, n: (a + b + 1) >> 1,
    "ihadd": lambda a, b, n: (signed(a, n) + signed(b, n)) >> 1,
    "irhadd": lambda a, b, n: (signed(a, n) + signed(b, n) + 1) >> 1,
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "ineg": lambda a, n: -a,
    "inot": lambda a, n: ~a,
    "iabs": lambda a, n: abs(signed(a, n)),
    "isign": lambda a, n: (signed(a, n) > 0) - (signed(a, n) < 0),
    "bitfield_reverse": lambda a, n: int(format(a, f"0{n}b")[::-1], 2),
}
COUNTS: dict[str, Callable[[int, int], int]] = {
    "bit_count": lambda a, n: a.bit_count(),
    "ufind_msb": lambda a, n: a.bit_length() - 1,
    "find_lsb": lambda a, n: (a & -a).bit_length() - 1,
    "ifind_msb": lambda a, n: (a if signed(a, n) >= 0 else ~a & ((1 << n) - 1)).bit_length() - 1,
}


@given(st.sampled_from(sorted(BINARY)), st.sampled_from(SIZES), st.data())
def test_integer_operations(name: str, bits: int, data: st.DataObject) -> None:
    numbers = st.integers(0, (1 << bits) - 1) | st.sampled_from([0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1])
    a, b = data.draw(numbers), data.draw(numbers)
    assert value(name, bits, a, b) == BINARY[name](a, b, bits) & ((1 << bits) - 1)


@given(st.sampled_from(SIZES), st.data())
def test_unary_integer_operations(bits: int, data: st.DataObject) -> None:
    a = data.draw(st.integers(0, (1 << bits) - 1))
    for name, model in UNARY.items():
        assert value(name, bits, a) == model(a, bits) & ((1 << bits) - 1), name
    for name, model in COUNTS.items():
        assert value(name, bits, a, result_bits=32) == model(a, bits) & 0xFFFFFFFF, name


@given(st.sampled_from(SIZES), st.data())
def test_shifts_and_comparisons(bits: int, data: st.DataObject) -> None:
    a, b = (data.draw(st.integers(0, (1 << bits) - 1)) for _ in range(2))
    shift = data.draw(st.integers(0, 200))
    mask = (1 << bits) - 1
    assert value("ishl", bits, a, shift) == a << shift % bits & mask
    assert value("ushr", bits, a, shift) == a >> shift % bits
    assert value("ishr", bits, a, shift) == signed(a, bits) >> shift % bits & mask
    assert value("ilt", bits, a, b, result_bits=1) == (signed(a, bits) < signed(b, bits))
    assert value("uge", bits, a, b, result_bits=1) == (a >= b)


def to_bits(x: float, bits: int) -> int:
    return int(FLOATS[bits](x).view(INTEGERS[bits]))


def from_bits(x: int, bits: int) -> numpy.floating:
    return INTEGERS[bits](x).view(FLOATS[bits])


@given(st.sampled_from((16, 32, 64)), st.data())
def test_float_operations_round_as_ieee(bits: int, data: st.DataObject) -> None:
    a, b = (from_bits(data.draw(st.integers(0, (1 << bits) - 1)), bits) for _ in range(2))
    with numpy.errstate(all="ignore"):
        models = {"fadd": a + b, "fmul": a * b, "fdiv": a / b, "fsqrt": numpy.sqrt(a)}
    for name, expected in models.items():
        operands = [to_bits(x, bits) for x in ((a, b) if name != "fsqrt" else (a,))]
        got = from_bits(value(name, bits, *operands), bits)
        assert (math.isnan(got) and math.isnan(expected)) or got.tobytes() == FLOATS[bits](expected).tobytes(), name


@given(st.integers(0, 0xFFFFFFFF))
def test_half_conversions(pattern: int) -> None:
    x = from_bits(pattern, 32)
    with numpy.errstate(all="ignore"):
        expected = numpy.float16(x)
    got = from_bits(value("f2f16", 32, pattern, result_bits=16), 16)
    assert (math.isnan(got) and math.isnan(expected)) or got.tobytes() == expected.tobytes()
    zero = from_bits(value("f2f16_rtz", 32, pattern, result_bits=16), 16)
    assert math.isnan(x) or abs(float(zero)) <= abs(float(x))


@pytest.mark.parametrize("pattern", range(0, 0x10000, 257))
def test_half_to_float_is_exact(pattern: int) -> None:
    got = from_bits(value("f2f32", 16, pattern, result_bits=32), 32)
    expected = numpy.float32(from_bits(pattern, 16))
    assert (math.isnan(got) and math.isnan(expected)) or got == expected


def test_conversions_to_integers_saturate() -> None:
    assert value("f2i32", 32, to_bits(3e9, 32)) == 0x7FFFFFFF
    assert value("f2u32", 32, to_bits(-1.0, 32)) == 0
    assert value("f2i8", 32, to_bits(-1000.0, 32), result_bits=8) == 0x80
    assert value("f2u64", 32, to_bits(math.nan, 32), result_bits=64) == 0


def test_derivatives_have_no_constant_value() -> None:
    assert evaluate.alu(NUMBERS["fddx"], 32, 32, 1, [[0]]) is None
