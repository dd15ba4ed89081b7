"""Surfaces whose layout another has chosen: offsets, pitches, tiling flags."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from pyaco.addrlib import bo_metadata, compute_surface, gpu_config, import_surface, override_offset_and_pitch, planes, tiled_surface
from pyaco.addrlib.driver.records import SurfaceMode, SurfaceRequest
from pyaco.addrlib.v1.chip import TileInfo, chip_of
from pyaco.addrlib.v1.metadata import dcc_layout
from pyaco.errors import InputError, UnsupportedError

CHIPS = ("tahiti", "polaris10", "vega10", "navi21", "navi31", "gfx1201")
LINEAR = SurfaceMode.LINEAR_ALIGNED


@pytest.mark.parametrize("chip", CHIPS)
def test_a_pitch_of_ones_own(chip: Any) -> None:
    config = gpu_config(chip)
    surface = compute_surface(config, SurfaceRequest(100, 30, 4, mode=LINEAR))
    override_offset_and_pitch(config, surface, 1 << 20, 512)
    assert planes(config, surface)[0].offset == 1 << 20
    assert planes(config, surface)[0].stride == 2048
    tiled = tiled_surface(config, surface)
    assert tiled.addresses([0, 1, 0], [0, 0, 1]).tolist() == [0, 4, 2048]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("offset", "pitch"), [(100, 0), (-(1 << 20), 0), (1 << 60, 0), (0, -512), (0, 101), (100, 512), (1 << 20, 1 << 40)])
def test_what_is_refused_changes_nothing(chip: Any, offset: Any, pitch: Any) -> None:
    config = gpu_config(chip)
    surface = compute_surface(config, SurfaceRequest(100, 30, 4, mode=LINEAR))
    before = deepcopy(surface)
    with pytest.raises(InputError):
        override_offset_and_pitch(config, surface, offset, pitch)
    assert surface == before


@pytest.mark.parametrize("chip", CHIPS)
def test_3d_surfaces_move_but_keep_their_pitch(chip: Any) -> None:
    config = gpu_config(chip)
    surface = compute_surface(config, SurfaceRequest(64, 64, 4, depth=8, is_3d=True))
    size = surface.surf_size
    override_offset_and_pitch(config, surface, 1 << 20)
    assert planes(config, surface)[0].offset == 1 << 20
    with pytest.raises(InputError):
        override_offset_and_pitch(config, surface, 0, 4096)
    assert surface.surf_size == size


def test_no_other_pitch_of_12_bytes() -> None:
    config = gpu_config("navi21")
    surface = compute_surface(config, SurfaceRequest(64, 64, 12, mode=LINEAR))
    with pytest.raises(UnsupportedError, match="12 bytes"):
        override_offset_and_pitch(config, surface, 0, 1024)


@pytest.mark.parametrize("chip", CHIPS)
def test_import_of_ones_own_tiling_flags(chip: Any) -> None:
    config = gpu_config(chip)
    request = SurfaceRequest(300, 200, 4)
    surface = compute_surface(config, request)
    flags = bo_metadata(config, surface)
    again = import_surface(config, request, flags)
    assert (again.surf_size, again.total_size) == (surface.surf_size, surface.total_size)
    x, y = np.meshgrid(np.arange(300), np.arange(200))
    np.testing.assert_array_equal(tiled_surface(config, again).addresses(x, y), tiled_surface(config, surface).addresses(x, y))


def test_no_dcc_before_gfx8() -> None:
    with pytest.raises(UnsupportedError, match="GFX8"):
        dcc_layout(chip_of(gpu_config("hawaii")), TileInfo(16, 1, 1, 1, 64, 12), 1 << 20, 32, 1)
