"""Blits: boxes of images scaled and converted into others, mip chains, and resolves of images with several samples.

Sources: the Vulkan specification, "Image Copies With Scaling", "Resolving Multisample Images"; that sRGB colours are encoded by the shader,
because image stores do not, from Mesa's ``radv_meta_blit.c`` and ``radv_meta_resolve_cs.c``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco.arguments import checked
from pyaco.descriptors.sampler import Sampler
from pyaco.emu.images import SampledImage
from pyaco.errors import InputError, UnsupportedError
from pyaco.meta.builder import Key
from pyaco.meta.copies import dimension
from pyaco.meta.elements import component_kind, unencoded
from pyaco.meta.queues import Queue, shader_queue
from pyaco.meta.regions import (
    ImageBlit,
    ImageCopy,
    SubresourceLayers,
    aspect_of,
    box_of,
    check_subresource,
    level_extent,
    listed,
    region_error,
    whole_level,
)

if TYPE_CHECKING:
    from pyaco.emu.device import Device
    from pyaco.emu.images import Image
    from pyaco.emu.report import Report

__all__ = ["blit_image", "generate_mipmaps", "resolve_image"]

_CLAMP_TO_EDGE = 2
_LINEAR = Sampler((_CLAMP_TO_EDGE,) * 3, 1, 1)
_FILTERS = ("nearest", "linear")
_MOST_NEAREST = 1 << 15
"""Texels of an axis: products of two such numbers fit 32 bits."""


class _Axis(NamedTuple):
    """One axis of a blit: where the destination begins and how long it is; where the source begins, and its span, which may be negative."""

    first: int
    length: int
    start: int
    span: int
    size: int


def _axis(source: Sequence[int], destination: Sequence[int], size: int) -> _Axis:
    """Return an axis with a destination that ascends."""
    (a, b), (c, d) = source, destination
    if c > d:
        a, b, c, d = b, a, d, c
    return _Axis(c, d - c, a, b - a, size)


def _corners(image: Image, layers: SubresourceLayers, given: Any, what: str) -> list[tuple[int, int]]:
    """Return the two ends of each axis in texels; of layers on the third axis where the image is no 3D image."""
    check_subresource(image, layers)
    level = level_extent(image, layers.level)
    first, second = given if given is not None else ((0, 0, 0), level)
    ends = [(index(a), index(b)) for a, b in zip(first, second, strict=True)]
    if len(ends) != 3:
        raise InputError(f"{what}: corners have three coordinates")
    for axis, (a, b), limit in zip("xyz", ends, level, strict=True):
        if a == b or not (min(a, b) >= 0 and max(a, b) <= limit):
            raise InputError(f"{what}: from {a} to {b} in {axis}: level {layers.level} has {limit}")
    if not image.surface.request.is_3d:
        if ends[2] != (0, 1):
            raise InputError(f"{what}: from {ends[2][0]} to {ends[2][1]} in z of an image that is not 3D")
        ends[2] = layers.first_layer, layers.first_layer + layers.layer_count
    return ends


def _axes(source: Image, destination: Image, region: ImageBlit) -> tuple[_Axis, _Axis, _Axis]:
    ends = _corners(source, region.source, region.source_corners, "source")
    to = _corners(destination, region.destination, region.destination_corners, "destination")
    level = level_extent(source, region.source.level)
    x, y, z = (_axis(a, b, size) for a, b, size in zip(ends, to, level, strict=True))
    if not (source.surface.request.is_3d and destination.surface.request.is_3d) and abs(z.span) != z.length:
        raise InputError(f"{abs(z.span)} layers or slices of the source, {z.length} of the destination")
    return x, y, z


def _check_formats(source: Image, source_aspect: str, destination: Image, aspect: str, filter: str) -> None:
    if filter not in _FILTERS:
        raise InputError(f"a filter {filter!r}; there are {' and '.join(_FILTERS)}")
    if destination.format.is_compressed or destination.format.name == "R9G9B9E5_FLOAT" or destination.surface.element_bytes == 12:
        raise InputError(f"a blit to {destination.format.name}, which shaders do not write")
    if source.surface.request.samples > 1 or destination.surface.request.samples > 1:
        raise InputError("a blit of an image with several samples")
    if source_aspect != "color" or aspect != "color":
        if source_aspect != aspect or source.format != destination.format:
            raise InputError(f"a blit of {source_aspect} of {source.format.name} to {aspect} of {destination.format.name}: formats must be the same")
        if filter != "nearest":
            raise InputError("depth and stencil are blitted with the filter nearest")
    kinds = _kind(source, source_aspect), _kind(destination, aspect)
    if kinds[0] != kinds[1]:
        raise InputError(f"a blit of {source.format.name} to {destination.format.name}: {kinds[0]} and {kinds[1]}")
    if kinds[0] != "float" and filter != "nearest":
        raise InputError(f"integers ({source.format.name}) are blitted with the filter nearest")


def _kind(image: Image, aspect: str) -> str:
    return "uint" if aspect == "stencil" else component_kind(image.format)


def _view(image: Image, level: int, aspect: str, storage: bool) -> Any:
    """Return the view of a level in its own format; what is stored must be encoded for sRGB already."""
    name = unencoded(image.format) if storage else image.format.name
    if aspect == "depth":
        name = "R16_UNORM" if image.surface.element_bytes == 2 else "R32_FLOAT"
    elif aspect == "stencil":
        name = "R8_UINT"
    kind = "3d" if image.surface.request.is_3d else "2d_array"
    return image.view(kind, format=name, levels=(level, 1), storage=storage, stencil=aspect == "stencil")


def _float_bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _nearest_push(axes: Sequence[_Axis]) -> list[int]:
    push = []
    for axis in axes:
        flipped = axis.span < 0
        push += [axis.start, abs(axis.span), 2 * axis.length - 1 if flipped else 0, -1 if flipped else 1]
    return push


def _linear_push(axes: Sequence[_Axis], layered: bool) -> list[int]:
    push = []
    for number, axis in enumerate(axes):
        layer = number == 2 and layered
        size = 1 if layer else axis.size
        # a layer is taken at its number, from the last one down where the order is reversed
        start = axis.start - (layer and axis.span < 0)
        push += [_float_bits(axis.span / axis.length / size), _float_bits(start / size)]
    return push


def _run(work: Queue, source: Image, destination: Image, region: ImageBlit, aspects: tuple[str, str], filter: str) -> None:
    """Dispatch one region."""
    axes = _axes(source, destination, region)
    extent = [axis.length for axis in axes]
    if max(max(axis.length, abs(axis.span)) for axis in axes) > _MOST_NEAREST:
        raise UnsupportedError(f"blits of more than {_MOST_NEAREST} texels in an axis")
    srgb = destination.format.color_space == "srgb"
    key = Key(dimension(source), dimension(destination), _kind(destination, aspects[1]), srgb)
    view = _view(source, region.source.level, aspects[0], False)
    target = _view(destination, region.destination.level, aspects[1], True)
    push = [*extent, *(axis.first for axis in axes)]
    if filter == "nearest":
        work.dispatch("blit_nearest", key, extent, {0: view, 1: target}, push + _nearest_push(axes))
    else:
        layered = not source.surface.request.is_3d
        work.dispatch("blit_linear", key, extent, {0: SampledImage(view, _LINEAR), 1: target}, push + _linear_push(axes, layered))


def _checked_blit(number: int, source: Image, destination: Image, region: ImageBlit, filter: str) -> tuple[str, str]:
    try:
        aspects = aspect_of(source, region.source), aspect_of(destination, region.destination)
        _check_formats(source, aspects[0], destination, aspects[1], filter)
        axes = _axes(source, destination, region)
        if source is destination and region.source.level == region.destination.level:
            apart = any(axis.first + axis.length <= min(axis.start, axis.start + axis.span) or max(axis.start, axis.start + axis.span) <= axis.first
                        for axis in axes)
            if not apart:
                raise InputError("source and destination overlap")
        return aspects
    except InputError as error:
        raise region_error(number, str(error)) from None


@checked
def blit_image(
    device: Device, source: Image, destination: Image, regions: Iterable[ImageBlit] | None = None, filter: str = "nearest", *,
    queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Scale boxes of an image into boxes of another, and convert formats.

    Parameters
    ----------
    device : Device
        That has both.
    source, destination : Image
        Formats of floats (normalised ones included), signed integers or unsigned integers, both of one kind; the same format where
        depth or stencil is meant.
    regions : iterable of ImageBlit, optional
        By default level 0 with all its layers.
    filter : str
        ``nearest``: the texel that holds the centre of each texel of the destination, exactly; ``linear``: what a sampler gives there, with
        coordinates clamped to the level.
    queue : str
        ``direct``: launch compute shaders; ``compute``: through the packets of a compute queue.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        A region that breaks Vulkan's rules, with its number, or formats that are not blitted.
    UnsupportedError
        A chip that nothing is compiled for, or a source that the emulator does not sample.
    """
    given = [ImageBlit(whole_level(source, 0)[0], None, whole_level(destination, 0)[0])] if regions is None else listed(regions, ImageBlit)
    found = [_checked_blit(number, source, destination, region, filter) for number, region in enumerate(given)]
    with shader_queue(device, queue) as work:
        for region, aspects in zip(given, found, strict=True):
            _run(work, source, destination, region, aspects, filter)
    return work.reports


