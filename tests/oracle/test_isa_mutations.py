"""Lines that are nearly right, by our assembler and by LLVM's: nothing that is written is lost on the way to the words."""

from __future__ import annotations

import os
import re
import shutil

import assembler_mutations
import pytest
import test_isa_forms

from pyaco.isa.processors import processor

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed"),
]
CHIPS = ("gfx700", "gfx803", "gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1150", "gfx1200", "gfx1250", "gfx1251")
LINES = int(os.environ.get("PYACO_MUTATIONS", "4000"))
SEED = int(os.environ.get("PYACO_SEED", "1"))

#: What we take and LLVM refuses: line and complaint as patterns, and why.
TAKEN = (
    (r".*[ ,|(]--\d.*", "neg", "a minus sign before a negative number is arithmetic here"),
    (r"v_(read|write)lane_b32_e64 .*", "variant", "GFX8 and later encode it in 64 bits"),
    (r".*xnack_mask.*", "not available", "gfx803 has no XNACK; other chips of its level do"),
    (r"(tbuffer|buffer)_store_.* tfe.*", "", "stores have the bit of tfe too"),
    (r"(image|buffer|tbuffer)_.*\bnull\b.*", "operand", "null has every width"),
    (r".*op_sel:.*", "", "op_sel stands for the names of halves, or may stand beside others"),
    (r"image_sample.*", "operand", "GFX6 to GFX9 do not tell the number of address registers"),
    (r"image_bvh.*", "operand", "a16 of GFX12's ray operations says how many registers there are"),
    (r"ds_(gws_.*|ordered_count).*", "too few", "gds is what these are"),
    (r"ds_.* gds.*", "gds", "a bit that the words have"),
    (r"s_(setkill|sethalt|icache_inv|ttracedata).*", "too few", "the number may be left out"),
    (r"s_sendmsg(halt)? .*", "values", "16 bits, signed or not"),
    (r".*(0x|\d).*", "literal operands", "constants of 16 bits before GFX8"),
    (r".*(\|0x|abs\(0x|neg\(0x|\|\d|\(\d).*", "operand", "signs of constants, in VOP3"),
    (r"v_s?mfmac?_.*", "overlap", "the assembler refuses an addend that overlaps the result in part"),
    (r"s_mov_fed_b32 .*", "invalid instruction", "GFX6 and GFX7 have it"),
    (r"buffer_load_lds_.*", "invalid instruction", "GFX11 has it"),
    (r"buffer_atomic_rsub.*", "invalid instruction", "GFX6 has it"),
    (r"((global|scratch)_load_lds_|flat_atomic_csub).*", "invalid instruction|not supported", "RDNA 3.5 has it (AMD's machine-readable ISA)"),
    (r"v_s_.* exec.*", "operand", "results go to exec too"),
    (r"(tbuffer|buffer)_.*d16.*", "not valid", "our registers are those of gfx810, which packs them"),
    (r"v_(tanh|rcp|sqrt|rsq|log|exp|sin|cos)_bf16(_e64)?(_dpp)? .*(clamp|mul:[24]|div:2).*", "operand", "GFX12.5: LLVM 23 takes them"),
    (r"v_(pk_(fma|mul|add|max_num|min_num)_f64|pk_(add_nc|sub_nc|lshl_add)_u64|wmma_f64_16x16x4_f64)(_e64)? .*", "invalid instruction",
     "gfx1251 has it (LLVM 23)"),
)  # fmt: skip
#: Where the words differ.
OTHER = (
    (r".* (-\d+|-0x[0-9a-f]+).*", "the upper half of a literal of 16 bits: LLVM extends the sign, the hardware ignores it"),
    (r".*(\||abs|neg).*", "LLVM computes signs of constants; here the hardware does"),
    (r"v_.*64.*\blit\(.*", "GFX12.5: LLVM writes a literal of 64 bits, which the long form lacks, and reads one of 32 bits under this name"),
    (r"v_dot(4_i32_i8|8_i32_i4).*", "signed dot products: LLVM leaves neg_lo away, which makes them unsigned"),
)  # fmt: skip


def unexplained(result: assembler_mutations.Result) -> list[tuple[str, str]]:
    """Lines that only we take or that differ, for no known reason."""
    left = [
        (line, complaint) for line, complaint in result.taken
        if not any(re.fullmatch(lines, line) and re.search(complaints, complaint) for lines, complaints, _ in TAKEN)
    ]  # fmt: skip
    return left + [(line, words) for line, words in result.other if not any(re.fullmatch(lines, line) for lines, _ in OTHER)]


@pytest.mark.parametrize("chip", CHIPS)
def test_mutations_of_valid_lines(chip: str) -> None:
    """What LLVM refuses is refused here, and what both take becomes the same words."""
    here = [case for case in test_isa_forms.cases(processor(chip)[1], 37) if not test_isa_forms.is_branch(case[1])]
    texts: dict[tuple[str, str], str] = {}
    for (form, name, _), text in zip(here, test_isa_forms.our_texts(chip, [code for _, _, code in here]), strict=True):
        if text:
            texts.setdefault((form, name), text)
    result = assembler_mutations.compare(chip, list(texts.values()), LINES, SEED)
    print(f"{chip}: {result.agreed} agree, {result.refused} are refused by both, {len(result.taken)} by LLVM, {len(result.lost)} by us")
    wrong = unexplained(result)
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(map(str, wrong[:40]))
    assert result.agreed > LINES // 20 and result.refused > LINES // 3
    assert len(result.lost) < LINES // 40
