"""Loop unrolling on generated loops: what a shader stores stays, and the trips are as many as were run."""

from __future__ import annotations

from hypothesis import assume, given, settings
from loop_programs import LANES, Loop, LoopWriter, endless_loops, execute, loops

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import LoopControl, NirKind, NodeKind
from pyaco._core.nir import build, constant_folding, copy_propagation, dce, dead_control_flow, loop_unroll, validate, vars_to_ssa

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
