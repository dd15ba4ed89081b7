"""CMASK, FMASK, HTILE and DCC of GFX6, 7 and 8, as rules on plain integers.

CMASK keeps 4 bits and HTILE 32 bits per micro tile of 8 by 8 pixels; FMASK keeps, per pixel, which fragment each sample is; DCC
keeps a byte per 256 bytes of colour. Pitch and height are in pixels.
Source of the facts: AMD's address library (addrlib1, egbaddrlib, siaddrlib, ciaddrlib). The functions run as Python and as machine code.
"""

from __future__ import annotations

from typing import NamedTuple

from pyaco.addrlib.v1.address import PIPE_BITS
from pyaco.addrlib.v1.chip import Chip, TileInfo
from pyaco.addrlib.v1.layout import Level, lay_out_level
from pyaco.addrlib.v1.modes import (
    FMASK,
    INDEX_INVALID,
    IS_MACRO,
    NON_DISPLAYABLE,
    THICKNESS,
    TILED_2D_THIN1,
    align_up,
    log2,
)
from pyaco.addrlib.v1.tiling import macro_mode, no_info, pipes_of
from pyaco.errors import InputError, UnsupportedError

__all__ = [
    "CmaskLayout", "DccLayout", "FmaskLayout", "HtileLayout", "cmask_layout", "dcc_layout", "described_address", "fmask_address", "fmask_bits",
    "fmask_layout", "htile_layout", "mask_address", "metadata_address", "tc_compatible_address",
]

_CMASK_BITS, _CMASK_CACHE_BITS, _CMASK_MAX_BLOCK = 4, 1024, 0x3FFF
_HTILE_BITS, _HTILE_CACHE_BITS = 32, 16384

# Pipe configurations whose linear masks have 8 by 8 micro tiles per block, GFX6 and GFX7: P8_32x32_16x16, P8_32x64_32x32,
# P16_32x32_8x16 on GFX6; on GFX7 every one that interleaves over 32 pixels in x and y.
_GFX6_WIDE_BLOCK = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0)
_GFX7_WIDE_BLOCK = (0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0)


class CmaskLayout(NamedTuple):
    """CMASK of a surface; bytes are of all slices, `block_max` counts blocks of 128 by 128 pixels per slice, less one."""

    status: int
    pitch: int
    height: int
    bytes: int
    base_align: int
    block_max: int
    macro_width: int
    macro_height: int
    slice_bytes: int


class HtileLayout(NamedTuple):
    """HTILE of a depth surface; bytes are of all slices."""

    pitch: int
    height: int
    bytes: int
    base_align: int
    bits: int
    macro_width: int
    macro_height: int
    slice_bytes: int
    slice_interleaved: bool
    next_level_compressible: bool


class DccLayout(NamedTuple):
    """DCC of a colour surface (GFX8), bytes."""

    base_align: int
    bytes: int
    fast_clear_bytes: int
    """The part of `bytes` that a fast clear writes; 0: fast clears are not possible."""
    next_level_compressible: bool
    size_aligned: bool


def _cache_block(chip: Chip, info: TileInfo, bits: int, cache_bits: int, linear: bool) -> tuple[int, int]:
    """Return the size in pixels of the block whose mask elements fill the cache lines of all pipes."""
    if linear:
        wide = _GFX6_WIDE_BLOCK[info.pipe_config] if chip.is_gfx6 else _GFX7_WIDE_BLOCK[info.pipe_config]
        return (64, 64) if wide else (32, 32)
    pipes = pipes_of(chip, info)
    width, height = cache_bits // bits, 1
    while width > height * 2 * pipes and width % 2 == 0:
        width //= 2
        height *= 2
    return 8 * width, 8 * height * pipes


def cmask_layout(chip: Chip, info: TileInfo, pitch: int, height: int, slices: int, tc_compatible: bool, linear: bool) -> CmaskLayout:
    """Return the CMASK of a colour surface of `pitch` by `height` pixels."""
    width, rows = _cache_block(chip, info, _CMASK_BITS, _CMASK_CACHE_BITS, linear)
    pitch, height = align_up(pitch, width), align_up(height, rows)
    base_align = chip.interleave_bytes * pipes_of(chip, info) * (info.banks if tc_compatible else 1)
    while pitch * height * _CMASK_BITS // 8 // 64 % base_align:
        height += rows
    slice_bytes = pitch * height * _CMASK_BITS // 8 // 64
    block_max = pitch * height // (128 * 128) - 1
    status = 0 if 0 <= block_max <= _CMASK_MAX_BLOCK else 3
    return CmaskLayout(status, pitch, height, slice_bytes * max(1, slices), base_align, block_max, width, rows, slice_bytes)


