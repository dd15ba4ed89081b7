"""CMASK: for each 8 by 8 pixels of a colour surface, whether it is fast-cleared, and how much of FMASK counts. Four bits each.

The upper two bits are set unless the tile is cleared. The lower two say how many bits of FMASK for each sample are in use: none (every
sample is in fragment 0), or 1, 2, or all of them; a surface of one sample has 3. A cleared tile is 0, and its colour stands in a
register (CB_COLOR_CLEAR_WORD). Where DCC does the clearing, CMASK says 0xC: fragment 0 for all samples, and DCC has the colour.

Sources: PAL's ``gfx6MaskRam.cpp`` and ``gfx9MaskRam.cpp`` (values of fresh and of cleared CMASK), Mesa's ``radv_meta_clear.c``. Of
codes from 1 to 0xB, and of FMASK that is in use in part, the meaning of the memory is not public.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib import Surface
from pyaco.addrlib.driver.metadata_addresses import metadata_addresses, metadata_part
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import fmask
from pyaco.metadata.colors import pack_color
from pyaco.metadata.memory import bytes_of, chosen, raw_texels, write_raw_texels
from pyaco.targets.features import has_cmask

__all__ = [
    "CLEARED", "CLEARED_BY_DCC", "NOT_CLEARED", "decompress_fmask", "effective_words", "eliminate", "expanded_code", "fast_clear",
    "fast_clear_code", "initialize", "is_cleared", "part_of_surface", "places_of",
    "read_codes", "used_bits", "write_codes",
]

CLEARED = 0x0
"""Code of a tile whose colour is in the register."""

CLEARED_BY_DCC = 0xC
"""Code of a tile all of whose samples are in fragment 0, which DCC may have cleared."""

NOT_CLEARED = 0xF
"""Code of a tile of one sample that is not cleared."""

_TILE = 8


@checked
def is_cleared(codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which codes say that a tile is fast-cleared.

    Parameters
    ----------
    codes : numpy.ndarray
        Codes, as `read_codes` gives them.

    Raises
    ------
    UnsupportedError
        A code whose meaning is not public: 1 to 0xB.
    """
    given = np.asarray(codes)
    odd = (given != CLEARED) & (given < CLEARED_BY_DCC)
    if odd.any():
        raise UnsupportedError(f"CMASK code {int(given[odd].ravel()[0]):#x}")
    return np.asarray(given == CLEARED)


@checked
def used_bits(code: int) -> int:
    """Return how many bits of FMASK for each sample are in use in a tile: 0, 1, 2, or 4 where all are.

    Parameters
    ----------
    code : int
        The code of a tile that is not cleared.

    Raises
    ------
    InputError
        The code of a cleared tile, or none.

    Examples
    --------
    >>> [used_bits(code) for code in (0xC, 0xD, 0xE, 0xF)]
    [0, 1, 2, 4]
    """
    if not CLEARED_BY_DCC <= code <= 0xF:
        raise InputError(f"CMASK code {code:#x} is not that of a tile that is not cleared")
    return (0, 1, 2, 4)[code & 3]


@checked
def expanded_code(samples: int, fragments: int) -> int:
    """Return the code of a tile that is not cleared and whose FMASK counts: what drivers fill CMASK with.

    Parameters
    ----------
    samples, fragments : int
        Samples of a pixel; fragments that colour is stored for.

    Examples
    --------
    >>> [hex(expanded_code(samples, samples)) for samples in (1, 2, 4, 8)]
    ['0xf', '0xd', '0xe', '0xf']
    """
    if samples == 1 and fragments == 1:
        return NOT_CLEARED
    return {1: 0xD, 2: 0xE, 4: 0xF}[fmask.index_bits(samples, fragments)]


@checked
def fast_clear_code(surface: Surface) -> int:
    """Return the code that a fast clear fills CMASK with.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK.
    """
    if not surface.layout.meta_size:
        return CLEARED
    return CLEARED_BY_DCC if surface.request.samples > 1 else NOT_CLEARED


@checked
def part_of_surface(surface: Surface) -> tuple[int, int]:
    """Return where CMASK starts, and its size, in bytes; of one sample it starts at 0, in a buffer of its own.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK, of GFX6 to GFX10.3.

    Raises
    ------
    InputError
        A surface without CMASK.
    UnsupportedError
        A surface with several levels, or a chip without CMASK.
    """
    if surface.request.levels > 1:
        raise UnsupportedError("CMASK of a surface with several levels: drivers do not use it")
    if not has_cmask(surface.config.level):
        raise UnsupportedError(f"CMASK on {surface.config.name}: GFX11 and later have none")
    return metadata_part(surface.config, surface.layout, "cmask")


