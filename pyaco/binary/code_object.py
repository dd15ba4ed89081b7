"""Reading code objects: kernels with their descriptors, metadata, and the image that a loader puts into memory.

Source: LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object" (symbols, notes, relocations) and "Code Object Metadata".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyaco.arguments import checked
from pyaco.binary import elf
from pyaco.binary.demangle import demangled, plain_name
from pyaco.binary.kernel_descriptor import KernelDescriptor
from pyaco.binary.machines import feature_setting, target_of_flags
from pyaco.binary.offload import OffloadEntry, holds_entries, offload_entries
from pyaco.errors import InputError, UnsupportedError
from pyaco.isa.processors import processor
from pyaco.targets import TargetId

if TYPE_CHECKING:
    from pyaco.binary.source_lines import SourceLines

__all__ = ["CodeObject", "Kernel", "read_code_object"]

NT_AMDGPU_METADATA = 32
_DESCRIPTOR_BYTES = 64
#: An image beyond this is taken for a broken file.
_LARGEST_IMAGE = 1 << 30
# Relocations by type: bytes of the field, first bit of the value, whether it counts from the field, whether through the GOT.
RELOCATIONS = {
    1: (4, 0, False, False), 2: (4, 32, False, False), 3: (8, 0, False, False), 4: (4, 0, True, False),
    5: (8, 0, True, False), 6: (4, 0, False, False), 7: (4, 0, True, True), 8: (4, 0, True, True), 9: (4, 32, True, True),
    10: (4, 0, True, False), 11: (4, 32, True, False),
}  # fmt: skip
_RELATIVE64, _REL16 = 13, 14
#: Names of the types by number (LLVM's "User Guide for AMDGPU Backend", relocation records).
_RELOCATION_NAMES = {
    1: "ABS32_LO", 2: "ABS32_HI", 3: "ABS64", 4: "REL32", 5: "REL64", 6: "ABS32", 7: "GOTPCREL", 8: "GOTPCREL32_LO", 9: "GOTPCREL32_HI",
    10: "REL32_LO", 11: "REL32_HI", 13: "RELATIVE64", 14: "REL16",
}  # fmt: skip


def relocation_text(relocation: elf.Relocation) -> str:
    """A relocation in words, for messages: its type and the symbol that it names."""
    name = f"R_AMDGPU_{_RELOCATION_NAMES[relocation.kind]}" if relocation.kind in _RELOCATION_NAMES else f"number {relocation.kind}"
    return f"{name}, which names {relocation.symbol.name}" if relocation.symbol.name else name


@dataclass(frozen=True)
class Kernel:
    """A kernel of a code object; addresses count from the image's first byte.

    Attributes
    ----------
    name
        Its name, without ``.kd``.
    descriptor
        What the packet processor reads.
    descriptor_address, address
        Where the descriptor and the first instruction stand in the image.
    size
        Bytes of its code, as the symbol table says; 0 if it does not.
    metadata
        Its entry in ``amdhsa.kernels``: arguments, register counts; empty if there is none.
    """

    name: str
    descriptor: KernelDescriptor
    descriptor_address: int
    address: int
    size: int
    metadata: dict[str, Any] = field(default_factory=dict)


class CodeObject:
    """A code object in memory, as ``read_code_object`` gives it.

    Attributes
    ----------
    target
        Its gfx name; ``gfx11-generic`` and its like for code that several processors run.
    abi
        ``hsa``, ``pal``, ``mesa3d`` or ``none``.
    version
        Version of the code object (2 to 6) if the ABI is ``hsa``, else 0.
    xnack, sramecc
        ``unsupported``, ``any``, ``off`` or ``on``.
    metadata
        The metadata note (MessagePack) as Python objects; empty if there is none.
    symbols
        Addresses of the defined symbols by name, from the image's first byte.
    variables
        Address and size of the variables (``__device__``, ``__constant__``, constants) by name.
    kernels
        Kernels by name.
    """

    def __init__(self, file: elf.Elf, data: bytes = b"") -> None:
        self._file, self._data = file, data
        self.target = target_of_flags(file.flags)
        self.abi = {elf.OSABI_HSA: "hsa", elf.OSABI_PAL: "pal", elf.OSABI_MESA3D: "mesa3d"}.get(file.os_abi, "none")
        self.version = file.abi_version + 2 if self.abi == "hsa" else 0
        if self.abi == "hsa" and self.version < 3:
            raise UnsupportedError("HSA code objects of version 2 (their kernels have an amd_kernel_code_t instead of a descriptor)")
        modern = self.abi != "hsa" or self.version >= 4
        self.xnack = feature_setting(file.flags, "xnack") if modern else "any"
        self.sramecc = feature_setting(file.flags, "sramecc") if modern else "any"
        self.metadata = _metadata(file)
        self._starts, self._size = _place_sections(file)
        self.symbols = {symbol.name: self._address(symbol) for symbol in file.symbols if symbol.name and symbol.section}
        self.kernels = self._read_kernels()
        self.variables = {
            symbol.name: (self._address(symbol), symbol.size) for symbol in file.symbols
            if symbol.kind == elf.STT_OBJECT and 0 < symbol.section < elf.SHN_RESERVED and symbol.name and not symbol.name.endswith(".kd")
        }  # fmt: skip

    @property
    def target_id(self) -> TargetId:
        """Its target with the settings that it fixes."""
        fixed = {"on": True, "off": False}
        return TargetId(self.target, fixed.get(self.xnack), fixed.get(self.sramecc))

    def __repr__(self) -> str:
        return f"CodeObject({self.target}, {self.abi}, kernels: {', '.join(self.kernels) or 'none'})"

    def _repr_html_(self) -> str:
        from pyaco.notebook import listing

        rows = [(kernel.name, f"{kernel.address:#x}", kernel.size, len(kernel.metadata.get(".args", ()))) for kernel in self.kernels.values()]
        return listing(f"code object of {self.target}, {self.abi}", ("kernel", "address", "bytes", "arguments"), rows)

    def _address(self, symbol: elf.Symbol) -> int:
        if self._file.kind == elf.ET_DYN or symbol.section >= elf.SHN_RESERVED:
            return symbol.value
        return self._starts.get(symbol.section, 0) + symbol.value

    def _read_kernels(self) -> dict[str, Kernel]:
        entries = {entry.get(".symbol"): entry for entry in self.metadata.get("amdhsa.kernels", ()) if isinstance(entry, dict)}
        sizes = {symbol.name: symbol.size for symbol in self._file.symbols if symbol.kind == elf.STT_FUNC}
        kernels = {}
        for symbol in self._file.symbols:
            if symbol.name.endswith(".kd") and symbol.section and symbol.kind == elf.STT_OBJECT and self.abi == "hsa":
                name, address = symbol.name[:-3], self._address(symbol)
                if not 0 <= address <= len(self.image) - _DESCRIPTOR_BYTES:
                    raise InputError(f"kernel descriptor {symbol.name} at {address:#x} is outside the image of {len(self.image)} bytes")
                descriptor = KernelDescriptor.from_bytes(self.image[address : address + _DESCRIPTOR_BYTES])
                entry = address + descriptor.entry_offset
                if not 0 <= entry < len(self.image):
                    raise InputError(f"kernel {name}: its code at {entry:#x} is outside the image of {len(self.image)} bytes")
                kernels[name] = Kernel(name, descriptor, address, entry, sizes.get(name, 0), entries.get(symbol.name, {}))
        return kernels

    def named(self, name: str) -> list[Kernel]:
        """Return the kernels that `name` means: its symbol, or the C++ name without parameters, such as ``scale<float, 4>``."""
        if name in self.kernels:
            return [self.kernels[name]]
        wanted = plain_name(name)
        return [kernel for symbol, kernel in self.kernels.items() if plain_name(demangled(symbol) or "") == wanted]

    @checked
    def kernel(self, name: str | None = None) -> Kernel:
        """Return a kernel by its symbol or its C++ name; without a name the only one.

        Raises
        ------
        InputError
            There is none of that name, or there are several.
        """
        found = list(self.kernels.values()) if name is None else self.named(name)
        if len(found) == 1:
            return found[0]
        known = ", ".join(demangled(symbol) or symbol for symbol in self.kernels) or "none"
        if name is None:
            raise InputError(f"which kernel: there are {known}")
        if found:
            raise InputError(f"{len(found)} kernels are called {name}; their symbols tell them apart: {', '.join(kernel.name for kernel in found)}")
        raise InputError(f"no kernel {name!r}: there are {known}")

    @cached_property
    def source_lines(self) -> SourceLines:
        """Lines of source by address, where the object is linked and has debug information."""
        from pyaco.binary.source_lines import SourceLines  # loaded only where a line is asked for

        return SourceLines.of_elf(self._data if self._file.kind == elf.ET_DYN else b"")

    @cached_property
    def image(self) -> bytes:
        """The image loaded at address 0."""
        return self.load(0)

    @checked
    def load(self, base: int, symbols: Mapping[str, int] | None = None) -> bytes:
        """The bytes to put at address `base`, relocated.

        Parameters
        ----------
        base
            Address of the image's first byte, a multiple of 4096.
        symbols
            Absolute addresses of symbols that the code object does not define.

        Raises
        ------
        InputError
            A symbol is undefined, or a relocation is outside the image.
        UnsupportedError
            A relocation is of a type that AMDGPU does not have, or of a symbol in LDS.
        """
        image = bytearray(self._size)
        if self._file.kind == elf.ET_DYN:
            for segment in self._file.segments:
                if segment.kind == elf.PT_LOAD:
                    image[segment.address : segment.address + len(segment.data)] = segment.data
        else:
            for index, start in self._starts.items():
                data = self._file.sections[index].data
                image[start : start + len(data)] = data
        slots: dict[str, int] = {}
        for relocation in self._file.relocations:
            self._relocate(image, base, relocation, symbols or {}, slots)
        return bytes(image)

    @checked
    def code(self, kernel: str) -> bytes:
        """The machine code of a kernel; to the end of its section if the symbol table gives no size."""
        found = self.kernel(kernel)
        size = found.size
        if not size:
            size = next((end for start, end in self._text_ranges() if start <= found.address < end), len(self.image)) - found.address
        return self.image[found.address : found.address + size]

    def text(self) -> list[tuple[int, bytes]]:
        """Address and contents of the sections with code."""
        return [(start, self.image[start:end]) for start, end in self._text_ranges()]

    def code_symbols(self) -> dict[str, int]:
        """Addresses of the symbols in sections with code; absolute symbols, such as counts of registers, and data are left out."""
        sections = self._file.sections
        return {
            symbol.name: self._address(symbol)
            for symbol in self._file.symbols
            if symbol.name and 0 < symbol.section < len(sections) and sections[symbol.section].flags & elf.SHF_EXECINSTR
        }

    def _text_ranges(self) -> list[tuple[int, int]]:
        ranges = []
        for index, section in enumerate(self._file.sections):
            if section.flags & elf.SHF_EXECINSTR and section.kind == elf.SHT_PROGBITS:
                start = section.address if self._file.kind == elf.ET_DYN else self._starts[index]
                ranges.append((start, start + section.size))
        return ranges

    def _value(self, symbol: elf.Symbol, base: int, known: Mapping[str, int]) -> int:
        """Absolute address of a symbol."""
        if symbol.section == elf.SHN_ABS:
            return symbol.value
        if symbol.section == elf.SHN_AMDGPU_LDS:
            raise UnsupportedError(f"loading {symbol.name}, to which a linker has to give an address in LDS")
        if symbol.section:
            return base + self._address(symbol)
        if symbol.name in known or not symbol.name or symbol.binding == elf.STB_WEAK:
            return known.get(symbol.name, 0)
        raise InputError(f"undefined symbol {symbol.name!r}")

    def _relocate(
        self, image: bytearray, base: int, relocation: elf.Relocation, known: Mapping[str, int], slots: dict[str, int]
    ) -> None:
        if not relocation.kind:
            return
        if relocation.section and relocation.section not in self._starts:
            return  # of a section that is not loaded
        address = relocation.offset + (self._starts[relocation.section] if relocation.section else 0)
        size, first_bit, relative, indirect = RELOCATIONS.get(relocation.kind, (8, 0, False, False))
        size = 2 if relocation.kind == _REL16 else size
        if not 0 <= address <= len(image) - size:
            raise InputError(f"relocation at {address:#x} is outside the image of {len(image)} bytes")
        addend = relocation.addend
        if addend is None:
            addend = int.from_bytes(image[address : address + size], "little")
        if relocation.kind == _RELATIVE64:
            value = base + addend
        elif relocation.kind == _REL16:
            value = (self._value(relocation.symbol, base, known) + addend - (base + address) - 4) >> 2
        elif relocation.kind in RELOCATIONS:
            target = self._value(relocation.symbol, base, known)
            if indirect:
                target = base + _slot(image, slots, relocation.symbol.name, target)
            value = target + addend - (base + address if relative else 0)
        else:
            raise UnsupportedError(f"a relocation of type {relocation_text(relocation)}")
        image[address : address + size] = (value >> first_bit & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _slot(image: bytearray, slots: dict[str, int], name: str, value: int) -> int:
    """Offset of a symbol's address in the table behind the image."""
    if name not in slots:
        image += bytes(-len(image) % 8)
        slots[name] = len(image)
        image += struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF)
    return slots[name]


