"""Mutated SPIR-V modules, compiled to machine code: a shader, `InputError` or `UnsupportedError`, within limits of time and memory.

``python mutated_modules.py 1000000 --seeds FOLDER`` changes modules of the folder, whose subfolders are projects with equal shares,
and those of ``tests/shaders``. A number decides everything about a mutated module, so that each can be made again. Modules are compiled by worker
processes: what ends one (a signal, ten seconds of processor time), and any other exception, is a finding, whose module is kept; the next
worker goes on behind it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

SHADERS = sorted((Path(__file__).parents[1] / "shaders").glob("*.spv"))
HEADER_WORDS = 5
TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
OUTCOMES = ("shader", "input", "unsupported", "finding")

#: Limits of one module: seconds of the processor, and bytes of memory beyond what a worker starts with.
SECONDS = 10.0
MEMORY = 2 << 30
#: A worker that makes no progress for so long on the wall waits for something that never comes.
STUCK_SECONDS = 600.0
#: Modules until a worker is replaced, so that memory that one module left behind is not charged to all later ones.
WORKER_MODULES = 20_000

#: What says what came of a module that is compiled for a target.
Judge = Callable[[bytes, str], str]

#: Opcodes whose last word is a literal, of those that decide values, sizes and offsets: OpConstant, OpSpecConstant, OpExecutionMode, OpTypeVector,
#: OpTypeInt, OpTypeFloat, OpDecorate, OpMemberDecorate, OpCompositeExtract, OpVectorShuffle.
LITERAL_OPCODES = frozenset((43, 50, 16, 23, 21, 22, 71, 72, 81, 79))
#: Operations of the same shape: of integers, of floats, shifts and logic, comparisons of integers and of floats, of booleans.
FAMILIES = ((128, 130, 132, 134, 135, 137, 138, 139), (129, 131, 133, 136, 140, 141), (194, 195, 196, 197, 198, 199), tuple(range(170, 180)),
            tuple(range(180, 192)), (164, 165, 166, 167))  # fmt: skip
#: Opcodes with a type and a result: loads, access chains, composites, arithmetic, logic, selects and phis.
VALUE_OPCODES = frozenset((12, 61, 65, *range(77, 84), *range(109, 125), *range(126, 149), *range(164, 206), 245))
#: How many changes are such that modules often stay valid.
TYPED_SHARE = 0.6
EXTREMES = (0, 1, 2, 3, 31, 32, 63, 64, 255, 256, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x3F800000,
            0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001)  # fmt: skip


def instruction_starts(words: list[int]) -> list[int]:
    """Word offsets of the instructions of a sound module."""
    starts, at = [], HEADER_WORDS
    while at < len(words):
        starts.append(at)
        at += max(1, words[at] >> 16)
    return starts


def mutate(data: bytes, random_source: random.Random) -> bytes:
    """One to three random changes."""
    words = list(struct.unpack(f"<{len(data) // 4}I", data))
    for _ in range(random_source.choice((1, 1, 1, 2, 3))):
        starts = instruction_starts(words)
        if not starts:
            break
        words = _changed(words, starts, random_source)
    return struct.pack(f"<{len(words)}I", *words)


def _typed(words: list[int], starts: list[int], random_source: random.Random) -> list[int]:
    """One change that a reader may take: an operand of the same type, an operation of the same kind, or an extreme literal.

    In instructions with a type and a result, those are the first two words.
    """
    kind = random_source.randrange(3)
    if kind == 0:
        literals = [start for start in starts if words[start] & 0xFFFF in LITERAL_OPCODES]
        if literals:
            start = random_source.choice(literals)
            words[min(len(words) - 1, start + max(1, words[start] >> 16) - 1)] = random_source.choice(EXTREMES)
        return words
    made = [start for start in starts if start + 3 < len(words) and words[start] & 0xFFFF in VALUE_OPCODES and words[start] >> 16 > 3]
    if not made:
        return words
    start = random_source.choice(made)
    opcode, length = words[start] & 0xFFFF, words[start] >> 16
    if kind == 1:
        family = next((family for family in FAMILIES if opcode in family), (opcode,))
        words[start] = words[start] & 0xFFFF0000 | random_source.choice(family)
        return words
    at = min(len(words) - 1, start + random_source.randrange(3, length))
    types = {words[other + 2]: words[other + 1] for other in made}
    same = [value for value, type_ in types.items() if type_ == types.get(words[at])]
    words[at] = random_source.choice(same) if same else words[at]
    return words


def _changed(words: list[int], starts: list[int], random_source: random.Random) -> list[int]:
    """One random change."""
    if random_source.random() < TYPED_SHARE:
        return _typed(words, starts, random_source)
    kind = random_source.randrange(10)
    at = random_source.randrange(HEADER_WORDS, len(words))
    other = random_source.randrange(HEADER_WORDS, len(words))
    start = random_source.choice(starts)
    length = max(1, words[start] >> 16)
    if kind == 0:
        words[at] ^= 1 << random_source.randrange(32)
    elif kind == 1:
        words[at], words[other] = words[other], words[at]
    elif kind == 2:
        del words[start : start + length]
    elif kind == 3:
        words = words[:at]
    elif kind == 4:                        # another id of the module as an operand
        if length > 1:
            words[min(len(words) - 1, start + random_source.randrange(1, length))] = random_source.randrange(1, max(2, words[3] + 1))
    elif kind == 5:                        # another opcode of the same length
        words[start] = words[start] & 0xFFFF0000 | random_source.randrange(0, 420)
    elif kind == 6:                        # an instruction twice, somewhere
        words[other:other] = words[start : start + length]
    elif kind == 7:                        # two instructions in the other order
        second = random_source.choice(starts)
        if start + length <= second:
            size = max(1, words[second] >> 16)
            words = (
                words[:start] + words[second : second + size] + words[start + length : second]
                + words[start : start + length] + words[second + size :]
            )  # fmt: skip
    elif kind == 8:
        words[at] = random_source.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x10000, words[at] + 1 & 0xFFFFFFFF))
    else:                                  # an id instead of another, from some place on
        one = words[min(len(words) - 1, start + 1)]
        two = random_source.randrange(1, max(2, words[3] + 1))
        words = words[:start] + [two if word == one else word for word in words[start:]]
    return words


def projects(folder: Path | None) -> list[list[Path]]:
    """The modules to be changed, by project."""
    found = [SHADERS]
    if folder is not None:
        found += [modules for project in sorted(folder.iterdir()) if (modules := sorted(project.rglob("*.spv")))]
    return found


def module_of(seed: int, modules: list[list[Path]]) -> tuple[bytes, str]:
    """The mutated module of a number, and the target that it is compiled for."""
    random_source = random.Random(seed)
    project = random_source.choice(modules)
    # the smaller of two: more modules in the same time
    path = min(random_source.choice(project), random_source.choice(project), key=lambda path: path.stat().st_size)
    return mutate(path.read_bytes(), random_source), random_source.choice(TARGETS)


def outcome_of(data: bytes, target: str) -> str:
    """Compile a module; exceptions of other kinds are the caller's."""
    import pyaco

    try:
        pyaco.compile(data, target=target)
    except pyaco.InputError as error:
        assert str(error)
        return "input"
    except pyaco.UnsupportedError as error:
        assert str(error)
        return "unsupported"
    return "shader"


