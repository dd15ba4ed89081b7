"""Tables of the algebraic rules, from ``pyaco/nir/data/algebraic.txt`` and ``lower_alu.txt``.

Every pattern and replacement is a tree in one array of nodes; ``algebraic.pyx`` walks them. Kinds of nodes: 0 opcode,
1 variable, 2 integer constant, 3 float constant. Which rules are tried at an instruction, the automaton of ``algebraic_automaton.py`` says.
"""

from __future__ import annotations

import itertools
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

from algebraic_automaton import ANY, CONSTANT, Automaton, Term

CONDITIONS = ("", "power_of_two", "shifts_fit", "sum_is_32", "low_mask", "reciprocal_is_exact", "narrows",
              "not_negative", "not_zero", "complement", "mask_covers", "mask_covers_above", "aligned_by", "in_order")
#: Conditions that each of their letters meets or not by itself: flags of these letters' nodes, so that a match ends where it binds such a letter.
LETTER_CONDITIONS = {"varies": 8, "both_vary": 8, "both_read_often": 16}
FILES = ("algebraic.txt", "lower_alu.txt")
GROUPS = ("[main]", "[late]", "[define]", "[lower]", "[lower_dot_4x8]", "[lower_sudot]", "[lower_dot_2x16]")
TOKEN = re.compile(r"\s*([!~]*[a-z_][a-z_0-9]*(?:@\d+)?\(|#?[a-z](?:\.\d+)?(?:@\d+)?(?![a-z_0-9(])|[a-z][a-z_0-9]+|"
                   r"0x[0-9a-f]+|-?\d+\.\d+(?:e-?\d+)?|-?\d+|[(),])")
#: The value of a variable's node: which letter, and from this bit on the component of its value.
COMPONENT_SHIFT = 4
#: Nodes of a pattern whose operands may be exchanged, at most: `algebraic.pyx` keeps a bit for each order of all.
MOST_COMMUTATIVE = 6


@dataclass
class Tables:
    """Rows of the node arrays."""

    kind: list[int] = field(default_factory=list)
    opcode: list[str] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    bits: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)

    def add(self, kind: int, opcode: str = "0", value: int = 0, bits: int = 0, flags: int = 0) -> int:
        """Append a node and return its row."""
        self.kind.append(kind)
        self.opcode.append(opcode)
        self.value.append(value)
        self.bits.append(bits)
        self.flags.append(flags)
        self.children.append([])
        return len(self.kind) - 1


class Parser:
    """Recursive descent over one expression."""

    def __init__(self, text: str, tables: Tables) -> None:
        self.tokens = []
        position = 0
        while position < len(text.rstrip()):
            match = TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"algebraic rule: cannot read {text[position:]!r}")
            self.tokens.append(match[1])
            position = match.end()
        self.tables = tables
        self.component = 0

    def take(self) -> str:
        """Return the next token."""
        return self.tokens.pop(0)

    def expression(self) -> int:
        """Parse one expression and return its node."""
        token = self.take()
        if token == "reduce(":
            return self.reduction()
        if token.endswith("("):
            name, _, bits = token[:-1].lstrip("!~").partition("@")
            marks = token[:2]
            node = self.tables.add(0, f"alu_{name}", 0, int(bits or 0), 1 * ("~" in marks) | 4 * ("!" in marks))
            while True:
                child = self.expression()
                self.tables.children[node].append(child)
                if self.take() == ")":
                    return node
        letter = re.fullmatch(r"(#?)([a-z])(?:\.(\d+))?(?:@(\d+))?", token)
        if letter:
            component = self.component if letter[3] is None else int(letter[3])
            value = ord(letter[2]) - ord("a") | component << COMPONENT_SHIFT
            return self.tables.add(1, "0", value, int(letter[4] or 0), 2 * bool(letter[1]))
        if "." in token:
            return self.tables.add(3, "0", struct.unpack("<Q", struct.pack("<d", float(token)))[0])
        return self.tables.add(2, "0", int(token, 0) & 0xFFFFFFFFFFFFFFFF)

    def reduction(self) -> int:
        """Parse the rest of ``reduce(4, fadd, fmul(a, b))``: the expression of each component, from the last on, joined by an opcode."""
        count, _, join, _ = (self.take() for _ in range(4))
        rest = list(self.tokens)
        total = None
        for self.component in reversed(range(int(count))):
            self.tokens = list(rest)
            term = self.expression()
            if total is not None:
                node = self.tables.add(0, f"alu_{join}")
                self.tables.children[node] += [term, total]
                term = node
            total = term
        assert total is not None and self.take() == ")"
        return total


