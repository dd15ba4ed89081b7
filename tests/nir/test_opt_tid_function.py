"""opt_tid_function: shuffles by random functions of the lane's number give what they gave, in NIR and as machine code."""

from __future__ import annotations

import random

import numpy as np
import pytest

import pyaco
from pyaco._core.ir.shader import Shader
from pyaco._core.nir import opt_tid_function, validate
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder
from pyaco.nir.text import print_shader

SHUFFLES = 8
CONSTANTS = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 0xFFFFFFF0, 0xFFFFFFFC)
MOVES = ("quad_swizzle_amd", "masked_swizzle_amd", "read_invocation", "lane_permute_16_amd")
TARGETS = (("gfx700", 70, 64), ("gfx900", 90, 64), ("gfx1030", 103, 32), ("gfx1030", 103, 64), ("gfx1100", 110, 64), ("gfx1200", 120, 32))


class Writer:
    """A shader whose lanes read each other's values by random functions of their numbers; what each reads goes to a buffer."""

    def __init__(self, seed: int, gfx_level: int, wave: int) -> None:
        self.random = random.Random(seed)
        self.wave = wave
        self.b = Builder(gfx_level, wave, (wave, 1, 1))
        self.lane = self.b.load_subgroup_invocation()

    def index(self, depth: int) -> int:
        """A random number of a lane; often one of few bits away, as real ones are."""
        b, constant = self.b, self.b.imm(self.random.choice(CONSTANTS))
        choice = self.random.random()
        if depth == 0 or choice < 0.2:
            return self.lane
        if choice < 0.35:
            row = self.random.choice((4, 8, 16, 32))
            return b.ior(b.iand(self.lane, b.imm(-row & 0xFFFFFFFF)), b.iand(self.index(depth - 1), b.imm(row - 1)))
        if choice < 0.4:
            return b.bcsel(b.ult(self.lane, constant), self.index(depth - 1), self.index(depth - 1))
        operation = self.random.choice(("iand", "ior", "ixor", "ixor", "iadd", "isub", "umin", "imul"))
        return b.alu(operation, self.index(depth - 1), constant)

    def write(self) -> Shader:
        """The whole shader."""
        b = self.b
        array = b.array(b.scalar(), 0, 4)
        index = b.intrinsic("vulkan_resource_index", b.imm(0), components=3, bit_size=32, desc_set=0, binding=0, desc_type=7)
        descriptor = b.intrinsic("load_vulkan_descriptor", index, components=3, bit_size=32, desc_type=7)
        buffer = b.deref_cast(descriptor, array, "ssbo")
        value = b.iadd(b.imul(b.load_local_invocation_index(), b.imm(0x10001)), b.imm(7))
        for place in range(SHUFFLES):
            lane = b.iand(self.index(3), b.imm(self.wave - 1))
            found = b.intrinsic("shuffle", value, lane, components=1, bit_size=32)
            b.store(b.deref_array(buffer, b.iadd(b.imul(b.load_local_invocation_index(), b.imm(SHUFFLES)), b.imm(place))), found)
        return b.finish()


def results(shader: Shader, wave: int) -> np.ndarray:
    buffer = np.zeros(wave * SHUFFLES, np.uint32)
    interpreter.run(shader, (1, 1, 1), {(0, 0): buffer}, wave=wave)
    return buffer


@pytest.mark.parametrize(("target", "level", "wave"), TARGETS)
def test_random_functions(target: str, level: int, wave: int) -> None:
    found: set[str] = set()
    for seed in range(25):
        before, after = (Writer(seed, level, wave).write() for _ in range(2))
        opt_tid_function.run(after)
        validate.run(after)
        expected = results(before, wave)
        assert np.array_equal(results(after, wave), expected), seed
        found |= {name for name in MOVES if f"@{name} " in print_shader(after)}
        device = pyaco.emu.Device(target)
        buffer = device.buffer(np.zeros_like(expected))
        device.dispatch(pyaco.compile(before, target=target, wave=wave, validate=True), groups=(1, 1, 1), buffers={(0, 0): buffer})
        assert np.array_equal(buffer.numpy().view(np.uint32), expected), seed
    assert found == set(MOVES) - ({"lane_permute_16_amd"} if level < 100 else set())
