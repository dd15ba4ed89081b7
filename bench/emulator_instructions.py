"""What an instruction costs in the fast engine, by kind: ns of CPU time for a wave of 32 (of 64 where the target has no other), the slowest first.

Waves execute a loop with sixteen copies of the instruction; what the loop takes without them is subtracted. Addresses are those of full waves:
the same dword in all lanes, dwords side by side, 64 bytes apart, or scattered over 16 KiB.

``python bench/emulator_instructions.py [--lanes N] [word ...]`` prints a table of all kinds, or of those whose name has a word in it, with all lanes
active or the first N; pytest runs each once.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyaco import isa
from pyaco.emu import Device

LOOPS, COPIES, GROUPS, TURNS = 60, 16, 8, 9
MEMORY = 1 << 16

#: v10: the same, v11: side by side, v12: 64 bytes apart, v13: scattered, all below 16 KiB; v[14:15] is an address side by side. s[4:5]: memory.
#: v16 has two halves that are NaNs, v17 is one.
SETUP = """
    v_and_b32 v0, 0x3ff, v0
    v_and_b32 v0, 63, v0
    v_mov_b32 v10, 0x40
    v_lshlrev_b32 v11, 2, v0
    v_lshlrev_b32 v12, 6, v0
    v_mul_u32_u24 v13, 0x9e3779, v0
    v_and_b32 v13, 0x3ffc, v13
    v_mov_b32 v15, s1
    s_mov_b32 s4, s0
    s_mov_b32 s5, s1
    s_mov_b32 s8, s0
    s_mov_b32 s9, s1
    s_mov_b32 s10, 0x10000
    s_mov_b32 s11, {descriptor}
    s_mov_b32 s14, 0x76543210
    s_mov_b32 s15, 0xfedcba98
    v_cvt_f32_u32 v1, v0
    v_mov_b32 v2, 0x3f7fffff
    v_mov_b32 v3, 0x3e800000
    v_mov_b32 v4, 0x3c003800
    v_mov_b32 v5, 0x38003c00
    v_mov_b32 v6, 0x3ff00000
    v_mov_b32 v7, 0x3ff80000
    v_mov_b32 v8, 0x40100000
    v_mov_b32 v9, 0x40080000
    v_mov_b32 v16, 0x7e017c05
    v_mov_b32 v17, 0x7fc00001
