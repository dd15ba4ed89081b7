"""Texels of colours and colours of texels: every number of small channels, and random ones of the others."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_dcc_codes import formats

from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import pixel_format
from pyaco.metadata.colors import decode_texels, encode_texels, pack_color


@pytest.mark.parametrize("name", formats(103))
def test_texels_survive_being_colors(name: str) -> None:
    form = pixel_format(name)
    random = np.random.default_rng(form.bits)
    texels = random.integers(0, 256, (4096, form.bits // 8), np.uint8)
    if form.bits <= 16:
        count = 1 << form.bits
        texels = np.arange(count, dtype=np.uint16).view(np.uint8).reshape(count, 2)[:, : form.bits // 8].copy()
    colors = decode_texels(name, texels)
    again = decode_texels(name, encode_texels(name, np.clip(colors, None, np.inf)))
    np.testing.assert_array_equal(again, colors)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from(["R11G11B10_FLOAT", "R16_FLOAT"]))
def test_small_floats_are_the_nearest(value: float, name: str) -> None:
    found = float(decode_texels(name, pack_color(name, (value, 0, 0, 0)))[0])
    if name == "R16_FLOAT":
        with np.errstate(over="ignore"):
            assert found == float(np.float16(value))
        return
    grid = decode_texels(name, np.arange(0x7C0, dtype=np.uint32).view(np.uint8).reshape(-1, 4))[:, 0]
    assert abs(found - value) == np.abs(grid.astype(np.float64) - value).min()


def test_small_floats_at_the_edges() -> None:
    word = int(pack_color("R11G11B10_FLOAT", (float("inf"), -1.0, float("nan"), 0)).view(np.uint32)[0])
    assert word & 0x7FF == 0x7C0 and word >> 11 & 0x7FF == 0 and word >> 22 & 0x3E0 == 0x3E0 and word >> 22 & 0x1F
    assert int(pack_color("R11G11B10_FLOAT", (1e9, 1.0, 1e9, 0)).view(np.uint32)[0]) == 0x7BF | 0x3C0 << 11 | 0x3DF << 22


def test_shared_exponents() -> None:
    # Vulkan's rules for shared exponents, worked by hand: 1.0 is 256 / 2^8 with exponent 16.
    assert int(pack_color("R9G9B9E5_FLOAT", (1.0, 0.5, 0.0, 0)).view(np.uint32)[0]) == 256 | 128 << 9 | 16 << 27
    assert int(pack_color("R9G9B9E5_FLOAT", (1e9, 0, 0, 0)).view(np.uint32)[0]) == 511 | 31 << 27
    assert int(pack_color("R9G9B9E5_FLOAT", (0, 0, 0, 0)).view(np.uint32)[0]) == 0
    assert int(pack_color("R9G9B9E5_FLOAT", (511.9 / 512, 0, 0, 0)).view(np.uint32)[0]) == 256 | 16 << 27


def test_conversions() -> None:
    assert pack_color("R8G8B8A8_SRGB", (0.5, 0.0031308, 1, 0.5)).tolist() == [188, 10, 255, 128]
    assert pack_color("R8G8B8A8_SNORM", (-1, -2, 0.5, 1)).tolist() == [0x81, 0x81, 64, 127]
    assert decode_texels("R8_SNORM", np.array([0x80], np.uint8))[0] == -1
    assert pack_color("R16G16_SINT", (-2, 3, 0, 0)).tobytes() == struct.pack("<hh", -2, 3)
    assert pack_color("R32G32B32A32_FLOAT", (1, 2, 3, -4)).tobytes() == struct.pack("<4f", 1, 2, 3, -4)
    assert pack_color("R10G10B10A2_UNORM", (1, 0, 0.5, 1)).tobytes() == struct.pack("<I", 1023 | 512 << 20 | 3 << 30)
    assert decode_texels("R8G8_UINT", np.array([3, 4], np.uint8)).tolist() == [3, 4, 0, 1]


def test_what_is_refused() -> None:
    for color in ((1, 2, 3), (1, 2, 3, 4, 5), "abcd", (None,) * 4):
        with pytest.raises(InputError):
            pack_color("R8G8B8A8_UNORM", color)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="from 0 to 255"):
        pack_color("R8_UINT", (256, 0, 0, 0))
    with pytest.raises(InputError, match="integers"):
        pack_color("R8_UINT", (1.5, 0, 0, 0))
    with pytest.raises(UnsupportedError, match="DXT1_RGBA"):
        pack_color("DXT1_RGBA", (0, 0, 0, 0))
    with pytest.raises(InputError, match="4 bytes"):
        decode_texels("R8G8B8A8_UNORM", np.zeros((2, 3), np.uint8))
