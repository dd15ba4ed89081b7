"""DCC in memory: fast clears eliminated are plain clears, of every format, chip, level and layer that drivers fast-clear."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_dcc_codes import formats

from pyaco.addrlib import Surface, SurfaceUse, gpu_config, gpu_configs
from pyaco.addrlib.driver.metadata_addresses import metadata_addresses, metadata_levels
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import pixel_format
from pyaco.metadata import cmask, dcc
from pyaco.metadata.colors import decode_texels, pack_color
from pyaco.metadata.dcc_codes import REGISTER, UNCOMPRESSED, clear_code, single_code
from pyaco.metadata.memory import raw_texels

CHIPS = ("tonga", "polaris10", "fiji", "stoney", "vega10", "raven", "navi10", "navi14", "navi21", "navi24", "navi31", "navi33")
# Forced modes of GFX10 and later: 64KB_R_X, 256KB_R_X.
SHAPES: tuple[dict[str, Any], ...] = ({}, {"layers": 3}, {"mips": 5}, {"mips": 4, "layers": 2}, {"swizzle_mode": 27}, {"swizzle_mode": 31})


def made(chip: str, width: int = 500, height: int = 300, **options: Any) -> tuple[Surface, NDArray[np.uint8]]:
    """A surface with random texels, and DCC that says so."""
    surface = Surface(chip, width=width, height=height, **options)
    random = np.random.default_rng(width)
    memory = random.integers(0, 256, surface.total_size, np.uint8)
    dcc.initialize(surface, memory)
    return surface, memory


def possible(chip: str) -> list[dict[str, Any]]:
    """The shapes that a chip can be asked for: modes from GFX10 on, blocks of 256 KiB on GFX11."""
    level = gpu_config(chip).level
    least = {27: 100, 31: 110}
    return [options for options in SHAPES if level >= least.get(options.get("swizzle_mode", 0), 0)]


def lacks_dcc(chip: str, format: str = "R8G8B8A8_UNORM", **options: Any) -> bool:
    """Whether drivers give such a surface no DCC, and functions say so: levels of arrays on GFX8, levels of smaller texels on Vega 10."""
    several = options.get("mips", 1) > 1
    none = several and ((gpu_config(chip).level < 90 and options.get("layers", 1) > 1) or (chip == "vega10" and format != "R32G32B32A32_FLOAT"))
    if none:
        with pytest.raises(InputError, match="without DCC"):
            made(chip, format=format, **options)
    return none


def colors_of(name: str) -> list[tuple[float, ...]]:
    form = pixel_format(name)
    channel = form.first_channel
    if channel is not None and channel.integer:
        most = min((1 << c.size - (c.type == "signed")) - 1 for c in form.channels if c.type != "void")
        return [(0, 0, 0, 0), (0, 0, 0, most), (most, most, most, most), (1, 1, 1, 0)]
    return [(0, 0, 0, 0), (0, 0, 0, 1), (1, 1, 1, 1), (1, 1, 1, 0), (0.5, 0.5, 0.5, 0.25)]


def assert_cleared(surface: Surface, memory: NDArray[np.uint8], color: tuple[float, ...], mip: int = 0) -> None:
    name = surface.format.name
    texels = raw_texels(surface, memory, mip)
    assert (texels == texels[0, 0, 0]).all(), (surface, color, mip)
    assert (decode_texels(name, texels[0, 0, 0]) == decode_texels(name, pack_color(name, color))).all(), (surface, color, mip)


@pytest.mark.parametrize("chip", ("tonga", "vega10", "navi10", "navi21", "navi31"))
def test_every_format_that_is_fast_cleared(chip: str) -> None:
    done = 0
    for name in formats(Surface(chip, width=1).config.level):
        surface = Surface(chip, format=name, width=256, height=256)
        for color in colors_of(name) if surface.layout.meta_size else ():
            memory = np.random.default_rng(1).integers(0, 256, surface.total_size, np.uint8)
            dcc.initialize(surface, memory)
            before = memory.copy()
            try:
                code = dcc.fast_clear(surface, memory, color)
            except UnsupportedError:
                assert surface.config.level >= 110 or pixel_format(name).bits == 128
                assert (memory == before).all()
                continue
            if code.needs_elimination:
                with pytest.raises(InputError, match="register"):
                    dcc.eliminate(surface, memory)
            count = dcc.eliminate(surface, memory, color if code.needs_elimination else None)
            assert count == len(dcc.blocks(surface).texels) and (dcc.read_codes(surface, memory) == UNCOMPRESSED).all()
            assert_cleared(surface, memory, color)
            done += 1
    assert done >= 100, done


@pytest.mark.parametrize(("chip", "options"), [(chip, options) for chip in CHIPS for options in possible(chip)], ids=str)
def test_every_level_and_layer(chip: str, options: dict[str, Any]) -> None:
    for name in ("R8G8B8A8_UNORM", "R16G16B16A16_FLOAT", "R32G32B32A32_FLOAT"):
        if lacks_dcc(chip, name, **options):
            continue
        surface, memory = made(chip, format=name, **options)
        levels = list(range(metadata_levels(surface.layout, "dcc")))
        color = (0.5, 0.5, 0.5, 1.0)
        mips = None if len(levels) == surface.request.levels else levels
        try:
            code = dcc.fast_clear(surface, memory, color, mips=mips)
        except UnsupportedError as error:
            assert "shares memory" in str(error) and surface.config.level < 90
            continue
        texels = [raw_texels(surface, memory, mip) for mip in range(surface.request.levels)]
        dcc.decompress(surface, memory, color)
        for mip in range(surface.request.levels):
            if mip in levels:
                assert_cleared(surface, memory, color, mip)
            else:
                np.testing.assert_array_equal(raw_texels(surface, memory, mip), texels[mip])
        assert code.code in (REGISTER, single_code(surface.config))


@pytest.mark.parametrize("chip", CHIPS)
def test_one_level_or_layer_alone(chip: str) -> None:
    cases: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"layers": 3}, {"layers": 1}), ({"mips": 3}, {"mips": 1}), ({"mips": 3, "layers": 2}, {"mips": 0, "layers": [1]}))
    for options, what in cases:
        if lacks_dcc(chip, **options):
            continue
        surface, memory = made(chip, **options)
        before = [raw_texels(surface, memory, mip) for mip in range(surface.request.levels)]
        try:
            dcc.fast_clear(surface, memory, (1, 1, 1, 1), **what)
        except UnsupportedError as error:
            assert surface.config.level < 90 or "have DCC" in str(error)
            continue
        assert dcc.eliminate(surface, memory) == len(dcc.blocks(surface, what.get("mips", 0), what.get("layers")).texels)
        for mip, texels in enumerate(before):
            after = raw_texels(surface, memory, mip)
            cleared = [mip == what.get("mips", 0) and layer in np.atleast_1d(what.get("layers", range(3))) for layer in range(len(texels))]
            for layer, is_cleared in enumerate(cleared):
                assert (after[layer] == 255).all() if is_cleared else (after[layer] == texels[layer]).all()


@pytest.mark.parametrize("chip", CHIPS)
def test_blocks_are_all_texels_and_codes_are_theirs_alone(chip: str) -> None:
    names = ("R8_UNORM", "R8G8_UNORM", "R8G8B8A8_UNORM", "R32G32_FLOAT", "R32G32B32A32_FLOAT")
    for name, options in product(names, ({}, {"layers": 2}, {"mips": 5})):
        surface = Surface(chip, format=name, width=500, height=300, **options)
        if not surface.layout.meta_size:
            continue
        taken: list[NDArray[np.int64]] = []
        for mip in range(metadata_levels(surface.layout, "dcc")):
            found = dcc.blocks(surface, mip)
            slices, height, width = surface.level_shape(mip)
            z, y, x = np.ogrid[:slices, :height, :width]
            texels = np.asarray(surface.tiled.addresses(x, y, z, 0, mip)) // 256 * 256
            np.testing.assert_array_equal(np.unique(texels), found.texels)
            taken.append(found.codes)
        codes = np.concatenate(taken)
        assert len(np.unique(codes)) == len(codes)
        first, size = surface.layout.meta_offset, surface.layout.meta_size
        assert (codes.min() >= first and codes.max() < first + size)


@pytest.mark.parametrize("chip", [config.name for config in gpu_configs() if 90 <= config.level < 120])
def test_metadata_is_in_the_channel_of_its_texels(chip: str) -> None:
    """What pipe-aligned metadata is for; also evidence that levels, in the tail and outside of it, have the addresses that we give them."""
    cases = [(name, options) for name, options in product(
        ("R8_UNORM", "R8G8B8A8_UNORM", "R32G32B32A32_FLOAT"), ({}, {"mips": 7}, {"mips": 4, "layers": 3}))
        if gpu_config(chip).level == 90 or name != "R8_UNORM"]
    if gpu_config(chip).level == 90:
        cases += [(name, options) for name, options in product(("Z32_FLOAT", "Z16_UNORM"), ({}, {"mips": 10}, {"mips": 10, "layers": 3}))]
    for name, options in cases:
        surface = Surface(chip, format=name, width=700, height=500, **options)
        config, kind = surface.config, "dcc" if name.startswith("R") else "htile"
        channels = (1 << channel_bits(surface)) - 1
        for mip in range(metadata_levels(surface.layout, kind)):
            if kind == "dcc":
                found = dcc.blocks(surface, mip)
                texels, held = found.texels, found.codes
            else:
                slices, height, width = surface.level_shape(mip)
                z, y, x = np.mgrid[:slices, :height:8, :width:8]
                texels = np.asarray(surface.tiled.addresses(x, y, z, 0, mip))
                held = metadata_addresses(config, surface.layout, kind, x, y, z, mip=mip) >> 1
            of_texels, of_metadata = ((places >> config.pipe_interleave_log2) & channels
                                      for places in (texels, held - surface.layout.meta_offset))
            np.testing.assert_array_equal(of_texels, of_metadata, err_msg=f"{name} {options} level {mip}")


def channel_bits(surface: Surface) -> int:
    """Bits of an address that choose the channel; on GFX9 that depends on the swizzle mode."""
    layout: Any = surface.layout
    return surface.config.pipes_log2 if surface.config.level >= 100 else (layout.dcc_metadata or layout.htile).pipe_bits


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("samples", [2, 4, 8])
def test_several_samples(chip: str, samples: int) -> None:
    surface, memory = made(chip, samples=samples)
    if surface.layout.cmask_size:
        cmask.initialize(surface, memory)
        assert cmask.fast_clear(surface, memory) == cmask.CLEARED_BY_DCC
    color = (0.5, 0.25, 0, 1)
    dcc.fast_clear(surface, memory, color)
    dcc.decompress(surface, memory, color)
    if surface.layout.fmask_size:
        cmask.decompress_fmask(surface, memory)
    texels = raw_texels(surface, memory)
    # GFX8 clears the samples that a split keeps together, the first of which all point to.
    assert (texels[:, :, :, 0] == pack_color("R8G8B8A8_UNORM", color)).all()
    assert surface.config.level < 90 or (texels == pack_color("R8G8B8A8_UNORM", color)).all()


def test_parts_of_dcc_whose_addresses_are_not_public() -> None:
    surface, memory = made("navi21", samples=4)
    dcc.fast_clear(surface, memory, (1, 1, 1, 1))
    memory[surface.layout.meta_offset + 5] = UNCOMPRESSED
    before = memory.copy()
    with pytest.raises(UnsupportedError, match="addresses in DCC"):
        dcc.eliminate(surface, memory)
    assert (memory == before).all()


def test_codes_of_compressed_texels_are_named() -> None:
    surface, memory = made("navi21")
    dcc.fast_clear(surface, memory, (1, 1, 1, 1))
    found = dcc.blocks(surface)
    memory[found.codes[7]] = 0x53
    before = memory.copy()
    with pytest.raises(UnsupportedError, match=f"DCC code 0x53 on navi21, in the block at byte {found.texels[7]}"):
        dcc.decompress(surface, memory)
    assert (memory == before).all()
    assert dcc.eliminate(surface, memory) == len(found.texels) - 1
    assert memory[found.codes[7]] == 0x53 and (memory[found.texels[7] :][:256] == before[found.texels[7] :][:256]).all()


def test_what_codes_mean_differs() -> None:
    """0x20 is the register up to GFX10.3 and nothing on GFX11, where 2 is ones."""
    for chip, code in (("navi21", 2), ("navi31", 0x20), ("navi31", 0x40), ("tonga", 0x10)):
        surface, memory = made(chip)
        memory[dcc.blocks(surface).codes] = code
        with pytest.raises(UnsupportedError, match=f"{code:#04x}"):
            dcc.decompress(surface, memory, (0, 0, 0, 0))


@pytest.mark.parametrize("chip", ("raven", "navi21", "navi24", "navi31", "navi33"))
def test_displayable_dcc_says_the_same(chip: str) -> None:
    surface = Surface(chip, width=1000, height=500, use=SurfaceUse.SCANOUT)
    assert surface.layout.display_dcc_offset
    memory = np.zeros(surface.total_size, np.uint8)
    dcc.initialize(surface, memory)
    layout: Any = surface.layout
    y, x = np.mgrid[0:500:layout.dcc_block_height, 0:1000:layout.dcc_block_width]
    codes = np.random.default_rng(3).integers(0, 256, x.shape, np.uint8)
    memory[layout.meta_offset + layout.dcc_metadata.address(x, y).astype(np.int64)] = codes
    dcc.retile(surface, memory)
    np.testing.assert_array_equal(memory[layout.display_dcc_offset + layout.display_dcc.address(x, y).astype(np.int64)], codes)
    with pytest.raises(InputError, match="DISPLAY DCC"):
        dcc.retile(*made("navi21"))


def test_what_is_refused() -> None:
    for chip, words in (("gfx1201", "GFX12"), ("bonaire", "without DCC")):
        surface = Surface(chip, width=300, height=300)
        memory = np.zeros(surface.total_size, np.uint8)
        for run in (dcc.fast_clear, dcc.decompress, dcc.eliminate):
            with pytest.raises((InputError, UnsupportedError), match=words):
                run(surface, memory, (0, 0, 0, 0))
    surface, memory = made("navi21", mips=9)
    with pytest.raises(UnsupportedError, match="have DCC"):
        dcc.fast_clear(surface, memory, (0, 0, 0, 0))
    with pytest.raises(InputError, match="level 9"):
        dcc.fast_clear(surface, memory, (0, 0, 0, 0), mips=9)
    with pytest.raises(InputError, match="layer 1"):
        dcc.fast_clear(surface, memory, (0, 0, 0, 0), mips=0, layers=1)
    with pytest.raises(InputError, match="memory"):
        dcc.fast_clear(surface, memory[:100], (0, 0, 0, 0), mips=0)
    assert clear_code(surface.config, "R8G8B8A8_UNORM", (0, 0, 0, 0)).code == 0
