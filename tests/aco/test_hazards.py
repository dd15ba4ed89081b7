"""Waits and wait states that hardware needs, at single instructions and where one part of a program ends and another begins."""

from __future__ import annotations

import importlib

import pytest

from pyaco._core.aco import assemble
from pyaco._core.ir.program import Program
from pyaco._core.ir.vocabulary import HardwareStage
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
STORE_BUFFER = "buffer_store_dword %0:s[0-3], %0:v[0], 0, %0:v[0] offen"
LOAD_BUFFER = " v1: %0:v[1] = buffer_load_dword %0:s[0-3], %0:v[0], 0 offen"
LDS_DIRECT = " v1: %0:v[0] = lds_direct_load %0:m0"


def instructions_of(program: Program) -> list[str]:
    """The lines of a program's instructions."""
    return [line.strip() for line in format_program(program).splitlines() if line.startswith("\t")]


def added(gfx: int, name: str, *instructions: str, entry: str = ENTRY, **options: bool) -> list[tuple[int, str]]:
    """Run one pass on one block; return what it added, with the number of the instruction of the input that follows it."""
    program = parse_program(entry + "".join(f"\t{line}\n" for line in instructions), gfx)
    before = instructions_of(program)
    importlib.import_module(f"pyaco._core.aco.{name}").run(program, options)
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


@pytest.mark.parametrize(("between", "mitigates"), [
    (" v1: %0:v[1] = v_mov_b32 %0:s[8]", True), (" v1: %0:v[1] = v_mov_b32 %0:vcc_lo", True), (" v1: %0:v[1] = v_mov_b32 0x12345678", True),
    (" v1: %0:v[1] = v_mov_b32 0", False), (" v1: %0:v[1] = v_mov_b32 %0:v[2]", False), (" v1: %0:v[1] = v_mov_b32 %0:exec_lo", False),
    (" v1: %0:v[1] = v_mbcnt_lo_u32_b32 %0:exec_lo, 0", False), (" v1: %0:v[1] = v_mbcnt_hi_u32_b32_e64 %0:exec_hi, 0", False),
])  # fmt: skip
def test_gfx11_lane_mask_after_another_scalar_source(between: str, mitigates: bool) -> None:
    """VALUMaskWrite: any SGPR but exec, or a literal, that the VALU reads in between makes the SALU's write safe (LLVM)."""
    mask, write, read = (" v1: %0:v[0] = v_cndmask_b32 0, 0, %0:s[0-1]", " s1: %0:s[1] = s_mov_b32 0", " s1: %0:s[2] = s_mov_b32 %0:s[1]")
    wait = [] if mitigates else [(3, "s_waitcnt_depctr sa_sdst(0)")]
    assert added(110, "insert_nops", mask, between, write, read, "s_endpgm") == wait
    assert added(110, "insert_nops", mask, write, read, "s_endpgm") == [(2, "s_waitcnt_depctr sa_sdst(0)")]


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
    # Operations before it are done when the next wave may go on; operations after it begin when it is this wave's turn.
    assert added(103, "insert_waitcnt", add, count, add, "s_endpgm") == [(1 if releases else 2, wait)]
    assert added(103, "insert_waitcnt", add, add, "s_endpgm") == []


@pytest.mark.parametrize(("gfx", "stored", "loaded"), [
    (90, ["s_waitcnt vmcnt(0)"], ["s_waitcnt vmcnt(0)"]),
    (103, ["s_waitcnt_vscnt %0:null imm:0"], ["s_waitcnt vmcnt(0)"]),
])  # fmt: skip
def test_memory_is_done_before_the_message_that_ends_an_ordered_section(gfx: int, stored: list[str], loaded: list[str]) -> None:
    done = "s_sendmsg %0:m0 sendmsg(ordered_ps_done)"
    for operation, expected in ((STORE_BUFFER, stored), (LOAD_BUFFER, loaded)):
        assert added(gfx, "insert_waitcnt", operation, done, "s_endpgm") == [(1, line) for line in expected]
        assert added(gfx, "insert_waitcnt", operation, done.replace("ordered_ps_done", "save_wave"), "s_endpgm") == []


