"""Demanded bits: bits that are not asked for change nothing, and what ``opt_demanded_bits`` takes away leaves what is stored as it is.

What the pass makes of small programs is in ``tests/filetests/nir/opt_demanded_bits``.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from opcode_shaders import buffer, lanes_shader

from pyaco import compile
from pyaco._core.ir import demanded_bits
from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import NirFlag
from pyaco._core.nir import algebraic, constant_folding, copy_propagation, cse, dce, lower_alu_to_scalar, opt_demanded_bits, validate, vars_to_ssa
from pyaco.emu import Device
from pyaco.nir import interpreter, parse, text
from pyaco.nir.builder import Builder

LANES = 64
STORED = 6
BINARY = ("iadd", "isub", "imul", "iand", "ior", "ixor", "umin", "umul24", "imul24")
SHIFTS = ("ishl", "ushr", "ishr")
MASKS = (0, 1, 0xFF, 0xFFF0, 0xFFFF, 0xFFFFFF, 0xFF000000, 0x80000001, 0xFFFFFFFF)


class Masked:
    """A random shader whose results are masked, narrowed or shifted, so that much of what it computes is not asked for."""

    def __init__(self, seed: int, **facts: Any) -> None:
        self.random = random.Random(seed)
        self.b = Builder(workgroup_size=(LANES, 1, 1), **facts)

    def write(self) -> Shader:
        b = self.b
        lane = b.load_local_invocation_index()
        words = buffer(b, 0, 32)
        self.pool = [b.load(b.deref_array(words, b.iadd(b.imul(lane, b.imm(4)), b.imm(k)))) for k in range(4)] + [lane]
        carried = b.variable("function_temp", b.scalar())
        counter = b.variable("function_temp", b.scalar())
        b.store(b.deref_var(carried), self.pool[0])
        b.store(b.deref_var(counter), b.imm(0))
        self.pool += [self.value() for _ in range(10)]
        with b.loop():
            with b.if_(b.uge(b.load(b.deref_var(counter)), b.imm(3))):
                b.jump("break")
            before = list(self.pool)
            self.pool.append(b.load(b.deref_var(carried)))
            self.pool += [self.value() for _ in range(4)]
            with b.if_(b.ine(b.iand(self.pool[-2], b.imm(1)), b.imm(0))):
                self.pool.append(self.value())
                b.store(b.deref_var(carried), self.value())
            self.pool = before
            b.store(b.deref_var(counter), b.iadd(b.load(b.deref_var(counter)), b.imm(1)))
        self.pool.append(b.load(b.deref_var(carried)))
        self.pool += [self.value() for _ in range(8)]
        out, narrow = buffer(b, 1, 32), buffer(b, 2, 8)
        for slot, value in enumerate(self.random.sample(self.pool, STORED)):
            place = b.iadd(b.imul(lane, b.imm(STORED)), b.imm(slot))
            if self.random.random() < 0.3:
                b.store(b.deref_array(narrow, place), b.u2u8(value))
            else:
                b.store(b.deref_array(out, place), b.iand(value, b.imm(self.random.choice(MASKS))))
        return b.finish()

    def value(self) -> int:
        b, choose = self.b, self.random.choice
        x, y = choose(self.pool), choose(self.pool)
        kind = self.random.random()
        if kind < 0.25:
            return b.alu(choose(BINARY), x, y, flags=choose((0, 0, NirFlag.NO_UNSIGNED_WRAP)) if kind < 0.05 else 0)
        if kind < 0.5:
            return b.alu(choose(("iand", "iand", "ior", "ixor", "iadd", "imul")), x, b.imm(choose(MASKS)))
        if kind < 0.65:
            return b.alu(choose(SHIFTS), x, b.imm(choose((0, 3, 8, 16, 24, 31))) if kind < 0.62 else b.iand(y, b.imm(choose((31, 63)))))
        if kind < 0.75:
            return b.alu(choose(("ubfe", "ibfe")), x, b.imm(choose((0, 0, 5, 24))), b.imm(choose((0, 4, 8, 31))))
        if kind < 0.85:
            width = choose((8, 16))
            return b.alu(choose((f"extract_u{width}", f"extract_i{width}")), x, b.imm(self.random.randrange(32 // width)))
        if kind < 0.92:
            narrow = b.alu(f"u2u{choose((8, 16))}", x)
            return b.alu(choose(("u2u32", "i2i32")), narrow)
        if kind < 0.95:
            return b.alu("bitfield_select", b.imm(choose(MASKS)), x, y)
        if kind < 0.98:
            return b.bcsel(b.ult(x, y), x, y)
        wide = b.alu("pack_64_2x32_split", x, y)
        return b.alu(choose(("unpack_64_2x32_split_x", "unpack_64_2x32_split_y")), b.alu("iand", wide, b.imm(0xFFFF0000FF, 64)))


def memory(seed: int) -> dict[tuple[int, int], Any]:
    words = np.random.default_rng(seed).integers(0, 1 << 32, LANES * 4, np.uint32)
    return {(0, 0): words, (0, 1): np.zeros(LANES * STORED, np.uint32), (0, 2): np.zeros(LANES * STORED, np.uint8)}


def run(shader: Shader, seed: int) -> list[list[int]]:
    buffers = memory(seed)
    interpreter.run(shader, (1, 1, 1), buffers)
    return [buffers[0, 1].tolist(), buffers[0, 2].tolist()]


def scalar(seed: int, **facts: Any) -> Shader:
    shader = Masked(seed, **facts).write()
    vars_to_ssa.run(shader)
    lower_alu_to_scalar.run(shader)
    for step in (copy_propagation, dce):
        step.run(shader)
    return shader


def check(seed: int) -> bool:
    shader = scalar(seed)
    expected = run(shader, seed)
    changed = opt_demanded_bits.run(shader)
    validate.run(shader)
    assert run(shader, seed) == expected, seed
    runs = 0
    while opt_demanded_bits.run(shader):
        runs += 1
        assert runs < 8, seed
        for step in (copy_propagation, constant_folding, algebraic, cse, dce):
            step.run(shader)
            validate.run(shader)
        assert run(shader, seed) == expected, seed
    return changed


def test_results_stay() -> None:
    assert sum(check(seed) for seed in range(60)) > 40


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 100))
def test_results_of_many_programs_stay(first: int) -> None:
    assert sum(check(seed) for seed in range(first, first + 100)) > 50


def test_nothing_changed_is_nothing_changed() -> None:
    """Where the pass says that it has changed nothing, it has not."""
    steady = 0
    for seed in range(40):
        shader = scalar(seed)
        for _ in range(6):
            before = text.print_shader(shader)
            if not opt_demanded_bits.run(shader):
                assert text.print_shader(shader) == before, seed
                steady += 1
                break
            for step in (copy_propagation, constant_folding, dce):
                step.run(shader)
    assert steady > 30


def with_other_bits(shader: Shader) -> tuple[Shader, int]:
    """The shader with all bits of arithmetic turned that nobody asks for, and how many values that changes."""
    asked = demanded_bits.demanded(shader)
    last = len(asked)
    constants, lines = [], []
    for line in text.print_shader(shader).splitlines():
        lines.append(line)
        found = re.fullmatch(r"(\s*)32( +)%(\d+) = (\w+)(?:\.nuw)? (.*)", line)
        if not found or found[4] in ("phi", "load_const", "undefined") or asked[int(found[3])] == 0xFFFFFFFF:
            continue
        value = int(found[3])
        constants.append(f"    32 %{last} = load_const ({~asked[value] & 0xFFFFFFFF:#010x})")
        lines[-1] = line.replace(f"%{value} =", f"%{last + 1} =", 1)
        lines.append(f"{found[1]}32 %{value} = ixor %{last + 1}, %{last}")
        last += 2
    first = next(i for i, line in enumerate(lines) if "block b0" in line)
    return parse.parse_shader("\n".join([*lines[: first + 1], *constants, *lines[first + 1 :]])), len(constants)


def test_bits_that_are_not_asked_for_change_nothing() -> None:
    changed = 0
    for seed in range(40):
        shader = scalar(seed)
        other, values = with_other_bits(shader)
        validate.run(other)
        assert run(other, seed) == run(shader, seed), seed
        changed += values
    assert changed > 200


@pytest.mark.parametrize("target", ["gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_machine_code_does_the_same(target: str) -> None:
    for seed in range(100, 112):
        expected = run(Masked(seed).write(), seed)
        shader = compile(Masked(seed).write(), target=target, validate=True)
        for engine in ("reference", "fast"):
            device = Device(target, engine=engine)
            buffers = {place: device.buffer(data) for place, data in memory(seed).items()}
            device.dispatch(shader, (1,), buffers=buffers)
            assert [buffers[0, 1].numpy().view(np.uint32).tolist(), buffers[0, 2].numpy().view(np.uint8).tolist()] == expected, (seed, engine)


@pytest.mark.parametrize("target", ["gfx900", "gfx1100"])
def test_products_of_which_24_bits_are_asked_for_are_short(target: str) -> None:
    """Whose factors a mask had shown to be short, and those that were long before."""
    def body(b: Builder, x: int, y: int) -> int:
        masked = b.imul(b.iadd(b.iand(x, b.imm(0xFF)), b.imm(3)), b.imm(37))
        return b.iand(b.iadd(masked, b.imul(x, y)), b.imm(0xFF))

    code = compile(lanes_shader(body, (32, 32), 32, LANES), target=target).disassembly
    assert "v_mul_lo_u32" not in code
    assert "u32_u24" in code
