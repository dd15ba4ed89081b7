"""Command streams as text: one line a dword, with the packet's, register's and field's name and value.

The lines have the form that drivers' dumps have (Mesa's ``ac_parse_ib``), so that people and tools can compare them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pyaco.arguments import checked
from pyaco.pm4.scalars import Use
from pyaco.pm4.shader_use import Descriptor, ShaderUse
from pyaco.pm4.stream import Packet
from pyaco.pm4.values import Value

__all__ = ["descriptor_lines", "format_packets", "load_line", "packet_body_lines", "shader_heading"]

_MARGIN = " " * 8


@checked
def format_packets(packets: Sequence[Packet]) -> str:
    """Return the text of packets; nested buffers are indented behind the packet that calls them.

    Parameters
    ----------
    packets : sequence of Packet
        As ``pyaco.pm4.parse`` returns them; behind those that ``annotate`` has seen comes what they run.
    """
    return "".join(line + "\n" for packet in packets for line in _packet_lines(packet))


def _packet_lines(packet: Packet) -> list[str]:
    lines = packet_body_lines(packet)
    for shader in packet.shaders:
        lines += ["    " + line for line in _shader_lines(shader)]
    for nested in packet.nested or ():
        lines += ["    " + line for line in _packet_lines(nested)]
    return lines


def packet_body_lines(packet: Packet) -> list[str]:
    """Return a packet's heading and the lines of its dwords."""
    flags = "(shader_type=compute)" * packet.compute + "(predicated)" * packet.predicated + "(reset_filter_cam)" * packet.reset_filter_cam
    lines = [f"{packet.header:08x} {packet.name}{flags}:"]
    by_place: dict[int, list[Value]] = {}
    for value in packet.values:
        by_place.setdefault(value.place, []).append(value)
    lines += [" " * 9 + line for value in by_place.get(packet.place, ()) for line in _value_lines(value)]
    for k, word in enumerate(packet.body):
        said = [line for value in by_place.get(packet.place + 1 + k, ()) for line in _value_lines(value)]
        first, *rest = said or [""]
        lines.append(f"{word:08x} {first}".rstrip())
        lines += [" " * 9 + line for line in rest]
    return lines


def _shader_lines(shader: ShaderUse) -> list[str]:
    lines = [shader_heading(shader) + ":"]
    lines += [f"    {line.text}" if line.text.endswith(":") else f"    {line.offset:6x}  {line.text.strip()}" for line in shader.lines]
    for descriptor in shader.descriptors:
        lines += descriptor_lines(descriptor)
    return lines + [load_line(load) for load in shader.loads]


def shader_heading(shader: ShaderUse) -> str:
    """Return one line that names a shader."""
    user = f", user SGPRs {' '.join(f'{word:08x}' for word in shader.user_sgprs)}" if shader.user_sgprs else ""
    code = f"{shader.lines[-1].offset + shader.lines[-1].size} bytes" if shader.lines else "no memory is given there"
    return f"{shader.stage} shader at 0x{shader.address:x}, {code}, wave{shader.wave_size}{user}"


def descriptor_lines(descriptor: Descriptor) -> list[str]:
    """Return a descriptor's heading, its words and their fields."""
    where = "put together by the shader" if descriptor.address is None else f"at 0x{descriptor.address:x}"
    lines = [f"{descriptor.kind} descriptor {where}, used at {descriptor.offset:x}:"]
    for word in descriptor.words:
        lines.append(f"    {word.value:08x} {word.name}")
        lines += [f"             {name} = {value}" for name, value in word.fields.items()]
    return lines


def load_line(load: Use) -> str:
    """Return one line with what a scalar load reads."""
    return f"load at {load.offset:x} reads 0x{load.address or 0:x}: {' '.join(f'{word:08x}' for word in load.words)}"


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
