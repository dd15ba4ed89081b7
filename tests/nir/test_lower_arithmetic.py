"""Lowerings of 64-bit, small and double arithmetic against the interpreter's definitions."""

import numpy as np
import pytest
from opcode_shaders import UINT, compare, interesting, opcode_body

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import divergence, lower_alu, lower_bit_size, lower_doubles, lower_int64


def small(shader: Shader) -> bool:
    divergence.run(shader)
    return lower_bit_size.run(shader)


BINARY_64 = ("imul", "imul_high", "umul_high", "imin", "imax", "umin", "umax", "uadd_carry", "usub_borrow", "uadd_sat",
             "usub_sat", "iadd_sat", "isub_sat")


@pytest.mark.parametrize("name", BINARY_64)
def test_binary_64(name: str) -> None:
    before, after = compare(opcode_body(name), [interesting(64, 256, 1), interesting(64, 256, 2)], 64, lower_int64.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["udiv", "umod", "idiv", "irem", "imod"])
def test_division_64(name: str) -> None:
    numerator, divisor = interesting(64, 64, 1), interesting(64, 64, 2)
    divisor[divisor == 0] = 3
    divisor[(numerator == 1 << 63) & (divisor == (1 << 64) - 1)] = 3
    before, after = compare(opcode_body(name), [numerator, divisor], 64, lower_int64.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(("name", "result"), [
    ("iabs", 64), ("isign", 64), ("bitfield_reverse", 64), ("bit_count", 32), ("find_lsb", 32), ("ufind_msb", 32),
    ("i2f32", 32), ("u2f32", 32), ("i2f64", 64), ("u2f64", 64), ("i2f16", 16), ("u2f16", 16),
])
def test_unary_64(name: str, result: int) -> None:
    before, after = compare(opcode_body(name), [interesting(64, 256, 4)], result, lower_int64.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("source", [16, 32, 64])
@pytest.mark.parametrize("name", ["f2i64", "f2u64"])
def test_floats_to_64_bit_integers(name: str, source: int) -> None:
    random = np.random.default_rng(5)
    top = 15 if source == 16 else 62
    values = random.uniform(1, 2, 256) * 2.0 ** random.integers(-3, top, 256)
    if name == "f2i64":
        values *= random.choice([-1, 1], 256)
    data = values.astype({16: np.float16, 32: np.float32, 64: np.float64}[source]).view(UINT[source])
    before, after = compare(opcode_body(name), [data], 64, lower_int64.run)
    np.testing.assert_array_equal(before, after)


BINARY_SMALL = ("iadd", "isub", "imul", "imul_high", "umul_high", "udiv", "umod", "idiv", "irem", "imod", "imin",
                "imax", "umin", "umax", "uadd_sat", "usub_sat", "iadd_sat", "isub_sat", "uadd_carry", "usub_borrow",
                "ihadd", "urhadd", "uabs_isub", "uabs_usub")
COMPARISONS = ("ieq", "ine", "ilt", "ige", "ult", "uge")


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", BINARY_SMALL + COMPARISONS)
def test_small_binary(name: str, bits: int) -> None:
    x, y = interesting(bits, 256, 7), interesting(bits, 256, 8)
    if name in ("udiv", "umod", "idiv", "irem", "imod"):
        y[y == 0] = 3
        y[(x == 1 << (bits - 1)) & (y == (1 << bits) - 1)] = 3

    def lower(shader: Shader) -> None:
        progress = small(shader)
        if bits == 8:
            assert progress

    before, after = compare(opcode_body(name), [x, y], 32 if name in COMPARISONS else bits, lower)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", ["ishl", "ishr", "ushr", "urol", "uror"])
def test_small_shifts(name: str, bits: int) -> None:
    before, after = compare(opcode_body(name), [interesting(bits, 256, 7), interesting(32, 256, 8)], bits, small)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("name", "result"), [("iabs", 0), ("isign", 0), ("ineg", 0), ("bitfield_reverse", 0),
                                              ("bit_count", 32), ("find_lsb", 32), ("ufind_msb", 32)])
def test_small_unary(name: str, result: int, bits: int) -> None:
    before, after = compare(opcode_body(name), [interesting(bits, 256, 7)], result or bits, small)
    np.testing.assert_array_equal(before, after)


def doubles(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.uniform(1, 2, 256) * 2.0 ** random.integers(-1000, 1000, 256) * random.choice([-1, 1], 256)
    values[:12] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1.7e308, 2.2e-308, 3.0, 1 / 3]
    random.shuffle(values)
    return values.view(np.uint64)


def units_apart(before: np.ndarray, after: np.ndarray) -> int:
    """Distance in units of the last place; NaN equals NaN."""
    x, y = before.view(np.float64), after.view(np.float64)
    nan = np.isnan(x) & np.isnan(y)
    assert (np.isnan(x) == np.isnan(y)).all()
    distance = np.abs(before.view(np.int64) - after.view(np.int64))
    return int(np.where(nan, 0, distance).max())


def test_double_division() -> None:
    before, after = compare(opcode_body("fdiv"), [doubles(1), doubles(2)], 64, lower_doubles.run)
    assert units_apart(before, after) <= 1
    assert (before != after).mean() < 0.02


@pytest.mark.parametrize("name", ["frcp", "fsqrt", "frsq"])
def test_double_roots(name: str) -> None:
    before, after = compare(opcode_body(name), [doubles(3)], 64, lower_doubles.run)
    assert units_apart(before, after) <= 1


LOWER_32 = {"bitfield_insert": 4, "ubitfield_extract": 3, "ibitfield_extract": 3}


@pytest.mark.parametrize("name", LOWER_32)
def test_bitfields(name: str) -> None:
    random = np.random.default_rng(3)
    offset = random.integers(0, 33, 256).astype(np.uint32)
    width = (random.integers(0, 33, 256) % (33 - offset)).astype(np.uint32)
    offset[:4], width[:4] = [0, 0, 31, 16], [32, 0, 1, 16]
    values = [interesting(32, 256, i) for i in range(LOWER_32[name] - 2)]
    before, after = compare(opcode_body(name), [*values, offset % 32, width], 32, lower_alu.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["uhadd", "ihadd", "urhadd", "irhadd", "uabs_isub", "uabs_usub"])
@pytest.mark.parametrize("bits", [32, 64])
def test_halving(name: str, bits: int) -> None:
    before, after = compare(opcode_body(name), [interesting(bits, 256, 1), interesting(bits, 256, 2)], bits,
                            lower_alu.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("level", [90, 103, 110])
@pytest.mark.parametrize("name", [f"{kind}{sat}" for kind in ("sdot_4x8_iadd", "udot_4x8_uadd", "sudot_4x8_iadd",
                                                              "sdot_2x16_iadd", "udot_2x16_uadd")
                                  for sat in ("", "_sat")])
def test_dot_products(name: str, level: int) -> None:
    inputs = [interesting(32, 128, i) for i in range(3)]
    before, after = compare(opcode_body(name), inputs, 32, lower_alu.run, gfx_level=level)
    if not name.startswith("sdot_2x16_iadd_sat"):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["pack_unorm_4x8", "pack_snorm_4x8", "pack_unorm_2x16", "pack_snorm_2x16",
                                  "pack_half_2x16"])
def test_packing(name: str) -> None:
    count = 4 if "4x8" in name else 2
    data = [np.random.default_rng(i).uniform(-1.5, 1.5, 128).astype(np.float32).view(np.uint32) for i in range(count)]
    before, after = compare(lambda b, *x: b.alu(name, b.vec(*x)), data, 32, lower_alu.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["unpack_unorm_4x8", "unpack_snorm_4x8", "unpack_unorm_2x16", "unpack_snorm_2x16",
                                  "unpack_half_2x16"])
@pytest.mark.parametrize("component", [0, 1])
def test_unpacking(name: str, component: int) -> None:
    words = interesting(32, 256, 9)
    words = (words & 0x7BFF7BFF) if "half" in name else words
    before, after = compare(lambda b, x: b.component(b.alu(name, x), component), [words], 32, lower_alu.run)
    np.testing.assert_allclose(before.view(np.float32), after.view(np.float32), rtol=2e-7, atol=0)


def test_double_to_half_rounds_once() -> None:
    random = np.random.default_rng(1)
    exact = random.integers(0x0400, 0x7BFF, 256).astype(np.uint16).view(np.float16).astype(np.float64)
    ties = exact * (1 + 2.0**-12) * (1 + random.choice([-1, 0, 1], 256) * 2.0**-45)
    before, after = compare(opcode_body("f2f16"), [ties.view(np.uint64)], 16, lower_alu.run)
    np.testing.assert_array_equal(before, after)
