"""Liveness, the validators, the list of passes and users' passes. What each pass makes of small programs is in ``tests/filetests/aco``."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from pyaco import compile
from pyaco._core.aco import live_variables, validate_ir, validate_ra
from pyaco.aco import format_program, parse_program, pass_names, register_pass, registered, run_passes, unregister_pass
from pyaco.aco.passes import Options
from pyaco.aco.validate import ValidationError, validate_structure
from pyaco.errors import InputError
from pyaco.nir.builder import Builder

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


def block(*instructions: str) -> str:
    """A program of one block."""
    return ENTRY + "".join(f"\t{line}\n" for line in instructions) + "\ts_endpgm\n"


def test_liveness_and_demand() -> None:
    program = parse_program(IF, 103, 64)
    for name in ("dominance", "lower_phis", "insert_exec_mask", "live_variables"):
        importlib.import_module(f"pyaco._core.aco.{name}").run(program, None)
    # the VGPR lives over the logical edges only: not in the linear helper blocks
    assert 1 in live_variables.live_in(program, 4)
    assert 1 not in live_variables.live_in(program, 2)
    assert 1 not in live_variables.live_in(program, 6)
    assert program.blocks.demand_vgpr.max() == 1


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


def test_example_of_users_passes_over_both_irs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba")
    root = Path(__file__).resolve().parents[2]
    specification = importlib.util.spec_from_file_location("user_pass", root / "examples/user_pass.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    program = parse_program(block(" v1: %1 = p_startpgm", " v1: %2 = v_mul_f32 2.0, %1", "p_unit_test 0, %2"), 110)
    module.strength_reduction(program)
    assert "v1: %2 = v_add_f32 %1, %1" in format_program(program)
    assert "1 multiplications" in capsys.readouterr().out
    module.main(str(root / "examples/matmul.spv"))
    output = capsys.readouterr().out
    assert "ALU instructions in NIR" in output
    assert "s_endpgm" in output


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


@pytest.mark.parametrize(("gfx", "accepted"), [(80, False), (90, True), (103, True)])
@pytest.mark.parametrize("sources", ["%3, %2", "%1, %3", "4, %2", "%1, 1.0"])
def test_validator_wants_vector_sources_of_sdwa_on_gfx8(gfx: int, accepted: bool, sources: str) -> None:
    """SDWA got the bits that make its sources scalar with GFX9."""
    line = f" v1: %5 = v_mul_f32 {sources} dst_sel:dword src0_sel:dword src1_sel:dword"
    findings = validate_ir.check(parse_program(block(" v1: %1,  v1: %2,  s1: %3 = p_startpgm", line, "p_unit_test 0, %5"), gfx))
    assert [finding[2] for finding in findings] == ([] if accepted else ["SDWA reads SGPRs and constants from GFX9 on"])


def test_register_classes_of_four_and_eight_bytes() -> None:
    """v4b and v8b are sub-dword classes, not v1 and v2."""
    text = block(" v4b: %1,  v8b: %2,  v1: %3 = p_startpgm", "p_unit_test 0, %1, %2, %3")
    program = parse_program(text, 103)
    assert list(program.temps.register_class[1:4]) == [0x64, 0x68, 0x21]
    assert " v4b: %1,  v8b: %2,  v1: %3 = p_startpgm" in format_program(program)


def looping() -> str:
    """A program of a loop that lanes leave at different times, with a constant that is made in front of it and read behind it."""
    b = Builder(workgroup_size=(64, 1, 1), gfx_level=103, wave_size=64)
    index = b.vulkan_resource_index(b.imm(0), components=3, desc_set=0, binding=0, desc_type=7)
    words = b.deref_cast(b.load_vulkan_descriptor(index, components=3, desc_type=7), b.array(b.scalar(), 0, 4), "ssbo")
    lane = b.load_local_invocation_index()
    counter = b.variable("function_temp", b.scalar())
    b.store(b.deref_var(counter), b.load(b.deref_array(words, lane)))
    with b.loop():
        count = b.load(b.deref_var(counter))
        with b.if_(b.uge(count, b.imm(1000))):
            b.jump("break")
        b.store(b.deref_var(counter), b.imul(count, b.load(b.deref_array(words, count))))
    b.store(b.deref_array(words, lane), b.load(b.deref_var(counter)))
    text = compile(b.finish(), "gfx1030", wave=64, dump_after="optimize").ir("optimize")
    text = text.replace("\tp_logical_start\n", "\tp_logical_start\n\t s1: %9000 = p_parallelcopy 0x140\n", 1)
    return text.replace("\ts_endpgm", "\tp_unit_test 0, %9000\n\ts_endpgm")


def test_constants_are_made_again_at_every_distance() -> None:
    """`insert_exec_mask` leaves rows of the order that stand in no block: they counted as a distance where constants were looked for alone, and a
    constant with its first use just as far away was made nowhere."""
    text, made_again = looping(), 0
    for far in range(1, 80):
        program = parse_program(text, 103, 64)
        for name in ("dominance", "lower_phis", "insert_exec_mask"):
            importlib.import_module(f"pyaco._core.aco.{name}").run(program, None)
        assert len(program.order.instruction) > program.blocks.order_count.sum()
        made_again += importlib.import_module("pyaco._core.aco.rematerialize_constants").run(program, {"far": far})
        made, read = re.findall(r"(%\d+) = p_parallelcopy 0x140|p_unit_test 0, (%\d+)", format_program(program))[-2:]
        assert made[0] == read[1], far
    assert 5 < made_again < 79
