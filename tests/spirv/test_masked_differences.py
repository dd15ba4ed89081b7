"""Sums of masked differences of bytes as vkd3d-proton's modules compute them (DXIL's Msad), four of them at neighbouring places (HLSL's msad4), and
sums in any order with other summands in between."""

from __future__ import annotations

import numpy as np
import pytest
from test_compute_extensions import LANES, Array, Kernel, run

import pyaco
from pyaco import emu

# Chips of all levels; GFX6 alone has no v_mqsad_u32_u8.
TARGETS = [("gfx600", 64), ("gfx700", 64), ("gfx803", 64), ("gfx900", 64), ("gfx1010", 64), ("gfx1030", 32),
           ("gfx1100", 64), ("gfx1150", 32), ("gfx1200", 32)]
SABS = 5


def msad(reference: Array, source: Array, total: Array) -> Array:
    """What DXIL's Msad gives."""
    for shift in (0, 8, 16, 24):
        one, other = (reference >> shift & 255).astype(np.int64), (source >> shift & 255).astype(np.int64)
        total = total + np.where(one == 0, 0, np.abs(one - other)).astype(np.uint32)
    return total


def numbers(seed: int, *shape: int) -> Array:
    """Random numbers with many bytes of 0, and of 255."""
    random = np.random.default_rng(seed)
    values = random.choice([0, 255, 1, 128, *range(256)], (*shape, 4), p=[0.2, 0.1, 0.05, 0.05, *[0.6 / 256] * 256])
    return values.astype(np.uint8).view(np.uint32).reshape(shape)


class Sums(Kernel):
    """A module with sums of differences."""

    def __init__(self) -> None:
        super().__init__()
        self.number = self.uint()
        self.byte_vector, self.truths = self.uint(32, 4), self.type("Vector", self.type("Bool"), 4)
        zero = self.constant(0)
        self.zeros = self.op("CompositeConstruct", self.byte_vector, zero, zero, zero, zero)

    def bytes_of(self, value: int) -> int:
        parts = [self.op("BitFieldUExtract", self.number, value, self.constant(8 * k), self.constant(8)) for k in range(4)]
        return self.op("CompositeConstruct", self.byte_vector, *parts)

    def msad(self, reference: int, source: int, total: int) -> int:
        """The instructions of dxil-spirv."""
        one, other = self.bytes_of(reference), self.bytes_of(source)
        is_zero = self.op("IEqual", self.truths, one, self.zeros)
        difference = self.glsl(SABS, self.byte_vector, self.op("ISub", self.byte_vector, one, other))
        masked = self.op("Select", self.byte_vector, is_zero, self.zeros, difference)
        parts = [self.op("CompositeExtract", self.number, masked, k) for k in range(4)]
        result = parts[0]
        for part in parts[1:]:
            result = self.op("IAdd", self.number, result, part)
        return self.op("IAdd", self.number, total, result)

    def components(self, value: int, count: int) -> list[int]:
        return [self.op("CompositeExtract", self.number, value, k) for k in range(count)]


def code_of(words: bytes, target: str, wave: int) -> str:
    return pyaco.compile(words, target, wave=wave).disassembly


def check(words: bytes, buffers: list[Array], target: str, wave: int, wanted: Array) -> None:
    """Both engines and the NIR interpreter compute it."""
    np.testing.assert_array_equal(run(words, buffers, target, wave)[-1], wanted)
    device = emu.Device(target, "reference")
    placed = {(0, i): device.buffer(value) for i, value in enumerate(buffers)}
    device.dispatch(pyaco.compile(words, target, wave=wave), (1, 1, 1), placed)
    np.testing.assert_array_equal(placed[0, len(buffers) - 1].numpy().view(np.uint32).reshape(wanted.shape), wanted)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_one_sum_is_one_instruction(target: str, wave: int) -> None:
    m = Sums()
    blocks = [m.array_of(m.number, 4) for _ in range(3)]
    one, other, total = (m.load(m.number, m.at(block, m.number)) for block in blocks)
    m.store(m.at(blocks[2], m.number), m.msad(one, other, total))
    reference, source = numbers(1, LANES), numbers(2, LANES)
    start = np.random.default_rng(3).integers(0, 1 << 32, LANES, np.uint64).astype(np.uint32)
    check(m.words(), [reference, source, start], target, wave, msad(reference, source, start))
    text = code_of(m.words(), target, wave)
    assert text.count("v_msad_u8") == 1 and "v_cndmask" not in text and "v_bfe" not in text


