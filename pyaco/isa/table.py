"""The opcode table: what ``data/opcodes_*.txt`` says about each opcode.

The files are the only place where an opcode is named; ``tools/generate_isa.py`` makes the kernels' tables of them.
This module imports nothing but the standard library, because the build runs it before the package exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import filter as filter_names
from fnmatch import fnmatchcase
from pathlib import Path

#: Columns of opcode numbers. GFX10 and GFX10.3, GFX11 and GFX11.5 share encodings but not every instruction.
COLUMNS = ("6", "7", "8", "9", "10", "10.3", "11", "11.5", "12")

#: Generations of CDNA, descendants of GFX9: gfx908, gfx90a, gfx942, gfx950.
CDNA = ("cdna1", "cdna2", "cdna3", "cdna4")

#: Generations that descend from another one, whose opcodes they have except for what ``data/opcodes_<name>_changes.txt`` says; what they alone have
#: is in ``data/opcodes_<name>.txt``.
DESCENDANTS = {"11.7": "11.5", "12.5": "12", "12.51": "12.5", "13": "12"}

#: Generations with dual instructions.
DUAL = ("11", "11.5", "11.7", "12", "12.5", "12.51", "13")

#: Gfx level (``gfx*`` of ``_core/common/machine.pxd``) by generation.
LEVELS = {
    "6": 60, "7": 70, "8": 80, "9": 90, "cdna1": 91, "cdna2": 92, "cdna3": 94, "cdna4": 95, "10": 100, "10.3": 103,
    "11": 110, "11.5": 115, "11.7": 117, "12": 120, "12.5": 125, "12.51": 126,
    "13": 130,
}  # fmt: skip

#: Every generation, in the order of the levels.
GENERATIONS = tuple(LEVELS)

#: Operands that are implied: the encoding has no field for them.
IMPLICIT = ("scc", "vcc", "exec", "m0")

#: Encodings beside the plain short form of a vector opcode, and the modifiers that they can have (``data/opcodes_variants.txt``).
VARIANT_FORMS = ("e64", "dpp16", "dpp8", "sdwa", "e64_dpp16", "e64_dpp8")

#: What an image opcode does and which addresses it takes before the coordinates and after them.
IMAGE_FLAGS = ("load", "store", "atomic", "sample", "gather", "bvh", "sampler", "offset", "bias", "compare", "gradients", "lod",
               "half_gradients", "packed", "tensor")  # fmt: skip

#: What the flags of dual instructions say of their halves.
DUAL_FLAGS = ("until_12", "since_12.5", "until_12.5", "wide_first", "wide_second")

#: Classes of hazards, in the order of the kernels' bits (``data/hazards.txt`` says which opcodes of a generation are in them). In
#: brackets the rule's name in LLVM's ``GCNHazardRecognizer``; wait states are those of the ISA documents, from GFX8 on unless stated.
HAZARDS = {
    "lane_select": "reads an SGPR as the number of a lane: 4 wait states after a VALU write of it (RWLane)",
    "lane_access": "reads or writes one lane: 4 wait states after a VALU write of exec (VDecCoExec)",
    "div_fmas": "reads vcc: 4 wait states after a VALU write of it (DivFMas)",
    "setreg": "writes a hardware register: 2 wait states (GFX6, GFX7: 1) before the next access to it (SetReg)",
    "getreg": "reads a hardware register: 2 wait states after a write of it (GetReg)",
    "trap_return": "1 wait state after a write of TRAPSTS (RFE)",
    "m0_read": "reads m0 implicitly: 1 wait state after a SALU write of it (ReadM0)",
    "wide_store": "may store more than 64 bits a lane, read late: 1 wait state (CDNA 3: 2) before a VALU write of the data (12DWordStore)",
    "vector_memory": "VMEM and FLAT. GFX8, GFX9: 5 wait states after a VALU write of an SGPR that it reads (VMEMReadSGPRVALUDef). GFX10: a "
                     "SALU write of such an SGPR (VMEMtoScalarWrite), LDS on the other side of a branch (LdsBranchVmemWAR). GFX11 on: LDSDIR "
                     "(LdsDirectVMEM)",
    "scalar_memory": "GFX6: 4 wait states after a VALU write of an SGPR that it reads (SMRDReadVALUDef). GFX8, GFX9: its clause is broken by stores "
                     "and, with XNACK, by a write of what the clause reads (SoftClause). GFX10: a VALU write of its SGPRs (SMEMtoVectorWrite)",
    "lds": "LDS. GFX10: likewise, VMEM on the other side of a branch. GFX11 on: LDSDIR to its VGPRs (LdsDirectVMEM)",
    "lds_direct": "writes a VGPR without going through the queues of VALU and memory (LdsDirectVALU, LdsDirectVMEM)",
    "branch": "lies between LDS and VMEM without a wait for stores (LdsBranchVmemWAR)",
    "compare_to_exec": "VALU comparison that writes exec: a VALU instruction before a permlane (VcmpxPermlane); GFX10: after a read of exec that "
                       "is not the VALU's (VcmpxExecWAR)",
    "permlane": "reads other lanes: a VALU instruction after a comparison that writes exec (VcmpxPermlane)",
    "denorm_mode": "3 wait states after a floating-point atomic (FPAtomicToDenormMode)",
    "float_atomic": "floating-point atomic: 3 wait states before a write of the denormal mode (FPAtomicToDenormMode)",
    "transcendental": "finishes later than other VALU instructions. CDNA 3: 1 wait state before a VALU read of the result (TransForwarding). "
                      "GFX11.0: a wait before a read within 5 VALU instructions (VALUTransUse). GFX11 on: out of order (LdsDirectVALU)",
    "lane_mask_read": "reads a lane mask, late in wave64: before a SALU write of the same SGPRs (VALUMaskWrite)",
    "wave_matrix": "WMMA: a VALU instruction before another one that reads the result as A or B (WMMA)",
    "shift64": "its amount may not be the last VGPR that is allocated (Shift64HighReg)",
    "accumulator_access": "moves between AGPRs and VGPRs: wait states around MFMA (MAI)",
    "dot": "dot product: 3 wait states before a VALU use of the result, but for the next one's accumulator (MAIVALU)",
    "matrix_double": "MFMA of 64-bit elements; the wait states before its result is used depend on its passes (MAI, MAIVALU, MAILdSt)",
    "matrix_xdl": "MFMA in the pipeline of XDL operations; likewise",
    "matrix_single": "MFMA of 32-bit elements in the pipeline of its own that it has from CDNA 3 on; likewise",
    "matrix_2_passes": "MFMA of 2 passes (of 4 cycles)",
    "matrix_4_passes": "MFMA of 4 passes",
    "matrix_8_passes": "MFMA of 8 passes",
    "matrix_16_passes": "MFMA of 16 passes",
}  # fmt: skip

FILES = ("pseudo", "scalar", "vector", "vector3", "memory", "graphics", "dual", "cdna", "matrix", "12.5", "12.51", "12.5_dual", "11.7", "13")


@dataclass(frozen=True)
class Matrix:
    """What a matrix operation of CDNA multiplies.

    Attributes
    ----------
    shape
        Rows, columns and depth of one block.
    blocks
        Independent blocks.
    types
        Element types of A, B, and C and D.
    passes
        Passes of four cycles by generation.
    """

    shape: tuple[int, int, int]
    blocks: int
    types: tuple[str, str, str]
    passes: dict[str, int]


@dataclass
class Row:
    """One opcode.

    Attributes
    ----------
    name
        ACO's name.
    format
        Native format, a name of ``Format`` (``_core/common/vocabulary.py``).
    numbers
        Opcode number by generation; a generation that lacks the opcode has no key.
    definitions, operands
        Signature tokens in ACO's order, implicit ones included.
    latency
        Class of the latency model.
    flags
        Properties: ``input_modifiers``, ``output_modifiers``, ``atomic``; ``encode_only``: where another opcode has the same
        number, that one is decoded; ``tied``: the last operand is the destination; ``literal``: the last operand
        is a literal; ``two_offsets``: two 8-bit LDS offsets; ``no_address``: memory access without an address register;
        ``one_form``: a vector opcode that assemblers write without the suffix of its encoding; ``gfx906``:
        of GFX9, that chip alone has it; ``opsel``: before GFX11, op_sel chooses halves of its registers (later all can);
        ``neg0``, ``neg1``, ``neg2``: input modifiers of that source alone; ``matrix``: the encoding of matrix operations;
        ``interpolation``: VOP3 with an attribute as first source. Images: a key of ``IMAGE_FLAGS``.
    spellings
        LLVM's name from a generation on, or on a chip, where it differs from `name`.
    aliases
        Names that assemblers take as well, by generation.
    chips
        Chips that have the opcode, by generation; a generation without a key has it on every chip.
    variants
        Vector opcodes: modifiers by form, from a generation on (``variants_of``).
    second
        Format and number in a generation that encodes the opcode in another format too.
    second_half
        VOPD only: number as the second (Y) half.
    wide_number
        VOPD only: number in dual instructions of three dwords (VOPD3), -1 where it has none; flag ``wide_first`` or
        ``wide_second``: in that half alone.
    matrix
        Matrix operations of CDNA only.
    """

    name: str
    format: str
    numbers: dict[str, int] = field(default_factory=dict)
    definitions: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    latency: str = "other"
    flags: tuple[str, ...] = ()
    spellings: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    chips: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variants: dict[str, dict[str, str]] = field(default_factory=dict)
    second: dict[str, tuple[str, int]] = field(default_factory=dict)
    second_half: int = -1
    wide_number: int = -1
    matrix: Matrix | None = None

    def spelling(self, generation: str, chip: str = "") -> str:
        """LLVM's name in `generation`, on `chip` (a gfx name) where one is given."""
        if chip in self.spellings:
            return self.spellings[chip]
        name = self.name
        for since, spelled in sorted(self.spellings.items(), key=lambda item: LEVELS.get(item[0], 0)):
            if since in LEVELS and LEVELS[since] <= LEVELS[generation] and (generation in CDNA or since not in CDNA):
                name = spelled
        return name

    def variants_of(self, generation: str) -> dict[str, str]:
        """Modifiers by form (``VARIANT_FORMS``) that assemblers take in `generation`."""
        level = LEVELS[generation]
        if level < LEVELS["8"]:
            return _early_variants(self, self.variants_of("8") or self.variants_of("10"))
        found: dict[str, str] = {}
        for since, forms in self.variants.items():
            if LEVELS[since] <= level:
                found = forms
        return found

    def in_generation(self, generation: str) -> bool:
        """Whether some chip of `generation` has the opcode."""
        return generation in self.numbers or generation in self.second or self.is_dual_half(generation)

    def is_dual_half(self, generation: str) -> bool:
        """Whether some dual instruction of `generation` has the opcode as a half that is not the first of VOPD."""
        if generation not in DUAL:
            return False
        wide = self.wide_number >= 0 and LEVELS[generation] >= LEVELS["12.5"] and not (generation == "13" and "until_12.5" in self.flags)
        return self.is_second_half(generation) or wide

    def is_second_half(self, generation: str) -> bool:
        """Whether the second half of VOPD can be this opcode."""
        missing = "until_12" if LEVELS.get(generation, 0) >= LEVELS["12.5"] else "since_12.5"
        return self.second_half >= 0 and generation in DUAL and missing not in self.flags

    def on_chip(self, generation: str, chip: str) -> bool:
        """Whether `chip`, of `generation`, has the opcode."""
        has = generation in self.numbers or generation in self.second
        return has and (generation not in self.chips or chip in self.chips[generation])


