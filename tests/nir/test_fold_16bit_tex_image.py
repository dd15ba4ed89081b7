"""Folding of 16-bit conversions into texture and image instructions, in the interpreter: before and after the passes, and what became narrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_interpreter_images import DIMS, LANES, SAMPLERS, Array, Shader, image_of

from pyaco._core.ir.shader import Shader as NirShader
from pyaco._core.ir.vocabulary import BaseType
from pyaco._core.nir import build, validate
from pyaco.nir import text
from pyaco.nir.images import SampledImage

LEVELS = (90, 103, 110, 120)


def halves(shape: tuple[int, ...], seed: int) -> Array:
    """Numbers that halves hold."""
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float16).astype(np.float32)


def run(shader: Shader, bound: dict[tuple[int, int], Any], lower: bool) -> tuple[Array, str]:
    """The result, and the text of the shader behind the pass."""
    from pyaco.nir import passes
    from pyaco.nir.interpreter import Interpreter

    seen: list[str] = []

    def note(name: str, after: NirShader, seconds: float) -> None:
        validate.run(after)
        if name == "fold_16bit_tex_image":
            seen.append(text.print_shader(after))

    built = shader.b.finish()
    if lower:
        passes.run(built, on_pass=note)
    Interpreter(built, (1, 1, 1), {(0, 0): shader.data, (0, 1): shader.out, **bound}).run()
    return shader.out[:, : shader.components].T.copy(), "".join(seen)


def narrow(shader: Shader, value: int) -> int:
    """Through 16 bits and back."""
    b = shader.b
    parts = [b.f2f32(b.f2f16(b.component(value, k))) for k in range(b.components(value))]
    return b.vec(*parts) if len(parts) > 1 else parts[0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dim", ["1d", "2d", "3d"])
def test_samples(dim: str, level: int) -> None:
    axes = DIMS[dim][0]
    inputs = {"coord": halves((axes, LANES), 1), "lod": halves((1, LANES), 2), "ddx": halves((axes, LANES), 3) / 16,
              "ddy": halves((axes, LANES), 4) / 16}
    for opcode, names in (("txl", ("coord", "lod")), ("txd", ("coord", "ddx", "ddy")), ("tg4", ("coord",))):
        if opcode == "tg4" and dim != "2d":
            continue
        found = []
        for lower in (False, True):
            shader = Shader(level, inputs, 4)
            handle = shader.variable("uniform", "sampled_image", dim)
            given: dict[str, Any] = {name: narrow(shader, shader.values[name]) for name in names}
            shader.keep(narrow(shader, shader.b.tex(opcode, dim, "float", texture_deref=handle, sampler_deref=handle, **given)))
            found.append(run(shader, {(0, 2): SampledImage(image_of(dim, False), SAMPLERS["nearest"])}, lower))
        np.testing.assert_allclose(found[1][0].view(np.float32), found[0][0].view(np.float32), rtol=1e-3, atol=1e-6)
        assert f"(float16){opcode}" in found[1][1] and "f2f16 " in found[1][1]
        assert not [line for line in found[1][1].splitlines() if f"){opcode} " in line and "(float32)" in line]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dim", ["1d", "2d", "3d"])
def test_loads_and_stores(dim: str, level: int) -> None:
    axes, sizes = DIMS[dim][0], DIMS[dim][1][:3]
    random = np.random.default_rng(6)
    at = np.array([random.integers(-1, size + 1, LANES) for size in sizes[:axes]] + [np.zeros(LANES, int)] * (4 - axes), np.int32)
    facts = {"image_dim": build.IMAGE_DIMS[dim][0], "image_array": 0}
    for store in (False, True):
        found, texels = [], []
        for lower in (False, True):
            image = image_of(dim, False, mips=1)
            shader = Shader(level, {"coord": at, "value": halves((4, LANES), 7)}, 1 if store else 4)
            b = shader.b
            whole = b.vec(*(b.i2i32(b.i2i16(b.component(shader.values["coord"], k))) for k in range(4)))
            sources = [shader.variable("image", "image", dim), whole, b.imm(0)]
            if store:
                b.intrinsic("image_deref_store", *sources, narrow(shader, shader.values["value"]), b.imm(0),
                            src_type=BaseType.FLOAT << 8 | 32, **facts)
                shader.keep(b.imm(0))
            else:
                loaded = b.intrinsic("image_deref_load", *sources, b.imm(0), components=4, bit_size=32, dest_type=BaseType.FLOAT << 8 | 32, **facts)
                shader.keep(narrow(shader, loaded))
            found.append(run(shader, {(0, 2): image}, lower))
            texels.append(image.levels[0])
        np.testing.assert_allclose(found[1][0].view(np.float32), found[0][0].view(np.float32), rtol=1e-3)
        np.testing.assert_array_equal(texels[1], texels[0])
        assert ("src_type=float16" if store else "dest_type=float16") in found[1][1]
