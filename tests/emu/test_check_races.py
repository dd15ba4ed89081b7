"""Data races between waves, through LDS and memory, within and between workgroups; programs that order their accesses have none."""

from __future__ import annotations

from typing import Any

import pytest
from test_check_waits import LEVELS, run, spell

from pyaco.emu import Device, RaceError
from pyaco.errors import InputError

OTHER_WAVE = "v_xor_b32 v1, 0x100, v0\n"  # 64 lanes on

RACY = {
    "LDS, read after write": "{ds_write} v0, v0\n<lds 0>\n" + OTHER_WAVE + "{ds_read} v2, v1\n<lds 0>",
    "LDS, write after read": "{ds_read} v2, v0\n<lds 0>\n" + OTHER_WAVE + "{ds_write} v1, v0\n<lds 0>",
    "LDS, write after write": "{ds_write} v9, v0\n<lds 0>",
    "LDS, second phase without a barrier": (
        "{ds_write} v0, v0\n<lds 0>\n{barrier}\n" + OTHER_WAVE + "{ds_read} v2, v1\n<lds 0>\n{ds_write} v1, v0\n<lds 0>\n"
        "{ds_read} v2, v0\n<lds 0>"),
    "LDS, atomic and plain": "v_mov_b32 v3, 1\nds_add_u32 v9, v3\n<lds 0>\n{ds_read} v2, v9\n<lds 0>",
    "LDS through a flat address": (
        "{ds_write} v0, v0\n<lds 0>\n" + OTHER_WAVE + "v_mov_b32 v4, v1\nv_mov_b32 v5, 0x10000\n{flat_load} v2, v[4:5]\n<vm 0>\n<lds 0>"),
    "memory, write after write": "{store} v9, v0, s[0:1]",
    "memory, read after write": "{store} v0, v0, s[0:1]\n<vs 0>\n" + OTHER_WAVE + "{load} v2, v1, s[0:1]\n<vm 0>",
    "memory, scalar read after write": "{store} v0, v0, s[0:1]\n<vs 0>\n{s_load} s8, s[0:1], 0x100\n<km 0>",
    "LDS, read before all store the same": "v_mov_b32 v3, 7\n{ds_read} v2, v9\n<lds 0>\n{ds_write} v9, v3\n<lds 0>",
    "LDS, another value after all stored the same": "v_mov_b32 v3, 7\n{ds_write} v9, v3\n{ds_read} v2, v9\n<lds 0>\n{ds_write} v9, v0\n<lds 0>",
    "memory, same value where others only read":
        "v_mov_b32 v3, 7\n{store} v0, v3, s[0:1]\n<vs 0>\n" + OTHER_WAVE + "{load} v2, v1, s[0:1]\n<vm 0>",
    "memory, plain read of a counter": "v_mov_b32 v3, 1\n{atomic} v9, v3, s[0:1]\n<vs 0>\n{load} v2, v9, s[0:1]\n<vm 0>",
}  # fmt: skip
#: A race where an atomic store has bits of its own; elsewhere the store may be one (LLVM's memory model for AMDGPU).
PLAIN_STORE = {
    "memory, atomic on what another wrote": (
        "{store} v0, v0, s[0:1]\n<vs 0>\n" + OTHER_WAVE + "v_mov_b32 v3, 1\n{atomic} v1, v3, s[0:1]\n<vs 0>"),
    "memory, atomic load of what another wrote": (
        "{store} v0, v0, s[0:1]\n<vs 0>\n" + OTHER_WAVE + "{load} v2, v1, s[0:1] {coherent}\n<vm 0>"),
    "memory, store over what another loads as an atomic": (
        "{load} v2, v0, s[0:1] {coherent}\n<vm 0>\n" + OTHER_WAVE + "{store} v1, v0, s[0:1]\n<vs 0>"),
}
MARKED_STORE = "{store} v0, v0, s[0:1] {coherent}\n<vs 0>\n" + OTHER_WAVE + "{load} v2, v1, s[0:1] {coherent}\n<vm 0>"
COHERENT = {"gfx900": "glc", "gfx1030": "glc", "gfx1100": "glc", "gfx1200": "scope:SCOPE_DEV", "gfx942": "sc1"}
ORDERED = {
    "LDS behind a barrier": "{ds_write} v0, v0\n<lds 0>\n{barrier}\n" + OTHER_WAVE + "{ds_read} v2, v1\n<lds 0>",
    "LDS, own value that others store too": "v_and_b32 v1, 0xfc, v0\n{ds_write} v1, v1\n<lds 0>\n" + 2 * "{ds_read} v2, v1\n<lds 0>\n",
    "memory, own value that others store too":
        "v_and_b32 v1, 0xfc, v0\n" + 2 * "{store} v1, v1, s[0:1]\n<vs 0>\n{load} v2, v1, s[0:1]\n<vm 0>\n",
    "LDS, two phases": (
        "{ds_write} v0, v0\n<lds 0>\n{barrier}\n" + OTHER_WAVE + "{ds_read} v2, v1\n<lds 0>\n{barrier}\n{ds_write} v1, v0\n<lds 0>"),
    "LDS atomics": "v_mov_b32 v3, 1\nds_add_u32 v9, v3\n<lds 0>\n{barrier}\n{ds_read} v2, v9\n<lds 0>",
    "own places": "{ds_write} v0, v0\n{ds_read} v1, v0\n<lds 0>\n{store} v0, v1, s[0:1]\n{load} v2, v0, s[0:1]\n<vm 0>\n<vs 0>",
    "neighbouring bytes": "v_lshrrev_b32 v1, 2, v0\nds_{store8} v1, v0\n<lds 0>\nglobal_store_{byte} v1, v0, s[0:1]\n<vs 0>",
    "many readers": "{load} v1, v9, s[0:1]\n{s_load} s8, s[0:1], 0x0\n<vm 0>\n<km 0>\n{store} v0, v1, s[2:3]",
    "memory atomics": "v_mov_b32 v3, 1\n{atomic} v9, v3, s[0:1]\n{atomic} v2, v9, v3, s[0:1] offset:4 {returns}\n<vm 0>\n<vs 0>",
    "memory behind a barrier": (
        "{store} v0, v0, s[0:1]\n<vs 0>\n{barrier}\n" + OTHER_WAVE + "{load} v2, v1, s[0:1]\n<vm 0>\n{barrier}\n{store} v1, v2, s[0:1]"),
}  # fmt: skip


