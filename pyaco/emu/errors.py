"""What can go wrong while machine code runs."""

from __future__ import annotations

from typing import Any

from pyaco.errors import PyacoError

__all__ = ["BudgetError", "EmulationError", "MemoryFault", "MissingWaitError", "RaceError"]


class EmulationError(PyacoError):
    """A dispatch stopped before its end.

    Attributes
    ----------
    place : dict
        ``workgroup``, ``wave``, ``pc`` (byte offset in the code where the pc lies in it), and for memory faults ``lane``,
        ``address``, ``bytes``, ``store``.
    """

    def __init__(self, message: str, place: dict[str, Any]) -> None:
        super().__init__(message)
        self.place = place


class MemoryFault(EmulationError):
    """An access outside every allocation of the device."""


class BudgetError(EmulationError):
    """The dispatch used up its budget of instructions or of time: an endless loop, or a budget that is too small."""


class MissingWaitError(EmulationError):
    """A use of data that a real machine could not have yet.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``counters`` (names of the counters that have to fall first), ``wait_states`` (how many are missing, where
        the chip needs those), ``hazard`` (its name, where it is one of GFX10 and later that no counter and no number tells, else None),
        ``register`` (such as ``v3``; ``lds`` or ``memory`` where another wave needs what is not waited for), and
        ``earlier``: ``pc`` and ``opcode`` of the operation in flight.
    """


class RaceError(EmulationError):
    """Two waves reach the same bytes, one of them writes, and nothing orders them.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``lane``, ``address``, ``bytes``, ``space`` (``memory``, ``lds`` or ``gds``), ``store``, and ``earlier``:
        ``workgroup``, ``wave``, ``pc``, ``opcode``, ``store`` of the other access.
    """
