"""Clusters of workgroups (GFX12.5): what a wave knows of its cluster, and the barrier where the waves of a cluster meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyaco import emu, isa
from pyaco.emu.errors import EmulationError, RaceError
from pyaco.errors import InputError, UnsupportedError

ENGINES = ("reference", "fast", "drawn", "checked")
every_engine = pytest.mark.parametrize("engine", ENGINES)

#: s4 = the workgroup's number in the grid, x fastest, s10 = its id in x, s6 = its number in the cluster, s7 = whether it is in one, s20 = that of
#: the wave in it. The grid has s2 workgroups in x and s3 in y; the arithmetic is what LLVM makes of a workgroup's ids.
IDS = """
    v_readfirstlane_b32 s20, v0
    s_lshr_b32 s20, s20, 5
    s_bfe_u32 s8, ttmp6, 0x4000c
    s_add_co_u32 s8, s8, 1
    s_bfe_u32 s9, ttmp6, 0x40010
    s_add_co_u32 s9, s9, 1
    s_mul_i32 s10, ttmp9, s8
    s_and_b32 s11, ttmp6, 15
    s_add_co_u32 s10, s10, s11
    s_and_b32 s12, ttmp7, 0xffff
    s_mul_i32 s12, s12, s9
    s_bfe_u32 s13, ttmp6, 0x40004
    s_add_co_u32 s12, s12, s13
    s_bfe_u32 s9, ttmp6, 0x40014
    s_add_co_u32 s9, s9, 1
    s_lshr_b32 s14, ttmp7, 16
    s_mul_i32 s14, s14, s9
    s_bfe_u32 s13, ttmp6, 0x40008
    s_add_co_u32 s14, s14, s13
    s_mul_i32 s4, s14, s3
    s_add_co_u32 s4, s4, s12
    s_mul_i32 s4, s4, s2
    s_add_co_u32 s4, s4, s10
    s_getreg_b32 s6, hwreg(HW_REG_IB_STS2, 21, 4)
    s_getreg_b32 s7, hwreg(HW_REG_IB_STS2, 6, 4)
"""


def device_of(engine: str, target: str = "gfx1250") -> emu.Device:
    if engine == "drawn":
        return emu.Device(target, seed=5)
    return emu.Device(target, check="waits,races,memory,barriers") if engine == "checked" else emu.Device(target, engine)


def run(engine: str, text: str, out: np.ndarray, *, groups: Any, cluster: Any, lanes: int = 32, lds: int = 0) -> emu.Report:
    """Run a program; s[0:1] is the address of `out`, s2 and s3 are the grid's workgroups in x and y."""
    device = device_of(engine)
    memory = device.buffer(out)
    x, y, _ = (*groups, 1, 1)[:3]
    report = device.run(isa.assemble(text, "gfx1250"), groups, (lanes, 1, 1), lds_bytes=lds, cluster=cluster,
                        user_sgprs=[memory.address & 0xFFFFFFFF, memory.address >> 32, x, y])  # fmt: skip
    out[:] = memory.numpy()
    return report


@every_engine
@pytest.mark.parametrize(("groups", "cluster"), [((4, 6, 3), (2, 3, 1)), ((8, 2, 4), (4, 1, 4)), ((16, 1, 1), (16, 1, 1)), ((2, 2, 2), (1, 1, 1))])
def test_what_a_wave_knows(engine: str, groups: tuple[int, int, int], cluster: tuple[int, int, int]) -> None:
    """Each workgroup stores its place and its cluster's, where the compiler's arithmetic says that it is."""
    text = IDS + """
        s_lshl_b32 s15, s4, 4
        v_mov_b32 v1, s15
        v_mov_b32 v4, s6
        v_mov_b32 v5, s7
        v_mov_b32 v6, ttmp6
        v_mov_b32 v7, s10
        global_store_b128 v1, v[4:7], s[0:1]
        s_endpgm
    """
    count = groups[0] * groups[1] * groups[2]
    out = np.full((count, 4), 99, np.uint32)
    run(engine, text, out, groups=groups, cluster=cluster)
    z, y, x = np.unravel_index(np.arange(count), groups[::-1])
    places = [np.array(ids) % size for ids, size in zip((x, y, z), cluster, strict=True)]
    number = places[0] + cluster[0] * (places[1] + cluster[1] * places[2])
    members = cluster[0] * cluster[1] * cluster[2]
    assert (out[:, 0] == number).all() and (out[:, 1] != 0).all() == (members > 1)
    assert (out[:, 3] == x).all() and (out[:, 2] >> 24 == members - 1).all()
    assert all((out[:, 2] >> 4 * axis & 15 == places[axis]).all() for axis in range(3))


