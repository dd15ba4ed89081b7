"""Transcendental instructions give the single that is nearest to the exact result, which is worked out to 50 digits here."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device

TARGET = "gfx1100"
CONTEXT = Context(prec=50)
COUNT = 4096
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
    "v_exp_f32": (lambda value: Decimal(2) ** value, -6, 6, True),
    "v_log_f32": (lambda value: value.ln() / Decimal(2).ln(), -6, 6, False),
    "v_sin_f32": (lambda value: sine(turns(value)), -20, 12, True),
    "v_cos_f32": (lambda value: sine(turns(value) + PI / 2), -20, 12, True),
    "v_rcp_f32": (lambda value: 1 / value, -125, 125, True),
    "v_rsq_f32": (lambda value: 1 / value.sqrt(), -126, 128, False),
    "v_sqrt_f32": (lambda value: value.sqrt(), -126, 128, False),
}


def run(name: str, sources: np.ndarray, engine: str) -> np.ndarray:
    device = Device(TARGET, engine)
    data = device.buffer(sources)
    device.run(isa.assemble(PROGRAM.format(name=name), TARGET), (len(sources) // 128, 1, 1), (128, 1, 1),
               user_sgprs=(data.address & 0xFFFFFFFF, data.address >> 32), workgroup_ids=(True, False, False))  # fmt: skip
    return data.numpy().view(sources.dtype)


def is_nearest(result: np.float32, exact: Decimal) -> bool:
    """Whether neither neighbour is nearer."""
    error = abs(Decimal(float(result)) - exact)
    neighbours = np.nextafter(result, np.float32([-np.inf, np.inf]))
    return all(error <= abs(Decimal(float(neighbour)) - exact) for neighbour in neighbours)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_nearest(name):
    """The exponent base 2 and the logarithm were singles of the host's library once: some results were the neighbour."""
    function, least, largest, signed = FUNCTIONS[name]
    random = np.random.default_rng(7)
    sources = np.ldexp(random.uniform(1, 2, COUNT), random.integers(least, largest, COUNT)).astype(np.float32)
    sources *= random.choice([-1, 1], COUNT) if signed else 1
    results = run(name, sources, "fast")
    with localcontext(CONTEXT):
        pairs = zip(sources, results, strict=True)
        wrong = [(source, result) for source, result in pairs if not is_nearest(result, function(Decimal(float(source))))]
    assert not wrong, (len(wrong), wrong[:4])


SPECIAL = np.float32([
    0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1, -1, 0.5, -0.5, 0.25, -0.25, 0.75, 2**23, -126, -127, 128, 127, -150, 4096, 3e38,
])  # fmt: skip
EXPECTED = {
    "v_exp_f32": lambda value: np.exp2(value),
    "v_log_f32": lambda value: np.log2(value),
    "v_sin_f32": lambda value: np.where(value == 0, value, np.array([0, 1, 0, -1])[(4 * np.nan_to_num(value - np.rint(value))).astype(int) & 3]),
    "v_cos_f32": lambda value: np.array([1, 0, -1, 0])[(4 * np.nan_to_num(value - np.rint(value))).astype(int) & 3],
}


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("name", EXPECTED)
def test_special_values(name, engine):
    """Zeros, infinities, NaNs, what over- and underflows, denormals (zeros to this unit), and where results are exact."""
    sources = np.resize(SPECIAL, 128)
    tiny = np.finfo(np.float32).tiny
    with np.errstate(all="ignore"):
        expected = EXPECTED[name](np.where(np.abs(sources) < tiny, np.copysign(0, sources), sources).astype(np.float64)).astype(np.float32)
    expected = np.where(np.abs(expected) < tiny, np.copysign(np.float32(0), expected), expected)
    if name in ("v_sin_f32", "v_cos_f32"):
        expected[~np.isfinite(sources)] = np.nan
    results = run(name, sources, engine)
    assert np.array_equal(results, expected, equal_nan=True)


@pytest.mark.parametrize("name", EXPECTED)
def test_engines_agree(name):
    """On sources of any bits."""
    sources = np.random.default_rng(11).integers(0, 1 << 32, 1 << 14, np.uint32)
    assert np.array_equal(run(name, sources, "fast"), run(name, sources, "reference"))


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_halves(engine):
    """Every half, as the same function of a double rounds to."""
    sources = np.arange(1 << 16, dtype=np.uint16)
    values = sources.view(np.float16).astype(np.float64)
    with np.errstate(all="ignore"):
        for name, expected in (("v_exp_f16", np.exp2(values)), ("v_log_f16", np.log2(values)), ("v_sqrt_f16", np.sqrt(values))):
            results = run(name, sources.astype(np.uint32), engine).astype(np.uint16).view(np.float16)
            assert np.array_equal(results, expected.astype(np.float16), equal_nan=True), name
