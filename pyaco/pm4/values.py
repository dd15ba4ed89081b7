"""What the dwords of a packet say: values with the names of registers and fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pyaco.pm4.layouts import (
    REGISTER_SPACES,
    Address,
    Bits,
    Choice,
    DataWords,
    Number,
    PacketDword,
    Part,
    RegisterPlace,
    RegisterWord,
    Repeat,
    Word,
    layout,
)  # fmt: skip
from pyaco.registers import Register, registers

__all__ = ["RawPacket", "Value", "decode_values", "decode_word", "decode_words", "register_writes"]

Fields = tuple[tuple[str, int, str | None, int], ...]


@dataclass
class RawPacket:
    """The dwords of one packet, and what its header says.

    Attributes
    ----------
    place : int
        The header's place in the stream, in dwords.
    type : int
        0, 2 or 3.
    opcode : int
        Of a type 3 packet.
    name : str
    header : int
    body : tuple of int
        The dwords behind the header.
    level : int
        Hardware level times ten, which decides what the body says.
    """

    place: int
    type: int
    opcode: int
    name: str
    header: int
    body: tuple[int, ...]
    level: int


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
    fields: Fields = ()
    meaning: str | None = None


def register_writes(packet: RawPacket) -> Iterator[tuple[int, int, int]]:
    """Yield place, byte offset and value of every register that a packet of register writes writes."""
    body, place = packet.body, packet.place + 1
    if packet.type == 0:
        first = (packet.header & 0xFFFF) << 2
        for k, word in enumerate(body):
            yield place + k, first + 4 * k, word
        return
    space = REGISTER_SPACES.get(packet.name)
    if space is None:
        return
    if packet.name.endswith("_PAIRS"):
        for k in range(0, len(body) - 1, 2):
            yield place + 1 + k, space + 4 * (body[k] & 0xFFFF), body[k + 1]
    elif "_PACKED" in packet.name:
        for k in range(1, len(body) - 1, 3):
            for half, word in enumerate(body[k + 1 : k + 3]):
                yield place + 1 + k + half, space + 4 * (body[k] >> 16 * half & 0xFFFF), word
    else:
        for k, word in enumerate(body[1:]):
            yield place + 1 + k, space + 4 * ((body[0] & 0xFFFF) + k), word


def decode_values(packet: RawPacket) -> Iterator[Value]:
    """Yield what the dwords of a packet say, in their order."""
    if packet.type == 3 and packet.name not in REGISTER_SPACES:
        yield from decode_words(layout(packet.name, packet.level, packet.body), packet.level, packet.place + 1, packet.body)
        return
    if "_PACKED" in packet.name:
        yield Value(packet.place + 1, "REG_COUNT", packet.body[0])
    elif packet.type == 3 and not packet.name.endswith("_PAIRS") and packet.body[0] >> 28:
        yield Value(packet.place + 1, "INDEX", packet.body[0] >> 28)
    for place, offset, word in register_writes(packet):
        name, fields = _written(packet.level, offset, word)
        yield Value(place, name, word, offset=offset, fields=fields)


@lru_cache(1 << 14)
def _written(level: int, offset: int, word: int) -> tuple[str, Fields]:
    """Return name and fields of a register that is written; its offset as a name where there is none."""
    register = registers(level).at(offset)
    return (f"0x{offset:05x}", ()) if register is None else (register.name, _fields(register, word))


@lru_cache(1 << 14)
def _dword(level: int, number: int, word: int) -> tuple[str, Fields]:
    register = registers(level).dword(number)
    return (f"0x{number:05x}", ()) if register is None else (register.name, _fields(register, word))


@lru_cache(1 << 14)
def _named(level: int, name: str, word: int, only: tuple[str, ...]) -> tuple[int | None, Fields]:
    known = registers(level)
    if name not in known:
        return None, ()
    return known[name].offset, _fields(known[name], word, only)


def _fields(register: Register, word: int, only: tuple[str, ...] = ()) -> Fields:
    shown = [f for f in register.fields if not only or f.name in only]
    return tuple((f.name, f.get(word), f.values.get(f.get(word)), f.high - f.low + 1) for f in shown)


def decode_words(words: Sequence[Word], level: int, place: int, body: Sequence[int]) -> Iterator[Value]:
    """Yield what a body says whose words are given; `place` is that of its first dword."""
    at = 0
    for word in words:
        if isinstance(word, DataWords):
            for k in range(at, len(body)):
                yield Value(place + k, word.name, body[k])
            return
        if isinstance(word, Repeat):
            group = len(word.words)
            for k in range(at, len(body) - (len(body) - at) % group):
                yield from decode_word(word.words[(k - at) % group], level, place + k, body[k])
            return
        size = 2 if isinstance(word, Address) else 1
        if at + size > len(body):
            return
        if isinstance(word, Address):
            yield from _address(word, place + at, body[at : at + 2])
        else:
            yield from decode_word(word, level, place + at, body[at])
        at += size


def decode_word(word: Word | Part, level: int, place: int, number: int) -> Iterator[Value]:
    """Yield what one dword says."""
    if isinstance(word, tuple):
        for part in word:
            yield from decode_word(part, level, place, number)
    elif isinstance(word, RegisterWord):
        offset, fields = _named(level, word.name, number, word.fields)
        yield Value(place, word.name, number, offset=offset, fields=fields)
    elif isinstance(word, PacketDword):
        name, fields = _dword(level, word.number, number)
        yield Value(place, name, number, fields=fields)
    elif isinstance(word, Bits):
        yield Value(place, word.name, (number >> word.low & (1 << word.width) - 1) * word.scale, word.width)
    elif isinstance(word, RegisterPlace):
        register = registers(level).at(word.space + 4 * (number & 0xFFFF))
        yield Value(place, word.name, number & 0xFFFF, 16, meaning=None if register is None else register.name)
    elif isinstance(word, Number):
        yield Value(place, word.name, number, word.width)
    elif isinstance(word, Choice):
        bits = number >> word.low & (1 << word.width) - 1
        yield Value(place, word.name, bits, word.width, meaning=word.names[bits])


def _address(word: Address, place: int, halves: Sequence[int]) -> Iterator[Value]:
    number = halves[0] | halves[1] << 32
    bits = number
    if word.width < 64:
        bits &= (1 << word.width) - 1
        if bits >> (word.width - 1):
            bits |= ~((1 << word.width) - 1) & 0xFFFFFFFFFFFFFFFF
    yield Value(place + 1, word.name, bits, 64)
    for part in word.above:
        yield Value(place + 1, part.name, number >> part.low & (1 << part.width) - 1, part.width)
