"""Every shader of the project: compiled with all validators, decoded by LLVM, executed, and compared.

The judge is lavapipe, or the case's NumPy model where results depend on the subgroup size.
"""

from __future__ import annotations

from typing import Any

import pytest
from cases import CASES, Case
from judge import differences, expected, nir_after, run_emulator, run_nir, undecoded
from vulkan_peer import Lavapipe

import pyaco

pytestmark = pytest.mark.oracle

TARGETS = ("gfx1030", "gfx1100")
WAVES = (32, 64)
#: Each generation that is older or between: every so many cases, from one that differs, so that most cases run on some of them.
SAMPLED = {"gfx803": (3, 0)}

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.mark.parametrize("wave", WAVES)
@pytest.mark.parametrize("target", TARGETS)
@each_case
def test_machine_code(case: Case, target: str, wave: int, lavapipe: Lavapipe, llvm_objdump: str) -> None:
    shader: Any = pyaco.compile(case.spirv, target=target, wave=wave, spec=dict(case.spec), validate=True)
    assert not undecoded(shader, llvm_objdump)
    inputs = case.inputs()
    wanted = expected(case, wave, lavapipe)
    assert not differences(inputs, wanted, run_emulator(shader, case, inputs))


@pytest.mark.parametrize(("target", "name"), [
    (target, name) for target, (step, first) in SAMPLED.items() for name in list(CASES)[first::step]
])  # fmt: skip
def test_machine_code_of_other_generations(target: str, name: str, lavapipe: Lavapipe, llvm_objdump: str) -> None:
    test_machine_code(CASES[name], target, 64, lavapipe, llvm_objdump)


@pytest.mark.parametrize("after", ["read", "all"])
@each_case
def test_nir(case: Case, after: str, lavapipe: Lavapipe) -> None:
    wave = 64
    inputs = case.inputs()
    shader = nir_after(case, "gfx1100", wave, None if after == "all" else after)
    assert not differences(inputs, expected(case, wave, lavapipe), run_nir(shader, case, inputs, wave))


@pytest.mark.parametrize("name", [name for name in CASES if "subgroup" in name])
def test_model(name: str, lavapipe: Lavapipe) -> None:
    """The models themselves, where lavapipe's subgroups of 8 lanes can show what the shader does."""
    case = CASES[name]
    assert case.model is not None
    inputs = case.inputs()
    size = lavapipe.subgroup_size
    before = {key: buffer.data for key, buffer in inputs.buffers.items()}
    found = lavapipe.run(case.spirv.read_bytes(), case.groups, before, inputs.push, case.spec)
    # lavapipe has no clustered operations; a partner 16 lanes away and a scan of 256 need larger subgroups.
    columns = {"subgroup_reductions": [*range(13), *range(16, 20)], "subgroup_shuffle": [0, 1, *range(3, 11)]}
    for key, wanted in case.model(inputs, size).items():
        actual = found[key].reshape(wanted.shape)
        if key == (0, 1) and name in columns:
            wanted, actual = wanted[:, columns[name]].copy(), actual[:, columns[name]].copy()
        if (name, key) != ("scan_subgroups", (0, 0)):
            assert not inputs.buffers[key].rule.difference(wanted, actual).any(), key
