"""A relocatable code object to the shared object that loaders take; there is one input, and nothing to look for elsewhere.

Source: the System V ABI, "Program Loading and Dynamic Linking"; LLVM's "User Guide for AMDGPU Backend", "Loaded Code Object".
"""

from __future__ import annotations

import dataclasses
import struct

from pyaco.arguments import checked
from pyaco.binary import elf
from pyaco.binary.code_object import RELOCATIONS, relocation_text
from pyaco.errors import InputError, UnsupportedError

__all__ = ["link_code_object"]

_PAGE = 4096
_PT_DYNAMIC, _PT_NOTE = 2, 4
_R, _W, _X = 4, 2, 1
_SHT_HASH, _SHT_DYNAMIC = 5, 6
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT = 4, 5, 6, 10, 11
# Access of the segments, in their order, and how many program headers there are at most.
_ACCESS = (_R, _R | _X, _R | _W)
_HEADER_ROOM = 64 + 56 * 5


@checked
def link_code_object(data: bytes) -> bytes:
    """Link one relocatable code object to a shared one.

    Parameters
    ----------
    data
        What ``assemble_code_object`` gives.

    Raises
    ------
    InputError
        The file is no relocatable code object, or a symbol is undefined.
    UnsupportedError
        A relocation other than the distance from its field to a symbol of the file.
    """
    file = elf.read_elf(data)
    if file.kind != elf.ET_REL:
        raise InputError("a relocatable code object is expected")
    loaded = [(i, section) for i, section in enumerate(file.sections) if section.flags & elf.SHF_ALLOC]
    undefined = [symbol.name for symbol in file.symbols if symbol.name and not symbol.section]
    if undefined:
        raise InputError(f"undefined symbols: {', '.join(undefined)}")
    exported = [symbol for symbol in file.symbols if symbol.binding != elf.STB_LOCAL and symbol.visibility not in (1, 2)]
    return _Layout(file, loaded, exported).write()


