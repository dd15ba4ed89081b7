"""Words of every CDNA opcode for the comparison with LLVM: each bit flipped, each operand field through every kind of value.

The words start from the forms of ``tests/isa/forms.py``; what is no instruction, or one that text cannot say, is kept: the
disassemblers must agree on that as well.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import forms

from pyaco._core.isa.records import encode_fields
from pyaco.isa import opcodes

# One code of each kind: SGPRs, special registers, integers, floating-point constants, DPP, SDWA, literal, VGPRs.
OPERAND_CODES = (0, 1, 2, 101, 102, 104, 106, 107, 108, 123, 124, 125, 126, 127, 128, 129, 192, 193, 208, 209, 235, 239, 240, 247,
                 248, 249, 250, 251, 252, 253, 254, 255, 256, 257, 258, 511)  # fmt: skip
# (dword, first bit, width) of the operand fields by format.
FIELDS = {
    "sop1": ((0, 0, 8), (0, 16, 7)), "sop2": ((0, 0, 8), (0, 8, 8), (0, 16, 7)), "sopc": ((0, 0, 8), (0, 8, 8)),
    "sopk": ((0, 16, 7),), "vop1": ((0, 0, 9), (0, 17, 8)), "vop2": ((0, 0, 9), (0, 9, 8), (0, 17, 8)),
    "vopc": ((0, 0, 9), (0, 9, 8)), "vop3": ((0, 0, 8), (1, 0, 9), (1, 9, 9), (1, 18, 9)),
    "vop3p": ((0, 0, 8), (1, 0, 9), (1, 9, 9), (1, 18, 9)), "smem": ((0, 0, 6), (0, 6, 7), (1, 25, 7)),
    "mubuf": ((1, 24, 8), (1, 16, 5)), "mtbuf": ((1, 24, 8), (1, 16, 5)), "flat": ((1, 16, 7),), "global": ((1, 16, 7),),
    "scratch": ((1, 16, 7),),
}  # fmt: skip


def base_words(level: int, generator: random.Random) -> Iterator[tuple[opcodes.Row, list[int]]]:
    """Encodings of every opcode: its first form, one that is unlike it, and SDWA and DPP."""
    seen: dict[tuple[str, int, str], int] = {}
    for label, row, form in forms.all_forms(level, generator.randrange(1 << 30)):
        words = encode_fields(form, level)
        key = (row.name, form["format"], label)
        if isinstance(words, list) and seen.setdefault(key, 0) < 2:
            seen[key] += 1
            yield row, words


def variants(row: opcodes.Row, words: list[int], generator: random.Random) -> Iterator[list[int]]:
    """The words with each bit flipped, and with each operand field set to each kind of code."""
    yield words
    for dword in range(len(words)):
        for bit in range(32):
            yield [word ^ (1 << bit if i == dword else 0) for i, word in enumerate(words)]
    form = "vop3" if words[0] >> 26 == 0x34 and row.format.startswith("vop") and row.format != "vop3p" else row.format
    for dword, first, width in FIELDS.get(form, ()):
        for code in OPERAND_CODES:
            if code >> width == 0 and dword < len(words):
                mask = (1 << width) - 1 << first
                yield [word & ~mask | code << first if i == dword else word for i, word in enumerate(words)]
    for _ in range(4):
        flips = [generator.getrandbits(32) & generator.getrandbits(32) & generator.getrandbits(32) for _ in words]
        # the opcode stays
        flips[0] &= 0x1FFFF if words[0] >> 31 else 0x1FFFFFF
        yield [word ^ flip for word, flip in zip(words, flips, strict=True)]


def completed(words: list[int]) -> list[int]:
    """The words, with another if they announce a literal, DPP or SDWA dword."""
    word = words[0]
    if len(words) > 1:
        return words
    if word >> 31 == 0:
        announced = word & 0x1FF in (249, 250, 255) or word >> 25 in (0x17, 0x18, 0x24, 0x25)
    else:
        announced = word >> 30 == 2 and (word & 0xFF == 255 or word >> 8 & 0xFF == 255 or word >> 23 == 0x174)
    return [*words, 0x12345678] if announced else words


def sweep(level: int, seed: int, share: float) -> Iterator[tuple[opcodes.Row, list[int]]]:
    """A share of all variants of a gfx level."""
    generator = random.Random(seed)
    for row, words in base_words(level, generator):
        for variant in variants(row, words, generator):
            if share >= 1 or generator.random() < share:
                yield row, completed(variant)


def code_of(words: Sequence[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)
