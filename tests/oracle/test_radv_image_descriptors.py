"""Samplers and texel buffers as RADV writes them."""

from __future__ import annotations

import random

import pytest
from compare_image_descriptors import TARGETS, compare

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("target", TARGETS)
def test_random_samplers_and_texel_buffers(target: str) -> None:
    for what, found in compare(target, 40, random.Random(5)).items():
        assert found["agreed"] == found["tried"], (what, found["first_differences"])
