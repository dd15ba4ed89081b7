"""How each pass grows: generated shaders of 3,000 to 1,000,000 SPIR-V instructions; large shaders of many shapes.

Two figures for each pass. Its *exponent* is the slope of a straight line through log(time) over log(size), of all sizes, and beside it the
standard error of that slope. The *last step* is the exponent between the two largest sizes alone, which shows where what a pass reads no longer
fits a cache. A size at which a pass has nothing to do yet (`IDLE_SHARE`) is on no line.

The smallest size has 3,000 instructions: fixed costs (entering a pass, reading the processor's clock, looking at its options: about a microsecond)
and the beginning and end that all these shaders have in common (220 instructions) are less than a tenth there of whatever takes
0.2 % of the time. From smaller ones the line would begin too high, and its slope be too good.

A small shader is no smaller picture of a large one: the first 3,000 instructions of a stream of branching code have 7 loops, one for 395
instructions, where 100,000 have one for 248, and a pass over loops seemed to grow with a power that is 0.08 too high. So a size is several shaders,
as many as have `INSTRUCTIONS_OF_SIZE` together, and its time their mean.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import large_shapes
from big_shader import FIRST_SEED, WORDS_PER_STATEMENT
from big_shader import spirv as big_spirv
from spirv_reflection import reflect

import pyaco
from pyaco._core.ir import pass_runner

SIZES = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
#: Of shapes; ``glslangValidator`` takes minutes for much more of some.
SHAPE_SIZES = SIZES[:4]
#: Passes of shapes are named where one of the two figures is above this.
HIGHEST_EXPONENT = 1.15
#: Passes that take less than this share of the largest shader's time are summed up.
LEAST_SHARE = 0.002
#: A pass that takes less than this share of a shader's time has seen that it has nothing to do there.
IDLE_SHARE = LEAST_SHARE / 4
#: A round compiles the shaders of a size as often as it takes to read so many instructions.
INSTRUCTIONS_PER_ROUND = 600_000
#: A size is shaders of so many instructions together.
INSTRUCTIONS_OF_SIZE = SIZES[3]


@dataclass(frozen=True)
class Growth:
    """Least milliseconds of processor time of each pass, and of all together, at each size: means of its shaders."""

    counts: list[int]
    times: list[dict[str, float]]

    def of(self, name: str) -> list[float]:
        """Milliseconds of a pass by size."""
        return [times.get(name, 0.0) for times in self.times]

    def exponent(self, name: str) -> tuple[float, float]:
        """The power of the size that a pass's time grows with where it has something to do, and its standard error."""
        sizes = zip(self.counts, self.times, strict=True)
        busy = [(count, times[name]) for count, times in sizes if times.get(name, 0.0) >= IDLE_SHARE * times["all"]]
        return exponent([count for count, _ in busy], [time for _, time in busy])

    def last_step(self, name: str) -> float:
        """The power of the size that a pass's time grows with between the two largest sizes."""
        return exponent(self.counts[-2:], self.of(name)[-2:])[0]

    def largest_passes(self) -> list[str]:
        """What takes a share of the time that counts, beginning with the largest (all of them together)."""
        last = self.times[-1]
        return [name for name in sorted(last, key=lambda name: -last[name]) if last[name] >= LEAST_SHARE * last["all"]]

    def others(self) -> list[float]:
        """Milliseconds of all other passes by size."""
        shown = set(self.largest_passes())
        return [math.fsum(time for name, time in times.items() if name not in shown) for times in self.times]


