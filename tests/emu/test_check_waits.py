"""Uses of data that a real machine could not have yet are errors that name the place; waits that are enough make none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device, Launch, MissingWaitError, RaceError, Report

LEVELS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")


def run(
    text: str, target: str, *, size: int = 64, check_races: bool = False, check_waits: bool = True, lds: int = 1024, **launch: Any,
) -> Report:
    """Run text on a fresh device whose s[0:1] holds the address of 4096 bytes, s[2:3] that of another 4096; v0 is the local id times 4."""
    device = Device(target, check_waits=check_waits, check_races=check_races, **launch.pop("device", {}))
    first, second = device.zeros(4096), device.zeros(4096)
    wave = 64 if target == "gfx900" else 32
    start = "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v0, 2, v0\nv_mov_b32 v9, 0\n"
    code = isa.assemble(start + text + "\ns_endpgm", target)
    user = [first.address & 0xFFFFFFFF, first.address >> 32, second.address & 0xFFFFFFFF, second.address >> 32]
    return device.run(
        code, launch.pop("groups", (1, 1, 1)), (size, 1, 1), user_sgprs=user, wave_size=wave, lds_bytes=lds, local_id_components=1, **launch
    )


# what an instruction is called, by target
NAMES = {
    "s_load": ("s_load_dword", "s_load_dword", "s_load_b32", "s_load_b32"),
    "load": ("global_load_dword", "global_load_dword", "global_load_b32", "global_load_b32"),
    "store": ("global_store_dword", "global_store_dword", "global_store_b32", "global_store_b32"),
    "flat_load": ("flat_load_dword", "flat_load_dword", "flat_load_b32", "flat_load_b32"),
    "ds_read": ("ds_read_b32", "ds_read_b32", "ds_load_b32", "ds_load_b32"),
    "ds_write": ("ds_write_b32", "ds_write_b32", "ds_store_b32", "ds_store_b32"),
    "atomic": ("global_atomic_add", "global_atomic_add", "global_atomic_add_u32", "global_atomic_add_u32"),
    "returns": ("glc", "glc", "glc", "th:TH_ATOMIC_RETURN"),
    "vm": ("s_waitcnt vmcnt({})", "s_waitcnt vmcnt({})", "s_waitcnt vmcnt({})", "s_wait_loadcnt {}"),
    "lds": ("s_waitcnt lgkmcnt({})", "s_waitcnt lgkmcnt({})", "s_waitcnt lgkmcnt({})", "s_wait_dscnt {}"),
    "km": ("s_waitcnt lgkmcnt({})", "s_waitcnt lgkmcnt({})", "s_waitcnt lgkmcnt({})", "s_wait_kmcnt {}"),
    "vs": ("s_waitcnt vmcnt({})", "s_waitcnt_vscnt null, {}", "s_waitcnt_vscnt null, {}", "s_wait_storecnt {}"),
    "barrier": ("s_barrier", "s_barrier", "s_barrier", "s_barrier_signal -1\ns_barrier_wait -1"),
}  # fmt: skip
COUNTERS = {
    "vm": ("vmcnt", "vmcnt", "vmcnt", "loadcnt"), "lds": ("lgkmcnt", "lgkmcnt", "lgkmcnt", "dscnt"),
    "km": ("lgkmcnt", "lgkmcnt", "lgkmcnt", "kmcnt"), "vs": ("vmcnt", "vscnt", "vscnt", "storecnt"),
}  # fmt: skip


def spell(text: str, target: str) -> str:
    """``{load}`` is the name of that instruction, ``<vm 1>`` a wait."""
    place = LEVELS.index(target)
    for name, spellings in NAMES.items():
        text = text.replace("{" + name + "}", spellings[place])
        for count in range(4):
            text = text.replace(f"<{name} {count}>", spellings[place].format(count))
    return text


# program with the wait that it needs between ! and !, the register that is used too early, the counter
CASES = {
    "scalar load": ("{s_load} s8, s[0:1], 0x0\n!<km 0>!\ns_add_u32 s9, s8, 1", "s8", "km"),
    "scalar load written over": ("{s_load} s8, s[0:1], 0x0\n!<km 0>!\ns_mov_b32 s8, 1", "s8", "km"),
    "scalar load after scalar load": ("{s_load} s8, s[0:1], 0x0\n!<km 0>!\n{s_load} s8, s[0:1], 0x4\n<km 0>", "s8", "km"),
    "scalar load, vector use": ("{s_load} s8, s[0:1], 0x0\n!<km 0>!\nv_mov_b32 v1, s8", "s8", "km"),
    "address of a load": ("{load} v1, v0, s[0:1]\n!<vm 0>!\n{load} v2, v1, s[2:3]\n<vm 0>", "v1", "vm"),
    "vector load": ("{load} v1, v0, s[0:1]\n!<vm 0>!\nv_add_f32 v2, v1, v1", "v1", "vm"),
    "vector load written over": ("{load} v1, v0, s[0:1]\n!<vm 0>!\nv_mov_b32 v1, 0", "v1", "vm"),
    "older of two loads": ("{load} v1, v0, s[0:1]\n{load} v2, v0, s[0:1] offset:4\n!<vm 1>!\nv_mov_b32 v3, v1\n<vm 0>", "v1", "vm"),
    "younger of two loads": ("{load} v1, v0, s[0:1]\n{load} v2, v0, s[0:1] offset:4\n<vm 1>\n!<vm 0>!\nv_mov_b32 v3, v2", "v2", "vm"),
    "data of a store": ("{load} v1, v0, s[0:1]\n!<vm 0>!\n{store} v0, v1, s[2:3]", "v1", "vm"),
    "returning atomic": ("{atomic} v1, v0, v9, s[0:1] {returns}\n!<vm 0>!\nv_mov_b32 v2, v1", "v1", "vm"),
    "LDS": ("{ds_write} v0, v0\n{ds_read} v1, v0\n!<lds 0>!\nv_mov_b32 v2, v1", "v1", "lds"),
    "permute": ("ds_bpermute_b32 v1, v0, v0\n!<lds 0>!\nv_mov_b32 v2, v1", "v1", "lds"),
    "readlane": ("{load} v1, v0, s[0:1]\n!<vm 0>!\nv_readlane_b32 s8, v1, 3", "v1", "vm"),
    "branch on vcc": ("{s_load} vcc_lo, s[0:1], 0x0\n!<km 0>!\ns_cbranch_vccz L\nL:", "vcc_lo", "km"),
    "flat load of memory": (
        "v_mov_b32 v4, s0\nv_mov_b32 v5, s1\n{flat_load} v1, v[4:5]\n!<vm 0>!\nv_mov_b32 v2, v1\n<lds 0>", "v1", "vm"),
    "flat load of LDS": (
        "v_mov_b32 v4, v0\nv_mov_b32 v5, 0x10000\n{flat_load} v1, v[4:5]\n<vm 0>\n!<lds 0>!\nv_mov_b32 v2, v1", "v1", "lds"),
}  # fmt: skip


@pytest.mark.parametrize("target", LEVELS)
@pytest.mark.parametrize("name", CASES)
def test_register(name: str, target: str) -> None:
    text, register, counter = CASES[name]
    before, wait, after = spell(text, target).split("!")
    run(before + wait + after, target)
    with pytest.raises(MissingWaitError, match=rf"{register}\b.*{COUNTERS[counter][LEVELS.index(target)]}.*pc 0x") as caught:
        run(before + "s_nop 0" + after, target)
    place = caught.value.place
    assert place["register"] == register and place["counters"] == [COUNTERS[counter][LEVELS.index(target)]]
    assert place["earlier"]["pc"] < place["pc"]


@pytest.mark.parametrize("target", LEVELS)
def test_other_lanes_of_a_load(target: str) -> None:
    """Until GFX10.3 lanes that a load does not write are free; on GFX11 for further loads only, and for reading; on GFX12 for reading."""
    exec_, half = ("exec", "0xffff") if target == "gfx900" else ("exec_lo", "0xffff")
    move = "s_mov_b64" if target == "gfx900" else "s_mov_b32"
    start = f"v_mov_b32 v4, s0\nv_mov_b32 v5, s1\nv_mov_b32 v1, 0\n{move} {exec_}, {half}\n{{flat_load}} v1, v[4:5]\n{move} {exec_}, 0xff0000\n"
    end = f"\n{move} {exec_}, -1\n<vm 0>\n<lds 0>"
    load = spell(start + "{load} v1, v0, s[0:1]" + end, target)
    if target == "gfx1200":
        with pytest.raises(MissingWaitError, match=r"global_load.* writes v1, which flat_load"):
            run(load, target)
    else:
        run(load, target)
    run(spell(start + "v_add_f32 v2, v1, v1" + end, target), target)
    write = spell(start + "v_mov_b32 v1, 0" + end, target)
    if target in ("gfx900", "gfx1030"):
        run(write, target)
    else:
        with pytest.raises(MissingWaitError, match=r"v_mov_b32.* writes v1, which flat_load"):
            run(write, target)


@pytest.mark.parametrize("target", LEVELS)
def test_loads_write_their_registers_in_order_before_gfx12(target: str) -> None:
    text = spell("{load} v1, v0, s[0:1]\n{load} v1, v0, s[0:1] offset:4\n<vm 0>\nv_mov_b32 v2, v1", target)
    if target == "gfx1200":
        with pytest.raises(MissingWaitError, match=r"writes v1, which global_load"):
            run(text, target)
        text = spell("{load} v1, v0, s[0:1]\n<vm 0>\n{load} v1, v0, s[0:1] offset:4\n<vm 0>\nv_mov_b32 v2, v1", target)
    run(text, target)


@pytest.mark.parametrize("target", LEVELS)
def test_scalar_loads_come_in_any_order(target: str) -> None:
    text = "{s_load} s8, s[0:1], 0x0\n{s_load} s9, s[0:1], 0x4\n<km 1>\ns_mov_b32 s10, s8\n<km 0>"
    with pytest.raises(MissingWaitError, match="s8"):
        run(spell(text, target), target)


@pytest.mark.parametrize("target", LEVELS)
def test_kinds_of_one_counter_come_in_any_order(target: str) -> None:
    """LDS behind a scalar load: a count of one may be either; GFX12 has a counter for each."""
    text = spell("{ds_read} v1, v0\n{s_load} s8, s[0:1], 0x0\n<lds 1>\nv_mov_b32 v2, v1\n<km 0>", target)
    wait = spell("{ds_read} v1, v0\n{s_load} s8, s[0:1], 0x0\n<lds 0>\nv_mov_b32 v2, v1\n<km 0>", target)
    run(wait, target)
    with pytest.raises(MissingWaitError, match="v1"):
        run(text, target)


@pytest.mark.parametrize("target", ["gfx600", "gfx700", "gfx803"])
def test_scalar_loads_spoil_vccz_before_gfx8(target: str) -> None:
    for wait, branch in (("", "s_cbranch_vccz 0"), ("", "s_cbranch_vccnz 0"), ("s_waitcnt lgkmcnt(0)\ns_mov_b64 vcc, vcc", "s_cbranch_vccz 0")):
        device = Device(target, check_waits=True)
        memory = device.zeros(64)
        text = f"s_load_dword s8, s[0:1], 0x0\nv_cmp_eq_u32 vcc, v0, v0\n{wait}\n{branch}\ns_waitcnt lgkmcnt(0)\ns_endpgm"
        arguments: Any = {"user_sgprs": [memory.address & 0xFFFFFFFF, memory.address >> 32], "wave_size": 64}
        if wait or target == "gfx803":
            device.run(isa.assemble(text, target), (1, 1, 1), (64, 1, 1), **arguments)
        else:
            with pytest.raises(MissingWaitError, match=r"s_cbranch_vccn?z.*vcc.*s_load_dword"):
                device.run(isa.assemble(text, target), (1, 1, 1), (64, 1, 1), **arguments)


def test_lanes_that_do_not_load() -> None:
    """Before GFX11 only the lanes that a load writes have to wait; from GFX11 on nothing may write the others either."""
    text = "s_mov_b32 exec_lo, 0xffff\n{load} v1, v0, s[0:1]\ns_mov_b32 exec_lo, 0xffff0000\nv_mov_b32 v1, 0\n<vm 0>"
    run(spell(text, "gfx1030"), "gfx1030")
    with pytest.raises(MissingWaitError):
        run(spell(text, "gfx1100"), "gfx1100")


def test_full_counter_waits_by_itself() -> None:
    """After 64 more loads than the counter can count the first one is there."""
    loads = "".join(f"global_load_dword v{number}, v0, s[0:1]\n" for number in range(2, 66))
    run("global_load_dword v1, v0, s[0:1]\n" + loads + "v_mov_b32 v70, v1", "gfx1030")
    with pytest.raises(MissingWaitError):
        run("global_load_dword v1, v0, s[0:1]\n" + loads[: loads.index("v64")].rsplit("\n", 1)[0] + "\nv_mov_b32 v70, v1", "gfx1030")


def test_gds_reads_its_data_late() -> None:
    text = "s_mov_b32 m0, 0xffff\ns_nop 0\nds_write_b32 v9, v0 gds\n!s_waitcnt expcnt(0)!\nv_mov_b32 v0, 0"
    before, wait, after = text.split("!")
    run(before + wait + after, "gfx900")
    with pytest.raises(MissingWaitError, match="expcnt"):
        run(before + after, "gfx900")


def test_buffer_load_to_lds() -> None:
    """Data that go to LDS past the registers come with the vector counter."""
    words = "s_mov_b32 s4, s0\ns_mov_b32 s5, s1\ns_mov_b32 s6, 4096\ns_mov_b32 m0, 0\ns_mov_b32 s7, 0\n"
    load = words + "buffer_load_dword v0, s[4:7], 0 offen lds\n!s_waitcnt vmcnt(0)!\nds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)"
    before, wait, after = load.split("!")
    run(before + wait + after, "gfx900", size=64)
    with pytest.raises(MissingWaitError, match=r"lds.*vmcnt"):
        run(before + after, "gfx900", size=64)


# ------------------------------------------------------------------------------------------------------- between waves
EXCHANGE = "{ds_write} v0, v0\n!<lds 0>!\n{barrier}\nv_xor_b32 v1, 0x80, v0\nv_xor_b32 v1, 0x100, v1\n{ds_read} v2, v1\n<lds 0>"


@pytest.mark.parametrize("target", LEVELS)
def test_lds_across_a_barrier(target: str) -> None:
    before, wait, after = spell(EXCHANGE, target).split("!")
    run(before + wait + after, target, size=128, check_races=True)
    with pytest.raises(MissingWaitError, match=r"lds.*missing"):
        run(before + after, target, size=128, check_races=True)
    with pytest.raises(MissingWaitError, match=r"lds.*missing"):
        run(before + after, target, size=128)


@pytest.mark.parametrize("target", LEVELS)
def test_load_across_a_barrier(target: str) -> None:
    """What a wave still reads another may not write."""
    text = "{ds_read} v2, v0\n!<lds 0>!\n{barrier}\nv_xor_b32 v1, 0x100, v0\n{ds_write} v1, v0\n<lds 0>"
    before, wait, after = spell(text, target).split("!")
    run(before + wait + after, target, size=128)
    with pytest.raises(MissingWaitError):
        run(before + after, target, size=128)


@pytest.mark.parametrize("target", LEVELS)
def test_memory_across_a_barrier(target: str) -> None:
    """A common first-level cache keeps accesses in order; in WGP mode there is none."""
    text = "{store} v0, v0, s[0:1]\n!<vs 0>!\n{barrier}\nv_xor_b32 v1, 0x100, v0\n{load} v2, v1, s[0:1]\n<vm 0>"
    before, wait, after = spell(text, target).split("!")
    run(before + wait + after, target, size=128, check_races=True)
    run(before + after, target, size=128, check_races=True)
    if target == "gfx900":
        return
    device = Device(target, check_waits=True, check_races=True)
    buffer = device.zeros(4096)
    for middle, enough in ((wait, True), ("", False)):
        code = isa.assemble("v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v0, 2, v0\n" + before + middle + after + "\ns_endpgm", target)
        place = device.buffer(code)
        launch = Launch(
            entry=place.address, code_bytes=len(code), groups=(1, 1, 1), size=(128, 1, 1), wave_size=32,
            user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32], ids_in_ttmp=target == "gfx1200", packed_ids=target >= "gfx11",
            wgp_mode=True,
        )  # fmt: skip
        if enough:
            device.launch(launch)
        else:
            with pytest.raises(MissingWaitError, match="memory"):
                device.launch(launch)


def test_atomic_tells_only_what_is_done() -> None:
    """Data, then a flag: the store has to be done before the atomic that tells of it."""
    text = """
        v_cmp_eq_u32 vcc_lo, 0, v0
        s_mov_b32 s8, exec_lo
        v_readfirstlane_b32 s9, v0
        s_cmp_eq_u32 s9, 0
        s_cbranch_scc0 reader
        global_store_b32 v9, v0, s[0:1]
        !s_waitcnt_vscnt null, 0!
        v_mov_b32 v3, 1
        global_atomic_add_u32 v9, v3, s[2:3]
        s_endpgm
        reader:
        v_mov_b32 v3, 0
        global_atomic_add_u32 v4, v9, v3, s[2:3] glc
        s_waitcnt vmcnt(0)
        global_load_b32 v5, v9, s[0:1]
        s_waitcnt vmcnt(0)
    """
    before, wait, after = text.split("!")
    run(before + wait + after, "gfx1100", check_races=True)
    with pytest.raises(MissingWaitError, match="vscnt"):
        run(before + after, "gfx1100", check_races=True)


def test_check_waits_is_silent_about_races() -> None:
    text = "global_store_b32 v9, v0, s[0:1]"
    run(text, "gfx1100")
    with pytest.raises(RaceError):
        run(text, "gfx1100", check_races=True)


@pytest.mark.parametrize("target", LEVELS)
def test_results_and_counts_are_the_reference_engines(target: str) -> None:
    text = spell("{ds_write} v0, v0\n<lds 0>\n{barrier}\nv_xor_b32 v1, 0x100, v0\n{ds_read} v2, v1\n<lds 0>\n{store} v0, v2, s[0:1]", target)
    code = isa.assemble("v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v0, 2, v0\n" + text + "\ns_endpgm", target)
    results = []
    for watch in ({}, {"check_waits": True, "check_races": True, "profile": True}, {"seed": 3}):
        device = Device(target, **watch)
        buffer = device.zeros(4096)
        report = device.run(
            code, (1, 1, 1), (128, 1, 1), user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32], lds_bytes=2048, local_id_components=1,
            wave_size=64 if target == "gfx900" else 32,
        )  # fmt: skip
        results.append((report.instructions, report.units, report.lane_units, report.opcodes, buffer.numpy().tobytes()))
    assert results[0] == results[1] == results[2]
    assert np.frombuffer(results[0][-1], np.uint32)[:128].tolist() == [4 * (lane ^ 64) for lane in range(128)]
