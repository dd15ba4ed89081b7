"""Assembly text: known encodings, labels, data, and errors with their positions."""

from __future__ import annotations

import re
import struct

import pytest

from pyaco import isa
from pyaco.errors import InputError, UnsupportedError
from pyaco.isa.processors import processor
from pyaco.isa.text_facts import mnemonics

# Encodings as the examples of LLVM's manual and its assembler give them.
KNOWN = [
    ("gfx900", "s_mov_b32 s0, 0x12345678", "ff0080be78563412"),
    ("gfx900", "s_load_dword s0, s[2:3], s5 offset:0x10", "014002c01000000a"),
    ("gfx900", "s_waitcnt vmcnt(0) & lgkmcnt(1)", "70018cbf"),
    ("gfx900", "v_add_f32_e64 v0, -v1, |v2| clamp mul:2", "008201d101050228"),
    ("gfx900", "v_add_f32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
     "f904000201060506"),
    ("gfx900", "v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", "fa02007e01b100ff"),
    ("gfx900", "ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,0,1,2,3)", "e4807ad801000000"),
    ("gfx1030", "s_getreg_b32 s0, hwreg(HW_REG_MODE)", "01f800b9"),
    ("gfx1030", "v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]", "e902007e0177 39 05".replace(" ", "")),
    ("gfx1030", "global_load_dword v1, v2, s[4:5] offset:-16 glc", "f08f31dc02000401"),
    ("gfx1100", "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)", "910087bf"),
    ("gfx1100", "v_dual_max_f32 v2, v4, v6 :: v_dual_dot2acc_f32_bf16 v3, v5, v7", "040d9aca050f0202"),
    ("gfx1100", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "0300b6bf"),
    ("gfx1100", "s_mov_b32 s0, null", "7c0080be"),
    ("gfx1100", "v_add_f16_e32 v1.h, v2.l, v3.h", "02070365"),
    ("gfx1200", "s_wait_loadcnt 0x1", "0100c0bf"),
    ("gfx1200", "buffer_load_b32 v1, v2, s[4:7], s3 offen offset:70000 th:TH_LOAD_LU", "030005c40108b04002701101"),
    ("gfx1200", "global_atomic_add_u32 v1, v[2:3], v4, off th:TH_ATOMIC_RETURN", "7c400dee0100100202000000"),
]


@pytest.mark.parametrize(("target", "text", "code"), KNOWN)
def test_known_encodings(target: str, text: str, code: str) -> None:
    assert isa.assemble(text, target).hex() == code


def test_labels_reach_backward_and_forward() -> None:
    code = isa.assemble("start:\ns_nop 0\ns_cbranch_scc1 end\ns_branch start\nend: s_endpgm\n", "gfx1030")
    words = struct.unpack("<4I", code)
    assert words[1] & 0xFFFF == 1 and words[2] & 0xFFFF == 0xFFFD


def test_the_shortest_encoding_is_chosen() -> None:
    assert len(isa.assemble("v_add_f32 v0, v1, v2", "gfx1100")) == 4
    assert len(isa.assemble("v_add_f32 v0, v1, s2", "gfx1100")) == 8
    assert len(isa.assemble("v_cmp_lt_f32 vcc_lo, v0, v1", "gfx1100")) == 4
    assert len(isa.assemble("v_cmp_lt_f32 s2, v0, v1", "gfx1100")) == 8


def test_mnemonics_of_other_generations_are_understood() -> None:
    assert isa.assemble("s_andn2_b32 s0, s1, s2", "gfx1100") == isa.assemble("s_and_not1_b32 s0, s1, s2", "gfx1100")
    assert isa.assemble("ds_read_b32 v0, v1", "gfx1200") == isa.assemble("ds_load_b32 v0, v1", "gfx1200")


@pytest.mark.parametrize("comment", ["; comment", "// comment", "/* comment */", "/* one */ ; another"])
@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("gfx803", "v_interp_p1_f32 v1, v2, attr0.x{}"), ("gfx1030", "v_interp_mov_f32 v1, p10, attr3.w{}"),
        ("gfx1100", "lds_param_load v1, attr0.x{}"), ("gfx1100", "s_mov_b32 s0, 7{}"), ("gfx1100", "v_add_f32 v0, |v1|, -v2{}"),
    ],
)  # fmt: skip
def test_comments_behind_operands(target: str, text: str, comment: str) -> None:
    """A comment is no part of the operand before it."""
    assert isa.assemble(text.format(f"  {comment}"), target) == isa.assemble(text.format(""), target)