def exponent(counts: list[int], times: list[float]) -> tuple[float, float]:
    """The power of the size that times grow with, by least squares, and its standard error (infinite where two sizes are all there is)."""
    if len(counts) < 2:
        return math.nan, math.inf
    x, y = [math.log(count) for count in counts], [math.log(max(time, 1e-6)) for time in times]
    slope, start = statistics.linear_regression(x, y)
    if len(x) == 2:
        return slope, math.inf
    residuals = math.fsum((b - start - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    middle = statistics.fmean(x)
    return slope, math.sqrt(residuals / (len(x) - 2) / math.fsum((a - middle) ** 2 for a in x))


def measure(sizes: list[list[bytes]], target: str, repetitions: int) -> Growth:
    """Compile the modules of each size in rounds through all sizes, so that what else the machine does meets all alike; small ones more often."""
    counts = [[reflect(module).instruction_count for module in modules] for modules in sizes]
    least: list[list[dict[str, float]]] = [[{} for _ in modules] for modules in sizes]
    pass_runner.count_processor_time(True)
    for _ in range(repetitions):
        for modules, of_modules, found in zip(sizes, counts, least, strict=True):
            for _ in range(max(1, INSTRUCTIONS_PER_ROUND // sum(of_modules))):
                for module, times in zip(modules, found, strict=True):
                    compile_once(module, target, times)
    pass_runner.count_processor_time(False)
    return Growth([round(statistics.fmean(of_modules)) for of_modules in counts], [means(found) for found in least])


def compile_once(module: bytes, target: str, least: dict[str, float]) -> None:
    """Compile a module, and keep the times that are the least so far."""
    times = pyaco.compile(module, target=target).times_ms
    for name, milliseconds in {**times["passes"], "all": times["total"]}.items():
        least[name] = min(least.get(name, math.inf), milliseconds)


def means(found: list[dict[str, float]]) -> dict[str, float]:
    """The mean of some shaders' times by name; where a pass did not run, it took no time."""
    names = {name for times in found for name in times}
    return {name: math.fsum(times.get(name, 0.0) for times in found) / len(found) for name in names}


def shaders_of_size(size: int, kind: str) -> list[bytes]:
    """Generated shaders of one size, each from a stream of its own."""
    return [big_spirv(size, kind, FIRST_SEED + k) for k in range(max(1, INSTRUCTIONS_OF_SIZE // size))]


def _head(name: str, counts: list[int]) -> str:
    return f"{name:32}{' '.join(f'{count:9}' for count in counts)}  exponent      last step"


def _line(name: str, growth: Growth, indent: str = "") -> str:
    times = growth.of(name)
    slope, error = growth.exponent(name)
    return f"{indent + name:32}{' '.join(f'{time:9.2f}' for time in times)}  {slope:.2f} +-{error:.2f}   {growth.last_step(name):.2f}"


def grow(target: str, largest: int, repetitions: int) -> Iterator[tuple[str, Growth]]:
    """Measure each kind of generated shader."""
    for kind in sorted(WORDS_PER_STATEMENT):
        yield kind, measure([shaders_of_size(size, kind) for size in SIZES if size <= largest], target, repetitions)


def report(target: str, largest: int, repetitions: int, plot_file: Path | None) -> None:
    """Print a table for each kind of generated shader, and draw the curves if a file is named."""
    found = {}
    for kind, growth in grow(target, largest, repetitions):
        found[kind] = growth
        print(f"\n{kind} code, {target}: ms of processor time by SPIR-V instructions")
        print(_head("", growth.counts))
        for name in growth.largest_passes():
            print(_line(name, growth))
        print(f"{'other passes':32}{' '.join(f'{time:9.2f}' for time in growth.others())}", flush=True)
    if plot_file:
        plot(found, plot_file)


def plot(found: dict[str, Growth], path: Path) -> None:
    """Draw microseconds an instruction over the size: what grows with the size is level; needs ``pyaco[plot]``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6 * len(found), 7), layout="constrained")
    for place, (kind, growth) in enumerate(found.items(), 1):
        axes = figure.add_subplot(1, len(found), place, xscale="log", yscale="log", title=kind, xlabel="SPIR-V instructions")
        for name in growth.largest_passes():
            times = growth.of(name)
            label = f"{name} {growth.exponent(name)[0]:.2f}"
            axes.plot(growth.counts, [1000 * time / count for time, count in zip(times, growth.counts, strict=True)], marker=".", label=label)
        axes.set_ylabel("us of processor time an instruction")
        axes.legend(fontsize=5, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.08))
    figure.savefig(path, dpi=150)


def report_shapes(target: str, largest: int, repetitions: int, only: list[str]) -> None:
    """Print a line for each shape, and one for each of its passes that grows too fast."""
    print(f"{target}: ms of processor time by SPIR-V instructions; passes with an exponent or a last step above {HIGHEST_EXPONENT}")
    for shape in only or large_shapes.SHAPES:
        growth = measure([[large_shapes.spirv(shape, size)] for size in SHAPE_SIZES if size <= largest], target, repetitions)
        print(_head(shape, growth.counts))
        for name in growth.largest_passes():
            if name == "all" or growth.exponent(name)[0] > HIGHEST_EXPONENT or growth.last_step(name) > HIGHEST_EXPONENT:
                print(_line(name, growth, "  "), flush=True)
