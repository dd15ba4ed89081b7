"""A texture as files hold it: format, extent, and the elements of each level, row by row."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pyaco.errors import InputError
from pyaco.formats import PixelFormat, pixel_format

__all__ = ["Texture", "TextureShape", "unpacked"]

_MOST = 1 << 15


@dataclass(frozen=True)
class TextureShape:
    """What a texture is, without its data.

    Attributes
    ----------
    format : str
        Pixel format.
    width, height : int
        Texels of level 0.
    depth : int
        Slices of a 3D texture; 0: it is 2D.
    layers : int
        Array layers; of cubes, six for each.
    cube : bool
    level_count : int

    Raises
    ------
    InputError
        An extent that no texture has.
    """

    format: str
    width: int
    height: int
    depth: int = 0
    layers: int = 1
    cube: bool = False
    level_count: int = 1

    def __post_init__(self) -> None:
        for name in ("width", "height", "depth", "layers", "level_count"):
            if not isinstance(getattr(self, name), int):
                raise InputError(f"{name} of a texture: {getattr(self, name)!r:.60} is no integer")
        if not isinstance(self.cube, (bool, int)):
            raise InputError(f"cube of a texture: {self.cube!r:.60} is neither true nor false")
        if self.pixel_format.bits % 8 or not self.pixel_format.bits:
            raise InputError(f"a texture of {self.format}, whose texels are no whole bytes of one plane")
        if not (0 < self.width <= _MOST and 0 < self.height <= _MOST and 0 <= self.depth <= _MOST and 0 < self.layers <= _MOST):
            raise InputError(f"a texture of {self.width} x {self.height} x {self.depth} texels and {self.layers} layers: up to {_MOST} each")
        if self.depth and self.layers > 1:
            raise InputError(f"a 3D texture of {self.layers} layers")
        if self.cube and (self.layers % 6 or self.width != self.height or self.depth):
            raise InputError(f"a cube of {self.layers} faces of {self.width} x {self.height} x {self.depth} texels")
        if not 0 < self.level_count <= max(self.width, self.height, self.depth).bit_length():
            raise InputError(f"{self.level_count} levels of a texture of {self.width} x {self.height} x {self.depth} texels")

    @property
    def pixel_format(self) -> PixelFormat:
        """The pixel format."""
        return pixel_format(self.format)

    def extent(self, level: int) -> tuple[int, int]:
        """Return the elements of a row, and the rows, of a level."""
        width, height, _ = self.pixel_format.block
        return -(-max(self.width >> level, 1) // width), -(-max(self.height >> level, 1) // height)

    def slices(self, level: int) -> int:
        """Return the layers of a level, or its slices."""
        return max(self.depth >> level, 1) if self.depth else self.layers

    def slice_bytes(self, level: int) -> int:
        """Return the bytes of one layer or slice of a level."""
        columns, rows = self.extent(level)
        return columns * rows * (self.pixel_format.bits // 8)

    def level_bytes(self, level: int) -> int:
        """Return the bytes of a level with all its layers or slices."""
        return self.slices(level) * self.slice_bytes(level)


@dataclass(frozen=True)
class Texture:
    """A texture.

    Attributes
    ----------
    shape : TextureShape
    levels : tuple of bytes
        Of each level all layers (or slices), one after the other: rows of elements without padding.

    Raises
    ------
    InputError
        Levels of other sizes than those of the shape.
    """

    shape: TextureShape
    levels: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.shape, TextureShape) or not isinstance(self.levels, tuple) or not all(isinstance(one, bytes) for one in self.levels):
            raise InputError("a texture consists of a TextureShape and a tuple of bytes")
        found, wanted = [len(level) for level in self.levels], [self.shape.level_bytes(level) for level in range(self.shape.level_count)]
        if found != wanted:
            raise InputError(f"levels of {found} bytes, not of {wanted}")


def unpacked(what: str, form: str, data: bytes, offset: int) -> tuple[int, ...]:
    """Read numbers at an offset of a file.

    Raises
    ------
    InputError
        The file ends before.
    """
    end = offset + struct.calcsize(form)
    if end > len(data):
        raise InputError(f"byte {offset}: the file of {len(data)} bytes ends in its {what}")
    return struct.unpack_from(form, data, offset)
