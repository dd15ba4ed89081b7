"""What one dispatch leaves in the fast engine for the next one is never seen: every dispatch is as the first of a new device."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from machine_code import Assemble

from pyaco.emu import BudgetError, Device, Launch, MemoryFault

#: s[0:1] the results, s2 bytes of a workgroup's results, s3 the workgroup; v1 becomes the offset of a lane's result.
PLACE = """
    v_and_b32 v1, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v1
    s_mul_i32 s4, s3, s2
    v_add_nc_u32 v1, s4, v1
"""
KERNELS = {
    "undefined": PLACE + """
    v_mov_b32 v3, 8
    ds_load_b32 v2, v3
    scratch_load_b32 v4, off, off offset:4
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_mad_u32_u24 v2, v2, 3, v4
    v_mad_u32_u24 v2, v2, 5, v40
    v_mad_u32_u24 v2, v2, 7, v200
    v_xor_b32 v2, s30, v2
    v_xor_b32 v2, vcc_lo, v2
    global_store_b32 v1, v2, s[0:1]
    s_endpgm
""",
    "dirty": PLACE + "\n".join(f"v_add_nc_u32 v{row}, {row}, v0" for row in range(2, 220)) + """
    s_mov_b32 s30, 77
    s_mov_b32 vcc_lo, 99
    v_mov_b32 v2, 8
    ds_store_b32 v2, v100
    scratch_store_b32 off, v101, off offset:4
    global_store_b32 v1, v102, s[0:1]
    s_endpgm
""",
    "long": PLACE + """
    s_movk_i32 s10, 300
    v_mov_b32 v2, 1
again:
    v_mad_u32_u24 v2, v2, 3, v1
    s_sub_i32 s10, s10, 1
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 again
    global_store_b32 v1, v2, s[0:1]
    s_endpgm
""",
    "half": PLACE + """
    s_mov_b32 exec_lo, 0x5555
    v_add_nc_u32_dpp v2, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf
    s_mov_b32 exec_lo, -1
    global_store_b32 v1, v2, s[0:1]
    s_endpgm
""",
    "stray": PLACE + """
    s_cmp_eq_u32 s3, 2
    s_cbranch_scc0 good
    s_mov_b32 s1, 0x7777
good:
    global_store_b32 v1, v1, s[0:1]
    s_endpgm
