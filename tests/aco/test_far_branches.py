"""Branches over more than 16 bits of words: what they become, and where they lead."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from pyaco import emu, isa, targets
from pyaco._core.aco import assemble
from pyaco._core.ir.program import Program
from pyaco.aco import parse_program

TARGETS = ("gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200")
# A program counter there has its highest bit set, bit 47: as an address it has ones above.
HIGH = 0xFFFF_8000_0012_3400
CONDITIONS = ("s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz", "s_cbranch_execnz")
INVERSE = {"scc0": "scc1", "scc1": "scc0", "vccz": "vccnz", "vccnz": "vccz", "execz": "execnz", "execnz": "execz"}


def finish(where: int) -> list[str]:
    """Store a number, scc, and the pair of the jump."""
    lines = [f" s1: %0:s[10] = s_mov_b32 {where}", " s1: %0:s[11] = s_cselect_b32 1, 0, %0:scc", " s2: %0:exec = s_mov_b64 1"]
    for value, register in enumerate((10, 11, 8, 9), 1):
        lines.append(f" v1: %0:v[{value}] = v_mov_b32 %0:s[{register}]")
        lines.append(f"global_store_dword %0:v[0], %0:s[2-3], %0:v[{value}] offset:{4 * value - 4}")
    return [*lines, "s_endpgm"]


def sources() -> list[tuple[str, list[str]]]:
    """Blocks by name: s4 is what scc (and whether vcc and exec are zero) shall be, s5 the condition's number, s6 the direction."""
    blocks = [("entry", [" v1: %0:v[0] = v_mov_b32 0", " s2: %0:s[8-9] = s_mov_b64 0", " s1: %0:scc = s_cmp_eq_u32 %0:s[6], 1",
                         " s2: %0:s[14-15] = s_cbranch_scc1 block:choose backwards"])]  # fmt: skip
    for direction, goal in (("forwards", "behind"), ("backwards", "before")):
        for number, _ in enumerate(CONDITIONS):
            name = f"choose {direction}" if number == 0 else f"choose {direction} {number}"
            blocks.append((name, [f" s1: %0:scc = s_cmp_eq_u32 %0:s[5], {number}", f"s_cbranch_scc1 block:{direction} {number}"]))
        for number, condition in enumerate(CONDITIONS):
            blocks.append((f"{direction} {number}", [
                " s1: %0:scc = s_cmp_lg_u32 %0:s[4], 0", " s2: %0:vcc = s_cselect_b64 0, -1, %0:scc", " s2: %0:exec = s_cselect_b64 0, -1, %0:scc",
                f" s2: %0:s[8-9] = {condition} block:{goal}"]))  # fmt: skip
            blocks.append((f"{direction} {number} not taken", finish(2)))
        if direction == "forwards":
            blocks.append(("before", finish(1)))
            blocks.append(("filler", [" s1: %0:s[12] = s_mov_b32 0x12345678"] * 0x4000))
    return [*blocks, ("behind", finish(1))]


@cache
def program(level: int) -> tuple[Program, dict[str, int]]:
    """The assembled program and its blocks by name."""
    blocks = sources()
    numbers = {name: number for number, (name, _) in enumerate(blocks)}
    lines = ["After Instruction Selection:"]
    for number, (_, body) in enumerate(blocks):
        lines += [f"BB{number}", "/* logical preds: / linear preds: / kind: uniform, */"]
        for line in body:
            head, found, goal = line.partition("block:")
            lines.append(f"\t{head}block:BB{numbers[goal]}" if found else f"\t{line}")
    parsed = parse_program("\n".join(lines) + "\n", level)
    assemble.run(parsed)
    return parsed, numbers


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("base", [0x12345600, HIGH])
@pytest.mark.parametrize("backwards", [False, True])
def test_far_branches_lead_where_near_ones_do(target: str, base: int, backwards: bool) -> None:
    """They keep scc, and leave an address in the pair, whatever the bits above the program counter are."""
    code = program(targets.chip(target).level)[0].code
    device = emu.Device(target)
    result = device.buffer(np.zeros(4, np.uint32))
    device.space.map_at(base, np.frombuffer(code, np.uint8).copy())
    start = isa.assemble("s_setpc_b64 s[0:1]", target)
    for number, condition in enumerate(CONDITIONS):
        for set_bit in range(2):
            addresses = [word for address in (base, result.address) for word in (address & 0xFFFFFFFF, address >> 32)]
            device.run(start, user_sgprs=(*addresses, set_bit, number, int(backwards)), wave_size=64, workgroup_size=(64, 1, 1))
            taken = set_bit == (condition in ("s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_execz")) or condition == "s_branch"
            where, kept, low, high = (int(word) for word in result.numpy().view(np.uint32))
            assert (where, kept) == (1 if taken else 2, set_bit), condition
            assert base <= (high << 32 | low) < base + len(code) if taken else high == low == 0, condition


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("direction", ["forwards", "backwards"])
def test_words_of_a_far_branch(target: str, direction: str) -> None:
    """GFX12 gives 48 bits of the program counter, so that its sign is still to be repeated above them."""
    assembled, numbers = program(targets.chip(target).level)
    extension = ["s_sext_i32_i16 s9, s9"] if target == "gfx1200" else []
    carry = "s_add_co_ci_u32" if target == "gfx1200" else "s_addc_u32"
    for number, condition in enumerate(CONDITIONS):
        goal = numbers["behind" if direction == "forwards" else "before"]
        block = numbers[f"{direction} {number}"]
        start = int(assembled.blocks.offset[block]) * 4
        end = int(assembled.blocks.offset[block + 1]) * 4
        jump = 4 * (len(extension) + 6)
        head = [line.strip() for line in isa.disassemble(assembled.code[end - jump - 4 * (number > 0) : end], target).splitlines()]
        if number > 0:
            inverse = f"s_cbranch_{INVERSE[condition.removeprefix('s_cbranch_')]}"
            assert int.from_bytes(assembled.code[end - jump - 4 : end - jump - 2], "little") == jump // 4
            assert head.pop(0).startswith(inverse)
        distance = (int(assembled.blocks.offset[goal]) * 4 - (end - jump + 4)) & 0xFFFFFFFF
        assert start < end and [line for line in head if line and not line.endswith(":")] == [
            "s_getpc_b64 s[8:9]", *extension, f"{carry} s8, s8, {distance:#x}", "s_bitcmp1_b32 s8, 0", "s_bitset0_b32 s8, 0",
            "s_setpc_b64 s[8:9]"]  # fmt: skip
