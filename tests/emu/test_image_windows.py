"""Filters of pictures that are turned, and of columns of a line, in the fast engine: the reference engine's bits, with the vectors of every host.

Texels of the first are found in windows of 16 x 16, those of the second by squares. Waves whose places lie in one window, or in none, of one level
or of two that are mixed; where the picture begins again, ends, or is smaller than a window; elements whose sums are no numbers; results in the
registers of the coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from image_kernels import image_instruction
from numpy.typing import NDArray
from test_image_engines import PARTIAL, VECTOR_BITS, Pair, use_vectors

from pyaco.descriptors.sampler import Sampler, sampler_descriptor

LANES = np.arange(64)
ALL = 0xFFFFFFFF
SIZES = ((64, 32), (8, 16), (256, 128))
FORMATS = ("R8G8B8A8_UNORM", "R32_FLOAT", "Z32_FLOAT", "R8G8B8A8_SRGB", "R16G16B16A16_FLOAT", "R32G32B32A32_FLOAT", "R16G16B16A16_SNORM", "DXT1_RGBA",
           "DXT5_SRGBA", "RGTC2_SNORM")
TURNS = {256: 5, 512: 14}


def made(target: str, form: str, size: tuple[int, int], random: np.random.Generator) -> Pair:
    """An image whose floats are mostly numbers."""
    pair = Pair(target, "2d", form, random, width=size[0], height=size[1], mips=1)
    if form.endswith("FLOAT"):
        level = pair.images[0].numpy(0)
        floats = (random.random(level.nbytes // (2 if "16" in form else 4)) * 4 - 2).astype("f2" if "16" in form else "f4")
        floats[random.random(floats.size) < random.choice([0.0, 1e-3])] = random.choice([np.nan, np.inf, -0.0])
        for image in pair.images:
            image.write(floats.view(level.dtype).reshape(level.shape), 0)
    return pair


def turned(random: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float32]:
    """Places of a workgroup of eight columns, turned by any angle, at about a texel each, in the level or at an edge; a lane may be elsewhere."""
    angle, scale = random.random() * 2 * np.pi, random.choice([0.4, 1.0, 1.0, 1.2, 2.0])
    across, down = LANES % 8 - 3.5, LANES // 8 - 3.5
    at = np.stack([across * np.cos(angle) - down * np.sin(angle), across * np.sin(angle) + down * np.cos(angle)], 1) * scale
    centre = np.where(random.integers(0, 5, 2) == 0, random.choice([0.0, 1.0], 2), random.random(2))
    found = (centre + at / size).astype(np.float32)
    if random.integers(5) == 0:
        found[random.integers(64), random.integers(2)] = random.choice([np.nan, -1e-39, -1e-9, 1e9, 0.25])
    return found


def check_turned(pair: Pair, random: np.random.Generator, size: tuple[int, int], form: str, wave: int) -> None:
    """Sample, compare or gather once."""
    swizzle: dict[str, Any] = {"swizzle": tuple(int(k) for k in random.integers(0, 6, 4))} if random.integers(3) == 0 else {}
    views = [image.view("2d", **swizzle).words for image in pair.images]
    clamp = [int(each) for each in random.choice([0, 0, 0, 2, 2, 6, 1], 2)]
    words = sampler_descriptor(Sampler((clamp[0], clamp[1], 0), 1, 1, compare=int(random.integers(8))), pair.devices[0].gfx_level)
    compares, gathers = form == "Z32_FLOAT", form in FORMATS[:2] and random.integers(4) == 0
    mask = 1 if gathers or compares else int(random.choice([15, 15, int(random.integers(1, 16))]))
    name = "image_gather4_lz" if gathers else "image_sample_c_lz" if compares else "image_sample_lz"
    text = image_instruction(name, pair.target, "2d", 3 if compares else 2, mask, data=4 if gathers else mask.bit_count(), sampler=True)
    at = turned(random, size)
    data = random.integers(0, 1 << 32, (64, 8), dtype=np.uint32)
    given = np.concatenate([random.random((64, 1)).astype(np.float32), at], 1) if compares else at
    if mask == 15 and random.integers(2):
        text = text.replace("v[24:25]", "v[18:19]")
        data[:, 2:4] = at.view(np.uint32)
    expected, found = pair.run(text, views, words, address=given, data=data, wave=wave)
    np.testing.assert_array_equal(found, expected, err_msg=f"{form} {size} {text} {list(map(hex, words))} {list(map(hex, views[0]))}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("form", FORMATS)
def test_turned_pictures(form: str, bits: int) -> None:
    """Waves of both sizes, levels of all sizes, any addressing."""
    random = np.random.default_rng([bits, FORMATS.index(form)])
    for number, size in enumerate(SIZES):
        pair = made("gfx1100" if number % 2 else "gfx1030", form, size, random)
        use_vectors(pair, bits)
        for turn in range(TURNS[bits]):
            check_turned(pair, random, size, form, 64 if turn % 3 else 32)


def level_address(name: str, random: np.random.Generator) -> NDArray[np.float32]:
    """What comes beside a wave's coordinates to choose levels: mostly the same two for all lanes, or one, or other ones for each half or lane."""
    kind, lod = random.integers(6), random.choice([0.0, 0.3, 1.0, 1.75, 2.5, 9.0])
    if name == "image_sample_d":
        given = np.full((64, 4), [0.03, 0.004, -0.004, 0.02]) * 2.0 ** random.integers(-2, 3)
        return (given * (1 + (random.random((64, 1)) if kind == 4 else LANES[:, None] // 32 if kind == 5 else 0))).astype(np.float32)
    lods = np.full((64, 1), lod) + (random.random((64, 1)) * 0.2 if kind == 3 else random.random((64, 1)) * 3 if kind == 4 else 0)
    return (lods + (LANES[:, None] // 32 * random.choice([0.1, 1.0]) if kind == 5 else 0)).astype(np.float32)


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("name", ["image_sample_l", "image_sample_d"])
def test_turned_levels(name: str, bits: int) -> None:
    """Waves in windows of the levels that lanes give, between which filters mix; in images with fewer levels, and of few texels."""
    random = np.random.default_rng([bits, len(name), ord(name[-1])])
    for size, mips in (((128, 64), 5), ((32, 32), 6), ((256, 128), 2)):
        pair = Pair("gfx1100" if mips % 2 else "gfx1030", "2d", "R8G8B8A8_UNORM", random, width=size[0], height=size[1], mips=mips)
        use_vectors(pair, bits)
        for turn in range(4 * TURNS[bits]):
            swizzle: dict[str, Any] = {"swizzle": tuple(int(k) for k in random.integers(0, 6, 4))} if turn % 3 == 0 else {}
            views = [image.view("2d", **swizzle).words for image in pair.images]
            clamp = [int(each) for each in random.choice([0, 0, 2, 6], 2)]
            minified, mip = (int(each) for each in (random.choice([1, 1, 0]), random.choice([2, 2, 1])))
            words = sampler_descriptor(Sampler((clamp[0], clamp[1], 0), 1, minified, mip), pair.devices[0].gfx_level)
            mask = int(random.choice([15, 15, int(random.integers(1, 16))]))
            at, levels = turned(random, size), level_address(name, random)
            given = np.concatenate([levels, at] if name == "image_sample_d" else [at, levels], 1)
            count = given.shape[1]
            text = image_instruction(name, pair.target, "2d", count, mask, data=mask.bit_count(), sampler=True)
            data = random.integers(0, 1 << 32, (64, 8), dtype=np.uint32)
            if mask == 15 and turn % 2:                     # the results lie where a part of the address did
                text, data[:, 2 : 2 + count] = text.replace(f"v[24:{23 + count}]", f"v[18:{17 + count}]"), given.view(np.uint32)
            expected, found = pair.run(text, views, words, address=given, data=data, wave=64 if turn % 4 else 32)
            np.testing.assert_array_equal(found, expected, err_msg=f"{size} {text} {list(map(hex, words))} {levels[0]}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("value", [0, 255, None])
def test_turned_extremes(value: int | None, bits: int) -> None:
    """Bytes that are all the least or the greatest, or some of each: sums reach the ends of what their words hold."""
    random = np.random.default_rng(bits)
    pair = Pair("gfx1100", "2d", "R8G8B8A8_UNORM", random, width=64, height=64, mips=1)
    level = pair.images[0].numpy(0)
    raw = np.full(level.nbytes, value, np.uint8) if value is not None else random.choice(np.array([0, 255], np.uint8), level.nbytes)
    for image in pair.images:
        image.write(raw.view(level.dtype).reshape(level.shape), 0)
    use_vectors(pair, bits)
    words = sampler_descriptor(Sampler((0, 0, 0), 1, 1), pair.devices[0].gfx_level)
    text = image_instruction("image_sample_lz", "gfx1100", "2d", 2, sampler=True)
    for turn in range(8):
        views = [image.view("2d").words for image in pair.images]
        expected, found = pair.run(text, views, words, address=turned(random, (64, 64)), wave=64 if turn % 2 else 32)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("shape", ["2d_array", "3d"])
def test_turned_slices(shape: str, bits: int) -> None:
    """Waves that are turned in a slice that all lanes name, or in a volume, whose third coordinates differ."""
    random = np.random.default_rng([bits, len(shape)])
    pair = Pair("gfx1100", shape, "R8G8B8A8_UNORM", random, width=64, height=32, mips=1)
    use_vectors(pair, bits)
    text = image_instruction("image_sample_lz", "gfx1100", shape, 3, sampler=True)
    for turn in range(12):
        clamp = int(random.choice([0, 2, 6]))
        words = sampler_descriptor(Sampler((clamp, clamp, clamp), 1, 1), pair.devices[0].gfx_level)
        third = random.random((64, 1)) if shape == "3d" else np.full((64, 1), turn % 3)
        given = np.concatenate([turned(random, (64, 32)), third.astype(np.float32)], 1)
        expected, found = pair.run(text, [image.view(shape).words for image in pair.images], words, address=given, wave=64 if turn % 2 else 32)
        np.testing.assert_array_equal(found, expected, err_msg=f"{shape} {list(map(hex, words))}")


def lines(random: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float32]:
    """Places of each sixteen lanes: of columns of a line that have the same fractions, up to the level's edges; one of them may be elsewhere."""
    sixteens = []
    for _ in range(4):
        first = [int(random.integers(-1, size[0] - 15)), int(random.integers(-1, size[1]))] if random.integers(3) else [4, 4]
        sixteens.append((np.stack([first[0] + np.arange(16), np.full(16, first[1])], 1) + 0.5 + random.random(2)) / size)
    at = np.concatenate(sixteens).astype(np.float32)
    if random.integers(4) == 0:
        at[random.integers(64), random.integers(2)] = random.choice([np.nan, 0.25, -1e-39])
    return at


@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_columns_of_lines(bits: int) -> None:
    """Waves of both sizes, any addressing, components in another order."""
    random = np.random.default_rng(bits)
    for size in ((64, 32), (16, 8), (128, 16)):
        pair = Pair("gfx1100", "2d", "R8G8B8A8_UNORM", random, width=size[0], height=size[1], mips=1)
        use_vectors(pair, bits)
        for turn in range(16):
            views = [image.view("2d", swizzle=((2, 3, 4, 5), (4, 3, 2, 5), (2, 3, 4, 1))[turn % 3]).words for image in pair.images]
            clamp = [int(each) for each in random.choice([0, 2, 6], 2)]
            words = sampler_descriptor(Sampler((clamp[0], clamp[1], 0), 1, 1), pair.devices[0].gfx_level)
            text = image_instruction("image_sample_lz", "gfx1100", "2d", 2, sampler=True)
            expected, found = pair.run(text, views, words, address=lines(random, size), wave=64 if turn % 4 else 32)
            np.testing.assert_array_equal(found, expected, err_msg=f"{size} {list(map(hex, words))}")


#: What a wave with idle lanes samples: an instruction, the image's shape and format, and its coordinates, those of a reference first.
LENT = [
    ("image_sample_lz", "2d", "R8G8B8A8_UNORM", 2), ("image_gather4_lz", "2d", "R8G8B8A8_UNORM", 2), ("image_sample_lz", "2d", "R32_FLOAT", 2),
    ("image_sample_c_lz", "2d", "Z32_FLOAT", 3), ("image_sample_lz", "2d", "R8G8B8A8_SRGB", 2), ("image_sample_lz", "2d", "DXT1_RGBA", 2),
    ("image_sample_lz", "2d", "R16G16B16A16_FLOAT", 2), ("image_sample_lz", "2d", "R32G32B32A32_FLOAT", 2),
    ("image_sample_lz", "cube", "R8G8B8A8_UNORM", 3), ("image_sample_lz", "2d_array", "R8G8B8A8_UNORM", 3),
    ("image_sample_lz", "3d", "R8G8B8A8_UNORM", 3),
]


def made_for(case: tuple[str, str, str, int], bits: int, random: np.random.Generator, mips: int = 1) -> Pair:
    """An image of a case of `LENT`, on engines with such vectors."""
    _, shape, form, _ = case
    if shape == "2d" and mips == 1:
        pair = made("gfx1100", form, (32, 16), random)
    else:
        pair = Pair("gfx1100", shape, form, random, width=32, height=32 if shape == "cube" else 16, mips=mips)
    use_vectors(pair, bits)
    return pair


def check_idle(pair: Pair, case: tuple[str, str, str, int], random: np.random.Generator, turn: int, low: int, high: int) -> None:
    """Execute an instruction with some lanes active: the others keep what they have in registers of results, and have any coordinates."""
    name, shape, _, count = case
    wave, linear, clamp = 64 if turn % 2 else 32, int(turn % 4 != 3), int(random.choice([0, 2, 6]))
    sampler = Sampler((clamp, clamp, clamp), linear, linear, 2 if "_lz" not in name else 0, compare=1, cube_wrap=bool(turn % 2))
    words, views = sampler_descriptor(sampler, pair.devices[0].gfx_level), [image.view(shape).words for image in pair.images]
    at = (lines(random, (32, 16)) if turn % 3 else turned(random, (32, 16)))
    third = random.random((64, 1)) if shape == "3d" else np.full((64, 1), turn % 3)
    if name == "image_sample_d":
        given = np.concatenate([random.random((64, 4) if turn % 2 else (1, 4)) * np.full((64, 1), 0.2), at], 1)
    else:
        given = np.concatenate([random.random((64, 1)), at] if "_c_" in name else [at, 2 * third if name == "image_sample_l" else third], 1)
    given = given[:, :count].astype(np.float32)
    idle = (((high << 32 | low) if wave == 64 else low << 32 | low) >> LANES.astype(np.uint64) & np.uint64(1)) == 0
    given[idle] = random.choice(np.array([np.nan, np.inf, -1e30, 1e-39, 0.5], np.float32), (int(idle.sum()), count))
    mask = 1 << int(random.integers(4)) if "gather" in name else 1 if "_c_" in name else int(random.choice([15, 15, 6]))
    text = image_instruction(name, "gfx1100", shape, count, mask, data=4 if "gather" in name else mask.bit_count(), sampler=True)
    data = random.integers(0, 1 << 32, (64, 8), dtype=np.uint32)
    if count == 2 and turn % 2:                             # the results lie where the address did
        text, data[:, 2:4] = text.replace("v[24:25]", "v[18:19]"), given.view(np.uint32)
    halves = [("lo", low), *([("hi", high)] if wave == 64 else [])]
    leave, wake = ([f"s_mov_b32 exec_{half}, {value:#x}" for half, value in each] for each in (halves, [(half, ALL) for half, _ in halves]))
    text = "\n".join([*leave, text, *wake])
    expected, found = pair.run(text, views, words, address=given, data=data, wave=wave)
    np.testing.assert_array_equal(found, expected, err_msg=f"{text} {wave} {list(map(hex, words))}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("case", LENT, ids="{0[0]}-{0[1]}-{0[2]}".format)
def test_idle_lanes(case: tuple[str, str, str, int], bits: int) -> None:
    """Filters, comparisons and gathers of some lanes."""
    random = np.random.default_rng([bits, len(case[2]), case[3]])
    pair = made_for(case, bits, random)
    for turn, low in enumerate((0xFFFF, ALL, *PARTIAL)):
        check_idle(pair, case, random, turn, low, int(random.choice([0, 0, low, 0xFFFF0000])))


#: The same between levels, whose lanes give the level or derivatives.
BETWEEN = [("image_sample_l", "2d", "R8G8B8A8_UNORM", 3), ("image_sample_d", "2d", "R8G8B8A8_UNORM", 6), ("image_sample_d", "2d", "R8G8B8A8_SRGB", 6),
           ("image_sample_l", "2d", "R16G16B16A16_FLOAT", 3), ("image_sample_l", "2d", "DXT5_SRGBA", 3)]


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("case", LENT + BETWEEN, ids="{0[0]}-{0[1]}-{0[2]}".format)
def test_sixteen_lanes(case: tuple[str, str, str, int], bits: int) -> None:
    """A wave of which the first sixteen lanes alone are active, as of a workgroup of so many: they are all that is filtered."""
    random = np.random.default_rng([bits, len(case[2]), case[3], 1])
    for mips in (3,) if case in BETWEEN else (1, 1):
        pair = made_for(case, bits, random, mips)
        for turn in range(8):
            check_idle(pair, case, random, turn, 0xFFFF, 0)
