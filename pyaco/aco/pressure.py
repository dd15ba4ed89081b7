"""Where a program needs most registers, and what holds them there.

At the instruction with the highest demand, the values that live in registers add up to that demand exactly (``live_variables``): those that are live
before it and a copy of a tied operand that lives on, or those that are live after it, results that nobody reads and operands that must not share a
register with results. Each is listed with its size, where it was made, and where it is read next along the control flow that it lives through
(logical for VGPRs, linear for SGPRs and linear VGPRs), with lines of source where the module has them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pyaco._core.aco import build, live_variables
from pyaco._core.ir.vocabulary import DefinitionFlag, OperandFlag
from pyaco.aco.text import instruction_texts
from pyaco.aco.text_words import class_bytes, class_name
from pyaco.isa import opcodes

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["LiveValue", "Peak", "Place", "Pressure", "explain_pressure"]

_PHIS = ("p_phi", "p_linear_phi")
_VGPR, _LINEAR = 0x20, 0x40               # bits of a register class
_LISTED = 40                              # values that the text names one by one


class Place(NamedTuple):
    """An instruction of a program: its block, its place there, its text, and the file and line that it comes from, if known."""

    block: int
    position: int
    text: str
    source: tuple[str, int] | None

    def __str__(self) -> str:
        line = f"{self.source[0]}:{self.source[1]}: " if self.source else ""
        return f"{line}BB{self.block}[{self.position}] {self.text}"


class LiveValue(NamedTuple):
    """A value that holds registers at a peak.

    Attributes
    ----------
    temp : int
        Its number in the text of the program.
    register_class : str
    registers : int
        32-bit registers that it takes.
    role : str
        ``live``; ``result``: made here and never read; ``tied copy``: of an operand that lives on and is tied to the result.
    defined : Place or None
        None where nothing makes it.
    next_use : Place or None
        The nearest instruction that reads it; None for a result that nobody reads.
    distance : int or None
        Instructions from the peak to there; 0: the peak reads it itself.
    """

    temp: int
    register_class: str
    registers: int
    role: str
    defined: Place | None
    next_use: Place | None
    distance: int | None


class Peak(NamedTuple):
    """The place with the highest demand for registers of one kind.

    Attributes
    ----------
    kind : str
        ``vgpr`` or ``sgpr``.
    demand, limit : int
        Registers needed, and those that a wave may have.
    waves : int
        Waves on a SIMD at the demand of the whole program; 0: it has to spill.
    more_waves_at : int or None
        The highest demand at which more waves would fit, if fewer of these registers were all that it takes.
    place : Place
    values : tuple of LiveValue
        By size, then by the distance of the next use, the largest first. Their registers add up to `demand`.
    """

    kind: str
    demand: int
    limit: int
    waves: int
    more_waves_at: int | None
    place: Place
    values: tuple[LiveValue, ...]

    def by_line(self) -> list[tuple[str, int, int]]:
        """Registers and number of values by the line of source, or the opcode, that made them; the most first."""
        sums: dict[str, tuple[int, int]] = {}
        for value in self.values:
            made = value.defined
            name = "nothing" if made is None else f"{made.source[0]}:{made.source[1]}" if made.source else made.text.split(" = ")[-1].split()[0]
            registers, count = sums.get(name, (0, 0))
            sums[name] = registers + value.registers, count + 1
        return [(name, *sums[name]) for name in sorted(sums, key=lambda name: (-sums[name][0], name))]

    def __str__(self) -> str:
        waves = f"{self.waves} waves fit" if self.waves else "registers have to be spilled"
        more = f"; with at most {self.more_waves_at} more would" if self.more_waves_at is not None else ""
        lines = [f"{self.kind.upper()}s: {self.demand} of {self.limit} at {self.place}", f"  {waves}{more}", "  registers  values  made by"]
        lines += [f"  {registers:9}  {count:6}  {name}" for name, registers, count in self.by_line()]
        lines.append("  registers  value")
        for value in self.values[:_LISTED]:
            used = "never read" if value.next_use is None else f"read here: {value.next_use}"
            if value.distance:
                used = f"read {value.distance} instruction{'s' if value.distance > 1 else ''} on: {value.next_use}"
            note = "" if value.role == "live" else f" ({value.role})"
            lines += [f"  {value.registers:9}  %{value.temp} {value.register_class}{note}: made at {value.defined or 'no place'}", f"{'':13}{used}"]
        if len(self.values) > _LISTED:
            rest = self.values[_LISTED:]
            lines.append(f"  {sum(value.registers for value in rest):9}  {len(rest)} more values")
        return "\n".join(lines)


@dataclass(frozen=True)
class Pressure:
    """The peaks of a program: of VGPRs, and of SGPRs.

    Attributes
    ----------
    vgpr, sgpr : Peak
    spilled : bool
        Whether this is the demand before spilling, which was more than there are registers.
    """

    vgpr: Peak
    sgpr: Peak
    spilled: bool = False

    def __str__(self) -> str:
        head = "Before spilling:\n" if self.spilled else ""
        return f"{head}{self.vgpr}\n\n{self.sgpr}\n"


def explain_pressure(program: Program, spilled: bool = False) -> Pressure:
    """Say where a program needs most registers, and what holds them there.

    Parameters
    ----------
    program : Program
        SSA whose liveness is current: after ``live_variables``, ``spill`` or ``schedule_program``.
    spilled : bool
        Whether this is the state before spilling of a program that spills.

    Returns
    -------
    Pressure
    """
    reader = _Reader(program)
    return Pressure(reader.peak("vgpr"), reader.peak("sgpr"), spilled)


class _Reader:
    """A program as plain lists, with what is asked of it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        rows, operands, definitions = program.instructions, program.operands, program.definitions
        self.order = program.order.instruction.tolist()
        self.blocks = list(zip(program.blocks.order_first.tolist(), program.blocks.order_count.tolist(), strict=True))
        self.classes = program.temps.register_class.tolist()
        self.reads = list(zip(operands.data.tolist(), operands.flags.tolist(), strict=True))
        self.makes = list(zip(definitions.temp.tolist(), definitions.flags.tolist(), strict=True))
        self.spans = list(zip(rows.operand_first.tolist(), rows.operand_count.tolist(), rows.definition_first.tolist(),
                              rows.definition_count.tolist(), strict=True))  # fmt: skip
        names = opcodes.names()
        self.names = [names[opcode] for opcode in rows.opcode.tolist()]
        self.text = instruction_texts(program)
        self.files: dict[int, str] = program.metadata.get("source_files") or {}
        self.line_rows = list(zip(program.lines.file.tolist(), program.lines.line.tolist(), strict=True))
        self.live_sets: dict[int, frozenset[int]] = {}
        self.defined: dict[int, tuple[int, int]] = {}         # block and position by temp
        self.used: dict[int, list[tuple[int, int, int]]] = {}  # where the value must still be, in program order; the instruction that reads it
        for block, (first, count) in enumerate(self.blocks):
            for position, row in enumerate(self.order[first : first + count]):
                self._index(block, position, row)

    def operands(self, row: int) -> list[tuple[int, int]]:
        """Temps, or 0, and flags of the operands of an instruction."""
        first, count = self.spans[row][:2]
        return [(data if flags & OperandFlag.TEMP else 0, flags) for data, flags in self.reads[first : first + count]]

    def definitions(self, row: int) -> list[tuple[int, int]]:
        """The same of its definitions."""
        first, count = self.spans[row][2:]
        return [(temp if flags & DefinitionFlag.TEMP else 0, flags) for temp, flags in self.makes[first : first + count]]

    def _index(self, block: int, position: int, row: int) -> None:
        for temp, _ in self.definitions(row):
            if temp:
                self.defined[temp] = (block, position)
        is_phi = self.names[row] in _PHIS
        if is_phi and all(flags & DefinitionFlag.KILL for _, flags in self.definitions(row)):
            return                                            # it keeps nothing alive
        before = self._edges("logical" if self.names[row] == "p_phi" else "linear", "pred", block) if is_phi else []
        for k, (temp, _) in enumerate(self.operands(row)):
            if temp and is_phi:                               # read at the end of the predecessor
                self.used.setdefault(temp, []).append((before[k], self.blocks[before[k]][1], row))
            elif temp:
                self.used.setdefault(temp, []).append((block, position, row))

    def _edges(self, graph: str, side: str, block: int) -> list[int]:
        columns = self.program.blocks
        first, count = int(getattr(columns, f"{graph}_{side}_first")[block]), int(getattr(columns, f"{graph}_{side}_count")[block])
        return self.program.edge_lists.block[first : first + count].tolist()

    def live_in(self, block: int) -> frozenset[int]:
        """What is live at the start of a block, its phis left out."""
        if block not in self.live_sets:
            self.live_sets[block] = frozenset(live_variables.live_in(self.program, block))
        return self.live_sets[block]

    def place(self, block: int, position: int) -> Place:
        """What is to be said of an instruction."""
        return self._place(block, position, self.order[self.blocks[block][0] + position])

    def _place(self, block: int, position: int, row: int) -> Place:
        file, line = self.line_rows[row] if row < len(self.line_rows) else (0, 0)
        known = file in self.files and 0 < line < 0xFFFFFFFF
        return Place(block, position, self.text(row), (self.files[file], line) if known else None)

    def registers(self, temp: int) -> int:
        """The 32-bit registers of a temp."""
        return -(-class_bytes(self.classes[temp]) // 4)

    def is_of(self, kind: str, temp: int) -> bool:
        """Whether a temp lives in registers of a kind."""
        return bool(self.classes[temp] & _VGPR) == (kind == "vgpr")

    # ------------------------------------------------------------------------------------------------------------ the peak
    def peak(self, kind: str) -> Peak:
        """The place of the highest demand, the earliest of several."""
        demands = getattr(self.program.instructions, f"demand_{kind}").tolist()
        at, block, position = max(((demands[self.order[first + k]], -number, -k) for number, (first, count) in enumerate(self.blocks)
                                   for k in range(count)), default=(0, 0, 0))  # fmt: skip
        block, position = -block, -position
        held = self._held(kind, block, position)
        values = sorted((self._value(temp, role, block, position) for temp, role in held),
                        key=lambda value: (-value.registers, -(value.distance or 0), value.temp))  # fmt: skip
        facts = build.summary(self.program)
        demand = {"vgpr": facts["max_demand_vgpr"], "sgpr": facts["max_demand_sgpr"]}
        waves = build.waves(self.program, demand["sgpr"], demand["vgpr"])
        limits = dict(zip(("sgpr", "vgpr"), build.register_limits(self.program), strict=True))
        return Peak(kind, at, limits[kind], waves, self._more_waves_at(kind, demand, waves), self.place(block, position), tuple(values))

    def _more_waves_at(self, kind: str, demand: dict[str, int], waves: int) -> int | None:
        for fewer in range(demand[kind] - 1, -1, -1):
            changed = demand | {kind: fewer}
            if build.waves(self.program, changed["sgpr"], changed["vgpr"]) > waves:
                return fewer
        return None

    def _held(self, kind: str, block: int, position: int) -> list[tuple[int, str]]:
        """The values that the demand at an instruction consists of, and what each is there."""
        first, _ = self.blocks[block]
        rows = self.order[first : first + position + 1]
        live = set(self.live_in(block))
        row = rows[-1]
        phis = [each for each in self.order[first : first + self.blocks[block][1]] if self.names[each] in _PHIS]
        live |= {temp for each in phis for temp, flags in self.definitions(each) if temp and not flags & DefinitionFlag.KILL}
        if self.names[row] in _PHIS:
            return [(temp, "live") for temp in sorted(live) if self.is_of(kind, temp)]
        for each in rows[:-1]:
            if self.names[each] not in _PHIS:
                live = self._behind(each, live)
        before = [(temp, "live") for temp in sorted(live)]
        tied = build.tied(self.program, row)
        if tied >= 0 and not self.operands(row)[tied][1] & OperandFlag.KILL:
            before.append((self.definitions(row)[0][0] or self.operands(row)[tied][0], "tied copy"))
        after = [(temp, "live") for temp in sorted(self._behind(row, live))]
        after += [(temp, "result") for temp, flags in self.definitions(row) if temp and flags & DefinitionFlag.KILL]
        late = OperandFlag.FIRST_KILL | OperandFlag.LATE_KILL
        after += [(temp, "live") for temp, flags in self.operands(row) if temp and flags & late == late]
        sides = [[(temp, role) for temp, role in side if self.is_of(kind, temp)] for side in (before, after)]
        return max(sides, key=lambda side: sum(self.registers(temp) for temp, _ in side))

    def _behind(self, row: int, live: set[int]) -> set[int]:
        gone = {temp for temp, flags in self.operands(row) if temp and flags & OperandFlag.KILL}
        made = {temp for temp, flags in self.definitions(row) if temp and not flags & DefinitionFlag.KILL}
        return (live - gone) | made

    # ------------------------------------------------------------------------------------------------------------ the values
    def _value(self, temp: int, role: str, block: int, position: int) -> LiveValue:
        defined = self.place(*self.defined[temp]) if temp in self.defined else None
        found = self._next_use(temp, block, position) if role == "live" else None
        use, distance = (found[0], found[1]) if found else (None, None)
        return LiveValue(temp, class_name(self.classes[temp]), self.registers(temp), role, defined, use, distance)

    def _next_use(self, temp: int, block: int, position: int) -> tuple[Place, int] | None:
        """The nearest use along blocks that the value lives into, and how many instructions on it is."""
        uses = self.used.get(temp, [])
        graph = "logical" if self.classes[temp] & _VGPR and not self.classes[temp] & _LINEAR else "linear"
        here = [use for use in uses if use[0] == block and use[1] >= position]
        if here:
            use = min(here, key=lambda use: use[1])
            return self._place(use[0], min(use[1], self.blocks[use[0]][1]), use[2]), use[1] - position
        nearest: dict[int, tuple[int, int, int]] = {}
        for use in uses:
            if use[0] not in nearest or use[1] < nearest[use[0]][1]:
                nearest[use[0]] = use
        for distance, at in self._walk(temp, graph, block, position):
            if at in nearest:
                use = nearest[at]
                return self._place(use[0], use[1], use[2]), distance + use[1]
        return None

    def _walk(self, temp: int, graph: str, block: int, position: int) -> Iterator[tuple[int, int]]:
        """Blocks that a value lives into, from a place on, with the instructions up to their start, the nearest first."""
        queue = [(self.blocks[block][1] - position, next_) for next_ in self._edges(graph, "succ", block)]
        heapq.heapify(queue)
        seen: set[int] = set()
        while queue:
            distance, at = heapq.heappop(queue)
            if at in seen or temp not in self.live_in(at):
                continue
            seen.add(at)
            yield distance, at
            for next_ in self._edges(graph, "succ", at):
                heapq.heappush(queue, (distance + self.blocks[at][1], next_))
