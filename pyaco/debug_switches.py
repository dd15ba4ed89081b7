"""Switches of the compiler for those who debug it or what it makes, by the names of ACO's ``ACO_DEBUG``.

They come from the environment variable ``PYACO_DEBUG``, the argument ``debug`` of ``pyaco.compile`` and ``Pipeline``, and ``pyaco compile --debug``:
words with commas or spaces between them. Each is a row of one table, in terms of the pass manager: passes to leave out, options of passes, checks,
and text to keep. Source of the names and of what they do: Mesa 25.2.4 (``aco_ir.cpp``, ``aco_interface.cpp``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco._core.common.environment import is_set
from pyaco.errors import InputError
from pyaco.passes import Pipeline
from pyaco.pipelines import compute
from pyaco.pipelines.aco_passes import insert_nops, insert_waitcnt

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program
    from pyaco.aco.pressure import Pressure

__all__ = ["NO_SWITCHES", "SWITCHES", "VARIABLE", "DebugSwitches", "Observer", "Switch", "switches"]

#: The environment variable.
VARIABLE = "PYACO_DEBUG"
_VARIABLE_BYTES = VARIABLE.encode()

#: Passes behind which liveness is current, and what they are checked for.
_LIVENESS = ("spill", "schedule_program")


class Switch(NamedTuple):
    """What a word does.

    Attributes
    ----------
    meaning : str
    disables : tuple of str
        Passes to leave out.
    forces : str
        The pass, one that inserts waits, whose option ``force`` is on.
    checks : str
        What is validated after passes over ACO IR: ``structure``, ``optimizer``, ``registers`` or ``liveness``.
    keeps : str
        The name of text that is kept among the dumps.
    """

    meaning: str
    disables: tuple[str, ...] = ()
    forces: str = ""
    checks: str = ""
    keeps: str = ""


SWITCHES: Mapping[str, Switch] = {
    "validateir": Switch("validate the structure of ACO IR after every pass", checks="structure"),
    "validatera": Switch("validate the result of register allocation", checks="registers"),
    "validate-livevars": Switch("compare live variables that passes keep up to date with live variables found anew", checks="liveness"),
    "validateopt": Switch("validate the structure of ACO IR after value numbering and the optimizer", checks="optimizer"),
    "novalidate": Switch("no validation by default: there is none here, so this changes nothing"),
    "force-waitcnt": Switch("every instruction waits for all memory operations", forces="insert_waitcnt"),
    "force-waitdeps": Switch("every instruction waits for all dependency counters, which chips have from GFX10 on", forces="insert_nops"),
    "novn": Switch("no value numbering", disables=("value_numbering",)),
    "noopt": Switch("no optimizer", disables=("optimize",)),
    "nosched": Switch("no scheduling: neither for latencies nor of pairs for dual issue",
                      disables=("schedule_program", "schedule_ilp", "schedule_vopd")),
    "nosched-ilp": Switch("no scheduling after register allocation but that of pairs for dual issue", disables=("schedule_ilp",)),
    "nosched-vopd": Switch("no pairs of instructions for dual issue", disables=("schedule_vopd",)),
    "perfinfo": Switch("keep the program with the cycles of each instruction", keeps="perfinfo"),
    "liveinfo": Switch("keep the program, after spilling, with the register demand of each instruction", keeps="liveinfo"),
}


class DebugSwitches(NamedTuple):
    """Switches that are on, as the pass manager takes them.

    Attributes
    ----------
    words : frozenset of str
    disabled : frozenset of str
        Passes to leave out.
    forced : frozenset of str
        Passes whose option ``force`` is on.
    checks, keeps : frozenset of str
        As those of `Switch`.
    prints : frozenset of str
        Of `keeps` what only the environment names: it is printed on standard error, as ACO does, since the caller does not know of it.
    """

    words: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()
    forced: frozenset[str] = frozenset()
    checks: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()
    prints: frozenset[str] = frozenset()

    @property
    def backend(self) -> Pipeline:
        """The passes over ACO IR and the assembler with these options."""
        return _backend(self.forced)

    @property
    def observes(self) -> bool:
        """Whether somebody looks on as passes run: then a finished shader from a cache will not do."""
        return bool(self.checks or self.keeps)

    @property
    def code_key(self) -> tuple[list[str], list[str]]:
        """What of all this decides the code, in one order."""
        return sorted(self.disabled), sorted(self.forced)


#: All off: one object, so that whoever asks need not look into it.
NO_SWITCHES = DebugSwitches()


@lru_cache(maxsize=8)
def _backend(forced: frozenset[str]) -> Pipeline:
    pipeline = compute.BACKEND
    for entry in (insert_waitcnt, insert_nops):
        if entry.name in forced:
            pipeline = pipeline.with_options(entry, force=True)
    return pipeline


def switches(given: str | tuple[str, ...] | list[str] = ()) -> DebugSwitches:
    """Return the switches that words and the environment name.

    Parameters
    ----------
    given : str or list of str
        Words, with commas or spaces between them.

    Raises
    ------
    InputError
        A word names no switch; the message lists those that there are.
    """
    if not given and not is_set(_VARIABLE_BYTES):
        return NO_SWITCHES
    return _switches(given if isinstance(given, str) else ",".join(given), os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=64)
def _switches(given: str, environment: str) -> DebugSwitches:
    named = _words(given, "debug")
    words = named | _words(environment, VARIABLE)
    rows = [SWITCHES[word] for word in words]
    keeps = frozenset(row.keeps for row in rows if row.keeps)
    return DebugSwitches(
        words, frozenset(name for row in rows for name in row.disables), frozenset(row.forces for row in rows if row.forces),
        frozenset(row.checks for row in rows if row.checks), keeps, keeps - {SWITCHES[word].keeps for word in named},
    )  # fmt: skip


def _words(text: str, origin: str) -> frozenset[str]:
    words = frozenset(text.replace(",", " ").split())
    if unknown := sorted(words - SWITCHES.keys()):
        raise InputError(f"{origin}: no switch is named {unknown[0]!r}; there are: {', '.join(SWITCHES)}")
    return words


class Observer:
    """Looks at the IR after each pass, as switches and explanations of pressure want it.

    Parameters
    ----------
    on : DebugSwitches
    pressure : bool
        Whether to find out where the demand for registers is highest.

    Attributes
    ----------
    texts : dict
        What switches keep, by name.
    pressure : list of Pressure
        Before spilling, where a program has to spill; and of the program that registers are allocated for.
    """

    def __init__(self, on: DebugSwitches, pressure: bool) -> None:
        self._on = on
        self._explains = pressure
        self.texts: dict[str, str] = {}
        self.pressure: list[Pressure] = []

    def __call__(self, name: str, ir: Any, seconds: float) -> None:
        """After a pass."""
        from pyaco._core.ir.program import Program

        if not isinstance(ir, Program):
            return
        self._check(name, ir)
        if name == "spill" and "liveinfo" in self._on.keeps:
            from pyaco.aco.annotate import live_text

            self.texts["liveinfo"] = live_text(ir)
        if self._explains:
            self._explain(name, ir)

    def _check(self, name: str, program: Program) -> None:
        if not self._on.checks:
            return
        from pyaco.aco import validate

        if "structure" in self._on.checks or ("optimizer" in self._on.checks and name in ("value_numbering", "optimize")):
            validate.validate_stage(program, name)
        if "registers" in self._on.checks and name == "register_allocation":
            validate.validate_registers(program, name)
        if "liveness" in self._on.checks and name in _LIVENESS:
            validate.validate_liveness(program, name)

    def _explain(self, name: str, program: Program) -> None:
        from pyaco._core.aco import build
        from pyaco.aco.pressure import explain_pressure

        if name == "live_variables" and build.summary(program)["num_waves"] == 0:
            self.pressure.append(explain_pressure(program, spilled=True))
        elif name in _LIVENESS:
            self.pressure = [each for each in self.pressure if each.spilled] + [explain_pressure(program)]

    def finish(self, program: Program) -> None:
        """After the last pass."""
        if "perfinfo" in self._on.keeps:
            from pyaco.aco.annotate import performance_text

            self.texts["perfinfo"] = performance_text(program)
