"""README: the table of what works is what works, and its commands run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import pyaco

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MATMUL = ROOT / "examples" / "matmul.spv"


def table() -> list[tuple[str, str, str]]:
    """Return (feature, target, answer) of every cell."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("|")]
    targets = rows[0][1:]
    return [(row[0], target, answer) for row in rows[2:6] for target, answer in zip(targets, row[1:], strict=True)]


def product(target: str, wave: int) -> bool:
    """Compile and run the example for a target; whether the result is right."""
    shader = pyaco.compile(MATMUL, target=target, wave=wave, validate=True)
    device = pyaco.emu.Device(target)
    a, b = numpy.random.default_rng(0).standard_normal((2, 16, 16), dtype=numpy.float32)
    buffers = {(0, i): device.buffer(x) for i, x in enumerate((a, b, numpy.zeros_like(a)))}
    push = numpy.array([16, 16, 16], numpy.uint32).tobytes()
    device.dispatch(shader, groups=(1, 1, 1), buffers=buffers, push=push)
    result = buffers[0, 2].numpy().view(numpy.float32).reshape(16, 16)
    return bool(numpy.abs(result - a @ b).max() < 1e-4)


def round_trip(target: str) -> bool:
    """Whether text assembles to what disassembles to the same code."""
    code = pyaco.isa.assemble("v_add_f32 v0, v1, v2\ns_endpgm", target)
    return pyaco.isa.assemble(pyaco.isa.disassemble(code, target), target) == code


CHECKS = {
    "assemble, disassemble": round_trip,
    "compile compute shaders, wave64": lambda target: product(target, 64),
    "compile compute shaders, wave32": lambda target: product(target, 32),
    "run on the emulator": lambda target: product(target, 64),
}


@pytest.mark.parametrize(("feature", "target", "answer"), table())
def test_table(feature: str, target: str, answer: str) -> None:
    if answer == "yes":
        assert CHECKS[feature](target)
    else:
        with pytest.raises(pyaco.UnsupportedError):
            CHECKS[feature](target)


def test_the_python_example_runs() -> None:
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert "[64. 64." in result.stdout
