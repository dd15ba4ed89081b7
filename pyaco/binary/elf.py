"""The ELF container of AMDGPU code objects: sections, segments, symbols, relocations, notes; read and written.

Source: the System V ABI's ELF-64 object file format; LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyaco.errors import InputError, UnsupportedError

__all__ = ["Elf", "Relocation", "Section", "Segment", "Symbol", "read_elf", "write_sections"]

EM_AMDGPU = 224
OSABI_HSA, OSABI_PAL, OSABI_MESA3D = 64, 65, 66
ET_REL, ET_DYN = 1, 3
PT_LOAD = 1
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 1, 2, 3, 4, 7, 8, 9, 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK = 1, 2, 4, 64
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION = 0, 1, 2, 3
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STV_PROTECTED = 3
SHN_UNDEF, SHN_RESERVED, SHN_AMDGPU_LDS, SHN_ABS = 0, 0xFF00, 0xFF00, 0xFFF1

_HEADER = struct.Struct("<HHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class Section:
    """A section; `size` differs from the length of `data` where the file holds none (``SHT_NOBITS``)."""

    name: str
    kind: int
    flags: int
    data: bytes
    link: int = 0
    info: int = 0
    alignment: int = 4
    entry_size: int = 0
    address: int = 0
    size: int = 0


@dataclass(frozen=True)
class Segment:
    """A program header with its bytes; memory behind them, up to `size`, is zero."""

    kind: int
    flags: int
    address: int
    data: bytes
    size: int


@dataclass(frozen=True)
class Symbol:
    """A symbol; `value` is an address in linked objects and an offset in its section in relocatable ones."""

    name: str
    value: int
    size: int
    kind: int
    binding: int
    section: int
    visibility: int = 0

    def pack(self, name_offset: int) -> bytes:
        """The symbol's entry of a symbol table."""
        return _SYMBOL.pack(name_offset, self.binding << 4 | self.kind, self.visibility, self.section, self.value, self.size)


@dataclass(frozen=True)
class Relocation:
    """A relocation at `offset` in `section` (0: an address of the linked object); `addend` is None where memory has it."""

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int | None


@dataclass(frozen=True)
class Elf:
    """What an ELF file says."""

    kind: int
    os_abi: int
    abi_version: int
    flags: int
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]

    def notes(self, owner: str) -> Iterator[tuple[int, bytes]]:
        """Type and contents of the notes of an owner."""
        for section in self.sections:
            if section.kind == SHT_NOTE:
                for name, kind, contents in _notes(section.data):
                    if name == owner:
                        yield kind, contents


# --------------------------------------------------------------------------------------------------------------- reading
def _slice(data: bytes, offset: int, size: int, what: str) -> bytes:
    if offset < 0 or size < 0 or offset + size > len(data):
        raise InputError(f"{what}: bytes {offset} to {offset + size} of {len(data)}")
    return data[offset : offset + size]


def _unpack(layout: struct.Struct, data: bytes, offset: int, what: str) -> tuple[int, ...]:
    return layout.unpack(_slice(data, offset, layout.size, what))


