"""Mutated ACO IR text through the passes: a program, `InputError` or `UnsupportedError`, never a crash or a pass that breaks a sound program.

``python tests/aco/mutated_programs.py 10000 --seed 1`` changes programs of ``tests/filetests/aco`` and gives each to ``pyaco opt --validate``: to the
pass of its folder, or to all passes from there to the machine code. What a run makes that none before it made (pairs of neighbouring opcodes behind
the passes, ways to end, messages) is the coverage that guides it: such a program is changed further itself. Where the environment variable
PYACO_EDGE_COVERAGE names a build with that option of CMake (``make fuzz`` makes one), its passes run, and a way between two basic blocks of their
compiled code that no program before took is coverage, too (``edge_coverage.c``). Programs run in a process of their own;
what ends it and any exception is a finding, whose text is kept. A pass that leaves what its validator refuses is counted apart ("unsound"):
of pseudo instructions, and of what passes need of each other, no validator of the input knows all.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import io
import os
import random
import re
import resource
import shlex
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyaco._core.aco
import pyaco._core.ir

BUILD = os.environ.get("PYACO_EDGE_COVERAGE")
if BUILD:
    for room in (pyaco._core.aco, pyaco._core.ir):
        room.__path__.insert(0, str(Path(BUILD) / room.__name__.replace(".", "/")))

from pyaco.aco import pass_names  # noqa: E402
from pyaco.cli import main as command  # noqa: E402
from pyaco.isa import opcodes  # noqa: E402

FOLDER = Path(__file__).parents[1] / "filetests/aco"
ORDER = pass_names()
TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200")
CONSTANTS = ("0", "1", "-1", "-16", "64", "1.0", "-4.0", "1/(2*PI)", "0x3c003c00", "0x80000000", "0x7fffffff", "0xffffffff", "0x12345")
REGISTERS = ("vcc", "scc", "m0", "exec", "s[0]", "s[2-3]", "s[101]", "v[0]", "v[1-2]", "v[255]")
CLASSES = ("s1", "s2", "s4", "s8", "v1", "v2", "v3", "v4", "v1b", "v2b", "lv1")
SUFFIXES = ("clamp", "*2", "row_mirror bound_ctrl:1", "dpp8:[1,0,3,2,5,4,7,6]", "dst_sel:ubyte1 src0_sel:uword1 src1_sel:dword", "offset:4095", "glc",
            "storage:buffer semantics:volatile", "gds", "offen idxen")  # fmt: skip
#: Seconds of the processor, and bytes of memory, for all programs of one process.
SECONDS, MEMORY = 600, 4 << 30
#: Programs until the process is replaced.
BATCH = 2000



def _edges_seen() -> int:
    """How many ways between basic blocks this process has seen; 0 without a build that counts them."""
    return _LIBRARY.pyaco_edges_seen() if _LIBRARY else 0


_LIBRARY = ctypes.CDLL(str(Path(BUILD) / "pyaco/_core/libpyaco_edge_coverage.so")) if BUILD else None
if _LIBRARY:
    _LIBRARY.pyaco_edges_seen.restype = ctypes.c_uint64


@dataclass
class Seed:
    """A program and the pass that its file is about."""

    text: str
    name: str


@dataclass
class Findings:
    """What came of a run."""

    outcomes: Counter[str] = field(default_factory=Counter)
    texts: list[tuple[str, str]] = field(default_factory=list)
    """Each finding: what happened, and the command with the program."""


def seeds() -> list[Seed]:
    """Programs of the file tests."""
    found = []
    for path in sorted(FOLDER.glob("*/*.txt")):
        head = re.split(r"^; out: ", path.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
        if path.parent.name != "instruction_selection":
            found.append(Seed("".join(line for line in head.splitlines(keepends=True) if not line.startswith(";")), path.parent.name))
    return found


def _families() -> dict[str, list[str]]:
    """Opcodes by format and number of operands."""
    rows: dict[tuple[str, int], list[str]] = {}
    for name in opcodes.numbers():
        row = opcodes.row(name)
        rows.setdefault((row.format, len(row.operands)), []).append(name)
    return {name: names for names in rows.values() for name in names}


_FAMILIES = _families()


def _change_line(rng: random.Random, line: str) -> str:
    kind = rng.randrange(7)
    words = re.findall(r"\b[a-z]+_\w+", line)
    if kind == 0 and words and words[0] in _FAMILIES:
        return line.replace(words[0], rng.choice(_FAMILIES[words[0]]), 1)
    temps = re.findall(r"%\d+", line)
    if kind == 1 and temps:
        return line.replace(rng.choice(temps), rng.choice([f"%{rng.randrange(1, 60)}", rng.choice(CONSTANTS)]), 1)
    if kind == 2 and temps:
        old = rng.choice(temps)
        return re.sub(re.escape(old) + r"(?::[\w\[\]-]+)?", f"{old}:{rng.choice(REGISTERS)}", line, count=1)
    if kind == 3:
        return re.sub(r"\bl?[sv]\d+b?:", rng.choice(CLASSES) + ":", line, count=1)
    if kind == 4:
        return line.rstrip("\n") + " " + rng.choice(SUFFIXES) + "\n"
    numbers = re.findall(r"(?<![%\w\[-])-?\d+\b", line)
    if kind == 5 and numbers:
        return line.replace(rng.choice(numbers), rng.choice(CONSTANTS), 1)
    return re.sub(r" %", rng.choice((" -%", " |%", " (kill)%", " (is24bit)%", " hi(%")), line, count=1)


def mutated(rng: random.Random, text: str, others: list[Seed]) -> str:
    """Change one to four lines."""
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        at = rng.randrange(len(lines))
        kind = rng.randrange(8)
        if kind == 0:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 1:
            lines.insert(at, rng.choice(lines))
        elif kind == 2 and len(lines) > 2:
            del lines[at]
        elif kind == 3:
            lines.insert(at, rng.choice(rng.choice(others).text.splitlines(keepends=True)))
        else:
            lines[at] = _change_line(rng, lines[at])
    return "".join(lines)


def options_for(rng: random.Random, name: str) -> list[str]:
    """Which passes, which target."""
    passes = name
    if name in ORDER and rng.random() < 0.5:
        passes = ",".join(ORDER[ORDER.index(name) :])
    wave = ["--wave", rng.choice(("32", "64"))] if rng.random() < 0.3 else []
    return ["--passes", passes, "--target", rng.choice(TARGETS), *wave]


def run(text: str, options: list[str], folder: Path) -> tuple[str, set[object]]:
    """How a program ends, and what is seen of the way there."""
    (folder / "program").write_text(text)
    (folder / "options").write_text(shlex.join(options))
    errors, output = io.StringIO(), folder / "output"
    output.unlink(missing_ok=True)
    try:
        with contextlib.redirect_stderr(errors):
            status = command(["opt", str(folder / "program"), "-o", str(output), "--validate", *options])
    except Exception:
        return traceback.format_exc(), set()
    message = re.sub(r"\d+|'[^']*'|BB\w+|%\S+", "_", errors.getvalue())[:120]
    if status == 1 and not message.startswith("pyaco: after"):
        return errors.getvalue(), set()
    seen: set[object] = {(options[1].partition(",")[0], status, message)}
    if status == 0 and output.exists():
        words = re.findall(r"^\t(?:.* = )?([a-z]\w+)", output.read_text(errors="replace"), re.MULTILINE)
        seen |= set(pairwise(words))
    return {0: "program", 1: "unsound", 2: "input", 3: "unsupported"}[status], seen


def batch(seed: int, count: int, pool: list[Seed], folder: Path) -> Iterator[tuple[str, list[str], str, Seed | None]]:
    """Run mutated programs: outcome, options, text, and the program if it has shown something new."""
    rng = random.Random(seed)
    known: set[object] = set()
    for parent in pool:
        known |= run(parent.text, ["--passes", parent.name, "--target", "gfx1030"], folder)[1]
    for _ in range(count):
        parent = rng.choice(pool)
        text, options = mutated(rng, parent.text, pool), options_for(rng, parent.name)
        edges = _edges_seen()
        outcome, seen = run(text, options, folder)
        is_new = bool(seen - known) or _edges_seen() > edges
        new = Seed(text, parent.name) if outcome in ("program", "input") and is_new else None
        known |= seen
        if new is not None and outcome == "program":
            pool.append(new)
        yield outcome, options, text, new


def _work(seed: int, count: int, folder: Path) -> None:
    """A process: its counts and findings go to files."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    pages = int(Path("/proc/self/statm").read_text().split()[0])        # kernels with sanitizers have mapped terabytes
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    outcomes: Counter[str] = Counter()
    for outcome, options, text, new in batch(seed, count, seeds(), folder):
        if outcome not in ("program", "input", "unsupported", "unsound"):
            with (folder / "findings").open("a") as file:
                file.write(f"{outcome}\n$ {shlex.join(options)}\n{text}\0")
            outcome = "finding"
        outcomes[outcome] += 1
        outcomes["new"] += new is not None
    outcomes["edges"] = _edges_seen()
    (folder / "outcomes").write_text(repr(dict(outcomes)))


