"""``opt_reassociate`` on random chains: what is stored stays bit for bit, and the pass comes to rest.

What it makes of small programs is in ``tests/filetests/nir/opt_reassociate``.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import NirFlag, NirKind
from pyaco._core.nir import (
    build,
    constant_folding,
    convert_to_lcssa,
    copy_propagation,
    cse,
    dce,
    divergence,
    opt_licm,
    opt_reassociate,
    validate,
    vars_to_ssa,
)
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder, Swizzled

LANES = 32
PRESERVE_SPECIAL_32 = 0x80
CHAINS = 6
#: What operations of a chain are, and what stands among its operands besides.
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sums": (("iadd", "iadd", "isub"), ("imul", "imul", "ishl", "ixor", "ineg")),
    "products": (("imul",), ("iadd",)),
    "conjunctions": (("iand",), ("ior",)), "disjunctions": (("ior",), ("iand", "ishl")), "exclusive": (("ixor",), ("iand",)),
    "minima": (("imin",), ("iadd",)), "maxima": (("umax",), ("iadd",)),
}  # fmt: skip
FLOATS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "float sums": (("fadd",), ("fmul",)), "float products": (("fmul",), ("fadd",)), "float minima": (("fmin",), ("fadd",)),
}  # fmt: skip


class Chains:
    """A random shader: chains of a few values that differ between lanes, or do not, or count a loop, with results to a buffer."""

    def __init__(self, seed: int, family: str, bits: int = 32, gfx_level: int = 103) -> None:
        self.random = random.Random(seed)
        self.operations, self.others = (FAMILIES | FLOATS)[family]
        self.bits = bits
        self.b = Builder(gfx_level=gfx_level, wave_size=32, workgroup_size=(LANES, 1, 1))
        self.floats = family in FLOATS
        self.flags = 0

    def write(self) -> Shader:
        b = self.b
        self.leaves: list[int | Swizzled] = []
        lane = b.load_local_invocation_index()
        index = b.intrinsic("vulkan_resource_index", b.imm(0), components=3, bit_size=32, desc_set=0, binding=0, desc_type=7)
        descriptor = b.intrinsic("load_vulkan_descriptor", index, components=3, bit_size=32, desc_type=7)
        words = b.deref_cast(descriptor, b.array(b.scalar(), 0, 4), "ssbo")
        pairs = b.deref_cast(descriptor, b.array(b.vector(2), 0, 8), "ssbo")
        pair = b.load(b.deref_array(pairs, lane))
        uniform = [b.load(b.deref_array(words, b.imm(k))) for k in range(3)]
        for value in (lane, *uniform, *(b.component(pair, k) for k in range(2))):
            self.leaves.append(self.sized(value))
        if self.bits == 32 and not self.floats:
            self.leaves += [Swizzled((pair, (0,))), Swizzled((pair, (1,)))]
        total = b.variable("function_temp", b.scalar(bit_size=self.bits))
        counter = b.variable("function_temp", b.scalar())
        b.store(b.deref_var(total), self.chain())
        b.store(b.deref_var(counter), b.imm(0))
        with b.loop():
            with b.if_(b.uge(b.load(b.deref_var(counter)), b.imm(3))):
                b.jump("break")
            self.leaves.append(self.sized(b.load(b.deref_var(counter))))
            for _ in range(CHAINS):
                b.store(b.deref_var(total), b.ixor(b.load(b.deref_var(total)), self.chain()))
            self.leaves.pop()
            b.store(b.deref_var(counter), b.iadd(b.load(b.deref_var(counter)), b.imm(1)))
        result = b.load(b.deref_var(total))
        halves = [b.u2u32(result), b.u2u32(b.ushr(result, b.imm(32)))] if self.bits == 64 else [b.u2u32(result)]
        for number, half in enumerate(halves):
            b.store(b.deref_array(words, b.iadd(lane, b.imm(64 + LANES * number))), half)
        return b.finish()

    def sized(self, value: int) -> int:
        """A word as what the chains are of; floats are small whole numbers, so that every order of sums and products is exact."""
        if self.floats:
            return self.b.u2f32(self.b.iand(value, self.b.imm(7)))
        return value if self.bits == 32 else self.b.alu(f"u2u{self.bits}", value)

    def operand(self, depth: int) -> int | Swizzled:
        choice = self.random.random()
        if choice < 0.2:
            number = self.random.choice([0, 1, 3, 4, 255, (1 << self.bits) - 1, 1 << self.bits - 1])
            return self.b.fimm(float(number % 8)) if self.floats else self.b.imm(number % (1 << self.bits), self.bits)
        if choice < 0.7 or depth == 0:
            return self.random.choice(self.leaves)
        if choice < 0.85:
            return self.operation(self.random.choice(self.others), depth - 1)
        return self.operation(self.random.choice(self.operations), depth - 1)

    def operation(self, name: str, depth: int) -> int:
        if name == "ineg":
            return self.b.alu(name, self.operand(depth), components=1)
        if name == "ishl":
            return self.b.alu(name, self.operand(depth), self.b.imm(self.random.randrange(self.bits)), components=1)
        flags = self.flags if name.startswith("f") else 0
        return self.b.alu(name, self.operand(depth), self.operand(depth), components=1, flags=flags)

    def chain(self) -> int:
        depth = 2 if self.floats else self.random.randrange(1, 6)
        value = self.operation(self.operations[0], depth)
        for _ in range(1 if self.floats else self.random.randrange(4)):
            name = self.random.choice(self.operations)
            value = self.b.alu(name, *self.random.sample([value, self.operand(2)], 2), components=1, flags=self.flags if self.floats else 0)
        return value


def run(shader: Shader) -> list[int]:
    memory = np.random.default_rng(1).integers(0, 1 << 32, 64 + 2 * LANES, np.uint32)
    interpreter.run(shader, (1, 1, 1), {(0, 0): memory})
    return memory.tolist()


def analysed(shader: Shader) -> Shader:
    for step in (vars_to_ssa, constant_folding, cse, dce, convert_to_lcssa, divergence):
        step.run(shader)
    return shader


def flags(shader: Shader) -> list[int]:
    return [int(shader.instructions.flags[i]) & NirFlag.DIVERGENT for i in shader.order.instruction]


def operations(shader: Shader) -> Counter[int]:
    return Counter(int(shader.instructions.opcode[i]) for i in shader.order.instruction if shader.instructions.kind[i] == NirKind.ALU)


@pytest.mark.parametrize("family", [*FAMILIES, *FLOATS])
def test_chains_keep_their_value(family: str) -> None:
    changed = 0
    for seed in range(24):
        sizes = (32,) if family in FLOATS else (32, 8, 16, 64)
        level = (80, 90, 103)[seed % 3]
        shader = analysed(Chains(seed, family, sizes[seed // 3 % len(sizes)], level).write())
        expected = run(shader)
        changed += opt_reassociate.run(shader)
        validate.run(shader)
        found = flags(shader)
        divergence.run(shader)
        assert flags(shader) == found, seed
        for step in (dce, cse, opt_licm):
            step.run(shader)
            validate.run(shader)
        assert run(shader) == expected, seed
    assert changed > 6


@pytest.mark.parametrize("family", [*FAMILIES, *FLOATS])
def test_chains_come_to_rest(family: str) -> None:
    for seed in range(8):
        shader = analysed(Chains(seed, family).write())
        runs = 0
        while opt_reassociate.run(shader):
            runs += 1
            assert runs < 4, seed
            for step in (constant_folding, copy_propagation, cse, dce):
                step.run(shader)


@pytest.mark.parametrize(("exact", "controls"), [(True, 0), (False, PRESERVE_SPECIAL_32), (False, 0)])
def test_exact_floats_stay(exact: bool, controls: int) -> None:
    writer = Chains(5, "float sums")
    writer.flags = NirFlag.EXACT if exact else 0
    shader = analysed(writer.write())
    if controls:
        shader.set_info(float_controls=controls)
        divergence.run(shader)
    before = operations(shader)
    opt_reassociate.run(shader)
    dce.run(shader)
    stays = operations(shader)[build.ALU["fadd"]] == before[build.ALU["fadd"]]
    assert stays == (exact or controls != 0)
