"""Steps that hand their results on in the host's registers: random runs of such instructions, some of which others interrupt, in both engines."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pyaco import isa
from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu_fast import engine
from pyaco.emu import Device

U32 = np.uint32
ROWS = 10
#: Numbers that are rare: NaNs that signal or not, infinities, denormals, zeros, the ends of what the results of a product may be.
SPECIAL = [0x7FC00001, 0xFF800001, 0x7F800000, 0xFF800000, 1, 0x807FFFFF, 0, 0x80000000, 0x00800000, 0x80800001, 0x7F7FFFFF, 0x3F7FFFFF]
ONE = [
    "v_sqrt_f32", "v_rcp_f32", "v_floor_f32", "v_ceil_f32", "v_trunc_f32", "v_rndne_f32", "v_mov_b32", "v_cvt_f32_u32", "v_cvt_f32_i32",
    "v_not_b32", "v_exp_f32", "v_cvt_u32_f32",
]  # fmt: skip
TWO = [
    "v_add_f32", "v_sub_f32", "v_subrev_f32", "v_mul_f32", "v_min_f32", "v_max_f32", "v_fmac_f32", "v_and_b32", "v_or_b32", "v_xor_b32",
    "v_add_nc_u32", "v_sub_nc_u32", "v_subrev_nc_u32", "v_mul_lo_u32", "v_min_u32", "v_max_u32", "v_min_i32", "v_max_i32", "v_lshlrev_b32",
    "v_lshrrev_b32", "v_ashrrev_i32", "v_mul_u32_u24",
]  # fmt: skip
THREE = [
    "v_fma_f32", "v_min3_f32", "v_max3_f32", "v_and_or_b32", "v_or3_b32", "v_xor3_b32", "v_bfi_b32", "v_add3_u32", "v_lshl_add_u32",
    "v_lshl_or_b32", "v_add_lshl_u32", "v_xad_u32", "v_alignbit_b32", "v_med3_f32", "v_bfe_u32", "v_mad_u32_u24",
]  # fmt: skip
SINGLES = ["lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"]
WORDS = ["lt", "eq", "le", "gt", "ne", "ge"]
#: Programs for each width of the host's vectors and each size of waves.
COUNT = 150
SCALARS = ["s_add_u32 s20, s20, 3", "s_mov_b32 s21, s20", "s_mov_b32 s21, 0x40490fdb", "s_mov_b32 s20, 2.0",
           "s_xor_b32 vcc_lo, vcc_lo, s20", "s_mov_b64 s[24:25], vcc", "s_not_b64 vcc, s[24:25]", "s_mov_b32 s21, 0x7fc00001"]
#: Sources that all lanes share. Of the SGPRs and the literal an instruction may name two.
UNIFORM = ["s20", "s21", "0x3f000000", "1.0", "-2.0", "31"]


def lines(draw: random.Random, wave: int) -> list[str]:
    """A run of instructions on few registers; what it does to EXEC it takes back."""
    mask = "vcc_lo" if wave == 32 else "vcc"
    found = []

    def register() -> str:
        return f"v{draw.randrange(ROWS)}"

    def source() -> str:
        return draw.choice([register(), register(), register(), f"-{register()}", f"|{register()}|"])

    def dual() -> str:
        """Of both halves' registers, no two may be in one bank; destinations are even and odd."""
        first = draw.randrange(ROWS)
        second = draw.choice([row for row in range(ROWS) if row % 4 != first % 4])
        return (f"v_dual_{draw.choice(['add', 'sub', 'mul'])}_f32 v{draw.randrange(0, ROWS, 2)}, v{first}, {register()} :: "
                f"v_dual_mov_b32 v{draw.randrange(1, ROWS, 2)}, v{second}")

    def scaled() -> list[str]:
        """Three sources, one or two of which all lanes share."""
        found = [register(), draw.choice(UNIFORM), draw.choice([register(), draw.choice(UNIFORM)])]
        draw.shuffle(found)
        return found

    for _ in range(draw.randrange(10, 60)):
        kind = draw.randrange(44 if wave == 32 else 40)
        if kind < 8:
            found.append(f"{draw.choice(ONE)} {register()}, {register()}")
        elif kind < 24:
            found.append(f"{draw.choice(TWO)} {register()}, {register()}, {register()}")
        elif kind < 27:
            found.append(f"{draw.choice(TWO[:6])}_e64 {register()}, {source()}, {source()}{draw.choice(['', '', ' clamp', ' mul:2'])}")
        elif kind < 29:
            found.append(f"{draw.choice(TWO)} {register()}, {draw.choice(UNIFORM)}, {register()}")
            found.append(f"{draw.choice(['v_fma_f32', 'v_fma_f32', draw.choice(THREE)])} {register()}, {', '.join(scaled())}")
        elif kind < 33:
            found.append(f"{draw.choice(THREE)} {register()}, {register()}, {register()}, {register()}")
            found.append(f"v_fma_f32 {register()}, {source()}, {source()}, {source()}")
        elif kind < 35:
            compared = f"{draw.choice(SINGLES)}_f32" if draw.random() < 0.5 else f"{draw.choice(WORDS)}_{draw.choice('iu')}32"
            found.append(f"v_cmp_{compared} {mask}, {register()}, {register()}")
        elif kind < 37:
            found.append(f"v_cndmask_b32 {register()}, {register()}, {register()}, {mask}")
        elif kind < 40:
            found.append(draw.choice(SCALARS))
        else:
            found.append(dual())
    if draw.random() < 0.3:
        size, all_lanes = ("b32", "exec_lo") if wave == 32 else ("b64", "exec")
        keep = "s30" if wave == 32 else "s[30:31]"
        found += [f"s_mov_{size} {keep}, {all_lanes}", f"v_cmpx_lt_f32 {register()}, {register()}", f"v_add_f32 v1, v2, v{draw.randrange(3, ROWS)}",
                  "v_mul_f32 v0, v1, v1", f"s_mov_{size} {all_lanes}, {keep}"]  # fmt: skip
    return found