def flag_letters(tables: Tables, first: int, letters: list[str], flag: int) -> None:
    """Set a flag in the nodes of some letters of the pattern whose nodes are the last, from `first` on."""
    for node in range(first, len(tables.kind)):
        if tables.kind[node] == 1 and chr(ord("a") + (tables.value[node] & (1 << COMPONENT_SHIFT) - 1)) in letters:
            tables.flags[node] |= flag


def read_rules(source: Path, tables: Tables) -> list[tuple[int, str, int, int, str, str]]:
    """Return (group, root opcode, pattern, replacement, condition, condition's letters) of every rule."""
    rules = []
    group = 0
    lines = "\n".join((source / "pyaco/nir/data" / name).read_text() for name in FILES).splitlines()
    for line in lines:
        text = line.strip()
        if text.startswith("["):
            group = GROUPS.index(text)
        elif text and not text.startswith("#"):
            pattern, _, rest = text.partition("=>")
            replacement, _, condition = re.sub(r"\s{2,}if ", " ;", rest).partition(";")
            name, _, letters = condition.strip().rstrip(")").partition("(")
            root = Parser(pattern, tables).expression()
            if name in LETTER_CONDITIONS:
                flag_letters(tables, root, letters.replace(" ", "").split(","), LETTER_CONDITIONS[name])
                name = ""
            target = Parser(replacement, tables).expression()
            rules.append((group, tables.opcode[root], root, target, name, letters.replace(" ", "")))
    return rules


def numbers(kind: str, name: str, values: list[str]) -> str:
    """Return a C array definition."""
    return f"static const {kind} {name}[] = {{{', '.join(values)}}};"


def term(tables: Tables, node: int) -> Term:
    """A pattern without its letters, bit sizes and flags."""
    if tables.kind[node] == 0:
        return ("opcode", tables.opcode[node], tuple(term(tables, child) for child in tables.children[node]))
    if tables.kind[node] == 1:
        return CONSTANT if tables.flags[node] & 2 else ANY
    return ("integer" if tables.kind[node] == 2 else "float", tables.value[node])


def letters_below(tables: Tables, node: int, depth: int = 0) -> list[tuple[str, int]]:
    """The letters of a pattern, each with its depth below `node`."""
    if tables.kind[node] == 1:
        return [(str(tables.value[node]), depth)]
    return [found for child in tables.children[node] for found in letters_below(tables, child, depth + 1)]


def repetition(tables: Tables, pattern: int) -> int:
    """A letter that two operands of a pattern's root have, the less deep the better: the number of each and the letter's depth in it, in two bits
    each; 0 where there is none."""
    branches = [letters_below(tables, child) for child in tables.children[pattern]]
    found = [
        (max(depth, other_depth), i, depth, j, other_depth)
        for i, j in itertools.combinations(range(len(branches)), 2)
        for letter, depth in branches[i]
        for other, other_depth in branches[j]
        if letter == other and depth < 4 and other_depth < 4
    ]  # fmt: skip
    if not found:
        return 0
    _, i, depth, j, other_depth = min(found)
    return i | depth << 2 | j << 4 | other_depth << 6


def commutative_nodes(pattern: Term, commutative: set[str]) -> int:
    """How many nodes of a pattern have operands that may be exchanged."""
    if pattern[0] != "opcode":
        return 0
    return (pattern[1] in commutative) + sum(commutative_nodes(operand, commutative) for operand in pattern[2])


def alu_opcodes(source: Path) -> dict[str, bool]:
    """All ALU opcodes in the order of their numbers, and whether their first two operands may be exchanged."""
    rows = [line.split("#")[0].split() for line in (source / "pyaco/nir/data/alu.txt").read_text().splitlines()]
    return {f"alu_{row[0]}": "c" in row[3] for row in rows if row}


