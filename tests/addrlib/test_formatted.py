"""Surfaces by chip and pixel format."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from pyaco.addrlib import Surface, compute_surface, gpu_config, gpu_configs, plane_surfaces, surface_address, surface_addresses, tiled_surface
from pyaco.addrlib.driver.modifiers import INVALID
from pyaco.addrlib.driver.records import SurfaceMode, SurfaceRequest, SurfaceUse
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import SHORT_NAMES, pixel_format

CHIPS = ("tahiti", "hawaii", "polaris10", "vega10", "navi10", "navi21", "navi31", "strix_halo", "gfx1201")


@pytest.mark.parametrize(("name", "config"), [
    ("gfx1030", "navi21"), ("navi21", "navi21"), ("RX 6800 XT", "navi21"), ("gfx1200", "gfx1200"), ("navi48", "gfx1201"),
    ("gfx1151", "strix_halo"), ("gfx803", "fiji"), ("gfx601", "pitcairn")])
def test_chips_by_any_name(name: str, config: str) -> None:
    assert gpu_config(name).name == config


def test_chips_without_a_configuration() -> None:
    with pytest.raises(UnsupportedError, match="rembrandt"):
        gpu_config("gfx1035")
    with pytest.raises(InputError, match="no GPU configuration"):
        gpu_config("gfx9999")


def test_short_names_of_formats() -> None:
    for short, full in SHORT_NAMES.items():
        assert pixel_format(short) == pixel_format(short.upper()) == pixel_format(full)
        assert pixel_format(short).name == full
    with pytest.raises(InputError, match="rgba9"):
        pixel_format("rgba9")


def test_what_a_surface_says() -> None:
    surface = Surface("gfx1030", format="R8G8B8A8_UNORM", width=1920, height=1080)
    assert (surface.swizzle_mode, surface.pitch, surface.height) == ("64KB_R_X", 1920, 1152)
    assert surface.size == 1920 * 1152 * 4 <= surface.total_size
    assert surface.base_align == 65536
    assert surface.facts["DCC"]["offset"] == surface.layout.meta_offset
    assert surface.equations["byte offset in a block"].startswith("bit  0: 0\nbit  1: 0\nbit  2: x0\n")
    assert "<td>64KB_R_X</td>" in surface._repr_html_()
    assert "R8G8B8A8_UNORM 1920x1080 64KB_R_X on navi21" in repr(surface)


PLAIN = ("R8_UNORM", "R16G16_FLOAT", "R8G8B8A8_UNORM", "R32G32B32A32_FLOAT")
KINDS: tuple[dict[str, int], ...] = ({}, {"layers": 3}, {"depth": 5}, {"mips": 6}, {"linear": True}, {"cube": True})


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("name", "options"), [*product((*PLAIN, "DXT1_RGBA", "BPTC_RGBA_UNORM"), KINDS), *product(PLAIN, [{"samples": 4}])], ids=str)
def test_tile_and_back(chip: Any, name: Any, options: Any) -> None:
    form = pixel_format(name)
    if chip == "vega10" and options.get("linear") and form.is_compressed:
        with pytest.raises(InputError):
            Surface(chip, format=name, width=100, height=72, **options)
        return
    check_round_trip(Surface(chip, format=name, width=100, height=72, **options), options.get("mips", 1))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("name", "options"), [
    ("R32G32B32_FLOAT", {"linear": True}), ("Z16_UNORM", {"mips": 3}), ("Z24_UNORM_S8_UINT", {}), ("Z24_UNORM_S8_UINT", {"mips": 4}),
    ("Z32_FLOAT", {"samples": 4}), ("S8_UINT", {"layers": 2}), ("ASTC_8x6", {}), ("ASTC_5x5", {"mips": 3})], ids=str)
def test_tile_and_back_of_what_is_rare(chip: Any, name: str, options: Any) -> None:
    if name.startswith("ASTC") and gpu_config(chip).level < 90:
        with pytest.raises(UnsupportedError, match="pixels before GFX9"):
            Surface(chip, format=name, width=100, height=72, **options)
        return
    check_round_trip(Surface(chip, format=name, width=100, height=72, **options), options.get("mips", 1))


def check_round_trip(surface: Any, mips: Any) -> None:
    levels = [surface.level_shape(mip) for mip in range(mips)]
    assert surface.tiled.size <= surface.size
    memory = np.zeros(surface.size, np.uint8)
    random = np.random.default_rng(1)
    wanted = []
    for mip in range(len(levels)):
        texels = random.integers(0, 256, surface.detile(memory, mip=mip).nbytes, np.uint8).view(surface.detile(memory, mip=mip).dtype)
        wanted.append(texels.reshape(surface.detile(memory, mip=mip).shape))
        assert surface.tile(wanted[-1], memory, mip=mip) is memory
    for mip, texels in enumerate(wanted):
        assert surface.detile(memory, mip=mip).tobytes() == texels.tobytes()
    assert memory.any()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("name", "mips"), [("Z24_UNORM_S8_UINT", 1), ("Z16_UNORM_S8_UINT", 3), ("Z32_FLOAT_S8X24_UINT", 1)])
def test_stencil_beside_depth(chip: Any, name: str, mips: int) -> None:
    surface = Surface(chip, format=name, width=100, height=72, mips=mips)
    memory, random = np.zeros(surface.size, np.uint8), np.random.default_rng(2)
    wanted = []
    for mip in range(mips):
        shape = surface.level_shape(mip)[1:]
        depth = random.integers(0, 256, (*shape, surface.element_bytes), np.uint8)
        stencil = random.integers(0, 256, shape, np.uint8)
        surface.tile(depth, memory, mip=mip)
        surface.tile(stencil, memory, mip=mip, stencil=True)
        wanted.append((depth, stencil))
    for mip, (depth, stencil) in enumerate(wanted):
        assert surface.detile(memory, mip=mip).tobytes() == depth.tobytes()
        np.testing.assert_array_equal(surface.detile(memory, mip=mip, stencil=True), stencil)
        address = surface.address(7, 5, 0, mip, stencil=True)
        assert memory[address] == stencil[5, 7]
        assert surface.coordinates([address], stencil=True)[0].tolist()[:3] == (0, 7, 5)


@pytest.mark.parametrize("chip", CHIPS)
def test_only_stencil(chip: Any) -> None:
    surface = Surface(chip, format="S8_UINT", width=100, height=72)
    assert surface.swizzle_mode != "LINEAR"
    assert surface.pitch >= 100
    assert surface.height >= 72
    assert "S8_UINT 100x72" in repr(surface)
    assert surface.equations["byte offset in a block"].startswith("bit  0: x0\n")
    assert surface.facts.get("pitch", 100) >= 100
    assert surface.address(99, 71) == surface_address(surface.config, surface.layout, 0, 99, 71)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ["DXT1_RGBA", "BPTC_RGBA_UNORM"])
def test_levels_of_compressed_formats_count_their_own_blocks(chip: Any, name: str) -> None:
    surface = Surface(chip, format=name, width=150, height=90, mips=5)
    assert [surface.level_shape(mip)[1:] for mip in range(5)] == [(23, 38), (12, 19), (6, 10), (3, 5), (2, 3)]
    grids = [surface.address(*np.meshgrid(np.arange(0, 150 >> mip, 4), np.arange(0, 90 >> mip, 4)), 0, mip).ravel() for mip in range(5)]
    found = np.concatenate(grids)
    assert len(np.unique(found)) == len(found) == sum(rows * columns for _, rows, columns in map(surface.level_shape, range(5)))
    assert found.max() + surface.element_bytes <= surface.size
    check_round_trip(surface, 5)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("options", [
    {"is_cube": True}, {"samples": 8, "storage_samples": 2}, {"samples": 4, "storage_samples": 4}, {"flags": SurfaceUse.SBUFFER, "bpe": 1},
    {"flags": SurfaceUse.ZBUFFER, "samples": 4}, {"surf_index": 3}, {"flags": SurfaceUse.PRT, "levels": 6}], ids=str)
def test_addresses_of_the_driver_layer(chip: Any, options: Any) -> None:
    config = gpu_config(chip)
    if config.level in (110, 115) and options.get("samples", 1) != options.get("storage_samples", options.get("samples", 1)):
        with pytest.raises(InputError):  # which stores every sample
            compute_surface(config, SurfaceRequest(70, 50, 4, **options))
        return
    request = SurfaceRequest(**{"width": 70, "height": 50, "bpe": 4} | options)
    surface = compute_surface(config, request)
    tiled = tiled_surface(config, surface)
    for level in range(request.levels):
        width, height = request.level_extent(level)
        grid: Any = np.meshgrid(np.arange(width), np.arange(height), np.arange(request.layers), np.arange(request.fragments))
        found = surface_addresses(config, surface, level, *grid)
        assert len(np.unique(found)) == found.size
        assert found.max() + request.bpe <= surface.surf_size
        np.testing.assert_array_equal(tiled.addresses(grid[0], grid[1], grid[2], grid[3], level), found)
    with pytest.raises(InputError, match="sample"):
        surface_address(config, surface, 0, 0, 0, 0, request.fragments)


@pytest.mark.parametrize("chip", CHIPS[3:])
def test_levels_of_12_bytes(chip: Any) -> None:
    surface = Surface(chip, format="R32G32B32_FLOAT", width=150, height=90, linear=True, mips=8)
    layout: Any = surface.layout
    assert [surface.address(0, 0, 0, mip) for mip in range(8)] == layout.offset
    for mip in range(8):
        assert surface_address(surface.config, layout, mip, 0, 0) == layout.offset[mip]
    assert surface.level_shape(7) == (1, 1, 1)
    check_round_trip(surface, 8)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("name", "shapes"), [
    ("NV12", [(75, 101), (38, 51)]), ("P010", [(75, 101), (38, 51)]), ("YV12", [(75, 101), (38, 51), (38, 51)]),
    ("Y8_U8_V8_440_UNORM", [(75, 101), (38, 101), (38, 101)]), ("R8G8B8A8_UNORM", [(75, 101)])])
def test_planes_of_a_picture(chip: Any, name: str, shapes: Any) -> None:
    picture = plane_surfaces(chip, format=name, width=101, height=75)
    assert [plane.surface.level_shape()[1:] for plane in picture.planes] == shapes
    end = 0
    for plane in picture.planes:
        assert plane.offset >= end
        assert plane.offset % plane.surface.base_align == 0
        end = plane.offset + plane.surface.total_size
    assert picture.total_size == end


def test_modifiers_of_several_planes() -> None:
    picture = plane_surfaces("navi21", format="NV12", width=1920, height=1080, modifier=0x200000000801902)
    assert [plane.surface.swizzle_mode for plane in picture.planes] == ["64KB_S_X"] * 2
    for modifier, name in ((0x20000002096BB03, "NV12"), (INVALID, "P030")):
        with pytest.raises(UnsupportedError, match=name):
            plane_surfaces("navi21", format=name, width=64, height=64, modifier=modifier)
    with pytest.raises(InputError):
        plane_surfaces("navi21", format="NV12", width=0, height=64)


@pytest.mark.parametrize("chip", CHIPS[3:])
@pytest.mark.parametrize("options", [{}, {"layers": 3}, {"depth": 5}, {"mips": 4}, {"linear": True}, {"format": "bc3"}, {"format": "d32s8"}], ids=str)
def test_addresses_are_the_driver_layers(chip: Any, options: Any) -> None:
    surface = Surface(chip, width=300, height=200, **options)
    last = options.get("layers", options.get("depth", 1)) - 1
    for mip in range(options.get("mips", 1)):
        for x, y in ((0, 0), (36, 16), (17, 23)):
            block = surface.layout.blk_w, surface.layout.blk_h
            expected = surface_address(surface.config, surface.layout, mip, x // block[0], y // block[1], last)
            assert surface.address(x, y, last, mip) == expected
            found = surface.coordinates([expected])[0]
            assert (found["x"], found["y"], found["slice"], found["mip_id"]) == (x // block[0], y // block[1], last, mip)


def test_arrays_of_pixels() -> None:
    surface = Surface("RX 7900 XTX", format="rgba8", width=64, height=32)
    picture = np.random.default_rng(0).integers(0, 256, (32, 64, 4), np.uint8)
    tiled = surface.tile(picture)
    assert tiled.ctypes.data % 64 == 0 and tiled.shape == (surface.size,)
    address = surface.address(5, 7)
    assert tiled[address : address + 4].tobytes() == picture[7, 5].tobytes()
    np.testing.assert_array_equal(surface.detile(tiled), picture)
    grid = surface.address(np.arange(64), np.arange(32)[:, None])
    assert grid.shape == (32, 64)
    assert len(np.unique(grid)) == grid.size


def test_refusals() -> None:
    surface = Surface("navi21", format="rgba8", width=64, height=32)
    memory = np.full(surface.size, 7, np.uint8)
    for wrong in (np.zeros((32, 63, 4), np.uint8), np.zeros((32, 64), np.uint16), np.zeros((64, 32, 4), np.uint8)):
        with pytest.raises(InputError):
            surface.tile(wrong, memory)
    assert (memory == 7).all()
    for action in (
            lambda: surface.detile(memory[:100]), lambda: surface.detile(memory, mip=1), lambda: surface.address(64, 0),
            lambda: surface.address(-1, 0), lambda: surface.address(0.5, 0), lambda: Surface("navi21", width=0),
            lambda: Surface("navi21", width=8, colour="red"), lambda: Surface("vega10", width=8, swizzle_mode=9)):
        with pytest.raises(InputError):
            action()
    with pytest.raises(UnsupportedError, match="plane"):
        Surface("navi21", format="NV12", width=64, height=64)
    with pytest.raises(InputError, match="no stencil"):
        surface.tile(np.zeros((32, 64), np.uint8), stencil=True)


def test_every_short_name_on_every_chip() -> None:
    for config in gpu_configs():
        for name in SHORT_NAMES:
            linear = pixel_format(name).bits == 96
            surface = Surface(config, format=name, width=100, height=60, linear=linear)
            assert surface.total_size >= surface.size > 0
            assert bool(surface.layout.flags & SurfaceUse.ZBUFFER) == pixel_format(name).has_depth
            assert not linear or surface.request.mode == SurfaceMode.LINEAR_ALIGNED
            assert surface.tiled.size <= surface.size


@pytest.mark.parametrize("options", [
    {"mips": 3}, {"depth": 9}, {"samples": 4}, {"format": "DXT1_RGBA"}, {"format": "Z32_FLOAT"}, {"format": "R32G32B32A32_FLOAT", "layers": 3},
], ids=str)
def test_a_swizzle_mode_is_demanded_on_gfx12_or_refused(options: dict[str, Any]) -> None:
    refused = []
    for mode in range(9):
        try:
            surface = Surface("gfx1200", width=100, height=60, swizzle_mode=mode, **options)
        except InputError as error:
            assert "a surface of this kind" in str(error)
            refused.append(mode)
            continue
        assert surface.layout.texel_swizzle_mode == mode  # type: ignore[attr-defined]
        empty = surface.detile(np.zeros(surface.size, np.uint8))
        texels = np.random.default_rng(mode).integers(0, 256, empty.nbytes, np.uint8).view(empty.dtype).reshape(empty.shape)
        memory = np.zeros(surface.size, np.uint8)
        surface.tile(texels, memory)
        np.testing.assert_array_equal(surface.detile(memory).view(np.uint8), texels.view(np.uint8))
    assert set([1, 2, 3, 4] if "depth" in options else [5, 6, 7]) | {8} <= set(refused)
    assert (6 if "depth" in options else 3) not in refused
