"""Assembler and disassembler beside LLVM's, on 200,000 instructions that clang made of the kernels below.

They repeat a few forms, as compilers' output does. With ``PYACO_LLVM_TESTS``, which names the folder ``llvm/test/MC`` of LLVM's sources, lines that
are all different are measured as well: each instruction of LLVM's tests that the target has, once (59,000 to 87,000 lines).

Every figure is instructions per second of CPU time (of the process and its children), under ``instructions_per_second`` in
the extra information. ``process``: a whole process from start to exit, text or machine code from one file to another, of the ``pyaco`` script;
``in_process``: the call alone. For the ratios all take turns, and the best of each counts: a machine that is shared may be slower for seconds.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measure_llvm_tests
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pyaco import isa
from pyaco.isa.processors import processor
from pyaco.isa.text_tables import default_wave_size

COUNT = 200_000
TARGETS = ("gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200")
ROUNDS = 3
TURNS = 6
TESTS = Path(os.environ.get("PYACO_LLVM_TESTS", "does not exist"))
# As installed (``python -m`` would add Python's runpy, whose imports take half as long as Python's start).
SCRIPT = Path(__file__).parents[1] / "tools" / "pyaco"
KERNELS = """
typedef unsigned int uint;
#define KERNEL __attribute__((amdgpu_kernel, visibility("default"))) void
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
static inline uint lane(void) { return __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x(); }

KERNEL multiply(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, uint n) {
  float sum[8] = {0};
  uint row = lane();
  for (uint k = 0; k < n; k += 4)
    for (uint j = 0; j < 8; ++j)
      for (uint i = 0; i < 4; ++i) sum[j] += a[row * n + k + i] * b[(k + i) * n + j];
  for (uint j = 0; j < 8; ++j) c[row * n + j] = sum[j];
}

KERNEL hash(GLOBAL uint *data, uint n) {
  uint state[8], word = data[lane()];
  for (uint i = 0; i < 8; ++i) state[i] = word * (2654435761u + i);
  for (uint round = 0; round < 32; ++round)
    for (uint i = 0; i < 8; ++i)
      state[i] = (state[i] << (i + 3) | state[i] >> (29 - i)) + (state[(i + 1) & 7] ^ state[(i + 5) & 7]) * 0x9e3779b9u + round;
  for (uint i = 0; i < 8; ++i) data[lane() * 8 + i] = state[i];
}

KERNEL transform(GLOBAL float *real, GLOBAL float *imaginary, uint n) {
  float x[16], y[16];
  for (uint i = 0; i < 16; ++i) { x[i] = real[lane() + i * n]; y[i] = imaginary[lane() + i * n]; }
  for (uint step = 1; step < 16; step *= 2)
    for (uint i = 0; i < 16; ++i)
      if (!(i & step)) {
        float w = 1.0f / (float)(step + i), u = x[i + step] * w - y[i + step], v = y[i + step] * w + x[i + step];
        x[i + step] = x[i] - u; y[i + step] = y[i] - v; x[i] += u; y[i] += v;
      }
  for (uint i = 0; i < 16; ++i) { real[lane() + i * n] = x[i]; imaginary[lane() + i * n] = __builtin_sqrtf(y[i] * y[i] + x[i]); }
}

