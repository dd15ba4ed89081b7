"""Register allocation: fixed cases, and random programs that must do the same before and after."""

from __future__ import annotations

import pytest
from machine_model import Machine
from random_ssa import random_program

from pyaco._core.aco import build, live_variables, lower_to_hw_instr, register_allocation, spill, ssa_elimination, validate_ra
from pyaco._core.ir.program import Program
from pyaco.aco import text
from pyaco.isa import opcodes
from pyaco.targets.limits import wave_limits

TARGETS = {70: ("gfx700", 64), 90: ("gfx900", 64), 103: ("gfx1030", 32), 110: ("gfx1100", 64), 120: ("gfx1200", 32)}


def parse(source: str, gfx: int, **device: int) -> Program:
    """Read a program and give it a device."""
    target, wave = TARGETS[gfx]
    program = text.parse_program(source, gfx, wave)
    build.set_device(program, **{**wave_limits(target, wave).as_dict(), **device})
    live_variables.run(program)
    return program


def allocated(source: str, gfx: int = 103, **device: int) -> str:
    """Return the text after register allocation."""
    program = parse(source, gfx, **device)
    register_allocation.run(program)
    return text.format_program(program)


def straight(*lines: str) -> str:
    """Return a program of one block."""
    head = "After Instruction Selection:\nACO shader stage: SW (CS), HW (COMPUTE_SHADER)\nBB0\n"
    return head + "/* logical preds: / linear preds: / kind: uniform, top-level, */\n" + "".join(f"\t{line}\n" for line in lines)


def test_vector_without_copies() -> None:
    out = allocated(straight("v1: %1, v1: %2 = p_unit_test", "v2: %3 = p_create_vector %1, %2", "p_unit_test %3", "s_endpgm"))
    assert "v1: %1:v[0],  v1: %2:v[1] = p_unit_test" in out
    assert "%3:v[0-1] = p_create_vector %1:v[0], %2:v[1]" in out


def test_fixed_operands_exchange_places() -> None:
    out = allocated(straight("s2: %1:s[0-1] = p_startpgm", "s2: %2 = p_unit_test", "p_unit_test %1:s[2-3], %2", "s_endpgm"))
    assert "s2: %1:s[2-3],  s2: %2:s[0-1] = p_parallelcopy %1:s[0-1], %2:s[2-3]" in out


def test_compare_prefers_vcc_and_else_becomes_vop3() -> None:
    out = allocated(straight("v1: %1 = p_startpgm", "s1: %2 = v_cmp_gt_u32 3, %1", "s1: %3 = v_cmp_gt_u32 4, %1",
                             "p_unit_test %2, %3", "s_endpgm"))  # fmt: skip
    assert "%2:vcc = v_cmp_gt_u32 3" in out
    assert "%3:s[0] = v_cmp_gt_u32 4" in out


def test_multiply_add_takes_its_addend() -> None:
    out = allocated(straight("v1: %1, v1: %2, v1: %3 = p_startpgm", "v1: %4 = v_fma_f32 %1, %2, %3", "p_unit_test %4", "s_endpgm"))
    assert "%4:v[2] = v_fmac_f32 %1:v[0], %2:v[1], %3:v[2]" in out


def test_live_addend_is_copied_for_a_tied_result() -> None:
    out = allocated(straight("v1: %1, v1: %2, v1: %3 = p_startpgm", "v1: %4 = v_fmac_f32 %1, %2, %3", "p_unit_test %3, %4", "s_endpgm"))
    assert "p_parallelcopy %3:v[2]" in out


def test_halves_share_a_register() -> None:
    out = allocated(straight("v1: %1 = p_startpgm", "v2b: %2, v2b: %3 = p_split_vector %1", "p_unit_test %2, %3", "s_endpgm"))
    assert "%2:v[0][0:16],  v2b: %3:v[0][16:32] = p_split_vector %1:v[0]" in out


