"""SDMA: the packets of the system DMA engines, GFX6 to GFX12: read, built and executed.

A packet's header has the opcode in bits 0-7 and the sub-opcode in bits 8-15, and more fields above; on GFX6 the opcode is in bits
28-31, the sub-opcode in bits 20-27, and a count below.

Sources: the packet structures of the Linux kernel's amdgpu driver (``si_dma.c``, ``cik_sdma_pkt_open.h``, ``vega10_sdma_pkt_open.h``,
``navi10_sdma_pkt_open.h``, ``sdma_v6_0_0_pkt_open.h``); Mesa's use of them (``radv_sdma.c``, ``si_sdma_copy_image.c``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4.actions import clock
from pyaco.pm4.layouts import Address, Bits, Choice, DataWords, Number, Word
from pyaco.pm4.named import Builder
from pyaco.pm4.processor import CommandProcessor
from pyaco.pm4.stream import Packet, check_dwords
from pyaco.pm4.values import Value, decode_word, decode_words
from pyaco.targets import features

if TYPE_CHECKING:
    from pyaco.emu.device import Device

__all__ = ["SdmaEngine", "SdmaPacket", "parse_sdma", "sdma_packet"]

_FUNCTIONS = ("ALWAYS", "LESS", "LESS_OR_EQUAL", "EQUAL", "NOT_EQUAL", "GREATER_OR_EQUAL", "GREATER", "RESERVED")
_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: True, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a >= b,
    lambda a, b: a > b, lambda a, b: True,
)


@dataclass(frozen=True)
class _Form:
    """A packet on some levels: opcode, sub-opcode, the header's fields, and what follows the header."""

    operation: int
    sub: int
    words: tuple[Word, ...] = ()
    header: tuple[Bits | Choice, ...] = ()
    first: int = 70
    last: int = 999
    metadata: tuple[Word, ...] = ()          # what follows where the header's DCC bit is set

    def body(self, header: int) -> tuple[Word, ...]:
        return self.words + self.metadata if header >> _DCC_BIT & 1 else self.words


_DCC_BIT = 19


def _point(name: str) -> tuple[Bits, ...]:
    """Two coordinates of 14 bits in one dword."""
    return Bits(f"{name}_X", 0, 14), Bits(f"{name}_Y", 16, 14)


def _linear(name: str, shift: int, width: int, depth: int) -> tuple[Word, ...]:
    return (Address(f"{name}_ADDR"), _point(name), (Bits(f"{name}_Z", 0, depth), Bits(f"{name}_PITCH", shift, width)),
            (Bits(f"{name}_SLICE_PITCH", 0, 28),))


def _rectangle(depth: int) -> tuple[Word, ...]:
    return _point("RECT"), (Bits("RECT_Z", 0, depth),)


def _windows(shift: int, width: int, depth: int) -> tuple[Word, ...]:
    """Two linear surfaces and a rectangle; pitches of `width` bits, depths of `depth` bits."""
    return (*_linear("SRC", shift, width, depth), *_linear("DST", shift, width, depth), *_rectangle(depth))


_TILE = (Bits("ELEMENT_SIZE", 0, 3), Bits("SWIZZLE_MODE", 3, 5))
_MIPS = (Bits("MIP_MAX", 16, 4), Bits("MIP_ID", 20, 4))


def _tiled(info: tuple[Bits, ...], depth: int) -> tuple[Word, ...]:
    return (Address("TILED_ADDR"), _point("TILED"), (Bits("TILED_Z", 0, depth), Bits("WIDTH", 16, 14)),
            (Bits("HEIGHT", 0, 14), Bits("DEPTH", 16, depth)), info, Address("LINEAR_ADDR"), _point("LINEAR"),
            (Bits("LINEAR_Z", 0, depth), Bits("LINEAR_PITCH", 16, 14)), (Bits("LINEAR_SLICE_PITCH", 0, 28),), *_rectangle(depth))


_METADATA: tuple[Word, ...] = (Address("META_ADDR"), Number("META_CONFIG"))
_DETILE = Bits("DETILE", 31, 1)
_DETILE_DCC = (Bits("DCC", _DCC_BIT, 1), _DETILE)
_ADDRESSED_DATA: tuple[Word, ...] = (Address("ADDR"), Number("DATA"))
_POLL: tuple[Word, ...] = (Address("ADDR"), Number("VALUE"), Number("MASK"), (Bits("INTERVAL", 0, 16), Bits("RETRY_COUNT", 16, 12)))

