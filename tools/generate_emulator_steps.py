"""Steps of the emulator's fast engine, from ``pyaco/emu/data/semantics.txt``.

``emulator_vector_steps.pxi``: a function per vector operation over rows of 32 lanes. ``emulator_scalar_steps.pxi``: a function per scalar
operation on integers. The reference engine executes everything else.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate_emulator import RESULT_NAMES, SOURCE_NAMES, TYPES, Semantics, opcode_names, read_semantics

VECTOR_KINDS = {
    "u16", "i16", "f16", "r16", "b16", "n16", "u32", "i32", "f32", "r32", "b32", "n32", "u64", "i64", "f64", "r64", "b64", "n64", "f16x2", "bf16x2",
    "f32x2", "mask",
}  # fmt: skip
VECTOR_SOURCES = VECTOR_KINDS | {"mix", "packed", "packed_f"}
SCALAR_KINDS = {"u32", "i32", "u64", "i64", "scc", "exec32", "exec64", "imm"}
# Statements with the same results under the host's denormals-are-zero as on sources that were flushed before.
ARITHMETIC = re.compile(r"(?:\b(?:[abcdef]|fmaf|flush32|sqrtf|rsq_single|if|else|or|and|not|float|uint32_t)\b|[\s=+*/()<>!,.0-9-])*")
# Statements without denormal intermediate results.
CHOICE = re.compile(
    r"d = (?:<float>2\.0 \* )?(?:\b(?:[abcf]|float|(?:min|max|median|minimum|maximum|cube_\w+)_single|floorf|ceilf|truncf|rintf)\b|[\s()<>,])+"
)
# Statements on halves with the same results in single precision, rounded to half at the end: at most one operation rounds in single, which has
# more than twice the bits (Figueroa 1995).
HALF_ARITHMETIC = re.compile(
    r"d = (?:fmaf\(a, b, c\)|(?:\b(?:[abcf]|fma_odd_single|(?:min|max|median|minimum|maximum)_single|floorf|ceilf|truncf|rintf)\b|[\s(),-])+|"
    r"a \+ b|a \+ -b|b \+ -a|a \* b|<float>1\.0 / a|sqrtf\(a\))"
)
# A NaN that such a statement makes of NaNs in other types depends on how the compiler orders its operands: the reference engine decides.
OTHER_FLOATS = re.compile(r"half_to_(?:double|single)|bits_b?float|fp8|bf8|fmaf\(a, b, c\)")
MODIFIERS = {"clamp": "clamp", "neg": "rest.neg", "opsel": "rest.opsel"}  # fields of a step
VARIABLES = (("w", "uint64_t"), ("s", "int64_t"), ("x", "double"), ("y", "double"), ("i", "uint32_t"))
# Forms for singles of what the table has for doubles: the compiler vectorises these.
FASTER = (
    (r"\b(min|max|median)_number\b", r"\1_single"), (r"\b(minimum|maximum)\(", r"\1_single("),
    (r"\b(floor|ceil|trunc)_of\(a\)", r"\1f(a)"), (r"\bnearest_even\(a\)", "rintf(a)"),
    (r"\bcube_(id|s|t|major)\b", r"cube_\1_single"),
    # a double has more than twice the bits: rounding it to a single is the same as rounding once (Figueroa 1995)
    (r"<float>\(1\.0 / <double>flush32\(a\)\)", "<float>1.0 / flush32(a)"), (r"<float>sqrt\(<double>flush32\(a\)\)", "sqrtf(flush32(a))"),
    (r"<float>\(1\.0 / sqrt\(<double>flush32\(a\)\)\)", "rsq_single(flush32(a))"),
    (r"scalbnf\(a, b\)", "ldexp_single(a, b)"), (r"\b(exponent|mantissa)_of\(a\)", r"\1_single(a)"),
    (r"quiet_single\(float_bits\(<float>division_fixup\(a, b, c, 24, -149, 127\)\)\)", "division_fixup_single(a, b, c)"),
    (r"d = division_scale32\(.*\)", "d = division_scale_single(a, b, c); e = division_flag_single(b, c)"),
    (r"d = fmaf\(a, b, c\) if not f else scalbnf\(.*", "d = division_fmas_single(a, b, c, <uint32_t>f)"),
    (r"\bto_i32\(a\)", "single_to_i32(a)"), (r"\bto_u32\(a\)", "single_to_u32(a)"), (r"<float>half_to_double\(", "half_to_single("),
)  # fmt: skip
FASTER_DOUBLE = (
    (r"\b(min|max)_number\b", r"\1_double"), (r"scalbn\(a, b\)", "ldexp_double(a, b)"), (r"\b(exponent|mantissa)_of\(a\)", r"\1_double(a)"),
    (r"quiet_double\(double_bits\(division_fixup\(a, b, c, 53, -1074, 1023\)\)\)", "division_fixup_double(a, b, c)"),
    (r"d = division_scale64\(.*\)", "d = division_scale_double(a, b, c); e = division_flag_double(b, c)"),
    (r"d = fma\(a, b, c\) if not f else scalbn\(.*", "d = division_fmas_double(a, b, c, f)"),
)  # fmt: skip
FASTER_HALF = (
    (r"half_sum\((\w), (-?\w), rounding\)", r"\1 + \2"), (r"fma_odd\((\w, \w, \w), rounding\)", r"fma_odd_single(\1)"),
    (r"(?<!<float>)1\.0 / a$", "<float>1.0 / a"), (r"d = sqrt\(a\)", "d = sqrtf(a)"),
)  # fmt: skip


def plain(kind: str) -> str:
    """Return a type without the mark of an old value."""
    return kind.removeprefix("old_")


def kinds(operation: Semantics) -> list[str]:
    """Return the types of the sources."""
    return [plain(kind) for kind in operation.sources]


def is_wide(kind: str) -> bool:
    """Whether a type fills two registers."""
    return TYPES[plain(kind)][2] == "wide"


def faster(operation: Semantics) -> list[str]:
    """Return the statements in the form that becomes vectors, for operations on singles or halves."""
    statements = operation.statements
    used = set(kinds(operation))
    if not used & {"f16", "f32", "f64"}:
        return statements
    for pattern, replacement in FASTER_DOUBLE if "f64" in used else FASTER + (FASTER_HALF if "f16" in used else ()):
        statements = [re.sub(pattern, replacement, statement) for statement in statements]
    return statements


def computes_in_single(operation: Semantics) -> bool:
    """Whether the halves of an operation may be held in singles."""
    if "f16" not in operation.results:
        return True
    return all(HALF_ARITHMETIC.fullmatch(statement) for statement in faster(operation))


class Body:
    """The parts of the loop over the lanes of a row."""

    def __init__(self, operation: Semantics) -> None:
        self.operation = operation
        self.kinds = kinds(operation)
        self.single = computes_in_single(operation)
        self.statements = faster(operation) if self.single or "f16" not in operation.results else operation.statements
        text = "; ".join(self.statements)
        self.text = text
        floats = {"f32", "mix"} & set(self.kinds)
        self.exact = not floats or (all(ARITHMETIC.fullmatch(statement) for statement in self.statements) and "f64" not in operation.results)
        slow_halves = "f16" in (*self.kinds, *operation.results) and not self.single
        self.guarded = slow_halves or "f64" in (*self.kinds, *operation.results) or (
            not self.exact and not all(CHOICE.fullmatch(statement) for statement in self.statements)
        ) or re.search(r"double|\bsin|\bcos|exp|log", text) is not None  # fmt: skip
        # halves and doubles round as a field of MODE says that steps do not implement
        self.rounds = bool({"f16", "f64"} & set(operation.results))
        self.undecided = operation.results[0] in ("f32", "f16") and OTHER_FLOATS.search(text) is not None and (
            set(self.kinds) - {"mask"} != {operation.results[0]}
        )  # fmt: skip

    def ctype(self, kind: str) -> str:
        """Return the type of the variable of a source or result."""
        return "float" if kind == "f16" and self.single else TYPES[kind][0]

    @property
    def clamps(self) -> bool:
        """Whether the statements clamp their result where the instruction says so."""
        return re.search(r"\bclamp\b", self.text) is not None

    def declarations(self, clamped: bool = True) -> list[str]:
        """Return the declarations of the variables of the statements; `clamped`: the instruction may ask for a clamp."""
        named: dict[str, list[str]] = {}
        for index, kind in enumerate(self.kinds):
            named.setdefault(self.ctype(kind), []).append(SOURCE_NAMES[index])
        for index, kind in enumerate(self.operation.results):
            named.setdefault(self.ctype(kind), []).append(RESULT_NAMES[index])
        for variable, ctype in VARIABLES:
            if re.search(rf"\b{variable}\b", self.text):
                named.setdefault(ctype, []).append(variable)
        lines = [f"    cdef {ctype} {', '.join(names)}" for ctype, names in named.items()]
        used = [name for name in MODIFIERS if re.search(rf"\b{name}\b", self.text)]
        lines += [f"    cdef uint32_t {name} = {f'step.{MODIFIERS[name]}' if clamped or name != 'clamp' else 0}" for name in used]
        if re.search(r"\brounding\b", self.text):
            lines.append("    cdef uint32_t rounding = round_nearest")
        return lines

    def source(self, index: int, shift: str = "") -> tuple[list[str], list[str], str]:
        """Return the declarations of a source, what is done before the loop, and the load of a lane; `shift` is that of a packed half."""
        kind, name = self.kinds[index], SOURCE_NAMES[index]
        load = TYPES[kind][1]
        if kind == "mask":
            return ["    cdef uint32_t mask"], ["mask = source_mask(core, step, half)"], f"{name} = (mask >> row_lane) & 1"
        if kind == "f16":
            return ([f"    cdef float single{index}[row_lanes]"],
                    [f"read_halves(core, source_row(core, step, {index}, half), {shift or 0}, single{index})"],
                    f"{name} = single{index}[row_lane]")  # fmt: skip
        word = f"source{index}[row_lane]"
        if shift:
            word = f"({word} >> {shift})"
        if is_wide(kind):
            word = f"(source{index}[row_lane] | (<uint64_t>source{index}[row_lane + row_bytes // 4] << 32))"
        if kind == "f32" or (kind.startswith("mix") and self.exact):
            word = f"{'host' if self.exact else 'flushed'}_source({word}, core.keep_in32)"
        elif kind == "f64":
            word = f"flushed_wide({word}, core.keep_in64)"
        elif kind == "r16":
            word = f"{word} & 0xffff"
        return ([f"    cdef const uint32_t *source{index}"], [f"source{index} = source_row(core, step, {index}, half)"],
                f"{name} = {load.format(word)}")  # fmt: skip

    def result(self, index: int, row: str) -> tuple[str, str, str]:
        """Return the type of a row of results, the store of a lane in it, and the function that converts the row to bits, if any."""
        kind, name = self.operation.results[index], RESULT_NAMES[index]
        if kind == "f16":
            return "float", f"{row}[row_lane] = {name if self.single else f'odd_single({name})'}", "singles_to_halves"
        stored = TYPES[kind][3].format(name)
        if kind in ("b16", "r16", "n16"):
            stored += " & 0xffff"
        return ("uint64_t" if is_wide(kind) else "uint32_t"), f"{row}[row_lane] = {stored}", ""


# Halves of a wave without an active lane are skipped.
EACH_HALF = "for half in range(core.first_half, core.end_half):"
IF_ACTIVE = ("if core.first_half == 0:", "if core.end_half == 2:")
PUTS = {"f16": "put_half", "f32": "put_single", "f64": "put_double"}


def leaves_specials(operation: Semantics) -> bool:
    """Whether rows of results may be left to `finish_specials`."""
    return bool(set(operation.results) & set(PUTS))


def whole_condition(body: Body) -> str:
    """Return the field of a core that says when a step's form for whole waves, which has the fewest instructions, may run; empty: it has none.

    Such a form has one result and sources of a register each, and no more to do than its statements and, for singles, the flush of denormals.
    """
    operation = body.operation
    plain_sources = all(kind == "mask" or not (is_wide(kind) or kind in ("f16", "mix")) for kind in body.kinds)
    if operation.packed or len(operation.results) > 1 or not plain_sources or body.undecided or body.guarded or re.search(r"\blane\b", body.text):
        return ""
    if operation.results == ["mask"]:
        return "always" if body.exact else ""
    if operation.results == ["f32"]:
        return "usual_choice32" if operation.prefers_number_over_nan else "usual32"
    return "" if operation.results[0] in PUTS or is_wide(operation.results[0]) or "f32" in body.kinds else "full"


def put(body: Body, kind: str) -> str:
    """Return the beginning of what writes a row of results."""
    operation = body.operation
    if kind not in PUTS:
        return "put_pairs" if operation.packed else "put_wide" if is_wide(kind) else "put_row"
    name = "put_float_pairs" if operation.packed else PUTS[kind]
    if operation.prefers_number_over_nan:
        name = name.replace("put_", "put_selected_")
    elif kind == "f32" and body.guarded:
        name = "put_guarded_single"
    return f"specials |= {name}"


def has_vector_step(operation: Semantics) -> bool:
    """Whether an operation becomes a step over rows."""
    text = "; ".join(operation.statements)
    if operation.scalar or operation.names[0].startswith(("v_s_", "v_interp_")) or re.search(r"\b(small|round_bfloat)\b", text):
        return False
    if operation.packed:
        return {*kinds(operation), *operation.results} <= {"u16", "i16", "f16"}
    return set(kinds(operation)) <= VECTOR_SOURCES and set(operation.results) <= VECTOR_KINDS and operation.results.count("mask") <= 1


def vector_step(operation: Semantics) -> list[str]:
    """Return the lines of the step of a vector operation."""
    body = Body(operation)
    name = f"_step_{operation.names[0]}"
    condition = whole_condition(body)
    if not condition:
        return vector_function(body, name)
    if condition == "always":
        return mask_function(body, name)
    general, partial = name.replace("_step_", "_general_"), name.replace("_step_", "_partial_")
    if operation.results != ["f32"]:
        return partial_function(body, partial, "", condition) + whole_function(body, name, partial, condition)
    general_form = vector_function(body, general)
    body.exact = True                     # where denormals are flushed, the host takes them for zeros: their bits are flushed with the result's
    return general_form + partial_function(body, partial, general, condition) + whole_function(body, name, partial, condition)


def vector_function(body: Body, name: str) -> list[str]:
    """Return the lines of a step's function."""
    operation = body.operation
    lines = [f"cdef int {name}(Core *core, const Step *step) noexcept nogil:", "    cdef uint32_t half, row_lane"]
    lines += body.declarations()
    if leaves_specials(operation):
        lines.append("    cdef uint32_t specials = 0")
    inner = packed_rows(body, lines) if operation.packed else rows(body, lines)
    if re.search(r"\blane\b", body.text):
        lines.append("    cdef uint32_t lane")
    if "mask" in operation.results:
        lines.append("    core.mask_result[0] = core.mask_result[1] = 0")
    if body.rounds:
        lines += ["    if core.round64:", "        return step_fallback(core, step)"]
    if body.guarded:
        lines += ["    if core.control != control_default:", "        set_host_control(control_default)"]
    lines += [f"    {line}" for line in inner]
    if "mask" in operation.results:
        lines.append("    put_mask(core, step)")
    if body.guarded:
        lines += ["    if core.control != control_default:", "        set_host_control(core.control)"]
    if leaves_specials(operation):
        lines += ["    if specials:", "        return finish_specials(core, step, specials)"]
    return [*lines, "    return next_step(core, step)", ""]


