"""Waits and wait states that hardware needs, at single instructions and where one part of a program ends and another begins."""

from __future__ import annotations

import importlib

import pytest

from pyaco._core.aco import assemble
from pyaco._core.ir.program import Program
from pyaco.aco import format_program, parse_program

ENTRY = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"
END_WITH_REGISTERS = ENTRY.replace("top-level, ", "top-level, end_with_regs, ")
SETPC = "s_setpc_b64 %0:s[30-31]"
WIDE_STORE = "buffer_store_dwordx3 %0:s[0-3], %0:v[0], 0, %0:v[0-2] offen"
SCALAR_LOAD = " s1: %0:s[0] = s_load_dword %0:s[0-1]"
SAMPLE = " v1: %0:v[1] = image_sample %0:s[0-7], %0:s[0-3],  v1: undef, %0:v[0] 1d"
LOAD_IMAGE = " v1: %0:v[1] = image_load %0:s[0-7],  s4: undef,  v1: undef, %0:v[0] 1d"
LOAD_SAMPLES = " v1: %0:v[1] = image_msaa_load %0:s[0-7],  s4: undef,  v1: undef, %0:v[4-6] dmask:x 2dmsaa"
RAY = " v4: %0:v[0-3] = image_bvh64_intersect_ray %0:s[0-3],  s4: undef,  v1: undef, %0:v[16-26] 1d"
LOAD_BUFFER = " v1: %0:v[1] = buffer_load_dword %0:s[0-3], %0:v[0], 0 offen"
LDS_DIRECT = " v1: %0:v[0] = lds_direct_load %0:m0"


def instructions_of(program: Program) -> list[str]:
    """The lines of a program's instructions."""
    return [line.strip() for line in format_program(program).splitlines() if line.startswith("\t")]


def added(gfx: int, name: str, *instructions: str, entry: str = ENTRY) -> list[tuple[int, str]]:
    """Run one pass on one block; return what it added, with the number of the instruction of the input that follows it."""
    program = parse_program(entry + "".join(f"\t{line}\n" for line in instructions), gfx)
    before = instructions_of(program)
    importlib.import_module(f"pyaco._core.aco.{name}").run(program, None)
    found = []
    position = 0
    for line in instructions_of(program):
        if position < len(before) and line == before[position]:
            position += 1
        else:
            found.append((position, line))
    assert position == len(before)
    return found


@pytest.mark.parametrize(("instruction", "at_end", "at_jump"), [
    ("v_nop", None, None),
    (" v1: %0:v[0] = v_mov_b32 0", "s_nop imm:1", "s_nop"),
    (" s1: %0:s[0] = v_readfirstlane_b32 %0:v[0]", "s_nop imm:4", "s_nop imm:3"),
    (" s2: %0:vcc = v_cmp_eq_u32 0, %0:v[0]", "s_nop imm:4", "s_nop imm:3"),
    ("s_setreg_imm32_b32 0x0 imm:14337", "s_nop imm:1", "s_nop"),
    # These need one state, which the jump is.
    (WIDE_STORE, "s_nop", None),
    (" s1: %0:m0 = s_mov_b32 0", "s_nop", None),
    (SCALAR_LOAD, "s_nop", None),
])  # fmt: skip
def test_gfx9_leaves_nothing_to_the_part_that_follows(instruction: str, at_end: str | None, at_jump: str | None) -> None:
    assert added(90, "insert_nops", instruction) == ([(1, at_end)] if at_end else [])
    assert added(90, "insert_nops", instruction, SETPC) == ([(1, at_jump)] if at_jump else [])
    assert added(90, "insert_nops", instruction, "s_endpgm") == []


