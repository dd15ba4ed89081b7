"""The profile of a dispatch against models of its own: traces, NumPy for lines and banks, times by hand, the compiler's latency."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pyaco
from pyaco import emu, isa
from pyaco.emu.profile import Profile
from pyaco.emu.profile_classes import CLASSES, class_of
from pyaco.emu.report import Report
from pyaco.isa import opcodes

ROOT = Path(__file__).parents[2]
TARGETS = (("gfx803", 64), ("gfx900", 64), ("gfx908", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1030", 32), ("gfx1030", 64),
           ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64))  # fmt: skip
FLAT = tuple(pair for pair in TARGETS if pair[0] != "gfx803")          # GFX8 has no global loads
STRIDES = range(1, 65)


def profile_of(report: Report) -> Profile:
    assert report.profile is not None
    return report.profile


def run(text: str, target: str = "gfx1100", wave: int = 32, size: int = 0, groups: int = 1, **options: Any) -> Report:
    device = emu.Device(target, profile=True, **options)
    buffer = device.zeros(1 << 16)
    lane = "v_and_b32 v0, 0x3ff, v0\n"
    try:
        return device.run(isa.assemble(lane + text + "\ns_endpgm", target, wave_size=wave), (groups, 1, 1), (size or wave, 1, 1), wave_size=wave,
                          lds_bytes=65536, local_id_components=1, user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32])  # fmt: skip
    finally:
        buffer.release()


def rows_of(report: Report, *opcode: str) -> NDArray[Any]:
    numbers = [opcodes.numbers()[name] for name in opcode]
    rows = profile_of(report).rows
    return rows[np.isin(rows["opcode"], numbers)]


# ------------------------------------------------------------------------------------------------------------------ banks
# Four lanes each: groups of eight lanes that a 16-byte load of CDNA 1 to 3 takes together (Composable Kernel, "LDS bank conflicts").
LOAD_GROUPS = [[*range(0, 4), *range(20, 24)], [*range(4, 8), *range(16, 20)], [*range(8, 12), *range(28, 32)], [*range(12, 16), *range(24, 28)]]


def passes(addresses: NDArray[np.int64], size: int, target: str, *, load: bool, atomic: bool = False) -> tuple[int, int]:
    """Passes and conflicts of lanes that access `size` bytes each."""
    dwords = -(-size // 4)
    banks = in_phase = 64 if target == "gfx950" else 32
    lanes = {1: 1, 2: 2, 3: 4, 4: 4}[dwords]
    count = in_phase // lanes
    phases = [list(range(first, first + count)) for first in range(0, len(addresses), count)]
    if lanes == 4 and load and target in ("gfx908", "gfx90a", "gfx942"):
        phases = [[lane + half for lane in group] for half in (0, 32) for group in LOAD_GROUPS]
    total = conflicts = 0
    for phase in phases:
        reached = [int(addresses[lane]) // 4 + part for lane in phase if lane < len(addresses) for part in range(dwords)]
        if reached:
            load_of = Counter(dword % banks for dword in (reached if atomic else set(reached)))
            total += max(load_of.values())
            conflicts += max(load_of.values()) - 1
    return total, conflicts


LDS = {  # bytes: load and store on GFX8 to GFX10, and later
    1: (("ds_read_u8", "ds_load_u8"), ("ds_write_b8", "ds_store_b8")), 2: (("ds_read_u16", "ds_load_u16"), ("ds_write_b16", "ds_store_b16")),
    4: (("ds_read_b32", "ds_load_b32"), ("ds_write_b32", "ds_store_b32")), 8: (("ds_read_b64", "ds_load_b64"), ("ds_write_b64", "ds_store_b64")),
    12: (("ds_read_b96", "ds_load_b96"), ("ds_write_b96", "ds_store_b96")),
    16: (("ds_read_b128", "ds_load_b128"), ("ds_write_b128", "ds_store_b128")),
}  # fmt: skip


def registers(first: int, size: int) -> str:
    count = -(-size // 4)
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


@pytest.mark.parametrize("size", LDS)
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_bank_conflicts_of_every_stride(target: str, wave: int, size: int) -> None:
    """Loads, stores and atomics whose lanes lie 1 to 64 elements (bytes, halves, dwords) apart."""
    late = target.startswith(("gfx11", "gfx12"))
    load, store = (pair[late] for pair in LDS[size])
    lines = ["s_mov_b32 m0, -1"] if target == "gfx803" else []
    element = min(size, 4)
    for stride in STRIDES:
        lines += [f"v_mul_u32_u24 v1, {stride * element * max(1, size // 4 if stride % 2 else 1)}, v0", f"{load} {registers(4, size)}, v1"]
        lines += [f"{store} v1, {registers(4, size)}"]
        lines += ["ds_add_u32 v1, v0"] if size == 4 else []
    report = run("\n".join(lines), target, wave)
    rows = profile_of(report).rows
    counted = rows[rows["lds_requests"] > 0]
    kinds = [True, False, None] if size == 4 else [True, False]
    lane = np.arange(wave)
    expected = [
        passes(lane * stride * element * max(1, size // 4 if stride % 2 else 1), size, target, load=kind is True, atomic=kind is None)
        for stride in STRIDES for kind in kinds
    ]  # fmt: skip
    assert list(zip(counted["lds_passes"].tolist(), counted["lds_conflicts"].tolist(), strict=True)) == expected
    assert (counted["lds_bytes"] == wave * size).all() and (counted["operation"] == [kind for _ in STRIDES for kind in (1, 2, 3)[: len(kinds)]]).all()


def test_random_lanes_and_masks() -> None:
    """Any lanes active, any addresses."""
    rng = np.random.default_rng(5)
    for target, wave in TARGETS[1:]:
        late = target.startswith(("gfx11", "gfx12"))
        device = emu.Device(target, profile=True)
        addresses = (rng.integers(0, 200, wave) * 4).astype(np.uint32)
        table = device.buffer(addresses)
        masks = [int(rng.integers(1, 1 << min(wave, 62))) for _ in range(6)]
        load = "global_load_b32" if late else "global_load_dword"
        lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v0", f"{load} v2, v1, s[0:1]"]
        lines += ["s_wait_loadcnt 0x0" if target == "gfx1200" else "s_waitcnt vmcnt(0)"]
        for mask in masks:
            lines += [f"s_mov_b32 exec_lo, {mask & 0xFFFFFFFF:#x}"] + ([f"s_mov_b32 exec_hi, {mask >> 32:#x}"] if wave == 64 else [])
            lines += [f"{LDS[4][0][late]} v3, v2"]
        code = isa.assemble("\n".join([*lines, "s_endpgm"]), target, wave_size=wave)
        report = device.run(code, (1, 1, 1), (wave, 1, 1), wave_size=wave, lds_bytes=4096, local_id_components=1,
                            user_sgprs=[table.address & 0xFFFFFFFF, table.address >> 32])  # fmt: skip
        counted = profile_of(report).rows
        counted = counted[counted["lds_bytes"] > 0]
        in_phase = 64 if target == "gfx950" else 32
        for row, mask in zip(counted, masks, strict=True):
            total = conflicts = 0
            for first in range(0, wave, in_phase):
                dwords = {int(addresses[lane]) // 4 for lane in range(first, min(first + in_phase, wave)) if mask >> lane & 1}
                if dwords:
                    busiest = max(Counter(dword % in_phase for dword in dwords).values())
                    total, conflicts = total + busiest, conflicts + busiest - 1
            assert (row["lds_passes"], row["lds_conflicts"]) == (total, conflicts)
            assert row["lanes"] == mask.bit_count() and row["partial"] == (mask.bit_count() < wave)


# ------------------------------------------------------------------------------------------------------------------ lines
WIDTHS = {1: ("global_load_ubyte", "global_load_u8"), 2: ("global_load_ushort", "global_load_u16"), 4: ("global_load_dword", "global_load_b32"),
          8: ("global_load_dwordx2", "global_load_b64"), 12: ("global_load_dwordx3", "global_load_b96"),
          16: ("global_load_dwordx4", "global_load_b128")}  # fmt: skip


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize(("target", "wave"), FLAT)
def test_coalescing_of_every_stride(target: str, wave: int, size: int) -> None:
    """Lanes 0 to 64 times 3 bytes apart, from an odd address on, in ascending and in descending order."""
    late = target.startswith(("gfx11", "gfx12"))
    lines = [f"v_sub_u32 v3, {wave - 1}, v0" if target.startswith("gfx9") else f"v_sub_nc_u32 v3, {wave - 1}, v0"]
    strides = [0, *STRIDES]
    for stride in strides:
        for lane in ("v0", "v3"):
            lines += [f"v_mul_u32_u24 v1, {stride * 3}, {lane}", f"{WIDTHS[size][late]} {registers(4, size)}, v1, s[0:1] offset:5"]
    device = emu.Device(target, profile=True)
    buffer = device.zeros(1 << 16)
    code = isa.assemble("\n".join(["v_and_b32 v0, 0x3ff, v0", *lines, "s_endpgm"]), target, wave_size=wave)
    report = device.run(code, (1, 1, 1), (wave, 1, 1), wave_size=wave, local_id_components=1,
                        user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32])  # fmt: skip
    profile = profile_of(report)
    line = 128 if target.startswith("gfx1") else 64
    assert profile.line_bytes == line
    rows = profile.rows[profile.rows["requests"] > 0]
    for number, stride in enumerate(strides):
        reached = {int(buffer.address) + 5 + lane * stride * 3 + part for lane in range(wave) for part in range(size)}
        for row in rows[2 * number : 2 * number + 2]:
            assert (row["bytes"], row["distinct"], row["lines"]) == (wave * size, len(reached), len({byte // line for byte in reached})), stride
    best = profile.instructions[[one.counts.requests > 0 for one in profile.instructions].index(True)].counts
    assert best.coalescing(line) == size / (line * best.lines)


# ------------------------------------------------------------------------------------------------------------------ counts
@cache
def example(name: str, target: str, wave: int) -> pyaco.Shader:
    return pyaco.compile(ROOT / "examples" / name, target=target, wave=wave)


def product(target: str, wave: int, **options: Any) -> Report:
    """A tiled matrix product: LDS, barriers, loops."""
    device = emu.Device(target, **options)
    buffers: dict[Any, Any] = {(0, binding): device.buffer(np.ones((40, 40), np.float32)) for binding in range(3)}
    push = np.array([40, 40, 40], np.uint32).tobytes()
    return device.dispatch(example("matmul.spv", target, wave), groups=(3, 3, 1), buffers=buffers, push=push)


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)])
def test_counts_are_those_of_a_trace(target: str, wave: int) -> None:
    """Executions, lanes, partial and idle executions and branches, counted again from the trace of every instruction."""
    report = product(target, wave, profile=True)
    trace = product(target, wave, trace=1 << 22).trace
    plain = product(target, wave, engine="reference")
    profile = profile_of(report)
    assert trace is not None and report.opcodes == plain.opcodes and report.units == plain.units
    assert profile.total.executions == plain.instructions == len(trace)
    lanes = np.bitwise_count(trace["exec"])
    following: dict[tuple[int, int], list[Any]] = {}
    for group, number, pc in zip(trace["workgroup"].tolist(), trace["wave"].tolist(), trace["pc"].tolist(), strict=True):
        following.setdefault((group, number), []).append(pc)
    jumps: Counter[tuple[int, int]] = Counter()
    for places in following.values():
        jumps.update(pairwise(places))
    for row in profile.rows:
        chosen = trace["pc"] == row["pc"]
        assert row["executions"] == chosen.sum() and row["lanes"] == lanes[chosen].sum() and (trace["opcode"][chosen] == row["opcode"]).all()
        assert row["partial"] == (lanes[chosen] < wave).sum() and row["idle"] == (lanes[chosen] == 0).sum()
        after = int(row["pc"]) + 4 * int(row["dwords"])
        assert row["taken"] == sum(count for (here, there), count in jumps.items() if here == row["pc"] and there != after)
    assert sum(counts.executions for counts in profile.classes.values()) == plain.instructions
    assert profile.classes["branch"].taken > 0 and profile.classes["barrier"].executions > 0
    # what the report shows is unchanged by the profile
    assert {name: count for name, count in plain.to_dict().items() if name != "seconds"}.items() <= report.to_dict().items()


def test_every_opcode_has_a_class() -> None:
    kinds = Counter(class_of(name) for name in opcodes.names())
    assert set(kinds) <= set(CLASSES)
    expected = {
        "v_add_f32": "valu", "v_exp_f32": "transcendental", "v_rcp_f64": "transcendental", "v_mfma_f32_32x32x8f16": "matrix",
        "v_wmma_f32_16x16x16_f16": "matrix", "s_add_u32": "salu", "s_load_dword": "smem", "global_load_dword": "vmem", "flat_store_dword": "vmem",
        "buffer_atomic_add": "vmem", "image_sample": "vmem", "scratch_load_dword": "scratch", "ds_read_b32": "lds", "exp": "export",
        "s_cbranch_scc0": "branch", "s_barrier": "barrier", "s_barrier_signal": "barrier", "s_waitcnt": "wait", "s_wait_loadcnt": "wait",
        "s_sendmsg": "message", "s_nop": "other", "v_cmp_eq_f32": "valu", "v_interp_p1_f32": "valu",
    }  # fmt: skip
    assert {name: class_of(name) for name in expected} == expected


# ------------------------------------------------------------------------------------------------------------------ cycles
def test_cycles_by_hand() -> None:
    """RDNA: one instruction a cycle, results of the vector ALU after five, transcendental ones after ten, LDS after 32, memory after 320."""
    chain = profile_of(run("v_add_f32 v1, v0, v0\nv_add_f32 v2, v1, v1\nv_exp_f32 v3, v2\nv_mov_b32 v4, v3\nv_mov_b32 v5, v0"))
    by_text = {one.opcode + str(number): one.counts for number, one in enumerate(chain.instructions)}
    assert [(counts.issue, counts.stall) for counts in by_text.values()] == [(1, 0), (1, 4), (1, 4), (1, 4), (1, 9), (1, 0), (1, 4)]
    loads = profile_of(run("v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\nglobal_load_b32 v3, v1, s[0:1]\ns_waitcnt vmcnt(1)\n"
                           "s_waitcnt vmcnt(0)\nds_load_b32 v4, v1\ns_waitcnt lgkmcnt(0)"))  # fmt: skip
    stalls = {one.pc: one.counts.stall for one in loads.instructions if one.kind == "wait"}
    # two loads issued one cycle apart: the first wait sees the 320 cycles less the one that has passed, the second wait nothing more
    assert list(stalls.values()) == [319, 0, 32]
    assert loads.longest_wave == loads.cycles == loads.total.cycles


def test_cycles_of_conflicts_and_lines() -> None:
    """A pass or a cache line more is a cycle more until the data is there."""
    def waited(text: str) -> int:
        found = profile_of(run(text + "\ns_waitcnt vmcnt(0) lgkmcnt(0)"))
        return next(one.counts.stall for one in found.instructions if one.kind == "wait")

    assert waited("v_lshlrev_b32 v1, 7, v0\nds_load_b32 v2, v1") - waited("v_lshlrev_b32 v1, 2, v0\nds_load_b32 v2, v1") == 31
    assert waited("v_lshlrev_b32 v1, 8, v0\nglobal_load_b32 v2, v1, s[0:1]") - waited("v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]") == 31


@pytest.mark.parametrize("target", ["gfx1100", "gfx1200", "gfx900"])
def test_waves_meet_at_barriers(target: str) -> None:
    """The first wave does more work; the second waits for it, twice."""
    wave = 64 if target == "gfx900" else 32
    barrier = "s_barrier_signal -1\ns_barrier_wait -1" if target == "gfx1200" else "s_barrier"
    work = "\n".join(["v_exp_f32 v3, v3"] * 30)
    first = "v_readfirstlane_b32 s4, v0\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 after{0}\n" + work + "\nafter{0}:\n" + barrier
    report = run(first.format("a") + "\n" + first.format("b"), target, wave, size=2 * wave)
    profile = profile_of(report)
    spans = profile.spans
    ends = [int((spans["start"] + spans["issue"])[spans["wave"] == number].max()) for number in (0, 1)]
    barriers = [one.counts.stall for one in profile.instructions if one.kind == "barrier"]
    assert abs(ends[0] - ends[1]) <= 8 and sum(barriers) > 100 and profile.cycles == sum(ends)


STRAIGHT = ("bit_tricks", "constant_tables", "double_arithmetic", "matrix_types", "philox", "small_types", "transcendentals")


@pytest.mark.parametrize("name", STRAIGHT)
@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1010", 32), ("gfx1030", 64), ("gfx1030", 32)])
def test_the_compiler_expects_the_same_of_straight_code(name: str, target: str, wave: int) -> None:
    """Where each block runs once, the latency in RADV's sense is the time of a wave, but for cache lines that only the emulator knows of.

    On GFX11 and GFX12 the emulator's cycles are those that were measured (``test_measured_cycles.py``).
    """
    shader = pyaco.compile(ROOT / f"tests/shaders/{name}.spv", target=target, wave=wave)
    assert not shader.stats["branches"] and "s_barrier" not in shader.disassembly
    profile = profile_of(emu.Device(target, profile=True).dispatch(shader, push=bytes(64)))
    # Each holds up its own result and the next access; GFX9 issues every four cycles.
    more = sum(int(row["lines"] - row["requests"]) for row in profile.rows) * (8 if wave == 64 and target == "gfx900" else 2)
    assert shader.stats["latency"] <= profile.longest_wave <= shader.stats["latency"] + more


def test_units_are_busy() -> None:
    profile = profile_of(run("v_exp_f32 v1, v0\nv_add_f32 v1, v1, v1\ns_mov_b32 s4, 0", groups=3))
    assert profile.units == {"scalar": 6, "valu": 9, "valu_complex": 12}        # with v_and_b32 and s_endpgm
    wide = profile_of(run("v_exp_f32 v1, v0\nv_add_f32 v1, v1, v1", wave=64))
    assert wide.units == {"scalar": 1, "valu": 5, "valu_complex": 8}            # v_add_f32 takes both halves at once
    matrix = profile_of(run("v_mfma_f32_32x32x8f16 v[16:31], v[0:1], v[2:3], v[16:31]", "gfx942", 64))
    assert matrix.units["matrix"] == 32 and matrix.classes["matrix"].executions == 1


# ------------------------------------------------------------------------------------------------------------------ outputs
@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1100", 32), ("gfx1200", 64)])
def test_chrome_trace(target: str, wave: int) -> None:
    """By the format's rules; slices of a wave do not overlap and fill its time."""
    profile = profile_of(product(target, wave, profile=True))
    trace = json.loads(profile.to_chrome_trace())
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"} and trace["otherData"]["executions"] == profile.total.executions
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    named = set()
    for event in trace["traceEvents"]:
        assert event["ph"] in ("X", "M") and isinstance(event["pid"], int) and isinstance(event["name"], str)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and set(event["args"]) == {"name"}
            named.add((event["pid"], event.get("tid")))
            continue
        assert event["ts"] >= 0 and event["dur"] > 0 and event["cat"] and isinstance(event["args"], dict)
        tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(tracks) == profile.waves and set(tracks) <= named and {(group, None) for group, _ in tracks} <= named
    for slices in tracks.values():
        slices.sort()
        assert slices[0][0] == 0 and all(end == start for (_, end), (start, _) in pairwise(slices))
    assert sum(slices[-1][1] for slices in tracks.values()) == profile.cycles
    counted = sum(event["args"]["instructions"] for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] != "stall")
    assert counted == profile.total.executions


