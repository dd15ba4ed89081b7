"""Programs of RADV for our cycle model: how deep blocks stand, as instruction selection counted it, and what RADV prints of its last IR."""

from __future__ import annotations

import pytest
from cases import CASES
from radv_cycles import Nesting, Printed, read_blocks, read_program

from pyaco import spirv
from pyaco._core.aco import isel, statistics
from pyaco.aco import format_program
from pyaco.nir import passes


@pytest.mark.parametrize("level", [110, pytest.param(90, marks=pytest.mark.slow)])
def test_depths_are_those_of_instruction_selection(level: int) -> None:
    deepest = [0, 0, 0]
    for case in CASES.values():
        shader = spirv.read(case.spirv.read_bytes(), case.entry, case.spec)
        shader.set_info(gfx_level=level, wave_size=64, address32_hi=0xFFFF8000)
        passes.run(shader)
        program = isel.run(shader)
        nesting = Nesting(read_blocks(format_program(program)))
        for place, (found, column) in enumerate(zip((nesting.loops, nesting.uniform, nesting.divergent),
                                                    ("loop_depth", "uniform_if_depth", "divergent_if_depth"), strict=True)):
            depths = getattr(program.blocks, column).tolist()
            assert found == depths, (case.name, column)
            deepest[place] = max(deepest[place], *depths)
    assert min(deepest) >= 2


PRINTED = """words of the driver
ACO shader stage: compute_cs
BB0
/* logical preds: / linear preds: / kind: top-level, branch, needs_lowering, */
\t(  2 clk)   v[0-1] = v_lshlrev_b64 (is24bit)s5, v[2-3]
\t(  1 clk)   s4, (nuw)scc = s_add_u32 s5, 30
\t(  4 clk)   exec = v_cmpx_gt_u32 s3, v0
\t(  1 clk)   s[6-7] = s_cbranch_execz block:BB2
BB1
/* logical preds: BB0, / linear preds: BB0, / kind: uniform, */
\t(  2 clk)   v1[0:16] = v_add_f16 v0, -v1[0:16]
\t(  2 clk)   image_store s[16-23],  s4: undef, v[0-3], v4 2d unrm
BB2
/* logical preds: BB1, BB0, / linear preds: BB1, BB0, / kind: uniform, top-level, merge, */
\t( 99 clk)   s_endpgm

num_waves: 16
salu_smem_usage: 2.000000
branch_sendmsg_usage: 3.000000
valu_usage: 5.250000
valu_complex_usage: 0.000000
lds_usage: 0.000000
export_gds_usage: 0.000000
vmem_usage: 1.500000
"""


def test_a_program_that_radv_printed() -> None:
    """Definitions get their classes by the sizes of their registers; what branches write is left out."""
    printed = Printed(PRINTED.replace("v0", "v9") + PRINTED, 64)
    assert printed.busy["branch"] == 3 and printed.busy["valu"] == 5.25
    spilled = "".join(f"BB{number}\n/* logical preds: / linear preds: / kind: top-level, */\n" for number in range(3))
    program = read_program(spilled, printed.body, "gfx1030", 64, 64, {"SGPRs": 128, "VGPRs": 8, "LDS size": 0})
    lines = [line for line in format_program(program).splitlines() if line.startswith("\t")]
    assert lines == [
        "\t v2: %0:v[0-1] = v_lshlrev_b64 %0:s[5], %0:v[2-3]",
        "\t s1: %0:s[4],  s1: %0:scc = s_add_u32 %0:s[5], 30",
        "\t s2: %0:exec = v_cmpx_gt_u32 %0:s[3], %0:v[0]",
        "\ts_cbranch_execz block:BB2",
        "\t v2b: %0:v[1][0:16] = v_add_f16 %0:v[0], -%0:v[1][0:16]",
        "\timage_store %0:s[16-23],  s4: undef, %0:v[0-3], %0:v[4] 2d unrm",
        "\ts_endpgm",
    ]
    assert statistics.collect(program)["instructions"] == 7
