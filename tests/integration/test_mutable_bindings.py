"""Bindings that a shader has as several types, without a pipeline layout: descriptors that may have each of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pyaco
from pyaco import spirv
from pyaco.descriptors.sampler import Sampler
from pyaco.descriptors.types import DescriptorType
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import arguments

NEEDS_GLSLANG = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")

BUFFERS = """#version 460
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Words { uint word; } words[2];
layout(set = 0, binding = 0) uniform Constants { uint word; } constants[2];
void main() { words[0].word = constants[1].word; }
"""

#: A heap of four descriptors: a buffer, an image to load from, one to sample, and a sampler.
HEAP = """#version 460
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Words { uint words[]; } buffers[4];
layout(set = 0, binding = 0, r32ui) uniform uimage2D loaded[4];
layout(set = 0, binding = 0) uniform texture2D textures[4];
layout(set = 0, binding = 0) uniform sampler samplers[4];
void main() {
    uint lane = gl_LocalInvocationID.x;
    uint texel = imageLoad(loaded[1], ivec2(lane, 3)).x;
    float sampled = textureLod(sampler2D(textures[2], samplers[3]), vec2((float(lane) + 0.5) / 16.0, 0.5), 0.0).x;
    buffers[0].words[lane] = texel + uint(sampled);
}
"""


@NEEDS_GLSLANG
@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_heap_of_several_types(target: str, tmp_path: Path) -> None:
    source = tmp_path / "heap.comp"
    source.write_text(HEAP)
    shader = pyaco.compile(source, target)
    assert shader.abi is not None
    (binding,) = shader.abi.descriptor_sets[0].bindings.values()
    assert (binding.type, binding.count, binding.stride) == ("mutable", 4, 64)
    device = Device(target)
    out = device.buffer(np.zeros(16, np.uint32))
    image, texture = device.image(format="R32_UINT", width=16, height=8), device.image(format="R32_FLOAT", width=16, height=1)
    texels = np.arange(128, dtype=np.uint32).reshape(8, 16) * 3
    image.write(texels)
    texture.write(np.arange(16, dtype=np.float32)[None] * 1000)
    device.dispatch(shader, (1, 1, 1), {(0, 0): [out, image, texture, Sampler()]})
    assert out.numpy().tolist() == (texels[3] + np.arange(16) * 1000).tolist()


@NEEDS_GLSLANG
def test_no_room_for_an_image(tmp_path: Path) -> None:
    source = tmp_path / "buffers.comp"
    source.write_text(BUFFERS)
    shader, device = pyaco.compile(source, "gfx1100"), Device("gfx1100")
    out, constants = device.buffer(np.zeros(1, np.uint32)), device.buffer(np.full(1, 263, np.uint32))
    device.dispatch(shader, (1, 1, 1), {(0, 0): [out, constants]})
    assert out.numpy().tolist() == [263]
    with pytest.raises(InputError, match="kind image for a mutable one that has no room for it"):
        device.dispatch(shader, (1, 1, 1), {(0, 0): [out, device.image(format="R32_UINT", width=1)]})


@NEEDS_GLSLANG
def test_reflection_names_every_type(tmp_path: Path) -> None:
    """Vulkan lets variables share a binding, arrays of any length among them."""
    unbounded = HEAP.replace("textures[4]", "textures[]").replace("textures[2]", "textures[nonuniformEXT(lane)]")
    heap = "sampled_image|sampler|ssbo|storage_image"
    types = {"buffers": (BUFFERS, "ssbo|ubo", 2), "heap": (HEAP, heap, 4), "unbounded": (unbounded, heap, 0)}
    for name, (text, expected, count) in types.items():
        source, module = tmp_path / f"{name}.comp", tmp_path / f"{name}.spv"
        source.write_text(text)
        subprocess.run(["glslangValidator", "-V", "-o", str(module), str(source)], check=True, capture_output=True)
        assert spirv.reflect(module.read_bytes())["descriptor_sets"] == {0: {0: {"type": expected, "count": count}}}


def test_layout() -> None:
    layout = arguments.own_layout({0: {0: ("ssbo|storage_image", 2), 1: ("sampler|ubo", 0)}})
    first, second = (placed.binding for placed in layout.sets[0].bindings.values())
    assert (first.type, set(first.mutable)) == (DescriptorType.MUTABLE, {DescriptorType.STORAGE_BUFFER, DescriptorType.STORAGE_IMAGE})
    assert second.variable and set(second.mutable) == {DescriptorType.SAMPLER, DescriptorType.UNIFORM_BUFFER}
    with pytest.raises(UnsupportedError, match="descriptors of type tensor"):
        arguments.own_layout({0: {0: ("ssbo|tensor", 1)}})
