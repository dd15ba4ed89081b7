"""GFX12's named barriers: waves of a workgroup that meet in parts of it."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import emu, isa
from pyaco.errors import UnsupportedError

pytestmark = pytest.mark.parametrize("engine", ["reference", "fast", "drawn"])
#: s20 = wave's number, v1 = the byte of this lane in LDS and memory.
HEAD = """
    v_readfirstlane_b32 s20, v0
    s_lshr_b32 s20, s20, 5
    v_lshlrev_b32 v1, 2, v0
"""
INIT = """
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 ready
    s_mov_b32 m0, 0x20000
    s_barrier_init 3
    s_mov_b32 m0, 0x20010
    s_barrier_init m0
ready:
    s_barrier_signal -1
    s_barrier_wait -1
"""


def run(engine: str, text: str, waves: int) -> tuple[np.ndarray, emu.Report]:
    """What the lanes stored, and the report; s[0:1] is the address of a dword for each."""
    device = emu.Device("gfx1200", seed=11) if engine == "drawn" else emu.Device("gfx1200", engine)
    out = device.buffer(np.zeros(32 * waves, np.uint32))
    report = device.run(
        isa.assemble(text, "gfx1200"), workgroup_size=(32 * waves, 1, 1), lds_bytes=128 * waves,
        user_sgprs=[out.address & 0xFFFFFFFF, out.address >> 32],
    )  # fmt: skip
    return out.numpy().copy(), report


def test_pairs_meet(engine: str) -> None:
    """Waves 0 and 1 meet at barrier 3, waves 2 and 3 at 16; each reads what its partner has written, three times."""
    text = HEAD + INIT + """
        s_lshr_b32 s21, s20, 1
        s_mul_i32 s21, s21, 13
        s_add_u32 s21, s21, 3
        s_mov_b32 m0, s21
        s_barrier_join m0
        v_xor_b32 v2, 0x80, v1
        v_mov_b32 v3, v0
        s_mov_b32 s22, 3
    again:
        ds_store_b32 v1, v3
        s_wait_dscnt 0
        s_barrier_signal m0
        s_barrier_wait 1
        ds_load_b32 v4, v2
        s_wait_dscnt 0
        s_barrier_signal m0
        s_barrier_wait 1
        v_lshl_add_u32 v3, v4, 1, s20
        s_sub_u32 s22, s22, 1
        s_cmp_lg_u32 s22, 0
        s_cbranch_scc1 again
        global_store_b32 v1, v3, s[0:1]
        s_endpgm
    """
    found, _ = run(engine, text, 4)
    lanes = np.arange(128)
    values = lanes.copy()
    for _ in range(3):
        values = 2 * values[lanes ^ 32] + lanes // 32
    assert np.array_equal(found, values)


def test_producers_signal_and_do_not_wait(engine: str) -> None:
    """A wave need not join to signal: wave 0 alone waits for the signals of 1 and 2."""
    text = HEAD + INIT + """
        s_cmp_lg_u32 s20, 0
        s_cbranch_scc1 producer
        s_barrier_join 3
        s_barrier_wait 1
        v_xor_b32 v2, 0x80, v1
        ds_load_b32 v4, v2
        s_wait_dscnt 0
        global_store_b32 v1, v4, s[0:1]
        s_endpgm
    producer:
        ds_store_b32 v1, v0
        s_wait_dscnt 0
        s_barrier_signal 3
        s_endpgm
    """
    # the wait must not be over before wave 0 has joined: a third barrier would order it, so the producers wait for the workgroup once more
    text = text.replace("s_barrier_join 3\n", "s_barrier_join 3\ns_barrier_signal -1\ns_barrier_wait -1\n")
    text = text.replace("producer:\n", "producer:\ns_barrier_signal -1\ns_barrier_wait -1\n")
    found, _ = run(engine, text, 3)
    assert np.array_equal(found[:32], np.arange(32, 64)) and not found[32:].any()


def test_state_and_first(engine: str) -> None:
    """Bit 0 valid, bits 4-10 members, bits 16-22 signals; the first signal says so; the workgroup's barrier is another."""
    text = HEAD + """
        s_get_barrier_state s4, 5
        s_mov_b32 m0, 0x30005
        s_barrier_init m0
        s_get_barrier_state s5, m0
        s_barrier_signal_isfirst 5
        s_cselect_b32 s6, 1, 0
        s_barrier_signal_isfirst m0
        s_cselect_b32 s7, 1, 0
        s_get_barrier_state s8, 5
        s_barrier_join 5
        s_barrier_signal 5
        s_get_barrier_state s9, 5
        s_barrier_wait 1
        s_barrier_leave
        s_cselect_b32 s10, 1, 0
        s_get_barrier_state s11, 5
        s_barrier_leave
        s_cselect_b32 s12, 1, 0
        s_get_barrier_state s13, -1
        s_get_barrier_state s14, 0
    """ + "".join(f"v_writelane_b32 v5, s{4 + k}, {k}\n" for k in range(11)) + "global_store_b32 v1, v5, s[0:1]\ns_endpgm\n"
    found, _ = run(engine, text, 1)
    assert found[:11].tolist() == [0, 0x31, 1, 0, 0x20031, 0x31, 1, 0x21, 0, 0x11, 0]


def test_leaving_completes(engine: str) -> None:
    """Wave 0 waits at a barrier of two; wave 1 joins it too and leaves."""
    text = HEAD + INIT + """
        s_barrier_join 3
        s_barrier_signal -1
        s_barrier_wait -1
        s_cmp_lg_u32 s20, 0
        s_cbranch_scc1 leaver
        s_barrier_signal 3
        s_barrier_wait 1
        global_store_b32 v1, v0, s[0:1]
        s_endpgm
    leaver:
        s_barrier_leave
        s_endpgm
    """
    found, _ = run(engine, text, 2)
    assert np.array_equal(found, np.where(np.arange(64) < 32, np.arange(64), 0))


def test_a_workgroups_barrier_leaves_them_waiting(engine: str) -> None:
    """Wave 0 has signalled the workgroup's barrier and waits at barrier 3, which wave 1 signals only behind the workgroup's."""
    text = HEAD + INIT + """
        s_cmp_lg_u32 s20, 0
        s_cbranch_scc1 other
        s_barrier_join 3
        s_barrier_signal 3
        s_barrier_signal -1
        s_barrier_wait 1
        s_barrier_wait -1
        ds_load_b32 v4, v1
        s_wait_dscnt 0
        global_store_b32 v1, v4, s[0:1]
        s_endpgm
    other:
        s_barrier_signal -1
        s_barrier_wait -1
        v_xor_b32 v2, 0x80, v1
        ds_store_b32 v2, v0
        s_wait_dscnt 0
        s_barrier_signal 3
        s_endpgm
    """
    found, _ = run(engine, text, 2)
    assert np.array_equal(found[:32], np.arange(32, 64))


def test_what_never_completes_stops(engine: str) -> None:
    with pytest.raises(emu.EmulationError, match="deadlock: s_barrier_wait"):
        run(engine, HEAD + INIT + "s_barrier_join 3\ns_barrier_wait 1\ns_endpgm", 2)
    with pytest.raises(emu.EmulationError, match="deadlock"):
        run(engine, "s_barrier_wait 1\ns_endpgm", 1)
    for text in ("s_barrier_signal 3", "s_mov_b32 m0, 0x10011\ns_barrier_init m0", "s_mov_b32 m0, 20\ns_barrier_join m0", "s_barrier_wait -2"):
        with pytest.raises(UnsupportedError, match="s_barrier"):
            run(engine, text + "\ns_endpgm", 1)
