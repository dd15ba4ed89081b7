"""How each pass grows: generated shaders of 10,000 SPIR-V instructions and ten, a hundred times that; large shaders of many shapes."""

from __future__ import annotations

import math

import large_shapes
from big_shader import WORDS_PER_STATEMENT
from big_shader import spirv as big_spirv
from spirv_reflection import reflect

import pyaco
from pyaco._core.ir import pass_runner

SIZES = (10_000, 100_000, 1_000_000)
#: Of shapes; ``glslangValidator`` takes minutes for much more of some.
SHAPE_SIZES = (3_000, 10_000, 30_000, 100_000)
#: Passes of shapes are named where they grow by a higher power in the last step.
HIGHEST_POWER = 1.15
#: Passes that take less than this share of the largest shader's time are summed up.
LEAST_SHARE = 0.002


def times_of(module: bytes, target: str, repetitions: int) -> dict[str, float]:
    """Least milliseconds of processor time of each pass, and of all together, over some compilations."""
    least: dict[str, float] = {}
    pass_runner.count_processor_time(True)
    for _ in range(repetitions):
        times = pyaco.compile(module, target=target).times_ms
        for name, milliseconds in {**times["passes"], "all": times["total"]}.items():
            least[name] = min(least.get(name, math.inf), milliseconds)
    pass_runner.count_processor_time(False)
    return least


def exponent(times: dict[str, float], larger: dict[str, float], name: str, factor: float) -> float:
    """The power of the size that a pass's time grows with."""
    return math.log(max(larger[name], 1e-6) / max(times.get(name, 1e-6), 1e-6)) / math.log(factor)


def report(target: str, largest: int, repetitions: int) -> None:
    """Print a table for each kind of generated shader."""
    for kind in sorted(WORDS_PER_STATEMENT):
        counts, found = [], []
        for size in (size for size in SIZES if size <= largest):
            module = big_spirv(size, kind)
            counts.append(reflect(module).instruction_count)
            found.append(times_of(module, target, repetitions if size < SIZES[-1] else 1))
        if found:
            _print(kind, target, counts, found)


def _print(kind: str, target: str, counts: list[int], found: list[dict[str, float]]) -> None:
    heads = [f"{counts[0]:>10}"] + [f"{count:>10} {'exp.':>5}" for count in counts[1:]]
    print(f"\n{kind} code, {target}: ms by SPIR-V instructions, and the exponent from one size to the next\n{'':36}{' '.join(heads)}")
    last = found[-1]
    shown = [name for name in sorted(last, key=lambda name: -last[name]) if last[name] >= LEAST_SHARE * last["all"]]
    for name in shown:
        cells = [f"{found[0].get(name, 0.0):10.2f}"]
        for index in range(1, len(found)):
            power = exponent(found[index - 1], found[index], name, counts[index] / counts[index - 1])
            cells.append(f"{found[index][name]:10.2f} {power:5.2f}")
        print(f"{name:36}{' '.join(cells)}")
    rest = [math.fsum(times[name] for name in times if name not in shown) for times in found]
    print(f"{'other passes':36}{rest[0]:10.2f} {' '.join(f'{value:10.2f}      ' for value in rest[1:])}".rstrip())


def report_shapes(target: str, largest: int, repetitions: int, only: list[str]) -> None:
    """Print a line for each shape, and one for each of its passes that grows too fast in the last step."""
    print(f"{target}: ms by SPIR-V instructions, exponents from one size to the next")
    for shape in only or large_shapes.SHAPES:
        counts, found = [], []
        for size in (size for size in SHAPE_SIZES if size <= largest):
            module = large_shapes.spirv(shape, size)
            counts.append(reflect(module).instruction_count)
            found.append(times_of(module, target, repetitions))
        print(f"{shape:36}{' '.join(f'{count:10}' for count in counts)}", flush=True)
        for name in sorted(found[-1], key=lambda name: -found[-1][name]):
            powers = [exponent(found[k - 1], found[k], name, counts[k] / counts[k - 1]) for k in range(1, len(counts))]
            if name == "all" or (powers[-1] > HIGHEST_POWER and found[-1][name] >= LEAST_SHARE * found[-1]["all"]):
                times = " ".join(f"{one.get(name, 0.0):10.2f}" for one in found)
                print(f"  {name:34}{times}   {' '.join(f'{power:5.2f}' for power in powers)}", flush=True)
