"""What the benches beside RADV share: names of statistics on both sides, least times, means."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyaco import aco
from pyaco._core.aco import build, statistics

if TYPE_CHECKING:
    from pyaco import Shader
    from pyaco._core.ir.program import Program


@dataclass(frozen=True)
class Statistic:
    """A statistic: its name in reports of fossil-db, pyaco's, RADV's, and whether more is better."""

    name: str
    ours: str
    theirs: str
    more_is_better: bool = False


STATISTICS = (
    Statistic("Instrs", "instructions", "Instructions"),
    Statistic("CodeSize", "code_size", "Code size"),
    Statistic("VGPRs", "vgprs", "VGPRs"),
    Statistic("SpillSGPRs", "spilled_sgprs", "Spilled SGPRs"),
    Statistic("SpillVGPRs", "spilled_vgprs", "Spilled VGPRs"),
    Statistic("LDS", "lds_bytes", "LDS size"),
    Statistic("Scratch", "scratch_bytes", "Scratch size"),
    Statistic("MaxWaves", "max_waves", "Subgroups per SIMD", more_is_better=True),
    Statistic("Latency", "latency", "Latency"),
    Statistic("InvThroughput", "inverse_throughput", "Inverse Throughput"),
    Statistic("VClause", "vmem_clauses", "VMEM Clause"),
    Statistic("SClause", "smem_clauses", "SMEM Clause"),
    Statistic("Copies", "copies", "Copies"),
    Statistic("Branches", "branches", "Branches"),
)
#: Beside `STATISTICS` in a row of ours: what `debian_counts` returns.
DEBIAN = "22.3.6"


def least_milliseconds(function: Callable[[], Any], repetitions: int, seconds: float) -> float:
    """The least processor time of a call, over so many calls or so many seconds."""
    best = math.inf
    limit = time.monotonic() + seconds
    for done in range(repetitions):
        if done and time.monotonic() > limit:
            break
        start = time.thread_time_ns()
        function()
        best = min(best, (time.thread_time_ns() - start) / 1e6)
    return best


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive values; NaN of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else math.nan


def debian_counts(program: Program, max_waves: int, invocations: int) -> dict[str, int]:
    """Latency and inverse throughput of machine code, as RADV 22.3.6 counts them.

    In its ``aco_statistics.cpp`` branches take 8 cycles up to GFX9 (`pyaco`, as later versions: 4) and keep their unit for one from GFX10 on (3), and
    GFX11's vector unit always takes 64 lanes in two passes (in one, what could be half of a pair); its ``aco_live_var_analysis.cpp`` lets twice as
    many waves of 32 lanes as of 64 run on a SIMD, as far as registers and LDS allow, though the hardware has no more slots for them. What it counts
    otherwise besides (`docs/figures.md`) depends on each instruction and is left out.

    Parameters
    ----------
    program : Program
        As the assembler gets it.
    max_waves : int
        Of its statistics.
    invocations : int
        Of a workgroup.
    """
    summary = build.summary(program)
    figures = statistics.timeline(program, whole_waves=False)[1]
    busy, latency, wave = figures["busy"], figures["latency"], summary["wave_size"]
    waves, of_workgroup = summary["num_waves"] or 1, -(-invocations // wave)
    if summary["gfx_level"] < 100:
        latency += busy["branch"]
        busy["branch"] *= 2
    else:
        busy["branch"] /= 3
    if wave == 32:
        # a CU keeps track of 16 workgroups of several waves; it has two SIMDs
        waves = min(max_waves, 8 * of_workgroup if of_workgroup > 1 else math.inf)
    parallelism = min(waves, latency / max(*busy.values(), 1))
    return {"Latency": round(latency), "InvThroughput": round(latency / (parallelism * wave / 64 * figures["utilization"]))}


def debian_counts_of_shader(shader: Shader, compile_once: Callable[[], Any], invocations: int) -> dict[str, int]:
    """`debian_counts` of a shader, which `compile_once` compiles once more, as the assembler gets it."""
    found = []

    def observe(program: Program) -> None:
        found.append(debian_counts(program, shader.stats["max_waves"], invocations))

    last = [record.name for record in shader.passes if record.room == "aco" and record.name in aco.pass_names()][-1]
    name = aco.register_pass(last, observe, "counts of 22.3.6")
    try:
        compile_once()
    finally:
        aco.unregister_pass(name)
    return found[-1]
