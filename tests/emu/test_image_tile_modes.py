"""Images of GFX6 to GFX8: every entry of a chip's table of tile modes, as descriptors name them, against the addresses of `pyaco.addrlib`."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from image_kernels import image_instruction, run_image

from pyaco.addrlib import gpu_config
from pyaco.addrlib.v1.chip import chip_of
from pyaco.addrlib.v1.modes import IS_MACRO, THICKNESS, TileMode, TileType
from pyaco.addrlib.v1.queries import SurfaceAddresses, surface_info
from pyaco.descriptors.buffer import selected_channels
from pyaco.emu import Device
from pyaco.errors import InputError, PyacoError, UnsupportedError
from pyaco.registers import registers

CHIPS = ("gfx600", "gfx602", "gfx700", "gfx701", "gfx704", "gfx802", "gfx803", "gfx810")
FORMATS = {8: "8", 16: "16", 32: "32", 64: "32_32", 128: "32_32_32_32"}
TYPES = {"2d": 9, "3d": 10, "2d_array": 13, "2d_msaa": 14}


def words_of(address: int, bits: int, kind: str, index: int, pitch: int, extent: tuple[int, int, int], samples: int) -> list[int]:
    """A descriptor of one level."""
    known = registers(80)
    word1 = known["SQ_IMG_RSRC_WORD1"]
    number, data = word1.field("NUM_FORMAT").number("IMG_NUM_FORMAT_UINT"), word1.field("DATA_FORMAT").number(f"IMG_DATA_FORMAT_{FORMATS[bits]}")
    width, height, depth = extent
    fields: list[dict[str, int]] = [
        {}, {"BASE_ADDRESS_HI": address >> 40, "DATA_FORMAT": data, "NUM_FORMAT": number},
        {"WIDTH": width - 1, "HEIGHT": height - 1},
        {**selected_channels((0, 1, 2, 3)), "LAST_LEVEL": samples.bit_length() - 1, "TILING_INDEX": index, "TYPE": TYPES[kind]},
        {"DEPTH": depth - 1, "PITCH": pitch - 1}, {"LAST_ARRAY": depth - 1}, {}, {}]  # fmt: skip
    values = [known[f"SQ_IMG_RSRC_WORD{k}"].encode(**each) if each else 0 for k, each in enumerate(fields)]
    values[0] = address >> 8 & 0xFFFFFFFF
    return values


def layout_of(config: Any, index: int, bits: int, extent: tuple[int, int, int], samples: int) -> Any:
    row = chip_of(config).tile_modes[index]
    flags = 1 << 1 if row[7] == TileType.DEPTH_SAMPLE_ORDER and row[6] > 1 else 1
    if flags == 2:
        flags |= 1 << 10                                    # no stencil plane beside it
    info = surface_info(config, tile_mode=row[6], tile_type=row[7], tile_index=index, bpp=bits, num_samples=samples, width=extent[0],
                        height=extent[1], num_slices=extent[2], flags=flags)
    return info


@pytest.mark.parametrize("target", CHIPS)
def test_every_entry_of_the_table(target: str) -> None:
    """Stores through a descriptor land where addrlib says, for each entry, size of elements and number of samples; loads find them again."""
    device, random, config = Device(target), np.random.default_rng(70), gpu_config(target)
    tried, refused = set(), {}
    for index in range(32):
        mode = chip_of(config).tile_modes[index][6]
        for bits in FORMATS:
            for samples in (1, 2, 4, 8) if THICKNESS[mode] == 1 and mode > TileMode.LINEAR_ALIGNED else (1,):
                kind = "2d_msaa" if samples > 1 else "3d" if THICKNESS[mode] > 1 else "2d_array"
                extent = (70, 41, 1) if samples > 1 else (70, 41, 9)
                try:
                    info = layout_of(config, index, bits, extent, samples)
                    addresses = SurfaceAddresses(config, info)
                except (InputError, UnsupportedError) as error:
                    refused[index, bits, samples] = str(error)
                    continue
                tried.add((index, bits, samples))
                placed = words_for(device, addresses, info, bits, kind, index, extent, samples)
                check_entry(device, random, placed, addresses, bits, kind, extent, samples)
    entries = {index for index, _, _ in tried}
    assert len(tried) > 150 and len(entries) >= 20, (len(tried), refused)


def words_for(device: Device, addresses: SurfaceAddresses, info: Any, bits: int, kind: str, index: int, extent: tuple[int, int, int],
              samples: int) -> tuple[list[int], Any, int]:  # fmt: skip
    """Memory for a surface, its descriptor, and where it starts in the memory."""
    memory = device.zeros(addresses.size + 2 * info.base_align)
    address = -(-memory.address // info.base_align) * info.base_align
    return words_of(address, bits, kind, index, info.pitch, extent, samples), memory, address - memory.address


def check_entry(
    device: Device, random: np.random.Generator, placed: tuple[list[int], Any, int], addresses: SurfaceAddresses, bits: int, kind: str,
    extent: tuple[int, int, int], samples: int,
) -> None:  # fmt: skip
    words, memory, start = placed
    order = random.permutation(extent[0] * extent[1] * extent[2] * samples)[:64]
    sample, rest = order % samples, order // samples
    x, y, z = rest % extent[0], rest // extent[0] % extent[1], rest // (extent[0] * extent[1])
    place = np.stack([x, y, sample] if samples > 1 else [x, y, z], 1).astype(np.int32)
    dwords = max(bits // 32, 1)
    data = random.integers(0, 1 << min(bits, 32), (64, 4), dtype=np.uint32)
    mask = (1 << dwords) - 1
    run_image(device, image_instruction("image_store", device.target, kind, 3, mask, data=dwords), words, address=place, data=data, stores=True)
    expected = np.zeros(memory.numpy().size, np.uint8)
    for at, row in zip(addresses.addresses(x, y, z, sample), data, strict=True):
        expected[start + int(at) : start + int(at) + bits // 8] = row.view(np.uint8)[: bits // 8]
    assert (memory.numpy() == expected).all(), (words, bits, samples)
    found = run_image(device, image_instruction("image_load", device.target, kind, 3, mask, data=dwords), words, address=place)[:, :dwords]
    np.testing.assert_array_equal(found, data[:, :dwords])
    memory.release()


@pytest.mark.parametrize("target", CHIPS)
def test_levels_and_swizzles(target: str) -> None:
    """Whole surfaces of drivers, in all their levels: linear, 1D and 2D tiled, thick 3D; texels of each level are found."""
    device, random, modes = Device(target), np.random.default_rng(71), set()
    shapes: dict[str, Any] = {"2d": {}, "2d_array": {"layers": 5}, "3d": {"depth": 13}}
    for kind, options in shapes.items():
        for size, mips in ((150, 6), (19, 3), (600, 2)):
            for name in ("R8_UINT", "R32_UINT", "R32G32B32A32_UINT", "Z32_FLOAT", "DXT1_RGBA"):
                if name == "Z32_FLOAT" and kind == "3d":
                    continue
                image = device.image(format=name, width=size, height=size - 7, mips=mips, **options)
                modes |= {level.layout.tile_mode for level in cast(Any, image.surface.layout).levels}
                check_levels(device, image, kind, random)
                image.release()
    for name, width in (("R32_UINT", 75), ("R8_UINT", 300)):
        check_levels(device, device.image(format=name, width=width, height=20, linear=True), "2d", random)
    for height, mips in ((1, 6), (2, 5)):                # one tile mode is all that a descriptor has
        image = device.image(format="R32_UINT", width=300, height=height, mips=mips)
        assert image.surface.swizzle_mode == "LINEAR_ALIGNED"
        check_levels(device, image, "2d", random)
    assert len(modes) >= 4 and any(IS_MACRO[mode] for mode in modes) and any(THICKNESS[mode] > 1 for mode in modes), modes


def check_levels(device: Device, image: Any, kind: str, random: np.random.Generator) -> None:
    """Blocks are seen as elements of as many bytes."""
    image.memory[:] = random.integers(0, 256, image.memory.size, dtype=np.uint8)
    compressed = image.format.is_compressed
    coordinates = 2 if kind == "2d" else 3
    for mip in range(image.surface.request.levels):
        shape = image.surface.level_shape(mip)
        place = np.stack([random.integers(0, extent, 64) for extent in shape[::-1]], 1).astype(np.int32)
        at = image.surface.tiled.addresses(place[:, 0], place[:, 1], place[:, 2], 0, mip)
        if compressed:
            from pyaco.texels import decode

            blocks = np.stack([image.memory[a : a + 8] for a in at])
            texels = np.stack([decode(block, image.format.name, 4, 4, interpolation="amd")[0, 0] for block in blocks])
            expected = (texels / 255).astype(np.float32)[:, 0]
            place[:, :2] *= 4
        else:
            expected = np.stack([image.memory[a : a + image.surface.element_bytes].copy() for a in at])
        address = np.concatenate([place[:, :coordinates], np.full((64, 1), mip, np.int32)], 1)
        text = image_instruction("image_load_mip", device.target, kind, coordinates + 1)
        found = run_image(device, text, image.view(kind).words, address=address)[:, :4]
        if compressed:
            np.testing.assert_array_equal(found[:, 0].view(np.float32), expected, err_msg=f"{image.surface} {mip}")
        else:
            raw = np.ascontiguousarray(found).view(np.uint8) if expected.shape[1] > 4 else np.ascontiguousarray(found[:, :1]).view(np.uint8)
            np.testing.assert_array_equal(raw[:, : expected.shape[1]], expected, err_msg=f"{image.surface} {mip}")


def test_tile_swizzle_of_bases() -> None:
    """Bits of the base below the macro tiles' alignment choose bank and pipe."""
    device, random, config = Device("gfx803"), np.random.default_rng(72), gpu_config("gfx803")
    info = layout_of(config, 14, 32, (256, 256, 1), 1)
    pipes, banks = 16, info.banks
    for bank in range(banks):
        for pipe in (0, 5):
            addresses = SurfaceAddresses(config, info, bank_swizzle=bank, pipe_swizzle=pipe)
            words, memory, start = words_for(device, addresses, info, 32, "2d_array", 14, (256, 256, 1), 1)
            words[0] |= bank * pipes + pipe
            check_entry(device, random, (words, memory, start), addresses, 32, "2d_array", (256, 256, 1), 1)


def test_pitches_that_there_are_not() -> None:
    device, config = Device("gfx803"), gpu_config("gfx803")
    info = layout_of(config, 14, 32, (256, 256, 1), 1)
    for pitch in (info.pitch - 8, 8):
        words = words_of(0x1000000, 32, "2d_array", 14, pitch, (256, 256, 1), 1)
        with pytest.raises(PyacoError, match=r"pitch of|no such"):
            run_image(device, image_instruction("image_load", "gfx803", "2d_array", 3), words, address=np.zeros((64, 3), np.int32))
