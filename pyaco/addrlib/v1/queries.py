"""Surfaces of GFX6, 7 and 8: layout of one mip level, address of an element and back, one at a time or over arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.checks import check_columns, not_a_chip
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import raise_status
from pyaco.addrlib.formats import Packing, element
from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.address import Addressing, byte_address, channel, coordinates, hidden_coordinates, micro_order
from pyaco.addrlib.v1.chip import Chip, TileInfo, chip_of
from pyaco.addrlib.v1.layout import Layout, Query, layout
from pyaco.addrlib.v1.tiling import no_info, pipes_of
from pyaco.errors import InputError, UnsupportedError

__all__ = ["LAYOUT", "SurfaceAddresses", "check_coordinate", "surface_info", "surface_infos"]

LAYOUT = np.dtype([(name, np.int64) for name in Layout._fields])
"""Record of `surface_infos`: the fields of `Layout`."""

# Formats without thick modes on GFX7 and 8, Bonaire excepted.
_THIN_ONLY = frozenset((0x1C, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x38, *range(0x31, 0x38)))

_NO_INFO = no_info()
_Axis = NDArray[np.int64]

_FIELDS = {
    "tile_mode": 0, "tile_type": 0, "format": 0, "bpp": 0, "num_samples": 1, "num_frags": 0, "width": 1, "height": 1, "num_slices": 1,
    "slice": 0, "mip_level": 0, "flags": 0, "tile_index": modes.INDEX_INVALID, "base_pitch": 0, "max_base_align": 0, "pitch_align": 0,
    "height_align": 0,
}


@cache
def _format(number: int) -> tuple[int, int, int, bool, bool, bool]:
    """Bits of an element and pixels of a block, then whether expanded, block-compressed, thin only."""
    row = element(number, 80)
    if row is None:
        if number:
            raise InputError(f"no element format {number}")
        return 0, 1, 1, False, False, False
    return row.bits, row.expand_x, row.expand_y, row.packing == Packing.EXPANDED, row.packing == Packing.BLOCK, number in _THIN_ONLY


_ARGUMENTS = ("tile_mode", "width", "height", "tile_type", "format", "bpp", "num_samples", "num_frags", "num_slices", "slice", "mip_level",
              "flags", "tile_index", "base_pitch", "max_base_align", "pitch_align", "height_align")


def surface_info(
    config: GpuConfig, *, tile_mode: int, width: int, height: int, tile_type: int = 0, format: int = 0, bpp: int = 0, num_samples: int = 1,
    num_frags: int = 0, num_slices: int = 1, slice: int = 0, mip_level: int = 0, flags: int = 0, tile_index: int = modes.INDEX_INVALID,
    base_pitch: int = 0, max_base_align: int = 0, pitch_align: int = 0, height_align: int = 0, info: TileInfo | None = None,
) -> Layout:
    """Return the layout of a surface, or of one mip level of it.

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX6, 7 or 8.
    tile_mode, tile_type : TileMode, TileType
        The mode requested; the layout may have another, as the mode must suit the level and its use. `TileMode.UNKNOWN`: any.
    width, height : int
        Pixels of the level.
    format : Format
        Element format; `bpp` (bits per element) counts where it is `Format.INVALID`.
    num_samples, num_frags : int
        Samples, and samples stored (0: all).
    flags : SurfaceFlag
    slice : int
        The slice that `slice_bytes` refers to: the last one includes the padding.
    tile_index : int
        Tile index that mode, type and geometry are taken from; -1: none.
    base_pitch : int
        Pitch in pixels of level 0, for levels above it.
    max_base_align : int
        Bytes; 0: any. `pitch_align` and `height_align` (elements, linear only): 0 means what the hardware needs.
    info : TileInfo, optional
        Macro tile geometry, in place of that of the chip's tables.

    Raises
    ------
    InputError
        If there can be no such surface.
    UnsupportedError
        If `config` is of another generation, or the surface is a stereo pair.
    """
    check_columns("surface info", _ARGUMENTS, (
        tile_mode, width, height, tile_type, format, bpp, num_samples, num_frags, num_slices, slice, mip_level, flags, tile_index + 1, base_pitch,
        max_base_align, pitch_align, height_align))
    _check_flags(flags)
    bits, across, down, expanded, compressed, thin_only = _format(format)
    query = Query(
        tile_mode, tile_type, bpp, bits, across, down, expanded, compressed, thin_only, num_samples, num_frags, width, height, num_slices,
        slice, mip_level, flags, tile_index, base_pitch, max_base_align, pitch_align, height_align)
    if info is not None and not (isinstance(info, TileInfo) and 0 <= info.pipe_config < len(modes.PIPES)):
        raise InputError(f"no pipe configuration: {info!r}")
    try:
        chip = chip_of(config)
    except (AttributeError, TypeError):
        raise not_a_chip(config) from None
    result = layout(chip, query, info or _NO_INFO)
    if result.status:
        raise_status(result.status, f"surface of {width} x {height}, tile mode {tile_mode}, on {config.name}")
    return result


def _check_flags(flags: int) -> None:
    if flags & modes.QB_STEREO:
        raise UnsupportedError("quad-buffered stereo surfaces on GFX6 to 8")


@cache
def array_chip(config: GpuConfig) -> Chip:
    """The chip with its tables as arrays, for kernels."""
    chip = chip_of(config)
    return chip._replace(tile_modes=np.array(chip.tile_modes, np.int64), macro_modes=np.array(chip.macro_modes, np.int64))


def surface_infos(config: GpuConfig, **fields: ArrayLike) -> NDArray[Any]:
    """Return the layouts of many surfaces; the arguments are those of `surface_info`, as arrays that broadcast (no `info`).

    Returns
    -------
    numpy.ndarray
        Type `LAYOUT`, one record per surface. Where `status` is not 0 there is no such surface and the rest means nothing.
    """
    unknown = fields.keys() - _FIELDS.keys()
    if unknown:
        raise InputError(f"a surface has no {', '.join(sorted(unknown))}")
    for name, values in fields.items():
        if np.asarray(values).dtype.kind not in "iub":
            raise InputError(f"column {name}: integers, not {np.asarray(values).dtype}")
    # Imported here because single queries need no numba.
    from pyaco.addrlib.v1.arrays import lay_out_many

    columns = np.broadcast_arrays(*(np.asarray(fields.get(name, default), np.int64) for name, default in _FIELDS.items()))
    shape = columns[0].shape
    table = np.stack([c.ravel() for c in columns], axis=1)
    numbers = table[:, 2]
    formats = np.zeros((256, 6), np.int64)
    for number in np.unique(numbers).tolist():
        if not 0 <= number < 256:
            raise InputError(f"no element format {number}")
        formats[number] = _format(number)
    _check_flags(int(np.bitwise_or.reduce(table[:, 11], initial=0)))
    out = np.zeros((len(table), len(Layout._fields)), np.int64)
    lay_out_many(array_chip(config), table, formats, out)
    return out.view(LAYOUT).reshape(shape)


# Addresses.


def check_coordinate(values: NDArray[Any], end: int, name: str, whose: str) -> None:
    """Raise InputError unless the values are integers from 0 to below `end`."""
    if values.dtype.kind not in "iu":
        raise InputError(f"{name} must be integers, not {values.dtype}")
    if values.size and (int(values.min()) < 0 or int(values.max()) >= end):
        raise InputError(f"{name} from {values.min()} to {values.max()}; the {whose} has 0 to {end - 1}")


@cache
def _hidden_of_channel(a: Addressing) -> tuple[int, ...]:
    """Return for each pipe and bank the argument `hidden` of `hidden_coordinates` that leads there."""
    if not modes.IS_MACRO[a.mode]:
        return (0,)
    table = [-1] * (a.pipes * a.info.banks)
    for hidden in range(len(table)):
        table[channel(a, *hidden_coordinates(a, hidden))] = hidden
    if -1 in table:
        raise UnsupportedError(f"pipe configuration {a.info.pipe_config} with {a.info}: elements share addresses")
    return tuple(table)


class SurfaceAddresses:
    """Addresses of the elements of a surface whose layout is known.

    Parameters
    ----------
    config : GpuConfig
        The chip.
    info : Layout
        What `surface_info` returned.
    depth_order : bool, optional
        Whether the samples of an element lie together; left out, they do where the tile type says so.
    bank_swizzle, pipe_swizzle : int
        Bank and pipe that are added to those of every address (see `pyaco.addrlib.v1.swizzle`).

    Raises
    ------
    InputError
        If the chip cannot address such a layout.
    UnsupportedError
        If the pipe configuration would let elements share an address.
    """

    def __init__(self, config: GpuConfig, info: Layout, *, depth_order: bool | None = None, bank_swizzle: int = 0, pipe_swizzle: int = 0) -> None:
        chip = chip_of(config)
        geometry = TileInfo(
            info.banks, info.bank_width, info.bank_height, info.macro_aspect_ratio, info.tile_split_bytes, info.pipe_config)
        by_sample = info.tile_type == modes.DEPTH_SAMPLE_ORDER or bool(depth_order)
        tiled = not modes.is_linear(info.tile_mode)
        if info.samples > chip.max_samples or info.samples & (info.samples - 1):
            raise InputError(f"{info.samples} samples; {config.name} addresses 1 to {chip.max_samples}, a power of two")
        if info.bits % 8 or (tiled and info.bits not in (8, 16, 32, 64, 128)):
            raise InputError(f"elements of {info.bits} bits in tile mode {info.tile_mode}")
        order = micro_order(info.tile_type, info.bits) if tiled else micro_order(1, 8)
        if order[0] < 0 or (info.tile_type == modes.THICK and modes.THICKNESS[info.tile_mode] == 1 and tiled):
            raise UnsupportedError(f"tile type {info.tile_type} with {info.bits} bits in tile mode {info.tile_mode}")
        self.parameters = Addressing(
            int(info.tile_mode), info.bits, info.pitch, info.height, info.depth, info.samples, by_sample, order, geometry,
            pipes_of(chip, geometry), chip.is_vegam, chip.interleave_bytes, bank_swizzle, pipe_swizzle)
        self._check_blocks()
        self.hidden_of_channel = _hidden_of_channel(self.parameters._replace(pitch=0, height=0, slices=0, bank_swizzle=0, pipe_swizzle=0))
        self._tables: tuple[_Axis, _Axis, _Axis, _Axis] | None = None

    def _check_blocks(self) -> None:
        a, info = self.parameters, self.parameters.info
        if min(a.pitch, a.height, a.slices) < 1 or min(a.bank_swizzle, a.pipe_swizzle) < 0:
            raise InputError(f"a surface of {a.pitch} x {a.height} x {a.slices}, swizzle {a.bank_swizzle} and {a.pipe_swizzle}")
        width, height = 1, 1
        if modes.IS_MACRO[a.mode]:
            if info.bank_width == 1 and info.pipe_config in (8, 15):
                raise UnsupportedError(f"pipe configuration {info.pipe_config} with a bank width of 1: elements share addresses")
            width, height = 8 * info.bank_width * a.pipes * info.macro_aspect_ratio, 8 * info.bank_height * info.banks // info.macro_aspect_ratio
        elif not modes.is_linear(a.mode):
            width, height = 8, 8
        if a.pitch % width or a.height % height:
            raise InputError(f"a pitch of {a.pitch} and height of {a.height}; the mode has blocks of {width} x {height}")

    def __call__(self, x: int, y: int, slice: int = 0, sample: int = 0) -> int:
        """Return the byte address of an element, from the start of the surface."""
        a = self.parameters
        if not (0 <= x < a.pitch and 0 <= y < a.height and 0 <= slice < a.slices and 0 <= sample < a.samples):
            raise InputError(f"element {x}, {y}, slice {slice}, sample {sample} of {a.pitch} x {a.height} x {a.slices}, {a.samples} samples")
        return byte_address(a, x, y, slice, sample)

    def coordinates(self, address: int) -> tuple[int, int, int, int]:
        """Return x, y, slice and sample of the element that holds the byte `address`."""
        if not 0 <= address < self.size:
            raise InputError(f"address {address} of a surface of {self.size} bytes")
        return coordinates(self.parameters, self.hidden_of_channel, address)

    @property
    def size(self) -> int:
        """Bytes that the elements cover."""
        a = self.parameters
        return a.pitch * a.height * a.slices * a.samples * (a.bits // 8)

    @property
    def tables(self) -> tuple[_Axis, _Axis, _Axis, _Axis]:
        """Addresses of the elements on the axes x, y, slice and sample; the swizzle is in that of the slices.

        The address of any element is their xor in the bits of pipe and bank (`mask`) and their sum in the others.
        """
        if self._tables is None:
            from pyaco.addrlib.v1.arrays import fill_axis

            a = self.parameters
            self._tables = np.empty(a.pitch, np.int64), np.empty(a.height, np.int64), np.empty(a.slices, np.int64), np.empty(a.samples, np.int64)
            for axis, table in enumerate(self._tables):
                fill_axis(a if axis == 2 else a._replace(bank_swizzle=0, pipe_swizzle=0), axis, table)
        return self._tables

    @property
    def mask(self) -> int:
        """Address bits that are pipe or bank."""
        a = self.parameters
        return (a.pipes * a.info.banks - 1) * a.interleave_bytes if modes.IS_MACRO[a.mode] else 0

    def addresses(self, x: ArrayLike, y: ArrayLike, slice: ArrayLike = 0, sample: ArrayLike = 0) -> NDArray[np.int64]:
        """Return the byte addresses of elements; the arrays of coordinates broadcast."""
        # Imported here because single queries need no numba.
        from pyaco.addrlib.address_tables import look_up

        return look_up(self.tables, self.mask, (x, y, slice, sample))

    def coordinates_of(self, addresses: ArrayLike) -> NDArray[np.int64]:
        """Return x, y, slice and sample of the elements at byte addresses: an array of shape (4, ...)."""
        from pyaco.addrlib.v1.arrays import locate

        given = np.asarray(addresses)
        check_coordinate(given, self.size, "address", "surface")
        array = given.astype(np.int64, copy=False)
        out = np.empty((4, array.size), np.int64)
        locate(self.parameters, np.array(self.hidden_of_channel, np.int64), array.ravel(), out)
        return out.reshape(4, *array.shape)