def whole_function(body: Body, name: str, other: str, condition: str) -> list[str]:
    """Return the lines of a step's form for whole waves: where the rows are is worked out once for both, which are written one after the other.

    Clamped integers are left to the other form: with the choice between two loops, the compiler keeps results in memory.
    """
    single = condition.startswith("usual")
    put = "specials |= put_usual_single(core, row, {half}, result0)" if single else "copy_row(row + row_lanes * {half}, result0)"
    unless = f"if not core.{condition}{' or step.clamp' if body.clamps else ''}:"
    return both_halves(body, name, (unless, f"    return {other}(core, step)"), put, ("", "if core.halves == 2:"), clamped=False)


def partial_function(body: Body, name: str, general: str, condition: str) -> list[str]:
    """Return the lines of the same for waves with idle lanes; a half without an active one is left out."""
    if not condition.startswith("usual"):
        return both_halves(body, name, (), "put_part(core, row, {half}, result0)", IF_ACTIVE)
    unless = (f"if not core.{condition.replace('usual', 'flushes')}:", f"    return {general}(core, step)")
    return both_halves(body, name, unless, "specials |= put_partial_single(core, row, {half}, result0)", IF_ACTIVE)


def mask_function(body: Body, name: str) -> list[str]:
    """Return the lines of the step of a comparison; a half without an active lane is left out."""
    unless = ("core.mask_result[0] = core.mask_result[1] = 0",)
    lines = both_halves(body, name, unless, "note_mask(core, {half}, result0)", IF_ACTIVE)
    return [*lines[:-2], "    put_mask(core, step)", *lines[-2:]]


