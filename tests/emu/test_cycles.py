"""Cycles of a launch from its counts: `pyaco.emu.cycles`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyaco import emu, isa
from pyaco._core.emu.cycles import UNITS, costs_of_opcodes
from pyaco.emu.cycles import Machine, estimate, machine
from pyaco.emu.report import Report
from pyaco.isa import opcodes

# What one wave instruction costs by hand: target level, wave, opcode, cycles by unit. The figures are those of RADV's statistics; matrix
# operations take four cycles a pass, and doubles of CDNA 2 are as fast as singles.
COSTS = [
    (90, 64, "v_add_f32", {"valu": 4}), (90, 64, "v_exp_f32", {"valu": 16}), (90, 64, "v_fma_f64", {"valu": 64}), (91, 64, "v_fma_f64", {"valu": 8}),
    (92, 64, "v_fma_f64", {"valu": 4}), (94, 64, "v_mfma_f32_32x32x8f16", {"valu": 4, "matrix": 32}), (94, 64, "s_add_u32", {"scalar": 4}),
    (92, 64, "v_mfma_f32_32x32x8f16", {"valu": 4, "matrix": 64}), (110, 32, "v_add_f32", {"valu": 1}), (110, 64, "v_add_f32", {"valu": 1}),
    (103, 64, "v_add_f32", {"valu": 2}), (110, 64, "v_exp_f32", {"valu": 2, "valu_complex": 8}), (110, 32, "v_wmma_f32_16x16x16_f16", {"valu": 32}),
    (110, 64, "ds_read_b128", {"lds": 2}), (110, 32, "s_cbranch_scc0", {"branch": 3}), (90, 64, "s_cbranch_scc0", {"branch": 4}),
    (125, 32, "v_exp_f32", {"valu": 1, "valu_complex": 4}), (125, 32, "v_tanh_f32", {"valu": 1, "valu_complex": 4}),
    (125, 32, "v_wmma_f32_16x16x32_f16", {"valu": 1, "matrix": 8}), (126, 32, "v_wmma_i32_16x16x64_iu8", {"valu": 1, "matrix": 32}),
    (125, 32, "v_wmma_f32_16x16x4_f32", {"valu": 16}), (125, 32, "v_add_f64", {"valu": 32}), (126, 32, "v_add_f64", {"valu": 1}),
    (130, 32, "v_add_f32", {"valu": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("target", "simds"), [("gfx1100", 2), ("gfx1250", 4), ("gfx1310", 2)])
def test_simds(target: str, simds: int) -> None:
    """Of a compute unit; of the last two no product is known."""
    assert machine(target).simds == simds


@pytest.mark.parametrize(("level", "wave", "name", "expected"), COSTS)
def test_costs(level: int, wave: int, name: str, expected: dict[str, int]) -> None:
    costs, _ = costs_of_opcodes(level, wave)
    line = costs[opcodes.numbers()[name]]
    assert {unit: int(cost) for unit, cost in zip(UNITS, line, strict=True) if cost} == expected


def test_bytes() -> None:
    _, moved = costs_of_opcodes(94, 64)
    sizes = {"global_load_dwordx4": 16, "buffer_load_ushort": 2, "ds_read2_b32": 8, "ds_write_b64": 8, "global_atomic_add_f64": 8, "v_add_f32": 0}
    assert {name: int(moved[opcodes.numbers()[name]]) for name in sizes} == sizes


ONE = Machine("gfx942", 94, 4, 4, 1000, 100.0)
REPORT = Report(
    instructions=100, waves=8, workgroups=8, units={"valu": 64, "vmem": 16}, lane_units={"valu": 64 * 64, "vmem": 8 * 64},
    opcodes={"v_add_f32": 56, "v_mfma_f32_32x32x8f16": 8, "global_load_dwordx4": 16, "s_waitcnt": 16, "s_endpgm": 8}, wave_size=64,
)  # fmt: skip


def test_bounds_by_hand() -> None:
    # Two workgroups of one wave on each of four units: a SIMD has one wave, an eighth of the work.
    found = estimate(REPORT, ONE)
    assert found.units["valu"] == (56 * 4 + 8 * 4) / 8 and found.units["matrix"] == 8 * 32 / 8
    assert found.cache == 16 * 16 * 32 / 64 * 2 / 8             # half of the lanes are active
    alone = 56 * 4 + 8 * 32 + 16 * 4 + 8 * 4                    # s_endpgm is a scalar instruction
    assert found.latency == (alone + 16 * 320) / 8 and found.limit == "latency" and found.memory == 0
    assert found.cycles == found.latency and found.seconds == found.cycles / 1e9
    assert estimate(REPORT, ONE, footprint=1 << 20).limit == "memory"
    assert estimate(REPORT, ONE, footprint=1 << 20).cycles == (1 << 20) / 100


def test_rounds_and_distribution() -> None:
    many = replace(REPORT, waves=800, workgroups=800, opcodes={name: 100 * count for name, count in REPORT.opcodes.items()},
                   units={name: 100 * count for name, count in REPORT.units.items()},
                   lane_units={name: 100 * count for name, count in REPORT.lane_units.items()})  # fmt: skip
    # 200 workgroups of a wave on a unit, 50 on each SIMD
    assert estimate(many, ONE).units["matrix"] == 8 * 32 / 8 * 50
    assert estimate(many, ONE, resident_waves=8).latency == 7 * estimate(many, ONE).latency
    # a workgroup more than there are units takes as long as another round of all
    nine = replace(REPORT, workgroups=9, waves=9)
    assert estimate(nine, ONE).units["matrix"] == 8 * 32 / 9


def test_machines() -> None:
    largest = machine("gfx942")
    assert (largest.compute_units, largest.simds, largest.level) == (304, 4, 94) and largest.bytes_per_cycle * largest.megahertz * 1e6 > 5e12
    assert machine("gfx1100").compute_units == 96


def test_more_work_takes_longer() -> None:
    """Of real runs: the fast engine's counts are enough, and both engines give the same estimate."""
    code, short = (isa.assemble("v_mov_b32 v0, 1.0\n" + "v_add_f32 v0, v0, v0\n" * count + "s_endpgm", "gfx1100") for count in (40, 20))
    times = [estimate(emu.Device("gfx1100", engine).run(words, (500, 1, 1), (64, 1, 1)), "gfx1100") for words in (code, short)
             for engine in ("fast", "reference")]  # fmt: skip
    assert times[0] == times[1] and times[2] == times[3]
    assert times[0].units["valu"] == np.ceil(500 / 96) * 41 and times[0].cycles > times[2].cycles
