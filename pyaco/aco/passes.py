"""The passes over ACO IR for callers: run them all on a program, put passes of one's own between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.passes import IntermediateRepresentation, Pass, Run, Stopped, UserPasses
from pyaco.pipelines import compute

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["ACO", "PASSES", "Options", "Pass", "pass_names", "register_pass", "registered", "run_passes", "unregister_pass"]

Hook = Callable[[str, "Program"], Any]

#: The passes, in order: from the dominators of what instruction selection made to the hints before the assembler.
PASSES: tuple[Pass, ...] = compute.ACO.passes()


@dataclass
class Options:
    """What may be asked of the backend.

    Attributes
    ----------
    optimize : bool
        Off: only the passes that correct code needs.
    disabled : frozenset of str
        Passes to leave out, by name; only optimizations can be left out.
    validate : bool
        Check the structure after every pass, and register allocation by an independent method.
    stop_after : str, optional
        Name of the last pass to run.
    statistics : dict, optional
        Filled with counts as they are before registers are allocated.
    """

    optimize: bool = True
    disabled: frozenset[str] = frozenset()
    validate: bool = False
    stop_after: str | None = None
    statistics: dict[str, int] | None = None


def _text(program: Program) -> str:
    from pyaco.aco.text import format_program

    return format_program(program)


def _validate(program: Program, after: str) -> None:
    from pyaco.aco.validate import validate_program

    validate_program(program, after)


_users = UserPasses("backend", compute.ACO, first="instruction_selection")
register_pass = _users.register_pass
unregister_pass = _users.unregister_pass
registered = _users.registered
pass_names = _users.pass_names

#: What a run has to know of ACO IR.
ACO = IntermediateRepresentation("aco", _text, _validate, _users)


@checked
def run_passes(program: Program, options: Options | None = None, on_pass: Hook | None = None) -> dict[str, float]:
    """Run the backend on the result of instruction selection.

    Parameters
    ----------
    program : Program
        Changed in place.
    options : Options, optional
    on_pass : callable, optional
        Called with the name of each pass and the program after it ran.

    Returns
    -------
    dict
        Milliseconds by pass, in the order in which they ran.
    """
    options = options or Options()
    known = pass_names()
    if options.stop_after is not None and options.stop_after not in (*known, *_users.names()):
        raise InputError(f"no backend pass is named {options.stop_after!r}; there are: {', '.join(known)}")

    def observe(name: str, ir: Program, seconds: float) -> None:
        if options.statistics is not None and name == "live_variables":
            from pyaco.aco.statistics import before_allocation

            options.statistics.update(before_allocation(ir))
        if on_pass is not None:
            on_pass(name, ir)

    steps = Run(validate=options.validate, stop_after=options.stop_after, optimize=options.optimize, disabled=options.disabled,
                on_pass=observe if on_pass is not None or options.statistics is not None else None)  # fmt: skip
    steps.check_disabled(compute.ACO)
    if options.validate:
        _validate(program, "instruction_selection")
    with suppress(Stopped):
        steps.run(ACO, compute.ACO, program, program.gfx_level)
    return {record.name: record.milliseconds for record in steps.records}
