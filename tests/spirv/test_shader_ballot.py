"""SPV_AMD_shader_ballot's extended instructions, where not all invocations are active."""

from __future__ import annotations

import numpy as np
import pytest
from module_words import text
from test_compute_extensions import LANES, Kernel, run

from pyaco import InputError, spirv

TARGETS = [("gfx600", 64), ("gfx803", 64), ("gfx900", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 64), ("gfx1200", 32)]
SWIZZLE, MASKED, WRITE, MBCNT = 1, 2, 3, 4
TYPES = {"u16": (16, 1), "u32": (32, 1), "u64": (64, 1), "vector": (32, 3)}
CAPABILITIES = ("Groups", "Int16", "Int64", "StorageBuffer16BitAccess")


class Ballot(Kernel):
    """A module whose active lanes, those with a word that is not zero, apply one instruction and store what it gives."""

    def __init__(self) -> None:
        super().__init__(*CAPABILITIES)
        self.set = self.id()
        self.emit(self.head, "ExtInstImport", self.set, *text("SPV_AMD_shader_ballot"))
        self.active = self.array_of(self.uint(), 4)

    def ballot(self, number: int, type: int, *operands: int) -> int:
        return self.op("ExtInst", type, self.set, number, *operands)

    def vector(self, *numbers: int) -> int:
        """A constant vector."""
        vector = self.id()
        self.emit(self.globals, "ConstantComposite", self.uint(32, len(numbers)), vector, *(self.constant(number) for number in numbers))
        return vector

    def begin(self) -> int:
        inside, after = self.id(), self.id()
        condition = self.op("INotEqual", self.type("Bool"), self.load(self.uint(), self.at(self.active, self.uint())), self.constant(0))
        self.emit(self.body, "SelectionMerge", after, 0)
        self.emit(self.body, "BranchConditional", condition, inside, after)
        self.emit(self.body, "Label", inside)
        return after

    def end(self, after: int) -> None:
        self.emit(self.body, "Branch", after)
        self.emit(self.body, "Label", after)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("pattern", [(1, 0, 3, 2), (3, 3, 0, 2), (31, 0, 1), (28, 3, 20), (0, 7, 0), (15, 16, 31)])
def test_swizzles(pattern: tuple[int, ...], kind: str, target: str, wave: int) -> None:
    bits, components = TYPES[kind]
    m = Ballot()
    type = m.uint(bits, components)
    stride = bits // 8 * (4 if components == 3 else 1)
    source, result = m.array_of(type, stride), m.array_of(type, stride)
    after = m.begin()
    value = m.load(type, m.at(source, type))
    m.store(m.at(result, type), m.ballot(SWIZZLE if len(pattern) == 4 else MASKED, type, value, m.vector(*pattern)))
    m.end(after)
    lanes = np.arange(LANES)
    others = ((lanes & ~3) + np.array(pattern)[lanes & 3] if len(pattern) == 4 else
              (lanes & ~31) + (((lanes & 31 & pattern[0]) | pattern[1]) ^ pattern[2]))
    random = np.random.default_rng(4)
    active = random.integers(0, 4, LANES).astype(np.uint32)
    values = random.integers(1, 1 << bits, (LANES, 4 if components == 3 else 1), np.uint64).astype(f"u{bits // 8}")
    found = run(m.words(), [active, values, np.zeros_like(values)], target, wave)[2]
    for lane in range(LANES):
        wanted = values[others[lane]] * (active[others[lane]] != 0) * (active[lane] != 0)
        assert found[lane, :components].tolist() == wanted[:components].tolist()


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("kind", TYPES)
def test_writes_of_one_invocation(kind: str, target: str, wave: int) -> None:
    bits, components = TYPES[kind]
    m = Ballot()
    type = m.uint(bits, components)
    stride = bits // 8 * (4 if components == 3 else 1)
    source, written, result, index = m.array_of(type, stride), m.array_of(type, stride), m.array_of(type, stride), m.array_of(m.uint(), 4)
    after = m.begin()
    lane = m.load(m.uint(), m.at(index, m.uint(), m.constant(0)))
    value, other = m.load(type, m.at(source, type)), m.load(type, m.at(written, type, m.constant(5)))
    m.store(m.at(result, type), m.ballot(WRITE, type, value, other, lane))
    m.end(after)
    random = np.random.default_rng(5)
    values, others = (random.integers(1, 1 << bits, (LANES, 4 if components == 3 else 1), np.uint64).astype(f"u{bits // 8}") for _ in range(2))
    found = run(m.words(), [np.ones(LANES, np.uint32), values, others, np.zeros_like(values), np.array([21], np.uint32)], target, wave)[3]
    wanted = np.where(np.arange(LANES)[:, None] % wave == 21, others[5], values)
    assert found[:, :components].tolist() == wanted[:, :components].tolist()


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_counts_of_lanes_below(target: str, wave: int) -> None:
    m = Ballot()
    wide = m.uint(64)
    masks, result = m.array_of(wide, 8), m.array_of(m.uint(), 4)
    after = m.begin()
    m.store(m.at(result, m.uint()), m.ballot(MBCNT, m.uint(), m.load(wide, m.at(masks, wide))))
    m.end(after)
    random = np.random.default_rng(6)
    active, words = random.integers(0, 3, LANES).astype(np.uint32), random.integers(0, 1 << 63, LANES, np.uint64) * np.uint64(2)
    words[7] = 2**64 - 1
    found = run(m.words(), [active, words, np.zeros(LANES, np.uint32)], target, wave)[2]
    for lane in range(LANES):
        assert found[lane] == ((int(words[lane]) & ((1 << lane % wave) - 1)).bit_count() if active[lane] else 0)


def _message(number: int, *operands: int | tuple[int, ...]) -> str:
    m = Ballot()
    ids = [m.constant(operand) if isinstance(operand, int) else m.vector(*operand) for operand in operands]
    m.ballot(number, m.uint(), *ids)
    with pytest.raises(InputError) as error:
        spirv.read(m.words())
    return str(error.value)


def test_what_is_wrong_is_named() -> None:
    assert "has no instruction 5" in _message(5, 1)
    assert "has no instruction 1 with so many operands" in _message(SWIZZLE, 1)
    assert "constant vector of 4 32-bit integers" in _message(SWIZZLE, 1, (0, 1, 2))
    assert "not below 4" in _message(SWIZZLE, 1, (0, 1, 2, 4))
    assert "not below 32" in _message(MASKED, 1, (0, 32, 2))
    assert "not a 64-bit integer" in _message(MBCNT, 1)
    assert "different types" in _message(WRITE, 1, (2, 3), 4)
