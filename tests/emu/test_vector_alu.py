"""Vector ALU instructions against models in NumPy and exact rational arithmetic that share nothing with the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from machine_code import Assemble
from numpy.typing import DTypeLike

from pyaco.emu import Device

U16, I16, U32, I32, U64, I64 = np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64
F16, F32, F64 = np.float16, np.float32, np.float64
LANES = 128
KEEP_DENORMALS = 0xF0

SPECIAL32 = [
    0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x807FFFFF, 0x3F800000, 0xBF800000, 0x3F000000, 0xC0000000,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x4B000000, 0xCB000001, 0x33800000,
    0xFFFFFFFF, 0x7FFFFFFF, 0x4F000000, 0xCF000000, 0x4F800000, 31, 32, 64, 0x3C003C00, 0xBC007BFF, 0x00010400, 0x7C00FC00,
]  # fmt: skip
SPECIAL64 = [
    0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x3FE0000000000000, 0xC000000000000000,
    0x41DFFFFFFFC00000, 0xC1E0000000000000, 0x41F0000000000000, 0xFFFFFFFFFFFFFFFF, 0x4330000000000001,
]  # fmt: skip


def inputs() -> np.ndarray:
    """Three operands of 64 bits per lane; the low half by itself is the 32-bit operand."""
    random = np.random.default_rng(11)
    values = random.integers(0, 1 << 64, (3, LANES), dtype=U64)
    # floats of moderate size, so that arithmetic meets more than infinities
    moderate = random.standard_normal((3, LANES // 4)).astype(F32).view(U32)
    for operand in range(3):
        values[operand, : LANES // 4] = moderate[operand] | (values[operand, : LANES // 4] >> U64(32) << U64(32))
        doubles = random.standard_normal(LANES // 4)
        values[operand, LANES // 4 : LANES // 2] = doubles.view(U64)
        for index in range(32):
            lane = LANES // 2 + index
            special = SPECIAL32[(index * (2 * operand + 1) + 5 * operand) % len(SPECIAL32)]
            values[operand, lane] = values[operand, lane] >> U64(32) << U64(32) | U64(special)
        for index in range(32):
            values[operand, LANES // 2 + 32 + index] = SPECIAL64[(index * (operand + 1) + 7 * operand) % len(SPECIAL64)]
    return values


def rounded(value: Fraction, precision: int, smallest: int, largest: int) -> float:
    """An exact value rounded to the nearest float with `precision` bits, ties to even."""
    if value == 0:
        return 0.0
    sign = -1.0 if value < 0 else 1.0
    value = abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    unit = max(exponent - precision + 1, smallest)
    scaled = value / Fraction(2) ** unit
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1):
        whole += 1
    if whole and whole.bit_length() + unit - 1 > largest:
        return sign * float("inf")
    return sign * whole * 2.0**unit


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a b + c with one rounding."""
    limits = {2: (11, -24, 15), 4: (24, -149, 127), 8: (53, -1074, 1023)}[a.dtype.itemsize]
    result = np.empty_like(a)
    for lane, (x, y, z) in enumerate(zip(a, b, c, strict=True)):
        if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
            with np.errstate(all="ignore"):
                result[lane] = F64(x) * F64(y) + F64(z) if a.dtype != F64 else x * y + z
            continue
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        if exact == 0:
            with np.errstate(all="ignore"):
                product_sign = np.signbit(x) != np.signbit(y)
                result[lane] = -0.0 if product_sign and np.signbit(z) and (x == 0 or y == 0) and z == 0 else 0.0
        else:
            result[lane] = rounded(exact, *limits)
    return result


def minimum_number(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where(a < b, a, b)))
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), result).astype(a.dtype)


def maximum_number(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where(a > b, a, b)))
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), result).astype(a.dtype)


def to_integer(a: np.ndarray, low: int, high: int) -> np.ndarray:
    clean = np.where(np.isnan(a), 0, a).astype(F64)
    return np.clip(np.trunc(clean), low, high).astype(I64)


def bits_of(value: int, positions: range) -> int:
    return sum((value >> position & 1) << index for index, position in enumerate(positions))


