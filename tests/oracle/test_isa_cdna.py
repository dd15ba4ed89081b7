"""CDNA against LLVM 22: every opcode's words, each bit flipped and each operand field through every kind of value.

The disassemblers have to agree on what is an instruction, each text has to assemble, by LLVM and by ours, to the same words.
Counts are printed by chip and format; what they disagree on is told by reason, and a disagreement without one fails.
"""

from __future__ import annotations

import collections
import os
import re
import shutil

import cdna_sweep
import llvm_forms
import pytest

from pyaco import isa
from pyaco.errors import InputError

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed"),
]
TARGETS = {91: "gfx908", 92: "gfx90a", 94: "gfx942", 95: "gfx950"}
_BRANCH = re.compile(r" L\d+$")
#: What LLVM and pyaco treat differently, by text and complaint. Most are words that no assembler makes, or rules of LLVM's assembler
#: (registers of other operands, errata) beyond what one instruction's encoding can hold.
REASONS = {
    "LLVM writes a comparison's result to a source that is no register": r"v_cmpx?_\w+_e64 src_",
    "LLVM keeps an immediate offset of zero beside a register": r"s_\w+ .*offset:0x0",
    "LLVM takes special registers for the addend of a matrix operation": r"v_mfma_.* src_\w+",
    "LLVM takes a constant for an inline one that its text turns into a literal": r"v_pk_fmac_f16_e32",
    "LLVM's assembler drops sc1 (scc) of floating-point atomics that return": r"(flat|global|buffer)_atomic_\w+ .*(sc1|scc).*LLVM: b",
    "LLVM's assembler refuses returning floating-point atomics of CDNA 1": r"\w+_atomic_(pk_add_f16|add_f32) .* glc.*not valid for",
    "LLVM's assembler refuses inline constants in matrix operations of CDNA 1": r"v_mfma_.*inline constants are not allowed",
    "LLVM's assembler refuses an addend that overlaps the result in part": r"v_mfma_.*must not partially overlap",
    "LLVM counts vcc, which v_div_fmas implies, among the scalars": r"v_div_fmas_f(32|64) .*constant bus",
    "LLVM wants an even register although one is used": r"ds_gws_\w+ .*even aligned",
    "LLVM has no text for reserved messages": r"s_sendmsg",
    "LLVM's assembler refuses AGPRs of floating-point atomics that return": r"global_atomic_(pk_)?add_\w+ a.* sc0.*not valid for",
    "LLVM writes a lane to a source that is no register": r"v_read(first)?lane_b32 src_",
    "LLVM's class of results is without m0, to which lanes are read too": r"v_read(first)?lane_b32 m0.*invalid operand",
    "LLVM takes special registers for a wave's saved state": r"s_cbranch_join src_",
    "LLVM takes special registers for pairs of VGPRs": r"v_cvt_scalef32_sr_pk_fp4_f32 .*src_",
    "LLVM's assembler drops nt of buffer_inv": r"buffer_inv .*nt",
}


def reason_of(text: str, complaint: str) -> str | None:
    return next((reason for reason, pattern in REASONS.items() if re.match(pattern, f"{text} | {complaint}")), None)


def our_text(code: bytes, target: str) -> str | None:
    lines = [line for line in isa.disassemble_lines(code, target, exact=True) if line.size]
    whole = len(lines) == 1 and lines[0].size == len(code) and not lines[0].text.startswith(".long")
    return lines[0].text if whole else None


def our_code(text: str, target: str) -> bytes | str:
    try:
        return isa.assemble(text, target)
    except InputError as error:
        return str(error)


def complaints_about(text: str, code: bytes, our: str | None, assembled: dict[tuple[bytes, str], bytes | str], target: str) -> list[str]:
    """What does not fit a text: our disassembler, LLVM's assembler, ours. Branches need labels."""
    if _BRANCH.search(text):
        return []
    found = ["we do not disassemble it"] if our is None else []
    if assembled[code, text] != code:
        found.append(f"LLVM: {assembled[code, text]!r}")
    result = our_code(text, target)
    return found if result == code else [*found, f"our assembler: {result!r}"]


