"""SPV_AMD_shader_trinary_minmax and SPV_AMD_gcn_shader, and pointers to buffers in private memory, executed by the NIR interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from module_words import Module, enumerant, text
from numpy.typing import NDArray

from pyaco import InputError, UnsupportedError, compile, spirv
from pyaco._core.nir import validate
from pyaco.nir import interpreter, passes

LANES = 64
KINDS = {"float": (0, np.float32), "unsigned": (1, np.uint32), "signed": (2, np.int32)}


class Extended:
    """A module that loads words of its lane, applies one instruction, and stores words."""

    def __init__(self, set_name: str) -> None:
        self.m = m = Module((LANES, 1, 1))
        self.set = m.id()
        m.emit(m.head, "ExtInstImport", self.set, *text(set_name))
        self.float, self.int = m.type("Float", 32), m.type("Int", 32, 1)
        self.block = m.struct((m.array(m.uint(), 4), 0))
        self.buffers = [m.variable("StorageBuffer", self.block, binding) for binding in range(2)]
        self.lane = m.builtin("LocalInvocationId")

    def word(self, binding: int, row: int) -> int:
        """The pointer to a word of a row."""
        m = self.m
        index = m.op("IAdd", m.uint(), self.lane, m.constant(LANES * row))
        return m.access_chain("StorageBuffer", m.uint(), self.buffers[binding], m.constant(0), index)

    def loaded(self, row: int, type: int) -> int:
        value = self.m.load(self.m.uint(), self.word(0, row))
        return value if type == self.m.uint() else self.m.op("Bitcast", type, value)

    def store(self, row: int, value: int, type: int) -> None:
        self.m.store(self.word(1, row), value if type == self.m.uint() else self.m.op("Bitcast", self.m.uint(), value))

    def run(self, data: NDArray[Any], rows: int) -> NDArray[np.uint32]:
        """The words that are stored, as the module is read and after all passes."""
        found = []
        for lower in (False, True):
            shader = spirv.read(self.m.words())
            validate.run(shader)
            shader.set_info(gfx_level=103, wave_size=64, address32_hi=0xFFFF8000)
            if lower:
                passes.run(shader)
            out = np.zeros((rows, LANES), np.uint32)
            interpreter.run(shader, (1, 1, 1), {(0, 0): data.view(np.uint32).copy(), (0, 1): out})
            found.append(out)
        # passes may fuse a multiplication and an addition
        np.testing.assert_allclose(found[1].view(np.float32), found[0].view(np.float32), rtol=1e-6)
        return found[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["least", "greatest", "middle"])
def test_three_operands(which: str, kind: str) -> None:
    column, dtype = KINDS[kind]
    random = np.random.default_rng(1)
    data = random.normal(0, 9, (3, LANES)).astype(dtype) if kind == "float" else random.integers(0, 1 << 32, (3, LANES), np.uint32).view(dtype)
    e = Extended("SPV_AMD_shader_trinary_minmax")
    type = {"float": e.float, "unsigned": e.m.uint(), "signed": e.int}[kind]
    number = 1 + column + 3 * ["least", "greatest", "middle"].index(which)
    e.store(0, e.m.op("ExtInst", type, e.set, number, *(e.loaded(row, type) for row in range(3))), type)
    wanted = np.sort(data, 0)[{"least": 0, "middle": 1, "greatest": 2}[which]]
    np.testing.assert_array_equal(e.run(data, 1)[0].view(dtype), wanted)


@pytest.mark.parametrize(("number", "operands", "message"), [
    (0, 3, "no instruction 0"), (10, 3, "no instruction 10"), (2, 2, "no instruction 2 with so many operands"),
    (1, 3, "a floating-point operation on integers"), (4, 3, "a floating-point operation on integers"),
])
def test_three_operands_that_are_wrong(number: int, operands: int, message: str) -> None:
    e = Extended("SPV_AMD_shader_trinary_minmax")
    e.m.op("ExtInst", e.m.uint(), e.set, number, *(e.loaded(row, e.m.uint()) for row in range(operands)))
    with pytest.raises(InputError, match=message):
        spirv.read(e.m.words())


def test_faces_of_cubes() -> None:
    direction = np.random.default_rng(2).normal(0, 1, (3, LANES)).astype(np.float32)
    e = Extended("SPV_AMD_gcn_shader")
    vector, pair = e.m.type("Vector", e.float, 3), e.m.type("Vector", e.float, 2)
    at = e.m.op("CompositeConstruct", vector, *(e.loaded(row, e.float) for row in range(3)))
    e.store(0, e.m.op("ExtInst", e.float, e.set, 1, at), e.float)
    place = e.m.op("ExtInst", pair, e.set, 2, at)
    for component in range(2):
        e.store(1 + component, e.m.op("CompositeExtract", e.float, place, component), e.float)
    face, s, t = e.run(direction, 3).view(np.float32)
    assert set(face) == set(range(6))
    for lane in range(LANES):
        axis = int(np.argmax(abs(direction[:, lane])))
        x, y, z = direction[:, lane]
        assert face[lane] == 2 * axis + (direction[axis, lane] < 0)
        sc, tc = {0: (-z if x > 0 else z, -y), 1: (x, z if y > 0 else -z), 2: (x if z > 0 else -x, -y)}[axis]
        np.testing.assert_allclose([s[lane], t[lane]], [sc / abs(direction[axis, lane]) / 2 + 0.5, tc / abs(direction[axis, lane]) / 2 + 0.5],
                                   atol=1e-6)
    with pytest.raises(InputError, match="SPV_AMD_gcn_shader has no instruction 4"):
        e.m.op("ExtInst", e.float, e.set, 4, at)
        spirv.read(e.m.words())


def pointers_in(holder: str) -> Module:
    """A module whose private variable holds a pointer to a buffer, alone, in an array or in a struct."""
    e = Extended("SPV_AMD_gcn_shader")
    m = e.m
    m.emit(m.head, "Capability", enumerant("Capability", "VariablePointersStorageBuffer"))
    pointer = m.pointer("StorageBuffer", m.uint())
    held = {"alone": lambda: pointer, "array": lambda: m.type("Array", pointer, m.constant(2)), "struct": lambda: m.type("Struct", pointer, pointer)}
    type = held[holder]()
    private = [m.variable("Private", type) for _ in range(2)]
    target = private[0] if holder == "alone" else m.access_chain("Private", pointer, private[0], m.constant(1))
    m.store(target, e.word(0, 1))
    if holder == "alone":
        m.store(private[1], e.word(0, 0))
    e.store(0, m.load(m.uint(), m.load(pointer, target)), m.uint())
    e.store(1, m.load(m.uint(), m.load(pointer, private[1] if holder == "alone" else target)), m.uint())
    return m


def test_private_pointers_to_buffers() -> None:
    """They are three words: more than a variable of one word has room for."""
    data = np.arange(2 * LANES, dtype=np.uint32)
    words = pointers_in("alone").words()
    for lower in (False, True):
        shader = spirv.read(words)
        shader.set_info(gfx_level=103, wave_size=64, address32_hi=0xFFFF8000)
        if lower:
            passes.run(shader)
        out = np.zeros((2, LANES), np.uint32)
        interpreter.run(shader, (1, 1, 1), {(0, 0): data, (0, 1): out})
        np.testing.assert_array_equal(out, data.reshape(2, LANES)[::-1])
    compile(words, target="gfx1030")


@pytest.mark.parametrize("holder", ["array", "struct"])
def test_pointers_to_buffers_in_aggregates_are_refused(holder: str) -> None:
    with pytest.raises(UnsupportedError, match="pointers to buffers"):
        compile(pointers_in(holder).words(), target="gfx1030")
