"""Floats that are the same in all lanes on the SALU (GFX11.5 and later), beside the NIR interpreter."""

from __future__ import annotations

import re

import numpy as np
import pytest
from execution import Kernel, compile_nir, run_both

from pyaco import isa, targets
from pyaco.nir import passes

TARGETS = (("gfx1150", 32), ("gfx1150", 64), ("gfx1200", 32), ("gfx1201", 64))
VALUES = (0.0, -0.0, 1.0, -1.5, 2.5, 3.5, -0.49999997, 1e-3, 8388607.5,
          4294967040.0, -2147483904.0, 3e38, -3e38, float("inf"), float("-inf"), float("nan"))
TWO = ("fadd", "fsub", "fmul", "fmin", "fmax")
ONE = ("fneg", "fabs", "ffloor", "fceil", "ftrunc", "fround_even", "i2f32", "u2f32")
COMPARISONS = ("flt", "fge", "feq", "fneu", "fltu", "fgeu", "fequ", "fneo", "ford", "funord")


def scalar(b: Kernel, row: int, column: int) -> int:
    """Append a uniform load from the scalar cache."""
    return b.load_ubo(b.source, b.imm(16 * row + 4 * column), components=1, bit_size=32, align_mul=4, access=0x50)


def build(b: Kernel) -> None:
    """Every operation on every row of values, whose bits an integer operation reads."""
    for row in range(b.lanes // 16):
        x, y, z, key = (scalar(b, row, column) for column in range(4))
        for name in TWO:
            b.output(b.ixor(b.alu(name, x, y), key))
        for name in ONE:
            b.output(b.ixor(b.alu(name, x), key))
        b.output(b.ixor(b.ffma(x, y, z), key))
        b.output(b.ixor(b.ffma(x, y, b.fimm(0.3 + row)), key))
        b.output(b.ixor(b.ffma(b.fimm(1.7), y, b.fimm(-1.0)), key))
        b.output(b.ixor(b.fadd(x, b.fneg(y)), key))
        b.output(b.ixor(b.fadd(b.fneg(x), b.fabs(y)), key))
        b.output(b.f2i32(b.fmul(b.fadd(x, z), y)))
        b.output(b.f2u32(b.fabs(x)))
        for name in COMPARISONS:
            b.output(b.bcsel(b.alu(name, x, y), key, b.iadd(key, z)))


def data(seed: int) -> np.ndarray:
    """Return rows of three floats and an integer; sums and products are no NaNs but those of NaNs."""
    rng = np.random.default_rng(seed)
    floats = rng.choice(np.array(VALUES, np.float32), (64, 4))
    rows = floats.view(np.uint32)
    rows[:, 3] = rng.integers(0, 2**32, 64, dtype=np.uint32)
    return rows


def is_nan(bits: np.ndarray) -> np.ndarray:
    return (bits & 0x7FFFFFFF) > 0x7F800000


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_as_the_interpreter(target: str, wave: int, optimize: bool) -> None:
    source = data(wave)
    wanted, found = run_both(build, source, target, wave, optimize=optimize)
    per_row = len(wanted) // 4
    keys = np.repeat(source[:4, 3], per_row)[:, None]
    numbers = np.tile(np.arange(per_row) < len(TWO) + len(ONE) + 5, 4)[:, None]      # what may be a NaN, whose bits are free
    free = numbers & is_nan(wanted ^ keys) & is_nan(found ^ keys)
    np.testing.assert_array_equal(np.where(free, 0, found), np.where(free, 0, wanted))
    assert 0 < free.mean() < 0.5


def code(target: str, what: object) -> str:
    kernel = Kernel(targets.chip(target).level, 64)
    what(kernel)  # type: ignore[operator]
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    passes.run(shader)
    return isa.disassemble(compile_nir(shader, target, 64, optimize=True).code, target)


def test_the_salu_computes_them() -> None:
    text = code("gfx1200", build)
    assert not re.search(r"v_\w*_f32", text), text
    for name in ("add", "sub", "mul", "min_num", "max_num", "fmac", "fmaak", "floor", "ceil", "trunc", "rndne", "cmp_lt", "cmp_nge", "cmp_u"):
        assert f"s_{name}_f32" in text, name
    assert "s_cvt_i32_f32" in text and "s_cvt_f32_u32" in text
    assert "s_fmac_f32" not in code("gfx1100", build)


def test_what_only_the_valu_reads_stays_there() -> None:
    def sums(b: Kernel) -> None:
        x, y = scalar(b, 0, 0), scalar(b, 0, 1)
        b.output(b.fmul(b.input(32), b.fadd(x, y)))

    def negated(b: Kernel) -> None:
        x, key = scalar(b, 0, 0), scalar(b, 0, 1)
        sign = b.fneg(x)
        b.output(b.ixor(sign, key))
        b.output(b.fadd(b.input(32), sign))

    assert "v_add_f32" in code("gfx1200", sums) and "s_add_f32" not in code("gfx1200", sums)
    text = code("gfx1200", negated)
    assert "s_xor_b32" in text and re.search(r"v_subrev_f32|v_sub_f32", text), text
