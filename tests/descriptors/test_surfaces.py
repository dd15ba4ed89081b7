"""Descriptors of images, FMASK, colour and depth targets against a sample of what drivers write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from replay_descriptors import Replayer, request

from pyaco.addrlib import gpu_config
from pyaco.addrlib.driver.queries import compute_surface
from pyaco.descriptors.image import ImageView, fmask_descriptor, image_descriptor
from pyaco.errors import InputError, UnsupportedError

FACTS = json.loads(Path(__file__).with_name("facts.json").read_text())


class Sample(Replayer):
    """The replays on rows that carry their chip and the request of their surface."""

    def __init__(self) -> None:
        self.formats = self

    def __getitem__(self, name: str) -> str:
        return name

    def surface(self, row: Any) -> Any:
        config = gpu_config(row["chip"])
        return config, compute_surface(config, request(row["surface"]))


REPLAYS = {"desc_texture": Sample.texture, "desc_fmask": Sample.fmask, "desc_cb": Sample.color, "desc_ds": Sample.depth}


@pytest.mark.parametrize("index", range(len(FACTS)))
def test_words_are_those_of_drivers(index: Any) -> None:
    table, chip, asked, row = FACTS[index]
    found = REPLAYS[table](Sample(), row | {"chip": chip, "surface": asked})
    different = {name: (hex(value), hex(row[name] & 0xFFFFFFFFFF)) for name, value in found.items()
                 if value & 0xFFFFFFFF != row[name] & 0xFFFFFFFF}
    assert not different


def test_every_generation_is_sampled() -> None:
    assert {gpu_config(chip).level for _, chip, _, _ in FACTS} == {60, 70, 80, 90, 100, 103, 110, 115, 120}


def test_what_cannot_be() -> None:
    config = gpu_config("navi31")
    asked = next(fact[2] for fact in FACTS if fact[1] == "navi31" and fact[0] == "desc_texture")
    surface = compute_surface(config, request(asked))
    with pytest.raises(UnsupportedError, match="FMASK"):
        fmask_descriptor(config, surface, ImageView(0, "R8_UNORM", 1, 1, 1, 9, samples=2))
    with pytest.raises(InputError, match="does not fit"):
        image_descriptor(config, surface, ImageView(0, "R8_UNORM", 1 << 20, 1, 1, 9))
