"""The compiled text tools: syntax beyond plain instructions, records, and random words through both directions."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from pyaco import isa
from pyaco._core.isa.text_tables import MappedFile, TextTables
from pyaco.errors import InputError
from pyaco.isa import opcodes
from pyaco.isa.text_tables import listing

TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1170", "gfx1200", "gfx1250", "gfx1310")
SIBLINGS = ("gfx810", "gfx902", "gfx904", "gfx906", "gfx90c", "gfx1011", "gfx1013", "gfx1103", "gfx1151", "gfx1201", "gfx1251")

# Encodings as LLVM 22's assembler gives them.
KNOWN = [
    ("gfx1030", "image_sample v[0:3], [v4, v9], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_2D", "0a0f80f00400400009000000"),
    ("gfx1030", "image_bvh_intersect_ray v[4:7], v[9:19], s[4:7]", "019f98f109040100"),
    ("gfx1200", "image_load v[1:3], [v2, v3], s[4:11] dmask:0x7 dim:2D", "0100c0d1010800000203000 0".replace(" ", "")),
    ("gfx1250", "v_perm_pk16_b4_u4 v[20:21], v4, v4, 0.15915494", "14003fd60409e203"),
    ("gfx1310", "v_perm_pk16_b8_u4 v[20:23], v[4:5], v[4:5], 0.15915494", "14004ad70409e203"),
    ("gfx900", "v_exp_f16_sdwa v5, v1 dst_sel:DWORD src0_sel:DWORD", "f9820a7e01160600"),
    ("gfx900", "v_mov_b32 v0, v0 row_shr:0xf", "fa02007e001f01ff"),
    ("gfx900", "exp null v4, v3, v2, v1 done", "9f0800c404030201"),
    ("gfx1100", "s_getreg_b32 s2, {id: 51, offset: 1, size: 31}", "73f082b8"),
    ("gfx1100", "v_dot2_bf16_bf16 v2, v0, 0x3e22, v2", "020067d600f10904"),
    ("gfx704", "s_load_dword s5, s[2:3], 0xaf123456", "ff8202c0563412af"),
    ("gfx803", "buffer_load_format_d16_xyz v[1:3], off, s[4:7], s1", "000028e000010101"),
    ("gfx1200", "v_cvt_f32_fp8_e64 v1, v2 byte_sel:1", "0110ecd502010000"),
    # an integer of a packed operand is both halves
    ("gfx1100", "v_pk_add_f16 v0, 0xffff, v1", "00400fccff020218ffff0000"),
    ("gfx1030", "v_pk_add_u16 v0, 0xfffffff0, v1", "00400accd0020218"),
    ("gfx1030", "v_pk_fmac_f16 v0, -17, v1", "ff020078efffffff"),
    # which since GFX11 can be an inline constant in both halves
    ("gfx1100", "v_pk_fmac_f16 v5, 0x38003800, v2", "f0040a78"),
    ("gfx1200", "v_pk_fmac_f16 v5, 0xc400c400, v2", "f7040a78"),
    ("gfx1100", "v_pk_fmac_f16 v5, 0x31183118, v2", "f8040a78"),
    ("gfx1100", "v_pk_fmac_f16 v5, 0.5, v2", "ff040a7800380000"),
    ("gfx1030", "v_pk_fmac_f16 v5, 0x38003800, v2", "ff040a7800380038"),
    # lane masks that can only be vcc may be left out
    ("gfx1010", "v_add_co_ci_u32_e32 v3, v3, v4", "03090650"),
    ("gfx1010", "v_cndmask_b32_dpp v0, v1, v2 dpp8:[0,1,2,3,4,5,6,7] fi:1", "ea0400020188c6fa"),
    ("gfx1100", "v_cmp_gt_u16 v1.l, v2.l row_shl:0x7 row_mask:0x0 bank_mask:0x0 fi:1", "fa04787c01070500"),
    ("gfx803", "v_cmp_ge_i32 s0, v0", "00008c7d"),
    # where the long form has no literals, constants have their signs themselves
    ("gfx803", "v_ceil_f16 v0, -abs(0xabcd)", "ff8a007ecdab0000"),
    ("gfx803", "v_add_f32 v5, neg(0xbe22f983), v2", "f8040a02"),
    ("gfx803", "v_sqrt_f32 v2, abs(lit(123))", "ff4e047e7b000000"),
    ("gfx803", "v_ceil_f64_e32 v[0:1], neg(1.0)", "f330007e"),
    ("gfx1010", "v_cndmask_b32_e32 v5, |-4.0|, v2, vcc_lo", "f6040a02"),
    ("gfx1100", "s_wait_event { dont_wait_export_ready: 1 }", "01008bbf"),
    ("gfx1100", "s_wait_event {}", "00008bbf"),
    ("gfx1200", "s_wait_event { export_ready: 0 }", "00008bbf"),
    ("gfx704", "v_writelane_b32 v5, src_lds_direct, s2", "fe040a04"),
    ("gfx1100", "v_dot2_bf16_bf16 v0, v1, v2, -17", "000067d60105fe03efff0000"),
    ("gfx1100", "v_fma_mix_f32 v0, 0xffff, v1, v2", "000020ccc1020a04"),
    ("gfx1010", "v_pk_add_u16 v5, v1, 123456.0", "05400acc01ff01180020f147"),
    ("gfx1100", "v_dual_dot2acc_f32_f16 v0, 0x3c00, v2 :: v_dual_mov_b32 v1, v3", "f20410cb03010000"),
    ("gfx1100", "v_dual_mov_b32 v1, v3 :: v_dual_dot2acc_f32_f16 v0, 1.5, v2", "030118caff040001003e0000"),
    ("gfx1100", "v_dual_dot2acc_f32_bf16 v0, 1.5, v2 :: v_dual_mov_b32 v1, v3", "ff0450cb03010000c03f0000"),
    ("gfx1200", "v_wmma_bf16_16x16x16_bf16 v[0:3], v[4:7], v[8:11], 0x3f80", "004043cc0411ca1b"),
    ("gfx1200", "v_wmma_f16_16x16x16_f16 v[0:3], v[4:7], v[8:11], 0xffff", "004042cc0411061b"),
    ("gfx900", "s_atc_probe 124, s[4:5], s2", "021f98c002000000"),
    ("gfx1100", "s_atc_probe 125, s[4:5], s2", "421f88f400000004"),
    ("gfx906", "v_interp_p2_f16 v5, v2, attr31.w, v3 high", ""),
]


@pytest.mark.parametrize(("target", "text", "code"), KNOWN)
def test_known_encodings(target: str, text: str, code: str) -> None:
    assembled = isa.assemble(text, target)
    assert not code or assembled.hex() == code
    assert isa.assemble(isa.disassemble(assembled, target), target) == assembled


def test_the_event_of_gfx12_has_the_bit_that_text_of_it_names() -> None:
    """LLVM 23 reads it into the bit of GFX11's opposite, but has this text for the next one, as Mesa has (aco_ir.h)."""
    assert isa.assemble("s_wait_event { export_ready: 1 }", "gfx1200") == isa.assemble("s_wait_event 2", "gfx1200")


