"""What a queue holds while it executes packets: registers, predicate, counts, and the way to the device's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from pyaco.errors import InputError
from pyaco.pm4.memory import canonical
from pyaco.pm4.stream import Packet

if TYPE_CHECKING:
    from pyaco.emu.device import Device
    from pyaco.emu.report import Report

__all__ = ["QueueState"]


class QueueState:
    """A queue's state, without the order in which packets change it.

    Attributes
    ----------
    registers : dict of int to int
        What was written, by byte offset.
    reports : list of Report
        One for each dispatch so far.
    invocations : int
        Of all dispatches so far.
    interrupts : list of int
        The context identifier of each interrupt so far.
    predicate : bool
    base : int
        Address that indirect dispatches count from.
    atomic_return : int
        What the last atomic operation found.
    """

    def __init__(self, device: Device, budget: int, time_budget: float | None) -> None:
        self.device = device
        self.budget, self.time_budget = budget, time_budget
        self.registers: dict[int, int] = {}
        self.reports: list[Report] = []
        self.invocations = 0
        self.interrupts: list[int] = []
        self.predicate = True
        self.base = 0
        self.atomic_return: int = 0

    def fetch(self, address: int, count: int) -> Sequence[int] | None:
        """Return `count` dwords of device memory, or None where they are not mapped."""
        view = self.device.space.view(canonical(address), 4 * count)
        return None if view is None else numpy.frombuffer(view, "<u4").tolist()

    def memory(self, address: int, size: int, packet: Packet) -> memoryview:
        """Return device memory that a packet reaches.

        Raises
        ------
        InputError
            It is not mapped.
        """
        view = self.device.space.view(canonical(address), size)
        if view is None:
            raise InputError(f"{packet.where}: {packet.name} reaches {size} bytes at 0x{address:x}, which are not mapped")
        return view

    def read(self, address: int, size: int, packet: Packet) -> int:
        """Return the number of `size` bytes at an address."""
        return int.from_bytes(self.memory(address, size, packet), "little")

    def write(self, address: int, data: bytes, packet: Packet) -> None:
        """Write device memory."""
        self.memory(address, len(data), packet)[:] = data
