"""Which encodings and modifiers LLVM takes for each vector opcode, measured: the content of ``opcodes_variants.txt``.

A word with one modifier set is asked of LLVM's disassembler, and its text of the assembler: when the same word comes back, the
opcode takes the modifier. ``python measure_variants.py [LEVEL ...]`` writes the file; with levels, what it says of the others stays.
"""

from __future__ import annotations

import collections
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "isa"))
import llvm_forms
import word_forms

from pyaco.isa import opcodes
from pyaco.isa.table import LEVELS, VARIANT_FORMS

CHIPS = {
    80: "gfx803", 90: "gfx900", 91: "gfx908", 92: "gfx90a", 94: "gfx942", 95: "gfx950", 100: "gfx1010", 103: "gfx1030", 110: "gfx1100",
    115: "gfx1150", 117: "gfx1170", 120: "gfx1200", 125: "gfx1250", 126: "gfx1251", 130: "gfx1310",
}  # fmt: skip
#: Letter of the modifier that a field holds; its bits are numbered by source.
LETTERS = {"neg": "n", "neg_lo": "n", "abs": "a", "neg_hi": "a", "op_sel": "o", "clamp": "c", "omod": "m", "op_sel_hi": "h", "op_sel_hi2": "h"}
#: What LLVM reads and does not print (of the first two release 23): modifiers ("" none) by opcode and form.
UNPRINTED = {("v_nop", "e64"): {""}, ("v_pipeflush", "e64"): {""}, ("v_pk_fmac_f16", "sdwa"): {"n0", "n1", "a0", "a1"}}
File = dict[str, dict[str, dict[str, str]]]


def form_of(name: str) -> str:
    """The kind of encoding, as ``opcodes_variants.txt`` calls it, of a format of ``word_forms``."""
    if name in ("vop3", "vop3p", "vop3_interp", "vinterp"):
        return "e64"
    if name == "vop3p_scaled":
        return "e64"
    head, extra = name.rsplit("_", 1)
    return f"e64_{extra}" if head in ("vop3", "vop3p") else extra


def questions(row: opcodes.Row, level: int) -> Iterator[tuple[str, str, list[int]]]:
    """Form, modifier ("" none) and words of each thing to ask."""
    for form, fixed, every in word_forms.Formats(level).of(row):
        if form in ("vop1", "vop2", "vopc", "vopd", "vintrp") or (form.endswith("sdwa") and fixed >> 47 & 0x10101):
            continue
        fields = word_forms.used_fields(row, every)
        plain = word_forms.plain_values(row, level, fields)
        if (92 <= level < 100 or level == 126) and "extra_dpp_ctrl" in plain:
            # 64-bit operations have row_newbcast or row_share alone
            plain["extra_dpp_ctrl"] = 0x150
        yield form_of(form), "", word_forms.words_of(form, row, fixed, fields, plain)
        for name, field in fields.items():
            bare = name.removeprefix("extra_")
            if bare[:-1] in ("neg", "abs", "sext"):
                yield form_of(form), bare[0] + bare[-1], word_forms.words_of(form, row, fixed, fields, plain | {name: 1})
            elif bare in ("op_sel_hi", "op_sel_hi2"):
                for bit in (0, 1) if bare == "op_sel_hi" else (2,):
                    value = plain[name] ^ 1 << (bit & 1)
                    yield form_of(form), f"h{bit}", word_forms.words_of(form, row, fixed, fields, plain | {name: value})
            elif bare in LETTERS:
                for bit in range(field.width if bare not in ("clamp", "omod") else 1):
                    tag = LETTERS[bare] + ("" if bare in ("clamp", "omod") else str(bit))
                    yield form_of(form), tag, word_forms.words_of(form, row, fixed, fields, plain | {name: 1 << bit})


def accepted(chip: str, words: list[list[int]]) -> list[bool]:
    """Whether LLVM reads and writes each instruction."""
    codes = [struct.pack(f"<{len(entry)}I", *entry) for entry in words]
    texts = llvm_forms.disassemble(chip, codes)
    spoken = [number for number, text in enumerate(texts) if text]
    again = llvm_forms.assemble(chip, [texts[number] or "" for number in spoken])
    good = {number for number, code in zip(spoken, again, strict=True) if code == codes[number]}
    return [number in good for number in range(len(codes))]


def compact(tags: set[str]) -> str:
    """The modifiers of one form: letters, each with the sources it goes for."""
    by_letter: dict[str, str] = collections.defaultdict(str)
    for tag in sorted(tags):
        if tag:
            by_letter[tag[0]] += tag[1:]
    return "".join(letter + by_letter[letter] for letter in "naoscmh" if letter in by_letter)


