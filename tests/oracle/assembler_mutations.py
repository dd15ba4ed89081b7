"""Lines that are nearly right: what both assemblers say of valid instructions with one thing changed.

Whatever is written must reach the words or be an error. Each line is a valid text of some opcode with a sign on an operand, another
suffix, an operand more, fewer or of another kind, or a modifier more, fewer or with another value.
"""

from __future__ import annotations

import collections
import itertools
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import llvm_forms

from pyaco import isa
from pyaco.errors import InputError

BATCH = 20_000
SUFFIXES = ("_e32", "_e64", "_dpp", "_sdwa", "_e64_dpp")
SIGNS = ("-{}", "|{}|", "-|{}|", "neg({})", "abs({})", "sext({})")
OPERANDS = (
    "s2", "v3", "s[4:5]", "v[6:7]", "s[8:11]", "v[12:15]", "vcc", "vcc_lo", "exec", "exec_lo", "m0", "null", "scc", "off", "ttmp4", "a3",
    "0", "1", "-1", "64", "65", "0x12345", "1.0", "-0.5", "1.5", "0x123456789", "lit(1)", "v3.l", "v3.h", "v200.h", "src_lds_direct", "src_scc",
)  # fmt: skip
MODIFIERS = (
    "clamp", "mul:2", "mul:4", "div:2", "op_sel:[1,0]", "op_sel:[0,1,0]", "op_sel:[1,0,0,1]", "op_sel_hi:[0,1]", "op_sel_hi:[0,1,1]", "neg_lo:[1,0]",
    "neg_lo:[1,0,1]", "neg_hi:[0,1]", "neg_hi:[0,1,0]", "quad_perm:[3,2,1,0]", "row_shl:1", "row_mirror", "dpp8:[7,6,5,4,3,2,1,0]", "row_mask:0x3",
    "bank_mask:0x1", "bound_ctrl:1", "fi:1", "src0_sel:BYTE_1", "src1_sel:WORD_1", "dst_sel:BYTE_0", "dst_unused:UNUSED_SEXT", "offset:4",
    "offset:-4", "offset0:1", "offset1:2", "gds", "glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "tfe", "lwe", "lds", "offen", "idxen", "addr64",
    "done", "vm", "compr", "row_en", "unorm", "da", "r128", "a16", "d16", "dmask:0x3", "dim:SQ_RSRC_IMG_2D", "high", "wait_exp:1", "wait_vdst:2",
    "wait_va_vdst:1", "cbsz:1", "abid:1", "blgp:1", "scope:SCOPE_SYS", "th:TH_LOAD_NT", "byte_sel:1", "index_key:1", "bitop3:0x5",
)  # fmt: skip


@dataclass
class Result:
    """What came of the lines of one chip: the lines by what differs."""

    agreed: int = 0
    refused: int = 0  # by both
    taken: list[tuple[str, str]] = field(default_factory=list)  # by us alone: line, complaint of LLVM
    lost: list[tuple[str, str]] = field(default_factory=list)  # by LLVM alone: line, our complaint
    other: list[tuple[str, str]] = field(default_factory=list)  # other words: line, words


def parts(line: str) -> tuple[str, list[str], list[str]]:
    """Mnemonic, operands and modifiers of a line."""
    mnemonic, _, rest = line.partition(" ")
    pieces = [piece.strip() for piece in re.split(r",(?![^\[(]*[\])])", rest)] if rest else []
    if not pieces:
        return mnemonic, [], []
    # modifiers stand behind the last operand, with blanks between
    last, *modifiers = re.split(r" (?![^\[(]*[\])])", pieces[-1])
    return mnemonic, [*pieces[:-1], last], modifiers


