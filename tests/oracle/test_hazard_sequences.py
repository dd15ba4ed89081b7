"""Hazards of GFX10 to GFX12: sequences that LLVM's hazard recognizer has mended pass, and without one of its mends they do not."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hazard_pairs import functions

from pyaco import isa
from pyaco.emu import Device, MissingWaitError

pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.skipif(shutil.which("llc-22") is None, reason="llc-22 is not installed")]
EXEC, MODE = "implicit $exec", "implicit $mode, implicit $exec"


def vgprs(first: int, count: int) -> str:
    return "$" + "_".join(f"vgpr{number}" for number in range(first, first + count))


def product(name: str, result: int, left: int, size: int, tail: str) -> str:
    return f"{vgprs(result, 8)} = {name} 8, {vgprs(left, size)}, 8, {vgprs(80, size)}, 8, {vgprs(result, 8)}, {tail}, {EXEC}"


FIRST = {
    "store at s4": f"BUFFER_STORE_DWORD_OFFEN_exact $vgpr2, $vgpr9, $sgpr12_sgpr13_sgpr14_sgpr15, $sgpr4, 0, 0, 0, {EXEC}",
    "load at s4": f"$vgpr2 = BUFFER_LOAD_DWORD_OFFEN $vgpr9, $sgpr12_sgpr13_sgpr14_sgpr15, $sgpr4, 0, 0, 0, {EXEC}",
    "load at s[8:9]": f"$vgpr2 = GLOBAL_LOAD_DWORD_SADDR $sgpr8_sgpr9, $vgpr9, 0, 0, {EXEC}",
    "scalar load": "$sgpr20 = S_LOAD_DWORD_IMM $sgpr8_sgpr9, 0, 0",
    "LDS": f"$vgpr2 = DS_READ_B32_gfx9 $vgpr9, 0, 0, {EXEC}",
    "exec read": "$sgpr20_sgpr21 = S_MOV_B64 $exec",
    "transcendental v2": f"$vgpr2 = nofpexcept V_EXP_F32_e32 $vgpr9, {MODE}",
    "v2": f"$vgpr2 = V_MOV_B32_e32 $vgpr9, {EXEC}",
    "v2, exec": f"$vgpr2 = V_MOV_B32_e32 $vgpr9, {EXEC}\n$exec_lo = S_MOV_B32 -1",
    "cmpx": f"V_CMPX_EQ_U32_nosdst_e32 $vgpr9, $vgpr9, implicit-def $exec, {EXEC}",
    "mask s[4:5]": f"$vgpr2 = V_CNDMASK_B32_e64 0, $vgpr9, 0, $vgpr9, $sgpr4_sgpr5, {EXEC}",
    "s4 by VALU": f"$vgpr2 = V_MOV_B32_e32 $sgpr4, {EXEC}",
    "vcc by VALU": f"$vgpr2 = V_MOV_B32_e32 $vcc_lo, {EXEC}",
    "WMMA": product("V_WMMA_F32_16X16X16_F16_twoaddr_w32", 20, 40, 8, "0, 0"),
    "WMMA of GFX12": product("V_WMMA_F32_16X16X16_F16_w32_twoaddr", 20, 40, 4, "0, 0"),
    "atomic": f"GLOBAL_ATOMIC_FMIN_SADDR $vgpr9, $vgpr3, $sgpr8_sgpr9, 0, 0, {EXEC}",
}
THEN = {
    "s4 written": "$sgpr4 = S_MOV_B32 0",
    "s8 written": "$sgpr8 = S_MOV_B32 $sgpr8",
    "exec written": "$exec_lo = S_MOV_B32 -1",
    "s4 loaded": "$sgpr4 = S_LOAD_DWORD_IMM $sgpr8_sgpr9, 0, 0",
    "s8 by VALU": f"$sgpr8 = V_READFIRSTLANE_B32 $vgpr90, {EXEC}",
    "s4 by VALU": f"$sgpr4 = V_READFIRSTLANE_B32 $vgpr9, {EXEC}",
    "cmpx": f"V_CMPX_EQ_U32_nosdst_e32 $vgpr9, $vgpr9, implicit-def $exec, {EXEC}",
    "permlane": f"$vgpr3 = V_PERMLANE16_B32_e64 0, $vgpr9, 0, $sgpr6, 0, $sgpr6, $vgpr3, 0, {EXEC}",
    "v2 read": f"$vgpr3 = V_MOV_B32_e32 $vgpr2, {EXEC}",
    "v2 and v61 read": f"$vgpr3 = V_ADD_U32_e32 $vgpr2, $vgpr61, {EXEC}",
    "v61": f"$vgpr61 = V_MOV_B32_e32 $vgpr9, {EXEC}",
    "LDS to v2": f"$vgpr2 = LDS_DIRECT_LOAD 15, implicit $m0, {EXEC}",
    "LDS to v2 on GFX12": f"$vgpr2 = DS_DIRECT_LOAD 15, 1, implicit $m0, {EXEC}",
    "denormals": "S_DENORM_MODE 0, implicit-def $mode, implicit $mode",
    "WMMA": product("V_WMMA_F32_16X16X16_F16_twoaddr_w32", 60, 20, 8, "0, 0"),
    "WMMA of GFX12": product("V_WMMA_F32_16X16X16_F16_w32_twoaddr", 60, 20, 4, "0, 0"),
    "s4 read": "$sgpr6 = S_MOV_B32 $sgpr4",
    "s4 read by VALU": f"$vgpr3 = V_MOV_B32_e32 $sgpr4, {EXEC}",
    "vcc written": "$vcc_lo = S_MOV_B32 0",
    "vcc by VALU": f"V_CMP_GT_U32_e32 $vgpr9, $vgpr9, implicit-def $vcc_lo, implicit-def $vcc, {EXEC}",
    "vcc read": "$sgpr6 = S_MOV_B32 $vcc_lo",
    "vcc read by VALU": f"$vgpr3 = V_MOV_B32_e32 $vcc_lo, {EXEC}",
    "LDS": f"DS_WRITE_B32_gfx9 $vgpr9, $vgpr9, 0, 0, {EXEC}",
    "store": f"GLOBAL_STORE_DWORD_SADDR $vgpr9, $vgpr9, $sgpr8_sgpr9, 0, 0, {EXEC}",
    "nothing": "S_NOP 0",
    "waits": "S_WAITCNT 0",
}
MEND = re.compile(r"s_waitcnt_depctr|s_wait_alu|s_nop|v_nop|v_mov_b32_e32 (v\d+), \1$|s_waitcnt_vscnt|s_mov_b32 null")
CHIPS = (("gfx1010", 32), ("gfx1030", 32), ("gfx1100", 64), ("gfx1100", 32), ("gfx1150", 64), ("gfx1200", 32), ("gfx1200", 64))
HEAD = """
    s_mov_b32 s8, s0
    s_mov_b32 s9, s1
    s_mov_b32 s12, s0
    s_and_b32 s13, s1, 0xffff
    s_mov_b32 s14, 4096
    s_mov_b32 s15, 0x27fac
    s_mov_b32 s4, 0
    s_mov_b32 s5, 0
    s_mov_b32 s6, 0
    s_mov_b32 m0, 0
    v_mov_b32 v90, s0
    v_mov_b32 v9, 0
