"""Copies of images: from and to buffers, and from image to image.

Elements keep their bits: formats are overridden by unsigned integers of an element's size (``pyaco.meta.elements``), as ``blorp_copy`` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pyaco.arguments import checked
from pyaco.emu.buffers import TexelBuffer
from pyaco.errors import InputError
from pyaco.meta import dma
from pyaco.meta.builder import Key
from pyaco.meta.elements import element_bytes, element_format, element_view, parts_of_element, same_size, shows_all_layers
from pyaco.meta.queues import shader_queue
from pyaco.meta.regions import (
    Box,
    BufferImageCopy,
    BufferPart,
    BufferRegion,
    ImageCopy,
    ImagePair,
    aspect_of,
    box_of,
    listed,
    region_error,
    whole_level,
)

if TYPE_CHECKING:
    from pyaco.emu.buffers import Buffer
    from pyaco.emu.device import Device
    from pyaco.emu.images import Image
    from pyaco.emu.report import Report

__all__ = ["copy_buffer_to_image", "copy_image", "copy_image_to_buffer", "dimension", "in_texels", "layer_runs"]


def dimension(image: Image) -> str:
    """Return how shaders see an image: ``3d``, ``ms`` or ``2d``."""
    return "3d" if image.surface.request.is_3d else "ms" if image.surface.request.samples > 1 else "2d"


def _checked_region(number: int, buffer: Buffer, image: Image, region: BufferImageCopy) -> BufferRegion:
    """Return a region in elements, or raise InputError with its number."""
    try:
        aspect = aspect_of(image, region.subresource)
        box = box_of(image, region.subresource, region.image_offset, region.image_extent)
        if image.surface.request.samples > 1:
            raise InputError("an image with several samples is not copied from or to buffers")
        return BufferRegion(region.subresource.level, aspect, box, _buffer_part(buffer, image, region, aspect, box))
    except InputError as error:
        raise region_error(number, str(error)) from None


def _buffer_part(buffer: Buffer, image: Image, region: BufferImageCopy, aspect: str, box: Box) -> BufferPart:
    element, (block_width, block_height, _) = element_bytes(image, aspect), image.format.block
    columns, rows, slices = box.extent
    if region.buffer_offset < 0 or region.buffer_offset % element:
        raise InputError(f"a buffer offset of {region.buffer_offset} bytes for elements of {element}")
    for what, length, block, least in (("row length", region.buffer_row_length, block_width, columns),
                                       ("image height", region.buffer_image_height, block_height, rows)):
        if length and (length < 0 or length % block or length // block < least):
            raise InputError(f"a buffer {what} of {length} texels for {least} {'blocks' if block > 1 else 'texels'}"
                             + (f" of {block}" if block > 1 else ""))
    row = region.buffer_row_length // block_width or columns
    pitch = row * (region.buffer_image_height // block_height or rows)
    part = BufferPart(region.buffer_offset // element, row, pitch)
    last = part.first + (slices - 1) * pitch + (rows - 1) * row + columns
    if not buffer.address:
        raise InputError("a buffer that has been released")
    if last * element > buffer.size:
        raise InputError(f"bytes up to {last * element} of a buffer of {buffer.size}")
    return part


def in_texels(image: Image, box: Box) -> Box:
    """Return a box of elements in texels of the element format: elements of 96 bits are three of 32."""
    parts = parts_of_element(image)
    (x, y, z), (width, height, depth) = box
    return Box((parts * x, y, z), (parts * width, height, depth))


def layer_runs(count: int, *levels: tuple[Image, int]) -> list[tuple[int, int]]:
    """Return which layers of a region are moved together, as first and count: all, where each image has a view that shows all."""
    if all(shows_all_layers(image, level) for image, level in levels):
        return [(0, count)]
    return [(layer, 1) for layer in range(count)]


def _regions(buffer: Buffer, image: Image, regions: Iterable[BufferImageCopy] | None) -> list[BufferRegion]:
    given = [BufferImageCopy(subresource=whole_level(image, 0)[0])] if regions is None else listed(regions, BufferImageCopy)
    return [_checked_region(number, buffer, image, region) for number, region in enumerate(given)]


def _move(device: Device, queue: str, buffer: Buffer, image: Image, regions: Sequence[BufferRegion], to_image: bool) -> list[Report]:
    """Run the dispatches of a copy between buffer and image."""
    with shader_queue(device, queue) as work:
        for region in regions:
            parts, bytes_ = parts_of_element(image), element_bytes(image, region.aspect)
            (x, y, z), (width, height, depth) = in_texels(image, region.box)
            elements = TexelBuffer(buffer, element_format(image, region.aspect), 0, buffer.size // bytes_ * bytes_)
            for first, count in layer_runs(depth, (image, region.level)):
                view, origin = element_view(image, region.level, region.aspect, z + first, storage=to_image)
                pitches = [parts * number for number in (region.part.row, region.part.slice, region.part.first + first * region.part.slice)]
                bound = (elements, view) if to_image else (view, elements)
                key = Key("2d", dimension(image)) if to_image else Key(dimension(image), "2d")
                extent = (width, height, count)
                work.dispatch("buffer_to_image" if to_image else "image_to_buffer", key, extent, dict(enumerate(bound)),
                              [*extent, x, y, z + first - origin, *pitches])
    return work.reports


@checked
def copy_buffer_to_image(
    device: Device, buffer: Buffer, image: Image, regions: Iterable[BufferImageCopy] | None = None, *, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Copy elements of a buffer into an image.

    Parameters
    ----------
    device : Device
        That has both.
    buffer : Buffer
    image : Image
    regions : iterable of BufferImageCopy, optional
        By default level 0 with all its layers, from the buffer's first byte on.
    queue : str
        ``direct``: launch compute shaders; ``compute``: through the packets of a compute queue; ``dma``: by packets of the DMA engine.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        A region that breaks Vulkan's rules, with its number, or that does not fit image or buffer.
    UnsupportedError
        A chip that nothing is compiled for, or a region for which the DMA engine has no packet.
    """
    found = _regions(buffer, image, regions)
    if queue == "dma":
        return dma.move_buffer(device, buffer, image, found, to_image=True)
    return _move(device, queue, buffer, image, found, to_image=True)


