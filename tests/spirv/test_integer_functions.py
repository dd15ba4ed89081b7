"""SPV_INTEL_shader_integer_functions2, SPV_KHR_fma, and bit fields of integers of every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_compute_extensions import LANES, Array, Kernel, run

from pyaco import InputError, spirv

TARGETS = [("gfx600", 64), ("gfx803", 64), ("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)]
WIDTHS = (8, 16, 32, 64)


def _wide(bits: int, signed: bool, value: int) -> int:
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _saturated(bits: int, signed: bool, value: int) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


MODELS: dict[str, Callable[[int, int, int], int]] = {
    "AbsISubINTEL": lambda a, b, bits: abs(a - b),
    "AbsUSubINTEL": lambda a, b, bits: abs(a - b),
    "IAddSatINTEL": lambda a, b, bits: _saturated(bits, True, a + b),
    "UAddSatINTEL": lambda a, b, bits: _saturated(bits, False, a + b),
    "ISubSatINTEL": lambda a, b, bits: _saturated(bits, True, a - b),
    "USubSatINTEL": lambda a, b, bits: _saturated(bits, False, a - b),
    "IAverageINTEL": lambda a, b, bits: (a + b) >> 1,
    "UAverageINTEL": lambda a, b, bits: (a + b) >> 1,
    "IAverageRoundedINTEL": lambda a, b, bits: (a + b + 1) >> 1,
    "UAverageRoundedINTEL": lambda a, b, bits: (a + b + 1) >> 1,
}
WIDE_MODELS: dict[str, Callable[[int, int, int], int]] = {
    "IMul32x16INTEL": lambda a, b, bits: a * _wide(16, True, b & 0xFFFF),
    "UMul32x16INTEL": lambda a, b, bits: a * (b & 0xFFFF),
    "UCountLeadingZerosINTEL": lambda a, b, bits: bits - a.bit_length(),
    "UCountTrailingZerosINTEL": lambda a, b, bits: (a & -a).bit_length() - 1 if a else bits,
}


def _numbers(bits: int, seed: int) -> Array:
    """Random numbers of all magnitudes, with the corners first."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 1 << 63, LANES, np.uint64) * np.uint64(2) + random.integers(0, 2, LANES, np.uint64)
    values >>= random.integers(0, bits, LANES, np.uint64) + np.uint64(64 - bits)
    top = 1 << (bits - 1)
    values[:8] = np.array([0, 1, top, top - 1, 2 * top - 1, 0, top, 2 * top - 2], np.uint64)
    return values.astype(f"u{bits // 8}")


def _integers(bits: int) -> Kernel:
    names = {8: ("Int8", "StorageBuffer8BitAccess"), 16: ("Int16", "StorageBuffer16BitAccess"), 32: (), 64: ("Int64",)}[bits]
    return Kernel("IntegerFunctions2INTEL", *names)


