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
    "f16": ("double", "half_to_double({})", "narrow", "double_to_half({}, rounding)"),
    "r16": ("uint32_t", "{}", "narrow", "{}"),
    "b16": ("uint32_t", "{}", "narrow", "{}"),
    "u32": ("uint32_t", "{}", "narrow", "{}"),
    "i32": ("int32_t", "<int32_t>{}", "narrow", "<uint32_t>{}"),
    "f32": ("float", "bits_float({})", "narrow", "float_bits({})"),
    "r32": ("uint32_t", "{}", "narrow", "{}"),
    "b32": ("uint32_t", "{}", "narrow", "{}"),
    "n16": ("uint32_t", "", "narrow", "{} & 0xffff"),
    "n32": ("uint32_t", "", "narrow", "{}"),
    "n64": ("uint64_t", "", "wide", "{}"),
    "f16x2": ("uint32_t", "", "narrow", "{}"),
    "bf16x2": ("uint32_t", "", "narrow", "{}"),
    "f32x2": ("uint64_t", "", "wide", "{}"),
    "mix": ("float", "bits_float({})", "narrow", ""),
    "mix_bf": ("float", "bits_float({})", "narrow", ""),
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
    packed: int = 0                   # 1: halves of a register, 2: registers of a pair, 3: pairs of four
    scalar: bool = False
    until: int = 0                    # the last gfx level that computes so, 0 where all do that have no line of their own

    @property
    def function(self) -> str:
        """What its loop is called."""
        return f"_lanes_{self.names[0]}{f'_until_{self.until}' if self.until else ''}"

    @property
    def prefers_number_over_nan(self) -> bool:
        """Whether it gives one of its float sources, a number rather than a NaN."""
        return any(re.search(r"\b(min|max|median)_number\b", statement) for statement in self.statements)

    @property
    def final_bits(self) -> bool:
        """Whether its float results are neither flushed nor made canonical NaNs."""
        return any(re.fullmatch(r"n\d\d", kind) for kind in self.results)

    @property
    def rounds_single(self) -> bool:
        """Whether it rounds a double to its single result, rather than the host as it computes."""
        return any("double_to_single(" in statement for statement in self.statements)

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
    """Return what each opcode computes, comparisons included; of those that earlier generations compute otherwise, what later ones do."""
    return [operation for operation in read_lines(source) if not operation.until] + comparisons()