#: Behind it every store of the cluster's waves can be seen by all of them.
MEET = """
    s_wait_storecnt 0
    s_barrier_signal -1
    s_barrier_wait -1
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 skip{0}
    s_barrier_signal -3
skip{0}:
    s_barrier_wait -3
"""


def exchange(meet: str, rounds: int) -> str:
    """A line of clusters of four: in each round a workgroup stores what it holds, and takes that of the next in its cluster, plus its number."""
    text = IDS + """
        v_mov_b32 v3, s4
        s_lshl_b32 s15, s4, 8
        v_lshl_add_u32 v1, v0, 2, s15
        s_add_co_u32 s16, s6, 1
        s_and_b32 s16, s16, 3
        s_andn2_b32 s17, s4, 3
        s_or_b32 s17, s17, s16
        s_lshl_b32 s17, s17, 8
        v_lshl_add_u32 v2, v0, 2, s17
    """.replace("s_andn2_b32", "s_and_not1_b32")
    for number in range(rounds):
        text += f"""
            global_store_b32 v1, v3, s[0:1] scope:SCOPE_SE
            {meet.format(2 * number)}
            global_load_b32 v4, v2, s[0:1] scope:SCOPE_SE
            s_wait_loadcnt 0
            v_lshl_add_u32 v3, v4, 1, s4
            {meet.format(2 * number + 1)}
        """
    return text + """
        global_store_b32 v1, v3, s[0:1]
        s_endpgm
    """


