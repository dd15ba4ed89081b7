"""Matrix instructions have steps of their own in the fast engine: the same bits as the reference engine's, for every opcode, modifier and kind of
number, and for numbers whose sums are NaNs, which those steps leave alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from test_matrix import COVERED, SPREAD, parts
from test_matrix_blocks import TARGETS

from pyaco import isa
from pyaco._core.emu_fast.engine import FastEngine
from pyaco.emu import Device
from pyaco.emu.device import ENGINES
from pyaco.isa import opcodes

ROWS, WORKGROUPS = 104, 6
#: First registers of A, B, scales or index, C, D.
LEFT, RIGHT, INDEX, ADDEND, RESULT = 8, 24, 40, 44, 76
WIDTH = {"f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8, "iu8": 8, "iu4": 4, "f32": 32, "xf32": 32, "i32": 32, "f64": 64,
         "fp6": 6, "bf6": 6, "fp4": 4, "f8f6f4": 8}  # fmt: skip
MIXED = ("fp8", "bf8", "fp6", "bf6", "fp4")


class Case(NamedTuple):
    """One instruction."""

    target: str
    wave: int
    name: str
    kinds: tuple[str, str, str]       # of A, B and the sum
    sizes: tuple[int, int, int]       # registers of A, B and the sum
    flags: str = ""
    addend: str = ""                  # a constant as C
    more: str = ""                    # operands after C
    result: int = RESULT
    tied: bool = False                # C is D, and its operand is the index
    file: str = "v"                   # of all but the index

    def text(self) -> str:
        def span(first: int, size: int, file: str) -> str:
            return f"{file}[{first}:{first + size - 1}]" if size > 1 else f"{file}{first}"

        inputs = "v" if self.target == "gfx908" else self.file
        addend = self.addend or span(ADDEND, self.sizes[2], self.file)
        operands = [span(self.result, self.sizes[2], self.file), span(LEFT, self.sizes[0], inputs), span(RIGHT, self.sizes[1], inputs),
                    f"v{INDEX}" if self.tied else addend]  # fmt: skip
        return f"{self.name} {', '.join(operands)}{self.more}{' ' if self.flags else ''}{self.flags}"


def numbers(kind: str, count: int, style: int, random: np.random.Generator) -> np.ndarray:
    """Dwords of elements: 0 any bits; 1 finite; 2 zeros, denormals, extremes and infinities of one sign; 3 small integers and ties."""
    words = random.integers(0, 1 << 32, count, dtype=np.uint32)
    if style == 0 or kind in ("i8", "iu8", "iu4", "i32"):
        return words
    if kind in ("f16", "bf16"):
        special = np.array([0, 0x8000, 1, 0x8001, 0x0400, 0x7BFF, 0x7C00, 0x3C00] if kind == "f16" else
                           [0, 0x8000, 1, 0x8001, 0x0080, 0x7F7F, 0x7F80, 0x3F80], np.uint16)  # fmt: skip
        halves = words.view(np.uint16)
        if style == 1:
            return (halves & 0xBFFF).view(np.uint32)
        if style == 2:
            return random.choice(special, 2 * count).view(np.uint32)
        values = random.integers(-3, 4, 2 * count).astype(np.float32) * 2.0 ** random.integers(-3, 4, 2 * count)
        found = values.astype(np.float16).view(np.uint16) if kind == "f16" else (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return found.view(np.uint32)
    if kind in ("f32", "xf32"):
        if style == 1:
            return (random.standard_normal(count) * 2.0 ** random.integers(-60, 60, count)).astype(np.float32).view(np.uint32)
        if style == 2:
            return random.choice(np.array([0, 0x80000000, 1, 0x80000001, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x3F800000], np.uint32), count)
        singles: np.ndarray = (random.integers(-3, 4, count) + random.choice([0, 2.0**24, 2.0**-11 + 1], count)).astype(np.float32)
        return singles.view(np.uint32)
    if kind == "f64":
        if style == 2:
            doubles = random.choice(np.array([0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1.7e308, np.inf, 1.0]), count // 2 + 1)
        else:
            doubles = random.standard_normal(count // 2 + 1) * 2.0 ** random.integers(-30, 30, count // 2 + 1)
        return doubles.view(np.uint32)[:count]
    return (words.view(np.uint8) & (0xBB if style == 1 else 0xFF if style == 2 else 0x9F)).view(np.uint32)


def setup(case: Case) -> np.ndarray:
    """Registers of every workgroup's wave, [workgroup][row][lane]."""
    random = np.random.default_rng(sum(map(ord, case.name)))
    values = random.integers(0, 1 << 32, (WORKGROUPS, ROWS, case.wave), dtype=np.uint32)
    for group in range(WORKGROUPS):
        style = (1, 3, 2, 0, 1, 3)[group]
        for first, size, kind in ((LEFT, 16, case.kinds[0]), (RIGHT, 16, case.kinds[1]), (ADDEND, 32, case.kinds[2]), (RESULT, 28, case.kinds[2])):
            rows = numbers(kind, size * case.wave, style, random).reshape(size, case.wave)
            if kind == "f64":                               # low and high dwords are in rows of their own
                rows = rows.reshape(size // 2, case.wave, 2).transpose(0, 2, 1).reshape(size, case.wave)
            values[group, first : first + size] = rows
        if case.more and style != 0:
            values[group, INDEX : INDEX + 2] = random.integers(100, 150, (2, case.wave, 4)).astype(np.uint8).view(np.uint32)[..., 0]
    return values


def program(case: Case, overflow: bool) -> bytes:
    """Every lane loads its rows, which the instruction then reads; whatever it may have written is stored."""
    gfx9, late = case.target.startswith("gfx9"), case.target.startswith("gfx12")
    load, store, add = ("global_load_dword", "global_store_dword", "v_add_u32") if gfx9 else ("global_load_b32", "global_store_b32", "v_add_nc_u32")
    wait = "s_wait_loadcnt 0" if late else "s_waitcnt vmcnt(0)"
    shift = {32: 7, 64: 8}[case.wave]
    number = "ttmp9" if late else "s4"
    lines = ["v_and_b32 v1, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v1", f"s_mul_i32 s5, {number}, {ROWS << shift}", f"{add} v1, s5, v1"]
    files = ["v", "a"] if case.file == "a" else ["v"]
    if overflow:
        lines.append("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1")
    lines.append("v_mov_b32 v3, v1")
    for row in range(ROWS):
        lines += [f"{load} v2, v3, s[0:1]", wait]
        if row >= LEFT:
            lines += [f"v_accvgpr_write_b32 a{row}, v2" if file == "a" else f"v_mov_b32 v{row}, v2" for file in files]
        lines.append(f"{add} v3, {1 << shift}, v3")
    if gfx9:
        lines.append("s_mov_b64 s[6:7], exec")
        lines.append("s_mov_b64 exec, 5")                   # matrix operations of CDNA do not look at EXEC
    lines.append(case.text())
    if gfx9:
        lines.append("s_mov_b64 exec, s[6:7]")
    lines.append("v_mov_b32 v3, v1")
    for row in range(ROWS):
        if row >= LEFT:
            lines.append(f"v_accvgpr_read_b32 v2, a{row}" if case.file == "a" else f"v_mov_b32 v2, v{row}")
            lines.append(f"{store} v3, v2, s[2:3]")
        lines.append(f"{add} v3, {1 << shift}, v3")
    return isa.assemble("\n".join([*lines, "s_endpgm", ""]), case.target, wave_size=case.wave)


def compare(case: Case, float_mode: int, overflow: bool = False) -> None:
    """Run it in both engines."""
    values, found = setup(case), []
    for engine in ENGINES:
        device = Device(case.target, engine, 1)
        source, results = device.buffer(values), device.zeros(values.nbytes)
        user = [word for buffer in (source, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
        device.run(program(case, overflow), (WORKGROUPS, 1, 1), (case.wave, 1, 1), user_sgprs=user, wave_size=case.wave, float_mode=float_mode,
                   workgroup_ids=(True, False, False), packed_ids=not case.target.startswith("gfx908"))  # fmt: skip
        found.append(results.numpy().view(np.uint32).reshape(values.shape))
    wrong = np.argwhere(found[0] != found[1])
    assert not len(wrong), (case.text(), hex(float_mode), wrong[:3], [hex(words[tuple(wrong[0])]) for words in found])
    assert (found[0][0, case.result : case.result + case.sizes[2]] != values[0, case.result : case.result + case.sizes[2]]).any()


# --------------------------------------------------------------------------------------------------------- WMMA, SWMMAC
def wave_cases(target: str, wave: int) -> Iterator[Case]:
    late = target in SPREAD
    for name in COVERED[target]:
        total, left, right, depth = parts(name)
        sparse = "swmmac" in name
        groups = wave // 16 if late else 1
        if left == "iu4" and depth == (32 if sparse else 16):
            groups = min(groups, 2)
        places = depth // groups
        split = wave == 64 and name == "v_swmmac_i32_16x16x32_iu4"
        sizes = (-(-places * WIDTH[left] // (64 if sparse else 32)), -(-(8 if split else places) * WIDTH[right] // 32),
                 256 // wave // (2 if late and WIDTH[total] == 16 else 1))  # fmt: skip
        case = Case(target, wave, name, (left, right, total), sizes, tied=sparse)
        flags = [""]
        if left.startswith("iu"):
            flags = [f"neg_lo:[{a},{b},0]{clamp}" for a in (0, 1) for b in (0, 1) for clamp in ("", " clamp")]
        elif WIDTH[left] == 16 and not sparse:
            flags += [f"neg_{half}:[{a},{b},{c}]" for half in ("lo", "hi") for a, b, c in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))]
        elif not sparse:
            flags += ["neg_lo:[0,0,1]", "neg_hi:[0,0,1]", "neg_lo:[0,0,1] neg_hi:[0,0,1]"]
        if sparse and places < 32:
            flags += [f"index_key:{key}" for key in range(1, 32 // places if wave == 64 or places < 16 else 2)]
        if WIDTH[total] == 16 and not late:
            flags.append("op_sel:[0,0,1]")
        yield from (case._replace(flags=flag) for flag in flags)
        yield case._replace(result=LEFT)
        yield case._replace(result=RIGHT)
        if not sparse:
            yield from (case._replace(addend=addend) for addend in ("0", "-3", *([] if total == "i32" else ["2.0", "-0.5"])))


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("target", COVERED)
def test_wave_matrices(target: str, wave: int) -> None:
    for number, case in enumerate(wave_cases(target, wave)):
        compare(case, (0xF0, 0x00, 0xF5, 0xC0)[number % 4], overflow=number % 3 == 0)


# --------------------------------------------------------------------------------------------------------- MFMA, SMFMAC
def block_flags(row: opcodes.Row, target: str) -> list[str]:
    assert row.matrix is not None
    blocks, kinds = row.matrix.blocks, row.matrix.types
    flags = [""]
    if "smfmac" in row.name:
        return [*flags, "abid:1", "cbsz:1 abid:1"]
    if kinds[2] == "f64":
        return [*flags, *(["neg:[1,0,0]", "neg:[0,1,0]", "neg:[0,0,1]", "neg:[1,1,1]"] if target in ("gfx942", "gfx950") else [])]
    for cbsz in range(1, blocks.bit_length()):
        flags += [f"cbsz:{cbsz} abid:{abid}" for abid in sorted({0, (1 << cbsz) - 1})]
    if target != "gfx950" or "xf32" not in row.name:
        flags += [f"blgp:{pattern}" for pattern in (range(1, 8) if blocks > 1 or row.matrix.shape[0] == 32 else (3, 5))]
    return flags


def block_cases(target: str) -> Iterator[Case]:
    generation = TARGETS[target]
    for row in opcodes.rows():
        if not row.matrix or generation not in row.numbers or "f8f6f4" in row.matrix.types:
            continue
        size, _, depth = row.matrix.shape
        kinds, sparse = row.matrix.types, "smfmac" in row.name
        places = size * depth * row.matrix.blocks // 64
        total = size * size * row.matrix.blocks // 64 * WIDTH[kinds[2]] // 32
        sizes = (max(1, places * WIDTH[kinds[0]] // (64 if sparse else 32)), max(1, places * WIDTH[kinds[1]] // 32), total)
        case = Case(target, 64, row.spelling(generation), (kinds[0], kinds[1], kinds[2]), sizes, tied=sparse,
                    file="a" if target == "gfx908" else "v", result=RESULT if total < 32 else ADDEND)  # fmt: skip
        yield from (case._replace(flags=flag) for flag in block_flags(row, target))
        if target != "gfx908" and total < 32:
            yield case._replace(result=LEFT)
            yield case._replace(file="a")
        constants = {"i32": ["0", "-7"], "f32": ["0", "-7", "2.0", "0.15915494"], "f64": ["0", "-7", "2.0", "0.15915494309189532"]}
        yield from (case._replace(addend=addend) for addend in ([] if sparse else constants[kinds[2]]))


@pytest.mark.parametrize("target", TARGETS)
def test_blocks(target: str) -> None:
    for number, case in enumerate(block_cases(target)):
        compare(case, (0xF0, 0x00, 0xF5, 0xC0)[number % 4])


def mixed_cases() -> Iterator[Case]:
    for size, depth in ((16, 128), (32, 64)):
        for left in range(5):
            for right in range(5):
                sizes = (WIDTH[MIXED[left]], WIDTH[MIXED[right]], size * size // 64)
                case = Case("gfx950", 64, f"v_mfma_f32_{size}x{size}x{depth}_f8f6f4", (MIXED[left], MIXED[right], "f32"), sizes,
                            f"cbsz:{left} blgp:{right}")  # fmt: skip
                yield case
                byte = (left + right) % 4
                selection = f"op_sel:[{byte & 1},{byte >> 1},0] op_sel_hi:[{byte >> 1},{byte & 1},0]"
                scaled = case._replace(name=case.name.replace("mfma", "mfma_scale"), flags=f"{selection} {case.flags}")
                yield scaled._replace(more=f", v{INDEX}, v{INDEX + 1}")


def test_mixed_blocks() -> None:
    for number, case in enumerate(mixed_cases()):
        compare(case, (0xF0, 0x00, 0xC0)[number % 3])


# ------------------------------------------------------------------------------------------------------------- coverage
@pytest.mark.parametrize("shift", [-3, 2])
def test_result_over_part_of_the_addend(shift: int) -> None:
    """D in some of C's registers, but not in the same order."""
    compare(Case("gfx1100", 32, "v_wmma_i32_16x16x16_iu4", ("iu4", "iu4", "i32"), (2, 2, 8), result=ADDEND + shift), 0xF0)
    compare(Case("gfx1100", 32, "v_wmma_f32_16x16x16_f16", ("f16", "f16", "f32"), (8, 8, 8), result=ADDEND + shift), 0xF0)
    compare(Case("gfx942", 64, "v_mfma_f32_32x32x8_f16", ("f16", "f16", "f32"), (2, 2, 16), result=ADDEND + 2 * shift), 0xF0)


@pytest.mark.parametrize("target", [*COVERED, *TARGETS])
def test_every_matrix_instruction_has_a_step(target: str) -> None:
    """None of them runs in the reference engine because of what it is."""
    device = Device(target, "fast", 1)
    assert isinstance(device._engine, FastEngine)
    waves = [64] if target in TARGETS else [32, 64]
    for wave in waves:
        cases = list(block_cases(target) if target in TARGETS else wave_cases(target, wave)) + (list(mixed_cases()) if target == "gfx950" else [])
        for case in cases:
            code = isa.assemble(case.text() + "\ns_endpgm\n", target, wave_size=wave)
            words = device.buffer(np.frombuffer(code, np.uint8))
            assert device._engine.own_steps(words.address, words.address + len(code), wave)[0] == (0, True), case.text()
            device.space.release(words.address)
