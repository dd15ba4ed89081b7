"""Fetches of samples through FMASK: compiled code reads the fragment that the mask names, and without a mask the sample itself."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from ycbcr_cases import spirv

from pyaco import compile
from pyaco.addrlib import Surface, SurfaceUse
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.image import ImageView, fmask_descriptor
from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.types import DescriptorType
from pyaco.emu import Device
from pyaco.metadata import fmask
from pyaco.metadata.memory import raw_texels, write_raw_texels

pytest.importorskip("vulkan")
pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]

WIDTH, HEIGHT, INVOCATIONS = 37, 21, 512
SHADER = """#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 64) in;
layout(set=0, binding=0) buffer Out { uint result[]; };
layout(set=0, binding=1) buffer In { ivec4 given[]; };
layout(set=0, binding=2) uniform utexture2DMS image;
void main() {
    uint i = gl_GlobalInvocationID.x;
    result[i] = texelFetch(image, given[i].xy, given[i].z).x;
}
"""
Words = NDArray[np.uint32]


def layout(fragment_masks: bool) -> PipelineLayout:
    kinds = (DescriptorType.STORAGE_BUFFER, DescriptorType.STORAGE_BUFFER, DescriptorType.SAMPLED_IMAGE)
    return PipelineLayout({0: SetLayout([Binding(number, kind) for number, kind in enumerate(kinds)])}, fragment_masks=fragment_masks)


def places(samples: int) -> NDArray[np.int32]:
    random = np.random.default_rng(1)
    return np.stack([random.integers(0, end, INVOCATIONS) for end in (WIDTH, HEIGHT, samples, 1)], 1).astype(np.int32)


def fetched(target: str, stored: Words, mask: NDArray[Any] | None, option: bool = True) -> Words:
    """What the shader reads of an image of these fragments, (height, width, fragments), with words of FMASK or none."""
    device, samples = Device(target, threads=1), stored.shape[2]
    image = device.image(format="R32_UINT", width=WIDTH, height=HEIGHT, samples=samples)
    image.write(stored.reshape(image.numpy().shape))
    result, given = device.zeros(INVOCATIONS * 4), device.buffer(places(samples))
    parts = {"image": image.view().words}
    if mask is not None:
        surface = Surface(target, format="R32_UINT", width=WIDTH, height=HEIGHT, samples=samples, use=SurfaceUse.DISABLE_DCC)
        memory = device.zeros(surface.total_size + (1 << 16))
        address = (memory.address + 0xFFFF) & ~0xFFFF
        fmask.write_words(surface, memory.numpy()[address - memory.address :], mask[None])
        parts["fmask"] = fmask_descriptor(surface.config, surface.layout, ImageView(
            address, "R32_UINT", WIDTH, HEIGHT, 1, 9, samples=samples, storage_samples=samples))
    wanted = layout(option)
    written = DescriptorSet(wanted.sets[0])
    for number, buffer in ((0, result), (1, given)):
        written.write(number, {"buffer": raw_buffer(buffer.address, buffer.accessible, device.gfx_level)})
    written.write(2, parts)
    device.dispatch(compile(spirv(SHADER), target=target, layout=wanted), groups=(INVOCATIONS // 64, 1, 1), sets={0: written})
    return result.numpy().view(np.uint32)[:INVOCATIONS].copy()


@pytest.mark.parametrize("samples", [2, 4, 8])
@pytest.mark.parametrize("target", ["gfx900", "gfx906", "gfx1030"])
def test_fragments_of_masks(target: str, samples: int) -> None:
    random = np.random.default_rng(2)
    colours = random.integers(0, 1 << 32, (HEIGHT, WIDTH, 3), dtype=np.uint32)
    # pixels of three colours: each sample has one of them
    wanted = np.take_along_axis(colours, random.integers(0, 3, (HEIGHT, WIDTH, samples)), 2)
    fragments = np.array([[np.unique(pixel, return_inverse=True)[1] for pixel in row] for row in wanted])
    stored = random.integers(0, 1 << 32, (HEIGHT, WIDTH, samples), dtype=np.uint32)       # fragments that no sample has are anything
    np.put_along_axis(stored, fragments, wanted, 2)
    x, y, sample, _ = places(samples).T
    compressed = fetched(target, stored, fmask.encode_words(fragments, samples))
    np.testing.assert_array_equal(compressed, wanted[y, x, sample])
    np.testing.assert_array_equal(compressed, fetched(target, wanted, None, option=False))
    np.testing.assert_array_equal(compressed, fetched(target, wanted, None))              # a null descriptor of FMASK
    assert (compressed != stored[y, x, sample]).mean() > 0.2


@pytest.mark.parametrize("target", ["gfx900", "gfx1030"])
def test_what_compression_stores_is_fetched(target: str) -> None:
    """`pyaco.metadata.fmask` and the shader follow the same mask, whose fragments `compress` chose."""
    for samples in (2, 4, 8):
        surface = Surface(target, format="R32_UINT", width=WIDTH, height=HEIGHT, samples=samples, use=SurfaceUse.DISABLE_DCC)
        random, memory = np.random.default_rng(samples), np.zeros(surface.total_size, np.uint8)
        wanted = random.integers(1, 3, (HEIGHT, WIDTH, samples), dtype=np.uint32)
        fmask.initialize(surface, memory)
        write_raw_texels(surface, memory, wanted.view(np.uint8).reshape(1, HEIGHT, WIDTH, samples, 4))
        fmask.compress(surface, memory)
        stored = raw_texels(surface, memory).view(np.uint32).reshape(wanted.shape)
        np.testing.assert_array_equal(fmask.fetch_samples(surface, memory)[0].view(np.uint32).reshape(wanted.shape), wanted)
        x, y, sample, _ = places(samples).T
        found = fetched(target, stored, fmask.read_words(surface, memory)[0])
        np.testing.assert_array_equal(found, wanted[y, x, sample])
        assert samples == 2 or (found != fetched(target, stored, None)).any()               # fragments that nothing needs keep what they held


def test_chips_without_fmask_read_samples() -> None:
    stored = np.random.default_rng(3).integers(0, 1 << 32, (HEIGHT, WIDTH, 8), dtype=np.uint32)
    x, y, sample, _ = places(8).T
    for target in ("gfx1100", "gfx1200"):
        np.testing.assert_array_equal(fetched(target, stored, None), stored[y, x, sample])
