"""What MODE makes of every float instruction: rounding, denormals, NaNs, clamp and omod, by the ISA table and the models of ``alu_models``.

NaNs and the IEEE mode: AMD, "RDNA3" and "RDNA4" Instruction Set Architecture, pseudocode of V_MIN_F32, V_MIN_NUM_F32 and V_MED3_F32.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from alu_models import Model
from exact_floats import FORMATS, SIZES, decode, encode, is_nan
from test_alu_values import GFX9, LANES, TARGETS, failures, inputs, rows_of, run

from pyaco.isa import opcodes

CHIPS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
DX10_CLAMP, IEEE = 0x100, 0x200
ROUNDINGS = [0xF0 | rounding | rounding << 2 for rounding in (1, 2, 3)] + [0xF0 | 1 | 2 << 2]
DENORMALS = [0x00, 0xC0, 0x30, 0xD0, 0xE0, 0x70, 0xB0]
#: Names of float instructions: a float type in them, or an operation that only floats have.
FLOAT = re.compile(r"_(pk_)?(b?f16|f32|f64|fp8|bf8)|_legacy_f|_norm_")
#: Float instructions that MODE has no say in, and those whose rules other tests have.
OWN_RULES = {
    r"v_cmpx?_class_": "look at bits",
    r"v_(pack_b32_f16|mad_legacy_[iu]16)": "integers",
    r"v_dot2_b?f16": "how the sum is rounded on its way is not documented: test_alu_values",
    r"v_cvt_(pk_|sr_)?(f32_)?(fp8|bf8)": "8-bit floats round by themselves: test_own_rounding",
    r"v_div_(scale|fixup)_": "steps of a division, which compilers run with denormals: test_vector_alu",
    r"v_trig_preop_": "bits of 2 / pi: test_vector_alu",
    r"v_(s?wmma|swmmac)": "matrices: test_matrix",
    r"v_interp_": "pixel shaders: test_small_floats",
}
NUMBER_WINS = re.compile(r"(min|max|med3|minmax|maxmin)(3)?(_num)?_f(16|32|64)|v_(maxmin|minmax)_")


def float_rows(target: str) -> list[str]:
    """Names of all vector float instructions of a chip."""
    generation = TARGETS[target]
    return [row.name for row in opcodes.rows()
            if row.name.startswith("v_") and FLOAT.search(row.name) and "encode_only" not in row.flags
            and not (target == "gfx900" and "gfx906" in row.flags)
            and (generation in row.numbers or row.is_dual_half(generation))]


def rule_of(name: str) -> str | None:
    return next((reason for pattern, reason in OWN_RULES.items() if re.match(pattern, name)), None)


def obeys_mode(name: str) -> bool:
    return FLOAT.search(name) is not None and rule_of(name) is None


@pytest.mark.parametrize("target", CHIPS)
def test_every_instruction(target: str) -> None:
    """Every float instruction of the ISA table has a model that `test_mode` compares, or rules of its own."""
    compared = {name for _, name, _ in rows_of(target) if obeys_mode(name)}
    missing = [name for name in float_rows(target) if name not in compared and rule_of(name) is None]
    print(f"{target}: {len(compared)} of {len(float_rows(target))} float instructions obey MODE")
    assert not missing


def some_slow(modes: list[int], quick: set[tuple[str, int]]) -> list[Any]:
    """Every chip in every mode, all but a few of them slow."""
    return [pytest.param(target, mode, marks=() if (target, mode) in quick else pytest.mark.slow) for target in CHIPS for mode in modes]


@pytest.mark.parametrize(("target", "mode"), some_slow([*ROUNDINGS, *DENORMALS], {("gfx1100", 0xC0)}))
def test_mode(target: str, mode: int) -> None:
    """Rounding of singles and of halves and doubles, flush of sources and of results of each."""
    wrong, seen = failures(target, mode, obeys_mode)
    print(f"{target} MODE {mode:#04x}: {len(seen)} mnemonics")
    assert not wrong, f"{len(wrong)} of {len(seen)}\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("target", CHIPS)
def test_own_rounding(target: str) -> None:
    """8-bit floats give the same in every rounding mode."""
    rows, default = run(target, 0x1F0)
    chosen = [(number, name) for number, (_, name, _) in enumerate(rows) if "test_own_rounding" in (rule_of(name) or "")]
    for mode in (0x1F5, 0x3FA, 0x0FF):
        results = run(target, mode)[1]
        assert not [name for number, name in chosen if not np.array_equal(results[number], default[number])], hex(mode)


# ------------------------------------------------------------------------------------------------------------------ NaNs
def quiet(kind: str, bits: int) -> int:
    return bits | 1 << FORMATS[kind][0] - 2


def signals(kind: str, bits: int) -> bool:
    return is_nan(kind, bits) and quiet(kind, bits) != bits


def smaller(kind: str, a: int, b: int, least: bool) -> int:
    """The minimum or maximum of bits in IEEE mode."""
    for bits in (a, b):
        if signals(kind, bits):
            return quiet(kind, bits)
    if is_nan(kind, b):
        return a
    if is_nan(kind, a):
        return b
    first, second = ((decode(kind, bits), 1 - (bits >> SIZES[kind] - 1)) for bits in (a, b))
    return a if (first < second) == least else b


def selected(name: str, kind: str, bits: list[int]) -> int:
    """Min, max, median of bits in IEEE mode."""
    if len(bits) == 2:
        return smaller(kind, bits[0], bits[1], least="min" in name)
    if "med3" in name:                                      # of NaNs: the minimum of three
        first = second = True
    else:
        first, second = {"minmax": (True, False), "maxmin": (False, True)}.get(re.split("_", name)[1], ("min3" in name,) * 2)
    return smaller(kind, smaller(kind, bits[0], bits[1], first), bits[2], second)


def has_one_type(name: str, model: Model) -> bool:
    """Whether all sources and the result are floats of one type."""
    kinds = {kind.removeprefix("old_") for kind in (*model.sources, *model.results)}
    return obeys_mode(name) and len(kinds) == len(model.results) == 1 and kinds <= {"f16", "f32", "f64"}


def expected_nan(name: str, model: Model, bits: list[int], ieee: bool) -> int:
    """What an instruction makes of sources of which at least one is a NaN."""
    kind = model.results[0]
    if ieee and NUMBER_WINS.search(name) and any(signals(kind, value) for value in bits):
        return selected(name, kind, bits)
    result = model.function(*(decode(kind, value) for value in bits), *([0] if model.uses_rounding else []))
    number = encode(kind, result)                           # min, max and legacy products of 0 give one
    return number if not is_nan(kind, number) else quiet(kind, next(value for value in bits if is_nan(kind, value)))


@pytest.mark.parametrize("target", CHIPS)
@pytest.mark.parametrize("mode", [0x1F0, 0x3F0])
def test_nan(target: str, mode: int) -> None:
    """A NaN result is the first NaN source, quiet; min, max and median give a number instead, unless a NaN signals in IEEE mode."""
    ieee = bool(mode & IEEE) and target != "gfx1200"
    rows, results = run(target, mode)
    wrong, seen, lanes = [], set(), 0
    for number, (mnemonic, name, model) in enumerate(rows):
        if not has_one_type(name, model):
            continue
        kind = model.results[0]
        mask = (1 << SIZES[kind]) - 1
        for lane in range(LANES):
            first = lane if not name.startswith("v_s_") else lane - lane % (64 if target in GFX9 else 32)
            bits = [inputs()[3 if k.startswith("old_") else slot][first] & mask for slot, k in enumerate(model.sources)]
            if not any(is_nan(kind, value) for value in bits):
                continue
            seen.add(name)
            lanes += 1
            expected = expected_nan(name, model, bits, ieee)
            got = (int(results[number, lane, 0]) | int(results[number, lane, 1]) << 32) & mask
            if got != expected:
                wrong.append(f"{mnemonic} lane {lane} {[hex(value) for value in bits]}: {got:#x}, expected {expected:#x}")
                break
    print(f"{target} MODE {mode:#05x}: NaNs of {len(seen)} instructions in {lanes} lanes")
    assert len(seen) > 40 and not wrong, "\n".join(wrong[:40])


# ------------------------------------------------------------------------------------------------------- clamp and omod
def modified(kind: str, bits: int, suffix: str, mode: int, gfx12: bool) -> int:
    """What the modifier makes of a result."""
    flush = not mode & (0x20 if kind == "f32" else 0x80)
    if "clamp" not in suffix:
        if (mode & IEEE and not gfx12) or not flush:
            return bits
        scale = {" mul:2": 2.0, " mul:4": 4.0, " div:2": 0.5}[suffix]
        return bits if is_nan(kind, bits) else encode(kind, decode(kind, bits) * scale, flush=True) | bits & 1 << SIZES[kind] - 1
    if is_nan(kind, bits):
        return 0 if mode & DX10_CLAMP or gfx12 else bits
    return encode(kind, min(max(decode(kind, bits), 0.0), 1.0)) if decode(kind, bits) > 0 else 0


@pytest.mark.parametrize(("target", "mode"), some_slow([0x1F0, 0x0F0, 0x300, 0x100], {("gfx900", 0x1F0), ("gfx1030", 0x0F0), ("gfx1100", 0x100)}))
def test_modifiers(target: str, mode: int) -> None:
    """Clamp and omod of every instruction that takes them, on both engines, from its own result without them."""
    rows, plain = run(target, mode)
    numbers = {name: number for number, (_, name, _) in enumerate(rows)}
    for suffix in (" clamp", " mul:2", " div:2"):
        changed, results = run(target, mode, suffix)
        _, fast = run(target, mode, suffix, "fast")
        wrong, count = [], 0
        for number, (mnemonic, name, model) in enumerate(changed):
            kind = model.results[0]
            if model.text or kind not in ("f16", "f32", "f64") or name.startswith(("v_s_", "v_dual_")):
                continue
            count += 1
            mask = (1 << SIZES[kind]) - 1
            for lane in range(LANES):
                words = plain[numbers[name], lane], results[number, lane], fast[number, lane]
                before, after, other = ((int(row[0]) | int(row[1]) << 32) & mask for row in words)
                expected = modified(kind, before, suffix, mode, target == "gfx1200")
                if after != expected or other != after:
                    wrong.append(f"{mnemonic}{suffix} lane {lane} of {before:#x}: {after:#x}, fast {other:#x}, expected {expected:#x}")
                    break
        print(f"{target} MODE {mode:#05x}{suffix}: {count} instructions")
        assert count > 50 and not wrong, f"{len(wrong)} of {count}\n" + "\n".join(wrong[:30])


@pytest.mark.parametrize(("target", "mode"), some_slow([0x1F0, 0x3F0, 0x0F0, 0x200, 0x3FF], {("gfx1100", 0x3F0)}))
def test_engines_agree(target: str, mode: int) -> None:
    """The fast engine gives the same bits in every mode."""
    rows, results = run(target, mode)
    _, fast = run(target, mode, "", "fast")
    assert not [name for number, (_, name, _) in enumerate(rows) if not np.array_equal(results[number], fast[number])]
