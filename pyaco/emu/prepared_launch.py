"""A launch that is worked out and checked once and then runs many times, and what a run counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco.emu.report import Report
from pyaco.emu.stop_errors import stop_error
from pyaco.errors import InputError

if TYPE_CHECKING:
    from pyaco._core.emu.reference import Engine
    from pyaco.emu.launch import Launch

__all__ = ["Outcome", "PreparedLaunch"]


class PreparedLaunch:
    """A launch of one device, to be run with the user SGPRs of each time.

    Parameters
    ----------
    engine : Engine
        What runs it.
    launch : Launch
        What runs.
    target : str
        The device's gfx name, for errors.
    options : dict
        What the engine takes beside ``Launch.engine_arguments``.
    host_error : callable
        Why the host did not serve what a wave asked for, or None.
    """

    def __init__(self, engine: Engine, launch: Launch, target: str, options: dict[str, Any], host_error: Callable[[], BaseException | None]) -> None:
        self.launch, self.workgroups, self.waves = launch, launch.workgroups, launch.waves
        self.target, self._engine, self._host_error = target, engine, host_error
        self._arguments = launch.engine_arguments() | options
        del self._arguments["user_sgprs"]

    def run(self, user_sgprs: Sequence[int], budget: int, time_budget: float | None = None) -> Outcome:
        """Run it; arguments and errors are those of ``Device.launch``."""
        if time_budget is not None and not time_budget > 0:
            raise InputError(f"a time budget of {time_budget} seconds")
        if not 0 <= budget < 1 << 64:
            raise InputError(f"a budget of {budget} wave instructions")
        launch, start = self.launch, time.perf_counter()
        result = self._engine.run(launch.entry, launch.groups, launch.size, user_sgprs=user_sgprs, budget=budget, time_budget=time_budget or 0.0,
                                  **self._arguments)  # fmt: skip
        seconds = time.perf_counter() - start
        if result["stop"] is not None:
            if result["stop"] == "host" and (error := self._host_error()) is not None:
                raise error
            raise stop_error(result, self.target, self._engine.space, launch.code_base, launch.code_bytes)
        return Outcome(self, result, seconds)


class Outcome(NamedTuple):
    """What a run counted; a small launch costs little more than making a report of it."""

    prepared: PreparedLaunch
    counts: dict[str, Any]
    seconds: float
    complete: Callable[[Report], Report] | None = None      # adds to the report what is known of the kernel

    def report(self) -> Report:
        """Return the report."""
        launch = self.prepared.launch
        report = Report.of(self.counts, target=self.prepared.target, workgroups=self.prepared.workgroups, waves=self.prepared.waves,
                           wave_size=launch.wave_size, entry=launch.code_base, seconds=self.seconds)  # fmt: skip
        return report if self.complete is None else self.complete(report)
