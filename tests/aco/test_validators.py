"""The validators by planted bugs: each kind of error that they know is found in a program that is right but for it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from machine_model import Machine
from random_ssa import random_program

from pyaco._core.aco import build, dominance, live_variables, register_allocation, validate_ir, validate_ra
from pyaco._core.common.vocabulary import Format
from pyaco._core.ir.program import Program
from pyaco.aco import parse_program
from pyaco.targets.limits import wave_limits

KERNELS = Path(validate_ir.__file__).parent
ENTRY = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"
START = ("\t v1: %1,  v1: %2,  v1: %3,  s1: %4,  s1: %5,  s2: %6,  s4: %7,  s8: %8,  v2: %9,  v1b: %10,  s1: %11,  v4: %12,  v3: %13"
         " = p_startpgm\n")  # fmt: skip
SDWA = " dst_sel:dword src0_sel:dword src1_sel:dword"
LOAD = "v1: %20 = buffer_load_dword %7, %1, 0 offen"
SAMPLE = "v4: %20 = image_sample_lz %8, %7,  v1: undef, "


def body(*lines: str) -> str:
    """A program of one block."""
    return ENTRY + START + "".join(f"\t {line}\n" for line in lines) + "\ts_endpgm\n"


#: What is found: gfx level, the right line, the wrong one.
LINES: dict[str, list[tuple[int, str, str]]] = {
    "1/(2 pi) is an inline constant from GFX8 on": [(70, "v1: %20 = v_add_f32 1.0, %1", "v1: %20 = v_add_f32 1/(2*PI), %1")],
    "DPP and SDWA have no literal": [(90, "v1: %20 = v_add_f32 1.0, %1" + SDWA, "v1: %20 = v_add_f32 0x1234, %1" + SDWA)],
    "DPP needs GFX8": [(70, "v1: %20 = v_mov_b32 %1", "v1: %20 = v_mov_b32 %1 row_mirror bound_ctrl:1")],
    "DPP with VOP3 needs GFX11": [(103, "v1: %20 = v_add_f32 %1, %2 row_mirror bound_ctrl:1",
                                   "v1: %20 = v_fma_f32 %1, %2, %3 row_mirror bound_ctrl:1")],
    "DPP8 needs GFX10": [(90, "v1: %20 = v_mov_b32 %1", "v1: %20 = v_mov_b32 %1 dpp8:[1,0,3,2,5,4,7,6]")],
    "DS operands must be VGPRs or m0": [(90, "v1: %20 = ds_read_b32 %1, %11:m0", "v1: %20 = ds_read_b32 %4, %11:m0")],
    "SDWA VOPC clamp only supported on GFX8": [(90, "s2: %20:vcc = v_cmp_lt_f32 %1, %2 src0_sel:dword src1_sel:dword",
                                                "s2: %20:vcc = v_cmp_lt_f32 %1, %2 clamp src0_sel:dword src1_sel:dword")],
    "SDWA definitions must not be larger than 4 bytes": [(90, "v1: %20 = v_mov_b32 %1 dst_sel:dword src0_sel:dword",
                                                          "v2: %20 = v_mov_b32 %1 dst_sel:dword src0_sel:dword")],
    "SDWA is GFX8 to GFX10.3 only": [(110, "v1: %20 = v_add_f32 %1, %2", "v1: %20 = v_add_f32 %1, %2" + SDWA)],
    "SDWA omod needs GFX9": [(80, "v1: %20 = v_add_f32 %1, %2" + SDWA, "v1: %20 = v_add_f32 %1, %2 *2" + SDWA)],
    "SDWA reads SGPRs and constants from GFX9 on": [(80, "v1: %20 = v_add_f32 %1, %2" + SDWA, "v1: %20 = v_add_f32 %4, %2" + SDWA)],
    "SDWA+VOPC definition must be fixed to vcc on GFX8": [(80, "s2: %20:vcc = v_cmp_lt_f32 %1, %2 src0_sel:dword src1_sel:dword",
                                                           "s2: %20 = v_cmp_lt_f32 %1, %2 src0_sel:dword src1_sel:dword")],
    "SMEM operands must be SGPRs or constants": [(90, "s1: %20 = s_load_dword %6, %4", "s1: %20 = s_load_dword %6, %1")],
    "a VGPR cannot be copied to an SGPR": [(90, "s1: %20 = p_parallelcopy %4", "s1: %20 = p_parallelcopy %1")],
    "a copy must not change the size": [(90, "v1: %20 = p_parallelcopy %1", "v2: %20 = p_parallelcopy %1")],
    "a parallel copy has as many operands as definitions": [(90, "v1: %20,  v1: %21 = p_parallelcopy %1, %2",
                                                             "v1: %20,  v1: %21 = p_parallelcopy %1")],
    "a scalar vector must not be made of VGPRs": [(90, "s2: %20 = p_create_vector %4, %5", "s2: %20 = p_create_vector %4, %1")],
    "a result or an operand is missing": [(90, "s1: %20 = p_as_uniform %1", "p_as_uniform %1"),
                                          (90, "v1: %20 = p_extract_vector %9, 1", "v1: %20 = p_extract_vector")],
    "a tied operand is of another kind than the result": [(103, "v1: %20 = v_fmac_f32 %1, %2, %3", "v1: %20 = v_fmac_f32 %1, %2, %4")],
    "before GFX10 addresses are in registers that follow each other": [(90, SAMPLE + "%9 dmask:xyzw 2d", SAMPLE + "%1, %2 dmask:xyzw 2d")],
    "buffer instructions have at least three operands": [(90, LOAD, "v1: %20 = buffer_load_dword %7, %1 offen")],
    "data and result share their registers": [(103, "v1: %20 = image_atomic_add %8, s4: undef, %3, %1 dmask:x 1d glc",
                                               "v2: %20 = image_atomic_add %8, s4: undef, %3, %1 dmask:x 1d glc")],
    "image instructions have at least four operands": [(103, SAMPLE + "%1, %2 dmask:xyzw 2d", "v4: %20 = image_sample_lz %8, %7, %1 dmask:xyzw 2d")],
    "image instructions without a result have data": [(103, "image_store %8, s4: undef, %3, %1 dmask:x 1d",
                                                       "image_store %8, s4: undef,  v1: undef, %1 dmask:x 1d")],
    "literals in VOP3 need GFX10": [(90, "v1: %20 = v_fma_f32 %1, %2, 1.0", "v1: %20 = v_fma_f32 %1, %2, 0x1234")],
    "only the last register of an address may begin several dwords": [(103, SAMPLE + "%1, %9 dmask:xyzw 3d", SAMPLE + "%9, %1 dmask:xyzw 3d")],
    "scalar instructions read no VGPRs": [(90, "s1: %20,  s1: %21:scc = s_add_u32 %4, %5", "s1: %20,  s1: %21:scc = s_add_u32 %4, %1")],
    "scalar instructions write no VGPRs": [(90, "s1: %20 = s_mov_b32 %4", "v1: %20 = s_mov_b32 %4")],
    "the address must be a VGPR": [(90, LOAD, "v1: %20 = buffer_load_dword %7, %4, 0 offen"),
                                   (90, "v1: %20 = global_load_dword %9,  s1: undef", "v1: %20 = global_load_dword %6,  s1: undef")],
    "the address must be in VGPRs": [(103, SAMPLE + "%1, %2 dmask:xyzw 2d", SAMPLE + "%1, %4 dmask:xyzw 2d")],
    "the data must be a VGPR": [(90, "buffer_store_dword %7, %1, 0, %2 offen", "buffer_store_dword %7, %1, 0, %4 offen"),
                                (90, "global_store_dword %9,  s1: undef, %2", "global_store_dword %9,  s1: undef, %4"),
                                (103, "image_store %8, s4: undef, %3, %1 dmask:x 1d", "image_store %8, s4: undef, %4, %1 dmask:x 1d")],
    "the descriptor must be an s4": [(90, LOAD, "v1: %20 = buffer_load_dword %8, %1, 0 offen")],
    "the descriptor must be an s8 or s4": [(103, SAMPLE + "%1, %2 dmask:xyzw 2d", SAMPLE.replace("%8", "%6") + "%1, %2 dmask:xyzw 2d")],
    "the first source of DPP must be a VGPR": [(103, "v1: %20 = v_mov_b32 %1 row_mirror bound_ctrl:1",
                                                "v1: %20 = v_mov_b32 %4 row_mirror bound_ctrl:1")],
    "the index is out of the vector": [(90, "v1: %20 = p_extract_vector %9, 1", "v1: %20 = p_extract_vector %9, 2")],
    "the index must be constant": [(90, "v1: %20 = p_extract_vector %9, 1", "v1: %20 = p_extract_vector %9, %4")],
    "the offset must be an SGPR or a constant": [(90, LOAD, "v1: %20 = buffer_load_dword %7, %1, %2 offen")],
    "the opcode has no SDWA form": [(103, "v1: %20 = v_add_f32 %1, %2" + SDWA, "v1: %20 = v_fmac_f32 %1, %2, %3" + SDWA)],
    "the parts of a vector must have its size": [(90, "v2: %20 = p_create_vector %1, %2", "v2: %20 = p_create_vector %1, %2, %3"),
                                                 (90, "v1: %20,  v1: %21 = p_split_vector %9", "v1: %20,  v2: %21 = p_split_vector %9")],
    "the sampler must be an s4": [(103, SAMPLE + "%1, %2 dmask:xyzw 2d", SAMPLE.replace("%7", "%8") + "%1, %2 dmask:xyzw 2d")],
    "the scalar address must be an SGPR": [(90, "v1: %20 = global_load_dword %1, %6", "v1: %20 = global_load_dword %1, %9")],
    "the second definition of SDWA must be fixed to vcc": [(90, "v1: %20,  s2: %21:vcc = v_add_co_u32 %1, %2" + SDWA,
                                                            "v1: %20,  s2: %21 = v_add_co_u32 %1, %2" + SDWA)],
    "the third operand of SDWA must be fixed to vcc": [(90, "v1: %20 = v_cndmask_b32 %1, %2, %6:vcc" + SDWA,
                                                         "v1: %20 = v_cndmask_b32 %1, %2, %6" + SDWA)],
    "too many SGPRs or literals for the constant bus": [(90, "v1: %20 = v_fma_f32 %4, %4, %1", "v1: %20 = v_fma_f32 %4, %5, %1"),
                                                        (103, "v1: %20 = v_fma_f32 %4, %5, %1", "v1: %20 = v_fma_f32 %4, %5, 0x1234")],
    "vector memory writes VGPRs, scalar memory SGPRs": [(90, LOAD, LOAD.replace("v1: %20", "s1: %20")),
                                                        (90, "s1: %20 = s_load_dword %6, 0", "v1: %20 = s_load_dword %6, 0")],
}  # fmt: skip

IF = """After Instruction Selection:
BB0
/* logical preds: / linear preds: / kind: top-level, branch, */
\t v1: %1,  s2: %2,  s1: %3,  v2: %4 = p_startpgm
\t s2: %50 = p_cbranch_z %2
BB1
/* logical preds: BB0, / linear preds: BB0, / kind: uniform, */
\t v1: %10 = v_add_f32 1.0, %1
\t s1: %15 = s_mov_b32 %3
\t s2: %51 = p_branch
BB2
/* logical preds: / linear preds: BB0, / kind: uniform, */
\t s2: %52 = p_branch
BB3
/* logical preds: / linear preds: BB1, BB2, / kind: invert, */
\t s2: %53 = p_branch
BB4
/* logical preds: BB0, / linear preds: BB3, / kind: uniform, */
\t v1: %11 = v_add_f32 2.0, %1
\t s2: %54 = p_branch
BB5
/* logical preds: / linear preds: BB3, / kind: uniform, */
\t s2: %55 = p_branch
BB6
/* logical preds: BB1, BB4, / linear preds: BB4, BB5, / kind: uniform, top-level, merge, */
\t v1: %12 = p_phi %10, %11
\t s1: %13 = p_linear_phi %3, 0
\tp_unit_test 0, %12, %13
\ts_endpgm
"""
#: What is found in the divergent if when a part of its text is replaced.
CONTROL_FLOW = {
    "a block has at most two linear successors": ("linear preds: BB4, BB5,", "linear preds: BB0, BB4, BB5,"),
    "a block with several successors must end with a branch": ("\t s2: %50 = p_cbranch_z %2\n", ""),
    "a phi has one definition": ("v1: %12 = p_phi", "v1: %12,  v1: %14 = p_phi"),
    "a phi needs one operand for each predecessor": ("p_phi %10, %11", "p_phi %10"),
    "an edge backwards must lead to a loop header": (
        "logical preds: BB0, / linear preds: BB0, / kind: uniform", "logical preds: BB0, / linear preds: BB0, BB6, / kind: uniform"),
    "the logical part of a block must begin and end": ("\tp_unit_test 0, %12, %13", "\tp_logical_start\n\tp_unit_test 0, %12, %13"),
    "an operand of a linear phi must be linear": ("p_linear_phi %3, 0", "p_linear_phi %10, 0"),
    "critical edge: a predecessor has other successors": (
        "linear preds: BB3, / kind: uniform, */\n\t v1: %11", "linear preds: BB0, BB3, / kind: uniform, */\n\t v1: %11"),
    "operands and definition of a phi must have one size": ("p_phi %10, %11", "p_phi %10, %4"),
    "predecessors must be in ascending order": ("linear preds: BB4, BB5,", "linear preds: BB5, BB4,"),
    "the entry must not have predecessors": (
        "/* logical preds: / linear preds: / kind: top-level", "/* logical preds: / linear preds: BB6, / kind: top-level"),
    "a temp is defined twice": ("v1: %11 = v_add_f32 2.0, %1", "v1: %10 = v_add_f32 2.0, %1\n\t v1: %11 = v_mov_b32 %1"),
    "a temp is used before its definition": (
        "v1: %10 = v_add_f32 1.0, %1\n\t s1: %15 = s_mov_b32 %3", "v1: %10 = v_add_f32 %15, %1\n\t s1: %15 = s_mov_b32 %3"),
    "a definition does not dominate its use": ("p_unit_test 0, %12, %13", "p_unit_test 0, %11, %13"),
}  # fmt: skip


#: What text cannot say: in the program of one line, a column's row becomes a number.
COLUMNS: dict[str, tuple[str, str, str, int, int]] = {
    "no such opcode": ("v1: %20 = v_mov_b32 %1", "instructions", "opcode", 2, 0xFFFF),
    "the format does not belong to the opcode": ("v1: %20 = v_mov_b32 %1", "instructions", "format", 2, 4),
    "modifiers need VOP3, SDWA or DPP": ("v1: %20 = v_add_f32 -%1, %2", "instructions", "format", 2, Format.VOP2),
    "the second source of VOP2 must be a VGPR": ("v1: %20 = v_add_f32 %1, %4", "instructions", "format", 2, Format.VOP2),
    "the second source of VOPC must be a VGPR": ("s2: %20 = v_cmp_lt_f32 %1, %4", "instructions", "format", 2, Format.VOPC),
    "an operand names a temp that does not exist": ("v1: %20 = v_mov_b32 %1", "operands", "data", 0, 1 << 20),
    "an operand has another class than its temp": ("v1: %20 = v_mov_b32 %1", "operands", "register_class", 0, 1),
    "an operand names a temp that is never defined": ("v1: %20 = v_mov_b32 %1", "definitions", "flags", 0, 0),
}  # fmt: skip


def found(program: Program, *, ssa: bool = False) -> set[str]:
    """What the structure's validator says of a program."""
    if ssa:
        dominance.run(program)
    return {message for _, _, message in validate_ir.check(program, ssa)}


