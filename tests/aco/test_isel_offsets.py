"""Constants in offsets of memory instructions: in the immediate where the sum cannot wrap, and right where it does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from execution import Kernel, compile_nir, run_both, seed_data

from pyaco import isa, targets
from pyaco.nir import passes

TARGETS = [("gfx900", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)]


def wrapped(b: Kernel) -> None:
    """Offsets whose base is below zero in some lanes: with the constant they are inside of the buffer again."""
    scale, uniform = b.imm(2), b.input(32, True, 3)
    for back, constant in ((1, 4), (9, 36), (64, 256), (200, 4000)):
        base = b.ishl(b.isub(b.lane, b.imm(back)), scale)
        b.output(b.load_ssbo(b.source, b.iadd(base, b.imm(constant)), components=1, bit_size=32, align_mul=4, access=0x50))
        b.output(b.load_ssbo(b.source, b.iadd(b.isub(uniform, b.iadd(uniform, b.imm(back))), b.imm(constant)), components=1,
                             bit_size=32, align_mul=1, access=0x50))


def shared(b: Kernel) -> None:
    """Indices of LDS: the constant is taken out, and what is left may be below zero."""
    words = b.deref_var(b.variable("shared", b.array(b.scalar(), 4 * b.lanes)))
    for k in range(4):
        b.store(b.deref_array(words, b.iadd(b.lane, b.imm(b.lanes * k))), b.input(32, False, k))
    b.barrier(execution_scope=4, memory_scope=4, memory_semantics=3, memory_modes=4)
    for back, constant in ((1, 1), (5, 5), (64, 128), (40, 190)):
        b.output(b.load(b.deref_array(words, b.iadd(b.isub(b.lane, b.imm(back)), b.imm(constant)))))


def bounded(b: Kernel) -> None:
    """Bases that are known to be small."""
    row = b.ishl(b.iand(b.input(32), b.imm(31)), b.imm(4))
    for constant in (4, 1024, 2052):
        b.output(b.load_ssbo(b.source, b.iadd(row, b.imm(constant)), components=1, bit_size=32, align_mul=4, access=0x50))
    uniform = b.ishl(b.iand(b.input(32, True), b.imm(31)), b.imm(4))
    b.output(b.load_ssbo(b.source, b.iadd(uniform, b.imm(48)), components=1, bit_size=32, align_mul=4, access=0x50))


def assembly(build: object, target: str, wave: int) -> str:
    kernel = Kernel(targets.chip(target).level, wave)
    build(kernel)  # type: ignore[operator]
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    passes.run(shader)
    return isa.disassemble(compile_nir(shader, target, wave, optimize=True).code, target)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("build", [wrapped, bounded, shared])
def test_offsets(build: object, target: str, wave: int, optimize: bool) -> None:
    wanted, found = run_both(build, seed_data(), target, wave, optimize=optimize)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_what_may_wrap_is_added_before(target: str, wave: int) -> None:
    for line in assembly(wrapped, target, wave).splitlines():
        if "buffer_load" in line and "s_buffer" not in line:
            assert not re.search(r"offset:(36|256|4000)\b", line), line


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_what_cannot_wrap_is_in_the_immediate(target: str, wave: int) -> None:
    text = assembly(bounded, target, wave)
    for offset in (4, 1024, 2052):
        assert re.search(rf"buffer_load_\S+ .*offset:{offset}\b", text), text
    assert re.search(r"s_buffer_load_\S+ .*(offset:0x30|0x30)", text), text