KERNEL divide(GLOBAL const double *a, GLOBAL double *b, GLOBAL const int *keys, GLOBAL int *found, LOCAL int *shared, int n) {
  b[lane()] = a[lane()] / (b[lane()] + 3.0) + (double)keys[lane()];
  shared[lane() & 63] = keys[lane()];
  __builtin_amdgcn_s_barrier();
  int low = 0, high = n, key = shared[(lane() + 7) & 63];
  while (low < high) { int middle = (low + high) / 2; if (keys[middle] < key) low = middle + 1; else high = middle; }
  found[lane()] = low % 10 + key / 7 + (keys[low] > key ? shared[low & 63] : -key);
}
"""

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("clang-22", "llvm-mc-22", "llvm-objdump-22", "llvm-objcopy-22")),
    reason="LLVM 22 is not installed",
)


def cpu_seconds() -> float:
    """CPU time of this process and of those that it waited for."""
    return processor_seconds(resource.RUSAGE_SELF) + processor_seconds(resource.RUSAGE_CHILDREN)


def processor_seconds(whose: int) -> float:
    """CPU time of this process or of those that it waited for."""
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def compiled(target: str, folder: Path) -> list[bytes]:
    """The machine code of the kernels, again and again."""
    source, unit, plain = folder / "kernels.c", folder / "kernels.o", folder / "kernels.bin"
    source.write_text(KERNELS)
    run = ["clang-22", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-O3", "-nogpulib", "-c", str(source), "-o", str(unit)]
    subprocess.run(run, check=True)
    subprocess.run(["llvm-objcopy-22", "-O", "binary", "-j", ".text", str(unit), str(plain)], check=True)
    kernels = plain.read_bytes()
    return [kernels] * -(-COUNT // sum(line.size > 0 for line in isa.disassemble_lines(kernels, target)))


def different(target: str, folder: Path) -> list[bytes]:
    """The instructions of LLVM's tests that the target has, each once."""
    run = measure_llvm_tests.Run(target, default_wave_size(processor(target)[1], None), ())
    codes = [*assembled(run), *(code for path in TESTS.glob("Disassembler/AMDGPU/*.txt") for code in measure_llvm_tests.words(path.read_text()))]
    texts = {code: measure_llvm_tests.own_text(code, run) for code in sorted(set(codes)) if len(code) % 4 == 0}
    known = {code: text for code, text in texts.items() if text and measure_llvm_tests.ours(text, run) == code}
    source = folder / "lines.s"
    source.write_text("\n".join(known.values()))
    # lines that LLVM refuses: those of the tests of its next release, and what only we take
    answer = subprocess.run([*assembler(target, "".join(known.values())), "-o", os.devnull, str(source)], capture_output=True, text=True, check=False)
    refused = {int(line) for line in re.findall(r"\.s:(\d+):\d+: error", answer.stderr)}
    return [code for line, code in enumerate(known, 1) if line not in refused]


def assembled(run: measure_llvm_tests.Run) -> Iterator[bytes]:
    """What the lines of LLVM's tests of the assembler say, of those that a target takes."""
    lines = (line for path in TESTS.glob("AMDGPU/*.s") for line in measure_llvm_tests.instructions(path.read_text()))
    answers = (measure_llvm_tests.ours(line, run) for line in dict.fromkeys(lines))
    return (answer for answer in answers if isinstance(answer, bytes))


def assembler(target: str, text: str) -> list[str]:
    """LLVM's assembler for a text; it has to be told that halves of registers have names."""
    halves = ["-mattr=+real-true16"] if re.search(r"\bv\d+\.[lh]\b", text) else []
    return ["llvm-mc-22", "-arch=amdgcn", f"-mcpu={target}", *halves, "-filetype=obj"]


class Program:
    """Many instructions of a target: text, machine code, and an object file for LLVM."""

    def __init__(self, target: str, parts: list[bytes], folder: Path) -> None:
        self.target = target
        self.different = len(set(parts)) > 1
        self.code = b"".join(parts)
        self.text = isa.disassemble(self.code, target)
        self.count = len(re.findall(r"^\t", self.text, re.M))
        self.binary, self.assembly, self.object = folder / "code.bin", folder / "code.s", folder / "code.o"
        self.binary.write_bytes(self.code)
        self.assembly.write_text(self.text)
        self.output = folder / "output"
        subprocess.run([*assembler(target, self.text), "-o", str(self.object), str(self.assembly)], check=True)

    def runs(self) -> dict[tuple[str, str], Callable[[], object]]:
        """What is measured, by task and by who does it."""
        target = self.target

        def command(*words: str) -> Callable[[], object]:
            # byte code is kept between runs, as where pyaco is installed
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            environment["PYTHONPATH"] = str(Path(isa.__file__).parents[2])

            def run() -> None:
                with self.output.open("wb") as out:
                    subprocess.run(words, stdout=out, check=True, env=environment)

            return run

        ours = (sys.executable, str(SCRIPT))
        mc = (*assembler(target, self.text), "-o", str(self.output), str(self.assembly))
        return {
            ("assemble", "llvm_process"): command(*mc),
            ("assemble", "process"): command(*ours, "asm", "--target", target, str(self.assembly)),
            ("assemble", "in_process"): lambda: isa.assemble(self.text, target),
            ("disassemble", "llvm_process"): command("llvm-objdump-22", "-d", "--no-show-raw-insn", str(self.object)),
            ("disassemble", "process"): command(*ours, "disasm", "--target", target, str(self.binary)),
            ("disassemble", "in_process"): lambda: isa.disassemble(self.code, target),
        }


