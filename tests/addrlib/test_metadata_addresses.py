"""Addresses of metadata of drivers' surfaces: every element of FMASK, DCC, HTILE and CMASK, there and back."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from pyaco.addrlib import SurfaceRequest, compute_surface, gpu_config, gpu_configs
from pyaco.addrlib.driver.metadata_addresses import fmask_surface, metadata_addresses, metadata_levels, metadata_part
from pyaco.addrlib.driver.records import SurfaceUse
from pyaco.addrlib.v1.chip import chip_of
from pyaco.addrlib.v1.fmask import fmask_texture
from pyaco.addrlib.v1.masks import MaskAddresses
from pyaco.addrlib.v1.metadata import described_address, metadata_address, tc_compatible_address
from pyaco.addrlib.v1.queries import SurfaceAddresses
from pyaco.errors import InputError, UnsupportedError

OLD = [config for config in gpu_configs() if config.level < 90]
LATER = [config for config in gpu_configs() if 90 <= config.level < 120]
# Samples and stored samples.
COUNTS = ((2, 2), (4, 4), (8, 8), (4, 2), (8, 4), (8, 1), (16, 8), (16, 4))


@pytest.mark.parametrize("config", OLD, ids=lambda c: c.name)
@pytest.mark.parametrize(("samples", "fragments"), COUNTS)
def test_fmask_of_old_chips_there_and_back(config: Any, samples: int, fragments: int) -> None:
    """Every pixel, padding included: its word has an address of its own, inside of FMASK, and is found again by it."""
    surface: Any = compute_surface(config, SurfaceRequest(width=150, height=70, bpe=4, samples=samples, storage_samples=fragments, array_size=2))
    level = surface.levels[0]
    layout = fmask_texture(config, tile_mode=level.layout.tile_mode, pitch=level.pitch, height=70, num_slices=2, num_samples=samples,
                           num_frags=fragments)  # fmt: skip
    assert layout.pitch == surface.fmask_pitch and layout.surface_bytes == surface.fmask_size
    places = SurfaceAddresses(config, layout)
    z, y, x = (axis.ravel() for axis in np.mgrid[0:2, 0 : layout.height, 0 : layout.pitch])
    addresses = places.addresses(x, y, z)
    assert len(np.unique(addresses)) == len(addresses)
    assert addresses.min() == 0 and addresses.max() + layout.bits // 8 == layout.surface_bytes
    for within in {0, layout.bits // 8 - 1}:
        np.testing.assert_array_equal(places.coordinates_of(addresses + within), [x, y, z, np.zeros_like(x)])


@pytest.mark.parametrize("config", LATER, ids=lambda c: c.name)
def test_fmask_of_later_chips_there_and_back(config: Any) -> None:
    for samples, fragments in COUNTS if config.level < 110 else COUNTS[:3]:
        surface = compute_surface(config, SurfaceRequest(width=150, height=70, bpe=4, samples=samples, storage_samples=fragments, array_size=2))
        if not surface.fmask_size:
            assert config.level >= 110
            continue
        tiled = fmask_surface(config, surface)
        z, y, x = (axis.ravel() for axis in np.mgrid[0:2, 0:70, 0:150])
        addresses = tiled.addresses(x, y, z)
        assert len(np.unique(addresses)) == len(addresses) and addresses.max() + tiled.element_bytes <= surface.fmask_size
        found = tiled.coordinates(addresses + tiled.element_bytes - 1)
        assert not found["status"].any()
        for name, values in (("x", x), ("y", y), ("slice", z)):
            np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("config", [config for config in OLD if config.level == 80], ids=lambda c: c.name)
def test_metadata_in_the_banks_of_its_data_there_and_back(config: Any) -> None:
    """DCC, HTILE and CMASK of every block of a surface's memory: each has an address of its own, and is found again by it."""
    chip = chip_of(config)
    surface: Any = compute_surface(config, SurfaceRequest(width=512, height=512, bpe=4))
    info, size = surface.tile_info, surface.surf_size
    for bits, block, blocks in ((8, 256, 1), (8, 256, 2), (8, 256, 8), (32, 256, 1), (32, 128, 1), (4, 64, 1)):
        data = np.arange(0, size, block)
        addresses: Any = metadata_address(chip, info, data, bits, block, blocks)  # type: ignore[arg-type]
        assert len(np.unique(addresses)) == len(data) and (addresses % bits == 0).all()
        np.testing.assert_array_equal(described_address(chip, info, addresses, bits, block, blocks), data)
        last: Any = metadata_address(chip, info, data + block - 1, bits, block, blocks)  # type: ignore[arg-type]
        np.testing.assert_array_equal(last, addresses)
        single = [metadata_address(chip, info, int(place), bits, block, blocks) for place in data[:100]]
        assert single == addresses[:100].tolist()
    assert tc_compatible_address(chip, info, 12345, 32, 32) == metadata_address(chip, info, 12345, 32, 256, 1)


