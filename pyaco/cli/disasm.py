"""``pyaco disasm``."""

from __future__ import annotations

import argparse

from pyaco.cli.shared import read_bytes, write_text

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

    text = isa.disassemble(read_bytes(options.input), options.target)
    if options.json:
        import json

        from pyaco.isa.text_tables import text_tables

        text = json.dumps({"target": text_tables(options.target).target, "lines": text.splitlines()})
    write_text(options.output, text)