def _place_sections(file: elf.Elf) -> tuple[dict[int, int], int]:
    """Start of each loaded section of a relocatable file, and the size of the image."""
    starts: dict[int, int] = {}
    if file.kind == elf.ET_DYN:
        size = max((segment.address + max(segment.size, len(segment.data)) for segment in file.segments if segment.kind == elf.PT_LOAD),
                   default=0)  # fmt: skip
    else:
        size = 0
        for index, section in enumerate(file.sections):
            if section.flags & elf.SHF_ALLOC and section.kind in (elf.SHT_PROGBITS, elf.SHT_NOBITS):
                alignment = min(section.alignment, 1 << 16)
                starts[index] = -(-size // alignment) * alignment
                size = starts[index] + section.size
    if size > _LARGEST_IMAGE:
        raise InputError(f"an image of {size} bytes")
    return starts, size


def _metadata(file: elf.Elf) -> dict[str, Any]:
    import msgpack  # type: ignore[import-untyped]

    for kind, contents in file.notes("AMDGPU"):
        if kind == NT_AMDGPU_METADATA:
            try:
                document = msgpack.unpackb(contents, strict_map_key=False)
            except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
                raise InputError(f"metadata that is no MessagePack: {error}") from None
            return document if isinstance(document, dict) else {}
    return {}


@checked
def read_code_object(data: bytes, target: str | TargetId | None = None, kernel: str | None = None) -> CodeObject:
    """Read an AMDGPU code object (``.o`` or linked ``.hsaco``), or one of those that an offload bundle or a HIP program holds.

    Parameters
    ----------
    data : bytes
        The whole file.
    target : str or TargetId, optional
        The device that it has to run on: a gfx name, chip or product, or one with settings such as ``gfx942:xnack-``. A bundle with
        one entry needs none.
    kernel : str, optional
        Of a program made of several files: a kernel that it has to have.

    Returns
    -------
    CodeObject

    Raises
    ------
    InputError
        The bytes are no such file, contradict themselves, or hold nothing or too much for the target; targets inside are listed.
    UnsupportedError
        A machine that pyaco does not know, a code object of version 2, what ``offload_entries`` does not support.
    """
    data = bytes(data)
    if not holds_entries(data):
        return CodeObject(elf.read_elf(data), data)
    device = target if target is None or isinstance(target, TargetId) else _device(target)
    found = [CodeObject(elf.read_elf(entry.data), entry.data) for entry in _entries_for(offload_entries(data), device)]
    fitting = [code for code in found if kernel is None or code.named(kernel)] if len(found) > 1 else found
    if len(fitting) == 1:
        return fitting[0]
    names = "; ".join(", ".join(demangled(symbol) or symbol for symbol in code.kernels) or "none" for code in found)
    raise InputError(f"{len(found)} code objects for {device or found[0].target}, {len(fitting)} of which fit; their kernels: {names}")


def _device(name: str) -> TargetId:
    """The target ID that a user's name with settings means."""
    wanted = TargetId.parse(name)
    return wanted.on(processor(wanted.processor)[0])


def _entries_for(entries: list[OffloadEntry], device: TargetId | None) -> list[OffloadEntry]:
    """The entries of the target that suits a device best; without one those of the only target."""
    inside = list(dict.fromkeys(str(entry.target_id) for entry in entries))
    if not inside:
        raise InputError("an offload bundle without code for AMD GPUs")
    fitting = [entry for entry in entries if device is None or entry.target_id.runs_on(device)]
    if not fitting or (device is None and len(inside) > 1):
        reason = "which target" if device is None else f"no code for {device}"
        raise InputError(f"{reason}: the offload bundle has {', '.join(inside)}")
    best = min(fitting, key=lambda entry: entry.target_id.preference()).target_id
    return [entry for entry in fitting if entry.target_id == best]