def _part(surface: Surface, memory: NDArray[Any], cmask: NDArray[Any] | None) -> NDArray[np.uint8]:
    """Return CMASK's bytes: part of the memory, or a buffer of its own."""
    data = bytes_of(surface, memory)
    offset, size = part_of_surface(surface)
    if surface.request.samples > 1:
        return data[offset : offset + size]
    if cmask is None:
        raise InputError("CMASK of a surface of one sample is a buffer of its own: `cmask`")
    return bytes_of(surface, cmask, size)


@checked
def places_of(surface: Surface, layers: Iterable[int] | int | None = None) -> NDArray[np.int64]:
    """Return where the codes of tiles lie.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK.
    layers : int or iterable of int, optional
        Layers; all by default.

    Returns
    -------
    numpy.ndarray
        int64 of shape (layers, rows, columns) of tiles: nibbles from the start of CMASK.
    """
    request = surface.request
    offset, _ = metadata_part(surface.config, surface.layout, "cmask")
    wanted = np.asarray(chosen(layers, request.layers, "layer"), np.int64)
    z, y, x = np.ix_(wanted, np.arange(0, request.height, _TILE), np.arange(0, request.width, _TILE))
    return metadata_addresses(surface.config, surface.layout, "cmask", x, y, z) - 2 * offset


@checked
def read_codes(surface: Surface, memory: NDArray[Any], *, cmask: NDArray[Any] | None = None) -> NDArray[np.uint8]:
    """Return the codes of all tiles.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK, of GFX6 to GFX10.3.
    memory : numpy.ndarray
        Its memory, metadata included.
    cmask : numpy.ndarray, optional
        CMASK of a surface of one sample, which is a buffer of its own.

    Returns
    -------
    numpy.ndarray
        uint8 of shape (layers, rows, columns) of tiles.

    Raises
    ------
    InputError
        A surface without CMASK.
    UnsupportedError
        A chip without CMASK: GFX11 and later.
    """
    part = _part(surface, memory, cmask)
    places = places_of(surface)
    return part[places >> 1] >> ((places & 1) << 2).astype(np.uint8) & np.uint8(15)


@checked
def write_codes(surface: Surface, memory: NDArray[Any], codes: NDArray[Any], *, cmask: NDArray[Any] | None = None) -> None:
    """Put codes, in the shape that `read_codes` gives, into CMASK.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK.
    memory : numpy.ndarray
        Its memory, metadata included.
    codes : numpy.ndarray
        0 to 15, of shape (layers, rows, columns) of tiles.
    cmask : numpy.ndarray, optional
        CMASK of a surface of one sample.
    """
    part = _part(surface, memory, cmask)
    places = places_of(surface)
    given = np.asarray(codes)
    if given.shape != places.shape or given.dtype.kind not in "iu" or (given.size and (given.min() < 0 or given.max() > 15)):
        raise InputError(f"codes from 0 to 15 of shape {places.shape}, not {given.dtype} of {given.shape}")
    _set(part, places, given.astype(np.uint8))


def _set(part: NDArray[np.uint8], places: NDArray[np.int64], codes: NDArray[np.uint8]) -> None:
    """Write nibbles: those in the lower and those in the upper halves of bytes, each of which no two tiles share."""
    for half, kept in ((0, 0xF0), (1, 0x0F)):
        mine = (places & 1) == half
        where = places[mine] >> 1
        part[where] = part[where] & np.uint8(kept) | codes[mine] << np.uint8(4 * half)


@checked
def initialize(surface: Surface, memory: NDArray[Any], *, cmask: NDArray[Any] | None = None) -> None:
    """Fill CMASK with `expanded_code`, padding included, as drivers do before they use a surface.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK.
    memory : numpy.ndarray
        Its memory, metadata included.
    cmask : numpy.ndarray, optional
        CMASK of a surface of one sample.
    """
    request = surface.request
    _part(surface, memory, cmask)[:] = 0x11 * expanded_code(request.samples, request.storage_samples)


@checked
def fast_clear(
    surface: Surface, memory: NDArray[Any], *, layers: Iterable[int] | int | None = None, cmask: NDArray[Any] | None = None,
) -> int:
    """Clear a surface by its CMASK; the colour goes to `eliminate`, as to the register of the hardware.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK.
    memory : numpy.ndarray
        Its memory, metadata included; CMASK is changed.
    layers : int or iterable of int, optional
        Layers to clear; all by default, with CMASK's padding.
    cmask : numpy.ndarray, optional
        CMASK of a surface of one sample.

    Returns
    -------
    int
        The code that was written: `CLEARED`, or what leaves clearing to DCC.
    """
    part = _part(surface, memory, cmask)
    code = fast_clear_code(surface)
    if layers is None:
        part[:] = 0x11 * code
        return code
    places = places_of(surface, layers)
    _set(part, places, np.full(places.shape, code, np.uint8))
    return code


