"""Command streams as packets.

A type 3 packet has a header (type in bits 30-31, dwords behind it minus one in bits 16-29, opcode in bits 8-15, bit 0: predicated,
bit 1: for the compute engine, bit 2: reset the filter of redundant register writes) and its body. Type 0 writes consecutive
registers from the one whose dword offset the header has in its low 16 bits; type 2 is one dword that does nothing; no chip has
type 1. Sources: the packet descriptions in the Linux kernel's amdgpu headers, and Mesa's ``ac_parse_ib.c`` for the header of one
dword that only pads (0xFFFF1000).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.pm4.memory import Memory
from pyaco.pm4.opcodes import NAMES
from pyaco.pm4.values import RawPacket, Value, decode_values, register_writes

if TYPE_CHECKING:
    from pyaco.pm4.shader_use import ShaderUse

__all__ = ["Packet", "check_dwords", "parse"]

_MOST_NESTED = 8
_MOST_CHAINED = 256
_MOST_DWORDS = 1 << 22
_NOP_PAD = 0xFFFF1000
_OTHER_TYPES = ("WRITE_REGISTERS", "RESERVED", "NOP")


@dataclass
class Packet(RawPacket):
    """One packet: its dwords (see `RawPacket`), what they say, and what was found behind it.

    Attributes
    ----------
    predicated, compute, reset_filter_cam : bool
        Bits of the header.
    values : tuple of Value
        What the body says.
    nested : list of Packet or None
        The packets of the indirect buffer that this packet calls or chains to, where it was followed.
    address : int or None
        Where that buffer lies.
    chained : bool
        The stream goes on in that buffer and does not come back.
    shaders : tuple of ShaderUse
        What the packet runs, where ``annotate`` was asked to find it.
    buffer : int or None
        Address of the indirect buffer that the packet lies in; None in the stream itself.
    """

    nested: list[Packet] | None = None
    address: int | None = None
    chained: bool = False
    shaders: tuple[ShaderUse, ...] = ()
    buffer: int | None = None

    @property
    def where(self) -> str:
        """The place for messages."""
        return f"dword {self.place}" if self.buffer is None else f"in the indirect buffer at 0x{self.buffer:x}: dword {self.place}"

    @property
    def predicated(self) -> bool:
        """Whether the packet is skipped while the predicate is false."""
        return self.type == 3 and bool(self.header & 1)

    @property
    def compute(self) -> bool:
        """Whether the packet is for the compute engine."""
        return self.type == 3 and bool(self.header & 2)

    @property
    def reset_filter_cam(self) -> bool:
        """Whether the filter of redundant register writes is reset."""
        return self.type == 3 and bool(self.header & 4)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """What the dwords of the body say."""
        return tuple(decode_values(self))

    def __getitem__(self, name: str) -> int:
        """Return the number of the first value or field called `name`.

        Raises
        ------
        InputError
            The packet has none, as one that is too short.
        """
        for value in self.values:
            if value.name == name:
                return value.value
        for value in self.values:
            for field, number, _, _ in value.fields:
                if field == name:
                    return number
        raise InputError(f"{self.where}: a {self.name} of {len(self.body)} dwords has no {name}")

    def register_writes(self) -> Iterator[tuple[int, int]]:
        """Yield byte offset and value of every register that the packet writes."""
        for _, offset, value in register_writes(self):
            yield offset, value


class _Parser:
    """One stream and the buffers that it calls."""

    def __init__(self, level: int, memory: Memory | None, buffer: int | None) -> None:
        self.level = level
        self.memory = memory
        self.left = _MOST_DWORDS
        self.open = [] if buffer is None else [buffer]            # addresses of the buffers that are being read

    def stream(self, words: Sequence[int]) -> list[Packet]:
        self.left -= len(words) + 1
        if self.left < 0:
            raise InputError(f"more than {_MOST_DWORDS} dwords in a stream and the buffers that it calls")
        packets = []
        place = 0
        while place < len(words):
            packet = self._packet(words, place)
            packets.append(packet)
            place += 1 + len(packet.body)
            if packet.chained:
                break
        return packets

    def _packet(self, words: Sequence[int], place: int) -> Packet:
        header = int(words[place])
        kind, buffer = header >> 30, self.open[-1] if self.open else None
        count = 0 if kind == 2 or header == _NOP_PAD else (header >> 16 & 0x3FFF) + 1
        opcode = header >> 8 & 0xFF if kind == 3 else 0
        name = _OTHER_TYPES[kind] if kind != 3 else NAMES.get(opcode) or f"UNKNOWN(0x{opcode:02X})"
        body = tuple(map(int, words[place + 1 : place + 1 + count]))
        packet = Packet(place, kind, opcode, name, header, body, self.level, buffer=buffer)
        if kind == 1:
            raise InputError(f"{packet.where}: 0x{header:08x} is the header of a type 1 packet, which no chip has")
        if len(body) < count:
            raise InputError(f"{packet.where}: the packet 0x{header:08x} has {count} more dwords, the stream {len(body)}")
        if kind == 3 and name.startswith("INDIRECT_BUFFER"):
            self._follow(packet)
        return packet

    def _follow(self, packet: Packet) -> None:
        if self.memory is None or len(packet.body) < 3:
            return
        packet.address = address = packet.body[0] & ~3 | (packet.body[1] & 0xFFFF) << 32
        control = packet.body[2]
        size = control & 0xFFFFF
        packet.chained = bool(control >> 20 & 1)
        if address in self.open:
            raise InputError(f"{packet.where}: the indirect buffer at 0x{address:x} calls itself")
        if len(self.open) >= _MOST_NESTED and not packet.chained:
            raise InputError(f"{packet.where}: indirect buffers nested more than {_MOST_NESTED} deep")
        if len(self.open) >= _MOST_CHAINED:
            raise InputError(f"{packet.where}: a chain of more than {_MOST_CHAINED} indirect buffers")
        words = self.memory(address, size)
        if words is None:
            raise InputError(f"{packet.where}: no memory holds the indirect buffer of {size} dwords at 0x{address:x}")
        self.open.append(address)
        packet.nested = self.stream(words)
        self.open.pop()


@checked
def parse(words: Sequence[int], level: int, memory: Memory | None = None, buffer: int | None = None) -> list[Packet]:
    """Return the packets of a command stream.

    Parameters
    ----------
    words : sequence of int
        The stream's dwords.
    level : int
        Hardware level times ten, such as 103.
    memory : callable, optional
        Gives dwords at an address: then indirect buffers are followed.
    buffer : int, optional
        Where the stream lies, if it is an indirect buffer; for messages.

    Raises
    ------
    InputError
        A number that is no dword, a packet that ends behind the stream, a header of no kind, an indirect buffer that calls itself, lies
        nowhere or is nested too deep; the message gives the place in dwords.
    """
    check_dwords(words)
    return _Parser(level, memory, buffer).stream(words)


def check_dwords(words: Sequence[int]) -> None:
    """Raise InputError for a number of a stream that is no dword."""
    if len(words) and not 0 <= min(words) <= max(words) < 1 << 32:
        place = next(place for place, word in enumerate(words) if not 0 <= word < 1 << 32)
        raise InputError(f"dword {place}: {words[place]:#x} is no dword")