def mutated(line: str, generator: random.Random) -> str:
    """The line with one thing changed, sometimes with two."""
    mnemonic, operands, modifiers = parts(line)
    for _ in range(1 + (generator.random() < 0.15)):
        kind = generator.randrange(8)
        where = generator.randrange(len(operands)) if operands else 0
        if kind <= 1 and operands:
            operands[where] = generator.choice(SIGNS).format(operands[where])
        elif kind == 2:
            mnemonic = re.sub("_(e32|e64|sdwa|dpp|e64_dpp)$", "", mnemonic) + generator.choice((*SUFFIXES, ""))
        elif kind == 3 and operands:
            operands[where] = generator.choice(OPERANDS)
        elif kind == 4:
            modifiers.insert(generator.randrange(len(modifiers) + 1), generator.choice(MODIFIERS))
        elif kind == 5 and modifiers:
            del modifiers[generator.randrange(len(modifiers))]
        elif kind == 6 and operands:
            change = generator.randrange(3)
            if change == 0:
                del operands[where]
            elif change == 1:
                operands.insert(where, generator.choice(OPERANDS))
            else:
                other = generator.randrange(len(operands))
                operands[where], operands[other] = operands[other], operands[where]
        elif modifiers and ":" in modifiers[-1]:
            which = generator.randrange(len(modifiers))
            modifiers[which] = re.sub(r"\d+", lambda match: str(int(match[0]) + generator.choice((1, -1, 3))), modifiers[which], count=1)
    return " ".join([mnemonic, ", ".join(operands), *modifiers]).replace("  ", " ").strip()


def lines(texts: list[str], count: int, seed: int) -> Iterator[str]:
    """Mutations of valid lines."""
    generator = random.Random(seed)
    for _ in range(count):
        yield mutated(generator.choice(texts), generator)


def alternatives(line: str) -> list[str]:
    """The line as LLVM may want it: with one modifier elsewhere, and with names of low halves where we take the register's."""
    mnemonic, operands, modifiers = parts(line)
    found = []
    for order in {tuple(order) for order in itertools.islice(itertools.permutations(modifiers), 120)} or {()}:
        places = [number for number, operand in enumerate(operands) if re.fullmatch(r"\W*v\d+\W*", operand)]
        for chosen in itertools.product((False, True), repeat=len(places)):
            low = {place for place, named in zip(places, chosen, strict=True) if named}
            named_operands = [re.sub(r"(v\d+)", r"\1.l", operand) if number in low else operand for number, operand in enumerate(operands)]
            found.append(" ".join([mnemonic, ", ".join(named_operands), *order]))
    return found


def our_answer(line: str, chip: str) -> bytes | str:
    try:
        return isa.assemble(line, chip)
    except InputError as error:
        return str(error)


def compare(chip: str, texts: list[str], count: int, seed: int) -> Result:
    """Both assemblers on `count` mutations of `texts`."""
    result = Result()
    wanted = list(dict.fromkeys(line for line in lines(texts, count, seed) if line not in texts))
    taken: list[tuple[str, bytes, str]] = []
    for first in range(0, len(wanted), BATCH):
        batch = wanted[first : first + BATCH]
        for line, theirs in zip(batch, llvm_forms.assemble(chip, batch), strict=True):
            ours = our_answer(line, chip)
            if isinstance(ours, str):
                if isinstance(theirs, str):
                    result.refused += 1
                else:
                    result.lost.append((line, ours))
            elif isinstance(theirs, str):
                taken.append((line, ours, theirs))
            elif ours != theirs:
                result.other.append((line, f"{ours.hex()} not {theirs.hex()}"))
            else:
                result.agreed += 1
    tries = [(number, other) for number, (line, _, _) in enumerate(taken) for other in alternatives(line)]
    good = set()
    # names of halves are no default of GFX12
    for mode in ("+real-true16", "-real-true16"):
        answers = llvm_forms.assemble(chip, [other for _, other in tries], f"-mattr={mode}") if tries else []
        good |= {number for (number, _), answer in zip(tries, answers, strict=True) if answer == taken[number][1]}
    result.agreed += len(good)
    result.taken = [(line, theirs) for number, (line, _, theirs) in enumerate(taken) if number not in good]
    return result


def summary(entries: list[tuple[str, str]]) -> collections.Counter[tuple[str, str]]:
    """How often each complaint comes, by the beginning of the mnemonic."""
    return collections.Counter((line.split("_")[0], re.sub(r"\d+", "N", message)) for line, message in entries)
