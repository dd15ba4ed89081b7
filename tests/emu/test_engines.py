"""Both engines give the same registers, bit for bit, and the same errors."""

from __future__ import annotations

import numpy as np
import pytest
from machine_code import Assemble
from test_vector_alu import ALU, LANES, inputs, kernel

from pyaco._core.emu.reference import Engine
from pyaco._core.emu_fast.engine import FastEngine
from pyaco.emu import Device
from pyaco.emu.device import ENGINES
from pyaco.errors import PyacoError, UnsupportedError

U32 = np.uint32
ROWS = 24


def results_of(engine: str, target: str, code: bytes, mode: int, wave: int) -> np.ndarray:
    device = Device(target, engine=engine)
    source, results = device.buffer(inputs()), device.buffer(np.zeros((len(ALU), LANES), np.uint64))
    user = [word for buffer in (source, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    device.run(code, (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=wave, float_mode=mode)
    return results.numpy()


@pytest.mark.parametrize("mode", [0xC0, 0xF0, 0x00, 0xF5])
@pytest.mark.parametrize(("target", "wave"), [("gfx1100", 32), ("gfx1030", 64)])
def test_vector_alu(assemble: Assemble, target: str, wave: int, mode: int) -> None:
    """Every instruction of the ALU tests in four settings of MODE, one with another rounding."""
    code = assemble(kernel(target, ALU), target, wave)
    reference, fast = (results_of(engine, target, code, mode, wave) for engine in ENGINES)
    wrong = [ALU[row][0] for row in np.flatnonzero((reference != fast).any(axis=1))]
    assert not wrong


def outcome(device: Device, code: bytes, wave: int, setup: np.ndarray) -> tuple[object, object]:
    """Registers after a program, or its error."""
    source, results = device.buffer(setup), device.buffer(np.zeros((ROWS, wave), U32))
    user = [word for buffer in (source, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    try:
        report = device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave, lds_bytes=256, budget=500)
    except PyacoError as error:
        return type(error).__name__, error.args[0].split(" at 0x")[0]
    finally:
        for buffer in (source, results):
            device.space.release(buffer.address)
    return results.numpy().tobytes(), report.opcodes


@pytest.mark.parametrize(("target", "wave"), [("gfx1100", 32), ("gfx1200", 64)])
def test_random_instructions(assemble: Assemble, target: str, wave: int) -> None:
    """Random vector ALU words between a prologue that fills registers and an epilogue that stores them."""
    random = np.random.default_rng(41)
    setup = random.integers(0, 1 << 32, (ROWS, wave), dtype=U32)
    setup[::2] = random.standard_normal(setup[::2].shape).astype(np.float32).view(U32)
    first = ["v_and_b32 v255, 0x3ff, v0", "v_lshlrev_b32 v255, 2, v255", "s_mov_b64 s[80:81], s[2:3]"]
    first += [f"global_load_b32 v{row}, v255, s[0:1] offset:{row * wave * 4}" for row in range(ROWS)]
    exec_ = "s_mov_b32 exec_lo, -1" if wave == 32 else "s_mov_b64 exec, -1"
    last = [exec_] + [f"global_store_b32 v255, v{row}, s[80:81] offset:{row * wave * 4}" for row in range(ROWS)]
    prologue = assemble("\n".join([*first, "s_mov_b32 exec_lo, 0xffff7ff1", ""]), target, wave)
    epilogue = assemble("\n".join([*last, "s_endpgm", ""]), target, wave)
    devices = [Device(target, engine=engine) for engine in ENGINES]
    executed = set()
    for _ in range(700):
        words = random.integers(0, 1 << 32, 8, dtype=U32)
        # VOP1, VOP2, VOPC on the registers that were filled, sources from registers and constants
        kinds = random.integers(0, 8)
        place = random.integers(0, ROWS, 3)
        if kinds < 6:
            source = int(random.choice([256 + place[0], 128 + place[0], 240 + place[0] % 9, 8]))
            words[0] = int(random.integers(0, 64)) << 25 | int(place[1]) << 17 | int(place[2]) << 9 | source
            words[1:] = 0xBF800000
        else:
            words[0] = 0xD4000000 | int(words[0]) & 0x3FF0000 | int(place[2])
            words[1] = 256 + int(place[0]) | (256 + int(place[1])) << 9 | (256 + int(place[2])) << 18
            words[2:] = 0xBF800000
        code = prologue + words.tobytes() + epilogue
        found = [outcome(device, code, wave, setup) for device in devices]
        assert found[0] == found[1], [hex(word) for word in words[:2]]
        if isinstance(found[0][1], dict):
            executed |= set(found[0][1])
    assert len(executed) > 90


# The store writes "v_mov_b32 v2, 9" over the instruction behind it, 20 bytes after the address that s_getpc gives.
OVERWRITTEN = """
    s_getpc_b64 s[4:5]
    v_mov_b32 v0, 0
    v_mov_b32 v1, 0x7e040289
    global_store_b32 v0, v1, s[4:5] offset:20
    v_mov_b32 v2, 5
    global_store_b32 v0, v2, s[0:1]
    global_load_b32 v3, v0, s[4:5] offset:20
    global_store_b32 v0, v3, s[0:1] offset:4
    s_endpgm
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_stores_to_code_do_not_change_what_runs(assemble: Assemble, engine: str) -> None:
    """However early an engine decodes: the instruction cache does not see the store, memory has it."""
    device = Device("gfx1100", engine=engine)
    results = device.buffer(np.zeros(2, U32))
    device.run(assemble(OVERWRITTEN, "gfx1100"), (1, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32))
    assert results.numpy().tolist() == [5, 0x7E040289]


@pytest.mark.parametrize("engine", ENGINES)
def test_constants_of_halves_have_sixteen_bits(assemble: Assemble, engine: str) -> None:
    """The sign of a negative constant does not reach the other half of a packed result."""
    text = "v_mov_b32 v2, 0x1234\nv_pack_b32_f16 v1, neg(-11), v2\nv_mov_b32 v0, 0\nglobal_store_b32 v0, v1, s[0:1]\ns_endpgm\n"
    device = Device("gfx1100", engine=engine)
    results = device.buffer(np.zeros(1, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32))
    assert results.numpy().tolist() == [0x12347FF5]


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_registers_that_a_block_has_broadcast(assemble: Assemble, engine: str) -> None:
    """A register that was read eight registers ago is still what it was where the same instruction reads a ninth."""
    device = Device("gfx1100", engine)
    results = device.zeros(4 * 4 * 32)
    lines = [f"s_movk_i32 s{register}, {100 * register}" for register in range(8, 17)]
    lines += [f"v_add_nc_u32 v1, s{register}, v0" for register in range(8, 16)]
    lines += ["v_sub_nc_u32 v2, s8, s16", "v_sub_nc_u32 v3, s16, s9", "s_movk_i32 s9, 5", "v_sub_nc_u32 v4, s16, s9",
              "v_mad_u32_u24 v5, s10, s9, s10"]
    lines += ["v_lshlrev_b32 v6, 4, v0", "global_store_b128 v6, v[2:5], s[0:1]", "s_endpgm", ""]
    device.run(assemble("\n".join(lines), "gfx1100"), (1, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32))
    found = results.numpy().view(np.int32).reshape(-1, 4)
    assert (found == [-800, 700, 1595, 6000]).all(), found[0]


@pytest.mark.parametrize("seed", range(24))
def test_blocks_that_read_many_registers(assemble: Assemble, seed: int) -> None:
    """Instructions of two and three sources from 14 registers, some of them written in between: more than a block keeps broadcast."""
    random = np.random.default_rng(seed)
    registers = [f"s{number}" for number in range(8, 22)]
    lines = [f"s_movk_i32 {register}, {random.integers(-30000, 30000)}" for register in registers]
    lines += [f"v_mad_u32_u24 v{number}, v0, {number}, v0" for number in range(1, 8)]
    for _ in range(120):
        two, values = random.choice(registers, 2), [f"v{number}" for number in random.integers(0, 8, 3)]
        sources = [str(each) for each in random.permutation([*two, values[0]])]
        lines.append(str(random.choice([
            f"v_add3_u32 {values[1]}, {', '.join(sources)}", f"v_sub_nc_u32 {values[1]}, {two[0]}, {two[1]}",
            f"v_xor_b32 {values[1]}, {two[0]}, {values[2]}",
            f"v_max_f32 {values[1]}, -{two[0]}, |{two[1]}|", f"v_bfe_u32 {values[1]}, {sources[0]}, {sources[1]}, {sources[2]}",
            f"s_add_i32 {random.choice(registers)}, {two[0]}, {two[1]}"])))
    lines += ["v_mbcnt_lo_u32_b32 v8, -1, 0", "v_lshlrev_b32 v8, 5, v8", "global_store_b128 v8, v[0:3], s[0:1]",
              "global_store_b128 v8, v[4:7], s[0:1] offset:16", "s_endpgm", ""]
    code, found = assemble("\n".join(lines), "gfx1100"), []
    for engine in ("reference", "fast"):
        device = Device("gfx1100", engine)
        results = device.zeros(32 * 32)
        device.run(code, (1, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32))
        found.append(results.numpy().copy())
    np.testing.assert_array_equal(found[1], found[0])


def test_unknown_engine() -> None:
    with pytest.raises(UnsupportedError, match="reference and fast"):
        Device("gfx1100", engine="warp")


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target, words", [("gfx1150", (0xD5E60005, 0x000000E7)), ("gfx1100", (0xD5E50005, 0x00000007))])
def test_swaps_need_registers(engine: str, target: str, words: tuple[int, int]) -> None:
    """The long encoding can name an SGPR where V_SWAP wants a VGPR; it must not become the VGPR of that number."""
    code = np.array([*words, 0xBFB00000], np.uint32).tobytes()
    with pytest.raises(UnsupportedError, match="v_swap"):
        Device(target, engine).run(code)


#: NaNs of both kinds, denormals, infinities, zeros, ends of the range.
SINGLES = (0, 0x80000000, 1, 0x007FFFFF, 0x80400000, 0x00800001, 0x3F000000, 0x3F800001, 0xBF800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000,
           0x7FC00000, 0xFFC12345, 0x7F800001, 0xFFA00000)  # fmt: skip
HALVES = (0, 0x8000, 1, 0x3FF, 0x8200, 0x401, 0x3800, 0x3C01, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0xFE12, 0x7C01, 0xFD00)
FLOATS = (
    *(f"v_{name}_f32_e64 v8, {sources}" for name in ("add", "mul", "min", "max") for sources in ("v1, v2", "-v1, |v2| clamp", "v1, v2 mul:2")),
    *(f"v_{name}_f32 v8, v1, v2, {last}" for name in ("fma", "min3", "max3", "med3", "minmax", "maxmin") for last in ("v3", "-v3 clamp")),
    *(f"v_{name}_f16_e64 v8, v4, {last}" for name in ("add", "mul", "min", "max") for last in ("v5", "-v5 clamp", "|v5| mul:4")),
    *(f"v_{name}_f16 v8, v4, v5, {last}" for name in ("fma", "min3", "max3", "med3", "minmax", "maxmin") for last in ("v6", "-v6 clamp")),
    *(f"v_pk_{name}_f16 v8, v4, {last}" for name in ("add", "mul", "min", "max") for last in ("v5", "v5 neg_lo:[1,0] clamp", "v5 op_sel:[1,0]")),
    "v_pk_fma_f16 v8, v4, v5, v6", "v_fma_mix_f32 v8, v4, v2, v6 op_sel_hi:[1,0,1] clamp", "v_fma_mixlo_f16 v8, v4, v2, v6 op_sel_hi:[1,0,1]",
    *(f"v_{name}_f64 v[8:9], v[0:1], {last}" for name in ("add", "mul", "min", "max") for last in ("v[2:3]", "-v[2:3] clamp")),
    "v_fma_f64 v[8:9], v[0:1], v[2:3], v[6:7]", "v_cvt_f32_f64 v8, v[0:1]", "v_cvt_f64_f32 v[8:9], v1",
    "v_cvt_f32_f16 v8, v4", "v_cvt_f16_f32 v8, v1",
)  # fmt: skip


def special_values(seed: int, waves: int) -> np.ndarray:
    """Registers 0 to 7 of some waves: singles (pairs of them are doubles), in 4 and 5 pairs of halves."""
    random = np.random.default_rng(seed)
    rows = random.choice(np.array(SINGLES, U32), (waves, 8, 32))
    rows[:, 4:6] = random.choice(np.array(HALVES, U32), (waves, 2, 32)) | random.choice(np.array(HALVES, U32), (waves, 2, 32)) << 16
    rows[:, 0] = random.integers(0, 1 << 32, (waves, 32))
    return rows


@pytest.mark.parametrize("ieee", [0, 1])
@pytest.mark.parametrize("mode", [denormals << 4 for denormals in range(16)])
def test_special_values(assemble: Assemble, mode: int, ieee: int) -> None:
    """Floats of every kind in every setting of the denormals, with and without IEEE mode."""
    waves = 4
    loads = "".join(f"global_load_b32 v{row}, v10, s[0:1] offset:{128 * row}\n" for row in range(8))
    text = f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), {ieee}\nv_and_b32 v11, 31, v0\nv_lshlrev_b32 v11, 2, v11\nv_lshrrev_b32 v12, 5, v0\n"
    text += f"v_lshl_add_u32 v10, v12, 10, v11\nv_mul_u32_u24 v12, {256 * len(FLOATS)}, v12\nv_add_nc_u32 v12, v12, v11\n{loads}s_waitcnt vmcnt(0)\n"
    for place, move in enumerate(FLOATS):
        text += f"v_mov_b32 v8, 0\nv_mov_b32 v9, 0\n{move}\nv_add_nc_u32 v13, {256 * place}, v12\n"
        text += "global_store_b32 v13, v8, s[2:3]\nglobal_store_b32 v13, v9, s[2:3] offset:128\n"
    code = assemble(text + "s_endpgm\n", "gfx1100")
    found = []
    for engine in ENGINES:
        device = Device("gfx1100", engine)
        source, results = device.buffer(special_values(mode, waves)), device.buffer(np.zeros((waves, len(FLOATS), 64), U32))
        user = [word for buffer in (source, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
        device.run(code, (1, 1, 1), (32 * waves, 1, 1), user_sgprs=user, float_mode=mode)
        found.append(results.numpy())
    assert found[0].any(axis=(0, 2)).mean() > 0.9
    assert [FLOATS[place] for place in np.flatnonzero((found[0] != found[1]).any(axis=(0, 2)))] == []


def test_constructors_that_fail() -> None:
    """Engines without what they need are refused; nothing is freed that was never there."""
    device = Device("gfx1100")
    for engine in (Engine, FastEngine):
        with pytest.raises(TypeError):
            engine()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="no threads"):
        FastEngine(device.space, device.gfx_level, threads=0)
    with pytest.raises(ValueError, match="vectors of 64 bits"):
        FastEngine(device.space, device.gfx_level, 1, bits=64)