@checked
def generate_mipmaps(device: Device, image: Image, filter: str = "linear", *, queue: str = "direct") -> list[Report]:
    """Fill all levels behind the first, each a blit of the one before it.

    Parameters
    ----------
    device : Device
        That has it.
    image : Image
    filter, queue : str
        As of `blit_image`.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError, UnsupportedError
        As `blit_image`.
    """
    regions = [ImageBlit(whole_level(image, level - 1)[0], None, whole_level(image, level)[0]) for level in range(1, image.surface.request.levels)]
    return blit_image(device, image, image, regions, filter, queue=queue)


@checked
def resolve_image(
    device: Device, source: Image, destination: Image, regions: Iterable[ImageCopy] | None = None, *, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Make one sample of several: their mean, or of integers the first.

    Parameters
    ----------
    device : Device
        That has both.
    source : Image
        With several samples.
    destination : Image
        Of the same format, with one.
    regions : iterable of ImageCopy, optional
        By default all layers.
    queue : str
        As of `blit_image`.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        A region that breaks Vulkan's rules, with its number; samples or formats that are not those.
    UnsupportedError
        A chip that nothing is compiled for.
    """
    samples = source.surface.request.samples, destination.surface.request.samples
    if samples[0] < 2 or samples[1] > 1:
        raise InputError(f"a resolve of {samples[0]} samples to {samples[1]}")
    if source.format != destination.format or source.format.color_space not in ("rgb", "srgb"):
        raise InputError(f"a resolve of {source.format.name} to {destination.format.name}: the same colour format")
    given = [ImageCopy(whole_level(source, 0)[0], destination=whole_level(destination, 0)[0])] if regions is None else listed(regions, ImageCopy)
    boxes = []
    for number, region in enumerate(given):
        try:
            aspect_of(source, region.source), aspect_of(destination, region.destination)
            box = box_of(source, region.source, region.source_offset, region.extent)
            boxes.append((box, box_of(destination, region.destination, region.destination_offset, (*box.extent[:2], 1)), region.destination.level))
        except InputError as error:
            raise region_error(number, str(error)) from None
    key = Key("ms", dimension(destination), component_kind(source.format), source.format.color_space == "srgb", samples[0])
    with shader_queue(device, queue) as work:
        for box, to, level in boxes:
            view = source.view("2d_msaa_array")
            work.dispatch("resolve", key, box.extent, {0: view, 1: _view(destination, level, "color", True)}, [*box.extent, *box.first, *to.first])
    return work.reports
