"""The regions of meta operations, as Vulkan has them, and the rules that they keep.

Sources: the Vulkan specification, "Copy Commands" (``VkBufferImageCopy``, ``VkImageCopy``, ``VkImageBlit``, their valid usage).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pyaco.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyaco.emu.images import Image

__all__ = ["Box", "BufferCopy", "BufferImageCopy", "BufferPart", "BufferRegion", "ImageBlit", "ImageCopy", "ImagePair", "SubresourceLayers",
           "aspect_of", "box_of", "check_subresource", "level_extent", "listed", "region_error", "whole_level"]

Region = TypeVar("Region")
Triple = tuple[int, int, int]
_ASPECTS = ("color", "depth", "stencil")


@dataclass(frozen=True)
class SubresourceLayers:
    """Layers of one level of an image.

    Attributes
    ----------
    level : int
        Mip level.
    first_layer, layer_count : int
        Array layers (faces of a cube count as layers); of 3D images 0 and 1.
    aspect : str
        ``color``, ``depth`` or ``stencil``; may be left out where the format has only one.
    """

    level: int = 0
    first_layer: int = 0
    layer_count: int = 1
    aspect: str = ""


@dataclass(frozen=True)
class BufferCopy:
    """Bytes that are copied from one buffer to another: `size` of them from `source_offset` to `destination_offset`."""

    source_offset: int
    destination_offset: int
    size: int


@dataclass(frozen=True)
class BufferImageCopy:
    """Elements that are copied between a buffer and an image, in either direction.

    Attributes
    ----------
    buffer_offset : int
        Byte of the first element; a multiple of an element's bytes.
    buffer_row_length, buffer_image_height : int
        Texels from one row of the buffer to the next, rows from one slice to the next; 0: as the extent says.
    subresource : SubresourceLayers
    image_offset : tuple of int
        Texels, x, y, z.
    image_extent : tuple of int or None
        Texels, width, height, depth; by default all that lies behind the offset.
    """

    buffer_offset: int = 0
    buffer_row_length: int = 0
    buffer_image_height: int = 0
    subresource: SubresourceLayers = field(default_factory=SubresourceLayers)
    image_offset: Triple = (0, 0, 0)
    image_extent: Triple | None = None


@dataclass(frozen=True)
class ImageCopy:
    """Texels that are copied from one image to another.

    Attributes
    ----------
    source, destination : SubresourceLayers
        As many layers each; between a 3D image and an array the layers are slices.
    source_offset, destination_offset : tuple of int
        Texels of each image.
    extent : tuple of int or None
        Texels of the source; by default all that lies behind its offset.
    """

    source: SubresourceLayers = field(default_factory=SubresourceLayers)
    source_offset: Triple = (0, 0, 0)
    destination: SubresourceLayers = field(default_factory=SubresourceLayers)
    destination_offset: Triple = (0, 0, 0)
    extent: Triple | None = None


@dataclass(frozen=True)
class ImageBlit:
    """A box of an image that is scaled into a box of another.

    Attributes
    ----------
    source, destination : SubresourceLayers
    source_corners, destination_corners : tuple of tuple of int, or None
        Two opposite corners in texels, by default those of the whole level. Where corners of one box are in another order than those of
        the other, the picture is mirrored.
    """

    source: SubresourceLayers = field(default_factory=SubresourceLayers)
    source_corners: tuple[Triple, Triple] | None = None
    destination: SubresourceLayers = field(default_factory=SubresourceLayers)
    destination_corners: tuple[Triple, Triple] | None = None


class Box(NamedTuple):
    """A box of an image level in elements: first column, row and slice (or layer), and how many of each."""

    first: Triple
    extent: Triple

    def overlaps(self, other: Box) -> bool:
        """Tell whether two boxes share an element."""
        pairs = zip(self.first, self.extent, other.first, other.extent, strict=True)
        return all(a < c + d and c < a + b for a, b, c, d in pairs)


class BufferPart(NamedTuple):
    """The elements of a buffer that a region names, in elements: the first, from row to row, from slice to slice."""

    first: int
    row: int
    slice: int


class BufferRegion(NamedTuple):
    """A region of a copy between buffer and image: a box of one aspect of a level, and elements of the buffer."""

    level: int
    aspect: str
    box: Box
    part: BufferPart


class ImagePair(NamedTuple):
    """A region of a copy from image to image: level, aspect and box of the source, then of the destination."""

    source_level: int
    source_aspect: str
    source: Box
    level: int
    aspect: str
    destination: Box


def listed(regions: Iterable[Region], kind: type[Region]) -> list[Region]:
    """Return regions as a list.

    Raises
    ------
    InputError
        One that is something else.
    """
    found = list(regions)
    for number, region in enumerate(found):
        if not isinstance(region, kind):
            raise region_error(number, f"{region!r:.60} is no {kind.__name__}")
    return found


def region_error(number: int, message: str) -> InputError:
    """Return the error of a region, with its number as the place."""
    return InputError(f"region {number}: {message}")


def aspect_of(image: Image, subresource: SubresourceLayers) -> str:
    """Return the aspect that a subresource names, or the only one that the image has.

    Raises
    ------
    InputError
        An aspect that the image does not have, or none where it has two.
    """
    form = image.format
    held = [name for name, has in (("depth", form.has_depth), ("stencil", form.has_stencil)) if has] or ["color"]
    if not subresource.aspect and len(held) == 1:
        return held[0]
    if not subresource.aspect:
        raise InputError(f"an image of {form.name} has {' and '.join(held)}: a region names one of them")
    if subresource.aspect not in held:
        asked = repr(subresource.aspect) if subresource.aspect in _ASPECTS else f"{subresource.aspect!r}, which is none of {', '.join(_ASPECTS)},"
        raise InputError(f"aspect {asked} of an image of {form.name}, which has {' and '.join(held)}")
    return subresource.aspect


def level_extent(image: Image, level: int) -> Triple:
    """Return width, height and depth of a level in texels."""
    request = image.surface.request
    depth = request.depth if request.is_3d else 1
    return max(request.width >> level, 1), max(request.height >> level, 1), max(depth >> level, 1)


def whole_level(image: Image, level: int) -> tuple[SubresourceLayers, Triple]:
    """Return all layers of a level, and its extent."""
    layers = 1 if image.surface.request.is_3d else image.surface.request.array_size
    return SubresourceLayers(level, 0, layers), level_extent(image, level)


def check_subresource(image: Image, subresource: SubresourceLayers) -> None:
    """Raise InputError for a level or layers that an image does not have."""
    request = image.surface.request
    if not image.address:
        raise InputError("an image that has been released")
    if not 0 <= index(subresource.level) < request.levels:
        raise InputError(f"level {subresource.level} of an image of {request.levels}")
    layers = 1 if request.is_3d else request.array_size
    first, count = index(subresource.first_layer), index(subresource.layer_count)
    if not 0 <= first < first + count <= layers:
        raise InputError(f"{count} layers from {first} on of an image of {layers}")


def box_of(image: Image, subresource: SubresourceLayers, offset: Sequence[int], extent: Sequence[int] | None) -> Box:
    """Return a region of an image as a box of elements.

    Raises
    ------
    InputError
        A region that is not within the level, or cuts blocks of a compressed format.
    """
    check_subresource(image, subresource)
    level = level_extent(image, subresource.level)
    x, y, z = (index(part) for part in offset)
    width, height, depth = (index(part) for part in extent) if extent is not None else (
        size - first for size, first in zip(level, (x, y, z), strict=True))
    for axis, first, size, limit in zip("xyz", (x, y, z), (width, height, depth), level, strict=True):
        if not 0 <= first < first + size <= limit:
            raise InputError(f"{size} texels from {first} on in {axis}: level {subresource.level} has {limit}")
    block_width, block_height, block_depth = image.format.block
    if block_depth > 1:
        raise UnsupportedError(f"copies of {image.format.name}: blocks with a depth")
    for axis, first, size, limit, block in (("x", x, width, level[0], block_width), ("y", y, height, level[1], block_height)):
        if first % block or (size % block and first + size != limit):
            raise InputError(f"{size} texels from {first} on in {axis} cut blocks of {block}")
    slices = (z, depth) if image.surface.request.is_3d else (subresource.first_layer, subresource.layer_count)
    columns, rows = x // block_width, y // block_height
    return Box((columns, rows, slices[0]), (-(-width // block_width), -(-height // block_height), slices[1]))
