"""Subgroup operations whose results are put together: scans with the own value, shuffles of which one is chosen, reads of a whole quad."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from module_words import enumerant
from test_compute_extensions import LANES, Kernel, run

import pyaco

TARGETS = [("gfx600", 64), ("gfx803", 64), ("gfx900", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 64), ("gfx1200", 32)]
OPERATIONS = ("IAdd", "IMul", "SMin", "UMin", "SMax", "UMax", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
GLSL = {"SMin": 39, "UMin": 38, "SMax": 42, "UMax": 41}
SUBGROUP = 3


class Numbers(Kernel):
    """A module that loads a number, and stores results behind each other."""

    def __init__(self, *capabilities: str) -> None:
        super().__init__("GroupNonUniform", *capabilities)
        self.number, self.boolean = self.uint(), self.type("Bool")
        self.source, self.target = self.array_of(self.number, 4), self.array_of(self.number, 4)
        self.value = self.load(self.number, self.at(self.source, self.number))
        self.results = 0

    def result(self, value: int) -> None:
        place = self.op("IAdd", self.number, self.index, self.constant(LANES * self.results))
        self.store(self.at(self.target, self.number, place), value)
        self.results += 1

    def joined(self, name: str, left: int, right: int) -> int:
        return self.glsl(GLSL[name], self.number, left, right) if name in GLSL else self.op(name, self.number, left, right)

    @functools.cached_property
    def module(self) -> bytes:
        return self.words()

    def run(self, target: str, wave: int, numbers: np.ndarray | None = None) -> None:
        """The interpreter, which `run` compares with, executes the module as it is."""
        random = np.random.default_rng(5)
        words = random.integers(0, 1 << 32, LANES, np.uint64).astype(np.uint32) if numbers is None else numbers
        run(self.module, [words, np.zeros(LANES * self.results, np.uint32)], target, wave)

    def code(self) -> str:
        return pyaco.compile(self.module, "gfx1030", wave=64).disassembly


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_scans_include_the_own_value(target: str, wave: int) -> None:
    m = Numbers("GroupNonUniformArithmetic")
    for k, name in enumerate(OPERATIONS):
        scan = m.op(f"GroupNonUniform{name}", m.number, m.constant(SUBGROUP), enumerant("GroupOperation", "ExclusiveScan"), m.value)
        m.result(m.joined(name, *((scan, m.value) if k % 2 else (m.value, scan))))
    m.run(target, wave)
    inclusive = Numbers("GroupNonUniformArithmetic")
    for name in OPERATIONS:
        inclusive.result(inclusive.op(f"GroupNonUniform{name}", inclusive.number, inclusive.constant(SUBGROUP),
                                      enumerant("GroupOperation", "InclusiveScan"), inclusive.value))
    assert len(m.code().splitlines()) == len(inclusive.code().splitlines())


@pytest.mark.parametrize("kind", ["also stored", "another operation", "another value", "twice"])
def test_scans_that_are_read_otherwise_stay(kind: str) -> None:
    m = Numbers("GroupNonUniformArithmetic")
    scan = m.op("GroupNonUniformIAdd", m.number, m.constant(SUBGROUP), enumerant("GroupOperation", "ExclusiveScan"), m.value)
    own = m.op("BitwiseXor", m.number, m.value, m.constant(5)) if kind == "another value" else m.value
    m.result(m.joined("IMul" if kind == "another operation" else "IAdd", scan, scan if kind == "twice" else own))
    if kind == "also stored":
        m.result(scan)
    m.run("gfx1030", 64)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_one_shuffle_by_the_index_that_is_chosen(target: str, wave: int) -> None:
    m = Numbers("GroupNonUniformShuffle")
    low, high = (m.op("BitwiseAnd", m.number, m.op("ShiftRightLogical", m.number, m.value, m.constant(shift)), m.constant(31)) for shift in (3, 9))
    first, second = (m.op("GroupNonUniformShuffle", m.number, m.constant(SUBGROUP), m.value, index) for index in (low, high))
    odd = m.op("INotEqual", m.boolean, m.op("BitwiseAnd", m.number, m.value, m.constant(1)), m.constant(0))
    m.result(m.op("Select", m.number, odd, first, second))
    m.run(target, wave)
    if target == "gfx900":
        assert pyaco.compile(m.module, target).disassembly.count("ds_bpermute_b32") == 1


def test_shuffles_that_need_no_index_stay() -> None:
    """Each is a pattern of quads: a move by DPP."""
    m = Numbers("GroupNonUniformShuffle")
    first, second = (m.op("GroupNonUniformShuffleXor", m.number, m.constant(SUBGROUP), m.value, m.constant(mask)) for mask in (1, 2))
    odd = m.op("INotEqual", m.boolean, m.op("BitwiseAnd", m.number, m.value, m.constant(1)), m.constant(0))
    m.result(m.op("Select", m.number, odd, first, second))
    m.run("gfx1030", 64)
    assert "quad_perm" in m.code() and "ds_bpermute" not in m.code()


@pytest.mark.parametrize("kind", ["broadcasts", "swaps"])
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_all_four_lanes_of_a_quad_are_a_vote(target: str, wave: int, kind: str) -> None:
    m = Numbers("GroupNonUniformQuad")
    odd = m.op("INotEqual", m.boolean, m.op("BitwiseAnd", m.number, m.value, m.constant(3)), m.constant(0))
    subgroup = m.constant(SUBGROUP)
    if kind == "broadcasts":
        parts = [m.op("GroupNonUniformQuadBroadcast", m.boolean, subgroup, odd, m.constant(k)) for k in (2, 0, 3, 1)]
    else:
        parts = [odd, *(m.op("GroupNonUniformQuadSwap", m.boolean, subgroup, odd, m.constant(k)) for k in range(3))]
    a, b, c, d = parts
    one, zero = m.constant(1), m.constant(0)
    for name in ("LogicalOr", "LogicalAnd"):
        chain = m.op(name, m.boolean, m.op(name, m.boolean, m.op(name, m.boolean, a, b), c), d)
        m.result(m.op("Select", m.number, chain, one, zero))
    pairs = m.op("LogicalAnd", m.boolean, m.op("LogicalAnd", m.boolean, a, c), m.op("LogicalAnd", m.boolean, d, b))
    m.result(m.op("Select", m.number, pairs, one, zero))
    m.run(target, wave, np.random.default_rng(7).choice([0, 4, 1, 2], LANES, p=[0.3, 0.1, 0.3, 0.3]).astype(np.uint32))
    if target == "gfx1030":
        assert "s_wqm" in m.code() and "dpp" not in m.code()


def test_three_lanes_of_a_quad_are_no_vote() -> None:
    m = Numbers("GroupNonUniformQuad")
    odd = m.op("INotEqual", m.boolean, m.op("BitwiseAnd", m.number, m.value, m.constant(1)), m.constant(0))
    parts = [m.op("GroupNonUniformQuadBroadcast", m.boolean, m.constant(SUBGROUP), odd, m.constant(k)) for k in (0, 1, 2, 2)]
    any_of = parts[0]
    for part in parts[1:]:
        any_of = m.op("LogicalOr", m.boolean, any_of, part)
    m.result(m.op("Select", m.number, any_of, m.constant(1), m.constant(0)))
    m.run("gfx1030", 32)
