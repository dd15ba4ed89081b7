"""Times of launches without hardware: the cycle model of `pyaco.emu.cycles`, fed with the instructions that each launch executed.

A launch takes the largest of the model's bounds (units of a SIMD, cache, memory, latency) on the largest product of the target at its boost
clock. Its memory bound takes every byte of the arguments' tensors once, or what the launch loads and stores where that is less. Counts do not vary,
so neither do times. They order kernels that do the same thing; how fast hardware is, they do not say.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from pyaco.errors import InputError

if TYPE_CHECKING:
    from pyaco.emu.cycles import CycleEstimate
    from pyaco.emu.prepared_launch import Outcome
    from pyaco.emu.report import Report
    from pyaco.triton.memory import Range

__all__ = ["KernelModel", "ModelTime", "benchmark", "clock"]

_MOST_PENDING = 1024
_TO_MEMORY = ("global_", "buffer_", "flat_")


class ModelTime(float):
    """Milliseconds by the cycle model.

    Attributes
    ----------
    limits : dict of str to float
        The same by what limits the launches: ``memory``, ``latency``, ``cache``, or a unit of a SIMD such as ``valu`` or ``matrix``.
    """

    limits: dict[str, float]

    def __new__(cls, limits: dict[str, float]) -> ModelTime:
        made = super().__new__(cls, sum(limits.values()))
        made.limits = limits
        return made

    def __repr__(self) -> str:
        return f"<{float(self)} ms by the cycle model, limited by {' and '.join(self.limits)}>"

    __str__ = float.__repr__


@dataclass(frozen=True)
class KernelModel:
    """What of a kernel the model needs beside the counts of its launches.

    Attributes
    ----------
    target : str
        Gfx name.
    level : int
        Its hardware level times ten.
    vgprs : int
        Registers of a wave, by which waves fit a SIMD.
    """

    target: str
    level: int
    vgprs: int

    def estimate(self, outcome: Outcome, memory: Sequence[Range]) -> CycleEstimate:
        """Return the estimate for a launch that reached parts of `memory`."""
        from pyaco.emu.cycles import estimate
        from pyaco.targets import occupancy

        report, launch = outcome.report(), outcome.prepared.launch
        resident = occupancy(self.target, wave=launch.wave_size, vgprs=self.vgprs, lds_bytes=launch.lds_bytes, workgroup_size=prod(launch.size))
        footprint = min(sum(end - first for first, end in memory), bytes_moved(report, self.level))
        return estimate(report, self.target, resident_waves=resident, footprint=footprint)


@cache
def _bytes_of_opcodes(level: int) -> dict[str, int]:
    """Bytes of a lane, by opcode that reaches memory."""
    from pyaco._core.emu.cycles import costs_of_opcodes
    from pyaco.isa import opcodes

    _, moved = costs_of_opcodes(level, 64)
    return {name: size for name, size in zip(opcodes.names(), moved.tolist(), strict=True) if size and name.startswith(_TO_MEMORY)}


def bytes_moved(report: Report, level: int) -> int:
    """Return the bytes that vector instructions load and store, with the average number of active lanes."""
    sizes = _bytes_of_opcodes(level)
    executed = sum(report.units[unit] for unit in ("vmem", "flat"))
    lanes = sum(report.lane_units[unit] for unit in ("vmem", "flat")) / executed if executed else 0.0
    return round(lanes * sum(count * sizes.get(name, 0) for name, count in report.opcodes.items()))


class Clock:
    """The time that launches have taken by the model since somebody first looked, in milliseconds by what limits them.

    An estimate takes as long as a small launch, so it is made when somebody looks again.
    """

    def __init__(self) -> None:
        self._times: defaultdict[str, float] = defaultdict(float)
        self._pending: list[tuple[KernelModel, Outcome, Sequence[Range]]] = []
        self._runs = False

    def add(self, model: KernelModel, outcome: Outcome, memory: Sequence[Range]) -> None:
        """Note a launch."""
        if self._runs:
            self._pending.append((model, outcome, memory))
            if len(self._pending) >= _MOST_PENDING:
                self._settle()

    def read(self) -> defaultdict[str, float]:
        """Return the times so far."""
        self._runs = True
        self._settle()
        return self._times.copy()

    @property
    def milliseconds(self) -> float:
        """All of them."""
        return sum(self.read().values())

    def _settle(self) -> None:
        pending, self._pending = self._pending, []
        for model, outcome, memory in pending:
            found = model.estimate(outcome, memory)
            self._times[found.limit] += found.seconds * 1000


clock = Clock()


def benchmark(
    fn: Callable[[], Any], warmup: float = 0, rep: float = 0, grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None, return_mode: str = "mean", **options: Any,
) -> Any:
    """Return the milliseconds of `fn` by the model; what ``triton.testing.do_bench`` is while a device is active.

    One call is enough, because counts do not vary: `warmup` and `rep` are ignored. What `fn` does on the processor takes no time, unless
    it launches nothing at all: then the result is the time that the processor took.

    Parameters
    ----------
    fn : callable
        What launches kernels.
    warmup, rep, options
        As for ``triton.testing.do_bench``; ignored.
    grad_to_none : sequence of tensors, optional
        Their ``grad`` is set to None before.
    quantiles : sequence of float, optional
        One result for each.
    return_mode : str
        ``min``, ``max``, ``mean``, ``median`` or ``all``.

    Returns
    -------
    ModelTime, float or list of them
        A `ModelTime` where kernels were launched.
    """
    for tensor in grad_to_none or ():
        tensor.grad = None
    before, start = clock.read(), time.perf_counter()
    fn()
    end = time.perf_counter()
    spent = clock.read()
    limits = {limit: passed for limit in sorted(spent) if (passed := spent[limit] - before[limit]) > 0}
    times = [ModelTime(limits) if limits else (end - start) * 1000]
    if quantiles is not None:
        found = times * len(quantiles)
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    if return_mode not in ("min", "max", "mean", "median"):
        raise InputError(f"return_mode {return_mode!r}: expected min, max, mean, median or all")
    return times[0]
