"""Cycles of the profile on GFX11 and GFX12 against what the hardware was seen to take.

The figures are read off thread traces of a Radeon RX 7900 XTX and of a gfx1200 that tinygrad publishes (``extra/sqtt/examples``): cycles from the
dispatch of one instruction to that of the next. The programs are our own, with the same neighbours. ``tests/oracle/compare_thread_traces.py``
compares the kernels of the traces themselves.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from test_profile import profile_of, run

LDS_STORE = "v_lshlrev_b32 v1, 2, v0\nds_store_b32 v1, v0\n"
LDS_LOAD = "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v9, 0\nds_load_b32 v3, v1\n"
#: Target, program, and measured cycles between its instructions, the first two and so on; None where nothing was measured.
MEASURED: list[tuple[str, str, list[int | None]]] = [
    ("gfx1100", "v_add_f32 v1, v0, v0\nv_add_f32 v1, v1, v0\nv_add_f32 v1, v1, v0", [5, 5]),
    ("gfx1200", "v_add_f32 v1, v0, v0\nv_add_f32 v1, v1, v0\nv_add_f32 v1, v1, v0", [5, 5]),
    ("gfx1100", LDS_STORE + "s_waitcnt lgkmcnt(0)", [18, 33]),
    ("gfx1200", LDS_STORE + "s_wait_dscnt 0x0", [18, 33]),
    ("gfx1100", LDS_LOAD + "s_waitcnt lgkmcnt(0)", [1, 17, 32]),
    ("gfx1200", LDS_LOAD + "s_wait_dscnt 0x0", [1, 17, 32]),
    # a load waits until the vector ALU has read what it overwrites
    ("gfx1100", "v_mov_b32 v9, 0\nv_add_f32 v1, v5, v0\nds_load_b32 v5, v9", [None, 18]),
    ("gfx1200", "v_mov_b32 v9, 0\nv_add_f32 v1, v5, v0\nds_load_b32 v5, v9", [None, 19]),
    ("gfx1100", "v_cmpx_eq_u32 0, v0\ns_cbranch_execz after\nv_mov_b32 v1, 0\nafter:", [16, 3]),
    ("gfx1200", "v_cmpx_eq_u32 0, v0\ns_cbranch_execz after\nv_mov_b32 v1, 0\nafter:", [17, 3]),
    ("gfx1100", "s_add_i32 s4, s2, s3\ns_ashr_i32 s5, s4, 31\ns_lshl_b64 s[4:5], s[4:5], 2\ns_add_u32 s4, s2, s4", [2, 2, 2]),
    ("gfx1200", "s_add_i32 s4, s2, s3\ns_ashr_i32 s5, s4, 31\ns_lshl_b64 s[4:5], s[4:5], 2\ns_add_u32 s4, s2, s4", [9, 9, 9]),
    ("gfx1200", "s_cmp_eq_i32 s1, s1\ns_cbranch_scc1 after\nv_mov_b32 v1, 0\nafter:\ns_mov_b32 s20, 0", [10, 9]),
    ("gfx1100", "s_barrier\nv_add_nc_u32 v2, 4, v0\nv_cmp_gt_u32 vcc_lo, 7, v0", [21, 1]),
    ("gfx1200", "s_barrier_signal -1\ns_barrier_wait -1\nv_add_nc_u32 v2, 4, v0", [None, 20]),
    ("gfx1200", "v_lshlrev_b64 v[30:31], 2, v[12:13]\nv_mad_co_u64_u32 v[40:41], null, v12, v13, v[14:15]\nv_mov_b32 v20, 0", [2, 4]),
    ("gfx1200", "v_rcp_f32 v30, v12\nv_s_exp_f32 s30, s12\nv_mov_b32 v20, 0", [4, 1]),
]


@pytest.mark.parametrize(("target", "text", "measured"), MEASURED)
def test_cycles_are_those_of_the_hardware(target: str, text: str, measured: list[int | None]) -> None:
    """Within two cycles."""
    spans = profile_of(run(text, target)).spans
    starts = [int(start) for start in spans["start"]]
    # in front of the program stands what `run` prepares
    distances = [after - before for before, after in pairwise(starts)][-len(measured) - 1 : -1]
    assert all(seen is None or abs(found - seen) <= 2 for found, seen in zip(distances, measured, strict=True)), (distances, measured)


@pytest.mark.parametrize(("opcode", "registers", "cycles"), [("v_wmma_f32_16x16x16_f16", 4, 16), ("v_wmma_i32_16x16x16_iu8", 2, 8)])
def test_products_of_matrices_take_what_was_measured(opcode: str, registers: int, cycles: int) -> None:
    """GFX12: the unit is busy for a cycle for each byte that a lane has of the first matrix."""
    a, b, c = f"v[40:{39 + registers}]", f"v[60:{59 + registers}]", "v[80:87]"
    spans = profile_of(run("\n".join([f"{opcode} {c}, {a}, {b}, {c}"] * 4), "gfx1200")).spans
    starts = [int(start) for start in spans["start"]]
    assert [after - before for before, after in pairwise(starts)][-4:-1] == [cycles] * 3
