"""Speed of the emulator's engines on four kernels, beside tinygrad's emulator and lavapipe where they are there.

(a) an ALU loop of v_fma chains, 64 waves; (b) saxpy over 1M floats; (c) a naive 256 x 256 matrix product; (c') the same tiled through LDS.
All are machine code of gfx1100 with their arguments in memory, so that another emulator runs the very same words. Times are CPU time of
one thread, warm, the least of several runs. tinygrad is found through PYTHONPATH or TINYGRAD_PATH, clang through CC and LLVM through LLVM_PATH.

``python bench/bench_emulator.py`` prints the comparison; pytest runs the same measurements.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracle"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "emu"))

from machine_code import assemble_object

from pyaco.emu import Device, Report

pytestmark = pytest.mark.benchmark(timer=time.process_time)
ROOT = Path(__file__).resolve().parents[1]
TARGET = "gfx1100"
EDGE = 256
COUNT = 1 << 20
TURNS = 40

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

SAXPY = """
    s_load_b128 s[4:7], s[0:1], 0x0
    s_load_b32 s8, s[0:1], 0x10
    v_and_b32 v0, 0x3ff, v0
    v_lshl_add_u32 v0, s2, 8, v0
    v_lshlrev_b32 v0, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_b32 v1, v0, s[4:5]
    global_load_b32 v2, v0, s[6:7]
    s_waitcnt vmcnt(0)
    v_fmac_f32 v2, s8, v1
    global_store_b32 v0, v2, s[6:7]
    s_endpgm
"""

# v1 x within the group, v2 y; v3 where a row of a begins, v4 where a column of b does; one element a lane
MATMUL = f"""
    s_load_b128 s[4:7], s[0:1], 0x0
    s_load_b64 s[8:9], s[0:1], 0x10
    v_and_b32 v1, 0x3ff, v0
    v_bfe_u32 v2, v0, 10, 10
    v_lshl_add_u32 v1, s2, 4, v1
    v_lshl_add_u32 v2, s3, 4, v2
    v_lshlrev_b32 v3, 10, v2
    v_lshlrev_b32 v4, 2, v1
    v_mov_b32 v5, 0
    s_movk_i32 s14, {EDGE}
    s_waitcnt lgkmcnt(0)
loop:
    global_load_b32 v6, v3, s[4:5]
    global_load_b32 v7, v4, s[6:7]
    v_add_nc_u32 v3, 4, v3
    v_add_nc_u32 v4, {4 * EDGE}, v4
    s_waitcnt vmcnt(0)
    v_fmac_f32 v5, v6, v7
    s_sub_i32 s14, s14, 1
    s_cmp_lg_u32 s14, 0
    s_cbranch_scc1 loop
    v_lshlrev_b32 v2, 10, v2
    v_lshl_add_u32 v2, v1, 2, v2
    global_store_b32 v2, v5, s[8:9]
    s_endpgm
