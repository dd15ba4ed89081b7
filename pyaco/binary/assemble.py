"""Assembly text to HSA code objects: machine code, kernel descriptors, symbols and metadata in one file.

Source: LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object", "Kernel Descriptor" and "Code Object Metadata".
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyaco.binary import elf
from pyaco.binary.kernel_descriptor import kernel_descriptor
from pyaco.binary.machines import machine_flags
from pyaco.binary.metadata_text import read_metadata
from pyaco.errors import InputError
from pyaco.isa.assembler import run
from pyaco.isa.processors import processor

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


@dataclass
class _Symbol:
    """A symbol as the source declares it."""

    name: str
    section: str = ""
    value: int = 0
    size: int = 0
    kind: int = elf.STT_NOTYPE
    binding: int = elf.STB_LOCAL
    visibility: int = 0


def assemble_code_object(
    text: str, target: str, *, wave_size: int | None = None, version: int = 5, metadata: dict[str, Any] | None = None
) -> bytes:
    """Assemble text to a relocatable HSA code object.

    Parameters
    ----------
    text
        As for ``pyaco.isa.assemble``. ``.amdhsa_kernel`` blocks become descriptors where they stand; ``.amdgpu_metadata`` becomes
        the note; ``.amdgcn_target`` may fix ``xnack`` and ``sramecc``; ``.amdhsa_code_object_version`` overrides `version`.
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64; by default 64 up to GFX9 and 32 later.
    version
        Version of the code object, 4 to 6.
    metadata
        The metadata as Python objects, in place of the source's.

    Returns
    -------
    bytes
        An ELF file: sections, a symbol for each label that does not begin with ``.L``, and ``NAME.kd`` for each kernel.

    Raises
    ------
    InputError
        The source, a kernel's directives or the metadata are wrong.
    UnsupportedError
        The target has no code objects.
    """
    name, _ = processor(target)
    assembler = run(text, target, wave_size)
    contents = {section: bytearray(data) for section, data in assembler.section_contents().items()}
    symbols = _symbols(assembler, list(contents))
    relocations: dict[str, list[tuple[int, str]]] = {}
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
        relocations.setdefault(section, []).append((offset + _ENTRY_OFFSET, kernel))
    settings, version = _target_settings(assembler, name, version)
    document = metadata if metadata is not None else read_metadata(assembler.metadata) if assembler.metadata is not None else None
    return _write(contents, symbols, relocations, document, machine_flags(name, settings), version)


def _symbols(assembler: Assembler, sections: list[str]) -> dict[str, _Symbol]:
    symbols = {
        name: _Symbol(name, section, offset) for name, (section, offset) in sorted(assembler.labels().items()) if not name.startswith(".L")
    }
    for directive, words, section, here in assembler.declarations:
        names = [word.strip().strip('"') for word in words.split(",")]
        if directive in _BINDINGS or directive in _VISIBILITIES:
            for name in names:
                symbol = symbols.setdefault(name, _Symbol(name))
                symbol.binding = _BINDINGS.get(directive, symbol.binding)
                symbol.visibility = _VISIBILITIES.get(directive, symbol.visibility)
        elif directive == ".type" and len(names) == 2 and names[0] in symbols:
            symbols[names[0]].kind = _TYPES.get(names[1].lstrip("@%").lower(), elf.STT_NOTYPE)
        elif directive == ".size" and len(names) == 2 and names[0] in symbols:
            size = assembler.number(names[1], section, here)
            if size is None:
                raise InputError(f".size {words}: the size is no number")
            symbols[names[0]].size = size
    return {name: symbol for name, symbol in symbols.items() if symbol.section or symbol.binding != elf.STB_LOCAL}


def _target_settings(assembler: Assembler, name: str, version: int) -> tuple[dict[str, bool], int]:
    settings: dict[str, bool] = {}
    for directive, words, _, _ in assembler.declarations:
        if directive == ".amdgcn_target":
            said = re.fullmatch(r'"amdgcn-amd-\w*--([\w-]+)((?::\w+[+-])*)"', words)
            if said is None or said[1] != name:
                raise InputError(f".amdgcn_target {words}: amdgcn-amd-amdhsa--{name} is expected")
            settings |= {word[:-1]: word[-1] == "+" for word in said[2].split(":")[1:]}
        elif directive == ".amdhsa_code_object_version":
            version = int(words) if words.isdecimal() else 0
    if version not in (4, 5, 6):
        raise InputError(f"code object version {version}: 4, 5 or 6 is expected")
    return settings, version


def _write(
    contents: dict[str, bytearray], symbols: dict[str, _Symbol], relocations: dict[str, list[tuple[int, str]]],
    metadata: dict[str, Any] | None, flags: int, version: int,
) -> bytes:  # fmt: skip
    sections = [_section(name, bytes(data)) for name, data in contents.items()]
    numbers = {name: index for index, name in enumerate(contents, 1)}
    if metadata is not None:
        sections.append(elf.Section(".note", elf.SHT_NOTE, elf.SHF_ALLOC, elf.note("AMDGPU", NT_AMDGPU_METADATA, _pack(metadata))))
    # local symbols stand before the others
    ordered = sorted(symbols.values(), key=lambda symbol: symbol.binding != elf.STB_LOCAL)
    indices = {symbol.name: index for index, symbol in enumerate(ordered, 1)}
    table, strings = bytearray(24), bytearray(b"\0")
    for symbol in ordered:
        entry = elf.Symbol(symbol.name, symbol.value, symbol.size, symbol.kind, symbol.binding, numbers.get(symbol.section, 0), symbol.visibility)
        table += entry.pack(len(strings))
        strings += symbol.name.encode() + b"\0"
    symbol_table = len(sections) + len(relocations) + 1
    for name, entries in relocations.items():
        rows = b"".join(struct.pack("<QIIq", place, R_AMDGPU_REL64, indices[symbol], _ENTRY_OFFSET) for place, symbol in entries)
        sections.append(elf.Section(f".rela{name}", elf.SHT_RELA, elf.SHF_INFO_LINK, rows, symbol_table, numbers[name], 8, 24))
    first_global = 1 + sum(symbol.binding == elf.STB_LOCAL for symbol in ordered)
    sections.append(elf.Section(".symtab", elf.SHT_SYMTAB, 0, bytes(table), symbol_table + 1, first_global, 8, 24))
    sections.append(elf.Section(".strtab", elf.SHT_STRTAB, 0, bytes(strings), alignment=1))
    return elf.write_sections(sections, os_abi=elf.OSABI_HSA, abi_version=version - 2, flags=flags)


def _section(name: str, data: bytes) -> elf.Section:
    if name == ".text" or name.startswith(".text."):
        return elf.Section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, data, alignment=256)
    if name == ".rodata" or name.startswith(".rodata."):
        return elf.Section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC, data, alignment=64)
    if name in (".data", ".bss") or name.startswith(".data."):
        return elf.Section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_WRITE, data, alignment=16)
    return elf.Section(name, elf.SHT_PROGBITS, 0, data, alignment=1)


def _pack(document: Any) -> bytes:
    """MessagePack with the keys of mappings in order, as LLVM writes it."""
    import msgpack  # type: ignore[import-untyped]

    return bytes(msgpack.packb(_sorted(document)))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(entry) for entry in value] if isinstance(value, (list, tuple)) else value
