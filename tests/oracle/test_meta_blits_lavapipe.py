"""Our blits against lavapipe's ``vkCmdBlitImage``: random boxes, mirrored and scaled, by format and filter.

Nearest must be the same texel, but where a centre lies so near to an edge of texels that the rounding of floats decides; linear lies within what
weights of 8 fraction bits allow.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from image_shaders import FORMATS
from numpy.typing import NDArray
from vulkan_peer import Lavapipe

from pyaco import meta
from pyaco.emu import Device

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle

TARGETS = ("gfx600", "gfx700", "gfx900", "gfx1030", "gfx1100", "gfx1200")
SOURCE, DESTINATION = (24, 18, 1), (31, 22, 1)
LAYERS = 2
NEAREST = ("R8G8B8A8_UNORM", "R8G8B8A8_UINT", "R16_UINT", "R32_SINT", "R16G16B16A16_FLOAT")
LINEAR = (("R8G8B8A8_UNORM", "R8G8B8A8_UNORM"), ("R8G8B8A8_UNORM", "R16G16B16A16_FLOAT"), ("R8G8B8A8_SRGB", "R8G8B8A8_UNORM"))
REGIONS = 12


def corners(random: np.random.Generator, extent: tuple[int, int, int]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Two opposite corners of a box of at least one texel, in any order."""
    ends = [random.choice(size + 1, 2, replace=False).tolist() for size in extent[:2]]
    return (ends[0][0], ends[1][0], 0), (ends[0][1], ends[1][1], 1)


def near_edges(source: Any, destination: Any, axis: int) -> NDArray[np.bool_]:
    """Which texels of the destination, from the lowest of the box on, have a centre near an edge of the source's texels."""
    (a, b), (c, d) = ((end[0][axis], end[1][axis]) for end in (source, destination))
    places = [Fraction(2 * (texel - c) + 1, 2) * Fraction(b - a, d - c) + a for texel in range(min(c, d), max(c, d))]
    return np.array([min(place % 1, 1 - place % 1) < Fraction(1, 256) for place in places])


def lavapipes(lavapipe: Lavapipe, names: tuple[str, str], texels: bytes, empty: bytes, region: dict[str, Any], filter: int) -> bytes:
    images = {
        end: {"type": "2d_array", "format": FORMATS[name][0], "extent": extent, "layers": LAYERS, "levels": [data], "storage": end == "destination"}
        for end, name, extent, data in zip(("source", "destination"), names, (SOURCE, DESTINATION), (texels, empty), strict=True)
    }
    found: bytes = lavapipe.worker.ask({"operation": "blit", "images": images, "regions": [region], "filter": filter})["levels"][0]
    return found


@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_blits(filter: str, lavapipe: Lavapipe) -> None:
    random, compared = np.random.default_rng(9), 0
    devices = [Device(target, threads=1) for target in TARGETS]
    for names in [(name, name) for name in NEAREST] if filter == "nearest" else LINEAR:
        for _ in range(REGIONS):
            boxes = corners(random, SOURCE), corners(random, DESTINATION)
            layers = (0, 0, LAYERS)
            theirs, texels = b"", b""
            for device in devices:
                source, other = (device.image(format=name, width=extent[0], height=extent[1], layers=LAYERS)
                                 for name, extent in zip(names, (SOURCE, DESTINATION), strict=True))
                held = source.numpy()
                if not texels:
                    raw = random.uniform(-4, 4, held.shape) if held.dtype.kind == "f" else random.integers(0, 256, held.shape)
                    texels = raw.astype(held.dtype).tobytes()
                    region = {"source": layers, "destination": layers, "source_corners": boxes[0], "destination_corners": boxes[1]}
                    theirs = lavapipes(lavapipe, names, texels, bytes(other.numpy().nbytes), region, int(filter == "linear"))
                source.write(np.frombuffer(texels, held.dtype).reshape(held.shape))
                subresource = meta.SubresourceLayers(0, 0, LAYERS)
                meta.blit_image(device, source, other, [meta.ImageBlit(subresource, boxes[0], subresource, boxes[1])], filter)
                found, wanted = other.numpy(), np.frombuffer(theirs, other.numpy().dtype).reshape(other.numpy().shape)
                x, y = (slice(min(boxes[1][0][axis], boxes[1][1][axis]), max(boxes[1][0][axis], boxes[1][1][axis])) for axis in (0, 1))
                place = f"{device.target} {names} {boxes}"
                if filter == "nearest":
                    free = near_edges(*boxes, 1)[:, None] | near_edges(*boxes, 0)[None, :]
                    wrong = (found != wanted).reshape(*found.shape[:3], -1).any(-1)
                    wrong[:, y, x] &= ~free
                    assert not wrong.any(), place
                else:
                    scale = 1.0 if names[1].endswith("FLOAT") else 255.0
                    assert np.abs(found.astype(float) - wanted.astype(float)).max() <= scale * 2 / 512 + (1.0 if scale > 1 else 1e-3), place
                compared += int(found[:, y, x].size)
                source.release()
                other.release()
    assert compared > 50_000