def _early_variants(row: Row, later: dict[str, str]) -> dict[str, str]:
    """The long form in GFX6 and GFX7, from what GFX8 or GFX10 has, or from the flags of opcodes that neither has."""
    short_only = row.name in ("v_readlane_b32", "v_writelane_b32") or "literal" in row.flags
    if short_only or not row.format.startswith("vop") or (row.variants and "e64" not in later):
        return {}
    if row.variants:
        return {"e64": _without_later_modifiers(row.name, later["e64"])}
    positions = "".join(str(position) for position in range(len(row.operands)))
    signs = f"n{positions}a{positions}" if "input_modifiers" in row.flags else ""
    return {"e64": signs + ("cm" if "output_modifiers" in row.flags else "")}


def _without_later_modifiers(name: str, letters: str) -> str:
    """The modifiers of GFX8 that GFX6 and GFX7 have: no op_sel, and clamp only for floating-point results."""
    words = re.findall(r"[a-z][0-9]*", letters)
    floating = "m" in words and not re.match(r"v_(cvt(_[a-z]+)?|frexp_exp)_(pk)?[iu](8|16|32)_", name)
    return "".join(word for word in words if word[0] not in "oh" and (word != "c" or floating))


def _tokens(column: str) -> tuple[str, ...]:
    return () if column == "-" else tuple(column.split(","))