@pytest.mark.parametrize(
    ("target", "event"),
    [
        ("gfx1100", "{ export_ready: 1 }"), ("gfx1200", "{ dont_wait_export_ready: 1 }"), ("gfx1200", "{ export_ready: 2 }"),
        ("gfx1200", "{ export_ready: -1 }"), ("gfx1200", "{ export_ready 1 }"), ("gfx1200", "{1}"), ("gfx1200", "{ export_ready: 1"),
        ("gfx1200", "{ export_ready: 1, export_ready: 0 }"), ("gfx1200", "{ export: 1 }"),
    ],
)  # fmt: skip
def test_events_that_do_not_exist(target: str, event: str) -> None:
    with pytest.raises(InputError, match=r"^line 1, column 1[4-9]|^line 1, column [23]\d"):
        isa.assemble(f"s_wait_event {event}", target)


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("gfx803", "v_cndmask_b32_sdwa v5, v1, v2 src0_sel:DWORD"), ("gfx900", "v_addc_co_u32_e32 v3, v3, v4"),
        ("gfx1010", "v_add_co_ci_u32_e32 v3, vcc_lo, v3, v4"), ("gfx1010", "v_add_co_ci_u32_e32 v3, v3, v4, vcc_lo"),
        ("gfx1010", "v_cmp_ge_i32_e64 s0, v0"), ("gfx1010", "v_cmp_ge_i32_sdwa v1, v0 src0_sel:DWORD"),
        ("gfx803", "v_and_b32 v1, neg(0x12345), v2"),
        ("gfx803", "v_add_f32_e32 v1, -v3, v2"), ("gfx803", "v_cvt_i32_f64 v1, neg(0x12345678)"),
    ],
)  # fmt: skip
def test_masks_and_signs_that_have_to_be_there(target: str, line: str) -> None:
    with pytest.raises(InputError, match=r"^line 1, column \d+: "):
        isa.assemble(line, target)


