"""Text form of ACO IR: what is printed reads back the same."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco.aco import format_program, parse_program
from pyaco.errors import InputError

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


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="BB01/*: %vs[]=,-|()x\t\nkindpe", max_size=200))
def test_no_text_crashes_the_reader(text: str) -> None:
    for candidate in (text, SAMPLE[: len(text) * 5] + text):
        with contextlib.suppress(InputError):
            parse_program(candidate, 103)
