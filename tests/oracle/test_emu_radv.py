"""The emulator runs the machine code that RADV makes, and the results are right."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
import radv_registers
from cases import CASES

from pyaco import emu
from pyaco.emu import Device
from pyaco.errors import UnsupportedError

pytestmark = pytest.mark.oracle


#: Where lavapipe of Mesa 22.3 is wrong and there is no model: a walk of a private tree, 16-bit modulo of negatives.
LAVAPIPE_IS_WRONG = {"private_arrays", "small_types"}
QUICK = {"saxpy", "reduction", "matmul_tiled", "atomics", "divergent_switch", "subgroup_scan", "double_arithmetic"}


def expected_of(case, inputs, lavapipe, wave):
    if case.model is not None:
        return case.model(inputs, wave)
    data = {key: buffer.data for key, buffer in inputs.buffers.items()}
    return lavapipe.run(
        case.spirv.read_bytes(), case.groups, data, inputs.push, case.spec, inputs.references, case.entry
    )


def bindings_of(inputs):
    """Elements of each binding by set."""
    found: dict[int, dict[int, int]] = {}
    for key in inputs.buffers:
        if isinstance(key, tuple):
            known = found.setdefault(key[0], {})
            known[key[1]] = max(known.get(key[1], 1), key[2] + 1 if len(key) == 3 else 1)
    return found


def run_case(case, target, radv, wave):
    pipeline = radv.compile(case.spirv.read_bytes(), wave, case.spec, case.entry)
    if "p_constaddr" in pipeline.ir or "scratch" in pipeline.nir or pipeline.statistics.get("Scratch size", 0):
        pytest.skip("constant data and scratch are not in RADV's disassembly")
    if "s_getpc" in pipeline.assembly:
        pytest.skip("constant data is not in RADV's disassembly")
    device = Device(target)
    inputs = case.inputs()
    try:
        layout = radv_registers.registers(
            pipeline.nir, pipeline.ir, device.gfx_level, tuple(sorted(bindings_of(inputs)))
        )
    except radv_registers.LayoutError as error:
        pytest.skip(f"registers of RADV: {error}")
    buffers = {key: device.buffer(buffer.data) for key, buffer in inputs.buffers.items()}
    push = bytearray(inputs.push)
    for (place, offset), name in inputs.references.items():
        address = np.uint64(buffers[name].address).tobytes()
        if place == "push":
            push[offset : offset + 8] = address
        else:
            buffers[place].write(address, offset)
    size = tuple(int(word) for word in re.search(r"workgroup-size: (\d+), (\d+), (\d+)", pipeline.nir).groups())
    lds = int(pipeline.statistics.get("LDS size", pipeline.statistics.get("LDS Size", 0)))
    radv_registers.run(
        device, pipeline.code, layout, case.groups, size, wave, buffers, bindings_of(inputs), bytes(push),
        -(-lds // 512) * 512,
        # ACO exchanges lanes of a wave64 on GFX10 through VGPRs after its own that both halves share
        -(-int(pipeline.statistics["VGPRs"]) // 4) * 4 if device.gfx_level == 103 and "p_bpermute" in pipeline.ir else 0,
    )  # fmt: skip
    return inputs, {key: buffer.numpy() for key, buffer in buffers.items()}


@pytest.mark.parametrize(("target", "wave"), [("gfx1100", 64), ("gfx1100", 32), ("gfx1030", 64), ("gfx1030", 32), ("gfx900", 64)])
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in sorted(CASES)]
)
def test_radv_code_runs(name, target, wave, lavapipe, radv_any):
    case = CASES[name]
    if name in LAVAPIPE_IS_WRONG and case.model is None:
        pytest.skip("lavapipe is wrong here")
    radv = radv_any(target)
    inputs, actual = run_case(case, target, radv, wave)
    expected = expected_of(case, inputs, lavapipe, wave)
    placed = {(key, offset) for (key, offset) in inputs.references}
    for key, buffer in inputs.buffers.items():
        if any(place == key for place, _ in placed):
            continue
        wanted = expected.get(key, buffer.data)
        wrong = buffer.rule.difference(np.asarray(wanted), actual[key])
        assert not wrong.any(), f"{name} {target} {key}: {np.flatnonzero(wrong)[:8]} of {wrong.size}"


@pytest.fixture(scope="session")
def radv_any():
    pytest.importorskip("vulkan")
    from vulkan_peer import Radv, find_icd

    if find_icd("radeon") is None:
        pytest.skip("the Vulkan driver 'radeon' of Mesa is not installed")
    return Radv


def test_errors_are_ours():
    """Any words are executed or refused, never a crash."""
    device = Device("gfx1100")
    random = np.random.default_rng(3)
    for _ in range(200):
        code = random.integers(0, 1 << 32, 24, dtype=np.uint32).tobytes()
        with contextlib.suppress(emu.EmulationError, UnsupportedError):
            device.run(code, budget=200, lds_bytes=1024, scratch_bytes_per_lane=64)
