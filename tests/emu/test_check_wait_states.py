"""Wait states that GFX6 to GFX9 and CDNA leave to the program: too few are an error that names the place, enough make none."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device, MissingWaitError

# What comes first, what comes too soon after it, how many wait states belong between, the register. s[0:1] is an address.
PAIRS = {
    "SGPR to load": ("v_readfirstlane_b32 s8, v9", "global_load_dword v1, v9, s[8:9]", 5, "s8"),
    "SGPR to descriptor": ("v_readlane_b32 s14, v9, 0", "buffer_load_dword v1, v9, s[12:15], 0 offen", 5, "s14"),
    "SGPR to offset": ("v_cmp_gt_u32 s[4:5], v9, v9", "buffer_load_dword v1, v9, s[12:15], s4 offen", 5, "s4"),
    "lane of v_readlane": ("v_readfirstlane_b32 s4, v9", "v_readlane_b32 s5, v9, s4", 4, "s4"),
    "lane of v_writelane": ("v_readfirstlane_b32 s4, v9", "v_writelane_b32 v1, 1, s4", 4, "s4"),
    "vcc of v_div_fmas": ("v_cmp_gt_u32 vcc, v9, v9", "v_div_fmas_f32 v1, v9, v9, v9", 4, "vcc_lo"),
    "VGPR through DPP": ("v_mov_b32 v1, v9", "v_mov_b32 v2, v1 quad_perm:[1,1,1,1] row_mask:0xf bank_mask:0xf", 2, "v1"),
    "exec and DPP": ("v_cmpx_eq_u32 vcc, v9, v9", "v_mov_b32 v2, v9 quad_perm:[1,1,1,1] row_mask:0xf bank_mask:0xf", 5, "exec_lo"),
    "vccz": ("v_cmp_gt_u32 vcc, v9, v9", "v_mov_b32 v1, src_vccz", 5, "vcc_lo"),
    "execz": ("v_cmpx_eq_u32 vcc, v9, v9", "v_mov_b32 v1, src_execz", 5, "exec_lo"),
    "wide store": ("global_store_dwordx4 v9, v[2:5], s[0:1]", "v_mov_b32 v4, 0", 1, "v4"),
    "wide store to a buffer": ("buffer_store_dwordx3 v[2:4], v9, s[12:15], 0 offen", "v_mov_b32 v3, 0", 1, "v3"),
    "wide atomic": ("global_atomic_cmpswap_x2 v9, v[2:5], s[0:1]", "v_mov_b32 v2, 0", 1, "v2"),
    "setreg, getreg": ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_getreg_b32 s4, hwreg(HW_REG_MODE)", 2, r"hwreg\(1\)"),
    "setreg, setreg": ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", 2, r"hwreg\(1\)"),
    "vskip": ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 0", "v_mov_b32 v1, 0", 2, r"hwreg\(1\)"),
    "m0 of a message": ("s_mov_b32 m0, 0", "s_sendmsg sendmsg(MSG_INTERRUPT)", 1, "m0"),
    "m0 of a relative move": ("s_mov_b32 m0, 0", "s_movrels_b32 s4, s5", 1, "m0"),
    "m0 of a load to LDS": ("s_mov_b32 m0, 0", "buffer_load_dword v9, s[12:15], 0 offen lds", 1, "m0"),
}
#: What is near one of them and needs nothing.
HARMLESS = {
    "SGPR of the scalar ALU": ("s_mov_b32 s8, s0", "global_load_dword v1, v9, s[0:1]"),
    "SGPR to the vector ALU": ("v_readfirstlane_b32 s4, v9", "v_mov_b32 v1, s4"),
    "another SGPR": ("v_readfirstlane_b32 s4, v9", "global_load_dword v1, v9, s[8:9]"),
    "SGPR that was written over": ("v_readfirstlane_b32 s4, v9", "s_mov_b32 s4, 0\nbuffer_load_dword v1, v9, s[12:15], s4 offen"),
    "SGPR that was loaded over": (
        "v_readfirstlane_b32 s4, v9", "s_load_dword s4, s[0:1], 0x0\ns_waitcnt 0\nbuffer_load_dword v1, v9, s[12:15], s4 offen"),
    "narrow store": ("global_store_dwordx2 v9, v[2:3], s[0:1]", "v_mov_b32 v2, 0"),
    "wide store to a buffer at an SGPR": ("buffer_store_dwordx4 v[2:5], v9, s[12:15], s10 offen", "v_mov_b32 v3, 0"),
    "transcendental of GFX9": ("v_exp_f32 v2, v9", "v_mov_b32 v1, v2"),
    "another hardware register": ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_getreg_b32 s4, hwreg(HW_REG_STATUS)"),
    "old value under DPP": ("v_mov_b32 v2, v9", "v_mov_b32 v2, v9 quad_perm:[1,1,1,1] row_mask:0xf bank_mask:0xf"),
}
#: On GFX6 and GFX7: the chips, what comes first, what comes too soon, wait states, the register.
EARLY = {
    "address of a scalar load": ("gfx600", "v_readfirstlane_b32 s10, v9", "s_load_dword s4, s[8:9], s10", 4, "s10"),
    "descriptor of a scalar load": ("gfx600", "s_mov_b32 s14, 0x100", "s_buffer_load_dword s4, s[12:15], 0x0", 4, "s14"),
    "setreg, setreg": ("gfx600 gfx700", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", 1,
                       r"hwreg\(1\)"),
    "setreg, getreg": ("gfx600 gfx700", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_getreg_b32 s4, hwreg(HW_REG_MODE)", 2, r"hwreg\(1\)"),
    "lane of v_readlane": ("gfx600 gfx700", "v_readfirstlane_b32 s4, v9", "v_readlane_b32 s5, v9, s4", 4, "s4"),
    "vcc of v_div_fmas": ("gfx600 gfx700", "v_cmp_gt_u32 vcc, v9, v9", "v_div_fmas_f32 v1, v9, v9, v9", 4, "vcc_lo"),
    "wide store": ("gfx700", "buffer_store_dwordx4 v[2:5], v9, s[12:15], 0 offen", "v_mov_b32 v4, 0", 1, "v4"),
}
#: What later generations need and these do not.
EARLY_HARMLESS = {
    "SGPR to offset": ("gfx600 gfx700", "v_cmp_gt_u32 s[4:5], v9, v9\ns_mov_b32 s5, 0", "buffer_load_dword v1, v9, s[12:15], s10 offen"),
    "scalar load": ("gfx700", "v_readfirstlane_b32 s10, v9", "s_load_dword s4, s[8:9], s10"),
    "descriptor": ("gfx700", "s_mov_b32 s14, 0x100", "s_buffer_load_dword s4, s[12:15], 0x0"),
    "wide store": ("gfx600", "buffer_store_dwordx4 v[2:5], v9, s[12:15], 0 offen\ns_waitcnt expcnt(0)", "v_mov_b32 v4, 0"),
    "m0 of a message": ("gfx600 gfx700", "s_mov_b32 m0, 0", "s_sendmsg sendmsg(MSG_INTERRUPT)"),
}
HEAD = """
    s_mov_b32 s8, s0
    s_mov_b32 s9, s1
    s_mov_b32 s12, s0
    s_and_b32 s13, s1, 0xffff
    s_mov_b32 s14, 4096
    s_mov_b32 s15, 0x27fac
    s_mov_b32 s10, 0
    v_mov_b32 v9, 0
    s_nop 4