@pytest.mark.parametrize("before", ["", "s_nop 0\n", "s_nop 0 ; a comment ", "s_nop 0 // ", "# ", ".set a, 1 /* ", 's_nop 0 /* */', "l: "])
def test_a_zero_byte_ends_nothing(before: str) -> None:
    position = f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"
    with pytest.raises(InputError, match=f"^{position}: a zero byte"):
        isa.assemble(before + "\0\ns_endpgm\n", "gfx900")


@pytest.mark.parametrize("line", ['.ascii "a\0b"', "s_nop \0", "v_mov_b32 v0, v\0", ".long 1 +\0", ".amdhsa_kernel k\0", ".amdgpu_metadata\n\0"])
def test_a_zero_byte_within_a_line_is_an_error(line: str) -> None:
    with pytest.raises(InputError, match=r"^line \d+, column \d+: "):
        isa.assemble(line, "gfx900")


def test_expressions_symbols_and_registers() -> None:
    text = """
    .set first, 4
    count = (1 << 3) - 2*first + 5 % 3
    s_mov_b32 s[first], (first*0x10 + ~0) & 0xff
    s_mov_b32 s0, end - start
start:
    v_mov_b32 v[first + 1], count
    s_mov_b64 s[first:first+1], [s2,s3]
end:
    """
    plain = "s_mov_b32 s4, 63\ns_mov_b32 s0, lit(8)\nv_mov_b32 v5, 2\ns_mov_b64 s[4:5], s[2:3]"
    assert isa.assemble(text, "gfx1100") == isa.assemble(plain, "gfx1100")


def test_data_directives() -> None:
    text = 'start: .byte 1, -1\n.short 0x1234\n.quad 5\n.asciz "ab"\n.p2align 2\n.fill 2, 2, 7\n.zero 4\nhere: .long here - start - 4\n'
    expected = struct.pack("<BbHQ3s", 1, -1, 0x1234, 5, b"ab\0") + b"\0" + struct.pack("<HHII", 7, 7, 0, 20)
    assert isa.assemble(text, "gfx900") == expected


