"""Arrays that are copied whole, to be read at an index that is known at run time: random programs, and that no copy stays in scratch memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from test_compute_extensions import LANES, Array, Kernel, run

import pyaco

TARGETS = [("gfx600", 64), ("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)]
LENGTH = 24                         # more elements than stay in registers
STEPS = 64                          # indices for each invocation
DONT_UNROLL = 2
Place = tuple[str, int]             # storage class and variable


class Copies(Kernel):
    """A module with local arrays of pairs and a uniform block of one; it adds elements up. Binding 0 has indices, 1 results."""

    def __init__(self) -> None:
        super().__init__()
        self.number, self.pair = self.uint(), self.uint(32, 2)
        self.indices, self.results = self.array_of(self.number, 4), self.array_of(self.number, 4)
        self.shape = self.type("Array", self.pair, self.constant(LENGTH))
        laid_out = self.type("Array", self.pair, self.constant(LENGTH), fresh=True)
        self.decorate(laid_out, "ArrayStride", 16)
        self.block: Place = ("Uniform", self.variable("Uniform", self.struct((laid_out, 0)), 2))
        self.total = self.variable("Function", self.number)
        self.store(self.total, self.constant(0))
        self.step = 0

    def local(self) -> Place:
        return "Function", self.variable("Function", self.shape)

    def element(self, place: Place, index: int) -> int:
        return self.access_chain(place[0], self.pair, place[1], *([self.constant(0)] if place[0] == "Uniform" else []), index)

    def copy(self, target: Place, source: Place, order: list[int]) -> None:
        """Copy elements one after the other."""
        for k in order:
            self.store(self.element(target, self.constant(k)), self.load(self.pair, self.element(source, self.constant(k))))

    def copy_whole(self, target: Place, source: Place) -> None:
        """Copy a local array by one load and one store."""
        self.store(target[1], self.load(self.shape, source[1]))

    def word(self) -> int:
        """The next number of the invocation."""
        self.step += 1
        index = self.op("IAdd", self.number, self.index, self.constant(LANES * (self.step % STEPS)))
        return self.load(self.number, self.at(self.indices, self.number, index))

    def varying(self) -> int:
        return self.op("UMod", self.number, self.word(), self.constant(LENGTH))

    def add(self, place: Place, index: int) -> None:
        """Add an element to the total."""
        pair = self.load(self.pair, self.element(place, index))
        low, high = (self.op("CompositeExtract", self.number, pair, k) for k in range(2))
        total = self.op("IMul", self.number, self.load(self.number, self.total), self.constant(31))
        value = self.op("IAdd", self.number, low, self.op("IMul", self.number, high, self.constant(3)))
        self.store(self.total, self.op("IAdd", self.number, total, value))

    def write(self, place: Place, index: int) -> None:
        self.store(self.element(place, index), self.op("CompositeConstruct", self.pair, self.word(), self.constant(self.step)))

    def jump_over(self, body: Callable[[], None]) -> None:
        """Do something in some invocations."""
        odd = self.op("INotEqual", self.type("Bool"), self.op("BitwiseAnd", self.number, self.word(), self.constant(1)), self.constant(0))
        taken, merge = self.id(), self.id()
        self.emit(self.body, "SelectionMerge", merge, 0)
        self.emit(self.body, "BranchConditional", odd, taken, merge)
        self.emit(self.body, "Label", taken)
        body()
        self.emit(self.body, "Branch", merge)
        self.emit(self.body, "Label", merge)

    def repeat(self, body: Callable[[], None]) -> None:
        """Do something a few times, as often as a number of the invocation says."""
        counter = self.variable("Function", self.number)
        limit = self.op("BitwiseAnd", self.number, self.word(), self.constant(3))
        self.store(counter, self.constant(0))
        head, inside, behind, merge = (self.id() for _ in range(4))
        self.emit(self.body, "Branch", head)
        self.emit(self.body, "Label", head)
        goes_on = self.op("ULessThan", self.type("Bool"), self.load(self.number, counter), limit)
        self.emit(self.body, "LoopMerge", merge, behind, DONT_UNROLL)
        self.emit(self.body, "BranchConditional", goes_on, inside, merge)
        self.emit(self.body, "Label", inside)
        body()
        self.emit(self.body, "Branch", behind)
        self.emit(self.body, "Label", behind)
        self.store(counter, self.op("IAdd", self.number, self.load(self.number, counter), self.constant(1)))
        self.emit(self.body, "Branch", head)
        self.emit(self.body, "Label", merge)

    def finish(self) -> bytes:
        self.store(self.at(self.results, self.number), self.load(self.number, self.total))
        return self.words()


def buffers(seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.integers(0, 1 << 32, LANES * STEPS, np.uint64).astype(np.uint32), np.zeros(LANES, np.uint32),
            random.integers(0, 1 << 32, (LENGTH, 4), np.uint64).astype(np.uint32)]


def scratch(words: bytes, target: str = "gfx1030") -> int:
    return int(pyaco.compile(words, target).stats["scratch_bytes"])


def random_program(seed: int) -> bytes:
    """Copies, reads and writes of three local arrays, each of which is written before it is read."""
    random = np.random.default_rng(seed)
    m = Copies()
    arrays = [m.local() for _ in range(3)]
    written = [False] * 3

    def act(depth: int) -> None:
        for _ in range(random.integers(1, 5)):
            kind = random.choice(["copy", "add", "write", "if", "loop"], p=[0.35, 0.35, 0.1, 0.1, 0.1])
            k = int(random.integers(3))
            if kind == "copy":
                others = [n for n in range(3) if written[n] and n != k]
                source = arrays[random.choice(others)] if others and random.random() < 0.6 else m.block
                if source is not m.block and random.random() < 0.3:
                    m.copy_whole(arrays[k], source)
                else:
                    m.copy(arrays[k], source, list(range(LENGTH)) if random.random() < 0.8 else random.permutation(LENGTH).tolist())
                written[k] = written[k] or depth == 0
            elif kind in ("add", "write") and written[k]:
                (m.add if kind == "add" else m.write)(arrays[k], m.varying() if random.random() < 0.7 else m.constant(int(random.integers(LENGTH))))
            elif kind in ("if", "loop") and depth < 2:
                (m.jump_over if kind == "if" else m.repeat)(lambda: act(depth + 1))

    for _ in range(3):
        act(0)
    return m.finish()


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    target, wave = TARGETS[seed % len(TARGETS)]
    run(random_program(seed), buffers(seed), target, wave)


def test_random_programs_lose_copies() -> None:
    programs = [random_program(seed) for seed in range(40)]
    kept = sum(scratch(words) for words in programs)
    assert 0 < kept < 0.85 * sum(int(pyaco.compile(words, "gfx1030", disable="opt_array_copies").stats["scratch_bytes"]) for words in programs)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_a_copy_of_a_copy_is_read_in_the_uniform_block(target: str, wave: int) -> None:
    m = Copies()
    first, second = m.local(), m.local()
    m.copy(first, m.block, list(range(LENGTH)))
    m.jump_over(lambda: m.add(first, m.varying()))
    m.copy_whole(second, first)
    m.repeat(lambda: m.add(second, m.varying()))
    words = m.finish()
    run(words, buffers(1), target, wave)
    assert scratch(words, target) == 0


def test_what_is_overwritten_before_the_copy_is_read_is_not_read_later() -> None:
    m = Copies()
    first, second = m.local(), m.local()
    m.copy(first, m.block, list(range(LENGTH)))
    m.copy_whole(second, first)
    m.write(first, m.varying())
    m.add(second, m.varying())
    m.add(first, m.varying())
    run(m.finish(), buffers(2), "gfx1030", 32)


def test_a_write_behind_all_reads_of_the_copy_does_no_harm() -> None:
    """Each trip copies an array, reads the copy, and writes the array afterwards."""
    m = Copies()
    first, second = m.local(), m.local()
    m.copy(first, m.block, list(range(LENGTH)))

    def trip() -> None:
        m.copy_whole(second, first)
        m.add(second, m.varying())
        m.write(first, m.varying())

    m.repeat(trip)
    words = m.finish()
    run(words, buffers(3), "gfx1030", 32)
    assert scratch(words) == 8 * LENGTH * 64 < int(pyaco.compile(words, "gfx1030", disable="opt_array_copies").stats["scratch_bytes"])
