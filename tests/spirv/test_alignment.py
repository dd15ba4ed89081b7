"""Memory access at every alignment that a module can state, compiled and executed, against NumPy.

A module reads vectors of one to four components at ``first + index * stride`` and writes them back, at the same places of another
buffer and packed; the stride is an odd multiple of the alignment, so that sixteen indices reach every misalignment that it leaves open.
Indices are uniform (the workgroup) and divergent (the invocation).
"""

from __future__ import annotations

import numpy as np
import pytest
from module_words import Module, enumerant

import pyaco
from pyaco import emu, spirv
from pyaco.nir.text import print_shader

TARGETS = [("gfx900", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64)]
STORAGE = {"ssbo": "StorageBuffer", "ubo": "Uniform", "push": "PushConstant", "shared": "Workgroup", "scratch": "Function",
           "physical": "PhysicalStorageBuffer"}
SPACES = ["ssbo", "restrict ssbo", "ubo", "push", "physical", "restrict physical", "shared", "scratch"]
CAPABILITIES = ("Int8", "Int16", "Int64", "StorageBuffer8BitAccess", "StorageBuffer16BitAccess", "UniformAndStorageBuffer8BitAccess",
                "UniformAndStorageBuffer16BitAccess", "StoragePushConstant8", "StoragePushConstant16", "PhysicalStorageBufferAddresses",
                "WorkgroupMemoryExplicitLayoutKHR", "WorkgroupMemoryExplicitLayout8BitAccessKHR",
                "WorkgroupMemoryExplicitLayout16BitAccessKHR")
SOURCE, PACKED, TARGET = 0, 1, 2
VECTORS = (1, 2, 3, 4)


