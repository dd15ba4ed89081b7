"""HTILE: for each 8 by 8 pixels of depth, the range of depths (HiZ), and how depth and stencil are stored. A word of 32 bits each.

===========  ================================  =================================================
bits         depth alone                       depth and stencil
===========  ================================  =================================================
0 to 3       ZMASK                             ZMASK
4 to 17      least depth
18 to 31     greatest depth
4 to 5                                         SR0: result of the stencil test, 3 is unknown
6 to 7                                         SR1 (or the X shading rate)
8 to 9                                         SMEM
10 to 11                                       nothing (or the Y shading rate)
12 to 17                                       how far the other end of the range is from the base
18 to 31                                       the base: greatest depth, or least (ZRANGE_PRECISION 0)
===========  ================================  =================================================

ZMASK is 0 for a tile that is fast-cleared, whose depth stands in a register, and 0xF for one that is stored plainly; SMEM is 0 and 3 for
stencil. Other values are of compressed tiles. Depths have 14 bits. Distances below 16 are themselves, and 63 is any distance. How
the hardware codes planes of depth, compressed stencil, and the other distances is not public. A range that is written here is never
smaller than the depths of the tile: its ends are rounded outwards, and a distance of 16 or more becomes 63.

Sources: PAL's ``gfx6MaskRam.cpp`` and ``gfx9MaskRam.cpp`` (Htile: GetClearValue, GetInitialValue, GetPlaneMask); Mesa's
``radv_meta_clear.c`` and ``radv_image.h`` (the same with shading rates).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib import Surface, SurfaceUse
from pyaco.addrlib.driver.metadata_addresses import metadata_addresses, metadata_levels, metadata_part
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata.depths import decode_depth, pack_depth
from pyaco.metadata.memory import bytes_of, chosen, part_of, raw_texels, write_raw_texels
from pyaco.targets.features import has_swizzle_modes

__all__ = [
    "CLEARED", "EXPANDED", "STENCIL_EXPANDED", "ClearPlan", "Tiles", "clear_plan", "clear_word", "cleared_tiles", "decode_words", "encode_words",
    "expand", "fast_clear", "has_tile_stencil", "initial_word", "initialize", "places_of", "plane_mask", "ranges", "read_words",
    "resummarize", "write_words",
]

CLEARED = 0
"""ZMASK or SMEM of a tile that is fast-cleared."""
EXPANDED = 0xF
"""ZMASK of a tile whose depths are stored plainly."""
STENCIL_EXPANDED = 3
"""SMEM of a tile whose stencil is stored plainly."""

_MOST = 0x3FFF
_ANY = 0x3F
_DEPTH, _STENCIL = 0xFFFFFC0F, 0x000003F0
_RATES = 3 << 6 | 3 << 10
_TILE = 8
_Words = NDArray[np.uint32]


class Tiles(NamedTuple):
    """What words of HTILE say, an array for each field; depths are 0 to 0x3FFF. Of depth alone, the stencil's fields are 0.

    With shading rates, `sr1` is the X rate and `rate_y` the Y rate; otherwise `rate_y` is what the unused bits hold.
    """

    zmask: NDArray[np.int64]
    least: NDArray[np.int64]
    greatest: NDArray[np.int64]
    smem: NDArray[np.int64]
    sr0: NDArray[np.int64]
    sr1: NDArray[np.int64]
    rate_y: NDArray[np.int64]


@checked
def encode_words(tiles: Tiles, *, stencil: bool, base_is_greatest: bool = True) -> _Words:
    """Return words of HTILE.

    Parameters
    ----------
    tiles : Tiles
        The fields; they broadcast.
    stencil : bool
        Whether the words have room for stencil (`has_tile_stencil`).
    base_is_greatest : bool
        ZRANGE_PRECISION: whether the base of a range is its greatest depth, not its least.

    Returns
    -------
    numpy.ndarray
        uint32. A distance of 16 or more, of words with stencil, becomes any distance.

    Raises
    ------
    InputError
        A field that is too large, or a range whose least depth is above its greatest.
    """
    fields = np.broadcast_arrays(*(np.asarray(field) for field in tiles))
    limits = (15, _MOST, _MOST, 3, 3, 3, 3)
    for name, values, most in zip(Tiles._fields, fields, limits, strict=True):
        if values.dtype.kind not in "iu" or (values.size and (values.min() < 0 or values.max() > most)):
            raise InputError(f"{name} of HTILE: integers from 0 to {most}")
    zmask, least, greatest, smem, sr0, sr1, rate_y = (values.astype(np.int64) for values in fields)
    if (least > greatest).any():
        raise InputError("a range of depths whose least is above its greatest")
    if not stencil:
        if (smem | sr0 | sr1 | rate_y).any():
            raise InputError("HTILE of depth alone has no fields of stencil")
        return (zmask | least << 4 | greatest << 18).astype(np.uint32)
    distance = greatest - least
    base = greatest if base_is_greatest else least
    coded = np.where(distance < 16, distance, _ANY)
    return (zmask | sr0 << 4 | sr1 << 6 | smem << 8 | rate_y << 10 | coded << 12 | base << 18).astype(np.uint32)


@checked
def decode_words(words: ArrayLike, *, stencil: bool, base_is_greatest: bool = True) -> Tiles:
    """Return what words of HTILE say: the inverse of `encode_words`.

    Parameters
    ----------
    words : array_like of int
        Words.
    stencil : bool
        Whether the words have room for stencil.
    base_is_greatest : bool
        ZRANGE_PRECISION.

    Raises
    ------
    UnsupportedError
        A distance between least and greatest depth whose code is not public: 16 to 62.
    """
    given = np.asarray(words)
    if given.dtype.kind not in "iu" or (given.size and (given.min() < 0 or given.max() > 0xFFFFFFFF)):
        raise InputError("words of HTILE are unsigned integers of 32 bits")
    word = given.astype(np.int64)
    zmask, base, nothing = word & 15, word >> 18, np.zeros_like(word)
    if not stencil:
        return Tiles(zmask, word >> 4 & _MOST, base, nothing, nothing, nothing, nothing)
    coded = word >> 12 & 63
    odd = (coded >= 16) & (coded != _ANY)
    if odd.any():
        raise UnsupportedError(f"HTILE: distance code {int(coded[odd].ravel()[0])} of a range of depths")
    distance = np.where(coded == _ANY, _MOST, coded)
    least = np.maximum(base - distance, 0) if base_is_greatest else base
    greatest = base if base_is_greatest else np.minimum(base + distance, _MOST)
    return Tiles(zmask, least, greatest, word >> 8 & 3, word >> 4 & 3, word >> 6 & 3, word >> 10 & 3)


@checked
def clear_word(depth: float, *, stencil: bool, shading_rates: bool = False) -> int:
    """Return the word that a fast clear writes.

    Parameters
    ----------
    depth : float
        0 to 1.
    stencil : bool
        Whether the words have room for stencil.
    shading_rates : bool
        Whether the words also have shading rates (GFX10.3).

    Examples
    --------
    >>> hex(clear_word(1.0, stencil=False)), hex(clear_word(1.0, stencil=True)), hex(clear_word(0.0, stencil=True))
    ('0xfffffff0', '0xfffc00f0', '0xf0')
    """
    if not 0 <= depth <= 1:
        raise InputError(f"depths are from 0 to 1, not {depth}")
    value = int(depth * _MOST + 0.5)
    if not stencil:
        return value << 18 | value << 4
    return value << 18 | (0x3 if shading_rates else 0xF) << 4


@checked
def initial_word(*, stencil: bool, shading_rates: bool = False) -> int:
    """Return the word that says nothing of a tile: stored plainly, any depth, unknown results of the stencil test.

    Parameters
    ----------
    stencil : bool
        Whether the words have room for stencil.
    shading_rates : bool
        Whether the words also have shading rates (GFX10.3).

    Examples
    --------
    >>> hex(initial_word(stencil=False)), hex(initial_word(stencil=True))
    ('0xfffc000f', '0xfffff3ff')
    """
    if not stencil:
        return _MOST << 18 | EXPANDED
    return _MOST << 18 | _ANY << 12 | STENCIL_EXPANDED << 8 | (0x3 if shading_rates else 0xF) << 4 | EXPANDED


@checked
def plane_mask(*, depth: bool, stencil: bool, tile_stencil: bool, shading_rates: bool = False) -> int:
    """Return the bits of a word that a clear of depth, of stencil, or of both may write.

    Parameters
    ----------
    depth, stencil : bool
        What is cleared.
    tile_stencil : bool
        Whether the words have room for stencil.
    shading_rates : bool
        Whether the words also have shading rates (GFX10.3), which stay.
    """
    if not tile_stencil:
        return 0xFFFFFFFF if depth else 0
    mask = (_DEPTH if depth else 0) | (_STENCIL if stencil else 0)
    return mask & ~_RATES if shading_rates else mask


def has_tile_stencil(surface: Surface) -> bool:
    """Return whether the words of a surface's HTILE have room for stencil.

    They do without stencil, too, where texture units read HTILE on GFX8: a workaround of drivers.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth or stencil.
    """
    readable = not has_swizzle_modes(surface.config.level) and bool(surface.layout.flags & SurfaceUse.TC_COMPATIBLE_HTILE)
    return surface.format.has_stencil or readable


@checked
def places_of(surface: Surface, mip: int = 0, layers: Iterable[int] | int | None = None) -> NDArray[np.int64]:
    """Return where the words of a level's tiles lie.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    mip : int
        Level.
    layers : int or iterable of int, optional
        Layers; all by default.

    Returns
    -------
    numpy.ndarray
        int64 of shape (layers, rows, columns) of tiles: numbers of words from the start of the surface's memory.
    """
    shape = surface.tiled.level_shape(mip)
    z, y, x = np.ix_(
        np.asarray(chosen(layers, shape[0], "layer"), np.int64), np.arange(0, shape[1], _TILE), np.arange(0, shape[2], _TILE))
    return metadata_addresses(surface.config, surface.layout, "htile", x, y, z, mip=mip) >> 3


def _memory_words(surface: Surface, memory: NDArray[Any]) -> _Words:
    data = bytes_of(surface, memory)
    return data[: data.size // 4 * 4].view(np.uint32)


@checked
def read_words(surface: Surface, memory: NDArray[Any], mip: int = 0) -> _Words:
    """Return the words of a level's tiles.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included.
    mip : int
        Level.

    Returns
    -------
    numpy.ndarray
        uint32 of shape (layers, rows, columns) of tiles.

    Raises
    ------
    InputError
        A surface, or level, without HTILE.
    UnsupportedError
        A chip without HTILE (GFX12 has HiZ and HiS surfaces), or HTILE whose addresses are not public.
    """
    return _memory_words(surface, memory)[places_of(surface, mip)]


@checked
def write_words(surface: Surface, memory: NDArray[Any], words: NDArray[Any], mip: int = 0) -> None:
    """Put words, in the shape that `read_words` gives, into HTILE.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included.
    words : numpy.ndarray
        Shape (layers, rows, columns) of tiles.
    mip : int
        Level.
    """
    places = places_of(surface, mip)
    given = np.asarray(words)
    if given.shape != places.shape or given.dtype.kind not in "iu":
        raise InputError(f"words of shape {places.shape}, not {given.dtype} of {given.shape}")
    _memory_words(surface, memory)[places] = given.astype(np.uint32)


@checked
def initialize(surface: Surface, memory: NDArray[Any]) -> None:
    """Fill HTILE with `initial_word`, padding included, as drivers do before they use a surface.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included.
    """
    part_of(surface, memory, "htile").view(np.uint32)[:] = initial_word(stencil=has_tile_stencil(surface))


def _levels(surface: Surface, mips: Iterable[int] | int | None) -> list[int]:
    count = metadata_levels(surface.layout, "htile")
    wanted = chosen(mips, surface.request.levels, "level")
    if max(wanted, default=0) >= count:
        raise UnsupportedError(f"level {max(wanted)} of a surface whose first {count} levels have HTILE")
    return list(wanted)


@checked
def fast_clear(
    surface: Surface, memory: NDArray[Any], *, depth: float | None = None, stencil: int | None = None,
    mips: Iterable[int] | int | None = None, layers: Iterable[int] | int | None = None,
) -> int:
    """Clear depth, stencil, or both, by HTILE alone; the values go to `expand`, as to the registers of the hardware.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included; HTILE is changed.
    depth : float, optional
        0 to 1; where texture units read HTILE, 0 or 1.
    stencil : int, optional
        0 to 255; where texture units read HTILE, 0.
    mips, layers : int or iterable of int, optional
        What to clear; all by default.

    Returns
    -------
    int
        The bits of words that were written.

    Raises
    ------
    InputError
        Nothing to clear, or a value that the surface does not hold.
    UnsupportedError
        A value or level that cannot be cleared so. Nothing is written then.
    """
    word, mask, places = clear_plan(surface, depth=depth, stencil=stencil, mips=mips, layers=layers)
    words = part_of(surface, memory, "htile").view(np.uint32) if places is None else _memory_words(surface, memory)
    for part in [slice(None)] if places is None else places:
        words[part] = words[part] & np.uint32(mask ^ 0xFFFFFFFF) | np.uint32(word & mask)
    return mask


class ClearPlan(NamedTuple):
    """What a fast clear writes.

    Attributes
    ----------
    word, mask : int
        The word, and its bits that are written.
    places : list of numpy.ndarray or None
        Numbers of words from the start of the surface's memory; None for all of HTILE, padding included.
    """

    word: int
    mask: int
    places: list[NDArray[np.int64]] | None


@checked
def clear_plan(
    surface: Surface, *, depth: float | None = None, stencil: int | None = None, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None,
) -> ClearPlan:
    """Return what `fast_clear` writes, whoever does it.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    depth, stencil, mips, layers
        As `fast_clear` takes them.

    Raises
    ------
    InputError, UnsupportedError
        As of `fast_clear`.
    """
    form = surface.format
    if (depth is None and stencil is None) or (stencil is not None and not form.has_stencil) or (depth is not None and not form.has_depth):
        raise InputError(f"a fast clear of {form.name}: depth, stencil, or both, as the format has them")
    if stencil is not None and not 0 <= stencil <= 255:
        raise InputError(f"stencil is from 0 to 255, not {stencil}")
    readable = bool(surface.layout.flags & SurfaceUse.TC_COMPATIBLE_HTILE)
    if readable and (depth not in (None, 0, 1) or stencil not in (None, 0)):
        raise UnsupportedError(f"fast clears to depth {depth}, stencil {stencil} where texture units read HTILE: depth 0 or 1 and stencil 0")
    tile_stencil = has_tile_stencil(surface)
    metadata_part(surface.config, surface.layout, "htile")
    mask = plane_mask(depth=depth is not None, stencil=stencil is not None, tile_stencil=tile_stencil)
    if tile_stencil and not form.has_stencil:
        mask = 0xFFFFFFFF
    levels = _levels(surface, mips)
    # all that HTILE is of can be cleared without an address
    whole = layers is None and set(levels) == set(range(metadata_levels(surface.layout, "htile")))
    places = None if whole else [places_of(surface, mip, layers) for mip in levels]
    return ClearPlan(clear_word(depth or 0.0, stencil=tile_stencil), mask, places)


def _words_or_one(surface: Surface, memory: NDArray[Any], mip: int) -> _Words:
    """Return the words of a level's tiles, also where their addresses are not known but all of HTILE is one word."""
    try:
        return read_words(surface, memory, mip)
    except UnsupportedError:
        everything = part_of(surface, memory, "htile").view(np.uint32)
        if (everything != everything[0]).any():
            raise
        shape = surface.tiled.level_shape(mip)
        return np.full((shape[0], -(-shape[1] // _TILE), -(-shape[2] // _TILE)), everything[0], np.uint32)


@checked
def ranges(surface: Surface, memory: NDArray[Any], mip: int = 0) -> NDArray[np.float32]:
    """Return the range of depths of each tile, as HiZ has it.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included.
    mip : int
        Level.

    Returns
    -------
    numpy.ndarray
        float32 of shape (layers, rows, columns, 2): least and greatest depth.
    """
    tiles = decode_words(_words_or_one(surface, memory, mip), stencil=has_tile_stencil(surface))
    return (np.stack([tiles.least, tiles.greatest], -1) / _MOST).astype(np.float32)


def _of_pixels(tiles: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return tiles.repeat(_TILE, 1).repeat(_TILE, 2)[:, : shape[1], : shape[2]]


def _cleared(values: NDArray[np.int64], expanded: int, what: str) -> NDArray[np.bool_]:
    odd = (values != CLEARED) & (values != expanded)
    if odd.any():
        raise UnsupportedError(f"HTILE: {what} {int(values[odd].ravel()[0]):#x} of a compressed tile")
    return np.asarray(values == CLEARED)


@checked
def expand(
    surface: Surface, memory: NDArray[Any], *, depth: float | None = None, stencil: int | None = None, mips: Iterable[int] | int | None = None,
) -> int:
    """Write the values of fast-cleared tiles into texels; all tiles are stored plainly afterwards, and HTILE says nothing of them.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included; it is changed.
    depth, stencil : float, int, optional
        The values of the clear, where tiles are cleared.
    mips : int or iterable of int, optional
        Levels; by default those that have HTILE.

    Returns
    -------
    int
        How many tiles were cleared, in depth or stencil.

    Raises
    ------
    InputError
        Cleared tiles and no value for them.
    UnsupportedError
        Tiles that are compressed. Nothing is written then.
    """
    found = cleared_tiles(surface, memory, depth=depth, stencil=stencil, mips=mips)
    form = surface.format
    count = 0
    for mip, flat, inked in found:
        if flat.any() and depth is not None:
            _write(surface, memory, mip, flat, pack_depth(form, depth), False)
        if inked.any() and stencil is not None:
            _write(surface, memory, mip, inked, np.array([stencil], np.uint8), form.has_depth)
        count += int((flat | inked).sum())
    word = initial_word(stencil=has_tile_stencil(surface))
    if len(found) == metadata_levels(surface.layout, "htile"):
        part_of(surface, memory, "htile").view(np.uint32)[:] = word
    else:
        for mip, _, _ in found:
            _memory_words(surface, memory)[places_of(surface, mip)] = word
    return count


@checked
def cleared_tiles(
    surface: Surface, memory: NDArray[Any], *, depth: float | None = None, stencil: int | None = None, mips: Iterable[int] | int | None = None,
) -> list[tuple[int, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return what `expand` works on, whoever does it: each level, and which of its tiles are cleared in depth and in stencil.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included.
    depth, stencil, mips
        As `expand` takes them.

    Raises
    ------
    InputError, UnsupportedError
        As of `expand`.
    """
    metadata_part(surface.config, surface.layout, "htile")
    form, found = surface.format, []
    for mip in _levels(surface, range(metadata_levels(surface.layout, "htile")) if mips is None else mips):
        words = _words_or_one(surface, memory, mip).astype(np.int64)
        # Fields are taken by themselves: the code of a distance does not matter here.
        flat = _cleared(words & 15, EXPANDED, "ZMASK") if form.has_depth else np.zeros(words.shape, np.bool_)
        inked = _cleared(words >> 8 & 3, STENCIL_EXPANDED, "SMEM") if form.has_stencil else np.zeros(words.shape, np.bool_)
        for cleared, value, what in ((flat, depth, "depth"), (inked, stencil, "stencil")):
            if cleared.any() and value is None:
                raise InputError(f"tiles of level {mip} that are cleared: their {what}")
        found.append((mip, flat, inked))
    return found


def _write(surface: Surface, memory: NDArray[Any], mip: int, tiles: NDArray[np.bool_], value: NDArray[np.uint8], beside: bool) -> None:
    """Write one value to the texels of tiles: those of depth, or of stencil `beside` it."""
    texels = raw_texels(surface, memory, mip, beside)
    texels[_of_pixels(tiles, texels.shape)] = value
    write_raw_texels(surface, memory, texels, mip, beside)


@checked
def resummarize(surface: Surface, memory: NDArray[Any], *, mips: Iterable[int] | int | None = None, exact: bool = True) -> None:
    """Make HTILE's ranges anew from the depths in memory, which must be stored plainly.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface of depth with HTILE.
    memory : numpy.ndarray
        Its memory, metadata included; HTILE is changed.
    mips : int or iterable of int, optional
        Levels; by default those that have HTILE.
    exact : bool
        Whether to look at the depths; otherwise tiles get the word that says nothing, as drivers do where that is enough.

    Raises
    ------
    UnsupportedError
        Tiles that are fast-cleared or compressed.
    """
    stencil = has_tile_stencil(surface)
    if not surface.format.has_depth:
        raise InputError(f"ranges of depths of {surface.format.name}")
    for mip in _levels(surface, range(metadata_levels(surface.layout, "htile")) if mips is None else mips):
        before = read_words(surface, memory, mip).astype(np.int64)
        if (before & 15 != EXPANDED).any():
            raise UnsupportedError(f"new ranges of tiles that are not stored plainly, in level {mip}: expand them first")
        if not exact:
            kept = _STENCIL if stencil else 0
            write_words(surface, memory, before & kept | initial_word(stencil=stencil) & (kept ^ 0xFFFFFFFF), mip)
            continue
        depths = np.clip(decode_depth(surface.format, raw_texels(surface, memory, mip)).astype(np.float64), 0, 1)
        # What is no number may be any depth.
        low, high = (_over_tiles(np.where(np.isnan(depths), end, depths), function) for function, end in ((np.minimum, 0.0), (np.maximum, 1.0)))
        tiles = Tiles(
            np.int64(EXPANDED) * np.ones_like(before), np.floor(low * _MOST).astype(np.int64), np.ceil(high * _MOST).astype(np.int64),
            *((before >> shift & 3 if stencil else np.zeros_like(before)) for shift in (8, 4, 6, 10)))
        write_words(surface, memory, encode_words(tiles, stencil=stencil), mip)


def _over_tiles(depths: NDArray[np.float64], function: np.ufunc) -> NDArray[np.float64]:
    """Return the least or greatest depth of each tile, over its pixels and their samples."""
    pixels = function.reduce(depths, axis=3) if depths.ndim > 3 else depths
    rows = function.reduceat(pixels, np.arange(0, pixels.shape[1], _TILE), axis=1)
    return np.asarray(function.reduceat(rows, np.arange(0, pixels.shape[2], _TILE), axis=2))