"""

# tiles of 16 x 16: a's at LDS 0, b's at 1024
TILED = f"""
    s_load_b128 s[4:7], s[0:1], 0x0
    s_load_b64 s[8:9], s[0:1], 0x10
    v_and_b32 v1, 0x3ff, v0
    v_bfe_u32 v2, v0, 10, 10
    v_lshl_add_u32 v3, s3, 4, v2
    v_lshl_add_u32 v4, s2, 4, v1
    v_lshlrev_b32 v5, 8, v3
    v_add_nc_u32 v5, v5, v1
    v_lshlrev_b32 v5, 2, v5
    v_lshlrev_b32 v6, 8, v2
    v_add_nc_u32 v6, v6, v4
    v_lshlrev_b32 v6, 2, v6
    v_lshl_add_u32 v7, v2, 4, v1
    v_lshlrev_b32 v7, 2, v7
    v_lshlrev_b32 v8, 6, v2
    v_lshlrev_b32 v9, 2, v1
    v_mov_b32 v12, 0
    s_movk_i32 s14, {EDGE // 16}
    s_waitcnt lgkmcnt(0)
loop:
    global_load_b32 v10, v5, s[4:5]
    global_load_b32 v11, v6, s[6:7]
    v_add_nc_u32 v5, 64, v5
    v_add_nc_u32 v6, {16 * 4 * EDGE}, v6
    s_waitcnt vmcnt(0)
    ds_store_b32 v7, v10
    ds_store_b32 v7, v11 offset:1024
    s_waitcnt lgkmcnt(0)
    s_barrier
{"".join(f'''
    ds_load_b32 v10, v8 offset:{4 * k}
    ds_load_b32 v11, v9 offset:{1024 + 64 * k}
    s_waitcnt lgkmcnt(0)
    v_fmac_f32 v12, v10, v11''' for k in range(16))}
    s_barrier
    s_sub_i32 s14, s14, 1
    s_cmp_lg_u32 s14, 0
    s_cbranch_scc1 loop
    v_lshlrev_b32 v3, 10, v3
    v_lshl_add_u32 v3, v4, 2, v3
    global_store_b32 v3, v12, s[8:9]
    s_endpgm
"""

def _loop(count: int, *lines: str) -> str:
    """A loop over instructions on registers that were filled with small numbers."""
    head = ["v_and_b32 v0, 0x3ff, v0", "v_cvt_f32_u32 v1, v0", *(f"v_add_f32 v{row}, 0x3e8, v{row - 1}" for row in range(2, 16))]
    tail = ["s_sub_i32 s2, s2, 1", "s_cmp_lg_u32 s2, 0", "s_cbranch_scc1 loop", "s_endpgm", ""]
    return "\n".join([f"s_movk_i32 s2, {count}", *head, "loop:", *lines, *tail])


HALVES = _loop(
    300, "v_pk_fma_f16 v1, v1, v2, v3", "v_pk_add_f16 v4, v1, v5", "v_pk_mul_f16 v6, v4, v7 op_sel_hi:[1,0]", "v_pk_max_f16 v8, v6, v1",
    "v_fma_f16 v9, v6, v8, v9", "v_add_f16 v10, v9, v1", "v_fma_mix_f32 v11, v1, v2, v11 op_sel_hi:[1,1,0]", "v_cvt_f32_f16 v12, v6",
)  # fmt: skip
DOUBLES = _loop(
    300, "v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]", "v_add_f64 v[4:5], v[2:3], v[10:11]", "v_mul_f64 v[6:7], v[4:5], v[2:3]",
    "v_cvt_f32_f64 v12, v[6:7]", "v_cvt_f64_f32 v[8:9], v12", "v_cmp_lt_f64 vcc_lo, v[2:3], v[4:5]", "v_max_f64 v[10:11], -v[8:9], v[2:3]",
)  # fmt: skip
DPP = _loop(
    300, "v_add_f32_dpp v1, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "v_add_f32_dpp v1, v1, v2 row_shr:2 row_mask:0xf bank_mask:0xf",
    "v_add_f32_dpp v1, v1, v2 row_ror:4 row_mask:0xf bank_mask:0xf", "v_max_u32_dpp v3, v3, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v5, v6 row_share:15 row_mask:0xa bank_mask:0xf bound_ctrl:1", "v_add_nc_u32_dpp v7, v8, v9 dpp8:[7,6,5,4,3,2,1,0]",
    "v_permlanex16_b32 v10, v1, s3, s4", "v_readlane_b32 s5, v1, 31",
)  # fmt: skip
LDS_ATOMICS = _loop(
    300, "v_lshlrev_b32 v13, 2, v0", "v_and_b32 v14, 0xfc, v1", "ds_add_u32 v14, v0", "ds_max_i32 v13, v1", "ds_add_rtn_u32 v2, v14, v0",
    "ds_add_f32 v13, v3 offset:512", "ds_cmpstore_rtn_b32 v4, v13, v5, v6", "ds_store_2addr_b32 v13, v7, v8 offset1:64",
    "ds_bpermute_b32 v9, v13, v1", "s_waitcnt lgkmcnt(0)",
)  # fmt: skip

SAXPY_GLSL = """
#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main() { uint i = gl_GlobalInvocationID.x; y[i] = fma(0.5, x[i], y[i]); }
"""
MATMUL_GLSL = f"""
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) buffer A {{ float a[]; }};
layout(set = 0, binding = 1) buffer B {{ float b[]; }};
layout(set = 0, binding = 2) buffer C {{ float c[]; }};
void main() {{
    uint column = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
    float sum = 0;
    for (uint k = 0; k < {EDGE}; ++k) sum = fma(a[row * {EDGE} + k], b[k * {EDGE} + column], sum);
    c[row * {EDGE} + column] = sum;
}}
"""


class Kernel(NamedTuple):
    """One measurement."""

    text: str
    groups: tuple[int, int, int]
    size: tuple[int, int, int]
    buffers: tuple[np.ndarray, ...] = ()
    values: tuple[int, ...] = ()
    lds: int = 0
    glsl: str = ""

    @property
    def code(self) -> bytes:
        return assemble_object(self.text, TARGET)


def _matrices() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((EDGE, EDGE)).astype(np.float32) for _ in range(2))
    return a, b, np.zeros((EDGE, EDGE), np.float32)


_TILES = (EDGE // 16, EDGE // 16, 1)
_ONES = np.ones(COUNT, np.float32)
_HALF = int(np.float32(0.5).view(np.uint32))
KERNELS = {
    "alu_loop": Kernel(ALU_LOOP, (16, 1, 1), (128, 1, 1)),
    "saxpy": Kernel(SAXPY, (COUNT // 256, 1, 1), (256, 1, 1), (_ONES, _ONES), (_HALF,), glsl=SAXPY_GLSL),
    "matmul": Kernel(MATMUL, _TILES, (16, 16, 1), _matrices(), glsl=MATMUL_GLSL),
    "matmul_tiled": Kernel(TILED, _TILES, (16, 16, 1), _matrices(), lds=2048),
}
#: What other instructions cost: the fast engine against the reference alone.
MIXES = {
    "halves": Kernel(HALVES, (4, 1, 1), (128, 1, 1)),
    "doubles": Kernel(DOUBLES, (4, 1, 1), (128, 1, 1)),
    "dpp": Kernel(DPP, (4, 1, 1), (128, 1, 1)),
    "lds_atomics": Kernel(LDS_ATOMICS, (4, 1, 1), (128, 1, 1), lds=4096),
}
#: How many times faster than tinygrad's emulator, and how many times slower than lavapipe at most.
FASTER = {"alu_loop": 100, "saxpy": 50, "matmul": 50, "matmul_tiled": 50}
SLOWER = {"saxpy": 3, "matmul": 3}


class Prepared:
    """A kernel with its arguments on a device; with `shared`, in memory that other devices may have too."""

    def __init__(self, name: str, engine: str = "fast", threads: int | None = 1, shared: Sequence[np.ndarray] = ()) -> None:
        self.kernel = {**KERNELS, **MIXES}[name]
        self.device = Device(TARGET, engine, threads)
        self.buffers = [self.device.share(data) for data in shared] or [self.device.buffer(data) for data in self.kernel.buffers]
        words = np.array([*(buffer.address for buffer in self.buffers), *self.kernel.values], np.uint64)
        self.arguments = self.device.buffer(words) if len(words) else self.device.zeros(8)
        self.code = self.kernel.code

    def run(self) -> Report:
        """Dispatch once."""
        address = self.arguments.address
        return self.device.run(
            self.code, self.kernel.groups, self.kernel.size, user_sgprs=(address & 0xFFFFFFFF, address >> 32),
            workgroup_ids=(True, True, False), lds_bytes=self.kernel.lds,
        )  # fmt: skip


def best(run: Callable[[], object], repetitions: int = 7, clock: Callable[[], float] = time.process_time) -> float:
    """Return the least time of several runs, after one to warm up."""
    run()
    times = []
    for _ in range(repetitions):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


@cache
def tinygrad_times() -> dict[str, dict[str, Any]]:
    """Return what tinygrad's emulator takes for each kernel, from a few of its workgroups; empty where it is not there."""
    cases = [
        {
            "name": name, "code": kernel.code, "groups": few(kernel.groups), "size": kernel.size, "values": kernel.values,
            "buffers": kernel.buffers, "rsrc2": 2 << 1 | 3 << 7 | -(-kernel.lds // 512) << 15, "repetitions": 1,
        }
        for name, kernel in KERNELS.items()
    ]  # fmt: skip
    places = [os.environ.get("TINYGRAD_PATH", ""), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    worker = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "tinygrad_worker.py")], input=pickle.dumps(cases), capture_output=True, env=environment
    )
    if worker.returncode:
        print(worker.stderr.decode()[-300:], file=sys.stderr)
        return {}
    found: dict[str, dict[str, Any]] = pickle.loads(worker.stdout)
    for name, times in found.items():
        times["best"] *= np.prod(KERNELS[name].groups) / np.prod(few(KERNELS[name].groups))
    return found


