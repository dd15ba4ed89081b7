"""Small extensions of compute modules: partitions, replicated composites, fast math modes, small floats, untyped pointers, split barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from module_words import Module, enumerant

import pyaco
from pyaco import UnsupportedError, emu, spirv
from pyaco.nir import interpreter

Array = np.ndarray[Any, Any]
LANES = 64
CHIPS = [("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)]
SUBGROUP = 3


class Kernel(Module):
    """A module of 64 invocations, whose buffers are arrays of one type."""

    def __init__(self, *capabilities: str) -> None:
        super().__init__((LANES, 1, 1), *capabilities)
        self.buffers = 0
        self.index = self.builtin("LocalInvocationId")

    def array_of(self, element: int, stride: int) -> int:
        """The next binding: an array of a type."""
        block = self.variable("StorageBuffer", self.struct((self.array(element, stride), 0)), self.buffers)
        self.buffers += 1
        return block

    def at(self, block: int, element: int, index: int | None = None) -> int:
        return self.access_chain("StorageBuffer", element, block, self.constant(0), self.index if index is None else index)


def run(words: bytes, buffers: list[Array], target: str, wave: int) -> list[Array]:
    """The buffers after a dispatch on the emulator; the NIR interpreter must leave the same."""
    device = emu.Device(target)
    placed = {(0, i): device.buffer(value) for i, value in enumerate(buffers)}
    device.dispatch(pyaco.compile(words, target, wave=wave, validate=True), (1, 1, 1), placed)
    results = [placed[0, i].numpy().view(value.dtype).reshape(value.shape) for i, value in enumerate(buffers)]
    found = {(0, i): value.copy().view(np.uint8).reshape(-1) for i, value in enumerate(buffers)}
    interpreter.run(spirv.read(words), (1, 1, 1), found, wave=wave)
    for i, result in enumerate(results):
        np.testing.assert_array_equal(found[0, i].view(result.dtype).reshape(result.shape), result)
    return results


# ------------------------------------------------------------------------------------------------------------- partitions
@pytest.mark.parametrize("kind", ["PartitionedReduceNV", "PartitionedInclusiveScanNV", "PartitionedExclusiveScanNV"])
@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_partitions(kind: str, target: str, wave: int) -> None:
    """The mask of lanes with an equal key, and sums within it; keys are vectors of a float, of which -0 equals 0, and an integer."""
    m = Kernel("GroupNonUniform", "GroupNonUniformBallot", "GroupNonUniformArithmetic", "GroupNonUniformPartitionedNV")
    uint, single = m.uint(), m.type("Float", 32)
    mask_type = m.uint(32, 4)
    keys, numbers, masks, sums = m.array_of(single, 4), m.array_of(uint, 4), m.array_of(mask_type, 16), m.array_of(uint, 4)
    key = m.load(single, m.at(keys, single))
    pair = m.type("Vector", single, 2)
    mask = m.op("GroupNonUniformPartitionNV", mask_type, m.op("CompositeConstruct", pair, key, key))
    m.store(m.at(masks, mask_type), mask)
    value = m.load(uint, m.at(numbers, uint))
    total = m.op("GroupNonUniformIAdd", uint, m.constant(SUBGROUP), enumerant("GroupOperation", kind), value, mask)
    m.store(m.at(sums, uint), total)
    random = np.random.default_rng(2)
    lanes = random.choice(np.array([0.0, -0.0, 1.5, -2.0, 7.0], np.float32), LANES)
    added = random.integers(0, 1000, LANES).astype(np.uint32)
    result = run(m.words(), [lanes, added, np.zeros((LANES, 4), np.uint32), np.zeros(LANES, np.uint32)], target, wave)
    for lane in range(LANES):
        start = lane // wave * wave
        same = [other for other in range(start, start + wave) if lanes[other] == lanes[lane]]
        bits = sum(1 << (other - start) for other in same)
        assert [int(word) for word in result[2][lane]] == [bits & 0xFFFFFFFF, bits >> 32, 0, 0]
        counted = [other for other in same if "Reduce" in kind or other < lane or (other == lane and "Inclusive" in kind)]
        assert result[3][lane] == added[counted].sum()


@pytest.mark.parametrize("cluster", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_clusters_and_rotations(cluster: int, target: str, wave: int) -> None:
    m = Kernel("GroupNonUniform", "GroupNonUniformClustered", "GroupNonUniformRotateKHR")
    uint = m.uint()
    blocks = [m.array_of(uint, 4) for _ in range(3)]
    value = m.load(uint, m.at(blocks[0], uint))
    subgroup, size = m.constant(SUBGROUP), m.constant(cluster)
    m.store(m.at(blocks[1], uint), m.op("GroupNonUniformIAdd", uint, subgroup, enumerant("GroupOperation", "ClusteredReduce"), value, size))
    m.store(m.at(blocks[2], uint), m.op("GroupNonUniformRotateKHR", uint, subgroup, value, m.constant(3), size))
    x = np.random.default_rng(3).integers(0, 1 << 32, LANES).astype(np.uint32)
    _, sums, rotated = run(m.words(), [x, np.zeros_like(x), np.zeros_like(x)], target, wave)
    clusters = x.reshape(-1, cluster)
    np.testing.assert_array_equal(sums.reshape(-1, cluster), np.repeat(clusters.sum(axis=1, dtype=np.uint32)[:, None], cluster, 1))
    np.testing.assert_array_equal(rotated.reshape(-1, cluster), np.roll(clusters, -3, axis=1))


# ------------------------------------------------------------------------------------------------- composites, hints, barriers
@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_replicated_composites(target: str, wave: int) -> None:
    m = Kernel("ReplicatedCompositesEXT", "ExpectAssumeKHR")
    uint = m.uint()
    vector, block = m.uint(32, 4), m.array_of(m.uint(32, 4), 16)
    array = m.type("Array", vector, m.constant(3))
    constants = [m.id(), m.id()]
    m.emit(m.globals, "ConstantCompositeReplicateEXT", vector, constants[0], m.constant(5))
    m.emit(m.globals, "ConstantCompositeReplicateEXT", array, constants[1], constants[0])
    own = m.op("CompositeConstructReplicateEXT", vector, m.index)
    second = m.op("CompositeExtract", vector, constants[1], 2)
    arrays = m.op("CompositeConstructReplicateEXT", array, own)
    total = m.op("IAdd", vector, second, m.op("CompositeExtract", vector, arrays, 1))
    m.emit(m.body, "AssumeTrueKHR", m.op("ULessThan", m.type("Bool"), m.index, m.constant(LANES)))
    m.store(m.at(block, vector), m.op("ExpectKHR", vector, total, constants[0]))
    assert uint
    result, = run(m.words(), [np.zeros((LANES, 4), np.uint32)], target, wave)
    np.testing.assert_array_equal(result, np.repeat(np.arange(LANES, dtype=np.uint32)[:, None] + 5, 4, 1))


@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_split_barriers(target: str, wave: int) -> None:
    """What all invocations wrote before they arrived is there when the wait is over."""
    m = Kernel("SplitBarrierINTEL")
    uint = m.uint()
    source, block = m.array_of(uint, 4), m.array_of(uint, 4)
    shared = m.variable("Workgroup", m.type("Array", uint, m.constant(LANES)))
    m.store(m.access_chain("Workgroup", uint, shared, m.index), m.load(uint, m.at(source, uint)))
    workgroup, release, acquire = m.constant(2), m.constant(0x104), m.constant(0x102)
    m.emit(m.body, "ControlBarrierArriveINTEL", workgroup, workgroup, release)
    other = m.op("ISub", uint, m.constant(LANES - 1), m.index)
    m.emit(m.body, "ControlBarrierWaitINTEL", workgroup, workgroup, acquire)
    m.store(m.at(block, uint), m.load(uint, m.access_chain("Workgroup", uint, shared, other)))
    x = np.random.default_rng(4).integers(0, 1 << 32, LANES).astype(np.uint32)
    np.testing.assert_array_equal(run(m.words(), [x, np.zeros_like(x)], target, wave)[1], x[::-1])


# ------------------------------------------------------------------------------------------------------------- fast math
def contraction(default: int | None, decoration: int | None) -> str:
    """The NIR of a * b + c, which may be fused where it need not be exact."""
    m = Kernel("FloatControls2")
    single = m.type("Float", 32)
    blocks = [m.array_of(single, 4) for _ in range(2)]
    value = m.load(single, m.at(blocks[0], single))
    product = m.op("FMul", single, value, value)
    total = m.op("FAdd", single, product, value)
    if decoration is not None:
        for value in (product, total):
            m.decorate(value, "FPFastMathMode", decoration)
    m.store(m.at(blocks[1], single), total)
    if default is not None:
        m.emit(m.annotations, "ExecutionModeId", m.main, enumerant("ExecutionMode", "FPFastMathDefault"), single, m.constant(default))
    return pyaco.compile(m.words(), "gfx1100").disassembly


def test_fast_math_modes() -> None:
    """All of a mode's permissions are needed for a fused product; a decoration overrides the entry point's default."""
    everything = 7 | 0x70000
    fused = ["fma" in contraction(*modes) for modes in [(None, None), (everything, None), (0, None), (0, everything), (everything, 0), (None, 0)]]
    assert fused == [True, True, False, True, False, False]


# ----------------------------------------------------------------------------------------------------------- small floats
def float8(bits: Array, mantissa: int, bias: int) -> Array:
    """The numbers of an 8-bit float, as its definition says."""
    exponent, fraction = (bits & 127) >> mantissa, bits & ((1 << mantissa) - 1)
    number = np.where(exponent == 0, fraction * 2.0 ** (1 - bias - mantissa), (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - bias))
    if mantissa == 3:
        number = np.where(bits & 127 == 127, np.nan, number)
    else:
        number = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), number)
    return np.where(bits & 128, -number, number)


FLOAT8 = {"e4m3": (4214, 3, 7, 448.0), "e5m2": (4215, 2, 15, 57344.0)}


def conversions(encoding: int | None, count: int, saturated: bool = False) -> bytes:
    """Binding 0, floats of 32 bits, to a small type in binding 1, and from binding 2 to floats in binding 3; `count` a lane."""
    m = Kernel("BFloat16TypeKHR", "Float8EXT")
    single = m.type("Float", 32)
    small = m.type("Float", 8, encoding) if encoding is not None else m.type("Float", 16, 0)
    width = 1 if encoding is not None else 2
    blocks = [m.array_of(*each) for each in ((single, 4), (small, width), (small, width), (single, 4))]
    for i in range(count):
        index = m.op("IAdd", m.uint(), m.op("IMul", m.uint(), m.index, m.constant(count)), m.constant(i))
        value = m.op("FConvert", small, m.load(single, m.at(blocks[0], single, index)))
        if saturated:
            m.decorate(value, "SaturatedToLargestFloat8NormalConversionEXT")
        m.store(m.at(blocks[1], small, index), value)
        m.store(m.at(blocks[3], single, index), m.op("FConvert", single, m.load(small, m.at(blocks[2], small, index))))
    return m.words()


@pytest.mark.parametrize("saturated", [False, True])
@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1200", 32)])
def test_float8(name: str, saturated: bool, target: str, wave: int) -> None:
    """All bit patterns to 32 bits; from there to the nearest number: at each number, between two, beyond the largest, special values."""
    encoding, mantissa, bias, largest = FLOAT8[name]
    patterns = np.arange(256, dtype=np.uint8)
    numbers = float8(patterns.astype(np.int64), mantissa, bias)
    finite = np.unique(numbers[np.isfinite(numbers)])
    middles = (finite[1:] + finite[:-1]) / 2
    x = np.concatenate([finite, middles, np.nextafter(middles.astype(np.float32), np.float32(0)), [largest * 1.03, largest * 2, -1e30, np.inf,
                        -np.inf, np.nan, 1e-30, -0.0]]).astype(np.float32)  # fmt: skip
    count = -(-len(x) // LANES)
    x = np.resize(x, LANES * count)
    inputs: list[Array] = [x, np.zeros(len(x), np.uint8), np.resize(patterns, len(x)), np.zeros(len(x), np.float32)]
    _, small, _, wide = run(conversions(encoding, count, saturated), inputs, target, wave)
    np.testing.assert_array_equal(wide[:256], numbers.astype(np.float32))
    for value, bits in zip(x.astype(float), small, strict=True):
        found = numbers[bits]
        if np.isnan(value):
            assert np.isnan(found)
            continue
        # the first power of two that is no number any more: half way to it everything rounds down
        step = largest - finite[finite < largest].max()
        if abs(value) >= largest + step / 2 and not (abs(value) == largest + step / 2 and name == "e4m3"):
            beyond = largest if saturated else np.nan if name == "e4m3" else np.inf
            np.testing.assert_equal(abs(found), beyond)
            continue
        distance = np.abs(finite - value)
        nearest = finite[distance == distance.min()]
        even = [each for each in nearest if not int(patterns[numbers == each][0]) & 1]
        assert found == (nearest[0] if len(nearest) == 1 else even[0]), value
        assert np.signbit(found) == np.signbit(value)


@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_bfloat16(target: str, wave: int) -> None:
    random = np.random.default_rng(7)
    words = random.integers(0, 1 << 32, 4 * LANES).astype(np.uint32)
    words[:8] = [0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x80000001, 0xFF8FFFFF]
    x = words.view(np.float32)
    halves = random.integers(0, 1 << 16, 4 * LANES).astype(np.uint16)
    _, small, _, wide = run(conversions(None, 4), [x, np.zeros(4 * LANES, np.uint16), halves, np.zeros(4 * LANES, np.float32)], target, wave)
    np.testing.assert_array_equal(wide.view(np.uint32), halves.astype(np.uint32) << 16)
    for word, bits in zip(words.tolist(), small.tolist(), strict=True):
        if word & 0x7FFFFFFF > 0x7F800000:
            assert bits & 0x7FFF > 0x7F80
        else:
            low = word & 0xFFFF
            assert bits == (word >> 16) + (low > 0x8000 or (low == 0x8000 and word >> 16 & 1))


def test_bfloat16_dot_products_and_what_there_is_not() -> None:
    m = Kernel("BFloat16TypeKHR", "BFloat16DotProductKHR")
    small = m.type("Float", 16, 0)
    vector = m.type("Vector", small, 2)
    blocks = [m.array_of(vector, 4), m.array_of(small, 2)]
    value = m.load(vector, m.at(blocks[0], vector))
    m.store(m.at(blocks[1], small), m.op("Dot", small, value, value))
    numbers = np.arange(2 * LANES, dtype=np.float32).reshape(LANES, 2) / 8
    packed = (numbers.view(np.uint32) >> 16).astype(np.uint16)
    result = run(m.words(), [packed, np.zeros(LANES, np.uint16)], "gfx1100", 32)[1]
    sums = (packed.astype(np.uint32) << 16).view(np.float32).astype(float) ** 2
    found = (result.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(found, sums.sum(axis=1), rtol=2.0**-8)
    m = Kernel("BFloat16TypeKHR")
    small = m.type("Float", 16, 0)
    value = m.load(small, m.at(m.array_of(small, 2), small))
    m.op("FAdd", small, value, value)
    with pytest.raises(UnsupportedError, match="arithmetic on bfloat16"):
        spirv.read(m.words())


# -------------------------------------------------------------------------------------------------------- untyped pointers
@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_untyped_pointers(target: str, wave: int) -> None:
    """Loads and stores of other types than the variable's, atomics, lengths, copies, and a choice of two pointers."""
    m = Kernel("UntypedPointersKHR")
    uint, half = m.uint(), m.uint(16)
    pointer = m.type("UntypedPointerKHR", enumerant("StorageClass", "StorageBuffer"))
    words, halves = m.array(uint, 4), m.array(half, 2)
    block = m.struct((words, 0))
    source, target_block, counter = (m.id() for _ in range(3))
    for binding, variable in enumerate((source, target_block, counter)):
        m.emit(m.globals, "UntypedVariableKHR", pointer, variable, enumerant("StorageClass", "StorageBuffer"), block)
        m.decorate(variable, "DescriptorSet", 0)
        m.decorate(variable, "Binding", binding)
    zero, two = m.constant(0), m.op("IMul", uint, m.index, m.constant(2))
    low = m.op("UntypedAccessChainKHR", pointer, halves, source, two)
    high = m.op("UntypedPtrAccessChainKHR", pointer, half, low, m.constant(1))
    chosen = m.op("Select", pointer, m.op("ULessThan", m.type("Bool"), m.index, m.constant(32)), low, high)
    number = m.op("UConvert", uint, m.op("Load", half, chosen))
    length = m.op("UntypedArrayLengthKHR", uint, block, source, 0)
    m.store(m.op("UntypedAccessChainKHR", pointer, block, target_block, zero, m.index), m.op("IAdd", uint, number, length))
    first = m.op("UntypedAccessChainKHR", pointer, words, counter, zero)
    m.op("AtomicIAdd", uint, first, m.constant(1), zero, number)
    m.emit(m.body, "CopyMemorySized", m.op("UntypedAccessChainKHR", pointer, words, counter, m.op("IAdd", uint, m.index, m.constant(1))),
           m.op("UntypedAccessChainKHR", pointer, words, source, m.index), m.constant(4))
    x = np.random.default_rng(8).integers(0, 1 << 32, LANES).astype(np.uint32)
    _, result, counted = run(m.words(), [x, np.zeros_like(x), np.zeros(LANES + 1, np.uint32)], target, wave)
    lanes = np.arange(LANES)
    numbers = np.where(lanes < 32, x & 0xFFFF, x >> 16)
    np.testing.assert_array_equal(result, numbers + LANES)
    assert counted[0] == numbers.sum()
    np.testing.assert_array_equal(counted[1:], x)


