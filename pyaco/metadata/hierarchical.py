"""HiZ and HiS of GFX12: for each 8 by 8 pixels of depth or stencil, what the rasterizer must know to reject them without looking.

=====  =====  ===============================================  ================================================
part   bits   low half of an element                           high half
=====  =====  ===============================================  ================================================
HiZ    32     the least depth, a fraction of 16 bits           the greatest depth
HiS    16     the bits that all stencil values have (and)      the bits that any stencil value has (or)
=====  =====  ===============================================  ================================================

Both are surfaces of their own beside depth and stencil (`pyaco.addrlib` says where), with a texel for each tile, and as many levels, layers
and samples. Of several samples an element is of 64 samples (8 x 4 pixels of two, 4 x 4 of four, 4 x 2 of eight), and which of a tile's elements
is of which pixels is not public: what is alike for all of them can be written, but nothing summarized.

Nothing is cleared by HiZ alone, as there is by HTILE: drivers write all texels, and then what HiZ and HiS say of them.

Sources: PAL's ``gfx12Metadata.cpp`` and ``gfx12Metadata.h`` (class HiSZ: contents, initial values, those of clears, extents of levels) and
``gfx12RsrcProcMgr.cpp`` (when drivers write them); Mesa's ``ac_surface.c`` for the layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib import Surface
from pyaco.addrlib.driver.metadata_addresses import HIERARCHICAL, hierarchical_surface
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata.depths import depth_bounds
from pyaco.metadata.memory import bytes_of, chosen, part_of, raw_texels

__all__ = [
    "HIS_UNKNOWN", "HIZ_UNKNOWN", "Tiles", "clear", "contradictions", "depth_word", "expand", "initialize", "read_tiles", "resummarize",
    "stencil_word", "write_tiles",
]

HIZ_UNKNOWN = 0xFFFF0000
"""The element of HiZ of a tile of any depths."""
HIS_UNKNOWN = 0xFF00
"""The element of HiS of a tile of any stencil values."""

_TILE = 8
_UNKNOWN = {"hiz": HIZ_UNKNOWN, "his": HIS_UNKNOWN}
_Levels = Iterable[int] | int | None


class Tiles(NamedTuple):
    """What elements say: of HiZ the least and the greatest depth (0 to 0xFFFF), of HiS the and and the or of the stencil values.

    Shape (layers, rows of tiles, tiles in a row), and samples if there are several.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]


@checked
def depth_word(depth: float) -> int:
    """Return the element of HiZ of a tile whose depths are all cleared to one: the nearest fraction is the least and the greatest.

    Parameters
    ----------
    depth : float
        0 to 1.

    Examples
    --------
    >>> hex(depth_word(0.5)), hex(depth_word(1))
    ('0x80008000', '0xffffffff')
    """
    if not 0 <= depth <= 1:
        raise InputError(f"a depth of {depth}: 0 to 1")
    return int(np.float32(depth) * np.float32(0xFFFF) + np.float32(0.5)) * 0x10001


@checked
def stencil_word(stencil: int) -> int:
    """Return the element of HiS of a tile whose stencil values are all one.

    Parameters
    ----------
    stencil : int
        0 to 255.

    Examples
    --------
    >>> hex(stencil_word(0x5A))
    '0x5a5a'
    """
    if not 0 <= stencil <= 0xFF:
        raise InputError(f"a stencil value of {stencil}: 0 to 255")
    return stencil * 0x101


def _kinds(surface: Surface, kinds: Iterable[str] = HIERARCHICAL) -> list[str]:
    """Return which of HiZ and HiS the surface has.

    Raises
    ------
    UnsupportedError
        A chip before GFX12.
    InputError
        A surface with neither.
    """
    found = [kind for kind in kinds if getattr(getattr(surface.layout, kind, None), "size", 0)]
    if not found:
        hierarchical_surface(surface.config, surface.layout, "hiz")
    return found


def _words(surface: Surface, memory: NDArray[Any], kind: str, mip: int) -> NDArray[Any]:
    bytes_of(surface, memory)
    tiled = hierarchical_surface(surface.config, surface.layout, kind)
    chosen(mip, surface.request.levels, "level")
    return tiled.detile(part_of(surface, memory, kind), mip=mip)


