"""The driver layer on GFX9 to GFX12: facts from Mesa 24.3, and what must hold for every surface."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco.addrlib import gpu_config, gpu_configs
from pyaco.addrlib.driver.gfx9 import dcc_retile_map
from pyaco.addrlib.driver.modifiers import INVALID, has_dcc, has_dcc_retile, supported_modifiers
from pyaco.addrlib.driver.queries import (
    bo_metadata,
    compute_surface,
    import_surface,
    non_block_compressed_view,
    override_offset_and_pitch,
    planes,
    surface_address,
    surface_addresses,
)
from pyaco.addrlib.driver.records import MicroTileMode, SurfaceMode, SurfaceRequest, SurfaceUse
from pyaco.errors import InputError, UnsupportedError

DATA = json.loads((Path(__file__).parent / "surface_gfx9_facts.json").read_text())
FACTS = DATA["facts"]
CHIPS = [c for c in gpu_configs() if c.level >= 90]


def request(fields: dict[str, Any]) -> SurfaceRequest:
    kinds: dict[str, Any] = {"mode": SurfaceMode, "flags": SurfaceUse, "micro_tile_mode": MicroTileMode}
    return SurfaceRequest(**{name: kinds.get(name, int)(value) for name, value in fields.items()})


@pytest.mark.parametrize("fact", FACTS, ids=[f"{f['kind']}-{f['chip']}-{i}" for i, f in enumerate(FACTS)])
def test_fact(fact: Any) -> None:
    config = gpu_config(fact["chip"])
    surface: Any = compute_surface(config, request(fact["request"]))
    assert [int(getattr(surface, name)) for name in DATA["layout"]] == fact["layout"]
    assert [[p.offset, p.stride, p.size] for p in planes(config, surface)] == fact["planes"]
    if fact["tiling"] != -1:
        assert bo_metadata(config, surface) == fact["tiling"] & (1 << 64) - 1
    lists = (surface.offset, surface.pitch, surface.prt_level_pitch, surface.prt_level_offset, surface.meta_level_offset, surface.meta_level_size)
    for level, expected in enumerate(fact["levels"]):
        assert [column[level] if level < len(column) else 0 for column in lists] == expected
    for level, x, y, layer, address in fact["addresses"]:
        assert surface_address(config, surface, level, x, y, layer) == address
    for level, layer, *expected in fact["views"]:
        view = non_block_compressed_view(config, surface, level, layer)
        assert [view.width, view.height, view.level, view.num_levels, view.tile_swizzle & 0xFF, view.base_address_offset] == expected
    if "hiz" in fact:
        parts = [(p.offset, p.size, p.width_in_tiles, p.swizzle_mode) for p in (surface.hiz, surface.his)]
        assert [number for part in parts for number in part] == fact["hiz"]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(CHIPS), st.sampled_from([1, 2, 4, 8]), st.integers(1, 5000), st.integers(1, 3000), st.data())
def test_layout_from_every_modifier(config: Any, bpe: Any, width: Any, height: Any, data: Any) -> None:
    modifier = data.draw(st.sampled_from(supported_modifiers(config, bpe * 8)))
    surface = compute_surface(config, SurfaceRequest(width, height, bpe, modifier=modifier))
    parts = planes(config, surface)
    in_planes = config.level < 120 and has_dcc(modifier)
    assert len(parts) == 1 + in_planes + (in_planes and has_dcc_retile(modifier))
    ends = sorted((p.offset, p.offset + p.size) for p in parts)
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))
    assert ends[-1][1] == surface.total_size
    assert parts[0].stride >= width * bpe


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(CHIPS), st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 70), st.integers(1, 40), st.integers(1, 3), st.booleans())
def test_no_two_elements_share_an_address(config: Any, bpe: Any, width: Any, height: Any, layers: Any, linear: Any) -> None:
    mode = SurfaceMode.LINEAR_ALIGNED if linear else SurfaceMode.TILED_2D
    surface = compute_surface(config, SurfaceRequest(width, height, bpe, array_size=layers, mode=mode, surf_index=None))
    z, y, x = np.mgrid[0:layers, 0:height, 0:width]
    address = np.sort(surface_addresses(config, surface, 0, x, y, z), axis=None)
    assert np.all(np.diff(address) >= bpe)
    assert address[-1] + bpe <= surface.surf_size


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([c for c in gpu_configs() if c.name != "stoney"]), st.integers(1, 3000), st.integers(1, 2000), st.booleans(), st.booleans())
def test_tiling_flags_describe_a_surface(config: Any, width: Any, height: Any, linear: Any, scanout: Any) -> None:
    mode = SurfaceMode.LINEAR_ALIGNED if linear else SurfaceMode.TILED_2D
    use = SurfaceUse.SHAREABLE | (SurfaceUse.SCANOUT if scanout else SurfaceUse(0))
    exported = compute_surface(config, SurfaceRequest(width, height, 4, mode=mode, flags=use))
    imported = import_surface(config, SurfaceRequest(width, height, 4, flags=SurfaceUse.SHAREABLE), bo_metadata(config, exported))
    assert planes(config, imported) == planes(config, exported)
    assert (imported.total_size, imported.meta_offset) == (exported.total_size, exported.meta_offset)


@pytest.mark.parametrize("chip", ["raven", "navi21", "navi31", "phoenix"])
def test_retile_reaches_every_displayable_byte_once(chip: str) -> None:
    config = gpu_config(chip)
    surface: Any = compute_surface(config, SurfaceRequest(1920, 1080, 4, flags=SurfaceUse.SCANOUT))
    source, target = dcc_retile_map(surface)
    assert source.shape == target.shape == (135, 240)
    for offsets, size in ((source, surface.meta_size), (target, surface.display_dcc_size)):
        assert len(np.unique(offsets)) == offsets.size
        assert offsets.max() < size
    with pytest.raises(InputError, match="displayable DCC"):
        dcc_retile_map(compute_surface(config, SurfaceRequest(64, 64, 4)))  # type: ignore[arg-type]


def test_imported_pitch_and_offset() -> None:
    config = gpu_config("navi21")
    surface: Any = compute_surface(config, SurfaceRequest(100, 100, 4, mode=SurfaceMode.LINEAR_ALIGNED))
    assert surface.surf_pitch == 128
    override_offset_and_pitch(config, surface, 4096, 256)
    assert (surface.surf_offset, surface.surf_pitch, surface.surf_size) == (4096, 256, 256 * 100 * 4)
    assert planes(config, surface)[0].stride == 1024
    assert surface_address(config, surface, 0, 3, 2) == (2 * 256 + 3) * 4
    with pytest.raises(InputError, match="multiple of"):
        override_offset_and_pitch(config, surface, 0, 100)
    with pytest.raises(InputError, match="aligned"):
        override_offset_and_pitch(config, surface, 100)
    tiled: Any = compute_surface(config, SurfaceRequest(1000, 100, 4))
    with pytest.raises(InputError, match="cannot be changed"):
        override_offset_and_pitch(config, tiled, 0, tiled.surf_pitch * 2)


@pytest.mark.parametrize(("fields", "message"), [
    ({"width": 0}, "width"), ({"samples": 3}, "samples"), ({"storage_samples": 16}, "store"), ({"is_3d": True, "array_size": 2}, "3D"),
    ({"is_cube": True, "depth": 2}, "cube"), ({"bpe": 3}, "bytes"), ({"blk_w": 4, "blk_h": 4, "bpe": 4}, "bytes"),
    ({"flags": SurfaceUse.FMASK}, "FMASK"), ({"mode": SurfaceMode.LINEAR_ALIGNED, "samples": 4}, "linear"), ({"levels": 18}, "levels"),
    ({"modifier": 0, "levels": 2}, "modifier"),
])
def test_bad_requests(fields: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SurfaceRequest(**({"width": 64, "height": 64, "bpe": 4} | fields))


def test_refusals() -> None:
    navi21, vega10 = gpu_config("navi21"), gpu_config("vega10")
    surface = compute_surface(navi21, SurfaceRequest(64, 64, 4))
    with pytest.raises(InputError, match="not block-compressed"):
        non_block_compressed_view(navi21, surface, 0)
    outside = {(0, 64, 0): "x 64 of 64", (0, 0, -1): "y -1", (1, 0, 0): "level 1 of 1", (0, 0, 0, 1): "layer", (0, 0, 0, 0, 1): "sample"}
    for texel, name in outside.items():
        with pytest.raises(InputError, match=name):
            surface_address(navi21, surface, *texel)
    with pytest.raises(InputError, match="integers"):
        surface_address(navi21, surface, 0, 0.5, 0)  # type: ignore[arg-type]
    compressed = compute_surface(vega10, SurfaceRequest(64, 64, 8, blk_w=4, blk_h=4))
    with pytest.raises(UnsupportedError, match="GFX10"):
        non_block_compressed_view(vega10, compressed, 0)
    assert surface.modifier == INVALID
    with pytest.raises(InputError, match="swizzle_mode"):
        compute_surface(navi21, SurfaceRequest(64, 64, 4, flags=SurfaceUse.FORCE_SWIZZLE_MODE))
