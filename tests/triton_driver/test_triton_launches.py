"""What Triton's launches can ask for, each on every target: arguments of NumPy, grids, tuning, scratch, tensor descriptors, times by the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from pyaco.errors import InputError, UnsupportedError

pytest.importorskip("triton", reason="Triton is not installed")
import driver_kernels as kernels
import triton
from triton.runtime import _allocation

from pyaco import triton as emulated
from pyaco.triton import Array
from pyaco.triton.benchmark import ModelTime

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1150", "gfx1200", "gfx1201")


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with emulated.activate(request.param):
        yield request.param


def random(*shape: int, dtype: Any = numpy.float32) -> NDArray[Any]:
    return numpy.random.default_rng(2).standard_normal(shape).astype(dtype)


# ----------------------------------------------------------------------------------------------------- arguments of NumPy
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"])
def test_arrays_and_scalars_of_numpy(target: str, dtype: str) -> None:
    x, y = (100 * random(2, 300)).astype(dtype)
    out = numpy.zeros(300, dtype)
    kernels.add[(2,)](x, y, out, numpy.int64(300), BLOCK=256)
    numpy.testing.assert_array_equal(out, x + y)
    assert not kernels.add.warmup(x, y, out, 300, BLOCK=256, grid=(1,)).asm["amdgcn"].isspace()


def test_views_and_strides_of_numpy(target: str) -> None:
    whole = random(6, 64)
    out = numpy.zeros((3, 64), numpy.float32)
    kernels.add[(1,)](whole[2], whole[3:].T.copy().T[:, :1].reshape(3).repeat(64)[:64], out[1], 64, BLOCK=64)
    numpy.testing.assert_array_equal(out[1], whole[2] + whole[3:, :1].reshape(3).repeat(64)[:64])
    assert not out[0].any() and not out[2].any()


def test_arrays_in_tuples(target: str) -> None:
    x, out = random(64), numpy.zeros(64, numpy.float32)
    kernels.scale[(1,)](x, out, (numpy.float32(2.0), numpy.int32(3)), BLOCK=64)
    numpy.testing.assert_array_equal(out, x * 2 + 3)


def test_an_array_that_cannot_be_written_is_refused(target: str) -> None:
    x, out = numpy.frombuffer(bytes(256), numpy.float32), numpy.zeros(64, numpy.float32)
    with pytest.raises(InputError, match="cannot be written"):
        kernels.add[(1,)](x, out, out, 64, BLOCK=64)


def test_numpy_and_torch_get_the_same_code(target: str) -> None:
    torch = pytest.importorskip("torch")
    x = random(64)
    ours = kernels.add.warmup(x, x, x, 64, BLOCK=64, grid=(1,))
    theirs = kernels.add.warmup(*[torch.from_numpy(x)] * 3, 64, BLOCK=64, grid=(1,))
    assert ours.asm["amdgcn"] == theirs.asm["amdgcn"]


# ---------------------------------------------------------------------------------------------------------- what is tuned
def test_autotune_heuristics_and_grids_that_are_functions(target: str) -> None:
    x, out = random(1000), numpy.zeros(1000, numpy.float32)
    kernels.tuned.cache.clear()
    kernels.tuned[lambda meta: (-(-1000 // meta["BLOCK"]),)](x, out, 1000)
    numpy.testing.assert_array_equal(out, x * 2)
    times = kernels.tuned.configs_timings
    assert len(times) == 2 and all(isinstance(time, ModelTime) for (time, *_) in times.values())
    assert kernels.tuned.best_config is min(times, key=lambda config: times[config])


def test_grids(target: str) -> None:
    for grid in ((5,), (3, 2), (2, 3, 4), lambda meta: (meta["WIDTH"], 2)):
        out = numpy.full(60, -1, numpy.int32)
        kernels.cubes[grid](out, WIDTH=3)
        shape = ((*(grid({"WIDTH": 3}) if callable(grid) else grid), 1, 1))[:3]
        z, y, x = numpy.indices(shape[::-1])
        numpy.testing.assert_array_equal(out[: x.size], (x + 10 * y + 100 * z).reshape(-1))
        assert (out[x.size :] == -1).all()
    kernels.cubes[(0,)](numpy.zeros(1, numpy.int32), WIDTH=3)           # runs nothing


def test_warmup_compiles_and_does_not_run(target: str) -> None:
    out = numpy.zeros(8, numpy.int32)
    compiled = kernels.count.warmup(out, 1, grid=(1,))
    assert compiled.asm["hsaco"][:4] == b"\x7fELF"
    assert not out.any()


def test_stages_and_warps(target: str) -> None:
    a, b = random(32, 128, dtype=numpy.float16), random(128, 32, dtype=numpy.float16)
    for stages in (1, 2, 3):
        for warps in (1, 2, 8):
            out = numpy.zeros((32, 32), numpy.float32)
            kernels.product[(1,)](a, b, out, 32, 32, 128, 32, num_warps=warps, num_stages=stages)
            numpy.testing.assert_allclose(out, a.astype(numpy.float32) @ b.astype(numpy.float32), atol=1e-3)


def test_clusters_are_refused_by_triton(target: str) -> None:
    out = numpy.zeros(8, numpy.int32)
    with pytest.raises(ValueError, match="num_ctas > 1 not supported"):
        kernels.count[(1,)](out, 1, num_ctas=2)


# ---------------------------------------------------------------------------------------------------------------- scratch
def test_spilled_registers(target: str) -> None:
    x, out = random(16384), numpy.zeros(16384, numpy.float32)
    x = numpy.round(x * 8)
    compiled = kernels.spill[(1,)](x, out, BLOCK=16384, num_warps=1)
    assert compiled.n_spills > 0 or target.startswith("gfx9")           # CDNA keeps them in AGPRs
    numpy.testing.assert_array_equal(out, numpy.cumsum(x) + x[::-1] * x)


@pytest.fixture
def instrumented() -> Iterator[None]:
    """Triton's floating-point sanitizer, which computes on a copy of operands in global scratch."""
    triton.knobs.compilation.instrumentation_mode = "fpsan"
    yield
    triton.knobs.compilation.instrumentation_mode = ""


