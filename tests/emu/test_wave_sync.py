"""Global wave sync, ordered counts and cooperative launches: waves of all workgroups of a dispatch that wait for each other.

Programs as ROCm's device libraries write them (a barrier of N workgroups takes N - 1), and semaphores that later workgroups raise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyaco import emu, isa
from pyaco.emu.errors import BudgetError
from pyaco.errors import UnsupportedError

#: engines by name; "drawn" is the inspecting one, with turns of waves and the order of workgroups drawn from a seed
ENGINES: dict[str, dict[str, Any]] = {
    "reference": {"engine": "reference"}, "fast": {"engine": "fast", "threads": 1}, "threads": {"engine": "fast", "threads": 2},
    "drawn": {"seed": 5}, "watched": {"check_races": True, "check_waits": True},
}  # fmt: skip
TARGETS = ("gfx803", "gfx900", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1150")
GROUPS = 7
#: what `test_grid_barrier` and `test_semaphores` use on each of them
MNEMONICS = ("ds_gws_init", "ds_gws_barrier", "ds_gws_sema_v", "ds_gws_sema_p", "ds_gws_sema_br", "ds_gws_sema_release_all")


def names(text: str, target: str) -> str:
    """The target's spelling of loads and stores."""
    if target == "gfx803":                                  # has no global instructions: the base is added by hand
        return text.replace("global_store_dword v1, v2, s[0:1]", "v_add_u32 v4, vcc, s0, v1\nv_mov_b32 v5, s1\n"
                            "v_addc_u32 v5, vcc, 0, v5, vcc\nflat_store_dword v[4:5], v2").replace(
            "global_load_dword v3, v1, s[0:1]", "v_add_u32 v4, vcc, s0, v1\nv_mov_b32 v5, s1\n"
            "v_addc_u32 v5, vcc, 0, v5, vcc\nflat_load_dword v3, v[4:5]").replace(" glc", "").replace(
            "global_atomic_add v3, v4, v2, s[0:1]", "v_mov_b32 v4, s0\nv_mov_b32 v5, s1\nflat_atomic_add v3, v[4:5], v2 glc")  # fmt: skip
    if target in ("gfx1100", "gfx1150"):
        return text.replace("_dword ", "_b32 ").replace("atomic_add ", "atomic_add_u32 ")
    if target in ("gfx942", "gfx950"):
        text = text.replace("atomic_add v3, v4, v2, s[0:1] glc", "atomic_add v3, v4, v2, s[0:1] sc0")
    return text.replace(" glc", " sc0 sc1") if target in ("gfx942", "gfx950") else text


def run(device: emu.Device, target: str, text: str, out: emu.Buffer, groups: int = GROUPS, lanes: int = 64, **more: Any) -> emu.Report:
    """s[0:1] is the address of the dwords, s2 the workgroup, s4 and s5 what `more` says."""
    user = [out.address & 0xFFFFFFFF, out.address >> 32]
    return device.run(isa.assemble(names(text, target), target), (groups, 1, 1), (lanes, 1, 1), user_sgprs=user, wave_size=64,
                      workgroup_ids=(True, False, False), **more)  # fmt: skip


def initialise(device: emu.Device, target: str, value: int, resource: int = 0) -> None:
    text = f"s_mov_b32 m0, 0\nv_mov_b32 v0, {value}\nds_gws_init v0 offset:{resource} gds\ns_waitcnt 0\ns_endpgm"
    device.run(isa.assemble(text, target), (1, 1, 1), (1, 1, 1), wave_size=64)


def barrier(groups: int = GROUPS, offset: int = 0) -> str:
    return f"v_mov_b32 v8, {groups - 1}\nds_gws_barrier v8 offset:{offset} gds\ns_waitcnt 0\n"


STORE = "v_mov_b32 v2, {value}\nglobal_store_dword v1, v2, s[0:1] glc\ns_waitcnt 0\n"


@pytest.mark.parametrize(("engine", "target"), [(engine, target) for engine in ENGINES for target in TARGETS if engine != "watched"]
                         + [("watched", "gfx900")])  # fmt: skip