def _put(surface: Surface, memory: NDArray[Any], kind: str, mip: int, words: NDArray[Any]) -> None:
    tiled = hierarchical_surface(surface.config, surface.layout, kind)
    tiled.tile(np.ascontiguousarray(words, tiled.dtype), part_of(surface, memory, kind), mip=mip)


@checked
def read_tiles(surface: Surface, memory: NDArray[Any], kind: str = "hiz", mip: int = 0) -> Tiles:
    """Return what HiZ or HiS says of a level.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth or stencil.
    memory : numpy.ndarray
        Its memory, metadata included.
    kind : str
        ``hiz`` or ``his``.
    mip : int
        Level.

    Returns
    -------
    Tiles

    Raises
    ------
    InputError
        A surface without it.
    UnsupportedError
        A chip before GFX12.
    """
    words = _words(surface, memory, kind, mip).astype(np.int64)
    half = HIERARCHICAL[kind] // 2
    return Tiles(words & ((1 << half) - 1), words >> half)


@checked
def write_tiles(surface: Surface, memory: NDArray[Any], tiles: Tiles, kind: str = "hiz", mip: int = 0) -> None:
    """Put what `read_tiles` gives into memory.

    Parameters
    ----------
    surface, memory, kind, mip
        As of `read_tiles`.
    tiles : Tiles
        The halves of the elements; they broadcast.

    Raises
    ------
    InputError
        Halves that are too large, or of another shape than the level.
    """
    wanted = _words(surface, memory, kind, mip)
    half = HIERARCHICAL[kind] // 2
    halves = []
    for name, given in zip(Tiles._fields, tiles, strict=True):
        values = np.asarray(given)
        if values.dtype.kind not in "iu" or (values.size and (values.min() < 0 or values.max() >> half)):
            raise InputError(f"{name} of {kind}: integers from 0 to {(1 << half) - 1}")
        try:
            halves.append(np.broadcast_to(values.astype(np.int64), wanted.shape))
        except ValueError as error:
            raise InputError(f"{name} of {kind}: shape {values.shape} for a level of {wanted.shape}") from error
    _put(surface, memory, kind, mip, halves[0] | halves[1] << half)


@checked
def initialize(surface: Surface, memory: NDArray[Any]) -> None:
    """Fill HiZ and HiS, padding included, with what says nothing, as drivers do before they use a surface.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth or stencil.
    memory : numpy.ndarray
        Its memory, metadata included.

    Raises
    ------
    InputError
        A surface without HiZ and HiS.
    UnsupportedError
        A chip before GFX12.
    """
    for kind in _kinds(surface):
        part_of(surface, memory, kind).view(f"<u{HIERARCHICAL[kind] // 8}")[:] = _UNKNOWN[kind]


def _fill(surface: Surface, memory: NDArray[Any], values: dict[str, int], mips: _Levels, layers: _Levels) -> None:
    levels, wanted = chosen(mips, surface.request.levels, "level"), chosen(layers, surface.request.layers, "layer")
    for kind, value in values.items():
        for mip in levels:
            words = _words(surface, memory, kind, mip)
            words[list(wanted)] = value
            _put(surface, memory, kind, mip, words)


@checked
def expand(surface: Surface, memory: NDArray[Any], *, mips: _Levels = None, layers: _Levels = None) -> None:
    """Let HiZ and HiS say nothing of levels and layers: what drivers do where texels were written without them.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth or stencil.
    memory : numpy.ndarray
        Its memory, metadata included.
    mips, layers : int or iterable of int, optional
        Which; by default all.

    Raises
    ------
    InputError
        A surface without HiZ and HiS, a level or layer that it does not have.
    UnsupportedError
        A chip before GFX12.
    """
    _fill(surface, memory, {kind: _UNKNOWN[kind] for kind in _kinds(surface)}, mips, layers)


