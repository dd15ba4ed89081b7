"""The shaders of tests/shaders in the NIR interpreter."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "shaders"))

from cases import CASES, Case

from pyaco import spirv
from pyaco._core.ir.shader import Shader
from pyaco.nir import interpreter

__all__ = ["CASES", "Case", "differences", "execute", "read"]


def read(case: Case, level: int = 103, wave: int = 64) -> Shader:
    """The shader as the reader makes it, for a chip and wave size."""
    shader = spirv.read(case.spirv.read_bytes(), entry=case.entry, specialization=dict(case.spec))
    shader.set_info(gfx_level=level, wave_size=wave, address32_hi=0xFFFF8000)
    return shader


def execute(shader: Shader, case: Case, wave: int = 64, check_divergence: bool = False) -> dict[Any, np.ndarray]:
    """Final contents of the buffers."""
    inputs = case.inputs()
    data = {key: buffer.data.copy() for key, buffer in inputs.buffers.items()}
    bound: dict[Any, Any] = {}
    for key, array in data.items():
        if isinstance(key, str):
            bound["address", key] = array
        elif len(key) == 3:
            bound.setdefault(key[:2], {})[key[2]] = array
        else:
            bound[key] = array
    bound = {key: [value[i] for i in sorted(value)] if isinstance(value, dict) else value
             for key, value in bound.items()}
    machine = interpreter.Interpreter(shader, case.groups, bound, inputs.push, wave, check_divergence)
    placed: dict[Any, Any] = {**machine.buffers}
    for (place, offset), name in inputs.references.items():
        address = np.frombuffer(placed["address", name][0][0].to_bytes(8, "little"), np.uint8)
        target = machine.push if place == "push" else data[place].reshape(-1).view(np.uint8)
        target[offset : offset + 8] = address
    machine.run()
    return data


def differences(case: Case, expected: Mapping[Any, np.ndarray], found: Mapping[Any, np.ndarray]) -> list[Any]:
    """Buffers that disagree beyond the case's rules."""
    return [key for key, buffer in case.inputs().buffers.items()
            if key in expected and buffer.rule.difference(expected[key], found[key]).any()]
