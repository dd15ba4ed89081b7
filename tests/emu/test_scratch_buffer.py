"""Scratch of compiled shaders up to GFX8: a swizzled buffer in device memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pyaco
from pyaco.emu import Device
from pyaco.emu.device import ENGINES
from pyaco.pm4 import DispatchStream

SHADER = Path(__file__).parents[1] / "shaders" / "scratch_array.spv"
GROUPS = (4, 1, 1)


def _through_stream(device: Device, shader: object, buffers: object) -> None:
    with DispatchStream(device, shader, GROUPS, buffers) as stream:  # type: ignore[arg-type]
        device.submit(stream.words)


def _directly(device: Device, shader: object, buffers: object) -> None:
    device.dispatch(shader, GROUPS, buffers)  # type: ignore[arg-type]


@pytest.mark.parametrize("run", [_directly, _through_stream])
@pytest.mark.parametrize("engine", ENGINES)
def test_array_in_scratch(engine: str, run: Callable[[Device, object, object], None]) -> None:
    found = {}
    for target in ("gfx803", "gfx1030"):
        shader = pyaco.compile(SHADER, target=target, wave=64)
        assert shader.abi is not None and shader.abi.scratch_bytes_per_lane
        device = Device(target, engine)
        buffers = {key: device.buffer(np.arange(4096, dtype=np.uint32) * 2654435761) for key in ((0, 0), (0, 1))}
        run(device, shader, buffers)
        found[target] = {key: buffer.numpy().copy() for key, buffer in buffers.items()}
    for key, values in found["gfx803"].items():
        assert (values == found["gfx1030"][key]).all()
    assert (found["gfx803"][0, 1] != (np.arange(4096, dtype=np.uint32) * 2654435761).view(found["gfx803"][0, 1].dtype)).any()


def test_each_wave_has_its_own_part() -> None:
    shader = pyaco.compile(SHADER, target="gfx803")
    device = Device("gfx803", check="memory,waits,races")
    device.dispatch(shader, GROUPS, {key: device.zeros(16384) for key in ((0, 0), (0, 1))})
