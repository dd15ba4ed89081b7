"""Steps of the fast engine with some of the lanes: halves of waves without an active one, scratch, atomics, lanes of others. All engines do the
same, whichever lanes are active, also where idle ones hold NaNs."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import isa
from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu_fast import engine as fast_engine
from pyaco.emu import Device

TARGET = "gfx1100"
RESULTS = (2, 3, 8, 9, 10, 11, 12, 13)
SCRATCH = 62                          # bytes a lane: not whole dwords
#: v1 is 4 * lane, v2 and v3 are random words, v4 small numbers, v5 singles with NaNs, v6 and v7 the lane's address in memory; results in v8 to v13.
GROUPS = {
    "scratch": (
        "v_mov_b32 v8, 20", "scratch_store_b32 v8, v2, off offset:4", "scratch_store_b64 off, v[2:3], s20 offset:8",
        "scratch_store_b8 off, v3, off offset:6",
        "scratch_store_b16 v8, v3, off offset:2", "scratch_store_b32 v4, v3, off offset:28", "scratch_load_b32 v9, v4, off offset:28",
        "scratch_load_b128 v[10:13], off, off offset:4", "scratch_load_u16 v12, v4, off offset:30", "scratch_load_b32 v2, v8, off offset:3",
        "scratch_load_i8 v8, off, s20 offset:3",
    ),
    "divergent bytes": (
        "v_and_b32 v8, 31, v2", "scratch_store_b8 v8, v3, off offset:1", "scratch_store_b16 v8, v2, off offset:3",
        "scratch_load_b32 v9, v8, off offset:1",
        "v_and_b32 v11, 28, v8", "scratch_store_b64 v11, v[2:3], off offset:8", "scratch_load_b96 v[10:12], v11, off offset:4",
    ),
    "flat scratch": (
        "v_mov_b32 v9, 0x20000", "v_and_b32 v8, 28, v4", "flat_store_b32 v[8:9], v2", "s_waitcnt lgkmcnt(0)",
        "flat_atomic_add_u32 v10, v[8:9], v3 glc",
        "v_mov_b32 v8, 9", "flat_store_b64 v[8:9], v[2:3]", "flat_atomic_add_u64 v[12:13], v[8:9], v[2:3] glc", "flat_load_b64 v[10:11], v[8:9]",
    ),
    "counter": (
        "v_mov_b32 v8, 16", "global_atomic_add_u32 v9, v8, v2, s[0:1] glc", "global_atomic_add_u32 v8, v3, s[0:1]",
        "buffer_atomic_add_u32 v3, v8, s[12:15], 0 offen offset:4 glc", "ds_add_rtn_u32 v10, v8, v2", "ds_add_u32 v8, v4", "ds_load_b32 v11, v8",
    ),
    "atomics": (
        "global_atomic_max_i32 v8, v1, v2, s[0:1] glc", "global_atomic_cmpswap_b32 v9, v4, v[2:3], s[0:1] glc",
        "global_atomic_xor_b32 v[6:7], v3, off",
        "buffer_atomic_inc_u32 v4, v1, s[12:15], 0 offen", "global_atomic_add_u64 v[10:11], v1, v[2:3], s[0:1] offset:16 glc",
        "global_atomic_add_f32 v4, v5, s[0:1]", "flat_atomic_and_b32 v12, v[6:7], v3 glc", "global_atomic_cmpswap_b64 v1, v[2:5], s[0:1] offset:512",
        "buffer_atomic_swap_b32 v13, v1, s[12:15], 0 offen offset:3968 glc",
    ),
    "lanes of others": (
        "v_swap_b32 v2, v3", "v_permlane16_b32 v8, v2, s20, s21", "v_permlanex16_b32 v9, v3, s21, s20",
        "v_permlanex16_b32 v10, v2, 0x76543210, -1 op_sel:[1,0]",
        "v_mov_b32 v11, v4", "v_permlane16_b32 v11, v5, s20, -1 op_sel:[0,1]", "v_permlanex16_b32 v2, v2, s20, s21 op_sel:[1,1]",
        "v_swap_b32 v12, v12",
    ),
    "singles": (
        "v_max_f32 v8, v5, v2", "v_min_f32 v9, v2, v5", "v_max3_f32 v10, |v5|, -v2, v3", "v_sqrt_f32 v11, v5", "v_rsq_f32 v12, v2",
        "v_rcp_f32 v13, v3",
        "v_add_f32 v2, |v5|, -v2", "v_med3_f32 v3, v3, v5, v8", "v_cmp_lt_f32 vcc_lo, v5, v8", "v_cndmask_b32 v8, v2, v3, vcc_lo",
        "v_fmac_f32 v9, v5, v10",
    ),
    "halves that are NaNs": (
        "v_pk_fma_f16 v8, v2, v3, v2", "v_pk_mul_f16 v9, v3, v2 neg_lo:[1,0] neg_hi:[0,1]", "v_pk_max_f16 v10, v2, v3", "v_fma_f16 v11, v2, v3, v2",
        "v_add_f16 v12, v3, v2", "v_pk_add_f16 v13, v2, v3 op_sel:[1,0] op_sel_hi:[0,1] clamp", "v_rcp_f16 v2, v5", "v_min_f16 v3, v3, v5",
    ),
    "divisions": (
        "v_div_scale_f32 v8, vcc_lo, v2, v2, v3", "v_div_fmas_f32 v9, v2, v3, v5", "v_div_scale_f32 v10, vcc_lo, v5, v3, v5",
        "v_div_fixup_f32 v11, v2, v3, v5", "v_div_fixup_f32 v12, v5, v5, v2", "v_div_fixup_f32 v13, v2, v5, v5", "v_frexp_mant_f32 v2, v5",
        "v_frexp_exp_i32_f32 v3, v5",
    ),
    "wide divisions": (
        "v_cvt_f64_f32 v[8:9], v5", "v_div_scale_f64 v[10:11], vcc_lo, v[2:3], v[2:3], v[8:9]", "v_div_fmas_f64 v[12:13], v[2:3], v[8:9], v[10:11]",
        "v_div_fixup_f64 v[10:11], v[2:3], v[8:9], v[4:5]", "v_ldexp_f64 v[12:13], v[2:3], v3", "v_frexp_mant_f64 v[2:3], v[8:9]",
        "v_frexp_exp_i32_f64 v8, v[12:13]", "v_ldexp_f64 v[12:13], v[12:13], -1050",
    ),
    "halves": (
        "v_exp_f16 v8, v2", "v_log_f16 v9, v3", "v_sin_f16 v10, v5", "v_frexp_mant_f16 v11, v2", "v_ldexp_f16 v12, v2, v3", "v_rsq_f16 v13, v2",
        "v_div_fixup_f16 v2, v2, v3, v5", "v_frexp_exp_i16_f16 v3, v3",
    ),
    "permutations": (
        "ds_permute_b32 v8, v4, v2 offset:8", "ds_permute_b32 v9, v2, v3", "ds_swizzle_b32 v10, v2 offset:0x8e4b",
        "ds_swizzle_b32 v11, v3 offset:0x7c05",
        "ds_swizzle_b32 v12, v2 offset:0xc0a3", "ds_swizzle_b32 v13, v5 offset:0xe010", "ds_bpermute_b32 v2, v3, v2",
    ),
    "bytes": (
        "v_mov_b32 v8, 0x07020500", "v_perm_b32 v9, v2, v3, v8", "v_perm_b32 v10, v3, v2, v4", "v_perm_b32 v11, v2, v3, v3",
        "v_perm_b32 v12, v5, v2, 0x01060704", "v_perm_b32 v13, v5, v2, 0x0c0b0801",
    ),
    "loads": (
        "global_load_b128 v[8:11], v4, s[0:1] offset:4", "buffer_load_b32 v12, v1, s[12:15], 0 offen offset:8", "global_load_u8 v13, v[6:7], off",
        "buffer_load_i16 v2, v4, s[12:15], s20 offen offset:2", "ds_load_b64 v[8:9], v1", "ds_load_2addr_b32 v[2:3], v1 offset0:1 offset1:3",
        "flat_load_b64 v[12:13], v[6:7]", "global_load_d16_hi_b16 v11, v4, s[0:1] offset:6", "ds_load_u16 v10, v4 offset:6",
        "buffer_load_b64 v[4:5], v4, s[12:15], 0 offen offset:4", "v_add_nc_u32 v2, v4, v2", "v_xor_b32 v3, v5, v3",
    ),
    "beyond a buffer": (
        "v_mov_b32 v8, 0xfac", "buffer_load_b32 v9, v8, s[12:15], 0 offen", "buffer_load_b128 v[10:13], v1, s[12:15], 0 offen offset:3952",
        "s_movk_i32 s14, 0x20", "buffer_load_u16 v8, v1, s[12:15], 0 offen offset:31", "buffer_load_b64 v[2:3], v4, s[12:15], s20 offen offset:29",
        "buffer_store_b32 v5, v1, s[12:15], 0 offen offset:32", "buffer_store_b8 v5, v4, s[12:15], 0 offen offset:20", "s_mov_b32 s14, 0",
        "buffer_load_b32 v9, v1, s[12:15], 0 offen", "buffer_store_b128 v[2:5], v1, s[12:15], 0 offen",
    ),
    "neighbours": (
        "global_atomic_max_u32 v8, v1, v2, s[0:1] glc", "global_atomic_min_i32 v9, v1, v3, s[0:1] offset:32 glc",
        "buffer_atomic_or_b32 v2, v1, s[12:15], 0 offen offset:16 glc", "ds_min_rtn_u32 v10, v1, v3", "ds_xor_b32 v1, v5",
        "global_atomic_cmpswap_b32 v11, v1, v[2:3], s[0:1] glc", "global_atomic_swap_b32 v3, v1, v3, s[0:1] offset:128 glc",
        "v_mov_b32 v12, 20", "global_atomic_max_i32 v13, v12, v5, s[0:1] glc", "ds_add_f32 v1, v5", "ds_and_rtn_b32 v12, v12, v2",
    ),
    "integers": (
        "v_dot4_i32_iu8 v8, v2, v3, v4 neg_lo:[1,0,0]", "v_dot4_i32_iu8 v9, v2, v3, 0x7ffffff0 neg_lo:[1,1,0] clamp",
        "v_dot4_u32_u8 v10, v2, v3, -16 clamp",
        "v_dot4_u32_u8 v11, v2, v3, v2", "v_dot4_i32_iu8 v12, v2, v2, 0x80000010 neg_lo:[1,0,0] clamp", "v_ldexp_f32 v13, v5, v4",
        "v_ldexp_f32 v2, v2, -140",
        "v_ldexp_f32 v3, v3, v2", "v_cmp_gt_u32 vcc_lo, v2, v3", "v_cndmask_b32 v8, v8, v9, vcc_lo", "v_add_nc_u32 v9, v9, v10",
    ),
}  # fmt: skip
MASKS = (0xFFFFFFFFFFFFFFFF, 0, 0xFFFF0000, 0xFFFFFFFF00000000, 0x00000000FFFFFFFF, 0x8000000000000001, 0x00F0000000000000, 0x123456789ABCDEF0)


def outcome(engine: str, lines: tuple[str, ...], wave: int, exec_mask: int, mode: int) -> tuple[np.ndarray, np.ndarray]:
    """Registers and memory after some instructions."""
    device = Device(TARGET, engine, 1)
    random = np.random.default_rng(5)
    memory = device.buffer(random.integers(0, 1 << 32, 1024, dtype=np.uint32))
    given = random.integers(0, 1 << 32, (4, 64), dtype=np.uint32)
    given[2] = 4 * random.integers(0, 6, 64)
    given[3] = random.standard_normal(64).astype(np.float32).view(np.uint32)
    given[3, ::5] = [0x7FC00001, 0x7F800001, 0xFF800000, 0x7F800000, 0x80000000, 0, 1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFFC00000, 0x3F800000, 5]
    positions, output = device.buffer(given), device.zeros(4 * 64 * len(RESULTS))
    text = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v0", *(f"global_load_b32 v{2 + row}, v1, s[2:3] offset:{256 * row}" for row in range(4))]
    text += ["s_mov_b64 s[12:13], s[0:1]", "s_movk_i32 s14, 0x1000", "s_mov_b32 s15, 0x31016fac", "s_mov_b32 s20, 8", "s_mov_b32 s21, 0xfedc3412",
             "s_waitcnt vmcnt(0)", "v_add_co_u32 v6, vcc_lo, s0, v4" if wave == 32 else "v_add_co_u32 v6, vcc, s0, v4",
             "v_mov_b32 v7, s1", "v_add_co_ci_u32 v7, vcc_lo, 0, v7, vcc_lo" if wave == 32 else "v_add_co_ci_u32 v7, vcc, 0, v7, vcc"]  # fmt: skip
    text += [f"v_mov_b32 v{row}, {row}" for row in RESULTS[2:]] + ["ds_store_b32 v1, v1", "s_waitcnt lgkmcnt(0)"]
    text += [f"s_mov_b32 exec_lo, {exec_mask & 0xFFFFFFFF:#x}", f"s_mov_b32 exec_hi, {exec_mask >> 32:#x}" if wave == 64 else "s_nop 0"]
    text += [line.replace("vcc_lo", "vcc") if wave == 64 else line for line in lines]
    text += ["s_waitcnt vmcnt(0) lgkmcnt(0)", "s_mov_b32 exec_lo, -1", "s_mov_b32 exec_hi, -1" if wave == 64 else "s_nop 0"]
    text += [f"global_store_b32 v1, v{row}, s[4:5] offset:{256 * number}" for number, row in enumerate(RESULTS)]
    code = isa.assemble("\n".join([*text, "s_endpgm", ""]), TARGET, wave_size=wave)
    user = [word for buffer in (memory, positions, output) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    device.run(code, (1, 1, 1), (64, 1, 1), user_sgprs=user, wave_size=wave, lds_bytes=512, scratch_bytes_per_lane=SCRATCH, float_mode=mode)
    return output.numpy().view(np.uint32).reshape(-1).copy(), memory.numpy().copy()


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("group", GROUPS)
def test_engines_agree(group: str, wave: int) -> None:
    """Denormals flushed, as shaders have them, and kept."""
    for exec_mask in MASKS:
        for mode in (0xC0, 0xF0):
            expected, found = (outcome(engine, GROUPS[group], wave, exec_mask, mode) for engine in ("reference", "fast"))
            differing = [RESULTS[index // 64] for index in np.flatnonzero(expected[0] != found[0])]
            assert not differing, f"EXEC {exec_mask:#x}, mode {mode:#x}: VGPRs {sorted(set(differing))}"
            assert np.array_equal(expected[1], found[1]), f"EXEC {exec_mask:#x}, mode {mode:#x}: memory"


@pytest.mark.parametrize("bits", [bits for bits in (128, 256) if fast_engine.vector_bits() > bits])
def test_loads_by_narrow_vectors(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few lanes are active, results are put into vectors of the host."""
    make = fast_engine.FastEngine

    def narrow(space: AddressSpace, gfx_level: int, threads: int = 1) -> fast_engine.FastEngine:
        return make(space, gfx_level, threads, bits)

    monkeypatch.setattr(fast_engine, "FastEngine", narrow)
    for wave in (32, 64):
        test_engines_agree("loads", wave)
