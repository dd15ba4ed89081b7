"""Command streams as text: one line a dword, with the packet's, register's and field's name and value.

The lines have the form that drivers' dumps have (Mesa's ``ac_parse_ib``), so that people and tools can compare them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pyaco.pm4.stream import Packet, Value

__all__ = ["format_packets"]

_MARGIN = " " * 8


def format_packets(packets: Sequence[Packet]) -> str:
    """Return the text of packets; nested buffers are indented behind the packet that calls them.

    Parameters
    ----------
    packets : sequence of Packet
        As ``pyaco.pm4.parse`` returns them.
    """
    return "".join(line + "\n" for packet in packets for line in _packet_lines(packet))


def _packet_lines(packet: Packet) -> list[str]:
    flags = "(shader_type=compute)" * packet.compute + "(predicated)" * packet.predicated + "(reset_filter_cam)" * packet.reset_filter_cam
    lines = [f"{packet.header:08x} {packet.name}{flags}:"]
    by_place: dict[int, list[Value]] = {}
    for value in packet.values:
        by_place.setdefault(value.place, []).append(value)
    for k, word in enumerate(packet.body):
        said = [line for value in by_place.get(packet.place + 1 + k, ()) for line in _value_lines(value)]
        first, *rest = said or [""]
        lines.append(f"{word:08x} {first}".rstrip())
        lines += [" " * 9 + line for line in rest]
    for nested in packet.nested or ():
        lines += ["    " + line for line in _packet_lines(nested)]
    return lines


def _value_lines(value: Value) -> list[str]:
    if value.name in ("data", "unused", "reserved"):
        return [f"{_MARGIN}({value.name})"]
    if value.meaning is not None:
        return [f"{_MARGIN}{value.name} <- {value.meaning}"]
    if value.width == 64:
        return [f"{_MARGIN}{value.name} <- 0x{value.value:x}"]
    known = value.offset is None or not value.name.startswith("0x")
    number = _number(value.value, value.width) if known else f"0x{value.value:08x}"
    lines = [f"{_MARGIN}{value.name} <- {number}"]
    indent = _MARGIN + " " * (len(value.name) + 4)
    lines += [f"{indent}{name} = {meaning or _number(bits, width)}" for name, bits, meaning, width in value.fields]
    return lines


def _number(value: int, width: int) -> str:
    """Small numbers in decimal, others as floats where they look like one."""
    digits = width // 4
    if value <= 9:
        return str(value)
    if value <= 1 << 15:
        return f"{value} (0x{value:0{digits}x})"
    as_float = struct.unpack("<f", struct.pack("<I", value))[0]
    if abs(as_float) < 100000 and as_float * 10 == int(as_float * 10):
        return f"{as_float:.1f}f (0x{value:0{digits}x})"
    return f"0x{value:0{digits}x}"
