"""``pyaco pm4``."""

from __future__ import annotations

import json
import struct

from pyaco.cli.command_line import CommandLine, Options, read_bytes, write_text
from pyaco.errors import InputError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("input", metavar="IN", help="a command stream: little-endian dwords, or text of hexadecimal dwords (.txt)")
    parser.add_argument("--target", default="gfx1100", help="gfx name, chip name or product name")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (standard output)")
    parser.add_argument("--memory", metavar="ADDRESS=FILE", action="append", default=[],
                        help="device memory, to follow indirect buffers and show shaders and descriptors; may be repeated")
    parser.add_argument("--json", action="store_true", help="print a JSON list of packets")
    parser.add_argument("--html", action="store_true", help="write a page on which packets, shaders and descriptors unfold")


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


def _contents(options: list[str]) -> dict[int, bytes]:
    contents = {}
    for option in options:
        address, _, path = option.partition("=")
        try:
            place = int(address, 0)
        except ValueError:
            place = -1
        if not 0 <= place < 1 << 64:
            raise InputError(f"--memory {option}: expected ADDRESS=FILE, such as 0x100000=code.bin")
        contents[place] = read_bytes(path)
    return contents


def run(options: Options) -> None:
    """Decode the stream and write its packets."""
    from pyaco.isa.processors import processor
    from pyaco.pm4 import annotate, facts, format_html, format_packets, parse, pieces

    if options.json and options.html:
        raise InputError("--json and --html: one of them can be written")
    memory = pieces(_contents(options.memory)) if options.memory else None
    packets = parse(_words(options.input), processor(options.target)[1], memory)
    if memory is not None:
        annotate(packets, options.target, memory)
    if options.json:
        text = json.dumps(facts(packets), indent=1)
    else:
        text = format_html(packets, f"{options.input} on {options.target}") if options.html else format_packets(packets)
    write_text(options.output, text)
