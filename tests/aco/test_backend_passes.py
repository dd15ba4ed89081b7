"""The backend passes around register allocation, on small programs in text form."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from pyaco._core.aco import live_variables, validate_ir, validate_ra
from pyaco.aco import format_program, parse_program, pass_names, register_pass, registered, run_passes, unregister_pass
from pyaco.aco.passes import Options
from pyaco.aco.validate import ValidationError, validate_structure
from pyaco.errors import InputError

SHADERS = Path(__file__).resolve().parents[1] / "shaders"
ENTRY = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"

IF = """After Instruction Selection:
BB0
/* logical preds: / linear preds: / kind: top-level, branch, */
\t v1: %1,  s2: %2 = p_startpgm
\tp_logical_start
\tp_logical_end
\t s2: %50 = p_cbranch_z %2
BB1
/* logical preds: BB0, / linear preds: BB0, / kind: uniform, */
\tp_logical_start
\t s2: %10 = v_cmp_lt_f32 1.0, %1
\tp_logical_end
\t s2: %51 = p_branch
BB2
/* logical preds: / linear preds: BB0, / kind: uniform, */
\t s2: %52 = p_branch
BB3
/* logical preds: / linear preds: BB1, BB2, / kind: invert, */
\t s2: %53 = p_branch
BB4
/* logical preds: BB0, / linear preds: BB3, / kind: uniform, */
\tp_logical_start
\t s2: %11 = v_cmp_gt_f32 2.0, %1
\tp_logical_end
\t s2: %54 = p_branch
BB5
/* logical preds: / linear preds: BB3, / kind: uniform, */
\t s2: %55 = p_branch
BB6
/* logical preds: BB1, BB4, / linear preds: BB4, BB5, / kind: uniform, top-level, merge, */
\t s2: %12 = p_phi %10, %11
\t s2: %13 = p_phi %10, 0
\tp_logical_start
\tp_unit_test 0, %12, %13
\tp_logical_end
\ts_endpgm
"""


def run(text: str, gfx: int, *passes: str, wave: int = 64, **facts) -> list[str]:
    """Run kernels on a program; return its lines without the first."""
    program = parse_program(text, gfx, wave, **facts)
    for name in passes:
        importlib.import_module(f"pyaco._core.aco.{name}").run(program, None)
    return [line.strip() for line in format_program(program).splitlines()[2:]]


def block(*instructions: str) -> str:
    """A program of one block."""
    return ENTRY + "".join(f"\t{line}\n" for line in instructions) + "\ts_endpgm\n"


def names(lines: list[str]) -> list[str]:
    """Opcodes in order."""
    return [line.split(" = ")[-1].split()[0] for line in lines if line and not line.startswith(("BB", "/*"))]


def test_boolean_phis_merge_lane_by_lane() -> None:
    lines = run(IF, 103, "dominance", "lower_phis")
    assert not any("= p_phi" in line for line in lines)
    order = names(lines)
    # the general phi in the else side: keep the other lanes, take the own ones, join
    start = order.index("s_andn2_b64")
    assert order[start : start + 3] == ["s_andn2_b64", "s_and_b64", "s_or_b64"]
    # the phi with a constant else side needs one instruction, in the invert block
    assert order.count("s_and_b64") == 2


def test_execution_mask_of_a_divergent_if() -> None:
    program = parse_program(IF, 103, 64)
    for name in ("dominance", "lower_phis", "insert_exec_mask", "dominance", "live_variables"):
        importlib.import_module(f"pyaco._core.aco.{name}").run(program, None)
    validate_structure(program, ssa=True)
    text = format_program(program)
    assert "s_and_saveexec_b64" in text
    assert "p_cbranch_z %0:exec BB2, BB1" in text.replace("(kill)", "")
    assert "exec = p_parallelcopy" in text


def test_full_workgroups_need_no_saved_mask() -> None:
    program = parse_program(IF, 103, 64, workgroup_size=128)
    for name in ("dominance", "lower_phis", "insert_exec_mask"):
        importlib.import_module(f"pyaco._core.aco.{name}").run(program, None)
    assert "saveexec" not in format_program(program)


def test_liveness_and_demand() -> None:
    program = parse_program(IF, 103, 64)
    for name in ("dominance", "lower_phis", "insert_exec_mask", "live_variables"):
        importlib.import_module(f"pyaco._core.aco.{name}").run(program, None)
    # the VGPR lives over the logical edges only: not in the linear helper blocks
    assert 1 in live_variables.live_in(program, 4)
    assert 1 not in live_variables.live_in(program, 2)
    assert 1 not in live_variables.live_in(program, 6)
    assert program.blocks.demand_vgpr.max() == 1


def test_waits_are_as_weak_as_possible() -> None:
    text = block(" v1: %0:v[1] = ds_read_b32 %0:v[0]", " v1: %0:v[2] = ds_read_b32 %0:v[0]",
                 " v1: %0:v[3] = v_add_f32 %0:v[1], %0:v[1]", " v1: %0:v[4] = v_add_f32 %0:v[2], %0:v[2]")  # fmt: skip
    waits = [line for line in run(text, 103, "insert_waitcnt") if "wait" in line]
    assert waits == ["s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(0)"]
    assert [line for line in run(text, 120, "insert_waitcnt") if "wait" in line] == ["s_wait_dscnt imm:1", "s_wait_dscnt imm:0"]


def test_waits_at_barriers_depend_on_the_workgroup() -> None:
    text = block("ds_write_b32 %0:v[0], %0:v[1] storage:shared",
                 "p_barrier storage:shared semantics:acquire,release scope:workgroup exec_scope:workgroup", "s_barrier")  # fmt: skip
    assert "s_waitcnt lgkmcnt(0)" in run(text, 103, "insert_waitcnt", workgroup_size=256)
    assert not any("s_waitcnt" in line for line in run(text, 103, "insert_waitcnt", workgroup_size=64))


def test_loads_in_loops_are_waited_for_at_the_next_iteration() -> None:
    text = ("BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, loop-preheader, */\n\tp_branch BB1\n"
            "BB1\n/* logical preds: BB0, BB1, / linear preds: BB0, BB1, / kind: uniform, loop-header, continue, */\n"
            "\t v1: %0:v[1] = v_mov_b32 %0:v[2]\n\t v1: %0:v[2] = global_load_dword %0:v[4-5],  s1: undef\n"
            "\tp_cbranch_z %0:scc BB2, BB1\n"
            "BB2\n/* logical preds: BB1, / linear preds: BB1, / kind: uniform, top-level, loop-exit, */\n\ts_endpgm\n")  # fmt: skip
    lines = run(text, 103, "insert_waitcnt")
    assert lines[lines.index("v1: %0:v[1] = v_mov_b32 %0:v[2]") - 1] == "s_waitcnt vmcnt(0)"


def test_gfx9_wait_states() -> None:
    text = block(" s2: %0:vcc = v_cmp_lt_f32 1.0, %0:v[0]", " v1: %0:v[1] = v_div_fmas_f32 %0:v[0], %0:v[1], %0:v[2], %0:vcc")
    assert "s_nop imm:3" in run(text, 90, "insert_nops")
    text = block(" s1: %0:s[4] = v_readfirstlane_b32 %0:v[0]", " v1: %0:v[1] = buffer_load_dword %0:s[0-3], %0:v[0], %0:s[4] offen")
    assert "s_nop imm:4" in run(text, 90, "insert_nops")
    assert names(run(text, 103, "insert_nops")) == names(run(text, 103))


def test_gfx11_transcendental_use() -> None:
    text = block(" v1: %0:v[0] = v_rcp_f32 %0:v[1]", " v1: %0:v[1] = v_mov_b32 %0:v[0]")
    assert "s_waitcnt_depctr va_vdst(0)" in run(text, 110, "insert_nops")
    assert not any("depctr" in line for line in run(text, 115, "insert_nops"))


def test_gfx12_sgpr_read_by_valu_then_rewritten() -> None:
    text = block(" v1: %0:v[0] = v_mov_b32 %0:s[4]", " s1: %0:s[4] = s_mov_b32 1", " v1: %0:v[1] = v_mov_b32 %0:s[4]")
    assert "s_waitcnt_depctr sa_sdst(0)" in run(text, 120, "insert_nops")
    assert not any("depctr" in line for line in run(text, 103, "insert_nops"))


def test_clauses() -> None:
    loads = [f" v1: %0:v[{k}] = global_load_dword %0:v[8-9],  s1: undef offset:{4 * k}" for k in range(1, 4)]
    assert "s_clause imm:2" in run(block(*loads), 110, "form_hard_clauses")
    assert not any("clause" in line for line in run(block(*loads), 90, "form_hard_clauses"))


def test_delay_hints_name_the_instruction_that_is_waited_for() -> None:
    text = block(" v1: %0:v[1] = v_add_f32 %0:v[0], %0:v[0]", " v1: %0:v[3] = v_add_f32 %0:v[2], %0:v[2]",
                 " v1: %0:v[4] = v_add_f32 %0:v[1], %0:v[1]")  # fmt: skip
    assert "s_delay_alu valu_dep_2" in run(text, 110, "insert_delay_alu")


def test_value_numbering() -> None:
    text = block(" v1: %1,  v1: %2 = p_startpgm", " v1: %3 = v_add_f32 %1, %2", " v1: %4 = v_add_f32 %1, %2", " v1: %5 = v_add_f32 %2, %1 clamp",
                 "p_unit_test 0, %3, %4, %5")  # fmt: skip
    lines = run(text, 103, "dominance", "value_numbering")
    assert names(lines).count("v_add_f32") == 2
    assert "p_unit_test 0, %3, %3, %5" in lines


@pytest.mark.parametrize(("gfx", "instructions", "wanted"), [
    (103, ["v1: %4 = v_add_u32 %1, %2", "v1: %5 = v_add_u32 %4, %3"], "v1: %5 = v_add3_u32 %3, %1, %2"),
    (103, ["v1: %4 = v_lshlrev_b32 3, %1", "v1: %5 = v_add_u32 %4, %2"], "v1: %5 = v_lshl_add_u32 %1, 3, %2"),
    (103, ["v1: %4 = v_mul_f32 %1, %2", "v1: %5 = v_add_f32 %4, %3"], "v1: %5 = v_fma_f32 %1, %2, %3"),
    (90, ["v1: %4 = v_mul_f32 %1, %2", "v1: %5 = v_sub_f32 %4, %3"], "v1: %5 = v_mad_f32 %1, %2, -%3"),
    (103, ["v1: %4 = v_mul_f32 -1.0, %1", "v1: %5 = v_mul_f32 %4, %2"], "v1: %5 = v_mul_f32 -%1, %2"),
    (103, ["v1: %4 = v_mul_f32 %1, %2", "v1: %5 = v_med3_f32 0, 1.0, %4"], "v1: %5 = v_mul_f32 %1, %2 clamp"),
    (103, ["v1: %4 = v_min_f32 %1, %2", "v1: %5 = v_min_f32 %4, %3"], "v1: %5 = v_min3_f32 %1, %2, %3"),
    (103, ["v1: %4 = p_parallelcopy 0x12345678", "v1: %5 = v_add_u32 %1, %4"], "v1: %5 = v_add_u32 0x12345678, %1"),
])  # fmt: skip
def test_optimizer_combines(gfx: int, instructions: list[str], wanted: str) -> None:
    text = block(" v1: %1,  v1: %2,  v1: %3 = p_startpgm", *(f" {line}" for line in instructions), "p_unit_test 0, %5")
    lines = run(text, gfx, "dominance", "optimize")
    assert wanted in lines
    assert len(names(lines)) == 4


def test_precise_results_are_not_fused() -> None:
    text = block(" v1: %1,  v1: %2,  v1: %3 = p_startpgm", " v1: (precise)%4 = v_mul_f32 %1, %2", " v1: %5 = v_add_f32 %4, %3",
                 "p_unit_test 0, %5")  # fmt: skip
    assert names(run(text, 103, "dominance", "optimize")).count("v_mul_f32") == 1


def test_canonicalization_stays_where_denormals_would_come_back() -> None:
    text = block(" v1: %1,  s2: %2 = p_startpgm", " v1: %3 = v_mul_f32 1.0, %1", " v1: %4 = v_cndmask_b32 0, %3, %2", "p_unit_test 0, %4")
    assert "v_mul_f32" in names(run(text, 103, "dominance", "optimize"))
    kept = text.replace("top-level, */", "top-level, / mode: 0xf0 */")
    assert "v_mul_f32" not in names(run(kept, 103, "dominance", "optimize"))


def test_reduction_temporaries_begin_at_the_top_level() -> None:
    text = IF.replace("\t s2: %11 = v_cmp_gt_f32 2.0, %1\n", "\t s1: %30,  s2: %31,  s1: %32:scc = p_reduce %1,  lv1: undef,  lv1: undef op:umin32 "
                      "cluster_size:64\n\t s2: %11 = v_cmp_gt_f32 2.0, %1\n")  # fmt: skip
    lines = run(text, 90, "dominance", "setup_reduce_temp")
    start, end = (next(k for k, line in enumerate(lines) if name in line) for name in ("p_start_linear_vgpr", "p_end_linear_vgpr"))
    assert start < lines.index("BB1") < lines.index("BB6") < end


def test_validator_names_block_and_instruction() -> None:
    text = block(" s1: %1 = p_startpgm", " s1: %2,  s1: %3:scc = s_add_u32 %1, %9")
    with pytest.raises(InputError, match="%9 is not defined"):
        parse_program(text, 103)
    text = block(" v1: %1 = p_startpgm", " v1: %2 = v_add_f32 0x1234, %1 vop3")
    with pytest.raises(ValidationError, match="BB0: literals in VOP3 need GFX10: v1: %2"):
        validate_structure(parse_program(text, 90))
    assert not validate_ir.check(parse_program(text, 103))


def test_register_validator_finds_overwritten_values() -> None:
    good = block(" v1: %1:v[0],  v1: %2:v[1] = p_startpgm", " v1: %3:v[2] = v_add_f32 %1:v[0], %2:v[1]", "p_unit_test 0, %1:v[0], %3:v[2]")
    assert not validate_ra.check(parse_program(good, 103))
    bad = good.replace("%3:v[2]", "%3:v[0]")
    assert [finding[2] for finding in validate_ra.check(parse_program(bad, 103))] == ["an operand's register does not hold its temp"]


def test_pass_list_and_user_passes() -> None:
    assert pass_names().index("lower_phis") < pass_names().index("optimize") < pass_names().index("insert_exec_mask")
    with pytest.raises(InputError, match="no backend pass"):
        register_pass("nonsense", lambda program: None)
    with pytest.raises(InputError, match="cannot be left out"):
        run_passes(parse_program(IF, 103), Options(disabled=frozenset({"insert_waitcnt"})))
    seen = []
    with registered("lower_phis", lambda program: seen.append(len(program.instructions)), "mine"):
        times = run_passes(parse_program(IF, 103), Options(stop_after="mine"))
    assert seen and list(times) == ["dominance", "lower_phis", "mine"]
    with pytest.raises(InputError):
        unregister_pass("mine")


def test_example_of_a_user_pass_changes_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba")
    path = Path(__file__).resolve().parents[2] / "examples/user_pass.py"
    specification = importlib.util.spec_from_file_location("user_pass", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    program = parse_program(block(" v1: %1 = p_startpgm", " v1: %2 = v_mul_f32 2.0, %1", "p_unit_test 0, %2"), 110)
    module.strength_reduction(program)
    assert "v1: %2 = v_add_f32 %1, %1" in format_program(program)
    assert "1 multiplications" in capsys.readouterr().out


@pytest.mark.parametrize("gfx", [90, 103])
@pytest.mark.parametrize("line", ["v1: %5 = v_cndmask_b32 %1, %2, {} dst_sel:dword src0_sel:dword src1_sel:dword",
                                  "v1: %5,  s2: {} = v_add_co_u32 %1, %2 dst_sel:dword src0_sel:dword src1_sel:dword"])  # fmt: skip
def test_validator_wants_sdwa_masks_in_vcc(gfx: int, line: str) -> None:
    """SDWA has no field for a lane mask, so that it is always vcc."""
    for mask, good in (("%3", False), ("%3:s[4-5]", False), ("%3:vcc", True)):
        written = line.startswith("v1: %5, ")
        start = " v1: %1,  v1: %2 = p_startpgm" if written else " v1: %1,  v1: %2,  s2: %3 = p_startpgm"
        findings = validate_ir.check(parse_program(block(start, " " + line.format(mask), "p_unit_test 0, %5"), gfx))
        assert not findings if good else [finding[2] for finding in findings] == [
            f"the {'second definition' if written else 'third operand'} of SDWA must be fixed to vcc"]  # fmt: skip


def test_register_classes_of_four_and_eight_bytes() -> None:
    """v4b and v8b are sub-dword classes, not v1 and v2."""
    text = block(" v4b: %1,  v8b: %2,  v1: %3 = p_startpgm", "p_unit_test 0, %1, %2, %3")
    program = parse_program(text, 103)
    assert list(program.temps.register_class[1:4]) == [0x64, 0x68, 0x21]
    assert " v4b: %1,  v8b: %2,  v1: %3 = p_startpgm" in format_program(program)