def _of_pixels(surface: Surface, tiles: NDArray[Any]) -> NDArray[Any]:
    """Return what tiles say of each pixel: (layers, height, width)."""
    return tiles.repeat(_TILE, 1).repeat(_TILE, 2)[:, : surface.request.height, : surface.request.width]


def _uniform(part: NDArray[np.uint8]) -> int | None:
    """Return the code that all of CMASK has, padding included, if it is one: then no address is needed."""
    first = int(part[0])
    return first & 15 if first == 0x11 * (first & 15) and bool((part == first).all()) else None


def _codes(surface: Surface, memory: NDArray[Any], cmask: NDArray[Any] | None) -> NDArray[np.uint8]:
    """Return the codes of all tiles, also where addresses are not known but all codes are the same."""
    code = _uniform(_part(surface, memory, cmask))
    if code is None:
        return read_codes(surface, memory, cmask=cmask)
    request = surface.request
    return np.full((request.layers, -(-request.height // _TILE), -(-request.width // _TILE)), code, np.uint8)


@checked
def eliminate(
    surface: Surface, memory: NDArray[Any], color: Sequence[float], *, cmask: NDArray[Any] | None = None,
) -> int:
    """Write the clear colour into the tiles that CMASK says are cleared: CB_ELIMINATE_FAST_CLEAR.

    Of several samples, fragment 0 gets the colour, and CMASK says that all samples are there.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with CMASK, of one level.
    memory : numpy.ndarray
        Its memory, metadata included; it is changed.
    color : sequence of float or int
        Red, green, blue, alpha of the clear.
    cmask : numpy.ndarray, optional
        CMASK of a surface of one sample.

    Returns
    -------
    int
        How many tiles were cleared.

    Raises
    ------
    UnsupportedError
        A code whose meaning is not public; CMASK whose addresses are not, unless all tiles are alike.
    """
    part = _part(surface, memory, cmask)
    codes = _codes(surface, memory, cmask)
    cleared = is_cleared(codes)
    count = int(cleared.sum())
    if not count:
        return 0
    texels = raw_texels(surface, memory)
    target = texels if surface.request.storage_samples == 1 else texels[:, :, :, 0]
    target[_of_pixels(surface, cleared)] = pack_color(surface.format.name, color)
    write_raw_texels(surface, memory, texels)
    after = CLEARED_BY_DCC if surface.request.samples > 1 else NOT_CLEARED
    if count == cleared.size:
        part[:] = 0x11 * after
    else:
        write_codes(surface, memory, np.where(cleared, after, codes), cmask=cmask)
    return count


@checked
def effective_words(surface: Surface, memory: NDArray[Any]) -> NDArray[Any]:
    """Return FMASK's words as CMASK says they count: what texture units read where CMASK is compatible with them.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface without cleared tiles.
    memory : numpy.ndarray
        Its memory, metadata included.

    Returns
    -------
    numpy.ndarray
        As `pyaco.metadata.fmask.read_words`.

    Raises
    ------
    InputError
        A tile that is still cleared, or a code that no such surface has.
    UnsupportedError
        A tile that uses a part of FMASK's bits.
    """
    request = surface.request
    words = fmask.read_words(surface, memory)
    codes = _codes(surface, memory, None)
    if is_cleared(codes).any():
        raise InputError("tiles that are fast-cleared: eliminate the clear first")
    full = expanded_code(request.samples, request.storage_samples)
    if (codes > full).any():
        raise InputError(f"CMASK code {int(codes.max()):#x} of a surface whose FMASK counts with {full:#x}")
    partial = (codes != CLEARED_BY_DCC) & (codes != full)
    if partial.any():
        raise UnsupportedError(f"FMASK that is in use in part: CMASK code {int(codes[partial][0]):#x}")
    words[_of_pixels(surface, codes == CLEARED_BY_DCC)] = 0
    return words


@checked
def decompress_fmask(surface: Surface, memory: NDArray[Any], color: Sequence[float] | None = None) -> None:
    """Make FMASK count everywhere, whatever CMASK said: CB_FMASK_DECOMPRESS, which eliminates fast clears as well.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface.
    memory : numpy.ndarray
        Its memory, metadata included; it is changed.
    color : sequence of float or int, optional
        Red, green, blue, alpha of the clear, where tiles are still cleared.

    Raises
    ------
    InputError
        Cleared tiles and no colour.
    UnsupportedError
        A tile that uses a part of FMASK's bits.
    """
    if color is not None:
        eliminate(surface, memory, color)
    fmask.write_words(surface, memory, effective_words(surface, memory))
    initialize(surface, memory)