@dataclass
class Report:
    """What came of the modules."""

    outcomes: Counter[str] = field(default_factory=Counter)
    #: Number of the module, and what happened.
    findings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.outcomes.values())


def _keep(folder: Path, seed: int, modules: list[list[Path]], text: str) -> None:
    """Write a module that failed, and what was seen."""
    data, target = module_of(seed, modules)
    (folder / f"{seed}.{target}.spv").write_bytes(data)
    (folder / f"{seed}.{target}.txt").write_text(text)


def _work(state: Any, seeds: range, modules: list[list[Path]], folder: Path, judge: Judge, seconds: float) -> None:
    """Compile the modules of `seeds`; `state` has the number of the one at hand and the outcomes."""
    import pyaco  # noqa: F401 - before the limit is set

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for seed in seeds:
        state[0] = seed
        data, target = module_of(seed, modules)
        trace = None
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process wherever it is
        try:
            outcome = judge(data, target)
        except Exception:
            outcome, trace = "finding", traceback.format_exc()
        signal.setitimer(signal.ITIMER_PROF, 0)
        if trace is not None:
            _keep(folder, seed, modules, trace)
        state[1 + OUTCOMES.index(outcome)] += 1
    state[0] = -1


class Supervisor:
    """Runs one worker after another over a range of numbers."""

    def __init__(self, seeds: range, modules: list[list[Path]], folder: Path, judge: Judge, seconds: float) -> None:
        self.seeds, self.modules, self.folder, self.judge, self.seconds = seeds, modules, folder, judge, seconds
        self.report = Report()
        self.context = multiprocessing.get_context("spawn")
        self.start()

    def start(self) -> None:
        """Start a worker on the next numbers."""
        self.state = RawArray("q", 1 + len(OUTCOMES))
        self.state[0] = self.seeds[0]
        self.part = self.seeds[:WORKER_MODULES]
        parts = (self.state, self.part, self.modules, self.folder, self.judge, self.seconds)
        self.worker = self.context.Process(target=_work, args=parts, daemon=True)
        self.worker.start()
        self.seen, self.seen_at = -1, time.monotonic()

    def poll(self) -> bool:
        """Look after the worker; False when all is done."""
        if self.worker.exitcode is None:
            if self.state[0] != self.seen:
                self.seen, self.seen_at = self.state[0], time.monotonic()
            elif time.monotonic() - self.seen_at > STUCK_SECONDS:
                self.worker.kill()
            return True
        self._gather()
        if self.seeds:
            self.start()
        return bool(self.seeds)

    def _gather(self) -> None:
        """Add up what a worker that has ended did, and leave out the module that ended it."""
        code, seed = self.worker.exitcode, self.state[0]
        self.report.outcomes.update({name: self.state[1 + index] for index, name in enumerate(OUTCOMES)})
        if code == 0 and seed == -1:
            self.seeds = self.seeds[len(self.part) :]
            return
        name = signal.Signals(-code).name if code and code < 0 else f"exit {code}"
        self.report.outcomes["finding"] += 1
        _keep(self.folder, seed, self.modules, f"worker ended: {name}\n")
        self.seeds = self.seeds[self.seeds.index(seed) + 1 :]

    def counts(self) -> Counter[str]:
        """Outcomes so far, those of the worker at work included."""
        found = Counter(self.report.outcomes)
        found.update({name: self.state[1 + index] for index, name in enumerate(OUTCOMES)} if self.worker.exitcode is None else {})
        return found


