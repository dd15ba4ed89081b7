"""The opcode table: what ``data/opcodes_*.txt`` says about each opcode.

The files are the only place where an opcode is named; ``tools/generate_isa.py`` makes the kernels' tables of them.
This module imports nothing but the standard library, because the build runs it before the package exists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

#: Columns of opcode numbers. GFX10 and GFX10.3, GFX11 and GFX11.5 share encodings but not every instruction.
GENERATIONS = ("6", "7", "8", "9", "10", "10.3", "11", "11.5", "12")

#: The bits of an instruction's format (the data sheet ``_core/ir/program.pxd`` has the same values).
FORMATS = {
    "pseudo": 0, "pseudo_branch": 1, "pseudo_barrier": 2, "pseudo_reduction": 3, "sop1": 4, "sop2": 5,
    "sopk": 6, "sopp": 7, "sopc": 8, "smem": 9, "ds": 10, "ldsdir": 11, "mtbuf": 12, "mubuf": 13, "mimg": 14,
    "exp": 15, "flat": 16, "global": 17, "scratch": 18, "vintrp": 19, "vinterp_inreg": 20, "vopd": 21,
    "vop1": 0x80, "vop2": 0x100, "vopc": 0x200, "vop3": 0x400, "vop3p": 0x800,
}  # fmt: skip

#: Operands that an instruction names but its encoding does not hold.
IMPLICIT = ("scc", "vcc", "exec", "m0")

FILES = ("pseudo", "scalar", "vector", "vector3", "memory", "graphics", "dual")


@dataclass
class Row:
    """One opcode.

    Attributes
    ----------
    name
        ACO's name.
    format
        Native format, a key of ``FORMATS``.
    numbers
        Opcode number by generation; a generation that lacks the opcode has no key.
    definitions, operands
        Signature tokens in ACO's order, implicit ones included.
    latency
        Class of the latency model.
    flags
        Properties: ``input_modifiers``, ``output_modifiers``, ``atomic``; ``encode_only``: another opcode has the same
        number and is the one decoded; ``tied``: the last operand is the destination; ``literal``: the last operand
        is a literal; ``two_offsets``: two 8-bit LDS offsets; ``no_address``: memory access without an address register;
        ``one_form``: a vector opcode that assemblers write without the suffix of its encoding; ``gfx906``:
        GFX9 has it from that chip on; ``opsel``: before GFX11, op_sel chooses halves of its registers (later all can).
    spellings
        LLVM's name from a generation on, where it differs from `name`.
    second
        Format and number in a generation that encodes the opcode natively in another format too.
    second_half
        VOPD only: number as the second (Y) half.
    """

    name: str
    format: str
    numbers: dict[str, int] = field(default_factory=dict)
    definitions: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    latency: str = "other"
    flags: tuple[str, ...] = ()
    spellings: dict[str, str] = field(default_factory=dict)
    second: dict[str, tuple[str, int]] = field(default_factory=dict)
    second_half: int = -1

    def spelling(self, generation: str) -> str:
        """LLVM's name in `generation`."""
        name = self.name
        position = GENERATIONS.index(generation)
        for since, spelled in self.spellings.items():
            if GENERATIONS.index(since) <= position:
                name = spelled
        return name


def _tokens(column: str) -> tuple[str, ...]:
    return () if column == "-" else tuple(column.split(","))


def _spellings(columns: list[str]) -> dict[str, str]:
    return dict(column.split(":", 1) for column in columns if column != "-")


def _read_row(kind: str, words: list[str]) -> Row:
    row = Row(words[0], words[1])
    if kind == "pseudo":
        row.latency, row.flags = words[2], _tokens(words[3])
        return row
    if kind == "dual":
        first, row.second_half = (-1 if word == "-" else int(word, 16) for word in words[2:4])
        row.numbers = {generation: max(first, -1) for generation in ("11", "11.5", "12") if first >= 0}
        rest = words[4:]
    else:
        row.numbers = {
            generation: int(word, 16)
            for generation, word in zip(GENERATIONS, words[2 : 2 + len(GENERATIONS)], strict=True)
            if word != "-"
        }
        rest = words[2 + len(GENERATIONS) :]
    row.definitions, row.operands = _tokens(rest[0]), _tokens(rest[1])
    row.latency, row.flags, row.spellings = rest[2], _tokens(rest[3]), _spellings(rest[4:])
    return row


def _lines(path: Path) -> list[list[str]]:
    return [words for line in path.read_text().splitlines() if (words := line.split("#")[0].split())]


def read_table(folder: Path) -> list[Row]:
    """Read every row below `folder`; a row's position is the opcode's number in the kernels."""
    rows = [_read_row(kind, words) for kind in FILES for words in _lines(folder / f"opcodes_{kind}.txt")]
    by_name = {row.name: row for row in rows}
    if len(by_name) != len(rows):
        raise ValueError("an opcode is named twice")
    for name, form, *places in _lines(folder / "opcodes_second.txt"):
        for place in places:
            generation, number = place.split(":")
            by_name[name].second[generation] = (form, int(number, 16))
    return rows
