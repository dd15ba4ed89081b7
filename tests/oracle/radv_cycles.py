"""RADV's last ACO IR as a program of this package, so that our cycle model can estimate it: what its text leaves out is found again.

The text of the machine code ("After lowering to hw instructions", Mesa 25.2 without a disassembler) has neither how deep a block stands in loops and
ifs nor the blocks that were threaded away. Both are in the text of the same program after spilling, which has all blocks under the same numbers, as
instruction selection nested them: ``Nesting`` reads the depths off its linear CFG.

A RADV with a disassembler (Mesa 22.3 of Debian) shows no such text. With ``ACO_DEBUG=perfinfo`` each RADV prints the program as it estimates it, with
the cycles that it counts, to standard error: ``Printed``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyaco import targets
from pyaco._core.aco import build
from pyaco._core.ir.program import Program
from pyaco.aco import parse_program
from pyaco.errors import InputError

LOWERED = "After lowering to hw instructions:"
#: What this package spells otherwise: negated constants, opcodes; and what the assembler adds around loops after the statistics were taken.
SPELLINGS = (
    (r"\bneg\(([^()]*)\)", r"-(\1)"), (r"^\ts_inst_prefetch .*\n", ""), (r"\bv_lshlrev_b64_e64\b", "v_lshlrev_b64"),
    *((rf"\b(s_(?:buffer_)?load)_{theirs}\b", rf"\1_{ours}")
      for theirs, ours in (("dwordx3", "b96"), ("ubyte", "u8"), ("sbyte", "i8"), ("ushort", "u16"), ("sshort", "i16"))),
    (r"\bs_(add|sub)_u64\b", r"s_\1_nc_u64"), (r"\b(image_atomic_\w+)_flt\b", r"\1_f32"),
)
_HEAD = re.compile(r"^BB(\d+)\n(.*)$", re.MULTILINE)
_NAME = re.compile(r"\bBB(\d+)\b")


#: Registers of a printed program, and what is printed before instructions, operands and definitions that says nothing of cycles.
_REGISTER = re.compile(r"(?<![\w:%])(?:[sv](?:\d+\b|\[\d+-\d+\])(?:\[\d+:\d+\])?|(?:vcc|exec|scc|m0)\b)(?!:)")
_RANGE = re.compile(r"([sv])\[?(\d+)(?:-(\d+))?\]?(?:\[(\d+):(\d+)\])?\Z")
_FLAGS, _CYCLES = re.compile(r"\((?:is16bit|is24bit|nuw|precise)\)"), re.compile(r"\t\( *\d+ clk\) *")
#: RADV's names of units.
UNITS = {"scalar": "salu_smem", "branch": "branch_sendmsg", "valu": "valu", "valu_complex": "valu_complex", "lds": "lds", "export": "export_gds",
         "vmem": "vmem"}  # fmt: skip


class Printed:
    """The last program in what RADV has printed with ``ACO_DEBUG=perfinfo``.

    Attributes
    ----------
    body : str
        Its blocks, as `parse_program` takes them.
    busy : dict
        Cycles that each unit is busy, by our names.
    """

    def __init__(self, said: str, wave: int) -> None:
        text = said[said.rindex("ACO shader stage") :]
        self.wave = wave
        self.body = "\n".join(map(self._line, text.partition("\n")[2].split("\n\n")[0].splitlines())).replace(" needs_lowering,", "") + "\n"
        figures = {name: float(value) for name, value in re.findall(r"^(\w+)_usage: ([\d.]+)$", text, re.MULTILINE)}
        self.busy = {ours: figures[theirs] for ours, theirs in UNITS.items()}

    def _line(self, line: str) -> str:
        """A line with the class of each definition, and the mark of a fixed register before each."""
        if not line.startswith("\t"):
            return line
        definitions, equals, rest = _FLAGS.sub("", _CYCLES.sub("", line)).rpartition(" = ")
        named = ", ".join(f" {self._class(each)}: %0:{each}" for each in definitions.split(", ")) if equals and not _is_branch(rest) else ""
        return f"\t{named}{' = ' if named else ''}{_REGISTER.sub(lambda match: '%0:' + match[0], rest)}"

    def _class(self, register: str) -> str:
        match = _RANGE.match(register)
        if not match:
            return "s2" if self.wave == 64 and register in ("vcc", "exec") else "s1"
        file, first, last, low, high = match.groups()
        return f"v{(int(high) - int(low)) // 8}b" if low else f"{file}{int(last or first) - int(first) + 1}"


def _is_branch(instruction: str) -> bool:
    """Whether it is one, whose definition is scratch that nothing uses."""
    return instruction.startswith(("s_cbranch", "s_branch"))


def lowered_body(assembly: str) -> str:
    """The blocks of the machine code's text; nothing where that is a disassembly."""
    body = assembly.partition(LOWERED)[2].lstrip().split("\n\n")[0]
    return body and body + "\n"


