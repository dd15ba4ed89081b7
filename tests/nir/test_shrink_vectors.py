"""Loads of which components at the ends are not read, of elements of all sizes and from all memories."""

from __future__ import annotations

import numpy as np
import pytest
from test_compute_extensions import CHIPS, LANES, Kernel, run

import pyaco

SIZES = {8: ("Int8", "StorageBuffer8BitAccess"), 16: ("Int16", "StorageBuffer16BitAccess"), 32: (), 64: ("Int64",)}
READ = [(0,), (1,), (3,), (0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 1, 2), (1, 2, 3)]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("target", "wave"), [*CHIPS, ("gfx600", 64), ("gfx803", 64)])
@pytest.mark.parametrize("bits", SIZES)
def test_parts_of_vectors(bits: int, target: str, wave: int, shared: bool) -> None:
    """A load for each choice of components; workgroup memory holds what other lanes stored."""
    m = Kernel(*SIZES[bits])
    number, vector, size = m.uint(bits), m.uint(bits, 4), bits // 8
    source, result = m.array_of(vector, 4 * size), m.array_of(number, size)
    local = m.variable("Workgroup", m.type("Array", vector, m.constant(LANES)))
    if shared:
        m.store(m.access_chain("Workgroup", vector, local, m.index), m.load(vector, m.at(source, vector)))
        m.emit(m.body, "ControlBarrier", m.constant(2), m.constant(2), m.constant(0x108))
    wanted = []
    values = np.random.default_rng(bits).integers(0, 1 << 63, (LANES + len(READ), 4), np.uint64).astype(f"u{size}")
    for i, components in enumerate(READ):
        if shared:
            loaded = m.load(vector, m.access_chain("Workgroup", vector, local, m.op("BitwiseXor", m.uint(), m.index, m.constant(i))))
        else:
            loaded = m.load(vector, m.at(source, vector, m.op("IAdd", m.uint(), m.index, m.constant(i))))
        total = m.op("CompositeExtract", number, loaded, components[0])
        for component in components[1:]:
            total = m.op("IAdd", number, m.op("IMul", number, total, m.constant(3, bits)), m.op("CompositeExtract", number, loaded, component))
        m.store(m.at(result, number, m.op("IAdd", m.uint(), m.op("IMul", m.uint(), m.index, m.constant(len(READ))), m.constant(i))), total)
        rows = values[np.arange(LANES) ^ i if shared else np.arange(LANES) + i]
        sums = rows[:, components[0]]
        for component in components[1:]:
            sums = sums * sums.dtype.type(3) + rows[:, component]
        wanted.append(sums)
    found = run(m.words(), [values, np.zeros((LANES, len(READ)), values.dtype)], target, wave)[1]
    np.testing.assert_array_equal(found, np.stack(wanted, 1))


def test_one_component_is_one_dword() -> None:
    m = Kernel()
    vector, uint = m.uint(32, 4), m.uint()
    source, result = m.array_of(vector, 16), m.array_of(uint, 4)
    m.store(m.at(result, uint), m.op("CompositeExtract", uint, m.load(vector, m.at(source, vector)), 2))
    text = pyaco.compile(m.words(), "gfx1030").disassembly
    assert "buffer_load_dword v" in text
    assert "offset:8" in text
    assert "buffer_load_dwordx" not in text
