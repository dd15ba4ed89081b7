"""A picture on an emulated GPU: tiled, blurred by a compiled shader, made into a mip chain, and written as PNG.

Run with ``python examples/blur_and_mips.py [PICTURE.png [FOLDER]]`` (extra ``plot``: Pillow). Without a picture it draws one. It writes
``blurred.png``, ``mips.png`` and ``panel.png``, all side by side.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from PIL import Image

import pyaco
from pyaco import meta
from pyaco.descriptors.sampler import Sampler
from pyaco.emu import Device, SampledImage

TARGET = "gfx1100"
SIZE = 192
PASSES = 3
_CLAMP_TO_EDGE, _LINEAR = 2, 1

Pixels = NDArray[numpy.uint8]


def drawing(size: int = SIZE) -> Pixels:
    """Return a picture: rings and squares in colours that change from corner to corner."""
    y, x = numpy.mgrid[0:size, 0:size] / size
    rings = numpy.hypot(x - 0.62, y - 0.4) * 14 % 1 < 0.5
    squares = (x * 12).astype(int) + (y * 12).astype(int) & 1 == 1
    inside = numpy.hypot(x - 0.62, y - 0.4) < 0.36
    light = numpy.where(numpy.where(inside, rings, squares), 1.0, 0.25)
    colors = numpy.stack([light * (0.35 + 0.65 * x), light * (0.9 - 0.6 * y), light * (0.3 + 0.7 * y), numpy.ones_like(x)], -1)
    return (colors * 255 + 0.5).astype(numpy.uint8)


def blur(device: Device, picture: Any, passes: int = PASSES) -> Any:
    """Return a blurred copy of an image: each pass goes along the rows, then along the columns."""
    shader = pyaco.compile(Path(__file__).with_name("blur.spv"), target=device.target)
    height, width = picture.numpy().shape[:2]
    images = [device.image(format="R16G16B16A16_FLOAT", width=width, height=height) for _ in range(2)]
    sampler = Sampler((_CLAMP_TO_EDGE,) * 3, _LINEAR, _LINEAR)
    source = picture
    for _ in range(passes):
        for direction, target in (((1, 0), images[0]), ((0, 1), images[1])):
            buffers: dict[tuple[int, int], Any] = {(0, 0): SampledImage(source, sampler), (0, 1): target.view(storage=True)}
            device.dispatch(shader, (-(-width // 8), -(-height // 8), 1), buffers, numpy.array(direction, numpy.int32).tobytes())
            source = target
    blurred = device.image(format="R8G8B8A8_SRGB", width=width, height=height)
    meta.blit_image(device, images[1], blurred)
    return blurred


def mip_chain(device: Device, picture: Any) -> Any:
    """Return an image with the picture and all smaller levels."""
    height, width = picture.numpy().shape[:2]
    chain = device.image(format="R8G8B8A8_SRGB", width=width, height=height, mips=max(width, height).bit_length())
    meta.copy_image(device, picture, chain)
    meta.generate_mipmaps(device, chain)
    return chain


def read_back(device: Device, image: Any, level: int = 0) -> Pixels:
    """Return the pixels of a level, copied into a buffer by the GPU."""
    shape = image.numpy(level).shape
    buffer = device.zeros(shape[0] * shape[1] * 4)
    meta.copy_image_to_buffer(device, image, buffer, [meta.BufferImageCopy(subresource=meta.SubresourceLayers(level))])
    return numpy.asarray(buffer.numpy().reshape(shape))


def laid_out(levels: list[Pixels]) -> Pixels:
    """Return levels in one picture: the first, and the others beside it from top to bottom."""
    height, width = levels[0].shape[:2]
    sheet = numpy.zeros((height, width + levels[1].shape[1], 4), numpy.uint8)
    sheet[:, :width] = levels[0]
    top = 0
    for level in levels[1:]:
        rows = sheet[top : top + level.shape[0], width : width + level.shape[1]]
        rows[...] = level[: rows.shape[0]]
        top += level.shape[0]
    return sheet


def run(pixels: Pixels) -> tuple[Pixels, Pixels, Pixels]:
    """Return the blurred picture, the mip chain on one sheet, and the panel of all."""
    device = Device(TARGET)
    staging = device.buffer(pixels)
    picture = device.image(format="R8G8B8A8_SRGB", width=pixels.shape[1], height=pixels.shape[0])
    meta.copy_buffer_to_image(device, staging, picture)
    blurred = read_back(device, blur(device, picture))
    chain = mip_chain(device, picture)
    mips = laid_out([read_back(device, chain, level) for level in range(chain.surface.request.levels)])
    return blurred, mips, numpy.concatenate([pixels, blurred, mips[:, pixels.shape[1] :]], 1)


def main(picture: str | None = None, folder: str = ".") -> int:
    """Write the pictures; the exit status says whether the blur kept the picture's mean brightness."""
    pixels = drawing() if picture is None else numpy.asarray(Image.open(picture).convert("RGBA"))
    blurred, mips, panel = run(pixels)
    for name, result in (("blurred", blurred), ("mips", mips), ("panel", panel)):
        path = Path(folder) / f"{name}.png"
        Image.fromarray(result[..., :3]).save(path, optimize=True)
        print(f"{path}: {result.shape[1]} x {result.shape[0]}, {path.stat().st_size} bytes")
    before, after = (numpy.mean((part[..., :3] / 255.0) ** 2.2) for part in (pixels, blurred))
    print(f"mean light {before:.4f} before the blur, {after:.4f} behind it")
    return 0 if abs(before - after) < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