# ------------------------------------------------------------------------------------------------- variable pointers, layouts
@pytest.mark.parametrize(("target", "wave"), CHIPS)
def test_variable_pointers_and_explicit_layouts(target: str, wave: int) -> None:
    """Pointers chosen at run time into two buffers, and into two Workgroup blocks that share their memory."""
    m = Kernel("VariablePointers", "WorkgroupMemoryExplicitLayoutKHR")
    uint, half = m.uint(), m.uint(16)
    blocks = [m.array_of(uint, 4) for _ in range(3)]
    is_low = m.op("ULessThan", m.type("Bool"), m.index, m.constant(20))
    chosen = m.op("Select", m.pointer("StorageBuffer", uint), is_low, m.at(blocks[0], uint), m.at(blocks[1], uint))
    m.decorate(chosen, "NonUniform")
    words = m.variable("Workgroup", m.struct((m.array(uint, 4, LANES), 0)))
    halves = m.variable("Workgroup", m.struct((m.array(half, 2, 2 * LANES), 0)))
    for variable in (words, halves):
        m.decorate(variable, "Aliased")
    m.store(m.access_chain("Workgroup", uint, words, m.constant(0), m.index), m.load(uint, chosen))
    m.emit(m.body, "ControlBarrier", m.constant(2), m.constant(2), m.constant(0x108))
    other = m.op("IMul", uint, m.op("ISub", uint, m.constant(LANES - 1), m.index), m.constant(2))
    parts = [m.access_chain("Workgroup", half, halves, m.constant(0), m.op("IAdd", uint, other, m.constant(i))) for i in range(2)]
    part = m.op("Select", m.pointer("Workgroup", half), is_low, *parts)
    m.store(m.at(blocks[2], uint), m.op("UConvert", uint, m.load(half, part)))
    x, y = np.random.default_rng(9).integers(0, 1 << 32, (2, LANES)).astype(np.uint32)
    result = run(m.words(), [x, y, np.zeros(LANES, np.uint32)], target, wave)[2]
    lanes = np.arange(LANES)
    mixed = np.where(lanes < 20, x, y)[::-1]
    np.testing.assert_array_equal(result, np.where(lanes < 20, mixed & 0xFFFF, mixed >> 16))
