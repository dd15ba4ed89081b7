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
from pyaco import emu, isa, spirv
from pyaco._core.nir import lower_explicit_io
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
        array = m.array(m.uint(self.bits, count), self.stride, 0 if self.space == "ssbo" else self.lanes)
        return self.restricted(m, m.struct((array, self.first), block=self.space != "scratch"))

    def source(self, m: Module, count: int, indices: tuple[int, int]) -> list[int]:
        """Load the vectors at the indices from the memory that the case is about."""
        vector, storage = m.uint(self.bits, count), STORAGE[self.space]
        if self.space == "physical":
            return [m.load(vector, self.pointer(m, vector, index), self.alignment) for index in indices]
        block = self.block(m, count)
        if self.space == "scratch":
            base = m.variable(storage, block)
            outside = m.variable("StorageBuffer", m.struct((m.array(vector, self.stride), self.first)), SOURCE)
            for index in indices:
                value = m.load(vector, m.access_chain("StorageBuffer", vector, outside, m.constant(0), index))
                m.store(m.access_chain(storage, vector, base, m.constant(0), index), value)
        else:
            base = m.variable(storage, block, None if self.space in ("push", "shared") else SOURCE)
        if self.space == "shared":
            self.fill_shared(m, indices[1])
        return [m.load(vector, m.access_chain(storage, vector, base, m.constant(0), index)) for index in indices]

    def pointer(self, m: Module, vector: int, index: int) -> int:
        """A pointer to a vector whose address is computed as a number: nothing but ``Aligned`` says how it is aligned."""
        wide, block = m.uint(64), self.restricted(m, m.struct((vector, self.first)))
        address = m.load(wide, m.access_chain("PushConstant", wide, self.addresses, m.constant(0)))
        moved = m.op("UConvert", wide, m.op("IMul", m.uint(), index, m.constant(self.stride)))
        base = m.op("ConvertUToPtr", m.pointer("PhysicalStorageBuffer", block), m.op("IAdd", wide, address, moved))
        return m.access_chain("PhysicalStorageBuffer", vector, base, m.constant(0))

    def restricted(self, m: Module, struct: int) -> int:
        """The struct, its member declared as what no other pointer writes where the case says so."""
        if self.restrict:
            m.decorate(struct, "NonWritable", member=0)
            m.decorate(struct, "Restrict", member=0)
        return struct

    def fill_shared(self, m: Module, lane: int) -> None:
        """Copy the source to workgroup memory, through another variable of a block type, which lies at the same address."""
        uint, words = m.uint(), -(-self.bytes // 64) * 16   # whole rounds of sixteen lanes
        outside = m.variable("StorageBuffer", m.struct((m.array(uint, 4), 0)), SOURCE)
        inside = m.variable("Workgroup", m.struct((m.array(uint, 4, words), 0)))
        for first in range(0, self.bytes // 4, 16):
            index = m.op("IAdd", uint, lane, m.constant(first))
            value = m.load(uint, m.access_chain("StorageBuffer", uint, outside, m.constant(0), index))
            m.store(m.access_chain("Workgroup", uint, inside, m.constant(0), index), value)
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
                m.store(m.access_chain("StorageBuffer", m.uint(self.bits, count), target, m.constant(0), index), value)
                row = m.op("IMul", m.uint(), index, m.constant(20))
                for k in range(count):
                    position = m.op("IAdd", m.uint(), row, m.constant(which * 10 + count * (count - 1) // 2 + k))
                    part = value if count == 1 else m.op("CompositeExtract", scalar, value, k)
                    m.store(m.access_chain("StorageBuffer", scalar, packed, m.constant(0), position), part)
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
    source = device.buffer(np.frombuffer(data, np.uint8))
    push = {"push": data, "physical": int(source.address).to_bytes(8, "little")}.get(case.space, b"")
    buffers = {} if push else {(0, SOURCE): source}
    packed, targets = case.expected(data)
    wanted = {PACKED: packed, **targets}
    buffers |= {(0, binding): device.zeros(len(bytes)) for binding, bytes in wanted.items()}
    device.dispatch(pyaco.compile(words, target, wave=wave), (case.lanes, 1, 1), buffers, push)
    for binding, bytes in wanted.items():
        np.testing.assert_array_equal(buffers[0, binding].numpy(), bytes, f"{target} wave{wave} binding {binding}")


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("alignment", [1, 2, 4, 8, 16])
def test_every_misalignment(space: str, bits: int, alignment: int) -> None:
    case = Case(space, bits, alignment)
    words = case.words()
    for target, wave in TARGETS:
        run(case, words, target, wave)


@pytest.mark.parametrize("number", range(len(SPACES)), ids=SPACES)
def test_misalignments(number: int) -> None:
    """Of every kind of memory, bytes at the smallest alignment and one other width, each on another target."""
    for bits, alignment, turn in ((8, 1, number), ((16, 32, 64)[number % 3], (1, 2, 4, 8)[number % 4], number + 3)):
        case = Case(SPACES[number], bits, alignment)
        run(case, case.words(), *TARGETS[turn % len(TARGETS)])


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1200"])
@pytest.mark.parametrize("space", ["ssbo", "ubo", "physical", "restrict physical"])
def test_misaligned_loads_take_whole_dwords(space: str, target: str) -> None:
    """`byte_align_loads`: no load of single bytes, but shifts."""
    code = isa.disassemble(pyaco.compile(Case(space, 32, 1).words(), target).code, target)
    assert not [line for line in code.splitlines() if "load_u" in line]
    assert ("v_alignbyte_b32" in code) and ("s_lshr_b64" in code or space in ("ssbo", "physical"))


def test_alignment_of_composites_copies_and_decorations() -> None:
    """A struct loaded whole has its members' alignments; OpCopyMemory has operands for each side; decorations count."""
    m = Module((1, 1, 1), *CAPABILITIES, addressing="PhysicalStorageBuffer64")
    wide, uint, vector = m.uint(64), m.uint(), m.uint(32, 2)
    struct = m.struct((uint, 0), (vector, 8))
    physical = m.pointer("PhysicalStorageBuffer", struct)
    addresses = m.variable("PushConstant", m.struct((wide, 0), (wide, 8)))
    pointers = [m.op("ConvertUToPtr", physical, m.load(wide, m.access_chain("PushConstant", wide, addresses, m.constant(i)))) for i in range(2)]
    aligned = enumerant("MemoryAccess", "Aligned")
    m.store(pointers[1], m.load(struct, pointers[0], 16), 2)
    m.emit(m.body, "CopyMemory", pointers[1], pointers[0], aligned, 4, aligned | enumerant("MemoryAccess", "Nontemporal"), 8)
    m.emit(m.body, "CopyMemory", pointers[1], pointers[0], aligned, 1)
    m.decorate(pointers[0], "Alignment", 32)
    text = print_shader(spirv.read(m.words()))
    found = [line.split("align_mul=")[1].rstrip(")").replace(", align_offset=", "+") for line in text.splitlines() if "align_mul=" in line]
    assert found == ["32", "32+8", "2", "2", "32", "32+8", "4", "4", "32", "32+8", "1", "1"]


@pytest.mark.parametrize("alignment", [0, 3, 1 << 31])
def test_alignments_that_are_none(alignment: int) -> None:
    m = Module((1, 1, 1))
    block = m.variable("StorageBuffer", m.struct((m.uint(), 0)), 0)
    m.load(m.uint(), m.access_chain("StorageBuffer", m.uint(), block, m.constant(0)), alignment)
    with pytest.raises(pyaco.InputError, match="power of two"):
        spirv.read(m.words())


@pytest.mark.parametrize("mask", [2, 8, 16, 2 | 8 | 16 | 32])
def test_memory_operands_that_are_missing(mask: int) -> None:
    """The message has the mask as it is in the module, and the instruction whose mask it is."""
    m = Module((1, 1, 1))
    block = m.variable("StorageBuffer", m.struct((m.uint(), 0)), 0)
    m.op("Load", m.uint(), m.access_chain("StorageBuffer", m.uint(), block, m.constant(0)), mask)
    with pytest.raises(pyaco.InputError, match=f"mask of memory operands, {mask}, asks for more words than the instruction has \\(OpLoad\\)"):
        spirv.read(m.words())


def test_constant_offsets_are_known_to_the_byte() -> None:
    """As NIR prints it: nothing run-time is in the offset."""
    m = Module((1, 1, 1))
    block = m.variable("StorageBuffer", m.struct((m.uint(), 0), (m.uint(), 12)), 0)
    for member in range(2):
        m.store(m.access_chain("StorageBuffer", m.uint(), block, m.constant(member)), m.constant(7))
    shader = spirv.read(m.words())
    lower_explicit_io.run(shader)
    text = print_shader(shader)
    assert "align_mul=1073741824, align_offset=0" in text
    assert "align_mul=1073741824, align_offset=12" in text


def test_buffers_that_end_within_a_dword() -> None:
    """A load of whole dwords reaches the last bytes of a buffer, too."""
    m = Module((1, 1, 1), "Int8", "StorageBuffer8BitAccess")
    vector = m.uint(8, 4)
    source, target = (m.variable("StorageBuffer", m.struct((m.array(vector, 1), 1)), binding) for binding in range(2))
    m.store(m.access_chain("StorageBuffer", vector, target, m.constant(0), m.constant(0)),
            m.load(vector, m.access_chain("StorageBuffer", vector, source, m.constant(0), m.constant(0))))
    device = emu.Device("gfx1100")
    buffers = {(0, 0): device.buffer(np.arange(1, 6, dtype=np.uint8)), (0, 1): device.zeros(5)}
    device.dispatch(pyaco.compile(m.words(), "gfx1100"), (1, 1, 1), buffers)
    np.testing.assert_array_equal(buffers[0, 1].numpy(), [0, 2, 3, 4, 5])
