"""``pyaco reg``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyaco.cli.command_line import CommandLine, Options, write_text
from pyaco.errors import InputError
from pyaco.targets import chip

if TYPE_CHECKING:
    from pyaco.registers import Register

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("name", metavar="NAME", help="a register's name, or its byte offset such as 0xb848")
    parser.add_argument("values", nargs="*", metavar="VALUE", help="a value to decode, or FIELD=VALUE words to encode")
    parser.add_argument("--target", default="gfx1100", help="gfx name, chip name or product name")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _find(name: str, level: int) -> Register:
    from pyaco.registers import registers

    known = registers(level)
    try:
        offset = int(name, 0)
    except ValueError:
        return known[name.upper()]
    found = known.at(offset)
    if found is None:
        raise InputError(f"no register at offset 0x{offset:x} on level {level / 10:g}")
    return found


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _encode(register: Register, words: list[str]) -> int:
    fields: dict[str, int | str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator:
            raise InputError(f"{word}: expected a number, or FIELD=VALUE")
        number = _number(value)
        fields[name] = value if number is None else number
    return register.encode(**fields)


def run(options: Options) -> None:
    """Print a register's fields, with values where some are given."""
    register = _find(options.name, chip(options.target).level)
    word = None
    if options.values:
        alone = _number(options.values[0]) if len(options.values) == 1 else None
        word = _encode(register, options.values) if alone is None else alone
        if not 0 <= word < 1 << 32:
            raise InputError(f"a register holds 32 bits: {word} does not fit")
    values = {} if word is None else register.decode(word)
    if options.json:
        fields = [{"name": f.name, "low": f.low, "high": f.high, "values": f.values} for f in register.fields]
        facts = {"name": register.name, "offset": register.offset, "fields": fields, "value": word, "decoded": values}
        write_text(None, json.dumps(facts, indent=2))
        return
    rows = [f"{register.name} at 0x{register.offset:x}" + ("" if word is None else f" = 0x{word:08x}")]
    for field in register.fields:
        names = "" if word is not None else "  " + " ".join(f"{number}:{name}" for number, name in field.values.items())
        value = f" = {values[field.name]}" if word is not None else ""
        rows.append(f"  {field.high:>2}:{field.low:<2} {field.name}{value}{names}".rstrip())
    write_text(None, "\n".join(rows))
