"""Buffers copied, filled and updated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from pyaco.arguments import checked
from pyaco.emu.buffers import TexelBuffer
from pyaco.errors import InputError
from pyaco.meta import dma
from pyaco.meta.builder import Key
from pyaco.meta.elements import ELEMENT_FORMATS
from pyaco.meta.queues import ComputeQueue, shader_queue
from pyaco.meta.regions import BufferCopy, listed, region_error

if TYPE_CHECKING:
    from pyaco.emu.buffers import Buffer
    from pyaco.emu.device import Device
    from pyaco.emu.report import Report

__all__ = ["copy_buffer", "fill_buffer", "update_buffer"]

_WIDEST = 16
_MOST_UPDATED = 1 << 16
"""Bytes, as Vulkan has it."""


def _check_range(buffer: Buffer, offset: int, size: int, what: str) -> None:
    if not buffer.address:
        raise InputError(f"{what}: a buffer that has been released")
    if offset < 0 or size < 0 or offset + size > buffer.size:
        raise InputError(f"{what}: {size} bytes from {offset} on of a buffer of {buffer.size}")


def _elements(buffer: Buffer, size: int) -> TexelBuffer:
    """A buffer as elements of so many bytes; a rest that is no whole element is not seen."""
    return TexelBuffer(buffer, ELEMENT_FORMATS[size], 0, buffer.size // size * size)


@checked
def copy_buffer(
    device: Device, source: Buffer, destination: Buffer, regions: Iterable[BufferCopy] | None = None, *, queue: str = "direct",
) -> list[Report]:  # fmt: skip
    """Copy bytes from buffer to buffer.

    Parameters
    ----------
    device : Device
        That has both.
    source, destination : Buffer
    regions : iterable of BufferCopy, optional
        By default as many bytes as both have.
    queue : str
        ``direct``: launch compute shaders; ``compute``: through the packets of a compute queue; ``dma``: by packets of the DMA engine.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        A region that is not within the buffers, or overlaps itself.
    UnsupportedError
        A chip that nothing is compiled for.
    """
    given = [BufferCopy(0, 0, min(source.size, destination.size))] if regions is None else listed(regions, BufferCopy)
    for number, region in enumerate(given):
        _check_range(source, region.source_offset, region.size, f"region {number}, source")
        _check_range(destination, region.destination_offset, region.size, f"region {number}, destination")
        if source is destination and abs(region.source_offset - region.destination_offset) < region.size:
            raise region_error(number, "source and destination overlap")
    if queue == "dma":
        return [report for region in given for report in dma.copy_bytes(
            device, source.address + region.source_offset, destination.address + region.destination_offset, region.size)]
    with shader_queue(device, queue) as work:
        for region in given:
            first, to, size = region.source_offset, region.destination_offset, region.size
            unit = math.gcd(_WIDEST, first, to, size)
            if size:
                work.dispatch("buffer_to_buffer", Key(), [size // unit], {0: _elements(source, unit), 1: _elements(destination, unit)},
                              [size // unit, first // unit, to // unit])
    return work.reports


@checked
def fill_buffer(device: Device, buffer: Buffer, word: int, offset: int = 0, size: int | None = None, *, queue: str = "direct") -> list[Report]:
    """Fill a part of a buffer with a dword.

    Parameters
    ----------
    device : Device
        That has it.
    buffer : Buffer
    word : int
        32 bits.
    offset, size : int
        Bytes, multiples of 4; by default all that follow, but for a rest of less than 4.
    queue : str
        As of `copy_buffer`.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        A part that is not within the buffer or is no whole dwords, or a word of more than 32 bits.
    UnsupportedError
        A chip that nothing is compiled for.
    """
    count = (buffer.size - offset) // 4 * 4 if size is None else size
    _check_range(buffer, offset, count, "a fill")
    if offset % 4 or count % 4:
        raise InputError(f"a fill of {count} bytes from {offset} on: whole dwords")
    if not 0 <= word < 1 << 32:
        raise InputError(f"a fill with {word}, which is no dword")
    if queue == "dma":
        return dma.fill_bytes(device, buffer.address + offset, count, word)
    with shader_queue(device, queue) as work:
        unit = math.gcd(_WIDEST, offset, count)
        if count:
            work.dispatch("fill", Key(), [count // unit], {1: _elements(buffer, unit)}, [count // unit, offset // unit, word])
    return work.reports


@checked
def update_buffer(device: Device, buffer: Buffer, data: bytes | NDArray[Any], offset: int = 0, *, queue: str = "direct") -> list[Report]:
    """Write a little data into a buffer: up to 65536 bytes, which packets carry; launched directly, a shader copies them from a buffer.

    Parameters
    ----------
    device : Device
        That has it.
    buffer : Buffer
    data : bytes or numpy.ndarray
        Whole dwords.
    offset : int
        Bytes, a multiple of 4.
    queue : str
        As of `copy_buffer`.

    Returns
    -------
    list of Report
        Of the dispatches.

    Raises
    ------
    InputError
        More data than that, no whole dwords, or a part that is not within the buffer.
    UnsupportedError
        A chip that nothing is compiled for.
    """
    raw = bytes(data) if isinstance(data, bytes) else numpy.ascontiguousarray(data).tobytes()
    _check_range(buffer, offset, len(raw), "an update")
    if offset % 4 or len(raw) % 4 or len(raw) > _MOST_UPDATED:
        raise InputError(f"an update of {len(raw)} bytes from {offset} on: whole dwords, up to {_MOST_UPDATED} bytes")
    if queue == "dma":
        return dma.write_bytes(device, buffer.address + offset, numpy.frombuffer(raw, "<u4").tolist())
    with shader_queue(device, queue) as work:
        if isinstance(work, ComputeQueue):
            work.write(buffer.address + offset, raw)
        elif raw:
            staging = device.buffer(raw)
            try:
                copy_buffer(device, staging, buffer, [BufferCopy(0, offset, len(raw))])
            finally:
                staging.release()
    return work.reports
