"""Queues as rings of dwords, and several of them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.pm4.processor import CommandProcessor
from pyaco.pm4.sdma import SdmaEngine
from pyaco.pm4.stream import Packet

if TYPE_CHECKING:
    from pyaco.emu.device import Device

__all__ = ["Ring", "run_rings"]

_MOST_DWORDS = 1 << 28


class Ring:
    """A queue: a ring of dwords with read and write pointers.

    Parameters
    ----------
    device : Device
    size : int
        Dwords of the ring, a power of two.
    budget : int
        Wave instructions that each dispatch may execute.
    queue : str
        ``graphics`` or ``compute``, as ``CommandProcessor`` takes it, or ``sdma``.

    Attributes
    ----------
    read_pointer, write_pointer : int
        In dwords, never wrapped; the read pointer is behind the last packet that the front end has read.
    processor : CommandProcessor
    """

    @checked
    def __init__(self, device: Device, size: int = 1 << 16, budget: int = 1 << 36, queue: str = "graphics") -> None:
        if not 16 <= size <= _MOST_DWORDS or size & (size - 1):
            raise InputError(f"a ring of {size} dwords: expected a power of two from 16 to {_MOST_DWORDS}")
        self.processor = SdmaEngine(device) if queue == "sdma" else CommandProcessor(device, budget, queue)
        self.write_pointer = 0
        self._start = 0
        self._words = numpy.zeros(size, numpy.uint32)
        self._running: Iterator[Packet] | None = None

    @property
    def read_pointer(self) -> int:
        """Where the front end reads next."""
        return self._start + (self.processor.position if self._running is not None else 0)

    @property
    def busy(self) -> bool:
        """Whether packets are left that were not executed to their end."""
        return self._running is not None or self._start < self.write_pointer

    @checked
    def write(self, words: Sequence[int]) -> None:
        """Put a stream of whole packets into the ring; it runs with `step`.

        Raises
        ------
        InputError
            The ring has no room for it.
        """
        size = len(self._words)
        free = size - (self.write_pointer - self.read_pointer)
        if len(words) > free:
            raise InputError(f"{len(words)} dwords do not fit the {free} that are free")
        places = numpy.arange(self.write_pointer, self.write_pointer + len(words)) % size
        self._words[places] = numpy.asarray(words, numpy.uint32)
        self.write_pointer += len(words)

    def step(self) -> bool:
        """Execute packets until the ring is empty or one has to wait; whether anything was done."""
        if self._running is None:
            if self._start == self.write_pointer:
                return False
            self._end = self.write_pointer
            self._running = self.processor.steps(self._words[numpy.arange(self._start, self._end) % len(self._words)].tolist())
        before = self.processor.executed, self.processor.position
        for _ in self._running:
            return (self.processor.executed, self.processor.position) != before
        self._running = None
        self._start = self._end
        return True


@checked
def run_rings(rings: Sequence[Ring]) -> None:
    """Run queues in turn until all are empty.

    Parameters
    ----------
    rings : sequence of Ring
        Queues, in the order of their turns.

    Raises
    ------
    InputError
        Every queue that has work left waits.
    """
    while any(ring.busy for ring in rings):
        if not any([ring.step() for ring in rings]):
            raise InputError("every queue waits for a value that nothing writes")