def test_data_words_and_comments() -> None:
    assert isa.assemble(".long 0x12345678, -1 ; words\n// nothing\n", "gfx900").hex() == "78563412ffffffff"


@pytest.mark.parametrize(
    ("target", "text", "position", "reason"),
    [
        ("gfx1100", "s_nop 0\n  v_bogus v0", "line 2, column 3", "unknown instruction"),
        ("gfx1100", "v_add_f32 v0, v1, v300", "line 1, column 19", "no such register"),
        ("gfx1100", "s_mov_b64 s[1:2], 0", "line 1, column 11", "aligned"),
        ("gfx1100", "s_branch nowhere", "line 1", "no label nowhere"),
        ("gfx1100", "x:\nx:", "line 2", "defined twice"),
        ("gfx1100", "v_add_f32 v0, v1", "line 1", "takes 3 operands"),
        ("gfx1100", "s_add_u32 s0, 0x1234, 0x5678", "line 1", "two different literals"),
        ("gfx1100", "v_mov_b32 v0, v1 bogus:3", "line 1, column 18", "no modifier bogus"),
        ("gfx1100", "v_fma_f32 v0, s1, s2, s3", "line 1", "too many scalar"),
        ("gfx900", "v_fma_f32 v0, v1, v2, 0x12345678", "line 1", "literal"),
        ("gfx900", "s_mov_b32 s0, null", "line 1", "null is no register"),
        ("gfx1100", "ds_read_b32 v0, v1 offset:65536", "line 1, column 20", "not from 0 to 65535"),
        ("gfx1100", "s_mov_b32 s0, [", "line 1", "unbalanced"),
        ("gfx1100", ".word 3", "line 1, column 1", "not supported"),
        ("gfx1100", "s_waitcnt bogus(0)", "line 1", "no counter bogus"),
    ],
)
def test_errors_name_position_and_reason(target: str, text: str, position: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        isa.assemble(text, target)
    assert position in str(caught.value) and reason in str(caught.value)


def test_branch_beyond_16_bits() -> None:
    with pytest.raises(InputError, match="beyond 16 bits"):
        isa.assemble("s_branch far\n" + "s_nop 0\n" * 40000 + "far:\n", "gfx1100")


def test_symbols_may_be_set_before_what_they_need() -> None:
    source = ".long max(1, late, 3), or(late, 4)\n.set late, later + 1\n.set later, end - start\nstart: s_nop 0\nend: .long alignto(later, 16)"
    assert isa.assemble(source, "gfx900") == struct.pack("<4I", 5, 5, 0xBF800000, 16)
    with pytest.raises(InputError, match="nested too deeply"):
        isa.assemble(".set a, b\n.set b, a\n.long a", "gfx900")
    # a chain of symbols that all need an unknown one costs no more than its length
    chain = "".join(f".set a{i + 1}, a{i} + a{i}\n" for i in range(200))
    assert isa.assemble(f".set a0, u\n{chain}.long a31, a200\n.set u, 1", "gfx900") == struct.pack("<II", 1 << 31, 0)


@pytest.mark.parametrize("source", [".long " + "(" * 1000000, ".long " + "-" * 1000000 + "1", "s_mov_b32 s0, " + "1+(" * 1000000])
def test_deep_expressions_are_errors(source: str) -> None:
    with pytest.raises(InputError, match=r"line 1, column \d+: .*nested too deeply"):
        isa.assemble(source, "gfx900")


def test_local_labels() -> None:
    source = "1: s_branch 1b\ns_branch 1f\n1: s_branch 1b\ns_branch 22f\n22:"
    assert isa.assemble(source, "gfx900") == struct.pack("<4I", 0xBF82FFFF, 0xBF820000, 0xBF82FFFF, 0xBF820000)
    with pytest.raises(InputError, match="line 1, column 10: no label 3f"):
        isa.assemble("s_branch 3f\n2:", "gfx900")


def test_distances_and_addresses() -> None:
    source = "s_add_u32 s4, s4, there@rel32@lo+4\ns_addc_u32 s5, s5, there@rel32@hi+12\nthere:"
    assert isa.assemble(source, "gfx900") == struct.pack("<4I", 0x8004FF04, 16, 0x8205FF05, 0)
    for text in ("s_mov_b32 s0, there@abs32@lo\nthere:", ".quad there\nthere:", ".long elsewhere@rel32@lo"):
        with pytest.raises(InputError, match="only a linker knows"):
            isa.assemble(text, "gfx900")


def test_escapes_and_groups_of_seven_bits() -> None:
    source = r'''.ascii "a\214\001\0b\n\"\\"''' + "\n.uleb128 0, 127, 128, 300\n.sleb128 -1, -128, 63, 64"
    assert isa.assemble(source, "gfx900") == b'a\x8c\x01\0b\n"\\' + bytes.fromhex("00 7f 8001 ac02 7f 807f 3f c000")


def test_numbers_in_floating_point_and_notes_of_lines() -> None:
    assert isa.assemble("# 1 \"file.s\"\n.float 1.5, -2\n.double 0.1", "gfx900") == struct.pack("<ffd", 1.5, -2, 0.1)
    with pytest.raises(InputError, match="line 1, column 7: a floating-point number is expected"):
        isa.assemble(".float\n1.5", "gfx900")


def test_gfx12_buffers_and_matrix_operations_are_strict() -> None:
    with pytest.raises(InputError, match="line 1, column 35: 0 is no scalar register"):
        isa.assemble("buffer_load_b32 v5, off, s[8:11], 0 offset:4", "gfx1200")
    with pytest.raises(InputError, match="take no op_sel"):
        isa.assemble("v_swmmac_f32_16x16x32_f16 v[12:19], v[0:3], v[4:11], v20 op_sel:[0,1,0]", "gfx1200")


def test_odd_code_and_unknown_targets() -> None:
    with pytest.raises(InputError, match="multiple of 4"):
        isa.disassemble(b"abc", "gfx1100")
    with pytest.raises((InputError, UnsupportedError)):
        isa.assemble("s_nop 0", "gfx9999")
    assert isa.disassemble(b"", "gfx1100") == ""


def test_listing_has_labels_and_offsets() -> None:
    code = isa.assemble("top: v_mov_b32 v0, 1.0\ns_cbranch_execnz top\ns_endpgm", "gfx1100")
    lines = isa.disassemble_lines(code + b"\xff\xff\xff\xff", "gfx1100")
    assert [(line.text, line.offset, line.size) for line in lines] == [
        ("L0:", 0, 0), ("v_mov_b32_e32 v0, 1.0", 0, 4), ("s_cbranch_execnz L0", 4, 4), ("s_endpgm", 8, 4),
        (".long 0xffffffff", 12, 4),
    ]  # fmt: skip


def test_wave_size_names_lane_masks() -> None:
    code = isa.assemble("v_cmp_lt_f32 vcc, v0, v1", "gfx1030", wave_size=64)
    assert isa.disassemble(code, "gfx1030", wave_size=64).strip() == "v_cmp_lt_f32_e32 vcc, v0, v1"
    assert isa.disassemble(code, "gfx1030").strip() == "v_cmp_lt_f32_e32 vcc_lo, v0, v1"
    with pytest.raises(InputError):
        isa.assemble("v_cmp_lt_f32 vcc, v0, v1", "gfx1030", wave_size=32)


SIGNS = ("-{}", "|{}|", "neg({})", "abs({})", "sext({})")


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("gfx1100", "s_add_u32 s0, *s1, s2"), ("gfx1100", "s_add_u32 *s0, s1, s2"), ("gfx900", "s_load_dword s0, *s[2:3], 0x10"),
        ("gfx900", "s_load_dword *s0, s[2:3], s5"), ("gfx1100", "buffer_load_b32 *v1, off, s[4:7], 0"),
        ("gfx1100", "buffer_load_b32 v1, off, *s[4:7], 0"), ("gfx1100", "global_load_b32 v1, *v[2:3], off"), ("gfx1100", "ds_load_b32 v1, *v2"),
        ("gfx1100", "exp mrt0 v1, *v2, v3, v4"), ("gfx1100", "image_load v1, *v2, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D"),
        ("gfx1100", "v_add_f32 *v0, v1, v2"), ("gfx942", "v_mfma_f32_4x4x1_16b_f32 v[0:3], *v1, v2, v[4:7]"),
        ("gfx1100", "v_pk_add_f16 v0, *v1, v2"), ("gfx1100", "v_dual_mov_b32 v0, *v1 :: v_dual_mov_b32 v3, v2"),
        ("gfx1100", "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, *v2"), ("gfx1100", "s_getreg_b32 s0, *s1"),
    ],
)  # fmt: skip
def test_a_sign_that_no_word_holds_is_an_error(target: str, text: str, sign: str) -> None:
    before, mark, operand = re.fullmatch(r"(.*)(\*)(\w+(?:\[[^]]*\])?)(.*)", text).group(1, 2, 3)  # type: ignore[union-attr]
    plain, signed = text.replace(mark, ""), before + sign.format(operand) + text[len(before) + 1 + len(operand) :]
    if "getreg" not in text:
        isa.assemble(plain, target)
    with pytest.raises(InputError, match="line 1"):
        isa.assemble(signed, target)