@checked
def clear(surface: Surface, memory: NDArray[Any], *, depth: float | None = None, stencil: int | None = None, mips: _Levels = None,
          layers: _Levels = None) -> None:  # fmt: skip
    """Let HiZ and HiS say that texels were cleared; the texels must have been.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth or stencil.
    memory : numpy.ndarray
        Its memory, metadata included.
    depth : float, optional
        What all depths are, 0 to 1.
    stencil : int, optional
        What all stencil values are.
    mips, layers : int or iterable of int, optional
        Which; by default all.

    Raises
    ------
    InputError
        A surface without HiZ or HiS, a level or layer that it does not have, or a value that it cannot have.
    UnsupportedError
        A chip before GFX12.
    """
    values = {}
    if depth is not None:
        values["hiz"] = depth_word(depth)
    if stencil is not None:
        values["his"] = stencil_word(stencil)
    for kind in values:
        hierarchical_surface(surface.config, surface.layout, kind)
    _fill(surface, memory, values, mips, layers)


@checked
def resummarize(surface: Surface, memory: NDArray[Any], *, mips: _Levels = None, layers: _Levels = None) -> None:
    """Let HiZ and HiS say exactly what texels are: of depths the fractions next to them that leave none out.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth or stencil.
    memory : numpy.ndarray
        Its memory, metadata included.
    mips, layers : int or iterable of int, optional
        Which; by default all. Tiles beyond the extent of the level stay as they are.

    Raises
    ------
    InputError
        A surface without HiZ and HiS, a level or layer that it does not have.
    UnsupportedError
        A surface of several samples, or a chip before GFX12.
    """
    kinds = _kinds(surface)
    for mip in chosen(mips, surface.request.levels, "level"):
        wanted = list(chosen(layers, surface.request.layers, "layer"))
        for kind in kinds:
            low, high = _summary(surface, memory, kind, mip)
            words = _words(surface, memory, kind, mip)
            rows, columns = min(low.shape[1], words.shape[1]), min(low.shape[2], words.shape[2])
            found = (low | high << HIERARCHICAL[kind] // 2)[wanted, :rows, :columns]
            words[wanted, :rows, :columns] = found.astype(words.dtype)
            _put(surface, memory, kind, mip, words)


@checked
def contradictions(surface: Surface, memory: NDArray[Any], kind: str = "hiz", mip: int = 0) -> NDArray[np.bool_]:
    """Return of which tiles HiZ or HiS says what is not so: a depth that lies outside of the range by more than the rounding of a clear, a bit of
    stencil that all have or none has.

    Parameters
    ----------
    surface, memory, kind, mip
        As of `read_tiles`.

    Returns
    -------
    numpy.ndarray
        Shape (layers, rows of tiles, tiles in a row): those that have texels of the level, and elements.

    Raises
    ------
    InputError
        A surface without it.
    UnsupportedError
        A surface of several samples, or a chip before GFX12.
    """
    tiles, summary = read_tiles(surface, memory, kind, mip), _summary(surface, memory, kind, mip)
    rows, columns = min(tiles.low.shape[1], summary.low.shape[1]), min(tiles.low.shape[2], summary.low.shape[2])
    said_low, said_high, low, high = (values[:, :rows, :columns] for values in (*tiles, *summary))
    if kind == "his":
        return ((said_low & ~low) | (high & ~said_high)) != 0
    # a clear's fraction is the nearest one, which may lie on the other side of the depth
    return (said_low > low + 1) | (said_high < high - 1)


def _summary(surface: Surface, memory: NDArray[Any], kind: str, mip: int) -> Tiles:
    """Return what the texels of each tile are together."""
    hierarchical_surface(surface.config, surface.layout, kind)
    samples = surface.request.samples
    if samples > 1:
        title = "HiZ" if kind == "hiz" else "HiS"
        raise UnsupportedError(f"{title} of {samples} samples: which elements of a tile are of which pixels is not public")
    if kind == "his":
        values = raw_texels(surface, memory, mip, surface.format.has_depth)[..., 0].astype(np.int64)
        return Tiles(_each_tile(values, np.bitwise_and), _each_tile(values, np.bitwise_or))
    below, above = depth_bounds(surface.format, raw_texels(surface, memory, mip))
    return Tiles(_each_tile(below, np.minimum), _each_tile(above, np.maximum))


def _each_tile(values: NDArray[np.int64], combine: np.ufunc) -> NDArray[np.int64]:
    """Return one value for each tile of a level, whose last tiles may be cut off."""
    _, height, width = values.shape
    rows = combine.reduceat(values, np.arange(0, height, _TILE), axis=1)
    return np.asarray(combine.reduceat(rows, np.arange(0, width, _TILE), axis=2))
