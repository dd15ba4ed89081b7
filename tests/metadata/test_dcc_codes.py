"""Clear codes of DCC: facts of drivers, and that codes and colours are each other's inverses for every format of every generation."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from pyaco.addrlib import gpu_config
from pyaco.descriptors.hardware_format import alpha_is_on_msb, color_formats
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import pixel_format
from pyaco.metadata.colors import decode_texels, encode_texels, is_integer, pack_color
from pyaco.metadata.dcc_codes import REGISTER, clear_code, color_of_code, is_fast_clear, register_words, single_code

CHIPS = ("tonga", "polaris10", "vega10", "raven", "navi10", "navi21", "navi31", "navi33")
SIZES = ("R8", "R16", "R32", "R8G8", "R16G16", "R32G32", "R8G8B8A8", "B8G8R8A8", "A8B8G8R8", "A8R8G8B8", "R8G8B8X8", "B8G8R8X8", "R16G16B16A16",
         "R16G16B16X16", "R32G32B32A32", "R10G10B10A2", "B10G10R10A2", "R5G6B5", "B5G6R5", "B5G5R5A1", "R5G5B5A1", "R4G4B4A4", "B4G4R4A4", "A8")
KINDS = ("UNORM", "SNORM", "UINT", "SINT", "FLOAT", "SRGB")


@cache
def formats(level: int) -> tuple[str, ...]:
    """Formats of colour targets of a level."""
    found = ["R11G11B10_FLOAT", *(["R9G9B9E5_FLOAT"] if level >= 103 else [])]
    for sizes, kind in product(SIZES, KINDS):
        try:
            form = pixel_format(f"{sizes}_{kind}")
            encode_texels(form.name, [0, 0, 0, 0])
        except (InputError, UnsupportedError, KeyError):
            continue
        bits = {channel.size for channel in form.channels}
        allowed = {"FLOAT": {16, 32}, "SRGB": {8}, "SNORM": {8, 16}}
        if bits <= allowed.get(kind, bits) and color_formats(form, level)[0]:
            found.append(form.name)
    return tuple(found)


def test_there_are_many_formats() -> None:
    assert len(formats(103)) >= 60


# Colour, code on GFX8 to GFX10.3, code on GFX11. Source: PAL's gfx9MaskRam.cpp, GetBlackOrWhiteClearCode; RADV's radv_meta_clear.c.
FACTS: list[tuple[str, tuple[float, ...], int, int]] = [
    ("R8G8B8A8_UNORM", (0, 0, 0, 0), 0x00, 0x00),
    ("R8G8B8A8_UNORM", (0, 0, 0, 1), 0x40, 0x08),
    ("R8G8B8A8_UNORM", (1, 1, 1, 0), 0x80, 0x0A),
    ("R8G8B8A8_UNORM", (1, 1, 1, 1), 0xC0, 0x02),
    ("B8G8R8A8_SRGB", (0, 0, 0, 1), 0x40, 0x08),
    ("B8G8R8A8_SRGB", (1, 1, 1, 1), 0xC0, 0x02),
    ("R16G16B16A16_UNORM", (0, 0, 0, 1), 0x40, 0x08),
    ("R16G16B16A16_FLOAT", (1, 1, 1, 1), 0xC0, 0x04),
    ("R16G16_FLOAT", (1, 1, 0, 1), 0xC0, 0x04),
    ("R32_FLOAT", (1, 0, 0, 0), 0xC0, 0x06),
    ("R32G32_FLOAT", (1, 1, 0, 0), 0xC0, 0x06),
    ("R32_UINT", (0xFFFFFFFF, 0, 0, 0), 0xC0, 0x02),
    ("R32G32B32A32_FLOAT", (1, 1, 1, 1), 0xC0, 0x06),
    ("R10G10B10A2_UNORM", (1, 1, 1, 1), 0xC0, 0x02),
]


@pytest.mark.parametrize(("format", "color", "early", "late"), FACTS)
def test_facts(format: str, color: tuple[float, ...], early: int, late: int) -> None:
    for chip in CHIPS:
        config = gpu_config(chip)
        found = clear_code(config, format, color)
        assert found.code == (late if config.level >= 110 else early), chip
        assert not found.needs_elimination and not found.is_single


def test_colors_without_a_code() -> None:
    color = (0.25, 0.5, 0.75, 1.0)
    for chip, code, single in (
            ("tonga", 0x20, False), ("vega10", 0x20, False), ("navi10", 0x10, True), ("navi21", 0x10, True), ("navi31", 0x01, True)):
        found = clear_code(gpu_config(chip), "R8G8B8A8_UNORM", color)
        assert (found.code, found.is_single, found.needs_elimination) == (code, single, not single), chip
    assert clear_code(gpu_config("navi21"), "R8G8B8A8_UNORM", color, single=False).code == REGISTER
    with pytest.raises(UnsupportedError, match="fast clears of R8G8B8A8_UNORM"):
        clear_code(gpu_config("navi31"), "R8G8B8A8_UNORM", color, single=False)
    with pytest.raises(UnsupportedError, match="came with GFX10"):
        clear_code(gpu_config("vega10"), "R8G8B8A8_UNORM", color, single=True)
    # Elements of 8 and 16 bits: not on GFX11, and by their first element with RB+ alone.
    with pytest.raises(UnsupportedError, match="8 and 16 bits"):
        clear_code(gpu_config("navi31"), "R8_UNORM", (0, 0, 0, 0))
    assert clear_code(gpu_config("navi10"), "R8_UNORM", (0.5, 0, 0, 0)).code == REGISTER
    assert clear_code(gpu_config("navi21"), "R8_UNORM", (0.5, 0, 0, 0)).is_single == gpu_config("navi21").rbplus_allowed
    # Views of both signs leave only 0.
    assert clear_code(gpu_config("vega10"), "R8G8B8A8_UNORM", (1, 1, 1, 1), reinterpreted=True).code == REGISTER
    assert clear_code(gpu_config("vega10"), "R8G8B8A8_UNORM", (0, 0, 0, 0), reinterpreted=True).code == 0


def test_registers_hold_64_bits() -> None:
    assert register_words("R8G8B8A8_UNORM", (1, 0, 0, 1)) == (0xFF0000FF, 0)
    assert register_words("R16G16B16A16_UINT", (1, 2, 3, 4)) == (0x20001, 0x40003)
    assert register_words("R32G32B32A32_UINT", (7, 7, 7, 9)) == (7, 9)
    with pytest.raises(UnsupportedError, match="equal red, green and blue"):
        register_words("R32G32B32A32_UINT", (7, 7, 8, 9))
    assert clear_code(gpu_config("tonga"), "R32G32B32A32_FLOAT", (0.5, 0.5, 0.5, 1)).code == REGISTER
    with pytest.raises(UnsupportedError, match="equal red, green and blue"):
        clear_code(gpu_config("tonga"), "R32G32B32A32_FLOAT", (0.5, 0.5, 0.25, 1))


@pytest.mark.parametrize("chip", CHIPS)
def test_codes_and_colors_are_inverses(chip: str) -> None:
    """Every byte, every format: it has a constant colour, and that colour this code, or it has none."""
    config = gpu_config(chip)
    seen: set[int] = set()
    for name in formats(config.level):
        form = pixel_format(name)
        for code in range(256):
            try:
                texel = color_of_code(config, name, code)
            except InputError as error:
                assert f"{code:#04x}" in str(error)
                continue
            assert is_fast_clear(config, code) and texel.size == form.bits // 8
            seen.add(code)
            color = decode_texels(name, texel)
            try:
                found = clear_code(config, name, tuple(color.tolist()))
            except UnsupportedError:
                assert config.level >= 110 and form.bits <= 16
                continue
            if found.code == code:
                continue
            # Another code of the same colour, or a format that drivers give no such code: its texels are the same where they mean something.
            again = single_code(config) == found.code or found.code == REGISTER or np.array_equal(
                decode_texels(name, color_of_code(config, name, found.code)), color, equal_nan=True)
            assert again, (name, hex(code), hex(found.code), color)
    assert seen == ({0, 2, 4, 6, 8, 10} if config.level >= 110 else {0x00, 0x40, 0x80, 0xC0})


@pytest.mark.parametrize("chip", CHIPS)
def test_what_is_cleared_to_a_constant_is_that_color(chip: str) -> None:
    """Zeros and ones in every combination: the texel of the code has the channels that packing the colour gives."""
    config = gpu_config(chip)
    for name in formats(config.level):
        form = pixel_format(name)
        most = {c.letter: (1 << c.size - (c.type == "signed")) - 1 if c.integer else 1 for c in form.channels}
        for bits in product((0, 1), repeat=4):
            color = [bit * most.get(letter, 1) for bit, letter in zip(bits, "RGBA", strict=True)]
            try:
                found = clear_code(config, name, color)
            except UnsupportedError:
                assert config.level >= 110 or form.bits == 128
                continue
            if found.is_single or found.needs_elimination:
                continue
            texel, packed = color_of_code(config, name, found.code), pack_color(name, color)
            np.testing.assert_array_equal(decode_texels(name, texel), decode_texels(name, packed))


def test_alpha_of_the_colour_block_is_the_last_or_the_first_channel() -> None:
    config = gpu_config("tonga")
    for name in ("R8G8B8A8_UNORM", "A8B8G8R8_UNORM"):
        form = pixel_format(name)
        place = len(form.channels) - 1 if alpha_is_on_msb(form, config.level) else 0
        texel = color_of_code(config, name, 0x40)
        assert [int(byte) for byte in texel] == [255 if n == place else 0 for n in range(4)]


@pytest.mark.parametrize(("chip", "error", "words"), [
    ("bonaire", UnsupportedError, "came with GFX8"), ("gfx1201", UnsupportedError, "GFX12 compresses"), ("tahiti", UnsupportedError, "GFX8"),
])
def test_chips_without_dcc(chip: str, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        clear_code(gpu_config(chip), "R8G8B8A8_UNORM", (0, 0, 0, 0))
    with pytest.raises(error, match=words):
        color_of_code(gpu_config(chip), "R8G8B8A8_UNORM", 0)


def test_formats_that_are_no_targets() -> None:
    for name in ("DXT1_RGBA", "Z32_FLOAT_S8X24_UINT", "R8G8B8_UNORM"):
        with pytest.raises((InputError, UnsupportedError)):
            clear_code(gpu_config("navi21"), name, (0, 0, 0, 0))
    assert is_integer(pixel_format("R8_UINT")) and not is_integer(pixel_format("R8_UNORM"))
