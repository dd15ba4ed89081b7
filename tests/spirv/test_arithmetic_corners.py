"""Arithmetic of single instructions where implementations differ: division by zero, exponents of 64 bits, determinants of halves."""

from __future__ import annotations

import numpy as np
import pytest
from module_words import Module

import pyaco
from pyaco import emu, spirv
from pyaco.nir import interpreter


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("operation", ["UDiv", "UMod", "SDiv", "SRem", "SMod"])
def test_division_by_a_constant_zero_is_zero(operation: str, bits: int) -> None:
    """Undefined in SPIR-V; Mesa makes it zero, and so does a constant dividend."""
    m = Module((4, 1, 1), "Int16", "Int64", "StorageBuffer16BitAccess")
    number = m.uint(bits)
    source, target = (m.variable("StorageBuffer", m.struct((m.array(number, bits // 8), 0)), binding) for binding in range(2))
    index = m.builtin("LocalInvocationId")
    value = m.load(number, m.access_chain("StorageBuffer", number, source, m.constant(0), index))
    m.store(m.access_chain("StorageBuffer", number, target, m.constant(0), index), m.op(operation, number, value, m.constant(0, bits)))
    device = emu.Device("gfx1100")
    data = np.array([2, 0, 7, (1 << bits) - 5], f"u{bits // 8}")
    buffers = {(0, 0): device.buffer(data), (0, 1): device.buffer(np.full_like(data, 9))}
    device.dispatch(pyaco.compile(m.words(), "gfx1100"), (1, 1, 1), buffers)
    np.testing.assert_array_equal(buffers[0, 1].numpy(), np.zeros_like(data))


@pytest.mark.parametrize("exponent", [3, -2, (1 << 32) + 1, -(1 << 32), 1 << 40, -(1 << 40), (1 << 63) - 1])
def test_exponents_of_64_bits(exponent: int) -> None:
    """ldexp does not look at the low half alone."""
    m = Module((1, 1, 1), "Int64")
    real, wide = m.type("Float", 32), m.uint(64)
    source, target = m.variable("StorageBuffer", m.struct((wide, 0)), 0), m.variable("StorageBuffer", m.struct((real, 0)), 1)
    value = m.load(wide, m.access_chain("StorageBuffer", wide, source, m.constant(0)))
    one = m.op("ConvertUToF", real, m.constant(1))
    m.store(m.access_chain("StorageBuffer", real, target, m.constant(0)), m.glsl(53, real, one, value))
    device = emu.Device("gfx1100")
    buffers = {(0, 0): device.buffer(np.array([exponent], np.int64)), (0, 1): device.buffer(np.zeros(1, np.float32))}
    device.dispatch(pyaco.compile(m.words(), "gfx1100"), (1, 1, 1), buffers)
    with np.errstate(over="ignore"):
        wanted = np.ldexp(np.float32(1), max(-2000, min(2000, exponent)))
    assert buffers[0, 1].numpy()[0] == wanted


def determinant(columns: list[list[np.float16]]) -> np.float16:
    """By the first column, terms in pairs: the order of Mesa's ``build_det``."""
    if len(columns) == 1:
        return columns[0][0]
    terms = [columns[0][row] * determinant([column[:row] + column[row + 1 :] for column in columns[1:]]) for row in range(len(columns))]
    pairs = [terms[i] - terms[i + 1] if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
    return pairs[0] if len(pairs) == 1 else pairs[0] + pairs[1]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_determinants_and_inverses_of_halves(size: int) -> None:
    """Bit for bit, so that an error is as large as Mesa's and no larger."""
    m = Module((1, 1, 1), "Float16", "StorageBuffer16BitAccess")
    half = m.type("Float", 16)
    column = m.type("Vector", half, size)
    matrix = m.type("Matrix", column, size)
    source, target = (m.variable("StorageBuffer", m.struct((m.array(half, 2), 0)), binding) for binding in range(2))
    elements = [m.load(half, m.access_chain("StorageBuffer", half, source, m.constant(0), m.constant(i))) for i in range(size * size)]
    columns = [m.op("CompositeConstruct", column, *elements[i * size : (i + 1) * size]) for i in range(size)]
    value = m.op("CompositeConstruct", matrix, *columns)
    inverse = m.glsl(34, matrix, value)
    results = [m.glsl(33, half, value)]
    results += [m.op("CompositeExtract", half, inverse, i, k) for i in range(size) for k in range(size)]
    for i, result in enumerate(results):
        m.store(m.access_chain("StorageBuffer", half, target, m.constant(0), m.constant(i)), result)
    random = np.random.default_rng(size)
    for _ in range(5):
        data = random.uniform(-2, 2, size * size).astype(np.float16)
        buffers = {(0, 0): data, (0, 1): np.zeros(len(results), np.float16)}
        interpreter.Interpreter(spirv.read(m.words()), (1,), buffers, b"", 64).run()
        rows = [list(data[i * size : (i + 1) * size]) for i in range(size)]
        found = buffers[0, 1].view(np.float16)
        whole = determinant(rows)
        assert found[0].tobytes() == whole.tobytes()
        reciprocal = np.float16(1) / whole
        for i in range(size):
            for k in range(size):
                minor = determinant([column[:i] + column[i + 1 :] for j, column in enumerate(rows) if j != k])
                wanted = (-minor if (i + k) & 1 else minor) * reciprocal
                assert found[1 + i * size + k].tobytes() == wanted.tobytes(), (i, k)
