"""V_DIV_SCALE and V_TRIG_PREOP on every target: the scaling that keeps a division in range, and 53 bits of 2 / pi at a time."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from exact_floats import decode, encode
from machine_code import assemble_object
from test_alu_values import GCN, TARGETS

from pyaco.emu import Device

MNEMONICS = ("v_div_scale_f32", "v_div_scale_f64", "v_trig_preop_f64")
M32, LANES = 0xFFFFFFFF, 64
#: the engines in turn
EACH = [(target, ("reference", "fast")[number % 2]) for number, target in enumerate(TARGETS)]
#: of singles and doubles: bits of the mantissa, the least normal exponent, from which distance on quotients are large, power of the scale
FORMATS = {"f32": (23, -126, 96, 64), "f64": (52, -1022, 768, 128)}


def exponent(value: Fraction) -> int:
    """Of a number in [1, 2) times a power of two."""
    power = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return power - (abs(value) < Fraction(2) ** power)


def scaled(kind: str, wanted: int, denominator: int, numerator: int) -> tuple[int | None, int]:
    """(bits, flag); None stands for a NaN."""
    mantissa, least, far, power = FORMATS[kind]
    d, n = decode(kind, denominator), decode(kind, numerator)
    if d != d or n != n or d in (float("inf"), -float("inf")) or n in (float("inf"), -float("inf")):
        return wanted, 0
    if d == 0 or n == 0:
        return None, 1
    up = encode(kind, Fraction(decode(kind, wanted)) * 2**power)
    down = encode(kind, Fraction(decode(kind, wanted)) / 2**power)
    distance = exponent(Fraction(n)) - exponent(Fraction(d))
    tiny_reciprocal = abs(1 / Fraction(d)) < Fraction(2) ** least
    if distance >= far:
        return (up if wanted == denominator else wanted), 1
    if abs(Fraction(d)) < Fraction(2) ** least:
        return up, 0
    if tiny_reciprocal and distance <= least:
        return (up if wanted == denominator else wanted), 1
    if tiny_reciprocal:
        return down, 0
    if distance <= least:
        return (up if wanted == numerator else wanted), 1
    field = numerator >> mantissa & (0xFF if kind == "f32" else 0x7FF)
    return (up if field <= (23 if kind == "f32" else 53) else wanted), 0


@cache
def two_over_pi() -> int:
    """The first 1400 bits after the point, by Machin's formula."""
    one = 1 << 1500
    def arctangent(inverse: int) -> int:
        term = total = one // inverse
        divisor, sign = 3, -1
        while term:
            term //= inverse * inverse
            total += sign * (term // divisor)
            divisor, sign = divisor + 2, -sign
        return total
    pi = 4 * (4 * arctangent(5) - arctangent(239))
    return (2 * one * (1 << 1400)) // pi


def prepared(bits: int, segment: int) -> int:
    field = bits >> 52 & 0x7FF
    shift = (segment & 31) * 53 + max(field - 1077, 0)
    part = two_over_pi() >> 1400 - shift - 53 & (1 << 53) - 1 if shift + 53 <= 1201 else 0
    return encode("f64", Fraction(part) * Fraction(2) ** (-53 - shift + (128 if field >= 1968 else 0)) if part else 0.0)


def run(target: str, text: str, operands: np.ndarray, engine: str) -> np.ndarray:
    """v[2:3], v[4:5], v[6:7] are the operands of a lane; v[20:21] and v22 are stored."""
    wave = 64 if target in GCN else 32
    late = target not in (*GCN, "gfx1010", "gfx1030")
    load, store = ("global_load_b64", "global_store_b128") if late else ("global_load_dwordx2", "global_store_dwordx4")
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 4, v0", "v_lshlrev_b32 v0, 3, v0", "v_mov_b32 v21, 0", "v_mov_b32 v22, 0"]
    lines += [f"{load} v[{2 + 2 * i}:{3 + 2 * i}], v0, s[0:1] offset:{512 * i}" for i in range(3)]
    lines += ["s_wait_loadcnt 0" if target == "gfx1200" else "s_waitcnt vmcnt(0)", text, f"{store} v1, v[20:23], s[2:3]", "s_endpgm\n"]
    device = Device(target, engine, 1)
    source, output = device.buffer(operands), device.zeros(16 * LANES)
    user = [word for buffer in (source, output) for word in (buffer.address & M32, buffer.address >> 32)]
    device.run(assemble_object("\n".join(lines), target, wave), (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=wave, float_mode=0xF0)
    return output.numpy().view(np.uint32).reshape(LANES, 4)


def pairs(kind: str) -> np.ndarray:
    """Denominators and numerators whose quotients reach all over the range; operand 2 is one of the two, or neither."""
    random = np.random.default_rng(8)
    mantissa, least, _, _ = FORMATS[kind]
    values = random.integers(0, 1 << 63, (3, LANES), dtype=np.uint64) * np.uint64(2)
    chosen = [0, 1, 2, 20, mantissa, mantissa + 1, -least - 60, 1 - least, 60 - least, -2 * least - 2, -2 * least - 1, -2 * least, 1 - 2 * least]
    fields = random.choice(chosen, (2, LANES), p=[0.1] + [0.075] * 12)
    if kind == "f32":
        values >>= np.uint64(32)
    values[:2] = values[:2] & np.uint64((1 << mantissa) - 1 | 1 << (31 if kind == "f32" else 63)) | fields.astype(np.uint64) << np.uint64(mantissa)
    values[:2, 5], values[0, 6] = 0, 0
    values[2] = np.where(np.arange(LANES) % 2, values[0], values[1])
    return values


@pytest.mark.parametrize(("target", "engine"), EACH)
def test_scale_of_a_division(target: str, engine: str) -> None:
    flag = "s[40:41]" if target in GCN else "s40"
    for kind in FORMATS:
        operands = pairs(kind)

        def place(first: int, kind: str = kind) -> str:
            return f"v{first}" if kind == "f32" else f"v[{first}:{first + 1}]"

        text = f"v_div_scale_{kind} {place(20)}, {flag}, {place(6)}, {place(2)}, {place(4)}\nv_cndmask_b32 v22, 0, 1, {flag}"
        got = run(target, text, operands, engine)
        for lane in range(LANES):
            d, n, wanted = (int(word) for word in operands[:, lane])
            bits, marked = scaled(kind, wanted, d, n)
            actual = int(got[lane, 0]) | int(got[lane, 1]) << 32
            right = decode(kind, actual) != decode(kind, actual) if bits is None else actual == bits
            assert right and got[lane, 2] == marked, (kind, lane, hex(wanted), hex(d), hex(n), hex(actual), got[lane, 2], bits, marked)


@pytest.mark.parametrize(("target", "engine"), EACH)
def test_bits_of_two_over_pi(target: str, engine: str) -> None:
    operands = np.random.default_rng(9).integers(0, 1 << 64, (3, LANES), dtype=np.uint64)
    operands[0, :20] = operands[0, :20] & np.uint64(0x800FFFFFFFFFFFFF) | np.uint64(1060 << 52) + (np.arange(20, dtype=np.uint64) << np.uint64(53))
    operands[1] &= np.uint64(31)
    operands[1, :40] %= np.uint64(4)
    got = run(target, "v_trig_preop_f64 v[20:21], v[2:3], v4", operands, engine)
    for lane in range(LANES):
        bits, segment = int(operands[0, lane]), int(operands[1, lane])
        if (bits >> 52 & 0x7FF) == 0x7FF:
            continue
        actual = int(got[lane, 0]) | int(got[lane, 1]) << 32
        assert actual == prepared(bits, segment), (lane, hex(bits), segment, hex(actual), hex(prepared(bits, segment)))
