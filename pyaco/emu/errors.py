"""What can go wrong while machine code runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyaco.errors import PyacoError

__all__ = [
    "BarrierError", "BudgetError", "EmulationError", "KernelAssertionError", "MemoryFault", "MissingWaitError", "RaceError", "UninitializedError",
]  # fmt: skip


class EmulationError(PyacoError):
    """A dispatch stopped before its end.

    Attributes
    ----------
    place : dict
        ``workgroup``, ``wave``, ``pc`` (byte offset in the code where the pc lies in it), ``instruction``, and for memory faults ``lane``,
        ``address``, ``bytes``, ``store``, and ``allocation``, the nearest one: ``address``, ``size``, ``what`` it is, its ``name``, ``made_at``
        (file and line), ``binding`` (set and binding), as far as these are known.
        For kernels of code objects also ``kernel``, and ``source`` (file and line) where the object has debug information and ``pyelftools`` is
        installed.
    """

    #: What kind of defect this is, for programs that read it.
    kind = "stop"

    def __init__(self, message: str, place: dict[str, Any]) -> None:
        super().__init__(message)
        self.place = place

    def locate(self, kernel: str, line_of: Callable[[int], tuple[str, int] | None]) -> None:
        """Say which kernel stopped, and at which lines of its source; `line_of` gives file and line of a pc."""
        self.place["kernel"] = kernel
        where = f"kernel {kernel}"
        if source := line_of(self.place["pc"]):
            self.place["source"] = source
            where = f"{source[0]}:{source[1]}, {where}"
        message = f"{where}: {self.args[0]}"
        if "earlier" in self.place and (source := line_of(self.place["earlier"]["pc"])):
            self.place["earlier"]["source"] = source
            message += f"; the earlier one is {source[0]}:{source[1]}"
        self.args = (message, *self.args[1:])

    def name_binding(self, bindings: Mapping[int, tuple[int, int]]) -> None:
        """Say at which set and binding the allocation of the report is bound; `bindings` has them by address."""
        allocation = self.place.get("allocation")
        if allocation and (binding := bindings.get(allocation["address"])):
            allocation["binding"] = list(binding)
            self.args = (f"{self.args[0]}, bound as binding {binding[1]} of set {binding[0]}", *self.args[1:])

    def to_dict(self) -> dict[str, Any]:
        """Return kind, message and place as one JSON-ready dict."""
        return {"kind": self.kind, "message": str(self), **self.place}


class MemoryFault(EmulationError):
    """An access outside every allocation of the device; with the memory check also one beyond LDS, or an atomic that is not aligned."""

    kind = "memory"


class BarrierError(EmulationError):
    """Waves wait at a barrier that other waves of the workgroup never reach.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``ended``: a wave that has ended without reaching it.
    """

    kind = "barriers"


class UninitializedError(EmulationError):
    """A value that nobody wrote chooses an address or a branch, becomes EXEC, or is stored to memory; or an atomic changes one.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``lane``, ``register``, and ``use``: ``address``, ``branch``, ``exec``, ``store`` or ``atomic``. Where the value was
        loaded from memory or LDS: ``address``, ``space``, the ``allocation``, and ``earlier``: ``pc`` and ``opcode`` of the load.
    """

    kind = "uninitialized"


class KernelAssertionError(EmulationError, RuntimeError):
    """An assertion of the kernel's own source failed: it has written a message to standard error and executed ``s_trap``.

    It is a RuntimeError too, as runtimes of real GPUs raise.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``assertion``: the message; ``invocations``: numbers in the workgroup of those for which it does not hold.
    """

    kind = "assertion"


class BudgetError(EmulationError):
    """The dispatch used up its budget of instructions or of time: an endless loop, or a budget that is too small."""

    kind = "budget"


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

    kind = "waits"


class RaceError(EmulationError):
    """Two waves reach the same bytes, one of them writes, and nothing orders them.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``lane``, ``address``, ``bytes``, ``space`` (``memory``, ``lds`` or ``gds``), ``store``, and ``earlier``:
        ``workgroup``, ``wave``, ``pc``, ``opcode``, ``store`` of the other access.
    """

    kind = "races"
