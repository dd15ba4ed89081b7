"""Command streams as packets: parse, and what every dword says.

A stream is a sequence of dwords; a packet is a header and a body. `parse` follows indirect buffers where it is given the memory
they lie in. Streams are untrusted: lengths, chains and loops are checked.

Sources: see ``layouts.py`` and ``opcodes.py``; the header bits are in the Linux kernel's ``soc15d.h`` (PACKET3, PACKET3_COMPUTE).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pyaco.errors import InputError
from pyaco.pm4.layouts import REGISTER_SPACES, Address, Bits, Choice, DataWords, Number, PacketDword, RegisterWord, Word, layout
from pyaco.pm4.opcodes import NAMES
from pyaco.registers import Register, registers

__all__ = ["Memory", "Packet", "Value", "parse"]

Memory = Callable[[int, int], Sequence[int] | None]
"""Gives `count` dwords at an address, or None where nothing is mapped."""

_MOST_NESTED = 8
_MOST_DWORDS = 1 << 24
_NOP_PAD = 0xFFFF1000


@dataclass(frozen=True)
class Value:
    """What a dword of a packet says.

    Attributes
    ----------
    place : int
        The dword's place in the stream; for what two dwords hold, the second's.
    name : str
        Name of a register or of a field of the packet.
    value : int
        The number.
    width : int
        Bits of the number.
    offset : int or None
        Byte offset of the register that is written; None for fields of the packet.
    fields : tuple of (name, number, name of the number or None, width)
        The fields of a register.
    meaning : str or None
        The name of the value, where it has one.
    """

    place: int
    name: str
    value: int
    width: int = 32
    offset: int | None = None
    fields: tuple[tuple[str, int, str | None, int], ...] = ()
    meaning: str | None = None


@dataclass
class Packet:
    """One packet.

    Attributes
    ----------
    place : int
        The header's place in the stream, in dwords.
    type : int
        0, 2 or 3.
    opcode : int
        Of a type 3 packet.
    name : str
    body : tuple of int
        The dwords behind the header.
    predicated, compute, reset_filter_cam : bool
        Bits of the header.
    values : list of Value
    nested : list of Packet or None
        The packets of the indirect buffer that this packet calls or chains to, where it was followed.
    """

    place: int
    type: int
    opcode: int
    name: str
    header: int
    body: tuple[int, ...]
    values: list[Value] = field(default_factory=list)
    nested: list[Packet] | None = None
    chained: bool = False

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

    def __getitem__(self, name: str) -> int:
        """Return the number of the first value called `name`."""
        for value in self.values:
            if value.name == name:
                return value.value
        raise KeyError(name)

    def register_writes(self) -> Iterator[tuple[int, int]]:
        """Yield byte offset and value of every register that the packet writes."""
        for value in self.values:
            if value.offset is not None and (self.type == 0 or self.name in REGISTER_SPACES):
                yield value.offset, value.value


class _Parser:
    """One stream and the buffers that it calls."""

    def __init__(self, level: int, memory: Memory | None) -> None:
        self.level = level
        self.registers = registers(level)
        self.memory = memory
        self.left = _MOST_DWORDS
        self.open: list[int] = []            # addresses of the buffers that are being read

    def stream(self, words: Sequence[int]) -> list[Packet]:
        self.left -= len(words)
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
        kind = header >> 30
        if kind == 2:
            return Packet(place, 2, 0, "NOP", header, ())
        if kind == 1:
            raise InputError(f"dword {place}: 0x{header:08x} is the header of a type 1 packet, which no chip has")
        count = 0 if header == _NOP_PAD else (header >> 16 & 0x3FFF) + 1
        if place + count >= len(words):
            raise InputError(f"dword {place}: the packet 0x{header:08x} has {count} more dwords, the stream {len(words) - place - 1}")
        body = tuple(int(word) for word in words[place + 1 : place + 1 + count])
        if kind == 0:
            return self._type0(place, header, body)
        opcode = header >> 8 & 0xFF
        packet = Packet(place, 3, opcode, NAMES.get(opcode, f"UNKNOWN(0x{opcode:02X})"), header, body)
        packet.values = list(self._values(packet))
        if packet.name.startswith("INDIRECT_BUFFER"):
            self._follow(packet)
        return packet

    def _type0(self, place: int, header: int, body: tuple[int, ...]) -> Packet:
        first = (header & 0xFFFF) << 2
        packet = Packet(place, 0, 0, "WRITE_REGISTERS", header, body)
        packet.values = [self._write(place + 1 + k, first + 4 * k, word) for k, word in enumerate(body)]
        return packet

    # ------------------------------------------------------------------------------------------------ what dwords say
    def _fields(self, register: Register, word: int, only: tuple[str, ...] = ()) -> tuple[tuple[str, int, str | None, int], ...]:
        shown = [f for f in register.fields if not only or f.name in only]
        return tuple((f.name, f.get(word), f.values.get(f.get(word)), f.high - f.low + 1) for f in shown)

    def _write(self, place: int, offset: int, word: int) -> Value:
        register = self.registers.at(offset)
        if register is None:
            return Value(place, f"0x{offset:05x}", word, offset=offset)
        return Value(place, register.name, word, offset=offset, fields=self._fields(register, word))

    def _values(self, packet: Packet) -> Iterator[Value]:
        space = REGISTER_SPACES.get(packet.name)
        if space is None:
            yield from self._words(packet)
        elif packet.name.endswith("_PAIRS"):
            for k in range(0, len(packet.body) - 1, 2):
                yield self._write(packet.place + 2 + k, space + 4 * packet.body[k], packet.body[k + 1])
        elif "_PACKED" in packet.name:
            yield from self._packed(packet, space)
        else:
            yield from self._run(packet, space)

    def _run(self, packet: Packet, space: int) -> Iterator[Value]:
        first, *rest = packet.body
        if first >> 28:
            yield Value(packet.place + 1, "INDEX", first >> 28)
        for k, word in enumerate(rest):
            yield self._write(packet.place + 2 + k, space + 4 * ((first & 0xFFFF) + k), word)

    def _packed(self, packet: Packet, space: int) -> Iterator[Value]:
        yield Value(packet.place + 1, "REG_COUNT", packet.body[0])
        for k in range(1, len(packet.body) - 1, 3):
            for half, word in enumerate(packet.body[k + 1 : k + 3]):
                offset = space + 4 * (packet.body[k] >> 16 * half & 0xFFFF)
                yield self._write(packet.place + 2 + k + half, offset, word)

    def _words(self, packet: Packet) -> Iterator[Value]:
        at = 0
        for word in layout(packet.name, self.level, packet.body):
            if at >= len(packet.body):
                return
            if isinstance(word, DataWords):
                for k in range(at, len(packet.body)):
                    yield Value(packet.place + 1 + k, word.name, packet.body[k])
                return
            if isinstance(word, Address):
                if at + 1 >= len(packet.body):
                    return
                yield from _address(word, packet.place + 1 + at, packet.body[at] | packet.body[at + 1] << 32)
                at += 2
                continue
            yield from self._word(word, packet.place + 1 + at, packet.body[at])
            at += 1

    def _word(self, word: Word | Bits | Choice, place: int, number: int) -> Iterator[Value]:
        if isinstance(word, tuple):
            for part in word:
                yield from self._word(part, place, number)
        elif isinstance(word, RegisterWord):
            yield self._register(place, word, number)
        elif isinstance(word, PacketDword):
            register = self.registers.dword(word.number)
            if register is None:
                yield Value(place, f"0x{word.number:05x}", number)
            else:
                yield Value(place, register.name, number, fields=self._fields(register, number))
        elif isinstance(word, Bits):
            yield Value(place, word.name, (number >> word.low & (1 << word.width) - 1) * word.scale, word.width)
        elif isinstance(word, Number):
            yield Value(place, word.name, number, word.width)
        elif isinstance(word, Choice):
            bits = number >> word.low & (1 << word.width) - 1
            yield Value(place, word.name, bits, word.width, meaning=word.names[bits])

    def _register(self, place: int, word: RegisterWord, number: int) -> Value:
        if word.name not in self.registers:
            return Value(place, word.name, number)
        register = self.registers[word.name]
        return Value(place, word.name, number, offset=register.offset, fields=self._fields(register, number, word.fields))

    # ----------------------------------------------------------------------------------------------- indirect buffers
    def _follow(self, packet: Packet) -> None:
        if self.memory is None or len(packet.body) < 3:
            return
        address = packet.body[0] & ~3 | (packet.body[1] & 0xFFFF) << 32
        control = packet.body[2]
        size = control & 0xFFFFF
        packet.chained = bool(control >> 20 & 1)
        if address in self.open:
            raise InputError(f"dword {packet.place}: the indirect buffer at 0x{address:x} calls itself")
        if len(self.open) >= _MOST_NESTED and not packet.chained:
            raise InputError(f"dword {packet.place}: indirect buffers nested more than {_MOST_NESTED} deep")
        if len(self.open) >= 256:
            raise InputError(f"dword {packet.place}: a chain of more than 256 indirect buffers")
        words = self.memory(address, size)
        if words is None:
            raise InputError(f"dword {packet.place}: no memory holds the indirect buffer of {size} dwords at 0x{address:x}")
        self.open.append(address)
        try:
            packet.nested = self.stream(words)
        except InputError as error:
            raise InputError(f"in the indirect buffer at 0x{address:x}: {error}") from None
        finally:
            self.open.pop()


def _address(word: Address, place: int, number: int) -> Iterator[Value]:
    bits = number
    if word.width < 64:
        bits &= (1 << word.width) - 1
        if bits >> (word.width - 1):
            bits |= ~((1 << word.width) - 1) & 0xFFFFFFFFFFFFFFFF
    yield Value(place + 1, word.name, bits, 64)
    for part in word.above:
        yield Value(place + 1, part.name, number >> part.low & (1 << part.width) - 1, part.width)


def parse(words: Sequence[int], level: int, memory: Memory | None = None) -> list[Packet]:
    """Return the packets of a command stream.

    Parameters
    ----------
    words : sequence of int
        The stream's dwords.
    level : int
        Hardware level times ten, such as 103.
    memory : callable, optional
        Gives dwords at an address: then indirect buffers are followed.

    Raises
    ------
    InputError
        A packet that ends behind the stream, a header of no kind, an indirect buffer that calls itself, lies nowhere or is nested
        too deep; the message gives the place in dwords.
    """
    return _Parser(level, memory).stream(words)
