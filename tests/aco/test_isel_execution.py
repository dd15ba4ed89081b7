"""Instruction selection judged by execution: compiled NIR on the emulator against the NIR interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from execution import Kernel, compile_nir, run_both, seed_data

from pyaco import isa
from pyaco._core.nir.build import ALU
from pyaco.nir import passes

SUBGROUP = 2                   # the scope
TARGETS = [("gfx1030", 64), ("gfx1030", 32), ("gfx1100", 32)]

INTEGER = ["iadd", "isub", "imul", "imin", "imax", "umin", "umax", "iand", "ior", "ixor"]
SHIFTS = ["ishl", "ishr", "ushr"]
COMPARE = ["ilt", "ige", "ult", "uge", "ieq", "ine"]


def judge(build: Callable[[Kernel], object], data: np.ndarray, target: str, wave: int) -> None:
    """Complain about the first result that differs."""
    wanted, found = run_both(build, data, target, wave)
    for row in range(len(wanted)):
        np.testing.assert_array_equal(found[row], wanted[row], err_msg=f"output {row}")


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_integer(bits: int, uniform: bool, target: str, wave: int) -> None:
    def build(b: Kernel) -> None:
        x, y = (b.input(bits, uniform, place) for place in range(2))
        count = b.input(32, uniform, 2)
        for name in INTEGER:
            if bits == 64 and name in ("imul", "imin", "imax", "umin", "umax"):
                continue
            b.output(b.alu(name, x, y))
        for name in SHIFTS:
            b.output(b.alu(name, x, count))
        for name in COMPARE:
            b.output(b.alu(name, x, y))
        b.output(b.inot(x))
        b.output(b.bcsel(b.ilt(x, y), x, y))
        b.output(b.bcsel(b.ilt(x, y), b.ult(x, y), b.ieq(x, y)))

    judge(build, seed_data(), target, wave)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("uniform", [False, True])
def test_bits(uniform: bool, target: str, wave: int) -> None:
    def build(b: Kernel) -> None:
        x, y, z = (b.input(32, uniform, place) for place in range(3))
        wide = b.input(64, uniform, 3)
        for value in (x, wide):
            b.output(b.bit_count(value))
            b.output(b.find_lsb(value))
            b.output(b.ufind_msb(value))
            if value == x:
                b.output(b.ifind_msb(value))
        for name in ("uadd_sat", "usub_sat"):
            b.output(b.alu(name, x, y))
            b.output(b.alu(name, wide, b.u2u64(y)))
        for name in ("iadd_sat", "isub_sat", "uadd_carry", "usub_borrow", "umul_high", "imul_high"):
            b.output(b.alu(name, x, y))
        b.output(b.bitfield_reverse(x))
        b.output(b.isign(x))
        b.output(b.isign(wide))
        b.output(b.iabs(x))
        b.output(b.ubfe(x, y, z))
        b.output(b.ibfe(x, y, z))
        b.output(b.bfm(y, z))
        b.output(b.bitfield_select(x, y, z))
        for index in range(4):
            b.output(b.extract_u8(x, b.imm(index)))
            b.output(b.extract_i8(x, b.imm(index)))
            b.output(b.insert_u8(x, b.imm(index)))
        for index in range(2):
            b.output(b.extract_u16(x, b.imm(index)))
            b.output(b.extract_i16(x, b.imm(index)))
            b.output(b.insert_u16(x, b.imm(index)))
        b.output(b.pack_64_2x32_split(x, y))
        b.output(b.umul24(x, y))
        b.output(b.imul24(x, y))

    judge(build, seed_data(), target, wave)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("uniform", [False, True])
def test_widths(uniform: bool, target: str, wave: int) -> None:
    def build(b: Kernel) -> None:
        values = {bits: b.input(bits, uniform, k) for k, bits in enumerate((8, 16, 32, 64))}
        for value in values.values():
            for bits in values:
                if bits != b.bit_size(value):
                    b.output(b.alu(f"i2i{bits}", value))
                    b.output(b.alu(f"u2u{bits}", value))
        b.output(b.vec(*(b.component(b.input(8, uniform, 0, 4), k) for k in (3, 1, 2, 0))))
        b.output(b.vec(*(b.component(b.input(16, uniform, 1, 4), k) for k in (3, 1, 2, 0))))
        b.output(b.pack_32_2x16_split(values[16], b.u2u16(values[32])))
        b.output(b.unpack_32_2x16(values[32]))
        b.output(b.unpack_32_4x8(values[32]))
        b.output(b.unpack_64_4x16(values[64]))
        b.output(b.pack_32_4x8(b.input(8, uniform, 2, 4)))
        b.output(b.pack_32_2x16(b.input(16, uniform, 2, 2)))

    judge(build, seed_data(), target, wave)


@pytest.mark.parametrize(("target", "wave"), [("gfx600", 64), ("gfx700", 64), ("gfx803", 64), ("gfx900", 64), *TARGETS, ("gfx1200", 32)])
def test_quantization_to_halves(target: str, wave: int) -> None:
    """Around the least normal half and the largest one; GFX6 and GFX7 do not tell the classes of halves."""
    least = np.float32(2**-14) + np.arange(-24, 24, dtype=np.float32) * np.float32(2**-26)
    others = [0, -0.0, np.inf, -np.inf, 65504, 65519, -65520, 1 / 3, 1e-30, -1e-7, 6e-5, -1e30]
    values = np.concatenate([least, -least[:4], np.array(others, np.float32)])
    data = np.zeros((1, 64, 4), np.uint32)
    data[0, :, 0] = values.view(np.uint32)

    def build(b: Kernel) -> None:
        b.output(b.alu("fquantize2f16", b.input()))

    judge(build, data, target, wave)


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), *TARGETS, ("gfx1200", 32), ("gfx1200", 64)])
def test_clocks_of_subgroups(target: str, wave: int) -> None:
    """Reading a clock leaves alone what else is in scalar registers; GFX12 puts it together from three reads."""
    def build(b: Kernel) -> None:
        uniform = b.input(uniform=True)
        clocks = [b.shader_clock(memory_scope=SUBGROUP, components=2) for _ in range(2)]
        b.output(b.iadd(uniform, b.input()))
        b.output(b.bcsel(b.uge(*[b.component(clock, 0) for clock in reversed(clocks)]), b.imm(1), b.imm(2)))
        b.output(b.bcsel(b.ult(b.component(clocks[0], 1), b.imm(16)), b.imm(1), b.imm(2)))

    judge(build, seed_data(), target, wave)


def test_a_clock_of_three_reads() -> None:
    """The high half before and behind the low one, which counts where both are the same."""
    kernel = Kernel(120, 32)
    kernel.output(kernel.shader_clock(memory_scope=SUBGROUP, components=2))
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    passes.run(shader)
    text = compile_nir(shader, "gfx1200", 32, optimize=False).disassembly
    high, low, again = re.findall(r"s_getreg_b32 (s\d+), hwreg", text)
    assert f"s_cmp_eq_u32 {high}, {again}" in text and re.search(rf"s_cselect_b32 s\d+, {low}, 0", text)
    assert len({high, low, again}) == 3


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), *TARGETS, ("gfx1200", 32)])
def test_constant_offsets_before_a_buffer(target: str, wave: int) -> None:
    """Offsets are modulo 2**32: of an index of -1, offset and size add up to nothing."""

    def build(b: Kernel) -> None:
        for offset in (-4, -8, -16, 0x80000000, 0x7FFFFFFC):
            b.output(b.load_ssbo(b.source, b.imm(offset), components=1, bit_size=32, align_mul=4))
        b.store_ssbo(b.imm(7), b.target, b.imm(-4), write_mask=1, align_mul=4)

    judge(build, seed_data(), target, wave)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize(("target", "wave"), [("gfx700", 64), ("gfx900", 64), *TARGETS, ("gfx1200", 32), ("gfx1201", 64)])
def test_votes_of_quads_and_masks_of_lanes(target: str, wave: int, optimize: bool) -> None:
    """In all lanes, and where some are off that would decide otherwise."""

    def votes(b: Kernel, value: int) -> None:
        for name in ("quad_vote_any", "quad_vote_all"):
            b.output(b.intrinsic(name, value, components=1, bit_size=1))
        for operation in ("iand", "ior", "ixor"):
            b.output(b.reduce(value, components=1, bit_size=1, reduction_op=ALU[operation], cluster_size=4))

    def build(b: Kernel) -> None:
        value = b.ult(b.iand(b.input(32), b.imm(7)), b.imm(5))
        votes(b, value)
        with b.if_(b.ine(b.iand(b.input(32, False, 1), b.imm(3)), b.imm(0))):
            votes(b, value)
            votes(b, b.ult(b.iand(b.input(32, False, 2), b.imm(3)), b.imm(3)))
        b.output(b.ballot_relaxed(value, components=1, bit_size=wave))
        for count in (0, 1, 31, 32, 40, 63, 64):
            if count <= wave:
                for base in (0, 8):
                    b.output(b.is_subgroup_invocation_lt_amd(b.ior(b.imm(count << base), b.imm(0x1500 if base == 0 else 0x21)), components=1,
                                                             bit_size=1, base=base))

    wanted, found = run_both(build, seed_data(), target, wave, optimize=optimize)
    np.testing.assert_array_equal(found, wanted)
    assert {tuple(np.unique(row)) for row in wanted} >= {(0, 1), (0,), (1,)}


def test_a_vote_of_quads_is_scalar() -> None:
    def build(b: Kernel) -> None:
        b.output(b.quad_vote_all(b.ult(b.lane, b.input(32)), components=1, bit_size=1))

    kernel = Kernel(103, 64)
    build(kernel)
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    passes.run(shader)
    assert "s_wqm_b64" in isa.disassemble(compile_nir(shader, "gfx1030", 64, optimize=True).code, "gfx1030")
