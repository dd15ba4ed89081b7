"""Images of compressed blocks, against what `pyaco.texels` makes of the same blocks (and that against other decoders: tests/oracle)."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from image_kernels import TARGETS, image_instruction, run_image
from numpy.typing import NDArray

from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device, EmulationError
from pyaco.emu.device import ENGINES
from pyaco.errors import UnsupportedError
from pyaco.formats import pixel_format
from pyaco.texels import decode

BC = ("DXT1_RGB", "DXT1_RGBA", "DXT1_SRGBA", "DXT3_RGBA", "DXT3_SRGBA", "DXT5_RGBA", "DXT5_SRGBA", "RGTC1_UNORM", "RGTC1_SNORM", "RGTC2_UNORM",
      "RGTC2_SNORM", "BPTC_RGB_UFLOAT", "BPTC_RGB_FLOAT", "BPTC_RGBA_UNORM", "BPTC_SRGBA")
ETC = ("ETC2_RGB8", "ETC2_SRGB8", "ETC2_RGB8A1", "ETC2_SRGB8A1", "ETC2_RGBA8", "ETC2_SRGBA8", "ETC2_R11_UNORM", "ETC2_R11_SNORM", "ETC2_RG11_UNORM",
       "ETC2_RG11_SNORM")
SIZES: tuple[dict[str, int], ...] = ({"width": 45, "height": 33, "mips": 5}, {"width": 18, "height": 31, "layers": 3, "mips": 3})


def linear(encoded: NDArray[np.float64]) -> NDArray[np.float64]:
    """What sRGB's numbers mean."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def expected_texels(raw: NDArray[np.uint8], name: str, width: int, height: int) -> NDArray[np.float64]:
    """Red, green, blue and alpha as a shader sees them."""
    found = decode(raw.reshape(-1), name, width, height, interpolation="amd")
    texels = found / 255 if found.dtype == np.uint8 else found.astype(np.float64)
    if "SRGB" in name:
        texels[..., :3] = linear(texels[..., :3])
    if name == "DXT1_RGB":
        texels[..., 3] = 1
    return texels


