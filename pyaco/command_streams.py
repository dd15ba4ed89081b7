"""What runs the command streams of ``Device.submit``.

``pyaco.pm4`` stands above ``pyaco.emu``: it dispatches on devices, and the emulator does not know it. So a device asks here, where
``pyaco.pm4`` registers its processor when it is imported.
"""

from __future__ import annotations

from pyaco.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["register", "run"]

_processors: list[Callable[..., Any]] = []


def register(processor: Callable[..., Any]) -> None:
    """Make `processor` run command streams: ``processor(device, words, budget, time_budget=None) -> list of Report``."""
    _processors[:] = [processor]


def run(device: Any, words: Any, budget: int, time_budget: float | None) -> Any:
    """Run a command stream on a device.

    Raises
    ------
    UnsupportedError
        Nothing that runs command streams has been imported.
    """
    if not _processors:
        raise UnsupportedError("command streams on a device: import pyaco.pm4, which executes them")
    return _processors[0](device, words, budget, time_budget=time_budget)
