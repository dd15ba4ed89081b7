"""Regions that break Vulkan's rules are refused, with their number and the reason."""

from __future__ import annotations

from typing import Any

import pytest

from pyaco import meta
from pyaco.emu import Device
from pyaco.errors import InputError

WHOLE = meta.SubresourceLayers()


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("gfx1030", threads=1)


@pytest.mark.parametrize(("region", "message"), [
    (meta.BufferImageCopy(2), "region 1: a buffer offset of 2 bytes for elements of 4"),
    (meta.BufferImageCopy(-4), "region 1: a buffer offset of -4 bytes"),
    (meta.BufferImageCopy(0, 15), "region 1: a buffer row length of 15 texels for 16 texels"),
    (meta.BufferImageCopy(0, 0, 7), "region 1: a buffer image height of 7 texels for 8 texels"),
    (meta.BufferImageCopy(4), "region 1: bytes up to 516 of a buffer of 512"),
    (meta.BufferImageCopy(image_offset=(1, 0, 0), image_extent=(16, 8, 1)), "region 1: 16 texels from 1 on in x: level 0 has 16"),
    (meta.BufferImageCopy(image_extent=(16, 0, 1)), "region 1: 0 texels from 0 on in y"),
    (meta.BufferImageCopy(image_extent=(16, 8, 2)), "region 1: 2 texels from 0 on in z: level 0 has 1"),
    (meta.BufferImageCopy(subresource=meta.SubresourceLayers(3)), "region 1: level 3 of an image of 2"),
    (meta.BufferImageCopy(subresource=meta.SubresourceLayers(0, 1, 2)), "region 1: 2 layers from 1 on of an image of 2"),
    (meta.BufferImageCopy(subresource=meta.SubresourceLayers(aspect="depth")),
     "region 1: aspect 'depth' of an image of R8G8B8A8_UNORM, which has color"),
    (meta.BufferImageCopy(subresource=meta.SubresourceLayers(aspect="red")), "region 1: aspect 'red', which is none of color, depth, stencil"),
])
@pytest.mark.parametrize("to_image", [True, False])
def test_regions_of_buffers(device: Device, region: Any, message: str, to_image: bool) -> None:
    image, buffer = device.image(format="R8G8B8A8_UNORM", width=16, height=8, layers=2, mips=2), device.zeros(512)
    fine = meta.BufferImageCopy(image_extent=(3, 2, 1))
    with pytest.raises(InputError, match=message):
        if to_image:
            meta.copy_buffer_to_image(device, buffer, image, [fine, region])
        else:
            meta.copy_image_to_buffer(device, image, buffer, [fine, region])
    assert not image.memory.any() and not buffer.numpy().any()


@pytest.mark.parametrize(("first", "second", "region", "message"), [
    ("R8G8B8A8_UNORM", "R16_FLOAT", meta.ImageCopy(), "region 0: a copy of R8G8B8A8_UNORM to R16_FLOAT: elements of 4 and 2 bytes"),
    ("DXT1_RGBA", "R32G32_UINT", meta.ImageCopy(extent=(5, 4, 1)), "region 0: 5 texels from 0 on in x cut blocks of 4"),
    ("DXT1_RGBA", "DXT1_RGBA", meta.ImageCopy(extent=(4, 4, 1), destination_offset=(2, 0, 0)), "region 0: 4 texels from 2 on in x cut blocks of 4"),
    ("R32_UINT", "R32_UINT", meta.ImageCopy(extent=(16, 8, 1), destination_offset=(4, 0, 0)), "region 0: 16 texels from 4 on in x: level 0 has 16"),
    ("R32_UINT", "R32_UINT", meta.ImageCopy(meta.SubresourceLayers(layer_count=2)),
     r"region 0: \(16, 8, 2\) elements .* of the source, \(16, 8, 1\)"),
])
def test_regions_of_images(device: Device, first: str, second: str, region: Any, message: str) -> None:
    source, destination = (device.image(format=name, width=16, height=8, layers=2) for name in (first, second))
    with pytest.raises(InputError, match=message):
        meta.copy_image(device, source, destination, [region])


def test_overlaps_and_what_was_released(device: Device) -> None:
    image, buffer = device.image(format="R32_UINT", width=16, height=8), device.zeros(512)
    with pytest.raises(InputError, match="region 0: source and destination overlap"):
        meta.copy_image(device, image, image, [meta.ImageCopy(extent=(8, 8, 1), destination_offset=(7, 0, 0))])
    meta.copy_image(device, image, image, [meta.ImageCopy(extent=(8, 8, 1), destination_offset=(8, 0, 0))])
    other = device.zeros(512)
    buffer.release()
    with pytest.raises(InputError, match="region 0: a buffer that has been released"):
        meta.copy_image_to_buffer(device, image, buffer)
    image.release()
    with pytest.raises(InputError, match="region 0: an image that has been released"):
        meta.copy_image_to_buffer(device, image, other)
    with pytest.raises(InputError, match="region 0: an image that has been released"):
        meta.blit_image(device, image, image)
    with pytest.raises(InputError, match="no queue is called 'sdma'"):
        meta.copy_image_to_buffer(device, device.image(width=4, height=4), other, queue="sdma")
