"""Texel buffers as shaders declare them, compiled and run: elements and sizes are NumPy's, elements beyond the end are zeros."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco import compile
from pyaco.emu import Device
from pyaco.emu.buffers import TexelBuffer

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]

TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200")
COUNT, BEYOND = 192, 64
Array: TypeAlias = NDArray[Any]
SHADER = """#version 450
#extension GL_EXT_shader_image_load_formatted : require
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 64) in;
layout(set=0, binding=0) {qualifier}uniform {letter}{kind} source;
layout(set=0, binding=1) buffer Out {{ {letter}vec4 result[]; }};
layout(set=0, binding=2) buffer Size {{ int size; }};
void main()
{{
    uint i = gl_GlobalInvocationID.x;
    result[i] = {value};
    if (i == 0) size = {size}(source);
}}
"""
#: How a shader declares the buffer, reads an element, and asks for its size.
FORMS = {
    "samplerBuffer": ("", "texelFetch(source, int(i))", "textureSize"),
    "textureBuffer": ("", "texelFetch(source, int(i))", "textureSize"),
    "imageBuffer": ("readonly ", "imageLoad(source, int(i))", "imageSize"),
}


def plain(count: int) -> Callable[[Array], Array]:
    """Elements of `count` components that need no conversion; alpha is one."""
    return lambda raw: np.concatenate([raw.reshape(-1, count), *[np.full((raw.size // count, 1), k == 3, raw.dtype) for k in range(count, 4)]], 1)


def normalized(raw: Array) -> Array:
    return np.maximum(raw.reshape(-1, 4).astype(np.float64) / np.iinfo(raw.dtype).max, -1)


def packed(raw: Array) -> Array:
    return np.stack([(raw >> 10 * k & (3 if k == 3 else 1023)) / (3.0 if k == 3 else 1023.0) for k in range(4)], 1)


#: By format: NumPy's type of what it consists of, a prefix of GLSL's types, components from that.
FORMATS: dict[str, tuple[str, str, Callable[[Array], Array]]] = {
    "R32_FLOAT": ("f4", "", plain(1)), "R32G32_FLOAT": ("f4", "", plain(2)), "R32G32B32_FLOAT": ("f4", "", plain(3)),
    "R32G32B32A32_FLOAT": ("f4", "", plain(4)), "R16G16_FLOAT": ("f2", "", plain(2)), "R8G8B8A8_UNORM": ("u1", "", normalized),
    "R8G8B8A8_SNORM": ("i1", "", normalized), "R16G16B16A16_UNORM": ("u2", "", normalized), "R10G10B10A2_UNORM": ("u4", "", packed),
    "R32_UINT": ("u4", "u", plain(1)), "R8_UINT": ("u1", "u", plain(1)), "R16G16_UINT": ("u2", "u", plain(2)),
    "R32G32B32A32_SINT": ("i4", "i", plain(4)),
    "R8G8B8A8_SINT": ("i1", "i", plain(4)),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("format_", FORMATS)
def test_elements_and_sizes(format_: str, kind: str, tmp_path: Path) -> None:
    type_, letter, convert = FORMATS[format_]
    qualifier, value, size = FORMS[kind]
    path = tmp_path / "a.comp"
    path.write_text(SHADER.format(qualifier=qualifier, letter=letter, kind=kind, value=value, size=size))
    done = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", path, "-o", tmp_path / "a.spv"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    random = np.random.default_rng(7)
    words = 1 if format_.startswith("R10") else len(re.findall(r"[RGBA](?=\d)", format_))
    shape = COUNT * words
    raw = random.standard_normal(shape).astype(type_) if type_[0] == "f" else \
        random.integers(np.iinfo(type_).min, np.iinfo(type_).max, shape, type_, endpoint=True)
    wanted = convert(raw).astype({"": np.float32, "u": np.uint32, "i": np.int32}[letter])
    for target in TARGETS:
        device = Device(target, threads=1)
        result, length = device.zeros((COUNT + BEYOND) * 16), device.zeros(4)
        device.dispatch(compile((tmp_path / "a.spv").read_bytes(), target=target), groups=((COUNT + BEYOND) // 64, 1, 1),
                        buffers={(0, 0): TexelBuffer(device.buffer(raw), format_), (0, 1): result, (0, 2): length})
        found = result.numpy().view(wanted.dtype).reshape(-1, 4)
        np.testing.assert_allclose(found[:COUNT], wanted, rtol=2e-7, atol=0, err_msg=target)
        assert not found[COUNT:, :3].any(), target
        assert length.numpy().view(np.int32)[0] == COUNT, target