@pytest.mark.parametrize("gfx", [110, 120])
def test_gfx11_leaves_nothing_to_the_part_that_follows(gfx: int) -> None:
    for instruction in (" v1: %0:v[0] = v_mov_b32 0", " v1: %0:v[0] = v_rcp_f32 0"):
        expected = [(1, "s_waitcnt_depctr va_vdst(0)")]
        assert added(gfx, "insert_nops", instruction, SETPC) == expected
        assert added(gfx, "insert_nops", instruction) == expected
        assert added(gfx, "insert_nops", instruction, "s_endpgm") == []
    assert added(gfx, "insert_nops", LOAD_BUFFER) == [(1, "s_waitcnt_depctr vm_vsrc(0)")]
    assert added(gfx, "insert_nops", " s2: %0:exec = v_cmpx_eq_u32 0, 0") == [(1, "v_nop")]


def test_what_was_resolved_before_a_jump_is_not_resolved_again() -> None:
    mask = " v1: %0:v[0] = v_cndmask_b32 0, 0, %0:vcc"
    load = " v1: %0:v[0] = ds_read_b32 %0:v[0]"
    assert added(110, "insert_nops", mask, SETPC, load, SETPC) == [
        (1, "s_waitcnt_depctr va_vdst(0) sa_sdst(0)"), (3, "s_waitcnt_depctr vm_vsrc(0)")]  # fmt: skip


@pytest.mark.parametrize(("operation", "counter"), [
    (LOAD_BUFFER, "loadcnt"), (LOAD_IMAGE, "loadcnt"), (SAMPLE, "samplecnt"), (LOAD_SAMPLES.replace("v[4-6]", "v[0-2]"), "samplecnt"),
    (RAY, "bvhcnt"), (" v1: %0:v[1] = ds_read_b32 %0:v[0]", "dscnt"), ("buffer_store_dword %0:s[0-3], %0:v[0], 0, %0:v[0] offen", "storecnt"),
])  # fmt: skip
def test_gfx12_lds_direct_waits_for_the_counter_of_each_operation(operation: str, counter: str) -> None:
    """The VGPR that LDSDIR writes is free when the operation's own counter is zero, and no other one."""
    for waited in ("loadcnt", "samplecnt", "bvhcnt", "dscnt", "storecnt"):
        program = parse_program(ENTRY + f"\t{operation}\n\ts_wait_{waited} imm:0\n\t{LDS_DIRECT}\n\ts_endpgm\n", 120)
        importlib.import_module("pyaco._core.aco.insert_nops").run(program, None)
        assert ("wait_vsrc:0" in format_program(program)) == (waited != counter), waited


@pytest.mark.parametrize(("operation", "counter"), [
    (LOAD_BUFFER, "loadcnt"), (LOAD_IMAGE, "loadcnt"), (SAMPLE, "samplecnt"), (LOAD_SAMPLES, "samplecnt"),
    (" v1: %0:v[1] = image_get_lod %0:s[0-7], %0:s[0-3],  v1: undef, %0:v[0] 1d", "samplecnt"),
    (RAY.replace("v[0-3]", "v[1-4]"), "bvhcnt"),
    (RAY.replace("v[0-3]", "v[1-4]").replace("bvh64_", "bvh_"), "bvhcnt"),
])  # fmt: skip
def test_gfx12_counter_of_a_vector_memory_operation(operation: str, counter: str) -> None:
    use = " v1: %0:v[9] = v_mov_b32 %0:v[1]"
    assert added(120, "insert_waitcnt", operation, use) == [(1, f"s_wait_{counter} imm:0")]
    assert added(110, "insert_waitcnt", operation, use) == [(1, "s_waitcnt vmcnt(0)")]


@pytest.mark.parametrize(("offset", "releases"), [(0x0C00, False), (0x0F00, True), (0x0000, False), (0x0100, True)])
def test_ordered_count_orders_operations_on_gds(offset: int, releases: bool) -> None:
    add = "ds_add_u32 %0:v[3], %0:v[4], %0:m0 gds storage:gds semantics:volatile,atomic,rmw"
    count = f" v1: %0:v[1] = ds_ordered_count %0:v[3], %0:m0 offset0:{offset} gds storage:gds semantics:volatile"
    wait = "s_waitcnt lgkmcnt(0)"
    # Operations before it are done when the next wave may go on; operations behind it begin when it is this wave's turn.
    assert added(103, "insert_waitcnt", add, count, add, "s_endpgm") == [(1 if releases else 2, wait)]
    assert added(103, "insert_waitcnt", add, add, "s_endpgm") == []