@pytest.mark.parametrize(("message", "gfx", "right", "wrong"), [(message, *case) for message, cases in LINES.items() for case in cases])
def test_instructions(message: str, gfx: int, right: str, wrong: str) -> None:
    assert not found(parse_program(body(right), gfx))
    assert message in found(parse_program(body(wrong), gfx))


@pytest.mark.parametrize("message", CONTROL_FLOW)
def test_control_flow_and_ssa(message: str) -> None:
    old, new = CONTROL_FLOW[message]
    assert IF.count(old) == 1 and not found(parse_program(IF, 103), ssa=True)
    assert message in found(parse_program(IF.replace(old, new), 103), ssa=True)


@pytest.mark.parametrize("message", COLUMNS)
def test_columns(message: str) -> None:
    line, table, column, row, value = COLUMNS[message]
    program = parse_program(body(line), 103)
    assert not found(program, ssa=True)
    with program.edit():
        getattr(getattr(program, table), column)[row] = value
    assert message in found(program, ssa=True)


def messages(module: str) -> set[str]:
    """What a validator can say, by its source."""
    return set(re.findall(r'b"([^"]+)"', (KERNELS / f"{module}.pyx").read_text()))


def test_every_message_has_a_bug() -> None:
    assert messages("validate_ir") == set(LINES) | set(CONTROL_FLOW) | set(COLUMNS)


