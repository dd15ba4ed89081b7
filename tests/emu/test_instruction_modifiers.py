"""Every vector ALU instruction of every generation in every form, with every modifier that LLVM takes for it, against the models of
``alu_models``; and the fast engine against the reference engine, bit for bit.

What has no effect although LLVM takes it, by the ISA documents: the output scale and clamp of comparisons (clamp there asks for exceptions) and of
integers that cannot overflow; signs of packed integers; op_sel of 32-bit operands and results.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import alu_models
import numpy as np
import pytest
from alu_models import Model
from exact_floats import SIZES, encode, is_nan
from machine_code import assemble_each
from modifiers import BYTE_RESULTS, Variant, bits_of, is_written, limits, selected_result, source_lane, variants
from test_alu_values import (
    LANES,
    M32,
    ROWS,
    TARGETS,
    evaluated,
    execute,
    inputs,
    instruction_text,
    is_flushed,
    lane_operands,
    lane_results,
    matches,
    rounding_of,
    rows_of,
    wave_of,
)
from test_float_modes import modified

from pyaco.isa.table import LEVELS

MODE = 0x1F0
FLUSHED = 0x100                       # denormals become zeros: the output scale works
QUICK = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
#: Of DPP and SDWA, the default run takes a few variants of each instruction.
SHARE = 1 if os.environ.get("PYACO_EXHAUSTIVE") else 9
LANE_STEP = 1 if os.environ.get("PYACO_EXHAUSTIVE") else 7
Case = tuple[str, str, Model, Variant]


def level_of(target: str) -> int:
    return LEVELS[TARGETS[target]]


def is_chosen(name: str, variant: Variant, number: int) -> bool:
    return variant.form not in ("sdwa", "dpp", "e64_dpp") or (zlib.crc32(name.encode()) + number) % SHARE == 0


@cache
def cases(target: str) -> tuple[list[Case], list[bytes], set[tuple[str, str]]]:
    """The variants that LLVM assembles, their code, and what they are without their modifiers' numbers."""
    wave, level = wave_of(target), level_of(target)
    wanted = [(mnemonic, name, model, variant) for mnemonic, name, model in rows_of(target) if not name.startswith("v_dual_")
              for number, variant in enumerate(variants(name, ROWS[name].format, model.sources, model.results, level))
              if is_chosen(name, variant, number)]
    codes: dict[int, bytes] = {}
    for dotted in (True, False) if level >= 110 else (False,):
        left = [number for number in range(len(wanted)) if number not in codes]
        texts = ["\n".join(instruction_text(mnemonic, ROWS[name], model, target, wave, variant, dotted))
                 for mnemonic, name, model, variant in (wanted[number] for number in left)]
        made, errors = assemble_each(texts, target, wave, ",+real-true16" if level >= 110 else "")
        codes |= {number: made[index] for index, number in enumerate(left) if index not in errors}
    taken = sorted(codes)
    return [wanted[number] for number in taken], [codes[number] for number in taken], {(wanted[n][1], str(wanted[n][3])) for n in taken}


@cache
def results_of(target: str, mode: int, engine: str) -> np.ndarray:
    return execute(target, cases(target)[1], mode, engine)


# ------------------------------------------------------------------------------------------------------------- the model
def zeroes_high_half(name: str, level: int) -> bool | None:
    """Whether a 16-bit result clears the other half of its register; None: it depends on the instruction."""
    if name == "v_sat_pk_u8_i16":
        return level < 110
    return None if level < 100 else False


def output_bits(kind: str, bits: int, variant: Variant, mode: int, target: str) -> int:
    """A float result behind its modifiers."""
    return modified(kind, bits, variant.output, mode, target == "gfx1200") if variant.output else bits


def whole_registers(case: Case, result: int, lane: int, actual: int, target: str) -> int:
    """The register after a result of up to 32 bits was written."""
    _, name, model, variant = case
    old = inputs()[3][lane] & M32
    kind = model.results[0]
    if variant.form == "sdwa":
        return selected_result(variant, old, result)
    if name in BYTE_RESULTS:
        shift = 8 * (variant.high >> 3)                     # the third bit that the text lists is bit 2 of op_sel here
        return old & ~(0xFF << shift) | (result & 0xFF) << shift
    if kind == "f16hi":
        return old & 0xFFFF | (result & 0xFFFF) << 16
    if kind not in ("u16", "f16", "f16bits", "bf16bits", "fp8x2", "bf8x2"):
        return result & M32
    result &= 0xFFFF
    if variant.high & 8:
        return old & 0xFFFF | result << 16
    zeroes = zeroes_high_half(name, level_of(target))
    if zeroes is None:
        zeroes = actual >> 16 == 0
    return result if zeroes else old & 0xFFFF0000 | result


