"""What the statistics of a shader count."""

from __future__ import annotations

import pytest
from cases import CASES

import pyaco


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