ALLOCATED = ("After RA:\n" + ENTRY
             + "\t v1: %1:v[0],  v1: %2:v[1],  s1: %3:s[0],  s2: %4:s[2-3],  v2b: %5:v[2][0:16],  v2b: %6:v[2][16:32] = p_startpgm\n")  # fmt: skip
#: What is found in allocated code: gfx level, the right line, the wrong one.
REGISTERS: dict[str, list[tuple[int, str, str]]] = {
    "no register is assigned": [(90, "v1: %10:v[3] = v_mov_b32 %1:v[0]", "v1: %10 = v_mov_b32 %1:v[0]"),
                                (90, "v1: %10:v[3] = v_mov_b32 %1:v[0]", "v1: %10:v[3] = v_mov_b32 %1")],
    "a VGPR that the program may not have": [(90, "v1: %10:v[23] = v_mov_b32 %1:v[0]", "v1: %10:v[24] = v_mov_b32 %1:v[0]")],
    "an SGPR that the program may not have": [(90, "s1: %10:s[19] = s_mov_b32 %3:s[0]", "s1: %10:s[20] = s_mov_b32 %3:s[0]")],
    "four SGPRs and more must be aligned to four": [(90, "s4: %10:s[4-7] = s_load_dwordx4 %4:s[2-3], 0",
                                                     "s4: %10:s[6-9] = s_load_dwordx4 %4:s[2-3], 0")],
    "an operand's register does not hold its temp": [
        (90, "v1: %10:v[3] = v_mov_b32 %1:v[0]", "v1: %10:v[3] = v_mov_b32 %1:v[1]"),
        # A half that is written without SDWA takes the other half along on GFX8 (not on GFX10); nothing does on GFX7 but whole dwords.
        (103, "v2b: %10:v[2][0:16] = v_add_f16 %5:v[2][0:16], %5:v[2][0:16]\n\tp_unit_test 1, %6:v[2][16:32]",
         "v2b: %10:v[2][16:32] = v_add_f16 %5:v[2][0:16], %5:v[2][0:16] opsel_hi\n\tp_unit_test 1, %6:v[2][16:32]"),
        (80, "v2b: %10:v[3][0:16] = v_add_f16 %5:v[2][0:16], %5:v[2][0:16]\n\tp_unit_test 1, %6:v[2][16:32]",
         "v2b: %10:v[2][0:16] = v_add_f16 %5:v[2][0:16], %5:v[2][0:16]\n\tp_unit_test 1, %6:v[2][16:32]"),
        (90, "v2b: %10:v[2][0:16] = buffer_load_short_d16 %20:s[4-7], %1:v[0], 0 offen\n\tp_unit_test 1, %6:v[2][16:32]",
         "v2b: %10:v[2][0:16] = buffer_load_ushort %20:s[4-7], %1:v[0], 0 offen\n\tp_unit_test 1, %6:v[2][16:32]"),
    ],
    "two definitions share a register": [(90, "v1: %10:v[3],  s2: %11:vcc = v_add_co_u32 %1:v[0], %2:v[1]",
                                          "s1: %10:s[4],  s2: %11:s[4-5] = p_unit_test")],
    "a definition overwrites an operand read late": [(90, "v1: %10:v[3] = v_add_f32 (latekill)%1:v[0], %2:v[1]",
                                                      "v1: %10:v[0] = v_add_f32 (latekill)%1:v[0], %2:v[1]")],
    "a tied operand is not in the result's register": [(103, "v1: %10:v[0] = v_fmac_f32 %2:v[1], %2:v[1], %1:v[0]",
                                                        "v1: %10:v[3] = v_fmac_f32 %2:v[1], %2:v[1], %1:v[0]")],
}  # fmt: skip


