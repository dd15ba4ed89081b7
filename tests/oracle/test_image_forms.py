"""Forms of image instructions that few shaders use, compiled and run on our engines, against the NIR interpreter on the module as it is read.

The interpreter filters exactly; engines have 8 fraction bits in coordinates, weights and levels of detail.
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
from pyaco.descriptors.sampler import Sampler
from pyaco.emu import Device
from pyaco.emu.images import SampledImage
from pyaco.nir import images
from pyaco.nir.interpreter import Interpreter

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]

TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200")
INVOCATIONS = 128
LEVELS = 3
NEAREST, LINEAR = Sampler((0, 1, 2)), Sampler((0, 1, 2), 1, 1, 2)
COMPARE = Sampler((2, 2, 2), compare=3)
LINEAR_COMPARE = Sampler((2, 2, 2), 1, 1, 1, compare=6)


@dataclass(frozen=True)
class Form:
    """An operation in GLSL: the type of the image, the value that it gives, how images are sampled, and how near results must be."""

    declared: str
    value: str
    sampler: Sampler | None = NEAREST
    near: float = 0.0
    format: str = "R32_FLOAT"
    extensions: tuple[str, ...] = ()

    @property
    def layered(self) -> bool:
        return "Array" in self.declared

    @property
    def cube(self) -> bool:
        return "Cube" in self.declared

    @property
    def source(self) -> str:
        """The shader."""
        extensions = "".join(f"#extension {name} : require\n" for name in ("GL_EXT_shader_explicit_arithmetic_types", *self.extensions))
        return f"""#version 450
{extensions}layout(local_size_x = 64) in;
layout(set=0, binding=0) buffer Out {{ vec4 result[]; }};
layout(set=0, binding=1) buffer In {{ vec4 given[]; }};
layout(set=0, binding=2{', r32f' if 'image2D' in self.declared else ''}) uniform {self.declared} image;
void main() {{
    uint i = gl_GlobalInvocationID.x;
    vec4 a = given[4 * i], b = given[4 * i + 1], p = given[4 * i + 2], q = given[4 * i + 3];
    vec4 texel = vec4(0);
    result[i] = {self.value};
}}
"""

    def spirv(self, folder: Path) -> bytes:
        """The module, as glslangValidator compiles it."""
        (folder / "a.comp").write_text(self.source)
        done = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(folder / "a.spv"), str(folder / "a.comp")],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + self.source
        return (folder / "a.spv").read_bytes()


CLAMP, SPARSE, HALF = "GL_ARB_sparse_texture_clamp", "GL_ARB_sparse_texture2", "GL_AMD_gpu_shader_half_float_fetch"
FORMS = {
    "shadow": Form("sampler2DShadow", "vec4(textureLod(image, vec3(a.xy, b.z), b.x))", COMPARE),
    "shadow_linear": Form("sampler2DShadow", "vec4(textureLod(image, vec3(a.xy, b.z), b.x))", LINEAR_COMPARE, 0.02),
    "shadow_layers": Form("sampler2DArrayShadow", "vec4(textureGrad(image, vec4(a.xyz, b.z), p.xy, q.xy))", COMPARE),
    "shadow_projective": Form("sampler2DShadow", "vec4(textureProjLod(image, vec4(a.xy * 2, b.z * 2, 2), b.x))", COMPARE),
    "shadow_gather": Form("sampler2DShadow", "textureGather(image, a.xy, b.z)", COMPARE),
    "shadow_gather_cube": Form("samplerCubeShadow", "textureGather(image, q.xyz, b.z)", COMPARE),
    "projective": Form("sampler2D", "textureProjLod(image, vec3(a.xy * 4, 4), b.x)", LINEAR, 0.02),
    "projective_gradients": Form("sampler2D", "textureProjGrad(image, vec4(a.xy * 4, 7, 4), p.xy, q.xy)", LINEAR, 0.02),
    "projective_offset": Form("sampler2D", "textureProjLodOffset(image, vec3(a.xy * 4, 4), b.x, ivec2(-3, 2))"),
    "gradients_offset": Form("sampler2DArray", "textureGradOffset(image, a.xyz, p.xy, q.xy, ivec2(5, -8))", LINEAR, 0.02),
    "gradients_cube": Form("samplerCube", "textureGrad(image, q.xyz, p.xyz, b.xyz / 8)", LINEAR, 0.04),
    "gradients_cube_layers": Form("samplerCubeArray", "textureGrad(image, vec4(q.xyz, a.z), p.xyz, b.xyz / 8)", LINEAR, 0.04),
    "least_level": Form("sampler2D", "textureGradClampARB(image, a.xy, p.xy, q.xy, 1.25)", LINEAR, 0.02, extensions=(CLAMP,)),
    "least_level_implicit": Form("sampler2D", "textureClampARB(image, a.xy, 1.25)", LINEAR, 0.02, extensions=(CLAMP,)),
    "implicit": Form("sampler2D", "texture(image, a.xy) + texture(image, a.xy, 2.0)", LINEAR, 0.04),
    "fetch_offset": Form("sampler2DArray", "texelFetchOffset(image, ivec3(a.xyz * 8), int(b.w) & 1, ivec2(-1, 2))"),
    "gather_components": Form("sampler2D", "textureGather(image, a.xy, 3)", format="R8G8B8A8_UNORM", near=1e-6),
    "gather_offset": Form("sampler2D", "textureGatherOffset(image, a.xy, ivec2(int(b.w) & 7, -(int(b.w) & 3)))"),
    "gather_offsets": Form("sampler2D", "textureGatherOffsets(image, a.xy, ivec2[4](ivec2(1, 2), ivec2(-3, 0), ivec2(0), ivec2(7, -8)))"),
    "sparse": Form("sampler2D", "vec4(sparseTexelsResidentARB(sparseTextureLodARB(image, a.xy, b.x, texel)) ? 1 : 0, texel.x, 0, 0)",
                   extensions=(SPARSE,)),
    "sparse_gather_offsets": Form(
        "sampler2D", "vec4(sparseTexelsResidentARB(sparseTextureGatherOffsetsARB(image, a.xy, ivec2[4](ivec2(1, 2), ivec2(-3, 0), ivec2(0), "
        "ivec2(7, -8)), texel)) ? 0 : 9) + texel", extensions=(SPARSE,)),
    "half": Form("f16sampler2D", "vec4(textureLod(image, a.xy, b.x))", near=1e-3, extensions=(HALF,)),
    "half_coordinates": Form("f16sampler2D", "vec4(textureLod(image, f16vec2(a.xy), float16_t(b.x)))", near=1e-3, extensions=(HALF,)),
    "half_coordinates_cube": Form("f16samplerCube", "vec4(textureLod(image, f16vec3(q.xyz), float16_t(0)))", near=1e-3, extensions=(HALF,)),
    "half_layers": Form("f16sampler2DArray", "vec4(textureLod(image, f16vec3(a.xyz), float16_t(b.x)))", near=1e-3, extensions=(HALF,)),
    "half_gradients": Form("f16sampler2D", "vec4(textureGrad(image, f16vec2(a.xy), f16vec2(p.xy), f16vec2(q.xy)))", LINEAR, 0.05, extensions=(HALF,)),
    "half_projective": Form("f16sampler2D", "vec4(textureProjLod(image, f16vec3(a.xy * 4, 4), float16_t(b.x)))", near=1e-3, extensions=(HALF,)),
    "half_shadow": Form("f16sampler2DShadow", "vec4(textureLod(image, f16vec2(a.xy), float16_t(b.z), float16_t(b.x)))", COMPARE,
                        extensions=(HALF,)),
    "half_gather": Form("f16sampler2D", "vec4(textureGather(image, f16vec2(a.xy)))", near=1e-3, extensions=(HALF,)),
    "half_fetch": Form("f16sampler2D", "vec4(texelFetch(image, ivec2(a.xy * 8), 1))", near=1e-3, extensions=(HALF,)),
    "half_load": Form("f16image2D", "vec4(imageLoad(image, ivec2(a.xy * 8)))", None, 1e-3, extensions=(HALF,)),
}


def inputs() -> NDArray[np.float32]:
    """Coordinates within texels of level 0 and 1, exact in 16 bits; levels, references, derivatives along the axes, directions."""
    random = np.random.default_rng(11)
    given = random.uniform(-1, 1, (INVOCATIONS, 4, 4)).astype(np.float32)
    given[:, 0, :2] = (random.integers(-16, 32, (INVOCATIONS, 2)) + 0.25 + random.integers(0, 2, (INVOCATIONS, 2)) / 8) / 16
    given[:, 0, 2] = random.integers(-1, 4, INVOCATIONS)
    given[:, 1, 0] = random.integers(0, 3, INVOCATIONS) + 0.125
    given[:, 1, 2] = random.integers(1, 512, INVOCATIONS) / 512
    given[:, 1, 3] = random.integers(0, 64, INVOCATIONS)
    given[:, 2:4, :2] = 0
    given[:, 2, 0], given[:, 3, 1] = random.integers(1, 64, (2, INVOCATIONS)) / 128
    given[:, 3, 0], given[:, 3, 2] = random.uniform(-1, 1, (2, INVOCATIONS))
    given[:, 2, 2] = 0.1
    return given


def levels_of(form: Form) -> list[NDArray[Any]]:
    """Texels as the interpreter has them; multiples of a 256th, so that no comparison is close."""
    random = np.random.default_rng(12)
    layers = (12 if form.layered else 6) if form.cube else 3 if form.layered else 1
    count = 4 if form.format.startswith("R8G8B8A8") else 1
    shape = [(layers, 1, 16 >> mip, 16 >> mip, 1, count) for mip in range(1 if form.sampler is None else LEVELS)]
    values = [random.integers(0, 256, size) for size in shape]
    return [(value / 255 if count == 4 else value / 256 + 1 / 1024).astype(np.float32) for value in values]


def interpreted(form: Form, words: bytes, given: NDArray[np.float32]) -> NDArray[np.float32]:
    shader = spirv.read(words)
    shader.set_info(gfx_level=103, wave_size=64, address32_hi=0xFFFF8000)
    image = images.Image(levels_of(form))
    result = np.zeros((INVOCATIONS, 4), np.float32)
    bound = {(0, 0): result, (0, 1): given, (0, 2): image if form.sampler is None else images.SampledImage(image, form.sampler)}
    Interpreter(shader, (INVOCATIONS // 64, 1, 1), bound).run()
    return result


def executed(form: Form, words: bytes, given: NDArray[np.float32], target: str) -> NDArray[np.float32]:
    device = Device(target, threads=1)
    levels = levels_of(form)
    shape: dict[str, Any] = {"cube": True} if form.cube and not form.layered else {"layers": levels[0].shape[0]}
    image = device.image(format=form.format, width=16, height=16, mips=len(levels), **shape)
    for mip, level in enumerate(levels):
        texels = image.numpy(mip)
        image.write(np.rint(level * 255).astype(np.uint8).reshape(texels.shape) if texels.dtype == np.uint8 else
                    level.astype(texels.dtype).reshape(texels.shape), mip)
    kind = ("cube_array" if form.layered else "cube") if form.cube else "2d_array" if form.layered else "2d"
    view = image.view(kind, storage=form.sampler is None)
    result = device.zeros(INVOCATIONS * 16)
    device.dispatch(compile(words, target=target), groups=(INVOCATIONS // 64, 1, 1), buffers={
        (0, 0): result, (0, 1): device.buffer(given), (0, 2): view if form.sampler is None else SampledImage(view, form.sampler)})
    return result.numpy().view(np.float32).reshape(INVOCATIONS, 4).copy()


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_image_instructions(name: str, tmp_path: Path) -> None:
    form, given = FORMS[name], inputs()
    words = form.spirv(tmp_path)
    wanted = interpreted(form, words, given)
    assert np.ptp(wanted[:, 1]) > 0.2 or np.ptp(wanted[:, 0]) > 0.2
    for target in TARGETS:
        found = executed(form, words, given, target)
        bad = np.abs(found - wanted) > form.near
        assert not bad.any(), f"{target}: {bad.any(1).sum()} of {INVOCATIONS}, first {given[bad.any(1)][0].tolist()}: " \
            f"{found[bad.any(1)][0].tolist()} not {wanted[bad.any(1)][0].tolist()}"
