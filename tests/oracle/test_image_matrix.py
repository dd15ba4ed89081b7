"""A sample of the image matrix: operations, formats, dimensions, swizzle modes and samplers crossed pairwise (`image_matrix` runs them all)."""

from __future__ import annotations

import numpy as np
import pytest
from image_matrix import ALL_STATES, MODES, TARGETS, Crossing, crossings, formats_of, run, table
from image_reference import Reference
from image_shaders import ImageCase, inputs_of, texels_of
from vulkan_peer import Lavapipe

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def matrix(lavapipe: Lavapipe) -> list[Crossing]:
    return crossings(formats_of(lavapipe))


def test_pairs_meet(matrix: list[Crossing]) -> None:
    """Every operation meets every swizzle mode's place, and so does every format; no case is drawn twice."""
    assert len(matrix) == len(set(matrix)) > 1000
    pairs = {pair for each in matrix for pair in each.pairs()}
    for factor in ("operation", "format", "state", "dimension"):
        for value in {getattr(each, factor) for each in matrix}:
            assert all((factor, value, "mode", mode) in pairs for mode in range(MODES)), (factor, value)


@pytest.mark.parametrize(("state", "other"), [
    ("nearest_repeat", "nearest_mirror"), ("nearest_edge", "nearest_mirror_edge"), ("nearest_border", "nearest_black"),
    ("nearest_repeat", "nearest_bias"), ("linear_repeat", "nearest_repeat"), ("linear_edge", "linear_mirror"), ("linear_repeat", "linear_bias"),
    ("linear_one_level", "linear_repeat"),
])  # fmt: skip
@pytest.mark.parametrize("operation", ["lod", "grad_offset", "half_lod"])
def test_reference_tells_samplers_apart(state: str, other: str, operation: str) -> None:
    """What one sampler gives is allowed with that, and not with another one; nor are another layer's texels."""
    case = ImageCase(operation, "2d_array", "R8G8B8A8_UNORM")
    random = np.random.default_rng(4)
    inputs, texels = inputs_of(case, random, 3), texels_of(case, random, 3, 4)
    mine, others = (Reference(case, ALL_STATES[each], texels, inputs) for each in (state, other))
    found = next(iter(mine.candidates()))[0].astype(np.float32).view(np.uint32)
    assert mine.allows(found).all() and not others.allows(found).all(1).all()
    shifted = inputs.copy()
    shifted[:, 0, 2] += 1
    assert not Reference(case, ALL_STATES[state], texels, shifted).allows(found).all(1).all()


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("step", [90, pytest.param(1, marks=pytest.mark.slow)])
def test_compiled_code(matrix: list[Crossing], step: int, engine: str, lavapipe: Lavapipe) -> None:
    """One of so many cases, others on each engine."""
    chosen = matrix[len(engine) % step :: step]
    outcomes = [each for crossing in chosen for each in run(crossing, TARGETS, lavapipe, engine)]
    bad = [fault for each in outcomes for fault in each.faults]
    assert len(outcomes) == len(TARGETS) * len(chosen) > 0
    assert not bad, "\n".join((*bad, table(outcomes)))
