"""What is no integer, or no size, is an error that says so; nothing is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyaco.addrlib import (
    DccRequest,
    Surface,
    SwizzleMode,
    decode_modifier,
    gpu_config,
    import_surface,
    override_offset_and_pitch,
    plane_surfaces,
    surface_info,
    surface_infos,
)
from pyaco.addrlib.tiling import TiledSurface
from pyaco.addrlib.v1 import queries as v1_surface
from pyaco.addrlib.v3.queries import surface3_info
from pyaco.errors import InputError

NAVI21, TONGA, GFX1201 = (gpu_config(name) for name in ("navi21", "tonga", "gfx1201"))
BAD = [float("nan"), 1.5, -1, "8", None, 1 << 70, [1]]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_no_integers(bad: Any) -> None:
    surface = Surface(NAVI21, width=64, height=32)
    memory = np.zeros(surface.size, np.uint8)
    for number, ask in enumerate((
            lambda: Surface(NAVI21, width=bad), lambda: Surface(NAVI21, width=8, mips=bad), lambda: Surface(NAVI21, width=8, layers=bad),
            lambda: Surface(NAVI21, width=8, samples=bad), lambda: Surface(NAVI21, width=8, modifier=bad),
            lambda: Surface(NAVI21, width=8, format=bad), lambda: Surface(bad, width=8), lambda: gpu_config(str(bad)),
            lambda: plane_surfaces(NAVI21, format="NV12", width=bad, height=8),
            lambda: surface_info(NAVI21, width=bad, height=8, swizzle_mode=9, bpp=32),
            lambda: surface_info(NAVI21, width=8, height=8, swizzle_mode=9, bpp=32, num_mip_levels=1 << 20 if bad == -1 else bad),
            lambda: surface3_info(GFX1201, width=bad, height=8, swizzle_mode=3, bpp=32),
            lambda: v1_surface.surface_info(TONGA, tile_mode=4, width=bad, height=8, bpp=32),
            lambda: TiledSurface(NAVI21, width=bad, bpp=32, swizzle_mode=9),
            lambda: TiledSurface(NAVI21, width=8, bpp=32, swizzle_mode=9, num_mip_levels=bad),
            lambda: surface.detile(memory, mip=bad), lambda: surface.detile(memory, threads=bad), lambda: surface.address(bad, 0),
            lambda: decode_modifier(bad), lambda: override_offset_and_pitch(NAVI21, surface.layout, bad),
            lambda: import_surface(NAVI21, surface.request, bad), lambda: DccRequest(SwizzleMode.SW_64KB_R_X, bad, 8))):
        if bad == [1] and number in (17,):
            continue  # an array of one coordinate
        with pytest.raises(InputError):
            ask()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("bad", [[1.5], [float("nan")], ["8"], np.zeros(3), [1, 2, 3]], ids=repr)
def test_columns(bad: Any) -> None:
    with pytest.raises(InputError, match="width"):
        surface_infos(NAVI21, 2, width=bad, height=8, swizzle_mode=9, bpp=32)
    with pytest.raises(InputError, match="colour"):
        surface_infos(NAVI21, 2, colour=1)
    if np.asarray(bad).dtype.kind != "i":
        with pytest.raises(InputError, match="width"):
            v1_surface.surface_infos(TONGA, tile_mode=4, width=bad, height=8, bpp=32)


@pytest.mark.parametrize("chip", ["tonga", "navi21", "gfx1201"])
def test_memory_that_is_none(chip: str) -> None:
    surface = Surface(chip, width=64, height=32)
    texels, size = np.full((32, 64, 4), 7, np.uint8), surface.size
    frozen = np.zeros(size, np.uint8)
    frozen.flags.writeable = False
    memory: Any
    wrong: Any
    region: Any
    for memory in ([0] * size, bytes(size), np.zeros(size, object), np.zeros(2 * size, np.uint8)[::2], np.zeros(size - 1, np.uint8), frozen):
        with pytest.raises(InputError):
            surface.tile(texels, memory)
        assert not np.any(memory)
    for wrong in (texels.astype(float), texels.astype(object), texels[:-1], None):
        memory = np.zeros(size, np.uint8)
        with pytest.raises(InputError):
            surface.tile(wrong, memory)
        assert not memory.any()
    for region in (5, "abc", (0, 0, 0), (slice(0, 1),) * 2, (slice(0, 1), slice(0, 1.5), slice(0, 4)), (slice(0, 1), slice(-3, 1), slice(0, 4))):
        with pytest.raises(InputError):
            surface.tiled.detile(np.zeros(size, np.uint8), region=region)
    for addresses in ([1.5], ["a"]):
        with pytest.raises(InputError):
            surface.coordinates(addresses)
