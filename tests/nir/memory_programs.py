"""Random structured programs over memory: private structs and arrays, workgroup memory, storage buffers of which two are the same memory.

Every lane keeps to elements of its own, but where all lanes exchange elements of workgroup memory between two barriers.
"""

from __future__ import annotations

import random

import numpy as np
from opcode_shaders import buffer

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import Access, VariableMode
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

LANES = 8
#: Elements of each array that are a lane's.
OWN = 4
#: Bindings 0 and 1 are restrict; 2 and 3 are one buffer.
BUFFERS = 4
BARRIER = {"execution_scope": 4, "memory_scope": 4, "memory_semantics": 3, "memory_modes": 0x14}


class MemoryProgram:
    """Builds one program from a seed; the same seed gives the same program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.b = Builder(wave_size=32, workgroup_size=(LANES, 1, 1))
        self.budget = 45
        self.loops = 0
        self.values: list[int] = []

    def build(self) -> Shader:
        b = self.b
        word = b.scalar()
        element = b.struct((b.vector(4), None), (b.array(word, 3), None))
        self.structs = b.variable("function_temp", b.array(element, 3))
        self.words = b.variable("shader_temp", b.array(word, OWN))
        self.vector = b.variable("function_temp", b.vector(3))
        self.total = b.variable("function_temp", word)
        self.shared = b.variable("shared", b.array(word, OWN * LANES))
        self.buffers = [buffer(b, binding, 32) for binding in range(BUFFERS)]
        self.lane = b.load_local_invocation_index()
        self.base = b.imul(self.lane, b.imm(OWN))
        self.values = [self.lane, self.base, b.imm(7)]
        b.store(b.deref_var(self.total), self.lane)
        for i in range(OWN):
            b.store(b.deref_array(b.deref_var(self.words), b.imm(i)), b.iadd(self.lane, b.imm(i)))
            b.store(self.shared_element(self.base, i), b.iadd(self.base, b.imm(i)))
        for i in range(3):
            place = b.deref_array(b.deref_var(self.structs), b.imm(i))
            b.store(b.deref_struct(place, 0), b.vec(*[b.iadd(self.lane, b.imm(4 * i + k)) for k in range(4)]))
            for k in range(3):
                b.store(b.deref_array(b.deref_struct(place, 1), b.imm(k)), b.imm(10 * i + k))
        b.store(b.deref_var(self.vector), b.vec(self.lane, self.base, self.lane))
        self.statements(0)
        b.store(b.deref_array(buffer(b, BUFFERS, 32), self.lane), b.load(b.deref_var(self.total)))
        if self.random.random() < 0.5:
            self.mix(b.load(self.place()[0]))
            b.store(b.deref_array(buffer(b, BUFFERS, 32), self.lane), b.load(b.deref_var(self.total)))
        return b.finish()

    def shared_element(self, base: int, number: int) -> int:
        return self.b.deref_array(self.b.deref_var(self.shared), self.b.iadd(base, self.b.imm(number)))

    def index(self, length: int) -> int:
        if self.random.random() < 0.6:
            return self.b.imm(self.random.randrange(length))
        return self.b.umod(self.random.choice(self.values), self.b.imm(length))

    def own(self) -> int:
        """An index of an element that is the lane's."""
        b = self.b
        return b.iadd(self.base, b.imm(self.random.randrange(OWN))) if self.random.random() < 0.8 else b.iadd(self.base, self.index(OWN))

    def place(self) -> tuple[int, int]:
        """A deref, and the access of what is done there."""
        b, choice = self.b, self.random.random()
        if choice < 0.2:
            return b.deref_array(b.deref_var(self.words), self.index(OWN)), 0
        if choice < 0.3:
            element = b.deref_array(b.deref_var(self.structs), self.index(3))
            return b.deref_array(b.deref_struct(element, 1), self.index(3)), 0
        if choice < 0.45:
            element = b.deref_array(b.deref_var(self.structs), self.index(3))
            vector = b.deref_struct(element, 0)
            return (vector if self.random.random() < 0.6 else b.deref_array(vector, self.index(4))), 0
        if choice < 0.55:
            vector = b.deref_var(self.vector)
            return (vector if self.random.random() < 0.6 else b.deref_array(vector, self.index(3))), 0
        if choice < 0.75:
            return b.deref_array(b.deref_var(self.shared), self.own()), 0
        binding = self.random.randrange(BUFFERS)
        access = Access.RESTRICT if binding < 2 else 0
        if self.random.random() < 0.1:
            access |= Access.VOLATILE
        return b.deref_array(self.buffers[binding], self.own()), access

    def mix(self, value: int) -> None:
        b = self.b
        for k in range(b.components(value)):
            total = b.imul(b.load(b.deref_var(self.total)), b.imm(31))
            b.store(b.deref_var(self.total), b.iadd(total, b.component(value, k)))

    def access(self) -> None:
        b = self.b
        place, access = self.place()
        width = b.shader.instructions.type[place]
        count = int(b.shader.types.components[width]) or 1
        choice = self.random.random()
        known = len(self.values)
        if choice < 0.4:
            value = b.load(place, access)
            self.mix(value)
            self.values.append(b.component(value, 0))
        elif choice < 0.9:
            parts = [self.random.choice(self.values[max(0, known - 5):]) for _ in range(count)]
            mask = self.random.randrange(1, 1 << count)
            b.store(place, parts[0] if count == 1 else b.vec(*parts), mask, access)
        elif b.shader.instructions.mode[place] & (VariableMode.SHARED | VariableMode.SSBO):
            self.mix(b.deref_atomic(place, self.random.choice(self.values), components=1, bit_size=32, atomic_op=0, access=access))

    def exchange(self) -> None:
        b = self.b
        b.barrier(**BARRIER)
        other = b.imul(b.umod(b.iadd(self.lane, b.imm(1)), b.imm(LANES)), b.imm(OWN))
        self.mix(b.load(self.shared_element(other, self.random.randrange(OWN))))
        b.barrier(**BARRIER)

    def condition(self) -> int:
        b = self.b
        return b.ult(b.umod(b.load(b.deref_var(self.total)), b.imm(16)), b.imm(self.random.randrange(16)))

    def statements(self, depth: int, in_if: bool = False) -> None:
        known = len(self.values)
        for _ in range(self.random.randint(2, 6)):
            self.budget -= 1
            choice = self.random.random()
            if depth < 3 and self.budget > 0 and choice < 0.15:
                self.branch(depth)
            elif depth < 3 and self.budget > 0 and choice < 0.25:
                self.repeat(depth)
            elif depth == 0 and choice < 0.32:
                self.exchange()
            elif in_if and self.loops and choice < 0.32:
                self.b.jump(self.random.choice(["break", "continue"]))
                break
            else:
                self.access()
        del self.values[known:]

    def branch(self, depth: int) -> None:
        with self.b.if_(self.condition()) as node:
            self.statements(depth + 1, in_if=True)
        if self.random.random() < 0.6:
            with self.b.else_(node):
                self.statements(depth + 1, in_if=True)

    def repeat(self, depth: int) -> None:
        b = self.b
        counter = b.variable("function_temp", b.scalar())
        b.store(b.deref_var(counter), b.imm(0))
        self.loops += 1
        known = len(self.values)
        with b.loop():
            count = b.load(b.deref_var(counter))
            with b.if_(b.uge(count, b.imm(self.random.randrange(1, 4)))):
                self.access()
                b.jump("break")
            del self.values[known:]
            b.store(b.deref_var(counter), b.iadd(count, b.imm(1)))
            self.values.append(count)
            self.statements(depth + 1)
        del self.values[known:]
        self.loops -= 1


def execute(shader: Shader) -> list[np.ndarray]:
    """What a program leaves in its buffers."""
    first = [np.arange(OWN * LANES, dtype=np.uint32) * factor for factor in (3, 5, 7)]
    out = np.zeros(LANES, np.uint32)
    bindings = {(0, 0): first[0], (0, 1): first[1], (0, 2): first[2], (0, 3): first[2], (0, BUFFERS): out}
    interpreter.run(shader, (1, 1, 1), bindings, wave=32)
    return [*first, out]