def test_scalar_loads_see_scalar_stores() -> None:
    store = "s_buffer_store_dword %0:s[4-7], 0, %0:s[0]"
    load = " s1: %0:s[1] = s_buffer_load_dword %0:s[4-7], 0 {}"
    assert added(100, "insert_waitcnt", store, load.format("storage:buffer"), "s_endpgm") == [(1, "s_waitcnt lgkmcnt(0)")]
    assert added(100, "insert_waitcnt", store, load.format("storage:buffer semantics:reorder"), "s_endpgm") == []
    assert added(90, "insert_waitcnt", store, load.format("storage:buffer"), "s_endpgm") == []


@pytest.mark.parametrize(("gfx", "wait"), [(90, "s_waitcnt vmcnt(0)"), (103, "s_waitcnt vmcnt(0)"), (110, "s_waitcnt vmcnt(0)"),
                                           (120, "s_wait_loadcnt imm:0")])  # fmt: skip
def test_a_part_that_hands_registers_on_waits_for_them(gfx: int, wait: str) -> None:
    assert added(gfx, "insert_waitcnt", LOAD_BUFFER, entry=END_WITH_REGISTERS) == [(1, wait)]
    assert added(gfx, "insert_waitcnt", LOAD_BUFFER) == []


def words(gfx: int, instruction: str) -> list[str]:
    """The words of one instruction."""
    program = parse_program(ENTRY + f"\t{instruction}\n\ts_endpgm\n", gfx)
    assemble.run(program)
    end = program.code.index(bytes.fromhex("000081bf" if gfx < 110 else "0000b0bf"))
    return [f"{int.from_bytes(program.code[at : at + 4], 'little'):08x}" for at in range(0, end, 4)]


@pytest.mark.parametrize("gfx", [110, 115, 120])
def test_export_of_a_row(gfx: int) -> None:
    export = "exp %0:v[1], %0:v[0], %0:v[3], %0:v[2]{} mrt3"
    assert words(gfx, export.format("")) == ["f800003f", "02030001"]
    assert words(gfx, export.format(", %0:m0")) == ["f800203f", "02030001"]


def test_addresses_that_gfx12_does_not_read() -> None:
    load = " v1: %0:v[42] = {} %0:s[32-35],  v1: undef, %0:s[30]"
    assert words(120, load.format("buffer_load_dword")) == ["c405001e", "0080402a", "00000000"]
    assert words(110, load.format("buffer_load_dword")) == ["e0500000", "1e082a80"]


def test_ray_intersection_has_no_bit_for_unnormalized_coordinates() -> None:
    ray = " v4: %0:v[84-87] = image_bvh_intersect_ray %0:s[32-35],  s4: undef,  v1: undef, %0:v[40], %0:v[42], %0:v[44-46], %0:v[48-50], %0:v[52-54]"
    assert words(120, f"{ray} 1d unrm r128") == words(120, f"{ray} 1d r128") == ["d3c64010", "34004054", "302c2a28"]


@pytest.mark.parametrize(("gfx", "p1", "p2"), [(90, "d2740000", "d2770001"), (103, "d7420000", "d75a0001")])
def test_interpolation_of_the_high_half_of_an_attribute(gfx: int, p1: str, p2: str) -> None:
    first = " v1: %0:v[0] = v_interp_p1ll_f16 %0:v[1], %0:m0 attr4.y high"
    second = " v1: %0:v[1] = v_interp_p2_f16 %0:v[2], %0:m0, %0:v[0] attr4.y high"
    assert words(gfx, first) == [p1, "00020344"]
    assert words(gfx, second) == [p2, "04020544"]
    text = ENTRY + f"\t{first}\n\t{second}\n\ts_endpgm\n"
    assert instructions_of(parse_program(text, gfx))[:2] == [first.strip(), second.strip()]
