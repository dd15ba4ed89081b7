"""Every rule of ``nir/data/algebraic.txt``: an expression that it matches has the same value before and after the pass.

The test reads the table. For each rule and each bit size that its opcodes take, the pattern becomes a shader: letters are inputs, letters
with ``#`` constants that meet the condition. The interpreter runs it as it is and after the pass, which must have found something to do.
A rule that needs not be exact (``~``) is tried on positive powers of two, where no result rounds; the others on every kind of value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from opcode_shaders import UINT, buffer, run_lanes

import pyaco
from pyaco._core.ir.shader import Shader
from pyaco._core.nir import algebraic, validate
from pyaco.errors import PyacoError
from pyaco.nir.builder import Builder

DATA = Path(pyaco.__file__).parent / "nir" / "data"
OPCODES = {row[0]: row for line in (DATA / "alu.txt").read_text().splitlines() if (row := line.split("#")[0].split())}
# The opcodes that booleans have.
LOGIC = ("iand", "ior", "ixor", "inot", "ieq", "ine", "bcsel")
LANES = 64
SIZES = (1, 8, 16, 32, 64)
FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}
TOKEN = re.compile(r"\s*([!~]*[a-z_0-9]+(?:@\d+)?\(|#?[a-z](?:@\d+)?(?![a-z_0-9(])|-?\d+\.\d+|-?\d+|[(),])")


@dataclass
class Node:
    """A node of a pattern: an opcode with operands, a letter, or a number."""

    name: str
    bits: int = 0
    constant: bool = False
    inexact: bool = False
    operands: list[Node] = field(default_factory=list)


def parse(tokens: list[str]) -> Node:
    token = tokens.pop(0)
    name, _, bits = token.strip("!~#(").partition("@")
    node = Node(name, int(bits or 0), token.startswith("#"), "~" in token)
    if token.endswith("("):
        while True:
            node.operands.append(parse(tokens))
            if tokens.pop(0) == ")":
                return node
    return node


def is_commutative(node: Node) -> bool:
    return bool(node.operands) and "c" in OPCODES[node.name][3]


def commutative_nodes(node: Node) -> int:
    return is_commutative(node) + sum(commutative_nodes(operand) for operand in node.operands)


@dataclass
class Rule:
    text: str
    late: bool
    pattern: Node
    condition: str
    letters: str

    @property
    def inexact(self) -> bool:
        return "~" in self.text


def rules() -> list[Rule]:
    found, late = [], False
    for line in (DATA / "algebraic.txt").read_text().splitlines():
        text = re.sub(r"\s+", " ", line.strip())
        if text.startswith("["):
            late = text == "[late]"
        elif text and not text.startswith("#"):
            pattern, rest = text.split("=>")
            _, _, condition = rest.partition(" if ")
            name, _, letters = condition.strip(" )").partition("(")
            found.append(Rule(text, late, parse(TOKEN.findall(pattern)), name, letters))
    return found


def type_of(name: str, operand: int | None = None) -> tuple[str, int]:
    """Base type and bits (0 any) of an opcode's operand or, without one, its result."""
    row = OPCODES[name]
    match = re.match(r"([a-z]+)(\d*)", row[2 if operand is None else 4 + operand])
    assert match
    return match[1], int(match[2] or (match[1] == "bool"))


