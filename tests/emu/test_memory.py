"""Device memory, LDS, scratch, atomics: values, ranges, and what is said about stray accesses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from machine_code import Assemble

from pyaco import emu, isa
from pyaco._core.emu.memory import AddressSpace
from pyaco.descriptors.buffer import raw_buffer
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError

U32 = np.uint32
LANE = "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\n"


def words(*buffers: emu.Buffer) -> list[int]:
    return [word for buffer in buffers for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]


def descriptors(level: int, *buffers: emu.Buffer) -> list[int]:
    return [word for buffer in buffers for word in raw_buffer(buffer.address, buffer.size, level)]


def test_addresses_are_disjoint_and_canonical() -> None:
    space = AddressSpace()
    arrays = [np.zeros(size, np.uint8) for size in (1, 4096, 3, 100000)]
    low = [space.map(array, low=True) for array in arrays]
    general = [space.map(array) for array in arrays]
    assert all(address >> 32 == 0xFFFF8000 for address in low)
    spans = sorted((address, address + array.nbytes) for address, array in zip(low + general, arrays * 2, strict=True))
    assert all(first[1] < second[0] for first, second in itertools.pairwise(spans))
    space.release(low[1])
    with pytest.raises(KeyError):
        space.release(low[1])
    with pytest.raises(InputError, match="power of two"):
        space.map(arrays[0], alignment=3)


def test_stray_load_names_the_place(assemble: Assemble) -> None:
    device = Device("gfx1100", "reference")
    buffer = device.zeros(256)
    text = LANE + "v_lshlrev_b32 v1, 4, v0\ns_nop 0\nglobal_load_b32 v2, v1, s[0:1]\ns_endpgm\n"
    with pytest.raises(emu.MemoryFault, match=r"global_load_b32 .*: load of 4 bytes") as caught:
        device.run(assemble(text, "gfx1100"), (2, 1, 1), (64, 1, 1), user_sgprs=words(buffer))
    place = caught.value.place
    assert place["workgroup"] == (0, 0, 0) and place["wave"] == 0 and place["lane"] == 16
    assert place["address"] == buffer.address + 256 and not place["store"]
    assert place["pc"] == 20
    assert hex(buffer.address) in str(caught.value)


def test_stray_fetch_and_bad_words(assemble: Assemble) -> None:
    device = Device("gfx1100", "reference")
    with pytest.raises(emu.EmulationError, match="left the code"):
        device.run(assemble("s_nop 0\n", "gfx1100"))
    with pytest.raises(emu.EmulationError, match="not an instruction"):
        device.run(np.array([0xFFFFFFFF, 0], U32).tobytes())
    with pytest.raises(UnsupportedError, match="s_sendmsg_rtn_b32"):
        device.run(assemble("s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_SAVE_WAVE)\ns_endpgm\n", "gfx1100"))


def test_budget_ends_an_endless_loop(assemble: Assemble) -> None:
    device = Device("gfx1100", "reference")
    with pytest.raises(emu.BudgetError, match="1000 instructions"):
        device.run(assemble("loop: s_branch loop\n", "gfx1100"), budget=1000)


def test_barrier_orders_waves_through_lds(assemble: Assemble) -> None:
    """Every lane reads what the lane of the next wave wrote before the barrier."""
    text = LANE + """
        v_xor_b32 v2, 0x5a, v0
        ds_store_b32 v1, v2
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_add_nc_u32 v3, 32, v0
        v_and_b32 v3, 0xff, v3
        v_lshlrev_b32 v3, 2, v3
        ds_load_b32 v4, v3
        s_waitcnt lgkmcnt(0)
        global_store_b32 v1, v4, s[0:1]
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    results = device.buffer(np.zeros(256, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (256, 1, 1), user_sgprs=words(results), lds_bytes=1024)
    assert np.array_equal(results.numpy(), ((np.arange(256) + 32) % 256) ^ 0x5A)


def test_wave_that_ended_does_not_hold_a_barrier(assemble: Assemble) -> None:
    text = LANE + """
        v_readfirstlane_b32 s4, v0
        s_cmp_lt_u32 s4, 64
        s_cbranch_scc1 out
        s_barrier
        v_mov_b32 v2, 7
        global_store_b32 v1, v2, s[0:1]
    out:
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    results = device.buffer(np.zeros(128, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (128, 1, 1), user_sgprs=words(results))
    assert np.array_equal(results.numpy(), np.repeat([0, 7], 64))


def test_lds_range(assemble: Assemble) -> None:
    """Loads beyond the workgroup's LDS give zero, stores there are dropped, a straddling store keeps its bytes inside."""
    text = """
        v_mov_b32 v1, 0x11223344
        v_mov_b32 v2, 60
        ds_store_b32 v2, v1
        v_mov_b32 v2, 62
        v_mov_b32 v3, 0x55667788
        ds_store_b32 v2, v3
        v_mov_b32 v2, 64
        ds_store_b32 v2, v1
        ds_load_b32 v4, v2
        v_mov_b32 v2, 60
        ds_load_b32 v5, v2
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v0, 0
        global_store_b64 v0, v[4:5], s[0:1]
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    results = device.buffer(np.zeros(2, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (1, 1, 1), user_sgprs=words(results), lds_bytes=64)
    assert [hex(value) for value in results.numpy()] == ["0x0", "0x77883344"]


@pytest.mark.parametrize(("target", "level", "load", "store"), [
    ("gfx1100", 110, "buffer_load_b32", "buffer_store_b32"), ("gfx1030", 103, "buffer_load_dword", "buffer_store_dword"),
    ("gfx900", 90, "buffer_load_dword", "buffer_store_dword"),
])  # fmt: skip
def test_buffer_range(assemble: Assemble, target: str, level: int, load: str, store: str) -> None:
    """Raw buffers: out-of-range loads give zero and stores are dropped, by bytes, with every offset counted."""
    text = f"""
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        s_mov_b32 s8, 32
        {load} v2, v1, s[0:3], s8 offen offset:16
        {store} v0, v1, s[0:3], 0 offen offset:128
        s_waitcnt vmcnt(0)
        {store} v2, v1, s[4:7], 0 offen
        s_endpgm
    """
    device = Device(target, "reference")
    source = device.buffer(np.arange(1, 49, dtype=U32))
    results = device.buffer(np.full(64, 9, U32))
    wave = 64 if level == 90 else 32
    user = descriptors(level, source, results)
    device.run(assemble(text, target), (1, 1, 1), (64, 1, 1), user_sgprs=user, wave_size=wave)
    expected = np.zeros(64, U32)
    expected[:36] = np.arange(13, 49)
    # on wave32, lanes of the second wave read what the first one's stores left
    if wave == 32:
        expected[32:36] = np.arange(12, 16)
    assert np.array_equal(results.numpy(), expected)
    assert np.array_equal(source.numpy(), np.concatenate((np.arange(1, 33), np.arange(16))))


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(("target", "level", "load", "store", "wait", "soffset"), [
    ("gfx1310", 130, "buffer_load_b32", "buffer_store_b32", "s_wait_loadcnt 0x0", "null"),
    ("gfx1250", 125, "buffer_load_b32", "buffer_store_b32", "s_wait_loadcnt 0x0", "null"),
    ("gfx1200", 120, "buffer_load_b32", "buffer_store_b32", "s_wait_loadcnt 0x0", "null"),
    ("gfx1030", 103, "buffer_load_dword", "buffer_store_dword", "s_waitcnt vmcnt(0)", "0"),
    ("gfx900", 90, "buffer_load_dword", "buffer_store_dword", "s_waitcnt vmcnt(0)", "0"),
])  # fmt: skip
def test_buffer_offsets_wrap(
    assemble: Assemble, target: str, level: int, load: str, store: str, wait: str, soffset: str, engine: str
) -> None:
    """Up to GFX12.0, an offset of -16 and one of 16 are none together; later they are beyond the buffer."""
    text = f"""
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        v_add_nc_u32 v3, -16, v1
        {load} v2, v3, s[0:3], {soffset} offen offset:16
        {wait}
        {store} v2, v1, s[4:7], {soffset} offen
        s_endpgm
    """
    if level == 90:
        text = text.replace("v_add_nc_u32", "v_add_u32")
    device = Device(target, engine)
    source = device.buffer(np.arange(1, 33, dtype=U32))
    results = device.buffer(np.full(32, 9, U32))
    user = descriptors(level, source, results)
    device.run(assemble(text, target), (1, 1, 1), (32, 1, 1), user_sgprs=user, wave_size=64 if level == 90 else 32)
    expected = np.arange(1, 33)
    if level >= 125:
        expected[:4] = 0
    assert np.array_equal(results.numpy(), expected)


def test_swizzled_buffer(assemble: Assemble) -> None:
    """Element 4 bytes, index stride 8, stride 16: the layout that interleaves structures."""
    text = """
        v_and_b32 v0, 0x3ff, v0
        buffer_load_b32 v2, v0, s[0:3], 0 idxen offset:8
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt vmcnt(0)
        buffer_store_b32 v2, v1, s[4:7], 0 offen
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    source = device.buffer(np.arange(128, dtype=U32))
    results = device.buffer(np.zeros(32, U32))
    user = descriptors(110, source, results)
    user[1] |= 16 << 16 | 1 << 30
    user[2] = 24
    user[3] = user[3] & ~(3 << 28)
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (32, 1, 1), user_sgprs=user)
    index = np.arange(32)
    expected = np.where(index < 24, index // 8 * 32 + 2 * 8 + index % 8, 0)
    assert np.array_equal(results.numpy(), expected)


def test_sub_dword_accesses(assemble: Assemble) -> None:
    text = """
        v_mov_b32 v0, 0
        v_mov_b32 v2, -1
        v_mov_b32 v3, -1
        global_load_u8 v1, v0, s[0:1] offset:3
        global_load_i8 v4, v0, s[0:1] offset:3
        global_load_d16_b16 v2, v0, s[0:1] offset:2
        global_load_d16_hi_i8 v3, v0, s[0:1] offset:3
        global_load_i16 v5, v0, s[0:1] offset:1
        s_waitcnt vmcnt(0)
        global_store_b32 v0, v1, s[2:3]
        global_store_b32 v0, v4, s[2:3] offset:4
        global_store_b32 v0, v2, s[2:3] offset:8
        global_store_b32 v0, v3, s[2:3] offset:12
        global_store_b32 v0, v5, s[2:3] offset:16
        global_store_b8 v0, v1, s[2:3] offset:20
        global_store_d16_hi_b16 v0, v3, s[2:3] offset:22
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    source, results = device.buffer(np.array([0x8765A321], U32)), device.buffer(np.zeros(6, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (1, 1, 1), user_sgprs=words(source, results))
    shown = [hex(value) for value in results.numpy()]
    assert shown == ["0x87", "0xffffff87", "0xffff8765", "0xff87ffff", "0x65a3", "0xff870087"]


def test_scratch_is_per_lane(assemble: Assemble) -> None:
    text = LANE + """
        v_mul_u32_u24 v2, 3, v0
        v_and_b32 v3, 4, v1
        scratch_store_b32 v3, v2, off
        scratch_store_b32 v3, v0, off offset:8
        scratch_load_b32 v4, v3, off
        s_waitcnt vmcnt(0)
        global_store_b32 v1, v4, s[0:1]
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    results = device.buffer(np.zeros(64, U32))
    code = assemble(text, "gfx1100")
    device.run(code, (1, 1, 1), (64, 1, 1), user_sgprs=words(results), scratch_bytes_per_lane=16)
    assert np.array_equal(results.numpy(), 3 * np.arange(64))
    with pytest.raises(emu.MemoryFault, match="scratch_store"):
        device.run(code, (1, 1, 1), (64, 1, 1), user_sgprs=words(results), scratch_bytes_per_lane=8)


ATOMICS: dict[str, Callable[..., Any]] = {
    "add_u32": np.add, "sub_u32": lambda old, data: old - data, "min_u32": np.minimum, "max_u32": np.maximum,
    "min_i32": lambda old, data: np.minimum(old.astype(np.int32), data.astype(np.int32)).astype(U32),
    "and_b32": np.bitwise_and, "or_b32": np.bitwise_or, "xor_b32": np.bitwise_xor, "swap_b32": lambda old, data: data,
    "inc_u32": lambda old, data: U32(0) if old >= data else old + U32(1),
    "dec_u32": lambda old, data: data if old == 0 or old > data else old - U32(1),
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(assemble: Assemble, name: str) -> None:
    """All lanes on two dwords, through global memory and LDS: the sequence of old values, lane by lane."""
    lds = {"swap_b32": "storexchg_rtn_b32"}.get(name, name.replace("_", "_rtn_"))
    text = LANE + f"""
        v_and_b32 v3, 4, v1
        global_load_b32 v2, v1, s[0:1]
        s_waitcnt vmcnt(0)
        global_atomic_{name} v4, v3, v2, s[2:3] glc
        v_mov_b32 v6, 0x64
        ds_store_b32 v3, v6
        ds_{lds} v5, v3, v2
        s_waitcnt vmcnt(0) lgkmcnt(0)
        global_store_b32 v1, v4, s[4:5]
        global_store_b32 v1, v5, s[4:5] offset:128
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    data = np.random.default_rng(5).integers(0, 1 << 32, 32, dtype=U32)
    data[::3] %= 200
    source, cells, results = device.buffer(data), device.buffer(np.full(2, 100, U32)), device.buffer(np.zeros(64, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (32, 1, 1), user_sgprs=words(source, cells, results), lds_bytes=64)
    state = np.full(2, 100, U32)
    expected = np.zeros(32, U32)
    with np.errstate(over="ignore"):
        for lane in range(32):
            expected[lane] = state[lane & 1]
            state[lane & 1] = ATOMICS[name](state[lane & 1], data[lane])
    assert np.array_equal(results.numpy()[:32], expected)
    assert np.array_equal(results.numpy()[32:], expected)
    assert np.array_equal(cells.numpy(), state)


def test_compare_and_swap(assemble: Assemble) -> None:
    """data[0] is the new value and data[1] what is compared; in LDS from GFX11 on data0 is the new value."""
    text = LANE + """
        v_mov_b32 v2, 7
        v_mov_b32 v3, v0
        v_mov_b32 v6, 0
        global_atomic_cmpswap_b32 v4, v6, v[2:3], s[0:1] glc
        v_mov_b32 v7, 3
        ds_store_b32 v6, v7
        ds_cmpstore_rtn_b32 v5, v6, v2, v0
        s_waitcnt vmcnt(0) lgkmcnt(0)
        global_store_b32 v1, v4, s[2:3]
        global_store_b32 v1, v5, s[2:3] offset:32
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    cell, results = device.buffer(np.array([3], U32)), device.buffer(np.zeros(16, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (8, 1, 1), user_sgprs=words(cell, results), lds_bytes=64)
    old = [3, 3, 3, 3, 7, 7, 7, 7]
    assert results.numpy().tolist() == old * 2 and cell.numpy()[0] == 7


def test_typed_buffers(assemble: Assemble) -> None:
    """Loads convert what the format says, stores convert back; the packed and the eight-bit formats."""
    text = """
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        tbuffer_load_format_xyzw v[4:7], v1, s[0:3], 0 format:[BUF_FMT_8_8_8_8_UNORM] offen
        tbuffer_load_format_xyzw v[8:11], v1, s[0:3], 0 format:[BUF_FMT_2_10_10_10_SINT] offen
        v_lshlrev_b32 v2, 5, v0
        s_waitcnt vmcnt(0)
        buffer_store_b128 v[4:7], v2, s[4:7], 0 offen
        buffer_store_b128 v[8:11], v2, s[4:7], 0 offen offset:16
        tbuffer_store_format_xyzw v[4:7], v1, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UNORM] offen offset:1024
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    data = np.random.default_rng(2).integers(0, 1 << 32, 32, dtype=U32)
    source, results = device.buffer(data), device.buffer(np.zeros(320, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (32, 1, 1), user_sgprs=descriptors(110, source, results))
    rows = results.numpy()[:256].reshape(32, 8)
    for component in range(4):
        raw = data >> U32(8 * component) & U32(255)
        expected = (raw.astype(np.float64) / 255).astype(np.float32)
        assert np.array_equal(rows[:, component].copy().view(np.float32), expected)
    widths = (10, 10, 10, 2)
    for component, width in enumerate(widths):
        raw = (data >> U32(10 * component) & U32((1 << width) - 1)).astype(np.int64)
        expected = np.where(raw >> (width - 1), raw - (1 << width), raw)
        assert np.array_equal(rows[:, 4 + component].astype(np.int32), expected)
    assert np.array_equal(results.numpy()[256:288], data)


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("words", [(0xDE946C2D, 0x420639DD), (0xDCC7A2C0, 0x5900061F)])
def test_flat_accesses_that_bypass_registers(engine: str, words: tuple[int, int]) -> None:
    """A scratch load and a flat atomic with the lds bit, which have no data register."""
    device = Device("gfx1030" if words[0] == 0xDE946C2D else "gfx1010", engine)
    with pytest.raises(UnsupportedError):
        device.run(np.array([*words, 0xBF810000], np.uint32).tobytes(), (1, 1, 1))


def test_buffer_arguments() -> None:
    device = Device("gfx1100", "reference")
    buffer = device.buffer(np.arange(4, dtype=U32))
    buffer.write(np.array([9], U32), offset=4)
    assert buffer.numpy().tolist() == [0, 9, 2, 3]
    with pytest.raises(InputError, match="do not fit"):
        buffer.write(bytes(8), offset=12)
    with pytest.raises(InputError, match="descriptor"):
        raw_buffer(0, 1 << 32, 110)


def test_released_buffers_are_gone(assemble: Assemble) -> None:
    """The addresses stop a dispatch, and the next buffer of that size may have them."""
    device = Device("gfx1030", "reference")
    buffer = device.zeros(256)
    address = buffer.address
    code = assemble("v_mov_b32 v0, s0\nv_mov_b32 v1, s1\nglobal_load_dword v2, v[0:1], off\ns_endpgm", "gfx1030")
    device.run(code, workgroup_size=(1, 1, 1), user_sgprs=[address & 0xFFFFFFFF, address >> 32])
    buffer.release()
    with pytest.raises(emu.MemoryFault):
        device.run(code, workgroup_size=(1, 1, 1), user_sgprs=[address & 0xFFFFFFFF, address >> 32])
    with pytest.raises(InputError, match="released already"):
        buffer.release()
    assert device.zeros(256).address == address


def test_shared_arrays_are_not_copied(assemble: Assemble) -> None:
    device = Device("gfx1030", "reference")
    array = np.zeros((4, 4), np.uint32)
    buffer = device.share(array)
    code = assemble("v_mov_b32 v0, s0\nv_mov_b32 v1, s1\nv_mov_b32 v2, 7\nglobal_store_dword v[0:1], v2, off offset:20\ns_endpgm", "gfx1030")
    device.run(code, workgroup_size=(1, 1, 1), user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32])
    assert array[1, 1] == 7 and buffer.numpy() is array
    copied = device.buffer(array)
    assert copied.numpy() is not array and not np.shares_memory(copied.numpy(), array)
    with pytest.raises(InputError, match="side by side"):
        device.share(array[:, ::2])


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(("target", "word3"), [("gfx900", 0x27FAC), ("gfx1030", 0x31016FAC), ("gfx1100", 0x31016FAC), ("gfx1200", 0x31016FAC)])
def test_raw_descriptor_of_a_pc(target: str, word3: int, engine: str) -> None:
    """Address bits above 47 stand in a descriptor's stride and swizzle; without an index they do not matter."""
    wave = 64 if target == "gfx900" else 32
    device = Device(target, engine)
    table = device.buffer(np.arange(100, 100 + wave, dtype=U32))
    results = device.buffer(np.zeros(wave, U32))
    load, store = ("buffer_load_dword", "global_store_dword") if target in ("gfx900", "gfx1030") else ("buffer_load_b32", "global_store_b32")
    offset = "0" if target != "gfx1200" else "null"
    wait = "s_wait_loadcnt 0" if target == "gfx1200" else "s_waitcnt vmcnt(0)"
    text = f"v_lshlrev_b32 v1, 2, v0\n{load} v2, v1, s[4:7], {offset} offen\n{wait}\n{store} v1, v2, s[0:1]\ns_endpgm"
    assert table.address < 1 << 47
    device.run(
        isa.assemble(text, target), workgroup_size=(wave, 1, 1), wave_size=wave,
        user_sgprs=[*words(results), 0, 0, table.address & 0xFFFFFFFF, table.address >> 32 | 0xFFFF0000, 4 * wave - 8, word3],
    )  # fmt: skip
    assert results.numpy().tolist() == [*range(100, 98 + wave), 0, 0]


LOADS_TO_LDS = {
    "gfx900": ("global_load_dword v[2:3], off offset:8 lds", "ds_read_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1030": ("global_load_dword v[2:3], off offset:8 lds", "ds_read_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1030 bytes": ("global_load_sbyte v[2:3], off offset:8 lds", "ds_read_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1030 saddr": ("global_load_ushort v1, s[4:5] offset:8 lds", "ds_read_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1100": ("buffer_load_lds_b32 v1, s[8:11], 0 offen offset:8", "ds_load_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1100 bytes": ("buffer_load_lds_i8 v1, s[8:11], 0 offen offset:8", "ds_load_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1150": ("global_load_lds_b32 v[2:3], off offset:8", "ds_load_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1150 bytes": ("global_load_lds_i8 v1, s[4:5] offset:8", "ds_load_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
    "gfx1150 saddr": ("global_load_lds_u16 v1, s[4:5] offset:8", "ds_load_b32", "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)"),
}


@pytest.mark.parametrize("engine", ["reference", "fast", "watched"])
@pytest.mark.parametrize("name", LOADS_TO_LDS)
def test_loads_to_lds(name: str, engine: str) -> None:
    """A dword of LDS for each lane, from m0 and the instruction's offset on; the address has the offset too."""
    target = name.split()[0]
    load, read, wait = LOADS_TO_LDS[name]
    wave = 64 if target == "gfx900" else 32
    store = "global_store_b32" if target.startswith("gfx11") else "global_store_dword"
    carry = "v_add_co_u32 v2, vcc, s4, v1\nv_mov_b32 v3, s5\ns_nop 0\nv_addc_co_u32 v3, vcc, 0, v3, vcc" if target == "gfx900" else (
        "v_add_co_u32 v2, vcc_lo, s4, v1\nv_mov_b32 v3, s5\nv_add_co_ci_u32 v3, vcc_lo, 0, v3, vcc_lo")
    text = f"""
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        {carry}
        s_mov_b32 m0, 0x40
        s_nop 0
        {load}
        {wait.splitlines()[0]}
        {read} v4, v1 offset:0x48
        {wait.splitlines()[1]}
        {store} v1, v4, s[0:1]
        s_endpgm
    """
    device = Device(target, check_waits=True, check_races=True) if engine == "watched" else Device(target, engine)
    data = np.arange(0x8A8B8C8D, 0x8A8B8C8D + wave + 2, dtype=U32)
    table, results = device.buffer(data), device.buffer(np.zeros(wave, U32))
    word3 = 0x27FAC if target == "gfx900" else 0x31016FAC
    device.run(
        isa.assemble(text, target), workgroup_size=(wave, 1, 1), wave_size=wave, lds_bytes=1024, local_id_components=1,
        user_sgprs=[*words(results), 0, 0, *words(table), 0, 0, table.address & 0xFFFFFFFF, table.address >> 32 & 0xFFFF, data.nbytes, word3],
    )  # fmt: skip
    expected = data[2:]
    if "bytes" in name:
        expected = (expected & 0xFF).astype(np.uint8).view(np.int8).astype(np.int32).view(U32)
    elif "saddr" in name:
        expected = expected & U32(0xFFFF)
    assert np.array_equal(results.numpy(), expected)


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target", ["gfx1010", "gfx1030"])
def test_unaligned_scratch_in_memory(target: str, engine: str) -> None:
    """Dwords of a lane lie apart there; accesses across two of them reach the right bytes, and only these."""
    text = """
        s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s2
        s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s3
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        v_mul_u32_u24 v2, 0x10305, v0
        v_add_nc_u32 v2, 0x81a2b3c4, v2
        v_mov_b32 v3, 0x55667788
        v_mov_b32 v8, 0
        scratch_store_dwordx2 v8, v[2:3], off offset:5
        scratch_store_short v8, v2, off offset:15
        scratch_load_dword v4, v8, off offset:6
        scratch_load_sshort v5, v8, off offset:7
        scratch_load_dwordx2 v[6:7], v8, off offset:9
        s_waitcnt vmcnt(0)
        s_waitcnt_vscnt null, 0
        global_store_dword v1, v4, s[0:1]
        global_store_dword v1, v5, s[0:1] offset:128
        global_store_dword v1, v6, s[0:1] offset:256
        global_store_dword v1, v7, s[0:1] offset:384
        s_endpgm
    """
    device = Device(target, engine)
    lanes = np.arange(32)
    results, scratch = device.buffer(np.zeros((4, 32), U32)), device.buffer(np.zeros((8, 32), U32))
    device.run(isa.assemble(text, target), user_sgprs=words(results, scratch), scratch_bytes_per_lane=32)
    data = np.zeros((32, 32), np.uint8)
    value = (0x81A2B3C4 + 0x10305 * lanes).astype("<u4")
    data[:, 5:9] = value.view(np.uint8).reshape(32, 4)
    data[:, 9:13] = np.frombuffer(b"\x88\x77\x66\x55", np.uint8)
    data[:, 15:17] = value.view(np.uint8).reshape(32, 4)[:, :2]
    assert np.array_equal(scratch.numpy().T, data.view("<u4"))
    dword = [data[:, k : k + 4].copy().view("<u4")[:, 0] for k in (6, 9, 13)]
    assert np.array_equal(results.numpy()[0], dword[0])
    assert np.array_equal(results.numpy()[1].view(np.int32), data[:, 7:9].copy().view("<i2")[:, 0])
    assert np.array_equal(results.numpy()[2], dword[1]) and np.array_equal(results.numpy()[3], dword[2])
    with pytest.raises(emu.MemoryFault, match="scratch_load_dword"):
        device.run(isa.assemble(text.replace("offset:6", "offset:1022"), target), user_sgprs=words(results, scratch), scratch_bytes_per_lane=32)


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(("target", "high"), [("gfx900", 0xFFFF8000), ("gfx1030", 0xFFFF8000), ("gfx1100", 0xFFFF8000), ("gfx1200", 0x8000)])
def test_program_counter(target: str, high: int, engine: str) -> None:
    """Code lies in the upper half of the address space; a jump takes either form of the address, and errors name the place in the code."""
    wave, store = (64 if target == "gfx900" else 32), ("global_store_b32" if target in ("gfx1100", "gfx1200") else "global_store_dword")
    text = f"""
        s_getpc_b64 s[4:5]
        s_add_u32 s4, s4, 20
        s_addc_u32 s5, s5, 0
        s_setpc_b64 s[4:5]
        s_mov_b32 s5, 1
        s_trap 1
        v_mov_b32 v1, 0
        v_mov_b32 v2, s5
        {store} v1, v2, s[0:1]
        s_trap 2
    """
    device = Device(target, engine)
    results = device.zeros(4)
    with pytest.raises(emu.EmulationError, match="trap") as caught:
        device.run(isa.assemble(text, target), user_sgprs=words(results), wave_size=wave)
    assert results.numpy().view(U32)[0] == high
    assert caught.value.place["pc"] == 32 + (12 if target == "gfx1200" else 8)


def test_memory_begins_at_a_line_of_the_cache() -> None:
    """Rows of lanes and squares of texels are read by 64 bytes."""
    device = Device("gfx1100")
    image = device.image(format="R8G8B8A8_UNORM", width=9, height=9)
    held = [device.zeros(size).numpy() for size in (1, 5, 4096, 1 << 20)] + [device.buffer(np.arange(7, dtype=np.uint16)).numpy(), image.memory]
    assert [array.__array_interface__["data"][0] % 64 for array in held] == [0] * 6
    assert held[4].tolist() == list(range(7)) and held[4].dtype == np.uint16 and not any(array.any() for array in held[:4])
