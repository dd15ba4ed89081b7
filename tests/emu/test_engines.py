"""Both engines give the same registers, bit for bit, and the same errors."""

from __future__ import annotations

import numpy as np
import pytest
from test_vector_alu import ALU, LANES, inputs, kernel

from pyaco import emu
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
def test_vector_alu(assemble, target, wave, mode):
    """Every instruction of the ALU tests in four settings of MODE, one with another rounding."""
    code = assemble(kernel(target, ALU), target, wave)
    reference, fast = (results_of(engine, target, code, mode, wave) for engine in ENGINES)
    wrong = [ALU[row][0] for row in np.flatnonzero((reference != fast).any(axis=1))]
    assert not wrong


def outcome(device: Device, code: bytes, wave: int, setup: np.ndarray):
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
def test_random_instructions(assemble, target, wave):
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
def test_stores_to_code_do_not_change_what_runs(assemble, engine):
    """However early an engine decodes: the instruction cache does not see the store, memory has it."""
    device = Device("gfx1100", engine=engine)
    results = device.buffer(np.zeros(2, U32))
    device.run(assemble(OVERWRITTEN, "gfx1100"), (1, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32))
    assert results.numpy().tolist() == [5, 0x7E040289]


@pytest.mark.parametrize("engine", ENGINES)
def test_constants_of_halves_have_sixteen_bits(assemble, engine):
    """The sign of a negative constant does not reach the other half of a packed result."""
    text = "v_mov_b32 v2, 0x1234\nv_pack_b32_f16 v1, neg(-11), v2\nv_mov_b32 v0, 0\nglobal_store_b32 v0, v1, s[0:1]\ns_endpgm\n"
    device = Device("gfx1100", engine=engine)
    results = device.buffer(np.zeros(1, U32))
    device.run(assemble(text, "gfx1100"), (1, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32))
    assert results.numpy().tolist() == [0x12347FF5]


def test_unknown_engine():
    with pytest.raises(emu.device.UnsupportedError, match="reference and fast"):
        Device("gfx1100", engine="warp")


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target, words", [("gfx1150", (0xD5E60005, 0x000000E7)), ("gfx1100", (0xD5E50005, 0x00000007))])
def test_swaps_need_registers(engine, target, words):
    """The long encoding can name an SGPR where V_SWAP wants a VGPR; it must not become the VGPR of that number."""
    code = np.array([*words, 0xBFB00000], np.uint32).tobytes()
    with pytest.raises(UnsupportedError, match="v_swap"):
        Device(target, engine).run(code)
