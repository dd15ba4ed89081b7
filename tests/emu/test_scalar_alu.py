"""Scalar ALU instructions and program flow against models on Python integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from machine_code import Assemble

from pyaco.emu import Device

U32, U64 = np.uint32, np.uint64
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def fits(value: int) -> bool:
    return -(1 << 31) <= value < 1 << 31


def leading(value: int, bits: int) -> int:
    return bits - value.bit_length() if value else M32


def trailing(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else M32


def same_sign_bits(value: int, bits: int) -> int:
    number = signed(value, bits)
    return M32 if number in (0, -1) else bits - (number if number > 0 else ~number).bit_length()


def field(value: int, first: int, width: int) -> int:
    return value >> first & (1 << width) - 1 if width else 0


def signed_field(value: int, first: int, width: int, bits: int) -> int:
    """The field of a sign-extended value, sign-extended."""
    part = signed(value, bits) >> first & (1 << width) - 1
    return signed(part, width) if width else 0


def quads(value: int, bits: int) -> int:
    return sum(0xF << 4 * i for i in range(bits // 4) if value >> 4 * i & 15)


def nonzero(result: int) -> tuple[int, int]:
    return result, int(result != 0)


# name on gfx1030, name on gfx1100 where it differs, bits of operands and result (0: SCC alone), model -> (result, SCC or
# None where it must stay)
OPERATIONS: list[tuple[str, str, tuple[int, ...], int, Callable[..., tuple[int, int | None]]]] = [
    ("s_add_u32", "", (32, 32), 32, lambda a, b: (a + b & M32, a + b >> 32)),
    ("s_sub_u32", "", (32, 32), 32, lambda a, b: (a - b & M32, int(b > a))),
    ("s_add_i32", "", (32, 32), 32, lambda a, b: (a + b & M32, int(not fits(signed(a) + signed(b))))),
    ("s_sub_i32", "", (32, 32), 32, lambda a, b: (a - b & M32, int(not fits(signed(a) - signed(b))))),
    ("s_addc_u32", "", (32, 32), 32, lambda a, b: (a + b + 1 & M32, a + b + 1 >> 32)),
    ("s_subb_u32", "", (32, 32), 32, lambda a, b: (a - b - 1 & M32, int(b + 1 > a))),
    ("s_min_i32", "", (32, 32), 32, lambda a, b: (min(a, b, key=signed), int(signed(a) < signed(b)))),
    ("s_max_u32", "", (32, 32), 32, lambda a, b: (max(a, b), int(a > b))),
    ("s_and_b32", "", (32, 32), 32, lambda a, b: nonzero(a & b)),
    ("s_or_b64", "", (64, 64), 64, lambda a, b: nonzero(a | b)),
    ("s_xor_b64", "", (64, 64), 64, lambda a, b: nonzero(a ^ b)),
    ("s_andn2_b64", "s_and_not1_b64", (64, 64), 64, lambda a, b: nonzero(a & ~b & M64)),
    ("s_orn2_b32", "s_or_not1_b32", (32, 32), 32, lambda a, b: nonzero(a | ~b & M32)),
    ("s_nand_b32", "", (32, 32), 32, lambda a, b: nonzero(~(a & b) & M32)),
    ("s_xnor_b64", "", (64, 64), 64, lambda a, b: nonzero(~(a ^ b) & M64)),
    ("s_lshl_b32", "", (32, 32), 32, lambda a, b: nonzero(a << (b & 31) & M32)),
    ("s_lshr_b64", "", (64, 32), 64, lambda a, b: nonzero(a >> (b & 63))),
    ("s_ashr_i32", "", (32, 32), 32, lambda a, b: nonzero(signed(a) >> (b & 31) & M32)),
    ("s_ashr_i64", "", (64, 32), 64, lambda a, b: nonzero(signed(a, 64) >> (b & 63) & M64)),
    ("s_bfm_b32", "", (32, 32), 32, lambda a, b: (((1 << (a & 31)) - 1) << (b & 31) & M32, None)),
    ("s_bfm_b64", "", (32, 32), 64, lambda a, b: (((1 << (a & 63)) - 1) << (b & 63) & M64, None)),
    ("s_mul_i32", "", (32, 32), 32, lambda a, b: (a * b & M32, None)),
    ("s_mul_hi_u32", "", (32, 32), 32, lambda a, b: (a * b >> 32, None)),
    ("s_mul_hi_i32", "", (32, 32), 32, lambda a, b: (signed(a) * signed(b) >> 32 & M32, None)),
    ("s_bfe_u32", "", (32, 32), 32, lambda a, b: nonzero(field(a, b & 31, b >> 16 & 127))),
    ("s_bfe_i32", "", (32, 32), 32, lambda a, b: nonzero(signed_field(a, b & 31, min(b >> 16 & 127, 32), 32) & M32)),
    ("s_bfe_u64", "", (64, 32), 64, lambda a, b: nonzero(field(a, b & 63, b >> 16 & 127))),
    ("s_absdiff_i32", "", (32, 32), 32,
     lambda a, b: nonzero(-signed(a - b & M32) & M32 if signed(a - b & M32) < 0 else a - b & M32)),
    ("s_lshl3_add_u32", "", (32, 32), 32, lambda a, b: ((a << 3) + b & M32, int((a << 3) + b > M32))),
    ("s_pack_ll_b32_b16", "", (32, 32), 32, lambda a, b: (a & 0xFFFF | (b & 0xFFFF) << 16, None)),
    ("s_pack_lh_b32_b16", "", (32, 32), 32, lambda a, b: (a & 0xFFFF | b & 0xFFFF0000, None)),
    ("s_pack_hh_b32_b16", "", (32, 32), 32, lambda a, b: (a >> 16 | b & 0xFFFF0000, None)),
    ("s_cselect_b32", "", (32, 32), 32, lambda a, b: (a, None)),
    ("s_not_b64", "", (64,), 64, lambda a: nonzero(~a & M64)),
    ("s_wqm_b64", "", (64,), 64, lambda a: nonzero(quads(a, 64))),
    ("s_quadmask_b32", "", (32,), 32, lambda a: nonzero(sum(1 << i for i in range(8) if a >> 4 * i & 15))),
    ("s_brev_b32", "", (32,), 32, lambda a: (int(f"{a:032b}"[::-1], 2), None)),
    ("s_brev_b64", "", (64,), 64, lambda a: (int(f"{a:064b}"[::-1], 2), None)),
    ("s_bcnt0_i32_b64", "", (64,), 32, lambda a: nonzero(64 - a.bit_count())),
    ("s_bcnt1_i32_b32", "", (32,), 32, lambda a: nonzero(a.bit_count())),
    ("s_ff1_i32_b64", "s_ctz_i32_b64", (64,), 32, lambda a: (trailing(a), None)),
    ("s_flbit_i32_b32", "s_clz_i32_u32", (32,), 32, lambda a: (leading(a, 32), None)),
    ("s_flbit_i32_b64", "s_clz_i32_u64", (64,), 32, lambda a: (leading(a, 64), None)),
    ("s_flbit_i32", "s_cls_i32", (32,), 32, lambda a: (same_sign_bits(a, 32), None)),
    ("s_sext_i32_i8", "", (32,), 32, lambda a: (signed(a & 255, 8) & M32, None)),
    ("s_sext_i32_i16", "", (32,), 32, lambda a: (signed(a & 65535, 16) & M32, None)),
    ("s_abs_i32", "", (32,), 32, lambda a: nonzero(abs(signed(a)) & M32)),
    ("s_bitreplicate_b64_b32", "", (32,), 64, lambda a: (sum(3 << 2 * i for i in range(32) if a >> i & 1), None)),
    ("s_cmp_eq_i32", "", (32, 32), 0, lambda a, b: (0, int(a == b))),
    ("s_cmp_lt_i32", "", (32, 32), 0, lambda a, b: (0, int(signed(a) < signed(b)))),
    ("s_cmp_le_u32", "", (32, 32), 0, lambda a, b: (0, int(a <= b))),
    ("s_cmp_lg_u64", "", (64, 64), 0, lambda a, b: (0, int(a != b))),
    ("s_bitcmp1_b32", "", (32, 32), 0, lambda a, b: (0, a >> (b & 31) & 1)),
    ("s_bitcmp0_b64", "", (64, 32), 0, lambda a, b: (0, 1 - (a >> (b & 63) & 1))),
]  # fmt: skip


def kernel(target: str) -> str:
    """One wave per pair of operands: s[8:9], s[10:11]; SCC is 1 before each; result and SCC go to memory."""
    eleven = target == "gfx1100"
    load, store = ("s_load_b128", "global_store_b96") if eleven else ("s_load_dwordx4", "global_store_dwordx3")
    lines = ["s_lshl_b32 s5, s4, 4", "s_add_u32 s0, s0, s5", "s_addc_u32 s1, s1, 0", f"{load} s[8:11], s[0:1], 0x0"]
    lines += [f"s_mul_i32 s5, s4, {len(OPERATIONS) * 16}", "v_mov_b32 v0, s5", "s_waitcnt lgkmcnt(0)"]
    for name, later, operands, result, _ in OPERATIONS:
        words = [f"s[{8 + 2 * i}:{9 + 2 * i}]" if bits == 64 else f"s{8 + 2 * i}" for i, bits in enumerate(operands)]
        if result:
            words.insert(0, "s[12:13]" if result == 64 else "s12")
        lines += ["s_mov_b64 s[12:13], 0", "s_cmp_eq_u32 s12, s12", f"{later if eleven and later else name} {', '.join(words)}"]
        lines += ["s_cselect_b32 s14, 1, 0", *(f"v_mov_b32 v{1 + i}, s{12 + i}" for i in range(3))]
        lines += [f"{store} v0, v[1:3], s[2:3]", "v_add_nc_u32 v0, 16, v0"]
    return "\n".join([*lines, "s_endpgm", ""])


@pytest.mark.parametrize("target", ["gfx1100", "gfx1030"])
def test_against_models(target: str, assemble: Assemble) -> None:
    random = np.random.default_rng(23)
    operands = random.integers(0, 1 << 64, (40, 2), dtype=U64)
    special = [0, 1, M64, 1 << 63, 1 << 31, M32, 0x7FFFFFFF, 0x00200000, 0x00010005, 0x0040001F, 31, 63]
    for row in range(24):
        operands[row] = [special[(row * (column + 1) + 5 * column) % len(special)] for column in range(2)]
    device = Device(target, "reference")
    source, results = device.buffer(operands), device.buffer(np.zeros((40, len(OPERATIONS), 4), U32))
    user = [word for buffer in (source, results) for word in (buffer.address & M32, buffer.address >> 32)]
    device.run(assemble(kernel(target), target), (40, 1, 1), (1, 1, 1), user_sgprs=user, workgroup_ids=(True, False, False))
    wrong = []
    for row, values in enumerate(operands.tolist()):
        for column, (name, _, sizes, result, model) in enumerate(OPERATIONS):
            given = [value & (1 << size) - 1 for value, size in zip(values, sizes, strict=False)]
            expected, scc = model(*given)
            low, high, flag, _ = results.numpy()[row, column].tolist()
            found = (low | high << 32, flag) if result else (0, flag)
            if found != (expected, 1 if scc is None else scc):
                shown = [hex(value) for value in given]
                wrong.append(f"{name} {shown}: {found[0]:#x} scc {found[1]}, expected {expected:#x} scc {scc}")
    assert not wrong, "\n".join(wrong[:20])


def values_of(assemble: Assemble, text: str, target: str = "gfx1100", wave: int = 32, count: int = 4, **more: Any) -> list[int]:
    """s4 ... after `text`, in a wave with all lanes."""
    store = "global_store_b32" if target != "gfx1030" else "global_store_dword"
    lines = [text, "s_mov_b32 exec_lo, 1", "v_mov_b32 v0, 0"]
    for index in range(count):
        lines += [f"v_mov_b32 v1, s{4 + index}", f"{store} v0, v1, s[0:1] offset:{4 * index}"]
    device = Device(target, "reference")
    results = device.buffer(np.zeros(count, U32))
    user = [results.address & M32, results.address >> 32]
    code = assemble("\n".join([*lines, "s_endpgm", ""]), target, wave)
    device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave, **more)
    return results.numpy().tolist()


def test_saveexec(assemble: Assemble) -> None:
    """The old EXEC goes to the destination, SCC says whether lanes remain."""
    text = """
        s_mov_b32 s8, 0xff00
        s_and_saveexec_b32 s4, s8
        s_mov_b32 s5, exec_lo
        s_cselect_b32 s6, 1, 0
        s_and_not1_wrexec_b32 s7, exec_lo
    """
    assert values_of(assemble, text) == [M32, 0xFF00, 1, 0]
    text = """
        s_mov_b32 s8, 0xff00
        s_mov_b32 s9, 0xf
        s_xor_saveexec_b64 s[4:5], s[8:9]
        s_mov_b64 s[6:7], exec
    """
    assert values_of(assemble, text, wave=64) == [M32, M32, 0xFFFF00FF, 0xFFFFFFF0]


def test_calls_and_loops(assemble: Assemble) -> None:
    text = """
        s_mov_b32 s4, 0
        s_movk_i32 s5, 10
    again:
        s_call_b64 s[10:11], double
        s_sub_u32 s5, s5, 1
        s_cmp_lg_u32 s5, 0
        s_cbranch_scc1 again
        s_branch end
    double:
        s_lshl1_add_u32 s4, s4, 1
        s_setpc_b64 s[10:11]
    end:
        s_getpc_b64 s[6:7]
    """
    found = values_of(assemble, text)
    assert found[:2] == [1023, 0] and found[3] == 0xFFFF8000


def test_hardware_registers(assemble: Assemble) -> None:
    """MODE is read, written and changed by its short forms; a wave64 branches by VCC."""
    text = """
        s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 8)
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 5
        s_getreg_b32 s5, hwreg(HW_REG_MODE, 0, 8)
        s_round_mode 0x6
        s_denorm_mode 0xf
        s_getreg_b32 s6, hwreg(HW_REG_MODE, 0, 8)
        s_mov_b64 vcc, 0
        s_movk_i32 s7, 1
        s_cbranch_vccz over
        s_movk_i32 s7, 2
    over:
    """
    assert values_of(assemble, text, wave=64, float_mode=0xC0) == [0xC0, 0x50, 0xF6, 1]


def test_indirect_registers(assemble: Assemble) -> None:
    text = """
        s_mov_b32 s12, 70
        s_mov_b32 s13, 71
        s_mov_b32 m0, 3
        s_movrels_b32 s4, s10
        s_movreld_b32 s2, s12
        s_mov_b32 s6, m0
        v_mov_b32 v5, 9
        v_movrels_b32 v6, v2
        v_readfirstlane_b32 s7, v6
    """
    assert values_of(assemble, text) == [71, 70, 3, 9]
