"""opt_uniform_atomics: memory ends as it did, and lanes get old values that some order of them gives."""

from __future__ import annotations

import numpy as np
import pytest

import pyaco
from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import AtomicOperation
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

LANES = 128
TARGETS = (("gfx700", 70, 64), ("gfx900", 90, 64), ("gfx1030", 103, 32), ("gfx1030", 103, 64), ("gfx1100", 110, 64), ("gfx1200", 120, 32))
#: Operation and what lanes bring: a constant, or numbers of their own.
ATOMICS = (
    ("IADD", 1), ("IADD", 0xFFFFFFFF), ("IADD", 5), ("IADD", 8), ("IADD", 0x1234567), ("IADD", None), ("UMAX", None), ("UMIN", 7), ("IMIN", None),
    ("IXOR", None), ("IOR", 12), ("IAND", None),
)  # fmt: skip


def shader_of(level: int, wave: int, mode: str) -> Shader:
    """Two lanes of three do each atomic on a place of their own workgroup's or the buffer's; a lane's old values go to the buffer."""
    b = Builder(level, wave, (LANES, 1, 1))
    lane = b.load_local_invocation_index()
    array = b.array(b.scalar(), 0, 4)
    index = b.intrinsic("vulkan_resource_index", b.imm(0), components=3, bit_size=32, desc_set=0, binding=0, desc_type=7)
    buffer = b.deref_cast(b.intrinsic("load_vulkan_descriptor", index, components=3, bit_size=32, desc_type=7), array, "ssbo")
    shared = b.deref_var(b.variable("shared", b.array(b.scalar(), len(ATOMICS), 4)))
    first = b.ieq(lane, b.imm(0))
    if mode == "shared":
        with b.if_(first):
            for place in range(len(ATOMICS)):
                b.store(b.deref_array(shared, b.imm(place)), b.imm(100))
        b.intrinsic("barrier", execution_scope=4, memory_scope=4, memory_semantics=3, memory_modes=0xFFFF)
    with b.if_(b.ine(b.umod(lane, b.imm(3)), b.imm(1))):
        for place, (operation, data) in enumerate(ATOMICS):
            target = b.deref_array(shared if mode == "shared" else buffer, b.imm(place))
            brought = b.imul(lane, b.imm(977)) if data is None else b.imm(data)
            old = b.intrinsic("deref_atomic", target, brought, components=1, bit_size=32, atomic_op=getattr(AtomicOperation, operation))
            if operation == "IADD":
                b.store(b.deref_array(buffer, b.iadd(b.imul(b.iadd(lane, b.imm(1)), b.imm(len(ATOMICS))), b.imm(place))), old)
    if mode == "shared":
        b.intrinsic("barrier", execution_scope=4, memory_scope=4, memory_semantics=3, memory_modes=0xFFFF)
        with b.if_(first):
            for place in range(len(ATOMICS)):
                b.store(b.deref_array(buffer, b.imm(place)), b.load(b.deref_array(shared, b.imm(place))))
    return b.finish()


@pytest.mark.parametrize("mode", ["shared", "buffer"])
@pytest.mark.parametrize(("target", "level", "wave"), TARGETS)
def test_memory_and_old_values(target: str, level: int, wave: int, mode: str) -> None:
    expected = np.full((LANES + 1, len(ATOMICS)), 100, np.uint32)
    interpreter.run(shader_of(level, wave, mode), (1, 1, 1), {(0, 0): expected.reshape(-1)}, wave=wave)
    device = pyaco.emu.Device(target)
    buffer = device.buffer(np.full(expected.size, 100, np.uint32))
    shader = pyaco.compile(shader_of(level, wave, mode), target=target, wave=wave, validate=True)
    device.dispatch(shader, groups=(1, 1, 1), buffers={(0, 0): buffer})
    found = buffer.numpy().view(np.uint32).reshape(expected.shape)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(np.sort(found[:, :5], 0), np.sort(expected[:, :5], 0))            # what all bring is the same: 100, 101, 102 ...
    assert ("ds_append" in shader.disassembly and "ds_consume" in shader.disassembly) == (mode == "shared" and level >= 90)
    atomics = sum("atomic" in line or line.startswith(("\tds_add", "\tds_sub", "\tds_max", "\tds_min", "\tds_and", "\tds_or", "\tds_xor"))
                  for line in shader.disassembly.splitlines())
    assert shader.disassembly.count("_saveexec_") >= atomics > 0