def read_lines(source: Path) -> list[Semantics]:
    """Return every line of the table."""
    operations = []
    scalar, until = False, 0
    for line in (source / "pyaco/emu/data/semantics.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            section = re.fullmatch(r"\[(scalar|vector)(?: until (\d+))?\]", line.strip())
            if section is None:
                raise ValueError(f"semantics.txt: no such section: {line}")
            scalar, until = section[1] == "scalar", int(section[2] or 0)
            continue
        head, _, body = line.partition("|")
        left, _, right = head.partition("=")
        words = left.split()
        packed = {"pk": 1, "pk32": 2, "pk64": 3}.get(words[1], 0)
        operations.append(
            Semantics(
                words[0].split(","),
                words[2 if packed else 1 :],
                right.split(),
                [statement.strip() for statement in body.split(";")],
                packed,
                scalar,
                until,
            )
        )
    return operations


def comparisons() -> list[Semantics]:
    """Return the comparisons of every type; those of GFX6 and GFX7 that signal NaNs give the same results."""
    operations = []
    for kind in ("f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"):
        relations = FLOAT_RELATIONS if kind.startswith("f") else INTEGER_RELATIONS
        for relation, expression in relations.items():
            names = [f"v_{name}_{relation}_{kind}" for name in ("cmp", "cmpx", "cmps", "cmpsx")]
            operations.append(Semantics(names, ["mask"], [kind, kind], [f"d = {expression}"]))
            if kind in ("f16", "f32"):
                names = [f"s_cmp_{relation}_{kind}"]
                operations.append(Semantics(names, ["scc"], [kind, kind], [f"d = {expression}"], scalar=True))
    return operations


def opcode_names(source: Path) -> set[str]:
    """Return every opcode name of the ISA tables."""
    names = set()
    for path in sorted((source / "pyaco/isa/data").glob("opcodes_*.txt")):
        if path.stem == "opcodes_variants" or path.stem.endswith("_changes"):
            # these name opcodes of all generations, but have no rows
            continue
        for line in path.read_text().splitlines():
            words = line.split("#")[0].split()
            if words:
                names.add(words[0])
    return names


def lane_function(operation: Semantics) -> list[str]:
    """Return the lines of the loop of one operation."""
    body = "; ".join(operation.statements)
    declarations: dict[str, list[str]] = {}
    loads, stores, pointers = [], [], ["cdef uint32_t count = lanes.count"]
    for index, kind in enumerate(operation.sources):
        ctype, load, array, _ = TYPES[kind.removeprefix("old_")]
        declarations.setdefault(ctype, []).append(SOURCE_NAMES[index])
        words = "uint64_t" if array == "wide" else "uint32_t"
        pointers.append(f"cdef const {words} *source{index} = lanes.{array}[{index}]")
        loads.append(f"{SOURCE_NAMES[index]} = {load.format(f'source{index}[lane]')}")
    for index, kind in enumerate(operation.results):
        ctype, _, array, store = TYPES[kind]
        declarations.setdefault(ctype, []).append(RESULT_NAMES[index])
        target, words = ("wide_result", "uint64_t") if array == "wide" else ("result", "uint32_t")
        pointers.append(f"cdef {words} *result{index} = lanes.{target}[{index}]")
        stores.append(f"result{index}[lane] = {store.format(RESULT_NAMES[index])}")
    for variable, ctype in (("w", "uint64_t"), ("s", "int64_t"), ("x", "double"), ("y", "double"), ("i", "uint32_t")):
        if re.search(rf"\b{variable}\b", body):
            declarations.setdefault(ctype, []).append(variable)
    lines = [f"cdef void {operation.function}(Lanes *lanes) noexcept nogil:", "    cdef uint32_t lane"]
    lines += [f"    cdef {ctype} {', '.join(names)}" for ctype, names in declarations.items()]
    lines += [f"    {pointer}" for pointer in pointers]
    if "f16" in operation.results or re.search(r"\brounding\b", body):
        lines.append("    cdef uint32_t rounding = lanes.rounding")
    for variable in ("clamp", "neg", "opsel", "small"):
        if re.search(rf"\b{variable}\b", body):
            lines.append(f"    cdef uint32_t {variable} = lanes.{variable}")
    lines.append("    for lane in range(count):")
    lines += [f"        {line}" for line in (*loads, *operation.statements, *stores)]
    return [*lines, ""]


def type_code(kind: str) -> str:
    """Return the expression of the ``type_*`` constant of a type of the table."""
    old = kind.startswith("old_")
    kind = re.sub(r"^b(\d\d)$", r"r\1", kind.removeprefix("old_"))
    kind = re.sub(r"^n(\d\d)$", r"f\1", kind)
    return f"type_{kind} + type_old" if old else f"type_{kind}"


ATOMICS = {
    "add": "add", "sub": "sub", "rsub": "rsub", "inc": "inc", "dec": "dec", "smin": "smin", "umin": "umin",
    "smax": "smax", "umax": "umax", "and": "and", "or": "or", "xor": "xor", "swap": "swap", "cmpswap": "cmpswap",
    "fcmpswap": "fcmpswap", "fmin": "fmin", "fmax": "fmax", "csub": "csub", "add_f32": "fadd", "pk_add_f16": "pk_add_f16",
    "pk_add_bf16": "pk_add_bf16", "cond_sub_u32": "cond_sub", "add_f64": "fadd", "min_f64": "fmin", "max_f64": "fmax",
    "ordered_add_b64": "ordered_add",
}  # fmt: skip
LDS_ATOMICS = {
    "mskor": "mskor", "wrxchg": "swap", "wrxchg2": "swap", "wrxchg2st64": "swap", "cmpst": "cmpswap", "wrap": "wrap",
    "sub_clamp": "csub", "cond_sub": "cond_sub", "pk_add": "pk_add",
}  # fmt: skip
CACHE_CONTROL = {
    "s_gl1_inv", "s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol", "s_dcache_discard", "s_dcache_discard_x2",
    "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data", "s_prefetch_data_pc_rel", "s_buffer_prefetch_data",
    "s_atc_probe", "s_atc_probe_buffer",
    "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol",
    "buffer_wbl2", "buffer_invl2", "buffer_inv", "global_inv", "global_wb", "global_wbinv", "flat_prefetch_b8", "global_prefetch_b8",
}  # fmt: skip
SIZES = {"ubyte": (1, 0), "sbyte": (1, 1), "ushort": (2, 0), "sshort": (2, 1), "short": (2, 0), "byte": (1, 0),
         "u8": (1, 0), "i8": (1, 1), "u16": (2, 0), "i16": (2, 1), "b8": (1, 0), "b16": (2, 0)}  # fmt: skip


def shape(access: str, size: int = 4, dwords: int = 1, **more: object) -> dict[str, object]:
    """Return one row of the table of memory operations."""
    return {"access": f"access_{access}", "bytes": size, "dwords": dwords, **more}


def data_shape(access: str, what: str) -> dict[str, object] | None:
    """Return the row of a load or store by the part of its name that says what moves."""
    half = "half_high" if what.endswith("_d16_hi") else "half_low" if what.endswith("_d16") else "half_none"
    stem = re.sub(r"_d16(_hi)?$", "", what)
    if match := re.fullmatch(r"dword(?:x(\d+))?", stem):
        return shape(access, 4, int(match[1] or 1))
    if match := re.fullmatch(r"b(32|64|96|128)", stem):
        return shape(access, 4, int(match[1]) // 32)
    if stem in SIZES:
        size, is_signed = SIZES[stem]
        return shape(access, size, 1, is_signed=is_signed, half=half)
    return None


def memory_shape(name: str) -> dict[str, object] | None:
    """Return what a memory instruction does, from its name; None where it does not follow the rules."""
    if name in CACHE_CONTROL:
        return shape("nothing")
    if match := re.fullmatch(r"s_(buffer_)?atomic_(\w+?)(_x2)?", name):
        return shape("atomic", 8 if match[3] else 4, atomic=f"atomic_{ATOMICS[match[2]]}", buffered=int(bool(match[1])))
    if match := re.fullmatch(r"s_scratch_(load|store)_(\w+)", name):
        row = data_shape(match[1], match[2])
        return None if row is None else row | {"scaled": 1}
    if match := re.fullmatch(r"s_(buffer_)?(load|store)_(\w+)", name):
        row = data_shape(match[2], match[3])
        return None if row is None else row | {"buffered": int(bool(match[1]))}
    if match := re.fullmatch(r"t?buffer_(load|store)_format_(d16_)?(hi_)?(x|xy|xyz|xyzw)", name):
        half = "half_none" if not match[2] else "half_high" if match[3] else "half_low"
        return shape(f"format_{match[1]}", 4, len(match[4]), half=half)
    if match := re.fullmatch(r"(buffer|flat|global|scratch)_atomic_(\w+?)(_x2)?", name):
        wide = 8 if match[3] or match[2].endswith("64") else 4
        return shape("atomic", wide, 1, atomic=f"atomic_{ATOMICS[match[2]]}") if match[2] in ATOMICS else None
    if name.startswith("image_"):
        return image_shape(name)
    if match := re.fullmatch(r"global_(load|store)_dword_addtid", name):
        return shape(match[1], 4, 1, add_lane=1)
    if match := re.fullmatch(r"(global|scratch)_(load|store)_block", name):
        return shape(match[2], 4, 32, masked=1)
    if match := re.fullmatch(r"(?:global|cluster)_(load|store)_async_(?:to|from)_lds_(\w+)", name):
        return data_shape("async_to_lds" if match[1] == "load" else "async_from_lds", match[2])
    if match := re.fullmatch(r"(?:flat|global|cluster)_load_(?:monitor_)?(b(?:32|64|128))", name):
        return data_shape("load", match[1])
    if match := re.fullmatch(r"global_load_tr_b(64|128)", name):
        return shape("transpose", int(match[1]) // 64, int(match[1]) // 32)
    if match := re.fullmatch(r"global_load_tr[46]_b(64|96)", name):
        return shape("transpose", 1, int(match[1]) // 32)
    if name == "buffer_load_lds_format_x":
        return shape("to_lds", 4, 1)
    if match := re.fullmatch(r"(buffer|global|scratch)_load_lds_(\w+)", name):
        return data_shape("to_lds", match[2])
    if name == "buffer_store_lds_dword":
        return shape("from_lds", 4, 1)
    if match := re.fullmatch(r"(buffer|flat|global|scratch)_(load|store)_(\w+)", name):
        return data_shape(match[2], match[3])
    return lds_shape(name)


def image_shape(name: str) -> dict[str, object] | None:
    """Return what an image instruction does, from its name; None for rays, and for elements that are not converted."""
    if match := re.fullmatch(r"image_atomic_(\w+)", name):
        return shape("atomic", 4, 1, atomic=f"atomic_{ATOMICS[match[1]]}") if match[1] in ATOMICS else None
    if "bvh" in name or "_pck" in name:
        return None
    words = name.split("_")
    level = "zero" if "lz" in words else "clamped" if "cl" in words else "given" if "l" in words else "implicit"
    return shape("format_store" if name.startswith("image_store") else "format_load", level=f"level_{level}")


def lds_shape(name: str) -> dict[str, object] | None:
    """Return what an LDS instruction does, from its name."""
    if match := re.fullmatch(r"ds_(read|write)_addtid_b32", name):
        return shape("load" if match[1] == "read" else "store", 4, 1, add_lane=1)
    if match := re.fullmatch(r"ds_(\w+)_src2_([biuf](?:32|64))", name):
        row = lds_shape(f"ds_{match[1].replace('write', 'wrxchg')}_{match[2]}")
        return None if row is None else row | {"second": 1}
    if match := re.fullmatch(r"ds_(read|write)2(st64)?_b(32|64)", name):
        access = "load" if match[1] == "read" else "store"
        return shape(access, 4, int(match[3]) // 32, pair=2 if match[2] else 1)
    if match := re.fullmatch(r"ds_(read|write)_(\w+)", name):
        return data_shape("load" if match[1] == "read" else "store", match[2])
    if match := re.fullmatch(r"ds_(\w+?)(_rtn)?_([biuf])(f16|16|32|64)", name):
        stem, kind, bits = match[1], match[3], match[4]
        wide = 8 if bits == "64" else 4
        more = {"returns": int(bool(match[2])), "pair": {"wrxchg2": 1, "wrxchg2st64": 2}.get(stem, 0)}
        if stem == "pk_add" and kind in "fb":
            return shape("atomic", 4, 1, atomic=f"atomic_pk_add_{kind}{bits}", **more)
        if stem in ("min", "max") and kind in "iuf":
            operation = {"i": "s", "u": "u", "f": "f"}[kind] + stem
        elif stem == "add" and kind == "f":
            operation = "fadd"
        elif stem == "cmpst" and kind == "f":
            operation = "fcmpswap"
        else:
            operation = LDS_ATOMICS.get(stem, stem if stem in ATOMICS else "")
        return shape("atomic", wide, 1, atomic=f"atomic_{operation}", **more) if operation else None
    return None


def matrix_table(source: Path) -> str:
    """Return the text of ``emulator_matrix.pxi``: CDNA's matrix operations by opcode."""
    names, lines = [], []
    for line in (source / "pyaco/isa/data/opcodes_matrix.txt").read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        rows, columns, depth = words[7].split("x")
        assert rows == columns
        kinds = ", ".join(f"kind_{kind}" for kind in words[9:12])
        names.append(words[0])
        lines.append(f"    enter(table, op_{words[0]}, {rows}, {depth}, {words[8]}, {kinds}, {'tied' in words[16]})")
    head = ["from isa_opcodes cimport (", *(f"    op_{name}," for name in names), ")", ""]
    return "\n".join([*head, "cdef void fill_shapes(Handler *table) noexcept nogil:", *lines]) + "\n"


def scaled_table(known: set[str]) -> str:
    """Return the text of ``emulator_scaled.pxi``: scaled conversions of CDNA 4 and GFX12.5 and CDNA 4's stochastic ones, from their names."""
    names, lines = [], []
    for name in sorted(known):
        match = re.fullmatch(r"v_cvt_(scalef32_|scale_)?(sr_)?(pk_|pk8_|pk16_|pk32_|2xpk16_)?(\w+)_(f32|f16|bf16|fp8|bf8|fp6|bf6|fp4)", name)
        if not match or not (match[1] or match[2]) or (not match[1] and match[4] not in ("f16", "bf16")):
            continue
        if match[2] and match[3] and not match[1]:
            continue
        count = {None: 1, "pk_": 2, "pk8_": 8, "pk16_": 16}.get(match[3], 32)
        names.append(name)
        lines.append(f"    enter(table, op_{name}, number_{match[5]}, number_{match[4]}, {count}, {bool(match[1])}, {bool(match[2])}, "
                     f"{match[3] == '2xpk16_'}, {match[1] == 'scale_'})")
    head = ["from isa_opcodes cimport (", *(f"    op_{name}," for name in names), ")", ""]
    return "\n".join([*head, "cdef void fill_conversions(Handler *table) noexcept nogil:", *lines]) + "\n"


def memory_table(known: set[str]) -> str:
    """Return the text of ``emulator_memory.pxi``."""
    imports, lines = [], []
    for name in sorted(known):
        row = memory_shape(name)
        if row is None:
            continue
        imports.append(f"    op_{name},")
        lines.append(f"    row = &table[<int>op_{name}]")
        lines += [f"    row.{field} = {value}" for field, value in row.items() if value]
    head = ["from isa_opcodes cimport (", *imports, ")", ""]
    fill = ["cdef void fill_memory(MemoryOperation *table) noexcept nogil:", "    cdef MemoryOperation *row", *lines]
    return "\n".join(head + fill) + "\n"


def entry_of(operation: Semantics, name: str) -> list[str]:
    """Return the lines that fill the record ``entry`` of an opcode."""
    lines = [f"    entry.function = {operation.function}"]
    if operation.packed:
        lines.append(f"    entry.packed = {operation.packed}")
    if name.startswith(("v_cmpx_", "v_cmpsx_")):
        lines.append("    entry.writes_exec = 1")
    if operation.prefers_number_over_nan:
        lines.append("    entry.prefers_number_over_nan = 1")
    if operation.final_bits:
        lines.append("    entry.final_bits = 1")
    if operation.rounds_single:
        lines.append("    entry.rounds_single = 1")
    lines.append(f"    entry.source_count = {len(operation.sources)}")
    lines.append(f"    entry.result_count = {len(operation.results)}")
    lines += [f"    entry.source_type[{index}] = {type_code(kind)}" for index, kind in enumerate(operation.sources)]
    return lines + [f"    entry.result_type[{index}] = {type_code(kind)}" for index, kind in enumerate(operation.results)]


def earlier_table(source: Path) -> str:
    """Return the text of ``emulator_earlier.pxi``: operations that earlier generations compute otherwise."""
    operations = sorted((line for line in read_lines(source) if line.until), key=lambda line: line.until)
    names = sorted({name for operation in operations for name in operation.names})
    lines = ["from isa_opcodes cimport (", *(f"    op_{name}," for name in names), ")", ""]
    for operation in operations:
        lines += lane_function(operation)
    lines += ["cdef uint32_t fill_earlier(EarlierOperation *table) noexcept nogil:", "    cdef LaneOperation *entry"]
    count = 0
    for operation in operations:
        for name in operation.names:
            lines += [f"    table[{count}].opcode = op_{name}", f"    table[{count}].until = {operation.until}",
                      f"    entry = &table[{count}].operation", *entry_of(operation, name)]
            count += 1
    return "\n".join([*lines, f"    return {count}"]) + "\n"


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
                entries += [f"    entry = &table[<int>op_{name}]", *entry_of(operation, name)]
        head = ["from isa_opcodes cimport (", *(f"    {name}," for name in imports), ")", ""]
        fill = [f"cdef void fill_{group}(LaneOperation *table) noexcept nogil:", "    cdef LaneOperation *entry", *entries]
        files[f"emulator_{group}.pxi"] = "\n".join(head + lines + fill) + "\n"
    files["emulator_earlier.pxi"] = earlier_table(source)
    files["emulator_memory.pxi"] = memory_table(known)
    files["emulator_matrix.pxi"] = matrix_table(source)
    files["emulator_scaled.pxi"] = scaled_table(known)
    return files