def found_in_registers(line: str, gfx: int) -> set[str]:
    """What the validator of register allocation says of a line; the program may have 24 VGPRs and 20 SGPRs."""
    descriptor = "\t s4: %20:s[4-7] = s_load_dwordx4 %4:s[2-3], 0\n" if "%20" in line else ""
    program = parse_program(ALLOCATED + descriptor + f"\t {line}\n\ts_endpgm\n", gfx)
    build.set_device(program, vgpr_limit=24, sgpr_limit=20)
    return {message for _, _, message in validate_ra.check(program)}


@pytest.mark.parametrize(("message", "gfx", "right", "wrong"), [(message, *case) for message, cases in REGISTERS.items() for case in cases])
def test_registers(message: str, gfx: int, right: str, wrong: str) -> None:
    assert not found_in_registers(right, gfx)
    assert message in found_in_registers(wrong, gfx)


#: What text cannot say: the register of the result in `v1: %10 = v_mov_b32` or `s1: %10 = s_mov_b32`, in bytes.
RESULTS = {"dwords must be aligned": ("v", 1034), "a VGPR class outside the VGPRs": ("v", 20), "an SGPR class outside the SGPRs": ("s", 1040),
           "a pair of SGPRs must be aligned to two": ("s2", 20)}  # fmt: skip


