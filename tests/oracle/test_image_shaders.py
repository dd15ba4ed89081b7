"""RADV's machine code of shaders with images, run on our engines with our descriptors, equals lavapipe.

A chip of each generation; with PYACO_RADV_FAMILIES=all in the environment, every family that RADV 22.3 has code for.
"""

from __future__ import annotations

import os
from functools import cache

import pytest
from image_cases import SAMPLERS, Prepared, cases
from image_shaders import DIMENSIONS, ImageCase
from vulkan_peer import Lavapipe, Radv, find_icd

from pyaco.binary import read_radv_shaders
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle

#: RADV's names of families, and the device that runs their code: a chip of the same generation where no layout of images is known. RADV disassembles
#: nothing for the first ones, GFX6 and GFX7: their code is read from pipeline caches.
EARLY = {"tahiti": "tahiti", "pitcairn": "pitcairn", "verde": "verde", "oland": "oland", "hainan": "oland", "bonaire": "bonaire", "kaveri": "kaveri",
         "kabini": "kaveri", "hawaii": "hawaii"}  # fmt: skip
FAMILIES = {
    **EARLY,
    "tonga": "tonga", "iceland": "iceland", "carrizo": "fiji", "fiji": "fiji", "stoney": "stoney", "polaris10": "gfx803", "polaris11": "polaris11",
    "polaris12": "gfx803", "vegam": "gfx803",
    "vega10": "gfx900", "vega12": "vega12", "vega20": "vega20", "raven": "raven", "raven2": "gfx909", "renoir": "renoir",
    "navi10": "gfx1010", "navi12": "navi10", "navi14": "navi14",
    "navi21": "gfx1030", "navi22": "navi22", "navi23": "navi23", "navi24": "navi24", "vangogh": "vangogh", "rembrandt": "gfx1036",
    "gfx1036": "gfx1036",
    "gfx1100": "gfx1100", "gfx1101": "gfx1101", "gfx1102": "gfx1102", "gfx1103_r1": "gfx1103", "gfx1103_r2": "gfx1103",
}  # fmt: skip
GFX10 = 100
REPRESENTATIVE = ("tahiti", "hawaii", "polaris10", "vega10", "navi10", "navi21", "gfx1100")
TESTED = FAMILIES if os.environ.get("PYACO_RADV_FAMILIES") == "all" else REPRESENTATIVE


@cache
def prepared(case: ImageCase, state: str, lavapipe: Lavapipe) -> Prepared:
    """A case with lavapipe's results, which are the same for every family."""
    return Prepared(case, SAMPLERS[state], lavapipe)


def code_of(family: str, case: ImageCase, gfx_level: int) -> bytes:
    """RADV's machine code."""
    radv = Radv(family)
    if family in EARLY:
        (shader,) = read_radv_shaders(radv.pipeline_cache(case.spirv(), layouts=case.layouts))
        return shader.code
    return radv.compile(case.spirv(), wave=64 if gfx_level >= GFX10 else None, layouts=case.layouts).code


def compare(case: ImageCase, state: str, lavapipe: Lavapipe, family: str, modes: tuple[int | None, ...] = (None,)) -> list[str]:
    """What differs, in words."""
    wanted, faults = prepared(case, state, lavapipe), []
    for mode in modes:
        device = Device(FAMILIES[family], threads=1)
        code = code_of(family, case, device.gfx_level)
        try:
            image = wanted.image_on(device, **({} if mode is None else {"swizzle_mode": mode}))
        except (InputError, UnsupportedError):
            continue
        faults += [f"{family} {state} {fault}" for fault in wanted.faults(image, wanted.run_radv(device, code, image))]
    return faults


@pytest.fixture(scope="module", autouse=True)
def _driver() -> None:
    if find_icd("radeon") is None:
        pytest.skip("the Vulkan driver 'radeon' of Mesa is not installed")


@pytest.mark.parametrize("family", TESTED)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_radv_code_on_images(family: str, dimension: str, lavapipe: Lavapipe) -> None:
    faults = []
    for case, state in cases():
        if case.dimension == dimension:
            faults += compare(case, state, lavapipe, family)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("family", [family for family in TESTED if family.startswith(("navi", "gfx"))])
@pytest.mark.parametrize("dimension", ["2d_array", "3d"])
def test_radv_code_on_every_swizzle_mode(family: str, dimension: str, lavapipe: Lavapipe) -> None:
    faults = []
    for operation, state in (("fetch", "nearest_repeat"), ("store", "nearest_repeat"), ("lod", "linear_mirror")):
        faults += compare(ImageCase(operation, dimension, "R8G8B8A8_UNORM"), state, lavapipe, family, modes=tuple(range(1, 32)))
    assert not faults, "\n".join(faults)
