"""CDNA 4's MFMA of 8, 6 and 4 bits, with and without scales, and the LDS loads that turn rows into columns."""

from __future__ import annotations

import numpy as np
import pytest
from machine_code import assemble_text
from test_matrix_blocks import execute as execute_matrix
from test_matrix_blocks import place_of_result
from test_scaled_conversions import WIDTH, magnitudes

from pyaco.emu import Device

TARGET, LANES = "gfx950", 64
FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")               # by CBSZ and BLGP
SHAPES = ((16, 128), (32, 64))
MNEMONICS = ("v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4", "v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4",
             "ds_read_b64_tr_b4", "ds_read_b96_tr_b6", "ds_read_b64_tr_b8", "ds_read_b64_tr_b16",
             "global_load_lds_dwordx3", "global_load_lds_dwordx4")  # fmt: skip


def matrix(kind: str, size: int, depth: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Registers [8][lane] of a random matrix [size][depth], and its values."""
    random = np.random.default_rng(seed)
    table = [float(value) for value in magnitudes(kind)]
    usable = [code for code, value in enumerate(table) if value <= 16 and value * 16 == int(value * 16)]
    codes = random.choice(usable, (size, depth))
    signs = random.integers(0, 2, (size, depth))
    width, groups = WIDTH[kind], 64 // size
    packed = [0] * LANES
    for i in range(size):
        for k in range(depth):
            # AMD's example: 16 bytes of a lane, then the other groups' 16, and so on; narrower ones are 32 in sequence
            lane = i + size * (k // 16 % groups if width == 8 else k // 32)
            place = k % 16 + k // (16 * groups) * 16 if width == 8 else k % 32
            packed[lane] |= (int(codes[i, k]) | int(signs[i, k]) << width - 1) << width * place
    words = np.array([[packed[lane] >> 32 * word & 0xFFFFFFFF for lane in range(LANES)] for word in range(8)], np.uint32)
    return words, np.array([table[code] for code in range(len(table))])[codes] * (1 - 2 * signs)


def product(left: str, right: str, size: int, depth: int, scales: tuple[int, int] | None, engine: str = "reference") -> None:
    """Compare with NumPy's product; `scales` are the bytes of the scale registers that op_sel and op_sel_hi choose."""
    a_words, a = matrix(left, size, depth, 1)
    b_words, b = matrix(right, size, depth, 2)
    random = np.random.default_rng(5)
    c = random.integers(-50, 51, (size, size)).astype(np.float64)
    count = size * size // LANES
    sums = np.zeros((count, LANES), np.uint32)
    for i in range(size):
        for j in range(size):
            lane, register = place_of_result("f32", size, i, j, 0)
            sums[register, lane] = np.float32(c[i, j]).view(np.uint32)
    bytes_ = random.integers(124, 131, (2, LANES, 4))
    words = (bytes_ << np.array([0, 8, 16, 24])).sum(2).astype(np.uint32)
    widths = [32 * WIDTH[kind] // 32 for kind in (left, right)]
    text = f"v_mfma_{'scale_' if scales else ''}f32_{size}x{size}x{depth}_f8f6f4 v[64:{63 + count}], v[16:{15 + widths[0]}], " \
           f"v[32:{31 + widths[1]}], v[64:{63 + count}]"
    if scales:
        low, high = ([str(byte >> bit & 1) for byte in scales] for bit in (0, 1))
        text += f", v60, v61 op_sel:[{','.join(low)},0] op_sel_hi:[{','.join(high)},0]"
        for which, values in enumerate((a, b)):
            for i in range(size):
                for k in range(depth):
                    values[i, k] *= 2.0 ** (int(bytes_[which, i + size * (k // 32), scales[which]]) - 127)
    text += f" cbsz:{FORMATS.index(left)} blgp:{FORMATS.index(right)}"
    registers = [("v", 16, a_words[: widths[0]]), ("v", 32, b_words[: widths[1]]), ("v", 64, sums), ("v", 60, words)]
    actual = execute_matrix(TARGET, text, registers, ("v", 64, count))
    expected = a @ b.T + c
    for i in range(size):
        for j in range(size):
            lane, register = place_of_result("f32", size, i, j, 0)
            got = float(actual[register, lane : lane + 1].view(np.float32)[0])
            assert got == np.float32(expected[i, j]), (text, i, j, got, expected[i, j])


@pytest.mark.parametrize(("size", "depth"), SHAPES)
def test_products(size: int, depth: int) -> None:
    for number, left in enumerate(FORMATS):
        product(left, FORMATS[(2 * number + 1) % 5], size, depth, None)


@pytest.mark.parametrize(("size", "depth"), SHAPES)
def test_scaled_products(size: int, depth: int) -> None:
    for number, left in enumerate(FORMATS):
        product(left, FORMATS[(number + 3) % 5], size, depth, (number % 4, (number + 2) % 4))


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize(("width", "dwords"), [(4, 2), (6, 3), (8, 2), (16, 2)])
def test_transposing_loads(engine: str, width: int, dwords: int) -> None:
    """Each 16 lanes load a matrix of 16 columns, its rows one after the other; lane i gets column i."""
    device = Device(TARGET, engine, 1)
    elements = 32 * dwords // width
    tiles = np.random.default_rng(width).integers(0, 1 << width, (4, elements, 16))
    # a row's elements without gaps, padded so that every lane's part is its own 4 * dwords bytes
    whole = 0
    for tile in range(4):
        for row in range(elements):
            for column in range(16):
                whole |= int(tiles[tile, row, column]) << width * (column + 16 * (row + elements * tile))
    memory = device.buffer(np.frombuffer(whole.to_bytes(LANES * dwords * 4, "little"), np.uint8))
    output = device.zeros(LANES * 16)
    text = f"""
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 4, v0
        v_mul_u32_u24 v2, {4 * dwords}, v0
        global_load_dwordx{dwords} v[4:{3 + dwords}], v2, s[0:1]
        s_waitcnt vmcnt(0)
        ds_write_b{32 * dwords} v2, v[4:{3 + dwords}] offset:16
        s_waitcnt lgkmcnt(0)
        ds_read_b{32 * dwords}_tr_b{width} v[8:{7 + dwords}], v2 offset:16
        s_waitcnt lgkmcnt(0)
        global_store_dwordx{dwords} v1, v[8:{7 + dwords}], s[2:3]
        s_endpgm
    """
    user = [word for buffer in (memory, output) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    device.run(assemble_text(text, TARGET), (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=64, lds_bytes=1024)
    got = output.numpy().view(np.uint32).reshape(LANES, 4)
    for lane in range(LANES):
        bits = sum(int(word) << 32 * i for i, word in enumerate(got[lane, :dwords]))
        found = [bits >> width * row & (1 << width) - 1 for row in range(elements)]
        assert found == list(tiles[lane // 16, :, lane % 16]), lane


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("dwords", [1, 3, 4])
@pytest.mark.parametrize("family", ["buffer", "global"])
def test_loads_of_several_dwords_to_lds(engine: str, dwords: int, family: str) -> None:
    """Every lane's dwords stand side by side from m0 on."""
    device = Device(TARGET, engine, 1)
    memory = device.buffer(np.arange(1024, dtype=np.uint32) * 3 + 1)
    output = device.zeros(4 * 4 * LANES)
    size = f"dwordx{dwords}" if dwords > 1 else "dword"
    load = f"buffer_load_{size} v1, s[8:11], 0 offen offset:8 lds" if family == "buffer" else f"global_load_lds_{size} v1, s[0:1] offset:8"
    text = f"""
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 6, v0
        s_mov_b32 m0, 0x40
        {load}
        s_waitcnt vmcnt(0)
        v_lshlrev_b32 v2, 4, v0
        ds_read_b128 v[4:7], v2 offset:72
        s_waitcnt lgkmcnt(0)
        global_store_dwordx4 v2, v[4:7], s[2:3]
        s_endpgm
    """
    user = [word for buffer in (memory, output) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    user += [0] * 4 + [memory.address & 0xFFFFFFFF, memory.address >> 32, 4096, 4 | 5 << 3 | 6 << 6 | 7 << 9 | 4 << 15]
    device.run(assemble_text(text, TARGET), (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=64, lds_bytes=2048, float_mode=0xF0)
    got = output.numpy().view(np.uint32)[: dwords * LANES]
    wanted = [(16 * lane + 2 + dword) * 3 + 1 if 16 * lane + 2 + dword < 1024 else 0 for lane in range(LANES) for dword in range(dwords)]
    assert list(got) == wanted
