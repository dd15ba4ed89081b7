"""NIR optimisations: random structured programs mean the same before and after, loops unroll up to the limit.

What each pass makes of small programs is in ``tests/filetests/nir``.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import (
    algebraic,
    build,
    constant_folding,
    copy_propagation,
    cse,
    dce,
    dead_control_flow,
    loop_unroll,
    lower_alu_to_scalar,
    opt_demanded_bits,
    opt_if,
    opt_licm,
    opt_loop,
    opt_phi_to_bool,
    opt_sink,
    opt_undef,
    peephole_select,
    validate,
    vars_to_ssa,
)
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

OPERATIONS = ("iadd", "isub", "imul", "iand", "ior", "ixor", "imin", "umax", "ishl", "ushr", "ishr")
COMPARISONS = ("ilt", "ige", "ult", "uge", "ieq", "ine")
PASSES = (
    copy_propagation, opt_undef, constant_folding, algebraic, cse, dce, dead_control_flow, opt_if, opt_loop, peephole_select, loop_unroll, opt_licm,
    opt_sink, opt_phi_to_bool, opt_demanded_bits,
)
LANES = 32


class Writer:
    """Writes a random program: four local variables and a flag that says true by 1, nested ifs and loops, results to a buffer."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.b = Builder(wave_size=32, workgroup_size=(LANES, 1, 1))
        uint = self.b.scalar()
        self.variables = [self.b.variable("function_temp", uint) for _ in range(4)]
        self.flag = self.b.variable("function_temp", uint)
        self.counters: list[int] = []
        self.budget = 30

    def write(self) -> Shader:
        b = self.b
        lane = b.load_local_invocation_index()
        for number, variable in enumerate(self.variables):
            b.store(b.deref_var(variable), b.imul(lane, b.imm(2 * number + 1)) if number % 2 else b.imm(number))
        b.store(b.deref_var(self.flag), b.imm(0))
        self.statements(0)
        array = b.array(b.scalar(), 0, 4)
        index = b.intrinsic("vulkan_resource_index", b.imm(0), components=3, bit_size=32, desc_set=0, binding=0, desc_type=7)
        descriptor = b.intrinsic("load_vulkan_descriptor", index, components=3, bit_size=32, desc_type=7)
        buffer = b.deref_cast(descriptor, array, "ssbo")
        for number, variable in enumerate(self.variables):
            index = b.iadd(b.imul(lane, b.imm(4)), b.imm(number))
            b.store(b.deref_array(buffer, index), b.load(b.deref_var(variable)))
        return b.finish()

    def value(self, depth: int = 2) -> int:
        choice = self.random.random()
        if depth == 0 or choice < 0.25:
            return self.b.load(self.b.deref_var(self.random.choice(self.variables + self.counters)))
        if choice < 0.45:
            return self.b.imm(self.random.choice([0, 1, 2, 3, 8, 31, 255, 0xFFFFFFFF, 0x80000000]))
        if choice < 0.55:
            return self.b.bcsel(self.condition(depth - 1), self.value(depth - 1), self.value(depth - 1))
        if choice < 0.62:
            return self.b.alu(self.random.choice(("ineg", "inot")), self.value(depth - 1))
        if choice < 0.66:
            return self.b.b2i32(self.condition(depth - 1))
        return self.b.alu(self.random.choice(OPERATIONS), self.value(depth - 1), self.value(depth - 1))

    def condition(self, depth: int) -> int:
        if self.random.random() < 0.25:
            return self.b.alu(self.random.choice(("ieq", "ine", "ult", "ige")), self.b.load(self.b.deref_var(self.flag)), self.b.imm(1))
        comparison = self.b.alu(self.random.choice(COMPARISONS), self.value(depth), self.value(depth))
        return self.b.inot(comparison) if self.random.random() < 0.2 else comparison

    def statements(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.budget -= 1
            choice = self.random.random()
            if depth < 3 and self.budget > 0 and choice < 0.25:
                self.branch(depth)
            elif depth < 3 and self.budget > 0 and choice < 0.45:
                self.repeat(depth)
            elif choice < 0.6:
                truth = self.b.imm(self.random.randrange(2)) if self.random.random() < 0.5 else self.b.b2i32(self.condition(1))
                self.b.store(self.b.deref_var(self.flag), truth)
            else:
                self.b.store(self.b.deref_var(self.random.choice(self.variables)), self.value())

    def branch(self, depth: int) -> None:
        condition = self.b.imm(1, 1) if self.random.random() < 0.1 else self.condition(1)
        with self.b.if_(condition) as node:
            self.statements(depth + 1)
        if self.random.random() < 0.6:
            with self.b.else_(node):
                self.statements(depth + 1)

    def repeat(self, depth: int) -> None:
        b = self.b
        counter = b.variable("function_temp", b.scalar())
        trips = self.random.choice([0, 1, 2, 5, 40])
        b.store(b.deref_var(counter), b.imm(0))
        with b.loop():
            at_end = self.random.random() < 0.3
            if at_end:
                self.statements(depth + 1)
            with b.if_(b.uge(b.load(b.deref_var(counter)), b.imm(trips))):
                b.jump("break")
            if self.random.random() < 0.2:
                with b.if_(self.condition(1)):
                    b.jump("break")
            self.counters.append(counter)
            self.statements(depth + 1)
            self.counters.pop()
            b.store(b.deref_var(counter), b.iadd(b.load(b.deref_var(counter)), b.imm(1)))


def run(shader: Shader) -> list[int]:
    result = numpy.zeros(LANES * 4, numpy.uint32)
    interpreter.run(shader, (1, 1, 1), {(0, 0): result})
    return result.tolist()


def lowered(seed: int) -> Shader:
    shader = Writer(seed).write()
    vars_to_ssa.run(shader)
    lower_alu_to_scalar.run(shader)
    return shader


@settings(max_examples=15, deadline=None, phases=[Phase.generate], derandomize=True)
@given(st.integers(0, 1 << 30))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    expected = run(Writer(seed).write())
    shader = lowered(seed)
    assert run(shader) == expected, "vars_to_ssa"
    order = random.Random(seed)
    for _ in range(24):
        step = order.choice(PASSES)
        step.run(shader)
        validate.run(shader)
        assert run(shader) == expected, step.__name__


def test_phis_of_truths_are_found_and_mean_the_same() -> None:
    found = 0
    for seed in range(12):
        shader = lowered(seed)
        expected = run(shader)
        found += opt_phi_to_bool.run(shader)
        validate.run(shader)
        assert run(shader) == expected, seed
    assert found > 2


def opcodes(shader: Shader) -> Counter[str]:
    names = {number: name for name, number in build.ALU.items()}
    instructions = shader.instructions
    return Counter(names[int(instructions.opcode[i])] for i in shader.order.instruction if instructions.kind[i] == 1)


def clean(shader: Shader) -> Shader:
    for _ in range(8):
        for step in PASSES:
            while step.run(shader) and step is loop_unroll:
                pass
    return shader


def loops_in(shader: Shader) -> int:
    nodes = shader.nodes
    return sum(int(nodes.kind[node] == 4 and nodes.parent[node] != 0) for node in range(1, len(nodes)))


def counted_loop(trips: int) -> Shader:
    b = Builder(wave_size=32, workgroup_size=(LANES, 1, 1))
    total, counter = (b.variable("function_temp", b.scalar()) for _ in range(2))
    b.store(b.deref_var(total), b.load_local_invocation_index())
    b.store(b.deref_var(counter), b.imm(0))
    with b.loop():
        with b.if_(b.ige(b.load(b.deref_var(counter)), b.imm(trips))):
            b.jump("break")
        b.store(b.deref_var(total), b.imul(b.load(b.deref_var(total)), b.imm(3)))
        b.store(b.deref_var(counter), b.iadd(b.load(b.deref_var(counter)), b.imm(1)))
    b.intrinsic("store_shared", b.load(b.deref_var(total)), b.imm(0), write_mask=1, align_mul=4)
    shader = b.finish()
    vars_to_ssa.run(shader)
    return shader


@pytest.mark.parametrize(("trips", "loops"), [(0, 0), (1, 0), (7, 0), (33, 0), (34, 1), (1000, 1)])
def test_loops_of_known_trip_count_unroll(trips: int, loops: int) -> None:
    shader = clean(counted_loop(trips))
    assert loops_in(shader) == loops
    if not loops:
        # x * 3 ** trips, folded into one multiplication.
        assert opcodes(shader) == ({"imul": 1} if trips else {})


@pytest.mark.parametrize(("length", "loops"), [(32, 0), (40, 1)])
def test_loops_tested_at_their_end_unroll_for_arrays_that_they_fill(length: int, loops: int) -> None:
    b = Builder(wave_size=32, workgroup_size=(LANES, 1, 1))
    table = b.variable("function_temp", b.array(b.scalar(), length, 4))
    counter = b.variable("function_temp", b.scalar())
    b.store(b.deref_var(counter), b.imm(0))
    with b.loop():
        with b.if_(b.uge(b.load(b.deref_var(counter)), b.imm(32))):
            b.jump("break")
        value = b.load_local_invocation_index()
        for factor in range(40):
            value = b.iadd(b.imul(value, b.load(b.deref_var(counter))), b.imm(factor))
        b.store(b.deref_array(b.deref_var(table), b.load(b.deref_var(counter))), value)
        b.store(b.deref_var(counter), b.iadd(b.load(b.deref_var(counter)), b.imm(1)))
    b.intrinsic("store_shared", b.load(b.deref_array(b.deref_var(table), b.load_local_invocation_index())), b.imm(0), write_mask=1, align_mul=4)
    shader = b.finish()
    vars_to_ssa.run(shader)
    assert opt_loop.run(shader)
    validate.run(shader)
    loop_unroll.run(shader)
    validate.run(shader)
    assert loops_in(shader) == loops
