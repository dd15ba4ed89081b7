"""SPV_KHR_cooperative_matrix: loads, stores, products, arithmetic and conversions, on the emulator and in the NIR interpreter, against NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from module_words import OPCODES, Module, enumerant

import pyaco
from pyaco import UnsupportedError, emu, spirv
from pyaco._core.nir import lower_cooperative_matrix
from pyaco.nir import interpreter

Array = np.ndarray[Any, Any]
ROW, COLUMN = 0, 1
A, B, ACCUMULATOR = 0, 1, 2
A_SIGNED, B_SIGNED, C_SIGNED, RESULT_SIGNED, SATURATING = 1, 2, 4, 8, 16
SIGNED = A_SIGNED | B_SIGNED | C_SIGNED | RESULT_SIGNED
CHIPS = [("gfx900", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64)]


def _float8(mantissa: int, bias: int) -> dict[int, float]:
    """The finite numbers of an 8-bit float, one by one as their definition says."""
    values = {}
    for bits in range(256):
        exponent, fraction = bits >> mantissa & (127 >> mantissa), bits & ((1 << mantissa) - 1)
        special = bits & 127 == 127 if mantissa == 3 else exponent == 31
        if not special:
            sign = -1.0 if bits & 128 else 1.0
            values[bits] = sign * (fraction * 2.0 ** (1 - bias - mantissa) if exponent == 0
                                   else (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - bias))  # fmt: skip
    return values


FLOAT8 = {4214: _float8(3, 7), 4215: _float8(2, 15)}


def bfloat16(values: Array) -> Array:
    """Numbers that a bfloat16 holds, as its bits."""
    words = values.astype(np.float32).view(np.uint32)
    assert not (words & 0xFFFF).any()
    return (words >> 16).astype(np.uint16)


def float8(encoding: int) -> Callable[[Array], Array]:
    bits = {value: bits for bits, value in reversed(FLOAT8[encoding].items())}
    return lambda values: np.vectorize(lambda value: bits[float(value)])(values).astype(np.uint8)


@dataclass(frozen=True)
class Element:
    """A type of elements: its declaration, and numbers as its bits."""

    declaration: tuple[str, ...] | tuple[Any, ...]
    bits: Callable[[Array], Array]
    bytes: int


ELEMENTS = {
    "f16": Element(("Float", 16), lambda v: v.astype(np.float16).view(np.uint16), 2),
    "f32": Element(("Float", 32), lambda v: v.astype(np.float32).view(np.uint32), 4),
    "bf16": Element(("Float", 16, 0), bfloat16, 2),
    "e4m3": Element(("Float", 8, 4214), float8(4214), 1),
    "e5m2": Element(("Float", 8, 4215), float8(4215), 1),
    "i8": Element(("Int", 8, 1), lambda v: v.astype(np.int8).view(np.uint8), 1),
    "u8": Element(("Int", 8, 0), lambda v: v.astype(np.uint8), 1),
    "i32": Element(("Int", 32, 1), lambda v: v.astype(np.int32).view(np.uint32), 4),
}


class Matrices(Module):
    """A module whose buffers hold matrices."""

    def __init__(self, local_size: int = 32) -> None:
        super().__init__((local_size, 1, 1), "CooperativeMatrixKHR", "Float16", "Int8", "BFloat16TypeKHR", "Float8EXT")
        self.buffers = 0

    def element(self, name: str) -> int:
        return self.type(*ELEMENTS[name].declaration)

    def matrix(self, element: str, rows: int, columns: int, use: int) -> int:
        return self.type("CooperativeMatrixKHR", self.element(element), self.constant(3), self.constant(rows), self.constant(columns),
                         self.constant(use))  # fmt: skip

    def buffer(self, element: str) -> int:
        """A pointer to the first element of the next binding."""
        scalar = self.element(element)
        block = self.variable("StorageBuffer", self.struct((self.array(scalar, ELEMENTS[element].bytes), 0)), self.buffers)
        self.buffers += 1
        return self.access_chain("StorageBuffer", scalar, block, self.constant(0), self.constant(0))

    def read(self, matrix: int, pointer: int, layout: int, stride: int) -> int:
        return self.op("CooperativeMatrixLoadKHR", matrix, pointer, self.constant(layout), self.constant(stride))

    def write(self, pointer: int, value: int, layout: int, stride: int) -> None:
        self.emit(self.body, "CooperativeMatrixStoreKHR", pointer, value, self.constant(layout), self.constant(stride))


def in_memory(values: Array, element: str, layout: int, stride: int) -> Array:
    """A matrix as the elements of a buffer, 77 where there is a gap."""
    lines = ELEMENTS[element].bits(values.T if layout == COLUMN else values)
    memory = np.full((len(lines), stride), 77, lines.dtype)
    memory[:, : lines.shape[1]] = lines
    return memory.reshape(-1)


def run(words: bytes, inputs: list[Array], size: int, target: str, wave: int) -> Array:
    """The last buffer, of `size` bytes, after a dispatch on the emulator."""
    device = emu.Device(target)
    buffers = {(0, i): device.buffer(value) for i, value in enumerate(inputs)}
    result = device.buffer(np.full(size, 0xAB, np.uint8))
    buffers[0, len(inputs)] = result
    device.dispatch(pyaco.compile(words, target, wave=wave, validate=True), (1, 1, 1), buffers)
    return result.numpy()


def interpreted(words: bytes, inputs: list[Array], size: int, wave: int) -> Array:
    """The same in the NIR interpreter."""
    buffers = {(0, i): value.view(np.uint8).copy() for i, value in enumerate(inputs)}
    buffers[0, len(inputs)] = np.full(size, 0xAB, np.uint8)
    interpreter.run(spirv.read(words), (1, 1, 1), buffers, wave=wave)
    return buffers[0, len(inputs)]


@dataclass(frozen=True)
class Case:
    """A product: types of A, B and C, size, layouts and gaps of A, B, C."""

    types: tuple[str, str, str]
    size: tuple[int, int, int] = (16, 16, 16)
    layouts: tuple[int, int, int] = (ROW, COLUMN, COLUMN)
    gap: int = 0
    operands: int = 0

    def numbers(self) -> tuple[Array, Array, Array]:
        """Small integers, so that every sum is exact."""
        random = np.random.default_rng(len(self.types[0]) + self.gap)
        m, n, k = self.size
        low = 0 if "u8" in self.types else -4
        values = [random.integers(low, 5, shape) for shape in ((m, k), (k, n), (m, n))]
        if self.types[0] in ("i8", "u8"):
            spans = [(-128, 128) if name == "i8" else (0, 256) for name in self.types[:2]]
            values[:2] = [random.integers(*span, value.shape) for span, value in zip(spans, values, strict=False)]
        return values[0], values[1], values[2]

    def strides(self) -> list[int]:
        m, n, k = self.size
        lines = zip(((m, k), (k, n), (m, n)), self.layouts, strict=True)
        return [(rows if layout == COLUMN else columns) + self.gap for (rows, columns), layout in lines]

    def words(self, local_size: int = 32) -> bytes:
        module = Matrices(local_size)
        m, n, k = self.size
        strides = self.strides()
        pointers = [module.buffer(name) for name in (*self.types, self.types[2])]
        types = [module.matrix(name, *shape, use) for name, shape, use in zip(self.types, ((m, k), (k, n), (m, n)), (A, B, ACCUMULATOR), strict=True)]
        values = [module.read(*each) for each in zip(types, pointers[:3], self.layouts, strides, strict=True)]
        total = module.op("CooperativeMatrixMulAddKHR", types[2], *values, *([self.operands] if self.operands else []))
        module.write(pointers[3], total, self.layouts[2], strides[2])
        return module.words()

    def inputs(self) -> list[Array]:
        return [in_memory(*each) for each in zip(self.numbers(), self.types, self.layouts, self.strides(), strict=True)]

    def expected(self) -> Array:
        """What the result's buffer holds; gaps are not written."""
        a, b, c = self.numbers()
        gaps = ELEMENTS[self.types[2]].bits(np.zeros(1)).dtype
        stride = self.strides()[2]
        lines = in_memory(a.astype(np.int64) @ b.astype(np.int64) + c, self.types[2], self.layouts[2], stride).reshape(-1, stride)
        if self.gap:
            lines[:, -self.gap :] = np.frombuffer(b"\xab" * gaps.itemsize, gaps)[0]
        return lines.reshape(-1)


