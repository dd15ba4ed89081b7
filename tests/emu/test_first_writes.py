"""Registers that a wave reads before it writes them hold their initial fill in every workgroup, whatever earlier waves have left there."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco.emu import Device
from pyaco.isa import assemble

GROUPS = 6
#: What each kernel does with v10 and v11, which it stores at the end; v0 is the lane and v1 is ready.
KERNELS = {
    "written before read": ["v_mov_b32 v10, v0", "v_add_nc_u32 v11, 1, v10"],
    "read before written": ["v_add_nc_u32 v11, 1, v10", "v_mov_b32 v10, v0"],
    "read by itself": ["v_add_nc_u32 v10, v10, v0", "v_mov_b32 v11, v10"],
    "accumulated": ["v_mov_b32 v11, 1.0", "v_fmac_f32 v10, v11, v11"],
    "half written": ["v_mov_b32 v11, v0", "v_add_f16_sdwa v10, v11, v11 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD"],
    "lanes that DPP leaves out": ["v_mov_b32_dpp v10, v0 row_shl:1 row_mask:0x5 bank_mask:0xf", "v_mov_b32 v11, v0"],
    "one lane written": ["v_writelane_b32 v10, 7, 3", "v_mov_b32 v11, v0"],
    "some lanes active": ["s_movk_i32 s7, 0xff", "s_and_saveexec_b32 s6, s7", "v_mov_b32 v10, v0", "v_mov_b32 v11, v0", "s_mov_b32 exec_lo, s6"],
    "idle lanes wake": ["v_mov_b32 v10, v0", "v_mov_b32 v11, v0", "s_mov_b32 exec_lo, -1", "v_mbcnt_lo_u32_b32 v0, -1, 0"],
    "only where a branch leads": ["s_cmp_eq_u32 s4, 0", "s_cbranch_scc1 over", "v_mov_b32 v10, v0", "v_mov_b32 v11, v0", "over:"],
    "behind a move of lanes": ["v_readlane_b32 s6, v10, 1", "v_mov_b32 v10, s6", "v_mov_b32 v11, v0"],
    "behind a swap": ["v_swap_b32 v10, v11", "v_mov_b32 v10, v0"],
    "relative": ["s_mov_b32 m0, 1", "v_movrels_b32 v11, v10", "v_mov_b32 v10, v0"],
    "loaded": ["v_lshlrev_b32 v1, 3, v0", "global_load_dwordx2 v[10:11], v1, s[2:3]", "s_waitcnt vmcnt(0)", "v_add_nc_u32 v10, v10, v0"],
    "half loaded": ["v_lshlrev_b32 v1, 3, v0", "global_load_short_d16 v10, v1, s[2:3]", "s_waitcnt vmcnt(0)", "v_mov_b32 v11, v0"],
    "address of a load": ["v_and_b32 v13, 0, v0", "global_load_dword v11, v13, s[2:3]", "s_waitcnt vmcnt(0)", "v_add_nc_u32 v10, v10, v0"],
    "stored before written": ["v_and_b32 v13, 0, v0", "global_store_dword v13, v10, s[2:3]", "v_mov_b32 v10, v0", "v_mov_b32 v11, v0"],
    "after many instructions": [*["v_add_nc_u32 v5, v5, v0"] * 90, "v_mov_b32 v10, v0", "v_mov_b32 v11, v10", "v_add_nc_u32 v11, v11, v12"],
}
#: The same with dual instructions.
DUAL_KERNELS = {
    "written by both halves": ["v_dual_mov_b32 v10, v0 :: v_dual_mov_b32 v11, v1"],
    "accumulated by one half": ["v_mov_b32 v11, 1.0", "v_dual_fmac_f32 v10, v11, v12 :: v_dual_mov_b32 v13, v0"],
    "accumulated by the other": ["v_mov_b32 v11, 1.0", "v_dual_mov_b32 v13, v0 :: v_dual_fmac_f32 v10, v11, v12"],
    "read by one half, written by the other": ["v_dual_mov_b32 v10, v11 :: v_dual_mov_b32 v11, v0"],
}


def run(engine: str, lines: list[str], lanes: int, target: str = "gfx1030") -> NDArray[np.uint32]:
    """What the lanes of all workgroups have in v10 and v11."""
    device = Device(target, engine, threads=1)
    result = device.zeros(GROUPS * 32 * 8)
    name = "global_store_b64" if target == "gfx1100" else "global_store_dwordx2"
    store = ["s_lshl_b32 s5, s4, 8", "v_lshlrev_b32 v1, 3, v0", "v_add_nc_u32 v1, s5, v1", f"{name} v1, v[10:11], s[2:3]"]
    clobber = [f"v_mov_b32 v{number}, 0x123" for number in (5, 10, 11, 12, 13)]
    code = assemble("\n".join([*lines, *store, *clobber, "s_endpgm"]) + "\n", target, wave_size=32)
    user = [0, 0, result.address & 0xFFFFFFFF, result.address >> 32]
    device.run(code, (GROUPS, 1, 1), (lanes, 1, 1), user_sgprs=user, wave_size=32, local_id_components=1, workgroup_ids=(True, False, False))
    return result.numpy().view(np.uint32).reshape(GROUPS, 32, 2).copy()


@pytest.mark.parametrize("lanes", [32, 20, 8])
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_read_first(name: str, lanes: int) -> None:
    expected, found = (run(engine, KERNELS[name], lanes) for engine in ("reference", "fast"))
    np.testing.assert_array_equal(found, expected)
    assert expected[:, :lanes].any()


@pytest.mark.parametrize("name", DUAL_KERNELS)
def test_what_dual_instructions_read_first(name: str) -> None:
    expected, found = (run(engine, DUAL_KERNELS[name], 32, "gfx1100") for engine in ("reference", "fast"))
    np.testing.assert_array_equal(found, expected)
    assert expected.any()
