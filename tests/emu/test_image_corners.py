"""Texels of lanes that lie anyhow, by digits of coordinates, in the fast engine: the reference engine's bits, with the vectors of every host.

Levels whose extents are powers of two, as places in single precision want them: of coordinates with one to four digits, slices, volumes, faces; axes
that repeat, end at the last texel or a border, or are mirrored; and waves of which some lanes are lines of the level and others are not.
"""

from __future__ import annotations

import numpy as np
import pytest
from image_kernels import image_instruction
from numpy.typing import NDArray
from test_image_engines import COORDINATES, VECTOR_BITS, Pair, use_vectors
from test_image_fetches import check

from pyaco.descriptors.sampler import Sampler, sampler_descriptor

LANES = np.arange(64)
#: Shape and extents: of one block, of several, of coordinates with three and four digits of four bits, and four and five of three.
LEVELS: tuple[tuple[str, dict[str, int]], ...] = (
    ("2d", {"width": 8, "height": 4}), ("2d", {"width": 256, "height": 128}), ("2d", {"width": 2048, "height": 4}),
    ("2d", {"width": 2, "height": 8192}), ("2d", {"width": 64, "height": 32, "linear": True}), ("2d_array", {"width": 64, "height": 32, "layers": 5}),
    ("3d", {"width": 16, "height": 8, "depth": 32}), ("3d", {"width": 128, "height": 64, "depth": 4}), ("cube", {"width": 64, "height": 64}),
)
FORMATS = ("R8G8B8A8_UNORM", "R32_FLOAT", "R8G8B8A8_SRGB", "R16G16B16A16_FLOAT")
ADDRESSING = (0, 0, 1, 2, 2, 3, 6)


