"""Images with several samples, in every swizzle mode that a chip has for them, and FMASK read as words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from image_kernels import TARGETS, TILED, image_instruction, run_image

from pyaco.addrlib import SurfaceRequest, SurfaceUse, gpu_config
from pyaco.addrlib.driver.queries import compute_surface
from pyaco.addrlib.enums import SurfaceFlags
from pyaco.addrlib.formatted import surface_request
from pyaco.addrlib.tiling import TiledSurface
from pyaco.descriptors.image import ImageView, fmask_descriptor
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import fmask
from pyaco.registers import registers
from pyaco.targets.features import has_swizzle_modes

SAMPLES = (2, 4, 8)
# Samples and fragments of every format of FMASK.
MASKS = ((2, 1), (2, 2), (4, 1), (4, 2), (4, 4), (8, 1), (8, 2), (8, 4), (8, 8), (16, 1), (16, 2), (16, 4), (16, 8))


def surfaces(device: Device, layers: int, samples: int) -> Iterator[tuple[TiledSurface, int | None]]:
    """Surfaces of 37 by 21 texels in every swizzle mode in which addrlib lays them out, with the mode; GFX8: what drivers choose."""
    config = gpu_config(device.target)
    if not has_swizzle_modes(config.level):
        image = device.image(format="R32_UINT", width=37, height=21, layers=layers, samples=samples)
        image.release()
        yield image.surface.tiled, None
        return
    for mode in range(1, 32):
        try:
            yield TiledSurface(config, width=37, height=21, bpp=32, swizzle_mode=mode, num_slices=layers, num_samples=samples), mode
        except (InputError, UnsupportedError):
            continue


def view_words(device: Device, address: int, dimension: str, layers: int, samples: int, mode: int | None) -> list[int]:
    """A descriptor as drivers make it, with another address and swizzle mode."""
    image = device.image(format="R32_UINT", width=37, height=21, layers=layers, samples=samples)
    words = list(image.view(dimension).words)
    image.release()
    words[0], words[1] = address >> 8 & 0xFFFFFFFF, words[1] & ~0xFF | address >> 40
    if mode is not None:
        field = registers(device.gfx_level)["SQ_IMG_RSRC_WORD3"].field("SW_MODE")
        words[3] = words[3] & ~(31 << field.low) | mode << field.low
    return words


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dimension", ["2d_msaa", "2d_msaa_array"])
def test_loads_and_stores(target: str, dimension: str) -> None:
    """Every sample of every place is found where addrlib puts it, and written there; samples that there are not read as zeros."""
    device, random, tried = Device(target), np.random.default_rng(60), set()
    layers = 3 if "array" in dimension else 1
    coordinates = 4 if layers > 1 else 3
    load = image_instruction("image_load", target, dimension, coordinates, 1, data=1)
    store = image_instruction("image_store", target, dimension, coordinates, 1, data=1)
    for samples in SAMPLES:
        for tiled, mode in surfaces(device, layers, samples):
            tried.add((samples, mode))
            memory = device.zeros(tiled.size + tiled.base_align)
            address = -(-memory.address // tiled.base_align) * tiled.base_align
            texels = random.integers(1, 1 << 32, (layers, 21, 37, samples), dtype=np.uint32)
            bytes_ = memory.numpy()[address - memory.address :]
            tiled.tile(texels, bytes_)
            words = view_words(device, address, dimension, layers, samples, mode)
            place = np.stack([random.integers(0, end, 64) for end in (37, 21, layers, samples + 1)], 1).astype(np.int32)
            chosen = place if layers > 1 else place[:, [0, 1, 3]]
            found = run_image(device, load, words, address=chosen)[:, 0]
            expected = np.where(place[:, 3] < samples, texels[place[:, 2], place[:, 1], place[:, 0], place[:, 3] % samples], 0)
            np.testing.assert_array_equal(found, expected, err_msg=f"mode {mode}, {samples} samples")
            order = random.permutation(37 * 21 * layers * samples)[:64]
            sample, rest = order % samples, order // samples
            place = np.stack([rest % 37, rest // 37 % 21, rest // 777, sample], 1).astype(np.int32)
            data = random.integers(0, 1 << 32, (64, 1), dtype=np.uint32)
            chosen = place if layers > 1 else place[:, [0, 1, 3]]
            run_image(device, store, words, address=chosen, data=data, stores=True)
            texels[place[:, 2], place[:, 1], place[:, 0], place[:, 3]] = data[:, 0]
            np.testing.assert_array_equal(tiled.detile(bytes_).reshape(texels.shape), texels, err_msg=f"mode {mode}, {samples} samples")
            memory.release()
    assert {samples for samples, _ in tried} == set(SAMPLES) and len(tried) >= (3 if target in TILED else 6), tried


@pytest.mark.parametrize("target", ["gfx1100", "gfx1200"])
def test_loads_of_four_samples(target: str) -> None:
    """image_msaa_load: one component of four samples."""
    device, random = Device(target), np.random.default_rng(61)
    image = device.image(format="R8G8B8A8_UINT", width=16, height=16, samples=8)
    texels = random.integers(0, 256, (16, 16, 8, 4), dtype=np.uint8)
    image.write(texels.reshape(image.numpy().shape))
    place = np.stack([random.integers(0, 16, 64), random.integers(0, 16, 64), random.choice([0, 4], 64)], 1).astype(np.int32)
    for component in range(4):
        text = image_instruction("image_msaa_load", target, "2d_msaa", 3, 1 << component)
        found = run_image(device, text, image.view().words, address=place)[:, :4]
        expected = np.stack([texels[place[:, 1], place[:, 0], place[:, 2] + k, component] for k in range(4)], 1)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target", ["gfx803", "gfx810", "gfx900", "gfx906", "gfx1010", "gfx1030"])
def test_fmask_words(target: str, engine: str) -> None:
    """A view of FMASK reads which fragment each sample has, four bits for each, however few memory has; 8: none."""
    device, random, config = Device(target, engine=engine), np.random.default_rng(62), gpu_config(target)
    for samples, fragments in MASKS:
        request = SurfaceRequest(width=37, height=21, bpe=4, samples=samples, storage_samples=fragments, flags=SurfaceUse.DISABLE_DCC)
        surface: Any = compute_surface(config, request)
        assert surface.fmask_size
        memory = device.zeros(surface.total_size + surface.fmask_size + (1 << 16))
        address = (memory.address + 0xFFFF) & ~0xFFFF
        words = fmask_words(device, surface, address, samples, fragments)
        owners = random.integers(fmask.UNKNOWN if fragments < samples else 0, fragments, (21, 37, samples))
        place_fmask(config, surface, memory.numpy()[address - memory.address + surface.fmask_offset :], fmask.encode_words(owners, fragments))
        place = np.stack([random.integers(0, 37, 64), random.integers(0, 21, 64)], 1).astype(np.int32)
        found = run_image(device, image_instruction("image_load", target, "2d", 2, 3, data=2), words, address=place)[:, :2]
        nibbles = found[:, np.arange(samples) // 8] >> (4 * (np.arange(samples, dtype=np.uint32) % 8)) & 15
        expected = owners[place[:, 1], place[:, 0]]
        np.testing.assert_array_equal(nibbles, np.where(expected == fmask.UNKNOWN, 8, expected), err_msg=f"{samples} samples, {fragments} stored")
        assert samples == 16 or not (found[:, 1].any() or (found[:, 0] >> (4 * samples - 1) >> 1).any())
        memory.release()


def test_fmask_is_not_stored_to() -> None:
    """What a store through a descriptor of FMASK makes of four bits a sample, no public source says."""
    device = Device("gfx1030")
    surface: Any = compute_surface(gpu_config("gfx1030"), surface_request("R8G8B8A8_UNORM", 37, 21, samples=4))
    memory = device.zeros(surface.total_size + (1 << 16))
    words = fmask_words(device, surface, (memory.address + 0xFFFF) & ~0xFFFF, 4, 4)
    place = np.zeros((64, 2), np.int32)
    with pytest.raises(UnsupportedError):
        run_image(device, image_instruction("image_store", "gfx1030", "2d", 2, 1, data=1), words, address=place, data=place[:, :1], stores=True)


def fmask_words(device: Device, surface: Any, address: int, samples: int, fragments: int) -> list[int]:
    """The descriptor that drivers make, but with all components: drivers ask for the first, which has 8 samples."""
    config = gpu_config(device.target)
    words = list(fmask_descriptor(config, surface, ImageView(address, "R8G8B8A8_UNORM", 37, 21, 1, 9, samples=samples, storage_samples=fragments)))
    field = registers(config.level)["SQ_IMG_RSRC_WORD3"].field("DST_SEL_Y")
    words[3] = words[3] & ~(7 << field.low) | 5 << field.low
    return words


def place_fmask(config: Any, surface: Any, memory: np.ndarray, words: np.ndarray) -> None:
    """Put FMASK's words where addrlib says."""
    (height, width), bits = words.shape, 8 * words.itemsize
    if config.level >= 90:
        tiled = TiledSurface(config, width=width, height=height, bpp=bits, swizzle_mode=surface.fmask_swizzle_mode, flags=int(SurfaceFlags.FMASK),
                             pipe_bank_xor=surface.fmask_tile_swizzle)
    else:
        from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6
        from pyaco.addrlib.v1.queries import surface_info

        info = surface_info(config, tile_mode=4, tile_type=1, tile_index=surface.fmask_tile_index, bpp=bits, width=surface.fmask_pitch, height=height,
                            flags=1)
        tiled = TiledSurfaceGfx6.of_levels(config, bits // 8, [(0, (width, height, 1, 1), info)])
    tiled.tile(words[None], memory)
