"""The sandbox: whatever memory instruction strays stops the dispatch with its place, and nothing outside the buffers is touched.

The stray lane is the only one that leaves the buffer; the buffer lies between two others whose contents must stay, and the device's
memory is a list of host arrays with canaries around them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pyaco import emu, isa
from pyaco.emu import Device

LANE = 5
ENGINES = ("reference", "fast", "inspecting")
TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
BYTES = 4096
# s[0:1] buffer, s[4:7] a descriptor of twice its size, s[8:9] an address far away; v0 offset in the buffer, v[2:3] address in it: lane 5's
# lies behind the buffer's end; v[10:13] data
VECTOR = {
    "load": ("global_load_dword v20, v0, s[0:1]", "global_load_b32 v20, v0, s[0:1]"),
    "load x4": ("global_load_dwordx4 v[20:23], v0, s[0:1]", "global_load_b128 v[20:23], v0, s[0:1]"),
    "load byte": ("global_load_ubyte v20, v0, s[0:1]", "global_load_u8 v20, v0, s[0:1]"),
    "load d16": ("global_load_short_d16_hi v20, v0, s[0:1]", "global_load_d16_hi_b16 v20, v0, s[0:1]"),
    "load by address": ("global_load_dword v20, v[2:3], off", "global_load_b32 v20, v[2:3], off"),
    "store": ("global_store_dword v0, v10, s[0:1]", "global_store_b32 v0, v10, s[0:1]"),
    "store x4": ("global_store_dwordx4 v0, v[10:13], s[0:1]", "global_store_b128 v0, v[10:13], s[0:1]"),
    "store byte": ("global_store_byte v0, v10, s[0:1]", "global_store_b8 v0, v10, s[0:1]"),
    "atomic": ("global_atomic_add v0, v10, s[0:1]", "global_atomic_add_u32 v0, v10, s[0:1]"),
    "atomic x2": ("global_atomic_cmpswap_x2 v0, v[10:13], s[0:1]", "global_atomic_cmpswap_b64 v0, v[10:13], s[0:1]"),
    "flat load": ("flat_load_dwordx2 v[20:21], v[2:3]", "flat_load_b64 v[20:21], v[2:3]"),
    "flat store": ("flat_store_dword v[2:3], v10", "flat_store_b32 v[2:3], v10"),
    "flat atomic": ("flat_atomic_swap v[2:3], v10", "flat_atomic_swap_b32 v[2:3], v10"),
    "buffer load": ("buffer_load_dword v20, v0, s[4:7], 0 offen", "buffer_load_b32 v20, v0, s[4:7], 0 offen"),
    "buffer load x3": ("buffer_load_dwordx3 v[20:22], v0, s[4:7], 0 offen", "buffer_load_b96 v[20:22], v0, s[4:7], 0 offen"),
    "buffer store": ("buffer_store_dword v10, v0, s[4:7], 0 offen", "buffer_store_b32 v10, v0, s[4:7], 0 offen"),
    "buffer store short": ("buffer_store_short v10, v0, s[4:7], 0 offen", "buffer_store_b16 v10, v0, s[4:7], 0 offen"),
    "buffer atomic": ("buffer_atomic_umax v10, v0, s[4:7], 0 offen", "buffer_atomic_max_u32 v10, v0, s[4:7], 0 offen"),
    "buffer load format": ("buffer_load_format_xy v[20:21], v0, s[4:7], 0 offen", "buffer_load_format_xy v[20:21], v0, s[4:7], 0 offen"),
    "buffer store format": ("buffer_store_format_x v10, v0, s[4:7], 0 offen", "buffer_store_format_x v10, v0, s[4:7], 0 offen"),
}  # fmt: skip
SCALAR = {
    "scalar load": ("s_load_dword s20, s[8:9], 0x0", "s_load_b32 s20, s[8:9], 0x0"),
    "scalar load x16": ("s_load_dwordx16 s[20:35], s[8:9], 0x0", "s_load_b512 s[20:35], s[8:9], 0x0"),
    "scalar buffer load": ("s_buffer_load_dwordx4 s[20:23], s[12:15], 0x1000", "s_buffer_load_b128 s[20:23], s[12:15], 0x1000"),
}  # fmt: skip
STORES = ("store", "atomic", "swap", "max")


def spelled(pair: tuple[str, str], target: str) -> str:
    text = pair[0] if target < "gfx11" or target == "gfx900" else pair[1]
    return text.replace(", 0 offen", ", null offen") if target == "gfx1200" else text


class Room:
    """A device whose buffer lies between two others, all three on canaries of the host."""

    def __init__(self, target: str, engine: str) -> None:
        watch = {"profile": True} if engine == "inspecting" else {"engine": engine}
        self.device = Device(target, **watch)
        self.host = [np.full(3 * BYTES, 0xA5, np.uint8) for _ in range(3)]
        self.addresses = [self.device.space.map(host[BYTES : 2 * BYTES]) for host in self.host]

    def untouched(self) -> bool:
        """Whether only the middle buffer may have changed."""
        outside = [*(self.host[place] for place in (0, 2)), self.host[1][:BYTES], self.host[1][2 * BYTES :]]
        return all((part == 0xA5).all() for part in outside)

    def run(self, text: str, waves: int = 1, **options: Any) -> emu.Report:
        target = self.device.target
        middle = self.addresses[1]
        records = 2 * BYTES
        word3 = {90: 0x00024FAC, 103: 0x31016FAC, 110: 0x31016FAC, 120: 0x31016FAC}[self.device.gfx_level]
        start = f"""
            s_mov_b32 s4, s0
            s_mov_b32 s5, s1
            s_mov_b32 s6, {records}
            s_mov_b32 s7, {word3:#x}
            s_mov_b32 s12, s0
            s_mov_b32 s13, s1
            s_mov_b32 s14, {records}
            s_mov_b32 s15, {word3:#x}
            s_add_u32 s8, s0, {BYTES}
            s_addc_u32 s9, s1, 0
            v_and_b32 v1, 0x3ff, v0
            v_lshlrev_b32 v0, 4, v1
            v_mov_b32 v4, {BYTES}
            v_cmp_eq_u32 vcc{'_lo' if target != 'gfx900' else ''}, {LANE}, v1
            v_cndmask_b32 v0, v0, v4, vcc{'_lo' if target != 'gfx900' else ''}
            v_mov_b32 v3, s1
            v_add_{'u32' if target == 'gfx900' else 'nc_u32'} v2, s0, v0
            v_mov_b32 v10, 1
            v_mov_b32 v11, 2
            v_mov_b32 v12, 3
            v_mov_b32 v13, 4
        """
        code = isa.assemble(start + text + "\ns_endpgm", target)
        wave = 64 if target == "gfx900" else 32
        return self.device.run(
            code, (1, 1, 1), (wave * waves, 1, 1), user_sgprs=[middle & 0xFFFFFFFF, middle >> 32], wave_size=wave, local_id_components=1, **options
        )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", VECTOR)
def test_vector(name: str, target: str, engine: str) -> None:
    room = Room(target, engine)
    text = spelled(VECTOR[name], target)
    with pytest.raises(emu.MemoryFault) as caught:
        room.run("s_nop 0\n" + text)
    place = caught.value.place
    assert (place["workgroup"], place["wave"], place["lane"], place["address"]) == ((0, 0, 0), 0, LANE, room.addresses[1] + BYTES)
    assert place["store"] == any(word in text for word in STORES)
    mnemonic = text.split()[0]
    message = str(caught.value)
    assert mnemonic in message and f"{place['address']:#x}" in message and f"lane {LANE}" in message and f"pc {place['pc']:#x}" in message
    assert room.untouched()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SCALAR)
def test_scalar(name: str, target: str, engine: str) -> None:
    room = Room(target, engine)
    text = spelled(SCALAR[name], target)
    with pytest.raises(emu.MemoryFault, match=text.split()[0]) as caught:
        room.run(text)
    assert caught.value.place["address"] == room.addresses[1] + BYTES and not caught.value.place["store"]
    assert room.untouched()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("text", "store"), [("s_store_dword s4, s[8:9], 0x0", True), ("s_atomic_add s4, s[8:9], 0x0", True)])
def test_scalar_stores(text: str, store: bool, engine: str) -> None:
    room = Room("gfx900", engine)
    with pytest.raises(emu.MemoryFault) as caught:
        room.run(text)
    assert caught.value.place["store"] == store and room.untouched()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("offset", [64, -4, 0x7FFFFFFC, -0x80000000])
def test_scratch(offset: int, target: str, engine: str) -> None:
    room = Room(target, engine)
    old = target in ("gfx900", "gfx1030")
    text = f"v_mov_b32 v5, {offset & 0xFFFFFFFF:#x}\n" + ("scratch_store_dword v5, v10, off" if old else "scratch_store_b32 v5, v10, off")
    with pytest.raises(emu.MemoryFault, match="scratch_store"):
        room.run(text, scratch_bytes_per_lane=64)
    assert room.untouched()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
def test_lds_has_its_own_rule(target: str, engine: str) -> None:
    """Out of range loads give zero and stores are dropped; the workgroup's LDS is an array of the host too."""
    room = Room(target, engine)
    old = target in ("gfx900", "gfx1030")
    write, read = ("ds_write_b32", "ds_read_b32") if old else ("ds_store_b32", "ds_load_b32")
    wait = "s_wait_dscnt 0" if target == "gfx1200" else "s_waitcnt lgkmcnt(0)"
    store = "global_store_dword" if old else "global_store_b32"
    offsets = [256, 65532, 0x7FFFFFFC, 0xFFFFFFFC]
    body = "\n".join(f"v_mov_b32 v5, {offset:#x}\n{write} v5, v10\n{read} v6, v5\n{wait}\nv_or_b32 v7, v7, v6" for offset in offsets)
    room.run(f"v_mov_b32 v7, 0\n{body}\nv_mov_b32 v0, 0\n{store} v0, v7, s[0:1]", lds_bytes=256)
    assert not room.host[1][BYTES : BYTES + 4].any() and room.untouched()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("address", [0, 8, 0xFFFFFFFFFFFFFFF8, 0x00007FFFFFFFFFFC, 0x8000000000000000, "host"])
def test_wild_addresses(address: int | str, target: str, engine: str) -> None:
    """Null, the ends of the address space, and where the host itself has its memory."""
    room = Room(target, engine)
    if isinstance(address, str):
        address = room.host[0].ctypes.data
    old = target in ("gfx900", "gfx1030")
    for store, text in itertools.product((False, True), ("flat", "global")):
        operation = f"{text}_{'store' if store else 'load'}_{'dword' if old else 'b32'}"
        operands = ("v[20:21], v10" if store else "v22, v[20:21]") + ("" if text == "flat" else ", off")
        with pytest.raises(emu.MemoryFault):
            room.run(f"v_mov_b32 v20, {address & 0xFFFFFFFF:#x}\nv_mov_b32 v21, {address >> 32:#x}\n{operation} {operands}")
        assert room.untouched()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("far", [0x1000, 0x12345678, 0xFFFF0000])
def test_jumps_outside(far: int, target: str, engine: str) -> None:
    """A pc outside of memory, or in a buffer's zeros, stops the dispatch."""
    room = Room(target, engine)
    with pytest.raises((emu.EmulationError, emu.BudgetError)):
        room.run(f"s_mov_b32 s20, {far:#x}\ns_mov_b32 s21, 0\ns_setpc_b64 s[20:21]", budget=10000)
    assert room.untouched()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
def test_budget(target: str, engine: str) -> None:
    room = Room(target, engine)
    with pytest.raises(emu.BudgetError) as caught:
        room.run("loop:\ns_branch loop", budget=5000)
    assert caught.value.place["wave"] == 0 and "5000 instructions" in str(caught.value)
