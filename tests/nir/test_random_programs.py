"""Passes keep the meaning of random structured programs."""

from typing import Any

import numpy as np
import pytest
from random_programs import Program, execute

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import convert_to_lcssa, divergence, lower_var_copies, validate, vars_to_ssa
from pyaco.nir import parse, passes, text


def program(seed: int, level: int = 103, wave: int = 64, **facts: Any) -> Shader:
    return Program(seed, level, wave, **facts).build()


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("limit", [0, 16])
def test_vars_to_ssa(seed: int, limit: int) -> None:
    expected = execute(program(seed), 64)
    shader = program(seed)
    lower_var_copies.run(shader)
    assert vars_to_ssa.run(shader, {"indirect_limit": limit})
    validate.run(shader)
    assert limit == 0 or not (shader.variables.flags[shader.variables.mode < 4] & 1).any()
    np.testing.assert_array_equal(execute(shader, 64), expected)
    convert_to_lcssa.run(shader)
    divergence.run(shader)
    validate.run(shader)
    np.testing.assert_array_equal(execute(shader, 64, limit == 16), expected)


def check_everything(seed: int, level: int, wave: int, length: int) -> None:
    expected = execute(program(seed, level, wave, array_length=length), wave)
    shader = program(seed, level, wave, array_length=length)
    passes.run(shader, on_pass=lambda name, shader, seconds: validate.run(shader))
    np.testing.assert_array_equal(execute(shader, wave, True), expected)


@pytest.mark.parametrize("seed", range(100, 118))
def test_all_passes(seed: int) -> None:
    check_everything(seed, *[(90, 64), (103, 32), (110, 64), (120, 32)][seed % 4], 6 if seed % 3 else 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_all_passes_at_length(seed: int) -> None:
    check_everything(seed, *[(90, 64), (103, 32), (110, 64), (120, 32)][seed % 4], 6 if seed % 3 else 40)


@pytest.mark.parametrize("seed", range(200, 205))
def test_text(seed: int) -> None:
    shader = program(seed)
    expected = execute(shader, 64)
    parsed = parse.parse_shader(text.print_shader(shader))
    np.testing.assert_array_equal(execute(parsed, 64), expected)
