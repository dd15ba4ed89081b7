"""``pyaco disasm``."""

from __future__ import annotations

import argparse
import json

from pyaco.cli.shared import read_bytes, write_text
from pyaco.targets import chip

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("input", metavar="IN", help="raw machine code, - for standard input")
    parser.add_argument("--target", default="gfx1100", help="gfx name, chip name or product name")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (standard output)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with a list of lines")


def run(options: argparse.Namespace) -> None:
    """Disassemble and write the text."""
    from pyaco import isa

    target = chip(options.target).target
    text = isa.disassemble(read_bytes(options.input), target)
    if options.json:
        text = json.dumps({"target": target, "lines": text.splitlines()})
    write_text(options.output, text)
