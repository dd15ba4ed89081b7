"""Passes of your own between the built-in ones, over both IRs.

The first counts what NIR computes before it is lowered for the hardware. The second works on ACO IR: every multiplication by a
constant two becomes an addition, ``x * 2.0`` is ``x + x``. It is a numba kernel over the columns of the program; they are the
compiler's own memory, not a copy. Run both with ``python examples/user_pass.py [SHADER [TARGET]]``; without a shader they see the
matrix product of this folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numba
import numpy as np

import pyaco
from pyaco import aco, nir
from pyaco._core.ir.program import Program
from pyaco._core.ir.shader import Shader
from pyaco.isa import opcodes

TWO = 0x40000000
CONSTANT = 2  # operand_constant of the data sheet
ALU = 1  # nir_alu of the data sheet


def count_arithmetic(shader: Shader) -> bool:
    """A pass over NIR: says how many ALU instructions there are. It changes nothing, so a group of passes need not run again for it."""
    rows = shader.order.instruction
    print(f"{np.count_nonzero(shader.instructions.kind[rows] == ALU)} ALU instructions in NIR")
    return False


@numba.njit
def double_by_adding(
    opcode: np.ndarray, fmt: np.ndarray, modifiers: np.ndarray, operand_first: np.ndarray, data: np.ndarray, reg: np.ndarray,
    register_class: np.ndarray, flags: np.ndarray, multiply: np.uint16, add: np.uint16,
) -> int:
    """Rewrite the rows in place; return how many."""
    changed = 0
    for row in range(1, opcode.size):
        if opcode[row] != multiply or modifiers[row] != 0 or fmt[row] & 0x7000:
            continue
        first = operand_first[row]
        if not flags[first] & CONSTANT or data[first] != TWO:
            continue
        # The constant's place takes the other operand.
        data[first] = data[first + 1]
        reg[first] = reg[first + 1]
        register_class[first] = register_class[first + 1]
        flags[first] = flags[first + 1]
        opcode[row] = add
        changed += 1
    return changed


def strength_reduction(program: Program) -> None:
    """The pass: called by the compiler with every program."""
    numbers = opcodes.numbers()
    with program.edit():
        rows, operands = program.instructions, program.operands
        changed = double_by_adding(
            rows.opcode, rows.format, rows.modifiers, rows.operand_first, operands.data, operands.reg, operands.register_class,
            operands.flags, np.uint16(numbers["v_mul_f32"]), np.uint16(numbers["v_add_f32"]),
        )
    print(f"{changed} multiplications became additions")


def main(path: str | None = None, target: str = "gfx1100") -> None:
    """Compile a file with both passes in place."""
    with nir.registered("values", count_arithmetic), aco.registered("lower_phis", strength_reduction):
        shader = pyaco.compile(path or Path(__file__).with_name("matmul.spv"), target=target, validate=True)
    print(shader.disassembly)


if __name__ == "__main__":
    main(*sys.argv[1:3])
