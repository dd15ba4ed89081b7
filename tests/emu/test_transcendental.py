"""Transcendental instructions give the exact result, worked out to 50 digits here, rounded as MODE says."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

from pyaco import isa
from pyaco._core.emu_fast.engine import FastEngine, vector_bits
from pyaco.emu import Device

TARGET = "gfx1100"
CONTEXT = Context(prec=50)
COUNT = 4096
NEAREST, UP, DOWN, ZERO = range(4)
ENGINES = [0, *(bits for bits in (128, 256, 512) if bits <= vector_bits())]  # bits of the fast engine's vectors, 0: the reference engine
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
PROGRAM = """
    v_and_b32 v0, 0x3ff, v0
    v_lshl_add_u32 v0, s2, 7, v0
    v_lshlrev_b32 v0, 2, v0
    global_load_b32 v1, v0, s[0:1]
    s_waitcnt vmcnt(0)
    {name} v1, v1
    global_store_b32 v0, v1, s[0:1]
    s_endpgm
"""


def sine(angle: Decimal) -> Decimal:
    """Return the sine by its series, for an angle of a few units."""
    term = total = angle
    number = 1
    while abs(term) > Decimal(10) ** -45:
        term *= -angle * angle / ((number + 1) * (number + 2))
        total += term
        number += 2
    return total


def turns(value: Decimal) -> Decimal:
    """Return what is left of whole turns, as an angle."""
    return 2 * PI * (value - value.to_integral_value())


#: the function, and the sources that are drawn: exponents from, to, and whether they may be negative
FUNCTIONS: dict[str, tuple[Callable[[Decimal], Decimal], int, int, bool]] = {
    "v_exp_f32": (lambda value: Decimal(2) ** value, -20, 6, True),
    "v_log_f32": (lambda value: value.ln() / Decimal(2).ln(), -6, 6, False),
    "v_sin_f32": (lambda value: sine(turns(value)), -60, 4, True),
    "v_cos_f32": (lambda value: sine(turns(value) + PI / 2), -12, 4, True),
    "v_rcp_f32": (lambda value: 1 / value, -125, 125, True),
    "v_rsq_f32": (lambda value: 1 / value.sqrt(), -126, 128, False),
    "v_sqrt_f32": (lambda value: value.sqrt(), -126, 128, False),
}


def run(name: str, sources: np.ndarray, bits: int, rounding: int = NEAREST, denormals: int = 0xC0) -> np.ndarray:
    """Return the results, with singles, or halves and doubles, rounded so; `denormals`: the bits of MODE, usually those that keep none of singles."""
    device = Device(TARGET, "fast" if bits else "reference", 1)
    if bits:
        device._engine = FastEngine(device.space, device.gfx_level, 1, bits)
    data = device.buffer(sources)
    device.run(isa.assemble(PROGRAM.format(name=name), TARGET), (len(sources) // 128, 1, 1), (128, 1, 1),
               user_sgprs=(data.address & 0xFFFFFFFF, data.address >> 32), workgroup_ids=(True, False, False),
               float_mode=denormals | rounding | rounding << 2)  # fmt: skip
    return data.numpy().view(sources.dtype)


def is_rounded(result: np.float32, exact: Decimal, rounding: int) -> bool:
    """Whether no other single is what the exact result becomes."""
    value, below, above = (Decimal(float(number)) for number in (result, *np.nextafter(result, np.array([-np.inf, np.inf], np.float32))))
    if rounding == NEAREST:
        return abs(value - exact) <= min(abs(below - exact), abs(above - exact))
    if rounding == UP or (rounding == ZERO and exact < 0):
        return below < exact <= value
    return value <= exact < above


@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_rounded(name: str) -> None:
    """The exponent base 2 and the logarithm were singles of the host's library once: some results were the neighbour."""
    function, least, largest, signed = FUNCTIONS[name]
    random = np.random.default_rng(7)
    sources = np.ldexp(random.uniform(1, 2, COUNT), random.integers(least, largest, COUNT)).astype(np.float32)
    sources *= random.choice([-1, 1], COUNT) if signed else 1
    results = [run(name, sources, ENGINES[-1], rounding) for rounding in range(4)]
    with localcontext(CONTEXT):
        exact = [function(Decimal(float(source))) for source in sources]
        wrong = [
            (rounding, sources[number], results[rounding][number])
            for rounding in range(4)
            for number in range(COUNT)
            if not is_rounded(results[rounding][number], exact[number], rounding)
        ]
    assert not wrong, (len(wrong), wrong[:4])


SPECIAL = np.array([
    0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1, -1, 0.5, -0.5, 0.25, -0.25, 0.75, 2**23, -126, -127, 128, 127, -150, 4096, 3e38,
], np.float32)  # fmt: skip


def quarters(values: np.ndarray) -> np.ndarray:
    """Return which quarter of a turn they are at; all of `SPECIAL` are at one."""
    return np.rint(4 * np.nan_to_num(values - np.rint(values))).astype(int) & 3


EXPECTED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "v_exp_f32": np.exp2,
    "v_log_f32": np.log2,
    "v_sin_f32": lambda values: np.where(values == 0, values, np.array([0, 1, -0.0, -1])[quarters(values)]),
    "v_cos_f32": lambda values: np.array([1, -0.0, -1, 0])[quarters(values)],
}


