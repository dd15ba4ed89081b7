"""Command streams that a real driver builds: decoded, their shaders and descriptors found, and executed on the emulator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case, Inputs
from vulkan_peer import Lavapipe, PeerError

import pyaco
from pyaco import emu, pm4
from pyaco.isa.processors import processor
from pyaco.pm4.build import DispatchStream
from pyaco.registers import registers
from pyaco.targets import features

pytest.importorskip("vulkan")
from radv_capture import FAMILIES, Capture, capture

pytestmark = pytest.mark.oracle

QUICK = ("saxpy", "reduction")
#: RADV of Mesa 22.3 ends the process: it has no 16-bit arithmetic there.
NO_HALF = {"tahiti", "bonaire"}
#: A descriptor whose place only runs tell: indexed by the workgroup, or kept in lanes of a VGPR.
INDEXED = {"descriptor_arrays", "int64_arithmetic", "scalar_pressure"}
#: Where lavapipe of Mesa 22.3 is wrong and there is no model.
LAVAPIPE_IS_WRONG = {"private_arrays", "small_types"}
#: RADV of Mesa 22.3 reads push constants with the first lane's index.
RADV_IS_WRONG = {"push_constants"}
#: PYACO_EXHAUSTIVE takes every shader, in minutes.
cases = pytest.mark.parametrize("name", CASES if os.environ.get("PYACO_EXHAUSTIVE") else QUICK)


@pytest.fixture(scope="session", autouse=True)
def _driver() -> None:
    from vulkan_peer import find_icd

    if find_icd("radeon") is None:
        pytest.skip("the Vulkan driver 'radeon' of Mesa is not installed")


def recorded(family: str, name: str, indirect: bool = False) -> tuple[Capture, list[int], list[pm4.Packet], list[pm4.ShaderUse]]:
    """The capture, its packets, and what they run."""
    try:
        found = capture(family, CASES[name], indirect=indirect)
    except PeerError:
        if family in NO_HALF and name in ("matmul_f16", "small_types"):
            pytest.skip("RADV has no 16-bit arithmetic on this family, and ends")
        raise
    words = [word for stream in found.streams for word in stream]
    if family == "tahiti":                   # the driver puts this into what it submits before, which is never built here
        words = pm4.Stream(60).set("COMPUTE_PGM_HI", 0).words + words
    memory = pm4.pieces(found.memory)
    packets = pm4.parse(words, processor(FAMILIES[family])[1], memory)
    return found, words, packets, pm4.annotate(packets, FAMILIES[family], memory)


@pytest.mark.parametrize("family", FAMILIES)
@cases
def test_streams_are_decoded(name: str, family: str) -> None:
    found, _, packets, shaders = recorded(family, name)
    assert not [packet.name for packet in packets if "UNKNOWN" in packet.name]
    assert not [value.name for packet in packets for value in packet.values if value.name.startswith("0x")]
    assert [packet.name for packet in packets if packet.shaders] == ["DISPATCH_DIRECT"]
    (shader,) = shaders
    assert shader.lines[-1].text.strip() == "s_endpgm"
    buffers = {}
    for descriptor in shader.descriptors:
        if descriptor.kind == "buffer":
            first, second, size, _ = (word.value for word in descriptor.words)
            buffers[first | (second & 0xFFFF) << 32] = size
    bound = {place: size for key, (place, size) in found.buffers.items() if isinstance(key, tuple)}
    missing = {place for place, size in bound.items() if buffers.get(place) != size}
    assert len(missing) <= (1 if name in INDEXED else 0)


@pytest.mark.parametrize("family", ["polaris10", "vega10", "navi21", "gfx1100"])
@pytest.mark.parametrize("name", ["saxpy", "reduction"])
def test_the_shader_found_is_the_pipelines(name: str, family: str) -> None:
    """The driver's own disassembly has the same words; for GFX6 and GFX7 it has none without CLRX."""
    from vulkan_peer import Radv

    found, _, _, (shader,) = recorded(family, name)
    code = Radv(family).compile(CASES[name].spirv.read_bytes(), spec=CASES[name].spec, entry=CASES[name].entry).code
    words = pm4.pieces(found.memory)(shader.address, len(code) // 4)
    assert np.array(words, np.uint32).tobytes() == code
    assert len(code) >= shader.lines[-1].offset + 4


@pytest.mark.parametrize("indirect", [False, True], ids=["direct", "indirect"])
@pytest.mark.parametrize("family", ["tahiti", "bonaire", "vega10", "navi10", "navi21", "gfx1100"])
@cases
def test_streams_run_on_the_emulator(name: str, family: str, indirect: bool, lavapipe: Lavapipe) -> None:
    if name in LAVAPIPE_IS_WRONG and CASES[name].model is None:
        pytest.skip("lavapipe is wrong here")
    if name in RADV_IS_WRONG:
        pytest.skip("RADV of Mesa 22.3 reads push constants with the first lane's index")
    found, words, _, (shader,) = recorded(family, name, indirect)
    if any("scratch" in line.text for line in shader.lines):
        pytest.skip("the driver sets scratch up in what it submits before")
    device = emu.Device(FAMILIES[family])
    memory = {address: np.frombuffer(data, np.uint8).copy() for address, data in found.memory.items()}
    for address, data in memory.items():
        device.space.map_at(address, data)
    (report,) = device.submit(words)
    assert report.workgroups == np.prod(CASES[name].groups)
    case, inputs = CASES[name], CASES[name].inputs()
    expected = expected_of(case, inputs, lavapipe, shader.wave_size)
    for key, buffer in inputs.buffers.items():
        if not any(place == key for place, _ in inputs.references):
            place, size = found.buffers[key]
            actual = memory[place][:size].view(buffer.data.dtype).reshape(buffer.data.shape)
            assert not buffer.rule.difference(np.asarray(expected.get(key, buffer.data)), actual).any()


def expected_of(case: Case, inputs: Inputs, lavapipe: Lavapipe, wave: int) -> Mapping[Any, np.ndarray]:
    """What the case's buffers hold afterwards, by its model or by lavapipe."""
    if case.model is not None:
        return case.model(inputs, wave)
    data = {key: buffer.data for key, buffer in inputs.buffers.items()}
    return lavapipe.run(case.spirv.read_bytes(), case.groups, data, inputs.push, case.spec, inputs.references, case.entry)


@pytest.mark.parametrize("family", ["vega10", "navi10", "navi21", "gfx1100"])
def test_dispatches_in_wgp_mode_set_the_drivers_registers(family: str) -> None:
    """Rounding, clamping and the order of results are those of the driver, which runs in WGP mode where there is one."""
    target = FAMILIES[family]
    level = processor(target)[1]
    shader = pyaco.compile(CASES["reduction"].spirv, target, wgp_mode=features.has_wgp_mode(level))
    device = emu.Device(target)
    with DispatchStream(device, shader, (1, 1, 1), {(0, 0): device.zeros(4096), (0, 1): device.zeros(4096)}, push=bytes(4)) as stream:
        ours = pm4.parse(stream.words, level)
    _, _, theirs, _ = recorded(family, "reduction")
    register = registers(level)["COMPUTE_PGM_RSRC1"]
    found = []
    for packets in (ours, theirs):
        (value,) = (value.value for packet in packets for value in packet.values if value.name == "COMPUTE_PGM_RSRC1")
        found.append({name: field for name, field in register.decode(value).items() if name not in ("VGPRS", "SGPRS")})
    assert found[0] == found[1]
    assert found[0].get("WGP_MODE") == (1 if features.has_wgp_mode(level) else None)


def test_the_report_is_whole() -> None:
    """Text, JSON and HTML of a real stream name its shader and its descriptors."""
    _, _, packets, _ = recorded("gfx1100", "saxpy")
    for text in (pm4.format_packets(packets), str(pm4.facts(packets)), pm4.format_html(packets, "saxpy")):
        for part in ("COMPUTE_PGM_RSRC1", "v_fmac_f32", "SQ_BUF_RSRC_WORD3", "s_endpgm"):
            assert part in text


