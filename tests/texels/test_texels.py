"""Decoded texels: examples of the specification, blocks whose texels can be told by hand, edges of images, what the door refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pyaco import InputError, UnsupportedError
from pyaco.formats import pixel_format
from pyaco.texels import decode

TRANSPARENT = (0, 0, 0, 0)
MAGENTA = (255, 0, 255, 255)


def bc1(first: int, second: int, codes: int = 0xE4E4E4E4) -> bytes:
    """A block; each of its rows has codes 0, 1, 2, 3 unless told otherwise."""
    return first.to_bytes(2, "little") + second.to_bytes(2, "little") + codes.to_bytes(4, "little")


def big_endian(word: int) -> bytes:
    return word.to_bytes(8, "big")


def bits_of(fields: list[tuple[int, int]], size: int = 128) -> bytes:
    """A block of (value, bits), the lowest first."""
    word = place = 0
    for value, bits in fields:
        word |= value << place
        place += bits
    return word.to_bytes(size // 8, "little")


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_bc1_is_the_nearest_number_to_the_fraction(channel: int) -> None:
    """Every pair of endpoints of a channel, as thirds and as halves."""
    shift, most = ((11, 31), (5, 63), (0, 31))[channel]
    pairs = [(a, b) for a in range(most + 1) for b in range(most + 1)]
    texels = decode(b"".join(bc1(a << shift, b << shift) for a, b in pairs), "bc1", 4 * len(pairs), 4)[0, :, channel].reshape(-1, 4)
    for (a, b), found in zip(pairs, texels, strict=True):
        shares = (0, 1, Fraction(1, 3), Fraction(2, 3)) if a > b else (0, 1, Fraction(1, 2))
        exact = [255 * (a + (b - a) * share) / most for share in shares]
        assert list(found[: len(exact)]) == [int(number + Fraction(1, 2)) for number in exact]


@pytest.mark.parametrize(("first", "second", "third_of_four", "half"), [(0, 31, 84, 128), (31, 0, 171, 128), (3, 29, 95, 132), (8, 9, 69, 70)])
def test_bc1_as_on_amd(first: int, second: int, third_of_four: int, half: int) -> None:
    """(43 a + 21 b + 32) / 64 and (a + b + 1) / 2 of the widened endpoints."""
    thirds = decode(bytes(8) + bc1(first << 11, second << 11), "bc2", 4, 4, interpolation="amd")        # BC2 has thirds whatever the order
    assert thirds[0, 2, 0] == third_of_four
    low, high = sorted((first, second))
    assert decode(bc1(low << 11, high << 11), "bc1", 4, 4, interpolation="amd")[0, 2, 0] == half


def test_black_of_bc1_is_transparent_where_there_is_alpha() -> None:
    assert tuple(decode(bc1(0, 0xFFFF), "DXT1_RGBA", 4, 4)[0, 3]) == TRANSPARENT
    assert tuple(decode(bc1(0, 0xFFFF), "DXT1_RGB", 4, 4)[0, 3]) == (0, 0, 0, 255)
    assert tuple(decode(bytes(8) + bc1(0, 0xFFFF), "bc2", 4, 4)[0, 3]) == (170, 170, 170, 0)


def test_alpha_of_bc2_and_bc3() -> None:
    assert list(decode(bits_of([(i, 4) for i in range(16)]), "bc2", 4, 4)[..., 3].flat) == [17 * i for i in range(16)]
    codes = [(i % 8, 3) for i in range(16)]
    assert list(decode(bits_of([(210, 8), (0, 8), *codes]), "bc3", 4, 4)[..., 3].flat)[:8] == [210, 0, 180, 150, 120, 90, 60, 30]
    assert list(decode(bits_of([(0, 8), (210, 8), *codes]), "bc3", 4, 4)[..., 3].flat)[:8] == [0, 210, 42, 84, 126, 168, 0, 255]


def test_channels_of_bc4_and_bc5() -> None:
    codes = [(i % 8, 3) for i in range(16)]
    signed = decode(bits_of([(0x80, 8), (0x7F, 8), *codes], 64), "RGTC1_SNORM", 4, 4)
    assert list(signed[:2, :, 0].flat) == pytest.approx([-1, 1, -0.6, -0.2, 0.2, 0.6, -1, 1])
    assert (signed[..., 1:] == [0, 0, 1]).all() and signed.dtype == np.float32
    block = bits_of([(255, 8), (0, 8), *codes], 64)
    both = decode(block + bytes(8), "bc5", 4, 4)
    assert list(both[0, :, 0]) == [1, 0, np.float32(6 / 7), np.float32(5 / 7)] and (both[..., 1:] == [0, 0, 1]).all()
    assert (decode(block, "LATC1_UNORM", 4, 4) == both[..., [0, 0, 0, 3]]).all()
    assert (decode(block + bytes(8), "LATC2_UNORM", 4, 4) == both[..., [0, 0, 0, 1]]).all()


def test_reserved_modes_of_bc6h_and_bc7() -> None:
    assert (decode(b"\0" + b"\xff" * 15, "bc7", 4, 4) == 0).all()
    for mode in (0x13, 0x17, 0x1B, 0x1F):
        assert (decode(bytes([mode | 0xE0]) + b"\xff" * 15, "bc6h", 4, 4) == [0, 0, 0, 1]).all()


@pytest.mark.parametrize("rotation", range(4))
def test_bc7_swaps_alpha_with_a_channel(rotation: int) -> None:
    """Mode 5: endpoints of seven bits and alpha of eight, all indices zero, so the first endpoint everywhere."""
    block = bits_of([(0x20, 6), (rotation, 2), (1, 7), (0, 7), (2, 7), (0, 7), (3, 7), (0, 7), (200, 8), (0, 8)])
    expected = [2, 4, 6, 200]
    if rotation:
        expected[rotation - 1], expected[3] = expected[3], expected[rotation - 1]
    assert (decode(block, "bc7", 4, 4) == expected).all()


@pytest.mark.parametrize(("format", "largest"), [("BPTC_RGB_UFLOAT", 0x7BFF), ("BPTC_RGB_FLOAT", 0xFBFF)])
def test_largest_numbers_of_bc6h(format: str, largest: int) -> None:
    """Mode 3: two endpoints of ten bits. All bits: the largest finite half, and of a signed format nearly zero below it; then the least."""
    ones = 1023 if format == "BPTC_RGB_UFLOAT" else 513
    texels = decode(bits_of([(3, 5), *[(ones, 10)] * 6]), format, 4, 4)
    assert (texels[..., :3].copy().view(np.uint16) == largest).all() and (texels[..., 3] == 1).all()


def test_etc2_examples_of_the_specification() -> None:
    """Figures of the modes individual... planar in "ETC2 Compressed Texture Image Formats"."""
    # T: bases (13, 1, 8) and (4, 12, 13), distance 32
    t_mode = 3 << 59 | 1 << 56 | 1 << 52 | 8 << 48 | 4 << 44 | 12 << 40 | 13 << 36 | 2 << 34 | 1 << 33 | 1 << 32 | 7 << 61
    palette = decode(big_endian(t_mode | 0b1100 << 16 | 0b1010), "ETC2_RGB8", 4, 4)[:, 0]
    assert [tuple(color) for color in palette] == [(221, 17, 136, 255), (100, 236, 253, 255), (68, 204, 221, 255), (36, 172, 189, 255)]
    # H: the same bases; the order of the colours is the distance's lowest bit
    h_mode = 13 << 59 | 0 << 56 | 0 << 53 | 1 << 52 | 1 << 51 | 1 << 50 | 0 << 47 | 4 << 43 | 12 << 39 | 13 << 35 | 1 << 34 | 1 << 33 | 0 << 32
    palette = decode(big_endian(h_mode | 0b1100 << 16 | 0b1010), "ETC2_RGB8", 4, 4)[:, 0]
    assert [tuple(color) for color in palette] == [(253, 49, 168, 255), (189, 0, 104, 255), (100, 236, 253, 255), (36, 172, 189, 255)]
    # planar: (12, 64, 62), (50, 5, 37) to the right, (40, 112, 45) below
    planar = (12 << 57 | 1 << 56 | 0 << 49 | 1 << 48 | 3 << 43 | 7 << 45 | 6 << 39 | (50 >> 1) << 34 | 1 << 33 | (50 & 1) << 32
              | 5 << 25 | 37 << 19 | 40 << 13 | 112 << 6 | 45)  # fmt: skip
    texels = decode(big_endian(planar), "ETC2_RGB8", 4, 4)
    assert tuple(texels[0, 0]) == (48, 129, 251, 255)
    assert tuple(texels[0, 1, :3]) == tuple((3 * a + b + 2) // 4 for a, b in zip((48, 129, 251), (203, 10, 150), strict=True))


def test_eac_examples_of_the_specification() -> None:
    """Base 103, table 13, multiplier 2, index 3 at texel b, which is below the first; the signed base is 60."""
    indices = 3 << 42
    alpha = decode(big_endian(103 << 56 | 2 << 52 | 13 << 48 | indices) + bytes(8), "ETC2_RGBA8", 4, 4)
    assert alpha[1, 0, 3] == 83
    assert decode(big_endian(103 << 56 | 2 << 52 | 13 << 48 | indices), "ETC2_R11_UNORM", 4, 4)[1, 0, 0] == np.float32(668 / 2047)
    assert decode(big_endian(60 << 56 | 2 << 52 | 13 << 48 | indices), "ETC2_R11_SNORM", 4, 4)[1, 0, 0] == np.float32(320 / 1023)
    assert decode(big_endian(60 << 56 | 0 << 52 | 13 << 48 | indices), "ETC2_R11_SNORM", 4, 4)[1, 0, 0] == np.float32(470 / 1023)
    least = [decode(big_endian(base << 56 | 1 << 52), "ETC2_R11_SNORM", 4, 4)[0, 0, 0] for base in (0x80, 0x81)]
    assert least[0] == least[1] == -1


def test_transparent_texels_of_etc2_are_black() -> None:
    punched = decode(big_endian(31 << 59 | 31 << 51 | 31 << 43 | 1 << 16), "ETC2_RGB8A1", 4, 4)
    assert tuple(punched[0, 0]) == TRANSPARENT and tuple(punched[0, 1]) == (255, 255, 255, 255)


def test_void_extents_of_astc() -> None:
    color = [(0x1234, 16), (0xFFFF, 16), (0x8000, 16), (0xABCD, 16)]
    everywhere = bits_of([(0xDFC, 12), ((1 << 52) - 1, 52), *color])
    assert (decode(everywhere, "ASTC_12x10", 12, 10) == [0x12, 0xFF, 0x80, 0xAB]).all()
    halves = decode(everywhere, "ASTC_4x4", 4, 4, astc_mode="float16")[0, 0].view(np.uint16)
    assert list(halves) == [np.float16(0x1234 / 65536).view(np.uint16), 0x3C00, 0x3800, 0x395E]
    box = [(0, 13), (1, 13), (7, 13), (8, 13)]
    assert (decode(bits_of([(0xDFC, 12), *box, *color]), "ASTC_4x4", 4, 4) == [0x12, 0xFF, 0x80, 0xAB]).all()
    for broken in (bits_of([(0xDFC, 12), *box[::-1], *color]), bits_of([(0x1FC, 12), *box, *color]), bits_of([(0xFFC, 12), *box, *color])):
        assert (decode(broken, "ASTC_4x4", 4, 4) == MAGENTA).all()


def test_reserved_block_modes_of_astc_are_errors() -> None:
    assert (decode(bytes(16), "ASTC_4x4", 4, 4) == MAGENTA).all()
    assert (decode(bytes(16), "ASTC_4x4_SRGB", 4, 4) == MAGENTA).all()
    assert (decode(bytes(16), "ASTC_4x4", 4, 4, astc_mode="float16") == [1, 0, 1, 1]).all()


@pytest.mark.parametrize("block", ["4x4", "5x4", "5x5", "6x5", "6x6", "8x5", "8x6", "8x8", "10x5", "10x6", "10x8", "10x10", "12x10", "12x12",
                                   "3x3x3", "4x3x3", "4x4x3", "4x4x4", "5x4x4", "5x5x4", "5x5x5", "6x5x5", "6x6x5", "6x6x6"])  # fmt: skip
def test_blocks_of_astc_stand_in_their_places(block: str) -> None:
    """Images of one, two and three blocks in each direction, cut off within a block; each block has a colour of its own."""
    across, down, deep = (*map(int, block.split("x")), 1)[:3]
    columns, rows, slices = 3, 2, 2
    width, height, depth = across * columns - 1, down * rows - 2, deep * slices - (1 if deep > 1 else 0)
    colors = np.arange(columns * rows * slices, dtype=np.uint16) * 257
    data = b"".join(bits_of([(0xDFC, 12), ((1 << 52) - 1, 52), *[(int(color), 16)] * 4]) for color in colors)
    texels = decode(data, f"ASTC_{block}", width, height, depth)
    z, y, x = np.mgrid[:depth, :height, :width]
    assert texels.shape == (depth, height, width, 4)
    assert (texels[..., 0] == (z // deep * rows + y // down) * columns + x // across).all()


@pytest.mark.parametrize("format", ["DXT1_RGB", "DXT1_RGBA", "DXT3_RGBA", "DXT5_RGBA", "RGTC1_SNORM", "RGTC2_UNORM", "BPTC_RGB_UFLOAT",
                                    "BPTC_RGB_FLOAT", "BPTC_RGBA_UNORM", "ETC2_RGB8", "ETC2_RGB8A1", "ETC2_RGBA8", "ETC2_R11_SNORM",
                                    "ETC2_RG11_UNORM", "ASTC_4x4",
                                    "ASTC_12x12_SRGB", "ASTC_8x5", "ASTC_3x3x3", "ASTC_6x6x6_SRGB"])  # fmt: skip
def test_any_bits_decode_to_the_same_texels_anywhere(format: str) -> None:
    across, down, deep = pixel_format(format).block
    size = pixel_format(format).bits // 8
    data = np.random.default_rng(0).integers(0, 256, (400, size), np.uint8)
    data[:200, 0] |= 3                                  # more valid modes of ASTC, and of others one kind
    image = decode(data, format, 20 * across, 20 * down, deep).reshape(deep, 20, down, 20, across, 4)
    for number, block in enumerate(data):
        alone = decode(block, format, across, down, deep).reshape(deep, down, across, 4)
        assert alone.tobytes() == image[:, number // 20, :, number % 20].tobytes()


def test_data_may_be_an_array_or_a_view() -> None:
    block = np.frombuffer(bc1(0xFFFF, 0), np.uint8)
    expected = decode(block.tobytes(), "bc1", 3, 2)
    assert expected.shape == (2, 3, 4)
    views: list[Any] = [block, memoryview(block.tobytes()), bytearray(block), block.view(np.uint32), np.repeat(block, 2)[::2]]
    for data in views:
        assert (decode(data, "bc1", 3, 2) == expected).all()


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="4 x 4 x 1 texels of DXT1_RGBA are 8 bytes, not 7"):
        decode(bytes(7), "bc1", 4, 4)
    with pytest.raises(InputError, match="not 0"):
        decode(b"", "bc1", 4, 4)
    with pytest.raises(InputError, match="data takes bytes"):
        decode([1], "bc1", 4, 4)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="0 x 4"):
        decode(b"", "bc1", 0, 4)
    with pytest.raises(InputError, match="no blocks of 7 x 7 x 1"):
        decode(bytes(16), "ASTC_7x7", 7, 7)
    with pytest.raises(InputError, match="interpolation is exact or amd"):
        decode(bytes(8), "bc1", 4, 4, interpolation="nvidia")
    with pytest.raises(InputError, match="astc_mode"):
        decode(bytes(16), "ASTC_4x4", 4, 4, astc_mode="hdr")
    with pytest.raises(InputError, match="no pixel format"):
        decode(bytes(16), "BC9", 4, 4)
    with pytest.raises(UnsupportedError, match="FXT1_RGB is not decoded"):
        decode(bytes(16), "FXT1_RGB", 8, 4)
    with pytest.raises(UnsupportedError, match="R8G8B8A8_UNORM has no compressed blocks"):
        decode(bytes(64), "rgba8", 4, 4)