def test_global_scratch(target: str, instrumented: None) -> None:
    a, out = random(32, 32, dtype=numpy.float16), numpy.zeros((32, 32), numpy.float32)
    asked: list[tuple[int, int]] = []

    def allocate(size: int, alignment: int, stream: int | None) -> Array:
        asked.append((size, alignment))
        return Array(numpy.zeros(size + alignment, numpy.uint8)[:size])

    triton.set_allocator(allocate)
    try:
        compiled = kernels.product[(3,)](a, a, out, 32, 32, 32, 32)
    finally:
        triton.set_allocator(_allocation._NULL_ALLOCATOR)
    size = compiled.metadata.global_scratch_size
    assert asked == ([(3 * size, compiled.metadata.global_scratch_align)] if size else [])
    assert out.any()


def test_tensor_descriptors_in_software(target: str) -> None:
    x, out = random(64, 32), numpy.zeros((64, 32), numpy.float32)
    triton.set_allocator(lambda size, alignment, stream: Array(numpy.zeros(size, numpy.uint8)))
    try:
        kernels.described[(2,)](x, out, 64, 32, BLOCK=32)
    finally:
        triton.set_allocator(_allocation._NULL_ALLOCATOR)
    numpy.testing.assert_array_equal(out, x + 1)


# ------------------------------------------------------------------------------------------------------------------ times
def test_benchmarks_are_times_of_the_model(target: str) -> None:
    from triton.testing import do_bench

    x, out = random(1 << 16), numpy.zeros(1 << 16, numpy.float32)

    def run(count: int) -> None:
        kernels.add[(count // 1024,)](x, x, out, count, BLOCK=1024)

    times = [do_bench(lambda count=count: run(count)) for count in (1 << 12, 1 << 14, 1 << 16)]
    assert times == sorted(times) and times[0] > 0
    assert all(isinstance(time, ModelTime) and "by the cycle model" in repr(time) and float(str(time)) == time for time in times)
    assert do_bench(lambda: run(1 << 16), quantiles=[0.5, 0.2]) == [times[2], times[2]]
    device = triton.runtime.driver.active.get_device_interface()
    start, end = device.Event(enable_timing=True), device.Event(enable_timing=True)
    start.record()
    run(1 << 16)
    end.record()
    assert start.elapsed_time(end) == pytest.approx(times[2])


def test_memory_limits_what_streams_and_matrix_units_what_multiplies() -> None:
    """512 workgroups that add 256 MiB are limited by memory; a product of 128 columns in each of many workgroups is not."""
    from triton.testing import do_bench

    x, out = numpy.zeros(1 << 22, numpy.float32), numpy.zeros(1 << 22, numpy.float32)
    a, total = numpy.zeros((64, 64), numpy.float16), numpy.zeros((64, 64), numpy.float32)
    with emulated.activate("gfx942"):
        streaming = do_bench(lambda: kernels.add[(1 << 10,)](x, x, out, 1 << 22, BLOCK=4096))
        multiplying = do_bench(lambda: kernels.product[(2048,)](a, a, total, 64, 64, 64, 64))
    assert list(streaming.limits) == ["memory"]
    assert "memory" not in multiplying.limits


def test_several_devices_at_once() -> None:
    x = random(256)
    for _ in range(2):
        for name in TARGETS:
            out = numpy.zeros(256, numpy.float32)
            with emulated.activate(name):
                number = triton.runtime.driver.active.get_current_device()
                compiled = kernels.add[(1,)](x, x, out, 256, BLOCK=256)
                assert triton.runtime.driver.active.get_device_interface().get_device_properties(number).arch == name
            assert compiled.metadata.target.arch == name
            numpy.testing.assert_array_equal(out, x + x)


# ------------------------------------------------------------------------------------------------------ cooperative grids
def test_programs_of_a_cooperative_grid_wait_for_each_other(target: str) -> None:
    programs, block = 9, 128
    x, out, arrived = numpy.zeros((programs, block), numpy.int32), numpy.zeros((programs, block), numpy.int32), numpy.zeros(1, numpy.int32)
    kernels.meet[(programs,)](x, out, arrived, BLOCK=block, launch_cooperative_grid=True)
    numpy.testing.assert_array_equal(out, (numpy.arange(programs)[:, None] + 1) % programs + numpy.arange(block))
    assert arrived[0] == programs


def test_a_cooperative_grid_larger_than_the_device_is_refused(target: str) -> None:
    out = numpy.zeros(64, numpy.int32)
    with pytest.raises(UnsupportedError, match=f"kernel count: a cooperative grid of 100000 workgroups, of which \\d+ are there at once on {target}"):
        kernels.count[(100000,)](out, ONE=1, launch_cooperative_grid=True)
    assert not out.any()
    kernels.count[(100,)](out, ONE=1, launch_cooperative_grid=True)
    assert list(out[:9]) == [100] * 8 + [0]
