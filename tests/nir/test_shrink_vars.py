"""What nothing reads of local variables goes, and what is left is found where it is now: random types and accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from module_words import Module

import pyaco
from pyaco import emu, spirv
from pyaco.nir import interpreter

LANES = 64
WORDS = 32                          # of input and of output of an invocation
Type = tuple[Any, ...]              # ("vector", components), ("array", length, type), ("struct", types), ("matrix", columns, rows)


def random_type(random: np.random.Generator, depth: int, arrays: int = 0) -> Type:
    kind = random.choice(["vector", "struct", "array", "matrix"], p=[0.15, 0.4, 0.35, 0.1]) if depth else "vector"
    if kind == "struct":
        return "struct", *(random_type(random, depth - 1, arrays) for _ in range(random.integers(1, 5)))
    if kind == "array" and arrays < 2:
        return "array", int(random.integers(2, 6)), random_type(random, depth - 1, arrays + 1)
    if kind == "matrix":
        return "matrix", int(random.integers(2, 5)), int(random.integers(2, 5))
    return "vector", int(random.integers(1, 5))


class Program:
    """A module that stores to parts of a variable and loads from others, where some indices come from memory."""

    def __init__(self, seed: int) -> None:
        self.random = random = np.random.default_rng(seed)
        self.m = m = Module((LANES, 1, 1))
        self.single = m.type("Float", 32)
        block = m.struct((m.array(m.uint(), 4), 0))
        self.blocks = [m.variable("StorageBuffer", block, binding) for binding in range(2)]
        self.lane = m.builtin("LocalInvocationId")
        self.read = self.written = 0
        self.shape = ("array", int(random.integers(17, 24)), random_type(random, 3))
        self.local = m.variable("Function", self.type(self.shape))
        # An invocation loads only what it has stored: all, by loops that are written out, or a few places.
        self.fill(self.local, self.shape)
        for _ in range(random.integers(1, 12)):
            self.step(store=bool(random.integers(2)))

    def type(self, shape: Type) -> int:
        m = self.m
        if shape[0] == "vector":
            return self.single if shape[1] == 1 else m.type("Vector", self.single, shape[1])
        if shape[0] == "matrix":
            return m.type("Matrix", m.type("Vector", self.single, shape[2]), shape[1])
        if shape[0] == "array":
            return m.type("Array", self.type(shape[2]), m.constant(shape[1]))
        return m.type("Struct", *(self.type(part) for part in shape[1:]))

    def word(self, block: int, number: int) -> int:
        m = self.m
        at = m.op("IAdd", m.uint(), m.op("IMul", m.uint(), self.lane, m.constant(WORDS)), m.constant(number))
        return m.access_chain("StorageBuffer", m.uint(), self.blocks[block], m.constant(0), at)

    def input(self) -> int:
        self.read += 1
        return self.m.load(self.m.uint(), self.word(0, self.read % WORDS))

    def number(self) -> int:
        """A small number as a float, of which arithmetic is exact."""
        return self.m.op("ConvertUToF", self.single, self.m.op("BitwiseAnd", self.m.uint(), self.input(), self.m.constant(0xFFFF)))

    def value(self, components: int) -> int:
        numbers = [self.number() for _ in range(components)]
        return numbers[0] if components == 1 else self.m.op("CompositeConstruct", self.type(("vector", components)), *numbers)

    def fill(self, pointer: int, shape: Type, chain: tuple[int, ...] = ()) -> None:
        m = self.m
        if shape[0] == "vector":
            at = m.access_chain("Function", self.type(shape), pointer, *chain) if chain else pointer
            filled = self.number()
            m.store(at, filled if shape[1] == 1 else m.op("CompositeConstruct", self.type(shape), *[filled] * shape[1]))
            return
        parts: Any = shape[1:] if shape[0] == "struct" else [shape[2] if shape[0] == "array" else ("vector", shape[2])] * shape[1]
        for i, part in enumerate(parts):
            self.fill(pointer, part, (*chain, m.constant(i)))

    def step(self, store: bool) -> None:
        """One access of a random place."""
        m, random = self.m, self.random
        shape: Type = self.shape
        chain: list[int] = []
        while shape[0] != "vector":
            count = len(shape) - 1 if shape[0] == "struct" else shape[1]
            number = int(random.integers(count))
            varies = shape[0] != "struct" and (not chain or random.random() < 0.3)
            chain.append(m.op("UMod", m.uint(), self.input(), m.constant(count)) if varies else m.constant(number))
            shape = shape[1 + number] if shape[0] == "struct" else shape[2] if shape[0] == "array" else ("vector", shape[2])
        components, kind = shape[1], random.integers(3)
        vector = self.type(shape)
        pointer = m.access_chain("Function", vector, self.local, *chain)
        if components > 1 and kind == 1:        # one component alone, by a pointer
            pointer = m.access_chain("Function", self.single, pointer, m.constant(int(random.integers(components))))
            components, vector = 1, self.single
        if store and components > 1 and kind == 2:
            m.store(pointer, m.op("CompositeInsert", vector, self.number(), m.load(vector, pointer), int(random.integers(components))))
        elif store:
            m.store(pointer, self.value(components))
        else:
            found = m.load(vector, pointer)
            for i in random.choice(components, random.integers(1, components + 1), replace=False):
                part = found if components == 1 else m.op("CompositeExtract", self.single, found, int(i))
                m.store(self.word(1, self.written % WORDS), m.op("ConvertFToU", m.uint(), part))
                self.written += 1


def room_of_variables(shader: pyaco.CompiledShader) -> int:
    """Scratch bytes but for those of spilled registers: arrays that became small enough to be values may need some."""
    return int(shader.stats["scratch_bytes"] - 4 * shader.wave * shader.stats["spilled_vgprs"])


def check(seed: int, targets: tuple[str, ...]) -> tuple[int, int]:
    """Scratch bytes of variables with and without the pass."""
    words = Program(seed).m.words()
    data = np.random.default_rng(seed).integers(0, 1 << 32, LANES * WORDS, np.uint32)
    wanted = np.zeros_like(data)
    interpreter.run(spirv.read(words), (1, 1, 1), {(0, 0): data.copy(), (0, 1): wanted})
    small = large = 0
    for target in targets:
        shader = pyaco.compile(words, target, validate=True)
        device = emu.Device(target)
        result = device.buffer(np.zeros_like(data))
        device.dispatch(shader, (1, 1, 1), {(0, 0): device.buffer(data), (0, 1): result})
        np.testing.assert_array_equal(result.numpy().view(np.uint32), wanted)
        small += room_of_variables(shader)
        large += room_of_variables(pyaco.compile(words, target, disable="shrink_vars"))
    return small, large


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_types(first: int) -> None:
    sizes = np.array([check(seed, ("gfx900", "gfx1100")) for seed in range(first, first + 10)])
    assert (sizes[:, 0] <= sizes[:, 1]).all()
    assert (sizes[:, 0] < sizes[:, 1]).any()


@pytest.mark.slow
def test_many_random_types() -> None:
    for seed in range(1000, 2000):
        small, large = check(seed, ("gfx803", "gfx1030", "gfx1200"))
        assert small <= large


def test_what_is_read_has_room_alone() -> None:
    """Of 20 structs with an array of four pairs, one component of one pair is read: 80 bytes an invocation, of 2240."""
    m = Module((LANES, 1, 1))
    uint = m.uint()
    block = m.variable("StorageBuffer", m.struct((m.array(uint, 4), 0)), 0)
    lane = m.builtin("LocalInvocationId")
    pair = m.uint(32, 2)
    struct = m.type("Struct", m.uint(32, 4), m.type("Array", pair, m.constant(4)), uint)
    local = m.variable("Function", m.type("Array", struct, m.constant(20)))
    for i in range(20):
        value = m.op("CompositeConstruct", pair, m.constant(i), m.op("IMul", uint, lane, m.constant(i)))
        for k in range(4):
            m.store(m.access_chain("Function", pair, local, m.constant(i), m.constant(1), m.constant(k)), value)
        m.store(m.access_chain("Function", uint, local, m.constant(i), m.constant(2)), lane)
    at = m.op("UMod", uint, lane, m.constant(20))
    found = m.load(pair, m.access_chain("Function", pair, local, at, m.constant(1), m.constant(2)))
    m.store(m.access_chain("StorageBuffer", uint, block, m.constant(0), lane), m.op("CompositeExtract", uint, found, 1))
    shader = pyaco.compile(m.words(), "gfx1030", wave=64)
    assert shader.stats["scratch_bytes"] == 80 * LANES
    device = emu.Device("gfx1030")
    result = device.zeros(4 * LANES)
    device.dispatch(shader, (1, 1, 1), {(0, 0): result})
    np.testing.assert_array_equal(result.numpy().view(np.uint32), [lane * (lane % 20) for lane in range(LANES)])
