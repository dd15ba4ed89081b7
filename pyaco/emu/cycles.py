"""How long a launch would take by the cycle model, from nothing but the counts of a `Report`, of any engine.

The figures by opcode are those of the compiler's cycle model (``_core/common/cycles.pxd``): they order kernels that do the same thing; they
do not say how fast hardware is. `estimate` takes the largest of

- the issue bound: the unit of a SIMD that is busy longest, on the compute unit with the most workgroups;
- the cache bound: what the waves of that compute unit load and store, at 64 bytes a cycle;
- the memory bound, where `footprint` says how many bytes the launch reaches: each byte comes from memory once, at the product's bandwidth;
- the latency bound: the average wave alone, each wait exposing the latency of the kind of memory that the launch uses, times the rounds in
  which the waves of a SIMD run, given how many run at once.

Contention, caches that miss, clocks below the boost clock and the cost of a launch itself are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pyaco.arguments import checked
from pyaco.emu.occupancy import chip_of
from pyaco.isa import opcodes
from pyaco.targets import database, features
from pyaco.targets.limits import wave_limits

if TYPE_CHECKING:
    from pyaco.emu.report import Report

__all__ = ["CycleEstimate", "Machine", "estimate", "machine"]

# Cycles until an operation is counted down, by unit of the report: those of ``_core/common/cycles.pxd``.
_LATENCIES = {"vmem": 320, "flat": 320, "lds": 20, "smem": 200}
_WAITS = ("s_waitcnt", "s_wait_loadcnt", "s_wait_loadcnt_dscnt", "s_wait_dscnt", "s_wait_kmcnt")
_CACHE_BYTES = 64                       # of a compute unit in a cycle ("GCN Architecture" white paper; RDNA's twice as wide lines take two)
_UNKNOWN_MHZ = 1000


@dataclass(frozen=True)
class Machine:
    """What of a product a time depends on.

    Attributes
    ----------
    target : str
        Gfx name.
    level : int
        Its hardware level times ten.
    compute_units, simds : int
        Compute units, and SIMDs of each.
    megahertz : int
        Boost clock.
    bytes_per_cycle : float
        Of memory, in a cycle of that clock; 0 where it is not known.
    """

    target: str
    level: int
    compute_units: int
    simds: int
    megahertz: int
    bytes_per_cycle: float


@dataclass(frozen=True)
class CycleEstimate:
    """Cycles of a launch by the model.

    Attributes
    ----------
    cycles : float
        The largest of the bounds.
    seconds : float
        The same at the boost clock.
    limit : str
        Which bound that is: a unit of `units`, ``cache``, ``memory`` or ``latency``.
    units : dict of str to float
        Cycles for which each unit of the busiest SIMD is busy.
    cache, memory, latency : float
        The other bounds, in cycles.
    """

    cycles: float
    seconds: float
    limit: str
    units: dict[str, float]
    cache: float
    memory: float
    latency: float


@cache
def machine(target: str) -> Machine:
    """Return the product with the most compute units of a gfx name; one unit at 1 GHz where the database has none.

    Raises
    ------
    UnsupportedError, InputError
        No such target.
    """
    chip_ = chip_of(target)
    simds = wave_limits(chip_, 64 if features.has_wave64(chip_.level) else 32).simds_per_cu
    known = [product for product in database.products() if product.die.target == chip_.target]
    if not known:
        return Machine(chip_.target, chip_.level, 1, simds, _UNKNOWN_MHZ, 0.0)
    best = max(known, key=lambda product: product.units)
    return Machine(chip_.target, chip_.level, best.units, simds, best.clock, best.memory_rate * best.die.bus / 8 / best.clock)


@cache
def _costs(level: int, wave_size: int) -> dict[str, tuple[int, tuple[tuple[int, int], ...], int]]:
    """By opcode: cycles on all units, each unit that it uses with its cycles, and bytes of a lane."""
    from pyaco._core.emu.cycles import costs_of_opcodes

    costs, moved = costs_of_opcodes(level, wave_size)
    return {
        name: (max(line, default=0), tuple((unit, cost) for unit, cost in enumerate(line) if cost), size)
        for name, line, size in zip(opcodes.names(), costs.tolist(), moved.tolist(), strict=True)
    }


@checked
def estimate(report: Report, target: str | Machine, *, resident_waves: int | None = None, footprint: int = 0) -> CycleEstimate:
    """Return how many cycles a launch takes by the model.

    Parameters
    ----------
    report : Report
        What the launch executed.
    target : str or Machine
        A gfx name, of which the largest product is taken, or what `machine` returns.
    resident_waves : int, optional
        Waves that a SIMD holds at once (``pyaco.targets.occupancy``); by default as many as there are.
    footprint : int
        Bytes of memory that the launch reaches, each counted once; 0: memory is not taken into account.

    Returns
    -------
    CycleEstimate
    """
    from pyaco._core.emu.cycles import UNITS

    of = machine(target) if isinstance(target, str) else target
    costs = _costs(of.level, report.wave_size)
    totals = [0] * len(UNITS)
    alone = moved = 0
    for name, count in report.opcodes.items():
        serial, parts, size = costs[name]
        alone += count * serial
        for unit, cost in parts:
            totals[unit] += count * cost
        moved += count * size
    # Workgroups are dealt out evenly: the busiest compute unit has the ceiling of their number, its busiest SIMD that of its waves.
    total_groups, total_waves = max(report.workgroups, 1), max(report.waves, 1)
    groups = -(-total_groups // of.compute_units)
    waves = -(-groups * -(-total_waves // total_groups) // of.simds)
    share = waves / total_waves
    units = {name: total * share for name, total in zip(UNITS, totals, strict=True)}
    lanes = _active_share(report)
    cache_cycles = moved * lanes * report.wave_size / _CACHE_BYTES * groups / total_groups
    memory = footprint / of.bytes_per_cycle if of.bytes_per_cycle else 0.0
    rounds = -(-waves // max(resident_waves, 1)) if resident_waves is not None else 1
    latency = (alone + _exposed(report)) / total_waves * rounds
    bounds = {**units, "cache": cache_cycles, "memory": memory, "latency": latency}
    limit = max(bounds, key=lambda name: bounds[name])
    return CycleEstimate(bounds[limit], bounds[limit] / (of.megahertz * 1e6), limit, units, cache_cycles, memory, latency)


def _active_share(report: Report) -> float:
    """Active lanes of memory instructions over all their lanes."""
    used = sum(report.units.get(unit, 0) for unit in ("vmem", "flat"))
    return sum(report.lane_units.get(unit, 0) for unit in ("vmem", "flat")) / (used * report.wave_size) if used else 0.0


def _exposed(report: Report) -> float:
    """Cycles of all waves in waits: each exposes the average latency of the memory operations, of which each is waited for once at most."""
    operations: Mapping[str, int] = {unit: report.units.get(unit, 0) for unit in _LATENCIES}
    total = sum(operations.values())
    if not total:
        return 0.0
    waits = min(sum(report.opcodes.get(name, 0) for name in _WAITS), total)
    return waits * sum(_LATENCIES[unit] * count for unit, count in operations.items()) / total