@pytest.mark.parametrize(("suffix", "exists"), [("_e32", True), ("_e64", False), ("_dpp", False), ("_sdwa", False), ("_e64_dpp", False)])
@pytest.mark.parametrize("target", ["gfx900", "gfx1100"])
def test_suffixes_of_encodings_that_do_not_exist(target: str, suffix: str, exists: bool) -> None:
    """Of every opcode that is not one of the vector ALU's, whatever its operands: LLVM takes the only encoding of each for the short one."""
    program = isa.Program(target)
    names = [name for name in mnemonics(*processor(target)[1::-1]) if not name.startswith("v_")]
    assert len(names) > 500
    assert [name for name in names if hasattr(program, name + suffix) != exists] == []


@pytest.mark.parametrize(
    ("target", "text", "code"),
    [
        ("gfx600", "s_mov_b64_e32 s[0:1], 0.5", "f00480be"), ("gfx900", "s_endpgm_e32", "000081bf"),
        ("gfx900", "s_load_dword_e32 s0, s[2:3], 0x0", "010002c000000000"), ("gfx1100", "ds_read_b32_e32 v0, v1", "0000d8d801000000"),
        ("gfx1100", "exp_e32 mrt0 v0, v0, v0, v0", "0f0000f800000000"),
        # integers of 32 bits are the high half of a number
        ("gfx600", "v_add_f64 v[0:1], v[0:1], 0x3ff00000", "0000c8d200e50100"),
        ("gfx900", "v_mul_f64 v[0:1], -0x3ff00000, v[0:1]", "000081d2f7000200"),
        ("gfx900", "v_fract_f64 v[0:1], 0x3ff00000", "f264007e"), ("gfx900", "v_fract_f64 v[0:1], lit(0x3ff00000)", "ff64007e0000f03f"),
        ("gfx900", "v_fract_f64 v[0:1], 0x3fc45f30", "ff64007e305fc43f"), ("gfx1250", "v_mul_f64 v[0:1], -0x3ff00000, v[0:1]", "f700000c"),
        ("gfx900", "s_mov_b64 s[0:1], 0x3ff00000", "ff0180be0000f03f"),
        # a format is any expression
        ("gfx600", "tbuffer_store_format_xyzw v[1:4], off, ttmp[4:7], s0 format:(2 + 3 * 16)", "000097e900011d00"),
        ("gfx1030", "tbuffer_store_format_xyzw v[1:4], off, ttmp[4:7], s0 format:2+3", "00002fe800011c00"),
        ("gfx1200", "tbuffer_store_format_xyzw v[1:4], off, ttmp[4:7], s0 format:-(2-5)", "00c021c401e0800100000000"),
        # names of GFX9 for sums of GFX6 and GFX7
        ("gfx600", "v_add_co_u32 v84, vcc, v13, v31", "546a4ad20d3f0200"), ("gfx700", "v_subrev_co_u32 v84, vcc, v13, v31", "546a4ed20d3f0200"),
        ("gfx600", "v_add_i32 v84, vcc, v13, v31", "0d3fa84a"),
        ("gfx1200", "s_version UC_VERSION_GFX12 | UC_VERSION_W64_BIT | UC_VERSION_MDP_BIT", "09a080b0"),
        ("gfx900", "s_movk_i32 s0, UC_VERSION_GFX11", "060000b0"),
        ("gfx1200", "bvh8_intersect_ray v[0:9], [v[0:1], v[11:12], v[3:5], v[6:8], v9], s[0:3]", "1040e0d300000009000b0306"),
        ("gfx1250", "v_fract_f64_e32 v[0:1], -54321", "ff7c007ecf2bffff"),
        ("gfx1250", "v_fract_f64_e32 v[0:1], lit64(-54321)", "fe7c007ecf2bffffffffffff"),
        ("gfx1250", "v_fract_f64_e32 v[0:1], -2147483649", "fe7c007effffff7fffffffff"),
        # the selectors are two integers of 32 bits
        ("gfx1250", "v_perm_pk16_b6_u4 v[2:4], v4, v[4:5], lit(1.0)", "020042d60409fe030000803f"),
        ("gfx1310", "v_perm_pk16_b8_u4 v[2:5], v[4:5], v[6:7], 2.5", "02004ad7040dfe0300002040"),
    ],
)  # fmt: skip
def test_spellings_of_llvm(target: str, text: str, code: str) -> None:
    """As LLVM 22 and 23 encode them."""
    assert isa.assemble(text, target).hex() == code
    assert isa.assemble(isa.disassemble(bytes.fromhex(code), target), target).hex() == code


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("gfx600", "v_add_co_u32_e32 v84, vcc, v13, v31"), ("gfx1100", "v_dual_mov_b32_e32 v0, v1 :: v_dual_mov_b32_e32 v3, v2"),
        ("gfx1100", "v_interp_p10_f32_e32 v0, v1, v2, v3"), ("gfx900", "v_add_f64 v[0:1], v[0:1], 0x3ff00001"),
        ("gfx942", "v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], 0x3ff00000"), ("gfx900", "v_min_f64 v[0:1], |0x3ff00000|, v[0:1]"),
        ("gfx900", "tbuffer_load_format_x v1, off, s[4:7], s0 format:(128)"), ("gfx900", "tbuffer_load_format_x v1, off, s[4:7], s0 format:(0-1)"),
        ("gfx900", "tbuffer_load_format_x v1, off, s[4:7], s0 format:(1"), ("gfx900", "tbuffer_load_format_x v1, off, s[4:7], s0 format:"),
    ],
)  # fmt: skip
def test_spellings_that_llvm_refuses(target: str, text: str) -> None:
    with pytest.raises(InputError, match="line 1"):
        isa.assemble(text, target)


