"""DRM format modifiers: facts, and that encoding and decoding are inverse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyaco.addrlib import gpu_config, gpu_configs
from pyaco.addrlib.driver.modifiers import (
    INVALID,
    LINEAR,
    Modifier,
    decode_modifier,
    has_dcc,
    has_dcc_retile,
    is_modifier_supported,
    maximum_extent,
    modifier_swizzle_mode,
    supported_modifiers,
    supports_dcc_image_stores,
)
from pyaco.errors import InputError, UnsupportedError

# chip, bits per pixel, planes, DCC, retile: the list that Mesa 24.3 gives
LISTS = [
    ("vega10", 8, 1, False, False, [0x200000004801A01, 0x200000004801901, 0x200000000000A01, 0x200000000000901, 0]),
    ("vega10", 8, 1, True, False,
     [0x20000050481BA01, 0x20000050481B901, 0x200000004801A01, 0x200000004801901, 0x200000000000A01, 0x200000000000901, 0]),
    ("navi21", 32, 1, True, True,
     [0x20000002096BB03, 0x200000020967B03, 0x200000020937B03, 0x200000020801B03, 0x200000000801902, 0x200000000000901, 0]),
    ("navi21", 8, 1, True, False, [0x20000002096BB03, 0x200000020801B03, 0x200000000801902, 0x200000000000A01, 0x200000000000901, 0]),
    ("navi21", 0, 2, True, False, [0x200000020801B03, 0x200000000801902, 0x200000000000A01, 0x200000000000901, 0]),
    ("navi31", 8, 1, True, True, [0x200000028A6BF04, 0x200000028A01F04, 0x200000028A6BB04, 0x200000028A01B04, 0x200000000000A04, 0]),
    ("strix1", 32, 1, True, False, [0x2000000104ABB04, 0x20000001046BB04, 0x200000010401B04, 0x200000000000A04, 0]),
    ("gfx1201", 32, 1, True, True, [0x200000000042305, 0x200000000002305, 0x200000000000305, 0x200000000000A04, 0x200000000000105, 0]),
    ("gfx1201", 32, 1, False, False, [0x200000000000305, 0x200000000000A04, 0x200000000000105, 0]),
    ("tonga", 32, 1, True, True, []),
    ("navi31", 128, 1, True, True, []),
]


@pytest.mark.parametrize(("chip", "bits", "planes", "dcc", "retile", "expected"), LISTS)
def test_list(chip: Any, bits: Any, planes: Any, dcc: Any, retile: Any, expected: Any) -> None:
    assert supported_modifiers(gpu_config(chip), bits, planes=planes, dcc=dcc, retile=retile) == expected


@given(st.builds(
    Modifier, st.integers(0, 255), st.integers(0, 31), *[st.integers(0, 1)] * 5, st.integers(0, 3), st.integers(0, 1), *[st.integers(0, 7)] * 5))
def test_round_trip(modifier: Any) -> None:
    assert decode_modifier(int(modifier)) == modifier
    assert modifier.text().startswith("AMD ")


@pytest.mark.parametrize("config", gpu_configs(), ids=lambda c: c.name)
def test_lists_hold_what_is_supported(config: Any) -> None:
    for bits in (8, 16, 32, 64):
        everything = supported_modifiers(config, bits)
        assert len(set(everything)) == len(everything)
        assert everything[-1:] == ([LINEAR] if config.level >= 90 else [])
        for modifier in everything:
            assert is_modifier_supported(config, modifier, bits)
            assert has_dcc(modifier) or not has_dcc_retile(modifier)
            assert modifier_swizzle_mode(config, modifier) < 32


def test_words() -> None:
    assert decode_modifier(0x20000002096BB03).text() == (
        "AMD GFX10_RBPLUS 64KB_R_X dcc=1 dcc_pipe_align=1 dcc_independent_128b=1 dcc_max_compressed_block=1 dcc_constant_encode=1 "
        "pipe_xor_bits=4 packers=4")
    assert decode_modifier(0x200000000042305).text() == "AMD GFX12 64KB_2D dcc=1 dcc_max_compressed_block=1"


def test_display_limits_and_image_stores() -> None:
    navi21, vega10, gfx12 = gpu_config("navi21"), gpu_config("vega10"), gpu_config("gfx1201")
    assert maximum_extent(navi21, 0x20000002096BB03) == (2560, 2560)
    assert maximum_extent(navi21, 0x200000020937B03) == (16384, 16384)
    assert maximum_extent(vega10, 0x20000050481BA01) == (16384, 16384)
    assert maximum_extent(gfx12, 0x200000000042305) == (16384, 16384)
    assert supports_dcc_image_stores(navi21, 0x20000002096BB03)
    assert not supports_dcc_image_stores(vega10, 0x20000050481BA01)
    assert not supports_dcc_image_stores(navi21, LINEAR)
    assert supports_dcc_image_stores(gfx12, 0x200000000002305)


def test_errors() -> None:
    for bad in (LINEAR, INVALID, 0x0100000000000001):
        with pytest.raises(InputError, match="not an AMD modifier"):
            decode_modifier(bad)
    with pytest.raises(InputError, match="outside of its fields"):
        decode_modifier(0x0280000000000001)
    with pytest.raises(InputError, match="does not fit"):
        Modifier(1, 32)
    with pytest.raises(UnsupportedError):
        modifier_swizzle_mode(gpu_config("gfx1201"), 0x200000000001F04)
    assert not is_modifier_supported(gpu_config("gfx1201"), 0x200000000001F04, 32)
