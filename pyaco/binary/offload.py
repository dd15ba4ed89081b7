"""Code objects for several targets in one file, as clang writes HIP: offload bundles, compressed ones, and programs of the host that hold them.

Sources: Clang's "Clang Offload Bundler" (bundles, IDs of entries), its description of compressed bundles (magic ``CCOB``, versions 1 to 3),
and sections ``.hip_fatbin`` of HIP programs.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.binary import elf
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets import TargetId

__all__ = ["OffloadEntry", "holds_entries", "offload_entries"]

_BUNDLE, _COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_BITCODE = b"BC\xc0\xde"
# Sections of a host's object: with bundles; with LLVM bitcode of one target, to be linked first, named by what begins their names.
_FAT_SECTION = ".hip_fatbin"
_UNLINKED_SECTIONS = (_BUNDLE.decode(), ".llvm.offloading")
# Header behind magic, version and method, by version: size of the file (from version 2 on), of the contents, half of their MD5.
_COMPRESSED_HEADERS = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
_ZLIB, _ZSTD = 0, 1
#: Contents beyond this are taken for a broken file.
_LARGEST = 1 << 30
_MOST_ENTRIES = 4096
_NOT_PADDING = re.compile(rb"[^\0]")
# kind, triple (architecture, vendor, system, environment), target ID
_ENTRY = re.compile(r"(hipv4|hip|openmp)-amdgcn-[^-]*-[^-]*-[^-]*-(.+)")


@dataclass(frozen=True)
class OffloadEntry:
    """A file for one target.

    Attributes
    ----------
    name : str
        As the bundle has it, such as ``hipv4-amdgcn-amd-amdhsa--gfx942:xnack-``.
    target_id : TargetId
        What it is for.
    data : bytes
        The file.
    """

    name: str
    target_id: TargetId
    data: bytes


def holds_entries(data: bytes) -> bool:
    """Whether `data` begins as a file that may hold several code objects, and is none itself."""
    return data.startswith((_BUNDLE, _COMPRESSED)) or (data.startswith(b"\x7fELF") and elf.machine(data) != elf.EM_AMDGPU)


@checked
def offload_entries(data: bytes) -> list[OffloadEntry]:
    """Return the files for AMD GPUs that a bundle or a host's object, library or program holds, in its order.

    Parameters
    ----------
    data : bytes
        The whole file.

    Raises
    ------
    InputError
        It is no such file, or contradicts itself.
    UnsupportedError
        Device code that a linker has yet to see (``-fgpu-rdc``), an unknown version, or a compression for which a package is missing.
    """
    data = bytes(data)
    if data.startswith(b"\x7fELF"):
        return [entry for part in _host_sections(data) for entry in _bundles(part)]
    return list(_bundles(data))


def _host_sections(data: bytes) -> Iterable[bytes]:
    sections = elf.read_sections(data)
    fat = [section.data for section in sections if section.name == _FAT_SECTION]
    if not fat and any(section.name.startswith(_UNLINKED_SECTIONS) for section in sections):
        raise UnsupportedError("device code that is not linked yet (LLVM bitcode of -fgpu-rdc): link the program first")
    if not fat:
        raise InputError(f"an ELF file of machine {elf.machine(data)} without code for AMD GPUs (section {_FAT_SECTION})")
    return fat


def _bundles(data: bytes) -> Iterator[OffloadEntry]:
    """Entries of bundles that stand one behind the other, padded with zeros: a linker joins those of several files."""
    position = 0
    while (found := _NOT_PADDING.search(data, position)) is not None:
        position = found.start()
        if data.startswith(_COMPRESSED, position):
            contents, size = _decompressed(data[position:])
            if not contents.startswith(_BUNDLE):
                raise InputError(f"compressed offload bundle at byte {position}: its contents are no offload bundle")
            entries, _ = _read_bundle(contents)
        elif data.startswith(_BUNDLE, position):
            entries, size = _read_bundle(data[position:])
        else:
            raise InputError(f"no offload bundle at byte {position}")
        yield from entries
        position += size


def _fields(layout: struct.Struct, data: bytes, position: int, what: str) -> tuple[int, ...]:
    if position + layout.size > len(data):
        raise InputError(f"{what} ends at byte {len(data)}, within its header")
    return layout.unpack_from(data, position)


def _read_bundle(data: bytes) -> tuple[list[OffloadEntry], int]:
    """Entries of a bundle, and how many bytes it takes."""
    what = "offload bundle"
    (count,) = _fields(struct.Struct("<Q"), data, len(_BUNDLE), what)
    if count > _MOST_ENTRIES:
        raise InputError(f"{what} with {count} entries")
    position = end = len(_BUNDLE) + 8
    entries = []
    for _ in range(count):
        offset, size, length = _fields(struct.Struct("<QQQ"), data, position, what)
        position += 24
        if length > len(data) - position or offset + size > len(data):
            raise InputError(f"{what}: an entry of bytes {offset} to {offset + size}, with a name of {length}, of {len(data)}")
        name = data[position : position + length].decode(errors="replace")
        position += length
        end = max(end, position, offset + size)
        found = _ENTRY.fullmatch(name)
        if found:
            entries.append(OffloadEntry(name, TargetId.parse(found[2]), _linked(name, data[offset : offset + size])))
    return entries, end


def _linked(name: str, data: bytes) -> bytes:
    if data.startswith(_BITCODE):
        raise UnsupportedError(f"{name}: device code that is not linked yet (LLVM bitcode of -fgpu-rdc): link the program first")
    return data


# -------------------------------------------------------------------------------------------------------------- compression
def _decompressed(data: bytes) -> tuple[bytes, int]:
    """Contents of a compressed bundle, and how many bytes it takes."""
    what = "compressed offload bundle"
    version, method = _fields(struct.Struct("<HH"), data, 4, what)
    header = _COMPRESSED_HEADERS.get(version)
    if header is None:
        raise UnsupportedError(f"{what}s of version {version}")
    *sizes, digest = _fields(header, data, 8, what)
    size, total = sizes[-1], sizes[0] if len(sizes) > 1 else len(data)
    start = 8 + header.size
    if not start <= total <= len(data) or size > _LARGEST:
        raise InputError(f"{what} of {total} bytes, with contents of {size}, in {len(data)} bytes")
    if method not in (_ZLIB, _ZSTD):
        raise UnsupportedError(f"{what}s of compression method {method}")
    contents = (_inflated if method == _ZLIB else _zstd)(data[start:total], size)
    if len(contents) != size:
        raise InputError(f"{what}: contents of {len(contents)} bytes or more, where its header says {size}")
    if int.from_bytes(hashlib.md5(contents, usedforsecurity=False).digest()[:8], "little") != digest:
        raise InputError(f"{what}: its contents are not those that its hash is of")
    return contents, total


def _inflated(data: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as error:
        raise InputError(f"compressed offload bundle: {error}") from None


def _zstd(data: bytes, size: int) -> bytes:
    """Decompress with Python's own module (3.14 and later), or with the package ``zstandard``."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        return _zstandard(data, size)
    try:
        contents: bytes = zstd.ZstdDecompressor().decompress(data, max_length=size + 1)
        return contents
    except zstd.ZstdError as error:
        raise InputError(f"compressed offload bundle: {error}") from None


def _zstandard(data: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise UnsupportedError("offload bundles that Zstandard compressed, without the package zstandard (pip install pyaco[hip])") from None
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(data) as reader:
            contents: bytes = reader.read(size + 1)
            return contents
    except zstandard.ZstdError as error:
        raise InputError(f"compressed offload bundle: {error}") from None
