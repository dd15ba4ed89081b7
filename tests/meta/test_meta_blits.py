"""Blits, mip chains, clears and resolves against models in NumPy with Vulkan's rules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from meta_images import TARGETS, elements, images, modes_of, randomised
from numpy.typing import NDArray

from pyaco import meta
from pyaco.emu import Device
from pyaco.errors import InputError
from pyaco.meta.clears import shared_exponent
from pyaco.meta.regions import level_extent, whole_level

Corners = tuple[tuple[int, int, int], tuple[int, int, int]]
#: Corners of source and destination in boxes of 20 x 14 and 33 x 25 texels: larger, smaller, mirrored, parts.
SCALES: dict[str, tuple[Corners, Corners]] = {
    "larger": (((0, 0, 0), (20, 14, 1)), ((0, 0, 0), (33, 25, 1))), "mirrored": (((20, 14, 0), (0, 0, 1)), ((0, 0, 0), (33, 25, 1))),
    "smaller": (((0, 0, 0), (20, 14, 1)), ((3, 2, 0), (10, 9, 1))), "mirrored part": (((4, 13, 0), (17, 2, 1)), ((30, 1, 0), (5, 22, 1))),
    "same size": (((2, 1, 0), (14, 11, 1)), ((7, 9, 0), (19, 19, 1))),
}


def centres(source: tuple[int, int], destination: tuple[int, int]) -> list[Fraction]:
    """Where the centres of the texels of one axis lie in the source, exactly, from the lowest texel of the destination on."""
    (a, b), (c, d) = source, destination
    return [Fraction(2 * (texel - c) + 1, 2) * Fraction(b - a, d - c) + a for texel in range(min(c, d), max(c, d))]


def nearest_of(texels: NDArray[Any], source: Corners, destination: Corners) -> NDArray[Any]:
    """The model for the filter nearest; texels are slices, rows and columns, slices stay."""
    columns, rows = ([math.floor(place) for place in centres((source[0][k], source[1][k]), (destination[0][k], destination[1][k]))] for k in (0, 1))
    return texels[:, np.array(rows)[:, None], np.array(columns)[None, :]]


def linear_of(texels: NDArray[np.float64], source: Corners, destination: Corners) -> NDArray[np.float64]:
    """The model for the filter linear: exact weights, coordinates clamped to the edge."""
    for axis, k in ((2, 0), (1, 1)):
        place = np.array([float(each) for each in centres((source[0][k], source[1][k]), (destination[0][k], destination[1][k]))]) - 0.5
        low = np.floor(place).astype(int)
        weight = (place - low).reshape([-1 if each == axis else 1 for each in range(4)])
        below, above = (np.clip(low + more, 0, texels.shape[axis] - 1) for more in (0, 1))
        texels = np.take(texels, below, axis) * (1 - weight) + np.take(texels, above, axis) * weight
    return texels


def colors(image: Any, level: int = 0) -> NDArray[np.float64]:
    """The linear components of RGBA8 and RGBA16F texels."""
    raw = image.numpy(level)
    raw = raw.reshape(*image.surface.level_shape(level), -1)
    if image.format.name.endswith("FLOAT"):
        return np.asarray(raw.astype(np.float64))
    found = raw / 255.0
    if image.format.color_space == "srgb":
        found[..., :3] = np.where(found[..., :3] <= 0.04045, found[..., :3] / 12.92, ((found[..., :3] + 0.055) / 1.055) ** 2.4)
    return np.asarray(found)


@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("target", TARGETS)
def test_nearest_keeps_texels(target: str, scale: str, queue: str) -> None:
    device, random = Device(target, threads=1), np.random.default_rng(1)
    source_corners, corners = SCALES[scale]
    for name in ("R8G8B8A8_UINT", "R32_SINT", "R16_UNORM", "R8G8B8A8_SRGB", "Z16_UNORM", "S8_UINT"):
        source = randomised(device.image(format=name, width=20, height=14, layers=3), random)
        other = randomised(device.image(format=name, width=33, height=25, layers=3), random)
        wanted = elements(other, 0).copy()
        box = tuple(slice(min(a, b), max(a, b)) for a, b in zip(*corners, strict=True))
        wanted[:, box[1], box[0]] = nearest_of(elements(source, 0), source_corners, corners)
        layers = meta.SubresourceLayers(0, 0, 3)
        meta.blit_image(device, source, other, [meta.ImageBlit(layers, source_corners, layers, corners)], queue=queue)
        found = elements(other, 0)
        if name.endswith("SRGB"):
            assert np.abs(found.astype(int) - wanted).max() <= 1
        else:
            assert np.array_equal(found, wanted), name


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("target", TARGETS)
def test_linear_is_within_the_weights(target: str, scale: str) -> None:
    """Weights have 8 fraction bits, rounded: a result is off by up to half of a 256th in each axis, and by the destination's rounding."""
    device, random = Device(target, threads=1), np.random.default_rng(2)
    source_corners, corners = SCALES[scale]
    for name, to in (("R8G8B8A8_UNORM", "R16G16B16A16_FLOAT"), ("R8G8B8A8_SRGB", "R8G8B8A8_UNORM"), ("R8G8B8A8_UNORM", "R8G8B8A8_SRGB")):
        source = randomised(device.image(format=name, width=20, height=14, layers=2), random)
        other = device.image(format=to, width=33, height=25, layers=2)
        wanted = linear_of(colors(source), source_corners, corners)
        layers = meta.SubresourceLayers(0, 0, 2)
        meta.blit_image(device, source, other, [meta.ImageBlit(layers, source_corners, layers, corners)], "linear")
        box = tuple(slice(min(a, b), max(a, b)) for a, b in zip(*corners, strict=True))
        found = colors(other)[:, box[1], box[0]]
        step = 1e-3 if to.endswith("FLOAT") else 0.6 / 255 if to.endswith("UNORM") else 1.4 / 255
        assert np.abs(found - wanted).max() <= 2 / 512 + step, (name, to)


