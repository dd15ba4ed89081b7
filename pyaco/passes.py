"""Passes: what one is, in what order pipelines run them, and the one runner for NIR and for ACO IR.

A :class:`Pass` is a frozen record of a kernel: its options with their defaults, what it needs and guarantees, and where it applies. A
pipeline (``pyaco.pipelines``) is a list of passes, of passes with options (``vars_to_ssa(indirect_limit=16)``) and of groups of these. A
:class:`Run` takes one shader through pipelines: it times every pass and, where asked to, validates and keeps the text of the IR
after it, and stops behind a pass. Passes of users stand in :class:`UserPasses`, one object for each IR.

All kernels have one signature, ``run(ir, options) -> bool``: False promises that nothing has changed, which ends groups that repeat.

After xDSL's ``ModulePass`` (options are fields of a frozen record) and the visible lists of QBE and ACO.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from pyaco._core.ir.pass_runner import NativeKernel, PassLog, Plan, PreparedStep, run_steps, run_through
from pyaco._core.ir.shader_facts import mask_of
from pyaco.arguments import checked
from pyaco.errors import InputError

if TYPE_CHECKING:
    from pyaco._core.ir.compilation import Reading, Target
    from pyaco._core.ir.program import Program
    from pyaco._core.ir.shader import Shader

__all__ = ["Group", "IntermediateRepresentation", "Option", "Pass", "PassRecord", "Pipeline", "Run", "Step", "Stopped", "UserPasses", "part",
           "repeat", "unmet_needs"]  # fmt: skip

Kernel = Callable[[Any, Mapping[str, Any]], Any]


class Option(NamedTuple):
    """An option of a pass; its type is that of its default: bool, int or str."""

    name: str
    default: bool | int | str
    meaning: str

    def value(self, given: object) -> bool | int | str:
        """The value that text, or a value of the option's type, stands for.

        Raises
        ------
        ValueError
            It is no value of this option.
        """
        kind = type(self.default)
        if type(given) is kind:
            return given
        if isinstance(given, str) and kind is bool and given in ("true", "false"):
            return given == "true"
        if isinstance(given, str) and kind is int:
            with suppress(ValueError):
                return int(given, 0)
        raise ValueError(f"{self.name} takes {kind.__name__}, not {given!r}")


@dataclass(frozen=True, eq=False)
class Pass:
    """A pass over an IR.

    Attributes
    ----------
    name : str
        Name on command lines, in timings and dumps.
    ir : str
        ``nir`` or ``aco``.
    summary : str
        What it does, in one line.
    module : str
        Kernel module with ``run(ir, options)``.
    needs, guarantees, breaks : tuple of str
        Properties of the IR (``pyaco.pipelines.properties``) that must hold before, that hold afterwards, and that may no longer hold.
    options : tuple of Option
    stages : tuple of str
        Shader stages that it applies to; empty: all.
    since : int
        First gfx level that it applies to.
    required : bool
        False: an optimisation, which may be left out.
    only_with : tuple of str
        Things that a shader may have (``FACTS`` of ``_core/ir/shader_facts.pyx``): without any of these the pass changes nothing, and is not run;
        empty: it always runs.
    effect : str
        What its changes are (``EFFECTS`` of ``_core/ir/pass_runner.pyx``): ``"dead code"``: instructions that nothing needs go; ``"equal values"``:
        reads of a value become reads of an equal one that was there before, and the value goes; ``"moved"``: instructions move, or are made
        again where they are read from then on; ``"copies"``: reads of a copy become reads of what it is a copy of; ``"constants"``:
        instructions become constants; ``"any"``.
    indifferent_to : tuple of str
        Changes of other passes, of these kinds, that give it no work.
    settles : bool
        A second run right behind the first would change nothing.
    analysis : bool
        It only finds out facts and changes nothing; ``pyaco opt`` runs it by itself where another pass needs it.
    """

    name: str
    ir: str
    summary: str
    module: str
    needs: tuple[str, ...] = ()
    guarantees: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    stages: tuple[str, ...] = ()
    since: int = 0
    required: bool = True
    only_with: tuple[str, ...] = ()
    effect: str = "any"
    indifferent_to: tuple[str, ...] = ()
    settles: bool = False
    analysis: bool = False

    def __call__(self, **options: bool | int | str) -> Step:
        """The pass with values for its options."""
        return Step(self, self.values(options), options)

    @checked
    def values(self, given: Mapping[str, object]) -> dict[str, Any]:
        """All options with their values: those given, else the defaults.

        Raises
        ------
        InputError
            An option that the pass does not have, or a value of another type.
        """
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise InputError(f"the pass {self.name!r} has no option {name!r}; it has: {', '.join(known) or 'none'}")
        try:
            return {name: option.value(given[name]) if name in given else option.default for name, option in known.items()}
        except ValueError as error:
            raise InputError(f"the pass {self.name!r}: {error}") from None

    def applies(self, level: int, stage: str) -> bool:
        """Whether it runs at this gfx level, in this stage."""
        return level >= self.since and (not self.stages or stage in self.stages)

    def kernel(self) -> Kernel:
        """The function that does the work."""
        function: Kernel = importlib.import_module(self.module).run
        return function

    def native_kernel(self, options: Mapping[str, Any], level: int) -> NativeKernel | None:
        """The same with these options, without the interpreter; None where it needs that."""
        return self._bound("kernel", options, level)

    def kernel_in_compilation(self, options: Mapping[str, Any], level: int) -> NativeKernel | None:
        """The same where the interpreter is needed but in a compilation that nobody looks at (``_core/ir/compilation.pxd``)."""
        return self._bound("compilation_kernel", options, level)

    def _bound(self, name: str, options: Mapping[str, Any], level: int) -> NativeKernel | None:
        kernel: NativeKernel | None = getattr(importlib.import_module(self.module), name, None)
        return None if kernel is None else kernel.bound(options, level)

    @checked
    def run(self, ir: Shader | Program, options: Mapping[str, object] | None = None) -> bool:
        """Run it alone, on IR that has what the pass needs; False promises that nothing has changed."""
        if ir is None:  # a kernel's argument of an extension type takes None
            raise InputError(f"the pass {self.name!r} takes {'a Shader' if self.ir == 'nir' else 'a Program'}, not None")
        return bool(self.kernel()(ir, self.values(options or {})))


@dataclass(frozen=True, eq=False)
class Step:
    """A pass in a pipeline, with values for all its options, those that were given, and perhaps a name of its own in timings and dumps."""

    entry: Pass
    options: dict[str, Any]
    given: Mapping[str, Any]
    label: str = ""

    @property
    def name(self) -> str:
        """Name in timings and dumps."""
        return self.label or self.entry.name

    def named(self, label: str) -> Step:
        """The same under another name."""
        return Step(self.entry, self.options, self.given, label)

    def __str__(self) -> str:
        given = ",".join(f"{name}={_spelled(value)}" for name, value in self.given.items())
        return self.entry.name + (f"{{{given}}}" if given else "")


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, eq=False)
class Group:
    """Passes under one name; `repeats` until a round changes nothing."""

    name: str
    members: tuple[Pass | Step | Group, ...]
    repeats: bool = False


def part(name: str, *members: Pass | Step | Group) -> Group:
    """Passes that run once, in order."""
    return Group(name, members)


def repeat(name: str, *members: Pass | Step | Group) -> Group:
    """Passes that run in order, again and again until a round changes nothing."""
    return Group(name, members, repeats=True)


@dataclass(frozen=True, eq=False)
class Pipeline:
    """The passes over one IR for one stage, in order; `given` are the properties (``needs``) of the IR that comes in."""

    ir: str
    stage: str
    members: tuple[Pass | Step | Group, ...]
    given: tuple[str, ...] = ()
    prepared: dict[Any, Plan] = field(default_factory=dict, repr=False)
    derived: WeakSet[Pipeline] = field(default_factory=WeakSet, repr=False)     # the same with other options

    def steps(self) -> Iterator[Step]:
        """Every step once, in order, out of its groups."""
        return _steps(self.members)

    def passes(self) -> tuple[Pass, ...]:
        """The passes, each where it first stands."""
        return tuple(dict.fromkeys(step.entry for step in self.steps()))

    def names(self) -> list[str]:
        """What a user's pass may stand behind: passes, steps with a name of their own, groups."""
        return list(dict.fromkeys(_names(self.members)))

    @checked
    def with_options(self, entry: Pass, **options: bool | int | str) -> Pipeline:
        """The same, with other values in those steps of `entry` that say values of these options themselves."""

        def changed(member: Pass | Step | Group) -> Pass | Step | Group:
            if isinstance(member, Group):
                return Group(member.name, tuple(changed(inner) for inner in member.members), member.repeats)
            if not isinstance(member, Step) or member.entry is not entry or not member.given.keys() & options.keys():
                return member
            return Step(entry, entry.values({**member.given, **options}), {**member.given, **options}, member.label)

        made = Pipeline(self.ir, self.stage, tuple(changed(member) for member in self.members), self.given)
        self.derived.add(made)
        return made

    def followed_by(self, other: Pipeline) -> Pipeline:
        """The passes of this one and then those of another one over the same IR."""
        made = Pipeline(self.ir, self.stage, self.members + other.members, self.given)
        self.derived.add(made)
        return made

    def forget_plans(self) -> None:
        """Users' passes have changed: what is prepared, here and with other options, is out of date."""
        self.prepared.clear()
        for pipeline in list(self.derived):
            pipeline.forget_plans()

    def describe(self, indent: str = "") -> str:
        """The list as text: a line a step, groups indented."""
        return "\n".join(_lines(self.members, indent))