def test_the_timeline_is_a_sample() -> None:
    report = product("gfx1100", 32, profile=True, timeline=1000)
    trace = json.loads(profile_of(report).to_chrome_trace())
    assert trace["otherData"]["executions"] == 1000 < trace["otherData"]["executions_of_the_dispatch"] == report.instructions
    assert len(profile_of(product("gfx1100", 32, profile=True, timeline=0)).spans) == 0
    with pytest.raises(pyaco.InputError, match="timeline of -1"):
        emu.Device("gfx1100", profile=True, timeline=-1)


def test_json_and_text_and_html() -> None:
    report = product("gfx1100", 32, profile=True)
    profile = profile_of(report)
    facts = json.loads(profile.to_json())
    assert facts["instructions"] == report.instructions == sum(one["executions"] for one in facts["code"])
    assert facts["occupancy"]["waves"] == 16 and facts["classes"]["valu"]["executions"] == profile.classes["valu"].executions
    text = str(profile)
    assert "lane utilization" in text and "limited by" in text and "s_waitcnt vmcnt(0)" in text and "valu" in text
    assert profile._repr_html_().startswith("<table>") and "occupancy" in profile._repr_html_()
    assert facts["issue_cycles"] + facts["stall_cycles"] == facts["cycles"]
    empty = profile_of(emu.Device("gfx1100", profile=True).run(isa.assemble("s_endpgm", "gfx1100"), (0, 1, 1)))
    assert json.loads(empty.to_json())["instructions"] == 0 and json.loads(empty.to_chrome_trace())["traceEvents"] == [] and str(empty)


def test_idle_and_partial_lanes() -> None:
    report = run("s_mov_b32 exec_lo, 0\nv_mov_b32 v1, 0\ns_mov_b32 exec_lo, 0xf\nv_mov_b32 v1, 0")
    rows = rows_of(report, "v_mov_b32")
    assert rows["idle"].tolist() == [1, 0] and rows["partial"].tolist() == [1, 1] and rows["lanes"].tolist() == [0, 4]