_FORMS: dict[str, tuple[_Form, ...]] = {
    "NOP": (_Form(0, 0, (DataWords("unused"),), (Bits("COUNT", 16, 14),)), _Form(15, 0, last=60, first=60)),
    "COPY_LINEAR": (
        _Form(1, 0, ((Bits("COUNT", 0, 22),), Number("PARAMETER"), Address("SRC_ADDR"), Address("DST_ADDR")), last=100),
        _Form(1, 0, ((Bits("COUNT", 0, 30),), Number("PARAMETER"), Address("SRC_ADDR"), Address("DST_ADDR")), first=103),
        _Form(3, 0x40, (Number("DST_ADDRESS_LO"), Number("SRC_ADDRESS_LO"), Number("DST_ADDRESS_HI", 8), Number("SRC_ADDRESS_HI", 8)),
              (Bits("COUNT", 0, 20),), 60, 60),
    ),
    "COPY_LINEAR_DWORDS": (
        _Form(3, 0, (Number("DST_ADDRESS_LO"), Number("SRC_ADDRESS_LO"), Number("DST_ADDRESS_HI", 8), Number("SRC_ADDRESS_HI", 8)),
              (Bits("COUNT", 0, 20),), 60, 60),
    ),
    "COPY_LINEAR_SUB_WINDOW": (
        _Form(1, 4, _windows(16, 14, 11), (Bits("ELEMENT_SIZE", 29, 3),), last=81),
        _Form(1, 4, _windows(13, 19, 11), (Bits("ELEMENT_SIZE", 29, 3),), 90, 94),
        _Form(1, 4, _windows(13, 19, 13), (Bits("ELEMENT_SIZE", 29, 3),), 100),
    ),
    "COPY_TILED_SUB_WINDOW": (
        _Form(1, 5, _tiled((*_TILE, Bits("DIMENSION", 9, 2), Bits("EPITCH", 16, 16)), 11),
              (_DETILE, Bits("MIP_MAX", 20, 4), Bits("MIP_ID", 24, 4)), 90, 94),
        _Form(1, 5, _tiled((*_TILE, Bits("DIMENSION", 9, 2), *_MIPS), 13), _DETILE_DCC, 100, 115, _METADATA),
        _Form(1, 5, _tiled((*_TILE, *_MIPS), 13), _DETILE_DCC, 120, 999, _METADATA),
    ),
    "WRITE_LINEAR": (
        _Form(2, 0, (Address("ADDR"), (Bits("COUNT", 0, 20),), DataWords("data"))),
        _Form(2, 0, (Number("ADDRESS_LO"), Number("ADDRESS_HI", 8), DataWords("data")), (Bits("COUNT", 0, 20),), 60, 60),
    ),
    "INDIRECT_BUFFER": (_Form(4, 0, (Address("IB_BASE"), (Bits("IB_SIZE", 0, 20),), Address("CSA_ADDR")), (Bits("VMID", 16, 4),)),),
    "FENCE": (
        _Form(5, 0, _ADDRESSED_DATA, (Bits("MTYPE", 16, 3),)),
        _Form(6, 0, (Number("ADDRESS_LO"), Number("ADDRESS_HI", 8), Number("DATA")), (), 60, 60),
    ),
    "TRAP": (_Form(6, 0, ((Bits("INT_CONTEXT", 0, 28),),)), _Form(7, 0, (), (), 60, 60)),
    "SEMAPHORE": (_Form(7, 0, (Address("ADDR"),), (Bits("WRITE_ONE", 29, 1), Bits("SIGNAL", 30, 1), Bits("MAILBOX", 31, 1))),),
    "POLL_REGMEM": (_Form(8, 0, _POLL, (Bits("HDP_FLUSH", 26, 1), Choice("FUNCTION", 28, 3, _FUNCTIONS), Bits("MEM_POLL", 31, 1))),),
    "COND_EXE": (_Form(9, 0, (Address("ADDR"), Number("REF"), (Bits("EXEC_COUNT", 0, 14),))),),
    "CONSTANT_FILL": (
        _Form(11, 0, (Address("ADDR"), Number("DATA"), (Bits("COUNT", 0, 22),)), (Bits("FILL_SIZE", 30, 2),), last=100),
        _Form(11, 0, (Address("ADDR"), Number("DATA"), (Bits("COUNT", 0, 30),)), (Bits("FILL_SIZE", 30, 2),), first=103),
        _Form(13, 0, (Number("ADDRESS_LO"), Number("DATA"), (Bits("ADDRESS_HI", 16, 8),)), (Bits("COUNT", 0, 20),), 60, 60),
    ),
    "TIMESTAMP_SET_LOCAL": (_Form(13, 0, (Address("DATA"),)),),
    "TIMESTAMP_GET_LOCAL": (_Form(13, 1, (Address("ADDR"),)),),
    "TIMESTAMP_GET_GLOBAL": (_Form(13, 2, (Address("ADDR"),)),),
    "SRBM_WRITE": (_Form(14, 0, ((Bits("OFFSET", 0, 18),), Number("DATA")), (Bits("BYTE_ENABLE", 28, 4),)),),
}


