"""Lane loops of the emulator, from ``pyaco/emu/data/semantics.txt``.

Each line of that table becomes one Cython function over lanes; ``emulator_<group>.pxi`` holds the functions of a group and
``fill_<group>(table)``, which enters them by opcode.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

SOURCE_NAMES = "abcf"
RESULT_NAMES = "deg"

# type -> (C type of the variable, how a source is read, width of its array, how a result is stored)
TYPES = {
    "u16": ("uint32_t", "{} & 0xffff", "narrow", "<uint32_t>{} & 0xffff"),
    "i16": ("int32_t", "<int16_t>{}", "narrow", "<uint32_t>{} & 0xffff"),
    "f16": ("double", "half_to_double({})", "narrow", "double_to_half({}, lanes.rounding16)"),
    "r16": ("uint32_t", "{}", "narrow", "{}"),
    "b16": ("uint32_t", "{}", "narrow", "{}"),
    "u32": ("uint32_t", "{}", "narrow", "{}"),
    "i32": ("int32_t", "<int32_t>{}", "narrow", "<uint32_t>{}"),
    "f32": ("float", "bits_float({})", "narrow", "float_bits({})"),
    "r32": ("uint32_t", "{}", "narrow", "{}"),
    "b32": ("uint32_t", "{}", "narrow", "{}"),
    "mix": ("float", "bits_float({})", "narrow", ""),
    "packed": ("uint32_t", "{}", "narrow", ""),
    "packed_f": ("uint32_t", "{}", "narrow", ""),
    "u64": ("uint64_t", "{}", "wide", "{}"),
    "i64": ("int64_t", "<int64_t>{}", "wide", "<uint64_t>{}"),
    "f64": ("double", "bits_double({})", "wide", "double_bits({})"),
    "r64": ("uint64_t", "{}", "wide", "{}"),
    "b64": ("uint64_t", "{}", "wide", "{}"),
    "mask": ("uint64_t", "{}", "narrow", "<uint32_t>({} & 1)"),
    "scc": ("uint32_t", "{}", "narrow", "{} & 1"),
    "exec32": ("uint32_t", "{}", "narrow", "{}"),
    "exec64": ("uint64_t", "{}", "wide", "{}"),
    "imm": ("int32_t", "<int32_t>{}", "narrow", ""),
}
FLOAT_RELATIONS = {
    "f": "0", "lt": "a < b", "eq": "a == b", "le": "a <= b", "gt": "a > b", "lg": "a < b or a > b", "ge": "a >= b",
    "o": "a == a and b == b", "u": "a != a or b != b", "nge": "not a >= b", "nlg": "not (a < b or a > b)",
    "ngt": "not a > b", "nle": "not a <= b", "neq": "not a == b", "nlt": "not a < b", "tru": "1",
}
INTEGER_RELATIONS = {
    "f": "0", "lt": "a < b", "eq": "a == b", "le": "a <= b", "gt": "a > b", "lg": "a != b", "ge": "a >= b", "tru": "1",
}


class Semantics(NamedTuple):
    """One line of the table."""

    names: list[str]
    results: list[str]
    sources: list[str]
    statements: list[str]
    packed: bool = False
    scalar: bool = False

    @property
    def group(self) -> str:
        """The module that its loop is compiled into."""
        if self.names[0].startswith(("v_cmp_", "s_cmp_")):
            return "compare"
        if self.scalar:
            return "scalar"
        kinds = self.results + self.sources
        floats = any("f" in kind.removeprefix("old_") and kind != "packed" for kind in kinds) or "mix" in kinds
        return "float" if floats else "integer"


def read_semantics(source: Path) -> list[Semantics]:
    """Return every line of the table, comparisons included."""
    operations = []
    scalar = False
    for line in (source / "pyaco/emu/data/semantics.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            scalar = line.strip() == "[scalar]"
            continue
        head, _, body = line.partition("|")
        left, _, right = head.partition("=")
        words = left.split()
        packed = words[1] == "pk"
        operations.append(
            Semantics(
                words[0].split(","),
                words[2 if packed else 1 :],
                right.split(),
                [statement.strip() for statement in body.split(";")],
                packed,
                scalar,
            )
        )
    for kind in ("f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"):
        relations = FLOAT_RELATIONS if kind.startswith("f") else INTEGER_RELATIONS
        for relation, expression in relations.items():
            names = [f"v_cmp_{relation}_{kind}", f"v_cmpx_{relation}_{kind}"]
            operations.append(Semantics(names, ["mask"], [kind, kind], [f"d = {expression}"]))
            if kind in ("f16", "f32"):
                names = [f"s_cmp_{relation}_{kind}"]
                operations.append(Semantics(names, ["scc"], [kind, kind], [f"d = {expression}"], scalar=True))
    return operations


def opcode_names(source: Path) -> set[str]:
    """Return every opcode name of the ISA tables."""
    names = set()
    for path in sorted((source / "pyaco/isa/data").glob("opcodes_*.txt")):
        for line in path.read_text().splitlines():
            words = line.split("#")[0].split()
            if words:
                names.add(words[0])
    return names


def lane_function(operation: Semantics) -> list[str]:
    """Return the lines of the loop of one operation."""
    name = operation.names[0]
    body = "; ".join(operation.statements)
    declarations: dict[str, list[str]] = {}
    loads, stores = [], []
    for index, kind in enumerate(operation.sources):
        ctype, load, array, _ = TYPES[kind.removeprefix("old_")]
        declarations.setdefault(ctype, []).append(SOURCE_NAMES[index])
        loads.append(f"{SOURCE_NAMES[index]} = {load.format(f'lanes.{array}[{index}][lane]')}")
    for index, kind in enumerate(operation.results):
        ctype, _, array, store = TYPES[kind]
        declarations.setdefault(ctype, []).append(RESULT_NAMES[index])
        target = "wide_result" if array == "wide" else "result"
        stores.append(f"lanes.{target}[{index}][lane] = {store.format(RESULT_NAMES[index])}")
    for variable, ctype in (("w", "uint64_t"), ("s", "int64_t"), ("x", "double"), ("y", "double"), ("i", "uint32_t")):
        if re.search(rf"\b{variable}\b", body):
            declarations.setdefault(ctype, []).append(variable)
    lines = [f"cdef void lanes_{name}(Lanes *lanes) noexcept nogil:", "    cdef uint32_t lane"]
    lines += [f"    cdef {ctype} {', '.join(names)}" for ctype, names in declarations.items()]
    for variable in ("clamp", "neg"):
        if re.search(rf"\b{variable}\b", body):
            lines.append(f"    cdef uint32_t {variable} = lanes.{variable}")
    lines.append("    for lane in range(lanes.count):")
    lines += [f"        {line}" for line in (*loads, *operation.statements, *stores)]
    return [*lines, ""]


def type_code(kind: str) -> str:
    """Return the expression of the ``type_*`` constant of a type of the table."""
    old = kind.startswith("old_")
    kind = re.sub(r"^b(\d\d)$", r"r\1", kind.removeprefix("old_"))
    return f"type_{kind} + type_old" if old else f"type_{kind}"


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    known = opcode_names(source)
    files = {}
    operations = read_semantics(source)
    for group in ("scalar", "integer", "float", "compare"):
        lines, entries, imports = [], [], []
        for operation in operations:
            names = [name for name in operation.names if name in known]
            if operation.group != group or not names:
                continue
            lines += lane_function(operation)
            for name in names:
                imports.append(f"op_{name}")
                entries.append(f"    entry = &table[<int>op_{name}]")
                entries.append(f"    entry.function = lanes_{operation.names[0]}")
                if operation.packed:
                    entries.append("    entry.packed = 1")
                if name.startswith("v_cmpx_"):
                    entries.append("    entry.writes_exec = 1")
                entries.append(f"    entry.source_count = {len(operation.sources)}")
                entries.append(f"    entry.result_count = {len(operation.results)}")
                for index, kind in enumerate(operation.sources):
                    entries.append(f"    entry.source_type[{index}] = {type_code(kind)}")
                for index, kind in enumerate(operation.results):
                    entries.append(f"    entry.result_type[{index}] = {type_code(kind)}")
        head = ["from isa_opcodes cimport (", *(f"    {name}," for name in imports), ")", ""]
        fill = [f"cdef void fill_{group}(LaneOperation *table) noexcept nogil:", "    cdef LaneOperation *entry", *entries]
        files[f"emulator_{group}.pxi"] = "\n".join(head + lines + fill) + "\n"
    return files