def filled(device: Device, name: str, random: np.random.Generator, **size: Any) -> tuple[Any, list[NDArray[np.float64]]]:
    """An image with random blocks in all its levels, and the texels of each: layers, rows, columns."""
    image = device.image(format=name, **size)
    levels = []
    for mip in range(size["mips"]):
        level, slices = image.numpy(mip), max(size.get("layers", 1), size.get("depth", 0) >> mip)
        raw = random.integers(0, 256, (slices, level.nbytes // slices), dtype=np.uint8)
        image.write(raw.view(level.dtype).reshape(level.shape), mip)
        width, height = max(size["width"] >> mip, 1), max(size["height"] >> mip, 1)
        levels.append(np.stack([expected_texels(layer, name, width, height) for layer in raw]))
    return image, levels


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", range(2))
def test_fetches(target: str, number: int) -> None:
    """Texels of random blocks in every level, some of them outside."""
    device, random, size = Device(target, ENGINES[number]), np.random.default_rng(30), SIZES[number]
    layered = number == 1
    instruction = image_instruction("image_load_mip", target, "2d_array" if layered else "2d", 4 if layered else 3)
    for name in BC + (ETC if target == "gfx900" else ()):
        image, levels = filled(device, name, random, **size)
        for mip, texels in enumerate(levels):
            layers, height, width = texels.shape[:3]
            place = np.stack([random.integers(0, end + (end > 8), 64) for end in (width, height, layers)], 1).astype(np.int32)
            inside = (place[:, 0] < width) & (place[:, 1] < height)
            address = np.concatenate([place[:, : 3 if layered else 2], np.full((64, 1), mip, np.int32)], 1)
            found = run_image(device, instruction, image.view().words, address=address)[:, :4].view(np.float32)
            at = place % np.array([width, height, layers])
            expected = np.where(inside[:, None], texels[at[:, 2], at[:, 1], at[:, 0]], 0)
            # what the format does not have is 0 or 1 outside too
            compared = [k for k in range(4) if pixel_format(name).swizzle[k] < 4]
            np.testing.assert_array_equal(found[:, compared], expected[:, compared].astype(np.float32), err_msg=f"{name} level {mip}")
            np.testing.assert_array_equal(found[inside], expected[inside].astype(np.float32), err_msg=f"{name} level {mip}")
        image.release()


@pytest.mark.parametrize("target", TARGETS)
def test_volumes(target: str) -> None:
    """3D images in all levels, whichever side is the longest; GFX9 has modes for blocks of 16 bytes only because nothing renders to them."""
    device, random = Device(target), np.random.default_rng(33)
    instruction = image_instruction("image_load_mip", target, "3d", 4)
    for name, (width, height, depth) in product(("DXT1_RGBA", "DXT5_RGBA", "BPTC_RGBA_UNORM"), ((24, 20, 6), (40, 12, 3), (12, 16, 70), (70, 90, 9))):
        image, levels = filled(device, name, random, width=width, height=height, depth=depth, mips=4)
        for mip, texels in enumerate(levels):
            slices, height, width = texels.shape[:3]
            place = np.stack([random.integers(0, end + 1, 64) for end in (width, height, slices)], 1).astype(np.int32)
            inside = np.asarray((place < (width, height, slices)).all(1))
            address = np.concatenate([place, np.full((64, 1), mip, np.int32)], 1)
            found = run_image(device, instruction, image.view("3d").words, address=address)[:, :4].view(np.float32)
            at = place % np.array([width, height, slices])
            expected = np.where(inside[:, None], texels[at[:, 2], at[:, 1], at[:, 0]], 0)
            np.testing.assert_array_equal(found, expected.astype(np.float32), err_msg=f"{name} level {mip} of {texels.shape}")
        image.release()


@pytest.mark.parametrize("target", TARGETS)
def test_bilinear_samples(target: str) -> None:
    """Filters reach across blocks."""
    device, random = Device(target), np.random.default_rng(31)
    instruction = image_instruction("image_sample_lz", target, "2d", 2, sampler=True)
    words = sampler_descriptor(Sampler((2, 2, 2), 1, 1), device.gfx_level)
    for name in ("DXT5_SRGBA", "RGTC2_SNORM", "BPTC_RGBA_UNORM"):
        image, levels = filled(device, name, random, width=45, height=33, mips=1)
        uv = random.random((64, 2)).astype(np.float32)
        found = run_image(device, instruction, image.view().words, words, address=uv)[:, :4].view(np.float32)
        fixed = [np.floor(uv[:, k].astype(np.float64) * end * 256 + 0.5).astype(np.int64) - 128 for k, end in enumerate((45, 33))]
        x, y = ([np.clip((f >> 8) + step, 0, end - 1) for step in (0, 1)] for f, end in zip(fixed, (45, 33), strict=True))
        a, b = ((f & 255)[:, None] / 256 for f in fixed)
        texels = levels[0][0]
        expected = ((texels[y[0], x[0]] * (1 - a) + texels[y[0], x[1]] * a) * (1 - b) + (texels[y[1], x[0]] * (1 - a) + texels[y[1], x[1]] * a) * b)
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-7, err_msg=name)
        image.release()


def test_blocks_as_elements() -> None:
    """A view with a format of a block's size sees and writes the blocks."""
    device, random = Device("gfx1030"), np.random.default_rng(32)
    image = device.image(format="DXT5_RGBA", width=32, height=32)
    view = image.view(format="R32G32B32A32_UINT", storage=True)
    part = view.part
    assert part.format_name == "R32G32B32A32_UINT"
    blocks = random.integers(0, 1 << 32, (64, 4), dtype=np.uint32)
    place = np.stack([np.arange(64) % 8, np.arange(64) // 8], 1).astype(np.int32)
    run_image(device, image_instruction("image_store", "gfx1030", "2d", 2), view.words, address=place, data=blocks, stores=True)
    np.testing.assert_array_equal(image.numpy().view(np.uint32).reshape(64, 4), blocks)
    expected = decode(blocks.tobytes(), "DXT5_RGBA", 32, 32, interpolation="amd")
    found = run_image(device, image_instruction("image_load", "gfx1030", "2d", 2), image.view().words, address=place * 3)[:, :4].view(np.float32)
    np.testing.assert_array_equal(found, (expected[place[:, 1] * 3, place[:, 0] * 3] / 255).astype(np.float32))


def test_what_no_chip_does_is_refused() -> None:
    """Stores to blocks; ETC2 on chips without it."""
    place = np.zeros((32, 2), np.int32)
    device = Device("gfx1100")
    image = device.image(format="BPTC_RGBA_UNORM", width=16, height=16)
    with pytest.raises(UnsupportedError, match="image_store"):
        run_image(device, image_instruction("image_store", "gfx1100", "2d", 2), image.view().words, address=place, data=place, stores=True)
    vega20 = Device("gfx906")
    words = list(Device("gfx900").image(format="ETC2_RGB8", width=16, height=16).view().words)
    with pytest.raises((EmulationError, UnsupportedError), match="ETC2 on gfx906"):
        run_image(vega20, image_instruction("image_load", "gfx906", "2d", 2), words, address=place)
