"""What a dispatch executed, instruction by instruction: the profile that ``Device(profile=True)`` puts into a report."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from pyaco.emu.profile_counts import ProfileCounts
from pyaco.emu.profile_text import profile_html, profile_text
from pyaco.emu.profile_trace import chrome_trace

__all__ = ["Profile"]


@dataclass(frozen=True, eq=False)
class Profile(ProfileCounts):
    """What a dispatch executed, as records (`ProfileCounts`), text, JSON and a timeline."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the timeline as one JSON-ready dict; the opcodes of a class are summed."""
        total = self.total
        return {
            "kernel": self.kernel, "target": self.target, "wave_size": self.wave_size, "waves": self.waves, "workgroups": self.workgroups,
            "instructions": total.executions, "lane_utilization": round(self.lane_utilization, 4), **self.summary(),
            "issue_cycles": total.issue, "stall_cycles": total.stall, "unit_cycles": self.units,
            "classes": {kind: asdict(counts) for kind, counts in self.classes.items()},
            "source_lines": [{"file": line.file, "line": line.line, "instructions": line.instructions, **asdict(line.counts)}
                             for line in self.source_lines],
            "code": [{"pc": one.pc, "opcode": one.opcode, "text": one.text, "class": one.kind, "source": one.source, **asdict(one.counts)}
                     for one in self.instructions],
        }  # fmt: skip

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1)

    def to_chrome_trace(self) -> str:
        """Return the timeline in the Trace Event Format, which ``chrome://tracing`` and Perfetto show.

        A workgroup is a process and a wave of it a thread; a microsecond stands for a cycle of the model. Each slice is a run of instructions
        of one line of source, or of one block where no lines are known; cycles in which the wave waited are slices of their own.
        """
        return json.dumps(chrome_trace(self))

    def __str__(self) -> str:
        return profile_text(self)

    def _repr_html_(self) -> str:
        return profile_html(self)