def _step(member: Pass | Step) -> Step:
    return member if isinstance(member, Step) else member()


def _steps(members: Sequence[Pass | Step | Group]) -> Iterator[Step]:
    for member in members:
        if isinstance(member, Group):
            yield from _steps(member.members)
        else:
            yield _step(member)


def _names(members: Sequence[Pass | Step | Group]) -> Iterator[str]:
    for member in members:
        if isinstance(member, Group):
            yield from _names(member.members)
        yield _step(member).name if not isinstance(member, Group) else member.name


def _lines(members: Sequence[Pass | Step | Group], indent: str) -> Iterator[str]:
    for member in members:
        if isinstance(member, Group):
            yield f"{indent}{member.name}:" + (" until nothing changes" if member.repeats else "")
            yield from _lines(member.members, indent + "  ")
        else:
            step = _step(member)
            yield f"{indent}{step}" + (f" (as {step.label})" if step.label else "")


def unmet_needs(pipeline: Pipeline) -> list[str]:
    """Say for which passes of a pipeline something may not hold that they need: an empty list where the order is right.

    Parameters
    ----------
    pipeline : Pipeline
    """
    holding = set(pipeline.given)
    found = []
    for step in pipeline.steps():
        missing = [need for need in step.entry.needs if need not in holding]
        if missing:
            found.append(f"{step} needs {', '.join(missing)}")
        holding = (holding - set(step.entry.breaks)) | set(step.entry.guarantees)
    return found


