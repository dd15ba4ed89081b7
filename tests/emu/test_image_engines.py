"""Image instructions of the fast engine give the reference engine's bits: random images, views, samplers, coordinates."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from image_kernels import image_instruction, kernel, run_image
from numpy.typing import NDArray

from pyaco._core.emu_fast.engine import FastEngine, vector_bits
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device

#: One chip of wave64, one of wave32 with 16-bit halves of registers of its own, one that names each register.
TARGETS = (pytest.param("gfx700", marks=pytest.mark.slow), "gfx900", "gfx1030", "gfx1200")
FORMATS = (
    "R8_UNORM", "R8G8_UNORM", "R8G8B8A8_UNORM", "B8G8R8A8_UNORM", "R8G8B8A8_SNORM", "R8G8B8A8_SRGB", "R8G8B8A8_UINT", "R8_SINT",
    "R16_UNORM", "R16_SNORM", "R16_FLOAT", "R16G16_FLOAT", "R16G16B16A16_FLOAT", "R16G16B16A16_UINT", "R32_FLOAT", "R32G32_FLOAT",
    "R32G32B32A32_FLOAT", "R32_UINT", "Z32_FLOAT", "Z16_UNORM", "R10G10B10A2_UNORM", "R11G11B10_FLOAT", "R9G9B9E5_FLOAT", "B5G6R5_UNORM",
)
SHAPES: dict[str, dict[str, Any]] = {
    "1d": {"width": 61, "height": 1, "mips": 4}, "2d": {"width": 45, "height": 33, "mips": 5},
    "2d_array": {"width": 17, "height": 20, "layers": 5, "mips": 2}, "3d": {"width": 19, "height": 21, "depth": 11, "mips": 4},
    "cube": {"width": 16, "height": 16, "cube": True, "mips": 3},
}
COORDINATES = {"1d": 1, "2d": 2, "2d_array": 3, "3d": 3, "cube": 3}
ROUNDS = 24
#: Floats that no image is made for.
UNUSUAL = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40, -0.0, 0.0, 1.0, 65536.5, 3e9], np.float32)


class Pair:
    """The same image on both engines."""

    def __init__(self, target: str, shape: str, form: str, random: np.random.Generator, **size: int) -> None:
        self.target, self.shape = target, shape
        self.devices = [Device(target, "reference"), Device(target, "fast", threads=1)]
        self.images: list[Any] = [device.image(format=form, **(SHAPES[shape] | size)) for device in self.devices]
        self.mips = size.get("mips", SHAPES[shape]["mips"])
        self.layers = size.get("layers", SHAPES[shape].get("layers", 1))
        for mip in range(self.mips):
            level = self.images[0].numpy(mip)
            texels = random.integers(0, 256, level.nbytes, dtype=np.uint8).view(level.dtype).reshape(level.shape)
            for image in self.images:
                image.write(texels, mip)

    def view_words(self, random: np.random.Generator, **more: Any) -> list[Any]:
        """A random part of the image, its components in a random order."""
        levels, layers = self.mips, self.layers
        first = int(random.integers(levels))
        options: dict[str, Any] = {"levels": (first, int(random.integers(1, levels - first + 1)))}
        if layers > 1:
            start = int(random.integers(layers))
            options["layers"] = (start, int(random.integers(1, layers - start + 1)))
        if random.integers(2):
            options["swizzle"] = tuple(int(k) for k in random.integers(0, 6, 4))
        return [image.view(self.shape, **options, **more).words for image in self.images]

    def run(self, instruction: str, views: list[Any], sampler: Any, **given: Any) -> list[NDArray[np.uint32]]:
        """What each engine leaves in the data's registers."""
        return [run_image(device, instruction, view, sampler, **given) for device, view in zip(self.devices, views, strict=True)]


def coordinates(random: np.random.Generator, shape: str) -> NDArray[np.float32]:
    """Places in and around an image; layers and faces; some that are no places at all."""
    count = COORDINATES[shape]
    at = (random.random((64, count)) * random.choice([0.9, 3.0, 40.0]) - random.choice([0.0, 1.0])).astype(np.float32)
    if shape == "cube":
        at[:, :2] = 1 + random.random((64, 2))
        at[:, 2] = random.integers(-1, 9, 64)
    elif shape == "2d_array":
        at[:, 2] = random.random(64) * 8 - 2
    unusual = random.random((64, count)) < random.choice([0.0, 0.05])
    at[unusual] = random.choice(UNUSUAL, int(unusual.sum()))
    return at


