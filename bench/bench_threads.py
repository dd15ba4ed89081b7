"""How much more two threads compile than one.

``python bench/bench_threads.py [FOLDER]`` draws SPIR-V modules of compute shaders below the folder (without one: ``tests/shaders``), and lets
one thread and then two compile all of them, each the next one when it is done, in turn for some rounds. Printed is the least time of each over
the rounds, and the ratio: how many compilations two threads do in the time of one. That time is the clock's, which other work on the machine
makes useless; what is printed besides does not depend on it as much:

- processor time a compilation: with two threads it is longer by what they cost each other (caches, the allocator, waking each other). The ratio
  can be no higher than twice the one time over the other;
- `sleeps`: how often a thread went to sleep in a compilation, because the other held the interpreter's lock or one of the allocator's;
- `faults`: pages that the kernel had to give in a compilation: it gives them to one thread of a process at a time.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/shaders")]

import pyaco  # noqa: E402
from pyaco import spirv  # noqa: E402

Work = tuple[bytes, str, str]                                    # module, entry point, target


@dataclass
class Cost:
    """What compilations cost, by the threads that did them."""

    compilations: int = 0
    wall: float = 0.0
    processor: float = 0.0
    sleeps: int = 0
    faults: int = 0



def pool(folder: Path, targets: list[str], count: int, seed: int, largest: int) -> list[Work]:
    """Modules that compile, their entry point and a target; the first compilation of each fills what the compiler keeps."""
    paths = sorted(folder.rglob("*.spv"))
    random.Random(seed).shuffle(paths)
    found: list[Work] = []
    for path in paths:
        module = path.read_bytes()
        if len(found) >= count * len(targets):
            break
        if len(module) > largest:
            continue
        try:
            entry = next((name for name, stage in spirv.entry_points(module) if stage == "compute"), None)
            if entry is None:
                continue
            for target in targets:
                pyaco.compile(module, target=target, entry=entry)
        except (pyaco.InputError, pyaco.UnsupportedError):
            continue
        found += [(module, entry, target) for target in targets]
    return found


def run(works: list[Work], count: int) -> Cost:
    """Let so many threads compile the works, each the next one when it is done with one; all begin together."""
    cost = Cost(compilations=len(works))
    start = threading.Barrier(count + 1)
    left = iter(works)
    used: list[tuple[resource.struct_rusage, resource.struct_rusage]] = []

    def compile_next() -> None:
        start.wait()
        before = resource.getrusage(resource.RUSAGE_THREAD)
        for module, entry, target in left:
            pyaco.compile(module, target=target, entry=entry)
        used.append((before, resource.getrusage(resource.RUSAGE_THREAD)))

    threads = [threading.Thread(target=compile_next) for _ in range(count)]
    for thread in threads:
        thread.start()
    start.wait()
    begin = time.perf_counter()
    for thread in threads:
        thread.join()
    cost.wall = time.perf_counter() - begin
    if len(used) != count:
        raise RuntimeError("a thread ended with an error")
    for before, after in used:
        cost.processor += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cost.sleeps += after.ru_nvcsw - before.ru_nvcsw
        cost.faults += after.ru_minflt - before.ru_minflt
    return cost


def report(costs: dict[int, list[Cost]]) -> None:
    """Print the least of each figure by number of threads, and the ratios."""
    print(f"{'threads':>8}{'ms':>9}{'processor ms':>14}{'sleeps':>9}{'faults':>9}    a compilation, {costs[1][0].compilations} in each round")
    least = {}
    for threads, rounds in costs.items():
        least[threads] = [min(figure) / rounds[0].compilations
                          for figure in zip(*((1e3 * one.wall, 1e3 * one.processor, one.sleeps, one.faults) for one in rounds), strict=True)]
        wall, processor, sleeps, faults = least[threads]
        print(f"{threads:8}{wall:9.4f}{processor:14.4f}{sleeps:9.3f}{faults:9.2f}")
    (wall, processor, *_), (wall2, processor2, *_) = least[1], least[2]
    print(f"two threads compile {wall / wall2:.2f} times what one does; by processor time at most {2 * processor / processor2:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "tests/shaders")
    parser.add_argument("--target", action="append", default=[], help="instead of gfx1030 and gfx1100")
    parser.add_argument("--modules", type=int, default=150)
    parser.add_argument("--largest", type=int, default=20_000, help="bytes of a module")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=8, help="compilations of each module in a round: with more, its beginning and end count less")
    options = parser.parse_args()
    works = pool(options.folder, options.target or ["gfx1030", "gfx1100"], options.modules, options.seed, options.largest)
    if not works:
        parser.error(f"no module below {options.folder} compiles")
    stream = random.Random(options.seed)
    costs: dict[int, list[Cost]] = {1: [], 2: []}
    for _ in range(options.rounds):
        order = works * options.repeat
        stream.shuffle(order)
        costs[1].append(run(order, 1))
        costs[2].append(run(order, 2))
    report(costs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
