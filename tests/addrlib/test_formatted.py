"""Surfaces by chip and pixel format."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco.addrlib import Surface, gpu_config, gpu_configs, surface_address
from pyaco.addrlib.surface import SurfaceMode, SurfaceUse
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import SHORT_NAMES, pixel_format

CHIPS = ("tahiti", "hawaii", "polaris10", "vega10", "navi10", "navi21", "navi31", "strix_halo", "gfx1201")


@pytest.mark.parametrize(("name", "config"), [
    ("gfx1030", "navi21"), ("navi21", "navi21"), ("RX 6800 XT", "navi21"), ("gfx1200", "gfx1200"), ("navi48", "gfx1201"),
    ("gfx1151", "strix_halo"), ("gfx803", "fiji"), ("gfx601", "pitcairn")])
def test_chips_by_any_name(name, config):
    assert gpu_config(name).name == config


def test_chips_without_a_configuration():
    with pytest.raises(UnsupportedError, match="rembrandt"):
        gpu_config("gfx1035")
    with pytest.raises(InputError, match="no GPU configuration"):
        gpu_config("gfx9999")


def test_short_names_of_formats():
    for short, full in SHORT_NAMES.items():
        assert pixel_format(short) == pixel_format(short.upper()) == pixel_format(full)
        assert pixel_format(short).name == full
    with pytest.raises(InputError, match="rgba9"):
        pixel_format("rgba9")


def test_what_a_surface_says():
    surface = Surface("gfx1030", format="R8G8B8A8_UNORM", width=1920, height=1080)
    assert (surface.swizzle_mode, surface.pitch, surface.height) == ("64KB_R_X", 1920, 1152)
    assert surface.size == 1920 * 1152 * 4 <= surface.total_size
    assert surface.base_align == 65536
    assert surface.facts["DCC"]["offset"] == surface.layout.meta_offset
    assert surface.equations["byte offset in a block"].startswith("bit  0: 0\nbit  1: 0\nbit  2: x0\n")
    assert "<td>64KB_R_X</td>" in surface._repr_html_()
    assert "R8G8B8A8_UNORM 1920x1080 64KB_R_X on navi21" in repr(surface)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", [
    "R8_UNORM", "R16G16_FLOAT", "R8G8B8A8_UNORM", "R32G32B32A32_FLOAT", "DXT1_RGBA", "BPTC_RGBA_UNORM"])
@pytest.mark.parametrize("options", [{}, {"layers": 3}, {"depth": 5}, {"mips": 6}, {"linear": True}, {"samples": 4}, {"cube": True}], ids=str)
def test_tile_and_back(chip, name, options):
    form = pixel_format(name)
    if options.get("samples") and form.is_compressed:
        pytest.skip("compressed formats have one sample")
    if chip == "vega10" and options.get("linear") and form.is_compressed:
        with pytest.raises(InputError):
            Surface(chip, format=name, width=100, height=72, **options)
        return
    check_round_trip(Surface(chip, format=name, width=100, height=72, **options), options.get("mips", 1))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("name", "options"), [
    ("R32G32B32_FLOAT", {"linear": True}), ("Z16_UNORM", {"mips": 3}), ("Z24_UNORM_S8_UINT", {}), ("Z24_UNORM_S8_UINT", {"mips": 4}),
    ("Z32_FLOAT", {"samples": 4}), ("S8_UINT", {"layers": 2}), ("ASTC_8x6", {}), ("ASTC_5x5", {"mips": 3})], ids=str)
def test_tile_and_back_of_what_is_rare(chip, name, options):
    if name.startswith("ASTC") and gpu_config(chip).level < 90:
        with pytest.raises(UnsupportedError, match="pixels before GFX9"):
            Surface(chip, format=name, width=100, height=72, **options)
        return
    check_round_trip(Surface(chip, format=name, width=100, height=72, **options), options.get("mips", 1))


def check_round_trip(surface, mips):
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


@pytest.mark.parametrize("chip", CHIPS[3:])
@pytest.mark.parametrize("options", [{}, {"layers": 3}, {"depth": 5}, {"mips": 4}, {"linear": True}, {"format": "bc3"}, {"format": "d32s8"}], ids=str)
def test_addresses_are_the_driver_layers(chip, options):
    surface = Surface(chip, width=300, height=200, **options)
    last = options.get("layers", options.get("depth", 1)) - 1
    for mip in range(options.get("mips", 1)):
        for x, y in ((0, 0), (36, 16), (17, 23)):
            block = surface.layout.blk_w, surface.layout.blk_h
            expected = surface_address(surface.config, surface.layout, mip, x // block[0], y // block[1], last)
            assert surface.address(x, y, last, mip) == expected
            found = surface.coordinates([expected])[0]
            assert (found["x"], found["y"], found["slice"], found["mip_id"]) == (x // block[0], y // block[1], last, mip)


def test_arrays_of_pixels():
    surface = Surface("RX 7900 XTX", format="rgba8", width=64, height=32)
    picture = np.random.default_rng(0).integers(0, 256, (32, 64, 4), np.uint8)
    tiled = surface.tile(picture)
    address = surface.address(5, 7)
    assert tiled[address : address + 4].tobytes() == picture[7, 5].tobytes()
    np.testing.assert_array_equal(surface.detile(tiled), picture)
    grid = surface.address(np.arange(64), np.arange(32)[:, None])
    assert grid.shape == (32, 64)
    assert len(np.unique(grid)) == grid.size


def test_refusals():
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
    with pytest.raises(UnsupportedError, match="12 bytes"):
        Surface("navi21", format="R32G32B32_FLOAT", width=64, height=64, linear=True, mips=2).level_shape()


def test_every_short_name_on_every_chip():
    for config in gpu_configs():
        for name in SHORT_NAMES:
            linear = pixel_format(name).bits == 96
            surface = Surface(config, format=name, width=100, height=60, linear=linear)
            assert surface.total_size >= surface.size > 0
            assert bool(surface.layout.flags & SurfaceUse.ZBUFFER) == pixel_format(name).has_depth
            assert not linear or surface.request.mode == SurfaceMode.LINEAR_ALIGNED
            assert surface.tiled.size <= surface.size
