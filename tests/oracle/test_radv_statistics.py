"""Statistics have RADV's meanings: those of programs that use what RADV's use are RADV's."""

from __future__ import annotations

import pytest
from cases import CASES, Case
from vulkan_peer import Radv

import pyaco

pytestmark = pytest.mark.oracle

NAMES = {"vgprs": "VGPRs", "lds_bytes": "LDS size"}


def compare(radv: Radv, target: str) -> tuple[int, int]:
    """Compare every case of both wave sizes; return of how many RADV counts the same registers and fewer waves than the most."""
    same = limited = 0
    for case in CASES.values():
        for wave in (32, 64):
            ours, theirs = _statistics(radv, target, case, wave)
            assert ours["lds_bytes"] == theirs["LDS size"], (case.name, wave)
            if all(ours[name] == theirs[other] for name, other in NAMES.items()):
                assert ours["max_waves"] == theirs["Subgroups per SIMD"], (case.name, wave)
                same += 1
                limited += ours["max_waves"] < 32
    return same, limited


def _statistics(radv: Radv, target: str, case: Case, wave: int) -> tuple[dict[str, int], dict[str, int | float]]:
    spirv = case.spirv.read_bytes()
    return pyaco.compile(spirv, target=target, wave=wave, spec=case.spec).stats, dict(radv.compile(spirv, wave, dict(case.spec)).statistics)


def test_waves_and_lds_are_those_of_radv_gfx1030(radv_gfx1030: Radv) -> None:
    same, limited = compare(radv_gfx1030, "gfx1030")
    assert same >= 40 and limited >= 5
