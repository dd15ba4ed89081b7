"""Loop unrolling on generated loops: what a shader stores stays, and the trips are as many as were run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from loop_programs import LANES, Loop, LoopWriter, endless_loops, execute, loops

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import LoopControl, NirKind, NodeKind
from pyaco._core.nir import build, constant_folding, copy_propagation, dce, dead_control_flow, loop_unroll, validate, vars_to_ssa
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

ROWS = 32
LONGEST = 90
LONGEST_INNER = 9
#: Trips that a body as these are is unrolled for, whatever it costs by the opcodes it has.
UNROLLED = 12


def ends(loop: Loop, longest: int) -> bool:
    """Whether a loop ends after few trips, as those in it do.

    An exit by data leaves after eight trips at most, unless loops within count along: seven trips of theirs in each, and it never does.
    """
    counts_alone = loop.unknown != "" and loop.inner is None
    return (counts_alone or loop.trips(longest) is not None) and (loop.inner is None or ends(loop.inner, LONGEST_INNER))


def remaining(shader: Shader) -> int:
    nodes = shader.nodes
    return sum(int(nodes.kind[node] == NodeKind.LOOP and nodes.parent[node] != 0) for node in range(1, len(nodes)))


def stores(shader: Shader) -> int:
    opcode, kind = shader.instructions.opcode, shader.instructions.kind
    return sum(int(kind[i] == NirKind.INTRINSIC and opcode[i] == build.INTRINSICS["store_deref"]) for i in shader.order.instruction)


def unrolled(shader: Shader) -> Shader:
    """Unroll until nothing changes, as the pipeline does, but with no other optimisation than it takes."""
    vars_to_ssa.run(shader)
    while True:
        for step in (copy_propagation, constant_folding, dce):
            step.run(shader)
        changed = loop_unroll.run(shader)
        validate.run(shader)
        if not changed:
            return shader


@settings(max_examples=50, deadline=None)
@given(loops())
def test_generated_loops_keep_their_meaning(loop: Loop) -> None:
    assume(ends(loop, LONGEST))
    expected = execute(LoopWriter().write(loop))
    shader = unrolled(LoopWriter().write(loop))
    assert execute(shader) == expected
    for step in (copy_propagation, constant_folding, dce, dead_control_flow):
        step.run(shader)
    validate.run(shader)
    assert execute(shader) == expected


@settings(max_examples=50, deadline=None)
@given(loops(depth=1))
def test_the_trips_found_are_the_trips_run(loop: Loop) -> None:
    trips = loop.trips(LONGEST)
    assume(trips is not None)
    assert trips is not None
    shader = unrolled(LoopWriter().write(loop))
    if remaining(shader):
        assert loop.control == LoopControl.DONT_UNROLL or trips > UNROLLED or (loop.second and loop.unknown)
        return
    assert loop.control != LoopControl.DONT_UNROLL
    copies = stores(shader) - 2
    counted = [lane[0] for lane in execute(shader)]
    if loop.unknown:
        assert max(counted) <= copies
    else:
        assert counted == [copies] * LANES


@settings(max_examples=20, deadline=None)
@given(endless_loops())
def test_a_loop_that_nothing_ends_stays(loop: Loop) -> None:
    shader = unrolled(LoopWriter().write(loop))
    assert remaining(shader) == 1


@dataclass(frozen=True)
class Counting:
    """A loop of unknown trip count whose counter indexes local arrays; lane k runs as many trips as its number in a buffer says."""

    lengths: tuple[int, ...]
    step: int = 1
    start: int = 0
    guarded: bool = False         # accesses stand in an if that asks for the array's length; trips may be more then
    at_end: bool = False          # the exit stands behind the accesses
    works: bool = False           # something is stored on the way out

    def write(self) -> Shader:
        b = Builder(wave_size=32, workgroup_size=(ROWS, 1, 1))
        lane = b.load_local_invocation_index()
        index = b.intrinsic("vulkan_resource_index", b.imm(0), components=3, bit_size=32, desc_set=0, binding=0, desc_type=7)
        descriptor = b.intrinsic("load_vulkan_descriptor", index, components=3, bit_size=32, desc_type=7)
        words = b.deref_cast(descriptor, b.array(b.scalar(), 0, 4), "ssbo")
        tables = [b.variable("function_temp", b.array(b.scalar(), length, 4)) for length in self.lengths]
        for table, length in zip(tables, self.lengths, strict=True):
            for k in range(length):
                b.store(b.deref_array(b.deref_var(table), b.imm(k)), b.imul(lane, b.imm(k + length)))
        limit = b.load(b.deref_array(words, lane))
        counter, total = (b.variable("function_temp", b.scalar()) for _ in range(2))
        b.store(b.deref_var(counter), b.imm(self.start))
        b.store(b.deref_var(total), lane)
        with b.loop():
            if self.at_end:
                self.accesses(b, tables, counter, total)
            with b.if_(b.uge(b.load(b.deref_var(counter)), limit)):
                if self.works:
                    b.store(b.deref_array(words, b.iadd(lane, b.imm(2 * ROWS))), b.load(b.deref_var(counter)))
                b.jump("break")
            if not self.at_end:
                self.accesses(b, tables, counter, total)
            b.store(b.deref_var(counter), b.iadd(b.load(b.deref_var(counter)), b.imm(self.step)))
        b.store(b.deref_array(words, b.iadd(lane, b.imm(ROWS))), b.load(b.deref_var(total)))
        for table, length in zip(tables, self.lengths, strict=True):
            last = b.load(b.deref_array(b.deref_var(table), b.imm(length - 1)))
            b.store(b.deref_array(words, b.iadd(lane, b.imm(3 * ROWS))), b.ixor(last, b.load(b.deref_var(counter))))
        return b.finish()

    def accesses(self, b: Builder, tables: list[int], counter: int, total: int) -> None:
        for table, length in zip(tables, self.lengths, strict=True):
            guard = b.ult(b.load(b.deref_var(counter)), b.imm(length if self.guarded else 0xFFFFFFFF))
            with b.if_(guard):
                at = b.load(b.deref_var(counter))
                b.store(b.deref_var(total), b.ixor(b.imul(b.load(b.deref_var(total)), b.imm(3)), b.load(b.deref_array(b.deref_var(table), at))))
                b.store(b.deref_array(b.deref_var(table), at), b.load(b.deref_var(total)))

    def run(self, shader: Shader) -> list[int]:
        memory = np.zeros(4 * ROWS, np.uint32)
        most = 3 * max(self.lengths) if self.guarded else min(self.lengths) - self.at_end * self.step
        memory[:ROWS] = np.arange(ROWS) * 7 % (most + 1)
        memory[0] = most
        interpreter.run(shader, (1, 1, 1), {(0, 0): memory})
        return memory.tolist()


@pytest.mark.parametrize(("loop", "copies"), [
    (Counting((8,)), 8), (Counting((8,), works=True), 8), (Counting((9,), step=2, start=1), 4), (Counting((8,), at_end=True), 8),
    (Counting((5, 9)), 5), (Counting((9, 5), works=True), 5), (Counting((6,), guarded=True), 6), (Counting((6, 4), guarded=True, works=True), 4),
    (Counting((8,), start=8, guarded=True), 0), (Counting((40,)), 0), (Counting((8,), step=9, guarded=True), 0),
])  # fmt: skip
def test_loops_through_local_arrays_unroll_in_part(loop: Counting, copies: int) -> None:
    expected = loop.run(loop.write())
    shader = loop.write()
    vars_to_ssa.run(shader)
    for step in (copy_propagation, constant_folding, dce):
        step.run(shader)
    before = stores(shader)
    assert loop_unroll.run(shader) == (copies > 0)
    validate.run(shader)
    assert remaining(shader) == 1
    assert loop.run(shader) == expected
    if copies:
        # The copies' stores, and in the loop those of longer arrays and of the way out.
        arrays, shortest = len(loop.lengths), loop.lengths.count(min(loop.lengths))
        assert stores(shader) == before + copies * (arrays + loop.works) - shortest
    assert not loop_unroll.run(shader) or len(set(loop.lengths)) > 1
    for step in (copy_propagation, constant_folding, dead_control_flow, dce, vars_to_ssa):
        step.run(shader)
    validate.run(shader)
    assert loop.run(shader) == expected
