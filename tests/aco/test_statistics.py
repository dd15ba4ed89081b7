"""What the statistics of a shader count."""

from __future__ import annotations

import pytest
from cases import CASES

import pyaco
from pyaco._core.aco import statistics
from pyaco.aco.text import parse_program

STORE_AND_BRANCH = """After RA:
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, */
    buffer_store_dword %1:s[0-3], %2:v[0], 0, %3:v[1] offen storage:buffer
    s_waitcnt vmcnt(0)
    s2: %4:s[4-5] = s_branch block:BB1
BB1
/* logical preds: BB0, / linear preds: BB0, / kind: uniform, top-level, */
    s_endpgm
"""


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


def test_latency_counts_what_radv_counts() -> None:
    """By ``aco_statistics`` of Mesa 25.2: up to GFX9, one counter has loads and stores, and a branch takes 4 cycles, as other instructions do."""
    program = parse_program(STORE_AND_BRANCH, 90)
    # The store is done 320 cycles after it was issued, 4 + 320; the wait, the branch and the end take 4 cycles each. The end waits for nothing more.
    assert statistics.collect(program)["latency"] == 4 + 320 + 4 + 4 + 4


def test_branches_keep_their_unit_busy() -> None:
    """By ``aco_statistics`` of Mesa 25.2: for three cycles, on GFX10 and later."""
    program = parse_program(STORE_AND_BRANCH, 103)
    _, figures = statistics.timeline(program)
    assert figures["busy"]["branch"] == 3
