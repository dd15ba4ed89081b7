"""Floats, memory and subgroup operations of instruction selection, judged by execution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from execution import Kernel, compile_nir, run_both, seed_data

from pyaco.nir import passes as nir_passes

TARGETS = [("gfx1030", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1100", 32)]


def floats(lanes: int = 64) -> np.ndarray:
    """Return rows of moderate floats."""
    rng = np.random.default_rng(3)
    return rng.uniform(-100, 100, (4, lanes, 4)).astype(np.float32)


def judge(build: Callable[[Kernel], object], data: np.ndarray, target: str, wave: int) -> None:
    """Complain about the first result that differs."""
    wanted, found = run_both(build, data, target, wave)
    for row in range(len(wanted)):
        np.testing.assert_array_equal(found[row], wanted[row], err_msg=f"output {row}")


@pytest.mark.parametrize(("target", "used", "unused"), [("gfx803", "v_mul_f32", "v_max_f32"), ("gfx900", "v_max_f32", "v_mul_f32")])
def test_canonical_floats(target: str, used: str, unused: str) -> None:
    """Before GFX9 maxima pass denormals through (Mesa, `does_fp_op_flush_denorms`), so that one of a value and itself flushes nothing."""
    b = Kernel(int(target[3:4]) * 10, 64)
    b.output(b.alu("fcanonicalize", b.input(32)))
    shader = b.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    nir_passes.run(shader)
    code = compile_nir(shader, target, 64, False).disassembly
    assert used in code and unused not in code


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("uniform", [False, True])
def test_floats(uniform: bool, target: str, wave: int) -> None:
    def build(b: Kernel) -> None:
        x, y, z = (b.input(32, uniform, place) for place in range(3))
        for name in ("fadd", "fsub", "fmul", "fmin", "fmax"):
            b.output(b.alu(name, x, y))
        for name in ("fneg", "fabs", "fsat", "ffloor", "fceil", "ftrunc", "fround_even", "fsign", "f2i32"):
            b.output(b.alu(name, x))
        for name in ("flt", "fge", "feq", "fneu"):
            b.output(b.alu(name, x, y))
        b.output(b.ffma(x, y, z))
        b.output(b.f2f64(x))
        b.output(b.f2f32(b.fadd(b.f2f64(x), b.f2f64(y))))
        b.output(b.i2f32(b.f2i32(x)))
        b.output(b.u2f32(b.iand(b.f2i32(x), b.imm(0xFFFF))))
        half = b.f2f16(x)
        b.output(b.fadd(half, b.f2f16(y)))
        b.output(b.fmul(half, b.f2f16(y)))
        b.output(b.f2f32(half))
        b.output(b.b2f32(b.flt(x, y)))

    judge(build, floats(), target, wave)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("components", [1, 2, 3, 4])
def test_load_sizes(components: int, bits: int, target: str, wave: int) -> None:
    def build(b: Kernel) -> None:
        if bits * components <= 128:
            b.output(b.input(bits, False, 0, components))
            b.output(b.input(bits, True, 1, components))

    judge(build, seed_data(), target, wave)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("operation", ["iadd", "imin", "umax", "iand", "ior", "ixor"])
def test_reductions(operation: str, target: str, wave: int) -> None:
    from pyaco._core.nir import build as tables

    def build(b: Kernel) -> None:
        number = tables.ALU[operation]
        x = b.input(32)
        u = b.input(32, True)
        for value in (x, u):
            b.output(b.reduce(value, reduction_op=number, cluster_size=0))
            b.output(b.inclusive_scan(value, reduction_op=number))
            b.output(b.exclusive_scan(value, reduction_op=number))
        b.output(b.reduce(x, reduction_op=number, cluster_size=8))
        condition = b.ilt(x, b.imm(0))
        if operation in ("iand", "ior", "ixor"):
            b.output(b.reduce(condition, bit_size=1, reduction_op=number, cluster_size=0))
            b.output(b.reduce(condition, bit_size=1, reduction_op=number, cluster_size=4))
        b.output(b.vote_any(condition, bit_size=1))
        b.output(b.vote_all(condition, bit_size=1))
        b.output(b.read_first_invocation(x))
        b.output(b.read_invocation(x, b.imm(5)))
        b.output(b.shuffle(x, b.iand(b.input(32, False, 1), b.imm(wave - 1))))
        b.output(b.quad_swap_horizontal(x))
        b.output(b.quad_swap_diagonal(x))
        b.output(b.masked_swizzle_amd(x, swizzle_mask=0x1F | 16 << 10, fetch_inactive=1))

    judge(build, seed_data(), target, wave)


@pytest.mark.parametrize(("target", "wave"), [("gfx803", 64), ("gfx900", 64), *TARGETS, ("gfx1200", 32)])
@pytest.mark.parametrize("kept", [0x1F, 0x1D, 0x1C, 0x18, 0x10, 0x0F, 0])
def test_swizzles(kept: int, target: str, wave: int) -> None:
    """Every xor mask beside masks of what is kept and set: DPP, permutations of rows, the LDS crossbar."""

    def build(b: Kernel) -> None:
        x = b.input(32)
        for inverted in range(32):
            b.output(b.masked_swizzle_amd(x, swizzle_mask=kept | inverted << 10, fetch_inactive=1))
        b.output(b.masked_swizzle_amd(x, swizzle_mask=kept | 6 << 5 | 0x12 << 10, fetch_inactive=1))

    judge(build, seed_data(), target, wave)


@pytest.mark.parametrize(("target", "expected"), [("gfx900", "ds_swizzle_b32"), ("gfx1030", "v_permlanex16_b32"), ("gfx1100", "v_permlanex16_b32")])
def test_rows_are_exchanged_without_the_crossbar(target: str, expected: str) -> None:
    b = Kernel({"gfx900": 90, "gfx1030": 103, "gfx1100": 110}[target], 64)
    b.output(b.masked_swizzle_amd(b.input(32), swizzle_mask=0x1F | 16 << 10, fetch_inactive=1))
    shader = b.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    nir_passes.run(shader)
    assert expected in compile_nir(shader, target, 64, False).disassembly


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), *TARGETS, ("gfx1200", 32)])
@pytest.mark.parametrize("nested", [False, True])
def test_elected_lanes(nested: bool, target: str, wave: int) -> None:
    """One lane where all run, whose mask is a constant; and one of those that a condition leaves, none in some waves."""

    def build(b: Kernel) -> None:
        x = b.input(32)
        with b.if_(b.ilt(x, b.imm(0)) if nested else b.elect(bit_size=1)), b.if_(b.elect(bit_size=1)):
            b.output(b.iadd(x, b.imm(5)))
        b.output(x)

    judge(build, seed_data(), target, wave)