class Case:
    """One rule at one bit size, with chosen constants."""

    def __init__(self, rule: Rule, size: int, seed: int) -> None:
        self.rule, self.size = rule, size
        self.random = np.random.default_rng(seed)
        self.swaps = 0                      # bit n: the n-th commutative node that is built has its operands exchanged
        self.sizes: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        self.constants: dict[str, int] = {}
        self.collect(rule.pattern, *self.root())
        self.choose_constants()

    def free(self, node: Node) -> int:
        """Bits of the operands without a size of an opcode, as one of them says or makes it; 0: any."""
        for k, operand in enumerate(node.operands):
            if type_of(node.name, k)[1] == 0:
                bits = operand.bits or (type_of(operand.name)[1] if operand.operands else 0)
                if bits:
                    return bits
        return 0

    def root(self) -> tuple[str, int]:
        node = self.rule.pattern
        base, bits = type_of(node.name)
        size = bits or node.bits or self.free(node) or self.size
        if base == "float" and size not in FLOATS:
            raise ValueError("no float of this size")
        return base, size

    def operands(self, node: Node, bits: int) -> list[tuple[Node, str, int]]:
        """The operands of an opcode with the types that they have when its result has `bits` bits."""
        fixed = type_of(node.name)[1]
        free = self.free(node) or self.size if fixed else bits
        result = []
        for k, operand in enumerate(node.operands):
            base, sized = type_of(node.name, k)
            if base == "float" and (sized or free) not in FLOATS:
                raise ValueError("no float of this size")
            if not sized and free == 1 and node.name not in LOGIC:
                raise ValueError("not an operation on booleans")
            result.append((operand, base, sized or free))
        return result

    def collect(self, node: Node, base: str, bits: int) -> None:
        """Find out what sizes and types the letters have; a size that does not fit ends the case."""
        if node.bits and node.bits != bits:
            raise ValueError(f"{node.name} has {node.bits} bits")
        if node.operands:
            _, fixed = type_of(node.name)
            if fixed and fixed != bits:
                raise ValueError(f"{node.name} has {fixed} bits")
            for operand, kind, size in self.operands(node, bits):
                self.collect(operand, kind, size)
        elif node.name.isalpha():
            if self.sizes.setdefault(node.name, bits) != bits:
                raise ValueError(f"{node.name} would have two sizes")
            if self.kinds.get(node.name) != "float":
                self.kinds[node.name] = base
            if node.constant:
                self.constants[node.name] = 0
        elif "." in node.name and bits not in FLOATS:
            raise ValueError("no float of this size")

    def choose_constants(self) -> None:
        rule, size = self.rule, self.size
        for name in self.constants:
            self.constants[name] = int(self.values(name, 1)[0])
        first, *others = [*rule.letters.replace(" ", "").split(","), ""]
        if rule.condition == "power_of_two":
            self.constants[first] = 1 << int(self.random.integers(self.sizes[first]))
        elif rule.condition == "low_mask":
            self.constants[first] = (1 << int(self.random.integers(1, self.sizes[first]))) - 1
        elif rule.condition == "sum_is_32":
            self.constants[first] = int(self.random.integers(1, 32))
            self.constants[others[0]] = 32 - self.constants[first]
        elif rule.condition == "shifts_fit":
            total = int(self.random.integers(1, size))
            self.constants[first] = int(self.random.integers(total))
            self.constants[others[0]] = total - self.constants[first]
        elif rule.condition == "reciprocal_is_exact":
            self.constants[first] = self.float_bits(2.0 ** int(self.random.integers(-6, 7)), size)
        elif rule.condition == "not_negative":
            self.constants[first] &= (1 << self.sizes[first] - 1) - 1
        elif rule.condition == "not_zero":
            self.constants[first] |= 1
        elif rule.condition == "complement":
            self.constants[others[0]] = self.constants[first] ^ ((1 << self.sizes[first]) - 1)
        elif rule.condition == "mask_covers":
            bits = self.sizes[first]
            self.constants[others[0]] = int(self.random.integers(bits))
            self.constants[first] |= ((1 << bits) - 1) >> self.constants[others[0]]
        elif rule.condition == "mask_covers_above":
            bits = self.sizes[first]
            self.constants[others[0]] = int(self.random.integers(bits))
            self.constants[first] |= ((1 << bits) - 1) << self.constants[others[0]] & ((1 << bits) - 1)
        elif rule.condition == "aligned_by":
            bits = self.sizes[first]
            self.constants[others[0]] = ((1 << bits) - 1) << int(self.random.integers(bits)) & ((1 << bits) - 1)
            self.constants[first] &= self.constants[others[0]]
        elif rule.condition == "in_order":
            low, high = sorted(self.random.integers(-8, 9, 2))
            self.constants[first], self.constants[others[0]] = (self.float_bits(x / 4, self.sizes[first]) for x in (low, high))
        elif rule.condition == "narrows" and self.sizes[first] <= self.root()[1]:
            raise ValueError("does not narrow")

    @staticmethod
    def float_bits(number: float, bits: int) -> int:
        return int(np.array(number, FLOATS[bits]).view(UINT[bits]))

    def values(self, name: str, count: int = LANES) -> np.ndarray:
        """Bits of what a letter is in each lane."""
        bits = self.sizes[name]
        if bits == 1:
            return self.random.integers(0, 2, count).astype(np.uint32)
        if self.kinds[name] == "float" and self.rule.inexact:
            exponents = self.random.integers(-3, 4, count)
            return (2.0 ** exponents).astype(FLOATS[bits]).view(UINT[bits])
        values = self.random.integers(0, 1 << bits if bits < 64 else 1 << 63, count, dtype=np.uint64)
        values >>= self.random.integers(0, bits, count, dtype=np.uint64) * self.random.integers(0, 2, count, dtype=np.uint64)
        special = np.array([0, 1, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1, bits], np.uint64)
        return np.where(self.random.random(count) < 0.3, special[self.random.integers(0, len(special), count)], values).astype(UINT[bits])

    # -------------------------------------------------------------------------------------------------------- the shader
    def shader(self) -> Shader:
        b = Builder(workgroup_size=(LANES, 1, 1), gfx_level=103)
        lane = b.load_local_invocation_index()
        letters = {}
        for index, name in enumerate(sorted(self.sizes)):
            bits = self.sizes[name]
            if name in self.constants:
                letters[name] = b.imm(self.constants[name], bits)
            else:
                letters[name] = b.load(b.deref_array(buffer(b, index, max(bits, 8) if bits > 1 else 32), lane))
                if bits == 1:
                    letters[name] = b.ine(letters[name], b.imm(0))
        value = self.build(b, letters, self.rule.pattern, self.root()[1])
        if b.bit_size(value) == 1:
            value = b.b2i32(value)
        self.result_bits = b.bit_size(value)
        result = b.deref_array(buffer(b, len(self.sizes), self.result_bits), lane)
        if self.rule.condition == "both_read_often":
            for name in 3 * re.findall("[a-z]", self.rule.letters):
                b.store(result, letters[name])
        b.store(result, value)
        return b.finish()

    def exchanges(self, node: Node) -> bool:
        """Whether the operands of the node that is built next change places."""
        if not is_commutative(node):
            return False
        self.swaps, swapped = self.swaps >> 1, bool(self.swaps & 1)
        return swapped

    def build(self, b: Builder, letters: dict[str, int], node: Node, bits: int) -> int:
        if node.operands:
            swapped = self.exchanges(node)
            operands = [self.build(b, letters, operand, size) for operand, _, size in self.operands(node, bits)]
            if swapped:
                operands[:2] = operands[1::-1]
            return int(b.alu(node.name, *operands, bit_size=bits))
        if node.name.isalpha():
            return letters[node.name]
        if "." in node.name:
            return b.imm(int(np.array(float(node.name), FLOATS[bits]).view(UINT[bits])), bits)
        return b.imm(int(node.name) & ((1 << bits) - 1), bits)

    def check(self) -> None:
        inputs = [self.values(name) for name in sorted(self.sizes)]
        shader = self.shader()
        validate.run(shader)
        before = run_lanes(shader, inputs, self.result_bits)
        shader = self.shader()
        assert algebraic.run(shader, {"late": self.rule.late}), f"{self.rule.text}: nothing was found at {self.size} bits"
        validate.run(shader)
        after = run_lanes(shader, inputs, self.result_bits)
        base, bits = self.root()
        if base == "float":
            wanted, found = before.view(FLOATS[bits]), after.view(FLOATS[bits])
            close = np.isclose(wanted, found, rtol=4e-3) if self.rule.inexact else before == after
            assert (close | (np.isnan(wanted) & np.isnan(found))).all(), (self.rule.text, wanted, found)
        else:
            np.testing.assert_array_equal(after, before, err_msg=self.rule.text)


