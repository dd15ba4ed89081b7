"""WMMA against NumPy's matrix product, tiles laid out in registers as the ISA documents draw them."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco.emu import Device

# name, element type, bits of an element, registers of A and B on GFX11, wide accumulator
OPERATIONS = {
    "v_wmma_f32_16x16x16_f16": (np.float16, 8, np.float32), "v_wmma_i32_16x16x16_iu8": (np.int8, 4, np.int32),
    "v_wmma_f16_16x16x16_f16": (np.float16, 8, np.float16),
}  # fmt: skip


def spread_inputs(matrix: np.ndarray, late: bool, wave: int) -> np.ndarray:
    """Registers by lane of A (rows) or B (given transposed)."""
    size = matrix.dtype.itemsize
    lanes = np.zeros((wave, 16 * size // 4), np.uint32)
    for lane in range(wave):
        row = matrix[lane % 16]
        if late:
            row = row[8 * (lane // 16) :][:8]
        words = np.ascontiguousarray(row).view(np.uint32)
        lanes[lane, : len(words)] = words
    return lanes.T


def places(late: bool, wave: int):
    """(register, lane, row, column) of every element of C and D."""
    count = 8 if wave == 32 else 4
    for register in range(count):
        for lane in range(wave):
            row = register + 8 * (lane // 16) if late else 16 // count * register + lane // 16
            yield register, lane, row, lane % 16


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("target", "wave"), [("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32)])
def test_wmma(assemble, name, target, wave):
    kind, registers, wide = OPERATIONS[name]
    late = target == "gfx1200"
    if late and wide is np.float16:
        pytest.skip("packed half accumulators of GFX12 are not there")
    random = np.random.default_rng(31)
    a, b = (random.integers(-8, 9, (16, 16)).astype(kind) for _ in range(2))
    c = random.integers(-50, 50, (16, 16)).astype(wide)
    count = 8 if wave == 32 else 4
    source = np.zeros((3, 8, wave), np.uint32)
    source[0, :registers], source[1, :registers] = spread_inputs(a, late, wave), spread_inputs(b.T.copy(), late, wave)
    for register, lane, row, column in places(late, wave):
        source[2, register, lane] = c[row, column : column + 1].view(f"u{c.itemsize}")[0]
    inputs = registers // 2 if late else registers
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v0, 2, v0"]
    for operand in range(3):
        for register in range(8):
            row = 8 * operand + register
            lines.append(f"global_load_b32 v{8 + row}, v0, s[0:1] offset:{row * wave * 4 % 2048}")
            if (row + 1) * wave * 4 % 2048 == 0:
                lines += ["s_add_u32 s0, s0, 0x800", "s_addc_u32 s1, s1, 0"]
    flags = " neg_lo:[1,1,0]" if kind is np.int8 else ""
    span = [f"v[{first}:{first + size - 1}]" for first, size in ((24, count), (8, inputs), (16, inputs), (24, count))]
    lines += ["s_wait_loadcnt 0x0" if late else "s_waitcnt vmcnt(0)", f"{name} {', '.join(span)}{flags}"]
    lines += [f"global_store_b32 v0, v{24 + register}, s[2:3] offset:{register * wave * 4}" for register in range(count)]
    device = Device(target)
    data, results = device.buffer(source), device.buffer(np.zeros((count, wave), np.uint32))
    user = [word for buffer in (data, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    code = assemble("\n".join([*lines, "s_endpgm", ""]), target, wave)
    device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave)
    expected = a.astype(np.int64) @ b.astype(np.int64) + c.astype(np.int64)
    for register, lane, row, column in places(late, wave):
        value = results.numpy()[register, lane : lane + 1].view(wide)[0]
        assert value == expected[row, column], (register, lane)
