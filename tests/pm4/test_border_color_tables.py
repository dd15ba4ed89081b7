"""The table of border colours that a command stream names by TA_CS_BC_BASE_ADDR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyaco
from pyaco.descriptors.sampler import Sampler
from pyaco.emu import Device, EmulationError, SampledImage
from pyaco.pm4 import DispatchStream, Stream

BLUR = Path(__file__).parents[2] / "examples" / "blur.spv"
DIRECTION = np.array([1, 0], np.int32).tobytes()
COLORS = np.arange(24, dtype=np.float32).reshape(6, 4) / 32


def bindings(device: Device, row: int) -> tuple[dict[Any, Any], Any]:
    """A white picture whose border is a row of a table, and the image that its blurred copy goes to."""
    source, target = (device.image(format="R32G32B32A32_FLOAT", width=16, height=8) for _ in range(2))
    source.write(np.ones_like(source.numpy()))
    sampler = Sampler((6, 6, 6), 0, 0, border_color_type=3, border_color_pointer=row)
    return {(0, 0): SampledImage(source, sampler), (0, 1): target.view(storage=True)}, target


def table_of(device: Device, address: int) -> list[int]:
    """The words that make a table the current one."""
    stream = Stream(device.gfx_level).set("TA_CS_BC_BASE_ADDR", address >> 8 & 0xFFFFFFFF)
    return (stream.set("TA_CS_BC_BASE_ADDR_HI", address >> 40 & 0xFF) if device.gfx_level >= 70 else stream).words


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target", ["gfx600", "gfx700", "gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_streams_name_the_table(target: str, engine: str) -> None:
    """A dispatch takes the table that the registers hold when its packet comes, and the device's own one is as it was afterwards."""
    device, shader = Device(target, engine), pyaco.compile(BLUR, target=target)
    tables = []
    for rows in (COLORS, COLORS[::-1]):
        memory = device.zeros(512)
        start = -memory.address % 256
        memory.write(rows.tobytes(), start)
        tables.append((memory, memory.address + start))
    device.set_border_colors(COLORS * 2)
    found = []
    for row in (1, 3):
        bound, image = bindings(device, row)
        for rows, address in ((COLORS, tables[0][1]), (COLORS[::-1], tables[1][1]), (COLORS * 2, None)):
            with DispatchStream(device, shader, (2, 1, 1), bound, DIRECTION) as stream:
                device.submit((table_of(device, address) if address else []) + stream.words)
            streamed = image.numpy().copy()
            device.set_border_colors(rows)
            device.dispatch(shader, (2, 1, 1), bound, DIRECTION)
            np.testing.assert_array_equal(streamed, image.numpy())
            device.set_border_colors(COLORS * 2)
            found.append(streamed.tobytes())
    assert len(set(found)) == 6


def test_a_table_outside_memory_stops_the_dispatch() -> None:
    device, shader = Device("gfx1030"), pyaco.compile(BLUR, target="gfx1030")
    bound, _ = bindings(device, 0)
    with DispatchStream(device, shader, (2, 1, 1), bound, DIRECTION) as stream, pytest.raises(EmulationError, match="outside memory"):
        device.submit(table_of(device, 0x7F00) + stream.words)