CASES = {
    "f16": Case(("f16", "f16", "f32")),
    "f16 rows": Case(("f16", "f16", "f32"), layouts=(ROW, ROW, ROW), gap=8),
    "f16 columns": Case(("f16", "f16", "f32"), layouts=(COLUMN, COLUMN, ROW), gap=16),
    "f16 sums": Case(("f16", "f16", "f16"), layouts=(COLUMN, ROW, COLUMN)),
    "f16 tiles": Case(("f16", "f16", "f32"), size=(32, 16, 48), layouts=(ROW, ROW, COLUMN)),
    "bf16": Case(("bf16", "bf16", "f32"), layouts=(ROW, ROW, ROW)),
    "bf16 sums": Case(("bf16", "bf16", "bf16")),
    "e4m3": Case(("e4m3", "e4m3", "f32")),
    "e5m2": Case(("e5m2", "e4m3", "f32"), layouts=(COLUMN, ROW, ROW)),
    "i8": Case(("i8", "i8", "i32"), operands=SIGNED),
    "u8": Case(("u8", "u8", "i32"), layouts=(ROW, ROW, ROW), gap=16),
    "i8 u8": Case(("i8", "u8", "i32"), operands=A_SIGNED | C_SIGNED | RESULT_SIGNED),
    "u8 i8": Case(("u8", "i8", "i32"), operands=B_SIGNED | C_SIGNED | RESULT_SIGNED, layouts=(COLUMN, COLUMN, COLUMN)),
    "i8 tiles": Case(("i8", "i8", "i32"), size=(16, 32, 32), operands=SIGNED | SATURATING),
}


