"""Compile a tiled matrix multiplication for a Radeon RX 7900 XTX or another chip, read the machine code, run it, check the result.

Run with ``make demo``, or ``python examples/matmul.py [TARGET]`` where pyaco is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

import pyaco

SIZE = 64
TILE = 16


def main(target: str = "gfx1100") -> int:
    """Run the demonstration; the exit status says whether the result was right."""
    spirv = Path(__file__).with_name("matmul.spv")
    shader = pyaco.compile(spirv, target=target)
    print(shader.disassembly)
    for name, value in shader.stats.items():
        print(f"{name:>20}: {value}")

    rng = numpy.random.default_rng(1)
    a = rng.standard_normal((SIZE, SIZE), dtype=numpy.float32)
    b = rng.standard_normal((SIZE, SIZE), dtype=numpy.float32)
    device = pyaco.emu.Device(target, "reference")         # the engine that is built soonest
    buffers = {(0, 0): device.buffer(a), (0, 1): device.buffer(b), (0, 2): device.buffer(numpy.zeros_like(a))}
    push = numpy.array([SIZE, SIZE, SIZE], numpy.uint32).tobytes()
    device.dispatch(shader, groups=(SIZE // TILE, SIZE // TILE, 1), buffers=buffers, push=push)

    result = buffers[0, 2].numpy().view(numpy.float32).reshape(SIZE, SIZE)
    error = numpy.abs(result - a.astype(numpy.float64) @ b).max()
    right = bool(error < 1e-4)
    print(f"{SIZE} x {SIZE} product on the emulated GPU: largest error against NumPy {error:.2e}:"
          f" {'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
