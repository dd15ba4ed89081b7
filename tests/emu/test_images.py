"""Image instructions on tiled memory, against what `pyaco.addrlib` and NumPy say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from image_kernels import TARGETS, TILED, image_instruction, run_image
from numpy.typing import NDArray

from pyaco._core.emu.code import supported_opcodes
from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device, EmulationError, RaceError, SampledImage, TexelBuffer
from pyaco.emu.arguments import descriptor_places
from pyaco.emu.buffers import descriptor_parts, elements_of
from pyaco.emu.device import ENGINES
from pyaco.emu.image_views import texel_layout
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import pixel_format
from pyaco.isa import assemble, opcodes

SHAPES: dict[str, dict[str, Any]] = {
    "2d": {"width": 45, "height": 33, "mips": 5},
    "2d_array": {"width": 37, "height": 20, "layers": 5, "mips": 3},
    "3d": {"width": 19, "height": 21, "depth": 11, "mips": 4},
    "cube": {"width": 16, "height": 16, "cube": True, "mips": 2},
}


def filled(device: Device, shape: str, random: np.random.Generator, format: str = "R32_UINT", **more: Any) -> tuple[Any, list[NDArray[Any]]]:
    """An image with random texels in all of its levels, and the levels."""
    image = device.image(format=format, **SHAPES[shape], **more)
    levels = []
    for mip in range(SHAPES[shape]["mips"]):
        level = image.numpy(mip)
        texels = random.integers(0, 256, level.nbytes, dtype=np.uint8).view(level.dtype).reshape(level.shape)
        image.write(texels, mip)
        shape_of_level = image.surface.level_shape(mip)
        levels.append(texels.reshape(*shape_of_level, *texels.shape[texels.ndim - (texels.size > np.prod(shape_of_level)) :]))
    return image, levels


def modes_of(target: str) -> list[int | None]:
    """Swizzle modes that a driver can be asked for on a chip; None: what it chooses."""
    if target in (*TILED, "gfx900"):
        return [None]
    return [None, *(int(mode) for mode in (SwizzleMode3 if target == "gfx1200" else SwizzleMode) if 0 < mode < 32)]


def places(random: np.random.Generator, extent: tuple[int, int, int], count: int = 64) -> NDArray[np.int32]:
    """Columns x, y, z, some of them just outside."""
    return np.stack([random.integers(-1, size + 1, count) for size in extent[::-1]], 1).astype(np.int32)


def texels_at(levels: list[NDArray[Any]], mip: int, place: NDArray[np.int32]) -> NDArray[Any]:
    """What lies there, zeros outside."""
    level = levels[mip]
    inside = np.all((place >= 0) & (place < np.array(level.shape[2::-1])), axis=1)
    clamped = np.clip(place, 0, np.array(level.shape[2::-1]) - 1)
    return np.where(inside, level[clamped[:, 2], clamped[:, 1], clamped[:, 0]].reshape(len(place)), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_loads_of_every_swizzle_mode(target: str, shape: str) -> None:
    """image_load_mip finds every texel of every level where addrlib puts it; outside of a level it gives zeros."""
    device, random, tried = Device(target, "reference"), np.random.default_rng(5), 0
    dimension = "2d_array" if shape == "cube" else shape
    coordinates = 2 if shape == "2d" else 3
    instruction = image_instruction("image_load_mip", target, dimension, coordinates + 1, 1, data=1)
    for mode in modes_of(target):
        try:
            image, levels = filled(device, shape, random, swizzle_mode=mode)
        except (InputError, UnsupportedError):
            continue                                        # the chip has no such surface
        tried += 1
        view = image.view(dimension)
        for mip in range(len(levels)):
            place = places(random, levels[mip].shape[:3])
            if coordinates == 2:
                place[:, 2] = 0
            address = np.concatenate([place[:, :coordinates], np.full((64, 1), mip, np.int32)], 1)
            found = run_image(device, instruction, view.words, address=address)[:, 0]
            np.testing.assert_array_equal(found, texels_at(levels, mip, place), err_msg=f"{image.surface} level {mip}")
        image.release()
    assert tried >= (1 if target in (*TILED, "gfx900") else 3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("engine", ENGINES)
def test_stores(target: str, engine: str) -> None:
    """A texel of every place inside is written, and nothing else."""
    device, random = Device(target, engine), np.random.default_rng(6)
    image, levels = filled(device, "2d_array", random, "R16G16_UINT")
    order = random.permutation(37 * 20 * 5)[:64]
    place = np.stack([order % 37, order // 37 % 20, order // 740], 1).astype(np.int32)
    place[::7, 0] += 37
    place[3::9, 2] += 5
    data = random.integers(0, 1 << 16, (64, 4), dtype=np.uint32)
    run_image(device, image_instruction("image_store", target, "2d_array", 3), image.view().words, address=place, data=data, stores=True)
    expected = levels[0].copy()
    for (x, y, z), texel in zip(place, data, strict=True):
        if x < 37 and z < 5:
            expected[z, y, x] = texel[:2]
    np.testing.assert_array_equal(image.numpy().reshape(expected.shape), expected)
    np.testing.assert_array_equal(image.numpy(1).reshape(levels[1].shape), levels[1])


ATOMICS: dict[str, Callable[[NDArray[np.uint32], NDArray[np.uint32]], NDArray[np.uint32]]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "smin": lambda a, b: np.minimum(a.view(np.int32), b.view(np.int32)).view(np.uint32),
    "umin": np.minimum, "smax": lambda a, b: np.maximum(a.view(np.int32), b.view(np.int32)).view(np.uint32), "umax": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "swap": lambda a, b: b,
    "inc": lambda a, b: np.where(a >= b, 0, a + 1).astype(np.uint32), "dec": lambda a, b: np.where((a == 0) | (a > b), b, a - 1).astype(np.uint32),
}


@pytest.mark.parametrize("target", TARGETS)
def test_atomics(target: str) -> None:
    device, random = Device(target), np.random.default_rng(7)
    names = {"add": "add_uint", "sub": "sub_uint", "smin": "min_int", "umin": "min_uint", "smax": "max_int", "umax": "max_uint",
             "inc": "inc_uint", "dec": "dec_uint"} if target == "gfx1200" else {}  # fmt: skip
    for name, model in ATOMICS.items():
        image, levels = filled(device, "2d", random)
        order = random.permutation(45 * 33)[:64]
        place = np.stack([order % 45, order // 45], 1).astype(np.int32)
        data = random.integers(0, 1 << 32, (64, 1), dtype=np.uint32)
        returns = "th:TH_ATOMIC_RETURN" if target == "gfx1200" else "glc"
        text = image_instruction(f"image_atomic_{names.get(name, name)}", target, "2d", 2, 1, data=1, flags=(returns,))
        found = run_image(device, text, image.view().words, address=place, data=data)[:, 0]
        old = levels[0][0, place[:, 1], place[:, 0]].reshape(-1)
        np.testing.assert_array_equal(found, old, err_msg=name)
        np.testing.assert_array_equal(image.numpy().reshape(33, 45)[place[:, 1], place[:, 0]], model(old, data[:, 0]), err_msg=name)
        image.release()


@pytest.mark.parametrize("target", TARGETS)
def test_sizes(target: str) -> None:
    """image_get_resinfo: width, height, depth or layers, and levels; no extent for levels that the view does not have."""
    device = Device(target)
    for shape, expected in {"2d": (45, 33, 1), "2d_array": (37, 20, 5), "3d": (19, 21, 11)}.items():
        image = device.image(format="R32_UINT", **SHAPES[shape])
        levels = SHAPES[shape]["mips"]
        text = image_instruction("image_get_resinfo", target, shape, 1)
        found = run_image(device, text, image.view(levels=(1, levels - 1)).words, address=np.arange(levels, dtype=np.uint32)[:, None])[:, :4]
        for number in range(levels - 1):
            size = [max(extent >> (number + 1), 1) for extent in expected]
            if shape != "3d":
                size[2] = expected[2]
            assert found[number].tolist() == [*size, levels - 1]
        assert not found[levels - 1, :3].any()


# ------------------------------------------------------------------------------------------------------------------ formats
FORMATS = [
    "R8_UNORM", "R8_SNORM", "R8_UINT", "R8_SINT", "R8G8_UNORM", "R8G8_SNORM", "R8G8B8A8_UNORM", "R8G8B8A8_SNORM", "R8G8B8A8_UINT", "R8G8B8A8_SINT",
    "R8G8B8A8_SRGB", "B8G8R8A8_UNORM", "B8G8R8A8_SRGB", "R5G6B5_UNORM", "R16_UNORM", "R16_SNORM", "R16_FLOAT", "R16G16_SINT", "R16G16B16A16_UNORM",
    "R16G16B16A16_SNORM", "R16G16B16A16_FLOAT", "R16G16B16A16_UINT", "R32_UINT", "R32_SINT", "R32_FLOAT", "R32G32_UINT", "R32G32B32A32_FLOAT",
    "R32G32B32A32_SINT", "R10G10B10A2_UNORM", "R10G10B10A2_UINT", "B10G10R10A2_UNORM", "R11G11B10_FLOAT", "R9G9B9E5_FLOAT", "Z16_UNORM", "Z32_FLOAT",
]  # fmt: skip


def small_float(bits: int, mantissa: int) -> float:
    exponent, fraction = bits >> mantissa, bits & (1 << mantissa) - 1
    if exponent == 31:
        return float("nan") if fraction else float("inf")
    return fraction * 2.0 ** (-14 - mantissa) if exponent == 0 else (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - 15)


def channel_value(raw: int, size: int, kind: str, srgb: bool) -> float | int:
    """What a channel's bits mean."""
    signed_value = raw - (1 << size) if raw >> (size - 1) else raw
    if kind == "UNORM":
        value = raw / ((1 << size) - 1)
        return value if not srgb else value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
    if kind == "SNORM":
        return max(signed_value / ((1 << (size - 1)) - 1), -1.0)
    if kind == "FLOAT":
        return float(np.array(raw, f"u{size // 8}").view(f"f{size // 8}"))
    return raw if kind == "UINT" else signed_value


