"""Where values of NIR's ALU opcodes need not be those of Mesa's constant expressions, and why.

Three kinds: operands for which NIR defines nothing (``DEFINED``), results that may differ in a way that is said (``EQUAL``), and expressions
of Mesa that do not compute what their opcode is for (``NOT_COMPARED``).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

LAYOUTS = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}
Operands = list[list[int]]


def number(value: int, bits: int) -> float:
    """The float that bits are."""
    return float(struct.unpack(LAYOUTS[bits][1], struct.pack(LAYOUTS[bits][0], value))[0])


def signed(value: int, bits: int) -> int:
    """The integer that bits are."""
    return value - (1 << bits) if value >> (bits - 1) else value


#: Not what the opcode is for, or undefined behaviour of C.
NOT_COMPARED = {
    **dict.fromkeys([f"bfdot{size}" for size in (2, 3, 4, 5, 8, 16)], "Mesa drops components, and stores the sum as an integer"),
    "imadsh_mix16": "Mesa multiplies by the high half without moving it down, so that the product leaves the word",
}

#: C computes integers of one bit as wider ones, and Mesa takes counts of shifts modulo 8 there: no shader shifts a boolean.
NOT_OF_ONE_BIT = re.compile("ishl|ushr|uro[lr]|sh[lr][gm]_ir3|im(ad|sub)shl_agx|uadd_sat|[iu]sub_sat|iadd_sat|uadd_carry|ufind_msb_rev|"
                            "[iu]bitfield_extract|bitfield_insert|udiv_aligned_4|lea_nv")


# ------------------------------------------------------------------------------------------- operands that have a value
def _not_minus_one(bits: int, o: Operands) -> bool:
    return o[1][0] != (1 << bits) - 1


def _field_fits(bits: int, o: Operands) -> bool:
    offset, width = signed(o[-2][0], 32), signed(o[-1][0], 32)
    # Mesa takes fields of the low word alone.
    return offset >= 0 and width >= 0 and offset + width <= min(bits, 32) and (bits < 64 or len(o) == 3)


def _part_exists(part: int) -> Callable[[int, Operands], bool]:
    return lambda bits, o: o[1][0] < bits // part


def _in_24_bits(is_signed: bool) -> Callable[[int, Operands], bool]:
    low, high = (-(1 << 23), 1 << 23) if is_signed else (0, 1 << 24)
    return lambda bits, o: all(low <= (signed(operand[0], 32) if is_signed else operand[0]) < high for operand in o[:2])


def _converts(is_signed: bool, bits: int) -> Callable[[int, Operands], bool]:
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if is_signed else (0, 1 << bits)
    if bits == 1:
        low, high = (-1, 1) if is_signed else (0, 2)
    return lambda size, o: math.isfinite(number(o[0][0], size)) and low <= math.trunc(number(o[0][0], size)) < high


def _finite_sum(sign: int) -> Callable[[int, Operands], bool]:
    return lambda bits, o: -(1 << (bits - 1)) <= signed(o[0][0], bits) + sign * signed(o[1][0], bits) < 1 << (bits - 1)


def _scaled_is_normal(bits: int, o: Operands) -> bool:
    value = number(o[0][0], bits)
    least, most = {16: (-14, 15), 32: (-126, 127), 64: (-1022, 1023)}[bits]
    if value == 0 or not math.isfinite(value):
        return False
    size = signed(o[1][0], 16 if bits == 16 and o[1][0] < 1 << 16 else 32)
    exponent = math.frexp(value)[1] - 1
    return -1000 < size < 1000 and least <= exponent <= most and least <= exponent + size < most


def _positive_halves(bits: int, o: Operands) -> bool:
    halves = o[0][0] & 0xFFFF, o[0][0] >> 16
    return halves[0] < 0x8000 and not any(math.isnan(number(half, 16)) for half in halves)


def _moderate(limit: float) -> Callable[[int, Operands], bool]:
    return lambda bits, o: all(abs(number(operand[0], bits)) <= limit for operand in o)


#: By pattern of the name, whether operands have a value that both must agree on, and why others have not.
DEFINED: list[tuple[str, Callable[[int, Operands], bool], str]] = [
    ("idiv|irem|imod", _not_minus_one, "the quotient may overflow, which stops Mesa with SIGFPE"),
    ("[iu]bitfield_extract|bitfield_insert", _field_fits, "a field beyond the word is undefined in SPIR-V and GLSL"),
    ("(extract|insert)_[iu]8", _part_exists(8), "there is no such byte"),
    ("(extract|insert)_[iu]16", _part_exists(16), "there is no such half"),
    ("imul24_relaxed", _in_24_bits(True), "operands of relaxed products have 24 bits"),
    ("umul24_relaxed|umad24_relaxed", _in_24_bits(False), "operands of relaxed products have 24 bits"),
    ("extr_agx", lambda bits, o: o[3][0] < 32, "C's shift by 32 and more"),
    ("im(ad|sub)shl_agx", lambda bits, o: o[3][0] <= 4, "the shift is at most 4"),
    ("udiv_aligned_4", lambda bits, o: o[0][0] % 4 == 0, "the operand is a multiple of 4"),
    *((f"f2i{bits}", _converts(True, bits), "conversions saturate here, as AMD's do") for bits in (1, 8, 16, 32, 64)),
    *((f"f2u{bits}", _converts(False, bits), "conversions saturate here, as AMD's do") for bits in (1, 8, 16, 32, 64)),
    ("f2imp", _converts(True, 16), "conversions saturate here, as AMD's do"),
    ("f2ump", _converts(False, 16), "conversions saturate here, as AMD's do"),
    ("iadd_sat", _finite_sum(1), "Mesa's test of overflow is an overflow in C; clamped sums are tested in test_evaluate.py"),
    ("isub_sat", _finite_sum(-1), "Mesa's test of overflow is an overflow in C"),
    ("uadd_sat", lambda bits, o: bits >= 32 or o[0][0] + o[1][0] < 1 << bits, "C promotes small integers to int, where no sum overflows"),
    ("uadd_carry", lambda bits, o: bits >= 32 or o[0][0] + o[1][0] < 1 << bits, "C promotes small integers to int, where no sum overflows"),
    ("ufind_msb_rev", lambda bits, o: bits == 32, "Mesa counts from bit 31 whatever the size"),
    ("udot_(2x16|4x8)_uadd_sat", lambda bits, o: o[2][0] < 1 << 31, "Mesa has the last operand signed; OpUDotAccSat has not"),
    ("fisnormal", lambda bits, o: bits != 16 or (o[0][0] & 0x7C00) != 0, "Mesa asks of the half as a float, where denormals are normal"),
    ("cube_amd", lambda bits, o: not any(math.isnan(number(x, 32)) for x in o[0]), "which face a NaN is in"),
    ("ldexp", _scaled_is_normal, "Mesa makes zeros of results that are not normal numbers"),
    ("ldexp16_pan", lambda bits, o: _scaled_is_normal(16, o), "Mesa makes zeros of results that are not normal numbers"),
    ("f2f16(_rtne)?", lambda bits, o: bits < 64 or not 3e38 < abs(number(o[0][0], 64)) < math.inf, "Mesa has NaN for doubles beyond all floats"),
    ("fmod|frem", lambda bits, o: bits == 32, "each operation rounds halves, as lowered; Mesa rounds quotients of doubles to float"),
    ("f2e4m3fn.*", lambda bits, o: not 0x3C700000 <= o[0][0] & 0x7FFFFFFF < 0x3C800000, "Mesa loses the carry into the least normal number"),
    ("f2e5m2.*", lambda bits, o: not 0x38600000 <= o[0][0] & 0x7FFFFFFF < 0x38800000, "Mesa loses the carry into the least normal number"),
    ("pack_[su]norm_2x16", lambda bits, o: bits > 16, "Mesa rounds the product of halves to a half before it becomes an integer"),
    ("flrp|fdph|fdph_replicated", lambda bits, o: bits > 16, "halves are rounded after each operation, as lowered code does"),
    ("(fsin|fcos)(_amd|_mdg|_agx)?", _moderate(16.0), "Mesa rounds the angle to float first"),
    ("fpow|fexp2", _moderate(30.0), "Mesa computes doubles as floats, which overflow"),
    ("flog2|frsq|frcp|fsqrt",
     lambda bits, o: bits < 64 or 1e-30 < abs(number(o[0][0], bits)) < 1e30, "Mesa computes doubles as floats, which overflow"),
    ("pack_2x16_to_snorm_2x8_v3d", _positive_halves, "the sign of Mesa's low byte covers the high one; its NaNs are 0"),
]  # fmt: skip


def is_defined(name: str, bits: int, operands: Operands) -> bool:
    """Whether NIR says what the value is."""
    if bits == 1 and NOT_OF_ONE_BIT.fullmatch(name):
        return False
    return all(defined(bits, operands) for pattern, defined, _ in DEFINED if re.fullmatch(pattern, name))


# --------------------------------------------------------------------------------------------------- results that agree
def _bfloat(value: int) -> float:
    return number(value << 16, 32)


def _nan_of_eight_bits(value: int, fraction_bits: int) -> bool:
    return value & 0x7F == 0x7F if fraction_bits == 3 else (value & 0x7F) > 0x7C


def _close(relative: float, absolute: float = 0.0) -> Callable[[int, int, int], bool]:
    return lambda mine, mesas, bits: math.isclose(number(mine, bits), number(mesas, bits), rel_tol=relative, abs_tol=absolute)


def _close_by_size(mine: int, mesas: int, bits: int) -> bool:
    return _close({16: 2e-3, 32: 3e-7, 64: 1e-4}[bits], 3e-7 if bits == 64 else 0.0)(mine, mesas, bits)


def _close_sine(mine: int, mesas: int, bits: int) -> bool:
    return _close(0.0, {16: 4e-3, 32: 8e-6, 64: 8e-6}[bits])(mine, mesas, bits)


def _zeros(mine: int, mesas: int, bits: int) -> bool:
    return number(mine, bits) == number(mesas, bits)


def _as_integer(mine: int, mesas: int, bits: int) -> bool:
    """Mesa's table has an integer as the result, to which its expression converts the float; C defines that where it fits."""
    value = number(mine, bits) if bits > 8 else 0.0
    return not math.isfinite(value) or not -1 < value < 2.0 ** (bits - 1) or math.trunc(value) == mesas