class _Layout:
    """Sections at their addresses: offsets in the file are addresses."""

    def __init__(self, file: elf.Elf, loaded: list[tuple[int, elf.Section]], exported: list[elf.Symbol]) -> None:
        self.file = file
        self.exported = exported
        self.sections: list[elf.Section] = []
        self.numbers: dict[int, int] = {}  # of a section of the input in the output
        self.segments: list[tuple[int, int, int, int]] = []  # type, access, first byte, behind the last
        self.end = _HEADER_ROOM
        self.names = bytearray(b"\0")
        offsets = []
        for symbol in exported:
            offsets.append(len(self.names))
            self.names += symbol.name.encode() + b"\0"
        self.offsets = offsets
        for access in _ACCESS:
            self.segment(access, loaded)

    def segment(self, access: int, loaded: list[tuple[int, elf.Section]]) -> None:
        """Lay out the sections of one kind of access."""
        start = self.end if access == _R else -(-self.end // _PAGE) * _PAGE
        self.end = start
        if access == _R:
            # sizes are known already, contents when addresses are
            self.append(elf.Section(".dynsym", elf.SHT_DYNSYM, elf.SHF_ALLOC, bytes(24 * (1 + len(self.exported))), alignment=8, entry_size=24))
            self.append(elf.Section(".hash", _SHT_HASH, elf.SHF_ALLOC, self.hash_table(), alignment=4, entry_size=4))
            self.append(elf.Section(".dynstr", elf.SHT_STRTAB, elf.SHF_ALLOC, bytes(self.names), alignment=1))
        for index, section in loaded:
            wanted = _R | (_X if section.flags & elf.SHF_EXECINSTR else 0) | (_W if section.flags & elf.SHF_WRITE else 0)
            if wanted == access:
                self.numbers[index] = self.append(section)
        if access & _W:
            address = -(-self.end // 8) * 8
            self.append(elf.Section(".dynamic", _SHT_DYNAMIC, elf.SHF_ALLOC | elf.SHF_WRITE, self.dynamic(), alignment=8, entry_size=16))
            self.segments.append((_PT_DYNAMIC, access, address, self.end))
        first = 0 if access == _R else start
        if self.end > start:
            self.segments.append((elf.PT_LOAD, access, first, self.end))
        for section in self.sections:
            if access == _R and section.kind == elf.SHT_NOTE:
                self.segments.append((_PT_NOTE, access, section.address, section.address + len(section.data)))

    def append(self, section: elf.Section) -> int:
        """Put a section behind the others; returns its number."""
        address = -(-self.end // section.alignment) * section.alignment
        data = section.data if section.kind != elf.SHT_NOBITS else bytes(section.size)
        kind = elf.SHT_PROGBITS if section.kind == elf.SHT_NOBITS else section.kind
        self.sections.append(dataclasses.replace(section, address=address, data=data, kind=kind, size=len(data)))
        self.end = address + len(data)
        return len(self.sections)

    def number(self, name: str) -> int:
        return next(i for i, section in enumerate(self.sections, 1) if section.name == name)

    def hash_table(self) -> bytes:
        """One bucket: a chain of all symbols."""
        count = len(self.exported)
        chain = [index + 1 if index < count else 0 for index in range(1, count + 1)]
        return struct.pack(f"<{4 + count}I", 1, count + 1, 1 if count else 0, 0, *chain)

    def dynamic(self) -> bytes:
        address = {section.name: section.address for section in self.sections}
        entries = [(_DT_SYMTAB, address[".dynsym"]), (_DT_SYMENT, 24), (_DT_STRTAB, address[".dynstr"]),
                   (_DT_STRSZ, len(self.names)), (_DT_HASH, address[".hash"]), (0, 0)]  # fmt: skip
        return b"".join(struct.pack("<QQ", *entry) for entry in entries)

    def symbol(self, symbol: elf.Symbol) -> elf.Symbol:
        """A symbol of the input at its address."""
        if symbol.section >= elf.SHN_RESERVED:
            return symbol
        number = self.numbers.get(symbol.section, 0)
        base = self.sections[number - 1].address if number else 0
        return dataclasses.replace(symbol, value=base + symbol.value, section=number)

    def write(self) -> bytes:
        image = bytearray(self.end)
        for section in self.sections:
            image[section.address : section.address + len(section.data)] = section.data
        table = bytes(24) + b"".join(self.symbol(s).pack(o) for s, o in zip(self.exported, self.offsets, strict=True))
        address = self.sections[self.number(".dynsym") - 1].address
        image[address : address + len(table)] = table
        for relocation in self.file.relocations:
            self.relocate(image, relocation)
        for index, (kind, access, first, last) in enumerate(self.segments):
            alignment = _PAGE if kind == elf.PT_LOAD else 8
            header = struct.pack("<IIQQQQQQ", kind, access, first, first, first, last - first, last - first, alignment)
            image[64 + 56 * index : 64 + 56 * (index + 1)] = header
        return self.finish(image)

    def relocate(self, image: bytearray, relocation: elf.Relocation) -> None:
        if relocation.section not in self.numbers:
            return
        size, first_bit, relative, indirect = RELOCATIONS.get(relocation.kind, (0, 0, False, False))
        if not relative or indirect or relocation.addend is None:
            what = "an address in a table that the loader fills (GOT)" if indirect else "an absolute address, which the loader would have to fill in"
            raise UnsupportedError(f"linking {what}: a relocation of type {relocation_text(relocation)}")
        address = self.sections[self.numbers[relocation.section] - 1].address + relocation.offset
        value = self.symbol(relocation.symbol).value + relocation.addend - address
        image[address : address + size] = (value >> first_bit & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def finish(self, image: bytearray) -> bytes:
        """Headers, and the tables that are not loaded."""
        ordered = sorted((s for s in self.file.symbols if s.name), key=lambda symbol: symbol.binding != elf.STB_LOCAL)
        table, strings = bytearray(24), bytearray(b"\0")
        for symbol in ordered:
            table += self.symbol(symbol).pack(len(strings))
            strings += symbol.name.encode() + b"\0"
        first_global = 1 + sum(symbol.binding == elf.STB_LOCAL for symbol in ordered)
        count = len(self.sections)
        links = {".dynsym": (self.number(".dynstr"), 1), ".hash": (self.number(".dynsym"), 0), ".dynamic": (self.number(".dynstr"), 0)}
        sections = [dataclasses.replace(s, link=links[s.name][0], info=links[s.name][1]) if s.name in links else s for s in self.sections]
        sections.append(elf.Section(".symtab", elf.SHT_SYMTAB, 0, bytes(table), count + 2, first_global, 8, 24))
        sections.append(elf.Section(".strtab", elf.SHT_STRTAB, 0, bytes(strings), alignment=1))
        return elf.append_sections(image, sections, self.file, elf.ET_DYN, len(self.segments))
