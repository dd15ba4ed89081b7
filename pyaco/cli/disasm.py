"""``pyaco disasm``."""

from pyaco.cli.command_line import CommandLine, Options, is_code_object, may_be_of_radv, read_bytes, write_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("input", metavar="IN",
                        help="raw machine code, a code object or an offload bundle, a pipeline cache or binary of RADV, - for standard input")
    parser.add_argument("--target", help="gfx name, chip name or product name; gfx1100, or what the code object or the cache says")
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write (standard output)")
    parser.add_argument("--exact", action="store_true",
                        help="text that assembles to the same bytes: an instruction with bits that mean nothing becomes .long")
    parser.add_argument("--json", action="store_true", help="print one JSON object with a list of lines")


def run(options: Options) -> None:
    """Disassemble and write the text."""
    data = read_bytes(options.input)
    target, text = _text(data, options.target, options.exact)
    if options.json:
        import json

        from pyaco.isa.text_tables import text_tables

        lines = bytes(text).decode().splitlines()
        text = (json.dumps({"target": text_tables(target).target, "lines": lines}) + "\n").encode()
    elif not data:
        text = b"\n"
    write_bytes(options.output, text)


def _text(data: bytes, target: str | None, exact: bool) -> "tuple[str, Buffer]":
    """The target of `data`, and its text."""
    if is_code_object(data):
        from pyaco.binary import read_code_object
        from pyaco.binary.listing import code_object_text
        from pyaco.targets.target_id import TargetId, generic_members

        code_object = read_code_object(data, target)
        target = generic_members(code_object.target)[0] if target is None else TargetId.parse(target).processor
        return target, code_object_text(code_object, target, exact=exact).encode()
    if may_be_of_radv(data):
        from pyaco.binary.radv import holds_radv_shaders, radv_text

        if holds_radv_shaders(data):
            target, text = radv_text(data, target)
            return target, text.encode()
    from pyaco.isa.text_tables import listing

    target = "gfx1100" if target is None else target
    return target, listing(data, target, None, exact, as_text=False)
