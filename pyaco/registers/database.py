"""Registers by name and by offset, and their values as fields.

The data file ``data/registers.txt`` says its own form. Sources: AMD's register headers in the Linux kernel's amdgpu driver
(``include/asic_reg``); Mesa's ``src/amd/registers`` for which of them the user mode writes, and for the dwords of packets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["LEVELS", "Field", "Register", "Registers", "registers"]

LEVELS = (60, 70, 80, 81, 90, 94, 100, 103, 110, 115, 120)
"""Hardware levels times ten that the database distinguishes."""


@dataclass(frozen=True)
class Field:
    """Bits of a register.

    Attributes
    ----------
    name : str
    low, high : int
        The first and the last bit.
    values : dict of int to str
        Names of values; empty where the field is a number.
    """

    name: str
    low: int
    high: int
    values: dict[int, str]

    @property
    def mask(self) -> int:
        """The field's bits in place."""
        return ((1 << (self.high - self.low + 1)) - 1) << self.low

    def get(self, word: int) -> int:
        """Return the field's number in `word`.

        Raises
        ------
        InputError
            `word` is no integer.
        """
        try:
            return (word & self.mask) >> self.low
        except (TypeError, ValueError):
            raise InputError(f"{self.name} is read from an integer, not {word!r}") from None

    def put(self, value: int | str) -> int:
        """Return `value`, a number or the name of one, in place.

        Raises
        ------
        InputError
            A name that is no value of the field, or a number that does not fit.
        """
        number = value if isinstance(value, int) else self.number(value)
        if not 0 <= number <= self.mask >> self.low:
            raise InputError(f"{self.name} has {self.high - self.low + 1} bits: {number} does not fit")
        return number << self.low

    def number(self, name: str) -> int:
        """Return the number of the value called `name`.

        Raises
        ------
        InputError
            No value of the field is called so.
        """
        for number, other in self.values.items():
            if other == name:
                return number
        raise InputError(f"{name!r} is no value of {self.name}; values: {', '.join(self.values.values()) or 'numbers only'}")


@dataclass(frozen=True)
class Register:
    """A register of one hardware level.

    Attributes
    ----------
    name : str
    offset : int
        Byte offset in the register space; for dwords of packets, opcode * 16 + place.
    fields : tuple of Field
        By lowest bit; empty where the register is one number.
    """

    name: str
    offset: int
    fields: tuple[Field, ...]

    @checked
    def field(self, name: str) -> Field:
        """Return the field called `name`.

        Raises
        ------
        InputError
            The register has no such field.
        """
        for field in self.fields:
            if field.name == name:
                return field
        raise InputError(f"{self.name} has no field {name!r}; fields: {', '.join(f.name for f in self.fields) or 'none'}")

    @checked
    def encode(self, **fields: int | str) -> int:
        """Return the word in which the fields have these values and every other bit is zero.

        Raises
        ------
        InputError
            No such field, no such value, or a number that does not fit.
        """
        word = 0
        for name, value in fields.items():
            word |= self.field(name).put(value)
        return word

    def decode(self, word: int) -> dict[str, int | str]:
        """Return every field's value in `word`: the value's name where it has one."""
        values: dict[str, int | str] = {}
        for field in self.fields:
            number = field.get(word)
            values[field.name] = field.values.get(number, number)
        return values


class Registers:
    """The registers of one hardware level. Made by `registers`."""

    def __init__(self, level: int, found: list[Register], dwords: list[Register]) -> None:
        self.level = level
        self._by_name = {register.name: register for register in reversed(found)}
        self._by_offset = {register.offset: register for register in reversed(found)}
        self._dwords = {register.offset: register for register in reversed(dwords)}

    def __iter__(self) -> Iterator[Register]:
        return iter(sorted(self._by_name.values(), key=lambda register: register.offset))

    def __len__(self) -> int:
        return len(self._by_name)

    def __getitem__(self, name: str) -> Register:
        found = self._by_name.get(name) if isinstance(name, str) else None
        if found is None:
            raise InputError(f"no register {name!r} on level {self.level / 10:g}")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @checked
    def at(self, offset: int) -> Register | None:
        """Return the register at byte `offset`, or None."""
        return self._by_offset.get(offset)

    @checked
    def dword(self, number: int) -> Register | None:
        """Return the packet dword numbered opcode * 16 + place, or None where the level has none."""
        return self._dwords.get(number)


def _levels(text: str) -> tuple[int, ...]:
    names = [f"{level / 10:g}" for level in LEVELS]
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += LEVELS[names.index(first) : names.index(last or first) + 1]
    return tuple(found)


class _Reader:
    """The data file, read once for all levels."""

    def __init__(self) -> None:
        self.enums: dict[str, dict[int, str]] = {}
        self.types: dict[str, tuple[Field, ...]] = {}
        self.registers: dict[int, list[Register]] = {level: [] for level in LEVELS}
        self.dwords: dict[int, list[Register]] = {level: [] for level in LEVELS}
        text = resources.files("pyaco.registers").joinpath("data/registers.txt").read_text()
        handlers = {"enum": self._enum, "type": self._type, "register": self._register, "dword": self._dword}
        spans: dict[str, tuple[int, ...]] = {}
        self._spans = spans
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind != "#":
                handlers[kind](rest.split())

    def _enum(self, words: list[str]) -> None:
        entries = (entry.split(":") for entry in words[1:])
        self.enums[words[0]] = {int(value): name for value, name in entries}

    def _type(self, words: list[str]) -> None:
        fields = []
        for word in words[1:]:
            bits, name, *enum = word.split(":")
            low, high = bits.split("-")
            fields.append(Field(name, int(low), int(high), self.enums[enum[0]] if enum else {}))
        self.types[words[0]] = tuple(fields)

    def _add(self, words: list[str], into: dict[int, list[Register]]) -> None:
        offset, name, span, *kind = words
        if span not in self._spans:
            self._spans[span] = _levels(span)
        register = Register(name, int(offset, 16), self.types[kind[0]] if kind else ())
        for level in self._spans[span]:
            into[level].append(register)

    def _register(self, words: list[str]) -> None:
        self._add(words, self.registers)

    def _dword(self, words: list[str]) -> None:
        self._add(words, self.dwords)


@cache
def _reader() -> _Reader:
    return _Reader()


@checked
@cache
def registers(level: int) -> Registers:
    """Return the registers of a hardware level.

    Parameters
    ----------
    level : int
        The level times ten: 60, 70, 80, 81 (Stoney), 90, 94 (gfx94x), 100, 103, 110, 115 or 120.

    Raises
    ------
    InputError
        Another level.
    """
    if level not in LEVELS:
        raise InputError(f"no registers of level {level / 10:g}; levels: {', '.join(f'{known / 10:g}' for known in LEVELS)}")
    reader = _reader()
    return Registers(level, reader.registers[level], reader.dwords[level])
