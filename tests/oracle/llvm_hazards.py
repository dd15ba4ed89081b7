"""What LLVM's hazard recognizer makes of short sequences of instructions, thousands through few processes."""

from __future__ import annotations

import copy
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import llvm_forms

ERROR = re.compile(r"^error: <stdin>:(\d+):\d+: (.*)|^<stdin>:(\d+):\d+: error: (.*)", re.M)
MISSING = re.compile(r"missing implicit register operand '([^']+)'")
#: Endings of the names of registers and encoded opcodes, which the names of operations before encoding lack.
ENCODING = re.compile(r"_(si|ci|vi|gfx\w+)$", re.I)
#: Numbers that fields of 16 bits with a sign write otherwise.
UNSIGNED = r"3[3-9]\d{3}|[4-6]\d{4}"
#: Functions per process: few while LLVM, which stops at the first one, still has complaints.
FEW, MANY = 24, 400


@dataclass
class Machine:
    """An instruction as LLVM's assembler sees it; the first operands are results."""

    name: str
    operands: list[str]
    results: int = 0
    implicit: list[str] = field(default_factory=list)
    tied: bool = False

    def text(self) -> str:
        """Machine IR."""
        results, sources = self.operands[: self.results], self.operands[self.results :]
        return f"{', '.join(results)}{' = ' if results else ''}{self.name} {', '.join([*sources, *self.implicit])}"


def machine_instructions(chip: str, lines: Sequence[str], *options: str) -> list[Machine | None]:
    """LLVM's instruction of each line; None where it refuses the line or an operand is a symbol."""
    taken = [isinstance(answer, bytes) for answer in llvm_forms.assemble(chip, lines, *options)]
    source = "".join(f"{line}\n" for line, good in zip(lines, taken, strict=True) if good)
    output = llvm_forms.run(chip, source, "-show-inst", *options).stdout
    found: list[Machine | None] = []
    for part in output.split("<MCInst #")[1:]:
        head = re.match(r"\d+ (\w+)", part)
        assert head is not None
        operands = []
        for kind, value in re.findall(r"<MCOperand (\w+):([^>\n]*)>", part):
            operands.append(value if kind != "Reg" else "$" + ENCODING.sub("", value).lower() if value else "$noreg")
        found.append(None if "Expr" in part else Machine(ENCODING.sub("", head[1]), operands))
    assert len(found) == sum(taken)
    return [found.pop(0) if good else None for good in taken]


def learn(chip: str, machines: Sequence[Machine], *options: str) -> list[bool]:
    """Give instructions the operands that LLVM's verifier misses; whether it accepts them then."""
    accepted = [True] * len(machines)
    for first in range(0, len(machines), FEW):
        numbers = set(range(first, min(first + FEW, len(machines))))
        while numbers and (complaint := _complaint(chip, {number: [machines[number]] for number in numbers}, options)):
            number, missing, tied, unknown = complaint
            machine = machines[number]
            if missing and missing not in machine.implicit:
                machine.implicit.append(missing)
            elif 0 < tied <= len(machine.operands) and not machine.tied:
                machine.operands.insert(tied, machine.operands[0])
                machine.tied = True
            elif any(re.fullmatch(UNSIGNED, operand) for operand in machine.operands):
                machine.operands = [str(int(op) - 65536) if re.fullmatch(UNSIGNED, op) else op for op in machine.operands]
            elif unknown and not machine.name.endswith(("_e32", "_e64")):
                machine.name += "_e64"
            else:
                accepted[number] = False
                numbers.discard(number)
    return accepted


def _complaint(chip: str, functions: Mapping[int, Sequence[Machine]], options: Sequence[str]) -> tuple[int, str, int, bool] | None:
    """The function that LLVM does not accept, an implicit operand that it misses, the place of a tied one, and whether the name is unknown."""
    source, owners = _module(functions)
    result = _recognize(chip, source, options)
    if result.returncode == 0:
        return None
    if match := ERROR.search(result.stderr):
        missing = MISSING.search(match[0])
        return owners[int(match[1] or match[3])], missing[1] if missing else "", 0, "unknown machine instruction" in match[0]
    match = re.search(r"Machine code for function f(\d+)", result.stderr)
    assert match is not None, result.stderr[:2000]
    tied = re.search(r"Tied use must be a register \*+[^*]*- operand (\d+)", result.stderr)
    return int(match[1]), "", int(tied[1]) if tied else 0, False


def recognized(chip: str, sequences: Sequence[Sequence[Machine]], *options: str) -> list[list[str]]:
    """Each sequence as the recognizer leaves it: lines of machine IR."""
    found = []
    for first in range(0, len(sequences), MANY):
        chunk = {number: copy.deepcopy(list(sequence)) for number, sequence in enumerate(sequences[first : first + MANY])}
        result = _recognize(chip, _module(chunk)[0], options)
        assert result.returncode == 0, result.stderr[:2000]
        bodies = re.findall(r"^name: +f\d+$.*?bb\.0:\n(.*?)^\.\.\.$", result.stdout, re.M | re.S)
        assert len(bodies) == len(chunk)
        found += [[line.strip() for line in body.splitlines() if line.strip() and "S_ENDPGM" not in line] for body in bodies]
    return found


def _recognize(chip: str, source: str, options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = ["llc-22", "-mtriple=amdgcn", f"-mcpu={chip}", "-run-pass=post-RA-hazard-rec", "-simplify-mir", "-x", "mir", "-o", "-", *options]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False, env=llvm_forms.QUIET)


def _module(functions: Mapping[int, Sequence[Machine]]) -> tuple[str, dict[int, int]]:
    """The text, and the function by line."""
    lines: list[str] = []
    owners: dict[int, int] = {}
    for number, sequence in sorted(functions.items()):
        lines += ["---", f"name: f{number}", "body: |", "  bb.0:"]
        for machine in sequence:
            lines.append("    " + machine.text())
            owners[len(lines)] = number
        lines += ["    S_ENDPGM 0", "..."]
    return "\n".join(lines) + "\n", owners
