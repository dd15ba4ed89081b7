"""Opcode constants and instruction tables of the kernels, from ``pyaco/isa/data/opcodes_*.txt``.

``isa_opcodes``: ``op_<name>``. ``isa_tables``: the facts about each opcode. ``isa_decode_tables``: opcode by number,
for the decoder alone (it is large).
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pyaco.isa.table import Row


def load(path: Path) -> ModuleType:
    """Import a module of the package without the package, which is not built yet."""
    specification = importlib.util.spec_from_file_location(f"pyaco_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise RuntimeError(f"{path} is missing")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


# Register classes as in machine.pxd; a lane mask has no size of its own.
MASK_CLASS = 0xFF
MAX_DEFINITIONS = 2
MAX_OPERANDS = 6
FLAGS = {"input_modifiers": 1, "output_modifiers": 2, "atomic": 4, "encode_only": 8, "tied": 0x10, "literal": 0x20,
         "two_offsets": 0x40, "no_address": 0x80, "one_form": 0x100, "gfx906": 0x200, "opsel": 0x400,
         "matrix": 0x800, "neg0": 0x1000, "neg1": 0x2000, "neg2": 0x4000, "interpolation": 0x8000}  # fmt: skip
# Encodings the decoder looks numbers up in, and how many numbers their opcode fields can hold.
ENCODINGS = {
    "sop1": 256, "sop2": 128, "sopk": 32, "sopp": 128, "sopc": 128, "smem": 256, "vop1": 256, "vop2": 64, "vopc": 256,
    "vop3": 1024, "vop3p": 256, "vintrp": 4, "vinterp_inreg": 32, "ds": 256, "ldsdir": 4, "mubuf": 256, "mtbuf": 16,
    "mimg": 256, "exp": 1, "flat": 256, "global": 256, "scratch": 256, "vopd": 16, "vopd_y": 32, "vopd3": 64, "vopd3_y": 64,
}  # fmt: skip


def register_class(token: str) -> int:
    """The register class a signature token stands for."""
    if token == "mask":
        return MASK_CLASS
    if token == "v2b":
        return 0x62
    if token in ("imm", "lit"):
        return 1
    size = int(token[1:])
    # machine.pxd keeps the size in five bits: 32 dwords (block loads) wrap to 0
    return size if token[0] == "s" else 0x20 | (size & 0x1F)


def constant_bits(row: Row) -> int:
    """Bits of the value that an inline constant operand stands for (the widest source)."""
    if row.format == "vop3p":
        packed = row.name.startswith("v_pk_") or "16" in row.name.rsplit("_", 1)[-1]
        return 16 if packed and "mix" not in row.name else 32
    sizes = [token for token in row.operands if token not in ("mask", "scc", "vcc", "exec", "m0", "imm")]
    if row.format.startswith("vop") and sizes and all(size == "v2b" for size in sizes):
        return 16
    if re.search(r"_f16$", row.name) and row.format.startswith("sop"):
        return 16
    return 64 if any(size in ("s2", "v2") for size in sizes) else 32


def array(kind: str, name: str, values: Iterable[object], per_line: int = 24) -> list[str]:
    """A C array of numbers."""
    words = [str(value) for value in values]
    lines = [f"static const {kind} {name}[{len(words)}] = {{"]
    for start in range(0, len(words), per_line):
        lines.append("  " + ",".join(words[start : start + per_line]) + ",")
    return [*lines, "};"]


def opcode_files(rows: Sequence[Row]) -> dict[str, str]:
    """The constants."""
    header = ["#pragma once", "enum {"]
    header += [f"  op_{row.name} = {number}," for number, row in enumerate(rows)]
    header += [f"  op_count = {len(rows)},", "  op_invalid = 0xffff", "};"]
    declarations = ['cdef extern from "isa_opcodes.h" nogil:', "    enum:"]
    declarations += [f"        op_{row.name}" for row in rows] + ["        op_count", "        op_invalid"]
    return {"isa_opcodes.h": "\n".join(header) + "\n", "isa_opcodes.pxd": "\n".join(declarations) + "\n"}


def explicit(tokens: Iterable[str], implicit: Sequence[str]) -> list[str]:
    """Tokens that the encoding holds."""
    return [token for token in tokens if token not in implicit and token != "imm"]


def implicit_bits(tokens: Iterable[str], implicit: Sequence[str]) -> int:
    """Bit set of the implicit registers among `tokens`."""
    return sum(1 << implicit.index(token) for token in set(tokens) if token in implicit)


def instruction_flags(module: ModuleType, row: Row) -> int:
    """Bit set of the flags that are not about images alone (an image atomic is an atomic too)."""
    return sum(FLAGS[flag] for flag in row.flags if flag in FLAGS or flag not in (*module.IMAGE_FLAGS, *module.DUAL_FLAGS))


def variant_bits(text: str) -> int:
    """Modifiers of a form as ``opcodes_variants.txt`` writes them: n, a, s and h three bits each (s and h share them), o four, c, m; bit 15:
    the form exists."""
    places = {"n": 0, "a": 3, "o": 6, "s": 10, "h": 10, "c": 13, "m": 14}
    bits, place = 0x8000, 0
    for letter in text:
        if letter.isdigit():
            bits |= 1 << place + int(letter)
        else:
            place = places[letter]
            bits |= 1 << place if letter in "cm" else 0
    return bits


def variant_tables(module: ModuleType, rows: Sequence[Row]) -> list[str]:
    """Forms and modifiers by pattern and generation, and the pattern of each opcode."""
    patterns: list[tuple[int, ...]] = []
    numbers = []
    for row in rows:
        cells = (row.variants_of(generation).get(form) for generation in module.GENERATIONS for form in module.VARIANT_FORMS)
        pattern = tuple(0 if cell is None else variant_bits(cell) for cell in cells)
        if pattern not in patterns:
            patterns.append(pattern)
        numbers.append(patterns.index(pattern))
    header = array("uint8_t", "opcode_variant_pattern", numbers)
    return header + array("uint16_t", "variant_patterns", (value for pattern in patterns for value in pattern), len(module.VARIANT_FORMS) * 4)


def hazard_tables(module: ModuleType, hazards: Iterable[Mapping[str, Collection[str]]]) -> list[str]:
    """Hazards by pattern and generation, and the pattern of each opcode."""
    cells = [tuple(flag_bits(module.HAZARDS, classes.get(generation, ())) for generation in module.GENERATIONS) for classes in hazards]
    patterns = list(dict.fromkeys(cells))
    header = array("uint8_t", "opcode_hazard_pattern", (patterns.index(cell) for cell in cells))
    return header + array("uint32_t", "hazard_patterns", (value for pattern in patterns for value in pattern), len(module.GENERATIONS))


def flag_bits(names: Iterable[str], flags: Collection[str]) -> int:
    """Bit set of `flags` among `names`."""
    return sum(1 << position for position, name in enumerate(names) if name in flags)


def table_files(
    module: ModuleType, rows: Sequence[Row], hazards: Iterable[Mapping[str, Collection[str]]], formats: dict[str, int]
) -> dict[str, str]:
    """Facts by opcode."""
    generations = module.GENERATIONS
    kinds = module.chip_kinds(rows)
    latencies = sorted({row.latency for row in rows})
    header = ["#pragma once", "#include <stdint.h>", '#include "isa_opcodes.h"', "enum {"]
    header += [f"  latency_{name} = {number}," for number, name in enumerate(latencies)]
    header += [f"  opcode_flag_{name} = {bit}," for name, bit in FLAGS.items()]
    header += [f"  implicit_{name} = {1 << number}," for number, name in enumerate(module.IMPLICIT)]
    header += [f"  variant_count = {len(module.VARIANT_FORMS)},"]
    header += [f"  image_flag_{name} = {1 << number}," for number, name in enumerate(module.IMAGE_FLAGS)]
    header += [f"  hazard_{name} = {1 << number}," for number, name in enumerate(module.HAZARDS)]
    header += [f"  opcode_mask_class = {MASK_CLASS}, opcode_max_operands = {MAX_OPERANDS},"]
    header += [f"  opcode_max_definitions = {MAX_DEFINITIONS}, generation_count = {len(generations)}", "};"]
    header += array("uint16_t", "opcode_format", (formats[row.format] for row in rows))
    header += array("uint8_t", "opcode_latency", (latencies.index(row.latency) for row in rows))
    header += array("uint16_t", "opcode_flags", (instruction_flags(module, row) for row in rows))
    header += array("uint16_t", "opcode_image", (flag_bits(module.IMAGE_FLAGS, row.flags) for row in rows))
    header += array("uint8_t", "opcode_chips", (sum(row.on_chip(*kind) << bit for bit, kind in enumerate(kinds)) for row in rows))
    header += array("uint8_t", "opcode_constant_bits", (constant_bits(row) for row in rows))
    header += variant_tables(module, rows)
    header += hazard_tables(module, hazards)
    header += [f"enum {{ variant_{form} = {number} }};" for number, form in enumerate(module.VARIANT_FORMS)]
    for what in ("definition", "operand"):
        limit = MAX_DEFINITIONS if what == "definition" else MAX_OPERANDS
        tokens = [explicit(getattr(row, what + "s"), module.IMPLICIT) for row in rows]
        classes = [[register_class(token) for token in line] + [0] * (limit - len(line)) for line in tokens]
        header += array("uint8_t", f"opcode_{what}_count", (len(line) for line in tokens))
        header += array("uint8_t", f"opcode_{what}_classes", (value for line in classes for value in line), limit * 12)
        bits = (implicit_bits(getattr(row, what + "s"), module.IMPLICIT) for row in rows)
        header += array("uint8_t", f"opcode_implicit_{what}s", bits)
    for generation in generations:
        numbers = (row.numbers.get(generation, -1) for row in rows)
        header += array("int16_t", f"opcode_number_{generation.replace('.', '_')}", numbers)
    header += array("int8_t", "opcode_number_y", (row.second_half for row in rows))
    header += array("int8_t", "opcode_number_wide", (row.wide_number for row in rows))
    second = [
        (number, generations.index(generation), formats[form], value)
        for number, row in enumerate(rows)
        for generation, (form, value) in row.second.items()
    ]
    header += array("int16_t", "opcode_second", (value for line in second for value in line), 4)
    header += array("uint8_t", "opcode_has_second", (int(bool(row.second)) for row in rows))
    header += ["static const char *const opcode_name[] = {"] + [f'  "{row.name}",' for row in rows] + ["};"]
    columns = (f"opcode_number_{generation.replace('.', '_')}" for generation in generations)
    header += array("int16_t *const", "opcode_numbers", columns, 4)
    levels = {level: number for number, level in enumerate(module.LEVELS.values())}
    header += array("uint8_t", "generation_of_level", (levels.get(level, len(generations) - 1) for level in range(max(levels) + 1)))
    header += HEADER_FUNCTIONS.splitlines()
    names = [f"latency_{name}" for name in latencies] + [f"opcode_flag_{name}" for name in FLAGS]
    names += [f"implicit_{name}" for name in module.IMPLICIT] + [f"image_flag_{name}" for name in module.IMAGE_FLAGS]
    names += [f"hazard_{name}" for name in module.HAZARDS] + [f"variant_{form}" for form in module.VARIANT_FORMS]
    names += ["opcode_mask_class", "opcode_max_operands", "opcode_max_definitions", "generation_count"]
    declarations = ["from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t", ""]
    declarations += ['cdef extern from "isa_tables.h" nogil:', "    enum:"] + [f"        {name}" for name in names]
    declarations += ["    " + line for line in DECLARATIONS.splitlines()]
    return {"isa_tables.h": "\n".join(header) + "\n", "isa_tables.pxd": "\n".join(declarations) + "\n"}


DECLARATIONS = """\
# by opcode
const uint16_t opcode_format[]            # native format, format_* of machine.pxd
const uint8_t opcode_latency[]            # latency_*: class of the latency model
const uint16_t opcode_flags[]             # opcode_flag_*
const uint16_t opcode_image[]             # image_flag_*: what an image opcode does and which addresses it takes
const uint8_t opcode_chips[]              # bit set of the kinds of chips that have it (pyaco.isa.table.chip_kinds)
const uint8_t opcode_constant_bits[]      # width of the value an inline constant stands for
const uint8_t opcode_definition_count[]   # those the encoding holds; implicit scc, vcc, exec, m0 follow as a bit set
const uint8_t opcode_operand_count[]
const uint8_t opcode_definition_classes[] # [opcode * opcode_max_definitions + i]; opcode_mask_class: a lane mask
const uint8_t opcode_operand_classes[]    # [opcode * opcode_max_operands + i]
const uint8_t opcode_implicit_definitions[]
const uint8_t opcode_implicit_operands[]
const int8_t opcode_number_y[]            # as the second half of VOPD, -1 none
const int8_t opcode_number_wide[]         # in VOPD3, -1 none
const char *const opcode_name[]
# What assemblers take of a form (variant_*) of a vector opcode: 0 where it does not exist, else bit 15 and the modifiers: neg bits 0-2, abs 3-5,
# op_sel 6-9, sext or op_sel_hi 10-12, clamp 13, omod 14
uint32_t isa_variant(uint32_t gfx_level, uint32_t opcode, uint32_t form)
# Hazards that the opcode starts or meets on a gfx_level: a bit set of hazard_* (pyaco.isa.table.HAZARDS)
uint32_t isa_hazards(uint32_t gfx_level, uint32_t opcode)
# Row of a gfx_level (gfx* of machine.pxd) in the opcode numbers.
uint32_t isa_generation(uint32_t gfx_level)
# Opcode number, -1 when the generation lacks the opcode; the native format's number, or that of the format the
# instruction has where a generation offers both.
int32_t isa_opcode_number(uint32_t gfx_level, uint32_t opcode, uint32_t format)
bint can_use_input_modifiers(uint32_t opcode)
bint can_use_output_modifiers(uint32_t opcode)
bint is_atomic(uint32_t opcode)
"""

HEADER_FUNCTIONS = """\
static inline uint32_t isa_generation(uint32_t gfx_level) {
  return gfx_level < sizeof(generation_of_level) ? generation_of_level[gfx_level] : generation_count - 1;
}
static inline int32_t isa_opcode_number(uint32_t gfx_level, uint32_t opcode, uint32_t format) {
  uint32_t generation = isa_generation(gfx_level);
  if (opcode_has_second[opcode] && format & ~opcode_format[opcode] & 0x500)
    for (unsigned i = 0; i < sizeof(opcode_second) / sizeof(opcode_second[0]); i += 4)
      if (opcode_second[i] == (int16_t)opcode && opcode_second[i + 1] == (int16_t)generation &&
          (opcode_second[i + 2] & format))
        return opcode_second[i + 3];
  return opcode_numbers[generation][opcode];
}
static inline uint32_t isa_variant(uint32_t gfx_level, uint32_t opcode, uint32_t form) {
  return variant_patterns[(opcode_variant_pattern[opcode] * generation_count + isa_generation(gfx_level)) * variant_count + form];
}
static inline uint32_t isa_hazards(uint32_t gfx_level, uint32_t opcode) {
  return hazard_patterns[opcode_hazard_pattern[opcode] * generation_count + isa_generation(gfx_level)];
}
static inline int can_use_input_modifiers(uint32_t opcode) { return opcode_flags[opcode] & 1; }
static inline int can_use_output_modifiers(uint32_t opcode) { return (opcode_flags[opcode] >> 1) & 1; }
static inline int is_atomic(uint32_t opcode) { return (opcode_flags[opcode] >> 2) & 1; }
"""


def decode_files(module: ModuleType, rows: Sequence[Row]) -> dict[str, str]:
    """Opcode by generation, encoding and number."""
    spaces: dict[str, dict[tuple[int, int], int]] = {encoding: {} for encoding in ENCODINGS}
    shared: dict[str, set[tuple[int, int]]] = {encoding: set() for encoding in ENCODINGS}
    for row in rows:
        if not row.name.startswith("p_") and "encode_only" not in row.flags:
            shared[row.format] |= {(position, row.numbers[name]) for position, name in enumerate(module.GENERATIONS) if name in row.numbers}
    for number, row in enumerate(rows):
        if row.name.startswith("p_"):
            continue
        for position, generation in enumerate(module.GENERATIONS):
            places = [(row.format, row.numbers[generation])] if generation in row.numbers else []
            if generation in row.second:
                # the VOP3 form of a VOP2 opcode is found through the VOP2 number
                places = [*(places if row.format == "vintrp" else []), row.second[generation]]
            for form, value in places:
                if "encode_only" in row.flags and (position, value) in shared[form]:
                    continue
                if spaces[form].setdefault((position, value), number) != number:
                    other = rows[spaces[form][position, value]].name
                    raise ValueError(f"{row.name} and {other} share {form} {value:#x}")
            if row.is_second_half(generation):
                spaces["vopd_y"][position, row.second_half] = number
            if row.wide_number >= 0 and row.is_dual_half(generation):
                for half, other in (("vopd3", "wide_second"), ("vopd3_y", "wide_first")):
                    spaces[half] |= {} if other in row.flags else {(position, row.wide_number): number}
    header = ["#pragma once", "#include <stdint.h>"]
    declarations = ["from libc.stdint cimport uint16_t", "", 'cdef extern from "isa_decode_tables.h" nogil:']
    for encoding, space in spaces.items():
        width = ENCODINGS[encoding]
        numbers = ((position, value) for position in range(len(module.GENERATIONS)) for value in range(width))
        values = [space.get(number, 0xFFFF) for number in numbers]
        header.append(f"enum {{ decode_{encoding}_width = {width} }};")
        header += array("uint16_t", f"decode_{encoding}", values)
        declarations.append(f"    enum: decode_{encoding}_width")
        declarations.append(f"    const uint16_t decode_{encoding}[]  # [generation * width + number]")
    return {"isa_decode_tables.h": "\n".join(header) + "\n", "isa_decode_tables.pxd": "\n".join(declarations) + "\n"}


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    module = load(source / "pyaco/isa/table.py")
    formats = load(source / "pyaco/_core/common/vocabulary.py").Format.numbers()
    folder = source / "pyaco/isa/data"
    rows = module.read_table(folder)
    return {**opcode_files(rows), **table_files(module, rows, module.read_hazards(folder, rows), formats), **decode_files(module, rows)}
