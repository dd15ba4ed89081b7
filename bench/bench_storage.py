"""The column storage against what it replaces: objects in Python, and the same columns swept by NumPy.

``python -m pytest bench/bench_storage.py`` prints the times of one run side by side; all work on the same program of
200,000 instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
import pytest

from pyaco._core.aco import build, dominance, live_variables
from pyaco._core.ir.program import Program

COUNT = 200_000
VGPR = 0x21


def straight_line(count: int) -> Program:
    """Return a program of `count` moves in a chain, every hundredth value read again later."""
    program = build.new_program(103, 64)
    build.add_temps(program, [VGPR] * count)
    block = build.add_block(program, 2, 0)
    opcode = _opcode("v_mov_b32")
    for temp in range(1, count + 1):
        operands = [(max(1, temp - 1), 0xFFFF, VGPR, 1)] if temp > 1 else [build.constant(temp, 4)]
        build.add_instruction(program, block, opcode, 0x80, [(temp, 0xFFFF, VGPR, 1)], operands)
    build.finish_edges(program)
    return program


def _opcode(name: str) -> int:
    from pyaco.isa import opcodes

    return opcodes.numbers()[name]


@dataclass
class Instruction:
    """The design that the columns replace."""

    opcode: int
    operands: list[int]
    definitions: list[int]


@pytest.fixture(scope="module")
def program() -> Program:
    return straight_line(COUNT)


@pytest.mark.benchmark(group="last use of every value, 200,000 instructions")
def test_liveness_kernel(benchmark: Any, program: Program) -> None:
    dominance.run(program)
    benchmark(live_variables.run, program)


@pytest.mark.benchmark(group="last use of every value, 200,000 instructions")
def test_columns_with_numpy(benchmark: Any, program: Program) -> None:
    def last_uses() -> int:
        last = numpy.zeros(len(program.temps), numpy.int64)
        data = program.operands.data
        numpy.maximum.at(last, data, numpy.arange(len(data)))
        return int(last.max())

    benchmark(last_uses)


@pytest.mark.benchmark(group="last use of every value, 200,000 instructions")
def test_python_objects(benchmark: Any) -> None:
    instructions = [Instruction(1, [temp - 1], [temp]) for temp in range(1, COUNT + 1)]

    def last_uses() -> int:
        seen: set[int] = set()
        for instruction in reversed(instructions):
            for definition in instruction.definitions:
                seen.discard(definition)
            for operand in instruction.operands:
                seen.add(operand)
        return len(seen)

    benchmark(last_uses)