@pytest.mark.parametrize("blocks", [1, 2, 4, 8])
def test_the_bank_follows_the_blocks_of_a_tile(blocks: int) -> None:
    """DCC of GFX8: a micro tile's blocks lie side by side in one bank and pipe, and so do their bytes; the next bank's come after them."""
    config = gpu_config("polaris10")
    chip = chip_of(config)
    surface: Any = compute_surface(config, SurfaceRequest(width=512, height=512, bpe=4))
    pipes, banks = config.num_tile_pipes, surface.tile_info.banks
    for bank, number in product(range(banks), range(blocks)):
        # Blocks of 256 bytes: the pipe first, then the bank, then the number of the block in them.
        data = ((number * banks + bank) * pipes) * 256
        assert metadata_address(chip, surface.tile_info, data, 8, 256, blocks) // 8 == bank * blocks + number


@pytest.mark.parametrize("config", OLD, ids=lambda c: c.name)
@pytest.mark.parametrize("kind", ["cmask", "htile"])
def test_masks_there_and_back(config: Any, kind: str) -> None:
    """AddrComputeCmaskCoordFromAddr and AddrComputeHtileCoordFromAddr, for every tile and every bit of its element."""
    surface: Any = compute_surface(config, SurfaceRequest(width=700, height=500, bpe=4, array_size=2))
    assert surface.tile_info.banks
    level = surface.levels[0]
    masks = MaskAddresses(config, surface.tile_info, pitch=level.pitch, height=level.height, num_slices=2, is_cmask=kind == "cmask")
    z, y, x = np.mgrid[0:2, 0 : masks.layout.height : 8, 0 : masks.layout.pitch : 8]
    addresses = masks.addresses(x, y, z)
    assert len(np.unique(addresses)) == addresses.size
    for bit in range(masks.element_bits):
        np.testing.assert_array_equal(masks.coordinates(addresses + bit), np.stack([x, y, z]))


@pytest.mark.parametrize("config", LATER, ids=lambda c: c.name)
def test_addresses_of_one_level_are_the_library_s(config: Any) -> None:
    for request in (SurfaceRequest(width=500, height=300, bpe=4, array_size=2), SurfaceRequest(width=500, height=300, bpe=16),
                    SurfaceRequest(width=500, height=300, bpe=4, flags=SurfaceUse.ZBUFFER | SurfaceUse.SBUFFER, array_size=2),
                    SurfaceRequest(width=500, height=300, bpe=4, flags=SurfaceUse.ZBUFFER)):  # fmt: skip
        surface: Any = compute_surface(config, request)
        kind = "htile" if request.flags else "dcc"
        if not surface.meta_size:
            continue
        offset, _ = metadata_part(config, surface, kind)
        info = surface.htile if request.flags else surface.dcc_metadata
        layer, y, x = np.ogrid[: request.layers, :300:4, :500:4]
        found = metadata_addresses(config, surface, kind, x, y, layer)
        np.testing.assert_array_equal(found - 2 * offset, info.layout(element_bits=32 if request.flags else None).nibbles(x, y, layer))


