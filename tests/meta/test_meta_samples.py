"""Images with several samples: resolved, copied sample by sample, cleared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meta_images import TARGETS
from numpy.typing import NDArray

from pyaco import meta
from pyaco.emu import Device
from pyaco.errors import InputError

SHAPE: dict[str, Any] = {"width": 21, "height": 13, "layers": 2}


def sampled(device: Device, name: str, samples: int) -> tuple[Any, NDArray[Any]]:
    """An image with random samples, and these: layers, rows, columns, samples, channels."""
    random = np.random.default_rng(samples)
    image = device.image(format=name, samples=samples, **SHAPE)
    held = image.numpy()
    texels = random.integers(0, 256, held.nbytes, dtype=np.uint8).view(held.dtype).reshape(held.shape)
    if held.dtype.kind == "f":
        texels = random.uniform(-1, 1, held.shape).astype(held.dtype)
    image.write(texels)
    return image, texels


def srgb_mean(texels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The mean of the samples' linear colours, encoded again."""
    values = texels / 255.0
    values[..., :3] = np.where(values[..., :3] <= 0.04045, values[..., :3] / 12.92, ((values[..., :3] + 0.055) / 1.055) ** 2.4)
    mean = values.mean(3)
    mean[..., :3] = np.where(mean[..., :3] <= 0.0031308, mean[..., :3] * 12.92, 1.055 * np.maximum(mean[..., :3], 1e-9) ** (1 / 2.4) - 0.055)
    return np.asarray(mean * 255)


@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("samples", [2, 4, 8])
@pytest.mark.parametrize("target", TARGETS)
def test_resolves(target: str, samples: int, queue: str) -> None:
    device = Device(target, threads=1)
    for name in ("R8G8B8A8_UNORM", "R8G8B8A8_SRGB", "R16G16B16A16_FLOAT", "R32_UINT", "R16_SINT"):
        source, texels = sampled(device, name, samples)
        resolved = device.image(format=name, **SHAPE)
        meta.resolve_image(device, source, resolved, queue=queue)
        found = resolved.numpy()
        if found.dtype.kind == "f":
            assert np.abs(found - texels.astype(float).mean(3)).max() <= 2.0**-11
        elif name.endswith("INT"):
            assert np.array_equal(found, texels[..., 0])
        else:
            assert np.abs(found - (srgb_mean(texels) if name.endswith("SRGB") else texels.mean(3))).max() <= 0.51


@pytest.mark.parametrize("target", TARGETS)
def test_a_part_is_resolved(target: str) -> None:
    device = Device(target, threads=1)
    source, texels = sampled(device, "R32_UINT", 4)
    resolved = device.image(format="R32_UINT", width=30, height=20, mips=2, layers=3)
    region = meta.ImageCopy(meta.SubresourceLayers(0, 1, 1), (3, 2, 0), meta.SubresourceLayers(1, 2, 1), (5, 4, 0), (8, 6, 1))
    meta.resolve_image(device, source, resolved, [region])
    assert np.array_equal(resolved.numpy(1)[2, 4:10, 5:13], texels[1, 2:8, 3:11, 0])
    assert np.count_nonzero(resolved.numpy(1)) == np.count_nonzero(texels[1, 2:8, 3:11, 0]) and not resolved.numpy(0).any()


@pytest.mark.parametrize("queue", ["direct", "compute"])
@pytest.mark.parametrize("target", TARGETS)
def test_copies_and_clears_of_all_samples(target: str, queue: str) -> None:
    device = Device(target, threads=1)
    for samples in (2, 8):
        source, texels = sampled(device, "R8G8B8A8_UNORM", samples)
        other = device.image(format="R32_UINT", samples=samples, **SHAPE)
        meta.copy_image(device, source, other, queue=queue)
        assert np.array_equal(other.numpy().view(np.uint8).reshape(texels.shape), texels)
        meta.clear_color_image(device, source, (1.0, 0.0, 0.5, 1.0), [meta.SubresourceLayers(0, 1, 1)], queue=queue)
        assert np.array_equal(source.numpy()[0], texels[0]) and (source.numpy()[1] == [255, 0, 128, 255]).all()


def test_what_is_refused() -> None:
    device = Device("gfx1100", threads=1)
    one, four = device.image(format="R32_UINT", **SHAPE), device.image(format="R32_UINT", samples=4, **SHAPE)
    with pytest.raises(InputError, match="region 0: images with 4 and 1 samples; a copy keeps them"):
        meta.copy_image(device, four, one)
    with pytest.raises(InputError, match="region 0: an image with several samples is not copied from or to buffers"):
        meta.copy_image_to_buffer(device, four, device.zeros(1 << 20))
    with pytest.raises(InputError, match="a blit of an image with several samples"):
        meta.blit_image(device, four, one)
    with pytest.raises(InputError, match="the same colour format"):
        meta.resolve_image(device, four, device.image(format="R32_SINT", **SHAPE))
    with pytest.raises(InputError, match="region 1: 22 texels from 0 on in x: level 0 has 21"):
        meta.resolve_image(device, four, one, [meta.ImageCopy(), meta.ImageCopy(extent=(22, 1, 1))])