@pytest.mark.parametrize("chain", [1, 3])
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_four_sums_are_one_instruction(target: str, wave: int, chain: int) -> None:
    """HLSL's msad4, and several of them, each of which adds to the one before."""
    m = Sums()
    pair = m.uint(32, 2)
    references, sources, totals = m.array_of(m.number, 4), m.array_of(pair, 8), m.array_of(m.byte_vector, 16)
    sums = m.components(m.load(m.byte_vector, m.at(totals, m.byte_vector)), 4)
    for step in range(chain):
        index = m.op("IAdd", m.number, m.index, m.constant(LANES * step))
        reference = m.load(m.number, m.at(references, m.number, index))
        low, high = m.components(m.load(pair, m.at(sources, pair, index)), 2)
        windows = [low]
        for k in range(1, 4):
            shifted = m.op("ShiftRightLogical", m.number, low, m.constant(8 * k))
            windows.append(m.op("BitFieldInsert", m.number, shifted, high, m.constant(32 - 8 * k), m.constant(8 * k)))
        sums = [m.msad(reference, window, total) for window, total in zip(windows, sums, strict=True)]
    m.store(m.at(totals, m.byte_vector), m.op("CompositeConstruct", m.byte_vector, *sums))
    ones, others = numbers(1, chain, LANES), numbers(2, chain, LANES, 2)
    start: Array = np.random.default_rng(3).integers(0, 1 << 32, (LANES, 4), np.uint64).astype(np.uint32)
    wanted = start
    for step in range(chain):
        whole = others[step].view(np.uint64)[:, 0]
        shifted_words = [(whole >> np.uint64(8 * k)).astype(np.uint32) for k in range(4)]
        wanted = np.stack([msad(ones[step], words, wanted[:, k]) for k, words in enumerate(shifted_words)], 1)
    check(m.words(), [ones.ravel(), others.reshape(-1, 2), start], target, wave, wanted)
    text = code_of(m.words(), target, wave)
    assert text.count("v_mqsad_u32_u8") == (0 if target == "gfx600" else chain)
    assert text.count("v_msad_u8") == text.count("v_alignbit_b32") / 3 * 4 == (4 * chain if target == "gfx600" else 0)


def test_what_reads_a_sum_early_keeps_it_by_itself() -> None:
    """The second sum adds to what depends on the first one."""
    m = Sums()
    blocks = [m.array_of(m.number, 4) for _ in range(4)]
    reference, low, high = (m.load(m.number, m.at(block, m.number)) for block in blocks[:3])
    total = m.constant(1)
    for k in range(4):
        window = low
        if k:
            window = m.op("BitwiseOr", m.number, m.op("ShiftRightLogical", m.number, low, m.constant(8 * k)),
                          m.op("ShiftLeftLogical", m.number, high, m.constant(32 - 8 * k)))
        total = m.op("BitwiseXor", m.number, m.msad(reference, window, total), m.constant(3))
    m.store(m.at(blocks[3], m.number), total)
    buffers = [numbers(seed, LANES) for seed in range(4)]
    wanted: Array = np.full(LANES, 1, np.uint32)
    whole = buffers[1].astype(np.uint64) | buffers[2].astype(np.uint64) << np.uint64(32)
    for k in range(4):
        wanted = msad(buffers[0], (whole >> np.uint64(8 * k)).astype(np.uint32), wanted) ^ 3
    check(m.words(), buffers, "gfx1030", 32, wanted)
    assert code_of(m.words(), "gfx1030", 32).count("v_msad_u8") == 4


class RandomSum(Sums):
    """A sum of random differences and other numbers, added up in a random order, with what reads some of them besides."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.blocks = [self.array_of(self.number, 4) for _ in range(4)]
        self.inputs = [self.load(self.number, self.at(block, self.number)) for block in self.blocks[:3]]

    def pick(self, *choices: int) -> int:
        return int(self.random.choice(choices))

    def byte(self, value: int, index: int) -> int:
        shift, mask = self.constant(8 * index), self.constant(255)
        kind = self.pick(0, 1, 2)
        if kind == 0 or (kind == 1 and index < 3):
            return self.op("BitFieldUExtract", self.number, value, shift, self.constant(8))
        shifted = self.op("ShiftRightLogical", self.number, value, shift)
        return shifted if index == 3 else self.op("BitwiseAnd", self.number, *self.random.permutation([shifted, mask]).tolist())

    def difference(self, reference: int, source: int, index: int) -> int:
        """One of a byte, or, seldom, of bytes at different places."""
        one, other = self.byte(reference, index), self.byte(source, index if self.random.random() < 0.95 else self.pick(0, 1, 2, 3))
        distance = self.glsl(SABS, self.number, self.op("ISub", self.number, *self.random.permutation([one, other]).tolist()))
        zero = self.constant(0)
        if self.pick(0, 1):
            return self.op("Select", self.number, self.op("INotEqual", self.type("Bool"), one, zero), distance, zero)
        return self.op("Select", self.number, self.op("IEqual", self.type("Bool"), zero, one), zero, distance)

    def build(self) -> bytes:
        pairs = [self.random.choice(self.inputs, 2, replace=False).tolist() for _ in range(self.pick(1, 2, 3))]
        summands = [self.difference(one, other, index) for one, other in pairs for _ in range(self.pick(1, 1, 2)) for index in range(4)]
        summands += [self.pick(*self.inputs, self.constant(77)) for _ in range(self.pick(0, 1, 3))]
        shared = self.pick(*summands)
        summands = self.random.permutation(summands).tolist()
        while len(summands) > 1:
            left, right = (summands.pop(self.random.integers(len(summands))) for _ in range(2))
            summands.append(self.op("IAdd", self.number, left, right))
            if self.random.random() < 0.05:
                shared = summands[-1]
        result = self.op("BitwiseXor", self.number, summands[0], shared) if self.pick(0, 1) else summands[0]
        self.store(self.at(self.blocks[3], self.number), result)
        return self.words()


@pytest.mark.parametrize("seed", range(60))
def test_random_sums(seed: int) -> None:
    """Compiled code leaves what the interpreter computes from the module."""
    target, wave = TARGETS[seed % len(TARGETS)]
    run(RandomSum(seed).build(), [numbers(4 * seed + i, LANES) for i in range(4)], target, wave)


def test_most_random_sums_have_the_instruction() -> None:
    assert sum("sad_u" in code_of(RandomSum(seed).build(), "gfx1030", 32) for seed in range(60)) >= 40