@pytest.mark.parametrize("text", ["s_nop 0\n  \ud800", "v_mov_b32 v0, '\udfff'", ".ascii \"\ud800\"", "\ud800:"])
def test_a_lone_surrogate_is_an_error_with_its_position(text: str) -> None:
    with pytest.raises(InputError, match=r"line \d, column \d+: '\\u"):
        isa.assemble(text, "gfx900")


def test_names_of_signed_dot_products_are_signed() -> None:
    """GFX11 has one opcode for both, whose neg_lo says which operands are signed ("RDNA 3 ISA", V_DOT4_I32_IU8)."""
    for target in ("gfx1100", "gfx1150", "gfx1200"):
        for name, both in (("v_dot4_i32_i8", "v_dot4_i32_iu8"), ("v_dot8_i32_i4", "v_dot8_i32_iu4")):
            signed = isa.assemble(f"{both} v1, v2, v3, v4 neg_lo:[1,1,0]", target)
            assert isa.assemble(f"{name} v1, v2, v3, v4", target) == signed != isa.assemble(f"{both} v1, v2, v3, v4", target)
            assert isa.assemble(f"{name} v1, v2, v3, v4 neg_lo:[1,0,0]", target) == isa.assemble(f"{both} v1, v2, v3, v4 neg_lo:[1,0,0]", target)