@pytest.mark.parametrize("target", TARGETS)
def test_between_tilings(target: str) -> None:
    """From and to each swizzle mode the same: from all to one, and from one to all."""
    device, random = Device(target, threads=1), np.random.default_rng(3)
    shape: dict[str, Any] = {"width": 40, "height": 24}
    pairs = [*((mode, modes_of(target)[1]) for mode in modes_of(target)), *((modes_of(target)[1], mode) for mode in modes_of(target))]
    plain = randomised(device.image(format="R8G8B8A8_UNORM", linear=True, **shape), random)
    for filter in ("nearest", "linear"):
        results = []
        for first, second in pairs:
            for source in images(device, "R8G8B8A8_UNORM", shape, [first]):
                meta.copy_image(device, plain, source)
                for other in images(device, "R16G16B16A16_UNORM", {"width": 23, "height": 31}, [second]):
                    meta.blit_image(device, source, other, filter=filter)
                    results.append(elements(other, 0).copy())
        assert len(results) >= 4 and all(np.array_equal(result, results[0]) for result in results)
        assert results[0].any()


@pytest.mark.parametrize("target", TARGETS)
def test_volumes_scale_in_depth(target: str) -> None:
    device, random = Device(target, threads=1), np.random.default_rng(4)
    source = randomised(device.image(format="R8G8B8A8_UNORM", width=9, height=8, depth=7), random)
    other = device.image(format="R8G8B8A8_UNORM", width=9, height=8, depth=16)
    meta.blit_image(device, source, other)
    slices = [math.floor(place) for place in centres((0, 7), (0, 16))]
    assert np.array_equal(other.numpy(), source.numpy()[slices])
    meta.blit_image(device, source, other, filter="linear")
    turned = colors(source).transpose(1, 0, 2, 3)              # depth as rows
    wanted = linear_of(turned, ((0, 0, 0), (9, 7, 1)), ((0, 0, 0), (9, 16, 1))).transpose(1, 0, 2, 3)
    assert np.abs(colors(other) - wanted).max() <= 1 / 512 + 0.6 / 255


