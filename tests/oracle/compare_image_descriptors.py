"""Compare descriptors of random samplers and texel buffers with those that RADV writes on its null winsys.

``python tests/oracle/compare_image_descriptors.py [COUNT [SEED]]`` prints one JSON object: for each chip how many of each kind were tried, and
how many are equal in every dword. The null winsys of Mesa 22.3 cannot make images: descriptors of their views are compared with recorded ones
(``replay_descriptors.py``). What a sampler asks for is turned into hardware's numbers as Mesa's ``radv_init_sampler`` does.
"""

from __future__ import annotations

import json
import math
import random
import re
import struct
import sys
from functools import cache
from typing import Any

import vulkan as vk
from compare_descriptor_layouts import MARK, as_request
from vulkan_peer import FAMILIES, Worker

from pyaco.descriptors.buffer import texel_buffer
from pyaco.descriptors.layout import Binding
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.descriptors.types import DescriptorType
from pyaco.errors import InputError
from pyaco.formats import PixelFormat, pixel_format

TARGETS = {"gfx803": 80, "gfx900": 90, "gfx1010": 100, "gfx1030": 103, "gfx1100": 110}
#: SQ_TEX_CLAMP by VkSamplerAddressMode, SQ_TEX_BORDER_COLOR by VkBorderColor.
WRAPS, BORDERS = (0, 1, 2, 6, 3), (0, 0, 1, 1, 2, 2)
CLAMP_TO_BORDER = 3
TEXEL_BUFFER = 0x8 | 0x10                  # VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT, ..._STORAGE_TEXEL_BUFFER_BIT
_REVERSED = re.compile(r"^((?:[RGBAEX]\d+)+)_(\w+?)_PACK\d+$")
_SPECIAL = {
    "D16_UNORM": "Z16_UNORM", "D32_SFLOAT": "Z32_FLOAT", "D32_SFLOAT_S8_UINT": "Z32_FLOAT_S8X24_UINT", "D24_UNORM_S8_UINT": "Z24_UNORM_S8_UINT",
    "D16_UNORM_S8_UINT": "Z16_UNORM_S8_UINT", "X8_D24_UNORM_PACK32": "Z24X8_UNORM", "B10G11R11_UFLOAT_PACK32": "R11G11B10_FLOAT",
    "E5B9G9R9_UFLOAT_PACK32": "R9G9B9E5_FLOAT", "BC1_RGB_UNORM_BLOCK": "DXT1_RGB", "BC1_RGB_SRGB_BLOCK": "DXT1_SRGB",
    "BC1_RGBA_UNORM_BLOCK": "DXT1_RGBA", "BC1_RGBA_SRGB_BLOCK": "DXT1_SRGBA", "BC2_UNORM_BLOCK": "DXT3_RGBA", "BC2_SRGB_BLOCK": "DXT3_SRGBA",
    "BC3_UNORM_BLOCK": "DXT5_RGBA", "BC3_SRGB_BLOCK": "DXT5_SRGBA", "BC4_UNORM_BLOCK": "RGTC1_UNORM", "BC4_SNORM_BLOCK": "RGTC1_SNORM",
    "BC5_UNORM_BLOCK": "RGTC2_UNORM", "BC5_SNORM_BLOCK": "RGTC2_SNORM", "BC6H_UFLOAT_BLOCK": "BPTC_RGB_UFLOAT", "BC6H_SFLOAT_BLOCK": "BPTC_RGB_FLOAT",
    "BC7_UNORM_BLOCK": "BPTC_RGBA_UNORM", "BC7_SRGB_BLOCK": "BPTC_SRGBA",
}  # fmt: skip