def test_sections_and_kernels_leave_the_code_alone() -> None:
    text = """
    .amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
    .rodata
    .long 7
    .text
    .globl kernel
    .p2align 8
    .type kernel,@function
kernel:
    s_endpgm
    .p2align 4
.Lend:
    .size kernel, .Lend-kernel
    .rodata
    .amdhsa_kernel kernel
      .amdhsa_next_free_vgpr 3 * 8
      .amdhsa_next_free_sgpr 6
    .end_amdhsa_kernel
    """
    assert isa.assemble(text, "gfx1100") == struct.pack("<4I", 0xBFB00000, *[0xBF800000] * 3)


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("s_mov_b32 s0, (1", "line 1, column 17", "unbalanced"),
        ("s_mov_b32 s0, 1/0", "line 1, column 16", "division by zero"),
        ("/* a\n b */ s_mov_b32 s[3:2], 0", "line 2", "wrong order"),
        ("s_mov_b32 s0, missing", "line 1, column 15", "no label missing"),
        (".long 1 2", "line 1, column 9", "end of the line"),
        ("s_nop 0 }", "line 1, column 9", "no modifier"),
        ("v_mov_b32 v0, v1 dpp8:[0,1]", "line 1, column 28", "eight lanes"),
        ("image_load v0, v1, s[0:7] dmask:1", "line 1, column 1", "needs dim"),
        ("v_mov_b32 v0, v1 row_shl:16", "line 1, column 18", "no lane control"),
        (".amdhsa_kernel k\n .amdhsa_x 1", "line 2", "begins with .amdhsa_"),
    ],
)
def test_errors(text: str, position: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        isa.assemble(text, "gfx1100")
    assert position in str(caught.value) and reason in str(caught.value)


@pytest.mark.parametrize(
    ("good", "words", "refused"),
    [
        ("s_load_b32 s4, s[0:1], s2 scale_offset", "000100f400000005", "s_buffer_load_b32 s4, s[0:3], s2 scale_offset"),
        ("global_load_b32 v20, v0, s[2:3] scale_offset", "020005ee1400010000000000", "global_load_b32 v20, v[0:1], off scale_offset"),
        ("flat_load_b32 v20, v0, s[2:3] scale_offset", "020005ec1400010000000000", "flat_load_b32 v20, v[0:1] scale_offset"),
        ("global_load_addtid_b32 v20, s[2:3]", "02000aee1400000000000000", "global_load_addtid_b32 v20, s[2:3] scale_offset"),
        ("scratch_load_b32 v20, v1, off scale_offset", "7c0005ed1400030001000000", "scratch_load_b32 v20, off, s3 scale_offset"),
        ("flat_atomic_add_u32 v0, v1, exec", "7e400dec0000800000000000", "flat_load_b32 v20, v0, exec"),
        ("scratch_load_b32 v20, v1, null", "7c0005ed1400020001000000", "global_load_b32 v20, v0, null"),
        ("tensor_save null", "7c801bee0000000000000000", "tensor_save off"),
        ("tensor_load_to_lds s[0:3], s[4:11]", "010071d00000007c00047c7c", "tensor_load_to_lds s[0:3], null"),
        ("v_permlane_up_b32 v20, v1, s16, s16", "140071d601214000", "v_permlane_up_b32 v20, s0, s16, s16"),
        ("v_permlane_idx_gen_b32 v20, v1, 1", "140014d701030100", "v_permlane_idx_gen_b32 v20, 1, 1"),
        ("v_swmmac_f16_16x16x128_bf8_bf8 v[20:23], v[4:11], v[4:19], v[2:3]", "14007acc04090a1c",
         "v_swmmac_f16_16x16x128_bf8_bf8 v[20:23], v[4:11], v[4:19], 0"),
        ("v_wmma_f32_16x16x128_bf8_bf8 v[20:27], v[4:19], v[4:19], 0", "140083cc0409021a",
         "v_wmma_f32_16x16x128_bf8_bf8_e64_dpp v[20:27], v[4:19], v[4:19], 0"),
        ("v_pk_mul_f32 v[20:21], v[4:5], ttmp[0:1]", "144028cc04d90018", "v_pk_mul_f32 v[20:21], v[4:5], src_scc"),
        ("v_cvt_sr_fp8_f16 v20, v4, v4 op_sel:[0,1,0]", "141074d704090200", "v_cvt_sr_fp8_f16 v20, v4, v4 op_sel:[0,1,0,0,1]"),
        ("v_rcp_bf16_e32 v20, -100", "fff2287e9cff0000", "v_rcp_bf16_e32 v20, 0x12345"),
        ("s_mov_b64 s[0:1], 0x123456789", "fe0180be8967452301000000", "s_mov_b64 s[0:1], 0.3"),
        ("v_fma_mix_f32_bf16 v5, 0x3f80, v2, v3", "05003dccf2040e04", "v_fma_mix_f32_bf16 v5, 0x3f800000, v2, v3"),
        ("v_fma_mixlo_bf16 v5, 100.0, v2, v3", "05003eccff040e04c8420000", "v_fma_mixlo_bf16 v5, 0x12345, v2, v3"),
    ],
)  # fmt: skip
def test_operands_of_gfx12_5(good: str, words: str, refused: str) -> None:
    """A line with LLVM 22's words, which our text gives back, and one like it that LLVM refuses."""
    code = isa.assemble(good, "gfx1250")
    assert code.hex() == words
    assert isa.assemble(isa.disassemble(code, "gfx1250", exact=True), "gfx1250") == code
    assert ".long" not in isa.disassemble(code, "gfx1250", exact=True)
    with pytest.raises(InputError, match=r"^line 1, column \d+: "):
        isa.assemble(refused, "gfx1250")


@pytest.mark.parametrize(
    "words",
    ["010071d00000007c7c047c7c", "7e0005ec1400000000000000", "000102f400000005", "02000aee1400010000000000", "14007acc0409021a", "011074d7d1080200"],
)  # fmt: skip
def test_words_of_gfx12_5_without_text(words: str) -> None:
    """A null group of a tensor, a base of exec, scaled offsets of a buffer and without an offset, a constant index, a source without a name."""
    assert ".long" in isa.disassemble(bytes.fromhex(words), "gfx1250", exact=True)


@pytest.mark.parametrize(
    ("target", "line", "words"),
    [
        ("gfx1170", "v_med3_num_f16 v5.l, v1.l, v2.l, v3.l", "050032d601050e04"),
        ("gfx1170", "v_rcp_f32_e64 v1, v2", "0100aad502010102"),
        ("gfx1170", "v_cvt_f32_fp8_e64 v1, v3 byte_sel:2", "0108ecd503010102"),
        ("gfx1170", "v_dual_mov_b32 v2, v5 :: v_dual_mov_b32 v3, v1", "050110ca01010202"),
        ("gfx1170", "v_cmpx_eq_f32_e64_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0]", "7e0092d4e904020201773905"),
        ("gfx1310", "buffer_load_b32 v5, off, s[8:11], s3 offset:8388607", "030003c40510800000ffff7f"),
        ("gfx1310", "tbuffer_load_d16_format_x v4, off, s[8:11], s3 offset:8388607", "03003ac40410800000ffff7f"),
        ("gfx1310", "s_wakeup 32", "200083bf"),
        ("gfx1310", "image_sample v64, v32, s[4:11], s[100:103] dmask:0x1 dim:SQ_RSRC_IMG_1D", "000048e44008003220000000"),
        ("gfx1310", "v_ashr_pk_i8_i32 v1.h, v2, v3, v4", "014090d602071204"),
        ("gfx1310", "v_permlane16_swap_b32_e64 v1, v2 bound_ctrl:1 fi:1", "0118c9d502010102"),
        ("gfx1310", "s_prefetch_inst s[16:17], 0x0, null, 0 th:TH_LOAD_LU", "084084f5000000f8"),
        ("gfx1310", "v_lshlrev_b64_e32 v[5:6], v1, v[2:3]", "01050a44"),
        ("gfx1310", "s_mov_b64 s[0:1], 0x123456789", "fe0480be8967452301000000"),
    ],
)  # fmt: skip
def test_lines_of_the_newest_generations(target: str, line: str, words: str) -> None:
    """GFX11.7 and GFX13: a line with LLVM 23's words, which our text gives back."""
    code = isa.assemble(line, target)
    assert code.hex() == words
    text = isa.disassemble(code, target, exact=True)
    assert ".long" not in text and isa.assemble(text, target) == code


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("gfx1170", "v_dot2acc_f32_f16 v1, v2, v3"), ("gfx1150", "v_minimum_f32 v1, v2, v3"), ("gfx1310", "s_wakeup"),
        ("gfx1310", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]"), ("gfx1310", "image_bvh8_intersect_ray v[0:9], v[0:1]"),
        ("gfx1310", "v_dual_fma_f64 v[40:41], v[4:5], v[12:13], v[20:21] :: v_dual_mov_b32 v31, v7"),
    ],
)  # fmt: skip
def test_lines_that_the_newest_generations_lack(target: str, line: str) -> None:
    with pytest.raises(InputError, match=r"^line 1, column \d+: "):
        isa.assemble(line, target)