def _form(name: str, level: int) -> _Form:
    for form in _FORMS.get(name, ()):
        if form.first <= level <= form.last:
            return form
    raise InputError(f"no SDMA packet of level {level / 10:g} is called {name!r}")


@dataclass
class SdmaPacket(Packet):
    """One packet of an SDMA stream; ``type`` is -1."""

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """What the header and the body say."""
        form = _form(self.name, self.level)
        header = (value for part in form.header for value in decode_word(part, self.level, self.place, self.header))
        return (*header, *decode_words(form.body(self.header), self.level, self.place + 1, self.body))


@checked
def sdma_packet(name: str, level: int, **fields: Any) -> list[int]:
    """Return the dwords of an SDMA packet whose fields are given by name.

    Parameters
    ----------
    name : str
        Such as ``COPY_LINEAR``.
    level : int
        Hardware level times ten.
    **fields
        Numbers as the packet has them (the count of a copy is one less from GFX9 on), or names of values; lists for data.

    Raises
    ------
    InputError
        No such packet, field or value, or a number that does not fit.
    """
    form = _form(name, level)
    builder = Builder(level, fields)
    code = form.operation | form.sub << 8 if features.has_sdma_low_operation(level) else form.operation << 28 | form.sub << 20
    header = builder.part(form.header) | code
    body = [dword for word in form.body(header) for dword in builder.dwords(word)]
    if builder.left:
        raise InputError(f"{name} has no fields {', '.join(sorted(builder.left))}")
    return [header, *body]


@checked
def parse_sdma(words: Sequence[int], level: int, buffer: int | None = None) -> list[SdmaPacket]:
    """Return the packets of an SDMA stream; `buffer` is its address, for messages.

    Parameters
    ----------
    words : sequence of int
        Dwords.
    level : int
        Hardware level times ten.
    buffer : int, optional
        Address that the words lie at; for error messages and nested packets.

    Returns
    -------
    list of SdmaPacket

    Raises
    ------
    InputError
        A number that is no dword, a packet that ends behind the stream, or one that the tables do not have; the message gives the place in dwords.
    """
    check_dwords(words)
    by_code = {(form.operation, form.sub): (name, form) for name, forms in _FORMS.items() for form in forms if form.first <= level <= form.last}
    packets, place = [], 0
    while place < len(words):
        header = int(words[place])
        code = (header & 0xFF, header >> 8 & 0xFF) if features.has_sdma_low_operation(level) else (header >> 28, header >> 20 & 0xFF)
        name, form = by_code.get(code, ("", None))
        packet = SdmaPacket(place, -1, code[0], name, header, (), level, buffer=buffer)
        if form is None:
            raise InputError(f"{packet.where}: 0x{header:08x} is no header of an SDMA packet that is known")
        size = sum(2 if isinstance(word, Address) else 0 if isinstance(word, DataWords) else 1 for word in form.body(header))
        if form.words and isinstance(form.words[-1], DataWords):
            size += _data_words(words[place : place + 1 + size], level, name)
        packet.body = tuple(map(int, words[place + 1 : place + 1 + size]))
        if len(packet.body) < size:
            raise InputError(f"{packet.where}: a {name} has {size} more dwords, the stream {len(packet.body)}")
        packets.append(packet)
        place += 1 + size
    return packets