# ------------------------------------------------------------------------------------------------------------ passes of users
class _UserPass(NamedTuple):
    name: str
    after: str
    function: Callable[[Any], Any]


@checked
class UserPasses:
    """The passes that users put between the built-in ones of one IR.

    Parameters
    ----------
    kind : str
        What error messages call a pass of this IR.
    pipeline : Pipeline
        Whose passes they may stand behind.
    first : str
        The name that stands for the place before all passes.
    """

    def __init__(self, kind: str, pipeline: Pipeline, first: str) -> None:
        self._kind = kind
        self._pipeline = pipeline
        self._first = first
        self._entries: list[_UserPass] = []

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._entries)

    def register_pass(self, after: str, function: Callable[[Any], Any], name: str | None = None) -> str:
        """Run `function` on every shader that is compiled from now on, behind the built-in pass `after`.

        The function reads columns such as ``program.instructions.opcode`` as NumPy arrays; inside ``with program.edit():``
        they are writable, and may be handed to a numba kernel. Behind a pass that runs several times, it runs as often; behind a group of
        passes, once. Several functions behind one pass run in the order of their registration.

        Parameters
        ----------
        after : str
            A name of ``pass_names()``, or the name of what makes the IR (``"instruction_selection"`` for ACO IR, ``"read"`` for NIR) to run
            before all of them.
        function : callable
            Takes the program or shader. In a group that repeats, True says that it changed something.
        name : str, optional
            Name in timings and dumps; by default that of the function.

        Returns
        -------
        str
            The name, for ``unregister_pass``.

        Raises
        ------
        InputError
            No pass is named `after`, `function` cannot be called, or `name` is taken or not a string.
        """
        known = self._pipeline.names()
        if after != self._first and after not in known:
            raise InputError(f"no {self._kind} pass is named {after!r}; there are: {', '.join(known)}")
        if not callable(function) or not isinstance(name, str | None):
            raise InputError(f"a pass is a function and has a name or none, not {function!r:.60} and {name!r:.60}")
        chosen = name or str(getattr(function, "__name__", "user pass"))
        if chosen in known or any(entry.name == chosen for entry in self._entries):
            raise InputError(f"a pass named {chosen!r} exists already")
        self._entries.append(_UserPass(chosen, after, function))
        self._pipeline.forget_plans()
        return chosen

    def unregister_pass(self, name: str) -> None:
        """Take a user's pass out again.

        Parameters
        ----------
        name : str
            What ``register_pass`` returned.
        """
        for entry in self._entries:
            if entry.name == name:
                self._entries.remove(entry)
                self._pipeline.forget_plans()
                return
        raise InputError(f"no user's pass is named {name!r}")

    @contextmanager
    def registered(self, after: str, function: Callable[[Any], Any], name: str | None = None) -> Iterator[str]:
        """Register a pass for the length of a ``with`` block.

        Parameters
        ----------
        after, function, name
            As ``register_pass`` takes them.

        Returns
        -------
        context manager
            Of the pass's name.
        """
        chosen = self.register_pass(after, function, name)
        try:
            yield chosen
        finally:
            self.unregister_pass(chosen)

    def pass_names(self) -> list[str]:
        """Return the names of the built-in passes, in order."""
        return [entry.name for entry in self._pipeline.passes()]

    def names(self) -> list[str]:
        """The names of the users' passes."""
        return [entry.name for entry in self._entries]

    def behind(self, names: Sequence[str]) -> list[PreparedStep]:
        """What runs behind a step or group of one of these names."""
        return [PreparedStep((self._pipeline.ir, entry.name), entry.function, None, -1) for entry in self._entries if entry.after in names]

    def before_all(self) -> list[PreparedStep]:
        """What runs before the first pass."""
        return self.behind([self._first])


