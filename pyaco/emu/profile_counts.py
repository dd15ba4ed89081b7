"""Counts of a profile: by instruction, class, line of source, unit.

The counts are the inspecting engine's (``_core/emu_inspect/profile.pxd`` says how cache lines and banks are counted), cycles those of a model of
one wave alone (``wave_clock.pxd``). Nothing in it depends on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy
from numpy.typing import NDArray

from pyaco.emu.profile_classes import CLASSES, VECTOR_CLASSES, class_of
from pyaco.isa import opcodes
from pyaco.targets.occupancy import Occupancy

__all__ = ["Counts", "InstructionProfile", "LineProfile", "ProfileCounts"]

_SUMMED = (
    "executions", "lanes", "partial", "idle", "taken", "requests", "bytes", "distinct", "lines", "scratch_bytes", "lds_requests", "lds_bytes",
    "lds_passes", "lds_conflicts", "issue", "stall",
)  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """Sums over executions of instructions.

    Attributes
    ----------
    executions : int
        Wave instructions.
    lanes : int
        Active lanes.
    partial, idle : int
        Executions with some of the wave's lanes off; with all of them off, which are among those.
    taken : int
        Executions after which another instruction than the next came: branches that were taken.
    requests, bytes, distinct, lines : int
        Executions that reached device memory, bytes that lanes accessed there, the same with those that several lanes of an execution
        accessed counted once, and cache lines, each counted once for an execution.
    scratch_bytes : int
    lds_requests, lds_bytes, lds_passes, lds_conflicts : int
        Executions that reached LDS, bytes, passes over its banks, and those of them that are due to conflicts.
    issue, stall : int
        Cycles in which waves issued these instructions, and for which they waited before.
    """

    executions: int = 0
    lanes: int = 0
    partial: int = 0
    idle: int = 0
    taken: int = 0
    requests: int = 0
    bytes: int = 0
    distinct: int = 0
    lines: int = 0
    scratch_bytes: int = 0
    lds_requests: int = 0
    lds_bytes: int = 0
    lds_passes: int = 0
    lds_conflicts: int = 0
    issue: int = 0
    stall: int = 0

    @property
    def cycles(self) -> int:
        """Cycles of the waves, summed: issued and waited."""
        return self.issue + self.stall

    def lane_utilization(self, wave_size: int) -> float:
        """Active lanes over all lanes; 1 where nothing ran."""
        return self.lanes / (self.executions * wave_size) if self.executions else 1.0

    def coalescing(self, line_bytes: int) -> float | None:
        """Distinct bytes over the bytes of the cache lines that they lie in; None where no memory was reached."""
        return self.distinct / (self.lines * line_bytes) if self.lines else None


@dataclass(frozen=True)
class InstructionProfile:
    """One instruction of the code.

    Attributes
    ----------
    pc : int
        Offset in the code, as in errors and traces.
    opcode, text : str
        Its name in the opcode table, and the assembler's text.
    kind : str
        Its class, a key of ``Profile.classes``.
    source : tuple of (str, int), optional
        File and line, where the code object has debug information.
    counts : Counts
    """

    pc: int
    opcode: str
    text: str
    kind: str
    source: tuple[str, int] | None
    counts: Counts


@dataclass(frozen=True)
class LineProfile:
    """A line of source.

    Attributes
    ----------
    file : str
    line : int
    instructions : int
        How many instructions of it ran at least once.
    counts : Counts
    """

    file: str
    line: int
    instructions: int
    counts: Counts


@dataclass(frozen=True, eq=False)
class ProfileCounts:
    """What a dispatch executed, instruction by instruction, and sums of it.

    Attributes
    ----------
    target : str
        Gfx name.
    wave_size, waves, workgroups, workgroup_waves : int
        Lanes of a wave, waves and workgroups of the dispatch, waves of a workgroup.
    line_bytes, banks : int
        Bytes of a cache line, and banks of LDS, that the counts are for.
    wgp_mode : bool
        The waves of a workgroup may use both compute units of a pair.
    rows : numpy.ndarray
        A structured array with a row for each instruction that ran, in the order of the code: the fields of `Counts`, ``pc``, ``opcode`` (see
        ``pyaco.isa.opcodes.names``), ``words``, ``unit0`` and ``unit1`` with ``busy0`` and ``busy1`` (units of the model, and cycles).
    spans : numpy.ndarray
        The first executions, wave by wave: ``workgroup``, ``wave``, ``row``, ``start`` (cycle of the wave's workgroup), ``stall``, ``issue``.
    memory : dict
        Lane accesses and bytes by space, then by load, store, atomic.
    cycles, longest_wave : int
        Cycles of all waves, summed, and of the longest, by the model.
    lds_bytes : int
        LDS of a workgroup.
    occupancy : Occupancy, optional
        How many waves run at once, where it is known how many registers the code uses.
    kernel : str, optional
        Name of the kernel.
    """

    target: str
    wave_size: int
    waves: int
    workgroups: int
    workgroup_waves: int
    line_bytes: int
    banks: int
    wgp_mode: bool
    rows: NDArray[Any]
    spans: NDArray[Any]
    memory: dict[str, dict[str, dict[str, int]]]
    cycles: int
    longest_wave: int
    lds_bytes: int
    occupancy: Occupancy | None = None
    kernel: str | None = None
    line_of: Callable[[int], tuple[str, int] | None] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, result: Mapping[str, Any], *, target: str, wave_size: int, waves: int, workgroups: int, entry: int) -> Self:
        """Return the profile of what the inspecting engine counted; offsets count from `entry`."""
        rows, spans = result["rows"], result["spans"]
        order = numpy.argsort(rows["pc"], kind="stable")
        place = numpy.empty(len(rows), numpy.uint32)
        place[order] = numpy.arange(len(rows), dtype=numpy.uint32)
        rows = rows[order]
        rows["pc"] -= entry
        spans["row"] = place[spans["row"]] if len(rows) else 0
        return cls(
            target, wave_size, waves, workgroups, result["workgroup_waves"], result["line_bytes"], result["banks"], result["wgp_mode"], rows, spans,
            result["memory"], result["cycles"], result["longest"], result["lds_bytes"],
        )  # fmt: skip

    def located(
        self, kernel: str | None, line_of: Callable[[int], tuple[str, int] | None] | None, occupancy: Occupancy | None
    ) -> Self:
        """Return the profile of a kernel of that name; `line_of` gives file and line of an offset in the code."""
        return replace(self, kernel=kernel, line_of=line_of, occupancy=occupancy)

    # ---------------------------------------------------------------------------------------------------------------- sums
    @cached_property
    def instructions(self) -> tuple[InstructionProfile, ...]:
        """Every instruction that ran, in the order of the code."""
        names = opcodes.names()
        texts = _texts(self.rows, self.target, self.wave_size)
        columns = [self.rows[name].tolist() for name in _SUMMED]
        found = []
        for index, (pc, opcode) in enumerate(zip(self.rows["pc"].tolist(), self.rows["opcode"].tolist(), strict=True)):
            counts = Counts(*(column[index] for column in columns))
            source = self.line_of(pc) if self.line_of is not None else None
            found.append(InstructionProfile(pc, names[opcode], texts[index], class_of(names[opcode]), source, counts))
        return tuple(found)

    @cached_property
    def classes(self) -> dict[str, Counts]:
        """Sums by class of instruction, most executed first."""
        kinds = numpy.array([CLASSES.index(class_of(opcodes.names()[number])) for number in self.rows["opcode"].tolist()], numpy.intp)
        found = {kind: self._sum(kinds == number) for number, kind in enumerate(CLASSES)}
        return dict(sorted(((kind, counts) for kind, counts in found.items() if counts.executions), key=lambda item: -item[1].executions))

    @cached_property
    def total(self) -> Counts:
        """Sums over all instructions."""
        return self._sum(numpy.ones(len(self.rows), bool))

    @cached_property
    def vector(self) -> Counts:
        """Sums over the instructions that lanes take part in."""
        return _added(counts for kind, counts in self.classes.items() if kind in VECTOR_CLASSES)

    @cached_property
    def source_lines(self) -> tuple[LineProfile, ...]:
        """Sums by line of source, those with the most cycles first; empty without debug information."""
        places: dict[tuple[str, int], list[Counts]] = {}
        for instruction in self.instructions:
            if instruction.source is not None:
                places.setdefault(instruction.source, []).append(instruction.counts)
        found = [LineProfile(file, line, len(counts), _added(counts)) for (file, line), counts in places.items()]
        return tuple(sorted(found, key=lambda line: -line.counts.cycles))

    @cached_property
    def units(self) -> dict[str, int]:
        """Cycles for which all waves together keep each unit of the model busy."""
        from pyaco._core.emu.cycles import UNITS

        busy = {
            name: int(sum(self.rows[f"busy{part}"][self.rows[f"unit{part}"] == number].sum() for part in (0, 1)))
            for number, name in enumerate(UNITS)
        }  # fmt: skip
        return {name: cycles for name, cycles in busy.items() if cycles}

    @property
    def lane_utilization(self) -> float:
        """Active lanes of vector instructions over all their lanes; 1 where there are none."""
        return self.vector.lane_utilization(self.wave_size)

    def _sum(self, chosen: NDArray[numpy.bool_]) -> Counts:
        return Counts(*(int(self.rows[name][chosen].sum()) for name in _SUMMED))

    def summary(self) -> dict[str, Any]:
        """Return the figures that a report shows, JSON-ready: memory by space, cache lines, banks, lanes by opcode, cycles, occupancy."""
        total, names = self.total, opcodes.names()
        lanes: dict[str, list[int]] = {}
        for number, executions, active in zip(*(self.rows[name].tolist() for name in ("opcode", "executions", "lanes")), strict=True):
            if class_of(names[number]) in VECTOR_CLASSES:
                counted = lanes.setdefault(names[number], [0, 0])
                counted[0] += executions
                counted[1] += active
        utilization = {name: round(active / (executions * self.wave_size), 4)
                       for name, (executions, active) in sorted(lanes.items(), key=lambda item: -item[1][0])}  # fmt: skip
        return {
            "memory": self.memory, "cache_lines": total.lines, "cache_line_bytes": self.line_bytes, "cache_line_instructions": total.requests,
            "coalescing": rounded(total.coalescing(self.line_bytes)), "lds_banks": self.banks, "lds_passes": total.lds_passes,
            "lds_conflicts": total.lds_conflicts, "cycles": self.cycles, "longest_wave_cycles": self.longest_wave,
            "occupancy": asdict(self.occupancy) if self.occupancy is not None else None, "lane_utilization_by_opcode": utilization,
        }  # fmt: skip


def _added(many: Iterable[Counts]) -> Counts:
    rows = [tuple(vars(counts).values()) for counts in many]
    return Counts(*(sum(column) for column in zip(*rows, strict=True))) if rows else Counts()


def rounded(value: float | None) -> float | None:
    """Return a share with four digits."""
    return None if value is None else round(value, 4)


def _texts(rows: NDArray[Any], target: str, wave_size: int) -> list[str]:
    """The assembler's text of each row; a branch has its distance, because its label would be of no code here."""
    from pyaco import isa

    names = opcodes.names()
    found = []
    for words, count, opcode in zip(rows["words"], rows["dwords"].tolist(), rows["opcode"].tolist(), strict=True):
        lines = [line.text for line in isa.disassemble_lines(words[:count].tobytes(), target, wave_size=wave_size) if line.size]
        found.append(lines[0] if lines else names[opcode])
    return found
