"""Statistics of a program, with RADV's meanings of the names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyaco._core.aco import build
from pyaco._core.aco import statistics as kernel

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["before_allocation", "statistics"]


def before_allocation(program: Program) -> dict[str, int]:
    """Return the register demand before spilling and allocation (needs ``live_variables``)."""
    facts = build.summary(program)
    return {"pre_sgprs": facts["max_demand_sgpr"], "pre_vgprs": facts["max_demand_vgpr"]}


def statistics(program: Program) -> dict[str, int]:
    """Return the statistics of a program that has been assembled, or is ready for it.

    The keys are those of ``pyaco compile --emit json`` that the backend knows: instruction counts by kind, clauses, latency and
    inverse throughput of the cycle model, registers, LDS, scratch and occupancy.
    """
    config = program.config
    facts = build.summary(program)
    return {
        **kernel.collect(program),
        "code_size": len(program.code),
        "sgprs": config["num_sgprs"],
        "vgprs": config["num_vgprs"],
        "spilled_sgprs": config["spilled_sgprs"],
        "spilled_vgprs": config["spilled_vgprs"],
        "scratch_bytes": config["scratch_bytes_per_lane"] * facts["wave_size"],
        "lds_bytes": config["lds_bytes"],
        "max_waves": facts["num_waves"],
    }