def compare(level: int, seed: int, share: float) -> None:
    target = TARGETS[level]
    cases: dict[bytes, str] = {}
    for row, words in cdna_sweep.sweep(level, seed, share):
        cases.setdefault(cdna_sweep.code_of(words), row.format)
    codes = list(cases)
    theirs = llvm_forms.disassemble(target, codes)
    ours = [our_text(code, target) for code in codes]
    spoken = [(code, text) for code, *texts in zip(codes, ours, theirs, strict=True) for text in dict.fromkeys(texts)
              if text is not None and not _BRANCH.search(text)]  # fmt: skip
    assembled = dict(zip(spoken, llvm_forms.assemble(target, [text for _, text in spoken]), strict=True))
    agreed: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    wrong = []
    for code, our, their in zip(codes, ours, theirs, strict=True):
        # LLVM's text counts where its assembler takes it back
        heard = [text for text in dict.fromkeys((our, their)) if text is not None and (text == our or assembled.get((code, text)) == code)]
        complaints = [(text, complaint) for text in heard for complaint in complaints_about(text, code, our, assembled, target)]
        unexplained = [entry for entry in complaints if reason_of(*entry) is None]
        reasons.update({reason for entry in complaints if (reason := reason_of(*entry))})
        if unexplained:
            wrong.append((code.hex(), *unexplained[0]))
        elif not complaints:
            agreed[cases[code]] += 1
    print(f"{target}: {sum(agreed.values())} of {len(codes)} words agree: {dict(agreed)}; otherwise {dict(reasons)}; unexplained {len(wrong)}")
    assert not wrong, "\n".join(map(str, wrong[:60]))
    assert sum(agreed.values()) > 0.9 * len(codes)


@pytest.mark.parametrize("level", TARGETS)
def test_a_sample_of_words(level: int) -> None:
    compare(level, 1, 0.002)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PYACO_EXHAUSTIVE"), reason="minutes: set PYACO_EXHAUSTIVE to take a tenth of all words")
@pytest.mark.parametrize("level", TARGETS)
def test_words_of_every_opcode(level: int) -> None:
    compare(level, 2, 0.1)


MFMA = [
    ("gfx908", "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31] cbsz:1 abid:2 blgp:3", "0011c0d300030264"),
    ("gfx90a", "v_mfma_f32_32x32x1f32 v[0:31], a0, v1, 1.0", "0000c0d30003ca0b"),
    ("gfx942", "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[0:1], a[2:3], v[0:1] neg:[1,1,0]", "0000efd300050274"),
    ("gfx942", "v_smfmac_f32_16x16x32_f16 v[10:13], a[2:3], v[4:7], v1", "0a00e2d30209060c"),
    ("gfx90a", "buffer_load_dword a1, v2, s[4:7], s3 offen glc slc", "005052e002018103"),
    ("gfx942", "global_atomic_add a1, v[2:3], a4, off sc0 nt sc1", "00800bdf0204ff01"),
    ("gfx942", "scratch_load_dword v1, v2, s2", "006050dc02000201"),
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], a[4:11], v[12:17], a[20:23], v24, v25 blgp:2",
     "0000acd3183302000088add30419524c"),
    ("gfx950", "v_bitop3_b16 v1, v2, v3, v4 bitop3:0x12 op_sel:[1,0,0,1]", "014a33d202071244"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "text", "code"), MFMA)
def test_encodings_that_llvm_gave(target: str, text: str, code: str) -> None:
    assert isa.assemble(text, target).hex() == code
    assert our_text(bytes.fromhex(code), target) == text
    assert llvm_forms.assemble(target, [text]) == [bytes.fromhex(code)]
