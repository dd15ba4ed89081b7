"""Moves between lanes: DPP, permutations, swizzles, read and write of single lanes; SDWA."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from machine_code import Assemble

from pyaco.emu import Device

U32 = np.uint32
OLD = 0x77


def lanes_of(assemble: Assemble, body: str, target: str = "gfx1100", wave: int = 32, exec_mask: int | None = None) -> np.ndarray:
    """v2 per lane after `body`; v1 holds 100 + lane, v2 holds OLD, and EXEC is restored before the store."""
    full = (1 << wave) - 1
    mask = full if exec_mask is None else exec_mask
    store = "global_store_b32" if target >= "gfx11" and target != "gfx900" else "global_store_dword"
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_add_u32 v1, 0x64, v0" if target == "gfx900" else "v_add_nc_u32 v1, 0x64, v0"]
    lines += ["v_lshlrev_b32 v3, 2, v0", f"v_mov_b32 v2, {OLD:#x}", f"s_mov_b32 exec_lo, {mask & 0xFFFFFFFF:#x}"]
    if wave == 64:
        lines.append(f"s_mov_b32 exec_hi, {mask >> 32:#x}")
    lines += [body, "s_mov_b32 exec_lo, -1"] + (["s_mov_b32 exec_hi, -1"] if wave == 64 else [])
    lines += ["s_waitcnt lgkmcnt(0)", f"{store} v3, v2, s[0:1]", "s_endpgm", ""]
    device = Device(target, "reference")
    results = device.buffer(np.zeros(wave, U32))
    user = [results.address & 0xFFFFFFFF, results.address >> 32]
    code = assemble("\n".join(lines), target, wave)
    device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave, lds_bytes=64)
    return results.numpy().astype(int)


def always(lane: int) -> bool:
    return True


def expect(source: Callable[[int], int], lanes: int = 32, valid: Callable[[int], bool] = always, invalid: int = OLD) -> list[int]:
    return [100 + source(lane) if valid(lane) else invalid for lane in range(lanes)]


DPP = {
    "quad_perm:[3,2,1,0]": (lambda lane: lane ^ 3, lambda lane: True),
    "row_shl:3": (lambda lane: lane + 3, lambda lane: lane % 16 < 13),
    "row_shr:5": (lambda lane: lane - 5, lambda lane: lane % 16 >= 5),
    "row_ror:4": (lambda lane: lane // 16 * 16 + (lane - 4) % 16, lambda lane: True),
    "row_mirror": (lambda lane: lane ^ 15, lambda lane: True),
    "row_half_mirror": (lambda lane: lane ^ 7, lambda lane: True),
    "row_share:6": (lambda lane: lane // 16 * 16 + 6, lambda lane: True),
    "row_xmask:9": (lambda lane: lane ^ 9, lambda lane: True),
}


@pytest.mark.parametrize("control", DPP)
def test_dpp16(assemble: Assemble, control: str) -> None:
    source, valid = DPP[control]
    body = f"v_mov_b32_dpp v2, v1 {control} row_mask:0xf bank_mask:0xf"
    assert lanes_of(assemble, body).tolist() == expect(source, valid=valid)
    assert lanes_of(assemble, body + " bound_ctrl:1").tolist() == expect(source, valid=valid, invalid=0)


def test_dpp16_masks_and_inactive_lanes(assemble: Assemble) -> None:
    body = "v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0x2 bank_mask:0x5"
    written = [lane >= 16 and (lane >> 2) & 3 in (0, 2) for lane in range(32)]
    assert lanes_of(assemble, body).tolist() == expect(lambda lane: lane ^ 1, valid=lambda lane: written[lane])
    # lane 0 is inactive: lane 1 cannot read it, and keeps its value
    body = "v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    result = lanes_of(assemble, body, exec_mask=0xFFFFFFFE)
    assert result[0] == OLD and result[1] == OLD and result[2] == 103
    result = lanes_of(assemble, body + " fi:1", exec_mask=0xFFFFFFFE)
    assert result[0] == OLD and result[1] == 100


def test_gfx9_broadcasts(assemble: Assemble) -> None:
    body = "v_mov_b32_dpp v2, v1 row_bcast:15 row_mask:0xa bank_mask:0xf"
    result = lanes_of(assemble, body, "gfx900", 64)
    assert result.tolist() == expect(lambda lane: lane // 16 * 16 - 1, 64, lambda lane: lane // 16 in (1, 3))
    body = "v_mov_b32_dpp v2, v1 row_bcast:31 row_mask:0xc bank_mask:0xf"
    assert lanes_of(assemble, body, "gfx900", 64).tolist() == expect(lambda lane: 31, 64, lambda lane: lane >= 32)
    body = "v_mov_b32_dpp v2, v1 wave_shr:1 row_mask:0xf bank_mask:0xf"
    assert lanes_of(assemble, body, "gfx900", 64).tolist() == expect(lambda lane: lane - 1, 64, lambda lane: lane > 0)


def test_dpp8(assemble: Assemble) -> None:
    body = "v_mov_b32_dpp v2, v1 dpp8:[7,0,1,2,3,4,5,6]"
    assert lanes_of(assemble, body).tolist() == expect(lambda lane: lane // 8 * 8 + (lane + 7) % 8)


def test_single_lanes(assemble: Assemble) -> None:
    body = "v_readlane_b32 s4, v1, 37\nv_mov_b32 v2, s4"
    assert set(lanes_of(assemble, body).tolist()) == {105}
    assert set(lanes_of(assemble, "v_readfirstlane_b32 s4, v1\nv_mov_b32 v2, s4", exec_mask=0xF0)[4:8].tolist()) == {104}
    result = lanes_of(assemble, "s_movk_i32 s4, 9\nv_writelane_b32 v2, s4, 20", exec_mask=1)
    assert result[20] == 9 and result[0] == OLD


@pytest.mark.parametrize(("target", "wave", "group"), [("gfx1100", 32, 32), ("gfx1100", 64, 32), ("gfx900", 64, 64)])
def test_backward_permute(assemble: Assemble, target: str, wave: int, group: int) -> None:
    """Each lane pulls; on GFX10 and later within 32 lanes; a disabled lane gives zero."""
    body = "v_mul_u32_u24 v4, 28, v0\nds_bpermute_b32 v2, v4, v1"
    expected = [100 + lane // group * group + 7 * lane % group for lane in range(wave)]
    assert lanes_of(assemble, body, target, wave).tolist() == expected


def test_forward_permute(assemble: Assemble) -> None:
    body = "v_and_b32 v4, 15, v0\nv_lshlrev_b32 v4, 2, v4\nds_permute_b32 v2, v4, v1"
    assert lanes_of(assemble, body).tolist() == [116 + lane if lane < 16 else 0 for lane in range(32)]


def test_swizzle(assemble: Assemble) -> None:
    assert lanes_of(assemble, "ds_swizzle_b32 v2, v1 offset:swizzle(BROADCAST,8,3)").tolist() == expect(
        lambda lane: lane // 8 * 8 + 3
    )
    assert lanes_of(assemble, "ds_swizzle_b32 v2, v1 offset:swizzle(QUAD_PERM,1,2,3,0)").tolist() == expect(
        lambda lane: lane // 4 * 4 + (lane + 1) % 4
    )
    assert lanes_of(assemble, "ds_swizzle_b32 v2, v1 offset:swizzle(REVERSE,16)").tolist() == expect(lambda lane: lane ^ 15)
    result = lanes_of(assemble, "ds_swizzle_b32 v2, v1 offset:swizzle(SWAP,1)", exec_mask=0xFFFFFFFE)
    assert result[0] == OLD and result[1] == 0 and result[2] == 103


def test_permlane(assemble: Assemble) -> None:
    body = "s_mov_b32 s4, 0x76543210\ns_mov_b32 s5, 0xfedcba98\nv_permlane{}_b32 v2, v1, s5, s4"
    assert lanes_of(assemble, body.format("16")).tolist() == expect(lambda lane: lane ^ 8)
    assert lanes_of(assemble, body.format("x16")).tolist() == expect(lambda lane: lane ^ 24)
    result = lanes_of(assemble, "v_permlane64_b32 v2, v1", wave=64)
    assert result.tolist() == expect(lambda lane: lane ^ 32, 64)


def test_mbcnt_and_ballot(assemble: Assemble) -> None:
    body = "s_mov_b32 s4, 0xf0f0\nv_mbcnt_lo_u32_b32 v2, s4, 5"
    assert lanes_of(assemble, body).tolist() == [5 + bin(0xF0F0 & (1 << lane) - 1).count("1") for lane in range(32)]
    body = "v_mbcnt_lo_u32_b32 v2, -1, 0\nv_mbcnt_hi_u32_b32 v2, -1, v2"
    assert lanes_of(assemble, body, wave=64).tolist() == list(range(64))


def test_sdwa(assemble: Assemble) -> None:
    """GFX9 and GFX10: sub-dword sources, sign extension, a byte of the destination with the rest kept."""
    body = "v_mov_b32 v4, 0x80c0a090\n" \
        "v_add_u32_sdwa v2, v4, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:DWORD"
    result = lanes_of(assemble, body, "gfx900", 64)
    assert result.tolist() == [0xC0 + lane for lane in range(64)]
    body = "v_mov_b32 v4, 0x80c0a090\n" \
        "v_mov_b32_sdwa v2, sext(v4) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1"
    assert set(lanes_of(assemble, body, "gfx900", 64).tolist()) == {0xFFFF80C0}
    body = "v_mov_b32 v2, 0x11223344\n" \
        "v_mov_b32_sdwa v2, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD"
    assert lanes_of(assemble, body, "gfx900", 64).tolist() == [0x11220044 | 100 + lane << 8 for lane in range(64)]


def test_dual_issue_reads_before_it_writes(assemble: Assemble) -> None:
    body = "v_mov_b32 v4, 3.0\nv_mov_b32 v5, 2.0\nv_dual_mul_f32 v4, v4, v5 :: v_dual_add_f32 v5, v5, v4\n" \
        "v_mul_f32 v4, v4, v5\nv_cvt_u32_f32 v2, v4"
    assert set(lanes_of(assemble, body).tolist()) == {30}
