"""The shuffle that reads lane after lane, for hardware whose LDS permutes nothing (GFX6, GFX7): executed, on every level that has an emulator."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import emu
from pyaco._core.aco import assemble, lower_to_hw_instr
from pyaco.aco import parse_program

CASES = [("gfx600", 60, 64), ("gfx700", 70, 64), ("gfx900", 90, 64),
         ("gfx1030", 103, 32), ("gfx1030", 103, 64), ("gfx1100", 110, 32), ("gfx1100", 110, 64), ("gfx1200", 120, 32)]  # fmt: skip


def shuffled(target: str, level: int, wave: int, data: str) -> np.ndarray:
    """What each lane has of lane (7 * lane + 3) % wave, whose value is 0x1234 + (lane << 16); the upper half of the lanes asks for nothing."""
    mask, masks = ("s2", "s[8-9]") if wave == 64 else ("s1", "s[8]")
    lines = [
        " v1: %0:v[0] = v_and_b32 0x3ff, %0:v[0]",
        " v1: %0:v[1] = v_mul_u32_u24 7, %0:v[0]",
        " v1: %0:v[1] = v_add_u32 3, %0:v[1]",
        f" v1: %0:v[1] = v_and_b32 {wave - 1}, %0:v[1]",
        " v1: %0:v[2] = v_lshlrev_b32 16, %0:v[0]",
        " v1: %0:v[2] = v_or_b32 0x1234, %0:v[2]",
        " v1: %0:v[3] = v_mov_b32 0x4d",
        " v1: %0:v[4] = v_lshlrev_b32 2, %0:v[0]",
        f" {mask}: %0:s[10{'-11' if wave == 64 else ''}] = s_mov_b{wave} %0:exec",
        f" {mask}: %0:exec = s_mov_b{wave} 0x{'f' * (wave // 8)}",
        f" v1: %0:v[3],  {mask}: %0:{masks},  {mask}: %0:vcc = p_bpermute_readlane %0:v[1], {data}",
        f" {mask}: %0:exec = s_mov_b{wave} %0:s[10{'-11' if wave == 64 else ''}]",
        "global_store_dword %0:v[4], %0:s[0-1], %0:v[3] storage:buffer",
        "s_endpgm",
    ]  # fmt: skip
    if level < 80:
        # Additions have a carry, and a descriptor says where memory is.
        lines[2] = " v1: %0:v[1],  s2: %0:vcc = v_add_co_u32 3, %0:v[1]"
        lines[-2:-1] = [
            " s2: %0:s[4-5] = s_mov_b64 %0:s[0-1]",
            " s1: %0:s[6] = s_mov_b32 -1",
            " s1: %0:s[7] = s_mov_b32 0x27000",
            "buffer_store_dword %0:s[4-7], %0:v[4], 0, %0:v[3] offen storage:buffer",
        ]
    head = "After RA:\nBB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"
    program = parse_program(head + "".join(f"\t{line}\n" for line in lines), level, wave)
    lower_to_hw_instr.run(program, None)
    assemble.run(program)
    device = emu.Device(target)
    results = device.buffer(np.zeros(wave, np.uint32))
    user = [results.address & 0xFFFFFFFF, results.address >> 32]
    device.run(program.code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave)
    return results.numpy()


@pytest.mark.parametrize(("target", "level", "wave"), CASES)
@pytest.mark.parametrize(("data", "shift"), [("%0:v[2]", 0), ("%0:v[2][16:32]", 16)])
def test_lanes_read_the_lane_that_they_name(target: str, level: int, wave: int, data: str, shift: int) -> None:
    lane = np.arange(wave)
    values = (0x1234 + (lane << 16)) >> shift
    expected = np.where(lane < wave // 2, values[(7 * lane + 3) % wave], 0x4D)
    assert shuffled(target, level, wave, data).tolist() == expected.tolist()