def measure(levels: dict[int, str] = CHIPS, stride: int = 1) -> File:
    """Modifiers by opcode, generation and form, of every `stride`-th opcode."""
    found: File = collections.defaultdict(dict)
    for level, plain_chip in levels.items():
        generation = opcodes.generation_of(level)
        asked: dict[str, list[tuple[str, str, str, list[int]]]] = collections.defaultdict(list)
        for row in opcodes.rows()[::stride]:
            here = (generation in row.numbers or generation in row.second) and not opcodes.is_encode_only(row, generation)
            # matrix operations have modifiers of their own
            here = here or ("scale" in row.name and generation in row.numbers and level >= 125)
            # without names of halves, as from GFX12 on, LLVM lacks the first; the second has other modifiers than its fields say
            here = here and (row.name != "v_mov_b16" or level < 120) and (row.name != "v_permlane16_swap_b32" or level < 130)
            if here and row.format.startswith(("vop", "vint")) and row.format != "vopd" and "matrix" not in row.flags:
                chip = plain_chip if row.on_chip(generation, plain_chip) else row.chips[generation][0]
                if not row.name.startswith("p_"):
                    asked[chip] += [(row.name, *question) for question in questions(row, level)]
        for chip, items in asked.items():
            tags: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
            for (name, form, tag, _), good in zip(items, accepted(chip, [item[3] for item in items]), strict=True):
                if good or (tag in UNPRINTED.get((name, form), ()) and (not tag or tags.get((name, form)))):
                    tags[name, form].add(tag)
            if 80 <= level < 110 and any(item[0] == "v_nop" for item in items):
                # whose words have zeros where those of others have their sources
                tags |= {("v_nop", form): {""} for form in ("dpp16", "sdwa", *(["dpp8"] if level >= 100 else []))}
            for name in {item[0] for item in items}:
                found[name][generation] = {form: compact(tags[name, form]) for form in VARIANT_FORMS if (name, form) in tags}
    return found


def kept(levels: Iterable[int]) -> File:
    """What the file says of `levels`."""
    found: File = collections.defaultdict(dict)
    for level in levels:
        generation = opcodes.generation_of(level)
        for row in opcodes.rows():
            if row.variants and (generation in row.numbers or generation in row.second):
                found[row.name][generation] = row.variants_of(generation)
    return found


def merged(first: File, second: File) -> File:
    """Both, generations in their order."""
    both = {name: first.get(name, {}) | second.get(name, {}) for name in {**first, **second}}
    return {name: dict(sorted(forms.items(), key=lambda item: LEVELS[item[0]])) for name, forms in both.items()}


def lines(found: File) -> Iterator[str]:
    """The file's lines: a pattern of generations, then the opcodes that have it."""
    patterns: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
    for row in opcodes.rows():
        columns, last = [], None
        for generation, forms in found.get(row.name, {}).items():
            text = ",".join(f"{form}:{tags}" if tags else form for form, tags in forms.items()) or "none"
            if text != last:
                columns.append(f"{generation}={text}")
            last = text
        if columns:
            patterns[tuple(columns)].append(row.name)
    for pattern, names in patterns.items():
        yield "@ " + " ".join(pattern)
        line = ""
        for name in names:
            if len(line) + len(name) > 140:
                yield line.rstrip()
                line = ""
            line += name + " "
        yield line.rstrip()


if __name__ == "__main__":
    head = """\
# Encodings and modifiers that each vector opcode takes beside its plain short form.
#
# A line with @ is a pattern: generation=form:modifiers,... from that generation on, where a form is e64 (VOP3, VOP3P, VINTERP), dpp16, dpp8, sdwa,
# e64_dpp16 or e64_dpp8, and the modifiers are letters with the numbers of their sources: n neg (VOP3P: neg_lo), a abs (VOP3P: neg_hi), o op_sel
# (3 the result), s sext of SDWA, c clamp, m omod, h op_sel_hi. The lines behind it name the opcodes of the pattern. GFX6 and GFX7 are like GFX8, but
# clamp only floating-point results and have neither op_sel nor forms other than e64.
# Source: measured with LLVM 22's assembler and disassembler (GFX11.7 and GFX13: LLVM 23) by tests/oracle/measure_variants.py.
"""
    path = Path(__file__).parent.parent.parent / "pyaco/isa/data/opcodes_variants.txt"
    fresh = {int(word): CHIPS[int(word)] for word in sys.argv[1:]} or CHIPS
    result = merged(kept(level for level in CHIPS if level not in fresh), measure(fresh))
    path.write_text(head + "\n".join(lines(result)) + "\n")
