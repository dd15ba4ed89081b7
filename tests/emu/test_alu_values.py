"""Every vector ALU instruction of every generation against the models of ``alu_models``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import alu_models
import numpy as np
import pytest
from alu_models import MODELS, Model, signed
from exact_floats import FORMATS, SIZES, Number, decode, encode, is_nan
from machine_code import EARLY, assemble_each
from modifiers import PLAIN, Variant, after_operands, bits_of, decorated, encoded_slots, mnemonic_of, narrow_slots, source_bits, source_lane

from pyaco.emu import Device
from pyaco.isa import opcodes
from pyaco.isa.table import Row

TARGETS = {
    "gfx600": "6", "gfx700": "7",
    "gfx900": "9", "gfx942": "cdna3", "gfx950": "cdna4", "gfx1010": "10", "gfx1030": "10.3", "gfx1100": "11", "gfx1150": "11.5", "gfx1200": "12",
}  # fmt: skip
GFX9 = ("gfx900", "gfx942", "gfx950")
GCN = (*EARLY, *GFX9)
QUICK = ("gfx600", "gfx700", "gfx900", "gfx942", "gfx1100", "gfx1200")
ROWS = {row.name: row for row in opcodes.rows()}
LANES = 64
ROW = 16                              # bytes that a lane stores for each instruction
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
SPECIAL32 = [
    0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x807FFFFF, 0x3F800000, 0xBF800000, 0x3F000000, 0xC0000000, 0x7F7FFFFF,
    0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x4B000000, 0xCB000001, 0x33800000, 0xFFFFFFFF, 0x7FFFFFFF, 0x4F000000,
    0xCF000000, 31, 32, 64, 0x3C003C00, 0xBC007BFF, 0x00010400, 0x7C00FC00, 0x43E80000, 0x477FE000,
    0x7F800001, 0xFFA01234, 0x7FC0ABCD, 0x7C017E02, 0xFD55FE03,
]  # fmt: skip
SPECIAL64 = [
    0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x3FE0000000000000, 0x41DFFFFFFFC00000, 0xC1E0000000000000,
    0xFFFFFFFFFFFFFFFF, 0x4330000000000001, 0x7FF0000000000001, 0xFFF4000000000002, 0x7FFC000000000003,
]  # fmt: skip


@cache
def inputs() -> list[list[int]]:
    """Four operands of 64 bits per lane; the low half by itself is the 32-bit operand, its low half the 16-bit one."""
    random = np.random.default_rng(5)
    operands = []
    for operand in range(4):
        values = [int(value) for value in random.integers(0, 1 << 64, LANES, dtype=np.uint64)]
        for lane in range(16):                              # floats of moderate size
            values[lane] = values[lane] & ~M32 | int(np.float32(random.standard_normal() * 40).view(np.uint32))
        for lane in range(16, 24):
            values[lane] = int(np.float64(random.standard_normal() * 40).view(np.uint64))
        for lane in range(24, 28):
            values[lane] = values[lane] & ~0xFFFF | int(np.float16(random.standard_normal() * 9).view(np.uint16))
        for index in range(24):
            values[28 + index] = values[28 + index] & ~M32 | SPECIAL32[(index * (2 * operand + 1) + 5 * operand) % len(SPECIAL32)]
        for index in range(12):
            values[52 + index] = SPECIAL64[(index * (2 * operand + 1) + 7 * operand) % len(SPECIAL64)]
        operands.append(values)
    return operands


def operand_text(slot: int, kind: str, carry: str) -> str:
    if kind in ("mask", "vcc"):
        return carry
    first = 2 + 2 * slot
    return f"v[{first}:{first + 1}]" if kind.endswith("64") else f"v{first}"


def instruction_text(mnemonic: str, row: Row, model: Model, target: str, wave: int, variant: Variant = PLAIN, dotted: bool = False) -> list[str]:
    """The instruction between what sets its implied operands and what collects its results in v20 to v22; `dotted`: halves of registers are
    named, not chosen by op_sel."""
    name = row.name
    carry, result, scalar_exec = ("s[40:41]", "s[42:43]", "exec") if wave == 64 else ("s40", "s42", "exec_lo")
    vcc, move = ("vcc", "s_mov_b64") if wave == 64 else ("vcc_lo", "s_mov_b32")
    lines = ["v_mov_b32 v20, v8", "v_mov_b32 v21, v9", "v_mov_b32 v22, 0", f"{move} {vcc}, {carry}"]
    if variant.form in ("e32", "sdwa", "dpp"):
        carry = result = vcc
    packed, compares = row.format == "vop3p", name.startswith("v_cmp")
    slots = encoded_slots(model.sources)
    halves = {slot: (".h" if variant.high >> slot & 1 else ".l") if dotted and bits_of(kind) == 16 else ""
              for slot, kind in (*enumerate(model.sources), (3, model.results[0]))}  # fmt: skip
    sources = [operand_text(slot, kind, carry) if kind == "mask" else
               decorated(operand_text(slot, kind, carry), name, variant, slot, packed, halves[slot])
               for slot, kind in enumerate(model.sources) if slot in slots]
    place = "v[20:21]" if model.results[0].endswith("64") or model.results[0] == "f32x2" else "v20" + halves[3]
    operands = model.text.format(d=place, a=sources[0], b=sources[1] if len(sources) > 1 else "",
                                 c=sources[2] if len(sources) > 2 else "") if model.text else ""
    mnemonic = mnemonic_of(mnemonic, row.format, variant)
    # op_sel has to be written where it has bits of 32-bit operands as well
    is_named = dotted and not variant.high & ~sum(1 << slot for slot in narrow_slots(model.sources, model.results))
    suffix = after_operands(name, variant, [slot for slot in slots if model.sources[slot] != "mask"], packed, compares, is_named)
    if name.startswith("v_s_"):                             # pseudo-scalar: lane 0's operand, a result for all
        lines += ["v_readfirstlane_b32 s46, v2", f"{mnemonic} s47, {sources[0].replace('v2', 's46')}{suffix}", "v_mov_b32 v20, s47"]
    elif name.startswith("v_dual_"):
        fixed = "v_dual_mov_b32 v23, v3"
        text = f"{mnemonic} {operands or ', '.join([place, *(s for s in sources if s != carry)])}"
        first_only = row.second_half < 0
        lines.append(f"{text} :: {fixed}" if first_only or "11" in row.numbers else f"{fixed} :: {text}")
    elif name.startswith(("v_cmpx", "v_cmpsx")):
        lines.append(f"{move} s[44:45], exec" if wave == 64 else f"{move} s44, exec_lo")
        lines.append(f"{mnemonic} {vcc + ', ' if target in GCN else ''}{', '.join(sources)}{suffix}")
        lines += [f"{move} {result}, {scalar_exec}", f"{move} {scalar_exec}, " + ("s[44:45]" if wave == 64 else "s44")]
    elif operands:
        lines.append(f"{mnemonic} {operands}{suffix}")
    else:
        masks = [result] if "mask" in model.results else []
        lines.append(f"{mnemonic} {', '.join(masks + sources if compares else [place, *masks, *sources])}{suffix}")
    if "mask" in model.results:
        lines.append(f"v_cndmask_b32 v22, 0, 1, {result}")
    return lines


def rows_of(target: str) -> list[tuple[str, str, Model]]:
    """(mnemonic, name, model) of the instructions that a chip has and the models describe."""
    generation = TARGETS[target]
    found = []
    for row in opcodes.rows():
        has = row.on_chip(generation, target) or row.is_dual_half(generation)
        if row.name.startswith("v_") and row.name in MODELS and has:
            found.append((row.spelling(generation), row.name, MODELS[row.name]))
    return found


def wave_of(target: str) -> int:
    return 64 if target in GCN else 32


@cache
def programs(target: str, output: str = "") -> tuple[list[tuple[str, str, Model]], list[bytes], dict[str, str]]:
    """The rows that LLVM assembles, their code, and what it refuses."""
    rows = rows_of(target)
    texts = ["\n".join(instruction_text(mnemonic, ROWS[name], model, target, wave_of(target), Variant(output=output), name == "v_mov_b16"))
             for mnemonic, name, model in rows]  # fmt: skip
    codes, errors = assemble_each(texts, target, wave_of(target))
    kept = [index for index in range(len(rows)) if index not in errors]
    return [rows[index] for index in kept], [codes[index] for index in kept], {rows[i][0]: errors[i] for i in errors}


def run(target: str, mode: int, output: str = "", engine: str = "reference") -> tuple[list[tuple[str, str, Model]], np.ndarray]:
    """Results [row][lane][4] of every instruction."""
    rows, codes, _ = programs(target, output)
    return rows, execute(target, codes, mode, engine)


def execute(target: str, codes: list[bytes], mode: int, engine: str) -> np.ndarray:
    """Results [code][lane][4]; one workgroup for all waves of lanes. Bits 8 and 9 of `mode` are set by the program."""
    wave = wave_of(target)
    late = target not in (*GCN, "gfx1010", "gfx1030")
    load, store = ("global_load_b64", "global_store_b128") if late else ("global_load_dwordx2", "global_store_dwordx4")
    add = "v_add_u32" if target in GCN else "v_add_nc_u32"
    low = "s_mov_b64 {}, vcc" if wave == 64 else "s_mov_b32 {}, vcc_lo"
    head = [f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 2), {mode >> 8}"]
    head += ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 4, v0", "v_lshlrev_b32 v0, 3, v0"]
    head += [f"{load} v[{2 + 2 * index}:{3 + 2 * index}], v0, s[0:1] offset:{index * LANES * 8}" for index in range(4)]
    head += ["s_wait_loadcnt 0x0" if target == "gfx1200" else "s_waitcnt vmcnt(0)", "v_and_b32 v24, 1, v6",
             f"v_cmp_eq_u32 {'vcc' if wave == 64 else 'vcc_lo'}, 1, v24", low.format("s[40:41]" if wave == 64 else "s40")]  # fmt: skip
    tail = [f"{store} v1, v[20:23], s[2:3]", f"{add} v1, {LANES * ROW}, v1"]
    (prologue, between, end), errors = assemble_each(["\n".join(head), "\n".join(tail), "s_endpgm"], target, wave)
    assert not errors, errors
    device = Device(target, engine, 1)
    source = device.buffer(np.array(inputs(), np.uint64))
    results = device.buffer(np.zeros((len(codes), LANES, 4), np.uint32))
    user = [word for buffer in (source, results) for word in (buffer.address & M32, buffer.address >> 32)]
    device.run(prologue + b"".join(code + between for code in codes) + end, (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=wave,
               float_mode=mode & 0xFF)
    return results.numpy()


def value(kind: str, bits: int, flush32: bool, flush16: bool) -> Number:
    """A source as its model wants it."""
    kind = kind.removeprefix("old_")
    size = int("".join(filter(str.isdigit, kind)))
    bits &= (1 << size) - 1
    if kind[0] == "f":
        return decode(kind, bits, flush32 if kind == "f32" else flush16)
    return signed(bits, size) if kind[0] == "i" else bits


def close(kind: str, actual: int, expected: float, ulp: float, rounding: int) -> bool:
    """Within units in the last place, or both too small to be normal; towards zero infinity is the largest number."""
    least = 2.0 ** FORMATS[kind][1]
    got = decode(kind, actual)
    if got != got or expected != expected:
        return got != got and expected != expected
    if abs(expected) < 2 * least and abs(got) <= 2 * least:
        return True
    exact = encode(kind, expected)
    if actual in (exact, encode(kind, expected, rounding)) or (rounding and abs(got) == decode(kind, encode(kind, Fraction(2) ** 5000, 3))):
        return True
    if abs(got) == float("inf") or abs(decode(kind, exact)) == float("inf"):
        return False
    unit = 2.0 ** max(np.frexp(abs(expected))[1] - FORMATS[kind][0], FORMATS[kind][1] - FORMATS[kind][0] + 1)
    return abs(got - expected) <= ulp * unit


def matches(kind: str, actual: int, expected: Any, model: Model, rounding: int, flush: bool) -> bool:
    """Whether the bits of a result are what the model says."""
    if expected is None:
        return True
    if kind in ("f16", "f32", "f64"):
        actual &= (1 << SIZES[kind]) - 1
        if model.ulp:
            tiny = abs(decode(kind, actual)) < 2.0 ** FORMATS[kind][1] and abs(float(expected)) < 2.0 ** (FORMATS[kind][1] + 1)
            small = 2.0**-18 if kind == "f32" else 2.0**-12
            near = abs(decode(kind, actual) - float(expected)) <= small if model.function.__name__ in ("sine", "cosine") else False
            return tiny or near or close(kind, actual, float(expected), model.ulp, rounding)
        wanted = encode(kind, expected, rounding, flush)
        return actual == wanted or (is_nan(kind, actual) and is_nan(kind, wanted))
    if kind in ("f16hi", "f16bits", "bf16bits"):
        actual = actual >> (16 if kind == "f16hi" else 0) & 0xFFFF
        form = "bf16" if kind == "bf16bits" else "f16"
        wanted = encode(form, expected, rounding, flush) if kind == "f16hi" else expected
        return actual == wanted or (is_nan(form, actual) and is_nan(form, wanted))
    if kind == "f32x2":
        return all(matches("f32", actual >> shift & M32, decode("f32", expected >> shift & M32), model, rounding, False) for shift in (0, 32))
    if kind in ("f16x2", "bf16x2"):
        return all(matches(kind.replace("x2", "bits"), actual >> shift, expected >> shift & 0xFFFF, model, rounding, flush) for shift in (0, 16))
    if kind in ("fp8x2", "bf8x2"):
        parts = [actual & 255, actual >> 8 & 255]
        nans = [127] if kind == "fp8x2" else [125, 126, 127]
        return all(part == wanted or (wanted < 0 and part & 127 in nans) for part, wanted in zip(parts, expected, strict=True))
    size = 1 if kind == "mask" else int(kind[1:])
    return actual & (1 << size) - 1 == int(expected) & (1 << size) - 1


def lane_operands(name: str, row_format: str, model: Model, variant: Variant, lane: int, wave: int, mode: int) -> list[Number]:
    """What the model of an instruction takes in a lane."""
    values = inputs()
    mode = alu_models.obeyed_mode(name, mode)
    first = lane - lane % wave if name.startswith("v_s_") else lane
    operands: list[Number] = []
    for slot, kind in enumerate(model.sources):
        if kind in ("mask", "vcc"):
            operands.append(values[2][lane] & 1)
        elif kind == "lane":
            operands.append(lane % wave)
        elif kind.startswith("old_"):
            half = 16 if variant.high & 8 and bits_of(kind) == 16 else 0    # what the result is added to lies where it goes
            operands.append(value(kind, values[3][lane] >> half, not mode & 0x10, not mode & 0x40))
        else:
            other: int | None = first
            if variant.control and slot == 0:
                other = source_lane(variant.control, lane % wave, wave)
            bits = 0 if other is None else values[slot][other + (lane - lane % wave if variant.control and slot == 0 else 0)]
            seen, bits = source_bits(name, row_format, variant, slot, kind, bits)
            # halves of the mixed forms become singles whatever MODE says of halves
            operands.append(value(seen, bits, not mode & 0x10, not mode & 0x40 and seen == kind))
    if model.uses_rounding:
        kind = model.results[0]
        operands.append(mode >> 2 & 3 if kind in ("f16", "f16hi", "f64") else mode & 3)
    return operands


def evaluated(model: Model, operands: Sequence[Number]) -> list[Any]:
    expected = model.function(*operands)
    return [expected] if len(model.results) == 1 else list(expected)


def is_flushed(name: str, kind: str, mode: int) -> bool:
    return not alu_models.obeyed_mode(name, mode) & (0x20 if kind == "f32" else 0x80)


def rounding_of(kind: str, mode: int) -> int:
    return mode >> 2 & 3 if kind in ("f16", "f16hi", "f64") else mode & 3


def lane_results(row: np.ndarray, model: Model) -> list[int]:
    """A value of what was stored for each result."""
    words = [int(word) for word in row]
    return [words[0] | words[1] << 32, *[words[2]] * (len(model.results) - 1)] if model.results[0] != "mask" else [words[2]]


def every(name: str) -> bool:
    return True


def failures(target: str, mode: int, chosen: Callable[[str], bool] = every) -> tuple[list[str], set[str]]:
    """What differs from the models, and the mnemonics that were compared."""
    alu_models.set_machine(target, mode)
    rows, results = run(target, mode)
    wrong, seen = [], set()
    for number, (mnemonic, name, model) in enumerate(rows):
        if not chosen(name):
            continue
        seen.add(mnemonic)
        kind = model.results[0]
        for lane in range(LANES):
            operands = lane_operands(name, ROWS[name].format, model, PLAIN, lane, wave_of(target), mode)
            expected = evaluated(model, operands)
            actual = lane_results(results[number, lane], model)
            if not all(matches(k, got, want, model, rounding_of(kind, mode), is_flushed(name, kind, mode))
                       for k, got, want in zip(model.results, actual, expected, strict=True)):
                wrong.append(f"{mnemonic} lane {lane}: {[hex(v) for v in actual]}, expected {expected} of {operands}")
                break
    return wrong, seen


def coverage(target: str) -> set[str]:
    """Mnemonics that `test_values` compares."""
    return {mnemonic for mnemonic, _, _ in programs(target)[0]}


@pytest.mark.parametrize("target", [target if target in QUICK else pytest.param(target, marks=pytest.mark.slow) for target in TARGETS])
def test_values(target: str) -> None:
    # chips of a generation lack some instructions: that LLVM says so is the only excuse
    refused = {mnemonic: text for mnemonic, text in programs(target)[2].items() if "not supported on this GPU" not in text}
    wrong, seen = failures(target, 0xF0)
    print(f"{target}: {len(seen)} vector mnemonics")
    assert not wrong, f"{len(wrong)} of {len(seen)}\n" + "\n".join(wrong[:60])
    assert not refused, refused