PARTS = {"f16x2": ("f16", 16), "bf16x2": ("bf16", 16), "f32x2": ("f32", 32)}


def expected_bits(case: Case, kind: str, wanted: Any, mode: int, target: str) -> int:
    """The bits of a result that is exact."""
    _, name, _, variant = case
    if kind in ("f16", "f32", "f64", "f16hi"):
        base = kind.removesuffix("hi")
        return output_bits(base, encode(base, wanted, rounding_of(kind, mode), is_flushed(name, kind, mode)), variant, mode, target)
    if kind in PARTS and variant.output:
        part, width = PARTS[kind]
        mask = (1 << width) - 1
        return sum(output_bits(part, wanted >> shift & mask, variant, mode, target) << shift for shift in (0, width))
    if kind in PARTS or kind.endswith("bits"):
        return wanted
    if kind in ("fp8x2", "bf8x2"):
        return sum((part & 255) << 8 * index for index, part in enumerate(wanted))
    size = 1 if kind == "mask" else bits_of(kind)
    if variant.output == " clamp" and kind != "mask" and not name.startswith("v_pk_"):
        bounds = limits(name, size)
        wanted = max(bounds[0], min(bounds[1], wanted)) if bounds else wanted
    return int(wanted) & (1 << size) - 1


def agrees(case: Case, lane: int, stored: np.ndarray, mode: int, target: str) -> str:
    """What differs from the model in a lane; an empty string: nothing."""
    _, name, model, variant = case
    wave = wave_of(target)
    actual = lane_results(stored, model)
    kinds = model.results
    if variant.control:
        found = source_lane(variant.control, lane % wave, wave) is not None
        if not is_written(variant.control, lane % wave, found):
            kept = inputs()[3][lane]
            wide = kinds[0] == "f32x2" or bits_of(kinds[0]) == 64
            expected = [kept if wide else kept & M32 | inputs()[3][lane] & ~M32 if kind != "mask" else 0 for kind in kinds]
            return "" if actual == expected else f"{[hex(v) for v in actual]}, expected to stay {[hex(v) for v in expected]}"
    operands = lane_operands(name, ROWS[name].format, model, variant, lane, wave, mode)
    alu_models.clamps = variant.output == " clamp"
    expected = evaluated(model, operands)
    alu_models.clamps = False
    if expected[0] is None:
        return ""
    texts = []
    for index, (kind, wanted) in enumerate(zip(kinds, expected, strict=True)):
        if model.ulp and variant.written != "DWORD":
            continue                                        # a part of what is not exact
        if model.ulp:
            shift = 16 if kind == "f16" and variant.high & 8 else 0
            same = matches(kind, actual[index] >> shift, wanted, model, rounding_of(kind, mode), is_flushed(name, kind, mode))
            texts += [] if same else [f"{actual[index]:#x} is not near {wanted}"]
            continue
        bits = expected_bits(case, kind, wanted, mode, target)
        if index == 0 and kind != "mask" and not (kind == "f32x2" or bits_of(kind) == 64):
            got, bits = actual[0] & M32, whole_registers(case, bits, lane, actual[0] & M32, target)
        else:
            got = actual[index]
        if got != bits and not same_nan(case, kind, got, bits, lane, target, wanted):
            texts.append(f"{got:#x}, expected {bits:#x} of {operands}")
    return "; ".join(texts)


def same_nan(case: Case, kind: str, got: int, bits: int, lane: int, target: str, wanted: Any) -> bool:
    """Whether a result is another NaN than the model's, which does not say which."""
    variant = case[3]
    if kind in ("fp8x2", "bf8x2"):
        shift = 16 if variant.high & 8 else 0
        parts = [(got >> shift + 8 * index & 255, part) for index, part in enumerate(wanted)]
        nans = (127,) if kind == "fp8x2" else (125, 126, 127)
        low = 0xFFFF << shift
        return got & ~low == bits & ~low and all(one == part or (part < 0 and one & 127 in nans) for one, part in parts)
    form, width = PARTS.get(kind, (kind.removesuffix("hi").removesuffix("bits"), SIZES.get(kind.removesuffix("hi").removesuffix("bits"), 0)))
    if form not in SIZES:
        return False
    mask = (1 << width) - 1
    if variant.form == "sdwa" and variant.written != "DWORD":           # a part of the result
        whole = wanted if isinstance(wanted, int) else encode(form, wanted)
        return any(is_nan(form, whole >> shift & mask) for shift in range(0, 64 if kind == "f32x2" else 32, width))
    return all((got >> shift & mask) == (bits >> shift & mask) or (is_nan(form, got >> shift & mask) and is_nan(form, bits >> shift & mask))
               for shift in range(0, 64 if kind in ("f64", "f32x2") else 32, width))


