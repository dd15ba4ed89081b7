"""What can go wrong while machine code runs."""

from __future__ import annotations

from pyaco.errors import PyacoError

__all__ = ["BudgetError", "EmulationError", "MemoryFault"]


class EmulationError(PyacoError):
    """A dispatch stopped before its end.

    Attributes
    ----------
    place : dict
        ``workgroup``, ``wave``, ``pc`` (byte offset in the code where the pc lies in it), and for memory faults ``lane``,
        ``address``, ``bytes``, ``store``.
    """

    def __init__(self, message: str, place: dict[str, object]) -> None:
        super().__init__(message)
        self.place = place


class MemoryFault(EmulationError):
    """An access outside every allocation of the device."""


class BudgetError(EmulationError):
    """The dispatch used up its budget of instructions: an endless loop, or a budget that is too small."""
