"""A surface by chip and pixel format: its layout as drivers make it, addresses, texels to tiled memory and back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import pyaco.addrlib.describe as describe
from pyaco.addrlib.checks import check_name
from pyaco.addrlib.chips import GpuConfig, gpu_config
from pyaco.addrlib.driver.modifiers import INVALID
from pyaco.addrlib.driver.queries import compute_surface, stencil_offset, tiled_surface
from pyaco.addrlib.driver.records import SurfaceMode, SurfaceRequest, SurfaceUse
from pyaco.addrlib.records import integers_of
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat, pixel_format
from pyaco.host_memory import zeros_at_line
from pyaco.notebook import folded, table
from pyaco.targets.features import has_forced_swizzle_mode, has_swizzle_modes

if TYPE_CHECKING:
    from pyaco.addrlib.tiling import TiledSurface  # which loads numba: layouts of GFX6 to GFX8 need none

__all__ = ["Surface", "surface_request"]

_NO_USE = SurfaceUse(0)


def _element_bytes(form: PixelFormat) -> int:
    """Return the bytes of an element of the surface; stencil beside depth has a part of its own."""
    if not (form.has_depth or form.has_stencil):
        return form.bits // 8
    depth = next((channel.size for channel in form.channels if channel.letter == "Z"), 0)
    return 1 if not depth else 2 if depth == 16 else 4


@checked
def surface_request(
    format: str, width: int, height: int = 1, *, depth: int = 0, layers: int = 1, mips: int = 1, samples: int = 1, cube: bool = False,
    linear: bool = False, use: SurfaceUse = _NO_USE, modifier: int = INVALID, swizzle_mode: int | None = None,
) -> SurfaceRequest:
    """Return what to ask of the driver layer for a surface of a pixel format; the parameters are those of `Surface`.

    Parameters
    ----------
    format : str
        Pixel format, such as ``R8G8B8A8_UNORM``.
    width, height, depth : int
        Pixels; a depth other than 0 makes it 3D.
    layers, mips, samples : int
        Array layers, levels, samples per pixel.
    cube : bool
        Six faces a layer.
    linear : bool
        Rows without tiles.
    use : SurfaceUse
        What it is for.
    modifier : int
        DRM format modifier that decides the layout.
    swizzle_mode : int, optional
        Swizzle mode that is demanded (GFX9 and later).

    Returns
    -------
    SurfaceRequest

    Raises
    ------
    InputError
        No such format or extent.
    """
    form = pixel_format(format)
    if form.layout.startswith("planar"):
        raise UnsupportedError(f"{form.name}: each plane is a surface of its own; see pyaco.addrlib.plane_surfaces")
    use |= (SurfaceUse.ZBUFFER if form.has_depth else _NO_USE) | (SurfaceUse.SBUFFER if form.has_stencil else _NO_USE)
    if depth > 0 and form.is_compressed and form.bits == 128:
        # No chip renders to blocks, and GFX9 has no mode for such levels of what it renders to; Mesa's radv_image.c says so too.
        use |= SurfaceUse.NO_RENDER_TARGET
    if swizzle_mode is not None:
        use |= SurfaceUse.FORCE_SWIZZLE_MODE
    return SurfaceRequest(
        width, height, _element_bytes(form), depth or 1, form.block[0], form.block[1], samples, samples, 6 if cube else layers, mips,
        len(form.channels) or 1, is_3d=depth > 0, is_cube=cube, is_array=layers > 1,
        mode=SurfaceMode.LINEAR_ALIGNED if linear else SurfaceMode.TILED_2D, flags=use, modifier=modifier, swizzle_mode=swizzle_mode)


def _texel_type(form: PixelFormat) -> tuple[np.dtype[Any], int] | None:
    """Return NumPy's type of a channel and their number, where the channels of a format are alike and of whole bytes."""
    kinds = {(channel.type if channel.type != "void" else "unsigned", channel.size) for channel in form.channels}
    if form.layout != "plain" or (form.color_space == "zs" and len(form.channels) > 1) or len(kinds) != 1:
        return None
    kind, size = kinds.pop()
    letter = {"unsigned": "u", "signed": "i", "float": "f", "fixed": "i"}[kind]
    return (np.dtype(f"{letter}{size // 8}"), len(form.channels)) if size in ((16, 32, 64) if letter == "f" else (8, 16, 32, 64)) else None


def _from(memory: NDArray[Any], offset: int) -> NDArray[Any]:
    """Return memory from an offset in bytes on; anything that is not plain memory is passed on, for the tiling to refuse."""
    if not isinstance(memory, np.ndarray):
        raise InputError(f"memory is a NumPy array, not {type(memory).__name__}")
    plain = offset and memory.flags.c_contiguous and not memory.dtype.hasobject
    return memory.reshape(-1).view(np.uint8)[offset:] if plain else memory


