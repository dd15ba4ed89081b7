"""Breakpoints, steps, registers and memory under the debugger; traces and profiles."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from pyaco import emu, isa
from pyaco.errors import InputError
from pyaco.isa import opcodes

TARGET = "gfx1100"
# v0 = lane; four turns of a loop that adds the lane to v1 and counts in LDS
LOOP = """
    v_and_b32 v0, 0x3ff, v0
    v_mov_b32 v1, 0
    s_mov_b32 s8, 0
    loop:
    v_add_nc_u32 v1, v1, v0
    s_add_u32 s8, s8, 1
    s_cmp_lt_u32 s8, 4
    s_cbranch_scc1 loop
    v_lshlrev_b32 v2, 2, v0
    ds_store_b32 v2, v1
    s_waitcnt lgkmcnt(0)
    s_barrier
    s_endpgm
"""
ABI = {
    "user_sgprs": [], "user_sgpr_count": 0, "workgroup_id_mask": 0, "scratch_wave_offset": False, "local_id_components": 1,
    "wave_size": 32, "workgroup_size": [64, 1, 1], "float_mode": 0xF0, "lds_bytes": 256, "scratch_bytes_per_lane": 0, "num_sgprs": 16,
    "num_vgprs": 8, "push_constant_bytes": 0, "descriptor_sets": {},
}  # fmt: skip


def shader(text: str = LOOP) -> SimpleNamespace:
    return SimpleNamespace(code=isa.assemble(text, TARGET), constant_data=b"", abi=ABI)


def places(code: bytes) -> list[tuple[int, str]]:
    rows = isa.decode(code, TARGET)
    starts = np.cumsum([0, *(4 * rows["dwords"].astype(int))])[:-1]
    return [(int(pc), opcodes.names()[number]) for pc, number in zip(starts, rows["opcode"], strict=True)]


def test_steps_and_registers() -> None:
    with emu.Device(TARGET).debug(shader()) as session:
        assert (session.stop.reason, session.stop.workgroup, session.stop.wave, session.stop.pc) == ("steps", (0, 0, 0), 0, 0)
        assert session.stop.instruction.startswith("v_and_b32")
        assert session.wave_count == 2
        stop = session.step()
        assert (stop.wave, stop.pc) == (0, 8) and stop.instruction.startswith("v_mov_b32")
        session.step(3)
        state = session.wave()
        assert state.exec == 0xFFFFFFFF and state.lanes == 32 and not state.ended
        assert state.vgpr[0].tolist() == list(range(32)) and state.vgpr[1].tolist() == list(range(32))
        assert state.sgpr[8] == 0
        session.step()
        assert session.wave().sgpr[8] == 1
        assert session.wave(1).pc == 0


def test_breakpoints_and_writing() -> None:
    code = shader()
    (loop,) = (pc for pc, name in places(code.code) if name == "v_add_u32")
    (store,) = (pc for pc, name in places(code.code) if name == "ds_write_b32")
    with emu.Device(TARGET).debug(code) as session:
        session.add_breakpoint(loop)
        session.add_breakpoint(store)
        stops = []
        while (stop := session.run()).reason == "breakpoint":
            stops.append((stop.wave, stop.pc))
            if stop == session.stop and stop.pc == store and stop.wave == 1:
                session.wave().vgpr[1, 3] = 77
                session.remove_breakpoint(loop)
        assert stops == [(wave, pc) for wave in (0, 1) for pc in [loop] * 4 + [store]]
        assert stop.reason == "end" and session.run() == stop and session.wave(0).ended
        found = session.lds().view(np.uint32)
        expected = 4 * np.arange(64)
        expected[32 + 3] = 77
        assert found.tolist() == expected.tolist()


def test_waits_at_a_barrier_and_workgroups() -> None:
    code = shader()
    (end,) = (pc for pc, name in places(code.code) if name == "s_endpgm")
    with emu.Device(TARGET).debug(code, groups=(2, 1, 1)) as session:
        session.add_breakpoint(end)
        seen = []
        while session.run().reason != "end":
            seen.append((session.stop.workgroup[0], session.stop.wave))
        assert seen == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_memory_and_faults() -> None:
    text = "v_mov_b32 v0, 0\nv_mov_b32 v1, 5\nglobal_load_b32 v2, v0, s[0:1]\ns_waitcnt vmcnt(0)\ns_endpgm"
    device = emu.Device(TARGET)
    buffer = device.buffer(np.arange(8, dtype=np.uint32))
    with device.debug(shader(text)) as session:
        session.step(2)
        session.wave().sgpr[0:2] = [buffer.address & 0xFFFFFFFF, buffer.address >> 32]
        session.memory(buffer.address, 4).view(np.uint32)[0] = 99
        session.step()
        assert session.wave().vgpr[2, 5] == 99 and buffer.numpy()[0] == 99
        assert session.memory(buffer.address + 4, 8).view(np.uint32).tolist() == [1, 2]
        with pytest.raises(InputError):
            session.memory(buffer.address + 1 << 20, 4)
        with pytest.raises(emu.MemoryFault) as caught:      # the second wave's address is what undefined registers hold
            session.run()
        assert caught.value.place["wave"] == 1 and session.wave(1).pc >= 8


def test_bad_requests() -> None:
    session = emu.Device(TARGET).debug(shader())
    bad: tuple[Callable[[], object], ...] = (
        lambda: session.add_breakpoint(2), lambda: session.add_breakpoint(1 << 20), lambda: session.wave(2), lambda: session.step(-1))
    for request in bad:
        with pytest.raises(InputError):
            request()
    session.close()
    session.close()
    late: tuple[Callable[[], object], ...] = (session.run, session.lds, lambda: session.wave(0))
    for request in late:
        with pytest.raises(InputError):
            request()


def test_a_session_gives_what_a_dispatch_gives() -> None:
    code = shader()
    plain = emu.Device(TARGET).dispatch(code, groups=(3, 1, 1))
    steps = 0
    with emu.Device(TARGET).debug(code, groups=(3, 1, 1)) as session:
        while session.step().reason != "end":
            steps += 1
    assert steps + 1 == plain.instructions


def test_trace() -> None:
    code = shader()
    report = emu.Device(TARGET, trace=1000).dispatch(code, groups=(2, 1, 1))
    trace = report.trace
    assert trace is not None and len(trace) == report.instructions
    assert set(zip(trace["workgroup"].tolist(), trace["wave"].tolist(), strict=True)) == {(group, wave) for group in (0, 1) for wave in (0, 1)}
    names = opcodes.names()
    by_pc = dict(places(code.code))
    assert all(by_pc[pc] == names[opcode] for pc, opcode in zip(trace["pc"].tolist(), trace["opcode"].tolist(), strict=True))
    assert (trace["exec"] == 0xFFFFFFFF).all()
    one = trace[(trace["workgroup"] == 1) & (trace["wave"] == 1)]
    assert [names[number] for number in one["opcode"]].count("v_add_u32") == 4
    short = emu.Device(TARGET, trace=10).dispatch(code, groups=(2, 1, 1)).trace
    assert short is not None and len(short) == 10
    assert emu.Device(TARGET).dispatch(code).trace is None


# ------------------------------------------------------------------------------------------------------------- profiles
def profile(text: str, size: int = 32, target: str = TARGET, wave: int = 32, lds: int = 16384) -> emu.Report:
    device = emu.Device(target, profile=True)
    buffer = device.zeros(1 << 16)
    start = "v_and_b32 v0, 0x3ff, v0\n"
    report = device.run(
        isa.assemble(start + text + "\ns_endpgm", target), (1, 1, 1), (size, 1, 1), wave_size=wave, lds_bytes=lds, local_id_components=1,
        user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32],
    )  # fmt: skip
    return report


@pytest.mark.parametrize(
    ("shift", "passes", "conflicts"), [(2, 1, 0), (3, 2, 1), (4, 4, 3), (7, 32, 31), (8, 32, 31)], ids=lambda value: str(value)
)
def test_bank_conflicts(shift: int, passes: int, conflicts: int) -> None:
    facts = profile(f"v_lshlrev_b32 v1, {shift}, v0\nds_load_b32 v2, v1").to_dict()
    assert (facts["lds_passes"], facts["lds_conflicts"]) == (passes, conflicts)


def test_bank_conflicts_of_broadcasts_atomics_and_wide_accesses() -> None:
    broadcast = profile("v_mov_b32 v1, 0\nds_load_b32 v2, v1").to_dict()
    assert (broadcast["lds_passes"], broadcast["lds_conflicts"]) == (1, 0)
    atomic = profile("v_mov_b32 v1, 0\nds_add_u32 v1, v0").to_dict()
    assert (atomic["lds_passes"], atomic["lds_conflicts"]) == (32, 31)
    wide = profile("v_lshlrev_b32 v1, 4, v0\nds_load_b128 v[4:7], v1").to_dict()
    assert (wide["lds_passes"], wide["lds_conflicts"]) == (4, 0)
    padded = profile("v_mul_u32_u24 v1, 132, v0\nds_load_b32 v2, v1").to_dict()
    assert padded["lds_conflicts"] == 0
    both_halves = profile("v_lshlrev_b32 v1, 2, v0\nds_load_b32 v2, v1", size=64, wave=64).to_dict()
    assert (both_halves["lds_passes"], both_halves["lds_conflicts"]) == (2, 0)


def test_traffic_and_lanes() -> None:
    text = """
        v_lshlrev_b32 v1, 2, v0
        global_load_b32 v2, v1, s[0:1]
        v_lshlrev_b32 v3, 7, v0
        global_load_b32 v4, v3, s[0:1]
        s_load_b128 s[4:7], s[0:1], 0x0
        s_mov_b32 exec_lo, 0xff
        global_store_b128 v3, v[4:7], s[0:1]
        ds_store_b32 v1, v0
        v_rcp_f32 v5, v0
        global_atomic_add_u32 v1, v0, s[0:1]
    """
    report = profile(text)
    facts = json.loads(json.dumps(report.to_dict()))
    assert facts["memory"] == {
        "memory": {
            "load": {"accesses": 65, "bytes": 4 * 64 + 16}, "store": {"accesses": 8, "bytes": 128}, "atomic": {"accesses": 8, "bytes": 32},
        },
        "lds": {"store": {"accesses": 8, "bytes": 32}},
    }  # fmt: skip
    assert facts["cache_line_bytes"] == 128 and facts["cache_lines"] == 1 + 32 + 1 + 8 + 1 and facts["cache_line_instructions"] == 5
    assert facts["lane_utilization_by_opcode"]["global_store_dwordx4"] == 0.25
    assert facts["lane_utilization"] == round(report.lane_utilization, 4) < 1
    assert facts["exactness"]["v_rcp_f32"] == "within 1 ulp" and facts["exactness"]["global_load_dword"] == "exact"
    lines = report.text()
    assert "lds store: 32 bytes in 8 lane accesses" in lines and "within 1 ulp" in lines


def test_survey_names_what_is_not_there() -> None:
    code = isa.assemble("v_add_f32 v0, v0, v1\nv_sqrt_f32 v0, v0\ns_endpgm\nimage_load_pck v0, v0, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D", TARGET)
    found = emu.survey(code, TARGET)
    assert found["v_add_f32"] == "exact" and found["v_sqrt_f32"] == "within 1 ulp" and found["image_load_pck"] == "unsupported"


def test_fast_engine_hands_over() -> None:
    code = shader()
    watched = emu.Device(TARGET, engine="fast", profile=True).dispatch(code)
    plain = emu.Device(TARGET, engine="fast", threads=1).dispatch(code)
    assert watched.profile is not None and plain.profile is None
    assert watched.opcodes == plain.opcodes and watched.lane_units == plain.lane_units
