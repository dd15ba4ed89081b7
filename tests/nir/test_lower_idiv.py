"""Integer division against the interpreter's definition."""

import numpy as np
import pytest
from opcode_shaders import compare, interesting, opcode_body

from pyaco._core.nir import lower_idiv

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
