"""How many lines of LLVM's own test inputs agree: ``python measure_llvm_tests.py LLVM/test/MC [pattern]``.

``AMDGPU/*.s``: each line through LLVM 22's assembler and ours, with the chips and options of the file's RUN lines; the bytes must be the same, or
both refuse. ``Disassembler/AMDGPU/*.txt``: each line of bytes through both disassemblers; our text must give LLVM's assembler the bytes that LLVM's
text gives it, or neither has a text that does. LLVM 22 is the judge, not the answers in the files, which are of their own release. Lines that name
labels or symbols, directives and macros are left out. Our assembler reads both syntaxes of 16-bit registers, of which an LLVM process reads one:
a line is refused by LLVM when both refuse it. With ``PYACO_LLVM_MC`` (``llvm_forms.py``) another release is the judge.
"""

from __future__ import annotations

import collections
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import llvm_forms

from pyaco import isa
from pyaco.errors import InputError
from pyaco.isa.processors import assembly_target
from pyaco.isa.text_tables import default_wave_size

BYTES = re.compile(r"^\[?((?:0x[0-9a-fA-F]{1,2}\s*,?\s*)+)\]?\s*$")
Difference = tuple[str, int, str, str, str, str]  # chip, wave size, file, line, ours, LLVM's


@dataclass
class Counts:
    """Lines of one chip: taken by LLVM and by us with the same result, refused by both, and what differs."""

    agreed: int = 0
    refused: int = 0
    same_text: int = 0
    differences: list[Difference] = field(default_factory=list)
    lenient: list[Difference] = field(default_factory=list)  # we take what LLVM refuses

    def share(self) -> float:
        """Share of the lines that LLVM takes."""
        return self.agreed / max(self.agreed + len(self.differences), 1)


@dataclass(frozen=True)
class Run:
    """Options of a RUN line: a chip, a wave size and LLVM's further features."""

    chip: str
    wave: int
    features: tuple[str, ...]

    def options(self, *more: str) -> list[str]:
        waves = [f"{'+' if self.wave == size else '-'}wavefrontsize{size}" for size in (32, 64)] if assembly_target(self.chip)[1] >= 100 else []
        features = [*waves, *self.features, *more]
        return [f"-mattr={','.join(features)}"] if features else []


def runs(text: str) -> set[Run]:
    """Chips and options of a file's RUN lines, of those chips that have a gfx level here."""
    found = set()
    for line in re.findall(r"RUN:.*", text):
        chip = re.search(r"-mcpu=(\S+)", line)
        # LLVM 22 has gfx940 as gfx942
        try:
            name, level = assembly_target(re.sub("gfx94[01]", "gfx942", chip[1]) if chip else "tahiti")
        except InputError:
            continue
        if "r600" in line:
            continue
        features = {item.lower() for part in re.findall(r"-mattr=(\S+)", line) for item in part.split(",")}
        wave = 64 if "+wavefrontsize64" in features and level >= 100 else default_wave_size(level, None)
        # GFX12.5 has no waves of 64 lanes, whatever the options of a RUN line
        wave = 32 if 125 <= level < 130 else wave
        found.add(Run(name, wave, tuple(sorted(item for item in features if "wavefrontsize" not in item and "true16" not in item))))
    return found


def instructions(text: str) -> list[str]:
    """The lines that are one instruction each."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    # a file that defines symbols or macros is read as a whole, which this does not
    defined = {name for pattern in (r"^\s*\.set\s+(\w+)", r"^\s*(\w+)\s*=", r"^(\w+):") for name in re.findall(pattern, text, re.M)}
    text = re.sub(r"^\s*\.macro.*?\.endm", "", text, flags=re.S | re.M)
    lines = []
    for line in text.splitlines():
        plain = re.sub(r"\s*(//|;|#(?!\d)).*", "", line).strip()
        if re.match(r"[a-z]\w*( |$)", plain) and not re.match(r"\w+\s*=[^=]", plain) and not defined & set(re.findall(r"\w+", plain)):
            lines.append(plain)
    return list(dict.fromkeys(lines))


def words(text: str) -> list[bytes]:
    """The lines of bytes."""
    found = [match for line in text.splitlines() if (match := BYTES.match(line.strip()))]
    return list(dict.fromkeys(bytes(int(byte, 16) for byte in re.findall(r"0x[0-9a-fA-F]{1,2}", match[1])) for match in found))


def ours(line: str, run: Run) -> bytes | str:
    try:
        return isa.assemble(line, run.chip, wave_size=run.wave)
    except InputError as error:
        return str(error)


def judge_lines(path: Path, run: Run, counts: Counts) -> None:
    """One file of text."""
    lines = instructions(path.read_text())
    real, fake = (both(run.chip, lines, run.options(mode)) for mode in ("+real-true16", "-real-true16"))
    default = llvm_forms.assemble(run.chip, lines, *run.options())
    for line, *answers in zip(lines, default, real, fake, strict=True):
        theirs = next((answer for answer in answers if isinstance(answer, bytes)), answers[0])
        if theirs in (b"", llvm_forms.CRASH):
            continue
        mine = ours(line, run)
        entry = (run.chip, run.wave, path.name, line, shown(mine), shown(theirs))
        if isinstance(theirs, str):
            counts.refused += isinstance(mine, str)
            counts.lenient += [entry] if isinstance(mine, bytes) else []
        elif any(same(mine, answer) for answer in answers):
            counts.agreed += 1
        else:
            counts.differences.append(entry)


def same(mine: bytes | str, theirs: bytes | str) -> bool:
    """Whether two answers are the same, or differ only in fields of sources that a long form lacks, where LLVM 23 has the constant 0."""
    if mine == theirs or isinstance(mine, str) or isinstance(theirs, str):
        return mine == theirs
    if len(mine) != len(theirs) or len(mine) < 8 or mine[:4] != theirs[:4] or mine[8:] != theirs[8:] or mine[3] & 0xF4 not in (0xC4, 0xD4):
        return False
    different = int.from_bytes(mine[4:8], "little") ^ int.from_bytes(theirs[4:8], "little")
    if mine[3] == 0xCC and mine[2] in (0x35, 0x3A):
        # what loads scales: LLVM 22 has v0 in the field of the third source, LLVM 23 the constant 0
        different &= ~(0x180 << 18)
    return different & ~(0x80 | 0x80 << 9 | 0x80 << 18) == 0


def both(chip: str, lines: list[str], options: list[str]) -> list[bytes | str]:
    """LLVM's answers in a mode of 16-bit registers, which only some generations have."""
    return llvm_forms.assemble(chip, lines, *options) if assembly_target(chip)[1] >= 110 else [""] * len(lines)


