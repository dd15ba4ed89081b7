"""LDS accesses of several dwords, loads that turn rows into columns, and moves between memory and LDS: both engines do the same with addresses
that overlap or reach beyond the end, and with some of the lanes."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device
from pyaco.emu.device import ENGINES

LANES, LDS, ROWS = 64, 4096, 16
TARGET = "gfx950"
#: v8 has addresses, v[10:13] and v[14:17] data, v[20:23] results.
ACCESSES = {
    "ds_write_b128 v8, v[10:13] offset:16": 16, "ds_write_b64 v8, v[10:11] offset:8": 8, "ds_write_b96 v8, v[10:12]": 16,
    "ds_write2_b32 v8, v10, v14 offset1:1": 4, "ds_write2_b32 v8, v10, v14 offset0:3 offset1:200": 4,
    "ds_write2st64_b32 v8, v10, v14 offset1:4": 4, "ds_write2_b64 v8, v[10:11], v[14:15] offset0:1 offset1:2": 8,
    "ds_write2st64_b64 v8, v[10:11], v[14:15] offset1:3": 8,
    "ds_read_b128 v[20:23], v8 offset:16": 16, "ds_read_b96 v[20:22], v8": 16, "ds_read_b64 v[20:21], v8": 8,
    "ds_read2_b32 v[20:21], v8 offset1:7": 4, "ds_read2_b64 v[20:23], v8 offset1:2": 8, "ds_read_b128 v[6:9], v8": 16,
    "ds_read_b64_tr_b16 v[20:21], v8 offset:24": 8, "ds_read_b64_tr_b8 v[20:21], v8": 8, "ds_read_b64_tr_b4 v[20:21], v8": 8,
    "ds_read_b64_tr_b16 v[8:9], v8": 8, "ds_read_b64_tr_b8 v[8:9], v8 offset:8": 8,
    "global_load_dwordx4 v[20:23], v8, s[0:1]": 4, "global_store_dwordx4 v8, v[10:13], s[0:1]": 4,
    "buffer_load_dwordx4 v[20:23], v8, s[12:15], 0 offen": 4, "buffer_store_dwordx4 v[10:13], v8, s[12:15], 0 offen offset:64": 4,
    "buffer_load_dword v8, s[12:15], 0 offen lds": 4, "buffer_load_dwordx3 v8, s[12:15], 0 offen offset:32 lds": 4,
    "buffer_load_dwordx4 v8, s[12:15], 0 offen lds": 4, "buffer_load_ubyte v8, s[12:15], 0 offen lds": 4,
    "global_load_lds_dword v8, s[0:1] offset:8": 4, "global_load_lds_dwordx3 v8, s[0:1]": 4, "global_load_lds_dwordx4 v8, s[0:1] offset:-16": 4,
    "global_load_lds_ushort v8, s[0:1]": 4,
}  # fmt: skip


def outcome(engine: str, text: str, exec_mask: int, addresses: np.ndarray, base: int) -> tuple[object, ...]:
    """Registers, LDS and memory after one access."""
    device = Device(TARGET, engine, 1)
    memory = device.buffer(np.arange(LDS // 2, dtype=np.uint32) * 0x01020305 + 7)
    positions, output = device.buffer(addresses.astype(np.uint32)), device.zeros(LANES * 4 * ROWS + LDS)
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v0", "global_load_dword v8, v1, s[2:3]"]
    lines += [f"v_mul_u32_u24 v{row}, {0x10001 * row}, v0" for row in (2, 6, 7, 9, *range(10, 24))]
    lines += [f"v_lshlrev_b32 v3, {4}, v0", f"s_mov_b32 m0, {base}"]
    for start in range(0, LDS, 1024):
        lines += [f"global_load_dwordx4 v[24:27], v3, s[0:1] offset:{start}", "s_waitcnt vmcnt(0)", f"ds_write_b128 v3, v[24:27] offset:{start}"]
    lines += ["s_mov_b32 s12, s0", "s_and_b32 s13, s1, 0xffff", f"s_mov_b32 s14, {LDS + 32}", "s_mov_b32 s15, 0x20000", "s_waitcnt lgkmcnt(0)",
              f"s_mov_b32 exec_lo, {exec_mask & 0xFFFFFFFF}", f"s_mov_b32 exec_hi, {exec_mask >> 32}", text, "s_waitcnt vmcnt(0) lgkmcnt(0)",
              "s_mov_b64 exec, -1"]  # fmt: skip
    for number, row in enumerate((6, 7, 8, 9, 20, 21, 22, 23)):
        lines.append(f"global_store_dword v1, v{row}, s[4:5] offset:{256 * number}")
    lines += [f"v_mov_b32 v4, {LANES * 4 * ROWS}", "v_add_u32 v3, v3, v4", "v_lshlrev_b32 v5, 4, v0"]
    for start in range(0, LDS, 1024):
        lines += [f"ds_read_b128 v[24:27], v5 offset:{start}", "s_waitcnt lgkmcnt(0)", f"global_store_dwordx4 v3, v[24:27], s[4:5] offset:{start}"]
    code = isa.assemble("\n".join([*lines, "s_endpgm", ""]), TARGET)
    user = [word for buffer in (memory, positions, output) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    report = device.run(code, (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=64, lds_bytes=LDS)
    return output.numpy().tobytes(), memory.numpy().tobytes(), report.lds_out_of_bounds


@pytest.mark.parametrize("text", ACCESSES)
def test_accesses(text: str) -> None:
    random = np.random.default_rng(len(text))
    unit = ACCESSES[text]
    everywhere = random.integers(0, (LDS - 1088) // unit, LANES) * unit + (16 if "-16" in text else 0)
    placements = [everywhere, everywhere & 0xFF0 | 16, np.arange(LANES) * max(unit, 8) + 16, everywhere.copy()]
    if "global" not in text:
        placements[3][5] = LDS - unit                       # an access that begins inside and may end outside
        placements.append(np.full(LANES, LDS - 4 * unit))
    masks = [0xFFFFFFFFFFFFFFFF] if "_tr_" in text else [0xFFFFFFFFFFFFFFFF, 0x8000000000000001, 0x00FF00FF0F0F5555, 0]
    for addresses in placements:
        for mask in masks:
            for base in (0, 0x40, LDS - 512) if "lds" in text else (0,):
                found = [outcome(engine, text, mask, addresses, base) for engine in ENGINES]
                assert found[0] == found[1], (hex(mask), base)