def expected_texel(name: str, raw: int) -> list[float | int]:
    """Red, green, blue and alpha of an element."""
    if name == "R11G11B10_FLOAT":
        return [small_float(raw & 2047, 6), small_float(raw >> 11 & 2047, 6), small_float(raw >> 22, 5), 1.0]
    if name == "R9G9B9E5_FLOAT":
        return [(raw >> 9 * k & 511) * 2.0 ** ((raw >> 27) - 24) for k in range(3)] + [1.0]
    if name[0] == "Z":
        return [channel_value(raw, int(name[1:3]), name[4:], False), 0.0, 0.0, 1.0]
    kind = name.rsplit("_", 1)[1]
    found: dict[str, float | int] = {"R": 0, "G": 0, "B": 0, "A": 1}
    position = 0
    for letter, size in re.findall(r"([RGBA])(\d+)", name.rsplit("_", 1)[0]):
        bits = raw >> position & (1 << int(size)) - 1
        found[letter] = channel_value(bits, int(size), "UNORM" if kind == "SRGB" else kind, kind == "SRGB" and letter != "A")
        position += int(size)
    return [found[letter] for letter in "RGBA"]


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_formats(target: str) -> None:
    """Every format: the components of random elements, and those components stored again."""
    device, random = Device(target), np.random.default_rng(8)
    load = image_instruction("image_load", target, "2d", 2)
    store = image_instruction("image_store", target, "2d", 2)
    place = np.stack([np.arange(64) % 8, np.arange(64) // 8], 1).astype(np.int32)
    for name in FORMATS:
        size = pixel_format(name).bits // 8
        image = device.image(format=name, width=8, height=8)
        raw = random.integers(0, 256, (8, 8, size), dtype=np.uint8)
        level = image.numpy()
        image.write(np.frombuffer(raw.tobytes(), level.dtype).reshape(level.shape))
        found = run_image(device, load, image.view().words, address=place)[:, :4]
        integer = name.endswith("INT")
        expected = np.array([expected_texel(name, int.from_bytes(each.tobytes(), "little")) for each in raw.reshape(64, size)])
        if integer:
            np.testing.assert_array_equal(found, expected.astype(np.int64).astype(np.uint32), err_msg=name)
        else:
            with np.errstate(invalid="ignore"):             # signalling NaNs
                np.testing.assert_array_equal(found.view(np.float32), expected.astype(np.float32), err_msg=name)
        if name.endswith("SRGB") or name[0] == "Z":
            image.release()
            continue
        image.write(np.zeros_like(image.numpy()))
        run_image(device, store, image.view(storage=True).words, address=place, data=found, stores=True)
        again = run_image(device, load, image.view().words, address=place)[:, :4]
        both_nan = np.isnan(found.view(np.float32)) & np.isnan(again.view(np.float32)) & (not integer)
        np.testing.assert_array_equal(np.where(both_nan, found, again), found, err_msg=name)
        image.release()


def test_layouts_of_names() -> None:
    assert texel_layout("2_10_10_10_UNORM").channels == ((0, 10, 0), (10, 10, 0), (20, 10, 0), (30, 2, 0))
    assert texel_layout("X24_8_32_FLOAT").bytes == 8
    for name in ("ASTC_2D_LDR_UNORM", "GB_GR_UNORM", "4_4_4_UNORM", "INVALID"):
        with pytest.raises(UnsupportedError, match="texels of the format"):
            texel_layout(name)


# ------------------------------------------------------------------------------------------------------------------- samples
def wrap(mode: int, i: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Index of a texel by Vulkan's wrapping operations; -1 for the border."""
    if mode == 0:
        return i % size
    if mode == 1:
        j = i % (2 * size)
        return np.where(j < size, j, 2 * size - 1 - j)
    if mode == 2:
        return np.clip(i, 0, size - 1)
    if mode == 3:
        return np.clip(np.where(i < 0, -1 - i, i), 0, size - 1)
    return np.where((i < 0) | (i >= size), -1, i)


def bilinear(texels: NDArray[np.float64], uv: NDArray[np.float32], modes: tuple[int, int], border: float) -> NDArray[np.float64]:
    """Bilinear samples with 8 fraction bits."""
    height, width, channels = texels.shape
    padded = np.full((height + 1, width + 1, channels), border)
    padded[:height, :width] = texels
    fixed = [np.floor(uv[:, k].astype(np.float64) * size * 256 + 0.5).astype(np.int64) - 128 for k, size in enumerate((width, height))]
    x, y = (wrap(mode, np.stack([f >> 8, (f >> 8) + 1]), size) for f, mode, size in zip(fixed, modes, (width, height), strict=True))
    a, b = ((f & 255)[:, None] / 256 for f in fixed)
    return ((padded[y[0], x[0]] * (1 - a) + padded[y[0], x[1]] * a) * (1 - b) + (padded[y[1], x[0]] * (1 - a) + padded[y[1], x[1]] * a) * b)


@pytest.mark.parametrize("target", TARGETS)
def test_bilinear_samples(target: str) -> None:
    """Every addressing mode, with borders."""
    device, random = Device(target), np.random.default_rng(9)
    image = device.image(format="R32G32B32A32_FLOAT", width=23, height=14)
    texels = random.random((14, 23, 4)).astype(np.float32)
    image.write(texels)
    uv = (random.random((64, 2)) * 4 - 1.5).astype(np.float32)
    text = image_instruction("image_sample_lz", target, "2d", 2, sampler=True)
    for mode in (0, 1, 2, 3, 6):
        for other in (0, 6):
            for border in (0, 2):
                sampler = sampler_descriptor(Sampler((mode, other, 0), 1, 1, border_color_type=border), device.gfx_level)
                found = run_image(device, text, image.view().words, sampler, address=uv)[:, :4].view(np.float32)
                expected = bilinear(texels.astype(np.float64), uv, (mode, other), border / 2)
                np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7, err_msg=f"{mode} {other} {border}")


@pytest.mark.parametrize("target", TARGETS)
def test_levels_of_detail(target: str) -> None:
    """Two levels are mixed by the 8 fraction bits of the level of detail; limits and bias of the sampler hold."""
    device, random = Device(target), np.random.default_rng(10)
    image = device.image(format="R32_FLOAT", width=16, height=16, mips=5)
    for mip in range(5):
        image.write(np.full(image.numpy(mip).shape, float(mip), np.float32), mip)
    lod = (random.random((64, 1)) * 8 - 2).astype(np.float32)
    address = np.concatenate([random.random((64, 2)).astype(np.float32), lod], 1)
    text = image_instruction("image_sample_l", target, "2d", 3, 1, data=1, sampler=True)
    for low, high, bias in ((0.0, 15.0, 0.0), (0.5, 2.25, 0.0), (0.0, 15.0, -1.5), (0.0, 15.0, 0.75)):
        words = sampler_descriptor(Sampler(mag_filter=1, min_filter=1, mip_filter=2, min_lod=low, max_lod=high, lod_bias=bias), device.gfx_level)
        found = run_image(device, text, image.view().words, words, address=address)[:, 0].view(np.float32)
        exact = np.floor(lod[:, 0].astype(np.float64) * 256 + 0.5) / 256 + bias
        np.testing.assert_array_equal(found, np.clip(np.clip(exact, low, high), 0, 4).astype(np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_gathers(target: str) -> None:
    """(0, 1), (1, 1), (1, 0), (0, 0) of one component. GFX8 begins at the nearest texel in integer formats."""
    device, random = Device(target), np.random.default_rng(11)
    image, levels = filled(device, "2d", random, "R8G8B8A8_UINT")
    texels = levels[0][0]
    place = np.stack([random.integers(1, 44, 64), random.integers(1, 32, 64)], 1)
    uv = ((place - (0.5 if target in TILED else 0.0)) / np.array([45, 33])).astype(np.float32)
    sampler = sampler_descriptor(Sampler((2, 2, 2)), device.gfx_level)
    for component in range(4):
        text = image_instruction("image_gather4_lz", target, "2d", 2, 1 << component, sampler=True)
        found = run_image(device, text, image.view().words, sampler, address=uv)[:, :4]
        x, y = place.T
        expected = np.stack([texels[y, x - 1], texels[y, x], texels[y - 1, x], texels[y - 1, x - 1]], 1)[:, :, component]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_comparisons(target: str) -> None:
    device, random = Device(target), np.random.default_rng(12)
    image = device.image(format="Z32_FLOAT", width=8, height=8)
    depth = (random.integers(0, 4, (8, 8)) / 4).astype(np.float32)
    image.write(depth)
    place = random.integers(0, 8, (64, 2))
    reference = (random.integers(0, 4, 64) / 4).astype(np.float32)
    address = np.concatenate([reference[:, None], ((place + 0.5) / 8).astype(np.float32)], 1)
    texel = depth[place[:, 1], place[:, 0]]
    functions: tuple[Callable[..., Any], ...] = (
        lambda a, b: a != a, np.less, np.equal, np.less_equal, np.greater, np.not_equal, np.greater_equal, lambda a, b: a == a)
    text = image_instruction("image_sample_c_lz", target, "2d", 3, 1, data=1, sampler=True)
    for number, function in enumerate(functions):
        words = sampler_descriptor(Sampler(compare=number), device.gfx_level)
        found = run_image(device, text, image.view().words, words, address=address)[:, 0].view(np.float32)
        np.testing.assert_array_equal(found, function(reference, texel).astype(np.float32), err_msg=str(number))


def test_cube_edges_have_no_seam() -> None:
    """On an edge a linear sample is the mean of the texels of both faces, from whichever face it is asked for; without wrapping, of one."""
    device, random = Device("gfx1030"), np.random.default_rng(14)
    image = device.image(format="R32_FLOAT", width=16, height=16, cube=True)
    faces = random.random((6, 16, 16)).astype(np.float32)
    image.write(faces)
    # right edges, and the faces whose left edges they are: +x, -z, -x, +z
    rows = [(2.0, 1 + (k + 0.5) / 16, face) for face in (0, 5, 1, 4) for k in range(16)]
    others = [(1.0, t, {0: 5, 5: 1, 1: 4, 4: 0}[face]) for _, t, face in rows]
    text = image_instruction("image_sample_lz", "gfx1030", "cube", 3, 1, data=1, sampler=True)

    def sampled(places: list[tuple[float, float, int]], wraps: bool) -> NDArray[np.float32]:
        words = sampler_descriptor(Sampler((2, 2, 2), 1, 1, cube_wrap=wraps), device.gfx_level)
        return run_image(device, text, image.view().words, words, address=np.array(places, np.float32))[:, 0].view(np.float32)

    right = np.concatenate([faces[face][:, 15] for face in (0, 5, 1, 4)])
    left = np.concatenate([faces[face][:, 0] for face in (5, 1, 4, 0)])
    for places in (rows, others):
        np.testing.assert_allclose(sampled(places, True), (right.astype(np.float64) + left) / 2, rtol=1e-6)
    np.testing.assert_array_equal(sampled(rows, False), right)


# ------------------------------------------------------------------------------------------------------------------- errors
def test_errors_say_what_is_wrong() -> None:
    device = Device("gfx1030")
    image = device.image(format="R32_UINT", width=8, height=8)
    words = list(image.view().words)
    text = image_instruction("image_load", "gfx1030", "2d", 2)
    address = np.zeros((32, 2), np.uint32)
    words[3] = words[3] & ~0xF0000 | 5 << 16
    with pytest.raises(EmulationError, match="levels 0 to 5 of an image of 1"):
        run_image(device, text, words, address=address)
    words = list(image.view().words)
    with pytest.raises(EmulationError, match="outside memory"):
        run_image(device, text, [words[0] + (1 << 22), *words[1:]], address=address)
    image.release()
    with pytest.raises(InputError, match="has been released"):
        _ = image.view().words
    assert not run_image(device, text, [0] * 8, address=address)[:, :4].any()


def test_dispatch_takes_images() -> None:
    """Images, views, samplers and texel buffers stand in a set as its layout says."""
    device = Device("gfx1100")
    image, sampler = device.image(format="R8_UNORM", width=8, height=8), Sampler(mag_filter=1)
    both = SampledImage(image, sampler)
    parts = descriptor_parts(both, device.gfx_level)
    assert parts["image"] == image.view().words and parts["sampler"] == sampler_descriptor(sampler, device.gfx_level)
    assert {kind: descriptor_places("combined_image_sampler")[kind] for kind in parts} == {"image": 0, "sampler": 80}
    assert elements_of(both) == [both] and elements_of([both, image]) == [both, image] and elements_of(sampler) == [sampler]
    texels = TexelBuffer(device.zeros(64), "R16G16_UINT", 16)
    assert descriptor_parts(texels, device.gfx_level)["buffer"][2] == 12
    with pytest.raises(InputError, match="on a device of level"):
        descriptor_parts(image, 120)


def test_races_between_image_stores_are_found() -> None:
    """Stores of two waves to one texel that nothing orders."""
    device = Device("gfx1030", check="races")
    image = device.image(format="R32_UINT", width=8, height=8)
    instruction = image_instruction("image_store", "gfx1030", "2d", 2, 1, data=1)
    code = assemble(f"v_mov_b32 v16, v0\nv_mov_b32 v24, 0\nv_mov_b32 v25, 0\n{instruction}\ns_endpgm\n", "gfx1030", wave_size=32)
    with pytest.raises(RaceError):
        device.run(code, (1, 1, 1), (64, 1, 1), user_sgprs=[*image.view().words], local_id_components=1)


def test_image_opcodes_are_executed() -> None:
    """All that are no rays and do not move raw elements."""
    names = opcodes.names()
    missing = {name for number, name in enumerate(names) if name.startswith("image_") and number not in set(supported_opcodes())}
    assert all("bvh" in name or "_pck" in name or name.endswith("_flt") for name in missing), missing


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target", TARGETS)
def test_gathers_of_level_zero(target: str, engine: str) -> None:
    """They read the base level, whatever limits and bias the sampler has; samples of level zero heed these."""
    device = Device(target, engine=engine)
    image = device.image(format="R32_UINT", width=8, height=8, mips=3)
    for mip in range(3):
        image.write(np.full_like(image.numpy(mip), 10 + mip), mip)
    address = np.full((64, 2), 0.4, np.float32)
    for state in (Sampler(mip_filter=1, min_lod=1.0), Sampler(mip_filter=1, lod_bias=1.0)):
        words = sampler_descriptor(state, device.gfx_level)
        for name, expected in (("image_gather4_lz", 10), ("image_sample_lz", 11)):
            text = image_instruction(name, target, "2d", 2, 1, data=4 if "gather" in name else 1, sampler=True)
            assert (run_image(device, text, image.view().words, words, address=address)[:, 0] == expected).all(), (name, state)


@pytest.mark.parametrize(("target", "mode", "format"), [("gfx1030", 26, "R32G32_UINT"), ("gfx1100", 26, "R32G32_UINT"), ("gfx1100", 30, "R8_UINT")])
def test_modes_without_addresses(target: str, mode: int, format: str) -> None:
    """A layout of which addrlib has no addresses (3D in 64KB_D_X and 256KB_D_X) is refused where the image is made."""
    with pytest.raises(InputError, match="no such surface"):
        Device(target).image(format=format, width=16, height=8, depth=8, swizzle_mode=mode)
