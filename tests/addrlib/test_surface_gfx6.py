"""Whole surfaces on GFX6 to 8: facts from Mesa's ac_surface, sharing, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyaco.addrlib import gpu_config
from pyaco.addrlib.driver.gfx6 import SurfaceGfx6, SurfaceLevel, tiling_of_bo_metadata
from pyaco.addrlib.driver.gfx6 import compute_surface as compute_gfx6
from pyaco.addrlib.driver.queries import bo_metadata, compute_surface, override_offset_and_pitch, planes
from pyaco.addrlib.driver.records import SurfaceMode, SurfaceRequest, SurfaceUse
from pyaco.errors import InputError, UnsupportedError

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "surface_gfx6_facts.json").read_text())


def request_of(fact: dict[str, Any]) -> SurfaceRequest:
    fields = dict(fact["request"])
    for name in ("is_1d", "is_3d", "is_cube", "is_array"):
        fields[name] = bool(fields.get(name))
    return SurfaceRequest(**fields | {"mode": SurfaceMode(fields.get("mode", 3)), "flags": SurfaceUse(fields.get("flags", 0))})


def level_of(level: SurfaceLevel) -> list[int]:
    return [level.offset // 256, level.slice_size // 4, level.pitch, level.height, level.mode, level.tile_index]


@pytest.mark.parametrize("fact", DATA["facts"], ids=lambda f: f["chip"])
def test_surface(fact: dict[str, Any]) -> None:
    config = gpu_config(fact["chip"])
    surface = compute_surface(config, request_of(fact))
    assert isinstance(surface, SurfaceGfx6)
    assert [int(getattr(surface, name)) for name in DATA["fields"]] == fact["surface"]
    assert bo_metadata(config, surface) == fact["bo_metadata"]
    assert [(p.offset, p.stride, p.size) for p in planes(config, surface)] == [(0, fact["stride"], surface.surf_size)]
    dcc = [[level.dcc_offset, level.dcc_fast_clear_size, level.dcc_slice_fast_clear_size] for level in surface.levels]
    assert [level_of(level) + extra for level, extra in zip(surface.levels, dcc, strict=True)] == fact["levels"]
    assert [level_of(level) for level in surface.stencil_levels] == fact["stencil"]


@pytest.mark.parametrize("chip", ["tahiti", "hawaii", "polaris10"])
@pytest.mark.parametrize("bpe", [1, 2, 4, 8, 16])
def test_an_importer_lays_out_what_the_exporter_did(chip: str, bpe: int) -> None:
    config = gpu_config(chip)
    request = SurfaceRequest(1920, 1080, bpe, flags=SurfaceUse.SHAREABLE | SurfaceUse.DISABLE_DCC)
    exported = compute_gfx6(config, request)
    mode, scanout, info = tiling_of_bo_metadata(bo_metadata(config, exported))
    assert (mode, scanout, info) == (SurfaceMode.TILED_2D, bool(exported.flags & SurfaceUse.SCANOUT), exported.tile_info)
    imported = compute_gfx6(config, request, info)
    assert (imported.levels, imported.surf_size, imported.tile_info) == (exported.levels, exported.surf_size, exported.tile_info)


def test_imported_pitch_and_offset() -> None:
    config = gpu_config("polaris10")
    surface = compute_surface(config, SurfaceRequest(100, 100, 4, mode=SurfaceMode.LINEAR_ALIGNED))
    assert isinstance(surface, SurfaceGfx6)
    override_offset_and_pitch(config, surface, 4096, 192)
    assert (surface.levels[0].offset, surface.levels[0].pitch, surface.levels[0].slice_size) == (4096, 192, 192 * 100 * 4)
    for offset, pitch in ((0, 100), (100, 0)):
        with pytest.raises(InputError):
            override_offset_and_pitch(config, surface, offset, pitch)
    mips = compute_surface(config, SurfaceRequest(64, 64, 4, levels=3))
    with pytest.raises(InputError):
        override_offset_and_pitch(config, mips, 0, 4096)


def test_refusals() -> None:
    config = gpu_config("tahiti")
    with pytest.raises(UnsupportedError):
        compute_surface(config, SurfaceRequest(64, 64, 4, modifier=0))
    with pytest.raises(InputError):
        compute_surface(config, SurfaceRequest(64, 64, 12))
    with pytest.raises(UnsupportedError):
        compute_gfx6(gpu_config("vega10"), SurfaceRequest(64, 64, 4))
