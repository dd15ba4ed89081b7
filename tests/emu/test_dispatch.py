"""Whole kernels through ``Device.dispatch`` and ``Device.run``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from machine_code import Assemble

from pyaco import emu, isa
from pyaco.emu.device import ENGINES
from pyaco.errors import InputError, UnsupportedError

SAXPY = {
    # s0: descriptor set 0, s1: push constants, s2: workgroup id
    "gfx1100": """
        s_mov_b32 s4, s0
        s_mov_b32 s5, 0xffff8000
        s_mov_b32 s6, s1
        s_mov_b32 s7, 0xffff8000
        s_load_b128 s[8:11], s[4:5], 0x0
        s_load_b128 s[12:15], s[4:5], 0x10
        s_load_b32 s3, s[6:7], 0x0
        v_and_b32 v0, 0x3ff, v0
        v_lshl_add_u32 v0, s2, 6, v0
        v_lshlrev_b32 v0, 2, v0
        s_waitcnt lgkmcnt(0)
        buffer_load_b32 v1, v0, s[8:11], 0 offen
        buffer_load_b32 v2, v0, s[12:15], 0 offen
        s_waitcnt vmcnt(0)
        v_fmac_f32 v2, s3, v1
        buffer_store_b32 v2, v0, s[12:15], 0 offen
        s_endpgm
    """,
    "gfx1030": """
        s_mov_b32 s4, s0
        s_mov_b32 s5, 0xffff8000
        s_mov_b32 s6, s1
        s_mov_b32 s7, 0xffff8000
        s_load_dwordx4 s[8:11], s[4:5], 0x0
        s_load_dwordx4 s[12:15], s[4:5], 0x10
        s_load_dword s3, s[6:7], 0x0
        v_lshl_add_u32 v0, s2, 6, v0
        v_lshlrev_b32 v0, 2, v0
        s_waitcnt lgkmcnt(0)
        buffer_load_dword v1, v0, s[8:11], 0 offen
        buffer_load_dword v2, v0, s[12:15], 0 offen
        s_waitcnt vmcnt(0)
        v_fmac_f32 v2, s3, v1
        buffer_store_dword v2, v0, s[12:15], 0 offen
        s_endpgm
    """,
    "gfx900": """
        s_mov_b32 s4, s0
        s_mov_b32 s5, 0xffff8000
        s_mov_b32 s6, s1
        s_mov_b32 s7, 0xffff8000
        s_load_dwordx4 s[8:11], s[4:5], 0x0
        s_load_dwordx4 s[12:15], s[4:5], 0x10
        s_load_dword s3, s[6:7], 0x0
        v_lshl_add_u32 v0, s2, 6, v0
        v_lshlrev_b32 v0, 2, v0
        s_waitcnt lgkmcnt(0)
        buffer_load_dword v1, v0, s[8:11], 0 offen
        buffer_load_dword v2, v0, s[12:15], 0 offen
        s_waitcnt vmcnt(0)
        v_fma_f32 v2, s3, v1, v2
        buffer_store_dword v2, v0, s[12:15], 0 offen
        s_endpgm
    """,
    "gfx1200": """
        s_mov_b32 s4, s0
        s_mov_b32 s5, 0xffff8000
        s_mov_b32 s6, s1
        s_mov_b32 s7, 0xffff8000
        s_mov_b32 s2, ttmp9
        s_load_b128 s[8:11], s[4:5], 0x0
        s_load_b128 s[12:15], s[4:5], 0x10
        s_load_b32 s3, s[6:7], 0x0
        v_and_b32 v0, 0x3ff, v0
        v_lshl_add_u32 v0, s2, 6, v0
        v_lshlrev_b32 v0, 2, v0
        s_wait_kmcnt 0x0
        buffer_load_b32 v1, v0, s[8:11], null offen
        buffer_load_b32 v2, v0, s[12:15], null offen
        s_wait_loadcnt 0x0
        v_fmac_f32 v2, s3, v1
        buffer_store_b32 v2, v0, s[12:15], null offen
        s_endpgm
    """,
}


def shader(code: bytes, **changes: Any) -> SimpleNamespace:
    abi = {
        "user_sgprs": [
            {"kind": "descriptor_set", "first": 0, "count": 1, "set": 0},
            {"kind": "push_constants", "first": 1, "count": 1},
        ],
        "user_sgpr_count": 2, "workgroup_id_mask": 1, "scratch_wave_offset": False, "local_id_components": 1,
        "wave_size": 32, "workgroup_size": [64, 1, 1], "float_mode": 0xC0, "lds_bytes": 0, "scratch_bytes_per_lane": 0,
        "num_sgprs": 16, "num_vgprs": 8, "push_constant_bytes": 4, "address32_hi": 0xFFFF8000,
        "descriptor_sets": {0: {"size": 32, "bindings": {
            0: {"offset": 0, "stride": 16, "count": 1, "type": "storage_buffer"},
            1: {"offset": 16, "stride": 16, "count": 1, "type": "storage_buffer"}}}},
    }  # fmt: skip
    return SimpleNamespace(code=code, constant_data=b"", abi=abi | changes)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("target", "wave"), [("gfx1100", 32), ("gfx1100", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx900", 64), ("gfx1200", 32)]
)
def test_saxpy(assemble: Assemble, target: str, wave: int, engine: str) -> None:
    """y = a x + y over more elements than threads; stores past the end are dropped by the descriptor."""
    device = emu.Device(target, engine)
    rng = numpy.random.default_rng(7)
    x = rng.standard_normal(300).astype(numpy.float32)
    y = rng.standard_normal(300).astype(numpy.float32)
    x_buffer, y_buffer = device.buffer(x), device.buffer(y)
    program = shader(assemble(SAXPY[target], target, wave), wave_size=wave)
    push = numpy.float32(2.5).tobytes()
    report = device.dispatch(program, groups=(5, 1, 1), buffers={(0, 0): x_buffer, (0, 1): y_buffer}, push=push)
    expected = (numpy.float64(2.5) * x + y).astype(numpy.float32)
    assert numpy.array_equal(y_buffer.numpy(), expected)
    assert numpy.array_equal(x_buffer.numpy(), x)
    assert report.workgroups == 5 and report.waves == 5 * 64 // wave
    assert report.units["vmem"] == 3 * report.waves
    assert report.lane_units["vmem"] == 3 * 5 * 64


@pytest.mark.parametrize("engine", ENGINES)
def test_same_result_every_time(assemble: Assemble, engine: str) -> None:
    device = emu.Device("gfx1100", engine)
    program = shader(assemble(SAXPY["gfx1100"], "gfx1100"))
    counts = []
    for _ in range(2):
        x, y = device.buffer(numpy.ones(320, numpy.float32)), device.buffer(numpy.ones(320, numpy.float32))
        report = device.dispatch(program, (5, 1, 1), {(0, 0): x, (0, 1): y}, bytes(4))
        counts.append((report.instructions, report.opcodes, y.numpy().tobytes()))
    assert counts[0] == counts[1]


def test_bad_arguments(assemble: Assemble) -> None:
    device = emu.Device("gfx1100")
    program = shader(assemble("s_endpgm", "gfx1100"))
    for key in ((-1, 0), (32, 0), (0, -1), (0, 1 << 32)):
        with pytest.raises(InputError, match=rf"binding {key[1]} of descriptor set {key[0]}: .* sets 0 to 31"):
            device.dispatch(program, buffers={key: device.zeros(4)})
    with pytest.raises(InputError, match="260 bytes of push constants: a pipeline has up to 256"):
        device.dispatch(program, push=bytes(260))
    with pytest.raises(InputError, match="groups"):
        device.dispatch(program, groups=(1, 2, 3, 4))
    with pytest.raises(InputError, match="invocations"):
        device.run(program.code, workgroup_size=(2048,))
    with pytest.raises(InputError, match="machine code"):
        device.run(b"abc")
    with pytest.raises(UnsupportedError, match="engine"):
        emu.Device("gfx1100", engine="warp")


@pytest.mark.parametrize("engine", ENGINES)
def test_null_bindings(assemble: Assemble, engine: str) -> None:
    """A binding without a buffer loads zeros and drops stores."""
    device = emu.Device("gfx1100", engine)
    x = device.buffer(numpy.full(64, 3, numpy.float32))
    y = device.buffer(numpy.full(64, 5, numpy.float32))
    program = shader(assemble(SAXPY["gfx1100"], "gfx1100"))
    push = numpy.float32(2).tobytes()
    device.dispatch(program, buffers={(0, 1): y}, push=push)
    assert (y.numpy() == 5).all()
    device.dispatch(program, buffers={(0, 0): None, (0, 1): y, (0, 7): None, (2, 0): None}, push=push)
    assert (y.numpy() == 5).all()
    device.dispatch(program, buffers={(0, 0): x}, push=push)
    assert (x.numpy() == 3).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_more_than_the_shader_uses(assemble: Assemble, engine: str) -> None:
    """As in Vulkan: bindings that the shader does not have change nothing, and push constants beyond its block are not read."""
    device = emu.Device("gfx1100", engine)
    x, y, other = (device.buffer(numpy.full(64, value, numpy.float32)) for value in (3, 5, 7))
    program = shader(assemble(SAXPY["gfx1100"], "gfx1100"))
    push = numpy.array([2, 77] + [88] * 62, numpy.float32).tobytes()
    bound: dict[tuple[int, int], Any] = {(0, 0): x, (0, 1): y, (0, 7): other, (2, 0): [other, other], (31, 0xFFFFFFFF): b"1234", (3, 3): None}
    report = device.dispatch(program, buffers=bound, push=push)
    assert (y.numpy() == 11).all() and (x.numpy() == 3).all() and (other.numpy() == 7).all()
    assert report.unused_bindings == ((0, 7), (2, 0), (31, 0xFFFFFFFF))
    assert report.to_dict()["unused_bindings"] == [[0, 7], [2, 0], [31, 0xFFFFFFFF]]
    plain = device.dispatch(program, buffers={(0, 0): x, (0, 1): y}, push=push)
    assert plain.unused_bindings == () and "unused_bindings" not in plain.to_dict()


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(("target", "shift", "others"), [("gfx1010", 6, 0), ("gfx1030", 20, 6), ("gfx1100", 20, 6)])
def test_word_of_the_workgroup_has_the_number_of_each_wave(target: str, shift: int, others: int, engine: str) -> None:
    # From RDNA2 on, drivers take the wave's number from bits 20 to 24 (Mesa: ac_nir_lower_intrinsics_to_args.c); before, from 6 to 11.
    device = emu.Device(target, engine)
    out = device.buffer(numpy.zeros(96, numpy.uint32))
    packed = "v_and_b32 v0, 0x3ff, v0\n" if target == "gfx1100" else ""
    store = "global_store_b32" if target == "gfx1100" else "global_store_dword"
    code = isa.assemble(f"{packed}v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, s2\n{store} v1, v2, s[0:1]\ns_endpgm\n", target)
    address = int(out.address)
    device.run(code, workgroup_size=(96, 1, 1), user_sgprs=[address & 0xFFFFFFFF, address >> 32], wave_size=32, workgroup_info=True)
    words = out.numpy().view(numpy.uint32)[::32]
    assert [int(word) >> shift & 31 for word in words] == [0, 1, 2]
    assert [int(word) & 63 for word in words] == [3, 3, 3] and [int(word) >> 31 for word in words] == [1, 0, 0]
    assert not others or [int(word) >> others & 31 for word in words] == [0, 1, 2]
