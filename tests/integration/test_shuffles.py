"""Shuffles by constants: what lanes receive, and that no loop over lanes is made of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pyaco

MASKS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 21, 31)
BODY = """#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A {{ uint a[]; }};
layout(set = 0, binding = 1) buffer B {{ uint b[]; }};
void main() {{ uint i = gl_LocalInvocationIndex; uint v = a[i];
{} }}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslangValidator is not installed")
    source: Path = tmp_path_factory.mktemp("shuffles") / "shuffle.comp"
    lines = [f"b[{64 * place}u + i] = subgroupShuffleXor(v, {mask}u);" for place, mask in enumerate(MASKS)]
    source.write_text(BODY.format("\n".join(lines)))
    output = source.with_suffix(".spv")
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(output), str(source)], check=True, capture_output=True)
    return output.read_bytes()


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 64)])
def test_exclusive_or_of_lane_numbers(module: bytes, target: str, wave: int) -> None:
    shader = pyaco.compile(module, target=target, wave=wave)
    assert "v_readlane" not in shader.disassembly and "s_cbranch" not in shader.disassembly
    device = pyaco.emu.Device(target)
    values = np.random.default_rng(3).integers(0, 1 << 32, 64, np.uint32)
    a, b = device.buffer(values), device.buffer(np.zeros(64 * len(MASKS), np.uint32))
    device.dispatch(shader, groups=(1, 1, 1), buffers={(0, 0): a, (0, 1): b})
    lanes = np.arange(64)
    expected = np.concatenate([values[lanes ^ mask] for mask in MASKS])
    assert np.array_equal(b.numpy().view(np.uint32).ravel(), expected)
