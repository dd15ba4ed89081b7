"""Random structured programs over local variables, for comparing a shader before and after passes."""

from __future__ import annotations

import random

import numpy as np
from opcode_shaders import buffer

from pyaco._core.ir.shader import Shader
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

LANES = 45
OPERATIONS = ("iadd", "isub", "imul", "iand", "ior", "ixor", "umin", "imax", "ushr", "ishl", "udiv", "umod")
COMPARISONS = ("ult", "uge", "ieq", "ine", "ilt")
ARRAY_LENGTH = 6


class Program:
    """Builds one program from a seed; the same seed gives the same program."""

    def __init__(self, seed: int, level: int, wave: int, array_length: int = ARRAY_LENGTH) -> None:
        self.random = random.Random(seed)
        self.b = Builder(gfx_level=level, wave_size=wave, workgroup_size=(LANES, 1, 1))
        self.array_length = array_length
        self.depth = 0
        self.loops = 0
        self.budget = 40

    def build(self) -> Shader:
        b = self.b
        word = b.scalar()
        self.scalars = [b.variable("function_temp", word) for _ in range(4)]
        self.vector = b.variable("function_temp", b.vector(3))
        self.array = b.variable("shader_temp", b.array(word, self.array_length), list(range(self.array_length)))
        lane = b.load_local_invocation_index()
        data = b.load(b.deref_array(buffer(b, 0, 32), lane))
        uniform = b.load(b.deref_array(buffer(b, 0, 32), b.imm(3)))
        starts = [lane, data, uniform, b.imm(self.random.randrange(100))]
        for variable, value in zip(self.scalars, starts, strict=True):
            b.store(b.deref_var(variable), value)
        b.store(b.deref_var(self.vector), b.vec(lane, data, uniform))
        self.statements(6)
        out = buffer(b, 1, 32)
        for slot, value in enumerate([*(self.read_scalar(i) for i in range(4)), *self.read_rest()]):
            at = b.iadd(b.imul(lane, b.imm(8)), b.imm(slot))
            b.store(b.deref_array(out, at), value)
        return b.finish()

    def read_scalar(self, i: int) -> int:
        return self.b.load(self.b.deref_var(self.scalars[i]))

    def read_rest(self) -> list[int]:
        b = self.b
        vector = b.load(b.deref_var(self.vector))
        total = b.imm(0)
        for i in range(self.array_length):
            element = b.load(b.deref_array(b.deref_var(self.array), b.imm(i)))
            total = b.iadd(b.imul(total, b.imm(31)), element)
        return [b.component(vector, 0), b.component(vector, 1), b.component(vector, 2), total]

    def index(self) -> int:
        """An index of the array: constant or not, always inside."""
        if self.random.random() < 0.5:
            return self.b.imm(self.random.randrange(self.array_length))
        return self.b.umod(self.value(1), self.b.imm(self.array_length))

    def value(self, depth: int = 2) -> int:
        b, choice = self.b, self.random.random()
        if depth == 0 or choice < 0.3:
            return self.read_scalar(self.random.randrange(4))
        if choice < 0.4:
            return b.imm(self.random.choice([0, 1, 2, 3, 7, 16, 1000, 0xFFFFFFFF]))
        if choice < 0.5:
            return b.load(b.deref_array(b.deref_var(self.array), self.index()))
        if choice < 0.6:
            component = b.umod(self.value(0), b.imm(3)) if self.random.random() < 0.3 else \
                b.imm(self.random.randrange(3))
            return b.load(b.deref_array(b.deref_var(self.vector), component))
        if choice < 0.65:
            return b.bcsel(self.condition(), self.value(depth - 1), self.value(depth - 1))
        if choice < 0.68:
            return b.read_first_invocation(self.value(depth - 1), components=1)
        left, right = self.value(depth - 1), self.value(depth - 1)
        name = self.random.choice(OPERATIONS)
        if name in ("udiv", "umod"):
            right = b.ior(right, b.imm(1))
        return b.alu(name, left, right)

    def condition(self) -> int:
        return self.b.alu(self.random.choice(COMPARISONS), self.value(1), self.value(1))

    def assign(self) -> None:
        b, choice = self.b, self.random.random()
        if choice < 0.6:
            b.store(b.deref_var(self.random.choice(self.scalars)), self.value())
        elif choice < 0.8:
            value = self.value()
            b.store(b.deref_array(b.deref_var(self.array), self.index()), value)
        else:
            mask = self.random.randrange(1, 8)
            b.store(b.deref_var(self.vector), b.vec(self.value(1), self.value(1), self.value(1)), mask)

    def statements(self, count: int) -> bool:
        """Returns whether the list ended in a jump."""
        for _ in range(count):
            self.budget -= 1
            choice = self.random.random()
            if choice < 0.5 or self.depth > 3 or self.budget < 0:
                self.assign()
            elif choice < 0.75:
                self.branch()
            elif choice < 0.9:
                self.loop()
            elif self.loops and self.depth and self.in_branch:
                self.b.jump(self.random.choice(["break", "continue"]))
                return True
        return False

    in_branch = False

    def branch(self) -> None:
        outer, self.in_branch = self.in_branch, True
        self.depth += 1
        with self.b.if_(self.condition()) as node:
            self.statements(self.random.randrange(3))
        if self.random.random() < 0.6:
            with self.b.else_(node):
                self.statements(self.random.randrange(3))
        self.depth -= 1
        self.in_branch = outer

    def loop(self) -> None:
        b = self.b
        counter = b.variable("function_temp", b.scalar())
        b.store(b.deref_var(counter), b.imm(0))
        trips = self.random.randrange(1, 6)
        outer, self.in_branch = self.in_branch, False
        self.depth += 1
        self.loops += 1
        with b.loop():
            count = b.load(b.deref_var(counter))
            with b.if_(b.uge(count, b.imm(trips))):
                b.jump("break")
            b.store(b.deref_var(counter), b.iadd(count, b.imm(1)))
            if self.random.random() < 0.5:
                with b.if_(self.condition()):
                    b.jump("break")
            self.statements(self.random.randrange(1, 4))
        self.depth -= 1
        self.loops -= 1
        self.in_branch = outer


def execute(shader: Shader, wave: int, check_divergence: bool = False) -> np.ndarray:
    """What a program stores."""
    data = np.random.default_rng(5).integers(0, 1 << 32, LANES, dtype=np.uint32)
    data[::3] %= 7
    out = np.zeros(LANES * 8, np.uint32)
    interpreter.Interpreter(shader, (1, 1, 1), {(0, 0): data, (0, 1): out}, b"", wave, check_divergence).run()
    return out
