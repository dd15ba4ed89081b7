"""The cases: realistic inputs for each shader of this folder, few workgroups each.

Tolerances follow the Vulkan specification, "Precision and Operation of SPIR-V Instructions": add, subtract and
multiply are correctly rounded but may be contracted into fused multiply-adds; division is within 2.5 ULP, inverse
square root 2 ULP, exp2 3 + 2|x| ULP, sine and cosine 2^-11 absolute.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from case import CASES, Buffer, Case, Close, Exact, Inputs, case, float32, pack, rounding, uint32

__all__ = ["CASES", "Buffer", "Case", "Close", "Exact", "Inputs"]


@case(groups=4)
def saxpy(random: np.random.Generator) -> Inputs:
    return Inputs(
        {(0, 0): Buffer(float32(random, 256)), (0, 1): Buffer(float32(random, 256), rounding(2, 8.0))},
        pack("If", 250, 2.5),
    )


@case(groups=(3, 3, 2))
def strided_copy(random: np.random.Generator) -> Inputs:
    layout = np.array([[19, 11, 3, 0], [1, 20, 240, 0], [33, 3, 1, 0], [5, 2, 0, 0]], np.uint32)
    return Inputs(
        {
            (0, 0): Buffer(uint32(random, 800)),
            (0, 1): Buffer(np.zeros(800, np.uint32)),
            (1, 0): Buffer(layout, uniform=True),
        }
    )


@case(groups=(2, 2, 1))
def matmul_f32(random: np.random.Generator) -> Inputs:
    m, n, k = 29, 32, 40
    return Inputs(
        {
            (0, 0): Buffer(float32(random, m, k)),
            (0, 1): Buffer(float32(random, k, n)),
            (0, 2): Buffer(np.zeros((m, n), np.float32), rounding(2 * k, 16.0)),
        },
        pack("III", m, n, k),
    )


@case(groups=2)
def reduction(random: np.random.Generator) -> Inputs:
    values = random.integers(-(1 << 31), 1 << 31, 1000, dtype=np.int32)
    return Inputs({(0, 0): Buffer(values), (0, 1): Buffer(np.zeros((2, 4), np.int32))}, pack("I", 1000))


@case(groups=2)
def histogram(random: np.random.Generator) -> Inputs:
    words = random.normal(128, 30, 4 * 1200).clip(0, 255).astype(np.uint8).view(np.uint32)
    return Inputs({(0, 0): Buffer(words), (0, 1): Buffer(np.arange(256, dtype=np.uint32))}, pack("I", 1200))
