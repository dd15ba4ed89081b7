"""Components that a formatted store does not have: zero, from GFX12 on equal to its first one (LLVM's default components of stores)."""

from __future__ import annotations

import numpy as np
import pytest
from image_kernels import TARGETS, image_instruction, run_image

from pyaco.descriptors.buffer import buffer_descriptor
from pyaco.emu import Device
from pyaco.emu.device import ENGINES
from pyaco.targets import features

PLACES = np.array([[3, 2], [0, 1]], np.int32)
GIVEN = np.array([[11, 12], [21, 22]], np.uint32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
def test_image_stores(target: str, engine: str) -> None:
    device = Device(target, engine)
    for mask, count in ((1, 1), (2, 1), (3, 2), (5, 2), (12, 2)):
        image = device.image(np.full((4, 4, 4), 99, np.uint32), format="R32G32B32A32_UINT")
        run_image(device, image_instruction("image_store", target, "2d", 2, mask, data=count), image.view(storage=True).words, address=PLACES,
                  data=GIVEN[:, :count], stores=True)
        for (x, y), row in zip(PLACES, GIVEN, strict=True):
            kept = iter(row)
            wanted = [next(kept) if mask >> k & 1 else row[0] if device.gfx_level >= 120 else 0 for k in range(4)]
            assert image.numpy()[y, x].tolist() == wanted, mask


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
def test_buffer_stores(target: str, engine: str) -> None:
    device = Device(target, engine)
    for name, count in (("x", 1), ("xy", 2), ("xyz", 3)):
        buffer = device.buffer(np.full((8, 4), 99, np.uint32))
        records = 8 * 16 if features.has_records_in_bytes(device.gfx_level) else 8
        words = buffer_descriptor(buffer.address, records, "R32G32B32A32_UINT", device.gfx_level, stride=16)
        places = np.array([[5], [2]], np.int32)
        data = f"v[16:{15 + count}]" if count > 1 else "v16"
        offset = "null" if device.gfx_level >= 120 else "0"
        given = np.array([[7, 8, 9], [17, 18, 19]], np.uint32)[:, :count]
        run_image(device, f"buffer_store_format_{name} {data}, v24, s[0:3], {offset} idxen", (*words, 0, 0, 0, 0), address=places,
                  data=given, stores=True)
        for element, row in ((5, given[0]), (2, given[1])):
            wanted = [*row.tolist(), *[row[0] if device.gfx_level >= 120 else 0] * (4 - count)]
            assert buffer.numpy()[element].tolist() == wanted, name