def test_full_file_is_compacted() -> None:
    # eight registers, holes of one: the vector only fits after everything has moved together
    out = allocated(straight("v1: %1, v1: %2, v1: %3, v1: %4, v1: %5, v1: %6, v1: %7, v1: %8 = p_startpgm",
                             "p_unit_test %1, %3, %5, %7", "v4: %9 = p_unit_test", "p_unit_test %2, %4, %6, %8, %9",
                             "s_endpgm"), vgpr_limit=8)  # fmt: skip
    assert "v4: %9:v[" in out


def test_scc_moves_out_of_the_way() -> None:
    out = allocated(straight("s1: %1:scc = p_unit_test", "s1: %2:scc = p_unit_test", "p_unit_test %1, %2", "s_endpgm"))
    assert "s1: %1:s[0] = p_parallelcopy %1:scc" in out


def check_same(source: str, gfx: int, **device: int) -> bool:
    """Allocate, leave SSA, lower; every form must do the same. False if the program needs more registers than there are."""
    before = Machine(parse(source, gfx, **device), registers=False).run()
    program = parse(source, gfx, **device)
    if build.summary(program)["num_waves"] == 0:
        return False
    register_allocation.run(program)
    assert Machine(program, registers=True).run() == before, "after register allocation"
    ssa_elimination.run(program)
    assert Machine(program, registers=True).run() == before, "after SSA elimination"
    lower_to_hw_instr.run(program)
    assert Machine(program, registers=True).run() == before, "after lowering"
    return True


@pytest.mark.parametrize("gfx", sorted(TARGETS))
@pytest.mark.parametrize("classes", [["v1"], ["s1", "s2"], ["v1", "v2", "s1"], ["v1", "v2b", "v4", "s1", "s2", "s4"]], ids="-".join)
def test_random_programs(gfx: int, classes: list[str]) -> None:
    done = sum(check_same(random_program(seed, classes), gfx, vgpr_limit=16, sgpr_limit=24) for seed in range(12))
    assert done >= 8


@pytest.mark.parametrize("gfx", [103, 110])
def test_random_programs_in_a_tight_file(gfx: int) -> None:
    done = sum(check_same(random_program(seed, ["v1", "v2", "v4", "v2b"], most_values=6), gfx, vgpr_limit=12) for seed in range(100, 130))
    assert done >= 8


def check_spilled(source: str, gfx: int, **device: int) -> bool:
    """Spill, then as above. False if nothing had to be spilled."""
    before = Machine(parse(source, gfx, **device), registers=False).run()
    program = parse(source, gfx, **device)
    if build.summary(program)["num_waves"]:
        return False
    spill.run(program)
    assert Machine(program, registers=False).run() == before, "after spilling"
    register_allocation.run(program)
    assert Machine(program, registers=True).run() == before, "after register allocation"
    ssa_elimination.run(program)
    lower_to_hw_instr.run(program)
    assert Machine(program, registers=True).run() == before, "after lowering"
    return True


@pytest.mark.parametrize("gfx", [110, 120])
@pytest.mark.parametrize(("classes", "device"), [(["v1"], {"vgpr_limit": 12}), (["s1", "s2"], {"sgpr_limit": 20}),
                                                 (["v1", "v2", "s1", "s2"], {"vgpr_limit": 16, "sgpr_limit": 20})])  # fmt: skip
def test_random_programs_spill(gfx: int, classes: list[str], device: dict[str, int]) -> None:
    done = sum(check_spilled(random_program(seed, classes, most_values=24), gfx, **device) for seed in range(40, 72))
    assert done >= 4


