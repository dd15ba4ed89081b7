"""Counts of what a dispatch executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["UNITS", "Report"]

#: Units of the counters, in the order of the kernels.
UNITS = ("salu", "valu", "smem", "vmem", "flat", "lds", "branch", "wait", "other")


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
    """

    instructions: int
    waves: int
    workgroups: int
    units: dict[str, int] = field(default_factory=dict)
    lane_units: dict[str, int] = field(default_factory=dict)
    opcodes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as one JSON-ready dict."""
        return {
            "instructions": self.instructions,
            "waves": self.waves,
            "workgroups": self.workgroups,
            **self.units,
            "lane_instructions": sum(self.lane_units.values()),
            "opcodes": dict(sorted(self.opcodes.items(), key=lambda item: -item[1])),
            "seconds": self.seconds,
        }
