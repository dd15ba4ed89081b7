"""Tiled memory of GFX6 to 8."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco.addrlib import gpu_config
from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6
from pyaco.addrlib.v1.modes import SurfaceFlag, TileMode, TileType
from pyaco.errors import InputError

CHIPS = ("tahiti", "verde", "bonaire", "hawaii", "kaveri", "tonga", "stoney", "polaris10")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_tile_then_detile_is_the_identity(data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from((
        TileMode.LINEAR_ALIGNED, TileMode.TILED_1D_THIN1, TileMode.TILED_1D_THICK, TileMode.TILED_2D_THIN1, TileMode.TILED_2D_THICK,
        TileMode.TILED_3D_THIN1, TileMode.TILED_3D_XTHICK, TileMode.PRT_TILED_THIN1)))
    thin = mode in (TileMode.TILED_1D_THIN1, TileMode.TILED_2D_THIN1)
    samples = data.draw(st.sampled_from((1, 2, 4, 8))) if thin else 1
    surface = TiledSurfaceGfx6(
        gpu_config(data.draw(st.sampled_from(CHIPS))), width=data.draw(st.integers(1, 200)), height=data.draw(st.integers(1, 200)),
        bpp=data.draw(st.sampled_from((8, 16, 32, 64, 128))), tile_mode=mode,
        tile_type=data.draw(st.sampled_from((TileType.DISPLAYABLE, TileType.NON_DISPLAYABLE))), num_slices=data.draw(st.integers(1, 5)),
        num_samples=samples, num_mip_levels=data.draw(st.integers(1, 4)) if samples == 1 else 1,
        flags=SurfaceFlag.COLOR | (SurfaceFlag.VOLUME if mode == TileMode.TILED_3D_XTHICK else 0), bank_swizzle=data.draw(st.integers(0, 3)))
    memory = np.zeros(surface.size, np.uint8)
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    levels = []
    for mip in range(len(surface._shapes)):
        shape = surface.level_shape(mip)
        levels.append(random.integers(0, 256, (*shape, surface.element_bytes), np.uint8))
        surface.tile(levels[mip], memory, mip=mip)
    for mip, texels in enumerate(levels):
        np.testing.assert_array_equal(surface.detile(memory, mip=mip).view(np.uint8).reshape(texels.shape), texels)
        place = [data.draw(st.integers(0, end - 1)) for end in texels.shape[:-1]]
        z, y, x = place[:3]
        sample = place[3] if len(place) > 3 else 0
        address = int(surface.addresses(x, y, z, sample, mip))
        np.testing.assert_array_equal(memory[address : address + surface.element_bytes], texels[tuple(place)])
        found = surface.coordinates(address)
        assert tuple(int(found[n]) for n in ("status", "x", "y", "slice", "sample", "mip_id")) == (0, x, y, z, sample, mip)


def test_refusals_write_nothing() -> None:
    surface = TiledSurfaceGfx6(gpu_config("polaris10"), width=64, height=64, bpp=32, tile_mode=TileMode.TILED_2D_THIN1)
    memory = np.zeros(surface.size, np.uint8)
    with pytest.raises(InputError):
        surface.tile(np.ones((1, 64, 63), np.uint32), memory)
    with pytest.raises(InputError):
        surface.detile(memory[:-1])
    with pytest.raises(InputError):
        surface.tables(1)
    with pytest.raises(InputError):
        TiledSurfaceGfx6(gpu_config("polaris10"), width=0, height=64, bpp=32, tile_mode=TileMode.TILED_2D_THIN1)
    assert not memory.any()
    assert surface.coordinates(surface.size)["status"] == 3
