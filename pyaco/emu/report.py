"""Counts of what a dispatch executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pyaco.emu.accuracy import exactness
from pyaco.isa import opcodes
from pyaco.notebook import folded, table

if TYPE_CHECKING:
    from pyaco.emu.profile import Profile

__all__ = ["UNITS", "Report"]

#: Units of the counters, in the order of the kernels.
UNITS = ("salu", "valu", "smem", "vmem", "flat", "lds", "branch", "wait", "other")
_VECTOR_UNITS = ("valu", "vmem", "flat", "lds")


@dataclass(frozen=True)
class Report:
    """What a dispatch executed.

    Attributes
    ----------
    instructions : int
        Wave instructions.
    waves, workgroups : int
        How many ran.
    units : dict of str to int
        Wave instructions per unit.
    lane_units : dict of str to int
        The same, counted once per active lane.
    opcodes : dict of str to int
        Wave instructions per opcode.
    seconds : float
        Host time in the engine.
    wave_size : int
        Lanes of a wave.
    profile : Profile, optional
        With ``Device(profile=True)``: what each instruction cost.
    lds_out_of_bounds : int
        Accesses of a lane to LDS beyond the size that the dispatch was given: loads gave zero there, stores were dropped.
    lds_out_of_bounds_pc : int, optional
        Where in the code (an offset in bytes) the first of the instructions is that made one.
    trace : numpy.ndarray, optional
        With ``Device(trace=n)``: a structured array with ``workgroup`` (its number, x fastest), ``wave``, ``pc`` (offset in the code),
        ``opcode`` (see ``pyaco.isa.opcodes.names``), ``scc`` and ``exec`` before the instruction.
    same_value_stores : int
        With the race check: stores that nothing orders behind another wave's of the same value.
    unused_bindings : tuple of (int, int)
        Set and binding of what was bound and the shader does not have.
    """

    instructions: int
    waves: int
    workgroups: int
    units: dict[str, int] = field(default_factory=dict)
    lane_units: dict[str, int] = field(default_factory=dict)
    opcodes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    wave_size: int = 64
    profile: Profile | None = None
    trace: NDArray[Any] | None = None
    lds_out_of_bounds: int = 0
    lds_out_of_bounds_pc: int | None = None
    unused_bindings: tuple[tuple[int, int], ...] = ()
    same_value_stores: int = 0

    @classmethod
    def of(
        cls, result: Mapping[str, Any], *, target: str, workgroups: int, waves: int, wave_size: int, entry: int, seconds: float
    ) -> Report:
        """Return the report of what an engine counted."""
        names = opcodes.names()
        counted, trace = result.get("profile"), result.get("trace")
        profile = None
        if counted is not None:
            from pyaco.emu.profile import Profile  # loaded only where it is asked for

            profile = Profile.of(counted, target=target, wave_size=wave_size, waves=waves, workgroups=workgroups, entry=entry)
        if trace is not None:
            trace["pc"] -= entry
        stray = result.get("lds_out_of_bounds_pc")
        return cls(
            instructions=result["instructions"], waves=waves, workgroups=workgroups,
            units=dict(zip(UNITS, result["units"], strict=True)), lane_units=dict(zip(UNITS, result["lanes"], strict=True)),
            opcodes={names[number]: count for number, count in result["opcodes"].items()}, seconds=seconds, wave_size=wave_size,
            profile=profile, trace=trace, lds_out_of_bounds=result.get("lds_out_of_bounds", 0),
            lds_out_of_bounds_pc=None if stray is None else stray - entry, same_value_stores=result.get("same_value_stores", 0),
        )  # fmt: skip

    @property
    def lane_utilization(self) -> float:
        """Active lanes of vector instructions over all their lanes; 1 where there are none."""
        lanes = sum(self.units.get(unit, 0) for unit in _VECTOR_UNITS) * self.wave_size
        return sum(self.lane_units.get(unit, 0) for unit in _VECTOR_UNITS) / lanes if lanes else 1.0

    @property
    def exactness(self) -> dict[str, str]:
        """How sure the results of each executed opcode are: ``exact``, or ``within N ulp`` of what hardware gives."""
        return {name: exactness(name) for name in self.opcodes}

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as one JSON-ready dict."""
        profile = self.profile.summary() if self.profile is not None else {}
        by_opcode = sorted(self.opcodes.items(), key=lambda item: -item[1])
        return {
            "instructions": self.instructions,
            "waves": self.waves,
            "workgroups": self.workgroups,
            **self.units,
            "lane_instructions": sum(self.lane_units.values()),
            "lane_utilization": round(self.lane_utilization, 4),
            "opcodes": dict(by_opcode),
            "exactness": self.exactness,
            **profile,
            "lds_out_of_bounds": self.lds_out_of_bounds,
            **({} if self.lds_out_of_bounds_pc is None else {"lds_out_of_bounds_pc": self.lds_out_of_bounds_pc}),
            **({"same_value_stores": self.same_value_stores} if self.same_value_stores else {}),
            **({"unused_bindings": [list(key) for key in self.unused_bindings]} if self.unused_bindings else {}),
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        facts = {name: value for name, value in self.to_dict().items() if isinstance(value, (int, float, str))}
        shown = table(f"{self.instructions} wave instructions", {name: value for name, value in facts.items() if name != "instructions"})
        return shown + folded(f"{len(self.opcodes)} opcodes", self.text())

    def text(self) -> str:
        """Return the counts as lines to read."""
        facts = self.to_dict()
        memory = facts.pop("memory", None)
        names, sure = facts.pop("opcodes"), facts.pop("exactness")
        lanes = facts.pop("lane_utilization_by_opcode", {})
        lines = [f"{name}: {value}" for name, value in facts.items()]
        for space, ways in (memory or {}).items():
            lines += [f"{space} {way}: {count['bytes']} bytes in {count['accesses']} lane accesses" for way, count in ways.items()]
        lines.append(f"{'opcode':32} {'count':>12} {'lanes':>6}  result")
        lines += [f"{name:32} {count:12} {f'{lanes[name]:6.1%}' if name in lanes else '':>6}  {sure[name]}" for name, count in names.items()]
        return "\n".join(lines)