RULES = rules()


@pytest.mark.parametrize("rule", RULES, ids=[rule.text.split(" =>")[0].replace(" ", "") for rule in RULES])
def test_rule(rule: Rule) -> None:
    tried = 0
    for size in SIZES:
        for seed in range(3):
            try:
                case = Case(rule, size, seed)
                shader = case.shader()
                validate.run(shader)
            except (ValueError, PyacoError):
                continue
            case.check()
            tried += 1
    assert tried, f"no bit size fits {rule.text}"


NESTED = [rule for rule in RULES if commutative_nodes(rule.pattern) > 1]


@pytest.mark.parametrize("rule", NESTED, ids=[rule.text.split(" =>")[0].replace(" ", "") for rule in NESTED])
def test_operands_in_any_order(rule: Rule) -> None:
    """Operands of commutative opcodes match both ways round, in each node of a pattern whatever they are in the others."""
    for size in (32, 16, 1, 64, 8):
        try:
            case = Case(rule, size, seed=0)
            validate.run(case.shader())
            break
        except (ValueError, PyacoError):
            continue
    for swaps in range(1 << commutative_nodes(rule.pattern)):
        case.swaps = swaps
        shader = case.shader()
        assert algebraic.run(shader, {"late": rule.late}), f"{rule.text}: nothing was found in the order {swaps:b}"
