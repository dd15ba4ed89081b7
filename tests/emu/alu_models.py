"""What each ALU instruction computes, on Python integers and exact rationals, one lane at a time.

``MODELS[name] = Model(sources, results, function)`` by the name in the ISA table. Kinds of sources: uN and iN are integers,
fN floats (given as Python floats, which hold all of them), rN bits of a float, old_* the destination's old value, mask a bit.
The function returns one value for each result; a float result may be a Fraction and is rounded once, by MODE.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from exact_floats import NEAREST, ZERO, Number, decode, encode, is_nan, single, total
from machine_code import EARLY

#: The MODE register's low byte, for the packed halves, which are rounded in their models.
mode = 0xF0
#: Whether packed integers are limited to what their halves hold.
clamps = False
#: Whether 8-bit floats are CDNA 3's: one NaN (0x80), no infinity, no -0, biases one more.
fnuz = False
#: Whether fractions may round to 1 (GFX6).
whole_fractions = False
#: Whether conversions of halves keep denormals whatever MODE says (GFX6, GFX7).
keeps_halves = False
MAX32, MAX64 = 3.4028234663852886e38, 1.7976931348623157e308
M16, M32, M64 = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


@dataclass
class Model:
    sources: tuple[str, ...]
    results: tuple[str, ...]
    function: Callable[..., Any]
    ulp: float = 0.0                  # 0: exact
    text: str = ""                    # operands of the text, {d} {a} {b} {c}, where they are not the usual
    uses_rounding: bool = False       # the function takes the rounding mode as well


MODELS: dict[str, Model] = {}


def set_machine(target: str, mode_register: int) -> None:
    """Set what models depend on besides their operands: the chip and MODE."""
    global mode, fnuz, whole_fractions, keeps_halves
    mode, fnuz, whole_fractions, keeps_halves = mode_register, target == "gfx942", target == "gfx600", target in EARLY


def obeyed_mode(name: str, mode_register: int) -> int:
    """What MODE is to an instruction."""
    return mode_register | 0xC0 if keeps_halves and name in ("v_cvt_f16_f32", "v_cvt_f32_f16") else mode_register


def define(names: str, sources: str, results: str, function: Callable[..., Any], **more: Any) -> None:
    for name in names.split():
        MODELS[name] = Model(tuple(sources.split()), tuple(results.split()), function, **more)


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def clamp(value: Any, low: Any, high: Any) -> Any:
    return max(low, min(high, value))


def to_integer(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    return high if value >= high else low if value <= low else math.trunc(value)


def leading(value: int, bits: int) -> int:
    return bits - value.bit_length() if value else M32


def trailing(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else M32


def same_signs(value: int, bits: int) -> int:
    return M32 if value in (0, -1) else bits - (value if value > 0 else ~value).bit_length()


def field(value: int, first: int, width: int) -> int:
    return value >> first & (1 << width) - 1


def signed_field(value: int, first: int, width: int) -> int:
    return signed(field(value, first, width), width) if width else 0


def bytes_of(value: int) -> list[int]:
    return [value >> shift & 255 for shift in (0, 8, 16, 24)]


def join(values: list[int], width: int) -> int:
    return sum((value & (1 << width) - 1) << index * width for index, value in enumerate(values))


# ------------------------------------------------------------------------------------------------------------- floats
def integral(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda a: a if not math.isfinite(a) or a == 0 else math.copysign(float(function(a)), a)


def fraction_part(precision: int) -> Callable[[float], Any]:
    def fract(a: float) -> Any:
        if not math.isfinite(a):
            return math.nan
        if a == math.floor(a):
            return 0.0
        fraction = Fraction(a) - math.floor(a)
        return fraction if whole_fractions else min(fraction, 1 - Fraction(1, 1 << precision))
    return fract


def least(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b == 0:
        return a if math.copysign(1, a) < 0 else b
    return min(a, b)


def most(a: float, b: float) -> float:
    return -least(-a, -b)


def minimum(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else least(a, b)


def maximum(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else most(a, b)


def median(a: float, b: float, c: float) -> float:
    if any(map(math.isnan, (a, b, c))):
        return least(least(a, b), c)
    largest = most(most(a, b), c)
    return most(b, c) if largest == a else most(a, c) if largest == b else most(a, b)


def rounded_product(kind: str) -> Callable[..., Any]:
    """a b, rounded and flushed, plus c: the multiply-add that is not fused."""
    def function(a: float, b: float, c: float, rounding: int = NEAREST) -> Any:
        bits = encode(kind, total([(a, b)], rounding), rounding, flush=kind == "f32")
        return total([(decode(kind, bits), 1.0), (c, 1.0)], rounding)
    return function


def ldexp(a: float, b: int) -> Any:
    return a if not math.isfinite(a) or a == 0 else Fraction(a) * Fraction(2) ** clamp(b, -3000, 3000)


def class_of(kind: str) -> Callable[[int, int], int]:
    precision, size = {"f16": (11, 16), "f32": (24, 32), "f64": (53, 64)}[kind]

    def member(bits: int, mask: int) -> int:
        fraction, exponent = bits & (1 << precision - 1) - 1, bits >> precision - 1 & (1 << size - precision) - 1
        negative = bits >> size - 1
        if exponent == (1 << size - precision) - 1:
            number = (1 if fraction >> precision - 2 else 0) if fraction else 2 if negative else 9
        elif exponent:
            number = 3 if negative else 8
        elif fraction:
            number = 4 if negative else 7
        else:
            number = 5 if negative else 6
        return mask >> number & 1
    return member


def no_exception(function: Callable[..., float]) -> Callable[..., float]:
    def safe(*operands: float) -> float:
        try:
            return function(*operands)
        except (ValueError, OverflowError):
            return math.nan
    return safe


def flushing(function: Callable[[float], float]) -> Callable[[float], float]:
    """The single-precision unit of transcendentals takes denormals for zeros whatever MODE says."""
    return lambda a: function(math.copysign(0.0, a) if abs(a) < 2.0**-126 else a)


def reciprocal(a: float) -> float:
    return math.copysign(math.inf, a) if a == 0 else math.copysign(0.0, a) if math.isinf(a) else 1 / a


def exponential(a: float) -> float:
    return math.nan if math.isnan(a) else math.inf if a > 1100 else 0.0 if a < -1100 else 2.0**a


def logarithm(a: float) -> float:
    return -math.inf if a == 0 else math.nan if a < 0 else math.log2(a) if math.isfinite(a) else a


def inverse_root(a: float) -> float:
    return math.copysign(math.inf, a) if a == 0 else 0.0 if a == math.inf else 1 / math.sqrt(a)


def finite(function: Callable[[float], float], largest: float) -> Callable[[float], float]:
    return lambda a: clamp(function(a), -largest, largest) if not math.isnan(function(a)) else math.nan


def finite_logarithm(a: float) -> float:
    return -MAX32 if a == 0 else logarithm(a)


def without_infinities(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: math.copysign(0.0, a) if math.isinf(function(a)) else function(a)


def sine(a: float) -> float:
    return math.nan if not math.isfinite(a) else math.sin(2 * math.pi * math.fmod(a, 1.0))


def cosine(a: float) -> float:
    return math.nan if not math.isfinite(a) else math.cos(2 * math.pi * math.fmod(a, 1.0))


def cube(select: Callable[[int, float, float, float], Number]) -> Callable[..., Number]:
    """The face's number: 2 * axis + (the coordinate along it is negative); ties prefer z, then y."""
    def function(x: float, y: float, z: float) -> Number:
        axis = 2 if abs(z) >= abs(x) and abs(z) >= abs(y) else 1 if abs(y) >= abs(x) else 0
        return select(2 * axis + ((x, y, z)[axis] < 0), x, y, z)
    return function


