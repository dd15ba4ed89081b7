"""What packets do: to registers, memory, the GDS and the predicate.

Every action takes the state of the queue and the packet, those of ``EFFECTS`` also what the front end fetched for it.

Sources: the packet descriptions in the Linux kernel's amdgpu headers; Mesa's use of the packets (``ac_cmdbuf``, ``radv_cs.c``,
``si_cp_utils``); the packet structures of AMD's PAL (``f32_me_pm4_packets``, ``f32_pfp_pm4_packets``).
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4.launch import border_colors_from_registers, launch_from_registers
from pyaco.pm4.layouts import REGISTER_SPACES
from pyaco.pm4.queue_state import QueueState
from pyaco.pm4.stream import Packet

__all__ = ["EFFECTS", "FETCHES", "FRONT", "NO_EFFECT", "must_wait", "runs_in_front"]

_CLOCK = 100_000_000
_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: True, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a >= b,
    lambda a, b: a > b, lambda a, b: True,
)
"""WAIT_REG_MEM's functions by number: always, <, <=, ==, !=, >=, >."""
_REGISTERS, _GRBM, _L2, _GDS, _PERFORMANCE, _MEMORY = range(6)
_IMMEDIATE, _ATOMIC_RETURN, _TIMESTAMP = 5, 6, 9
_REGISTERS_END = 0x40000
_PIPELINE_STATISTICS, _COMPUTE_INVOCATIONS = 11, 10


def _where(packet: Packet) -> str:
    return f"{packet.where}: {packet.name}"


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


# The L2 cache's atomic operations by number, which 64-bit forms have 0x20 higher, and those that return nothing 0x40 higher.
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

# ------------------------------------------------------------------------------------------------------------------ engines
_ENGINE_SELECTS = {"WRITE_DATA": (0, 30, 3), "COPY_DATA": (0, 30, 1), "DMA_DATA": (0, 0, 1), "CP_DMA": (1, 27, 1),
                   "WAIT_REG_MEM": (0, 8, 1), "ATOMIC_MEM": (0, 30, 3)}
"""Dword of the body, first bit and mask of what chooses the engine: 0 the back end (ME), 1 the front end (PFP)."""


def runs_in_front(packet: Packet) -> bool:
    """Whether the front end executes a packet."""
    if packet.name in FRONT:
        return True
    if packet.name not in _ENGINE_SELECTS:
        return False
    dword, shift, mask = _ENGINE_SELECTS[packet.name]
    return dword < len(packet.body) and packet.body[dword] >> shift & mask == 1


def must_wait(processor: QueueState, packet: Packet) -> bool:
    """Whether a packet cannot be executed yet: a WAIT_REG_MEM, or an atomic operation that repeats until its comparison holds."""
    if packet.name == "WAIT_REG_MEM":
        return not _holds(processor, packet)
    if packet.name == "ATOMIC_MEM" and packet["COMMAND"] == 1:
        size = 8 if packet["ATOMIC"] & 0x20 else 4
        compare = packet["CMP_DATA_LO"] | packet["CMP_DATA_HI"] << 32
        return processor.read(packet["ADDR"], size, packet) != compare & (1 << 8 * size) - 1
    return False


def _holds(processor: QueueState, packet: Packet) -> bool:
    low, high, operation = packet["ADDRESS_LO"], packet["ADDRESS_HI"], packet["OPERATION"]
    if operation == 1:                       # write a register and wait for another
        processor.registers[_offset(low)] = packet["REF"]
        value = processor.registers.get(_offset(high), 0)
    elif packet["MEM_SPACE"]:
        value = processor.read((low | high << 32) & ~3, 4, packet)
    else:
        value = processor.registers.get(_offset(low), 0)
    return _COMPARE[packet["FUNCTION"]](value & packet["MASK"], packet["REF"])


# ------------------------------------------------------------------------------------------------------- registers and data
def _offset(dword: int) -> int:
    """Byte offset of a register from its place in dwords."""
    return (dword & 0xFFFF) << 2


