"""The emulator executes RADV's machine code of every shader as lavapipe executes its SPIR-V."""

from __future__ import annotations

import pytest
from cases import CASES, Case
from judge import differences, expected
from radv_code import UnclearLayout, run_radv_code
from vulkan_peer import Lavapipe, Radv

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("target", ["gfx1030", "gfx1100"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_radv_code(
    case: Case, target: str, wave: int, lavapipe: Lavapipe, radv_gfx1030: Radv, radv_gfx1100: Radv
) -> None:
    radv = radv_gfx1030 if target == "gfx1030" else radv_gfx1100
    pipeline = radv.compile(case.spirv.read_bytes(), wave, case.spec)
    inputs = case.inputs()
    try:
        found = run_radv_code(pipeline, target, wave, case, inputs)
    except UnclearLayout as reason:
        pytest.skip(f"RADV's argument layout: {reason}")
    assert not differences(inputs, expected(case, wave, lavapipe), found)
