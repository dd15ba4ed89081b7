"""Conversions to sample with, their planes, and shaders that do by hand what the Vulkan specification says of them."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import vulkan as vk
from numpy.typing import NDArray

from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.descriptors.types import DescriptorType
from pyaco.descriptors.ycbcr import ChromaFilter, ChromaLocation, YcbcrConversion, YcbcrModel, YcbcrRange
from pyaco.emu import Device
from pyaco.emu.images import ImagePlanes

INVOCATIONS, WIDTH, HEIGHT = 256, 32, 16
CLAMP_TO_EDGE = 2
#: VkFormat of a plane, and the type of its channels.
PLANES: dict[str, tuple[int, Any, int]] = {
    "R8_UNORM": (9, np.uint8, 1), "R8G8_UNORM": (16, np.uint8, 2), "R16_UNORM": (70, np.uint16, 1), "R16G16_UNORM": (77, np.uint16, 2),
    "R8G8B8A8_UNORM": (37, np.uint8, 4),
}
SHADER = """#version 450
layout(local_size_x = 64) in;
layout(set=0, binding=0) buffer Out {{ vec4 result[]; }};
layout(set=0, binding=1) buffer In {{ vec4 given[]; }};
{declarations}
void main() {{
    uint i = gl_GlobalInvocationID.x;
    vec2 a = given[i].xy;
    {body}
}}
"""
OWN = SHADER.format(declarations="layout(set=0, binding=2) uniform sampler2D image;", body="result[i] = textureLod(image, a, 0);")
#: The sections "Sampler Y'CBCR Range Expansion" and "Sampler Y'CBCR Model Conversion".
EXPANSION = {
    "full": "vec4(raw.r - {half}/{last}, raw.g, raw.b - {half}/{last}, raw.a)",
    "narrow": "vec4((raw.r * {last} - 128.0*{unit}) / (224.0*{unit}), (raw.g * {last} - 16.0*{unit}) / (219.0*{unit}), "
              "(raw.b * {last} - 128.0*{unit}) / (224.0*{unit}), raw.a)",
}
MODELS = {
    "rgb_identity": "raw", "ycbcr_identity": "c",
    "709": "vec4(c.g + 1.5748*c.r, c.g - 0.13397432/0.7152*c.b - 0.33480248/0.7152*c.r, c.g + 1.8556*c.b, c.a)",
    "601": "vec4(c.g + 1.402*c.r, c.g - 0.202008/0.587*c.b - 0.419198/0.587*c.r, c.g + 1.772*c.b, c.a)",
    "2020": "vec4(c.g + 1.4746*c.r, c.g - 0.11156702/0.6780*c.b - 0.38737742/0.6780*c.r, c.g + 1.8814*c.b, c.a)",
}


@cache
def spirv(source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        text, target = Path(folder) / "a.comp", Path(folder) / "a.spv"
        text.write_text(source)
        done = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(target), str(text)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + source
        return target.read_bytes()


@dataclass(frozen=True)
class YcbcrCase:
    """A conversion, and whether brightness is interpolated."""

    conversion: YcbcrConversion
    linear: bool = True

    @property
    def bits(self) -> int:
        name = self.conversion.format
        return 8 if "8" in name else 10 if "10X6" in name else 12 if "12X4" in name else 16

    @property
    def sampler(self) -> Sampler:
        return Sampler((CLAMP_TO_EDGE,) * 3, int(self.linear), int(self.linear), 1, truncate=not self.linear)

    def layout(self, gfx_level: int, keep_samplers: bool = False) -> PipelineLayout:
        """The pipeline's layout: results, coordinates, the image with its sampler."""
        return PipelineLayout({0: SetLayout([
            Binding(0, DescriptorType.STORAGE_BUFFER), Binding(1, DescriptorType.STORAGE_BUFFER),
            Binding(2, DescriptorType.COMBINED_IMAGE_SAMPLER, samplers=(sampler_descriptor(self.sampler, gfx_level),),
                    conversion=self.conversion)], keep_samplers=keep_samplers)})

    def texels(self) -> list[NDArray[Any]]:
        """Random texels of the planes: (height, width, channels)."""
        random = np.random.default_rng(sum(map(ord, self.conversion.format)))
        unused = 16 - self.bits if self.bits in (10, 12) else 0
        return [(random.integers(0, 1 << 8 * np.dtype(kind).itemsize, (HEIGHT // plane.height_divisor, WIDTH // plane.width_divisor, channels))
                 >> unused << unused).astype(kind)
                for plane in self.conversion.planes for _, kind, channels in [PLANES[plane.format]]]

    def coordinates(self) -> NDArray[np.float32]:
        """Coordinates around the image, away from the edges of the texels of all planes and from their middles."""
        random = np.random.default_rng(7)
        size = np.array([WIDTH, HEIGHT])
        whole = random.integers(-3, size + 3, (INVOCATIONS, 2)) + random.choice([0.0, 0.5], (INVOCATIONS, 2))
        found = np.zeros((INVOCATIONS, 4), np.float32)
        found[:, :2] = (whole + random.uniform(0.05, 0.45, (INVOCATIONS, 2))) / size
        return found

    def planes_on(self, device: Device) -> ImagePlanes:
        images = []
        for plane, texels in zip(self.conversion.planes, self.texels(), strict=True):
            image = device.image(format=plane.format, width=texels.shape[1], height=texels.shape[0])
            image.write(texels.reshape(image.numpy().shape))
            images.append(image.view())
        return ImagePlanes(images)

    def bound(self) -> float:
        """How far a result may be from the exact one: brightness and chroma are off by half of a 256th of a texel in each axis."""
        return 1e-4 + max(sum(abs(factor) for factor in row[:4]) for row in self.conversion.rows()) * (2 / 512 if self.linear else 0) * 1.02 + (
            4 / 512 if not self.linear and self.filters_chroma() else 0)

    def filters_chroma(self) -> bool:
        return any(self.conversion.reduced) and self.conversion.chroma_filter == ChromaFilter.LINEAR and not self.conversion.explicit_reconstruction

    # ------------------------------------------------------------------------------------------------- by hand
    def by_hand(self) -> str:
        """A shader that samples the planes, each an image of its own, and computes."""
        count = len(self.conversion.planes)
        declarations = "".join(f"layout(set=0, binding={2 + k}) uniform sampler2D p{k};\n" for k in range(count))
        scale = f"(65535.0 / {((1 << self.bits) - 1) << 16 - self.bits}.0)" if self.bits in (10, 12) else "1.0"
        lines = [f"vec4 s{k} = {self._plane(k)} * {scale};" for k in range(count)]
        components = {1: "s0", 2: "vec4(s1.g, s0.r, s1.r, 1)", 3: "vec4(s2.r, s0.r, s1.r, 1)"}[count]
        swizzled = ", ".join(f"n.{'rgba'[entry]}" if entry < 4 else f"{entry - 4}.0" for entry in self.conversion.swizzle)
        lines += [f"vec4 n = {components};", f"vec4 raw = vec4({swizzled});"]
        names = {"half": f"{1 << self.bits - 1}.0", "last": f"{(1 << self.bits) - 1}.0", "unit": f"{1 << self.bits - 8}.0"}
        lines += [f"vec4 c = {EXPANSION[self.conversion.range].format(**names)};", f"result[i] = {MODELS[self.conversion.model]};"]
        if self.conversion.explicit_reconstruction:
            declarations += "".join(self._texel(k) + self._filter(k) for k in range(1, count))
        return SHADER.format(declarations=declarations, body="\n    ".join(lines))

    def _plane(self, k: int) -> str:
        reduced = self.conversion.reduced
        if k == 0 or not any(reduced):
            return f"textureLod(p{k}, a, 0)"
        if self.conversion.explicit_reconstruction:
            return f"filtered{k}(a * vec2({WIDTH}, {HEIGHT}))"
        moves = [0.5 * (each == ChromaLocation.COSITED_EVEN and less)
                 for each, less in zip(self.conversion.chroma_location, reduced, strict=True)]
        axes = [f"{0.5 if less else 1.0} * (a.{axis} * {size}.0 + {move}) / {size // (2 if less else 1)}.0"
                for axis, size, move, less in zip("xy", (WIDTH, HEIGHT), moves, reduced, strict=True)]
        return f"textureLod(p{k}, vec2({', '.join(axes)}), 0)"

    def _texel(self, k: int) -> str:
        """The section "Explicit Reconstruction": chroma at a whole texel of brightness."""
        lines = []
        for axis, less, location in zip("xy", self.conversion.reduced, self.conversion.chroma_location, strict=True):
            first, second, weight = f"t.{axis}", f"t.{axis}", "0.0"
            if less:
                first, second = f"t.{axis} / 2", f"t.{axis} / 2"
                if self.conversion.chroma_filter == ChromaFilter.LINEAR and location == ChromaLocation.COSITED_EVEN:
                    second, weight = f"t.{axis} / 2 + t.{axis} % 2", f"(t.{axis} % 2 == 1 ? 0.5 : 0.0)"
                elif self.conversion.chroma_filter == ChromaFilter.LINEAR:
                    second, weight = f"(t.{axis} % 2 == 1 ? t.{axis} / 2 + 1 : t.{axis} / 2 - 1)", "0.25"
            lines.append(f"int {axis}0 = {first}, {axis}1 = {second}; float w{axis} = {weight};")
        last = f"ivec2({', '.join(str(size // (2 if less else 1) - 1) for size, less in zip((WIDTH, HEIGHT), self.conversion.reduced, strict=True))})"
        four = [f"texelFetch(p{k}, clamp(ivec2(x{n & 1}, y{n >> 1}), ivec2(0), {last}), 0)" for n in range(4)]
        return (f"vec4 texel{k}(ivec2 t) {{\n    t = clamp(t, ivec2(0), ivec2({WIDTH - 1}, {HEIGHT - 1}));\n    " + "\n    ".join(lines)
                + f"\n    return mix(mix({four[0]}, {four[1]}, wx), mix({four[2]}, {four[3]}, wx), wy);\n}}\n")

    def _filter(self, k: int) -> str:
        if not self.linear:
            return f"vec4 filtered{k}(vec2 u) {{ return texel{k}(ivec2(floor(u))); }}\n"
        return (f"vec4 filtered{k}(vec2 u) {{\n    ivec2 t = ivec2(floor(u - 0.5)); vec2 w = u - 0.5 - floor(u - 0.5);\n    return mix("
                f"mix(texel{k}(t), texel{k}(t + ivec2(1, 0)), w.x), mix(texel{k}(t + ivec2(0, 1)), texel{k}(t + ivec2(1, 1)), w.x), w.y);\n}}\n")


def radv_has(case: YcbcrCase) -> bool:
    """Whether RADV of Mesa 22.3 computes the same: it filters chroma as brightness, reconstructs implicitly, has no formats of two planes without
    reduction, and takes low bits that texels do not use for digits.
    """
    conversion = case.conversion
    known = "X" not in conversion.format and "2PLANE_444" not in conversion.format and len(conversion.planes) > 1
    return known and not conversion.explicit_reconstruction and (conversion.chroma_filter == ChromaFilter.LINEAR) == case.linear


def radv_sampler(case: YcbcrCase) -> dict[str, Any]:
    """The sampler with its conversion as ``vulkan_images.sampler`` takes it."""
    conversion = case.conversion
    fields: dict[str, Any] = dict.fromkeys(("magFilter", "minFilter"), int(case.linear))
    fields |= dict.fromkeys(("addressModeU", "addressModeV", "addressModeW"), 2)
    order = [entry + 3 if entry < 4 else entry - 3 for entry in conversion.swizzle]     # VkComponentSwizzle: 1 zero, 2 one, 3 to 6 the components
    return fields | {"maxLod": 15.0, "ycbcr": {
        "format": getattr(vk, f"VK_FORMAT_{conversion.format}"), "components": order, "ycbcrModel": list(YcbcrModel).index(conversion.model),
        "ycbcrRange": list(YcbcrRange).index(conversion.range), "chromaFilter": int(conversion.chroma_filter == ChromaFilter.LINEAR),
        "xChromaOffset": list(ChromaLocation).index(conversion.chroma_location[0]),
        "yChromaOffset": list(ChromaLocation).index(conversion.chroma_location[1]), "forceExplicitReconstruction": 0}}


def cases() -> list[YcbcrCase]:
    """Every format, every model and range, every place and filter of chroma, and swizzles."""
    even, middle = ChromaLocation.COSITED_EVEN, ChromaLocation.MIDPOINT
    formats = ["G8_B8_R8_3PLANE_420_UNORM", "G8_B8R8_2PLANE_420_UNORM", "G8_B8_R8_3PLANE_422_UNORM", "G8_B8R8_2PLANE_422_UNORM",
               "G8_B8_R8_3PLANE_444_UNORM", "G8_B8R8_2PLANE_444_UNORM", "G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16",
               "G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16", "G16_B16R16_2PLANE_444_UNORM", "G16_B16_R16_3PLANE_420_UNORM", "R8G8B8A8_UNORM"]
    found = [YcbcrCase(YcbcrConversion(name, YcbcrModel.YCBCR_709, extent), linear)
             for name in formats for extent in YcbcrRange for linear in (False, True)]
    found += [YcbcrCase(YcbcrConversion(formats[1], model, extent)) for model in YcbcrModel for extent in YcbcrRange]
    for name in (formats[0], formats[3]):
        for location in ((even, even), (even, middle), (middle, even), (middle, middle)):
            found += [YcbcrCase(YcbcrConversion(name, YcbcrModel.YCBCR_601, YcbcrRange.NARROW, location, filtered, explicit_reconstruction=explicit),
                                linear) for filtered in ChromaFilter for explicit in (False, True) for linear in (False, True)]
    found += [YcbcrCase(YcbcrConversion(formats[1], YcbcrModel.YCBCR_2020, swizzle=swizzle))
              for swizzle in ((2, 1, 0, 3), (0, 4, 5, 1), (5, 2, 0, 4))]
    return list(dict.fromkeys(found))