def test_waves_of_gfx13_have_either_size() -> None:
    assert isa.assemble("v_cmp_eq_f32 vcc, v1, v2", "gfx1310", wave_size=64) == isa.assemble("v_cmp_eq_f32 vcc_lo, v1, v2", "gfx1310")


@pytest.mark.parametrize("seed", range(4))
def test_broken_text_never_crashes(seed: int) -> None:
    """Lines with characters taken out, put in and exchanged assemble or raise InputError."""
    generator = np.random.default_rng(seed)
    lines = [text for _, text, _ in KNOWN] + ["s_waitcnt vmcnt(0) & lgkmcnt(1)", "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v2, v3"]
    letters = "v0s1[]():|,-+*/.{}<>&'\"\\;\n\t eflitabsneg_xq"
    for _ in range(1500):
        text = list(generator.choice(lines))
        for _ in range(generator.integers(1, 5)):
            where = int(generator.integers(0, len(text))) if text else 0
            text[where : where + int(generator.integers(0, 3))] = generator.choice(list(letters), generator.integers(0, 3)).tolist()
        try:
            isa.assemble("".join(text), "gfx1100" if generator.integers(0, 2) else "gfx1030")
        except InputError as error:
            assert "line " in str(error)


def test_records_are_columns() -> None:
    code = isa.assemble("s_mov_b32 s0, 0x12345678\nv_add_f32 v1, v2, v3\ns_endpgm", "gfx1030") + b"\xff\xff\xff\xff"
    records = isa.decode(code, "gfx1030")
    assert records["offset"].tolist() == [0, 8, 12, 16]
    assert [opcodes.names()[number] for number in records["opcode"][:3]] == ["s_mov_b32", "v_add_f32", "s_endpgm"]
    assert records["opcode"][3] == opcodes.INVALID
    assert records["literal"][0] == 0x12345678 and records["has_literal"].tolist() == [1, 0, 0, 0]
    assert records["sources"][1, :2].tolist() == [258 * 4, 259 * 4] and records["destinations"][1, 0] == 257 * 4
    with pytest.raises(InputError):
        isa.decode(b"abc", "gfx1030")


