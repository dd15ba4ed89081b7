"""The bottom-up tree automaton of the algebraic rules: which rules can match at an instruction, in one look at a table.

A state is the set of sub-patterns that a value matches, letters, bit sizes and exactness left out: what remains is checked when a rule is
tried. The state of an ALU instruction follows from its opcode and the states of its operands, so one walk over the instructions gives all of
them. What an operand's state says is only of interest as far as patterns ask for it at that operand: states that do not differ there are one
class, which keeps the tables small. Each state has, for each group, the list of rules whose root it contains.

After Hoffmann and O'Donnell, "Pattern Matching in Trees" (1982), and Chase, "An Improvement to Bottom-up Tree Pattern Matching" (1987).
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Automaton", "constant_bits"]

#: ("any",), ("constant",), ("integer", bits), ("float", bits of a double) or ("opcode", name, terms of the operands).
Term = tuple[Any, ...]
State = frozenset[Term]

ANY: Term = ("any",)
CONSTANT: Term = ("constant",)
BIT_SIZES = (1, 8, 16, 32, 64)
FLOATS = {16: "<e", 32: "<f", 64: "<d"}
INTEGERS = {16: "<H", 32: "<I", 64: "<Q"}


def constant_bits(term: Term, size: int) -> int | None:
    """Bits of a constant's term in a value of `size` bits; None where no such value matches."""
    if term[0] == "integer":
        return int(term[1]) & ((1 << size) - 1)
    if size not in FLOATS:
        return None
    number = struct.unpack("<d", struct.pack("<Q", term[1]))[0]
    try:
        return int(struct.unpack(INTEGERS[size], struct.pack(FLOATS[size], number))[0])
    except OverflowError:
        return None


@dataclass
class Opcode:
    """What the automaton knows of one opcode.

    Attributes
    ----------
    patterns : list
        Terms with this opcode at their root.
    wanted : list of set
        For each operand, the terms that a pattern asks for there.
    classes : list of dict
        For each operand, the number of each set of wanted terms that a state may have.
    """

    commutative: bool
    patterns: list[Term] = field(default_factory=list)
    wanted: list[set[Term]] = field(default_factory=list)
    classes: list[dict[State, int]] = field(default_factory=list)

    def add(self, term: Term) -> None:
        """Note a pattern."""
        operands = term[2]
        if not self.patterns:
            self.wanted = [set() for _ in operands]
            self.classes = [{frozenset(): 0} for _ in operands]
        if term in self.patterns:
            return
        self.patterns.append(term)
        for order in self.orders(operands):
            for wanted, operand in zip(self.wanted, order, strict=True):
                wanted.update({operand} - {ANY})

    def orders(self, operands: Sequence[Any]) -> list[list[Any]]:
        """The operands as they may stand."""
        swapped = [list(operands)]
        if self.commutative:
            swapped.append([operands[1], operands[0], *operands[2:]])
        return swapped

    def classify(self, state: State) -> list[int]:
        """The class of a state at each operand, new ones with the next number."""
        return [classes.setdefault(state & wanted, len(classes)) for classes, wanted in zip(self.classes, self.wanted, strict=True)]

    def matched(self, operands: Sequence[State]) -> State:
        """The patterns that an instruction with operands of such states matches."""
        return frozenset(
            term for term in self.patterns
            if any(all(wanted == ANY or wanted in state for wanted, state in zip(order, operands, strict=True)) for order in self.orders(term[2]))
        )  # fmt: skip


class Automaton:
    """States and transitions for a list of patterns.

    Parameters
    ----------
    patterns : list of tuple
        The pattern of each rule.
    commutative : set of str
        Opcodes whose first two operands may be exchanged.
    """

    def __init__(self, patterns: Sequence[Term], commutative: set[str]) -> None:
        self.opcodes: dict[str, Opcode] = {}
        self.constants: set[Term] = set()
        for term in patterns:
            self.learn(term, commutative)
        self.numbers: dict[State, int] = {frozenset(): 0}
        self.transitions: dict[str, dict[tuple[int, ...], int]] = {name: {} for name in self.opcodes}
        self.any_constant = self.number(frozenset({CONSTANT, *self.constants}))
        self.other_constant = self.number(frozenset({CONSTANT}))
        self.constant_states = self.states_of_constants()
        self.close()

    def learn(self, term: Term, commutative: set[str]) -> None:
        """Note the opcodes and constants of a pattern."""
        if term[0] in ("integer", "float"):
            self.constants.add(term)
        elif term[0] == "opcode":
            self.opcodes.setdefault(term[1], Opcode(term[1] in commutative)).add(term)
            for operand in term[2]:
                self.learn(operand, commutative)

    def number(self, state: State) -> int:
        """The number of a state."""
        return self.numbers.setdefault(state, len(self.numbers))

    def states_of_constants(self) -> dict[tuple[int, int], int]:
        """States of constants that patterns name, by bit size and bits."""
        found: dict[tuple[int, int], set[Term]] = {}
        for size, term in itertools.product(BIT_SIZES, sorted(self.constants)):
            value = constant_bits(term, size)
            if value is not None:
                found.setdefault((size, value), {CONSTANT}).add(term)
        return {key: self.number(frozenset(terms)) for key, terms in found.items()}

    def close(self) -> None:
        """Find every state that operands of known states lead to."""
        classified = 0
        while classified < len(self.numbers):
            for state in list(self.numbers)[classified:]:
                for opcode in self.opcodes.values():
                    opcode.classify(state)
            classified = len(self.numbers)
            for name, opcode in self.opcodes.items():
                known = self.transitions[name]
                for operands in itertools.product(*opcode.classes):
                    key = tuple(classes[state] for classes, state in zip(opcode.classes, operands, strict=True))
                    if key not in known:
                        known[key] = self.number(opcode.matched(operands))

    def column(self, name: str, operand: int) -> list[int] | None:
        """The class of each state at an operand; None where there is but one."""
        opcode = self.opcodes[name]
        classes, wanted = opcode.classes[operand], opcode.wanted[operand]
        return [classes[state & wanted] for state in self.numbers] if len(classes) > 1 else None

    def table(self, name: str) -> list[int]:
        """States that an opcode gives, the class of the last operand running fastest."""
        counts = [range(len(classes)) for classes in self.opcodes[name].classes]
        return [self.transitions[name][key] for key in itertools.product(*counts)]