@pytest.mark.parametrize(
    ("target", "text", "reason"),
    [
        ("gfx900", "v_mov_b32_dpp v0, 0 quad_perm:[0,0,0,0]", "field cannot hold"), ("gfx1100", "v_mov_b32_dpp v0, v1", "lane control"),
        ("gfx900", "v_rcp_f32_sdwa v0, v1 src1_sel:BYTE_0", "no second source"), ("gfx900", "v_nop_sdwa src0_sel:BYTE_0", "no source"),
        ("gfx1100", "v_nop_dpp row_shl:1 row_mask:0xf bank_mask:0xf", "no such encoding"),
        ("gfx900", "v_cmp_lt_f32_sdwa vcc, v0, v1 dst_sel:BYTE_0", "no result"), ("gfx803", "v_cmp_lt_f32_sdwa s[0:1], v0, v1", "writes vcc"),
        ("gfx1100", "v_cmp_lt_f16_e64 s0, v0.l, v1.l op_sel:[0,0,1]", "no operand"),
        ("gfx1100", "v_mad_u16 v0.l, v1.l, v2.l, v3.l op_sel:[1,0,0,0]", "different halves"),
        ("gfx1100", "v_rsq_f32_e64 v0, v1 mul:2 div:2", "one output modifier"), ("gfx950", "v_bitop3_b32 v0, -v1, v2, v3 bitop3:0x5", "no sign"),
        ("gfx1030", "global_store_dword off, v0, s[16:17]", "address is a VGPR"), ("gfx900", "flat_load_dword v0, off", "address is a VGPR"),
        ("gfx942", "v_mfma_f32_4x4x1_16b_f32 v[0:3], v1, v2, off", "not a register"), ("gfx1100", "v_add_f32 v0, neg(-v1), v2", "sign before a sign"),
    ],
)  # fmt: skip
def test_what_the_words_cannot_hold_is_an_error(target: str, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        isa.assemble(text, target)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1103", "gfx1150", "gfx1200", "gfx1201"])
def test_moves_of_halves(target: str) -> None:
    for text in ("v_mov_b16_e32 v1.l, 0", "v_mov_b16_e64 v200.h, v255.l", "v_swap_b16 v1.l, v2.h"):
        code = isa.assemble(text, target)
        assert isa.disassemble(code, target) == f"\t{text}\n"
    assert isa.assemble("v_mov_b16_e32 v1.l, 0", target).hex() == "8038027e"


#: A literal of 16 bits in every form that has one.
HALF_LITERALS = (
    ("gfx803", "v_madmk_f16 v0, v1, {}, v2"), ("gfx900", "v_madak_f16 v0, v1, v2, {}"), ("gfx1030", "v_fmamk_f16 v0, v1, {}, v2"),
    ("gfx1100", "v_fmaak_f16 v0.l, v1.l, v2.l, {}"), ("gfx1200", "v_fmamk_f16 v0, v1, {}, v2"), ("gfx900", "v_add_f16 v0, {}, v1"),
    ("gfx1100", "v_add_f16 v0.l, {}, v1.l"), ("gfx1200", "s_add_f16 s0, {}, s1"),
)  # fmt: skip


@pytest.mark.parametrize("known", ["before", "after", "as a number"])
@pytest.mark.parametrize(("target", "line"), HALF_LITERALS)
def test_literals_of_16_bits(target: str, line: str, known: str) -> None:
    """They have 16 bits, signed or not, whether the number is in the line or is set before or after it."""

    def words(value: int) -> tuple[int, int]:
        text = {"before": f".set x, {value}\n{line.format('x')}", "after": f"{line.format('x')}\n.set x, {value}"}.get(known, line.format(value))
        code = isa.assemble(text, target)
        return int.from_bytes(code[:4], "little"), int.from_bytes(code[4:], "little")

    assert words(0x1234)[1] == 0x1234 and words(0xFEDC)[1] == 0xFEDC and words(-0x124) == words(0xFEDC)
    assert isa.assemble(isa.disassemble(isa.assemble(line.format(0xFEDC), target), target), target) == isa.assemble(line.format(0xFEDC), target)
    for value in (0x10000, 0x12345, -0x8001, 0xFFFFFFFF):
        with pytest.raises(InputError, match="does not fit 16 bits"):
            words(value)


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("gfx1100", "s_nop {}"), ("gfx900", "s_movk_i32 s0, {}"), ("gfx900", "s_cmpk_eq_u32 s0, {}"), ("gfx900", "s_waitcnt {}"),
        ("gfx900", "s_branch {}"), ("gfx900", "s_sendmsg {}"), ("gfx900", "s_setreg_b32 {}, s1"), ("gfx900", "s_set_gpr_idx_mode {}"),
        ("gfx1100", "s_load_b32 s0, s[2:3], {}"), ("gfx700", "s_load_dword s0, s[2:3], {}"), ("gfx1100", "s_getreg_b32 s0, {}"),
        ("gfx1030", "s_endpgm {}"), ("gfx1030", "s_version {}"), ("gfx1200", "s_prefetch_data s[2:3], {}, s4, 0"),
    ],
)  # fmt: skip
def test_a_literal_is_no_plain_number(target: str, line: str) -> None:
    """What has no literal in its words takes a number without lit(...)."""
    isa.assemble(line.format(1), target)
    for value in ("lit(1)", "lit(later)"):
        with pytest.raises(InputError, match="1, column "):
            isa.assemble(f"{line.format(value)}\nlater:", target)


