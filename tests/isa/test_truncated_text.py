"""Text that ends anywhere: every prefix of a source is assembled or refused, and nothing behind its end is read (seen with AddressSanitizer)."""

from __future__ import annotations

import pytest

from pyaco import isa
from pyaco.errors import PyacoError

SOURCES = {
    "gfx900": "v_mov_b32_sdwa v0, sext(v1) dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:WORD_1\nexp mrt0 v0, v1, v2, v3 done vm\n",
    "gfx942": "v_accvgpr_read_b32 v0, acc1\nv_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31] blgp:2\n",
    "gfx1030": "v_mov_b32_dpp v0, v1 row_shl:4 row_mask:0xf bank_mask:0xf bound_ctrl:0\nimage_load v[0:3], v[4:5], s[0:7] dmask:0xf dim:2D\n"
               "ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM, 0, 1, 2, 3)\ns_waitcnt vmcnt(0) & lgkmcnt(0)\n",
    "gfx1100": "v_fma_f32 v0, -|v1|, abs(v2), neg(v3)\ns_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)\n"
               "v_dual_mul_f32 v0, v1, v2 :: v_dual_mov_b32 v3, lit(0x3f800000)\ns_sendmsg sendmsg(MSG_INTERRUPT)\n",
    "gfx1200": ".set x, (1 << 3) | 4 - 2\n.cfi_sections .debug_frame\ns_wait_loadcnt_dscnt 0x301 ; of both\n"
               "global_load_b32 v0, v1, s[0:1] offset:x th:TH_LOAD_NT scope:SCOPE_DEV\n.amdgpu_metadata\n---\n.end_amdgpu_metadata\n",
}  # fmt: skip


@pytest.mark.parametrize("target", SOURCES)
def test_every_prefix(target: str) -> None:
    source = SOURCES[target]
    isa.assemble(source, target)
    refused = 0
    for length in range(len(source)):
        try:
            isa.assemble(source[:length], target)
        except PyacoError:
            refused += 1
    assert refused > len(source) // 3
