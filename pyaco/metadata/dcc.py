"""DCC in memory: a byte for each 256 bytes of texels. Fast clears, eliminated or decompressed into texels; displayable DCC.

`pyaco.metadata.dcc_codes` says what the bytes mean that clears write. Where no public source gives the addresses of DCC (of several samples
from GFX10 on), blocks of a surface can still be told when all of DCC holds one code, as after a fast clear of all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib import Surface
from pyaco.addrlib.driver.metadata_addresses import metadata_addresses, metadata_levels, metadata_part
from pyaco.addrlib.tiling import extent_of_block
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata.colors import pack_color
from pyaco.metadata.dcc_codes import REGISTER, UNCOMPRESSED, ClearCode, clear_code, color_of_code, is_fast_clear, register_words, single_code
from pyaco.metadata.memory import bytes_of, chosen, part_of
from pyaco.targets.features import has_planar_mip_chains, has_swizzle_modes

__all__ = ["Blocks", "ClearPlan", "blocks", "clear_plan", "cleared_blocks", "decompress", "eliminate", "fast_clear", "initialize", "read_codes",
           "retile"]

_BLOCK = 256
"""Bytes of texels that a byte of DCC describes."""


class Blocks(NamedTuple):
    """Blocks of texels, and the DCC of each: bytes from the start of the surface, in the order of the texels' addresses."""

    texels: NDArray[np.int64]
    codes: NDArray[np.int64]