def each(function: Callable[..., int], dtype: DTypeLike = U32) -> Callable[..., np.ndarray]:
    """A model from a function of Python integers."""
    return lambda *operands: np.array([function(*map(int, lane)) for lane in zip(*operands, strict=True)], object).astype(dtype)


def leading_zeros(v: int, width: int = 32) -> int:
    return width - v.bit_length() if v else 0xFFFFFFFF


M = 0xFFFFFFFF
Row = tuple[str, str, list[Any], Any, Callable[..., Any] | None]
# name on gfx1030, name on gfx1100, types of the sources, type of the result, model
ALU: list[Row] = [
    ("v_mov_b32", "", [U32], U32, lambda a: a),
    ("v_not_b32", "", [U32], U32, lambda a: ~a),
    ("v_bfrev_b32", "", [U32], U32, each(lambda a: int(f"{a:032b}"[::-1], 2))),
    ("v_ffbh_u32", "v_clz_i32_u32", [U32], U32, each(leading_zeros)),
    ("v_ffbl_b32", "v_ctz_i32_b32", [U32], U32, each(lambda a: (a & -a).bit_length() - 1 if a else M)),
    ("v_ffbh_i32", "v_cls_i32", [I32], U32,
     each(lambda a: M if a in (0, -1) else 32 - (a if a > 0 else ~a).bit_length())),
    ("v_cvt_f32_i32", "", [I32], F32, lambda a: a.astype(F32)),
    ("v_cvt_f32_u32", "", [U32], F32, lambda a: a.astype(F32)),
    ("v_cvt_u32_f32", "", [F32], U32, lambda a: to_integer(a, 0, M).astype(U32)),
    ("v_cvt_i32_f32", "", [F32], U32, lambda a: to_integer(a, -(1 << 31), (1 << 31) - 1).astype(I32).view(U32)),
    ("v_cvt_f64_i32", "", [I32], F64, lambda a: a.astype(F64)),
    ("v_cvt_f64_u32", "", [U32], F64, lambda a: a.astype(F64)),
    ("v_cvt_f32_f64", "", [F64], F32, lambda a: a.astype(F32)),
    ("v_cvt_f64_f32", "", [F32], F64, lambda a: a.astype(F64)),
    ("v_cvt_i32_f64", "", [F64], U32, lambda a: to_integer(a, -(1 << 31), (1 << 31) - 1).astype(I32).view(U32)),
    ("v_cvt_u32_f64", "", [F64], U32, lambda a: to_integer(a, 0, M).astype(U32)),
    ("v_cvt_f16_f32", "", [F32], F16, lambda a: a.astype(F16)),
    ("v_cvt_f32_f16", "", [F16], F32, lambda a: a.astype(F32)),
    ("v_cvt_f32_ubyte0", "", [U32], F32, lambda a: (a & U32(255)).astype(F32)),
    ("v_cvt_f32_ubyte3", "", [U32], F32, lambda a: (a >> U32(24)).astype(F32)),
    ("v_cvt_f16_u16", "", [U16], F16, lambda a: a.astype(F16)),
    ("v_cvt_f16_i16", "", [I16], F16, lambda a: a.astype(F16)),
    ("v_cvt_u16_f16", "", [F16], U16, lambda a: to_integer(a, 0, 65535).astype(U16)),
    ("v_cvt_i16_f16", "", [F16], I16, lambda a: to_integer(a, -32768, 32767).astype(I16)),
    ("v_trunc_f32", "", [F32], F32, np.trunc), ("v_ceil_f32", "", [F32], F32, np.ceil),
    ("v_rndne_f32", "", [F32], F32, np.rint), ("v_floor_f32", "", [F32], F32, np.floor),
    ("v_trunc_f64", "", [F64], F64, np.trunc), ("v_ceil_f64", "", [F64], F64, np.ceil),
    ("v_rndne_f64", "", [F64], F64, np.rint), ("v_floor_f64", "", [F64], F64, np.floor),
    ("v_trunc_f16", "", [F16], F16, np.trunc), ("v_rndne_f16", "", [F16], F16, np.rint),
    ("v_floor_f16", "", [F16], F16, np.floor), ("v_ceil_f16", "", [F16], F16, np.ceil),
    ("v_frexp_mant_f32", "", [F32], F32, lambda a: np.where(np.isfinite(a), np.frexp(a)[0], a)),
    ("v_frexp_exp_i32_f32", "", [F32], U32, lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0).astype(I32).view(U32)),
    ("v_frexp_mant_f64", "", [F64], F64, lambda a: np.where(np.isfinite(a), np.frexp(a)[0], a)),
    ("v_add_f32", "", [F32, F32], F32, lambda a, b: a + b), ("v_sub_f32", "", [F32, F32], F32, lambda a, b: a - b),
    ("v_subrev_f32", "", [F32, F32], F32, lambda a, b: b - a), ("v_mul_f32", "", [F32, F32], F32, lambda a, b: a * b),
    ("v_min_f32", "", [F32, F32], F32, minimum_number), ("v_max_f32", "", [F32, F32], F32, maximum_number),
    ("v_add_f16", "", [F16, F16], F16, lambda a, b: a + b), ("v_sub_f16", "", [F16, F16], F16, lambda a, b: a - b),
    ("v_mul_f16", "", [F16, F16], F16, lambda a, b: a * b),
    ("v_min_f16", "", [F16, F16], F16, minimum_number), ("v_max_f16", "", [F16, F16], F16, maximum_number),
    ("v_add_f64", "", [F64, F64], F64, lambda a, b: a + b), ("v_mul_f64", "", [F64, F64], F64, lambda a, b: a * b),
    ("v_min_f64", "", [F64, F64], F64, minimum_number), ("v_max_f64", "", [F64, F64], F64, maximum_number),
    ("v_fma_f32", "", [F32] * 3, F32, fused), ("v_fma_f64", "", [F64] * 3, F64, fused),
    ("v_fma_f16", "", [F16] * 3, F16, fused),
    ("v_min3_f32", "", [F32] * 3, F32, lambda a, b, c: minimum_number(minimum_number(a, b), c)),
    ("v_max3_f32", "", [F32] * 3, F32, lambda a, b, c: maximum_number(maximum_number(a, b), c)),
    ("v_sqrt_f64", "", [F64], F64, np.sqrt),
    ("v_add_nc_u32", "", [U32, U32], U32, lambda a, b: a + b), ("v_sub_nc_u32", "", [U32, U32], U32, lambda a, b: a - b),
    ("v_subrev_nc_u32", "", [U32, U32], U32, lambda a, b: b - a),
    ("v_mul_lo_u32", "", [U32, U32], U32, lambda a, b: a * b),
    ("v_mul_hi_u32", "", [U32, U32], U32, each(lambda a, b: a * b >> 32)),
    ("v_mul_hi_i32", "", [I32, I32], U32, each(lambda a, b: a * b >> 32 & M)),
    ("v_mul_u32_u24", "", [U32, U32], U32, each(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) & M)),
    ("v_mul_i32_i24", "", [I32, I32], U32,
     each(lambda a, b: ((a << 8 & M ^ 1 << 31) - (1 << 31) >> 8) * ((b << 8 & M ^ 1 << 31) - (1 << 31) >> 8) & M)),
    ("v_mad_u32_u24", "", [U32] * 3, U32, each(lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c & M)),
    ("v_min_i32", "", [I32, I32], I32, np.minimum), ("v_max_i32", "", [I32, I32], I32, np.maximum),
    ("v_min_u32", "", [U32, U32], U32, np.minimum), ("v_max_u32", "", [U32, U32], U32, np.maximum),
    ("v_lshlrev_b32", "", [U32, U32], U32, lambda a, b: b << (a & U32(31))),
    ("v_lshrrev_b32", "", [U32, U32], U32, lambda a, b: b >> (a & U32(31))),
    ("v_ashrrev_i32", "", [U32, I32], I32, lambda a, b: b >> (a & U32(31)).astype(I32)),
    ("v_lshlrev_b64", "", [U32, U64], U64, lambda a, b: b << (a & U32(63)).astype(U64)),
    ("v_lshrrev_b64", "", [U32, U64], U64, lambda a, b: b >> (a & U32(63)).astype(U64)),
    ("v_ashrrev_i64", "", [U32, I64], I64, lambda a, b: b >> (a & U32(63)).astype(I64)),
    ("v_and_b32", "", [U32, U32], U32, lambda a, b: a & b), ("v_or_b32", "", [U32, U32], U32, lambda a, b: a | b),
    ("v_xor_b32", "", [U32, U32], U32, lambda a, b: a ^ b), ("v_xnor_b32", "", [U32, U32], U32, lambda a, b: ~(a ^ b)),
    ("v_xor3_b32", "", [U32] * 3, U32, lambda a, b, c: a ^ b ^ c), ("v_or3_b32", "", [U32] * 3, U32, lambda a, b, c: a | b | c),
    ("v_and_or_b32", "", [U32] * 3, U32, lambda a, b, c: a & b | c), ("v_add3_u32", "", [U32] * 3, U32, lambda a, b, c: a + b + c),
    ("v_lshl_add_u32", "", [U32] * 3, U32, lambda a, b, c: (a << (b & U32(31))) + c),
    ("v_add_lshl_u32", "", [U32] * 3, U32, lambda a, b, c: (a + b) << (c & U32(31))),
    ("v_lshl_or_b32", "", [U32] * 3, U32, lambda a, b, c: a << (b & U32(31)) | c),
    ("v_xad_u32", "", [U32] * 3, U32, lambda a, b, c: (a ^ b) + c),
    ("v_bfi_b32", "", [U32] * 3, U32, lambda a, b, c: a & b | ~a & c),
    ("v_bfe_u32", "", [U32] * 3, U32, each(lambda a, b, c: (a >> (b & 31)) & (1 << (c & 31)) - 1)),
    ("v_bfe_i32", "", [I32, U32, U32], U32,
     each(lambda a, b, c: signed_field(a >> (b & 31), c & 31) & M)),
    ("v_bfm_b32", "", [U32, U32], U32, each(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31) & M)),
    ("v_alignbit_b32", "", [U32] * 3, U32, each(lambda a, b, c: (a << 32 | b) >> (c & 31) & M)),
    ("v_alignbyte_b32", "", [U32] * 3, U32, each(lambda a, b, c: (a << 32 | b) >> 8 * (c & 3) & M)),
    ("v_bcnt_u32_b32", "", [U32, U32], U32, each(lambda a, b: a.bit_count() + b & M)),
    ("v_sad_u32", "", [U32] * 3, U32, each(lambda a, b, c: abs(a - b) + c & M)),
    ("v_sad_u8", "", [U32] * 3, U32,
     each(lambda a, b, c: sum(abs((a >> s & 255) - (b >> s & 255)) for s in (0, 8, 16, 24)) + c & M)),
    ("v_med3_i32", "", [I32] * 3, I32, lambda a, b, c: np.sort(np.stack((a, b, c)), axis=0)[1]),
    ("v_med3_u32", "", [U32] * 3, U32, lambda a, b, c: np.sort(np.stack((a, b, c)), axis=0)[1]),
    ("v_min3_i32", "", [I32] * 3, I32, lambda a, b, c: np.minimum(np.minimum(a, b), c)),
    ("v_max3_u32", "", [U32] * 3, U32, lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    ("v_med3_i16", "", [I16] * 3, I16, lambda a, b, c: np.sort(np.stack((a, b, c)), axis=0)[1]),
    ("v_mad_u16", "", [U16] * 3, U16, lambda a, b, c: a * b + c), ("v_mad_i16", "", [I16] * 3, I16, lambda a, b, c: a * b + c),
    ("v_add_nc_u16", "", [U16, U16], U16, lambda a, b: a + b), ("v_mul_lo_u16", "", [U16, U16], U16, lambda a, b: a * b),
    ("v_lshlrev_b16", "", [U16, U16], U16, lambda a, b: b << (a & U16(15))),
    ("v_ashrrev_i16", "", [U16, I16], I16, lambda a, b: b >> (a & U16(15)).astype(I16)),
    ("v_min_i16", "", [I16, I16], I16, np.minimum), ("v_max_u16", "", [U16, U16], U16, np.maximum),
    ("v_pk_add_u16", "", [U32, U32], U32, each(lambda a, b: (a + b & 0xFFFF) | ((a >> 16) + (b >> 16) & 0xFFFF) << 16)),
    ("v_pk_mul_lo_u16", "", [U32, U32], U32, each(lambda a, b: (a * b & 0xFFFF) | ((a >> 16) * (b >> 16) & 0xFFFF) << 16)),
    ("v_perm_b32", "", [U32] * 3, U32, each(lambda a, b, c: sum(permuted(a, b, c >> 8 * i & 255) << 8 * i for i in range(4)))),
    ("v_cvt_pk_u16_u32", "", [U32, U32], U32, each(lambda a, b: min(a, 65535) | min(b, 65535) << 16)),
    ("v_cvt_pk_i16_i32", "", [I32, I32], U32,
     each(lambda a, b: (max(-32768, min(32767, a)) & 0xFFFF) | (max(-32768, min(32767, b)) & 0xFFFF) << 16)),
    ("v_pack_b32_f16", "", [U32, U32], U32, each(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16)),
    ("v_ldexp_f32", "", [F32, I32], F32,
     lambda a, b: np.array([ldexp(float(x), int(y)) for x, y in zip(a, b, strict=True)], F32)),
]  # fmt: skip


