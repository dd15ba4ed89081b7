"""``check_waits`` against LLVM's hazard recognizer, pair by pair: what it separates by wait states passes, and with one less does not."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hazard_pairs import CDNA, Product, functions, products

from pyaco import isa
from pyaco.emu import Device, MissingWaitError

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("llc-22") is None, reason="llc-22 is not installed")]
HEAD = """
    s_mov_b32 s12, s0
    s_and_b32 s13, s1, 0xffff
    s_mov_b32 s14, 4096
    s_mov_b32 s15, 0x27fac
    s_mov_b32 s4, 0
    v_mov_b32 v9, 0
    s_nop 7
"""
EXEC, MODE = "implicit $exec", "implicit $mode, implicit $exec"
RESULT, TOTAL = 32, 68                # first registers of D and of C


def moves(kind: str, reg: int) -> Iterator[tuple[str, str]]:
    """Vector and memory instructions that read or write a register of a matrix operation."""
    name = f"${kind}{reg}"
    if kind == "agpr":
        yield "read", f"$vgpr1 = V_ACCVGPR_READ_B32_e64 {name}, {EXEC}"
        yield "write", f"{name} = V_ACCVGPR_WRITE_B32_e64 $vgpr9, {EXEC}"
        return
    pair = f"${kind}{reg}_{kind}{reg + 1}"
    yield "read", f"$vgpr1 = V_MOV_B32_e32 {name}, {EXEC}"
    yield "write", f"{name} = V_MOV_B32_e32 $vgpr9, {EXEC}"
    yield "LDS", f"DS_WRITE_B32_gfx9 $vgpr9, {name}, 0, 0, {EXEC}"
    yield "store", f"GLOBAL_STORE_DWORD_SADDR $vgpr9, {name}, $sgpr0_sgpr1, 0, 0, {EXEC}"
    yield "load", f"{name} = GLOBAL_LOAD_DWORD_SADDR $sgpr0_sgpr1, $vgpr9, 0, 0, {EXEC}"
    for source in (pair, "$vgpr12_vgpr13"):
        yield "double", f"$vgpr10_vgpr11 = nofpexcept V_FMA_F64_e64 0, {source}, 0, {source}, 0, {source}, 0, 0, {MODE}"


def after(target: str, kind: str, other: Product, shift: int) -> Iterator[tuple[str, str]]:
    """Another matrix operation that takes the result as sum, whole or in part, as factor, or writes over it."""
    total = 8 if other.sparse else 170
    yield "A", other.text(kind, 132, RESULT, 4, total, kind)
    if other.sparse:
        yield "tied", other.text(kind, RESULT, 0, 4, 8)
        yield "tied in part", other.text(kind, RESULT + shift, 0, 4, 8)
        if kind == "vgpr":
            yield "index", other.text(kind, 132, 0, 4, RESULT)
        return
    yield "C", other.text(kind, 132, 0, 4, RESULT)
    yield "C in part", other.text(kind, 132, 0, 4, RESULT + shift)
    yield "D", other.text(kind, RESULT, 0, 4, 170)
    if target != "gfx908":
        yield "B", other.text(kind, 132, 0, RESULT, 170)


def matrix_pairs(target: str) -> Iterator[tuple[str, str]]:
    """Every matrix operation, and what may come behind it: one of every kind of matrix operation, and every kind of move."""
    every = products(target)
    kinds = {(one.row.matrix.types[0] in ("f32", "f64"), one.row.matrix.types[0], one.row.matrix.passes[CDNA[target]], one.sizes[0], one.sparse): one
             for one in every if one.row.matrix}  # fmt: skip
    for product in every:
        for kind in ("agpr",) if target == "gfx908" else ("agpr", "vgpr"):
            first = product.text(kind, RESULT, 0, 4, 8 if product.sparse else TOTAL)
            name = f"{product.row.name} {kind}"
            for reg in (RESULT,) if product.sparse else (RESULT, TOTAL):
                yield from ((f"{name} {what} {reg}", f"{first}\n{second}") for what, second in moves(kind, reg))
            for other in kinds.values():
                shift = 2 if product.sizes[0] > 2 else -2
                for what, second in after(target, kind, other, shift):
                    yield f"{name} as {what} of {other.row.name}", f"{first}\n{second}"


#: What a vector instruction leaves behind on CDNA, and who may come too early.
WRITERS = {
    "v32": f"$vgpr32 = V_MOV_B32_e32 $vgpr9, {EXEC}",
    "transcendental": f"$vgpr32 = nofpexcept V_EXP_F32_e32 $vgpr9, {MODE}",
    "word": f"$vgpr32 = V_MOV_B32_sdwa 0, $vgpr9, 0, 5, 0, 6, {EXEC}, implicit $vgpr32(tied-def 0)",
    "half": f"$vgpr32 = nofpexcept V_MAD_I16_gfx9_e64 8, $vgpr9, 0, $vgpr9, 0, $vgpr9, 0, 0, {EXEC}",
    "low half": f"$vgpr32 = nofpexcept V_MAD_I16_gfx9_e64 4, $vgpr9, 0, $vgpr9, 0, $vgpr9, 0, 0, {EXEC}",
    "byte": f"$vgpr32 = V_CVT_SR_FP8_F32_e64 0, $vgpr9, 0, $vgpr9, 4, $vgpr32, 0, {MODE}",
    "s4": f"$sgpr4_sgpr5 = V_CMP_GT_U32_e64 $vgpr9, $vgpr9, {EXEC}",
    "vcc": f"V_CMP_GT_U32_e32 $vgpr9, $vgpr9, implicit-def $vcc, {EXEC}",
    "exec": f"V_CMPX_EQ_U32_e32 $vgpr9, $vgpr9, implicit-def $vcc, implicit-def $exec, {EXEC}",
    "dot product": f"$vgpr32 = V_DOT2C_I32_I16_e32 $vgpr9, $vgpr9, $vgpr32, {EXEC}",
    "v32, doubles": f"$vgpr32 = V_MOV_B32_e32 $vgpr9, {EXEC}\n"
    f"$vgpr40_vgpr41 = V_MFMA_F64_4X4X4F64_vgprcd_e64 $vgpr0_vgpr1, $vgpr2_vgpr3, $vgpr4_vgpr5, 0, 0, 0, {MODE}",
    "a32": f"$agpr32 = V_ACCVGPR_WRITE_B32_e64 $vgpr9, {EXEC}",
    "v32 of a9": f"$vgpr32 = V_ACCVGPR_READ_B32_e64 $agpr9, {EXEC}",
    "v32, a move": f"$vgpr32 = V_MOV_B32_e32 $vgpr9, {EXEC}\n$vgpr36 = V_ACCVGPR_READ_B32_e64 $agpr9, {EXEC}",
    "v32, two moves": f"$vgpr32 = V_MOV_B32_e32 $vgpr9, {EXEC}\n$vgpr35 = V_MOV_B32_e32 $vgpr9, {EXEC}\n"
    f"$vgpr36 = V_ACCVGPR_READ_B32_e64 $agpr9, {EXEC}",
    "wide store": f"GLOBAL_STORE_DWORDX4_SADDR $vgpr9, $vgpr32_vgpr33_vgpr34_vgpr35, $sgpr0_sgpr1, 0, 0, {EXEC}",
}
READERS = {
    "v32": f"$vgpr1 = V_MOV_B32_e32 $vgpr32, {EXEC}",
    "to v32": f"$vgpr32 = V_MOV_B32_e32 $vgpr9, {EXEC}",
    "s4": f"$vgpr1 = V_MOV_B32_e32 $sgpr4, {EXEC}",
    "transcendental": f"$vgpr1 = nofpexcept V_EXP_F32_e32 $vgpr32, {MODE}",
    "DPP": f"$vgpr1 = V_MOV_B32_dpp $vgpr1, $vgpr32, 85, 15, 15, 0, {EXEC}",
    "mask s4": f"$vgpr1 = V_CNDMASK_B32_e64 0, $vgpr9, 0, $vgpr9, $sgpr4_sgpr5, {EXEC}",
    "mask vcc": f"$vgpr1 = V_CNDMASK_B32_e32 $vgpr9, $vgpr9, implicit $vcc, {EXEC}",
    "div_fmas": f"$vgpr1 = nofpexcept V_DIV_FMAS_F32_e64 0, $vgpr9, 0, $vgpr9, 0, $vgpr9, 0, 0, implicit $mode, implicit $vcc, {EXEC}",
    "readfirstlane": f"$sgpr6 = V_READFIRSTLANE_B32 $vgpr32, {EXEC}",
    "readlane": "$sgpr6 = V_READLANE_B32 $vgpr9, $sgpr4",
    "writelane": "$vgpr32 = V_WRITELANE_B32 0, 0, $vgpr32",
    "dot product": f"$vgpr32 = V_DOT2C_I32_I16_e32 $vgpr9, $vgpr9, $vgpr32, {EXEC}",
    "A": f"$vgpr60_vgpr61_vgpr62_vgpr63 = V_MFMA_F32_4X4X1F32_vgprcd_e64 $vgpr32, $vgpr2, $vgpr64_vgpr65_vgpr66_vgpr67, 0, 0, 0, {MODE}",
    "A of a32": f"$agpr60_agpr61_agpr62_agpr63 = V_MFMA_F32_4X4X1F32_e64 $agpr32, $vgpr2, $agpr64_agpr65_agpr66_agpr67, 0, 0, 0, {MODE}",
    "C of a32": f"$agpr60_agpr61_agpr62_agpr63 = V_MFMA_F32_4X4X1F32_e64 $vgpr0, $vgpr2, $agpr32_agpr33_agpr34_agpr35, 0, 0, 0, {MODE}",
    "doubles": f"$vgpr10_vgpr11 = nofpexcept V_FMA_F64_e64 0, $vgpr12_vgpr13, 0, $vgpr12_vgpr13, 0, $vgpr12_vgpr13, 0, 0, {MODE}",
    "store": f"GLOBAL_STORE_DWORD_SADDR $vgpr9, $vgpr32, $sgpr0_sgpr1, 0, 0, {EXEC}",
    "LDS": f"DS_WRITE_B32_gfx9 $vgpr9, $vgpr32, 0, 0, {EXEC}",
    "load": f"$vgpr32 = GLOBAL_LOAD_DWORD_SADDR $sgpr0_sgpr1, $vgpr9, 0, 0, {EXEC}",
    "a32": f"$vgpr1 = V_ACCVGPR_READ_B32_e64 $agpr32, {EXEC}",
    "to a32": f"$agpr32 = V_ACCVGPR_WRITE_B32_e64 $vgpr32, {EXEC}",
    "row swap": f"$vgpr32, $vgpr1 = V_PERMLANE16_SWAP_B32_e32 $vgpr32, $vgpr1, {EXEC}",
}
#: Where LLVM waits and the ISA documents do not ask for it, nor does Mesa: EXEC of a memory access, one move to an AGPR over another.
CAUTIOUS = {("exec", "store"), ("exec", "load"), ("exec", "LDS"), ("a32", "to a32")}
#: What a chip does not have.
LACKS = {
    "gfx908": {"half", "low half", "byte", "v32, doubles", "A", "row swap"},
    "gfx90a": {"byte", "row swap"},
    "gfx942": {"row swap"},
    "gfx950": set(),
}


def vector_pairs(target: str) -> Iterator[tuple[str, str]]:
    for writer, first in WRITERS.items():
        for reader, second in READERS.items():
            if not LACKS[target] & {writer, reader} and (writer, reader) not in CAUTIOUS:
                yield f"{writer} -> {reader}", f"{first}\n{second}"


class Runner:
    def __init__(self, target: str) -> None:
        self.target, self.device = target, Device(target, check_waits=True)
        self.address = self.device.space.map(np.zeros(4096, np.uint8))

    def missing(self, lines: list[str]) -> int:
        """How many wait states the first instruction to come too early lacks."""
        code = isa.assemble(HEAD + "\n".join(lines) + "\ns_waitcnt 0\ns_endpgm", self.target)
        try:
            self.device.run(code, workgroup_size=(64, 1, 1), wave_size=64, user_sgprs=[self.address & 0xFFFFFFFF, self.address >> 32], lds_bytes=1024)
        except MissingWaitError as error:
            states = error.place["wait_states"]
            assert isinstance(states, int) and states
            return states
        return 0


def weakened(lines: list[str]) -> list[str] | None:
    """With a wait state less, None where there are none."""
    places = [place for place, line in enumerate(lines) if line.startswith("s_nop")]
    if not places:
        return None
    left = int(lines[places[-1]].split()[1])
    return lines[: places[-1]] + ([f"s_nop {left - 1}"] if left else []) + lines[places[-1] + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("target", CDNA)
def test_wait_states_of_cdna(target: str) -> None:
    """Exactly as many as LLVM puts there; a thousand pairs drawn, all of them where PYACO_EXHAUSTIVE is set."""
    pairs = list(matrix_pairs(target))
    if not os.environ.get("PYACO_EXHAUSTIVE"):
        pairs = random.Random(target).sample(pairs, 1000)
    pairs += vector_pairs(target)
    runner, counts = Runner(target), Counter[str]()
    for (name, _), lines in zip(pairs, functions(target, [body for _, body in pairs]), strict=True):
        assert runner.missing(lines) == 0, (name, lines)
        weaker = weakened(lines)
        assert weaker is None or runner.missing(weaker) == 1, (name, lines)
        counts["needs wait states" if weaker else "needs none"] += 1
    print(target, dict(counts))
    assert counts["needs wait states"] > 300


#: On GFX6 and GFX7: who leaves something behind, and who may come too early.
EARLY_WRITERS = {
    "s4": f"$sgpr4 = V_READFIRSTLANE_B32 $vgpr9, {EXEC}",
    "s14": f"$sgpr14 = V_READFIRSTLANE_B32 $vgpr9, {EXEC}",
    "s14 by the scalar ALU": "$sgpr14 = S_MOV_B32 4096",
    "vcc": WRITERS["vcc"],
    "MODE": "S_SETREG_IMM32_B32 0, 6145, implicit-def $mode, implicit $mode",
    "wide store": f"BUFFER_STORE_DWORDX4_OFFEN $vgpr32_vgpr33_vgpr34_vgpr35, $vgpr9, $sgpr12_sgpr13_sgpr14_sgpr15, 0, 0, 0, 0, {EXEC}",
}
EARLY_READERS = {
    "scalar load at s4": "$sgpr20 = S_LOAD_DWORD_SGPR $sgpr0_sgpr1, $sgpr4, 0",
    "scalar load by descriptor": "$sgpr20 = S_BUFFER_LOAD_DWORD_IMM $sgpr12_sgpr13_sgpr14_sgpr15, 0, 0",
    "div_fmas": READERS["div_fmas"], "readlane": READERS["readlane"], "to v32": READERS["to v32"],
    "getreg": "$sgpr6 = S_GETREG_B32 6145, implicit $mode",
    "setreg": "S_SETREG_IMM32_B32 0, 6145, implicit-def $mode, implicit $mode",
    "load": f"$vgpr1 = BUFFER_LOAD_DWORD_OFFEN $vgpr9, $sgpr12_sgpr13_sgpr14_sgpr15, $sgpr4, 0, 0, 0, {EXEC}",
}  # fmt: skip


@pytest.mark.parametrize(("target", "least"), [("gfx600", 7), ("gfx700", 5)])
def test_wait_states_of_early_levels(target: str, least: int) -> None:
    pairs = [(f"{writer} -> {reader}", f"{first}\n{second}") for writer, first in EARLY_WRITERS.items() for reader, second in EARLY_READERS.items()
             if target == "gfx700" or (writer, reader) != ("wide store", "to v32")]  # where it waits for the export counter instead
    runner, counts = Runner(target), Counter[str]()
    for (name, _), lines in zip(pairs, functions(target, [body for _, body in pairs]), strict=True):
        assert runner.missing(lines) == 0, (name, lines)
        weaker = weakened(lines)
        assert weaker is None or runner.missing(weaker) == 1, (name, lines)
        counts["needs wait states" if weaker else "needs none"] += 1
    print(target, dict(counts))
    assert counts["needs wait states"] >= least