def _pairs(columns: list[str]) -> dict[str, str]:
    return dict(column.split(":", 1) for column in columns if column != "-")


def _numbers(generations: tuple[str, ...], words: list[str], base: int = 16) -> dict[str, int]:
    columns = zip(generations, words[: len(generations)], strict=True)
    return {generation: int(word, base) for generation, word in columns if word != "-"}


def _read_matrix(words: list[str]) -> Row:
    name, rest = words[0], words[5:]
    rows, columns, depth = (int(word) for word in rest[2].split("x"))
    flags = ("matrix", *_tokens(rest[11]))
    row = Row(name, "vop3p", _numbers(CDNA, words[1:]), _tokens(rest[0]), _tokens(rest[1]), "wmma", flags)
    row.spellings = _pairs(rest[12:])
    types = (rest[4], rest[5], rest[6])
    row.matrix = Matrix((rows, columns, depth), int(rest[3]), types, _numbers(CDNA, rest[7:], 10))
    return row


def _read_row(kind: str, words: list[str]) -> Row:
    if kind == "matrix":
        return _read_matrix(words)
    row = Row(words[0], words[1])
    if kind == "pseudo":
        row.latency, row.flags = words[2], _tokens(words[3])
        return row
    if kind.endswith("dual"):
        first, row.second_half, row.wide_number = (-1 if word == "-" else int(word, 16) for word in words[2:5])
        row.numbers = {generation: max(first, -1) for generation in DUAL if first >= 0}
        rest = words[5:]
    else:
        generations = CDNA if kind == "cdna" else (kind,) if kind in DESCENDANTS else COLUMNS
        row.numbers = _numbers(generations, words[2:])
        rest = words[2 + len(generations) :]
    row.definitions, row.operands = _tokens(rest[0]), _tokens(rest[1])
    row.latency, row.flags, row.spellings = rest[2], _tokens(rest[3]), _pairs(rest[4:])
    return row


