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

#: Of these levels every case in one wave size; of the others in both.
ALTERNATING = ("gfx1010", "gfx1150")
#: Of the older levels one case in three.
RUNS = [
    *((name, target, wave) for name in CASES for target in ("gfx1030", "gfx1100") for wave in (32, 64)),
    *((name, target, (32, 64)[(i + k) % 2]) for i, name in enumerate(CASES) for k, target in enumerate(ALTERNATING)),
    *((name, target, 64) for k, target in enumerate(("gfx803", "gfx700", "gfx600")) for name in list(CASES)[k::3]),
]  # fmt: skip

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.mark.parametrize(("name", "target", "wave"), RUNS)
def test_machine_code(name: str, target: str, wave: int, lavapipe: Lavapipe, llvm: str) -> None:
    case = CASES[name]
    shader: Any = pyaco.compile(case.spirv, target=target, wave=wave, spec=dict(case.spec), validate=True)
    assert not undecoded(shader)
    inputs = case.inputs()
    wanted = expected(case, wave, lavapipe)
    assert not differences(inputs, wanted, run_emulator(shader, case, inputs))


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
