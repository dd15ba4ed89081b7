"""HTILE: words of every kind, facts of drivers, and clears, ranges and expansion of depth and stencil in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyaco.addrlib import Surface, SurfaceUse
from pyaco.addrlib.driver.metadata_addresses import metadata_levels
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import htile
from pyaco.metadata.depths import decode_depth, encode_depth, pack_depth
from pyaco.metadata.memory import raw_texels, write_raw_texels

CHIPS = ("tahiti", "bonaire", "hawaii", "tonga", "polaris10", "fiji", "vega10", "raven", "navi10", "navi14", "navi21", "navi24", "navi31", "navi33")
# Smaller surfaces have no macro tiles there, and no HTILE.
WITH_LARGE_MACRO_TILES = ("tahiti", "hawaii")
FORMATS = ("Z16_UNORM", "Z32_FLOAT", "Z32_FLOAT_S8X24_UINT", "Z24_UNORM_S8_UINT", "Z16_UNORM_S8_UINT")


def made(chip: str, format: str = "Z32_FLOAT_S8X24_UINT", **options: Any) -> tuple[Surface, NDArray[np.uint8]]:
    """A surface with random depths and stencil, and HTILE that says nothing of them."""
    width, height = (700, 600) if chip in WITH_LARGE_MACRO_TILES else (500, 300)
    surface = Surface(chip, format=format, width=width, height=height, **options)
    assert surface.layout.meta_size
    memory = np.zeros(surface.total_size, np.uint8)
    random = np.random.default_rng(9)
    for mip in range(surface.request.levels):
        if surface.format.has_depth:
            depths = random.random(surface.tiled.level_shape(mip)).astype(np.float32)
            write_raw_texels(surface, memory, encode_depth(surface.format, depths), mip)
        if surface.format.has_stencil:
            write_raw_texels(surface, memory, random.integers(0, 256, (*surface.tiled.level_shape(mip), 1), np.uint8), mip, surface.format.has_depth)
    htile.initialize(surface, memory)
    return surface, memory


# Source: PAL's Htile::GetClearValue and GetInitialValue, RADV's radv_get_htile_fast_clear_value and radv_get_htile_initial_value.
@pytest.mark.parametrize(("stencil", "rates", "cleared", "initial"), [
    (False, False, {0.0: 0x0, 1.0: 0xFFFFFFF0, 0.5: 0x80020000 | 0x0}, 0xFFFC000F),
    (True, False, {0.0: 0xF0, 1.0: 0xFFFC00F0, 0.5: 0x800000F0}, 0xFFFFF3FF),
    (True, True, {0.0: 0x30, 1.0: 0xFFFC0030}, 0xFFFFF33F),
])
def test_words_of_clears(stencil: bool, rates: bool, cleared: dict[float, int], initial: int) -> None:
    for depth, word in cleared.items():
        assert htile.clear_word(depth, stencil=stencil, shading_rates=rates) == word
        tiles = htile.decode_words(word, stencil=stencil)
        assert tiles.zmask == htile.CLEARED and tiles.least == tiles.greatest == int(depth * 0x3FFF + 0.5)
    assert htile.initial_word(stencil=stencil, shading_rates=rates) == initial
    tiles = htile.decode_words(initial, stencil=stencil)
    assert [int(field) for field in tiles[:3]] == [htile.EXPANDED, 0, 0x3FFF]
    assert tiles.smem == (htile.STENCIL_EXPANDED if stencil else 0)


def test_masks_of_planes() -> None:
    """Source: PAL's Gfx9HtileDepthMask and Gfx9HtileStencilMask, RADV's radv_get_htile_mask."""
    masks = {(True, False): 0xFFFFFC0F, (False, True): 0x3F0, (True, True): 0xFFFFFFFF}
    for (depth, stencil), mask in masks.items():
        assert htile.plane_mask(depth=depth, stencil=stencil, tile_stencil=True) == mask
        assert htile.plane_mask(depth=depth, stencil=stencil, tile_stencil=True, shading_rates=True) == mask & ~0xCC0
    assert htile.plane_mask(depth=True, stencil=False, tile_stencil=False) == 0xFFFFFFFF


def test_every_field_of_words_of_depth_alone() -> None:
    for low, high in ((0, 0x3FFF), (0x2AAA, 0x3555)):
        words = np.arange(low, high + 1, dtype=np.uint64)
        given_words = words << np.uint64(4) | np.uint64(0x3FFF << 18) | np.arange(len(words), dtype=np.uint64) % np.uint64(16)
        tiles = htile.decode_words(given_words, stencil=False)
        np.testing.assert_array_equal(htile.encode_words(tiles, stencil=False), given_words)


@pytest.mark.parametrize("greatest", [True, False])
def test_every_field_of_words_with_stencil(greatest: bool) -> None:
    """All bits below the base; distances that fit, and any distance from the end of the range."""
    low = np.arange(1 << 18, dtype=np.int64)
    distance = low >> 12 & 63
    public = low[(distance < 16) | (distance == 63)]
    base = np.where(public >> 12 & 63 == 63, 0x3FFF if greatest else 0, 0x1234)
    words = public | base << 18
    tiles = htile.decode_words(words, stencil=True, base_is_greatest=greatest)
    np.testing.assert_array_equal(htile.encode_words(tiles, stencil=True, base_is_greatest=greatest), words)
    for code in range(16, 63):
        with pytest.raises(UnsupportedError, match=f"distance code {code}"):
            htile.decode_words(code << 12, stencil=True)
        assert htile.decode_words(code << 12, stencil=False).least == code << 8


@given(st.integers(0, 0x3FFF), st.integers(0, 0x3FFF), st.integers(0, 15), st.integers(0, 3), st.booleans())
def test_ranges_are_never_smaller(one: int, other: int, zmask: int, smem: int, greatest: bool) -> None:
    tiles = htile.Tiles(*(np.int64(value) for value in (zmask, min(one, other), max(one, other), smem, 1, 2, 0)))  # type: ignore[arg-type]
    found = htile.decode_words(htile.encode_words(tiles, stencil=True, base_is_greatest=greatest), stencil=True, base_is_greatest=greatest)
    assert found.least <= tiles.least and found.greatest >= tiles.greatest
    assert [int(field) for field in (found.zmask, found.smem, found.sr0, found.sr1)] == [zmask, smem, 1, 2]
    if abs(one - other) < 16:
        assert [int(field) for field in found[1:3]] == [int(field) for field in tiles[1:3]]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("options", [{}, {"samples": 4}, {"mips": 4}, {"layers": 3}, {"use": SurfaceUse.TC_COMPATIBLE_HTILE}], ids=str)
def test_words_have_their_own_places(chip: str, options: dict[str, Any]) -> None:
    for format in FORMATS:
        surface = Surface(chip, format=format, width=500, height=300, **options)
        if not surface.layout.meta_size:
            continue
        memory = np.zeros(surface.total_size, np.uint8)
        given_words = []
        for mip in range(metadata_levels(surface.layout, "htile")):
            shape = surface.tiled.level_shape(mip)
            tiles = (shape[0], -(-shape[1] // 8), -(-shape[2] // 8))
            given_words.append(np.random.default_rng(mip).integers(0, 1 << 32, tiles, np.uint32))
            try:
                htile.write_words(surface, memory, given_words[-1], mip)
            except UnsupportedError as error:
                assert "addresses in" in str(error)
                given_words = []
                break
        for mip, words in enumerate(given_words):
            np.testing.assert_array_equal(htile.read_words(surface, memory, mip), words)
        first, size = surface.layout.meta_offset, surface.layout.meta_size
        assert not memory[:first].any() and not memory[first + size :].any()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("options", [{}, {"samples": 4}, {"mips": 3}, {"layers": 2}, {"use": SurfaceUse.TC_COMPATIBLE_HTILE}], ids=str)
def test_a_fast_clear_expanded_is_a_plain_clear(chip: str, format: str, options: dict[str, Any]) -> None:
    surface, memory = made(chip, format, **options)
    levels = list(range(metadata_levels(surface.layout, "htile")))
    whole = len(levels) == surface.request.levels
    readable = bool(surface.layout.flags & SurfaceUse.TC_COMPATIBLE_HTILE)
    depth, stencil = (1.0, 0) if readable else (0.3, 77)
    both = surface.format.has_stencil
    before = [(raw_texels(surface, memory, mip), raw_texels(surface, memory, mip, True) if both else None) for mip in levels]
    try:
        htile.fast_clear(surface, memory, depth=depth, mips=None if whole else levels)
        with pytest.raises(InputError, match="their depth"):
            htile.expand(surface, memory)
        count = htile.expand(surface, memory, depth=depth)
    except UnsupportedError as error:
        assert "addresses in" in str(error)
        return
    for mip, (_, ink) in zip(levels, before, strict=True):
        assert (raw_texels(surface, memory, mip) == pack_depth(surface.format, depth)).all()
        assert ink is None or (raw_texels(surface, memory, mip, True) == ink).all()
    shapes = [surface.tiled.level_shape(mip) for mip in levels]
    assert count == sum(shape[0] * -(-shape[1] // 8) * -(-shape[2] // 8) for shape in shapes)
    assert htile.expand(surface, memory) == 0
    if both:
        htile.fast_clear(surface, memory, stencil=stencil, mips=None if whole else levels)
        assert htile.expand(surface, memory, stencil=stencil) == count
        assert all((raw_texels(surface, memory, mip, True) == stencil).all() for mip in levels)
        assert all((raw_texels(surface, memory, mip) == pack_depth(surface.format, depth)).all() for mip in levels)


def test_depth_and_stencil_share_words_and_not_bits() -> None:
    surface, memory = made("navi21")
    mask = htile.fast_clear(surface, memory, depth=1.0)
    assert (htile.read_words(surface, memory) == (0xFFFFF3FF & ~mask | 0xFFFC00F0 & mask)).all()
    htile.fast_clear(surface, memory, stencil=5)
    assert (htile.read_words(surface, memory) == 0xFFFC00F0).all()
    layer, memory = made("navi21", layers=3)
    htile.fast_clear(layer, memory, depth=0.25, stencil=5, layers=[1])
    assert htile.expand(layer, memory, depth=0.25, stencil=5) == 38 * 63
    assert (decode_depth(layer.format, raw_texels(layer, memory))[1] == 0.25).all()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_ranges_contain_their_depths(data: st.DataObject) -> None:
    chip = data.draw(st.sampled_from(("bonaire", "polaris10", "vega10", "navi10", "navi21", "navi31")))
    format = data.draw(st.sampled_from(("Z16_UNORM", "Z32_FLOAT", "Z32_FLOAT_S8X24_UINT")))
    surface = Surface(chip, format=format, width=500, height=300, samples=data.draw(st.sampled_from((1, 4))))
    if not surface.layout.meta_size:
        return
    memory = np.zeros(surface.total_size, np.uint8)
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    spread = data.draw(st.sampled_from((0.0, 1e-4, 1e-3, 1.0)))
    depths = np.clip(random.random() * 0.999 + spread * random.random(surface.tiled.level_shape()), 0, 1).astype(np.float32)
    write_raw_texels(surface, memory, encode_depth(surface.format, depths))
    htile.initialize(surface, memory)
    htile.resummarize(surface, memory)
    stored = decode_depth(surface.format, raw_texels(surface, memory)).astype(np.float64)
    stored = stored.reshape(*stored.shape[:3], -1)
    found = htile.ranges(surface, memory).repeat(8, 1).repeat(8, 2)[:, :300, :500].astype(np.float64)
    assert (found[..., :1] <= stored + 1e-7).all() and (found[..., 1:] >= stored - 1e-7).all()
    if spread == 0:
        assert (found[..., 1] - found[..., 0] <= 1.01 / 0x3FFF).all()
    words = htile.read_words(surface, memory)
    assert (words & 15 == htile.EXPANDED).all()
    htile.resummarize(surface, memory, exact=False)
    assert (htile.read_words(surface, memory) == htile.initial_word(stencil=htile.has_tile_stencil(surface))).all()


def test_compressed_tiles_are_named() -> None:
    surface, memory = made("navi21")
    words = htile.read_words(surface, memory)
    for word, name in ((0xFFFFF3F4, "ZMASK 0x4"), (0xFFFFF1FF, "SMEM 0x1")):
        words[0, 5, 6] = word
        htile.write_words(surface, memory, words)
        before = memory.copy()
        with pytest.raises(UnsupportedError, match=f"{name} of a compressed tile"):
            htile.expand(surface, memory, depth=0.0, stencil=0)
        assert (memory == before).all()
    words[0, 5, 6] = 0xFFFC00F0
    htile.write_words(surface, memory, words)
    with pytest.raises(UnsupportedError, match="not stored plainly"):
        htile.resummarize(surface, memory)


def test_what_is_refused() -> None:
    surface, memory = made("polaris10", "Z32_FLOAT", use=SurfaceUse.TC_COMPATIBLE_HTILE)
    assert htile.has_tile_stencil(surface)
    with pytest.raises(UnsupportedError, match="depth 0 or 1"):
        htile.fast_clear(surface, memory, depth=0.5)
    with pytest.raises(InputError, match="stencil"):
        htile.fast_clear(surface, memory, stencil=1)
    with pytest.raises(InputError):
        htile.fast_clear(surface, memory)
    with pytest.raises(InputError, match="from 0 to 1"):
        htile.clear_word(1.5, stencil=True)
    late = Surface("gfx1201", format="Z32_FLOAT", width=500, height=300)
    with pytest.raises(UnsupportedError, match="HTILE on gfx1201"):
        htile.read_words(late, np.zeros(late.total_size, np.uint8))
    bare = Surface("navi21", format="Z32_FLOAT", width=500, height=300, use=SurfaceUse.NO_HTILE)
    with pytest.raises(InputError, match="without HTILE"):
        htile.initialize(bare, np.zeros(bare.total_size, np.uint8))
    for bad in (htile.Tiles(16, 0, 0, 0, 0, 0, 0), htile.Tiles(0, 5, 4, 0, 0, 0, 0), htile.Tiles(0, 0, 0x4000, 0, 0, 0, 0)):  # type: ignore[arg-type]
        with pytest.raises(InputError):
            htile.encode_words(bad, stencil=True)
    with pytest.raises(InputError, match="no fields of stencil"):
        htile.encode_words(htile.Tiles(0, 0, 0, 3, 0, 0, 0), stencil=False)  # type: ignore[arg-type]


def test_all_levels_of_htile_are_cleared_without_addresses() -> None:
    """Of 512 x 512 and 4 levels Hawaii's HTILE is of level 0 alone, and smaller than its addresses need."""
    surface = Surface("hawaii", format="Z32_FLOAT", width=512, height=512, mips=4)
    assert metadata_levels(surface.layout, "htile") == 1
    memory = np.zeros(surface.total_size, np.uint8)
    htile.initialize(surface, memory)
    with pytest.raises(UnsupportedError, match="addresses in HTILE"):
        htile.read_words(surface, memory)
    htile.fast_clear(surface, memory, depth=1.0, mips=0)
    htile.expand(surface, memory, depth=1.0, mips=0)
    assert (decode_depth(surface.format, raw_texels(surface, memory)) == 1).all()