def ldexp(value: float, exponent: int) -> float:
    if not np.isfinite(value) or value == 0:
        return value
    return rounded(Fraction(value) * Fraction(2) ** max(-400, min(400, exponent)), 24, -149, 127)


def signed_field(value: int, width: int) -> int:
    field = value & (1 << width) - 1
    return field - (1 << width) if width and field >> width - 1 else field


def permuted(high: int, low: int, selector: int) -> int:
    data = (high << 32 | low).to_bytes(8, "little")
    if selector >= 13:
        return 255
    if selector == 12:
        return 0
    if selector >= 8:
        return 255 if data[2 * (selector - 8) + 1] & 0x80 else 0
    return data[selector]


def register(index: int, dtype: DTypeLike) -> str:
    first = 2 + 2 * index
    return f"v[{first}:{first + 1}]" if np.dtype(dtype).itemsize == 8 else f"v{first}"


def kernel(target: str, rows: Sequence[Row]) -> str:
    """Load the operands of each lane, run every instruction, store 8 bytes of each result."""
    eleven = target == "gfx1100"
    load, store = ("global_load_b64", "global_store_b64") if eleven else ("global_load_dwordx2", "global_store_dwordx2")
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v0, 3, v0"]
    for index in range(3):
        lines += [f"{load} v[{2 + 2 * index}:{3 + 2 * index}], v0, s[0:1]", f"v_add_nc_u32 v0, {LANES * 8}, v0"]
    lines.append(f"v_subrev_nc_u32 v0, {3 * LANES * 8}, v0")
    lines += ["s_waitcnt vmcnt(0)"]
    for name, later, sources, result, _ in rows:
        lines += ["v_mov_b32 v20, 0", "v_mov_b32 v21, 0"]
        wide = np.dtype(result).itemsize == 8
        operands = ", ".join(register(index, dtype) for index, dtype in enumerate(sources))
        lines.append(f"{later if eleven and later else name} {'v[20:21]' if wide else 'v20'}, {operands}")
        lines += [f"{store} v0, v[20:21], s[2:3]", f"v_add_nc_u32 v0, {LANES * 8}, v0"]
    return "\n".join([*lines, "s_endpgm", ""])


