"""Loads and stores of dwords by how the lanes lie: side by side, in one place, scattered, at the edges of memory, some inactive.

The fast engine moves sixteen lanes at once where it can; the reference engine goes lane by lane.
"""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_code import assemble_object

from pyaco.emu import Device, EmulationError, MemoryFault
from pyaco.emu.device import ENGINES

TARGET = "gfx1100"
LDS_BYTES = 512
RAW = 3 << 28 | 22 << 12 | 0xFAC  # word 3 of a descriptor: ranges by bytes, dwords as they are
# s[4:5] offsets of lanes and data of stores, s[6:7] memory, s[8:9] results, s[10:11] EXEC, s[12:15] descriptor
KERNEL = """
    s_load_b256 s[4:11], s[0:1], 0x0
    s_load_b128 s[12:15], s[0:1], 0x20
    s_movk_i32 s16, 0x8
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v0, 2, v0
    v_mov_b32 v2, 0x1234
    s_waitcnt lgkmcnt(0)
    global_load_b32 v1, v0, s[4:5]
    global_load_b32 v3, v0, s[4:5] offset:256
    s_waitcnt vmcnt(0)
    v_add_nc_u32 v4, s6, v1
    v_mov_b32 v5, s7
    ds_store_b32 v0, v3
    s_mov_{mask} exec{low}, s{pair}
    {move}
    s_mov_{mask} exec{low}, -1
    s_waitcnt vmcnt(0) lgkmcnt(0)
    ds_load_b32 v6, v0
    s_waitcnt lgkmcnt(0)
    global_store_b32 v0, v{result}, s[8:9]
    global_store_b32 v0, v6, s[8:9] offset:256
    s_endpgm
"""
MOVES = (
    "global_load_b32 v{result}, v1, s[6:7] offset:{offset}", "global_load_b32 v{result}, v[4:5], off offset:{offset}",
    "flat_load_b32 v{result}, v[4:5] offset:{offset}", "global_store_b32 v1, v3, s[6:7] offset:{offset}",
    "global_store_b32 v[4:5], v3, off offset:{offset}", "buffer_load_b32 v{result}, v1, s[12:15], s16 offen offset:{offset}",
    "buffer_store_b32 v3, v1, s[12:15], s16 offen offset:{offset}", "ds_load_b32 v{result}, v1 offset:{offset}",
    "ds_store_b32 v1, v3 offset:{offset}", "global_load_u16 v{result}, v1, s[6:7] offset:{offset}",
    "global_load_b64 v[{result}:{next}], v1, s[6:7] offset:{offset}", "ds_load_b64 v[{result}:{next}], v1 offset:{offset}",
)  # fmt: skip
LANES = {
    "beside": 4 * np.arange(16), "one place": np.zeros(16, int), "apart": 8 * np.arange(16), "backwards": 4 * np.arange(15, -1, -1),
    "halves": 4 * (np.arange(16) // 2), "mixed": 4 * (np.arange(16) * 7 % 16),
}  # fmt: skip
lanes = st.tuples(st.sampled_from(sorted(LANES)), st.integers(-3, 75))


def text(move: str, wave: int, result: int, offset: int) -> str:
    """The kernel around a move."""
    lines = move.format(result=result, next=result + 1, offset=offset)
    low, pair, mask = ("_lo", "10", "b32") if wave == 32 else ("", "[10:11]", "b64")
    return KERNEL.format(move=lines, low=low, pair=pair, mask=mask, result=result)


def outcome(device: Device, code: bytes, wave: int, offsets: np.ndarray, size: int, records: int, active: int) -> tuple[str, list[int], list[int]]:
    """What a wave reads and leaves, or how it stops."""
    memory = device.buffer(np.arange(7, 7 + size, dtype=np.uint8))
    table = device.buffer(np.concatenate([offsets.astype(np.uint32), np.arange(1000, 1064, dtype=np.uint32)]))
    results = device.buffer(np.zeros(128, np.uint32))
    descriptor = [memory.address & 0xFFFFFFFF, memory.address >> 32 & 0xFFFF, records, RAW]
    values = np.array([table.address, memory.address, results.address, active, descriptor[0] | descriptor[1] << 32,
                       descriptor[2] | descriptor[3] << 32], np.uint64)  # fmt: skip
    arguments = device.buffer(values)
    stopped = ""
    try:
        device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=(arguments.address & 0xFFFFFFFF, arguments.address >> 32),
                   wave_size=wave, lds_bytes=LDS_BYTES)  # fmt: skip
    except (MemoryFault, EmulationError) as error:
        stopped = str(error)
    found = stopped, memory.numpy().tolist(), results.numpy().tolist()
    for buffer in (memory, table, results, arguments):
        buffer.release()
    return found


