"""``pyaco disasm``."""

from __future__ import annotations

from pyaco.cli.command_line import CommandLine, Options
from pyaco.cli.shared import read_bytes, write_text

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("input", metavar="IN", help="raw machine code or a code object, - for standard input")
    parser.add_argument("--target", help="gfx name, chip name or product name; gfx1100, or what the code object says")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (standard output)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with a list of lines")


def run(options: Options) -> None:
    """Disassemble and write the text."""
    from pyaco import isa

    data = read_bytes(options.input)
    target = options.target or "gfx1100"
    if data.startswith((b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__")):
        from pyaco.binary import read_code_object
        from pyaco.binary.listing import code_object_text

        code_object = read_code_object(data)
        target = options.target or code_object.target
        text = code_object_text(code_object, target)
    else:
        text = isa.disassemble(data, target)
    if options.json:
        import json

        from pyaco.isa.text_tables import text_tables

        text = json.dumps({"target": text_tables(target).target, "lines": text.splitlines()})
    write_text(options.output, text)