for kind in ("f16", "f32", "f64"):
    unary: dict[str, Callable[[float], int]] = {"trunc": math.trunc, "ceil": math.ceil, "floor": math.floor, "rndne": round}
    for name, function in unary.items():
        define(f"v_{name}_{kind} s_{name}_{kind}", kind, kind, integral(function))
    define(f"v_fract_{kind}", kind, kind, fraction_part({"f16": 11, "f32": 24, "f64": 53}[kind]))
    define(f"v_frexp_mant_{kind}", kind, kind, lambda a: math.frexp(a)[0] if math.isfinite(a) else a)
    define(f"v_rcp_{kind}", kind, kind, flushing(reciprocal) if kind == "f32" else reciprocal, ulp=2.0 if kind == "f64" else 1.0)
    root, inverse = no_exception(math.sqrt), no_exception(inverse_root)
    single_ = flushing if kind == "f32" else lambda function: function
    define(f"v_sqrt_{kind}", kind, kind, single_(root), ulp=2.0 if kind == "f64" else 1.0)
    define(f"v_rsq_{kind}", kind, kind, single_(inverse), ulp=2.0 if kind == "f64" else 1.0)
    pair, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
    define(f"v_add_{kind} v_dual_add_{kind} s_add_{kind}", pair, kind,
           lambda a, b, r: total([(a, 1.0), (b, 1.0)], r), uses_rounding=True)
    define(f"v_sub_{kind} v_dual_sub_{kind} s_sub_{kind}", pair, kind,
           lambda a, b, r: total([(a, 1.0), (-b, 1.0)], r), uses_rounding=True)
    define(f"v_subrev_{kind} v_dual_subrev_{kind}", pair, kind,
           lambda a, b, r: total([(-a, 1.0), (b, 1.0)], r), uses_rounding=True)
    define(f"v_mul_{kind} v_dual_mul_{kind} s_mul_{kind}", pair, kind, lambda a, b, r: total([(a, b)], r), uses_rounding=True)
    define(f"v_fma_{kind}", three, kind, lambda a, b, c, r: total([(a, b), (c, 1.0)], r), uses_rounding=True)
    define(f"v_min_{kind} v_dual_min_{kind} s_min_{kind}", pair, kind, least)
    define(f"v_max_{kind} v_dual_max_{kind} s_max_{kind}", pair, kind, most)
    define(f"v_minimum_{kind} s_minimum_{kind}", pair, kind, minimum)
    define(f"v_maximum_{kind} s_maximum_{kind}", pair, kind, maximum)
    define(f"v_min3_{kind}", three, kind, lambda a, b, c: least(least(a, b), c))
    define(f"v_max3_{kind}", three, kind, lambda a, b, c: most(most(a, b), c))
    define(f"v_med3_{kind}", three, kind, median)
    define(f"v_minimum3_{kind}", three, kind, lambda a, b, c: minimum(minimum(a, b), c))
    define(f"v_maximum3_{kind}", three, kind, lambda a, b, c: maximum(maximum(a, b), c))
    define(f"v_minimummaximum_{kind}", three, kind, lambda a, b, c: maximum(minimum(a, b), c))
    define(f"v_maximumminimum_{kind}", three, kind, lambda a, b, c: minimum(maximum(a, b), c))
    define(f"v_minmax_{kind}", three, kind, lambda a, b, c: most(least(a, b), c))
    define(f"v_maxmin_{kind}", three, kind, lambda a, b, c: least(most(a, b), c))
    define(f"v_cmp_class_{kind} v_cmpx_class_{kind}", f"r{kind[1:]} {'u16' if kind == 'f16' else 'u32'}", "mask", class_of(kind))

define("v_fmac_f64", "f64 f64 old_f64", "f64", lambda a, b, c, r: total([(a, b), (c, 1.0)], r), uses_rounding=True)
for kind, literal in (("f32", 0x40490FDB), ("f16", 0x4248)):
    constant, three = decode(kind, literal), f"{kind} {kind} {kind}"
    fused = lambda a, b, c, r: total([(a, b), (c, 1.0)], r)  # noqa: E731
    define(f"v_fmac_{kind} v_dual_fmac_{kind} s_fmac_{kind}", f"{kind} {kind} old_{kind}", kind, fused, uses_rounding=True)
    define(f"v_fmaak_{kind} v_dual_fmaak_{kind} s_fmaak_{kind}", f"{kind} {kind}", kind,
           lambda a, b, r, c=constant: total([(a, b), (c, 1.0)], r), text=f"{{d}}, {{a}}, {{b}}, {literal:#x}", uses_rounding=True)
    define(f"v_fmamk_{kind} v_dual_fmamk_{kind} s_fmamk_{kind}", f"{kind} {kind}", kind,
           lambda a, b, r, c=constant: total([(a, c), (b, 1.0)], r), text=f"{{d}}, {{a}}, {literal:#x}, {{b}}", uses_rounding=True)
    mad = rounded_product(kind)
    define(f"v_mad_{kind}", three, kind, mad, uses_rounding=True)
    define(f"v_mac_{kind}", f"{kind} {kind} old_{kind}", kind, mad, uses_rounding=True)
    define(f"v_madak_{kind}", f"{kind} {kind}", kind, lambda a, b, r, c=constant, mad=mad: mad(a, b, c, r),
           text=f"{{d}}, {{a}}, {{b}}, {literal:#x}", uses_rounding=True)
    define(f"v_madmk_{kind}", f"{kind} {kind}", kind, lambda a, b, r, c=constant, mad=mad: mad(a, c, b, r),
           text=f"{{d}}, {{a}}, {literal:#x}, {{b}}", uses_rounding=True)
