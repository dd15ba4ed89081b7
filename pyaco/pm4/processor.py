"""The command processor: executes command streams on an emulated device.

A graphics queue has two engines. The front end (PFP) fetches buffers and packets in order and executes what only steers them or
what a packet gives it; the rest it hands to the back end (ME) with what it has read for it, such as the counts of an indirect
dispatch. The front end runs as far ahead as it may, so that a stream which does not synchronize them (PFP_SYNC_ME) where it must
reads old values here, as it may on hardware. A compute queue has one engine, and its packets run one after the other.

What a WAIT_REG_MEM waits for may come from another queue: ``steps`` yields there.

Sources: the packet descriptions in the Linux kernel's amdgpu headers; the comments on packet order in Mesa's ``radv_cs.c`` and
``si_cp_dma.c``; the engine of each packet in AMD's PAL (``f32_me_pm4_packets``, ``f32_pfp_pm4_packets``, ``f32_mec_pm4_packets``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyaco import command_streams
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4.actions import EFFECTS, FETCHES, FRONT, NO_EFFECT, must_wait, runs_in_front
from pyaco.pm4.layouts import REGISTER_SPACES
from pyaco.pm4.queue_state import QueueState
from pyaco.pm4.stream import Packet, parse

if TYPE_CHECKING:
    from pyaco.emu.device import Device
    from pyaco.emu.report import Report

__all__ = ["CommandProcessor", "submit"]

_MOST_PACKETS = 1 << 20
_MOST_DWORDS = 1 << 22
_MOST_NESTED = 8
_AHEAD = {"graphics": 64, "compute": 0}
"""Packets that the front end may be ahead of the back end."""


@dataclass
class _Frame:
    """A buffer that is being executed."""

    packets: Sequence[Packet]
    at: int = 0
    skip_until: int = 0                      # packets before this dword are skipped


class CommandProcessor(QueueState):
    """One queue's engines; `QueueState` says what else it has.

    Parameters
    ----------
    device : Device
    budget : int
        Wave instructions that each dispatch may execute.
    queue : str
        ``graphics``, or ``compute``: one engine, nothing runs ahead.
    packets : int
        Packets that may be executed.
    time_budget : float, optional
        Seconds that each dispatch may take.

    Attributes
    ----------
    executed : int
        Packets so far.
    position : int
        Dwords of the stream that the front end has read.
    """

    @checked
    def __init__(self, device: Device, budget: int = 1 << 36, queue: str = "graphics", packets: int = _MOST_PACKETS,
                 time_budget: float | None = None) -> None:
        if queue not in _AHEAD:
            raise InputError(f"no queue is called {queue!r}: there are {' and '.join(_AHEAD)}")
        super().__init__(device, budget, time_budget)
        self.executed = 0
        self.position = 0
        self._ahead = _AHEAD[queue]
        self._most = packets
        self._dwords = 0
        self._frames: list[_Frame] = []
        self._handed: deque[tuple[Packet, Any]] = deque()

    @checked
    def submit(self, words: Sequence[int]) -> list[Report]:
        """Execute a stream and return the reports of its dispatches.

        Raises
        ------
        InputError
            A malformed stream, memory that is not mapped, or a wait that nothing can end; the message gives the place.
        UnsupportedError
            A packet that the processor does not execute.
        MemoryFault, BudgetError, EmulationError
            A dispatch stopped.
        """
        first = len(self.reports)
        for waiting in self.steps(words):
            raise InputError(f"{waiting.where}: nothing is left that could end this {waiting.name}")
        return self.reports[first:]

    def steps(self, words: Sequence[int]) -> Iterator[Packet]:
        """Execute a stream with the buffers that it calls and chains to; yield a packet whenever it has to wait."""
        self._handed.clear()
        self._frames = [self._frame(words, None)]
        self.position = 0
        while self._frames:
            frame = self._frames[-1]
            if frame.at == len(frame.packets):
                self._frames.pop()
                continue
            packet = frame.packets[frame.at]
            frame.at += 1
            if packet.place >= frame.skip_until and (self.predicate or not packet.predicated):
                self._count_packet(packet)
                yield from self.front(packet)
            if len(self._frames) == 1:
                self.position = packet.place + 1 + len(packet.body)
        self.position = len(words)
        yield from self._back(0)

    # ------------------------------------------------------------------------------------------------------------ engines
    def front(self, packet: Packet) -> Iterator[Packet]:
        """Do what the front end does with a packet; yield it while it has to wait."""
        name = packet.name
        if name.startswith("INDIRECT_BUFFER"):
            if name == "INDIRECT_BUFFER_CONST":
                raise UnsupportedError(f"{packet.where}: the command processor has no constant engine for {name}")
            address = packet["IB_BASE_LO"] | (packet["IB_BASE_HI"] & 0xFFFF) << 32
            self.call(packet, address, packet["IB_SIZE"], bool(packet["CHAIN"]))
        elif name in ("COND_EXEC", "PRED_EXEC"):
            if not (packet["DEVICE_SELECT"] & 1 if name == "PRED_EXEC" else self.read(packet["ADDR"] & ~3, 4, packet)):
                self.skip(packet, packet["SIZE"] // 4)
        elif name == "PFP_SYNC_ME":
            yield from self._back(0)
        elif name in FRONT:
            FRONT[name](self, packet)
        elif runs_in_front(packet):
            while must_wait(self, packet):
                for _ in self._back(0):
                    break                    # the back end may bring what the front end waits for
                if must_wait(self, packet):
                    yield packet
            self._execute(packet, None)
        else:
            self._handed.append((packet, FETCHES[name](self, packet) if name in FETCHES else None))
            yield from self._back(self._ahead)

    def _back(self, left: int) -> Iterator[Packet]:
        """Execute what was handed to the back end until `left` packets are left; yield one that has to wait."""
        while len(self._handed) > left:
            packet, fetched = self._handed[0]
            if must_wait(self, packet):
                yield packet
                continue
            self._handed.popleft()
            self._execute(packet, fetched)

    def _execute(self, packet: Packet, fetched: Any) -> None:
        self.executed += 1
        if packet.name in REGISTER_SPACES or packet.type == 0:
            self.registers.update(packet.register_writes())
            return
        if packet.type != 3 or packet.name in NO_EFFECT:
            return
        effect = EFFECTS.get(packet.name)
        if effect is None:
            raise UnsupportedError(f"{packet.where}: the command processor does not execute {packet.name}")
        effect(self, packet, fetched)

    def _count_packet(self, packet: Packet) -> None:
        self._most -= 1
        if self._most < 0:
            raise InputError(f"{packet.where}: more packets than may be executed")

    def parse(self, words: Sequence[int], buffer: int | None) -> Sequence[Packet]:
        """Return the packets of a stream, or of an indirect buffer that lies at `buffer`."""
        return parse(words, self.device.gfx_level, buffer=buffer)

    def _frame(self, words: Sequence[int], buffer: int | None) -> _Frame:
        self._dwords += len(words)
        if self._dwords > _MOST_DWORDS:
            raise InputError(f"dword 0: more than {_MOST_DWORDS} dwords to fetch")
        return _Frame(self.parse(words, buffer))

    def skip(self, packet: Packet, dwords: int) -> None:
        """Skip what lies in so many dwords behind a packet."""
        self._frames[-1].skip_until = packet.place + 1 + len(packet.body) + dwords

    def call(self, packet: Packet, address: int, size: int, chained: bool) -> None:
        """Go to an indirect buffer, as it is now; one that is chained to does not come back."""
        address &= ~3
        if not chained and len(self._frames) > _MOST_NESTED:
            raise InputError(f"{packet.where}: indirect buffers nested more than {_MOST_NESTED} deep")
        words = self.fetch(address, size)
        if words is None:
            raise InputError(f"{packet.where}: no memory holds the indirect buffer of {size} dwords at 0x{address:x}")
        frame = self._frame(words, address)
        if chained:
            self._frames[-1].at = len(self._frames[-1].packets)
        self._frames.append(frame)
        if chained and len(self._frames) > 2:
            del self._frames[-2]


@checked
def submit(device: Device, words: Sequence[int], budget: int = 1 << 36, *, time_budget: float | None = None) -> list[Report]:
    """Run a command stream on a command processor of its own; ``Device.submit`` does the same.

    Parameters
    ----------
    device : Device
    words : sequence of int
        The stream's dwords.
    budget : int
        Wave instructions that each dispatch may execute.
    time_budget : float, optional
        Seconds that each dispatch may take.

    Returns
    -------
    list of Report
        One for each dispatch, in order.

    Raises
    ------
    InputError, UnsupportedError, MemoryFault, BudgetError, EmulationError
        As ``CommandProcessor.submit``.
    """
    return CommandProcessor(device, budget=budget, time_budget=time_budget).submit(words)


command_streams.register(submit)
