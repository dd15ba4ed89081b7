"""Steps of the emulator's fast engine, from ``pyaco/emu/data/semantics.txt``.

``emulator_vector_steps.pxi``: a function per vector operation over rows of 32 lanes, of those whose sources and results are
32 or 64 bits wide. ``emulator_scalar_steps.pxi``: a function per scalar operation on integers. What is not there is done by the
reference engine's functions.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate_emulator import RESULT_NAMES, SOURCE_NAMES, TYPES, Semantics, opcode_names, read_semantics

VECTOR_SOURCES = {"u32", "i32", "f32", "r32", "b32", "u64", "i64", "r64", "b64", "mask"}
VECTOR_RESULTS = {"u32", "i32", "f32", "r32", "b32", "u64", "i64", "r64", "b64", "mask"}
SCALAR_KINDS = {"u32", "i32", "u64", "i64", "scc", "exec32", "exec64", "imm"}
# Statements that give the same with the host's denormals-are-zero as with sources that were flushed before.
ARITHMETIC = re.compile(r"(?:\b(?:[abcdef]|fmaf|flush32|if|else|or|and|not|float|uint32_t)\b|[\s=+*()<>!,.0-9-])*")
VARIABLES = (("w", "uint64_t"), ("s", "int64_t"), ("x", "double"), ("y", "double"), ("i", "uint32_t"))
# Said for two singles what the table says for doubles: loops that the compiler can make vectors of.
FASTER = {
    "d = <float>min_number(a, b)": "d = min_single(a, b)", "d = <float>max_number(a, b)": "d = max_single(a, b)",
    "d = <float>floor(a)": "d = floorf(a)", "d = <float>ceil(a)": "d = ceilf(a)", "d = <float>trunc(a)": "d = truncf(a)",
    "d = <float>nearest_even(a)": "d = rintf(a)",
    "d = <uint32_t>to_i32(a)": "d = <uint32_t>single_to_i32(a)", "d = to_u32(a)": "d = single_to_u32(a)",
}  # fmt: skip


def plain(kind: str) -> str:
    """Return a type without the mark of an old value."""
    return kind.removeprefix("old_")


def is_wide(kind: str) -> bool:
    """Whether a type fills two registers."""
    return TYPES[plain(kind)][2] == "wide"


def declarations(operation: Semantics) -> list[str]:
    """Return the declarations of the variables of the statements."""
    body = "; ".join(operation.statements)
    named: dict[str, list[str]] = {}
    for index, kind in enumerate(operation.sources):
        named.setdefault(TYPES[plain(kind)][0], []).append(SOURCE_NAMES[index])
    for index, kind in enumerate(operation.results):
        named.setdefault(TYPES[kind][0], []).append(RESULT_NAMES[index])
    for variable, ctype in VARIABLES:
        if re.search(rf"\b{variable}\b", body):
            named.setdefault(ctype, []).append(variable)
    lines = [f"    cdef {ctype} {', '.join(names)}" for ctype, names in named.items()]
    return lines + [f"    cdef uint32_t {name} = 0" for name in ("clamp", "neg", "opsel") if re.search(rf"\b{name}\b", body)]


def has_vector_step(operation: Semantics) -> bool:
    """Whether an operation becomes a step over rows."""
    return (
        not operation.scalar and not operation.packed and {plain(kind) for kind in operation.sources} <= VECTOR_SOURCES
        and set(operation.results) <= VECTOR_RESULTS and "v_s_" not in operation.names[0]
        and operation.results.count("mask") <= 1 and not re.search(r"\b(neg|small)\b", "; ".join(operation.statements))
    )  # fmt: skip


def vector_step(operation: Semantics) -> list[str]:
    """Return the lines of the step of a vector operation."""
    body = "; ".join(operation.statements)
    is_float = "f32" in [plain(kind) for kind in operation.sources]
    exact = not is_float or all(ARITHMETIC.fullmatch(statement) for statement in operation.statements)
    guarded = not exact or re.search(r"double|sin|cos|exp|log", body) is not None
    pointers, setup, loads, stores, puts = [], [], [], [], []
    for index, kind in enumerate(operation.sources):
        _, load, _, _ = TYPES[plain(kind)]
        name = SOURCE_NAMES[index]
        if kind == "mask":
            pointers.append("    cdef uint32_t mask")
            setup.append("mask = source_mask(core, step, half)")
            loads.append(f"{name} = (mask >> row_lane) & 1")
            continue
        pointers.append(f"    cdef const uint32_t *source{index}")
        setup.append(f"source{index} = source_row(core, step, {index}, half)")
        word = f"source{index}[row_lane]"
        if is_wide(kind):
            word = f"(source{index}[row_lane] | (<uint64_t>source{index}[row_lane + row_bytes // 4] << 32))"
        elif plain(kind) == "f32" and not exact:
            word = f"flushed_source({word}, keep)"
        loads.append(f"{name} = {load.format(word)}")
    for index, kind in enumerate(operation.results):
        words = "uint64_t" if is_wide(kind) else "uint32_t"
        pointers.append(f"    cdef {words} result{index}[row_lanes]")
        stores.append(f"result{index}[row_lane] = {TYPES[kind][3].format(RESULT_NAMES[index])}")
        put = "put_wide" if is_wide(kind) else "put_single" if kind == "f32" else "put_row"
        puts.append(f"note_mask(core, half, result{index})" if kind == "mask" else f"{put}(core, step, half, result{index})")
    lines = [f"cdef int step_{operation.names[0]}(Core *core, const Step *step) noexcept nogil:", "    cdef uint32_t half, row_lane"]
    lines += declarations(operation) + pointers
    if not exact:
        lines.append("    cdef uint32_t keep = core.keep_in32")
    if re.search(r"\blane\b", body):
        lines.append("    cdef uint32_t lane")
        loads.append("lane = row_lanes * half + row_lane")
    if guarded:
        lines += ["    if core.control != control_default:", "        set_host_control(control_default)"]
    lines.append("    for half in range(core.halves):")
    lines += [f"        {line}" for line in setup]
    lines.append("        for row_lane in range(row_lanes):")
    lines += [f"            {line}" for line in (*loads, *(faster(line, operation.sources) for line in operation.statements), *stores)]
    lines += [f"        {line}" for line in puts]
    if "mask" in operation.results:
        lines.append("    put_mask(core, step)")
    if guarded:
        lines += ["    if core.control != control_default:", "        set_host_control(core.control)"]
    return [*lines, "    return next_step(core, step)", ""]


def faster(statement: str, kinds: list[str]) -> str:
    """Return a statement in the form that becomes vectors."""
    return FASTER.get(statement, statement) if "f32" in kinds else statement


def has_scalar_step(operation: Semantics) -> bool:
    """Whether a scalar operation works on integers alone."""
    return operation.scalar and {plain(kind) for kind in (*operation.sources, *operation.results)} <= SCALAR_KINDS


def scalar_step(operation: Semantics) -> list[str]:
    """Return the lines of the step of a scalar operation; implied operands have no slot."""
    loads, stores = [], []
    slot = 0
    for index, kind in enumerate(operation.sources):
        name = SOURCE_NAMES[index]
        implied = {"scc": "core.wave.scc", "exec32": "core.wave.sgpr[sgpr_exec]", "exec64": "scalar_exec(core)",
                   "imm": "step.immediate"}.get(plain(kind))  # fmt: skip
        if implied is None:
            implied = f"scalar_{'wide' if is_wide(kind) else 'source'}(core, step, {slot})"
            slot += 1
        loads.append(f"{name} = {TYPES[plain(kind)][1].format(implied)}")
    for index, kind in enumerate(operation.results):
        value = TYPES[kind][3].format(RESULT_NAMES[index])
        stores.append({
            "scc": f"core.wave.scc = {value}", "exec32": f"core.wave.sgpr[sgpr_exec] = {value}",
            "exec64": f"put_scalar_wide(core, sgpr_exec, {value})",
        }.get(kind, f"put_scalar_wide(core, step.destination, {value})" if is_wide(kind)
              else f"core.wave.sgpr[step.destination] = {value}"))  # fmt: skip
    lines = [f"cdef int step_{operation.names[0]}(Core *core, const Step *step) noexcept nogil:"]
    lines += declarations(operation)
    lines += [f"    {line}" for line in (*loads, *operation.statements, *stores)]
    return [*lines, "    return next_step(core, step)", ""]


def table(name: str, chosen: list[Semantics], functions: list[list[str]], known: set[str]) -> str:
    """Return the text of one file: the functions, and what enters them by opcode."""
    imports, entries = [], []
    for operation in chosen:
        for opcode in operation.names:
            if opcode in known:
                imports.append(f"    op_{opcode},")
                entries.append(f"    table[<int>op_{opcode}] = step_{operation.names[0]}")
    head = ["from isa_opcodes cimport (", *imports, ")", ""]
    fill = [f"cdef void fill_{name}_steps(StepFunction *table) noexcept nogil:", *entries]
    return "\n".join([*head, *(line for function in functions for line in function), *fill]) + "\n"


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    known = opcode_names(source)
    operations = [operation for operation in read_semantics(source) if known & set(operation.names)]
    vector = [operation for operation in operations if has_vector_step(operation)]
    scalar = [operation for operation in operations if has_scalar_step(operation)]
    return {
        "emulator_vector_steps.pxi": table("vector", vector, [vector_step(operation) for operation in vector], known),
        "emulator_scalar_steps.pxi": table("scalar", scalar, [scalar_step(operation) for operation in scalar], known),
    }