def both_halves(body: Body, name: str, unless: tuple[str, ...], put: str, conditions: tuple[str, str], clamped: bool = True) -> list[str]:
    """Return the lines of a step whose loop is there for each half of a wave; `clamped`: the instruction may ask for a clamp."""
    single = body.operation.results == ["f32"]
    pointers = [index for index, kind in enumerate(body.kinds) if kind != "mask"]
    has_mask = "mask" in body.kinds
    lines = [f"cdef int {name}(Core *core, const Step *step) noexcept nogil:", "    cdef uint32_t row_lane"]
    lines += body.declarations(clamped)
    lines += [f"    cdef const uint32_t *source{index}" for index in pointers]
    lines += ["    cdef uint32_t mask"] * has_mask + ["    cdef uint32_t specials = 0"] * single
    lines += ["    cdef uint32_t result0[row_lanes]"]
    lines += ["    cdef uint32_t *row"] * (body.operation.results != ["mask"])
    lines += [f"    {line}" for line in unless]
    lines += [f"    source{index} = source_row(core, step, {index}, 0)" for index in pointers]
    if body.operation.results != ["mask"]:
        lines.append("    row = destination_row(core, step)")
    loads = [body.source(index)[2] for index in range(len(body.kinds))]
    store = body.result(0, "result0")[1]
    for half, condition in enumerate(conditions):
        part = [f"source{index} += row_lanes" for index in pointers] * half
        part += [f"mask = source_mask(core, step, {half})"] * has_mask + ["for row_lane in range(<uint32_t>row_lanes):"]
        part += [f"    {line}" for line in (*loads, *body.statements, store)]
        part.append(put.format(half=half))
        lines += [f"    {condition}"] * bool(condition) + [f"{'        ' if condition else '    '}{line}" for line in part]
    lines += ["    if specials:", "        return finish_specials(core, step, specials)"] * single
    return [*lines, "    return next_step(core, step)", ""]


