"""Speed of addrlib: tile and detile against a plain copy of the same bytes, addresses, layout queries.

    python bench/bench_addrlib.py [--repeats N] [--sizes 2048 4096] [--wall]

Copy, detile and tile take turns, and the best of each counts. Times are the thread's own processor time, which other programs on the
machine disturb less; ``--wall`` takes the clock instead. Two threads are always timed by the clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from pyaco.addrlib import TiledSurface, gpu_config, surface_info, surface_infos
from pyaco.addrlib.v1.surface import surface_info as surface_info_gfx6
from pyaco.addrlib.v1.tiled import TiledSurfaceGfx6
from pyaco.addrlib.v3_surface import surface3_info

MODES = (("64KB_R_X gfx1030", "navi21", 27), ("64KB_R_X gfx1100", "navi31", 27), ("64KB_S gfx900", "vega10", 9), ("2D thin1 gfx803", "polaris10", 4))


def make(name: str, mode: int, size: int, bpp: int) -> TiledSurface:
    """Return a square surface."""
    config = gpu_config(name)
    if config.level < 90:
        return TiledSurfaceGfx6(config, width=size, height=size, bpp=bpp, tile_mode=mode)
    return TiledSurface(config, width=size, height=size, bpp=bpp, swizzle_mode=mode)


def best(functions: list[Callable[[], object]], repeats: int, clock: Callable[[], float]) -> list[float]:
    """Return the shortest time of each function, in seconds; they take turns."""
    times = [float("inf")] * len(functions)
    for function in functions:
        function()
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = clock()
            function()
            times[i] = min(times[i], clock() - start)
    return times


def bench_tiling(sizes: list[int], repeats: int, clock: Callable[[], float]) -> None:
    """Print GB/s of texels, and the fraction of the copy's speed."""
    print("mode                size bytes   copy detile         tile         two threads:  copy detile   tile")
    for label, name, mode in MODES:
        for size in sizes:
            for element in (1, 2, 4, 8, 16):
                surface = make(name, mode, size, 8 * element)
                memory = np.random.default_rng(0).integers(0, 256, surface.size, dtype=np.uint8)
                texels = surface.detile(memory)
                back = np.empty_like(memory)
                source, target = memory[: texels.nbytes], np.empty(texels.nbytes, np.uint8)

                def run(threads: int, s: TiledSurface = surface, m: np.ndarray = memory, t: np.ndarray = texels, b: np.ndarray = back,
                        x: np.ndarray = source, y: np.ndarray = target) -> list[Callable[[], object]]:
                    return [lambda: np.copyto(y, x), lambda: s.detile(m, out=t, threads=threads), lambda: s.tile(t, b, threads=threads)]

                one = [texels.nbytes / seconds / 1e9 for seconds in best(run(1), repeats, clock)]
                two = [texels.nbytes / seconds / 1e9 for seconds in best(run(2), repeats, time.perf_counter)]
                print(f"{label:18} {size:5} {element:5} {one[0]:6.1f} {one[1]:6.1f} {one[1] / one[0]:5.2f} {one[2]:6.1f} {one[2] / one[0]:5.2f}"
                      f"                {two[0]:5.1f} {two[1]:6.1f} {two[2]:6.1f}", flush=True)


def bench_queries(repeats: int, clock: Callable[[], float]) -> None:
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
            repeats, clock)
        print(f"addresses, {surface.config.name}: {number / scattered / 1e6:.0f} M/s scattered, {number / in_order / 1e6:.0f} M/s in order")
    widths = rng.integers(1, 4096, 100_000)
    fields = {"width": widths, "height": widths[::-1], "bpp": 32, "swizzle_mode": 27, "resource_type": 1}
    flat, mips = best([lambda: surface_infos(config, 100_000, **fields), lambda: surface_infos(config, 100_000, **fields, num_mip_levels=11)],
                      repeats, clock)
    print(f"surface infos: {0.1 / flat:.2f} M/s, {0.1 / mips:.2f} M/s with 11 levels")

    def scalar(query: Callable[..., object], chip: str, **mode: int) -> Callable[[], object]:
        of = gpu_config(chip)
        return lambda: [query(of, width=width, height=100, bpp=32, **mode) for width in range(1, 1001)]

    ask = [scalar(surface_info, "navi21", swizzle_mode=27), scalar(surface_info_gfx6, "polaris10", tile_mode=4, tile_type=1),
           scalar(surface3_info, "gfx1201", swizzle_mode=3)]
    print("one surface info, microseconds: navi21 {:.1f}, polaris10 {:.1f}, gfx1201 {:.1f}".format(
        *(seconds * 1e3 for seconds in best(ask, repeats, clock))))


def main() -> None:
    """Run the benches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2048, 4096])
    parser.add_argument("--wall", action="store_true")
    options = parser.parse_args()
    clock = time.perf_counter if options.wall else time.thread_time
    bench_queries(options.repeats, clock)
    bench_tiling(options.sizes, options.repeats, clock)


if __name__ == "__main__":
    main()
