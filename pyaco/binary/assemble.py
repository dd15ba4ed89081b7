"""Assembly text to HSA code objects: machine code, kernel descriptors, symbols and metadata in one file.

Source: LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object", "Kernel Descriptor" and "Code Object Metadata".
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyaco.arguments import checked
from pyaco.binary import elf
from pyaco.binary.kernel_descriptor import kernel_descriptor
from pyaco.binary.machines import machine_flags
from pyaco.binary.metadata_text import read_metadata
from pyaco.errors import InputError
from pyaco.isa.assembler import encoded, run
from pyaco.isa.processors import assembly_target
from pyaco.targets.target_id import generic_processors

if TYPE_CHECKING:
    from pyaco._core.isa.assemble_text import Assembler

__all__ = ["assemble_code_object"]

NT_AMDGPU_METADATA = 32
R_AMDGPU_REL64 = 5
#: Where a descriptor has the distance to its kernel.
_ENTRY_OFFSET = 16
_BINDINGS = {".globl": elf.STB_GLOBAL, ".global": elf.STB_GLOBAL, ".weak": elf.STB_WEAK, ".local": elf.STB_LOCAL}
_VISIBILITIES = {".internal": 1, ".hidden": 2, ".protected": elf.STV_PROTECTED}
_TYPES = {"function": elf.STT_FUNC, "object": elf.STT_OBJECT, "notype": elf.STT_NOTYPE}


_SHF_MERGED_STRINGS = 0x30
#: Where others have the name of a section.
_ABSOLUTE, _LDS = "(absolute)", "(LDS)"
_SPECIAL_SECTIONS = {_ABSOLUTE: elf.SHN_ABS, _LDS: elf.SHN_AMDGPU_LDS}


@dataclass(frozen=True)
class _Relocation:
    """What a linker adds at `offset`; `symbol` is the name of a section if the addend counts from the beginning of that."""

    offset: int
    kind: int
    symbol: str
    addend: int


@dataclass
class _Symbol:
    """A symbol as the source declares it; `section` is empty if it is not defined."""

    name: str
    section: str = ""
    value: int = 0
    size: int = 0
    kind: int = elf.STT_NOTYPE
    binding: int = elf.STB_LOCAL
    visibility: int = 0


@checked
def assemble_code_object(
    text: str, target: str, *, wave_size: int | None = None, version: int | None = None, metadata: dict[str, Any] | None = None
) -> bytes:
    """Assemble text to a relocatable HSA code object.

    Parameters
    ----------
    text
        As for ``pyaco.isa.assemble``. ``.amdhsa_kernel`` blocks become descriptors where they stand; ``.amdgpu_metadata`` becomes
        the note; ``.amdgcn_target`` may fix ``xnack`` and ``sramecc``; ``.amdhsa_code_object_version`` overrides `version`.
    target
        A gfx name, the name of a generic processor (``gfx11-generic``), a chip name or product name.
    wave_size
        32 or 64; by default 64 up to GFX9 and 32 later.
    version
        Version of the code object, 4 to 6; by default 5, and 6 for a generic target, which no other has.
    metadata
        The metadata as Python objects, instead of the source's.

    Returns
    -------
    bytes
        An ELF file: sections, a symbol for each label and number that does not begin with ``.L``, ``NAME.kd`` for each kernel, and
        relocations for what a linker has to fill in (``symbol@rel32@lo`` and its like, addresses in data). There is no debug
        information: line numbers (``.file``, ``.loc``), unwinding (``.cfi_...``) and ``.addrsig`` are read and left out.

    Raises
    ------
    InputError
        The source, a kernel's directives or the metadata are wrong.
    UnsupportedError
        The target has no code objects.
    """
    name, _ = assembly_target(target)
    assembler = run(encoded(text), target, wave_size, linkable=True)
    contents = {section: bytearray(data) for section, data in assembler.section_contents().items()}
    symbols = _symbols(assembler)
    relocations = _relocations(assembler, list(contents), symbols)
    for kernel, values, section, offset in assembler.kernels:
        try:
            descriptor = kernel_descriptor(values, name, wave_size=wave_size)
        except InputError as error:
            raise InputError(f"kernel {kernel}: {error}") from None
        contents[section][offset : offset + 64] = descriptor.to_bytes()
        code = symbols.setdefault(kernel, _Symbol(kernel, binding=elf.STB_GLOBAL))
        symbols[f"{kernel}.kd"] = _Symbol(f"{kernel}.kd", section, offset, 64, elf.STT_OBJECT, code.binding, code.visibility)
        # the linker has to find the distance itself
        code.visibility = code.visibility or elf.STV_PROTECTED
        relocations.setdefault(section, []).append(_Relocation(offset + _ENTRY_OFFSET, R_AMDGPU_REL64, kernel, _ENTRY_OFFSET))
    symbols = {name: symbol for name, symbol in symbols.items() if symbol.section or symbol.binding != elf.STB_LOCAL}
    settings, version = _target_settings(assembler, name, version)
    document = metadata if metadata is not None else read_metadata(assembler.metadata) if assembler.metadata is not None else None
    sections = [_section(section, bytes(data), assembler.section_words.get(section, "")) for section, data in contents.items()]
    if idents := b"".join(words.strip('"').encode() + b"\0" for directive, words, _, _ in assembler.declarations if directive == ".ident"):
        sections.append(elf.Section(".comment", elf.SHT_PROGBITS, _SHF_MERGED_STRINGS, b"\0" + idents, alignment=1, entry_size=1))
    return _write(sections, symbols, relocations, document, machine_flags(name, settings), version)


def _symbols(assembler: Assembler) -> dict[str, _Symbol]:
    symbols = {
        name: _Symbol(name, section or _ABSOLUTE, offset)
        for name, (section, offset) in sorted(assembler.labels().items()) if not name.startswith((".L", ".amdgcn."))
    }
    for directive, words, section, here in assembler.declarations:
        names = [word.strip().strip('"') for word in words.split(",")]
        if directive in _BINDINGS or directive in _VISIBILITIES:
            for name in names:
                symbol = symbols.setdefault(name, _Symbol(name))
                symbol.binding = _BINDINGS.get(directive, symbol.binding)
                symbol.visibility = _VISIBILITIES.get(directive, symbol.visibility)
        elif directive == ".amdgpu_lds":
            symbols[names[0]] = _lds_symbol(assembler, words, section, here)
        elif directive == ".type" and len(names) == 2 and names[0] in symbols:
            symbols[names[0]].kind = _TYPES.get(names[1].lstrip("@%").lower(), elf.STT_NOTYPE)
        elif directive == ".size" and len(names) == 2 and names[0] in symbols:
            size = assembler.number(names[1], section, here)
            if size is None:
                raise InputError(f".size {words}: the size is no number")
            symbols[names[0]].size = size
    return symbols


def _lds_symbol(assembler: Assembler, words: str, section: int, here: int) -> _Symbol:
    """``.amdgpu_lds name, size[, alignment]``: the symbol's value is the alignment."""
    name, *rest = (word.strip() for word in words.split(","))
    numbers = [assembler.number(word, section, here) for word in rest]
    size, alignment = numbers if len(numbers) == 2 else (*numbers, 4)[:2]
    if not 1 <= len(numbers) <= 2 or size is None or alignment is None or size < 0 or alignment < 1:
        raise InputError(f".amdgpu_lds {words}: a name, a size and an alignment are expected")
    return _Symbol(name, _LDS, alignment, size, elf.STT_OBJECT, elf.STB_GLOBAL)


