"""What the statistics of a shader count."""

from __future__ import annotations

import pytest
from cases import CASES

import pyaco
from pyaco._core.aco import statistics as kernel
from pyaco.aco import parse_program


@pytest.mark.parametrize("wave", [32, 64])
def test_code_size_leaves_out_the_marks_of_its_end(wave: int) -> None:
    shader = pyaco.compile(CASES["saxpy"].spirv.read_bytes(), target="gfx1030", wave=wave)
    size = shader.stats["code_size"]
    assert shader.code[size - 4 : size] == 0xBF810000.to_bytes(4, "little")
    assert shader.code[size:] == 0xBF9F0000.to_bytes(4, "little") * 5


@pytest.mark.parametrize("name", ["saxpy", "matmul_f32"])
def test_scalar_instructions_compute(name: str) -> None:
    """Waits, clauses, branches, barriers and the end of the program are no SALU instructions."""
    shader = pyaco.compile(CASES[name].spirv.read_bytes(), target="gfx1100", spec=CASES[name].spec)
    names = [line.split()[0] for line in shader.disassembly.splitlines() if line.strip().startswith("s_")]
    others = ("s_load", "s_buffer_load", "s_wait", "s_clause", "s_branch", "s_cbranch", "s_barrier", "s_delay_alu", "s_endpgm", "s_code_end",
              "s_sendmsg", "s_nop")  # fmt: skip
    assert {"s_endpgm"} <= set(names)
    assert shader.stats["salu"] == sum(not each.startswith(others) for each in names) > 0


def waits(level: int, wave: int, *lines: str) -> list[int]:
    """Cycles that each instruction waits for what it needs."""
    head = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"
    program = parse_program(head + "".join(f"\t{line}\n" for line in lines), level, wave, workgroup_size=64)
    return [waited for waited, _, _ in kernel.timeline(program)[0]]


STORE = "buffer_store_dword %0:s[0-3], %0:v[0], 0, %0:v[1] offen"
SAMPLE = " v4: %0:v[0-3] = image_sample %0:s[0-7], %0:s[8-11], v1: undef, %0:v[4], %0:v[5] 2d"
LOAD = " s4: %0:s[0-3] = s_load_dwordx4 %0:s[8-9], 0"


def test_stores_are_counted_with_loads_before_gfx10() -> None:
    assert waits(90, 64, STORE, "s_waitcnt vmcnt(0)")[1] > 300
    assert waits(103, 64, STORE, "s_waitcnt vmcnt(0)")[1] == 0
    assert waits(103, 64, STORE, "s_waitcnt_vscnt %0:null imm:0")[1] > 300


def test_gfx12_counts_samples_and_scalar_loads_by_themselves() -> None:
    assert waits(120, 32, SAMPLE, "s_wait_loadcnt imm:0", "s_wait_samplecnt imm:0")[1:] == [0, 319]
    assert waits(120, 32, LOAD, "s_wait_dscnt imm:0", "s_wait_kmcnt imm:0")[1:] == [0, 29]


@pytest.mark.parametrize(("level", "cycles"), [(90, 4), (103, 3), (120, 3)])
def test_branches_keep_their_unit_busy(level: int, cycles: int) -> None:
    text = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n\ts_branch block:BB1\n"
    text += "BB1\n/* logical preds: BB0, / linear preds: BB0, / kind: uniform, top-level, */\n\ts_endpgm\n"
    assert kernel.timeline(parse_program(text, level, 64))[1]["busy"]["branch"] == cycles
