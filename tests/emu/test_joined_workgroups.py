"""Small workgroups that the fast engine runs side by side in one wave give what the reference engine gives them one by one."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from machine_code import Assemble

from pyaco import compile
from pyaco._core.emu_fast.engine import FastEngine
from pyaco.descriptors.buffer import buffer_descriptor, raw_buffer
from pyaco.descriptors.sampler import Sampler
from pyaco.emu import Device, Report
from pyaco.emu.errors import EmulationError
from pyaco.emu.images import SampledImage

ENGINES = ["reference", "fast"]
WORDS = 4096
LEVELS = {"gfx900": 90, "gfx1030": 103, "gfx1100": 110, "gfx1200": 120}

#: Each lane stores where its workgroup and its own number say; s4 is the first component of the workgroup's id.
STORE = """
    v_lshlrev_b32 v2, 2, v1
    buffer_store_dword v0, v2, s[0:3], 0 offen
    s_endpgm
"""
OWN = "v_and_b32 v0, 0x3ff, v0\n"                     # gfx1100: the first component of the local id


def spirv_of(source: str) -> bytes:
    if not shutil.which("glslangValidator"):
        pytest.skip("glslangValidator is not installed")
    command = ["glslangValidator", "--stdin", "-S", "comp", "-V", "--target-env", "vulkan1.2", "-o", "/dev/stdout", "--quiet"]
    return subprocess.run(command, input=source.encode(), capture_output=True, check=True).stdout


def joined_by(device: Device) -> int:
    """How many workgroups shared a wave in the last dispatch."""
    return device._engine.joined if isinstance(device._engine, FastEngine) else 1


def run(engine: str, code: bytes, target: str = "gfx1100", **given: Any) -> tuple[np.ndarray, Report, int]:
    """What a program leaves in a buffer, the report, and how many workgroups were joined."""
    threads = given.pop("threads", 1)
    device = Device(target, engine, threads if engine == "fast" else None)
    results = device.buffer(np.zeros(WORDS, np.uint32))
    words = given.pop("words", None) or raw_buffer(results.address, results.size, LEVELS[target])
    if callable(words):
        words = words(results)
    options: dict[str, Any] = {"groups": (8, 3, 1), "workgroup_size": (16, 1, 1), "wave_size": 32, "workgroup_ids": (True, True, False)} | given
    report = device.run(code, user_sgprs=list(words), **options)
    return results.numpy().copy(), report, joined_by(device)


def compare(code: bytes, joined: int, **given: Any) -> np.ndarray:
    """Both engines give the same memory and counters; returns what they left."""
    expected, reference, _ = run("reference", code, **given)
    found, report, together = run("fast", code, **given)
    assert together == joined
    np.testing.assert_array_equal(found, expected)
    assert (report.instructions, report.opcodes) == (reference.instructions, reference.opcodes)
    return expected


PLACE = OWN + "v_lshl_add_u32 v1, s4, 4, v0\nv_lshl_add_u32 v1, s5, 8, v1\n"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("size", "groups", "joined"),
    [((16, 1, 1), (8, 3, 1), 4), ((16, 1, 1), (6, 3, 1), 2), ((16, 1, 1), (5, 3, 1), 1), ((32, 1, 1), (8, 3, 1), 2), ((4, 2, 1), (16, 2, 1), 8),
     ((4, 1, 1), (16, 3, 1), 16), ((4, 4, 2), (2, 5, 1), 2), ((64, 1, 1), (4, 1, 1), 1), ((12, 1, 1), (4, 1, 1), 1), ((2, 1, 1), (64, 1, 1), 1),
     ((8, 1, 1), (4, 4, 2), 4)],
)  # fmt: skip
def test_shapes(assemble: Assemble, size: tuple[int, int, int], groups: tuple[int, int, int], joined: int, threads: int) -> None:
    """As many are joined as there is room for, and as follow each other; local ids of all components."""
    code = assemble("v_mov_b32 v3, v0\n" + PLACE + "v_lshl_add_u32 v0, s5, 20, v3\nv_lshl_or_b32 v0, s4, 24, v0\n" + STORE, "gfx1100")
    wave = 64 if size == (64, 1, 1) else 32
    compare(code, joined, workgroup_size=size, groups=groups, wave_size=wave, threads=threads)


def test_first_group(assemble: Assemble) -> None:
    """Ids begin where a dispatch begins."""
    code = assemble(PLACE + "v_mov_b32 v0, s4\n" + STORE, "gfx1100")
    found = compare(code, 4)
    assert list(found[:128:16]) == list(range(8))


def test_halves_of_a_wave(assemble: Assemble) -> None:
    """In GFX9's waves of 64 lanes, with ids in registers of their own."""
    code = assemble("v_lshl_add_u32 v1, s4, 4, v0\nv_lshl_add_u32 v1, s5, 8, v1\nv_mov_b32 v0, s4\n" + STORE, "gfx900")
    compare(code, 4, target="gfx900", wave_size=64)
    compare(code, 2, target="gfx900", wave_size=64, groups=(2, 3, 1))


