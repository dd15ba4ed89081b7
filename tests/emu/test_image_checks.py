"""Images in the checks, the profile and the trace: each texel that an instruction reaches is an access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from image_kernels import TARGETS, image_instruction, wave_lanes

from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device, MemoryFault, MissingWaitError, RaceError, UninitializedError
from pyaco.isa import assemble

LATE = ("gfx1100", "gfx1200")


def run(device: Device, lines: list[str], image: Any, sampler: Sampler | None = None, waves: int = 1) -> Any:
    """Run lines: v0 is the lane's number in its workgroup; image in s0 to s7, sampler in s8 to s11."""
    target, lanes = device.target, wave_lanes(device.target)
    start = "v_and_b32 v0, 0x3ff, v0\n"
    code = assemble(start + "\n".join(lines) + "\ns_endpgm\n", target, wave_size=lanes)
    words = [*(image if isinstance(image, list) else image.view().words), *(sampler_descriptor(sampler or Sampler(), device.gfx_level))]
    return device.run(code, (1, 1, 1), (lanes * waves, 1, 1), user_sgprs=words, wave_size=lanes, local_id_components=1)


def constants(values: dict[int, str]) -> list[str]:
    return [f"v_mov_b32 v{register}, {value}" for register, value in values.items()]


def wait(target: str) -> str:
    return "s_wait_loadcnt 0x0\ns_wait_samplecnt 0x0\ns_wait_storecnt 0x0" if target == "gfx1200" else "s_waitcnt vmcnt(0)"


@pytest.mark.parametrize("target", TARGETS)
def test_races(target: str) -> None:
    """Waves that store to the same texel, or one that samples what another stores, race; atomics, and texels of their own, do not."""
    store = image_instruction("image_store", target, "2d", 2, 1, data=1)
    add = image_instruction("image_atomic_add_uint" if target == "gfx1200" else "image_atomic_add", target, "2d", 2, 1, data=1)
    load = image_instruction("image_load", target, "2d", 2, 1, data=1)
    sample = image_instruction("image_sample_lz", target, "2d", 2, 1, data=1, sampler=True)
    zero, own = constants({16: "0", 24: "0", 25: "0"}), ["v_mov_b32 v16, 0", "v_mov_b32 v24, v0", "v_mov_b32 v25, 0"]
    for lines, races in (([*zero, store], True), ([*own, store], False), ([*zero, load], False), ([*zero, add], False),
                         ([*zero, sample, wait(target), *own, store], True)):
        device = Device(target, check="races", report_same_value=True)
        image = device.image(format="R32_UINT", width=256, height=4)
        if races:
            with pytest.raises(RaceError, match="image_"):
                run(device, lines, image, waves=2)
        else:
            run(device, lines, image, waves=2)


@pytest.mark.parametrize("target", TARGETS)
def test_memory(target: str) -> None:
    """Texels in memory that no allocation covers stop a dispatch, with or without a check, and the error names the nearest allocation."""
    for check in ("", "memory"):
        device = Device(target, check=check)
        image = device.image(format="R32_UINT", width=256, height=4, name="picture")
        words = list(image.view().words)
        run(device, [*constants({24: "0", 25: "0"}), image_instruction("image_load", target, "2d", 2, 1, data=1)], words)
        words[0] += image.memory.size >> 8
        with pytest.raises(MemoryFault, match=r"image_load.*outside memory.*picture"):
            run(device, [*constants({24: "0", 25: "0"}), image_instruction("image_load", target, "2d", 2, 1, data=1)], words)


@pytest.mark.parametrize("target", TARGETS)
def test_waits(target: str) -> None:
    """What a load or a sample gives is used before it is there."""
    for name, samples in (("image_load", False), ("image_sample_lz", True)):
        device = Device(target, check="waits")
        image = device.image(format="R32_FLOAT", width=8, height=8)
        text = image_instruction(name, target, "2d", 2, 1, data=1, sampler=samples)
        run(device, [*constants({24: "0", 25: "0"}), text, wait(target), "v_mov_b32 v1, v16"], image)
        with pytest.raises(MissingWaitError, match="v16"):
            run(device, [*constants({24: "0", 25: "0"}), text, "v_mov_b32 v1, v16"], image)


@pytest.mark.parametrize("target", [*TARGETS, "gfx1150"])
def test_loads_of_two_types_come_in_any_order(target: str) -> None:
    """Written over by another load, a result must have been waited for, unless both are of one type; on GFX12 also then.

    GFX11.5 may do a sample as a load.
    """
    load, sample = (image_instruction(name, target, "2d", 2, 1, data=1, sampler=samples)
                    for name, samples in (("image_load", False), ("image_sample_lz", True)))  # fmt: skip
    for first, second, ordered in ((load, load, True), (sample, sample, target != "gfx1150"), (load, sample, False), (sample, load, False)):
        device = Device(target, check="waits")
        image = device.image(format="R32_FLOAT", width=8, height=8)
        lines = [*constants({24: "0", 25: "0"}), first, second, wait(target)]
        if ordered and target != "gfx1200":
            run(device, lines, image)
        else:
            with pytest.raises(MissingWaitError, match="writes v16"):
                run(device, lines, image)


