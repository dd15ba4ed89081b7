"""Shaders with 16-bit arithmetic around texture and image operations: RADV folds the same conversions, and what comes out equals lavapipe's."""

from __future__ import annotations

import re

import pytest
from half_image_cases import HalfCase, PreparedHalves, half_cases
from vulkan_peer import Lavapipe, Radv, find_icd

from pyaco import compile, isa

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle

CASES = half_cases()


def sizes(code: bytes, target: str) -> list[tuple[str, str, bool, bool]]:
    """Of each image instruction and formatted access the name, the mask, and whether address and data have 16 bits."""
    found = []
    for line in isa.disassemble(code, target, wave_size=64).splitlines():
        words = line.split()
        if re.match(r"image_|buffer_\w+_format|(t?buffer)_atomic", words[0] if words else ""):
            mask = next((word for word in words if word.startswith("dmask:")), "")
            found.append((words[0], mask, "a16" in words, "d16" in words))
    return found


@pytest.mark.skipif(find_icd("radeon") is None, reason="the Vulkan driver 'radeon' of Mesa is not installed")
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100"])
def test_radv_folds_the_same(target: str, step: int) -> None:
    radv, different, folded = Radv(target), [], 0
    for case in CASES[int(target[3:]) // 100 % step :: step]:
        wave = 64 if target.startswith("gfx1") else None
        theirs = sizes(radv.compile(case.spirv(), wave=wave, layouts=case.layouts).code, target)
        ours = sizes(compile(case.spirv(), target=target, wave=64).code, target)
        folded += any(address or data or "d16" in name for name, _, address, data in ours)
        if ours != theirs:
            different.append(f"{case}: {ours} not {theirs}")
    assert not different, "\n".join(map(str, (len(different), *different)))
    assert folded > 60 / step


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_results(target: str, step: int, lavapipe: Lavapipe) -> None:
    """Every case, or one of so many, another one on each target."""
    faults = []
    for case in CASES[int(target[3:]) // 100 % step :: step]:
        prepared = PREPARED.setdefault(case, None) or PreparedHalves(case, lavapipe)
        PREPARED[case] = prepared
        for engine in ("reference", "fast"):
            faults += prepared.faults(target, engine)
    assert not faults, "\n".join(map(str, (len(faults), *faults)))


PREPARED: dict[HalfCase, PreparedHalves | None] = {}