""",
    "endless": "here:\n s_branch here\n",
}  # fmt: skip


def outcome(device: Device, code: bytes, groups: int, size: int, wave_size: int, lds: int, scratch: int) -> tuple[bytes | None, object]:
    """What a dispatch leaves in memory and says."""
    results = device.buffer(np.full(groups * size, 0xAA, np.uint32))
    try:
        report = device.run(
            code, (groups, 1, 1), (size, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32, 4 * size),
            workgroup_ids=(True, False, False), wave_size=wave_size, lds_bytes=lds, scratch_bytes_per_lane=scratch, budget=100_000,
        )  # fmt: skip
        said: object = (report.instructions, report.units, report.lane_units, report.opcodes)
    except (MemoryFault, BudgetError) as error:
        said = type(error)
    written = results.numpy().copy()
    results.release()
    return None if isinstance(said, type) else written.tobytes(), said


@pytest.mark.parametrize("threads", [1, 3])
def test_any_sequence(assemble: Assemble, threads: int) -> None:
    """Kernels of all kinds and shapes, now and then the same one again, each against a device that has run nothing."""
    drawn = random.Random(threads)
    device = Device("gfx1100", "fast", threads)
    case: tuple[Any, ...] = ()
    for _ in range(120):
        if not case or drawn.random() < 0.7:
            name, wave_size = drawn.choice(list(KERNELS)), drawn.choice([32, 64])
            case = (assemble(KERNELS[name], "gfx1100", wave_size), drawn.choice([1, 3, 40]), drawn.choice([32, 70, 256]), wave_size,
                    drawn.choice([0, 64, 4096]), drawn.choice([0, 16, 64]))  # fmt: skip
        assert outcome(device, *case) == outcome(Device("gfx1100", "reference"), *case)


def test_code_that_changes_in_place(assemble: Assemble) -> None:
    """Words that were decoded are not run again once memory holds others."""
    device = Device("gfx1100", "fast", 1)
    results = device.zeros(4)
    address = None
    for value in (5, 6, 6, 7):
        code = np.frombuffer(
            assemble(f"v_mov_b32 v1, {value}\n v_mov_b32 v0, 0\n global_store_b32 v0, v1, s[0:1]\n s_endpgm", "gfx1100"), np.uint8
        )
        if address is None:
            buffer = device.buffer(code)
            address = buffer.address
        buffer.write(code)
        device.launch(Launch(
            entry=address, code_bytes=code.size, groups=(1, 1, 1), size=(32, 1, 1), wave_size=32,
            user_sgprs=[results.address & 0xFFFFFFFF, results.address >> 32],
        ))  # fmt: skip
        assert results.numpy().view(np.uint32)[0] == value


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_registers_that_both_halves_share(assemble: Assemble, engine: str) -> None:
    """GFX10, 64 lanes: what the low half writes to a shared VGPR the high half reads."""
    device = Device("gfx1030", engine)
    results = device.zeros(256)
    device.run(
        assemble("""
            s_mov_b64 exec, 0xffffffff
            v_mov_b32 v8, v0
            s_mov_b64 exec, -1
            v_lshlrev_b32 v1, 2, v0
            v_add_nc_u32 v2, 1, v8
            global_store_dword v1, v2, s[0:1]
            s_endpgm
        """, "gfx1030", 64), (1, 1, 1), (64, 1, 1), wave_size=64, shared_vgpr=8,
        user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32),
    )  # fmt: skip
    assert (results.numpy().view(np.uint32) == np.tile(np.arange(1, 33), 2)).all()


FAR = """
    s_load_b128 s[8:11], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_setpc_b64 s[10:11]
"""
COUNT = """
again:
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 again
    s_endpgm
"""


def test_code_in_other_memory(assemble: Assemble) -> None:
    """The same code goes elsewhere the second time, where it meets a semaphore of all workgroups: known only when it is there."""
    device = Device("gfx1100", "fast", 2)
    plain, waits = (np.frombuffer(assemble(text, "gfx1100") + bytes(256), np.uint8) for text in (COUNT, "s_mov_b32 m0, 0\nds_gws_sema_v gds" + COUNT))
    for place in (plain, waits, plain, waits):
        arguments = device.buffer(np.array([1000, device.buffer(place).address], np.uint64))
        report = device.run(assemble(FAR, "gfx1100"), (20, 1, 1), (32, 1, 1), user_sgprs=(arguments.address & 0xFFFFFFFF, arguments.address >> 32))
        assert report.opcodes.get("ds_gws_sema_v", 0) == (20 if place is waits else 0)


def test_small_budgets_end_at_the_same_place(assemble: Assemble) -> None:
    """Also after a dispatch that was long enough for other threads."""
    code = assemble("s_movk_i32 s8, 330\n" + COUNT, "gfx1100")
    ends = []
    for engine, threads in (("reference", None), ("fast", 1), ("fast", 2)):
        device = Device("gfx1100", engine, threads)
        device.run(code, (100, 1, 1), (32, 1, 1))
        for _ in range(2):
            with pytest.raises(BudgetError) as stopped:
                device.run(code, (100, 1, 1), (32, 1, 1), budget=1500)
            ends.append(str(stopped.value))
    assert len(set(ends)) == 1


def test_budgets_are_looked_at_within_a_run_of_workgroups(assemble: Assemble) -> None:
    """Two threads execute little more than they may, though they claim many workgroups at once."""
    device = Device("gfx1100", "fast", 2)
    code = assemble("s_movk_i32 s8, 2000\n" + COUNT, "gfx1100")
    with pytest.raises(BudgetError, match="instructions executed") as stopped:
        device.run(code, (4096, 1, 1), (32, 1, 1), budget=30000)
    assert int(str(stopped.value).split()[0]) < 30000 + 2 * 17 * 6002
