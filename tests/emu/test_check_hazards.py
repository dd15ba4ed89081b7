"""Hazards of GFX10 to GFX13 that neither a counter nor a number of wait states tells: an error that names the rule, and none with its remedy."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device, MissingWaitError

HEAD = """
    s_mov_b32 s8, s0
    s_mov_b32 s9, s1
    s_mov_b32 s4, 0
    s_mov_b32 s5, 0
    s_mov_b32 s12, s0
    s_and_b32 s13, s1, 0xffff
    s_mov_b32 s14, 4096
    s_mov_b32 s15, 0x27fac
    s_mov_b32 m0, 0
    v_mov_b32 v9, 0
    v_mov_b32 v2, 0
""" + "    v_nop\n" * 16
#: Rule, chip, wave size, what comes first, what has to come between, what comes too soon without it, the register.
HAZARDS = [
    ("VMEMtoScalarWrite", "gfx1010", 32, "buffer_load_dword v3, v9, s[12:15], s4 offen", "s_waitcnt_depctr 0xffe3", "s_mov_b32 s4, 0", "s4"),
    ("VMEMtoScalarWrite", "gfx1010", 32, "global_store_dword v9, v9, s[8:9]", "v_mov_b32 v3, v9", "s_mov_b32 exec_lo, -1", "exec_lo"),
    ("VMEMtoScalarWrite", "gfx1010", 32, "global_load_dword v3, v9, s[8:9]", "s_waitcnt vmcnt(0)", "s_load_dword s8, s[12:13], 0", "s8"),
    ("SMEMtoVectorWrite", "gfx1010", 32, "s_load_dword s20, s[8:9], 0", "s_mov_b32 null, 0", "v_readfirstlane_b32 s8, v9", "s8"),
    ("VcmpxExecWAR", "gfx1010", 32, "s_mov_b32 s20, exec_lo", "s_waitcnt_depctr 0xfffe", "v_cmpx_eq_u32 v9, v9", "exec_lo"),
    ("LdsBranchVmemWAR", "gfx1010", 32, "ds_write_b32 v9, v9\ns_branch 0", "s_waitcnt_vscnt null, 0", "global_store_dword v9, v9, s[8:9]", None),
    ("LdsBranchVmemWAR", "gfx1010", 32, "global_store_dword v9, v9, s[8:9]\ns_branch 0", "s_waitcnt_vscnt null, 0", "ds_write_b32 v9, v9", None),
    ("FPAtomicToDenormMode", "gfx1030", 32, "global_atomic_fmin v9, v2, s[8:9]", "s_nop 2", "s_denorm_mode 0", None),
    ("VcmpxPermlane", "gfx1010", 32, "v_cmpx_eq_u32 v9, v9", "v_mov_b32 v2, v2", "v_permlane16_b32 v3, v2, s4, s4", "exec_lo"),
    ("VcmpxPermlane", "gfx1200", 32, "v_cmpx_eq_u32 v9, v9", "v_nop", "v_permlane16_b32 v3, v2, s4, s4", "exec_lo"),
    ("LdsDirectVALU", "gfx1100", 32, "v_mov_b32 v3, v2", "s_waitcnt_depctr 0x0fff", "lds_direct_load v2 wait_vdst:15", "v2"),
    ("LdsDirectVMEM", "gfx1100", 32, "global_store_b32 v9, v2, s[8:9]", "s_waitcnt_depctr 0xffe3", "lds_direct_load v2 wait_vdst:15", "v2"),
    ("LdsDirectVMEM", "gfx1200", 32, "global_store_b32 v9, v2, s[8:9]", "v_nop", "ds_direct_load v2 wait_va_vdst:15 wait_vm_vsrc:1", "v2"),
    ("VALUTransUse", "gfx1100", 32, "v_exp_f32 v3, v9\n" + "v_mov_b32 v4, v9\n" * 5, "v_nop", "v_mov_b32 v5, v3", "v3"),
    ("VALUTransUse", "gfx1100", 32, "v_exp_f32 v3, v9\nv_exp_f32 v4, v9", "s_waitcnt_depctr 0x0fff", "v_mov_b32 v5, v3", "v3"),
    ("VALUPartialForwarding", "gfx1100", 64, "v_mov_b32 v3, v9\ns_mov_b64 exec, -1\nv_mov_b32 v4, v9", "s_waitcnt_depctr 0x0fff",
     "v_add_f32 v5, v3, v4", "v3"),
    ("VALUPartialForwarding", "gfx1150", 64, "v_mov_b32 v3, v9\nv_nop\ns_mov_b64 exec, -1\nv_nop\nv_mov_b32 v4, v9\n" + "v_nop\n" * 4, "v_nop",
     "v_add_f32 v5, v3, v4", "v3"),
    ("VALUMaskWrite", "gfx1100", 64, "v_cndmask_b32 v3, v9, v9, s[4:5]\ns_mov_b32 s4, 0", "s_waitcnt_depctr 0xfffe", "s_mov_b32 s20, s4", "s4"),
    ("VALUMaskWrite", "gfx1150", 64, "v_cndmask_b32 v3, v9, v9, vcc\ns_mov_b64 vcc, 0", "s_waitcnt_depctr 0xfffe", "s_mov_b32 s20, vcc_hi", "vcc_hi"),
    ("VALUMaskWrite", "gfx1100", 64, "v_cndmask_b32 v3, v9, v9, s[4:5]\ns_mov_b32 s4, 0", "s_waitcnt_depctr 0xfffe", "v_mov_b32 v4, s4", "s4"),
    ("VALUMaskWrite", "gfx1100", 64, "v_cndmask_b32 v3, v9, v9, s[4:5]\nv_cmp_eq_u32 s[4:5], v9, v9", "s_waitcnt_depctr 0xf1ff",
     "v_cndmask_b32 v3, v9, v9, s[4:5]", "s4"),
    ("VALUMaskWrite", "gfx1150", 64, "v_cndmask_b32 v3, v9, v9, vcc\nv_cmp_eq_u32 vcc, v9, v9", "s_waitcnt_depctr 0xfffd",
     "v_cndmask_b32 v3, v9, v9, vcc", "vcc_lo"),
    ("VALUMaskWrite", "gfx1100", 64, "v_cndmask_b32 v3, v9, v9, s[4:5]\ns_mov_b32 s4, 0\nv_cmp_eq_u32 s[4:5], v2, v2", "s_waitcnt_depctr 0xfffe",
     "s_mov_b32 s20, s4", "s4"),
    ("VALUMaskWrite", "gfx1100", 64, "v_cndmask_b32 v3, v9, v9, vcc\nv_cmp_eq_u32 vcc, v2, v2\ns_not_b32 vcc_hi, s8", "s_waitcnt_depctr 0xfffe",
     "s_mov_b64 s[20:21], vcc", "vcc_hi"),
    ("WMMA", "gfx1100", 32, "v_wmma_f32_16x16x16_f16 v[20:27], v[40:47], v[50:57], v[20:27]", "v_nop",
     "v_wmma_f32_16x16x16_f16 v[60:67], v[20:27], v[50:57], v[60:67]", "v20"),
    ("WMMA", "gfx1200", 32, "v_wmma_f32_16x16x16_f16 v[20:27], v[40:43], v[50:53], v[20:27]", "v_nop",
     "v_wmma_f32_16x16x16_f16 v[60:67], v[40:43], v[24:27], v[60:67]", "v24"),
    ("VALUReadSGPR", "gfx1200", 32, "v_mov_b32 v3, s4\ns_mov_b32 s4, 0", "s_wait_alu 0xfffe", "v_mov_b32 v3, s4", "s4"),
    ("VALUReadSGPR", "gfx1200", 32, "v_mov_b32 v3, s5\ns_mov_b32 s4, 0", "s_mov_b32 s21, 0\n" * 11, "s_mov_b32 s20, s4", "s4"),
    ("VALUReadSGPR", "gfx1200", 64, "v_mov_b32 v3, s4\nv_readfirstlane_b32 s4, v9", "s_wait_alu 0xf1ff", "v_mov_b32 v3, s4", "s4"),
    ("VALUReadSGPR", "gfx1200", 32, "v_mov_b32 v3, vcc_lo\nv_cmp_eq_u32 vcc_lo, v9, v9", "s_wait_alu 0xfffd",
     "v_cndmask_b32 v3, v9, v9, vcc_lo", "vcc_lo"),
    ("VALUReadSGPR", "gfx1200", 32, "v_mov_b32 v3, vcc_lo\nv_cmp_eq_u32 vcc_lo, v9, v9", "s_wait_alu 0xfffd",
     "v_dual_cndmask_b32 v4, v8, v9 :: v_dual_mov_b32 v3, v2", "vcc_lo"),
    ("VcmpxPermlane", "gfx1250", 32, "v_cmpx_eq_u32 v9, v9", "v_mov_b32 v2, v2", "v_permlane_up_b32 v3, v2, s4, s4", "exec_lo"),
    ("VcmpxPermlane", "gfx1310", 64, "v_cmpx_eq_u32 v9, v9", "v_mov_b32 v2, v2", "v_permlane16_b32 v3, v2, s4, s4", "exec_lo"),
    ("LdsDirectVMEM", "gfx1310", 32, "global_store_b32 v9, v2, s[8:9]", "v_nop", "ds_direct_load v2 wait_va_vdst:15 wait_vm_vsrc:1", "v2"),
    ("TransCoexecution", "gfx1250", 32, "v_exp_f32 v3, v9", "v_nop", "v_mov_b32 v5, v3", "v3"),
    ("TransCoexecution", "gfx1250", 32, "v_exp_f32 v3, v9\ns_mov_b32 s20, 0", "v_mov_b32 v4, v2", "v_mov_b32 v9, v2", "v9"),
    ("TransCoexecution", "gfx1250", 32, "v_tanh_f32 v3, v9", "v_exp_f32 v4, v9", "v_fmac_f32 v3, v2, v2", "v3"),
    ("TransCoexecution", "gfx1251", 32, "v_s_exp_f32 s20, s4", "v_nop", "v_mov_b32 v5, s20", "s20"),
    ("TransCoexecution", "gfx1250", 32, "v_rcp_bf16 v3, v9", "v_nop", "v_dual_mov_b32 v4, v3 :: v_dual_mov_b32 v5, v2", "v3"),
    ("WMMA", "gfx1250", 32, "v_wmma_f32_16x16x4_f32 v[20:27], v[40:41], v[50:51], v[20:27]", "v_nop",
     "v_wmma_f32_16x16x4_f32 v[60:67], v[40:41], v[24:25], v[60:67]", "v24"),
    *(("WMMACoexecution", target, 32, f"{name} v[20:27], v[40:{39 + size}], v[56:{55 + size}], v[20:27]" + "\nv_nop" * (states - 1),
       "v_mov_b32 v4, v2", second, register)
      for target, name, size, states, second, register in (
          ("gfx1250", "v_wmma_f32_16x16x32_f16", 8, 4, "v_mov_b32 v5, v26", "v26"),
          ("gfx1250", "v_wmma_f32_16x16x32_f16", 8, 4, "v_mov_b32 v44, v2", "v44"),
          ("gfx1250", "v_wmma_f32_16x16x32_f16", 8, 4, "v_mov_b32 v21, v2", "v21"),
          ("gfx1250", "v_wmma_f32_16x16x32_f16", 8, 4, "v_mov_b32 v26, v26", "v26"),
          ("gfx1250", "v_wmma_f32_16x16x32_f16", 8, 5, "v_wmma_f32_16x16x32_f16 v[80:87], v[24:31], v[40:47], v[80:87]", "v24"),
          ("gfx1250", "v_wmma_i32_16x16x64_iu8", 8, 8, "v_mov_b32 v5, v26", "v26"),
          ("gfx1250", "v_wmma_i32_16x16x64_iu8", 8, 9, "v_wmma_f32_16x16x32_f16 v[80:87], v[24:31], v[40:47], v[80:87]", "v24"),
          ("gfx1250", "v_wmma_f32_16x16x128_f8f6f4", 16, 8, "v_mov_b32 v5, v26", "v26"),
          ("gfx1251", "v_wmma_f32_16x16x32_f16", 8, 8, "v_mov_b32 v60, v2", "v60"),
          ("gfx1251", "v_wmma_i32_16x16x64_iu8", 8, 16, "v_mov_b32 v5, v26", "v26"),
          ("gfx1251", "v_wmma_f32_16x16x128_fp8_bf8", 16, 17, "v_wmma_f32_16x16x32_f16 v[80:87], v[40:47], v[24:31], v[80:87]", "v24"),
      )),
    ("AsyncBarrierArrive", "gfx1250", 32, "ds_load_b32 v3, v9\ns_wait_dscnt 0", "s_wait_alu depctr_vm_vsrc(0)",
     "ds_atomic_async_barrier_arrive_b64 v9", None),
    ("AsyncBarrierArrive", "gfx1250", 32, "ds_atomic_async_barrier_arrive_b64 v9", "s_wait_alu depctr_vm_vsrc(0)",
     "global_load_b32 v3, v9, s[8:9]", None),
    ("ScratchBaseForward", "gfx1250", 32, "s_mov_b32 s102, 0", "s_wait_alu depctr_sa_sdst(0) depctr_va_sdst(0)",
     "s_mov_b32 s20, src_flat_scratch_base_lo", None),
    ("ScratchBaseForward", "gfx1250", 32, "s_mov_b32 s103, 0\ns_mov_b32 s20, 0", "s_mov_b32 s20, 0\n" * 9,
     "s_mov_b64 s[20:21], src_flat_scratch_base_lo", None),
    ("GetRegIdle", "gfx1251", 32, "s_mov_b32 s20, 0", "s_wait_alu 0", "s_getreg_b32 s20, hwreg(HW_REG_WAVE_STATUS)", None),
    ("GetRegIdle", "gfx1310", 32, "s_mov_b32 s20, 0", "s_wait_alu 0\ns_nop 0", "s_getreg_b32 s20, hwreg(HW_REG_WAVE_STATE_PRIV, 0, 4)", None),
]  # fmt: skip
#: What is near one of them and needs nothing.
HARMLESS = [
    ("gfx1030", 32, "global_load_dword v3, v9, s[8:9]\ns_mov_b32 exec_lo, -1"),
    ("gfx1010", 32, "global_load_dword v3, v9, s[8:9]\ns_mov_b32 s20, 0"),
    ("gfx1010", 32, "global_store_dword v9, v9, s[8:9]\ns_and_saveexec_b32 s20, exec_lo"),
    ("gfx1010", 32, "ds_write_b32 v9, v9\ns_branch 0\nds_write_b32 v9, v9\nglobal_store_dword v9, v9, s[8:9]"),
    ("gfx1150", 32, "v_exp_f32 v3, v9\nv_mov_b32 v5, v3"),
    ("gfx1100", 32, "v_exp_f32 v3, v9\nv_mov_b32 v3, v9\nv_mov_b32 v5, v3"),
    ("gfx1100", 32, "v_mov_b32 v3, v2\nv_mov_b32 v4, v9\nlds_direct_load v2 wait_vdst:1"),
    ("gfx1100", 32, "v_mov_b32 v3, v9\ns_mov_b32 exec_lo, -1\nv_mov_b32 v4, v9\nv_add_f32 v5, v3, v4"),
    ("gfx1100", 64, "v_mov_b32 v3, v9\nv_mov_b32 v4, v9\ns_mov_b64 exec, -1\nv_add_f32 v5, v3, v4"),
    ("gfx1100", 64, "v_cndmask_b32 v3, v9, v9, s[4:5]\nv_mov_b32 v3, s8\ns_mov_b32 s4, 0\ns_mov_b32 s20, s4"),
    ("gfx1100", 64, "v_cndmask_b32 v3, v9, v9, s[4:5]\nv_cmp_eq_u32 s[4:5], v9, v9\ns_mov_b32 s20, s4"),
    ("gfx1100", 64, "v_add_co_ci_u32 v3, vcc, v9, v9, vcc\nv_add_co_ci_u32 v3, vcc, v9, v9, vcc"),
    ("gfx1100", 32, "v_wmma_f32_16x16x16_f16 v[20:27], v[40:47], v[50:57], v[20:27]\nv_wmma_f32_16x16x16_f16 v[20:27], v[40:47], v[50:57], v[20:27]"),
    ("gfx1200", 32, "s_mov_b32 s4, 0\ns_mov_b32 s20, s4\nv_mov_b32 v3, s20"),
    ("gfx1200", 32, "v_mov_b32 v3, s4\nv_readfirstlane_b32 s4, v9\ns_mov_b32 s20, s4\nv_mov_b32 v3, s4"),
    ("gfx1200", 32, "v_mov_b32 v3, s4\nv_readlane_b32 s4, v9, 0\ns_mov_b32 exec_lo, s29\nv_mov_b32 v3, s4"),  # s29: no VALU has read it
    ("gfx1200", 32, "v_mov_b32 v3, s4\ns_mov_b32 s4, 0\ns_load_b32 s20, s[8:9], 0x0\nv_mov_b32 v3, s4"),
    *((target, 32, "v_mov_b32 v3, s4\ns_mov_b32 s4, 0\nv_mov_b32 v3, s4") for target in ("gfx1250", "gfx1310")),
    ("gfx1310", 32, "v_exp_f32 v3, v9\nv_mov_b32 v5, v3"),
    ("gfx1250", 32, "v_exp_f32 v3, v9\nv_exp_f32 v5, v3"),
    ("gfx1250", 32, "v_exp_f32 v3, v9\nv_dual_mov_b32 v9, v2 :: v_dual_mov_b32 v4, v2"),     # of these LLVM looks at sources alone
    ("gfx1250", 32, "v_exp_f16 v3.l, v9.l\nv_mov_b16 v4.l, v3.h"),
    ("gfx1250", 32, "v_wmma_f32_16x16x32_f16 v[20:27], v[40:47], v[50:57], v[20:27]\n" * 2),
    ("gfx1250", 32, "v_wmma_f32_16x16x32_f16 v[20:27], v[40:47], v[50:57], v[20:27]\nv_mov_b32 v50, v50"),
    ("gfx1250", 32, "v_wmma_f32_16x16x4_f32 v[20:27], v[40:41], v[50:51], v[20:27]\nv_mov_b32 v5, v20"),
    ("gfx1250", 32, "v_wmma_f32_16x16x32_f16 v[20:27], v[40:47], v[50:57], v[20:27]\nv_mov_b32 v5, v40\nglobal_store_b32 v9, v20, s[8:9]"),
    ("gfx1250", 32, "v_nop\ns_wait_alu 0\ns_getreg_b32 s20, hwreg(HW_REG_WAVE_MODE)"),
]


def run(target: str, wave: int, text: str) -> None:
    device = Device(target, check_waits=True)
    address = device.space.map(np.zeros(4096, np.uint8))
    code = isa.assemble(f"{HEAD}{text}\ns_endpgm", target, wave_size=wave)
    device.run(code, workgroup_size=(wave, 1, 1), wave_size=wave, user_sgprs=[address & 0xFFFFFFFF, address >> 32], lds_bytes=1024)


@pytest.mark.parametrize(("rule", "target", "wave", "first", "remedy", "second", "register"), HAZARDS)
def test_hazards(rule: str, target: str, wave: int, first: str, remedy: str, second: str, register: str | None) -> None:
    run(target, wave, f"{first}\n{remedy}\n{second}")
    with pytest.raises(MissingWaitError, match=rf"after .* is missing \({rule}; ") as caught:
        run(target, wave, f"{first}\n{second}")
    place = caught.value.place
    assert place["hazard"] == rule and place["counters"] == [] and place["wait_states"] == 0
    assert register is None or place["register"] == register
    assert place["earlier"]["pc"] <= place["pc"]            # the same where what comes before does not matter


@pytest.mark.parametrize(("target", "wave", "text"), HARMLESS)
def test_what_needs_nothing(target: str, wave: int, text: str) -> None:
    run(target, wave, text)


def test_branch_with_the_offset_that_gfx10_takes_wrongly() -> None:
    jump = "s_branch 0x{:x}\n" + "s_nop 0\n" * 64
    with pytest.raises(MissingWaitError, match="Offset3F"):
        run("gfx1010", 32, jump.format(0x3F))
    run("gfx1010", 32, jump.format(0x3E))
    run("gfx1030", 32, jump.format(0x3F))


def test_registers_given_back_at_once() -> None:
    """GFX11 needs an s_nop right before it."""
    give = "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"
    with pytest.raises(MissingWaitError, match=r"after .* s_nop 0 is missing \(DeallocVGPRs"):
        run("gfx1100", 32, f"s_nop 0\nv_mov_b32 v3, 0\n{give}")
    run("gfx1100", 32, f"s_nop 0\n{give}")
    run("gfx1200", 32, give)


def test_hazards_are_the_waves_own() -> None:
    """A new workgroup begins without those of the last."""
    device = Device("gfx1200", check_waits=True)
    code = isa.assemble("s_mov_b32 s4, 0\nv_mov_b32 v1, s4\ns_mov_b32 s4, 0\ns_endpgm", "gfx1200", wave_size=32)
    device.run(code, (4, 1, 1), (64, 1, 1), wave_size=32)
