"""Kernels that IREE compiles for AMD GPUs, run on the emulator: ``pip install iree-base-compiler``, then ``python run.py gfx942``.

``iree-compile`` writes each executable as a code object; its kernels take the buffers of a dispatch, in the order of the bindings. How many
workgroups a dispatch has is a constant of IREE's program, which this file reads from the text that the same compiler prints.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

import pyaco
from pyaco.emu.kernels import LoadedCode

PROGRAMS = Path(__file__).with_name("programs.mlir")


def compile_programs(target: str, folder: Path) -> tuple[bytes, dict[str, tuple[int, ...]]]:
    """Compile the programs with IREE.

    Parameters
    ----------
    target : str
        Such as ``gfx942``.
    folder : Path
        Where IREE puts its files.

    Returns
    -------
    tuple
        The code object, and the workgroups of each kernel's dispatch.
    """
    options = ["--iree-hal-target-backends=rocm", f"--iree-rocm-target={target}", f"--iree-hal-dump-executable-binaries-to={folder}"]
    command = [sys.executable, "-m", "iree.compiler.tools.scripts.iree_compile", str(PROGRAMS), *options]
    subprocess.run([*command, "-o", str(folder / "programs.vmfb")], check=True)
    text = subprocess.run([*command, "--compile-to=executable-targets"], check=True, capture_output=True, text=True).stdout
    exports = re.findall(r"hal\.executable\.export public @(\w+).*?hal\.return ([^:]*):", text, re.DOTALL)
    counts = {name: tuple(int(number) for number in re.findall(r"%c(\d+)", returned)) for name, returned in exports}
    (code,) = folder.glob("*.hsaco")
    return code.read_bytes(), counts


def launch(loaded: LoadedCode, program: str, counts: dict[str, tuple[int, ...]], *arrays: NDArray[numpy.floating[Any]]) -> None:
    """Run the one kernel of a program."""
    (name,) = (name for name in counts if name.startswith(program))
    kernel = loaded[name]
    kernel(counts[name], kernel.kernel.metadata[".reqd_workgroup_size"], *arrays)


def main(target: str, check: str = "") -> None:
    """Compile, run with the checks asked for, compare with NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        code, counts = compile_programs(target, Path(folder))
    loaded = pyaco.emu.Device(target, check=check).load(code)
    random = numpy.random.default_rng(0)

    a, b = random.standard_normal((32, 64), numpy.float32), random.standard_normal((64, 48), numpy.float32)
    product = numpy.empty((32, 48), numpy.float32)
    launch(loaded, "matmul", counts, a, b, product)
    assert numpy.allclose(product, a @ b, atol=1e-4)

    x, y = random.standard_normal(1000, numpy.float32), random.standard_normal(1000, numpy.float32)
    out = numpy.empty(1000, numpy.float32)
    launch(loaded, "elementwise", counts, x, y, out)
    assert numpy.allclose(out, numpy.exp(x * y) + x, rtol=1e-5, atol=1e-5)

    rows, sums = random.standard_normal((16, 1024), numpy.float32), numpy.empty(16, numpy.float32)
    launch(loaded, "reduction", counts, rows, sums)
    assert numpy.allclose(sums, rows.sum(axis=1), atol=1e-3)

    halves = random.standard_normal((64, 128)).astype(numpy.float16), random.standard_normal((128, 64)).astype(numpy.float16)
    wide = numpy.empty((64, 64), numpy.float32)
    launch(loaded, "half_product", counts, *halves, wide)
    assert numpy.allclose(wide, halves[0].astype(numpy.float32) @ halves[1].astype(numpy.float32), atol=1e-3)
    print(f"{target}: {', '.join(counts)}: right")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["gfx942"])