def run(target: str, rows: Sequence[Row], assemble: Assemble, mode: int = KEEP_DENORMALS) -> tuple[np.ndarray, np.ndarray]:
    device = Device(target, "reference")
    values = inputs()
    source = device.buffer(values)
    results = device.buffer(np.zeros((len(rows), LANES), U64))
    user = [word for buffer in (source, results) for word in (buffer.address & M, buffer.address >> 32)]
    device.run(assemble(kernel(target, rows), target), (1, 1, 1), (LANES, 1, 1), user_sgprs=user, float_mode=mode)
    return values, results.numpy()


def as_type(values: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    return np.ascontiguousarray(values).view(dtype)[:: 8 // size].copy()


@pytest.mark.parametrize("target", ["gfx1100", "gfx1030"])
def test_against_models(target: str, assemble: Assemble) -> None:
    values, results = run(target, ALU, assemble)
    wrong = []
    for row, (name, _, sources, result, model) in enumerate(ALU):
        operands = [as_type(values[index], dtype) for index, dtype in enumerate(sources)]
        with np.errstate(all="ignore"):
            assert model is not None
            expected = np.asarray(model(*operands)).astype(result)
        actual = as_type(results[row], result)
        bits = np.dtype(f"u{np.dtype(result).itemsize}")
        same = expected.view(bits) == actual.view(bits)
        if np.dtype(result).kind == "f":
            same |= np.isnan(expected) & np.isnan(actual)
        if not same.all():
            lane = int(np.flatnonzero(~same)[0])
            shown = [hex(int(operand.view(f"u{operand.itemsize}")[lane])) for operand in operands]
            wrong.append(f"{name} {shown}: {actual.view(bits)[lane]:#x}, expected {expected.view(bits)[lane]:#x}")
    assert not wrong, "\n".join(wrong)


APPROXIMATE: list[tuple[str, Any, Callable[..., Any], float]] = [
    ("v_exp_f32", F32, np.exp2, 1.0), ("v_log_f32", F32, np.log2, 1.0), ("v_rcp_f32", F32, lambda a: 1 / a, 1.0),
    ("v_rsq_f32", F32, lambda a: 1 / np.sqrt(a), 1.0), ("v_sqrt_f32", F32, np.sqrt, 1.0),
    ("v_sin_f32", F32, lambda a: np.sin(2 * np.pi * np.fmod(a, 1)), 8.0),
    ("v_cos_f32", F32, lambda a: np.cos(2 * np.pi * np.fmod(a, 1)), 8.0),
    ("v_rcp_f16", F16, lambda a: 1 / a, 1.0), ("v_exp_f16", F16, np.exp2, 1.0), ("v_sqrt_f16", F16, np.sqrt, 1.0),
    ("v_rcp_f64", F64, lambda a: 1 / a, 2.0), ("v_rsq_f64", F64, lambda a: 1 / np.sqrt(a), 2.0),
]  # fmt: skip


@pytest.mark.parametrize("target", ["gfx1100", "gfx1030"])
def test_transcendentals_are_close(target: str, assemble: Assemble) -> None:
    """Within units in the last place of the correctly rounded result, denormals aside."""
    rows: list[Row] = [(name, "", [dtype], dtype, model) for name, dtype, model, _ in APPROXIMATE]
    values, results = run(target, rows, assemble)
    for row, (name, dtype, model, bound) in enumerate(APPROXIMATE):
        operand, actual = as_type(values[0], dtype), as_type(results[row], dtype)
        with np.errstate(all="ignore"):
            expected = model(operand.astype(np.longdouble))
            tiny = (np.abs(operand) < np.finfo(dtype).tiny) | (np.abs(expected) < np.finfo(dtype).tiny)
            unit = np.spacing(np.abs(expected).astype(dtype)).astype(np.longdouble)
            allowed = bound * unit + (2.0**-24 if "sin" in name or "cos" in name else 0)
            close = np.abs(actual.astype(np.longdouble) - expected) <= allowed
            same = close | tiny | (np.isnan(actual) & np.isnan(expected)) | (actual == expected.astype(dtype))
        assert same.all(), (name, operand[~same][:4], actual[~same][:4], expected[~same][:4])


def test_denormals_follow_mode(assemble: Assemble) -> None:
    """Single denormals are flushed by MODE while half and double ones are kept, and the other way round."""
    rows: list[Row] = [("v_add_f32", "", [F32, F32], F32, None), ("v_add_f16", "", [F16, F16], F16, None),
            ("v_mul_f32", "", [F32, F32], F32, None), ("v_max_f32", "", [F32, F32], F32, None)]  # fmt: skip
    for mode, flushes32, flushes16 in ((0xC0, True, False), (0x30, False, True), (0x00, True, True)):
        values, results = run("gfx1100", rows, assemble, mode)
        for row, dtype, flush in ((0, F32, flushes32), (1, F16, flushes16)):
            a, b = as_type(values[0], dtype), as_type(values[1], dtype)
            tiny = np.finfo(dtype).tiny

            def flushed(array: np.ndarray, flush: bool = flush, tiny: np.floating = tiny) -> np.ndarray:
                return np.where((np.abs(array) < tiny) & flush, np.copysign(array.dtype.type(0), array), array)

            with np.errstate(all="ignore"):
                expected = flushed((flushed(a) + flushed(b)).astype(dtype))
            actual = as_type(results[row], dtype)
            bits = f"u{np.dtype(dtype).itemsize}"
            same = (expected.view(bits) == actual.view(bits)) | (np.isnan(expected) & np.isnan(actual))
            assert same.all(), (mode, dtype, a[~same], b[~same], actual[~same], expected[~same])


def test_rounding_modes(assemble: Assemble) -> None:
    """v_add_f32 in each rounding mode against exact sums."""
    rows: list[Row] = [("v_add_f32", "", [F32, F32], F32, None)]
    for rounding in range(4):
        values, results = run("gfx1100", rows, assemble, 0xF0 | rounding)
        a, b, actual = as_type(values[0], F32), as_type(values[1], F32), as_type(results[0], F32)
        for x, y, z in zip(a, b, actual, strict=True):
            if not (np.isfinite(x) and np.isfinite(y)) or not np.isfinite(z):
                continue
            exact, got = Fraction(float(x)) + Fraction(float(y)), Fraction(float(z))
            above = Fraction(float(np.nextafter(z, F32(np.inf)))) if z < np.finfo(F32).max else got
            below = Fraction(float(np.nextafter(z, F32(-np.inf)))) if z > np.finfo(F32).min else got
            if rounding == 0:
                assert abs(exact - got) <= min(abs(exact - above), abs(exact - below)) or above == got or below == got
            elif rounding == 1:
                assert below < exact <= got or below == got
            elif rounding == 2:
                assert got <= exact < above or above == got
            else:
                assert abs(got) <= abs(exact)


@pytest.mark.parametrize(("operation", "dtype"), [("f32", F32), ("f64", F64)])
def test_division_sequence(operation: str, dtype: type[np.floating], assemble: Assemble) -> None:
    """The sequence that compilers emit for a correctly rounded division gives the IEEE quotient."""
    wide = dtype is F64
    n, d, s0, s1, r, e, q = (
        f"v[{first}:{first + 1}]" if wide else f"v{first}" for first in (2, 4, 10, 12, 14, 16, 18)
    )
    fma = f"v_fma_{operation}"
    lines = [
        "v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v0, 3, v0",
        "global_load_b64 v[2:3], v0, s[0:1]", f"global_load_b64 v[4:5], v0, s[0:1] offset:{LANES * 8}", "s_waitcnt vmcnt(0)",
        f"v_div_scale_{operation} {s0}, null, {d}, {d}, {n}", f"v_div_scale_{operation} {s1}, vcc_lo, {n}, {d}, {n}",
        f"v_rcp_{operation} {r}, {s0}",
        f"{fma} {e}, -{s0}, {r}, 1.0", f"{fma} {r}, {e}, {r}, {r}", f"{fma} {e}, -{s0}, {r}, 1.0", f"{fma} {r}, {e}, {r}, {r}",
        f"v_mul_{operation} {q}, {s1}, {r}", f"{fma} {e}, -{s0}, {q}, {s1}",
    ]  # fmt: skip
    if not wide:
        lines += [f"{fma} {q}, {e}, {r}, {q}", f"{fma} {e}, -{s0}, {q}, {s1}"]
    lines += [
        f"v_div_fmas_{operation} {q}, {e}, {r}, {q}", f"v_div_fixup_{operation} {q}, {q}, {d}, {n}",
        "global_store_b64 v0, v[18:19], s[2:3]", "s_endpgm",
    ]  # fmt: skip
    device = Device("gfx1100", "reference")
    values = inputs()
    source, results = device.buffer(values), device.buffer(np.zeros(LANES, U64))
    user = [word for buffer in (source, results) for word in (buffer.address & M, buffer.address >> 32)]
    device.run(assemble("\n".join(lines) + "\n", "gfx1100"), (1, 1, 1), (LANES, 1, 1), user_sgprs=user, float_mode=KEEP_DENORMALS)
    a, b, actual = as_type(values[0], dtype), as_type(values[1], dtype), as_type(results.numpy(), dtype)
    with np.errstate(all="ignore"):
        expected = a / b
        tiny = (np.abs(expected) < 4 * np.finfo(dtype).tiny) & np.isfinite(expected)
        near = tiny & (np.abs(actual - expected) <= 4 * np.finfo(dtype).tiny)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected)) | near
    assert same.all(), (a[~same], b[~same], actual[~same], expected[~same])