@settings(max_examples=400, deadline=None)
@given(
    move=st.sampled_from(MOVES), wave=st.sampled_from((32, 64)), result=st.sampled_from((1, 2)), offset=st.sampled_from((0, 4, 64)),
    parts=st.lists(lanes, min_size=4, max_size=4), common=st.booleans(), size=st.integers(16, 72).map(lambda dwords: 4 * dwords),
    records=st.integers(0, 300), active=st.sampled_from((~0, ~0, ~0, 0, 0xFFFF0001, 0x8000000080000000, 0xFFFF0000FFFF)),
)  # fmt: skip
def test_engines_agree(
    move: str, wave: int, result: int, offset: int, parts: list[tuple[str, int]], common: bool, size: int, records: int, active: int,
) -> None:
    """Also the second time, when the fast engine knows where it found memory."""
    code = assemble_object(text(move, wave, result, offset), TARGET, wave)
    chosen = [LANES[kind] + 4 * first for kind, first in ([parts[0]] * 4 if common else parts)]
    offsets = np.concatenate(chosen)
    expected = outcome(Device(TARGET, "reference"), code, wave, offsets, size, records, active & (1 << 64) - 1)
    device = Device(TARGET, "fast", 1)
    for _ in range(2):
        assert outcome(device, code, wave, offsets, size, records, active & (1 << 64) - 1) == expected


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("beyond", [0, 4])
@pytest.mark.parametrize("move", MOVES[:2] + MOVES[3:5])
def test_the_last_dword(move: str, beyond: int, wave: int) -> None:
    """Lanes side by side up to the last byte of memory, and one dword beyond."""
    code = assemble_object(text(move, wave, 2, 0), TARGET, wave)
    stopped, _, results = outcome(Device(TARGET, "fast", 1), code, wave, 4 * np.arange(64) + beyond, 4 * wave, 0, (1 << 64) - 1)
    if beyond:
        assert "outside memory" in stopped
        assert f"lane {wave - 1}" in stopped
    else:
        assert not stopped
        assert "load" not in move or results[0] == int.from_bytes(bytes(range(7, 11)), "little")


NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Linux: pages that nobody touches take nothing
WRAPPING = 0xFFFFFFF8  # of the first lane: the third passes 2**32, and is at offset 0


def wrapping(device: Device, move: str, base: int, first: int = WRAPPING) -> tuple[str, list[int]]:
    """How a wave ends whose sixteen lanes lie side by side from `first` on, but for that, and what it reads."""
    code = assemble_object(text(move, 32, 2, 0), TARGET)
    offsets = (first + 4 * (np.arange(64) % 16)) & 0xFFFFFFFF
    table = device.buffer(np.concatenate([offsets.astype(np.uint32), np.full(64, 0x77, np.uint32)]))
    results = device.buffer(np.zeros(128, np.uint32))
    values = np.array([table.address, base & (1 << 64) - 1, results.address, (1 << 64) - 1, 0, 0], np.uint64)
    arguments = device.buffer(values)
    stopped = ""
    try:
        device.run(code, (1, 1, 1), (32, 1, 1), user_sgprs=(arguments.address & 0xFFFFFFFF, arguments.address >> 32), lds_bytes=LDS_BYTES)
    except MemoryFault as error:
        stopped = str(error)
    for buffer in (table, results, arguments):
        buffer.release()
    return stopped, results.numpy().tolist()


@pytest.mark.parametrize("move", ["global_load_b32 v2, v1, s[6:7]", "global_store_b32 v1, v3, s[6:7]"])
def test_offsets_that_pass_their_size(move: str) -> None:
    """Lanes' offsets have 32 bits and are added to the base one by one."""
    found = []
    for engine in ENGINES:
        device = Device(TARGET, engine)
        memory = device.buffer(np.zeros(64, np.uint32))
        found.append((*wrapping(device, move, memory.address - WRAPPING), memory.numpy().tolist()))
    assert found[0] == found[1]
    assert "lane 2)" in found[0][0]


@pytest.mark.parametrize("move", ["global_load_b32 v2, v[4:5], off", "global_store_b32 v[4:5], v3, off"])
def test_low_dwords_that_pass_their_size(move: str) -> None:
    """The high dword stays; the fast engine knows the memory that the first lanes reach."""
    found = []
    for engine in ENGINES:
        device = Device(TARGET, engine)
        near, far = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
        device.space.map_at((1 << 32 | WRAPPING), near)
        device.space.map_at(1 << 32, far)
        assert not wrapping(device, move, 2 << 32, 0)[0]
        near[:] = 0
        found.append((*wrapping(device, move, 1 << 32), near.tolist(), far.tolist()))
    assert found[0] == found[1]
    assert not found[0][0]
    assert "load" in move or (any(found[0][3][:56]) and not any(found[0][2][8:]))


@pytest.mark.parametrize("move", ["global_load_b32 v2, v1, s[6:7]", "global_store_b32 v1, v3, s[6:7]"])
def test_memory_of_four_gibibytes(move: str) -> None:
    """All that 32 bits reach is within; what follows it is not."""
    found = []
    for engine in ENGINES:
        pages = mmap.mmap(-1, (1 << 32) + mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
        whole = np.frombuffer(pages, np.uint8)
        device = Device(TARGET, engine)
        memory = device.share(whole[: 1 << 32])
        found.append((*wrapping(device, move, memory.address), whole[:64].tolist(), whole[(1 << 32) - 64 : (1 << 32) + 64].tolist()))
        memory.release()
    assert found[0] == found[1]
    assert not found[0][0]
    assert not any(found[0][3][64:])