# --------------------------------------------------------------------------------------------------------------------- running
class PassRecord(NamedTuple):
    """One pass that ran: its room (``spirv``, ``nir``, ``aco``), its name, and how long it took."""

    room: str
    name: str
    milliseconds: float


class Stopped(Exception):
    """Ends a run behind the pass that it is to stop after."""


class IntermediateRepresentation(NamedTuple):
    """What a run has to know of an IR: its text, its validator (of the IR after the pass that is named), and its users' passes."""

    name: str
    text: Callable[[Any], str]
    validate: Callable[[Any, str], None]
    users: UserPasses


class _Choice(NamedTuple):
    """Which passes run; what a pipeline has prepared is kept by it."""

    level: int
    optimize: bool
    disabled: frozenset[str]

    def wants(self, pipeline: Pipeline, step: Step) -> bool:
        entry = step.entry
        if not entry.applies(self.level, pipeline.stage):
            return False
        return entry.required or (self.optimize and self.disabled.isdisjoint((step.name, entry.name, f"{entry.ir}.{step.name}")))


def _prepare(pipeline: Pipeline, choice: _Choice, users: UserPasses) -> Plan:
    """The steps of a pipeline, ready to run; made once for each choice."""
    slots: dict[Any, int] = {}
    # What an analysis writes is no change of the IR: a pass that reads it is never left out.
    analyses = {fact for step in pipeline.steps() if step.entry.analysis for fact in step.entry.guarantees}

    def ready(members: Sequence[Pass | Step | Group]) -> Iterator[PreparedStep]:
        for member in members:
            if isinstance(member, Group):
                inner = tuple(ready(member.members))
                if member.repeats:
                    yield PreparedStep((pipeline.ir, member.name), None, {}, -1, inner)
                else:
                    yield from inner
                yield from users.behind([member.name])
                continue
            step = _step(member)
            if choice.wants(pipeline, step):
                same = slots.setdefault((step.entry, tuple(step.options.items())), len(slots))
                slot = same if analyses.isdisjoint(step.entry.needs) else -1
                yield PreparedStep((pipeline.ir, step.name), step.entry.kernel(), step.options, slot,
                                   native=step.entry.native_kernel(step.options, choice.level), only_with=mask_of(step.entry.only_with),
                                   effect=step.entry.effect, indifferent_to=step.entry.indifferent_to, settles=step.entry.settles,
                                   in_compilation=step.entry.kernel_in_compilation(step.options, choice.level))
            yield from users.behind([step.name])

    return Plan((*users.before_all(), *ready(pipeline.members)))