def _span(packet: Packet, first: int, size: int) -> range:
    """Byte offsets of the registers from one on."""
    if first + size > _REGISTERS_END:
        raise InputError(f"{_where(packet)} reaches {size} bytes of registers from 0x{first:x} on, behind their end")
    return range(first, first + size, 4)


def _register_bytes(processor: QueueState, packet: Packet, first: int, size: int) -> bytes:
    return b"".join(processor.registers.get(offset, 0).to_bytes(4, "little") for offset in _span(packet, first, size))


def _put_registers(processor: QueueState, packet: Packet, first: int, data: bytes) -> None:
    for offset in _span(packet, first, len(data)):
        processor.registers[offset] = int.from_bytes(data[offset - first : offset - first + 4], "little")


def _gds(processor: QueueState, packet: Packet, address: int, size: int) -> memoryview:
    held = memoryview(processor.device.gds)
    if address + size > len(held):
        raise InputError(f"{_where(packet)} reaches {size} bytes at 0x{address:x} of the GDS, which has {len(held)}")
    return held[address : address + size]


def _store(processor: QueueState, packet: Packet, target: int, address: int, data: bytes) -> None:
    """Put bytes where a destination select says."""
    if target in (_REGISTERS, _PERFORMANCE):
        _put_registers(processor, packet, _offset(address), data)
    elif target in (_GRBM, _L2, _MEMORY):
        processor.write(address, data, packet)
    elif target == _GDS:
        _gds(processor, packet, address & 0xFFFFFFFF, len(data))[:] = data
    else:
        raise UnsupportedError(f"{_where(packet)} to a destination that no chip has, or that is not emulated")


def _write_data(processor: QueueState, packet: Packet, _: Any) -> None:
    control, address = packet["CONTROL"], packet["DST_ADDR"]
    data = struct.pack(f"<{len(packet.body) - 3}I", *packet.body[3:])
    if control >> 16 & 1:                    # every dword to the same place: the last stays
        data = data[-4:]
    target = control >> 8 & 0xF
    _store(processor, packet, -1 if target == _PERFORMANCE else target, address, data)


def _copy_data(processor: QueueState, packet: Packet, _: Any) -> None:
    size = 8 if packet["COUNT_SEL"] else 4
    select, source = packet["SRC_SEL"], packet["SRC"]
    if select in (_REGISTERS, 4):
        data = _register_bytes(processor, packet, _offset(source), size)
    elif select in (1, 2):
        data = bytes(processor.memory(source, size, packet))
    elif select == 3:
        data = bytes(_gds(processor, packet, source & 0xFFFFFFFF, size))
    elif select in _COPIED_NUMBERS:
        data = (_COPIED_NUMBERS[select](processor, source) & (1 << 8 * size) - 1).to_bytes(size, "little")
    else:
        raise UnsupportedError(f"{_where(packet)} from source {select}")
    _store(processor, packet, packet["DST_SEL"], packet["DST"], data)


_COPIED_NUMBERS: Mapping[int, Callable[[QueueState, int], int]] = {
    _IMMEDIATE: lambda processor, source: source,
    _ATOMIC_RETURN: lambda processor, source: processor.atomic_return,
    _TIMESTAMP: lambda processor, source: clock(),
}


def _mem_write(processor: QueueState, packet: Packet, _: Any) -> None:
    size = 4 if packet["WR32"] else 8
    data = (packet["DATA_LO"] | packet["DATA_HI"] << 32).to_bytes(8, "little")[:size]
    processor.write(packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32, data, packet)


def _cond_write(processor: QueueState, packet: Packet, _: Any) -> None:
    address = packet["POLL_ADDR"]
    value = processor.read(address & ~3, 4, packet) if packet["POLL_SPACE"] else processor.registers.get(_offset(address), 0)
    if _COMPARE[packet["FUNCTION"]](value & packet["MASK"], packet["REF"]):
        target = {0: _REGISTERS, 1: _MEMORY, 2: -1}.get(packet["WRITE_SPACE"], -1)
        _store(processor, packet, target, packet["WRITE_ADDR"], packet["DATA"].to_bytes(4, "little"))


