"""Shaders whose texture and image operations have arithmetic of 16 bits around them: sources, texels, inputs, lavapipe's results.

Of each invocation `h` and `w` are coordinates as halves (from 0 to 1 and beyond) and as 16-bit integers, `a` and `b` the same in 32 bits,
`l` and `n` a level, `d` what is stored.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from image_cases import SAMPLERS, our_sampler, vulkan_sampler
from image_shaders import DIMENSIONS, FORMATS, INVOCATIONS, ImageCase, texels_of
from numpy.typing import NDArray
from vulkan_images import KINDS
from vulkan_peer import Lavapipe

from pyaco import compile
from pyaco.emu import Device, TexelBuffer
from pyaco.emu.images import SampledImage

LEVELS = 3
_OURS = {"R16G16_SFLOAT": "R16G16_FLOAT"}
_HEAD = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(set=0, binding=0) buffer Out { uvec4 result[]; };
layout(set=0, binding=1) buffer In { vec4 given[]; };
uvec4 halves(f16vec4 v) { return uvec4(packFloat2x16(v.xy), packFloat2x16(v.zw), 0, 0); }
uvec4 halves(float16_t v) { return halves(f16vec4(v, v, v, v)); }
uvec4 shorts(u16vec4 v) { return uvec4(v); }
uvec4 shorts(i16vec4 v) { return uvec4(ivec4(v)); }
vec4 both(vec4 v) { return v + vec4(f16vec4(v)); }
uvec4 floats(vec4 v) { return floatBitsToUint(v); }
"""


@dataclass(frozen=True)
class HalfCase:
    """An operation.

    Attributes
    ----------
    dimension, format : str
        As of `image_shaders`; ``buffer`` is a buffer of texels.
    value : str
        Of a load or sample: what is computed from `image`; of others: the statement.
    kind : str
        What comes out: ``halves``, ``shorts``, ``floats``, ``store`` or ``atomic``.
    storage : bool
    state : str
        A sampler.
    """

    dimension: str
    format: str
    value: str
    kind: str = "halves"
    storage: bool = False
    state: str = "nearest_repeat"

    @property
    def descriptor_type(self) -> str:
        """Of the image."""
        if self.dimension == "buffer":
            return "storage_texel_buffer" if self.storage else "uniform_texel_buffer"
        return "storage_image" if self.storage else "combined_image_sampler"

    @property
    def layouts(self) -> list[list[dict[str, Any]]]:
        """The set's layout, as ``vulkan_worker`` takes it."""
        types = [KINDS["storage_buffer"], KINDS["storage_buffer"], KINDS[self.descriptor_type]]
        return [[{"number": n, "type": t, "count": 1, "samplers": [], "mutable": [], "variable": False} for n, t in enumerate(types)]]

    @property
    def source(self) -> str:
        """The shader in GLSL."""
        name = "Buffer" if self.dimension == "buffer" else DIMENSIONS[self.dimension][0]
        prefix = {"float": "", "int": "i", "uint": "u"}[FORMATS[self.format][2]]
        form = f", {FORMATS[self.format][1]}" if self.storage else ""
        kind = "image" if self.storage else "sampler"
        body = f"{self.value};" if self.kind in ("store", "atomic") else f"result[i] = {self.kind}({self.value});"
        return f"""{_HEAD}layout(set=0, binding=2{form}) uniform {prefix}{kind}{name} image;
void main() {{
    uint i = gl_GlobalInvocationID.x;
    vec4 a = given[4 * i], b = given[4 * i + 1], c = given[4 * i + 3];
    f16vec4 h = f16vec4(a), d = f16vec4(given[4 * i + 2]), g = f16vec4(c);
    i16vec4 w = i16vec4(b);
    float16_t l = h.w;
    int16_t n = w.w;
    {body}
}}
"""

    @cache  # noqa: B019
    def spirv(self) -> bytes:
        """Return the shader as glslangValidator compiles it."""
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "a.comp", Path(folder) / "a.spv"
            source.write_text(self.source)
            found = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.2", "-o", str(target), str(source)], capture_output=True,
                                   text=True)
            if found.returncode:
                raise ValueError(f"{found.stdout}\n{self.source}")
            return target.read_bytes()