def _lines(path: Path) -> list[list[str]]:
    return [words for line in path.read_text().splitlines() if (words := line.split("#")[0].split())]


def _derive_cdna(rows: list[Row], by_name: dict[str, Row], changes: list[list[str]]) -> None:
    """CDNA has what GFX9 (with gfx906) has, except for the changes."""
    for row in rows:
        if "9" in row.numbers:
            row.numbers |= dict.fromkeys(CDNA, row.numbers["9"])
    for name, *words in changes:
        row = by_name[name]
        row.numbers = {key: value for key, value in row.numbers.items() if key not in CDNA} | _numbers(CDNA, words)


def _derive(rows: list[Row], by_name: dict[str, Row], generation: str, changes: list[list[str]]) -> None:
    """A descendant has what its ancestor has, except for the changes."""
    ancestor = DESCENDANTS[generation]
    for row in rows:
        if ancestor in row.numbers and row.format != "vopd":
            row.numbers[generation] = row.numbers[ancestor]
        if ancestor in row.second:
            row.second.setdefault(generation, row.second[ancestor])
    for name, number, *spelling in changes:
        row = by_name[name]
        row.numbers.pop(generation, None)
        row.numbers |= _numbers((generation,), [number])
        row.spellings |= _pairs(spelling)


def read_table(folder: Path) -> list[Row]:
    """Read every row below `folder`; a row's position is the opcode's number in the kernels."""
    rows = [_read_row(kind, words) for kind in FILES for words in _lines(folder / f"opcodes_{kind}.txt")]
    by_name = {row.name: row for row in rows}
    if len(by_name) != len(rows):
        raise ValueError("an opcode is named twice")
    _derive_cdna(rows, by_name, _lines(folder / "opcodes_cdna_changes.txt"))
    for name, form, *numbers in _lines(folder / "opcodes_second.txt"):
        for generation, number in _pairs(numbers).items():
            by_name[name].second[generation] = (form, int(number, 16))
    for generation in DESCENDANTS:
        _derive(rows, by_name, generation, _lines(folder / f"opcodes_{generation}_changes.txt"))
    _read_aliases(rows, by_name, _lines(folder / "opcodes_aliases.txt"))
    for name, *lists in _lines(folder / "opcodes_chips.txt"):
        by_name[name].chips = {generation: _tokens(chips) for generation, chips in _pairs(lists).items()}
        if "9" in by_name[name].chips:
            by_name[name].flags += ("gfx906",)
    _read_variants(by_name, folder / "opcodes_variants.txt")
    return rows