@every_engine
def test_workgroups_of_a_cluster_meet(engine: str) -> None:
    """Two waves in each of 24 workgroups, three rounds."""
    out = np.zeros((24, 64), np.uint32)
    report = run(engine, exchange(MEET, 3), out, groups=(24,), cluster=(4,), lanes=64)
    numbers = np.arange(24)
    held = numbers.copy()
    for _ in range(3):
        held = 2 * held[numbers // 4 * 4 + (numbers + 1) % 4] + numbers
    assert (out == held[:, None]).all() and report.waves == 48


def test_both_engines_count_alike() -> None:
    reports = [run(engine, exchange(MEET, 3), np.zeros((24, 64), np.uint32), groups=(24,), cluster=(4,), lanes=64) for engine in ENGINES[:2]]
    assert reports[0].instructions == reports[1].instructions


def test_without_the_barrier_it_is_a_race() -> None:
    only = "\n".join(line for line in MEET.splitlines() if "-3" not in line)
    with pytest.raises(RaceError):
        run("checked", exchange(only, 1), np.zeros((8, 64), np.uint32), groups=(8,), cluster=(4,), lanes=64)


@every_engine
def test_the_first_to_signal_is_told(engine: str) -> None:
    """Of each cluster one workgroup finds SCC set."""
    text = IDS + """
        s_barrier_signal_isfirst -3
        s_cselect_b32 s18, 1, 0
        s_barrier_wait -3
        s_lshl_b32 s15, s4, 2
        v_mov_b32 v1, s15
        v_mov_b32 v2, s18
        global_store_b32 v1, v2, s[0:1]
        s_endpgm
    """
    out = np.full(12, 9, np.uint32)
    run(engine, text, out, groups=(4, 3), cluster=(2, 3))
    assert sorted(out) == [0] * 10 + [1] * 2 and out.reshape(3, 2, 2).sum((0, 2)).tolist() == [1, 1]


@every_engine
def test_a_workgroup_that_never_signals(engine: str) -> None:
    text = IDS + """
        s_cmp_eq_u32 s6, 1
        s_cbranch_scc1 end
        s_barrier_signal -3
        s_barrier_wait -3
    end:
        s_endpgm
    """
    with pytest.raises(EmulationError, match="wait"):
        run(engine, text, np.zeros(4, np.uint32), groups=(4,), cluster=(2,))


@every_engine
def test_a_workgroup_that_signals_twice(engine: str) -> None:
    text = "s_barrier_signal -3\ns_barrier_signal -3\ns_barrier_wait -3\ns_endpgm"
    with pytest.raises(UnsupportedError, match="s_barrier_signal"):
        run(engine, text, np.zeros(4, np.uint32), groups=(4,), cluster=(2,))


@every_engine
def test_named_barriers_of_a_workgroup_that_waits_for_others(engine: str) -> None:
    """Each workgroup's own barriers are as they were when its cluster has met."""
    text = IDS + """
        s_cmp_lg_u32 s20, 0
        s_cbranch_scc1 ready
        s_mov_b32 m0, 0x20000
        s_barrier_init 3
        s_barrier_signal 3
        s_barrier_signal -3
    ready:
        s_barrier_signal -1
        s_barrier_wait -1
        s_barrier_wait -3
        s_get_barrier_state s18, 3
        s_wait_kmcnt 0
        s_lshl_b32 s15, s4, 2
        v_mov_b32 v1, s15
        v_mov_b32 v2, s18
        global_store_b32 v1, v2, s[0:1]
        s_endpgm
    """
    out = np.zeros(8, np.uint32)
    run(engine, text, out, groups=(8,), cluster=(4,), lanes=64)
    assert (out == (1 | 2 << 4 | 1 << 16)).all()


@every_engine
@pytest.mark.parametrize("kind", ["tensor", "lanes"])
def test_loads_into_lds(engine: str, kind: str) -> None:
    """A workgroup of a cluster may name itself; what a load for others does is not certain."""
    words = [2 << 16 | 0xABCD, 32 << 16, 1 << 16, 32 << 16, 1, 32, 0, 0]
    tensor = """
        s_lshl_b32 s23, 1, s6
        s_mov_b32 s24, 1
        s_mov_b32 s25, 0
        s_mov_b32 s26, s0
        s_and_b32 s27, s1, 0x1ffffff
        s_bitset1_b32 s27, 31
    """ + "".join(f"\ns_mov_b32 s{28 + number}, {word:#x}" for number, word in enumerate(words)) + """
        s_and_b32 s28, s28, 0xffff0000
        s_or_b32 s28, s28, s23
        tensor_load_to_lds s[24:27], s[28:35]
        s_wait_tensorcnt 0
    """
    lanes = "s_lshl_b32 s23, 1, s6\ns_mov_b32 m0, s23\ncluster_load_async_to_lds_b32 v1, v1, s[0:1]\ns_wait_asynccnt 0"
    text = IDS + "v_lshlrev_b32 v1, 2, v0\n" + (tensor if kind == "tensor" else lanes) + """
        ds_load_b32 v2, v1
        s_wait_dscnt 0
        s_lshl_b32 s15, s4, 7
        v_add_nc_u32 v1, s15, v1
        global_store_b32 v1, v2, s[0:1] offset:128
        s_endpgm
    """
    out = np.zeros((9, 32), np.uint32)
    out[0] = np.arange(32) * 7 + 1
    run(engine, text, out, groups=(8,), cluster=(4,), lds=128)
    assert (out == out[0]).all() and out[0, 1] == 8
    for mask in ("6", "s23"):
        others = text.replace("s_lshl_b32 s23, 1, s6", f"s_lshl_b32 s23, 2, s6\ns_mov_b32 s23, {mask}")
        with pytest.raises(UnsupportedError, match="_to_lds"):
            run(engine, others, out, groups=(8,), cluster=(4,), lds=128)


def test_grids_that_clusters_do_not_fill() -> None:
    for cluster, message in (((3,), "do not fill a grid"), ((4, 4, 2), "up to 16"), ((1, 2), "do not fill")):
        with pytest.raises(InputError, match=message):
            run("fast", "s_endpgm", np.zeros(4, np.uint32), groups=(8,), cluster=cluster)
    with pytest.raises(InputError, match="gfx1200 has no clusters"):
        emu.Device("gfx1200").run(isa.assemble("s_endpgm", "gfx1200"), (2,), cluster=(2,))