@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("target", TARGETS)
def test_mip_chains(target: str, queue: str) -> None:
    """Each level is the one before it, scaled; where halves are whole, the mean of four texels."""
    device, random = Device(target, threads=1), np.random.default_rng(5)
    for width, height in ((64, 32), (45, 27)):
        image = device.image(format="R8G8B8A8_UNORM", width=width, height=height, layers=2, mips=width.bit_length())
        image.write(random.integers(0, 256, image.numpy().shape, dtype=np.uint8))
        reports = meta.generate_mipmaps(device, image, queue=queue)
        assert len(reports) == image.surface.request.levels - 1
        for level in range(1, image.surface.request.levels):
            corners = [((0, 0, 0), level_extent(image, each)) for each in (level - 1, level)]
            wanted = linear_of(colors(image, level - 1), *corners)
            assert np.abs(colors(image, level) - wanted).max() <= 2 / 512 + 0.6 / 255, level
    assert colors(image, image.surface.request.levels - 1).any()


CLEARS: dict[str, tuple[tuple[float, ...], Any]] = {
    "R8G8B8A8_UNORM": ((0.0, 1.0, 0.5, 0.25), [0, 255, 128, 64]), "B8G8R8A8_SNORM": ((-1.0, 1.0, 0.5, 0.0), [64, 127, -127, 0]),
    "R8G8B8A8_SRGB": ((0.0, 1.0, 0.214041, 0.5), [0, 255, 127, 128]), "R16G16_FLOAT": ((0.5, -2.0, 0.0, 0.0), [0.5, -2.0]),
    "R32G32B32A32_UINT": ((1, 2**32 - 1, 7, 0), [1, 2**32 - 1, 7, 0]), "R8_SINT": ((-5, 0, 0, 0), -5),
    "R32G32B32_FLOAT": ((1.5, -1.0, 3.0, 0.0), [1.5, -1.0, 3.0]),
    "R9G9B9E5_FLOAT": ((1.0, 0.5, 100.0, 0.0), shared_exponent(1.0, 0.5, 100.0)), "R10G10B10A2_UNORM": ((1.0, 0.0, 1.0, 1.0), 0xFFF003FF),
    "R11G11B10_FLOAT": ((1.0, 2.0, 0.5, 0.0), 0x3C0 | 0x400 << 11 | 0x1C0 << 22),
}


@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("target", TARGETS)
def test_clears(target: str, queue: str) -> None:
    device = Device(target, threads=1)
    for name, (color, wanted) in CLEARS.items():
        shape: dict[str, Any] = {"linear": True} if name == "R32G32B32_FLOAT" else {"mips": 3}
        image = device.image(format=name, width=21, height=10, layers=3, **shape)
        meta.clear_color_image(device, image, color, queue=queue)
        for level in range(image.surface.request.levels):
            assert (image.numpy(level) == np.array(wanted)).all(), name
        randomised(image, np.random.default_rng(6))
        before = elements(image, 0).copy()
        meta.clear_color_image(device, image, color, [meta.SubresourceLayers(0, 1, 1)], queue=queue)
        assert (image.numpy()[1] == np.array(wanted)).all() and np.array_equal(elements(image, 0)[[0, 2]], before[[0, 2]])
    volume = device.image(format="R16_UINT", width=9, height=8, depth=5)
    meta.clear_color_image(device, volume, (7, 0, 0, 0), queue=queue)
    assert (volume.numpy() == 7).all()


@pytest.mark.parametrize("target", TARGETS)
def test_clears_of_depth_and_stencil(target: str) -> None:
    device = Device(target, threads=1)
    for name, wanted in (("Z32_FLOAT_S8X24_UINT", np.float32(0.25).view(np.uint32)), ("Z16_UNORM", 0x4000), ("Z32_FLOAT", 0.25)):
        image = device.image(format=name, width=30, height=20, mips=2)
        meta.clear_depth_stencil_image(device, image, 0.25, 9)
        for level in (0, 1):
            assert (image.numpy(level) == wanted).all(), name
            assert not image.format.has_stencil or (image.numpy(level, stencil=True) == 9).all()


def test_shared_exponents() -> None:
    """The nearest number of the format, where it has one: a model of exact fractions over random colours."""
    random = np.random.default_rng(7)
    for color in [(0.0, 0.0, 0.0), (65408.0, 1e9, -1.0), (1.0, 0.999, 0.0), *random.lognormal(0, 6, (500, 3)).tolist()]:
        word = shared_exponent(*color)
        scale = 2.0 ** ((word >> 27) - 24)
        limited = [min(max(value, 0.0), 65408.0) for value in color]
        for k, value in enumerate(limited):
            assert abs((word >> 9 * k & 511) * scale - value) <= scale / 2
        assert word >> 27 == 0 or max(word & 511, word >> 9 & 511, word >> 18 & 511) >= 256