@pytest.mark.parametrize(
    ("joined", "lines"),
    [
        (4, "s_movk_i32 s4, 7\nv_add_nc_u32 v0, s4, v0"),                                       # written behind the reads
        (4, "s_add_u32 s6, s5, 3\ns_lshl_b32 s6, s6, 2\nv_add_nc_u32 v0, s6, v0"),              # what all have in common
        (4, "s_mov_b32 s6, 3\nL:\nv_add_nc_u32 v0, v0, v0\ns_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 L"),
        (4, "v_sub_nc_u32 v0, v0, s4\nv_dual_mov_b32 v4, s4 :: v_dual_add_nc_u32 v5, s4, v0\nv_xor_b32 v0, v4, v5"),
        (4, "v_cvt_f32_u32 v0, s4"),
        (1, "v_add_f32 v0, s4, v0"),                                                            # the reference engine might read the SGPR
        (1, "s_lshl_b32 s6, s4, 2\nv_add_nc_u32 v0, s6, v0"),
        (1, "s_cmp_lg_u32 s4, 2\ns_cbranch_scc1 L\nv_mov_b32 v0, 7\nL:"),
        (1, "v_cmp_eq_u32 vcc_lo, s4, v0\nv_cndmask_b32 v0, 1, v0, vcc_lo"),
        (1, "v_readfirstlane_b32 s6, v1\nv_add_nc_u32 v0, s6, v0"),
        (1, "v_mbcnt_lo_u32_b32 v0, -1, 0"),
        (1, "s_mov_b32 s6, exec_lo\nv_add_nc_u32 v0, s6, v0"),
        (1, "v_mov_b32 v0, v1 row_shr:3 row_mask:0xf bank_mask:0xf"),
        (1, "v_permlanex16_b32 v0, v1, s5, s5"),
        (1, "v_mov_b32 v3, 0\nds_store_b32 v3, v0\nds_load_b32 v0, v3\ns_waitcnt lgkmcnt(0)"),
        (1, "s_barrier"),
        (1, "v_writelane_b32 v0, s5, 3"),
        (1, "s_mov_b32 m0, 0\nv_movrels_b32 v0, v1"),
        (1, "v_mov_b32 v3, 4\nds_bpermute_b32 v0, v3, v1\ns_waitcnt lgkmcnt(0)"),
        (1, "v_div_scale_f32 v0, vcc_lo, v1, v1, v1"),
        (1, "v_mov_b32 v3, 0\nbuffer_atomic_add_u32 v0, v3, s[0:3], 0 offen offset:4092 glc"),
        (1, "s_mov_b32 s6, 2\nL:\nv_add_nc_u32 v0, s4, v0\ns_mov_b32 s4, s6\ns_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 L"),
        (1, "s_getpc_b64 s[6:7]\ns_add_u32 s6, s6, 12\ns_addc_u32 s7, s7, 0\ns_setpc_b64 s[6:7]\nv_mov_b32 v0, 1"),
        (1, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1"),
    ],
)  # fmt: skip
def test_code(assemble: Assemble, joined: int, lines: str) -> None:
    """Code that tells lanes or waves apart, or has other uses for the id than steps have rows for, runs as it did."""
    compare(assemble(PLACE + lines + STORE, "gfx1100"), joined, lds_bytes=64)


TWO = ("v_add_nc_u32_e64", "v_sub_nc_u32_e64", "v_and_b32_e64", "v_lshlrev_b32_e64", "v_min_u32_e64", "v_mul_lo_u32", "v_add_f32_e64",
       "v_max_f32_e64")
THREE = ("v_lshl_add_u32", "v_add3_u32", "v_bfe_u32", "v_mad_u32_u24", "v_alignbit_b32", "v_fma_f32", "v_perm_b32")
SCALAR = ("s_add_u32", "s_and_b32", "s_lshl_b32", "s_mul_i32")


def random_line(random: np.random.Generator) -> str:
    """An instruction on v0 to v7 and s4 to s9, seldom one that tells workgroups apart."""
    def vgpr() -> str:
        return f"v{random.integers(8)}"

    kind = random.random()
    source = random.choice(["s4", f"s{random.integers(5, 10)}", "7", "0.5", vgpr(), vgpr()])
    if kind < 0.35:
        return f"{random.choice(TWO)} {vgpr()}, {source}, {vgpr()}"
    if kind < 0.6:
        return f"{random.choice(THREE)} {vgpr()}, {vgpr()}, {source}, {vgpr()}"
    if kind < 0.75:
        return f"{random.choice(['v_mov_b32', 'v_cvt_f32_u32', 'v_not_b32'])} {vgpr()}, {source}"
    if kind < 0.83:
        first, second = random.choice(["s4", "s5", "v1"]), random.choice(["s4", "v2"])
        return f"v_dual_mov_b32 v{2 * random.integers(3)}, {first} :: v_dual_add_nc_u32 v5, {second}, v4"
    if kind < 0.98:
        result = 4 if random.random() < 0.04 else random.integers(6, 10)
        return f"{random.choice(SCALAR)} s{result}, s{random.integers(5, 10)}, 3"
    return str(random.choice(["v_readfirstlane_b32 s8, v2", "v_cmp_lt_u32 vcc_lo, v1, v2\nv_cndmask_b32 v3, v1, v2, vcc_lo"]))


def test_random_programs(assemble: Assemble) -> None:
    """Programs of which about half can be joined."""
    random = np.random.default_rng(28)
    together = 0
    for _ in range(50):
        lines = [random_line(random) for _ in range(random.integers(3, 25))]
        if random.random() < 0.3:
            lines = ["s_mov_b32 s10, 3", "L:", *lines, "s_sub_u32 s10, s10, 1", "s_cmp_lg_u32 s10, 0", "s_cbranch_scc1 L"]
        begin = [PLACE + "v_mov_b32 v21, v1"]
        begin += [f"v_mov_b32 v{row}, {row * 77}" for row in range(1, 8)] + [f"s_mov_b32 s{row}, {row * 1234567}" for row in range(6, 10)]
        end = [f"v_xor_b32 v0, v0, v{row}" for row in range(1, 8)]
        end += ["v_lshlrev_b32 v22, 2, v21", "buffer_store_b32 v0, v22, s[0:3], 0 offen", "s_endpgm", ""]
        code = assemble("\n".join([*begin, *lines, *end]), "gfx1100")
        mode = int(random.choice([0xC0, 0xF0, 0x00]))
        joined = run("fast", code, float_mode=mode)[2]
        compare(code, joined, float_mode=mode)
        together += joined > 1
    assert together > 15


def test_many_constants(assemble: Assemble) -> None:
    """Where there might be no rows left for constants, what has some is the reference engine's, which knows one id."""
    lines = "".join(f"v_add_nc_u32 v0, {1000 + 77 * number}, v0\n" for number in range(500))
    compare(assemble(PLACE + lines + "v_add3_u32 v0, v0, s4, 0x12345\n" + STORE, "gfx1100"), 1)


def test_numbers_of_lanes(assemble: Assemble) -> None:
    """A buffer that adds a lane's number to its index adds the number in its own workgroup."""

    def words(buffer: Any) -> Any:
        return buffer_descriptor(buffer.address, WORDS // 4, "R32_UINT", 110, stride=4, add_thread_id=True)

    code = assemble(PLACE + "v_sub_nc_u32 v2, v1, v0\nbuffer_store_b32 v1, v2, s[0:3], 0 idxen\ns_endpgm", "gfx1100")
    found = compare(code, 4, words=words)
    assert list(found[:128]) == list(range(128))


def test_stray_access(assemble: Assemble) -> None:
    """The workgroup and the lane that reach where there is no memory."""
    errors = []
    # the fourth lane of the third workgroup loads from far beyond
    code = assemble(PLACE + "v_sub_nc_u32 v3, v1, 35\nv_min_u32 v3, 1, v3\nv_sub_nc_u32 v3, 1, v3\nv_lshlrev_b32 v3, 30, v3\n"
                    "buffer_load_b32 v0, v3, s[0:3], 0 offen\n" + STORE, "gfx1100")  # fmt: skip
    for engine in ENGINES:
        with pytest.raises(EmulationError) as caught:
            run(engine, code, words=lambda buffer: raw_buffer(buffer.address, 0x7FFFFFFC, 110))
        errors.append([caught.value.place[key] for key in ("workgroup", "lane", "pc", "address", "bytes")])
    assert errors[0] == errors[1]
    assert errors[0][:2] == [(2, 0, 0), 3]


def test_one_device_after_another(assemble: Assemble) -> None:
    """Dispatches of the same code that can be joined and that cannot."""
    code = assemble(PLACE + "v_mov_b32 v0, s4\n" + STORE, "gfx1100")
    device = Device("gfx1100", "fast", 1)
    results = device.buffer(np.zeros(WORDS, np.uint32))
    for groups, joined in ((8, 4), (7, 1), (8, 4), (6, 2), (12, 4)):
        results.numpy()[:] = 0xFFFFFFFF
        device.run(code, (groups, 1, 1), (16, 1, 1), user_sgprs=raw_buffer(results.address, results.size, 110),
                   workgroup_ids=(True, True, False))
        assert joined_by(device) == joined
        assert list(results.numpy()[: 16 * groups : 16]) == list(range(groups))
        assert (results.numpy()[16 * groups :] == 0xFFFFFFFF).all()


@pytest.mark.parametrize("target", list(LEVELS))
@pytest.mark.parametrize("shape", [(16, 1), (4, 4), (8, 1), (32, 1), (8, 2)])
def test_shader_with_images(target: str, shape: tuple[int, int]) -> None:
    """A compiled shader that fetches, samples, gathers and stores, without any mask."""
    source = f"""#version 450
    layout(local_size_x = {shape[0]}, local_size_y = {shape[1]}) in;
    layout(set = 0, binding = 0) buffer Out {{ vec4 result[]; }};
    layout(set = 0, binding = 1) uniform sampler2D image;
    void main() {{
        vec2 at = (vec2(gl_GlobalInvocationID.xy) + 0.37) / 19.0;
        ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
        result[gl_GlobalInvocationID.y * 128 + gl_GlobalInvocationID.x] =
            textureLod(image, at, 0.0) + textureGather(image, at, 1) + texelFetch(image, texel & 31, 0) + textureLod(image, at.yx * 3.0, 1.3);
    }}
    """
    found = []
    for engine in ENGINES:
        device = Device(target, engine, 1 if engine == "fast" else None)
        image = device.image(format="R8G8B8A8_UNORM", width=32, height=32, mips=3)
        random = np.random.default_rng(3)
        for mip in range(3):
            level = image.numpy(mip)
            image.write(random.integers(0, 256, level.nbytes, dtype=np.uint8).view(level.dtype).reshape(level.shape), mip)
        results = device.zeros(128 * 16 * 16)
        shader = compile(spirv_of(source), target=target)
        device.dispatch(shader, groups=(128 // shape[0], 16 // shape[1], 1),
                        buffers={(0, 0): results, (0, 1): SampledImage(image.view("2d"), Sampler((0, 0, 0), 1, 1, 2))})
        found.append(results.numpy().copy())
        if engine == "fast":
            assert joined_by(device) == 64 // (shape[0] * shape[1])
    np.testing.assert_array_equal(found[0], found[1])