class Run:
    """One shader's way through pipelines.

    Parameters
    ----------
    validate : bool
        Validate the IR after every pass.
    dump_after : collection of str
        Passes after which the text of the IR is kept, by name or as ``nir.dce``; ``"all"``: after each.
    stop_after : str, optional
        Pass after which to stop, by raising :class:`Stopped`.
    optimize : bool
        Off: only the passes that correct code needs.
    disabled : collection of str
        Optimisations to leave out.
    on_pass : callable, optional
        Called with the name of each pass, the IR after it ran, and the seconds it took.
    """

    # of a run that nobody asks anything of: made without setting them
    validates = False
    _dump_after: frozenset[str] = frozenset()
    _stop_after: str | None = None
    _on_pass: Callable[[str, Any, float], Any] | None = None
    _watched = False
    _optimize = True
    _disabled: frozenset[str] = frozenset()

    def __init__(
        self, *, validate: bool = False, dump_after: Sequence[str] | frozenset[str] = (), stop_after: str | None = None,
        optimize: bool = True, disabled: Sequence[str] | frozenset[str] = (), on_pass: Callable[[str, Any, float], Any] | None = None,
    ) -> None:
        self._log = PassLog()
        self.dumps: dict[str, str] = {}
        if validate or dump_after or stop_after or on_pass or disabled or not optimize:
            self._ask(validate, frozenset(dump_after), stop_after, optimize, frozenset(disabled), on_pass)

    def _ask(
        self, validate: bool, dump_after: frozenset[str], stop_after: str | None, optimize: bool, disabled: frozenset[str],
        on_pass: Callable[[str, Any, float], Any] | None,
    ) -> None:
        self.validates = validate
        self._dump_after = dump_after
        self._stop_after = stop_after
        self._on_pass = on_pass
        self._watched = bool(validate or dump_after or stop_after or on_pass)
        self._optimize = optimize
        self._disabled = disabled

    @property
    def records(self) -> list[PassRecord]:
        """What has run, in order."""
        return [PassRecord(*row) for row in self._log.rows()]

    def run(self, representation: IntermediateRepresentation, pipeline: Pipeline, ir: Any, level: int) -> bool:
        """Run the passes of a pipeline that apply to a gfx level; False promises that nothing has changed.

        Raises
        ------
        Stopped
            The pass to stop after has run.
        """
        plan = self._plan(representation, pipeline, level)
        if not self._watched:
            return run_steps(plan, ir, self._log)
        return run_steps(plan, ir, self._log, lambda room, name, ir, seconds: self._inspect(representation, room, name, ir, seconds))

    def _plan(self, representation: IntermediateRepresentation, pipeline: Pipeline, level: int) -> Plan:
        plan = pipeline.prepared.get((level, self._optimize, self._disabled))      # equal to a _Choice, and made without a call
        if plan is None:
            choice = _Choice(level, self._optimize, self._disabled)
            plan = pipeline.prepared[choice] = _prepare(pipeline, choice, representation.users)
        return plan

    @property
    def watched(self) -> bool:
        """Whether something looks at the IR between passes."""
        return self._watched

    def run_through(
        self, reading: Reading | None, first: tuple[IntermediateRepresentation, Pipeline, Shader], target: Target, translate: NativeKernel,
        second: tuple[IntermediateRepresentation, Pipeline, Program], level: int,
    ) -> None:
        """Run pipelines over a shader and over the program that `translate` makes of it, in one go, which frees the shader's tables.

        Only for a run that is not watched, without users' passes. With several threads, each return to the interpreter is a place where one
        waits for another. `reading` makes the shader, where that is to be done.
        """
        run_through(reading, first[2], target, self._plan(first[0], first[1], level), translate, self._plan(second[0], second[1], level),
                    second[2], self._log)  # fmt: skip

    def note(self, representation: IntermediateRepresentation, room: str, name: str, ir: Any) -> None:
        """Record what is no pass over one IR, such as reading or instruction selection, just after it ran."""
        self._log.note(room, name)
        if self._watched:
            self._inspect(representation, room, name, ir, self._log.last_seconds)
            self._log.start()

    def _inspect(self, representation: IntermediateRepresentation, room: str, name: str, ir: Any, seconds: float) -> None:
        full = f"{room}.{name}"
        if self.validates:
            representation.validate(ir, name)
        if self._on_pass is not None:
            self._on_pass(name, ir, seconds)
        stops = self._stop_after in (name, full)
        if stops or not self._dump_after.isdisjoint(("all", name, full)):
            self.dumps[full] = representation.text(ir)
        if stops:
            raise Stopped

    def check_names(self) -> None:
        """Complain about a pass that was to be watched and never ran.

        Raises
        ------
        InputError
        """
        wanted = self._dump_after - {"all"} | ({self._stop_after} if self._stop_after else set())
        if not wanted:
            return
        seen = {name for record in self.records for name in (record.name, f"{record.room}.{record.name}")}
        if unknown := wanted - seen:
            raise InputError(f"no such pass: {', '.join(sorted(unknown))}; see `pyaco compile --print-passes`")

    def check_disabled(self, *pipelines: Pipeline) -> None:
        """Complain about a pass that cannot be left out, or that there is none of.

        Raises
        ------
        InputError
        """
        if not self._disabled:
            return
        steps = [step for pipeline in pipelines for step in pipeline.steps()]
        for name in sorted(self._disabled):
            named = [step.entry for step in steps if name in (step.name, step.entry.name, f"{step.entry.ir}.{step.name}")]
            if not named:
                known = dict.fromkeys(step.name for step in steps if not step.entry.required)
                raise InputError(f"no pass is named {name!r}; those that can be left out: {', '.join(known)}")
            if any(entry.required for entry in named):
                raise InputError(f"the pass {name!r} cannot be left out: code would be wrong without it")
