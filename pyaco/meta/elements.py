"""Images as arrays of elements: an unsigned integer format as wide as a texel or a block, and views of one level in it.

What is viewed as something else keeps its bits: a texel of any format is seen as an unsigned integer of its size, a block of a compressed
format as one texel. A level of blocks may be larger than level 0 of the blocks halved, because block counts are rounded up at every
level, and hardware halves; such levels have a view of their own. The rules are those of ``blorp_copy`` (``blorp_copy_get_formats``,
``blorp_surf_convert_to_uncompressed``) and of RADV's image views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyaco.addrlib.driver.queries import non_block_compressed_view
from pyaco.descriptors.buffer import texel_buffer
from pyaco.emu.images import Image, ImageView
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat, pixel_format
from pyaco.targets.features import has_non_block_compressed_views, has_swizzle_modes

if TYPE_CHECKING:
    from pyaco.emu.buffers import Buffer

__all__ = ["ELEMENT_FORMATS", "ElementView", "MemoryElements", "component_kind", "element_bytes", "element_format", "element_view",
           "parts_of_element", "same_size", "shows_all_layers", "unencoded"]

ELEMENT_FORMATS = {1: "R8_UINT", 2: "R16_UINT", 4: "R32_UINT", 8: "R32G32_UINT", 12: "R32_UINT", 16: "R32G32B32A32_UINT"}
"""Formats in which elements are moved, by their bytes; those of 12 bytes are moved as three."""


def element_bytes(image: Image, aspect: str) -> int:
    """Return the bytes of an element of an aspect."""
    return 1 if aspect == "stencil" else image.surface.element_bytes


def element_format(image: Image, aspect: str) -> str:
    """Return the format in which an aspect's elements are moved."""
    return ELEMENT_FORMATS[element_bytes(image, aspect)]


def parts_of_element(image: Image) -> int:
    """Return how many texels of the element format an element is: 3 of 96 bits, else 1."""
    return 3 if image.surface.element_bytes == 12 else 1


def component_kind(form: PixelFormat) -> str:
    """Return what components of a format are to a shader: ``float``, ``int`` or ``uint``."""
    first = form.first_channel
    if first is None or not first.integer:
        return "float"
    return "int" if first.type == "signed" else "uint"


@dataclass(frozen=True)
class ElementView:
    """A view whose words were worked out; what a binding of a dispatch takes."""

    view: ImageView
    words: tuple[int, ...]

    @property
    def bound_address(self) -> int:
        """Device address of the image, for messages."""
        return self.view.bound_address

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """Return the descriptor.

        Raises
        ------
        InputError
            As `ImageView.parts`.
        """
        self.view.parts(gfx_level)
        return {"image": self.words}


