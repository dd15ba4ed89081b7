"""What is known to be in memory, and what nothing reads: random programs mean the same before and after."""

from __future__ import annotations

import random

import numpy as np
import pytest
from memory_programs import MemoryProgram, execute

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import NirKind
from pyaco._core.nir import build, copy_prop_vars, copy_propagation, cse, dce, dead_write_vars, loop_unroll, validate, vars_to_ssa
from pyaco.nir import passes

STEPS = (copy_prop_vars, dead_write_vars, cse, copy_propagation, dce)


def program(seed: int) -> Shader:
    return MemoryProgram(seed).build()


def count(shader: Shader, name: str) -> int:
    opcode, kind = shader.instructions.opcode, shader.instructions.kind
    return sum(int(kind[i] == NirKind.INTRINSIC and opcode[i] == build.INTRINSICS[name]) for i in shader.order.instruction)


def check(shader: Shader, expected: list[np.ndarray], step: str) -> None:
    validate.run(shader)
    for wanted, found in zip(expected, execute(shader), strict=True):
        np.testing.assert_array_equal(found, wanted, step)


def check_program(seed: int) -> tuple[int, int]:
    """How many loads and stores went."""
    expected = execute(program(seed))
    shader = program(seed)
    cse.run(shader)                # the same derefs are one
    loads, stores = count(shader, "load_deref"), count(shader, "store_deref")
    order = random.Random(seed)
    for _ in range(6):
        step = order.choice(STEPS)
        step.run(shader)
        check(shader, expected, step.__name__)
    gone = loads - count(shader, "load_deref"), stores - count(shader, "store_deref")
    for step in (vars_to_ssa, copy_prop_vars, dead_write_vars, copy_propagation, loop_unroll, copy_prop_vars, dead_write_vars):
        step.run(shader)
        check(shader, expected, step.__name__)
    return gone


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs_keep_their_meaning(first: int) -> None:
    gone = [check_program(seed) for seed in range(first, first + 20)]
    assert sum(loads for loads, _ in gone) > 20
    assert sum(stores for _, stores in gone) > 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 4000, 100))
def test_many_random_programs_keep_their_meaning(first: int) -> None:
    for seed in range(first, first + 100):
        check_program(seed)


@pytest.mark.parametrize("seed", range(500, 510))
def test_all_passes(seed: int) -> None:
    expected = execute(program(seed))
    shader = program(seed)
    passes.run(shader, on_pass=lambda name, shader, seconds: validate.run(shader))
    check(shader, expected, "all passes")