def test_grid_barrier(engine: str, target: str) -> None:
    """Workgroups of two waves: each writes its dword, and after the barrier reads that of the workgroup behind it; three times."""
    device = emu.Device(target, **ENGINES[engine])
    out = device.buffer(np.zeros(4 * 64, np.uint32))
    rounds = []
    for number in range(3):
        rounds.append(f"""
            s_mul_i32 s8, s2, {number + 3}
            s_lshl_b32 s9, s2, 2
            s_add_u32 s9, s9, {256 * number}
            v_mov_b32 v1, s9
            {STORE.format(value='s8')}
            s_cbranch_scc1 done{number}
            s_cmp_lg_u32 s10, 0
            s_cbranch_scc1 follow{number}
            {barrier()}
        follow{number}:
            s_barrier
            s_add_u32 s9, s2, 1
            s_cmp_eq_u32 s9, {GROUPS}
            s_cselect_b32 s9, 0, s9
            s_lshl_b32 s9, s9, 2
            v_mov_b32 v1, s9
            v_add_u32 v1, {256 * number}, v1
            global_load_dword v3, v1, s[0:1] glc
            s_waitcnt 0
            v_readfirstlane_b32 s{20 + number}, v3
        done{number}:
            s_nop 0
        """.replace(f"s_cbranch_scc1 done{number}\n", ""))
    text = "v_readfirstlane_b32 s10, v0\ns_lshr_b32 s10, s10, 6\ns_mov_b32 m0, 0\n" + "".join(rounds) + f"""
        s_add_u32 s20, s20, s21
        s_add_u32 s20, s20, s22
        s_lshl_b32 s9, s2, 2
        s_add_u32 s9, s9, 768
        v_mov_b32 v1, s9
        {STORE.format(value='s20')}
        s_endpgm"""
    if target == "gfx803":
        text = text.replace("v_add_u32 v1, ", "v_add_u32 v1, vcc, ")
    if target not in ("gfx803", "gfx900", "gfx90a", "gfx942", "gfx950"):
        text = text.replace("v_add_u32", "v_add_nc_u32")
    initialise(device, target, GROUPS - 1)
    run(device, target, text, out, lanes=128)
    got = out.numpy()
    assert list(got[192 : 192 + GROUPS]) == [12 * ((group + 1) % GROUPS) for group in range(GROUPS)]


SEMAPHORE = """
    s_mov_b32 m0, 0x30000
    s_cmp_eq_u32 s2, {last}
    s_cbranch_scc1 raise
    ds_gws_sema_p offset:1 gds
    s_waitcnt 0
    s_branch out
raise:
    {act}
    s_waitcnt 0
out:
    v_mov_b32 v4, 0
    v_mov_b32 v2, 1
    global_atomic_add v3, v4, v2, s[0:1] glc
    s_waitcnt 0
    v_readfirstlane_b32 s9, v3
    s_lshl_b32 s8, s2, 2
    s_add_u32 s8, s8, 4
    v_mov_b32 v1, s8
    v_mov_b32 v2, s9
    global_store_dword v1, v2, s[0:1]
    s_endpgm
"""


@pytest.mark.parametrize(("engine", "target"), [(engine, "gfx900") for engine in ("reference", "threads")] + [("fast", target) for target in TARGETS])
@pytest.mark.parametrize(
    ("act", "order"),
    [("ds_gws_sema_v offset:1 gds\n" * (GROUPS - 1), [1, 2, 3, 4, 5, 6, 0]),
     (f"v_mov_b32 v0, {GROUPS - 1}\nds_gws_sema_br v0 offset:1 gds", [1, 2, 3, 4, 5, 6, 0]),
     ("ds_gws_sema_release_all offset:1 gds", [1, 2, 3, 4, 5, 6, 0])],
)  # fmt: skip
def test_semaphores(engine: str, act: str, order: list[int], target: str) -> None:
    """All workgroups but the last wait at resource 4, which m0 and the offset name together; the last one lets them go."""
    device = emu.Device(target, **ENGINES[engine])
    out = device.buffer(np.zeros(16, np.uint32))
    report = run(device, target, SEMAPHORE.format(last=GROUPS - 1, act=act), out, lanes=1)
    assert list(out.numpy()[1 : 1 + GROUPS]) == order
    assert report.waves == GROUPS


