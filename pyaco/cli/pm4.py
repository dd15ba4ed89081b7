"""``pyaco pm4``."""

from __future__ import annotations

import argparse
import json
import struct
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyaco.cli.shared import read_bytes, write_text
from pyaco.errors import InputError
from pyaco.targets import chip

if TYPE_CHECKING:
    from pyaco.pm4 import Packet

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("input", metavar="IN", help="a command stream: little-endian dwords, or text of hexadecimal dwords (.txt)")
    parser.add_argument("--target", default="gfx1100", help="gfx name, chip name or product name")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (standard output)")
    parser.add_argument("--json", action="store_true", help="print a JSON list of packets")


def _words(path: str) -> list[int]:
    data = read_bytes(path)
    if path.endswith(".txt"):
        try:
            return [int(word, 16) for word in data.decode().split()]
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
    if len(data) % 4:
        raise InputError(f"{path}: {len(data)} bytes are no whole number of dwords")
    return [word for (word,) in struct.iter_unpack("<I", data)]


def _facts(packet: Packet) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "place": packet.place, "type": packet.type, "name": packet.name, "predicated": packet.predicated, "compute": packet.compute,
        "values": [asdict(value) for value in packet.values],
    }
    if packet.nested is not None:
        facts["nested"] = [_facts(nested) for nested in packet.nested]
    return facts


def run(options: argparse.Namespace) -> None:
    """Decode the stream and write its packets."""
    from pyaco.pm4 import format_packets, parse

    packets = parse(_words(options.input), chip(options.target).level)
    text = json.dumps([_facts(packet) for packet in packets], indent=1) if options.json else format_packets(packets)
    write_text(options.output, text)
