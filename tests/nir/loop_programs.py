"""Random loops whose trip counts are known: the counter's start, step, operation, comparison and bound, in all sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from opcode_shaders import buffer

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import LoopControl
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

LANES = 3
WORDS = 8

#: What makes the next counter of a counter and a step.
OPERATIONS = {
    "iadd": lambda counter, step, bits: counter + step,
    "isub": lambda counter, step, bits: counter - step,
    "imul": lambda counter, step, bits: counter * step,
    "ishl": lambda counter, step, bits: counter << step % bits,
    "ushr": lambda counter, step, bits: counter >> step % bits,
    "ishr": lambda counter, step, bits: signed(counter, bits) >> step % bits,
    "ixor": lambda counter, step, bits: counter ^ step,
    "umin": lambda counter, step, bits: min(counter, step),
}
SHIFTS = ("ishl", "ushr", "ishr")
COMPARISONS: dict[str, Callable[[int, int, int], bool]] = {
    "ilt": lambda left, right, bits: signed(left, bits) < signed(right, bits),
    "ige": lambda left, right, bits: signed(left, bits) >= signed(right, bits),
    "ult": lambda left, right, bits: left < right,
    "uge": lambda left, right, bits: left >= right,
    "ieq": lambda left, right, bits: left == right,
    "ine": lambda left, right, bits: left != right,
}


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


@dataclass(frozen=True)
class Exit:
    """The loop is left when a comparison of the counter is true."""

    comparison: str
    bound: int
    counter_is_left: bool
    inverted: bool                # the break stands in the else, of the contrary
    works: bool                   # something is done on the way out

    def leaves(self, counter: int, bits: int) -> bool:
        pair = (counter, self.bound) if self.counter_is_left else (self.bound, counter)
        return bool(COMPARISONS[self.comparison](*pair, bits))


@dataclass(frozen=True)
class Loop:
    """A loop with one or two exits of which the trip count follows, one that follows from data, and loops in it."""

    bits: int
    start: int
    step: int
    operation: str
    first: Exit
    second: Exit | None
    second_after_update: bool
    unknown: str                  # where an exit by data stands: none, before or after the known ones
    inner: Loop | None
    control: int

    def advance(self, counter: int) -> int:
        return int(OPERATIONS[self.operation](counter, self.step, self.bits)) & ((1 << self.bits) - 1)

    def trips(self, limit: int) -> int | None:
        """Whole trips until a known exit leaves; None when they are more than `limit`."""
        counter = self.start
        for trip in range(limit + 1):
            if self.first.leaves(counter, self.bits):
                return trip
            following = self.advance(counter)
            if self.second and self.second.leaves(following if self.second_after_update else counter, self.bits):
                return trip
            counter = following
        return None

    def orbit(self) -> set[int]:
        """What the counter is in the first trips, more than are ever unrolled."""
        found, counter = set[int](), self.start
        while counter not in found and len(found) < 20_000:
            found.add(counter)
            counter = self.advance(counter)
        return found


@st.composite
def exits(draw: st.DrawFn, bits: int, counters: list[int]) -> Exit:
    """An exit by a bound that the counter meets, or is near, or any bound."""
    bound = draw(st.one_of(
        st.sampled_from(counters),
        st.builds(lambda counter, offset: (counter + offset) % (1 << bits), st.sampled_from(counters), st.integers(-2, 2)),
        st.integers(0, (1 << bits) - 1),
    ))
    return Exit(draw(st.sampled_from(sorted(COMPARISONS))), bound, draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))


@st.composite
def loops(draw: st.DrawFn, depth: int = 2) -> Loop:
    bits = draw(st.sampled_from([8, 16, 32, 64]))
    mask = (1 << bits) - 1
    operation = draw(st.sampled_from(sorted(OPERATIONS)))
    small = st.integers(0, 3) if operation in SHIFTS else st.integers(-4, 12).map(lambda value: value & mask)
    step = draw(small if operation in SHIFTS else st.one_of(small, st.integers(0, mask)))
    start = draw(st.one_of(st.integers(-3, 16).map(lambda value: value & mask), st.integers(0, mask)))
    counters = [start]
    for _ in range(40 if depth == 2 else 4):
        counters.append(int(OPERATIONS[operation](counters[-1], step, bits)) & mask)
    second = draw(st.one_of(st.none(), exits(bits, counters)))
    inner = draw(st.one_of(st.none(), loops(depth - 1))) if depth > 1 else None
    return Loop(bits, start, step, operation, draw(exits(bits, counters)), second, draw(st.booleans()),
                draw(st.sampled_from(["", "", "before", "after"])), inner, draw(st.sampled_from([0, 0, LoopControl.UNROLL, LoopControl.DONT_UNROLL])))


@st.composite
def endless_loops(draw: st.DrawFn) -> Loop:
    """A loop whose counter never meets, or always has, what it is compared with, at least in as many trips as are ever unrolled."""
    loop = replace(draw(loops(depth=1)), second=None, unknown="")
    orbit = loop.orbit()
    missed = st.integers(0, (1 << loop.bits) - 1).filter(lambda value: value not in orbit)
    comparison, bound = ("ine", loop.start) if len(orbit) == 1 else ("ieq", draw(missed))
    return replace(loop, first=replace(loop.first, comparison=comparison, bound=bound))


class LoopWriter:
    """Writes a loop as a shader: each trip is counted, hashed, and stored to a slot that depends on the count."""

    def __init__(self) -> None:
        self.b = Builder(wave_size=32, workgroup_size=(LANES, 1, 1))
        b = self.b
        self.lane = b.load_local_invocation_index()
        self.out = buffer(b, 0, 32)
        self.count, self.hash = (b.variable("function_temp", b.scalar()) for _ in range(2))

    def write(self, loop: Loop) -> Shader:
        b = self.b
        for variable in (self.count, self.hash):
            b.store(b.deref_var(variable), b.imm(0))
        self.loop(loop)
        for slot, variable in enumerate((self.count, self.hash)):
            self.store(slot, b.load(b.deref_var(variable)))
        return b.finish()

    def store(self, slot: int, value: int) -> None:
        b = self.b
        b.store(b.deref_array(self.out, b.iadd(b.imul(self.lane, b.imm(WORDS)), b.imm(slot))), value)

    def mix(self, factor: int, value: int) -> None:
        b = self.b
        b.store(b.deref_var(self.hash), b.iadd(b.imul(b.load(b.deref_var(self.hash)), b.imm(factor)), value))

    def leave(self, exit: Exit, counter: int, bits: int) -> None:
        b = self.b
        pair = (counter, b.imm(exit.bound, bits)) if exit.counter_is_left else (b.imm(exit.bound, bits), counter)
        condition = b.alu(exit.comparison, *pair)
        with b.if_(b.inot(condition) if exit.inverted else condition) as node:
            if not exit.inverted:
                self.break_(exit)
        if exit.inverted:
            with b.else_(node):
                self.break_(exit)

    def break_(self, exit: Exit) -> None:
        if exit.works:
            self.mix(17, self.b.imm(5))
        self.b.jump("break")

    def leave_by_data(self) -> None:
        b = self.b
        with b.if_(b.ieq(b.iand(b.load(b.deref_var(self.count)), b.imm(7)), b.iadd(self.lane, b.imm(4)))):
            self.mix(13, self.lane)
            b.jump("break")

    def loop(self, loop: Loop) -> None:
        b = self.b
        counter = b.variable("function_temp", b.scalar("uint", loop.bits))
        b.store(b.deref_var(counter), b.imm(loop.start, loop.bits))
        with b.loop(loop.control):
            value = b.load(b.deref_var(counter))
            if loop.unknown == "before":
                self.leave_by_data()
            self.leave(loop.first, value, loop.bits)
            self.trip(value, loop)
            step = b.imm(loop.step, 32 if loop.operation in SHIFTS else loop.bits)
            b.store(b.deref_var(counter), b.alu(loop.operation, value, step))
            if loop.second:
                self.leave(loop.second, b.load(b.deref_var(counter)) if loop.second_after_update else value, loop.bits)
            if loop.unknown == "after":
                self.leave_by_data()
        self.mix(7, b.imm(1))

    def trip(self, counter: int, loop: Loop) -> None:
        b = self.b
        self.mix(31, counter if loop.bits == 32 else b.u2u32(counter))
        b.store(b.deref_var(self.count), b.iadd(b.load(b.deref_var(self.count)), b.imm(1)))
        self.store(2, b.load(b.deref_var(self.count)))
        if loop.inner:
            self.loop(loop.inner)


def execute(shader: Shader) -> list[list[int]]:
    """What each lane stores: trips in all, the hash, the last trip's number."""
    out = np.zeros((LANES, WORDS), np.uint32)
    interpreter.run(shader, (1, 1, 1), {(0, 0): out})
    return out[:, :3].tolist()