def program(text: str, target: str) -> str:
    place = LEVELS.index(target)
    text = text.replace("{store8}", ("write_b8", "write_b8", "store_b8", "store_b8")[place]).replace("{byte}", ("byte", "byte", "b8", "b8")[place])
    return spell(text, target)


@pytest.mark.parametrize("target", LEVELS)
@pytest.mark.parametrize("name", RACY)
def test_race(name: str, target: str) -> None:
    with pytest.raises(RaceError, match="nothing orders them") as caught:
        run(program(RACY[name], target), target, size=128, check_waits=False, check_races=True)
    place = caught.value.place
    assert place["wave"] != place["earlier"]["wave"] and (place["store"] or place["earlier"]["store"])
    assert place["space"] == ("lds" if name.startswith("LDS") else "memory")


@pytest.mark.parametrize("target", LEVELS)
@pytest.mark.parametrize("name", PLAIN_STORE)
def test_store_that_may_be_atomic(name: str, target: str) -> None:
    text = program(PLAIN_STORE[name].replace("{coherent}", COHERENT[target]), target)
    if target != "gfx1200":
        run(text, target, size=128, check_races=True)
        return
    with pytest.raises(RaceError, match="nothing orders them"):
        run(text, target, size=128, check_waits=False, check_races=True)


@pytest.mark.parametrize("target", LEVELS)
def test_store_that_is_atomic(target: str) -> None:
    run(program(MARKED_STORE.replace("{coherent}", COHERENT[target]), target), target, size=128, check_races=True)


@pytest.mark.parametrize("target", ["gfx900", "gfx1030"])
def test_store_that_nobody_reads(target: str) -> None:
    """Mesa's stores to buffers that are only written have glc: nobody is told by one that an earlier store is done, so that no wait is missing."""
    text = "{store} v9, v9, s[0:1]\n{store} v0, v0, s[2:3] glc"
    run(program(text, target), target, size=128, groups=(4, 1, 1), check_waits=True)


#: s4 is the workgroup. Each publishes data by a flag; the next one waits for it: the look-back of a radix sort in one pass.
LOOK_BACK = """
    s_lshl_b32 s8, s4, 7
    v_add_nc_u32 v1, s8, v0
    global_store_b32 v1, v0, s[0:1]
    s_waitcnt_vscnt null, 0
    s_barrier
    s_lshl_b32 s9, s4, 2
    v_mov_b32 v6, s9
    v_mov_b32 v5, 1
    global_store_b32 v6, v5, s[2:3] offset:4
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 end
    again:
    global_load_b32 v7, v6, s[2:3] {coherent}
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v7
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 again
    v_subrev_nc_u32 v8, 0x80, v1
    v_xor_b32 v8, 64, v8
    global_load_b32 v9, v8, s[0:1]
    s_waitcnt vmcnt(0)
    end:
"""


def test_flag_that_a_plain_store_sets() -> None:
    """The atomic load orders what the other workgroup did before its store; a plain load of the flag does not."""
    arguments: dict[str, Any] = {"size": 32, "groups": (4, 1, 1), "workgroup_ids": (True, False, False), "check_races": True}
    run(LOOK_BACK.replace("{coherent}", "glc"), "gfx1100", **arguments)
    with pytest.raises(RaceError):
        run(LOOK_BACK.replace("{coherent}", ""), "gfx1100", **arguments)


