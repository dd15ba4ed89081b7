"""Booleans that differ between lanes and change in nested ifs and loops: phis of lane masks, against the NIR interpreter."""

from __future__ import annotations

import random

import numpy as np
import pytest
from execution import Kernel, run_both, seed_data

TARGETS = (("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32))


class Flags:
    """A kernel of random control flow around three booleans, most of which most statements leave alone."""

    def __init__(self, kernel: Kernel, seed: int) -> None:
        self.b = kernel
        self.random = random.Random(seed)
        kind = kernel.type("bool", bit_size=1, components=1)
        self.flags = [kernel.variable("function_temp", kind) for _ in range(3)]
        self.data = [kernel.input(place=place) for place in range(4)]
        self.uniform = kernel.input(uniform=True)
        self.statements = 30

    def build(self) -> None:
        for place, flag in enumerate(self.flags):
            self.b.store(self.b.deref_var(flag), self.b.ilt(self.data[place], self.data[place + 1]))
        self.block(depth=0, jumps=())
        for flag in self.flags:
            self.b.output(self.read(flag))

    def read(self, flag: int) -> int:
        return self.b.load(self.b.deref_var(flag))

    def condition(self) -> int:
        choice = self.random.random()
        if choice < 0.3:
            return self.read(self.random.choice(self.flags))
        if choice < 0.45:
            return self.bit(self.uniform)
        return self.bit(self.random.choice(self.data))

    def bit(self, value: int) -> int:
        return self.b.ine(self.b.iand(value, self.b.imm(1 << self.random.randrange(32))), self.b.imm(0))

    def block(self, depth: int, jumps: tuple[str, ...]) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statements -= 1
            choice = self.random.random()
            if self.statements < 0 or depth > 4 or choice < 0.3:
                self.b.store(self.b.deref_var(self.random.choice(self.flags)), self.condition())
            elif choice < 0.85:
                self.branch(depth, jumps)
            else:
                self.loop(depth)

    def branch(self, depth: int, jumps: tuple[str, ...]) -> None:
        with self.b.if_(self.condition()) as node:
            self.block(depth + 1, jumps)
            if jumps and self.random.random() < 0.3:
                self.b.jump(self.random.choice(jumps))
        if self.random.random() < 0.4:
            with self.b.else_(node):
                self.block(depth + 1, jumps)

    def loop(self, depth: int) -> None:
        counter = self.b.variable("function_temp", self.b.scalar())
        self.b.store(self.b.deref_var(counter), self.b.imm(0))
        with self.b.loop():
            count = self.b.load(self.b.deref_var(counter))
            with self.b.if_(self.b.uge(count, self.b.imm(3))):
                self.b.jump("break")
            self.b.store(self.b.deref_var(counter), self.b.iadd(count, self.b.imm(1)))
            self.block(depth + 1, ("break", "continue"))


class CopyOfFewerLanes(Flags):
    """A copy changes in an if, and comes back in another: not in the lanes that only the first one has."""

    def block(self, depth: int, jumps: tuple[str, ...]) -> None:
        with self.b.if_(self.bit(self.data[0])):
            self.assign(1, self.read(self.flags[0]))
            with self.b.if_(self.bit(self.data[1])):
                self.assign(1, self.bit(self.data[2]))
            with self.b.if_(self.bit(self.data[3])):
                self.assign(0, self.read(self.flags[1]))
            self.assign(1, self.bit(self.data[2]))

    def assign(self, flag: int, value: int) -> None:
        """Assign, beside a store to memory: without it the branch would be selects."""
        self.b.output(value)
        self.b.store(self.b.deref_var(self.flags[flag]), value)


class OneSideKeeps(CopyOfFewerLanes):
    """Of a uniform branch one side merges a flag, and the other one replaces it."""

    def block(self, depth: int, jumps: tuple[str, ...]) -> None:
        with self.b.if_(self.bit(self.data[0])):
            with self.b.if_(self.bit(self.uniform)) as node, self.b.if_(self.bit(self.data[1])):
                self.assign(0, self.bit(self.data[2]))
            with self.b.else_(node):
                self.assign(0, self.bit(self.data[3]))


def check(seed: int, kind: type[Flags] = Flags) -> None:
    for target, wave in TARGETS:
        for optimize in (False, True):
            wanted, found = run_both(lambda kernel: kind(kernel, seed).build(), seed_data(places=5, seed=seed), target, wave, optimize=optimize)
            assert np.array_equal(wanted, found), (seed, target, optimize)


@pytest.mark.parametrize("kind", [CopyOfFewerLanes, OneSideKeeps])
def test_masks_that_a_predecessor_keeps_in_some_lanes_only(kind: type[Flags]) -> None:
    for seed in range(4):
        check(seed, kind)


@pytest.mark.parametrize("seed", range(6))
def test_flags_in_nested_control_flow(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_more_flags_in_nested_control_flow() -> None:
    for seed in range(100, 130):
        check(seed)
