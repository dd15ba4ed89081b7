"""Control flow of instruction selection: random structured programs, judged by execution, and the shapes of the CFG."""

from __future__ import annotations

import random

import numpy as np
import pytest
from execution import Kernel, run_both, seed_data


class Program:
    """A random structured program over local variables, written with a builder."""

    def __init__(self, b: Kernel, seed: int) -> None:
        self.b = b
        self.random = random.Random(seed)
        word = b.scalar("uint", 32)
        self.words = [b.deref_var(b.variable("function_temp", word)) for _ in range(3)]
        self.uniforms = [b.deref_var(b.variable("function_temp", word)) for _ in range(2)]
        self.bools = [b.deref_var(b.variable("function_temp", b.type("bool", bit_size=1, components=1))) for _ in range(2)]
        self.word = word
        self.budget = 24
        for place, deref in enumerate(self.words):
            b.store(deref, b.input(32, False, place))
        for place, deref in enumerate(self.uniforms):
            b.store(deref, b.input(32, True, place))
        for deref in self.bools:
            b.store(deref, b.ult(b.load(self.words[1]), b.load(self.words[2])))
        self.statements(0, None, True)
        for deref in (*self.words, *self.uniforms, *self.bools):
            b.output(b.load(deref))

    def value(self, uniform: bool = False) -> int:
        """Append a random word."""
        b, pick = self.b, self.random
        source = pick.choice(self.uniforms if uniform else self.words + self.uniforms)
        x = b.load(source)
        if pick.random() < 0.3:
            return x
        y = b.imm(pick.choice([1, 2, 3, 7, 0xFF, 0x80000001])) if pick.random() < 0.6 else b.load(
            pick.choice(self.uniforms if uniform else self.words))
        return b.alu(pick.choice(["iadd", "ixor", "iand", "isub", "umin"]), x, y)

    def condition(self, uniform: bool = False) -> int:
        """Append a random condition."""
        b, pick = self.b, self.random
        if not uniform and pick.random() < 0.3:
            return b.load(pick.choice(self.bools))
        x = b.iand(self.value(uniform), b.imm(pick.choice([1, 3, 5])))
        return b.alu(pick.choice(["ieq", "ine", "ult"]), x, b.imm(pick.choice([0, 1, 2])))

    def statements(self, depth: int, loop: int | None, uniform: bool) -> None:
        """Append some statements; `uniform`: all lanes run them together."""
        for _ in range(self.random.randint(1, 3)):
            self.budget -= 1
            if self.budget < 0:
                return
            self.statement(depth, loop, uniform)

    def statement(self, depth: int, loop: int | None, uniform: bool) -> None:
        b, pick = self.b, self.random
        kind = pick.random()
        if kind < 0.35 or depth > 3:
            b.store(pick.choice(self.words), self.value())
            if uniform and pick.random() < 0.4:
                b.store(pick.choice(self.uniforms), self.value(True))
            if pick.random() < 0.3:
                b.store(pick.choice(self.bools), self.condition())
        elif kind < 0.7:
            alike = pick.random() < 0.4
            with b.if_(self.condition(alike)) as node:
                self.side(depth, loop, uniform and alike)
            if pick.random() < 0.6:
                with b.else_(node):
                    self.side(depth, loop, uniform and alike)
        else:
            self.loop(depth, uniform)

    def side(self, depth: int, loop: int | None, uniform: bool) -> None:
        """Append the list of an if, with a jump at its end now and then."""
        if self.random.random() < 0.8:
            self.statements(depth + 1, loop, uniform)
        if loop is not None and self.random.random() < 0.35:
            self.b.jump(self.random.choice(["break", "continue"]))

    def loop(self, depth: int, uniform: bool) -> None:
        """Append a loop of a bounded number of trips."""
        b, pick = self.b, self.random
        trips = b.deref_var(b.variable("function_temp", self.word))
        b.store(trips, b.imm(0))
        alike = uniform and pick.random() < 0.5
        limit = b.imm(3) if alike else b.iand(self.value(), b.imm(3))
        with b.loop() as node:
            old = b.load(trips)
            with b.if_(b.uge(old, limit)):
                b.jump("break")
            b.store(trips, b.iadd(old, b.imm(1)))
            self.statements(depth + 1, node, False)
            if pick.random() < 0.3:
                with b.if_(self.condition()):
                    b.jump(pick.choice(["break", "continue"]))
                self.statements(depth + 1, node, False)


def judge(seed: int, target: str, wave: int) -> None:
    wanted, found = run_both(lambda b: Program(b, seed), seed_data(), target, wave)
    for row in range(len(wanted)):
        np.testing.assert_array_equal(found[row], wanted[row], err_msg=f"seed {seed}, variable {row}")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("target", "wave"), [("gfx1030", 64), ("gfx1100", 32)])
def test_random_programs(seed: int, target: str, wave: int) -> None:
    judge(seed, target, wave)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 500))
def test_many_random_programs(seed: int) -> None:
    judge(seed, ("gfx900", "gfx1030", "gfx1100")[seed % 3], 64)
    judge(seed, ("gfx1030", "gfx1100")[seed % 2], 32)
