"""``pyaco descriptor``."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyaco.cli.command_line import CommandLine, Options, write_text
from pyaco.errors import InputError
from pyaco.targets import chip

if TYPE_CHECKING:
    from pyaco.descriptors.layout import Binding, SetLayout

__all__ = ["add_arguments", "run"]

_BINDING = re.compile(r"(\d+)[:=](\w+)(?:\(([\w,]*)\))?(?:\*(\d+|\?))?")


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("kind", choices=("buffer", "image", "sampler", "types", "set"),
                        help="what the dwords describe; types: what a descriptor of each type consists of; set: the layout of a set")
    parser.add_argument("words", nargs="*", metavar="WORD", help="hexadecimal dwords; of a set its bindings, NUMBER:TYPE, NUMBER:TYPE*COUNT, "
                        "NUMBER:TYPE*? (as many as the set is made with) or NUMBER:mutable(TYPE,TYPE)*COUNT")
    parser.add_argument("--target", default="gfx1100", help="gfx name, chip name or product name")
    parser.add_argument("--compare", choices=("intel",), help="what Intel's driver puts there, beside")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _word(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise InputError(f"{text!r} is no hexadecimal dword") from None


def _binding(text: str) -> Binding:
    from pyaco.descriptors.layout import Binding
    from pyaco.descriptors.types import DescriptorType

    match = _BINDING.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is no binding: expected NUMBER:TYPE*COUNT")
    number, kind, mutable, count = match.groups()
    try:
        types = tuple(DescriptorType(each) for each in (mutable or "").split(",") if each)
        return Binding(int(number), DescriptorType(kind), 0 if count == "?" else int(count or 1), types, variable=count == "?")
    except ValueError as error:
        raise InputError(f"{text}: {error}; types: {', '.join(DescriptorType)}") from None


def run(options: Options) -> None:
    """Decode a descriptor, or lay out a set."""
    action = {"types": _types, "set": _set}.get(options.kind, _decode)
    facts, rows = action(options)
    write_text(None, json.dumps(facts, indent=1) if options.json else "\n".join(rows))


def _decode(options: Options) -> tuple[list[Any], list[str]]:
    from pyaco.descriptors.decode import decode

    found = decode(options.kind, [_word(text) for text in options.words], chip(options.target).level)
    rows = []
    for word in found:
        rows.append(f"{word.name} = 0x{word.value:08x}")
        rows += [f"  {name} = {value}" for name, value in word.fields.items()]
    return [asdict(word) for word in found], rows


def _types(options: Options) -> tuple[list[Any], list[str]]:
    from pyaco.descriptors.intel import compare

    if options.words:
        raise InputError(f"{options.words[0]!r}: all types are listed, no word chooses among them")
    rows = []
    for row in compare():
        rows.append(f"{row.type.value:<23} {row.amd_size:>3} bytes, aligned to {row.amd_alignment:>2}: {row.amd}")
        if options.compare:
            fields = f"; fields: {row.intel_indirect_fields}" if row.intel_indirect_fields else ""
            rows += [f"{'Intel, indirect':>23} {row.intel_indirect_size:>3} bytes: {row.intel_indirect}{fields}",
                     f"{'Intel, direct':>23} {row.intel_direct_size:>3} bytes + {row.intel_direct_sampler_size} of samplers: {row.intel_direct}"]
    return [asdict(row) for row in compare()], rows


def _set(options: Options) -> tuple[dict[str, Any], list[str]]:
    from pyaco.descriptors.layout import SetLayout

    layout = SetLayout([_binding(text) for text in options.words])
    facts: dict[str, Any] = {"size": layout.size, "dynamic_buffers": layout.dynamic_count, "bindings": []}
    rows = [f"{layout.size} bytes, {layout.allocated_size()} allocated, {layout.dynamic_count} dynamic buffers"]
    for number, placed in layout.bindings.items():
        kind = placed.binding.type
        entry: dict[str, Any] = {"binding": number, "type": kind.value, "offset": placed.offset, "stride": placed.stride, "count": placed.elements}
        where = f"at {placed.offset}, {placed.elements} of {placed.stride} bytes"
        if placed.dynamic is not None:
            entry |= {"offset": None, "dynamic": placed.dynamic}
            where = f"dynamic buffer {placed.dynamic}, {placed.elements} behind the push constants"
        rows.append(f"  {number}: {kind.value} {where}{', count chosen with the set' if placed.binding.variable else ''}")
        facts["bindings"].append(entry)
    if options.compare:
        facts["intel"], more = _intel(layout)
        rows += more
    return facts, rows


def _intel(layout: SetLayout) -> tuple[dict[str, Any], list[str]]:
    """What the same bindings take with Intel's descriptors, each aligned as its classes need, in the order of numbers."""
    from pyaco.descriptors.intel import intel_contents

    facts: dict[str, Any] = {}
    rows = []
    for name, indirect in (("indirect", True), ("direct", False)):
        size = samplers = 0
        for placed in layout.bindings.values():
            known = intel_contents(placed.binding.type, indirect=indirect, mutable=placed.binding.mutable)
            size = -(-size // known.alignment) * known.alignment + known.size * placed.binding.count
            samplers += known.sampler_size * placed.binding.count
        facts[name] = {"size": size, "sampler_size": samplers}
        rows.append(f"Intel, {name}: {size} bytes and {samplers} of samplers")
    return facts, rows
