"""Upper bounds of unsigned values: no value of a random program is larger, and those that must be known are."""

from __future__ import annotations

import random

import numpy as np
import pytest
from opcode_shaders import buffer

from pyaco._core.ir import range_analysis
from pyaco._core.ir.shader import Shader
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

LANES = 64
BINARY = ("iadd", "imul", "iand", "ior", "ixor", "umin", "umax", "imin", "imax", "udiv", "umod", "isub", "umul24")
UNARY = ("u2u8", "u2u16", "bit_count", "inot", "ineg")


def program(seed: int) -> tuple[Shader, list[int]]:
    """A shader that stores each of its values, and these values."""
    numbers = random.Random(seed)
    b = Builder(workgroup_size=(LANES, 1, 1))
    lane = b.load_local_invocation_index()
    pool = [lane, b.load(b.deref_array(buffer(b, 0, 32), lane)), b.load_subgroup_invocation(), b.imm(0), b.imm(7), b.imm(0xFFFFFFFF)]
    pool.append(b.u2u32(b.load(b.deref_array(buffer(b, 1, 8), lane))))
    for _ in range(20):
        kind, x, y = numbers.random(), numbers.choice(pool), numbers.choice(pool)
        if kind < 0.5:
            value = b.alu(numbers.choice(BINARY), x, y)
        elif kind < 0.7:
            value = b.alu(numbers.choice(("ishl", "ushr", "ishr")), x, b.imm(numbers.randrange(32)))
        elif kind < 0.8:
            value = b.bcsel(b.ult(x, y), x, y)
        elif kind < 0.9:
            value = b.ubfe(x, b.imm(numbers.randrange(32)), b.imm(numbers.randrange(1, 12)))
        else:
            value = b.alu(numbers.choice(UNARY), x)
            value = b.u2u32(value) if b.bit_size(value) < 32 else value
        pool.append(value)
    out = buffer(b, 2, 32)
    for slot, value in enumerate(pool):
        b.store(b.deref_array(out, b.iadd(b.imul(lane, b.imm(len(pool))), b.imm(slot))), value)
    return b.finish(), pool


@pytest.mark.parametrize("seed", range(150))
def test_no_value_is_larger(seed: int) -> None:
    shader, pool = program(seed)
    numbers = np.random.default_rng(seed)
    words = numbers.integers(0, 1 << 32, LANES, dtype=np.uint32) >> numbers.integers(0, 32, LANES).astype(np.uint32)
    out = np.zeros((LANES, len(pool)), np.uint32)
    interpreter.run(shader, (1,), {(0, 0): words, (0, 1): numbers.integers(0, 256, LANES).astype(np.uint8), (0, 2): out.reshape(-1)}, wave=64)
    bounds = range_analysis.bounds(shader)
    for slot, value in enumerate(pool):
        assert out[:, slot].max() <= bounds[value], slot


def test_what_must_be_known() -> None:
    b = Builder(workgroup_size=(8, 4, 2), wave_size=32)
    ids = b.load_local_invocation_id()
    x, index = b.component(ids, 0), b.load_local_invocation_index()
    word = b.load(b.deref_array(buffer(b, 0, 32), index))
    cases = [
        (x, 7), (b.component(ids, 1), 3), (index, 63), (b.load_subgroup_invocation(), 31),
        (b.iadd(x, index), 70), (b.iadd(x, b.imm(0xFFFFFFFF)), 0xFFFFFFFF), (b.ishl(index, b.imm(4)), 63 << 4),
        (b.ishr(index, b.imm(2)), 15), (b.ishr(index, word), 63), (b.ishr(word, b.imm(4)), 0xFFFFFFFF),
        (b.ishl(word, b.imm(4)), 0xFFFFFFFF), (b.ushr(word, b.imm(28)), 15), (b.iand(word, b.imm(12)), 12),
        (b.ior(x, b.imm(16)), 31), (b.umin(word, index), 63), (b.umod(word, b.imm(10)), 9), (b.udiv(word, b.imm(1 << 30)), 3),
        (b.bcsel(b.ult(word, x), x, index), 63), (b.extract_u8(word, b.imm(2)), 255), (b.ubfe(word, b.imm(3), b.imm(5)), 31),
        (b.imul(x, index), 7 * 63), (b.isub(x, index), 0xFFFFFFFF), (b.u2u32(b.u2u16(word)), 0xFFFF), (b.bit_count(word), 32),
    ]
    b.store(b.deref_array(buffer(b, 1, 32), index), x)
    bounds = range_analysis.bounds(b.finish())
    assert [bounds[value] for value, _ in cases] == [bound for _, bound in cases]


def test_what_a_loop_carries_can_be_anything() -> None:
    b = Builder(workgroup_size=(8, 1, 1))
    start, one = b.imm(0), b.imm(1)
    entry = int(b.shader.instructions.block[start])
    with b.loop():
        counter = b.phi((start, entry), (0, 0))
        with b.if_(b.uge(counter, b.imm(10))):
            b.jump("break")
        following = b.iadd(counter, one)
        b.set_source(counter, 1, following)
    bounds = range_analysis.bounds(b.finish())
    assert bounds[counter] == bounds[following] == 0xFFFFFFFF