def _data_words(words: Sequence[int], level: int, name: str) -> int:
    """How many dwords of data follow what is fixed of a packet."""
    if name == "NOP":
        return int(words[0]) >> 16 & 0x3FFF
    if not features.has_sdma_low_operation(level):
        return int(words[0]) & 0xFFFFF
    return (int(words[3]) & 0xFFFFF) + features.has_sdma_counts_less_one(level) if len(words) > 3 else 0


class SdmaEngine(CommandProcessor):
    """A system DMA engine of an emulated device: a queue as `CommandProcessor` is one, for SDMA packets."""

    @checked
    def __init__(self, device: Device, packets: int = 1 << 20) -> None:
        super().__init__(device, queue="compute", packets=packets)
        self._zero = clock()

    def parse(self, words: Sequence[int], buffer: int | None) -> Sequence[Packet]:
        """Return the packets of a stream."""
        return parse_sdma(words, self.device.gfx_level, buffer)

    def front(self, packet: Packet) -> Iterator[Packet]:
        """Execute a packet; yield it while it has to wait."""
        if packet.name == "INDIRECT_BUFFER":
            self.call(packet, packet["IB_BASE"], packet["IB_SIZE"], False)
        elif packet.name == "COND_EXE":
            if self.read(packet["ADDR"] & ~3, 4, packet) != packet["REF"]:
                self.skip(packet, packet["EXEC_COUNT"])
        elif packet.name == "POLL_REGMEM":
            while not self._holds(packet):
                yield packet
        else:
            action = _ACTIONS.get(packet.name)
            if action is None:
                raise UnsupportedError(f"{packet.where}: the SDMA engine does not execute {packet.name}")
            action(self, packet)
        self.executed += 1

    def _holds(self, packet: Packet) -> bool:
        address = packet["ADDR"]
        value = self.read(address & ~3, 4, packet) if packet["MEM_POLL"] else self.registers.get(address & 0x3FFFC, 0)
        return _COMPARE[packet["FUNCTION"]](value & packet["MASK"], packet["VALUE"])

    # -------------------------------------------------------------------------------------------------------- actions
    def _bytes(self, packet: Packet) -> int:
        """How many bytes a packet moves: one more than it says from GFX9 on."""
        return packet["COUNT"] + features.has_sdma_counts_less_one(self.device.gfx_level)

    def _copy(self, packet: Packet) -> None:
        size = self._bytes(packet)
        target = self.memory(packet["DST_ADDR"], size, packet)
        target[:] = bytes(self.memory(packet["SRC_ADDR"], size, packet))

    def _write_linear(self, packet: Packet) -> None:
        data = [value.value for value in packet.values if value.name == "data"]
        self.write(packet["ADDR"], numpy.array(data, "<u4").tobytes(), packet)

    def _fill(self, packet: Packet) -> None:
        count = self._bytes(packet)
        target = self.memory(packet["ADDR"], count, packet)
        unit = packet["DATA"].to_bytes(4, "little")[: 1 << packet["FILL_SIZE"]]
        target[:] = (unit * (count // len(unit) + 1))[:count]

    def _fence(self, packet: Packet) -> None:
        self.write(packet["ADDR"], packet["DATA"].to_bytes(4, "little"), packet)

    def _trap(self, packet: Packet) -> None:
        self.interrupts.append(packet["INT_CONTEXT"] if packet.body else 0)

    def _srbm_write(self, packet: Packet) -> None:
        self.registers[packet["OFFSET"] << 2] = packet["DATA"]

    def _set_time(self, packet: Packet) -> None:
        self._zero = clock() - packet["DATA"]

    def _local_time(self, packet: Packet) -> None:
        self.write(packet["ADDR"], (clock() - self._zero & (1 << 64) - 1).to_bytes(8, "little"), packet)

    def _global_time(self, packet: Packet) -> None:
        self.write(packet["ADDR"], clock().to_bytes(8, "little"), packet)

    def _rectangle(self, packet: Packet, name: str, element: int) -> numpy.ndarray[Any, Any]:
        """The rows of a packet's rectangle in a linear surface: (slices, rows, bytes), views of memory."""
        pitch, slice_pitch = ((packet[f"{name}_{kind}"] + 1) * element for kind in ("PITCH", "SLICE_PITCH"))
        depth, height, width = (packet[f"RECT_{axis}"] + 1 for axis in "ZYX")
        first = packet[f"{name}_Z"] * slice_pitch + packet[f"{name}_Y"] * pitch + packet[f"{name}_X"] * element
        size = (depth - 1) * slice_pitch + (height - 1) * pitch + width * element
        flat = numpy.frombuffer(self.memory(packet[f"{name}_ADDR"] + first, size, packet), numpy.uint8)
        return numpy.lib.stride_tricks.as_strided(flat, (depth, height, width * element), (slice_pitch, pitch, 1))

    def _copy_window(self, packet: Packet) -> None:
        element = 1 << packet["ELEMENT_SIZE"]
        self._rectangle(packet, "DST", element)[...] = self._rectangle(packet, "SRC", element).copy()

    def _copy_tiled(self, packet: Packet) -> None:
        from pyaco.addrlib import gpu_config
        from pyaco.addrlib.tiling import TiledSurface

        if features.has_sdma_compression(self.device.gfx_level) and packet["DCC"]:
            raise UnsupportedError(f"{packet.where}: SDMA copies of compressed surfaces")
        level, mode, element = self.device.gfx_level, packet["SWIZZLE_MODE"], 1 << packet["ELEMENT_SIZE"]
        linear = self._rectangle(packet, "LINEAR", element)
        modes_tell_3d = features.has_gfx12_swizzle_modes(level)
        surface: dict[str, Any] = {
            "width": packet["WIDTH"] + 1, "height": packet["HEIGHT"] + 1, "num_slices": packet["DEPTH"] + 1, "bpp": 8 * element,
            "swizzle_mode": mode, "num_mip_levels": packet["MIP_MAX"] + 1,
            "resource_type": (2 if mode >= _FIRST_3D_MODE else 1) if modes_tell_3d else packet["DIMENSION"],
        }  # fmt: skip
        if features.has_surface_epitch(level) and surface["num_mip_levels"] == 1 and surface["resource_type"] == 1:
            surface["pitch_in_element"] = packet["EPITCH"] + 1
        config, address = gpu_config(self.device.target), packet["TILED_ADDR"]
        try:
            tiled = TiledSurface(config, **surface)
            swizzle = address % tiled.base_align >> 8
            if swizzle and not modes_tell_3d:
                tiled = TiledSurface(config, **surface, pipe_bank_xor=swizzle)
            held = numpy.frombuffer(self.memory(address - address % tiled.base_align, tiled.size, packet), numpy.uint8)
            origin = [packet[f"TILED_{axis}"] for axis in "ZYX"]
            shape = linear.shape[0], linear.shape[1], linear.shape[2] // element
            region = tuple(slice(first, first + size) for first, size in zip(origin, shape, strict=True))
            if packet["DETILE"]:
                linear[...] = tiled.detile(held, mip=packet["MIP_ID"], region=region).view(numpy.uint8).reshape(linear.shape)  # type: ignore[arg-type]
            else:
                tiled.tile(_texels(linear, tiled.dtype), held, mip=packet["MIP_ID"], region=region)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"{packet.where}: {error}" if "dword" not in str(error) else str(error)) from None


_FIRST_3D_MODE = 5


def _texels(rows: numpy.ndarray[Any, Any], element: numpy.dtype[Any]) -> numpy.ndarray[Any, Any]:
    base = element.subdtype[0] if element.subdtype else element
    packed = numpy.ascontiguousarray(rows).view(base)
    return packed.reshape(*packed.shape[:2], -1, 2) if element.subdtype else packed


_ACTIONS: Mapping[str, Callable[[SdmaEngine, Packet], None]] = {
    "NOP": lambda engine, packet: None,
    "COPY_LINEAR": SdmaEngine._copy, "COPY_LINEAR_SUB_WINDOW": SdmaEngine._copy_window,
    "COPY_TILED_SUB_WINDOW": SdmaEngine._copy_tiled, "WRITE_LINEAR": SdmaEngine._write_linear, "CONSTANT_FILL": SdmaEngine._fill,
    "FENCE": SdmaEngine._fence, "TRAP": SdmaEngine._trap, "SRBM_WRITE": SdmaEngine._srbm_write,
    "TIMESTAMP_SET_LOCAL": SdmaEngine._set_time, "TIMESTAMP_GET_LOCAL": SdmaEngine._local_time,
    "TIMESTAMP_GET_GLOBAL": SdmaEngine._global_time,
}
