"""What the benches beside RADV share: names of statistics on both sides, least times, means."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


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


_FIGURE = re.compile(r"^(\w+): ([0-9.]+)$", re.MULTILINE)


def debian_counts(shader: Any, invocations: int) -> dict[str, int]:
    """Latency and inverse throughput of a shader that was compiled with ``debug="perfinfo"``, as RADV 22.3.6 counts them.

    In its ``aco_statistics.cpp`` branches take 8 cycles up to GFX9 (`pyaco`, as later versions: 4) and keep their unit for one from GFX10 on (3); its
    ``aco_live_var_analysis.cpp`` lets twice as many waves of 32 lanes as of 64 run on a SIMD, as far as registers and LDS allow, though the hardware
    has no more slots for them. What it counts otherwise besides (`docs/figures.md`) depends on each instruction and is left out.
    """
    text = shader.dumps["perfinfo"]
    busy = {name: float(value) for name, value in _FIGURE.findall(text)}
    latency, waves, utilization = busy.pop("latency"), busy.pop("num_waves"), busy.pop("utilization")
    busy = {name: value for name, value in busy.items() if name.endswith("_usage")}
    of_workgroup = -(-invocations // shader.wave)
    if int(shader.target[3:-2]) < 10:
        latency += busy["branch_usage"]
        busy["branch_usage"] *= 2
    else:
        busy["branch_usage"] /= 3
    if shader.wave == 32:
        # a CU keeps track of 16 workgroups of several waves; it has two SIMDs
        waves = min(shader.stats["max_waves"], 8 * of_workgroup if of_workgroup > 1 else math.inf)
    parallelism = min(waves, latency / max(*busy.values(), 1))
    return {"Latency": round(latency), "InvThroughput": round(latency / (parallelism * shader.wave / 64 * utilization))}