def our_name(name: str) -> str:
    """Our name of a VkFormat without its prefix: packed formats are named from the highest bit there, from the lowest here."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    packed = _REVERSED.match(name)
    if packed:
        channels = re.findall(r"[RGBAEX]\d+", packed[1])
        name = "".join(reversed(channels)) + "_" + packed[2]
    return name.replace("SFLOAT", "FLOAT")


@cache
def formats() -> dict[int, PixelFormat]:
    """Formats of images by the number of VkFormat, those of several planes left out."""
    found = {}
    for name in dir(vk):
        text = name.removeprefix("VK_FORMAT_")
        if text == name or re.search(r"FEATURE|RANGE|MAX_ENUM|UNDEFINED|PLANE|422|ASTC|ETC2|EAC|PVRTC|X6|X4|_(KHR|EXT|NV|IMG)$", text):
            continue
        try:
            found[getattr(vk, name)] = pixel_format(our_name(text))
        except InputError:
            print("no format of ours:", text, file=sys.stderr)
    return found


class Driver:
    """RADV for one chip, as one that writes descriptors."""

    def __init__(self, target: str) -> None:
        self.worker = Worker("radeon", {"RADV_FORCE_FAMILY": FAMILIES.get(target, target), "RADV_DEBUG": "nocache"})

    def texel_formats(self) -> list[tuple[int, PixelFormat]]:
        """Formats that texel buffers have there."""
        features = self.worker.ask({"operation": "buffer_features", "formats": list(formats())}, 60.0)["found"]
        return [(number, each) for (number, each), bits in zip(formats().items(), features, strict=True) if bits & TEXEL_BUFFER]

    def words(self, kind: DescriptorType, number: int, write: dict[str, Any], count: int, size: int = 64) -> tuple[int, ...]:
        """What the driver writes for a descriptor; `size` is of the buffer of texel buffers."""
        layout = [Binding(0, DescriptorType.INLINE_UNIFORM_BLOCK, 32), Binding(1, kind)]
        memory = self.worker.ask({
            "operation": "set_memory", "layout": as_request(layout), "size": 32 + 4 * count, "mark": MARK, "mark_at": 0, "bytes": size,
            "writes": [{"number": 0, "element": 0, "type": 1000138000, "data": MARK + bytes(16)},
                       {"number": 1, "element": 0, "type": number, **write}]}, 60.0)["memory"]
        return struct.unpack(f"<{count}I", memory[32 : 32 + 4 * count])


def random_sampler(rng: random.Random) -> dict[str, Any]:
    """Fields of VkSamplerCreateInfo, and the reduction."""
    lods = sorted((rng.choice((0.0, rng.uniform(0, 20), 1000.0)), rng.choice((0.25, rng.uniform(0, 20)))))
    return {
        "flags": 0, "magFilter": rng.randint(0, 1), "minFilter": rng.randint(0, 1), "mipmapMode": rng.randint(0, 1),
        "addressModeU": rng.randint(0, 4), "addressModeV": rng.randint(0, 4), "addressModeW": rng.randint(0, 4),
        "mipLodBias": rng.choice((0.0, rng.uniform(-15.99, 15.99))), "anisotropyEnable": rng.randint(0, 1),
        "maxAnisotropy": rng.choice((1.0, 2.0, 16.0, rng.uniform(1, 16))),
        "compareEnable": rng.randint(0, 1), "compareOp": rng.randint(0, 7), "minLod": lods[0], "maxLod": lods[1], "borderColor": rng.randint(0, 5),
        "unnormalizedCoordinates": rng.randint(0, 1), "reduction": rng.randint(0, 2)}  # fmt: skip


def our_sampler(asked: dict[str, Any], level: int) -> tuple[int, ...]:
    """The words that we write for it."""
    ratio = int(asked["maxAnisotropy"]) if asked["anisotropyEnable"] and asked["maxAnisotropy"] > 1 else 0
    modes = (asked["addressModeU"], asked["addressModeV"], asked["addressModeW"])
    filters = [2 * (ratio > 1) + asked[name] for name in ("magFilter", "minFilter")]
    single = struct.unpack("<3f", struct.pack("<3f", asked["minLod"], asked["maxLod"], asked["mipLodBias"]))
    return sampler_descriptor(Sampler(
        (WRAPS[modes[0]], WRAPS[modes[1]], WRAPS[modes[2]]), filters[0], filters[1], asked["mipmapMode"] + 1,
        min(int(math.log2(ratio)), 4) if ratio else 0, asked["compareOp"] if asked["compareEnable"] else 0, asked["reduction"],
        bool(asked["unnormalizedCoordinates"]), True, not asked["magFilter"] and not asked["minFilter"], True,
        BORDERS[asked["borderColor"]] if CLAMP_TO_BORDER in modes else 0, 0, *single), level)


def compare_samplers(driver: Driver, target: str, count: int, rng: random.Random) -> dict[str, Any]:
    """Samplers."""
    agreed = 0
    different: list[Any] = []
    for _ in range(count):
        asked = random_sampler(rng)
        ours, theirs = our_sampler(asked, TARGETS[target]), driver.words(DescriptorType.SAMPLER, 0, {"sampler_info": asked}, 4)
        agreed += ours == theirs
        if ours != theirs and len(different) < 4:
            different.append({"sampler": asked, "ours": [f"{w:08x}" for w in ours], "theirs": [f"{w:08x}" for w in theirs]})
    return {"tried": count, "agreed": agreed, "first_differences": different}


def compare_texel_buffers(driver: Driver, target: str, count: int, rng: random.Random) -> dict[str, Any]:
    """Texel buffers."""
    agreed = 0
    different: list[Any] = []
    plain = driver.texel_formats()
    for _ in range(count):
        number, seen = rng.choice(plain)
        offset = 4 * rng.randrange(1 << 12)
        size = rng.randint(seen.bits // 8, 1 << 18)
        kind, type_ = rng.choice(((DescriptorType.UNIFORM_TEXEL_BUFFER, 4), (DescriptorType.STORAGE_TEXEL_BUFFER, 5)))
        theirs = driver.words(kind, type_, {"texels": {"format": number, "offset": offset, "range": size}}, 4, 1 << 20)
        ours = texel_buffer(offset, size, seen.name, TARGETS[target])
        agreed += ours == theirs
        if ours != theirs and len(different) < 4:
            different.append({"format": seen.name, "ours": [f"{w:08x}" for w in ours], "theirs": [f"{w:08x}" for w in theirs]})
    return {"tried": count, "agreed": agreed, "first_differences": different}


def compare(target: str, count: int, rng: random.Random) -> dict[str, Any]:
    """Everything on one chip."""
    driver = Driver(target)
    return {what: check(driver, target, count, rng) for what, check in
            (("samplers", compare_samplers), ("texel_buffers", compare_texel_buffers))}


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]] + [100, 1][len(sys.argv) - 1 :]
    print(json.dumps({target: compare(target, numbers[0], random.Random(numbers[1])) for target in TARGETS}, indent=1))
