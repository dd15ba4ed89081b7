"""The parts of a surface's memory that hold metadata, and the texels that metadata describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib import Surface
from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.driver.metadata_addresses import metadata_part
from pyaco.errors import InputError

__all__ = ["bytes_of", "chosen", "part_of", "raw_texels", "write_raw_texels"]

Bytes = NDArray[np.uint8]


def bytes_of(surface: Surface, memory: NDArray[Any], size: int | None = None) -> Bytes:
    """Return the bytes of a surface, metadata included, of memory that may have another type.

    Raises
    ------
    InputError
        Memory that is no plain array, or too small: `size` bytes, by default those of the surface.
    """
    if not isinstance(surface, Surface):
        raise InputError(f"a surface is a pyaco.addrlib.Surface, not {type(surface).__name__}")
    wanted = surface.total_size if size is None else size
    if not isinstance(memory, np.ndarray) or not memory.flags.c_contiguous or memory.dtype.hasobject:
        raise InputError("the memory: not a C-contiguous array of numbers")
    if memory.nbytes < wanted:
        raise InputError(f"the memory: {memory.nbytes} bytes, the surface and its metadata have {wanted}")
    return memory.reshape(-1).view(np.uint8)[:wanted]


def part_of(surface: Surface, memory: NDArray[Any], kind: str) -> Bytes:
    """Return the bytes of one kind of metadata, a view of the memory."""
    data = bytes_of(surface, memory)
    offset, size = metadata_part(surface.config, surface.layout, kind)
    return data[offset : offset + size]


def chosen(numbers: Iterable[int] | int | None, count: int, what: str) -> range | list[int]:
    """Return which of `count` levels or layers are meant: all by default.

    Raises
    ------
    InputError
        One that the surface does not have.
    """
    if numbers is None:
        return range(count)
    given = [numbers] if isinstance(numbers, (int, np.integer)) else list(numbers)
    for number in given:
        check_integers("surface", **{what: number})
        if not 0 <= number < count:
            raise InputError(f"{what} {number} of a surface of {count}")
    return given


def raw_texels(surface: Surface, memory: NDArray[Any], mip: int = 0, stencil: bool = False) -> Bytes:
    """Return the texels of a level as bytes: (slices, height, width), samples if there are several, then the bytes of an element."""
    data = bytes_of(surface, memory)
    tiled, offset = surface.part(stencil)
    found = tiled.detile(data[offset:], mip=mip)
    return found.view(np.uint8).reshape(*tiled.level_shape(mip), tiled.element_bytes)


def write_raw_texels(surface: Surface, memory: NDArray[Any], texels: Bytes, mip: int = 0, stencil: bool = False) -> None:
    """Put the texels of a level into memory, in the shape that `raw_texels` gives."""
    data = bytes_of(surface, memory)
    tiled, offset = surface.part(stencil)
    tiled.tile(np.ascontiguousarray(texels), data[offset:], mip=mip)
