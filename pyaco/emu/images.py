"""Images in a device's memory, and views of them, as descriptors show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib import Surface, SurfaceUse
from pyaco.arguments import checked
from pyaco.descriptors.hardware_format import memory_swizzle
from pyaco.descriptors.image import ImageView as ViewedPart
from pyaco.descriptors.image import image_descriptor
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu.origins import maker
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat, pixel_format
from pyaco.host_memory import zeros_at_line
from pyaco.targets.features import has_surfaces_1d, has_swizzle_modes

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["PAGE_BYTES", "Image", "ImagePlanes", "ImageView", "SampledImage"]

PAGE_BYTES = 1 << 16
"""Of a page of a sparse image, which is resident or not as a whole."""

_TYPES = {"1d": 8, "2d": 9, "3d": 10, "cube": 11, "1d_array": 12, "2d_array": 13, "cube_array": 11, "2d_msaa": 14, "2d_msaa_array": 15}
_NARROW, _FLAT = 8, 2
_UNCOMPRESSED = SurfaceUse.DISABLE_DCC | SurfaceUse.NO_FMASK | SurfaceUse.NO_HTILE


class Image:
    """An image as drivers lay it out on a device's chip.

    Parameters
    ----------
    space : AddressSpace
    target : str
        A gfx name; several chips may have it, and the first of them is meant.
    format : str
        Pixel format.
    width, height : int
        Pixels of level 0.
    name : str
        What reports call it.
    sparse : bool
        Only pages that `map_pages` maps have memory: others read as zeros, stores to them are dropped, and instructions with a residency
        status say so.
    compressed : bool
        With the metadata that drivers give it: DCC, CMASK, FMASK or HTILE, all zeros (`pyaco.metadata` has what initialises them). Views show
        texels as they lie in memory, without their metadata.
    options
        ``depth``, ``layers``, ``mips``, ``samples``, ``cube``, ``linear``, ``swizzle_mode``, ``use`` as `pyaco.addrlib.Surface` takes them.

    Attributes
    ----------
    surface : pyaco.addrlib.Surface
    address : int
        Device address of the surface.
    memory : numpy.ndarray
        The surface's bytes, which the device works on.
    """

    def __init__(self, space: AddressSpace, target: str, *, format: str, width: int, height: int = 1, name: str = "", sparse: bool = False,
                 compressed: bool = False, use: int = 0, **options: Any) -> None:  # fmt: skip
        use = SurfaceUse(use) | (SurfaceUse(0) if compressed else _UNCOMPRESSED) | (SurfaceUse.PRT if sparse else SurfaceUse(0))
        self.surface = Surface(target, format=format, width=width, height=height, use=use, **options)
        if _is_better_linear(self.surface):
            self.surface = Surface(target, format=format, width=width, height=height, use=use, **{**options, "linear": True})
        if "swizzle_mode" in options:
            self.surface.level_shape()          # a mode that lays out a surface may have no addresses for its elements: say so now, not at a dispatch
        if sparse and any(getattr(level, "tile_index", 0) < 0 for level in getattr(self.surface.layout, "levels", ())):
            raise UnsupportedError(f"sparse images on {target} in the emulator: the chip's table has no tile mode for them")
        self.memory = zeros_at_line(max(self.surface.total_size, 4))
        self._space, self.sparse = space, sparse
        self._origin, alignment = maker("image", name, self.surface.size), max(self.surface.base_align, 256)
        self._mapped: set[int] = set()
        if sparse:
            pages = -(-self.memory.size // PAGE_BYTES)
            self.memory = zeros_at_line(pages * PAGE_BYTES)
            self.address: int = space.reserve(self.memory.size, max(alignment, PAGE_BYTES))
        else:
            self.address = space.map(self.memory, False, alignment, self._origin)

    @property
    def format(self) -> PixelFormat:
        """The pixel format."""
        return self.surface.format

    @checked
    def write(self, texels: ArrayLike, mip: int = 0, *, stencil: bool = False) -> None:
        """Put the texels of a level into memory; shapes as `pyaco.addrlib.Surface.tile` takes them.

        Raises
        ------
        InputError
            Texels that do not fit the level.
        """
        self.surface.tile(texels, self.memory[: self.surface.size], mip=mip, stencil=stencil)

    def numpy(self, mip: int = 0, *, stencil: bool = False) -> NDArray[Any]:
        """Return the texels of a level: (slices, height, width), then samples and channels, as `pyaco.addrlib.Surface.detile` does."""
        return self.surface.detile(self.memory[: self.surface.size], mip=mip, stencil=stencil)

    @checked
    def map_pages(self, pages: Iterable[int] | None = None) -> None:
        """Give pages of a sparse image memory.

        Parameters
        ----------
        pages : iterable of int, optional
            Numbers of pages of `PAGE_BYTES` bytes, from the start of the image's `memory`, which they show; by default all.

        Raises
        ------
        InputError
            The image is not sparse or has been released, or it has no such page.
        """
        for page in self._pages(pages):
            if page not in self._mapped:
                first = page * PAGE_BYTES
                self._space.map_at(self.address + first, self.memory[first : first + PAGE_BYTES], self._origin)
                self._mapped.add(page)

    @checked
    def unmap_pages(self, pages: Iterable[int] | None = None) -> None:
        """Take the memory of pages away again, by default of all; arguments and errors as of `map_pages`. What they hold stays in `memory`."""
        for page in self._pages(pages):
            if page in self._mapped:
                self._space.release(self.address + page * PAGE_BYTES)
                self._mapped.remove(page)

    def _pages(self, pages: Iterable[int] | None) -> list[int]:
        count = self.memory.size // PAGE_BYTES
        if not self.sparse or not self.address:
            raise InputError("pages are those of a sparse image" if not self.sparse else "the image has been released already")
        chosen = list(range(count) if pages is None else pages)
        if any(not 0 <= page < count for page in chosen):
            raise InputError(f"pages {chosen} of a sparse image that has {count}")
        return chosen

    def pages_of(self, mip: int = 0) -> NDArray[Any]:
        """Return the numbers of the pages that texels of a level lie in, ascending."""
        tables = self.surface.tiled.tables(mip)
        found: list[NDArray[Any]] = []
        for z in range(len(tables.slice)):
            rows = (tables.base(z, 0) & ~tables.low) + (tables.y & ~tables.low)[:, None] + (tables.x & ~tables.low)[None, :]
            flips = (tables.base(z, 0) ^ tables.y[:, None] ^ tables.x[None, :]) & tables.low
            found.append(numpy.unique((rows | flips) // PAGE_BYTES))
        return numpy.unique(numpy.concatenate(found))

    def release(self) -> None:
        """Take the image's addresses away: accesses to them stop a dispatch.

        Raises
        ------
        InputError
            It has been released already.
        """
        if not self.address:
            raise InputError("the image has been released already")
        if self.sparse:
            self._space.give_back(self.address)
        else:
            self._space.release(self.address)
        self.address = 0

    @property
    def bound_address(self) -> int:
        """Device address, for messages."""
        return self.address

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """Return the descriptor of a view of all of it."""
        return self.view().parts(gfx_level)

    @property
    def _natural_type(self) -> str:
        request = self.surface.request
        if request.is_3d:
            return "3d"
        if request.is_cube:
            return "cube"
        kind = "2d_msaa" if request.samples > 1 else "2d"
        return kind + ("_array" if request.layers > 1 else "")

    @checked
    def view(
        self, type: str = "", *, format: str = "", levels: Sequence[int] | None = None, layers: Sequence[int] | None = None,
        swizzle: Sequence[int] | None = None, storage: bool = False, stencil: bool = False, min_lod: float = 0.0,
    ) -> ImageView:
        """Return a part of the image, as a descriptor shows it.

        Parameters
        ----------
        type : str
            ``1d``, ``2d``, ``3d``, ``cube``, ``1d_array``, ``2d_array``, ``cube_array``, ``2d_msaa`` or ``2d_msaa_array``; by default what the
            image is.
        format : str
            Pixel format, where it is another than the image's.
        levels, layers : sequence of int, optional
            First, and how many; all by default.
        swizzle : sequence of int, optional
            For x, y, z and w: the component of the format, or 4 for zero and 5 for one.
        storage : bool
            Whether the view is written to: of a 3D image, the layers are slices then.
        stencil : bool
            Stencil beside depth.
        min_lod : float
            The least level of detail, counted from level 0 of the image.

        Raises
        ------
        InputError
            Levels or layers that the image does not have, or a swizzle of other numbers.
        """
        request = self.surface.request
        kind = type or self._natural_type
        if kind not in _TYPES:
            raise InputError(f"a view of type {kind!r}; there are {', '.join(_TYPES)}")
        for what, given, length in (("levels", levels, 2), ("layers", layers, 2), ("swizzle", swizzle, 4)):
            if given is not None and len(given) != length:
                raise InputError(f"{what} of a view: {length} numbers, not {list(given)}")
        count = request.depth if request.is_3d else request.layers
        first_level, level_count = levels if levels is not None else (0, request.levels)
        first_layer, layer_count = layers if layers is not None else (0, count)
        if not 0 <= first_level < first_level + level_count <= request.levels or not 0 <= first_layer < first_layer + layer_count <= count:
            raise InputError(f"levels {first_level} and {level_count - 1} more, layers {first_layer} and {layer_count - 1} more of an image with "
                             f"{request.levels} and {count}")
        viewed = pixel_format(format) if format else self.format
        return ImageView(self, ViewedPart(
            self.address, viewed.name, request.width, request.height, self._depth(kind, first_layer + layer_count - 1), self._hardware_type(kind),
            _composed(viewed, swizzle), self.format.name, request.samples, request.fragments, first_level, first_level + level_count - 1,
            request.levels, first_layer, first_layer + layer_count - 1, min_lod, storage and kind == "3d", stencil=stencil,
            block_width=viewed.block[0]))

    def _hardware_type(self, kind: str) -> int:
        """GFX9 lays 1D images out as 2D ones, and drivers view them so."""
        if not has_surfaces_1d(self.surface.config.level) and kind.startswith("1d"):
            return _TYPES[kind.replace("1", "2")]
        return _TYPES[kind]

    def _depth(self, kind: str, last_layer: int) -> int:
        """Depth of 3D images, else the last layer; GFX10 and later hold the depth less one. GFX8: slices of the surface, cubes by six."""
        if kind != "3d":
            layers = self.surface.request.layers
            return last_layer if has_swizzle_modes(self.surface.config.level) else layers // 6 if kind.startswith("cube") else layers
        return self.surface.request.depth - (self.surface.config.level >= 100)

    def __repr__(self) -> str:
        return f"<Image {self.format.name} {self.surface.request.width}x{self.surface.request.height} at {self.address:#x}>"


def _is_better_linear(surface: Surface) -> bool:
    """Whether drivers ask for rows where they would ask for tiles: until GFX8 images of one row or two (Mesa's ``radv_choose_tiling``).

    A descriptor has one tile mode for all levels there, and addrlib would make the first level of such an image linear and the others tiled.
    """
    request = surface.request
    plain = not (surface.format.is_compressed or surface.format.has_depth or surface.format.has_stencil or request.is_3d or request.is_cube)
    flat = request.height == 1 or (request.width > _NARROW and request.height <= _FLAT)
    return not has_swizzle_modes(surface.config.level) and plain and flat and request.samples == 1


def _composed(format_: PixelFormat, swizzle: Sequence[int] | None) -> tuple[int, int, int, int]:
    """The channel of the memory for each component of the view; depth and stencil are the first component."""
    natural = memory_swizzle(format_)
    chosen = range(4) if swizzle is None else swizzle
    if any(not 0 <= entry <= 5 for entry in chosen):
        raise InputError(f"a swizzle of {list(chosen)}: numbers from 0 to 5")
    a, b, c, d = (natural[entry] if entry < 4 else entry for entry in chosen)
    return a, b, c, d


@dataclass(frozen=True)
class ImageView:
    """A part of an image, as a descriptor shows it.

    Attributes
    ----------
    image : Image
    part : pyaco.descriptors.image.ImageView
    """

    image: Image
    part: ViewedPart

    @property
    def words(self) -> tuple[int, ...]:
        """The descriptor's eight dwords.

        Raises
        ------
        InputError
            The image has been released.
        """
        if not self.image.address:
            raise InputError("an image that has been released is bound")
        return self._words

    @cached_property
    def _words(self) -> tuple[int, ...]:
        """Worked out once: a dispatch takes less time than its descriptors would, and neither surface nor part changes."""
        return image_descriptor(self.image.surface.config, self.image.surface.layout, self.part)

    @property
    def bound_address(self) -> int:
        """Device address of the image, for messages."""
        return self.image.address

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """Return the descriptor.

        Raises
        ------
        InputError
            The image is another device's, of another generation, or has been released.
        """
        if self.image.surface.config.level != gfx_level:
            raise InputError(f"an image of {self.image.surface.config.name} on a device of level {gfx_level / 10:g}")
        return {"image": self.words}


@dataclass(frozen=True)
class SampledImage:
    """An image and a sampler, as a combined image sampler holds them."""

    view: ImageView | Image
    sampler: Sampler

    @property
    def bound_address(self) -> int:
        """Device address of the image, for messages."""
        return self.view.bound_address

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """Return both descriptors."""
        return {**self.view.parts(gfx_level), "sampler": sampler_descriptor(self.sampler, gfx_level)}


@dataclass(frozen=True)
class ImagePlanes:
    """The planes of an image that an immutable sampler with a YCbCr conversion reads.

    Attributes
    ----------
    planes : sequence of ImageView or Image
        One to three, as `pyaco.descriptors.ycbcr.planes_of` says for the format. The second and third differ in nothing but their addresses.
    """

    planes: Sequence[ImageView | Image]

    def __post_init__(self) -> None:
        if not 1 <= len(self.planes) <= 3:
            raise InputError(f"{len(self.planes)} planes of an image: there are one to three")

    @property
    def bound_address(self) -> int:
        """Device address of the first plane, for messages."""
        return self.planes[0].bound_address

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """Return the descriptors of the planes, of the third its first half.

        Raises
        ------
        InputError
            As `ImageView.parts` says, or a third plane that differs from the second in more than its address.
        """
        words = [plane.parts(gfx_level)["image"] for plane in self.planes]
        found = dict(zip(("image", "plane1", "plane2"), words, strict=False))
        if len(words) == 3:
            if words[1][2:] != words[2][2:]:
                raise InputError("the third plane of an image differs from the second: descriptor sets have one half of it")
            found["plane2"] = words[2][:4]
        return found