@pytest.mark.parametrize(("gfx", "turn", "other", "stored", "loaded", "scalar"), [
    (110, 0, 1, "s_waitcnt_vscnt %0:null imm:0", "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"),
    (115, 0, 1, "s_waitcnt_vscnt %0:null imm:0", "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"),
    (120, 2, 0, "s_wait_storecnt imm:0", "s_wait_loadcnt imm:0", "s_wait_kmcnt imm:0"),
])  # fmt: skip
def test_memory_is_done_before_the_export_that_ends_an_ordered_section(
    gfx: int, turn: int, other: int, stored: str, loaded: str, scalar: str
) -> None:
    export = "exp  v1: undef,  v1: undef,  v1: undef,  v1: undef en:****{} null"
    load = f"{SCALAR_LOAD}, 0 storage:{{}}"
    for operation, expected in ((STORE_BUFFER, stored), (LOAD_BUFFER, loaded), (load.format("buffer"), scalar)):
        wait = f"s_wait_event imm:{turn}"
        assert added(gfx, "insert_waitcnt", wait, operation, export.format(" done"), "s_endpgm") == [(2, expected)]
        # An export that is not the last, and a program that waits for other events only.
        assert added(gfx, "insert_waitcnt", wait, operation, export.format(""), "s_endpgm") == []
        assert added(gfx, "insert_waitcnt", f"s_wait_event imm:{other}", operation, export.format(" done"), "s_endpgm") == []
        assert added(gfx, "insert_waitcnt", operation, export.format(" done"), "s_endpgm") == []
    # Loads of descriptors access no storage.
    assert added(gfx, "insert_waitcnt", wait, f"{SCALAR_LOAD}, 0", export.format(" done"), "s_endpgm") == []