def _relocations(assembler: Assembler, sections: list[str], symbols: dict[str, _Symbol]) -> dict[str, list[_Relocation]]:
    """Relocations by section; symbols that are defined nowhere are added, what no other file sees is counted from its section."""
    labels = assembler.labels()
    found: dict[str, list[_Relocation]] = {}
    for section, position, kind, name, of, number in assembler.relocations:
        inside, offset = labels.get(name, (name if name in sections else "", 0))
        addend = number - offset if of >= 0 else number
        if not inside:
            symbol = symbols.setdefault(name, _Symbol(name))
            symbol.binding = symbol.binding or elf.STB_GLOBAL
        elif name not in symbols or symbols[name].binding == elf.STB_LOCAL:
            name, addend = inside, addend + offset
        found.setdefault(sections[section], []).append(_Relocation(position, kind, name, addend))
    return found


def _target_settings(assembler: Assembler, name: str, version: int | None) -> tuple[dict[str, bool], int]:
    settings: dict[str, bool] = {}
    for directive, words, _, _ in assembler.declarations:
        if directive == ".amdgcn_target":
            said = re.fullmatch(r'"amdgcn-amd-\w*--([\w-]+)((?::\w+[+-])*)"', words)
            if said is None or said[1] != name:
                raise InputError(f".amdgcn_target {words}: amdgcn-amd-amdhsa--{name} is expected")
            settings |= {word[:-1]: word[-1] == "+" for word in said[2].split(":")[1:]}
        elif directive == ".amdhsa_code_object_version":
            version = int(words) if words.isdecimal() else 0
    generic = name in generic_processors()
    version = (6 if generic else 5) if version is None else version
    if generic and version != 6:
        raise InputError(f"code object version {version} for {name}: generic targets have version 6")
    if version not in (4, 5, 6):
        raise InputError(f"code object version {version}: 4, 5 or 6 is expected")
    return settings, version