def test_a_buffer_load_is_not_in_order_behind_a_sample() -> None:
    device = Device("gfx1030", check="waits")
    sample = image_instruction("image_sample_lz", "gfx1030", "2d", 2, 1, data=1, sampler=True)
    image = device.image(format="R32_FLOAT", width=8, height=8)
    with pytest.raises(MissingWaitError, match=r"buffer_load_dword.* writes v16, which image_sample_lz"):
        run(device, [*constants({24: "0", 25: "0"}), sample, "buffer_load_dword v16, off, s[0:3], 0"], image)


@pytest.mark.parametrize("target", TARGETS)
def test_undefined_values(target: str) -> None:
    """Coordinates that nobody wrote are undefined addresses, and stored components undefined data."""
    load = image_instruction("image_load", target, "2d", 2, 3, data=2)
    store = image_instruction("image_store", target, "2d", 2, 3, data=2)
    sample = image_instruction("image_sample_lz", target, "2d", 2, 3, data=2, sampler=True)
    both = constants({24: "0", 25: "0"})
    for lines, found in (([*both, load], ""), ([*both, *constants({16: "0", 17: "0"}), store], ""), ([*both, sample], ""),
                         ([*constants({24: "0"}), load], "v25 holds what nobody wrote, and is an address"),
                         ([*constants({25: "0"}), sample], "v24 holds what nobody wrote, and is an address"),
                         ([*both, *constants({16: "0"}), store], "v17 holds what nobody wrote, and is stored")):
        device = Device(target, check="uninitialized")
        image = device.image(format="R32G32_FLOAT", width=8, height=8)
        if found:
            with pytest.raises(UninitializedError, match=found):
                run(device, lines, image)
        else:
            run(device, lines, image)


@pytest.mark.parametrize("target", TARGETS)
def test_texels_that_nobody_wrote(target: str) -> None:
    """Of memory that was allocated without data: stored, they are undefined until an image store writes them."""
    device = Device(target, check="uninitialized")
    image = device.image(format="R32_UINT", width=8, height=8)
    memory = device.allocate(image.memory.size + (1 << 16))
    address = (memory.address + 0xFFFF) & ~0xFFFF
    words = list(image.view().words)
    words[0], words[1] = address >> 8 & 0xFFFFFFFF, words[1] & ~0xFF | address >> 40
    load = image_instruction("image_load", target, "2d", 2, 1, data=1)
    store = image_instruction("image_store", target, "2d", 2, 1, data=1)
    both = constants({24: "0", 25: "0"})
    elsewhere = constants({24: "1", 25: "0"})
    with pytest.raises(UninitializedError, match=r"v16 holds what nobody wrote .*image_load.* stored"):
        run(device, [*both, load, wait(target), *elsewhere, store], words)
    run(device, [*both, "v_mov_b32 v16, 7", store, wait(target), load, wait(target), *elsewhere, store], words)


@pytest.mark.parametrize("target", ["gfx803", "gfx1030", "gfx1200"])
def test_profile_and_trace(target: str) -> None:
    """Bytes by instruction, as many as texels are read, also where one instruction reads thousands; the trace has the instructions."""
    lanes = wave_lanes(target)
    device = Device(target, profile=True, trace=100)
    image = device.image(format="R32_FLOAT", width=64, height=64, mips=3)
    sample = image_instruction("image_sample_d", target, "2d", 6, 1, data=1, sampler=True)
    store = image_instruction("image_store", target, "2d", 2, 1, data=1)
    gradients = constants({24: "0.25", 25: "0", 26: "0", 27: "0x3cc00000", 28: "0x3ebd70a4", 29: "0x3ebd70a4"})
    sampler = Sampler((0, 0, 0), 3, 3, 2, max_anisotropy=4)
    report = run(device, [*gradients, sample, wait(target), *constants({24: "0", 25: "0"}), store], image, sampler)
    rows = {name: row for row in report.profile.rows for name in ("image_sample_d", "image_store") if report.opcodes.get(name) and row["bytes"] and (
        row["distinct"] > 4) == (name == "image_sample_d")}  # fmt: skip
    # The footprint is 16 texels long and 1.5 wide: 11 samples at a level of detail of 0.54, in each of two levels up to four texels.
    texels = 0
    for size in (64, 32):
        for number in range(11):
            places = (float(np.float32(0.37)) + 0.25 * ((number + 0.5) / 11 - 0.5), float(np.float32(0.37)))
            texels += int(np.prod([1 + (int(np.floor(place * size * 256 + 0.5)) % 256 != 128) for place in places]))
    assert texels > 80 and rows["image_sample_d"]["bytes"] == lanes * texels * 4 and rows["image_store"]["bytes"] == lanes * 4
    assert report.profile.memory["memory"]["store"]["bytes"] == lanes * 4
    assert report.opcodes["image_sample_d"] == 1 and report.units["vmem"] == 2 and len(report.trace) == report.instructions
    assert np.float32(image.numpy()[0, 0]) == 0.0
