"""Clears of colour and depth and stencil images."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.meta.builder import Key
from pyaco.meta.copies import dimension
from pyaco.meta.elements import component_kind, element_view, parts_of_element, unencoded
from pyaco.meta.queues import shader_queue
from pyaco.meta.regions import SubresourceLayers, aspect_of, box_of, level_extent, listed, region_error, whole_level

if TYPE_CHECKING:
    from pyaco.emu.device import Device
    from pyaco.emu.images import Image
    from pyaco.emu.report import Report

__all__ = ["clear_color_image", "clear_depth_stencil_image"]

_SRGB_LINEAR_END = 0.0031308
_LIMITS = {"int": (-1 << 31, (1 << 31) - 1), "uint": (0, (1 << 32) - 1)}


def _encoded(value: float) -> float:
    """Encode a linear component for sRGB."""
    value = min(max(value, 0.0), 1.0)
    return 12.92 * value if value < _SRGB_LINEAR_END else 1.055 * value ** (1 / 2.4) - 0.055


def shared_exponent(red: float, green: float, blue: float) -> int:
    """Return three floats as 9 bits each with an exponent of 5 bits, as the Khronos Data Format Specification says (RGB9E5)."""
    largest = 65408.0                                       # (2**9 - 1) / 2**9 * 2**(31 - 15)
    values = [min(max(0.0 if value != value else value, 0.0), largest) for value in (red, green, blue)]
    exponent = max(-16, _floor_log2(max(values))) + 16
    if int(max(values) / 2.0 ** (exponent - 24) + 0.5) == 1 << 9:
        exponent += 1
    x, y, z = (int(value / 2.0 ** (exponent - 24) + 0.5) for value in values)
    return x | y << 9 | z << 18 | exponent << 27


def _floor_log2(value: float) -> int:
    from math import frexp

    return frexp(value)[1] - 1 if value > 0 else -16


def _bits(color: Sequence[float], kind: str) -> list[int]:
    """Return four components as shaders hold them."""
    if kind == "float":
        return [struct.unpack("<I", struct.pack("<f", component))[0] for component in color]
    low, high = _LIMITS[kind]
    for component in color:
        if component != int(component) or not low <= component <= high:
            raise InputError(f"a component of {component} for an image of {kind}s")
    return [int(component) & 0xFFFFFFFF for component in color]


def _ranges(image: Image, ranges: Iterable[SubresourceLayers] | None) -> list[SubresourceLayers]:
    if ranges is not None:
        return listed(ranges, SubresourceLayers)
    return [whole_level(image, level)[0] for level in range(image.surface.request.levels)]


def _clear(device: Device, queue: str, image: Image, ranges: Sequence[tuple[SubresourceLayers, str, str, Sequence[int]]]) -> list[Report]:
    """Clear levels: each with its aspect, the format that it is seen in ('' for elements), and bits."""
    samples = image.surface.request.samples
    with shader_queue(device, queue) as work:
        for range_, aspect, name, bits in ranges:
            box = box_of(image, range_, (0, 0, 0), level_extent(image, range_.level))
            parts = parts_of_element(image)
            extent = (parts * box.extent[0], *box.extent[1:])
            push = [*extent, *box.first, *bits]
            if not name:
                view: Any = element_view(image, range_.level, aspect, 0, storage=True)[0]
                work.dispatch("clear_dwords" if parts == 3 else "clear", Key(dim=dimension(image), samples=samples), extent, {1: view}, push)
                continue
            stencil = aspect == "stencil"
            levels = None if samples > 1 else (range_.level, 1)
            view = image.view(dimension_name(image), format=name, levels=levels, storage=True, stencil=stencil)
            kind = "uint" if aspect == "stencil" else component_kind(image.format)
            work.dispatch("clear", Key(dim=dimension(image), kind=kind, samples=samples), extent, {1: view}, push)
    return work.reports


def dimension_name(image: Image) -> str:
    """Return the type of view that shows all layers, or slices, of a level."""
    request = image.surface.request
    return "3d" if request.is_3d else "2d_msaa_array" if request.samples > 1 else "2d_array"


@checked
def clear_color_image(
    device: Device, image: Image, color: Sequence[float], ranges: Iterable[SubresourceLayers] | None = None, *, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Write one colour to all texels of levels.

    Parameters
    ----------
    device : Device
        That has it.
    image : Image
        Of a colour format without blocks.
    color : sequence of float or int
        Red, green, blue and alpha: integers for integer formats; linear for sRGB.
    ranges : iterable of SubresourceLayers, optional
        Levels and layers; by default all.
    queue : str
        ``direct``: launch compute shaders; ``compute``: through the packets of a compute queue.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        Levels or layers that the image does not have, another number of components, a compressed or depth format.
    UnsupportedError
        A chip that nothing is compiled for.
    """
    form = image.format
    if form.is_compressed or form.color_space not in ("rgb", "srgb") or form.block != (1, 1, 1):
        raise InputError(f"a clear of an image of {form.name}: a colour format without blocks")
    if len(color) != 4:
        raise InputError(f"a colour of {len(color)} components, not of 4")
    values = [_encoded(component) for component in color[:3]] + [color[3]] if form.color_space == "srgb" else list(color)
    name, bits = unencoded(form), _bits(values, component_kind(form))
    if form.name == "R9G9B9E5_FLOAT":
        name, bits = "", [shared_exponent(*values[:3])] * 4
    elif parts_of_element(image) == 3:
        name = ""
    given = []
    for number, range_ in enumerate(_ranges(image, ranges)):
        given.append((range_, _named(number, image, range_), name, bits[:3] if parts_of_element(image) == 3 else bits))
    return _clear(device, queue, image, given)