def _write(
    sections: list[elf.Section], symbols: dict[str, _Symbol], relocations: dict[str, list[_Relocation]],
    metadata: dict[str, Any] | None, flags: int, version: int,
) -> bytes:  # fmt: skip
    numbers = {section.name: index for index, section in enumerate(sections, 1)}
    if metadata is not None:
        sections.append(elf.Section(".note", elf.SHT_NOTE, elf.SHF_ALLOC, elf.note("AMDGPU", NT_AMDGPU_METADATA, _pack(metadata))))
    named = {relocation.symbol for entries in relocations.values() for relocation in entries}
    # a section's symbol has no name; local symbols stand before the others
    local = [_Symbol(name, name, kind=elf.STT_SECTION) for name in numbers if name in named and name not in symbols]
    ordered = local + sorted(symbols.values(), key=lambda symbol: symbol.binding != elf.STB_LOCAL)
    indices = {symbol.name: index for index, symbol in enumerate(ordered, 1)}
    table, strings = bytearray(24), bytearray(b"\0")
    section_indices = numbers | _SPECIAL_SECTIONS
    for symbol in ordered:
        name = "" if symbol.kind == elf.STT_SECTION else symbol.name
        entry = elf.Symbol(name, symbol.value, symbol.size, symbol.kind, symbol.binding, section_indices.get(symbol.section, 0), symbol.visibility)
        table += entry.pack(len(strings) if name else 0)
        strings += name.encode() + b"\0" if name else b""
    symbol_table = len(sections) + len(relocations) + 1
    for section, entries in relocations.items():
        data = b"".join(struct.pack("<QIIq", entry.offset, entry.kind, indices[entry.symbol], entry.addend) for entry in entries)
        sections.append(elf.Section(f".rela{section}", elf.SHT_RELA, elf.SHF_INFO_LINK, data, symbol_table, numbers[section], 8, 24))
    first_global = 1 + sum(symbol.binding == elf.STB_LOCAL for symbol in ordered)
    sections.append(elf.Section(".symtab", elf.SHT_SYMTAB, 0, bytes(table), symbol_table + 1, first_global, 8, 24))
    sections.append(elf.Section(".strtab", elf.SHT_STRTAB, 0, bytes(strings), alignment=1))
    return elf.write_sections(sections, os_abi=elf.OSABI_HSA, abi_version=version - 2, flags=flags)


#: Access and alignment of sections by the beginning of their names, where the source does not say it.
_SECTION_KINDS = {
    ".text": (elf.SHF_ALLOC | elf.SHF_EXECINSTR, 256), ".rodata": (elf.SHF_ALLOC, 64), ".data": (elf.SHF_ALLOC | elf.SHF_WRITE, 16),
    ".bss": (elf.SHF_ALLOC | elf.SHF_WRITE, 16),
}  # fmt: skip
_FLAG_LETTERS = {"a": elf.SHF_ALLOC, "w": elf.SHF_WRITE, "x": elf.SHF_EXECINSTR}


def _section(name: str, data: bytes, words: str) -> elf.Section:
    """A section of the source; `words` is what ``.section`` said behind the name."""
    flags, alignment = next((kind for start, kind in _SECTION_KINDS.items() if name == start or name.startswith(start + ".")), (0, 1))
    if said := re.search(r'"(\w*)"', words):
        flags = sum(bit for letter, bit in _FLAG_LETTERS.items() if letter in said[1])
        alignment = alignment if alignment > 1 or not flags else 16
    empty = "@nobits" in words and not any(data)
    kind = elf.SHT_NOBITS if empty else elf.SHT_PROGBITS
    return elf.Section(name, kind, flags, b"" if empty else data, alignment=alignment, size=len(data))


def _pack(document: Any) -> bytes:
    """MessagePack with the keys of mappings in order, as LLVM writes it."""
    import msgpack  # type: ignore[import-untyped]

    return bytes(msgpack.packb(_sorted(document)))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(entry) for entry in value] if isinstance(value, (list, tuple)) else value
