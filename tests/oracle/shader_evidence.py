"""What shows that a dispatch's result is not defined, so that two implementations may differ: other orders, waves, contents of memory; and checks.

Nothing here is inferred from what a shader looks like: each reason is a second run of ours that gives another result, or a report of the emulator.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from equivalent_modules import Initialized, Renumbered, without_contraction
from shader_differences import Tolerance, differences, faults, instructions, moved_texels, opcodes
from shader_inputs import GeneratedInputs
from shader_runs import Groups, Racing, Reordered, Rounded, Undefined, Written, access_fault, run_interpreted, run_ours, run_peer
from spirv_reflection import Module, reflect
from vulkan_peer import PeerError

import pyaco

GUARD_BYTES, EVIDENCE_SECONDS, ROUNDINGS = 4096, 300.0, 12
OP_CONTROL_BARRIER, OP_MEMORY_BARRIER = 224, 225
#: Capabilities of instructions that see other invocations of a subgroup: GroupNonUniform*, SubgroupBallotKHR, SubgroupVoteKHR, derivative groups.
SUBGROUPS = {*range(61, 69), 4423, 4431, 5288, 5297, 5350, 6026}
PEER_LANES = 8
#: Where an atomic has its memory semantics, by opcode: OpAtomicLoad to OpAtomicXor, OpAtomicFlagTestAndSet, -FlagClear, -FMinEXT, -FMaxEXT, -FAddEXT.
SEMANTICS = {opcode: (5,) for opcode in (227, 229, *range(232, 243), 318, 5614, 5615, 6035)} | {228: (3,), 230: (5, 6), 231: (5, 6), 319: (3,)}
#: Acquire, Release, AcquireRelease, SequentiallyConsistent.
ORDERS = 0x1E
DECORATE_NON_UNIFORM = 5300


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError in what takes more of the processor's time; in a process's main thread."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def asks_for_order(module: bytes) -> bool:
    """Whether a module orders what one invocation does to memory before what another does: by a barrier, or an atomic that is not relaxed."""
    constants = Module(module).constants
    for words in instructions(module):
        opcode = words[0] & 0xFFFF
        if opcode in (OP_CONTROL_BARRIER, OP_MEMORY_BARRIER) or any(constants[words[at]][0] & ORDERS for at in SEMANTICS.get(opcode, ())):
            return True
    return False


class Judgement:
    """One dispatch on one target that differs from lavapipe.

    Parameters
    ----------
    module, entry, inputs, groups
        The dispatch.
    shader : pyaco.CompiledShader
    ours, theirs : mapping
        What it wrote on the emulator and on lavapipe.
    interpreted : dict
        What the NIR interpreter made of the dispatch, by how it was asked: the same on every target.
    """

    def __init__(self, module: bytes, entry: str, inputs: GeneratedInputs, groups: Groups, shader: Any, ours: Written, theirs: Written,
                 interpreted: dict[Any, Any]) -> None:  # fmt: skip
        self.interpreted = interpreted
        self.module, self.entry, self.inputs, self.groups = module, entry, inputs, groups
        self.shader, self.ours, self.theirs = shader, ours, theirs
        self.has_subgroups = bool(SUBGROUPS & set(reflect(module).capabilities))
        self.tolerance = Tolerance.of(module, inputs)

    def reason(self) -> str:
        """The first thing that shows that the result is not defined, or nothing; what takes too long, or cannot be run, shows nothing."""
        reference = run_ours(self.shader, self.inputs, self.groups, "reference")
        if self._differs(reference):
            raise AssertionError("the reference engine and the fast one do not agree")
        steps = [self._checks, self._other_runs, self._renumbered, self._contraction, self._initialized, self._fault, *self._interpretations(),
                 self._subgroups, self._rounding]  # fmt: skip
        for step in (*steps, *self._turns()):
            try:
                with limited(EVIDENCE_SECONDS):
                    found = next(iter(step()), "")
            except (TimeoutError, PeerError, pyaco.InputError, pyaco.UnsupportedError):
                continue
            if found:
                return found
        return ""

    def _other_runs(self) -> Iterator[str]:
        for what, other in (("with other memory behind the buffers", self._guarded), ("in waves of another size", self._other_wave)):
            try:
                if self._differs(other()):
                    yield f"another result {what}"
            except (pyaco.emu.EmulationError, pyaco.UnsupportedError):
                continue

    def _checks(self) -> Iterator[str]:
        for name in ("memory", "races", "uninitialized"):
            try:
                run_ours(self.shader, self.inputs, self.groups, check=name)
            except pyaco.emu.EmulationError as error:
                yield f"the check {name}: {str(error).splitlines()[0][:160]}"
            except (pyaco.InputError, pyaco.UnsupportedError):
                continue

    def _differs(self, other: Written) -> bool:
        return any(not np.array_equal(self.ours[key], other[key]) for key in other)

    def _guarded(self) -> Written:
        return run_ours(self.shader, self.inputs, self.groups, guard=GUARD_BYTES)

    def _other_wave(self) -> Written:
        if self.shader.target == "gfx900":
            return {}
        return run_ours(pyaco.compile(self.module, target=self.shader.target, entry=self.entry, wave=96 - self.shader.wave), self.inputs, self.groups)

    def _contraction(self) -> Iterator[str]:
        """Whether each word that differs is another on lavapipe, or on ours, where no arithmetic may be fused or rearranged."""
        if self._explained_by(without_contraction(self.module)):
            yield "every word that differs is another with NoContraction on all arithmetic"

    def _initialized(self) -> Iterator[str]:
        if self.differs_initialized():
            yield "every word that differs is another where variables begin with other values"

    def differs_initialized(self) -> bool:
        """Whether all that differs goes back to variables that are read before they are written."""
        return self._explained_by(Initialized(self.module).spirv())

    def _renumbered(self) -> Iterator[str]:
        """Whether each word that differs is another, on lavapipe or on ours, where the last invocation does what the first did."""
        if self.has_subgroups:
            return
        try:
            module = Renumbered(self.module, pyaco.spirv.reflect(self.module, self.entry)["workgroup_size"], self.groups).spirv()
        except ValueError:
            return
        if self._explained_by(module):
            yield "every word that differs is another where the invocations are numbered the other way round"

    def _explained_by(self, other: bytes) -> bool:
        """Whether something differs, and each word of it is another, on lavapipe or on ours, in a module that may mean the same."""
        theirs, again = (run_peer(each, self.entry, self.inputs, self.groups) for each in (other, self.module))
        ours = run_ours(pyaco.compile(other, target=self.shader.target, entry=self.entry, wave=self.shader.wave), self.inputs, self.groups)
        moved = [faults(*pair, self.inputs, self.tolerance) for pair in ((again, theirs), (self.ours, ours))]
        wrong = faults(self.theirs, self.ours, self.inputs, self.tolerance)
        return bool(wrong) and all(np.isin(bad // 4, np.concatenate([each[key] // 4 for each in moved if key in each] or [bad[:0]])).all()
                                   for key, bad in wrong.items())

    def _fault(self) -> Iterator[str]:
        words = np.frombuffer(self.module[: len(self.module) // 4 * 4], np.uint32)
        fault = access_fault(self.module, self.entry, self.inputs, self.groups, self.shader.wave)
        if fault and not ("differs" in fault and (words == DECORATE_NON_UNIFORM).any()):
            yield fault

    def _interpretations(self) -> list[Callable[[], Iterator[str]]]:
        """What the NIR interpreter does in other ways that SPIR-V leaves open, each compared with what it does first."""
        wave, alone = self.shader.wave, int(OP_CONTROL_BARRIER not in opcodes(self.module))
        others: list[tuple[str, int, dict[str, Any]]] = [
            ("with other contents of memory that nobody wrote", wave, {"garbage": 0xA5}),
            ("with other values of undefined quotients and conversions", wave, {"kind": Undefined}),
            ("where subgroups, or lanes that store to one place, take another turn", wave, {"kind": Racing, "alone": alone})]
        if not self.has_subgroups:
            others += [("in waves of another size", PEER_LANES, {}), ("with invocations in another order", wave, {"kind": Reordered})]
        return [partial(self._compared, *other) for other in others]

    def _turns(self) -> list[Callable[[], Iterator[str]]]:
        """One invocation after another, where nothing waits for another: what takes longest."""
        if self.has_subgroups or OP_CONTROL_BARRIER in opcodes(self.module):
            return []
        what, wave = "with one invocation after another", self.shader.wave
        return [partial(self._compared, what, wave, {"kind": Reordered, "alone": turn}) for turn in (1, -1)]

    def _compared(self, what: str, lanes: int, more: dict[str, Any]) -> Iterator[str]:
        first, other = self._interpret(self.shader.wave), self._interpret(lanes, **more)
        if any(not np.array_equal(first[key], found) for key, found in other.items()):
            yield f"another result {what}"

    def _rounding(self) -> Iterator[str]:
        if self._depends_on_rounding(self._interpret(self.shader.wave)):
            yield "every word that differs is another with floats rounded otherwise, as they may be"

    def _depends_on_rounding(self, first: Written) -> bool:
        """Whether all that differs is more than the tolerance apart when the NIR interpreter rounds otherwise."""
        left = {key: np.unique(bad // 4) for key, bad in faults(self.theirs, self.ours, self.inputs, self.tolerance).items()}
        for seed in range(ROUNDINGS):
            other = self._interpret(self.shader.wave, kind=Rounded, seed=seed)
            for key, words in left.items():
                if key[0] == "image":
                    moved = moved_texels(self.inputs.images[key[1:]], first[key], other[key], self.tolerance)
                else:
                    moved = faults({key: first[key]}, {key: other[key]}, self.inputs, self.tolerance).get(key, words[:0])
                left[key] = words[~np.isin(words, moved // 4)]
            if not any(words.size for words in left.values()):
                return True
        return False

    def _subgroups(self) -> Iterator[str]:
        """Where the interpreter gives what each gives, with subgroups as large as each has."""
        first = self._interpret(self.shader.wave)
        if self.has_subgroups and self._is_near(self.ours, first) and self._is_near(self.theirs, self._interpret(PEER_LANES)):
            yield f"the NIR interpreter gives ours with subgroups of {self.shader.wave}, and lavapipe's with {PEER_LANES}"

    def _is_near(self, found: Written, interpreted: Written) -> bool:
        if any(found[key].size != each.size for key, each in interpreted.items()):       # of images, numbers of 32 bits whatever the format has
            return False
        return differences(found, interpreted, self.inputs, self.tolerance)[0] != "differs"

    def _interpret(self, wave: int, **more: Any) -> Written:
        key = (wave, *sorted(more.items(), key=str))
        if key not in self.interpreted:
            try:
                self.interpreted[key] = run_interpreted(self.module, self.entry, self.inputs, self.groups, wave, **more)
            except (pyaco.InputError, pyaco.UnsupportedError, TimeoutError) as error:
                self.interpreted[key] = error
        found = self.interpreted[key]
        if isinstance(found, Exception):
            raise found
        return found

    def interpreter_sides_with(self) -> str:
        """Whose result the NIR interpreter gives, in words."""
        try:
            with limited(EVIDENCE_SECONDS):
                first = self._interpret(self.shader.wave)
        except (pyaco.InputError, pyaco.UnsupportedError, TimeoutError) as error:
            return f"the NIR interpreter does not run it ({str(error)[:60]})"
        sides = [name for name, found in (("ours", self.ours), ("lavapipe's", self.theirs)) if self._is_near(found, first)]
        return f"the NIR interpreter gives {' and '.join(sides) or 'neither'}"