def _text(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if not 0 <= offset < len(table) or end < 0:
        raise InputError(f"ELF name at {offset} is outside its string table of {len(table)} bytes")
    return table[offset:end].decode(errors="replace")


def _notes(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    position = 0
    while position < len(data):
        name_size, size, kind = _unpack(struct.Struct("<III"), data, position, "ELF note")
        position += 12
        name = _slice(data, position, name_size, "ELF note's name").rstrip(b"\0").decode(errors="replace")
        position += -(-name_size // 4) * 4
        yield name, kind, _slice(data, position, size, "ELF note's contents")
        position += -(-size // 4) * 4


def read_elf(data: bytes) -> Elf:
    """Read a 64-bit AMDGPU ELF file.

    Raises
    ------
    InputError
        The file is no ELF file of AMDGPU, or contradicts itself.
    UnsupportedError
        It is a 32-bit one.
    """
    data = bytes(data)
    kind, number, _, _, program_offset, _, flags, _, program_size, program_count, *_ = _header(data)
    if number != EM_AMDGPU:
        raise InputError(f"an ELF file of machine {number}, not {EM_AMDGPU} (AMDGPU)")
    if kind not in (ET_REL, ET_DYN):
        raise UnsupportedError(f"ELF files of type {kind}")
    if program_count and program_size != _SEGMENT.size:
        raise InputError("ELF headers of unknown size")
    segments = tuple(_read_segment(data, program_offset + _SEGMENT.size * i) for i in range(program_count))
    sections = read_sections(data)
    symbols = {i: _read_symbols(sections, section) for i, section in enumerate(sections) if section.kind in (SHT_SYMTAB, SHT_DYNSYM)}
    tables = sorted(symbols, key=lambda i: sections[i].kind)
    relocations = tuple(r for section in sections if section.kind in (SHT_REL, SHT_RELA) for r in _read_relocations(section, sections, symbols))
    return Elf(kind, data[7], data[8], flags, sections, segments, symbols[tables[0]] if tables else (), relocations)


def machine(data: bytes) -> int:
    """Return the machine that a 64-bit ELF file is for."""
    return _header(data)[1]


def read_sections(data: bytes) -> tuple[Section, ...]:
    """Read the sections of a 64-bit ELF file of any machine; errors as of `read_elf`."""
    *_, offset, _, _, _, _, size, count, names_index = _header(data)
    if count and size != _SECTION.size:
        raise InputError("ELF headers of unknown size")
    headers = [_unpack(_SECTION, data, offset + _SECTION.size * i, f"ELF section header {i}") for i in range(count)]
    return _read_sections(data, headers, names_index)


def _header(data: bytes) -> tuple[int, ...]:
    """Type, machine and all that follows them in the file's header."""
    if not data.startswith(b"\x7fELF"):
        raise InputError("no ELF file: it does not begin with 7f 45 4c 46")
    if len(data) < 64 or data[4:6] != b"\2\1":
        raise UnsupportedError("ELF files that are not 64-bit little-endian")
    return _HEADER.unpack_from(data, 16)


def _read_segment(data: bytes, position: int) -> Segment:
    kind, flags, offset, address, _, file_size, size, _ = _unpack(_SEGMENT, data, position, "ELF program header")
    return Segment(kind, flags, address, _slice(data, offset, file_size, "ELF segment"), size)


def _read_sections(data: bytes, headers: Sequence[tuple[int, ...]], names_index: int) -> tuple[Section, ...]:
    if not headers:
        return ()
    if names_index >= len(headers):
        raise InputError(f"ELF section names in section {names_index} of {len(headers)}")
    names = _slice(data, headers[names_index][4], headers[names_index][5], "ELF section names")
    sections = []
    for name, kind, flags, address, offset, size, link, info, alignment, entry_size in headers:
        text = _text(names, name) if kind else ""
        contents = b"" if kind in (0, SHT_NOBITS) else _slice(data, offset, size, f"ELF section {text}")
        sections.append(Section(text, kind, flags, contents, link, info, max(alignment, 1), entry_size, address, size))
    return tuple(sections)


def _read_symbols(sections: Sequence[Section], table: Section) -> tuple[Symbol, ...]:
    if table.link >= len(sections) or len(table.data) % _SYMBOL.size:
        raise InputError(f"ELF symbol table {table.name} contradicts itself")
    names = sections[table.link].data
    symbols = []
    for name, info, other, section, value, size in _SYMBOL.iter_unpack(table.data):
        text = _text(names, name) if name else ""
        if SHN_RESERVED > section >= len(sections):
            raise InputError(f"ELF symbol {text!r} in section {section} of {len(sections)}")
        symbols.append(Symbol(text, value, size, info & 15, info >> 4, section, other & 3))
    return tuple(symbols)


def _read_relocations(
    table: Section, sections: Sequence[Section], symbols: dict[int, tuple[Symbol, ...]]
) -> Iterator[Relocation]:
    with_addend = table.kind == SHT_RELA
    layout = struct.Struct("<QIIq" if with_addend else "<QII")
    if table.info >= len(sections) or len(table.data) % layout.size:
        raise InputError(f"ELF relocations {table.name} contradict themselves")
    known = symbols.get(table.link, ())
    for offset, kind, symbol, *addend in layout.iter_unpack(table.data):
        if symbol and symbol >= len(known):
            raise InputError(f"ELF relocation in {table.name} names symbol {symbol} of {len(known)}")
        of = known[symbol] if known else Symbol("", 0, 0, 0, 0, 0)
        yield Relocation(0 if table.flags & SHF_ALLOC else table.info, offset, kind, of, addend[0] if with_addend else None)


# --------------------------------------------------------------------------------------------------------------- writing
def note(owner: str, kind: int, contents: bytes) -> bytes:
    """The bytes of one note."""
    name = owner.encode() + b"\0"
    head = struct.pack("<III", len(name), len(contents), kind)
    return head + name + bytes(-len(name) % 4) + contents + bytes(-len(contents) % 4)


def write_sections(sections: Sequence[Section], *, os_abi: int, abi_version: int, flags: int) -> bytes:
    """Write a relocatable ELF file of the sections given, which count from 1."""
    empty = Elf(ET_REL, os_abi, abi_version, flags, (), (), (), ())
    return append_sections(bytearray(64), sections, empty, ET_REL, 0)


def append_sections(image: bytearray, sections: Sequence[Section], like: Elf, kind: int, segments: int) -> bytes:
    """Finish a file of type `kind` that begins with `image`, which has room for the header, `segments` program headers and the
    sections with an address; the others are appended. ABI and flags are those of `like`."""
    names = b"\0" + b"".join(section.name.encode() + b"\0" for section in sections) + b".shstrtab\0"
    sections = [*sections, Section(".shstrtab", SHT_STRTAB, 0, names, alignment=1)]
    headers = bytes(_SECTION.size)
    for section in sections:
        offset = section.address
        if not offset:
            image += bytes(-len(image) % section.alignment)
            offset = len(image)
            image += section.data
        headers += _SECTION.pack(
            names.index(b"\0" + section.name.encode() + b"\0") + 1, section.kind, section.flags, section.address, offset,
            max(section.size, len(section.data)), section.link, section.info, section.alignment, section.entry_size,
        )  # fmt: skip
    image += bytes(-len(image) % 8)
    identification = b"\x7fELF" + bytes([2, 1, 1, like.os_abi, like.abi_version]) + bytes(7)
    image[:64] = identification + _HEADER.pack(
        kind, EM_AMDGPU, 1, 0, 64 if segments else 0, len(image), like.flags, 64, _SEGMENT.size if segments else 0, segments,
        _SECTION.size, len(sections) + 1, len(sections),
    )  # fmt: skip
    return bytes(image) + headers