def loop(draw: random.Random, wave: int) -> list[str]:
    """A loop that lanes leave one after the other, or in groups, in some of its turns; SCC and the mask of those that have left are read as well.

    Some others write EXEC, or run a turn with other bits of MODE.
    """
    size, one, all_lanes = ("b32", "s52", "exec_lo") if wave == 32 else ("b64", "s[52:53]", "exec")
    inner = "s54" if wave == 32 else "s[54:55]"
    text = [f"v_lshrrev_b32 v30, {draw.choice([2, 2, 3, 5, 6, 7])}, v31", "v_and_b32 v30, 15, v30", "s_mov_b32 s50, 0"]
    text += ["s_mov_b32 s51, 0", "s_mov_b64 s[56:57], 0", "L0:", *lines(draw, wave)]
    text += [f"s_mov_{size} {one}, {all_lanes}", f"v_cmpx_{draw.choice(['eq', 'ge'])}_u32 s50, v30", *short(draw)]
    gone = "s56" if wave == 32 else "s[56:57]"
    text += draw.choice([[], [], [f"s_or_{size} {gone}, {gone}, {all_lanes}"], [f"s_mov_{size} {gone}, {all_lanes}"]])
    text += [f"s_and_not1_{size} {one}, {one}, {all_lanes}", "s_cbranch_scc0 L1", f"s_mov_{size} {all_lanes}, {one}"]
    text += draw.choice([[], ["s_cselect_b32 s51, s51, 5", "s_addk_i32 s51, 0x1"]])
    if draw.random() < 0.5:
        mask = "vcc_lo" if wave == 32 else "vcc"
        text += [f"v_cmp_lt_f32 {mask}, v1, v2", f"s_and_saveexec_{size} {inner}, {mask}", *short(draw)]
        text += [f"s_xor_{size} {all_lanes}, {all_lanes}, {inner}", *short(draw), f"s_or_{size} {all_lanes}, {all_lanes}, {inner}"]
    if draw.random() < 0.4:
        text += [f"s_denorm_mode {draw.choice([0xC, 0xF])}", *lines(draw, wave), "s_denorm_mode 0xc"]
    text += ["s_add_u32 s50, s50, 1", "s_cmp_lt_u32 s50, 12", "s_cbranch_scc1 L0", "L1:", "v_add_nc_u32 v9, s51, v9", "v_add_nc_u32 v9, s56, v9"]
    return text


