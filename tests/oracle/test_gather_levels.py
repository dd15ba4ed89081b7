"""Gathers with a level of detail or a bias (SPV_AMD_texture_gather_bias_lod), on our engines and the NIR interpreter, beside NumPy."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import pyaco
from pyaco import spirv
from pyaco.descriptors.sampler import Sampler
from pyaco.emu import Device
from pyaco.emu.device import ENGINES
from pyaco.emu.images import SampledImage
from pyaco.nir import images
from pyaco.nir.interpreter import Interpreter

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]

TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
WIDTH, HEIGHT, LEVELS = 32, 16, 4
EDGE = 8
HEAD = """#version 450
#extension GL_AMD_texture_gather_bias_lod : require
#extension GL_NV_compute_shader_derivatives : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) buffer Out { vec4 result[]; };
layout(set = 0, binding = 1) uniform sampler2D image;
"""
GIVEN = """void main() {
    uvec2 id = gl_LocalInvocationID.xy;
    uint i = id.x + 8 * id.y;
    result[i] = textureGatherLodAMD(image, vec2(id * 5) / 31.0 - 0.2, i * 0.07 - 0.4, 2);
}
"""
#: A step of four texels between neighbours is level 2. GLSL has biases of gathers for fragment shaders alone: `biased` adds them.
IMPLICIT = """layout(derivative_group_quadsNV) in;
void main() {
    uvec2 id = gl_LocalInvocationID.xy;
    vec2 at = vec2(id) * vec2(4.0) / vec2(32, 16) + 0.01;
    vec2 more = vec2(1.0, -1.25) * id;                               // so that these numbers are constants of the module
    result[id.x + 8 * id.y] = vec4(textureGather(image, at, 0).x, textureGather(image, at, 1).y, textureGather(image, at, 2).z,
                                   textureGatherLodAMD(image, at, more.x * 0.0 - more.y * 0.0, 0).w);
}
"""


def compiled(tmp_path: Path, source: str) -> bytes:
    (tmp_path / "a.comp").write_text(HEAD + source)
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(tmp_path / "a.spv"), str(tmp_path / "a.comp")], check=True,
                   stdout=subprocess.DEVNULL)
    return (tmp_path / "a.spv").read_bytes()


def biased(module: bytes, tmp_path: Path) -> bytes:
    """The gathers of components 1 and 2 with biases of 1 and -1.25."""
    (tmp_path / "b.spv").write_bytes(module)
    text = subprocess.run(["spirv-dis", "--raw-id", str(tmp_path / "b.spv")], check=True, capture_output=True, text=True).stdout
    (float_type,), (int_type,) = (re.findall(rf"(%\d+) = OpType{type}\n", text) for type in ("Float 32", "Int 32 1"))
    for component, bias in (("1", "1"), ("2", "-1.25")):
        number, = re.findall(rf"(%\d+) = OpConstant {int_type} {component}\n", text)
        value, = re.findall(rf"(%\d+) = OpConstant {float_type} {bias}\n", text)
        text, count = re.subn(rf"(OpImageGather .* {number})\n", rf"\1 Bias {value}\n", text)
        assert count == 1
    (tmp_path / "b.spvasm").write_text(text)
    subprocess.run(["spirv-as", "--target-env", "vulkan1.1", "-o", str(tmp_path / "b.spv"), str(tmp_path / "b.spvasm")], check=True)
    return (tmp_path / "b.spv").read_bytes()


def dispatched(module: bytes, target: str, engine: str, texels: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
    device = Device(target, engine=engine, threads=1)
    image = device.image(format="R8G8B8A8_UNORM", width=WIDTH, height=HEIGHT, mips=LEVELS)
    for level, array in enumerate(texels):
        image.write(array.reshape(image.numpy(level).shape), level)
    result = device.zeros(EDGE * EDGE * 16)
    device.dispatch(pyaco.compile(module, target=target), (1, 1, 1), {(0, 0): result, (0, 1): SampledImage(image.view(), SAMPLER)})
    return result.numpy().view(np.float32).reshape(EDGE * EDGE, 4)


SAMPLER = Sampler((0, 0, 0), 1, 1, 1)


def levels_of(make: int | None) -> list[NDArray[np.uint8]]:
    """Random texels, or level L filled with `make` times L."""
    random = np.random.default_rng(4)
    shapes = [(HEIGHT >> level, WIDTH >> level, 4) for level in range(LEVELS)]
    return [random.integers(0, 256, shape, dtype=np.uint8) if make is None else np.full(shape, make * level, np.uint8)
            for level, shape in enumerate(shapes)]


def gathered(texels: list[NDArray[np.uint8]]) -> NDArray[np.float64]:
    """What GIVEN must write, coordinates repeating."""
    rows = []
    for i in range(EDGE * EDGE):
        lod = np.float32(np.float32(i) * np.float32(0.07) - np.float32(0.4))
        level = texels[int(np.ceil(np.clip(lod, 0, LEVELS - 1) - 0.5))]
        height, width, _ = level.shape
        x, y = (int(np.floor((5 * place / 31 - 0.2) * size - 0.5)) for place, size in ((i % EDGE, width), (i // EDGE, height)))
        rows.append([level[(y + dy) % height, (x + dx) % width, 2] / 255 for dx, dy in ((0, 1), (1, 1), (1, 0), (0, 0))])
    return np.array(rows)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
def test_level_of_a_gather(target: str, engine: str, tmp_path: Path) -> None:
    texels = levels_of(None)
    module = compiled(tmp_path, GIVEN)
    assert "image_gather4_l " in pyaco.compile(module, target=target).disassembly
    np.testing.assert_allclose(dispatched(module, target, engine, texels), gathered(texels), rtol=0, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_implicit_level_and_bias_of_a_gather(target: str, tmp_path: Path) -> None:
    texels = levels_of(50)
    module = biased(compiled(tmp_path, IMPLICIT), tmp_path)
    disassembly = pyaco.compile(module, target=target).disassembly
    assert "image_gather4 " in disassembly and disassembly.count("image_gather4_b ") == 2
    for engine in ENGINES:
        found = dispatched(module, target, engine, texels) * 255 / 50
        np.testing.assert_allclose(found, np.tile([2, 3, 1, 0], (EDGE * EDGE, 1)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("source", [GIVEN, IMPLICIT])
def test_interpreter_gathers_from_levels(source: str, tmp_path: Path) -> None:
    texels = levels_of(None if source == GIVEN else 50)
    module = compiled(tmp_path, source)
    shader = spirv.read(biased(module, tmp_path) if source == IMPLICIT else module)
    image = images.Image([level.reshape(1, 1, level.shape[0], level.shape[1], 1, 4) / 255 for level in texels])
    result = np.zeros((EDGE * EDGE, 4), np.float32)
    Interpreter(shader, (1, 1, 1), {(0, 0): result, (0, 1): images.SampledImage(image, SAMPLER)}).run()
    wanted = gathered(texels) if source == GIVEN else np.tile([2, 3, 1, 0], (EDGE * EDGE, 1)) * 50 / 255
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-6)


def test_gathers_choose_no_level_without_the_capability(tmp_path: Path) -> None:
    """The same instruction in a module that does not declare ImageGatherBiasLodAMD is not valid."""
    words = np.frombuffer(compiled(tmp_path, GIVEN), np.uint32).copy()
    at = 5
    while words[at] & 0xFFFF != 54:                                  # OpFunction
        if words[at] & 0xFFFF == 17 and words[at + 1] == 5009:
            words[at + 1] = 1
        at += int(words[at] >> 16)
    with pytest.raises(pyaco.InputError, match="image operands that the instruction does not take"):
        spirv.read(words.tobytes())
