"""Text form of ACO IR: what is printed reads back the same."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco._core.aco import assemble
from pyaco.aco import format_program, parse_program
from pyaco.errors import InputError, UnsupportedError
from pyaco.isa.names import messages

SAMPLE = """After RA:
ACO shader stage: SW (CS), HW (COMPUTE_SHADER)
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, loop-preheader, */
\t s2: %1:s[0-1],  v1: %2:v[0],  v2b: %3:v[1][0:16] = p_startpgm
\t v1: (precise)%4:v[2] = v_fma_f32 -|%2:v[0]|, 0x3fc00000, %2:v[0] *2 clamp
\t v1: %5:v[3] = v_mov_b32 %2:v[0] row_shl:1 row_mask:0x3 bound_ctrl:1
\t v1: %6:v[4] = v_mul_f32 %2:v[0], %2:v[0] dst_sel:dword src0_sel:sbyte2 src1_sel:uword1
\t s4: %7:s[4-7] = s_load_dwordx4 %1:s[0-1], 16
\tbuffer_store_dword %7:s[4-7],  v1: undef, 0, %2:v[0] offset:12 glc storage:buffer semantics:volatile,atomic scope:device
\ts_waitcnt vmcnt(3)
\tp_branch BB1
BB1
/* logical preds: BB0, BB1, / linear preds: BB0, BB1, / kind: uniform, loop-header, continue, / depth: 1 */
\t s1: %8:scc = s_cmp_lt_u32 %0:s[4], 64
\tp_cbranch_z %8:scc BB2, BB1
BB2
/* logical preds: BB1, / linear preds: BB1, / kind: uniform, top-level, loop-exit, */
\ts_endpgm

