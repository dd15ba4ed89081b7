"""Every ALU opcode on NumPy arrays, for the interpreter: those of ``interpreter_alu`` and, here, those that NIR has for other hardware.

Booleans of 8, 16 and 32 bits, booleans as floats, bfloat16, 8-bit floats, and opcodes of single vendors. Written from the descriptions of
the opcodes (Mesa's docs/nir/alu.rst and the comments that it is made of; OCP 8-bit Floating Point Specification; NVIDIA's PTX ISA for prmt),
not by the rules of ``lower_alu.txt``, which constant folding and compilation use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.errors import UnsupportedError
from pyaco.nir import interpreter_alu
from pyaco.nir.interpreter_alu import FLOAT, all_ones, bits_of, floating, raw, signed

__all__ = ["OPERATIONS", "evaluate"]

Array = NDArray[Any]
Operation = Callable[..., Array]
BASIC = interpreter_alu.OPERATIONS


# ------------------------------------------------------------------------------------------------------ wider booleans
COMPARISONS = ("bitnz", "bitz", "feq", "fequ", "fge", "fgeu", "flt", "fltu", "fneo", "fneu", "ford", "funord", "ieq", "ige", "ilt", "ine", "uge",
               "ult")
HORIZONTAL = ("all_fequal", "all_iequal", "any_fnequal", "any_inequal")
WIDTHS = (2, 3, 4, 5, 8, 16)


def _widened(operation: Operation, bits: int) -> Operation:
    return lambda *operands: all_ones(operation(*operands), bits)


def _as_float(operation: Operation, bits: int = 0) -> Operation:
    return lambda *operands: raw(operation(*operands).astype(FLOAT[bits or bits_of(operands[0])]))


def _choose(condition: Array, then: Array, otherwise: Array) -> Array:
    return np.where(condition != 0, then, otherwise)


def _boolean_operations() -> dict[str, Operation]:
    found: dict[str, Operation] = {"seq": _as_float(BASIC["feq"]), "sne": _as_float(BASIC["fneu"]), "slt": _as_float(BASIC["flt"]),
                                   "sge": _as_float(BASIC["fge"])}
    for bits in (8, 16, 32):
        found |= {f"{name}{bits}": _widened(BASIC[name], bits) for name in COMPARISONS}
        found |= {f"b{bits}{name}{width}": _widened(BASIC[f"b{name}{width}"], bits) for name in HORIZONTAL for width in WIDTHS}
        found[f"b{bits}csel"] = _choose
    for width in WIDTHS:
        found[f"fall_equal{width}"] = _as_float(BASIC[f"ball_fequal{width}"], 32)
        found[f"fany_nequal{width}"] = _as_float(BASIC[f"bany_fnequal{width}"], 32)
    return found


# -------------------------------------------------------------------------------------------------------- small floats
def _float_of_bfloat(x: Array) -> Array:
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _bfloat(value: Array) -> Array:
    """The nearest bfloat16, ties to even; NaNs become quiet."""
    bits = raw(value)
    low, rest = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    up = (rest > 0x8000) | ((rest == 0x8000) & (low & np.uint32(1) != 0))
    return np.where(np.isnan(value), low | np.uint32(0x40), low + up).astype(np.uint16)


def _bfloat_operation(function: Callable[..., Array]) -> Operation:
    return lambda *operands: _bfloat(function(*map(_float_of_bfloat, operands)).astype(np.float32))


def _dot_from_the_last(a: Array, b: Array) -> Array:
    total = a[-1:] * b[-1:]
    for i in range(len(a) - 2, -1, -1):
        total = a[i : i + 1] * b[i : i + 1] + total
    return total


def _fused(x: Array, y: Array, z: Array) -> Array:
    return floating(BASIC["ffma"](raw(x), raw(y), raw(z)))


E5M2 = (np.arange(256, dtype=np.uint16) << np.uint16(8)).view(np.float16).astype(np.float64)


def _e4m3_values() -> Array:
    code = np.arange(256)
    exponent, fraction = code >> 3 & 15, (code & 7) / 8
    magnitude = np.where(exponent == 0, fraction * 2.0**-6, (1 + fraction) * 2.0 ** (exponent - 7.0))
    return np.where(code & 127 == 127, np.nan, np.where(code < 128, magnitude, -magnitude))


E4M3 = _e4m3_values()


def _decoder(values: Array) -> Operation:
    return lambda x: raw(values[x].astype(np.float32))


def _encoder(values: Array, largest: int, overflow: int, nan: int, infinity: int) -> Operation:
    """Nearest code of a table of values, ties to the even code; `overflow`, `nan` and `infinity` are codes without sign."""
    finite = values[: largest + 1]
    # A step past the largest number, as if there were one more exponent: what is nearer to it overflows.
    steps = np.append(finite, 2 * finite[largest] - finite[largest - 1])

    def run(x: Array) -> Array:
        value = floating(x).astype(np.float64)
        magnitude = np.minimum(np.nan_to_num(np.abs(value), nan=0.0), 1e30)
        above = np.clip(np.searchsorted(steps, magnitude), 1, largest + 1)
        low, high = magnitude - steps[above - 1], steps[above] - magnitude
        code = np.where((high < low) | ((high == low) & (above % 2 == 0)), above, above - 1)
        code = np.where(code > largest, overflow, code)
        code = np.where(np.isnan(value), nan, np.where(np.isinf(value), infinity, code))
        return (code | np.signbit(value) * 128).astype(np.uint8)

    return run


def _small_float_operations() -> dict[str, Operation]:
    found: dict[str, Operation] = {
        "bf2f": lambda x: raw(_float_of_bfloat(x)),
        "f2bf": lambda x: _bfloat(floating(x)),
        "bfmul": _bfloat_operation(lambda a, b: a * b),
        "bffma": _bfloat_operation(_fused),
        "bfdot2_bfadd": _bfloat_operation(lambda a, b, c: _fused(a[1:2], b[1:2], _fused(a[:1], b[:1], c))),
        "e5m22f": _decoder(E5M2),
        "e4m3fn2f": _decoder(E4M3),
        "f2e5m2": _encoder(E5M2, 0x7B, 0x7C, 0x7E, 0x7C),
        "f2e5m2_sat": _encoder(E5M2, 0x7B, 0x7B, 0x7E, 0x7B),
        "f2e4m3fn": _encoder(E4M3, 0x7E, 0x7F, 0x7F, 0x7F),
        "f2e4m3fn_sat": _encoder(E4M3, 0x7E, 0x7E, 0x7F, 0x7E),
        "f2e4m3fn_satfn": _encoder(E4M3, 0x7E, 0x7E, 0x7F, 0x7F),
    }
    return found | {f"bfdot{width}": _bfloat_operation(_dot_from_the_last) for width in WIDTHS}


# --------------------------------------------------------------------------------------------------------- other floats
def _is_finite(x: Array) -> Array:
    return np.isfinite(floating(x))


def _is_normal(x: Array) -> Array:
    value = floating(x)
    return np.isfinite(value) & (np.abs(value) >= np.finfo(value.dtype).tiny)


def _clamped(low: float, high: float) -> Operation:
    def run(x: Array) -> Array:
        value = floating(x)
        return raw(np.fmin(np.fmax(value, value.dtype.type(low)), value.dtype.type(high)))

    return run


def _first_where(better: Callable[[Array, Array], Array]) -> Operation:
    def run(x: Array, y: Array) -> Array:
        return np.where(better(floating(x), floating(y)) | np.isnan(floating(y)), x, y)

    return run


def _turns(function: Callable[[Array], Array], half_turn: float) -> Operation:
    """Sine or cosine of an angle of which `half_turn` is pi."""
    def run(x: Array) -> Array:
        turns = np.remainder(floating(x).astype(np.float64), 2 * half_turn)
        return raw(function(turns * (np.pi / half_turn)).astype(floating(x).dtype))

    return run


def _plus_dot(x: Array, y: Array) -> Array:
    a, b = floating(x), floating(y)
    return raw(a[:1] * b[:1] + a[1:2] * b[1:2] + a[2:3] * b[2:3] + b[3:4])


def _sum(x: Array) -> Array:
    values = floating(x)
    wide = values.astype(np.float32) if values.dtype == np.float16 else values
    total = wide[:1]
    for i in range(1, len(wide)):
        total = total + wide[i : i + 1]
    return raw(total.astype(values.dtype))


# ------------------------------------------------------------------------------------------------------------- vendors
def _bytes(x: Array) -> list[Array]:
    return [(x >> np.uint32(8 * i)).astype(np.int64) & 255 for i in range(4)]


def _by_byte(function: Callable[[Array, Array], Array]) -> Operation:
    def run(x: Array, y: Array) -> Array:
        parts = [function(a, b) << (8 * i) for i, (a, b) in enumerate(zip(_bytes(x), _bytes(y), strict=True))]
        return np.sum(parts, axis=0).astype(np.uint32)

    return run


def _selected_bytes(choices: Callable[[int], Array], pick: Callable[[Array], Array]) -> Array:
    total: Array = np.uint32(0)  # type: ignore[assignment]
    for i in range(4):
        total = total | pick(choices(i)).astype(np.uint32) << np.uint32(8 * i)
    return total


def _permute_amd(high: Array, low: Array, selector: Array) -> Array:
    """RDNA2 ISA, V_PERM_B32: a byte, the sign of a half filling a byte, 0 (12) or all ones."""
    pair = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)

    def pick(choice: Array) -> Array:
        number = np.minimum(choice, np.uint64(13))
        byte = pair >> (number & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        sign = (pair >> ((number & np.uint64(3)) * np.uint64(16) + np.uint64(15)) & np.uint64(1)) * np.uint64(255)
        return np.where(number < 8, byte, np.where(number < 12, sign, np.where(number == 12, np.uint64(0), np.uint64(255))))

    return _selected_bytes(lambda i: (selector >> np.uint32(8 * i) & np.uint32(255)).astype(np.uint64), pick)


def _permute_nv(selector: Array, low: Array, high: Array) -> Array:
    pair = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)

    def pick(choice: Array) -> Array:
        byte = pair >> (choice & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        return np.where(choice & np.uint64(8), (byte >> np.uint64(7)) * np.uint64(255), byte)

    return _selected_bytes(lambda i: (selector >> np.uint32(4 * i) & np.uint32(15)).astype(np.uint64), pick)


def _interleave(x: Array, y: Array) -> Array:
    total = np.zeros(x.shape, np.uint32)
    for i in range(16):
        total |= (x.astype(np.uint32) >> np.uint32(i) & np.uint32(1)) << np.uint32(2 * i)
        total |= (y.astype(np.uint32) >> np.uint32(i) & np.uint32(1)) << np.uint32(2 * i + 1)
    return total


def _field_of_pair(low: Array, high: Array, position: Array, width: Array) -> Array:
    pair = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
    shift = position & np.uint32(127)
    value = np.where(shift < 64, pair >> np.minimum(shift, np.uint32(63)).astype(np.uint64), np.uint64(0))
    count = np.where(width & np.uint32(31) == 0, 32, width & np.uint32(31)).astype(np.uint64)
    return (value & ((np.uint64(1) << count) - np.uint64(1))).astype(np.uint32)


def _sums_of_differences(reference: Array, source: Array, sums: Array) -> Array:
    pair = source[1:2].astype(np.uint64) << np.uint64(32) | source[:1].astype(np.uint64)
    windows = [(pair >> np.uint64(8 * i)).astype(np.uint32) for i in range(4)]
    return np.concatenate([BASIC["msad_4x8"](reference, window, sums[i : i + 1]) for i, window in enumerate(windows)])


def _halves(x: Array) -> list[Array]:
    return [(x >> np.uint32(16 * i)).astype(np.uint16).view(np.float16).astype(np.float32) for i in range(2)]


def _normalised(value: Array, bits: int, is_signed: bool) -> Array:
    scale = (1 << (bits - is_signed)) - 1
    clipped = np.fmin(np.fmax(value, np.float32(-1 if is_signed else 0)), np.float32(1))
    return np.rint(clipped * np.float32(scale)).astype(np.int64) & 0xFFFF


def _normalised_halves(low: int, high: int, is_signed: bool = False) -> Operation:
    def run(x: Array) -> Array:
        parts = _halves(x)
        return (_normalised(parts[0], low, is_signed) | _normalised(parts[1], high, is_signed) << 16).astype(np.uint32)

    return run


def _unsigned_floats(x: Array, y: Array) -> Array:
    """Three halves as floats of 5 bits of exponent and 6, 6 and 5 of fraction."""
    total = np.zeros(x.shape, np.int64)
    for half, place, fraction in ((x & np.uint32(0xFFFF), 0, 6), (x >> np.uint32(16), 11, 6), (y & np.uint32(0xFFFF), 22, 5)):
        value = half.astype(np.uint16).view(np.float16).astype(np.float64)
        least = np.maximum(np.floor(np.log2(np.maximum(np.abs(value), 2.0**-30))), -14)
        rounded = np.rint(value / 2.0 ** (least - fraction)) * 2.0 ** (least - fraction)
        limited = np.clip(np.where(np.isfinite(rounded), rounded, 0), 0, (2 - 2.0**-fraction) * 2.0**15)
        bits = np.abs(limited).astype(np.float16).view(np.uint16).astype(np.int64) >> (10 - fraction)
        infinity = 31 << fraction
        bits = np.where(np.isnan(value), infinity | 1, np.where(value == np.inf, infinity, bits))
        total |= bits << place
    return total.astype(np.uint32)


def _packed_1010102(x: Array, y: Array) -> Array:
    low, high = x & np.uint32(0x3FF), x >> np.uint32(16) & np.uint32(0x3FF)
    return low | high << np.uint32(10) | (y & np.uint32(0x3FF)) << np.uint32(20) | (y >> np.uint32(16) & np.uint32(3)) << np.uint32(30)


def _multiply_add(scale: int) -> Operation:
    """a * b plus or minus a shifted number."""
    return lambda a, b, c, d: a * b + (c << (d & d.dtype.type(bits_of(d) - 1))) * c.dtype.type(scale & ((1 << bits_of(c)) - 1))


def _address(view: Callable[[Array], Array]) -> Operation:
    return lambda base, index, shift: base + (view(index).astype(np.int64).view(np.uint64) << (shift & np.uint32(63)).astype(np.uint64))


_shl, _shr = BASIC["ishl"], BASIC["ushr"]

_others: dict[str, Operation] = {
    "amul": BASIC["imul"],
    "imad": lambda x, y, z: BASIC["iadd"](BASIC["imul"](x, y), z),
    "umul_low": lambda x, y: (x & np.uint32(0xFFFF)) * (y & np.uint32(0xFFFF)),
    "imul_32x16": lambda x, y: x * y.astype(np.uint16).view(np.int16).astype(np.int32).view(np.uint32),
    "umul_32x16": lambda x, y: x * (y & np.uint32(0xFFFF)),
    "umad24_relaxed": lambda x, y, z: x * y + z,
    "imad24_ir3": lambda x, y, z: BASIC["imul24"](x, y) + z,
    "imadsh_mix16": lambda x, y, z: ((x >> np.uint32(16)) * (y & np.uint32(0xFFFF)) << np.uint32(16)) + z,
    "udiv_aligned_4": lambda x: x // x.dtype.type(4),
    "fcsel": lambda x, y, z: _choose(floating(x) != 0, y, z),
    "fcsel_ge": lambda x, y, z: _choose(floating(x) >= 0, y, z),
    "fcsel_gt": lambda x, y, z: _choose(floating(x) > 0, y, z),
    "icsel_eqz": lambda x, y, z: _choose(x == 0, y, z),
    "i32csel_ge": lambda x, y, z: _choose(signed(x) >= 0, y, z),
    "i32csel_gt": lambda x, y, z: _choose(signed(x) > 0, y, z),
    "b32fcsel_mdg": _choose,
    "fisfinite": _is_finite,
    "fisfinite32": _widened(_is_finite, 32),
    "fisnormal": _is_normal,
    "fclamp_pos": _clamped(0, np.inf),
    "fclamp_pos_mali": _clamped(0, np.inf),
    "fsat_signed": _clamped(-1, 1),
    "fsat_signed_mali": _clamped(-1, 1),
    "fmax_agx": _first_where(lambda a, b: a > b),
    "fmin_agx": _first_where(lambda a, b: a < b),
    "fsin_agx": _turns(np.sin, 2),
    "fsin_mdg": _turns(np.sin, 1),
    "fcos_mdg": _turns(np.cos, 1),
    "fdph": _plus_dot,
    "fdph_replicated": _plus_dot,
    "fsum2": _sum,
    "fsum3": _sum,
    "fsum4": _sum,
    "f2fmp": BASIC["f2f16"],
    "f2imp": BASIC["f2i16"],
    "f2ump": BASIC["f2u16"],
    "i2fmp": BASIC["i2f16"],
    "i2imp": BASIC["i2i16"],
    "u2fmp": BASIC["u2f16"],
    "pack_uvec2_to_uint": lambda x: x[:1] & np.uint32(0xFFFF) | x[1:2] << np.uint32(16),
    "pack_uvec4_to_uint": lambda x: x[:1] | x[1:2] << np.uint32(8) | x[2:3] << np.uint32(16) | x[3:4] << np.uint32(24),
    "pack_double_2x32_dxil": BASIC["pack_64_2x32"],
    "unpack_double_2x32_dxil": BASIC["unpack_64_2x32"],
    "byte_perm_amd": _permute_amd,
    "mqsad_4x8": _sums_of_differences,
    "andg_ir3": lambda x, y, z: x & y | z,
    "shlg_ir3": lambda x, y, z: _shl(x, y) | z,
    "shrg_ir3": lambda x, y, z: _shr(x, y) | z,
    "shlm_ir3": lambda x, y, z: _shl(x, y) & z,
    "shrm_ir3": lambda x, y, z: _shr(x, y) & z,
    "bounds_agx": lambda x, y, z: np.where(signed(z) >= signed(y), x, x.dtype.type(0)),
    "extr_agx": _field_of_pair,
    "interleave_agx": _interleave,
    "ilea_agx": _address(signed),
    "ulea_agx": _address(lambda x: x),
    "imadshl_agx": _multiply_add(1),
    "imsubshl_agx": _multiply_add(-1),
    "ldexp16_pan": lambda x, y: BASIC["ldexp"](x, raw(signed(y).astype(np.int32))),
    "lea_nv": lambda x, y, z: x + _shl(y, z),
    "prmt_nv": _permute_nv,
    "f2unorm_16_v3d": lambda x: _normalised(floating(x), 16, False).astype(np.uint32),
    "f2snorm_16_v3d": lambda x: _normalised(floating(x), 16, True).astype(np.uint32),
    "pack_2x16_to_unorm_2x8_v3d": _normalised_halves(8, 8),
    "pack_2x16_to_snorm_2x8_v3d": _normalised_halves(8, 8, True),
    "pack_2x16_to_unorm_2x10_v3d": _normalised_halves(10, 10),
    "pack_2x16_to_unorm_10_2_v3d": _normalised_halves(10, 2),
    "pack_2x32_to_2x16_v3d": lambda x, y: x & np.uint32(0xFFFF) | y << np.uint32(16),
    "pack_4x16_to_4x8_v3d": lambda x, y: _selected_bytes(lambda i: (x, y)[i // 2] >> np.uint32(16 * (i % 2)), lambda v: v & np.uint32(255)),
    "pack_32_to_r11g11b10_v3d": _unsigned_floats,
    "pack_uint_32_to_r10g10b10a2_v3d": _packed_1010102,
    "umin_4x8_vc4": _by_byte(np.minimum),
    "umax_4x8_vc4": _by_byte(np.maximum),
    "usadd_4x8_vc4": _by_byte(lambda a, b: np.minimum(a + b, 255)),
    "ussub_4x8_vc4": _by_byte(lambda a, b: np.maximum(a - b, 0)),
    "umul_unorm_4x8_vc4": _by_byte(lambda a, b: a * b // 255),
}  # fmt: skip

OPERATIONS = BASIC | _boolean_operations() | _small_float_operations() | _others


def evaluate(name: str, operands: list[Array]) -> Array:
    """Value of one ALU opcode; operands are swizzled already. What is the same in all components comes once."""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise UnsupportedError(f"the NIR interpreter has no ALU opcode {name}")
    with np.errstate(all="ignore"):
        return operation(*operands)
