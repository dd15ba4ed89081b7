"""Kernels' view of the NIR opcode tables ``pyaco/nir/data/alu.txt``, ``intrinsics.txt`` and ``texture.txt``.

``nir_opcodes.h`` and ``.pxd``: constants ``alu_<name>``, ``intrinsic_<name>``, ``index_<name>``, ``tex_<name>``, ``tex_source_<name>``;
arrays indexed by them.
A type is encoded as base (1 int, 2 uint, 3 float, 4 bool) << 8 | bit size (0: that of the instruction).
"""

from __future__ import annotations

import re
from pathlib import Path

BASES = {"int": 1, "uint": 2, "float": 3, "bool": 4}
#: Letters in the data files and the constants for them, bits from the lowest on.
PROPERTIES = {letter: f"alu_property_{name}" for letter, name in {
    "c": "commutative", "a": "associative", "i": "inexact_associative", "s": "selection", "v": "conversion"}.items()}
FLAGS = {letter: f"intrinsic_flag_{name}" for letter, name in {
    "e": "can_eliminate", "r": "can_reorder", "d": "divergent", "u": "uniform", "b": "convergent"}.items()}
TEXTURE_FLAGS = {"s": 1, "l": 2, "c": 4}
DIMENSION_FLAGS = {"a": 1, "s": 2, "m": 4}
#: Components that depend on the texture, beyond all numbers.
TEXTURE_SHAPES = {"any": 0, "texel": 0x20, "size": 0x21, "descriptor": 0x22, "coordinate": 0x23, "dimensions": 0x24, "deref": 0x25}
#: Sources that every texture instruction may have, and those that need a sampler.
TEXTURE_NAMES = ("texture_deref", "texture_offset", "texture_handle", "plane", "backend1", "backend2")
SAMPLER_NAMES = ("sampler_deref", "sampler_offset", "sampler_handle")
#: Opcodes that join what an opcode gives for each component, by the name without the number of components: (each, join).
REDUCTIONS = {
    "ball_fequal": ("feq", "iand"), "ball_iequal": ("ieq", "iand"), "bany_fnequal": ("fneu", "ior"), "bany_inequal": ("ine", "ior"),
    "fdot": ("fmul", "fadd"), "fsum": ("mov", "fadd"),
}
#: Opcodes that give a boolean as 1.0 or 0.0, and those that have the boolean.
FLOAT_BOOLEANS = {"seq": "feq", "sne": "fneu", "slt": "flt", "sge": "fge"}
MAX_INPUTS = 16
MAX_SOURCES = 5


def type_code(name: str) -> int:
    """Return the code of a type such as ``float32`` or ``int``."""
    match = re.fullmatch(r"(int|uint|float|bool)(\d*)", name)
    if match is None:
        raise ValueError(f"unknown NIR type {name!r}")
    return BASES[match[1]] << 8 | int(match[2] or 0)


def lines(path: Path) -> list[list[str]]:
    """Return the words of every line that is not a comment."""
    rows = (line.split("#")[0].split() for line in path.read_text().splitlines())
    return [row for row in rows if row]


def flags(text: str, meaning: dict[str, int]) -> int:
    """Return the bits of a word of letters, ``-`` for none."""
    return 0 if text == "-" else sum(meaning[letter] for letter in text)


def bits(names: dict[str, str]) -> dict[str, int]:
    """Return the bit of each letter."""
    return {letter: 1 << position for position, letter in enumerate(names)}


def array(kind: str, name: str, values: list[object]) -> str:
    """Return a C array definition."""
    return f"static const {kind} {name}[] = {{{', '.join(map(str, values))}}};"


def strings(values: list[str]) -> list[object]:
    """Return C string literals."""
    return [f'"{value}"' for value in values]


