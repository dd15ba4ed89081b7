"""Pairs of 16-bit operations: found in random programs on halves, selected as packed instructions, judged by execution."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from execution import LANES, Array, Kernel, compile_nir

from pyaco import emu, isa, targets
from pyaco._core.ir.shader import Shader
from pyaco._core.nir import validate
from pyaco.nir import interpreter, passes

FLOATS = ("fadd", "fsub", "fmin", "fmax", "fneg", "fsat", "ffma", "fmul")
INTEGERS = ("iadd", "isub", "imul", "imin", "imax", "umin", "umax", "iand", "ior", "ixor", "inot", "ishl", "ishr", "ushr")
ONE_SOURCE = ("fneg", "fsat", "inot")
TARGETS = [("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)]


class Halves:
    """Builds one program on vectors of halves from a seed."""

    def __init__(self, b: Kernel, seed: int, floats: bool) -> None:
        self.b, self.random, self.floats = b, random.Random(seed), floats
        self.pool = [b.input(16, uniform, place, components)
                     for place, (uniform, components) in enumerate([(False, 2), (False, 4), (True, 2), (False, 3)])]

        # Not a constant: the loop stays.
        self.trips = b.umin(b.input(32, True), b.imm(3))

    def pair(self) -> int:
        """Two components of one value, in any order, or of two."""
        b, value = self.b, self.random.choice(self.pool)
        if self.random.random() < 0.1:
            numbers = [self.random.choice([0, 1, 2, 3]) for _ in range(2)]
            return b.const([int(np.float16(n).view(np.uint16)) if self.floats else n for n in numbers], 16)
        count = b.components(value)
        first = self.random.randrange(count)
        second = first ^ 1 if first ^ 1 < count and self.random.random() < 0.7 else self.random.randrange(count)
        return b.vec(self.pick(value, first), self.pick(value, second))

    def pick(self, value: int, component: int) -> int:
        return self.b.component(value, component) if self.b.components(value) > 1 else value

    def bounded(self, value: int) -> int:
        """Small whole numbers, on which floats do not round, however operations are fused."""
        def limit(number: float) -> int:
            return self.b.const([int(np.float16(number).view(np.uint16))] * 2, 16)

        return self.b.fmin(self.b.fmax(value, limit(-8)), limit(8))

    def operation(self) -> int:
        b, name = self.b, self.random.choice(FLOATS if self.floats else INTEGERS)
        if name in ("ishl", "ishr", "ushr"):
            return int(b.alu(name, self.pair(), b.const([self.random.randrange(16), self.random.randrange(16)])))
        count = 1 if name in ONE_SOURCE else 3 if name == "ffma" else 2
        value = int(b.alu(name, *(self.pair() for _ in range(count))))
        return self.bounded(value) if name in ("ffma", "fmul", "fadd", "fsub") and self.random.random() < 0.9 else value

    def loop(self) -> None:
        """Accumulators in a loop; at times the two change places, or one of them is of another kind."""
        b, kind = self.b, "float" if self.floats else "uint"
        variables = [b.variable("function_temp", b.vector(2, kind, 16)) for _ in range(2)]
        counter = b.variable("function_temp", b.scalar())
        for variable in variables:
            b.store(b.deref_var(variable), self.pair())
        b.store(b.deref_var(counter), b.imm(0))
        with b.loop():
            count = b.load(b.deref_var(counter))
            with b.if_(b.uge(count, self.trips)):
                b.jump("break")
            for variable in variables:
                value = b.load(b.deref_var(variable))
                self.pool.append(value)
                value = self.operation()
                if self.random.random() < 0.2:
                    value = b.vec(b.component(value, 1), b.component(value, 0))
                b.store(b.deref_var(variable), self.bounded(value) if self.floats else value)
                self.pool.pop()
            b.store(b.deref_var(counter), b.iadd(count, b.imm(1)))
        self.pool.extend(b.load(b.deref_var(variable)) for variable in variables)

    def build(self) -> None:
        b = self.b
        for step in range(8):
            if step in (2, 5):
                self.loop()
            value = self.operation()
            if self.random.random() < 0.3:
                # Scalar work on the halves of a pair.
                value = b.vec(self.pick(value, 0), b.alu("fmax" if self.floats else "iadd", self.pick(value, 1), self.pick(value, 0)))
            self.pool.append(value)
        for value in self.pool[4:]:
            b.output(value)
        b.output(b.f2f32(self.pick(self.pool[-1], 1)) if self.floats else b.u2u32(self.pick(self.pool[-1], 1)))
        self.store_whole(b.vec(*(self.pick(self.pool[-1 - i // 2], i % 2) for i in range(4))))

    def store_whole(self, value: int) -> None:
        b = self.b
        offset = b.iadd(b.ishl(b.lane, b.imm(3)), b.imm(b.results * 4 * b.lanes))
        b.store_ssbo(value, b.target, offset, write_mask=15, align_mul=8)
        b.results += 2


def data_of(floats: bool, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if floats:
        return rng.integers(-4, 5, (4, LANES, 8)).astype(np.float16)
    return rng.integers(0, 1 << 16, (4, LANES, 8), dtype=np.uint16)


def compared(words: Array, data: Array) -> Array:
    """Of programs on floats make -0 of halves 0: which of them a shader writes is not defined unless it asks for it."""
    halves = words.view(np.uint16).copy()
    if data.dtype == np.float16:
        halves[halves == 0x8000] = 0
    return halves


def shader_of(build: Callable[[Kernel], None], level: int, wave: int) -> tuple[Shader, int]:
    kernel = Kernel(level, wave)
    build(kernel)
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    return shader, kernel.results * LANES


def check(build: Callable[[Kernel], None], data: Array, target: str, wave: int) -> str:
    """Compare the program without optimisations, with them, and as machine code; return the machine code."""
    level = targets.chip(target).level
    source = np.frombuffer(data.tobytes(), np.uint8).copy()
    shader, size = shader_of(build, level, wave)
    wanted, lowered = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
    passes.run(shader, {"optimize": False})
    interpreter.run(shader, (1, 1, 1), {(0, 0): source, (0, 1): wanted.view(np.uint8)}, wave=wave)
    assert wanted.any()
    shader, size = shader_of(build, level, wave)
    passes.run(shader, on_pass=lambda name, shader, seconds: validate.run(shader))
    interpreter.run(shader, (1, 1, 1), {(0, 0): source, (0, 1): lowered.view(np.uint8)}, wave=wave)
    np.testing.assert_array_equal(compared(lowered, data), compared(wanted, data))
    compiled = compile_nir(shader, target, wave, optimize=True)
    for engine in ("reference", "fast"):
        device = emu.Device(target, engine=engine)
        result = device.buffer(np.zeros(size, np.uint32))
        device.dispatch(compiled, (1, 1, 1), {(0, 0): device.buffer(source), (0, 1): result})
        np.testing.assert_array_equal(compared(result.numpy().view(np.uint32), data), compared(wanted, data), err_msg=engine)
    return str(isa.disassemble(compiled.code, target))


def random_program(seed: int) -> Callable[[Kernel], None]:
    return lambda b: Halves(b, seed, seed % 2 == 0).build()


@pytest.mark.parametrize("seed", [*range(24), 126, 196])        # the last two: high halves of SGPRs on GFX11 and GFX12
def test_random_halves(seed: int) -> None:
    check(random_program(seed), data_of(seed % 2 == 0, seed), *TARGETS[seed // 2 % 4])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_random_halves(seed: int) -> None:
    check(random_program(seed), data_of(seed % 2 == 0, seed), *TARGETS[seed // 2 % 4])


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_every_operation_is_packed(target: str, wave: int) -> None:
    def build(b: Kernel) -> None:
        x, y, z = (b.input(16, False, place, 2) for place in range(3))
        for name in (*FLOATS, *INTEGERS):
            if name in ("ishl", "ishr", "ushr"):
                b.output(b.alu(name, x, b.const([3, 5])))
            else:
                b.output(b.alu(name, *(x, y, z)[: 1 if name in ONE_SOURCE else 3 if name == "ffma" else 2]))

    text = check(build, data_of(True, 1), target, wave)
    for opcode in ("v_pk_add_f16", "v_pk_mul_f16", "v_pk_fma", "v_pk_add_u16", "v_pk_sub_u16", "v_pk_mul_lo_u16", "v_pk_min_i16",
                   "v_pk_max_i16", "v_pk_min_u16", "v_pk_max_u16", "v_pk_lshlrev_b16", "v_pk_ashrrev_i16", "v_pk_lshrrev_b16",
                   "v_and_b32", "v_or_b32", "v_xor_b32", "v_not_b32"):
        assert opcode in text, opcode
    assert "v_pk_min_num_f16" in text if target == "gfx1200" else "v_pk_min_f16" in text
    for opcode in ("v_add_f16", "v_mul_f16", "v_fma_f16", "v_mul_lo_u16", "v_add_u16", "v_add_nc_u16"):
        assert opcode not in text, opcode
