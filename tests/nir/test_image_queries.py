"""Where queries of images find what they ask for."""

from __future__ import annotations

import pytest

from pyaco._core.nir.lower_image_queries import FIELDS
from pyaco.registers import registers

NAMES = (("WIDTH", "WIDTH_LO"), ("WIDTH_HI",), ("HEIGHT",), ("DEPTH",), ("BASE_ARRAY",), ("BASE_LEVEL",), ("LAST_LEVEL",),
         ("LAST_ARRAY", "DEPTH"))


@pytest.mark.parametrize(("level", "generation"), [(60, 0), (70, 0), (80, 0), (90, 1), (100, 2), (103, 2), (110, 2), (115, 2), (120, 3)])
def test_fields_of_image_descriptors(level: int, generation: int) -> None:
    database = registers(level)
    found = {
        field.name: (word, field.low, field.high - field.low + 1) for word in range(1, 6) for field in database[f"SQ_IMG_RSRC_WORD{word}"].fields
    }
    for names, place in zip(NAMES, FIELDS[generation], strict=True):
        known = [found[name] for name in names if name in found]       # up to GFX8 the depth stands beside the last layer
        assert known[:1] == ([place] if place[2] else []), names