@pytest.mark.parametrize("engine", ["reference", "fast", "drawn"])
def test_a_semaphore_is_taken_where_it_is_up(engine: str) -> None:
    """A count that an earlier dispatch has left."""
    device = emu.Device("gfx1030", **ENGINES[engine])
    out = device.buffer(np.zeros(4, np.uint32))
    initialise(device, "gfx1030", 2, 9)
    text = "s_mov_b32 m0, 0\nds_gws_sema_p offset:9 gds\ns_waitcnt 0\ns_endpgm"
    assert run(device, "gfx1030", text, out, groups=2).instructions == 8
    with pytest.raises(emu.EmulationError, match="deadlock: ds_gws_sema_p") as caught:
        run(device, "gfx1030", text, out, groups=3)
    assert sorted(wave["workgroup"][0] for wave in caught.value.place["waiting"]) == [0, 1, 2]


@pytest.mark.parametrize("engine", ["reference", "fast", "threads", "drawn"])
def test_deadlock_names_the_waves(engine: str) -> None:
    device = emu.Device("gfx900", **ENGINES[engine])
    out = device.buffer(np.zeros(4, np.uint32))
    initialise(device, "gfx900", GROUPS)                    # one more than will come
    with pytest.raises(emu.EmulationError, match=r"deadlock: ds_gws_barrier .*; so wait workgroup \(\d, 0, 0\), wave 0 at pc 0x8") as caught:
        run(device, "gfx900", "s_mov_b32 m0, 0\n" + barrier() + "s_endpgm", out)
    place = caught.value.place
    assert {wave["workgroup"][0] for wave in place["waiting"]} == set(range(GROUPS))
    assert {wave["pc"] for wave in place["waiting"]} == {8} and place["pc"] == 8
    # the waves are forgotten, the counter is not: whoever comes now is the last
    assert run(device, "gfx900", "s_mov_b32 m0, 0\n" + barrier() + "s_endpgm", out, groups=1).waves == 1


@pytest.mark.parametrize("engine", ["reference", "fast", "threads", "drawn"])
@pytest.mark.parametrize(("target", "count"), [("gfx900", 1), ("gfx1010", 2), ("gfx1030", 3), ("gfx1100", 4), ("gfx1150", 1)])
def test_ordered_counts(engine: str, target: str, count: int) -> None:
    """Workgroups in descending order: each adds to `count` dwords of GDS, and swaps one at its second turn."""
    device = emu.Device(target, **ENGINES[engine])
    out = device.buffer(np.zeros(1024, np.uint32))
    fields = 0x104 | (count - 1 << 14 if target != "gfx900" else 0)
    lanes = "v_add_u32" if target == "gfx900" else "v_add_nc_u32"
    text = f"""
        s_sub_u32 s8, {GROUPS - 1}, s2
        s_or_b32 m0, s8, 0x800000
        {lanes} v2, 1, v0
        v_mul_u32_u24 v2, s2, v2
        v_mov_b32 v3, 0
        ds_ordered_count v3, v2 offset:{fields} gds
        s_waitcnt 0
        v_mov_b32 v2, v3
        s_lshl_b32 s8, s2, 4
        v_lshlrev_b32 v1, 2, v0
        {lanes} v1, s8, v1
        global_store_dword v1, v2, s[0:1]
        s_add_u32 m0, m0, {GROUPS}
        v_mov_b32 v2, s2
        ds_ordered_count v3, v2 offset:{fields | 0x1000} gds
        s_waitcnt 0
        v_mov_b32 v2, v3
        {lanes} v1, 512, v1
        global_store_dword v1, v2, s[0:1]
        s_endpgm
    """
    run(device, target, text, out, lanes=count)
    got = out.numpy()
    for group in range(GROUPS):
        for lane in range(count):
            assert got[4 * group + lane] == (lane + 1) * sum(range(group + 1, GROUPS)), (group, lane)
            assert got[128 + 4 * group + lane] == (group + 1 if group < GROUPS - 1 else (lane + 1) * sum(range(GROUPS)))


def test_both_engines_count_alike() -> None:
    """After so many instructions that other threads would join in."""
    text = """
        s_movk_i32 s8, 4000
    again:
        s_sub_u32 s8, s8, 1
        s_cmp_lg_u32 s8, 0
        s_cbranch_scc1 again
        s_mov_b32 m0, 0
    """ + barrier(64) + "s_lshl_b32 s9, s2, 2\nv_mov_b32 v1, s9\n" + STORE.format(value="s2") + "s_endpgm"
    reports, results = [], []
    for engine in ("reference", "fast", "threads"):
        device = emu.Device("gfx900", **ENGINES[engine])
        out = device.buffer(np.zeros(64, np.uint32))
        initialise(device, "gfx900", 63)
        report = run(device, "gfx900", text, out, groups=64)
        reports.append((report.instructions, report.waves))
        results.append(list(out.numpy()))
    assert reports == [reports[0]] * 3
    assert results == [list(range(64))] * 3


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_no_lane_gives_the_number(engine: str) -> None:
    device = emu.Device("gfx900", **ENGINES[engine])
    out = device.buffer(np.zeros(4, np.uint32))
    with pytest.raises(UnsupportedError, match="ds_gws_barrier"):
        run(device, "gfx900", "s_mov_b64 exec, 0\n" + barrier() + "s_endpgm", out)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "fast", "drawn"])
