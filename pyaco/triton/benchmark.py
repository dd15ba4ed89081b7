"""Times by counting: what a launch would take if every SIMD of the chip issued one wave instruction in each cycle of the boost clock.

No cache, no memory bandwidth and no latency is in it; a dispatch of fewer waves than the chip has SIMDs uses one for each wave. It orders
kernels that do the same thing by the work that they issue; it says nothing of how fast hardware is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyaco.errors import InputError

if TYPE_CHECKING:
    from pyaco.emu.report import Report

__all__ = ["benchmark", "clock", "model_seconds"]


class Clock:
    """Seconds of the model that all launches of the process have taken so far."""

    def __init__(self) -> None:
        self.seconds = 0.0


clock = Clock()


def model_seconds(report: Report, properties: dict[str, Any], simds: int) -> float:
    """Return the seconds of a launch by the model.

    Parameters
    ----------
    report : Report
        What the launch executed.
    properties : dict
        The device's: compute units and clock.
    simds : int
        SIMDs of a compute unit.
    """
    width = min(properties["multiprocessor_count"] * simds, max(report.waves, 1))
    return report.instructions / width / (properties["sm_clock_rate"] * 1000)


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
    float or list of float
    """
    for tensor in grad_to_none or ():
        tensor.grad = None
    before, start = clock.seconds, time.perf_counter()
    fn()
    end = time.perf_counter()
    times = [((clock.seconds - before) or (end - start)) * 1000]
    if quantiles is not None:
        found = times * len(quantiles)
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    if return_mode not in ("min", "max", "mean", "median"):
        raise InputError(f"return_mode {return_mode!r}: expected min, max, mean, median or all")
    return times[0]
