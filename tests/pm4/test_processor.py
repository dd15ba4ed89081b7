"""The command processor: what packets do to memory, and that a stream runs a shader as a dispatch does."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case

import pyaco
from pyaco import emu, isa, pm4
from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4 import DispatchStream, Stream, packet
from pyaco.registers import registers

TARGETS = {"gfx600": 64, "gfx700": 64, "gfx900": 64, "gfx1030": 32, "gfx1100": 64, "gfx1200": 32}


def store_dword(level: int, address: int, data: int) -> str:
    """Code that stores the dword of a VGPR where s[0:1] and the offset in another VGPR point."""
    if level < 90:                          # a buffer at s[0:1], since GFX6 has no FLAT
        return f"s_mov_b64 s[4:5], s[0:1]\ns_mov_b32 s6, -1\ns_mov_b32 s7, 0x27fac\nbuffer_store_dword v{data}, v{address}, s[4:7], 0 offen"
    return f"global_store_{'b32' if level >= 110 else 'dword'} v{address}, v{data}, s[0:1]"


def contents(case: Case, target: str, wave: int, through_packets: bool) -> dict[Any, bytes]:
    """Every buffer after the case has run."""
    shader = pyaco.compile(case.spirv, target=target, wave=wave, spec=dict(case.spec))
    inputs = case.inputs()
    device = emu.Device(target)
    handles = {key: device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
    push = bytearray(inputs.push)
    for (place, offset), name in inputs.references.items():
        address = int(handles[name].address).to_bytes(8, "little")
        if place == "push":
            push[offset : offset + 8] = address
        else:
            handles[place].write(address, offset)
    bound: dict[Any, Any] = {}
    for key in sorted(key for key in handles if not isinstance(key, str)):
        if len(key) == 3:
            bound.setdefault(key[:2], []).append(handles[key])
        else:
            bound[key] = handles[key]
    if through_packets:
        with DispatchStream(device, shader, case.groups, bound, bytes(push)) as stream:
            assert len(device.submit(stream.words)) == 1
            assert "DISPATCH_DIRECT" in pm4.format_packets(pm4.parse(stream.words, device.gfx_level))
    else:
        device.dispatch(shader, case.groups, bound, bytes(push))
    return {key: handle.numpy().tobytes() for key, handle in handles.items()}


FAST = ["saxpy", "reduction", "push_constants", "descriptor_arrays", "scratch_array", "matmul_f16"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in CASES])
def test_streams_do_what_dispatches_do(name: str, target: str) -> None:
    case, wave = CASES[name], TARGETS[target]
    assert contents(case, target, wave, True) == contents(case, target, wave, False)


@pytest.fixture
def device() -> emu.Device:
    return emu.Device("gfx1030")


def low(address: int) -> tuple[int, int]:
    return address & 0xFFFFFFFF, address >> 32


def test_memory_packets(device: emu.Device) -> None:
    memory = device.zeros(256)
    words = memory.numpy().view(np.uint32)
    a = memory.address
    stream = Stream(103)
    stream.add("WRITE_DATA", 5 << 8, *low(a), 11, 22, 33)
    stream.add("COPY_DATA", 1 | 5 << 8 | 1 << 16, *low(a), *low(a + 16))
    stream.add("COPY_DATA", 5 | 5 << 8, 77, 0, *low(a + 24))
    stream.add("DMA_DATA", 0, *low(a), *low(a + 64), 12)
    stream.add("DMA_DATA", 2 << 29, 0xABCDEF01, 0, *low(a + 96), 10)
    stream.add("ATOMIC_MEM", 0x0F, *low(a), 5, 0, 0, 0, 0)
    stream.add("ATOMIC_MEM", 0x08, *low(a + 4), 99, 0, 22, 0, 0)
    stream.add("RELEASE_MEM", 0, 2 << 29, *low(a + 128), 0x55, 0x66, 0)
    device.submit(stream.words)
    assert words[:8].tolist() == [16, 99, 33, 0, 11, 22, 77, 0]
    assert words[16:19].tolist() == [11, 22, 33]
    assert words[24:28].tolist() == [0xABCDEF01, 0xABCDEF01, 0xEF01, 0]
    assert words[32:34].tolist() == [0x55, 0x66]


def test_conditions_and_predicates(device: emu.Device) -> None:
    memory = device.zeros(64)
    words = memory.numpy().view(np.uint32)
    a = memory.address
    write = packet("WRITE_DATA", 5 << 8, *low(a + 16), 1)
    stream = Stream(103)
    stream.add("COND_EXEC", *low(a), 0, len(write))
    stream.words += write
    stream.add("SET_PREDICATION", 4 << 16 | 1 << 8, *low(a))
    stream.words += packet("WRITE_DATA", 5 << 8, *low(a + 20), 1, predicated=True)
    stream.add("SET_PREDICATION", 0, 0, 0)
    stream.words += packet("WRITE_DATA", 5 << 8, *low(a + 24), 1, predicated=True)
    device.submit(stream.words)
    assert words[4:7].tolist() == [0, 0, 1]
    words[0] = 1
    device.submit(stream.words)
    assert words[4:7].tolist() == [1, 1, 1]


def test_indirect_buffers_run(device: emu.Device) -> None:
    memory = device.zeros(64)
    inner = packet("WRITE_DATA", 5 << 8, *low(memory.address), 42)
    buffer = device.buffer(np.array(inner, np.uint32))
    device.submit(packet("INDIRECT_BUFFER", *low(buffer.address), len(inner)))
    assert memory.numpy().view(np.uint32)[0] == 42


def test_indirect_dispatch_reads_its_counts(device: emu.Device) -> None:
    shader = pyaco.compile(CASES["saxpy"].spirv, target="gfx1030", wave=64)
    inputs = CASES["saxpy"].inputs()
    buffers: dict[Any, emu.Buffer] = {key: device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
    counts = device.buffer(np.array(CASES["saxpy"].groups, np.uint32))
    with DispatchStream(device, shader, (1, 1, 1), buffers, inputs.push) as stream:
        direct = pm4.parse(stream.words, 103)[-1]
        words = stream.words[: direct.place]
        words += packet("SET_BASE", 1, *low(counts.address)) + packet("DISPATCH_INDIRECT", 0, direct.body[3], compute=True)
        (report,) = device.submit(words)
    assert report.workgroups == CASES["saxpy"].groups[0]


def test_rings_wait_for_each_other(device: emu.Device) -> None:
    memory = device.zeros(64)
    a = memory.address
    first, second = pm4.Ring(device, 64), pm4.Ring(device, 64)
    first.write(packet("WAIT_REG_MEM", 3 | 1 << 4, *low(a), 7, 0xFFFFFFFF, 10) + packet("WRITE_DATA", 5 << 8, *low(a + 4), 8))
    second.write(packet("NOP", 0) + packet("WRITE_DATA", 5 << 8, *low(a), 7))
    pm4.run_rings([first, second])
    assert memory.numpy().view(np.uint32)[:2].tolist() == [7, 8]
    assert first.read_pointer == first.write_pointer
    first.write(packet("WAIT_REG_MEM", 3 | 1 << 4, *low(a), 9, 0xFFFFFFFF, 10))
    with pytest.raises(InputError, match="every queue waits"):
        pm4.run_rings([first, second])


def test_the_start_of_the_engine(device: emu.Device) -> None:
    """What the amdgpu driver puts into a ring first, as in gfx_v6_0.c and gfx_v8_0.c, and then work."""
    memory = device.zeros(16)
    begin, end = (packet("PREAMBLE_CNTL", number << 28) for number in (2, 3))
    device.submit([
        *packet("ME_INITIALIZE", 1, 0, 1, 1 << 16, 0, 0), *packet("SET_BASE", 2, 0xC000, 0xE000), *begin,
        *packet("CONTEXT_CONTROL", 1 << 31, 1 << 31), *end, *packet("CLEAR_STATE", 0), *packet("WRITE_DATA", 5 << 8, *low(memory.address), 7),
    ])  # fmt: skip
    assert memory.numpy().view(np.uint32)[0] == 7
    assert [each["COMMAND"] for each in pm4.parse([*begin, *end], device.gfx_level)] == [2, 3]


def test_hostile_streams_stop_with_a_place(device: emu.Device) -> None:
    with pytest.raises(InputError, match=r"dword 0: WRITE_DATA reaches 4 bytes at 0x10, which are not mapped"):
        device.submit(packet("WRITE_DATA", 5 << 8, 0x10, 0, 1))
    with pytest.raises(InputError, match=r"dword 0: nothing is left"):
        device.submit(packet("WAIT_REG_MEM", 3, 0, 0, 1, 1, 0))
    with pytest.raises(UnsupportedError, match="DRAW_INDEX_AUTO"):
        device.submit(packet("DRAW_INDEX_AUTO", 3, 2))
    with pytest.raises(InputError, match="nested more than 8 deep"):
        loop = device.zeros(64)
        loop.write(np.array(packet("INDIRECT_BUFFER", *low(loop.address), 4), np.uint32))
        device.submit(packet("INDIRECT_BUFFER", *low(loop.address), 4))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [False, True], ids=["groups", "threads"])
def test_partial_workgroups_and_starts(target: str, threads: bool) -> None:
    """Workgroups 1 and 2 of 8 invocations, the last of 3: each of the invocations 8 to 18 writes its number."""
    device, wave = emu.Device(target), TARGETS[target]
    level = device.gfx_level
    identity = "s_mov_b32 s2, ttmp9\n" if level >= 120 else ""
    text = identity + f"s_lshl_b32 s2, s2, 3\nv_or_b32 v2, s2, v0\nv_lshlrev_b32 v1, 2, v2\n{store_dword(level, 1, 2)}\ns_endpgm\n"
    code = np.frombuffer(isa.assemble(text, target).ljust(256, b"\0"), np.uint8).copy()
    entry = device.space.map(code, alignment=256)
    out = device.buffer(np.full(32, 99, np.uint32))
    stream = Stream(level)
    stream.set("COMPUTE_PGM_LO", entry >> 8 & 0xFFFFFFFF).set("COMPUTE_PGM_HI", entry >> 40 & 0xFF)
    stream.set("COMPUTE_PGM_RSRC2", USER_SGPR=2, TGID_X_EN=1)
    stream.set("COMPUTE_NUM_THREAD_X", NUM_THREAD_FULL=8, NUM_THREAD_PARTIAL=3)
    for axis in "YZ":
        stream.set(f"COMPUTE_NUM_THREAD_{axis}", NUM_THREAD_FULL=1, NUM_THREAD_PARTIAL=1)
    stream.set("COMPUTE_START_X", 1).set("COMPUTE_START_Y", 0).set("COMPUTE_START_Z", 0)
    stream.write(registers(level)["COMPUTE_USER_DATA_0"].offset, *low(out.address))
    wave32 = {"CS_W32_EN": 1} if wave == 32 else {}
    initiator = registers(level)["COMPUTE_DISPATCH_INITIATOR"].encode(
        COMPUTE_SHADER_EN=1, PARTIAL_TG_EN=1, USE_THREAD_DIMENSIONS=int(threads), **wave32)
    stream.add("DISPATCH_DIRECT", 19 if threads else 3, 1, 1, initiator, compute=True)
    (report,) = device.submit(stream.words)
    assert report.workgroups == 2
    assert out.numpy().tolist() == [k if 8 <= k < 19 else 99 for k in range(32)]


# LLVM's "User Guide for AMDGPU Backend", "Initial Kernel Execution State": work-item ids are packed from gfx90a and gfx1100 on.
PACKED_IDS = {
    "gfx600": False, "gfx700": False, "gfx900": False, "gfx942": True, "gfx1010": False, "gfx1030": False, "gfx1100": True, "gfx1150": True,
    "gfx1200": True,
}  # fmt: skip


@pytest.mark.parametrize(("target", "packed"), PACKED_IDS.items())
def test_local_ids_at_the_start(target: str, packed: bool) -> None:
    """A workgroup of 4 x 2 x 2: what v0 holds, by lane, where packets dispatch and where ``Device.run`` does."""
    device = emu.Device(target)
    level = device.gfx_level
    text = f"v_mbcnt_lo_u32_b32 v3, -1, 0\nv_lshlrev_b32 v3, 2, v3\n{store_dword(level, 3, 0)}\ns_endpgm\n"
    code = isa.assemble(text, target, wave_size=64)
    out = device.buffer(np.zeros(16, np.uint32))
    expected = [x | (y << 10 | z << 20 if packed else 0) for z in range(2) for y in range(2) for x in range(4)]
    device.run(code, workgroup_size=(4, 2, 2), user_sgprs=low(out.address), wave_size=64)
    assert out.numpy().tolist() == expected
    out.numpy()[:] = 0
    entry = device.space.map(np.frombuffer(code.ljust(256, b"\0"), np.uint8).copy(), alignment=256)
    stream = Stream(level)
    stream.set("COMPUTE_PGM_LO", entry >> 8 & 0xFFFFFFFF).set("COMPUTE_PGM_HI", entry >> 40 & 0xFF)
    stream.set("COMPUTE_PGM_RSRC2", USER_SGPR=2, TIDIG_COMP_CNT=2)
    for axis, size in zip("XYZ", (4, 2, 2), strict=True):
        stream.set(f"COMPUTE_NUM_THREAD_{axis}", NUM_THREAD_FULL=size)
    stream.write(registers(level)["COMPUTE_USER_DATA_0"].offset, *low(out.address))
    initiator = registers(level)["COMPUTE_DISPATCH_INITIATOR"].encode(COMPUTE_SHADER_EN=1, FORCE_START_AT_000=1)
    stream.add("DISPATCH_DIRECT", 1, 1, 1, initiator, compute=True)
    device.submit(stream.words)
    assert out.numpy().tolist() == expected


def test_a_device_loads_pm4_for_its_first_stream() -> None:
    code = "import sys; from pyaco import emu; device = emu.Device('gfx1030'); assert 'pyaco.pm4' not in sys.modules; assert device.submit([]) == []"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert pm4.submit(emu.Device("gfx1030"), packet("NOP", 0)) == []
