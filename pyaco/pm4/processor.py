"""The command processor: executes command streams on an emulated device.

Packets run one after the other, as they do for a stream whose synchronization is right: what a WAIT_REG_MEM waits for must have
happened before it, and caches have no state. Rings let several queues wait for each other.

Sources: the packet descriptions in the Linux kernel's amdgpu headers; Mesa's use of the packets (``ac_cmdbuf``, ``radv_cs.c``,
``si_cp_utils``); LLVM's AMDGPU user guide (COMPUTE_PGM_RSRC1 to 3).
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy

from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4.layouts import REGISTER_SPACES
from pyaco.pm4.stream import Packet, parse
from pyaco.registers import registers

if TYPE_CHECKING:
    from pyaco.emu.device import Device
    from pyaco.emu.report import Report

__all__ = ["CommandProcessor", "Ring", "run_rings"]

_MOST_PACKETS = 1 << 20
_CLOCK = 100_000_000
_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: True, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a >= b,
    lambda a, b: a > b, lambda a, b: True,
)
"""WAIT_REG_MEM's functions by number: always, <, <=, ==, !=, >=, >."""


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


# The L2 cache's atomic operations by number; 64-bit forms are 0x20 higher. (operation, operands: old, source, compare)
_ATOMICS: dict[int, Callable[[int, int, int, int], int]] = {
    0x07: lambda old, source, compare, bits: source,
    0x08: lambda old, source, compare, bits: source if old == compare else old,
    0x0F: lambda old, source, compare, bits: old + source,
    0x10: lambda old, source, compare, bits: old - source,
    0x11: lambda old, source, compare, bits: min(old, source, key=lambda value: _signed(value, bits)),
    0x12: lambda old, source, compare, bits: min(old, source),
    0x13: lambda old, source, compare, bits: max(old, source, key=lambda value: _signed(value, bits)),
    0x14: lambda old, source, compare, bits: max(old, source),
    0x15: lambda old, source, compare, bits: old & source,
    0x16: lambda old, source, compare, bits: old | source,
    0x17: lambda old, source, compare, bits: old ^ source,
    0x18: lambda old, source, compare, bits: 0 if old >= source else old + 1,
    0x19: lambda old, source, compare, bits: source if old == 0 or old > source else old - 1,
}


