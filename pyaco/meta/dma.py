"""Copies, fills and writes by packets of the DMA engine (SDMA).

A rectangle of a tiled image level and one of linear memory (of a buffer, or of a linear image) is a COPY_TILED_SUB_WINDOW, two of linear
memory a COPY_LINEAR_SUB_WINDOW. Tiled images to tiled images, elements of 96 bits and several samples have no packet here.

Sources: the packet structures of the Linux kernel's amdgpu driver as ``pyaco.pm4.sdma`` has them; Mesa's ``radv_sdma.c`` for what drivers
put into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco.errors import UnsupportedError
from pyaco.meta.elements import element_bytes
from pyaco.pm4 import SdmaEngine, sdma_packet
from pyaco.targets import features

if TYPE_CHECKING:
    from pyaco.emu.buffers import Buffer
    from pyaco.emu.device import Device
    from pyaco.emu.images import Image
    from pyaco.emu.report import Report
    from pyaco.meta.regions import Box, BufferPart, BufferRegion, ImagePair

__all__ = ["copy_bytes", "fill_bytes", "move_buffer", "move_image", "write_bytes"]

_MOST_BYTES = 1 << 21
"""Of one packet: what the counts of all generations hold."""
_MOST_DWORDS = 1 << 19
_TILED_PITCH_BITS = 14
_DWORD_FILL = 2


class _Linear(NamedTuple):
    """A box of linear memory: address of the memory, elements from row to row and slice to slice, first element's place."""

    address: int
    row: int
    slice: int
    first: tuple[int, int, int]


def _is_linear(image: Image) -> bool:
    return image.surface.swizzle_mode == "LINEAR"


def _linear_image(image: Image, level: int, box: Box) -> _Linear:
    tables, element = image.surface.tiled.tables(level), image.surface.element_bytes
    row = int(tables.y[1] - tables.y[0]) // element if len(tables.y) > 1 else max(box.extent[0] + box.first[0], 1)
    pitch = int(tables.slice[1] - tables.slice[0]) // element if len(tables.slice) > 1 else row * len(tables.y)
    return _Linear(image.address + int(tables.slice[0]), row, pitch, box.first)


def _linear_buffer(buffer: Buffer, part: BufferPart, element: int) -> _Linear:
    return _Linear(buffer.address + part.first * element, part.row, part.slice, (0, 0, 0))


def _check(image: Image, level: int) -> None:
    request, config = image.surface.request, image.surface.config
    if not features.has_swizzle_modes(config.level):
        raise UnsupportedError(f"images by the DMA engine of {config.name}: its packets describe tiles by other words than those from GFX9 on")
    if image.surface.element_bytes == 12:
        raise UnsupportedError(f"elements of 96 bits ({image.format.name}) by the DMA engine")
    if request.samples > 1:
        raise UnsupportedError("images with several samples by the DMA engine")
    columns, rows = request.level_extent(0)
    if (max(columns >> level, 1), max(rows >> level, 1)) != request.level_extent(level):
        raise UnsupportedError(f"level {level} of {image.format.name} by the DMA engine of {config.name}: more blocks than level 0's halved")


def _corner(name: str, place: Sequence[int]) -> dict[str, int]:
    return {f"{name}_{axis}": value for axis, value in zip("XYZ", place, strict=True)}


def _tiled_packet(image: Image, level: int, aspect: str, box: Box, linear: _Linear, to_image: bool) -> list[int]:
    """Return the copy of a box between a tiled image and linear memory."""
    _check(image, level)
    if linear.row > 1 << _TILED_PITCH_BITS:
        raise UnsupportedError(f"rows of {linear.row} elements by the DMA engine, whose tiled copies have up to {1 << _TILED_PITCH_BITS}")
    layout: Any = image.surface.layout
    request, gfx_level = image.surface.request, image.surface.config.level
    is_stencil = aspect == "stencil"
    columns, rows = request.level_extent(0)
    slices = request.depth if request.is_3d else request.array_size
    mode = layout.stencil_swizzle_mode if is_stencil else layout.swizzle_mode
    address = image.address + (layout.stencil_offset if is_stencil else layout.surf_offset) | layout.tile_swizzle << 8
    fields = {
        "TILED_ADDR": address, **_corner("TILED", box.first), "WIDTH": columns - 1, "HEIGHT": rows - 1, "DEPTH": slices - 1,
        "ELEMENT_SIZE": element_bytes(image, aspect).bit_length() - 1, "SWIZZLE_MODE": mode, "MIP_MAX": request.levels - 1, "MIP_ID": level,
        "LINEAR_ADDR": linear.address, **_corner("LINEAR", linear.first), "LINEAR_PITCH": linear.row - 1, "LINEAR_SLICE_PITCH": linear.slice - 1,
        **_corner("RECT", [size - 1 for size in box.extent]), "DETILE": int(not to_image),
    }  # fmt: skip
    if not features.has_gfx12_swizzle_modes(gfx_level):
        fields["DIMENSION"] = layout.resource_type
    if features.has_surface_epitch(gfx_level):
        fields["EPITCH"] = layout.stencil_epitch if is_stencil else layout.epitch
    return sdma_packet("COPY_TILED_SUB_WINDOW", gfx_level, **fields)


