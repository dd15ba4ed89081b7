"""RADV's machine code of shaders with images, run on our engines with our descriptors, equals lavapipe."""

from __future__ import annotations

import pytest
from image_cases import SAMPLERS, Prepared, cases
from image_shaders import DIMENSIONS, ImageCase
from vulkan_peer import Lavapipe, Radv, find_icd

from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle

TARGETS = ("gfx803", "gfx900", "gfx1030", "gfx1100")


def compare(case: ImageCase, state: str, lavapipe: Lavapipe, target: str, engine: str = "fast", modes: tuple[int | None, ...] = (None,)) -> list[str]:
    """What differs, in words."""
    prepared = Prepared(case, SAMPLERS[state], lavapipe)
    code = Radv(target).compile(case.spirv(), wave=64 if target.startswith("gfx1") else None, layouts=case.layouts).code
    faults = []
    for mode in modes:
        device = Device(target, engine, threads=1 if engine == "fast" else None)
        try:
            image = prepared.image_on(device, **({} if mode is None else {"swizzle_mode": mode}))
        except (InputError, UnsupportedError):
            continue
        faults += [f"{target} {state} {fault}" for fault in prepared.faults(image, prepared.run_radv(device, code, image))]
    return faults


@pytest.fixture(scope="module", autouse=True)
def _driver() -> None:
    if find_icd("radeon") is None:
        pytest.skip("the Vulkan driver 'radeon' of Mesa is not installed")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_radv_code_on_images(target: str, dimension: str, lavapipe: Lavapipe) -> None:
    faults = []
    for case, state in cases():
        if case.dimension == dimension:
            faults += compare(case, state, lavapipe, target)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("target", TARGETS[2:])
@pytest.mark.parametrize("dimension", ["2d_array", "3d"])
def test_radv_code_on_every_swizzle_mode(target: str, dimension: str, lavapipe: Lavapipe) -> None:
    faults = []
    for operation, state in (("fetch", "nearest_repeat"), ("store", "nearest_repeat"), ("lod", "linear_mirror")):
        faults += compare(ImageCase(operation, dimension, "R8G8B8A8_UNORM"), state, lavapipe, target, modes=tuple(range(1, 32)))
    assert not faults, "\n".join(faults)
