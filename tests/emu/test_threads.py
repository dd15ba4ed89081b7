"""Workgroups on several threads: the same memory, counters and errors as one after the other."""

from __future__ import annotations

import os

import numpy as np
import pytest
from machine_code import Assemble

from pyaco.emu import Device, MemoryFault
from pyaco.emu.errors import BudgetError
from pyaco.errors import InputError, UnsupportedError

GROUPS = 300

# s[0:1] floats by workgroup, s[2:3] a sum, tickets by workgroup and clocks by workgroup; s4 workgroup
ORDERED = """
    s_movk_i32 s10, 200
    v_cvt_f32_u32 v1, s4
work:
    v_fma_f32 v1, v1, 0.5, 1.0
    s_sub_i32 s10, s10, 1
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 work
    v_add_f32 v1, 0x3dcccccd, v1
    v_mul_f32 v2, s4, v1
    s_lshl_b32 s11, s4, 2
    v_mov_b32 v0, 0
    v_mov_b32 v5, s11
    s_mov_b32 exec_lo, 1
    global_atomic_add_f32 v0, v2, s[2:3]
    v_mov_b32 v3, 1
    global_atomic_add_u32 v4, v0, v3, s[2:3] offset:4 glc
    s_waitcnt vmcnt(0)
    global_store_b32 v5, v4, s[2:3] offset:64
    s_getreg_b32 s12, hwreg(HW_REG_SHADER_CYCLES)
    v_mov_b32 v6, s12
    global_store_b32 v5, v6, s[0:1]
    s_endpgm
"""

# workgroup s5 reads where nothing is
STRAY = """
    s_movk_i32 s10, 500
work:
    s_sub_i32 s10, s10, 1
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 work
    v_mov_b32 v0, 0
    s_cmp_ge_u32 s6, s4
    s_cbranch_scc0 good
    s_mov_b32 s1, 0x7777
good:
    global_load_b32 v1, v0, s[0:1]
    s_endpgm
"""


def outcome(code: bytes, engine: str, threads: int | None) -> tuple[bytes, bytes, int, dict[str, int], dict[str, int]]:
    device = Device("gfx1100", engine, threads)
    clocks, results = device.buffer(np.zeros(GROUPS, np.uint32)), device.buffer(np.zeros(GROUPS + 16, np.uint32))
    user = [word for buffer in (clocks, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    report = device.run(code, (GROUPS, 1, 1), (64, 1, 1), user_sgprs=user, workgroup_ids=(True, False, False))
    return clocks.numpy().tobytes(), results.numpy().tobytes(), report.instructions, report.opcodes, report.lane_units


def test_order_of_atomics_and_clocks(assemble: Assemble) -> None:
    """A floating-point sum, tickets and clocks, all of which depend on the order of the workgroups."""
    code = assemble(ORDERED, "gfx1100")
    expected = outcome(code, "reference", None)
    tickets = np.frombuffer(expected[1], np.uint32)[16:]
    assert (tickets == 2 * np.arange(GROUPS) + 1).all()
    for threads in (1, 2, 5):
        assert outcome(code, "fast", threads) == expected


def test_first_fault_is_reported(assemble: Assemble) -> None:
    """Of many workgroups that go wrong the first one is named, whoever ran it."""
    code = assemble(STRAY, "gfx1100")
    said = []
    for engine, threads in (("reference", None), ("fast", 1), ("fast", 4)):
        device = Device("gfx1100", engine, threads)
        data = device.zeros(64)
        user = [data.address & 0xFFFFFFFF, data.address >> 32, 0, 0, 150, 0]
        with pytest.raises(MemoryFault) as caught:
            device.run(code, (GROUPS, 1, 1), (32, 1, 1), user_sgprs=user, workgroup_ids=(True, False, False))
        said.append((str(caught.value), caught.value.place))
    assert said[0] == said[1] == said[2]
    assert said[0][1]["workgroup"] == (150, 0, 0)


def test_endless_loops_end(assemble: Assemble) -> None:
    device = Device("gfx1100", "fast", 2)
    with pytest.raises(BudgetError):
        device.run(assemble("here:\n s_branch here\n", "gfx1100"), (8, 1, 1), budget=200_000)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(assemble: Assemble) -> None:
    """Those of the parent, which wait for work, are not in the child."""
    code = assemble(ORDERED, "gfx1100")
    expected = outcome(code, "fast", 3)
    child = os.fork()
    if child == 0:
        os._exit(outcome(code, "fast", 3) != expected)
    assert os.waitpid(child, 0)[1] == 0
    assert outcome(code, "fast", 3) == expected


def test_budget_of_many_workgroups(assemble: Assemble) -> None:
    """A budget ends a dispatch whose workgroups are short, and a grid may be larger than any memory."""
    for threads in (1, 3):
        device = Device("gfx1100", "fast", threads)
        with pytest.raises(BudgetError) as caught:
            device.run(assemble("s_nop 0\n s_endpgm\n", "gfx1100"), (1 << 20, 1 << 20, 1 << 20), (32, 1, 1), budget=100_000)
        assert 100_000 <= int(str(caught.value).split()[0]) < 101_000


def test_grids_have_a_size(assemble: Assemble) -> None:
    """2**64 workgroups are not none."""
    with pytest.raises(InputError, match="18446744073709551616 workgroups"):
        Device("gfx1100", "fast").run(assemble("s_endpgm\n", "gfx1100"), (1 << 22, 1 << 21, 1 << 21))


def test_number_of_threads() -> None:
    with pytest.raises(InputError, match="0 threads"):
        Device("gfx1100", "fast", 0)
    with pytest.raises(UnsupportedError, match="reference engine"):
        Device("gfx1100", "reference", 2)
