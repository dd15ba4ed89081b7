"""MODE's FP16_OVFL: halves and 8-bit floats that overflow become the largest number; loads to LDS; V_INTERP of registers."""

from __future__ import annotations

import numpy as np
import pytest
from machine_code import assemble_text

from pyaco import isa
from pyaco.emu import Device

HALF, LARGEST, INFINITY = 0x7BFF, 0x7BFF, 0x7C00
#: Text, the result in v3's low half or byte as MODE says by default, and with FP16_OVFL.
OVERFLOWS = [
    ("v_add_f16 v3, v1, v1", INFINITY, LARGEST),
    ("v_mul_f16 v3, v1, v2", 0xFC00, 0xFBFF),
    ("v_add_f16 v3, v4, v1", INFINITY, INFINITY),           # an infinity stays one
    ("v_cvt_f16_f32 v3, v5", INFINITY, LARGEST),
    ("v_pk_add_f16 v3, v1, v1", INFINITY, LARGEST),
    ("v_pk_fma_f16 v3, v1, v1, v1", INFINITY, LARGEST),
]
SMALL = {
    "gfx942": [("v_cvt_pk_fp8_f32 v3, v5, v6", 0x4080, 0x407F), ("v_cvt_pk_bf8_f32 v3, v5, v6", 0x4080, 0x407F)],
    "gfx1200": [("v_cvt_pk_fp8_f32 v3, v5, v6", 0x387F, 0x387E), ("v_cvt_pk_bf8_f32 v3, v5, v6", 0x3C7C, 0x3C7B)],
}
PLACE = {"gfx900": "global_store_dword", "gfx942": "global_store_dword", "gfx1030": "global_store_dword"}


def half_of(target: str, text: str, saturate: bool) -> int:
    names = {1: HALF, 2: 0xC400, 4: INFINITY, 5: 0x49742400, 6: 0x3F800000}     # 65504, -4, infinity, 1e6, 1
    lines = [f"v_mov_b32 v{register}, {value:#x}" for register, value in names.items()]
    lines += ["v_mov_b32 v3, 0", f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), {int(saturate)}", text, "v_mov_b32 v0, 0"]
    lines += [f"{PLACE.get(target, 'global_store_b32')} v0, v3, s[0:1]", "s_endpgm"]
    device = Device(target, "reference")
    result = device.zeros(4)
    wave = 64 if target in ("gfx900", "gfx942") else 32
    code = assemble_text("\n".join(lines), target, wave)
    device.run(code, (1, 1, 1), (1, 1, 1), user_sgprs=[result.address & 0xFFFFFFFF, result.address >> 32], wave_size=wave)
    return int(result.numpy().view(np.uint16)[0])


@pytest.mark.parametrize("target", ["gfx900", "gfx942", "gfx1030", "gfx1200"])
def test_overflow_mode(target: str) -> None:
    for text, plain, saturated in OVERFLOWS + SMALL.get(target, []):
        assert half_of(target, text, False) == plain, text
        assert half_of(target, text, True) == saturated, text


LDS_TARGETS = ("gfx942", "gfx950")
LDS_LOADS = {"dword": np.uint32, "ubyte": np.uint8, "sbyte": np.int8, "ushort": np.uint16, "sshort": np.int16}