@pytest.mark.parametrize(("chip", "text", "code"), [
    # AMD's machine-readable ISA of RDNA 3.5 and CDNA 4; no LLVM has them
    ("gfx1150", "global_load_lds_b32 v[2:3], off offset:4", "0400c6dc02007c00"),
    ("gfx1150", "global_load_lds_addtid_b32 s[2:3]", "0000aadc00000200"),
    ("gfx1150", "scratch_load_lds_b32 off, s2 offset:8", "0800c5dc00000200"),
    ("gfx1150", "flat_atomic_csub_u32 v1, v[2:3], v4 glc", "0040dcdc02047c01"),
    ("gfx950", "s_set_valu_coexec_mode 0x3", "03009fbf"),
    # LLVM 23's tests
    ("gfx1251", "v_pk_fma_f64 v[4:7], v[8:11], 0x40594000, v[16:19]", "04403bcc08ff411c00405940"),
    ("gfx1251", "v_wmma_f64_16x16x4_f64 v[8:23], v[0:3], v[4:7], 1.0 neg_lo:[0,0,1]", "08005bcc0009ca9b"),
    ("gfx1250", "tensor_store_from_lds s[0:3], s[4:11], null, s[16:19] th:TH_STORE_NT_HT scope:SCOPE_DEV", "014071d00000687c00047c10"),
    ("gfx1250", "s_prefetch_inst s[12:13], 0x10, s4, 2 th:TH_LOAD_HT scope:SCOPE_DEV nv", "868054f510000008"),
    # text of which LLVM prints less than it reads
    ("gfx803", "v_nop_sdwa", "f900007e00000000"),
    ("gfx900", "v_nop_dpp row_shl:1 row_mask:0xa bank_mask:0x1 bound_ctrl:1", "fa00007e000109a1"),
    ("gfx1030", "v_nop_dpp dpp8:[1,2,3,4,5,6,7,0] fi:1", "ea00007e00d1581f"),
    ("gfx908", "v_pk_fmac_f16_sdwa v5, -|v1|, -v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD", "f9040a7801063616"),
    # LLVM 24's answer
    ("gfx1310", "v_cvt_scale_pk32_f32_fp6 v[0:31], v[32:37], v2 scale_sel:3", "0018b8d620050202"),
    ("gfx1310", "v_exclusive_scan_sum_u32 v1, v2, v3 clamp", "018043d602070202"),
])  # fmt: skip
def test_what_few_assemblers_know(chip: str, text: str, code: str) -> None:
    assert isa.assemble(text, chip).hex() == code
    assert isa.disassemble(bytes.fromhex(code), chip).split("\n")[-2].strip() == text


def test_instructions_of_waves_of_32_lanes() -> None:
    """GFX13 refuses them in waves of 64."""
    code = isa.assemble("v_permlane_up_b32 v5, v1, s2, s3", "gfx1310", wave_size=32)
    with pytest.raises(InputError, match="v_permlane_up_b32 needs waves of 32 lanes"):
        isa.assemble("v_permlane_up_b32 v5, v1, s2, s3", "gfx1310", wave_size=64)
    assert ".long" in isa.disassemble(code, "gfx1310", wave_size=64)