def places(random: np.random.Generator, pair: Pair, size: dict[str, int]) -> NDArray[np.float32]:
    """A picture that is turned, or places without an order, in the level, at its edges or beyond."""
    count = COORDINATES[pair.shape]
    extent = np.array([size["width"], size["height"], size.get("depth", 1)][:count])
    turned = np.stack([LANES % 8 * 0.8 + LANES // 8 * 0.6, LANES // 8 * 0.8 - LANES % 8 * 0.6, LANES * 0.1], 1)[:, :count]
    at = (turned + random.random(count) * extent) / extent if random.integers(2) else random.random((64, count))
    at = at * random.choice([1.0, 1.0, 3.0]) - random.choice([0.0, 0.0, 1.0])
    if pair.shape == "cube":
        at[:, :2] = 1 + np.clip(at[:, :2], 0, 1)
        at[:, 2] = random.integers(0, 6, 64)
    elif pair.shape == "2d_array":
        at[:, 2] = random.integers(-1, 6, 64) if random.integers(2) else 3
    found = at.astype(np.float32)
    if random.integers(4) == 0:
        found[random.integers(64), random.integers(count)] = random.choice([np.nan, np.inf, -1e-39, -1e-20, 1e9, -0.0])
    return found


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("target", ["gfx1030", "gfx1100"])
def test_filters_of_lanes_that_lie_anyhow(target: str, bits: int) -> None:
    """Samples between texels, and gathers."""
    random = np.random.default_rng([bits, int(target[3:])])
    for number, (shape, size) in enumerate(LEVELS):
        for form in FORMATS[:2] if number % 2 else FORMATS[2:]:
            pair = Pair(target, shape, form, random, mips=1, **size)
            use_vectors(pair, bits)
            views = [image.view(shape).words for image in pair.images]
            for turn in range(6):
                clamp = [int(each) for each in random.choice(ADDRESSING, 3)]
                words = sampler_descriptor(Sampler((clamp[0], clamp[1], clamp[2]), 1, 1, cube_wrap=bool(turn % 2)), pair.devices[0].gfx_level)
                name, mask = ("image_gather4_lz", 1) if turn == 5 and shape != "3d" else ("image_sample_lz", 15)
                text = image_instruction(name, target, shape, COORDINATES[shape], mask, sampler=True)
                check(pair, random, text, views, words, address=places(random, pair, size))


def lines(random: np.random.Generator, size: tuple[int, int]) -> NDArray[np.int32]:
    """Texels of each sixteen lanes: columns of a line, the same beyond the level's edge, or any."""
    sixteens = []
    for _ in range(4):
        first = [int(random.integers(size[0] - 15)), int(random.integers(size[1]))]
        if random.integers(3) == 0:
            first = [size[0] - int(random.integers(1, 16)), int(random.choice([0, size[1] - 1, size[1], -1]))]
        texels = np.stack([first[0] + np.arange(16), np.full(16, first[1])], 1)
        kind = random.integers(4)
        if kind == 0:
            texels = np.stack([random.integers(0, each, 16) for each in size], 1)
        elif kind == 1:
            texels[int(random.integers(16))] += random.choice([-1, 1], 2)
        sixteens.append(texels)
    return np.concatenate(sixteens).astype(np.int32)


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100"])
def test_waves_that_are_lines_in_part(target: str, bits: int) -> None:
    """Loads and nearest samples of sixteen columns of a line beside those of other lanes, in levels that lie in squares."""
    random = np.random.default_rng([bits, int(target[3:])])
    for size in ((64, 32), (256, 16), (512, 8)):
        pair = Pair(target, "2d", "R8G8B8A8_UNORM", random, width=size[0], height=size[1], mips=1)
        use_vectors(pair, bits)
        views = [image.view("2d").words for image in pair.images]
        for _ in range(8):
            at = lines(random, size)
            check(pair, random, image_instruction("image_load", target, "2d", 2), views, (0, 0, 0, 0), address=at)
            clamp = [int(each) for each in random.choice(ADDRESSING, 3)]
            words = sampler_descriptor(Sampler((clamp[0], clamp[1], clamp[2]), 0, 0, truncate=bool(random.integers(2))), pair.devices[0].gfx_level)
            text = image_instruction("image_sample_lz", target, "2d", 2, sampler=True)
            check(pair, random, text, views, words, address=((at + random.choice([0.25, 0.5])) / size).astype(np.float32))


@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_full_waves_that_lie_anyhow(bits: int) -> None:
    """Filters of bytes whose results replace their coordinates: in one slice, of layers and of faces, of which some lanes name none; and loads."""
    random = np.random.default_rng([bits, 1])
    levels: tuple[tuple[str, dict[str, int]], ...] = (
        ("2d", {"width": 256, "height": 128}), ("2d", {"width": 1024, "height": 64}), ("2d_array", {"width": 64, "height": 32, "layers": 5}),
        ("2d_array", {"width": 512, "height": 16, "layers": 3}), ("cube", {"width": 16, "height": 16}), ("cube", {"width": 64, "height": 64}),
    )
    for shape, size in levels:
        pair = Pair("gfx1100", shape, "R8G8B8A8_UNORM", random, mips=1, **size)
        use_vectors(pair, bits)
        views = [image.view(shape).words for image in pair.images]
        count = COORDINATES[shape]
        moves = "\n".join(f"v_mov_b32 v{16 + number}, v{24 + number}" for number in range(count))
        for turn in range(10):
            clamp = [int(each) for each in random.choice(ADDRESSING, 3)]
            words = sampler_descriptor(Sampler((clamp[0], clamp[1], clamp[2]), 1, 1, cube_wrap=bool(turn % 2)), pair.devices[0].gfx_level)
            text = image_instruction("image_sample_lz", "gfx1100", shape, count, sampler=True)
            text = f"{moves}\n{text.replace(f'v[24:{23 + count}]', f'v[16:{15 + count}]')}"
            expected, found = pair.run(text, views, words, wave=32 << turn % 2, address=places(random, pair, size))
            np.testing.assert_array_equal(found, expected, err_msg=f"{shape} {size} {clamp}")
        for turn in range(6 if shape == "2d" else 0):
            at = random.integers(0, (size["width"], size["height"]), (64, 2))
            if turn == 0:
                at[int(random.integers(64)), 1] = size["height"]
            text = f"{moves}\n{image_instruction('image_load', 'gfx1100', '2d', 2).replace('v[24:25]', 'v[16:17]')}"
            expected, found = pair.run(text, views, (0, 0, 0, 0), wave=32 << turn % 2, address=at.astype(np.int32))
            np.testing.assert_array_equal(found, expected, err_msg=f"{size} {turn}")
