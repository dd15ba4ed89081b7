"""Ten usual compute shaders on the fast engine beside lavapipe: the same SPIR-V, the same inputs, the same results.

Times are CPU time, one thread each, warm, the least of several turns in which the two alternate: a machine that others share is slow for seconds.
What dispatches cost besides the shader is in both. ``shaders/`` has the sources; ``python tests/shaders/build.py`` compiles them.

``python bench/bench_shaders.py [target] [shader ...]`` prints the table; ``--profile`` adds where the engine's time goes, with Linux's perf;
pytest checks the results.
"""

from __future__ import annotations

import math
import sys
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracle"))

from vulkan_peer import Lavapipe, PeerError

from pyaco import compile
from pyaco.emu import Device

FOLDER = Path(__file__).resolve().parent / "shaders"
TARGET = "gfx1100"
TURNS = 8
#: How many times lavapipe's CPU time each may take, and the geometric mean.
MOST, MEAN = 1.5, 0.8


class Case(NamedTuple):
    """A dispatch; the last buffer is the result, of which floats may differ by `tolerance`, relative or absolute, in a share `outliers` of them more.

    A ray that grazes an edge hits it or not as its last bit says.
    """

    groups: tuple[int, int, int]
    buffers: tuple[np.ndarray, ...]
    tolerance: float = 0.0
    outliers: float = 0.0


@cache
def cases() -> dict[str, Case]:
    """Return the shaders by name."""
    random = np.random.default_rng(7)

    def floats(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, np.float32)

    def words(count: int) -> np.ndarray:
        return random.integers(0, 1 << 32, count, dtype=np.uint32)

    def zeros(count: int, kind: type = np.uint32) -> np.ndarray:
        return np.zeros(count, kind)

    positions = floats(1024, 4)
    positions[:, 3] = np.abs(positions[:, 3])
    real = np.float32
    return {
        "matrix product": Case((16, 16, 1), (floats(256, 256), floats(256, 256), zeros(1 << 16, real)), 1e-4),
        "histogram": Case((64, 1, 1), (words(1 << 18), zeros(256))),
        "stencil": Case((16, 64, 1), (floats(512, 512), zeros(1 << 18, real)), 1e-5),
        "bitonic sort": Case((64, 1, 1), (words(1 << 15), zeros(1 << 15))),
        "saxpy": Case((4096, 1, 1), (floats(1 << 20), floats(1 << 20), zeros(1 << 20, real)), 1e-6),
        "n-body": Case((8, 1, 1), (positions, floats(1024, 4), zeros(1 << 12, real)), 1e-4),
        "prefix sum": Case((1024, 1, 1), (words(1 << 18), zeros(1 << 18))),
        "Mandelbrot": Case((32, 32, 1), (zeros(1 << 16),)),
        "SHA-256": Case((32, 1, 1), (words(1 << 17), zeros(1 << 14))),
        "ray marcher": Case((16, 16, 1), (zeros(1 << 16, real),), 1e-2, 1e-2),
    }


FILES = {"matrix product": "matmul", "n-body": "nbody", "ray marcher": "ray_march", "SHA-256": "sha256"}


def spirv_of(name: str) -> bytes:
    """Return the shader's SPIR-V."""
    return (FOLDER / f"{FILES.get(name, name.lower().replace(' ', '_'))}.spv").read_bytes()


class Prepared:
    """A shader with its buffers on a device."""

    def __init__(self, name: str, target: str = TARGET, engine: str = "fast") -> None:
        self.case = cases()[name]
        self.device = Device(target, engine, 1)
        self.buffers = {(0, place): self.device.buffer(data) for place, data in enumerate(self.case.buffers)}
        self.shader = compile(spirv_of(name), target=target)
        self.report = self.run()
        self.result = np.array(self.buffers[0, len(self.buffers) - 1].numpy()).view(self.case.buffers[-1].dtype).reshape(-1)

    def run(self) -> object:
        """Dispatch once."""
        return self.device.dispatch(self.shader, groups=self.case.groups, buffers=self.buffers)

    def time(self, repetitions: int) -> float:
        """Return the least CPU time of several dispatches."""
        times = []
        for _ in range(repetitions):
            start = time.process_time()
            self.run()
            times.append(time.process_time() - start)
        return min(times)


def lavapipe_buffers(name: str) -> dict[tuple[int, int], np.ndarray]:
    """Return the buffers by set and binding."""
    return {(0, place): data for place, data in enumerate(cases()[name].buffers)}


def check_result(name: str, found: np.ndarray) -> None:
    """Compare a result with lavapipe's."""
    case = cases()[name]
    wanted = Lavapipe().run(spirv_of(name), case.groups, lavapipe_buffers(name))[0, len(case.buffers) - 1].reshape(-1)
    if case.tolerance == 0:
        assert np.array_equal(wanted, found), name
    else:
        wrong = ~np.isclose(found, wanted, case.tolerance, case.tolerance, equal_nan=True)
        assert wrong.mean() <= case.outliers, (name, wrong.mean())


class Times(NamedTuple):
    """Seconds."""

    ours: float
    lavapipe: float


def measure(name: str, target: str = TARGET) -> tuple[Times, int]:
    """Return the least times, and how many instructions the waves executed."""
    prepared = Prepared(name, target)
    check_result(name, prepared.result)
    case = cases()[name]
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(prepared.time(5))
        theirs.append(min(Lavapipe().time(spirv_of(name), case.groups, lavapipe_buffers(name), 5)))
    return Times(min(ours), min(theirs)), prepared.report.instructions  # type: ignore[attr-defined]


# ----------------------------------------------------------------------------------------------------------------- tests
@pytest.mark.parametrize("name", list(cases()))
def test_result(name: str) -> None:
    """Both engines give the same bits, and lavapipe's results."""
    fast = Prepared(name)
    assert fast.result.tobytes() == Prepared(name, engine="reference").result.tobytes()
    try:
        check_result(name, fast.result)
    except PeerError:
        pytest.skip("lavapipe is not there")


# ------------------------------------------------------------------------------------------------------------------ main
def profile(name: str, target: str) -> None:
    """Print which functions take the time."""
    from emulator_profile import profile_of

    for share, function in profile_of([sys.executable, __file__, target, "--run", name]):
        print(f"  {share:5.1f} %  {function}")


def main(arguments: list[str]) -> None:
    """Print the table."""
    with_profile = "--profile" in arguments
    target = next((word for word in arguments if word.startswith("gfx")), TARGET)
    names = [word for word in arguments if word in cases()] or list(cases())
    if "--run" in arguments:
        prepared = Prepared(names[0], target)
        print("warm", flush=True)
        while True:
            prepared.time(10)
    print(f"{'shader':16}{'ms':>9}{'lavapipe':>10}{'ratio':>8}{'M wave instr/s':>16}   {target}")
    ratios = []
    for name in names:
        times, instructions = measure(name, target)
        ratios.append(times.ours / times.lavapipe)
        mark = "" if ratios[-1] <= MOST else f"   more than {MOST}"
        rate = instructions / times.ours / 1e6
        print(f"{name:16}{times.ours * 1e3:9.2f}{times.lavapipe * 1e3:10.2f}{ratios[-1]:8.2f}{rate:16.1f}{mark}", flush=True)
        if with_profile:
            profile(name, target)
    print(f"{'geometric mean':35}{math.prod(ratios) ** (1 / len(ratios)):8.2f}   (at most {MEAN} is wanted)")


if __name__ == "__main__":
    main(sys.argv[1:])