def one_bit_opcode(name: str, result: str) -> str | None:
    """Return the opcode with 1-bit booleans for one with booleans of 8, 16 or 32 bits, or of floats; None for others."""
    if name in FLOAT_BOOLEANS:
        return FLOAT_BOOLEANS[name]
    match = re.fullmatch(r"(fall_|fany_n)(equal\d+)", name)
    if match:
        return ("ball_f" if match[1] == "fall_" else "bany_fn") + match[2]
    match = re.fullmatch(r"b(?:8|16|32)(all|any)(_\w+)", name)
    if match:
        return f"b{match[1]}{match[2]}"
    if re.fullmatch(r"b(8|16|32)f?csel(_mdg)?", name):
        return "bcsel"
    match = re.fullmatch(r"(\w*[a-z])(8|16|32)", name)
    return match[1] if match and result == f"bool{match[2]}" and match[1] != "b2b" else None


def reduction(name: str) -> tuple[str, str]:
    """Return the opcode for each component and the one that joins, ``mov`` and ``mov`` where an opcode is no reduction."""
    match = re.fullmatch(r"(\w+?)\d+(?:_replicated)?", name)
    return REDUCTIONS.get(match[1], ("mov", "mov")) if match else ("mov", "mov")


def alu_relations(rows: list[list[str]]) -> list[str]:
    """Return the arrays of what opcodes have to do with others."""
    names = {row[0] for row in rows}
    one_bit = [one_bit_opcode(row[0], row[2]) or row[0] for row in rows]
    reductions = [reduction(row[0]) for row in rows]
    for name in one_bit + [name for pair in reductions for name in pair]:
        if name not in names:
            raise ValueError(f"alu.txt has no opcode {name}")
    return [
        array("uint16_t", "alu_one_bit", [f"alu_{name}" for name in one_bit]),
        array("uint16_t", "alu_each", [f"alu_{each}" for each, _ in reductions]),
        array("uint16_t", "alu_join", [f"alu_{join}" for _, join in reductions]),
    ]


def alu_tables(rows: list[list[str]]) -> list[str]:
    """Return the arrays of the ALU opcodes, indexed by ``alu_<name>``."""
    operands = [[tuple(word.split(":")) for word in row[4:]] for row in rows]
    types: list[object] = []
    sizes: list[object] = []
    for inputs in operands:
        padding = [0] * (MAX_INPUTS - len(inputs))
        types += [type_code(kind) for kind, _ in inputs] + padding
        sizes += [int(size) for _, size in inputs] + padding
    return [
        array("char *const", "alu_names", strings([row[0] for row in rows])),
        array("uint8_t", "alu_input_count", [len(inputs) for inputs in operands]),
        array("uint8_t", "alu_output_size", [int(row[1]) for row in rows]),
        array("uint16_t", "alu_output_type", [type_code(row[2]) for row in rows]),
        array("uint8_t", "alu_properties", [flags(row[3], bits(PROPERTIES)) for row in rows]),
        array("uint16_t", "alu_input_types_flat", types),
        array("uint8_t", "alu_input_sizes_flat", sizes),
        *alu_relations(rows),
    ]


def intrinsic_tables(rows: list[list[str]], index_names: list[str]) -> list[str]:
    """Return the arrays of the intrinsics, indexed by ``intrinsic_<name>``."""
    positions: list[object] = []
    for row in rows:
        own = [] if row[3] == "-" else row[3].split(",")
        positions += [own.index(name) if name in own else -1 for name in index_names]
    sources = [[] if row[2] == "-" else [int(word) for word in row[2].split(",")] for row in rows]
    flat: list[object] = []
    for counts in sources:
        flat += counts + [0] * (MAX_SOURCES - len(counts))
    return [
        array("char *const", "intrinsic_names", strings([row[0] for row in rows])),
        array("uint8_t", "intrinsic_has_result", [int(row[1] != "-") for row in rows]),
        array("uint8_t", "intrinsic_components", [0 if row[1] == "-" else int(row[1]) for row in rows]),
        array("uint8_t", "intrinsic_source_count", [len(counts) for counts in sources]),
        array("uint8_t", "intrinsic_source_sizes_flat", flat),
        array("uint8_t", "intrinsic_index_count", [0 if row[3] == "-" else row[3].count(",") + 1 for row in rows]),
        array("uint8_t", "intrinsic_flags", [flags(row[4], bits(FLAGS)) for row in rows]),
        array("int8_t", "intrinsic_index_position_flat", positions),
        array("char *const", "index_names", strings(index_names)),
    ]