def rows(body: Body, lines: list[str]) -> list[str]:
    """Return the loops of an operation on whole lanes; declarations go to `lines`."""
    operation = body.operation
    setup, loads, stores, puts, checks = [], [], [], [], []
    for index in range(len(body.kinds)):
        declared, before, load = body.source(index)
        lines += [line for line in declared if line not in lines]
        setup += before
        loads.append(load)
    if re.search(r"\blane\b", body.text):
        loads.append("lane = row_lanes * half + row_lane")
    several = "[half]" if body.undecided else ""
    for index, kind in enumerate(operation.results):
        ctype, store, convert = body.result(index, f"result{index}{several}")
        lines.append(f"    cdef {ctype} result{index}{'[2]' if several else ''}[row_lanes]")
        stores.append(store)
        row = f"result{index}{several}"
        if convert:
            lines.append(f"    cdef uint32_t bits{index}{'[2]' if several else ''}[row_lanes]")
            checks.append(f"{convert}({row}, bits{index}{several})")
            row = f"bits{index}{several}"
        if several and kind in ("f32", "f16"):
            checks += [f"if row_has_nan{'16' if kind == 'f16' else ''}({row}):", *leave(body), "    return step_fallback(core, step)"]
        puts.append(f"note_mask(core, half, {row})" if kind == "mask" else f"{put(body, kind)}(core, step, half, {row})")
    loop = [EACH_HALF, *(f"    {line}" for line in setup), "    for row_lane in range(<uint32_t>row_lanes):"]
    loop += [f"        {line}" for line in (*loads, *body.statements, *stores)]
    loop += [f"    {line}" for line in checks]
    if several:
        loop.append(EACH_HALF)
    return loop + [f"    {line}" for line in puts]


