"""Instruction selection: shapes of control flow, choice of register files, memory operations."""

from __future__ import annotations

import re

import pytest

from pyaco._core.aco import isel
from pyaco._core.nir import divergence
from pyaco.aco import text
from pyaco.errors import UnsupportedError
from pyaco.nir import passes
from pyaco.nir.builder import Builder

TARGETS = [(90, 64), (103, 32), (103, 64), (110, 32), (110, 64), (120, 32)]
SSBO = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}


def descriptor(b: Builder, binding: int) -> int:
    """Append the descriptor of a storage buffer."""
    index = b.vulkan_resource_index(b.imm(0), desc_set=0, binding=binding, desc_type=7, components=4)
    return b.load_vulkan_descriptor(index, desc_type=7, components=4)


def select(b: Builder) -> str:
    """Lower and select; return the text of the program."""
    shader = b.finish()
    shader.metadata["descriptor_layout"] = SSBO
    passes.run(shader)
    return text.format_program(isel.run(shader))


def select_bare(b: Builder) -> str:
    """Select without lowering."""
    shader = b.finish()
    divergence.run(shader)
    return text.format_program(isel.run(shader))


def lane(b: Builder) -> int:
    """Append a divergent integer."""
    return b.mbcnt_amd(b.imm(-1), b.imm(0))


def blocks(program: str) -> list[str]:
    """Return the text of each block."""
    return re.split(r"^BB\d+$", program, flags=re.M)[1:]


@pytest.mark.parametrize(("gfx", "wave"), TARGETS)
def test_saxpy(gfx: int, wave: int) -> None:
    b = Builder(gfx_level=gfx, wave_size=wave, workgroup_size=(64, 1, 1))
    i = b.component(b.load_global_invocation_id(), 0)
    n, a = (b.load_push_constant(b.imm(4 * k), base=0, range=8, align_mul=4, components=1) for k in range(2))
    with b.if_(b.ult(i, n)):
        offset = b.ishl(i, b.imm(2))
        x = b.load_ssbo(descriptor(b, 0), offset, components=1, bit_size=32, align_mul=4)
        y = b.load_ssbo(descriptor(b, 1), offset, components=1, bit_size=32, align_mul=4)
        b.store_ssbo(b.ffma(a, x, y), descriptor(b, 1), offset, write_mask=1, align_mul=4)
    program = select(b)
    assert len(blocks(program)) == 7
    assert "v_fma_f32" in program
    assert program.count("buffer_load_dword ") == 2
    assert "buffer_store_dword " in program
    assert re.search(r"s_load_dwordx(4|8) ", program)
    assert program.rstrip().endswith("s_endpgm")


@pytest.mark.parametrize(("loads", "in_scalars"), [(10, False), (100, True)])
def test_uniform_loads_stay_in_vgprs_as_long_as_they_are_few(loads: int, in_scalars: bool) -> None:
    b = Builder()
    buffer = descriptor(b, 1)
    values = [b.load_ssbo(buffer, b.imm(16 * k), components=4, bit_size=32, align_mul=16) for k in range(loads)]
    for k, value in enumerate(values):
        b.store_ssbo(value, buffer, b.imm(4096 + 16 * k), write_mask=15, align_mul=16)
    assert ("p_as_uniform" in select(b)) == in_scalars


def test_unsupported_names_the_opcode() -> None:
    b = Builder()
    b.fpow(b.fimm(1.0), b.fimm(2.0))
    with pytest.raises(UnsupportedError, match="fpow"):
        select_bare(b)


def test_vectors_of_booleans_are_refused() -> None:
    b = Builder()
    pair = b.load_shared2_amd(b.imm(0), components=2, bit_size=1, offset0=0, offset1=1)
    b.store_shared(b.b2i32(pair), b.imm(0), write_mask=3, align_mul=4)
    with pytest.raises(UnsupportedError, match="vector of booleans"):
        select_bare(b)


def test_both_ways_of_asking_for_float_modes_agree() -> None:
    """The ABI and the selected program start in the same MODE, whatever combination of float controls a shader states."""
    for controls in range(1 << 15):
        if controls & 0xFC0:                                # what does not reach MODE: special values, rounding to even
            continue
        b = Builder(gfx_level=110, wave_size=64, workgroup_size=(64, 1, 1))
        shader = b.finish()
        shader.set_info(float_controls=controls)
        passes.run(shader)
        program = isel.run(shader)
        assert shader.metadata["abi"]["float_mode"] == int(program.blocks.fp_mode[0]) & 0xFF, hex(controls)
