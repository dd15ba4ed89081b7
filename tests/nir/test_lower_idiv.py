"""Integer division against the interpreter's definition."""

import numpy as np
import pytest
from opcode_shaders import compare, interesting, opcode_body

from pyaco._core.nir import lower_idiv
from pyaco.nir.builder import Builder

OPCODES = ("udiv", "idiv", "umod", "irem", "imod")


@pytest.mark.parametrize("name", OPCODES)
def test_general_division(name: str) -> None:
    numerator, divisor = interesting(32, 512, 1), interesting(32, 512, 2)
    divisor[divisor == 0] = 5
    if name in ("idiv", "irem", "imod"):
        overflow = (numerator == 0x80000000) & (divisor == 0xFFFFFFFF)
        divisor[overflow] = 3
    before, after = compare(opcode_body(name), [numerator, divisor], 32, lower_idiv.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", OPCODES)
def test_small_operands(name: str) -> None:
    """Operands that are known to be small are divided as floats, whatever they are."""
    is_signed = name not in ("udiv", "umod")
    numerator, divisor = interesting(32, 512, 1), interesting(32, 512, 2)
    mask = 0xFFFF if is_signed else 0x1FFFFF
    divisor[divisor & mask == 0] = 5

    def body(b: Builder, x: int, y: int) -> int:
        if is_signed:
            return b.alu(name, b.i2i32(b.u2u16(x)), b.i2i32(b.u2u16(y)))
        return b.alu(name, b.iand(x, b.imm(mask)), b.iand(y, b.imm(mask)))

    before, after = compare(body, [numerator, divisor], 32, lower_idiv.run)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_product_of_floats(steps: int) -> None:
    """The quotient of small numbers is right where the reciprocal is wrong by a step: the largest dividends, as close to multiples as can be."""
    divisors = np.concatenate([np.arange(1, 2000), np.random.default_rng(4).integers(2000, 0x200000, 4000)]).astype(np.int64)
    nearest = (np.float32(1) / divisors.astype(np.float32)).view(np.int32)
    reciprocals = (nearest + steps + 2).view(np.float32)
    for part in (1, 2, 3, 1000):
        multiples = 0x1FFFFF // part // divisors * divisors
        for numerators in (np.maximum(multiples - 1, 0), multiples, multiples + divisors - 1):
            numbers = np.minimum(numerators, 0x1FFFFF)
            np.testing.assert_array_equal((numbers.astype(np.float32) * reciprocals).astype(np.int64), numbers // divisors)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", OPCODES)
def test_division_by_constants(name: str, bits: int) -> None:
    numerator = interesting(bits, 192, 3)
    top = 1 << bits
    constants = [1, 2, 3, 5, 6, 7, 10, 12, 14, 28, 60, 100, 641, 1000, 0x10001, top // 2 - 1, top // 2, top // 2 + 1,
                 top - 1, top - 2, top - 7, top - 641]
    for constant in constants:
        numbers = numerator.copy()
        if constant == top - 1:
            numbers[numbers == top // 2] = 9
        before, after = compare(lambda b, x, c=constant: b.alu(name, x, b.imm(c, bits)), [numbers], bits,
                                lower_idiv.run)
        np.testing.assert_array_equal(before, after, err_msg=f"{name} by {constant}")
