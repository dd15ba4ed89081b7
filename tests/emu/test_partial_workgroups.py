"""Grids that are no multiple of their workgroups, grids that start elsewhere than at 0, and the budget of time."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco import emu, isa
from pyaco.emu import Launch
from pyaco.emu.hsa import DispatchPacket
from pyaco.errors import InputError

ENGINES = ["reference", "fast", "inspecting"]
#: Each invocation counts itself at (id.z * 64 + id.y) * 64 + id.x, ids being those of the workgroup times 16 plus the local ones.
MARK = """
    v_and_b32 v1, 0x3ff, v0
    v_bfe_u32 v2, v0, 10, 10
    v_bfe_u32 v3, v0, 20, 10
    v_lshl_add_u32 v1, {x}, 4, v1
    v_lshl_add_u32 v2, {y}, 4, v2
    v_lshl_add_u32 v3, {z}, 4, v3
    v_lshl_add_u32 v2, v3, 6, v2
    v_lshl_add_u32 v1, v2, 6, v1
    v_lshlrev_b32 v1, 2, v1
    v_mov_b32 v2, 1
    global_atomic_add_u32 v1, v2, s[0:1]
    s_endpgm
"""


Extent = tuple[int, int, int]


def device(engine: str, target: str = "gfx1100", threads: int = 2) -> emu.Device:
    if engine == "inspecting":
        return emu.Device(target, check_races=True, check_waits=True, seed=5)
    return emu.Device(target, engine, threads if engine == "fast" else None)


def launch(
    engine: str, groups: Extent, size: Extent, last: Extent, first: Extent = (0, 0, 0), wave: int = 32,
) -> tuple[np.ndarray, emu.Report]:
    """What `MARK` counted, as [z, y, x], and the report."""
    room = device(engine)
    counts = room.buffer(np.zeros((64, 64, 64), np.uint32))
    code = np.frombuffer(isa.assemble(MARK.format(x="s2", y="s3", z="s4"), "gfx1100"), np.uint8).copy()
    entry = room.space.map(code)
    report = room.launch(Launch(
        entry=entry, code_bytes=len(code), groups=groups, size=size, last_size=last, first_group=first, wave_size=wave,
        user_sgprs=[counts.address & 0xFFFFFFFF, counts.address >> 32], workgroup_id_mask=7, packed_ids=True,
    ))  # fmt: skip
    return counts.numpy(), report


axis = st.tuples(st.integers(1, 3), st.integers(1, 6)).flatmap(
    lambda chosen: st.tuples(st.just(chosen[0]), st.just(chosen[1]), st.integers(1, chosen[1]), st.integers(0, 1))
)


@pytest.mark.parametrize("engine", ENGINES)
@given(axes=st.tuples(axis, axis, axis), wave=st.sampled_from([32, 64]))
@settings(max_examples=12, deadline=None)
def test_every_invocation_runs_once(engine: str, axes: tuple[tuple[int, int, int, int], ...], wave: int) -> None:
    groups, size, last, first = ((axes[0][fact], axes[1][fact], axes[2][fact]) for fact in range(4))
    counts, report = launch(engine, groups, size, last, first, wave)
    expected = np.ones((64, 64, 64), np.uint32)
    waves = 0
    for k, dimension in enumerate((2, 1, 0)):
        run = np.zeros(64, np.uint32)
        for group in range(groups[k]):
            begin = 16 * (first[k] + group)
            run[begin : begin + (last[k] if group == groups[k] - 1 else size[k])] = 1
        expected *= run.reshape([64 if dimension == other else 1 for other in range(3)])
    for place in np.ndindex(*groups):
        items = math.prod(last[k] if place[k] == groups[k] - 1 else size[k] for k in range(3))
        waves += -(-items // wave)
    assert np.array_equal(counts, expected)
    assert report.waves == waves and report.workgroups == np.prod(groups)
    assert report.opcodes["s_endpgm"] == waves


@pytest.mark.parametrize("engine", ENGINES)
def test_a_barrier_waits_for_the_waves_that_there_are(engine: str) -> None:
    """The last workgroup has one wave of the four; LDS brings the last lane's number to the first."""
    text = """
        v_lshlrev_b32 v1, 2, v0
        ds_store_b32 v1, v0
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32 v2, 4, v1
        ds_load_b32 v3, v2
        s_lshl_b32 s2, s2, 9
        v_add_nc_u32 v1, s2, v1
        s_waitcnt lgkmcnt(0)
        global_store_b32 v1, v3, s[0:1]
        s_endpgm
    """
    room = device(engine)
    out = room.buffer(np.full(256, 7, np.uint32))
    code = np.frombuffer(isa.assemble(text, "gfx1100"), np.uint8).copy()
    report = room.launch(Launch(
        entry=room.space.map(code), code_bytes=len(code), groups=(2, 1, 1), size=(128, 1, 1), last_size=(30, 1, 1), wave_size=32, lds_bytes=512,
        user_sgprs=[out.address & 0xFFFFFFFF, out.address >> 32], workgroup_id_mask=1, packed_ids=True,
    ))  # fmt: skip
    assert report.waves == 5
    lanes = np.concatenate([np.arange(128) ^ 1, np.arange(30) ^ 1, np.full(98, 7)])
    assert np.array_equal(out.numpy(), lanes)


def test_packets() -> None:
    packet = DispatchPacket((64, 4, 1), (65, 8, 3), 0)
    assert packet.workgroups() == (2, 2, 3) and packet.last_workgroup_size() == (1, 4, 1)
    packet = DispatchPacket((64, 4, 2), (10, 4, 3), 0)
    assert packet.workgroups() == (1, 1, 2) and packet.last_workgroup_size() == (10, 4, 1)
    with pytest.raises(InputError, match="last workgroups"):
        launch("reference", (1, 1, 1), (4, 4, 4), (5, 1, 1))


# ------------------------------------------------------------------------------------------------------------------ time
ENDLESS = {
    "one wave": ("loop:\ns_branch loop", (1, 1, 1), (32, 1, 1)),
    "many workgroups": ("loop:\ns_branch loop", (64, 1, 1), (64, 1, 1)),
    "memory": ("loop:\nglobal_load_b32 v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\ns_branch loop", (4, 1, 1), (32, 1, 1)),
    "a wave that waits": ("s_cmp_eq_u32 s2, 0\ns_cbranch_scc0 out\nloop:\ns_branch loop\nout:\nglobal_atomic_add_u32 v0, v0, s[0:1]\ns_endpgm",
                          (64, 1, 1), (32, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ENDLESS)
def test_time_budget(name: str, engine: str) -> None:
    text, groups, size = ENDLESS[name]
    room = device(engine)
    data = room.zeros(4096)
    start = time.perf_counter()
    with pytest.raises(emu.BudgetError, match=r"the time is over after \d+ instructions.*wave \d, pc 0x"):
        room.run(isa.assemble(text, "gfx1100"), groups, size, user_sgprs=[data.address & 0xFFFFFFFF, data.address >> 32],
                 workgroup_ids=(True, False, False), time_budget=0.03)  # fmt: skip
    assert 0.03 <= time.perf_counter() - start < 10


@pytest.mark.parametrize("engine", ENGINES)
def test_time_that_suffices(engine: str) -> None:
    room = device(engine)
    code = isa.assemble("s_mov_b32 s0, 1000\nloop:\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 loop\ns_endpgm", "gfx1100")
    assert room.run(code, (3, 1, 1), time_budget=1e300).instructions == room.run(code, (3, 1, 1)).instructions == 3 * 3002
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(InputError, match="time budget"):
            room.run(code, time_budget=wrong)