def shown(answer: bytes | str) -> str:
    return answer.hex() if isinstance(answer, bytes) else answer


def judge_words(path: Path, run: Run, counts: Counts) -> None:
    """One file of bytes; LLVM reads those of GFX8 and later alone."""
    if assembly_target(run.chip)[1] < 80:
        return
    codes = [code for code in words(path.read_text()) if len(code) % 4 == 0]
    mine = [own_text(code, run) for code in codes]
    answers: list[tuple[str | None, bytes | str, bytes | str]] = [(None, "", "")] * len(codes)
    for options in word_options(run):
        # a mode of 16-bit registers in which LLVM's text or ours gives the word back is the one that counts
        left = [number for number, code in enumerate(codes) if not any(same(code, again) for again in answers[number][1:])]
        texts = llvm_forms.disassemble(run.chip, [codes[number] for number in left], *options)
        theirs_again = llvm_forms.assemble(run.chip, [text or "?" for text in texts], *options)
        mine_again = llvm_forms.assemble(run.chip, [mine[number] or "?" for number in left], *options)
        for number, answer in zip(left, zip(texts, theirs_again, mine_again, strict=True), strict=True):
            answers[number] = answer
    for code, own, (text, again, own_again) in zip(codes, mine, answers, strict=True):
        entry = (run.chip, run.wave, path.name, code.hex(), own or shown(own_again), text or "")
        if own and re.match(r"s_(c?branch|call|subvector)", own):
            # it names a label; LLVM's prints the distance
            agree = text is not None and own.split()[0] == text.split()[0]
        elif not same(code, again):
            counts.refused += not own
            counts.lenient += [entry] if own and not same(code, own_again) else []
            counts.agreed += own is not None and same(code, own_again)
            continue
        else:
            agree = same(code, own_again)
        counts.same_text += own is not None and re.sub(r"\s+", " ", own) == re.sub(r"\s+", " ", text or "")
        counts.agreed += agree
        counts.differences += [] if agree else [entry]


def word_options(run: Run) -> list[list[str]]:
    """Options of LLVM for bytes: from GFX11 on there are two modes of 16-bit registers."""
    if assembly_target(run.chip)[1] < 110:
        return [run.options()]
    # from GFX12 on our text has no names of halves where it needs none, as LLVM's by default until release 22
    modes = ("-real-true16", "+real-true16")
    return [run.options(mode) for mode in (modes if assembly_target(run.chip)[1] >= 120 else modes[::-1])]


def own_text(code: bytes, run: Run) -> str | None:
    """Our text of bytes that are one instruction."""
    lines = [line for line in isa.disassemble_lines(code, run.chip, wave_size=run.wave) if line.size]
    return lines[0].text if len(lines) == 1 and not lines[0].text.startswith(".long") else None


def measure(root: Path, pattern: str) -> Iterator[tuple[str, str, Counts]]:
    """Kind of file, chip and counts."""
    kinds: tuple[tuple[str, str, Callable[[Path, Run, Counts], None]], ...] = (
        (".txt", "Disassembler/AMDGPU/*.txt", judge_words), (".s", "AMDGPU/*.s", judge_lines),
    )  # fmt: skip
    for kind, files, judge in kinds:
        counts: dict[str, Counts] = collections.defaultdict(Counts)
        for path in sorted(root.glob(files)):
            if re.search(pattern, path.name):
                for run in sorted(runs(path.read_text()), key=str):
                    if run.chip in llvm_forms.chips():  # tests of a later release have others
                        judge(path, run, counts[run.chip])
        for chip in sorted(counts, key=lambda chip: (assembly_target(chip)[1], chip)):
            yield kind, chip, counts[chip]


def main() -> None:
    root, pattern = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    for kind, chip, counts in measure(root, pattern):
        total = counts.agreed + len(counts.differences)
        print(f"{kind} {chip}: {counts.share():.3%} of {total} lines that LLVM takes ({counts.same_text} same text);", end=" ")
        print(f"{counts.refused} refused by both, {len(counts.lenient)} taken by us alone", flush=True)
        for title, entries in (("differs", counts.differences), ("lenient", counts.lenient)):
            for entry in entries:
                print("  ", title, *entry, sep=" | ")


if __name__ == "__main__":
    main()
