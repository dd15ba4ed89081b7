"""Compute shaders with one image operation, by operation, class of format and dimension; their texels and coordinates.

Each invocation reads four vec4 from binding 1 and writes a uvec4 to binding 0; the image is binding 2.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vulkan_images import KINDS

from pyaco.texture_files.numbers import vulkan_numbers

INVOCATIONS = 256
#: GLSL's name, components of a coordinate of texels, extent, layers.
DIMENSIONS: dict[str, tuple[str, int, tuple[int, int, int], int]] = {
    "1d": ("1D", 1, (32, 1, 1), 1), "2d": ("2D", 2, (32, 16, 1), 1), "3d": ("3D", 3, (16, 8, 8), 1), "cube": ("Cube", 3, (16, 16, 1), 6),
    "1d_array": ("1DArray", 2, (32, 1, 1), 3), "2d_array": ("2DArray", 3, (32, 16, 1), 5), "cube_array": ("CubeArray", 4, (16, 16, 1), 12),
}
#: Images with several samples.
SAMPLES_OF_TEXEL = 4
ALL_DIMENSIONS = DIMENSIONS | {"2d_ms": ("2DMS", 2, (32, 16, 1), 1), "2d_ms_array": ("2DMSArray", 3, (16, 8, 1), 3)}
#: By the name in this package: VkFormat, GLSL's layout, and the kind of its components.
FORMATS: dict[str, tuple[int, str, str]] = {
    "R8G8B8A8_UNORM": (37, "rgba8", "float"), "R8G8B8A8_SNORM": (38, "rgba8_snorm", "float"), "R8G8B8A8_UINT": (41, "rgba8ui", "uint"),
    "R8G8B8A8_SINT": (42, "rgba8i", "int"), "R8G8B8A8_SRGB": (43, "", "float"), "B8G8R8A8_UNORM": (44, "", "float"),
    "R8_UNORM": (9, "r8", "float"), "R8G8_UINT": (20, "rg8ui", "uint"), "R16_UINT": (74, "r16ui", "uint"), "R16_SNORM": (71, "r16_snorm", "float"),
    "R16G16_SFLOAT": (83, "rg16f", "float"), "R16G16B16A16_UNORM": (91, "rgba16", "float"), "R16G16B16A16_FLOAT": (97, "rgba16f", "float"),
    "R32_UINT": (98, "r32ui", "uint"), "R32_SINT": (99, "r32i", "int"), "R32_FLOAT": (100, "r32f", "float"), "R32G32_UINT": (101, "rg32ui", "uint"),
    "R32G32B32A32_FLOAT": (109, "rgba32f", "float"), "R32G32B32A32_UINT": (107, "rgba32ui", "uint"), "B5G6R5_UNORM": (4, "", "float"),
    "R10G10B10A2_UNORM": (64, "rgb10_a2", "float"), "R11G11B10_FLOAT": (122, "r11f_g11f_b10f", "float"), "R9G9B9E5_FLOAT": (123, "", "float"),
}
#: Those that `image_cases.cases` crosses with operations; the others are `image_matrix`'s.
SOME_FORMATS = tuple(FORMATS)
_GLSL_KINDS = {"UNORM": ("float", ""), "SNORM": ("float", "_snorm"), "UINT": ("uint", "ui"), "SINT": ("int", "i"), "FLOAT": ("float", "f")}
for _name, _number in vulkan_numbers().items():
    _match = re.fullmatch(r"(R(?:8|16|32))(?:G\d+)?(B\d+A\d+)?_(UNORM|SNORM|UINT|SINT|FLOAT)", _name)
    if _match and _name != "R16G16_FLOAT":
        _count = _name.split("_")[0].count("G") + 1 + 2 * bool(_match[2])
        _kind, _suffix = _GLSL_KINDS[_match[3]]
        FORMATS.setdefault(_name, (_number, f"{'rgba'[:_count]}{_match[1][1:]}{_suffix}", _kind))
FORMATS |= {"B8G8R8A8_SRGB": (50, "", "float"), "R10G10B10A2_UINT": (68, "rgb10_a2ui", "uint"), "Z16_UNORM": (124, "", "float"),
            "Z32_FLOAT": (126, "", "float")}  # fmt: skip
_TO_BITS = {"float": "floatBitsToUint({})", "int": "uvec4({})", "uint": "{}"}
_FROM_BITS = {"float": "uintBitsToFloat({})", "int": "ivec4({})", "uint": "{}"}
_PREFIX = {"float": "", "int": "i", "uint": "u"}
_VECTOR = ("{}", "{}.x", "{}.xy", "{}.xyz", "{}")
#: What each operation computes, from coordinates `a` and parameters `b`, `p` and `q`.
SAMPLES = {
    "lod": "textureLod(image, {at}, b.x)", "grad": "textureGrad(image, {at}, {dx}, {dy})", "fetch": "texelFetch(image, {whole}, int(b.y))",
    "lod_offset": "textureLodOffset(image, {at}, b.x, {offset})", "gather": "textureGather(image, {at}, 1)",
    "grad_offset": "textureGradOffset(image, {at}, {dx}, {dy}, {offset})", "gather_offset": "textureGatherOffset(image, {at}, ivec2(3, -4), 2)",
    "gather_offsets": "textureGatherOffsets(image, {at}, ivec2[4](ivec2(1, 2), ivec2(-3, 0), ivec2(0), ivec2(7, -8)), 0)",
    "compare_lod": "vec4(textureLod(image, {compared}, b.x))", "compare_grad": "vec4(textureGrad(image, {compared}, {dx}, {dy}))",
    "compare_gather": "textureGather(image, {at}, b.z)", "unnormalized": "textureLod(image, {texels}, 0.0)",
    "projective": "textureProjLod(image, vec3(a.xy * 4, 4), b.x)", "projective_grad": "textureProjGrad(image, vec3(a.xy * 4, 4), p.xy, q.xy)",
}
SAMPLES |= {"bias": "texture(image, {at}, b.x)", "fetch_sample": SAMPLES["fetch"]}
#: What may stand before an operation: results in 16 bits, a least level of detail that the shader gives, and whether texels have memory.
PREFIXES = ("half_", "clamped_", "sparse_")
_EXTENSIONS = {"half_": "GL_EXT_shader_explicit_arithmetic_types", "clamped_": "GL_ARB_sparse_texture_clamp", "sparse_": "GL_ARB_sparse_texture2",
               "bias": "GL_NV_compute_shader_derivatives"}  # fmt: skip


@dataclass(frozen=True)
class ImageCase:
    """An operation on an image.

    Attributes
    ----------
    operation : str
        One of `SAMPLES`, ``size``, ``image_size``, ``levels``, ``load``, ``store``, ``atomic_add`` and so on.
    dimension, format : str
    """

    operation: str
    dimension: str
    format: str

    @property
    def base(self) -> str:
        """The operation without what stands before it."""
        return next((self.operation.removeprefix(prefix) for prefix in PREFIXES if self.operation.startswith(prefix)), self.operation)

    @property
    def storage(self) -> bool:
        """Whether the image is a storage image."""
        return self.base in ("load", "store", "image_size") or self.operation.startswith("atomic")

    @property
    def is_query(self) -> bool:
        """Whether it asks for facts of the image, which are integers."""
        return self.operation in ("size", "image_size", "levels")

    @property
    def kind(self) -> str:
        """float, int or uint."""
        return FORMATS[self.format][2]

    @property
    def layouts(self) -> list[list[dict[str, Any]]]:
        """The set's layout, as ``vulkan_worker`` takes it."""
        types = [KINDS["storage_buffer"], KINDS["storage_buffer"], KINDS["storage_image" if self.storage else "combined_image_sampler"]]
        return [[{"number": n, "type": t, "count": 1, "samplers": [], "mutable": [], "variable": False} for n, t in enumerate(types)]]

    @property
    def source(self) -> str:
        """The shader in GLSL."""
        name, count, _, _ = ALL_DIMENSIONS[self.dimension]
        spatial = {"1d": 1, "1d_array": 1, "3d": 3, "cube": 3, "cube_array": 3}.get(self.dimension, 2)
        integers = min(count, 3)                            # of a storage image faces count as layers
        whole = "int(a.x)" if count == 1 else f"ivec{integers}({_VECTOR[integers].format('a')})"
        names = {"at": _VECTOR[count].format("a"), "whole": whole, "dx": _VECTOR[spatial].format("p"), "dy": _VECTOR[spatial].format("q"),
                 "compared": "vec3(a.x, 0, b.z)" if count == 1 else f"vec{count + 1}({_VECTOR[count].format('a')}, b.z)",
                 "texels": "a.x * textureSize(image, 0)" if count == 1 else "a.xy * vec2(textureSize(image, 0))",
                 "offset": "1" if spatial == 1 else f"ivec{spatial}(1, -2{', 1' if spatial == 3 else ''})"}
        prefix, form = _PREFIX[self.kind], FORMATS[self.format][1]
        if self.storage:
            declared = f"layout(set=0, binding=2, {form}) uniform {prefix}image{name} image;"
        else:
            shadow = "Shadow" if self.operation.startswith("compare") else ""
            declared = f"layout(set=0, binding=2) uniform {prefix}sampler{name}{shadow} image;"
        to_bits = "{}" if self.is_query else _TO_BITS[self.kind]
        body = f"result[i] = {to_bits.format(self._value(names))};"
        if self.operation == "store":
            body = f"imageStore(image, {whole}, {_FROM_BITS[self.kind].format('floatBitsToUint(b)')});"
        if self.operation.startswith("sparse_"):
            body = f"{prefix}vec4 texel; int code = 0; {body}"
        extensions = "".join(f"#extension {name} : require\n" for word, name in _EXTENSIONS.items() if self.operation.startswith(word))
        group = "layout(derivative_group_linearNV) in;" if self.operation == "bias" else ""
        return f"""#version 450
{extensions}layout(local_size_x = 64) in;
{group}
layout(set=0, binding=0) buffer Out {{ uvec4 result[]; }};
layout(set=0, binding=1) buffer In {{ vec4 given[]; }};
{declared}
void main() {{
    uint i = gl_GlobalInvocationID.x;
    vec4 a = given[4 * i], b = given[4 * i + 1], p = given[4 * i + 2], q = given[4 * i + 3];
    {body}
}}
"""

    def _value(self, names: dict[str, str]) -> str:
        if self.operation.startswith("half_"):
            return f"vec4(f16vec4({SAMPLES[self.base].format(**names)}))"
        if self.operation.startswith("clamped_"):
            return re.sub(r"texture(\w+)\((.*)\)", r"texture\1ClampARB(\2, b.w)", SAMPLES[self.base].format(**names))
        if self.operation.startswith("sparse_"):
            return self._sparse(names)
        if self.operation in SAMPLES:
            return SAMPLES[self.operation].format(**names)
        if self.operation == "levels":
            return "uvec4(textureQueryLevels(image), 0, 0, 0)"
        if self.operation in ("size", "image_size"):
            call = "imageSize(image)" if self.operation == "image_size" else "textureSize(image, int(b.y))"
            count = 2 if self.dimension == "cube" else 3 if self.dimension == "cube_array" else DIMENSIONS[self.dimension][1]
            vector = "uvec4({}, 0, 0, 0)" if count == 1 else f"uvec4({{}}{', 0' * (4 - count)})"
            return vector.format(call)
        if self.operation == "load":
            return f"imageLoad(image, {names['whole']})"
        value = f"{self.kind}(floatBitsToUint(b.z))"
        call = {"atomic_swap": "Exchange"}.get(self.operation, self.operation.removeprefix("atomic_").capitalize())
        if self.operation == "atomic_compare":
            return f"{_PREFIX[self.kind]}vec4(imageAtomicCompSwap(image, {names['whole']}, {self.kind}(floatBitsToUint(b.w)), {value}))"
        return f"{_PREFIX[self.kind]}vec4(imageAtomic{call}(image, {names['whole']}, {value}))"

    def _sparse(self, names: dict[str, str]) -> str:
        """A texel where all of it has memory, by operations that say so; else what is no texel."""
        call = f"imageLoad(image, {names['whole']})" if self.base == "load" else SAMPLES[self.base].format(**names)
        name, arguments = call[: call.index("(")], call[call.index("(") + 1 : -1]
        if self.base == "gather":
            arguments = arguments.replace(", 1", ", texel, 1")
        else:
            arguments += ", texel"
        sparse = f"sparse{name[0].upper()}{name[1:]}ARB({arguments})"
        return f"(code = {sparse}, sparseTexelsResidentARB(code) ? texel : {_PREFIX[self.kind]}vec4(77))"

    @cache  # noqa: B019
    def spirv(self) -> bytes:
        """Return the shader as glslangValidator compiles it."""
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "a.comp", Path(folder) / "a.spv"
            source.write_text(self.source)
            found = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(target), str(source)], capture_output=True,
                                   text=True)
            if found.returncode:
                raise ValueError(f"{found.stdout}\n{self.source}")
            return target.read_bytes()