define("v_mad_legacy_f16", "f16 f16 f16", "f16", rounded_product("f16"), uses_rounding=True)
define("v_fma_legacy_f16", "f16 f16 f16", "f16", lambda a, b, c, r: total([(a, b), (c, 1.0)], r), uses_rounding=True)

# zero times anything is +0
define("v_mul_legacy_f32 v_mul_legacy_f32_e64 v_dual_mul_dx9_zero_f32", "f32 f32", "f32",
       lambda a, b, r: 0.0 if a == 0 or b == 0 else total([(a, b)], r), uses_rounding=True)
define("v_fma_legacy_f32", "f32 f32 f32", "f32",
       lambda a, b, c, r: total([(0.0, 1.0), (c, 1.0)], r) if a == 0 or b == 0 else total([(a, b), (c, 1.0)], r), uses_rounding=True)
define("v_fmac_legacy_f32", "f32 f32 old_f32", "f32",
       lambda a, b, c, r: total([(0.0, 1.0), (c, 1.0)], r) if a == 0 or b == 0 else total([(a, b), (c, 1.0)], r), uses_rounding=True)
define("v_mad_legacy_f32", "f32 f32 f32", "f32",
       lambda a, b, c, r: rounded_product("f32")(0.0 if a == 0 or b == 0 else a, 0.0 if a == 0 or b == 0 else b, c, r),
       uses_rounding=True)
define("v_log_clamp_f32", "f32", "f32", no_exception(flushing(finite_logarithm)), ulp=1.0)
define("v_rcp_clamp_f32", "f32", "f32", flushing(finite(reciprocal, MAX32)), ulp=1.0)
define("v_rcp_legacy_f32", "f32", "f32", flushing(without_infinities(reciprocal)), ulp=1.0)
define("v_rsq_clamp_f32", "f32", "f32", flushing(finite(no_exception(inverse_root), MAX32)), ulp=1.0)
define("v_rsq_legacy_f32", "f32", "f32", flushing(without_infinities(no_exception(inverse_root))), ulp=1.0)
define("v_rcp_clamp_f64", "f64", "f64", finite(no_exception(reciprocal), MAX64), ulp=2.0)
define("v_rsq_clamp_f64", "f64", "f64", finite(no_exception(inverse_root), MAX64), ulp=2.0)
define("v_min_legacy_f32", "f32 f32", "f32", lambda a, b: a if a < b else b)
define("v_max_legacy_f32", "f32 f32", "f32", lambda a, b: a if a >= b else b)
define("v_mac_legacy_f32", "f32 f32 old_f32", "f32",
       lambda a, b, c, r: rounded_product("f32")(0.0 if a == 0 or b == 0 else a, 0.0 if a == 0 or b == 0 else b, c, r),
       uses_rounding=True)

define("v_rcp_iflag_f32 v_s_rcp_f32", "f32", "f32", flushing(reciprocal), ulp=1.0)
for kind in ("f16", "f32"):
    names = f"v_exp_{kind} v_s_exp_{kind}" + (" v_exp_legacy_f32" if kind == "f32" else "")
    define(names, kind, kind, flushing(exponential) if kind == "f32" else exponential, ulp=1.0)
    names = f"v_log_{kind} v_s_log_{kind}" + (" v_log_legacy_f32" if kind == "f32" else "")
    define(names, kind, kind, flushing(logarithm) if kind == "f32" else logarithm, ulp=1.0)
    define(f"v_sin_{kind}", kind, kind, sine, ulp=2.0)
    define(f"v_cos_{kind}", kind, kind, cosine, ulp=2.0)
    define(f"v_s_sqrt_{kind}", kind, kind, flushing(no_exception(math.sqrt)) if kind == "f32" else no_exception(math.sqrt), ulp=1.0)
    define(f"v_s_rsq_{kind}", kind, kind, flushing(no_exception(inverse_root)) if kind == "f32" else no_exception(inverse_root), ulp=1.0)
define("v_s_rcp_f16", "f16", "f16", reciprocal, ulp=1.0)