def test_what_is_refused() -> None:
    device = Device("gfx1100", threads=1)
    color, integer = device.image(format="R8G8B8A8_UNORM", width=16, height=8, mips=2), device.image(format="R8G8B8A8_UINT", width=16, height=8)
    depth, blocks = device.image(format="Z32_FLOAT_S8X24_UINT", width=16, height=8), device.image(format="DXT1_RGBA", width=16, height=8)
    whole = whole_level(color, 0)[0]
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: meta.blit_image(device, color, integer), "region 0: a blit of R8G8B8A8_UNORM to R8G8B8A8_UINT: float and uint"),
        (lambda: meta.blit_image(device, integer, integer, filter="linear"), r"integers \(R8G8B8A8_UINT\) are blitted with the filter nearest"),
        (lambda: meta.blit_image(device, color, color, filter="cubic"), "a filter 'cubic'; there are nearest and linear"),
        (lambda: meta.blit_image(device, color, color), "source and destination overlap"),
        (lambda: meta.blit_image(device, color, blocks), "a blit to DXT1_RGBA, which shaders do not write"),
        (lambda: meta.blit_image(device, depth, depth), "an image of Z32_FLOAT_S8X24_UINT has depth and stencil: a region names one"),
        (lambda: meta.blit_image(device, color, color, [meta.ImageBlit(source_corners=((0, 0, 0), (17, 8, 1)))]),
         "from 0 to 17 in x: level 0 has 16"),
        (lambda: meta.clear_color_image(device, depth, (0, 0, 0, 0)), "a clear of an image of Z32_FLOAT"),
        (lambda: meta.clear_color_image(device, integer, (0.5, 0, 0, 0)), "a component of 0.5 for an image of uints"),
        (lambda: meta.clear_color_image(device, color, (0, 0, 0)), "a colour of 3 components"),
        (lambda: meta.clear_color_image(device, color, (0, 0, 0, 0), [whole, meta.SubresourceLayers(2)]), "region 1: level 2 of an image of 2"),
        (lambda: meta.clear_color_image(device, color, (0, 0, 0, 0), queue="dma"), "the DMA engine runs no shaders"),
        (lambda: meta.clear_depth_stencil_image(device, depth, 2.0), "a clear to depth 2.0"),
        (lambda: meta.resolve_image(device, color, color), "a resolve of 1 samples to 1"),
    ]
    for refused, message in cases:
        with pytest.raises(InputError, match=message):
            refused()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [{"width": 45, "height": 33}, {"width": 19, "height": 21, "layers": 3}], ids=["2d", "2d_array"])
@pytest.mark.parametrize("target", TARGETS)
def test_blits_between_all_tilings(target: str, shape: dict[str, Any]) -> None:
    """From each mode to each through PM4: of one size there and back bit for bit, scaled into another format with one result for all pairs."""
    device, modes = Device(target, threads=1), modes_of(target)
    sources, others = (list(images(device, "R8G8B8A8_UNORM", shape, modes)) for _ in range(2))
    scaled = list(images(device, "R16G16B16A16_UNORM", shape | {"width": 30, "height": 14}, modes))
    texels = elements(randomised(sources[0], np.random.default_rng(18)), 0).copy()
    for source in sources[1:]:
        meta.copy_image(device, sources[0], source, queue="compute")
    for source, other in itertools.product(sources, others):
        other.memory[:] = 0
        meta.blit_image(device, source, other, filter="nearest", queue="compute")
        source.memory[:] = 0
        meta.blit_image(device, other, source, filter="nearest", queue="compute")
        assert np.array_equal(elements(other, 0), texels), (source.surface.swizzle_mode, other.surface.swizzle_mode)
        assert np.array_equal(elements(source, 0), texels), (other.surface.swizzle_mode, source.surface.swizzle_mode)
    for filter in ("nearest", "linear"):
        wanted = None
        for source, other in itertools.product(sources, scaled):
            other.memory[:] = 0
            meta.blit_image(device, source, other, filter=filter, queue="compute")
            found = elements(other, 0).copy()
            wanted = found if wanted is None else wanted
            assert found.any() and np.array_equal(found, wanted), (filter, source.surface.swizzle_mode, other.surface.swizzle_mode)
