"""WMMA and SWMMAC: tiles of small integers, exact in every format, against NumPy's product."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from machine_code import Assemble

from pyaco.emu import Device


def value_of_byte(code: int, exponent_bits: int) -> float:
    """FP8 (4 bits of exponent) and BF8 (5): finite values only."""
    mantissa_bits = 7 - exponent_bits
    bias = (1 << exponent_bits - 1) - 1
    exponent, mantissa = code >> mantissa_bits & (1 << exponent_bits) - 1, code & (1 << mantissa_bits) - 1
    fraction = mantissa / (1 << mantissa_bits)
    value = 2.0 ** (1 - bias) * fraction if exponent == 0 else 2.0 ** (exponent - bias) * (1 + fraction)
    return -value if code & 128 else value


BYTES = {bits: {value_of_byte(code, bits): code for code in range(255, -1, -1)} for bits in (4, 5)}
# bits of an element, its encoding, the largest integer used
KINDS: dict[str, tuple[int, Callable[[int], int], int]] = {
    "f16": (16, lambda v: int(np.float16(v).view(np.uint16)), 8),
    "bf16": (16, lambda v: int(np.float32(v).view(np.uint32)) >> 16, 8),
    "fp8": (8, lambda v: BYTES[4][float(v)], 8), "bf8": (8, lambda v: BYTES[5][float(v)], 4),
    "iu8": (8, lambda v: v & 255, 8), "iu4": (4, lambda v: v & 15, 7),
    "f32": (32, lambda v: int(np.float32(v).view(np.uint32)), 60), "i32": (32, lambda v: v & 0xFFFFFFFF, 60),
}  # fmt: skip
EIGHTS = [f"v_wmma_f32_16x16x16_{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")]
DENSE = [
    "v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16",
    "v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4",
]  # fmt: skip
SPARSE = [
    "v_swmmac_f32_16x16x32_f16", "v_swmmac_f32_16x16x32_bf16", "v_swmmac_f16_16x16x32_f16", "v_swmmac_bf16_16x16x32_bf16",
    "v_swmmac_i32_16x16x32_iu8", "v_swmmac_i32_16x16x32_iu4", "v_swmmac_i32_16x16x64_iu4",
    *(name.replace("wmma", "swmmac").replace("16_fp8", "32_fp8").replace("16_bf8", "32_bf8") for name in EIGHTS),
]  # fmt: skip
#: Targets whose A and B lie spread over the lanes.
SPREAD = ("gfx1170", "gfx1200")
#: By target, what the tests below run.
COVERED = {"gfx1100": DENSE, "gfx1150": DENSE, **{target: [*DENSE, "v_wmma_i32_16x16x32_iu4", *EIGHTS, *SPARSE] for target in SPREAD}}


def parts(name: str) -> tuple[str, str, str, int]:
    """Kinds of sum, A and B, and the inner dimension."""
    _, _, total, shape, *kinds = name.split("_")
    return total, kinds[0], kinds[-1], int(shape.split("x")[2])


def put(rows: np.ndarray, lane: int, place: int, kind: str, value: int) -> None:
    bits, encode, _ = KINDS[kind]
    rows[place * bits // 32, lane] |= encode(value) << place * bits % 32


def accumulator_places(target: str, wave: int, kind: str) -> Iterator[tuple[int, int, int, int, int]]:
    """(register, shift, lane, row, column) of every element of C and D."""
    for element in range(256 // wave):
        for lane in range(wave):
            if target in SPREAD:
                row = element + 8 * (lane // 16 % 2) + 4 * (lane // 32)
                packed = KINDS[kind][0] == 16
                yield (element // 2, 16 * (element % 2), lane, row, lane % 16) if packed else (element, 0, lane, row, lane % 16)
            else:
                yield element, 0, lane, wave // 16 * element + lane // 16, lane % 16


def run(assemble: Assemble, target: str, wave: int, name: str, key: int = 0) -> None:
    total, left, right, depth = parts(name)
    sparse = "swmmac" in name
    random = np.random.default_rng(31)
    a = random.integers(-KINDS[left][2], KINDS[left][2] + 1, (16, depth))
    b = random.integers(-KINDS[right][2], KINDS[right][2] + 1, (depth, 16))
    c = random.integers(-KINDS[total][2], KINDS[total][2] + 1, (16, 16))
    if total in ("f16", "bf16"):
        a, b, c = a % 3 - 1, b % 2, c % 5                   # sums that 8 bits hold
    groups = wave // 16 if target in SPREAD else 1
    if left == "iu4" and depth == (32 if sparse else 16):
        groups = min(groups, 2)
    places = depth // groups
    split = wave == 64 and name == "v_swmmac_i32_16x16x32_iu4"
    source = np.zeros((4, 8, wave), np.uint64)
    for line in range(16):
        for group in range(groups):
            lanes = range(line, wave, 16) if target not in SPREAD else [line + 16 * group]
            for lane in lanes:
                for place in range(places):
                    if split:                               # the second eight elements lie two groups on
                        put(source[1], lane + 32 * (place // 8), place % 8, right, int(b[group * places + place, line]))
                        continue
                    put(source[1], lane, place, right, int(b[group * places + place, line]))
                    if not sparse:
                        put(source[0], lane, place, left, int(a[line, group * places + place]))
                for pair in range(places // 4 if sparse else 0):
                    kept = sorted(random.choice(4, 2, replace=False))
                    for which, index in enumerate(kept):
                        k = group * places + 4 * pair + int(index)
                        put(source[0], lane, 2 * pair + which, left, int(a[line, k]))
                        source[3, 0, lane] |= int(index) << (2 * (2 * pair + which) + key * places)
                    for index in set(range(4)) - {int(kept[0]), int(kept[1])}:
                        a[line, group * places + 4 * pair + index] = 0
    for register, shift, lane, row, column in accumulator_places(target, wave, total):
        source[2, register, lane] |= KINDS[total][1](int(c[row, column])) << shift
    late = target == "gfx1200"
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v0, 2, v0"]
    for row in range(32):
        lines.append(f"global_load_b32 v{8 + row}, v0, s[0:1] offset:{row * wave * 4 % 2048}")
        if (row + 1) * wave * 4 % 2048 == 0:
            lines += ["s_add_u32 s0, s0, 0x800", "s_addc_u32 s1, s1, 0"]
    # each operand in as many registers as its elements need
    held = {"a": places // 2 if sparse else places, "b": 8 if split else places}
    sizes = [-(-held["a"] * KINDS[left][0] // 32), -(-held["b"] * KINDS[right][0] // 32)]
    sums = 256 // wave // 2 if target in SPREAD and KINDS[total][0] == 16 else 256 // wave
    spans = [f"v[{first}:{first + size - 1}]" if size > 1 else f"v{first}" for first, size in zip((8, 16, 24), (*sizes, sums), strict=True)]
    operands = [spans[2], spans[0], spans[1], "v32" if sparse else spans[2]]
    flags = " neg_lo:[1,1,0]" if left.startswith("iu") else ""
    flags += f" index_key:{key}" if key else ""
    lines += ["s_wait_loadcnt 0x0" if late else "s_waitcnt vmcnt(0)", f"{name} {', '.join(operands)}{flags}"]
    lines += [f"global_store_b32 v0, v{24 + register}, s[2:3] offset:{register * wave * 4}" for register in range(sums)]
    device = Device(target, "reference")
    data, results = device.buffer(source.astype(np.uint32)), device.buffer(np.zeros((sums, wave), np.uint32))
    user = [word for buffer in (data, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    code = assemble("\n".join([*lines, "s_endpgm", ""]), target, wave)
    device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave, float_mode=0xF0)
    expected = a @ b + c
    for register, shift, lane, row, column in accumulator_places(target, wave, total):
        bits = int(results.numpy()[register, lane]) >> shift & (1 << KINDS[total][0]) - 1
        assert bits == KINDS[total][1](int(expected[row, column])), (name, register, lane, hex(bits), expected[row, column])


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("target", COVERED)
def test_products(assemble: Assemble, target: str, wave: int) -> None:
    for name in COVERED[target]:
        run(assemble, target, wave, name)


@pytest.mark.parametrize(("wave", "key"), [(32, 1), (64, 1), (64, 2), (64, 3)])
def test_index_sets(assemble: Assemble, wave: int, key: int) -> None:
    """op_sel chooses one of the sets of index bits that a register holds: two in wave32, four in wave64."""
    run(assemble, "gfx1200", wave, "v_swmmac_f32_16x16x32_f16", key)


def test_modifiers_of_c_and_clamp(assemble: Assemble) -> None:
    """neg and abs of C; the sums of integers saturate under clamp."""
    text = """
        v_mov_b32 v1, 0x3c003c00
        v_mov_b32 v2, v1
        v_mov_b32 v3, v1
        v_mov_b32 v4, v1
        v_mov_b32 v5, v1
        v_mov_b32 v6, v1
        v_mov_b32 v7, v1
        v_mov_b32 v8, v1
        v_wmma_f32_16x16x16_f16 v[10:17], v[1:8], v[1:8], 2.0 neg_lo:[0,0,1]
        v_mov_b32 v20, 0x7f7f7f7f
        v_mov_b32 v21, v20
        v_mov_b32 v22, v20
        v_mov_b32 v23, v20
        v_mov_b32 v30, 0x7fffff00
        v_mov_b32 v31, v30
        v_mov_b32 v32, v30
        v_mov_b32 v33, v30
        v_mov_b32 v34, v30
        v_mov_b32 v35, v30
        v_mov_b32 v36, v30
        v_mov_b32 v37, v30
        v_wmma_i32_16x16x16_iu8 v[30:37], v[20:23], v[20:23], v[30:37] clamp
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v0, 3, v0
        v_mov_b32 v11, v30
        global_store_b64 v0, v[10:11], s[0:1]
        s_endpgm
    """
    device = Device("gfx1100", "reference")
    results = device.buffer(np.zeros((32, 2), np.uint32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), (32, 1, 1), user_sgprs=[results.address & 0xFFFFFFFF, results.address >> 32])
    assert (results.numpy()[:, 0].view(np.float32) == 14.0).all()
    assert (results.numpy()[:, 1] == 0x7FFFFFFF).all()
