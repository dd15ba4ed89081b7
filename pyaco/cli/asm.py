"""``pyaco asm``."""

from __future__ import annotations

from pyaco.cli.command_line import CommandLine, Options, read_bytes, write_bytes
from pyaco.errors import InputError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("input", metavar="IN", help="assembly text, - for standard input")
    parser.add_argument("--target", default="gfx1100", help="gfx name, chip name or product name")
    parser.add_argument("-o", "--output", metavar="OUT",
                        help="file to write (standard output); a code object if it ends in .o, a linked one in .hsaco or .so")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object with the code in hexadecimal")


def run(options: Options) -> None:
    """Assemble and write the bytes."""
    source = _text(options.input)
    if (options.output or "").endswith((".o", ".hsaco", ".so")):
        from pyaco.binary import assemble_code_object, link_code_object

        relocatable = assemble_code_object(source.decode(), options.target)
        write_bytes(options.output, relocatable if options.output.endswith(".o") else link_code_object(relocatable))
        return
    from pyaco.isa import assembler

    assembled = assembler.run(source, options.target, None)
    if not options.json:
        write_bytes(options.output, assembled)
        return
    import json

    from pyaco.isa.text_tables import text_tables

    code = assembled.code()
    document = {"target": text_tables(options.target).target, "bytes": len(code), "code_hex": code.hex()}
    write_bytes(options.output, (json.dumps(document) + "\n").encode())


def _text(path: str) -> bytes:
    """The contents of a file that is text in UTF-8."""
    source = read_bytes(path)
    try:
        if not source.isascii():
            source.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text: {error}") from None
    return source