def leave(body: Body) -> list[str]:
    """Return what comes before a step is left in its middle."""
    return ["    if core.control != control_default:", "        set_host_control(core.control)"] if body.guarded else []


def packed_rows(body: Body, lines: list[str]) -> list[str]:
    """Return the loops of an operation on both halves of every lane."""
    ctype, _, convert = body.result(0, "")
    lines.append(f"    cdef {ctype} result[2][row_lanes]")
    if convert:
        lines.append("    cdef uint32_t bits[2][row_lanes]")
    lines.append("    cdef uint32_t part")
    setup, loads = [], []
    for index in range(len(body.kinds)):
        declared, before, load = body.source(index, "(16 * part)")
        lines += declared
        setup += before
        loads.append(load)
    loop = [EACH_HALF, "    for part in range(2):", *(f"        {line}" for line in setup),
            "        for row_lane in range(<uint32_t>row_lanes):"]  # fmt: skip
    loop += [f"            {line}" for line in (*loads, *body.statements, body.result(0, "result[part]")[1])]
    row = "bits" if convert else "result"
    if convert:
        loop.append(f"        {convert}(result[part], bits[part])")
    return [*loop, f"    {put(body, body.operation.results[0])}(core, step, half, {row}[0], {row}[1])"]


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
    lines = [f"cdef int _step_{operation.names[0]}(Core *core, const Step *step) noexcept nogil:"]
    lines += Body(operation).declarations()
    lines += [f"    {line}" for line in (*loads, *operation.statements, *stores)]
    return [*lines, f"    return {scalar_end(operation)}", ""]


def scalar_end(operation: Semantics) -> str:
    """Return the call of the next step, which may read what becomes of EXEC."""
    values = {kind: TYPES[kind][3].format(name) for kind, name in zip(operation.results, RESULT_NAMES, strict=False) if kind != "scc"}
    value = values.get("exec32", values.get("exec64", next(iter(values.values()), "")))
    return f"hand_exec(core, step, {value})" if value else "next_step(core, step)"


def table(name: str, chosen: list[Semantics], functions: list[list[str]], known: set[str]) -> str:
    """Return the text of one file: the functions, and what enters them by opcode."""
    imports, entries = [], []
    for operation in chosen:
        for opcode in operation.names:
            if opcode in known:
                imports.append(f"    op_{opcode},")
                entries.append(f"    table[<int>op_{opcode}] = _step_{operation.names[0]}")
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