@checked
def blocks(surface: Surface, mip: int = 0, layers: Iterable[int] | int | None = None) -> Blocks:
    """Return where the blocks that hold a level's texels lie, and where their DCC does.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    mip : int
        Level.
    layers : int or iterable of int, optional
        Layers; all by default.

    Raises
    ------
    InputError
        A surface, or level, without DCC.
    UnsupportedError
        DCC whose addresses are not public.
    """
    metadata_part(surface.config, surface.layout, "dcc")
    texels, (x, y, z, s) = _texel_blocks(surface, mip, layers)
    codes = metadata_addresses(surface.config, surface.layout, "dcc", x, y, z, s, mip) >> 1
    of_block = np.full(surface.tiled.size // _BLOCK + 1, -1, np.int64)
    of_block[texels.ravel()] = np.broadcast_to(codes, texels.shape).ravel()
    found = np.flatnonzero(of_block >= 0)
    return Blocks(found * _BLOCK, of_block[found])


def _texel_blocks(surface: Surface, mip: int, layers: Iterable[int] | int | None) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]:
    """Return the numbers of the blocks of texels (some more than once) and x, y, layer and sample of a texel of each."""
    shape = surface.tiled.level_shape(mip)
    t = surface.tiled.tables(mip)
    # All texels of a smaller block are in one block of 256 bytes.
    extents = (extent_of_block(surface.tiled.element_bytes, size, t.x, t.y, t.slice, t.sample) for size in (_BLOCK, _BLOCK // 2, _BLOCK // 4))
    width, height = next((extent for extent in extents if extent[0]), (0, 0))
    z, y, x, s = np.ix_(
        np.asarray(chosen(layers, shape[0], "layer"), np.int64), np.arange(0, shape[1], height or 1), np.arange(0, shape[2], width or 1),
        np.arange(shape[3] if len(shape) > 3 else 1))
    return surface.tiled.addresses(x, y, z, s, mip) // _BLOCK, (x, y, z, s)


def _levels(surface: Surface, mips: Iterable[int] | int | None) -> list[int]:
    """Return which levels are meant: by default all that have DCC."""
    count = metadata_levels(surface.layout, "dcc")
    wanted = chosen(mips, surface.request.levels, "level")
    if mips is not None and max(wanted, default=0) >= count:
        raise UnsupportedError(f"level {max(wanted)} of a surface whose first {count} levels have DCC")
    return [mip for mip in wanted if mip < count]


@checked
def read_codes(surface: Surface, memory: NDArray[Any], mip: int = 0, layers: Iterable[int] | int | None = None) -> NDArray[np.uint8]:
    """Return the code of each of `blocks`.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    memory : numpy.ndarray
        Its memory, metadata included.
    mip : int
        Level.
    layers : int or iterable of int, optional
        Layers; all by default.
    """
    return bytes_of(surface, memory)[blocks(surface, mip, layers).codes]


@checked
def initialize(surface: Surface, memory: NDArray[Any]) -> None:
    """Fill DCC, and displayable DCC, with the code of blocks that are not compressed.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    memory : numpy.ndarray
        Its memory, metadata included.
    """
    part_of(surface, memory, "dcc")[:] = UNCOMPRESSED
    if surface.layout.display_dcc_offset:
        part_of(surface, memory, "display_dcc")[:] = UNCOMPRESSED


@checked
def fast_clear(
    surface: Surface, memory: NDArray[Any], color: Sequence[float], *, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None, single: bool | None = None,
) -> ClearCode:
    """Clear levels and layers by their DCC alone.

    Of several samples, CMASK must be cleared too where there is one (`pyaco.metadata.cmask.fast_clear`).

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    memory : numpy.ndarray
        Its memory, metadata included; DCC is changed, and where the colour needs it the first element of each block.
    color : sequence of float or int
        Red, green, blue, alpha.
    mips, layers : int or iterable of int, optional
        What to clear; all by default.
    single : bool, optional
        See `pyaco.metadata.dcc_codes.clear_code`.

    Returns
    -------
    ClearCode
        The code that was written, and whether the clear must be eliminated with the colour at hand.

    Raises
    ------
    UnsupportedError
        A colour, level or layer that the chip cannot clear so. Nothing is written then.

    Examples
    --------
    >>> import numpy as np
    >>> from pyaco.addrlib import Surface
    >>> surface = Surface("navi21", format="R8G8B8A8_UNORM", width=256, height=256)
    >>> memory = np.zeros(surface.total_size, np.uint8)
    >>> initialize(surface, memory)
    >>> hex(fast_clear(surface, memory, (1, 1, 1, 1)).code)
    '0xc0'
    >>> eliminate(surface, memory)
    1024
    >>> surface.detile(memory)[200, 100].tolist()
    [255, 255, 255, 255]
    """
    data = bytes_of(surface, memory)
    plan = clear_plan(surface, color, mips=mips, layers=layers, single=single)
    for piece in plan.codes:
        data[piece] = plan.code.code
    if plan.code.is_single:
        packed = pack_color(surface.format.name, color)
        data[(plan.firsts * _BLOCK)[:, None] + np.arange(packed.size)] = packed
    return plan.code


class ClearPlan(NamedTuple):
    """What a fast clear writes.

    Attributes
    ----------
    code : ClearCode
    codes : list of slice or numpy.ndarray
        Bytes of the surface's memory that get the code: ranges, or their addresses.
    firsts : numpy.ndarray
        Numbers of the blocks of 256 bytes whose first element gets the colour: of codes that say so, else none.
    """

    code: ClearCode
    codes: list[slice | NDArray[np.int64]]
    firsts: NDArray[np.int64]


@checked
def clear_plan(
    surface: Surface, color: Sequence[float], *, mips: Iterable[int] | int | None = None, layers: Iterable[int] | int | None = None,
    single: bool | None = None,
) -> ClearPlan:
    """Return what `fast_clear` writes, whoever does it.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    color, mips, layers, single
        As `fast_clear` takes them.

    Raises
    ------
    UnsupportedError
        As of `fast_clear`.
    """
    metadata_part(surface.config, surface.layout, "dcc")
    levels = _levels(surface, mips)
    if mips is None and len(levels) < surface.request.levels:
        raise UnsupportedError(f"fast clears of all levels: of {surface.request.levels}, the first {len(levels)} have DCC")
    code = clear_code(surface.config, surface.format.name, color, single=single)
    whole = mips is None and layers is None
    codes = [piece for mip in levels for piece in _code_ranges(surface, mip, layers, whole)]
    firsts = [np.unique(_texel_blocks(surface, mip, layers)[0]) for mip in levels] if code.is_single else []
    return ClearPlan(code, codes, np.concatenate(firsts) if firsts else np.zeros(0, np.int64))


def _code_ranges(surface: Surface, mip: int, layers: Iterable[int] | int | None, whole: bool) -> list[slice | NDArray[np.int64]]:
    """Return the bytes of DCC of a level's layers: ranges where they lie together, else the addresses of their blocks."""
    start, size = metadata_part(surface.config, surface.layout, "dcc")
    layout: Any = surface.layout
    wanted = chosen(layers, surface.tiled.level_shape(mip)[0], "layer")
    if not has_swizzle_modes(surface.config.level):
        return _early_ranges(surface, mip, wanted, start)
    if has_planar_mip_chains(surface.config.level):
        # All levels share one plane, in which layers are not contiguous.
        return [slice(start, start + size)] if whole else [blocks(surface, mip, wanted).codes]
    first, length = layout.meta_level_offset[mip], layout.meta_level_size[mip]
    return [slice(at := start + layer * layout.meta_slice_size + first, at + length) for layer in wanted]


def _early_ranges(surface: Surface, mip: int, wanted: Sequence[int], start: int) -> list[slice | NDArray[np.int64]]:
    """GFX8: what of a level's DCC a fast clear may write, which is nothing where it shares lines with other levels or layers."""
    level = surface.layout.levels[mip]  # type: ignore[attr-defined]
    count = surface.tiled.level_shape(mip)[0]
    at = start + level.dcc_offset
    if len(wanted) == count and level.dcc_fast_clear_size:
        return [slice(at, at + level.dcc_fast_clear_size)]
    size = level.dcc_slice_fast_clear_size
    if not size:
        raise UnsupportedError(f"fast clears of level {mip}: its DCC shares memory with that of other levels or layers")
    return [slice(at + layer * size, at + (layer + 1) * size) for layer in wanted]


def _blocks_and_codes(surface: Surface, data: NDArray[np.uint8], mip: int, layers: Iterable[int] | int | None) -> tuple[Blocks | None, Any, Any]:
    """Return `blocks` (None where their addresses are not known), the addresses of the texels' blocks, and their codes."""
    try:
        found = blocks(surface, mip, layers)
    except UnsupportedError:
        start, size = metadata_part(surface.config, surface.layout, "dcc")
        code = data[start]
        if (data[start : start + size] != code).any():
            raise
        texels = np.unique(_texel_blocks(surface, mip, layers)[0]) * _BLOCK
        return None, texels, np.full(texels.size, code, np.uint8)
    return found, found.texels, data[found.codes]


@checked
def eliminate(
    surface: Surface, memory: NDArray[Any], color: Sequence[float] | None = None, *, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None,
) -> int:
    """Write the colours of fast-cleared blocks into their texels, whose blocks are not compressed any more. Others stay as they are.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    memory : numpy.ndarray
        Its memory, metadata included; it is changed.
    color : sequence of float or int, optional
        Red, green, blue, alpha of the clear, where blocks have their colour in the register.
    mips, layers : int or iterable of int, optional
        Where; everywhere by default.

    Returns
    -------
    int
        How many blocks were cleared.

    Raises
    ------
    InputError
        Blocks that have their colour in the register, and no colour.
    UnsupportedError
        DCC whose addresses are not public and that does not hold one code.
    """
    return _write_colors(surface, memory, color, mips, layers, everything=False)


@checked
def decompress(
    surface: Surface, memory: NDArray[Any], color: Sequence[float] | None = None, *, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None,
) -> int:
    """Make texels readable without DCC, and DCC say so: CB_DCC_DECOMPRESS.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    memory : numpy.ndarray
        Its memory, metadata included; it is changed.
    color : sequence of float or int, optional
        Red, green, blue, alpha of the clear, where blocks have their colour in the register.
    mips, layers : int or iterable of int, optional
        Where; everywhere by default.

    Returns
    -------
    int
        How many blocks were cleared.

    Raises
    ------
    InputError
        Blocks that have their colour in the register, and no colour.
    UnsupportedError
        A code of compressed texels: how the hardware compresses is not public. Nothing is written then.
    """
    return _write_colors(surface, memory, color, mips, layers, everything=True)


def _known_codes(
    surface: Surface, data: NDArray[np.uint8], color: Sequence[float] | None, mips: Iterable[int] | int | None,
    layers: Iterable[int] | int | None, everything: bool,
) -> list[tuple[Blocks | None, Any, Any]]:
    """Return `_blocks_and_codes` of levels, if all codes are such as can be written into texels."""
    config = surface.config
    metadata_part(config, surface.layout, "dcc")
    known = [_blocks_and_codes(surface, data, mip, layers) for mip in _levels(surface, mips)]
    if any(found is None for found, _, _ in known) and not (mips is None and layers is None):
        raise UnsupportedError("a part of a surface whose addresses in DCC are not public")
    for _, texels, codes in known:
        for code in np.unique(codes).tolist():
            if everything and code != UNCOMPRESSED and not is_fast_clear(config, code):
                raise UnsupportedError(f"DCC code {code:#04x} on {config.name}, in the block at byte {texels[codes == code][0]}")
            if code == REGISTER and is_fast_clear(config, code) and color is None:
                raise InputError("blocks that have their colour in the register of the clear colour: `color`")
    return known


@checked
def cleared_blocks(
    surface: Surface, memory: NDArray[Any], color: Sequence[float] | None = None, *, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None, everything: bool = False,
) -> tuple[Blocks, NDArray[np.uint32]]:
    """Return what `eliminate`, or with `everything` `decompress`, works on, whoever does it.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A colour surface with DCC.
    memory : numpy.ndarray
        Its memory, metadata included.
    color, mips, layers
        As `eliminate` takes them.
    everything : bool
        Whether all codes must be such as can be written into texels.

    Returns
    -------
    blocks : Blocks
        Of all levels and layers that are meant.
    colors : numpy.ndarray
        uint32 of shape (256, 4): the 16 bytes that texels of a block with a code consist of, where it is that of a constant colour or of the
        register.

    Raises
    ------
    InputError, UnsupportedError
        As of `eliminate` and `decompress`; DCC whose addresses are not public.
    """
    known = _known_codes(surface, bytes_of(surface, memory), color, mips, layers, everything)
    parts = [found for found, _, _ in known if found is not None]
    if len(parts) < len(known):
        raise UnsupportedError(f"blocks of DCC whose addresses are not public, on {surface.config.name}")
    colors = np.zeros((256, 16), np.uint8)
    for code in {int(code) for _, _, codes in known for code in np.unique(codes)} - {single_code(surface.config)}:
        if is_fast_clear(surface.config, code):
            colors[code] = np.tile(_texel_of_code(surface, code, color), 16 // surface.element_bytes)
    texels, codes = (np.concatenate([np.zeros(0, np.int64), *(part[column] for part in parts)]) for column in range(2))
    return Blocks(texels, codes), colors.view(np.uint32)


def _write_colors(
    surface: Surface, memory: NDArray[Any], color: Sequence[float] | None, mips: Iterable[int] | int | None,
    layers: Iterable[int] | int | None, *, everything: bool,
) -> int:
    data, config, count = bytes_of(surface, memory), surface.config, 0
    known = _known_codes(surface, data, color, mips, layers, everything)
    for found, texels, codes in known:
        for code in np.unique(codes).tolist():
            if is_fast_clear(config, code):
                mine = codes == code
                _fill(surface, data, texels[mine], code, color)
                count += int(mine.sum())
                if found is not None:
                    data[found.codes[mine]] = UNCOMPRESSED
    if any(found is None for found, _, _ in known) and count:
        part_of(surface, memory, "dcc")[:] = UNCOMPRESSED
    return count


def _fill(surface: Surface, data: NDArray[np.uint8], texels: NDArray[np.int64], code: int, color: Sequence[float] | None) -> None:
    """Write the colour of a code into blocks of texels."""
    size = surface.element_bytes
    whole = data[: data.size // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    rows = texels // _BLOCK
    if code == single_code(surface.config):
        whole[rows] = np.tile(whole[rows, :size], _BLOCK // size)
    else:
        whole[rows] = np.tile(_texel_of_code(surface, code, color), _BLOCK // size)


def _texel_of_code(surface: Surface, code: int, color: Sequence[float] | None) -> NDArray[np.uint8]:
    """Return the bytes of a texel of a block whose code says its colour, or that the register does."""
    if code == REGISTER and color is not None:
        register_words(surface.format.name, color)
        return pack_color(surface.format.name, color)
    return color_of_code(surface.config, surface.format.name, code)


@checked
def retile(surface: Surface, memory: NDArray[Any]) -> None:
    """Copy DCC to displayable DCC, which lies in the order that the display engine reads: what a driver's retile shader does.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A surface for scan-out with displayable DCC.
    memory : numpy.ndarray
        Its memory, metadata included; displayable DCC is changed.

    Raises
    ------
    InputError
        A surface without displayable DCC.
    """
    data = bytes_of(surface, memory)
    target, _ = metadata_part(surface.config, surface.layout, "display_dcc")
    start, _ = metadata_part(surface.config, surface.layout, "dcc")
    from pyaco.addrlib.driver.gfx9 import dcc_retile_map

    source_places, target_places = dcc_retile_map(surface.layout)  # type: ignore[arg-type]
    data[target_places.astype(np.int64) + target] = data[source_places.astype(np.int64) + start]