""" + "    v_nop\n" * 16
#: Where LLVM sees a hazard and Mesa none, or takes less for a remedy than Mesa does: target, the mend, what it is before, why.
CAREFUL = (
    (r"gfx10", r"s_waitcnt_depctr depctr_sa_sdst\(0\)$", r"v_cmpx", "memory that reads exec, and v_readfirstlane between, which Mesa lets do"),
    (r"gfx10|gfx11", r"v_mov_b32_e32 v\d+, v\d+$", r"v_permlane", "a v_nop of ours before it, enough from GFX11 on"),
    (r"gfx11", r"s_waitcnt_depctr.*depctr_(sa_sdst|va_sdst|va_vcc)\(0\)", r"", "lane masks: written by VALU, or not read by SALU"),
)


COUNTERS = "counters"


def run(target: str, wave: int, lines: list[str]) -> str | None:
    """The hazard that is found, ``COUNTERS`` where a wait for memory is missing, which LLVM has put there before, None where all is well."""
    device = Device(target, check_waits=True)
    address = device.space.map(np.zeros(4096, np.uint8))
    code = isa.assemble(HEAD + "\n".join(lines) + "\ns_endpgm", target, wave_size=wave)
    try:
        device.run(code, workgroup_size=(wave, 1, 1), wave_size=wave, user_sgprs=[address & 0xFFFFFFFF, address >> 32], lds_bytes=1024)
    except MissingWaitError as error:
        hazard = error.place["hazard"]
        return str(hazard) if hazard else COUNTERS
    return None


def lacks(target: str, wave: int) -> set[str]:
    """What a chip does not have, or in this wave size not in this form."""
    missing = {"mask s[4:5]"} if wave == 32 else {"WMMA", "WMMA of GFX12"}
    if target.startswith("gfx10"):
        return missing | {"WMMA", "WMMA of GFX12", "LDS to v2", "LDS to v2 on GFX12"}
    return missing | ({"WMMA of GFX12", "LDS to v2 on GFX12"} if target.startswith("gfx11") else {"WMMA", "LDS to v2", "waits"})


def sequences(target: str, wave: int) -> Iterator[tuple[str, str]]:
    """One of the first, and one or two of the others behind it."""
    first, then = ({name: text for name, text in table.items() if name not in lacks(target, wave)} for table in (FIRST, THEN))
    for name, text in first.items():
        for second, more in then.items():
            yield f"{name}, {second}", f"{text}\n{more}"
            yield from ((f"{name}, {second}, {third}", f"{text}\n{more}\n{last}") for third, last in then.items())


@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_mends_of_llvm(target: str, wave: int) -> None:
    options = ["-mattr=+wavefrontsize64"] * (wave == 64)
    found = list(sequences(target, wave))
    if not os.environ.get("PYACO_EXHAUSTIVE"):
        found = random.Random(target).sample(found, 150)
    counts, hazards, spare = Counter[str](), Counter[str](), []
    for (name, text), lines in zip(found, functions(target, [text for _, text in found], *options), strict=True):
        lines = [line for line in lines if not line.startswith("s_delay_alu")]
        hazard = run(target, wave, lines)
        if hazard == COUNTERS:
            continue
        assert hazard is None, (name, lines, hazard)
        counts["silent"] += 1
        for place, line in enumerate(lines):
            if not MEND.match(line) or (line.startswith("s_nop") and "S_NOP" in text):
                continue
            hazard = run(target, wave, lines[:place] + lines[place + 1 :])
            if hazard == COUNTERS:
                continue
            if hazard:
                counts["missed"] += 1
                hazards[hazard] += 1
            elif any(re.match(chip, target) and re.match(mend, line) and re.match(before, lines[place + 1] if place + 1 < len(lines) else "")
                     for chip, mend, before, _ in CAREFUL):
                counts["careful"] += 1
            else:
                spare.append((name, line, lines))
    print(target, wave, dict(counts), dict(hazards))
    assert not spare, (len(spare), spare[:40])
    assert counts["missed"] or target == "gfx1030"
