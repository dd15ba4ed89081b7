"""LDS of a workgroup by chip: what a launch may ask for, and how COMPUTE_PGM_RSRC2 says it."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pyaco import isa
from pyaco.binary import KernelDescriptor
from pyaco.emu import Device
from pyaco.emu.hsa import DispatchPacket
from pyaco.errors import InputError
from pyaco.isa.processors import processor, processors
from pyaco.pm4 import launch
from pyaco.registers import registers
from pyaco.registers.database import LEVELS
from pyaco.targets import lds_limits

CLANG = next((path for path in map(shutil.which, ("clang-22", "clang")) if path), None)
READ = "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v0, v2, s[0:1]\ns_endpgm"
WRITE = "v_mov_b32 v0, 0\nv_mov_b32 v1, {}\nv_mov_b32 v3, 7\nds_write_b32 v1, v3\ns_waitcnt lgkmcnt(0)\n"


@pytest.mark.parametrize(("target", "limit", "granule"), [
    ("gfx600", 32768, 256), ("gfx700", 65536, 512), ("gfx803", 65536, 512), ("gfx900", 65536, 512), ("gfx942", 65536, 512),
    ("gfx950", 163840, 1280), ("gfx1010", 65536, 512), ("gfx1100", 65536, 512), ("gfx1201", 65536, 512),
])  # fmt: skip
def test_documented_sizes(target: str, limit: int, granule: int) -> None:
    """FeatureAddressableLocalMemorySize and GRANULATED_LDS_SIZE of LLVM."""
    limits = lds_limits(processor(target)[1])
    assert (limits.limit, limits.encoding_granule) == (limit, granule)
    assert limits.decode(limits.encode(limit)) == limit
    assert limits.encode(1) == 1 and limits.encode(0) == 0 and limits.encode(granule + 1) == 2


#: Processors that clang 22 does not know.
NEWER = {"gfx1154", "gfx1170", "gfx1171", "gfx1172", "gfx1310"}


@pytest.mark.oracle
@pytest.mark.parametrize("target", [target for target in processors() if target not in NEWER])
def test_clang_agrees(target: str, tmp_path: Path) -> None:
    """A kernel with as much LDS as the table says compiles; with a byte more clang refuses it."""
    if CLANG is None:
        pytest.skip("clang is not installed")
    limit = lds_limits(processor(target)[1]).limit
    for size in (limit, limit + 1):
        source = f"kernel void k(global char *p) {{ local char big[{size}]; big[p[1]] = 1; barrier(1); *p = big[p[2]]; }}"
        command = [CLANG, "-x", "cl", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-w", "-c", "-", "-o", str(tmp_path / "k.o")]
        done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
        assert (done.returncode == 0) == (size == limit), done.stderr.decode()
        assert size == limit or b"exceeds limit" in done.stderr


@pytest.mark.parametrize("engine", ["reference", "fast", "inspecting"])
@pytest.mark.parametrize(("target", "wave"), [("gfx803", 64), ("gfx950", 64), ("gfx1100", 32)])
def test_all_of_it_is_there(engine: str, target: str, wave: int) -> None:
    """The last dword can be written and read; a launch with more is refused."""
    device = Device(target, profile=True) if engine == "inspecting" else Device(target, engine)
    limit = lds_limits(processor(target)[1]).limit
    text = WRITE.format(limit - 4) + READ
    if target == "gfx1100":
        text = text.replace("ds_write", "ds_store").replace("ds_read", "ds_load").replace("store_dword", "store_b32")
    if target == "gfx803":
        text = "s_mov_b32 m0, -1\n" + text.replace("global_store_dword v0, v2, s[0:1]",
                                                  "v_mov_b32 v4, s0\nv_mov_b32 v5, s1\nflat_store_dword v[4:5], v2")  # fmt: skip
    result = device.zeros(4)
    code = isa.assemble(text, target, wave_size=wave)
    user = [result.address & 0xFFFFFFFF, result.address >> 32]
    report = device.run(code, workgroup_size=(1, 1, 1), user_sgprs=user, wave_size=wave, lds_bytes=limit)
    assert report.lds_out_of_bounds == 0
    assert result.numpy().view(np.uint32)[0] == 7
    with pytest.raises(InputError, match=f"{limit + 1} bytes of LDS: a workgroup of {target} has up to {limit}"):
        device.run(code, user_sgprs=user, wave_size=wave, lds_bytes=limit + 1)


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_loads_to_lds_reach_all_of_it(engine: str) -> None:
    """CDNA 4: m0 names a place beyond 64 KiB."""
    device = Device("gfx950", engine)
    memory = device.buffer(np.array([41, 42], np.uint32))
    text = ("v_mov_b32 v0, 0\ns_mov_b32 m0, 0x20000\nglobal_load_lds_dword v0, s[0:1]\ns_waitcnt vmcnt(0)\nv_mov_b32 v1, 0x20000\n"
            "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v0, v2, s[0:1] offset:4\ns_endpgm")  # fmt: skip
    user = [memory.address & 0xFFFFFFFF, memory.address >> 32]
    device.run(isa.assemble(text, "gfx950", wave_size=64), workgroup_size=(1, 1, 1), user_sgprs=user, wave_size=64, lds_bytes=163840)
    assert list(memory.numpy()) == [41, 41]


@pytest.mark.parametrize(("target", "asked", "given"), [("gfx950", 65537, 66560), ("gfx950", 163840, 163840), ("gfx942", 513, 1024)])
def test_packets(target: str, asked: int, given: int) -> None:
    """An AQL packet's LDS is rounded to the granule: the dword before `given` is there, the next is not."""
    device = Device(target)
    descriptor = KernelDescriptor(group_segment_fixed_size=asked, entry_offset=256, kernarg_size=8, rsrc2=2 << 1, properties=1 << 3)
    arguments = device.buffer(struct.pack("<Q", 0))
    code = isa.assemble(WRITE.format(given - 4) + "ds_write_b32 v1, v3 offset:4\ns_endpgm", target, wave_size=64)
    memory = np.zeros(256 + len(code), np.uint8)
    memory[:64] = np.frombuffer(descriptor.to_bytes(), np.uint8)
    memory[256:] = np.frombuffer(code, np.uint8)
    packet = DispatchPacket((1, 1, 1), (1, 1, 1), device.space.map(memory, alignment=256), arguments.address)
    assert device.dispatch_packet(packet).lds_out_of_bounds == 1


@pytest.mark.parametrize("level", sorted(set(LEVELS) - {60, 70, 81}))
def test_registers(level: int) -> None:
    """LDS_SIZE of a command stream."""
    limits = lds_limits(level)
    register = registers(level)["COMPUTE_PGM_RSRC2"]
    written = {register.offset: register.encode(LDS_SIZE=limits.encode(limits.limit - 1))}
    for axis in "XYZ":
        known = registers(level)[f"COMPUTE_NUM_THREAD_{axis}"]
        written[known.offset] = known.encode(NUM_THREAD_FULL=1)
    start = registers(level)["COMPUTE_DISPATCH_INITIATOR"].encode(COMPUTE_SHADER_EN=1)
    found = launch.launch_from_registers(level, written, (1, 1, 1), start)
    assert found is not None and found.lds_bytes == limits.limit
