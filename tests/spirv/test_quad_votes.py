"""OpGroupNonUniformQuadAllKHR and AnyKHR: what a predicate is in the active invocations of each quad."""

from __future__ import annotations

import numpy as np
import pytest
from module_words import Module

import pyaco
from pyaco import emu, spirv
from pyaco.nir import interpreter

LANES = 64


def votes() -> bytes:
    """Binding 1, for each invocation whose number in binding 0 is not 7: whether the quad's numbers are all odd, and whether any is."""
    m = Module((LANES, 1, 1), "GroupNonUniform", "QuadControlKHR")
    number, boolean = m.uint(), m.type("Bool")
    source, target = (m.variable("StorageBuffer", m.struct((m.array(number, 4), 0)), binding) for binding in range(2))
    index, zero, one = m.builtin("LocalInvocationId"), m.constant(0), m.constant(1)
    value = m.load(number, m.access_chain("StorageBuffer", number, source, zero, index))
    is_active = m.op("INotEqual", boolean, value, m.constant(7))
    taken, merge = m.id(), m.id()
    m.emit(m.body, "SelectionMerge", merge, 0)
    m.emit(m.body, "BranchConditional", is_active, taken, merge)
    m.emit(m.body, "Label", taken)
    odd = m.op("IEqual", boolean, m.op("BitwiseAnd", number, value, one), one)
    bits = [m.op("Select", number, m.op(f"GroupNonUniformQuad{name}KHR", boolean, odd), m.constant(bit), zero)
            for name, bit in (("All", 1), ("Any", 2))]
    m.store(m.access_chain("StorageBuffer", number, target, zero, index), m.op("BitwiseOr", number, *bits))
    m.emit(m.body, "Branch", merge)
    m.emit(m.body, "Label", merge)
    return m.words()


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)])
def test_votes_of_quads(target: str, wave: int) -> None:
    """Invocations that are not active have no say, not even the quad's first one."""
    numbers = np.random.default_rng(1).choice([0, 1, 2, 3, 5, 7, 9], LANES).astype(np.uint32)
    wanted = np.full(LANES, 9, np.uint32)
    for quad in range(0, LANES, 4):
        lanes = [lane for lane in range(quad, quad + 4) if numbers[lane] != 7]
        odd = [numbers[lane] % 2 == 1 for lane in lanes]
        wanted[lanes] = all(odd) + 2 * any(odd)
    device = emu.Device(target)
    buffers = {(0, 0): device.buffer(numbers), (0, 1): device.buffer(np.full(LANES, 9, np.uint32))}
    device.dispatch(pyaco.compile(votes(), target, wave=wave), (1, 1, 1), buffers)
    np.testing.assert_array_equal(buffers[0, 1].numpy(), wanted)
    found = {(0, 0): numbers.view(np.uint8), (0, 1): np.full(LANES, 9, np.uint32).view(np.uint8)}
    interpreter.run(spirv.read(votes()), (1, 1, 1), found, wave=wave)
    np.testing.assert_array_equal(found[0, 1].view(np.uint32), wanted)
