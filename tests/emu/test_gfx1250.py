"""What GFX12.5 alone has: banks of registers, its instructions between lanes, copies between memory and LDS, and matrices."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from machine_code import Assemble
from test_matrix import BYTES, KINDS, put
from test_scaled_conversions import Conversion, inputs, same, span
from test_scaled_conversions import expected as elements_of

from pyaco import isa
from pyaco.emu import Device, MissingWaitError, UninitializedError
from pyaco.errors import UnsupportedError
from pyaco.isa import opcodes

ENGINES = ("reference", "fast")
LANES = 32
U32 = np.uint32


def run(
    assemble: Assemble, engine: str, body: str, data: np.ndarray, rows: int, *, target: str = "gfx1250", lds: int = 0, first: int = 8
) -> np.ndarray:
    """Load rows of `data` into v8 and following, run `body`, and return `rows` rows of registers from `first` on."""
    device = Device(target, engine)
    source, results = device.buffer(data.astype(U32)), device.buffer(np.zeros((rows, LANES), U32))
    user = [word for buffer in (source, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v0"]
    lines += [f"global_load_b32 v{8 + row}, v1, s[0:1] offset:{row * LANES * 4}" for row in range(len(data))]
    lines += ["s_wait_loadcnt 0x0", *body.strip().split("\n")]
    lines += [f"global_store_b32 v1, v{first + row}, s[2:3] offset:{row * LANES * 4}" for row in range(rows)]
    code = assemble("\n".join([*lines, "s_endpgm", ""]), target, LANES)
    device.run(code, (1, 1, 1), (LANES, 1, 1), user_sgprs=user, float_mode=0xF0, lds_bytes=lds)
    return np.asarray(results.numpy())


def words(*shape: int) -> np.ndarray:
    return np.random.default_rng(125).integers(0, 1 << 32, shape, dtype=U32)


@pytest.mark.parametrize("engine", ENGINES)
def test_banks(assemble: Assemble, engine: str) -> None:
    """Each operand has two upper bits of its own; the same instruction may be executed with several, and a result crosses the border of a bank."""
    data = words(2, LANES)
    body = """
        s_set_vgpr_msb 0x40
        v_add_nc_u32 v20, v8, v9
        s_set_vgpr_msb 0x84
        v_lshlrev_b32 v30, 3, v20
        s_set_vgpr_msb 0xca
        v_add_nc_u32 v254, v30, v30
        v_mov_b32 v255, 7
        s_set_vgpr_msb 0x03
        v_mov_b32 v10, v254
        v_add_nc_u32 v11, v255, v9
        s_set_vgpr_msb 0
        s_mov_b32 s8, 0
        v_mov_b32 v12, 0
        again:
        v_add_nc_u32 v12, 1, v12
        s_add_co_i32 s8, s8, 1
        s_set_vgpr_msb 0x44
        s_cmp_eq_u32 s8, 1
        s_cbranch_scc1 again
        v_mov_b32 v12, 5
        s_set_vgpr_msb 0x01
        v_mov_b32 v13, v12
        s_set_vgpr_msb 0
    """
    # at the second turn v12 of bank 1 is added to itself, which nobody wrote before
    found = run(assemble, engine, body, data, 4, first=10)
    sums = (data[0] + data[1]) << 3
    assert (found[0] == sums * 2).all() and (found[1] == 7 + data[1]).all() and (found[2] == 1).all() and (found[3] == 5).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_setreg_takes_banks(assemble: Assemble, engine: str) -> None:
    """S_SETREG_IMM32_B32 to MODE sets the banks from bits 12 to 19 of its immediate, whichever bits it names."""
    body = """
        s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), 0x1003
        v_mov_b32 v10, v8
        s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), 0x4003
        v_mov_b32 v10, v10
        s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), 0x3
    """
    data = words(3, LANES)
    assert (run(assemble, engine, body, data, 1, first=10)[0] == data[0]).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes(assemble: Assemble, engine: str) -> None:
    data = words(1, LANES)
    lane = np.arange(LANES)
    group = lane & ~7
    body = "\n".join(f"v_permlane_{kind}_b32 v{10 + i}, v8, {selector}, 8" for i, (kind, selector) in enumerate(
        (("bcast", 3), ("up", 2), ("down", 3), ("xor", 5))))
    found = run(assemble, engine, body, data, 4, first=10)
    value = data[0]
    position = lane & 7
    down = np.where(position < 5, value[np.minimum(lane + 3, 31)], 0)
    expected = [value[group + 3], np.where(position >= 2, value[lane - 2], 0), down, value[lane ^ 5]]
    assert all((row == wanted).all() for row, wanted in zip(found, expected, strict=True))


def bfloat(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(U32) << 16).view(np.float32).astype(np.float64)


def nearest(value: np.ndarray) -> np.ndarray:
    """The nearest bfloat by search among its neighbours, ties to even."""
    result = np.zeros(value.shape, U32)
    for i, x in np.ndenumerate(value):
        start = int(np.float32(x).view(U32) >> 16)
        sign = start & 0x8000
        around = [sign | code for code in range(max((start & 0x7FFF) - 2, 0), min((start & 0x7FFF) + 3, 0x7F80))]
        distance = [abs(float(bfloat(np.array([code]))[0]) - float(x)) for code in around]
        result[i] = min(zip(distance, (code & 1 for code in around), around, strict=True))[2]
    return result


BFLOATS: dict[str, Callable[..., np.ndarray]] = {
    "v_pk_add_bf16": lambda a, b, c: a + b, "v_pk_mul_bf16": lambda a, b, c: a * b, "v_pk_fma_bf16": lambda a, b, c: a * b + c,
    "v_pk_min_num_bf16": lambda a, b, c: np.minimum(a, b), "v_pk_max_num_bf16": lambda a, b, c: np.maximum(a, b),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_bfloats(assemble: Assemble, engine: str) -> None:
    """Pairs of bfloats, denormals among them; numbers whose results fit."""
    data = words(3, LANES) & 0x9FFF9FFF | 0x20002000
    data[:, ::4] &= 0x807F807F
    a, b, c = (np.stack([bfloat(row & 0xFFFF), bfloat(row >> 16)]) for row in data)
    body = "\n".join(f"{name} v{12 + i}, v8, v9{', v10' if 'fma' in name else ''}" for i, name in enumerate(BFLOATS))
    found = run(assemble, engine, body, data, len(BFLOATS), first=12)
    for row, (name, operation) in zip(found, BFLOATS.items(), strict=True):
        wanted = nearest(operation(a, b, c))
        zeros = np.stack([row & 0x7FFF, row >> 16 & 0x7FFF]) == 0
        got = np.stack([row & 0xFFFF, row >> 16])
        assert ((got == wanted) | (zeros & (wanted & 0x7FFF == 0))).all(), name


@pytest.mark.parametrize("engine", ENGINES)
def test_tanh(assemble: Assemble, engine: str) -> None:
    some = [0.0, 1e-8, -3e-3, 0.1249, 0.1251, 0.5, np.inf, -np.inf, 1e-20, 2.0, 40, -0.02]
    values = np.concatenate([np.linspace(-12, 12, 20), some]).astype(np.float32)
    found = run(assemble, engine, "v_tanh_f32 v9, v8", values.view(U32)[None], 1, first=9)[0].view(np.float32)
    assert (found == np.tanh(values.astype(np.float64)).astype(np.float32)).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_wide_integers(assemble: Assemble, engine: str) -> None:
    data = words(4, LANES)
    a, b = (data[i].astype(np.uint64) | data[i + 1].astype(np.uint64) << np.uint64(32) for i in (0, 2))
    lines = {"v_add_nc_u64": a + b, "v_sub_nc_u64": a - b, "v_mul_u64": a * b, "v_min_u64": np.minimum(a, b),
             "v_max_i64": np.maximum(a.view(np.int64), b.view(np.int64)).view(np.uint64)}
    body = "\n".join(f"{name} v[{12 + 2 * i}:{13 + 2 * i}], v[8:9], v[10:11]" for i, name in enumerate(lines))
    body += "\nv_mul_u64 v[22:23], 0x123456789abcdef, v[8:9]\nv_mad_nc_u64_u32 v[24:25], v8, v9, v[10:11]"
    found = run(assemble, engine, body, data, 14, first=12)
    pairs = found[0::2].astype(np.uint64) | found[1::2].astype(np.uint64) << np.uint64(32)
    expected = [*lines.values(), a * np.uint64(0x123456789ABCDEF), data[0].astype(np.uint64) * data[1] + b]
    for i, wanted in enumerate(expected):
        assert (pairs[i] == wanted).all(), i


@pytest.mark.parametrize("engine", ENGINES)
def test_scaled_and_signed_offsets(assemble: Assemble, engine: str) -> None:
    """Offsets in VGPRs count elements with scale_offset, and are signed."""
    data = words(3, LANES)
    body = """
        s_add_nc_u64 s[4:5], s[0:1], 0x80
        v_sub_nc_u32 v12, v0, 3
        global_load_b32 v13, v12, s[4:5] scale_offset
        v_lshlrev_b32 v12, 2, v12
        global_load_b32 v14, v12, s[4:5]
        v_lshrrev_b32 v12, 1, v0
        global_load_b64 v[16:17], v12, s[4:5] scale_offset
        s_mov_b32 s6, 5
        s_load_b32 s7, s[0:1], s6 offset:0x0 scale_offset
        s_wait_loadcnt 0x0
        s_wait_kmcnt 0x0
        v_mov_b32 v15, s7
    """
    found = run(assemble, engine, body, data, 5, first=13)
    flat = data.reshape(-1)
    lane = np.arange(LANES)
    assert (found[0] == flat[lane + 29]).all() and (found[1] == flat[lane + 29]).all() and (found[2] == flat[5]).all()
    assert (found[3] == flat[32 + lane // 2 * 2]).all() and (found[4] == flat[33 + lane // 2 * 2]).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_copies_to_lds(assemble: Assemble, engine: str) -> None:
    """Each lane has an address of its own in LDS, to which the offset is added too; then back to other places in memory."""
    data = words(4, LANES)
    body = """
        v_sub_nc_u32 v12, 31, v0
        v_lshlrev_b32 v12, 2, v12
        global_load_async_to_lds_b32 v12, v1, s[0:1] offset:128
        v_lshlrev_b32 v13, 3, v0
        v_add_nc_u32 v14, 0x200, v13
        global_load_async_to_lds_b64 v14, v13, s[0:1]
        s_wait_asynccnt 0x0
        ds_load_b32 v15, v1 offset:128
        ds_load_b64 v[16:17], v13 offset:512
        s_wait_dscnt 0x0
        v_lshlrev_b32 v18, 2, v0
        global_store_async_from_lds_b32 v18, v12, s[2:3] offset:128
        s_wait_asynccnt 0x0
        global_load_b32 v18, v1, s[2:3] offset:128
        s_wait_loadcnt 0x0
    """
    found = run(assemble, engine, body, data, 4, lds=4096, first=15)
    lane = np.arange(LANES)
    assert (found[0] == data[1][31 - lane]).all()
    assert (found[1] == data.reshape(-1)[2 * lane]).all() and (found[2] == data.reshape(-1)[2 * lane + 1]).all()
    assert (found[3] == data[1][lane]).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_transposing_loads(assemble: Assemble, engine: str) -> None:
    """16 x 16 halves and bytes in LDS, as examples for hipcc have them: what they saw on hardware."""
    data = words(4, LANES)
    store = "v_lshlrev_b32 v12, 4, v0\nds_store_b128 v12, v[8:11]\ns_wait_dscnt 0x0\n"
    found = run(assemble, engine, store + "ds_load_tr16_b128 v[16:19], v12\ns_wait_dscnt 0x0", data, 4, lds=4096, first=16)
    halves = np.ascontiguousarray(data.T).view(np.uint16).reshape(4, 8, 8)
    assert (np.ascontiguousarray(found.T).view(np.uint16).reshape(4, 8, 8) == halves.transpose(0, 2, 1)).all()
    found = run(assemble, engine, store + "v_lshlrev_b32 v12, 3, v0\nds_load_tr8_b64 v[16:17], v12\ns_wait_dscnt 0x0", data, 2, lds=4096, first=16)
    loaded = np.ascontiguousarray(data.T).view(np.uint8).reshape(-1)[:256].reshape(32, 8)
    got = np.ascontiguousarray(found.T).view(np.uint8).reshape(32, 8)
    for lane in range(LANES):
        for element in range(8):
            other = lane // 16 * 16 + lane // 8 % 2 * 4 + element // 4 * 8 + element % 4
            assert got[lane, element] == loaded[other, lane % 8]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("width", [4, 6])
def test_transposing_loads_of_short_elements(assemble: Assemble, engine: str, width: int) -> None:
    """Each sixteen lanes transpose 16 x 16 elements, from LDS and from memory."""
    data, dwords = words(3, LANES), width // 2
    kind = "tr4_b64" if width == 4 else "tr6_b96"
    body = "\n".join(["v_mul_u32_u24 v12, 12, v0", "ds_store_b96 v12, v[8:10]", "s_wait_dscnt 0x0", f"ds_load_{kind} v[16:{15 + dwords}], v12",
                      f"global_load_{kind} v[20:{19 + dwords}], v12, s[0:1]", "s_wait_dscnt 0x0", "s_wait_loadcnt 0x0"])  # fmt: skip
    found = run(assemble, engine, body, data, 8, lds=4096, first=16)

    def elements(rows: np.ndarray) -> np.ndarray:
        bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, bitorder="little")
        return bits.reshape(LANES, 16, width) if bits.shape[1] == 16 * width else bits[:, : 16 * width].reshape(LANES, 16, width)

    for loaded, rows in ((data.T, found[:dwords].T), (data.reshape(-1)[: 3 * LANES].reshape(LANES, 3), found[4 : 4 + dwords].T)):
        before, after = (elements(part).reshape(2, 16, 16, width) for part in (loaded, rows))
        assert (after == before.transpose(0, 2, 1, 3)).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_barrier_in_memory(assemble: Assemble, engine: str) -> None:
    """A barrier in LDS for three arrivals: the third begins the next phase, with all of them missing again."""
    body = """
        v_mov_b32 v12, 2
        v_mov_b32 v13, 2
        v_mov_b32 v14, 0
        v_mov_b32 v16, 1
        v_mov_b32 v17, 0
        ds_store_b64 v14, v[12:13]
        s_wait_dscnt 0x0
        s_mov_b32 exec_lo, 1
        ds_atomic_barrier_arrive_rtn_b64 v[18:19], v14, v[16:17]
        ds_atomic_async_barrier_arrive_b64 v14
        ds_atomic_barrier_arrive_rtn_b64 v[20:21], v14, v[16:17]
        s_wait_dscnt 0x0
        s_mov_b32 exec_lo, -1
        ds_load_b64 v[22:23], v14
        s_wait_dscnt 0x0
    """
    found = run(assemble, engine, body, words(1, LANES), 6, lds=64, first=18)
    assert found[:, 0].tolist() == [2, 2, 0, 2, 1 << 29 | 2, 2]


NAMES = ["v_wmma_f32_16x16x32_f16", "v_wmma_f32_16x16x32_bf16", "v_wmma_f16_16x16x32_f16", "v_wmma_bf16_16x16x32_bf16", "v_wmma_i32_16x16x64_iu8",
         "v_wmma_f32_16x16x64_fp8_bf8", "v_wmma_f16_16x16x64_bf8_fp8", "v_wmma_f32_16x16x128_bf8_bf8", "v_wmma_f16_16x16x128_fp8_fp8",
         "v_wmma_f32_16x16x4_f32"]  # fmt: skip


def operands(name: str) -> tuple[str, str, str, int]:
    _, _, total, shape, *kinds = name.split("_")
    return total, kinds[0], kinds[-1], int(shape.split("x")[2])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_matrices(assemble: Assemble, engine: str, name: str) -> None:
    total, left, right, depth = operands(name)
    random = np.random.default_rng(17)
    a, b, c = random.integers(-1, 2, (16, depth)), random.integers(0, 2, (depth, 16)), random.integers(0, 5, (16, 16))
    places = depth // 2
    source = np.zeros((40, LANES), np.uint64)
    size = max(places * KINDS[left][0] // 32, 1)
    for lane in range(LANES):
        for place in range(places):
            k = lane // 16 * places + place
            put(source[:16], lane, place, left, int(a[lane % 16, k]))
            put(source[16:32], lane, place, right, int(b[k, lane % 16]))
        for element in range(8):
            put(source[32:], lane, element, total, int(c[element + 8 * (lane // 16), lane % 16]))
    sums = 8 * KINDS[total][0] // 32
    span = f"v[40:{39 + sums}]"
    flags = " neg_lo:[1,1,0]" if left == "iu8" else ""
    found = run(assemble, engine, f"{name} {span}, v[8:{7 + size}], v[24:{23 + size}], {span}{flags}", source, sums, first=40)
    expected = a @ b + c
    for lane in range(LANES):
        for element in range(8):
            bits, encode, _ = KINDS[total]
            got = int(found[element * bits // 32, lane]) >> element * bits % 32 & (1 << bits) - 1
            assert got == encode(int(expected[element + 8 * (lane // 16), lane % 16])), (name, lane, element)


SPARSE = ["v_swmmac_f32_16x16x64_f16", "v_swmmac_f32_16x16x64_bf16", "v_swmmac_f16_16x16x64_f16", "v_swmmac_bf16_16x16x64_bf16",
          "v_swmmac_i32_16x16x128_iu8", "v_swmmac_f32_16x16x128_fp8_bf8", "v_swmmac_f32_16x16x128_bf8_bf8", "v_swmmac_f16_16x16x128_bf8_fp8",
          "v_swmmac_f16_16x16x128_fp8_fp8"]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_matrices(assemble: Assemble, engine: str, name: str) -> None:
    """By the numbers of the inner dimension, as rocjitsu's ``mma/layout.h`` has them: which lane and element each matrix and the index has."""
    total, left, right, depth = operands(name)
    random = np.random.default_rng(19)
    b, c = random.integers(0, 2, (depth, 16)), random.integers(0, 5, (16, 16))
    a = np.zeros((16, depth), int)
    eight = KINDS[left][0] == 8
    block_a, block_b, entries = (16, 32, 32) if eight else (8, 16, 16)
    source = np.zeros((40, LANES), np.uint64)
    for line in range(16):
        for pair in range(depth // 4):
            for which, kept in enumerate(sorted(random.choice(4, 2, replace=False))):
                number = 2 * pair + which                   # among those that A holds
                value = a[line, 4 * pair + kept] = int(random.integers(-1, 2))
                put(source[:8], line + 16 * (number // block_a % 2), number // (2 * block_a) * block_a + number % block_a, left, value)
                entry = number % entries
                source[38 + entry // 16, line + 16 * (number // entries)] |= int(kept) << entry % 16 * 2
        for k in range(depth):
            put(source[8:24], line + 16 * (k // block_b % 2), k // (2 * block_b) * block_b + k % block_b, right, int(b[k, line]))
    for lane in range(LANES):
        for element in range(8):
            put(source[24:32], lane, element, total, int(c[element + 8 * (lane // 16), lane % 16]))
    sums = 8 * KINDS[total][0] // 32
    flags = " neg_lo:[1,1,0]" if left == "iu8" else ""
    text = f"{name} v[32:{31 + sums}], v[8:15], v[16:31], {'v[46:47]' if eight else 'v46'}{flags}"
    found = run(assemble, engine, text, source, sums, first=32)
    expected = a @ b + c
    for lane in range(LANES):
        for element in range(8):
            bits, encode, _ = KINDS[total]
            got = int(found[element * bits // 32, lane]) >> element * bits % 32 & (1 << bits) - 1
            assert got == encode(int(expected[element + 8 * (lane // 16), lane % 16])), (name, lane, element)


#: E2M1 by value.
FOURS = {value: code for code, value in enumerate((0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0))}


def fifth(code: int) -> float:
    """E5M3: no sign, biased by 15, denormals."""
    return float((code & 7 | 8) * 2.0 ** ((code >> 3) - 18) if code >> 3 else (code & 7) * 2.0**-17)


@pytest.mark.parametrize("scale", ["E8", "E5M3"])
def test_scaled_matrices(assemble: Assemble, scale: str) -> None:
    """FP8 by FP4 with scales for 32 elements each: 8-bit elements run through the groups of lanes by 16, 4-bit ones by 32."""
    random = np.random.default_rng(18)
    a, b = random.integers(-3, 4, (16, 128)), random.choice([0.0, 0.5, 1.0, 2.0, -1.5], (128, 16))
    scale_a, scale_b = random.integers(125, 130, (16, 4)), random.integers(126, 129, (16, 4))
    if scale == "E5M3":
        scale_b = random.integers(1, 250, (16, 4))
        scale_b[:3] = random.integers(0, 8, (3, 4))
    source = np.zeros((34, LANES), np.uint64)
    for lane in range(LANES):
        group, line = lane // 16, lane % 16
        for place in range(64):
            k = place // 16 * 32 + 16 * group + place % 16
            source[place // 4, lane] |= BYTES[4][float(a[line, k])] << place % 4 * 8
            k = place // 32 * 64 + 32 * group + place % 32
            value = float(b[k, line])
            source[16 + place // 8, lane] |= (FOURS[abs(value)] | (8 if value < 0 else 0)) << place % 8 * 4
        source[32, lane] = sum(int(scale_a[line, i]) << 8 * i for i in range(4)) if group == 0 else 0x7F7F7F7F
        source[33, lane] = sum(int(scale_b[line, i]) << 8 * i for i in range(4)) if group else 0x7F7F7F7F
    text = ("v_wmma_scale_f32_16x16x128_f8f6f4 v[44:51], v[8:23], v[24:31], 1.0, v40, v41 matrix_b_fmt:MATRIX_FMT_FP4 "
            "matrix_b_scale:MATRIX_SCALE_ROW1" + (" matrix_b_scale_fmt:MATRIX_SCALE_FMT_E5M3" if scale == "E5M3" else ""))
    found = run(assemble, "reference", text, source, 8, first=44).view(np.float32)
    left = a * np.repeat(2.0 ** (scale_a - 127.0), 32, axis=1)
    factors = 2.0 ** (scale_b - 127.0) if scale == "E8" else np.vectorize(fifth)(scale_b)
    right = b * np.repeat(factors, 32, axis=1).T
    expected = left @ right + 1
    for lane in range(LANES):
        for element in range(8):
            assert found[element, lane] == np.float32(expected[element + 8 * (lane // 16), lane % 16]), (lane, element)


def tensor(tile: tuple[int, ...], bound: tuple[int, ...], stride: tuple[int, ...], *, first: str = "s[0:1]", offset: int = 0, lds: int = 0,
           gaps: tuple[int, int] | None = None, rows: tuple[int, ...] = (), flags: int = 0, count: int = 1, long: bool = True,
           again: tuple[int, int, int] | None = None, barrier: int = 0) -> str:  # fmt: skip
    """Instructions that put the descriptor of a tile of dwords into s[8:27].

    `gaps`: codes of interval and amount; `rows` of 32 bits if `long`; `again`: how many times more, and the steps in memory and LDS; `barrier`: its
    place.
    """
    (x, y, z, w, v), bound, stride = (*tile, 0, 0, 0)[:5], (*bound, 0, 0, 0)[:5], (*stride, 0, 0, 0, 0)[:4]
    flags |= (1 << 18 if barrier else 0) | (1 << 19 if again else 0)
    words = [2 << 16 | flags, bound[0] << 16 | barrier >> 3, bound[0] >> 16 | bound[1] << 16, bound[1] >> 16 | x << 16, y | z << 16,
             stride[0], stride[1] << 16,
             stride[1] >> 16]  # fmt: skip
    words[0] |= 1 << 20 | gaps[0] << 22 | gaps[1] << 25 if gaps else 0
    if not long:
        rows = tuple(low | high << 16 for low, high in zip(rows[::2], (*rows[1::2], 0), strict=False))
    outer = (again[2], again[1], again[0] << 16) if again else (bound[3], stride[2], w << 16)
    words += [*rows, *[0] * (8 - len(rows))] if rows else [
        bound[2], *outer, stride[3], bound[4] << 16, bound[4] >> 16 | v << 16, 0]  # fmt: skip
    lines = [f"s_add_nc_u64 s[10:11], {first}, {offset}", "s_and_b32 s11, s11, 0x1ffffff", "s_bitset1_b32 s11, 31",
             f"s_mov_b32 s8, {count | (1 << 31 if rows else 0) | (1 << 30 if rows and long else 0):#x}", f"s_mov_b32 s9, {lds}"]  # fmt: skip
    return "\n".join(lines + [f"s_mov_b32 s{12 + i}, {word:#x}" for i, word in enumerate(words)]) + "\n"


TWO, FOUR = "s[8:11], s[12:19]", "s[8:11], s[12:19], s[20:23], s[24:27]"
FILL = "v_mov_b32 v20, 7\nds_store_b32 v1, v20\nds_store_b32 v1, v20 offset:128\ns_wait_dscnt 0\n"
READ = "s_wait_tensorcnt 0\nds_load_b32 v20, v1\nds_load_b32 v21, v1 offset:128\ns_wait_dscnt 0"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("groups", "tile", "bound", "stride", "gaps", "rows"), [
    (TWO, (6, 3), (6, 3), (32,), None, ()), (TWO, (6, 3), (5, 2), (32,), None, ()), (TWO, (6, 3), (5, 2), (32,), (1, 0), ()),
    (TWO, (9, 1), (4, 1), (32,), (0, 2), ()), (FOUR, (3, 2, 2), (3, 1, 5), (4, 32), None, ()),
    (FOUR, (2, 2, 2, 2, 2), (2, 2, 2, 2, 1), (32, 8, 16, 64), None, ()),
    (FOUR, (4, 3), (3, 4), (32,), None, (3, 0, 9)),
])  # fmt: skip
def test_tensor_loads(assemble: Assemble, engine: str, groups: str, tile: tuple[int, ...], bound: tuple[int, ...], stride: tuple[int, ...],
                      gaps: tuple[int, int] | None, rows: tuple[int, ...]) -> None:  # fmt: skip
    """Beyond the tensor's bounds zeros; gaps keep what LDS had. EXEC does not count."""
    data = words(8, LANES)
    text = tensor(tile, bound, stride, offset=8, lds=4, gaps=gaps, rows=rows)
    body = FILL + text + f"s_mov_b32 exec_lo, 0\ntensor_load_to_lds {groups}\ns_mov_b32 exec_lo, -1\n" + READ
    found = run(assemble, engine, body, data, 2, lds=4096, first=20).reshape(-1)
    expected, flat = np.full(64, 7, U32), data.reshape(-1)[2:]
    for position, place in enumerate(np.ndindex(tile[::-1])):
        at = list(place[::-1])
        at[1] = rows[at[1]] if rows else at[1]
        inside = all(one < limit for one, limit in zip(at, bound, strict=True))
        gap = position // (2 << gaps[0]) * (gaps[1] + 1) if gaps else 0
        expected[1 + position + gap] = flat[sum(one * by for one, by in zip(at, (1, *stride), strict=True))] if inside else 0
    assert (found == expected).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_tensor_stores(assemble: Assemble, engine: str) -> None:
    """What is beyond the bounds is dropped, gaps do not count, and a count of 0 moves nothing."""
    data = words(1, LANES)
    text = tensor((5, 3), (4, 2), (32,), first="s[2:3]", offset=4, gaps=(0, 0))
    other = tensor((5, 3), (4, 2), (32,), first="s[2:3]", offset=64, count=0)
    body = "\n".join(["ds_store_b32 v1, v8", "s_wait_dscnt 0", text, f"tensor_store_from_lds {TWO}", other, f"tensor_store_from_lds {TWO}",
                      "s_wait_tensorcnt 0", "global_load_b32 v20, v1, s[2:3]", "global_load_b32 v21, v1, s[2:3] offset:128",
                      "s_wait_loadcnt 0"])  # fmt: skip
    found = run(assemble, engine, body, data, 2, lds=4096, first=20)
    expected = np.zeros((2, LANES), U32)
    expected[0, 1:5], expected[1, 1:5] = data[0, :4], data[0, 5:9]
    assert (found == expected).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gather_by_rows_of_16_bits(assemble: Assemble, engine: str) -> None:
    data = words(8, LANES)
    text = tensor((4, 5), (4, 8), (32,), rows=(3, 0, 9, 7, 1), long=False)
    found = run(assemble, engine, FILL + text + f"tensor_load_to_lds {FOUR}\n" + READ, data, 2, lds=4096, first=20).reshape(-1)
    rows = [np.zeros(4, U32) if row > 7 else data[row, :4] for row in (3, 0, 9, 7, 1)]
    assert (found == np.concatenate([*rows, np.full(44, 7, U32)])).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("tile", "bound", "stride", "again", "gaps"), [
    ((4, 1), (16, 8), (32,), (2, 64, 6), None),                 # every other row
    ((4, 1), (16, 8), (32,), (3, 4, 5), (0, 0)),                # side by side
    ((3, 2), (2, 9), (32,), (2, 0, 8), None),                   # the same tile again, whose end is beyond the tensor
    ((2, 2, 2), (8, 2, 4), (16, 64), (1, 128, 9), None),
])  # fmt: skip
def test_tensors_that_iterate(assemble: Assemble, engine: str, tile: tuple[int, ...], bound: tuple[int, ...], stride: tuple[int, ...],
                              again: tuple[int, int, int], gaps: tuple[int, int] | None) -> None:  # fmt: skip
    data = words(8, LANES)
    text = tensor(tile, bound, stride, again=again, gaps=gaps)
    found = run(assemble, engine, FILL + text + f"tensor_load_to_lds {FOUR}\n" + READ, data, 2, lds=4096, first=20).reshape(-1)
    expected, flat = np.full(64, 7, U32), data.reshape(-1)
    for number in range(again[0] + 1):
        for position, place in enumerate(np.ndindex(tile[::-1]), number * again[2]):
            inside = all(one < limit for one, limit in zip(place[::-1], bound, strict=True))
            value = flat[number * again[1] + sum(one * by for one, by in zip(place[::-1], (1, *stride), strict=True))] if inside else 0
            expected[position + (position // (2 << gaps[0]) * (gaps[1] + 1) if gaps else 0)] = value
    assert (found == expected).all()
    if not gaps:
        body = "ds_store_b32 v1, v8\nds_store_b32 v1, v9 offset:128\ns_wait_dscnt 0\n" + tensor(tile, bound, stride, first="s[2:3]", again=again)
        body += f"tensor_store_from_lds {FOUR}\ns_wait_tensorcnt 0\n"
        body += "\n".join(f"global_load_b32 v{20 + row}, v1, s[2:3] offset:{128 * row}" for row in range(8)) + "\ns_wait_loadcnt 0"
        expected = np.zeros(8 * LANES, U32)
        for number in range(again[0] + 1):
            for position, place in enumerate(np.ndindex(tile[::-1]), number * again[2]):
                if all(one < limit for one, limit in zip(place[::-1], bound, strict=True)):
                    expected[number * again[1] + sum(one * by for one, by in zip(place[::-1], (1, *stride), strict=True))] = flat[position]
        assert (run(assemble, engine, body, data, 8, lds=4096, first=20).reshape(-1) == expected).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_tensors_that_arrive_at_a_barrier(assemble: Assemble, engine: str) -> None:
    """Two arrivals end a phase for which one more than 1 is awaited; a count of 0 does not arrive."""
    start = "v_mov_b32 v18, 1\nv_mov_b32 v19, 1\nv_mov_b32 v20, 0x208\nds_store_b64 v20, v[18:19]\ns_wait_dscnt 0\n"
    load = tensor((4, 1), (4, 1), (32,), barrier=0x208) + f"tensor_load_to_lds {TWO}\n"
    none = tensor((4, 1), (4, 1), (32,), barrier=0x208, count=0) + f"tensor_load_to_lds {TWO}\n"
    read = "s_wait_tensorcnt 0\nds_load_b64 v[22:23], v20\ns_wait_dscnt 0\n"
    for body, expected in ((load, 0), (none, 1), (load + load, 1 << 29 | 1), (load * 3, 1 << 29)):
        found = run(assemble, engine, start + body + read, words(1, LANES), 2, lds=1024, first=22)
        assert (found[0] == expected).all() and (found[1] == 1).all()


@pytest.mark.parametrize(("flags", "again"), [(3, None), (0, (1, 64, 4)), (0, (256, 0, 4)), (1 << 19, None)])
def test_tensors_that_are_refused(assemble: Assemble, flags: int, again: tuple[int, int, int] | None) -> None:
    """Several workgroups; iterations that leave the tensor, too many of them, without the group that says how."""
    text = tensor((4, 1), (4, 1), (32,), flags=flags, again=again)
    with pytest.raises(UnsupportedError, match="tensor_load_to_lds"):
        run(assemble, "reference", text + f"tensor_load_to_lds {FOUR if again else TWO}", words(1, LANES), 1, lds=1024)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [
    "v_swmmac_f32_16x16x64_f16 v[16:23], v[24:31], v[32:47], v8 index_key:1", "v_swmmac_bf16f32_16x16x64_bf16 v[16:23], v[24:31], v[32:47], v8",
    "v_wmma_f32_16x16x128_f8f6f4 v[16:23], v[24:39], v[40:47], v[16:23] matrix_b_fmt:MATRIX_FMT_FP4",
    "v_wmma_ld_scale_paired_b32 v8, v9",
])  # fmt: skip
def test_what_is_not_known_is_refused_by_name(assemble: Assemble, engine: str, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text.split()[0]):
        run(assemble, engine, text, words(1, LANES), 1, lds=1024)


def late(text: str, target: str, wave: int = LANES) -> bytes:
    """LLVM 22, the assembler of the other tests, does not know what gfx1251 has beside gfx1250."""
    return isa.assemble(text, target, wave_size=wave)


STOCHASTIC = [row.name for row in opcodes.rows() if "12.5" in row.numbers and re.match(r"v_cvt_(scalef32_)?sr_pk(8|16)?_", row.name)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", STOCHASTIC)
def test_stochastic_conversions(engine: str, name: str) -> None:
    """Each element has the next one of V_PRNG_B32's numbers."""
    kind = Conversion(name)
    counts = [*([1, 1] if kind.pair else [kind.registers(kind.source)]), *[1] * (1 + kind.scaled)]
    rows = inputs(kind, sum(counts))[:, LANES:].copy()
    rows[-1 - kind.scaled] = words(LANES)
    if kind.scaled:
        rows[-1] = [(127 if lane % 3 else (lane * 5 + 90) & 255) << 23 | lane for lane in range(LANES)]
    firsts = [8 + sum(counts[:i]) for i in range(len(counts))]
    results = kind.registers(kind.target)
    text = f"{name} {span(60, results)}, {', '.join(span(first, count) for first, count in zip(firsts, counts, strict=True))}"
    found = run(late, engine, text, rows, results, first=60)
    for lane in range(LANES):
        operands = [[int(word) for word in rows[first - 8 : first - 8 + count, lane]] for first, count in zip(firsts, counts, strict=True)]
        wanted = elements_of(kind, operands, [0] * results, 0, (0, 0))
        assert same(kind, [int(word) for word in found[:, lane]], wanted), (text, lane, [hex(word) for word in wanted])


def test_modifiers_of_stochastic_pairs() -> None:
    data = words(3, LANES)
    data[0], data[1] = (np.linspace(start, 3, LANES, dtype=np.float32).view(U32) for start in (-3, -1))
    plain, other = (run(late, "fast", f"v_cvt_sr_pk_bf16_f32 v20, {text}", data, 1, first=20)[0] for text in (
        "v8, v9, v10", "-v8, |v9|, v10 clamp"))
    low, high = plain << 16 ^ 0x80000000, plain & 0x7FFF0000
    for half, got in ((low, other << 16), (high, other & 0xFFFF0000)):
        assert (got.astype(U32).view(np.float32) == np.clip(half.astype(U32).view(np.float32), 0, 1)).all()


def doubles(rows: np.ndarray) -> np.ndarray:
    """Pairs of rows of registers as doubles."""
    return np.stack([np.stack([rows[row], rows[row + 1]], 1).copy().view(np.float64)[:, 0] for row in range(0, len(rows), 2)])


def halved(values: np.ndarray) -> np.ndarray:
    """Rows of 64 bits as pairs of rows of registers."""
    return values.view(np.uint32).reshape(*values.shape, 2).transpose(0, 2, 1).reshape(2 * len(values), -1)


@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_of_64_bits(engine: str) -> None:
    """Packed operations of gfx1251 on two pairs of registers, with signs for each; constants and SGPRs."""
    random = np.random.default_rng(1251)
    a, b, c = (random.standard_normal((2, LANES)) for _ in range(3))
    data = np.concatenate([halved(values) for values in (a, b, c)])
    body = """
        s_mov_b64 s[8:9], 0x4008000000000000
        s_mov_b64 s[10:11], 0x4010000000000000
        v_pk_fma_f64 v[32:35], v[8:11], v[12:15], v[16:19] neg_lo:[1,0,0] neg_hi:[0,0,1]
        v_pk_add_f64 v[36:39], v[8:11], s[8:11]
        v_pk_mul_f64 v[40:43], v[8:11], 2.0 clamp
        v_pk_max_num_f64 v[44:47], v[8:11], v[12:15]
        v_pk_min_num_f64 v[48:51], v[8:11], v[12:15]
    """
    found = doubles(run(late, engine, body, data, 20, target="gfx1251", first=32))
    fused = [np.array([float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(*row, strict=True)]) for row in zip(a * [[-1], [1]], b,
             c * [[1], [-1]], strict=True)]  # fmt: skip
    expected = [*fused, a[0] + 3, a[1] + 4, *np.clip(2 * a, 0, 1), *np.maximum(a, b), *np.minimum(a, b)]
    assert np.array_equal(found, np.stack(expected))


@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_of_64_bit_integers(engine: str) -> None:
    random = np.random.default_rng(1252)
    whole = random.integers(0, 1 << 64, (6, LANES), dtype=np.uint64)
    shifts = random.integers(0, 8, (2, LANES), dtype=np.uint32)
    body = """
        v_pk_add_nc_u64 v[32:35], v[8:11], v[12:15]
        v_pk_sub_nc_u64 v[36:39], v[8:11], v[12:15] clamp
        v_pk_lshl_add_u64 v[40:43], v[8:11], v[20:21], v[16:19]
    """
    found = run(late, engine, body, np.concatenate([halved(whole), shifts]), 12, target="gfx1251", first=32)
    a, b, c = whole.reshape(3, 2, LANES)
    expected = [*(a + b), *np.where(b > a, np.uint64(0), a - b), *((a << shifts.astype(np.uint64)) + c)]
    assert np.array_equal(found, halved(np.stack(expected)))


@pytest.mark.parametrize("engine", ENGINES)
def test_matrices_of_doubles(engine: str) -> None:
    """gfx1251: a lane has two elements of a row of A, of a column of B, and eight rows of a column of C."""
    random = np.random.default_rng(64)
    a, b, c = random.integers(-9, 9, (16, 4)), random.integers(-9, 9, (4, 16)), random.integers(-99, 99, (16, 16))
    lane = np.arange(LANES)
    rows = [a[lane % 16, lane // 16 * 2 + k] for k in range(2)] + [b[lane // 16 * 2 + k, lane % 16] for k in range(2)]
    rows += [c[element + 8 * (lane // 16), lane % 16] for element in range(8)]
    body = "v_wmma_f64_16x16x4_f64 v[32:47], v[8:11], v[12:15], v[16:31] neg_lo:[1,0,1]\nv_wmma_f64_16x16x4_f64 v[48:63], v[8:11], v[12:15], 1.0"
    found = doubles(run(late, engine, body, halved(np.array(rows, np.float64)), 32, target="gfx1251", first=32))
    for first, sums in ((0, -(a @ b) - c), (8, a @ b + 1)):
        assert np.array_equal(found[first : first + 8], np.stack([sums[element + 8 * (lane // 16), lane % 16] for element in range(8)]))


def test_waves_of_64_lanes_are_refused() -> None:
    from pyaco.errors import InputError

    with pytest.raises(InputError, match="no waves of 64 lanes"):
        Device("gfx1250").run(b"\0\0\xb0\xbf", (1, 1, 1), (64, 1, 1), wave_size=64)


def check_waits(assemble: Assemble, body: str) -> None:
    device = Device("gfx1250", check="waits")
    memory = device.buffer(np.zeros(4096, U32))
    text = f"v_and_b32 v0, 31, v0\nv_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0\n{body}\ns_endpgm\n"
    device.run(assemble(text, "gfx1250", LANES), (1, 1, 1), (LANES, 1, 1), user_sgprs=[memory.address & 0xFFFFFFFF, memory.address >> 32],
               lds_bytes=1024)  # fmt: skip


LOAD, OTHER, STORE = "global_load_b32 v8, v1, s[0:1]\n", "global_load_b32 v9, v2, s[0:1]\n", "global_store_b32 v1, v2, s[0:1]\n"
TILE = tensor((4, 2), (4, 2), (32,))
SCALAR = "s_load_b32 s8, s[0:1], 0x0\n"
TO_LDS, FROM_LDS = "global_load_async_to_lds_b32 v1, v2, s[0:1]\n", "global_store_async_from_lds_b32 v2, v1, s[0:1]\n"


@pytest.mark.parametrize(("body", "wait", "register"), [
    (LOAD + "v_mov_b32 v9, v8", "loadcnt", "v8"),
    ("s_set_vgpr_msb 0xc0\n" + LOAD + "s_set_vgpr_msb 3\nv_mov_b32 v9, v8", "loadcnt", "v776"),
    (LOAD + "v_mov_b32 v1, 0", "xcnt", "v1"), (STORE + "v_mov_b32 v2, 0", "xcnt", "v2"),
    (LOAD + OTHER + "s_wait_xcnt 1\nv_mov_b32 v2, 0", "xcnt", "v2"), (SCALAR + "s_mov_b32 s0, 0", "xcnt", "s0"),
    (SCALAR + LOAD + "s_mov_b32 s0, 0", "xcnt", "s0"), (TO_LDS + "ds_load_b32 v9, v1", "asynccnt", "lds"),
    (FROM_LDS + "ds_store_b32 v1, v2", "asynccnt", "lds"),
    (TILE + f"tensor_load_to_lds {TWO}\nds_load_b32 v9, v1", "tensorcnt", "lds"),
    (TILE + f"tensor_load_to_lds {TWO}\ntensor_load_to_lds {TWO}\ns_wait_tensorcnt 1\nds_load_b32 v9, v1", "tensorcnt", "lds"),
    (TILE + f"tensor_store_from_lds {TWO}\nds_store_b32 v1, v2", "tensorcnt", "lds"),
])  # fmt: skip
def test_missing_waits(assemble: Assemble, body: str, wait: str, register: str) -> None:
    with pytest.raises(MissingWaitError, match=f"s_wait_{wait} is missing") as caught:
        check_waits(assemble, body)
    assert caught.value.place["register"] == register


@pytest.mark.parametrize("body", [
    LOAD + "s_wait_loadcnt 0\nv_mov_b32 v9, v8", "s_set_vgpr_msb 0xc0\n" + LOAD + "s_set_vgpr_msb 0\nv_mov_b32 v9, v8",
    LOAD + "s_wait_xcnt 0\nv_mov_b32 v1, 0", LOAD + "s_wait_loadcnt 0\nv_mov_b32 v1, 0",
    LOAD + OTHER + "s_wait_xcnt 1\nv_mov_b32 v1, 0", LOAD + "global_load_b32 v1, v2, s[0:1]",
    STORE + "global_load_b32 v9, v3, s[0:1]\ns_wait_loadcnt 0\nv_mov_b32 v1, 0",      # loads behind it are done: it is translated
    STORE + "global_load_b32 v2, v3, s[0:1]\nv_mov_b32 v1, 0",       # the load waits for the translation, because it writes what is stored
    STORE + SCALAR + "v_mov_b32 v2, 0", LOAD + "s_branch there\nthere:\nv_mov_b32 v1, 0", SCALAR + "s_wait_kmcnt 0\ns_mov_b32 s0, 0",
    LOAD + "v_writelane_b32 v3, s0, 4", TO_LDS + "s_wait_asynccnt 0\nds_load_b32 v9, v1", TO_LDS + TO_LDS,
    TILE + f"tensor_load_to_lds {TWO}\ns_wait_tensorcnt 0\nds_load_b32 v9, v1", TILE + f"tensor_load_to_lds {TWO}\nds_load_b32 v9, v1 offset:256",
    TILE + f"tensor_store_from_lds {TWO}\nds_load_b32 v9, v1",
    FROM_LDS + "ds_load_b32 v9, v1", FROM_LDS + "s_wait_asynccnt 0\nds_store_b32 v1, v2",
])  # fmt: skip
def test_waits_that_are_enough(assemble: Assemble, body: str) -> None:
    check_waits(assemble, body)


@pytest.mark.parametrize(("body", "use"), [
    ("s_set_vgpr_msb 1\nv_add_nc_u32 v2, v7, v7\ns_set_vgpr_msb 0\nglobal_store_b32 v1, v2, s[0:1]", "store"),
    ("s_set_vgpr_msb 0x40\nv_mov_b32 v7, v1\ns_set_vgpr_msb 1\nv_mov_b32 v2, v7\ns_set_vgpr_msb 0\nglobal_store_b32 v1, v2, s[0:1]", None),
    ("global_load_b32 v8, v200, s[0:1]", "address"), ("global_load_async_to_lds_b32 v200, v1, s[0:1]", "address"),
    ("global_store_async_from_lds_b32 v1, v1, s[0:1]", "store"),
    (TO_LDS + "s_wait_asynccnt 0\nds_load_b32 v9, v1\ns_wait_dscnt 0\nglobal_store_b32 v1, v9, s[0:1]", None),
    ("v_dual_add_f32 v8, v200, v201 :: v_dual_mov_b32 v9, v1\nglobal_store_b32 v1, v8, s[0:1]", "store"),
    ("v_dual_fma_f32 v8, v1, v1, v2 :: v_dual_add_f32 v9, v202, v203\nglobal_store_b32 v1, v9, s[0:1]", "store"),
    ("v_dual_fma_f32 v8, v1, v1, v2 :: v_dual_add_f32 v9, v200, v1\nglobal_store_b32 v1, v9, s[0:1]", None),
])  # fmt: skip
def test_uninitialized(body: str, use: str | None) -> None:
    device = Device("gfx1250", check="uninitialized")
    memory = device.buffer(np.zeros(4096, U32))
    code = isa.assemble(f"v_and_b32 v0, 31, v0\nv_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0\n{body}\ns_endpgm\n", "gfx1250", wave_size=32)
    arguments: dict[str, object] = {"user_sgprs": [memory.address & 0xFFFFFFFF, memory.address >> 32], "lds_bytes": 1024}
    if use is None:
        device.run(code, (1, 1, 1), (LANES, 1, 1), **arguments)  # type: ignore[arg-type]
        return
    with pytest.raises(UninitializedError) as caught:
        device.run(code, (1, 1, 1), (LANES, 1, 1), **arguments)  # type: ignore[arg-type]
    assert caught.value.place["use"] == use


def cycles(target: str, body: str) -> int:
    """Cycles of the model for a wave."""
    report = Device(target, profile=True).run(isa.assemble(body + "\ns_endpgm", target, wave_size=32), (1, 1, 1), (32, 1, 1))
    assert report.profile is not None
    return report.profile.longest_wave


@pytest.mark.parametrize(("target", "name", "size", "matrix"), [
    ("gfx1250", "v_wmma_f32_16x16x32_f16", 8, 8), ("gfx1250", "v_wmma_i32_16x16x64_iu8", 8, 16), ("gfx1250", "v_wmma_f32_16x16x128_f8f6f4", 16, 16),
    ("gfx1251", "v_wmma_f32_16x16x32_f16", 8, 16), ("gfx1251", "v_wmma_f32_16x16x128_fp8_bf8", 16, 32), ("gfx1251", "v_wmma_i32_16x16x64_iu8", 8, 32),
])  # fmt: skip
def test_profile_of_matrices(target: str, name: str, size: int, matrix: int) -> None:
    """Matrix operations wait for each other in their pipeline, and other vector instructions go on beside them (LLVM 23, SISchedule.td)."""
    one = f"{name} v[20:27], v[40:{39 + size}], v[56:{55 + size}], v[20:27]\n"
    other = f"{name} v[80:87], v[40:{39 + size}], v[56:{55 + size}], v[80:87]\n"
    assert cycles(target, one + other) - cycles(target, one) == matrix
    assert cycles(target, one + "v_mov_b32 v4, v5\n" * 3) == cycles(target, one)


#: Instructions, and the cycles of each on gfx1250 and gfx1251.
LATENCIES = (
    ("v_add_f32 v4, v4, v5", 5, 5), ("v_mul_lo_u32 v4, v4, v5", 8, 8), ("v_exp_f32 v4, v4", 8, 8), ("v_tanh_f32 v4, v4", 8, 8),
    ("v_exp_bf16 v4, v4", 8, 8), ("s_add_co_i32 s10, s10, s11", 2, 2), ("s_add_f32 s10, s10, s11", 4, 4),
    ("v_add_nc_u64 v[4:5], v[4:5], v[6:7]", 5, 5), ("v_lshl_add_u64 v[4:5], v[4:5], 2, v[6:7]", 5, 5),
    ("v_lshlrev_b64 v[4:5], 2, v[4:5]", 6, 5), ("v_mul_u64 v[4:5], v[4:5], v[6:7]", 37, 6), ("v_max_i64 v[4:5], v[4:5], v[6:7]", 37, 5),
    ("v_mad_u32 v4, v4, v5, v6", 8, 8), ("v_mad_nc_u64_u32 v[4:5], v4, v6, v[4:5]", 8, 8), ("v_mad_co_u64_u32 v[4:5], s10, v4, v6, v[4:5]", 8, 8),
    ("v_add_f64 v[4:5], v[4:5], v[6:7]", 37, 5), ("v_fma_f64 v[4:5], v[4:5], v[6:7], v[8:9]", 37, 5),
    ("v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[8:9]", 37, 6), ("v_rcp_f64 v[4:5], v[4:5]", 38, 7),
    ("v_wmma_f32_16x16x4_f32 v[20:27], v[40:41], v[42:43], v[20:27]", 16, 16),
    ("v_swmmac_f32_16x16x64_f16 v[20:27], v[40:47], v[56:71], v80", 8, 16),
    ("v_swmmac_i32_16x16x128_iu8 v[20:27], v[40:47], v[56:71], v[80:81]", 16, 32),
)  # fmt: skip


@pytest.mark.parametrize("target", ["gfx1250", "gfx1251"])
def test_profile_of_latencies(target: str) -> None:
    """Each instruction needs the result of the one before it. LLVM 23's llvm-mca says the same of all of them (GFX125*SpeedModel)."""
    column = 2 if target == "gfx1251" else 1
    wrong = {}
    for line in LATENCIES:
        text, latency = line[0] + "\n", line[column]
        found = cycles(target, text * 3) - cycles(target, text * 2)
        if found != latency:
            wrong[text] = (found, latency)
    assert not wrong


@pytest.mark.parametrize(("text", "latency", "overhead"), [
    (f"tensor_load_to_lds {TWO}\ns_wait_tensorcnt 0", 320, 2), ("global_load_async_to_lds_b32 v1, v1, s[0:1]\ns_wait_asynccnt 0", 320, 2),
    ("global_load_b32 v1, v1, s[0:1]\ns_wait_loadcnt 0", 320, 2), ("ds_load_b32 v1, v1\ns_wait_dscnt 0", 20, 2),
])  # fmt: skip
def test_profile_of_memory(text: str, latency: int, overhead: int) -> None:
    """What is waited for takes LLVM's latency, and the wait itself."""
    device = Device("gfx1250", profile=True)
    data = device.buffer(np.zeros(4 * LANES, U32))
    times = []
    for count in (1, 2):
        body = "v_mov_b32 v1, 0\n" + tensor((4, 1), (4, 1), (32,)) + f"{text}\n" * count + "s_endpgm"
        address = [data.address & 0xFFFFFFFF, data.address >> 32]
        report = device.run(late(body, "gfx1250"), (1, 1, 1), (LANES, 1, 1), user_sgprs=address, lds_bytes=1024)
        assert report.profile is not None
        times.append(report.profile.longest_wave)
    assert times[1] - times[0] == latency + overhead
