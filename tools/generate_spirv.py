"""Kernels' view of the SPIR-V tables ``pyaco/spirv/data``: ``spirv_tables.h`` and ``.pxd``.

Constants ``Op<Name>``, ``<Kind>_<Name>`` for enumerants, ``Glsl_<Name>`` for GLSL.std.450; arrays indexed by opcode number: the shape of its
operands, the NIR ALU opcode of the instructions that map to one, and of those that reduce with one; the intrinsics of built-ins.
"""

from __future__ import annotations

from pathlib import Path

#: Words of ``alu.txt`` behind the NIR opcode, as bits.
ALU_FLAGS = {"swap": 1, "not": 2, "exact": 4}
#: Kinds of enumerants whose names are needed, for messages.
NAMED = ("AddressingModel", "BuiltIn", "Capability", "Dim", "ExecutionModel", "ImageOperands", "MemoryAccess", "Scope", "StorageClass",
         "GroupOperation", "FPEncoding", "CooperativeMatrixLayout")  # fmt: skip


def lines(path: Path) -> list[list[str]]:
    """Return the words of every line that is not a comment."""
    rows = (line.split("#")[0].split() for line in path.read_text().splitlines())
    return [row for row in rows if row]


def sequence(kind: str, name: str, size: int, values: dict[int, object], default: object) -> str:
    """Return a C array with every element written (C++ has no designated array initialisers)."""
    body = ", ".join(str(values.get(number, default)) for number in range(size))
    return f"static const {kind} {name}[{size}] = {{{body}}};"


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    data = source / "pyaco/spirv/data"
    opcodes = [(int(row[0]), row[1], "" if row[2] == "-" else row[2]) for row in lines(data / "opcodes.txt")]
    number = {name: value for value, name, _ in opcodes}
    enumerants = [(f"{kind}_{name}", int(value), kind, name) for kind, name, value in lines(data / "enumerants.txt")]
    glsl = [(int(row[0]), row[1], row[2:]) for row in lines(data / "glsl450.txt")]
    alu, groups, builtins = (lines(data / f"{name}.txt") for name in ("alu", "groups", "builtins"))
    size = max(number.values()) + 1
    glsl_size = max(value for value, _, _ in glsl) + 1
    named = [(NAMED.index(kind), value, name) for _, value, kind, name in enumerants if kind in NAMED]
    named.sort(key=lambda row: row[:2])    # the first of several names stays the first
    constants = [f"Op{name} = {value}" for value, name, _ in opcodes]
    constants += [f"{name} = {value}" for name, value, kind, _ in enumerants if kind != "Capability"]
    constants += [f"Glsl_{name} = {value}" for value, name, _ in glsl]
    constants += [f"spirv_kind_{kind} = {value}" for value, kind in enumerate(NAMED)]
    constants += [f"spirv_alu_{name} = {bit}" for name, bit in ALU_FLAGS.items()]
    header = [
        "#pragma once",
        "#include <stdint.h>",
        '#include "nir_opcodes.h"',
        "enum { " + ",\n".join(constants) + " };",
        f"enum {{ spirv_opcode_count = {size}, glsl_opcode_count = {glsl_size}, spirv_named_count = {len(named)}, "
        f"spirv_builtin_count = {len(builtins)} }};",
        sequence("char *const", "spirv_names", size, {v: f'"Op{n}"' for v, n, _ in opcodes}, "0"),
        sequence("char *const", "spirv_shapes", size, {v: f'"{s}"' for v, _, s in opcodes}, "0"),
        sequence("int16_t", "spirv_alu", size, {number[row[0]]: f"alu_{row[1]}" for row in alu}, -1),
        sequence("uint8_t", "spirv_alu_flags", size,
                 {number[row[0]]: sum(ALU_FLAGS[word] for word in row[2:]) for row in alu}, 0),
        sequence("int16_t", "spirv_group_alu", size, {number[name]: f"alu_{operation}" for name, operation in groups}, -1),
        sequence("uint32_t", "spirv_builtins", len(builtins), dict(enumerate(f"BuiltIn_{name}" for name, _, _ in builtins)), 0),
        sequence("uint16_t", "spirv_builtin_intrinsics", len(builtins), dict(enumerate(f"intrinsic_{name}" for _, name, _ in builtins)), 0),
        sequence("uint8_t", "spirv_builtin_components", len(builtins), dict(enumerate(count for _, _, count in builtins)), 0),
        sequence("char *const", "glsl_names", glsl_size, {v: f'"{n}"' for v, n, _ in glsl}, "0"),
        sequence("int16_t", "glsl_alu", glsl_size, {v: f"alu_{rest[0]}" for v, _, rest in glsl if rest}, -1),
        sequence("uint8_t", "spirv_named_kinds", len(named), dict(enumerate(kind for kind, _, _ in named)), 0),
        sequence("uint32_t", "spirv_named_values", len(named), dict(enumerate(value for _, value, _ in named)), 0),
        sequence("char *const", "spirv_named_names", len(named), dict(enumerate(f'"{name}"' for _, _, name in named)), 0),
    ]
    declarations = [
        "from libc.stdint cimport int16_t, uint8_t, uint16_t, uint32_t",
        "",
        'cdef extern from "spirv_tables.h" nogil:',
        "    enum:",
        *(f"        {line.split(' =')[0]}" for line in constants),
        "        spirv_opcode_count",
        "        glsl_opcode_count",
        "        spirv_named_count",
        "        spirv_builtin_count",
        "    const char *const *spirv_names       # NULL: no such opcode",
        "    const char *const *spirv_shapes      # letters of opcodes.txt",
        "    const int16_t *spirv_alu             # NIR ALU opcode, -1 none",
        "    const uint8_t *spirv_alu_flags       # spirv_alu_*: operands swapped, result negated, exact",
        "    const int16_t *spirv_group_alu       # NIR ALU opcode that a reduction or scan combines values with, -1 none",
        "    const uint32_t *spirv_builtins       # built-ins, a row each: BuiltIn, the NIR intrinsic that loads it, its components",
        "    const uint16_t *spirv_builtin_intrinsics",
        "    const uint8_t *spirv_builtin_components",
        "    const char *const *glsl_names",
        "    const int16_t *glsl_alu",
        "    const uint8_t *spirv_named_kinds     # enumerants that messages name: spirv_kind_*, value and name, in order, a row each",
        "    const uint32_t *spirv_named_values",
        "    const char *const *spirv_named_names",
    ]
    return {"spirv_tables.h": "\n".join(header) + "\n", "spirv_tables.pxd": "\n".join(declarations) + "\n"}