COMPARES = {"lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


@pytest.mark.parametrize("wave", [32, 64])
def test_compares(assemble: Assemble, wave: int) -> None:
    """Every relation of every type: the mask of the active lanes, and cndmask by it."""
    kinds = {"f16": F16, "f32": F32, "f64": F64, "i16": I16, "u16": U16, "i32": I32, "u32": U32, "i64": I64, "u64": U64}
    rows = [(relation, kind) for kind in kinds for relation in (*COMPARES, "ne" if kind[0] != "f" else "neq")]
    vcc = "vcc_lo" if wave == 32 else "vcc"
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v0, 3, v0"]
    lines += [f"global_load_b64 v[{2 + 2 * i}:{3 + 2 * i}], v0, s[0:1] offset:{i * LANES * 8}" for i in range(2)]
    lines += ["s_waitcnt vmcnt(0)", "v_mov_b32 v21, 0"]
    for relation, kind in rows:
        left, right = register(0, kinds[kind]), register(1, kinds[kind])
        lines += [f"v_cmp_{relation}_{kind} {vcc}, {left}, {right}", f"v_cndmask_b32 v20, 0, 1, {vcc}"]
        lines += ["global_store_b64 v0, v[20:21], s[2:3]", f"v_add_nc_u32 v0, {LANES * 8}, v0"]
    device = Device("gfx1100", "reference")
    values = inputs()
    source, results = device.buffer(values), device.buffer(np.zeros((len(rows), LANES), U64))
    user = [word for buffer in (source, results) for word in (buffer.address & M, buffer.address >> 32)]
    code = assemble("\n".join([*lines, "s_endpgm", ""]), "gfx1100", wave)
    device.run(code, (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=wave, float_mode=KEEP_DENORMALS)
    for row, (relation, kind) in enumerate(rows):
        a, b = as_type(values[0], kinds[kind]), as_type(values[1], kinds[kind])
        with np.errstate(all="ignore"):
            expected = COMPARES.get(relation, np.not_equal)(a, b)
        assert np.array_equal(results.numpy()[row].astype(bool), expected), (relation, kind)


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(("target", "half"), [("gfx1030", 0x3800), ("gfx1100", 0x38003800), ("gfx1200", 0x38003800)])
def test_inline_constants_of_pk_fmac_f16(target: str, half: int, engine: str, assemble: Assemble) -> None:
    """They stand in both halves since GFX11 (Mesa, aco_register_allocation.cpp), integers too; a literal is what it is."""
    device = Device(target, engine)
    out = device.buffer(np.zeros(3, np.uint32))
    store = "global_store_dwordx3" if target == "gfx1030" else "global_store_b96"
    source = f"""
    v_mov_b32 v0, 0
    v_mov_b32 v4, 0x3c003c00
    v_mov_b32 v1, 0
    v_mov_b32 v2, 0
    v_mov_b32 v3, 0
    .long 0x780208f0                // 0.5
    .long 0x78040881                // 1
    .long 0x780608ff, 0x3800        // a literal
    {store} v0, v[1:3], s[0:1]
    s_endpgm
    """
    device.run(assemble(source, target), workgroup_size=(1, 1, 1), user_sgprs=[out.address & 0xFFFFFFFF, out.address >> 32])
    assert out.numpy().view(np.uint32).tolist() == [half, 1 if half == 0x3800 else 0x10001, 0x3800]
