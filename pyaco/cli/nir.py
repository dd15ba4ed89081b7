"""``pyaco nir``: tables of NIR."""

from __future__ import annotations

import json

from pyaco.cli.command_line import CommandLine, Options, write_text
from pyaco.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco.nir.opcodes import AluInfo

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("table", metavar="ops", choices=("ops",), help="the table: ops, NIR's ALU opcodes")
    parser.add_argument("name", nargs="?", metavar="NAME", help="one opcode, in full")
    parser.add_argument("values", nargs="*", metavar="VALUE", help="compute the opcode: bits of each operand, x,y,z for a vector")
    parser.add_argument("--bits", type=int, default=32, help="bits of operands that the table gives none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _operand(size: int, type: str) -> str:
    return type if size == 0 else f"{type}[{size}]"


def _facts(info: AluInfo) -> dict[str, Any]:
    return {
        "name": info.name, "num_inputs": info.num_inputs, "output_size": info.output_size, "output_type": info.output_type,
        "input_sizes": info.input_sizes, "input_types": info.input_types, "is_conversion": info.is_conversion,
        "is_selection": info.is_selection, "algebraic_properties": info.algebraic_properties,
    }  # fmt: skip


def _line(info: AluInfo) -> str:
    operands = " ".join(_operand(*pair) for pair in zip(info.input_sizes, info.input_types, strict=True))
    properties = " ".join([*info.algebraic_properties, *(["conversion"] if info.is_conversion else [])])
    return f"{info.name:31} {_operand(info.output_size, info.output_type):9} {operands}{'  (' + properties + ')' if properties else ''}"


def _value(info: AluInfo, words: list[str], bits: int) -> int | list[int]:
    try:
        operands = [[int(part, 0) for part in word.split(",")] for word in words]
    except ValueError:
        raise InputError(f"{' '.join(words)}: expected integers, x,y,z for a vector") from None
    return info.evaluate(*operands, bit_size=bits)


def _record(info: AluInfo, value: int | list[int] | None) -> str:
    rows = [f"{name}: {_plain(fact)}" for name, fact in _facts(info).items()]
    if info.bit_sizes:
        rows.append(f"bit sizes: {_plain(info.bit_sizes)}")
    rows += [f"defined or lowered as: {rule}" for rule in info.definitions]
    if value is not None:
        rows.append(f"value: {_plain([f'0x{part:x}' for part in ([value] if isinstance(value, int) else value)])}")
    return "\n".join(rows)


def _plain(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return ", ".join(map(str, fact)) or "none" if isinstance(fact, (tuple, list)) else str(fact)


def run(options: Options) -> None:
    """Print the table, or a record."""
    from pyaco.nir.opcodes import ALU_INFOS

    if options.name is None:
        infos = list(ALU_INFOS.values())
        write_text(None, json.dumps({"ops": [_facts(info) for info in infos]}, indent=2) if options.json else "\n".join(map(_line, infos)))
        return
    if options.name not in ALU_INFOS:
        raise InputError(f"NIR has no ALU opcode {options.name}{_similar(options.name, list(ALU_INFOS))}")
    info = ALU_INFOS[options.name]
    value = _value(info, options.values, options.bits) if options.values else None
    if options.json:
        write_text(None, json.dumps(_facts(info) | {"bit_sizes": info.bit_sizes, "definitions": info.definitions, "value": value}, indent=2))
        return
    write_text(None, _record(info, value))


def _similar(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names)
    return f"; {', '.join(close)}?" if close else ""
