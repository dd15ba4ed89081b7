"""Pixel formats by name: what a surface request says of each.

Source: the format tables of Vulkan and of Mesa (bits and channels; which formats share texels or compress blocks).
"""

from __future__ import annotations

from dataclasses import dataclass

from pyaco.addrlib.surface import SurfaceUse
from pyaco.errors import InputError

__all__ = ["PixelFormat", "pixel_format", "pixel_formats"]


@dataclass(frozen=True)
class PixelFormat:
    """A format: bytes per element, pixels per element, components, and whether it is depth or stencil (`flags`)."""

    name: str
    bpe: int
    blk_w: int
    blk_h: int
    num_channels: int
    flags: SurfaceUse


_PLAIN = {
    # bytes per element: {components: names}
    1: {1: "r8 a8 l8 c8"},
    2: {1: "r16", 2: "rg8", 3: "r5g6b5", 4: "rgb5a1 rgba4"},
    4: {1: "r32", 2: "rg16", 3: "r11g11b10", 4: "rgba8 bgra8 rgb10a2 rgb9e5"},
    8: {2: "rg32", 4: "rgba16"},
    12: {3: "rgb32"},
    16: {4: "rgba32"},
}
_BLOCKS = {8: "bc1 bc4 etc2-rgb8 eac-r11", 16: "bc2 bc3 bc5 bc6h bc7 etc2-rgba8 eac-rg11 astc-4x4"}
_SUBSAMPLED = {4: "yuyv uyvy"}
_DEPTH = {
    "d16": (2, SurfaceUse.ZBUFFER), "d32": (4, SurfaceUse.ZBUFFER), "x8d24": (4, SurfaceUse.ZBUFFER), "s8": (1, SurfaceUse.SBUFFER),
    "d16s8": (2, SurfaceUse.ZBUFFER | SurfaceUse.SBUFFER), "d24s8": (4, SurfaceUse.ZBUFFER | SurfaceUse.SBUFFER),
    "d32s8": (4, SurfaceUse.ZBUFFER | SurfaceUse.SBUFFER),
}


def _table() -> dict[str, PixelFormat]:
    none = SurfaceUse(0)
    plain = ((size, channels, names) for size, groups in _PLAIN.items() for channels, names in groups.items())
    rows = [PixelFormat(name, size, 1, 1, channels, none) for size, channels, names in plain for name in names.split()]
    rows += [PixelFormat(name, size, 4, 4, 4, none) for size, names in _BLOCKS.items() for name in names.split()]
    rows += [PixelFormat(name, size, 2, 1, 4, none) for size, names in _SUBSAMPLED.items() for name in names.split()]
    rows += [PixelFormat(name, size, 1, 1, 1, flags) for name, (size, flags) in _DEPTH.items()]
    return {row.name: row for row in rows}


_BY_NAME = _table()


def pixel_formats() -> tuple[PixelFormat, ...]:
    """Return every format."""
    return tuple(_BY_NAME.values())


def pixel_format(name: str) -> PixelFormat:
    """Return the format called `name`, such as ``rgba8``, ``bc7`` or ``d32s8``.

    Raises
    ------
    InputError
        If nothing is called so.
    """
    found = _BY_NAME.get(name.lower())
    if found is None:
        raise InputError(f"unknown pixel format {name!r}; there are: {' '.join(_BY_NAME)}")
    return found
