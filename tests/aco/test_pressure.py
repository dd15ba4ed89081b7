"""Where most registers are needed, and what holds them there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cases import CASES

import pyaco
from pyaco._core.aco import build, dominance, live_variables
from pyaco.aco import Peak, Pressure, explain_pressure, parse_program
from pyaco.cli import main

LOOP = """\
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, loop-preheader, */
	s1: %1,  v1: %2 = p_startpgm
	v4: %3 = p_create_vector %2, %2, %2, %2
	v2: %4 = p_create_vector %2, 0
	p_branch BB1
BB1
/* logical preds: BB0, BB1, / linear preds: BB0, BB1, / kind: loop-header, continue, uniform, / depth: 1 */
	v1: %5 = p_phi %2, %8
	v1: %6 = v_add_u32 1, %5
	v2: %7,  v2: %9 = p_split_vector %3
	v1: %10,  v1: %11 = p_split_vector %9
	v1: %8 = v_add_u32 %6, %10
	s1: %12:scc = s_cmp_lt_u32 %1, 7
	p_cbranch_z %12:scc BB2, BB1
BB2
/* logical preds: BB1, / linear preds: BB1, / kind: uniform, top-level, loop-exit, */
	p_unit_test 0, %8, %4
	s_endpgm
"""


def explained(text: str, gfx: int = 110) -> tuple[Pressure, Any]:
    program = parse_program(text, gfx)
    dominance.run(program)
    live_variables.run(program)
    return explain_pressure(program), program


def test_a_loop_by_hand() -> None:
    """The vector that each iteration splits, and the pair that waits for the end: their next uses lie behind the back edge and the loop."""
    found, _ = explained(LOOP)
    peak = found.vgpr
    assert (peak.demand, peak.place.block, peak.place.position) == (11, 1, 2)
    assert [(value.temp, value.registers, value.role) for value in peak.values] == [
        (3, 4, "live"), (4, 2, "live"), (9, 2, "live"), (7, 2, "result"), (6, 1, "live"),
    ]  # fmt: skip
    values = {value.temp: value for value in peak.values}
    defined = {temp: (value.defined.block, value.defined.position) for temp, value in values.items() if value.defined}
    assert defined == {3: (0, 1), 4: (0, 2), 6: (1, 1), 7: (1, 2), 9: (1, 2)}
    uses = {temp: (value.next_use.block, value.next_use.position, value.distance) for temp, value in values.items() if value.next_use}
    assert uses == {3: (1, 2, 0), 4: (2, 0, 5), 6: (1, 4, 2), 9: (1, 3, 1)}
    assert peak.place.text.endswith("p_split_vector %3") and peak.place.source is None
    assert peak.by_line()[0] == ("p_create_vector", 6, 2)


def test_a_value_that_only_a_phi_reads() -> None:
    found, _ = explained(LOOP.replace("p_unit_test 0, %8, %4", "p_unit_test 0, %8"))
    assert found.vgpr.demand == 9
    early, _ = explained(LOOP.replace("v4: %3 = p_create_vector %2, %2, %2, %2", "v4: %3 = p_create_vector %2, %2, %2, 0"))
    assert {value.temp for value in early.vgpr.values} == {3, 4, 6, 7, 9}


def registers_of(peak: Peak) -> int:
    return sum(value.registers for value in peak.values)


@pytest.mark.parametrize("target", ["gfx803", "gfx900", "gfx1030", "gfx1200"])
@pytest.mark.parametrize(
    "name", ["matmul_f32", "scalar_pressure", "sha256", "ray_march", "subgroup_reductions", "matrix_types", "fft", "nested_loops"]
)
def test_values_add_up_to_the_demand(name: str, target: str) -> None:
    shader: Any = pyaco.compile(CASES[name].spirv, target, explain_pressure=True)
    assert shader.code == pyaco.compile(CASES[name].spirv, target).code
    spills = bool(shader.stats["spilled_sgprs"] or shader.stats["spilled_vgprs"])
    assert [each.spilled for each in shader.pressure] == [True, False][not spills :]
    for report in shader.pressure:
        for peak in (report.vgpr, report.sgpr):
            assert registers_of(peak) == peak.demand > 0
            assert all(value.next_use is not None for value in peak.values if value.role == "live")
            assert sum(registers for _, registers, _ in peak.by_line()) == peak.demand
    last = shader.pressure[-1]
    assert last.vgpr.demand <= last.vgpr.limit and last.sgpr.demand <= last.sgpr.limit and last.vgpr.waves > 0
    if spills:
        first = shader.pressure[0]
        assert first.vgpr.waves == 0 and (first.vgpr.demand > first.vgpr.limit or first.sgpr.demand > first.sgpr.limit)


def test_fewer_registers_for_more_waves() -> None:
    program = None

    def keep(found: Any) -> None:
        nonlocal program
        program = found

    from pyaco.aco import registered

    with registered("schedule_program", keep, "keep"):
        shader: Any = pyaco.compile(CASES["scalar_pressure"].spirv, "gfx900", explain_pressure=True)
    peak = shader.pressure[-1].sgpr
    vgprs = shader.pressure[-1].vgpr.demand
    assert program is not None and peak.more_waves_at is not None
    assert build.waves(program, peak.demand, vgprs) == peak.waves == build.waves(program, peak.more_waves_at + 1, vgprs)
    assert build.waves(program, peak.more_waves_at, vgprs) > peak.waves
    assert build.register_limits(program, 1)[0] == peak.limit


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")
def test_lines_of_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A loop whose values are made on two lines."""
    source = """#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { vec4 a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 x = a[i], y = a[i + 64];
    for (uint k = 0; k < i; ++k) {
        x += y * y.wzyx;
        y = fma(x, y, a[i + 128 * k]);
    }
    a[i] = x + y;
}
"""
    (tmp_path / "sum.comp").write_text(source)
    subprocess.run(["glslangValidator", "-V", "-g", "--quiet", "sum.comp", "-o", "sum.spv"], cwd=tmp_path, check=True)
    assert main(["compile", str(tmp_path / "sum.spv"), "--target", "gfx1100", "--explain-pressure"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^VGPRs: 1[2-9] of 256 at sum.comp:9: BB\d+\[\d+\] ", text, re.MULTILINE), text
    assert re.search(r"^ +4 +[14]  sum.comp:9$", text, re.MULTILINE), text
    assert "SGPRs: " in text and "Before spilling" not in text
