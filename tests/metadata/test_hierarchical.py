"""HiZ and HiS of GFX12: what drivers write, and what they say of texels, judged by the texels themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco.addrlib import Surface, SurfaceUse
from pyaco.addrlib.driver.metadata_addresses import hierarchical_surface
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import hierarchical
from pyaco.metadata.depths import decode_depth, encode_depth
from pyaco.metadata.memory import bytes_of, part_of, raw_texels, write_raw_texels

CHIPS = ("gfx1200", "gfx1201")
FORMATS = ("Z16_UNORM", "Z32_FLOAT", "Z32_FLOAT_S8X24_UINT", "Z24_UNORM_S8_UINT", "S8_UINT")
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"layers": 3}, {"mips": 9, "layers": 2}, {"samples": 4}, {"samples": 8})


def made(chip: str, format: str, **options: Any) -> tuple[Surface, NDArray[np.uint8], list[str]]:
    """A surface of 500 by 300 with anything in its memory, and which of HiZ and HiS it has."""
    surface = Surface(chip, format=format, width=500, height=300, **options)
    memory = np.random.default_rng(len(format)).integers(0, 256, surface.total_size, np.uint8)
    layout: Any = surface.layout
    return surface, memory, [kind for kind in ("hiz", "his") if getattr(layout, kind).size]


def written(surface: Surface, memory: NDArray[np.uint8], random: np.random.Generator) -> None:
    """Put depths from 0 to 1, some of them at the ends or alike in a tile, and stencil values with common bits, into all levels."""
    for mip in range(surface.request.levels):
        shape = surface.tiled.level_shape(mip)
        if surface.format.has_depth:
            base = np.repeat(np.repeat(random.random((shape[0], -(-shape[1] // 8), -(-shape[2] // 8))), 8, 1), 8, 2)[:, : shape[1], : shape[2]]
            depths = np.clip(base * 1.2 - 0.1 + random.choice([0, 1e-3, 0.1], shape) * random.random(shape), 0, 1)
            write_raw_texels(surface, memory, encode_depth(surface.format, depths), mip)
        if surface.format.has_stencil:
            stencil = (random.integers(0, 256, shape) & 0x6E | 0x24).astype(np.uint8)
            write_raw_texels(surface, memory, stencil[..., None], mip, surface.format.has_depth)


def test_values_that_drivers_write() -> None:
    """PAL's GetHiZInitialValue, GetHiZClearValue and their like."""
    assert (hierarchical.HIZ_UNKNOWN, hierarchical.HIS_UNKNOWN) == (0xFFFF0000, 0xFF00)
    assert [hierarchical.depth_word(depth) for depth in (0.0, 1.0, 0.25, 1 / 65535, 0.49 / 65535)] == [0, 0xFFFFFFFF, 0x40004000, 0x00010001, 0]
    assert [hierarchical.stencil_word(value) for value in (0, 7, 255)] == [0, 0x0707, 0xFFFF]
    for bad in (-0.1, 1.5, float("nan")):
        with pytest.raises(InputError, match="0 to 1"):
            hierarchical.depth_word(bad)
    with pytest.raises(InputError, match="0 to 255"):
        hierarchical.stencil_word(256)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_elements_have_their_own_places(chip: str, format: str, options: dict[str, Any]) -> None:
    surface, memory, kinds = made(chip, format, **options)
    assert kinds == [kind for kind, has in (("hiz", surface.format.has_depth), ("his", surface.format.has_stencil)) if has]
    random, before, given = np.random.default_rng(3), memory.copy(), {}
    for kind in kinds:
        tiled = hierarchical_surface(surface.config, surface.layout, kind)
        assert tiled.size == getattr(surface.layout, kind).size
        for mip in range(surface.request.levels):
            shape, most = tiled.level_shape(mip), 1 << (16 if kind == "hiz" else 8)
            given[kind, mip] = hierarchical.Tiles(random.integers(0, most, shape), random.integers(0, most, shape))
            hierarchical.write_tiles(surface, memory, given[kind, mip], kind, mip)
    for (kind, mip), tiles in given.items():
        found = hierarchical.read_tiles(surface, memory, kind, mip)
        np.testing.assert_array_equal(found.low, tiles.low)
        np.testing.assert_array_equal(found.high, tiles.high)
    first = min(getattr(surface.layout, kind).offset for kind in kinds)
    assert (memory[:first] == before[:first]).all()
    hierarchical.initialize(surface, memory)
    for kind, mip in given:
        found = hierarchical.read_tiles(surface, memory, kind, mip)
        assert not found.low.any() and (found.high == (0xFFFF if kind == "hiz" else 0xFF)).all()
    assert (part_of(surface, memory, kinds[0])[:2] == (0, 0 if kinds[0] == "hiz" else 255)).all()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_a_summary_is_the_least_that_leaves_nothing_out(format: str, options: dict[str, Any]) -> None:
    surface, memory, kinds = made("gfx1201", format, **options)
    written(surface, memory, np.random.default_rng(4))
    texels_before = memory[: min(getattr(surface.layout, kind).offset for kind in kinds)].copy()
    hierarchical.resummarize(surface, memory)
    assert (memory[: texels_before.size] == texels_before).all()
    for mip in range(surface.request.levels):
        _, height, width = surface.tiled.level_shape(mip)
        for kind in kinds:
            tiles = hierarchical.read_tiles(surface, memory, kind, mip)
            texels = raw_texels(surface, memory, mip, kind == "his" and surface.format.has_depth)
            for layer, y, x in [(layer, y, x) for layer in range(len(texels)) for y in range(0, height, 40) for x in range(0, width, 24)]:
                if y // 8 >= tiles.low.shape[1] or x // 8 >= tiles.low.shape[2]:
                    continue
                inside = texels[layer, y : y + 8, x : x + 8].reshape(-1, texels.shape[-1])
                low, high = (int(values[layer, y // 8, x // 8]) for values in tiles)
                if kind == "his":
                    assert (low, high) == (int(np.bitwise_and.reduce(inside[:, 0])), int(np.bitwise_or.reduce(inside[:, 0])))
                    continue
                exact = [fraction(format, texel) * 0xFFFF for texel in inside]
                assert low <= min(exact) < low + 1 and high - 1 < max(exact) <= high, (mip, layer, y, x)
            assert not hierarchical.contradictions(surface, memory, kind, mip).any()


def fraction(format: str, texel: NDArray[np.uint8]) -> Fraction:
    """The depth that the bytes of a texel mean."""
    if "FLOAT" in format:
        return Fraction(float(texel.view(np.float32)[0]))
    bits = 16 if format.startswith("Z16") else 24
    return Fraction(int.from_bytes(texel.tobytes(), "little") & ((1 << bits) - 1), (1 << bits) - 1)


def test_clears_are_said_of_what_was_cleared() -> None:
    surface, memory, _ = made("gfx1200", "Z32_FLOAT_S8X24_UINT", mips=4, layers=3)
    written(surface, memory, np.random.default_rng(5))
    hierarchical.resummarize(surface, memory)
    held = {(kind, mip): hierarchical.read_tiles(surface, memory, kind, mip) for kind in ("hiz", "his") for mip in range(4)}
    texels = raw_texels(surface, memory, 1)
    texels[2] = encode_depth(surface.format, np.array(0.3))
    write_raw_texels(surface, memory, texels, 1)
    wrong = hierarchical.contradictions(surface, memory, "hiz", 1)
    assert wrong[2].mean() > 0.8 and not wrong[:2].any()
    hierarchical.clear(surface, memory, depth=0.3, mips=1, layers=2)
    assert not hierarchical.contradictions(surface, memory, "hiz", 1).any()
    found = hierarchical.read_tiles(surface, memory, "hiz", 1)
    # the single next to 0.3 is above it, and 0.3 between two fractions
    assert (found.low[2] == 19661).all() and (found.high[2] == 19661).all()
    for (kind, mip), tiles in held.items():
        now = hierarchical.read_tiles(surface, memory, kind, mip)
        layers = slice(2) if (kind, mip) == ("hiz", 1) else slice(None)
        np.testing.assert_array_equal(now.low[layers], tiles.low[layers])
    hierarchical.clear(surface, memory, stencil=0x24, mips=[0, 3])
    assert hierarchical.contradictions(surface, memory, "his", 0).mean() > 0.9           # the texels were not cleared
    hierarchical.expand(surface, memory, mips=0)
    assert not hierarchical.contradictions(surface, memory, "his", 0).any()
    assert (hierarchical.read_tiles(surface, memory, "his", 3).low == 0x24).all()


def test_one_depth_that_is_not_in_the_range_is_found() -> None:
    surface, memory, _ = made("gfx1201", "Z16_UNORM")
    written(surface, memory, np.random.default_rng(6))
    hierarchical.resummarize(surface, memory)
    texels = raw_texels(surface, memory)
    depths = decode_depth(surface.format, texels)
    depths[0, 83, 46] = 1.0
    write_raw_texels(surface, memory, encode_depth(surface.format, depths))
    assert np.argwhere(hierarchical.contradictions(surface, memory)).tolist() == [[0, 10, 5]]
    hierarchical.resummarize(surface, memory)
    assert not hierarchical.contradictions(surface, memory).any() and hierarchical.read_tiles(surface, memory).high[0, 10, 5] == 0xFFFF


def test_several_samples_are_cleared_and_not_summarized() -> None:
    surface, memory, _ = made("gfx1201", "Z32_FLOAT_S8X24_UINT", samples=4)
    hierarchical.clear(surface, memory, depth=1.0, stencil=9)
    assert hierarchical.read_tiles(surface, memory).low.shape == (1, 38, 64, 4) and (hierarchical.read_tiles(surface, memory).low == 0xFFFF).all()
    assert (hierarchical.read_tiles(surface, memory, "his").high == 9).all()
    before = memory.copy()
    for function in (hierarchical.resummarize, hierarchical.contradictions):
        with pytest.raises(UnsupportedError, match="4 samples"):
            function(surface, memory)
    assert (memory == before).all()


def test_what_is_refused() -> None:
    older = Surface("navi21", format="Z32_FLOAT", width=64, height=64)
    for function in (hierarchical.initialize, hierarchical.resummarize, hierarchical.read_tiles):
        with pytest.raises(UnsupportedError, match="HiZ on navi21"):
            function(older, np.zeros(older.total_size, np.uint8))
    for surface in (Surface("gfx1201", format="R8G8B8A8_UNORM", width=64, height=64),
                    Surface("gfx1201", format="Z32_FLOAT", width=64, height=64, use=SurfaceUse.NO_HTILE)):
        with pytest.raises(InputError, match="without HiZ"):
            hierarchical.initialize(surface, np.zeros(surface.total_size, np.uint8))
    volume = Surface("gfx1201", format="Z32_FLOAT", width=64, height=64, depth=6, mips=3)
    with pytest.raises(UnsupportedError, match="HiZ of a 3D surface"):
        hierarchical.resummarize(volume, np.zeros(volume.total_size, np.uint8))
    surface, memory, _ = made("gfx1201", "Z16_UNORM", layers=2)
    before = bytes_of(surface, memory).copy()
    cases: tuple[tuple[Any, str], ...] = (
        (lambda: hierarchical.clear(surface, memory, stencil=1), "without HiS"),
        (lambda: hierarchical.clear(surface, memory, depth=2.0), "0 to 1"),
        (lambda: hierarchical.clear(surface, memory, depth=1.0, layers=2), "layer 2"),
        (lambda: hierarchical.expand(surface, memory, mips=1), "level 1"),
        (lambda: hierarchical.read_tiles(surface, memory, "hit"), "no kind"), (lambda: hierarchical.read_tiles(surface, memory, mip=1), "level 1"),
        (lambda: hierarchical.write_tiles(surface, memory, hierarchical.Tiles(np.array(0), np.array(1 << 16))), "high of hiz"),
        (lambda: hierarchical.write_tiles(surface, memory, hierarchical.Tiles(np.zeros((2, 3), int), np.array(1))), "shape"),
        (lambda: hierarchical.expand(surface, memory[:-1]), "the memory"))
    for call, words in cases:
        with pytest.raises(InputError, match=words):
            call()
    assert (memory == before).all()
