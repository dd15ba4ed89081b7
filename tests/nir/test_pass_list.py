"""The list of passes on real shaders, compared in the interpreter: meaning, divergence, validity, and text."""

import re

import pytest
from shader_cases import CASES, Case, differences, execute, read

from pyaco._core.nir import validate
from pyaco.nir import parse, passes, text

QUICK = [
    "saxpy", "strided_copy", "matmul_f16", "histogram", "softmax", "scan_subgroups", "subgroup_reductions",
    "subgroup_ballot_vote", "subgroup_shuffle", "int64_arithmetic", "double_arithmetic", "divergent_switch",
    "function_calls", "buffer_references", "descriptor_arrays", "constant_tables", "small_types", "matrix_types",
    "atomics", "push_constants", "uniform_control_flow",
]
CONFIGURATIONS = [(103, 64), (110, 32)]


def check(case: Case, level: int, wave: int) -> None:
    before = execute(read(case, level, wave), case, wave)
    if case.model is not None:
        assert not differences(case, case.model(case.inputs(), wave), before)
    shader = passes.run(read(case, level, wave), on_pass=lambda name, shader, seconds: validate.run(shader))
    after = execute(shader, case, wave, check_divergence=True)
    assert not differences(case, before, after)


@pytest.mark.parametrize("name", QUICK)
def test_meaning(name: str) -> None:
    check(CASES[name], *CONFIGURATIONS[QUICK.index(name) % 2])


@pytest.mark.slow
@pytest.mark.parametrize(("level", "wave"), [(90, 64), (103, 32), (103, 64), (110, 32), (110, 64), (120, 32)])
@pytest.mark.parametrize("name", CASES)
def test_meaning_everywhere(name: str, level: int, wave: int) -> None:
    check(CASES[name], level, wave)


def normal(printed: str) -> list[str]:
    """Lines in a canonical order, without rows of types and variables."""
    return sorted(re.sub(r"@\d+", "@", re.sub(" +", " ", line)) for line in printed.splitlines())


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("name", ["saxpy", "matrix_types", "divergent_switch", "atomics", "private_arrays"])
def test_text_round_trip(name: str, lowered: bool) -> None:
    shader = read(CASES[name])
    if lowered:
        passes.run(shader)
    printed = text.print_shader(shader)
    assert normal(text.print_shader(parse.parse_shader(printed))) == normal(printed)


def test_parsed_text_means_the_same() -> None:
    case = CASES["divergent_switch"]
    shader = read(case)
    parsed = parse.parse_shader(text.print_shader(shader))
    assert not differences(case, execute(shader, case), execute(parsed, case))
    parsed = parse.parse_shader(text.print_shader(shader))
    passes.run(parsed)
    assert not differences(case, execute(shader, case), execute(parsed, case))
