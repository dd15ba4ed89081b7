"""The assembler pass: block offsets, branches of any distance, constants behind the code."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from pyaco import isa
from pyaco._core.aco import assemble, build
from pyaco._core.ir.program import Program
from pyaco.isa import opcodes

FIXED, CONSTANT = 8, 2
DEFINED = 2
S1, S2, V1 = 1, 2, 0x21
TARGETS = {90: "gfx900", 103: "gfx1030", 110: "gfx1100", 120: "gfx1200"}


def emit(
    program: Program, block: int, name: str, definitions: Sequence[tuple[int, int]] = (), operands: Sequence[tuple[int, int, int, int]] = (),
    immediate: int = 0, modifiers: int = 0, form: int | None = None,
) -> None:
    row = opcodes.row(name)
    while len(program.blocks) <= block:
        build.add_block(program, 0, 0)
    build.add_instruction(
        program, block, opcodes.numbers()[name], opcodes.FORMATS[row.format] if form is None else form,
        [(0, register * 4, kind, DEFINED) for register, kind in definitions], list(operands), modifiers, immediate,
    )  # fmt: skip


def sgpr(register: int, kind: int = S1) -> tuple[int, int, int, int]:
    return (0, register * 4, kind, FIXED)


def new(level: int) -> Program:
    return build.new_program(level, 64 if level < 100 else 32)


def words_of(program: Program) -> tuple[int, ...]:
    assemble.run(program)
    return struct.unpack(f"<{len(program.code) // 4}I", program.code)


@pytest.mark.parametrize("level", TARGETS)
def test_branches_reach_their_blocks(level: int) -> None:
    program = new(level)
    emit(program, 0, "s_cbranch_scc1", operands=[(0, 253 * 4, S1, FIXED)], immediate=2)
    emit(program, 1, "s_mov_b32", [(3, S1)], [build.constant(0x12345678, 4)])
    emit(program, 1, "s_branch", immediate=0)
    emit(program, 2, "s_endpgm")
    words = words_of(program)
    assert [program.blocks.offset[i] for i in range(3)] == [0, 1, 4]
    assert words[0] & 0xFFFF == 3 and words[3] & 0xFFFF == 0xFFFC
    listing = isa.disassemble(program.code, TARGETS[level])
    assert "s_cbranch_scc1 L1" in listing and "s_branch L0" in listing


@pytest.mark.parametrize("level", TARGETS)
@pytest.mark.parametrize("name", ["s_branch", "s_cbranch_scc0", "s_cbranch_vccnz"])
def test_long_jumps(level: int, name: str) -> None:
    program = new(level)
    # GFX12 returns 48 bits of the program counter, of which the last is the sign
    extension = ["s_sext_i32_i16"] if level >= 120 else []
    emit(program, 0, name, [(10, S2)], immediate=2)
    for _ in range(40000):
        emit(program, 1, "s_nop")
    emit(program, 1, name, [(10, S2)], immediate=0)
    emit(program, 2, "s_endpgm")
    words = words_of(program)
    offsets = [int(offset) for offset in program.blocks.offset]
    for start, target in ((0, offsets[2]), (offsets[1] + 40000, offsets[0])):
        position = start
        if name != "s_branch":
            # the inverted branch skips the jump
            assert words[position] & 0xFFFF == 6 + len(extension)
            position += 1
        listing = isa.disassemble(struct.pack("<7I", *words[position : position + 7]), TARGETS[level]).split("\n")
        add = opcodes.row("s_addc_u32").spelling(opcodes.generation_of(level))
        assert [line.split()[0] for line in listing[: 5 + len(extension)]] == [
            "s_getpc_b64", *extension, add, "s_bitcmp1_b32", "s_bitset0_b32", "s_setpc_b64",
        ]  # fmt: skip
        distance = struct.unpack("<i", struct.pack("<I", words[position + 2 + len(extension)]))[0]
        assert (position + 1) * 4 + distance == target * 4


def test_a_far_branch_without_registers_is_a_defect() -> None:
    program = new(110)
    emit(program, 0, "s_branch", immediate=2)
    for _ in range(40000):
        emit(program, 1, "s_nop")
    emit(program, 2, "s_mov_b32", [(3, S1)], [sgpr(0)])
    emit(program, 2, "s_endpgm")
    with pytest.raises(RuntimeError, match="reserves no SGPR pair"):
        assemble.run(program)


@pytest.mark.parametrize("level", TARGETS)
def test_constant_addresses_point_behind_the_padded_code(level: int) -> None:
    program = new(level)
    emit(program, 0, "s_nop")
    identity = build.constant(7, 4)
    emit(program, 0, "p_constaddr_getpc", [(4, S2)], [identity])
    emit(program, 0, "p_constaddr_addlo", [(4, S1), (253, S1)], [sgpr(4), build.constant(12, 4), identity])
    emit(program, 0, "s_endpgm")
    build.set_constant_data(program, bytes(range(32)))
    words = words_of(program)
    padded = (len(program.code) + 63) & ~63
    # s_getpc_b64 is word 1: its result is the address of word 2
    assert 2 * 4 + words[3] == padded + 12


def test_an_end_is_added_and_marked() -> None:
    program = new(103)
    emit(program, 0, "s_nop")
    words = words_of(program)
    assert words[1] == 0xBF810000 and words[2:] == (0xBF9F0000,) * 5
    program = new(90)
    emit(program, 0, "s_endpgm")
    assert words_of(program) == (0xBF810000, *(0xBF9F0000,) * 5)


def test_a_far_branch_to_the_end_may_use_any_registers() -> None:
    program = new(103)
    emit(program, 0, "s_cbranch_scc0", immediate=2)
    for _ in range(40000):
        emit(program, 1, "s_nop")
    emit(program, 2, "s_endpgm")
    assert words_of(program)[1] == 0xBE801F00


def test_a_branch_over_63_dwords_on_gfx10_1() -> None:
    program = new(100)
    emit(program, 0, "s_branch", immediate=2)
    for _ in range(63):
        emit(program, 1, "v_nop")
    emit(program, 2, "s_endpgm")
    assert words_of(program)[:3] == (0xBF820040, 0xBF800000, 0x7E000000)


def test_without_constants_the_address_is_the_end_of_the_code() -> None:
    program = new(103)
    identity = build.constant(0, 4)
    emit(program, 0, "p_constaddr_getpc", [(0, S2)], [identity])
    emit(program, 0, "p_constaddr_addlo", [(0, S1), (253, S1)], [sgpr(0), build.constant(0, 4), identity])
    emit(program, 0, "s_endpgm")
    words = words_of(program)
    assert 4 + words[2] == len(program.code)


def test_an_opcode_of_another_generation_is_a_defect() -> None:
    program = new(90)
    emit(program, 0, "s_wait_loadcnt")
    with pytest.raises(RuntimeError, match="s_wait_loadcnt"):
        assemble.run(program)


def test_sixteen_bit_operations_of_high_registers_grow() -> None:
    program = new(110)
    high = (0, (256 + 200) * 4, 0x62, FIXED)
    emit(program, 0, "v_add_f16", [(456, 0x62)], [high, (0, (256 + 1) * 4, 0x62, FIXED)])
    emit(program, 0, "s_endpgm")
    assemble.run(program)
    assert isa.disassemble(program.code, "gfx1100").startswith("\tv_add_f16_e64 v200.l, v200.l, v1.l")