def test_phis_that_rotate_through_memory() -> None:
    """Loop-carried values that change places: the moves between spill slots form cycles."""
    count = 20
    lines = ["p_startpgm"] + [f"v1: %{k + 1} = p_unit_test" for k in range(count)] + ["p_branch BB1, BB1"]
    body = [f"v1: %{100 + k} = p_phi %{k + 1}, %{100 + (k + 1) % count}" for k in range(count)]
    body += ["s1: %200:scc = p_unit_test", "p_cbranch_z %200:scc BB3, BB2"]
    source = straight(*lines)
    source += "BB1\n/* logical preds: BB0, BB2, / linear preds: BB0, BB2, / kind: uniform, loop-header, */\n"
    source += "".join(f"\t{line}\n" for line in body)
    source += "BB2\n/* logical preds: BB1, / linear preds: BB1, / kind: uniform, */\n\tp_branch BB1, BB1\n"
    source += "BB3\n/* logical preds: BB1, / linear preds: BB1, / kind: uniform, loop-exit, */\n"
    source += f"\tp_unit_test {', '.join(f'%{100 + k}' for k in range(8))}\n\tp_unit_test {', '.join(f'%{108 + k}' for k in range(8))}\n"
    source += f"\tp_unit_test {', '.join(f'%{116 + k}' for k in range(count - 16))}\n\ts_endpgm\n"
    assert check_spilled(source, 110, vgpr_limit=12)


def test_lanes_are_counted_by_what_is_spilled_at_once() -> None:
    """Many SGPRs are spilled in turn, few at a time: the VGPRs whose lanes they take are few."""
    lines = ["p_startpgm", "v1: %1 = p_unit_test"]
    for section in range(250):
        names = [f"%{2 + 24 * section + k}" for k in range(24)]
        lines += [f"s1: {name} = p_unit_test" for name in names]
        lines += [f"p_unit_test {', '.join(names[k : k + 8])}" for k in range(0, 24, 8)]
    assert check_spilled(straight(*lines, "p_unit_test %1", "s_endpgm"), 110, vgpr_limit=24, sgpr_limit=20)


TIED = [name for name in opcodes.names() if "tied" in opcodes.row(name).flags and opcodes.row(name).format != "sopk"]


@pytest.mark.parametrize("level", [90, 103, 110, 120])
def test_tied_operands_share_a_register_with_the_result(level: int) -> None:
    """The table says which opcodes write the register of their last operand; its old value survives where it is read later."""
    tried = 0
    for name in TIED:
        row = opcodes.row(name)
        if opcodes.generation_of(level) not in row.numbers:
            continue
        inputs = [f" {token}: %{temp}" for temp, token in enumerate(row.operands, 1)]
        last = len(inputs)
        operands = ", ".join(f"%{temp}" for temp in range(1, last + 1))
        source = ("BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"
                  f"\t{', '.join(inputs)} = p_startpgm\n\t {row.definitions[0]}: %{last + 1} = {name} {operands}\n"
                  f"\tp_unit_test 0, %{last}, %{last + 1}\n\ts_endpgm\n")  # fmt: skip
        program = parse(source, level)
        register_allocation.run(program)
        assert not validate_ra.check(program), name
        numbers = list(program.instructions.opcode)
        index = len(numbers) - 1 - numbers[::-1].index(opcodes.numbers()[name])
        definition = program.definitions.reg[program.instructions.definition_first[index]]
        tied = program.operands.reg[program.instructions.operand_first[index] + last - 1]
        assert definition == tied, f"{name}: {text.format_program(program)}"
        tried += 1
    assert tried >= 4


def test_values_of_both_cfgs_that_were_left_in_one_register() -> None:
    """A block of the linear CFG alone does not know what lives in VGPRs around it; the block behind it, which has both, moves one of them."""
    source = """After Instruction Selection:
ACO shader stage: SW (CS), HW (COMPUTE_SHADER)
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, */
	v1: %1 = p_startpgm
	s2: %2 = p_branch BB1, BB1
BB1
/* logical preds: / linear preds: BB0, / kind: uniform, */
	lv1: %3:v[0] = p_start_linear_vgpr
	s2: %4 = p_branch BB2, BB2
BB2
/* logical preds: BB0, / linear preds: BB1, / kind: uniform, top-level, */
	p_unit_test %1, %3
	s_endpgm
"""
    program = parse(source, 103)
    register_allocation.run(program)
    out = text.format_program(program)
    assert "v1: %1:v[1] = p_phi %1:v[0]" in out
    assert "p_unit_test %1:v[1], %3:v[0]" in out