def _modify_register(processor: QueueState, packet: Packet, _: Any) -> None:
    offset, mask = 0x28000 + 4 * packet["REG_OFFSET"], packet["MASK"]
    processor.registers[offset] = processor.registers.get(offset, 0) & ~mask & 0xFFFFFFFF | packet["DATA"] & mask


def _one_register(processor: QueueState, packet: Packet, _: Any) -> None:
    processor.registers[_offset(packet["REG_OFFSET"])] = packet["DATA"]


def _dma(processor: QueueState, packet: Packet, _: Any) -> None:
    """DMA_DATA and its predecessor CP_DMA."""
    count, target = packet["BYTE_COUNT"], packet["DST_SEL"]
    if target == 2 or not count:             # nowhere: a prefetch
        return
    names = {value.name for value in packet.values}
    source, destination = ((packet["SRC_ADDR"], packet["DST_ADDR"]) if "SRC_ADDR" in names else
                           (packet["SRC_ADDR_LO"] | packet["SRC_ADDR_HI"] << 32, packet["DST_ADDR_LO"] | packet["DST_ADDR_HI"] << 32))
    length = min(4, count) if packet["DAIC"] else count            # without increments the last dword stays
    first = destination & 0x3FFFC
    if target == 1:
        held = _gds(processor, packet, destination & 0xFFFFFFFF, length)
    elif packet["DAS"]:
        _span(packet, first, length)
        held = memoryview(bytearray(length))
    else:
        held = processor.memory(destination, length, packet)
    data = _dma_source(processor, packet, source, 4 if packet["SAIC"] else count)
    held[:] = (data * (count // len(data) + 1))[:count][-length:]
    if packet["DAS"] and target != 1:
        _put_registers(processor, packet, first, bytes(held))


def _dma_source(processor: QueueState, packet: Packet, source: int, size: int) -> bytes:
    """What a DMA reads: as many bytes, or a dword that repeats."""
    select = packet["SRC_SEL"]
    if select == 2:
        return (source & 0xFFFFFFFF).to_bytes(4, "little")
    if select == 1:
        return bytes(_gds(processor, packet, source & 0xFFFFFFFF, size))
    if packet["SAS"]:
        return _register_bytes(processor, packet, _offset(source >> 2), size)
    return bytes(processor.memory(source, size, packet))


def _atomic(processor: QueueState, packet: Packet, _: Any) -> None:
    number = packet["ATOMIC"]
    bits = 64 if number & 0x20 else 32
    operation = _ATOMICS.get(number & ~0x60)
    if operation is None:
        raise UnsupportedError(f"{_where(packet)}: atomic operation 0x{number:x}")
    size, mask = bits // 8, (1 << bits) - 1
    source = (packet["SRC_DATA_LO"] | packet["SRC_DATA_HI"] << 32) & mask
    compare = (packet["CMP_DATA_LO"] | packet["CMP_DATA_HI"] << 32) & mask
    old = processor.read(packet["ADDR"], size, packet)
    processor.write(packet["ADDR"], (operation(old, source, compare, bits) & mask).to_bytes(size, "little"), packet)
    if not number & 0x40:
        processor.atomic_return = old


# ------------------------------------------------------------------------------------------------------------------ events
def clock() -> int:
    """Return the device's clock: 100 MHz."""
    return time.perf_counter_ns() * _CLOCK // 1_000_000_000


def _end_of_pipe(processor: QueueState, packet: Packet, address: int) -> None:
    """What is written when the work before an event has ended, and the interrupt then."""
    select, data = packet["DATA_SEL"], packet["DATA_LO"] | packet["DATA_HI"] << 32
    if select in (1, 2):
        processor.write(address, (data & (1 << 32 * select) - 1).to_bytes(4 * select, "little"), packet)
    elif select in (3, 4):
        processor.write(address, clock().to_bytes(8, "little"), packet)
    elif select == 5:
        processor.write(address, bytes(_gds(processor, packet, 4 * (data & 0xFFFF), 4 * (data >> 16 & 0xFFFF))), packet)
    elif select:
        raise UnsupportedError(f"{_where(packet)} with data selection {select}")
    if packet["INT_SEL"] in (1, 2):
        processor.interrupts.append(packet["CTXID"] if packet.name == "RELEASE_MEM" and len(packet.body) > 6 else 0)


def _release_mem(processor: QueueState, packet: Packet, _: Any) -> None:
    _end_of_pipe(processor, packet, packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32)


def _event_write_eop(processor: QueueState, packet: Packet, _: Any) -> None:
    _end_of_pipe(processor, packet, packet["ADDR"])


def _event_write_eos(processor: QueueState, packet: Packet, _: Any) -> None:
    address, select, data = packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32, packet["DATA_SEL"], packet["DATA"]
    if select == 1:
        processor.write(address, bytes(_gds(processor, packet, 4 * (data & 0xFFFF), 4 * (data >> 16))), packet)
    elif select == 2:
        processor.write(address, data.to_bytes(4, "little"), packet)
    else:
        raise UnsupportedError(f"{_where(packet)} with data selection {select}")


def _event_write(processor: QueueState, packet: Packet, _: Any) -> None:
    if len(packet.body) < 3:
        return
    event = packet["EVENT_TYPE"]
    if event != 30:                          # SAMPLE_PIPELINESTAT
        raise UnsupportedError(f"{_where(packet)} of event {event} with an address")
    counts = [0] * _PIPELINE_STATISTICS
    counts[_COMPUTE_INVOCATIONS] = processor.invocations
    processor.write(packet["ADDR"], struct.pack(f"<{len(counts)}Q", *counts), packet)


# -------------------------------------------------------------------------------------------------------------- dispatches
def _launch(processor: QueueState, packet: Packet, dimensions: tuple[int, int, int]) -> None:
    try:
        launch = launch_from_registers(processor.device.gfx_level, processor.registers, dimensions, packet["COMPUTE_DISPATCH_INITIATOR"])
        if launch is None:
            return
        colors = border_colors_from_registers(processor.device.gfx_level, processor.registers)
        with nullcontext() if colors is None else processor.device.border_colors_at(colors):
            processor.reports.append(processor.device.launch(launch, budget=processor.budget, time_budget=processor.time_budget))
    except UnsupportedError as error:
        raise UnsupportedError(f"{packet.where}: {error}") from None
    except InputError as error:
        raise InputError(f"{packet.where}: {error}") from None
    processor.invocations += launch.invocations


def _dispatch_direct(processor: QueueState, packet: Packet, _: Any) -> None:
    _launch(processor, packet, (packet["COMPUTE_DIM_X"], packet["COMPUTE_DIM_Y"], packet["COMPUTE_DIM_Z"]))


def _counts(processor: QueueState, packet: Packet) -> tuple[int, int, int]:
    address = packet["ADDR"] if len(packet.body) > 2 else processor.base + packet["DATA_OFFSET"]
    x, y, z = struct.unpack("<3I", processor.memory(address, 12, packet))
    return x, y, z


# ------------------------------------------------------------------------------------------------- what the front end does
def _indexed_data(processor: QueueState, packet: Packet) -> dict[int, int]:
    """Registers and values of a load whose address is that of the first dword."""
    if packet["INDEX"] or packet["DATA_FORMAT"]:
        raise UnsupportedError(f"{_where(packet)} with an index or pairs of offset and data")
    space = REGISTER_SPACES[packet.name.removesuffix("_INDEX").replace("LOAD", "SET")]
    return _run(processor, packet, packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32, space + 4 * packet["REG_OFFSET"], packet["NUM_DWORDS"])


def _shadowed_data(processor: QueueState, packet: Packet) -> dict[int, int]:
    """Registers and values of runs that lie where they do in their space, behind the address."""
    space = REGISTER_SPACES[packet.name.replace("LOAD", "SET")]
    found: dict[int, int] = {}
    for k in range(2, len(packet.body) - 1, 2):
        first = 4 * (packet.body[k] & 0xFFFF)
        found |= _run(processor, packet, packet["ADDR"] + first, space + first, packet.body[k + 1] & 0x3FFF)
    return found


def _run(processor: QueueState, packet: Packet, address: int, offset: int, count: int) -> dict[int, int]:
    data = processor.memory(address & ~3, 4 * count, packet) if count else b""
    return {offset + 4 * k: word for k, (word,) in enumerate(struct.iter_unpack("<I", data))}


def _load(processor: QueueState, packet: Packet, fetched: dict[int, int]) -> None:
    processor.registers |= fetched


def _set_base(processor: QueueState, packet: Packet) -> None:
    if packet["BASE_INDEX"] == 1:
        processor.base = packet["ADDR"]


def _set_predication(processor: QueueState, packet: Packet) -> None:
    operation = packet["OP"]
    if operation == 0:
        processor.predicate = True
        return
    if operation not in (3, 4):
        raise UnsupportedError(f"{_where(packet)} by operation {operation}")
    names = {value.name for value in packet.values}
    address = packet["ADDR"] if "ADDR" in names else packet["ADDRESS_LO"] | packet["ADDRESS_HI"] << 32
    held = processor.read(address & ~0xF if operation == 3 else address, 8 if operation == 3 else 4, packet)
    processor.predicate = bool(held) == bool(packet["DRAW_VISIBLE"])


Effect = Callable[[QueueState, Packet, Any], None]

FRONT: Mapping[str, Callable[[QueueState, Packet], None]] = {"SET_BASE": _set_base, "SET_PREDICATION": _set_predication}
"""Packets that the front end always executes."""

FETCHES: Mapping[str, Callable[[QueueState, Packet], Any]] = {
    "DISPATCH_INDIRECT": _counts, "DISPATCH_INDIRECT_INTERLEAVED": _counts,
    "LOAD_SH_REG_INDEX": _indexed_data, "LOAD_CONTEXT_REG_INDEX": _indexed_data,
    "LOAD_SH_REG": _shadowed_data, "LOAD_CONTEXT_REG": _shadowed_data, "LOAD_UCONFIG_REG": _shadowed_data,
}
"""What the front end reads of memory for the back end."""

EFFECTS: Mapping[str, Effect] = {
    "DISPATCH_DIRECT": _dispatch_direct, "DISPATCH_DIRECT_INTERLEAVED": _dispatch_direct,
    "DISPATCH_INDIRECT": _launch, "DISPATCH_INDIRECT_INTERLEAVED": _launch,
    "LOAD_SH_REG_INDEX": _load, "LOAD_CONTEXT_REG_INDEX": _load, "LOAD_SH_REG": _load, "LOAD_CONTEXT_REG": _load, "LOAD_UCONFIG_REG": _load,
    "CONTEXT_REG_RMW": _modify_register, "ONE_REG_WRITE": _one_register,
    "WRITE_DATA": _write_data, "COPY_DATA": _copy_data, "MEM_WRITE": _mem_write, "COND_WRITE": _cond_write,
    "DMA_DATA": _dma, "CP_DMA": _dma, "ATOMIC_MEM": _atomic, "WAIT_REG_MEM": lambda processor, packet, fetched: None,
    "RELEASE_MEM": _release_mem, "EVENT_WRITE_EOP": _event_write_eop, "EVENT_WRITE_EOS": _event_write_eos, "EVENT_WRITE": _event_write,
}
"""What packets do when the engine that executes them comes to them."""

NO_EFFECT = frozenset({
    "NOP", "ACQUIRE_MEM", "SURFACE_SYNC", "CONTEXT_CONTROL", "CLEAR_STATE", "PRIME_UTCL2", "INCREMENT_DE_COUNTER",
    "INCREMENT_CE_COUNTER", "WAIT_ON_CE_COUNTER", "NUM_INSTANCES", "INDEX_TYPE", "INDEX_BASE", "INDEX_BUFFER_SIZE",
    "ME_INITIALIZE", "PREAMBLE_CNTL",
})  # fmt: skip
"""Packets about caches, which have no state here, about the other engines, state of draws, and the engine's own start."""