@pytest.mark.parametrize("message", RESULTS)
def test_registers_of_results(message: str) -> None:
    kind, register = RESULTS[message]
    lines = {"v": "v1: %10:v[3] = v_mov_b32 0", "s": "s1: %10:s[4] = s_mov_b32 0", "s2": "s2: %10:s[4-5] = s_mov_b64 0"}
    program = parse_program(ALLOCATED + f"\t {lines[kind]}\n\ts_endpgm\n", 90)
    assert not validate_ra.check(program)
    with program.edit():
        program.definitions.reg[program.instructions.definition_first[2]] = register
    assert message in {found for _, _, found in validate_ra.check(program)}


def test_every_message_about_registers_has_a_bug() -> None:
    assert messages("validate_ra") == set(REGISTERS) | set(RESULTS)


@pytest.mark.parametrize("gfx", [90, 103, 110])
def test_no_other_register_escapes(gfx: int) -> None:
    """One register of an allocated program becomes another one: the validator sees it, or the program does the same."""
    target, wave = {90: ("gfx900", 64), 103: ("gfx1030", 32), 110: ("gfx1100", 64)}[gfx]
    rng = random.Random(gfx)
    caught = same = 0
    for seed in range(12):
        program = parse_program(random_program(seed, ["v1", "v2", "v2b", "s1", "s2"]), gfx, wave)
        build.set_device(program, **{**wave_limits(target, wave).as_dict(), "vgpr_limit": 16, "sgpr_limit": 24})
        live_variables.run(program)
        if build.summary(program)["num_waves"] == 0:
            continue
        register_allocation.run(program)
        right = Machine(program, registers=True).run()
        assert not validate_ra.check(program)
        for table, named in ((program.definitions, program.definitions.temp != 0), (program.operands, program.operands.flags & 1 != 0)):
            rows = [row for row in named.nonzero()[0].tolist() if table.reg[row] < 96 or table.reg[row] >= 1024]
            for row in rng.sample(rows, min(60, len(rows))):
                old = int(table.reg[row])
                size = 8 if table.register_class[row] & 0x1F == 2 and not table.register_class[row] & 0x60 else 4
                with program.edit():
                    table.reg[row] = (old - 1024 + 4) % 64 + 1024 if old >= 1024 else (old + size) % 96
                if validate_ra.check(program):
                    caught += 1
                else:
                    assert Machine(program, registers=True).run() == right, (seed, row)
                    same += 1
                with program.edit():
                    table.reg[row] = old
    assert caught > 100 and same < caught / 4, (caught, same)