def short(draw: random.Random) -> list[str]:
    """A few instructions of vectors alone."""
    return [f"{draw.choice(TWO)} v{draw.randrange(ROWS)}, v{draw.randrange(ROWS)}, v{draw.randrange(ROWS)}" for _ in range(draw.randrange(4))]


def program(draw: random.Random, wave: int, loops: bool = False) -> str:
    active = draw.choice([0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x00FF00FF00FF00FF, 0x8000000000000000, 0x0000000000000010, 0xFFFFFFFF, 0])
    size = f"s_mov_b32 exec_lo, {active & 0xFFFFFFFF:#x}\ns_mov_b32 exec_hi, {active >> 32 if wave == 64 else 0:#x}"
    everything = "s_mov_b32 exec_lo, -1" if wave == 32 else "s_mov_b64 exec, -1"
    first = [f"v_and_b32 v31, {wave - 1}, v0", "v_lshlrev_b32 v31, 2, v31", "s_mov_b64 s[40:41], s[2:3]"]
    first += [f"global_load_b32 v{row}, v31, s[0:1] offset:{row * wave * 4}" for row in range(ROWS)]
    first += ["s_mov_b32 s20, 0x3fc00000", "s_mov_b32 s21, 7", "s_mov_b64 s[24:25], s[0:1]", "s_mov_b64 vcc, 0x55", size]
    last = [everything, *(f"global_store_b32 v31, v{row}, s[40:41] offset:{row * wave * 4}" for row in range(ROWS)), "s_endpgm", ""]
    waits = ["s_wait_loadcnt 0x0"]
    return "\n".join([*first, *waits, *(loop if loops else lines)(draw, wave), *last])


def results_of(name: str, code: bytes, rows: np.ndarray, wave: int, mode: int) -> tuple[bytes, object, object]:
    """The registers, and the instructions and active lanes by unit."""
    device = Device("gfx1200", engine=name)
    source, results = device.buffer(rows), device.buffer(np.zeros_like(rows))
    user = [word for buffer in (source, results) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    report = device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave, float_mode=mode)
    return results.numpy().tobytes(), report.opcodes, report.lane_units


def setup(seed: int, wave: int, special: float) -> np.ndarray:
    """Registers of ordinary numbers, of which a share is `SPECIAL`."""
    random_ = np.random.default_rng(seed)
    rows = random_.standard_normal((ROWS, wave)).astype(np.float32).view(U32)
    rows[-2:] = random_.integers(0, 1 << 32, (2, wave), dtype=U32)
    return np.where(random_.random(rows.shape) < special, random_.choice(np.array(SPECIAL, U32), rows.shape), rows)


@pytest.fixture(params=[bits for bits in (128, 256, 512) if engine.vector_bits() >= bits])
def chosen_vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let devices take the host's vectors of each width."""
    fast = engine.FastEngine

    def make(space: AddressSpace, gfx_level: int, threads: int = 1) -> engine.FastEngine:
        return fast(space, gfx_level, threads, request.param)

    monkeypatch.setattr(engine, "FastEngine", make)


@pytest.mark.usefixtures("chosen_vectors")
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("wave", [32, 64])
def test_random_chains(wave: int, loops: bool) -> None:
    for seed in range(COUNT):
        draw = random.Random(seed)
        text = program(draw, wave, loops)
        code = isa.assemble(text, "gfx1200", wave_size=wave)
        rows = setup(seed, wave, draw.choice([0.0, 0.0, 0.02, 0.5]))
        mode = draw.choice([0xC0, 0xC0, 0xC0, 0xF0])
        assert results_of("fast", code, rows, wave, mode) == results_of("reference", code, rows, wave, mode), f"seed {seed}, MODE {mode:#x}\n{text}"