@checked
class Surface:
    """One surface of a pixel format, laid out as drivers do on a chip.

    Parameters
    ----------
    chip : str or GpuConfig
        A gfx name (``gfx1030``), a chip (``navi21``) or a product (``RX 6800 XT``).
    format : str
        Pixel format, such as ``R8G8B8A8_UNORM`` or ``rgba8``; see `pyaco.formats`.
    width, height : int
        Pixels of level 0.
    depth : int
        Slices of a 3D surface; 0: the surface is 2D.
    layers, mips, samples : int
        Array layers, mip levels, samples per pixel.
    cube : bool
        Whether it is a cube, of six layers.
    linear : bool
        Rows of pixels, no tiles.
    use : SurfaceUse
        What it is for: SCANOUT, PRT, DISABLE_DCC ...
    modifier : int
        DRM format modifier that the layout must have.
    swizzle_mode : int or None
        Swizzle mode that it must have (from GFX10 on).

    Attributes
    ----------
    config : GpuConfig
    format : PixelFormat
    layout : pyaco.addrlib.driver.queries.Surface
        The driver's whole layout, metadata included.

    Raises
    ------
    InputError
        A surface that cannot be.
    UnsupportedError
        A surface that this chip cannot have.
    """

    def __init__(self, chip: str | GpuConfig, *, format: str = "R8G8B8A8_UNORM", width: int, height: int = 1, **options: Any) -> None:
        check_name("a pixel format", format)
        if not isinstance(chip, GpuConfig):
            check_name("a chip", chip)
        self.config = chip if isinstance(chip, GpuConfig) else gpu_config(chip)
        if options.get("swizzle_mode") is not None and not has_forced_swizzle_mode(self.config.level):
            raise InputError(f"a swizzle mode can be demanded from GFX10 on, not on {self.config.name}")
        self.format = pixel_format(format)
        try:
            self.request = surface_request(format, width, height, **options)
        except TypeError:
            raise InputError(f"unknown options of a surface: {', '.join(sorted(options))}") from None
        self.layout = compute_surface(self.config, self.request)

    def __repr__(self) -> str:
        return f"<Surface {self.format.name} {self.request.width}x{self.request.height} {self.swizzle_mode} on {self.config.name}>"

    @property
    def swizzle_mode(self) -> str:
        """Name of the swizzle mode, such as 64KB_R_X; before GFX9 that of level 0's arrangement (TILED_2D)."""
        if not has_swizzle_modes(self.config.level):
            return SurfaceMode(self.layout.texel_levels[0].mode).name  # type: ignore[attr-defined]
        return describe.swizzle_mode_name(self.config, self.layout.texel_swizzle_mode)  # type: ignore[attr-defined]

    @property
    def _level0(self) -> dict[str, int]:
        return describe.level0(self.config, self.layout)

    @property
    def pitch(self) -> int:
        """Elements from one row of level 0 to the next, padding included."""
        return self._level0["pitch"]

    @property
    def height(self) -> int:
        """Rows of elements of level 0, padding included."""
        return self._level0["height"]

    @property
    def slice_size(self) -> int:
        """Bytes of a slice (GFX9 and later: of all its levels)."""
        return self._level0["slice_size"]

    @property
    def element_bytes(self) -> int:
        """Bytes of an element: a pixel, or a block of a compressed format."""
        return self.layout.bpe

    @property
    def size(self) -> int:
        """Bytes of the texels, without metadata."""
        return self.layout.surf_size

    @property
    def total_size(self) -> int:
        """Bytes of texels and metadata."""
        return self.layout.total_size

    @property
    def base_align(self) -> int:
        """Alignment of the start, in bytes."""
        return 1 << self.layout.alignment_log2

    @property
    def facts(self) -> dict[str, Any]:
        """All there is to say of the layout; what ``pyaco surface --json`` prints."""
        return describe.facts(self.config, self.layout)

    @property
    def equations(self) -> dict[str, str]:
        """Address equations in words."""
        return describe.equations(self.config, self.layout)

    @cached_property
    def tiled(self) -> TiledSurface:
        """The texels' addresses; of depth with stencil, those of depth."""
        return tiled_surface(self.config, self.layout)

    @cached_property
    def _stencil(self) -> tuple[TiledSurface, int]:
        return tiled_surface(self.config, self.layout, stencil=True), stencil_offset(self.config, self.layout)

    def part(self, stencil: bool = False) -> tuple[TiledSurface, int]:
        """Return the tiled texels, or those of stencil, and their offset in the surface."""
        return self._stencil if stencil else (self.tiled, 0)

    def level_shape(self, mip: int = 0) -> tuple[int, ...]:
        """Return (slices, height, width) of a level in elements, and samples if there are several."""
        return self.tiled.level_shape(mip)

    def address(
        self, x: ArrayLike, y: ArrayLike, layer: ArrayLike = 0, mip: int = 0, sample: ArrayLike = 0, *, stencil: bool = False,
    ) -> Any:
        """Return byte addresses of the elements that hold pixels, from the start of the surface.

        Parameters
        ----------
        x, y, layer, sample : array_like of int
            Pixels of level `mip`, layer (or slice of 3D), sample; they broadcast.
        mip : int
            Level.
        stencil : bool
            Stencil beside depth.

        Returns
        -------
        int or numpy.ndarray
            An int for one pixel.

        Raises
        ------
        InputError
            A pixel outside of the level.
        """
        columns = [np.asarray(c) for c in (x, y, layer, sample)]
        if any(c.dtype.kind not in "iu" for c in columns):
            raise InputError("coordinates of pixels are integers")
        u, v, z, s = columns
        tiled, offset = self.part(stencil)
        found = tiled.addresses(u // self.layout.blk_w, v // self.layout.blk_h, z, s, mip) + offset
        return int(found) if found.ndim == 0 else found

    def coordinates(self, addresses: ArrayLike, *, stencil: bool = False) -> NDArray[Any]:
        """Return the elements at byte addresses: records of status (not 0: padding), x, y, slice, sample, mip_id."""
        tiled, offset = self.part(stencil)
        return tiled.coordinates(integers_of(addresses) - offset)

    def tile(
        self, texels: ArrayLike, memory: NDArray[Any] | None = None, *, mip: int = 0, threads: int = 1, stencil: bool = False,
    ) -> NDArray[Any]:
        """Put the texels of a level into tiled memory.

        Parameters
        ----------
        texels : array_like
            Shape (slices, height, width) in elements, then samples if there are several, then channels or bytes of an element as they come;
            one slice may be left out.
        memory : numpy.ndarray, optional
            Memory of at least `size` bytes to write to; by default new memory of `size` bytes, zeros around the level, which
            begins with a cache line: that is tiled fastest.
        mip, threads : int
            Level; threads that share the work.
        stencil : bool
            The texels are stencil beside depth, a byte each.

        Returns
        -------
        numpy.ndarray
            The memory: uint8 if it is new.

        Raises
        ------
        InputError
            Texels or memory of another size; nothing is written then.
        """
        try:
            array = np.ascontiguousarray(texels)
        except ValueError as error:
            raise InputError(f"the texels are no array: {error}") from None
        shape = self.level_shape(mip)
        if shape[0] == 1 and array.shape[: len(shape) - 1] == shape[1:]:
            array = array[None]
        target = zeros_at_line(self.size) if memory is None else memory
        tiled, offset = self.part(stencil)
        tiled.tile(array, _from(target, offset), mip=mip, threads=threads)
        return target

    def detile(self, memory: NDArray[Any], *, mip: int = 0, threads: int = 1, stencil: bool = False) -> NDArray[Any]:
        """Return the texels of a level from tiled memory; with `stencil` those of stencil beside depth.

        Returns
        -------
        numpy.ndarray
            Shape (slices, height, width) in elements, then samples if there are several; slices only of arrays, cubes and 3D. Where all
            channels are alike they are the last axis (left out for one channel), in their type; otherwise an element is one unsigned
            integer (two of 64 bits for 16 bytes).

        Raises
        ------
        InputError
            Memory that is too small.
        """
        tiled, offset = self.part(stencil)
        found = tiled.detile(_from(memory, offset), mip=mip, threads=threads)
        shape = self.level_shape(mip)
        kept = shape if self.request.is_3d or self.request.array_size > 1 else shape[1:]
        texel = None if stencil else _texel_type(self.format)
        if texel is None or texel[0].itemsize * texel[1] != self.element_bytes:
            return found.reshape(*kept, *found.shape[len(shape) :])
        return found.view(texel[0]).reshape(*kept, *((texel[1],) if texel[1] > 1 else ()))

    def _repr_html_(self) -> str:
        facts = {name: describe.text_of(value) for name, value in self.facts.items() if value not in ([], {})}
        shown = table(f"{self.format.name}, {self.request.width} x {self.request.height}", facts)
        return shown + "".join(folded(name, equation) for name, equation in self.equations.items())
