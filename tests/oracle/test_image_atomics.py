"""Atomics of 64 bits and of floats, loads and stores of texel buffers and of R64 images: engines against the NIR interpreter.

Every invocation has a texel that some others have too. Sums do not depend on the order; the values that atomics return are compared sorted.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco import compile, spirv
from pyaco.emu import Device, TexelBuffer
from pyaco.nir import images
from pyaco.nir.interpreter import Interpreter

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]

INVOCATIONS, WIDTH, HEIGHT = 128, 8, 4


@dataclass(frozen=True)
class Access:
    """An operation in GLSL on `image` at `at` with the value `v`, the format of the image, and the targets that have it."""

    statement: str
    layout: str
    declared: str
    format: str
    kind: str
    targets: tuple[str, ...] = ("gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200")

    def spirv(self, folder: Path) -> bytes:
        """The module, as glslangValidator compiles it."""
        type = {"u8": "uint64_t", "i8": "int64_t", "f4": "float", "u4": "uint"}[self.kind]
        names = ["GL_EXT_shader_explicit_arithmetic_types_int64", "GL_EXT_shader_image_int64", "GL_EXT_shader_atomic_float",
                 "GL_EXT_shader_atomic_float2"]
        at = "int(i % 32)" if "Buffer" in self.declared else "ivec2(i % 8, i / 8 % 4)"
        source = "#version 450\n" + "".join(f"#extension {name} : require\n" for name in names) + f"""
layout(local_size_x = 64) in;
layout(set=0, binding=0) buffer Out {{ {type} result[]; }};
layout(set=0, binding=1) buffer In {{ {type} given[]; }};
layout(set=0, binding=2, {self.layout}) uniform {self.declared} image;
#define at {at}
void main() {{
    uint i = gl_GlobalInvocationID.x;
    {type} v = given[i];
    {self.statement};
}}
"""
        (folder / "a.comp").write_text(source)
        done = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.2", "-o", str(folder / "a.spv"), str(folder / "a.comp")],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + source
        return (folder / "a.spv").read_bytes()


U64, I64, F32 = ("r64ui", "u64image2D", "R64_UINT", "u8"), ("r64i", "i64image2D", "R64_SINT", "i8"), ("r32f", "image2D", "R32_FLOAT", "f4")
#: Floats are added by GFX12 alone; minimum and maximum are GFX10's and GFX12's.
ACCESSES = {
    **{f"u64_{name}": Access(f"result[i] = imageAtomic{name}(image, at, v)", *U64) for name in ("Add", "Min", "Max", "And", "Or", "Xor", "Exchange")},
    "u64_CompSwap": Access("result[i] = imageAtomicCompSwap(image, at, v, v + 1)", *U64),
    **{f"i64_{name}": Access(f"result[i] = imageAtomic{name}(image, at, v)", *I64) for name in ("Add", "Min", "Max")},
    "u64_load": Access("result[i] = imageLoad(image, at).x * 3 + imageLoad(image, at).w", *U64),
    "u64_store": Access("imageStore(image, at, u64vec4(v)); result[i] = v", *U64),
    "f32_Exchange": Access("result[i] = imageAtomicExchange(image, at, v)", *F32),
    "f32_Add": Access("result[i] = imageAtomicAdd(image, at, v)", *F32, ("gfx1200",)),
    "f32_Min": Access("result[i] = imageAtomicMin(image, at, v)", *F32, ("gfx1030", "gfx1200")),
    "f32_Max": Access("result[i] = imageAtomicMax(image, at, v)", *F32, ("gfx1030", "gfx1200")),
    "buffer_load_store": Access("result[i] = imageLoad(image, at).x; imageStore(image, at, uvec4(v))", "r32ui", "uimageBuffer", "R32_UINT", "u4"),
    "buffer_add": Access("result[i] = imageAtomicAdd(image, at, v)", "r32ui", "uimageBuffer", "R32_UINT", "u4"),
}


def values(access: Access, count: int, seed: int) -> NDArray[Any]:
    random = np.random.default_rng(seed)
    if access.kind == "f4":
        return random.integers(-64, 64, count).astype(np.float32)
    if access.kind == "u4":
        return random.integers(0, 1 << 32, count, np.uint32)
    return random.integers(0, 1 << 63, count, np.uint64).view(f"<{access.kind}")


@pytest.mark.parametrize("name", ACCESSES)
def test_accesses_of_images(name: str, tmp_path: Path) -> None:
    access = ACCESSES[name]
    words, given, texels = access.spirv(tmp_path), values(access, INVOCATIONS, 1), values(access, WIDTH * HEIGHT, 2)
    if "CompSwap" in name:
        given = texels[np.arange(INVOCATIONS) % (WIDTH * HEIGHT)]
    if "Exchange" in name or "store" in name:
        given = given[np.arange(INVOCATIONS) % (WIDTH * HEIGHT)]              # all writers of a texel agree
    buffer = "Buffer" in access.declared
    shader = spirv.read(words)
    shader.set_info(gfx_level=103, wave_size=64, address32_hi=0xFFFF8000)
    wanted = np.zeros_like(given)
    level = texels.copy().reshape((1, 1, 1, -1, 1, 1) if buffer else (1, 1, HEIGHT, WIDTH, 1, 1))
    Interpreter(shader, (INVOCATIONS // 64, 1, 1), {(0, 0): wanted, (0, 1): given, (0, 2): images.Image([level])}).run()
    assert (level.reshape(-1) != texels).any() or name.endswith("load")
    for target in access.targets:
        device = Device(target, threads=1)
        result, image = device.zeros(given.nbytes), None
        view: Any
        if buffer:
            memory = device.buffer(texels)
            view = TexelBuffer(memory, access.format)
        else:
            image = device.image(format=access.format, width=WIDTH, height=HEIGHT)
            image.write(texels.reshape(image.numpy().shape).view(image.numpy().dtype))
            view = image.view("2d", storage=True)
        device.dispatch(compile(words, target=target), groups=(INVOCATIONS // 64, 1, 1),
                        buffers={(0, 0): result, (0, 1): device.buffer(given), (0, 2): view})
        after = image.numpy().reshape(-1).view(texels.dtype) if image is not None else memory.numpy().view(texels.dtype)
        np.testing.assert_array_equal(after, level.reshape(-1), err_msg=target)
        np.testing.assert_array_equal(np.sort(result.numpy().view(given.dtype)), np.sort(wanted), err_msg=target)