@pytest.mark.parametrize("chip", ["vega10", "vega20", "raven2", "navi10", "navi14", "navi21", "navi24", "navi31", "navi33", "gfx1150"])
def test_levels_share_nothing(chip: str) -> None:
    config = gpu_config(chip)
    # of GFX9 meta blocks are larger
    extent = (3600, 2800) if config.level == 90 else (900, 700)
    for flags, layers in product((SurfaceUse(0), SurfaceUse.ZBUFFER), (1, 3)):
        surface: Any = compute_surface(config, SurfaceRequest(*extent, bpe=4, levels=10, array_size=layers, flags=flags))
        kind = "htile" if flags else "dcc"
        side = 8 if flags else 8 if config.level == 90 else 4
        taken = []
        for mip in range(metadata_levels(surface, kind)):
            width, height = extent[0] >> mip, extent[1] >> mip
            layer, y, x = np.ogrid[:layers, :height:side, :width:side]
            found = np.unique(metadata_addresses(config, surface, kind, x, y, layer, mip=mip))
            # GFX9's compressed blocks of 4-byte elements have 8 x 8 of them, and each has an element of its own
            assert config.level > 90 or len(found) == layers * len(x.ravel()) * len(y.ravel())
            taken.append(found)
            start = 2 * (surface.meta_offset + (surface.meta_level_offset[mip] if config.level > 90 else 0))
            assert found.min() >= start
            assert layers > 1 or found.max() < start + 2 * (surface.meta_level_size[mip] if config.level > 90 else surface.meta_size)
        both = np.concatenate(taken)
        assert len(taken) >= 3 and len(np.unique(both)) == len(both)
        assert both.max() < 2 * (surface.meta_offset + surface.meta_size)


def test_what_is_refused() -> None:
    config = gpu_config("navi21")
    color = compute_surface(config, SurfaceRequest(width=500, height=300, bpe=4))
    for kind, words in (("htile", "without HTILE"), ("fmask", "without FMASK"), ("display_dcc", "without DISPLAY DCC"), ("stencil", "no kind")):
        with pytest.raises(InputError, match=words):
            metadata_part(config, color, kind)
    with pytest.raises(InputError, match="level 1 has no DCC"):
        metadata_addresses(config, color, "dcc", 0, 0, mip=1)
    with pytest.raises(InputError, match="metadata coordinate"):
        metadata_addresses(config, color, "dcc", 1 << 20, 0)
    with pytest.raises(UnsupportedError, match="HiZ on navi21"):
        metadata_part(config, color, "hiz")
    late = gpu_config("gfx1201")
    with pytest.raises(UnsupportedError, match="GFX12"):
        metadata_part(late, compute_surface(late, SurfaceRequest(width=64, height=64, bpe=4)), "dcc")
    with pytest.raises(InputError, match="generation"):
        metadata_part(late, color, "dcc")
    for chip, request in (("navi21", SurfaceRequest(width=500, height=300, bpe=4, samples=4, storage_samples=4)),
                          ("polaris10", SurfaceRequest(width=500, height=300, bpe=4, samples=4, storage_samples=4,
                                                       flags=SurfaceUse.ZBUFFER | SurfaceUse.TC_COMPATIBLE_HTILE))):  # fmt: skip
        old = gpu_config(chip)
        surface = compute_surface(old, request)
        with pytest.raises(UnsupportedError, match="addresses in"):
            metadata_addresses(old, surface, "htile" if request.flags else "dcc", 0, 0)
    with pytest.raises(InputError, match="no FMASK"):
        fmask_texture(gpu_config("tahiti"), tile_mode=4, pitch=64, height=64, num_samples=1)