#: Relations of two results, either of which may be the opcode's value.
EQUAL: list[tuple[str, Callable[[int, int, int], bool], str]] = [
    ("fsat|fm(in|ax)|fclamp_pos|fsat_signed", _zeros, "the sign of a zero is any of the two"),
    ("fexp2|flog2|fpow|frsq|frcp|fsqrt", _close_by_size, "other library functions, and doubles that Mesa computes as floats"),
    ("(fsin|fcos)(_amd|_mdg|_agx)?", _close_sine, "other library functions, and angles that Mesa rounds"),
    ("bfmul|bffma|f2bf|bfdot.*", lambda a, b, bits: math.isnan(_bfloat(a)) and math.isnan(_bfloat(b)), "one NaN is as good as another"),
    ("f2e4m3fn.*", lambda a, b, bits: _nan_of_eight_bits(a, 3) and _nan_of_eight_bits(b, 3), "one NaN is as good as another"),
    ("f2e5m2.*", lambda a, b, bits: _nan_of_eight_bits(a, 2) and _nan_of_eight_bits(b, 2), "one NaN is as good as another"),
    ("fm(in|ax)_agx|b32fcsel_mdg", _as_integer, "Mesa stores the float in an integer"),
]


def agree(name: str, result_bits: int, is_float: bool, mine: int, mesas: int) -> bool:
    """Whether two results agree: the same, two NaNs, or by a rule."""
    if mine == mesas:
        return True
    if is_float and math.isnan(number(mine, result_bits)) and math.isnan(number(mesas, result_bits)):
        return True
    return any(equal(mine, mesas, result_bits) for pattern, equal, _ in EQUAL if re.fullmatch(pattern, name))
