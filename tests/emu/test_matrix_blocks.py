"""MFMA and SMFMAC of CDNA: blocks of small integers, exact in every format, against NumPy's product.

The layouts are said here once more, from AMD's Matrix Instruction Calculator, in terms of one element.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from machine_code import assemble_text

from pyaco.emu import Device
from pyaco.isa import opcodes

TARGETS = {"gfx908": "cdna1", "gfx90a": "cdna2", "gfx942": "cdna3", "gfx950": "cdna4"}
WIDTH = {"f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8, "f32": 32, "xf32": 32, "i32": 32, "f64": 64}
CODES = {0: 0, 1: 0x38, 2: 0x40, 3: 0x44}                   # of FP8; BF8 is the top of a half
LANES = 64


def rows_of(target: str) -> list[opcodes.Row]:
    """Every matrix operation whose modifiers do not choose its types."""
    return [row for row in opcodes.rows() if row.matrix and TARGETS[target] in row.numbers and "f8f6f4" not in row.matrix.types]


def encode(kind: str, value: int, fnuz: bool) -> int:
    """Bits of a small integer in a format."""
    if kind in ("i8", "i32"):
        return value & (1 << WIDTH[kind]) - 1
    if kind == "f64":
        return int(np.float64(value).view(np.uint64))
    if kind in ("f32", "xf32", "bf16"):
        return int(np.float32(value).view(np.uint32)) >> (16 if kind == "bf16" else 0)
    if kind == "f16":
        return int(np.float16(value).view(np.uint16))
    code = CODES[abs(value)] if kind == "fp8" else int(np.float16(abs(value)).view(np.uint16)) >> 8
    # a bias that is one more doubles the code's distance from zero by one exponent
    return (code + ((8 if kind == "fp8" else 4) if fnuz and code else 0)) | (0x80 if value < 0 else 0)


def place_of_input(size: int, depth: int, blocks: int, i: int, k: int, block: int) -> tuple[int, int]:
    """(lane, place) of A[i][k] and B[k][i]."""
    places = size * depth * blocks // LANES
    return i + size * (block + blocks * (k // places)), k % places


def place_of_result(kind: str, size: int, i: int, j: int, block: int) -> tuple[int, int]:
    """(lane, register) of D[i][j]."""
    if kind == "f64":
        return (j + 16 * (i % 4), 2 * (i // 4)) if size == 16 else (j + 4 * block + 16 * i, 0)
    if size == 4:
        return j + 4 * block, i
    if size == 16:
        return j + 16 * (i // 4), 4 * block + i % 4
    return j + 32 * (i // 4 % 2), 16 * block + 4 * (i // 8) + i % 4


def put(rows: np.ndarray, lane: int, place: int, width: int, bits: int) -> None:
    for part in range(max(1, width // 32)):
        position = place * width + 32 * part
        rows[position // 32, lane] |= np.uint32((bits >> 32 * part & 0xFFFFFFFF) << position % 32 & 0xFFFFFFFF)


def execute(target: str, text: str, registers: list[tuple[str, int, np.ndarray]], result: tuple[str, int, int]) -> np.ndarray:
    """Load registers (file, first, values by lane), run an instruction, and return `result` (file, first, count)."""
    device = Device(target, "reference")
    values = np.concatenate([rows for _, _, rows in registers])
    source, output = device.buffer(values), device.zeros(result[2] * LANES * 4)
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v0, 2, v0", "s_mov_b32 s9, 0"]
    number = 0
    for file, first, rows in registers:
        for row in range(len(rows)):
            lines += [f"s_mov_b32 s8, {number * LANES * 4}", "s_add_u32 s10, s0, s8", "s_addc_u32 s11, s1, s9",
                      "global_load_dword v1, v0, s[10:11]", "s_waitcnt vmcnt(0)"]  # fmt: skip
            lines.append(f"v_accvgpr_write_b32 a{first + row}, v1" if file == "a" else f"v_mov_b32 v{first + row}, v1")
            number += 1
    # matrix operations do not look at EXEC
    lines += ["s_mov_b64 s[12:13], exec", "s_mov_b64 exec, 5", text, "s_mov_b64 exec, s[12:13]"]
    for row in range(result[2]):
        lines.append(f"v_accvgpr_read_b32 v1, a{result[1] + row}" if result[0] == "a" else f"v_mov_b32 v1, v{result[1] + row}")
        lines += [f"s_mov_b32 s8, {row * LANES * 4}", "s_add_u32 s10, s2, s8", "s_addc_u32 s11, s3, s9", "global_store_dword v0, v1, s[10:11]"]
    code = assemble_text("\n".join([*lines, "s_endpgm"]), target)
    user = [word for buffer in (source, output) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    device.run(code, (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=LANES, packed_ids=False)
    return output.numpy().view(np.uint32).reshape(result[2], LANES)


def span(file: str, first: int, size: int) -> str:
    return f"{file}[{first}:{first + size - 1}]" if size > 1 else f"{file}{first}"


Tiles = tuple[np.ndarray, np.ndarray, np.ndarray]


def same_tiles(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Tiles:
    return a, b, c


def multiply(
    target: str, row: opcodes.Row, flags: str = "", change: Callable[[np.ndarray, np.ndarray, np.ndarray], Tiles] = same_tiles, index_set: int = 0,
) -> None:
    """Run one operation and compare every element of D; `change` does to A, B and C what `flags` do."""
    assert row.matrix is not None
    size, _, depth = row.matrix.shape
    blocks, kinds = row.matrix.blocks, row.matrix.types
    sparse = "smfmac" in row.name
    random = np.random.default_rng(7)
    a = random.integers(-3, 4, (blocks, size, depth))
    b = random.integers(-3, 4, (blocks, depth, size))
    c = random.integers(-50, 51, (blocks, size, size))
    fnuz = target == "gfx942"
    inputs = [np.zeros((16, LANES), np.uint32) for _ in range(2)]
    sums = np.zeros((32, LANES), np.uint32)
    index = np.zeros((1, LANES), np.uint32)
    for block in range(blocks):
        for i in range(size):
            for k in range(depth):
                lane, place = place_of_input(size, depth, blocks, i, k, block)
                put(inputs[1], lane, place, WIDTH[kinds[1]], encode(kinds[1], int(b[block, k, i]), fnuz))
                if not sparse:
                    put(inputs[0], lane, place, WIDTH[kinds[0]], encode(kinds[0], int(a[block, i, k]), fnuz))
            for group in range(depth // 4 if sparse else 0):
                kept = sorted(random.choice(4, 2, replace=False))
                for which in range(4):
                    if which not in kept:
                        a[block, i, 4 * group + which] = 0
                lane, place = place_of_input(size, depth, blocks, i, 4 * group, block)
                for number, which in enumerate(kept):
                    value = encode(kinds[0], int(a[block, i, 4 * group + which]), fnuz)
                    put(inputs[0], lane, place // 2 + number, WIDTH[kinds[0]], value)
                    put(index, lane, place // 2 + number + index_set * (size * depth // LANES // 2), 2, int(which))
            for j in range(size):
                lane, register = place_of_result(kinds[2], size, i, j, block)
                for part in range(max(1, WIDTH[kinds[2]] // 32)):
                    sums[register + part, lane] = encode(kinds[2], int(c[block, i, j]), False) >> 32 * part & 0xFFFFFFFF
    count = max(place_of_result(kinds[2], size, size - 1, size - 1, blocks - 1)[1] + max(1, WIDTH[kinds[2]] // 32), 1)
    widths = [max(1, size * depth * blocks // LANES * WIDTH[kind] // (64 if sparse and number == 0 else 32)) for number, kind in enumerate(kinds[:2])]
    file = "a" if target == "gfx908" else "v"
    operands = [span(file, 64, count), span("v", 16, widths[0]), span("v", 32, widths[1]), "v60" if sparse else span(file, 64, count)]
    registers = [("v", 16, inputs[0][: widths[0]]), ("v", 32, inputs[1][: widths[1]]), (file, 64, sums[:count]), ("v", 60, index)]
    actual = execute(target, f"{row.spelling(TARGETS[target])} {', '.join(operands)} {flags}", registers, (file, 64, count))
    a, b, c = change(a, b, c)
    expected = a @ b + c
    for block in range(blocks):
        for i in range(size):
            for j in range(size):
                lane, register = place_of_result(kinds[2], size, i, j, block)
                bits = sum(int(actual[register + part, lane]) << 32 * part for part in range(max(1, WIDTH[kinds[2]] // 32)))
                assert bits == encode(kinds[2], int(expected[block, i, j]), False), (row.name, flags, block, i, j)


@pytest.mark.parametrize("target", [target if target == "gfx942" else pytest.param(target, marks=pytest.mark.slow) for target in TARGETS])
def test_products(target: str) -> None:
    rows = rows_of(target)
    for row in rows:
        multiply(target, row)
    print(f"{target}: {len(rows)} matrix operations")


def row_of(name: str) -> opcodes.Row:
    return next(row for row in opcodes.rows() if row.name == name)


@pytest.mark.parametrize(("cbsz", "abid"), [(1, 0), (1, 1), (2, 3), (3, 5), (4, 9)])
def test_broadcast_of_blocks(cbsz: int, abid: int) -> None:
    def change(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Tiles:
        return a[[(block >> cbsz << cbsz) + abid for block in range(16)]], b, c

    multiply("gfx942", row_of("v_mfma_f32_4x4x4f16"), f"cbsz:{cbsz} abid:{abid}", change)


@pytest.mark.parametrize("pattern", range(1, 8))
def test_lane_groups_of_b(pattern: int) -> None:
    """With blocks of 4 x 4 four lanes are a block of B."""
    tables: dict[int, Callable[[int], int]] = {1: lambda lane: lane % 32, 2: lambda lane: 32 + lane % 32, 3: lambda lane: (lane + 16) % 64}

    def moved(lane: int) -> int:
        return tables[pattern](lane) if pattern in tables else 16 * (pattern - 4) + lane % 16

    def change(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Tiles:
        return a, b[[moved(4 * block) // 4 for block in range(16)]], c

    multiply("gfx942", row_of("v_mfma_f32_4x4x1f32"), f"blgp:{pattern}", change)


@pytest.mark.parametrize("signs", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_signs_of_doubles(signs: tuple[int, int, int]) -> None:
    def change(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Tiles:
        return a * (-1) ** signs[0], b * (-1) ** signs[1], c * (-1) ** signs[2]

    multiply("gfx942", row_of("v_mfma_f64_16x16x4f64"), f"neg:[{signs[0]},{signs[1]},{signs[2]}]", change)


@pytest.mark.parametrize(("name", "index_set"), [("v_smfmac_f32_16x16x32_f16", 3), ("v_smfmac_i32_32x32x32_i8", 1)])
def test_index_sets(name: str, index_set: int) -> None:
    multiply("gfx942", row_of(name), f"abid:{index_set}", index_set=index_set)


def test_constants_as_addend() -> None:
    """An inline constant is a number of the sum's type."""
    ones = np.full((2, LANES), 0x3C003C00, np.uint32)
    words = execute("gfx942", "v_mfma_f32_4x4x4_16b_f16 v[64:67], v[16:17], v[32:33], 2.0", [("v", 16, ones), ("v", 32, ones)], ("v", 64, 4))
    assert (words == np.float32(6).view(np.uint32)).all()
    doubles = np.array([[0] * LANES, [0x3FF00000] * LANES], np.uint32)
    words = execute("gfx942", "v_mfma_f64_4x4x4_4b_f64 v[64:65], v[16:17], v[32:33], -0.5", [("v", 16, doubles), ("v", 32, doubles)], ("v", 64, 2))
    assert (words[1] == int(np.float64(3.5).view(np.uint64)) >> 32).all()
