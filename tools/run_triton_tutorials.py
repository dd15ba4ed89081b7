"""Triton's tutorials on emulated GPUs, as they are but for their benchmarks, beside Triton's own interpreter: what each takes.

    python tools/run_triton_tutorials.py triton/python/tutorials --device gfx942 --device gfx1100

Each runs in a process of its own through ``python -m pyaco.triton --skip-benchmarks``, or pytest where its checks are tests, with an empty cache of
compiled kernels. Times are seconds of processor time: of the whole process, of Triton's compiler, and of launches. With ``--double`` torch works
its layer norm out in double precision: in half it misses the tutorial's tolerance by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

TUTORIALS = ("01-vector-add.py", "02-fused-softmax.py", "03-matrix-multiplication.py", "05-layer-norm.py", "06-fused-attention.py")
#: The cases of a tutorial whose checks are tests; the others of tutorial 06 take longer batches, heads and contexts.
CASES = {"06-fused-attention.py": "128-2-1"}
INTERPRETER = "interpreter"
_RESULT = "run_triton_tutorials: "


class Run(NamedTuple):
    """What a tutorial took."""

    outcome: str
    whole: float
    parts: dict[str, float]


def run(script: Path, device: str, limit: float, double: bool) -> Run:
    """Run one tutorial in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TRITON_CACHE_DIR": cache, "OMP_NUM_THREADS": "1", "TRITON_INTERPRET": str(int(device == INTERPRETER))}
        command = [sys.executable, __file__, "--child", device, str(script), *(["--double"] if double else [])]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cache)
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Run(f"no end in {limit:.0f} s", limit, {})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = output.splitlines()
    parts: dict[str, float] = next((json.loads(line.removeprefix(_RESULT)) for line in lines if line.startswith(_RESULT)), {})
    wrong = process.returncode != 0 or any("❌" in line for line in lines)
    said = next((line for line in reversed(lines) if line and not line.startswith(_RESULT)), "")
    return Run(f"fails: {said.strip():.120}" if wrong else "right", whole, parts)


# ----------------------------------------------------------------------------------------------------- in the other process
def _timed(function: Callable[..., Any], parts: dict[str, float], name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        start = time.process_time()
        try:
            return function(*arguments, **options)
        finally:
            parts[name] = parts.get(name, 0.0) + time.process_time() - start

    return call


def _reference_in_double() -> None:
    from torch.nn import functional

    layer_norm = functional.layer_norm

    def in_double(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
        return layer_norm(x.double(), shape, weight.double(), bias.double(), eps)

    functional.layer_norm = in_double


def child(device: str, script: str, double: bool) -> int:
    """Run the tutorial here, print what its parts took, and return the exit status."""
    from triton.runtime import JITFunction

    from pyaco.triton import __main__ as runner
    from pyaco.triton.launcher import Function

    parts: dict[str, float] = {}
    JITFunction._do_compile = _timed(JITFunction._do_compile, parts, "compile")
    Function.run = _timed(Function.run, parts, "emulate")  # type: ignore[method-assign]
    if double:
        _reference_in_double()
    target = "gfx942" if device == INTERPRETER else device      # the interpreter asks the active driver for torch's device
    status = 1
    try:
        if Path(script).name in CASES:
            import pytest

            status = pytest.main(["-q", "-p", "pyaco.triton.pytest_plugin", "-p", "no:cacheprovider", "--pyaco-device", target, "-k",
                                  CASES[Path(script).name], script])  # fmt: skip
        else:
            status = runner.main(["--device", target, "--skip-benchmarks", script])
    finally:
        print(_RESULT + json.dumps(parts), flush=True)
    return int(status)


def main() -> int:
    """Print a row of a table for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tutorials", type=Path, help="the folder with Triton's tutorials")
    parser.add_argument("--device", action="append", help=f"a GPU, or {INTERPRETER}; may be repeated")
    parser.add_argument("--only", default="", help="tutorials whose names begin with this")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a run is given up")
    parser.add_argument("--double", action="store_true", help="torch's layer norm in double precision")
    parser.add_argument("--child", metavar="DEVICE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.child, str(given.tutorials), given.double)
    print("| tutorial | device | outcome | whole | compiler | launches |\n|---|---|---|---|---|---|")
    for name in TUTORIALS:
        for device in (given.device or ["gfx942", "gfx1100", INTERPRETER]) if name.startswith(given.only) else []:
            outcome, whole, parts = run((given.tutorials / name).resolve(), device, given.limit, given.double)
            print(f"| {name[:2]} | {device} | {outcome} | {whole:.1f} | {parts.get('compile', 0):.1f} | {parts.get('emulate', 0):.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