"""
MATRIX_SETUP = "".join(f"    v_mov_b32 v{row}, {'0x3c003800' if row < 64 else 0}\n" for row in range(40, 96))


class Kind(NamedTuple):
    """An instruction, of a target."""

    text: str
    target: str = "gfx1100"
    wave: int = 32


def _memory_kinds() -> dict[str, Kind]:
    """Loads, stores and atomics, by addresses."""
    places = {"same": "v10", "side by side": "v11", "64 bytes apart": "v12", "scattered": "v13"}
    forms = {
        "global_load_b32": "global_load_b32 v20, {place}, s[4:5]", "global_load_b128": "global_load_b128 v[20:23], {place}, s[4:5]",
        "global_load_u8": "global_load_u8 v20, {place}, s[4:5]", "global_store_b32": "global_store_b32 {place}, v1, s[4:5]",
        "global_store_b8": "global_store_b8 {place}, v1, s[4:5]",
        "global_store_b128": "global_store_b128 {place}, v[1:4], s[4:5]", "global_atomic_add_u32": "global_atomic_add_u32 {place}, v0, s[4:5]",
        "global_atomic_add_u32, returns": "global_atomic_add_u32 v20, {place}, v0, s[4:5] glc",
        "global_atomic_max_i32": "global_atomic_max_i32 {place}, v0, s[4:5]", "global_atomic_add_f32": "global_atomic_add_f32 {place}, v3, s[4:5]",
        "global_atomic_cmpswap_b32": "global_atomic_cmpswap_b32 v20, {place}, v[0:1], s[4:5] glc",
        "global_atomic_add_u64": "global_atomic_add_u64 {place}, v[0:1], s[4:5]",
        "buffer_load_b32": "buffer_load_b32 v20, {place}, s[8:11], 0 offen", "buffer_store_b32": "buffer_store_b32 v1, {place}, s[8:11], 0 offen",
        "buffer_atomic_add_u32": "buffer_atomic_add_u32 v0, {place}, s[8:11], 0 offen",
        "ds_load_b32": "ds_load_b32 v20, {place}", "ds_load_b128": "ds_load_b128 v[20:23], {place}", "ds_store_b32": "ds_store_b32 {place}, v1",
        "ds_add_u32": "ds_add_u32 {place}, v0", "ds_add_rtn_u32": "ds_add_rtn_u32 v20, {place}, v0", "ds_max_i32": "ds_max_i32 {place}, v0",
        "ds_add_f32": "ds_add_f32 {place}, v3", "ds_cmpstore_rtn_b32": "ds_cmpstore_rtn_b32 v20, {place}, v0, v1",
        "scratch_load_b32": "scratch_load_b32 v20, {place}, off", "scratch_store_b32": "scratch_store_b32 {place}, v1, off",
        "scratch_load_b128": "scratch_load_b128 v[20:23], {place}, off",
    }  # fmt: skip
    return {f"{name}, {where}": Kind(form.format(place=place)) for name, form in forms.items() for where, place in places.items()}


_VECTOR = (
    "v_mov_b32 v20, v1", "v_add_f32 v20, v1, v2", "v_add_f32 v20, s14, |v2|", "v_mul_f32 v20, v1, v2 clamp", "v_fma_f32 v20, v1, v2, v3",
    "v_max_f32 v20, v1, v2", "v_max3_f32 v20, v1, v2, v3", "v_med3_f32 v20, v1, v2, v3", "v_cmp_lt_f32 vcc_lo, v1, v2",
    "v_cndmask_b32 v20, v1, v2, vcc_lo", "v_floor_f32 v20, v1", "v_rndne_f32 v20, v1", "v_fract_f32 v20, v1", "v_cvt_i32_f32 v20, v1",
    "v_cvt_f32_u32 v20, v0", "v_cvt_f16_f32 v20, v1", "v_cvt_f32_f16 v20, v4", "v_cvt_pk_rtz_f16_f32 v20, v1, v2", "v_rcp_f32 v20, v2",
    "v_sqrt_f32 v20, v2", "v_rsq_f32 v20, v2", "v_exp_f32 v20, v2", "v_log_f32 v20, v2", "v_sin_f32 v20, v2", "v_cos_f32 v20, v2",
    "v_ldexp_f32 v20, v1, v0", "v_frexp_exp_i32_f32 v20, v1", "v_frexp_mant_f32 v20, v1", "v_div_scale_f32 v20, vcc_lo, v2, v2, v1",
    "v_div_fmas_f32 v20, v1, v2, v3", "v_div_fixup_f32 v20, v1, v2, v3", "v_add_nc_u32 v20, v0, v1", "v_mul_lo_u32 v20, v0, v1",
    "v_mul_hi_u32 v20, v0, v1", "v_mad_u64_u32 v[20:21], null, v0, v1, v[2:3]", "v_mad_u32_u24 v20, v0, v1, v2", "v_lshlrev_b64 v[20:21], v0, v[2:3]",
    "v_bfe_u32 v20, v1, 3, 5", "v_bfi_b32 v20, v1, v2, v3", "v_perm_b32 v20, v1, v2, 0x05010400", "v_perm_b32 v20, v1, v2, 0x0c0c0501",
    "v_alignbit_b32 v20, v1, v2, v0",
    "v_bcnt_u32_b32 v20, v1, v0", "v_mbcnt_lo_u32_b32 v20, -1, v0",
    "v_clz_i32_u32 v20, v1", "v_bfrev_b32 v20, v1", "v_sad_u8 v20, v1, v2, v0", "v_add_co_u32 v20, vcc_lo, v0, v1",
    "v_dot4_i32_iu8 v20, v1, v2, v0", "v_dot4_u32_u8 v20, v1, v2, v0", "v_dot8_i32_iu4 v20, v1, v2, v0", "v_dot2_f32_f16 v20, v4, v5, v3",
    "v_dot2_f32_bf16 v20, v4, v5, v3", "v_pk_fma_f16 v20, v4, v5, v4", "v_pk_fma_f16 v20, v4, v5, v16",
    "v_fma_f16 v20, v4, v5, v16", "v_fma_f32 v20, v1, v2, v17", "v_pk_add_u16 v20, v4, v5", "v_fma_f16 v20, v4, v5, v4", "v_rcp_f16 v20, v4",
    "v_exp_f16 v20, v4", "v_fma_mix_f32 v20, v4, v5, v3 op_sel_hi:[1,1,0]", "v_add_f64 v[20:21], v[5:6], v[6:7]",
    "v_fma_f64 v[20:21], v[5:6], v[6:7], v[7:8]", "v_rcp_f64 v[20:21], v[6:7]", "v_sqrt_f64 v[20:21], v[6:7]", "v_cvt_f64_f32 v[20:21], v1",
    "v_cvt_f32_f64 v20, v[6:7]", "v_cmp_lt_f64 vcc_lo, v[5:6], v[6:7]", "v_ldexp_f64 v[20:21], v[6:7], v0",
    "v_add_f32_dpp v20, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "v_mov_b32_dpp v20, v1 row_share:15 row_mask:0xa bank_mask:0xf bound_ctrl:1",
    "v_mov_b32_dpp v20, v1 dpp8:[7,6,5,4,3,2,1,0]", "v_permlane16_b32 v20, v1, s14, s15", "v_permlanex16_b32 v20, v1, s14, s15",
    "v_readlane_b32 s16, v1, 31", "v_writelane_b32 v20, s14, 5", "v_readfirstlane_b32 s16, v1", "ds_bpermute_b32 v20, v11, v1",
    "ds_permute_b32 v20, v11, v1", "ds_swizzle_b32 v20, v1 offset:swizzle(SWAP,16)", "ds_load_2addr_b32 v[20:21], v11 offset1:8",
    "ds_store_2addr_b32 v11, v0, v1 offset1:64", "s_add_u32 s16, s14, s15", "s_mul_i32 s16, s14, s15", "s_lshl_b64 s[16:17], s[14:15], 3",
    "s_bcnt1_i32_b32 s16, s14", "s_cselect_b32 s16, s14, s15", "s_and_saveexec_b32 s16, -1", "s_load_b32 s16, s[4:5], 0x0",
    "s_load_b128 s[16:19], s[4:5], 0x0", "s_nop 0", "v_dual_add_f32 v20, v1, v2 :: v_dual_mul_f32 v21, v0, v3",
)  # fmt: skip
_MATRIX = {
    "v_wmma_f32_16x16x16_f16": Kind("v_wmma_f32_16x16x16_f16 v[64:71], v[40:47], v[48:55], v[64:71]"),
    "v_wmma_f16_16x16x16_f16": Kind("v_wmma_f16_16x16x16_f16 v[64:71], v[40:47], v[48:55], v[64:71]"),
    "v_wmma_f32_16x16x16_bf16": Kind("v_wmma_f32_16x16x16_bf16 v[64:71], v[40:47], v[48:55], v[64:71]"),
    "v_wmma_i32_16x16x16_iu8": Kind("v_wmma_i32_16x16x16_iu8 v[64:71], v[40:43], v[48:51], v[64:71]"),
    "v_wmma_i32_16x16x16_iu4": Kind("v_wmma_i32_16x16x16_iu4 v[64:71], v[40:41], v[48:49], v[64:71]"),
    "v_mfma_f32_32x32x8_f16": Kind("v_mfma_f32_32x32x8_f16 v[64:79], v[40:41], v[48:49], v[64:79]", "gfx942", 64),
    "v_mfma_f32_32x32x2_f32": Kind("v_mfma_f32_32x32x2_f32 v[64:79], v40, v48, v[64:79]", "gfx942", 64),
    "v_mfma_f32_4x4x4_16b_f16": Kind("v_mfma_f32_4x4x4_16b_f16 v[64:67], v[40:41], v[48:49], v[64:67]", "gfx942", 64),
    "v_mfma_i32_32x32x16_i8": Kind("v_mfma_i32_32x32x16_i8 v[64:79], v[40:41], v[48:49], v[64:79]", "gfx942", 64),
    "v_mfma_f64_16x16x4_f64": Kind("v_mfma_f64_16x16x4_f64 v[64:71], v[40:41], v[48:49], v[64:71]", "gfx942", 64),
    "v_smfmac_f32_32x32x16_f16": Kind("v_smfmac_f32_32x32x16_f16 v[64:79], v[40:41], v[48:51], v0", "gfx942", 64),
}  # fmt: skip


def kinds() -> dict[str, Kind]:
    """Return all kinds by name."""
    plain = {text: Kind(text) for text in _VECTOR}
    return {**plain, **_memory_kinds(), **_MATRIX}


class Prepared:
    """A kernel with a loop over copies of an instruction, or over none."""

    def __init__(self, kind: Kind, copies: int = COPIES, engine: str = "fast", lanes: int = 0) -> None:
        self.kind = kind
        self.device = Device(kind.target, engine, 1)
        self.memory = self.device.buffer(np.zeros(MEMORY, np.uint8))
        setup = SETUP.format(descriptor="0x31016000") + MATRIX_SETUP
        tail = "    s_sub_i32 s2, s2, 1\n    s_cmp_lg_u32 s2, 0\n    s_cbranch_scc1 loop\n    s_endpgm\n"
        if lanes:
            setup += f"    s_mov_b32 exec_lo, {(1 << lanes) - 1:#x}\n" + "    s_mov_b32 exec_hi, 0\n" * (kind.wave == 64)
        text = f"{setup}    s_movk_i32 s2, {LOOPS}\nloop:\n" + f"    {kind.text}\n" * copies + tail
        self.code = isa.assemble(text, kind.target, wave_size=kind.wave)

    def run(self) -> None:
        """Dispatch once."""
        address = self.memory.address
        scratch = MEMORY // 2 if "scratch" in self.kind.text else 0
        self.device.run(self.code, (GROUPS, 1, 1), (self.kind.wave, 1, 1), user_sgprs=(address & 0xFFFFFFFF, address >> 32),
                        wave_size=self.kind.wave, lds_bytes=1 << 15, scratch_bytes_per_lane=scratch)  # fmt: skip

    def seconds(self, turns: int = TURNS) -> float:
        """Return the least CPU time of a dispatch."""
        self.run()
        times = []
        for _ in range(turns):
            start = time.process_time()
            self.run()
            times.append(time.process_time() - start)
        return min(times)


def nanoseconds(kind: Kind, engine: str = "fast", turns: int = TURNS, lanes: int = 0) -> float:
    """Return what an instruction costs."""
    least = Prepared(kind, COPIES, engine, lanes).seconds(turns) - Prepared(kind, 0, engine, lanes).seconds(turns)
    return least * 1e9 / (GROUPS * LOOPS * COPIES)


@pytest.mark.parametrize("name", list(kinds()))
def test_runs(name: str) -> None:
    """Each can be assembled and run."""
    Prepared(kinds()[name], 1).run()


def main(words: list[str]) -> None:
    """Print the table."""
    lanes = 0
    if words[:1] == ["--lanes"]:
        lanes, words = int(words[1]), words[2:]
    chosen = {name: kind for name, kind in kinds().items() if not words or any(word in name for word in words)}
    rows = [(nanoseconds(kind, lanes=lanes), name, kind) for name, kind in chosen.items()]
    print(f"{'ns':>8}{'reference':>11}   instruction")
    for took, name, kind in sorted(rows, reverse=True):
        of = "" if kind.target == "gfx1100" else f"   ({kind.target}, wave{kind.wave})"
        print(f"{took:8.1f}{nanoseconds(kind, 'reference', 1, lanes):11.0f}   {name}{of}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