def sections(path: Path) -> dict[str, list[list[str]]]:
    """Return the words of the lines under each ``[name]``."""
    found: dict[str, list[list[str]]] = {}
    for row in lines(path):
        if row[0].startswith("["):
            found[row[0].strip("[]")] = current = []
        else:
            current.append(row)
    return found


def texture_shape(word: str) -> int:
    """Return a number of components, or the code of what it depends on."""
    return TEXTURE_SHAPES[word] if word in TEXTURE_SHAPES else int(word)


def texture_tables(table: dict[str, list[list[str]]]) -> list[str]:
    """Return the arrays of texture instructions, indexed by ``tex_<name>``, ``tex_source_<name>`` and ``image_<dim>``."""
    names = [row[0] for row in table["sources"]]

    def mask(words: str) -> int:
        return 0 if words == "-" else sum(1 << names.index(word) for word in words.split(","))

    always, with_sampler = mask(",".join(TEXTURE_NAMES)), mask(",".join(SAMPLER_NAMES))
    bits = [flags(row[4], TEXTURE_FLAGS) for row in table["opcodes"]]
    optional = [mask(row[3]) | always | (with_sampler if bit & 1 else 0) for row, bit in zip(table["opcodes"], bits, strict=True)]
    return [
        array("char *const", "tex_names", strings([row[0] for row in table["opcodes"]])),
        array("uint8_t", "tex_result", [texture_shape(row[1]) for row in table["opcodes"]]),
        array("uint32_t", "tex_needed_sources", [mask(row[2]) for row in table["opcodes"]]),
        array("uint32_t", "tex_optional_sources", list(optional)),
        array("uint8_t", "tex_flags", list(bits)),
        array("char *const", "tex_source_names", strings(names)),
        array("uint8_t", "tex_source_shape", [texture_shape(row[1]) for row in table["sources"]]),
        array("char *const", "image_dim_names", strings([row[0] for row in table["dimensions"]])),
        array("uint8_t", "image_coordinates", [int(row[1]) for row in table["dimensions"]]),
        array("uint8_t", "image_sizes", [int(row[2]) for row in table["dimensions"]]),
        array("char *const", "image_type_names", strings([row[3] for row in table["dimensions"]])),
        array("uint8_t", "image_dim_flags", [flags(row[4], DIMENSION_FLAGS) for row in table["dimensions"]]),
    ]


def texture_declarations(table: dict[str, list[list[str]]]) -> list[str]:
    """Return what ``texture_tables`` defines, for Cython."""
    return [
        *(f"        tex_{row[0]}" for row in table["opcodes"]),
        *(f"        tex_source_{row[0]}" for row in table["sources"]),
        *(f"        tex_shape_{name}" for name in TEXTURE_SHAPES),
        "        tex_count",
        "        tex_source_count",
        "        image_dim_count",
        "    const char *const *tex_names",
        "    const uint8_t *tex_result             # components, or tex_shape_*",
        "    const uint32_t *tex_needed_sources    # bit per tex_source_*",
        "    const uint32_t *tex_optional_sources",
        "    const uint8_t *tex_flags              # 1 uses a sampler, 2 coord has no layer, 4 may compare with a reference",
        "    const char *const *tex_source_names",
        "    const uint8_t *tex_source_shape       # components, or tex_shape_*",
        "    const char *const *image_dim_names",
        "    const uint8_t *image_coordinates      # components of a coordinate, without a layer",
        "    const uint8_t *image_sizes",
        "    const char *const *image_type_names",
        "    const uint8_t *image_dim_flags        # 1 there are arrays, 2 can be compared with a reference, 4 several samples",
    ]