def _read_aliases(rows: list[Row], by_name: dict[str, Row], lines: list[list[str]]) -> None:
    """Assemblers of GFX11 and later take the names of GFX9 and GFX10 too, except those that the file removes."""
    for row in rows:
        if not row.name.startswith("p_"):
            row.aliases = dict.fromkeys(DUAL, (row.name,))
    for alias, name, *generations in lines:
        row = by_name[name]
        for generation in generations:
            row.aliases[generation] = () if alias == "!" else (*row.aliases.get(generation, ()), alias)
        for generation, ancestor in DESCENDANTS.items():
            if ancestor in generations and generation not in generations:
                row.aliases[generation] = row.aliases[ancestor]
                generations.append(generation)  # which may have descendants itself


def _read_variants(by_name: dict[str, Row], path: Path) -> None:
    pattern: dict[str, dict[str, str]] = {}
    for words in _lines(path):
        if words[0] == "@":
            pattern = {}
            for word in words[1:]:
                generation, forms = word.split("=")
                pairs = (form.partition(":") for form in forms.split(",") if form != "none")
                pattern[generation] = {form: letters for form, _, letters in pairs}
        else:
            for name in words:
                by_name[name].variants = pattern


def read_hazards(folder: Path, rows: list[Row]) -> list[dict[str, tuple[str, ...]]]:
    """Classes of hazards (``HAZARDS``) by generation of each opcode; a generation in which it has none has no key."""
    by_name = {row.name: row for row in rows}
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(f"format:{row.format}", []).append(row.name)
        groups.setdefault(f"latency:{row.latency}", []).append(row.name)
    classes: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in by_name}
    for hazard, span, *selectors in _lines(folder / "hazards.txt"):
        first, _, last = span.partition("-")
        generations = [generation for generation, level in LEVELS.items() if LEVELS[first] <= level <= LEVELS[last or first]]
        chosen = _selected(groups, by_name, selectors)
        members = [(name, generation) for generation in generations for name in chosen if by_name[name].in_generation(generation)]
        if hazard not in HAZARDS or not members:
            raise ValueError(f"hazard {hazard} {span}: no such class, or no opcode is chosen")
        for name, generation in members:
            classes[name][generation] = (*classes[name].get(generation, ()), hazard)
    for row in rows:
        for generation, passes in row.matrix.passes.items() if row.matrix else ():
            classes[row.name][generation] = (*classes[row.name].get(generation, ()), f"matrix_{passes}_passes")
    return list(classes.values())


def _selected(groups: dict[str, list[str]], by_name: dict[str, Row], selectors: list[str]) -> list[str]:
    """Names of the opcodes that selectors of ``hazards.txt`` choose."""
    chosen: dict[str, None] = {}
    for selector in selectors:
        if selector.startswith("!"):
            chosen = {name: None for name in chosen if not fnmatchcase(name, selector[1:])}
        else:
            names = [selector] if selector in by_name else groups[selector] if ":" in selector else filter_names(by_name, selector)
            chosen |= dict.fromkeys(names)
    return list(chosen)


def chip_kinds(rows: list[Row]) -> list[tuple[str, str]]:
    """Generation and chip of every kind of chip that some opcode tells apart; the chip is "" for those not named."""
    named = {(generation, chip) for row in rows for generation, chips in row.chips.items() for chip in chips}
    return sorted(named | {(generation, "") for generation, _ in named})