def _check(name: str, bits: int, target: str, wave: int, model: Callable[[int, int, int], int]) -> None:
    signed, unary = name[0] in "AI" and name != "AbsUSubINTEL", "Zeros" in name
    m = _integers(bits)
    number = m.uint(bits)
    left, right, results = (m.array_of(number, bits // 8) for _ in range(3))
    operands = [m.load(number, m.at(block, number)) for block in (left, right)][: 1 if unary else 2]
    m.store(m.at(results, number), m.op(name, number, *operands))
    a, b = _numbers(bits, 3), np.roll(_numbers(bits, 4), 3)
    found = run(m.words(), [a, b, np.zeros_like(a)], target, wave)[2]
    wanted = [model(_wide(bits, signed, int(x)), _wide(bits, signed, int(y)), bits) & ((1 << bits) - 1) for x, y in zip(a, b, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", MODELS)
def test_sums_and_averages(name: str, bits: int, target: str, wave: int) -> None:
    _check(name, bits, target, wave, MODELS[name])


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("name", WIDE_MODELS)
def test_products_and_zeros(name: str, target: str, wave: int) -> None:
    _check(name, 32, target, wave, WIDE_MODELS[name])


# ---------------------------------------------------------------------------------------------------------------- bit fields
def _fields(bits: int) -> tuple[Array, Array]:
    """Offsets and widths, of which the sums are at most the width of the type."""
    random = np.random.default_rng(bits)
    widths = random.integers(0, bits + 1, LANES)
    widths[:4] = 0, bits, 1, bits - 1
    offsets = (random.random(LANES) * (bits - widths + 1)).astype(int)
    offsets[4], widths[4] = bits, 0
    return offsets.astype(np.uint32), widths.astype(np.uint32)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("bits", WIDTHS)
def test_bit_fields(bits: int, target: str, wave: int, constant: bool) -> None:
    """`constant`: where offset and width are known, other instructions are chosen."""
    m = _integers(bits)
    number, uint = m.uint(bits), m.uint()
    base, inserted = m.array_of(number, bits // 8), m.array_of(number, bits // 8)
    places, sizes = m.array_of(uint, 4), m.array_of(uint, 4)
    results = [m.array_of(number, bits // 8) for _ in range(3)]
    a, b = (m.load(number, m.at(block, number)) for block in (base, inserted))
    offset, width = (m.load(uint, m.at(block, uint)) for block in (places, sizes))
    offsets, widths = _fields(bits)
    if constant:
        offset, width = m.constant(3), m.constant(bits - 4)
        offsets[:], widths[:] = 3, bits - 4
    for block, value in zip(results, (m.op("BitFieldInsert", number, a, b, offset, width), m.op("BitFieldSExtract", number, a, offset, width),
                                      m.op("BitFieldUExtract", number, a, offset, width)), strict=True):
        m.store(m.at(block, number), value)
    x, y = _numbers(bits, 5), np.roll(_numbers(bits, 6), 5)
    found = run(m.words(), [x, y, offsets, widths, *(np.zeros_like(x) for _ in range(3))], target, wave)[4:]
    for lane in range(LANES):
        start, size = int(offsets[lane]), int(widths[lane])
        mask = ((1 << size) - 1) << start
        field = (int(x[lane]) & mask) >> start
        signed = field - (1 << size) if size and field >> (size - 1) else field
        wanted = [(int(x[lane]) & ~mask) | (int(y[lane]) << start & mask), signed & ((1 << bits) - 1), field]
        assert [int(result[lane]) for result in found] == wanted, (start, size)


# ---------------------------------------------------------------------------------------------------------------------- FMA
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_fma_has_one_rounding(target: str, wave: int) -> None:
    m = Kernel("FMAKHR")
    single = m.type("Float", 32)
    blocks = [m.array_of(single, 4) for _ in range(4)]
    m.store(m.at(blocks[3], single), m.op("FmaKHR", single, *(m.load(single, m.at(block, single)) for block in blocks[:3])))
    random = np.random.default_rng(8)
    a, b = (random.normal(size=LANES).astype(np.float32) for _ in range(2))
    c = -(a * b)
    found = run(m.words(), [a, b, c, np.zeros_like(a)], target, wave)[3]
    np.testing.assert_array_equal(found, (a.astype(np.float64) * b + c).astype(np.float32))
    assert found.any()


def _message(name: str, *operands: Any) -> str:
    m = Kernel("IntegerFunctions2INTEL")
    m.op(name, m.uint(), *(m.constant(*operand) for operand in operands))
    with pytest.raises(InputError) as error:
        spirv.read(m.words())
    return str(error.value)


def test_operands_that_are_wrong() -> None:
    assert "too few operands" in _message("IAddSatINTEL", (1,))
    assert "64 bits does not match" in _message("UCountLeadingZerosINTEL", (1, 64))
    assert "64 bits does not match" in _message("UAverageINTEL", (1,), (1, 64))