@pytest.mark.parametrize(("target", "wave"), CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_products(name: str, target: str, wave: int) -> None:
    case = CASES[name]
    if name == "e5m2" or name == "bf16 sums":
        np.testing.assert_array_less(np.abs(case.numbers()[0]), 8)
    wanted = case.expected()
    if name == "bf16 sums":
        a, b, c = case.numbers()
        rounded = np.array([_round_bfloat16(value) for value in (a @ b + c).T.reshape(-1)])
        wanted = bfloat16(rounded)
    np.testing.assert_array_equal(run(case.words(), case.inputs(), wanted.nbytes, target, wave).view(wanted.dtype), wanted)


def _round_bfloat16(value: float) -> float:
    """The nearest bfloat16 of an integer, ties to even."""
    if value == 0:
        return 0.0
    unit = 2.0 ** (np.floor(np.log2(abs(value))) - 7)
    return float(np.round(value / unit) * unit)


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("name", [name for name in CASES if name != "bf16 sums"])
def test_products_in_nir(name: str, wave: int) -> None:
    case = CASES[name]
    wanted = case.expected()
    np.testing.assert_array_equal(interpreted(case.words(), case.inputs(), wanted.nbytes, wave).view(wanted.dtype), wanted)


@pytest.mark.parametrize(("level", "wave"), [(103, 32), (110, 32), (110, 64), (120, 32)])
@pytest.mark.parametrize("name", CASES)
def test_lowered_products_in_nir(name: str, level: int, wave: int) -> None:
    """What the pass makes of a product gives the same, instructions included."""
    case = CASES[name]
    size = case.expected().nbytes
    shader = spirv.read(case.words())
    before = interpreted(case.words(), case.inputs(), size, wave)
    shader.set_info(gfx_level=level, wave_size=wave)
    assert lower_cooperative_matrix.run(shader)
    buffers = {(0, i): value.view(np.uint8).copy() for i, value in enumerate(case.inputs())}
    buffers[0, 3] = np.full(size, 0xAB, np.uint8)
    interpreter.run(shader, (1, 1, 1), buffers, wave=wave)
    np.testing.assert_array_equal(buffers[0, 3], before)


def test_results_do_not_overlap_their_operands() -> None:
    """But for a sum that stands where the result does: registers are read while others are written."""
    for target in ("gfx1100", "gfx1200"):
        for case in CASES.values():
            for line in pyaco.compile(case.words(), target, wave=32).disassembly.splitlines():
                if "v_wmma" in line:
                    result, *operands = [set(range(int(first), int(last) + 1)) for first, last in re.findall(r"v\[(\d+):(\d+)\]", line)]
                    assert not result & (operands[0] | operands[1]), line
                    assert len(operands) == 2 or operands[2] == result, line


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_engines(engine: str) -> None:
    case = CASES["f16 tiles"]
    for target, wave in (("gfx900", 64), ("gfx1100", 32), ("gfx1200", 32)):
        device = emu.Device(target, engine=engine)
        buffers = {(0, i): device.buffer(value) for i, value in enumerate(case.inputs())}
        buffers[0, 3] = device.buffer(np.zeros(case.expected().nbytes, np.uint8))
        device.dispatch(pyaco.compile(case.words(), target, wave=wave), (1, 1, 1), buffers)
        np.testing.assert_array_equal(buffers[0, 3].numpy().view(np.uint32), case.expected())


def test_the_instruction_is_used() -> None:
    for target, text in (("gfx1100", "v_wmma_f32_16x16x16_f16"), ("gfx1200", "v_wmma_f32_16x16x16_f16")):
        shader = pyaco.compile(CASES["f16"].words(256), target)
        assert shader.wave == 32 and text in shader.disassembly
    assert "v_wmma" not in pyaco.compile(CASES["f16"].words(), "gfx1100", wave=64).disassembly


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1100", 32), ("gfx1200", 32)])
def test_saturation(target: str, wave: int) -> None:
    case = Case(("i8", "i8", "i32"), operands=SIGNED | SATURATING)
    inputs: list[Array] = [np.full(256, 0x7F, np.uint8), np.full(256, 0x7F, np.uint8), np.full(256, 0x7FFFFFF0, np.uint32)]
    assert (run(case.words(), inputs, 1024, target, wave).view(np.int32) == 0x7FFFFFFF).all()


def elementwise() -> bytes:
    """Half of (3 x + x * x - x / 4), element 1 of each lane negated and its other elements kept, as halves."""
    m = Matrices()
    single, half = m.matrix("f32", 16, 16, ACCUMULATOR), m.matrix("f16", 16, 16, ACCUMULATOR)
    scalar = m.element("f32")
    source, target = m.buffer("f32"), m.buffer("f16")
    values = [m.id() for _ in range(3)]
    for value, number in zip(values, (3.0, 4.0, 0.5), strict=True):
        m.emit(m.globals, "Constant", scalar, value, int(np.float32(number).view(np.uint32)))
    three, four = m.id(), m.op("CompositeConstruct", single, values[1])
    m.emit(m.globals, "ConstantComposite", single, three, values[0])
    variable = m.variable("Function", single)
    m.store(variable, m.read(single, source, ROW, 16))
    x = m.load(single, variable)
    total = m.op("FAdd", single, m.op("FMul", single, x, three), m.op("FMul", single, x, x))
    total = m.op("FSub", single, total, m.op("FDiv", single, x, four))
    total = m.op("MatrixTimesScalar", single, total, values[2])
    negated = m.op("CompositeExtract", scalar, m.op("FNegate", single, total), 1)
    again = m.op("CompositeInsert", single, m.op("FNegate", scalar, negated), total, 1)
    m.write(target, m.op("FConvert", half, again), COLUMN, 16)
    return m.words()


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1200", 64)])
def test_arithmetic_and_conversions(target: str, wave: int) -> None:
    x = np.random.default_rng(5).integers(-16, 16, (16, 16)).astype(np.float32)
    wanted = (0.5 * (3 * x + x * x - x / 4)).T.astype(np.float16).reshape(-1)
    np.testing.assert_array_equal(run(elementwise(), [x], 512, target, wave).view(np.float16), wanted)
    np.testing.assert_array_equal(interpreted(elementwise(), [x], 512, wave).view(np.float16), wanted)


@pytest.mark.parametrize("use", [A, B])
@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1100", 32), ("gfx1200", 64)])
def test_conversions_of_use(use: int, target: str, wave: int) -> None:
    """SPV_NV_cooperative_matrix2: an accumulator becomes an operand; a transposed one is checked by the same stores."""
    m = Matrices()
    source, target_type = m.matrix("f16", 32, 16, ACCUMULATOR), m.matrix("f16", 32, 16, use)
    transposed = m.matrix("f16", 16, 32, B)
    pointers = [m.buffer("f16") for _ in range(2)]
    value = m.read(source, pointers[0], ROW, 16)
    m.write(pointers[1], m.op("CooperativeMatrixConvertNV", target_type, value), ROW, 16)
    x = np.random.default_rng(6).integers(0, 1 << 15, (32, 16)).astype(np.uint16)
    np.testing.assert_array_equal(run(m.words(), [x], 1024, target, wave).view(np.uint16).reshape(32, 16), x)
    m = Matrices()
    source, transposed = m.matrix("f16", 32, 16, ACCUMULATOR), m.matrix("f16", 16, 32, B)
    pointers = [m.buffer("f16") for _ in range(2)]
    value = m.read(source, pointers[0], ROW, 16)
    m.write(pointers[1], m.op("CooperativeMatrixTransposeNV", transposed, value), ROW, 32)
    np.testing.assert_array_equal(run(m.words(), [x], 1024, target, wave).view(np.uint16).reshape(16, 32), x.T)


@pytest.mark.parametrize("target", ["gfx900", "gfx1100", "gfx1200"])
def test_control_flow_shared_memory_and_lengths(target: str) -> None:
    """A loop over K whose sum is a phi; A through Workgroup memory, as vectors; the length as a number."""
    m = Matrices()
    types = [m.matrix("f16", 16, 16, A), m.matrix("f16", 16, 16, B), m.matrix("f32", 16, 16, ACCUMULATOR)]
    uint, boolean = m.uint(), m.type("Bool")
    pointers = [m.buffer(name) for name in ("f16", "f16", "f32")]
    shared = m.variable("Workgroup", m.type("Array", m.type("Vector", m.element("f16"), 4), m.constant(64)))
    start = m.access_chain("Workgroup", m.type("Vector", m.element("f16"), 4), shared, m.constant(0))
    length = m.op("CooperativeMatrixLengthKHR", uint, types[2])
    m.emit(m.body, "CooperativeMatrixStoreKHR", start, m.read(types[0], pointers[0], ROW, 16), m.constant(ROW), m.constant(4))
    m.emit(m.body, "ControlBarrier", m.constant(2), m.constant(2), m.constant(0x108))
    left = m.read(types[0], start, ROW, 4)
    right = m.read(types[1], pointers[1], COLUMN, 16)
    zero = m.id()
    m.emit(m.globals, "ConstantNull", types[2], zero)
    before, header, check, body, after, merge = (m.id() for _ in range(6))
    total, step, next_total, next_step = (m.id() for _ in range(4))
    m.emit(m.body, "Branch", before)
    m.emit(m.body, "Label", before)
    m.emit(m.body, "Branch", header)
    m.emit(m.body, "Label", header)
    m.emit(m.body, "Phi", types[2], total, zero, before, next_total, after)
    m.emit(m.body, "Phi", uint, step, m.constant(0), before, next_step, after)
    m.emit(m.body, "LoopMerge", merge, after, 0)
    m.emit(m.body, "Branch", check)
    m.emit(m.body, "Label", check)
    m.emit(m.body, "BranchConditional", m.op("ULessThan", boolean, step, length), body, merge)
    m.emit(m.body, "Label", body)
    m.emit(m.body, "CooperativeMatrixMulAddKHR", types[2], next_total, left, right, total)
    m.emit(m.body, "IAdd", uint, next_step, step, m.constant(1))
    m.emit(m.body, "Branch", after)
    m.emit(m.body, "Label", after)
    m.emit(m.body, "Branch", header)
    m.emit(m.body, "Label", merge)
    m.write(pointers[2], total, ROW, 16)
    a, b = (np.random.default_rng(i).integers(-3, 4, (16, 16)).astype(np.float16) for i in range(2))
    result = run(m.words(), [a, np.ascontiguousarray(b.T)], 1024, target, 64 if target == "gfx900" else 32)
    np.testing.assert_array_equal(result.view(np.float32).reshape(16, 16), 8 * (a.astype(np.float32) @ b.astype(np.float32)))


def test_specialized_sizes_and_lengths() -> None:
    """The columns of a matrix are a specialization constant; an array has as many elements as a lane has."""
    m = Matrices()
    size, length = m.id(), m.id()
    m.decorate(size, "SpecId", 3)
    m.emit(m.globals, "SpecConstant", m.uint(), size, 7)
    matrix = m.type("CooperativeMatrixKHR", m.element("f16"), m.constant(3), m.constant(16), size, m.constant(ACCUMULATOR))
    m.emit(m.globals, "SpecConstantOp", m.uint(), length, OPCODES["CooperativeMatrixLengthKHR"], matrix)
    source, target = m.buffer("f16"), m.buffer("f16")
    array = m.variable("Function", m.type("Array", m.element("f16"), length))
    value = m.read(matrix, source, COLUMN, 16)
    m.store(m.access_chain("Function", m.element("f16"), array, m.constant(5)), m.op("CompositeExtract", m.element("f16"), value, 5))
    value = m.op("CompositeInsert", matrix, m.load(m.element("f16"), m.access_chain("Function", m.element("f16"), array, m.constant(5))), value, 5)
    m.write(target, value, ROW, 32)
    words = m.words()
    with pytest.raises(UnsupportedError, match="multiples of 16 rows and columns"):
        spirv.read(words)
    x = np.arange(512, dtype=np.uint16)
    device = emu.Device("gfx1200")
    buffers = {(0, 0): device.buffer(x), (0, 1): device.buffer(np.zeros(512, np.uint16))}
    device.dispatch(pyaco.compile(words, "gfx1200", spec={3: 32}), (1, 1, 1), buffers)
    np.testing.assert_array_equal(buffers[0, 1].numpy().reshape(16, 32), x.reshape(32, 16).T)


def test_what_is_not_supported_is_named() -> None:
    with pytest.raises(UnsupportedError, match="products of cooperative matrices of these types"):
        spirv.read(Case(("f32", "f32", "f32")).words())
    m = Matrices()
    m.read(m.matrix("f16", 8, 16, A), m.buffer("f16"), ROW, 16)
    with pytest.raises(UnsupportedError, match="multiples of 16 rows"):
        spirv.read(m.words())
    m = Matrices()
    m.emit(m.body, "CooperativeMatrixLoadKHR", m.matrix("f16", 16, 16, A), m.id(), m.buffer("f16"), m.constant(4202), m.constant(16))
    with pytest.raises(UnsupportedError, match="RowBlockedInterleavedARM"):
        spirv.read(m.words())
    m = Matrices()
    matrix = m.matrix("bf16", 16, 16, ACCUMULATOR)
    value = m.read(matrix, m.buffer("bf16"), ROW, 16)
    m.op("FAdd", matrix, value, value)
    with pytest.raises(UnsupportedError, match="arithmetic on bfloat16"):
        spirv.read(m.words())
    assert enumerant("CooperativeMatrixLayout", "ColumnMajorKHR") == COLUMN
