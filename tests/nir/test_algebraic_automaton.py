"""The tree automaton of the algebraic rules against matching each pattern by itself, on random trees of the rules' own opcodes."""

from __future__ import annotations

import random
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

from algebraic_automaton import ANY, CONSTANT, Automaton, Term, constant_bits  # noqa: E402
from generate_algebraic import Tables, alu_opcodes, read_rules, term  # noqa: E402


@cache
def rules() -> tuple[list[Term], dict[str, bool]]:
    tables = Tables()
    found = read_rules(ROOT, tables)
    return [term(tables, rule[2]) for rule in found], alu_opcodes(ROOT)


@cache
def automaton() -> Automaton:
    patterns, opcodes = rules()
    return Automaton(patterns, {name for name, commutes in opcodes.items() if commutes})


def matches(pattern: Term, tree: Term) -> bool:
    """Whether a tree has the shape of a pattern: top down, both orders of commutative operands."""
    if pattern == ANY:
        return True
    if pattern == CONSTANT:
        return tree[0] == "constant"
    if pattern[0] != "opcode":
        return tree[0] == "constant" and constant_bits(pattern, 32) == tree[1]
    if tree[:2] != pattern[:2]:
        return False
    orders = [list(tree[2])]
    if rules()[1][pattern[1]]:
        orders.append([tree[2][1], tree[2][0], *tree[2][2:]])
    return any(all(map(matches, pattern[2], operands)) for operands in orders)


def state(tree: Term) -> int:
    """The number of the state that the automaton has at a tree."""
    found = automaton()
    if tree[0] == "constant":
        return found.constant_states.get((32, tree[1]), found.other_constant)
    if tree[0] == "opcode" and tree[1] in found.opcodes:
        states = [list(found.numbers)[state(operand)] for operand in tree[2]]
        opcode = found.opcodes[tree[1]]
        key = tuple(classes[each & wanted] for classes, wanted, each in zip(opcode.classes, opcode.wanted, states, strict=True))
        return found.transitions[tree[1]][key]
    return 0


def instance(pattern: Term, chance: random.Random, depth: int) -> Term:
    """A tree near a pattern: some of its nodes are replaced by others, and commutative operands are exchanged."""
    if depth == 0 or chance.random() < 0.05:
        return ("constant", chance.choice([0, 1, 2, 0x3F800000, 0xFFFFFFFF]))
    if pattern == ANY:
        return instance(chance.choice(rules()[0]), chance, depth - 1) if chance.random() < 0.5 else ("other",)
    if pattern[0] != "opcode":
        bits: Any = None if pattern == CONSTANT else constant_bits(pattern, 32)
        return ("constant", 77 if bits is None else bits)
    operands = [instance(operand, chance, depth) for operand in pattern[2]]
    if rules()[1][pattern[1]] and chance.random() < 0.5:
        operands[:2] = operands[1::-1]
    return ("opcode", pattern[1], tuple(operands))


@pytest.mark.parametrize("seed", range(4))
def test_state_has_the_patterns_that_match(seed: int) -> None:
    chance = random.Random(seed)
    states = list(automaton().numbers)
    patterns = rules()[0]
    found = 0
    for pattern in patterns:
        tree = instance(pattern, chance, 4)
        wanted = {each for each in patterns if matches(each, tree)}
        assert wanted == {each for each in states[state(tree)] if each in patterns}, tree
        found += len(wanted)
    assert found > len(patterns) // 2


def test_size_of_the_tables() -> None:
    """The automaton stays a table that a cache holds: patterns that multiply its states are to be seen."""
    found = automaton()
    assert len(found.numbers) < 2000
    assert sum(len(each) for each in found.transitions.values()) < 8000
    assert all(len(classes) < 256 for opcode in found.opcodes.values() for classes in opcode.classes)
