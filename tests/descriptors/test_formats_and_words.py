"""Pixel formats, the hardware's numbers of them, buffer and sampler descriptors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyaco.descriptors.buffer import OutOfBounds, attribute_ring, buffer_descriptor, raw_buffer
from pyaco.descriptors.decode import decode
from pyaco.descriptors.hardware_format import (
    UNSUPPORTED,
    alpha_is_on_msb,
    buffer_formats,
    color_formats,
    color_swap,
    depth_format,
    image_formats,
    unified_format,
)
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.errors import InputError
from pyaco.formats import ONE, ZERO, pixel_format
from pyaco.registers import registers

LEVELS = (60, 70, 80, 90, 100, 103, 110, 115, 120)


@pytest.mark.parametrize(("name", "block", "bits", "swizzle"), [
    ("R8G8B8A8_UNORM", (1, 1, 1), 32, (0, 1, 2, 3)), ("B8G8R8X8_SRGB", (1, 1, 1), 32, (2, 1, 0, ONE)),
    ("A8_UNORM", (1, 1, 1), 8, (ZERO, ZERO, ZERO, 0)), ("L16A16_FLOAT", (1, 1, 1), 32, (0, 0, 0, 1)),
    ("DXT5_SRGBA", (4, 4, 1), 128, (0, 1, 2, 3)), ("ASTC_10x6_SRGB", (10, 6, 1), 128, (0, 1, 2, 3)),
    ("Z32_FLOAT_S8X24_UINT", (1, 1, 1), 64, (0, 1, 6, 6)), ("R5G6B5_UNORM", (1, 1, 1), 16, (0, 1, 2, ONE)),
    ("R8G8_B8G8_UNORM", (2, 1, 1), 32, (0, 1, 2, ONE)),
])  # fmt: skip
def test_formats_by_name(name: str, block: Any, bits: int, swizzle: Any) -> None:
    found = pixel_format(name)
    assert (found.block, found.bits, found.swizzle) == (block, bits, swizzle)


def test_depth_and_stencil() -> None:
    both = pixel_format("Z24_UNORM_S8_UINT")
    assert both.has_depth and both.has_stencil and depth_format(both) == 2
    assert not pixel_format("S8_UINT").has_depth and depth_format(pixel_format("Z32_FLOAT")) == 3


def test_no_such_format() -> None:
    with pytest.raises(InputError, match="R8G8B8A8_NORM"):
        pixel_format("R8G8B8A8_NORM")


# Facts of the ISA documents' format tables.
def test_hardware_numbers() -> None:
    assert image_formats(pixel_format("R8G8B8A8_UNORM"), 80) == (10, 0)
    assert image_formats(pixel_format("DXT1_SRGB"), 60) == (35, 9)
    assert image_formats(pixel_format("R64G64_FLOAT"), 60)[0] == UNSUPPORTED
    assert buffer_formats(pixel_format("R32G32B32_UINT")) == (13, 4)
    assert unified_format(pixel_format("R8G8B8A8_UNORM"), 103).number == 56
    assert unified_format(pixel_format("R32_FLOAT"), 110).number == 22
    assert unified_format(pixel_format("R32_UNORM"), 110).buffers_only
    assert unified_format(pixel_format("ASTC_4x4"), 110).number == 0
    assert color_formats(pixel_format("B8G8R8A8_SRGB"), 90) == (10, 6) and color_swap(pixel_format("B8G8R8A8_SRGB"), 90) == 1
    assert alpha_is_on_msb(pixel_format("R8G8B8A8_UNORM"), 90) and not alpha_is_on_msb(pixel_format("A8B8G8R8_UNORM"), 90)


@pytest.mark.parametrize("level", LEVELS)
def test_raw_buffers_are_plain_descriptors(level: Any) -> None:
    out = OutOfBounds.RAW
    assert raw_buffer(0x123456789A00, 4096, level) == buffer_descriptor(0x123456789A00, 4096, "R32_FLOAT", level, out_of_bounds=out)


@given(level=st.sampled_from(LEVELS), address=st.integers(0, (1 << 48) - 1), size=st.integers(0, (1 << 32) - 1), stride=st.integers(0, 16383))
def test_buffer_words_hold_what_was_asked(level: Any, address: Any, size: Any, stride: Any) -> None:
    words = buffer_descriptor(address, size, "R16G16_FLOAT", level, stride=stride, swizzle=(1, 0, 4, 5))
    known = registers(level)
    second = known["SQ_BUF_RSRC_WORD1"]
    assert words[0] | second.field("BASE_ADDRESS_HI").get(words[1]) << 32 == address and words[2] == size
    assert second.field("STRIDE").get(words[1]) == stride
    fourth = known["SQ_BUF_RSRC_WORD3"]
    assert [fourth.field(f"DST_SEL_{axis}").get(words[3]) for axis in "XYZW"] == [5, 4, 0, 1]


def test_numbers_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="STRIDE has 14 bits"):
        buffer_descriptor(0, 1, "R8_UNORM", 103, stride=1 << 14)
    with pytest.raises(InputError, match="GFX11 on"):
        attribute_ring(0, 64, 16, 103)


@given(level=st.sampled_from(LEVELS), low=st.floats(-5, 20), high=st.floats(-5, 20), bias=st.floats(-40, 40))
def test_sampler_lods_are_clamped(level: Any, low: Any, high: Any, bias: Any) -> None:
    words = sampler_descriptor(Sampler(min_lod=low, max_lod=high, lod_bias=bias, border_color_pointer=0xABC), level)
    known = registers(level)
    second, fourth = known["SQ_IMG_SAMP_WORD1"], known["SQ_IMG_SAMP_WORD3"]
    last = 17 if level >= 120 else 15
    assert abs(second.field("MIN_LOD").get(words[1]) / 256 - min(max(low, 0), last)) < 1 / 256
    assert abs(second.field("MAX_LOD").get(words[1]) / 256 - min(max(high, 0), last)) < 1 / 256
    assert fourth.field("BORDER_COLOR_PTR").get(words[3]) == 0xABC


@pytest.mark.parametrize("level", LEVELS)
def test_descriptors_decode_to_what_was_asked(level: Any) -> None:
    words = buffer_descriptor(0x1234567800, 99, "R32G32_UINT", level, stride=8)
    found = decode("buffer", words, level)
    assert found[1].fields["STRIDE"] == 8 and found[2].value == 99
    assert decode("sampler", sampler_descriptor(Sampler(mag_filter=1), level), level)[2].fields["XY_MAG_FILTER"] in (1, "SQ_TEX_XY_FILTER_BILINEAR")


@pytest.mark.parametrize("level", LEVELS)
def test_samplers_that_have_no_hash(level: int) -> None:
    """Words are kept by sampler; a list makes one that cannot be a key, and one of another level is another."""
    listed: Any = [1, 2, 3]
    assert sampler_descriptor(Sampler(listed), level) == sampler_descriptor(Sampler((1, 2, 3)), level)
    known = registers(level)["SQ_IMG_SAMP_WORD0"]
    assert [known.field(f"CLAMP_{axis}").get(sampler_descriptor(Sampler((1, 2, 3)), level)[0]) for axis in "XYZ"] == listed
    with pytest.raises(InputError, match="MAX_ANISO_RATIO"):
        sampler_descriptor(Sampler(listed, max_anisotropy=9), level)


def test_malformed_descriptors_are_refused() -> None:
    with pytest.raises(InputError, match="has 8 dwords, not 4"):
        decode("image", (0, 0, 0, 0), 103)
    with pytest.raises(InputError, match="no descriptors"):
        decode("texture", (0,), 103)
    with pytest.raises(InputError, match="dword 0"):
        decode("buffer", (1 << 32, 0, 0, 0), 103)


@given(level=st.sampled_from(LEVELS), words=st.lists(st.integers(0, (1 << 32) - 1), min_size=8, max_size=8))
def test_any_words_decode(level: Any, words: Any) -> None:
    assert len(decode("image", words, level)) == 8