@dataclass(frozen=True)
class MemoryElements:
    """All memory of an image, metadata included, or of a buffer, as elements of 1, 2, 4, 8 or 16 bytes; a rest is not seen."""

    memory: Image | Buffer
    size: int

    @property
    def bound_address(self) -> int:
        """Device address of the memory, for messages."""
        return self.memory.address

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """Return the descriptor.

        Raises
        ------
        InputError
            What has been released.
        """
        if not self.memory.address:
            raise InputError("memory of an image or a buffer that has been released")
        count = self.memory.memory.nbytes if isinstance(self.memory, Image) else self.memory.size
        return {"buffer": texel_buffer(self.memory.address, count // self.size * self.size, ELEMENT_FORMATS[self.size], gfx_level)}


def shows_all_layers(image: Image, level: int) -> bool:
    """Tell whether one view shows all layers of a level as elements, or each layer needs one of its own."""
    request = image.surface.request
    if not request.is_compressed or not has_non_block_compressed_views(image.surface.config.level):
        return True
    return _halves(*request.level_extent(0), level) == request.level_extent(level)


def element_view(image: Image, level: int, aspect: str, layer: int, *, storage: bool) -> tuple[ImageView | ElementView, int]:
    """Return a view of a level in its element format, and which layer or slice of the image is its first.

    Parameters
    ----------
    image : Image
    level : int
    aspect : str
        ``color``, ``depth`` or ``stencil``.
    layer : int
        The first layer or slice that must be seen; where not `shows_all_layers`, the only one that is.
    storage : bool
        Whether it is written to.

    Raises
    ------
    UnsupportedError
        A level that no view of the chip shows as elements.
    """
    request, form = image.surface.request, image.format
    kind = "3d" if request.is_3d else "2d_msaa_array" if request.samples > 1 else "2d_array"
    name = element_format(image, aspect)
    levels = None if request.samples > 1 else (level, 1)
    view = image.view(kind, format=name, levels=levels, storage=storage, stencil=aspect == "stencil")
    if parts_of_element(image) == 3:
        return ImageView(image, replace(view.part, width=3 * request.width, block_width=3)), 0
    if not form.is_compressed:
        return view, 0
    columns, rows = request.level_extent(0)
    view = ImageView(image, replace(view.part, width=columns, height=rows))
    if _halves(columns, rows, level) == request.level_extent(level):
        return view, 0
    if has_non_block_compressed_views(image.surface.config.level):
        return _level_alone(image, view, level, layer), layer
    if _may_be_first(image):
        return _level_as_first(image, view, level), 0
    return _widened(image, view, level), 0


def _halves(columns: int, rows: int, level: int) -> tuple[int, int]:
    return max(columns >> level, 1), max(rows >> level, 1)


def _level_alone(image: Image, view: ImageView, level: int, layer: int) -> ElementView:
    """Return a view of one layer of a level whose blocks are more than those of level 0 halved."""
    request, surface = image.surface.request, image.surface
    if request.is_3d or not request.is_compressed:
        raise UnsupportedError(f"level {level} of {image!r} as elements: {surface.config.name} has views of one level for 2D images of 4x4 blocks")
    found = non_block_compressed_view(surface.config, surface.layout, level, layer)
    part = replace(view.part, address=view.part.address + found.base_address_offset, width=found.width, height=found.height,
                   first_level=found.level, last_level=found.level, levels=found.num_levels, first_layer=0, last_layer=0, depth=0)
    alone = ImageView(image, part)
    first, *others = alone.words
    swizzle = surface.layout.tile_swizzle
    return ElementView(alone, (first & ~swizzle | found.tile_swizzle, *others))


def _may_be_first(image: Image) -> bool:
    """Before GFX9: level 0 of tiles is padded to other heights than levels behind it, and rows of level 0 to 64 elements."""
    request, surface = image.surface.request, image.surface
    return not has_swizzle_modes(surface.config.level) and not request.is_3d and request.layers == 1 and not surface.layout.is_linear


def _level_as_first(image: Image, view: ImageView, level: int) -> ImageView:
    """Return a view in which a level is level 0 of an image of its own, as drivers view every level before GFX9."""
    columns, rows = image.surface.request.level_extent(level)
    return ImageView(image, replace(view.part, width=columns, height=rows, base_level=level, first_level=0, last_level=0, levels=1))


def _widened(image: Image, view: ImageView, level: int) -> ImageView:
    """Return a view whose level 0 is as large as makes the level and those before it large enough; padding must hold what is added.

    Before GFX9 the levels before it must be padded as they are, too, since the hardware adds them up.
    """
    extents = [image.surface.request.level_extent(before) for before in range(level + 1)]
    width = max(columns << before for before, (columns, _) in enumerate(extents))
    height = max(rows << before for before, (_, rows) in enumerate(extents))
    if width > image.surface.pitch or height > image.surface.height:
        raise UnsupportedError(f"level {level} of {image!r} as elements: level 0 has no padding for {width} x {height}")
    return ImageView(image, replace(view.part, width=width, height=height))


def same_size(first: Image, first_aspect: str, second: Image, second_aspect: str) -> None:
    """Raise InputError where two images do not have elements of the same size: formats are compatible for copies where they have."""
    sizes = element_bytes(first, first_aspect), element_bytes(second, second_aspect)
    if sizes[0] != sizes[1]:
        raise InputError(f"a copy of {first.format.name} to {second.format.name}: elements of {sizes[0]} and {sizes[1]} bytes")


def unencoded(form: PixelFormat) -> str:
    """Return the name of a format that holds what is encoded for sRGB as it is."""
    name = form.name.replace("_SRGB", "_UNORM")
    return pixel_format(name).name