@pytest.mark.parametrize("target", LDS_TARGETS)
@pytest.mark.parametrize("family", ["global", "scratch"])
@pytest.mark.parametrize("name", LDS_LOADS)
def test_loads_to_lds(name: str, family: str, target: str) -> None:
    """A dword of LDS for each lane, from m0 and the offset on, which the address has too."""
    device = Device(target, "reference")
    source, result = device.buffer(np.arange(512, dtype=np.uint8) ^ 0x80), device.zeros(256)
    fill = "global_load_dword v4, v1, s[0:1] offset:16\ns_waitcnt vmcnt(0)\nv_mov_b32 v5, 0\nscratch_store_dword v5, v4, off offset:16"
    load = "v1, s[0:1]" if family == "global" else "v5, off"
    code = assemble_text(f"""
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        s_mov_b32 m0, 64
        {fill}
        s_waitcnt vmcnt(0)
        {family}_load_lds_{name} {load} offset:16
        s_waitcnt vmcnt(0)
        ds_read_b32 v2, v1 offset:80
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v2, s[2:3]
        s_endpgm""", target)  # fmt: skip
    user = [word for buffer in (source, result) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    device.run(code, (1, 1, 1), (64, 1, 1), user_sgprs=user, wave_size=64, lds_bytes=1024, scratch_bytes_per_lane=64)
    kind = np.dtype(LDS_LOADS[name])
    wanted = [int(source.numpy()[at : at + kind.itemsize].view(kind)[0]) & 0xFFFFFFFF for at in range(16, 272, 4)]
    assert [int(word) for word in result.numpy().view(np.uint32)] == wanted


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100"])
def test_formatted_loads_to_lds(target: str, engine: str) -> None:
    """The first component of each texel, converted: normalized bytes, of which the descriptor puts the second one first."""
    device = Device(target, engine, 1)
    texels = np.random.default_rng(12).integers(0, 256, (64, 4), dtype=np.uint8)
    source, result = device.buffer(texels), device.zeros(256)
    load = "buffer_load_lds_format_x v0, s[8:11], 0 idxen" if target == "gfx1100" else "buffer_load_format_x v0, s[8:11], 0 idxen lds"
    read, store = ("ds_load_b32", "global_store_b32") if target == "gfx1100" else ("ds_read_b32", "global_store_dword")
    code = isa.assemble(f"""
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        s_mov_b32 m0, 64
        {load} offset:0
        s_waitcnt vmcnt(0)
        {read} v2, v1 offset:64
        s_waitcnt lgkmcnt(0)
        {store} v1, v2, s[2:3]
        s_endpgm""", target)  # fmt: skip
    # 8_8_8_8 UNORM in each generation's numbers; 60 texels of 4 bytes
    word3 = {"gfx900": 10 << 15, "gfx1030": 56 << 12, "gfx1100": 42 << 12}[target] | 5 | 5 << 3 | 6 << 6 | 7 << 9
    user = [word for buffer in (source, result) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    user += [0] * 4 + [source.address & 0xFFFFFFFF, source.address >> 32 & 0xFFFF | 4 << 16, 60, word3]
    device.run(code, (1, 1, 1), (64, 1, 1), user_sgprs=user, wave_size=64, lds_bytes=1024)
    wanted = np.where(np.arange(64) < 60, texels[:, 1].astype(np.float32) / np.float32(255), np.float32(0))
    assert (result.numpy().view(np.float32) == wanted).all()


@pytest.mark.parametrize("target", ["gfx1100", "gfx1200"])
def test_interpolation_of_registers(target: str) -> None:
    """P10 takes its first source from lane 1 of each quad and its last from lane 0; P2 its first from lane 2."""
    device = Device(target, "reference")
    result = device.zeros(256)
    code = assemble_text("""
        v_and_b32 v0, 0x3ff, v0
        v_cvt_f32_u32 v1, v0
        v_add_f32 v2, 1.0, v1
        v_mov_b32 v3, 4.0
        v_interp_p10_f32 v4, v1, v3, v2
        v_interp_p2_f32 v5, v1, v3, -v2
        v_lshlrev_b32 v0, 2, v0
        global_store_b32 v0, v4, s[0:1]
        global_store_b32 v0, v5, s[0:1] offset:128
        s_endpgm""", target)  # fmt: skip
    device.run(code, (1, 1, 1), (32, 1, 1), user_sgprs=[result.address & 0xFFFFFFFF, result.address >> 32])
    lane = np.arange(32)
    first, second = result.numpy().view(np.float32).reshape(2, 32)
    quad = lane & ~3
    assert first.tolist() == ((quad + 1) * 4 + quad + 1).tolist()
    assert second.tolist() == ((quad + 2) * 4 - lane - 1).tolist()