def _named(number: int, image: Image, range_: SubresourceLayers) -> str:
    """Return the aspect of a range whose level and layers exist."""
    try:
        aspect = aspect_of(image, range_)
        box_of(image, range_, (0, 0, 0), None)
        return aspect
    except InputError as error:
        raise region_error(number, str(error)) from None


@checked
def clear_depth_stencil_image(
    device: Device, image: Image, depth: float = 1.0, stencil: int = 0, ranges: Iterable[SubresourceLayers] | None = None, *,
    queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Write one depth, or one stencil value, to all texels of levels.

    Parameters
    ----------
    device : Device
        That has it.
    image : Image
        Of a format with depth or stencil.
    depth : float
        From 0 to 1.
    stencil : int
        8 bits.
    ranges : iterable of SubresourceLayers, optional
        Levels and layers, each of one aspect; by default all levels and aspects.
    queue : str
        As of `clear_color_image`.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        A colour format, levels or layers that the image does not have, values out of range.
    UnsupportedError
        As `clear_color_image`.
    """
    form = image.format
    if not (form.has_depth or form.has_stencil):
        raise InputError(f"a clear of depth and stencil of an image of {form.name}")
    if not 0.0 <= depth <= 1.0 or not 0 <= stencil <= 255:
        raise InputError(f"a clear to depth {depth} and stencil {stencil}: 0 to 1, and 0 to 255")
    if ranges is None:
        held = [name for name, has in (("depth", form.has_depth), ("stencil", form.has_stencil)) if has]
        ranges = [SubresourceLayers(one.level, one.first_layer, one.layer_count, aspect) for one in _ranges(image, None) for aspect in held]
    bits = {"depth": _bits([depth] * 4, "float"), "stencil": [int(stencil)] * 4}
    names = {"depth": "R16_UNORM" if image.surface.element_bytes == 2 else "R32_FLOAT", "stencil": "R8_UINT"}
    if form.has_depth and form.channels and any(channel.letter == "Z" and channel.size == 24 for channel in form.channels):
        raise UnsupportedError(f"clears of {form.name}")
    given = []
    for number, range_ in enumerate(_ranges(image, ranges)):
        aspect = _named(number, image, range_)
        given.append((range_, aspect, names[aspect], bits[aspect]))
    return _clear(device, queue, image, given)
