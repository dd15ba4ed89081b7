"""Derivatives, implicit levels of detail and their queries in derivative groups of compute shaders, on our engines.

What a derivative must be follows from the function of the invocation's id that is derived. Levels are told apart by their texels.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco import compile, spirv
from pyaco.descriptors.sampler import Sampler
from pyaco.emu import Device
from pyaco.emu.images import SampledImage
from pyaco.nir import images, passes
from pyaco.nir.interpreter import Interpreter

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]

TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
GROUPS = {"quads": (8, 12, 1), "linear": (12, 4, 2)}
SOURCE = """#version 450
#extension GL_NV_compute_shader_derivatives : require
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(derivative_group_{group}NV) in;
layout(set = 0, binding = 0) buffer Out {{ vec4 result[]; }};
layout(set = 0, binding = 1) uniform sampler2D image;
void main() {{
    uvec3 id = gl_LocalInvocationID;
    vec2 at = vec2(id.xy * id.xy + id.yx + 3 * id.z);
    vec2 place = vec2(id.xy) * vec2({step}) + 0.01;
    uint i = 6 * (id.x + {x} * (id.y + {y} * id.z));
    result[i] = vec4(dFdx(at), dFdy(at));
    result[i + 1] = vec4(dFdxFine(at), dFdyFine(at));
    result[i + 2] = vec4(dFdxCoarse(at), dFdyCoarse(at));
    result[i + 3] = vec4(fwidth(at), fwidthFine(at));
    result[i + 4] = vec4(textureQueryLod(image, place), texture(image, place).x, texture(image, place, 1.0).x);
    result[i + 5] = vec4(gl_LocalInvocationIndex, gl_SubgroupInvocationID, gl_SubgroupID, texture(image, vec2(0.5)).x);
}}
"""


def module(tmp_path: Path, group: str, step: float) -> bytes:
    """The shader, as glslangValidator compiles it."""
    x, y, z = GROUPS[group]
    text = SOURCE.format(x=x, y=y, z=z, group="quads" if group == "quads" else "linear", step=step)
    text = text.replace("require\n", "require\n#extension GL_KHR_shader_subgroup_basic : require\n", 1)
    (tmp_path / "a.comp").write_text(text)
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(tmp_path / "a.spv"), str(tmp_path / "a.comp")], check=True,
                   stdout=subprocess.DEVNULL)
    return (tmp_path / "a.spv").read_bytes()


def members(group: str) -> NDArray[np.int64]:
    """The four invocations (local indices) of each quad, in order."""
    x, y, z = GROUPS[group]
    index = np.arange(x * y * z)
    if group == "linear":
        return index.reshape(-1, 4)
    grid = index.reshape(z, y // 2, 2, x // 2, 2)
    return np.asarray(grid.transpose(0, 1, 3, 2, 4).reshape(-1, 4))


def wanted(group: str) -> NDArray[np.float64]:
    """The first four rows of results, by local index."""
    x, y, z = GROUPS[group]
    index = np.arange(x * y * z)
    i, j, k = index % x, index // x % y, index // (x * y)
    at = np.stack([i * i + j + 3 * k, j * j + i + 3 * k], 1).astype(float)
    out = np.zeros((len(index), 4, 4))
    for quad in members(group):
        a = at[quad]
        coarse = np.concatenate([a[1] - a[0], a[2] - a[0]])
        for lane, invocation in enumerate(quad):
            row, column = lane & 2, lane & 1
            fine = np.concatenate([a[row + 1] - a[row], a[column + 2] - a[column]])
            out[invocation] = [coarse, fine, coarse, np.concatenate([abs(coarse[:2]) + abs(coarse[2:]), abs(fine[:2]) + abs(fine[2:])])]
    return out


def check(group: str, step: float, found: NDArray[Any], wave: int) -> None:
    x, y, z = GROUPS[group]
    found = found.view(np.float32).reshape(x * y * z, 6, 4)
    np.testing.assert_array_equal(found[:, :4], wanted(group))
    # a step of a texel is level 0 of 32 texels
    if group == "quads":
        lod = np.log2(32 * step)
        np.testing.assert_allclose(found[:, 4, 1], lod, atol=1 / 128)
        np.testing.assert_allclose(found[:, 4, 0], np.clip(lod, 0, 3), atol=1 / 128)
        np.testing.assert_allclose(found[:, 4, 2], np.clip(lod, 0, 3) * 10, atol=0.1)
        np.testing.assert_allclose(found[:, 4, 3], np.clip(lod + 1, 0, 3) * 10, atol=0.1)
    np.testing.assert_array_equal(found[:, 5, 0], np.arange(x * y * z))
    np.testing.assert_array_equal(found[:, 5, 3], 0)
    # every quad is four lanes that follow each other
    lanes = found[:, 5, 1] + wave * found[:, 5, 2]
    assert sorted(lanes) == list(range(x * y * z))
    for quad in members(group):
        assert lanes[quad[0]] % 4 == 0 and (np.diff(lanes[quad]) == 1).all()


@pytest.mark.parametrize("step", [1 / 32, 1 / 10, 1 / 64])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("target", TARGETS)
def test_derivative_groups(target: str, group: str, step: float, tmp_path: Path) -> None:
    words = module(tmp_path, group, step)
    device = Device(target, threads=1)
    image = device.image(format="R32_FLOAT", width=32, height=32, mips=4)
    for mip in range(4):
        image.write(np.full_like(image.numpy(mip), 10 * mip), mip)
    sampler = Sampler((2, 2, 2), 1, 1, 2)
    for wave in (64,) if target == "gfx900" else (32, 64):
        shader = compile(words, target=target, wave=wave)
        x, y, z = GROUPS[group]
        result = device.zeros(96 * x * y * z)
        device.dispatch(shader, groups=(1, 1, 1), buffers={(0, 0): result, (0, 1): SampledImage(image.view("2d"), sampler)})
        check(group, step, result.numpy(), wave)


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("group", GROUPS)
def test_derivative_groups_in_the_interpreter(group: str, lowered: bool, tmp_path: Path) -> None:
    x, y, z = GROUPS[group]
    shader = spirv.read(module(tmp_path, group, 1 / 10))
    shader.set_info(gfx_level=103, wave_size=64, address32_hi=0xFFFF8000)
    if lowered:
        passes.run(shader)
    levels = [np.full((1, 1, 32 >> mip, 32 >> mip, 1, 1), 10 * mip, np.float32) for mip in range(4)]
    result = np.zeros(24 * x * y * z, np.uint32)
    bound = images.SampledImage(images.Image(levels), Sampler((2, 2, 2), 1, 1, 2))
    Interpreter(shader, (1, 1, 1), {(0, 0): result, (0, 1): bound}).run()
    check(group, 1 / 10, result, 64)


LEVELS = """#version 450
#extension GL_NV_compute_shader_derivatives : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(derivative_group_quadsNV) in;
layout(set = 0, binding = 0) buffer Out {{ vec4 result[]; }};
layout(set = 0, binding = 1) uniform sampler{dimension} one;
layout(set = 0, binding = 2) uniform sampler{dimension}Array many;
void main() {{
    vec2 place = vec2(gl_LocalInvocationID.xy) * vec2(0.03, 0.02) * vec2(gl_LocalInvocationID.x + 1) + 0.4;
    vec3 direction = vec3(place - 1, 0.7);
    result[gl_LocalInvocationIndex] = vec4(textureQueryLod(one, {coordinate}), textureQueryLod(many, {coordinate}));
}}
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dimension", "coordinate"), [("1D", "place.x"), ("2D", "place"), ("Cube", "direction")])
def test_levels_of_arrays(dimension: str, coordinate: str, target: str, tmp_path: Path) -> None:
    """Coordinates of a query have no layer, whose rounding they would suffer; what has no array says what they give."""
    (tmp_path / "a.comp").write_text(LEVELS.format(dimension=dimension, coordinate=coordinate))
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(tmp_path / "a.spv"), str(tmp_path / "a.comp")], check=True,
                   stdout=subprocess.DEVNULL)
    device = Device(target, threads=1)
    image = device.image(format="R32_FLOAT", width=32, height=1 if dimension == "1D" else 32, mips=4, layers=12)
    sampler, result, name = Sampler((2, 2, 2), 1, 1, 2), device.zeros(16 * 64), dimension.lower()
    one, many = (SampledImage(image.view(view), sampler) for view in (name, f"{name}_array"))
    shader = compile((tmp_path / "a.spv").read_bytes(), target=target, validate=True)
    device.dispatch(shader, (1, 1, 1), {(0, 0): result, (0, 1): one, (0, 2): many})
    found = result.numpy().view(np.float32).reshape(64, 4)
    np.testing.assert_array_equal(found[:, :2], found[:, 2:])
    assert len(np.unique(found[:, 1])) > 3