class CommandProcessor:
    """One queue's front end: registers, predicate, and the packets' effects.

    Parameters
    ----------
    device : Device
    budget : int
        Wave instructions that each dispatch may execute.

    Attributes
    ----------
    registers : dict of int to int
        What was written, by byte offset.
    reports : list of Report
        One for each dispatch so far.
    """

    def __init__(self, device: Device, budget: int = 1 << 36) -> None:
        self.device = device
        self.budget = budget
        self.registers: dict[int, int] = {}
        self.reports: list[Report] = []
        self._known = registers(device.gfx_level)
        self._predicate = True
        self._base = 0
        self.executed = 0

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
        for waiting in self.steps(parse(words, self.device.gfx_level, self.fetch)):
            raise InputError(f"dword {waiting.place}: nothing is left that could end this {waiting.name}")
        return self.reports[first:]

    def steps(self, packets: Sequence[Packet]) -> Iterator[Packet]:
        """Execute packets in order, called and chained buffers included; yield the packet whenever one has to wait."""
        skip_until = 0
        for packet in packets:
            self.executed += 1
            if self.executed > _MOST_PACKETS:
                raise InputError(f"more than {_MOST_PACKETS} packets")
            if packet.place < skip_until or (packet.predicated and not self._predicate):
                continue
            if packet.name == "COND_EXEC":
                if not self._read(packet["ADDR"], 4, packet):
                    skip_until = packet.place + 1 + len(packet.body) + packet["SIZE"] // 4
            elif packet.nested is not None:
                yield from self.steps(packet.nested)
            elif packet.name == "WAIT_REG_MEM":
                while not self._holds(packet):
                    yield packet
            else:
                self._one(packet)

    def _one(self, packet: Packet) -> None:
        for offset, value in packet.register_writes():
            self.registers[offset] = value
        if packet.type != 3 or packet.name in _NO_EFFECT or packet.name in REGISTER_SPACES:
            return
        action = _ACTIONS.get(packet.name)
        if action is None:
            raise UnsupportedError(f"dword {packet.place}: the command processor does not execute {packet.name}")
        action(self, packet)

    # --------------------------------------------------------------------------------------------------------- memory
    def fetch(self, address: int, count: int) -> Sequence[int] | None:
        """Return `count` dwords of device memory, or None where they are not mapped."""
        view = self.device.space.view(_canonical(address), 4 * count)
        return None if view is None else [int(word) for word in numpy.frombuffer(view, "<u4")]

    def _memory(self, address: int, size: int, packet: Packet) -> memoryview:
        view = self.device.space.view(_canonical(address), size)
        if view is None:
            raise InputError(f"dword {packet.place}: {packet.name} reaches {size} bytes at 0x{address:x}, which are not mapped")
        return view

    def _read(self, address: int, size: int, packet: Packet) -> int:
        return int.from_bytes(self._memory(address, size, packet), "little")

    def _write(self, address: int, data: bytes, packet: Packet) -> None:
        self._memory(address, len(data), packet)[:] = data

    # -------------------------------------------------------------------------------------------------------- actions
    def _set_base(self, packet: Packet) -> None:
        if packet["BASE_INDEX"] == 1:
            self._base = packet["ADDR"]

    def _load_registers(self, packet: Packet) -> None:
        if packet["INDEX"] or packet["DATA_FORMAT"]:
            raise UnsupportedError(f"dword {packet.place}: {packet.name} with an index or pairs of offset and data")
        count, first = packet["NUM_DWORDS"], 0xB000 + 4 * packet["REG_OFFSET"]
        data = self._memory(packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32, 4 * count, packet)
        self.registers |= {first + 4 * k: word for k, (word,) in enumerate(struct.iter_unpack("<I", data))}

    def _dispatch_direct(self, packet: Packet) -> None:
        self._launch((packet.body[0], packet.body[1], packet.body[2]), packet.body[3])

    def _dispatch_indirect(self, packet: Packet) -> None:
        address = packet["ADDR"] if len(packet.body) > 2 else self._base + packet["DATA_OFFSET"]
        counts = struct.unpack("<3I", self._memory(address, 12, packet))
        self._launch(counts, packet.body[-1])

    def _field(self, register: str, field: str) -> int:
        found = self._known[register]
        return found.field(field).get(self.registers.get(found.offset, 0))

    def _value(self, register: str) -> int:
        return self.registers.get(self._known[register].offset, 0)

    def _launch(self, groups: tuple[int, int, int], initiator: int) -> None:
        level, field = self.device.gfx_level, self._field
        starts = self._known["COMPUTE_DISPATCH_INITIATOR"]
        size = (field("COMPUTE_NUM_THREAD_X", "NUM_THREAD_FULL"), field("COMPUTE_NUM_THREAD_Y", "NUM_THREAD_FULL"),
                field("COMPUTE_NUM_THREAD_Z", "NUM_THREAD_FULL"))
        if not starts.field("COMPUTE_SHADER_EN").get(initiator):
            return
        for name in ("PARTIAL_TG_EN", "USE_THREAD_DIMENSIONS", "ORDERED_APPEND_ENBL"):
            if starts.field(name).get(initiator):
                raise UnsupportedError(f"dispatches with {name}")
        wave = 32 if level >= 100 and starts.field("CS_W32_EN").get(initiator) else 64
        entry = _canonical(self._value("COMPUTE_PGM_LO") << 8 | field("COMPUTE_PGM_HI", "DATA") << 40)
        user = self._known["COMPUTE_USER_DATA_0"].offset
        granule = 256 if level >= 110 else 1024
        scratch = field("COMPUTE_TMPRING_SIZE", "WAVESIZE") * granule // wave if field("COMPUTE_PGM_RSRC2", "SCRATCH_EN") else 0
        shared = field("COMPUTE_PGM_RSRC3", "SHARED_VGPR_CNT") if level >= 100 else 0
        report = self.device.launch(
            entry, 1 << 20, groups, size, wave_size=wave,
            user_sgprs=[self.registers.get(user + 4 * k, 0) for k in range(field("COMPUTE_PGM_RSRC2", "USER_SGPR"))],
            workgroup_id_mask=sum(field("COMPUTE_PGM_RSRC2", f"TGID_{axis}_EN") << k for k, axis in enumerate("XYZ")),
            workgroup_info=bool(field("COMPUTE_PGM_RSRC2", "TG_SIZE_EN")), ids_in_ttmp=level >= 120, packed_ids=level >= 110,
            local_id_components=field("COMPUTE_PGM_RSRC2", "TIDIG_COMP_CNT") + 1,
            scratch_offset=bool(field("COMPUTE_PGM_RSRC2", "SCRATCH_EN")) and level < 110,
            mode=field("COMPUTE_PGM_RSRC1", "FLOAT_MODE") | (0x100 if level >= 120 else field("COMPUTE_PGM_RSRC1", "DX10_CLAMP") << 8),
            lds_bytes=field("COMPUTE_PGM_RSRC2", "LDS_SIZE") * 512, scratch_bytes=scratch, budget=self.budget,
            shared_vgpr=(field("COMPUTE_PGM_RSRC1", "VGPRS") + 1) * 4 if shared else 0,
        )  # fmt: skip
        self.reports.append(report)

    def _write_data(self, packet: Packet) -> None:
        control = packet["CONTROL"]
        target, address, data = control >> 8 & 0xF, packet["DST_ADDR"], packet.body[3:]
        one_address = bool(control >> 16 & 1)
        for k, word in enumerate(data):
            step = 0 if one_address else 4 * k
            if target == 0:
                self.registers[(address << 2) + step] = word
            elif target in (1, 2, 5):
                self._write(address + step, word.to_bytes(4, "little"), packet)
            else:
                raise UnsupportedError(f"dword {packet.place}: WRITE_DATA to destination {target}")

    def _copy_data(self, packet: Packet) -> None:
        size = 8 if packet["COUNT_SEL"] else 4
        source, target = packet["SRC_SEL"], packet["DST_SEL"]
        if source == 0:
            value = sum(self.registers.get((packet["SRC"] << 2) + k, 0) << 8 * k for k in range(0, size, 4))
        elif source in (1, 2):
            value = self._read(packet["SRC"], size, packet)
        elif source == 5:
            value = packet["SRC"] & (1 << 8 * size) - 1
        elif source == 9:
            value = _clock() & (1 << 8 * size) - 1
        else:
            raise UnsupportedError(f"dword {packet.place}: COPY_DATA from source {source}")
        if target == 0:
            for k in range(0, size, 4):
                self.registers[(packet["DST"] << 2) + k] = value >> 8 * k & 0xFFFFFFFF
        elif target in (1, 2, 5):
            self._write(packet["DST"], value.to_bytes(size, "little"), packet)
        else:
            raise UnsupportedError(f"dword {packet.place}: COPY_DATA to destination {target}")

    def _dma_data(self, packet: Packet) -> None:
        control = packet["DMA_DATA_WORD0"]
        count = packet["COMMAND"] & (0x3FFFFFF if self.device.gfx_level >= 90 else 0x1FFFFF)
        target = self._memory(packet["DST_ADDR"], count, packet) if count else memoryview(b"")
        if control >> 20 & 3 == 2 or not count:
            return                                   # destination "nowhere": a prefetch
        if control >> 29 & 3 == 2:
            word = (packet["SRC_ADDR"] & 0xFFFFFFFF).to_bytes(4, "little")
            target[:] = (word * (count // 4 + 1))[:count]
        else:
            target[:] = bytes(self._memory(packet["SRC_ADDR"], count, packet))

    def _holds(self, packet: Packet) -> bool:
        """Whether what a WAIT_REG_MEM waits for is so."""
        control = packet["OP"]
        address = packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32
        in_memory = control >> 4 & 3 == 1
        value = self._read(address & ~3, 4, packet) if in_memory else self.registers.get(address << 2 & 0x3FFFFF, 0)
        return _COMPARE[control & 7](value & packet["MASK"], packet["REF"])

    def _atomic(self, packet: Packet) -> None:
        number = packet["ATOMIC"]
        bits = 64 if number & 0x20 else 32
        operation = _ATOMICS.get(number & ~0x60)
        if operation is None:
            raise UnsupportedError(f"dword {packet.place}: atomic operation 0x{number:x}")
        size, mask = bits // 8, (1 << bits) - 1
        source = (packet["SRC_DATA_LO"] | packet["SRC_DATA_HI"] << 32) & mask
        compare = (packet["CMP_DATA_LO"] | packet["CMP_DATA_HI"] << 32) & mask
        old = self._read(packet["ADDR"], size, packet)
        self._write(packet["ADDR"], (operation(old, source, compare, bits) & mask).to_bytes(size, "little"), packet)

    def _end_of_pipe(self, packet: Packet, address: int, select: int, data: int) -> None:
        if select in (1, 2):
            self._write(address, (data & (1 << 32 * select) - 1).to_bytes(4 * select, "little"), packet)
        elif select in (3, 4):
            self._write(address, _clock().to_bytes(8, "little"), packet)
        elif select:
            raise UnsupportedError(f"dword {packet.place}: {packet.name} with data selection {select}")

    def _release_mem(self, packet: Packet) -> None:
        address = packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32
        self._end_of_pipe(packet, address, packet["DATA_SEL"], packet["DATA_LO"] | packet["DATA_HI"] << 32)

    def _event_write_eop(self, packet: Packet) -> None:
        self._end_of_pipe(packet, packet["ADDR"] & 0xFFFFFFFFFFFF, packet["DATA_SEL"], packet["DATA_LO"] | packet["DATA_HI"] << 32)

    def _set_predication(self, packet: Packet) -> None:
        operation = packet["OP"]
        if operation == 0:
            self._predicate = True
            return
        if operation not in (3, 4):
            raise UnsupportedError(f"dword {packet.place}: predication by operation {operation}")
        names = {value.name for value in packet.values}
        address = packet["ADDR"] if "ADDR" in names else packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32
        held = self._read(address & ~0xF if operation == 3 else address, 8 if operation == 3 else 4, packet)
        self._predicate = bool(held) == bool(packet["DRAW_VISIBLE"])


def _canonical(address: int) -> int:
    address &= (1 << 48) - 1
    return address | 0xFFFF << 48 if address >> 47 else address


def _clock() -> int:
    return time.perf_counter_ns() * _CLOCK // 1_000_000_000


_NO_EFFECT = {
    "NOP", "ACQUIRE_MEM", "SURFACE_SYNC", "EVENT_WRITE", "PFP_SYNC_ME", "CONTEXT_CONTROL", "CLEAR_STATE", "PRIME_UTCL2", "REWIND",
    "INCREMENT_DE_COUNTER", "INCREMENT_CE_COUNTER", "WAIT_ON_CE_COUNTER",
}
_ACTIONS: dict[str, Callable[[CommandProcessor, Packet], None]] = {
    "LOAD_SH_REG_INDEX": CommandProcessor._load_registers,
    "SET_BASE": CommandProcessor._set_base,
    "DISPATCH_DIRECT": CommandProcessor._dispatch_direct,
    "DISPATCH_INDIRECT": CommandProcessor._dispatch_indirect,
    "WRITE_DATA": CommandProcessor._write_data,
    "COPY_DATA": CommandProcessor._copy_data,
    "DMA_DATA": CommandProcessor._dma_data,
    "ATOMIC_MEM": CommandProcessor._atomic,
    "RELEASE_MEM": CommandProcessor._release_mem,
    "EVENT_WRITE_EOP": CommandProcessor._event_write_eop,
    "SET_PREDICATION": CommandProcessor._set_predication,
}


class Ring:
    """A queue: a ring of dwords with read and write pointers.

    Parameters
    ----------
    device : Device
    size : int
        Dwords of the ring, a power of two.
    budget : int
        Wave instructions that each dispatch may execute.

    Attributes
    ----------
    read_pointer, write_pointer : int
        In dwords, never wrapped; what was written is fetched as a whole and read when all of it has run.
    processor : CommandProcessor
    """

    def __init__(self, device: Device, size: int = 1 << 16, budget: int = 1 << 36) -> None:
        if size < 16 or size & (size - 1):
            raise InputError(f"a ring of {size} dwords: expected a power of two from 16 on")
        self.processor = CommandProcessor(device, budget)
        self.read_pointer = 0
        self.write_pointer = 0
        self._words = numpy.zeros(size, numpy.uint32)
        self._running: Iterator[Packet] | None = None
        self._end = 0

    def write(self, words: Sequence[int]) -> None:
        """Put a stream into the ring; it runs with `step`.

        Raises
        ------
        InputError
            The ring has no room for it.
        """
        size = len(self._words)
        if len(words) > size - (self.write_pointer - self.read_pointer):
            raise InputError(f"{len(words)} dwords do not fit the {size - self.write_pointer + self.read_pointer} that are free")
        places = numpy.arange(self.write_pointer, self.write_pointer + len(words)) % size
        self._words[places] = numpy.asarray(words, numpy.uint32)
        self.write_pointer += len(words)

    def step(self) -> bool:
        """Execute packets until the ring is empty or one has to wait; whether anything was done."""
        if self._running is None:
            if self.read_pointer == self.write_pointer:
                return False
            self._end = self.write_pointer
            words = self._words[numpy.arange(self.read_pointer, self._end) % len(self._words)]
            level = self.processor.device.gfx_level
            self._running = self.processor.steps(parse([int(word) for word in words], level, self.processor.fetch))
        before = self.processor.executed
        for _ in self._running:
            return self.processor.executed > before
        self._running = None
        self.read_pointer = self._end
        return True


def run_rings(rings: Sequence[Ring]) -> None:
    """Run queues in turn until all are empty.

    Raises
    ------
    InputError
        Every queue that has work left waits.
    """
    while any(ring.read_pointer < ring.write_pointer for ring in rings):
        if not any([ring.step() for ring in rings]):
            raise InputError("every queue waits for a value that nothing writes")
