"""Command streams as plain data, for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyaco.arguments import checked
from pyaco.pm4.shader_use import ShaderUse
from pyaco.pm4.stream import Packet

__all__ = ["facts"]


@checked
def facts(packets: Sequence[Packet]) -> list[dict[str, Any]]:
    """Return packets as dictionaries of numbers, texts and lists.

    Parameters
    ----------
    packets : sequence of Packet
        As ``pyaco.pm4.parse`` returns them; those that ``annotate`` has seen say what they run.
    """
    return [_packet(packet) for packet in packets]


def _packet(packet: Packet) -> dict[str, Any]:
    found: dict[str, Any] = {
        "place": packet.place, "type": packet.type, "name": packet.name, "predicated": packet.predicated, "compute": packet.compute,
        "header": packet.header, "body": list(packet.body), "values": [asdict(value) for value in packet.values],
    }
    if packet.shaders:
        found["shaders"] = [_shader(shader) for shader in packet.shaders]
    if packet.nested is not None:
        found |= {"address": packet.address, "chained": packet.chained, "nested": facts(packet.nested)}
    return found


def _shader(shader: ShaderUse) -> dict[str, Any]:
    return {
        "stage": shader.stage, "address": shader.address, "wave_size": shader.wave_size, "user_sgprs": list(shader.user_sgprs),
        "code": [asdict(line) for line in shader.lines], "descriptors": [asdict(descriptor) for descriptor in shader.descriptors],
        "loads": [asdict(load) for load in shader.loads],
    }