def test_more_waves_than_are_kept(engine: str) -> None:
    device = emu.Device("gfx900", **ENGINES[engine])
    out = device.buffer(np.zeros(4, np.uint32))
    initialise(device, "gfx900", 4095)
    code = "s_mov_b32 m0, 0\nds_gws_barrier v0 gds\ns_endpgm"
    run(device, "gfx900", code, out, groups=2048, lanes=128)
    initialise(device, "gfx900", 9999)
    with pytest.raises(UnsupportedError, match="more waves wait"):
        run(device, "gfx900", code, out, groups=5000)


def test_a_wave_that_does_not_wait_for_the_barrier_races() -> None:
    """The other resource orders nothing."""
    text = """
        s_mov_b32 m0, 0
        s_lshl_b32 s9, s2, 2
        v_mov_b32 v1, s9
        v_mov_b32 v2, 1
        global_store_dword v1, v2, s[0:1]
        s_waitcnt 0
        v_mov_b32 v8, 1
        ds_gws_barrier v8 offset:0 gds
        s_waitcnt 0
        s_xor_b32 s9, s9, 4
        v_mov_b32 v1, s9
        global_load_dword v3, v1, s[0:1]
        s_endpgm
    """
    device = emu.Device("gfx900", check_races=True)
    out = device.buffer(np.zeros(4, np.uint32))
    initialise(device, "gfx900", 1)
    run(device, "gfx900", text, out, groups=2)
    initialise(device, "gfx900", 0)
    with pytest.raises(emu.RaceError):
        run(device, "gfx900", text.replace("ds_gws_barrier v8 offset:0 gds", "s_nop 0"), out, groups=2)


# --------------------------------------------------------------------------------------------------- cooperative launches
COOPERATIVE = """
    v_readfirstlane_b32 s10, v0
    s_lshr_b32 s10, s10, 6
    s_mov_b32 s20, 0
    s_mov_b32 s21, {groups}
again:
    s_mul_i32 s8, s21, s2
    s_lshl_b32 s9, s2, 2
    s_add_u32 s9, s9, 256
    v_mov_b32 v1, s9
    v_mov_b32 v2, s8
    global_store_dword v1, v2, s[0:1] glc
    s_waitcnt 0
    s_barrier
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 arrived
    s_mov_b64 s[12:13], exec
    s_mov_b64 exec, 1
    v_mov_b32 v4, 0
    v_mov_b32 v2, 1
    global_atomic_add v3, v4, v2, s[0:1] glc
    s_waitcnt 0
spin:
    v_mov_b32 v1, 0
    global_load_dword v3, v1, s[0:1] glc
    s_waitcnt 0
    v_readfirstlane_b32 s9, v3
    s_cmp_lt_u32 s9, s21
    s_cbranch_scc1 spin
    s_mov_b64 exec, s[12:13]
arrived:
    s_barrier
    s_add_u32 s9, s2, 1
    s_cmp_eq_u32 s9, {groups}
    s_cselect_b32 s9, 0, s9
    s_lshl_b32 s9, s9, 2
    s_add_u32 s9, s9, 256
    v_mov_b32 v1, s9
    global_load_dword v3, v1, s[0:1] glc
    s_waitcnt 0
    v_readfirstlane_b32 s9, v3
    s_add_u32 s20, s20, s9
    s_barrier
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 left
    s_mov_b64 s[12:13], exec
    s_mov_b64 exec, 1
    v_mov_b32 v4, 0
    v_mov_b32 v2, 1
    global_atomic_add v3, v4, v2, s[0:1] glc
    s_waitcnt 0
    s_add_u32 s11, s21, {groups}
leave:
    v_mov_b32 v1, 0
    global_load_dword v3, v1, s[0:1] glc
    s_waitcnt 0
    v_readfirstlane_b32 s9, v3
    s_cmp_lt_u32 s9, s11
    s_cbranch_scc1 leave
    s_mov_b64 exec, s[12:13]
left:
    s_barrier
    s_add_u32 s21, s21, {twice}
    s_cmp_lt_u32 s21, {last}
    s_cbranch_scc1 again
    s_lshl_b32 s9, s2, 2
    v_mov_b32 v1, s9
    v_mov_b32 v2, s20
    global_store_dword v1, v2, s[0:1] offset:512
    s_endpgm
"""
ROUNDS = 3