@pytest.mark.parametrize("target", LEVELS)
@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_no_race(name: str, target: str, seed: int | None) -> None:
    run(program(ORDERED[name], target), target, size=128, check_races=True, device={"seed": seed})


@pytest.mark.parametrize("target", LEVELS)
def test_loop_around_compare_and_swap(target: str) -> None:
    """It begins with a plain load, as compilers write it; the swap says whether the value was right. Stores are another matter."""
    swap = "v_mov_b32 v3, 1\nv_mov_b32 v4, 0\n" + {
        "gfx900": "global_atomic_cmpswap v5, v9, v[3:4], s[0:1] glc", "gfx1030": "global_atomic_cmpswap v5, v9, v[3:4], s[0:1] glc",
        "gfx1100": "global_atomic_cmpswap_b32 v5, v9, v[3:4], s[0:1] glc",
        "gfx1200": "global_atomic_cmpswap_b32 v5, v9, v[3:4], s[0:1] th:TH_ATOMIC_RETURN",
    }[target] + "\n<vm 0>\n"  # fmt: skip
    for text in ("{load} v2, v9, s[0:1]\n<vm 0>\n" + swap, swap + "{load} v2, v9, s[0:1]\n<vm 0>"):
        run(program(text, target), target, size=128, check_races=True)
    if target == "gfx1200":                                 # elsewhere a store may be atomic
        with pytest.raises(RaceError):
            run(program(swap + "{store} v9, v0, s[0:1]\n<vs 0>", target), target, size=128, check_waits=False, check_races=True)


@pytest.mark.parametrize("target", LEVELS)
def test_one_wave_has_no_races(target: str) -> None:
    run(program(RACY["LDS, write after write"], target), target, size=32, check_races=True)


GROUPS = {
    # s4: the workgroup; each writes a part, the last to count reads all parts
    "last one reads": """
        s_lshl_b32 s8, s4, 8
        v_add_nc_u32 v1, s8, v0
        global_store_b32 v1, v0, s[0:1]
        s_waitcnt_vscnt null, 0
        s_barrier
        v_mov_b32 v3, 1
        v_mov_b32 v9, 0
        s_mov_b32 s9, exec_lo
        s_mov_b32 exec_lo, 1
        global_atomic_add_u32 v4, v9, v3, s[2:3] glc
        s_waitcnt vmcnt(0)
        s_mov_b32 exec_lo, s9
        v_readfirstlane_b32 s10, v4
        s_cmp_lg_u32 s10, 3
        s_cbranch_scc1 end
        v_xor_b32 v1, 0x100, v1
        global_load_b32 v5, v1, s[0:1]
        s_waitcnt vmcnt(0)
        end:
    """,
    "everyone reads": """
        s_lshl_b32 s8, s4, 8
        v_add_nc_u32 v1, s8, v0
        global_store_b32 v1, v0, s[0:1]
        s_waitcnt_vscnt null, 0
        v_xor_b32 v1, 0x100, v1
        global_load_b32 v5, v1, s[0:1]
        s_waitcnt vmcnt(0)
    """,
}


def test_between_workgroups() -> None:
    arguments: dict[str, Any] = {"size": 32, "groups": (4, 1, 1), "workgroup_ids": (True, False, False), "check_races": True}
    run(GROUPS["last one reads"], "gfx1100", **arguments)
    with pytest.raises(RaceError) as caught:
        run(GROUPS["everyone reads"], "gfx1100", **arguments)
    assert caught.value.place["workgroup"] != caught.value.place["earlier"]["workgroup"]


def test_seeds_draw_the_order() -> None:
    """A program whose result depends on the order shows it with seeds; each seed gives its result every time."""
    # the wave that comes last leaves its number: v0 is the same in all lanes after the shift
    text = "v_lshrrev_b32 v0, 7, v0\nglobal_store_b32 v9, v0, s[0:1]\ns_nop 0\nglobal_load_b32 v1, v9, s[0:1]\ns_waitcnt vmcnt(0)"
    code = "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v0, 2, v0\nv_mov_b32 v9, 0\n" + text + "\ns_endpgm"
    from pyaco import isa

    machine = isa.assemble(code, "gfx1100")
    results: dict[int | None, int] = {}
    for seed in [None, None, *range(8), *range(8)]:
        device = Device("gfx1100", seed=seed)
        buffer = device.zeros(64)
        device.run(machine, (1, 1, 1), (1024, 1, 1), user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32])
        found = int(buffer.numpy()[:4].view("u4")[0])
        assert results.setdefault(seed, found) == found
    assert results[None] == 31 and len(set(results.values())) > 2


def test_bad_arguments() -> None:
    with pytest.raises(InputError):
        Device("gfx1100", seed=-1)
    with pytest.raises(InputError):
        Device("gfx1100", trace=-1)