exponent = lambda a: math.frexp(a)[1] if math.isfinite(a) else 0  # noqa: E731
define("v_frexp_exp_i32_f64", "f64", "u32", exponent)
define("v_frexp_exp_i32_f32", "f32", "u32", exponent)
define("v_frexp_exp_i16_f16", "f16", "u16", exponent)
define("v_ldexp_f16", "f16 i16", "f16", ldexp)
define("v_ldexp_f32", "f32 i32", "f32", ldexp)
define("v_ldexp_f64", "f64 i32", "f64", ldexp)
define("v_cubeid_f32", "f32 f32 f32", "f32", cube(lambda face, x, y, z: float(face)))
define("v_cubesc_f32", "f32 f32 f32", "f32", cube(lambda face, x, y, z: (-z, z, x, x, x, -x)[face]))
define("v_cubetc_f32", "f32 f32 f32", "f32", cube(lambda face, x, y, z: (-y, -y, z, -z, -y, -y)[face]))
define("v_cubema_f32", "f32 f32 f32", "f32", cube(lambda face, x, y, z: 2 * Fraction((x, y, z)[face // 2]) if math.isfinite(
    (x, y, z)[face // 2]) and (x, y, z)[face // 2] else (x, y, z)[face // 2]))


def mullit(a: float, b: float, c: float, rounding: int) -> Any:
    lowest = -3.4028234663852886e38
    if b in (lowest, -math.inf) or math.isnan(b) or math.isnan(c) or c <= 0:
        return lowest
    return total([(a, b)], rounding)


define("v_mullit_f32", "f32 f32 f32", "f32", mullit, uses_rounding=True)


def division_fixup(kind: str) -> Callable[..., float]:
    def fixup(quotient: float, denominator: float, numerator: float) -> float:
        sign = math.copysign(1, denominator) * math.copysign(1, numerator)
        if math.isnan(numerator) or math.isnan(denominator):
            return math.nan
        if (denominator == 0 and numerator == 0) or (math.isinf(denominator) and math.isinf(numerator)):
            return math.nan
        if denominator == 0 or math.isinf(numerator):
            return sign * math.inf
        if math.isinf(denominator) or numerator == 0:
            return sign * 0.0
        distance = math.frexp(numerator)[1] - math.frexp(denominator)[1]
        if distance < {"f16": -25, "f32": -150, "f64": -1075}[kind]:
            return sign * 0.0
        return sign * (math.inf if math.isnan(quotient) else abs(quotient))
    return fixup


for kind in ("f16", "f32", "f64"):
    define(f"v_div_fixup_{kind}", f"{kind} {kind} {kind}", kind, division_fixup(kind))
define("v_div_fixup_legacy_f16", "f16 f16 f16", "f16", division_fixup("f16"))


def division_fmas(amount: int) -> Callable[..., Any]:
    kind = "f32" if amount == 64 else "f64"

    def fmas(a: float, b: float, c: float, undo: int, rounding: int = NEAREST) -> Any:
        value = total([(a, b), (c, 1.0)], rounding)
        if not undo or isinstance(value, float):
            return value
        rounded = decode(kind, encode(kind, value, rounding))
        scale = amount if math.isfinite(c) and math.frexp(c)[1] > 1 else -amount
        return rounded if not math.isfinite(rounded) or rounded == 0 else Fraction(rounded) * Fraction(2) ** scale
    return fmas


define("v_div_fmas_f32", "f32 f32 f32 vcc", "f32", division_fmas(64), uses_rounding=True)
define("v_div_fmas_f64", "f64 f64 f64 vcc", "f64", division_fmas(128), uses_rounding=True)

# -------------------------------------------------------------------------------------------------------- conversions
for source in ("i32", "u32"):
    define(f"v_cvt_f32_{source} s_cvt_f32_{source}", source, "f32", Fraction)
    define(f"v_cvt_f64_{source}", source, "f64", Fraction)
    low, high = (-(1 << 31), (1 << 31) - 1) if source == "i32" else (0, M32)
    define(f"v_cvt_{source}_f32 s_cvt_{source}_f32", "f32", "u32", lambda a, low=low, high=high: to_integer(a, low, high))
    define(f"v_cvt_{source}_f64", "f64", "u32", lambda a, low=low, high=high: to_integer(a, low, high))
for source in ("i16", "u16"):
    define(f"v_cvt_f16_{source}", source, "f16", Fraction)
    low, high = (-(1 << 15), (1 << 15) - 1) if source == "i16" else (0, M16)
    define(f"v_cvt_{source}_f16", "f16", "u16", lambda a, low=low, high=high: to_integer(a, low, high))
define("v_cvt_f32_f64", "f64", "f32", float)
define("v_cvt_f64_f32", "f32", "f64", float)
define("v_cvt_f32_bf16", "u16", "f32", lambda a: decode("bf16", a))
define("v_cvt_pk_f16_f32", "f32 f32", "f16x2", lambda a, b: encode("f16", a) | encode("f16", b) << 16)
define("v_cvt_pk_bf16_f32", "f32 f32", "bf16x2", lambda a, b: encode("bf16", a) | encode("bf16", b) << 16)
for name, low, high in (("v_ashr_pk_i8_i32", -128, 127), ("v_ashr_pk_u8_i32", 0, 255)):
    define(name, "i32 i32 u32", "u16",
           lambda a, b, c, low=low, high=high: join([clamp(value >> (c & 31), low, high) for value in (a, b)], 8))
define("v_cvt_f16_f32 s_cvt_f16_f32", "f32", "f16", float)
define("v_cvt_f32_f16 s_cvt_f32_f16", "f16", "f32", float)
define("s_cvt_hi_f32_f16", "u32", "f32", lambda a: decode("f16", a >> 16))
define("v_cvt_rpi_i32_f32", "f32", "u32",
       lambda a: to_integer(float(math.floor(Fraction(a) + Fraction(1, 2))) if math.isfinite(a) else a, -(1 << 31), (1 << 31) - 1))
define("v_cvt_flr_i32_f32", "f32", "u32",
       lambda a: to_integer(float(math.floor(a)) if math.isfinite(a) else a, -(1 << 31), (1 << 31) - 1))
define("v_cvt_off_f32_i4", "u32", "f32", lambda a: Fraction(signed(a, 4), 16))
for index in range(4):
    define(f"v_cvt_f32_ubyte{index}", "u32", "f32", lambda a, index=index: Fraction(a >> 8 * index & 255))
define("v_cvt_i32_i16", "i16", "u32", lambda a: a)
define("v_cvt_u32_u16", "u16", "u32", lambda a: a)
define("v_sat_pk_u8_i16", "u32", "u16", lambda a: clamp(signed(a, 16), 0, 255) | clamp(signed(a >> 16, 16), 0, 255) << 8)


def normalized(low: int, high: int) -> Callable[[float], int]:
    return lambda a: 0 if math.isnan(a) else round(Fraction(max(low, min(1, a))) * high) & M16


for kind in ("f16", "f32"):
    for sign, low, high in (("i", -1, 32767), ("u", 0, 65535)):
        convert = normalized(low, high)
        if kind == "f16":
            define(f"v_cvt_norm_{sign}16_f16", "f16", "u16", convert)
        define(f"v_cvt_pknorm_{sign}16_{kind}", f"{kind} {kind}", "u32", lambda a, b, convert=convert: convert(a) | convert(b) << 16)
define("v_cvt_pk_u16_u32", "u32 u32", "u32", lambda a, b: min(a, M16) | min(b, M16) << 16)
define("v_cvt_pk_i16_i32", "i32 i32", "u32", lambda a, b: join([clamp(a, -32768, 32767), clamp(b, -32768, 32767)], 16))
define("v_cvt_pk_i16_f32", "f32 f32", "u32", lambda a, b: join([to_integer(a, -32768, 32767), to_integer(b, -32768, 32767)], 16))
define("v_cvt_pk_u16_f32", "f32 f32", "u32", lambda a, b: join([to_integer(a, 0, M16), to_integer(b, 0, M16)], 16))
define("v_cvt_pkrtz_f16_f32 v_cvt_pkrtz_f16_f32_e64 s_cvt_pk_rtz_f16_f32", "f32 f32", "f16x2",
       lambda a, b: encode("f16", a, ZERO) | encode("f16", b, ZERO) << 16)


def byte_of_float(a: float) -> int:
    return 0 if math.isnan(a) else 255 if a > 255 else 0 if a < 0 else round(a)


define("v_cvt_pk_u8_f32", "f32 u32 u32", "u32",
       lambda a, b, c: c & ~(255 << 8 * (b & 3)) & M32 | min(255, byte_of_float(a)) << 8 * (b & 3))
define("v_cvt_pkaccum_u8_f32", "f32 u32 old_u32", "u32",
       lambda a, b, c: c & ~(255 << 8 * (b & 3)) & M32 | min(255, byte_of_float(a)) << 8 * (b & 3), text="{d}, {a}, {b}")

# FP8: 4 bits of exponent, one NaN, no infinity; BF8: the top of a half
SMALL = {"fp8": (4, 3, 7), "bf8": (5, 2, 15)}


def decode_small(kind: str, code: int) -> float:
    exponent_bits, mantissa_bits, bias = SMALL[kind]
    bias += fnuz
    exponent, mantissa = code >> mantissa_bits & (1 << exponent_bits) - 1, code & (1 << mantissa_bits) - 1
    sign = -1.0 if code & 128 else 1.0
    if code == 128 if fnuz else kind == "fp8" and code & 127 == 127:
        return math.nan
    if kind == "bf8" and exponent == 31 and not fnuz:
        return math.nan if mantissa else sign * math.inf
    fraction = mantissa / (1 << mantissa_bits)
    return sign * (2.0 ** (1 - bias) * fraction if exponent == 0 else 2.0 ** (exponent - bias) * (1 + fraction))


@cache
def ordered(kind: str, fnuz: bool) -> list[float]:
    """The finite magnitudes, ascending."""
    return [decode_small(kind, code) for code in range(128 if fnuz else 127 if kind == "fp8" else 124)]


def encode_small(kind: str, value: float) -> int:
    """The nearest code, ties to the even one; what lies beyond the largest by half a step or more is NaN or infinity."""
    sign = 128 if math.copysign(1, value) < 0 else 0
    if math.isnan(value):
        return 128 if fnuz else -1                          # some NaN
    beyond = 128 if fnuz else 127 if kind == "fp8" else 124
    values = ordered(kind, fnuz)
    size = abs(value)
    limit = values[-1] + (values[-1] - values[-2]) / 2
    if size > limit or (size == limit and len(values) % 2 == 0):
        return sign | beyond
    best = min(range(len(values)), key=lambda code: (abs(values[code] - size), code & 1))
    return best if fnuz and best == 0 else sign | best


for kind in SMALL:
    define(f"v_cvt_f32_{kind}", "u32", "f32", lambda a, kind=kind: decode_small(kind, a & 255))
    define(f"v_cvt_pk_f32_{kind}", "u16", "f32x2", lambda a, kind=kind: join(
        [encode("f32", decode_small(kind, a & 255)), encode("f32", decode_small(kind, a >> 8))], 32))
    define(f"v_cvt_pk_{kind}_f32", "f32 f32", f"{kind}x2", lambda a, b, kind=kind: (encode_small(kind, a), encode_small(kind, b)))
    for other in SMALL:
        def dot4(a: int, b: int, c: float, rounding: int, kind: str = kind, other: str = other) -> Any:
            for x, y in zip(bytes_of(a), bytes_of(b), strict=True):
                c = single(total([(decode_small(kind, x), decode_small(other, y)), (c, 1.0)], rounding), rounding)
            return c
        define(f"v_dot4_f32_{kind}_{other}", "u32 u32 f32", "f32", dot4, uses_rounding=True)


def stochastic(kind: str, shift: int) -> Callable[..., Any]:
    def convert(a: int, b: int, old: int) -> Any:
        if is_nan("f32", a):
            return None                                     # which NaN is not documented
        code = encode_small(kind, decode("f32", a & 0xFF800000 | (a + (b >> shift)) & 0x7FFFFF))
        return None if code < 0 else old & ~255 & M32 | code
    return convert


define("v_cvt_sr_fp8_f32", "r32 u32 old_u32", "u32", stochastic("fp8", 12), text="{d}, {a}, {b}")
define("v_cvt_sr_bf8_f32", "r32 u32 old_u32", "u32", stochastic("bf8", 11), text="{d}, {a}, {b}")


# ------------------------------------------------------------------------------------------------------------ integers
def binary(name: str, sources: str, results: str, function: Callable[..., Any], **more: Any) -> None:
    define(name, sources, results, function, **more)


for name in ("v_mov_b32 v_dual_mov_b32", "s_mov_b32"):
    define(name, "u32", "u32", lambda a: a)
define("s_mov_b64 v_mov_b64", "u64", "u64", lambda a: a)
# through an AGPR, which nothing else reads
define("v_accvgpr_write_b32", "u32", "u32", lambda a: a, text="a1, {a}\nv_accvgpr_read_b32 {d}, a1")
define("v_accvgpr_read_b32", "u32", "u32", lambda a: a, text="{d}, a2\nv_accvgpr_write_b32 a3, {a}\nv_accvgpr_read_b32 {d}, a3")
define("v_accvgpr_mov_b32", "u32", "u32", lambda a: a,
       text="a5, a6\nv_accvgpr_write_b32 a255, {a}\nv_accvgpr_mov_b32 a7, a255\nv_accvgpr_read_b32 {d}, a7")
define("v_mov_b16", "u16", "u16", lambda a: a)
define("v_not_b32", "u32", "u32", lambda a: ~a)
define("v_not_b16", "u16", "u16", lambda a: ~a)
define("v_bfrev_b32 s_brev_b32", "u32", "u32", lambda a: int(f"{a:032b}"[::-1], 2))
define("s_brev_b64", "u64", "u64", lambda a: int(f"{a:064b}"[::-1], 2))
define("v_ffbh_u32 s_flbit_i32_b32", "u32", "u32", lambda a: leading(a, 32))
define("s_flbit_i32_b64", "u64", "u32", lambda a: leading(a, 64))
define("v_ffbl_b32 s_ff1_i32_b32", "u32", "u32", trailing)
define("s_ff1_i32_b64", "u64", "u32", trailing)
define("s_ff0_i32_b32", "u32", "u32", lambda a: trailing(~a & M32))
define("s_ff0_i32_b64", "u64", "u32", lambda a: trailing(~a & M64))
define("v_ffbh_i32 s_flbit_i32", "i32", "u32", lambda a: same_signs(a, 32))
define("s_flbit_i32_i64", "i64", "u32", lambda a: same_signs(a, 64))
define("v_cndmask_b32 v_dual_cndmask_b32", "u32 u32 mask", "u32", lambda a, b, c: b if c else a)
define("v_cndmask_b16", "u16 u16 mask", "u16", lambda a, b, c: b if c else a)
define("v_add_u32 v_dual_add_nc_u32", "u32 u32", "u32", lambda a, b: a + b)
define("v_sub_u32", "u32 u32", "u32", lambda a, b: a - b)
define("v_subrev_u32", "u32 u32", "u32", lambda a, b: b - a)
define("v_add_i32", "i32 i32", "u32", lambda a, b: a + b)
define("v_sub_i32", "i32 i32", "u32", lambda a, b: a - b)
for suffix in ("", "_e64"):
    define(f"v_add_co_u32{suffix}", "u32 u32", "u32 mask", lambda a, b: (a + b, a + b >> 32))
    define(f"v_sub_co_u32{suffix}", "u32 u32", "u32 mask", lambda a, b: (a - b, b > a))
    define(f"v_subrev_co_u32{suffix}", "u32 u32", "u32 mask", lambda a, b: (b - a, a > b))
    define(f"v_add_u16{suffix}", "u16 u16", "u16", lambda a, b: a + b)
    define(f"v_sub_u16{suffix}", "u16 u16", "u16", lambda a, b: a - b)
    define(f"v_subrev_u16{suffix}", "u16 u16", "u16", lambda a, b: b - a)
    define(f"v_mul_lo_u16{suffix}", "u16 u16", "u16", lambda a, b: a * b)
    define(f"v_lshlrev_b16{suffix}", "u16 u16", "u16", lambda a, b: b << (a & 15))
    define(f"v_lshrrev_b16{suffix}", "u16 u16", "u16", lambda a, b: b >> (a & 15))
    define(f"v_ashrrev_i16{suffix}", "u16 i16", "u16", lambda a, b: b >> (a & 15))
    for sign in "iu":
        define(f"v_max_{sign}16{suffix}", f"{sign}16 {sign}16", "u16", max)
        define(f"v_min_{sign}16{suffix}", f"{sign}16 {sign}16", "u16", min)
define("v_add_i16", "i16 i16", "u16", lambda a, b: a + b)
define("v_sub_i16", "i16 i16", "u16", lambda a, b: a - b)
define("v_addc_co_u32", "u32 u32 mask", "u32 mask", lambda a, b, c: (a + b + c, a + b + c >> 32))
define("v_subb_co_u32", "u32 u32 mask", "u32 mask", lambda a, b, c: (a - b - c, b + c > a))
define("v_subbrev_co_u32", "u32 u32 mask", "u32 mask", lambda a, b, c: (b - a - c, a + c > b))
define("v_mul_i32_i24", "u32 u32", "u32", lambda a, b: signed(a, 24) * signed(b, 24))
define("v_mul_hi_i32_i24", "u32 u32", "u32", lambda a, b: signed(a, 24) * signed(b, 24) >> 32)
define("v_mul_u32_u24", "u32 u32", "u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF))
define("v_mul_hi_u32_u24", "u32 u32", "u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32)
define("v_mad_i32_i24", "u32 u32 i32", "u32", lambda a, b, c: signed(a, 24) * signed(b, 24) + c)
define("v_mad_u32_u24", "u32 u32 u32", "u32", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c)
define("v_mul_lo_u32 v_mul_lo_i32", "u32 u32", "u32", lambda a, b: a * b)
define("v_mul_hi_u32", "u32 u32", "u32", lambda a, b: a * b >> 32)
define("v_mul_hi_i32", "i32 i32", "u32", lambda a, b: a * b >> 32)
define("v_mad_u64_u32", "u32 u32 u64", "u64 mask", lambda a, b, c: (a * b + c, a * b + c >> 64))
define("v_mad_i64_i32", "i32 i32 i64", "u64 mask", lambda a, b, c: (a * b + c, not -(1 << 63) <= a * b + c < 1 << 63))
for bits in (16, 32):
    for sign in "iu":
        kind, result = f"{sign}{bits}", f"u{bits}"
        define(f"v_min_{kind}", f"{kind} {kind}", result, min)
        define(f"v_max_{kind}", f"{kind} {kind}", result, max)
        define(f"v_min3_{kind}", f"{kind} {kind} {kind}", result, min)
        define(f"v_max3_{kind}", f"{kind} {kind} {kind}", result, max)
        define(f"v_med3_{kind}", f"{kind} {kind} {kind}", result, lambda a, b, c: sorted((a, b, c))[1])
        define(f"v_minmax_{kind}", f"{kind} {kind} {kind}", result, lambda a, b, c: max(min(a, b), c))
        define(f"v_maxmin_{kind}", f"{kind} {kind} {kind}", result, lambda a, b, c: min(max(a, b), c))
define("v_lshrrev_b32", "u32 u32", "u32", lambda a, b: b >> (a & 31))
define("v_lshl_b32", "u32 u32", "u32", lambda a, b: a << (b & 31))
define("v_lshr_b32", "u32 u32", "u32", lambda a, b: a >> (b & 31))
define("v_ashr_i32", "i32 u32", "u32", lambda a, b: a >> (b & 31))
define("v_lshl_b64", "u64 u32", "u64", lambda a, b: a << (b & 63))
define("v_lshr_b64", "u64 u32", "u64", lambda a, b: a >> (b & 63))
define("v_ashr_i64", "i64 u32", "u64", lambda a, b: a >> (b & 63))
define("v_ashrrev_i32", "u32 i32", "u32", lambda a, b: b >> (a & 31))
define("v_lshlrev_b32 v_dual_lshlrev_b32", "u32 u32", "u32", lambda a, b: b << (a & 31))
define("v_lshlrev_b64", "u32 u64", "u64", lambda a, b: b << (a & 63))
define("v_lshrrev_b64", "u32 u64", "u64", lambda a, b: b >> (a & 63))
define("v_ashrrev_i64", "u32 i64", "u64", lambda a, b: b >> (a & 63))
for bits in (16, 32):
    both = f"u{bits} u{bits}"
    define(f"v_and_b{bits} v_dual_and_b{bits}", both, f"u{bits}", lambda a, b: a & b)
    define(f"v_or_b{bits}", both, f"u{bits}", lambda a, b: a | b)
    define(f"v_xor_b{bits}", both, f"u{bits}", lambda a, b: a ^ b)
define("v_xnor_b32", "u32 u32", "u32", lambda a, b: ~(a ^ b))
define("v_bfe_u32", "u32 u32 u32", "u32", lambda a, b, c: field(a, b & 31, c & 31))
define("v_bfe_i32", "i32 u32 u32", "u32", lambda a, b, c: signed_field(a, b & 31, c & 31))
define("v_bfi_b32", "u32 u32 u32", "u32", lambda a, b, c: a & b | ~a & c)
define("v_bfm_b32", "u32 u32", "u32", lambda a, b: ((1 << (a & 31)) - 1) << (b & 31))
define("v_lerp_u8", "u32 u32 u32", "u32", lambda a, b, c: join(
    [x + y + (z & 1) >> 1 for x, y, z in zip(bytes_of(a), bytes_of(b), bytes_of(c), strict=True)], 8))
define("v_alignbit_b32", "u32 u32 u16", "u32", lambda a, b, c: (a << 32 | b) >> (c & 31))
define("v_alignbyte_b32", "u32 u32 u16", "u32", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3))


def sad(a: int, b: int, masked: bool = False) -> int:
    return sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True) if y or not masked)


define("v_sad_u8", "u32 u32 u32", "u32", lambda a, b, c: sad(a, b) + c)
define("v_sad_hi_u8", "u32 u32 u32", "u32", lambda a, b, c: (sad(a, b) << 16) + c)
define("v_sad_u16", "u32 u32 u32", "u32", lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c)
define("v_sad_u32", "u32 u32 u32", "u32", lambda a, b, c: abs(a - b) + c)
define("v_msad_u8", "u32 u32 u32", "u32", lambda a, b, c: sad(a, b, True) + c)
for name, masked in (("v_qsad_pk_u16_u8", False), ("v_mqsad_pk_u16_u8", True)):
    define(name, "u64 u32 u64", "u64", lambda a, b, c, masked=masked: join(
        [min(M16, sad(a >> 8 * i & M32, b, masked) + (c >> 16 * i & M16)) for i in range(4)], 16))
define("v_mad_u16 v_mad_legacy_u16", "u16 u16 u16", "u16", lambda a, b, c: a * b + c)
define("v_mad_i16 v_mad_legacy_i16", "i16 i16 i16", "u16", lambda a, b, c: a * b + c)
define("v_mad_u32_u16", "u16 u16 u32", "u32", lambda a, b, c: a * b + c)
define("v_mad_i32_i16", "i16 i16 i32", "u32", lambda a, b, c: a * b + c)


def permuted(high: int, low: int, selector: int) -> int:
    data = (high << 32 | low).to_bytes(8, "little")
    if selector >= 12:
        return 0 if selector == 12 else 255
    return data[selector] if selector < 8 else 255 * (data[2 * (selector - 8) + 1] >> 7)


define("v_perm_b32", "u32 u32 u32", "u32", lambda a, b, c: join([permuted(a, b, selector) for selector in bytes_of(c)], 8))
define("v_xad_u32", "u32 u32 u32", "u32", lambda a, b, c: (a ^ b) + c)
define("v_lshl_add_u32", "u32 u32 u32", "u32", lambda a, b, c: (a << (b & 31)) + c)
define("v_lshl_add_u64", "u64 u32 u64", "u64", lambda a, b, c: (a << (b & 7)) + c)
define("v_add_lshl_u32", "u32 u32 u32", "u32", lambda a, b, c: (a + b) << (c & 31))
define("v_add3_u32", "u32 u32 u32", "u32", lambda a, b, c: a + b + c)
define("v_lshl_or_b32", "u32 u32 u32", "u32", lambda a, b, c: (a << (b & 31)) | c)
define("v_and_or_b32", "u32 u32 u32", "u32", lambda a, b, c: a & b | c)
define("v_or3_b32", "u32 u32 u32", "u32", lambda a, b, c: a | b | c)
define("v_xor3_b32", "u32 u32 u32", "u32", lambda a, b, c: a ^ b ^ c)
define("v_bcnt_u32_b32", "u32 u32", "u32", lambda a, b: a.bit_count() + b)
define("v_pack_b32_f16", "u16 u16", "u32", lambda a, b: a | b << 16)
define("v_mbcnt_lo_u32_b32", "u32 u32 lane", "u32", lambda a, b, lane: (a & (1 << min(lane, 32)) - 1).bit_count() + b)
define("v_mbcnt_hi_u32_b32_e64 v_mbcnt_hi_u32_b32", "u32 u32 lane", "u32", lambda a, b, lane: (a & (1 << max(lane - 32, 0)) - 1).bit_count() + b)


# ------------------------------------------------------------------------------------------------------- packed and dot
def halves(function: Callable[..., Any], kind: str, limited: bool = False) -> Callable[..., int]:
    """An operation on both halves; `limited`: its integers can overflow, so that clamp has a say."""
    def packed(*operands: int) -> int:
        parts = []
        for shift in (0, 16):
            values = [operand >> shift & M16 for operand in operands]
            if kind == "f16":
                result = function(*(decode("f16", value, not mode & 0x40) for value in values))
                parts.append(encode("f16", result, mode >> 2 & 3, not mode & 0x80))
            else:
                result = function(*(signed(value, 16) if kind == "i16" else value for value in values))
                low, high = (-0x8000, 0x7FFF) if kind == "i16" else (0, M16)
                parts.append((clamp(result, low, high) if clamps and limited else result) & M16)
        return join(parts, 16)
    return packed


PACKED: dict[str, tuple[str, int, Callable[..., Any]]] = {
    "mad_i16": ("i16", 3, lambda a, b, c: a * b + c), "mad_u16": ("u16", 3, lambda a, b, c: a * b + c),
    "mul_lo_u16": ("u16", 2, lambda a, b: a * b), "add_i16": ("i16", 2, lambda a, b: a + b),
    "sub_i16": ("i16", 2, lambda a, b: a - b), "add_u16": ("u16", 2, lambda a, b: a + b), "sub_u16": ("u16", 2, lambda a, b: a - b),
    "lshlrev_b16": ("u16", 2, lambda a, b: b << (a & 15)), "lshrrev_b16": ("u16", 2, lambda a, b: b >> (a & 15)),
    "ashrrev_i16": ("i16", 2, lambda a, b: b >> (a & 15)), "max_i16": ("i16", 2, max), "min_i16": ("i16", 2, min),
    "max_u16": ("u16", 2, max), "min_u16": ("u16", 2, min),
    "fma_f16": ("f16", 3, lambda a, b, c: total([(a, b), (c, 1.0)], mode >> 2 & 3)),
    "add_f16": ("f16", 2, lambda a, b: total([(a, 1.0), (b, 1.0)], mode >> 2 & 3)),
    "mul_f16": ("f16", 2, lambda a, b: total([(a, b)])), "min_f16": ("f16", 2, least), "max_f16": ("f16", 2, most),
    "minimum3_f16": ("f16", 3, lambda a, b, c: minimum(minimum(a, b), c)),
    "maximum3_f16": ("f16", 3, lambda a, b, c: maximum(maximum(a, b), c)),
    "minimum_f16": ("f16", 2, minimum), "maximum_f16": ("f16", 2, maximum),
}  # fmt: skip
for name, (kind, count, function) in PACKED.items():
    can_overflow = name.startswith(("add", "sub", "mul", "mad"))
    define(f"v_pk_{name}", " ".join(["u32"] * count), "f16x2" if kind == "f16" else "u32", halves(function, kind, can_overflow))


def singles(function: Callable[..., Any]) -> Callable[..., int]:
    """CDNA's packed singles."""
    def packed(*operands: int) -> int:
        values = [[decode("f32", operand >> shift & M32, not mode & 0x10) for operand in operands] for shift in (0, 32)]
        return join([encode("f32", function(*row), mode & 3, not mode & 0x20) for row in values], 32)
    return packed


define("v_pk_fma_f32", "u64 u64 u64", "f32x2", singles(lambda a, b, c: total([(a, b), (c, 1.0)], mode & 3)))
define("v_pk_mul_f32", "u64 u64", "f32x2", singles(lambda a, b: total([(a, b)], mode & 3)))
define("v_pk_add_f32", "u64 u64", "f32x2", singles(lambda a, b: total([(a, 1.0), (b, 1.0)], mode & 3)))
define("v_pk_mov_b32", "u64 u64", "u64", lambda a, b: a >> 32 | (b & M32) << 32, text="{d}, {a}, {b} op_sel:[1,0]")
define("v_pk_fmac_f16", "u32 u32 old_u32", "f16x2", halves(PACKED["fma_f16"][2], "f16"))


def dot(bits: int, left: bool, right: bool) -> Callable[[int, int, int], int]:
    def function(a: int, b: int, c: int) -> int:
        mask = (1 << bits) - 1
        return c + sum((signed(a >> s, bits) if left else a >> s & mask) * (signed(b >> s, bits) if right else b >> s & mask)
                       for s in range(0, 32, bits))
    return function


for name, bits, is_signed in (("dot4_i32_i8", 8, True), ("dot4_u32_u8", 8, False), ("dot8_i32_i4", 4, True), ("dot8_u32_u4", 4, False),
                         ("dot2_i32_i16", 16, True), ("dot2_u32_u16", 16, False)):  # fmt: skip
    define(f"v_{name}", f"u32 u32 {'i32' if is_signed else 'u32'}", "u32", dot(bits, is_signed, is_signed))
define("v_dot4_i32_iu8", "u32 u32 i32", "u32", dot(8, True, False), text="{d}, {a}, {b}, {c} neg_lo:[1,0,0]")
define("v_dot8_i32_iu4", "u32 u32 i32", "u32", dot(4, False, True), text="{d}, {a}, {b}, {c} neg_lo:[0,1,0]")
define("v_dot4c_i32_i8", "u32 u32 old_i32", "u32", dot(8, True, True))
define("v_dot2c_i32_i16", "u32 u32 old_i32", "u32", dot(16, True, True))
define("v_dot8c_i32_i4", "u32 u32 old_i32", "u32", dot(4, True, True))


def dot2(kind: str) -> Callable[[int, int, float], float]:
    """c, then the product of the low halves, then that of the high halves; singles between."""
    def function(a: int, b: int, c: float, rounding: int = NEAREST) -> float:
        for shift in (0, 16):
            product = single(total([(decode(kind, a >> shift & M16), decode(kind, b >> shift & M16))], rounding), rounding)
            c = single(total([(product, 1.0), (c, 1.0)], rounding), rounding)
        return c
    return function


define("v_dot2_f32_f16", "u32 u32 f32", "f32", dot2("f16"), ulp=2.0, uses_rounding=True)
define("v_dot2_f32_bf16", "u32 u32 f32", "f32", dot2("bf16"), ulp=2.0, uses_rounding=True)
define("v_dot2c_f32_f16 v_dual_dot2acc_f32_f16", "u32 u32 old_f32", "f32", dot2("f16"), ulp=2.0, uses_rounding=True)
define("v_dual_dot2acc_f32_bf16 v_dot2c_f32_bf16", "u32 u32 old_f32", "f32", dot2("bf16"), ulp=2.0, uses_rounding=True)


def dot2_narrow(kind: str) -> Callable[[int, int, int], int]:
    def function(a: int, b: int, c: int) -> int:
        value = decode(kind, c)
        for shift in (0, 16):
            x, y = decode(kind, a >> shift & M16), decode(kind, b >> shift & M16)
            if kind == "bf16":                              # products are rounded to single, sums once more
                x, y = single(total([(x, y)])), 1.0
                value = decode(kind, encode(kind, single(total([(x, y), (value, 1.0)]))))
            else:
                value = decode(kind, encode(kind, total([(x, y), (value, 1.0)])))
        return encode(kind, value)
    return function


define("v_dot2_f16_f16", "u32 u32 u16", "f16bits", dot2_narrow("f16"))
define("v_dot2_bf16_bf16", "u32 u32 u16", "bf16bits", dot2_narrow("bf16"))
mixed = lambda a, b, c, r: total([(a, b), (c, 1.0)], r)  # noqa: E731
define("v_fma_mix_f32", "f32 f32 f32", "f32", mixed, uses_rounding=True)
define("v_fma_mixlo_f16", "f32 f32 f32", "f16", lambda a, b, c: single(total([(a, b), (c, 1.0)])))
define("v_fma_mixhi_f16", "f32 f32 f32", "f16hi", lambda a, b, c: single(total([(a, b), (c, 1.0)])))

# --------------------------------------------------------------------------------------------------------- comparisons
RELATIONS = {
    "f": lambda a, b: False, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "lg": lambda a, b: a < b or a > b, "ne": lambda a, b: a != b, "ge": lambda a, b: a >= b, "o": lambda a, b: a == a and b == b,
    "u": lambda a, b: a != a or b != b, "nge": lambda a, b: not a >= b, "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b, "nle": lambda a, b: not a <= b, "neq": lambda a, b: a != b, "nlt": lambda a, b: not a < b,
    "tru": lambda a, b: True, "t": lambda a, b: True,
}  # fmt: skip
for kind in ("f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"):
    for relation, compare in RELATIONS.items():
        define(" ".join(f"v_{name}_{relation}_{kind}" for name in ("cmp", "cmpx", "cmps", "cmpsx")), f"{kind} {kind}", "mask", compare)
        if kind in ("f16", "f32") or kind in ("i32", "u32", "u64"):
            define(f"s_cmp_{relation}_{kind}", f"{kind} {kind}", "scc", compare)
