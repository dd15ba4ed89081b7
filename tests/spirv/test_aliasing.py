"""Which loads of storage buffers the scalar unit makes: those of memory that nothing in the shader writes, as Vulkan's aliasing rules have it."""

from __future__ import annotations

import pytest
from module_words import Module, enumerant

import pyaco


def copy(aliased: bool = False, coherent: bool = False, volatile: bool = False, bindings: tuple[int, int] = (0, 1), model: str = "GLSL450") -> bytes:
    """A shader that copies the first word of one buffer to two places in another, which may be the first if they are one buffer."""
    m = Module((1, 1, 1))
    block = m.struct((m.array(m.uint(), 4), 0))
    source, target = (m.variable("StorageBuffer", block, binding) for binding in bindings)
    for name, wanted in (("Aliased", aliased), ("Coherent", coherent), ("Volatile", volatile)):
        if wanted:
            m.decorate(source, name)
    place = m.builtin("WorkgroupId")
    for _ in range(2):
        value = m.load(m.uint(), m.access_chain("StorageBuffer", m.uint(), source, m.constant(0), m.constant(0)))
        m.store(m.access_chain("StorageBuffer", m.uint(), target, m.constant(0), place), value)
        place = m.op("IAdd", m.uint(), place, m.constant(1))
    m.memory_model[1] = enumerant("MemoryModel", model)
    return m.words()


def loads(words: bytes) -> tuple[int, int]:
    """Return how many loads the scalar unit makes of buffers, and how many go through the vector caches."""
    text = pyaco.compile(words, target="gfx1030").disassembly
    return text.count("s_buffer_load_dword"), text.count("buffer_load_dword") - text.count("s_buffer_load_dword")


def test_a_buffer_that_is_not_written_is_loaded_once_by_the_scalar_unit() -> None:
    assert loads(copy()) == (1, 0)
    assert loads(copy(coherent=True)) == (1, 0)             # nor does another invocation, which has the same shader


@pytest.mark.parametrize("reason", [
    {"aliased": True}, {"volatile": True}, {"bindings": (1, 1)}, {"model": "OpenCL"},
], ids=str)  # fmt: skip
def test_other_loads_stay_in_order(reason: dict[str, bool | str | tuple[int, int]]) -> None:
    assert loads(copy(**reason)) == (0, 2)  # type: ignore[arg-type]
