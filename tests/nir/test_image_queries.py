"""Where queries of images find what they ask for."""

from __future__ import annotations

import pytest

from pyaco._core.nir.lower_image_queries import FIELDS
from pyaco.registers import registers

NAMES = (("WIDTH", "WIDTH_LO"), ("WIDTH_HI",), ("HEIGHT",), ("DEPTH",), ("BASE_ARRAY",), ("BASE_LEVEL",), ("LAST_LEVEL",))


@pytest.mark.parametrize(("level", "generation"), [(90, 0), (100, 1), (103, 1), (110, 1), (115, 1), (120, 2)])
def test_fields_of_image_descriptors(level: int, generation: int) -> None:
    database = registers(level)
    found = {
        field.name: (word, field.low, field.high - field.low + 1) for word in range(1, 6) for field in database[f"SQ_IMG_RSRC_WORD{word}"].fields
    }
    for names, place in zip(NAMES, FIELDS[generation], strict=True):
        known = [found[name] for name in names if name in found]
        assert known == ([place] if place[2] else []), names
