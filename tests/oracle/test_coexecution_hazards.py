"""Hazards of GFX12.5: random sequences that LLVM's hazard recognizer has mended pass, and nearly none of its mends can be left out.

LLVM 22 keeps transcendental operations less far from matrix operations than LLVM 23 does, and takes gfx1251 for gfx1250: neither is drawn here.
"""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator

import pytest
from hazard_pairs import functions, registers

from pyaco import isa
from pyaco.emu import Device, MissingWaitError

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("llc-22") is None, reason="llc-22 is not installed")]
EXEC, MODE = "implicit $exec", "implicit $mode, implicit $exec"
HEAD = "s_mov_b32 s6, 0\ns_mov_b32 s4, 0\nv_mov_b32 v9, 0\n" + "v_nop\n" * 20 + "s_wait_alu 0\n"
#: What the recognizer inserts; a copy of a register to itself stands before a permlane.
MEND = re.compile(r"s_wait_alu|v_nop|v_mov_b32_e32 (v\d+), \1$")


def sequence(draw: random.Random) -> Iterator[str]:
    """Machine IR whose registers overlap often."""
    for _ in range(draw.choice((2, 3, 4, 6, 8))):
        result, one, two = (registers("vgpr", draw.choice((first, 2, 3, 20, 24, 44, 46, 60, 80, 9)), 1) for first in (2, 3, 100))
        slow, other = (registers("vgpr", number, 1) for number in draw.sample((2, 3, 9), 2))
        total, left, right = (registers("vgpr", draw.choice(numbers), 8) for numbers in ((20, 40, 80), (20, 24, 40, 60), (20, 40, 56, 90)))
        yield draw.choice((
            f"{slow} = nofpexcept V_EXP_F32_e32 {other}, {MODE}",
            f"{result} = V_ADD_U32_e32 {one}, {two}, {EXEC}",
            f"{result} = nofpexcept V_FMAC_F32_e32 {one}, {two}, {result}, {MODE}",
            f"{total} = V_WMMA_F32_16X16X32_F16_w32_twoaddr 8, {left}, 8, {right}, 8, {total}, 0, 0, 0, 0, {EXEC}",
            f"{total} = V_WMMA_I32_16X16X64_IU8_w32_twoaddr 8, {left}, 8, {right}, {total}, 0, 0, 0, 0, {EXEC}",
            f"V_CMPX_EQ_U32_nosdst_e32 $vgpr9, $vgpr9, implicit-def $exec, {EXEC}",
            f"{result} = V_PERMLANE16_B32_e64 0, {one}, 0, $sgpr6, 0, $sgpr6, {result}, 0, {EXEC}",
            "$sgpr102 = S_MOV_B32 0", "$sgpr4 = S_MOV_B32 $src_flat_scratch_base_lo", "$sgpr20 = S_MOV_B32 0",
        ))  # fmt: skip


def hazard(lines: list[str]) -> str | None:
    """The hazard that is found; None where all is well."""
    code = isa.assemble(HEAD + "\n".join(lines) + "\ns_endpgm", "gfx1250", wave_size=32)
    try:
        Device("gfx1250", check_waits=True).run(code, workgroup_size=(32, 1, 1), wave_size=32)
    except MissingWaitError as error:
        return str(error.place["hazard"])
    return None


def test_mends_of_llvm() -> None:
    draw = random.Random(125)
    found = Counter[str]()
    for lines in functions("gfx1250", ["\n".join(sequence(draw)) for _ in range(60)]):
        lines = [line for line in lines if not line.startswith("s_delay_alu")]
        assert hazard(lines) is None, lines
        mends = [place for place, line in enumerate(lines) if MEND.match(line)]
        for place in mends[:: max(1, len(mends) // 4)]:
            found[hazard(lines[:place] + lines[place + 1 :]) or "none"] += 1
    assert found["WMMACoexecution"] > 50 and found["TransCoexecution"] and found["VcmpxPermlane"] and found["ScratchBaseForward"], found
    assert found["none"] <= 3, found
