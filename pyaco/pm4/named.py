"""Packets by the names of their fields: built from them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from operator import index
from typing import Any

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.pm4.build import packet
from pyaco.pm4.layouts import (
    REGISTER_SPACES,
    Address,
    Bits,
    Choice,
    DataWords,
    Layout,
    Number,
    PacketDword,
    Part,
    RegisterPlace,
    RegisterWord,
    Repeat,
    Word,
    layout,
    layouts,
)  # fmt: skip
from pyaco.pm4.stream import Packet
from pyaco.registers import Register, registers

__all__ = ["Builder", "named_packet", "named_values"]


@checked
def named_values(packet: Packet) -> dict[str, Any]:
    """Return a packet's numbers by the names of its fields, as `named_packet` takes them.

    What repeats, such as data, is a list. Of a name that occurs twice the first counts.

    Parameters
    ----------
    packet : Packet
        One of `parse`'s.

    Returns
    -------
    dict of str to int or list of int
    """
    words = layout(packet.name, packet.level, packet.body)
    lists = {part.name for word in words for part in (word.words if isinstance(word, Repeat) else (word,) if isinstance(word, DataWords) else ())}
    found: dict[str, Any] = {}
    for value in packet.values:
        if value.name in lists:
            found.setdefault(value.name, []).append(value.value)
        elif value.fields:
            for name, number, _, _ in value.fields:
                found.setdefault(name, number)
        else:
            found.setdefault(value.name, value.value)
    return found


@checked
def named_packet(name: str, level: int, compute: bool = False, predicated: bool = False, **fields: int | str | Sequence[int]) -> list[int]:
    """Return the dwords of a type 3 packet whose fields are given by name.

    Parameters
    ----------
    name : str
        Such as ``WRITE_DATA``.
    level : int
        Hardware level times ten, which decides what fields there are.
    compute, predicated : bool
        As `packet` takes them.
    **fields
        Numbers, or names of values; lists for what repeats. Fields that are not given are zero. Of several forms of a packet the
        first is built that has all of them.

    Raises
    ------
    InputError
        No such packet, field or value, a number that does not fit, or a packet of register writes, which `Stream.set` builds.
    """
    if name in REGISTER_SPACES:
        raise InputError(f"{name} is no packet whose fields have names: it writes registers")
    forms = layouts(name, level)
    for form in forms:
        builder = Builder(level, fields)
        body = builder.body(form)
        if not builder.left and layout(name, level, body) == form.words:
            return packet(name, *body, compute=compute, predicated=predicated)
    known = set.intersection(set(fields), *(Builder(level, fields).missing(form) for form in forms))
    raise InputError(f"{name} has no form with the fields {', '.join(sorted(known or fields))}")


class Builder:
    """The fields that are left to be placed."""

    def __init__(self, level: int, fields: Mapping[str, Any]) -> None:
        self.known = registers(level)
        self.left = dict(fields)

    def missing(self, form: Layout) -> set[str]:
        """Return the fields that a form does not have."""
        self.body(form)
        return set(self.left)

    def body(self, form: Layout) -> list[int]:
        """Return the dwords of a form with the fields in place."""
        body: list[int] = []
        needed = len(form.words) - form.optional
        for number, word in enumerate(form.words):
            before = len(self.left)
            dwords = self.dwords(word)
            if number < needed or len(self.left) < before:
                body += dwords
        return body or [0]

    def dwords(self, word: Word) -> Sequence[int]:
        """Return the dwords of a word."""
        if isinstance(word, DataWords):
            data = self.left.pop(word.name, [])
            if not isinstance(data, Iterable):
                raise InputError(f"{word.name} is a sequence of numbers, not {data!r}")
            return [self._checked(word.name, number, 32) for number in data]
        if isinstance(word, Repeat):
            columns = [self.left.pop(part.name, []) for part in word.words]
            if not all(isinstance(column, Sized) for column in columns):
                raise InputError(f"{' and '.join(part.name for part in word.words)} are sequences of numbers")
            if len({len(column) for column in columns}) > 1:
                raise InputError(f"{' and '.join(part.name for part in word.words)} have different lengths")
            return [Builder(self.known.level, {part.name: value}).part(part)
                    for row in zip(*columns, strict=True) for part, value in zip(word.words, row, strict=True)]
        if isinstance(word, Address):
            number = self._checked(word.name, self.left.pop(word.name, 0), 64) & (1 << word.width) - 1
            for part in word.above:
                number |= self._bits(part)
            return number & 0xFFFFFFFF, number >> 32
        return (self.part(word),)

    def part(self, word: Part | PacketDword | tuple[Part, ...]) -> int:
        """Return a dword."""
        if isinstance(word, tuple):
            dword = 0
            for part in word:
                dword |= self.part(part)
            return dword
        if isinstance(word, PacketDword):
            return self._register(self.known.dword(word.number), "", ())
        if isinstance(word, RegisterWord):
            known = word.name in self.known
            return self._register(self.known[word.name] if known else None, word.name, word.fields)
        if isinstance(word, RegisterPlace):
            return self._register_place(word)
        if isinstance(word, Number):
            return self._checked(word.name, self.left.pop(word.name, 0), 32)
        return self._bits(word)

    def _register(self, register: Register | None, name: str, only: tuple[str, ...]) -> int:
        name = name if register is None else register.name
        dword = self._checked(name, self.left.pop(name, 0), 32)
        for field in register.fields if register else ():
            if field.name in self.left and (not only or field.name in only):
                dword |= field.put(self.left.pop(field.name))
        return dword

    def _register_place(self, word: RegisterPlace) -> int:
        value = self.left.pop(word.name, 0)
        return self._checked(word.name, (self.known[value].offset - word.space) // 4 if isinstance(value, str) else value, 16)

    def _bits(self, part: Bits | Choice) -> int:
        value, scale = self.left.pop(part.name, 0), part.scale if isinstance(part, Bits) else 1
        if isinstance(value, str):
            if not isinstance(part, Choice) or value not in part.names:
                raise InputError(f"{value!r} is no value of {part.name}")
            value = part.names.index(value)
        units, rest = divmod(self._checked(part.name, value, 64), scale)
        if rest:
            raise InputError(f"{part.name} is a multiple of {scale}, not {value}")
        return self._checked(part.name, units, part.width) << part.low

    @staticmethod
    def _checked(name: str, number: int, bits: int) -> int:
        try:
            fits = 0 <= index(number) < 1 << bits
        except TypeError:
            raise InputError(f"{number!r} is no value of {name}") from None
        if not fits:
            raise InputError(f"{name} has {bits} bits: {number} does not fit")
        return number
