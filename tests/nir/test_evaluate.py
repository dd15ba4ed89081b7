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
from pyaco.nir import interpreter_opcodes

TABLE = Path(pyaco.__file__).parent / "nir" / "data" / "alu.txt"
ROWS = [line.split("#")[0].split() for line in TABLE.read_text().splitlines()]
NUMBERS = {row[0]: number for number, row in enumerate(row for row in ROWS if row)}
SIZES = (8, 16, 32, 64)
FLOATS: dict[int, type[numpy.floating]] = {16: numpy.float16, 32: numpy.float32, 64: numpy.float64}
INTEGERS: dict[int, type[numpy.unsignedinteger]] = {16: numpy.uint16, 32: numpy.uint32, 64: numpy.uint64}


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


def to_bits(x: float | numpy.floating, bits: int) -> int:
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


def test_derivatives_of_constants_are_zero() -> None:
    assert evaluate.alu(NUMBERS["fddx"], 32, 32, 1, [[to_bits(1.5, 32)]]) == [0]


def vector(name: str, bits: int, *operands: list[int], result_bits: int | None = None) -> int:
    """Evaluate an opcode that makes one number of vectors."""
    result = evaluate.alu(NUMBERS[name], bits, result_bits or bits, 1, list(operands))
    assert result is not None, name
    return result[0]


FLOAT_SAMPLES = st.one_of(st.floats(-100, 100, width=16), st.integers(1, 99).map(lambda x: x / 3), st.sampled_from([0.0, -0.0, 1e-3, 6e4]))


@given(st.sampled_from((16, 32, 64)), FLOAT_SAMPLES, FLOAT_SAMPLES, FLOAT_SAMPLES)
def test_composite_operations_fold_as_they_are_lowered(bits: int, x: float, y: float, z: float) -> None:
    """fmod, frem and flrp round after each operation that lower_alu.txt replaces them by."""
    a, b, c = (to_bits(number, bits) for number in (x, y, z))

    def expansion(rounding: str) -> int:
        return value("fsub", bits, a, value("fmul", bits, b, value(rounding, bits, value("fdiv", bits, a, b))))

    mixed = value("fadd", bits, value("fmul", bits, a, value("fsub", bits, to_bits(1.0, bits), c)), value("fmul", bits, b, c))
    for name, found, wanted in (
        ("fmod", value("fmod", bits, a, b), expansion("ffloor")), ("frem", value("frem", bits, a, b), expansion("ftrunc")),
        ("flrp", value("flrp", bits, a, b, c), mixed),
    ):
        assert found == wanted or math.isnan(from_bits(found, bits)), name


@pytest.mark.parametrize("size", [2, 3, 4, 8, 16])
def test_dot_products_of_halves_round_once(size: int) -> None:
    random = numpy.random.default_rng(size)
    rounded_each_step = 0
    for _ in range(200):
        a, b = (random.uniform(-8, 8, size).astype(numpy.float16) for _ in range(2))
        total = numpy.float32(0)
        halves = numpy.float16(0)
        for x, y in zip(a[::-1], b[::-1], strict=True):
            total += numpy.float32(x) * numpy.float32(y)
            halves += x * y
        found = vector(f"fdot{size}", 16, [to_bits(x, 16) for x in a], [to_bits(y, 16) for y in b])
        assert found == to_bits(numpy.float16(total), 16)
        rounded_each_step += found == to_bits(halves, 16)
    assert rounded_each_step < 200
    negative = [to_bits(-0.0, 16)] * size
    assert vector(f"fdot{size}", 16, negative, [to_bits(1.0, 16)] * size) == negative[0]


def test_ffmaz_adds_to_positive_zero() -> None:
    for a, b in ((0.0, 5.0), (-0.0, math.inf), (math.nan, 0.0)):
        assert value("ffmaz", 32, to_bits(a, 32), to_bits(b, 32), to_bits(-0.0, 32)) == 0
        assert value("ffmaz", 32, to_bits(a, 32), to_bits(b, 32), to_bits(-1.5, 32)) == to_bits(-1.5, 32)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_bit_fields_of_every_size(bits: int) -> None:
    random = numpy.random.default_rng(bits)
    for _ in range(300):
        offset = int(random.integers(0, bits))
        width = int(random.integers(0, bits - offset + 1))
        a, b = (int.from_bytes(random.bytes(bits // 8), "little") for _ in range(2))
        field = (1 << width) - 1
        taken = a >> offset & field
        assert value("ubitfield_extract", bits, a, offset, width) == taken
        signed_field = signed(taken, width) if width else 0
        assert value("ibitfield_extract", bits, a, offset, width) == signed_field & (1 << bits) - 1
        assert value("bitfield_insert", bits, a, b, offset, width) == a & ~(field << offset) | (b & field) << offset


@pytest.mark.parametrize("name", ["udiv", "umod", "idiv", "irem", "imod"])
@pytest.mark.parametrize("bits", SIZES)
def test_the_interpreter_divides_by_zero_as_folding_does(name: str, bits: int) -> None:
    dividends = numpy.array([0, 1, 7, (1 << bits) - 1, 1 << (bits - 1)], f"u{bits // 8}")
    interpreted = interpreter_opcodes.evaluate(name, [dividends, numpy.zeros_like(dividends)])
    assert list(interpreted) == [value(name, bits, int(dividend), 0) for dividend in dividends] == [0] * len(dividends)