def run(seeds: range, modules: list[list[Path]], folder: Path, workers: int = 1, progress: float = 0.0, judge: Judge = outcome_of,
        seconds: float = SECONDS) -> Report:  # fmt: skip
    """Compile the mutated modules of so many numbers; what is found is kept in `folder`: the module and what was seen."""
    folder.mkdir(parents=True, exist_ok=True)
    old = set(folder.glob("*.txt"))
    supervisors = [Supervisor(seeds[index::workers], modules, folder, judge, seconds) for index in range(min(workers, len(seeds)))]
    active, told = list(supervisors), time.monotonic()
    while active:
        active = [supervisor for supervisor in active if supervisor.poll()]
        time.sleep(0.05)
        if progress and time.monotonic() - told > progress:
            told = time.monotonic()
            print(sum((supervisor.counts() for supervisor in supervisors), Counter()).items(), flush=True)
    whole = Report(sum((supervisor.report.outcomes for supervisor in supervisors), Counter()))
    for path in sorted(set(folder.glob("*.txt")) - old):
        seed = int(path.name.split(".")[0])
        whole.findings.append((seed, path.read_text().strip().splitlines()[-1]))
    return whole


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--seeds", type=Path, help="a folder of projects with modules to change, besides those of the tests")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--findings", type=Path, default=Path(tempfile.gettempdir()) / "mutated_modules", help="where modules that fail are kept")
    options = parser.parse_args()
    report = run(range(options.first, options.first + options.count), projects(options.seeds), options.findings, options.workers, 30.0)
    print(f"{report.count} modules: {dict(report.outcomes)}")
    for seed, text in report.findings:
        print(f"{seed}: {text}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