def _window_packet(level: int, element: int, source: _Linear, destination: _Linear, extent: Sequence[int]) -> list[int]:
    """Return the copy of a box between two pieces of linear memory."""
    fields = {"ELEMENT_SIZE": element.bit_length() - 1, **_corner("RECT", [size - 1 for size in extent])}
    for name, part in (("SRC", source), ("DST", destination)):
        fields |= {f"{name}_ADDR": part.address, **_corner(name, part.first), f"{name}_PITCH": part.row - 1, f"{name}_SLICE_PITCH": part.slice - 1}
    return sdma_packet("COPY_LINEAR_SUB_WINDOW", level, **fields)


def move_buffer(device: Device, buffer: Buffer, image: Image, regions: Sequence[BufferRegion], *, to_image: bool) -> list[Report]:
    """Run the packets of a copy between buffer and image."""
    words: list[int] = []
    for region in regions:
        _check(image, region.level)
        linear = _linear_buffer(buffer, region.part, element_bytes(image, region.aspect))
        if _is_linear(image):
            pair = linear, _linear_image(image, region.level, region.box)
            source, destination = pair if to_image else pair[::-1]
            words += _window_packet(device.gfx_level, element_bytes(image, region.aspect), source, destination, region.box.extent)
        else:
            words += _tiled_packet(image, region.level, region.aspect, region.box, linear, to_image)
    return SdmaEngine(device).submit(words)


def move_image(device: Device, source: Image, destination: Image, pairs: Sequence[ImagePair]) -> list[Report]:
    """Run the packets of a copy from image to image.

    Raises
    ------
    UnsupportedError
        Neither of them is linear.
    """
    words: list[int] = []
    for pair in pairs:
        _check(source, pair.source_level)
        _check(destination, pair.level)
        if _is_linear(source) and _is_linear(destination):
            words += _window_packet(device.gfx_level, source.surface.element_bytes, _linear_image(source, pair.source_level, pair.source),
                                    _linear_image(destination, pair.level, pair.destination), pair.source.extent)
        elif _is_linear(source):
            linear = _linear_image(source, pair.source_level, pair.source)
            words += _tiled_packet(destination, pair.level, pair.aspect, pair.destination, linear, to_image=True)
        elif _is_linear(destination):
            linear = _linear_image(destination, pair.level, pair.destination)
            words += _tiled_packet(source, pair.source_level, pair.source_aspect, pair.source, linear, to_image=False)
        else:
            raise UnsupportedError(f"a copy from {source.surface.swizzle_mode} to {destination.surface.swizzle_mode} by the DMA engine: "
                                   "one of the images must be linear")
    return SdmaEngine(device).submit(words)


# --------------------------------------------------------------------------------------------------------------- buffers
def _chunks(level: int, size: int) -> list[tuple[int, int]]:
    """Return first byte and count of each packet that `size` bytes take."""
    less = features.has_sdma_counts_less_one(level)
    return [(first, min(_MOST_BYTES, size - first) - less) for first in range(0, size, _MOST_BYTES)]


def _check_engine(device: Device) -> None:
    if not features.has_sdma_low_operation(device.gfx_level):
        raise UnsupportedError(f"buffers by the DMA engine of {device.target}: GFX6 has an engine with other packets")


def copy_bytes(device: Device, source: int, destination: int, size: int) -> list[Report]:
    """Copy bytes from address to address."""
    _check_engine(device)
    words: list[int] = []
    for first, count in _chunks(device.gfx_level, size):
        words += sdma_packet("COPY_LINEAR", device.gfx_level, SRC_ADDR=source + first, DST_ADDR=destination + first, COUNT=count)
    return SdmaEngine(device).submit(words)


def fill_bytes(device: Device, address: int, size: int, word: int) -> list[Report]:
    """Fill dwords with one."""
    _check_engine(device)
    words: list[int] = []
    for first, count in _chunks(device.gfx_level, size):
        words += sdma_packet("CONSTANT_FILL", device.gfx_level, ADDR=address + first, DATA=word, COUNT=count, FILL_SIZE=_DWORD_FILL)
    return SdmaEngine(device).submit(words)


def write_bytes(device: Device, address: int, dwords: Sequence[int]) -> list[Report]:
    """Write dwords that packets hold."""
    _check_engine(device)
    words: list[int] = []
    for first in range(0, len(dwords), _MOST_DWORDS):
        data = list(dwords[first : first + _MOST_DWORDS])
        words += sdma_packet("WRITE_LINEAR", device.gfx_level, ADDR=address + 4 * first, data=data,
                             COUNT=len(data) - features.has_sdma_counts_less_one(device.gfx_level))
    return SdmaEngine(device).submit(words)
