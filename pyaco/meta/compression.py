"""Metadata of images by shaders: fast clears, their elimination, decompression of DCC, expansion of FMASK and HTILE, displayable DCC.

What is written, and what a code means, `pyaco.metadata` says; here shaders write it, on images of ``Device.image(compressed=True)``. An
operation that `pyaco.metadata` refuses is refused here, before anything has run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib.driver.metadata_addresses import metadata_levels, metadata_part
from pyaco.addrlib.metadata.records import fmask_bits
from pyaco.arguments import checked
from pyaco.descriptors.image import fmask_descriptor
from pyaco.emu.buffers import TexelBuffer
from pyaco.errors import InputError
from pyaco.meta.builder import Key, LayoutKey
from pyaco.meta.copies import dimension
from pyaco.meta.elements import ELEMENT_FORMATS, ElementView, MemoryElements, element_view
from pyaco.meta.metadata_shaders import CONSTANT, FIRST_ELEMENT
from pyaco.meta.queues import shader_queue
from pyaco.meta.regions import level_extent
from pyaco.metadata import cmask as cmask_codes
from pyaco.metadata import dcc, fmask, htile
from pyaco.metadata.colors import pack_color
from pyaco.metadata.dcc_codes import ClearCode, is_fast_clear, single_code
from pyaco.metadata.depths import pack_depth

if TYPE_CHECKING:
    from pyaco.emu.buffers import Buffer
    from pyaco.emu.device import Device
    from pyaco.emu.images import Image
    from pyaco.emu.report import Report
    from pyaco.meta.queues import Queue

__all__ = ["decompress_dcc", "eliminate_cmask", "eliminate_dcc", "expand_fmask", "expand_htile", "fast_clear_cmask", "fast_clear_dcc",
           "fast_clear_htile", "retile_dcc"]

_BLOCK_LOG2 = 8
"""Bytes of texels that a byte of DCC describes."""
_Places = NDArray[np.int64]


class _Work:
    """A queue with the tables of its dispatches, which live until all have run."""

    def __init__(self, device: Device, queue: str) -> None:
        self.queue: Queue = shader_queue(device, queue)
        self._device = device
        self._tables: list[Buffer] = []

    def __enter__(self) -> _Work:
        self.queue.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.queue.__exit__(kind, error, trace)
        finally:
            for table in self._tables:
                table.release()

    def table(self, rows: NDArray[Any], bytes_of_row: int) -> TexelBuffer:
        """Return rows of dwords in the device's memory."""
        self._tables.append(self._device.buffer(np.ascontiguousarray(rows, np.uint32), name="table"))
        return TexelBuffer(self._tables[-1], ELEMENT_FORMATS[bytes_of_row])

    def fill(self, memory: Image | Buffer, first: int, size: int, word: int) -> None:
        """Fill bytes of memory with a word, whose bytes are alike where they are no whole dwords."""
        unit = int(np.gcd.reduce([16, first, size]))
        if size:
            value = word & (1 << 8 * min(unit, 4)) - 1
            self.queue.dispatch("fill", Key(), [size // unit], {1: MemoryElements(memory, unit)}, [size // unit, first // unit, value])

    def fill_masked(self, memory: Image | Buffer, nibbles: _Places, bits: int, word: int) -> None:
        """Write a word's bits at places: elements of so many bits, each with its place in nibbles. A dword may hold several."""
        element = np.uint64((1 << bits) - 1) << (nibbles.ravel().astype(np.uint64) & np.uint64(7)) * np.uint64(4)
        dwords, which = np.unique(nibbles.ravel() >> 3, return_inverse=True)
        masks = np.zeros(dwords.size, np.uint64)
        np.bitwise_or.at(masks, which, element)
        rows = np.stack([dwords.astype(np.uint64), masks], 1)
        if dwords.size:
            bound = {0: MemoryElements(memory, 4), 1: MemoryElements(memory, 4), 2: self.table(rows, 8)}
            self.queue.dispatch("mask_places", Key(), [dwords.size], bound, [dwords.size, word])


# -------------------------------------------------------------------------------------------------------------------- DCC
@checked
def fast_clear_dcc(
    device: Device, image: Image, color: Sequence[float], *, mips: Iterable[int] | int | None = None, layers: Iterable[int] | int | None = None,
    single: bool | None = None, queue: str = "direct",
) -> ClearCode:  # fmt: skip
    """Clear levels and layers by their DCC alone; see `pyaco.metadata.dcc.fast_clear`.

    Parameters
    ----------
    device : Device
        That has the image.
    image : Image
        A colour image with DCC.
    color : sequence of float or int
        Red, green, blue, alpha.
    mips, layers : int or iterable of int, optional
        What to clear; all by default.
    single : bool, optional
        See `pyaco.metadata.dcc_codes.clear_code`.
    queue : str
        ``direct``: launch compute shaders; ``compute``: through the packets of a compute queue.

    Returns
    -------
    ClearCode
        The code that was written, and whether the clear must be eliminated with the colour at hand.

    Raises
    ------
    InputError
        An image without DCC.
    UnsupportedError
        A colour, level or layer that the chip cannot clear so, or a chip that nothing is compiled for.
    """
    plan = dcc.clear_plan(image.surface, color, mips=mips, layers=layers, single=single)
    with _Work(device, queue) as work:
        for piece in plan.codes:
            word = 0x01010101 * plan.code.code
            if isinstance(piece, slice):
                work.fill(image, piece.start, piece.stop - piece.start, word)
            else:
                work.fill_masked(image, 2 * piece, 8, word)
        if plan.firsts.size:
            packed = pack_color(image.format.name, color)
            size = packed.size
            bits = packed.view(f"u{min(size, 4)}").astype(np.uint32).tolist()
            bound = {1: MemoryElements(image, size), 2: work.table(plan.firsts, 4)}
            count = int(plan.firsts.size)
            work.queue.dispatch("first_elements", Key(), [count], bound, [count, _BLOCK_LOG2 + 1 - size.bit_length(), *(bits + [0] * 4)[:4]])
    return plan.code


@checked
def eliminate_dcc(
    device: Device, image: Image, color: Sequence[float] | None = None, *, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Write the colours of fast-cleared blocks into their texels; see `pyaco.metadata.dcc.eliminate`.

    Parameters
    ----------
    device, image, queue
        As of `fast_clear_dcc`.
    color : sequence of float or int, optional
        Red, green, blue, alpha of the clear, where blocks have their colour in the register.
    mips, layers : int or iterable of int, optional
        Where; everywhere by default.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        Blocks that have their colour in the register, and no colour.
    UnsupportedError
        DCC whose addresses are not public, or a chip that nothing is compiled for.
    """
    return _write_colors(device, image, color, mips, layers, queue, everything=False)


@checked
def decompress_dcc(
    device: Device, image: Image, color: Sequence[float] | None = None, *, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Make texels readable without DCC, and DCC say so; see `pyaco.metadata.dcc.decompress`.

    Parameters
    ----------
    device, image, color, mips, layers, queue
        As of `eliminate_dcc`.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        Blocks that have their colour in the register, and no colour.
    UnsupportedError
        A code of compressed texels, DCC whose addresses are not public, or a chip that nothing is compiled for.
    """
    return _write_colors(device, image, color, mips, layers, queue, everything=True)


def _write_colors(
    device: Device, image: Image, color: Sequence[float] | None, mips: Iterable[int] | int | None, layers: Iterable[int] | int | None, queue: str,
    *, everything: bool,
) -> list[Report]:  # fmt: skip
    surface = image.surface
    blocks, colors = dcc.cleared_blocks(surface, image.memory, color, mips=mips, layers=layers, everything=everything)
    rows = np.zeros((256, 2, 4), np.uint32)
    rows[:, 0] = colors
    for code in range(256):
        if is_fast_clear(surface.config, code):
            rows[code, 1] = FIRST_ELEMENT if code == single_code(surface.config) else CONSTANT
    count, size = int(blocks.texels.size), surface.element_bytes
    with _Work(device, queue) as work:
        if count:
            table = work.table(np.stack([blocks.texels >> _BLOCK_LOG2, blocks.codes], 1), 8)
            bytes_, parts, meaning = MemoryElements(image, 1), MemoryElements(image, 16), work.table(rows, 16)
            work.queue.dispatch("blocks_of_codes", Key(), [16 * count], {0: bytes_, 1: parts, 2: table, 3: meaning, 4: parts}, [16 * count, size])
            work.queue.dispatch("codes_of_blocks", Key(), [count], {0: bytes_, 1: bytes_, 2: table, 3: meaning}, [count, size])
    return work.queue.reports


@checked
def retile_dcc(device: Device, image: Image, *, queue: str = "direct") -> list[Report]:
    """Copy DCC to displayable DCC, which lies in the order that the display engine reads; see `pyaco.metadata.dcc.retile`.

    Parameters
    ----------
    device, queue
        As of `fast_clear_dcc`.
    image : Image
        For scan-out, with displayable DCC.

    Returns
    -------
    list of Report
        Of the dispatch.

    Raises
    ------
    InputError
        An image without displayable DCC.
    UnsupportedError
        A chip that nothing is compiled for.
    """
    surface: Any = image.surface.layout
    starts = [metadata_part(image.surface.config, surface, kind)[0] for kind in ("display_dcc", "dcc")][::-1]
    layouts = [info.layout() for info in (surface.dcc_metadata, surface.display_dcc)]
    width, height = surface.dcc_block_width, surface.dcc_block_height
    extent = [-(-image.surface.request.width // width), -(-image.surface.request.height // height), 1]
    keys = tuple(LayoutKey(tuple(tuple(map(int, row)) for row in layout.equation.masks), layout.equation.block_bit, layout.block_log2)
                 for layout in layouts)
    push = [*extent[:2], width, height, *(number for start, layout in zip(starts, layouts, strict=True) for number in (start, layout.pitch_blocks))]
    with _Work(device, queue) as work:
        work.queue.dispatch("retile_dcc", Key(equations=keys), extent, {0: MemoryElements(image, 1), 1: MemoryElements(image, 1)}, push)
    return work.queue.reports


# ---------------------------------------------------------------------------------------------------------- CMASK and FMASK
def _cmask_memory(image: Image, cmask: Buffer | None) -> tuple[Image | Buffer, int, int, NDArray[np.uint8] | None]:
    """Return what holds CMASK, where in it and how much, and the buffer's contents, where it is one of its own."""
    offset, size = cmask_codes.part_of_surface(image.surface)
    if image.surface.request.samples > 1:
        return image, offset, size, None
    if cmask is None:
        raise InputError("CMASK of an image of one sample is a buffer of its own: `cmask`")
    if not cmask.address or cmask.size < size:
        raise InputError(f"CMASK of {size} bytes in a buffer of {cmask.size}" if cmask.address else "CMASK in a buffer that has been released")
    return cmask, 0, size, cmask.numpy().reshape(-1).view(np.uint8)


@checked
def fast_clear_cmask(
    device: Device, image: Image, *, layers: Iterable[int] | int | None = None, cmask: Buffer | None = None, queue: str = "direct",
) -> int:  # fmt: skip
    """Clear an image by its CMASK; see `pyaco.metadata.cmask.fast_clear`.

    Parameters
    ----------
    device, queue
        As of `fast_clear_dcc`.
    image : Image
        A colour image with CMASK.
    layers : int or iterable of int, optional
        Layers to clear; all by default, with CMASK's padding.
    cmask : Buffer, optional
        CMASK of an image of one sample.

    Returns
    -------
    int
        The code that was written.

    Raises
    ------
    InputError
        An image without CMASK.
    UnsupportedError
        A chip without CMASK, or that nothing is compiled for.
    """
    memory, first, size, _ = _cmask_memory(image, cmask)
    code = cmask_codes.fast_clear_code(image.surface)
    with _Work(device, queue) as work:
        if layers is None:
            work.fill(memory, first, size, 0x11111111 * code)
        else:
            work.fill_masked(memory, 2 * first + cmask_codes.places_of(image.surface, layers), 4, 0x11111111 * code)
    return code


@checked
def eliminate_cmask(device: Device, image: Image, color: Sequence[float], *, cmask: Buffer | None = None, queue: str = "direct") -> list[Report]:
    """Write the clear colour into the tiles that CMASK says are cleared; see `pyaco.metadata.cmask.eliminate`.

    Parameters
    ----------
    device, image, cmask, queue
        As of `fast_clear_cmask`.
    color : sequence of float or int
        Red, green, blue, alpha of the clear.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        As of `fast_clear_cmask`.
    UnsupportedError
        A code whose meaning is not public, CMASK whose addresses are not, or a chip that nothing is compiled for.
    """
    memory, first, size, contents = _cmask_memory(image, cmask)
    cmask_codes.is_cleared(cmask_codes.read_codes(image.surface, image.memory, cmask=contents))
    after = cmask_codes.CLEARED_BY_DCC if image.surface.request.samples > 1 else cmask_codes.NOT_CLEARED
    places = 2 * first + cmask_codes.places_of(image.surface)
    with _Work(device, queue) as work:
        _write_tiles(work, image, 0, "color", memory, places, (0, 0xF), pack_color(image.format.name, color), samples=1)
        bound = {0: MemoryElements(memory, 4), 1: MemoryElements(memory, 4)}
        work.queue.dispatch("cleared_nibbles", Key(), [size // 4], bound, [size // 4, first // 4, after])
    return work.queue.reports


def _write_tiles(
    work: _Work, image: Image, mip: int, aspect: str, memory: Image | Buffer, places: _Places, field: tuple[int, int], texel: NDArray[np.uint8], *,
    samples: int,
) -> None:  # fmt: skip
    """Write a texel to the tiles of a level whose metadata has zero in a field: its first bit and mask; so many samples of each pixel."""
    columns, rows, slices = level_extent(image, mip)
    if not image.surface.request.is_3d:
        slices = places.shape[0]
    bits = (texel.view(f"u{min(texel.size, 4)}").astype(np.uint32).tolist() + [0] * 4)[:4]
    push = [columns, rows, slices, 0, 0, 0, places.shape[2], places.shape[1] * places.shape[2], *field, *bits]
    view, _ = element_view(image, mip, aspect, 0, storage=True)
    bound: dict[int, Any] = {0: MemoryElements(memory, 4), 1: view, 2: work.table(places, 4)}
    work.queue.dispatch("cleared_tiles", Key(dim=dimension(image), samples=samples), [columns, rows, slices], bound, push)


@checked
def expand_fmask(device: Device, image: Image, *, queue: str = "direct") -> list[Report]:
    """Store every sample in the fragment of its own number, and say so in FMASK; see `pyaco.metadata.fmask.expand`.

    Parameters
    ----------
    device, queue
        As of `fast_clear_dcc`.
    image : Image
        A multisampled colour image with a fragment for each sample.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        An image without FMASK, or a word of it that names a fragment that there is not.
    UnsupportedError
        A chip without FMASK (GFX11 and later), or that nothing is compiled for.
    """
    surface = image.surface
    first, size = metadata_part(surface.config, surface.layout, "fmask")
    samples = surface.request.samples
    fmask.decode_words(fmask.read_words(surface, image.memory), samples, surface.request.storage_samples)
    view, _ = element_view(image, 0, "color", 0, storage=True)
    of_fmask = image.view("2d_array")
    seen = ElementView(of_fmask, fmask_descriptor(surface.config, surface.layout, of_fmask.part))
    extent = [surface.request.width, surface.request.height, surface.request.layers]
    word = fmask.identity_word(samples, surface.request.storage_samples)
    width = fmask_bits(samples, surface.request.storage_samples) // 8
    with _Work(device, queue) as work:
        work.queue.dispatch("expand_fmask", Key(dim="ms", samples=samples), extent, {0: seen, 1: view}, [*extent, 0, 0, 0])
        work.fill(image, first, size, int.from_bytes(word.to_bytes(width, "little") * (4 // width), "little"))
    return work.queue.reports


# ------------------------------------------------------------------------------------------------------------------ HTILE
@checked
def fast_clear_htile(
    device: Device, image: Image, *, depth: float | None = None, stencil: int | None = None, mips: Iterable[int] | int | None = None,
    layers: Iterable[int] | int | None = None, queue: str = "direct",
) -> int:  # fmt: skip
    """Clear depth, stencil, or both, by HTILE alone; see `pyaco.metadata.htile.fast_clear`.

    Parameters
    ----------
    device, queue
        As of `fast_clear_dcc`.
    image : Image
        An image of depth with HTILE.
    depth : float, optional
        0 to 1.
    stencil : int, optional
        0 to 255.
    mips, layers : int or iterable of int, optional
        What to clear; all by default.

    Returns
    -------
    int
        The bits of words that were written.

    Raises
    ------
    InputError
        Nothing to clear, a value that the image does not hold, or an image without HTILE.
    UnsupportedError
        A value or level that cannot be cleared so, or a chip that nothing is compiled for.
    """
    plan = htile.clear_plan(image.surface, depth=depth, stencil=stencil, mips=mips, layers=layers)
    first, size = metadata_part(image.surface.config, image.surface.layout, "htile")
    with _Work(device, queue) as work:
        if plan.places is not None:
            for places in plan.places:
                _write_words(work, image, places, plan.word, plan.mask)
        elif plan.mask == 0xFFFFFFFF:
            work.fill(image, first, size, plan.word)
        else:
            bound = {0: MemoryElements(image, 4), 1: MemoryElements(image, 4)}
            work.queue.dispatch("mask_range", Key(), [size // 4], bound, [size // 4, first // 4, plan.word, plan.mask])
    return plan.mask


def _write_words(work: _Work, image: Image, places: _Places, word: int, mask: int) -> None:
    """Write the bits of a mask into words."""
    rows = np.stack([places.ravel(), np.full(places.size, mask)], 1)
    bound = {0: MemoryElements(image, 4), 1: MemoryElements(image, 4), 2: work.table(rows, 8)}
    work.queue.dispatch("mask_places", Key(), [places.size], bound, [places.size, word])


@checked
def expand_htile(
    device: Device, image: Image, *, depth: float | None = None, stencil: int | None = None, mips: Iterable[int] | int | None = None,
    queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Write the values of fast-cleared tiles into texels; HTILE says nothing of any tile afterwards; see `pyaco.metadata.htile.expand`.

    Parameters
    ----------
    device, image, queue
        As of `fast_clear_htile`.
    depth, stencil : float, int, optional
        The values of the clear, where tiles are cleared.
    mips : int or iterable of int, optional
        Levels; by default those that have HTILE.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        Cleared tiles and no value for them.
    UnsupportedError
        Tiles that are compressed, HTILE whose addresses are not public, or a chip that nothing is compiled for.
    """
    surface, form = image.surface, image.format
    tiles = htile.cleared_tiles(surface, image.memory, depth=depth, stencil=stencil, mips=mips)
    first, size = metadata_part(surface.config, surface.layout, "htile")
    word = htile.initial_word(stencil=htile.has_tile_stencil(surface))
    with _Work(device, queue) as work:
        for mip, flat, inked in tiles:
            places = htile.places_of(surface, mip)
            if flat.any() and depth is not None:
                _write_tiles(work, image, mip, "depth", image, 8 * places, (0, 0xF), pack_depth(form, depth), samples=surface.request.samples)
            if inked.any() and stencil is not None:
                inks = np.array([stencil], np.uint8)
                _write_tiles(work, image, mip, "stencil", image, 8 * places, (8, 3), inks, samples=surface.request.samples)
            if len(tiles) < metadata_levels(surface.layout, "htile"):
                _write_words(work, image, places, word, 0xFFFFFFFF)
        if len(tiles) == metadata_levels(surface.layout, "htile"):
            work.fill(image, first, size, word)
    return work.queue.reports
