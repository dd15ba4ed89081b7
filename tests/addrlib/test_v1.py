"""Surfaces of GFX6 to 8: facts from the real library, and what must hold for every layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyaco.addrlib import gpu_config, gpu_configs
from pyaco.addrlib.v1.chip import TileInfo, chip_of
from pyaco.addrlib.v1.equation import equation_table, surface_block
from pyaco.addrlib.v1.layout import Layout
from pyaco.addrlib.v1.library_inverse import library_coordinates
from pyaco.addrlib.v1.masks import MaskAddresses
from pyaco.addrlib.v1.metadata import cmask_layout, dcc_layout, fmask_layout, htile_layout, mask_address
from pyaco.addrlib.v1.modes import IS_VALID, THICKNESS, TileMode, TileType
from pyaco.addrlib.v1.queries import SurfaceAddresses, surface_info, surface_infos
from pyaco.addrlib.v1.swizzle import base_swizzle, combine_swizzle, extract_swizzle, slice_swizzle
from pyaco.addrlib.v1.tables import max_base_align, max_metadata_align, tile_config, tile_index_of
from pyaco.addrlib.v1.tiling import pipes_of
from pyaco.errors import InputError, UnsupportedError

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "v1_facts.json").read_text())
CHIPS = [c for c in gpu_configs() if c.level < 90]


def layout_of(values: list[int]) -> Layout:
    return Layout(0, **dict(zip(FACTS["layout_fields"], values, strict=True)))


@pytest.mark.parametrize("fact", FACTS["surface"], ids=lambda f: f"{f['chip']}-{f['query'].get('tile_mode', 0)}")
def test_surface(fact: dict[str, Any]) -> None:
    config = gpu_config(fact["chip"])
    query = {"width": 1, "height": 1, "tile_mode": 0} | fact["query"]
    if fact["layout"] == "invalid":
        with pytest.raises(InputError):
            surface_info(config, **query)
        assert surface_infos(config, **query)["status"] == 3
        return
    assert surface_info(config, **query) == layout_of(fact["layout"])
    assert surface_infos(config, **query).tolist() == tuple(layout_of(fact["layout"]))


@pytest.mark.parametrize("fact", FACTS["address"], ids=lambda f: f"{f['chip']}-{f['layout'][4]}")
def test_address(fact: dict[str, Any]) -> None:
    info = layout_of(fact["layout"])._replace(samples=fact["frags"])
    for x, y, z, sample, bank, pipe, depth, address, library in fact["points"]:
        addresses = SurfaceAddresses(gpu_config(fact["chip"]), info, depth_order=bool(depth), bank_swizzle=bank, pipe_swizzle=pipe)
        assert addresses(x, y, z, sample) == address
        assert addresses.coordinates(address) == (x, y, z, sample)
        if library:
            assert library_coordinates(addresses, address) == tuple(library)


def test_swizzle() -> None:
    for chip, info, mode, index, expected in FACTS["base_swizzle"]:
        geometry, pipes = TileInfo(*info), pipes_of(chip_of(gpu_config(chip)), TileInfo(*info))
        assert base_swizzle(geometry, pipes, 256, mode, index, False, False) == expected
        bank, pipe = extract_swizzle(pipes, geometry.banks, 256, expected)
        assert combine_swizzle(pipes, 256, bank, pipe, 0) == expected
    for chip, info, mode, swizzle, z, expected in FACTS["slice_swizzle"]:
        pipes = pipes_of(chip_of(gpu_config(chip)), TileInfo(*info))
        assert slice_swizzle(TileInfo(*info), pipes, 256, mode, swizzle, z, 0) == expected


@pytest.mark.parametrize("fact", FACTS["cmask"], ids=lambda f: f["chip"])
def test_cmask(fact: dict[str, Any]) -> None:
    chip, info = chip_of(gpu_config(fact["chip"])), TileInfo(*fact["info"])
    pitch, height, slices, tc_compatible = fact["query"]
    assert list(cmask_layout(chip, info, pitch, height, slices, bool(tc_compatible), False)) == [0, *fact["layout"]]
    for x, y, z, bits in fact["points"]:
        assert mask_address(chip, info, pitch, height, slices, x, y, z, True, False) == bits


@pytest.mark.parametrize("fact", FACTS["htile"], ids=lambda f: f["chip"])
def test_htile(fact: dict[str, Any]) -> None:
    chip, info = chip_of(gpu_config(fact["chip"])), TileInfo(*fact["info"])
    pitch, height, slices, tc_compatible = fact["query"]
    assert list(htile_layout(chip, info, pitch, height, slices, bool(tc_compatible), False, False)) == fact["layout"]
    for x, y, z, bits in fact["points"]:
        assert mask_address(chip, info, pitch, height, slices, x, y, z, False, False) == bits


def test_fmask_and_dcc() -> None:
    for fact in FACTS["fmask"]:
        query: Any = fact["query"]
        layout = fmask_layout(chip_of(gpu_config(fact["chip"])), *query, False)  # type: ignore[call-arg]
        assert [*layout[1:-1], list(layout.info)] == fact["layout"]
    for fact in FACTS["dcc"]:
        assert list(dcc_layout(chip_of(gpu_config(fact["chip"])), TileInfo(*fact["info"]), *fact["query"])) == fact["layout"]


MODES = tuple(mode for mode in TileMode if IS_VALID[mode])


@st.composite
def layouts(draw: st.DrawFn, modes: tuple[TileMode, ...] = MODES) -> SurfaceAddresses:
    """A small surface of any kind in one of the modes, with its addresses."""
    config = draw(st.sampled_from(CHIPS))
    mode = draw(st.sampled_from(modes))
    thick = "THICK" in mode.name
    depth = not thick and draw(st.booleans())
    samples = 1 if thick or mode <= TileMode.LINEAR_ALIGNED or draw(st.booleans()) else draw(st.sampled_from((2, 4, 8)))
    flags = 1 << 1 | 1 << 8 if depth else 1
    tile_type = TileType.DEPTH_SAMPLE_ORDER if depth else draw(st.sampled_from((TileType.DISPLAYABLE, TileType.NON_DISPLAYABLE)))
    query: Any = {
        "tile_mode": mode, "tile_type": tile_type, "bpp": draw(st.sampled_from((16, 32) if depth else (8, 16, 32, 64, 128))),
        "num_samples": samples, "flags": flags, "width": draw(st.integers(1, 300)), "height": draw(st.integers(1, 300)),
        "num_slices": draw(st.integers(1, 9)),
    }
    try:
        info = surface_info(config, **query)
        return SurfaceAddresses(config, info, bank_swizzle=draw(st.integers(0, 15)), pipe_swizzle=draw(st.integers(0, 15)))
    except (InputError, UnsupportedError):
        return draw(st.nothing())


@settings(max_examples=120, deadline=None)
@given(layouts(), st.data())
def test_there_and_back(addresses: SurfaceAddresses, data: st.DataObject) -> None:
    a = addresses.parameters
    place = [data.draw(st.integers(0, end - 1)) for end in (a.pitch, a.height, a.slices, a.samples)]
    address = addresses(*place)
    assert addresses.coordinates(address) == tuple(place)
    assert addresses.coordinates(address + a.bits // 8 - 1) == tuple(place)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_no_two_elements_share_an_address(mode: TileMode, data: st.DataObject) -> None:
    addresses = data.draw(layouts((mode,)))
    a = addresses.parameters
    shape = (a.pitch, min(a.height, 512), min(a.slices, 2), a.samples)
    grid = np.indices(shape).reshape(4, -1)
    found = addresses.addresses(*grid)
    assert found.min() >= 0 and found.max() < addresses.size
    assert len(np.unique(found)) == found.size
    some = np.random.default_rng(0).integers(0, found.size, 2000)
    np.testing.assert_array_equal(addresses.coordinates_of(found[some]), grid[:, some])
    for i in some[:20]:
        assert addresses(*(int(v) for v in grid[:, i])) == found[i]


def test_refusals() -> None:
    config = gpu_config("polaris10")
    with pytest.raises(UnsupportedError):
        chip_of(gpu_config("vega10"))
    with pytest.raises(InputError):
        surface_info(config, tile_mode=TileMode.TILED_2D_THICK, width=64, height=64, bpp=32, num_samples=4)
    with pytest.raises(InputError):
        surface_infos(config, tile_mod=4)
    bad = surface_infos(config, tile_mode=np.arange(-2, 30), width=64, height=64, bpp=32)["status"]
    assert bad.tolist() == [0 if 0 <= m < 26 and IS_VALID[m] else 3 for m in range(-2, 30)]
    addresses = SurfaceAddresses(config, surface_info(config, tile_mode=TileMode.TILED_2D_THIN1, width=64, height=64, bpp=32))
    for x in (-1, addresses.parameters.pitch):
        with pytest.raises(InputError):
            addresses(x, 0)
        with pytest.raises(InputError):
            addresses.addresses([0, x], [0, 0])
    with pytest.raises(InputError):
        addresses.addresses([0.5], [0])
    with pytest.raises(InputError):
        addresses.coordinates(addresses.size)


@settings(max_examples=60, deadline=None)
@given(layouts(), st.data())
def test_equation_of_a_block(addresses: SurfaceAddresses, data: st.DataObject) -> None:
    a = addresses.parameters
    x, y, z, sample = (data.draw(st.integers(0, end - 1)) for end in (a.pitch, a.height, a.slices, a.samples))
    try:
        block = surface_block(addresses, z)
    except UnsupportedError:
        assert a.mode <= TileMode.LINEAR_ALIGNED or (a.mode > TileMode.TILED_1D_THICK and 8 * a.bits * a.samples > a.info.tile_split_bytes)
        return
    offset = int(block.equation.offset(x, y, z % THICKNESS[a.mode], sample)) ^ block.flip
    size = 1 << block.equation.bits
    assert addresses(x, y, z, sample) == block.base + (y // block.height * block.pitch + x // block.width) * size + offset


@pytest.mark.parametrize(("chip", "count"), [("tahiti", 55), ("hawaii", 74), ("polaris10", 76), ("polaris12", 57)])
def test_equation_table(chip: str, count: int) -> None:
    table = equation_table(gpu_config(chip))
    assert len(table.equations) == count
    displayable = 10 if chip != "tahiti" else 12
    found = table.equations[table.index[displayable, 2]]
    assert found.block_width * found.block_height * 4 == 1 << found.equation.bits
    # Vega's predecessors begin every 2D block with the rows of a micro tile: x, x, y, x, y, y of 4-byte elements.
    assert [found.equation.terms(bit) for bit in range(2, 8)] == [("x0",), ("x1",), ("y0",), ("x2",), ("y1",), ("y2",)]


@pytest.mark.parametrize("chip", ["tahiti", "bonaire", "polaris10"])
def test_unknown_mode_is_chosen(chip: str) -> None:
    config = gpu_config(chip)
    volume = surface_info(config, tile_mode=TileMode.UNKNOWN, width=256, height=256, num_slices=64, bpp=8, flags=1 | 1 << 5)
    # Where 64 KB do not align an extra thick mode, GFX7 and 8 take the partially resident one.
    assert volume.tile_mode == (TileMode.PRT_TILED_THICK if chip == "polaris10" else TileMode.TILED_2D_XTHICK)
    flat = surface_info(config, tile_mode=TileMode.UNKNOWN, width=1024, height=1024, bpp=32, flags=1)
    thin = TileMode.PRT_TILED_THIN1 if chip == "polaris10" else TileMode.TILED_2D_THIN1
    assert (flat.tile_mode, flat.tile_type) == (thin, TileType.DISPLAYABLE)
    assert surface_info(config, tile_mode=TileMode.UNKNOWN, width=1024, height=1, bpp=32, flags=1).tile_mode == TileMode.LINEAR_ALIGNED
    depth = surface_info(config, tile_mode=TileMode.UNKNOWN, width=1024, height=1024, bpp=32, flags=1 << 1 | 1 << 8)
    assert depth.tile_type == TileType.DEPTH_SAMPLE_ORDER


@pytest.mark.parametrize("kind", ["cmask", "htile"])
def test_masks_over_arrays(kind: str) -> None:
    seen = set()
    for fact in FACTS[kind]:
        pitch, height, slices, tc_compatible = fact["query"]
        if tc_compatible or pitch * height * slices > 1 << 21 or fact["info"][-1] in seen:
            continue
        seen.add(fact["info"][-1])
        config, info = gpu_config(fact["chip"]), TileInfo(*fact["info"])
        mask = MaskAddresses(config, info, pitch=pitch, height=height, num_slices=slices, is_cmask=kind == "cmask")
        x, y, z, bits = np.array(fact["points"]).T
        np.testing.assert_array_equal(mask.addresses(x, y, z), bits)
        np.testing.assert_array_equal(mask.coordinates(bits + mask.element_bits - 1), [x & ~7, y & ~7, z])
        assert len(np.unique(mask.by_tile)) == mask.by_tile.size
        assert mask.by_tile.min() >= 0 and mask.by_tile.max() < mask.layout.bytes * 8
        for place in ((-1, 0, 0), (mask.layout.pitch, 0, 0), (0, 0, slices)):
            with pytest.raises(InputError):
                mask.addresses(*place)
        with pytest.raises(InputError):
            mask.coordinates(mask.layout.bytes * 8 + 8)
    assert len(seen) >= 4


@pytest.mark.parametrize("config", CHIPS, ids=lambda c: c.name)
def test_tile_tables(config: Any) -> None:
    for fact in FACTS["surface"]:
        if fact["chip"] != config.name or fact["layout"] == "invalid":
            continue
        layout = layout_of(fact["layout"])
        assert layout.base_align <= max_base_align(config)
        if layout.tile_index >= 0 and not fact["query"].get("flags", 0) >> 13 & 1:
            found = tile_config(config, layout.tile_index, 32)
            assert (found.tile_mode, found.info.pipe_config) == (layout.tile_mode, layout.pipe_config)
            index = tile_index_of(config, found.tile_mode, found.tile_type, found.info)
            assert tile_config(config, index, 32)[:2] == found[:2]
    for kind in ("cmask", "htile"):
        for fact in FACTS[kind]:
            if fact["chip"] == config.name:
                assert fact["layout"][3] <= max_metadata_align(config)
    for index in (-1, 32):
        with pytest.raises(InputError):
            tile_config(config, index, 32)


@pytest.mark.parametrize("chip", ["tahiti", "bonaire", "stoney"])
def test_a_batch_is_many_single_queries_whatever_is_asked(chip: str) -> None:
    config, random, count = gpu_config(chip), np.random.default_rng(1), 400
    wild = np.array([-(1 << 40), -1, 0, 1, 1 << 17, 1 << 31, 1 << 40])
    queries = {
        "tile_mode": random.integers(-1, 28, count), "tile_type": random.integers(-1, 6, count),
        "format": random.choice([0, 0, 1, 26, 47, 49], count),
        "bpp": random.choice([0, 1, 8, 16, 24, 32, 64, 96, 128, 256], count), "num_samples": random.choice([0, 1, 1, 1, 2, 4, 8, 32], count),
        "num_frags": random.choice([0, 0, 1, 2, -1], count), "width": random.integers(0, 5000, count), "height": random.integers(1, 3000, count),
        "num_slices": random.integers(1, 40, count), "mip_level": random.integers(0, 5, count),
        "flags": random.integers(0, 1 << 31, count) & ~(1 << 14),
        "tile_index": np.where(random.random(count) < 0.8, -1, random.integers(-6, 40, count)), "base_pitch": random.integers(0, 5000, count),
        "max_base_align": random.choice([0, 0, 4096, 65536], count), "pitch_align": random.choice([0, 0, 64, 48], count),
    }
    for name in ("width", "height", "num_slices", "base_pitch", "max_base_align", "mip_level"):
        queries[name] = np.where(random.random(count) < 0.02, random.choice(wild, count), queries[name])
    found, valid = surface_infos(config, **queries), 0
    for i in range(count):
        try:
            row: Any = {name: int(values[i]) for name, values in queries.items()}
            single = surface_info(config, **row)
        except InputError:
            assert found[i]["status"] == 3
            continue
        valid += 1
        assert tuple(found[i].tolist()) == tuple(single)
    assert valid > 20
