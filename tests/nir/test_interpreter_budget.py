"""The interpreter ends, whatever loops a shader has."""

from __future__ import annotations

import pytest

from pyaco import InputError
from pyaco._core.ir.shader import Shader
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder


def nested_loops(trips: int | None) -> Shader:
    """Two loops, one in the other, of so many trips each; None: without an end."""
    b = Builder(gfx_level=110, wave_size=32, workgroup_size=(1, 1, 1))
    counters = [b.variable("function_temp", b.scalar()) for _ in range(2)]

    def loop(depth: int) -> None:
        b.store(b.deref_var(counters[depth]), b.imm(0))
        with b.loop():
            if trips is not None:
                with b.if_(b.uge(b.load(b.deref_var(counters[depth])), b.imm(trips))):
                    b.jump("break")
            b.store(b.deref_var(counters[depth]), b.iadd(b.load(b.deref_var(counters[depth])), b.imm(1)))
            if depth == 0:
                loop(1)

    loop(0)
    return b.finish()


def test_endless_loops_end_with_an_error() -> None:
    with pytest.raises(InputError, match="budget of instructions is spent"):
        interpreter.run(nested_loops(None), (1, 1, 1), {}, budget=2000)


def test_the_budget_is_of_the_dispatch_and_not_of_a_loop() -> None:
    interpreter.run(nested_loops(5), (1, 1, 1), {}, budget=2000)
    with pytest.raises(InputError, match="budget of instructions is spent"):
        interpreter.run(nested_loops(30), (1, 1, 1), {}, budget=2000)
    with pytest.raises(InputError, match="budget of instructions is spent"):
        interpreter.run(nested_loops(5), (50, 1, 1), {}, budget=2000)
