"""What our compiler makes of shaders with images, run on our engines, equals lavapipe: every operation, dimension, class of format and sampler."""

from __future__ import annotations

import pytest
from image_cases import LEVELS, SAMPLERS, Prepared, cases
from image_shaders import DIMENSIONS
from vulkan_peer import Lavapipe

from pyaco.emu import Device

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle

TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_compiled_code_on_images(dimension: str, lavapipe: Lavapipe) -> None:
    faults, ran = [], 0
    for case, state in cases():
        if case.dimension != dimension:
            continue
        prepared = Prepared(case, SAMPLERS[state], lavapipe)
        for target in TARGETS:
            device = Device(target, threads=1)
            image = prepared.image_on(device)
            faults += [f"{target} {state} {fault}" for fault in prepared.faults(image, prepared.run_compiled(device, image))]
            ran += 1
    assert ran > 4 * LEVELS and not faults, "\n".join(faults)