"""


def run(target: str, text: str) -> None:
    """Run it where s[8:9] is the address of 4096 zero bytes, s[12:15] a descriptor of them, and v9 zero."""
    device = Device(target, check_waits=True)
    memory = np.zeros(4096, np.uint8)
    address = device.space.map(memory)
    code = isa.assemble(HEAD + text + "\ns_waitcnt 0\ns_endpgm", target)
    device.run(code, workgroup_size=(64, 1, 1), wave_size=64, user_sgprs=[address & 0xFFFFFFFF, address >> 32], lds_bytes=1024)


@pytest.mark.parametrize("target", ["gfx900", "gfx942"])
@pytest.mark.parametrize("name", PAIRS)
def test_wait_states(name: str, target: str) -> None:
    first, second, states, register = PAIRS[name]
    if target == "gfx942":
        states += name.startswith("wide")
    if "v_readfirstlane_b32 s8" in first:
        first, second = "v_mov_b32 v8, s8\ns_nop 4\nv_readfirstlane_b32 s8, v8", second
    if "v_readlane_b32 s14" in first:
        first = "v_mov_b32 v8, s14\ns_nop 4\nv_readlane_b32 s14, v8, 0"
    run(target, f"{first}\ns_nop {states - 1}\n{second}")
    run(target, first + "\n" + "s_mov_b32 s30, 0\n" * states + second)
    for between in range(states):
        with pytest.raises(MissingWaitError, match=rf"{register} too soon after .* s_nop {states - between - 1} is missing.*pc 0x") as caught:
            run(target, first + "\n" + "s_mov_b32 s30, 0\n" * between + second)
        place = caught.value.place
        assert place["wait_states"] == states - between and place["counters"] == []
        assert place["earlier"]["opcode"].removesuffix("_e64") == first.splitlines()[-1].split()[0] and place["earlier"]["pc"] < place["pc"]


@pytest.mark.parametrize("name", EARLY)
def test_early_levels(name: str) -> None:
    targets, first, second, states, register = EARLY[name]
    for target in targets.split():
        run(target, first + "\n" + "s_mov_b32 s30, 0\n" * states + second)
        for between in range(states):
            with pytest.raises(MissingWaitError, match=rf"{register} too soon after .* s_nop {states - between - 1} is missing") as caught:
                run(target, first + "\n" + "s_mov_b32 s30, 0\n" * between + second)
            assert caught.value.place["wait_states"] == states - between


@pytest.mark.parametrize("name", EARLY_HARMLESS)
def test_what_early_levels_do_not_need(name: str) -> None:
    targets, first, second = EARLY_HARMLESS[name]
    for target in targets.split():
        run(target, f"{first}\n{second}")


def test_data_of_stores_on_gfx6() -> None:
    """They are read until the export counter falls, or the store is done."""
    store, write = "buffer_store_dword v2, v9, s[12:15], 0 offen", "v_mov_b32 v2, 1"
    for wait in ("s_waitcnt expcnt(0)", "s_waitcnt vmcnt(0)"):
        run("gfx600", f"{store}\n{wait}\n{write}")
    run("gfx700", f"{store}\n{write}")
    run("gfx600", f"{store}\nv_mov_b32 v3, v2")
    with pytest.raises(MissingWaitError, match="v2"):
        run("gfx600", f"{store}\n{write}")
    run("gfx600", f"{store}\nbuffer_store_dword v3, v9, s[12:15], 0 offen\ns_waitcnt expcnt(1)\n{write}")
    with pytest.raises(MissingWaitError, match="v3"):
        run("gfx600", f"{store}\nbuffer_store_dword v3, v9, s[12:15], 0 offen\ns_waitcnt expcnt(1)\nv_mov_b32 v3, 1")


#: Matrix operations: chip, what comes first, what comes too soon, wait states, register.
MATRIX = {
    "read of 2 passes": ("gfx908", "v_mfma_f32_4x4x1f32 a[0:3], v9, v9, a[0:3]", "v_accvgpr_read_b32 v1, a2", 4, "a2"),
    "read of 16 passes": ("gfx908", "v_mfma_f32_32x32x1f32 a[0:31], v9, v9, a[0:31]", "v_accvgpr_read_b32 v1, a31", 18, "a31"),
    "write over the sum": ("gfx908", "v_mfma_f32_32x32x1f32 a[0:31], v9, v9, a[32:63]", "v_accvgpr_write_b32 a40, v9", 13, "a40"),
    "move to a factor": ("gfx908", "v_accvgpr_write_b32 a4, v9", "v_mfma_f32_4x4x1f32 a[0:3], a4, v9, a[0:3]", 3, "a4"),
    "move from an AGPR to memory": ("gfx908", "v_accvgpr_read_b32 v2, a0", "global_store_dword v9, v2, s[0:1]", 2, "v2"),
    "exec": ("gfx90a", "v_cmpx_eq_u32 vcc, v9, v9", "v_mfma_f32_4x4x1f32 a[0:3], v9, v9, a[0:3]", 4, "exec_lo"),
    "factor from the vector ALU": ("gfx90a", "v_mov_b32 v2, v9", "v_mfma_f32_4x4x1f32 a[0:3], v2, v9, a[0:3]", 2, "v2"),
    "sum in part": ("gfx90a", "v_mfma_f32_16x16x4f32 v[16:19], v9, v9, v[16:19]", "v_mfma_f32_16x16x4f32 v[16:19], v9, v9, v[18:21]", 8, "v18"),
    "doubles to memory": ("gfx90a", "v_mfma_f64_16x16x4f64 v[8:15], v[2:3], v[2:3], 0", "global_store_dword v0, v12, s[0:1]", 18, "v12"),
    "fused doubles behind": ("gfx90a", "v_mfma_f64_4x4x4f64 v[2:3], v[4:5], v[4:5], 0", "v_fma_f64 v[6:7], v[4:5], v[4:5], v[4:5]", 2, "v6"),
    "XDL to the vector ALU": ("gfx942", "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[2:3], 0", "v_mov_b32 v1, v20", 11, "v20"),
    "singles to the vector ALU": ("gfx942", "v_mfma_f32_32x32x2_f32 v[16:31], v2, v2, 0", "v_mov_b32 v1, v20", 18, "v20"),
    "load over a result": ("gfx942", "v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[2:3], 0", "global_load_dword v16, v9, s[0:1]", 7, "v16"),
    "XDL of CDNA 4": ("gfx950", "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[2:3], 0", "v_mov_b32 v1, v20", 12, "v20"),
    "transcendental": ("gfx942", "v_exp_f32 v2, v9", "v_mov_b32 v1, v2", 1, "v2"),
    "half of a register": ("gfx942", "v_mov_b32_sdwa v2, v9 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD", "v_mov_b32 v1, v2", 1, "v2"),
    "SGPR to the vector ALU": ("gfx942", "v_readfirstlane_b32 s4, v9", "v_mov_b32 v1, s4", 2, "s4"),
    "dot product": ("gfx90a", "v_dot2_f32_f16 v2, v9, v9, v9", "v_mov_b32 v1, v2", 3, "v2"),
}


@pytest.mark.parametrize("name", MATRIX)
def test_matrix_operations(name: str) -> None:
    target, first, second, states, register = MATRIX[name]
    run(target, first + "\n" + "s_mov_b32 s30, 0\n" * states + second)
    for between in (0, states - 1):
        with pytest.raises(MissingWaitError, match=rf" {register} too soon after .* s_nop {states - between - 1} is missing") as caught:
            run(target, first + "\n" + "s_mov_b32 s30, 0\n" * between + second)
        assert caught.value.place["wait_states"] == states - between


def test_the_whole_result_goes_on_as_the_sum() -> None:
    run("gfx908", "v_mfma_f32_32x32x1f32 a[0:31], v9, v9, a[0:31]\n" * 3)
    run("gfx942", "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[2:3], v[16:31]\n" * 3)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_needs_none(name: str) -> None:
    run("gfx900", "\n".join(HARMLESS[name]))


def test_waves_do_not_mix_and_workgroups_begin_anew() -> None:
    """The last instruction of a wave is no hazard for the first of the next."""
    device = Device("gfx900", check_waits=True, seed=3)
    memory = device.zeros(4096)
    code = isa.assemble("v_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[0:1]\nv_readfirstlane_b32 s0, v1\nv_readfirstlane_b32 s1, v1\n"
                        "s_waitcnt 0\ns_endpgm", "gfx900")
    device.run(code, (4, 1, 1), (256, 1, 1), wave_size=64, user_sgprs=[memory.address & 0xFFFFFFFF, memory.address >> 32])


def test_later_chips_wait_by_themselves() -> None:
    device = Device("gfx1030", check_waits=True)
    memory = device.zeros(4096)
    code = isa.assemble("v_mov_b32 v1, s0\nv_readfirstlane_b32 s0, v1\nv_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[0:1]\n"
                        "s_waitcnt vmcnt(0)\ns_endpgm", "gfx1030")
    device.run(code, user_sgprs=[memory.address & 0xFFFFFFFF, memory.address >> 32])