@pytest.fixture(scope="module", params=[(target, source) for source in (compiled, different) for target in TARGETS],
                ids=lambda param: f"{param[0]}-{param[1].__name__}")  # fmt: skip
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    target, source = request.param
    if source is different and not TESTS.is_dir():
        pytest.skip("PYACO_LLVM_TESTS does not name LLVM's folder llvm/test/MC")
    folder = tmp_path_factory.mktemp("isa")
    return Program(target, source(target, folder), folder)


@pytest.mark.benchmark(timer=cpu_seconds)
@pytest.mark.parametrize("who", ["llvm_process", "process", "in_process"])
@pytest.mark.parametrize("task", ["assemble", "disassemble"])
def test_speed(benchmark: BenchmarkFixture, program: Program, task: str, who: str) -> None:
    run = program.runs()[task, who]
    benchmark.pedantic(run, rounds=ROUNDS, iterations=1, warmup_rounds=1)
    assert benchmark.stats is not None
    benchmark.extra_info["instructions_per_second"] = round(program.count / benchmark.stats.stats.min)


def best_times(runs: dict[tuple[str, str], Callable[[], object]]) -> dict[tuple[str, str], float]:
    """The shortest CPU time of each run, in seconds; in each turn ours go three times, being shorter."""
    times = dict.fromkeys(runs, float("inf"))
    for _ in range(TURNS):
        for (task, who), run in runs.items():
            usage = resource.RUSAGE_SELF if who == "in_process" else resource.RUSAGE_CHILDREN  # not what it takes us to start a process
            for _ in range(1 if who == "llvm_process" else 3):
                start = processor_seconds(usage)
                run()
                times[task, who] = min(times[task, who], processor_seconds(usage) - start)
    return times


def test_ratios(program: Program) -> None:
    """Our speed over LLVM's: ten times, but for whole processes that disassemble different lines, half of whose time is Python's own start."""
    times = best_times(program.runs())
    for task in ("assemble", "disassemble"):
        base = times[task, "llvm_process"]
        ratios = {who: base / times[task, who] for who in ("process", "in_process")}
        print(f"{program.target} {task}, {program.count:,} instructions: LLVM {program.count / base:,.0f}/s, "
              f"whole process {ratios['process']:.1f} times, in process {ratios['in_process']:.1f} times")  # fmt: skip
        assert ratios["in_process"] >= 10
        assert ratios["process"] >= (8 if program.different and task == "disassemble" else 10)


@pytest.mark.benchmark(timer=cpu_seconds)
@pytest.mark.parametrize("form", ["columns", "objects"])
@pytest.mark.parametrize("way", ["to", "from"])
def test_without_text(benchmark: BenchmarkFixture, program: Program, form: str, way: str) -> None:
    """Columns and objects made of machine code, and machine code of these."""
    doors: dict[str, tuple[Callable[[bytes, str], Any], Callable[[Any, str], bytes]]] = {
        "columns": (isa.decode, isa.encode), "objects": (isa.instructions, isa.assemble)}  # fmt: skip
    read, write = doors[form]
    made = read(program.code, program.target)
    assert write(made, program.target) == program.code
    run = (lambda: read(program.code, program.target)) if way == "to" else (lambda: write(made, program.target))
    benchmark.pedantic(run, rounds=ROUNDS, iterations=1, warmup_rounds=0)
    assert benchmark.stats is not None
    benchmark.extra_info["instructions_per_second"] = round(program.count / benchmark.stats.stats.min)
    print(f"{program.target}: {way} {form}, {program.count / benchmark.stats.stats.min:,.0f} instructions a second")


def test_the_programs_are_real(program: Program) -> None:
    """Every instruction has text, and both directions agree with LLVM's machine code."""
    assert not re.search(r"\.long", program.text)
    assert isa.assemble(program.text, program.target) == program.code