def round_trip(target: str, count: int, seed: int) -> tuple[int, int]:
    """Random words to text and back; instructions and lines."""
    words = np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)
    # half of the words begin like an encoding that random words rarely hit
    heads = np.array([0x7E, 0xBF, 0xD4, 0xCC, 0xD8, 0xF0, 0xE0, 0xDC, 0xC8, 0xF4, 0xEC, 0xC4, 0xD0, 0xF8], np.uint32) << 24
    chosen = np.random.default_rng(seed + 1).random(count) < 0.5
    words[chosen] = words[chosen] & 0x00FFFFFF | np.random.default_rng(seed + 2).choice(heads, int(chosen.sum()))
    text = isa.disassemble(words.tobytes(), target, exact=True)
    code = isa.assemble(text, target)
    if code != words.tobytes():
        wrong = next(
            line for line in isa.disassemble_lines(words.tobytes(), target, exact=True)
            if code[line.offset : line.offset + line.size] != words.tobytes()[line.offset : line.offset + line.size]
        )  # fmt: skip
        raise AssertionError(f"{target}: {wrong}")
    # an instruction with bits that mean nothing is the same without them
    readable = isa.disassemble(words.tobytes(), target)
    remarked = [line.partition("  ; words ")[0] for line in readable.split("\n") if "; words" in line and not line.startswith("\ts_")][:2000]
    codes = [isa.assemble(line, target) for line in remarked]
    assert [isa.assemble(isa.disassemble(code, target, exact=True), target) for code in codes] == codes
    assert readable.count(".long") <= text.count(".long")
    lines = text.count("\n")
    return lines - text.count(".long"), lines