def fuzz(count: int, seed: int) -> Findings:
    """Run `count` programs, in processes of their own."""
    findings = Findings()
    for first in range(0, count, BATCH):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            process = os.fork()
            if process == 0:
                with contextlib.suppress(BaseException):
                    _work(seed * 1_000_003 + first, min(BATCH, count - first), folder)
                os._exit(0)
            status = os.waitpid(process, 0)[1]
            if (folder / "findings").exists():
                for text in (folder / "findings").read_text().split("\0")[:-1]:
                    findings.texts.append((text.split("\n$ ")[0], text))
            if (folder / "outcomes").exists():
                counts = Counter(eval((folder / "outcomes").read_text()))
                edges = max(counts.pop("edges"), findings.outcomes["edges"])
                findings.outcomes.update(counts)
                findings.outcomes["edges"] = edges           # processes take much the same ways
            else:
                what = f"ended by {status}"
                findings.texts.append((what, f"{what}\n$ {(folder / 'options').read_text()}\n{(folder / 'program').read_text()}"))
    return findings


def main() -> int:
    """Print what came of it; status 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the programs of findings")
    arguments = parser.parse_args()
    findings = fuzz(arguments.count, arguments.seed)
    print(dict(findings.outcomes), f"{len(findings.texts)} findings")
    for number, (what, text) in enumerate(findings.texts):
        print(what[-400:])
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            (arguments.keep / f"{number}.txt").write_text(text)
    return 1 if findings.texts else 0


if __name__ == "__main__":
    sys.exit(main())