def same(results: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return where bits are, or both are NaNs."""
    kind = f"u{results.itemsize}"
    return (results.view(kind) == expected.view(kind)) | (np.isnan(results) & np.isnan(expected))


@pytest.mark.parametrize("rounding", range(4))
@pytest.mark.parametrize("bits", ENGINES)
@pytest.mark.parametrize("name", EXPECTED)
def test_special_values(name: str, bits: int, rounding: int) -> None:
    """Zeros, infinities, NaNs, what over- and underflows, denormals (zeros to this unit), and where results are exact."""
    sources = np.resize(SPECIAL, 128)
    tiny = np.finfo(np.float32).tiny
    with np.errstate(all="ignore"):
        doubles = EXPECTED[name](np.where(np.abs(sources) < tiny, np.copysign(0, sources), sources).astype(np.float64))
        if name in ("v_sin_f32", "v_cos_f32"):
            doubles[~np.isfinite(sources)] = np.nan
        expected = doubles.astype(np.float32)
    overflows = (name == "v_exp_f32") & np.isfinite(sources) & (sources >= 128)
    exact = ((expected == doubles) | np.isnan(doubles)) & ~overflows
    expected = np.where(np.abs(expected) < tiny, np.copysign(np.float32(0), expected), expected)
    right = same(run(name, sources, bits, rounding), expected)
    assert right[exact].all(), sources[exact & ~right]
    assert right.all() or rounding != NEAREST, sources[~right]


@pytest.mark.parametrize("denormals", [0xC0, 0xD0, 0xE0, 0xF0])
@pytest.mark.parametrize("rounding", range(4))
@pytest.mark.parametrize("name", EXPECTED)
def test_engines_agree(name: str, rounding: int, denormals: int) -> None:
    """On sources of any bits, on neighbours of 1 and on small ones, of which some are denormals or become such."""
    random = np.random.default_rng(11)
    sources = random.integers(0, 1 << 32, 1 << 14, np.uint32)
    sources[: 1 << 12] = random.integers(0, 0x01800000, 1 << 12) | random.integers(0, 2, 1 << 12) << 31
    sources[1 << 12 : 1 << 13] = random.integers(0x3F000000, 0x40000000, 1 << 12)
    first, *others = (run(name, sources, bits, rounding, denormals) for bits in ENGINES)
    assert all(np.array_equal(first, other) for other in others)


#: singles whose results are within 2^-36 of their size of halfway between two singles, below or above: rows of the fast engine that
#: polynomials of few terms do not decide
NEARLY_HALFWAY = {
    "v_exp_f32": (0x3DCCDDB7, 0x3DCCFCED, 0x3DCD1F55, 0x3DCDD69C, 0x3DCE4051, 0x3DCF279C),
    "v_log_f32": (0x3DCCDCBC, 0x3DCD2B34, 0x3DCD603D, 0x3DCE43F5, 0x3DCE68F6, 0x3DD00ACB),
    "v_sin_f32": (0x3DCDD8B0, 0x3DCFE0C0, 0x3DD031DB, 0x3DD0F77E, 0x3DD16B1E, 0x3DD27D61),
    "v_cos_f32": (0x3DCDA2DE, 0x3DCE3C02, 0x3DCE4506, 0x3DCF716C, 0x3DCFA5B6, 0x3DD018B7),
}  # fmt: skip


@pytest.mark.parametrize("bits", ENGINES)
@pytest.mark.parametrize("name", NEARLY_HALFWAY)
def test_nearly_halfway(name: str, bits: int) -> None:
    """The exact result decides."""
    function = FUNCTIONS[name][0]
    sources = np.resize(np.array(NEARLY_HALFWAY[name], np.uint32).view(np.float32), 128)
    results = run(name, sources, bits)
    with localcontext(CONTEXT):
        for source, result in zip(sources[: len(NEARLY_HALFWAY[name])], results, strict=False):
            exact = function(Decimal(float(source)))
            below, above = (Decimal(float(number)) for number in np.nextafter(result, np.array([-np.inf, np.inf], np.float32)))
            halfway = min(abs(exact - (Decimal(float(result)) + other) / 2) for other in (below, above))
            assert halfway < abs(exact) * Decimal(2) ** -36
            assert is_rounded(result, exact, NEAREST), source


HALVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "v_exp_f16": np.exp2, "v_log_f16": np.log2, "v_sqrt_f16": np.sqrt,
    "v_sin_f16": lambda values: np.sin(2 * np.pi * (values - np.rint(values))),
    "v_cos_f16": lambda values: np.cos(2 * np.pi * (values - np.rint(values))),
}  # fmt: skip


@pytest.mark.parametrize("bits", ENGINES)
@pytest.mark.parametrize("name", HALVES)
def test_halves(name: str, bits: int) -> None:
    """Every half, as the same function of a double rounds to; at the quarters of a turn pi has too few bits for that."""
    sources = np.arange(1 << 16, dtype=np.uint16)
    values = sources.view(np.float16).astype(np.float64)
    with np.errstate(all="ignore"):
        expected = HALVES[name](values)
        at_zero = np.abs(expected) < 1e-12 if "sin" in name or "cos" in name else np.zeros(len(values), bool)
        expected = np.where(at_zero & (values != 0), 0, expected).astype(np.float16)
    results = run(name, sources.astype(np.uint32), bits).astype(np.uint16).view(np.float16)
    right = same(results, expected) | (at_zero & (results == 0))
    assert right.all(), values[~right][:4]


@pytest.mark.parametrize("rounding", range(4))
def test_exponent_of_infinities_in_halves(rounding: int) -> None:
    """They are no large numbers, which some roundings keep finite."""
    sources = np.resize(np.array([0x7C00, 0xFC00], np.uint32), 128)
    assert np.array_equal(run("v_exp_f16", sources, 0, rounding), np.resize(np.array([0x7C00, 0], np.uint32), 128))