def grid_of(groups: int) -> str:
    """Workgroups of two waves, which meet twice in each round at a counter that one of them raises and looks at until all have."""
    return COOPERATIVE.format(groups=groups, twice=2 * groups, last=(2 * ROUNDS + 1) * groups)


@pytest.mark.parametrize(("engine", "target"), [(engine, target) for engine in ENGINES for target in TARGETS if target != "gfx803"])
def test_workgroups_of_a_cooperative_launch_look_at_memory(engine: str, target: str) -> None:
    device = emu.Device(target, **ENGINES[engine])
    out = device.buffer(np.zeros(256, np.uint32))
    run(device, target, grid_of(GROUPS), out, lanes=128, cooperative=True)
    factors = sum((2 * number + 1) * GROUPS for number in range(ROUNDS))
    assert list(out.numpy()[128 : 128 + GROUPS]) == [factors * ((group + 1) % GROUPS) for group in range(GROUPS)]


@pytest.mark.parametrize("engine", ["reference", "fast", "threads"])
def test_other_launches_run_one_workgroup_after_the_other(engine: str) -> None:
    device = emu.Device("gfx1100", **ENGINES[engine])
    out = device.buffer(np.zeros(256, np.uint32))
    with pytest.raises(BudgetError):
        run(device, "gfx1100", grid_of(GROUPS), out, lanes=128, budget=300000)
    run(device, "gfx1100", grid_of(1), device.buffer(np.zeros(256, np.uint32)), groups=1, lanes=128, cooperative=True)


def test_a_cooperative_launch_that_waits_for_ever_ends_with_its_budget() -> None:
    """One workgroup more is waited for than there are; the time is looked at too."""
    device = emu.Device("gfx942")
    for budget in ({"budget": 500000}, {"time_budget": 0.2}):
        with pytest.raises(BudgetError):
            run(device, "gfx942", grid_of(GROUPS + 1), device.buffer(np.zeros(256, np.uint32)), lanes=128, cooperative=True, **budget)


def test_a_cooperative_launch_of_more_waves_than_the_engines_keep() -> None:
    device = emu.Device("gfx942")
    out = device.buffer(np.zeros(16, np.uint32))
    with pytest.raises(UnsupportedError, match="cooperative launch of 4097 waves"):
        run(device, "gfx942", "s_endpgm", out, groups=4097, cooperative=True)
    assert run(device, "gfx942", "s_endpgm", out, groups=4096, cooperative=True).waves == 4096


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100"])
def test_workgroups_of_a_cooperative_launch_keep_their_scratch(engine: str, target: str) -> None:
    """A value waits in scratch while others have their turns."""
    text = grid_of(GROUPS).replace("again:", "v_mov_b32 v9, s2\nSTORE\nagain:").replace("v_mov_b32 v2, s20", "LOAD\ns_waitcnt 0\nv_mov_b32 v2, v10")
    if target == "gfx1100":
        text = text.replace("STORE", "scratch_store_b32 off, v9, off offset:8").replace("LOAD", "scratch_load_b32 v10, off, off offset:8")
    else:
        setup = ("s_add_u32 flat_scratch_lo, 0, s3\ns_mov_b32 flat_scratch_hi, 0\n" if target == "gfx900" else
                 "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s3\ns_mov_b32 s30, 0\ns_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s30\n")  # fmt: skip
        text = setup + text.replace("STORE", "v_mov_b32 v11, 0\nscratch_store_dword v11, v9, off offset:8").replace(
            "LOAD", "v_mov_b32 v11, 0\nscratch_load_dword v10, v11, off offset:8")  # fmt: skip
    device = emu.Device(target, **ENGINES[engine])
    out = device.buffer(np.zeros(256, np.uint32))
    run(device, target, text, out, lanes=128, cooperative=True, scratch_bytes_per_lane=16, scratch_offset=target != "gfx1100")
    assert list(out.numpy()[128 : 128 + GROUPS]) == list(range(GROUPS))
