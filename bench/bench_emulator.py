"""Speed of the emulator's engines: an ALU loop, saxpy over 1M floats, a naive matrix product.

The figure that compares with other emulators is ``wave_instructions_per_second`` in the extra information of each benchmark.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "emu"))

from conftest import assemble_object

from pyaco.descriptors.buffer import raw_buffer
from pyaco.emu import Device

ENGINES = ("reference", "fast")
pytestmark = pytest.mark.benchmark(timer=time.process_time)

ALU_LOOP = """
    s_movk_i32 s2, 500
    v_cvt_f32_u32 v1, v0
    v_mov_b32 v2, 0x3f7fffff
    v_mov_b32 v3, 0.5
loop:
    v_fma_f32 v1, v1, v2, v3
    v_fma_f32 v4, v1, v2, v3
    v_fma_f32 v5, v4, v2, v1
    v_add_f32 v6, v5, v4
    v_mul_f32 v7, v6, v2
    v_fma_f32 v1, v7, v2, v3
    v_lshlrev_b32 v8, 1, v0
    v_add_nc_u32 v9, v8, v0
    s_sub_i32 s2, s2, 1
    s_cmp_lg_u32 s2, 0
    s_cbranch_scc1 loop
    s_endpgm
"""

# s[0:3] x, s[4:7] y, s8 a, s9 workgroup
SAXPY = """
    v_and_b32 v0, 0x3ff, v0
    v_lshl_add_u32 v0, s9, 8, v0
    v_lshlrev_b32 v0, 2, v0
    buffer_load_b32 v1, v0, s[0:3], 0 offen
    buffer_load_b32 v2, v0, s[4:7], 0 offen
    s_waitcnt vmcnt(0)
    v_fmac_f32 v2, s8, v1
    buffer_store_b32 v2, v0, s[4:7], 0 offen
    s_endpgm
"""

# s[0:3] a, s[4:7] b, s[8:11] c, s12 s13 workgroup x y; 128 x 128, one element per lane
MATMUL = """
    v_and_b32 v1, 0x3ff, v0
    v_bfe_u32 v2, v0, 10, 10
    v_lshl_add_u32 v1, s12, 4, v1
    v_lshl_add_u32 v2, s13, 4, v2
    v_lshlrev_b32 v3, 9, v2
    v_lshlrev_b32 v4, 2, v1
    v_mov_b32 v5, 0
    s_movk_i32 s14, 128
loop:
    buffer_load_b32 v6, v3, s[0:3], 0 offen
    buffer_load_b32 v7, v4, s[4:7], 0 offen
    v_add_nc_u32 v3, 4, v3
    v_add_nc_u32 v4, 0x200, v4
    s_waitcnt vmcnt(0)
    v_fmac_f32 v5, v6, v7
    s_sub_i32 s14, s14, 1
    s_cmp_lg_u32 s14, 0
    s_cbranch_scc1 loop
    v_lshlrev_b32 v2, 9, v2
    v_lshl_add_u32 v2, v1, 2, v2
    buffer_store_b32 v5, v2, s[8:11], 0 offen
    s_endpgm
"""


def measure(benchmark, dispatch):
    """Run a dispatch and note instructions per second of the engine."""
    dispatch()
    report = benchmark(dispatch)
    best = benchmark.stats.stats.min
    benchmark.extra_info["wave_instructions_per_second"] = report.instructions / best
    benchmark.extra_info["lane_instructions_per_second"] = sum(report.lane_units.values()) / best


@pytest.mark.parametrize("engine", ENGINES)
def test_alu_loop(benchmark, engine):
    device = Device("gfx1100", engine=engine)
    code = assemble_object(ALU_LOOP, "gfx1100")
    measure(benchmark, lambda: device.run(code, (16, 1, 1), (128, 1, 1)))


@pytest.mark.parametrize("engine", ENGINES)
def test_saxpy(benchmark, engine):
    device = Device("gfx1100", engine=engine)
    code = assemble_object(SAXPY, "gfx1100")
    count = 1 << 20
    x, y = device.buffer(np.ones(count, np.float32)), device.buffer(np.ones(count, np.float32))
    words = [word for buffer in (x, y) for word in raw_buffer(buffer.address, buffer.size, 110)]
    user = [*words, int(np.float32(2).view(np.uint32))]
    measure(
        benchmark,
        lambda: device.run(code, (count // 256, 1, 1), (256, 1, 1), user_sgprs=user, workgroup_ids=(True, False, False)),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_matmul(benchmark, engine):
    device = Device("gfx1100", engine=engine)
    code = assemble_object(MATMUL, "gfx1100")
    random = np.random.default_rng(1)
    a, b = (device.buffer(random.standard_normal((128, 128)).astype(np.float32)) for _ in range(2))
    c = device.buffer(np.zeros((128, 128), np.float32))
    user = [word for buffer in (a, b, c) for word in raw_buffer(buffer.address, buffer.size, 110)]
    measure(
        benchmark,
        lambda: device.run(code, (8, 8, 1), (16, 16, 1), user_sgprs=user, workgroup_ids=(True, True, False)),
    )
    assert np.allclose(c.numpy(), a.numpy() @ b.numpy(), atol=1e-3)
