"""Surfaces of formats with several planes (NV12, P010, YV12 ...): a surface for each plane, one after the other in a buffer.

Source of the facts: Mesa's ``u_format.yaml`` (planes of a format) and ``si_texture.c`` (where drivers put them: each plane, with its metadata,
at the next multiple of its alignment).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.driver.modifiers import INVALID, is_modifier_supported
from pyaco.addrlib.formatted import Surface
from pyaco.addrlib.integers import align
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat, pixel_format
from pyaco.notebook import listing

__all__ = ["PlaneSurface", "PlaneSurfaces", "plane_count", "plane_surfaces"]

# Names | formats of the planes | pixels, in x and y, for each texel of the planes after the first
_PLANES = """
NV12 NV21 R8_G8B8_420_UNORM R8_B8G8_420_UNORM G8_B8R8_420_UNORM     | R8_UNORM R8G8_UNORM             | 2x2
P010 P012 P016                                                      | R16_UNORM R16G16_UNORM          | 2x2
Y8_U8V8_422_UNORM                                                   | R8_UNORM R8G8_UNORM             | 2x1
Y16_U16V16_422_UNORM                                                | R16_UNORM R16G16_UNORM          | 2x1
YV12 IYUV R8_G8_B8_420_UNORM R8_B8_G8_420_UNORM G8_B8_R8_420_UNORM  | R8_UNORM R8_UNORM R8_UNORM      | 2x2
YV16 Y8_U8_V8_422_UNORM                                             | R8_UNORM R8_UNORM R8_UNORM      | 2x1
Y8_U8_V8_440_UNORM                                                  | R8_UNORM R8_UNORM R8_UNORM      | 1x2
Y8_U8_V8_444_UNORM R8_G8_B8_UNORM                                   | R8_UNORM R8_UNORM R8_UNORM      | 1x1
Y16_U16_V16_420_UNORM                                               | R16_UNORM R16_UNORM R16_UNORM   | 2x2
Y16_U16_V16_422_UNORM                                               | R16_UNORM R16_UNORM R16_UNORM   | 2x1
Y16_U16_V16_444_UNORM                                               | R16_UNORM R16_UNORM R16_UNORM   | 1x1
"""


def _table() -> dict[str, tuple[list[str], tuple[int, int]]]:
    found: dict[str, tuple[list[str], tuple[int, int]]] = {}
    for line in _PLANES.strip().splitlines():
        names, formats, pixels = (cell.split() for cell in line.split("|"))
        width, height = map(int, pixels[0].split("x"))
        found |= dict.fromkeys(names, (formats, (width, height)))
    return found


_OF_FORMAT = _table()


@dataclass(frozen=True)
class PlaneSurface:
    """One plane: the surface, and where it starts in the buffer (bytes)."""

    offset: int
    surface: Surface


@dataclass(frozen=True)
class PlaneSurfaces:
    """The planes of a picture; bytes of all of them, and alignment of the buffer."""

    planes: tuple[PlaneSurface, ...]
    total_size: int
    base_align: int

    def _repr_html_(self) -> str:
        rows = [(plane.offset, plane.surface.format.name, f"{plane.surface.request.width} x {plane.surface.request.height}",
                 plane.surface.swizzle_mode, plane.surface.total_size) for plane in self.planes]  # fmt: skip
        title = f"{len(self.planes)} planes, {self.total_size} bytes, aligned to {self.base_align}"
        return listing(title, ("offset", "format", "elements", "swizzle mode", "bytes"), rows)


def plane_count(form: PixelFormat) -> int:
    """Return how many planes a format has."""
    return int(form.layout.removeprefix("planar")) if form.layout.startswith("planar") else 1


@checked
def plane_surfaces(chip: str | GpuConfig, *, format: str, width: int, height: int, **options: Any) -> PlaneSurfaces:
    """Lay out the planes of a picture.

    Parameters
    ----------
    chip, format, width, height, options
        As of `pyaco.addrlib.Surface`; width and height are those of the picture. A format of one plane gives one plane.

    Raises
    ------
    InputError
        A surface that cannot be.
    UnsupportedError
        A surface, or a modifier for several planes, that this chip cannot have; P030, whose elements are three pixels in 32 bits.
    """
    form = pixel_format(format)
    if plane_count(form) > 1 and form.name not in _OF_FORMAT:
        raise UnsupportedError(f"the planes of {form.name}")
    formats, (across, down) = _OF_FORMAT.get(form.name, ([form.name], (1, 1)))
    check_integers(form.name, width=width, height=height)
    if width < 1 or height < 1:
        raise InputError(f"a picture of {width} x {height} pixels")
    planes, size, alignment = [], 0, 1
    for number, name in enumerate(formats):
        extent = (-(-width // across), -(-height // down)) if number else (width, height)
        surface = Surface(chip, format=name, width=extent[0], height=extent[1], **options)
        modifier = surface.request.modifier
        if modifier != INVALID and not is_modifier_supported(surface.config, modifier, surface.format.bits, planes=len(formats)):
            raise UnsupportedError(f"DRM modifier {modifier:#x} for {form.name} on {surface.config.name}: it has {len(formats)} planes")
        offset = align(size, surface.base_align)
        planes.append(PlaneSurface(offset, surface))
        size, alignment = offset + surface.total_size, max(alignment, surface.base_align)
    return PlaneSurfaces(tuple(planes), size, alignment)
