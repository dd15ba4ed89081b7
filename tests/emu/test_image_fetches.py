"""Loads, stores and nearest texels of a wave in the fast engine give the reference engine's bits, wherever its lanes have their texels.

Random surfaces (extents that are powers of two and others, several blocks, tiled and linear), parts of them, formats, arrangements of lanes, waves
that are partly active, texels outside of the level; with the vectors of every host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from image_kernels import image_instruction
from numpy.typing import NDArray
from test_image_engines import COORDINATES, FORMATS, VECTOR_BITS, Pair, use_vectors

from pyaco.descriptors.sampler import Sampler, sampler_descriptor

LANES = np.arange(64)
#: Extents by shape: of one block, of several in a line of them that is no power of two, and of coordinates with four digits.
SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "1d": ((61,), (5000,)), "2d": ((32, 16), (300, 200), (4200, 3), (3, 4200)), "2d_array": ((17, 20, 5), (130, 70, 9)),
    "3d": ((19, 21, 11), (70, 40, 9)), "cube": ((16, 16), (80, 80)),
}
AXES = ("width", "height")
#: What stores get besides numbers about those that fractions have.
UNUSUAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-41, 65519.9, 0.5, 1e30], np.float32)
#: Turns with each format, and of how many formats a case of the usual run takes one.
TURNS, USUAL = 3, 3


def made(target: str, shape: str, form: str, random: np.random.Generator) -> tuple[Pair, list[int]]:
    """An image with random texels, and the extent of each axis of its coordinates."""
    size = [int(each) for each in SIZES[shape][random.integers(len(SIZES[shape]))]]
    options: dict[str, int] = dict(zip(AXES, size, strict=False))
    if len(size) == 3:
        options["depth" if shape == "3d" else "layers"] = size[2]
    if shape in ("1d", "2d") and random.integers(3) == 0 and form[0] != "Z":
        options.update(linear=True, mips=1)
    pair = Pair(target, shape, form, random, **options)
    return pair, size if shape != "cube" else [*size, 6]


def texels(random: np.random.Generator, size: list[int]) -> NDArray[np.int32]:
    """Texels of 64 lanes: as in a workgroup of some shape, backwards, all the same, scattered, or partly outside."""
    across = int(random.choice([1, 2, 8, 16, 32, 64]))
    step = random.choice([-1, 0, 1, 1, 1, 2, 37, 101], 3)
    first = [random.integers(each) for each in size]
    found = np.stack([axis * 0 + lane * by + start for axis, lane, by, start in
                      zip([LANES] * len(size), (LANES % across, LANES // across, LANES // 32), step, first, strict=False)], 1)
    kind = random.integers(4)
    if kind == 0:
        found = random.integers(0, size, (64, len(size)))
    elif kind == 1:
        found %= size
    if random.integers(3) == 0:
        some = random.random(found.shape) < 0.1
        found[some] = random.choice([-1, 1 << 20, -(1 << 31), 0x7FFFFFFF, size[0], size[-1]], int(some.sum()))
    return found.astype(np.int32)


def masked(random: np.random.Generator, text: str, wave: int) -> str:
    """The instruction with some lanes active, or with all."""
    if random.integers(2):
        return text
    masks = [int(random.choice([0xFFFFFFFF, 0xFFFF, 0xFF00FF00, 1, 0x80000000, 0, int(random.integers(1 << 32))])) for _ in range(2)]
    halves = ["lo", "hi"][: wave // 32]
    return "\n".join([f"s_mov_b32 exec_{half}, {mask:#x}" for half, mask in zip(halves, masks, strict=False)] + [text]
                     + [f"s_mov_b32 exec_{half}, -1" for half in halves])


def check(pair: Pair, random: np.random.Generator, text: str, views: list[Any], sampler: Any, **given: Any) -> None:
    """Compare what both engines leave in registers, and in memory."""
    wave = int(random.choice([32, 64])) if pair.target in ("gfx1030", "gfx1100") else 0
    text = masked(random, text, wave or (64 if pair.target == "gfx900" else 32))
    data = random.integers(0, 1 << 32, (64, 8), dtype=np.uint32)
    data[:, :4] = np.where(random.integers(0, 2, (64, 1)), data[:, :4], (random.random((64, 4)) * 4 - 2).astype(np.float32).view(np.uint32))
    unusual = random.random((64, 4)) < 0.05
    data[:, :4][unusual] = random.choice(UNUSUAL, int(unusual.sum())).view(np.uint32)
    expected, found = pair.run(text, views, sampler, data=data, wave=wave, **given)
    message = f"{text} {list(map(hex, views[0]))} {list(map(hex, sampler))}"
    np.testing.assert_array_equal(found, expected, err_msg=message)
    np.testing.assert_array_equal(pair.images[1].memory, pair.images[0].memory, err_msg=message)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_fetches_of_both_engines(bits: int, shape: str) -> None:
    """Loads, stores, and samples that do not filter."""
    check_fetches("gfx1030", bits, shape, FORMATS[(bits // 256 + list(SIZES).index(shape)) % USUAL :: USUAL])


@pytest.mark.slow
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("target", ["gfx900", "gfx1200"])
def test_fetches_of_other_chips(target: str, bits: int, shape: str) -> None:
    """The same with every format."""
    check_fetches(target, bits, shape, FORMATS)


def check_fetches(target: str, bits: int, shape: str, formats: tuple[str, ...]) -> None:
    """Compare the engines on random surfaces of some formats."""
    random = np.random.default_rng([bits, sum(map(ord, target + shape))])
    for form in formats:
        if shape == "3d" and form[0] == "Z":
            continue
        pair, size = made(target, shape, form, random)
        use_vectors(pair, bits)
        dimension = "2d_array" if shape == "cube" else shape
        for _ in range(TURNS):
            views, mask = pair.view_words(random), int(random.choice([15, 15, int(random.integers(1, 16))]))
            at = texels(random, size)
            text = image_instruction("image_load", target, dimension, len(size), mask, data=mask.bit_count())
            check(pair, random, text, views, (0, 0, 0, 0), address=at)
            if not form.endswith("SRGB") and form[0] != "Z":
                text = image_instruction("image_store", target, dimension, len(size), mask, data=mask.bit_count())
                check(pair, random, text, views, (0, 0, 0, 0), address=at)
            check_nearest(pair, random, size, form)


def check_nearest(pair: Pair, random: np.random.Generator, size: list[int], form: str) -> None:
    """Sample one level of a part of the image, at places about texels' middles and edges."""
    shape, count = pair.shape, COORDINATES[pair.shape]
    part = {"swizzle": tuple(int(k) for k in random.integers(0, 6, 4))} if random.integers(3) == 0 else {}
    views = [image.view(shape, levels=(0, 1), **part).words for image in pair.images]
    unnormalized = bool(random.integers(6) == 0)
    pick = [int(each) for each in random.choice([0, 0, 1, 2, 2, 3, 6], 3)]
    linear = int("INT" in form and random.integers(2))
    words = sampler_descriptor(Sampler((pick[0], pick[1], pick[2]), linear, linear, 0, truncate=bool(random.integers(2)), unnormalized=unnormalized,
                                       cube_wrap=bool(random.integers(2))), pair.devices[0].gfx_level)
    at = (texels(random, size) + random.choice([0.0, 0.25, 0.5, 1 / 3, 255.7 / 256])) / (1 if unnormalized else np.array(size))
    if shape == "2d_array" or shape == "cube":
        at[:, 2] = random.integers(-1, size[2] + 1, 64) + random.choice([0.0, 0.4])
    if shape == "cube":
        at[:, :2] = np.clip(at[:, :2], 0, 1) + 1
    unusual = random.random(at.shape) < random.choice([0.0, 0.0, 0.03])
    at[unusual] = random.choice([np.nan, np.inf, -np.inf, 1e30, 1e-40, -1e-40, -0.0, 3e9], int(unusual.sum()))
    mask = int(random.choice([15, int(random.integers(1, 16))]))
    text = image_instruction("image_sample_lz", pair.target, shape, count, mask, data=mask.bit_count(), sampler=True)
    check(pair, random, text, views, words, address=at.astype(np.float32))


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("target", ["gfx900", "gfx1100"])
def test_lanes_of_workgroups(target: str, bits: int) -> None:
    """Lanes beside each other, from any texel of a square of 4 x 4 on, to the edges of a level and beyond: loads, nearest samples, gathers."""
    random = np.random.default_rng([bits, int(target[3:])])
    for size in ((64, 32), (43, 30), (9, 90)):
        pair = Pair(target, "2d", "R8G8B8A8_UNORM", random, width=size[0], height=size[1], mips=1)
        use_vectors(pair, bits)
        views = [image.view("2d").words for image in pair.images]
        for across in (8, 8, 8, 16, 32, 64):
            first = np.array([random.integers(max(edge - across, 1) + 2) for edge in size]) - (random.integers(8) == 0)
            at = np.stack([LANES % across, LANES // across], 1) + first
            check(pair, random, image_instruction("image_load", target, "2d", 2), views, (0, 0, 0, 0), address=at.astype(np.int32))
            clamp = int(random.choice([0, 2]))
            for name, linear in (("image_sample_lz", 0), ("image_gather4_lz", 1)):
                words = sampler_descriptor(Sampler((clamp, clamp, clamp), linear, linear, truncate=not linear), pair.devices[0].gfx_level)
                text = image_instruction(name, target, "2d", 2, 4 if linear else 15, sampler=True)
                check(pair, random, text, views, words, address=((at + random.choice([0.5, 0.75])) / size).astype(np.float32))


@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_results_replace_coordinates(bits: int) -> None:
    """A wave is placed before the first of its components is written."""
    random = np.random.default_rng(bits)
    for form in ("R8G8B8A8_UNORM", "R32G32B32A32_FLOAT", "R16G16B16A16_UNORM"):
        pair, size = made("gfx1030", "2d", form, random)
        use_vectors(pair, bits)
        text = "v_mov_b32 v16, v24\nv_mov_b32 v17, v25\nimage_load v[16:19], v[16:17], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D unorm"
        for _ in range(8):
            check(pair, random, text, [image.view("2d").words for image in pair.images], (0, 0, 0, 0), address=texels(random, size))


@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_stores_in_the_order_of_lanes(bits: int) -> None:
    """Of lanes that store to one texel the last one counts."""
    random = np.random.default_rng(bits)
    for form in ("R8_UINT", "R16G16_UINT", "R32G32_UINT", "R32G32B32A32_UINT"):
        pair, _ = made("gfx1030", "2d", form, random)
        use_vectors(pair, bits)
        text = image_instruction("image_store", "gfx1030", "2d", 2, 15)
        at = random.integers(0, 3, (64, 2)).astype(np.int32)
        views = [image.view("2d").words for image in pair.images]
        before = pair.images[0].memory.copy()
        data = np.repeat(np.arange(64, dtype=np.uint32)[:, None] + 1, 8, 1)
        pair.run(text, views, (0, 0, 0, 0), address=at, data=data, stores=True, wave=64)
        np.testing.assert_array_equal(pair.images[1].memory, pair.images[0].memory)
        assert not np.array_equal(before, pair.images[0].memory)
