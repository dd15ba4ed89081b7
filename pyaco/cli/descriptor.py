"""``pyaco descriptor``."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from pyaco.cli.shared import write_text
from pyaco.errors import InputError
from pyaco.targets import chip

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("kind", choices=("buffer", "image", "sampler"), help="what the dwords describe")
    parser.add_argument("words", nargs="+", metavar="DWORD", help="hexadecimal dwords")
    parser.add_argument("--target", default="gfx1100", help="gfx name, chip name or product name")
    parser.add_argument("--json", action="store_true", help="print a JSON list of dwords")


def _word(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise InputError(f"{text!r} is no hexadecimal dword") from None


def run(options: argparse.Namespace) -> None:
    """Decode a descriptor and print its fields."""
    from pyaco.descriptors.decode import decode

    found = decode(options.kind, [_word(text) for text in options.words], chip(options.target).level)
    if options.json:
        write_text(None, json.dumps([asdict(word) for word in found], indent=1))
        return
    rows = []
    for word in found:
        rows.append(f"{word.name} = 0x{word.value:08x}")
        rows += [f"  {name} = {value}" for name, value in word.fields.items()]
    write_text(None, "\n".join(rows))