def inputs_of(case: ImageCase, random: np.random.Generator, levels: int) -> NDArray[np.float32]:
    """Coordinates and parameters of each invocation; places in texels keep away from the edges of texels."""
    _, count, extent, layers = ALL_DIMENSIONS[case.dimension]
    cubes = "cube" in case.dimension
    given = np.zeros((INVOCATIONS, 4, 4), np.float32)
    size = [*extent[: 3 if case.dimension == "3d" else 1 if case.dimension.startswith("1d") else 2]]
    if case.base in SAMPLES and not case.base.startswith("fetch"):
        for axis, length in enumerate(size):
            whole = random.integers(-length, 2 * length, INVOCATIONS)
            # nor near their centres, where gathers choose others
            inside = random.uniform(0.1, 0.4, INVOCATIONS) + random.integers(0, 2, INVOCATIONS) / 2
            given[:, 0, axis] = (whole + inside) / length
        if cubes:
            given[:, 0, :3] = random.standard_normal((INVOCATIONS, 3))
        if "array" in case.dimension:
            given[:, 0, 3 if cubes else len(size)] = random.integers(-1, layers // (6 if cubes else 1) + 1, INVOCATIONS)
        # nor half-way between two levels
        inside = random.uniform(0.02, 0.48, INVOCATIONS) + random.integers(0, 2, INVOCATIONS) / 2
        given[:, 1, 0] = random.integers(-1, levels, INVOCATIONS) + inside
        # along the axes: of others Vulkan leaves open how long they are
        given[:, 2, 0], given[:, 3, 1] = random.standard_normal((2, INVOCATIONS)) / 8
    else:
        order = random.permutation(int(np.prod(size)) * layers)[:INVOCATIONS]
        order = np.resize(order, INVOCATIONS) if not case.base.startswith(("store", "atomic")) else np.concatenate(
            [order, np.full(INVOCATIONS - len(order), 1 << 20)])
        for axis, length in enumerate([*size, layers][:count]):
            given[:, 0, axis] = order % length if axis < count - 1 else order
            order = order // length
        if case.base in ("fetch", "fetch_sample"):
            given[:, 1, 1] = random.integers(0, SAMPLES_OF_TEXEL if case.base == "fetch_sample" else levels, INVOCATIONS)
        elif case.operation == "size":
            given[:, 1, 1] = np.arange(INVOCATIONS) // 64 % levels      # lavapipe asks for the level of a vector's first invocation
    if case.operation.startswith("compare"):
        given[:, 1, 2] = random.uniform(0, 1, INVOCATIONS)
    if case.operation.startswith("clamped_"):
        given[:, 1, 3] = random.uniform(0, 2, INVOCATIONS)
    if case.operation == "bias":
        # the invocations of a quad stand where its derivatives lead
        number, first = np.arange(INVOCATIONS), np.arange(INVOCATIONS) & ~3
        steps = given[first, 2] * (number & 1)[:, None] + given[first, 3] * (number >> 1 & 1)[:, None]
        given[:, 0, : len(size)] = given[first, 0, : len(size)] + steps[:, : len(size)]
    bits = random.integers(0, 1 << 30, (INVOCATIONS, 4), dtype=np.uint32)
    if case.operation == "store" and case.kind == "float":
        given[:, 1] = random.uniform(-1.25, 1.25, (INVOCATIONS, 4))
    elif case.storage:
        given[:, 1] = (bits & (0x3FFFFFFF if case.operation != "store" or "32" in case.format else 0x7F)).view(np.float32)
    return given


def texels_of(case: ImageCase, random: np.random.Generator, levels: int, element: int) -> list[bytes]:
    """Random elements of every level; floats between -2 and 2."""
    _, _, extent, layers = ALL_DIMENSIONS[case.dimension]
    found = []
    for level in range(levels):
        count = int(np.prod([max(length >> level, 1) for length in extent])) * layers * (SAMPLES_OF_TEXEL if "ms" in case.dimension else 1)
        if case.format.endswith("FLOAT") and case.format[1:3] in ("16", "32"):
            kind = "f2" if case.format[1:3] == "16" else "f4"
            found.append(random.uniform(-2, 2, count * element // int(kind[1])).astype(kind).tobytes())
        elif case.format == "Z32_FLOAT":
            found.append(random.uniform(0, 1, count).astype("f4").tobytes())
        elif case.format == "R11G11B10_FLOAT":
            small = random.integers(0, 1 << 32, count, dtype=np.uint32)
            found.append((small & 0x1DFBBF7F).tobytes())    # no exponent of 31 or close to it
        else:
            found.append(random.integers(0, 256, count * element, dtype=np.uint8).tobytes())
    return found
