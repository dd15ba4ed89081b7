"""Images for the tests of meta operations: every swizzle mode that a chip has, filled with random bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib import gpu_config
from pyaco.addrlib.driver.modifiers import decode_modifier, is_amd, supported_modifiers
from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError

TARGETS = ("gfx600", "gfx700", "gfx900", "gfx1030", "gfx1100", "gfx1200")
#: Chips whose driver chooses tile modes itself, and that share nothing by modifiers; their DMA engines have packets of their own.
TILE_MODES = ("gfx600", "gfx700")
#: Formats by the bytes of an element: what may be copied to what.
COMPATIBLE: dict[int, tuple[str, ...]] = {
    1: ("R8_UNORM", "R8_SINT", "S8_UINT"),
    2: ("R16_FLOAT", "R8G8_UNORM", "B5G6R5_UNORM", "Z16_UNORM"),
    4: ("R8G8B8A8_UNORM", "R8G8B8A8_SRGB", "B8G8R8A8_UNORM", "R10G10B10A2_UNORM", "R11G11B10_FLOAT", "R9G9B9E5_FLOAT", "R32_FLOAT", "R16G16_SNORM",
        "Z32_FLOAT"),
    8: ("R16G16B16A16_FLOAT", "R32G32_UINT", "DXT1_RGBA", "RGTC1_UNORM", "ETC2_RGB8"),
    12: ("R32G32B32_FLOAT", "R32G32B32_UINT"),
    16: ("R32G32B32A32_FLOAT", "DXT5_RGBA", "BPTC_RGBA_UNORM", "ASTC_8x5_SRGB", "ETC2_RGBA8"),
}
SHAPES: dict[str, dict[str, Any]] = {
    "2d": {"width": 45, "height": 33, "mips": 6}, "2d_array": {"width": 27, "height": 50, "layers": 5, "mips": 3},
    "3d": {"width": 19, "height": 21, "depth": 11, "mips": 3}, "cube": {"width": 32, "height": 32, "cube": True, "mips": 2},
}


def modes_of(target: str) -> list[dict[str, Any]]:
    """Options of images that ask for each swizzle mode of a chip: linear, what the driver chooses; from GFX10 on each by number, on GFX9, whose
    driver chooses itself, by modifiers, which images of one level and layer have."""
    if target in TILE_MODES:
        return [{"linear": True}, {}]
    if target == "gfx900":
        known = [modifier for modifier in supported_modifiers(gpu_config(target), 32) if is_amd(modifier) and not decode_modifier(modifier).dcc]
        return [{"linear": True}, {}, *({"modifier": modifier, "mips": 1} for modifier in known)]
    numbers: Any = SwizzleMode3 if target == "gfx1200" else SwizzleMode
    return [{"linear": True}, {}, *({"swizzle_mode": int(mode)} for mode in numbers if 0 < mode < 32)]


def randomised(image: Any, random: np.random.Generator) -> Any:
    """Fill all levels of an image with random bits."""
    for level in range(image.surface.request.levels):
        for stencil in [True, False] if image.format.has_stencil and image.format.has_depth else [image.format.has_stencil]:
            texels = image.numpy(level, stencil=stencil)
            image.write(random.integers(0, 256, texels.nbytes, dtype=np.uint8).view(texels.dtype).reshape(texels.shape), level, stencil=stencil)
    return image


def images(device: Device, format: str, shape: dict[str, Any], modes: list[dict[str, Any]]) -> Iterator[Any]:
    """Make an image of each swizzle mode that the chip has for it."""
    seen = set()
    for mode in modes:
        try:
            image = device.image(format=format, **{**shape, **mode})
            assert image.surface.tiled.size                  # elements of 96 bits are linear, which only tiling says
            for stencil in {False, image.format.has_stencil}:
                assert image.view(stencil=stencil).words     # a volume of depth or stencil has no tile mode on GFX6
        except (InputError, UnsupportedError):
            continue
        if image.surface.swizzle_mode not in seen:
            seen.add(image.surface.swizzle_mode)
            yield image
        else:
            image.release()


def elements(image: Any, level: int, aspect: str = "") -> NDArray[np.uint8]:
    """The bytes of a level's elements: (slices, rows, columns, bytes)."""
    texels = np.ascontiguousarray(image.numpy(level, stencil=aspect == "stencil" or (image.format.has_stencil and not image.format.has_depth)))
    return texels.reshape(-1).view(np.uint8).reshape(*image.surface.level_shape(level), -1)