def is_undocumented(name: str, variant: Variant, mode: int) -> bool:
    """Signs of packed halves outside of VOP3P, which has a bit for each half: which one they are for is not said; nor which steps of a dot
    product of halves flush."""
    if name in ("v_dot2_f16_f16", "v_dot2_bf16_bf16") and mode == FLUSHED:
        return True
    return bool(variant.negative or variant.absolute) and name in ("v_dot2_f16_f16", "v_dot2_bf16_bf16", "v_dot2c_f32_f16", "v_dot2c_f32_bf16",
                                                                   "v_pk_fmac_f16")


# ----------------------------------------------------------------------------------------------------------------- tests
def parameters() -> list[Any]:
    return [pytest.param(target, marks=() if target in QUICK else pytest.mark.slow) for target in TARGETS]


FIELDS = {"n": "negative", "a": "absolute", "o": "high", "h": "other_high"}


def table_variants(letters: str) -> Iterator[Variant]:
    """What ``isa/data/opcodes_variants.txt`` says that a long form takes, one modifier at a time."""
    for letter, slots in re.findall(r"([a-z])(\d*)", letters):
        if letter in FIELDS:
            for slot in slots:
                modifier: dict[str, Any] = {FIELDS[letter]: 1 << int(slot)}
                yield Variant("e64", **modifier)
        else:
            yield Variant("e64", output={"c": " clamp", "m": " mul:2"}[letter])


@pytest.mark.parametrize("target", parameters())
def test_all_are_there(target: str) -> None:
    """Every modifier that the ISA table gives to the long form of an instruction is among the variants that LLVM assembled."""
    generation = TARGETS[target]
    taken = cases(target)[2]
    missing = []
    for _, name, model in rows_of(target):
        letters = ROWS[name].variants_of(generation).get("e64", "")
        if not model.text and not name.startswith("v_dual_"):
            missing += [f"{name} [{variant}]" for variant in table_variants(letters) if (name, str(variant)) not in taken]
    assert not missing, missing
    print(f"{target}: {len(taken)} variants of {len({name for name, _ in taken})} instructions")


@pytest.mark.parametrize("target", parameters())
@pytest.mark.parametrize("mode", [MODE, FLUSHED])
def test_modifiers(target: str, mode: int) -> None:
    """Results of every variant, and the rest of the registers that they are part of."""
    alu_models.set_machine(target, mode)
    rows, results = cases(target)[0], results_of(target, mode, "reference")
    wrong = []
    compared = 0
    for number, case in enumerate(rows):
        _, name, model, variant = case
        if (model.ulp and variant.output) or is_undocumented(name, variant, mode):
            continue                                        # output modifiers of what is not exact: from the result without them, test_float_modes
        compared += 1
        for lane in range(number % LANE_STEP, LANES, LANE_STEP):
            text = agrees(case, lane, results[number, lane], mode, target)
            if text:
                wrong.append(f"{name} [{variant}] lane {lane}: {text}")
                break
    print(f"{target} MODE {mode:#x}: {compared} variants")
    assert not wrong, f"{len(wrong)} of {compared}\n" + "\n".join(wrong[:60])


@pytest.mark.parametrize("target", parameters())
@pytest.mark.parametrize("mode", [MODE, FLUSHED, 0x3F0])
def test_engines_agree(target: str, mode: int) -> None:
    reference, fast = (results_of(target, mode, engine) for engine in ("reference", "fast"))
    wrong = [f"{name} [{variant}]" for number, (_, name, _, variant) in enumerate(cases(target)[0])
             if not np.array_equal(reference[number], fast[number])]
    assert not wrong, f"{len(wrong)} of {len(reference)}\n" + "\n".join(wrong[:60])
