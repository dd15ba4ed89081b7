"""Filters of the fast engine beside the reference engine's: formats, blocks, levels of detail by derivatives, lanes that lie anyhow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from image_kernels import image_instruction
from numpy.typing import NDArray
from test_image_engines import SHAPES, Pair, use_vectors

from pyaco._core.emu_fast.engine import vector_bits
from pyaco.descriptors.sampler import Sampler, sampler_descriptor

BITS = [256, pytest.param(512, marks=pytest.mark.skipif(vector_bits() < 512, reason="no AVX-512"))]
#: Blocks of each size, with 8-bit texels, encoded colours, halves and singles; and elements that filters take whole, or of 16-bit norms.
BLOCKS = ("DXT1_RGBA", "DXT1_SRGBA", "DXT5_RGBA", "RGTC1_SNORM", "RGTC2_UNORM", "BPTC_RGB_FLOAT", "BPTC_RGBA_UNORM")
FOURS = ("R16G16B16A16_UNORM", "R16G16B16A16_SNORM", "R16G16B16A16_FLOAT", "R32G32B32A32_FLOAT", "R16G16_UNORM", "R16_SNORM", "R8G8B8A8_UNORM",
         "B8G8R8A8_SRGB", "R10G10B10A2_UNORM", "R32_FLOAT", "Z32_FLOAT")
AXES = {"1d": 1, "2d": 2, "2d_array": 2, "3d": 3, "cube": 2}


def scattered(random: np.random.Generator, shape: str, reach: float = 1.0) -> NDArray[np.float32]:
    """Places of 64 lanes anywhere, around zero too; layers and faces."""
    at = (random.random((64, 3)) * 2 * reach - reach).astype(np.float32)
    if shape == "cube":
        at = np.stack([*(1 + random.random((2, 64))), random.integers(0, 6, 64)], 1).astype(np.float32)
    elif shape == "2d_array":
        at[:, 2] = random.integers(0, 5, 64)
    return at[:, : {"1d": 1, "2d": 2}.get(shape, 3)]


def a_sampler(random: np.random.Generator, pair: Pair, **more: Any) -> Any:
    clamp = int(random.choice([0, 0, 1, 2, 6]))
    options: dict[str, Any] = {"cube_wrap": True, "truncate": bool(random.integers(2))} | more
    near, far = options.pop("filters", (1, 1))
    return sampler_descriptor(Sampler((clamp, clamp, clamp), near, far, int(random.integers(3)), **options), pair.devices[0].gfx_level)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", ["gfx900", "gfx1030"])
def test_levels_of_detail_by_derivatives(target: str, shape: str, bits: int) -> None:
    """Of neighbours in a quad, and such as are given: of any size, some or all alike, zeros, and what is no number; biases; ratios."""
    random = np.random.default_rng(21)
    pairs = [Pair(target, shape, form, random) for form in ("R8G8B8A8_UNORM", "R8G8B8A8_SRGB")]
    for turn in range(24):
        pair = pairs[turn // 4 % 2]
        use_vectors(pair, bits)
        axes, at = AXES[shape], scattered(random, shape, 2.0 ** -random.integers(8))
        kind = ["", "b", "d"][turn % 3]
        before = random.standard_normal((64, {"": 0, "b": 1, "d": 2 * axes}[kind])).astype(np.float32) * np.float32(2.0 ** -random.integers(0, 8))
        if turn % 4 == 0:
            before = np.repeat(before[::8], 8, 0)
            at[:, 0] = (np.arange(64) % 8 + 0.25) / 32
        elif turn % 4 == 1:
            before[random.random(before.shape) < 0.2] = random.choice(np.array([0.0, -0.0, np.nan, np.inf, 1e-40, 1e30], np.float32))
        elif turn % 4 == 2:
            before[:] = before[0]
        name = "image_sample" + (f"_{kind}" if kind else "")
        text = image_instruction(name, target, shape, before.shape[1] + at.shape[1], 15, sampler=True)
        more: dict[str, Any] = {"max_anisotropy": int(random.integers(1, 5)), "filters": (3, 3)} if turn % 5 == 4 else {}
        sampler = a_sampler(random, pair, lod_bias=float(random.integers(-2, 3)) / 3, **more)
        expected, found = pair.run(text, pair.view_words(random), sampler, address=np.concatenate([before, at], 1))
        np.testing.assert_array_equal(found, expected, err_msg=f"{text} {turn}")


@pytest.mark.parametrize("bits", BITS)
def test_derivatives_that_stay_for_a_while(bits: int) -> None:
    """Of an instruction in a loop: all lanes have the same for two turns, then others, and in the end a lane has its own."""
    random = np.random.default_rng(22)
    pair = Pair("gfx1100", "2d", "R8G8B8A8_UNORM", random)
    use_vectors(pair, bits)
    sample = image_instruction("image_sample_d", "gfx1100", "2d", 6, 15, data=4, sampler=True)
    sums = [f"v_lshl_add_u32 v{20 + k}, v{20 + k}, 1, v{16 + k}" for k in range(4)]
    text = "\n".join([*(f"v_mov_b32 v{20 + k}, 0" for k in range(4)), "s_mov_b32 s16, 12", "again:", sample, "s_waitcnt vmcnt(0)", *sums,
                      "s_bitcmp1_b32 s16, 0", "s_cselect_b32 s18, 2.0, 1.0", "v_mul_f32 v24, s18, v24", "s_cmp_eq_u32 s16, 3", "s_cbranch_scc0 alike",
                      "v_add_f32 v24, v24, v30", "alike:", "s_sub_u32 s16, s16, 1", "s_cmp_lg_u32 s16, 0", "s_cbranch_scc1 again"])
    own = np.where(np.arange(64) == 37, 1.0, 0.0)
    for ratio in (0, 3):
        at = np.column_stack([np.tile([0.01, 0.0, 0.0, 0.02], (64, 1)), scattered(random, "2d"), own]).astype(np.float32)
        more: dict[str, Any] = {"max_anisotropy": ratio} if ratio else {}
        filter_ = 3 if ratio else 1
        sampler = sampler_descriptor(Sampler((0, 0, 0), filter_, filter_, 2, **more), pair.devices[0].gfx_level)
        views = [image.view("2d").words for image in pair.images]
        expected, found = pair.run(text, views, sampler, address=at, wave=64)
        np.testing.assert_array_equal(found, expected)
        assert len(np.unique(expected[:, 4])) > 32


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("form", FOURS)
@pytest.mark.parametrize("shape", ["2d", "3d", "cube"])
def test_scattered_lanes(shape: str, form: str, bits: int) -> None:
    random = np.random.default_rng(5)
    for size in ({}, {"width": 32, "height": 32}):
        if form[0] == "Z" and shape == "3d":
            continue
        pair = Pair("gfx1030", shape, form, random, **size)
        use_vectors(pair, bits)
        for name in ("image_sample_lz", "image_sample_l", "image_gather4_lz", "image_sample_c_lz"):
            if (shape == "3d" and "gather" in name) or ("_c_" in name and form[0] != "Z"):
                continue
            at = scattered(random, shape, 2.0 ** random.integers(4))
            at[: random.integers(64)] *= np.float32(-0.0) if random.integers(4) == 0 else np.float32(1)
            if name == "image_sample_l":
                at = np.concatenate([at, random.random((64, 1)).astype(np.float32) * 2], 1)
            if "_c_" in name:
                at = np.concatenate([random.random((64, 1)).astype(np.float32), at], 1)
            text = image_instruction(name, "gfx1030", shape, at.shape[1], 1 if "gather" in name else 15, sampler=True)
            for wave in (32, 64):
                words = [image.view(shape, levels=(0, 1)).words for image in pair.images] if wave == 64 else pair.view_words(random)
                sampler = a_sampler(random, pair, compare=int(random.integers(8)))
                expected, found = pair.run(text, words, sampler, address=at, wave=wave)
                np.testing.assert_array_equal(found, expected, err_msg=f"{text} {size}")


@pytest.mark.parametrize("clamp", [0, 1, 2, 6])
def test_coordinates_a_little_below_zero(clamp: int) -> None:
    """Their fractions are rounded in single precision."""
    random = np.random.default_rng(8)
    for width in (32, 45):
        pair = Pair("gfx1030", "2d", "R8G8B8A8_UNORM", random, width=width, height=32, mips=5)
        at = -(2.0 ** -random.integers(1, 160, (64, 2)) * (1 + random.random((64, 2)))).astype(np.float32)
        for filter_, truncate in ((1, False), (0, False), (0, True)):
            sampler = sampler_descriptor(Sampler((clamp, clamp, clamp), filter_, filter_, 1, truncate=truncate), pair.devices[0].gfx_level)
            text = image_instruction("image_sample_lz", "gfx1030", "2d", 2, 15, sampler=True)
            expected, found = pair.run(text, [image.view("2d").words for image in pair.images], sampler, address=at)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1200"])
def test_unnormalized_by_the_instruction(target: str, bits: int) -> None:
    """UNRM of the instruction, where the sampler does not say so."""
    random = np.random.default_rng(9)
    pair = Pair(target, "2d", "R8G8B8A8_UNORM", random)
    use_vectors(pair, bits)
    at = (random.random((64, 2)) * 45).astype(np.float32)
    for name in ("image_sample_lz", "image_sample", "image_gather4_lz"):
        flags = ["unorm"]
        text = image_instruction(name, target, "2d", 2, 1 if "gather" in name else 15, sampler=True, flags=flags)
        sampler = sampler_descriptor(Sampler((2, 2, 2), 1, 1), pair.devices[0].gfx_level)
        expected, found = pair.run(text, [image.view("2d").words for image in pair.images], sampler, address=at)
        np.testing.assert_array_equal(found, expected)
        assert len(np.unique(expected[:, 0])) > 32


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("form", BLOCKS)
@pytest.mark.parametrize("target", ["gfx900", "gfx1030"])
def test_blocks_of_both_engines(target: str, form: str, bits: int) -> None:
    """Loads, samples and gathers of images of blocks, before and after their memory is written."""
    random = np.random.default_rng(3)
    pairs = [Pair(target, shape, form, random) for shape in ("2d", "cube", "2d_array", "3d")]
    for pair in pairs:
        use_vectors(pair, bits)
    for turn in range(6):
        for pair in pairs:
            shape, at = pair.shape, scattered(random, pair.shape, 1.5)
            names = ["image_sample_lz", "image_sample_l", "image_load", "image_load_mip", *(["image_gather4_lz"] if shape != "3d" else [])]
            for name in names:
                given: NDArray[Any] = at
                if "load" in name:
                    given = random.integers(0, 20, at.shape).astype(np.uint32)
                if name in ("image_sample_l", "image_load_mip"):
                    last = random.random((64, 1)).astype(np.float32) if "sample" in name else np.full((64, 1), random.integers(2), np.uint32)
                    given = np.concatenate([given, last], 1)
                text = image_instruction(name, target, shape, given.shape[1], 1 if "gather" in name else 15, sampler="load" not in name)
                views = pair.view_words(random)
                expected, found = pair.run(text, views, a_sampler(random, pair), address=given)
                np.testing.assert_array_equal(found, expected, err_msg=f"{text} {turn}")
            level = pair.images[0].numpy(0)
            texels = random.integers(0, 256, level.nbytes, dtype=np.uint8).view(level.dtype).reshape(level.shape)
            for image in pair.images:
                image.write(texels, 0)
