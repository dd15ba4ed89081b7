"""The backend passes in their order.

One list, :data:`PASSES`, from the CFG check behind instruction selection to the hard clauses before the assembler; the order
is ACO's.
Users may put passes of their own between the built-in ones with :func:`register_pass`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pyaco.arguments import checked
from pyaco.errors import InputError

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["PASSES", "Options", "Pass", "pass_names", "register_pass", "registered", "run_passes", "unregister_pass"]

Hook = Callable[[str, "Program"], Any]


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


@dataclass(frozen=True)
class Pass:
    """One pass: a kernel module with ``run(program, options)`` and when it runs."""

    name: str
    module: str
    wanted: Callable[[int, Options], bool] = field(default=lambda gfx, options: True)
    required: bool = True

    def run(self, program: Program, options: Options) -> None:
        """Run the kernel."""
        importlib.import_module(self.module).run(program, options)


def _kernel(name: str, since: int = 0, optional: bool = False) -> Pass:
    def wanted(gfx: int, options: Options) -> bool:
        return gfx >= since and not (optional and (not options.optimize or name in options.disabled))

    return Pass(name, f"pyaco._core.aco.{name}", wanted, required=not optional)


#: The passes, in order.
PASSES: tuple[Pass, ...] = (
    _kernel("dominance"),
    _kernel("lower_phis"),
    _kernel("value_numbering", optional=True),
    _kernel("optimize", optional=True),
    _kernel("setup_reduce_temp"),
    _kernel("insert_exec_mask"),
    _kernel("live_variables"),
    _kernel("spill"),
    _kernel("register_allocation"),
    _kernel("ssa_elimination"),
    _kernel("lower_to_hw_instr"),
    _kernel("schedule_vopd", since=110, optional=True),
    _kernel("insert_waitcnt"),
    _kernel("insert_nops"),
    _kernel("form_hard_clauses", since=100, optional=True),
    # Behind everything that inserts instructions: it counts them.
    _kernel("insert_delay_alu", since=110, optional=True),
)


@dataclass(frozen=True)
class _UserPass:
    name: str
    after: str
    function: Callable[[Program], Any]


_user_passes: list[_UserPass] = []


def pass_names() -> list[str]:
    """Return the names of the built-in passes, in order."""
    return [entry.name for entry in PASSES]


@checked
def register_pass(after: str, function: Callable[[Program], Any], name: str | None = None) -> str:
    """Run `function` on every program that is compiled from now on, behind the built-in pass `after`.

    The function reads columns such as ``program.instructions.opcode`` as NumPy arrays; inside ``with program.edit():``
    they are writable, and may be handed to a numba kernel. Several functions behind one pass run in the order
    of their registration.

    Parameters
    ----------
    after : str
        A name of :func:`pass_names`, or ``"instruction_selection"`` to run before all of them.
    function : callable
        Takes the program; its result is ignored.
    name : str, optional
        Name in timings and dumps; by default that of the function.

    Returns
    -------
    str
        The name, for :func:`unregister_pass`.
    """
    if after != "instruction_selection" and after not in pass_names():
        raise InputError(f"no backend pass is named {after!r}; there are: {', '.join(pass_names())}")
    chosen = name or str(getattr(function, "__name__", "user pass"))
    if chosen in pass_names() or any(entry.name == chosen for entry in _user_passes):
        raise InputError(f"a pass named {chosen!r} exists already")
    _user_passes.append(_UserPass(chosen, after, function))
    return chosen


@checked
def unregister_pass(name: str) -> None:
    """Take a user's pass out again.

    Parameters
    ----------
    name : str
        What `register_pass` returned.
    """
    for entry in _user_passes:
        if entry.name == name:
            _user_passes.remove(entry)
            return
    raise InputError(f"no user's pass is named {name!r}")


@checked
@contextmanager
def registered(after: str, function: Callable[[Program], Any], name: str | None = None) -> Iterator[str]:
    """Register a pass for the length of a ``with`` block.

    Parameters
    ----------
    after, function, name
        As `register_pass` takes them.

    Returns
    -------
    context manager
        Of the pass's name.
    """
    chosen = register_pass(after, function, name)
    try:
        yield chosen
    finally:
        unregister_pass(chosen)


def _steps(gfx: int, options: Options) -> Iterator[tuple[str, Callable[[Program], Any]]]:
    """The passes to run, the users' among them."""
    users = tuple(_user_passes)
    for entry in users:
        if entry.after == "instruction_selection":
            yield entry.name, entry.function
    for step in PASSES:
        if step.wanted(gfx, options):
            yield step.name, partial(step.run, options=options)
        for entry in users:
            if entry.after == step.name:
                yield entry.name, entry.function


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
    from pyaco.aco import statistics, validate

    options = options or Options()
    known = pass_names()
    for name in (*options.disabled, *([options.stop_after] if options.stop_after else [])):
        if name not in known and all(entry.name != name for entry in _user_passes):
            raise InputError(f"no backend pass is named {name!r}; there are: {', '.join(known)}")
    for step in PASSES:
        if step.required and step.name in options.disabled:
            raise InputError(f"the pass {step.name!r} cannot be left out: code would be wrong without it")
    times: dict[str, float] = {}
    if options.validate:
        validate.validate_program(program, "instruction_selection")
    for name, function in _steps(program.gfx_level, options):
        start = time.perf_counter()
        function(program)
        times[name] = (time.perf_counter() - start) * 1e3
        if options.statistics is not None and name == "live_variables":
            options.statistics.update(statistics.before_allocation(program))
        if options.validate:
            validate.validate_program(program, name)
        if on_pass is not None:
            on_pass(name, program)
        if name == options.stop_after:
            break
    return times