def few(groups: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return as many workgroups as a slow emulator runs in about a second."""
    return min(groups[0], 64 if groups[1] == 1 else 4), min(groups[1], 2), groups[2]


@cache
def lavapipe_time(name: str) -> float | None:
    """Return lavapipe's CPU time of the same computation from GLSL; None where it is not there."""
    kernel = KERNELS[name]
    glslang = shutil.which("glslangValidator")
    if not kernel.glsl or glslang is None:
        return None
    try:
        from vulkan_peer import Lavapipe, PeerError
    except ImportError:
        return None
    spirv = subprocess.run(
        [glslang, "--stdin", "-S", "comp", "-V", "--target-env", "vulkan1.2", "-o", "/dev/stdout", "--quiet"],
        input=kernel.glsl.encode(), capture_output=True, check=True,
    ).stdout  # fmt: skip
    try:
        return min(Lavapipe().time(spirv, kernel.groups, {(0, place): data for place, data in enumerate(kernel.buffers)}))
    except PeerError:
        return None


# ----------------------------------------------------------------------------------------------------------------- tests
@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("name", list(KERNELS))
def test_kernel(benchmark: BenchmarkFixture, name: str, engine: str) -> None:
    """Wave instructions per second of CPU time on one thread."""
    if engine == "reference" and name == "matmul_tiled":
        pytest.skip("takes seconds and says what the others say")
    prepared = Prepared(name, engine)
    report = prepared.run()
    benchmark.pedantic(prepared.run, rounds=3 if engine == "reference" else 7)
    assert benchmark.stats is not None
    seconds = benchmark.stats.stats.min
    benchmark.extra_info["wave_instructions_per_second"] = report.instructions / seconds
    benchmark.extra_info["lane_instructions_per_second"] = sum(report.lane_units.values()) / seconds


@pytest.mark.parametrize("name", list(MIXES))
def test_mix(benchmark: BenchmarkFixture, name: str) -> None:
    """Halves, doubles, lanes of others and atomics have steps of their own."""
    prepared, slow = Prepared(name), Prepared(name, "reference")
    report = prepared.run()
    benchmark.pedantic(prepared.run, rounds=7)
    assert benchmark.stats is not None
    seconds = benchmark.stats.stats.min
    benchmark.extra_info["wave_instructions_per_second"] = report.instructions / seconds
    assert best(slow.run, 2) > 1.5 * seconds


@pytest.mark.parametrize("name", ["matmul", "matmul_tiled"])
def test_result(name: str) -> None:
    """The product is right."""
    prepared = Prepared(name)
    prepared.run()
    a, b, c = (buffer.numpy() for buffer in prepared.buffers)
    assert np.allclose(c, a @ b, atol=1e-3)


@pytest.mark.parametrize("name", list(FASTER))
def test_against_tinygrad(name: str) -> None:
    """Many times faster than tinygrad's emulator on the same words, with the same result."""
    if name not in tinygrad_times():
        pytest.skip("tinygrad's emulator is not there")
    prepared = Prepared(name)
    ratio = tinygrad_times()[name]["best"] / best(prepared.run)
    print(f"{name}: {ratio:.0f} times tinygrad's emulator")
    assert ratio >= FASTER[name]


@pytest.mark.parametrize("name", list(SLOWER))
def test_against_lavapipe(name: str) -> None:
    """Not many times slower than a compiler for the host."""
    seconds = lavapipe_time(name)
    if seconds is None:
        pytest.skip("lavapipe is not there")
    ratio = best(Prepared(name).run) / seconds
    print(f"{name}: {ratio:.2f} times lavapipe's CPU time")
    assert ratio <= SLOWER[name]


def processor_ticks() -> tuple[int, int]:
    """Return how long the processors worked, and how long they would have but for other guests of the host; zeros where nobody counts."""
    try:
        user, nice, system, _, _, _, _, stolen, *_ = map(int, Path("/proc/stat").read_text().split()[1:11])
    except (OSError, ValueError):
        return 0, 0
    return user + nice + system, stolen


class TwoThreads(NamedTuple):
    """How many times faster two threads are; two devices of a thread each on the same buffers, which is what the host allows; and the share of
    the processors' time that went to other guests of the host meanwhile: with more than a few percent the rest says nothing."""

    threads: float
    devices: float
    stolen: float


def least_times(runs: Sequence[Callable[[], object]]) -> list[float]:
    """Return the least time of each, which short turns find where a machine is shared and slower for seconds.

    There are turns until none has become shorter by a hundredth for `TURNS` of them, ten times as many at most.
    """
    least = [float("inf")] * len(runs)
    left, turns = TURNS, 0
    while left and turns < 10 * TURNS:
        found = [best(run, 3, time.perf_counter) for run in runs]
        left = TURNS if any(new < 0.99 * old for new, old in zip(found, least, strict=True)) else left - 1
        least = [min(pair) for pair in zip(found, least, strict=True)]
        turns += 1
    return least


def two_threads(name: str) -> TwoThreads:
    """Measure them beside one thread."""
    one, two = (Prepared(name, threads=threads) for threads in (1, 2))
    data = [array.copy() for array in one.kernel.buffers]
    first, second = (Prepared(name, shared=data) for _ in range(2))

    def both() -> None:
        other = threading.Thread(target=second.run)
        other.start()
        first.run()
        other.join()

    before = processor_ticks()
    alone, together, apart = least_times((one.run, two.run, both))
    worked, stolen = (late - early for late, early in zip(processor_ticks(), before, strict=True))
    return TwoThreads(alone / together, 2 * alone / apart, stolen / max(worked + stolen, 1))


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
@pytest.mark.parametrize("name", list(KERNELS))
def test_two_cores(name: str) -> None:
    """Two threads take little more than half of one's time."""
    found = two_threads(name)
    print(f"{name}: two threads {found.threads:.2f} times one, two devices {found.devices:.2f}; {found.stolen:.1%} of the time stolen")
    assert found.threads >= 1.8


def small_dispatch() -> Callable[[], Report]:
    """Return a dispatch of one workgroup, whose eight waves end at once."""
    device = Device(TARGET, "fast", 1)
    code = assemble_object("s_endpgm\n", TARGET)
    return lambda: device.run(code, (1, 1, 1), (256, 1, 1))


def test_small_dispatch(benchmark: BenchmarkFixture) -> None:
    """What a dispatch costs beside its instructions, the same code again and again."""
    benchmark.pedantic(small_dispatch(), rounds=50, iterations=20, warmup_rounds=1)


def first_result() -> float:
    """Return the time from a new kernel's words to its first result, with the process warm."""
    Prepared("saxpy").run()
    prepared = Prepared("matmul_tiled")
    start = time.perf_counter()
    prepared.device.run(prepared.code, (1, 1, 1), prepared.kernel.size, user_sgprs=_address(prepared), lds_bytes=2048,
                        workgroup_ids=(True, True, False))  # fmt: skip
    return time.perf_counter() - start


def _address(prepared: Prepared) -> tuple[int, int]:
    return prepared.arguments.address & 0xFFFFFFFF, prepared.arguments.address >> 32


def test_first_result() -> None:
    assert first_result() <= 0.05


def main() -> None:
    """Print the comparison."""
    heads = {"M wave instr/s": 16, "ms": 9, "x reference": 13, "x tinygrad": 12, "of lavapipe": 13, "two threads": 13, "two devices": 13, "stolen": 8}
    print(f"{'kernel':14}" + "".join(f"{head:>{width}}" for head, width in heads.items()))
    for name in KERNELS:
        one, slow = Prepared(name), Prepared(name, "reference")
        report = one.run()
        seconds = best(one.run)
        tinygrad = tinygrad_times().get(name)
        lavapipe = lavapipe_time(name)
        several = two_threads(name)
        columns = [
            (report.instructions / seconds / 1e6, "16.1f"), (seconds * 1e3, "9.2f"), (best(slow.run, 1) / seconds, "13.1f"),
            (tinygrad and tinygrad["best"] / seconds, "12.0f"), (lavapipe and seconds / lavapipe, "13.2f"), (several.threads, "13.2f"),
            (several.devices, "13.2f"), (several.stolen, "8.1%"),
        ]  # fmt: skip
        print(f"{name:14}" + "".join(format(value, form) if value is not None else f"{'-':>{form.split('.')[0]}}" for value, form in columns))
    for name in MIXES:
        one, slow = Prepared(name), Prepared(name, "reference")
        report, seconds = one.run(), best(one.run)
        print(f"{name:14}{report.instructions / seconds / 1e6:16.1f}{seconds * 1e3:9.2f}{best(slow.run, 2) / seconds:13.1f}")
    print(f"first result of a new kernel: {first_result() * 1e3:.1f} ms; a small dispatch: {best(small_dispatch(), 500) * 1e6:.0f} us")


if __name__ == "__main__":
    main()