class PreparedHalves:
    """A case with its texels, inputs, and lavapipe's results."""

    def __init__(self, case: HalfCase, lavapipe: Lavapipe) -> None:
        self.case = case
        random = np.random.default_rng(sum(map(ord, case.value + case.dimension + case.format)))
        shape = "1d" if case.dimension == "buffer" else case.dimension
        self.levels = 1 if case.storage or case.dimension == "buffer" else LEVELS
        element = Device("gfx1030").image(format=_OURS.get(case.format, case.format), width=4, height=4).surface.element_bytes
        self.texels = texels_of(ImageCase("fetch", shape, case.format), random, self.levels, element)
        self.inputs = _inputs(case, random, shape, self.levels)
        _, _, extent, layers = DIMENSIONS[shape]
        asked: dict[str, Any] = {"type": case.dimension, "format": FORMATS[case.format][0], "extent": extent, "layers": layers,
                                 "levels": self.texels, "storage": case.storage}
        if case.descriptor_type == "combined_image_sampler":
            asked["sampler"] = vulkan_sampler(SAMPLERS[case.state], FORMATS[case.format][2] != "float")
        buffers = {(0, 0): np.zeros((INVOCATIONS, 4), np.uint32), (0, 1): self.inputs}
        found, images = lavapipe.run_with_images(case.spirv(), (INVOCATIONS // 64, 1, 1), case.layouts, buffers, {(0, 2): asked})
        self.expected = found[0, 0]
        self.expected_texels = images[0, 2][0] if case.storage else b""

    def faults(self, target: str, engine: str) -> list[str]:
        """What differs on one of our engines, in words."""
        case = self.case
        device = Device(target, engine=engine, threads=1)
        out, given = device.zeros(INVOCATIONS * 16), device.buffer(self.inputs)
        name = _OURS.get(case.format, case.format)
        image: Any = None
        memory: Any = None
        bound: Any
        if case.dimension == "buffer":
            memory = device.buffer(np.frombuffer(self.texels[0], np.uint8).copy())
            bound = TexelBuffer(memory, name)
        else:
            image = self._image_on(device, name)
            view = image.view("2d_array" if case.storage and "cube" in case.dimension else case.dimension, storage=case.storage)
            bound = view if case.storage else SampledImage(view, our_sampler(SAMPLERS[case.state]))
        device.dispatch(compile(case.spirv(), target=target), groups=(INVOCATIONS // 64, 1, 1), buffers={(0, 0): out, (0, 1): given, (0, 2): bound})
        found, place = out.numpy().view(np.uint32).reshape(INVOCATIONS, 4), f"{target} {engine} {case}"
        if case.storage:
            raw = memory.numpy().tobytes() if memory is not None else np.ascontiguousarray(image.numpy()).tobytes()
            if self._wrong_texels(raw):
                return [f"{place}: texels"]
        bad = self._wrong(found)
        if not bad.any():
            return []
        row = int(np.flatnonzero(bad.any(1))[0])
        return [f"{place}: {int(bad.any(1).sum())} invocations, first {row} {self.inputs[row].tolist()}: {found[row].tolist()} not "
                f"{self.expected[row].tolist()}"]

    def _image_on(self, device: Device, name: str) -> Any:
        _, _, (width, height, depth), layers = DIMENSIONS[self.case.dimension]
        shape = {"depth": depth} if self.case.dimension == "3d" else {"cube": True} if self.case.dimension == "cube" else {"layers": layers}
        image = device.image(format=name, width=width, height=height, mips=self.levels, **shape)
        for mip, raw in enumerate(self.texels):
            level = image.numpy(mip)
            image.write(np.frombuffer(raw, level.dtype).reshape(level.shape), mip)
        return image

    def _wrong(self, found: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Halves may be rounded either way; weights are off by half of a 256th in each axis and between levels."""
        if self.case.kind not in ("halves", "floats"):
            return np.asarray(found != self.expected)
        kind = np.float16 if self.case.kind == "halves" else np.float32
        ours, theirs = (each.view(kind).astype(np.float64) for each in (found, self.expected))
        # llvmpipe's logarithm of derivatives is off by up to 0.044
        bound: Any = 4 * (4 / 512 + (0.044 if "Grad" in self.case.value else 0)) if self.case.state.startswith("linear") else 2.4e-7
        if self.case.kind == "halves" or "both" in self.case.value:
            bound = bound + np.maximum(np.abs(theirs) / 1024, 2.0**-24)
        with np.errstate(invalid="ignore"):
            return ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | (np.abs(ours - theirs) <= bound))

    def _wrong_texels(self, raw: bytes) -> bool:
        kind = "u1" if FORMATS[self.case.format][2] == "float" and "8" in self.case.format else "u2" if "16" in self.case.format else "u4"
        ours, theirs = (np.frombuffer(each, kind).astype(np.int64) for each in (raw, self.expected_texels))
        near = 1 if FORMATS[self.case.format][2] == "float" and "32" not in self.case.format else 0
        return bool((np.abs(ours - theirs) > near).any())


def _inputs(case: HalfCase, random: np.random.Generator, shape: str, levels: int) -> NDArray[np.float32]:
    """All exact as halves: places a quarter of a texel from its edges, levels near whole ones; whole texels, some outside; each stored once."""
    _, count, extent, layers = DIMENSIONS[shape]
    given = np.zeros((INVOCATIONS, 4, 4), np.float32)
    lengths = [extent[axis] for axis in range(3 if shape in ("3d", "cube") else 1 if shape.startswith("1d") else 2)]
    for axis, length in enumerate(lengths):
        given[:, 0, axis] = (random.integers(-length, 2 * length, INVOCATIONS) + random.choice([0.25, 0.75], INVOCATIONS)) / length
        given[:, 1, axis] = random.integers(-2, length + 2, INVOCATIONS)
    given[:, 3, :2] = random.choice([-1, 1], (INVOCATIONS, 2)) / 2 ** random.integers(2, 5, (INVOCATIONS, 2))
    if shape == "cube":
        given[:, 0, :3] = random.standard_normal((INVOCATIONS, 3)).astype(np.float16)
    if "array" in shape:
        given[:, 0, len(lengths)] = random.integers(0, layers, INVOCATIONS)
        given[:, 1, len(lengths)] = random.integers(0, layers, INVOCATIONS)
    if case.kind in ("store", "atomic"):
        order = random.permutation(int(np.prod(extent)) * layers)[:INVOCATIONS]
        order = np.concatenate([order, np.full(INVOCATIONS - len(order), 30000)])
        for axis, length in enumerate([*lengths, layers][:count]):
            given[:, 1, axis] = order % length if axis < count - 1 else order
            order = order // length
    given[:, 0, 3] = random.integers(0, levels, INVOCATIONS) + random.choice([-0.25, 0.25], INVOCATIONS)
    given[:, 1, 3] = random.integers(0, levels, INVOCATIONS)
    given[:, 2] = (random.uniform(-2, 2, (INVOCATIONS, 4)) if FORMATS[case.format][2] == "float" else
                   random.integers(-100 if FORMATS[case.format][2] == "int" else 0, 100, (INVOCATIONS, 4))).astype(np.float16)
    return given


def half_cases() -> list[HalfCase]:
    """Samples, fetches, loads, stores and atomics."""
    unorm, half, wide = "R8G8B8A8_UNORM", "R16G16B16A16_FLOAT", "R32G32B32A32_FLOAT"
    found = [
        HalfCase("2d", unorm, "f16vec4(textureLod(image, vec2(h.xy), float(l)))"),
        HalfCase("2d", half, "f16vec4(textureLod(image, vec2(h.xy), float(l)))", state="linear_mirror"),
        HalfCase("2d", wide, "f16vec4(textureLod(image, a.xy, a.w))", state="linear_edge"),
        HalfCase("2d", wide, "textureLod(image, vec2(h.xy), float(l))", "floats"),
        HalfCase("2d", half, "textureLod(image, vec2(h.xy), 0.0)", "floats"),
        HalfCase("2d", half, "textureLod(image, vec2(h.x, 0.125), 1.0)", "floats"),
        HalfCase("2d", half, "textureLod(image, vec2(h.x, 0.1), 0.0) * float(l)", "floats"),
        HalfCase("2d", half, "textureLod(image, vec2(h.x, a.y), 0.0) * float(l)", "floats"),
        HalfCase("2d", unorm, "f16vec4(texture(image, vec2(h.xy)))"),
        HalfCase("2d", unorm, "f16vec4(float16_t(textureLod(image, a.xy, 0.0).y))"),
        HalfCase("2d", unorm, "f16vec4(textureLod(image, a.xy, 0.0)).xyxy * float16_t(0.5)"),
        HalfCase("2d", unorm, "both(textureLod(image, a.xy, 0.0))", "floats"),
        HalfCase("2d", half, "f16vec4(textureGather(image, vec2(h.xy), 2))"),
        HalfCase("2d", half, "textureGather(image, vec2(h.xy), 1)", "floats"),
        HalfCase("2d", half, "f16vec4(textureGatherOffset(image, vec2(h.xy), ivec2(1, -2), 0))"),
        HalfCase("2d", half, "f16vec4(textureLodOffset(image, vec2(h.xy), float(l), ivec2(3, -4)))"),
        HalfCase("1d", half, "f16vec4(textureLod(image, float(h.x), float(l)))"),
        HalfCase("3d", half, "f16vec4(textureLod(image, vec3(h.xyz), float(l)))"),
        HalfCase("3d", half, "f16vec4(textureLod(image, vec3(h.xyz), 0.0))"),
        HalfCase("2d_array", half, "f16vec4(textureLod(image, vec3(h.xyz), float(l)))"),
        HalfCase("cube", half, "f16vec4(textureLod(image, vec3(h.xyz), float(l)))"),
    ]
    for dimension, swizzle in (("1d", "x"), ("2d", "xy"), ("3d", "xyz")):
        kind = "float" if dimension == "1d" else f"vec{len(swizzle)}"
        at = f"{kind}(h.{swizzle})"
        # along the axes: of others Vulkan leaves open how long they are
        narrow = {"1d": ("float(g.x)", "float(g.y)"), "2d": ("vec2(g.x, 0)", "vec2(0, g.y)"), "3d": ("vec3(g.x, 0, 0)", "vec3(0, g.y, 0)")}[dimension]
        coarse = [each.replace("g.", "c.") for each in narrow]
        found += [
            HalfCase(dimension, half, f"f16vec4(textureGrad(image, {at}, {', '.join(narrow)}))", state="linear_mirror"),
            HalfCase(dimension, half, f"textureGrad(image, a.{swizzle}, {', '.join(narrow)})", "floats", state="linear_mirror"),
            HalfCase(dimension, half, f"textureGrad(image, {at}, {', '.join(coarse)})", "floats", state="linear_mirror"),
            HalfCase(dimension, half, f"textureGrad(image, {at}, {narrow[0]}, {coarse[1]})", "floats", state="linear_mirror"),
        ]
    for dimension, whole in (("1d", "int(w.x)"), ("2d", "ivec2(w.xy)"), ("3d", "ivec3(w.xyz)"), ("2d_array", "ivec3(w.xyz)"),
                             ("1d_array", "ivec2(w.xy)")):  # fmt: skip
        found += [
            HalfCase(dimension, half, f"f16vec4(texelFetch(image, {whole}, int(n)))"),
            HalfCase(dimension, unorm, f"f16vec4(texelFetch(image, {whole}, 0))"),
            HalfCase(dimension, "R32_UINT", f"texelFetch(image, {whole}, int(n))", "uvec4"),
            HalfCase(dimension, half, f"f16vec4(imageLoad(image, {whole}))", storage=True),
            HalfCase(dimension, "R32_FLOAT", f"f16vec4(imageLoad(image, {whole}))", storage=True),
            HalfCase(dimension, "R16_UINT", f"u16vec4(imageLoad(image, {whole}))", "shorts", storage=True),
            HalfCase(dimension, "R8G8B8A8_SINT", f"i16vec4(imageLoad(image, {whole}))", "shorts", storage=True),
            HalfCase(dimension, half, f"imageStore(image, {whole}, vec4(d))", "store", storage=True),
            HalfCase(dimension, unorm, f"imageStore(image, {whole}, vec4(d.xy, 0, 1))", "store", storage=True),
            HalfCase(dimension, "R32_FLOAT", f"imageStore(image, {whole}, vec4(d))", "store", storage=True),
            HalfCase(dimension, "R32_SINT", f"imageStore(image, {whole}, ivec4(i16vec4(d)))", "store", storage=True),
            HalfCase(dimension, "R32_UINT", f"imageStore(image, {whole}, uvec4(u16vec4(d)))", "store", storage=True),
            HalfCase(dimension, "R8G8B8A8_SINT", f"imageStore(image, {whole}, ivec4(i16vec4(d)))", "store", storage=True),
            HalfCase(dimension, "R32_UINT", f"imageAtomicAdd(image, {whole}, uint(d.x))", "atomic", storage=True),
        ]
    found += [
        HalfCase("2d", half, "f16vec4(imageLoad(image, ivec2(w.x, 3)))", storage=True),
        HalfCase("2d", half, "f16vec4(imageLoad(image, ivec2(b.xy)))", storage=True),
        HalfCase("2d", unorm, "imageStore(image, ivec2(b.xy), vec4(d.x, 0.25, 0.1, 1))", "store", storage=True),
        HalfCase("buffer", half, "f16vec4(texelFetch(image, int(w.x)))"),
        HalfCase("buffer", half, "f16vec4(imageLoad(image, int(w.x)))", storage=True),
        HalfCase("buffer", half, "imageStore(image, int(w.x), vec4(d))", "store", storage=True),
    ]
    return found
