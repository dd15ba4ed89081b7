"""A gather with an offset for each texel that is no constant equals four gathers of lavapipe."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_cases import SAMPLERS, our_sampler, vulkan_sampler
from vulkan_images import KINDS
from vulkan_peer import Lavapipe

from pyaco import compile
from pyaco.emu import Device
from pyaco.emu.images import SampledImage

pytest.importorskip("vulkan")
pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not (shutil.which("glslangValidator") and shutil.which("spirv-as")),
                                                     reason="glslangValidator or SPIRV-Tools are not installed")]

TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
INVOCATIONS, WIDTH, HEIGHT = 128, 32, 16
CONST_OFFSETS, OFFSETS, GATHERS = 0x20, 0x10000, (96, 97)     # image operands, opcodes
SHADER = """#version 450
layout(local_size_x = 64) in;
layout(set=0, binding=0) buffer Out {{ vec4 result[]; }};
layout(set=0, binding=1) buffer In {{ vec4 given[]; }};
layout(set=0, binding=2) uniform {declared} image;
void main() {{
    uint i = gl_GlobalInvocationID.x;
    vec4 a = given[i];
    int k = int(i);
    ivec2 f[4] = ivec2[4](ivec2(k % 7 - 3, k % 5), ivec2(-(k % 9), 7 - k % 15), ivec2(3), ivec2(k % 3, -8));
    result[i] = {value};
}}
"""
#: By the name of the form: the sampler's type, and a gather with one offset, of which there are four.
FORMS = {"component": ("sampler2D", "textureGatherOffset(image, a.xy, {offset}, 2)"),
         "comparison": ("sampler2DShadow", "textureGatherOffset(image, a.xy, a.z, {offset})")}


def compiled_glsl(source: str, folder: Path) -> Path:
    path, target = folder / "a.comp", folder / "a.spv"
    path.write_text(source)
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(target), str(path)], check=True, stdout=subprocess.PIPE)
    return target


def with_offsets(source: str, folder: Path) -> bytes:
    """A module whose one gather has the whole array `f` for its offset, which GLSL does not say."""
    text = subprocess.run(["spirv-dis", "--raw-id", str(compiled_glsl(source, folder))], check=True, capture_output=True, text=True).stdout
    array = re.search(r"(%\d+) = OpTypeArray ", text)
    assert array
    built = re.findall(rf"(%\d+) = OpCompositeConstruct {array[1]} ", text)
    text = re.sub(r"(Op\w*Gather .*) Offset %\d+", rf"\1 ConstOffsets {built[-1]}", text)
    assembly, target = folder / "b.spvasm", folder / "b.spv"
    assembly.write_text(text)
    subprocess.run(["spirv-as", "--target-env", "vulkan1.1", "-o", str(target), str(assembly)], check=True)
    words = np.frombuffer(target.read_bytes(), np.uint32).copy()
    at, changed = 5, 0
    while at < len(words):
        if words[at] & 0xFFFF in GATHERS:
            assert words[at + 6] == CONST_OFFSETS
            words[at + 6], changed = OFFSETS, changed + 1
        at += int(words[at] >> 16)
    assert changed == 1
    return words.tobytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("state", ["nearest_repeat", "nearest_border"])
def test_offsets_that_are_no_constants(form: str, state: str, lavapipe: Lavapipe, tmp_path: Path) -> None:
    declared, one = FORMS[form]
    random = np.random.default_rng(3)
    given = np.zeros((INVOCATIONS, 4), np.float32)
    given[:, :2] = (random.integers(-WIDTH, 2 * WIDTH, (INVOCATIONS, 2)) + random.uniform(0.1, 0.4, (INVOCATIONS, 2))) / (WIDTH, HEIGHT)
    given[:, 2] = random.uniform(0, 1, INVOCATIONS)
    texels = random.uniform(0, 1, (HEIGHT, WIDTH)).astype(np.float32) if form == "comparison" else random.integers(
        0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)
    number, name, aspect = (126, "Z32_FLOAT", 2) if form == "comparison" else (37, "R8G8B8A8_UNORM", 1)
    compare: dict[str, Any] = {"compareEnable": 1, "compareOp": 3} if form == "comparison" else {}
    kinds = [KINDS["storage_buffer"]] * 2 + [KINDS["combined_image_sampler"]]
    layouts = [[{"number": n, "type": kind, "count": 1, "samplers": [], "mutable": [], "variable": False} for n, kind in enumerate(kinds)]]
    image = {"type": "2d", "format": number, "aspect": aspect, "extent": (WIDTH, HEIGHT, 1), "layers": 1, "levels": [texels.tobytes()],
             "storage": False, "sampler": vulkan_sampler(SAMPLERS[state], False) | compare}
    four = "vec4(" + ", ".join(one.format(offset=f"f[{k}]") + ".w" for k in range(4)) + ")"
    judge = compiled_glsl(SHADER.format(declared=declared, value=four), tmp_path).read_bytes()
    buffers = {(0, 0): np.zeros((INVOCATIONS, 4), np.float32), (0, 1): given}
    wanted = lavapipe.run_with_images(judge, (INVOCATIONS // 64, 1, 1), layouts, buffers, {(0, 2): image})[0][0, 0]
    ours = with_offsets(SHADER.format(declared=declared, value=one.format(offset="f[0]")), tmp_path)
    for target in TARGETS:
        device = Device(target, threads=1)
        result, tiled = device.zeros(INVOCATIONS * 16), device.image(format=name, width=WIDTH, height=HEIGHT)
        tiled.write(texels.reshape(tiled.numpy().shape))
        sampler = our_sampler(SAMPLERS[state])
        if form == "comparison":
            sampler = replace(sampler, compare=3)
        device.dispatch(compile(ours, target=target), groups=(INVOCATIONS // 64, 1, 1),
                        buffers={(0, 0): result, (0, 1): device.buffer(given), (0, 2): SampledImage(tiled.view(), sampler)})
        found = result.numpy().view(np.float32).reshape(INVOCATIONS, 4)
        assert np.ptp(wanted) > 0.5
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2.4e-7, err_msg=target)