@checked
def copy_image_to_buffer(
    device: Device, image: Image, buffer: Buffer, regions: Iterable[BufferImageCopy] | None = None, *, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Copy elements of an image into a buffer.

    Parameters
    ----------
    device : Device
        That has both.
    image : Image
    buffer : Buffer
    regions : iterable of BufferImageCopy, optional
        By default level 0 with all its layers, to the buffer's first byte on.
    queue : str
        As of `copy_buffer_to_image`.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError, UnsupportedError
        As `copy_buffer_to_image`.
    """
    found = _regions(buffer, image, regions)
    if queue == "dma":
        return dma.move_buffer(device, buffer, image, found, to_image=False)
    return _move(device, queue, buffer, image, found, to_image=False)


# -------------------------------------------------------------------------------------------------------- image to image
def _destination_box(source: Image, image: Image, region: ImageCopy, box: Box) -> Box:
    """Return the box that a source's elements fill: as many elements, or, where less than a block is left of the level, all that is."""
    width, height, slices = box.extent
    block = image.format.block
    request = image.surface.request
    level = region.destination.level
    limits = [max(request.width >> level, 1), max(request.height >> level, 1)] if 0 <= level < request.levels else [1, 1]
    offset = region.destination_offset
    extent = [min(count * of, limit - first) if count * of - of < limit - first else count * of
              for count, of, limit, first in zip((width, height), block, limits, offset, strict=False)]
    found = box_of(image, region.destination, offset, (*extent, slices if request.is_3d else 1))
    if found.extent != box.extent:
        raise InputError(f"{box.extent} elements (columns, rows, layers or slices) of the source, {found.extent} of the destination")
    return found


def _checked_pair(number: int, source: Image, destination: Image, region: ImageCopy) -> ImagePair:
    try:
        aspects = aspect_of(source, region.source), aspect_of(destination, region.destination)
        same_size(source, aspects[0], destination, aspects[1])
        if source.surface.request.samples != destination.surface.request.samples:
            raise InputError(f"images with {source.surface.request.samples} and {destination.surface.request.samples} samples; a copy keeps them")
        box = box_of(source, region.source, region.source_offset, region.extent)
        pair = ImagePair(region.source.level, aspects[0], box, region.destination.level, aspects[1],
                         _destination_box(source, destination, region, box))
        if source is destination and pair.source_level == pair.level and aspects[0] == aspects[1] and box.overlaps(pair.destination):
            raise InputError("source and destination overlap")
        return pair
    except InputError as error:
        raise region_error(number, str(error)) from None


@checked
def copy_image(
    device: Device, source: Image, destination: Image, regions: Iterable[ImageCopy] | None = None, *, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Copy elements from image to image, whatever their formats are, so long as the elements are of one size.

    Between a compressed and an uncompressed image a block is a texel.

    Parameters
    ----------
    device : Device
        That has both.
    source, destination : Image
    regions : iterable of ImageCopy, optional
        By default level 0 with all its layers.
    queue : str
        As of `copy_buffer_to_image`; the DMA engine copies where one of the images is linear.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        A region that breaks Vulkan's rules, with its number; formats whose elements are of different sizes.
    UnsupportedError
        A chip that nothing is compiled for, or a region for which the DMA engine has no packet.
    """
    given = [ImageCopy(whole_level(source, 0)[0], destination=whole_level(destination, 0)[0])] if regions is None else listed(regions, ImageCopy)
    pairs = [_checked_pair(number, source, destination, region) for number, region in enumerate(given)]
    if queue == "dma":
        return dma.move_image(device, source, destination, pairs)
    with shader_queue(device, queue) as work:
        key = Key(dimension(source), dimension(destination), samples=source.surface.request.samples)
        for pair in pairs:
            (x, y, z), (width, height, slices) = in_texels(source, pair.source)
            (u, v, w), _ = in_texels(destination, pair.destination)
            for first, count in layer_runs(slices, (source, pair.source_level), (destination, pair.level)):
                view, origin = element_view(source, pair.source_level, pair.source_aspect, z + first, storage=False)
                target, beginning = element_view(destination, pair.level, pair.aspect, w + first, storage=True)
                work.dispatch("image_to_image", key, (width, height, count), {0: view, 1: target},
                              [width, height, count, x, y, z + first - origin, u, v, w + first - beginning])
    return work.reports
