"""Border colours: fixed ones and those of a table, in the order that formats have."""

from __future__ import annotations

import numpy as np
import pytest
from image_kernels import TARGETS, TILED, image_instruction, run_image

from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device, EmulationError
from pyaco.errors import InputError
from pyaco.formats import pixel_format

FORMATS = ("R8G8B8A8_UNORM", "B8G8R8A8_UNORM", "R32G32B32A32_FLOAT", "R8_UNORM", "R16G16_FLOAT", "R8G8B8A8_UINT", "R32G32B32A32_SINT", "R32_UINT",
           "B10G10R10A2_UNORM", "A8B8G8R8_UNORM", "DXT5_RGBA")
OUTSIDE = np.array([[-2.0, 0.5], [0.5, 3.0], [9.0, 9.0], [-1.0, -1.0]], np.float32).repeat(16, 0)


@pytest.mark.parametrize("target", TARGETS)
def test_tables(target: str) -> None:
    """Samples beyond the edge give the row that the sampler names, in the components that the format has; integers stay integers."""
    device, random = Device(target), np.random.default_rng(40)
    floats, integers = random.random((300, 4)).astype(np.float32), random.integers(-100, 100, (300, 4)).astype(np.int32)
    instruction = image_instruction("image_sample_lz", target, "2d", 2, sampler=True)
    for name in FORMATS:
        integer = name.endswith("INT")
        device.set_border_colors(integers if integer else floats)
        image = device.image(format=name, width=8, height=8)
        image.write(np.zeros_like(image.numpy()))
        entries = [entry for entry in pixel_format(name).swizzle]
        for row in (0, 7, 299):
            for filters in (0, 1):
                words = sampler_descriptor(Sampler((6, 6, 6), filters, filters, border_color_type=3, border_color_pointer=row), device.gfx_level)
                found = run_image(device, instruction, image.view().words, words, address=OUTSIDE)[:, :4]
                color = (integers if integer else floats).view(np.uint32)[row]
                one = 1 if integer else 0x3F800000
                # GFX8 takes a colour's components for the format's channels
                expected = [color[k if target not in TILED else entries[k]] if entries[k] < 4 else one if entries[k] == 5 else 0 for k in range(4)]
                np.testing.assert_array_equal(found, np.tile(np.array(expected, np.uint32), (64, 1)), err_msg=f"{name} {row} {filters}")
        image.release()


@pytest.mark.parametrize("target", TARGETS)
def test_fixed_colors(target: str) -> None:
    """Black and white; alpha is alpha wherever the format keeps it."""
    device = Device(target)
    instruction = image_instruction("image_sample_lz", target, "2d", 2, sampler=True)
    for name in ("R8G8B8A8_UNORM", "B8G8R8A8_UNORM", "A8B8G8R8_UNORM", "R8G8B8A8_UINT"):
        image = device.image(format=name, width=8, height=8)
        one = 1 if name.endswith("INT") else 0x3F800000
        if target in TILED and name == "A8B8G8R8_UNORM":
            continue
        for kind, color in ((0, (0, 0, 0, 0)), (1, (0, 0, 0, one)), (2, (one,) * 4)):
            words = sampler_descriptor(Sampler((6, 6, 6), border_color_type=kind), device.gfx_level)
            found = run_image(device, instruction, image.view().words, words, address=OUTSIDE)[:, :4]
            assert (found == np.array(color, np.uint32)).all(), (name, kind)
        image.release()


def test_swizzled_views_swizzle_the_border() -> None:
    device = Device("gfx1030")
    device.set_border_colors([[0.25, 0.5, 0.75, 1.0]])
    image = device.image(format="B8G8R8A8_UNORM", width=8, height=8)
    words = sampler_descriptor(Sampler((6, 6, 6), border_color_type=3), device.gfx_level)
    instruction = image_instruction("image_sample_lz", "gfx1030", "2d", 2, sampler=True)
    found = run_image(device, instruction, image.view(swizzle=(3, 5, 0, 1)).words, words, address=OUTSIDE)[:, :4].view(np.float32)
    np.testing.assert_array_equal(found, np.tile(np.array([1.0, 1.0, 0.25, 0.5], np.float32), (64, 1)))


def test_missing_tables() -> None:
    """A border in a table that nobody gave, or beyond its end, stops the dispatch; bad tables are refused."""
    device = Device("gfx1100")
    image = device.image(format="R8G8B8A8_UNORM", width=8, height=8)
    instruction = image_instruction("image_sample_lz", "gfx1100", "2d", 2, sampler=True)
    words = sampler_descriptor(Sampler((6, 6, 6), border_color_type=3, border_color_pointer=5), device.gfx_level)
    inside = np.full((32, 2), 0.5, np.float32)
    for colors in (None, [[1.0, 1.0, 1.0, 1.0]]):
        device.set_border_colors(colors)
        run_image(device, instruction, image.view().words, words, address=inside)
        with pytest.raises(EmulationError, match="outside memory"):
            run_image(device, instruction, image.view().words, words, address=OUTSIDE)
    for bad in ([1.0, 2.0], np.zeros((5000, 4)), [["a", "b", "c", "d"]], np.zeros((0, 4))):
        with pytest.raises(InputError, match="border colours"):
            device.set_border_colors(bad)