@pytest.mark.parametrize(("gfx", "waits"), [
    (90, ["s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)"]),
    (103, ["s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "s_waitcnt_vscnt %0:null imm:0"]),
    (110, ["s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "s_waitcnt_vscnt %0:null imm:0"]),
    (120, ["s_wait_loadcnt imm:0", "s_wait_kmcnt imm:0", "s_wait_storecnt imm:0"]),
])  # fmt: skip
def test_forced_waits_come_at_once(gfx: int, waits: list[str]) -> None:
    operations = (LOAD_BUFFER, f"{SCALAR_LOAD}, 0", STORE_BUFFER)
    for operation, wait in zip(operations, waits, strict=True):
        assert added(gfx, "insert_waitcnt", operation, "v_nop", "v_nop", "s_endpgm", force=True) == [(1, wait)]
        assert added(gfx, "insert_waitcnt", operation, "v_nop", "v_nop", "s_endpgm") == []


def test_no_forced_wait_parts_vgprs_that_are_given_back_from_their_nop() -> None:
    wait = "s_waitcnt_depctr va_vdst(0) va_sdst(0) va_ssrc(0) hold_cnt(0) vm_vsrc(0) va_vcc(0) sa_sdst(0)"
    operations = ("s_nop imm:0", "s_sendmsg sendmsg(dealloc_vgprs)", "s_endpgm")
    assert added(110, "insert_nops", *operations, force=True) == [(0, wait), (2, wait)]


@pytest.mark.parametrize("gfx", [110, 115, 120])
def test_interpolation_waits_by_its_own_field(gfx: int) -> None:
    def parameter(register: int) -> str:
        return f" v1: %0:v[{register}] = lds_param_load %0:m0 attr0.x"

    def interpolate(register: int, suffix: str = "") -> str:
        return f" v1: %0:v[9] = v_interp_p10_f32_inreg %0:v[{register}], %0:v[8], %0:v[{register}]{suffix}"

    def lines(*instructions: str) -> list[str]:
        program = parse_program(ENTRY + "".join(f"\t{line}\n" for line in instructions), gfx)
        importlib.import_module("pyaco._core.aco.insert_waitcnt").run(program, None)
        return instructions_of(program)

    def fields(*instructions: str) -> list[str]:
        """The wait of each interpolation."""
        return [line.partition("wait_exp:")[2] for line in lines(*instructions) if "v_interp" in line]

    loads = [parameter(register) for register in range(3)]
    assert fields(*loads, interpolate(0), interpolate(1), interpolate(2)) == ["2", "1", "0"]
    assert fields(*loads, interpolate(2), interpolate(1)) == ["0", ""]
    assert fields(interpolate(1)) == [""]
    # A wait that is there already is kept and known of.
    assert fields(*loads, interpolate(0, " wait_exp:1"), interpolate(1), interpolate(2)) == ["1", "", "0"]
    for instructions in ((*loads, interpolate(0)), (*loads, interpolate(2))):
        assert len(lines(*instructions)) == len(instructions)
    # A wait for another counter stays an instruction.
    assert len(lines(LOAD_BUFFER, parameter(0), interpolate(0).replace("v[8]", "v[1]"))) == 4
    wait = "s_wait_expcnt imm:0" if gfx == 120 else "s_waitcnt expcnt(0)"
    assert lines(parameter(0), " v1: %0:v[9] = v_mov_b32 %0:v[0]")[1] == wait


@pytest.mark.parametrize("gfx", [110, 120])
def test_messages_are_answered_in_order(gfx: int) -> None:
    """An answer needs no wait for later messages; scalar loads come in any order."""
    message, load = " s1: %0:s[{}] = s_sendmsg_rtn_b32 3 sendmsg(rtn_get_realtime)", " s1: %0:s[{}] = s_buffer_load_dword %0:s[0-3], %0:s[0]"
    issued = [message.format(4), load.format(5), message.format(6), load.format(7)]
    uses = [f"p_unit_test {register}, %0:s[{register}]" for register in (4, 5, 6, 7)]
    wait = "s_wait_kmcnt imm:{}" if gfx == 120 else "s_waitcnt lgkmcnt({})"
    assert added(gfx, "insert_waitcnt", *issued, *uses, "s_endpgm") == [(4, wait.format(1)), (5, wait.format(0))]
    assert added(gfx, "insert_waitcnt", *issued, uses[2], "s_endpgm") == [(4, wait.format(0))]


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


def test_a_part_before_this_one_may_have_read_any_sgpr() -> None:
    """GFX12, VALUReadSGPR: no wait at the end of the part before settles what its VALU instructions have read."""
    write, read = " s1: %0:s[4] = s_mov_b32 0", " s1: %0:s[64] = s_mov_b32 %0:s[4]"
    assert added(120, "insert_nops", write, read, "s_endpgm", previous_part=True) == [(1, "s_waitcnt_depctr sa_sdst(0)")]
    assert added(120, "insert_nops", write, read, "s_endpgm") == []
    assert added(110, "insert_nops", write, read, "s_endpgm", previous_part=True) == []


EXPORT = "exp  v1: undef,  v1: undef,  v1: undef,  v1: undef en:**** pos0"
RAISE, LOWER, WAIT = "s_setprio imm:2", "s_setprio imm:0", "s_waitcnt_expcnt %0:null imm:0"


def entry_of(software: str, hardware: str) -> str:
    """The beginning of a program of a stage."""
    return f"ACO shader stage: SW ({software}), HW ({hardware})\n{ENTRY}"


GEOMETRY = entry_of("VS", "NEXT_GEN_GEOMETRY_SHADER")


@pytest.mark.parametrize("gfx", [103, 110, 115, 120])
@pytest.mark.parametrize("hardware", sorted(HardwareStage.names().values()))
def test_which_programs_have_a_priority_for_exports(gfx: int, hardware: str) -> None:
    software = {"PIXEL_SHADER": "FS", "COMPUTE_SHADER": "CS", "HULL_SHADER": "TCS", "LEGACY_GEOMETRY_SHADER": "GS"}.get(hardware, "VS")
    wanted = gfx == 115 and hardware in ("PIXEL_SHADER", "NEXT_GEN_GEOMETRY_SHADER")
    found = added(gfx, "insert_nops", EXPORT, "s_endpgm", entry=entry_of(software, hardware))
    assert found == ([(0, RAISE), (1, LOWER), (1, "s_nop"), (1, "s_nop")] if wanted else [])


def test_priority_is_lowered_until_a_run_of_exports_is_done() -> None:
    until_done = [LOWER, WAIT, "s_nop", "s_nop", RAISE]
    exports = (EXPORT, EXPORT.replace("pos0", "pos1"))
    assert added(115, "insert_nops", *exports, "s_endpgm", entry=GEOMETRY)[1:] == [(2, LOWER), (2, "s_nop"), (2, "s_nop")]
    assert added(115, "insert_nops", *exports, "v_nop", "s_endpgm", entry=GEOMETRY)[1:] == [(2, line) for line in until_done]
    assert added(115, "insert_nops", EXPORT, "v_nop", EXPORT, "s_endpgm", entry=GEOMETRY)[1:] == [
        *[(1, line) for line in until_done], (3, LOWER), (3, "s_nop"), (3, "s_nop")]  # fmt: skip
    # Another part follows.
    assert added(115, "insert_nops", EXPORT, entry=GEOMETRY)[1:] == [(1, line) for line in until_done]


def test_priority_that_was_raised_by_the_part_before() -> None:
    assert added(115, "insert_nops", "v_nop", entry=GEOMETRY) == [(0, RAISE)]
    assert added(115, "insert_nops", "v_nop", entry=GEOMETRY, previous_part=True) == []
    assert added(115, "insert_nops", EXPORT, "s_endpgm", entry=GEOMETRY, previous_part=True) == [(1, LOWER), (1, "s_nop"), (1, "s_nop")]


@pytest.mark.parametrize(("rest", "expected"), [
    (["s_endpgm"], [LOWER, "s_nop", "s_nop"]),
    (["v_nop", "s_endpgm"], [LOWER, WAIT, "s_nop", "s_nop", RAISE]),
    ([EXPORT, "s_endpgm"], []),
])  # fmt: skip
def test_exports_at_the_end_of_a_block(rest: list[str], expected: list[str]) -> None:
    """What follows counts, though it stands in another block, and blocks without instructions lie between."""
    text = GEOMETRY.replace("uniform, ", "") + f"\t{EXPORT}\n"
    text += "BB1\n/* logical preds: BB0, / linear preds: BB0, / kind: */\n"
    text += "BB2\n/* logical preds: BB1, / linear preds: BB1, / kind: uniform, */\n" + "".join(f"\t{line}\n" for line in rest)
    program = parse_program(text, 115)
    importlib.import_module("pyaco._core.aco.insert_nops").run(program, None)
    lines = instructions_of(program)
    assert lines[: 2 + len(expected)] == [RAISE, EXPORT, *expected]
    assert lines[2 + len(expected)] == rest[0]


def test_priorities_of_the_program_are_raised() -> None:
    text = GEOMETRY + "".join(f"\ts_setprio imm:{priority}\n" for priority in (3, 0, 1, 2)) + f"\t{EXPORT}\n\ts_endpgm\n"
    program = parse_program(text, 115)
    importlib.import_module("pyaco._core.aco.insert_nops").run(program, None)
    assert instructions_of(program)[:5] == ["s_setprio imm:3", RAISE, RAISE, RAISE, EXPORT]


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
