"""A slice of ``compare_descriptor_layouts``: layouts, user SGPRs and bytes of descriptor sets as RADV makes them."""

from __future__ import annotations

import random
import shutil

import pytest
from compare_descriptor_layouts import compiled, support, written
from vulkan_peer import Radv

pytestmark = pytest.mark.oracle


def all_agree(found: dict[str, object]) -> None:
    assert found["tried"] and found["agreed"] == found["tried"], found["first_differences"]


def test_places_of_bindings(radv_gfx1030: Radv) -> None:
    all_agree(support(radv_gfx1030, 1000, random.Random(1)))


def test_where_shaders_find_descriptors(radv_gfx1030: Radv) -> None:
    if not shutil.which("glslangValidator"):
        pytest.skip("glslangValidator is not installed")
    all_agree(compiled(radv_gfx1030, 8, random.Random(2)))


def test_bytes_of_sets(radv_gfx1030: Radv, radv_gfx1100: Radv) -> None:
    all_agree(written(radv_gfx1030, 40, random.Random(3), 103))
    all_agree(written(radv_gfx1100, 40, random.Random(4), 110))
