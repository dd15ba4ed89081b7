"""What carries meta operations out: dispatches that are launched one by one, or the command stream of a compute queue.

Sources: AMD's packet descriptions as ``pyaco.pm4`` has them; that a compute queue waits for its shaders between dependent dispatches,
from Mesa's ``radv_cs.c``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from pyaco.errors import InputError
from pyaco.meta.builder import GROUP, LINE, Key
from pyaco.meta.shaders import compiled

if TYPE_CHECKING:
    from types import TracebackType

    from pyaco.emu.device import Device
    from pyaco.emu.report import Report

__all__ = ["QUEUES", "ComputeQueue", "Queue", "shader_queue"]

QUEUES = ("direct", "compute", "dma")
"""Dispatches without packets; PM4 packets of a compute queue; packets of the DMA engine."""
_MOST_DWORDS = 1 << 12
_TO_MEMORY = 5 << 8
"""WRITE_DATA: DST_SEL, memory."""


class Queue:
    """Launches each dispatch as it comes.

    In a ``with`` statement; at its end all is done, and `reports` has the reports of the dispatches.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.reports: list[Report] = []

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def dispatch(self, operation: str, key: Key, extent: Sequence[int], bound: Mapping[int, Any], push: Sequence[int]) -> None:
        """Run a shader over an extent of invocations: of three axes for rectangles of images, of one for buffers."""
        self.reports.append(self.device.dispatch(*self._arguments(operation, key, extent, bound, push)))

    def _arguments(
        self, operation: str, key: Key, extent: Sequence[int], bound: Mapping[int, Any], push: Sequence[int],
    ) -> tuple[Any, tuple[int, ...], dict[tuple[int, int], Any], bytes]:
        size = LINE if len(extent) == 1 else GROUP
        groups = tuple(-(-count // of) for count, of in zip((*extent, 1, 1)[:3], size, strict=True))
        dwords = numpy.array([value & 0xFFFFFFFF for value in push], numpy.uint32)
        buffers = {(0, binding): given for binding, given in bound.items()}
        return compiled(operation, self.device.target, key), groups, buffers, dwords.tobytes()


class ComputeQueue(Queue):
    """Gathers packets that bind a shader with its arguments and dispatch it; at the end a command processor runs them."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._words: list[int] = []
        self._streams: list[Any] = []

    def dispatch(self, operation: str, key: Key, extent: Sequence[int], bound: Mapping[int, Any], push: Sequence[int]) -> None:
        """Append the packets of a dispatch, and of a wait for its end."""
        from pyaco.pm4 import DispatchStream, named_packet

        stream = DispatchStream(self.device, *self._arguments(operation, key, extent, bound, push))
        self._streams.append(stream)
        wait = named_packet("EVENT_WRITE", self.device.gfx_level, compute=True, EVENT_TYPE="CS_PARTIAL_FLUSH", EVENT_INDEX=4)
        self._words += stream.words + wait

    def write(self, address: int, data: bytes) -> None:
        """Append packets that write dwords."""
        from pyaco.pm4 import packet

        words = numpy.frombuffer(data, "<u4").tolist()
        for first in range(0, len(words), _MOST_DWORDS):
            to = address + 4 * first
            self._words += packet("WRITE_DATA", _TO_MEMORY, to & 0xFFFFFFFF, to >> 32, *words[first : first + _MOST_DWORDS], compute=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        from pyaco.pm4 import CommandProcessor

        try:
            if error is None and self._words:
                self.reports = CommandProcessor(self.device, queue="compute").submit(self._words)
        finally:
            for stream in self._streams:
                stream.__exit__(kind, error, trace)


def shader_queue(device: Device, queue: str) -> Queue:
    """Return what runs shaders for a queue by name.

    Raises
    ------
    InputError
        No such queue, or the one that runs no shaders.
    """
    if queue == "dma":
        raise InputError("the DMA engine runs no shaders: it copies, fills and writes")
    if queue not in QUEUES:
        raise InputError(f"no queue is called {queue!r}; there are {', '.join(QUEUES)}")
    return ComputeQueue(device) if queue == "compute" else Queue(device)
