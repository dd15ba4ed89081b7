"""Machine words of every opcode with every value of every field, against LLVM 22: our text must give LLVM's bytes.

A word is judged so. Our disassembler writes text: LLVM's assembler must make the same word of it, and so must ours. It writes none: LLVM's
disassembler must not know the word either (it knows GFX8 and later alone). ``REASONS`` says where and why the two differ.
"""

from __future__ import annotations

import collections
import itertools
import os
import re
import shutil
import struct
from dataclasses import dataclass, field

import llvm_forms
import measure_variants
import numpy as np
import pytest
import word_forms

from pyaco import isa
from pyaco._core.isa.disassemble import disassemble_words
from pyaco._core.isa.records import decode_words, encode_fields
from pyaco.errors import InputError
from pyaco.isa import opcodes, text_facts, text_tables
from pyaco.isa.processors import processor
from pyaco.isa.text_tables import default_wave_size

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which(llvm_forms.PROGRAM) is None, reason=f"{llvm_forms.PROGRAM} is not installed"),
]
#: The chip of each gfx level, and those of the same level that have other instructions or features.
CHIPS: tuple[str, ...] = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200", "gfx1250")
CDNA: tuple[str, ...] = ("gfx908", "gfx90a", "gfx942", "gfx950")
SIBLINGS: tuple[str, ...] = ("gfx810", "gfx902", "gfx904", "gfx906", "gfx90c", "gfx1011", "gfx1013", "gfx1103", "gfx1151", "gfx1201", "gfx1251")
#: Chips whose 16-bit operands are halves of registers.
TRUE16: tuple[str, ...] = ("gfx1100", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201")
if llvm_forms.release() >= 23:
    # what LLVM 22 does not know; on the others LLVM 23 has constants in the fields of missing sources, which we do not write there
    CHIPS = TRUE16 = ("gfx1170", "gfx1310")
    CDNA = SIBLINGS = ()
SAMPLE = 23
Case = tuple[str, str, bytes]

#: Differences that are known: format, opcode and message of LLVM with our text behind it (or "silent", "other") as patterns, and why.
REASONS: tuple[tuple[str, str, str, str], ...] = (
    ("mubuf", "buffer_atomic_rsub.*", "invalid instruction", "GFX6 has it (ISA document); LLVM does not know it"),
    ("sop1", "s_mov_fed_b32", "invalid instruction", "GFX6 and GFX7 have it (ISA document); LLVM does not know it"),
    ("ds", "ds_condxchg32_rtn_b128", "invalid instruction", "GFX7 has it (ISA document); LLVM does not know it"),
    ("mubuf", "buffer_load_lds_.*", "invalid instruction", "GFX11 has it (ISA document); LLVM does not know it"),
    ("vop3", "v_qsad_pk_u16_u8", "not supported", "GFX6 has it as v_qsad_u8; LLVM gives it to GFX7 and later"),
    ("vop3", "v_cvt_f32_f16", "literal operands", "constants of 16 bits: LLVM has none before GFX8, the hardware reads a bit pattern"),
    (".*", ".*", "xnack_mask.* not available", "gfx803 has no XNACK; the chips of GFX8 that have it (gfx801, gfx810) take the text"),
    ("m[tu]buf", ".*_d16_.*", "operands are not valid", "gfx803 keeps one half a register; our registers are those of gfx810, which packs them"),
    ("vop3.*", "v_cvt_sr_(fp|bf)8_f16|v_sat_pk4_.4_.8", r"silent.*(sat.*sel:\[1|sr.*op_sel:\[[01],1)",
     "LLVM prints and reads op_sel of sources that have no halves"),
    ("vop[123]", "v_read(first)?lane_b32.*", "invalid operand", "lanes are read into m0 too; LLVM's class of results is without it"),
    ("vop3", "v_s_.*", "invalid operand", "results go to exec too; LLVM's class of results is without it"),
    ("vop3", "v_s_.*", "silent.*Invalid register", "LLVM prints and reads a VGPR as scalar source, with a remark that there is none"),
    ("vimage|mimg", "image_atomic_cmpswap", "silent.*dmask:0x1 .*tfe", "one channel cannot hold both values; LLVM counts the register of tfe as one"),
    ("vopd", ".*", "silent.*src_lds_direct", "GFX11 no longer reads LDS directly; LLVM's dual instructions take the name all the same"),
    ("vop1_dpp16", "v_cvt_f64_[iu]32", "silent", "gap: DPP of conversions to 64 bits on GFX8 and GFX9"),
    ("vop3p", "v_mfma_.*", "must not partially overlap", "the assembler refuses an addend that overlaps the result in part"),
    ("vop3p", "v_mfma_.*", "inline constants are not allowed", "an erratum of gfx908: its assembler refuses constant addends"),
    ("vop3p.*", "v_mfma_.*", "silent.*src_(?!lds)", "special registers are no addends; LLVM's class of constants has them"),
    ("vop3p.*", "v_mfma_(scale_)?f32_.*f8f6f4", "silent.* (cbsz|blgp):[5-7]", "formats end at 4; LLVM reads and writes the numbers behind it"),
    ("vop3", "v_cvt_scalef32_sr_pk_fp4_f32", "silent.*src_", "the pair is VGPRs; LLVM's class has special registers"),
    ("flat|global|mubuf", ".*_atomic_.*", "other", "LLVM's assembler drops sc1 (scc) of floating-point atomics"),
    ("sopk", "s_version", "silent.*UC_VERSION", "LLVM has names of versions"),
    ("vopd3?", ".*",
     r"silent.*dot2acc_f32_bf16|src\d operands must use different VGPR banks|one dst register must be even|invalid VOPDY",
     "LLVM counts the operands of dot products in three dwords wrongly (src8) when it compares their banks, and takes one first in two dwords"),
    (".*", ".*", r"silent.*\[s104,s105,vcc_lo(,vcc_hi)?\]", "GFX13: LLVM 23 takes the last SGPRs and vcc for neighbours; vcc is 106"),
    ("vop3p", "v_pk_(fma|mul|add|max_num|min_num)_f64|v_pk_((add|sub)_nc|lshl_add)_u64|v_wmma_f64_16x16x4_f64", "invalid instruction",
     "gfx1251 has it (LLVM 23); LLVM 22 does not know it"),
    ("vop3(_dpp(8|16))?", "v_(tanh|rcp|sqrt|rsq|log|exp|sin|cos)_bf16", "(invalid|not a valid) operand.*: .* (clamp|mul:[24]|div:2)",
     "GFX12.5: clamp and omod are LLVM 23's"),
    ("vop3p", "v_wmma_(f32_16x16x4_f32|f(16|32)_16x16x32_f16|(f32|bf16|bf16f32)_16x16x32_bf16)", r"silent.* neg_(lo|hi):\[(1,.|.,1),.\]",
     "GFX12.5: signs of A and B, which LLVM 23 takes no more"),
    ("smem", "s_(buffer_)?prefetch_.*|s_atc_probe.*", "(invalid|not a valid) operand.*: .* (th:|scope:|nv)",
     "GFX12.5: cache policies are LLVM 23's; LLVM 22 takes none"),
    ("vop3", "v_(exclusive_scan|wave_match|cvt_scale_pk32)_.*", "invalid instruction", "GFX13: LLVM 24 has it; LLVM 23 does not know it"),
    ("global|scratch", "(global|scratch)_load_lds_([iu](8|16)|b32)|global_load_lds_addtid_b32", "invalid instruction",
     "RDNA 3.5 has it (AMD's machine-readable ISA); LLVM does not know it"),
    ("flat", "flat_atomic_csub", "not supported", "RDNA 3.5 has it (AMD's machine-readable ISA); LLVM gives it to no such chip"),
    ("sopp", "s_set_valu_coexec_mode", "invalid instruction", "CDNA 4 has it (AMD's machine-readable ISA); LLVM does not know it"),
    ("vopd3", "v_dual_.*", "invalid operand for instruction", "LLVM does not read neg(-16) as the first source of the second half"),
    ("vop2_sdwa", "v_mac_f(16|32)", "invalid operand", "the sum stays whole: LLVM refuses to write a part of the register"),
)


@dataclass
class Result:
    """What came of the words of one gfx level."""

    agreed: collections.Counter[str] = field(default_factory=collections.Counter)
    no_instruction: collections.Counter[str] = field(default_factory=collections.Counter)
    crashes: collections.Counter[str] = field(default_factory=collections.Counter)  # words that LLVM's disassembler does not survive
    speechless: set[str] = field(default_factory=set)  # opcodes of the chip of which no word has text
    differences: list[tuple[str, str, str, str]] = field(default_factory=list)  # format, opcode, message, text

    def unexplained(self) -> list[tuple[str, str, str, str]]:
        """Differences without a reason."""
        return [entry for entry in self.differences if reason_of(*entry[:3]) is None]


def reason_of(form: str, name: str, message: str) -> str | None:
    """Why LLVM and we differ, if that is known."""
    for forms, names, messages, reason in REASONS:
        if re.fullmatch(forms, form) and re.fullmatch(names, name) and re.search(messages, message):
            return reason
    return None


def cases(level: int, sample: int = 1, rows: list[opcodes.Row] | None = None) -> list[Case]:
    """Format, opcode and bytes of every word once, or of every `sample`-th, of every opcode or those of `rows`."""
    found: dict[bytes, Case] = {}
    for form, row, words in word_forms.all_words(level, rows=rows):
        code = struct.pack(f"<{len(words)}I", *words)
        found.setdefault(code, (form, row.name, code))
    return list(found.values())[::sample]


def our_texts(chip: str, codes: list[bytes], wave_size: int | None = None, *, halves: bool = False, exact: bool = True) -> list[str | None]:
    """Our text of each word; branches, which name labels, are left out. On GFX12 `halves` have names or have not."""
    tables = text_tables.text_tables(chip)
    # behind each one so many s_nop that it cannot take the next one for its literal
    padding = bytes.fromhex("000080bf" * 6)
    wave = default_wave_size(tables.level, wave_size)
    listing = disassemble_words(b"".join(code + padding for code in codes), wave, tables, halves=halves, exact=exact)
    texts = {offset: (text, size) for text, offset, size in listing.entries() if size and not text.startswith(".long")}
    found: list[str | None] = []
    position = 0
    for code in codes:
        text, size = texts.get(position, ("", 0))
        found.append(text if size == len(code) else None)
        position += len(code) + len(padding)
    return found


def is_branch(name: str) -> bool:
    return name.startswith(("s_branch", "s_cbranch", "s_call", "s_subvector"))


def judge(chip: str, sample: int = 1, rows: list[opcodes.Row] | None = None) -> Result:
    """Every word of the opcodes of the chip, or of `rows`, through both disassemblers and LLVM's assembler."""
    _, level = processor(chip)
    here = [case for case in cases(level, sample, rows) if not is_branch(case[1])]
    texts = our_texts(chip, [code for _, _, code in here])
    result = Result()
    spoken = [(case, text) for case, text in zip(here, texts, strict=True) if text]
    for ((form, name, code), text), answer in zip(
        spoken, llvm_forms.assemble(chip, [text for _, text in spoken]), strict=True
    ):
        if answer == code:
            result.agreed[form] += 1
        else:
            message = f"{answer}: {text}" if isinstance(answer, str) else f"other {answer.hex()} not {code.hex()}"
            result.differences.append((form, name, message, text))
    silent = [case for case, text in zip(here, texts, strict=True) if not text]
    there = {row.name for row in opcodes.rows() if row.on_chip(opcodes.generation_of(level), chip)}
    result.speechless = {name for _, name, _ in silent} & there - {name for (_, name, _), _ in spoken}
    if level < 80:
        result.no_instruction.update(form for form, _, _ in silent)
        return result
    for (form, name, _), good, theirs in zip(silent, *llvm_round_trips(chip, [code for _, _, code in silent]), strict=True):
        result.crashes[form] += theirs == llvm_forms.CRASH
        if good:
            result.differences.append((form, name, f"silent {theirs}", theirs or ""))
        else:
            result.no_instruction[form] += 1
    return result


def llvm_round_trips(chip: str, codes: list[bytes], *options: str) -> tuple[list[bool], list[str | None]]:
    """Whether LLVM's text of each word gives the word back, and the text."""
    texts = llvm_forms.disassemble_or_crash(chip, codes, *options)
    known = [number for number, text in enumerate(texts) if text and text != llvm_forms.CRASH]
    again = llvm_forms.assemble(chip, [texts[number] or "" for number in known], *options)
    good = {number for number, code in zip(known, again, strict=True) if code == codes[number]}
    return [number in good for number in range(len(codes))], texts


@pytest.mark.parametrize("mode", ("+real-true16", "-real-true16"))
@pytest.mark.parametrize("chip", TRUE16)
def test_halves_of_registers(chip: str, mode: str) -> None:
    """Whether registers' halves have names or not, what LLVM reads and writes is an instruction here, of the same words."""
    here = [case for case in cases(processor(chip)[1], 1 if os.environ.get("PYACO_EXHAUSTIVE") else SAMPLE) if not is_branch(case[1])]
    codes = [code for _, _, code in here]
    ours = our_texts(chip, codes, halves=mode[0] == "+")
    good, theirs = llvm_round_trips(chip, codes, f"-mattr={mode}")
    wrong = []
    for (form, name, code), text, their_text in zip([case for case, known in zip(here, good, strict=True) if known],
                                                    itertools.compress(ours, good), itertools.compress(theirs, good), strict=True):
        if reason_of(form, name, f"silent {their_text}"):
            continue
        try:
            again: bytes | str = isa.assemble(their_text or "", chip)
        except InputError as error:
            again = str(error)
        if text is None or again != code:
            wrong.append((form, name, code.hex(), text, their_text, again))
    print(f"{chip} {mode}: {sum(good)} words of {len(here)}")
    assert sum(good) > 100000 // SAMPLE
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(map(str, wrong[:40]))


@pytest.mark.parametrize("chip", [chip for chip in CHIPS if processor(chip)[1] >= 80])
def test_bits_that_mean_nothing(chip: str) -> None:
    """Words with one bit changed: what we print with a remark LLVM reads, if at all, as the same instruction without it."""
    here = {(form, name): code for form, name, code in cases(processor(chip)[1], SAMPLE) if not is_branch(name)}
    codes = [
        (int.from_bytes(code, "little") ^ 1 << bit).to_bytes(len(code), "little") for code in here.values() for bit in range(0, 8 * len(code), 3)
    ]
    ours = our_texts(chip, codes, exact=False)
    remarked = [(code, text) for code, text in zip(codes, ours, strict=True) if text and "; words" in text]
    theirs = llvm_forms.disassemble(chip, [code for code, _ in remarked])
    known = [(text, their_text) for (_, text), their_text in zip(remarked, theirs, strict=True) if their_text]
    # LLVM reads the words without these bits as what it reads with them
    plain = llvm_forms.disassemble(chip, [isa.assemble(text, chip) for text, _ in known])
    taken = llvm_forms.assemble(chip, [text for _, text in known])
    wrong = [
        (text, with_bits, without) for (text, with_bits), without, answer in zip(known, plain, taken, strict=True)
        # the highest bit of a FLAT offset is ignored: LLVM prints it, and refuses its own text
        if with_bits != without and isinstance(answer, bytes)
    ]  # fmt: skip
    print(f"{chip}: {len(codes)} words, {len(remarked)} with a remark, of which LLVM reads {len(known)}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(map(str, wrong[:40]))
    assert len(known) > 100


def report(chip: str, result: Result) -> None:
    """Counts by format, and the differences by reason."""
    print(f"{chip}: {sum(result.agreed.values())} forms agree, {sum(result.no_instruction.values())} are no instructions")
    for form in sorted(result.agreed | result.no_instruction):
        print(f"  {form:14} {result.agreed[form]:6} agree {result.no_instruction[form]:6} no instructions")
    print(f"  LLVM's disassembler crashes on {dict(+result.crashes)}")
    reasons = collections.Counter(reason_of(*entry[:3]) or "NO REASON" for entry in result.differences)
    for reason, count in reasons.most_common():
        names = sorted({entry[1] for entry in result.differences if (reason_of(*entry[:3]) or "NO REASON") == reason})
        print(f"  differ {count:5}: {reason} ({len(names)} opcodes: {' '.join(names[:6])}{' ...' if len(names) > 6 else ''})")


def check(chip: str, sample: int) -> None:
    result = judge(chip, sample)
    report(chip, result)
    unexplained = result.unexplained()
    for entry in unexplained[:60]:
        print("  no reason:", *entry)
    assert not unexplained, f"{len(unexplained)} differences without a reason"
    assert sum(result.agreed.values()) > 40000 // sample
    # without names of halves these have no text from GFX12 on
    speechless = result.speechless - ({"v_mov_b16", "v_swap_b16"} if processor(chip)[1] >= 120 else set())
    assert sample > 1 or not speechless, f"no text for {sorted(speechless)}"


@pytest.mark.parametrize("chip", (*CHIPS, *CDNA))
def test_sampled_words_of_every_opcode(chip: str) -> None:
    check(chip, SAMPLE)


def rows_of_some_chips(level: int) -> list[opcodes.Row]:
    """Opcodes that not every chip of the level has, or that some name otherwise."""
    chips = [chip for chip in (*CHIPS, *SIBLINGS) if processor(chip)[1] == level]
    generation = opcodes.generation_of(level)
    return [row for row in opcodes.rows() if generation in row.chips or any(chip in row.spellings for chip in chips)]


@pytest.mark.parametrize("chip", [chip for chip in SIBLINGS if rows_of_some_chips(processor(chip)[1])])
def test_words_of_what_not_every_chip_has(chip: str) -> None:
    """What a chip shares with all others of its level is judged once, there."""
    result = judge(chip, 3, rows_of_some_chips(processor(chip)[1]))
    report(chip, result)
    assert not result.unexplained()
    assert sum(result.agreed.values()) + sum(result.no_instruction.values()) > 20


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PYACO_EXHAUSTIVE"), reason="a minute a chip: set PYACO_EXHAUSTIVE to take every word of every opcode")
@pytest.mark.parametrize("chip", (*CHIPS, *CDNA, *SIBLINGS))
def test_every_word_of_every_opcode(chip: str) -> None:
    check(chip, 1)


VECTOR_TUPLE = re.compile(r"\b([va])\[(\d+):(\d+)\]")


def odd_tuples(text: str) -> list[str]:
    """The text with one tuple of vector registers after the other moved by one register."""
    found = []
    for match in VECTOR_TUPLE.finditer(text):
        first, last = int(match[2]), int(match[3])
        step = 1 if last < 255 else -1
        found.append(f"{text[: match.start()]}{match[1]}[{first + step}:{last + step}]{text[match.end() :]}")
    return found


@pytest.mark.parametrize("chip", ("gfx90a", "gfx942", "gfx950"))
def test_tuples_of_vector_registers_are_aligned_as_llvm_wants(chip: str) -> None:
    """A text of every opcode and form (a sample of the words): each tuple of VGPRs or AGPRs at an odd register, by both assemblers."""
    here = [case for case in cases(processor(chip)[1], 1 if os.environ.get("PYACO_EXHAUSTIVE") else 11) if not is_branch(case[1])]
    texts: dict[tuple[str, str, int], str] = {}
    for (form, name, _), text in zip(here, our_texts(chip, [code for _, _, code in here]), strict=True):
        if text:
            texts.setdefault((form, name, text.count("a[")), text)
    lines = list(dict.fromkeys(line for text in texts.values() for line in odd_tuples(text)))
    refused, wrong = 0, []
    for line, theirs in zip(lines, llvm_forms.assemble(chip, lines), strict=True):
        try:
            ours: bytes | str = isa.assemble(line, chip)
        except InputError as error:
            ours = str(error)
        refused += isinstance(ours, str) and "even number" in ours
        if isinstance(ours, bytes) != isinstance(theirs, bytes) or (isinstance(ours, bytes) and ours != theirs):
            wrong.append((line, ours, theirs))
    print(f"{chip}: {len(lines)} lines, {refused} refused for their registers")
    assert not wrong, "\n".join(map(str, wrong[:40]))
    assert refused > 300


@pytest.mark.parametrize("chip", (*CHIPS, *CDNA))
def test_words_survive_decoder_and_encoder(chip: str) -> None:
    """What has text comes back from the decoder and the encoder; this needs no peer, but it says which words have a meaning."""
    level = processor(chip)[1]
    here = cases(level, SAMPLE)
    for (form, name, code), text in zip(here, our_texts(chip, [code for _, _, code in here]), strict=True):
        if text:
            words = np.frombuffer(code, dtype="<u4").astype(np.uint32)
            assert encode_fields(decode_words(words, level), level) == list(words), (form, name, text)


@pytest.mark.parametrize("chip", (*CHIPS, *CDNA))
def test_our_assembler_reads_the_text(chip: str) -> None:
    here = [case for case in cases(processor(chip)[1], SAMPLE) if not is_branch(case[1])]
    wrong = []
    for (form, name, code), text in zip(here, our_texts(chip, [code for _, _, code in here]), strict=True):
        if not text:
            continue
        try:
            ours = isa.assemble(text, chip)
        except InputError as error:
            wrong.append((form, name, text, str(error)))
            continue
        if ours != code:
            wrong.append((form, name, text, ours.hex()))
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(map(str, wrong[:40]))


def test_variants_are_what_llvm_takes() -> None:
    """A sample of ``opcodes_variants.txt``, measured again."""
    levels = {90: "gfx900", 110: "gfx1100"} if llvm_forms.release() < 23 else {117: "gfx1170", 130: "gfx1310"}
    measured = measure_variants.measure(levels, stride=11)
    assert len(measured) > 40
    for name, generations in measured.items():
        for generation, forms in generations.items():
            assert opcodes.row(name).variants_of(generation) == forms, (name, generation)


@pytest.mark.parametrize("chip", (*CHIPS, *CDNA))
def test_no_mnemonic_of_llvm_is_missing(chip: str) -> None:
    """Every mnemonic that LLVM's assembler has on a chip is one of ours, but for names with the suffix of an encoding."""
    level = processor(chip)[1]
    known = text_facts.mnemonics(level, chip)
    halves = {row.name for row in opcodes.rows() if row.format == "vopd"} if level >= 110 else set()
    names = llvm_forms.mnemonics()
    refusals = ("invalid instruction", "not supported on this GPU")
    answers = llvm_forms.assemble(chip, names)
    there = [name for name, answer in zip(names, answers, strict=True) if isinstance(answer, bytes) or not any(part in answer for part in refusals)]
    missing = [name for name in there if name.removesuffix("_e32") not in known and name not in halves]
    print(f"{chip}: {len(there)} mnemonics of LLVM")
    assert len(there) > 1000
    assert not missing, missing
