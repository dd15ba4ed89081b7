"""Program flow, hardware registers, moves between lanes and registers, scalar memory: small programs and what they leave.

A case is a text, and what v20 (by lane) or s20 to s23 hold after it. Where LLVM refuses the text for a target, the target does
not have the instruction.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from alu_models import bytes_of
from machine_code import assemble_each, assemble_object
from test_alu_values import GCN, TARGETS
from test_memory_values import Access, atomic_model, registers

from pyaco import emu, isa
from pyaco.emu import Device
from pyaco.isa import opcodes

M32 = 0xFFFFFFFF
LANES = 32
START = """
    v_and_b32 v0, 0x3ff, v0
    v_mul_u32_u24 v2, 3, v0
    v_or_b32 v2, 1, v2
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v20, 0
    s_mov_b32 s20, 0
    s_mov_b32 s21, 0
    s_mov_b32 s22, 0
    s_mov_b32 s23, 0
    s_mov_b32 s8, 5
"""


def w(lane: int) -> int:              # v2
    return 3 * lane | 1


# text -> {"s": values of s20 to s23 (None: any)} or {"v": value of v20 by lane}
CASES: list[tuple[str, list[int], Callable[[int], int] | None]] = [
    ("v_readfirstlane_b32 s20, v2", [1], None),
    ("s_mov_b64 exec, 0x1000\nv_readfirstlane_b32 s20, v2\ns_mov_b64 exec, -1", [w(12)], None),
    ("v_readlane_b32 s20, v2, s8\nv_readlane_b32 s21, v2, 31", [w(5), w(31)], None),
    ("v_writelane_b32 v20, s8, 3", [], lambda lane: 5 if lane == 3 else 0),
    ("v_mov_b32 v20, v0\nv_mov_b32 v5, v2\nv_swap_b32 v20, v5", [], w),
    ("v_mov_b32 v20, v0\nv_mov_b32 v5, v2\nv_swap_b16 v20.l, v5.l", [], w),
    ("s_mov_b32 m0, 3\nv_mov_b32 v7, v2\nv_movrels_b32 v20, v4", [], w),
    ("s_mov_b32 m0, 3\nv_movreld_b32 v17, v2", [], w),
    ("s_mov_b32 m0, 3\nv_mov_b32 v7, v2\nv_movrelsd_b32 v17, v4", [], w),
    ("s_mov_b32 m0, 0x50003\nv_mov_b32 v7, v2\nv_movrelsd_2_b32 v15, v4", [], w),
    ("s_mov_b32 m0, 0x50003\nv_mov_b32 v7, v2\nv_swaprel_b32 v15, v4", [], w),
    ("s_mov_b32 m0, 3\ns_mov_b32 s11, 77\ns_movrels_b32 s20, s8", [77], None),
    ("s_mov_b32 m0, 2\ns_mov_b64 s[10:11], 77\ns_movrels_b64 s[20:21], s[8:9]", [77, 0], None),
    ("s_mov_b32 m0, 3\ns_movreld_b32 s17, s8", [5], None),
    ("s_mov_b32 m0, 2\ns_mov_b64 s[10:11], 77\ns_movreld_b64 s[18:19], s[10:11]", [77, 0], None),
    ("s_mov_b32 m0, 0x30002\ns_mov_b32 s10, 77\ns_movrelsd_2_b32 s17, s8", [77], None),
    ("v_permlane16_b32 v20, v2, 0x76543210, 0xfedcba98", [], w),
    ("v_permlane16_b32 v20, v2, 1, 0", [], lambda lane: w((lane & 16) + (1 if lane % 16 == 0 else 0))),
    ("v_permlanex16_b32 v20, v2, 1, 0", [], lambda lane: w((lane & 16 ^ 16) + (1 if lane % 16 == 0 else 0))),
    ("v_permlane16_var_b32 v20, v2, v0", [], w),
    ("v_permlanex16_var_b32 v20, v2, v0", [], lambda lane: w(lane ^ 16)),
    ("v_mov_b32 v20, v2\nv_permlane64_b32 v20, v0", [], w),  # wave32 keeps its data
    ("v_xor_b32 v5, 4, v1\nds_bpermute_b32 v20, v5, v2\ns_nop 0", [], lambda lane: w(lane ^ 1)),
    ("v_xor_b32 v5, 4, v1\nds_permute_b32 v20, v5, v2\ns_nop 0", [], lambda lane: w(lane ^ 1)),
    ("v_xor_b32 v5, 4, v1\nds_bpermute_fi_b32 v20, v5, v2\ns_nop 0", [], lambda lane: w(lane ^ 1)),
    ("ds_swizzle_b32 v20, v2 offset:0x041f", [], lambda lane: w(lane ^ 1)),
    ("s_mov_b32 m0, 0x100\nv_mov_b32 v5, 0x100\nv_mov_b32 v6, 9\nds_write_b32 v5, v6\nds_append v20\nds_read_b32 v6, v5\n"
     "v_readfirstlane_b32 s20, v6", [9 + LANES], lambda lane: 9),
    ("s_mov_b32 m0, 0x100\nv_mov_b32 v5, 0x100\nv_mov_b32 v6, 99\nds_write_b32 v5, v6\nds_consume v20\nds_read_b32 v6, v5\n"
     "v_readfirstlane_b32 s20, v6", [99 - LANES], lambda lane: 99),
    ("s_mov_b32 m0, 0x100\nds_write_addtid_b32 v2 offset:8\nds_read_addtid_b32 v20 offset:8", [], w),
    ("ds_write_b32 v1, v2\nv_mov_b32 v5, 0xfffffffc\nv_add_u32 v5, v5, v1\nds_read_b32 v20, v5 offset:4", [], w),  # wraps at 32 bits
    ("v_lshlrev_b32 v5, 3, v0\nv_mov_b32 v6, v2\nv_mov_b32 v7, v0\nds_write_b64 v5, v[6:7]\nv_bfrev_b32 v8, 1\nv_or_b32 v8, 0x33, v8\n"
     "v_mov_b32 v9, 0x44\nds_condxchg32_rtn_b64 v[10:11], v5, v[8:9]\nds_read_b64 v[12:13], v5\nv_add_u32 v20, v10, v11\n"
     "v_add_u32 v20, v20, v12\nv_add_u32 v20, v20, v13", [], lambda lane: w(lane) + lane + 0x33 + lane),
    ("s_mov_b32 m0, 0x100\nv_mov_b32 v6, 9\nv_mov_b32 v5, 8\nds_write_b32 v5, v6 gds\nds_add_rtn_u32 v7, v5, v6 gds\n"
     "ds_read_b32 v20, v5 gds", [], lambda lane: 9 + 9 * LANES),
    ("v_mov_b32 v3, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\nv_mqsad_u32_u8 v[20:23], v[2:3], v0, v[10:13]", [],
     lambda lane: abs(w(lane) - lane) if lane else 0),
    ("s_mov_b32 s12, s4\ns_and_b32 s13, s5, 0xffff\ns_mov_b32 s14, 0x1000\ns_mov_b32 s15, 0x31027fac\ns_mov_b32 m0, 0x40\n"
     "v_lshlrev_b32 v5, 3, v0\nbuffer_load_dword v5, s[12:15], 0 offen lds\ns_waitcnt 0\nds_read_b32 v20, v1 offset:0x40", [], lambda lane: 2 * lane),
    ("s_mov_b32 s12, s4\ns_and_b32 s13, s5, 0xffff\ns_or_b32 s13, s13, 0x40000\ns_mov_b32 s14, 64\ns_mov_b32 s15, 0x800fac\ns_mov_b32 m0, 0x40\n"
     "ds_write_b32 v1, v2 offset:0x40\nbuffer_store_lds_dword s[12:15], 0 lds\nglobal_load_dword v20, v1, s[4:5]", [], w),
    ("s_getpc_b64 s[20:21]\ns_nop 0\ns_getpc_b64 s[22:23]\ns_sub_u32 s20, s22, s20\ns_mov_b32 s21, 0\ns_mov_b32 s22, 0\ns_mov_b32 s23, 0", [8], None),
    ("s_branch L\ns_mov_b32 s20, 1\nL: s_mov_b32 s21, 2", [0, 2], None),
    ("s_cmp_eq_u32 s8, 5\ns_cbranch_scc1 L\ns_mov_b32 s20, 1\nL: s_cbranch_scc0 M\ns_mov_b32 s21, 2\nM: s_nop 0", [0, 2], None),
    ("s_mov_b64 vcc, 0\ns_cbranch_vccz L\ns_mov_b32 s20, 1\nL: s_cbranch_vccnz M\ns_mov_b32 s21, 2\nM: s_nop 0", [0, 2], None),
    ("s_cbranch_execnz L\ns_mov_b32 s20, 1\nL: s_cbranch_execz M\ns_mov_b32 s21, 2\nM: s_nop 0", [0, 2], None),
    ("s_call_b64 s[10:11], L\ns_mov_b32 s20, 4\ns_branch M\nL: s_mov_b32 s21, 2\ns_setpc_b64 s[10:11]\nM: s_nop 0", [4, 2], None),
    ("s_getpc_b64 s[10:11]\ns_add_u32 s10, s10, 20\ns_addc_u32 s11, s11, 0\ns_swappc_b64 s[12:13], s[10:11]\ns_mov_b32 s20, 4\ns_branch M\n"
     "s_mov_b32 s21, 2\ns_setpc_b64 s[12:13]\nM: s_nop 0", [4, 2], None),
    ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 9\ns_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 4)\ns_setreg_b32 hwreg(HW_REG_MODE, 1, 2), s8\n"
     "s_getreg_b32 s21, hwreg(HW_REG_MODE, 0, 4)\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", [9, 9 & ~6 | (5 & 3) << 1], None),
    ("s_round_mode 6\ns_denorm_mode 9\ns_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 8)\ns_round_mode 0\ns_denorm_mode 15", [0x96], None),
    ("s_version 1\ns_mov_b32 s20, 1", [1], None),
    ("s_cbranch_cdbgsys L\ns_cbranch_cdbguser L\ns_cbranch_cdbgsys_or_user L\ns_cbranch_cdbgsys_and_user L\ns_mov_b32 s20, 1\nL: s_mov_b32 s21, 2",
     [1, 2], None),
    ("s_memtime s[10:11]\ns_memtime s[12:13]\ns_cmp_lt_u32 s10, s12\ns_cselect_b32 s20, 1, 0", [1], None),
    ("s_memrealtime s[10:11]\ns_memrealtime s[12:13]\ns_cmp_lt_u32 s10, s12\ns_cselect_b32 s20, 1, 0", [1], None),
    ("s_sendmsg_rtn_b32 s10, sendmsg(MSG_RTN_GET_REALTIME)\ns_sendmsg_rtn_b64 s[12:13], sendmsg(MSG_RTN_GET_REALTIME)\ns_cmp_lt_u32 s10, s12\n"
     "s_cselect_b32 s20, 1, 0", [1], None),
    ("s_get_waveid_in_workgroup s20\ns_nop 0", [0], None),
    ("s_barrier\ns_mov_b32 s20, 3", [3], None),
    ("s_barrier_signal -1\ns_barrier_wait -1\ns_mov_b32 s20, 3", [3], None),
    ("s_barrier_signal_isfirst -1\ns_cselect_b32 s20, 1, 0\ns_barrier_wait -1\ns_get_barrier_state s21, -1", [1, 1 | 1 << 4], None),
    ("s_mov_b32 m0, 0x20003\ns_barrier_init m0\ns_barrier_join 3\ns_barrier_signal 3\ns_barrier_signal m0\ns_barrier_wait 1\ns_barrier_leave\n"
     "s_get_barrier_state s20, m0\ns_mov_b32 s21, 2", [1 | 1 << 4, 2], None),
    ("s_alloc_vgpr 3\ns_cselect_b32 s20, 1, 0", [0], None),
    ("s_cmp_eq_u32 s8, 5\ns_cselect_b32 s10, -1, 0\ns_mov_b32 s11, 1\ns_setvskip s11, 0\nv_mov_b32 v20, 9\ns_setvskip s11, 3\n"
     "v_add_u32 v20, v20, v2", [], w),
    ("v_mov_b32 v7, v2\ns_mov_b32 s11, 3\ns_set_gpr_idx_on s11, 1\nv_mov_b32 v20, v4\ns_set_gpr_idx_off", [], w),
    ("v_mov_b32 v7, v2\ns_mov_b32 s11, 1\ns_set_gpr_idx_on s11, 1\ns_set_gpr_idx_mode 8\ns_mov_b32 s11, 13\ns_set_gpr_idx_idx s11\nv_mov_b32 v7, v7\n"
     "s_set_gpr_idx_off", [], w),
    ("s_mov_b64 s[14:15], exec\ns_mov_b32 s10, 0xff\ns_mov_b32 s11, 0\ns_getpc_b64 s[12:13]\ns_add_u32 s12, s12, 20\ns_addc_u32 s13, s13, 0\n"
     "s_cbranch_g_fork s[10:11], s[12:13]\nv_add_u32 v20, 7, v20\ns_branch J\nv_add_u32 v20, 9, v20\nJ: s_mov_b32 s16, 0\ns_cbranch_join s16\n"
     "s_mov_b64 exec, s[14:15]", [], lambda lane: 9 if lane < 8 else 7),
    ("s_mov_b64 s[14:15], exec\ns_mov_b32 s10, 0xff\ns_mov_b32 s11, 0\ns_cbranch_i_fork s[10:11], L\nv_add_u32 v20, 7, v20\ns_branch J\n"
     "L: v_add_u32 v20, 9, v20\nJ: s_mov_b32 s16, 0\ns_cbranch_join s16\ns_mov_b64 exec, s[14:15]", [], lambda lane: 9 if lane < 8 else 7),
    ("s_subvector_loop_begin s10, E\nB: v_add_u32 v20, 1, v20\ns_subvector_loop_end s10, B\nE: s_nop 0", [], lambda lane: 1),
    ("global_load_addtid_b32 v20, s[4:5] offset:8\ns_nop 0", [], lambda lane: lane + 2),
    ("global_load_dword_addtid v20, s[4:5] offset:8\ns_nop 0", [], lambda lane: lane + 2),
    ("global_store_addtid_b32 v2, s[4:5]\nglobal_load_b32 v20, v1, s[4:5]", [], w),
    ("global_store_dword_addtid v2, s[4:5]\nglobal_load_dword v20, v1, s[4:5]", [], w),
    ("s_mov_b32 m0, 5\nv_mov_b32 v22, 9\nv_lshlrev_b32 v5, 3, v0\nv_mov_b32 v6, s4\nv_mov_b32 v7, s5\nv_add_nc_u32 v6, v6, v5\n"
     "global_load_block v[20:51], v[6:7], off", [], lambda lane: 2 * lane),
    ("s_mov_b32 m0, 1\nv_mov_b32 v6, s4\nv_mov_b32 v7, s5\nv_add_nc_u32 v6, v6, v1\nv_mov_b32 v24, v2\nglobal_store_block v[6:7], v[24:55], off\n"
     "global_load_b32 v20, v1, s[4:5]", [], w),
    ("s_mov_b32 m0, 1\nv_mov_b32 v24, v2\nv_mov_b32 v6, 4\nscratch_store_block v6, v[24:55], off\nscratch_load_block v[20:51], v6, off", [], w),
    ("v_lshlrev_b32 v5, 4, v0\nv_mov_b32 v6, s4\nv_mov_b32 v7, s5\nv_add_nc_u32 v6, v6, v5\nglobal_load_tr_b128 v[20:23], v[6:7], off", [],
     lambda lane: 0 if lane % 2 else (lane // 8 * 64 + lane % 8) // 2 | (lane // 8 * 64 + 8 + lane % 8) // 2 << 16),
    ("v_lshlrev_b32 v5, 3, v0\nv_mov_b32 v6, s4\nv_mov_b32 v7, s5\nv_add_nc_u32 v6, v6, v5\nglobal_load_tr_b64 v[20:21], v[6:7], off", [],
     lambda lane: sum(bytes_of((lane // 8 * 64 + 8 * i + lane % 8) // 4)[lane % 4] << 8 * i for i in range(4))),
]  # fmt: skip
NOTHING = [
    "s_nop 1", "s_sleep 1", "s_setprio 1", "s_waitcnt 0", "s_icache_inv", "s_incperflevel 1", "s_decperflevel 1", "s_ttracedata",
    "s_ttracedata_imm 1", "s_clause 0x1", "s_wait_idle", "s_waitcnt_depctr 0", "s_wait_alu 0", "s_delay_alu 0", "s_wait_event 0",
    "s_wait_loadcnt 0", "s_wait_storecnt 0", "s_wait_samplecnt 0", "s_wait_bvhcnt 0", "s_wait_expcnt 0", "s_wait_dscnt 0", "s_wait_kmcnt 0",
    "s_wait_loadcnt_dscnt 0", "s_wait_storecnt_dscnt 0", "s_waitcnt_vscnt null, 0", "s_waitcnt_vmcnt null, 0", "s_waitcnt_expcnt null, 0",
    "s_waitcnt_lgkmcnt null, 0", "v_nop", "v_pipeflush", "v_clrexcp", "ds_nop", "s_inst_prefetch 1", "s_set_inst_prefetch_distance 1",
    "s_wakeup", "s_setkill 0", "s_sethalt 0", "s_sendmsg sendmsg(MSG_INTERRUPT)", "s_sleep_var s8", "buffer_gl0_inv", "buffer_gl1_inv",
    "buffer_wbinvl1", "buffer_wbinvl1_vol",
    "buffer_wbinvl1_sc", "s_gl1_inv", "s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol", "global_inv",
    "global_wb", "global_wbinv", "s_dcache_discard s[4:5], 0", "s_dcache_discard_x2 s[4:5], 0", "s_atc_probe 1, s[4:5], 0",
    "s_atc_probe_buffer 1, s[4:7], 0", "s_prefetch_data s[4:5], 0, s8, 0", "s_prefetch_data_pc_rel 0, s8, 0", "s_prefetch_inst s[4:5], 0, s8, 0",
    "s_prefetch_inst_pc_rel 0, s8, 0", "s_buffer_prefetch_data s[4:7], 0, s8, 0", "s_version 1",
    "buffer_wbl2 sc1", "buffer_inv sc1",
]  # fmt: skip
STOPS = {"s_trap 1": "trap", "s_sendmsghalt sendmsg(MSG_INTERRUPT)": "trap", "s_code_end": "not an instruction", "s_sethalt 1": "trap"}
ENDS = ["s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"]


def finish(target: str) -> str:
    late = target not in (*GCN, "gfx1010", "gfx1030")
    store = "global_store_b32" if late else "global_store_dword"
    moves = "\n".join(f"v_mov_b32 v14, s{20 + i}\n{store} v1, v14, s[6:7] offset:{128 * (1 + i)}" for i in range(4))
    high = "s_mov_b32 exec_hi, 0\n" if target in GCN else ""
    return f"s_mov_b32 exec_lo, -1\n{high}s_waitcnt 0\nv_mov_b32 v1, v0\nv_lshlrev_b32 v1, 2, v1\n{store} v1, v20, s[6:7]\n{moves}\ns_endpgm\n"


def local_names(text: str, target: str) -> str:
    """Spellings of the generation for the helpers of the texts."""
    late, names = target not in (*GCN, "gfx1010", "gfx1030"), {}
    if target not in GCN:
        names["v_add_u32"] = "v_add_nc_u32"
    if late:
        names |= {"ds_write_b32": "ds_store_b32", "ds_read_b32": "ds_load_b32", "ds_write_b64": "ds_store_b64", "ds_read_b64": "ds_load_b64",
                  "ds_write_addtid_b32": "ds_store_addtid_b32", "ds_read_addtid_b32": "ds_load_addtid_b32"}  # fmt: skip
    if target == "gfx1200":
        names |= {"s_add_u32": "s_add_co_u32", "s_addc_u32": "s_add_co_ci_u32", "s_sub_u32": "s_sub_co_u32"}
    return re.sub(r"\b[a-z]\w+", lambda match: names.get(match[0], match[0]), text)


@cache
def supported(target: str) -> tuple[list[int], list[int], list[str]]:
    """Cases, instructions that do nothing, and stops and ends that LLVM has for a target."""
    texts = [re.sub(r"\b[A-Z]: ", "", local_names(text, target)) for text, _, _ in CASES]
    texts = [re.sub(r", [A-Z]\b", ", 1", re.sub(r"(branch\w*) [A-Z]\b", r"\1 1", text)) for text in texts]
    others = [*NOTHING, *STOPS, *ENDS]
    _, errors = assemble_each(texts + others, target)
    kept = [number for number in range(len(texts)) if number not in errors]
    fine = [number for number in range(len(NOTHING)) if number + len(texts) not in errors]
    return kept, fine, [text for number, text in enumerate(others) if number >= len(NOTHING) and number + len(texts) not in errors]


def coverage(target: str) -> set[str]:
    """Mnemonics that the tests below run on a target."""
    kept, fine, more = supported(target)
    lines = [line for number in kept for line in local_names(CASES[number][0], target).split("\n")]
    lines += [NOTHING[number] for number in fine] + more
    names = {re.sub(r"^[A-Z]: ", "", line).split(" ")[0] for line in lines}
    return names | {mnemonic for mnemonic, _, _ in scalar_rows(target)}


def run(target: str, text: str, memory: np.ndarray) -> np.ndarray:
    device = Device(target, "reference")
    contents, results = device.buffer(memory), device.buffer(np.zeros((5, LANES), np.uint32))
    user = [0, 0, 0, 0, contents.address & M32, contents.address >> 32, results.address & M32, results.address >> 32]
    code = assemble_object(START + text + "\n" + finish(target), target, 64 if target in GCN else 32)
    device.run(code, (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=64 if target in GCN else 32, lds_bytes=1024,
               scratch_bytes_per_lane=256, float_mode=0xF0)
    return results.numpy()


def beyond_in_first_lane(lane: int) -> int:
    return w(lane) if lane else 0


@pytest.mark.parametrize("target", TARGETS)
def test_programs(target: str) -> None:
    wrong = []
    for number in supported(target)[0]:
        text, scalars, lanes = CASES[number]
        try:
            results = run(target, local_names(text, target), np.arange(1024, dtype=np.uint32))
        except Exception as error:
            wrong.append(f"{text!r}: {type(error).__name__} {str(error)[:200]}")
            continue
        got = [int(results[1 + i, 0]) for i in range(len(scalars))]
        if got != [value & M32 for value in scalars]:
            wrong.append(f"{text!r}: {got}, expected {scalars}")
        if target == "gfx600" and "0xfffffffc" in text:         # there the sum does not wrap: it is out of range
            lanes = beyond_in_first_lane
        if lanes is not None and [int(v) for v in results[0]] != [lanes(lane) & M32 for lane in range(LANES)]:
            wrong.append(f"{text!r}: {[int(v) for v in results[0]]}, expected {[lanes(lane) for lane in range(LANES)]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", TARGETS)
def test_what_changes_nothing(target: str) -> None:
    """Waits, hints and cache control leave registers, SCC and EXEC as they were."""
    lines = [NOTHING[number] for number in supported(target)[1]]
    text = "v_mov_b32 v20, v2\ns_cmp_eq_u32 s8, 5\n" + "\n".join(lines) + "\ns_cselect_b32 s20, 1, 0\ns_mov_b32 s21, s8\ns_mov_b32 s22, exec_lo"
    results = run(target, text, np.arange(1024, dtype=np.uint32))
    assert [int(v) for v in results[0]] == [w(lane) for lane in range(LANES)]
    assert [int(results[i, 0]) for i in (1, 2, 3)] == [1, 5, M32]


@pytest.mark.parametrize("target", TARGETS)
def test_stops_and_ends(target: str) -> None:
    for text in supported(target)[2]:
        code = assemble_object(f"{text}\ns_endpgm\n", target)
        if text in ENDS:
            assert Device(target, "reference").run(code, (1, 1, 1), (LANES, 1, 1), wave_size=64 if target in GCN else 32).instructions == 1
            continue
        with pytest.raises(emu.EmulationError, match=STOPS[text]):
            Device(target, "reference").run(code, (1, 1, 1), (LANES, 1, 1), wave_size=64 if target in GCN else 32)


# -------------------------------------------------------------------------------------------------------- scalar memory
@cache
def scalar_rows(target: str) -> list[tuple[str, str, Access]]:
    generation, found = TARGETS[target], []
    for row in opcodes.rows():
        if generation in row.numbers and row.format == "smem":
            access = Access(row.name)
            if access.kind in ("load", "store") or (access.kind == "atomic" and atomic_model(access.operation, 8 * access.width)):
                found.append((row.spelling(generation), row.name, access))
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_scalar_memory(target: str) -> None:
    """Loads to s16 on, stores and atomics from there; 16 bytes into memory."""
    rows = scalar_rows(target)
    texts = []
    for mnemonic, name, access in rows:
        count = access.count if access.kind != "atomic" else access.width // 4 * (2 if access.operation == "cmpswap" else 1)
        base = "s[12:15]" if "buffer" in name else "s[4:5]"
        flags = " glc" if access.kind == "atomic" else ""
        texts.append(f"{mnemonic} {registers(16, count, 's')}, {base}, 0x10{flags}")
    codes, refused = assemble_each(texts, target)
    assert not refused, {rows[number][0]: text for number, text in refused.items()}
    late = target not in (*GCN, "gfx1010", "gfx1030")
    store = "global_store_b32" if late else "global_store_dword"
    head = ["s_mov_b32 s12, s4", "s_and_b32 s13, s5, 0xffff", "s_mov_b32 s14, 0x80", "s_mov_b32 s15, 0x31016fac"]
    head += [f"s_mov_b32 s{16 + i}, {0x1234567 * (i + 1) & M32:#x}" for i in range(16)]
    tail = ["v_mov_b32 v1, 0"]
    for i in range(16):
        tail += [f"v_mov_b32 v2, s{16 + i}", f"{store} v1, v2, s[6:7] offset:{4 * i}"]
    (before, after), errors = assemble_each(["\n".join(head), "\n".join([*tail, "s_endpgm"])], target)
    assert not errors, errors
    memory = np.random.default_rng(9).integers(0, 1 << 32, 32, dtype=np.uint64).astype(np.uint32)
    wrong = []
    for (mnemonic, _, access), code in zip(rows, codes, strict=True):
        device = Device(target, "reference")
        contents, results = device.buffer(memory), device.buffer(np.zeros(16, np.uint32))
        user = [0, 0, 0, 0, contents.address & M32, contents.address >> 32, results.address & M32, results.address >> 32]
        device.run(before + code + after, (1, 1, 1), (1, 1, 1), user_sgprs=user, wave_size=64 if target in GCN else 32)
        image = bytearray(memory.tobytes())
        wanted = [0x1234567 * (i + 1) & M32 for i in range(16)]
        dwords = access.width // 4
        if access.kind == "store":
            image[16 : 16 + 4 * access.count] = struct.pack(f"<{access.count}I", *wanted[: access.count])
        elif access.kind == "load":
            for i in range(access.count):
                at = 16 + 4 * i
                wanted[i] = int.from_bytes(image[at : at + access.width], "little", signed=access.signed) & M32
        else:
            old = int.from_bytes(image[16 : 16 + access.width], "little")
            datum, other = (sum(wanted[k * dwords + i] << 32 * i for i in range(dwords)) for k in range(2))
            model = atomic_model(access.operation, 8 * access.width)
            assert model is not None, access.operation
            image[16 : 16 + access.width] = model(old, datum, other).to_bytes(access.width, "little")
            for i in range(dwords):
                wanted[i] = old >> 32 * i & M32
        if [int(v) for v in results.numpy()] != wanted or contents.numpy().tobytes() != bytes(image):
            wrong.append(f"{mnemonic}: {[hex(int(v)) for v in results.numpy()]}, expected {[hex(v) for v in wanted]}")
    print(f"{target}: {len(rows)} scalar memory mnemonics")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("barriers", [1, 2, 3])
@pytest.mark.parametrize("waves", [1, 2, 4])
def test_the_last_wave_at_a_barrier_may_reach_the_next_first(engine: str, barriers: int, waves: int) -> None:
    """It lets the others go on within its own turn, so they must not be counted as waiting."""
    code = isa.assemble("s_barrier_signal -1\ns_barrier_wait -1\n" * barriers + "s_endpgm", "gfx1200")
    report = emu.Device("gfx1200", engine=engine).run(code, workgroup_size=(32 * waves, 1, 1), wave_size=32)
    assert report.instructions == waves * (2 * barriers + 1)