class Block(NamedTuple):
    """A block of a text: its linear successors, and its kinds."""

    successors: list[int]
    kinds: frozenset[str]


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a text that has them all."""
    heads = _HEAD.findall(text)
    successors: list[list[int]] = [[] for _ in heads]
    kinds = []
    for number, (name, comment) in enumerate(heads):
        if int(name) != number:
            raise InputError(f"expected BB{number}, not BB{name}")
        linear = comment.split("linear preds:")[1].split("/")[0]
        for predecessor in re.findall(r"BB(\d+)", linear):
            successors[int(predecessor)].append(number)
        kinds.append(frozenset(re.findall(r"[\w-]+", comment.split("kind:")[1])))
    return [Block(sorted(after), kind) for after, kind in zip(successors, kinds, strict=True)]


class Nesting:
    """How deep each block stands in loops, in uniform and in divergent ifs.

    Blocks are numbered in the order of the source, so that a side of an if and a loop are ranges of numbers.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.loops, self.uniform, self.divergent = ([0] * len(blocks) for _ in range(3))
        self.exits = self._loops()
        self.joins: dict[int, int] = {}
        for number, block in enumerate(blocks):
            if "branch" in block.kinds:
                self._divergent_if(number)
            elif self._is_uniform_if(number):
                for each in range(number + 1, self.join(number)):
                    self.uniform[each] += 1

    def _loops(self) -> dict[int, int]:
        """Find the exit of each loop by its header."""
        exits: dict[int, int] = {}
        headers: list[int] = []
        for number, block in enumerate(self.blocks):
            if "loop-exit" in block.kinds:
                exits[headers.pop()] = number
            if "loop-header" in block.kinds:
                headers.append(number)
            self.loops[number] = len(headers)
        return exits

    def _divergent_sides(self, head: int) -> tuple[int, int, int, int]:
        """The empty block beside the then side, the inverting one, the empty one beside the else side, and the one behind the if."""
        beside_then = self.blocks[head].successors[-1]
        (invert,) = self.blocks[beside_then].successors
        beside_else = self.blocks[invert].successors[-1]
        (behind,) = self.blocks[beside_else].successors
        return beside_then, invert, beside_else, behind

    def _divergent_if(self, head: int) -> None:
        beside_then, invert, beside_else, _ = self._divergent_sides(head)
        for each in (*range(head + 1, beside_then), *range(invert + 1, beside_else)):
            self.divergent[each] += 1

    def _is_uniform_if(self, number: int) -> bool:
        block = self.blocks[number]
        return len(block.successors) == 2 and "uniform" in block.kinds and not any("break" in kind or "continue" in kind for kind in block.kinds)

    def join(self, head: int) -> int:
        """The number behind a uniform if: of its merging block, where a side reaches one."""
        if head not in self.joins:
            self.joins[head] = self._side_end(self._side_end(head + 1) + 1) + 1
        return self.joins[head]

    def _side_end(self, number: int) -> int:
        """The last block of a side that begins with a block."""
        while True:
            block = self.blocks[number]
            following = number + 1
            if "branch" in block.kinds:
                following = self._divergent_sides(number)[-1]
            elif self._is_uniform_if(number):
                following = self.join(number)
                if self._jumps(following - 1) and self._jumps(self._side_end(number + 1)):
                    return following - 1
            elif following in self.exits:
                following = self.exits[following]
            elif len(block.successors) == 2:             # lanes leave a loop; the others go on behind the block where they do
                following = number + 2
            else:
                return number
            number = following

    def _jumps(self, number: int) -> bool:
        """Whether a side that ends with a block leaves its if by a jump."""
        return any(kind in ("break", "continue") for kind in self.blocks[number].kinds)


def read_program(spilled: str, body: str, target: str, wave: int, workgroup_size: int, statistics: Mapping[str, int | float]) -> Program:
    """Return RADV's machine code, which runs in WGP mode where there is one, as a program that our model estimates.

    Parameters
    ----------
    spilled, body : str
        Texts of a pipeline: with all blocks, and the blocks of the machine code.
    target : str
    wave, workgroup_size : int
    statistics : mapping
        RADV's, of which registers and LDS are taken.
    """
    nesting = Nesting(read_blocks(spilled))
    numbers = [int(name) for name, _ in _HEAD.findall(body)]
    renamed = {name: number for number, name in enumerate(numbers)}
    text = _NAME.sub(lambda match: f"BB{renamed[int(match[1])]}", body)
    for theirs, ours in SPELLINGS:
        text = re.sub(theirs, ours, text, flags=re.MULTILINE)
    level = targets.chip(target).level
    program = parse_program(text, level, wave, workgroup_size=workgroup_size, wgp_mode=level >= 100)
    with program.edit():
        for column, depths in (("loop_depth", nesting.loops), ("uniform_if_depth", nesting.uniform), ("divergent_if_depth", nesting.divergent)):
            getattr(program.blocks, column)[:] = [depths[name] for name in numbers]
    # SGPRs are a fixed number from GFX10 on, else rounded up to 16, with up to six that the hardware uses besides.
    sgprs = 0 if level >= 100 else min(int(statistics["SGPRs"]) - 6, targets.wave_limits(target, wave).sgpr_limit)
    build.set_demand(program, sgprs, int(statistics["VGPRs"]), int(statistics["LDS size"]))
    return program
