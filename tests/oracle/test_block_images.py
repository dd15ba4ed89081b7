"""What our compiler makes of shaders that fetch and sample images of compressed blocks, run on our engines, is what lavapipe gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from image_cases import SAMPLERS, our_sampler, vulkan_sampler
from image_shaders import DIMENSIONS, INVOCATIONS, ImageCase, inputs_of
from numpy.typing import NDArray
from vulkan_peer import Lavapipe

from pyaco import compile
from pyaco.emu import Device
from pyaco.emu.images import SampledImage

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle

TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
LEVELS = 3
#: VkFormat, and how far a component may be from llvmpipe's. It rounds BC1 to BC3 otherwise than AMD's hardware, by up to 3 steps of 8 bits (7 of
#: colours that sRGB spreads), and cuts BC4 and BC5 down to 8 bits, where ours have more. ETC2 it does not have.
FORMATS: dict[str, tuple[int, float]] = {
    "DXT1_RGB": (131, 3 / 255), "DXT1_RGBA": (133, 3 / 255), "DXT1_SRGBA": (134, 7 / 255), "DXT3_RGBA": (135, 3 / 255), "DXT5_RGBA": (137, 3 / 255),
    "DXT5_SRGBA": (138, 7 / 255), "RGTC1_UNORM": (139, 1.5 / 255), "RGTC1_SNORM": (140, 2 / 127), "RGTC2_UNORM": (141, 1.5 / 255),
    "RGTC2_SNORM": (142, 2 / 127), "BPTC_RGB_UFLOAT": (143, 0.0), "BPTC_RGB_FLOAT": (144, 0.0), "BPTC_RGBA_UNORM": (145, 0.0),
    "BPTC_SRGBA": (146, 1.5e-3),
}  # fmt: skip
EVERY = ("DXT5_RGBA", "BPTC_RGBA_UNORM")


def blocks_of(name: str, dimension: str, random: np.random.Generator) -> list[bytes]:
    """Random blocks of every level; BC6H's have the mode of endpoints of 10 bits without differences, which has no infinities."""
    _, _, (width, height, depth), layers = DIMENSIONS[dimension]
    found = []
    for level in range(LEVELS):
        count = -(-max(width >> level, 1) // 4) * -(-max(height >> level, 1) // 4) * max(depth >> level, 1) * layers
        blocks = random.integers(0, 256, (count, 8 if name.startswith(("DXT1", "RGTC1")) else 16), dtype=np.uint8)
        if name.startswith("BPTC_RGB_"):
            blocks[:, 0] = blocks[:, 0] & 0xE0 | 0x03
        found.append(blocks.tobytes())
    return found


def filled(device: Device, name: str, dimension: str, blocks: list[bytes]) -> Any:
    _, _, (width, height, depth), layers = DIMENSIONS[dimension]
    shape: dict[str, Any] = {"depth": depth} if dimension == "3d" else {"cube": True} if dimension == "cube" else {"layers": layers}
    image = device.image(format=name, width=width, height=height, mips=LEVELS, **shape)
    for mip, raw in enumerate(blocks):
        level = image.numpy(mip)
        image.write(np.frombuffer(raw, level.dtype).reshape(level.shape), mip)
    return image


def results(target: str, case: ImageCase, name: str, state: dict[str, Any], inputs: NDArray[np.float32], blocks: list[bytes]) -> NDArray[np.float32]:
    device = Device(target, threads=1)
    image, out = filled(device, name, case.dimension, blocks), device.zeros(INVOCATIONS * 16)
    bound = SampledImage(image.view(case.dimension), our_sampler(state))
    device.dispatch(compile(case.spirv(), target=target), groups=(INVOCATIONS // 64, 1, 1),
                    buffers={(0, 0): out, (0, 1): device.buffer(inputs), (0, 2): bound})
    return out.numpy().view(np.float32).reshape(INVOCATIONS, 4).copy()


def fault(name: str, dimension: str, operation: str, state_name: str, lavapipe: Lavapipe) -> list[str]:
    """What differs, in words."""
    number, near = FORMATS[name]
    # of the shader only the kind of components matters
    case, state = ImageCase(operation, dimension, "R8G8B8A8_UNORM"), SAMPLERS[state_name]
    random = np.random.default_rng(sum(map(ord, name + dimension + operation)))
    inputs, blocks = inputs_of(case, random, LEVELS), blocks_of(name, dimension, random)
    _, _, extent, layers = DIMENSIONS[dimension]
    asked = {"type": dimension, "format": number, "extent": extent, "layers": layers, "levels": blocks, "storage": False,
             "sampler": vulkan_sampler(state, False)}
    buffers = {(0, 0): np.zeros((INVOCATIONS, 4), np.uint32), (0, 1): inputs}
    found, _ = lavapipe.run_with_images(case.spirv(), (INVOCATIONS // 64, 1, 1), case.layouts, buffers, {(0, 2): asked})
    expected = found[0, 0].view(np.float32).astype(np.float64)
    span = 2.0 if "SNORM" in name else 1.0
    if "FLOAT" in name:
        span = float(np.nanmax(np.abs(expected)))
    if operation == "lod" and state["magFilter"]:
        near += span * ((4 if dimension == "3d" else 3) / 512) + 1e-5
    faults = []
    for target in TARGETS:
        ours = results(target, case, name, state, inputs, blocks).astype(np.float64)
        wrong = ~(np.abs(ours - expected) <= near + 3e-7)
        if wrong.any():
            row = int(np.flatnonzero(wrong.any(1))[0])
            faults.append(f"{target} {name} {case} {state_name}: {int(wrong.any(1).sum())} invocations, up to {np.abs(ours - expected).max()}, first "
                          f"{inputs[row].tolist()}: {ours[row].tolist()} not {expected[row].tolist()}")
    return faults


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str, lavapipe: Lavapipe) -> None:
    """Fetches, nearest and linear samples of 2D images in all levels."""
    faults = fault(name, "2d", "fetch", "nearest_repeat", lavapipe)
    for state in ("nearest_repeat", "linear_mirror", "linear_edge"):
        faults += fault(name, "2d", "lod", state, lavapipe)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("dimension", ["2d_array", "cube", "3d"])
def test_dimensions(dimension: str, lavapipe: Lavapipe) -> None:
    faults = []
    for name in EVERY:
        if dimension != "cube":
            faults += fault(name, dimension, "fetch", "nearest_repeat", lavapipe)
        faults += fault(name, dimension, "lod", "nearest_repeat", lavapipe) + fault(name, dimension, "lod", "linear_mirror", lavapipe)
    assert not faults, "\n".join(faults)