/* constant data */
[000000] 00000001 deadbeef
"""


def test_sample_round_trips() -> None:
    assert format_program(parse_program(SAMPLE, 103)) == SAMPLE


@pytest.mark.parametrize(("change", "message"), [
    (("v_mov_b32", "v_move"), "line 7: no opcode: 'v_move'"),
    (("%2:v[0] row", "%77 row"), "line 7: %77 is not defined"),
    (("v[2]", "q[2]"), "line 6: no register"),
    (("\nBB1\n", "\nBB7\n"), "expected BB1"),
    (("glc", "gcl"), "line 10: no suffix"),
    (("bound_ctrl:1", "row_mask:99"), "does not fit 4 bits"),
    (("s_load_dwordx4 %1:s[0-1], 16", "s_load_dwordx4 %1:s[0-1], 65"), "inline integers"),
])  # fmt: skip
def test_errors_name_the_line(change: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        parse_program(SAMPLE.replace(*change, 1), 103)


@pytest.mark.parametrize(("size", "kind"), [(0, InputError), (1025, UnsupportedError), (0xFFFFFFE0, UnsupportedError)])
def test_workgroups_have_up_to_1024_invocations(size: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"a workgroup of {size} invocations"):
        parse_program("BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n\ts_endpgm\n", 110, workgroup_size=size)


@pytest.mark.parametrize("other", ["load", "store"])
@pytest.mark.parametrize(("suffix", "immediate"), [
    (" dscnt(0) {}cnt(0)", 0), (" dscnt(5) {}cnt(63)", 0x3F05), (" dscnt(63) {}cnt(9)", 0x093F), (" imm:64", 64),
])  # fmt: skip
def test_waits_for_two_counters_round_trip(other: str, suffix: str, immediate: int) -> None:
    start = "BB0\n/* logical preds: / linear preds: / kind: uniform, */\n"
    line = f"\ts_wait_{other}cnt_dscnt{suffix.format(other)}"
    program = parse_program(f"{start}{line}\n", 120)
    assert program.instructions.immediate[1] == immediate
    assert line in format_program(program).splitlines()
    with pytest.raises(InputError, match="6 bits"):
        parse_program(f"{start}\ts_wait_{other}cnt_dscnt dscnt(64)\n", 120)
    assert parse_program(f"{start}\ts_wait_{other}cnt_dscnt dscnt(1)\n", 120).instructions.immediate[1] == 0x3F01


@pytest.mark.parametrize("gfx", [110, 115, 120])
def test_messages_that_return_an_answer_round_trip(gfx: int) -> None:
    """The source field has the number of the message, 128 or more: text has the inline constant of the same code."""
    start = "BB0\n/* logical preds: / linear preds: / kind: uniform, */\n"
    numbers = {number: name for number, name in messages(gfx).items() if number >= 128}
    assert len(numbers) >= 7
    for number, name in (numbers | {160: ""}).items():
        suffix = f" sendmsg({name.removeprefix('MSG_').lower()})" if name else ""
        for opcode, result, code in (("s_sendmsg_rtn_b32", "s1: %0:s[4]", 0x4C), ("s_sendmsg_rtn_b64", "s2: %0:s[4-5]", 0x4D)):
            line = f"\t {result} = {opcode} {number - 128}{suffix}"
            program = parse_program(f"{start}{line}\n\ts_endpgm\n", gfx)
            assert line in format_program(program).splitlines()
            assemble.run(program)
            assert int.from_bytes(program.code[:4], "little") == 0xBE840000 | code << 8 | number


@pytest.mark.parametrize(("message", "problem"), [
    ("0x83", "takes the number of a message"), ("%0:s[0]", "takes the number of a message"), ("1.0", "takes the number of a message"),
    ("3, 3", "takes the number of a message"), ("-1", "takes the number of a message"), ("3 sendmsg(rtn_get_tma)", "is not 'rtn_get_tma'"),
    ("3 sendmsg(save_wave)", "is not 'save_wave'"),
])  # fmt: skip
def test_what_is_no_message_that_returns_an_answer(message: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"line 3: .*{problem}"):
        parse_program(f"BB0\n/* logical preds: / linear preds: / kind: uniform, */\n\t s1: %0:s[4] = s_sendmsg_rtn_b32 {message}\n", 110)


_REGISTERS = st.sampled_from(["%0:v[0]", "%0:v[17]", "%0:s[3]", "%0:vcc", "%0:m0", "1.0", "-4.0", "1/(2*PI)", "64", "-16", "0x12345678"])


@settings(max_examples=60, deadline=None)
@given(
    opcode=st.sampled_from(["v_fma_f32", "v_med3_f32", "v_add3_u32", "v_bfe_u32"]), sources=st.lists(_REGISTERS, min_size=3, max_size=3),
    negative=st.integers(0, 7), absolute=st.integers(0, 7), suffix=st.sampled_from(["", " clamp", " *4", " *0.5 clamp"]),
)  # fmt: skip
def test_vector_instructions_round_trip(opcode: str, sources: list[str], negative: int, absolute: int, suffix: str) -> None:
    texts = []
    for position, source in enumerate(sources):
        text = f"|{source}|" if absolute >> position & 1 else source
        if negative >> position & 1 and (text[0] in "%|"):
            text = "-" + text
        texts.append(text)
    line = f"\t v1: %0:v[9] = {opcode} {', '.join(texts)}{suffix}"
    text = "BB0\n/* logical preds: / linear preds: / kind: uniform, */\n" + line + "\n"
    once = format_program(parse_program(text, 110))
    assert line in once.splitlines()
    assert format_program(parse_program(once, 110)) == once


@pytest.mark.parametrize("line", [" s1: %4294967295:s[0] = s_mov_b32 0", " s1: %1:s[0] = s_mov_b32 %4294967295:s[2]",
                                  "buffer_store_dword %0:s[0-3], %16777216:v[0], 0, %0:v[1] offen"])  # fmt: skip
def test_temps_have_24_bits_wherever_they_stand(line: str) -> None:
    with pytest.raises(InputError, match=r"line 3: .*is too large"):
        parse_program(f"BB0\n/* logical preds: / linear preds: / kind: uniform, */\n\t{line}\n", 103)


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="BB01/*: %vs[]=,-|()x\t\nkindpe", max_size=200))
def test_no_text_crashes_the_reader(text: str) -> None:
    for candidate in (text, SAMPLE[: len(text) * 5] + text):
        with contextlib.suppress(InputError):
            parse_program(candidate, 103)