@pytest.mark.parametrize("target", TARGETS)
def test_random_words_come_back(target: str) -> None:
    instructions, lines = round_trip(target, 20_000, 7)
    assert instructions > lines // 10


@pytest.mark.slow
@pytest.mark.parametrize("target", (*TARGETS, *SIBLINGS))
def test_millions_of_random_words_come_back(target: str) -> None:
    """With PYACO_EXHAUSTIVE ten million words of each chip."""
    passes = 50 if os.environ.get("PYACO_EXHAUSTIVE") else 10 if target in TARGETS else 1
    totals = [round_trip(target, 200_000, 100 + seed) for seed in range(passes)]
    print(f"{target}: {200_000 * passes} words, {sum(instructions for instructions, _ in totals)} instructions come back")


@pytest.mark.parametrize(
    ("target", "text", "same"),
    [
        # names that older assemblers gave, and a register that other chips know as a modifier
        ("gfx942", "v_mfma_f32_32x32x4bf16 v[0:31], v[2:3], v[4:5], v[34:65]", "v_mfma_f32_32x32x4_2b_bf16 v[0:31], v[2:3], v[4:5], v[34:65]"),
        ("gfx942", "v_smfmac_f32_16x16x64bf8fp8 v[0:3], a[2:3], v[4:7], v1", "v_smfmac_f32_16x16x64_bf8_fp8 v[0:3], a[2:3], v[4:7], v1"),
        ("gfx908", "v_accvgpr_read v2, a16", "v_accvgpr_read_b32 v2, acc16"),
        ("gfx90a", "ds_read_b32 a16, v1", "ds_read_b32 a[16:16], v1"),
        ("gfx90a", "image_load a16, v0, s[0:7] dmask:0x1 unorm a16", "image_load a[16:16], v0, s[0:7] dmask:0x1 a16 unorm"),
        ("gfx90a", "ds_gws_init a2 gds", ".long 0xdb330000, 2"),
    ],
)
def test_other_names_of_cdna(target: str, text: str, same: str) -> None:
    code = isa.assemble(text, target)
    assert code == isa.assemble(same, target)
    assert isa.assemble(isa.disassemble(code, target), target) == code and ".long" not in isa.disassemble(code, target)


@pytest.mark.parametrize("repetitions", [9, 30_000])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_listing_is_a_buffer_of_its_text(as_text: bool, repetitions: int) -> None:
    """Lines that are longer than room is made for at first."""
    waits = ["s_waitcnt vmcnt(1) expcnt(2) lgkmcnt(3)"] * repetitions
    lines = ["s_branch L0", *waits, "L0:", "s_cbranch_scc0 L0", "s_branch L1", "s_endpgm", "L1:"]
    code = isa.assemble("\n".join(lines), "gfx900")
    made = listing(code, "gfx900", None, as_text=as_text)
    assert bytes(made) == made.text().encode()
    assert [line.strip() for line in made.text().splitlines()] == lines


def test_tables_that_are_not_whole_are_refused() -> None:
    for storage in (b"", bytes(40), (1 << 20).to_bytes(4, "little") + bytes(400)):
        with pytest.raises(ValueError, match="not whole"):
            TextTables(storage)


def test_a_mapped_file_is_a_buffer_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "code"
    for data in (b"", bytes(range(256)) * 40):
        path.write_bytes(data)
        mapped = MappedFile(str(path))
        path.unlink()
        assert (len(mapped), bytes(mapped)) == (len(data), data)
        assert memoryview(mapped).readonly


def test_what_is_no_plain_file_is_not_mapped(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing"):
        MappedFile(str(tmp_path / "nothing"))
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
    for path in (tmp_path, tmp_path / "pipe", "a\0b"):
        with pytest.raises(ValueError, match=r"plain|zero"):
            MappedFile(str(path))
