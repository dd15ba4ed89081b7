"""Copies keep every bit: between all swizzle modes of a chip and all formats with elements of one size, launched directly and through PM4."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from meta_images import COMPATIBLE, SHAPES, TARGETS, TILE_MODES, elements, images, modes_of, randomised

from pyaco import meta
from pyaco.emu import Device
from pyaco.errors import UnsupportedError
from pyaco.formats import pixel_format
from pyaco.meta.elements import element_view
from pyaco.meta.regions import aspect_of, level_extent, whole_level


def is_seen(image: Any, level: int) -> bool:
    """Whether a level can be seen as elements: all but levels of blocks that are more than those of level 0 halved, of blocks other than 4x4."""
    try:
        element_view(image, level, aspect_of(image, whole_level(image, level)[0]), 0, storage=False)
    except UnsupportedError:
        assert image.format.layout == "astc" or image.surface.request.is_3d or image.surface.config.level == 90
        return False
    return True


def level_copies(image: Any, other: Any) -> list[meta.ImageCopy]:
    """Copies of whole levels, where both images have a level of as many elements, which a view shows."""
    found = []
    for level in range(min(image.surface.request.levels, other.surface.request.levels)):
        if image.surface.level_shape(level) == other.surface.level_shape(level) and is_seen(image, level) and is_seen(other, level):
            found.append(meta.ImageCopy(whole_level(image, level)[0], destination=whole_level(other, level)[0]))
    return found


def shape_of(format: str, shape: dict[str, Any]) -> dict[str, Any]:
    """An image shape with as many elements at level 0, whatever the blocks of a format are."""
    block = pixel_format(format).block
    more = {"width": shape["width"] * block[0], "height": shape["height"] * block[1]}
    return shape | more | ({"mips": 1} if format.startswith("R32G32B32_") else {})


def faults_of_pairs(target: str, formats: tuple[str, ...], shape: dict[str, Any], modes: list[dict[str, Any]], queue: str) -> tuple[int, list[str]]:
    """Copy an image of each mode and format to one of each, and back into a third; how many pairs were tried, and those that were wrong."""
    device, random = Device(target, threads=1), np.random.default_rng(11)
    every = [image for form in formats for image in images(device, form, shape_of(form, shape), modes)]
    tried, faults = 0, []
    for source, destination in itertools.product(every, every):
        if source is destination:
            continue
        randomised(source, random)
        regions = level_copies(source, destination)
        before = {region.source.level: elements(source, region.source.level).copy() for region in regions}
        meta.copy_image(device, source, destination, regions, queue=queue)
        name = f"{target} {queue} {source.format.name} {source.surface.swizzle_mode} to {destination.format.name} {destination.surface.swizzle_mode}"
        faults += [f"{name}, level {level}" for level, wanted in before.items() if not np.array_equal(elements(destination, level), wanted)]
        source.memory[:] = 0
        meta.copy_image(device, destination, source, [meta.ImageCopy(r.destination, destination=r.source) for r in regions], queue=queue)
        faults += [f"{name} and back, level {level}" for level, wanted in before.items() if not np.array_equal(elements(source, level), wanted)]
        tried += 1
    return tried, faults


@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("target", TARGETS)
def test_round_trips_between_tilings(target: str, queue: str) -> None:
    """A sample of the whole matrix: two formats of each size, linear, the driver's choice and two modes that it is asked for."""
    modes = modes_of(target)
    for size, formats in COMPATIBLE.items():
        chosen = [modes[k] for k in sorted({0, 1, len(modes) // 2, len(modes) - 1})]
        tried, faults = faults_of_pairs(target, (formats[0], formats[-1]), {"width": 21, "height": 13, "mips": 3}, chosen, queue)
        assert tried >= 2 and not faults, f"{size} bytes: {faults}"


@pytest.mark.slow
@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_round_trips_between_all_tilings_and_formats(target: str, shape: str, queue: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All modes with one format of each size, and all formats of a size with the driver's choice and linear."""
    for size, formats in COMPATIBLE.items():
        every, every_faults = faults_of_pairs(target, formats[:1], SHAPES[shape], modes_of(target), queue)
        plain, plain_faults = faults_of_pairs(target, formats, SHAPES[shape], modes_of(target)[:2], queue)
        with capsys.disabled():
            print(f"\n{target} {shape} {queue}, {size} bytes: {every + plain} pairs, {len(every_faults + plain_faults)} wrong")
        assert not every_faults + plain_faults


@pytest.mark.parametrize("queue", meta.QUEUES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_buffers_hold_what_addrlib_says(target: str, shape: str, queue: str) -> None:
    """A part of each level, with pitches of its own, is where `Surface.detile` has it; nothing else changes."""
    device, random = Device(target, threads=1), np.random.default_rng(3)
    if queue == "dma" and target in TILE_MODES:
        image = device.image(format="R8G8B8A8_UNORM", **SHAPES[shape])
        with pytest.raises(UnsupportedError, match="images by the DMA engine of"):
            meta.copy_image_to_buffer(device, image, device.zeros(1 << 16), [meta.BufferImageCopy()], queue=queue)
        return
    for name in ("R8G8B8A8_UNORM", "R16_FLOAT", "R32G32B32A32_FLOAT"):
        image = randomised(device.image(format=name, **SHAPES[shape]), random)
        for level in range(image.surface.request.levels):
            wanted = elements(image, level)
            slices, rows, columns, size = wanted.shape
            x, y, z = columns // 3, rows // 4, slices // 2 if "depth" in SHAPES[shape] else 0
            subresource, _ = whole_level(image, level)
            first_layer = 0 if "depth" in SHAPES[shape] else slices // 2
            subresource = meta.SubresourceLayers(level, first_layer, subresource.layer_count - first_layer)
            region = meta.BufferImageCopy(8 * size, columns + 3, rows + 1, subresource, (x, y, z))
            buffer = device.zeros(8 * size + slices * (rows + 1) * (columns + 3) * size)
            part = wanted[max(z, first_layer) :, y:, x:]
            meta.copy_image_to_buffer(device, image, buffer, [region], queue=queue)
            held = buffer.numpy()[8 * size :].reshape(slices, rows + 1, columns + 3, size)
            assert np.array_equal(held[: part.shape[0], : part.shape[1], : part.shape[2]], part), (name, level)
            held[: part.shape[0], : part.shape[1], : part.shape[2]] = 0
            assert not buffer.numpy().any()
            fresh = random.integers(0, 256, part.shape, dtype=np.uint8)
            held[: part.shape[0], : part.shape[1], : part.shape[2]] = fresh
            expected = [elements(image, other).copy() for other in range(image.surface.request.levels)]
            expected[level][max(z, first_layer) :, y:, x:] = fresh
            meta.copy_buffer_to_image(device, buffer, image, [region], queue=queue)
            for other, texels in enumerate(expected):
                assert np.array_equal(elements(image, other), texels), (name, level, other)


@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["DXT1_RGBA", "BPTC_RGBA_UNORM", "ASTC_8x5_SRGB"])
def test_levels_of_blocks(target: str, name: str, queue: str) -> None:
    """Levels whose blocks are more than those of level 0 halved, of all extents that round differently, with and without layers."""
    device, random, tried = Device(target, threads=1), np.random.default_rng(5), 0
    if target in TILE_MODES and name.startswith("ASTC"):
        with pytest.raises(UnsupportedError, match="elements of 8 x 5 pixels before GFX9"):
            device.image(format=name, width=16, height=10)
        return
    for width, height, layers in [*((width, 3 * width % 61 + 4, 1) for width in range(5, 140, 9)), (45, 29, 3), (131, 37, 2)]:
        image = randomised(device.image(format=name, width=width, height=height, layers=layers, mips=max(width, height).bit_length()), random)
        other = device.image(format=name, width=width, height=height, layers=layers, mips=image.surface.request.levels)
        for level in range(image.surface.request.levels):
            subresource, _ = whole_level(image, level)
            try:
                meta.copy_image(device, image, other, [meta.ImageCopy(subresource, destination=subresource)], queue=queue)
            except UnsupportedError as error:
                assert ("has no padding" if target in ("gfx900", *TILE_MODES) else "2D images of 4x4 blocks") in str(error)
                assert target in ("gfx900", *TILE_MODES) or name.startswith("ASTC")
                continue
            assert np.array_equal(elements(other, level), elements(image, level)), (width, height, level)
            tried += 1
    assert tried > 50


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_become_texels(target: str) -> None:
    """A part of a compressed image is copied to an uncompressed one and back: a block is a texel."""
    device, random = Device(target, threads=1), np.random.default_rng(6)
    blocks = randomised(device.image(format="BPTC_RGBA_UNORM", width=70, height=50), random)
    texels = device.image(format="R32G32B32A32_UINT", width=20, height=16, mips=2)
    region = meta.ImageCopy(source_offset=(8, 4, 0), destination=meta.SubresourceLayers(1), destination_offset=(2, 1, 0), extent=(24, 20, 1))
    meta.copy_image(device, blocks, texels, [region])
    assert np.array_equal(elements(texels, 1)[:, 1:6, 2:8], elements(blocks, 0)[:, 1:6, 2:8])
    assert not elements(texels, 0).any() and np.count_nonzero(elements(texels, 1).any(-1)) == 30
    wanted = elements(blocks, 0).copy()
    wanted[:, 12, 13:18] = elements(texels, 1)[:, 1, 2:7]
    back = meta.ImageCopy(meta.SubresourceLayers(1), (2, 1, 0), destination_offset=(52, 48, 0), extent=(5, 1, 1))
    meta.copy_image(device, texels, blocks, [back])
    assert np.array_equal(elements(blocks, 0), wanted)


@pytest.mark.parametrize("target", TARGETS)
def test_layers_become_slices(target: str) -> None:
    """Layers of an array are slices of a 3D image."""
    device, random = Device(target, threads=1), np.random.default_rng(7)
    layers = randomised(device.image(format="R16G16_SNORM", width=23, height=18, layers=6), random)
    volume = device.image(format="R32_FLOAT", width=30, height=20, depth=9)
    region = meta.ImageCopy(meta.SubresourceLayers(0, 1, 4), (3, 2, 0), meta.SubresourceLayers(), (5, 6, 3), (17, 9, 1))
    meta.copy_image(device, layers, volume, [region])
    assert np.array_equal(elements(volume, 0)[3:7, 6:15, 5:22], elements(layers, 0)[1:5, 2:11, 3:20])
    assert np.count_nonzero(elements(volume, 0).any(-1).any(-1).any(-1)) == 4


@pytest.mark.parametrize("target", TARGETS)
def test_aspects(target: str) -> None:
    """Depth and stencil are copied apart."""
    device, random = Device(target, threads=1), np.random.default_rng(8)
    image = randomised(device.image(format="Z32_FLOAT_S8X24_UINT", width=40, height=24, layers=2), random)
    other = device.image(format="Z32_FLOAT_S8X24_UINT", width=40, height=24, layers=2)
    for aspect in ("stencil", "depth"):
        layers = meta.SubresourceLayers(0, 0, 2, aspect)
        meta.copy_image(device, image, other, [meta.ImageCopy(layers, destination=layers)])
        assert np.array_equal(elements(other, 0, aspect), elements(image, 0, aspect))
        assert (aspect == "depth") == bool(elements(other, 0, "depth").any())


@pytest.mark.parametrize("target", [target for target in TARGETS if target not in TILE_MODES])
def test_dma_between_linear_and_tiled(target: str) -> None:
    """The DMA engine agrees with shaders where one image is linear, and names what it has no packet for."""
    device, random = Device(target, threads=1), np.random.default_rng(9)
    linear = randomised(device.image(format="R16G16B16A16_FLOAT", width=50, height=40, mips=3, linear=True), random)
    tiled, again = (device.image(format="R32G32_UINT", width=50, height=40, mips=3, linear=row) for row in (False, True))
    for level in range(3):
        width, height, _ = level_extent(linear, level)
        region = meta.ImageCopy(meta.SubresourceLayers(level), (2, 3, 0), meta.SubresourceLayers(level), (1, 1, 0), (width - 4, height - 5, 1))
        meta.copy_image(device, linear, tiled, [region], queue="dma")
        assert np.array_equal(elements(tiled, level)[:, 1 : height - 4, 1 : width - 3], elements(linear, level)[:, 3 : height - 2, 2 : width - 2])
        meta.copy_image(device, tiled, again, [meta.ImageCopy(region.destination, destination=region.destination)], queue="dma")
        assert np.array_equal(elements(again, level), elements(tiled, level))
        meta.copy_image(device, linear, again, [region], queue="dma")
        assert np.array_equal(elements(again, level), elements(tiled, level))
    with pytest.raises(UnsupportedError, match="one of the images must be linear"):
        meta.copy_image(device, tiled, device.image(format="R32G32_UINT", width=50, height=40), queue="dma")


def test_volumes_of_depth_have_no_descriptor_on_gfx6() -> None:
    """No row of the chip's table has their tile mode."""
    image = Device("gfx600").image(format="Z16_UNORM", **SHAPES["3d"])
    with pytest.raises(UnsupportedError, match="tile mode its table lacks"):
        _ = image.view().words
