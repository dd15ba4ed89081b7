"""Hostile descriptors; ``image_fuzz.py`` runs as many as one likes."""

from __future__ import annotations

import pytest
from image_fuzz import TARGETS, Cases


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_descriptors(target: str) -> None:
    """Random words, and words of real images with bits changed, give a result or an error that names the place, on both engines the same."""
    cases = Cases(target, 13)
    for _ in range(250):
        cases.check()
    cases.check_memory()
    assert min(cases.stops["result"], cases.stops["error"]) > 40, cases.stops


@pytest.mark.parametrize("target", TARGETS)
def test_all_instructions_with_all_descriptors(target: str) -> None:
    """An instruction may name another shape than the image has: a gather of two coordinates from a cube once read a face that nothing had set."""
    cases = Cases(target, 17)
    for _ in range(2):
        cases.check_all()
    cases.check_memory()
    assert cases.stops["result"] > 500, cases.stops
