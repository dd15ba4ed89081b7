"""ELF code objects for AMDGPU with PAL metadata.

Sources: LLVM's "User Guide for AMDGPU Backend" (sections "Header", "Note Records", "PAL metadata"): ``EM_AMDGPU``,
``ELFOSABI_AMDGPU_PAL``, the ``EF_AMDGPU_MACH`` values, ``NT_AMDGPU_METADATA`` with MessagePack.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from pyaco.errors import InputError

__all__ = ["write_elf"]

EM_AMDGPU = 224
ELFOSABI_AMDGPU_PAL = 65
NT_AMDGPU_METADATA = 32
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE = 1, 2, 3, 7
SHF_ALLOC, SHF_EXECINSTR = 2, 4
EF_AMDGPU_MACH = {
    "gfx900": 0x2C, "gfx902": 0x2D, "gfx906": 0x2F, "gfx90c": 0x32, "gfx908": 0x30, "gfx90a": 0x3F, "gfx942": 0x4C,
    "gfx950": 0x4F, "gfx1030": 0x36, "gfx1031": 0x37, "gfx1032": 0x38,
    "gfx1033": 0x39, "gfx1034": 0x3E, "gfx1035": 0x3D, "gfx1036": 0x45, "gfx1100": 0x41, "gfx1101": 0x46,
    "gfx1102": 0x47, "gfx1103": 0x44, "gfx1200": 0x48, "gfx1201": 0x4E,
}
ENTRY_SYMBOL = "_amdgpu_cs_main"


@dataclass
class _Section:
    name: str
    kind: int
    flags: int
    data: bytes
    link: int = 0
    info: int = 0
    alignment: int = 4
    entry_size: int = 0


def write_elf(shader: Any) -> bytes:
    """Return the ELF code object of a compiled shader.

    Parameters
    ----------
    shader : CompiledShader
        What :func:`pyaco.compile` returned.

    Returns
    -------
    bytes
        A relocatable object with ``.text`` (code, padded to 64 bytes, then constant data), the PAL metadata note, and
        the symbol ``_amdgpu_cs_main``.
    """
    if not shader.code:
        raise InputError("the shader has no code: its compilation was stopped early")
    padding = bytes(-len(shader.code) % 64) if shader.constant_data else b""
    text = shader.code + padding + shader.constant_data
    strings = b"\0" + ENTRY_SYMBOL.encode() + b"\0"
    # st_name, st_info (global function), st_other, st_shndx (.text), st_value, st_size
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0, 2, 0, len(shader.code))
    sections = [
        _Section(".note", SHT_NOTE, SHF_ALLOC, _note(_metadata(shader))),
        _Section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, alignment=256),
        _Section(".symtab", SHT_SYMTAB, 0, bytes(24) + symbol, link=4, info=1, alignment=8, entry_size=24),
        _Section(".strtab", SHT_STRTAB, 0, strings, alignment=1),
    ]
    return _layout(sections, EF_AMDGPU_MACH[shader.target])


def _metadata(shader: Any) -> bytes:
    """MessagePack of the PAL pipeline metadata."""
    import msgpack  # type: ignore[import-untyped]

    abi = shader.abi
    stage = {
        ".api_shader_hash": [0, 0],
        ".hardware_mapping": [".cs"],
    }
    hardware = {
        ".entry_point": ENTRY_SYMBOL,
        ".sgpr_count": abi["num_sgprs"],
        ".vgpr_count": abi["num_vgprs"],
        ".lds_size": abi["lds_bytes"],
        ".scratch_memory_size": abi["scratch_bytes_per_lane"],
        ".user_sgprs": abi["user_sgpr_count"],
        ".wavefront_size": shader.wave,
        ".threadgroup_dimensions": list(abi["workgroup_size"]),
        ".float_mode": abi["float_mode"],
    }
    document = {
        "amdpal.version": [3, 0],
        "amdpal.pipelines": [
            {".type": "Cs", ".shaders": {".compute": stage}, ".hardware_stages": {".cs": hardware}, ".api": "Vulkan"}
        ],
    }
    return bytes(msgpack.packb(document))


def _note(payload: bytes) -> bytes:
    name = b"AMDGPU\0"
    return (
        struct.pack("<III", len(name), len(payload), NT_AMDGPU_METADATA)
        + name + bytes(-len(name) % 4) + payload + bytes(-len(payload) % 4)
    )


def _layout(sections: list[_Section], machine_flags: int) -> bytes:
    names = b"\0" + b"".join(section.name.encode() + b"\0" for section in sections) + b".shstrtab\0"
    sections = [*sections, _Section(".shstrtab", SHT_STRTAB, 0, names, alignment=1)]
    body = bytearray()
    headers = bytes(64)
    start = 64
    for section in sections:
        body += bytes(-(start + len(body)) % section.alignment)
        offset = start + len(body)
        body += section.data
        headers += struct.pack(
            "<IIQQQQIIQQ", names.index(b"\0" + section.name.encode() + b"\0") + 1, section.kind, section.flags, 0, offset,
            len(section.data), section.link, section.info, section.alignment, section.entry_size,
        )
    body += bytes(-len(body) % 8)
    identification = b"\x7fELF" + bytes([2, 1, 1, ELFOSABI_AMDGPU_PAL, 0]) + bytes(7)
    header = identification + struct.pack(
        "<HHIQQQIHHHHHH", 1, EM_AMDGPU, 1, 0, 0, start + len(body), machine_flags, 64, 0, 0, 64, len(sections) + 1,
        len(sections),
    )
    return header + bytes(body) + headers
