"""What runs the command streams of ``Device.submit``.

``pyaco.pm4`` stands above ``pyaco.emu``: it dispatches on devices, and the emulator does not know it. So a device asks here, where
``pyaco.pm4`` registers its processor when it is imported, at the latest for the first stream.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["register", "run"]

_PROVIDER = "pyaco.pm4"
_processors: list[Callable[..., Any]] = []


def register(processor: Callable[..., Any]) -> None:
    """Make `processor` run command streams: ``processor(device, words, budget, time_budget=None) -> list of Report``."""
    _processors[:] = [processor]


def run(device: Any, words: Any, budget: int, time_budget: float | None) -> Any:
    """Run a command stream on a device."""
    if not _processors:
        importlib.import_module(_PROVIDER)
    return _processors[0](device, words, budget, time_budget=time_budget)