def texture_constants(table: dict[str, list[list[str]]]) -> list[str]:
    """Return the enumerations of texture instructions for C."""
    names = [[f"tex_{row[0]}" for row in table["opcodes"]], [f"tex_source_{row[0]}" for row in table["sources"]]]
    out = ["enum { " + ", ".join(f"{name} = {value}" for value, name in enumerate(group)) + " };" for group in names]
    out.append("enum { " + ", ".join(f"tex_shape_{name} = {value}" for name, value in TEXTURE_SHAPES.items()) + " };")
    counts = [len(table[section]) for section in ("opcodes", "sources", "dimensions")]
    return [*out, "enum {{ tex_count = {}, tex_source_count = {}, image_dim_count = {} }};".format(*counts)]


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    alu = lines(source / "pyaco/nir/data/alu.txt")
    intrinsics = lines(source / "pyaco/nir/data/intrinsics.txt")
    index_names = sorted({name for row in intrinsics if row[3] != "-" for name in row[3].split(",")})
    constants = [f"alu_{row[0]}" for row in alu], [f"intrinsic_{row[0]}" for row in intrinsics]
    indices = [f"index_{name}" for name in index_names]
    header = ["#pragma once", "#include <stdint.h>"]
    for names in (*constants, indices):
        header.append("enum { " + ", ".join(f"{name} = {value}" for value, name in enumerate(names)) + " };")
    header.append(f"enum {{ alu_count = {len(alu)}, intrinsic_count = {len(intrinsics)}, ")
    header.append(f"index_count = {len(index_names)}, alu_max_inputs = {MAX_INPUTS}, intrinsic_max_sources = {MAX_SOURCES} }};")
    for letters in (PROPERTIES, FLAGS):
        header.append("enum { " + ", ".join(f"{letters[letter]} = {bit}" for letter, bit in bits(letters).items()) + " };")
    texture = sections(source / "pyaco/nir/data/texture.txt")
    header += texture_constants(texture)
    header += alu_tables(alu) + intrinsic_tables(intrinsics, index_names) + texture_tables(texture)
    declarations = [
        "from libc.stdint cimport int8_t, uint8_t, uint16_t, uint32_t",
        "",
        'cdef extern from "nir_opcodes.h" nogil:',
        "    enum:",
        *(f"        {name}" for names in (*constants, indices) for name in names),
        "        alu_count",
        "        intrinsic_count",
        "        index_count",
        "        alu_max_inputs",
        "        intrinsic_max_sources",
        *(f"        {name}" for names in (PROPERTIES, FLAGS) for name in names.values()),
        "    const char *const *alu_names",
        "    const uint8_t *alu_input_count",
        "    const uint8_t *alu_output_size        # components, 0 per component",
        "    const uint16_t *alu_output_type       # base << 8 | bits; base 1 int 2 uint 3 float 4 bool",
        "    const uint8_t *alu_properties         # alu_property_*, bits",
        "    const uint16_t *alu_input_types_flat  # [opcode * alu_max_inputs + operand]",
        "    const uint8_t *alu_input_sizes_flat",
        "    const uint16_t *alu_one_bit           # the opcode with 1-bit booleans; itself where there is none",
        "    const uint16_t *alu_each              # of a reduction: the opcode for each component",
        "    const uint16_t *alu_join              # and the one that joins them; alu_mov where an opcode is no reduction",
        "    const char *const *intrinsic_names",
        "    const uint8_t *intrinsic_has_result",
        "    const uint8_t *intrinsic_components   # 0: variable",
        "    const uint8_t *intrinsic_source_count",
        "    const uint8_t *intrinsic_source_sizes_flat  # [intrinsic * intrinsic_max_sources + source]",
        "    const uint8_t *intrinsic_index_count",
        "    const uint8_t *intrinsic_flags        # intrinsic_flag_*, bits; divergent and uniform: always so",
        "    const int8_t *intrinsic_index_position_flat  # [intrinsic * index_count + index]: place, -1 none",
        "    const char *const *index_names",
        "    enum:",
        *texture_declarations(texture),
    ]
    return {"nir_opcodes.h": "\n".join(header) + "\n", "nir_opcodes.pxd": "\n".join(declarations) + "\n"}
