"""Matrix products that clang compiles for CDNA: right, silent under ``check_waits``, and every wait state that clang puts there is needed."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hsa_launch import CLANG, LINKER, Program

from pyaco.binary.code_object import CodeObject, read_code_object
from pyaco.emu import Device, MissingWaitError

pytestmark = [pytest.mark.oracle, pytest.mark.slow]
SOURCE = Path(__file__).with_name("matrix_kernels.cl")
BUILDS = [(target, level) for target in ("gfx908", "gfx90a", "gfx942", "gfx950") for level in ("-O0", "-O2")]
STEPS = 3


@cache
def assembly(target: str, level: str) -> str:
    if CLANG is None or LINKER is None:
        pytest.skip("clang and lld are not installed")
    command = [CLANG, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", level, "-w", "-S"]
    command += [*["-DDOUBLES"] * (target != "gfx908"), "-o", "-", str(SOURCE)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def assembled(text: str, target: str, folder: Path) -> CodeObject:
    """The code object of an assembly text."""
    assert CLANG and LINKER
    (folder / "kernel.s").write_text(text)
    subprocess.run([CLANG, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-c", "kernel.s", "-o", "kernel.o"], check=True, cwd=folder)
    subprocess.run([LINKER, "-shared", "kernel.o", "-o", "kernel.so"], check=True, cwd=folder)
    return read_code_object((folder / "kernel.so").read_bytes())


def inputs(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Result, A and B of a kernel."""
    kind = np.float16 if name == "halves" else np.float64 if "doubles" in name else np.float32
    random = np.random.default_rng(5)
    a, b = (random.integers(-3, 4, 2048).astype(kind) for _ in range(2))
    return np.zeros(1024, np.float32 if kind == np.float16 else kind), a, b


def run(code: CodeObject, target: str, name: str) -> np.ndarray:
    device = Device(target, check_waits=True, check_races=True)
    given = [device.buffer(array) for array in inputs(name)]
    Program(device, code).run(name, (1, 1), (64, 1), [*given, np.int32(STEPS)])
    return given[0].numpy()


def product(name: str, size: int, depth: int) -> np.ndarray:
    _, a, b = (array.astype(np.float64) for array in inputs(name))
    count = size * STEPS * depth
    return (a[:count].reshape(size, -1) @ b[:count].reshape(size, -1).T).reshape(-1)


#: Bodies of kernels as functions, which without optimisation the kernels call.
CALLED = "__clang_ocl_kern_imp_"
#: Where LLVM waits for what is not timing: loads that a page fault replays must not be one clause with what wrote their addresses; and for
#: registers that it only says are written, of a tuple that is spilled part by part.
CAREFUL = {"replay": r"\t(buffer|global|flat|scratch)_", "tuple": r"\tv_(writelane|accvgpr_write)"}
EXPECTED = {"singles16": (16, 4), "singles32": (32, 2), "halves": (16, 16), "doubles": (16, 4)}


@pytest.mark.parametrize(("target", "level"), BUILDS)
def test_matrix_kernels(target: str, level: int, tmp_path: Path) -> None:
    text = assembly(target, level)
    code = assembled(text, target, tmp_path)
    names = re.findall(r"^\s*\.amdhsa_kernel (\w+)", text, re.MULTILINE)
    for name in names:
        result = run(code, target, name)
        if name in EXPECTED:
            size, depth = EXPECTED[name]
            wanted = product(name, size, depth) * (2 if name == "singles32" else 1)
            assert np.array_equal(result[: size * size], wanted.astype(result.dtype)), name
    print(target, level, len(names), "kernels")
    assert len(names) >= 5


@pytest.mark.skipif(not os.environ.get("PYACO_EXHAUSTIVE"), reason="half a minute: set PYACO_EXHAUSTIVE")
@pytest.mark.parametrize(("target", "level"), BUILDS)
def test_wait_states_of_clang(target: str, level: str, tmp_path: Path) -> None:
    """Each s_nop with a state less: the run stops, but where LLVM is careful (``CAREFUL``)."""
    lines = assembly(target, level).splitlines()
    counts, spare, name = Counter[str](), [], ""
    for number, line in enumerate(lines):
        if found := re.match(r"(\w+):\s", line):
            name = found[1]
        if not (found := re.match(r"\ts_nop (\d+)", line)) or (level == "-O2" and name.startswith(CALLED)):
            continue
        kernel = "tiles" if name == "all_here" else name.removeprefix(CALLED)
        weaker = [f"\ts_nop {int(found[1]) - 1}"] if int(found[1]) else []
        code = assembled("\n".join([*lines[:number], *weaker, *lines[number + 1 :], ""]), target, tmp_path)
        try:
            run(code, target, kernel)
        except MissingWaitError:
            counts["missed"] += 1
            continue
        careful = next((why for why, pattern in CAREFUL.items() if re.match(pattern, lines[number + 1])), None)
        counts[careful or "spare"] += 1
        spare += [(name, lines[number - 1 : number + 2])] * (careful is None)
    print(target, level, dict(counts))
    assert counts["missed"] and not spare, spare