def flat_lists(lists: list[list[int]], end: int) -> tuple[list[int], list[int]]:
    """All lists in one array, equal ones once, each followed by `end`; and where each begins."""
    places: dict[tuple[int, ...], int] = {}
    array: list[int] = []
    for each in lists:
        if tuple(each) not in places:
            places[tuple(each)] = len(array)
            array += [*each, end]
    return array, [places[tuple(each)] for each in lists]


def automaton_tables(automaton: Automaton, patterns: list[Term], groups: list[int], alu: list[str]) -> list[str]:
    """The automaton in C, for rules with such patterns and of such groups; `alu` has all opcodes in order."""
    states, names = list(automaton.numbers), list(automaton.opcodes)
    columns = {(name, i): automaton.column(name, i) for name in names for i in range(len(automaton.opcodes[name].wanted))}
    distinct = [list(column) for column in sorted({tuple(column) for column in columns.values() if column is not None})]
    # Column 0 is that of operands of which every pattern takes anything.
    place = {key: (distinct.index(column) + 1 if column is not None else 0) for key, column in columns.items()}
    transitions, firsts = flat_lists([automaton.table(name) for name in names], 0)
    accepted = [[rule for rule, pattern in enumerate(patterns) if groups[rule] == group and pattern in state]
                for group in range(len(GROUPS)) for state in states]  # fmt: skip
    rules, rule_firsts = flat_lists(accepted, 0xFFFF)
    counts = [[len(each) for each in automaton.opcodes[name].classes] for name in names]
    constants: dict[int, list[str]] = {}
    for (size, value), state in automaton.constant_states.items():
        constants.setdefault(size, []).append(f"case {value}ull: return {state};")
    # Row 0 is for opcodes of no pattern: one class for every operand, and state 0.
    names.insert(0, "")
    return [
        f"enum {{ automaton_states = {len(states)}, automaton_any_constant = {automaton.any_constant} }};",
        numbers("uint16_t", "automaton_first", list(map(str, [len(transitions), *firsts]))),
        numbers("uint16_t", "automaton_next", list(map(str, [*transitions, 0]))),
        numbers("uint8_t", "automaton_column", [str(place.get((name, i), 0)) for name in names for i in range(4)]),
        numbers("uint8_t", "automaton_classes", [str(([*row, 1, 1, 1, 1])[i]) for row in [[], *counts] for i in range(4)]),
        numbers("uint8_t", "automaton_class", [str(x) for column in [[0] * len(states), *distinct] for x in column]),
        numbers("uint16_t", "automaton_accepted", list(map(str, rule_firsts))),
        numbers("uint16_t", "automaton_rules", list(map(str, rules))),
        numbers("uint8_t", "automaton_opcode", [str(names.index(name) if name in names else 0) for name in alu]),
        f"static_assert({alu[-1]} == {len(alu) - 1}, \"opcodes are numbered in the order of their table\");",
        "static inline uint16_t automaton_constant(int bit_size, uint64_t value) {",
        "    switch (bit_size) {",
        *(f"    case {size}: switch (value) {{ {' '.join(cases)} }} break;" for size, cases in constants.items()),
        "    }",
        f"    return {automaton.other_constant};",
        "}",
    ]


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    tables = Tables()
    rules = read_rules(source, tables)
    # Grouped by (group, root opcode); the order within stays that of the file.
    keys = sorted({(group, opcode) for group, opcode, *_ in rules})
    ordered = [rule for key in keys for rule in rules if rule[:2] == key]
    firsts = {key: next(i for i, rule in enumerate(ordered) if rule[:2] == key) for key in keys}
    counts = {key: sum(rule[:2] == key for rule in ordered) for key in keys}
    letters = [[str(ord(x) - ord("a")) for x in rule[5].split(",") if x and x.isalpha()] for rule in ordered]
    flat = [str(([*children, 0, 0, 0, 0])[i]) for children in tables.children for i in range(4)]
    patterns = [term(tables, rule[2]) for rule in ordered]
    alu = alu_opcodes(source)
    commutative = {name for name, commutes in alu.items() if commutes}
    assert max(commutative_nodes(pattern, commutative) for pattern in patterns) <= MOST_COMMUTATIVE
    automaton = Automaton(patterns, commutative)
    header = [
        "#pragma once",
        '#include "nir_opcodes.h"',
        "enum { " + ", ".join(f"condition_{c or 'none'} = {i}" for i, c in enumerate(CONDITIONS)) + " };",
        "enum { " + ", ".join(f"rules_{group.strip('[]')} = {i}" for i, group in enumerate(GROUPS)) + " };",
        f"enum {{ pattern_component_shift = {COMPONENT_SHIFT} }};",
        numbers("uint8_t", "pattern_kind", list(map(str, tables.kind))),
        numbers("uint16_t", "pattern_opcode", tables.opcode),
        numbers("uint64_t", "pattern_value", [f"{value}ull" for value in tables.value]),
        numbers("uint8_t", "pattern_bits", list(map(str, tables.bits))),
        numbers("uint8_t", "pattern_flags", list(map(str, tables.flags))),
        numbers("uint16_t", "pattern_children", flat),
        numbers("uint16_t", "rule_pattern", [str(rule[2]) for rule in ordered]),
        numbers("uint16_t", "rule_replacement", [str(rule[3]) for rule in ordered]),
        numbers("uint8_t", "rule_condition", [str(CONDITIONS.index(rule[4])) for rule in ordered]),
        numbers("uint8_t", "rule_repetition", [str(repetition(tables, rule[2])) for rule in ordered]),
        numbers("uint8_t", "rule_letters", [([*row, "0", "0"])[i] for row in letters for i in range(2)]),
        "static inline void rules_of(int group, int opcode, int *first, int *count) {",
        "    *first = *count = 0;",
        "    switch (group * 4096 + opcode) {",
        *(
            f"    case {group} * 4096 + {opcode}:"
            f" *first = {firsts[group, opcode]}; *count = {counts[group, opcode]}; break;"
            for group, opcode in keys
        ),
        "    }",
        "}",
        *automaton_tables(automaton, patterns, [rule[0] for rule in ordered], list(alu)),
    ]
    declarations = [
        "from libc.stdint cimport uint8_t, uint16_t, uint64_t",
        "",
        'cdef extern from "algebraic_tables.h" nogil:',
        "    enum:",
        *(f"        condition_{c or 'none'}" for c in CONDITIONS),
        *(f"        rules_{group.strip('[]')}" for group in GROUPS),
        "        pattern_component_shift",
        "    const uint8_t *pattern_kind         # 0 opcode, 1 variable, 2 integer, 3 float",
        "    const uint16_t *pattern_opcode",
        "    const uint64_t *pattern_value       # variable number | component << pattern_component_shift, or constant (floats as double bits)",
        "    const uint8_t *pattern_bits         # bit size asked for, 0 any",
        "    const uint8_t *pattern_flags        # 1 inexact, 2 constant variable, 4 without another use, 8 no constant, 16 read often",
        "    const uint16_t *pattern_children    # [node * 4 + child]",
        "    const uint16_t *rule_pattern",
        "    const uint16_t *rule_replacement",
        "    const uint8_t *rule_condition",
        "    const uint8_t *rule_repetition      # a letter of two operands of the root: operand | its depth there << 2, and the same << 4; 0: none",
        "    const uint8_t *rule_letters         # [rule * 2 + i]: variables of the condition",
        "    void rules_of(int group, int opcode, int *first, int *count)",
        "    enum:",
        "        automaton_states",
        "        automaton_any_constant           # the state of a constant whose value is not known",
        "    const uint8_t *automaton_opcode      # [opcode]: its row in what follows; 0: no pattern has it, its state is 0",
        "    const uint16_t *automaton_first      # [row]: its transitions in automaton_next",
        "    const uint16_t *automaton_next       # [first + classes of the operands, the last running fastest]: state",
        "    const uint8_t *automaton_column      # [row * 4 + operand]: its column in automaton_class; 0: one class for all",
        "    const uint8_t *automaton_classes     # [row * 4 + operand]: how many classes",
        "    const uint8_t *automaton_class       # [column * automaton_states + state]",
        "    const uint16_t *automaton_accepted   # [group * automaton_states + state]: the first of its rules in automaton_rules",
        "    const uint16_t *automaton_rules      # lists of rules; 0xffff ends one",
        "    uint16_t automaton_constant(int bit_size, uint64_t value)    # the state of a constant",
    ]
    return {"algebraic_tables.h": "\n".join(header) + "\n", "algebraic_tables.pxd": "\n".join(declarations) + "\n"}
