"""A dispatch under a debugger: breakpoints, single steps, registers and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from pyaco.arguments import checked
from pyaco.emu.stop_errors import instruction_text, stop_error
from pyaco.errors import InputError

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace
    from pyaco._core.emu_inspect.engine import InspectingEngine
    from pyaco.emu.arguments import Arguments

__all__ = ["Session", "Stop", "WaveState"]


@dataclass(frozen=True)
class Stop:
    """Why and where a session stands still.

    Attributes
    ----------
    reason : str
        ``breakpoint``, ``steps`` (as many as were asked for), or ``end`` of the dispatch.
    workgroup : tuple of int
        The workgroup of the instruction that comes next; ``()`` at the end.
    wave, pc : int
        Its wave within the workgroup, and its offset in the code; -1 at the end.
    instruction : str
        Its text; empty at the end.
    """

    reason: str
    workgroup: tuple[int, ...] = ()
    wave: int = -1
    pc: int = -1
    instruction: str = ""


@dataclass(frozen=True)
class WaveState:
    """A wave's registers.

    Attributes
    ----------
    pc : int
        Offset in the code.
    exec, vcc : int
        Lane masks.
    scc, m0, mode : int
        Status.
    lanes : int
        32 or 64.
    sgpr : numpy.ndarray
        s0 to s105 and what follows in the numbering of operands; writing to it writes the register.
    vgpr : numpy.ndarray
        By register and lane, likewise.
    ended : bool
        It has executed s_endpgm.
    """

    pc: int
    exec: int
    vcc: int
    scc: int
    m0: int
    mode: int
    lanes: int
    sgpr: NDArray[numpy.uint32]
    vgpr: NDArray[numpy.uint32]
    ended: bool


class Session:
    """A dispatch that runs when told to; what ``Device.debug`` returns. It is a context manager: leaving it ends the dispatch.

    Waves take turns as in the reference engine (or as a seed draws them): `step` executes an instruction of whichever comes next,
    `stop` says which. Views of registers and LDS are valid until the session runs on.
    """

    def __init__(self, target: str, space: AddressSpace, engine: InspectingEngine, placed: Arguments) -> None:
        self._target = target
        self._space = space
        self._engine = engine
        self._placed = placed
        self._code_bytes = placed.code_bytes
        self._closed = False
        self._breakpoints: set[int] = set()
        #: Where the session stands.
        self.stop = Stop("steps")
        self._advance(0)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the dispatch wherever it is."""
        if not self._closed:
            self._closed = True
            self._engine.close()
            self._placed.release()

    @property
    def breakpoints(self) -> frozenset[int]:
        """Offsets in the code before which `run` stops."""
        return frozenset(self._breakpoints)

    @checked
    def add_breakpoint(self, pc: int) -> None:
        """Stop before the instruction at byte `pc` of the code, in every wave that comes there."""
        if not 0 <= pc < self._code_bytes or pc % 4:
            raise InputError(f"breakpoint at {pc:#x}: the code has {self._code_bytes} bytes, instructions begin at dwords")
        self._breakpoints.add(pc)
        self._engine.set_breakpoints(self._placed.entry + place for place in self._breakpoints)

    @checked
    def remove_breakpoint(self, pc: int) -> None:
        """Forget a breakpoint."""
        self._breakpoints.discard(pc)
        self._engine.set_breakpoints(self._placed.entry + place for place in self._breakpoints)

    @checked
    def step(self, count: int = 1) -> Stop:
        """Execute up to `count` instructions, fewer where a breakpoint or the end comes first.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError, UnsupportedError
            The dispatch stopped; the session stays there, to be looked at.
        """
        if count < 0:
            raise InputError(f"{count} steps")
        return self._advance(count)

    def run(self) -> Stop:
        """Run to a breakpoint or to the end; errors as for `step`."""
        return self._advance((1 << 64) - 1)

    def _advance(self, count: int) -> Stop:
        if self._closed:
            raise InputError("the session is closed")
        if self.stop.reason == "end":
            return self.stop
        result = self._engine.advance(count)
        if result["stop"] is None:
            self.stop = Stop("end")
        elif result["stop"] in ("breakpoint", "steps"):
            self.stop = self._here(result)
        else:
            raise stop_error(result, self._target, self._space, self._placed.entry, self._code_bytes)
        return self.stop

    def _here(self, result: Mapping[str, Any]) -> Stop:
        pc = result["pc"]
        text = instruction_text(result, self._target)
        return Stop(result["stop"], result["workgroup"], result["wave"], pc - self._placed.entry, text)

    # ------------------------------------------------------------------------------------------------ registers and memory
    @property
    def wave_count(self) -> int:
        """Waves of a workgroup."""
        return self._engine.wave_count

    @checked
    def wave(self, index: int | None = None) -> WaveState:
        """Return the registers of a wave of the workgroup that runs, by default of the one that comes next."""
        chosen = max(self.stop.wave, 0) if index is None else index
        if self._closed or not 0 <= chosen < self._engine.wave_count:
            raise InputError(f"wave {chosen}: the workgroup has {0 if self._closed else self._engine.wave_count}")
        state = self._engine.wave_state(chosen)
        return WaveState(
            pc=state["pc"] - self._placed.entry, exec=state["exec"], vcc=state["vcc"], scc=state["scc"], m0=state["m0"],
            mode=state["mode"], lanes=state["lanes"], sgpr=state["sgpr"], vgpr=state["vgpr"], ended=state["stop"] == 1,
        )  # fmt: skip

    def lds(self) -> NDArray[numpy.uint8]:
        """Return the LDS of the workgroup that runs; writing to it writes LDS."""
        if self._closed:
            raise InputError("the session is closed")
        return self._engine.lds()

    @checked
    def memory(self, address: int, size: int) -> NDArray[numpy.uint8]:
        """Return device memory from `address` on; writing to it writes memory.

        Raises
        ------
        InputError
            The bytes are not in one allocation.
        """
        view = self._space.view(address, size)
        if view is None:
            raise InputError(f"{size} bytes at {address:#x} are outside memory")
        return numpy.frombuffer(view, numpy.uint8)