def htile_layout(
    chip: Chip, info: TileInfo, pitch: int, height: int, slices: int, tc_compatible: bool, skip_size_align: bool, linear: bool,
) -> HtileLayout:
    """Return the HTILE of a depth surface of `pitch` by `height` pixels; `tc_compatible`: as the texture unit reads it (GFX8)."""
    pipes = pipes_of(chip, info)
    if tc_compatible:
        size, align = pitch * height * 4 // 64, pipes * info.banks * chip.interleave_bytes
        total = size * max(1, slices)
        padded = total if skip_size_align else align_up(total, align)
        slice_bytes = size if slices > 1 else padded
        return HtileLayout(
            pitch, height, padded, align, _HTILE_BITS, 0, 0, slice_bytes, slices > 1 and size % align != 0, size % align == 0)
    width, rows = _cache_block(chip, info, _HTILE_BITS, _HTILE_CACHE_BITS, linear)
    pitch, height = align_up(pitch, width), align_up(height, rows)
    slice_bytes = align_up(pitch * height * _HTILE_BITS // 8 // 64, _HTILE_CACHE_BITS // 8 * chip.pipes)
    return HtileLayout(
        pitch, height, slice_bytes * max(1, slices), chip.interleave_bytes * pipes, _HTILE_BITS, width, rows, slice_bytes, False, False)


def dcc_layout(chip: Chip, info: TileInfo, color_bytes: int, bits: int, samples: int) -> DccLayout:
    """Return the DCC of a macro tiled colour surface of `color_bytes` bytes.

    Raises
    ------
    UnsupportedError
        A chip before GFX8.
    """
    if not chip.has_dcc:
        raise UnsupportedError("DCC before GFX8")
    stripe = pipes_of(chip, info) * chip.interleave_bytes
    size = fast_clear = color_bytes >> 8
    if samples > 1:
        split_samples = max(1, info.tile_split_bytes // (bits * 8))
        if split_samples < samples:
            fast_clear //= samples // split_samples
            if fast_clear % stripe:
                fast_clear = 0
    base_align = info.banks * stripe
    if size % base_align == 0:
        return DccLayout(base_align, size, fast_clear, True, True)
    padded = align_up(size, stripe)
    return DccLayout(base_align, padded, padded if fast_clear == size else fast_clear, False, size % stripe == 0)


# FMASK.


class FmaskLayout(NamedTuple):
    """FMASK of a multisampled surface; `bits` per element and `samples` elements per pixel, bytes are of all slices."""

    status: int
    pitch: int
    height: int
    slices: int
    bytes: int
    base_align: int
    pitch_align: int
    height_align: int
    bits: int
    samples: int
    slice_bytes: int
    tile_index: int
    macro_mode_index: int
    info: TileInfo


def fmask_bits(samples: int, fragments: int, resolved: bool) -> tuple[int, int]:
    """Return bits per element and elements ("samples") per pixel of FMASK; `resolved`: as textures read it. 0 bits: no such FMASK."""
    if fragments != samples:
        bits = 1 if fragments == 1 else 2 if fragments == 2 else 4
        if not resolved:
            return bits, (16 if samples == 16 else 8) if fragments == 1 else samples
        if fragments == 1:
            return 16 if samples == 16 else 8, 1
        return samples * bits if fragments == 2 or fragments == 4 else 64, 1
    if resolved:
        return 32 if samples == 8 else 8 if samples == 2 or samples == 4 else 0, 1
    bits = 1 if samples == 2 else 2 if samples == 4 else 4 if samples == 8 else 0
    return bits, 8 if samples == 2 else samples


def fmask_layout(chip: Chip, mode: int, pitch: int, height: int, slices: int, samples: int, fragments: int, resolved: bool) -> FmaskLayout:
    """Return the FMASK of a colour surface; `mode` is the surface's tile mode, `fragments` 0 means as many as samples."""
    fragments = fragments or samples
    bits, elements = fmask_bits(samples, fragments, resolved)
    if samples <= 1 or bits == 0 or THICKNESS[mode] != 1 or not IS_MACRO[mode]:
        return FmaskLayout(3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INDEX_INVALID, INDEX_INVALID, no_info())
    index, macro_index, info = INDEX_INVALID, INDEX_INVALID, no_info()
    if not chip.is_gfx6:
        index = 14 if mode == TILED_2D_THIN1 else 15
        index_bits = log2(fragments) + (1 if samples > fragments else 0)
        macro_index, info = macro_mode(chip, index, FMASK, max(8, (4 if index_bits == 3 else index_bits) * samples), samples)
    level = Level(mode, NON_DISPLAYABLE, bits, pitch, height, slices, elements, 0, 0, FMASK, 0, 0, 0, False, False)
    result = lay_out_level(chip, level, info, index, macro_index)
    extent, tiling = result.extent, result.tiling
    if not extent.ok:
        return FmaskLayout(3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INDEX_INVALID, INDEX_INVALID, no_info())
    return FmaskLayout(
        0, extent.pitch, extent.height, extent.depth, extent.surface_bytes, extent.base_align, extent.pitch_align, extent.height_align, bits,
        elements, extent.surface_bytes // extent.depth, tiling.tile_index, INDEX_INVALID if chip.is_gfx6 else tiling.macro_mode_index,
        tiling.info)


# Addresses.


def fmask_address(samples: int) -> int:
    """Return what the address library returns for every element of an FMASK: 0, as only the hardware addresses FMASK on these chips.

    Raises
    ------
    InputError
        If the surface is not multisampled.
    """
    if samples <= 1:
        raise InputError("FMASK of a surface with one sample")
    return 0


def _element_in_block(pipe_config: int, x: int, y: int) -> tuple[int, int, int]:
    """Return the element among the tiles of one pipe in a block of 4 by 4 micro tiles, the shift to that block, and the element's bits.

    x and y are in micro tiles. The three bits are x1^y0 or x1^y1 or x0, and so on, as the pipe configuration interleaves.
    """
    x0, x1, y0, y1 = x & 1, x >> 1 & 1, y & 1, y >> 1 & 1
    kind = _ELEMENT_KIND[pipe_config]
    shift, bits = kind[0], kind[1]
    index = 0
    for bit in range(bits):
        terms = kind[2 + bit]
        index |= ((x0 & terms) ^ (x1 & terms >> 1) ^ (y0 & terms >> 2) ^ (y1 & terms >> 3)) << bit
    return index, shift, bits


_TX0, _TX1, _TY0, _TY1 = 1, 2, 4, 8

# By pipe configuration: shift from block to element number, bits of the element, and the terms of each bit.
_ELEMENT_KIND = (
    (0, 0, 0, 0, 0),
    (3, 3, _TX1 | _TY0, _TX1 | _TY1, _TX1),
    (0, 0, 0, 0, 0), (0, 0, 0, 0, 0), (0, 0, 0, 0, 0),
    (2, 2, _TX1 | _TY1, _TX1, 0),
    (2, 2, _TX1 | _TY0, _TX1, 0),
    (2, 2, _TX1 | _TY0, _TX1 | _TY1, 0),
    (2, 3, _TX1 | _TY0, _TX1 | _TY1, _TX1),
    (1, 1, _TX1, 0, 0),
    (1, 1, _TX0, 0, 0),
    (1, 2, _TX1 | _TY1, _TX1, 0),
    (1, 1, _TX0, 0, 0),
    (1, 2, _TX1 | _TY0, _TX1, 0),
    (1, 2, _TX1 | _TY0, _TX1 | _TY1, 0),
    (1, 3, _TX1 | _TY0, _TX1 | _TY1, _TX1),
    (0, 0, 0, 0, 0),
    (0, 2, _TX1 | _TY1, _TX1, 0),
    (0, 2, _TX1 | _TY0, _TX1, 0),
)


def _mask_pipe(chip: Chip, info: TileInfo, x: int, y: int) -> int:
    """Pipe of a micro tile of slice 0; x and y in micro tiles."""
    pipes = pipes_of(chip, info)
    bits = PIPE_BITS[info.pipe_config]
    pipe = 0
    for bit in range(log2(pipes)):
        pipe |= (0x6996 >> ((x & bits[bit][0]) ^ (y & bits[bit][1])) & 1) << bit
    return pipe >> 1 | (pipe & 1) << 3 if chip.is_vegam and pipes == 16 else pipe


def mask_address(
    chip: Chip, info: TileInfo, pitch: int, height: int, slices: int, x: int, y: int, z: int, is_cmask: bool, linear: bool,
) -> int:
    """Return the address, in bits, of the CMASK (`is_cmask`) or HTILE element of the pixel x, y of slice z.

    `pitch` and `height` are the surface's; not for masks that the texture unit reads (see `tc_compatible_address`).
    """
    bits = _CMASK_BITS if is_cmask else _HTILE_BITS
    if is_cmask:
        cmask = cmask_layout(chip, info, pitch, height, slices, False, linear)
        pitch, height, width, rows = cmask.pitch, cmask.height, cmask.macro_width, cmask.macro_height
    else:
        htile = htile_layout(chip, info, pitch, height, slices, False, False, linear)
        pitch, height, width, rows = htile.pitch, htile.height, htile.macro_width, htile.macro_height
    pipes = pipes_of(chip, info)
    tile_x, tile_y = x >> 3, y >> 3
    element, shift, element_bits = _element_in_block(info.pipe_config, tile_x, tile_y)
    if linear:
        block = tile_x // 4 + tile_y // 4 * (pitch // 8 // 4)
        slice_tiles = (pitch // 8) * (height // 8)
        if not is_cmask:
            slice_tiles = align_up(slice_tiles, _HTILE_CACHE_BITS // 8 * pipes // bits)
        before = z * (slice_tiles // pipes) * bits
    else:
        block = x % width // 32 + y % rows // 32 * (width // 32)
        caches = x // width + (y // rows + z * (height // rows)) * (pitch // width)
        before = caches * (256 if is_cmask else 512) * bits
    number = block << shift
    if element_bits != shift:
        number = number >> element_bits << element_bits
    offset = before + bits * (number + element)
    interleave = chip.interleave_bytes * 8
    return (offset // interleave * pipes + _mask_pipe(chip, info, tile_x, tile_y)) * interleave + offset % interleave


def _insert(value: int, bits: int, low: int, width: int) -> int:
    """Return `value` with the `width` low bits of `bits` inserted at bit `low`."""
    return (value >> low << width | bits & ((1 << width) - 1)) << low | value & ((1 << low) - 1)


def _remove(value: int, low: int, width: int) -> int:
    """Return `value` without the `width` bits from bit `low` on: the inverse of `_insert`."""
    return value >> (low + width) << low | value & ((1 << low) - 1)


def metadata_address(chip: Chip, info: TileInfo, data_address: int, mask_bits: int, block_bytes: int, blocks_per_tile: int) -> int:
    """Return the address, in bits, of the metadata element (`mask_bits` wide) of the block of data that holds byte `data_address` (GFX8).

    Metadata that the texture unit reads lies in the banks and pipes of its data; the other address bits count blocks of `block_bytes`. The
    bank follows the blocks of one micro tile: the 64 elements of a sample, or of the samples that a split keeps together. DCC describes
    blocks of 256 bytes, HTILE and CMASK micro tiles. Addresses may be arrays.
    """
    interleave = chip.interleave_bytes
    pipe_bits, bank_bits = log2(pipes_of(chip, info)), log2(info.banks)
    unit = data_address // interleave
    pipe, bank = unit & ((1 << pipe_bits) - 1), unit >> pipe_bits & ((1 << bank_bits) - 1)
    in_bank = (unit >> (pipe_bits + bank_bits)) * interleave + data_address % interleave
    block = _insert(in_bank // block_bytes, bank, log2(max(blocks_per_tile, 1)), bank_bits)
    return _insert(block * 2 * mask_bits // 8, pipe, log2(interleave) + 1, pipe_bits) * 4


def described_address(chip: Chip, info: TileInfo, address: int, mask_bits: int, block_bytes: int, blocks_per_tile: int) -> int:
    """Return the first byte of the data that the metadata element at `address`, in bits, describes: the inverse of `metadata_address`."""
    interleave = chip.interleave_bytes
    pipe_bits, bank_bits = log2(pipes_of(chip, info)), log2(info.banks)
    pipe_low, bank_low = log2(interleave) + 1, log2(max(blocks_per_tile, 1))
    nibble = address // 4
    pipe = nibble >> pipe_low & ((1 << pipe_bits) - 1)
    block = _remove(nibble, pipe_low, pipe_bits) * 8 // (2 * mask_bits)
    bank = block >> bank_low & ((1 << bank_bits) - 1)
    in_bank = _remove(block, bank_low, bank_bits) * block_bytes
    unit = (in_bank // interleave << bank_bits | bank) << pipe_bits | pipe
    return unit * interleave + in_bank % interleave


def tc_compatible_address(chip: Chip, info: TileInfo, data_address: int, mask_bits: int, element_bits: int) -> int:
    """Return the address, in bits, of the CMASK or HTILE element (`mask_bits` wide) of the micro tile that holds byte `data_address` (GFX8)."""
    return metadata_address(chip, info, data_address, mask_bits, 8 * element_bits, 1)
