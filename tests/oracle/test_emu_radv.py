"""The emulator runs the machine code that RADV makes, and the results are right.

The driver's own memory and registers are taken (`radv_capture`): code, constant data, descriptors, push constants. What it would
set once for a queue, scratch, is set here. Source: Mesa's ``radv_queue.c``, ``radv_emit_compute_scratch``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case, Inputs
from vulkan_peer import Lavapipe

from pyaco import emu, pm4
from pyaco.emu import Device
from pyaco.emu.device import ENGINES
from pyaco.errors import UnsupportedError

pytest.importorskip("vulkan")
from radv_capture import FAMILIES, capture

pytestmark = pytest.mark.oracle

#: Where lavapipe of Mesa 22.3 is wrong and there is no model: a walk of a private tree, 16-bit modulo of negatives.
LAVAPIPE_IS_WRONG = {"private_arrays", "small_types"}
#: RADV of Mesa 22.3 reads push constants with the first lane's index.
RADV_IS_WRONG = {"push_constants"}
QUICK = {"saxpy", "reduction", "matmul_tiled", "atomics", "divergent_switch", "subgroup_scan", "double_arithmetic", "scratch_array"}
#: Bytes of scratch for each lane, and how many waves may have it at once.
SCRATCH, WAVES = 4096, 32


def expected_of(case: Case, inputs: Inputs, lavapipe: Lavapipe, wave: int) -> Mapping[Any, np.ndarray]:
    if case.model is not None:
        return case.model(inputs, wave)
    data = {key: buffer.data for key, buffer in inputs.buffers.items()}
    return lavapipe.run(case.spirv.read_bytes(), case.groups, data, inputs.push, case.spec, inputs.references, case.entry)


def scratch_registers(device: Device) -> list[int]:
    """What the driver writes when a queue's scratch grows: its size, and its address, until GFX10.3 with the bit that swizzles."""
    ring = device.zeros(WAVES * 64 * SCRATCH)
    granule = 256 if device.gfx_level >= 110 else 1024
    stream = pm4.Stream(device.gfx_level).set("COMPUTE_TMPRING_SIZE", WAVES=WAVES, WAVESIZE=64 * SCRATCH // granule)
    if device.gfx_level < 110:
        stream.set("COMPUTE_USER_DATA_0", ring.address & 0xFFFFFFFF).set("COMPUTE_USER_DATA_1", ring.address >> 32 | 1 << 31)
    return stream.words


def run_case(case: Case, target: str, wave: int, engine: str) -> tuple[Inputs, dict[Any, np.ndarray]]:
    """The contents of the case's buffers after the recorded dispatch."""
    family = next(family for family, chip in FAMILIES.items() if chip == target)
    found = capture(family, case, wave if target not in ("gfx803", "gfx900") else None)
    device = Device(target, engine)
    memory = {address: np.frombuffer(data, np.uint8).copy() for address, data in found.memory.items()}
    for address, data in memory.items():
        device.space.map_at(address, data)
    device.submit(scratch_registers(device) + [word for stream in found.streams for word in stream])
    inputs, results = case.inputs(), {}
    for key, buffer in inputs.buffers.items():
        place, size = found.buffers[key]
        results[key] = memory[place][:size].view(buffer.data.dtype).reshape(buffer.data.shape)
    return inputs, results


@pytest.mark.parametrize(("target", "wave"), [("gfx1100", 64), ("gfx1100", 32), ("gfx1030", 64), ("gfx1030", 32), ("gfx900", 64), ("gfx803", 64)])
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in sorted(CASES)]
)
def test_radv_code_runs(name: str, target: str, wave: int, lavapipe: Lavapipe) -> None:
    case = CASES[name]
    if name in LAVAPIPE_IS_WRONG and case.model is None:
        pytest.skip("lavapipe is wrong here")
    if name in RADV_IS_WRONG:
        pytest.skip("RADV of Mesa 22.3 reads push constants with the first lane's index")
    for engine in ENGINES:
        inputs, actual = run_case(case, target, wave, engine)
        expected = expected_of(case, inputs, lavapipe, wave)
        for key, buffer in inputs.buffers.items():
            if any(place == key for place, _ in inputs.references):
                continue
            wrong = buffer.rule.difference(np.asarray(expected.get(key, buffer.data)), actual[key])
            assert not wrong.any(), f"{name} {target} {engine} {key}: {np.flatnonzero(wrong)[:8]} of {wrong.size}"


@pytest.fixture(scope="session", autouse=True)
def _driver() -> None:
    from vulkan_peer import find_icd

    if find_icd("radeon") is None:
        pytest.skip("the Vulkan driver 'radeon' of Mesa is not installed")


def test_errors_are_ours() -> None:
    """Any words are executed or refused, never a crash."""
    device = Device("gfx1100")
    random = np.random.default_rng(3)
    for _ in range(200):
        code = random.integers(0, 1 << 32, 24, dtype=np.uint32).tobytes()
        with contextlib.suppress(emu.EmulationError, UnsupportedError):
            device.run(code, budget=200, lds_bytes=1024, scratch_bytes_per_lane=64)
