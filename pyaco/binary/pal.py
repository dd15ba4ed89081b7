"""Code objects of compiled shaders with PAL metadata.

Source: LLVM's "User Guide for AMDGPU Backend" (sections "Note Records", "PAL metadata").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pyaco.abi import Abi
from pyaco.arguments import checked
from pyaco.binary import elf
from pyaco.binary.machines import machine_flags
from pyaco.errors import InputError
from pyaco.isa.processors import processor
from pyaco.targets import features

__all__ = ["write_elf"]

NT_AMDGPU_METADATA = 32
ENTRY_SYMBOL = "_amdgpu_cs_main"


class Compiled(Protocol):
    """What a code object says of a compiled shader."""

    @property
    def target(self) -> str: ...
    @property
    def wave(self) -> int: ...
    @property
    def code(self) -> bytes: ...
    @property
    def constant_data(self) -> bytes: ...
    @property
    def abi(self) -> Abi | Mapping[str, Any] | None: ...


@checked
def write_elf(shader: Compiled) -> bytes:
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

    Raises
    ------
    InputError
        The shader has no code.
    """
    if not shader.code:
        raise InputError("the shader has no code: its compilation was stopped early")
    padding = bytes(-len(shader.code) % 64) if shader.constant_data else b""
    text = shader.code + padding + shader.constant_data
    strings = b"\0" + ENTRY_SYMBOL.encode() + b"\0"
    entry = elf.Symbol(ENTRY_SYMBOL, 0, len(shader.code), elf.STT_FUNC, elf.STB_GLOBAL, 2)
    sections = [
        elf.Section(".note", elf.SHT_NOTE, elf.SHF_ALLOC, elf.note("AMDGPU", NT_AMDGPU_METADATA, _metadata(shader))),
        elf.Section(".text", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, text, alignment=256),
        elf.Section(".symtab", elf.SHT_SYMTAB, 0, bytes(24) + entry.pack(1), link=4, info=1, alignment=8, entry_size=24),
        elf.Section(".strtab", elf.SHT_STRTAB, 0, strings, alignment=1),
    ]
    flags = machine_flags(shader.target) & 0xFF
    return elf.write_sections(sections, os_abi=elf.OSABI_PAL, abi_version=0, flags=flags)


def _metadata(shader: Compiled) -> bytes:
    """MessagePack of the PAL pipeline metadata."""
    import msgpack  # type: ignore[import-untyped]

    abi = Abi.of(shader.abi)
    stage = {
        ".api_shader_hash": [0, 0],
        ".hardware_mapping": [".cs"],
    }
    hardware = {
        ".entry_point": ENTRY_SYMBOL,
        ".sgpr_count": abi.num_sgprs,
        ".vgpr_count": abi.num_vgprs,
        ".lds_size": abi.lds_bytes,
        ".scratch_memory_size": abi.scratch_bytes_per_lane,
        ".user_sgprs": abi.user_sgpr_count,
        ".wavefront_size": shader.wave,
        ".threadgroup_dimensions": list(abi.workgroup_size),
        ".float_mode": abi.float_mode,
        ".wgp_mode": abi.wgp_mode,
        ".mem_ordered": features.has_wave32(processor(shader.target)[1]),
    }
    document = {
        "amdpal.version": [3, 0],
        "amdpal.pipelines": [
            {".type": "Cs", ".shaders": {".compute": stage}, ".hardware_stages": {".cs": hardware}, ".api": "Vulkan"}
        ],
    }
    return bytes(msgpack.packb(document))
