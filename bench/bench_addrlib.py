"""Speed of addrlib: tile and detile against a plain copy of the same bytes, addresses, layout queries.

    python bench/bench_addrlib.py [--seconds N] [--sizes 2048 4096] [--offset 0] [--wall]

Copy, detile and tile take turns, and the best of each counts. Other users of a shared machine slow down scattered accesses for a second or
so without slowing down the copy, so that the turns go on for two seconds a case. Times are the thread's own processor time; ``--wall``
takes the clock instead. Two threads are always timed by the clock. Memory, tiled or copied, begins with a cache line, as any that a driver
gives, or ``--offset`` bytes behind; texels where numpy puts them, 16 bytes behind as a rule.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from pyaco.addrlib import TiledSurface, gpu_config, surface_info, surface_infos
from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6
from pyaco.addrlib.v1.queries import surface_info as surface_info_gfx6
from pyaco.addrlib.v3.queries import surface3_info
from pyaco.host_memory import zeros_at_line

MODES = (("64KB_R_X gfx1030", "navi21", 27), ("64KB_R_X gfx1100", "navi31", 27), ("64KB_S gfx900", "vega10", 9), ("2D thin1 gfx803", "polaris10", 4))


def make(name: str, mode: int, size: int, bpp: int) -> TiledSurface:
    """Return a square surface."""
    config = gpu_config(name)
    if config.level < 90:
        return TiledSurfaceGfx6(config, width=size, height=size, bpp=bpp, tile_mode=mode)
    return TiledSurface(config, width=size, height=size, bpp=bpp, swizzle_mode=mode)


def best(functions: list[Callable[[], object]], seconds: float, clock: Callable[[], float]) -> list[float]:
    """Return the shortest time of each function, in seconds; they take at least seven turns, for as many seconds."""
    times = [float("inf")] * len(functions)
    for function in functions:
        function()
    turns, end = 0, perf_counter() + seconds
    while turns < 7 or perf_counter() < end:
        turns += 1
        for i, function in enumerate(functions):
            start = clock()
            function()
            times[i] = min(times[i], clock() - start)
    return times


def bench_tiling(sizes: list[int], seconds: float, clock: Callable[[], float], offset: int) -> None:
    """Print GB/s of texels, and the fraction of the copy's speed; "new" lays out a surface, makes its tables and detiles it once."""
    print("mode                size bytes   copy detile         tile           new         two threads:  copy detile   tile")
    for label, name, mode in MODES:
        for size in sizes:
            for element in (1, 2, 4, 8, 16):
                surface = make(name, mode, size, 8 * element)
                memory, back, target = (zeros_at_line(surface.size + offset)[offset:] for _ in range(3))
                memory[:] = np.random.default_rng(0).integers(0, 256, surface.size, dtype=np.uint8)
                texels = surface.detile(memory)
                source, target = memory[: texels.nbytes], target[: texels.nbytes]

                def run(threads: int, s: TiledSurface = surface, m: np.ndarray = memory, t: np.ndarray = texels, b: np.ndarray = back,
                        x: np.ndarray = source, y: np.ndarray = target) -> list[Callable[[], object]]:
                    return [lambda: np.copyto(y, x), lambda: s.detile(m, out=t, threads=threads), lambda: s.tile(t, b, threads=threads)]

                def first(memory: np.ndarray = memory, texels: np.ndarray = texels, size: int = size, element: int = element,
                          name: str = name, mode: int = mode) -> None:
                    make(name, mode, size, 8 * element).detile(memory, out=texels)

                one = [texels.nbytes / time / 1e9 for time in best([*run(1), first], seconds, clock)]
                two = [texels.nbytes / time / 1e9 for time in best(run(2), seconds, perf_counter)]
                ratios = " ".join(f"{speed:6.1f} {speed / one[0]:5.2f}" for speed in one[1:])
                print(f"{label:18} {size:5} {element:5} {one[0]:6.1f} {ratios}                {two[0]:5.1f} {two[1]:6.1f} {two[2]:6.1f}", flush=True)


def bench_queries(seconds: float, clock: Callable[[], float]) -> None:
    """Print rates of addresses and layouts."""
    config = gpu_config("navi21")
    surfaces = [make(name, mode, 4096, 32) for name, mode in (("navi21", 27), ("polaris10", 4), ("gfx1201", 3))]
    rng = np.random.default_rng(0)
    number = 1 << 22
    x, y = rng.integers(0, 4096, (2, number))
    rows, columns = (np.ascontiguousarray(a) for a in np.meshgrid(np.arange(2048), np.arange(2048), indexing="ij"))
    out, grid = np.empty(number, np.int64), np.empty(rows.shape, np.int64)
    for surface in surfaces:
        scattered, in_order = best(
            [lambda s=surface: s.addresses(x, y, out=out), lambda s=surface: s.addresses(columns, rows, out=grid)],  # type: ignore[misc]
            seconds, clock)
        print(f"addresses, {surface.config.name}: {number / scattered / 1e6:.0f} M/s scattered, {number / in_order / 1e6:.0f} M/s in order")
    widths = rng.integers(1, 4096, 100_000)
    fields: dict[str, Any] = {"width": widths, "height": widths[::-1], "bpp": 32, "swizzle_mode": 27, "resource_type": 1}
    flat, mips = best([lambda: surface_infos(config, 100_000, **fields), lambda: surface_infos(config, 100_000, **fields, num_mip_levels=11)],
                      seconds, clock)
    print(f"surface infos: {0.1 / flat:.2f} M/s, {0.1 / mips:.2f} M/s with 11 levels")

    def scalar(query: Callable[..., object], chip: str, **mode: int) -> Callable[[], object]:
        of = gpu_config(chip)
        return lambda: [query(of, width=width, height=100, bpp=32, **mode) for width in range(1, 1001)]

    ask = [scalar(surface_info, "navi21", swizzle_mode=27), scalar(surface_info_gfx6, "polaris10", tile_mode=4, tile_type=1),
           scalar(surface3_info, "gfx1201", swizzle_mode=3)]
    print("one surface info, microseconds: navi21 {:.1f}, polaris10 {:.1f}, gfx1201 {:.1f}".format(
        *(time * 1e3 for time in best(ask, seconds, clock))))


def main() -> None:
    """Run the benches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2048, 4096])
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--wall", action="store_true")
    options = parser.parse_args()
    clock = perf_counter if options.wall else thread_time
    bench_queries(options.seconds, clock)
    bench_tiling(options.sizes, options.seconds, clock, options.offset)


if __name__ == "__main__":
    main()
