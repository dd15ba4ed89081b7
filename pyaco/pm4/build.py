"""Building command streams: packets by name, register writes by name and field, and the stream of a compute dispatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.pm4.opcodes import OPCODES
from pyaco.registers import program_registers, registers
from pyaco.targets import features

if TYPE_CHECKING:
    from pyaco.abi import Abi
    from pyaco.descriptors.sets import DescriptorSet
    from pyaco.emu.arguments import Shader
    from pyaco.emu.buffers import BufferPlace, Buffers
    from pyaco.emu.device import Device

__all__ = ["PAD", "DispatchStream", "Stream", "packet", "register_packet"]

_SPACES = (("SET_SH_REG", 0xB000, 0xC000), ("SET_CONTEXT_REG", 0x28000, 0x30000), ("SET_UCONFIG_REG", 0x30000, 0x40000),
           ("SET_CONFIG_REG", 0x8000, 0xB000))
_COMPUTE = 2


@checked
def packet(name: str, *body: int, compute: bool = False, predicated: bool = False) -> list[int]:
    """Return the dwords of a type 3 packet.

    Parameters
    ----------
    name : str
        Such as ``DISPATCH_DIRECT``.
    *body : int
        The dwords behind the header, at least one.
    compute : bool
        The packet is for the compute engine.
    predicated : bool
        The packet is skipped while the predicate is false.

    Raises
    ------
    InputError
        No such packet, no body or too long a one, or a dword that is none.
    """
    if name not in OPCODES:
        raise InputError(f"no packet is called {name!r}")
    if not 1 <= len(body) <= 0x3FFF:
        raise InputError(f"a packet has 1 to 16383 dwords behind its header, not {len(body)}")
    for word in body:
        if not 0 <= word < 1 << 32:
            raise InputError(f"{name}: {word} is no dword")
    return [3 << 30 | len(body) - 1 << 16 | OPCODES[name] << 8 | (_COMPUTE if compute else 0) | int(predicated), *body]


PAD = [0x80000000]
"""A type 2 packet: one dword that does nothing."""


@checked
def register_packet(offset: int, *values: int) -> list[int]:
    """Return the dwords of a type 0 packet: writes of consecutive registers from byte `offset` on.

    Parameters
    ----------
    offset : int
        Byte offset of the first register.
    values : int
        Its value, and those of the registers behind it.

    Returns
    -------
    list of int
        Dwords.

    Raises
    ------
    InputError
        No such registers, no values, or one that is no dword.
    """
    if offset % 4 or offset < 0 or offset + 4 * len(values) > 1 << 18:
        raise InputError(f"no register packet writes {len(values)} registers from 0x{offset:x} on: no registers are there")
    return [packet("NOP", *values)[0] & 0x3FFF0000 | offset >> 2, *values]


@checked
class Stream:
    """A command stream that grows.

    Parameters
    ----------
    level : int
        Hardware level times ten.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.words: list[int] = []

    def add(self, name: str, *body: int, compute: bool = False, predicated: bool = False) -> Stream:
        """Append a packet; see `packet`."""
        self.words += packet(name, *body, compute=compute, predicated=predicated)
        return self

    def set(self, name: str, value: int | None = None, **fields: int | str) -> Stream:
        """Append the write of a register, its value given as a number or by its fields.

        Raises
        ------
        InputError
            No such register or field, a value that does not fit, or a register that no packet reaches.
        """
        register = registers(self.level)[name]
        return self.write(register.offset, register.encode(**fields) if value is None else value)

    def write(self, offset: int, *values: int) -> Stream:
        """Append writes of consecutive registers from byte `offset` on."""
        for kind, first, end in _SPACES:
            if first <= offset < end:
                return self.add(kind, (offset - first) // 4, *values, compute=kind == "SET_SH_REG")
        raise InputError(f"no packet writes the register at 0x{offset:x}")


@checked
class DispatchStream:
    """The command stream that runs a compiled compute shader, and the device memory that it needs.

    Code, descriptors and push constants lie in the device's memory while the object lives in a ``with`` statement.

    Parameters
    ----------
    device : Device
    shader : Shader
    groups, buffers, push, sets, dynamic_offsets
        As ``Device.dispatch`` takes them.

    Attributes
    ----------
    words : list of int
    """

    def __init__(self, device: Device, shader: Shader, groups: Sequence[int] = (1, 1, 1),
                 buffers: Buffers | None = None, push: bytes = b"", *, sets: Mapping[int, DescriptorSet | BufferPlace] | None = None,
                 dynamic_offsets: Sequence[int] = ()) -> None:
        arguments = device.place(shader, groups, buffers, push, sets=sets, dynamic_offsets=dynamic_offsets)
        self._arguments = arguments
        abi = arguments.abi
        stream = Stream(device.gfx_level)
        entry = arguments.entry
        stream.set("COMPUTE_PGM_LO", entry >> 8 & 0xFFFFFFFF).set("COMPUTE_PGM_HI", entry >> 40 & 0xFF)
        for name, fields in program_registers(abi, device.gfx_level).items():
            stream.set(name, **fields)
        for axis, size in zip("XYZ", abi.workgroup_size, strict=True):
            stream.set(f"COMPUTE_NUM_THREAD_{axis}", NUM_THREAD_FULL=size)
        stream.set("COMPUTE_TMPRING_SIZE", WAVES=32, WAVESIZE=_wave_scratch(abi, device.gfx_level))
        if arguments.user_sgprs:
            stream.write(registers(device.gfx_level)["COMPUTE_USER_DATA_0"].offset, *arguments.user_sgprs)
        wave32 = {"CS_W32_EN": 1} if abi.wave_size == 32 else {}
        initiator = registers(device.gfx_level)["COMPUTE_DISPATCH_INITIATOR"].encode(COMPUTE_SHADER_EN=1, FORCE_START_AT_000=1, **wave32)
        stream.add("DISPATCH_DIRECT", *arguments.groups, initiator, compute=True)
        self.words = stream.words

    def __enter__(self) -> DispatchStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._arguments.release()


def _wave_scratch(abi: Abi, level: int) -> int:
    granule = 256 if features.has_scratch_granule_256(level) else 1024
    return -(-abi.scratch_bytes_per_lane * abi.wave_size // granule)
