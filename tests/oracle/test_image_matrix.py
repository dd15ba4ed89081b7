"""A sample of the image matrix: operations, formats, dimensions, swizzle modes and samplers crossed pairwise (`image_matrix` runs them all)."""

from __future__ import annotations

from itertools import islice

import pytest
from image_matrix import MODES, TARGETS, Crossing, crossings, formats_of, run, table
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


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("step", [45, pytest.param(1, marks=pytest.mark.slow)])
def test_compiled_code(matrix: list[Crossing], step: int, engine: str, lavapipe: Lavapipe) -> None:
    """One of so many cases, others on each engine."""
    outcomes = [each for crossing in islice(matrix, len(engine), None, step) for each in run(crossing, TARGETS, lavapipe, engine)]
    bad = [fault for each in outcomes for fault in each.faults]
    assert len(outcomes) >= 4 * (len(matrix) // step - 1)
    assert not bad, "\n".join((*bad, table(outcomes)))
