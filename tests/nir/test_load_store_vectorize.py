"""Adjacent accesses are joined, and none is moved across what could observe it."""

import random

import numpy as np
import pytest
from opcode_shaders import buffer

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import build, opt_load_store_vectorize, validate
from pyaco.nir import interpreter, passes
from pyaco.nir.builder import Builder

LANES = 16


def random_accesses(seed: int) -> Shader:
    """Loads and stores at small offsets of two buffers (which may be the same memory) and shared memory."""
    choose = random.Random(seed)
    b = Builder(workgroup_size=(LANES, 1, 1), wave_size=32)
    lane = b.load_local_invocation_index()
    shared = b.variable("shared", b.array(b.scalar(), 8 * LANES))
    arrays = [buffer(b, 0, 32), buffer(b, 1, 32), b.deref_var(shared)]
    base = b.imul(lane, b.imm(8))
    for i in range(8):
        b.store(b.deref_array(arrays[2], b.iadd(base, b.imm(i))), b.iadd(lane, b.imm(i)))
    values = [lane, base]
    for _ in range(40):
        element = b.deref_array(choose.choice(arrays), b.iadd(base, b.imm(choose.randrange(8))))
        action = choose.random()
        if action < 0.5:
            values.append(b.load(element))
        elif action < 0.95:
            b.store(element, choose.choice(values[-6:]))
        else:
            b.barrier(execution_scope=4, memory_scope=4, memory_semantics=3, memory_modes=0x14)
    total = values[0]
    for value in values[1:]:
        total = b.iadd(b.imul(total, b.imm(31)), value)
    b.store(b.deref_array(buffer(b, 2, 32), lane), total)
    return b.finish()


def execute(shader: Shader, same: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first = np.arange(8 * LANES, dtype=np.uint32) * 7
    second = first if same else first * 3
    out = np.zeros(LANES, np.uint32)
    interpreter.run(shader, (1,), {(0, 0): first, (0, 1): second, (0, 2): out}, wave=32)
    return first, second, out


def count(shader: Shader, name: str) -> int:
    rows = shader.order.instruction
    return sum(1 for row in rows if shader.instructions.kind[row] == 6
               and shader.instructions.opcode[row] == build.INTRINSICS[name])


@pytest.mark.parametrize("same", [False, True])
def test_random_accesses(same: bool) -> None:
    joined = 0
    for seed in range(12):
        expected = execute(random_accesses(seed), same)
        shader = random_accesses(seed)
        passes.run(shader, on_pass=lambda name, shader, seconds: validate.run(shader))
        for wanted, found in zip(expected, execute(shader, same), strict=True):
            np.testing.assert_array_equal(wanted, found)
        joined += int((shader.instructions.components[shader.order.instruction] > 1).sum())
    assert joined


def test_what_joins() -> None:
    b = Builder(workgroup_size=(LANES, 1, 1), wave_size=32)
    lane = b.load_local_invocation_index()
    source, target = buffer(b, 0, 32), buffer(b, 1, 32)
    base = b.imul(lane, b.imm(4))
    values = [b.load(b.deref_array(source, b.iadd(base, b.imm(i)))) for i in (2, 0, 3, 1)]
    for i, value in enumerate(values):
        b.store(b.deref_array(target, b.iadd(base, b.imm(i))), value)
    shader = b.finish()
    passes.run(shader)
    assert count(shader, "load_ssbo") == count(shader, "store_ssbo") == 1
    data, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    interpreter.run(shader, (1,), {(0, 0): data, (0, 1): out}, wave=32)
    np.testing.assert_array_equal(out.reshape(-1, 4), data.reshape(-1, 4)[:, [2, 0, 3, 1]])


def test_nothing_to_join_is_no_progress() -> None:
    b = Builder()
    b.store(b.deref_array(buffer(b, 0, 32), b.imm(0)), b.imm(1))
    shader = b.finish()
    passes.run(shader)
    assert not opt_load_store_vectorize.run(shader)