def sampler_words(random: np.random.Generator, level: int) -> Any:
    """A random sampler; the modes with half a border are there too."""
    pick = random.integers
    return sampler_descriptor(Sampler(
        (int(pick(8)), int(pick(8)), int(pick(8))), int(pick(2)), int(pick(2)), int(pick(3)), compare=int(pick(8)), truncate=bool(pick(2)),
        border_color_type=int(pick(3)), cube_wrap=bool(pick(2)), lod_bias=float(pick(-2, 3)) / 4, min_lod=float(pick(0, 3)) / 4,
        unnormalized=bool(pick(8) == 0)), level)


def sample_text(random: np.random.Generator, target: str, shape: str) -> tuple[str, int, int]:
    """An instruction, the dwords before its coordinates, and those behind them."""
    name = "image_gather4" if shape in ("2d", "2d_array", "cube") and random.integers(4) == 0 else "image_sample"
    compares = shape != "3d" and random.integers(4) == 0
    kind = random.choice(["lz", "l", "b", "d"] if name == "image_sample" else ["lz", "l"])
    offset = shape != "cube" and random.integers(4) == 0 and kind != "b"
    if name == "image_gather4" and offset:
        kind = "lz"
    words = [name, *(["c"] if compares else []), *([str(kind)]), *(["o"] if offset else [])]
    before = int(compares) + int(offset) + (kind == "b") + (2 * (1 if shape == "1d" else 3 if shape == "3d" else 2) if kind == "d" else 0)
    behind = int(kind == "l")
    mask = 1 << int(random.integers(4)) if name == "image_gather4" else int(random.integers(1, 16))
    data = 4 if name == "image_gather4" else mask.bit_count()
    flags = ["d16"] if data != 4 and random.integers(6) == 0 and target not in ("gfx700", "gfx900") else []
    count = before + COORDINATES[shape] + behind
    if flags:
        data = (data + 1) // 2
    return image_instruction("_".join(words), target, shape, count, mask, data=data, sampler=True, flags=flags), before, behind


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_samples_of_both_engines(target: str, shape: str) -> None:
    random = np.random.default_rng(sum(map(ord, target + shape)))
    for form in FORMATS:
        if shape == "3d" and form[0] == "Z":
            continue
        pair = Pair(target, shape, form, random)
        for _ in range(ROUNDS):
            text, before, behind = sample_text(random, target, shape)
            views, at = pair.view_words(random), coordinates(random, shape)
            first = (random.standard_normal((64, before)) * random.choice([0.05, 2.0])).astype(np.float32)
            if "_o " in text:
                first[:, :1] = random.integers(0, 1 << 32, (64, 1), dtype=np.uint32).view(np.float32)
            last = (random.random((64, behind)) * 7 - 1).astype(np.float32)
            if random.integers(2):
                last[:] = last[:1]
            sampler = sampler_words(random, pair.devices[0].gfx_level)
            address = np.concatenate([first, at, last], 1)
            expected, found = pair.run(text, views, sampler, address=address)
            np.testing.assert_array_equal(found, expected, err_msg=f"{form} {text} {list(map(hex, views[0]))} {list(map(hex, sampler))}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_loads_and_stores_of_both_engines(target: str, shape: str) -> None:
    random = np.random.default_rng(sum(map(ord, target + shape)))
    dimension = "2d_array" if shape == "cube" else shape
    for form in FORMATS:
        if shape == "3d" and form[0] == "Z":
            continue
        pair = Pair(target, shape, form, random)
        for _ in range(ROUNDS // 4):
            views, mask = pair.view_words(random), int(random.integers(1, 16))
            at = random.integers(-1, 40 >> int(random.integers(4)), (64, COORDINATES[shape] + 1)).astype(np.int32)
            at[:, -1] = int(random.integers(5)) if random.integers(2) else at[:, -1] & 3
            text = image_instruction("image_load_mip", target, dimension, COORDINATES[shape] + 1, mask, data=mask.bit_count())
            expected, found = pair.run(text, views, (0, 0, 0, 0), address=at)
            np.testing.assert_array_equal(found, expected, err_msg=f"{form} {text} {list(map(hex, views[0]))}")
            if form.endswith("SRGB") or form[0] == "Z":
                continue
            data = random.integers(0, 1 << 32, (64, 4), dtype=np.uint32)
            data[:32] = (random.random((32, 4)) * 4 - 2).astype(np.float32).view(np.uint32)
            text = image_instruction("image_store", target, dimension, COORDINATES[shape], mask, data=mask.bit_count())
            pair.run(text, views, (0, 0, 0, 0), address=at[:, :-1], data=data, stores=True)
            np.testing.assert_array_equal(pair.images[1].memory, pair.images[0].memory, err_msg=f"{form} {text}")


#: Texels of 64 lanes beside each other, as offsets along x and y.
LANE = np.arange(64)
NEIGHBOURS = {
    "rows": (LANE % 8, LANE // 8), "columns": (LANE // 8, LANE % 8), "backwards": (7 - LANE % 8, -(LANE // 8)), "same": (0 * LANE, 0 * LANE),
    "quads": (LANE & 1 | LANE >> 1 & 6, LANE >> 1 & 1 | LANE >> 4 & 2), "long rows": (LANE % 32, LANE // 32),
    "minified": (3 * (LANE % 8), 2 * (LANE // 8)),
    "last apart": (LANE % 8 + 9 * (LANE % 8 == 7), LANE // 8), "magnified": (LANE % 8 / 3, LANE // 8 / 3),
    "one apart": (LANE % 8 + 9 * (LANE == 13), LANE // 8 + (LANE == 44)),
}  # fmt: skip
NEIGHBOUR_FORMATS = (
    "R8_UNORM", "R8G8_UNORM", "R8G8B8A8_UNORM", "R8G8B8A8_SRGB", "R16_FLOAT", "R16G16B16A16_FLOAT", "R32_FLOAT", "R32G32B32A32_FLOAT",
)  # fmt: skip
NEIGHBOUR_SIZES: tuple[tuple[str, dict[str, int]], ...] = (
    ("2d", {"width": 64, "height": 32}), ("2d", {}), ("2d_array", {}), ("2d_array", {"width": 32, "height": 16}), ("3d", {"width": 32, "height": 16}),
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("replaces", [False, True], ids=["apart", "replaced"])
def test_neighbours_of_both_engines(target: str, replaces: bool) -> None:
    """Lanes whose texels lie beside each other share what they look up; `replaces`: the results lie where the address did."""
    random = np.random.default_rng(11)
    for form, (shape, size) in itertools.product(NEIGHBOUR_FORMATS, NEIGHBOUR_SIZES):
        pair, count = Pair(target, shape, form, random, **size), COORDINATES[shape]
        extent = np.array([(SHAPES[shape] | size)[axis] for axis in ("width", "height")])
        views = [image.view(shape).words for image in pair.images]
        for name, (x, y) in NEIGHBOURS.items():
            texel = np.stack([x, y], 1) + random.integers(-20, 50, 2)
            layer = np.full((64, count - 2), random.integers(4) if shape != "3d" else random.random())
            for opcode in ("image_sample_lz", "image_sample_l", "image_gather4_lz", "image_load"):
                if shape == "3d" and "gather" in opcode:
                    continue
                mask = 1 << int(random.integers(4)) if "gather" in opcode else int(random.choice([1, 7, 15]))
                words, data = count + (opcode == "image_sample_l"), 4 if "gather" in opcode else mask.bit_count()
                detail = np.full((64, words - count), random.random() * 2)
                at = np.concatenate([(texel + random.random(2)) / extent, layer, detail], 1).astype(np.float32)
                if opcode == "image_load":
                    at = np.concatenate([texel, layer], 1).astype(np.int32)
                text = image_instruction(opcode, target, shape, words, mask, data=data, sampler=opcode != "image_load")
                if replaces:
                    moves = [f"v_mov_b32 v{16 + k}, v{24 + k}" for k in range(words)]
                    text = "\n".join([*moves, re.sub(r"\b(v?)(2[4-7])\b", lambda found: f"{found[1]}{int(found[2]) - 8}", text)])
                clamp = [int(each) for each in random.choice([0, 0, 1, 2, 6], 3)]
                sampler = sampler_descriptor(Sampler((clamp[0], clamp[1], clamp[2]), int(random.integers(4) > 0), int(random.integers(4) > 0),
                                                     int(random.integers(3))), pair.devices[0].gfx_level)
                expected, found = pair.run(text, views, sampler, address=at)
                np.testing.assert_array_equal(found, expected, err_msg=f"{form} {name} {text} {list(map(hex, sampler))}")


#: Bits of the vectors that this host has steps for.
VECTOR_BITS = [bits for bits in (256, 512) if bits <= vector_bits()]
#: First texels of a workgroup's lanes: odd and even, inside, across every edge, and as many lines and columns as are left.
PATCHES = [(x, y) for x in (0, 5, 22, 23, 24, 25) for y in (0, 7, 10, 11, 12, 13)] + [(-1, 2), (-2, -1), (3, -1), (-9, 6), (31, 15), (40, 20)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", ["R8G8B8A8_UNORM", "B8G8R8A8_UNORM", "R32_FLOAT", "R16G16_FLOAT", "Z32_FLOAT", "R8_UNORM"])
def test_patches_of_both_engines(target: str, form: str) -> None:
    """Four lines of eight columns, each lane a texel from the next: surfaces keep them in quads, or do not."""
    check_patches(Pair(target, "2d", form, np.random.default_rng(12), width=32, height=16), form, 4)


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("target", ["gfx1030", "gfx1100"])
@pytest.mark.parametrize("form", ["R8G8B8A8_UNORM", "B8G8R8A8_UNORM", "R32_FLOAT", "Z32_FLOAT"])
def test_patches_of_waves(form: str, target: str, bits: int) -> None:
    """Eight lines of eight columns in a wave of 64 lanes, with the vectors of every host; surfaces of gfx1100 keep quads."""
    pair = Pair(target, "2d", form, np.random.default_rng(17), width=32, height=16)
    use_vectors(pair, bits)
    check_patches(pair, form, 8)


def check_patches(pair: Pair, form: str, lines: int) -> None:
    """Compare the engines on loads, samples and gathers of patches of so many lines at every place."""
    random = np.random.default_rng(12)
    target = pair.target
    whole, one_level = ([image.view("2d", **levels).words for image in pair.images] for levels in ({}, {"levels": (0, 1)}))
    names = ["image_load", "image_gather4_lz", "image_sample_lz", "image_sample_c_lz" if form[0] == "Z" else "image_sample_lz"]
    for (x, y), name in itertools.product(PATCHES, names):
        texel = np.stack([LANE % 8 + x, LANE // 8 % lines + y], 1)
        mask = 1 if "gather" in name else int(random.choice([1, 5, 15]))
        at = texel.astype(np.int32).view(np.float32)
        if name != "image_load":
            # a share of a texel that keeps the texels of a line apart by one, and one that hardly does
            at = ((texel + random.choice([0.0, 0.25, 0.5, 1 / 3, 255.6 / 256], 2)) / [32, 16]).astype(np.float32)
        if "_c_" in name:
            at = np.concatenate([random.random((64, 1)).astype(np.float32), at], 1)
        clamp = [int(each) for each in random.choice([0, 0, 1, 2, 3, 6], 3)]
        linear = int(random.integers(2))
        sampler = sampler_descriptor(Sampler((clamp[0], clamp[1], clamp[2]), linear, linear, truncate=bool(random.integers(2)),
                                             compare=int(random.integers(8))), pair.devices[0].gfx_level)
        data = 4 if "gather" in name else mask.bit_count()
        text = image_instruction(name, target, "2d", at.shape[1], mask, data=data, sampler=name != "image_load")
        view = one_level if random.random() < 0.8 else whole
        expected, found = pair.run(text, view, sampler, address=at, wave=64 if lines == 8 else 0)
        np.testing.assert_array_equal(found, expected, err_msg=f"{x} {y} {text} {list(map(hex, sampler))}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_volumes_of_both_engines(bits: int) -> None:
    """Volumes whose extents are powers of two: places a share of a texel apart, lines that have the same texels, scattered ones, borders."""
    random = np.random.default_rng(18)
    pair = Pair("gfx1030", "3d", "R8G8B8A8_UNORM", random, width=16, height=8, depth=32)
    use_vectors(pair, bits)
    views = [image.view("3d", levels=(0, 1)).words for image in pair.images]
    for apart, turn in itertools.product((0.1, 0.4, 1.0, 3.0, 11.0), range(6)):
        place = np.stack([LANE % 8 * apart, LANE // 8 * apart * 0.3, LANE % 8 * apart * 0.7], 1) + random.random(3) * [16, 8, 32]
        if turn % 3 == 2:
            place = random.random((64, 3)) * apart * [16, 8, 32]
        elif turn == 3:                   # a slice, and the first lane where it may be a denormal
            place[:, 2] = place[0, 2]
            place[LANE % 8 == 0, 0] = random.choice([1e-39, -1e-39])
        clamp = [int(each) for each in random.choice([0, 0, 1, 2, 6], 3)]
        sampler = sampler_descriptor(Sampler((clamp[0], clamp[1], clamp[2]), 1, 1), pair.devices[0].gfx_level)
        mask = int(random.choice([2, 7, 15]))
        text = image_instruction("image_sample_lz", "gfx1030", "3d", 3, mask, data=mask.bit_count(), sampler=True)
        text = f"s_denorm_mode {15 if turn % 4 < 2 else 0}\n{text}"
        expected, found = pair.run(text, views, sampler, address=(place / [16, 8, 32]).astype(np.float32), wave=64 if turn % 2 else 32)
        np.testing.assert_array_equal(found, expected, err_msg=f"{apart} {turn} {clamp}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("clamp", [0, 1, 2, 3, 6])
def test_denormal_coordinates(clamp: int, bits: int) -> None:
    """Places just above and just below zero in waves of lines and columns, while MODE flushes denormals and while it does not."""
    pair = Pair("gfx1100", "2d", "R8G8B8A8_UNORM", np.random.default_rng(19), width=32, height=16)
    use_vectors(pair, bits)
    views = [image.view("2d", levels=(0, 1)).words for image in pair.images]
    tiny = np.array([1e-40, -1e-40, 0.0, -0.0], np.float32)
    for turn, (name, linear) in enumerate(itertools.product(("image_sample_lz", "image_gather4_lz"), (0, 1))):
        for x, y, keeps in itertools.product(tiny, tiny, (False, True)):
            at = np.stack([LANE % 8 / 32, LANE // 8 / 16], 1).astype(np.float32)
            at[LANE % 8 == 0, 0], at[LANE // 8 == 0, 1] = x, y
            sampler = sampler_descriptor(Sampler((clamp, clamp, clamp), linear, linear, truncate=turn % 2 == 0), pair.devices[0].gfx_level)
            text = image_instruction(name, "gfx1100", "2d", 2, 1 if "gather" in name else 15, data=4, sampler=True)
            text = f"s_denorm_mode {15 if keeps else 0}\n{text}"
            expected, found = pair.run(text, views, sampler, address=at, wave=64)
            np.testing.assert_array_equal(found, expected, err_msg=f"{name} {linear} {x} {y} {keeps}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_patches_that_come_and_go(bits: int) -> None:
    """Lanes of an instruction in a loop that are scattered at first, then neighbours, scattered again and so on."""
    pair = Pair("gfx1100", "2d", "R8G8B8A8_UNORM", np.random.default_rng(20), width=32, height=16)
    use_vectors(pair, bits)
    views = [image.view("2d", levels=(0, 1)).words for image in pair.images]
    at = (np.stack([LANE % 8 + 0.4, LANE // 8 + 0.3], 1) / [32, 16]).astype(np.float32)
    sums = [f"v_lshl_add_u32 v{20 + k}, v{20 + k}, 1, v{16 + k}" for k in range(4)]
    for linear in (0, 1):
        sample = image_instruction("image_sample_lz", "gfx1100", "2d", 2, 15, data=4, sampler=True)
        text = "\n".join(["s_mov_b32 s16, 48", "again:", sample, "s_waitcnt vmcnt(0)", *sums, "s_and_b32 s17, s16, 20", "s_cmp_eq_u32 s17, 20",
                           "s_cselect_b32 s18, 0x40400000, 1.0", "v_mul_f32 v24, s18, v24", "v_fract_f32 v24, v24", "s_cmp_eq_u32 s17, 0",
                           "s_cbranch_scc0 kept", f"v_mov_b32 v24, v{24 + 8}", "kept:", "s_sub_u32 s16, s16, 1", "s_cmp_lg_u32 s16, 0",
                           "s_cbranch_scc1 again"])
        text = "v_mov_b32 v32, v24\n" + "\n".join(f"v_mov_b32 v{20 + k}, 0" for k in range(4)) + "\n" + text
        sampler = sampler_descriptor(Sampler((0, 0, 0), linear, linear), pair.devices[0].gfx_level)
        expected, found = pair.run(text, views, sampler, address=at, wave=64)
        np.testing.assert_array_equal(found, expected)
        assert len(np.unique(expected[:, 4])) > 32


def use_vectors(pair: Pair, bits: int) -> None:
    """Let the fast engine have the steps of hosts with vectors of so many bits."""
    device = pair.devices[1]
    device._engine = FastEngine(device.space, device.gfx_level, 1, bits)
    device._engine.descriptors.describe = device._descriptor_reader


def halves(random: np.random.Generator, shape: tuple[int, ...], largest: float) -> NDArray[np.float16]:
    """Halves of every magnitude up to the largest, of both signs, zeros and denormals among them."""
    values = largest * 2.0 ** -random.integers(0, 40, shape) * random.choice([-1, 1, 1], shape)
    return np.where(random.random(shape) < 0.1, -0.0, values).astype(np.float16)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("largest", [8188.0, 8192.0, 65504.0, np.inf])
def test_patches_of_halves(target: str, largest: float) -> None:
    """Sums of halves are exact in any order up to a magnitude; beyond it, and with numbers that are not finite, the order counts."""
    random = np.random.default_rng(13)
    pair = Pair(target, "2d", "R16G16B16A16_FLOAT", random, width=32, height=16)
    texels = halves(random, (16, 32, 4), largest)
    for image in pair.images:
        image.write(texels.view(image.numpy(0).dtype).reshape(image.numpy(0).shape), 0)
    for turn, (x, y) in enumerate(PATCHES):
        texel = np.stack([LANE % 8 + x, LANE // 8 + y], 1)
        at = ((texel + random.choice([0.25, 0.5, 1 / 3, 0.7], 2)) / [32, 16]).astype(np.float32)
        order = tuple(int(k) for k in random.permutation(4) + 2) if turn % 2 else (2, 3, 4, 5)
        views = [image.view("2d", levels=(0, 1), swizzle=order).words for image in pair.images]
        clamp = int(random.choice([0, 0, 1, 2]))
        sampler = sampler_descriptor(Sampler((clamp, clamp, clamp), 1, 1), pair.devices[0].gfx_level)
        text = image_instruction("image_sample_lz", target, "2d", 2, 15, data=4, sampler=True)
        expected, found = pair.run(text, views, sampler, address=at)
        np.testing.assert_array_equal(found, expected, err_msg=f"{x} {y} {clamp} {order}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", ["R8G8B8A8_UNORM", "R16G16B16A16_FLOAT"])
def test_grids_of_both_engines(target: str, form: str) -> None:
    """Lines of eight lanes with the same columns, and a line of the level each, that are no neighbours; some outside, some no grid."""
    random = np.random.default_rng(14)
    pair = Pair(target, "2d", form, random, width=48, height=40)
    views = [image.view("2d", levels=(0, 1)).words for image in pair.images]
    for turn in range(24):
        columns, lines = random.integers(0, 48, 8), random.integers(0, 40, 8)
        texel = np.stack([columns[LANE % 8], lines[LANE // 8]], 1)
        if turn % 4 == 1:
            texel[random.integers(64)] += 1
        elif turn % 4 == 2:
            columns[random.integers(8)] = random.choice([-1, 48, 1 << 30])
            texel[:, 0] = columns[LANE % 8]
        elif turn % 4 == 3:
            texel[random.integers(8) == LANE // 8, 1] = random.choice([-5, 40])
        text = image_instruction("image_load", target, "2d", 2, 15, data=4)
        expected, found = pair.run(text, views, (0, 0, 0, 0), address=texel.astype(np.int32).view(np.float32))
        np.testing.assert_array_equal(found, expected, err_msg=f"{columns} {lines}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
@pytest.mark.parametrize("shape", ["2d", "2d_array", "cube"])
@pytest.mark.parametrize("form", ["R8G8B8A8_UNORM", "R32_FLOAT", "Z32_FLOAT"])
def test_sampled_grids_of_waves(shape: str, form: str, bits: int) -> None:
    """Lines of lanes whose places have the same columns: scattered, as in smaller and larger pictures, in one slice or several, beyond edges."""
    random = np.random.default_rng(21)
    pair = Pair("gfx1100", shape, form, random, width=64, height=64)
    use_vectors(pair, bits)
    layers = 6 if shape == "cube" else SHAPES[shape].get("layers", 1)
    views = [image.view(shape, levels=(0, 1)).words for image in pair.images]
    for turn in range(72):
        apart = random.choice([0.05, 0.4, 1.0, 2.5, 9.0])
        columns, lines = (random.integers(0, 64) + np.arange(8) * apart for _ in range(2))
        if turn % 3 == 0:
            columns, lines = random.permutation(columns), random.permutation(lines)
        at = np.stack([columns[LANE % 8] + 0.3, lines[LANE // 8] + 0.8], 1) / 64
        layer = np.full((64, 1), random.choice([float(random.integers(layers)), -3.0, 0.5, 1e9, np.nan]))
        if turn % 4 == 1:
            at[random.integers(64), turn % 2] += 1 / 64
        elif turn % 8 == 2:
            layer[random.integers(64)] = random.integers(layers)
        linear, clamp = int(random.integers(4) != 0), [int(each) for each in random.choice([0, 0, 2, 2, 6], 3)]
        if shape == "cube":
            at = np.clip(at, 0, 1) + 1
        address = at if shape == "2d" else np.concatenate([at, layer], 1)
        sampler = sampler_descriptor(Sampler((clamp[0], clamp[1], clamp[2]), linear, linear, truncate=bool(random.integers(2)),
                                             cube_wrap=bool(random.integers(2)), compare=int(random.integers(8))), pair.devices[0].gfx_level)
        name = "image_gather4_lz" if turn % 5 == 0 else "image_sample_c_lz" if form[0] == "Z" else "image_sample_lz"
        mask = 1 << int(random.integers(4)) if turn % 5 == 0 else int(random.choice([15, 15, 5]))
        if "_c_" in name:
            address = np.concatenate([random.random((64, 1)), address], 1)
        text = image_instruction(name, "gfx1100", shape, address.shape[1], mask, data=4 if turn % 5 == 0 else mask.bit_count(), sampler=True)
        expected, found = pair.run(text, views, sampler, address=address.astype(np.float32), wave=64 if turn % 2 else 32)
        np.testing.assert_array_equal(found, expected, err_msg=f"{turn} {text} {columns} {lines} {layer[0]} {clamp} {linear}")


@pytest.mark.parametrize("bits", VECTOR_BITS)
def test_trilinear_patches(bits: int) -> None:
    """Neighbours sampled between two levels: patches in the larger one, spread over patches in the smaller ones."""
    random = np.random.default_rng(22)
    pair = Pair("gfx1100", "2d", "R8G8B8A8_UNORM", random, width=64, height=64)
    use_vectors(pair, bits)
    views = [image.view("2d").words for image in pair.images]
    for turn in range(24):
        at = (np.stack([LANE % 8, LANE // 8], 1) + random.integers(0, 64, 2) + 0.4) / 64
        lod = np.full((64, 1), random.random() * 3) + (LANE[:, None] % 8 * 0.1 if turn % 2 else 0)
        clamp = int(random.choice([0, 2]))
        sampler = sampler_descriptor(Sampler((clamp, clamp, clamp), 1, 1, 2), pair.devices[0].gfx_level)
        text = image_instruction("image_sample_l", "gfx1100", "2d", 3, 15, data=4, sampler=True)
        address = np.concatenate([at, lod], 1).astype(np.float32)
        expected, found = pair.run(text, views, sampler, address=address, wave=64 if turn % 4 < 2 else 32)
        np.testing.assert_array_equal(found, expected, err_msg=f"{turn} {at[0]} {lod[0]} {clamp}")


#: EXEC of waves whose workgroup does not fill them, and of some that have branched.
PARTIAL = (0x0000FFFF, 0x00000001, 0x80000000, 0x00FF0010, 0x7FFFFFFF, 0xA5A5C3C3, 0xFF0000FF)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", ["R8G8B8A8_UNORM", "B8G8R8A8_UNORM", "R8_UNORM", "R16G16B16A16_FLOAT"])
def test_partial_waves_of_both_engines(target: str, form: str) -> None:
    """Lanes that are not active keep what they have, and their coordinates, which are anything, do not matter."""
    random = np.random.default_rng(15)
    pair = Pair(target, "2d", form, random, width=32, height=16)
    views = [image.view("2d", levels=(0, 1)).words for image in pair.images]
    replaced = [f"v_mov_b32 v{16 + k}, v{24 + k}" for k in range(2)]
    for turn, (mask, name) in enumerate(itertools.product(PARTIAL, ("image_load", "image_sample_lz"))):
        line = (LANE % 16 if turn % 4 < 2 else LANE % 8) + random.integers(0, 20)
        texel = np.stack([line, LANE // 16 + random.integers(-1, 15)], 1)
        texel[random.integers(0, 2, 64) == (turn % 3 == 0), 0] += random.choice([0, 0, 9, 1 << 20])
        at = texel.astype(np.int32).view(np.float32) if name == "image_load" else ((texel + 0.3) / [32, 16]).astype(np.float32)
        idle = (mask >> (LANE % 32) & 1) == 0
        at[idle, 1] = random.choice(UNUSUAL, int(idle.sum()))
        dmask = int(random.choice([1, 6, 15, 15]))
        text = image_instruction(name, target, "2d", 2, dmask, data=dmask.bit_count(), sampler=name != "image_load")
        if turn % 2:                      # the results lie where the address did
            text = "\n".join([*replaced, re.sub(r"\b(v?)(2[4-7])\b", lambda found: f"{found[1]}{int(found[2]) - 8}", text)])
        high = [f"s_mov_b32 exec_hi, {mask ^ 0x10:#x}"] if target in ("gfx700", "gfx900") else []
        back = ["s_mov_b32 exec_lo, -1", *(["s_mov_b32 exec_hi, -1"] if target in ("gfx700", "gfx900") else [])]
        text = "\n".join([f"s_mov_b32 exec_lo, {mask:#x}", *high, text, *back])
        linear = int(random.integers(2))
        sampler = sampler_descriptor(Sampler((2, 2, 2) if turn % 5 else (0, 1, 2), linear, linear), pair.devices[0].gfx_level)
        data = random.integers(0, 1 << 32, (64, 8), dtype=np.uint32)
        expected, found = pair.run(text, views, sampler, address=at, data=data)
        np.testing.assert_array_equal(found, expected, err_msg=f"{text} {list(map(hex, sampler))}")


@pytest.mark.parametrize("target", TARGETS)
def test_many_instructions(target: str) -> None:
    """More image instructions than the engine keeps prepared work for, in a loop."""
    random = np.random.default_rng(16)
    pair = Pair(target, "2d", "R8G8B8A8_UNORM", random, width=32, height=16)
    views = [image.view("2d", levels=(0, 1)).words for image in pair.images]
    wait = "s_wait_loadcnt 0x0" if target == "gfx1200" else "s_waitcnt vmcnt(0)"
    loads = []
    for k in range(150):
        text = image_instruction("image_load", target, "2d", 2, 1 << k % 4, data=1)
        loads += [text, wait, "v_lshlrev_b32 v18, 1, v17", f"v_xor_b32 v17, v16, v{17 + k % 2}", f"v_xor_b32 v24, {k % 32}, v24"]
    text = "\n".join(["s_mov_b32 s16, 2", "again:", *loads, "s_sub_u32 s16, s16, 1", "s_cmp_lg_u32 s16, 0", "s_cbranch_scc1 again"])
    texel = np.stack([LANE % 8, LANE // 8], 1).astype(np.int32).view(np.float32)
    expected, found = pair.run(text, views, (0, 0, 0, 0), address=texel)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(expected[:, 1])) > 32


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", ["2d_array", "cube"])
@pytest.mark.parametrize("form", ["R8G8B8A8_UNORM", "R32_FLOAT", "R16G16B16A16_FLOAT"])
def test_patches_of_layers_and_faces(target: str, shape: str, form: str) -> None:
    """Lanes a share of a texel, one or several texels apart, of one layer or of several; on cubes also over the edges of faces."""
    random = np.random.default_rng(15)
    pair = Pair(target, shape, form, random, width=16, height=16)
    whole, one_level = ([image.view(shape, **levels).words for image in pair.images] for levels in ({}, {"levels": (0, 1)}))
    layers = 6 if shape == "cube" else SHAPES[shape]["layers"]
    for apart, (x, y) in itertools.product((0.0, 0.3, 0.9, 1.0, 1.7, 3.0), ((0.5, 0.5), (2.25, 5.0), (9.0, 12.75))):
        place = (np.stack([LANE % 8 * apart + x, LANE // 8 * apart + y], 1)) / 16
        layer = random.integers(layers, size=8)[LANE // 8] if random.integers(2) else np.full(64, random.integers(layers))
        at = np.concatenate([np.clip(place, 0, 1) + 1 if shape == "cube" else place, layer[:, None]], 1).astype(np.float32)
        linear, clamp = int(random.integers(4) != 0), int(random.choice([0, 2]))
        sampler = sampler_descriptor(Sampler((clamp, clamp, clamp), linear, linear, cube_wrap=bool(random.integers(2))), pair.devices[0].gfx_level)
        text = image_instruction("image_sample_lz", target, shape, 3, 15, data=4, sampler=True)
        expected, found = pair.run(text, whole if random.integers(2) else one_level, sampler, address=at)
        np.testing.assert_array_equal(found, expected, err_msg=f"{apart} {x} {y} {layer[::8]} {linear}")


@pytest.mark.parametrize("target", TARGETS)
def test_cubes_whose_faces_are_no_squares(target: str) -> None:
    """Words may say so, though no surface is like that: where an edge is, both engines agree."""
    random = np.random.default_rng(3)
    pair = Pair(target, "2d_array", "R32_FLOAT", random, width=8, height=16, layers=6)
    views = [list(image.view("2d_array").words) for image in pair.images]
    for words in views:
        words[3] = words[3] & 0x0FFFFFFF | 11 << 28         # TYPE: SQ_RSRC_IMG_CUBE
    sampler = sampler_descriptor(Sampler((2, 2, 2), 1, 1, cube_wrap=True), pair.devices[0].gfx_level)
    at = np.concatenate([1 + random.random((64, 2)), random.integers(0, 6, (64, 1))], 1).astype(np.float32)
    for name in ("image_sample_lz", "image_gather4_lz"):
        text = image_instruction(name, target, "cube", 3, 1, data=4 if "gather" in name else 1, sampler=True)
        expected, found = pair.run(text, views, sampler, address=at)
        np.testing.assert_array_equal(found, expected)
        assert len(np.unique(expected[:, 0])) > 32


@pytest.mark.skipif(vector_bits() < 256, reason="images have steps for wider vectors than this processor has")
def test_own_steps() -> None:
    """The fast engine has steps of its own for loads, stores, samples and gathers."""
    device = Device("gfx1030", "fast", threads=1)
    assert isinstance(device._engine, FastEngine)
    for name, sampled in (("image_load", False), ("image_store", False), ("image_sample_lz", True), ("image_gather4_lz", True)):
        code = kernel("gfx1030", image_instruction(name, "gfx1030", "2d", 2, 15 if "gather" not in name else 1, sampler=sampled))
        place = device.buffer(np.frombuffer(code, np.uint8))
        steps = device._engine.own_steps(place.address, place.address + len(code), 32)
        assert sum(not own for _, own in steps) == 1, name  # but for the end of the program
