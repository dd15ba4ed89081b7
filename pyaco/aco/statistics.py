"""Statistics of a program, with RADV's meanings of the names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyaco._core.aco import build
from pyaco._core.aco import statistics as kernel

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["before_allocation", "statistics"]

#: s_code_end, which pads the code of GFX10 and later for the instruction prefetcher.
_CODE_END = 0xBF9F0000.to_bytes(4, "little")


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
    granule = max(facts["device"]["lds_encoding_granule"], 1)
    return {
        **kernel.collect(program),
        "code_size": _code_size(program.code),
        "sgprs": config["num_sgprs"],
        "vgprs": config["num_vgprs"],
        "spilled_sgprs": config["spilled_sgprs"],
        "spilled_vgprs": config["spilled_vgprs"],
        "scratch_bytes": config["scratch_bytes_per_lane"] * facts["wave_size"],
        "lds_bytes": -(-config["lds_bytes"] // granule) * granule,
    }


def _code_size(code: bytes) -> int:
    """Return the size of what is executed: without the words that mark the end of the code."""
    size = len(code)
    while code.endswith(_CODE_END, 0, size):
        size -= len(_CODE_END)
    return size