class Case:
    """One module and what it computes."""

    def __init__(self, space: str, bits: int, alignment: int) -> None:
        self.restrict, self.space = space.startswith("restrict"), space.split()[-1]
        self.bits, self.alignment = bits, alignment
        self.lanes = 4 if self.space == "push" else 16
        self.stride = 32 + alignment
        self.first = alignment
        self.bytes = -(-(self.first + (self.lanes - 1) * self.stride + bits // 2) // 4) * 4

    def block(self, m: Module, count: int) -> int:
        """The struct type in which the vectors stand."""
        array = m.array(m.uint(self.bits, count), self.stride, 0 if self.space in ("ssbo", "physical") else self.lanes)
        struct = m.struct((array, self.first), block=self.space != "scratch")
        if self.restrict:
            m.decorate(struct, "NonWritable", member=0)
            m.decorate(struct, "Restrict", member=0)
        return struct

    def source(self, m: Module, count: int, indices: tuple[int, int]) -> list[int]:
        """Load the vectors at the indices from the memory that the case is about."""
        vector, storage, block = m.uint(self.bits, count), STORAGE[self.space], self.block(m, count)
        if self.space == "physical":
            address = m.load(m.uint(64), m.place("PushConstant", m.uint(64), self.addresses, m.constant(0)))
            base = m.op("ConvertUToPtr", m.pointer(storage, block), address)
        elif self.space == "scratch":
            base = m.variable(storage, block)
            outside = m.variable("StorageBuffer", m.struct((m.array(vector, self.stride), self.first)), SOURCE)
            for index in indices:
                value = m.load(vector, m.place("StorageBuffer", vector, outside, m.constant(0), index))
                m.store(m.place(storage, vector, base, m.constant(0), index), value)
        else:
            base = m.variable(storage, block, None if self.space in ("push", "shared") else SOURCE)
        if self.space == "shared":
            self.fill_shared(m, indices[1])
        aligned = self.alignment if self.space == "physical" else 0
        return [m.load(vector, m.place(storage, vector, base, m.constant(0), index), aligned) for index in indices]

    def fill_shared(self, m: Module, lane: int) -> None:
        """Copy the source to workgroup memory, through another variable of a block type, which lies at the same address."""
        uint, words = m.uint(), -(-self.bytes // 64) * 16
        outside = m.variable("StorageBuffer", m.struct((m.array(uint, 4), 0)), SOURCE)
        inside = m.variable("Workgroup", m.struct((m.array(uint, 4, words), 0)))
        for first in range(0, self.bytes // 4, 16):
            index = m.op("IAdd", uint, lane, m.constant(first))
            value = m.load(uint, m.place("StorageBuffer", uint, outside, m.constant(0), index))
            m.store(m.place("Workgroup", uint, inside, m.constant(0), index), value)
        semantics = m.constant(enumerant("MemorySemantics", "AcquireRelease", "WorkgroupMemory"))
        m.emit(m.body, "ControlBarrier", m.constant(2), m.constant(2), semantics)

    def words(self) -> bytes:
        """The module: packed results of all vectors, and the vectors again at the places from which they came."""
        m = Module((self.lanes, 1, 1), *CAPABILITIES, addressing="PhysicalStorageBuffer64")
        indices = m.builtin("WorkgroupId"), m.builtin("LocalInvocationId")
        if self.space == "physical":
            self.addresses = m.variable("PushConstant", m.struct((m.uint(64), 0)))
        scalar = m.uint(self.bits)
        packed = m.variable("StorageBuffer", m.struct((m.array(scalar, self.bits // 8), 0)), PACKED)
        for count in VECTORS:
            for which, (index, value) in enumerate(zip(indices, self.source(m, count, indices), strict=True)):
                target = m.variable("StorageBuffer", m.struct((m.array(m.uint(self.bits, count), self.stride), self.first)),
                                    TARGET + 2 * (count - 1) + which)
                m.store(m.place("StorageBuffer", m.uint(self.bits, count), target, m.constant(0), index), value)
                row = m.op("IMul", m.uint(), index, m.constant(20))
                for k in range(count):
                    place = m.op("IAdd", m.uint(), row, m.constant(which * 10 + count * (count - 1) // 2 + k))
                    part = value if count == 1 else m.op("CompositeExtract", scalar, value, k)
                    m.store(m.place("StorageBuffer", scalar, packed, m.constant(0), place), part)
        return m.words()

    def expected(self, data: bytes) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Packed results, and the target buffers by binding."""
        element = self.bits // 8
        packed = np.zeros((self.lanes, 2, 10, element), np.uint8)
        targets = {TARGET + i: np.zeros(self.bytes, np.uint8) for i in range(2 * len(VECTORS))}
        for count in VECTORS:
            for index in range(self.lanes):
                start = self.first + index * self.stride
                raw = np.frombuffer(data, np.uint8)[start : start + count * element]
                row = count * (count - 1) // 2
                packed[index, :, row : row + count] = raw.reshape(count, element)
                for which in range(2):
                    targets[TARGET + 2 * (count - 1) + which][start : start + count * element] = raw
        return packed.reshape(-1), targets


def run(case: Case, words: bytes, target: str, wave: int) -> None:
    data = np.random.default_rng(case.bits * 31 + case.alignment).bytes(case.bytes)
    device = emu.Device(target, engine="fast")
    buffers = {(0, SOURCE): device.buffer(np.frombuffer(data, np.uint8).copy())}
    push = data if case.space == "push" else b""
    if case.space == "physical":
        push = int(buffers[0, SOURCE].address).to_bytes(8, "little")
    if case.space in ("push", "physical"):
        held = buffers.pop((0, SOURCE))
        assert held is not None
    packed, targets = case.expected(data)
    buffers[0, PACKED] = device.buffer(np.zeros(len(packed), np.uint8))
    for binding, wanted in targets.items():
        buffers[0, binding] = device.buffer(np.zeros(len(wanted), np.uint8))
    device.dispatch(pyaco.compile(words, target, wave=wave), (case.lanes, 1, 1), buffers, push)
    np.testing.assert_array_equal(buffers[0, PACKED].numpy().reshape(-1).view(np.uint8), packed, "packed")
    for binding, wanted in targets.items():
        np.testing.assert_array_equal(buffers[0, binding].numpy().reshape(-1).view(np.uint8), wanted, f"binding {binding}")


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("alignment", [1, 2, 4, 8, 16])
def test_every_misalignment(space: str, bits: int, alignment: int) -> None:
    case = Case(space, bits, alignment)
    words = case.words()
    for target, wave in TARGETS:
        run(case, words, target, wave)
